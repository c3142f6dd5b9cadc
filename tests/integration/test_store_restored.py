"""A ledger that was copied or restored is refused by name, and what it may have forgotten never runs again."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from support.stores import (
    BROKEN,
    DONE,
    FINGERPRINTS,
    OpensStores,
    draft,
    key,
    opens_claims,
    opens_sqlite,
    refusal,
    result_of,
    run_id,
    started,
)
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import EngineName, FailedCheck, Mode
from surehand.core.request.gate import Conflict, Decision, Replay, Start
from surehand.core.request.record import RunRecord
from surehand.shell.cli.app import surehand
from surehand.shell.clock import SYSTEM_CLOCK, SystemClock
from surehand.shell.store import open_store, sqlite_schema
from surehand.shell.store.base import (
    RunStore,
    StoreCorruptError,
    StoreError,
    StoreRestoredError,
    StoreUnavailableError,
)
from surehand.shell.store.claims import ClaimStore
from surehand.shell.store.restored import Accepted, accept_restored
from surehand.shell.store.sqlite import SqliteStore

DURABLE = [pytest.param(opens_sqlite, id="sqlite"), pytest.param(opens_claims, id="claims")]


def kind_of(opens: OpensStores) -> type[SqliteStore | ClaimStore]:
    """The class of stores that is opened so."""
    return SqliteStore if opens is opens_sqlite else ClaimStore


def holders(opens: OpensStores) -> tuple[str, ...]:
    """What holds the runs of this kind of store."""
    return ("ledger.db", "ledger.db-wal", "ledger.db-shm") if opens is opens_sqlite else ("claims",)


def accept(folder: Path, opens: OpensStores, clock: SystemClock = SYSTEM_CLOCK) -> Accepted:
    """Take the store of a folder over."""
    with closing(kind_of(opens).open(folder, restored=True)) as store:
        return accept_restored(store, clock, Mode.SANDBOX)


class Later(SystemClock):
    """A clock that stands still, long after every run of these tests."""

    NOW = 1_800_000_000

    def now(self) -> int:
        """The same second always."""
        return self.NOW


def asked(folder: Path, name: str, number: int, opens: OpensStores) -> Decision:
    """What a call with this request id is told."""
    with closing(opens(folder)) as store:
        return store.reserve(draft(number, name))


def done(folder: Path, name: str, number: int, opens: OpensStores) -> RunRecord:
    """A request that ran to its end and saved."""
    with closing(opens(folder)) as store:
        record = started(store.reserve(draft(number, name)))
        store.begin_delivery(record.run_id, record.owner)
        store.finish(record.run_id, record.owner, result_of(record, DONE))
        return record


def filled(folder: Path, opens: OpensStores) -> None:
    """A ledger with a request that saved, one that failed before it, and one that was left reserved."""
    done(folder, "saved", 1, opens)
    with closing(opens(folder)) as store:
        broken = started(store.reserve(draft(2, "broken")))
        store.finish(broken.run_id, broken.owner, result_of(broken, BROKEN))
        store.reserve(draft(3, "left"))


def restored(folder: Path, opens: OpensStores) -> None:
    """Let a request be answered after a backup of the runs was made, then put the backup back."""
    filled(folder, opens)
    backup = folder.parent / "backup"
    shutil.copytree(folder, backup)
    done(folder, "later", 4, opens)
    for name in holders(opens):
        _remove(folder / name)
        if (backup / name).is_dir():
            shutil.copytree(backup / name, folder / name)
        elif (backup / name).exists():
            shutil.copy2(backup / name, folder / name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _overwrite(folder: Path) -> None:
    """Put an older content into the very file of the ledger."""
    older = (folder / "ledger.db").read_bytes()
    done(folder, "later", 4, opens_sqlite)
    (folder / "ledger.db").write_bytes(older)


def _take_away(folder: Path) -> None:
    _remove(folder / "ledger.db")


def _bring_back_first_version(folder: Path) -> None:
    _remove(folder / "ledger.db")
    with closing(sqlite3.connect(folder / "ledger.db")) as link:
        for statement in sqlite_schema.MIGRATIONS[0]:
            link.execute(statement)
        link.execute("PRAGMA user_version = 1")
        link.execute(f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}")
        link.execute("PRAGMA journal_mode = WAL")


class TestRecognition:
    """A ledger that is not the one which went on is refused by name, and nothing is written to it."""

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_copy_is_refused_and_the_original_goes_on(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path / "original", opens)
        shutil.copytree(tmp_path / "original", tmp_path / "copy")

        with pytest.raises(StoreRestoredError) as caught:
            opens(tmp_path / "copy")
        assert FailedCheck.STORE_RESTORED is caught.value.check
        assert isinstance(asked(tmp_path / "original", "new", 9, opens), Start)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_backup_that_was_put_back_is_refused(self, opens: OpensStores, tmp_path: Path) -> None:
        restored(tmp_path / "runs", opens)

        with pytest.raises(StoreRestoredError):
            opens(tmp_path / "runs")

    @pytest.mark.parametrize("opens", DURABLE)
    def test_runs_that_were_taken_away_are_missed(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path / "runs", opens)
        for name in holders(opens):
            _remove(tmp_path / "runs" / name)

        with pytest.raises(StoreError):
            open_store(tmp_path / "runs")
        with pytest.raises(StoreRestoredError):
            opens(tmp_path / "runs")

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_ledger_that_was_never_used_may_be_gone(self, opens: OpensStores, tmp_path: Path) -> None:
        opens(tmp_path).close()
        opens(tmp_path).close()
        for name in holders(opens):
            _remove(tmp_path / name)

        assert isinstance(asked(tmp_path, "new", 1, opens), Start)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_ledger_without_its_seal_is_refused(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path / "runs", opens)
        next((tmp_path / "runs").glob("*.seal")).unlink()

        with pytest.raises(StoreRestoredError):
            opens(tmp_path / "runs")

    @pytest.mark.parametrize(
        "swap",
        [_overwrite, _bring_back_first_version, _take_away],
        ids=["older content in the same file", "first version", "no ledger"],
    )
    def test_sqlite_is_refused_after(self, swap: Callable[[Path], None], tmp_path: Path) -> None:
        filled(tmp_path, opens_sqlite)
        swap(tmp_path)

        with pytest.raises(StoreRestoredError):
            SqliteStore.open(tmp_path)

    def test_older_content_under_an_open_store_is_refused_at_the_next_change(self, tmp_path: Path) -> None:
        filled(tmp_path, opens_sqlite)
        older = (tmp_path / "ledger.db").read_bytes()
        done(tmp_path, "later", 4, opens_sqlite)
        with closing(SqliteStore.open(tmp_path)) as store:
            (tmp_path / "ledger.db").write_bytes(older)

            with pytest.raises(StoreRestoredError):
                store.reserve(draft(5, "new"))

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_folder_that_was_only_moved_is_the_same(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path / "runs", opens)
        (tmp_path / "runs").rename(tmp_path / "moved")

        assert isinstance(asked(tmp_path / "moved", "saved", 9, opens), Replay)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_copy_can_be_read(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path / "original", opens)
        shutil.copytree(tmp_path / "original", tmp_path / "copy")

        with closing(kind_of(opens).open(tmp_path / "copy", read_only=True)) as store:
            assert [run_id(3), run_id(2), run_id(1)] == [record.run_id for record in store.recent(5)]

    @pytest.mark.parametrize("opens", DURABLE)
    @pytest.mark.parametrize("content", [b"", b"0" * 1536, b"\n"], ids=["empty", "zeros", "line"])
    def test_a_damaged_seal_is_refused(self, opens: OpensStores, content: bytes, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        next(tmp_path.glob("*.seal")).write_bytes(content)

        with pytest.raises(StoreCorruptError):
            opens(tmp_path)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_count_that_was_cut_short_is_no_count(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        seal = next(tmp_path.glob("*.seal"))
        content = seal.read_bytes()
        for place in (512, 1024):
            seal.write_bytes(content[:place] + b"0" * 40 + content[place + 40 :])

            assert isinstance(asked(tmp_path, "saved", 9, opens), Replay)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_request_is_noted_once_and_before_it_is_reserved(self, opens: OpensStores, tmp_path: Path) -> None:
        with closing(opens(tmp_path)) as store:
            first = started(store.reserve(draft(1)))
            notes = next(tmp_path.glob("*.keys"))
            noted = notes.read_bytes()
            assert store.finish(first.run_id, first.owner, result_of(first, BROKEN))
            assert 2 == started(store.reserve(draft(2))).attempt

        assert f"\n{first.request_key}".encode() == noted == notes.read_bytes()

    def test_only_a_flushed_change_is_counted_on_the_seal(self, tmp_path: Path) -> None:
        with closing(opens_sqlite(tmp_path)) as store:
            record = started(store.reserve(draft(1)))
            store.reserve(draft(2, "entry-2"))
            store.reserve(draft(3, "entry-3"))
            sealed = (tmp_path / "ledger.seal").read_bytes()

            assert store.mark_started(record.run_id, record.owner)
            assert sealed == (tmp_path / "ledger.seal").read_bytes()
            assert store.begin_delivery(record.run_id, record.owner)
            assert sealed != (tmp_path / "ledger.seal").read_bytes()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_store_that_is_taken_over_keeps_seal_and_notes_until_its_epoch_begins(
        self, opens: OpensStores, tmp_path: Path
    ) -> None:
        filled(tmp_path, opens)
        beside = [next(tmp_path.glob(name)) for name in ("*.seal", "*.keys")]
        kept = [path.read_bytes() for path in beside]
        with closing(kind_of(opens).open(tmp_path, restored=True)) as store:
            started(store.reserve(draft(9, "entry-9")))

            assert kept == [path.read_bytes() for path in beside]
            store.begin_epoch()
            assert kept[0] != beside[0].read_bytes()


class TestFirstVersions:
    """A store from before there were seals is sealed at the first opening."""

    def test_sqlite(self, tmp_path: Path) -> None:
        SqliteStore.open(tmp_path / "new").close()
        shutil.rmtree(tmp_path / "new")
        tmp_path.joinpath("old").mkdir()
        _bring_back_first_version(tmp_path / "old")

        assert isinstance(asked(tmp_path / "old", "new", 1, opens_sqlite), Start)
        shutil.copytree(tmp_path / "old", tmp_path / "copy")
        with pytest.raises(StoreRestoredError):
            SqliteStore.open(tmp_path / "copy")

    def test_claims(self, tmp_path: Path) -> None:
        filled(tmp_path / "old", opens_claims)
        (tmp_path / "old" / "claims" / "layout").write_bytes(b"1")
        (tmp_path / "old" / "claims.seal").unlink()

        assert isinstance(asked(tmp_path / "old", "saved", 9, opens_claims), Replay)
        assert "1" == (tmp_path / "old" / "claims" / "layout").read_text().split(" ")[2]
        shutil.copytree(tmp_path / "old", tmp_path / "copy")
        with pytest.raises(StoreRestoredError):
            ClaimStore.open(tmp_path / "copy", read_only=False)


class TestTakingOver:
    """After a restored ledger was taken over, no request of the time before it runs again."""

    @pytest.mark.parametrize("opens", DURABLE)
    def test_requests_of_before_are_answered_and_never_run(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        accepted = accept(folder, opens)

        assert (2, 2, 1) == (accepted.epoch, accepted.known, accepted.lost)
        told = {name: asked(folder, name, 9, opens) for name in ("saved", "broken", "left", "later")}
        assert {Replay} == {type(decision) for decision in told.values()}
        outcomes = {name: decision.record.result.outcome for name, decision in told.items() if decision.record.result}
        doubt = Outcome.NOT_SURE_IF_SAVED
        assert {"saved": Outcome.DONE, "broken": doubt, "left": doubt, "later": doubt} == outcomes
        assert isinstance(asked(folder, "new", 10, opens), Start)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_what_was_answered_stays(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        with closing(kind_of(opens).open(folder, read_only=True)) as store:
            before = [store.load(run_id(number)) for number in (1, 2)]
        accept(folder, opens)

        with closing(opens(folder)) as store:
            assert before == [store.load(run_id(number)) for number in (1, 2)]
            store.check_health()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_request_that_was_only_refused_may_still_run(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        with closing(opens(tmp_path)) as store:
            store.record_refusal(refusal(8, "refused"))

        accepted = accept(tmp_path, opens)

        assert (2, 2, 0) == (accepted.epoch, accepted.known, accepted.lost)
        assert isinstance(asked(tmp_path, "refused", 9, opens), Start)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_the_last_answer_is_of_now_of_no_engine_and_of_nobody_who_ran_before(
        self, opens: OpensStores, tmp_path: Path
    ) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        accept(folder, opens, Later())
        with closing(opens(folder)) as store:
            broken, later = store.attempts(key("broken"))[-1], store.attempts(key("later"))[-1]

        owners = {broken.owner, later.owner}
        assert 2 == len(owners - {"", draft(2).owner})
        assert [Later.NOW] * 2 == [record.created_at for record in (broken, later)]
        told = [record.result for record in (broken, later) if record.result is not None]
        assert [(EngineName.NONE, Mode.SANDBOX, (FailedCheck.STORE_RESTORED,))] * 2 == [
            (result.engine, result.mode, result.failed_checks) for result in told
        ]

    @pytest.mark.parametrize("opens", DURABLE)
    def test_of_a_request_that_only_a_note_knows_nothing_is_kept_but_its_key_and_its_answer(
        self, opens: OpensStores, tmp_path: Path
    ) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        accept(folder, opens, Later())
        with closing(opens(folder)) as store:
            (later,) = store.attempts(key("later"))

        assert later == RunRecord(
            run_id=later.run_id,
            request_key=key("later"),
            attempt=1,
            workflow=None,
            fingerprint="",
            owner=later.owner,
            journaled=True,
            phase=Phase.FINISHED,
            created_at=Later.NOW,
            result=later.result,
        )

    @pytest.mark.parametrize("opens", DURABLE)
    def test_it_is_not_taken_over_while_somebody_else_ends_its_runs(
        self, opens: OpensStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        with monkeypatch.context() as patched:
            for kind in (SqliteStore, ClaimStore):
                patched.setattr(kind, "finish", _ended_by_another)
            with pytest.raises(StoreUnavailableError):
                accept(folder, opens)

        with pytest.raises(StoreRestoredError):
            opens(folder)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_other_inputs_under_a_known_request_are_a_conflict(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        accept(folder, opens)
        with closing(opens(folder)) as store:
            assert isinstance(store.reserve(draft(9, "saved", fingerprint=FINGERPRINTS[1])), Conflict)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_ledger_that_is_gone_keeps_its_requests(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        for name in holders(opens):
            _remove(tmp_path / name)
        accepted = accept(tmp_path, opens)

        assert (2, 0, 3) == (accepted.epoch, accepted.known, accepted.lost)
        assert isinstance(asked(tmp_path, "saved", 9, opens), Replay)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_of_two_that_take_it_over_each_begins_an_epoch(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        with (
            closing(kind_of(opens).open(tmp_path, restored=True)) as one,
            closing(kind_of(opens).open(tmp_path, restored=True)) as other,
        ):
            assert 2 == one.begin_epoch()
            assert isinstance(other.reserve(draft(9, "saved")), Replay)
            assert isinstance(other.reserve(draft(10, "new")), Start)
            assert 3 == other.begin_epoch()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_damaged_seal_hinders_neither_reading_nor_taking_over(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        next(tmp_path.glob("*.seal")).write_bytes(b"damaged")
        with closing(kind_of(opens).open(tmp_path, read_only=True)) as store:
            assert store.load(run_id(1)) is not None

        assert 2 == accept(tmp_path, opens).epoch
        assert isinstance(asked(tmp_path, "saved", 9, opens), Replay)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_the_same_backup_is_refused_again(self, opens: OpensStores, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        accept(folder, opens)
        done(folder, "after", 20, opens)
        for name in holders(opens):
            _remove(folder / name)
            source = tmp_path / "backup" / name
            if source.exists():
                (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)

        with pytest.raises(StoreRestoredError):
            opens(folder)
        assert 3 == accept(folder, opens).epoch
        assert isinstance(asked(folder, "after", 21, opens), Replay)

    @pytest.mark.parametrize("opens", DURABLE)
    def test_who_had_it_open_is_cut_off(self, opens: OpensStores, tmp_path: Path) -> None:
        filled(tmp_path, opens)
        with closing(opens(tmp_path)) as store:
            record = started(store.reserve(draft(7, "cut-off")))
            accept(tmp_path, opens)

            assert not _passes(store, record)
            with pytest.raises(StoreRestoredError):
                store.reserve(draft(8, "new"))

    @pytest.mark.parametrize("opens", DURABLE)
    def test_it_can_be_repeated_when_it_was_cut_short(
        self, opens: OpensStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens)
        with monkeypatch.context() as patched:
            for kind in (SqliteStore, ClaimStore):
                patched.setattr(kind, "begin_epoch", _fail)
            with pytest.raises(StoreError):
                accept(folder, opens)
        with pytest.raises(StoreRestoredError):
            opens(folder)

        assert 0 == accept(folder, opens).known
        assert isinstance(asked(folder, "later", 9, opens), Replay)

    def test_a_name_that_lags_behind_its_seal_stays_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "runs"
        restored(folder, opens_sqlite)
        with closing(SqliteStore.open(folder, restored=True)) as store, monkeypatch.context() as patched:
            patched.setattr("surehand.shell.store.sqlite_file._commit", _fail_to_commit)
            with pytest.raises(StoreError):
                store.begin_epoch()

        with pytest.raises(StoreRestoredError):
            SqliteStore.open(folder)

    def test_an_unfinished_run_of_a_known_phase_is_closed_as_doubtful(self, tmp_path: Path) -> None:
        restored(tmp_path / "runs", opens_sqlite)
        accept(tmp_path / "runs", opens_sqlite)
        with closing(SqliteStore.open(tmp_path / "runs")) as store:
            left = store.load(run_id(3))

        assert left is not None
        assert left.result is not None
        assert evolve(draft(3, "left"), attempt=1, phase=Phase.FINISHED, result=left.result) == left
        assert (FailedCheck.STORE_RESTORED,) == left.result.failed_checks


def _passes(store: RunStore, record: RunRecord) -> bool:
    """Whether a run may write; a store that refuses does not let it."""
    try:
        return store.begin_delivery(record.run_id, record.owner)
    except StoreRestoredError:
        return False


def _ended_by_another(*_: object) -> bool:
    return False


def _fail(_: object) -> int:
    raise StoreError


def _fail_to_commit(_: sqlite3.Connection) -> None:
    raise sqlite3.OperationalError("disk I/O error")


class TestCommand:
    """An operator is told that the store was restored, and can take it over."""

    def test_the_store_is_refused_until_it_is_taken_over(self, tmp_path: Path) -> None:
        restored(tmp_path / "surehand", opens_sqlite)
        runs_dir = ["--runs-dir", str(tmp_path)]
        shown = CliRunner().invoke(surehand, ["runs", "show", run_id(1), *runs_dir])
        declined = CliRunner().invoke(surehand, ["runs", "accept-restored", *runs_dir], input="n\n")
        taken = CliRunner().invoke(surehand, ["runs", "accept-restored", "--yes", "--json", *runs_dir])
        again = CliRunner().invoke(surehand, ["runs", "show", run_id(1), *runs_dir])

        assert "store_restored" in shown.output
        assert 1 == declined.exit_code
        assert (0, {"epoch": 2, "closed": 2, "lost": 1}) == (taken.exit_code, json.loads(taken.output))
        assert 0 == again.exit_code

    def test_a_store_that_refuses_for_another_reason_is_not_taken_over(self, tmp_path: Path) -> None:
        (tmp_path / "surehand").mkdir()
        (tmp_path / "surehand" / "ledger.db").write_bytes(b"not a ledger")
        told = CliRunner().invoke(surehand, ["runs", "accept-restored", "--yes", "--runs-dir", str(tmp_path)])

        assert (1, True) == (told.exit_code, "store_corrupt" in told.output)
