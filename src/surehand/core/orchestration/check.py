"""Reading a definition, and checking it whole: every fault at its place, before anything runs.

Laws of this module:

- All faults are told, not the first. None holds a value.
- What passes can be gone through: every target is a step, every step is reachable, no way turns in a circle for ever,
  every skill, tool, parameter, condition and variable is known.
- Authors write tables where the classes hold lists of names and texts; a fault's place is that of the table.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, unique
from typing import Any, Final, assert_never, cast

from attrs import frozen
from returns.result import Failure, Result, Success

from surehand.core.orchestration.condition import (
    OUTCOMES,
    ConditionKind,
    Conditions,
    ConditionSpec,
    ParamKind,
    is_seconds,
)
from surehand.core.orchestration.definition import (
    END,
    BranchStep,
    Edge,
    PinnedDefinition,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    Way,
    WorkflowDefinition,
    WorkflowStep,
    edges,
)
from surehand.core.orchestration.result import RUN_OUTPUTS
from surehand.core.orchestration.run import MAX_VARIABLES
from surehand.core.orchestration.skill import (
    CompiledSkill,
    FlowTemplateSkill,
    Invocable,
    KnowledgeSkill,
    Parameters,
    Skill,
    ToolSpec,
)
from surehand.core.orchestration.text import Binding, names_in
from surehand.core.wire import FaultCode, from_wire
from surehand.core.workflow.params import check_inputs

Place = tuple[str | int, ...]

#: Members that authors write as tables of texts.
_TABLES: Final = frozenset({"args", "params", "outputs"})


@unique
class DefinitionProblem(Enum):
    """What is wrong at one place of a definition."""

    WRONG_TYPE = "wrong_type"
    NOT_A_CHOICE = "not_a_choice"
    OUT_OF_LIMITS = "out_of_limits"
    NOT_UNICODE = "not_unicode"
    MISSING_MEMBER = "missing_member"
    UNKNOWN_MEMBER = "unknown_member"
    DISAGREES = "disagrees"
    NO_STEPS = "no_steps"
    REPEATED = "repeated"
    RESERVED = "reserved"
    UNKNOWN_STEP = "unknown_step"
    UNREACHABLE_STEP = "unreachable_step"
    ENDLESS = "endless"
    UNKNOWN_SKILL = "unknown_skill"
    KNOWLEDGE_SKILL = "knowledge_skill"
    MISSING_PARAMETER = "missing_parameter"
    UNKNOWN_PARAMETER = "unknown_parameter"
    BAD_VALUE = "bad_value"
    UNKNOWN_CONDITION = "unknown_condition"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_VARIABLE = "unknown_variable"
    UNKNOWN_OUTPUT = "unknown_output"
    NO_TASK_RUNNER = "no_task_runner"


@frozen
class DefinitionFault:
    """One fault: where, and what."""

    path: Place
    problem: DefinitionProblem


Faults = tuple[DefinitionFault, ...]


def parse_definition(data: object) -> Result[WorkflowDefinition, Faults]:
    """Read a definition from parsed TOML or JSON, strictly."""
    read = from_wire(_listed(data), WorkflowDefinition)
    if isinstance(read, Failure):
        return Failure(
            tuple(DefinitionFault(_place(fault.path, data), _PROBLEM[fault.code]) for fault in read.failure())
        )
    return Success(read.unwrap())


def pin(
    definition: WorkflowDefinition,
    *,
    skills: tuple[CompiledSkill, ...],
    tools: tuple[ToolSpec, ...],
    conditions: Conditions,
    has_task_runner: bool = True,
) -> Result[PinnedDefinition, Faults]:
    """Check a definition against what is there, and pin what it uses.

    Args:
        definition: The definition.
        skills: The compiled workflows that are served.
        tools: The tools that templates may call.
        conditions: The kinds of conditions.
        has_task_runner: Whether somebody is there who works on goals.
    """
    known = _Known(
        skills={each.skill_id: each for each in (*skills, *definition.skills)},
        tools={each.tool: each for each in tools},
        conditions=conditions,
        steps=frozenset(step.step_id for step in definition.steps),
        variables=_variables(definition),
        has_task_runner=has_task_runner,
    )
    faults = (*_names(definition, skills), *_shape(definition, known), *_parts(definition, known))
    if faults:
        return Failure(faults)
    used_skills = _used_skills(definition, known)
    calls = {call.tool for skill in used_skills if isinstance(skill, FlowTemplateSkill) for call in skill.calls}
    return Success(
        PinnedDefinition(
            definition=definition, skills=used_skills, tools=tuple(known.tools[name] for name in sorted(calls))
        )
    )


@frozen(kw_only=True)
class _Known:
    """What the parts of a definition may refer to."""

    skills: Mapping[str, Skill]
    tools: Mapping[str, ToolSpec]
    conditions: Conditions
    steps: frozenset[str]
    variables: frozenset[str]
    has_task_runner: bool


_PROBLEM: Final = {code: DefinitionProblem(code.value) for code in FaultCode}


# The author's form.


def _listed(data: object) -> object:
    """The data with every table of texts as a list of names and texts."""
    match data:
        case dict():
            members = cast("dict[str, object]", data)
            return {name: _table(part) if name in _TABLES else _listed(part) for name, part in members.items()}
        case list():
            return [_listed(part) for part in cast("list[object]", data)]
        case _:
            return data


def _table(part: object) -> object:
    if not isinstance(part, dict):
        return part
    return [{"name": name, "value": _text(value)} for name, value in cast("dict[str, object]", part).items()]


def _text(value: object) -> object:
    return str(value) if type(value) is int else value


def _place(path: Place, data: object) -> Place:
    """A place of the listed form in the author's."""
    place: list[str | int] = []
    here: Any = data
    for step in path:
        if place and place[-1] in _TABLES and isinstance(here, dict) and isinstance(step, int):
            return (*place, list(cast("dict[str, object]", here))[step])
        place.append(step)
        here = _inside(here, step)
    return tuple(place)


def _inside(data: Any, step: str | int) -> object:  # noqa: ANN401 - parsed JSON
    try:
        return cast("object", data[step])
    except (KeyError, IndexError, TypeError):
        return None


# Names.


def _names(definition: WorkflowDefinition, skills: tuple[CompiledSkill, ...]) -> Iterator[DefinitionFault]:
    if not definition.steps:
        yield DefinitionFault(("steps",), DefinitionProblem.NO_STEPS)
    yield from _repeated("steps", "step_id", [step.step_id for step in definition.steps])
    if len(_variables(definition)) > MAX_VARIABLES:
        yield DefinitionFault(("steps",), DefinitionProblem.OUT_OF_LIMITS)
    yield from _repeated("parameters", "name", [each.name for each in definition.parameters])
    yield from _repeated("skills", "skill_id", [each.skill_id for each in definition.skills], skills)
    for place, step in enumerate(definition.steps):
        if step.step_id == END:
            yield DefinitionFault(("steps", place, "step_id"), DefinitionProblem.RESERVED)


def _repeated(
    member: str, name: str, names: list[str], taken: tuple[CompiledSkill, ...] = ()
) -> Iterator[DefinitionFault]:
    seen = {each.skill_id for each in taken}
    for place, each in enumerate(names):
        if each in seen:
            yield DefinitionFault((member, place, name), DefinitionProblem.REPEATED)
        seen.add(each)


def _variables(definition: WorkflowDefinition) -> frozenset[str]:
    outputs = [
        each.name
        for step in definition.steps
        if isinstance(step, PlannedGoalStep | SkillInvocationStep)
        for each in step.outputs
    ]
    return frozenset(outputs) | {each.name for each in definition.parameters}


# The shape.

_MEMBER: Final = {Way.NEXT: "next_step_id", Way.FAILED: "if_failed", Way.TRUE: "on_true", Way.FALSE: "on_false"}


def _shape(definition: WorkflowDefinition, known: _Known) -> Iterator[DefinitionFault]:
    places = {step.step_id: place for place, step in reversed(tuple(enumerate(definition.steps)))}
    ways = edges(definition)
    unknown = [edge for edge in ways if edge.target not in known.steps and edge.target != END]
    for edge in unknown:
        yield DefinitionFault(("steps", places[edge.source], _MEMBER[edge.way]), DefinitionProblem.UNKNOWN_STEP)
    reached = _reached(definition, ways)
    for place, step in enumerate(definition.steps):
        if step.step_id not in reached:
            yield DefinitionFault(("steps", place), DefinitionProblem.UNREACHABLE_STEP)
    for step_id in _endless(definition, ways):
        yield DefinitionFault(("steps", places[step_id]), DefinitionProblem.ENDLESS)


def _reached(definition: WorkflowDefinition, ways: Iterable[Edge]) -> set[str]:
    targets: dict[str, set[str]] = {}
    for edge in ways:
        targets.setdefault(edge.source, set()).add(edge.target)
    found: set[str] = set()
    left = [step.step_id for step in definition.steps[:1]]
    while left:
        step_id = left.pop()
        if step_id not in found:
            found.add(step_id)
            left.extend(targets.get(step_id, ()))
    return found


def _endless(definition: WorkflowDefinition, ways: Iterable[Edge]) -> list[str]:
    """The steps that lie on a circle, or on a way into one only, without a wait or a limit of visits in it."""
    unpaced = {step.step_id for step in definition.steps if not _paces(step)}
    targets = {step_id: set[str]() for step_id in unpaced}
    for edge in ways:
        if edge.source in unpaced and edge.target in unpaced:
            targets[edge.source].add(edge.target)
    circles = _without_ends(_reversed(_without_ends(targets)))
    return [step.step_id for step in definition.steps if step.step_id in circles]


def _without_ends(targets: dict[str, set[str]]) -> dict[str, set[str]]:
    """The steps from which one can go on for ever, each with those of its targets that are such too."""
    sources = _reversed(targets)
    left = {step_id: len(found) for step_id, found in targets.items()}
    ended = [step_id for step_id, count in left.items() if count == 0]
    for step_id in ended:  # grows on the way
        for source in sources[step_id]:
            left[source] -= 1
            if left[source] == 0:
                ended.append(source)
    going = targets.keys() - set(ended)
    return {step_id: targets[step_id] & going for step_id in going}


def _reversed(targets: dict[str, set[str]]) -> dict[str, set[str]]:
    turned = {step_id: set[str]() for step_id in targets}
    for source, found in targets.items():
        for target in found:
            turned[target].add(source)
    return turned


def _paces(step: WorkflowStep) -> bool:
    return isinstance(step, WaitForConditionStep) or step.max_visits is not None


# The parts.


def _parts(definition: WorkflowDefinition, known: _Known) -> Iterator[DefinitionFault]:
    for place, step in enumerate(definition.steps):
        yield from _step(("steps", place), step, known)
    for place, skill in enumerate(definition.skills):
        if isinstance(skill, FlowTemplateSkill):
            yield from _calls(("skills", place, "calls"), skill, known)


def _step(place: Place, step: WorkflowStep, known: _Known) -> Iterator[DefinitionFault]:
    match step:
        case PlannedGoalStep():
            if not known.has_task_runner:
                yield DefinitionFault(place, DefinitionProblem.NO_TASK_RUNNER)
            if names_in(step.goal) - known.variables:
                yield DefinitionFault((*place, "goal"), DefinitionProblem.UNKNOWN_VARIABLE)
            yield from _twice((*place, "outputs"), step.outputs)
        case SkillInvocationStep():
            yield from _invocation(place, step, known)
        case WaitForConditionStep() | BranchStep():
            yield from _condition((*place, "condition"), step.condition, known)
        case _:  # pragma: no cover
            assert_never(step)


def _invocation(place: Place, step: SkillInvocationStep, known: _Known) -> Iterator[DefinitionFault]:
    yield from _twice((*place, "outputs"), step.outputs)
    yield from _twice((*place, "args"), step.args)
    yield from _unknown_names((*place, "args"), step.args, known.variables)
    skill = known.skills.get(step.skill_id)
    match skill:
        case None:
            yield DefinitionFault((*place, "skill_id"), DefinitionProblem.UNKNOWN_SKILL)
        case KnowledgeSkill():
            yield DefinitionFault((*place, "skill_id"), DefinitionProblem.KNOWLEDGE_SKILL)
        case CompiledSkill() | FlowTemplateSkill():
            yield from _arguments((*place, "args"), step.args, skill.parameters)
            yield from _outputs((*place, "outputs"), step.outputs, skill)
        case _:  # pragma: no cover
            assert_never(skill)


def _arguments(place: Place, args: tuple[Binding, ...], parameters: Parameters) -> Iterator[DefinitionFault]:
    """Whether the arguments are those of the parameters; a text that waits for a variable is judged when it has it."""
    given = {each.name: each.value for each in args}
    declared = {each.name for each in parameters}
    for name in sorted(given.keys() - declared):
        yield DefinitionFault((*place, name), DefinitionProblem.UNKNOWN_PARAMETER)
    for each in parameters:
        if each.name not in given:
            if each.required:
                yield DefinitionFault((*place, each.name), DefinitionProblem.MISSING_PARAMETER)
        elif not names_in(given[each.name]) and isinstance(
            check_inputs((each,), {each.name: given[each.name]}), Failure
        ):
            yield DefinitionFault((*place, each.name), DefinitionProblem.BAD_VALUE)


def _outputs(place: Place, outputs: tuple[Binding, ...], skill: Invocable) -> Iterator[DefinitionFault]:
    if isinstance(skill, CompiledSkill):
        for each in outputs:
            if each.value not in RUN_OUTPUTS:
                yield DefinitionFault((*place, each.name), DefinitionProblem.UNKNOWN_OUTPUT)


def _calls(place: Place, skill: FlowTemplateSkill, known: _Known) -> Iterator[DefinitionFault]:
    names = frozenset(each.name for each in skill.parameters)
    for number, call in enumerate(skill.calls):
        tool = known.tools.get(call.tool)
        yield from _twice((*place, number, "args"), call.args)
        yield from _unknown_names((*place, number, "args"), call.args, names)
        if tool is None:
            yield DefinitionFault((*place, number, "tool"), DefinitionProblem.UNKNOWN_TOOL)
            continue
        yield from _members((*place, number, "args"), call.args, frozenset(tool.arguments))


def _condition(place: Place, spec: ConditionSpec, known: _Known) -> Iterator[DefinitionFault]:
    kind = known.conditions.find(spec.kind)
    if kind is None:
        yield DefinitionFault((*place, "kind"), DefinitionProblem.UNKNOWN_CONDITION)
        return
    yield from _twice((*place, "params"), spec.params)
    yield from _unknown_names((*place, "params"), spec.params, known.variables)
    yield from _members((*place, "params"), spec.params, frozenset(kind.params))
    yield from _values((*place, "params"), spec.params, kind, known)


def _values(place: Place, params: tuple[Binding, ...], kind: ConditionKind, known: _Known) -> Iterator[DefinitionFault]:
    for each in params:
        expected = kind.params.get(each.name)
        if expected is not None and not names_in(each.value) and not _fits(expected, each.value, known):
            yield DefinitionFault((*place, each.name), _MISFIT[expected])


def _fits(expected: ParamKind, value: str, known: _Known) -> bool:
    match expected:
        case ParamKind.TEXT:
            return True
        case ParamKind.SECONDS:
            return is_seconds(value)
        case ParamKind.STEP:
            return value in known.steps
        case ParamKind.OUTCOME:
            return value in OUTCOMES
        case _:  # pragma: no cover
            assert_never(expected)


_MISFIT: Final = {
    ParamKind.TEXT: DefinitionProblem.BAD_VALUE,
    ParamKind.SECONDS: DefinitionProblem.BAD_VALUE,
    ParamKind.STEP: DefinitionProblem.UNKNOWN_STEP,
    ParamKind.OUTCOME: DefinitionProblem.NOT_A_CHOICE,
}


def _members(place: Place, given: tuple[Binding, ...], expected: frozenset[str]) -> Iterator[DefinitionFault]:
    names = {each.name for each in given}
    for name in sorted(names - expected):
        yield DefinitionFault((*place, name), DefinitionProblem.UNKNOWN_PARAMETER)
    for name in sorted(expected - names):
        yield DefinitionFault((*place, name), DefinitionProblem.MISSING_PARAMETER)


def _twice(place: Place, given: tuple[Binding, ...]) -> Iterator[DefinitionFault]:
    names = [each.name for each in given]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield DefinitionFault((*place, name), DefinitionProblem.REPEATED)


def _unknown_names(place: Place, given: tuple[Binding, ...], names: frozenset[str]) -> Iterator[DefinitionFault]:
    for each in given:
        if names_in(each.value) - names:
            yield DefinitionFault((*place, each.name), DefinitionProblem.UNKNOWN_VARIABLE)


def _used_skills(definition: WorkflowDefinition, known: _Known) -> tuple[Skill, ...]:
    used = {step.skill_id for step in definition.steps if isinstance(step, SkillInvocationStep)}
    return tuple(known.skills[skill_id] for skill_id in sorted(used))
