"""Random histories of plans whose process dies at any moment, against an app that counts.

Laws of this module:

- The runner, the machine and the store are the real ones. Only the app, the clock and death are set by the test.
- The oracle is the app's own count: it knows nothing of steps, and what it forbids is a second effect.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support.plans import Answer, App, CrashError, Fate, VirtualClock, around, crashing, definitions, is_a_way
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.refusal import RunRefused
from surehand.core.orchestration.result import StepFailure, WorkflowStepResult
from surehand.core.orchestration.run import RunStatus, WorkflowRun
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.shell.orchestration.runner import WorkflowRunner

#: More resumes than any run of these plans needs that nobody kills.
_ENOUGH: Final = 3

FATES: Final = st.lists(st.sampled_from([*Fate, Fate.LIVES, Fate.LIVES, Fate.LIVES]), max_size=12)
ANSWERS: Final = st.lists(st.sampled_from(Answer), max_size=6)


class DyingRunners(RuleBasedStateMachine):
    """One run after another, each by processes that die."""

    runner: type[WorkflowRunner] = WorkflowRunner
    forgets = False

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._place = Path(self._folder.name)
        self.app = App()
        self._clock = VirtualClock()
        self._starts = 0
        self._run_id: str | None = None
        self._ended: WorkflowRun | None = None

    def _in_a_process(
        self, work: Callable[[WorkflowRunner], WorkflowRun | RunRefused]
    ) -> WorkflowRun | RunRefused | None:
        """Work in a process of its own; nothing when it died."""
        surroundings = around(self.app, self._clock, forgets=self.forgets, boot=f"boot {self._starts}")
        with crashing(self.runner(self._place, surroundings), self._place, self.app) as runner, suppress(CrashError):
            return work(runner)
        return None

    @precondition(lambda self: self._run_id is None or self._ended is not None)
    @rule(plan=definitions(), fates=FATES, answers=ANSWERS)
    def begin(self, plan: WorkflowDefinition, fates: list[Fate], answers: list[Answer]) -> None:
        self.app.fates, self.app.answers = fates, answers
        self._run_id, self._ended = None, None
        self._told(self._in_a_process(lambda runner: runner.run(plan)))
        self._run_id = self._newest()

    @precondition(lambda self: self._run_id is not None)
    @rule(fates=FATES, answers=ANSWERS)
    def take_up(self, fates: list[Fate], answers: list[Answer]) -> None:
        self.app.fates, self.app.answers = fates, answers
        self._resume()

    @precondition(lambda self: self._run_id is not None)
    @rule()
    def cancel(self) -> None:
        self.app.fates = []
        with self.runner(self._place, around(self.app, self._clock)) as runner:
            runner.cancel(self._run_id or "")

    @rule(seconds=st.integers(0, 100_000))
    def start_the_machine_again(self, seconds: int) -> None:
        self._starts += 1
        self._clock.seconds = float(seconds)

    @invariant()
    def nothing_is_done_twice(self) -> None:
        assert {} == {name: count for name, count in self.app.effects.items() if count > 1}

    @invariant()
    def what_is_kept_is_one_way_through_the_plan(self) -> None:
        run = self._kept()
        assert run is None or is_a_way(run)

    @invariant()
    def what_ended_stays(self) -> None:
        assert self._ended is None or self._ended == self._kept()

    @invariant()
    def no_end_of_a_step_says_what_is_not_so(self) -> None:
        run = self._kept()
        results = () if run is None else run.step_results
        assert [] == [result for result in results if not self._is_true(run, result)]

    def teardown(self) -> None:
        self.app.fates, self.app.answers = [], []
        for _ in range(_ENOUGH):
            if self._run_id is not None and self._ended is None:
                self._resume()
        ended, kept = self._ended, self._kept()
        self._folder.cleanup()
        assert (ended is None) is (self._run_id is None)
        assert kept is None or self._accounts_for_every_effect(kept)

    def _resume(self) -> None:
        run_id = self._run_id or ""
        self._told(self._in_a_process(lambda runner: runner.resume(run_id)))

    def _told(self, run: WorkflowRun | RunRefused | None) -> None:
        assert not isinstance(run, RunRefused), run
        if run is not None:
            assert run.status is not RunStatus.RUNNING
            self._ended = self._ended or run

    def _newest(self) -> str | None:
        with WorkflowRunner(self._place, around(self.app, self._clock)) as runner:
            return runner.runs(1)[0].run_id

    def _kept(self) -> WorkflowRun | None:
        if self._run_id is None:
            return None
        with WorkflowRunner(self._place, around(self.app, self._clock)) as runner:
            return runner.get(self._run_id)

    def _effects_of(self, run: WorkflowRun | None, result: WorkflowStepResult) -> list[str]:
        name = f"{'' if run is None else run.id}.{result.step_id}.{result.visit}"
        return [
            each for each, count in self.app.effects.items() if count and (each == name or each.startswith(f"{name}."))
        ]

    def _is_true(self, run: WorkflowRun | None, result: WorkflowStepResult) -> bool:
        """What is told as having written nothing made no effect; what changed the record made one."""
        effects = self._effects_of(run, result)
        wrote = result.end.record_changed
        nothing = wrote is not RecordChanged.NO or not effects
        return nothing and (wrote is not RecordChanged.YES or bool(effects)) and self._is_doubtful_alone(result)

    def _is_doubtful_alone(self, result: WorkflowStepResult) -> bool:
        doubtful = result.end.failure is StepFailure.IN_DOUBT
        return not doubtful or result.end.outcome is Outcome.NOT_SURE_IF_SAVED

    def _accounts_for_every_effect(self, run: WorkflowRun) -> bool:
        """Whether every effect of the run belongs to the end of a step: no step was lost."""
        told = {each for result in run.step_results for each in self._effects_of(run, result)}
        return told == {each for each, count in self.app.effects.items() if count and each.startswith(run.id)}


DyingRunners.TestCase.settings = settings(max_examples=30, stateful_step_count=10, deadline=None)
