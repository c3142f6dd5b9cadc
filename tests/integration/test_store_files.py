"""Where the ledger lies: who may read it, by which paths it is reached, and what a disk that refuses does to it."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from support.folders import run_python, run_without_writing, second_path
from support.stores import DONE, OpensStores, draft, key, opens_claims, opens_sqlite, result_of, run_id, started
from surehand.core.outcome.evidence import Phase
from surehand.core.request.gate import Replay, Start
from surehand.core.request.record import RunRecord
from surehand.shell import files
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore, StoreError, StoreOfOtherKindError, StoreUnavailableError
from surehand.shell.store.claims import ClaimStore
from surehand.shell.store.sqlite import SqliteStore

DURABLE = [pytest.param(opens_sqlite, id="sqlite"), pytest.param(opens_claims, id="claims")]

#: Reserves entry 2 in the folder, prints the decision and stays until its input ends.
RESERVES = """\
import sys
from pathlib import Path
from support.stores import draft, opens_{kind}
store = opens_{kind}(Path(sys.argv[1]))
print(type(store.reserve(draft(2))).__name__, flush=True)
"""

#: Reads what is there and tries to write.
READS = """\
import sys
from pathlib import Path
from support.stores import draft, run_id
from surehand.shell.store import open_store
from surehand.shell.store.base import StoreUnavailableError
for read_only in (False, True):
    store = open_store(Path(sys.argv[1]), read_only=read_only)
    print(store.load(run_id(1)).result.outcome.value, len(store.recent(5)), len(store.attempts(draft(1).request_key)))
    try:
        store.reserve(draft(2, "entry-2"))
    except StoreUnavailableError as error:
        print(error.check.value)
    store.close()
"""


class TestPrivacy:
    """Folders are 0700 and files 0600, whatever the umask."""

    @pytest.mark.parametrize("opens", DURABLE)
    def test_nothing_is_readable_by_others(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs" / "surehand"
        before = os.umask(0)
        try:
            store = opens(folder)
            store.reserve(draft(1))
            store.begin_delivery(run_id(1), draft(1).owner)
            made = [tmp_path / "runs", folder, *folder.rglob("*")]
            modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in made}
            store.close()
        finally:
            os.umask(before)

        assert {(True, 0o700), (False, 0o600)} == modes

    @pytest.mark.parametrize("opens", DURABLE)
    @pytest.mark.parametrize("name", [".", "ledger.lock", "ledger.db", "claims"])
    def test_a_symbolic_link_is_refused(self, opens: OpensStores, tmp_path: Path, name: str) -> None:
        elsewhere = tmp_path / "elsewhere"
        opens(elsewhere).close()
        folder = tmp_path / "folder"
        if name == ".":
            folder.symlink_to(elsewhere)
        else:
            folder.mkdir()
            (folder / name).symlink_to(elsewhere / name)

        with pytest.raises(StoreError):
            opens(folder).reserve(draft(1))


class TestOneFolderOneLedger:
    """The ledger belongs to the folder and not to its path: by two paths it is one, and its locks are."""

    @pytest.mark.parametrize("kind", ["sqlite", "claims"])
    def test_a_request_is_known_by_another_path(self, tmp_path: Path, kind: str) -> None:
        folder = tmp_path / "runs"
        opens = {"sqlite": opens_sqlite, "claims": opens_claims}[kind]
        store = opens(folder)
        first = started(store.reserve(draft(1)))
        told = second_path(folder, RESERVES.format(kind=kind))

        assert ("Replay\n", "") == (told.stdout, told.stderr)
        assert (first,) == store.attempts(key("entry-1"))
        store.close()

    def test_a_turn_is_one_turn_by_another_path(self, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        script = (
            "import sys\nfrom pathlib import Path\nfrom surehand.shell.locks import Gate, LockTimeoutError\n"
            "try:\n    with Gate(Path(sys.argv[1]) / 'ledger.lock', limit=0.05).turn(): print('got it')\n"
            "except LockTimeoutError: print('waited')\n"
        )
        store = SqliteStore.open(folder)
        with store.file._gate.turn():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the lock that two paths share
            held = second_path(folder, script)
        store.close()

        assert ("waited\n", "") == (held.stdout, held.stderr)


class TestDiskThatRefuses:
    """When nothing can be written, what is there can still be read, and a write is refused and not half done."""

    @pytest.mark.parametrize("opens", DURABLE)
    @pytest.mark.parametrize("closed", [True, False], ids=["closed", "in use"])
    def test_runs_are_read_and_none_is_started(self, opens: OpensStores, tmp_path: Path, closed: bool) -> None:
        store = opens(tmp_path)
        record = started(store.reserve(draft(1)))
        store.finish(record.run_id, record.owner, result_of(record, DONE))
        if closed:
            store.close()
        script = READS
        if isinstance(store, ClaimStore):
            script = READS.replace("import open_store", "import claims").replace(
                "open_store(", "claims.ClaimStore.open("
            )
        for told in run_without_writing(script, tmp_path):
            assert ("done 1 1\nstore_unavailable\n" * 2, "") == (told.stdout, told.stderr)

        again = opens(tmp_path)
        again.check_health()
        assert isinstance(again.reserve(draft(2, "entry-2")), Start)
        again.close()
        store.close()

    def test_a_new_ledger_is_refused_and_leaves_nothing(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        script = (
            "import sys\nfrom pathlib import Path\nfrom surehand.shell.store import open_store\n"
            "from surehand.shell.store.base import StoreError\n"
            "try: open_store(Path(sys.argv[1]))\nexcept StoreError as error: print(error.check.value)\n"
        )
        for told in run_without_writing(script, tmp_path):
            assert ("store_unavailable\n", "") == (told.stdout, told.stderr)

        assert set() == {path.name for path in tmp_path.iterdir()} - {"ledger.lock"}
        open_store(tmp_path).close()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_file_is_no_folder(self, opens: OpensStores, tmp_path: Path) -> None:
        (tmp_path / "runs").write_text("here first")

        with pytest.raises(StoreUnavailableError):
            opens(tmp_path / "runs")
        with pytest.raises(StoreUnavailableError):
            opens(tmp_path / "runs" / "surehand")
        assert "here first" == (tmp_path / "runs").read_text()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_network_file_system_is_refused_by_name(
        self, opens: OpensStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_file_system_number", _nfs)

        with pytest.raises(StoreUnavailableError) as caught:
            opens(tmp_path)
        assert isinstance(caught.value.__cause__, files.NetworkFileSystemError)
        assert "nfs" == caught.value.__cause__.name

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_ledger_that_was_removed_is_not_gone_on_with(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        store = opens(folder)
        record = started(store.reserve(draft(1)))
        folder.rename(tmp_path / "moved away")
        opens(folder).close()

        assert not _may_write(store, record)
        store.close()

    def test_a_file_that_was_taken_away_is_not_written(self, tmp_path: Path) -> None:
        store = opens_sqlite(tmp_path)
        record = started(store.reserve(draft(1)))
        (tmp_path / "ledger.db").rename(tmp_path / "moved away")

        with pytest.raises(StoreUnavailableError):
            store.begin_delivery(record.run_id, record.owner)
        store.close()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_ledger_that_was_taken_away_is_not_read(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        store = opens(folder)
        started(store.reserve(draft(1)))
        folder.rename(tmp_path / "moved away")

        with pytest.raises(StoreUnavailableError):
            store.load(run_id(1))
        store.close()


def _nfs(_: Path) -> int:
    return 0x6969


def _may_write(store: RunStore, record: RunRecord) -> bool:
    """Whether the store lets a run write; an error does not, and neither does not knowing the run."""
    try:
        return store.begin_delivery(record.run_id, record.owner)
    except StoreError:
        return False


class TestKinds:
    """One folder has one kind of store: SQLite, or claim files where SQLite cannot be had, and never both."""

    def test_sqlite_is_the_default(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)

        assert isinstance(store, SqliteStore)
        store.close()

    def test_sqlite_refuses_a_folder_of_claims(self, tmp_path: Path) -> None:
        ClaimStore.open(tmp_path).close()

        with pytest.raises(StoreOfOtherKindError):
            SqliteStore.open(tmp_path)
        assert not (tmp_path / "ledger.db").exists()

    def test_a_folder_of_claims_stays_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("surehand.shell.store.sqlite_file._LOG", ("memory",))
            with closing(open_store(tmp_path)) as store:
                store.reserve(draft(1))
        with closing(open_store(tmp_path)) as store:
            assert isinstance(store, ClaimStore)
            assert isinstance(store.reserve(draft(2)), Replay)

    def test_claims_refuse_a_folder_of_sqlite(self, tmp_path: Path) -> None:
        SqliteStore.open(tmp_path).close()

        with pytest.raises(StoreOfOtherKindError):
            ClaimStore.open(tmp_path)
        assert not (tmp_path / "claims").exists()

    def test_a_python_without_sqlite_keeps_claims(self, tmp_path: Path) -> None:
        script = (
            "import sys\nsys.modules['sqlite3'] = None\nfrom pathlib import Path\n"
            "from surehand.shell.store import open_store\nprint(type(open_store(Path(sys.argv[1]))).__name__)\n"
        )
        told = run_python(script, tmp_path)

        assert ("ClaimStore\n", "") == (told.stdout, told.stderr)

    def test_a_file_system_that_sqlite_cannot_use_keeps_claims(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("surehand.shell.store.sqlite_file._LOG", ("memory",))
        store = open_store(tmp_path)

        assert isinstance(store, ClaimStore)
        assert [] == [path for path in tmp_path.iterdir() if path.name.startswith((".ledger-", "ledger.db"))]
        store.close()

    def test_a_ledger_is_never_passed_over_for_claims(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        SqliteStore.open(tmp_path).close()
        monkeypatch.setattr("surehand.shell.store.sqlite_file._LOG", ("memory",))

        with pytest.raises(StoreError):
            open_store(tmp_path).reserve(draft(1))
        assert not (tmp_path / "claims").exists()


class TestKilledWriters:
    """What a store answered is there after its process was killed."""

    @pytest.mark.parametrize("kind", ["sqlite", "claims"])
    def test_every_answered_reservation_is_there(self, tmp_path: Path, kind: str) -> None:
        script = (
            "import sys\nfrom pathlib import Path\nfrom support.stores import draft\n"
            f"from support.stores import opens_{kind} as opens\nstore = opens(Path(sys.argv[1]))\n"
            "for number in range(1, 100000):\n"
            "    store.reserve(draft(number, f'entry-{number}'))\n"
            "    store.begin_delivery(f'run_{number:032x}', 'a' * 32)\n"
            "    print(number, flush=True)\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        with subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
        ) as writer:
            assert writer.stdout is not None
            told = [int(writer.stdout.readline()) for _ in range(40)]
            writer.send_signal(signal.SIGKILL)
            told += [int(line) for line in writer.stdout if line.endswith("\n")]
        store = {"sqlite": opens_sqlite, "claims": opens_claims}[kind](tmp_path)
        store.check_health()
        for number in told:
            decision = store.reserve(draft(10**6 + number, f"entry-{number}"))

            assert isinstance(decision, Replay)
            assert (run_id(number), Phase.DELIVERING) == (decision.record.run_id, decision.record.phase)
        store.close()
