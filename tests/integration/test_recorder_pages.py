"""What pages showed, what the network did, and how every way to an element is counted as a run would count it."""

import asyncio
import json
from urllib.parse import urlencode

import pytest
from playwright.async_api import Page, async_playwright

from support.browser import Site
from support.recorder import by_attribute, by_caption, by_role, done, recorded, unique
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.recording import Candidate, Exchange, PageSeen, Recording, Showing
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember
from surehand.shell.authoring.network import operation_of
from surehand.shell.engines.browser.chromium import find_chromium, may_sandbox
from surehand.shell.engines.browser.finding import find_target, register_selectors
from surehand.shell.engines.browser.telling import naming_script


def last_page(recording: Recording) -> PageSeen:
    """The page at the end of the demonstration."""
    return recording.pages[-1]


def showing(page: PageSeen, event: int) -> list[Showing]:
    """Where a page shows what this event entered."""
    return [each for each in page.showings if each.known.event == event]


CORPUS = """
<header><h1>Visits</h1>
<nav aria-label="Main"><a href="/a">Start</a> <a href="/b">Start</a> <a href="/c">Help</a></nav></header>
<style>.icon::before { content: "\\2713"; } .gone { display: none }</style>
<form>
<label for="a">First name:</label><input id="a" name="first" title="Given name">
<label>Second <b>name</b> <input name="second" placeholder="optional"></label>
<span id="l1">Third</span><span id="l2">name</span><input aria-labelledby="l1 l2" name="third">
<input aria-label="  Fourth   name " name="fourth"> <input placeholder="Fifth name" name="fifth">
<input title="Sixth name">
<label>Kind <select name="kind"><option>Fax<option selected>Letter</select></label>
<label>Phone <input></label> <label>Phone (work) <input></label> <label class="gone">Phone <input></label>
<label><input type="checkbox" name="urgent"> Urgent</label> <label><input type="radio" name="p" value="1"> Low</label>
<fieldset><legend>Address</legend><label>Street <input name="street"></label></fieldset>
<button class="icon">Save</button> <button aria-hidden="true">Save</button> <button><img alt="Print" src="x"></button>
<button type="submit" name="_save">  Save
  all </button> <input type="submit" value="Send"> <input type="submit"> <input type="reset">
<input type="button" value="Do">
<button aria-label="Close"><svg width="9" height="9"><title>Cross</title><path d="M0 0"/></svg></button>
<div role="button" tabindex="0">Role <i aria-hidden="true">icon</i> button</div>
<textarea name="notes" aria-label="Notes">some text</textarea>
<p class="field"><span>Ward</span> <input data-kind="ward"></p>
</form>
<table><caption>Records</caption><thead><tr><th>Number</th><th>Name</th><th></th></tr></thead>
<tr><th>A-1</th><td>Ada <button>More</button></td><td><a href="/1">Open</a></td></tr>
<tr><th scope="row">A-2</th><td><b>Ben</b> <button>More</button></td><td><a href="/2">Open</a></td></tr></table>
<ul><li><b>North</b> <a href="/n">Open</a></li><li><b>South</b> <a href="/s">Open</a></li></ul>
<dl><dt>Status</dt><dd data-testid="status">New</dd></dl>
<div role="dialog" aria-label="Edit"><h2>Edit</h2>
<label>Street <input name="street2"></label><button>Save</button></div>
<div id="host"></div>
<script>host.attachShadow({mode: 'open'}).innerHTML = '<label>Inner <input name="inner"></label>'</script>
"""

#: Asks for the ways to every element that a person can act on, as they are told in a recording.
WAYS = """() => { SCRIPT
  const look = new Look();
  const css = 'a, button, input, select, textarea, [role=button], h1, h2, td, th, dd';
  return look.all.filter(el => el.matches(css) && isShown(el)).map(el => candidatesFor(el, look)); }"""


class TestCounting:
    """A way to an element is counted in the page as the selectors of a run count it."""

    def test_every_way_to_every_element_of_a_varied_page(self, site: Site) -> None:
        site.pages["/page"] = CORPUS

        async def count() -> tuple[int, list[tuple[object, int, int]]]:
            async with async_playwright() as driver:
                await register_selectors(driver)
                browser = await driver.chromium.launch(executable_path=find_chromium(), chromium_sandbox=may_sandbox())
                page = await browser.new_page()
                await page.goto(f"{site.origin}/page")
                found = await page.evaluate(WAYS.replace("SCRIPT", naming_script()))
                candidates = [from_wire(each, Candidate).unwrap() for ways in found for each in ways]
                counts = [(each, await find_target(page, each.target).count()) for each in candidates]
                await browser.close()
                return len(found), [(to_wire(each), each.matches, n) for each, n in counts if each.matches != n]

        elements_seen, wrong = asyncio.run(count())

        assert wrong == []
        assert elements_seen > 45


class TestShowings:
    """A page shows a known text where an element holds exactly it, in whatever form; nothing else of a page is told."""

    FORM = """<label>Name <input></label><label>Day <input></label><label>Dose <input></label><button>Go</button>"""

    def test_texts_dates_and_numbers_on_another_page(self, site: Site) -> None:
        site.pages["/record"] = """<h1>CANARY heading</h1><dl><dt>Name</dt><dd>Ada Example</dd><dt>Day</dt>
            <dd>05/04/2026</dd><dt>Dose</dt><dd>1.5</dd><dt>Other</dt><dd>Ada Example, CANARY</dd></dl>
            <label>Named <input value="Ada Example"></label><a href="/record/7">Open</a>"""

        async def acts(page: Page) -> None:
            for name, text in (("Name", "Ada Example"), ("Day", "2026-05-04"), ("Dose", "1.50")):
                await page.get_by_label(name).click()
                await page.keyboard.type(text)
            await page.get_by_role("button").click()
            await page.goto(f"{site.origin}/record")

        page = last_page(recorded(site, self.FORM, acts))
        name, day, dose = (showing(page, event) for event in (1, 2, 3))

        assert [(each.rule, each.form) for each in day + dose] == [
            (Rule.DATE, DateForm.MONTH_DAY_SLASH),
            (Rule.DECIMAL, DateForm.ISO),
        ]
        assert [each.rule for each in name] == [Rule.IDENTIFIER, Rule.IDENTIFIER]
        assert by_caption("Name") in unique(name[0].candidates)
        assert by_role("textbox", "Named") in unique(name[1].candidates)
        assert "/record/7" in page.links
        assert "CANARY" not in str(page.showings)

    def test_a_text_that_only_holds_the_known_one_does_not_show_it(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_label("Name").click()
            await page.keyboard.type("Ada")
            await page.get_by_role("button").click()

        page = last_page(recorded(site, f"{self.FORM}<p>Ada Example</p><p>Adam</p><p>ada</p>", acts))

        assert [each.known.event for each in page.showings] == [1]
        assert by_role("textbox", "Name") in unique(page.showings[0].candidates)

    def test_the_page_before_a_click_is_the_one_that_the_click_left(self, site: Site) -> None:
        site.pages["/record"] = "<h1>Gone</h1>"

        async def acts(page: Page) -> None:
            await page.get_by_label("Name").click()
            await page.keyboard.type("Ada")
            await page.get_by_role("link").click()
            await page.wait_for_url("**/record")

        recording = recorded(site, f'{self.FORM}<a href="/record">Next</a>', acts)
        before = next(page for page in recording.pages if page.after == 2)

        assert before.place.path == "/page"
        assert len(showing(before, 1)) == 1

    def test_the_chosen_button_of_a_group_and_a_box_by_their_state(self, site: Site) -> None:
        group = """<label><input type="radio" name="p" value="1" {low}> Low</label>
            <label><input type="radio" name="p" value="2" {high}> High</label>
            <label><input type="checkbox" name="urgent" {box}> Urgent</label>"""
        site.pages |= {
            "/right": group.format(low="", high="checked", box="checked"),
            "/wrong": group.format(low="checked", high="", box=""),
        }

        async def acts(page: Page) -> None:
            await page.get_by_label("High").click()
            await page.get_by_label("Urgent").click()
            await page.goto(f"{site.origin}/right")
            await page.goto(f"{site.origin}/wrong")

        recording = recorded(site, group.format(low="", high="", box=""), acts)
        right = next(page for page in recording.pages if page.place.path == "/right")

        assert [each.known.event for each in right.showings] == [1, 2]
        assert by_attribute("name", "p") in unique(right.showings[0].candidates)
        assert by_role("checkbox", "Urgent") in unique(right.showings[1].candidates)
        assert last_page(recording).showings == ()

    def test_what_a_secret_field_holds_shows_nothing(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_label("Name").click()
            await page.keyboard.type("same")
            await page.get_by_role("button").click()

        html = f'{self.FORM}<label>PIN <input type="password" value="same"></label>'

        assert len(last_page(recorded(site, html, acts)).showings) == 1


SENDS = """<script>
const send = (path, body, type) => fetch(path, {method: 'POST', body, headers: {'content-type': type}})</script>
<button onclick="SEND">Send</button>"""


def writes(recording: Recording) -> list[Exchange]:
    """What was sent to change something."""
    return [each for each in recording.exchanges if each.method != "GET"]


class TestNetwork:
    """Of a request there are method, address, operation and kind of answer, and never its body."""

    def test_a_form_and_the_button_that_sent_it(self, site: Site) -> None:
        html = """<form method="post" action="/records?kind=note"><label>Note <input name="note"></label>
            <button name="_more">More</button><button name="_save" value="1">Save</button></form>"""

        async def acts(page: Page) -> None:
            await page.get_by_label("Note").click()
            await page.keyboard.type("CANARY")
            await page.get_by_role("button", name="Save").click()
            await page.wait_for_url("**/saved")

        recording = recorded(site, html, acts)
        (save,) = writes(recording)

        assert (save.method, save.place.path, save.content_type) == (
            "POST",
            "/records",
            "application/x-www-form-urlencoded",
        )
        assert (save.status_class, save.redirected, save.after) == (3, True, 3)
        assert save.operation == FormField("_save", "1")
        assert "CANARY" not in str([to_wire(each) for each in recording.exchanges])

    @pytest.mark.parametrize(
        ("body", "kind", "operation"),
        [
            ({"query": "mutation Add { add }", "operationName": "Add"}, "application/json", GraphqlOperation("Add")),
            ({"query": "query All { all }"}, "application/json", GraphqlRead()),
            ({"jsonrpc": "2.0", "id": 1, "method": "note.add"}, "application/json", JsonMember("method", "note.add")),
            ({"note": "CANARY"}, "application/json", None),
        ],
    )
    def test_operations_of_one_address(self, site: Site, body: object, kind: str, operation: object) -> None:
        sends = f"send('/api', {json.dumps(json.dumps(body))}, '{kind}')".replace('"', "&quot;")

        async def acts(page: Page) -> None:
            async with page.expect_response("**/saved"):
                await page.get_by_role("button").click()

        (sent,) = writes(recorded(site, SENDS.replace("SEND", sends), acts))

        assert (sent.place.path, sent.content_type, sent.operation) == ("/api", kind, operation)

    @pytest.mark.parametrize(
        ("fields", "operation"),
        [
            ({"_method": "patch", "commit": "Save", "do": "save"}, FormField("_method", "patch")),
            ({"commit": "Save", "do": "save"}, FormField("commit", "Save")),
            ({"do": "save", "note": "CANARY"}, FormField("do", "save")),
            ({"_method": "CANARY of a note"}, None),
        ],
    )
    @pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=cut"])
    def test_the_method_that_a_form_asks_for_tells_more_than_its_button(
        self, fields: dict[str, str], operation: object, kind: str
    ) -> None:
        parts = [f'--cut\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
        body = urlencode(fields) if "x-www" in kind else f"{''.join(parts)}--cut--\r\n"

        assert operation_of(kind, body.encode(), [FormField("commit", "Save")]) == operation

    def test_a_request_without_an_answer(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            async with page.expect_event("requestfailed"):
                await page.get_by_role("button").click()

        html = """<button onclick="fetch('http://127.0.0.1:9/x', {method: 'POST', mode: 'no-cors'})
            .catch(() => 0)">Go</button>"""
        (sent,) = writes(recorded(site, html, acts))

        assert (sent.status_class, sent.place.origin) == (0, "http://127.0.0.1:9")

    def test_records_in_the_apps_json_and_which_of_them_is_new(self, site: Site) -> None:
        site.records.append({"id": "1", "patient": "Ada Example", "note": "old", "dose": "2"})
        html = """<script>fetch('/api/records')</script><form method="post" action="/records">
            <label>Note <input name="note"></label><label>Dose <input name="dose"></label>
            <button>Save</button></form>"""

        async def acts(page: Page) -> None:
            async with page.expect_response("**/api/records"):
                await page.reload()
            for name, text in (("Note", "CANARY"), ("Dose", "1.5")):
                await page.get_by_label(name).click()
                await page.keyboard.type(text)
            await page.get_by_role("button").click()
            await page.wait_for_url("**/saved")

        recording = recorded(site, html, acts)
        answer = recording.answers[-1]
        members = {each.name: each for each in answer.members}

        assert (answer.place.path, answer.items, answer.count) == ("/api/records", "items", 2)
        assert (answer.fresh, answer.was_absent) == (True, True)
        assert {name: each.known.event for name, each in members.items() if each.known} == {"note": 2, "dose": 3}
        assert {name for name, each in members.items() if each.unique} == {"id", "note", "dose"}
        assert "CANARY" not in str([to_wire(each) for each in recording.answers])

    def test_a_record_that_was_there_and_changed(self, site: Site) -> None:
        site.answers["/api/one"] = '{"data": {"id": 7, "note": "old", "dose": 1}}'

        async def acts(page: Page) -> None:
            async with page.expect_response("**/api/one"):
                await page.reload()
            await page.get_by_label("Note").click()
            await page.keyboard.type("new")
            await page.get_by_role("button").click()
            await page.wait_for_url("**/saved")
            site.answers["/api/one"] = '{"data": {"id": 7, "note": "new", "dose": 1}}'

        html = """<script>fetch('/api/one')</script><form method="post" action="/records">
            <label>Note <input name="note"></label><button>Save</button></form>"""
        answer = recorded(site, html, acts).answers[-1]

        assert (answer.items, answer.was_absent) == ("data", False)
        assert [(each.name, each.changed) for each in answer.members] == [
            ("id", False),
            ("note", True),
            ("dose", False),
        ]


class TestSize:
    """A long demonstration stays small."""

    def test_sixty_steps(self, site: Site) -> None:
        html = "".join(f'<label>Field {n}: <input name="f{n}"></label>' for n in range(30)) + "<button>Go</button>"

        async def acts(page: Page) -> None:
            for n in range(30):
                await page.get_by_label(f"Field {n}:").click()
                await page.keyboard.type(f"text {n}")
                await page.get_by_role("button").click()

        recording = recorded(site, html, acts)

        assert len(done(recording)) == 60
        assert len(json.dumps(to_wire(recording))) < 1_000_000
