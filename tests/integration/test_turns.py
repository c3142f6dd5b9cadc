"""Runs against one app take turns, over threads and processes, and a dead one blocks nobody."""

import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define, field

from support.browser import NOTE_BUNDLE
from support.service import DEADLINE, DONE, FakeEngine, comes_true, wait_for
from surehand.core.outcome.evidence import Evidence, Refusal
from surehand.core.request.answers import STOPPED_WHILE_WAITING
from surehand.shell.engines.base import AppTarget, Job, RunRefusedError
from surehand.shell.turns import PLACES, TURN_SECONDS, TakingTurns

ONE, OTHER = "http://127.0.0.1:1", "http://127.0.0.1:2"


@define
class Caller:
    """A boundary that always lets through, and a wish to stop."""

    stop: threading.Event = field(factory=threading.Event)

    def cross(self) -> bool:
        """Pass."""
        return True

    def stop_requested(self) -> bool:
        """Whether the caller wants the run to stop."""
        return self.stop.is_set()


@define
class Ahead:
    """A clock whose time passes by sleeping alone."""

    time: float = 0.0

    def now(self) -> int:
        """Seconds."""
        return int(self.time)

    def monotonic(self) -> float:
        """Seconds."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let much more time pass than was asked for."""
        self.time += max(seconds, TURN_SECONDS / 4)


def job(origin: str) -> Job:
    """A run at an app."""
    target = AppTarget(origin=origin, record_origin=origin)
    return Job(run_id="run_" + "0" * 32, bundle=NOTE_BUNDLE, inputs={"note": "n"}, target=target)


@contextmanager
def running(turns: TakingTurns, engine: FakeEngine, origin: str = ONE) -> Generator[Future[Evidence]]:
    """A run that holds its place until the block ends."""
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(turns.execute, job(origin), Caller())
        wait_for(engine.entered)
        yield held
        engine.release()


def released() -> FakeEngine:
    """An engine whose runs end at once."""
    engine = FakeEngine()
    engine.release()
    return engine


#: A process that holds its turn at an app until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from types import SimpleNamespace as Thing
from surehand.shell.turns import TakingTurns

class Stuck:
    def execute(self, job, boundary):
        print("entered", flush=True)
        time.sleep(600)

TakingTurns(Stuck(), Path(sys.argv[1])).execute(Thing(target=Thing(origin=sys.argv[2])), None)
"""


class TestOneRunAtATimeAtOneApp:
    """The second run at an app begins when the first has ended; another app is not concerned."""

    def test_the_second_waits_and_then_runs(self, tmp_path: Path) -> None:
        first, second = FakeEngine(), released()
        with ThreadPoolExecutor(1) as pool:
            with running(TakingTurns(first, tmp_path), first):
                waiting = pool.submit(TakingTurns(second, tmp_path).execute, job(ONE), Caller())
                begun_meanwhile = comes_true_soon(second.entered)
            result = waiting.result(DEADLINE)

        assert begun_meanwhile is False
        assert result is DONE

    def test_another_app_is_free(self, tmp_path: Path) -> None:
        first, second = FakeEngine(), released()
        with running(TakingTurns(first, tmp_path), first):
            result = TakingTurns(second, tmp_path).execute(job(OTHER), Caller())

        assert result is DONE

    def test_as_many_run_as_the_operator_says(self, tmp_path: Path) -> None:
        first, second, third = FakeEngine(), FakeEngine(), released()
        stop = Caller()
        with running(TakingTurns(first, tmp_path, 2), first), running(TakingTurns(second, tmp_path, 2), second):
            stop.stop.set()
            result = TakingTurns(third, tmp_path, 2).execute(job(ONE), stop)

        assert result is STOPPED_WHILE_WAITING
        assert third.jobs == []

    def test_a_place_is_free_again_after_an_engine_that_raised(self, tmp_path: Path) -> None:
        broken = released()
        broken.error = ValueError("a bug")
        with pytest.raises(ValueError, match="a bug"):
            TakingTurns(broken, tmp_path).execute(job(ONE), Caller())

        assert TakingTurns(released(), tmp_path).execute(job(ONE), Caller()) is DONE

    def test_an_error_of_the_engine_is_never_told_as_a_turn_that_did_not_come(self, tmp_path: Path) -> None:
        broken = released()
        broken.error = OSError("after the save")

        with pytest.raises(OSError, match="after the save"):
            TakingTurns(broken, tmp_path).execute(job(ONE), Caller())


class TestWhoWaitsCanStop:
    """A run that waits ends when its caller wants it to, or after a long time, and has done nothing."""

    def test_the_callers_wish_is_heard(self, tmp_path: Path) -> None:
        first, second, caller = FakeEngine(), released(), Caller()
        with ThreadPoolExecutor(1) as pool, running(TakingTurns(first, tmp_path), first):
            waiting = pool.submit(TakingTurns(second, tmp_path).execute, job(ONE), caller)
            caller.stop.set()
            result = waiting.result(DEADLINE)

        assert result is STOPPED_WHILE_WAITING
        assert second.jobs == []

    def test_nobody_waits_for_ever(self, tmp_path: Path) -> None:
        first, second = FakeEngine(), released()
        with running(TakingTurns(first, tmp_path), first), pytest.raises(RunRefusedError) as refused:
            TakingTurns(second, tmp_path, clock=Ahead()).execute(job(ONE), Caller())

        assert refused.value.refusal is Refusal.ENGINE_UNAVAILABLE
        assert second.jobs == []

    def test_a_folder_that_refuses_lets_nothing_run(self, tmp_path: Path) -> None:
        (tmp_path / PLACES).write_text("in the way")
        engine = released()

        with pytest.raises(RunRefusedError):
            TakingTurns(engine, tmp_path).execute(job(ONE), Caller())
        assert engine.jobs == []


class TestProcesses:
    """Another process holds its turn as a thread does, and lets go of it when it dies."""

    def test_a_place_of_a_killed_process_is_free(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", HOLDER, str(tmp_path), ONE]
        stopped, engine = Caller(), released()
        stopped.stop.set()
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            said = process.stdout.readline()
            held = TakingTurns(engine, tmp_path).execute(job(ONE), stopped)
            process.kill()
        freed = TakingTurns(engine, tmp_path).execute(job(ONE), Caller())

        assert said == b"entered\n"
        assert held is STOPPED_WHILE_WAITING
        assert freed is DONE


def comes_true_soon(event: threading.Event) -> bool:
    """Whether something happens that should not, in a time in which it would."""
    return event.wait(0.5)


class TestNothingIsLeftBehind:
    """A place is a file of the state folder that only its owner can read."""

    def test_the_files_are_private(self, tmp_path: Path) -> None:
        TakingTurns(released(), tmp_path).execute(job(ONE), Caller())
        (place,) = (tmp_path / PLACES).iterdir()

        assert comes_true(place.exists)
        assert (place.stat().st_mode & 0o777, (tmp_path / PLACES).stat().st_mode & 0o777) == (0o600, 0o700)
        assert ONE not in place.name
