"""Random histories of plans whose process dies at any moment, and fixed ones on runners that are wrong on purpose."""

from collections import Counter
from pathlib import Path

import pytest

from support.broken_plans import ActsFirst, ByAge
from support.plan_machine import DyingRunners
from support.plans import App, Fate, VirtualClock, around, definition, goal, write
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.run import RunStatus, WorkflowRun
from surehand.shell.orchestration.runner import WorkflowRunner

TestDyingRunners = DyingRunners.TestCase


class Forgetful(DyingRunners):
    """Takes every action in doubt for one that was not delivered."""

    forgets = True


class JournalsLate(DyingRunners):
    """A machine whose runners act first."""

    runner = ActsFirst


def dies(machine: DyingRunners, plan: WorkflowDefinition, *fates: Fate) -> None:
    """Begin a plan that dies so, and let it be taken up until it ended."""
    machine.begin(plan, list(fates), [])
    try:
        machine.take_up([], [])
        machine.nothing_is_done_twice()
    finally:
        machine.teardown()


class TestADoubtfulStepIsNeverRunAgain:
    """A runner that takes doubt for proof does it twice, and that is seen."""

    PLAN = definition(write("one"))

    def test_one_that_forgets_is_caught(self) -> None:
        with pytest.raises(AssertionError):
            dies(Forgetful(), self.PLAN, Fate.DIES_UNTOLD)

    @pytest.mark.parametrize("fate", [Fate.DIES_BEFORE, Fate.DIES_AFTER, Fate.DIES_UNTOLD])
    def test_the_runner_is_not(self, fate: Fate) -> None:
        dies(DyingRunners(), self.PLAN, fate)


class TestAStepIsRecordedBeforeItBegins:
    """A runner that saves after it acted does it twice, and that is seen."""

    PLAN = definition(write("one"), goal("two"))

    def test_one_that_acts_first_is_caught(self) -> None:
        with pytest.raises(AssertionError):
            dies(JournalsLate(), self.PLAN, Fate.LIVES, Fate.DIES_UNTOLD)

    def test_the_runner_is_not(self) -> None:
        dies(DyingRunners(), self.PLAN, Fate.LIVES, Fate.LIVES, Fate.DIES_UNTOLD)


class TestALeaseHasNoAge:
    """While its holder lives, a run is nobody else's, however long it takes; a lease by age acts twice."""

    @staticmethod
    def taken_up_meanwhile(folder: Path, kind: type[WorkflowRunner]) -> tuple[Counter[str], WorkflowRun | RunRefused]:
        """A run whose step is about to act when another process takes the run up."""
        app = App()
        clock = VirtualClock()
        answers: list[WorkflowRun | RunRefused] = []

        def other() -> None:
            clock.seconds += 1_000_000
            with kind(folder, around(app, clock)) as second:
                answers.append(second.resume(second.runs(1)[0].run_id))

        app.meanwhile.append(other)
        with kind(folder, around(app, clock)) as first:
            first.run(definition(write("one")))
        return app.effects, answers[0]

    def test_one_that_asks_for_age_is_caught(self, tmp_path: Path) -> None:
        effects, answer = self.taken_up_meanwhile(tmp_path, ByAge)

        assert isinstance(answer, WorkflowRun)
        assert [2] == list(effects.values())

    def test_the_runner_leaves_it_to_its_holder(self, tmp_path: Path) -> None:
        effects, answer = self.taken_up_meanwhile(tmp_path, WorkflowRunner)

        assert [1] == list(effects.values())
        assert RunRefused(code=PlanRefusal.RUNNING_ELSEWHERE, step_id="one") == answer

    def test_who_lost_the_lease_saves_nothing_more(self, tmp_path: Path) -> None:
        app, clock = App(), VirtualClock()

        def other() -> None:
            with ByAge(tmp_path, around(app, clock)) as second:
                second.resume(second.runs(1)[0].run_id)

        app.meanwhile.append(other)
        with WorkflowRunner(tmp_path, around(app, clock)) as first:
            told = first.run(definition(write("one"), write("two")))
            assert isinstance(told, WorkflowRun)
            kept = first.get(told.id)

        assert kept is not None
        assert (RunStatus.COMPLETED, ["one", "two"]) == (kept.status, [each.step_id for each in kept.step_results])
        assert {f"{kept.id}.one.1": 2, f"{kept.id}.two.1": 1} == dict(app.effects)
