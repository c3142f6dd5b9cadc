"""What a person clicks and presses, where pages lead, and what the browser says by itself."""

import asyncio

import pytest
from playwright.async_api import Dialog, Page

from support.browser import Site
from support.recorder import by_attribute, by_role, clicked, done, kinds, only, recorded, unique
from surehand.core.workflow.bundle import DialogAnswer
from surehand.core.workflow.recording import (
    Actor,
    Arrived,
    Clicked,
    DialogSeen,
    Happened,
    Opened,
    Pressed,
)
from surehand.core.workflow.target import Within
from surehand.shell.authoring.recorder import AppUnreachableError, Recorder

ROWS = """<table><thead><tr><th>Number</th><th>Name</th><th></th></tr></thead>
<tr><td><b>A-1</b> <button>More</button></td><td>Ada</td><td><a href="/one">Open</a></td></tr>
<tr><td><b>A-12</b> <button>More</button></td><td>Ada</td><td><a href="/two">Open</a></td></tr></table>"""


class TestClicks:
    """A click is told with every exact way to what was clicked, counted before the page reacts."""

    def test_a_link_in_a_row_is_bound_by_the_texts_of_its_cells(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("row").filter(has_text="A-12").get_by_role("link").click()

        recording = recorded(site, ROWS, acts)
        link = only(recording, Clicked)
        found = {each.target: each.matches for each in link.candidates}

        assert kinds(recording) == ["Clicked", "Arrived"]
        assert (link.row, link.headers) == (("A-12", "Ada", "Open"), ("Number", "Name", ""))
        assert found[by_role("link", "Open")] == 2
        assert found[by_role("link", "Open", row="A-12")] == 1
        assert found[by_role("link", "Open", row="Ada")] == 2

    def test_a_row_of_nothing_but_links_is_no_record(self, site: Site) -> None:
        html = '<table><tr><th><a href="/one">Notes</a></th><td><a href="/two">Add</a></td></tr></table>'

        async def acts(page: Page) -> None:
            await page.get_by_role("link", name="Notes").click()

        assert only(recorded(site, html, acts), Clicked).row == ()

    def test_what_stands_in_an_open_dialog_is_counted_in_it_too(self, site: Site) -> None:
        html = """<button>Save</button><button onclick="d.showModal()">Open</button>
            <dialog id="d"><h2>Visit</h2><button onclick="d.close()">Save</button></dialog>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Open").click()
            await page.get_by_role("dialog").get_by_role("button", name="Save").click()

        save = [action for action in done(recorded(site, html, acts)) if isinstance(action, Clicked)][1]
        found = {each.target: each.matches for each in save.candidates}

        assert found[by_role("button", "Save", within=Within.DIALOG)] == 1
        assert found[by_role("button", "Save")] == 2

    def test_an_icon_in_a_button_is_the_button(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.locator("svg").click()

        html = '<button aria-label="Edit"><svg width="20" height="20"><rect width="20" height="20"/></svg></button>'

        assert by_role("button", "Edit") in unique(only(recorded(site, html, acts), Clicked).candidates)

    @pytest.mark.parametrize(
        ("style", "by_name"),
        [
            ("ul:hover a span { display: inline }", False),
            ("@media screen { a:hover span, a:focus span { display: inline } }", False),
            ("a span { display: inline }", True),
            ("a:hover span { color: red } ul span { display: inline }", True),
        ],
    )
    def test_a_name_that_is_shown_only_while_it_is_pointed_at_is_no_way(
        self, site: Site, style: str, by_name: bool
    ) -> None:
        html = f"<style>a span {{ display: none }} {style}</style>"
        html += '<ul><li><a href="#e" title="Edit [e]">* <span>Edit page</span></a></li></ul>'

        async def acts(page: Page) -> None:
            await page.get_by_title("Edit").click()

        found = unique(only(recorded(site, html, acts), Clicked).candidates)

        assert by_attribute("title", "Edit [e]") in found
        assert by_name is (by_role("link", "* Edit page") in found)

    def test_what_the_page_does_on_the_press_does_not_change_what_was_pressed(self, site: Site) -> None:
        html = """<button onmousedown="this.textContent = 'Saving'; more.hidden = false">Save</button>
            <button id="more" hidden>Save</button>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Save").click()

        recording = recorded(site, html, acts)

        assert clicked(recording) == ["Save"]
        assert by_role("button", "Save") in unique(only(recording, Clicked).candidates)

    def test_a_press_that_the_page_takes_away_is_a_click(self, site: Site) -> None:
        html = """<button onmousedown="this.remove(); out.textContent = 'gone'">Take</button><p id="out"></p>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Take").hover()
            await page.mouse.down()
            await page.mouse.up()

        assert clicked(recorded(site, html, acts)) == ["Take"]

    def test_a_press_that_is_dragged_off_is_none(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Save").hover()
            await page.mouse.down()
            await page.mouse.move(600, 600)
            await page.mouse.up()

        assert kinds(recorded(site, "<button>Save</button>", acts)) == []

    def test_two_clicks_in_a_row_are_told_as_two(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Save").dblclick()

        assert only(recorded(site, "<button>Save</button>", acts), Clicked).clicks == 2

    def test_values_that_look_generated_lead_nowhere(self, site: Site) -> None:
        html = '<button id="ember1234" name="go" data-key="3f2a9c81d0" class="btn active">Go</button>'

        async def acts(page: Page) -> None:
            await page.get_by_role("button").click()

        targets = unique(only(recorded(site, html, acts), Clicked).candidates)

        assert targets == {by_role("button", "Go"), by_attribute("name", "go")}


class TestKeys:
    """A key outside of fields counts where the page reacts to it, and the click that a key makes is that click."""

    def test_a_shortcut_that_the_page_takes(self, site: Site) -> None:
        html = """<label>Note <input></label><script>onkeydown = event => {
            if (event.ctrlKey && event.key === 's') event.preventDefault(); }</script>"""

        async def acts(page: Page) -> None:
            await page.get_by_label("Note").click()
            await page.keyboard.type("warm")
            await page.keyboard.press("Control+s")

        recording = recorded(site, html, acts)

        assert kinds(recording) == ["Entered", "Pressed"]
        assert only(recording, Pressed).key == "Control+s"

    def test_a_key_that_nothing_reacts_to_is_not_told(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            for key in ("j", "Escape", "Control+s", "Tab", "ArrowDown"):
                await page.keyboard.press(key)

        assert kinds(recorded(site, "<h1>Page</h1><button>Go</button>", acts)) == []

    @pytest.mark.parametrize("key", ["Enter", "Space"])
    def test_a_button_that_is_pressed_by_a_key_is_clicked(self, site: Site, key: str) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("button").focus()
            await page.keyboard.press(key)

        recording = recorded(site, "<button onclick=\"document.title = 'x'\">Go</button>", acts)

        assert kinds(recording) == ["Clicked"]


class TestPages:
    """Each page that comes is told, and how the person came to it."""

    def test_opened_by_hand_reached_by_a_link_and_by_a_script(self, site: Site) -> None:
        site.pages |= {"/one": "<h1>One</h1><script>location = '/two'</script>", "/two": "<h1>Two</h1>"}

        async def acts(page: Page) -> None:
            await page.get_by_role("link").click()
            await page.wait_for_url("**/two")
            await page.goto(f"{site.origin}/saved?id=7#part")

        recording = recorded(site, '<a href="/one">One</a>', acts)
        pages = [action for action in done(recording) if isinstance(action, Opened | Arrived)]
        last = pages[-1].place

        assert kinds(recording) in (["Clicked", "Arrived", "Opened"], ["Clicked", "Arrived", "Arrived", "Opened"])
        assert (last.origin, last.path, last.fragment) == (site.origin, "/saved", "part")
        assert [(part.name, part.value) for part in last.query] == [("id", "7")]

    def test_a_reload_a_step_back_and_a_new_tab(self, site: Site) -> None:
        site.pages["/one"] = "<h1>One</h1>"

        async def acts(page: Page) -> None:
            await page.reload()
            await page.get_by_role("link", name="One").click()
            await page.wait_for_url("**/one")
            await page.go_back()
            async with page.expect_popup() as popup:
                await page.get_by_role("link", name="Tab").click()
            await (await popup.value).wait_for_load_state()

        recording = recorded(site, '<a href="/one">One</a> <a href="/one" target="_blank">Tab</a>', acts)

        assert [each.what for each in done(recording) if isinstance(each, Happened)] == [
            "reloaded",
            "went_back",
            "tab_opened",
        ]

    def test_routes_of_one_document(self, site: Site) -> None:
        html = """<button onclick="history.pushState({}, '', '/visits/7?tab=2#notes')">Visit</button>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button").click()
            await page.go_back()

        recording = recorded(site, html, acts)
        arrived = only(recording, Arrived).place

        assert kinds(recording) == ["Clicked", "Arrived", "Happened"]
        assert (arrived.path, arrived.fragment) == ("/visits/7", "notes")
        assert only(recording, Happened).what == "went_back"

    def test_an_address_that_does_not_open(self) -> None:
        async def opened() -> None:
            async with Recorder.open("http://127.0.0.1:9/", headed=False):
                pass

        with pytest.raises(AppUnreachableError):
            asyncio.run(opened())


class TestDialogs:
    """The person answers a native dialog; how they did is told."""

    @pytest.mark.parametrize("answer", [DialogAnswer.ACCEPT, DialogAnswer.DISMISS])
    def test_a_question(self, site: Site, answer: DialogAnswer) -> None:
        async def acts(page: Page) -> None:
            async def reply(dialog: Dialog) -> None:
                await (dialog.accept() if answer is DialogAnswer.ACCEPT else dialog.dismiss())

            page.on("dialog", reply)
            await page.get_by_role("button").click()

        recording = recorded(site, "<button onclick=\"confirm('CANARY?')\">Delete</button>", acts)

        assert kinds(recording) == ["Clicked", "DialogSeen"]
        assert only(recording, DialogSeen) == DialogSeen(form="confirm", answer=answer)
        assert "CANARY" not in str(recording)


class TestActors:
    """Each step is marked as the person's or the agent's."""

    def test_the_steps_of_a_demonstration_that_both_share(self, site: Site) -> None:
        site.pages["/page"] = "<button>One</button><button>Two</button><button>Three</button>"

        async def demonstrate() -> list[Actor]:
            async with Recorder.open(f"{site.origin}/page", headed=False) as recorder:
                await recorder.page.get_by_role("button", name="One").click()
                with recorder.acting_as(Actor.AGENT):
                    await recorder.page.get_by_role("button", name="Two").click()
                await recorder.page.get_by_role("button", name="Three").click()
                recording = await recorder.stop()
            return [event.actor for event in recording.events if isinstance(event.action, Clicked)]

        assert asyncio.run(demonstrate()) == [Actor.PERSON, Actor.AGENT, Actor.PERSON]
