"""Working towards a goal on a page: look, let a planner decide, act, until it finishes or its steps are over.

Laws of this module:

- Every decision is a step, and there are ``MAX_STEPS`` of them. What does not fit where the work stands means nothing.
- A planner points at nodes that it was shown last and does one of a few closed things; anything else ends the task.
- A write that was tried ends the task, whatever came of it. Whether a record changed is measured, not concluded.
- What a page shows, what is typed and what is found stands in no repr, and no failure holds any of it.
"""

from enum import Enum, unique
from typing import Annotated, Final, Protocol, assert_never

from attrs import evolve, field, frozen
from returns.result import Failure

from surehand.core.orchestration.task import Task, TaskStatus
from surehand.core.orchestration.text import Binding, Bindings, Name, bound, by_name
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.schema import Items, Text, is_unicode
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.commands import Done, Fault, FaultKind, Texts
from surehand.core.workflow.target import Path

#: The most decisions of one task.
MAX_STEPS: Final = 20

#: The most nodes of a page that a planner is shown.
MAX_NODES: Final = 400

#: The longest text that is typed or read.
MAX_TEXT: Final = 20_000

NodeId = Annotated[str, Text(pattern="^n[0-9]{1,3}$")]


# What is seen.


@frozen
class Node:
    """One element of a page: its role, its name, and what it holds or shows, where the planner may see that.

    ``is_listed`` says that it stands in a table, a list or a tree, and not in what the app is moved about by.
    """

    id: NodeId
    role: Annotated[str, Text(pattern="^[a-z]{1,30}$")]
    name: Annotated[str, Text(max_length=200)] = field(repr=False)
    value: Annotated[str, Text(max_length=MAX_TEXT)] | None = field(default=None, repr=False)
    is_listed: bool = False


@frozen
class Observation:
    """A page as it is now; ``is_whole`` says whether all of its nodes are told."""

    nodes: Annotated[tuple[Node, ...], Items(max_items=MAX_NODES)]
    is_whole: bool = True


# What a planner can decide.


@frozen
class OpenPath:
    """Open a path of the app."""

    path: Path = field(repr=False)


@frozen
class ClickNode:
    """Click a node."""

    node: NodeId


@frozen
class TypeText:
    """Replace what a field holds."""

    node: NodeId
    text: Annotated[str, Text(max_length=MAX_TEXT)] = field(repr=False)


@frozen
class ChooseOption:
    """Choose the option with exactly this label."""

    node: NodeId
    label: Annotated[str, Text(min_length=1, max_length=500)] = field(repr=False)


@frozen
class ReadNode:
    """Keep what a node holds or shows as an output of the task."""

    node: NodeId
    output: Name


@frozen
class FinishGoal:
    """The goal is reached."""


@frozen
class GiveUp:
    """The goal cannot be reached."""


PageAction = OpenPath | ClickNode | TypeText | ChooseOption | ReadNode
GoalAction = PageAction | FinishGoal | GiveUp


@frozen
class Decision:
    """What a planner decided, in the form in which it crosses a boundary."""

    action: GoalAction


@frozen
class Taken:
    """A step that was taken: what was done, and why that was not possible, if it was not."""

    action: PageAction
    fault: FaultKind | None = None


History = tuple[Taken, ...]


@unique
class NoAnswer(Enum):
    """Why a planner decides nothing."""

    NO_MODEL = "no_model"
    DECLINED = "model_declined"
    SILENT = "model_silent"
    NOT_UNDERSTOOD = "not_understood"


class Planner(Protocol):
    """Decides what to do next."""

    def decide(self, task: Task, observation: Observation, history: History) -> GoalAction | NoAnswer:
        """The next action towards the goal of the task. What it raises ends the task."""
        ...


def understood(data: object) -> GoalAction | None:
    """The decision that parsed JSON stands for; ``None`` when it is none."""
    read = from_wire(data, Decision)
    return None if isinstance(read, Failure) else read.unwrap().action


# The machine.


@unique
class GoalFailure(Enum):
    """Why a task failed; a closed vocabulary."""

    OUT_OF_STEPS = "out_of_steps"
    GAVE_UP = "gave_up"
    PAGE_UNREACHABLE = "page_unreachable"
    NOT_UNDERSTOOD = "not_understood"
    NO_MODEL = "no_model"
    MODEL_DECLINED = "model_declined"
    MODEL_SILENT = "model_silent"
    WRITE_STOPPED = "write_stopped"


@frozen
class Look:
    """Say what the page shows. Answer: ``Seen`` or ``Unseen``."""


@frozen
class Decide:
    """Ask the planner. Answer: ``Decided`` or ``Undecided``."""

    task: Task
    observation: Observation = field(repr=False)
    history: History = field(repr=False)


@frozen
class Act:
    """Perform an action on the page. Answer: ``Acted``."""

    action: PageAction


@frozen
class End:
    """The work is over; nothing follows."""

    failure: GoalFailure | None = None


Command = Look | Decide | Act | End


@frozen
class Seen:
    """What the page shows."""

    observation: Observation = field(repr=False)


@frozen
class Unseen:
    """The page does not say what it shows."""


@frozen
class Decided:
    """What the planner answered, whatever that is."""

    answer: object = field(repr=False)


@frozen
class Undecided:
    """The planner gave no answer."""


@frozen
class Acted:
    """What came of an action, in the words of the engine; ``Texts`` is the answer to a read."""

    answer: Done | Texts | Fault


Event = Seen | Unseen | Decided | Undecided | Acted


@frozen(kw_only=True)
class Work:
    """How far the work on a task is, and what it asks for.

    Args:
        task: What is to be reached.
        command: What is asked for now.
        history: The steps that were taken.
        shown: What the planner was shown last; ``None`` until the first page is there.
        outputs: What was read.
    """

    task: Task
    command: Command
    history: History = ()
    shown: Observation | None = field(default=None, repr=False)
    outputs: Bindings = field(default=(), repr=False)


def begin(task: Task, path: Path) -> Work:
    """The work on a task at its beginning: it opens the first page, which is no step."""
    return Work(task=task, command=Act(OpenPath(path)))


def advance(work: Work, event: Event) -> Work:
    """What becomes of the work by an event."""
    match event:
        case Seen(observation):
            return _seen(work, observation) if isinstance(work.command, Look) else work
        case Unseen():
            return _ended(work, GoalFailure.PAGE_UNREACHABLE) if isinstance(work.command, Look) else work
        case Decided(answer):
            return _decided(work, answer) if isinstance(work.command, Decide) else work
        case Undecided():
            return _ended(work, GoalFailure.NOT_UNDERSTOOD) if isinstance(work.command, Decide) else work
        case Acted(answer):
            return _acted(work, work.command.action, answer) if isinstance(work.command, Act) else work
        case _:  # pragma: no cover
            assert_never(event)


def _ended(work: Work, failure: GoalFailure | None) -> Work:
    return evolve(work, command=End(failure))


def _seen(work: Work, observation: Observation) -> Work:
    return evolve(work, shown=observation, command=Decide(work.task, observation, work.history))


def _decided(work: Work, answer: object) -> Work:
    if isinstance(answer, NoAnswer):
        return _ended(work, GoalFailure(answer.value))
    action = _checked(answer)
    match action:
        case None:
            return _ended(work, GoalFailure.NOT_UNDERSTOOD)
        case FinishGoal():
            return _ended(work, None)
        case GiveUp():
            return _ended(work, GoalFailure.GAVE_UP)
        case OpenPath():
            return evolve(work, command=Act(action))
        case ClickNode(node) | TypeText(node) | ChooseOption(node) | ReadNode(node):
            shown = () if work.shown is None else work.shown.nodes
            is_shown = any(each.id == node for each in shown)
            return evolve(work, command=Act(action)) if is_shown else _taken(work, action, FaultKind.TARGET_MISSING)
        case _:  # pragma: no cover
            assert_never(action)


def _checked(answer: object) -> GoalAction | None:
    """What a planner answered, if it is an action within its limits."""
    return understood(to_wire(Decision(answer))) if isinstance(answer, GoalAction) else None


#: What ends a task, by what the engine says of an action.
_ENDS: Final = {
    FaultKind.EARLY_WRITE_STOPPED: GoalFailure.WRITE_STOPPED,
    FaultKind.EARLY_WRITE_SENT: GoalFailure.WRITE_STOPPED,
    FaultKind.APP_UNREACHABLE: GoalFailure.PAGE_UNREACHABLE,
    FaultKind.ENGINE_BROKEN: GoalFailure.PAGE_UNREACHABLE,
    FaultKind.UNEXPECTED_DIALOG: GoalFailure.PAGE_UNREACHABLE,
}


def _acted(work: Work, action: PageAction, answer: Done | Texts | Fault) -> Work:
    fault = _fault(action, answer)
    if fault in _ENDS:
        return _ended(work, _ENDS[fault])
    if work.shown is None:
        return evolve(work, command=Look()) if fault is None else _ended(work, GoalFailure.PAGE_UNREACHABLE)
    if isinstance(action, ReadNode) and isinstance(answer, Texts) and fault is None:
        work = evolve(work, outputs=bound(by_name((*work.outputs, Binding(action.output, answer.values[0])))))
    return _taken(work, action, fault)


def _fault(action: PageAction, answer: Done | Texts | Fault) -> FaultKind | None:
    """Why an action did nothing; so did a read that gave no one text that can be kept."""
    match answer:
        case Fault(kind):
            return kind
        case Texts((text,)) if len(text) <= MAX_TEXT and is_unicode(text):
            return None
        case Done() | Texts():
            return FaultKind.PAGE_UNEXPECTED if isinstance(action, ReadNode) else None
        case _:  # pragma: no cover
            assert_never(answer)


def _taken(work: Work, action: PageAction, fault: FaultKind | None) -> Work:
    """A step more; after the last one nothing is looked at any more."""
    history = (*work.history, Taken(action, fault))
    command = Look() if len(history) < MAX_STEPS else End(GoalFailure.OUT_OF_STEPS)
    return evolve(work, history=history, command=command)


# The end.


@frozen(kw_only=True)
class Measured:
    """What the fence says of a task: whether a record changed, and whether a write was tried and stopped."""

    record_changed: RecordChanged
    write_stopped: bool = False


def concluded(work: Work, measured: Measured) -> Task:
    """The task as it ended; work that was broken off did not reach a page to its end."""
    failure = work.command.failure if isinstance(work.command, End) else GoalFailure.PAGE_UNREACHABLE
    if measured.write_stopped:
        failure = GoalFailure.WRITE_STOPPED
    return evolve(
        work.task,
        status=TaskStatus.SUCCEEDED if failure is None else TaskStatus.FAILED,
        failure_reason=None if failure is None else failure.value,
        record_changed=measured.record_changed,
        outputs=work.outputs if failure is None else (),
    )
