"""Who executes runs: the interface, and the executor that works inside this process.

Laws of this module:

- One executor executes one run at a time, in the order of submission.
- The executor's owner token stands in every record that it executes.
  Its lock is held until no run of it can act any more.
- A canceled run still runs through its engine, which stops it before the boundary: there is no second way to end a run.
"""

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Protocol

from attrs import field, frozen

from surehand.core.outcome.result import MAX_ATTEMPTS, EngineName, FailedCheck, Mode, RunResult
from surehand.core.request.record import RunRecord
from surehand.shell.clock import Clock
from surehand.shell.engines.base import Engine, Job
from surehand.shell.execution import execute_run
from surehand.shell.locks import OwnerLock
from surehand.shell.store.base import RunStore

#: Seconds that closing waits for the run at work; a read-back has its own, shorter deadline.
CLOSE_SECONDS: Final = 30.0

#: Starts without any pause. A request that kills its worker does so in each of its attempts, and the next one is free.
FREE_STARTS: Final = MAX_ATTEMPTS + 1

#: Seconds between two starts when the free ones are used up.
PACE_SECONDS: Final = 10.0


class EngineUnavailableError(Exception):
    """An engine cannot execute runs now; ``checks`` names why."""

    def __init__(self, *checks: FailedCheck) -> None:
        super().__init__(*checks)
        self.checks = checks


class Executor(Protocol):
    """Executes reserved runs, one after another. All methods are safe to call from any thread."""

    @property
    def engine_name(self) -> EngineName:
        """The engine that stands in every result of this executor."""
        ...

    @property
    def owner_token(self) -> str:
        """The owner that a record names before it is submitted here.

        Raises:
            EngineUnavailableError: There is none that could execute a run now; nothing needs to be reserved.
        """
        ...

    @property
    def journaled(self) -> bool:
        """Whether the delivery boundary is passed durably before a write."""
        ...

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:
        """Execute a reserved run; the future carries its result as stored.

        Raises:
            EngineUnavailableError: The executor takes no run any more; nothing of this one was executed.
        """
        ...

    def cancel(self, run_id: str) -> None:
        """Wish that a run stops; heard before the boundary only, and ignored for a run that is not here."""
        ...

    def close(self) -> None:
        """Stop what has not passed the boundary, wait in bounded time for the rest, and release what is held."""
        ...


class StartPace:
    """How soon a process that executes runs is started again when none of its forerunners brought a run to its end.

    Args:
        clock: Measures the time between two starts.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._starts = 0
        self._last = 0.0

    def may_start(self) -> bool:
        """Whether one may be started now; it is then counted as started."""
        now = self._clock.monotonic()
        if self._starts >= FREE_STARTS and now - self._last < PACE_SECONDS:
            return False
        self._starts += 1
        self._last = now
        return True

    def run_ended(self) -> None:
        """One of them brought a run to its end: starting is no waste."""
        self._starts = 0


@frozen
class _Task:
    record: RunRecord
    job: Job = field(repr=False)
    stop: threading.Event = field(factory=threading.Event)
    answer: Future[RunResult] = field(factory=Future[RunResult])


class LocalExecutor:
    """Executes runs on one thread of this process."""

    def __init__(self, engine: Engine, store: RunStore, lock: OwnerLock, clock: Clock, mode: Mode) -> None:
        self.engine_name: Final = engine.name
        self.owner_token: Final = lock.token
        self.journaled: Final = True
        self._engine = engine
        self._store = store
        self._lock = lock
        self._clock = clock
        self._mode = mode
        self._guard = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._open = True
        self._thread = threading.Thread(target=self._work, name="surehand-runs", daemon=True)
        self._thread.start()

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:
        """As the protocol says."""
        task = _Task(record, job)
        with self._guard:
            if not self._open:
                raise EngineUnavailableError
            self._tasks[record.run_id] = task
            self._queue.put(task)
        return task.answer

    def cancel(self, run_id: str) -> None:
        """As the protocol says."""
        with self._guard:
            task = self._tasks.get(run_id)
        if task is not None:
            task.stop.set()

    def close(self) -> None:
        """As the protocol says; a run that does not end in time keeps its owner lock until the process ends."""
        with self._guard:
            self._open = False
            for task in self._tasks.values():
                task.stop.set()
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._engine.close()
            self._lock.release()

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            self._perform(task)

    def _perform(self, task: _Task) -> None:
        try:
            result = execute_run(
                self._store, self._engine, task.record, task.job, self._clock, self._mode, stop=task.stop
            )
        except BaseException as error:  # noqa: BLE001 - the thread serves the next run whatever this one met
            task.answer.set_exception(error)
        else:
            task.answer.set_result(result)
        finally:
            with self._guard:
                self._tasks.pop(task.record.run_id, None)
