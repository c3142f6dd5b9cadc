"""Performs what a plan's machine asks for, and tells what came of it.

Laws of this module:

- One command becomes one event. What an embedder's code raises becomes an end that claims nothing.
- Only what cannot be found out now raises: the run then stays as it is, to be taken up later.
"""

from collections.abc import Callable
from typing import Final, assert_never

from attrs import evolve, field, frozen

from surehand.core.orchestration.condition import STANDARD, Conditions, Scene, View, holds
from surehand.core.orchestration.definition import PlannedGoalStep
from surehand.core.orchestration.events import (
    Action,
    ActionEnded,
    CallEnded,
    CallTool,
    CancelAsked,
    CheckCondition,
    Command,
    ConditionChecked,
    Doubt,
    Event,
    LookedUp,
    LookUp,
    RunSkill,
    RunTask,
)
from surehand.core.orchestration.result import StepEnd, in_doubt
from surehand.core.orchestration.run import Moment, ToolEnd, WorkflowRun, view
from surehand.core.orchestration.skill import CompiledSkill
from surehand.core.orchestration.task import Task, TaskRunner, end_of_task
from surehand.core.orchestration.text import Binding, fitting
from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.identity import new_token
from surehand.shell.locks import boot_id
from surehand.shell.orchestration.tools import AccountableTasks, SceneSource, Tools, WorldSource
from surehand.shell.orchestration.workflows import Workflows

#: Seconds after which a wait looks whether somebody wishes that the run stops.
_LOOK_SECONDS: Final = 0.25

_THOUSAND: Final = 1000


class InterruptedWaitError(Exception):
    """The runner is being closed; the run stays as it is."""


@frozen(kw_only=True)
class Surroundings:
    """What the steps of plans work with.

    Args:
        workflows: The compiled workflows.
        tools: What templates may call.
        task_runner: Who works on goals, if anybody does.
        conditions: The kinds of conditions.
        scene: Sees what the page shows.
        world: Knows what is tracked of the app; default: the variables of the run.
        clock: Measures waits.
        boot: Which start of the machine this is.
    """

    workflows: Workflows
    tools: Tools = field(factory=Tools)
    task_runner: TaskRunner | None = None
    conditions: Conditions = STANDARD
    scene: SceneSource | None = None
    world: WorldSource | None = None
    clock: Clock = SYSTEM_CLOCK
    boot: str = field(factory=lambda: boot_id().decode("ascii", "replace") or new_token())

    def now(self) -> Moment:
        """The present moment, by a clock that nobody can set."""
        return Moment(self.boot, int(self.clock.monotonic() * _THOUSAND))


def perform(around: Surroundings, run: WorkflowRun, command: Command, is_stopping: Callable[[], bool]) -> Event:
    """Do what is asked for.

    Args:
        around: What steps work with.
        run: The run that asks, as it is saved.
        command: What it asks for.
        is_stopping: Whether somebody wishes that the run stops.

    Raises:
        StoreError: What came of it cannot be found out now.
        InterruptedWaitError: As ``is_stopping`` raises it.
    """
    match command:
        case RunSkill():
            end = around.workflows.run(command, _digest(run, command))
            return ActionEnded(at=command.at, end=end, now=around.now())
        case RunTask():
            return ActionEnded(at=command.at, end=_task(around, run, command), now=around.now())
        case CallTool():
            end_of_call = around.tools.call(command)
            return CallEnded(at=command.at, place=command.place, end=end_of_call, now=around.now())
        case LookUp(action):
            return LookedUp(at=action.at, found=_look_up(around, action), now=around.now())
        case CheckCondition():
            return _check(around, run, command, is_stopping)
        case _:  # pragma: no cover
            assert_never(command)


def _digest(run: WorkflowRun, command: RunSkill) -> str:
    skill = run.pinned.skill(command.skill_id)
    return skill.digest if isinstance(skill, CompiledSkill) else ""


def _task(around: Surroundings, run: WorkflowRun, command: RunTask) -> StepEnd:
    template = run.step.goal if isinstance(run.step, PlannedGoalStep) else None
    task = Task(id=command.task_id, goal=command.goal, goal_template=template, variables=run.variables)
    if around.task_runner is None:
        return in_doubt(command.task_id)
    try:
        return _end_of(around.task_runner.run(task), command)
    except Exception:  # noqa: BLE001 - an embedder's task runner may raise anything; what it did is unknown then
        return in_doubt(command.task_id)


def _look_up(around: Surroundings, action: Action) -> StepEnd | ToolEnd | Doubt:
    match action:
        case RunSkill():
            return around.workflows.look_up(action)
        case CallTool():
            return around.tools.look_up(action)
        case RunTask():
            return _look_up_task(around.task_runner, action)
        case _:  # pragma: no cover
            assert_never(action)


def _look_up_task(task_runner: TaskRunner | None, action: RunTask) -> StepEnd | Doubt:
    if not isinstance(task_runner, AccountableTasks):
        return Doubt.UNKNOWN
    try:
        found = task_runner.look_up(action.task_id)
        return found if isinstance(found, Doubt) else _end_of(found, action)
    except Exception:  # noqa: BLE001 - as above; what cannot be told is unknown
        return Doubt.UNKNOWN


def _end_of(task: Task, command: RunTask) -> StepEnd:
    """The end of a step by its task, under the task's own name whatever its runner calls it."""
    end = end_of_task(task)
    return evolve(end, reference=command.task_id, outputs=fitting(end.outputs))


def _check(around: Surroundings, run: WorkflowRun, command: CheckCondition, is_stopping: Callable[[], bool]) -> Event:
    end = around.clock.monotonic() + command.after / _THOUSAND
    while (left := end - around.clock.monotonic()) > 0:
        if is_stopping():
            return CancelAsked()
        around.clock.sleep(min(left, _LOOK_SECONDS))
    now = around.now()
    seen = view(run, now, scene=_scene(around, command), world=_world(around, run))
    return ConditionChecked(at=command.at, holds=_holds(around.conditions, command, seen), now=now)


def _holds(conditions: Conditions, command: CheckCondition, seen: View) -> bool:
    try:
        return holds(conditions, command.condition, seen)
    except Exception:  # noqa: BLE001 - an embedder's kind may raise anything; it is not satisfied then
        return False


def _scene(around: Surroundings, command: CheckCondition) -> Scene | None:
    kind = around.conditions.find(command.condition.kind)
    if around.scene is None or kind is None or not kind.sees:
        return None
    try:
        return around.scene()
    except Exception:  # noqa: BLE001 - as above; what cannot be seen satisfies nothing
        return None


def _world(around: Surroundings, run: WorkflowRun) -> tuple[Binding, ...] | None:
    if around.world is None:
        return run.variables
    try:
        return around.world()
    except Exception:  # noqa: BLE001 - as above
        return None
