"""A model of an app with every fault that the replay machine should survive, and the oracle that judges a run.

Laws of this module:

- The oracle is the model's own store: what the server received and what it holds. It shares no code with the machine.
- A read shows the store as it was some time ago, whole: two rows that one request stored appear together. A record of
  the same content that somebody else saves between our baseline and our save is not modelled, since no reader of
  records could tell it from ours.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum, unique
from math import ceil
from typing import Any, Final, Protocol, assert_never

from attrs import define, field, frozen
from hypothesis import settings

from surehand.core.outcome.evidence import (
    PROVEN_NO_EFFECT,
    CheckLevel,
    Delivery,
    OpenPause,
    Report,
    TransactionOutcome,
    is_consistent,
)
from surehand.core.workflow import replay
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
    entered_on_save_page,
)
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
    CheckPage,
    Choose,
    Click,
    Command,
    Done,
    Fault,
    FaultKind,
    Fill,
    Finish,
    Observation,
    Open,
    OutOfTime,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    SaveObserved,
    Texts,
    Wait,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind

NIGHTLY = os.environ.get("SUREHAND_HYPOTHESIS_PROFILE") == "nightly"
#: Generated runs of the machine against the model.
MODEL_RUNS = settings(max_examples=100_000 if NIGHTLY else 2_000)

SIGN_IN, WORK_LIST, FORM = "/sign-in", "/patients", "/patients/*/entries/new"
FIELDS = ("note", "dose", "due", "code", "priority", "remark")
PRIORITIES = ("Routine", "Not routine", "Urgent")
DEADLINE_MS, INTERVAL_MS = 2_000, 500


def label(name: str) -> Target:
    """A field with this exact label."""
    return Target(TargetKind.LABEL, name)


def button(name: str, row: FromInput | None = None) -> Target:
    """A button with this exact name."""
    return Target(TargetKind.ROLE, name, "button", row=row)


def shown(name: str) -> Target:
    """An element with this test id."""
    return Target(TargetKind.TEST_ID, name)


def heading(name: str) -> Target:
    """A heading with this exact name."""
    return Target(TargetKind.ROLE, name, "heading")


def _filled(name: str, rule: Rule) -> FillStep:
    return FillStep(f"fill_{name}", ON_FORM, label(name), FromInput(name), rule)


ON_SIGN_IN = PageGate(SIGN_IN, heading("Sign in"))
ON_WORK_LIST = PageGate(WORK_LIST, heading("Patients"))
ON_FORM = PageGate(FORM, heading("New entry"))

PARAMETERS = (
    Parameter(name="patient", type=ParameterType.IDENTIFIER, title="Patient id", min_length=1),
    Parameter(name="birth_date", type=ParameterType.DATE, title="Birth date"),
    Parameter(name="note", type=ParameterType.TEXT, title="Note", min_length=1),
    Parameter(name="dose", type=ParameterType.DECIMAL, title="Dose"),
    Parameter(name="due", type=ParameterType.DATE, title="Due"),
    Parameter(name="code", type=ParameterType.IDENTIFIER, title="Code"),
    Parameter(name="priority", type=ParameterType.CHOICE, title="Priority", choices=PRIORITIES),
    Parameter(name="remark", type=ParameterType.LINE, title="Remark", required=False),
)

RULES = {
    "note": Rule.TEXT,
    "dose": Rule.DECIMAL,
    "due": Rule.DATE,
    "code": Rule.IDENTIFIER,
    "priority": Rule.CHOICE,
    "remark": Rule.TEXT,
}

BUNDLE = Bundle(
    workflow="add_entry",
    title="Add an entry",
    parameters=PARAMETERS,
    steps=(
        OpenStep("open", SIGN_IN),
        FillStep("user", ON_SIGN_IN, label("user"), Constant("trainee"), Rule.TEXT, part_of_record=False),
        ClickStep("sign_in", ON_SIGN_IN, button("Sign in")),
        ClickStep("pick", ON_WORK_LIST, button("Open", FromInput("patient"))),
        *(_filled(name, RULES[name]) for name in FIELDS if name != "priority"),
        ChooseStep("choose_priority", ON_FORM, label("priority"), FromInput("priority")),
    ),
    identity=(
        IdentityField(shown("patient"), FromInput("patient"), Rule.IDENTIFIER, unique=True),
        IdentityField(shown("birth_date"), FromInput("birth_date"), Rule.DATE, unique=False),
    ),
    save=SaveStep(
        "save", ON_FORM, button("Save"), WriteRoute("POST", "/patients/*/entries", "application/x-www-form-urlencoded")
    ),
    read_back=ReadBack(
        level=CheckLevel.SYSTEM_OF_RECORD,
        minimum=CheckLevel.SEPARATE_SESSION,
        source=JsonRecords("/api/entries", "entries", "id"),
        identity=(
            ReadField("patient", FromInput("patient"), Rule.IDENTIFIER),
            ReadField("birth_date", FromInput("birth_date"), Rule.DATE),
        ),
        written=tuple(ReadField(name, FromInput(name), RULES[name]) for name in FIELDS),
        deadline_ms=DEADLINE_MS,
        interval_ms=INTERVAL_MS,
    ),
)

PATIENTS = (("0471", "1970-04-04"), ("471", "1970-04-04"), ("0472", "1970-04-03"))


@unique
class Change(Enum):
    """What an app does to a text on the way."""

    LOST = "lost"
    CUT = "cut"
    CUT_AT_EMOJI = "cut_at_emoji"
    OTHER = "other"
    DAY_BEFORE = "day_before"
    SWAPPED_DAY_AND_MONTH = "swapped_day_and_month"
    NO_DOT = "no_dot"
    NO_LEADING_ZERO = "no_leading_zero"
    TRIMMED = "trimmed"
    NO_BREAK_SPACE_TO_SPACE = "no_break_space_to_space"
    COMPOSED = "composed"
    DECOMPOSED = "decomposed"
    CRLF = "crlf"


#: Changes that keep the meaning of a text.
HARMLESS = (Change.COMPOSED, Change.DECOMPOSED, Change.CRLF)


def _day_before(text: str) -> str:
    year, month, day = text.split("-")
    return f"{year}-{month}-{max(1, int(day) - 1):02}"


def _swapped(text: str) -> str:
    year, month, day = text.split("-")
    return f"{year}-{day}-{month}" if int(day) <= int("12") else ""


def _cut_at_emoji(text: str) -> str:
    return text[: next((at for at, character in enumerate(text) if ord(character) > 0xFFFF), len(text))]


_CHANGES: dict[Change, Callable[[str], str]] = {
    Change.LOST: lambda _: "",
    Change.CUT: lambda text: text[: len(text) // 2],
    Change.CUT_AT_EMOJI: _cut_at_emoji,
    Change.OTHER: lambda text: text + " (suggested)",
    Change.DAY_BEFORE: lambda text: _day_before(text) if text.count("-") == 2 else text,
    Change.SWAPPED_DAY_AND_MONTH: lambda text: _swapped(text) if text.count("-") == 2 else text,
    Change.NO_DOT: lambda text: text.replace(".", ""),
    Change.NO_LEADING_ZERO: lambda text: text.lstrip("0"),
    Change.TRIMMED: str.strip,
    Change.NO_BREAK_SPACE_TO_SPACE: lambda text: text.replace("\u00a0", " "),
    Change.COMPOSED: lambda text: unicodedata.normalize("NFC", text),
    Change.DECOMPOSED: lambda text: unicodedata.normalize("NFD", text),
    Change.CRLF: lambda text: _plain(text).replace("\n", "\r\n"),
}


def changed(change: Change, text: str) -> str:
    """The text as an app makes it that changes texts so."""
    return _CHANGES[change](text)


@unique
class Server(Enum):
    """What the server does with the one write; unless it refuses, it shows "saved" in every case."""

    STORES = "stores"
    STORES_NOTHING = "stores_nothing"
    STORES_TWICE = "stores_twice"
    STORES_UNDER_OTHER_PATIENT = "stores_under_other_patient"
    OVERWRITES_OLD = "overwrites_old"
    STORES_AND_CHANGES_OLD = "stores_and_changes_old"
    STORES_AND_DELETES_OLD = "stores_and_deletes_old"
    REFUSES = "refuses"
    REFUSES_AND_ANOTHER_SAVES_THE_SAME = "refuses_and_another_saves_the_same"


#: What a server does that answers with an error of the caller.
REFUSALS: Final = (Server.REFUSES, Server.REFUSES_AND_ANOTHER_SAVES_THE_SAME)


@unique
class SaveClick(Enum):
    """What comes of the click on save."""

    SENDS = "sends"
    SENDS_NOTHING = "sends_nothing"
    SENDS_ANSWER_LOST = "sends_answer_lost"
    LOST_ON_THE_WAY = "lost_on_the_way"
    ASKS_FIRST = "asks_first"
    SENDS_THEN_ASKS = "sends_then_asks"
    BOUNDARY_REFUSES = "boundary_refuses"
    BOUNDARY_REFUSES_AND_PAGE_ASKS = "boundary_refuses_and_page_asks"
    STOPPED_AT_BOUNDARY = "stopped_at_boundary"
    NEVER_LEAVES = "never_leaves"


#: What the fence measures and the boundary says, where a click does not send once.
_FENCE_SAYS: dict[SaveClick, tuple[Delivery, BoundaryAnswer]] = {
    SaveClick.SENDS_NOTHING: (Delivery.NOT_SENT, BoundaryAnswer.NOT_ASKED),
    SaveClick.ASKS_FIRST: (Delivery.NOT_SENT, BoundaryAnswer.NOT_ASKED),
    SaveClick.BOUNDARY_REFUSES: (Delivery.NOT_SENT, BoundaryAnswer.REFUSED),
    SaveClick.BOUNDARY_REFUSES_AND_PAGE_ASKS: (Delivery.NOT_SENT, BoundaryAnswer.REFUSED),
    SaveClick.STOPPED_AT_BOUNDARY: (Delivery.NOT_SENT, BoundaryAnswer.STOP_WANTED),
    SaveClick.NEVER_LEAVES: (Delivery.NOT_SENT, BoundaryAnswer.GRANTED),
    SaveClick.SENDS_ANSWER_LOST: (Delivery.UNKNOWN, BoundaryAnswer.GRANTED),
    SaveClick.LOST_ON_THE_WAY: (Delivery.UNKNOWN, BoundaryAnswer.GRANTED),
}


@unique
class Row(Enum):
    """What the work list shows for the intended patient."""

    ONE = "one"
    TWO = "two"
    NONE = "none"
    RECYCLED = "recycled"


@frozen(kw_only=True)
class Faults:
    """The switches of the model; the defaults are an app without a fault.

    ``*_at`` count commands from 0.
    """

    on_screen: tuple[tuple[str, Change], ...] = ()
    rewritten: tuple[tuple[str, Change, int], ...] = ()
    in_store: tuple[tuple[str, Change], ...] = ()
    row: Row = Row.ONE
    shown_birth_date: Change | None = None
    other_patient_from: int | None = None
    server: Server = Server.STORES
    save_click: SaveClick = SaveClick.SENDS
    stopped_writes: int = 0
    lag_ms: int = 0
    unanswered_reads: frozenset[int] = frozenset()
    repeated_keys_from_read: int | None = None
    colleague_adds: bool = False
    colleague_edits: bool = False
    fault_at: tuple[int, FaultKind] | None = None
    dead_from: int | None = None
    canceled_at: int | None = None
    out_of_time_at: int | None = None
    early_write_at: tuple[int, bool] | None = None
    option_missing: bool = False


@frozen(kw_only=True)
class Scenario:
    """The inputs of a run, and what goes wrong in it."""

    inputs: Mapping[str, str]
    faults: Faults


class Machine(Protocol):
    """What is under test: the replay machine, or a broken one."""

    def start(self, bundle: Bundle, inputs: Mapping[str, str]) -> tuple[replay.State, Command]:
        """Begin."""
        ...

    def step(self, state: replay.State, observation: Observation) -> tuple[replay.State, Command]:
        """Go on."""
        ...


def _next_patient(patient: tuple[str, str]) -> tuple[str, str]:
    return PATIENTS[(PATIENTS.index(patient) + 1) % len(PATIENTS)]


Store = dict[str, dict[str, str]]


def _old_records() -> Store:
    return {
        f"e{number}": {"patient": patient, "birth_date": born, "note": "old", "dose": "1", "due": "2026-01-01"}
        for number, (patient, born) in enumerate(PATIENTS)
    }


@define
class App:
    """The app, its server and the fence, as one object that answers commands."""

    scenario: Scenario
    store: Store = field(factory=_old_records)
    snapshots: list[tuple[int, Store]] = field(factory=lambda: [(-1_000_000, _old_records())])
    views: list[Store] = field(factory=list[Store])
    writes: int = 0
    clock_ms: int = 0
    commands: int = 0
    reads: int = 0
    saves: int = 0
    refused: bool = False
    page: str = "about:blank"
    patient: tuple[str, str] = ("", "")
    screen: dict[str, str] = field(factory=dict[str, str])
    filled_at: dict[str, int] = field(factory=dict[str, int])

    def answer(self, command: Command) -> Observation:
        """Perform one command, as far as the faults let it."""
        self.commands += 1
        now, faults = self.commands - 1, self.scenario.faults
        if now == faults.other_patient_from and self.patient in PATIENTS:
            self.patient = _next_patient(self.patient)
        if now == faults.canceled_at:
            return Canceled()
        if now == faults.out_of_time_at:
            return OutOfTime()
        match command:
            case Save():
                return self._save(now)
            case ReadRecords():
                return self._read_records(now)
            case Wait(milliseconds=milliseconds):
                self.clock_ms += milliseconds
                return Done()
            case _:
                return self._fault(now) or self._on_page(command, now)

    def _dead(self, now: int) -> bool:
        dead_from = self.scenario.faults.dead_from
        return dead_from is not None and now >= dead_from

    def _fault(self, now: int) -> Fault | None:
        faults = self.scenario.faults
        if self._dead(now):
            return Fault(FaultKind.APP_UNREACHABLE)
        if faults.early_write_at is not None and faults.early_write_at[0] == now:
            if not faults.early_write_at[1]:
                return Fault(FaultKind.EARLY_WRITE_STOPPED)
            self._receive()
            return Fault(FaultKind.EARLY_WRITE_SENT)
        if faults.fault_at is not None and faults.fault_at[0] == now:
            return Fault(faults.fault_at[1])
        return None

    def _on_page(self, command: Command, now: int) -> Observation:
        match command:
            case Open(path=path):
                self.page = path
                return Done()
            case CheckPage(gate=gate):
                return Done() if gate.path == self.page else Fault(FaultKind.PAGE_UNEXPECTED)
            case Click(target=target, row=row):
                return self._click(target.name, row)
            case Fill(target=target, text=text) | Choose(target=target, label=text):
                return self._enter(target.name, text, now)
            case ReadValue(target=target):
                return Texts((self._shown(target.name, now),))
            case ReadTexts():
                return Texts((self.patient[0], self._shown_birth_date()))
            case _:
                raise AssertionError("a command that no page answers")

    def _click(self, name: str, row: str | None) -> Observation:
        if name == "Sign in":
            self.page = WORK_LIST
            return Done()
        mode = self.scenario.faults.row
        found = [index for index, (patient, _) in enumerate(PATIENTS) if patient == row]
        if mode is Row.NONE or not found:
            return Fault(FaultKind.TARGET_MISSING)
        if mode is Row.TWO:
            return Fault(FaultKind.TARGET_NOT_UNIQUE)
        chosen = PATIENTS[found[0]]
        self.patient = _next_patient(chosen) if mode is Row.RECYCLED else chosen
        self.page = FORM
        return Done()

    def _enter(self, name: str, text: str, now: int) -> Observation:
        if name == "priority" and self.scenario.faults.option_missing:
            return Fault(FaultKind.OPTION_MISSING)
        for changed, change in self.scenario.faults.on_screen:
            text = _CHANGES[change](text) if changed == name else text
        self.screen[name] = text
        self.filled_at[name] = now
        return Done()

    def _shown(self, name: str, now: int) -> str:
        text = self.screen.get(name, "")
        for changed, change, after in self.scenario.faults.rewritten:
            if changed == name and now > self.filled_at.get(name, now) + after:
                text = _CHANGES[change](text)
        return text

    def _shown_birth_date(self) -> str:
        change = self.scenario.faults.shown_birth_date
        return self.patient[1] if change is None else _CHANGES[change](self.patient[1])

    def _save(self, now: int) -> Observation:
        self.saves += 1
        faults = self.scenario.faults
        click = SaveClick.SENDS_NOTHING if self._dead(now) else faults.save_click
        if click in (SaveClick.SENDS, SaveClick.SENDS_ANSWER_LOST, SaveClick.SENDS_THEN_ASKS):
            self._receive()
        delivery, boundary = _FENCE_SAYS.get(click, (Delivery.SENT_ONCE, BoundaryAnswer.GRANTED))
        asks = (SaveClick.ASKS_FIRST, SaveClick.SENDS_THEN_ASKS, SaveClick.BOUNDARY_REFUSES_AND_PAGE_ASKS)
        self.refused = delivery is Delivery.SENT_ONCE and faults.server in REFUSALS
        return SaveObserved(delivery, faults.stopped_writes, click in asks, self.refused, boundary=boundary)

    def _receive(self) -> None:
        """The server gets one write and does with it what it does."""
        self.writes += 1
        faults = self.scenario.faults
        entry = {"patient": self.patient[0], "birth_date": self.patient[1]}
        for name in FIELDS:
            text = self._shown(name, self.commands)
            for changed, change in faults.in_store:
                text = _CHANGES[change](text) if changed == name else text
            if text:
                entry[name] = text
        self._store(faults.server, entry)
        if faults.colleague_adds:
            self.store["colleague"] = {"patient": "0472", "birth_date": "1970-04-03", "note": "by a colleague"}
        if faults.colleague_edits:
            self.store["e1"] = {**self.store.get("e1", {}), "note": "edited by a colleague"}
        self.snapshots.append((self.clock_ms, {key: dict(members) for key, members in self.store.items()}))

    def _store(self, server: Server, entry: dict[str, str]) -> None:
        key = f"e{len(self.store)}w{self.writes}"
        match server:
            case Server.STORES | Server.REFUSES_AND_ANOTHER_SAVES_THE_SAME:
                self.store[key] = entry
            case Server.STORES_NOTHING | Server.REFUSES:
                pass
            case Server.STORES_TWICE:
                self.store[key], self.store[key + "b"] = entry, dict(entry)
            case Server.STORES_UNDER_OTHER_PATIENT:
                self.store[key] = {**entry, "patient": "0472", "birth_date": "1970-04-03"}
            case Server.OVERWRITES_OLD:
                self.store["e0"] = entry
            case Server.STORES_AND_CHANGES_OLD:
                self.store[key] = entry
                self.store["e1"] = {**self.store["e1"], "note": "changed"}
            case Server.STORES_AND_DELETES_OLD:
                self.store[key] = entry
                del self.store["e2"]
            case _:
                assert_never(server)

    def _read_records(self, now: int) -> Observation:
        self.reads += 1
        faults = self.scenario.faults
        if self._dead(now) or self.reads - 1 in faults.unanswered_reads:
            return RecordsUnavailable()
        seen = [store for at, store in self.snapshots if at + faults.lag_ms <= self.clock_ms][-1]
        self.views.append(seen)
        records = tuple(Record(key, members) for key, members in seen.items())
        repeated = faults.repeated_keys_from_read is not None and self.reads > faults.repeated_keys_from_read
        return Records((*records, records[0]) if repeated else records)


@frozen
class Trace:
    """One run: the commands that were asked for, with their answers, and how it ended."""

    exchanges: tuple[tuple[Command, Observation], ...]
    finish: Finish
    app: App


def drive(machine: Machine, scenario: Scenario, bundle: Bundle = BUNDLE) -> Trace:
    """Run the machine against the model until it finishes or breaks its bound."""
    app = App(scenario)
    exchanges: list[tuple[Command, Observation]] = []
    state, command = machine.start(bundle, scenario.inputs)
    while not isinstance(command, Finish):
        assert len(exchanges) <= longest_run(bundle), "the machine does not end within its bound"
        observation = app.answer(command)
        exchanges.append((command, observation))
        state, command = machine.step(state, observation)
    return Trace(tuple(exchanges), command, app)


def longest_run(bundle: Bundle) -> int:
    """The most commands that one run may ask for."""
    polls = ceil(bundle.read_back.deadline_ms / bundle.read_back.interval_ms) + 1
    return 3 * len(bundle.steps) + len(entered_on_save_page(bundle)) + 4 + 2 * polls


def assert_invariant_7(trace: Trace) -> None:
    """The machine never delivers before identity and baseline, never twice, and touches nothing after it delivered."""
    commands = [command for command, _ in trace.exchanges]
    saves = [at for at, command in enumerate(commands) if isinstance(command, Save)]
    assert len(saves) <= 1, "delivered twice"
    if not saves:
        return
    before, after = trace.exchanges[: saves[0]], commands[saves[0] + 1 :]
    assert any(isinstance(observation, Records) for _, observation in before), "delivered without a baseline"
    asked, seen = before[-1]
    inputs = trace.app.scenario.inputs
    assert isinstance(asked, ReadTexts), "delivered without comparing the identity directly before"
    assert seen == Texts((inputs["patient"], inputs["birth_date"])), "delivered on another record"
    assert all(isinstance(command, ReadRecords | Wait) for command in after), "touched the app after the save"


def assert_invariants_1_and_2(trace: Trace) -> None:
    """The report claims what the server's own store proves, and no more."""
    report, app = trace.finish.report, trace.app
    assert is_consistent(report)
    if report.transaction is TransactionOutcome.VERIFIED:
        assert holds_intended(app.store, app.scenario.inputs), "verified, and the store holds something else"
        assert app.writes == 1, "verified more than one write"
        assert not app.refused, "verified what the app had not taken of it"
    if report.transaction in PROVEN_NO_EFFECT:
        assert app.writes == 0, "said that nothing was written"
        assert app.store == _old_records()
    assert isinstance(trace.finish.pause, OpenPause) == (not _needs_nobody(report))


def assert_no_proof_is_left_unused(trace: Trace) -> None:
    """A run whose last read shows exactly the intended change, unblurred, is verified."""
    report, app = trace.finish.report, trace.app
    last = trace.exchanges[-1] if trace.exchanges else (None, None)
    if not isinstance(last[0], ReadRecords) or not isinstance(last[1], Records) or app.saves == 0:
        return
    blurred = len({record.key for record in last[1].records}) != len(last[1].records)
    proven = holds_intended(app.views[-1], app.scenario.inputs) and not blurred and not app.refused
    assert proven == (report.transaction is TransactionOutcome.VERIFIED)


def check_run(machine: Machine, scenario: Scenario) -> Trace:
    """Drive the machine, and judge the run by every law."""
    trace = drive(machine, scenario)
    assert_invariant_7(trace)
    assert_invariants_1_and_2(trace)
    assert_no_proof_is_left_unused(trace)
    return trace


def holds_intended(store: Store, inputs: Mapping[str, str]) -> bool:
    """Whether a store is the old one and exactly one intended record; written without the machine's comparison."""
    new = [members for key, members in store.items() if key not in _old_records()]
    untouched = all(store.get(key) == members for key, members in _old_records().items())
    return untouched and len(new) == 1 and _meaning(new[0]) == _meaning(inputs)


def _meaning(members: Mapping[str, str]) -> dict[str, object]:
    texts = {name: members.get(name, "") for name in ("patient", "birth_date", *FIELDS)}
    forms = {name: _plain(texts[name]) for name in ("note", "remark")}
    dose = texts["dose"]
    return {**texts, **forms, "dose": Decimal(dose) if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", dose) else dose}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def _needs_nobody(report: Report) -> bool:
    return report.transaction in (
        TransactionOutcome.VERIFIED,
        TransactionOutcome.CANCELED,
        TransactionOutcome.FAILED_PLATFORM,
    )


#: Inputs for tables of named cases.
PLAIN_INPUTS: Mapping[str, str] = {
    "patient": "0471",
    "birth_date": "1970-04-04",
    "note": "Jose\u0301 asked\nfor \U0001f6b2 a letter",
    "dose": "0.5",
    "due": "2026-05-04",
    "code": "01231456",
    "priority": "Urgent",
    "remark": "by\u00a0phone ",
}


def scenario(**switches: Any) -> Scenario:  # noqa: ANN401 - each switch has its own type
    """A named case: plain inputs and these switches."""
    return Scenario(inputs=PLAIN_INPUTS, faults=Faults(**switches))
