"""What the worker does: owns runs, executes them one after another, and ends in order.

Laws of this module:

- The worker opens the store itself and holds its own owner lock, so that the death of its parent loses no truth.
- The end of the input, a signal to end and a broken pipe mean the same: what has not asked for its save stops, what has
  is read back and stored, then browser and fence are ended and the process exits.
- The owner lock is let go last, when nothing of a run can act any more.
- What people decide about stopped runs is performed on the thread that executes runs, in the order in which it comes.
"""

import logging
import os
import signal
import threading
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final

from attrs import field, frozen

from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.result import Mode, RunResult
from surehand.core.request.record import RunRecord
from surehand.core.workflow.commands import Records
from surehand.shell.admission import Registry
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import Boundary, Engine, Job
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.messages import (
    Begin,
    Cancel,
    Execute,
    Finished,
    Notice,
    Order,
    Ready,
    UnfittingLineError,
    WarmedUp,
    decode,
    encode,
)
from surehand.shell.engines.browser.performing import Performer, seal_before_save
from surehand.shell.engines.browser.readback import Network
from surehand.shell.execution import execute_run
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.fence.journal import JOURNALS
from surehand.shell.identity import attention_key
from surehand.shell.locks import OwnerLock
from surehand.shell.sessions import SessionStore
from surehand.shell.store import open_store
from surehand.shell.store.attention import AttentionStore, attention_of
from surehand.shell.store.base import RunStore, StoreError
from surehand.shell.traces import TRACES
from surehand.shell.turns import TakingTurns

#: The signals that ask for the end.
_END_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: Seconds between two looks whether the ledger changed, and how many of them pass before it is looked at in any case.
WATCH_SECONDS: Final = 0.1
BEATS_UNTIL_LOOK: Final = 10


@frozen
class _Task:
    job: Job = field(repr=False)
    stop: threading.Event = field(factory=threading.Event)


@frozen
class _Look:
    """The ledger changed: somebody may have decided something."""


class Inbox:
    """Orders as they arrive, on a thread of its own, so that a wish to stop is heard while a run goes on."""

    def __init__(self, incoming: BinaryIO) -> None:
        self._incoming = incoming
        self._guard = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self.ended = threading.Event()
        self._looks = False
        self._queue: SimpleQueue[_Task | _Look | None] = SimpleQueue()

    def begin(self) -> Begin | None:
        """The first order; ``None`` when it is not the one that a worker begins with."""
        with suppress(UnfittingLineError):
            order = decode(self._incoming.readline(), Order).order
            return order if isinstance(order, Begin) else None
        return None

    def open(self) -> None:
        """Hear the orders from now on, and the signals."""
        threading.Thread(target=self._hear, name="surehand-orders", daemon=True).start()
        # A signal handler may not take a lock: it writes a byte, and a thread does the rest.
        reading, writing = os.pipe()
        for number in _END_SIGNALS:
            signal.signal(number, lambda _number, _frame: os.write(writing, b"."))
        threading.Thread(target=self._end_upon, args=(reading,), name="surehand-end", daemon=True).start()

    def next(self) -> _Task | _Look | None:
        """What is to be done next; ``None`` when there is nothing any more."""
        task = self._queue.get()
        if isinstance(task, _Look):
            with self._guard:
                self._looks = False
        return task

    def look(self) -> None:
        """Let the ledger be looked at once more, when what came before is done."""
        with self._guard:
            if not self._looks and not self.ended.is_set():
                self._looks = True
                self._queue.put(_Look())

    def forget(self, task: _Task) -> None:
        """A run is over."""
        with self._guard:
            self._tasks.pop(task.job.run_id, None)

    def end(self) -> None:
        """Stop what can still be stopped, and take nothing new."""
        with self._guard:
            self.ended.set()
            for task in self._tasks.values():
                task.stop.set()
        self._queue.put(None)

    def _end_upon(self, descriptor: int) -> None:
        os.read(descriptor, 1)
        self.end()

    def _hear(self) -> None:
        with suppress(UnfittingLineError, OSError):
            for line in self._incoming:
                self._take(decode(line, Order).order)
        self.end()

    def _take(self, order: Begin | Execute | Cancel) -> None:
        with self._guard:
            match order:
                case Execute() if not self.ended.is_set():
                    task = self._tasks[order.run_id] = _Task(order.job())
                    self._queue.put(task)
                case Cancel(run_id=run_id) if run_id in self._tasks:
                    self._tasks[run_id].stop.set()
                case _:
                    return


@frozen
class Duty:
    """Executes the runs of one worker: ``turns`` is the engine, in front of apps that others enter things into too."""

    inbox: Inbox
    outgoing: BinaryIO
    store: RunStore
    lock: OwnerLock
    engine: BrowserEngine
    turns: Engine
    mode: Mode
    performer: Performer | None = None

    def perform(self) -> None:
        """Execute runs until the inbox ends."""
        self._say(Notice(Ready(self.lock.token)))
        self._say(Notice(self._warm_up()))
        while (task := self.inbox.next()) is not None:
            match task:
                case _Task():
                    self._run(task)
                case _Look():
                    self._look()

    def _run(self, task: _Task) -> None:
        result = self._execute(task)
        self.inbox.forget(task)
        if result is not None:
            self._ended(result)
            self._say(Notice(Finished(result)))

    def _ended(self, result: RunResult) -> None:
        if self.performer is not None:
            self.performer.ended(result)

    def _look(self) -> None:
        if self.performer is not None:
            self.performer.look()

    def _warm_up(self) -> WarmedUp:
        try:
            self.engine.warm_up()
        except EngineUnavailableError as error:
            return WarmedUp(error.checks)
        return WarmedUp(())

    def _execute(self, task: _Task) -> RunResult | None:
        """Execute one run; ``None`` when it is not one of ours."""
        record = self.store.load(task.job.run_id)
        if record is None or record.owner != self.lock.token:
            return None
        return execute_run(
            self.store,
            self.turns,
            record,
            task.job,
            SYSTEM_CLOCK,
            self.mode,
            stop=task.stop,
            keep_stop=_keep_nothing if self.performer is None else self.performer.keep,
        )

    def _say(self, notice: Notice) -> None:
        """Say something to the parent. One that is gone finds it in the store, or another one does."""
        with suppress(OSError):
            self.outgoing.write(encode(notice))
            self.outgoing.flush()


def _keep_nothing(_record: RunRecord, _job: Job, _evidence: Evidence) -> None:
    """A ledger of claim files keeps no stops."""


def _keep_no_baseline(_job: Job, _baseline: Records) -> None:
    """Where nobody attends, nobody has a record read again."""


def watch(inbox: Inbox, attention: AttentionStore) -> None:
    """Let the ledger be looked at when it changed, and from time to time, until the inbox ends."""
    seen, beats = -1, 0
    while not inbox.ended.wait(WATCH_SECONDS):
        beats += 1
        with suppress(StoreError):
            version = attention.version()
            if version != seen or beats % BEATS_UNTIL_LOOK == 0:
                inbox.look()
            seen = version


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> bool:
    """Serve until the input ends; ``False`` when the first order is not a beginning.

    Raises:
        StoreError: The store cannot be opened.
        OSError: No owner lock can be had.
    """
    # The log lines of libraries may hold what was typed, and nobody reads them.
    logging.disable(logging.CRITICAL)
    inbox = Inbox(incoming)
    begin = inbox.begin()
    if begin is None:
        return False
    folder = Path(begin.folder)
    with ExitStack() as held:
        lock = OwnerLock.acquire(folder)
        held.callback(lock.release)
        store = open_store(folder)
        held.callback(store.close)
        inbox.open()
        attention = attention_of(store)
        files = None if attention is None else EvidenceFiles(folder, attention_key(folder))
        engine = BrowserEngine(
            folder / JOURNALS,
            headed=begin.headed,
            network=Network(begin.proxies),
            sessions=SessionStore(folder),
            databases={pair.name: pair.value for pair in begin.databases},
            trace_folder=folder / TRACES,
            attended=begin.attended,
            pictures=begin.pictures,
            before_save=_keep_no_baseline if files is None or not begin.attended else partial(seal_before_save, files),
        )
        held.callback(engine.close)
        turns = TakingTurns(engine, folder, begin.places) if begin.places else None
        performer = None
        if attention is not None and files is not None:
            performer = _performer(attention, files, store, engine, turns, lock, begin, inbox)
        Duty(inbox, outgoing, store, lock, engine, turns or engine, begin.mode, performer).perform()
    return True


def _performer(  # noqa: PLR0913, PLR0917 - the parts of one worker, each of them made by another
    attention: AttentionStore,
    files: EvidenceFiles,
    store: RunStore,
    engine: BrowserEngine,
    turns: TakingTurns | None,
    lock: OwnerLock,
    begin: Begin,
    inbox: Inbox,
) -> Performer:
    """What keeps stops and performs decisions."""
    if begin.attended:
        threading.Thread(target=watch, args=(inbox, attention), name="surehand-attend", daemon=True).start()
    return Performer(
        runs=store,
        attention=attention,
        files=files,
        engine=engine,
        turn=_at_once if turns is None else turns.turn,
        token=lock.token,
        mode=begin.mode,
        clock=SYSTEM_CLOCK,
        stop=inbox.ended,
        attended=begin.attended,
        admitted=Registry(files.state_folder).still_admits,
    )


def _at_once(_origin: str, _boundary: Boundary) -> AbstractContextManager[bool]:
    """The turn at an app that nobody else has."""
    return nullcontext(enter_result=True)
