"""Every kind of target, and every part of a page to which one can be limited, on real pages in a real Chromium."""

import pytest

from support.browser import (
    PATIENT,
    Lab,
    Site,
    Visit,
    attribute,
    button,
    by_test_id,
    caption,
    eventually,
    heading,
    label,
)
from surehand.core.workflow.commands import (
    CheckPage,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Open,
    ReadTexts,
    ReadValue,
    Texts,
)
from surehand.core.workflow.target import PageGate, QueryPart, Target, TargetKind, Within

MISSING = Fault(FaultKind.TARGET_MISSING)
NOT_UNIQUE = Fault(FaultKind.TARGET_NOT_UNIQUE)
WRONG_PAGE = Fault(FaultKind.PAGE_UNEXPECTED)
SIGN_IN = Fault(FaultKind.SIGN_IN_SHOWN)


def show(visit: Visit, site: Site, html: str) -> None:
    """Open a page with this content."""
    site.pages["/page"] = html
    assert visit.do(Open("/page")) == Done()


def value(visit: Visit, target: Target, row: str | None = None) -> object:
    """What the page holds there: the text, or why there is none."""
    seen = visit.do(ReadValue(target, row))
    return seen.values[0] if isinstance(seen, Texts) else seen


class TestAttributes:
    """An attribute is compared as a whole, whatever signs stand in it."""

    @pytest.mark.parametrize(
        "name", ["plain", 'a "quoted" one', "back\\slash", "it's", "a]b[c=d", "<b> & more", "ü ✓", "1"]
    )
    def test_any_value_is_found_as_it_is(self, patient: Visit, site: Site, name: str) -> None:
        escaped = name.replace("&", "&amp;").replace('"', "&quot;")
        show(patient, site, f'<input name="{escaped}" value=this><input name="{escaped}x" value=other>')

        assert value(patient, attribute("name", name)) == "this"

    def test_a_part_of_a_value_is_another_one(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<input name=note-1 value=x>")

        assert value(visit, attribute("name", "note")) == MISSING

    def test_a_value_that_two_have_is_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<input name=note value=x><input name=note value=y>")

        assert value(patient, attribute("name", "note")) == NOT_UNIQUE

    def test_a_twin_that_is_not_shown_does_not_count(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<input name=note value=x><input name=note value=y hidden>")

        assert value(patient, attribute("name", "note")) == "x"


FIELDS = """<div class=field><div><span>Patient</span><i>*</i></div><div><input value=one></div></div>
<div class=field><div><span>Patient's ward</span></div><div><div role=combobox><input value=two></div></div></div>
<div class=field><p>Notes</p><div contenteditable>three<p>Patient</p></div></div>"""


class TestCaptions:
    """A control that nothing names is found by the text beside it, when it is the only one there."""

    @pytest.mark.parametrize(
        ("name", "text"), [("Patient", "one"), ("Patient's ward", "two"), ("Notes", "three\n\nPatient")]
    )
    def test_the_one_control_beside_the_text_is_found(self, patient: Visit, site: Site, name: str, text: str) -> None:
        show(patient, site, FIELDS)

        assert value(patient, caption(name)) == text

    def test_two_controls_beside_the_text_are_none(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<div><p>When</p><input value=date><input value=time></div>")

        assert value(visit, caption("When")) == MISSING

    def test_the_same_text_beside_two_controls_is_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<div><p>Ward</p><input value=a></div><div><p>Ward</p><input value=b></div>")

        assert value(patient, caption("Ward")) == NOT_UNIQUE

    def test_a_part_of_the_text_is_another_text(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<div><p>Ward two</p><input value=a></div>")

        assert value(visit, caption("Ward")) == MISSING

    def test_a_text_whose_own_control_is_gone_does_not_take_the_next_one(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<div><div><p>Notes</p><iframe></iframe></div><div><p>Title</p><input value=a></div></div>")

        assert value(visit, caption("Title")) == "a"
        assert visit.do(Fill(caption("Notes"), None, "x")) == WRONG_PAGE
        assert value(visit, caption("Title")) == "a"

    @pytest.mark.parametrize(
        "page",
        [
            "<div><div><span>Status</span>:</div><p> New </p></div><div><div><span>Ward</span>:</div><p>ICU</p></div>",
            "<dl><dt>Status</dt><dd>New</dd><dt>Ward</dt><dd>ICU</dd></dl>",
            "<table><tr><th>Status</th><td>New</td></tr><tr><th>Ward</th><td>ICU</td></tr></table>",
            "<table><tr><td><b>Status</b></td><td>New</td></tr><tr><td><b>Ward</b></td><td>ICU</td></tr></table>",
        ],
    )
    @pytest.mark.parametrize("around", ["{}", "<header><i>Search</i><input value=no></header><main>{}</main>"])
    def test_where_there_is_no_control_it_is_the_one_text_beside(
        self, patient: Visit, site: Site, page: str, around: str
    ) -> None:
        show(patient, site, around.format(page))

        assert patient.do(ReadTexts((caption("Status"), caption("Ward")), (None, None))) == Texts(("New", "ICU"))

    @pytest.mark.parametrize(
        "page",
        [
            "<dl><dt>Status</dt><dd>New</dd><dd>Old</dd><dt>Ward</dt></dl>",
            "<table><tr><th>Status</th><td>New</td><td>Old</td></tr></table>",
            "<dl><dt>Status</dt><dt>Ward</dt><dd>ICU</dd></dl>",
        ],
    )
    def test_several_texts_beside_are_none(self, visit: Visit, site: Site, page: str) -> None:
        show(visit, site, page)

        assert value(visit, caption("Status")) == MISSING

    def test_a_help_text_does_not_stand_between_a_text_and_its_control(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<div><div><b>Pulse</b><i>per minute</i></div><div><input value=72> bpm</div></div>")

        assert value(patient, caption("Pulse")) == "72"

    def test_a_group_of_radio_buttons_is_one_field(self, patient: Visit, site: Site) -> None:
        radios = "".join(f"<label><input type=radio name=kind {on}> {on or 'none'}</label>" for on in ("", "checked"))
        show(patient, site, f"<form>{radios}</form><form>{radios.replace('kind', 'other')}</form>")

        assert value(patient, attribute("name", "kind")) == "checked"
        assert value(patient, attribute("type", "radio")) == NOT_UNIQUE

    def test_a_control_in_a_shadow_tree_is_found(self, patient: Visit, site: Site) -> None:
        inner = "<div><p>Ward</p><input value=inside></div>"
        show(patient, site, f"<div id=h></div><script>h.attachShadow({{mode: 'open'}}).innerHTML = `{inner}`</script>")

        assert value(patient, caption("Ward")) == "inside"


DIALOG = (
    "<div role=dialog style='position:fixed;inset:{inset}px;background:#fff'><p>Name</p><input value={value}></div>"
)


class TestDialogs:
    """Within the open dialog, only what stands in it is found."""

    TARGET = caption("Name", Within.DIALOG)

    def test_what_lies_behind_is_not_found(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<div><p>Name</p><input value=behind></div>" + DIALOG.format(inset=60, value="inside"))

        assert value(patient, self.TARGET) == "inside"
        assert value(patient, caption("Name")) == NOT_UNIQUE

    def test_without_an_open_dialog_nothing_is_found(self, visit: Visit, site: Site) -> None:
        hidden = DIALOG.format(inset=60, value="inside").replace("<div ", "<div hidden ").replace("position:fixed;", "")
        show(visit, site, "<div><p>Name</p><input value=behind></div><dialog><p>Name</p><input></dialog>" + hidden)

        assert value(visit, self.TARGET) == MISSING

    def test_the_one_on_top_is_meant(self, patient: Visit, site: Site) -> None:
        show(patient, site, DIALOG.format(inset=20, value="below") + DIALOG.format(inset=90, value="above"))

        assert value(patient, self.TARGET) == "above"

    def test_the_inner_one_is_meant(self, patient: Visit, site: Site) -> None:
        inner = DIALOG.format(inset=90, value="inner")
        show(patient, site, DIALOG.format(inset=20, value="outer").replace("</div>", inner + "</div>"))

        assert value(patient, self.TARGET) == "inner"

    def test_two_beside_each_other_are_not_unique(self, patient: Visit, site: Site) -> None:
        side = "<div role=dialog style='width:300px'><p>Name</p><input></div>"
        show(patient, site, side + side)

        assert value(patient, self.TARGET) == NOT_UNIQUE

    def test_fields_that_are_named_like_parts_of_a_page_are_fields(self, patient: Visit, site: Site) -> None:
        names = ("matches", "closest", "children", "childNodes", "parentElement", "shadowRoot", "getRootNode")
        fields = "".join(f"<input type=hidden name={name}>" for name in (*names, "checkVisibility", "labels"))
        show(patient, site, f"<form>{fields}</form>{DIALOG.format(inset=60, value='inside')}<form>{fields}</form>")

        assert value(patient, self.TARGET) == "inside"
        assert value(patient, caption("Name")) == "inside"

    def test_a_modal_of_the_browser_is_one(self, patient: Visit, site: Site) -> None:
        show(
            patient,
            site,
            "<p>Name</p><input><dialog id=d><p>Name</p><input value=modal></dialog><script>d.showModal()</script>",
        )

        assert value(patient, self.TARGET) == "modal"


class TestFrames:
    """Within a frame that is named exactly, targets are found as on any page, and nowhere else."""

    def target(self, frame: str) -> Target:
        return Target(TargetKind.LABEL, "Note", frame=frame)

    def frames(self, visit: Visit, site: Site, *heads: str) -> None:
        inner = "<label>Note <input value=inside></label><div aria-label=Text contenteditable>rich</div>"
        show(
            visit,
            site,
            "<label>Note <input></label>" + "".join(f'<iframe {head} srcdoc="{inner}"></iframe>' for head in heads),
        )

    @pytest.mark.parametrize("head", ["title='The editor'", "name='The editor'"])
    def test_title_or_name_tells_the_frame(self, patient: Visit, site: Site, head: str) -> None:
        self.frames(patient, site, head, "title=other")

        assert value(patient, self.target("The editor")) == "inside"
        assert patient.do(Fill(self.target("The editor"), None, "new")) == Done()
        assert value(patient, self.target("The editor")) == "new"
        assert value(patient, self.target("other")) == "inside"

    def test_a_part_of_the_title_is_another_frame(self, visit: Visit, site: Site) -> None:
        self.frames(visit, site, "title='The editor'")

        assert value(visit, self.target("editor")) == MISSING

    def test_two_frames_of_one_title_are_none(self, visit: Visit, site: Site) -> None:
        self.frames(visit, site, "title=editor", "title=editor")

        assert value(visit, self.target("editor")) == MISSING

    def test_what_is_edited_in_a_frame_is_filled_and_read(self, patient: Visit, site: Site) -> None:
        self.frames(patient, site, "title=editor")
        target = Target(TargetKind.LABEL, "Text", frame="editor")

        assert patient.do(CheckPage(PageGate("/page", label("Note")))) == Done()
        assert patient.do(Fill(target, None, "two\nlines")) == Done()
        assert value(patient, target) == "two\nlines"


class TestItems:
    """A row may be an item of a list."""

    ITEMS = (
        "<ul><li><b>A-1</b> Ada <button>Open</button></li><li><b>A-12</b> Ben <button disabled>Open</button></li></ul>"
    )

    def test_the_item_with_exactly_this_text_is_meant(self, visit: Visit, site: Site) -> None:
        show(visit, site, self.ITEMS)

        assert visit.do(Click(button("Open"), "A-1")) == Done()
        assert visit.do(Click(button("Open"), "A-12")) == WRONG_PAGE
        assert visit.do(Click(button("Open"), "A")) == MISSING

    def test_an_item_in_the_dialog_is_told_from_one_behind_it(self, patient: Visit, site: Site) -> None:
        box = f"<div role=dialog style='position:fixed;inset:40px;background:#fff'>{self.ITEMS}</div>"
        show(patient, site, self.ITEMS + box)

        assert patient.do(Click(button("Open"), "A-1")) == NOT_UNIQUE
        assert patient.do(Click(Target(TargetKind.ROLE, "Open", "button", within=Within.DIALOG), "A-1")) == Done()


class TestGates:
    """A gate compares what it names of the address, and nothing else of it."""

    FORM = heading("Form")

    @pytest.fixture(autouse=True)
    def page(self, site: Site) -> None:
        site.pages["/doku.php"] = site.pages["/wards/a b"] = "<h1>Form</h1>"
        site.pages["/wards/a%20b"] = site.pages["/wards/a%2Fb"] = "<h1>Form</h1>"

    @pytest.mark.parametrize(
        ("query", "holds"),
        [
            ((QueryPart("id", "ward:icu"),), True),
            ((QueryPart("id", "*"), QueryPart("do", "edit")), True),
            ((), True),
            ((QueryPart("id", "ward"),), False),
            ((QueryPart("rev", "*"),), False),
            ((QueryPart("twice", "*"),), False),
        ],
    )
    def test_members_of_the_query(self, visit: Visit, query: tuple[QueryPart, ...], holds: bool) -> None:
        assert visit.do(Open("/doku.php?id=ward%3Aicu&do=edit&twice=1&twice=1")) == Done()

        seen = visit.do(CheckPage(PageGate("/doku.php", self.FORM, query)))

        assert seen == (Done() if holds else WRONG_PAGE)

    @pytest.mark.parametrize(
        ("fragment", "holds"),
        [("/visits/*", True), ("/visits/7", True), (None, True), ("/visits", False), ("/*/8", False)],
    )
    def test_the_fragment(self, visit: Visit, fragment: str | None, holds: bool) -> None:
        assert visit.do(Open("/doku.php#/visits/7")) == Done()

        seen = visit.do(CheckPage(PageGate("/doku.php", self.FORM, fragment=fragment)))

        assert seen == (Done() if holds else WRONG_PAGE)

    @pytest.mark.parametrize(
        ("path", "holds"), [("/wards/a%20b", True), ("/wards/%61%20b", True), ("/wards/%2A", False)]
    )
    def test_a_segment_is_what_it_decodes_to(self, visit: Visit, path: str, holds: bool) -> None:
        assert visit.do(Open("/wards/a%20b")) == Done()

        assert visit.do(CheckPage(PageGate(path, self.FORM))) == (Done() if holds else WRONG_PAGE)

    def test_an_encoded_separator_is_no_separator(self, visit: Visit) -> None:
        assert visit.do(Open("/wards/a%2Fb")) == Done()

        assert visit.do(CheckPage(PageGate("/wards/a/b", self.FORM))) == WRONG_PAGE
        assert visit.do(CheckPage(PageGate("/wards/a%2fb", self.FORM))) == Done()

    @pytest.mark.parametrize(
        ("path", "html", "seen"),
        [
            ("/accounts/login/", "<h1>Hello</h1><input>", SIGN_IN),
            ("/wp-login.php", "<h1>Hello</h1><input type=password>", SIGN_IN),
            ("/hello", "<h1>Hello</h1><input autocomplete='username webauthn'>", SIGN_IN),
            ("/login/help", "<h1>Hello</h1><input>", WRONG_PAGE),
            ("/hello", "<h1>Hello</h1><input type=password hidden>", WRONG_PAGE),
        ],
    )
    def test_a_page_to_sign_in_on_is_told_by_what_it_is(
        self, visit: Visit, site: Site, path: str, html: str, seen: Fault
    ) -> None:
        site.pages[path] = html
        assert visit.do(Open(path)) == Done()

        assert visit.do(CheckPage(PageGate("/form", self.FORM))) == seen


#: One document with two records: what is asked for under ``#/…`` is shown, after a while that a test ends.
ROUTES = """<h1>Record</h1><p data-testid=who></p><label>Note <input id=note></label><p data-testid=told></p>
<label for=kind>Kind</label><select id=kind><option>Plain<option>Long</select>
<label>Signed <input type=checkbox id=signed></label><button id=save disabled>Save</button><script>
const told = document.querySelector('[data-testid=told]');
const show = () => document.querySelector('[data-testid=who]').textContent = location.pathname;
for (const type of ['input', 'change', 'click']) for (const el of [note, kind, signed, save])
    el.addEventListener(type, () => told.textContent += `${location.pathname}:${el.id} `);
const go = path => { history.pushState(null, '', path); show(); };
show();
</script>"""

#: Whether an act of ours is under way in the page.
IS_GUARDED = "() => (window[Symbol.for('surehand.guard')]?.gate ?? null) !== null"

COMMANDS: list[Fill | Click] = [
    Fill(label("Note"), None, "x"),
    Click(button("Save"), None),
]


class TestOneAddress:
    """On a page that changes its address by itself, nothing reaches the record that came in between."""

    GATE = CheckPage(PageGate("/records/1", heading("Record")))

    def begin(self, visit: Visit, site: Site, script: str) -> None:
        site.pages["/records/1"] = ROUTES + f"<script>{script}</script>"
        assert visit.do(Open("/records/1")) == Done()
        assert visit.do(self.GATE) == Done()

    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("gated", [True, False])
    def test_what_waits_for_an_element_does_not_act_on_another_record(
        self, lab: Lab, site: Site, command: Fill | Click, gated: bool
    ) -> None:
        # The element is locked until a request, which the test holds, is answered; then it belongs to another record.
        hold = site.hold("/next")
        unlock = "go('/records/2'); note.disabled = save.disabled = false"
        site.pages["/records/1"] = (
            f"{ROUTES}<script>note.disabled = true; fetch('/next').then(() => {{ {unlock} }})</script>"
        )
        with lab.visit(site, limits=PATIENT) as visit:
            assert visit.do(Open("/records/1")) == Done()
            assert not gated or visit.do(self.GATE) == Done()
            acting = visit.begin(command)
            assert hold.reached.wait(60)
            assert not gated or eventually(lambda: visit.ask(IS_GUARDED) is True)
            # What is asked after the act stands behind it: it waits for its element by now.
            for _ in range(50):
                visit.ask("() => 1")
            hold.go.set()
            acting.result(60)

            assert (visit.ask("() => told.textContent") == "") is gated

    def test_the_same_act_reaches_its_own_record(self, lab: Lab, site: Site) -> None:
        with lab.visit(site, limits=PATIENT) as visit:
            self.begin(visit, site, "save.disabled = false")

            assert [visit.do(command) for command in COMMANDS] == [Done()] * 2
            assert visit.do(ReadTexts((by_test_id("told"),), (None,))) == Texts(
                ("/records/1:note /records/1:note /records/1:save",)
            )

    def test_nothing_is_found_once_the_address_is_another(self, visit: Visit, site: Site) -> None:
        self.begin(visit, site, "note.onfocus = () => go('/records/2')")

        visit.do(Fill(label("Note"), None, "x"))

        assert visit.do(Fill(label("Note"), None, "y")) == WRONG_PAGE
        assert visit.do(Click(button("Save"), None)) == WRONG_PAGE

    def test_an_act_that_leads_to_another_address_has_happened(self, patient: Visit, site: Site) -> None:
        self.begin(patient, site, "save.disabled = false; save.onmousedown = () => go('/records/2')")

        assert patient.do(Click(button("Save"), None)) == Done()
        assert patient.do(CheckPage(PageGate("/records/2", heading("Record")))) == Done()
        assert patient.do(ReadTexts((by_test_id("told"),), (None,))) == Texts(("/records/2:save",))
