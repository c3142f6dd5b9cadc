"""Reads records from a view of a database that the operator connected.

Laws of this module:

- The database is opened for reading alone, anew for every read, by a name that the operator gave.
- Every column is read as text. An absent value is left out; bytes are no text and make the read unusable.
- A kind of database that cannot be read is refused by its name, before anything is opened.
"""

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from attrs import field, frozen

from surehand.core.workflow.commands import Record, Records
from surehand.core.workflow.source import DatabaseRecords
from surehand.shell.engines.browser.readback import UnusableAnswerError, told_apart

#: The most records, and the most bytes of text, that are read.
MAX_RECORDS: Final = 100_000
MAX_BYTES: Final = 32 * 1024 * 1024

#: Steps of SQLite between two looks at the clock.
_STEPS: Final = 10_000


class UnsupportedDatabaseError(Exception):
    """The operator connected no database under this name, or one of a kind that cannot be read.

    Args:
        kind: The kind, as its address says; empty when none is connected.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@frozen
class DatabaseReader:
    """Reads the operator's databases.

    Args:
        databases: The path of each database by its name; a path may stand behind ``sqlite:``.
    """

    databases: Mapping[str, str] = field(factory=dict[str, str], repr=False)

    def path(self, name: str) -> Path:
        """Where a database lies.

        Raises:
            UnsupportedDatabaseError: There is none of this name, or it is no SQLite file.
        """
        address = self.databases.get(name, "")
        kind, colon, rest = address.partition(":")
        if not address or (colon and kind != "sqlite" and "/" not in kind):
            raise UnsupportedDatabaseError(kind if colon else "")
        return Path(rest.removeprefix("//") if kind == "sqlite" else address)

    async def read(self, source: DatabaseRecords, deadline: float) -> Records:
        """As the protocol says."""
        try:
            path = self.path(source.connection)
            return await asyncio.to_thread(_read, path, source, deadline)
        except (sqlite3.Error, OSError, ValueError, UnsupportedDatabaseError):
            raise UnusableAnswerError from None


def _read(path: Path, source: DatabaseRecords, deadline: float) -> Records:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    seconds = max(0.0, deadline - time.monotonic())
    with closing(sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None)) as database:
        database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        return told_apart(tuple(_records(database, source)))


def _records(database: sqlite3.Connection, source: DatabaseRecords) -> Iterator[Record]:
    names = (source.key, *source.columns)
    _check_names(database, source.view, names)
    columns = ", ".join(f'typeof("{name}"), CAST("{name}" AS TEXT)' for name in names)
    # Names of a closed pattern, checked against the database's own list.
    rows = database.execute(f'SELECT {columns} FROM "{source.view}" LIMIT {MAX_RECORDS + 1}')  # noqa: S608 - as above
    size = 0
    for number, row in enumerate(rows):
        if number == MAX_RECORDS or "blob" in row[::2]:
            raise UnusableAnswerError
        texts = dict(zip(names, row[1::2], strict=True))
        size += sum(len(text) for text in texts.values() if text is not None)
        if size > MAX_BYTES or not texts[source.key]:
            raise UnusableAnswerError
        yield Record(texts[source.key], {name: text for name, text in texts.items() if text is not None})


def _check_names(database: sqlite3.Connection, view: str, names: tuple[str, ...]) -> None:
    """Refuse a view or a column that is not there: SQLite would take an unknown name in quotes for a text."""
    there = {row[0] for row in database.execute("SELECT name FROM pragma_table_xinfo(?)", (view,))}
    if not set(names) <= there:
        raise UnusableAnswerError
