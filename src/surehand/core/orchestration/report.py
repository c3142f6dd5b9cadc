"""What is told about a run of a plan: one answer for the whole, in the four outcomes.

Laws of this module:

- The weakest step decides, and what may have been written is never told as nothing written.
- A refusal began nothing. What an earlier call under the same request id did is not known to it; where there was one,
  something may have been saved.
- An answer holds ids, names of steps, counts, closed words and fixed copy; no value, goal or argument.
"""

from typing import Annotated, Final, Literal

from attrs import field, frozen

from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.result import MAX_RESULTS, StepFailure
from surehand.core.orchestration.run import PlanRunId, RunStatus, WorkflowRun, outcome_of
from surehand.core.orchestration.text import Name
from surehand.core.outcome.reasons import NextStep, Outcome, RecordChanged
from surehand.core.outcome.result import InputProblem
from surehand.core.privacy import looks_like_identifier
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.params import ParameterType

_Count = Annotated[int, Number(minimum=0, maximum=MAX_RESULTS)]
_Sentence = Annotated[str, Text(max_length=300)]

#: Ends of steps in one answer, the newest; what is before them is counted.
MOST_STEPS: Final = 50


@frozen(kw_only=True)
class PlanInput:
    """One parameter of a plan."""

    name: Name
    type: ParameterType
    required: bool


@frozen(kw_only=True)
class PlanCard:
    """One plan, as an agent sees it; ``plan`` is what ``start_plan`` takes.

    ``problems`` counts what keeps it from being started here.
    """

    plan: Name
    title: Annotated[str, Text(max_length=200)] | None = None
    description: Annotated[str, Text(max_length=2_000)] | None = None
    inputs: Annotated[tuple[PlanInput, ...], Items(max_items=100)] = field(default=())
    steps: _Count
    problems: Annotated[int, Number(minimum=0)]


@frozen(kw_only=True)
class StepReport:
    """How one visit to a step ended; ``run_id`` names the run that it made, ``code`` says more of a failed task."""

    step: Name
    visit: _Count
    outcome: Outcome
    record_changed: RecordChanged
    failure: StepFailure | None = None
    code: Name | None = None
    run_id: Annotated[str, Text(pattern="^run_[0-9a-f]{32}$")] | None = None


@frozen(kw_only=True)
class PlanResult:
    """The answer about a run of a plan.

    Args:
        plan: The plan; left out where it is not known.
        plan_run_id: The run; left out where none was begun.
        outcome: One of the four, or ``running``.
        record_changed: Whether any record changed under this run.
        next_step: What the caller does.
        status: How the run stands.
        step: The step that decides the outcome, or at which it is.
        steps: How the newest steps ended.
        earlier_steps: How many ended before them.
        refused: Why nothing was begun or taken up.
        input_problems: What was wrong with the inputs.
        what_happened: Fixed copy.
        next_action: Fixed copy.
    """

    contract: Literal["surehand.plan-result/v1"] = "surehand.plan-result/v1"
    plan: Name | None = None
    plan_run_id: PlanRunId | None = None
    outcome: Outcome
    record_changed: RecordChanged
    next_step: NextStep
    status: RunStatus | None = None
    step: Name | None = None
    steps: Annotated[tuple[StepReport, ...], Items(max_items=MOST_STEPS)] = field(default=())
    earlier_steps: _Count = 0
    refused: PlanRefusal | None = None
    input_problems: Annotated[tuple[InputProblem, ...], Items(max_items=50)] = field(default=())
    what_happened: _Sentence
    next_action: _Sentence


@frozen
class _Told:
    happened: str
    action: str
    next_step: NextStep


_OUTCOMES: Final[dict[Outcome, _Told]] = {
    Outcome.DONE: _Told(
        "Every step of the plan that acts was done and checked.", "Nothing is left to do.", NextStep.NOTHING
    ),
    Outcome.NEEDS_REVIEW: _Told(
        "The plan stopped for a person. Nothing was written by it.",
        "Wait for a person; do not start it again.",
        NextStep.WAIT_FOR_A_PERSON,
    ),
    Outcome.NOT_SURE_IF_SAVED: _Told(
        "The plan is over, and something may have been saved without proof.",
        "Have a person check the records; do not start it again.",
        NextStep.HAVE_A_PERSON_CHECK_THE_RECORD,
    ),
    Outcome.DID_NOT_RUN: _Told(
        "The plan is over, and nothing was written by it.",
        "Look at the step that failed; start the plan under a new request_id when that is put right.",
        NextStep.ASK_THE_OPERATOR,
    ),
    Outcome.RUNNING: _Told("The plan is still going.", "Call get_plan_run with its id.", NextStep.CALL_GET_RUN),
}

_BEGAN_NOTHING: Final = "This call began nothing."
_CORRECT: Final = ("Correct the call.", NextStep.CORRECT_THE_CALL)
_OPERATOR: Final = ("Ask the operator.", NextStep.ASK_THE_OPERATOR)

_REFUSALS: Final[dict[PlanRefusal, tuple[str, NextStep]]] = {
    PlanRefusal.UNKNOWN_DEFINITION: _CORRECT,
    PlanRefusal.INVALID_DEFINITION: _OPERATOR,
    PlanRefusal.INVALID_INPUT: _CORRECT,
    PlanRefusal.REQUEST_ID_CONFLICT: (
        "Use a new request_id for other work; call get_plan_run for the earlier one.",
        NextStep.CORRECT_THE_CALL,
    ),
    PlanRefusal.FORGOTTEN: (
        "Have a person check the records; do not start it again.",
        NextStep.HAVE_A_PERSON_CHECK_THE_RECORD,
    ),
    PlanRefusal.UNKNOWN_RUN: _CORRECT,
    PlanRefusal.RUNNING_ELSEWHERE: ("Call get_plan_run with its id.", NextStep.CALL_GET_RUN),
    PlanRefusal.DEFINITION_CHANGED: _OPERATOR,
    PlanRefusal.DEFINITION_MISSING: _OPERATOR,
    PlanRefusal.NEWER_SCHEMA: _OPERATOR,
    PlanRefusal.STORE_UNAVAILABLE: _OPERATOR,
    PlanRefusal.CLOSED: _OPERATOR,
}


def plan_result(told: WorkflowRun | RunRefused, plan: str | None = None) -> PlanResult:
    """The answer about a run, or about a call that began none.

    Args:
        told: The run, or why there is none.
        plan: The plan that the call was about, where it is one of ours.
    """
    return _refused(told, plan) if isinstance(told, RunRefused) else _of_run(told)


def _refused(refused: RunRefused, plan: str | None) -> PlanResult:
    action, next_step = _REFUSALS[refused.code]
    return PlanResult(
        plan=plan,
        outcome=Outcome.NOT_SURE_IF_SAVED if refused.code is PlanRefusal.FORGOTTEN else Outcome.DID_NOT_RUN,
        record_changed=RecordChanged.UNKNOWN,
        next_step=next_step,
        step=refused.step_id,
        refused=refused.code,
        input_problems=refused.input_problems,
        what_happened=_BEGAN_NOTHING,
        next_action=action,
    )


def _of_run(run: WorkflowRun) -> PlanResult:
    whole = outcome_of(run)
    words = _OUTCOMES[whole.outcome]
    return PlanResult(
        plan=run.definition_id,
        plan_run_id=run.id,
        outcome=whole.outcome,
        record_changed=whole.record_changed,
        next_step=words.next_step,
        status=run.status,
        step=whole.step_id,
        steps=_steps(run),
        earlier_steps=max(0, len(run.step_results) - MOST_STEPS),
        what_happened=words.happened,
        next_action=words.action,
    )


def _steps(run: WorkflowRun) -> tuple[StepReport, ...]:
    return tuple(
        StepReport(
            step=result.step_id,
            visit=result.visit,
            outcome=result.end.outcome,
            record_changed=result.end.record_changed,
            failure=result.end.failure,
            code=result.end.code,
            run_id=result.end.reference if (result.end.reference or "").startswith("run_") else None,
        )
        for result in run.step_results[-MOST_STEPS:]
    )


def plan_card(definition: WorkflowDefinition, problems: int) -> PlanCard:
    """What an agent is told about a plan. A text that looks like the identifier of a person is left out.

    Args:
        definition: The plan.
        problems: How much keeps it from being started here.
    """
    return PlanCard(
        plan=definition.definition_id,
        title=_shown(definition.title),
        description=_shown(definition.description),
        inputs=tuple(
            PlanInput(name=each.name, type=each.type, required=each.required) for each in definition.parameters
        ),
        steps=len(definition.steps),
        problems=problems,
    )


def _shown(text: str) -> str | None:
    return text if text and not looks_like_identifier(text) else None
