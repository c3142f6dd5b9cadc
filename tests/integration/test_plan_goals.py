"""Goals in a real browser, on the clinic, and as a step of a plan.

Laws:

- What is found is a variable of the plan's next step.
- No write leaves, whatever a planner does: the app's own records say so, and the fence measured it.
- Every task ends as a task, with a closed code and nothing left running.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from attrs import define, evolve

from support.browser import eventually, family
from support.goals import FIND, SAVE, SIGN_IN, Line, ScriptedPlanner, clinic, journals
from support.plans import definition
from support.sandbox import Oracle, Person
from surehand.core.orchestration.definition import PlannedGoalStep, SkillInvocationStep
from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.goals import MAX_STEPS, GoalAction, History, Observation, OpenPath, Planner
from surehand.core.orchestration.result import StepFailure
from surehand.core.orchestration.run import RunStatus, WorkflowRun
from surehand.core.orchestration.task import Task, TaskStatus
from surehand.core.orchestration.text import Binding, bound, by_name
from surehand.core.outcome.evidence import Delivery
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.fence.journal import read_delivery
from surehand.shell.orchestration.goals import BrowserTaskRunner
from surehand.shell.orchestration.opening import open_plans
from surehand.shell.sandbox.workflow import sandbox_bundle

TASK = Task(id="task/1", goal="Find the referral of Ada Example.")

App = tuple[AppTarget, Oracle]

#: Long waits for what does come, also on a busy machine.
PATIENT = Limits(wait_ms=20_000, fresh_ms=60_000, rest_ms=20_000)


@pytest.fixture(scope="module")
def app() -> Generator[App]:
    """One clinic for all."""
    with clinic() as running:
        yield running


@define
class Raising:
    """A planner that breaks."""

    def decide(self, task: Task, observation: Observation, history: History) -> GoalAction:
        """Break."""
        del observation, history
        raise RuntimeError(task.goal)


def runner(target: AppTarget, folder: Path, planner: Planner) -> BrowserTaskRunner:
    """A task runner on the clinic, in which the sign-in alone may be sent."""
    return BrowserTaskRunner(
        target.origin, planner, journals(folder), harmless_writes=sandbox_bundle().harmless_writes, limits=PATIENT
    )


def saves(oracle: Oracle) -> int:
    """How many saves have arrived at the app, by its own count."""
    return sum(count for request, count in oracle.writes().items() if request.endswith("/notes"))


class TestAGoalFeedsTheNextStep:
    """A plan finds the referral in a browser, and its next step says what was found."""

    def test_in_a_plan(self, app: App, tmp_path: Path) -> None:
        target, _ = app
        plan = evolve(
            definition(
                PlannedGoalStep(step_id="find", goal=TASK.goal, outputs=(Binding("number", "record_number"),)),
                SkillInvocationStep(
                    step_id="note",
                    skill_id="add_triage_note",
                    args=bound({"note": "Seen: {number}", "sandbox_case": "normal"}),
                ),
            ),
            skills=(),
        )
        planner = ScriptedPlanner(FIND)
        with open_plans(tmp_path, "simulated", task_runner=runner(target, tmp_path, planner)) as plans:
            run = plans.run(plan)

        assert isinstance(run, WorkflowRun)
        assert (RunStatus.COMPLETED, "SYN-1042") == (run.status, by_name(run.variables)["number"])
        assert [(Outcome.DONE, RecordChanged.NO), (Outcome.DONE, RecordChanged.YES)] == [
            (each.end.outcome, each.end.record_changed) for each in run.step_results
        ]
        assert [] == [taken.fault for taken in planner.histories[-1] if taken.fault is not None]


class TestNoWriteLeaves:
    """A planner that tries to save is stopped by the fence, and the task says so."""

    def test_a_save_is_stopped(self, app: App, tmp_path: Path) -> None:
        target, oracle = app
        before, notes = saves(oracle), oracle.notes()
        tasks = runner(target, tmp_path, ScriptedPlanner(SAVE))
        task = tasks.run(TASK)

        assert (TaskStatus.FAILED, "write_stopped", RecordChanged.NO, ()) == (
            task.status,
            task.failure_reason,
            task.record_changed,
            task.outputs,
        )
        assert (before, notes) == (saves(oracle), oracle.notes())
        assert [Delivery.NOT_SENT] == [
            read_delivery(journals(tmp_path), path.stem) for path in journals(tmp_path).iterdir()
        ]
        assert Doubt.NOT_DELIVERED is tasks.look_up(TASK.id)

    def test_without_permission_not_even_the_sign_in_leaves(self, app: App, tmp_path: Path) -> None:
        target, oracle = app
        before = oracle.writes()
        task = BrowserTaskRunner(target.origin, ScriptedPlanner(SIGN_IN), journals(tmp_path), limits=PATIENT).run(TASK)

        assert ("write_stopped", before) == (task.failure_reason, oracle.writes())

    def test_a_save_of_a_person_is_seen_by_the_same_count(self, app: App) -> None:
        target, oracle = app
        before, person = saves(oracle), Person(target.origin)
        person.sign_in("normal")
        person.save("A note of a person", referral="r-101")

        assert before + 1 == saves(oracle)


class TestEveryTaskEnds:
    """A planner that loops, gives nothing or finds no app ends its task by a code, and nothing is left running."""

    def test_a_planner_that_loops(self, app: App, tmp_path: Path) -> None:
        again: Line = lambda _: OpenPath("/sign-in")  # noqa: E731 - as short as a name for it
        planner = ScriptedPlanner((again,) * (2 * MAX_STEPS))
        task = runner(app[0], tmp_path, planner).run(TASK)

        assert ("out_of_steps", RecordChanged.NO, MAX_STEPS) == (
            task.failure_reason,
            task.record_changed,
            planner.asked,
        )

    def test_a_planner_that_raises(self, app: App, tmp_path: Path) -> None:
        task = runner(app[0], tmp_path, Raising()).run(TASK)

        assert ("not_understood", RecordChanged.NO) == (task.failure_reason, task.record_changed)
        assert eventually(lambda: not [each for each in family(os.getpid()) if "fence" in each.command])

    def test_an_app_that_is_not_there(self, tmp_path: Path) -> None:
        planner = ScriptedPlanner(())
        task = BrowserTaskRunner("http://127.0.0.1:9", planner, journals(tmp_path)).run(TASK)

        assert ("page_unreachable", RecordChanged.NO, 0) == (task.failure_reason, task.record_changed, planner.asked)

    def test_a_plan_whose_goal_failed_stops_there(self, app: App, tmp_path: Path) -> None:
        plan = evolve(definition(PlannedGoalStep(step_id="find", goal=TASK.goal)), skills=())
        with open_plans(tmp_path, "simulated", task_runner=runner(app[0], tmp_path, Raising())) as plans:
            run = plans.run(plan)

        assert isinstance(run, WorkflowRun)
        (only,) = run.step_results
        assert (RunStatus.FAILED, Outcome.DID_NOT_RUN, StepFailure.TASK_FAILED, RecordChanged.NO) == (
            run.status,
            only.end.outcome,
            only.end.failure,
            only.end.record_changed,
        )


class TestWhatBecameOfATask:
    """The journals say it; one that cannot be read proves nothing."""

    def test_a_task_that_was_never_begun(self, tmp_path: Path) -> None:
        assert Doubt.NOT_DELIVERED is BrowserTaskRunner("http://a.example", Raising(), tmp_path).look_up("t")

    def test_a_journal_that_says_more(self, app: App, tmp_path: Path) -> None:
        tasks = runner(app[0], tmp_path, Raising())
        tasks.run(TASK)
        (journal,) = journals(tmp_path).iterdir()
        journal.write_bytes(b"torn")

        assert Doubt.UNKNOWN is tasks.look_up(TASK.id)

    def test_an_origin_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="origin"):
            BrowserTaskRunner("clinic", Raising(), tmp_path)
