"""The store of plans: one SQLite file beside the ledger, with the machinery of the ledger's.

Laws of this module:

- What a method answered is on disk, one flushed transaction for each step of a run.
- Only whoever holds the lease saves. A lease is taken from an owner that is proven gone, and by one taker.
- Age proves nothing: a lease has no time in it.
- A wish to cancel is kept by whoever has it, and answered to the owner at the next save, before anything is written.
"""

import sqlite3
from collections.abc import Callable
from enum import Enum, unique
from pathlib import Path
from typing import Final, Self

from attrs import frozen

from surehand.core.orchestration.definition import PinnedDefinition
from surehand.core.orchestration.run import WorkflowRun
from surehand.shell.orchestration import rows
from surehand.shell.orchestration.rows import RunHead, Standing
from surehand.shell.orchestration.schema import APPLICATION_ID, MIGRATIONS
from surehand.shell.store.base import StoreUnavailableError
from surehand.shell.store.sqlite_file import FileKind, SqliteFile, SqliteRefusedError, Stands

PLANS: Final = "plans"

_KIND: Final = FileKind(name=PLANS, application_id=APPLICATION_ID, migrations=MIGRATIONS)


@unique
class Saved(Enum):
    """What became of a save."""

    SAVED = "saved"
    LOST = "lost"
    CANCEL_ASKED = "cancel_asked"


@frozen(kw_only=True)
class Lease:
    """The right to go through a run, until somebody else proves that its holder is gone."""

    run_id: str
    owner: str
    number: int


@frozen
class Created:
    """The run is new and this owner's."""

    lease: Lease


@frozen
class Existing:
    """The request began a run before; ``same`` says whether it asked for the same."""

    run_id: str
    same: bool


@frozen
class PinnedRun:
    """A run with its row; no run when this version cannot read what it is pinned to."""

    head: RunHead
    run: WorkflowRun | None


class PlanStore:
    """The runs of plans in one folder. All methods are safe to call from any thread, and may raise ``StoreError``."""

    def __init__(self, file: SqliteFile) -> None:
        self._file: Final = file

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False) -> Self:
        """Open the file of a folder, and make it when there is none.

        Raises:
            StoreError: The folder refuses, or what lies in it is not to be trusted.
        """
        file = SqliteFile(folder, _KIND, read_only=read_only)
        try:
            file.open()
        except SqliteRefusedError:
            raise StoreUnavailableError("SQLite cannot keep a file here") from None
        return cls(file)

    def create(
        self, run: WorkflowRun, owner: str, *, request_key: str | None, asked: str, created_at: int
    ) -> Created | Existing:
        """Keep a new run, unless its request began one before.

        Args:
            run: The run at its beginning.
            owner: Who goes through it.
            request_key: The name of the request, if it has one.
            asked: What was asked, as a hash.
            created_at: Seconds since the epoch, UTC.
        """
        new = RunHead(
            run_id=run.id,
            request_key=request_key,
            asked=asked,
            definition_id=run.definition_id,
            digest=run.pinned.digest,
            created_at=created_at,
            status=run.status,
            current_step_id=run.current_step_id,
            visit=run.visit,
            state=rows.state_of(run),
            steps=len(run.step_results),
            cancel_asked=run.cancel_asked,
            owner=owner,
            lease=1,
            saves=0,
        )

        def change(link: sqlite3.Connection) -> tuple[Created | Existing, Stands | None]:
            found = None if request_key is None else rows.by_request(link, request_key)
            if found is not None:
                return Existing(found.run_id, found.asked == asked), None
            rows.insert(link, run, new)
            return Created(Lease(run_id=run.id, owner=owner, number=1)), lambda after: rows.head(after, run.id) == new

        return self._file.change(change)

    def save(self, run: WorkflowRun, lease: Lease) -> Saved:
        """Keep where a run stands and the ends of its steps, in one transaction."""

        def change(link: sqlite3.Connection) -> tuple[Saved, Stands | None]:
            kept = rows.head(link, run.id)
            if kept is None or (kept.owner, kept.lease) != (lease.owner, lease.number):
                return Saved.LOST, None
            if kept.cancel_asked and not run.cancel_asked:
                return Saved.CANCEL_ASKED, None
            if not rows.save(link, run, lease.owner, lease.number):
                return Saved.LOST, None
            rows.add_results(link, run, kept.steps)
            written = rows.head(link, run.id)
            return Saved.SAVED, lambda after: rows.head(after, run.id) == written

        return self._file.change(change)

    def claim(self, run_id: str, owner: str, is_alive: Callable[[str], bool]) -> Lease | None:
        """Take a run up; ``None`` when it ended, or its owner lives.

        Args:
            run_id: The run.
            owner: The new owner, whose lock is held already.
            is_alive: Whether an owner of this name lives.
        """

        def change(link: sqlite3.Connection) -> tuple[Lease | None, Stands | None]:
            kept = rows.head(link, run_id)
            if kept is None or is_alive(kept.owner) or not rows.claim(link, kept, owner):
                return None, None
            return Lease(run_id=run_id, owner=owner, number=kept.lease + 1), lambda after: _is_owned(
                after, run_id, owner
            )

        return self._file.change(change)

    def ask_cancel(self, run_id: str) -> bool:
        """Wish that a run stops; ``False`` when it does not go on any more."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            going_on = rows.ask_cancel(link, run_id)
            return going_on, _cancel_stands(run_id) if going_on else None

        return self._file.change(change)

    def load(self, run_id: str) -> PinnedRun | None:
        """A run as it is kept; ``None`` for one that is not known."""

        def question(link: sqlite3.Connection) -> PinnedRun | None:
            kept = rows.head(link, run_id)
            if kept is None:
                return None
            found: PinnedDefinition | None = rows.pinned(link, kept.digest)
            return PinnedRun(kept, None if found is None else rows.run_of(link, kept, found))

        return self._file.read(_consistently(question))

    def standing(self, run_id: str) -> Standing | None:
        """Whether a run goes on, and whether somebody wishes that it stops; ``None`` for one that is not known."""
        return self._file.read(lambda link: rows.standing(link, run_id))

    def recent(self, limit: int) -> tuple[RunHead, ...]:
        """The newest runs first."""
        return self._file.read(lambda link: rows.newest(link, limit))

    def going_on(self) -> tuple[RunHead, ...]:
        """Every run that did not end, the oldest first."""
        return self._file.read(rows.going_on)

    def close(self) -> None:
        """Close the file in bounded time."""
        self._file.close()


def _consistently(
    question: Callable[[sqlite3.Connection], PinnedRun | None],
) -> Callable[[sqlite3.Connection], PinnedRun | None]:
    """The question asked of one state of the file, whatever is written meanwhile."""

    def asked(link: sqlite3.Connection) -> PinnedRun | None:
        link.execute("BEGIN")
        try:
            return question(link)
        finally:
            link.execute("COMMIT")

    return asked


def _is_owned(link: sqlite3.Connection, run_id: str, owner: str) -> bool:
    kept = rows.head(link, run_id)
    return kept is not None and kept.owner == owner


def _cancel_stands(run_id: str) -> Stands:
    def stands(link: sqlite3.Connection) -> bool:
        kept = rows.head(link, run_id)
        return kept is not None and kept.cancel_asked

    return stands
