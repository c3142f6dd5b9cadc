"""The store of plans: one SQLite file beside the ledger, with the machinery of the ledger's.

Laws of this module:

- What a method answered is on disk, one flushed transaction for each step of a run.
- Only whoever holds the lease saves. A lease is taken from an owner that is proven gone, and by one taker.
- Age proves nothing: a lease has no time in it.
- What a run was given and found is dropped when a person says so; that it ran, and how it ended, never is.
- In a file that was copied or restored a run that goes on is marked for good, and a request that it lost stays lost.
- A wish to cancel is kept by whoever has it, and answered to the owner at the next save, before anything is written.
"""

import sqlite3
from collections.abc import Callable
from enum import Enum, unique
from pathlib import Path
from typing import Final, Self

from attrs import evolve, frozen

from surehand.core.orchestration.definition import PinnedDefinition
from surehand.core.orchestration.run import WorkflowRun
from surehand.core.request.keys import same_fingerprint
from surehand.shell.orchestration import rows
from surehand.shell.orchestration.rows import RunHead, Standing
from surehand.shell.orchestration.schema import APPLICATION_ID, MIGRATIONS
from surehand.shell.store.base import StoreUnavailableError
from surehand.shell.store.sqlite_file import FileKind, SqliteFile, SqliteRefusedError, Stands

PLANS: Final = "plans"

#: Pinned definitions that are kept in memory at most.
_MOST_PINNED: Final = 32

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
class Forgotten:
    """The request began a run before, and the file lost it."""


@frozen
class Accepted:
    """What taking over a copied or restored file came to.

    Args:
        epoch: The number of the epoch that began.
        going_on: Runs that go on, and do nothing more that the ledger does not know.
        lost: Requests whose runs the file had lost, and that begin none any more.
    """

    epoch: int
    going_on: int
    lost: int


@frozen
class PinnedRun:
    """A run with its row; no run when this version cannot read what it is pinned to."""

    head: RunHead
    run: WorkflowRun | None


class PlanStore:
    """The runs of plans in one folder. All methods are safe to call from any thread, and may raise ``StoreError``."""

    def __init__(self, file: SqliteFile) -> None:
        self._file: Final = file
        #: What runs are pinned to never changes, so that one reading is enough.
        self._pinned: Final[dict[str, PinnedDefinition]] = {}

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False, restored: bool = False) -> Self:
        """Open the file of a folder, and make it when there is none.

        Args:
            folder: The folder of plans.
            read_only: Never write; a missing file is then an error.
            restored: Take a file that was copied, restored or is gone, so that a new epoch can begin with it.

        Raises:
            StoreError: The folder refuses, or what lies in it is not to be trusted.
        """
        file = SqliteFile(folder, _KIND, read_only=read_only, restored=restored)
        try:
            file.open()
        except SqliteRefusedError:
            raise StoreUnavailableError("SQLite cannot keep a file here") from None
        return cls(file)

    def create(
        self, run: WorkflowRun, owner: str, *, request_key: str | None, asked: str, created_at: int
    ) -> Created | Existing | Forgotten:
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

        def change(link: sqlite3.Connection) -> tuple[Created | Existing | Forgotten, Stands | None]:
            found = None if request_key is None else self._existing(link, request_key, asked)
            if found is not None:
                return found, None
            rows.insert(link, run, new)
            return Created(Lease(run_id=run.id, owner=owner, number=1)), lambda after: rows.head(after, run.id) == new

        return self._file.change(change)

    def _existing(self, link: sqlite3.Connection, request_key: str, asked: str) -> Existing | Forgotten | None:
        """What a request began before; ``None`` for one that is new, which is noted beside the file."""
        found = rows.by_request(link, request_key)
        if found is not None:
            return Existing(found.run_id, same_fingerprint(found.asked, asked))
        if rows.is_forgotten(link, request_key):
            return Forgotten()
        self._file.seal.note(request_key)
        return None

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
            found = self._pinned_to(link, kept.digest)
            return PinnedRun(kept, None if found is None else rows.run_of(link, kept, found))

        return self._file.read(_consistently(question))

    def is_as_seen(self, seen: RunHead, lease: Lease) -> bool:
        """Whether a run stands as it was seen before its lease was taken."""
        taken = evolve(seen, owner=lease.owner, lease=lease.number)
        return self._file.read(lambda link: rows.head(link, lease.run_id)) == taken

    def _pinned_to(self, link: sqlite3.Connection, digest: str) -> PinnedDefinition | None:
        found = self._pinned.get(digest) or rows.pinned(link, digest)
        if found is not None:
            if len(self._pinned) >= _MOST_PINNED:
                self._pinned.clear()
            self._pinned[digest] = found
        return found

    def standing(self, run_id: str) -> Standing | None:
        """Whether a run goes on, and whether somebody wishes that it stops; ``None`` for one that is not known."""
        return self._file.read(lambda link: rows.standing(link, run_id))

    def recent(self, limit: int) -> tuple[RunHead, ...]:
        """The newest runs first."""
        return self._file.read(lambda link: rows.newest(link, limit))

    def going_on(self) -> tuple[RunHead, ...]:
        """Every run that did not end, the oldest first."""
        return self._file.read(rows.going_on)

    def check_health(self) -> None:
        """Let SQLite read every page and compare every index with its table."""
        self._file.check_health()

    def old(self, before: int) -> int:
        """How many runs that ended hold values, of those that began before a time in seconds since the epoch."""
        return self._file.read(lambda link: rows.old(link, before))

    def drop_values(self, before: int) -> int:
        """Drop what runs were given and found that ended and began before a time, from the disk too; how many did."""

        def change(link: sqlite3.Connection) -> tuple[int, Stands | None]:
            dropped = rows.drop_values(link, before)
            return dropped, (lambda after: rows.old(after, before) == 0) if dropped else None

        dropped = self._file.change(change)
        self._file.compact()
        return dropped

    def accept_restored(self) -> Accepted:
        """Let a file that was opened to be taken over go on from what it holds now; the new epoch begins last."""
        lost = self._file.noted() - self._file.read(rows.requests)

        def change(link: sqlite3.Connection) -> tuple[int, Stands | None]:
            rows.forget(link, lost)
            return rows.mark_restored(link), lambda after: rows.unmarked(after) == 0 and lost <= rows.requests(after)

        going_on = self._file.change(change)
        return Accepted(self._file.begin_epoch(), going_on, len(lost))

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
