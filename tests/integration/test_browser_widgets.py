"""What the widgets of other people's apps do to fields: hide them, draw boxes around them, label them, ask a server."""

import pytest

from support.browser import PATIENT, Lab, Site, Visit, attribute, button, by_test_id, caption, label
from surehand.core.workflow.bundle import ChoiceControl
from surehand.core.workflow.commands import (
    Check,
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
    Texts,
)
from surehand.core.workflow.target import PageGate, Target, TargetKind
from surehand.shell.engines.browser.viewing import Limits

MISSING = Fault(FaultKind.TARGET_MISSING)
COVERED = Fault(FaultKind.TARGET_COVERED)
WRONG_PAGE = Fault(FaultKind.PAGE_UNEXPECTED)
GATE = CheckPage(PageGate("/page", by_test_id("page")))


def show(visit: Visit, site: Site, html: str) -> None:
    """Open a page with this content, and check that it is there."""
    site.pages["/page"] = f"{html}<i data-testid=page>here</i>"
    assert visit.do(Open("/page")) == Done()
    assert visit.do(GATE) == Done()


def holds(visit: Visit, target: Target, control: ChoiceControl | None = None) -> object:
    """What the control holds: its text, or why there is none."""
    seen = visit.do(ReadValue(target, None, control))
    return seen.values[0] if isinstance(seen, Texts) else seen


TABS = """<div id=first><label>Note <input name=note></label><label><input type=checkbox name=bed> Bed</label>
<label for=ward>Ward</label><select id=ward><option>-<option>ICU</select><div><p>Beside</p><input name=beside></div>
<fieldset><label><input type=radio name=kind value=1> Short</label><label><input type=radio name=kind> Long</label>
</fieldset></div><div id=second hidden><label>Second <input></label></div>
<button onclick="first.hidden = true; second.hidden = false">Next</button>"""

#: Every way to a field of the first tab, how it is entered, and what it then holds.
ON_THE_FIRST = [
    (Fill(label("Note"), None, "x"), None, "x"),
    (Fill(Target(TargetKind.ROLE, "Note", "textbox"), None, "x"), None, "x"),
    (Fill(attribute("name", "note"), None, "x"), None, "x"),
    (Fill(caption("Beside"), None, "x"), None, "x"),
    (Check(label("Bed"), None, True), None, "true"),
    (Choose(label("Ward"), None, "ICU"), ChoiceControl.SELECT, "ICU"),
    (Choose(attribute("name", "kind"), None, "Long", ChoiceControl.RADIO), ChoiceControl.RADIO, "Long"),
]


class TestFieldsThatAreHiddenLater:
    """A field that was read, and is hidden by now, is read where it is; one that is gone, or never was shown, not."""

    @pytest.mark.parametrize(("command", "control", "text"), ON_THE_FIRST)
    def test_the_same_field_is_read_on_the_hidden_part(
        self, patient: Visit, site: Site, command: Fill | Check | Choose, control: ChoiceControl | None, text: str
    ) -> None:
        show(patient, site, TABS)
        assert patient.do(command) == Done()
        assert holds(patient, command.target, control) == text

        assert patient.do(Click(button("Next"), None)) == Done()

        assert holds(patient, command.target, control) == text

    def test_it_still_tells_the_record(self, patient: Visit, site: Site) -> None:
        show(patient, site, TABS)
        assert patient.do(Fill(label("Note"), None, "x")) == Done()
        assert holds(patient, label("Note")) == "x"

        assert patient.do(Click(button("Next"), None)) == Done()

        assert patient.do(ReadTexts((label("Note"), label("Second")), (None, None))) == Texts(("x", ""))

    def test_what_the_page_made_of_it_meanwhile_is_read(self, patient: Visit, site: Site) -> None:
        change = "document.querySelector('[name=note]').value = 'y'"
        show(patient, site, TABS.replace("first.hidden = true", f"{change}; first.hidden = true"))
        assert patient.do(Fill(label("Note"), None, "x")) == Done()
        assert holds(patient, label("Note")) == "x"

        assert patient.do(Click(button("Next"), None)) == Done()

        assert holds(patient, label("Note")) == "y"

    @pytest.mark.parametrize("instead", ["first.remove()", "first.innerHTML = first.innerHTML; first.hidden = true"])
    def test_a_field_that_is_gone_is_missing(self, visit: Visit, site: Site, instead: str) -> None:
        show(visit, site, TABS.replace("first.hidden = true", instead))
        assert visit.do(Fill(label("Note"), None, "x")) == Done()
        assert holds(visit, label("Note")) == "x"

        assert visit.do(Click(button("Next"), None)) == Done()

        assert holds(visit, label("Note")) == MISSING

    def test_a_field_that_was_never_shown_is_missing(self, visit: Visit, site: Site) -> None:
        show(visit, site, TABS)

        assert holds(visit, label("Second")) == MISSING
        assert visit.do(ReadTexts((label("Note"), label("Second")), (None, None))) == MISSING

    def test_a_field_that_is_shown_goes_before_one_that_was(self, patient: Visit, site: Site) -> None:
        show(patient, site, TABS.replace("Second <input>", "Note <input value=other>"))
        assert patient.do(Fill(label("Note"), None, "x")) == Done()
        assert holds(patient, label("Note")) == "x"

        assert patient.do(Click(button("Next"), None)) == Done()

        assert holds(patient, label("Note")) == "other"

    def test_nothing_is_entered_into_what_is_hidden(self, visit: Visit, site: Site) -> None:
        show(visit, site, TABS)
        assert holds(visit, label("Note")) == ""
        assert visit.do(Click(button("Next"), None)) == Done()

        assert visit.do(Fill(label("Note"), None, "x")) == MISSING


#: A list whose field takes no click: the box that is drawn around it does.
BOX = """<style>#box {{ width: 200px; padding: 9px }} input {{ pointer-events: none; width: 90px }}</style>
<div><p>Kind</p><div id=box onclick="panel.hidden = false"><input readonly {field}>{beside}</div></div>
<ul id=panel hidden><li onclick="document.querySelector('input').value = 'Long'; panel.hidden = true">Long</li></ul>"""


class TestFieldsInADrawnBox:
    """Of a control that takes no click, the box drawn around it is clicked, when nothing else in it can be used."""

    def choose(self) -> Choose:
        return Choose(caption("Kind"), None, "Long", ChoiceControl.LIST)

    @pytest.mark.parametrize("beside", ["", "<i aria-hidden=true>v</i>", "<button hidden>clear</button>"])
    def test_the_box_is_clicked(self, patient: Visit, site: Site, beside: str) -> None:
        show(patient, site, BOX.format(field="", beside=beside))

        assert patient.do(self.choose()) == Done()
        assert holds(patient, caption("Kind"), ChoiceControl.LIST) == "Long"

    @pytest.mark.parametrize("beside", ["<button>clear</button>", "<a href=/away>more</a>", "<i role=button>x</i>"])
    def test_a_box_with_something_else_to_use_is_not(self, visit: Visit, site: Site, beside: str) -> None:
        show(visit, site, BOX.format(field="", beside=beside))

        assert visit.do(self.choose()) == COVERED
        assert visit.ask("() => panel.hidden") is True

    def test_a_box_that_is_covered_is_not(self, visit: Visit, site: Site) -> None:
        show(visit, site, BOX.format(field="", beside="") + "<div style='position:fixed;inset:0'>Wait</div>")

        assert visit.do(self.choose()) == COVERED
        assert visit.ask("() => panel.hidden") is True

    def test_a_page_that_takes_no_click_at_all_is_not(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<style>body { pointer-events: none }</style>" + BOX.format(field="", beside=""))

        assert visit.do(self.choose()) == COVERED
        assert visit.ask("() => panel.hidden") is True

    @pytest.mark.parametrize("field", ["disabled", "aria-disabled=true"])
    def test_the_box_of_a_locked_field_is_not(self, visit: Visit, site: Site, field: str) -> None:
        show(visit, site, BOX.format(field=field, beside=""))

        assert visit.do(self.choose()) != Done()
        assert visit.ask("() => panel.hidden") is True

    def test_a_button_that_takes_no_click_is_not_clicked_beside(self, visit: Visit, site: Site) -> None:
        dead = "<button style='pointer-events:none'>Go</button>"
        show(visit, site, f"<p onclick=\"told.textContent = 'clicked'\">{dead}</p><i id=told></i>")

        assert visit.do(Click(button("Go"), None)) == COVERED
        assert visit.ask("() => told.textContent") == ""


def shown_by(inside: str) -> str:
    """A list that shows a choice, and something more."""
    return f"<div data-testid=list><a>Acme Clinic</a>{inside}</div>"


FAR = "position:absolute;left:-10000px"
PIXEL = "position:absolute;width:1px;height:1px;overflow:hidden"


class TestWhatAListShows:
    """What a list shows is what a person sees in it as the choice, and all of that."""

    SHOWN = by_test_id("list")

    @pytest.mark.parametrize(
        "inside",
        [
            f"<span style='{FAR}'>Customer</span>",
            f"<span style='{PIXEL}'>Customer</span>",
            f"<span style='{PIXEL};clip:rect(0 0 0 0)'>Customer</span>",
            "<span style='position:absolute;clip:rect(1px,1px,1px,1px)'>Customer</span>",
            "<span style='position:absolute;clip-path:inset(50%)'>Customer</span>",
            "<span style='position:absolute;clip-path:circle(0)'>Customer</span>",
            f"<div style='{PIXEL}'><p>Customer</p></div>",
            "<label>Customer &nbsp;</label>",
            "<span style='display:none'>Customer</span>",
            "<b>&nbsp;</b>",
            "<button>Clear</button>",
        ],
    )
    def test_what_nobody_sees_there_is_left_out(self, patient: Visit, site: Site, inside: str) -> None:
        show(patient, site, shown_by(inside))

        assert holds(patient, self.SHOWN, ChoiceControl.LIST) == "Acme Clinic"

    @pytest.mark.parametrize(
        "inside",
        [
            "<span>Customer</span>",
            "<span style='position:absolute;left:300px'>Customer</span>",
            "<span style='position:absolute;clip:rect(0,900px,900px,0)'>Customer</span>",
            "<span style='clip-path:inset(10%)'>Customer</span>",
            "<span style='position:relative;left:-1px'>Customer</span>",
        ],
    )
    def test_what_is_seen_there_is_not(self, patient: Visit, site: Site, inside: str) -> None:
        show(patient, site, shown_by(f" {inside}"))

        assert holds(patient, self.SHOWN, ChoiceControl.LIST) == "Acme Clinic Customer"

    def test_spaces_that_do_not_break_are_spaces(self, patient: Visit, site: Site) -> None:
        show(patient, site, shown_by("").replace("Acme Clinic", "Acme&nbsp;Clinic"))

        assert holds(patient, self.SHOWN, ChoiceControl.LIST) == "Acme Clinic"
        assert holds(patient, self.SHOWN) == "Acme\u00a0Clinic"


#: Choosing a kind makes the page ask for its form anew: what is entered before the answer is taken back.
ASKING = """<form id=form></form><script>
const draw = kind => form.innerHTML = '<label for=kind>Kind</label><select id=kind><option>Short<option>Long</select>'
    + '<label>Note <input></label>', kindOf = () => form.querySelector('select');
const listen = () => kindOf().onchange = async () => {
    const chosen = kindOf().value;
    await fetch('/form');
    await new Promise(done => setTimeout(done));
    draw(); kindOf().value = chosen; listen();
};
draw(); listen();
</script>"""


class TestFormsThatAServerGivesAnew:
    """What was entered or clicked is over when the page has what it then asks its server, within a bound."""

    def test_the_next_field_is_entered_into_the_new_form(self, lab: Lab, site: Site) -> None:
        show_later = site.hold("/form")
        with lab.visit(site, limits=PATIENT) as visit:
            show(visit, site, ASKING)
            choosing = visit.begin(Choose(label("Kind"), None, "Long"))
            assert show_later.reached.wait(60)
            assert not choosing.done()
            show_later.go.set()

            assert choosing.result(60) == Done()
            assert visit.do(Fill(label("Note"), None, "x")) == Done()
            assert visit.do(GATE) == Done()
            assert (holds(visit, label("Note")), holds(visit, label("Kind"))) == ("x", "Long")

    def test_without_waiting_it_would_be_taken_back(self, lab: Lab, site: Site) -> None:
        show_later = site.hold("/form")
        hasty = Limits(wait_ms=20_000, rest_ms=1)
        with lab.visit(site, limits=hasty) as visit:
            show(visit, site, ASKING)
            assert visit.do(Choose(label("Kind"), None, "Long")) == Done()
            assert visit.do(Fill(label("Note"), None, "x")) == Done()
            show_later.go.set()
            emptied = "while (form.querySelector('input').value) await new Promise(requestAnimationFrame)"
            visit.ask(f"async () => {{ {emptied} }}")

            assert holds(visit, label("Note")) == ""

    def test_a_request_without_an_end_is_waited_for_once(self, lab: Lab, site: Site) -> None:
        site.hold("/form")
        with lab.visit(site, limits=Limits(wait_ms=20_000, rest_ms=300)) as visit:
            show(visit, site, ASKING)

            assert visit.do(Choose(label("Kind"), None, "Long")) == Done()
            assert visit.do(GATE) == Done()
            assert holds(visit, label("Kind")) == "Long"

    def test_what_a_page_asks_upon_its_own_answer_is_waited_for_too(self, lab: Lab, site: Site) -> None:
        second = site.hold("/second")
        with lab.visit(site, limits=PATIENT) as visit:
            show(visit, site, ASKING.replace("fetch('/form')", "fetch('/form').then(() => fetch('/second'))"))
            choosing = visit.begin(Choose(label("Kind"), None, "Long"))
            assert second.reached.wait(60)
            assert not choosing.done()
            second.go.set()

            assert choosing.result(60) == Done()
            assert visit.do(Fill(label("Note"), None, "x")) == Done()
            assert holds(visit, label("Note")) == "x"


class TestPagesThatTakeLong:
    """A page that still asks its server, or is too busy to answer, is waited for as long as a page may load.

    So is a field that its script makes once it has everything, on a page whose heading was there at once.
    """

    LATE = "<script>fetch('/data').then(() => document.body.append(late))</script>"
    BUSY = """<script>let rounds = 0; const work = () => {
        for (const end = Date.now() + 200; Date.now() < end; );
        if (++rounds < 25) setTimeout(work); else document.body.append(late);
    }; setTimeout(work)</script>"""
    MADE = "<script>const late = Object.assign(document.createElement('h1'), {textContent: 'Late'})</script>"
    FIELD = "<h1>Form</h1><script>const late = Object.assign(document.createElement('input'), {title: 'Late'})</script>"
    GATE = CheckPage(PageGate("/page", Target(TargetKind.ROLE, "Late", "heading")))
    FILL = Fill(Target(TargetKind.ATTRIBUTE, "Late", attribute="title"), None, "x")
    SHORT = Limits(wait_ms=3_000, open_ms=60_000)

    def waited(self, lab: Lab, site: Site, command: CheckPage | Fill, html: str) -> object:
        """Open the page, and begin with what comes late; an answer is held until the usual time is over."""
        hold = site.hold("/data")
        site.pages["/page"] = f"<body>{html}"
        with lab.visit(site, limits=self.SHORT) as visit:
            assert visit.do(Open("/page")) == Done()
            waiting = visit.begin(command)
            visit.ask(f"() => new Promise(done => setTimeout(done, {self.SHORT.wait_ms * 2}))")
            hold.go.set()
            return waiting.result(60)

    @pytest.mark.parametrize("script", [LATE, BUSY])
    def test_what_tells_the_page_is_waited_for(self, lab: Lab, site: Site, script: str) -> None:
        assert self.waited(lab, site, self.GATE, self.MADE + script) == Done()

    @pytest.mark.parametrize("script", [LATE, BUSY])
    def test_a_field_is_waited_for(self, lab: Lab, site: Site, script: str) -> None:
        assert self.waited(lab, site, self.FILL, self.FIELD + script) == Done()

    def test_a_page_that_does_nothing_is_not(self, lab: Lab, site: Site) -> None:
        assert self.waited(lab, site, self.GATE, "<p>Nothing</p>") == WRONG_PAGE
        assert self.waited(lab, site, self.FILL, "<p>Nothing</p>") == Fault(FaultKind.TARGET_MISSING)
