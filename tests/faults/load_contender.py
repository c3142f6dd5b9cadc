"""One of several processes that change one ledger as fast as they can; says when each change was asked and done.

Laws of this module:

- It prepares, says so, waits for a line, changes, and prints one JSON object.
- What is wrong on purpose is chosen by the command line and lives here.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path
from unittest.mock import patch

from support.stores import DONE, draft, result_of, started
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.store import sqlite, sqlite_file
from surehand.shell.store.base import RunStore, StoreError


class Ungated:
    """Wrong on purpose: nobody waits for a turn, and SQLite's own busy handler has to do."""

    def __init__(self, path: Path) -> None:
        """Take no lock file."""

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        """It is everybody's turn."""
        yield


def changes(store: RunStore, number: int) -> list[Callable[[], bool]]:
    """The four changes of one run."""
    record = draft(number, f"entry-{number}-{new_token()}", owner=new_token(), run_id=new_run_id())
    result = result_of(record, DONE)

    def reserve() -> bool:
        return started(store.reserve(record)).attempt == 1

    return [
        reserve,
        lambda: store.mark_started(record.run_id, record.owner),
        lambda: store.begin_delivery(record.run_id, record.owner),
        lambda: store.finish(record.run_id, record.owner, result),
    ]


def main(folder: Path, runs: int, *, gated: bool) -> None:
    """Change, and tell."""
    spans: list[tuple[float, float]] = []
    failed = 0
    with ExitStack() as stack:
        if not gated:
            stack.enter_context(patch.object(sqlite_file, "Gate", Ungated))
        store = stack.enter_context(closing(sqlite.SqliteStore.open(folder)))
        print("ready", flush=True)  # noqa: T201 - what it says to the one who started it
        sys.stdin.readline()
        for change in (each for number in range(runs) for each in changes(store, number)):
            asked = time.monotonic()
            try:
                failed += not change()
            except StoreError:
                failed += 1
            spans.append((asked, time.monotonic()))
    print(json.dumps({"spans": spans, "failed": failed}), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), gated=sys.argv[3] == "gated")
