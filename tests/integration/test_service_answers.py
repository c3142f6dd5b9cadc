"""What a call is answered: refusals, replays, conflicts, and what earlier attempts allow to be said.

Laws:

- A refusal starts nothing, is recorded, and never says more than the history allows.
- The engine is asked once for each attempt that the gate started, and for nothing else.
"""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.browser import eventually
from support.service import (
    CANCELED,
    DEADLINE,
    INPUTS,
    NOT_SURE,
    PLATFORM,
    WORKFLOW,
    Bench,
    BrokenStore,
    FakeEngine,
    held,
    wait_for,
)
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import EngineName, FailedCheck, InputProblem, InputProblemCode, RunResult, as_replayed
from surehand.core.request.keys import NotARequestIdError
from surehand.shell.service import UnknownRunError


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def refused(bench: Bench, result: RunResult) -> None:
    """A refusal reserved nothing, reached no engine, and can be asked for again."""
    held(result)
    assert Outcome.DID_NOT_RUN is result.outcome
    assert 0 == result.attempt
    assert EngineName.NONE is result.engine
    assert [] == bench.engine.jobs
    assert result == bench.service.current(result.run_id)


class TestACallThatCannotRunIsRefusedAndRecorded:
    """Every well-formed call gets a result and leaves a record, also when nothing can run."""

    def test_an_unknown_workflow(self, bench: Bench) -> None:
        result = bench.service.run_workflow("no such workflow", INPUTS, "entry-1").result

        refused(bench, result)
        assert (Reason.UNKNOWN_WORKFLOW, RecordChanged.NO, True) == (
            result.reason,
            result.record_changed,
            result.safe_to_retry,
        )
        record = bench.store.load(result.run_id)
        assert record is not None
        assert record.workflow is None

    def test_a_server_without_the_permission_to_run(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, runs_enabled=False)

        result = bench.call().result

        refused(bench, result)
        assert Reason.RUNS_DISABLED is result.reason
        bench.close()

    def test_inputs_that_do_not_fit(self, bench: Bench) -> None:
        result = bench.call(note=7, surprise="x").result

        refused(bench, result)
        assert Reason.INVALID_INPUT is result.reason
        assert {
            InputProblem("note", InputProblemCode.WRONG_TYPE),
            InputProblem("*", InputProblemCode.NOT_DECLARED),
        } == set(result.input_problems)

    def test_an_engine_that_cannot_start(self, bench: Bench) -> None:
        bench.missing = (FailedCheck.BROWSER_MISSING,)

        result = bench.call().result

        refused(bench, result)
        assert (Reason.PLATFORM_ERROR, (FailedCheck.BROWSER_MISSING,)) == (result.reason, result.failed_checks)
        assert () == bench.attempts()

    def test_a_refused_request_id_is_not_used_up(self, bench: Bench) -> None:
        assert Reason.INVALID_INPUT is bench.call(note="").result.reason

        result = bench.finished()

        assert (Reason.SAVED_AND_CHECKED, 1, False) == (result.reason, result.attempt, result.replayed)

    def test_a_text_that_is_no_request_id_is_no_call(self, bench: Bench) -> None:
        with pytest.raises(NotARequestIdError):
            bench.service.run_workflow(WORKFLOW, INPUTS, "with a space")

        assert () == bench.store.recent(10)

    def test_a_call_that_fits_is_not_refused(self, bench: Bench) -> None:
        assert Outcome.DONE is bench.finished().outcome
        assert 1 == len(bench.engine.jobs)


class TestTheSameRequestIsEnteredOnce:
    """The same request id returns the latest attempt's result; a new attempt starts only after a safe one."""

    def test_a_repeat_is_a_replay(self, bench: Bench) -> None:
        first = bench.finished()

        again = bench.call()

        assert not again.started_here
        assert (first.run_id, Outcome.DONE, True) == (again.result.run_id, again.result.outcome, again.result.replayed)
        assert [first.run_id] == bench.engine.writes

    def test_a_replay_needs_no_engine(self, bench: Bench) -> None:
        first = bench.finished()
        other = Bench(bench.folder, store=bench.store, missing=(FailedCheck.BROWSER_MISSING,))

        again = other.call().result

        assert (first.run_id, Outcome.DONE) == (again.run_id, again.outcome)
        other.close()

    def test_other_inputs_are_a_conflict(self, bench: Bench) -> None:
        bench.finished()

        result = held(bench.call(note="Something else.").result)

        assert (Reason.REQUEST_ID_CONFLICT, RecordChanged.UNKNOWN, False) == (
            result.reason,
            result.record_changed,
            result.safe_to_retry,
        )
        assert result == bench.service.current(result.run_id)
        assert 1 == len(bench.engine.writes)

    def test_a_safe_attempt_may_be_followed_by_another(self, bench: Bench) -> None:
        ticket = bench.call()
        bench.service.cancel(ticket.run_id)
        bench.engine.release()
        assert Reason.CANCELED is bench.end_of(ticket).reason

        result = bench.finished()

        assert (Reason.SAVED_AND_CHECKED, 2) == (result.reason, result.attempt)

    def test_five_attempts_are_all(self, bench: Bench) -> None:
        bench.engine.evidence = CANCELED
        attempts = [bench.finished().attempt for _ in range(5)]

        result = held(bench.call().result)

        assert [1, 2, 3, 4, 5] == attempts
        assert (Reason.RETRY_LIMIT, False) == (result.reason, result.safe_to_retry)
        assert 5 == len(bench.engine.jobs)

    def test_a_doubtful_end_is_never_tried_again(self, bench: Bench) -> None:
        bench.engine.evidence = NOT_SURE
        first = bench.finished()

        again = bench.call().result

        assert (Outcome.NOT_SURE_IF_SAVED, first.run_id) == (again.outcome, again.run_id)
        assert 1 == len(bench.engine.jobs)


class TestEarlierAttemptsLimitWhatARefusalSays:
    """A refusal under a used request id never says that nothing was written where an earlier attempt may have."""

    @pytest.mark.parametrize("workflow", [WORKFLOW, "no such workflow"])
    def test_after_a_doubtful_end(self, bench: Bench, workflow: str) -> None:
        bench.engine.evidence = NOT_SURE
        bench.finished()

        result = held(bench.service.run_workflow(workflow, {"note": ""}, "entry-1").result)

        assert (Outcome.DID_NOT_RUN, RecordChanged.UNKNOWN, False) == (
            result.outcome,
            result.record_changed,
            result.safe_to_retry,
        )

    def test_while_the_earlier_attempt_still_runs(self, bench: Bench) -> None:
        bench.call()
        wait_for(bench.engine.entered)

        result = held(bench.call(note="").result)

        assert (Reason.INVALID_INPUT, RecordChanged.UNKNOWN) == (result.reason, result.record_changed)

    def test_after_an_attempt_that_wrote_nothing_it_may_say_so(self, bench: Bench) -> None:
        bench.engine.evidence = CANCELED
        bench.finished()

        result = held(bench.call(note="").result)

        assert (Reason.INVALID_INPUT, RecordChanged.NO, True) == (
            result.reason,
            result.record_changed,
            result.safe_to_retry,
        )


class TestARunningRequestIsJoined:
    """A repeat of a running request waits for the same run."""

    def test_both_calls_get_the_same_end(self, bench: Bench) -> None:
        first = bench.call()
        second = bench.call()
        assert (Outcome.RUNNING, Outcome.RUNNING) == (first.result.outcome, second.result.outcome)

        bench.engine.release()

        assert (first.started_here, second.started_here) == (True, False)
        assert (first.result.replayed, second.result.replayed) == (False, True)
        assert bench.end_of(first) == bench.end_of(second)
        assert 1 == len(bench.engine.jobs)

    def test_one_that_stops_waiting_leaves_the_others_waiting(self, bench: Bench) -> None:
        ticket = bench.call()
        impatient, patient = bench.service.watch(ticket.run_id), bench.service.watch(ticket.run_id)
        assert impatient.cancel()

        bench.engine.release()

        assert Outcome.DONE is patient.result(DEADLINE).outcome

    def test_a_run_that_is_not_known(self, bench: Bench) -> None:
        assert bench.service.current("run_" + "0" * 32) is None
        with pytest.raises(UnknownRunError):
            bench.service.watch("run_" + "0" * 32)

    def test_twenty_calls_at_once_get_one_answer(self, bench: Bench) -> None:
        start = threading.Barrier(20)
        answers: list[RunResult] = []

        def one_call() -> None:
            start.wait(DEADLINE)
            answers.append(bench.end_of(bench.call()))

        threads = [threading.Thread(target=one_call) for _ in range(20)]
        bench.engine.release()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)

        assert 20 == len(answers)
        assert 1 == len({(answer.run_id, answer.reason) for answer in answers})
        assert 1 == len(bench.engine.writes)


class TestCancelingStopsBeforeTheBoundaryOnly:
    """Before the boundary a canceled run stops; after it the run is finished and told as it ended."""

    def test_before_the_boundary_nothing_is_written(self, bench: Bench) -> None:
        ticket = bench.call()
        wait_for(bench.engine.entered)

        bench.service.cancel(ticket.run_id)
        bench.engine.release()

        result = bench.end_of(ticket)
        assert (Reason.CANCELED, RecordChanged.NO, True) == (result.reason, result.record_changed, result.safe_to_retry)
        assert [] == bench.engine.writes

    def test_after_the_boundary_the_run_is_finished(self, bench: Bench) -> None:
        ticket = bench.call()
        bench.engine.before.set()
        wait_for(bench.engine.crossed)

        bench.service.cancel(ticket.run_id)
        bench.engine.release()

        assert Outcome.DONE is bench.end_of(ticket).outcome

    def test_closing_stops_what_has_not_reached_the_save(self, bench: Bench) -> None:
        ticket, waiting = bench.call(), bench.call("entry-2")
        wait_for(bench.engine.entered)
        closing = threading.Thread(target=bench.service.close)
        ends = [bench.service.watch(each.run_id) for each in (ticket, waiting)]

        closing.start()
        assert eventually(bench.engine.boundaries[0].stop_requested)
        bench.engine.release()
        closing.join(DEADLINE)

        assert not closing.is_alive()
        assert [Reason.CANCELED, Reason.CANCELED] == [end.result(DEADLINE).reason for end in ends]


class TestAnEngineThatFailsIsNoProof:
    """An engine that raises, or an end that nobody tells, proves nothing beyond the record."""

    def test_an_engine_that_raises(self, bench: Bench) -> None:
        bench.engine.error = RuntimeError("a text with CANARY in it")

        result = bench.finished()

        assert (Reason.RESULT_UNREADABLE, RecordChanged.UNKNOWN) == (result.reason, result.record_changed)

    def test_a_run_that_another_settled_is_told_as_stored(self, bench: Bench) -> None:
        ticket = bench.call()
        wait_for(bench.engine.entered)
        stranger = Bench(bench.folder, store=bench.store, engine=FakeEngine())
        record = bench.attempts()[0]
        (bench.folder / "owners" / f"{record.owner}.lock").unlink()
        settled = stranger.service.current(ticket.run_id)
        assert settled is not None
        assert Reason.INTERRUPTED_BEFORE_SAVE is settled.reason

        bench.engine.release()

        assert settled == bench.end_of(ticket)
        assert [] == bench.engine.writes
        stranger.close()


class TestAStoreThatFailsIsTold:
    """What could not be stored is told as not stored, and what could not be read is not taken for empty."""

    def test_a_store_that_cannot_be_opened(self, bench: Bench) -> None:
        bench.closed = True

        result = held(bench.call().result)

        assert (Reason.PLATFORM_ERROR, RecordChanged.UNKNOWN, False, False) == (
            result.reason,
            result.record_changed,
            result.safe_to_retry,
            result.record_saved,
        )
        assert (FailedCheck.STORE_UNAVAILABLE,) == result.failed_checks
        assert [] == bench.engine.jobs

    def test_it_is_opened_again_at_the_next_call(self, bench: Bench) -> None:
        bench.closed = True
        bench.call()
        bench.closed = False

        assert Outcome.DONE is bench.finished().outcome

    def test_a_reservation_that_fails_with_a_readable_history(self, bench: Bench) -> None:
        bench.broken.failing.add("reserve")

        result = held(bench.call().result)

        assert (Reason.PLATFORM_ERROR, RecordChanged.NO, True) == (
            result.reason,
            result.record_changed,
            result.safe_to_retry,
        )
        assert [] == bench.engine.jobs

    def test_a_reservation_that_was_stored_although_it_failed_holds_nothing_up(self, bench: Bench) -> None:
        bench.broken.failing_after.add("reserve")
        result = held(bench.call().result)
        assert Reason.PLATFORM_ERROR is result.reason
        bench.broken.failing_after.clear()

        assert (Outcome.DONE, 2) == ((after := bench.finished()).outcome, after.attempt)
        assert Reason.INTERRUPTED_BEFORE_SAVE is (bench.attempts()[0].result or after).reason

    def test_a_refusal_that_cannot_be_recorded(self, bench: Bench) -> None:
        bench.broken.failing.add("record_refusal")

        result = held(bench.call(note="").result)

        assert (Reason.INVALID_INPUT, False) == (result.reason, result.record_saved)

    def test_a_boundary_that_fails_forbids_the_write(self, bench: Bench) -> None:
        bench.broken.failing_after.add("begin_delivery")

        result = bench.finished()

        assert [] == bench.engine.writes
        assert RecordChanged.NO is result.record_changed

    def test_a_start_that_cannot_be_marked_is_no_launch(self, bench: Bench) -> None:
        bench.broken.failing.add("mark_started")

        result = bench.finished()

        assert (Reason.PLATFORM_ERROR, RecordChanged.NO) == (result.reason, result.record_changed)
        assert [] == bench.engine.jobs

    def test_an_answer_that_cannot_be_stored_is_given_and_stored_later(self, bench: Bench) -> None:
        bench.broken.failing.add("finish")
        unsaved = bench.finished()
        assert (Outcome.DONE, False) == (unsaved.outcome, unsaved.record_saved)
        bench.broken.failing.clear()

        again = held(bench.call().result)

        assert (Outcome.DONE, True, True) == (again.outcome, again.record_saved, again.replayed)
        assert unsaved.run_id == again.run_id
        assert Phase.FINISHED is bench.attempts()[0].phase
        assert 1 == len(bench.engine.writes)

    def test_a_run_that_cannot_be_read_now(self, bench: Bench) -> None:
        result = bench.finished()
        bench.broken.failing.add("load")

        answer = bench.service.current(result.run_id)

        assert answer is not None
        assert (Reason.PLATFORM_ERROR, RecordChanged.UNKNOWN, False) == (
            held(answer).reason,
            answer.record_changed,
            answer.record_saved,
        )

    def test_a_store_in_order_fails_nothing(self, bench: Bench) -> None:
        assert isinstance(bench.store, BrokenStore)
        assert bench.finished().record_saved


class TestTheChecksBeforeARunAreAskedBeforeEachAttempt:
    """One that fails refuses by name and starts nothing; what was answered already is answered again."""

    def test_a_failing_check_refuses_and_is_recorded(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, failing=(FailedCheck.NOT_ADMITTED,))
        with closing(bench):
            result = held(bench.call().result)
            kept = bench.service.current(result.run_id)

        assert (result.reason, result.failed_checks) == (Reason.NOT_READY_TO_RUN, (FailedCheck.NOT_ADMITTED,))
        assert (result.record_changed, result.safe_to_retry) == (RecordChanged.NO, True)
        assert kept == result
        assert (bench.engine.jobs, bench.attempts(), bench.locks) == ([], (), [])

    def test_what_ended_is_told_again_whatever_fails_now(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        with closing(bench):
            first = bench.finished()
            bench.failing = (FailedCheck.NOT_ADMITTED,)
            again = held(bench.call().result)
            other = held(bench.call("entry-2").result)

        assert again == as_replayed(first)
        assert other.reason is Reason.NOT_READY_TO_RUN

    def test_it_may_pass_at_the_next_call(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, failing=(FailedCheck.NOT_ADMITTED,))
        with closing(bench):
            refused = held(bench.call().result)
            bench.failing = ()
            result = bench.finished()

        assert (refused.reason, result.outcome, result.attempt) == (Reason.NOT_READY_TO_RUN, Outcome.DONE, 1)

    def test_a_check_that_fails_after_an_attempt_that_wrote_nothing_says_so(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, engine=FakeEngine(evidence=PLATFORM))
        with closing(bench):
            bench.finished()
            bench.failing = (FailedCheck.NOT_ADMITTED,)
            result = held(bench.call().result)

        assert (result.reason, result.record_changed) == (Reason.NOT_READY_TO_RUN, RecordChanged.NO)


class TestAnAttemptIsPinnedToItsVersion:
    """What ended is told by any later version; an attempt that may be repeated is repeated by the same one alone."""

    def test_the_version_stands_in_the_record(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        with closing(bench):
            bench.finished()
            kept = bench.attempts()

        assert [record.bundle for record in kept] == ["e" * 64]

    def test_another_version_is_told_what_ended(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        with closing(bench):
            first = bench.finished()
            bench.digest = "f" * 64
            changed = bench.make_service()
            again = held(changed.run_workflow(WORKFLOW, INPUTS, "entry-1").result)
            report = changed.report(first.run_id)

        assert again == as_replayed(first)
        assert report is not None
        assert report.current_version is False

    def test_another_version_starts_no_further_attempt(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, engine=FakeEngine(evidence=PLATFORM))
        with closing(bench):
            first = bench.finished()
            bench.digest = "f" * 64
            conflict = held(bench.make_service().run_workflow(WORKFLOW, INPUTS, "entry-1").result)
            jobs = len(bench.engine.jobs)
            again = bench.finished()

        assert first.safe_to_retry
        assert (conflict.reason, conflict.record_changed) == (Reason.REQUEST_ID_CONFLICT, RecordChanged.UNKNOWN)
        assert jobs == 1
        assert again.attempt == 2


class TestTheRequestSaysWhereTheAppIs:
    """A call that says where the app is goes there, and another place under its request id is another request."""

    def test_the_job_goes_there(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        with closing(bench):
            bench.engine.release()
            ticket = bench.service.run_workflow(WORKFLOW, INPUTS, "entry-1", url="http://127.0.0.1:2")
            result = bench.end_of(ticket)
            same = held(bench.service.run_workflow(WORKFLOW, INPUTS, "entry-1", url="http://127.0.0.1:2").result)
            other = held(bench.service.run_workflow(WORKFLOW, INPUTS, "entry-1", url="http://127.0.0.1:3").result)
            none = held(bench.call().result)
            (job,) = bench.engine.jobs

        assert (job.target.origin, job.target.record_origin) == ("http://127.0.0.1:2", "http://127.0.0.1:2")
        assert same == as_replayed(result)
        assert (other.reason, none.reason) == (Reason.REQUEST_ID_CONFLICT, Reason.REQUEST_ID_CONFLICT)
