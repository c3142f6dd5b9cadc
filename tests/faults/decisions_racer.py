"""A process that decides, or that performs decisions, as it is told line by line; it may be made to end at any commit.

Laws of this module:

- It uses the desk and the ledger as the doors and the worker do; nothing of them is replaced.
- An effect is a file that is made exclusively and counted by whoever judges: a second one cannot hide.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Final

from support.stores import DONE, result_of
from surehand.core.attention.decision import DecisionRequest, Door, Ended, decision_key, status_after
from surehand.core.attention.pause import Action
from surehand.core.wire import to_wire
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.store import sqlite_file
from surehand.shell.store.sqlite import SqliteStore

#: Seconds since the epoch at which continuations end; their time decides nothing.
ENDED_AT: Final = 1_900_000_000

_commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits


def die_at(number: int, *, after: bool) -> None:
    """End this process at its next commit of this number, before or after the commit takes effect."""
    left = iter(range(1, number + 1))

    def committed(link: sqlite3.Connection) -> None:
        last = next(left, None) == number
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        _commit(link)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite_file._commit = committed  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above


def act_in_app(effects: Path, run_id: str) -> None:
    """What the app would see: one more effect of this run."""
    number = len(list(effects.glob(f"{run_id}.*")))
    (effects / f"{run_id}.{number}").touch(exist_ok=False)


class Racer:
    """One process.

    Args:
        folder: The state folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SqliteStore.open(folder)
        self.desk = AttendedDesk.over(self.store, folder)

    def decide(self, order: dict[str, Any]) -> object:
        """Decide as a door does."""
        request = DecisionRequest(order["id"], order["digest"], order["key"], confirm=True)
        return to_wire(self.desk.decide(request, Action(order["action"]), Door.PYTHON))

    def perform(self, order: dict[str, Any]) -> object:
        """Claim a decision, act, and end it, as the process with the live window does."""
        key, owner = decision_key(order["key"]), order["owner"]
        begun = self.store.attention.claim(key, owner)
        if begun is None:
            return "not mine"
        if not self.store.attention.begin_continuation_delivery(begun.run_id, begun.number, owner):
            return "no passage"
        act_in_app(Path(order["effects"]), begun.run_id)
        record = self.store.load(begun.run_id)
        assert record is not None
        result = result_of(record, DONE)
        self.store.attention.end(key, Ended(owner, status_after(result), ENDED_AT), result)
        return "done"


def main() -> None:
    """Obey until the input ends."""
    racer = Racer(Path(sys.argv[1]))
    print("ready", flush=True)  # noqa: T201 - the answer to an order
    for line in sys.stdin:
        order = json.loads(line)
        if "die_at" in order:
            die_at(order["die_at"], after=order["after"])
        at = float(order.get("at", 0))
        while time.monotonic() < at:
            os.sched_yield()
        answers = [getattr(racer, play)(order) for play in order["plays"]]
        print(json.dumps(answers), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    main()
