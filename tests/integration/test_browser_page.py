"""The rules by which a page's elements are found and acted on, against real pages in a real Chromium."""

import pytest

from support.browser import (
    NOTE_FORM,
    PATIENT,
    SAVE_ROUTE,
    Lab,
    Site,
    Visit,
    button,
    by_test_id,
    eventually,
    heading,
    label,
    note_site,
)
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    CheckPage,
    Choose,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Open,
    ReadTexts,
    ReadValue,
    Save,
    SaveObserved,
    Texts,
)
from surehand.core.workflow.target import Constant, PageGate, Target, TargetKind


def show(visit: Visit, site: Site, html: str) -> None:
    """Open a page with this content."""
    site.pages["/page"] = html
    assert visit.do(Open("/page")) == Done()


def fault(kind: FaultKind) -> Fault:
    """A fault."""
    return Fault(kind)


class TestExactNames:
    """A target is found by its whole name, and only when it is the only one."""

    def test_a_label_that_is_part_of_another_label_is_not_that_other(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Phone <input></label><label>Phone (work) <input></label>")

        assert patient.do(Fill(label("Phone"), None, "1")) == Done()
        assert patient.do(ReadValue(label("Phone"), None)) == Texts(("1",))
        assert patient.do(ReadValue(label("Phone (work)"), None)) == Texts(("",))

    def test_two_fields_with_one_label_are_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Phone <input></label><label>Phone <input></label>")

        assert patient.do(Fill(label("Phone"), None, "1")) == fault(FaultKind.TARGET_NOT_UNIQUE)
        assert patient.do(ReadValue(label("Phone"), None)) == fault(FaultKind.TARGET_NOT_UNIQUE)

    def test_what_is_not_shown_does_not_count(self, patient: Visit, site: Site) -> None:
        show(
            patient,
            site,
            '<label style="display:none">Phone <input value="hidden"></label>'
            '<label>Phone <input value="shown"></label>',
        )

        assert patient.do(ReadValue(label("Phone"), None)) == Texts(("shown",))

    def test_two_buttons_with_one_name_are_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<button>Open</button><button>Open</button>")

        assert patient.do(Click(button("Open"), None)) == fault(FaultKind.TARGET_NOT_UNIQUE)

    def test_another_case_is_another_name(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<button>Save</button>")

        assert visit.do(Click(button("save"), None)) == fault(FaultKind.TARGET_MISSING)
        assert visit.do(Click(button("Save"), None)) == Done()


ROWS = """<table>
<tr><th>Number</th><th>Name</th><th></th></tr>
<tr><td>A-1</td><td>Ada Example</td><td><a href="/one">Open</a></td></tr>
<tr><td>A-12</td><td>Ben Sample</td><td><a href="/two">Open</a></td></tr>
</table>"""


class TestRows:
    """A row is the one that holds a cell with exactly this text, found at the moment of the action."""

    OPEN = Target(TargetKind.ROLE, "Open", "link")

    def test_a_cell_that_only_begins_with_the_text_is_another_row(self, patient: Visit, site: Site) -> None:
        site.pages |= {"/one": "<h1>One</h1>", "/two": "<h1>Two</h1>"}
        show(patient, site, ROWS)

        assert patient.do(Click(self.OPEN, "A-1")) == Done()
        assert patient.do(CheckPage(PageGate("/one", heading("One")))) == Done()

    def test_the_same_number_in_two_rows_is_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, ROWS.replace("A-12", "A-1"))

        assert patient.do(Click(self.OPEN, "A-1")) == fault(FaultKind.TARGET_NOT_UNIQUE)

    def test_a_cell_that_holds_more_is_known_by_the_element_that_is_the_text(self, visit: Visit, site: Site) -> None:
        site.pages |= {"/one": "<h1>One</h1>", "/two": "<h1>Two</h1>"}
        more = ROWS.replace("<td>A-1</td>", "<td><b>A-1</b> <button>More</button></td>")
        show(visit, site, more)

        assert visit.do(Click(self.OPEN, "A-1")) == Done()
        assert visit.do(CheckPage(PageGate("/one", heading("One")))) == Done()
        show(visit, site, more)
        assert visit.do(Click(self.OPEN, "A")) == fault(FaultKind.TARGET_MISSING)

    def test_rows_that_are_used_again_for_other_records_are_told_apart(self, patient: Visit, site: Site) -> None:
        recycle = """<button onclick="for (const [place, text] of [[1, 'A-12'], [2, 'A-1']])
            document.querySelectorAll('tr')[place].cells[0].textContent = text">Turn</button>"""
        site.pages |= {"/one": "<h1>One</h1>", "/two": "<h1>Two</h1>"}
        show(patient, site, ROWS + recycle)
        assert (
            patient.do(CheckPage(PageGate("/page", Target(TargetKind.ROLE, "Open", "link", row=Constant("A-1")))))
            == Done()
        )

        assert patient.do(Click(button("Turn"), None)) == Done()
        assert patient.do(Click(self.OPEN, "A-1")) == Done()
        assert patient.do(CheckPage(PageGate("/two", heading("Two")))) == Done()

    def test_a_row_that_is_not_there_is_missing(self, visit: Visit, site: Site) -> None:
        show(visit, site, ROWS)

        assert visit.do(Click(self.OPEN, "A-2")) == fault(FaultKind.TARGET_MISSING)


TOAST = '<div id="toast" style="position:fixed;inset:0" onclick="document.title = 1">Wait</div>'


class TestClicks:
    """A click lands on the target or is not made."""

    def test_a_covered_target_is_not_clicked(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<button onclick=\"this.textContent = 'Clicked'\">Go</button>" + TOAST)

        assert visit.do(Click(button("Go"), None)) == fault(FaultKind.TARGET_COVERED)
        assert visit.do(ReadTexts((button("Go"),), (None,))) == Texts(("Go",))

    def test_a_short_lived_cover_is_waited_for(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<button>Go</button>" + TOAST + "<script>setTimeout(() => toast.remove(), 150)</script>")

        assert patient.do(Click(button("Go"), None)) == Done()

    def test_a_target_that_appears_late_is_waited_for(self, patient: Visit, site: Site) -> None:
        late = "<script>setTimeout(() => document.body.append(Object.assign(document.createElement('button'), "
        show(patient, site, "<p>Soon</p>" + late + "{textContent: 'Go'})), 150)</script>")

        assert patient.do(Click(button("Go"), None)) == Done()

    def test_a_disabled_target_is_not_clicked(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<button disabled>Go</button>")

        assert visit.do(Click(button("Go"), None)) == fault(FaultKind.PAGE_UNEXPECTED)

    def test_a_second_window_is_noticed(self, patient: Visit, site: Site) -> None:
        site.pages["/other"] = "<h1>Other</h1>"
        show(patient, site, "<button onclick=\"window.open('/other')\">Go</button>")

        patient.do(Click(button("Go"), None))

        # The browser tells of its windows when it comes to it.
        gate = CheckPage(PageGate("/page", button("Go")))
        assert eventually(lambda: patient.do(gate) == fault(FaultKind.PAGE_UNEXPECTED))


class TestFields:
    """Entering replaces what was there and leaves the field; what the field then holds is read as it is."""

    def test_the_text_replaces_the_old_one(self, patient: Visit, site: Site) -> None:
        show(patient, site, '<label>Note <input value="OLD"></label>')

        assert patient.do(Fill(label("Note"), None, "NEW")) == Done()
        assert patient.do(ReadValue(label("Note"), None)) == Texts(("NEW",))

    def test_leaving_tells_the_page_that_the_field_changed_once(self, patient: Visit, site: Site) -> None:
        show(
            patient,
            site,
            "<label>Note <input onchange=\"seen.textContent += this.value + ';'\" "
            "onblur=\"seen.textContent += 'left;'\"></label><p id=seen data-testid=seen>=</p>",
        )

        assert patient.do(Fill(label("Note"), None, "x")) == Done()
        assert patient.do(ReadTexts((by_test_id("seen"),), (None,))) == Texts(("=x;left;",))

    def test_leaving_moves_into_no_other_field(self, patient: Visit, site: Site) -> None:
        show(
            patient,
            site,
            "<label>Note <input></label><label>Next <input onfocus=\"this.value = 'entered'\"></label>",
        )

        assert patient.do(Fill(label("Note"), None, "x")) == Done()
        assert patient.do(ReadValue(label("Next"), None)) == Texts(("",))

    def test_a_list_that_takes_its_first_suggestion_is_seen_through(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Drug <input onblur=\"this.value = 'Metoprolol'\"></label>")

        assert patient.do(Fill(label("Drug"), None, "metformin")) == Done()
        assert patient.do(ReadValue(label("Drug"), None)) == Texts(("Metoprolol",))

    def test_a_newline_is_no_enter_key(self, patient: Visit, site: Site) -> None:
        show(patient, site, '<form method=post action="/early"><label>A <input></label><label>B <input></label></form>')

        assert patient.do(Fill(label("A"), None, "x\ny")) == Done()
        assert patient.do(ReadValue(label("A"), None)) == Texts(("x y",))
        assert site.posts == []

    def test_a_text_that_the_field_cuts_is_read_cut(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Note <input maxlength=5></label>")

        assert patient.do(Fill(label("Note"), None, "123456789")) == Done()
        assert patient.do(ReadValue(label("Note"), None)) == Texts(("12345",))

    @pytest.mark.parametrize("date", ["1970-04-04", "2024-02-29"])
    def test_a_native_date_field_takes_the_iso_form(self, patient: Visit, site: Site, date: str) -> None:
        show(patient, site, "<label>Born <input type=date></label>")

        assert patient.do(Fill(label("Born"), None, date)) == Done()
        assert patient.do(ReadValue(label("Born"), None)) == Texts((date,))

    @pytest.mark.parametrize("text", ["04/04/1970", "1970-02-30"])
    def test_another_form_never_passes_for_the_date(self, patient: Visit, site: Site, text: str) -> None:
        show(patient, site, '<label>Born <input type=date value="2000-01-01"></label>')

        patient.do(Fill(label("Born"), None, text))

        assert patient.do(ReadValue(label("Born"), None)) != Texts((text,))

    def test_a_number_in_another_notation_is_refused_by_the_field(self, patient: Visit, site: Site) -> None:
        show(patient, site, '<label>Dose <input type=number value="7"></label>')

        assert patient.do(Fill(label("Dose"), None, "1,5")) == fault(FaultKind.PAGE_UNEXPECTED)

    def test_something_that_is_no_field_is_not_filled(self, patient: Visit, site: Site) -> None:
        show(patient, site, '<p aria-label="Note">text</p>')

        assert patient.do(Fill(label("Note"), None, "x")) == fault(FaultKind.PAGE_UNEXPECTED)


class TestOptions:
    """An option is chosen by its exact label, when exactly one bears it."""

    @pytest.mark.parametrize("options", [("US Citizen", "Non-US Citizen"), ("Non-US Citizen", "US Citizen")])
    def test_a_label_inside_another_label_is_not_it(self, patient: Visit, site: Site, options: tuple[str, str]) -> None:
        inner = "".join(f"<option>{option}</option>" for option in options)
        show(patient, site, f"<label for=s>Status</label><select id=s><option></option>{inner}</select>")

        assert patient.do(Choose(label("Status"), None, "US Citizen")) == Done()
        assert patient.do(ReadValue(label("Status"), None)) == Texts(("US Citizen",))

    def test_no_such_option_is_missing(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<label for=s>Help</label><select id=s><option>No<option>Not at this time</select>")

        assert visit.do(Choose(label("Help"), None, "Not")) == fault(FaultKind.OPTION_MISSING)
        assert visit.do(ReadValue(label("Help"), None)) == Texts(("No",))

    def test_the_same_label_twice_is_not_unique(self, visit: Visit, site: Site) -> None:
        show(
            visit, site, "<label for=s>Who</label><select id=s><option>-<option value=1>Ada<option value=2>Ada</select>"
        )

        assert visit.do(Choose(label("Who"), None, "Ada")) == fault(FaultKind.TARGET_NOT_UNIQUE)

    def test_options_that_arrive_late_are_waited_for(self, patient: Visit, site: Site) -> None:
        late = "<script>setTimeout(() => document.querySelector('select').add(new Option('Ada')), 150)</script>"
        show(patient, site, "<label for=s>Who</label><select id=s><option>-</select>" + late)

        assert patient.do(Choose(label("Who"), None, "Ada")) == Done()

    def test_a_list_that_is_not_there_is_missing(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<p>Nothing</p>")

        assert visit.do(Choose(label("Who"), None, "Ada")) == fault(FaultKind.TARGET_MISSING)


class TestReading:
    """What is shown is read as it is shown."""

    def test_only_the_space_of_the_layout_is_trimmed(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<p data-testid=a>\n  Ada <b>Example</b>\n</p><pre data-testid=b> 1&nbsp;</pre>")

        assert patient.do(ReadTexts((by_test_id("a"), by_test_id("b")), (None, None))) == Texts(
            ("Ada Example", "1\u00a0")
        )

    @pytest.mark.parametrize("field", ["<textarea>\n{}</textarea>", "<pre contenteditable>{}</pre>"])
    def test_what_a_field_holds_is_not_trimmed(self, patient: Visit, site: Site, field: str) -> None:
        show(patient, site, field.format("  * Bed 1 ").replace(">", " data-testid=a>", 1))

        assert patient.do(ReadTexts((by_test_id("a"),), (None,))) == Texts(("  * Bed 1 ",))
        assert patient.do(ReadValue(by_test_id("a"), None)) == Texts(("  * Bed 1 ",))

    def test_one_missing_text_leaves_all_unread(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<p data-testid=a>x</p>")

        assert visit.do(ReadTexts((by_test_id("a"), by_test_id("b")), (None, None))) == fault(FaultKind.TARGET_MISSING)

    def test_a_text_that_stands_twice_is_not_unique(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<p data-testid=a>x</p><p data-testid=a>x</p>")

        assert patient.do(ReadTexts((by_test_id("a"),), (None,))) == fault(FaultKind.TARGET_NOT_UNIQUE)


class TestPageGate:
    """A step acts on the page that it means, or not at all."""

    def test_another_path_does_not_hold(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<h1>Form</h1>")

        assert visit.do(CheckPage(PageGate("/other", heading("Form")))) == fault(FaultKind.PAGE_UNEXPECTED)
        assert visit.do(CheckPage(PageGate("/*", heading("Form")))) == Done()

    def test_a_landmark_that_stands_twice_does_not_hold(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<h1>Form</h1><h2>Form</h2>")

        assert visit.do(CheckPage(PageGate("/page", heading("Form")))) == fault(FaultKind.PAGE_UNEXPECTED)

    def test_a_sign_in_page_in_its_place_is_told(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<h1>Sign in</h1><label>Note <input></label><label>Password <input type=password></label>")

        assert visit.do(CheckPage(PageGate("/form", heading("Form")))) == fault(FaultKind.SIGN_IN_SHOWN)

    def test_another_origin_does_not_hold(self, visit: Visit, site: Site) -> None:
        with Site({"/page": "<h1>Form</h1>"}) as other:
            show(visit, site, f"<p>Going</p><script>location.href = '{other.origin}/page'</script>")

            assert visit.do(CheckPage(PageGate("/page", heading("Form")))) == fault(FaultKind.PAGE_UNEXPECTED)


class TestOneFace:
    """An app sees every run alike, whatever the machine is set to."""

    def test_language_numbers_and_dates_are_those_of_one_place(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<h1>Form</h1>")

        told = "[navigator.language, (1234.5).toLocaleString(), new Date(0).toLocaleString()]"

        assert patient.ask(f"() => {told}") == ["en-US", "1,234.5", "1/1/1970, 12:00:00 AM"]


class TestDialogs:
    """A dialog that nobody recorded is dismissed, and told."""

    @pytest.mark.parametrize("dialog", ["alert('secret')", "confirm('secret')", "prompt('secret')"])
    def test_a_dialog_before_the_save_is_told(self, patient: Visit, site: Site, dialog: str) -> None:
        show(patient, site, f'<button onclick="{dialog}">Go</button>')

        assert patient.do(Click(button("Go"), None)) == fault(FaultKind.UNEXPECTED_DIALOG)

    def test_a_question_before_the_write_is_not_answered_with_yes(self, patient: Visit, site: Site) -> None:
        ask = NOTE_FORM.replace("<form ", "<form onsubmit=\"return confirm('Sure?')\" ")
        show(patient, site, ask)

        observed = patient.do(Save(button("Save"), None, SAVE_ROUTE))

        assert observed == SaveObserved(Delivery.NOT_SENT, 0, unexpected_dialog=True, boundary=BoundaryAnswer.NOT_ASKED)
        assert site.posts == []

    def test_a_dialog_after_the_write_is_told(self, patient: Visit, site: Site) -> None:
        site.pages["/saved"] = "<script>alert('secret')</script>"
        show(patient, site, NOTE_FORM)

        observed = patient.do(Save(button("Save"), None, SAVE_ROUTE))

        assert observed == SaveObserved(Delivery.SENT_ONCE, 0, unexpected_dialog=True, boundary=BoundaryAnswer.GRANTED)


class TestSaving:
    """One save, one write: what is answered is what the fence measured."""

    def test_the_one_write_is_sent_once_after_the_boundary(self, lab: Lab) -> None:
        with note_site() as site, lab.visit(site, limits=PATIENT) as visit:
            visit.do(Open("/new"))

            assert visit.do(Save(button("Save"), None, SAVE_ROUTE)) == SaveObserved(
                Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED
            )
            assert visit.crossings == [True]
            assert site.posts == ["/records"]

    def test_a_dialog_upon_the_answer_of_a_script_is_told(self, patient: Visit, site: Site) -> None:
        options = f"method: 'POST', headers: {{'content-type': '{SAVE_ROUTE.content_type}'}}, body: 'note=x'"
        send = f"fetch('/records', {{{options}}})"
        show(patient, site, f"<button onclick=\"{send}.then(() => alert('secret'))\">Save</button>")

        observed = patient.do(Save(button("Save"), None, SAVE_ROUTE))

        assert observed == SaveObserved(Delivery.SENT_ONCE, 0, unexpected_dialog=True, boundary=BoundaryAnswer.GRANTED)

    def test_a_boundary_that_refuses_lets_nothing_out(self, lab: Lab) -> None:
        with note_site() as site, lab.visit(site, limits=PATIENT, allow=False) as visit:
            visit.do(Open("/new"))

            observed = visit.do(Save(button("Save"), None, SAVE_ROUTE))

            assert isinstance(observed, SaveObserved)
            assert (observed.delivery, observed.boundary) == (Delivery.NOT_SENT, BoundaryAnswer.REFUSED)
            assert visit.crossings == [False]
            assert site.posts == []

    def test_a_click_without_a_handler_yet_sends_nothing_and_says_so(self, visit: Visit, site: Site) -> None:
        late = "<button id=b>Save</button><script>setTimeout(() => b.onclick = () => fetch('/records', "
        show(visit, site, late + "{method: 'POST'}), 60000)</script>")

        assert visit.do(Save(button("Save"), None, SAVE_ROUTE)) == SaveObserved(
            Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED
        )
        assert visit.crossings == []

    def test_a_covered_save_sends_nothing(self, visit: Visit, site: Site) -> None:
        show(visit, site, NOTE_FORM + TOAST)

        assert visit.do(Save(button("Save"), None, SAVE_ROUTE)) == SaveObserved(
            Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED
        )
        assert site.posts == []

    def test_an_answer_that_never_comes_leaves_doubt(self, lab: Lab) -> None:
        with note_site() as site, lab.visit(site, limits=PATIENT) as visit:
            visit.do(Open("/new"))
            site.hold("POST /records")

            observed = visit.do(Save(button("Save"), None, SAVE_ROUTE))

            assert isinstance(observed, SaveObserved)
            assert observed.delivery is Delivery.UNKNOWN
            assert site.posts == ["/records"]
            site.holds["POST /records"].go.set()

    def test_a_write_before_the_save_is_stopped_and_told(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<button onclick=\"fetch('/early', {method: 'POST'})\">Go</button>")

        told, seen = fault(FaultKind.EARLY_WRITE_STOPPED), patient.do(Click(button("Go"), None))

        # The write may be on its way to the fence when the click is over; it is told as soon as it was stopped.
        assert seen in (Done(), told)
        assert eventually(lambda: patient.do(CheckPage(PageGate("/page", button("Go")))) == told)
        assert site.posts == []
