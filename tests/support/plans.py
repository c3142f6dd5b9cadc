"""Plans, and what their steps work on, as tests set them: an app whose every effect is counted.

Laws of this module:

- The app counts effects by the id of the action that made them, and nothing here keeps a second one away: that nothing
  is done twice has to come from the code under test.
- A crash is an exception that nobody catches as an error: whoever goes through the run is gone, with its locks.
- What a look-up answers is what the crash left: proof of nothing, an end, or doubt.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, unique
from itertools import pairwise
from pathlib import Path
from typing import Final

from attrs import define, field, frozen
from hypothesis import strategies as st

from surehand.core.orchestration.check import pin
from surehand.core.orchestration.condition import STANDARD, ConditionSpec
from surehand.core.orchestration.definition import (
    END,
    BranchStep,
    PinnedDefinition,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    WorkflowDefinition,
    WorkflowStep,
)
from surehand.core.orchestration.events import Doubt, RunSkill
from surehand.core.orchestration.result import StepEnd, StepFailure, in_doubt
from surehand.core.orchestration.run import ToolEnd, WorkflowRun
from surehand.core.orchestration.skill import CompiledSkill, Effects, FlowTemplateSkill, ToolCall, ToolSpec
from surehand.core.orchestration.task import Task, TaskStatus
from surehand.core.orchestration.text import Binding, bound
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.store import Lease, PlanStore, Saved
from surehand.shell.orchestration.tools import Tools

WRITE: Final = CompiledSkill(skill_id="write", parameters=(), digest="a" * 64)

#: A tool that changes something and cannot say afterwards what became of a call; one that can; one that only reads.
POKE: Final = ToolSpec(tool="poke", arguments=(), effects=Effects.WRITES)
TOLD: Final = ToolSpec(tool="told", arguments=(), effects=Effects.WRITES)
PEEK: Final = ToolSpec(tool="peek", arguments=("what",), effects=Effects.READS)

TEMPLATE: Final = FlowTemplateSkill(
    skill_id="template",
    calls=(
        ToolCall(tool="peek", args=bound({"what": "a"})),
        ToolCall(tool="told"),
        ToolCall(tool="poke"),
        ToolCall(tool="peek", args=bound({"what": "b"})),
    ),
)


class CrashError(BaseException):
    """The process is gone."""


@unique
class Fate(Enum):
    """What happens at one moment at which a process may die."""

    LIVES = "lives"
    DIES_BEFORE = "dies_before"
    DIES_AFTER = "dies_after"
    DIES_UNTOLD = "dies_untold"


@unique
class Answer(Enum):
    """How an action ends that is not cut short."""

    DONE = "done"
    DID_NOT_RUN = "did_not_run"
    NOT_SURE = "not_sure"


@define
class App:
    """What the steps work on.

    Args:
        fates: What happens at the next moments; nothing does when none is left.
        answers: How the next actions end; they are done when none is left.
        meanwhile: What somebody else does while the next action is about to make its effect.
    """

    effects: Counter[str] = field(factory=Counter[str])
    fates: list[Fate] = field(factory=list[Fate])
    answers: list[Answer] = field(factory=list[Answer])
    ends: dict[str, Answer | Doubt] = field(factory=dict[str, "Answer | Doubt"])
    meanwhile: list[Callable[[], object]] = field(factory=list["Callable[[], object]"])

    def act(self, name: str) -> Answer:
        """Make an effect, or not, and die, or not."""
        fate = self.fate()
        if fate is Fate.DIES_BEFORE:
            raise CrashError
        if self.meanwhile:
            self.meanwhile.pop()()
        answer = self.answers.pop(0) if self.answers else Answer.DONE
        self.effects[name] += answer is not Answer.DID_NOT_RUN
        self.ends[name] = Doubt.UNKNOWN if fate is Fate.DIES_UNTOLD else answer
        if fate is not Fate.LIVES:
            raise CrashError
        return answer

    def found(self, name: str) -> Answer | Doubt:
        """What can be said of an action afterwards."""
        return self.ends.get(name, Doubt.NOT_DELIVERED)

    def fate(self) -> Fate:
        """What happens at this moment."""
        return self.fates.pop(0) if self.fates else Fate.LIVES


def changed(answer: Answer) -> RecordChanged:
    """What an answer says of the record."""
    return {
        Answer.DONE: RecordChanged.YES,
        Answer.DID_NOT_RUN: RecordChanged.NO,
        Answer.NOT_SURE: RecordChanged.UNKNOWN,
    }[answer]


@frozen
class AppWorkflows:
    """Compiled workflows that work on the app."""

    app: App
    forgets: bool = False
    later: Mapping[str, StepEnd] = field(factory=dict[str, StepEnd])

    def skills(self) -> tuple[CompiledSkill, ...]:
        """The one that there is."""
        return (WRITE,)

    def run(self, asked: RunSkill, digest: str) -> StepEnd:
        """Act, without asking whether it was done before."""
        assert digest == WRITE.digest
        return _end(self.app.act(asked.request_id), asked.request_id)

    def look_up(self, asked: RunSkill) -> StepEnd | Doubt:
        """What the app knows; a forgetful one takes everything for not delivered."""
        found = self.app.found(asked.request_id)
        if self.forgets:
            return Doubt.NOT_DELIVERED
        return found if isinstance(found, Doubt) else _end(found, asked.request_id)

    def told(self, references: frozenset[str]) -> dict[str, StepEnd]:
        """What people let happen to steps after their ends."""
        return {name: end for name, end in self.later.items() if name in references}

    def cancel(self, request_id: str) -> None:
        """Nothing here can be stopped."""


def _end(answer: Answer, name: str) -> StepEnd:
    if answer is Answer.DONE:
        return StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES, reference=name)
    if answer is Answer.NOT_SURE:
        return in_doubt(name)
    return StepEnd(
        outcome=Outcome.DID_NOT_RUN,
        record_changed=RecordChanged.NO,
        failure=StepFailure.NOT_DONE,
        reference=name,
    )


@frozen
class AppTool:
    """A tool that works on the app."""

    app: App
    spec: ToolSpec

    def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
        """Act, if it is a tool that acts."""
        assert set(self.spec.arguments) == set(arguments)
        if self.spec.effects is Effects.READS:
            return ToolEnd(success=True, record_changed=RecordChanged.NO, outputs=(Binding("seen", "x"),))
        return _tool_end(self.app.act(key))


@frozen
class AccountableTool(AppTool):
    """One that can tell what became of a call."""

    def look_up(self, key: str) -> ToolEnd | Doubt:
        """What the app knows."""
        found = self.app.found(key)
        return found if isinstance(found, Doubt) else _tool_end(found)


def _tool_end(answer: Answer) -> ToolEnd:
    return ToolEnd(success=answer is Answer.DONE, record_changed=changed(answer))


@frozen
class AppTasks:
    """A task runner that works on the app."""

    app: App

    def run(self, task: Task) -> Task:
        """Act."""
        answer = self.app.act(task.id)
        status = TaskStatus.SUCCEEDED if answer is Answer.DONE else TaskStatus.FAILED
        return Task(id=task.id, goal=task.goal, status=status, record_changed=changed(answer))


@define
class VirtualClock:
    """A clock that moves when somebody sleeps."""

    seconds: float = 0.0

    def now(self) -> int:
        """Seconds of the wall clock, which stands still."""
        return 1_700_000_000

    def monotonic(self) -> float:
        """Seconds that were slept."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Move."""
        self.seconds += seconds


def around(app: App, clock: VirtualClock, *, forgets: bool = False, boot: str = "boot") -> Surroundings:
    """Surroundings on the app."""
    return Surroundings(
        workflows=AppWorkflows(app, forgets),
        tools=Tools((AppTool(app, POKE), AccountableTool(app, TOLD), AppTool(app, PEEK))),
        task_runner=AppTasks(app),
        clock=clock,
        boot=boot,
    )


class CrashingStore(PlanStore):
    """A store whose process may die before or after a save."""

    app: App

    def save(self, run: WorkflowRun, lease: Lease) -> Saved:
        """Save, or die."""
        fate = self.app.fate()
        if fate is Fate.DIES_BEFORE:
            raise CrashError
        saved = super().save(run, lease)
        if fate is not Fate.LIVES:
            raise CrashError
        return saved


def crashing(runner: WorkflowRunner, folder: Path, app: App) -> WorkflowRunner:
    """A runner whose saves may be its last."""
    store = CrashingStore.open(folder)
    store.app = app
    runner._store = store  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the seam for what no process survives
    return runner


# Definitions.

_TRUE: Final = ConditionSpec(kind="elapsed_seconds", params=bound({"seconds": "0"}))
_FALSE: Final = ConditionSpec(kind="world_variable_equals", params=bound({"name": "none", "value": "x"}))


def definition(*steps: WorkflowStep) -> WorkflowDefinition:
    """A plan of these steps."""
    return WorkflowDefinition(definition_id="plan", title="A plan", steps=steps, skills=(TEMPLATE,))


def pinned(plan: WorkflowDefinition) -> PinnedDefinition:
    """A plan with what it uses here."""
    return pin(plan, skills=(WRITE,), tools=(POKE, TOLD, PEEK), conditions=STANDARD).unwrap()


def write(step_id: str, *, if_failed: str | None = None, max_visits: int | None = None) -> SkillInvocationStep:
    """A step that runs the compiled workflow."""
    return SkillInvocationStep(step_id=step_id, skill_id="write", if_failed=if_failed, max_visits=max_visits)


def template(step_id: str, *, if_failed: str | None = None) -> SkillInvocationStep:
    """A step that calls tools."""
    return SkillInvocationStep(step_id=step_id, skill_id="template", if_failed=if_failed)


def goal(step_id: str, *, if_failed: str | None = None) -> PlannedGoalStep:
    """A step that gives a goal."""
    return PlannedGoalStep(step_id=step_id, goal="Open the record.", if_failed=if_failed)


def wait(step_id: str, *, holds: bool = True, if_failed: str | None = None) -> WaitForConditionStep:
    """A step that waits five seconds at most."""
    return WaitForConditionStep(
        step_id=step_id,
        condition=_TRUE if holds else _FALSE,
        timeout_seconds=5,
        poll_interval_seconds=2,
        if_failed=if_failed,
    )


def branch(step_id: str, on_true: str, on_false: str, *, holds: bool = True) -> BranchStep:
    """A step that goes one way."""
    return BranchStep(
        step_id=step_id, condition=_TRUE if holds else _FALSE, on_true=on_true, on_false=on_false, max_visits=3
    )


@st.composite
def definitions(draw: st.DrawFn, longest: int = 5) -> WorkflowDefinition:
    """Plans whose steps are all reachable: each leads to the next, and further on, or back, besides."""
    size = draw(st.integers(1, longest))
    names = [f"s{number}" for number in range(size)]
    return definition(*(_drawn(draw, names, place) for place in range(size)))


def _drawn(draw: st.DrawFn, names: Sequence[str], place: int) -> WorkflowStep:
    name, after = names[place], [*names, END][place + 1]
    later = st.sampled_from([*names[place + 1 :], END])
    if_failed = draw(st.none() | later)
    match draw(st.sampled_from(("write", "template", "goal", "wait", "branch", "back"))):
        case "write":
            return write(name, if_failed=if_failed)
        case "template":
            return template(name, if_failed=if_failed)
        case "goal":
            return goal(name, if_failed=if_failed)
        case "wait":
            return wait(name, holds=draw(st.booleans()), if_failed=if_failed)
        case "branch":
            return branch(name, after, draw(later), holds=draw(st.booleans()))
        case _:
            return branch(name, after, draw(st.sampled_from(names[: place + 1])), holds=draw(st.booleans()))


def is_a_way(run: WorkflowRun) -> bool:
    """Whether the ends of a run are those of one way through its plan, from the first step, without a gap."""
    names = [result.step_id for result in run.step_results]
    ways = {(source, target) for (source, _), target in run.pinned.ways.items()}
    seen: Counter[str] = Counter()
    for result in run.step_results:
        seen[result.step_id] += 1
        if result.visit != seen[result.step_id]:
            return False
    return names[:1] in ([], [run.pinned.definition.steps[0].step_id]) and all(pair in ways for pair in pairwise(names))
