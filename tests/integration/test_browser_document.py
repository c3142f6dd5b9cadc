"""What acts, acts in the document that the gate saw: a page that comes in between is never typed into or clicked."""

from collections.abc import Iterator

import pytest
from attrs import evolve

from support.browser import PATIENT, Lab, Site, Visit, button, eventually, heading, label
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
    Save,
    SaveObserved,
)
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.target import PageGate
from surehand.shell.engines.browser.page import PageCommand, PageObservation

FORM_TYPE = "application/x-www-form-urlencoded"

#: Everything on it is locked; another page comes when the test lets it, while something is waited for.
LOCKED = """<h1>New note</h1><form method=post action=/records>
<label>Note <textarea name=note disabled></textarea></label>
<label for=kind>Kind</label><select id=kind disabled><option>Plain<option>Long</select>
<button disabled>Save</button></form>
<script>fetch('/go').then(() => location.replace('/other'))</script>"""

#: The other page has elements of the same names, and tells the server what is done to them.
OTHER = """<h1>{heading}</h1><form method=post action=/records><label>Note <textarea name=note></textarea></label>
<label for=kind>Kind</label><select id=kind><option>Plain<option>Long</select>{extra}<button>Save</button></form>
<script>for (const event of ['input', 'click']) addEventListener(event, () => fetch('/told/' + event))</script>"""

SIGN_IN = OTHER.format(heading="Sign in", extra="<input type=password>")
NEXT_FORM = OTHER.format(heading="New note", extra="")

#: Long enough for a page to come, and short enough for what it does not have.
WAITING = evolve(PATIENT, wait_ms=10_000)

GATE = CheckPage(PageGate("/new", heading("New note")))
FILL = Fill(label("Note"), None, "something private")
CHOOSE = Choose(label("Kind"), None, "Long")
CLICK = Click(button("Save"), None)
SAVE = Save(button("Save"), None, WriteRoute("POST", "/records", FORM_TYPE))


@pytest.fixture
def site() -> Iterator[Site]:
    """A site whose form gives way to another page."""
    with Site({"/new": LOCKED, "/other": SIGN_IN, "/saved": "<h1>Saved</h1>"}) as opened:
        yield opened


def told(site: Site) -> bool:
    """Whether the other page told the server that something was done to it."""
    return any(path.startswith("/told/") for path in site.asked)


def overtaken(visit: Visit, site: Site, command: PageCommand) -> PageObservation:
    """What a command observes when the other page comes while it waits."""
    hold = site.hold("/go")
    assert visit.do(Open("/new")) == Done()
    assert visit.do(GATE) == Done()
    acting = visit.begin(command)
    assert hold.reached.wait(60)
    # What is asked after the command stands behind it: it waits for its element by now.
    for _ in range(50):
        visit.ask("() => 1")
    hold.go.set()
    return acting.result(60)


class TestOneDocument:
    """Nothing is entered or clicked on a page that came after the gate was checked, whatever is on it."""

    @pytest.mark.parametrize("command", [FILL, CHOOSE, CLICK], ids=["fill", "choose", "click"])
    def test_nothing_is_done_to_the_sign_in_page_that_came(self, lab: Lab, site: Site, command: PageCommand) -> None:
        with lab.visit(site, limits=WAITING) as visit:
            assert overtaken(visit, site, command) == Fault(FaultKind.SIGN_IN_SHOWN)
            assert not told(site)

    def test_the_next_form_is_not_saved_in_place_of_the_one_that_was_compared(self, lab: Lab, site: Site) -> None:
        site.pages["/other"] = NEXT_FORM
        with lab.visit(site, limits=WAITING) as visit:
            seen = overtaken(visit, site, SAVE)

            assert seen == SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)
            assert (site.posts, told(site), visit.crossings) == ([], False, [])

    def test_the_page_that_came_is_acted_on_once_its_own_gate_was_checked(self, lab: Lab, site: Site) -> None:
        site.pages["/other"] = NEXT_FORM
        with lab.visit(site, limits=PATIENT) as visit:
            assert visit.do(Open("/new")) == Done()
            assert visit.do(CheckPage(PageGate("/other", heading("New note")))) == Done()

            assert visit.do(FILL) == Done()
            assert eventually(lambda: told(site))
