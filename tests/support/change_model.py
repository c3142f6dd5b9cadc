"""A model of an app of somebody's own: boxes, lists, dates in its form, dialogs, one address, records made or changed.

Laws of this module:

- The oracle is the model's own store: what the server received and what it holds. It shares no code with the machine.
- What a channel shows of a record depends on its kind: all members always, or those of new records alone.
- What somebody else does between the baseline and the save is a switch.
"""

import unicodedata
from collections.abc import Mapping
from enum import Enum, unique
from urllib.parse import unquote

from attrs import define, field, frozen

from support.app_model import Change, Machine, changed
from surehand.core.outcome.evidence import (
    PROVEN_NO_EFFECT,
    CheckLevel,
    Delivery,
    OpenPause,
    PauseCategory,
    TransactionOutcome,
    is_consistent,
)
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    DateForm,
    DialogAnswer,
    Effect,
    Entry,
    FillStep,
    IdentityField,
    Key,
    OpenStep,
    ReadBack,
    ReadField,
    Rule,
    SaveStep,
    SearchBy,
)
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Check,
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
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    Save,
    SaveObserved,
    Texts,
    Wait,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import (
    DatabaseRecords,
    JsonRecords,
    PageField,
    PageRecords,
    RecordPage,
    Source,
)
from surehand.core.workflow.target import FromInput, PageGate, QueryPart, Target, TargetKind

WARDS = ("ICU", "Ward 7", "Maternity")
PATHS = ("oral", "i.v.")
WRITTEN = ("note", "due", "ward", "path", "signed")
DEADLINE_MS, INTERVAL_MS = 600, 300

PARAMETERS = (
    Parameter(name="patient", type=ParameterType.IDENTIFIER, title="Patient id", min_length=1),
    Parameter(name="birth_date", type=ParameterType.DATE, title="Birth date"),
    Parameter(name="note", type=ParameterType.TEXT, title="Note", min_length=1),
    Parameter(name="due", type=ParameterType.DATE, title="Due", required=False),
    Parameter(name="ward", type=ParameterType.CHOICE, title="Ward", choices=WARDS),
    Parameter(name="path", type=ParameterType.CHOICE, title="Path", choices=PATHS),
    Parameter(name="signed", type=ParameterType.CHOICE, title="Signed", choices=("true", "false")),
)


def _target(name: str) -> Target:
    return Target(TargetKind.ATTRIBUTE, name, attribute="name")


def _page(name: str, tab: str) -> PageGate:
    """A page of an app whose every page has one path."""
    return PageGate("/app", Target(TargetKind.ROLE, name, "heading"), (QueryPart("tab", tab),), f"/{tab}/{{patient}}")


CHART, FORM = _page("Chart", "chart"), _page("Entry", "form")
FIELDS = tuple(PageField(name, _target(name)) for name in ("patient", "birth_date", "allergy", "version", *WRITTEN))


@unique
class Channel(Enum):
    """What the records are read from."""

    JSON = "json"
    PAGES = "pages"
    ONE_PAGE = "one_page"


SOURCES: dict[Channel, Source] = {
    Channel.JSON: JsonRecords("/api/{patient}/entries", "items", "id"),
    Channel.PAGES: PageRecords("/list?of={patient}", _target("list"), "/entries/{patient}/*", CHART, FIELDS),
    Channel.ONE_PAGE: RecordPage("/entries/{patient}", CHART, FIELDS),
}


def bundle_of(channel: Channel, effect: Effect) -> Bundle:
    """The workflow that makes or changes an entry and reads it back over this channel."""
    given = {name: FromInput(name) for name in ("patient", "birth_date", *WRITTEN)}
    rules = {"note": Rule.TEXT, "due": Rule.DATE}
    return Bundle(
        workflow="write_entry",
        title="Write an entry",
        parameters=PARAMETERS,
        steps=(
            OpenStep("open", "/app?tab=chart&of={patient}"),
            FillStep("search", CHART, _target("search"), given["patient"], Rule.IDENTIFIER, part_of_record=False),
            ClickStep("edit", CHART, _target("edit"), DialogAnswer.ACCEPT),
            FillStep("note", FORM, _target("note"), given["note"], Rule.TEXT, Entry.TYPE),
            FillStep(
                "due",
                FORM,
                _target("due"),
                given["due"],
                Rule.DATE,
                then=Key.TAB,
                form=DateForm.DAY_MONTH_SLASH,
            ),
            ChooseStep(
                "ward",
                FORM,
                _target("opener"),
                given["ward"],
                ChoiceControl.LIST,
                search=SearchBy.LAST_WORD,
                shown=_target("ward"),
            ),
            ChooseStep("path", FORM, _target("path"), given["path"], ChoiceControl.RADIO),
            CheckStep("signed", FORM, _target("signed"), given["signed"]),
        ),
        identity=(
            IdentityField(_target("patient"), given["patient"], Rule.IDENTIFIER, unique=True),
            IdentityField(
                _target("birth_date"), given["birth_date"], Rule.DATE, unique=False, form=DateForm.MONTH_DAY_SLASH
            ),
        ),
        save=SaveStep(
            "save",
            FORM,
            _target("save"),
            WriteRoute("PUT", "/api/{patient}/entries", "application/json"),
            DialogAnswer.ACCEPT,
        ),
        read_back=ReadBack(
            level=CheckLevel.SEPARATE_SESSION,
            minimum=CheckLevel.SEPARATE_SESSION,
            source=SOURCES[channel],
            identity=(ReadField("patient", given["patient"], Rule.IDENTIFIER),),
            written=tuple(
                ReadField(
                    name,
                    given[name],
                    rules.get(name, Rule.CHOICE),
                    DateForm.DAY_MONTH_DOT if name == "due" else DateForm.ISO,
                )
                for name in WRITTEN
            ),
            deadline_ms=DEADLINE_MS,
            interval_ms=INTERVAL_MS,
            effect=effect,
            may_change=("version",),
        ),
        business_key=("patient", "note") if (channel, effect) == (Channel.JSON, Effect.CREATE) else (),
    )


#: Every way to read and write that a bundle can have here: a list of pages shows no change.
BUNDLES: dict[tuple[Channel, Effect], Bundle] = {
    (channel, effect): bundle_of(channel, effect)
    for channel in Channel
    for effect in Effect
    if (channel, effect) != (Channel.PAGES, Effect.UPDATE)
}


@unique
class Server(Enum):
    """What the server does with the one write."""

    OBEYS = "obeys"
    STORES_NOTHING = "stores_nothing"
    STORES_TWICE = "stores_twice"
    OTHER_RECORD = "other_record"
    CHANGES_ALLERGY = "changes_allergy"
    DELETES_ANOTHER = "deletes_another"


@unique
class Dialog(Enum):
    """What a click that was recorded with a dialog opens."""

    AS_RECORDED = "as_recorded"
    NONE = "none"


@unique
class Colleague(Enum):
    """What somebody else does between the baseline and the save."""

    NOTHING = "nothing"
    ADDS = "adds"
    EDITS_ANOTHER = "edits_another"
    EDITS_THIS = "edits_this"


@unique
class Before(Enum):
    """What the records of the patient are when the run begins."""

    ONE = "one"
    NONE = "none"
    TWO = "two"
    DONE = "done"


@frozen(kw_only=True)
class Wrong:
    """The switches; the defaults are an app without a fault. ``fault_at`` counts commands from 0."""

    before: Before = Before.ONE
    on_screen: tuple[str, Change] | None = None
    in_store: tuple[str, Change] | None = None
    flipped_on_screen: bool = False
    flipped_in_store: bool = False
    month_first: bool = False
    server: Server = Server.OBEYS
    edit_dialog: Dialog = Dialog.AS_RECORDED
    save_dialog: Dialog = Dialog.AS_RECORDED
    colleague: Colleague = Colleague.NOTHING
    answer_lost: bool = False
    lag_ms: int = 0
    unread: bool = False
    fault_at: tuple[int, FaultKind] | None = None


@frozen(kw_only=True)
class Case:
    """One run: how it reads and writes, its inputs, and what goes wrong."""

    channel: Channel
    effect: Effect
    inputs: Mapping[str, str]
    wrong: Wrong = Wrong()

    @property
    def bundle(self) -> Bundle:
        """The workflow."""
        return BUNDLES[self.channel, self.effect]

    @property
    def may_save(self) -> set[Before]:
        """The records before a run that may save: what looks done, or is not the one to change, is seen before."""
        return _MAY_SAVE[self.channel, self.effect]


#: A list of pages shows nothing that could look done; a page shows the first of two records.
_MAY_SAVE: dict[tuple[Channel, Effect], set[Before]] = {
    (Channel.JSON, Effect.CREATE): {Before.NONE, Before.ONE, Before.TWO},
    (Channel.PAGES, Effect.CREATE): {*Before},
    (Channel.ONE_PAGE, Effect.CREATE): {Before.NONE},
    (Channel.JSON, Effect.UPDATE): {Before.ONE},
    (Channel.ONE_PAGE, Effect.UPDATE): {Before.ONE, Before.TWO},
}

Store = dict[str, dict[str, str]]

_FLIPPED = {"true": "false", "false": "true"}

INPUTS: Mapping[str, str] = {
    "patient": "A 7",
    "birth_date": "1970-04-03",
    "note": "two\nlines",
    "due": "2026-05-04",
    "ward": "Ward 7",
    "path": "i.v.",
    "signed": "true",
}


def _old_entry(patient: str, birth_date: str) -> dict[str, str]:
    members = {"patient": patient, "birth_date": birth_date, "allergy": "nuts", "version": "1"}
    return {**members, "note": "old", "due": "2025-12-31", "ward": "ICU", "path": "oral", "signed": "false"}


def first_store(case: Case) -> Store:
    """The records when the run begins; those of another patient are always there."""
    patient, born = case.inputs["patient"], case.inputs["birth_date"]
    store = {"e0": _old_entry("another", "1950-01-01")}
    mine = _old_entry(patient, born)
    match case.wrong.before:
        case Before.ONE:
            store["e1"] = mine
        case Before.NONE:
            pass
        case Before.TWO:
            store |= {"e1": mine, "e2": dict(mine)}
        case Before.DONE:
            store["e1"] = {**mine, **_wanted(case.inputs)}
    return store


def _wanted(inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: inputs.get(name, "") for name in WRITTEN}


@define
class OwnApp:
    """The app, its server and the fence, as one object that answers commands."""

    case: Case
    store: Store = field(init=False)
    snapshots: list[tuple[int, Store]] = field(init=False)
    views: list[tuple[Store, bool]] = field(factory=list[tuple[Store, bool]])
    writes: int = 0
    saves: int = 0
    commands: int = 0
    clock_ms: int = 0
    tab: str = ""
    patient: str = ""
    screen: dict[str, str] = field(factory=dict[str, str])
    opened: list[str] = field(factory=list[str])

    def __attrs_post_init__(self) -> None:
        """Begin with the old records."""
        self.store = first_store(self.case)
        self.snapshots = [(-1_000_000, first_store(self.case))]

    def answer(self, command: Command) -> Observation:
        """Perform one command, as far as the faults let it."""
        now, wrong = self.commands, self.case.wrong
        self.commands += 1
        match command:
            case Save(dialog=dialog, route=route):
                return self._save(dialog, route)
            case ReadRecords(source=source, old=old):
                return self._read(source, old)
            case Wait(milliseconds=milliseconds):
                self.clock_ms += milliseconds
                return Done()
            case _:
                if wrong.fault_at is not None and wrong.fault_at[0] == now:
                    return Fault(wrong.fault_at[1])
                return self._on_page(command)

    def _on_page(self, command: Command) -> Observation:  # noqa: C901, PLR0911 - one line for each command
        match command:
            case Open(path=path):
                self.opened.append(path)
                self.tab, self.patient = "chart", unquote(path.partition("&of=")[2])
                return Done()
            case CheckPage(gate=gate):
                return Done() if self._is_at(gate) else Fault(FaultKind.PAGE_UNEXPECTED)
            case Click(dialog=dialog):
                return self._edit(dialog)
            case Fill(target=target, text=text):
                return self._enter(target.name, self._stored(target.name, text))
            case Choose(target=target, label=label):
                return self._enter("ward" if target.name == "opener" else target.name, label)
            case Check(target=target, checked=checked):
                return self._enter(target.name, str(checked).lower())
            case ReadValue(target=target):
                return Texts((self._shown(target.name),))
            case ReadTexts():
                return Texts((self.patient, _month_first(self.case.inputs["birth_date"])))
            case _:
                raise AssertionError("a command that no page answers")

    def _is_at(self, gate: PageGate) -> bool:
        fragment = unquote(gate.fragment or "").split("/", 2)
        return gate.query == (QueryPart("tab", self.tab),) and fragment == ["", self.tab, self.patient]

    def _edit(self, dialog: DialogAnswer | None) -> Observation:
        if (dialog is None) == (self.case.wrong.edit_dialog is Dialog.AS_RECORDED):
            return Fault(FaultKind.UNEXPECTED_DIALOG)
        self.tab = "form"
        return Done()

    def _stored(self, name: str, text: str) -> str:
        """What the app makes of a text: a date is read in the app's form, day first unless it is broken."""
        if name != "due" or not text:
            return text
        first, second, year = text.split("/")
        day, month = (second, first) if self.case.wrong.month_first else (first, second)
        return f"{year}-{month}-{day}"

    def _enter(self, name: str, text: str) -> Observation:
        self.screen[name] = self._changed(name, text, self.case.wrong.on_screen, flip=self.case.wrong.flipped_on_screen)
        return Done()

    def _changed(self, name: str, text: str, change: tuple[str, Change] | None, *, flip: bool) -> str:
        text = changed(change[1], text) if change is not None and change[0] == name else text
        return _FLIPPED.get(text, text) if flip and name == "signed" else text

    def _shown(self, name: str) -> str:
        """What a field shows; the box in which an option was searched is empty again."""
        text = self.screen.get(name, "")
        return _with(text, "{2}/{1}/{0}") if name == "due" else text

    def _save(self, dialog: DialogAnswer | None, route: WriteRoute) -> Observation:
        self.saves += 1
        if route.path != "/api/" + _percent(self.patient) + "/entries":
            return SaveObserved(Delivery.NOT_SENT, 1, boundary=BoundaryAnswer.NOT_ASKED)
        unexpected = (dialog is None) == (self.case.wrong.save_dialog is Dialog.AS_RECORDED)
        if unexpected:
            return SaveObserved(Delivery.NOT_SENT, 0, unexpected_dialog=True, boundary=BoundaryAnswer.NOT_ASKED)
        self._receive()
        delivery = Delivery.UNKNOWN if self.case.wrong.answer_lost else Delivery.SENT_ONCE
        return SaveObserved(delivery, 0, boundary=BoundaryAnswer.GRANTED)

    def _receive(self) -> None:
        self.writes += 1
        wrong = self.case.wrong
        entry = {
            name: self._changed(name, self.screen.get(name, ""), wrong.in_store, flip=wrong.flipped_in_store)
            for name in WRITTEN
        }
        self._colleague()
        self._store(entry)
        for members in self.store.values():
            members["version"] += "0"
        self.snapshots.append((self.clock_ms, {key: dict(members) for key, members in self.store.items()}))

    def _mine(self) -> dict[str, str]:
        """The record of the patient, or a new one."""
        return next((each for each in self.store.values() if each["patient"] == self.patient), {"version": "0"})

    def _colleague(self) -> None:
        match self.case.wrong.colleague:
            case Colleague.NOTHING:
                pass
            case Colleague.ADDS:
                self.store["colleague"] = _old_entry("another", "1950-01-01")
            case Colleague.EDITS_ANOTHER:
                next(iter(self.store.values()), {"version": "0"})["allergy"] = "milk"
            case Colleague.EDITS_THIS:
                self._mine()["allergy"] = "milk"

    def _store(self, entry: dict[str, str]) -> None:
        server, creates = self.case.wrong.server, self.case.effect is Effect.CREATE
        new = {**_old_entry(self.patient, self.case.inputs["birth_date"]), **entry}
        if server is Server.STORES_NOTHING:
            return
        if server is Server.OTHER_RECORD:
            self.store["w"] = {**new, "patient": "another"}
            return
        if creates or not any(each["patient"] == self.patient for each in self.store.values()):
            self.store["n"] = new
        else:
            self._mine().update(entry)
        if server is Server.STORES_TWICE:
            self.store["twice"] = dict(new)
        if server is Server.CHANGES_ALLERGY:
            self._mine()["allergy"] = "none"
        if server is Server.DELETES_ANOTHER:
            self.store.pop("e0", None)

    def _read(self, source: Source, old: frozenset[str] | None) -> Observation:
        assert not isinstance(source, DatabaseRecords)
        assert _percent(self.case.inputs["patient"]) in source.path, "the records of another patient are read"
        store = [store for at, store in self.snapshots if at + self.case.wrong.lag_ms <= self.clock_ms][-1]
        seen = visible(self.case, store)
        unread = self.case.wrong.unread and old is not None
        self.views.append((store, unread))
        return Records(
            tuple(
                Record(key, None if unread or _is_counted(self.case, key, old) else _told(members))
                for key, members in seen.items()
            )
        )


def visible(case: Case, store: Store) -> Store:
    """The records that the channel shows: the page of one record shows no other one."""
    if case.channel is not Channel.ONE_PAGE:
        return store
    mine = [members for members in store.values() if members["patient"] == case.inputs["patient"]]
    return dict(zip(("the record",), mine, strict=False))


def _is_counted(case: Case, key: str, old: frozenset[str] | None) -> bool:
    """Whether the channel shows of a record only that it is there."""
    return case.channel is Channel.PAGES and (old is None or key in old)


def _told(members: dict[str, str]) -> dict[str, str]:
    return {**members, "due": _with(members["due"], "{2}.{1}.{0}")}


def _with(day: str, form: str) -> str:
    return form.format(*day.split("-")) if day.count("-") == 2 else day


def _month_first(day: str) -> str:
    return _with(day, "{1}/{2}/{0}")


def _percent(text: str) -> str:
    plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return "".join(each if each in plain else "".join(f"%{byte:02X}" for byte in each.encode()) for each in text)


@frozen
class Trace:
    """One run: the commands that were asked for, with their answers, and how it ended."""

    exchanges: tuple[tuple[Command, Observation], ...]
    finish: Finish
    app: OwnApp

    @property
    def category(self) -> PauseCategory | None:
        """The pause that the run left."""
        return self.finish.pause.category if isinstance(self.finish.pause, OpenPause) else None


def drive(machine: Machine, case: Case) -> Trace:
    """Run the machine against the model until it finishes."""
    app = OwnApp(case)
    exchanges: list[tuple[Command, Observation]] = []
    state, command = machine.start(case.bundle, case.inputs)
    while not isinstance(command, Finish):
        assert len(exchanges) < _LONGEST, "the machine does not end within its bound"
        observation = app.answer(command)
        exchanges.append((command, observation))
        state, command = machine.step(state, observation)
    return Trace(tuple(exchanges), command, app)


_LONGEST = 60


def check_run(machine: Machine, case: Case) -> Trace:
    """Drive the machine, and judge the run by every law."""
    trace = drive(machine, case)
    _assert_saved_with_reason(trace)
    _assert_honest(trace)
    _assert_no_proof_is_left_unused(trace)
    return trace


def _assert_saved_with_reason(trace: Trace) -> None:
    """The machine saves once at most, only on the right page, and never what looks done or has no one record."""
    app, case = trace.app, trace.app.case
    assert app.saves <= 1, "saved twice"
    if app.saves:
        assert case.wrong.before in case.may_save, "saved what was done already, or to no one record"
        assert app.patient == case.inputs["patient"]
        assert shows_intended(app), "saved a page that shows something else"


def shows_intended(app: OwnApp) -> bool:
    """Whether the form shows what was intended, when it is saved."""
    shown = {name: app.screen.get(name, "") for name in WRITTEN}
    return _plain(shown) == _plain(_wanted(app.case.inputs))


def _assert_honest(trace: Trace) -> None:
    """The report claims what the server's own store proves, and no more."""
    report, app = trace.finish.report, trace.app
    assert is_consistent(report)
    if report.transaction is TransactionOutcome.VERIFIED:
        assert holds_intended(app.case, app.store), "verified, and the store holds something else"
        assert app.writes == 1, "verified more than one write"
    if report.transaction in PROVEN_NO_EFFECT:
        assert app.writes == 0, "said that nothing was written"
        assert app.store == first_store(app.case)


def _assert_no_proof_is_left_unused(trace: Trace) -> None:
    """A run whose last read shows exactly the intended change is verified."""
    app = trace.app
    last = trace.exchanges[-1] if trace.exchanges else (None, None)
    if app.writes and isinstance(last[0], ReadRecords):
        store, unread = app.views[-1]
        proven = holds_intended(app.case, store) and not unread
        assert proven == (trace.finish.report.transaction is TransactionOutcome.VERIFIED)


def holds_intended(case: Case, store: Store) -> bool:
    """Whether the visible records are the old ones and exactly the intended change; not by the machine's comparison."""
    old, now = visible(case, first_store(case)), visible(case, store)
    wanted = {**_wanted(case.inputs), "patient": case.inputs["patient"]}
    if case.effect is Effect.CREATE:
        new = [_plain(members) for key, members in now.items() if key not in old]
        kept = {key: now.get(key) for key in old}
        same = kept.keys() <= now.keys() if case.channel is Channel.PAGES else _plains(kept) == _plains(old)
        return same and len(new) == 1 and all(new[0].get(name, "") == text for name, text in _all_plain(wanted).items())
    mine = [key for key, members in old.items() if members["patient"] == case.inputs["patient"]]
    return len(mine) == 1 and _plains(now) == _plains({**old, mine[0]: {**old[mine[0]], **wanted}})


def _plains(store: Mapping[str, dict[str, str] | None]) -> dict[str, dict[str, str]]:
    return {key: _plain(members or {}) for key, members in store.items()}


def _plain(members: Mapping[str, str]) -> dict[str, str]:
    """The members that mean something, in one spelling."""
    return {name: text for name, text in _all_plain(members).items() if text and name != "version"}


def _all_plain(members: Mapping[str, str]) -> dict[str, str]:
    note = unicodedata.normalize("NFC", members.get("note", "").replace("\r\n", "\n").replace("\r", "\n"))
    return {**members, "note": note}
