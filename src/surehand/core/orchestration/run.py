"""One run of a plan: where it stands, what its steps came to, and what the whole may claim.

Laws of this module:

- A run whose status is not ``running`` never changes.
- The current step of a running run may have begun: whoever takes the run up finds out before it acts.
- Time is counted within one start of the machine; what passed while it was off is not counted, so nothing is early.
- The weakest step decides what the whole is told as, and what may have been written is never told as nothing written.
- What people let happen to a step after its end is told with it, and changes nothing that is kept.
"""

from collections.abc import Mapping
from enum import Enum, unique
from typing import Annotated, Final

from attrs import evolve, field, frozen

from surehand.core.orchestration.condition import Scene, View
from surehand.core.orchestration.definition import (
    BranchStep,
    PinnedDefinition,
    PlannedGoalStep,
    SkillInvocationStep,
    WorkflowStep,
)
from surehand.core.orchestration.result import StepEnd, WorkflowStepResult, changed_by_all, weakest
from surehand.core.orchestration.text import Binding, Bindings
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.schema import Text

#: The pattern of the id of a plan's run.
RUN_ID_PATTERN = "^plan_[0-9a-f]{32}$"

#: Variables that a run has at most.
MAX_VARIABLES: Final = 400

PlanRunId = Annotated[str, Text(pattern=RUN_ID_PATTERN)]


@unique
class RunStatus(Enum):
    """How a run of a plan stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    NEEDS_PERSON = "needs_person"
    CANCELED = "canceled"


@frozen
class Moment:
    """A time that this machine's clock cannot be set to: milliseconds since a start of the machine, and which start."""

    boot: str
    milliseconds: int


@frozen
class Timer:
    """Time that passed: what passed before, and since when it is counted in this start of the machine."""

    boot: str
    since: int
    before: int = 0

    @classmethod
    def begun(cls, now: Moment) -> "Timer":
        """A timer that begins now."""
        return cls(now.boot, now.milliseconds)

    def elapsed(self, now: Moment) -> int:
        """Milliseconds that passed for certain."""
        return self.before + (max(0, now.milliseconds - self.since) if now.boot == self.boot else 0)

    def carried(self, now: Moment) -> "Timer":
        """The timer as it goes on from now."""
        return Timer(now.boot, now.milliseconds, self.elapsed(now))


@frozen(kw_only=True)
class ToolEnd:
    """What a tool's call came to.

    Args:
        success: Whether it did what it is there for.
        record_changed: Whether a record changed, as far as the tool can prove it.
        outputs: What it found.
    """

    success: bool
    record_changed: RecordChanged
    outputs: Bindings = field(default=(), repr=False)


@frozen(kw_only=True)
class WorkflowRun:
    """A run of a plan.

    Args:
        id: ``plan_`` and 32 hexadecimal digits.
        pinned: What it goes through, for good.
        status: How it stands.
        current_step_id: The step at which it is or stopped; ``None`` when it came to the end.
        visit: The number of this visit to the current step.
        calls: The calls of the current step's template that ended.
        variables: The run's own variables.
        step_results: The ends of all steps, in their order.
        visits: How often each step was visited, by its place.
        run_timer: Time since the run began.
        step_timer: Time since the current step began.
        cancel_asked: Whether somebody wished that it stops.
        begun: Whether the current step may have begun; only whoever saved it and did not go on can deny that.
        restored: Whether the file that keeps it was copied or restored since it began: what it did then is not in it.
    """

    id: PlanRunId
    pinned: PinnedDefinition = field(repr=False)
    status: RunStatus
    current_step_id: str | None
    visit: int
    calls: tuple[ToolEnd, ...] = ()
    variables: tuple[Binding, ...] = field(default=(), repr=False)
    step_results: tuple[WorkflowStepResult, ...] = ()
    visits: tuple[int, ...]
    run_timer: Timer
    step_timer: Timer
    cancel_asked: bool = False
    begun: bool = True
    restored: bool = False

    @property
    def definition_id(self) -> str:
        """The id of the definition."""
        return self.pinned.definition.definition_id

    @property
    def step(self) -> WorkflowStep:
        """The step at which it is.

        Raises:
            ValueError: It came to the end.
        """
        if self.current_step_id is None:
            raise ValueError("a run at its end has no step")
        return self.pinned.step(self.current_step_id)


@frozen(kw_only=True)
class PlanOutcome:
    """What the whole of a run may claim; ``step_id`` names the step that decides it."""

    outcome: Outcome
    record_changed: RecordChanged
    step_id: str | None = None


def outcome_of(run: WorkflowRun) -> PlanOutcome:
    """What the whole may claim: the weakest step decides.

    A step that only looks counts when the run stopped at it; what a run did not come to did not run.
    """
    changed = changed_by_all(result.end.record_changed for result in run.step_results)
    if run.status is RunStatus.RUNNING:
        return PlanOutcome(outcome=Outcome.RUNNING, record_changed=RecordChanged.UNKNOWN, step_id=run.current_step_id)
    counted = {result.step_id: result.end.outcome for result in reversed(run.step_results) if _counts(run, result)}
    ends = tuple(result.end.outcome for result in run.step_results if _counts(run, result))
    stopped = () if run.status is RunStatus.COMPLETED else (Outcome.DID_NOT_RUN,)
    outcome = weakest((*ends, *stopped), changed)
    if outcome is Outcome.DONE:
        return PlanOutcome(outcome=outcome, record_changed=changed)
    least = weakest((*ends, *stopped), RecordChanged.NO)
    deciding = next((step_id for step_id, each in counted.items() if each is least), run.current_step_id)
    return PlanOutcome(outcome=outcome, record_changed=changed, step_id=deciding)


def _counts(run: WorkflowRun, result: WorkflowStepResult) -> bool:
    acts = isinstance(run.pinned.step(result.step_id), PlannedGoalStep | SkillInvocationStep)
    return acts or (run.status is not RunStatus.COMPLETED and result is run.step_results[-1])


def open_references(run: WorkflowRun) -> frozenset[str]:
    """The runs of steps that did not succeed: people may have let them go on since."""
    ends = (result.end for result in run.step_results if not result.success)
    return frozenset(end.reference for end in ends if end.reference is not None)


def retold(run: WorkflowRun, ends: Mapping[str, StepEnd]) -> WorkflowRun:
    """The run as it is told when the runs of some steps ended otherwise since; never what goes on from here.

    Args:
        run: The run as it is kept.
        ends: How steps ended by what is known now, by the runs that they made.
    """
    results = (evolve(each, end=ends.get(each.end.reference or "", each.end)) for each in run.step_results)
    return evolve(run, step_results=tuple(results))


def view(run: WorkflowRun, now: Moment, *, scene: Scene | None, world: tuple[Binding, ...] | None) -> View:
    """What is known of a run at this moment, for the condition of its current step."""
    timer = run.run_timer if isinstance(run.step, BranchStep) else run.step_timer
    return View(
        results=run.step_results,
        variables=run.variables,
        elapsed=timer.elapsed(now),
        scene=scene,
        world=world,
    )
