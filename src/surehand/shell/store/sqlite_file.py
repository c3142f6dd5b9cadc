"""One SQLite file that survives kills and power cuts, whatever rows it keeps.

Laws of this module:

- What ``change`` answered is on disk: write-ahead log, ``synchronous=FULL``, one immediate transaction for each change.
  Only a change that asks for no flush goes through a second connection that does not.
- One process writes at a time. A timed file lock stands in front of every write transaction, every close and thereby
  every checkpoint, which also keeps away the lost commits of SQLite
  3.7.0 to 3.51.2 (a checkpoint that overlaps a commit).
- An error of COMMIT is no rollback. Both ways stay open until the log has been written back and cut, and the rows read.
- A file that is not whole is corrupt, not absent: nothing is done with it and it is kept as it is.
- A file that was copied or restored is refused: each flushed change is counted in it and then on its seal.
- SQLite alone opens the file: a second descriptor, closed, would drop SQLite's own locks.
"""

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final, TypeVar, cast

from attrs import frozen

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
)
from surehand.shell.store.seal import SealFile, require_goes_on
from surehand.shell.store.sqlite_schema import SCHEMA, expected_schema

#: The first SQLite that knows STRICT tables.
OLDEST_SQLITE: Final = (3, 37, 0)

#: A file of so many pages or fewer is read through at every opening; a larger one by ``check_health`` only.
PAGES_READ_AT_OPENING: Final = 500

#: The one row that every file has: its random name, its epoch, and how many changes were flushed.
LEDGER_ROW: Final = "SELECT name, epoch, changes FROM ledger"
COUNT: Final = "UPDATE ledger SET changes = changes + 1 WHERE name = ? RETURNING changes"
NEW_EPOCH: Final = "UPDATE ledger SET name = ?, epoch = ?"

#: What SQLite answers when the write-ahead log is on.
_LOG: Final = ("wal",)

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

#: Says after a failed COMMIT whether the change is there.
Stands = Callable[[sqlite3.Connection], bool]

#: A change: its answer and how to find it again, or ``None`` when nothing was written.
Change = Callable[[sqlite3.Connection], tuple[_Answer, Stands | None]]


@frozen(kw_only=True)
class FileKind:
    """What a file keeps.

    Args:
        name: Its name without the ending; the lock and the seal beside it bear it too.
        application_id: Says in the file's header whose it is.
        migrations: Its schema, as the steps that lead there.
        other_kinds: Names in its folder that say that the same is kept there in another way.
    """

    name: str
    application_id: int
    migrations: tuple[tuple[str, ...], ...]
    other_kinds: tuple[str, ...] = ()


class SqliteRefusedError(Exception):
    """SQLite cannot keep a file in this folder, although the folder takes files."""


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


class SqliteFile:
    """One SQLite file of a state folder. All methods are safe to call from any thread.

    Args:
        folder: The folder.
        kind: What it keeps.
        read_only: Never write; a missing file is then an error, and a restored one can be read.
        restored: Take a file that was restored or is gone, to begin a new epoch with it.
    """

    def __init__(self, folder: Path, kind: FileKind, *, read_only: bool = False, restored: bool = False) -> None:
        self.path: Final = folder / f"{kind.name}.db"
        self.seal: Final = SealFile(self.path)
        self.restored: Final = restored
        self._kind: Final = kind
        self._folder: Final = folder
        self._read_only: Final = read_only
        self._name = ""
        self._gate: Final = Gate(folder / f"{kind.name}.lock")
        self._links = _Links()
        self._file: os.stat_result | None = None
        self._closed = False
        _OPEN.add(self)

    def open(self) -> None:
        """Open the file, and make it when there is none.

        Nothing is written when a file of this version is there, so that a full disk or a read-only mount can be read.

        Raises:
            SqliteRefusedError: SQLite cannot keep a file here, and there is none yet.
            StoreError: The folder refuses, or what lies in it is not to be trusted.
        """
        try:
            with _store_errors():
                self._open()
        except BaseException:
            self.close()
            raise

    def change(self, change: Change[_Answer], *, flushed: bool = True) -> _Answer:
        """Answer with what a change says, when what it wrote is on disk.

        Args:
            change: Says its answer, and how to find again what it wrote, or ``None`` when it wrote nothing.
            flushed: Whether the change has to survive a power cut.

        Raises:
            StoreError: It is not on disk, or nobody knows.
        """
        with _store_errors(), self._turn() as links:
            for _ in range(_TRIES):
                link = self._writer(links, flushed=flushed)
                link.execute("BEGIN IMMEDIATE")
                answer, stands = change(link)
                if stands is None:
                    return answer
                changes = self._counted(link) if flushed else 0
                if self._committed(links, stands, flushed=flushed):
                    if changes:
                        self.seal.count(self._name, changes)
                    return answer
        raise StoreUnavailableError("the disk did not take the change")

    def read(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Answer a question.

        Raises:
            StoreError: The file cannot answer.
        """
        links = self._links
        with _store_errors(), links.reading:
            if self._closed:
                raise StoreUnavailableError("closed")
            self._require_same_file()
            try:
                links.reader = links.reader or _probed(_connect(self.path, "ro"))
            except sqlite3.OperationalError:
                return self._read_at_rest(question)
            try:
                return question(links.reader)
            except sqlite3.Error:
                links.drop_reader()
                raise

    def check_health(self) -> None:
        """Let SQLite read every page and compare every index with its table."""
        self.read(_require_integrity)

    def compact(self) -> None:
        """Rewrite the file and cut its log, so that nothing of what was dropped is left in either.

        Raises:
            StoreError: It cannot be done now; what was dropped stays dropped.
        """
        with _store_errors(), self._turn() as links:
            link = self._writer(links, flushed=True)
            link.execute("VACUUM")
            _cut_log(link)

    def noted(self) -> frozenset[str]:
        """Every name that was ever noted under this file's seal, as far as notes were kept."""
        with _store_errors():
            return self.seal.noted()

    def begin_epoch(self) -> int:
        """Seal the file as the one that goes on from here; returns the number of the epoch."""
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
        for name in (*(self.path.name + end for end in ("", "-wal", "-shm")), f"{self._kind.name}.lock"):
            refuse_link(self._folder / name)
        self._make_sure_of_file()
        self._file = self.path.lstat()
        if self._file.st_size == 0:
            raise StoreCorruptError("an empty file")  # SQLite would take it for a new one and remove its log
        if self.read(self._require_known_version) < len(self._kind.migrations):
            self._migrate()
        self.read(self._require_whole)
        if not self._read_only:
            self._require_seal()

    def _require_seal(self) -> None:
        """Refuse a file that is not the one which went on; seal one that is new.

        The seal is read first, since its count may lag behind the file only. Whoever seals the file between the two
        readings has written the seal before the name, so that a second look finds both.
        """
        if self.restored:
            self._name = self.read(ledger_of)[0]
            return
        with contextlib.suppress(StoreRestoredError):
            self._compare_with_seal()
            return
        self._compare_with_seal()

    def _compare_with_seal(self) -> None:
        seal = self.seal.read()
        self._name, _, changes = self.read(ledger_of)
        if not self._name:
            with self._turn() as links:
                self._name, _, changes = ledger_of(self._writer(links, flushed=True))
                if not self._name:
                    self._require_nothing_lost()
                    self._sealed(links)
        elif not self.seal.belongs(require_goes_on(seal, self._name, changes)):
            raise StoreRestoredError("a copy")

    def _require_nothing_lost(self) -> None:
        """Refuse to begin where a seal says that a file was in use."""
        seal = None if self.restored else self.seal.read()
        if seal is not None and seal.count:
            raise StoreRestoredError("the file is gone")

    def _sealed(self, links: _Links) -> int:
        """Put a new seal on the file: beside it first, so that one whose own name lags behind stays refused."""
        link = self._writer(links, flushed=True)
        link.execute("BEGIN IMMEDIATE")
        _, epoch, changes = ledger_of(link)
        name = new_token()
        epoch = max(epoch, self.seal.epoch()) + 1
        self.seal.write(name, epoch, changes)
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
        cut = self.path.lstat().st_size % cast("int", _pragma(link, "page_size"))
        if cut and _is_empty(self.path.with_name(self.path.name + "-wal")):
            raise StoreCorruptError("a page is cut")
        if tuple(link.execute(SCHEMA)) != expected_schema(self._kind.migrations):
            raise StoreCorruptError("not the schema of such a file")
        if cast("int", _pragma(link, "page_count")) <= PAGES_READ_AT_OPENING:
            _require_integrity(link)

    def _require_known_version(self, link: sqlite3.Connection) -> int:
        """The schema version of the file, if it is one of this kind and not newer than this program."""
        version = cast("int", _pragma(link, "user_version"))
        if _pragma(link, "application_id") != self._kind.application_id or version < 1:
            raise StoreCorruptError("not a file of this kind")
        if version > len(self._kind.migrations):
            raise StoreNewerError("a newer file")
        return version

    def _draft(self, name: str) -> str:
        return f".{self._kind.name}-{name}"

    def _make_sure_of_file(self) -> None:
        if self.path.exists():
            self._refuse_other_kind()
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise StoreUnavailableError("too old a SQLite") if self.path.exists() else SqliteRefusedError
        if self.path.exists():
            return
        if self._read_only:
            raise StoreUnavailableError("there is no such file")
        with self._gate.turn():
            if not self.path.exists():
                self._require_nothing_lost()
                self._create()

    def _refuse_other_kind(self) -> None:
        if any(os.path.lexists(self._folder / name) for name in self._kind.other_kinds):
            raise StoreOfOtherKindError("the same is kept here in another way")

    def _create(self) -> None:
        """Make the whole file under another name, so that a file of this name was whole once."""
        for leftover in self._folder.glob(self._draft("*")):
            leftover.unlink()
        if any(os.path.lexists(self._folder / (self.path.name + end)) for end in ("-wal", "-shm", "-journal")):
            raise StoreCorruptError("a log without its file")
        draft = self._folder / self._draft(new_token())
        os.close(open_private(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            self._build(draft)
            self._refuse_other_kind()
            if not link_exclusively(draft, self.path):
                raise StoreUnavailableError("the file appeared out of turn")
        finally:
            for leftover in self._folder.glob(draft.name + "*"):
                leftover.unlink()
        sync_folder(self._folder)

    def _build(self, draft: Path) -> None:
        try:
            with contextlib.closing(_connect(draft, "rw")) as link:
                _migrate(link, self._kind.migrations, 0)
                link.execute(f"PRAGMA application_id = {self._kind.application_id}")
                _require_log(link, "PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            if _code(error) == sqlite3.SQLITE_FULL or _extended_code(error) in _DISK_FAILURES:
                raise
            probe = self._folder / self._draft(new_token())
            write_durably(probe, bytes(4096))
            probe.unlink()
            raise SqliteRefusedError from error

    def _migrate(self) -> None:
        if self._read_only:
            raise StoreUnavailableError("the file is of an older version")
        with self._turn() as links:
            link = self._writer(links, flushed=True)
            version = self._require_known_version(link)
            try:
                _migrate(link, self._kind.migrations, version)
            except sqlite3.Error:
                links.doubt = True
                raise

    # Writing.

    def _counted(self, link: sqlite3.Connection) -> int:
        """Count a change of the file that goes on, and nobody else's; 0 for one that is being taken over."""
        if self.restored:
            return 0
        seal = self.seal.read()
        changes = cast("list[tuple[int]]", link.execute(COUNT, (self._name,)).fetchall())
        if not changes:
            raise StoreRestoredError("another epoch has begun")
        require_goes_on(seal, self._name, changes[0][0])
        return changes[0][0]

    def _committed(self, links: _Links, stands: Stands, *, flushed: bool) -> bool:
        try:
            _commit(self._writer(links, flushed=flushed))
        except sqlite3.Error:
            self._settle_doubt(links)
            return stands(self._writer(links, flushed=True))
        return True

    def _settle_doubt(self, links: _Links) -> None:
        """Write the log back and cut it: what can be read afterwards is on disk, and nothing else can come back."""
        links.doubt = True
        links.drop_writers()
        _cut_log(self._writer(links, flushed=True))
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
            links.flushed = links.flushed or _log_connection(self.path, _FULL)
            return links.flushed
        links.relaxed = links.relaxed or _log_connection(self.path, _NORMAL)
        return links.relaxed

    # Reading.

    def _read_at_rest(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Answer one question where not even the index of the log can be made: an empty log is not needed.

        Such a connection sees no later change, so it is not kept, and no answer counts if the file changed meanwhile.
        """
        before = self._at_rest()
        if before is None:
            raise StoreUnavailableError("the log cannot be read")
        with contextlib.closing(_connect(self.path, "ro&immutable=1")) as link:
            answer = question(link)
        if self._at_rest() != before:
            raise StoreUnavailableError("the file changed while it was read")
        return answer

    def _at_rest(self) -> tuple[int, int] | None:
        """Size and time of the file's last change, when its log is empty."""
        now = self.path.lstat()
        log = self.path.with_name(self.path.name + "-wal")
        return (now.st_size, now.st_mtime_ns) if _is_empty(log) else None

    def _require_same_file(self) -> None:
        """Refuse to go on with a file that no longer bears its name: another one may stand there."""
        if self._file is None or not os.path.samestat(self._file, self.path.lstat()):
            raise StoreUnavailableError("the file was removed or replaced")


_OPEN: Final[weakref.WeakSet[SqliteFile]] = weakref.WeakSet()
_ABANDONED: Final[list[_Links]] = []


def _leave_all_to_parent() -> None:
    for file in tuple(_OPEN):
        file.leave_to_parent()


os.register_at_fork(after_in_child=_leave_all_to_parent)


def has_log_reset_fault(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite may lose commits when a checkpoint overlaps one; the turns of this store keep that away."""
    if version[:2] == (3, 44):
        return version < (3, 44, 6)
    if version[:2] == (3, 50):
        return version < (3, 50, 7)
    return (3, 7, 0) <= version < (3, 51, 3)


def ledger_of(link: sqlite3.Connection) -> tuple[str, int, int]:
    """Name, epoch and number of changes of the file."""
    row = cast("tuple[str, int, int] | None", link.execute(LEDGER_ROW).fetchone())
    if row is None:
        raise StoreCorruptError("a file without its own row")
    return row


# Errors.


@contextlib.contextmanager
def _store_errors() -> Generator[None]:
    """Turn what SQLite, the locks and the file system raise into the store's own errors, by type and code."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(error) from error
    except UnicodeDecodeError as error:
        raise StoreCorruptError("the file is damaged") from error
    except (LockTimeoutError, UnsafeFileError, OSError) as error:
        raise StoreUnavailableError("the folder refused") from error


def _meaning(error: sqlite3.Error) -> StoreError:
    code = _code(error)
    undecodable = code is None and isinstance(error, sqlite3.OperationalError)
    if undecodable or code in _DAMAGE:
        return StoreCorruptError("the file is damaged")
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


def _cut_log(link: sqlite3.Connection) -> None:
    """Write the log back into the file and make it empty."""
    (busy, *_) = link.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreUnavailableError("the log is in use")


# Schema.


def _migrate(link: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...], version: int) -> None:
    for done, statements in enumerate(migrations[version:], start=version + 1):
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


def _require_integrity(link: sqlite3.Connection) -> None:
    if _pragma(link, "integrity_check(1)") != "ok":
        raise StoreCorruptError("the file does not agree with itself")


def _commit(link: sqlite3.Connection) -> None:
    link.execute("COMMIT")
