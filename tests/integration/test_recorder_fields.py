"""What a person enters, chooses and checks, against real pages in a real Chromium."""

from typing import Final

import pytest
from playwright.async_api import FilePayload, Page

from support.browser import Site
from support.recorder import (
    by_attribute,
    by_caption,
    by_role,
    clicked,
    done,
    kinds,
    only,
    recorded,
    unique,
    values,
)
from surehand.core.workflow.bundle import Key
from surehand.core.workflow.recording import Checked, Chose, Clicked, Control, Entered, SecretEntered, Uploaded
from surehand.core.workflow.target import Target


async def write(page: Page, name: str, text: str) -> None:
    """Click into a field and type."""
    await page.get_by_label(name, exact=True).click()
    await page.keyboard.type(text)


class TestTexts:
    """A text is told when its field is left: what the field held then, and what the keys wrote."""

    def test_each_kind_of_field_with_what_the_page_declares_about_it(self, site: Site) -> None:
        html = """<label>Line <input name="line" maxlength="9" required pattern="[a-z ]+"></label>
            <label>Lines <textarea name="lines"></textarea></label>
            <label>Dose <input name="dose" type="number" min="1" max="5" step="0.1"></label>
            <label>Day <input name="day" type="date"></label><p>End</p>"""

        async def acts(page: Page) -> None:
            await write(page, "Line", "hällo")
            await write(page, "Lines", "one")
            await page.keyboard.press("Enter")
            await page.keyboard.type("two")
            await write(page, "Dose", "1.5")
            await page.get_by_label("Day").focus()
            await page.keyboard.type("05042026")

        recording = recorded(site, html, acts)
        found = [action for action in done(recording) if isinstance(action, Entered)]

        assert [(each.value, each.typed) for each in found[:3]] == [(t, t) for t in ("hällo", "one\ntwo", "1.5")]
        assert found[3].value == "2026-05-04"
        assert [each.facts.control for each in found] == [Control.LINE, Control.TEXT, Control.NUMBER, Control.DATE]
        assert [each.facts.caption for each in found] == ["Line", "Lines", "Dose", "Day"]
        line, dose = found[0].facts, found[2].facts
        assert (line.max_length, line.required, line.pattern) == (9, True, "[a-z ]+")
        assert (dose.minimum, dose.maximum, dose.required) == ("1", "5", False)
        assert {by_role("textbox", "Line"), by_attribute("name", "line")} <= unique(found[0].candidates)

    def test_a_widget_that_rewrites_on_leaving_shows_in_the_difference(self, site: Site) -> None:
        html = '<label>Name <input onblur="this.value = this.value.toUpperCase()"></label><label>Next <input></label>'

        async def acts(page: Page) -> None:
            await write(page, "Name", "ada")
            await write(page, "Next", "ada")

        names = [action for action in done(recorded(site, html, acts)) if isinstance(action, Entered)]

        assert [(each.value, each.typed) for each in names] == [("ADA", "ada"), ("ada", "ada")]

    def test_a_mask_that_writes_while_one_types_shows_in_the_difference(self, site: Site) -> None:
        html = """<label>Number <input oninput="if (this.value.length === 2) this.value += '-'"></label>"""

        async def acts(page: Page) -> None:
            await write(page, "Number", "1234")

        number = only(recorded(site, html, acts), Entered)

        assert (number.value, number.typed) == ("12-34", "1234")

    def test_what_stood_there_before_is_told_by_a_mark_alone(self, site: Site) -> None:
        html = '<label>Old <input value="CANARY-OLD"></label><label>New <input></label>'

        async def acts(page: Page) -> None:
            for name in ("Old", "New"):
                await page.get_by_label(name).click()
                await page.keyboard.press("Control+a")
                await page.keyboard.type("x")

        recording = recorded(site, html, acts)

        assert [each.before for each in done(recording) if isinstance(each, Entered)] == [True, False]
        assert "CANARY-OLD" not in str(recording.events)

    def test_a_field_that_was_only_visited_is_not_told(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_label("One").click()
            await page.get_by_label("Two").click()

        assert kinds(recorded(site, "<label>One <input></label><label>Two <input></label>", acts)) == []

    def test_what_scripts_of_the_page_do_is_not_told(self, site: Site) -> None:
        html = """<label>One <input id="one"></label><label><input id="box" type="checkbox"> Box</label>
            <button id="b" onclick="document.title = 'x'">Button</button>
            <button onclick="one.value = 'CANARY'; one.dispatchEvent(new Event('input', {bubbles: true}));
              one.dispatchEvent(new Event('change', {bubbles: true})); box.click(); b.click()">Go</button>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="Go").click()

        recording = recorded(site, html, acts)

        assert clicked(recording) == ["Go"]
        assert kinds(recording) == ["Clicked"]

    def test_editable_elements_and_rich_text_in_frames(self, site: Site) -> None:
        site.pages["/frame"] = '<body contenteditable="true" aria-label="Rich text"></body>'
        html = """<div contenteditable="true" role="textbox" aria-label="Title" style="height: 2em"></div>
            <iframe title="Editor" src="/frame"></iframe><button>Done</button>"""

        async def acts(page: Page) -> None:
            await write(page, "Title", "Ward three")
            await page.frame_locator("iframe").locator("body").click()
            await page.keyboard.type("It is warm.")
            await page.get_by_role("button", name="Done").click()

        recording = recorded(site, html, acts)
        title, text = (action for action in done(recording) if isinstance(action, Entered))

        assert kinds(recording) == ["Entered", "Entered", "Clicked"]
        assert (title.value, title.facts.control) == ("Ward three", Control.EDITABLE)
        assert (text.value, text.facts.control) == ("It is warm.", Control.EDITABLE)
        assert {target.frame for target in unique(text.candidates)} == {"Editor"}


class TestEnter:
    """Enter is told where the app takes the text only then, and as the click that it is where it sends a form."""

    def test_enter_that_makes_an_entry_of_the_text(self, site: Site) -> None:
        html = """<label>Tag <input id="tag" onkeydown="if (event.key === 'Enter') {
            list.append(this.value); this.value = ''; }"></label><p id="list"></p>"""

        async def acts(page: Page) -> None:
            await write(page, "Tag", "urgent")
            await page.keyboard.press("Enter")

        tag = only(recorded(site, html, acts), Entered)

        assert (tag.value, tag.typed, tag.ended_by) == ("urgent", "urgent", Key.ENTER)

    TAKEN: Final = """<p>urgent</p><section>
        <label>Tag <input id="tag" onkeydown="if (event.key === 'Enter') { chips.textContent += this.value; AFTER }">
        </label><p id="chips"></p></section>"""

    @pytest.mark.parametrize(
        ("after", "expected"),
        [
            ("this.value = ''", {by_attribute("id", "chips")}),
            ("this.parentElement.remove()", {by_attribute("id", "chips")}),
            ("chips.textContent = 'Urgent!'; this.value = ''", set[Target]()),
            ("1", set[Target]()),
        ],
    )
    def test_what_enter_takes_out_of_a_field_is_looked_for_beside_it(
        self, site: Site, after: str, expected: set[Target]
    ) -> None:
        async def acts(page: Page) -> None:
            await write(page, "Tag", "urgent")
            await page.keyboard.press("Enter")

        tag = only(recorded(site, self.TAKEN.replace("AFTER", after), acts), Entered)

        assert (tag.value, tag.ended_by) == ("urgent", Key.ENTER)
        assert unique(tag.shown) == expected

    def test_a_field_that_goes_with_all_that_is_drawn_around_it_leaves_its_text_beside(self, site: Site) -> None:
        around = self.TAKEN.replace("<label>", "<div class=around>" * 7 + "<label>").replace(
            "</label>", "</label>" + "</div>" * 7
        )

        async def acts(page: Page) -> None:
            await write(page, "Tag", "urgent")
            await page.keyboard.press("Enter")

        tag = only(recorded(site, around.replace("AFTER", "document.querySelector('.around').remove()"), acts), Entered)

        assert unique(tag.shown) == {by_attribute("id", "chips")}

    def test_enter_that_sends_a_form_is_the_click_of_its_button(self, site: Site) -> None:
        html = (
            '<form method="post" action="/records"><label>Note <input name="note"></label><button>Save</button></form>'
        )

        async def acts(page: Page) -> None:
            await write(page, "Note", "warm")
            async with page.expect_navigation():
                await page.keyboard.press("Enter")

        recording = recorded(site, html, acts)

        assert kinds(recording) == ["Entered", "Clicked", "Arrived"]
        assert only(recording, Entered).ended_by is None
        assert by_role("button", "Save") in unique(only(recording, Clicked).candidates)

    def test_enter_that_sends_a_form_without_a_button(self, site: Site) -> None:
        html = '<form action="/saved"><label>Search <input name="q"></label></form>'

        async def acts(page: Page) -> None:
            await write(page, "Search", "ada")
            async with page.expect_navigation():
                await page.keyboard.press("Enter")

        recording = recorded(site, html, acts)

        assert kinds(recording) == ["Entered", "Arrived"]
        assert only(recording, Entered).ended_by is Key.ENTER


class TestSecrets:
    """What is typed into a secret field is nowhere, also once the page shows it."""

    @pytest.mark.parametrize(
        "field",
        [
            '<input type="password">',
            '<input autocomplete="one-time-code">',
            '<input style="-webkit-text-security: disc">',
            """<input type="password" onfocus="setTimeout(() => { this.type = 'text' }, 1)">""",
        ],
    )
    def test_a_secret_is_told_without_its_text(self, site: Site, field: str) -> None:
        html = f"<label>PIN {field}</label><label>Name <input></label><button>Go</button>"

        async def acts(page: Page) -> None:
            await write(page, "PIN", "CANARY-PIN")
            await write(page, "Name", "CANARY-NAME")
            await page.get_by_role("button", name="Go").click()

        recording = recorded(site, html, acts)

        assert by_role("textbox", "PIN") in unique(only(recording, SecretEntered).candidates)
        assert "CANARY-PIN" not in str(recording)
        assert values(recording) == ["CANARY-NAME"]


class TestChoices:
    """A choice is told by the exact label of its option, and with everything that was offered."""

    def test_native_lists_and_groups_of_radio_buttons(self, site: Site) -> None:
        html = """<label>Kind <select name="kind"><option>-<option>Fax<option>Letter</select></label>
            <fieldset><legend>Priority</legend><label><input type="radio" name="p" value="1"> Low</label>
            <label><input type="radio" name="p" value="2"> High</label></fieldset>"""

        async def acts(page: Page) -> None:
            await page.get_by_label("Kind").focus()
            await page.keyboard.press("ArrowDown")
            await page.keyboard.press("ArrowDown")
            await page.get_by_label("High").click()

        kind, priority = (action for action in done(recorded(site, html, acts)) if isinstance(action, Chose))

        assert (kind.value, kind.facts.options, kind.facts.control) == (
            "Letter",
            ("-", "Fax", "Letter"),
            Control.SELECT,
        )
        assert (priority.value, priority.facts.options) == ("High", ("Low", "High"))
        assert (priority.facts.caption, priority.facts.control) == ("Priority", Control.RADIO)
        assert {by_attribute("name", "p"), by_role("group", "Priority")} == unique(priority.candidates)

    LIST = """<label id="l">Ward</label>
        <div id="box" role="combobox" tabindex="0" aria-labelledby="l" style="width: 9em">none</div>
        <div id="pop" style="display: none"><input id="search" aria-label="Find">
          <ul role="listbox" id="list"></ul></div>
        <script>
          const take = text => { box.textContent = text; pop.style.display = 'none'; search.value = ''; };
          const draw = () => {
            const texts = ['North', 'South', 'South annex'].filter(text => text.includes(search.value));
            list.replaceChildren(...texts.map(text => {
              const item = document.createElement('li');
              Object.assign(item, {role: 'option', textContent: text});
              item.addEventListener(TAKES, () => take(text));
              return item; })); };
          box.onmousedown = () => { pop.style.display = ''; draw(); };
          search.oninput = draw;
        </script>"""

    @pytest.mark.parametrize("takes", ["click", "mousedown", "mouseup"])
    def test_a_list_that_opens_is_one_choice_whenever_it_takes_its_option(self, site: Site, takes: str) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("combobox").click()
            await page.get_by_label("Find").click()
            await page.keyboard.type("South")
            await page.get_by_role("option", name="South annex").click()

        recording = recorded(site, self.LIST.replace("TAKES", f"'{takes}'"), acts)
        ward = only(recording, Chose)

        assert kinds(recording) == ["Chose"]
        assert (ward.value, ward.searched, ward.typed) == ("South annex", True, "South")
        assert (ward.facts.control, ward.facts.caption) == (Control.LIST, "Ward")
        assert by_role("combobox", "Ward") in unique(ward.candidates)

    def test_a_list_whose_parts_have_no_roles(self, site: Site) -> None:
        html = """<div class="field"><div class="name">Kind</div><div class="box" style="cursor: pointer"
            onclick="pop.hidden = false"><input id="held" readonly></div></div>
            <ul id="pop" hidden><li class="item" onclick="held.value = 'Fax'; pop.hidden = true">Fax</li>
            <li class="item" onclick="held.value = 'Letter'; pop.hidden = true">Letter</li></ul>"""

        async def acts(page: Page) -> None:
            await page.locator(".box").click()
            await page.get_by_text("Letter").click()

        recording = recorded(site, html, acts)
        kind = only(recording, Chose)

        assert kinds(recording) == ["Chose"]
        assert (kind.value, kind.facts.options, kind.facts.caption) == ("Letter", ("Fax", "Letter"), "Kind")
        assert by_caption("Kind") in unique(kind.candidates)

    def test_a_choice_that_stands_in_a_part_without_a_name_is_shown_by_what_holds_it(self, site: Site) -> None:
        html = """<p>Tags</p><div id="tags"><ul><li class="field"><input id="s2_1" aria-label="Tags"
            onmousedown="pop.hidden = false"></li></ul></div>
            <ul id="pop" hidden><li role="option" onmousedown="take('fax')">fax</li><li role="option">letter</li></ul>
            <script>const take = text => { pop.hidden = true; const chip = document.createElement('li');
              chip.innerHTML = `<div>${text}</div>`; document.querySelector('.field').before(chip); }</script>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("textbox").click()
            await page.get_by_role("option", name="fax").click()

        tags = only(recorded(site, html, acts), Chose)

        assert tags.value == "fax"
        assert by_role("textbox", "Tags") in unique(tags.candidates)
        assert by_attribute("id", "tags") in unique(tags.shown)
        # The field beside the caption is what a run would find by it, and it shows nothing.
        assert by_caption("Tags") not in unique(tags.shown)

    def test_a_menu_that_does_something_is_no_choice(self, site: Site) -> None:
        html = """<button onclick="menu.hidden = false">More</button><div id="menu" role="menu" hidden>
            <div role="menuitem" onclick="menu.hidden = true; out.textContent = 'copied'">Copy</div></div>
            <p id="out"></p>"""

        async def acts(page: Page) -> None:
            await page.get_by_role("button", name="More").click()
            await page.get_by_role("menuitem").click()

        assert clicked(recorded(site, html, acts)) == ["More", "Copy"]


class TestBoxes:
    """A box is told by the state that it was put in."""

    @pytest.mark.parametrize(
        "box",
        [
            '<label><input type="checkbox"> Urgent</label>',
            '<label><input type="checkbox" style="opacity: 0; position: absolute"><i></i> Urgent</label>',
            """<label><input type="checkbox" onclick="event.preventDefault();
                setTimeout(() => { this.checked = true })"> Urgent</label>""",
            """<div role="switch" aria-label="Urgent" aria-checked="false" tabindex="0"
                onclick="this.setAttribute('aria-checked', 'true')">o</div>""",
            """<button role="checkbox" aria-label="Urgent" aria-pressed="false"
                onclick="this.setAttribute('aria-pressed', 'true')">o</button>""",
        ],
    )
    def test_boxes_of_every_make(self, site: Site, box: str) -> None:
        async def acts(page: Page) -> None:
            target = page.get_by_text("Urgent") if "label>" in box else page.get_by_label("Urgent")
            await target.click()

        recording = recorded(site, box, acts)
        urgent = only(recording, Checked)

        assert kinds(recording) == ["Checked"]
        assert (urgent.checked, urgent.facts.caption, urgent.facts.control) == (True, "Urgent", Control.CHECKBOX)

    def test_a_box_that_does_not_turn_is_a_click(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            await page.get_by_role("switch").click()

        html = '<div role="switch" aria-label="Urgent" aria-checked="false" tabindex="0">o</div>'

        assert kinds(recorded(site, html, acts)) == ["Clicked"]


class TestFiles:
    """An upload is told without name and content of the file."""

    def test_a_file(self, site: Site) -> None:
        async def acts(page: Page) -> None:
            scan = FilePayload(name="CANARY.txt", mimeType="text/plain", buffer=b"CANARY")
            await page.get_by_label("Scan").set_input_files([scan])

        recording = recorded(site, '<label>Scan <input type="file" name="scan"></label>', acts)

        assert by_attribute("name", "scan") in unique(only(recording, Uploaded).candidates)
        assert "CANARY" not in str(recording)
