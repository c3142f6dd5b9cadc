"""Runs one cell of the case layer end to end, and judges it by what the app received and holds.

Laws of this module:

- A run goes through the real service, store, engine, fence and Chromium; only the app is made for it.
- The oracle is the app's log and store, the bytes of the bundle, and a search for canaries in all that was written or
  printed. It compares by itself.
- A cell that ends as its sentence says violates nothing; every other difference is a violation.
"""

import hashlib
import json
import os
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from decimal import Decimal
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Final, Self
from unittest import mock

from attrs import define, evolve, field, frozen

from faults.cases_app import ChartApp, Faults, Members, Patient
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.reasons import REASONS, Outcome, Reason, RecordChanged
from surehand.core.outcome.result import EngineName, Mode, Proof, RunResult, is_final
from surehand.core.wire import to_wire
from surehand.core.workflow.bundle import (
    Bundle,
    ChooseStep,
    ClickStep,
    FillStep,
    IdentityField,
    OpenStep,
    ReadBack,
    ReadField,
    Rule,
    SaveStep,
    parse_bundle,
)
from surehand.core.workflow.card import default_card
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import FromInput, PageGate, Target, TargetKind
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Catalog, Crew, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.executors import Executor, LocalExecutor
from surehand.shell.locks import OwnerLock
from surehand.shell.process import clean_environment
from surehand.shell.service import Service

#: Waits for the short profile, in which nothing is waited for in vain: long, so that a busy machine changes nothing.
PATIENT: Final = Limits(wait_ms=20_000, open_ms=30_000, write_ms=15_000, answer_ms=5_000, react_ms=1_500, read_ms=5_000)

#: Waits for the full profile, in which much never comes.
LIMITS: Final = Limits(wait_ms=6_000, open_ms=30_000, write_ms=2_500, answer_ms=2_000, react_ms=1_500, read_ms=5_000)

#: Seconds after which a run has failed to end.
RUN_SECONDS: Final = 240.0

# What must stand nowhere but in the app: what is entered, what says whose chart it is, and what pages show.
NOTE_CANARY: Final = "VNOTE7Q4Z"
NUMBER_CANARY: Final = "VNUMB8K3Y"
PAGE_CANARY: Final = "VPAGE2X9W"
CANARIES: Final = (NOTE_CANARY, NUMBER_CANARY, PAGE_CANARY)

ALEX: Final = Patient(f"{NUMBER_CANARY}-1", "1970-04-04", f"Alex Morgan {PAGE_CANARY}")
ROBIN: Final = Patient(f"{NUMBER_CANARY}-2", "1981-12-31", f"Robin Example {PAGE_CANARY}")

FORM_TYPE: Final = "application/x-www-form-urlencoded"

#: Kind, rule and label of each field of the form.
KINDS: Final[Mapping[str, tuple[ParameterType, Rule]]] = {
    "note": (ParameterType.TEXT, Rule.TEXT),
    "subject": (ParameterType.LINE, Rule.TEXT),
    "dose": (ParameterType.DECIMAL, Rule.DECIMAL),
    "due": (ParameterType.DATE, Rule.DATE),
    "code": (ParameterType.IDENTIFIER, Rule.IDENTIFIER),
    "priority": (ParameterType.CHOICE, Rule.CHOICE),
}

PRIORITIES: Final = ("Routine", "Urgent", "Not urgent")


def role(name: str, kind: str, row: FromInput | None = None) -> Target:
    """A target by role and name."""
    return Target(TargetKind.ROLE, name, kind, row=row)


ON_LIST: Final = PageGate("/patients", role("Patients", "heading"))
ON_FORM: Final = PageGate("/patients/*/entries/new", role("New entry", "heading"))
OPEN: Final = ClickStep("pick", ON_LIST, role("Open", "link", FromInput("number")))
SAVE: Final = SaveStep("save", ON_FORM, role("Save", "button"), WriteRoute("POST", "/patients/*/entries", FORM_TYPE))


def enter(name: str) -> FillStep | ChooseStep:
    """The step that enters one field."""
    kind, rule = KINDS[name]
    target = Target(TargetKind.LABEL, name.capitalize())
    if kind is ParameterType.CHOICE:
        return ChooseStep(f"enter_{name}", ON_FORM, target, FromInput(name))
    return FillStep(f"enter_{name}", ON_FORM, target, FromInput(name), rule)


def parameter(name: str) -> Parameter:
    """The input of one field."""
    kind, _ = KINDS[name]
    choices = PRIORITIES if kind is ParameterType.CHOICE else ()
    return Parameter(name=name, type=kind, title=name.capitalize(), choices=choices)


def plain_bundle(workflow: str, fields: tuple[str, ...]) -> Bundle:
    """The workflow that opens a chart from the list and adds an entry with these fields."""
    return Bundle(
        workflow=workflow,
        title="Add an entry",
        parameters=(
            Parameter(name="number", type=ParameterType.IDENTIFIER, title="Number", min_length=1),
            Parameter(name="born", type=ParameterType.DATE, title="Born"),
            *map(parameter, fields),
        ),
        steps=(OpenStep("open", "/patients"), OPEN, *map(enter, fields)),
        identity=(
            IdentityField(Target(TargetKind.TEST_ID, "number"), FromInput("number"), Rule.IDENTIFIER, unique=True),
            IdentityField(Target(TargetKind.TEST_ID, "born"), FromInput("born"), Rule.DATE, unique=False),
        ),
        save=SAVE,
        read_back=ReadBack(
            level=CheckLevel.SYSTEM_OF_RECORD,
            minimum=CheckLevel.SEPARATE_SESSION,
            source=JsonRecords("/records", "items", "id"),
            identity=(
                ReadField("number", FromInput("number"), Rule.IDENTIFIER),
                ReadField("born", FromInput("born"), Rule.DATE),
            ),
            written=tuple(ReadField(name, FromInput(name), KINDS[name][1]) for name in fields),
            deadline_ms=900,
            interval_ms=60,
        ),
    )


def unchanged(bundle: Bundle) -> Bundle:
    """The plain workflow."""
    return bundle


def no_complaint(_app: ChartApp) -> str | None:
    """Nothing more is asked of the app."""
    return None


@frozen(kw_only=True)
class Cell:
    """One case with one variant: the fault, and how the run ends.

    Args:
        name: The number of the case, and what is varied.
        sentence: What happens, and what is right then.
        reason: How the run ends; the outcome follows.
        or_reason: What may stand in its place where two honest reasons depend on the moment.
        posts: Write requests that the app receives.
        right: Rows in its store that hold exactly what was intended, under the intended patient.
        wrong: Any other rows.
        inputs: The inputs beside the patient's.
        patients: The charts of the app.
        patient: The intended one.
        faults: The switches of the app.
        changed: Makes the cell's workflow out of the plain one.
        also: What else is asked of the app; a sentence is a complaint.
        short: Whether the cell belongs to the short profile.
    """

    name: str
    sentence: str
    reason: Reason
    posts: int
    right: int
    wrong: int = 0
    inputs: Mapping[str, str] = field(factory=lambda: {"note": f"{NOTE_CANARY} seen today"}, repr=False)
    patients: tuple[Patient, ...] = (ROBIN, ALEX)
    patient: Patient = ALEX
    faults: Faults = field(factory=Faults, repr=False)
    changed: Callable[[Bundle], Bundle] = field(default=unchanged, repr=False)
    also: Callable[[ChartApp], str | None] = field(default=no_complaint, repr=False)
    or_reason: Reason | None = None
    short: bool = False

    @property
    def arguments(self) -> dict[str, str]:
        """The inputs of the call."""
        return {"number": self.patient.number, "born": self.patient.born, **self.inputs}

    def bundle(self) -> Bundle:
        """The workflow of the cell."""
        return self.changed(plain_bundle(self.name, tuple(self.inputs)))

    def app(self) -> ChartApp:
        """A fresh app with the cell's faults."""
        return ChartApp(self.patients, tuple(self.inputs), self.faults)


@define
class _Stage:
    """The app that runs work on now."""

    app: ChartApp | None = None


@frozen
class _StageCrew:
    executor: Executor
    stage: _Stage

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - the app is the same for all inputs
        """Where the app of the cell is."""
        app = self.stage.app
        if app is None:
            raise AssertionError("no cell is running")
        return AppTarget(origin=app.origin, record_origin=app.record_origin)

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


@define
class Printed:
    """What this process and its children print while the host stands, in a file instead of on the screen."""

    path: Path
    _stream: TextIOWrapper = field(init=False)
    _held: ExitStack = field(factory=ExitStack, init=False)

    def __enter__(self) -> Self:
        """Begin to keep what is printed."""
        self._stream = self.path.open("w", encoding="utf-8", buffering=1)
        self._divert()
        return self

    def __exit__(self, *_: object) -> None:
        """Let it be printed again."""
        self._held.close()
        self._stream.close()

    @contextmanager
    def aside(self) -> Generator[None]:
        """Let something be printed between two cells."""
        self._held.close()
        try:
            yield
        finally:
            self._divert()

    def _divert(self) -> None:
        for number in (1, 2):
            before = os.dup(number)
            os.dup2(self._stream.fileno(), number)
            self._held.callback(os.close, before)
            self._held.callback(os.dup2, before, number)
        self._held.enter_context(redirect_stdout(self._stream))
        self._held.enter_context(redirect_stderr(self._stream))


@define
class Host:
    """One installation that runs cells: a state folder, a store, a service, one browser for all."""

    folder: Path
    service: Service
    stage: _Stage
    printed: Printed
    bundles: Mapping[str, Path]
    browser_files: Path

    def leaks(self) -> list[str]:
        """Where a canary stands, by the file's name: in the state folder, or in what was printed."""
        state = [path for path in (self.folder / "surehand").rglob("*") if path.is_file()]
        return _search([*state, self.printed.path])

    def browser_leaks(self) -> list[str]:
        """The same for what the browser keeps in its folder while it runs."""
        return _search([path for path in self.browser_files.rglob("*") if path.is_file()])

    def call(self, cell: str, inputs: Mapping[str, str], request_id: str) -> RunResult:
        """One call to its end."""
        ticket = self.service.run_workflow(cell, inputs, request_id)
        return ticket.result if is_final(ticket.result) else self.service.watch(ticket.run_id).result(RUN_SECONDS)


def _search(paths: list[Path]) -> list[str]:
    found: list[str] = []
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            # A lock of the browser, or a file that went away.
            continue
        found += [f"{path.name} holds {canary}" for canary in CANARIES if _holds(data, canary)]
    return found


def _holds(data: bytes, canary: str) -> bool:
    return canary.encode() in data or canary.encode("utf-16-le") in data


@contextmanager
def host(cells: tuple[Cell, ...], limits: Limits) -> Generator[Host]:
    """An installation that serves one workflow for each cell, with what it prints kept in a file.

    Args:
        cells: The cells that will run.
        limits: How long the engine waits.
    """
    shared_memory = Path("/dev/shm")  # noqa: S108 - only for speed: durability is judged elsewhere
    with tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None) as name:
        folder = Path(name)
        browser_files = folder / "browser"
        browser_files.mkdir()
        bundles = {cell.name: _written(folder, cell.bundle()) for cell in cells}
        stage = _Stage()
        crews = CrewSource(partial(_crew, stage, limits))
        entries = [_entry(path, crews) for path in bundles.values()]
        (folder / "surehand").mkdir(mode=0o700)
        with (
            mock.patch.dict(os.environ, {**clean_environment(os.environ), "TMPDIR": str(browser_files)}, clear=True),
            Printed(folder / "printed") as printed,
        ):
            service = Service(
                catalog=Catalog(Mode.ATTENDED, *entries), open_premises=partial(open_premises, folder / "surehand")
            )
            try:
                yield Host(folder, service, stage, printed, bundles, browser_files)
            finally:
                service.close()


def _written(folder: Path, bundle: Bundle) -> Path:
    path = folder / f"{bundle.workflow}.json"
    path.write_text(json.dumps(to_wire(bundle)), encoding="utf-8")
    return path


def _entry(path: Path, crews: CrewSource) -> WorkflowEntry:
    bundle = parse_bundle(json.loads(path.read_bytes())).unwrap()
    return WorkflowEntry(bundle, default_card(bundle), crews)


def _crew(stage: _Stage, limits: Limits, premises: Premises) -> Crew:
    engine = BrowserEngine(premises.folder / "fence", limits=limits)
    lock = OwnerLock.acquire(premises.folder)
    return _StageCrew(LocalExecutor(engine, premises.store, lock, SYSTEM_CLOCK, Mode.ATTENDED), stage)


def run_cell(host: Host, cell: Cell) -> list[str]:
    """Run one cell and judge it; each complaint is a violation.

    A call that may not be retried is repeated with the same request id: it must write nothing and say the same again.
    """
    before = _digest(host.bundles[cell.name])
    request_id = f"{cell.name}-{secrets.token_hex(4)}"
    with cell.app() as app:
        host.stage.app = app
        result = host.call(cell.name, cell.arguments, request_id)
        complaints = judge(cell, app, result)
        if not result.safe_to_retry:
            again = host.call(cell.name, cell.arguments, request_id)
            complaints += [] if again == evolve(result, replayed=True) else ["a repeated call is answered otherwise"]
            complaints += judge(cell, app, again)
    complaints += host.leaks()
    complaints += _found("the result", json.dumps(to_wire(result)))
    if before != _digest(host.bundles[cell.name]):
        complaints.append("the bundle was changed")
    return [f"{cell.name}: {complaint} ({cell.sentence})" for complaint in dict.fromkeys(complaints)]


def _found(place: str, text: str) -> list[str]:
    return [f"{place} holds {canary}" for canary in CANARIES if canary in text]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def judge(cell: Cell, app: ChartApp, result: RunResult) -> list[str]:
    """Hold a result against the app: the cell's own row, and what must hold for every run."""
    right = sum(is_intended(cell, row) for row in app.stored)
    wrong, posts = len(app.stored) - right, len(app.writes)
    seen = (result.reason.value, posts, right, wrong)
    expected = (cell.reason.value, cell.posts, cell.right, cell.wrong)
    if result.reason is cell.or_reason:
        expected = (result.reason.value, *expected[1:])
    complaints = [] if seen == expected else [f"expected (reason, posts, right, wrong) {expected}, saw {seen}"]
    complaints += [broken for broken, is_broken in _always(result, posts, right, wrong) if is_broken]
    also = cell.also(app)
    return complaints if also is None else [*complaints, also]


def _always(result: RunResult, posts: int, right: int, wrong: int) -> list[tuple[str, bool]]:
    done = result.outcome is Outcome.DONE
    return [
        ("more than one write", posts > 1),
        ("done, and the record is not there exactly once", done and right != 1),
        ("done, and something else was written", done and bool(wrong)),
        ("said that nothing was written", result.record_changed is RecordChanged.NO and bool(posts or right or wrong)),
        ("a retry called safe after a write", result.safe_to_retry and bool(posts)),
        ("done without proof", done and result.proof is not Proof.LOCAL),
        ("done without the time of the check", done and result.checked_at is None),
        ("the outcome is not that of the reason", result.outcome is not REASONS[result.reason].outcome),
        ("not the browser engine", done and result.engine is not EngineName.BROWSER),
    ]


def is_intended(cell: Cell, row: Members) -> bool:
    """Whether a stored row is what was intended; written without the product's comparison."""
    wanted = cell.arguments
    return all(_same(name, text, row.get(name, "")) for name, text in wanted.items())


def _same(name: str, wanted: str, stored: str) -> bool:
    if name in {"note", "subject"}:
        return _plain(wanted) == _plain(stored)
    if name == "dose":
        number = re.fullmatch(r"-?\d+(\.\d+)?", stored)
        return number is not None and Decimal(stored) == Decimal(wanted)
    return wanted == stored


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
