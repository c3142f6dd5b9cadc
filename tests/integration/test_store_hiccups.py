"""A disk that fails once leaves nothing behind: the folder keeps its kind of store, and readers see later changes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.stores import draft, run_id, started
from surehand.core.outcome.evidence import Phase
from surehand.shell.locks import OwnerLock, is_alive
from surehand.shell.store import open_store, sqlite_file, sqlite_schema
from surehand.shell.store.base import StoreCorruptError, StoreUnavailableError
from surehand.shell.store.sqlite import SqliteStore


def failing(code: int) -> sqlite3.OperationalError:
    """An error of SQLite with this extended code."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


class TestFirstUse:
    """A disk that fails while the ledger is made is no reason for claim files: the next use makes the ledger."""

    @pytest.mark.parametrize(
        "code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DELETE]
    )
    def test_is_tried_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
        def fails(_: sqlite3.Connection) -> None:
            raise failing(code)

        with monkeypatch.context() as patched:
            patched.setattr("surehand.shell.store.sqlite_file._commit", fails)
            with pytest.raises(StoreUnavailableError):
                open_store(tmp_path)

        with closing(open_store(tmp_path)) as store:
            assert isinstance(store, SqliteStore)
            started(store.reserve(draft(1)))


class TestReader:
    """A reader that had to do without the index of the log sees what is written afterwards."""

    def test_sees_later_changes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(SqliteStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1)))
        probed = sqlite_file._probed  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - where the index is made
        left = iter(range(1))

        def fails_once(link: sqlite3.Connection) -> sqlite3.Connection:
            if next(left, None) is None:
                return probed(link)
            link.close()
            raise failing(sqlite3.SQLITE_IOERR_SHMSIZE)

        with monkeypatch.context() as patched:
            patched.setattr("surehand.shell.store.sqlite_file._probed", fails_once)
            store = SqliteStore.open(tmp_path)
        with closing(store):
            assert store.begin_delivery(record.run_id, record.owner)
            kept = store.load(run_id(1))

        assert kept is not None
        assert Phase.DELIVERING is kept.phase


class TestBrokenReader:
    """A reader that broke is not asked again: the next question gets another one."""

    def test_the_next_question_is_answered(self, tmp_path: Path) -> None:
        def breaks(link: sqlite3.Connection) -> None:
            link.close()
            link.execute("SELECT 1")

        with closing(SqliteStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1)))
            with pytest.raises(StoreUnavailableError):
                store.read(breaks)

            assert record == store.load(run_id(1))


class TestOwnerLock:
    """An owner lets go even when its file cannot be removed."""

    def test_lets_go(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        lock = OwnerLock.acquire(tmp_path)

        def refuses(_: Path) -> None:
            raise OSError

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", refuses)
            lock.release()

        assert not is_alive(tmp_path, lock.token)
        OwnerLock.acquire(tmp_path).release()
        assert [] == list((tmp_path / "owners").iterdir())


class TestForgottenIndex:
    """A ledger whose index forgot a request does not start it again: each attempt stands in two places."""

    def test_is_corrupt_and_not_absent(self, tmp_path: Path) -> None:
        with closing(SqliteStore.open(tmp_path)) as store:
            started(store.reserve(draft(1)))
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as link:
            link.execute("DROP TRIGGER runs_keep_their_names")
            link.execute("UPDATE runs SET request_key = ?", ("0" * 64,))
            link.execute(next(sql for sql in sqlite_schema.MIGRATIONS[0] if "runs_keep_their_names" in sql))

        with closing(SqliteStore.open(tmp_path)) as store, pytest.raises(StoreCorruptError):
            store.reserve(draft(2))
