"""The definition of a plan: steps of four kinds, their order, and what is pinned when a run begins.

Laws of this module:

- A step is exactly one of four kinds; what belongs to another kind cannot stand in it.
- Where a step leads is written in it, or is the step after it; nothing is computed.
- A run is bound to the digest of what was pinned: the definition, and every skill and tool that its steps use.
"""

import hashlib
from collections.abc import Iterator
from enum import Enum, unique
from functools import cached_property
from typing import Annotated, Final, Literal, assert_never

from attrs import field, frozen

from surehand.core.orchestration.condition import MAX_SECONDS, ConditionSpec
from surehand.core.orchestration.result import MAX_RESULTS
from surehand.core.orchestration.skill import (
    FlowTemplateSkill,
    Invocable,
    KnowledgeSkill,
    Parameters,
    Skill,
    ToolSpec,
)
from surehand.core.orchestration.text import Bindings, Name
from surehand.core.schema import Items, Number, Text
from surehand.core.signature import canonical_json

SCHEMA: Final = "surehand.plan/v1"

#: Where a step leads that is the last one.
END: Final = "end"

_Limit = Annotated[int, Number(minimum=1, maximum=MAX_RESULTS)]
_Seconds = Annotated[int, Number(minimum=0, maximum=MAX_SECONDS)]
_Poll = Annotated[int, Number(minimum=1, maximum=86_400)]


@frozen(kw_only=True)
class PlannedGoalStep:
    """Give a goal to whoever plans and acts towards it.

    Args:
        outputs: Names of variables, and what of the task's outputs each takes.
        next_step_id: Where it leads; default: the step after it.
        if_failed: Where it leads when it did not succeed; default: the run stops.
        max_visits: How often a run may come here; default: as often as it likes.
    """

    step_id: Name
    goal: Annotated[str, Text(min_length=1, max_length=4_000)] = field(repr=False)
    outputs: Bindings = ()
    next_step_id: Name | None = None
    if_failed: Name | None = None
    max_visits: _Limit | None = None


@frozen(kw_only=True)
class SkillInvocationStep:
    """Invoke a skill with arguments, in which ``{name}`` stands for a variable."""

    step_id: Name
    skill_id: Name
    args: Bindings = field(default=(), repr=False)
    outputs: Bindings = ()
    next_step_id: Name | None = None
    if_failed: Name | None = None
    max_visits: _Limit | None = None


@frozen(kw_only=True)
class WaitForConditionStep:
    """Wait until a condition holds; it fails when its time is over."""

    step_id: Name
    condition: ConditionSpec
    timeout_seconds: _Seconds = 60
    poll_interval_seconds: _Poll = 1
    next_step_id: Name | None = None
    if_failed: Name | None = None
    max_visits: _Limit | None = None


@frozen(kw_only=True)
class BranchStep:
    """Go one way or the other."""

    step_id: Name
    condition: ConditionSpec
    on_true: Name
    on_false: Name
    max_visits: _Limit | None = None


WorkflowStep = PlannedGoalStep | SkillInvocationStep | WaitForConditionStep | BranchStep


@frozen(kw_only=True)
class WorkflowDefinition:
    """A plan: what it takes, its steps, and the skills that belong to it alone."""

    schema: Literal["surehand.plan/v1"] = SCHEMA
    definition_id: Name
    title: Annotated[str, Text(min_length=1, max_length=200)]
    description: Annotated[str, Text(max_length=2_000)] = ""
    parameters: Parameters = ()
    steps: Annotated[tuple[WorkflowStep, ...], Items(max_items=1_000)]
    skills: Annotated[tuple[FlowTemplateSkill | KnowledgeSkill, ...], Items(max_items=100)] = ()


@unique
class Way(Enum):
    """Which way leads from a step."""

    NEXT = "next"
    FAILED = "failed"
    TRUE = "true"
    FALSE = "false"


@frozen
class Edge:
    """A way from one step to another, or to ``END``; ``written`` says whether the definition names the target."""

    source: str
    target: str
    way: Way
    written: bool = True


def edges(definition: WorkflowDefinition) -> tuple[Edge, ...]:
    """Every way of a plan, step by step."""
    following = [*(step.step_id for step in definition.steps[1:]), END]
    return tuple(edge for step, after in zip(definition.steps, following, strict=False) for edge in _edges(step, after))


def _edges(step: WorkflowStep, after: str) -> Iterator[Edge]:
    match step:
        case BranchStep():
            yield Edge(step.step_id, step.on_true, Way.TRUE)
            yield Edge(step.step_id, step.on_false, Way.FALSE)
        case PlannedGoalStep() | SkillInvocationStep() | WaitForConditionStep():
            yield Edge(step.step_id, step.next_step_id or after, Way.NEXT, written=step.next_step_id is not None)
            if step.if_failed is not None:
                yield Edge(step.step_id, step.if_failed, Way.FAILED)
        case _:  # pragma: no cover
            assert_never(step)


@frozen(kw_only=True)
class PinnedDefinition:
    """A definition that was checked, with every skill and tool that its steps use, as they were then."""

    definition: WorkflowDefinition
    skills: Annotated[tuple[Skill, ...], Items(max_items=1_000)] = ()
    tools: Annotated[tuple[ToolSpec, ...], Items(max_items=1_000)] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the canonical JSON."""
        from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

        return hashlib.sha256(canonical_json(to_wire(self)).encode()).hexdigest()

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each step."""
        return {step.step_id: place for place, step in enumerate(self.definition.steps)}

    @cached_property
    def ways(self) -> dict[tuple[str, Way], str]:
        """Where each way leads."""
        return {(edge.source, edge.way): edge.target for edge in edges(self.definition)}

    def step(self, step_id: str) -> WorkflowStep:
        """The step of this id."""
        return self.definition.steps[self.places[step_id]]

    def skill(self, skill_id: str) -> Invocable:
        """The skill that steps invoke by this id."""
        return next(each for each in self.skills if each.skill_id == skill_id and not isinstance(each, KnowledgeSkill))

    def tool(self, tool: str) -> ToolSpec:
        """The tool of this name."""
        return next(each for each in self.tools if each.tool == tool)


def first_difference(pinned: PinnedDefinition, now: PinnedDefinition) -> str | None:
    """The first step that is another one now, is gone, or uses a skill or tool that changed; ``None`` if there is none.

    Two definitions can differ without it: in a title, or in the order of their steps.
    """
    return next((step.step_id for step in pinned.definition.steps if _differs(step, pinned, now)), None)


def _differs(step: WorkflowStep, pinned: PinnedDefinition, now: PinnedDefinition) -> bool:
    if step.step_id not in now.places or now.step(step.step_id) != step:
        return True
    return isinstance(step, SkillInvocationStep) and _used(step, pinned) != _used(step, now)


def _used(step: SkillInvocationStep, pinned: PinnedDefinition) -> tuple[object, ...]:
    skill = pinned.skill(step.skill_id)
    calls = skill.calls if isinstance(skill, FlowTemplateSkill) else ()
    return (skill, *(pinned.tool(call.tool) for call in calls))
