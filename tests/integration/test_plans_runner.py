"""The runner of plans, on a real store: in order, on either way, taken up again, refused, canceled, closed.

Laws:

- A step that ended never runs again, whoever takes the run up.
- What changed since a run began refuses it, with the step named; nothing is done then.
- One flushed commit for each step.
- A wish to stop counts at the next boundary, whichever process has it.
"""

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from attrs import evolve, field, frozen

from support.plans import (
    PEEK,
    POKE,
    TOLD,
    Answer,
    App,
    AppTool,
    AppWorkflows,
    CrashError,
    Fate,
    VirtualClock,
    around,
    branch,
    crashing,
    definition,
    goal,
    template,
    wait,
    write,
)
from surehand.core.orchestration.check import DefinitionProblem
from surehand.core.orchestration.condition import STANDARD, ConditionKind, ConditionSpec, Scene
from surehand.core.orchestration.definition import (
    END,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    WorkflowDefinition,
)
from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.result import StepFailure
from surehand.core.orchestration.run import RunStatus, ToolEnd, WorkflowRun, outcome_of
from surehand.core.orchestration.skill import ToolSpec
from surehand.core.orchestration.task import Task, TaskStatus
from surehand.core.orchestration.text import Binding, bound
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.request.keys import NotARequestIdError
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.tools import Tools
from surehand.shell.store import sqlite_file

LINEAR = definition(goal("find"), write("note"), wait("settled"), goal("leave"))


def ran(told: WorkflowRun | RunRefused | None) -> WorkflowRun:
    """The run that was told."""
    assert isinstance(told, WorkflowRun), told
    return told


def names(run: WorkflowRun) -> list[str]:
    """The steps that ended."""
    return [result.step_id for result in run.step_results]


@frozen
class Definitions:
    """The definitions of today."""

    today: WorkflowDefinition | None

    def find(self, definition_id: str) -> WorkflowDefinition | None:
        """The one that there is."""
        return self.today if self.today is not None and self.today.definition_id == definition_id else None


def dies(folder: Path, app: App, plan: WorkflowDefinition, *fates: Fate, request_id: str | None = None) -> str:
    """A run whose process dies."""
    app.fates = list(fates)
    with crashing(WorkflowRunner(folder, around(app, VirtualClock())), folder, app) as runner:
        with pytest.raises(CrashError):
            runner.run(plan, request_id=request_id)
        return runner.runs(1)[0].run_id


class TestInOrder:
    """Steps of all kinds follow each other, and the whole claims what its weakest step allows."""

    def test_from_the_first_to_the_last(self, tmp_path: Path) -> None:
        app = App()
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            run = ran(runner.run(LINEAR))

        assert (RunStatus.COMPLETED, ["find", "note", "settled", "leave"]) == (run.status, names(run))
        assert {f"{run.id}.find.1": 1, f"{run.id}.note.1": 1, f"{run.id}.leave.1": 1} == dict(app.effects)
        assert Outcome.DONE is outcome_of(run).outcome

    @pytest.mark.parametrize(("holds", "way"), [(True, ["which", "yes"]), (False, ["which", "no"])])
    def test_either_way_of_a_branch(self, tmp_path: Path, holds: bool, way: list[str]) -> None:
        plan = definition(
            branch("which", "yes", "no", holds=holds), evolve(write("yes"), next_step_id=END), write("no")
        )
        with WorkflowRunner(tmp_path, around(App(), VirtualClock())) as runner:
            assert way == names(ran(runner.run(plan)))

    def test_a_wait_whose_time_is_over(self, tmp_path: Path) -> None:
        clock = VirtualClock()
        with WorkflowRunner(tmp_path, around(App(), clock)) as runner:
            run = ran(runner.run(definition(wait("a", holds=False), write("b"))))

        assert (RunStatus.FAILED, StepFailure.TIMED_OUT) == (run.status, run.step_results[0].end.failure)
        assert 5 <= clock.seconds < 6
        assert (Outcome.DID_NOT_RUN, RecordChanged.NO) == (outcome_of(run).outcome, outcome_of(run).record_changed)

    def test_a_template_calls_its_tools(self, tmp_path: Path) -> None:
        app = App()
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            run = ran(runner.run(definition(template("a"))))

        assert {f"{run.id}.a.1.1": 1, f"{run.id}.a.1.2": 1} == dict(app.effects)

    def test_a_save_that_nobody_is_sure_of(self, tmp_path: Path) -> None:
        app = App(answers=[Answer.NOT_SURE])
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            run = ran(runner.run(definition(write("a"), write("b"))))

        assert (RunStatus.NEEDS_PERSON, "a") == (run.status, run.current_step_id)
        assert Outcome.NOT_SURE_IF_SAVED is outcome_of(run).outcome

    def test_one_flushed_commit_for_each_step(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits
        settings: list[int] = []

        def counted(link: sqlite3.Connection) -> None:
            settings.extend(link.execute("PRAGMA synchronous").fetchone())
            commit(link)

        with WorkflowRunner(tmp_path, around(App(), VirtualClock())) as runner:
            runner.run(definition(wait("a")))
            monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", counted)
            runner.run(LINEAR)

        assert [2] * (1 + len(LINEAR.steps)) == settings


class TestErrorsOfCommit:
    """An error of COMMIT is no rollback: the run goes on as it is on disk, and nothing is done twice."""

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    @pytest.mark.parametrize("which", range(6))
    def test_one_error_at_any_step(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int, after: bool
    ) -> None:
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits
        left = iter(range(1000))

        def failing(link: sqlite3.Connection) -> None:
            if next(left) != which:
                return commit(link)
            if after:
                commit(link)
            raise sqlite3.OperationalError("disk I/O error")

        app = App()
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            runner.run(definition(wait("a")))
            monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", failing)
            run = ran(runner.run(LINEAR, request_id="entry-1"))
            assert run == runner.get(run.id)

        assert (RunStatus.COMPLETED, [1, 1, 1]) == (run.status, list(app.effects.values()))

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_of_taking_up_and_of_a_wish(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(write("a")), Fate.DIES_BEFORE)
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above
        left = iter(range(1000))

        def failing(link: sqlite3.Connection) -> None:
            fails = next(left) in {0, 2}
            if after or not fails:
                commit(link)
            if fails:
                raise sqlite3.OperationalError("disk I/O error")

        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            runner.runs(1)
            monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", failing)
            assert runner.cancel(run_id)
            assert RunStatus.CANCELED is ran(runner.resume(run_id)).status
        assert not app.effects


class TestTakenUp:
    """A fresh runner on the same file goes on where the last one died, and repeats nothing."""

    @pytest.mark.parametrize("lives", range(6))
    def test_after_a_death_at_any_moment(self, tmp_path: Path, lives: int) -> None:
        app = App()
        run_id = dies(tmp_path, app, LINEAR, *[Fate.LIVES] * lives, Fate.DIES_AFTER)
        app.fates = []
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            assert (run_id,) == runner.abandoned()
            run = ran(runner.resume(run_id))
            again = runner.resume(run_id)

        assert {1} == set(app.effects.values())
        assert run == again
        # Nobody can look up a goal that may have begun; a workflow anybody.
        assert run.status is (RunStatus.NEEDS_PERSON if lives in {0, 4, 5} else RunStatus.COMPLETED)

    def test_what_was_proven_not_delivered_runs(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(write("a")), Fate.DIES_BEFORE)
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            assert RunStatus.COMPLETED is ran(runner.resume(run_id)).status

        assert {f"{run_id}.a.1": 1} == dict(app.effects)

    def test_what_nobody_knows_is_left_to_a_person(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(write("a", if_failed="b"), write("b")), Fate.DIES_UNTOLD)
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            run = ran(runner.resume(run_id))
            assert run == runner.resume(run_id)

        assert (RunStatus.NEEDS_PERSON, "a") == (run.status, run.current_step_id)
        assert {f"{run_id}.a.1": 1} == dict(app.effects)

    def test_a_long_run_is_read_back_as_it_was(self, tmp_path: Path) -> None:
        plan = definition(evolve(wait("a"), next_step_id="b"), evolve(branch("b", "a", END), max_visits=40))
        with WorkflowRunner(tmp_path, around(App(), VirtualClock())) as runner:
            run = ran(runner.run(plan))
            assert run == runner.get(run.id)

        assert 82 == len(run.step_results)

    def test_an_unknown_run_is_refused(self, tmp_path: Path) -> None:
        with WorkflowRunner(tmp_path, around(App(), VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.UNKNOWN_RUN) == runner.resume("plan_" + "0" * 32)
            assert runner.get("plan_" + "0" * 32) is None


class TestWhatChanged:
    """A changed definition, a missing step or a newer schema refuses, with the step named, and nothing is done."""

    PLAN = definition(write("a"), write("b"), wait("c"))

    @pytest.mark.parametrize(
        ("today", "code", "step_id"),
        [
            (None, PlanRefusal.DEFINITION_MISSING, "a"),
            (evolve(PLAN, title="Another"), PlanRefusal.DEFINITION_CHANGED, "a"),
            (definition(write("a"), write("b")), PlanRefusal.DEFINITION_CHANGED, "c"),
            (definition(write("a"), goal("b"), wait("c")), PlanRefusal.DEFINITION_CHANGED, "b"),
            (
                definition(write("a"), evolve(write("b"), skill_id="gone"), wait("c")),
                PlanRefusal.DEFINITION_CHANGED,
                "b",
            ),
        ],
    )
    def test_of_the_definition(
        self, tmp_path: Path, today: WorkflowDefinition | None, code: PlanRefusal, step_id: str
    ) -> None:
        app = App()
        run_id = dies(tmp_path, app, self.PLAN, Fate.DIES_BEFORE)
        with WorkflowRunner(tmp_path, around(app, VirtualClock()), Definitions(today)) as runner:
            refused = runner.resume(run_id)
            assert isinstance(refused, RunRefused)

        assert (code, step_id, 0) == (refused.code, refused.step_id, sum(app.effects.values()))
        with WorkflowRunner(tmp_path, around(app, VirtualClock()), Definitions(self.PLAN)) as runner:
            assert RunStatus.COMPLETED is ran(runner.resume(run_id)).status

    def test_of_a_tool(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(wait("w"), template("a")), Fate.LIVES, Fate.DIES_BEFORE)
        other = Tools((AppTool(app, evolve(POKE, effects=PEEK.effects)), AppTool(app, TOLD), AppTool(app, PEEK)))
        with WorkflowRunner(tmp_path, evolve(around(app, VirtualClock()), tools=other)) as runner:
            assert RunRefused(code=PlanRefusal.DEFINITION_CHANGED, step_id="a") == runner.resume(run_id)

    def test_of_what_a_newer_version_pinned(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, self.PLAN, Fate.DIES_BEFORE)
        with closing(sqlite3.connect(tmp_path / "plans.db")) as link:
            link.execute("DROP TRIGGER definitions_never_change")
            link.execute("UPDATE workflow_definitions SET pinned = replace(pinned, 'plan/v1', 'plan/v2')")
            link.execute(
                "CREATE TRIGGER definitions_never_change BEFORE UPDATE ON workflow_definitions "
                "BEGIN SELECT RAISE(ABORT, 'a pinned definition never changes'); END"
            )
            link.commit()
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.NEWER_SCHEMA, step_id="a") == runner.resume(run_id)
            assert runner.get(run_id) is None

    def test_of_the_file(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, self.PLAN, Fate.DIES_BEFORE)
        with closing(sqlite3.connect(tmp_path / "plans.db")) as link:
            link.execute("PRAGMA user_version = 99")
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.NEWER_SCHEMA) == runner.resume(run_id)
            assert RunRefused(code=PlanRefusal.NEWER_SCHEMA) == runner.run(self.PLAN)

    def test_a_copied_file_goes_nowhere(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path / "one", app, self.PLAN, Fate.DIES_BEFORE)
        (tmp_path / "two").mkdir(0o700)
        for name in ("plans.db", "plans.seal"):
            (tmp_path / "two" / name).write_bytes((tmp_path / "one" / name).read_bytes())
        with WorkflowRunner(tmp_path / "two", around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.STORE_UNAVAILABLE) == runner.resume(run_id)
        assert not app.effects


class TestRequests:
    """The same request begins one run; with anything else under its id it begins none."""

    NOTED = evolve(definition(write("a")), parameters=(Parameter(name="note", type=ParameterType.LINE, title="Note"),))

    def test_the_same_request_is_the_same_run(self, tmp_path: Path) -> None:
        app = App()
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            first = runner.run(self.NOTED, {"note": "x"}, "entry-1")
            assert first == runner.run(self.NOTED, {"note": "x"}, "entry-1")
            assert 1 == sum(app.effects.values())
            assert RunRefused(code=PlanRefusal.REQUEST_ID_CONFLICT) == runner.run(self.NOTED, {"note": "y"}, "entry-1")
            other = evolve(self.NOTED, title="Other")
            assert RunRefused(code=PlanRefusal.REQUEST_ID_CONFLICT) == runner.run(other, {"note": "x"}, "entry-1")

    def test_a_dead_run_is_told_as_it_stands(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(write("a")), Fate.DIES_BEFORE, request_id="entry-1")
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            again = ran(runner.run(definition(write("a")), request_id="entry-1"))

        assert (run_id, RunStatus.RUNNING) == (again.id, again.status)
        assert not app.effects

    def test_bad_inputs_begin_nothing(self, tmp_path: Path) -> None:
        with WorkflowRunner(tmp_path, around(App(), VirtualClock())) as runner:
            refused = runner.run(self.NOTED, {})
            assert isinstance(refused, RunRefused)
            assert (PlanRefusal.INVALID_INPUT, ["note"]) == (
                refused.code,
                [problem.input for problem in refused.input_problems],
            )
            faulty = runner.run(evolve(definition(write("a")), steps=(write("a"), write("a"))))
            assert isinstance(faulty, RunRefused)
            assert DefinitionProblem.REPEATED in {each.problem for each in faulty.faults}
            with pytest.raises(NotARequestIdError):
                runner.run(self.NOTED, {"note": "x"}, "not an id")
        assert not (tmp_path / "plans.db").exists()


@frozen
class Stoppable(AppWorkflows):
    """Workflows that are asked to stop."""

    asked: list[str] = field(factory=list[str])

    def cancel(self, request_id: str) -> None:
        """Note the wish."""
        self.asked.append(request_id)


class TestCanceling:
    """A wish to stop is kept on disk and counts at the next boundary."""

    def test_a_wait_stops(self, tmp_path: Path) -> None:
        app, clock = App(), VirtualClock()
        plan = definition(write("a"), wait("b", holds=False), write("c"))
        with (
            WorkflowRunner(tmp_path, around(app, clock)) as runner,
            WorkflowRunner(tmp_path, around(app, clock)) as other,
        ):
            app.meanwhile.append(lambda: other.cancel(runner.runs(1)[0].run_id))
            run = ran(runner.run(plan))

        assert (RunStatus.CANCELED, "b", ["a"]) == (run.status, run.current_step_id, names(run))

    def test_a_wish_during_a_wait_is_seen(self, tmp_path: Path) -> None:
        clock = VirtualClock()
        waiting = WaitForConditionStep(
            step_id="a",
            condition=ConditionSpec(kind="elapsed_seconds", params=bound({"seconds": "1000000"})),
            timeout_seconds=1_000_000,
            poll_interval_seconds=1000,
        )
        with (
            WorkflowRunner(tmp_path, around(App(), clock)) as runner,
            WorkflowRunner(tmp_path, around(App(), clock)) as other,
        ):
            run_id = ran(runner.start(definition(waiting))).id
            assert other.cancel(run_id)
            run = runner.watch(run_id, 120)

        assert run is not None
        assert (RunStatus.CANCELED, False) == (run.status, other_cancel(tmp_path, run_id))

    def test_what_acts_is_asked_to_stop_and_waited_for(self, tmp_path: Path) -> None:
        app = App()
        workflows = Stoppable(app)
        surroundings = evolve(around(app, VirtualClock()), workflows=workflows)
        with WorkflowRunner(tmp_path, surroundings) as runner:
            app.meanwhile.append(lambda: runner.cancel(runner.runs(1)[0].run_id))
            run = ran(runner.run(definition(write("a"), write("b"))))

        assert ([f"{run.id}.a.1"], 1) == (workflows.asked, sum(app.effects.values()))
        assert (RunStatus.CANCELED, "b", ["a"]) == (run.status, run.current_step_id, names(run))
        assert Outcome.NOT_SURE_IF_SAVED is outcome_of(run).outcome

    def test_a_wish_for_a_dead_run_counts_when_it_is_taken_up(self, tmp_path: Path) -> None:
        app = App()
        run_id = dies(tmp_path, app, definition(write("a")), Fate.DIES_BEFORE)
        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as runner:
            assert runner.cancel(run_id)
            run = ran(runner.resume(run_id))

        assert (RunStatus.CANCELED, 0) == (run.status, sum(app.effects.values()))


def other_cancel(folder: Path, run_id: str) -> bool:
    """Whether a run that ended can still be canceled."""
    with WorkflowRunner(folder, around(App(), VirtualClock())) as runner:
        return runner.cancel(run_id)


class TestClosing:
    """A runner that is closed leaves its runs where they stand: what ended is kept, and nothing more begins."""

    def test_what_had_not_begun_needs_no_look(self, tmp_path: Path) -> None:
        app = App()
        runner = WorkflowRunner(tmp_path, around(app, VirtualClock()))
        closed = threading.Thread(target=runner.close)

        def closing_begins() -> None:
            closed.start()
            while not runner._closing:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what the other thread sets
                threading.Event().wait(0.001)

        app.meanwhile.append(closing_begins)
        run = ran(runner.run(definition(goal("a"), goal("b"))))
        closed.join()
        assert (["a"], RunStatus.RUNNING) == (names(run), run.status)

        with WorkflowRunner(tmp_path, around(app, VirtualClock())) as other:
            assert RunStatus.COMPLETED is ran(other.resume(run.id)).status
        assert {f"{run.id}.a.1": 1, f"{run.id}.b.1": 1} == dict(app.effects)

    def test_a_closed_runner_begins_nothing(self, tmp_path: Path) -> None:
        runner = WorkflowRunner(tmp_path, around(App(), VirtualClock()))
        runner.close()

        assert RunRefused(code=PlanRefusal.CLOSED) == runner.run(definition(wait("a")))


class Broken:
    """An embedder's code that raises whatever it is asked."""

    spec = POKE

    def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
        """Raise."""
        raise RuntimeError(key, arguments)

    def look_up(self, key: str) -> ToolEnd | Doubt:
        """Raise."""
        raise RuntimeError(key)

    def run(self, task: Task) -> Task:
        """Raise."""
        raise RuntimeError(task)


def raises() -> Any:  # noqa: ANN401 - it never answers
    """Raise."""
    raise RuntimeError


class TestWhatEmbeddersRaise:
    """It ends nothing but the step, and the step claims nothing."""

    def surroundings(self, app: App) -> Surroundings:
        broken = Broken()
        tools = Tools((broken, AppTool(app, TOLD), AppTool(app, PEEK)))
        return evolve(around(app, VirtualClock()), tools=tools, task_runner=broken, scene=raises, world=raises)

    @pytest.mark.parametrize("step", [template("a"), goal("a")])
    def test_of_what_may_have_acted(self, tmp_path: Path, step: WaitForConditionStep) -> None:
        with WorkflowRunner(tmp_path, self.surroundings(App())) as runner:
            run = ran(runner.run(definition(step)))

        assert (RunStatus.NEEDS_PERSON, Outcome.NOT_SURE_IF_SAVED) == (run.status, outcome_of(run).outcome)

    @pytest.mark.parametrize(
        "spec",
        [
            ConditionSpec(kind="scene_contains_text", params=bound({"text": "Saved"})),
            ConditionSpec(kind="world_variable_equals", params=bound({"name": "a", "value": "b"})),
            ConditionSpec(kind="moody"),
        ],
    )
    def test_of_what_is_only_looked_at(self, tmp_path: Path, spec: ConditionSpec) -> None:
        moody = ConditionKind(kind="moody", params={}, holds=lambda _params, _view: raises())
        surroundings = evolve(self.surroundings(App()), conditions=STANDARD.added(moody))
        with WorkflowRunner(tmp_path, surroundings) as runner:
            run = ran(runner.run(definition(WaitForConditionStep(step_id="a", condition=spec, timeout_seconds=1))))

        assert StepFailure.TIMED_OUT is run.step_results[0].end.failure


@frozen
class Talkative:
    """An embedder's code that finds what cannot be kept, beside what can."""

    spec: ToolSpec
    found: tuple[Binding, ...] = (
        Binding("seen", "x"),
        Binding("long", "x" * 20_001),
        Binding("broken", "\ud800"),
        Binding("Not a name", "x"),
    )

    def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
        """Find all of it."""
        assert arguments or key
        return ToolEnd(success=True, record_changed=RecordChanged.NO, outputs=self.found)

    def run(self, task: Task) -> Task:
        """Find all of it, and call the task as nobody asked."""
        ended = Task(id="run_of somebody", goal=task.goal, status=TaskStatus.SUCCEEDED, outputs=self.found)
        return evolve(ended, record_changed=RecordChanged.NO)


class TestWhatEmbeddersFind:
    """What cannot be kept is left out, so that a run can always be read back."""

    TAKES = tuple(Binding(name, name) for name in ("broken", "long", "seen"))

    @pytest.mark.parametrize("step", [goal("a"), template("a")])
    def test_what_can_be_kept_is(self, tmp_path: Path, step: PlannedGoalStep | SkillInvocationStep) -> None:
        app = App(fates=[Fate.DIES_BEFORE])
        tools = Tools(tuple(Talkative(each) for each in (PEEK, POKE, TOLD)))
        surroundings = evolve(around(app, VirtualClock()), tools=tools, task_runner=Talkative(POKE))
        with crashing(WorkflowRunner(tmp_path, surroundings), tmp_path, app) as runner:
            with pytest.raises(CrashError):
                runner.run(definition(evolve(step, outputs=self.TAKES), write("b")))
            run_id = runner.runs(1)[0].run_id
        with WorkflowRunner(tmp_path, surroundings) as runner:
            kept = ran(runner.get(run_id))
            run = ran(runner.resume(run_id))

        assert RunStatus.RUNNING is kept.status
        if isinstance(step, SkillInvocationStep):
            assert (RunStatus.COMPLETED, (Binding("seen", "x"),)) == (run.status, run.variables)

    def test_what_a_task_found(self, tmp_path: Path) -> None:
        surroundings = evolve(around(App(), VirtualClock()), task_runner=Talkative(POKE))
        with WorkflowRunner(tmp_path, surroundings) as runner:
            run = ran(runner.run(definition(evolve(goal("a"), outputs=self.TAKES))))
            assert run == runner.get(run.id)

        end = run.step_results[0].end
        assert ((Binding("seen", "x"),), f"{run.id}.a.1") == (end.outputs, end.reference)

    def test_an_answer_that_is_none(self, tmp_path: Path) -> None:
        class Mute(AppTool):
            def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
                return cast("ToolEnd", None if arguments or key else self)

        tools = Tools(tuple(Mute(App(), each) for each in (PEEK, POKE, TOLD)))
        with WorkflowRunner(tmp_path, evolve(around(App(), VirtualClock()), tools=tools)) as runner:
            assert RunStatus.FAILED is ran(runner.run(definition(template("a")))).status


class TestSources:
    """A condition sees the page and the app through what an embedder gives, and the run's own variables without."""

    @pytest.mark.parametrize(
        ("kind", "params", "change"),
        [
            ("scene_contains_text", {"text": "Saved"}, {"scene": lambda: Scene(("Saved.",))}),
            ("world_variable_equals", {"name": "page", "value": "x"}, {"world": lambda: (Binding("page", "x"),)}),
            ("world_variable_equals", {"name": "who", "value": "Ada"}, {}),
        ],
    )
    def test_a_source(self, tmp_path: Path, kind: str, params: dict[str, str], change: dict[str, Any]) -> None:
        plan = evolve(
            definition(WaitForConditionStep(step_id="a", condition=ConditionSpec(kind=kind, params=bound(params)))),
            parameters=(Parameter(name="who", type=ParameterType.LINE, title="Who"),),
        )
        given = around(App(), VirtualClock())
        with WorkflowRunner(tmp_path, evolve(given, **change)) as runner:
            assert RunStatus.COMPLETED is ran(runner.run(plan, {"who": "Ada"})).status
