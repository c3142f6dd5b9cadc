"""The machine that goes through a plan, one event at a time.

Laws of this module:

- Pure and total: ``advance`` answers every event, and one that is not of the present visit changes nothing.
- The run that is returned is saved before any command of it is performed. So an action was recorded as begun before it
  begins, and it is recorded as ended together with the beginning of the next.
- A step that ended never runs again. One that may have begun is looked up first, and only proof that it wrote nothing
  lets it run.
- A restored run acts no more by itself: each of its actions is looked up, and only the end of one that is known counts.
- A step in doubt stops the run for a person, whatever the definition says.
- A step that may have written, or waits for a person, or was ended by one, is never entered again: its next visit would
  be another request.
"""

from typing import Final, TypeGuard, assert_never

from attrs import evolve
from returns.result import Failure

from surehand.core.orchestration.definition import (
    END,
    BranchStep,
    PinnedDefinition,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    Way,
)
from surehand.core.orchestration.events import (
    Action,
    ActionEnded,
    At,
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
    Resumed,
    RunSkill,
    RunTask,
)
from surehand.core.orchestration.result import (
    MAX_RESULTS,
    StepEnd,
    StepFailure,
    WorkflowStepResult,
    changed_by_all,
    in_doubt,
    judged,
    passed,
    stopped,
)
from surehand.core.orchestration.run import Moment, RunStatus, Timer, ToolEnd, WorkflowRun
from surehand.core.orchestration.skill import Effects, FlowTemplateSkill, resolved
from surehand.core.orchestration.text import Binding, all_filled, bound, by_name, filled, fitting
from surehand.core.outcome.reasons import Outcome
from surehand.core.workflow.params import check_inputs

Step = tuple[WorkflowRun, tuple[Command, ...]]

_THOUSAND: Final = 1000

#: Of a step that ended so, a person says what becomes of it.
_FOR_A_PERSON: Final = frozenset({Outcome.NOT_SURE_IF_SAVED, Outcome.NEEDS_REVIEW})


def start(run_id: str, pinned: PinnedDefinition, inputs: dict[str, str], now: Moment) -> Step:
    """A new run, and what it asks for first.

    Args:
        run_id: Its id, never used before.
        pinned: What it goes through.
        inputs: The plan's parameters, checked; one that was left out is an empty text.
        now: The present moment.
    """
    first = pinned.definition.steps[0].step_id
    values = {each.name: inputs.get(each.name, "") for each in pinned.definition.parameters}
    timer = Timer.begun(now)
    run = WorkflowRun(
        id=run_id,
        pinned=pinned,
        status=RunStatus.RUNNING,
        current_step_id=first,
        visit=1,
        variables=bound(values),
        visits=tuple(int(each.step_id == first) for each in pinned.definition.steps),
        run_timer=timer,
        step_timer=timer,
    )
    return _gone_on(run, now)


def advance(run: WorkflowRun, event: Event) -> Step:
    """What becomes of a run by an event, and what it asks for then."""
    if run.status is not RunStatus.RUNNING or run.current_step_id is None:
        return run, ()
    match event:
        case Resumed(now):
            return _resumed(run, now)
        case CancelAsked():
            return _cancel_asked(run)
        case ActionEnded() | CallEnded() | LookedUp() | ConditionChecked():
            return _told(run, event) if event.at == _at(run) else (run, ())
        case _:  # pragma: no cover
            assert_never(event)


def parked(run: WorkflowRun) -> WorkflowRun:
    """The run as it is saved by one who performs none of its commands: its current step has not begun."""
    return evolve(run, begun=run.status is not RunStatus.RUNNING)


def _told(run: WorkflowRun, event: ActionEnded | CallEnded | LookedUp | ConditionChecked) -> Step:
    asked = _asked(run)
    match event, asked:
        case ConditionChecked(holds=holds, now=now), CheckCondition():
            return _checked(run, now, holds=holds)
        case ActionEnded(end=end, now=now), RunSkill() | RunTask():
            return _ended(run, end, now)
        case CallEnded(place=place, end=end, now=now), CallTool() if place == asked.place:
            return _call_ended(run, end, now)
        case LookedUp(found=found, now=now), RunSkill() | RunTask() | CallTool():
            return _looked_up(run, asked, found, now)
        case _:
            return run, ()


# What a step asks for.


def _asked(run: WorkflowRun) -> CheckCondition | Action | StepEnd:
    """What the current step asks for where it stands, or how it ends without asking for anything more."""
    step = run.step
    match step:
        case WaitForConditionStep() | BranchStep():
            return CheckCondition(at=_at(run), condition=step.condition, after=0)
        case PlannedGoalStep():
            goal = filled(step.goal, by_name(run.variables))
            if isinstance(goal, Failure):
                return stopped(StepFailure.VARIABLE_MISSING)
            return RunTask(at=_at(run), task_id=_name(run), goal=goal.unwrap())
        case SkillInvocationStep():
            args = all_filled(step.args, by_name(run.variables))
            if isinstance(args, Failure):
                return stopped(StepFailure.VARIABLE_MISSING)
            return _invocation(run, step, args.unwrap())
        case _:  # pragma: no cover
            assert_never(step)


def _invocation(run: WorkflowRun, step: SkillInvocationStep, args: dict[str, str]) -> Action | StepEnd:
    skill = run.pinned.skill(step.skill_id)
    if isinstance(skill, FlowTemplateSkill):
        calls = resolved(skill, args)
        return stopped(StepFailure.INVALID_INPUT) if isinstance(calls, Failure) else _call(run, skill, calls.unwrap())
    if isinstance(check_inputs(skill.parameters, args), Failure):
        return stopped(StepFailure.INVALID_INPUT)
    return RunSkill(at=_at(run), request_id=_name(run), skill_id=skill.skill_id, inputs=bound(args))


def _call(run: WorkflowRun, skill: FlowTemplateSkill, calls: tuple[dict[str, str], ...]) -> CallTool | StepEnd:
    """The next call of a template, or its end: a call that failed is the last."""
    place = len(run.calls)
    failed = any(not each.success for each in run.calls)
    if failed or place == len(calls):
        return _template_end(run, StepFailure.TOOL_FAILED, success=not failed)
    tool = run.pinned.tool(skill.calls[place].tool)
    return CallTool(
        at=_at(run),
        place=place,
        key=f"{_name(run)}.{place}",
        tool=tool.tool,
        effects=tool.effects,
        arguments=bound(calls[place]),
    )


def _template_end(run: WorkflowRun, failure: StepFailure, *, success: bool) -> StepEnd:
    outputs = by_name(tuple(each for call in run.calls for each in call.outputs))
    return judged(
        success=success,
        changed=changed_by_all(call.record_changed for call in run.calls),
        failure=failure,
        reference=_name(run),
        outputs=bound(outputs),
    )


def _at(run: WorkflowRun) -> At:
    return At(run.step.step_id, run.visit)


def visit_name(run_id: str, step_id: str, visit: int) -> str:
    """What a visit to a step is called wherever it acts, whoever asks."""
    return f"{run_id}.{step_id}.{visit}"


def _name(run: WorkflowRun) -> str:
    return visit_name(run.id, run.step.step_id, run.visit)


# What happens to a step.


def _checked(run: WorkflowRun, now: Moment, *, holds: bool) -> Step:
    step = run.step
    if isinstance(step, BranchStep):
        return _ended(run, passed(), now, Way.TRUE if holds else Way.FALSE)
    if holds or not isinstance(step, WaitForConditionStep):
        return _ended(run, passed(), now)
    left = step.timeout_seconds * _THOUSAND - run.step_timer.elapsed(now)
    if left <= 0:
        return _ended(run, stopped(StepFailure.TIMED_OUT), now)
    after = min(left, step.poll_interval_seconds * _THOUSAND)
    return run, (CheckCondition(at=_at(run), condition=step.condition, after=after),)


def _call_ended(run: WorkflowRun, end: ToolEnd, now: Moment) -> Step:
    told = evolve(run, calls=(*run.calls, evolve(end, outputs=fitting(end.outputs))))
    if run.cancel_asked and not isinstance(_asked(told), StepEnd):
        return _ended(told, _template_end(told, StepFailure.CANCELED, success=False), now)
    return _gone_on(told, now)


def _looked_up(run: WorkflowRun, asked: Action, found: StepEnd | ToolEnd | Doubt, now: Moment) -> Step:
    match found, asked:
        case Doubt.NOT_DELIVERED, _ if not run.restored:
            if run.cancel_asked:
                return _ended(run, _template_end(run, StepFailure.CANCELED, success=False), now)
            return run, (asked,)
        case ToolEnd(), CallTool():
            return _call_ended(run, found, now)
        case StepEnd(), RunSkill() | RunTask() if found.outcome is not Outcome.NOT_SURE_IF_SAVED:
            return _ended(run, found, now)
        case StepEnd(), RunSkill() | RunTask():
            return _ended(run, in_doubt(found.reference), now)
        case _:
            return _ended(run, in_doubt(_name(run)), now)


def _resumed(run: WorkflowRun, now: Moment) -> Step:
    """The run as it goes on from now; an action that may have begun and may have written is looked up first."""
    run = evolve(run, run_timer=run.run_timer.carried(now), step_timer=run.step_timer.carried(now))
    asked = _asked(run)
    if not run.begun:
        return _gone_on(evolve(run, begun=True), now)
    if not isinstance(asked, StepEnd) and _may_write(asked):
        return run, (LookUp(asked),)
    return _gone_on(run, now)


def _cancel_asked(run: WorkflowRun) -> Step:
    """A step that only looks stops at once; one that acts is waited for."""
    acts = isinstance(_asked(run), RunSkill | RunTask | CallTool)
    return evolve(run, cancel_asked=True, status=RunStatus.RUNNING if acts else RunStatus.CANCELED), ()


# From step to step.


def _ended(run: WorkflowRun, end: StepEnd, now: Moment, way: Way | None = None) -> Step:
    return _gone_on(_recorded(run, end, now, way), now)


def _gone_on(run: WorkflowRun, now: Moment) -> Step:
    """The run as far as it gets by itself, and what it asks for there."""
    while run.status is RunStatus.RUNNING:
        asked = _asked(run)
        if not isinstance(asked, StepEnd):
            return run, (LookUp(asked) if run.restored and _may_write(asked) else asked,)
        run = _recorded(run, asked, now, None)
    return run, ()


def _may_write(asked: CheckCondition | Action) -> TypeGuard[Action]:
    return not isinstance(asked, CheckCondition) and not (
        isinstance(asked, CallTool) and asked.effects is Effects.READS
    )


def _recorded(run: WorkflowRun, end: StepEnd, now: Moment, way: Way | None) -> WorkflowRun:
    """The run with the end of its current step, at the next one or stopped."""
    step_id = run.step.step_id
    result = WorkflowStepResult(step_id=step_id, visit=run.visit, end=end)
    run = evolve(run, step_results=(*run.step_results, result), variables=_with_outputs(run, end), calls=())
    target = None if _stops(run, end) else run.pinned.ways.get((step_id, way or _way(end)))
    if target is None:
        return evolve(run, status=_stopped_as(run, end))
    if target == END:
        return evolve(run, status=RunStatus.COMPLETED, current_step_id=None)
    return _entered(run, target, now)


def _stops(run: WorkflowRun, end: StepEnd) -> bool:
    return end.failure is StepFailure.IN_DOUBT or (run.cancel_asked and not end.success)


def _way(end: StepEnd) -> Way:
    return Way.NEXT if end.success else Way.FAILED


def _stopped_as(run: WorkflowRun, end: StepEnd) -> RunStatus:
    if end.outcome in _FOR_A_PERSON:
        return RunStatus.NEEDS_PERSON
    return RunStatus.CANCELED if run.cancel_asked else RunStatus.FAILED


def _entered(run: WorkflowRun, target: str, now: Moment) -> WorkflowRun:
    """The run at the beginning of a step; it stops there if somebody wished it, or when it may not be entered again."""
    place = run.pinned.places[target]
    visit = run.visits[place] + 1
    there = evolve(
        run,
        current_step_id=target,
        visit=visit,
        visits=(*run.visits[:place], visit, *run.visits[place + 1 :]),
        run_timer=run.run_timer.carried(now),
        step_timer=Timer.begun(now),
        status=RunStatus.CANCELED if run.cancel_asked else RunStatus.RUNNING,
    )
    bar = _bar(run, target)
    if bar is not None:
        return evolve(there, status=bar)
    limit = run.pinned.step(target).max_visits
    if len(run.step_results) < MAX_RESULTS and (limit is None or visit <= limit):
        return there
    too_often = WorkflowStepResult(step_id=target, visit=visit, end=stopped(StepFailure.VISIT_LIMIT))
    return evolve(there, step_results=(*run.step_results, too_often), status=RunStatus.FAILED)


def _bar(run: WorkflowRun, step_id: str) -> RunStatus | None:
    """How the run ends at a step whose latest visit left something to a person, or must not be made again."""
    latest = next((each.end for each in reversed(run.step_results) if each.step_id == step_id), None)
    if latest is None:
        return None
    if latest.outcome in _FOR_A_PERSON:
        return RunStatus.NEEDS_PERSON
    return RunStatus.FAILED if latest.failure is StepFailure.NOT_AGAIN else None


def _with_outputs(run: WorkflowRun, end: StepEnd) -> tuple[Binding, ...]:
    """The variables with what the step declares to take of what was found; what was not found stays as it was."""
    step = run.step
    if not isinstance(step, PlannedGoalStep | SkillInvocationStep) or not step.outputs:
        return run.variables
    found = by_name(end.outputs)
    taken = {each.name: found[each.value] for each in step.outputs if each.value in found}
    return bound({**by_name(run.variables), **taken})
