"""The read-back channel: where the records of a run are read, sharing nothing with the page that saves but the account.

Laws of this module:

- Every read asks the app, or the database, anew. Nothing that was read before is an answer.
- Every oddity makes the whole read unusable. Nothing is guessed or converted.
- Every read is bounded in time and in size.
- Nothing that was read appears in an exception.
"""

import time
from pathlib import Path
from typing import Final, Protocol, assert_never

from attrs import field, frozen

from surehand.core.workflow.commands import ReadRecords, Record, Records, RecordsUnavailable
from surehand.core.workflow.reach import ProxySettings
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageRecords, RecordPage

#: The most records whose own places are read in one read.
MAX_NEW: Final = 50


class UnusableAnswerError(ValueError):
    """What was answered is not what the source says."""


@frozen
class Network:
    """How apps are reached.

    Args:
        proxies: The operator's proxies.
        extra_authority: A PEM file with certificates that are trusted beside the system's.
    """

    proxies: ProxySettings = field(factory=ProxySettings)
    extra_authority: Path | None = None


class JsonSource(Protocol):
    """Reads JSON."""

    async def read(self, source: JsonRecords, old: frozenset[str] | None, deadline: float) -> Records:
        """The records.

        Raises:
            UnusableAnswerError: There is no usable answer before the deadline (of the monotonic clock).
        """
        ...


class PageSource(Protocol):
    """Reads pages."""

    async def read(self, source: PageRecords | RecordPage, old: frozenset[str] | None, deadline: float) -> Records:
        """The records; raises as above."""
        ...


class DatabaseSource(Protocol):
    """Reads databases."""

    async def read(self, source: DatabaseRecords, deadline: float) -> Records:
        """The records; raises as above."""
        ...


@frozen
class RecordChannel:
    """Reads the records of one run.

    Args:
        json: How JSON is read.
        pages: How pages are read.
        databases: How databases are read.
    """

    json: JsonSource
    pages: PageSource
    databases: DatabaseSource

    async def read(self, command: ReadRecords, seconds: float) -> Records | RecordsUnavailable:
        """Read once; anything but a clean answer within so many seconds is ``RecordsUnavailable``."""
        deadline = time.monotonic() + seconds
        try:
            return _of_text(await self._read(command, deadline))
        except (ValueError, RecursionError):
            return RecordsUnavailable()

    async def _read(self, command: ReadRecords, deadline: float) -> Records:
        match command.source:
            case JsonRecords() as source:
                return await self.json.read(source, command.old, deadline)
            case PageRecords() | RecordPage() as source:
                return await self.pages.read(source, command.old, deadline)
            case DatabaseRecords() as source:
                return await self.databases.read(source, deadline)
            case _ as never:  # pragma: no cover
                assert_never(never)


def _of_text(found: Records) -> Records:
    """What was read, if all of it is text: half of a sign, as a page may cut one, could not be kept.

    Raises:
        ValueError: Something cannot be encoded.
    """
    for record in found.records:
        "".join((record.key, *(record.members or {}).values())).encode()
    return found


def told_apart(records: tuple[Record, ...]) -> Records:
    """The records of one read.

    Raises:
        UnusableAnswerError: Two have the same key.
    """
    if len({record.key for record in records}) != len(records):
        raise UnusableAnswerError
    return Records(records)


def new_keys(keys: tuple[str, ...], old: frozenset[str] | None) -> tuple[str, ...]:
    """The keys whose own places are read: none before the save, and afterwards those that were not there.

    Raises:
        UnusableAnswerError: They are too many.
    """
    new = () if old is None else tuple(key for key in keys if key not in old)
    if len(new) > MAX_NEW:
        raise UnusableAnswerError
    return new
