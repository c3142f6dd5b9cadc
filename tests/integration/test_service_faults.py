"""What a service does when the store, an executor or the clock fails it.

Laws:

- Every call is answered, and no run goes on for ever.
- No answer depends on what the wall clock says.
"""

from concurrent.futures import Future
from pathlib import Path

import pytest
from attrs import evolve

from support.service import Bench, FakeExecutor, comes_true, held
from support.stores import DONE, draft, result_of
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.outcome.result import EngineName, Mode, RunResult
from surehand.core.request.record import RunRecord
from surehand.shell.clock import SystemClock
from surehand.shell.engines.base import Job
from surehand.shell.execution import told


class TestAnEndThatCouldNotBeStored:
    """It is given as unsaved, and stored as soon as the store takes it, though nobody asks."""

    def test_is_stored_later(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        bench.broken.failing.add("finish")
        told = bench.finished()
        assert (Outcome.DONE, False) == (told.outcome, told.record_saved)
        assert Phase.RESERVED is not bench.attempts()[0].phase

        bench.broken.failing.clear()

        assert comes_true(lambda: bench.attempts()[0].phase is Phase.FINISHED)
        assert evolve(told, record_saved=True) == bench.attempts()[0].result
        bench.close()

    def test_is_stored_at_the_latest_by_closing(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        bench.broken.failing.add("finish")
        told = bench.finished()

        bench.broken.failing.clear()
        bench.close()

        assert evolve(told, record_saved=True) == bench.attempts()[0].result


class ExecutorThatBreaks(FakeExecutor):
    """An executor with a bug where it takes a run."""

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:  # noqa: ARG002 - it never answers
        """Break."""
        raise RuntimeError("a bug")


class TestAnExecutorThatBreaksWhereItTakesARun:
    """The call is answered with what the record proves, and the run does not go on for ever."""

    def test_it_is_answered(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, executor=ExecutorThatBreaks("f" * 32))

        told = bench.call().result

        assert Reason.INTERRUPTED_BEFORE_SAVE is told.reason
        assert Phase.FINISHED is bench.attempts()[0].phase
        bench.close()


class WallClock(SystemClock):
    """A clock whose wall time is as it was set."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """What it was set to."""
        return self._now


class TestAClockThatSaysWhatNoCalendarHolds:
    """The answer is the same, without the time of its check."""

    @pytest.mark.parametrize(
        ("seconds", "instant"),
        [
            (0, "1970-01-01T00:00:00Z"),
            (-30_610_224_000, "1000-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (-30_610_224_001, None),
            (253_402_300_800, None),
            (2**62, None),
            (-(2**62), None),
        ],
    )
    def test_the_answer_stands(self, seconds: int, instant: str | None) -> None:
        record = evolve(draft(1), attempt=1)

        result = held(told(DONE, record, EngineName.BROWSER, Mode.SANDBOX, WallClock(seconds)))

        assert instant == result.checked_at
        assert result_of(record, DONE) == evolve(result, checked_at=None)
