"""The process that runs the cells of the failpoint layer: it loads everything once and forks for each part of a cell.

Laws of this module:

- Nothing is open and no thread runs when it forks.
- What a part says goes through a pipe at once, with the saves that the app had seen by then.
- A part that does not end in time is killed by its number and says so.
"""

import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from faults.failpoints_parts import BOUNDARIES, Setting, pointed_hand, settle_in_its_absence
from support.effects import (
    INPUTS,
    PATIENCE,
    WORKFLOW,
    OpensPremises,
    ask,
    effects,
    fingerprint_of,
    hand,
    opens_claims_premises,
    unanswered,
)
from support.stores import draft, started
from surehand.core import wire
from surehand.core.outcome.result import RunResult
from surehand.shell.api import Surehand
from surehand.shell.assembly import open_premises
from surehand.shell.clock import SystemClock
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.service import UnknownRunError
from surehand.shell.store.base import StoreError, StoreUnavailableError

REQUEST: Final = "entry-1"
OTHER: Final = "a-new-entry"

#: Seconds that one part of a cell may take, with all that it waits for.
LIMIT: Final = 240.0

#: Seconds that another process waits for a run that is held.
GLANCE: Final = 0.05

#: Seconds by which every clock jumps while a run is held.
DAY: Final = 86_400

OPENS: Final[dict[str, OpensPremises]] = {"sqlite": open_premises, "claims": opens_claims_premises}

Order = Mapping[str, Any]
Says = Callable[[object], None]


class JumpingClock(SystemClock):
    """The system's clock, which jumps when it is told to."""

    def __init__(self) -> None:
        self.jump = 0

    def now(self) -> int:
        """The time after the jumps."""
        return super().now() + self.jump

    def monotonic(self) -> float:
        """As above: a process that was stopped for a day."""
        return super().monotonic() + self.jump


class Failpoint:
    """Makes one fault at one point, once."""

    def __init__(self, order: Order, says: Says, go: int) -> None:
        self.clock = JumpingClock()
        self._point, self._kind = order["point"], order["kind"]
        self._says, self._go = says, go
        self._guard = threading.Lock()
        self._left = 1

    def passes(self, name: str) -> None:
        """A point is passed."""
        with self._guard:
            due = name == self._point and self._left > 0
            self._left -= due
        if due:
            self._says({"met": name})
            self._fail(name)

    def _fail(self, name: str) -> None:
        match self._kind:
            case "kill":
                signal.pthread_kill(threading.get_ident(), signal.SIGKILL)  # this thread takes no further step
            case "stop" | "robbed":
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            case "hold":
                self._says({"held": name})
                os.read(self._go, 1)
                self.clock.jump += DAY
            case _:
                raise _error_at(name)


def _error_at(name: str) -> Exception:
    """What fails at this point as its interface says, and a bug where the interface says that nothing fails."""
    if name.startswith(("store.", "premises.")):
        return StoreUnavailableError("told to fail")
    if name.startswith("crew."):
        return EngineUnavailableError()
    return RuntimeError("told to fail")


# The parts of a cell, each in a process of its own.


def _prepare(order: Order) -> None:
    """Leave an attempt behind whose owner is gone before the boundary."""
    folder = Path(order["folder"])
    with closing(OPENS[order["store"]](folder).store) as store:
        left = draft(0, REQUEST, owner=new_token(), fingerprint=fingerprint_of(folder), run_id=new_run_id())
        started(store.reserve(left))


def _victim(order: Order, says: Says, go: int) -> None:
    """Ask for the entry, look at the run, and ask again, with the fault at its point."""
    failpoint = Failpoint(order, says, go)
    folder, oracle = Path(order["folder"]), Path(order["oracle"])

    def passes(name: str) -> None:
        if name == "effect.after" and order["scenario"] == "settled":
            with closing(OPENS[order["store"]](folder).store) as store:
                settle_in_its_absence(store)
        failpoint.passes(name)

    setting = Setting(
        premises=lambda: OPENS[order["store"]](folder),
        oracle=oracle,
        passes=passes,
        clock=failpoint.clock,
        boundary=BOUNDARIES[order["boundary"]],
    )
    with pointed_hand(setting) as surehand:
        if order["scenario"] == "refused":
            before = effects(oracle)
            refused = surehand.run_workflow(WORKFLOW, {**INPUTS, "note": ""}, REQUEST)
            says({"answer": wire.to_wire(refused), "saves": before})
        told = ask(surehand, REQUEST)
        _say(says, order, told)
        passes("answer.said")
        _look(surehand, says, order, told.run_id)
        _say(says, order, ask(surehand, REQUEST))


def _bystander(order: Order, says: Says, _go: int) -> None:
    """Another process asks for the same entry while the first one stands still."""
    with hand(Path(order["folder"]), Path(order["oracle"]), OPENS[order["store"]]) as surehand:
        _say(says, order, ask(surehand, REQUEST, PATIENCE if order["kind"] == "robbed" else GLANCE))


def _recovery(order: Order, says: Says, _go: int) -> None:
    """A later process asks again, asks for something new, and looks at every run."""
    folder, oracle, opens = Path(order["folder"]), Path(order["oracle"]), OPENS[order["store"]]
    with hand(folder, oracle, opens) as surehand:
        _say(says, order, ask(surehand, REQUEST))
        _say(says, order, ask(surehand, REQUEST))
        for run_id in order["look_at"]:
            _look(surehand, says, order, run_id)
    with hand(folder, oracle, opens) as surehand:
        says({"other": wire.to_wire(ask(surehand, OTHER))})
    with closing(opens(folder).store) as store, hand(folder, oracle, opens) as surehand:
        says({"wrong": unanswered(surehand, store)})
        says({"attempts": {record.run_id: record.attempt for record in store.recent(100)}})
        try:
            store.check_health()
        except StoreError as error:
            says({"wrong": [f"the store is not whole: {error.check.value}"]})


def _say(says: Says, order: Order, answer: RunResult) -> None:
    says({"answer": wire.to_wire(answer), "saves": effects(Path(order["oracle"]))})


def _look(surehand: Surehand, says: Says, order: Order, run_id: str) -> None:
    """Look at a run; one that is not known is said as such."""
    try:
        _say(says, order, surehand.get_run(run_id, PATIENCE))
    except UnknownRunError:
        says({"unknown": run_id})


# Forking and listening.


class Part:
    """A forked process, what it says, and how it ends."""

    def __init__(self, perform: Callable[[Order, Says, int], None], order: Order) -> None:
        self.said: list[dict[str, Any]] = []
        self._reading, writing = os.pipe()
        going, self._go = os.pipe()
        self._number = os.fork()
        if self._number == 0:
            os.close(self._reading)
            os.close(self._go)
            _perform(lambda says: perform(order, says, going), writing)
        os.close(writing)
        os.close(going)
        self._rest = b""

    def end(self, pause: Callable[[], None] | None = None) -> int | None:
        """Listen until it has ended; ``pause`` is called while it stands still.

        Returns:
            The exit status, negative for a signal; ``None`` for one that did not end in time.
        """
        deadline = time.monotonic() + LIMIT
        status: int | None = None
        while True:
            if select.select([self._reading], [], [], 0.002)[0] and self._hears("held") and pause is not None:
                pause()
                with suppress(BrokenPipeError):  # the other threads may have come to their end meanwhile
                    os.write(self._go, b".")
            number, found = os.waitpid(self._number, os.WNOHANG | os.WUNTRACED)
            if number and os.WIFSTOPPED(found):
                if pause is not None:
                    pause()
                os.kill(self._number, signal.SIGCONT)
            elif number:
                status = os.waitstatus_to_exitcode(found)
                break
            if time.monotonic() > deadline:
                os.kill(self._number, signal.SIGKILL)
                os.waitpid(self._number, 0)
                break
        while self._hears("held") is not None:
            pass
        os.close(self._reading)
        os.close(self._go)
        return status

    def _hears(self, word: str) -> bool | None:
        """Take what it said; whether one of the lines holds this word. ``None`` at the end."""
        part = os.read(self._reading, 65536)
        lines = (self._rest + part).split(b"\n")
        self._rest = lines.pop()
        said = [json.loads(line) for line in lines]
        self.said += said
        return any(word in line for line in said) if part else None


def _perform(perform: Callable[[Says], None], pipe: int) -> None:
    """Perform a part in the forked process, and end it."""

    def says(line: object) -> None:
        os.write(pipe, json.dumps(line).encode() + b"\n")

    status = 0
    try:
        perform(says)
    except BaseException as error:  # noqa: BLE001 - a child must not run on as its parent
        with suppress(OSError):
            says({"wrong": [f"a process broke down: {type(error).__name__}"]})
        status = 1
    os._exit(status)


def _cell(order: Order) -> dict[str, object]:
    """One cell: the victim, the bystander while it stands still, and the recovery."""
    if order["scenario"] == "left":
        prepared = Part(lambda told, _says, _go: _prepare(told), order)
        assert prepared.end() == 0
    meanwhile: list[dict[str, Any]] = []

    def pause() -> None:
        if order["kind"] == "robbed":
            for lock in (Path(order["folder"]) / "owners").glob("*.lock"):
                lock.unlink()
        bystander = Part(_bystander, order)
        status = bystander.end()
        meanwhile.extend(bystander.said)
        if status != 0:
            meanwhile.append({"wrong": [f"the bystander ended with {status}"]})

    victim = Part(_victim, order)
    status = victim.end(pause)
    given = [line["answer"] for line in (*victim.said, *meanwhile) if "answer" in line]
    look_at = sorted({answer["run_id"] for answer in given if answer["record_saved"]})
    recovery = Part(_recovery, {**order, "look_at": look_at})
    recovered = recovery.end()
    return {"status": status, "recovered": recovered, "said": [*victim.said, *meanwhile, *recovery.said]}


def main() -> None:
    """Read orders, one JSON line each, and say what came of them."""
    for line in sys.stdin:
        print(json.dumps(_cell(json.loads(line))), flush=True)  # noqa: T201 - the answer to an order


if __name__ == "__main__":
    main()
