"""A plan as a picture, and the way that a run took through it, in the words of Mermaid.

Laws of this module:

- A picture holds names of steps, skills and kinds of conditions, counts and closed words; no value, goal or argument.
- Every way of the plan is one arrow; the arrows that a run went are marked, and no others.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, assert_never

from surehand.core.orchestration.definition import (
    END,
    BranchStep,
    Edge,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    Way,
    WorkflowDefinition,
    WorkflowStep,
    edges,
)
from surehand.core.orchestration.result import WorkflowStepResult
from surehand.core.orchestration.run import RunStatus, WorkflowRun
from surehand.core.outcome.reasons import Outcome

#: The text of an arrow; the way on that every step has bears none.
_LABELS: Final = {Way.NEXT: "", Way.FAILED: "failed", Way.TRUE: "yes", Way.FALSE: "no"}

#: How the boxes of each outcome look, and the box at which a run is: readable on light and on dark paper.
_CLASSES: Final = {
    Outcome.DONE.value: "fill:#d3f3df,stroke:#12683a,color:#0b3d22",
    Outcome.NEEDS_REVIEW.value: "fill:#fdecc8,stroke:#8a5a00,color:#4d3200",
    Outcome.NOT_SURE_IF_SAVED.value: "fill:#fbdada,stroke:#a12020,color:#5c0f0f",
    Outcome.DID_NOT_RUN.value: "fill:#e6e8ec,stroke:#59606b,color:#2b3038",
    Outcome.RUNNING.value: "fill:#d7e6fb,stroke:#1f57a4,color:#0f2f5c",
}

_WENT: Final = "stroke-width:3px"


def graph(definition: WorkflowDefinition, run: WorkflowRun | None = None) -> str:
    """The picture of a plan, as a Mermaid flowchart.

    Args:
        definition: The plan.
        run: A run of it, whose way is drawn into the picture.
    """
    ids = {step.step_id: f"s{place}" for place, step in enumerate(definition.steps)} | {END: "last"}
    ways = edges(definition)
    lines = [
        "flowchart TD",
        *(f"  {ids[step.step_id]}{_box(step, _visits(run, step.step_id))}" for step in definition.steps),
        '  last(["end"])',
        *(f"  {_arrow(edge, ids)}" for edge in ways),
        *(f"  {line}" for line in (() if run is None else _path(run, ways, ids))),
    ]
    return "\n".join(lines) + "\n"


def _box(step: WorkflowStep, visits: int) -> str:
    """The shape of a step by its kind: what acts is a rectangle, what waits is round, what branches is a diamond."""
    name = f"{step.step_id} ({visits} visits)" if visits > 1 else step.step_id
    match step:
        case PlannedGoalStep():
            return f'[/"{name}<br/>goal"/]'
        case SkillInvocationStep(skill_id=skill_id):
            return f'["{name}<br/>{skill_id}"]'
        case WaitForConditionStep(condition=condition):
            return f'("{name}<br/>wait for {condition.kind}")'
        case BranchStep(condition=condition):
            return f'{{"{name}<br/>{condition.kind}?"}}'
        case _:  # pragma: no cover
            assert_never(step)


def _arrow(edge: Edge, ids: dict[str, str]) -> str:
    label = f"|{_LABELS[edge.way]}|" if _LABELS[edge.way] else ""
    return f"{ids[edge.source]} {'-.->' if edge.way is Way.FAILED else '-->'}{label} {ids[edge.target]}"


def _visits(run: WorkflowRun | None, step_id: str) -> int:
    return 0 if run is None else sum(result.step_id == step_id for result in run.step_results)


def _path(run: WorkflowRun, ways: tuple[Edge, ...], ids: dict[str, str]) -> Iterator[str]:
    """The marks of a run: its arrows, and each step that it came to by how its last visit ended."""
    went = _went(run)
    marked = [str(place) for place, edge in enumerate(ways) if (edge.source, edge.target) in went and _fits(run, edge)]
    if marked:
        yield f"linkStyle {','.join(marked)} {_WENT}"
    for name, look in _CLASSES.items():
        steps = [ids[step_id] for step_id, state in _states(run).items() if state == name]
        if steps:
            yield f"classDef {name} {look}"
            yield f"class {','.join(steps)} {name}"


def _states(run: WorkflowRun) -> dict[str, str]:
    """How the last visit to each step ended; ``running`` for the one that goes on."""
    states = {result.step_id: result.end.outcome.value for result in run.step_results}
    if run.status is RunStatus.RUNNING and run.current_step_id is not None:
        states[run.current_step_id] = Outcome.RUNNING.value
    return states


def _went(run: WorkflowRun) -> set[tuple[str, str]]:
    """The pairs of steps that the run went between."""
    names = [result.step_id for result in run.step_results]
    match run.status:
        case RunStatus.COMPLETED:
            names.append(END)
        case RunStatus.RUNNING | RunStatus.CANCELED if len(run.step_results) < sum(run.visits):
            names.append(run.current_step_id or END)
        case _:
            pass
    return set(pairwise(names))


def _fits(run: WorkflowRun, edge: Edge) -> bool:
    """Whether an arrow is one that a visit to its source could leave by: a way of failing needs a failure."""
    if edge.way is Way.TRUE or edge.way is Way.FALSE:
        return True
    return any(_left_by(result, edge) for result in run.step_results)


def _left_by(result: WorkflowStepResult, edge: Edge) -> bool:
    return result.step_id == edge.source and result.success is (edge.way is Way.NEXT)
