"""What is done to a store while its system calls are recorded: requests, each answer marked at once in the record.

Laws of this module:

- A mark stands behind the answer and before anything else is done: what is marked was promised.
- The wrong variants live here: a ledger that does not flush, and claims whose names are not flushed.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from unittest import mock

from support.stores import DONE, HALTED, TIMED_OUT, draft, refusal, result_of, started
from surehand.shell.files import write_durably
from surehand.shell.identity import fingerprint_key
from surehand.shell.store import claims, sqlite_file
from surehand.shell.store.base import RunStore
from surehand.shell.store.claims import ClaimStore
from surehand.shell.store.sqlite import SqliteStore

#: Requests after which the store is closed and opened again.
SESSION: Final = 7

#: Refusals are kept under numbers from here on.
REFUSALS: Final = 10_000

_ENDS: Final = (DONE, TIMED_OUT, DONE, HALTED)


def _without_flush() -> None:
    """Let the ledger commit as ``synchronous = NORMAL`` does."""
    mock.patch.object(sqlite_file, "_FULL", 1).start()


def _without_names() -> None:
    """Let the claims leave the names in their folders to the file system."""

    def writes(path: Path, content: bytes, *, exclusive: bool = False, sync_name: bool = True) -> bool:
        del sync_name
        return write_durably(path, content, exclusive=exclusive, sync_name=False)

    mock.patch.object(claims, "sync_folder").start()
    mock.patch.object(claims, "write_durably", writes).start()


STORES: Final[dict[str, Callable[[Path], RunStore]]] = {"sqlite": SqliteStore.open, "claims": ClaimStore.open}
WRONG: Final[dict[str, Callable[[], None]]] = {"": lambda: None, "flush": _without_flush, "names": _without_names}


def works(order: dict[str, Any], says: Callable[[object], None]) -> None:
    """Perform the requests, in a process under the shim."""
    folder = Path(order["folder"])
    WRONG[order.get("wrong", "")]()
    library = ctypes.CDLL(None)

    def promise(text: str) -> None:
        library.shim_mark(text.encode())

    store: RunStore | None = None
    for number in range(order["requests"]):
        if number % SESSION == 0:
            if store is not None:
                store.close()
            store = STORES[order["store"]](folder)
            promise(f"key {fingerprint_key(folder).hex()}")
        assert store is not None
        _request(store, number, promise)
    if store is not None:
        store.close()
    says(order["requests"])


def _request(store: RunStore, number: int, promise: Callable[[str], None]) -> None:
    record = started(store.reserve(draft(number, f"entry-{number}", journaled=number % 3 > 0)))
    promise(f"reserved {number}")
    store.mark_started(record.run_id, record.owner)
    if number % 5 != 4:
        store.begin_delivery(record.run_id, record.owner)
        promise(f"delivering {number}")
    if number % 6 != 5:
        result = result_of(record, _ENDS[number % len(_ENDS)])
        store.finish(record.run_id, record.owner, result)
        promise(f"finished {number} {result.reason.value}")
    if number % 4 == 3:
        store.record_refusal(refusal(REFUSALS + number, f"entry-{number}"))
        promise(f"refused {REFUSALS + number}")
