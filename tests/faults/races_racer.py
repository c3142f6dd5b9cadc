"""One racer: a process that prepares what it is told, waits for the flag, acts, and says what it was answered.

Laws of this module:

- It is started once and races in every round. Its service and its store stay open from round to round.
- The flag is one number in memory that all racers share, so that they set off at the same moment.
- What is wrong on purpose is chosen by the order and lives here.
"""

import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve

from faults.failpoints_driver import OPENS
from faults.failpoints_parts import PointedStore, Setting, pointed_hand
from support.effects import INPUTS, PATIENCE, WORKFLOW, note_effect
from support.stores import DONE, draft, result_of, started
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import EngineName, Mode, RunResult
from surehand.core.request.record import RunRecord
from surehand.core.wire import to_wire
from surehand.shell.api import Surehand
from surehand.shell.catalog import Premises
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.execution import StoreBoundary, settle_gone
from surehand.shell.locks import OwnerLock
from surehand.shell.service import Service
from surehand.shell.store.base import RunStore

#: Seconds that a racer waits for the flag.
LIMIT: Final = 60.0

#: Threads of one burst.
BURST: Final = 20

#: What a racer knows of an order.
Order = dict[str, Any]


class NoCompareAndSet(PointedStore):
    """Wrong on purpose: settles a run although it moved on after its record was read."""

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Look at no phase, and come second, so that the control does not depend on luck."""
        end = time.monotonic() + LIMIT
        while (now := self.store.load(record.run_id)) is not None and now.phase is record.phase:
            if time.monotonic() > end:
                raise AssertionError("nobody moved the run on")
        return self.store.finish(record.run_id, record.owner, result)


class ProcessNumbers(Service):
    """Wrong on purpose: an owner lives as long as a process of its number does."""

    def _is_abandoned(self, premises: Premises, record: RunRecord) -> bool:
        number = premises.folder / "owners" / f"{record.owner}.pid"
        if record.phase is Phase.FINISHED or not number.exists():
            return False
        try:
            os.kill(int(number.read_text()), 0)
        except ProcessLookupError:
            return True
        return False


def _passes(name: str) -> None:
    """No fault is made here."""
    del name


@define
class Racer:
    """What one racer holds open."""

    folder: Path
    oracle: Path
    kind: str
    wrong: str | None
    store: RunStore
    hand: Surehand
    locks: dict[str, OwnerLock]

    @classmethod
    def of(cls, order: Order) -> "Racer":
        """Open what the order names."""
        folder, oracle = Path(order["folder"]), Path(order["oracle"])
        wrong = order.get("wrong")
        store = OPENS[order["store"]](folder).store
        if wrong == "no compare-and-set":
            store = NoCompareAndSet(store, _passes)
        return cls(folder, oracle, order["store"], wrong, store, _hand(order, folder, oracle), {})

    def close(self) -> None:
        """Close everything."""
        self.hand.close()
        self.store.close()


def _hand(order: Order, folder: Path, oracle: Path) -> Surehand:
    service = ProcessNumbers if order.get("wrong") == "process numbers" else Service
    opens = OPENS[order["store"]]
    return pointed_hand(Setting(lambda: opens(folder), oracle, _passes, SYSTEM_CLOCK, service=service))


# What is raced. Each prepares, and returns what is done after the flag.

Act = Callable[[], object]


def asks(racer: Racer, order: Order) -> Act:
    """Ask for an entry."""
    inputs = {**INPUTS, "note": order.get("note", INPUTS["note"])}
    return lambda: to_wire(racer.hand.run_workflow(WORKFLOW, inputs, order["request_id"], order.get("wait", 0.0)))


def looks(racer: Racer, order: Order) -> Act:
    """Look at a run until it has ended."""
    return lambda: to_wire(racer.hand.get_run(order["run_id"], PATIENCE))


def crosses(racer: Racer, order: Order) -> Act:
    """Pass the boundary as the run's owner, and save."""
    record = _record(racer, order)

    def act() -> object:
        crossed = StoreBoundary(racer.store, record).cross()
        if crossed:
            note_effect(racer.oracle, record.run_id)
        return crossed

    return act


def settles(racer: Racer, order: Order) -> Act:
    """End the run as one whose owner is gone, by a record that was read before."""
    record = _record(racer, order)
    return lambda: to_wire(settle_gone(racer.store, record, SYSTEM_CLOCK, Mode.SANDBOX, EngineName.NONE))


def owns(racer: Racer, order: Order) -> Act:
    """Begin a run as a living owner; after the flag finish it or not, and die."""
    lock = OwnerLock.acquire(racer.folder)
    asked = evolve(draft(0, order["request_id"], owner=lock.token), run_id=order["run_id"])
    record = started(racer.store.reserve(asked))
    racer.store.begin_delivery(record.run_id, record.owner)

    def act() -> object:
        if order["finishes"]:
            note_effect(racer.oracle, record.run_id)
            racer.store.finish(record.run_id, record.owner, result_of(record, DONE))
        lock.release()
        return None

    return act


def bursts(racer: Racer, order: Order) -> Act:
    """Ask from many threads of a service that was not used before."""

    def act() -> object:
        answers: list[object] = []
        with _hand({"store": racer.kind}, Path(order["folder"]), racer.oracle) as hand:

            def ask() -> None:
                answers.append(to_wire(hand.run_workflow(WORKFLOW, INPUTS, order["request_id"], PATIENCE)))

            threads = [threading.Thread(target=ask) for _ in range(order["threads"])]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return answers

    return act


PLAYS: Final[dict[str, Callable[[Racer, Order], Act]]] = {
    "asks": asks,
    "looks": looks,
    "crosses": crosses,
    "settles": settles,
    "owns": owns,
    "bursts": bursts,
}


def _record(racer: Racer, order: Order) -> RunRecord:
    record = racer.store.load(order["run_id"])
    if record is None:
        raise AssertionError("the run is not there")
    return record


def _await_flag(flag: mmap.mmap, number: int) -> None:
    end = time.monotonic() + LIMIT
    while int.from_bytes(flag[:8], "little") < number:
        os.sched_yield()
        if time.monotonic() > end:
            raise AssertionError("no flag in time")


def _say(line: object) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - the answer to an order


def main() -> None:
    """Race until the input ends."""
    racer: Racer | None = None
    with Path(sys.argv[1]).open("r+b") as file, closing(mmap.mmap(file.fileno(), 8)) as flag:
        for line in sys.stdin:
            order: Order = json.loads(line)
            if order["play"] == "opens":
                if racer is not None:
                    racer.close()
                racer = Racer.of(order)
                _say("open")
                continue
            assert racer is not None
            act = PLAYS[order["play"]](racer, order)
            _say("ready")
            _await_flag(flag, order["number"])
            _say(act())
    if racer is not None:
        racer.close()


if __name__ == "__main__":
    main()
