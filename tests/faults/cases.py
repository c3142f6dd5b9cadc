"""The case layer: faults that were met in the field, each as a switch of an app, run through real Chromium.

Laws of this module:

- One browser, one service and one store serve all cells; each cell has an app of its own.
- The controls break one part of the engine and run a cell of the table: the table itself must catch them.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final
from unittest import mock

from attrs import evolve, field, frozen
from playwright.async_api import BrowserContext, Locator, Page

from faults.cases_app import ChartApp, Patient
from faults.cases_double import DOUBLE_WRITES
from faults.cases_pages import PAGES
from faults.cases_rig import (
    LIMITS,
    NOTE_CANARY,
    NUMBER_CANARY,
    PAGE_CANARY,
    PATIENT,
    Cell,
    Host,
    host,
    is_intended,
    run_cell,
)
from faults.cases_success import FALSE_SUCCESS
from faults.result import Control, LayerResult
from surehand.core.outcome.evidence import (
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    NoPause,
    Report,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.core.workflow import readback, replay
from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.commands import (
    Command,
    Finish,
    Observation,
    ReadRecords,
    Record,
    Records,
    RecordsUnavailable,
    SaveObserved,
)
from surehand.core.workflow.target import Target
from surehand.shell.engines.browser import engine, page, viewing
from surehand.shell.engines.browser.finding import Place, find
from surehand.shell.engines.browser.page import RunPage
from surehand.shell.engines.browser.readback import RecordChannel
from surehand.shell.engines.browser.viewing import View

Reporter = Callable[[str], None]

#: The whole table.
CELLS: Final[tuple[Cell, ...]] = (*FALSE_SUCCESS, *DOUBLE_WRITES, *PAGES)

#: A cell without a fault, for what is about several calls.
PLAIN: Final = Cell(
    name="plain_entry", sentence="Nothing goes wrong.", reason=Reason.SAVED_AND_CHECKED, posts=1, right=1
)
OTHER: Final = evolve(PLAIN, name="other_entry")

#: Cells between two lines of progress.
PROGRESS: Final = 25

NOTES: Final = (
    "Cells of (a), (b) and (c) that need no human run here, but for these.",
    "B1 and B10 from two processes, B11 as a race of processes: the layer of races. B1 and B11 run here from threads.",
    "B6, C3, C5: what the compiler refuses (a double click, a first or n-th match) is in its tests; the rest is here.",
    "A5: every run sees the app in UTC, so the other time zones are computed by the page itself.",
    "C6: choosing one suggestion by the text of an input is in the tests of the engine.",
    "C7: a date entered in another form than ISO is in the tests of the engine; here such fields end in needs_review.",
    "A15: what a colleague changes after the baseline and the save puts back is seen only by other members' changes.",
    "A list of options that stands within its label is found by its role: the library counts the options' texts.",
)


# Several calls


def _calls_at_once(host: Host, calls: int) -> list[str]:
    """B1, B11: calls with one request id at one moment; one run, one write, one answer."""
    with PLAIN.app() as app, ThreadPoolExecutor(calls) as threads:
        host.stage.app = app
        arguments = PLAIN.arguments
        started = [threads.submit(host.call, PLAIN.name, arguments, f"at-once-{calls}") for _ in range(calls)]
        results = [each.result() for each in started]
        turned = host.call(PLAIN.name, dict(reversed(arguments.items())), f"at-once-{calls}")
        changed = host.call(PLAIN.name, {**arguments, "note": f"{NOTE_CANARY} seen todaY"}, f"at-once-{calls}")
        elsewhere = host.call(OTHER.name, arguments, f"at-once-{calls}")
        complaints = [] if len(app.writes) == 1 == len(app.stored) else [f"{len(app.writes)} writes"]
        complaints += [] if len({each.run_id for each in [*results, turned]}) == 1 else ["more than one run"]
        complaints += [] if all(each.outcome is Outcome.DONE for each in [*results, turned]) else ["not all are done"]
        for each in (changed, elsewhere):
            seen = (each.reason, each.record_changed, each.safe_to_retry)
            if seen != (Reason.REQUEST_ID_CONFLICT, RecordChanged.UNKNOWN, False):
                complaints.append(f"other content under the same request id: {each.reason.value}")
    return [f"b11_{calls}_calls: {complaint}" for complaint in complaints]


def _four_charts(host: Host, round_number: int) -> list[str]:
    """C15: four calls at one moment, each for another chart; each note in its own."""
    patients = tuple(Patient(f"{NUMBER_CANARY}-{n}", f"19{n}0-01-02", f"Person {n} {PAGE_CANARY}") for n in range(1, 5))
    cells = [
        evolve(PLAIN, patient=each, inputs={"note": f"{NOTE_CANARY} {round_number} for {each.number}"})
        for each in patients
    ]

    def call(cell: Cell) -> RunResult:
        return host.call(PLAIN.name, cell.arguments, f"chart-{round_number}-{cell.patient.number[-1]}")

    with ChartApp(patients, ("note",)) as app, ThreadPoolExecutor(len(cells)) as threads:
        host.stage.app = app
        results = list(threads.map(call, cells))
        right = [sum(is_intended(cell, row) for row in app.stored) for cell in cells]
        complaints = (
            [] if right == [1] * len(cells) and len(app.writes) == len(cells) else [f"rows of each chart: {right}"]
        )
        complaints += [f"ended {each.reason.value}" for each in results if each.outcome is not Outcome.DONE]
    return [f"c15_round_{round_number}: {complaint}" for complaint in complaints]


# Controls


@frozen
class Broken:
    """A part of the engine that is wrong on purpose, and the cell that must see it.

    Args:
        name: What is wrong.
        cell: The cell that must end in a violation.
        seen: What stands in that violation, so that a control which only breaks down is not taken for a caught one.
        patches: Makes what is patched while they run.
        short: Whether it belongs to the short profile.
    """

    name: str
    cell: str
    seen: str
    patches: Callable[[], tuple[AbstractContextManager[Any], ...]] = field(repr=False)
    short: bool = False


@frozen
class _SamePageChannel:
    """A read-back that asks the page which saved, out of whose own memory the answer comes."""

    real: RecordChannel
    contexts: list[BrowserContext]

    async def read(self, command: ReadRecords, seconds: float) -> Records | RecordsUnavailable:
        """The real records, and what the page has."""
        real = await self.real.read(command, seconds)
        if isinstance(real, RecordsUnavailable):
            return real
        own: list[dict[str, str]] = await self.contexts[-1].pages[0].evaluate("() => window.entries ?? []")
        return Records((*real.records, *(Record(entry["id"], entry) for entry in own)))


def _same_page() -> tuple[AbstractContextManager[Any], ...]:
    contexts: list[BrowserContext] = []
    make = viewing.new_context

    async def remembered(*arguments: Any) -> BrowserContext:  # noqa: ANN401 - whatever the real one takes
        contexts.append(await make(*arguments))
        return contexts[-1]

    def channel(*arguments: Any) -> _SamePageChannel:  # noqa: ANN401 - whatever the real one takes
        return _SamePageChannel(RecordChannel(*arguments), contexts)

    return mock.patch.object(engine, "new_context", remembered), mock.patch.object(engine, "RecordChannel", channel)


def _believes_the_banner() -> tuple[AbstractContextManager[Any], ...]:
    def step(state: replay.State, seen: Observation) -> tuple[replay.State, Command]:
        if not isinstance(seen, SaveObserved) or seen.delivery is not Delivery.SENT_ONCE:
            return replay.step(state, seen)
        verified, level = TransactionOutcome.VERIFIED, CheckLevel.SYSTEM_OF_RECORD
        report = Report(verified, ExecutionOutcome.VERIFIED, True, seen.delivery, level, CheckLevel.SAME_PAGE)
        finish = Finish(report, NoPause())
        return replay.Ended(finish), finish

    return (mock.patch.object(engine, "step", step),)


def _overlooks_a_refusal() -> tuple[AbstractContextManager[Any], ...]:
    def step(state: replay.State, seen: Observation) -> tuple[replay.State, Command]:
        return replay.step(state, evolve(seen, refused=False) if isinstance(seen, SaveObserved) else seen)

    return (mock.patch.object(engine, "step", step),)


def _contains() -> tuple[AbstractContextManager[Any], ...]:
    def same(_rule: Rule, expected: str, seen: str, _form: DateForm) -> bool:
        return seen in expected or expected in seen

    return (mock.patch.object(readback, "same", same),)


def _first_match() -> tuple[AbstractContextManager[Any], ...]:
    def first(place: Place, target: Target, row: str | None) -> Locator:
        return find(place, target, row).first

    return (mock.patch.object(viewing, "find", first),)


def _forced_click() -> tuple[AbstractContextManager[Any], ...]:
    click = Locator.click

    async def forced(self: Locator, **more: Any) -> None:  # noqa: ANN401 - the library's own arguments
        await click(self, force=True, **more)

    return (mock.patch.object(Locator, "click", forced),)


def _any_document() -> tuple[AbstractContextManager[Any], ...]:
    def here(view: View) -> Page:
        return view.page

    return mock.patch.object(View, "here", here), mock.patch.object(View, "gate", None)


def _no_guards() -> tuple[AbstractContextManager[Any], ...]:
    return (mock.patch.object(replay, "guards_hold", return_value=True),)


def _prints() -> tuple[AbstractContextManager[Any], ...]:
    perform = RunPage.perform

    async def printing(self: RunPage, command: page.PageCommand) -> page.PageObservation:
        sys.stderr.write(f"{getattr(command, 'text', '')}\n")
        return await perform(self, command)

    return (mock.patch.object(RunPage, "perform", printing),)


_CLAIMS_DONE: Final = "saw ('saved_and_checked'"
_WRITES: Final = "saw ('save_not_confirmed', 1"

CONTROLS: Final = (
    Broken("a read-back from the page that saved", "a3_optimistic_and_lost", _CLAIMS_DONE, _same_page, short=True),
    Broken("an engine that believes the banner", "a1_error_500_says_saved", _CLAIMS_DONE, _believes_the_banner),
    Broken(
        "an engine that overlooks a refusal",
        "a3_refused_and_saved_by_another",
        _CLAIMS_DONE,
        _overlooks_a_refusal,
        short=True,
    ),
    Broken("a comparison by containing", "a7_emoji_inside", _CLAIMS_DONE, _contains, short=True),
    Broken("the first of several matches", "c3_two_equal_labels", _WRITES, _first_match, short=True),
    Broken("a forced click", "c13_toast_stays", _WRITES, _forced_click),
    Broken("an action in whatever document is there", "c16_locked_while_filling", "received an input", _any_document),
    Broken("guards that are not compared", "a15_edit_is_guarded", _WRITES, _no_guards),
    # The last one: what it printed stays in the file.
    Broken("an engine that prints what it types", "a2_five_fields_kept", "printed holds", _prints, short=True),
)


def _run_control(host: Host, broken: Broken, cells: Mapping[str, Cell]) -> Control:
    with ExitStack() as held:
        for patch in broken.patches():
            held.enter_context(patch)
        violations = run_cell(host, cells[broken.cell])
    evidence = next((each for each in violations if broken.seen in each), None)
    return Control(broken.name, evidence is not None, evidence or f"saw only: {'; '.join(violations) or 'nothing'}")


# The layer


def _several(host: Host, profile: str) -> Iterator[list[str]]:
    yield _calls_at_once(host, 2)
    if profile == "full":
        yield _calls_at_once(host, 20)
    for number in range(12 if profile == "full" else 1):
        yield _four_charts(host, number)


def run(profile: str, seed: int, report: Reporter) -> LayerResult:
    """Run the layer.

    Args:
        profile: ``short`` is a sample over all three groups; ``full`` is the whole table.
        seed: The order of the cells.
        report: Takes a line from time to time.
    """
    began = time.monotonic()
    chosen = [cell for cell in CELLS if cell.short or profile == "full"]
    random.Random(seed).shuffle(chosen)  # noqa: S311 - the order of tests
    table = {cell.name: cell for cell in CELLS}
    taken: dict[str, float] = {}
    violations: list[str] = []
    with host((*CELLS, PLAIN, OTHER), PATIENT if profile == "short" else LIMITS) as made:
        for number, cell in enumerate(chosen, 1):
            at = time.monotonic()
            violations += run_cell(made, cell)
            taken[cell.name] = time.monotonic() - at
            if number % PROGRESS == 0:
                with made.printed.aside():
                    report(f"cases: {number} of {len(chosen)} cells, {len(violations)} violations")
        several = list(_several(made, profile))
        violations += [complaint for each in several for complaint in each]
        violations += [f"the browser's folder: {leak}" for leak in made.browser_leaks()]
        controls = tuple(_run_control(made, broken, table) for broken in CONTROLS if broken.short or profile == "full")
    worst = max(taken, key=lambda name: taken[name])
    cells = len(chosen) + len(several)
    report(f"cases: {cells} cells, {len(violations)} violations, slowest {worst} {taken[worst]:.1f} s")
    return LayerResult("cases", cells, tuple(violations), controls, time.monotonic() - began, NOTES)
