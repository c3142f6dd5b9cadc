"""The default store: one SQLite file in the state folder.

Laws of this module:

- What a method answered is on disk, by the laws of ``sqlite_file``.
  Only ``mark_started`` of a journaled run goes through a second connection that does not flush.
- The gate decides inside the transaction that reserves, and a request key is noted before its reservation counts.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

from attrs import evolve

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.gate import Decision, Start, decide
from surehand.core.request.record import RunRecord, finished, may_move, may_report_late, require_end_of
from surehand.shell.store.base import is_run_id, require_draft, require_refusal, result_text
from surehand.shell.store.sqlite_file import Change, FileKind, SqliteFile, Stands
from surehand.shell.store.sqlite_rows import (
    FORGET,
    NEWEST,
    NEXT_NEWEST,
    NOTE_LATE,
    OLD_REFUSALS,
    UNFINISHED,
    attempts,
    insert,
    late,
    load,
    may_end,
    moved_in,
    select,
)
from surehand.shell.store.sqlite_schema import APPLICATION_ID, MIGRATIONS

if TYPE_CHECKING:
    from surehand.shell.store.sqlite_attention import SqliteAttention

LEDGER: Final = "ledger.db"
CLAIMS: Final = ("claims", "claims.seal")

#: Refusals that are dropped in one turn, so that nobody waits long for the next.
_FORGOTTEN_AT_ONCE: Final = 1000

_Answer = TypeVar("_Answer")


class SqliteStore:
    """The ledger in one SQLite file; the docstrings of ``RunStore`` apply.

    Attributes:
        file: The file, for what is kept in it beside the runs.
    """

    def __init__(self, folder: Path, *, read_only: bool = False, restored: bool = False) -> None:
        kind = FileKind(name="ledger", application_id=APPLICATION_ID, migrations=MIGRATIONS, other_kinds=CLAIMS)
        self.file: Final = SqliteFile(folder, kind, read_only=read_only, restored=restored)

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False, restored: bool = False) -> Self:
        """Open the ledger of a folder, and make it when there is none.

        Nothing is written when a ledger of this version is there, so that a full disk or a read-only mount can be read.

        Args:
            folder: The state folder.
            read_only: Never write; a missing ledger is then an error, and a restored one can be read.
            restored: Take a ledger that was restored or is gone, to begin a new epoch with it.

        Raises:
            SqliteRefusedError: SQLite cannot keep a ledger here, and there is none yet.
            StoreError: The folder refuses, or what lies in it is not to be trusted.
        """
        store = cls(folder, read_only=read_only, restored=restored)
        store.file.open()
        return store

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide inside the transaction that reserves."""
        require_draft(draft)

        def change(link: sqlite3.Connection) -> tuple[Decision, RunRecord | None]:
            decision = decide(attempts(link, draft.request_key), draft)
            if not isinstance(decision, Start):
                return decision, None
            if decision.record.attempt == 1 and not self.file.restored:
                self.file.seal.note(draft.request_key)
            return decision, insert(link, decision.record)

        return self._change(change)

    def record_refusal(self, record: RunRecord) -> None:
        """Keep the record of a call that reserved nothing."""
        require_refusal(record)
        self._change(lambda link: (None, insert(link, record)))

    def mark_started(self, run_id: str, owner: str) -> bool:
        """``reserved -> started``, flushed only when the run is not journaled."""
        return self._move(run_id, owner, Phase.STARTED, flushed=False) or self._move(run_id, owner, Phase.STARTED)

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """``reserved | started -> delivering``, flushed."""
        return self._move(run_id, owner, Phase.DELIVERING)

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """``reserved | started | delivering -> finished`` by the owner, flushed."""
        require_end_of(run_id, result)
        return self._change(
            lambda link: moved_in(link, run_id, lambda now: finished(now, result) if may_end(now, owner) else None)
        )

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Finish a run that still stands as in ``record``, flushed."""
        require_end_of(record.run_id, result)

        def settled(now: RunRecord) -> RunRecord | None:
            same = now.phase is record.phase and may_end(now, record.owner)
            return finished(now, result) if same else None

        return self._change(lambda link: moved_in(link, record.run_id, settled))

    def note_late(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Keep what the owner of a finished run says too late, flushed."""
        require_end_of(run_id, result)

        def change(link: sqlite3.Connection) -> tuple[None, RunRecord | None]:
            record = load(link, run_id)
            if record is None or not may_report_late(record, owner):
                return None, None
            link.execute(NOTE_LATE, (run_id, result_text(result)))
            return None, record

        self._change(change)
        return self.late_report(run_id) == result

    def late_report(self, run_id: str) -> RunResult | None:
        """What the run's owner said too late."""
        return self.read(lambda link: late(link, run_id))

    def old_refusals(self, before: int) -> int:
        """How many refusals were made before this time."""
        return self.read(lambda link: _old_refusals(link, before))

    def forget_refusals(self, before: int) -> int:
        """Drop the refusals that were made before this time, some of them in each turn."""
        dropped = 0
        while now := self._forget(before):
            dropped += now
        return dropped

    def _forget(self, before: int) -> int:
        def change(link: sqlite3.Connection) -> tuple[int, Stands | None]:
            dropped = link.execute(FORGET, (before, _FORGOTTEN_AT_ONCE)).rowcount
            left = _old_refusals(link, before)
            return dropped, (lambda after: _old_refusals(after, before) == left) if dropped else None

        return self.file.change(change)

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call."""
        return self.read(lambda link: load(link, run_id))

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts under the request key, oldest first."""
        return self.read(lambda link: attempts(link, request_key))

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first, a page of one index."""
        if before is None:
            return self.read(lambda link: select(link, NEWEST, max(limit, 0)))
        if not is_run_id(before):
            return ()
        return self.read(lambda link: select(link, NEXT_NEWEST, before, max(limit, 0)))

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        return iter(self.read(lambda link: select(link, UNFINISHED)))

    @property
    def attention(self) -> "SqliteAttention":
        """What is kept about stopped runs and decisions."""
        from surehand.shell.store.sqlite_attention import SqliteAttention  # noqa: PLC0415 - a fast start does without

        return SqliteAttention(self.file)

    def check_health(self) -> None:
        """Let SQLite read every page and compare every index with its table."""
        self.file.check_health()

    def noted(self) -> frozenset[str]:
        """Every request key that was ever reserved under this ledger's seal, as far as notes were kept."""
        return self.file.noted()

    def begin_epoch(self) -> int:
        """Seal the ledger as the one that goes on from here; returns the number of the epoch."""
        return self.file.begin_epoch()

    def read(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """The answer to a question, from a connection that reads."""
        return self.file.read(question)

    def change(self, change: Change[_Answer], *, flushed: bool = True) -> _Answer:
        """Answer with what a change says, when what it wrote is on disk; see ``SqliteFile.change``."""
        return self.file.change(change, flushed=flushed)

    def close(self) -> None:
        """Close the file in bounded time."""
        self.file.close()

    def _move(self, run_id: str, owner: str, phase: Phase, *, flushed: bool = True) -> bool:
        """Move a run; without a flush only one that is journaled."""

        def moved(now: RunRecord) -> RunRecord | None:
            movable = may_move(now, owner, phase) and (flushed or now.journaled)
            return evolve(now, phase=phase) if movable else None

        return self._change(lambda link: moved_in(link, run_id, moved), flushed=flushed)

    def _change(
        self, change: Callable[[sqlite3.Connection], tuple[_Answer, RunRecord | None]], *, flushed: bool = True
    ) -> _Answer:
        """Answer with what a change says, when the record that it wrote is on disk.

        Args:
            change: Says its answer and the one record that it wrote, or ``None`` for none.
            flushed: Whether the change has to survive a power cut.
        """

        def recorded(link: sqlite3.Connection) -> tuple[_Answer, Stands | None]:
            answer, written = change(link)
            return answer, None if written is None else lambda after: load(after, written.run_id) == written

        return self.file.change(recorded, flushed=flushed)


def _old_refusals(link: sqlite3.Connection, before: int) -> int:
    return cast("tuple[int]", link.execute(OLD_REFUSALS, (before,)).fetchone())[0]
