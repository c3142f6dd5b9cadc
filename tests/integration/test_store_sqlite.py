"""The SQLite ledger: how often it flushes, what an error of COMMIT means, and what a damaged file is taken for."""

import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from support.folders import run_python
from support.stores import BROKEN, DONE, TIMED_OUT, draft, key, refusal, result_of, run_id, started
from surehand.core.outcome.evidence import Phase
from surehand.core.request.gate import Decision, Replay, Start
from surehand.core.request.record import RunRecord
from surehand.shell.locks import Gate
from surehand.shell.store import sqlite, sqlite_file, sqlite_rows, sqlite_schema
from surehand.shell.store.base import (
    StoreCorruptError,
    StoreError,
    StoreNewerError,
    StoreRestoredError,
    StoreUnavailableError,
    result_text,
)
from surehand.shell.store.sqlite import SqliteStore
from surehand.shell.store.sqlite_file import has_log_reset_fault

LEDGER = "ledger.db"
SEAM = "surehand.shell.store.sqlite_file._commit"


#: Lets files grow to so many bytes only, runs until nothing fits, and compares what was answered with what is there.
FILLS_UP = """\
import resource, signal, sys
from pathlib import Path
from support.stores import DONE, draft, opens_sqlite, result_of, run_id, started
from surehand.shell.store.base import StoreUnavailableError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for room in range(0, 50_000, 2_500):
    folder = Path(sys.argv[1]) / str(room)
    store = opens_sqlite(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, -1))
    answered = {}
    refused = 0
    for number in range(40):
        try:
            record = started(store.reserve(draft(number, f"entry-{number}")))
            answered[number] = "reserved"
            if store.begin_delivery(record.run_id, record.owner):
                answered[number] = "delivering"
            if store.finish(record.run_id, record.owner, result_of(record, DONE)):
                answered[number] = "finished"
        except StoreUnavailableError:
            refused += 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    assert refused > 0
    for again in (store, opens_sqlite(folder)):
        again.check_health()
        for number in range(40):
            kept = again.load(run_id(number))
            assert answered.get(number) == (None if kept is None else kept.phase.value)
    started(store.reserve(draft(99, "entry-99")))
print("20 disks")
"""


def filled(folder: Path) -> None:
    """A closed ledger with a run of every kind; the requests 1 to 4 may have saved, 5 and 6 did not."""
    store = SqliteStore.open(folder)
    for number in range(1, 13):
        record = started(store.reserve(draft(number, f"entry-{number}")))
        if number % 6 in (1, 2):
            store.begin_delivery(record.run_id, record.owner)
        if number % 6 != 1:
            end = {2: DONE, 3: TIMED_OUT, 4: DONE}.get(number % 6, BROKEN)
            store.finish(record.run_id, record.owner, result_of(record, end))
        store.record_refusal(refusal(100 + number, f"entry-{number}"))
    store.close()


class TestFlushes:
    """A run costs exactly three flushed commits: its reservation, the delivery boundary, and its end."""

    @pytest.fixture
    def settings(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How each COMMIT was flushed; 2 says that it was."""
        settings: list[int] = []
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits

        def counted(link: sqlite3.Connection) -> None:
            settings.extend(link.execute("PRAGMA synchronous").fetchone())
            commit(link)

        monkeypatch.setattr(SEAM, counted)
        return settings

    @pytest.mark.parametrize(("journaled", "flushed"), [(True, 3), (False, 4)])
    def test_one_run(self, tmp_path: Path, settings: list[int], journaled: bool, flushed: int) -> None:
        store = SqliteStore.open(tmp_path)
        settings.clear()
        record = started(store.reserve(draft(1, journaled=journaled)))
        assert store.mark_started(record.run_id, record.owner)
        assert store.begin_delivery(record.run_id, record.owner)
        assert store.finish(record.run_id, record.owner, result_of(record, DONE))
        assert isinstance(store.reserve(draft(2)), Replay)
        assert not store.begin_delivery(record.run_id, record.owner)
        store.close()

        assert (4, flushed) == (len(settings), settings.count(2))

    def test_dropping_refusals(self, tmp_path: Path, settings: list[int]) -> None:
        store = SqliteStore.open(tmp_path)
        store.record_refusal(refusal(1))
        settings.clear()
        assert 1 == store.forget_refusals(refusal(2).created_at)
        store.close()

        assert [2] == settings

    def test_a_new_epoch(self, tmp_path: Path, settings: list[int]) -> None:
        store = SqliteStore.open(tmp_path)
        settings.clear()
        store.begin_epoch()
        store.close()

        assert [2] == settings


class TestErrorOfCommit:
    """An error of COMMIT is no rollback: the ledger is looked at again before anything is said about it."""

    @staticmethod
    def failing(monkeypatch: pytest.MonkeyPatch, times: int, *, after: bool) -> None:
        """Let COMMIT fail so often, before or after it took effect."""
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits
        left = iter(range(times))

        def failed(link: sqlite3.Connection) -> None:
            if next(left, None) is None:
                return commit(link)
            if after:
                commit(link)
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(SEAM, failed)

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_one_error_is_settled_either_way(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        store = SqliteStore.open(tmp_path)
        self.failing(monkeypatch, 1, after=after)
        record = started(store.reserve(draft(1)))
        self.failing(monkeypatch, 1, after=after)

        assert store.begin_delivery(record.run_id, record.owner)
        assert not store.begin_delivery(record.run_id, record.owner)
        store.close()
        again = SqliteStore.open(tmp_path)
        assert (evolve(record, phase=Phase.DELIVERING),) == again.attempts(record.request_key)
        again.close()

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_refusals_that_were_dropped_are_counted_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        store = SqliteStore.open(tmp_path)
        for number in range(3):
            store.record_refusal(refusal(number, f"entry-{number}"))
        self.failing(monkeypatch, 1, after=after)

        assert 3 == store.forget_refusals(refusal(9).created_at)
        assert () == store.recent(5)
        store.close()

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_an_epoch_that_may_have_begun_is_settled_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        store = SqliteStore.open(tmp_path)
        store.reserve(draft(1))
        log = tmp_path / f"{LEDGER}-wal"
        self.failing(monkeypatch, 1, after=after)
        with pytest.raises(StoreError):
            store.begin_epoch()
        assert log.stat().st_size > 0
        with pytest.raises(StoreRestoredError):
            store.reserve(draft(2, "entry-2"))

        assert 0 == log.stat().st_size
        store.close()

    def test_a_disk_that_never_takes_it_is_unavailable_and_nothing_happened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = SqliteStore.open(tmp_path)
        record = started(store.reserve(draft(1)))
        self.failing(monkeypatch, 4, after=False)
        with pytest.raises(StoreUnavailableError):
            store.begin_delivery(record.run_id, record.owner)
        with pytest.raises(StoreUnavailableError):
            store.reserve(draft(2, "entry-2"))

        assert record == store.load(record.run_id)
        assert () == store.attempts(key("entry-2"))
        assert store.begin_delivery(record.run_id, record.owner)
        store.close()

    def test_nothing_is_written_until_the_doubt_is_settled(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = SqliteStore.open(tmp_path)
        record = started(store.reserve(draft(1)))
        other = sqlite3.connect(tmp_path / LEDGER, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM runs").fetchone()
        monkeypatch.setattr("surehand.shell.store.sqlite_file._BUSY_SECONDS", 0.01)
        store.close()
        store = SqliteStore.open(tmp_path)
        assert store.mark_started(record.run_id, record.owner)
        self.failing(monkeypatch, 1, after=True)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError):
                store.begin_delivery(record.run_id, record.owner)
        other.close()

        assert not store.begin_delivery(record.run_id, record.owner)
        assert evolve(record, phase=Phase.DELIVERING) == store.load(record.run_id)
        store.close()

    def test_a_disk_that_fills_up_loses_nothing_that_was_answered(self, tmp_path: Path) -> None:
        told = run_python(FILLS_UP, tmp_path)

        assert ("20 disks\n", "") == (told.stdout, told.stderr)

    def test_a_doubt_that_is_settled_costs_nothing_more(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.shell.store.sqlite_file._BUSY_SECONDS", 0.01)
        store = SqliteStore.open(tmp_path)
        self.failing(monkeypatch, 1, after=False)
        record = started(store.reserve(draft(1)))
        with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM runs").fetchone()

            assert store.mark_started(record.run_id, record.owner)
            assert store.begin_delivery(record.run_id, record.owner)
        store.close()

    def test_a_rollback_that_fails_is_a_doubt(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Stuck(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # noqa: ANN401 - values of many types
                if sql == "ROLLBACK":
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, *values)

        def interrupted(_: sqlite3.Connection) -> None:
            raise KeyboardInterrupt

        SqliteStore.open(tmp_path).close()
        with monkeypatch.context() as patched:
            patched.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Stuck))
            patched.setattr(SEAM, interrupted)
            store = SqliteStore.open(tmp_path)
            with pytest.raises(KeyboardInterrupt):
                store.reserve(draft(1))

        assert isinstance(store.reserve(draft(1)), Start)
        store.close()


class TestConnections:
    """A store that is closed holds no connection, and the one that flushes is closed after the one that does not."""

    def test_are_closed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        closed: list[str] = []

        class Told(sqlite3.Connection):
            def close(self) -> None:
                (synchronous,) = self.execute("PRAGMA synchronous").fetchone()
                closed.append({1: "relaxed", 2: "flushed"}[synchronous])
                super().close()

        store = SqliteStore.open(tmp_path)
        store.close()
        monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Told))
        store = SqliteStore.open(tmp_path)
        record = started(store.reserve(draft(1)))
        assert store.mark_started(record.run_id, record.owner)
        closed.clear()
        store.close()

        assert ["flushed", "relaxed", "flushed"] == closed


class TestTurns:
    """One change at a time: a process waits for another and a thread for another, each within a limit."""

    def test_of_processes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.shell.store.sqlite_file.Gate", partial(Gate, limit=0.05))
        with closing(SqliteStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1)))
            with Gate(tmp_path / "ledger.lock").turn(), pytest.raises(StoreUnavailableError):
                store.begin_delivery(record.run_id, record.owner)

            assert record == store.load(record.run_id)
            assert store.begin_delivery(record.run_id, record.owner)

    def test_of_threads(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits
        committing, go_on = threading.Event(), threading.Event()

        def waits(link: sqlite3.Connection) -> None:
            committing.set()
            go_on.wait(60)
            commit(link)

        with closing(SqliteStore.open(tmp_path)) as store, ThreadPoolExecutor(1) as pool:
            record = started(store.reserve(draft(1)))
            monkeypatch.setattr(SEAM, waits)
            monkeypatch.setattr("surehand.shell.store.sqlite_file._BUSY_SECONDS", 0.05)
            delivered = pool.submit(store.begin_delivery, record.run_id, record.owner)
            assert committing.wait(60)
            with pytest.raises(StoreUnavailableError):
                store.reserve(draft(2, "entry-2"))
            go_on.set()

            assert delivered.result(timeout=60)

    def test_are_no_use_once_the_file_is_another(self, tmp_path: Path) -> None:
        with closing(SqliteStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1)))
            (tmp_path / LEDGER).rename(tmp_path / "moved.db")

            with pytest.raises(StoreUnavailableError):
                store.mark_started(record.run_id, record.owner)

    def test_of_a_reader_never_come(self, tmp_path: Path) -> None:
        filled(tmp_path)
        with closing(SqliteStore.open(tmp_path, read_only=True)) as store, pytest.raises(StoreUnavailableError):
            store.reserve(draft(99, "entry-99"))
        with closing(SqliteStore.open(tmp_path)) as store:
            assert () == store.attempts(key("entry-99"))


class TestInterruptions:
    """A change that is interrupted, by whatever, leaves no open transaction behind."""

    @pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
    def test_the_next_change_goes_through(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
    ) -> None:
        def interrupted(_: sqlite3.Connection) -> None:
            raise interruption

        store = SqliteStore.open(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(SEAM, interrupted)
            with pytest.raises(interruption):
                store.reserve(draft(1))

        assert store.load(run_id(1)) is None
        assert isinstance(store.reserve(draft(1)), Start)
        store.close()


class TestDamage:
    """Corrupt is not absent: nothing runs on a damaged file, and it is kept as it is."""

    DAMAGES: dict[str, Callable[[bytes], bytes]] = {  # noqa: RUF012 - never changed
        "empty": lambda _: b"",
        "first byte missing": lambda content: content[1:],
        "only a header": lambda content: content[:100],
        "half a page": lambda content: content[:2048],
        "one page": lambda content: content[:4096],
        "last page missing": lambda content: content[:-4096],
        "last byte missing": lambda content: content[:-1],
        "half the file": lambda content: content[: len(content) // 2],
        "text": lambda _: b"not a ledger at all\n" * 400,
        "zeros": lambda content: bytes(len(content)),
        "another application": lambda content: content[:68] + b"\0\0\0\1" + content[72:],
        "no version": lambda content: content[:60] + bytes(4) + content[64:],
        "page of zeros": lambda content: content[:8192] + bytes(4096) + content[12288:],
    }

    @pytest.mark.parametrize("damage", DAMAGES)
    @pytest.mark.parametrize("read_only", [True, False])
    def test_a_damaged_file_is_refused_and_kept(self, tmp_path: Path, damage: str, read_only: bool) -> None:
        filled(tmp_path)
        content = self.DAMAGES[damage]((tmp_path / LEDGER).read_bytes())
        (tmp_path / LEDGER).write_bytes(content)

        with pytest.raises(StoreCorruptError) as caught:
            SqliteStore.open(tmp_path, read_only=read_only)
        assert content == (tmp_path / LEDGER).read_bytes()
        assert "store_corrupt" == caught.value.check.value

    def test_an_empty_file_with_a_log_is_refused_and_kept(self, tmp_path: Path) -> None:
        filled(tmp_path)
        (tmp_path / LEDGER).write_bytes(b"")
        (tmp_path / (LEDGER + "-wal")).write_bytes(b"log")

        with pytest.raises(StoreCorruptError):
            SqliteStore.open(tmp_path)
        assert (b"", b"log") == ((tmp_path / LEDGER).read_bytes(), (tmp_path / (LEDGER + "-wal")).read_bytes())

    def test_a_log_without_its_ledger_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / (LEDGER + "-wal")).write_bytes(b"log")

        with pytest.raises(StoreCorruptError):
            SqliteStore.open(tmp_path)

    def test_a_newer_ledger_is_refused_and_kept(self, tmp_path: Path) -> None:
        filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / LEDGER)) as link:
            link.execute("PRAGMA user_version = 99")

        with pytest.raises(StoreNewerError):
            SqliteStore.open(tmp_path)

    @pytest.mark.parametrize(
        "change", ["DROP TRIGGER runs_stay", "DROP INDEX runs_by_request", "CREATE TABLE guest (x)"]
    )
    def test_another_schema_is_refused(self, tmp_path: Path, change: str) -> None:
        filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / LEDGER)) as link:
            link.execute(change)

        with pytest.raises(StoreCorruptError):
            SqliteStore.open(tmp_path)

    @pytest.mark.parametrize("seed", range(10))
    def test_no_flipped_bit_starts_a_request_again(self, tmp_path: Path, seed: int) -> None:
        filled(tmp_path / "whole")
        whole = (tmp_path / "whole" / LEDGER).read_bytes()
        chance = random.Random(seed)  # noqa: S311 - places to damage
        for flip in range(20):
            folder = tmp_path / str(flip)
            shutil.copytree(tmp_path / "whole", folder)
            place, bit = chance.randrange(len(whole)), chance.randrange(8)
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            (folder / LEDGER).write_bytes(damaged)
            for number in (1, 2, 3, 4, 7, 8, 9, 10):
                assert not isinstance(_asked(folder, number), Start), (place, bit, number)

    def test_a_result_that_breaks_the_contract_is_no_result(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path)
        texts = [
            "{}",
            "null",
            "[" * 100_000,
            "saved, all good",
            '{"outcome": "done"}',
            "\ud800".encode("utf-8", "replace").decode(),
        ]
        other = result_text(result_of(draft(99), DONE))
        for number, text in enumerate([*texts, other], start=1):
            record = started(store.reserve(draft(number, f"entry-{number}")))
            with closing(sqlite3.connect(tmp_path / LEDGER)) as link, link:
                link.execute("UPDATE runs SET phase = 'finished', result = ? WHERE run_id = ?", (text, record.run_id))

            assert evolve(record, phase=Phase.FINISHED) == store.load(record.run_id)
        store.check_health()
        store.close()

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM runs",
            "UPDATE runs SET phase = 'reserved', result = NULL WHERE phase = 'finished'",
            "UPDATE runs SET result = '{}' WHERE phase = 'finished'",
            "UPDATE runs SET owner = 'x' WHERE phase <> 'finished'",
            "UPDATE runs SET attempt = 2 WHERE phase <> 'finished'",
            "UPDATE runs SET bundle = 'x' WHERE phase <> 'finished'",
            "UPDATE runs SET phase = 'done' WHERE phase <> 'finished'",
            "UPDATE runs SET phase = 'finished' WHERE phase <> 'finished'",
            "UPDATE runs SET phase = NULL WHERE phase <> 'finished'",
            (
                "INSERT INTO runs SELECT seq + 1000, run_id || 'x', request_key, attempt, workflow, fingerprint, "
                "owner, journaled, phase, created_at, result, bundle FROM runs WHERE attempt = 1"
            ),
        ],
    )
    def test_the_ledger_refuses_what_no_store_may_do(self, tmp_path: Path, change: str) -> None:
        filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / LEDGER)) as link:
            with pytest.raises(sqlite3.IntegrityError):
                link.execute(change)
            link.rollback()

            assert [(24,)] == link.execute("SELECT count(*) FROM runs").fetchall()


def _asked(folder: Path, number: int) -> Decision | None:
    """What a repeat of a request is told; nothing when the ledger is refused."""
    try:
        store = SqliteStore.open(folder)
    except StoreError:
        return None
    try:
        return store.reserve(draft(1000 + number, f"entry-{number}"))
    except StoreError:
        return None
    finally:
        store.close()


class TestRows:
    """A row that contradicts itself is damage, also where the file would have let it in."""

    def test_gives_back_the_record_that_it_keeps(self) -> None:
        reserved, ended = draft(1, attempt=1, journaled=False), refusal(2)

        assert [reserved, ended] == [sqlite_rows.record_of(sqlite_rows.row_of(each)) for each in (reserved, ended)]

    @pytest.mark.parametrize(("phase", "text"), [("done", None), ("finished", None), ("reserved", "{}")])
    def test_of_a_record_that_cannot_be(self, phase: str, text: str | None) -> None:
        row = sqlite_rows.row_of(draft(1))

        with pytest.raises(StoreCorruptError):
            sqlite_rows.record_of((*row[:7], phase, *row[8:10], text))

    def test_of_an_attempt_that_was_made_already_is_refused_as_what_it_is(self) -> None:
        with closing(sqlite3.connect(":memory:")) as link:
            for statements in sqlite_schema.MIGRATIONS:
                for statement in statements:
                    link.execute(statement)
            sqlite_rows.insert(link, draft(1, attempt=1))

            with pytest.raises(ValueError, match="used before"):
                sqlite_rows.insert(link, draft(1, "entry-2", attempt=1))
            with pytest.raises(sqlite3.IntegrityError):
                sqlite_rows.insert(link, draft(2, attempt=1))
            assert sqlite_rows.load(link, run_id(2)) is None

    def test_of_the_ledger_itself_is_never_missing(self) -> None:
        with closing(sqlite3.connect(":memory:")) as link:
            link.execute("CREATE TABLE ledger (name, epoch, changes)")

            with pytest.raises(StoreCorruptError):
                sqlite_file.ledger_of(link)


class TestMigrations:
    """An older ledger is brought forward, each step in one transaction; a step that fails changes nothing."""

    STEP = ("ALTER TABLE runs ADD COLUMN note TEXT", "CREATE INDEX runs_by_note ON runs (note) WHERE note IS NOT NULL")

    def test_a_filled_ledger_is_brought_forward(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        filled(tmp_path)
        with closing(SqliteStore.open(tmp_path)) as store:
            before = store.recent(100)
        monkeypatch.setattr(sqlite, "MIGRATIONS", (*sqlite_schema.MIGRATIONS, self.STEP))
        with pytest.raises(StoreUnavailableError):
            SqliteStore.open(tmp_path, read_only=True)
        with closing(SqliteStore.open(tmp_path)) as store:
            assert before == store.recent(100)
            assert 24 == len(before)
            assert isinstance(store.reserve(draft(500, "entry-500")), Start)

    def test_a_step_that_fails_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        filled(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(sqlite, "MIGRATIONS", (*sqlite_schema.MIGRATIONS, (*self.STEP, "SELECT nonsense")))
            with pytest.raises(StoreUnavailableError):
                SqliteStore.open(tmp_path)

        SqliteStore.open(tmp_path).close()


class TestThreadsAndForks:
    """A store may be used from any thread, and a forked child neither uses nor closes its parent's connections."""

    def test_one_of_many_threads_starts_a_request(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path)
        told: list[Decision] = []
        barrier = threading.Barrier(8)

        def reserve(number: int) -> None:
            barrier.wait()
            told.append(store.reserve(draft(number)))

        threads = [threading.Thread(target=reserve, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.close()

        assert 1 == sum(isinstance(decision, Start) for decision in told)
        assert 1 == len({decision.record.run_id for decision in told})

    def test_a_forked_child_opens_its_own_connections(self, tmp_path: Path) -> None:
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom support.stores import *\n"
            "store = opens_sqlite(Path(sys.argv[1]))\nfirst = started(store.reserve(draft(1, 'entry-1')))\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    second = started(store.reserve(draft(2, 'entry-2')))\n"
            "    assert store.load(first.run_id) == first\n"
            "    store.close()\n"
            "    os._exit(7)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
            "assert store.begin_delivery(first.run_id, first.owner)\n"
            "assert len(store.recent(5)) == 2\nstore.check_health()\nstore.close()\n"
        )
        told = run_python(script, tmp_path)

        assert ("", 0) == (told.stderr, told.returncode)


class TestLogResetFault:
    """The versions of SQLite that may lose commits are known by their number."""

    @pytest.mark.parametrize(
        ("version", "faulty"),
        [
            ((3, 6, 23), False),
            ((3, 40, 1), True),
            ((3, 44, 5), True),
            ((3, 44, 6), False),
            ((3, 50, 6), True),
            ((3, 50, 7), False),
            ((3, 51, 2), True),
            ((3, 51, 3), False),
            ((3, 53, 0), False),
        ],
    )
    def test_is_known(self, version: tuple[int, ...], faulty: bool) -> None:
        assert faulty == has_log_reset_fault(version)


class TestPaging:
    """Pages follow one another without a gap, whatever is added meanwhile."""

    def test_pages_do_not_shift(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path)
        for number in range(10):
            store.reserve(draft(number, f"entry-{number}"))
        pages: list[RunRecord] = []
        while page := store.recent(3, pages[-1].run_id if pages else None):
            pages.extend(page)
            store.reserve(draft(100 + len(pages), f"later-{len(pages)}"))
        store.close()

        assert [run_id(number) for number in range(9, -1, -1)] == [record.run_id for record in pages]
