"""What an agent sees and hears while it shows a task: a projection of the page, and closed answers.

Laws of this module:

- Of a page it tells roles and states: no name, value, title, address or place. What a page says cannot get through,
  since there is no field for it.
- An id of a node says nothing, and is never given twice in one session.
- An observation has at most 200 nodes and 32 KiB, whatever the page holds; what can be acted on comes first.
- Every sentence of an answer is fixed copy keyed by a closed code. ``done`` is no answer here: showing proves nothing.
"""

import json
from collections.abc import Iterator, Mapping
from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import field, frozen

from surehand.core.modes import ToolName
from surehand.core.outcome.result import FailedCheck
from surehand.core.privacy import looks_like_identifier
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.compile import CompileRefusal, Draft, Question, RefusalCode
from surehand.core.workflow.compiler.questions import AnswerCode, AnswerProblem
from surehand.core.workflow.compiler.wording import evidence_text, option_text, question_text
from surehand.core.workflow.params import text_problem
from surehand.core.workflow.recording import Arrived, Control, DialogSeen, Happened, Opened, Recording
from surehand.core.workflow.target import Identifier

# What is observed

MOST_NODES: Final = 200
MOST_BYTES: Final = 32 * 1024

_ID_SPACE: Final = 1 << 32
#: Odd, so that multiplying by it gives every number of the space once.
_STRIDE: Final = 0x9E3779B1


@unique
class Role(Enum):
    """What a node is, in the words of ARIA; what is none of these is not shown."""

    ALERT = "alert"
    ALERTDIALOG = "alertdialog"
    BUTTON = "button"
    CHECKBOX = "checkbox"
    COMBOBOX = "combobox"
    DIALOG = "dialog"
    FORM = "form"
    GRID = "grid"
    GROUP = "group"
    HEADING = "heading"
    LINK = "link"
    LISTBOX = "listbox"
    MAIN = "main"
    MENU = "menu"
    MENUITEM = "menuitem"
    MENUITEMCHECKBOX = "menuitemcheckbox"
    MENUITEMRADIO = "menuitemradio"
    NAVIGATION = "navigation"
    OPTION = "option"
    RADIO = "radio"
    RADIOGROUP = "radiogroup"
    ROW = "row"
    SEARCHBOX = "searchbox"
    SLIDER = "slider"
    SPINBUTTON = "spinbutton"
    SWITCH = "switch"
    TAB = "tab"
    TABLE = "table"
    TABLIST = "tablist"
    TEXTBOX = "textbox"
    TREEITEM = "treeitem"


#: What holds other nodes and is itself not acted on: the first to be left out.
_HOLDING: Final = frozenset(
    {
        Role.FORM,
        Role.GRID,
        Role.GROUP,
        Role.HEADING,
        Role.MAIN,
        Role.MENU,
        Role.NAVIGATION,
        Role.RADIOGROUP,
        Role.ROW,
        Role.TABLE,
        Role.TABLIST,
    }
)


@unique
class State(Enum):
    """What is true of a node; what it holds is no state."""

    DISABLED = "disabled"
    FOCUSED = "focused"
    REQUIRED = "required"
    EXPANDED = "expanded"
    SUBMITS = "submits"


Index = Annotated[int, Number(minimum=0, maximum=100_000)]
Pixels = Annotated[int, Number(minimum=-100_000, maximum=100_000)]
NodeId = Annotated[str, Text(pattern="^n_[0-9a-f]{8}$")]


@frozen(kw_only=True)
class SeenNode:
    """One node as the page's script tells it, in the order of the page: its parent by number, its place in pixels."""

    role: Role
    parent: Index | None = None
    control: Control | None = None
    states: Annotated[tuple[State, ...], Items(max_items=5)]
    left: Pixels
    top: Pixels
    width: Pixels
    height: Pixels


@frozen
class SeenPage:
    """All nodes that the script tells."""

    nodes: Annotated[tuple[SeenNode, ...], Items(max_items=20_000)]


@frozen(kw_only=True)
class Node:
    """One node as an agent sees it. ``parent`` is the nearest node around it that is shown."""

    id: NodeId
    role: Role
    parent: NodeId | None = None
    control: Control | None = None
    states: Annotated[tuple[State, ...], Items(max_items=5)] | None = None


@frozen(kw_only=True)
class Observation:
    """The page as an agent sees it. ``left_out`` is how many nodes there was no room for."""

    schema: Literal["openadapt.authoring.observe/v1"] = "openadapt.authoring.observe/v1"
    nodes: Annotated[tuple[Node, ...], Items(max_items=MOST_NODES)]
    left_out: Annotated[int, Number(minimum=0)]


@frozen
class Projection:
    """An observation, which of the page's nodes each of its ids is, and the number that the next one begins with."""

    observation: Observation
    numbers: Mapping[str, int]
    following: int


def node_id(start: int, number: int) -> str:
    """The id of the node with this number in a session that started with this secret.

    Args:
        start: A random number below 2 to the 32, which lets no id be guessed from another session.
        number: How many ids the session gave before; below 2 to the 32 all ids differ.
    """
    return f"n_{(start + number * _STRIDE) % _ID_SPACE:08x}"


def project(seen: SeenPage, start: int, given: int) -> Projection:
    """What an agent is told of a page.

    Args:
        seen: The page.
        start: As for ``node_id``.
        given: How many ids the session gave before.
    """
    chosen = _chosen(seen.nodes)
    while True:
        ids = {number: node_id(start, given + at) for at, number in enumerate(chosen)}
        nodes = tuple(_node(seen.nodes, number, ids) for number in chosen)
        observation = Observation(nodes=nodes, left_out=len(seen.nodes) - len(nodes))
        if _size(observation) <= MOST_BYTES:
            return Projection(observation, {name: number for number, name in ids.items()}, given + len(chosen))
        chosen = chosen[:-1]


def _chosen(nodes: tuple[SeenNode, ...]) -> list[int]:
    """The numbers of the nodes that are told, in the order of the page."""
    wanted = sorted(range(len(nodes)), key=lambda number: _rank(nodes[number]))
    return sorted(wanted[:MOST_NODES])


def _rank(node: SeenNode) -> int:
    if node.role in _HOLDING:
        return 2
    return int(node.role is Role.LINK)


def _node(nodes: tuple[SeenNode, ...], number: int, ids: Mapping[int, str]) -> Node:
    node = nodes[number]
    around = next((ids[at] for at in _around(nodes, number) if at in ids), None)
    return Node(id=ids[number], role=node.role, parent=around, control=node.control, states=node.states or None)


def _around(nodes: tuple[SeenNode, ...], number: int) -> Iterator[int]:
    """The nodes around one, the nearest first; a parent comes before its children, so that this ends."""
    parent = nodes[number].parent
    while parent is not None and parent < number:
        yield parent
        number, parent = parent, nodes[parent].parent


def _size(observation: Observation) -> int:
    """Its bytes in an answer, where it stands as an object and as a text."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    text = json.dumps(to_wire(observation), separators=(",", ":"))
    return len(text) + len(json.dumps(text))


# What is answered


@unique
class Target(Enum):
    """What can be shown; only a browser is served."""

    BROWSER = "browser"
    LINUX = "linux"
    MACOS = "macos"
    WINDOWS = "windows"
    RDP = "rdp"
    CITRIX = "citrix"


@unique
class Status(Enum):
    """How a tool answers."""

    RECORDING = "recording"
    ACTED = "acted"
    PAUSED = "paused"
    INPUT_RECORDED = "input_recorded"
    STOPPED = "stopped"
    HALTED = "halted"
    NEEDS_HUMAN_ADMIT = "needs_human_admit"
    ADMITTED = "admitted"
    HINT = "hint"
    BOUND = "bound"
    NOT_BOUND = "not_bound"
    REFUSED = "refused"


@unique
class Problem(Enum):
    """Why a tool refuses."""

    NOTHING_PINNED = "nothing_pinned"
    TARGET_NOT_SERVED = "target_not_served"
    ALREADY_RECORDING = "already_recording"
    NOT_RECORDING = "not_recording"
    PAUSED_FOR_PERSON = "paused_for_person"
    NOT_PAUSED = "not_paused"
    NODE_UNKNOWN = "node_unknown"
    NODE_OR_PLACE = "node_or_place"
    NOT_ACTED = "not_acted"
    NOT_A_FIELD = "not_a_field"
    SECRET_FIELD = "secret_field"  # noqa: S105 - a code, no secret
    TEXT_REFUSED = "text_refused"
    NO_SCREEN = "no_screen"
    BROWSER_MISSING = "browser_missing"
    APP_UNREACHABLE = "app_unreachable"
    WINDOW_GONE = "window_gone"
    RECORDING_FAILED = "recording_failed"
    CANNOT_KEEP = "cannot_keep"
    NOTHING_RECORDED = "nothing_recorded"
    RECORDING_REFUSED = "recording_refused"
    NOTHING_COMPILED = "nothing_compiled"
    NOT_ANSWERED = "not_answered"
    ANSWERS_REFUSED = "answers_refused"
    NOT_CONFIRMED = "not_confirmed"
    NOT_IN_ORDER = "not_in_order"
    HINT_REFUSED = "hint_refused"
    COMMAND_UNKNOWN = "command_unknown"


@frozen
class Words:
    """Fixed copy."""

    what_happened: str
    next_action: str


_START: Final = "Call start_record."
_LOOK: Final = "Call observe, and use an id of its answer."

#: What is said with each status but a refusal.
SAID: Final[Mapping[Status, Words]] = {
    Status.RECORDING: Words(
        "The app is open in a window on this computer, and every step is recorded.",
        "Show the task once with invented values: observe, click, type. Have a person enter what is secret or real.",
    ),
    Status.ACTED: Words("The page took the action. It proves nothing about what was saved.", "Call observe."),
    Status.PAUSED: Words(
        "The recording waits for the person at the computer.",
        "Ask the person to type into the app, and call continue_input when the person says that it is entered.",
    ),
    Status.INPUT_RECORDED: Words("What the person entered is recorded as the person's.", "Go on: call observe."),
    Status.STOPPED: Words(
        "The recording is complete and kept encrypted on this computer.",
        "Call compile, or start_record to show the task once more with other values.",
    ),
    Status.HALTED: Words("The session is over. Its window is closed and nothing of it is kept.", _START),
    Status.NEEDS_HUMAN_ADMIT: Words(
        "There is a draft that nobody has confirmed. It cannot run.",
        "Call admit: a person answers what the recording cannot say, and then admits the workflow.",
    ),
    Status.ADMITTED: Words(
        "A person admitted this version of the workflow on this computer.",
        "A server that was started for runs can run it from its next start.",
    ),
    Status.HINT: Words("The hint is kept in this process.", "Go on."),
    Status.BOUND: Words("This server is on the computer of the app; there is no mailbox.", "Go on."),
    Status.NOT_BOUND: Words(
        "This server is on the computer, and was not told which app to open.",
        "Ask the operator to start it with --authoring --url and the address of the app.",
    ),
}

#: What is said with each problem.
REFUSED: Final[Mapping[Problem, Words]] = {
    Problem.NOTHING_PINNED: SAID[Status.NOT_BOUND],
    Problem.TARGET_NOT_SERVED: Words(
        "Only web apps in a browser can be shown. The flow engine will bring windows of macOS, Linux and Windows, "
        "and of RDP and Citrix.",
        "Show the task in the app's web interface, if it has one.",
    ),
    Problem.ALREADY_RECORDING: Words("A recording is going on.", "Go on with it, or call stop_record or halt."),
    Problem.NOT_RECORDING: Words("No recording is going on.", _START),
    Problem.PAUSED_FOR_PERSON: Words(
        "The recording waits for the person; nothing was looked at or done.",
        "Call continue_input when the person says that it is entered.",
    ),
    Problem.NOT_PAUSED: Words("The recording does not wait for a person.", "Call pause_for_input first."),
    Problem.NODE_UNKNOWN: Words("This id is of no node of the last observation.", _LOOK),
    Problem.NODE_OR_PLACE: Words("Nothing was done: name a node, or both x and y, and not both.", _LOOK),
    Problem.NOT_ACTED: Words(
        "The page may not have taken it: the element is gone, covered or disabled, has no such option, or a dialog "
        "waits for the person.",
        "Ask the person to look, and call observe before anything else.",
    ),
    Problem.NOT_A_FIELD: Words("Nothing was typed: this node is no field.", _LOOK),
    Problem.SECRET_FIELD: Words(
        "Nothing was typed: this field is secret.", "Call pause_for_input with secret, and ask the person to enter it."
    ),
    Problem.TEXT_REFUSED: Words(
        "Nothing was typed: the text has a line break or a control character that this field does not take.",
        "Call type with one plain line.",
    ),
    Problem.NO_SCREEN: Words("There is no screen here for a person to watch.", "Use a computer with a desktop."),
    Problem.BROWSER_MISSING: Words(
        "No Chromium, Chrome or Edge starts on this computer, or Playwright is missing.",
        "Ask the operator to run surehand doctor.",
    ),
    Problem.APP_UNREACHABLE: Words("The app's address does not open.", "Ask the operator whether the app runs."),
    Problem.WINDOW_GONE: Words("The window does not answer any more.", "Call halt, then start_record."),
    Problem.RECORDING_FAILED: Words(
        "Something was done that could not be recorded, so the recording was not kept.", "Show the task once more."
    ),
    Problem.CANNOT_KEEP: Words(
        "It cannot be kept on this computer: a folder, a key or an account is not in order.",
        "Ask the operator to run surehand doctor.",
    ),
    Problem.NOTHING_RECORDED: Words("There is no complete recording in this session.", _START),
    Problem.RECORDING_REFUSED: Words(
        "No workflow can be made of what was shown; refusals say which step, and why.",
        "Show the task once more, as the refusals say.",
    ),
    Problem.NOTHING_COMPILED: Words("There is no draft.", "Call compile after stop_record."),
    Problem.NOT_ANSWERED: Words(
        "The person did not answer. The draft stays as it is.", "Ask the person, then call admit again."
    ),
    Problem.ANSWERS_REFUSED: Words(
        "With these answers no workflow can be made; answer_problems names the questions.",
        "Ask the person, then call admit again.",
    ),
    Problem.NOT_CONFIRMED: Words(
        "The person did not admit the workflow. It cannot run.", "Ask the person, then call admit again."
    ),
    Problem.NOT_IN_ORDER: Words(
        "The workflow does not satisfy the policy of this computer; failed_checks names what.",
        "Ask the operator. surehand certify explains each check.",
    ),
    Problem.HINT_REFUSED: Words(
        "The hint is not kept: it has a control character, or looks like a number, date or address of a person.",
        "Say it without.",
    ),
    Problem.COMMAND_UNKNOWN: Words("Only the last command is known here, and this is not its id.", "Go on."),
}

Sentence = Annotated[str, Text(min_length=1, max_length=300)]
CommandId = Annotated[str, Text(pattern="^cmd_[0-9]{1,9}$")]
Count = Annotated[int, Number(minimum=0)]
Hint = Annotated[str, Text(max_length=80)]

LONGEST_HINT: Final = 80

#: Refusals and problems that one answer names.
_MOST_NAMED: Final = 50


@frozen(kw_only=True)
class Shown:
    """How much a recording holds, and at how many places the saved record was seen."""

    steps: Count
    writes: Count
    read_back_candidates: Count


@frozen(kw_only=True)
class Drafted:
    """How much a draft holds, and how many questions a person has to answer."""

    recordings: Count
    steps: Count
    questions: Count


@frozen(kw_only=True)
class StepRefusal:
    """Why no workflow can be made, with the recording and its event, both counted from 1."""

    code: RefusalCode
    recording: Count
    event: Count | None = None
    sentence: Sentence


@frozen(kw_only=True)
class AnswerRefusal:
    """A question whose answer does not do; ``bundle`` stands for all answers together."""

    question: Annotated[str, Text(max_length=80)]
    problem: AnswerCode


@frozen(kw_only=True)
class Details:
    """What an answer says beside its status.

    Args:
        shown: How much the recording holds.
        drafted: How much the draft holds.
        refusals: Why no workflow can be made.
        answer_problems: Which answers of the person do not do.
        failed_checks: What is not in order for an admission.
        workflow: The name of the workflow that was made.
        hint: The hint that is kept.
    """

    shown: Shown | None = None
    drafted: Drafted | None = None
    refusals: Annotated[tuple[StepRefusal, ...], Items(max_items=_MOST_NAMED)] | None = None
    answer_problems: Annotated[tuple[AnswerRefusal, ...], Items(max_items=_MOST_NAMED)] | None = None
    failed_checks: Annotated[tuple[FailedCheck, ...], Items(max_items=20)] | None = None
    workflow: Identifier | None = None
    hint: Hint | None = None


@unique
class Phase(Enum):
    """Where the session stands after a command."""

    IDLE = "idle"
    RECORDING = "recording"
    PAUSED = "paused"


@frozen(kw_only=True)
class Answer:
    """What a recording tool answers."""

    contract: Literal["surehand.authoring/v1"] = "surehand.authoring/v1"
    command_id: CommandId
    tool: ToolName
    status: Status
    problem: Problem | None = None
    what_happened: Sentence
    next_action: Sentence
    session: Phase
    details: Details | None = None


def answer(
    number: int, tool: ToolName, said: Status | Problem, session: Phase, details: Details | None = None
) -> Answer:
    """The answer of a tool.

    Args:
        number: The number of the command in its session.
        tool: The tool.
        said: How it ended.
        session: Where the session stands now.
        details: What it says beside that.
    """
    words = REFUSED[said] if isinstance(said, Problem) else SAID[said]
    return Answer(
        command_id=f"cmd_{number}",
        tool=tool,
        status=Status.REFUSED if isinstance(said, Problem) else said,
        problem=said if isinstance(said, Problem) else None,
        what_happened=words.what_happened,
        next_action=words.next_action,
        session=session,
        details=details,
    )


def is_fit_hint(text: str) -> bool:
    """Whether a hint can be kept: one line that looks like no identifier of a person."""
    return len(text) <= LONGEST_HINT and not text_problem(text) and not looks_like_identifier(text)


_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def shown_of(recording: Recording) -> Shown:
    """How much a recording holds."""
    writes = [each for each in recording.exchanges if each.method not in _READS]
    saved = writes[-1].after if writes else len(recording.events)
    seen = [page.place for page in recording.pages if page.after > saved and page.showings]
    pages = {(place.path, place.query, place.fragment) for place in seen}
    answers = {(each.place.path, each.items) for each in recording.answers if each.fresh}
    return Shown(
        steps=sum(not isinstance(event.action, Opened | Arrived | DialogSeen | Happened) for event in recording.events),
        writes=len(writes),
        read_back_candidates=len(pages) + len(answers),
    )


def drafted_of(draft: Draft) -> Drafted:
    """How much a draft holds."""
    plan = draft.plan
    return Drafted(recordings=plan.recordings, steps=len(plan.steps) + 1, questions=len(draft.questions))


def refusals_of(refused: tuple[CompileRefusal, ...]) -> tuple[StepRefusal, ...]:
    """Why no workflow can be made, as an agent is told."""
    return tuple(
        StepRefusal(
            code=each.code,
            recording=each.recording + 1,
            event=None if each.step is None else each.step + 1,
            sentence=each.sentence,
        )
        for each in refused[:_MOST_NAMED]
    )


def answer_refusals(problems: tuple[AnswerProblem, ...]) -> tuple[AnswerRefusal, ...]:
    """Which answers do not do, as an agent is told."""
    return tuple(AnswerRefusal(question=each.id[:80], problem=each.code) for each in problems[:_MOST_NAMED])


# What a person is asked


@frozen
class QuestionForm:
    """What a client shows a person: a text, and the schema of the answers."""

    message: str
    schema: Mapping[str, object] = field(repr=False)


def question_form(draft: Draft) -> QuestionForm:
    """The questions of a draft as one flat form, in which nothing is chosen beforehand.

    A question that is asked only after certain answers to another one need not be answered.
    """
    members = {question.id: _member(question) for question in draft.questions}
    needed = [question.id for question in draft.questions if question.when is None]
    return QuestionForm(
        "A recording cannot say everything. Answer these questions about the workflow; it cannot run before.",
        {"type": "object", "properties": members, "required": needed},
    )


def _member(question: Question) -> dict[str, object]:
    found = "; ".join(map(evidence_text, question.evidence))
    when = question.when
    only = "" if when is None else f" Only if {when.question} is {' or '.join(when.options)}."
    shown: dict[str, object] = {
        "type": "string",
        "title": question_text(question),
        "description": f"{found}.{only}" if found else f"[{question.id}]{only}",
    }
    if question.options:
        return {**shown, "enum": [*question.options], "enumNames": [option_text(each) for each in question.options]}
    return {**shown, "maxLength": 63}


def answers_in(draft: Draft, content: Mapping[str, object]) -> dict[str, str]:
    """The answers of a form that was filled in; a question that was left empty has none."""
    given = {question.id: content.get(question.id) for question in draft.questions}
    return {name: each for name, each in given.items() if isinstance(each, str) and each}


def named(draft_name: str, taken: frozenset[str]) -> str:
    """A name for a workflow that none of the others has."""
    if draft_name not in taken:
        return draft_name
    return next(name for at in range(2, 1_000_000) if (name := f"{draft_name[:33]}_{at}") not in taken)
