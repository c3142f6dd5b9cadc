"""Races between the threads of one process: all of them try the same move of a run store at the same time."""

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from support.stores import ENDS, draft, refusal, result_of
from surehand.core.outcome.evidence import OwnerGone
from surehand.core.request.gate import Decision, Start, decide
from surehand.core.request.record import RunRecord
from surehand.shell.store.base import RunStore
from surehand.shell.store.memory import MemoryStore

#: How long a thread goes on before another takes its turn, in seconds; a thousandth of what it is otherwise.
_TURN: Final = 1e-6


def threads_race(store: RunStore, threads: int, rounds: int) -> dict[str, int]:
    """Let threads race; returns how often each move succeeded, over all threads and rounds.

    Raises:
        BaseException: Whatever the store raised in a thread, apart from the refusal of a run id that was used before.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        with ThreadPoolExecutor(threads) as pool:
            start = threading.Barrier(threads)
            racing = [pool.submit(_race, store, start, rounds, racer) for racer in range(threads)]
            errors = [error for each in racing if (error := each.exception(timeout=240)) is not None]
    finally:
        sys.setswitchinterval(before)
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    won = [each.result() for each in racing]
    return {move: sum(each[move] for each in won) for move in MOVES}


def _race(store: RunStore, start: threading.Barrier, rounds: int, racer: int) -> dict[str, int]:
    won = dict.fromkeys(MOVES, 0)
    try:
        for number in range(rounds):
            for name, move in MOVES.items():
                start.wait(60)
                won[name] += move(store, 100 * number, racer)
    except BaseException:
        start.abort()
        raise
    return won


def _run(number: int) -> RunRecord:
    return draft(number, f"run-{number}", attempt=1)


def _reserved(store: RunStore, number: int, racer: int) -> int:
    """One request for all threads; and the runs that the next moves are about, from whichever thread is first."""
    for place in (50, 51):
        with contextlib.suppress(ValueError):
            store.reserve(draft(number + place, f"run-{number + place}"))
    return isinstance(store.reserve(draft(number + racer, f"entry-{number}")), Start)


def _refused(store: RunStore, number: int, _: int) -> int:
    try:
        store.record_refusal(refusal(number + 60))
    except ValueError:
        return 0
    return 1


def _read(store: RunStore, number: int, racer: int) -> int:
    """Add to the store and read all of it; a reader that another thread disturbs raises an error."""
    first = _run(50)
    for place in range(5):
        store.record_refusal(refusal(number + 70 + 5 * racer + place))
        store.old_refusals(2**40)
        tuple(store.unfinished())
        store.attempts(first.request_key)
        store.recent(1000)
        store.recent(1000, first.run_id)
    return 1


def _forgotten(store: RunStore, number: int, _: int) -> int:
    return store.forget_refusals(2**40) if number % 500 == 400 else 0


def _finished(store: RunStore, number: int, racer: int) -> int:
    record = _run(number + 50)
    return store.finish(record.run_id, record.owner, result_of(record, ENDS[racer % len(ENDS)]))


def _told_late(store: RunStore, number: int, racer: int) -> int:
    record = _run(number + 50)
    return store.note_late(record.run_id, record.owner, result_of(record, ENDS[racer % len(ENDS)]))


def _delivered_or_settled(store: RunStore, number: int, racer: int) -> int:
    record = _run(number + 51)
    if racer % 2:
        return store.begin_delivery(record.run_id, record.owner)
    return store.settle_owner_gone(record, result_of(record, OwnerGone(record.phase, record.journaled)))


#: What the threads try in each round, one after another.
MOVES: Final[dict[str, Callable[[RunStore, int, int], int]]] = {
    "reserved": _reserved,
    "refused": _refused,
    "read": _read,
    "forgotten": _forgotten,
    "finished": _finished,
    "told late": _told_late,
    "delivered or settled": _delivered_or_settled,
}


class UnguardedStore(MemoryStore):
    """Lets threads come between looking and acting, which the suite has to catch."""

    def __init__(self) -> None:
        super().__init__()
        self._looked: Final = Counter[str]()
        self._met: Final = threading.Condition()

    def reserve(self, draft: RunRecord) -> Decision:
        """Look, and then act, with no guard held in between."""
        decision = decide(self.attempts(draft.request_key), draft)
        self._meet(draft.request_key)
        if isinstance(decision, Start):
            with self._guard:
                self._add(decision.record)
        return decision

    def _meet(self, key: str) -> None:
        """Wait until another thread looked as well, so that the control does not depend on luck."""
        with self._met:
            self._looked[key] += 1
            self._met.notify_all()
            assert self._met.wait_for(lambda: self._looked[key] > 1, 60)
