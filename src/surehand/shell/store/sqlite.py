"""The default store: one SQLite file in the state folder.

Laws of this module:

- What a method answered is on disk: write-ahead log, ``synchronous=FULL``, one immediate transaction for each change.
  Only ``mark_started`` of a journaled run goes through a second connection that does not flush.
- One process writes at a time. A timed file lock stands in front of every write transaction, every close and thereby
  every checkpoint, which also keeps away the lost commits of SQLite
  3.7.0 to 3.51.2 (a checkpoint that overlaps a commit).
- An error of COMMIT is no rollback. Both ways stay open until the log has been written back and cut, and the row read.
- A file that is not whole is corrupt, not absent: nothing runs on it and it is kept as it is.
- A ledger that was copied or restored is refused: each flushed change is counted in it and then on its seal.
- SQLite alone opens the file: a second descriptor, closed, would drop SQLite's own locks.
"""

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final, Self, TypeVar, cast

from attrs import evolve

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.gate import Decision, Start, decide
from surehand.core.request.record import RunRecord, finished, may_move, may_report_late, require_end_of
from surehand.shell.files import (
    UnsafeFileError,
    link_exclusively,
    open_private,
    private_folder,
    refuse_link,
    refuse_network_file_system,
    sync_folder,
    write_durably,
)
from surehand.shell.identity import new_token
from surehand.shell.locks import Gate, LockTimeoutError
from surehand.shell.store.base import (
    StoreCorruptError,
    StoreError,
    StoreNewerError,
    StoreOfOtherKindError,
    StoreRestoredError,
    StoreUnavailableError,
    is_run_id,
    require_draft,
    require_refusal,
    result_text,
)
from surehand.shell.store.seal import SealFile, require_goes_on
from surehand.shell.store.sqlite_rows import (
    COUNT,
    FORGET,
    NEW_EPOCH,
    NEWEST,
    NEXT_NEWEST,
    NOTE_LATE,
    OLD_REFUSALS,
    UNFINISHED,
    attempts,
    insert,
    late,
    ledger_of,
    load,
    may_end,
    moved_in,
    select,
)
from surehand.shell.store.sqlite_schema import APPLICATION_ID, MIGRATIONS, SCHEMA, expected_schema

LEDGER: Final = "ledger.db"
TURNS: Final = "ledger.lock"
CLAIMS: Final = ("claims", "claims.seal")

#: The first SQLite that knows STRICT tables.
OLDEST_SQLITE: Final = (3, 37, 0)

#: A file of so many pages or fewer is read through at every opening; a larger one by ``check_health`` only.
PAGES_READ_AT_OPENING: Final = 500

#: What SQLite answers when the write-ahead log is on.
_LOG: Final = ("wal",)

#: Refusals that are dropped in one turn, so that nobody waits long for the next.
_FORGOTTEN_AT_ONCE: Final = 1000

_BUSY_SECONDS: Final = 5.0
_FULL: Final = 2
_NORMAL: Final = 1
#: What a second try after a failed COMMIT may cost.
_TRIES: Final = 2

_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT})

#: What a disk that fails once answers; it says nothing about whether SQLite can work here.
_DISK_FAILURES: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_READ,
        sqlite3.SQLITE_IOERR_SHORT_READ,
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_FSTAT,
        sqlite3.SQLITE_IOERR_DELETE,
        sqlite3.SQLITE_IOERR_CLOSE,
    }
)

_Answer = TypeVar("_Answer")


class SqliteRefusedError(Exception):
    """SQLite cannot keep a ledger in this folder, although the folder takes files."""


class _Links:
    """The connections of one process: one that flushes, one that does not, one that reads."""

    def __init__(self) -> None:
        self.writing: Final = threading.Lock()
        self.reading: Final = threading.Lock()
        self.flushed: sqlite3.Connection | None = None
        self.relaxed: sqlite3.Connection | None = None
        self.reader: sqlite3.Connection | None = None
        #: Whether a COMMIT failed and nobody knows yet which way it went.
        self.doubt = False

    def roll_back(self) -> None:
        """End a transaction that is open; when even that fails, nobody knows what stands."""
        for link in (self.flushed, self.relaxed):
            try:
                if link is not None and link.in_transaction:
                    link.execute("ROLLBACK")
            except sqlite3.Error:
                self.doubt = True

    def drop_reader(self) -> None:
        """Close the reading connection."""
        _close(self.reader)
        self.reader = None

    def drop_writers(self) -> None:
        """Close the writing connections; the one that flushes is the last."""
        _close(self.relaxed)
        _close(self.flushed)
        self.relaxed = self.flushed = None


class SqliteStore:
    """The ledger in one SQLite file; the docstrings of ``RunStore`` apply."""

    def __init__(self, folder: Path, *, read_only: bool = False, restored: bool = False) -> None:
        self._folder: Final = folder
        self._path: Final = folder / LEDGER
        self._read_only: Final = read_only
        self._restored: Final = restored
        self._seal: Final = SealFile(self._path)
        self._name = ""
        self._gate: Final = Gate(folder / TURNS)
        self._links = _Links()
        self._file: os.stat_result | None = None
        self._closed = False
        _OPEN.add(self)

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
        try:
            with _store_errors():
                store._open()
        except BaseException:
            store.close()
            raise
        return store

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide inside the transaction that reserves."""
        require_draft(draft)

        def change(link: sqlite3.Connection) -> tuple[Decision, RunRecord | None]:
            decision = decide(attempts(link, draft.request_key), draft)
            if not isinstance(decision, Start):
                return decision, None
            if decision.record.attempt == 1 and not self._restored:
                self._seal.note(draft.request_key)
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
        return self._read(lambda link: late(link, run_id))

    def old_refusals(self, before: int) -> int:
        """How many refusals were made before this time."""
        return self._read(lambda link: cast("tuple[int]", link.execute(OLD_REFUSALS, (before,)).fetchone())[0])

    def forget_refusals(self, before: int) -> int:
        """Drop the refusals that were made before this time, some of them in each turn."""
        dropped = 0
        while now := self._forget(before):
            dropped += now
        return dropped

    def _forget(self, before: int) -> int:
        with _store_errors(), self._turn() as links:
            link = self._writer(links, flushed=True)
            link.execute("BEGIN IMMEDIATE")
            dropped = link.execute(FORGET, (before, _FORGOTTEN_AT_ONCE)).rowcount
            if dropped == 0:
                return 0
            changes = self._counted(link)
            try:
                _commit(link)
            except sqlite3.Error:
                links.doubt = True
                raise
            self._seal.count(self._name, changes)
            return dropped

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call."""
        return self._read(lambda link: load(link, run_id))

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts under the request key, oldest first."""
        return self._read(lambda link: attempts(link, request_key))

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first, a page of one index."""
        if before is None:
            return self._read(lambda link: select(link, NEWEST, max(limit, 0)))
        if not is_run_id(before):
            return ()
        return self._read(lambda link: select(link, NEXT_NEWEST, before, max(limit, 0)))

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        return iter(self._read(lambda link: select(link, UNFINISHED)))

    def check_health(self) -> None:
        """Let SQLite read every page and compare every index with its table."""
        self._read(_require_integrity)

    def noted(self) -> frozenset[str]:
        """Every request key that was ever reserved under this ledger's seal, as far as notes were kept."""
        with _store_errors():
            return self._seal.noted()

    def begin_epoch(self) -> int:
        """Seal the ledger as the one that goes on from here; returns the number of the epoch."""
        with _store_errors(), self._turn() as links:
            return self._sealed(links)

    def close(self) -> None:
        """Close the connections when it is our turn; when it never is, they stay until the process ends."""
        if self._closed:
            return
        self._closed = True
        links = self._links
        with links.writing, links.reading:
            links.drop_reader()
            if links.flushed is None and links.relaxed is None:
                return
            try:
                with self._gate.turn():
                    links.drop_writers()
            except (LockTimeoutError, UnsafeFileError, OSError):
                _ABANDONED.append(links)

    def leave_to_parent(self) -> None:
        """Start anew in a forked child; the connections of the parent are neither used nor closed."""
        _ABANDONED.append(self._links)
        self._links = _Links()

    # Opening.

    def _open(self) -> None:
        if self._read_only:
            refuse_link(self._folder)
        else:
            private_folder(self._folder)
        refuse_network_file_system(self._folder)
        for name in (LEDGER, LEDGER + "-wal", LEDGER + "-shm", TURNS):
            refuse_link(self._folder / name)
        self._make_sure_of_file()
        self._file = self._path.lstat()
        if self._file.st_size == 0:
            raise StoreCorruptError("an empty ledger")  # SQLite would take it for a new one and remove its log
        if self._read(_require_known_version) < len(MIGRATIONS):
            self._migrate()
        self._read(self._require_whole)
        if not self._read_only:
            self._require_seal()

    def _require_seal(self) -> None:
        """Refuse a ledger that is not the one which went on; seal one that is new.

        The seal is read first, since its count may lag behind the ledger only. Whoever seals the ledger between the two
        readings has written the seal before the name, so that a second look finds both.
        """
        if self._restored:
            self._name = self._read(ledger_of)[0]
            return
        with contextlib.suppress(StoreRestoredError):
            self._compare_with_seal()
            return
        self._compare_with_seal()

    def _compare_with_seal(self) -> None:
        seal = self._seal.read()
        self._name, _, changes = self._read(ledger_of)
        if not self._name:
            with self._turn() as links:
                self._name, _, changes = ledger_of(self._writer(links, flushed=True))
                if not self._name:
                    self._require_nothing_lost()
                    self._sealed(links)
        elif not self._seal.belongs(require_goes_on(seal, self._name, changes)):
            raise StoreRestoredError("a copy")

    def _require_nothing_lost(self) -> None:
        """Refuse to begin where a seal says that a ledger was in use."""
        seal = None if self._restored else self._seal.read()
        if seal is not None and seal.count:
            raise StoreRestoredError("the ledger is gone")

    def _sealed(self, links: _Links) -> int:
        """Put a new seal on the ledger: beside it first, so that one whose own name lags behind stays refused."""
        link = self._writer(links, flushed=True)
        link.execute("BEGIN IMMEDIATE")
        _, epoch, changes = ledger_of(link)
        name = new_token()
        epoch = max(epoch, self._seal.epoch()) + 1
        self._seal.write(name, epoch, changes)
        link.execute(NEW_EPOCH, (name, epoch))
        try:
            _commit(link)
        except sqlite3.Error:
            links.doubt = True
            raise
        self._name = name
        return epoch

    def _require_whole(self, link: sqlite3.Connection) -> None:
        """Refuse a file whose size, schema or, while that is cheap, content does not fit."""
        cut = self._path.lstat().st_size % cast("int", _pragma(link, "page_size"))
        if cut and _is_empty(self._path.with_name(LEDGER + "-wal")):
            raise StoreCorruptError("a page is cut")
        if tuple(link.execute(SCHEMA)) != expected_schema(MIGRATIONS):
            raise StoreCorruptError("not the schema of a ledger")
        if cast("int", _pragma(link, "page_count")) <= PAGES_READ_AT_OPENING:
            _require_integrity(link)

    def _make_sure_of_file(self) -> None:
        if self._path.exists():
            self._refuse_other_kind()
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise StoreUnavailableError("too old a SQLite") if self._path.exists() else SqliteRefusedError
        if self._path.exists():
            return
        if self._read_only:
            raise StoreUnavailableError("there is no ledger")
        with self._gate.turn():
            if not self._path.exists():
                self._require_nothing_lost()
                self._create()

    def _refuse_other_kind(self) -> None:
        if any(os.path.lexists(self._folder / name) for name in CLAIMS):
            raise StoreOfOtherKindError("claim files are here")

    def _create(self) -> None:
        """Make the whole file under another name, so that a file of this name was whole once."""
        for leftover in self._folder.glob(".ledger-*"):
            leftover.unlink()
        if any(os.path.lexists(self._folder / (LEDGER + end)) for end in ("-wal", "-shm", "-journal")):
            raise StoreCorruptError("a log without its ledger")
        draft = self._folder / f".ledger-{new_token()}"
        os.close(open_private(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            self._build(draft)
            self._refuse_other_kind()
            if not link_exclusively(draft, self._path):
                raise StoreUnavailableError("the ledger appeared out of turn")
        finally:
            for leftover in self._folder.glob(draft.name + "*"):
                leftover.unlink()
        sync_folder(self._folder)

    def _build(self, draft: Path) -> None:
        try:
            with contextlib.closing(_connect(draft, "rw")) as link:
                _migrate(link, 0)
                link.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                _require_log(link, "PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            if _code(error) == sqlite3.SQLITE_FULL or _extended_code(error) in _DISK_FAILURES:
                raise
            probe = self._folder / f".ledger-{new_token()}"
            write_durably(probe, bytes(4096))
            probe.unlink()
            raise SqliteRefusedError from error

    def _migrate(self) -> None:
        if self._read_only:
            raise StoreUnavailableError("the ledger is of an older version")
        with self._turn() as links:
            link = self._writer(links, flushed=True)
            version = _require_known_version(link)
            try:
                _migrate(link, version)
            except sqlite3.Error:
                links.doubt = True
                raise

    # Writing.

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
        with _store_errors(), self._turn() as links:
            for _ in range(_TRIES):
                link = self._writer(links, flushed=flushed)
                link.execute("BEGIN IMMEDIATE")
                answer, written = change(link)
                if written is None:
                    return answer
                changes = self._counted(link) if flushed else 0
                if self._committed(links, written, flushed=flushed):
                    if changes:
                        self._seal.count(self._name, changes)
                    return answer
        raise StoreUnavailableError("the disk did not take the change")

    def _counted(self, link: sqlite3.Connection) -> int:
        """Count a change of the ledger that goes on, and nobody else's; 0 for one that is being taken over."""
        if self._restored:
            return 0
        seal = self._seal.read()
        changes = cast("list[tuple[int]]", link.execute(COUNT, (self._name,)).fetchall())
        if not changes:
            raise StoreRestoredError("another epoch has begun")
        require_goes_on(seal, self._name, changes[0][0])
        return changes[0][0]

    def _committed(self, links: _Links, written: RunRecord, *, flushed: bool) -> bool:
        try:
            _commit(self._writer(links, flushed=flushed))
        except sqlite3.Error:
            self._settle_doubt(links)
            return load(self._writer(links, flushed=True), written.run_id) == written
        return True

    def _settle_doubt(self, links: _Links) -> None:
        """Write the log back and cut it: what can be read afterwards is on disk, and nothing else can come back."""
        links.doubt = True
        links.drop_writers()
        link = self._writer(links, flushed=True)
        (busy, *_) = link.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreUnavailableError("the log is in use")
        links.doubt = False

    @contextlib.contextmanager
    def _turn(self) -> Generator[_Links]:
        """Our turn to write; a transaction that is still open at its end is rolled back, whatever ended it."""
        links = self._links
        if self._read_only or self._closed:
            raise StoreUnavailableError("opened for reading only, or closed")
        if not links.writing.acquire(timeout=_BUSY_SECONDS):
            raise StoreUnavailableError("no turn in time")
        try:
            with self._gate.turn():
                self._require_same_file()
                if links.doubt:
                    self._settle_doubt(links)
                try:
                    yield links
                finally:
                    links.roll_back()
        finally:
            links.writing.release()

    def _writer(self, links: _Links, *, flushed: bool) -> sqlite3.Connection:
        if flushed:
            links.flushed = links.flushed or _log_connection(self._path, _FULL)
            return links.flushed
        links.relaxed = links.relaxed or _log_connection(self._path, _NORMAL)
        return links.relaxed

    # Reading.

    def _read(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        links = self._links
        with _store_errors(), links.reading:
            if self._closed:
                raise StoreUnavailableError("closed")
            self._require_same_file()
            try:
                links.reader = links.reader or _probed(_connect(self._path, "ro"))
            except sqlite3.OperationalError:
                return self._read_at_rest(question)
            try:
                return question(links.reader)
            except sqlite3.Error:
                links.drop_reader()
                raise

    def _read_at_rest(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Answer one question where not even the index of the log can be made: an empty log is not needed.

        Such a connection sees no later change, so it is not kept, and no answer counts if the ledger changed meanwhile.
        """
        before = self._at_rest()
        if before is None:
            raise StoreUnavailableError("the log cannot be read")
        with contextlib.closing(_connect(self._path, "ro&immutable=1")) as link:
            answer = question(link)
        if self._at_rest() != before:
            raise StoreUnavailableError("the ledger changed while it was read")
        return answer

    def _at_rest(self) -> tuple[int, int] | None:
        """Size and time of the ledger's last change, when its log is empty."""
        now = self._path.lstat()
        log = self._path.with_name(self._path.name + "-wal")
        return (now.st_size, now.st_mtime_ns) if _is_empty(log) else None

    def _require_same_file(self) -> None:
        """Refuse to go on with a file that no longer bears the ledger's name: another one may stand there."""
        if self._file is None or not os.path.samestat(self._file, self._path.lstat()):
            raise StoreUnavailableError("the ledger was removed or replaced")


_OPEN: Final[weakref.WeakSet[SqliteStore]] = weakref.WeakSet()
_ABANDONED: Final[list[_Links]] = []


def _leave_all_to_parent() -> None:
    for store in tuple(_OPEN):
        store.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)


def has_log_reset_fault(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite may lose commits when a checkpoint overlaps one; the turns of this store keep that away."""
    if version[:2] == (3, 44):
        return version < (3, 44, 6)
    if version[:2] == (3, 50):
        return version < (3, 50, 7)
    return (3, 7, 0) <= version < (3, 51, 3)


# Errors.


@contextlib.contextmanager
def _store_errors() -> Generator[None]:
    """Turn what SQLite, the locks and the file system raise into the store's own errors, by type and code."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(error) from error
    except UnicodeDecodeError as error:
        raise StoreCorruptError("the ledger is damaged") from error
    except (LockTimeoutError, UnsafeFileError, OSError) as error:
        raise StoreUnavailableError("the folder refused") from error


def _meaning(error: sqlite3.Error) -> StoreError:
    code = _code(error)
    undecodable = code is None and isinstance(error, sqlite3.OperationalError)
    if undecodable or code in _DAMAGE:
        return StoreCorruptError("the ledger is damaged")
    return StoreUnavailableError("SQLite refused")


def _code(error: sqlite3.Error) -> int | None:
    """The primary result code; ``None`` for an error of the Python module itself."""
    code = _extended_code(error)
    return None if code is None else code & 0xFF


def _extended_code(error: sqlite3.Error) -> int | None:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code


# Connections.


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    link = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY", "fullfsync = ON"):
            link.execute(f"PRAGMA {setting}")
    except BaseException:
        link.close()
        raise
    return link


def _log_connection(path: Path, synchronous: int) -> sqlite3.Connection:
    """A writing connection whose settings were read back: a failed switch shows in the row only.

    The one that does not flush leaves every checkpoint to the one that does.
    """
    link = _connect(path, "rw")
    try:
        _require_log(link, "PRAGMA journal_mode")
        link.execute(f"PRAGMA synchronous = {synchronous}")
        if synchronous != _FULL:
            link.execute("PRAGMA wal_autocheckpoint = 0")
        _require_setting(link, "synchronous", synchronous)
    except BaseException:
        link.close()
        raise
    return link


def _is_empty(log: Path) -> bool:
    return not log.exists() or log.stat().st_size == 0


def _probed(link: sqlite3.Connection) -> sqlite3.Connection:
    try:
        _pragma(link, "schema_version")
    except BaseException:
        link.close()
        raise
    return link


def _close(link: sqlite3.Connection | None) -> None:
    if link is not None:
        with contextlib.suppress(sqlite3.Error):
            link.close()


def _pragma(link: sqlite3.Connection, name: str) -> object:
    return cast("tuple[object]", link.execute(f"PRAGMA {name}").fetchone())[0]


def _require_setting(link: sqlite3.Connection, name: str, value: int) -> None:
    if _pragma(link, name) != value:
        raise sqlite3.NotSupportedError("a setting does not hold")


def _require_log(link: sqlite3.Connection, pragma: str) -> None:
    row = cast("tuple[object] | None", link.execute(pragma).fetchone())
    if row != _LOG:
        raise sqlite3.NotSupportedError("no write-ahead log")


# Schema.


def _migrate(link: sqlite3.Connection, version: int) -> None:
    for done, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        link.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                link.execute(statement)
            link.execute(f"PRAGMA user_version = {done}")
            _commit(link)
        except BaseException:
            if link.in_transaction:
                link.execute("ROLLBACK")
            raise


def _require_known_version(link: sqlite3.Connection) -> int:
    """The schema version of the file, if it is a ledger and not newer than this program."""
    version = cast("int", _pragma(link, "user_version"))
    if _pragma(link, "application_id") != APPLICATION_ID or version < 1:
        raise StoreCorruptError("not a ledger")
    if version > len(MIGRATIONS):
        raise StoreNewerError("a newer ledger")
    return version


def _require_integrity(link: sqlite3.Connection) -> None:
    if _pragma(link, "integrity_check(1)") != "ok":
        raise StoreCorruptError("the ledger does not agree with itself")


def _commit(link: sqlite3.Connection) -> None:
    link.execute("COMMIT")
