"""The executor that hands runs to a worker process.

Laws of this module:

- A run is handed to the worker whose token stands in its record, or to none.
- Workers that die one after another, none of them with a run to its end, are started again in a bounded number only.
- A worker counts as gone only when its process has ended. What its runs came to is then said by their records.
- Where a person attends, a decision or a wish to open an app again starts a worker that is gone; nobody has to run
  something first.
- No browser library is loaded here.
"""

import os
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from typing import IO, Final, assert_never

from attrs import evolve, field, frozen

from surehand.core.outcome.result import EngineName, FailedCheck, Mode, RunResult
from surehand.core.request.record import RunRecord
from surehand.core.workflow.reach import proxy_settings
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import Job
from surehand.shell.engines.browser.messages import (
    Begin,
    Cancel,
    Execute,
    Finished,
    Notice,
    Order,
    Pair,
    Ready,
    UnfittingLineError,
    WarmedUp,
    decode,
    encode,
)
from surehand.shell.executors import CLOSE_SECONDS, EngineUnavailableError, StartPace
from surehand.shell.process import end_process, spawn_module
from surehand.shell.store import open_store
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import StoreError

#: The module that a worker runs.
WORKER_MODULE: Final = "surehand.shell.engines.browser.worker"

#: Seconds until a worker must have said its token.
READY_SECONDS: Final = 30.0

#: Seconds until its browser must have started.
WARM_SECONDS: Final = 60.0

#: Seconds between two looks whether something waits for a worker that is gone.
WAKE_SECONDS: Final = 1.0


class WorkerGoneError(Exception):
    """The worker ended without saying how the run ended; its record says what that proves."""


@frozen
class _Worker:
    """One worker process and what it has said so far."""

    process: "Popen[bytes]" = field(repr=False)
    pace: StartPace
    token: Future[str] = field(factory=Future[str])
    warm: Future[tuple[FailedCheck, ...]] = field(factory=Future[tuple[FailedCheck, ...]])
    answers: dict[str, Future[RunResult]] = field(factory=dict[str, Future[RunResult]])
    guard: threading.Lock = field(factory=threading.Lock)

    def say(self, order: Begin | Execute | Cancel) -> None:
        """Send one order.

        Raises:
            OSError: The worker is gone.
            ValueError: Its pipe was closed.
        """
        with self.guard:
            _pipe(self.process.stdin).write(encode(Order(order)))
            _pipe(self.process.stdin).flush()

    def listen(self) -> None:
        """Hear what the worker says until it ends, then tell everybody who waits."""
        with suppress(UnfittingLineError, OSError, ValueError):
            for line in _pipe(self.process.stdout):
                self._take(decode(line, Notice).notice)
        end_process(self.process)
        _pipe(self.process.stdout).close()
        with self.guard:
            waiting: list[Future[RunResult]] = list(self.answers.values())
            self.answers.clear()
        for future in waiting:
            future.set_exception(WorkerGoneError())
        if not self.token.done():
            self.token.set_exception(WorkerGoneError())
        if not self.warm.done():
            self.warm.set_exception(WorkerGoneError())

    def _take(self, notice: Ready | WarmedUp | Finished) -> None:
        match notice:
            case Ready(token=token):
                self.token.set_result(token)
            case WarmedUp(failed=failed):
                self.warm.set_result(failed)
            case Finished(result=result):
                self.pace.run_ended()
                with self.guard:
                    answer = self.answers.pop(result.run_id, None)
                if answer is not None:
                    answer.set_result(result)
            case _:  # pragma: no cover
                assert_never(notice)


class WorkerExecutor:
    """Executes runs in a worker process, which is started when it is first needed and again when it has died.

    Args:
        folder: The state folder, in which the store is.
        mode: How the server was started.
        headed: Whether the browser shows a window.
        kept: File descriptors that the worker holds open as long as it lives.
        places: Runs against one app at the same time, over all processes; 0 where none takes turns.
        databases: The operator's databases, by the names that bundles use.
        attended: Whether stopped runs keep their windows, and what people decide about them is performed.
        pictures: Whether a picture is taken of the page at which a run stops.
    """

    def __init__(  # noqa: PLR0913 - what an installation may say about its worker
        self,
        folder: Path,
        mode: Mode,
        *,
        headed: bool = False,
        kept: Collection[int] = (),
        places: int = 0,
        databases: Mapping[str, Path] | None = None,
        attended: bool = False,
        pictures: bool = False,
    ) -> None:
        self.engine_name: Final = EngineName.BROWSER
        self.journaled: Final = True
        named = tuple(Pair(name, str(path)) for name, path in (databases or {}).items())
        self._begin = Begin(
            str(folder), mode, headed, places=places, databases=named, attended=attended, pictures=pictures
        )
        self._kept = tuple(kept)
        self._guard = threading.Lock()
        self._worker: _Worker | None = None
        self._pace = StartPace(SYSTEM_CLOCK)
        self._open = True
        self._closing = threading.Event()
        if attended:
            threading.Thread(target=self._attend, args=(folder,), name="surehand-wake", daemon=True).start()

    @property
    def owner_token(self) -> str:
        """The token of the living worker, which is started if there is none."""
        return self._living().token.result()

    def warm_up(self) -> None:
        """Start the worker and its browser, and wait for both.

        Raises:
            EngineUnavailableError: One of them does not start; the checks say which.
        """
        try:
            failed = self._living().warm.result(WARM_SECONDS)
        except (WorkerGoneError, TimeoutError):
            failed = (FailedCheck.BROWSER_NOT_STARTING,)
        if failed:
            raise EngineUnavailableError(*failed)

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:
        """As the protocol says; the future fails with ``WorkerGoneError`` when the worker dies."""
        worker = self._worker
        if worker is None or not _is_owner(worker, record.owner):
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING)
        answer: Future[RunResult] = Future()
        with worker.guard:
            worker.answers[record.run_id] = answer
        try:
            worker.say(Execute.of(job))
        except (OSError, ValueError):
            with worker.guard:
                worker.answers.pop(record.run_id, None)
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING) from None
        return answer

    def cancel(self, run_id: str) -> None:
        """As the protocol says."""
        worker = self._worker
        if worker is not None and run_id in worker.answers:
            with suppress(OSError, ValueError):
                worker.say(Cancel(run_id))

    def close(self) -> None:
        """As the protocol says. A worker that does not end in time is killed, and its records say what that proves."""
        self._closing.set()
        with self._guard:
            self._open = False
            worker, self._worker = self._worker, None
        if worker is not None:
            end_process(worker.process, CLOSE_SECONDS)

    def _attend(self, folder: Path) -> None:
        """Start a worker, as soon as its pace allows it, when there is none and something waits for one."""
        while not self._closing.wait(WAKE_SECONDS):
            worker = self._worker
            if (worker is None or worker.process.poll() is not None) and _is_awaited(folder):
                with suppress(EngineUnavailableError):
                    self._living()

    def _living(self) -> _Worker:
        """The living worker, started if there is none.

        Raises:
            EngineUnavailableError: It does not start, or the executor is closed.
        """
        with self._guard:
            if not self._open:
                raise EngineUnavailableError
            if self._worker is None or self._worker.process.poll() is not None:
                self._worker = self._start()
            return self._worker

    def _start(self) -> _Worker:
        if find_spec("playwright") is None:
            raise EngineUnavailableError(FailedCheck.BROWSER_MISSING)
        if not self._pace.may_start():
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING)
        try:
            worker = _Worker(spawn_module(WORKER_MODULE, self._kept), self._pace)
        except OSError:
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING) from None
        threading.Thread(target=worker.listen, name="surehand-worker", daemon=True).start()
        try:
            worker.say(evolve(self._begin, proxies=proxy_settings(os.environ)))
            worker.token.result(READY_SECONDS)
        except (OSError, ValueError, WorkerGoneError, TimeoutError):
            end_process(worker.process)
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING) from None
        return worker


def _is_awaited(folder: Path) -> bool:
    """Whether a decision, or a wish to open an app again, waits; a ledger that cannot say so is asked again."""
    with suppress(StoreError), closing(open_store(folder, read_only=True)) as store:
        attention = attention_of(store)
        return attention is not None and bool(attention.openings() or attention.unended())
    return False


def _is_owner(worker: _Worker, owner: str) -> bool:
    return worker.process.poll() is None and worker.token.done() and worker.token.result() == owner


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("started with pipes")
    return stream
