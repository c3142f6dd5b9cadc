"""The process under the shim: it loads everything once and forks for each order that it reads.

Laws of this module:

- The shim is armed in the forked child only, and nothing is open when it forks.
- What the child answers goes through a pipe at once, so that a kill takes nothing back that was said.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from faults.power_workload import works
from faults.syscalls_naive import opens_naive_premises
from support.effects import OpensPremises, ask, hand, opens_claims_premises
from surehand.core import wire
from surehand.core.outcome.result import Mode
from surehand.shell.assembly import open_premises
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.store import open_restored
from surehand.shell.store.restored import accept_restored

#: Seconds that one order may take, with all that it waits for.
LIMIT: Final = 240.0

#: The premises by the name of their store.
OPENS: Final[dict[str, OpensPremises]] = {
    "sqlite": open_premises,
    "claims": opens_claims_premises,
    "naive": opens_naive_premises,
}

Order = dict[str, Any]
Says = Callable[[object], None]


def asks(order: Order, says: Says) -> None:
    """Ask for the entry, as a caller does; the answer is said before anything is closed."""
    with hand(Path(order["folder"]), Path(order["oracle"]), OPENS[order["store"]]) as surehand:
        says(wire.to_wire(ask(surehand, order["request_id"])))


def accepts(order: Order, says: Says) -> None:
    """Take a restored ledger over."""
    with closing(open_restored(Path(order["folder"]))) as store:
        says(accept_restored(store, SYSTEM_CLOCK, Mode.SANDBOX).epoch)


PERFORMS: Final[dict[str, Callable[[Order, Says], None]]] = {"asks": asks, "accepts": accepts, "works": works}


def _child(order: Order, pipe: int) -> None:
    shim = ctypes.CDLL(None)
    watched, trace = os.fsencode(str(order["watched"])), os.fsencode(str(order.get("trace", "")))
    shim.shim_arm(watched, order.get("at", 0), str(order.get("kind", "before")).encode(), trace)

    def says(answer: object) -> None:
        os.write(pipe, json.dumps(answer).encode() + b"\n")

    PERFORMS[order["perform"]](order, says)
    os.write(pipe, b"operations " + str(shim.shim_count()).encode() + b"\n")


def _run(order: Order) -> dict[str, object]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _child(order, writing)
        except BaseException as error:  # noqa: BLE001 - a child must not run on as its parent
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the rig's own output
            os._exit(1)
        os._exit(0)
    os.close(writing)
    lines = _heard(reading, child)
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    answers = [json.loads(line) for line in lines if not line.startswith(b"operations ")]
    counted = [int(line.split()[1]) for line in lines if line.startswith(b"operations ")]
    return {"status": None if status == -signal.SIGTERM else status, "answers": answers, "operations": sum(counted)}


def _heard(reading: int, child: int) -> list[bytes]:
    """What a child says until it ends; one that does not end in time is told to by a signal that nobody else sends."""
    said = b""
    end = time.monotonic() + LIMIT
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGTERM)
            end = time.monotonic() + LIMIT
            continue
        part = os.read(reading, 65536)
        if not part:
            return said.splitlines()
        said += part


def main() -> None:
    """Read orders, one JSON line each, and say how they ended."""
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)  # noqa: T201 - the answer to an order


if __name__ == "__main__":
    main()
