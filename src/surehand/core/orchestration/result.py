"""How a step of a plan ended.

Laws of this module:

- A result never says more than was proven: a success that nobody read back leaves ``record_changed`` unknown, and what
  changed or may have changed is never told as ``did_not_run``.
- Every text in a result that may leave is a closed code or a name; values stand in ``outputs`` only.
"""

from collections.abc import Iterable
from enum import Enum, unique
from typing import Annotated, Final

from attrs import field, frozen

from surehand.core.orchestration.text import Binding, Bindings, Name, is_name
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.core.schema import Number, Text

#: The id of a run, a task or a tool's call that a step made.
Reference = Annotated[str, Text(max_length=200)]

#: The most steps that one run goes through.
MAX_RESULTS: Final = 10_000


@unique
class StepFailure(Enum):
    """Why a step did not succeed; a closed vocabulary."""

    NOT_DONE = "not_done"
    NOT_AGAIN = "not_again"
    TIMED_OUT = "timed_out"
    VARIABLE_MISSING = "variable_missing"
    INVALID_INPUT = "invalid_input"
    TOOL_FAILED = "tool_failed"
    TASK_FAILED = "task_failed"
    SKILL_CHANGED = "skill_changed"
    VISIT_LIMIT = "visit_limit"
    CANCELED = "canceled"
    IN_DOUBT = "in_doubt"


@frozen(kw_only=True)
class StepEnd:
    """How a step ended.

    Args:
        outcome: ``done`` if it succeeded; what else it is decides what a person does.
        record_changed: Whether any record changed in this step.
        failure: Why it did not succeed; ``None`` when it did.
        code: What its task runner says more of why it did not succeed; a closed word.
        reference: The run, task or call that acted.
        outputs: What it found, by the names that it gives.

    Raises:
        ValueError: The parts disagree.
    """

    outcome: Outcome
    record_changed: RecordChanged
    failure: StepFailure | None = None
    code: Name | None = None
    reference: Reference | None = None
    outputs: Bindings = field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        """Refuse an end that says more than its parts."""
        if self.outcome is Outcome.RUNNING:
            raise ValueError("a step that goes on has no end")
        if (self.outcome is Outcome.DONE) is (self.failure is not None):
            raise ValueError("only a step that is done did not fail")
        if self.record_changed is not RecordChanged.NO and self.outcome in CLAIMS_NOTHING_WRITTEN:
            raise ValueError("what may have written is not told as having written nothing")

    @property
    def success(self) -> bool:
        """Whether the step did what it is there for."""
        return self.failure is None


@frozen(kw_only=True)
class WorkflowStepResult:
    """The end of one visit to one step."""

    step_id: Name
    visit: Annotated[int, Number(minimum=1, maximum=MAX_RESULTS)]
    end: StepEnd

    @property
    def success(self) -> bool:
        """Whether the step did what it is there for."""
        return self.end.success


#: What these outcomes claim: that nothing was written.
CLAIMS_NOTHING_WRITTEN: Final = frozenset({Outcome.NEEDS_REVIEW, Outcome.DID_NOT_RUN})

#: The outcomes, the one that asks most of a person first.
WEAKEST_FIRST: Final = (Outcome.NOT_SURE_IF_SAVED, Outcome.NEEDS_REVIEW, Outcome.DID_NOT_RUN, Outcome.DONE)

_LEAST_KNOWN_FIRST: Final = (RecordChanged.UNKNOWN, RecordChanged.YES, RecordChanged.NO)


def changed_by_all(parts: Iterable[RecordChanged]) -> RecordChanged:
    """Whether a record changed, given whether it did in each part."""
    return min(parts, key=_LEAST_KNOWN_FIRST.index, default=RecordChanged.NO)


def weakest(outcomes: Iterable[Outcome], changed: RecordChanged) -> Outcome:
    """The outcome of a whole whose parts ended so; what may have written is never told as having written nothing."""
    found = min(outcomes, key=WEAKEST_FIRST.index, default=Outcome.DONE)
    if found in CLAIMS_NOTHING_WRITTEN and changed is not RecordChanged.NO:
        return Outcome.NOT_SURE_IF_SAVED
    return found


def passed() -> StepEnd:
    """The end of a step that only looked."""
    return StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.NO)


def stopped(failure: StepFailure) -> StepEnd:
    """The end of a step that did nothing."""
    return StepEnd(outcome=Outcome.DID_NOT_RUN, record_changed=RecordChanged.NO, failure=failure)


def in_doubt(reference: str | None = None) -> StepEnd:
    """The end of a step that may have acted; only a person can find out."""
    return StepEnd(
        outcome=Outcome.NOT_SURE_IF_SAVED,
        record_changed=RecordChanged.UNKNOWN,
        failure=StepFailure.IN_DOUBT,
        reference=reference,
    )


def judged(
    *, success: bool, changed: RecordChanged, failure: StepFailure, reference: str, outputs: tuple[Binding, ...]
) -> StepEnd:
    """The end of a step by what its tool or task says of itself.

    A success that does not know what changed is none that counts as done.
    """
    if success and changed is not RecordChanged.UNKNOWN:
        return StepEnd(outcome=Outcome.DONE, record_changed=changed, reference=reference, outputs=outputs)
    untouched = changed is RecordChanged.NO
    return StepEnd(
        outcome=Outcome.DID_NOT_RUN if untouched else Outcome.NOT_SURE_IF_SAVED,
        record_changed=changed,
        failure=failure,
        reference=reference,
        outputs=outputs,
    )


def failure_code(reason: str | None) -> str | None:
    """What a task runner gives as a reason, if it is a code."""
    return reason if reason is not None and is_name(reason) else None


def end_of_run(result: RunResult) -> StepEnd:
    """The end of a step by the final result of the run that it made.

    Raises:
        ValueError: The run still goes on.
    """
    facts = {
        "checked_how": result.checked_how.value,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        "record_changed": result.record_changed.value,
        "run_id": result.run_id,
    }
    said_nothing_written = result.outcome in CLAIMS_NOTHING_WRITTEN and result.record_changed is not RecordChanged.NO
    return StepEnd(
        outcome=Outcome.NOT_SURE_IF_SAVED if said_nothing_written else result.outcome,
        record_changed=result.record_changed,
        failure=_failure_of_run(result),
        reference=result.run_id,
        outputs=tuple(Binding(name, text) for name, text in facts.items()),
    )


def _failure_of_run(result: RunResult) -> StepFailure | None:
    """Why a run is no success; one that wrote nothing, and that nobody may repeat (a person rejected it), says so."""
    if result.outcome is Outcome.DONE:
        return None
    ended = result.outcome is Outcome.DID_NOT_RUN and result.record_changed is RecordChanged.NO
    return StepFailure.NOT_AGAIN if ended and not result.safe_to_retry else StepFailure.NOT_DONE


def end_as_told(result: RunResult | None, reference: str) -> StepEnd:
    """The end of a step by how its run is told now; one that goes on again, or that nobody can tell of, may write.

    Args:
        result: How the run is told; ``None`` when nobody can tell.
        reference: The run.
    """
    if result is not None and result.outcome is not Outcome.RUNNING:
        return end_of_run(result)
    return StepEnd(
        outcome=Outcome.NOT_SURE_IF_SAVED,
        record_changed=RecordChanged.UNKNOWN,
        failure=StepFailure.NOT_DONE,
        reference=reference,
    )


#: What a run of a compiled workflow gives as outputs.
RUN_OUTPUTS: Final = frozenset({"checked_how", "outcome", "reason", "record_changed", "run_id"})
