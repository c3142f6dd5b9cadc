"""The journal file of one run: stages, one line each, on their way before their effect.

Laws of this module:

- A line is handed to the operating system before the call returns, so that it survives the death of this process; the
  stages that must survive a power cut are flushed to the disk.
- A journal is made once and only grows. The file is readable by its owner only.
- A journal that is missing or cannot be read proves nothing.
"""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FLUSHED_TO_DISK, Journal, Stage, journal_line, parse_journal, verdict

#: The folder of all journals, in the state folder.
JOURNALS: Final = "fence"

_JOURNAL: Final = re.compile(r"(run_[0-9a-f]{32})(?:-[a-z0-9-]{1,20})?\.jsonl")


def run_of_journal(path: Path) -> str | None:
    """The run whose journal this is, by its name; ``None`` for anything else.

    A run has further journals where it opens further ports, as for its read-back; their names add ``-`` and a word.
    """
    found = _JOURNAL.fullmatch(path.name)
    return None if found is None else found[1]


def journal_path(folder: Path, run_id: str) -> Path:
    """Where the journal of a run lies."""
    return folder / f"{run_id}.jsonl"


class JournalWriter:
    """The open journal of one run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._stages: list[Stage] = []
        self._status: int | None = None

    @classmethod
    def create(cls, folder: Path, run_id: str) -> "JournalWriter":
        """Make the journal of a new run.

        Raises:
            OSError: The file exists already or cannot be made.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        writer = cls(os.open(journal_path(folder, run_id), flags, 0o600))
        writer._write(Stage.OPENED, None)
        return writer

    @property
    def journal(self) -> Journal:
        """What was journalled so far; a stage counts from before its line is written."""
        return Journal(tuple(self._stages), whole=True, status=self._status)

    async def append(self, stage: Stage, status: int | None = None) -> None:
        """Write the line of a stage. Its effect may begin when this returns.

        Raises:
            OSError: The line could not be written; its effect must not begin.
        """
        self._write(stage, status)
        if stage in FLUSHED_TO_DISK:
            await asyncio.to_thread(os.fsync, self._descriptor)

    def _write(self, stage: Stage, status: int | None) -> None:
        self._stages.append(stage)
        self._status = self._status if status is None else status
        line = journal_line(stage, status)
        if os.write(self._descriptor, line) != len(line):
            raise OSError("the journal took only a part of a line")

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_journal(folder: Path, run_id: str) -> Journal:
    """The journal of a run, read from the disk; only meaningful when its fence is gone or has settled."""
    try:
        return parse_journal(journal_path(folder, run_id).read_bytes())
    except OSError:
        return parse_journal(b"")


def read_delivery(folder: Path, run_id: str) -> Delivery:
    """What the journal of a run proves of its save."""
    return verdict(read_journal(folder, run_id))
