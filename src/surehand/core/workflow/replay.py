"""The machine that replays a bundle: a plan, a state, and one total step.

Laws of this module:

- A step asks for one command. Whatever is observed, also what does not answer the command, the machine goes on or ends
  with a report whose fields agree.
- It saves at most once, and only after a baseline was read and, with nothing between, the identity was compared.
- After the save it only reads and waits: it never opens, clicks, enters or reloads, and no wish to stop stops it.
- What the save could overwrite unseen is guarded: it is read before anything is opened, and again as the baseline.
- It ends: the plan is finite, and the polls of the read-back are bounded by their deadline.
- A page that said "saved" is not evidence; only the fence's verdict and the read-back are.
- Writes that the fence stopped after the one that it sent do not decide: they had no effect, and the fence cannot tell
  a resend of the browser from something more. The read-back shows what is there.
- A dialog that nobody expected after the save click means that the app asked something that nobody answered: such a
  run is never proven.
- A run whose save the app refused is never proven: the record that is there then may be somebody else's.
- Work that the records already show as done is not done again: the run stops before the save.
- A value that would change the address in which it stands is taken for a wrong record, before anything is opened.
- A run that goes on after a person's work repeats no act: what acts is left to the person, what looks looks again, and
  whatever was read for the save before is read anew.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from attrs import evolve, field, frozen
from returns.result import Failure

from surehand.core.outcome.evidence import (
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    Pause,
    PauseCategory,
    Report,
    TransactionOutcome,
)
from surehand.core.workflow.addresses import (
    gate_at,
    intended_text,
    named_at,
    path_at,
    path_fits,
    query_fits,
    route_at,
    source_at,
)
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    DateForm,
    EnteringStep,
    FillStep,
    OpenStep,
    Rule,
    Step,
    addresses,
    entered_on_save_page,
)
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
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
    OutOfTime,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Records,
    RecordsUnavailable,
    Save,
    SaveObserved,
    Texts,
    Wait,
)
from surehand.core.workflow.compare import same, written_date
from surehand.core.workflow.params import check_inputs
from surehand.core.workflow.readback import (
    Absent,
    NotYet,
    Proven,
    Refuted,
    Unread,
    guards_hold,
    hindrance,
    judge,
    keys_are_unique,
)
from surehand.core.workflow.search import search_text
from surehand.core.workflow.target import PageGate, Target


@frozen
class Act:
    """Perform the command; anything but ``Done`` stops."""

    command: Open | CheckPage | Fill | Choose | Check | Click


@frozen
class Echo:
    """The field must hold what was entered."""

    command: ReadValue
    rule: Rule
    expected: str = field(repr=False)
    form: DateForm = DateForm.ISO


@frozen
class Identify:
    """The page must show the intended record."""

    command: ReadTexts
    rules: tuple[Rule, ...]
    expected: tuple[str, ...] = field(repr=False)
    forms: tuple[DateForm, ...]


@frozen
class TakeGuards:
    """Keep what the guarded members are before any page is loaded."""

    command: ReadRecords


@frozen
class TakeBaseline:
    """Keep what the records are before the save; no guarded member may have changed."""

    command: ReadRecords


@frozen
class Deliver:
    """Save."""

    command: Save


Instruction = Act | Echo | Identify | TakeGuards | TakeBaseline | Deliver


@frozen
class Entering:
    """Before the save: the plan, the instruction that waits for its answer, and what was read of the records."""

    bundle: Bundle
    inputs: Mapping[str, str] = field(repr=False)
    plan: tuple[Instruction, ...] = field(repr=False)
    at: int = 0
    guarded: Records = field(default=Records(()), repr=False)
    baseline: Records | None = field(default=None, repr=False)


@frozen
class Checking:
    """After the save: what left, and how far the read-back is.

    Args:
        delivery: What the fence measured.
        refused: Whether the app refused the save.
        waited_ms: Milliseconds waited between polls so far.
        read: Whether any poll was answered.
        waiting: Whether the answer that is due is that of a wait rather than that of a read.
    """

    bundle: Bundle
    inputs: Mapping[str, str] = field(repr=False)
    baseline: Records = field(repr=False)
    delivery: Delivery
    refused: bool
    waited_ms: int = 0
    read: bool = False
    waiting: bool = False


@frozen
class Ended:
    """Over. Any further step gives the same answer."""

    finish: Finish


State = Entering | Checking | Ended

#: The pause that each fault leaves when nothing has left yet.
_PAUSES: Final[dict[FaultKind, PauseCategory]] = {
    FaultKind.TARGET_MISSING: PauseCategory.RESOLUTION,
    FaultKind.TARGET_NOT_UNIQUE: PauseCategory.RESOLUTION,
    FaultKind.TARGET_COVERED: PauseCategory.RESOLUTION,
    FaultKind.OPTION_MISSING: PauseCategory.RESOLUTION,
    FaultKind.PAGE_UNEXPECTED: PauseCategory.HALT,
    FaultKind.SIGN_IN_SHOWN: PauseCategory.HUMAN_REQUIRED,
    FaultKind.UNEXPECTED_DIALOG: PauseCategory.HALT,
    FaultKind.EARLY_WRITE_STOPPED: PauseCategory.UNMET_GUARD,
}

#: Faults of the app's or our own machinery: no person can decide anything, a later attempt may succeed.
_PLATFORM: Final = frozenset({FaultKind.APP_UNREACHABLE, FaultKind.ENGINE_BROKEN})


def start(bundle: Bundle, inputs: Mapping[str, str]) -> tuple[State, Command]:
    """Begin a run.

    Args:
        bundle: The workflow.
        inputs: Its inputs, as ``check_inputs`` accepted them.

    Raises:
        ValueError: The inputs are not accepted ones.
    """
    if isinstance(check_inputs(bundle.parameters, inputs), Failure):
        raise ValueError("the inputs were not accepted")  # noqa: TRY004 - no type is wrong, a check was left out
    paths, queries = addresses(bundle)
    if not (all(path_fits(path, inputs) for path in paths) and all(query_fits(part, inputs) for part in queries)):
        return _halted(bundle, PauseCategory.IDENTITY)
    state = Entering(bundle, inputs, compile_plan(bundle, inputs))
    return state, state.plan[0].command


def resume(
    bundle: Bundle, inputs: Mapping[str, str], at: int, guarded: Records, *, skip: bool = False
) -> tuple[State, Command]:
    """Go on with a run that stopped, after a person prepared its page.

    Args:
        bundle: The workflow.
        inputs: The accepted inputs of the run.
        at: The instruction at which the run stopped, counted from 0.
        guarded: What was read of the guarded members before the page was opened.
        skip: Whether the step at which it stopped is left out rather than done by the person.

    Raises:
        ValueError: The inputs are not accepted ones, nothing can go on from there, or the step may not be left out.
    """
    state, command = start(bundle, inputs)
    if not isinstance(state, Entering):
        return state, command
    if not 0 <= at < len(state.plan) - 1:
        raise ValueError("a run goes on only from before its save")
    begin = _behind_optional(bundle, inputs, at) if skip else at + (not _looks(state.plan[at]))
    if begin is None:
        raise ValueError("only an optional step may be left out")
    # What is read for the save is read with nothing between: from its beginning, or not yet.
    begin = min(begin, _baseline_at(state.plan))
    return evolve(state, at=begin, guarded=guarded), state.plan[begin].command


def may_skip(bundle: Bundle, inputs: Mapping[str, str], at: int) -> bool:
    """Whether a run that stopped at this instruction may go on without its step."""
    return _behind_optional(bundle, inputs, at) is not None


def _behind_optional(bundle: Bundle, inputs: Mapping[str, str], at: int) -> int | None:
    """The first instruction behind the optional step that acts here; a check is never left out by itself."""
    first = 1 if bundle.guards else 0
    for item in bundle.steps:
        instructions = _instructions(item, inputs)
        behind = first + len(instructions)
        if first <= at < behind:
            acts = not _looks(instructions[at - first])
            return behind if acts and not isinstance(item, OpenStep) and item.optional else None
        first = behind
    return None


def _looks(instruction: Instruction) -> bool:
    """Whether an instruction only looks at the page or the records."""
    acts = isinstance(instruction, Act) and not isinstance(instruction.command, CheckPage)
    return not (acts or isinstance(instruction, Deliver))


def _baseline_at(plan: tuple[Instruction, ...]) -> int:
    return next(at for at, instruction in enumerate(plan) if isinstance(instruction, TakeBaseline))


def step(state: State, observation: Observation) -> tuple[State, Command]:
    """Go on with what was observed; total over every state and observation."""
    match state:
        case Entering():
            return _entering(state, observation)
        case Checking():
            return _checking(state, observation)
        case Ended(finish=finish):
            return state, finish
        case _:  # pragma: no cover
            assert_never(state)


def compile_plan(bundle: Bundle, inputs: Mapping[str, str]) -> tuple[Instruction, ...]:
    """The instructions of a run up to and with the save.

    Last before the save stand, in this order: the baseline, the gate of the page, every field of that page once more
    (a suggestion or a new rendering may have changed it), and the identity.
    """
    entered = entered_on_save_page(bundle)
    save, read = bundle.save, ReadRecords(source_at(bundle.read_back.source, inputs))
    return (
        *((TakeGuards(read),) if bundle.guards else ()),
        *(instruction for item in bundle.steps for instruction in _instructions(item, inputs)),
        TakeBaseline(read),
        _gate(save.page, inputs),
        *(_echo(item, inputs) for item in entered),
        Identify(
            ReadTexts(
                tuple(named_at(item.target, inputs) for item in bundle.identity),
                tuple(_row(item.target, inputs) for item in bundle.identity),
            ),
            tuple(item.rule for item in bundle.identity),
            tuple(intended_text(item.expected, inputs) for item in bundle.identity),
            tuple(item.form for item in bundle.identity),
        ),
        Deliver(Save(*_found(save.target, inputs), route_at(save.route, inputs), save.dialog)),
    )


def _instructions(item: Step, inputs: Mapping[str, str]) -> tuple[Instruction, ...]:
    match item:
        case OpenStep():
            behind = "" if item.fragment is None else f"#{path_at(item.fragment, inputs)}"
            return (Act(Open(path_at(item.path, inputs) + behind)),)
        case ClickStep():
            return _gate(item.page, inputs), Act(Click(*_found(item.target, inputs), item.dialog))
        case FillStep():
            text = written_date(item.form, intended_text(item.value, inputs))
            fill = Fill(*_found(item.target, inputs), text, item.entry, item.then)
            return _gate(item.page, inputs), Act(fill), _echo(item, inputs)
        case ChooseStep():
            label = intended_text(item.value, inputs)
            search = None if item.search is None else search_text(item.search, label)
            choose = Choose(*_found(item.target, inputs), label, item.control, search)
            return _gate(item.page, inputs), Act(choose), _echo(item, inputs)
        case CheckStep():
            check = Check(*_found(item.target, inputs), intended_text(item.value, inputs) == "true")
            return _gate(item.page, inputs), Act(check), _echo(item, inputs)
        case _:  # pragma: no cover
            assert_never(item)


def _gate(page: PageGate, inputs: Mapping[str, str]) -> Act:
    return Act(CheckPage(gate_at(page, inputs)))


def _echo(item: EnteringStep, inputs: Mapping[str, str]) -> Echo:
    """What shows the entered value must show it, in the form in which it was entered."""
    expected = intended_text(item.value, inputs)
    match item:
        case FillStep():
            control = None if item.shown is None else ChoiceControl.LIST
            read = ReadValue(*_found(item.shown or item.target, inputs), control)
            return Echo(read, item.rule, expected, item.form)
        case ChooseStep():
            found = _found(item.shown or item.target, inputs)
            if item.control is ChoiceControl.LIST:
                # In what a list shows, a no-break space is a space.
                expected = expected.replace("\u00a0", " ")
            return Echo(ReadValue(*found, item.control), Rule.CHOICE, expected)
        case CheckStep(target=target):
            return Echo(ReadValue(*_found(target, inputs)), Rule.CHOICE, expected)
        case _:  # pragma: no cover
            assert_never(item)


def _found(target: Target, inputs: Mapping[str, str]) -> tuple[Target, str | None]:
    """The target as a run finds it, and the text of its row."""
    return named_at(target, inputs), _row(target, inputs)


def _row(target: Target, inputs: Mapping[str, str]) -> str | None:
    return None if target.row is None else intended_text(target.row, inputs)


def _entering(state: Entering, observation: Observation) -> tuple[State, Command]:
    match observation:
        case Canceled():
            return _stopped(state.bundle, TransactionOutcome.CANCELED, ExecutionOutcome.HALTED, NoPause())
        case OutOfTime():
            return _stopped(state.bundle, TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.HALTED, NoPause())
        case Done() | Texts() | Records() | RecordsUnavailable() | SaveObserved() | Fault():
            instruction = state.plan[state.at]
            if isinstance(instruction, Deliver):
                return _delivered(state, observation)
            if _may_have_written(observation):
                return _doubtful(state.bundle, Delivery.UNKNOWN, PauseCategory.DELIVERY_UNCERTAIN)
            if isinstance(observation, Fault):
                return _faulted(state, instruction, observation.kind)
            return _answered(state, instruction, observation)
        case _:  # pragma: no cover
            assert_never(observation)


def _may_have_written(observation: Observation) -> bool:
    """Whether the answer to a command that does not save says that a write may have left."""
    match observation:
        case Fault(kind=kind):
            return kind is FaultKind.EARLY_WRITE_SENT
        case SaveObserved(delivery=delivery):
            return delivery is not Delivery.NOT_SENT
        case _:
            return False


def _answered(state: Entering, instruction: Instruction, observation: Observation) -> tuple[State, Command]:
    """Compare the answer with what the instruction takes."""
    match instruction, observation:
        case Act(), Done():
            return _next(state)
        case Echo(), Texts(values=(seen,)):
            good = same(instruction.rule, instruction.expected, seen, instruction.form)
            return _next(state) if good else _halted(state.bundle, PauseCategory.POSTCONDITION)
        case Identify(), Texts(values=seen) if len(seen) == len(instruction.expected):
            good = all(map(same, instruction.rules, instruction.expected, seen, instruction.forms))
            return _next(state) if good else _halted(state.bundle, PauseCategory.IDENTITY)
        case TakeGuards() | TakeBaseline(), Records() | RecordsUnavailable():
            return _read_before_saving(state, instruction, observation)
        case _:
            return _stopped(state.bundle, TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED, NoPause())


def _read_before_saving(
    state: Entering, instruction: TakeGuards | TakeBaseline, observation: Records | RecordsUnavailable
) -> tuple[State, Command]:
    """Keep what was read. Records that cannot be read, or told apart, cannot be compared after the save either."""
    if isinstance(observation, RecordsUnavailable) or not keys_are_unique(observation):
        return _halted(state.bundle, PauseCategory.EFFECT_UNVERIFIABLE)
    if isinstance(instruction, TakeGuards):
        return _next(evolve(state, guarded=observation))
    if not guards_hold(state.bundle.guards, state.guarded, observation):
        return _halted(state.bundle, PauseCategory.UNMET_GUARD)
    found = hindrance(state.bundle, state.inputs, observation)
    return _next(evolve(state, baseline=observation)) if found is None else _halted(state.bundle, found)


def _next(state: Entering) -> tuple[State, Command]:
    at = state.at + 1
    moved = Entering(state.bundle, state.inputs, state.plan, at, state.guarded, state.baseline)
    return moved, moved.plan[at].command


def _faulted(state: Entering, instruction: Instruction, kind: FaultKind) -> tuple[State, Command]:
    if kind in _PLATFORM:
        return _stopped(state.bundle, TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED, NoPause())
    if kind is FaultKind.TARGET_NOT_UNIQUE and _selects_record(instruction):
        return _halted(state.bundle, PauseCategory.DISAMBIGUATION)
    return _halted(state.bundle, _PAUSES[kind])


def _selects_record(instruction: Instruction) -> bool:
    """Whether two matches of this instruction's target are two candidates for the record."""
    match instruction:
        case Identify() | Act(command=Click()):
            return True
        case Act(command=CheckPage(gate=gate)):
            return gate.landmark.row is not None
        case Act(command=Fill(row=row) | Choose(row=row) | Check(row=row)) | Echo(command=ReadValue(row=row)):
            return row is not None
        case _:
            return False


def _halted(bundle: Bundle, category: PauseCategory) -> tuple[State, Command]:
    return _stopped(bundle, TransactionOutcome.HALTED_BEFORE_EFFECT, ExecutionOutcome.HALTED, OpenPause(category))


def _stopped(
    bundle: Bundle, transaction: TransactionOutcome, execution: ExecutionOutcome, pause: Pause
) -> tuple[State, Command]:
    """End with proof that nothing was written: the fence is closed until the save, or measured that nothing left."""
    minimum = bundle.read_back.minimum
    return _end(
        Report(
            transaction,
            execution,
            success=False,
            delivery=Delivery.NOT_SENT,
            check=CheckLevel.UNCHECKED,
            minimum=minimum,
        ),
        pause,
    )


def _delivered(state: Entering, observation: Observation) -> tuple[State, Command]:
    """Judge what the save did. An answer that is no verdict of the fence leaves all in doubt."""
    if not isinstance(observation, SaveObserved) or state.baseline is None:
        return _doubtful(state.bundle, Delivery.UNKNOWN, PauseCategory.DELIVERY_UNCERTAIN)
    if observation.delivery is Delivery.NOT_SENT:
        return _unsent(state, observation)
    if observation.boundary is not BoundaryAnswer.GRANTED:
        # Something left that was not allowed to: what the records show would not be the work of this run.
        return _doubtful(state.bundle, Delivery.UNKNOWN, PauseCategory.DELIVERY_UNCERTAIN)
    if observation.unexpected_dialog:
        return _doubtful(state.bundle, observation.delivery, PauseCategory.EFFECT_INDETERMINATE)
    checking = Checking(state.bundle, state.inputs, state.baseline, observation.delivery, observation.refused)
    return checking, _read_again(checking)


def _unsent(state: Entering, observation: SaveObserved) -> tuple[State, Command]:
    """End a run whose save is proven not to have left: by whom it was held back decides.

    A write that reached the boundary was wanted by the page and kept from leaving by us, or by a connection that could
    not be made: a later attempt may succeed. A dialog of such a page is its answer to that.
    """
    match observation.boundary:
        case BoundaryAnswer.STOP_WANTED:
            return _stopped(state.bundle, TransactionOutcome.CANCELED, ExecutionOutcome.HALTED, NoPause())
        case BoundaryAnswer.REFUSED | BoundaryAnswer.GRANTED:
            return _stopped(state.bundle, TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED, NoPause())
        case BoundaryAnswer.NOT_ASKED:
            return _halted(
                state.bundle, PauseCategory.HALT if observation.unexpected_dialog else PauseCategory.POSTCONDITION
            )
        case _:  # pragma: no cover
            assert_never(observation.boundary)


def _checking(state: Checking, observation: Observation) -> tuple[State, Command]:
    match observation:
        case Done() if state.waiting:
            return evolve(state, waiting=False), _read_again(state)
        case Canceled() | OutOfTime():
            # Too late to stop: the command counts as performed, the poll as unanswered.
            return (evolve(state, waiting=False), _read_again(state)) if state.waiting else _unanswered(state)
        case Records() if not state.waiting:
            return _polled(evolve(state, read=True), observation)
        case RecordsUnavailable() if not state.waiting:
            return _unanswered(state)
        case _:
            return _unproven(state, PauseCategory.EFFECT_UNVERIFIABLE)


def _read_again(state: Checking) -> ReadRecords:
    old = frozenset(record.key for record in state.baseline.records)
    return ReadRecords(source_at(state.bundle.read_back.source, state.inputs), old)


def _polled(state: Checking, records: Records) -> tuple[State, Command]:
    found = judge(state.bundle, state.inputs, state.baseline, records, last=_is_last(state))
    match found:
        case Proven() if state.refused:
            # The record is there, and the app said that it did not take ours: somebody else may have saved the same.
            return _unproven(state, PauseCategory.EFFECT_INDETERMINATE)
        case Proven():
            report = _report(state, TransactionOutcome.VERIFIED, ExecutionOutcome.VERIFIED)
            return _end(report, NoPause())
        case NotYet():
            return _wait(state)
        case Absent():
            return _unproven(state, PauseCategory.EFFECT_INDETERMINATE)
        case Unread():
            return _unproven(state, PauseCategory.EFFECT_UNVERIFIABLE)
        case Refuted():
            return _unproven(state, PauseCategory.EFFECT_REFUTED)
        case _:  # pragma: no cover
            assert_never(found)


def _unanswered(state: Checking) -> tuple[State, Command]:
    return _unproven(state, PauseCategory.EFFECT_UNVERIFIABLE) if _is_last(state) else _wait(state)


def _is_last(state: Checking) -> bool:
    return state.waited_ms >= state.bundle.read_back.deadline_ms


def _wait(state: Checking) -> tuple[State, Command]:
    read_back = state.bundle.read_back
    pause_ms = min(read_back.interval_ms, read_back.deadline_ms - state.waited_ms)
    return evolve(state, waited_ms=state.waited_ms + pause_ms, waiting=True), Wait(pause_ms)


def _unproven(state: Checking, category: PauseCategory) -> tuple[State, Command]:
    report = _report(state, TransactionOutcome.RECONCILIATION_REQUIRED, ExecutionOutcome.COMPLETED_UNVERIFIED)
    return _end(report, OpenPause(category))


def _report(state: Checking, transaction: TransactionOutcome, execution: ExecutionOutcome) -> Report:
    read_back = state.bundle.read_back
    return Report(
        transaction,
        execution,
        success=transaction is TransactionOutcome.VERIFIED,
        delivery=state.delivery,
        check=read_back.level if state.read else CheckLevel.UNCHECKED,
        minimum=read_back.minimum,
    )


def _doubtful(bundle: Bundle, delivery: Delivery, category: PauseCategory) -> tuple[State, Command]:
    """End in doubt without a read-back."""
    report = Report(
        TransactionOutcome.RECONCILIATION_REQUIRED,
        ExecutionOutcome.HALTED,
        success=False,
        delivery=delivery,
        check=CheckLevel.UNCHECKED,
        minimum=bundle.read_back.minimum,
    )
    return _end(report, OpenPause(category))


def _end(report: Report, pause: Pause) -> tuple[State, Command]:
    finish = Finish(report, pause)
    return Ended(finish), finish
