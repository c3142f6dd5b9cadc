"""Jobs that kill the worker which executes them: real worker processes with an engine that kills them."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from support.poison_worker import LATE_POISON, MODULE, POISON
from support.service import Bench, held
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import MAX_ATTEMPTS, Mode
from surehand.shell.engines.browser import executor
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.executors import FREE_STARTS, PACE_SECONDS, StartPace
from surehand.shell.process import spawn_module
from surehand.shell.store import open_store


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> int:
        """The wall clock plays no part."""
        raise AssertionError("nothing is dated here")

    def monotonic(self) -> float:
        """As far as it was moved."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Move it."""
        self.seconds += seconds


@pytest.fixture
def starts() -> list[str]:
    """The workers that were started."""
    return []


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: list[str]) -> Iterator[Bench]:
    """A service whose workers are those that can be killed by a job."""

    def counted(module: str, kept: tuple[int, ...]) -> "Popen[bytes]":
        starts.append(module)
        return spawn_module(module, kept)

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setattr(executor, "WORKER_MODULE", MODULE)
    monkeypatch.setattr(executor, "spawn_module", counted)
    # On a busy machine the pause between two starts would be over before the last call comes.
    monkeypatch.setattr(executor, "SYSTEM_CLOCK", HandClock())
    bench = Bench(tmp_path, store=open_store(tmp_path), executor=WorkerExecutor(tmp_path, Mode.SANDBOX))
    yield bench
    bench.close()


class TestAPoisonJob:
    """A job that kills its worker is counted when it is claimed, ends at the retry limit, and stops nobody else."""

    def test_it_ends_at_the_retry_limit_and_others_go_on(self, bench: Bench, starts: list[str]) -> None:
        ends = [bench.finished("bad", note=POISON) for _ in range(MAX_ATTEMPTS)]
        parked = held(bench.call("bad", note=POISON).result)
        other = bench.finished("good")

        assert [(Reason.INTERRUPTED_BEFORE_SAVE, number) for number in range(1, 1 + MAX_ATTEMPTS)] == [
            (end.reason, end.attempt) for end in ends
        ]
        assert (Reason.RETRY_LIMIT, RecordChanged.NO) == (parked.reason, parked.record_changed)
        assert Outcome.DONE is other.outcome
        assert MAX_ATTEMPTS + 1 == len(starts)

    def test_behind_the_boundary_it_is_never_tried_again(self, bench: Bench, starts: list[str]) -> None:
        ends = [bench.finished("bad", note=LATE_POISON) for _ in range(3)]

        assert [(Reason.INTERRUPTED, 1)] * 3 == [(end.reason, end.attempt) for end in ends]
        assert 1 == len(starts)

    def test_who_waited_behind_it_may_try_again(self, bench: Bench) -> None:
        bad = bench.call("bad", note=POISON)
        waited = bench.end_of(bench.call("good"))
        # This end is told when the worker is gone; a call that came before could still be given to it.
        ended = bench.end_of(bad)
        again = bench.finished("good")

        assert Reason.INTERRUPTED_BEFORE_SAVE is ended.reason
        assert waited.outcome is Outcome.DONE or waited.safe_to_retry
        assert Outcome.DONE is again.outcome

    def test_many_of_them_do_not_start_workers_without_end(self, bench: Bench, starts: list[str]) -> None:
        ends = [bench.finished(f"bad-{number}", note=POISON) for number in range(FREE_STARTS + 4)]

        refused = ends[FREE_STARTS:]
        assert [Reason.INTERRUPTED_BEFORE_SAVE] * FREE_STARTS == [end.reason for end in ends[:FREE_STARTS]]
        assert [(Reason.PLATFORM_ERROR, 0, True)] * 4 == [
            (end.reason, end.attempt, end.safe_to_retry) for end in refused
        ]
        assert FREE_STARTS == len(starts)


class TestPaceOfStarts:
    """Starting again costs nothing as long as runs end, and is bounded in time when none does."""

    def test_without_an_end_it_is_bounded(self) -> None:
        clock = HandClock()
        pace = StartPace(clock)
        seconds = 600
        started = 0
        for _ in range(seconds):
            started += pace.may_start()
            clock.sleep(1.0)

        assert FREE_STARTS + (seconds - FREE_STARTS) // PACE_SECONDS == started

    def test_an_end_makes_starts_free_again(self) -> None:
        pace = StartPace(HandClock())
        while pace.may_start():
            pass

        pace.run_ended()

        assert pace.may_start()
