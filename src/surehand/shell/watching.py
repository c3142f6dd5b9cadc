"""Runs that another process executes, and ends that could not be stored yet: one thread looks after all of them.

Laws of this module:

- However many calls wait, there is one thread, and it sleeps while nobody waits and nothing is left to be stored.
- A run is looked at through the service, so that an owner that is gone meanwhile is found here too.
- Every future ends: with the final result, or canceled when the service closes.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from surehand.core.outcome.result import RunResult, is_final
from surehand.shell.store.base import StoreError

#: Seconds between two looks at the store while somebody waits.
LOOK_SECONDS: Final = 0.1

#: Looks between two tries to store what could not be stored before.
LOOKS_UNTIL_SAVE: Final = 10


class ForeignRuns:
    """Watches runs of other processes.

    Args:
        look: Says how a run stands; it settles one whose owner is gone.
        sweep: Called once, before anything is watched.
        save: Stores the ends that could not be stored before; says whether none is left.
    """

    def __init__(
        self, look: Callable[[str], RunResult | None], sweep: Callable[[], None], save: Callable[[], bool]
    ) -> None:
        self._look = look
        self._sweep = sweep
        self._save = save
        self._unsaved = False
        self._wanted = threading.Condition()
        self._watched: dict[str, list[Future[RunResult]]] = {}
        self._started = False
        self._open = True

    def start(self) -> None:
        """Begin with the sweep; a second call does nothing."""
        with self._wanted:
            if self._started or not self._open:
                return
            self._started = True
        threading.Thread(target=self._work, name="surehand-watch", daemon=True).start()

    def watch(self, run_id: str) -> Future[RunResult]:
        """A future of the run's final result."""
        waiting: Future[RunResult] = Future()
        with self._wanted:
            if not self._open:
                waiting.cancel()
                return waiting
            self._watched.setdefault(run_id, []).append(waiting)
            self._wanted.notify()
        return waiting

    def save_soon(self) -> None:
        """Try again and again to store an end that could not be stored."""
        with self._wanted:
            self._unsaved = True
            self._wanted.notify()

    def close(self) -> None:
        """Watch no more; whoever still waits is released without an answer, and may ask how the run stands."""
        with self._wanted:
            self._open = False
            left = [future for waiting in self._watched.values() for future in waiting]
            self._watched.clear()
            self._wanted.notify()
        for future in left:
            future.cancel()

    def _work(self) -> None:
        self._sweep()
        looks = 0
        while self._await_work():
            looks += 1
            if self._unsaved and looks % LOOKS_UNTIL_SAVE == 0:
                self._save_again()
            for run_id in tuple(self._watched):
                self._tell(run_id)

    def _save_again(self) -> None:
        """Try to store what is left; what is added meanwhile is tried the next time."""
        with self._wanted:
            self._unsaved = False
        if not self._save():
            self.save_soon()

    def _await_work(self) -> bool:
        """Sleep until it is time to look again; ``False`` when the service closes."""
        with self._wanted:
            self._wanted.wait_for(lambda: self._watched or self._unsaved or not self._open)
            self._wanted.wait_for(lambda: not self._open, LOOK_SECONDS)
            return self._open

    def _tell(self, run_id: str) -> None:
        """Answer everyone who waits for a run that is final; a store that cannot answer now is asked again."""
        try:
            result = self._look(run_id)
        except StoreError:
            return
        if result is None or not is_final(result):
            return
        with self._wanted:
            waiting = self._watched.pop(run_id, [])
        for future in waiting:
            answer(future, result)


def answer(future: Future[RunResult], result: RunResult) -> None:
    """Give the result to one who may have stopped waiting."""
    if future.set_running_or_notify_cancel():
        future.set_result(result)
