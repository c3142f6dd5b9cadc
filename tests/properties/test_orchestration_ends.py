"""Ends of steps and of whole plans.

Laws:

- What may have written is never told as having written nothing, in a step or in the whole.
- A success that nobody can prove is none.
- The weakest step decides the whole.
- The ledger lets a step run only with proof that nothing was written.
- Time counts within one start of the machine, and never too much.
"""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Success

from support.plans import definition, pinned, wait, write
from support.stores import BROKEN, DONE, GOING_ON
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.doubt import found_in
from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.result import (
    CLAIMS_NOTHING_WRITTEN,
    RUN_OUTPUTS,
    WEAKEST_FIRST,
    StepEnd,
    StepFailure,
    WorkflowStepResult,
    changed_by_all,
    end_as_told,
    end_of_run,
    in_doubt,
    judged,
    passed,
    stopped,
    weakest,
)
from surehand.core.orchestration.run import Moment, RunStatus, Timer, WorkflowRun, open_references, outcome_of, retold
from surehand.core.orchestration.task import Task, TaskStatus, end_of_task
from surehand.core.orchestration.text import Binding, by_name
from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    EarlierAttempts,
    Evidence,
    NoPause,
    ProcessFact,
    Refusal,
    ReportMissing,
    RunObserved,
)
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import CallFacts, EngineName, Mode, RunResult, is_final, project
from surehand.core.wire import from_wire, to_wire

RUN_ID = "run_" + "7" * 32
ENDED = [each for each in Outcome if each is not Outcome.RUNNING]


def result_of(evidence: Evidence) -> RunResult:
    """The result of a run."""
    return project(evidence, CallFacts(run_id=RUN_ID, mode=Mode.SANDBOX, engine=EngineName.BROWSER, attempt=1))


RESULTS = st.one_of(
    st.builds(CallRefused, st.sampled_from(Refusal), st.sampled_from(EarlierAttempts)),
    st.builds(
        RunObserved,
        st.sampled_from(ProcessFact),
        st.just(ReportMissing()),
        st.just(NoPause()),
        st.sampled_from(Approval),
    ),
).map(result_of)


@st.composite
def ends(draw: st.DrawFn) -> StepEnd:
    """Any end that a step can have."""
    outcome = draw(st.sampled_from(ENDED))
    nothing = outcome in CLAIMS_NOTHING_WRITTEN
    return StepEnd(
        outcome=outcome,
        record_changed=RecordChanged.NO if nothing else draw(st.sampled_from(RecordChanged)),
        failure=None if outcome is Outcome.DONE else draw(st.sampled_from(StepFailure)),
    )


def run_of(plan: WorkflowDefinition, status: RunStatus, *step_ends: StepEnd) -> WorkflowRun:
    """A run whose steps ended so, one after another."""
    timer = Timer("boot", 0)
    steps = plan.steps
    results = tuple(
        WorkflowStepResult(step_id=step.step_id, visit=1, end=end) for step, end in zip(steps, step_ends, strict=False)
    )
    at = None if status is RunStatus.COMPLETED else steps[min(len(results), len(steps) - 1)].step_id
    return WorkflowRun(
        id="plan_" + "0" * 32,
        pinned=pinned(plan),
        status=status,
        current_step_id=at,
        visit=1,
        step_results=results,
        visits=tuple(1 for _ in steps),
        run_timer=timer,
        step_timer=timer,
    )


class TestAnEndOfAStep:
    """Its parts agree, and it never says that nothing was written where something may have been."""

    @given(st.sampled_from(Outcome), st.sampled_from(RecordChanged), st.none() | st.sampled_from(StepFailure))
    def test_what_contradicts_itself_cannot_be_made(
        self, outcome: Outcome, changed: RecordChanged, failure: StepFailure | None
    ) -> None:
        wrote = outcome in CLAIMS_NOTHING_WRITTEN and changed is not RecordChanged.NO
        legal = outcome is not Outcome.RUNNING and (outcome is Outcome.DONE) is (failure is None) and not wrote
        try:
            end = StepEnd(outcome=outcome, record_changed=changed, failure=failure)
        except ValueError:
            assert not legal
        else:
            assert legal
            assert end.success is (outcome is Outcome.DONE)

    @given(st.booleans(), st.sampled_from(RecordChanged), st.sampled_from([TaskStatus.SUCCEEDED, TaskStatus.FAILED]))
    def test_a_success_that_nobody_can_prove_is_none(
        self, success: bool, changed: RecordChanged, status: TaskStatus
    ) -> None:
        said = judged(success=success, changed=changed, failure=StepFailure.TOOL_FAILED, reference="r", outputs=())
        task = end_of_task(Task(id="t", goal="g", status=status, record_changed=changed))

        assert said.success is (success and changed is not RecordChanged.UNKNOWN)
        assert task.success is (status is TaskStatus.SUCCEEDED and changed is not RecordChanged.UNKNOWN)
        assert {changed} == {said.record_changed, task.record_changed}

    @given(RESULTS.filter(is_final))
    def test_the_end_of_a_run_says_what_its_result_does(self, result: RunResult) -> None:
        end = end_of_run(result)

        assert (result.record_changed, result.run_id) == (end.record_changed, end.reference)
        assert end.success is (result.outcome is Outcome.DONE)
        assert end.outcome is result.outcome or result.record_changed is not RecordChanged.NO
        assert {each.name for each in end.outputs} == RUN_OUTPUTS
        ended = end.outcome is Outcome.DID_NOT_RUN and not result.safe_to_retry
        assert (end.failure is StepFailure.NOT_AGAIN) is ended

    def test_what_each_says(self) -> None:
        found = (Binding("a", "secret"),)
        done = judged(
            success=True, changed=RecordChanged.YES, failure=StepFailure.TOOL_FAILED, reference="r", outputs=found
        )
        lost = judged(
            success=False, changed=RecordChanged.UNKNOWN, failure=StepFailure.TOOL_FAILED, reference="r", outputs=found
        )
        nobody_knows = Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN

        assert StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES, reference="r", outputs=found) == done
        assert evolve(
            done, outcome=nobody_knows[0], record_changed=nobody_knows[1], failure=StepFailure.TOOL_FAILED
        ) == (lost)
        assert evolve(lost, failure=StepFailure.IN_DOUBT, outputs=()) == in_doubt("r")
        assert evolve(lost, failure=StepFailure.NOT_DONE, outputs=()) == end_as_told(None, "r")
        assert end_as_told(None, RUN_ID) == end_as_told(result_of(GOING_ON), RUN_ID)
        assert end_of_run(result_of(DONE)) == end_as_told(result_of(DONE), "another")
        assert not [word for word in ("secret", "Binding") if word in repr(done)]
        assert Outcome.DONE is weakest([Outcome.DONE], RecordChanged.YES)

    def test_a_run_that_waits_and_may_have_written_is_in_doubt(self) -> None:
        end = end_of_run(result_of(evolve(GOING_ON, approval=Approval.WAITING)))

        assert (Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN, StepFailure.NOT_DONE) == (
            end.outcome,
            end.record_changed,
            end.failure,
        )

    def test_the_outputs_of_a_run_are_its_answer(self) -> None:
        result = result_of(DONE)

        assert {
            "checked_how": result.checked_how.value,
            "outcome": "done",
            "reason": "saved_and_checked",
            "record_changed": "yes",
            "run_id": RUN_ID,
        } == by_name(end_of_run(result).outputs)

    def test_a_failure_is_told_by_the_name_of_its_member(self) -> None:
        assert [each.name.lower() for each in StepFailure] == [each.value for each in StepFailure]
        assert {Outcome.NEEDS_REVIEW, Outcome.DID_NOT_RUN} == CLAIMS_NOTHING_WRITTEN

    @pytest.mark.parametrize(
        ("visit", "reference", "expected"),
        [(1, "x" * 200, True), (10_000, "", True), (0, "x", False), (10_001, "x", False), (1, "x" * 201, False)],
    )
    def test_its_form_is_bounded(self, visit: int, reference: str, *, expected: bool) -> None:
        result = WorkflowStepResult(step_id="a", visit=visit, end=in_doubt(reference))

        assert expected == isinstance(from_wire(to_wire(result), WorkflowStepResult), Success)

    def test_a_run_that_goes_on_is_no_end(self) -> None:
        going_on = RunObserved(ProcessFact.STILL_RUNNING, ReportMissing(), NoPause(), Approval.NOT_ASKED)

        with pytest.raises(ValueError, match="goes on"):
            end_of_run(result_of(going_on))


class TestTheWeakestDecides:
    """The whole claims what its weakest part allows, and never says that nothing was written if it may have been."""

    @given(st.lists(st.sampled_from(ENDED)), st.sampled_from(RecordChanged))
    def test_of_outcomes(self, outcomes: list[Outcome], changed: RecordChanged) -> None:
        found = weakest(outcomes, changed)

        assert all(WEAKEST_FIRST.index(found) <= WEAKEST_FIRST.index(each) for each in outcomes)
        assert changed is RecordChanged.NO or found not in CLAIMS_NOTHING_WRITTEN
        assert found in outcomes or found in {Outcome.DONE, Outcome.NOT_SURE_IF_SAVED}

    @given(st.lists(st.sampled_from(RecordChanged)))
    def test_of_what_changed(self, parts: list[RecordChanged]) -> None:
        found = changed_by_all(parts)

        assert (found is RecordChanged.UNKNOWN) is (RecordChanged.UNKNOWN in parts)
        assert (found is RecordChanged.NO) is (set(parts) <= {RecordChanged.NO})

    @given(st.lists(ends(), min_size=3, max_size=3), st.sampled_from(RunStatus))
    def test_of_a_run(self, step_ends: list[StepEnd], status: RunStatus) -> None:
        run = run_of(definition(write("a"), write("b"), write("c")), status, *step_ends)
        whole = outcome_of(run)
        wrote = {end.record_changed for end in step_ends} - {RecordChanged.NO}

        assert (status is RunStatus.RUNNING) is (whole.outcome is Outcome.RUNNING)
        if status is not RunStatus.RUNNING:
            assert not (wrote and whole.outcome in CLAIMS_NOTHING_WRITTEN)
            assert whole.outcome is not Outcome.DONE or all(end.outcome is Outcome.DONE for end in step_ends)
            assert (whole.step_id is None) is (whole.outcome is Outcome.DONE)
            assert status is RunStatus.COMPLETED or whole.outcome is not Outcome.DONE

    def test_a_wait_that_was_in_vain_counts_when_the_run_stopped_at_it(self) -> None:
        in_vain = stopped(StepFailure.TIMED_OUT)
        plan = definition(wait("a", if_failed="b"), wait("b"))

        assert Outcome.DID_NOT_RUN is outcome_of(run_of(plan, RunStatus.FAILED, in_vain)).outcome
        assert Outcome.DONE is outcome_of(run_of(plan, RunStatus.COMPLETED, in_vain, passed())).outcome

    def test_what_was_canceled_before_it_acted_did_not_run(self) -> None:
        plan = definition(wait("a"), write("b"))
        whole = outcome_of(run_of(plan, RunStatus.CANCELED, passed()))

        assert (Outcome.DID_NOT_RUN, RecordChanged.NO, "b") == (whole.outcome, whole.record_changed, whole.step_id)

    def test_what_was_canceled_after_a_save_is_not_told_as_nothing_written(self) -> None:
        saved = StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES)
        whole = outcome_of(run_of(definition(write("a"), write("b")), RunStatus.CANCELED, saved))

        assert (Outcome.NOT_SURE_IF_SAVED, RecordChanged.YES) == (whole.outcome, whole.record_changed)

    def test_the_deciding_step_is_named(self) -> None:
        saved = StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES)
        failed = stopped(StepFailure.NOT_DONE)
        whole = outcome_of(run_of(definition(write("a"), write("b")), RunStatus.FAILED, saved, failed))

        assert (Outcome.NOT_SURE_IF_SAVED, "b") == (whole.outcome, whole.step_id)

    def test_a_run_at_its_end_has_no_step(self) -> None:
        with pytest.raises(ValueError, match="no step"):
            _ = run_of(definition(wait("a")), RunStatus.COMPLETED, passed()).step


class TestWhatPeopleLetHappenLater:
    """A step that stopped for a person is told as it stands now; that nothing was written is told no longer then."""

    PLAN = definition(write("a"), write("b"))

    @given(st.lists(ends(), min_size=2, max_size=2), ends())
    def test_of_the_steps_that_did_not_succeed(self, step_ends: list[StepEnd], later: StepEnd) -> None:
        named = [evolve(end, reference=f"run {place}") for place, end in enumerate(step_ends)]
        run = run_of(self.PLAN, RunStatus.NEEDS_PERSON, *named)
        open_ones = open_references(run)
        told = retold(run, dict.fromkeys(open_ones, later))

        assert {end.reference for end in named if not end.success} == open_ones
        assert [end if end.success else later for end in named] == [each.end for each in told.step_results]
        assert run == retold(run, {"another run": later})

    def test_a_plan_that_stopped_is_not_done_by_it(self) -> None:
        waits = StepEnd(
            outcome=Outcome.NEEDS_REVIEW,
            record_changed=RecordChanged.NO,
            failure=StepFailure.NOT_DONE,
            reference="run a",
        )
        saved = StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES, reference="run a")
        run = run_of(self.PLAN, RunStatus.NEEDS_PERSON, waits)
        whole = outcome_of(retold(run, {"run a": saved}))

        assert Outcome.NEEDS_REVIEW is outcome_of(run).outcome
        assert (Outcome.NOT_SURE_IF_SAVED, RecordChanged.YES) == (whole.outcome, whole.record_changed)

    @given(RESULTS)
    def test_one_that_goes_on_may_have_written(self, result: RunResult) -> None:
        end = end_as_told(result, "run a")
        if result.outcome is Outcome.RUNNING:
            assert (Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN) == (end.outcome, end.record_changed)
        else:
            assert end_of_run(result) == end

    def test_one_that_nobody_can_tell_of_too(self) -> None:
        end = end_as_told(None, "run a")

        assert (Outcome.NOT_SURE_IF_SAVED, "run a") == (end.outcome, end.reference)


class TestTheLedgerIsAskedInDoubt:
    """Only attempts that all proved that nothing was written let a step run again."""

    @given(st.lists(RESULTS, max_size=5))
    def test_the_first_attempt_that_proves_nothing_decides(self, attempts: list[RunResult]) -> None:
        deciding = next((each for each in attempts if not each.safe_to_retry), None)
        found = found_in(tuple(attempts))

        if deciding is None:
            assert Doubt.NOT_DELIVERED is found
        elif deciding.outcome is Outcome.RUNNING:
            assert Doubt.UNKNOWN is found
        else:
            assert end_of_run(deciding) == found

    def test_one_that_still_goes_on_says_nothing(self) -> None:
        going_on, proven, saved = (result_of(each) for each in (GOING_ON, BROKEN, DONE))

        assert (Outcome.RUNNING, True) == (going_on.outcome, proven.safe_to_retry)
        assert Doubt.UNKNOWN is found_in((proven, going_on))
        assert end_of_run(saved) == found_in((proven, saved, going_on))


class TestTime:
    """What passed is never counted too high, whatever clocks and machines do."""

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6)), min_size=1))
    def test_only_time_within_one_start_counts(self, moments: list[tuple[int, int]]) -> None:
        first, *later = (Moment(f"boot {boot}", at) for boot, at in moments)
        timer, certain, last = Timer.begun(first), 0, first
        for now in later:
            certain += max(0, now.milliseconds - last.milliseconds) if now.boot == last.boot else 0
            timer, last = timer.carried(now), now

        assert certain == timer.elapsed(last)


class TestWhyATaskFailedIsACode:
    """A reason that is no code is not kept: it could be a text."""

    @pytest.mark.parametrize(
        ("reason", "code"),
        [
            ("gave_up", "gave_up"),
            ("g" + "x" * 39, "g" + "x" * 39),
            (None, None),
            ("", None),
            ("It broke at canary 4711", None),
            ("gave_up\n", None),
            ("Gave_up", None),
            ("g" + "x" * 40, None),
        ],
    )
    def test_in_the_end_of_a_step(self, reason: str | None, code: str | None) -> None:
        failed = Task(
            id="t", goal="g", status=TaskStatus.FAILED, failure_reason=reason, record_changed=RecordChanged.NO
        )
        end = end_of_task(failed)

        assert (StepFailure.TASK_FAILED, code) == (end.failure, end.code)
        assert end_of_task(evolve(failed, status=TaskStatus.SUCCEEDED)).code is None
