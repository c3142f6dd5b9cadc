"""What a plan's machine is told, and what it asks for.

Laws of this module:

- An event says at which visit of which step it happened; one of another visit means nothing.
- An action names itself by an id that is derived from run, step and visit: asked for again, it is the same action.
"""

from enum import Enum, unique

from attrs import field, frozen

from surehand.core.orchestration.condition import ConditionSpec
from surehand.core.orchestration.result import StepEnd
from surehand.core.orchestration.run import Moment, ToolEnd
from surehand.core.orchestration.skill import Effects
from surehand.core.orchestration.text import Bindings


@frozen
class At:
    """A visit of a step."""

    step_id: str
    visit: int


# What is asked for.


@frozen(kw_only=True)
class RunSkill:
    """Run a compiled workflow under this request id."""

    at: At
    request_id: str
    skill_id: str
    inputs: Bindings = field(repr=False)


@frozen(kw_only=True)
class CallTool:
    """Call a tool; ``key`` is the same for every try of this call."""

    at: At
    place: int
    key: str
    tool: str
    effects: Effects
    arguments: Bindings = field(repr=False)


@frozen(kw_only=True)
class RunTask:
    """Give a goal to the task runner; ``task_id`` is the same for every try of this task."""

    at: At
    task_id: str
    goal: str = field(repr=False)


Action = RunSkill | CallTool | RunTask


@frozen
class LookUp:
    """Find out what became of an action that may have begun."""

    action: Action


@frozen(kw_only=True)
class CheckCondition:
    """Judge the condition of the step, after so many milliseconds."""

    at: At
    condition: ConditionSpec
    after: int


Command = Action | LookUp | CheckCondition


# What is told.


@unique
class Doubt(Enum):
    """What the records say of an action that may have begun, when they do not hold its end."""

    NOT_DELIVERED = "not_delivered"
    UNKNOWN = "unknown"


@frozen(kw_only=True)
class ActionEnded:
    """A run or a task ended."""

    at: At
    end: StepEnd
    now: Moment


@frozen(kw_only=True)
class CallEnded:
    """A tool's call ended."""

    at: At
    place: int
    end: ToolEnd
    now: Moment


@frozen(kw_only=True)
class LookedUp:
    """What the records say of the action in doubt: its end, or what is known without one."""

    at: At
    found: StepEnd | ToolEnd | Doubt
    now: Moment


@frozen(kw_only=True)
class ConditionChecked:
    """The condition of the step was judged."""

    at: At
    holds: bool
    now: Moment


@frozen
class Resumed:
    """Somebody took the run up."""

    now: Moment


@frozen
class CancelAsked:
    """Somebody wishes that the run stops."""


Event = ActionEnded | CallEnded | LookedUp | ConditionChecked | Resumed | CancelAsked
