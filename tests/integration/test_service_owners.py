"""What becomes of runs whose owner is gone, and of runs that another process executes.

Laws:

- An owner is gone when its lock is free, and for no other reason.
- What the record proves is told: nothing was written before the boundary, nobody knows after it.
- Processes that share a folder answer a request with one run.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from attrs import evolve

from support.service import DEADLINE, DONE, INPUTS, Bench, BrokenStore, FakeExecutor, comes_true, held, wait_for
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import CallFacts, EngineName, FailedCheck, Mode, project
from surehand.core.request.record import RunRecord
from surehand.shell.identity import new_token
from surehand.shell.locks import OwnerLock
from surehand.shell.store import open_store


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[OwnerLock]:
    lock = OwnerLock.acquire(tmp_path)
    yield lock
    lock.release()


class TestARunWhoseOwnerIsGoneIsSettledByItsRecord:
    """Found before the boundary: nothing was written, and a retry is safe. Found behind it: nobody knows."""

    @pytest.mark.parametrize("phase", [Phase.RESERVED, Phase.STARTED])
    def test_before_the_boundary_the_same_call_starts_again(self, bench: Bench, phase: Phase) -> None:
        bench.left_behind(phase, new_token())

        result = bench.finished()

        assert (Outcome.DONE, 2) == (result.outcome, result.attempt)
        first = bench.attempts()[0].result
        assert first is not None
        assert Reason.INTERRUPTED_BEFORE_SAVE is held(first).reason

    @pytest.mark.parametrize(("phase", "journaled"), [(Phase.DELIVERING, True), (Phase.STARTED, False)])
    def test_where_a_save_may_have_gone_through_nothing_is_tried(
        self, bench: Bench, phase: Phase, journaled: bool
    ) -> None:
        left = bench.left_behind(phase, new_token(), journaled=journaled)

        result = held(bench.call().result)

        assert (Reason.INTERRUPTED, RecordChanged.UNKNOWN, left.run_id, True) == (
            result.reason,
            result.record_changed,
            result.run_id,
            result.replayed,
        )
        assert [] == bench.engine.jobs

    def test_a_living_owner_is_left_alone(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.STARTED, owner.token)

        result = held(bench.call().result)

        assert (Outcome.RUNNING, left.run_id) == (result.outcome, result.run_id)
        assert Phase.STARTED is bench.attempts()[0].phase

    def test_the_sweep_at_the_start_settles_every_one(self, bench: Bench) -> None:
        left = bench.left_behind(Phase.DELIVERING, new_token())
        bench.call("entry-2")

        settled = bench.service.watch(left.run_id).result(DEADLINE)

        assert Reason.INTERRUPTED is held(settled).reason
        record = bench.store.load(left.run_id)
        assert record is not None
        assert settled == record.result

    def test_a_refusal_after_a_settled_run_may_say_that_nothing_was_written(self, bench: Bench) -> None:
        bench.left_behind(Phase.RESERVED, new_token())

        result = held(bench.call(note="").result)

        assert (Reason.INVALID_INPUT, RecordChanged.NO) == (result.reason, result.record_changed)


class TestARunOfAnotherProcessIsWatched:
    """A call that joins a run of another process gets that run's end."""

    def test_its_end_is_told(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.DELIVERING, owner.token)
        waiting = bench.service.watch(left.run_id)
        facts = CallFacts(run_id=left.run_id, mode=Mode.SANDBOX, engine=EngineName.BROWSER, attempt=1)
        end = project(DONE, facts)

        assert bench.store.finish(left.run_id, owner.token, end)

        assert end == waiting.result(DEADLINE)

    def test_its_owner_dying_is_told(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.DELIVERING, owner.token)
        waiting = bench.service.watch(left.run_id)

        owner.release()

        assert Reason.INTERRUPTED is waiting.result(DEADLINE).reason

    def test_closing_ends_the_wait(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.DELIVERING, owner.token)
        waiting = bench.service.watch(left.run_id)

        bench.service.close()

        with pytest.raises(CancelledError):
            waiting.result(DEADLINE)

    def test_canceling_it_here_does_nothing(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.STARTED, owner.token)

        bench.service.cancel(left.run_id)

        assert Phase.STARTED is bench.attempts()[0].phase


#: Asks ten times at once, and prints each answer.
BURST = """
import json, sys, threading
import surehand
answers = []
with surehand.Surehand.open(sys.argv[1], "simulated") as hand:
    def ask():
        answers.append(hand.run_workflow("add_triage_note", json.loads(sys.argv[2]), "entry-1"))
    threads = [threading.Thread(target=ask) for _ in range(10)]
    sys.stdin.read(1)
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps([[each.run_id, each.reason.value, each.replayed] for each in answers]))
"""


class TestABurstOfTwoProcessesIsOneRun:
    """Every call of a fresh burst with one request id gets the same answer, over all processes."""

    def test_ten_calls_from_each_of_two_processes(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", BURST, str(tmp_path), json.dumps(INPUTS)]
        processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go")
            process.stdin.flush()
        answers = [
            tuple(answer)
            for process in processes
            for answer in json.loads(process.communicate(timeout=2 * DEADLINE)[0])
        ]

        assert 20 == len(answers)
        assert 1 == len({run_id for run_id, _, _ in answers})
        assert {Reason.SAVED_AND_CHECKED.value} == {reason for _, reason, _ in answers}
        assert [False] == [replayed for _, _, replayed in answers if not replayed]


class TestAProcessThatIsKilledLeavesWhatItsRecordProves:
    """Killed before the save: the next process starts again. The lock of a killed process is free."""

    def test_a_killed_process(self, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from support.service import Bench, wait_for; "
            "from surehand.shell.store import open_store; "
            "bench = Bench(Path(sys.argv[1]), store=open_store(Path(sys.argv[1]))); "
            "bench.call(); wait_for(bench.engine.entered); print('entered', flush=True); sys.stdin.read()"
        )
        tests = Path(__file__).parent.parent
        killed = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tests
        )
        assert killed.stdout is not None
        assert b"entered" in killed.stdout.readline()
        killed.kill()
        killed.wait(DEADLINE)
        killed.communicate()

        store = open_store(tmp_path)
        bench = Bench(tmp_path, store=store)

        result = bench.finished()

        assert (Outcome.DONE, 2) == (result.outcome, result.attempt)
        assert Reason.INTERRUPTED_BEFORE_SAVE is (bench.attempts()[0].result or result).reason
        bench.close()


class TestAnExecutorThatDoesNotSayHowARunEndedProvesNothing:
    """What the record proves is told; a run that was not taken was not launched."""

    @pytest.fixture
    def executor(self, owner: OwnerLock) -> FakeExecutor:
        """An executor whose owner lives."""
        return FakeExecutor(owner.token)

    @pytest.fixture
    def bench(self, tmp_path: Path, executor: FakeExecutor) -> Iterator[Bench]:
        """A service on that executor."""
        bench = Bench(tmp_path, executor=executor)
        yield bench
        bench.close()

    @pytest.mark.parametrize(
        ("crossed", "reason"), [(False, Reason.INTERRUPTED_BEFORE_SAVE), (True, Reason.INTERRUPTED)]
    )
    def test_one_that_fails(self, bench: Bench, executor: FakeExecutor, crossed: bool, reason: Reason) -> None:
        ticket = bench.call()
        if crossed:
            assert bench.store.begin_delivery(ticket.run_id, executor.owner_token)

        executor.ends[ticket.run_id].set_exception(RuntimeError("a text"))

        assert reason is bench.end_of(ticket).reason
        assert Phase.FINISHED is bench.attempts()[0].phase

    def test_one_that_fails_while_the_store_fails(self, bench: Bench, executor: FakeExecutor) -> None:
        ticket = bench.call()
        end = bench.service.watch(ticket.run_id)
        bench.broken.failing.add("load")

        executor.ends[ticket.run_id].set_exception(RuntimeError("a text"))

        result = held(end.result(DEADLINE))
        assert (Reason.RESULT_UNREADABLE, False) == (result.reason, result.record_saved)

    def test_one_that_does_not_take_the_run(self, bench: Bench, executor: FakeExecutor) -> None:
        executor.refuses = True

        result = held(bench.call().result)

        assert (Reason.PLATFORM_ERROR, RecordChanged.NO, 1) == (result.reason, result.record_changed, result.attempt)
        assert result == bench.attempts()[0].result

    def test_one_that_says_it_is_believed(self, bench: Bench, executor: FakeExecutor) -> None:
        ticket = bench.call()
        facts = CallFacts(run_id=ticket.run_id, mode=Mode.SANDBOX, engine=EngineName.BROWSER, attempt=1)
        end = project(DONE, facts)
        assert bench.store.finish(ticket.run_id, executor.owner_token, end)

        executor.ends[ticket.run_id].set_result(end)

        assert end == bench.end_of(ticket)


class UnreadableStore(BrokenStore):
    """A store whose finished records no longer satisfy the contract."""

    def load(self, run_id: str) -> RunRecord | None:
        """The record without its result."""
        record = super().load(run_id)
        return None if record is None else evolve(record, result=None)

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """The records without their results."""
        return tuple(evolve(record, result=None) for record in super().attempts(request_key))


class TestAStoredResultThatCannotBeReadIsDoubt:
    """It is told as result_unreadable, and nothing is tried again."""

    def test_a_repeat_and_a_question(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, store=UnreadableStore())
        run_id = bench.finished().run_id

        again, asked = bench.call().result, bench.service.current(run_id)

        assert asked is not None
        assert [(Reason.RESULT_UNREADABLE, RecordChanged.UNKNOWN)] * 2 == [
            (held(each).reason, each.record_changed) for each in (again, asked)
        ]
        assert 1 == len(bench.engine.jobs)
        bench.close()


class TestAWaitOutlivesAStoreThatFailsForATime:
    """A store that cannot answer now is asked again."""

    def test_the_end_is_told_after_it_was_mended(self, bench: Bench, owner: OwnerLock) -> None:
        left = bench.left_behind(Phase.DELIVERING, owner.token)
        waiting = bench.service.watch(left.run_id)
        bench.broken.failing.add("load")
        # A look that began before may end now; the next one fails, and so does every one after it.
        wait_for(bench.broken.failed)
        owner.release()
        with pytest.raises(TimeoutError):
            waiting.result(0.3)

        bench.broken.failing.clear()

        assert Reason.INTERRUPTED is waiting.result(DEADLINE).reason


class TestWarmingUpStartsTheEngineBeforeTheFirstCall:
    """The store is opened and the engine started; what refuses then is told by the first call."""

    def test_it_is_started(self, bench: Bench) -> None:
        bench.service.warm()

        assert comes_true(lambda: bool(bench.locks))

    def test_what_refuses_is_told_by_the_first_call(self, bench: Bench) -> None:
        bench.missing = (FailedCheck.BROWSER_MISSING,)
        bench.service.warm()

        assert (FailedCheck.BROWSER_MISSING,) == bench.call().result.failed_checks
