"""What a step of a plan can invoke: a compiled workflow, a template of tool calls, or a text that only informs.

Laws of this module:

- A template is resolved whole before its first call: every parameter was given and fits, every name has its text.
- Whether a tool may change anything is said by the tool, never by the template that calls it.
- A template calls tools in its order and cannot use what one of them answered.
"""

from enum import Enum, unique
from typing import Annotated

from attrs import field, frozen
from returns.result import Failure, Result, Success

from surehand.core.orchestration.text import Bindings, Name, all_filled
from surehand.core.schema import Items, Text
from surehand.core.signature import Digest
from surehand.core.workflow.params import Parameter, check_inputs

Parameters = Annotated[tuple[Parameter, ...], Items(max_items=100)]
_Title = Annotated[str, Text(max_length=200)]


@unique
class Effects(Enum):
    """Whether a tool may change a record."""

    READS = "reads"
    WRITES = "writes"


@frozen(kw_only=True)
class ToolSpec:
    """A tool that templates may call: its name, its arguments by name, and what it may do."""

    tool: Name
    arguments: Annotated[tuple[Name, ...], Items(max_items=50)]
    effects: Effects


@frozen(kw_only=True)
class ToolCall:
    """One call of a template; ``{name}`` in an argument stands for a parameter."""

    tool: Name
    args: Bindings = field(default=(), repr=False)


@frozen(kw_only=True)
class FlowTemplateSkill:
    """A list of tool calls with parameters."""

    skill_id: Name
    title: _Title = ""
    parameters: Parameters = ()
    calls: Annotated[tuple[ToolCall, ...], Items(max_items=100)]


@frozen(kw_only=True)
class KnowledgeSkill:
    """A text for whoever plans; nothing can execute it."""

    skill_id: Name
    text: Annotated[str, Text(max_length=20_000)]


@frozen(kw_only=True)
class CompiledSkill:
    """A compiled workflow that is served here, in exactly this version."""

    skill_id: Name
    parameters: Parameters
    digest: Digest


Skill = CompiledSkill | FlowTemplateSkill | KnowledgeSkill
Invocable = CompiledSkill | FlowTemplateSkill


def resolved(skill: FlowTemplateSkill, arguments: dict[str, str]) -> Result[tuple[dict[str, str], ...], frozenset[str]]:
    """The arguments of every call of a template, or the names of parameters that do not fit."""
    checked = check_inputs(skill.parameters, arguments)
    if isinstance(checked, Failure):
        return Failure(frozenset(problem.input for problem in checked.failure()))
    values = checked.unwrap()
    given = {each.name: values.get(each.name, "") for each in skill.parameters}
    calls = [all_filled(call.args, given) for call in skill.calls]
    missing = [call.failure() for call in calls if isinstance(call, Failure)]
    if missing:
        return Failure(frozenset[str]().union(*missing))
    return Success(tuple(call.unwrap() for call in calls))
