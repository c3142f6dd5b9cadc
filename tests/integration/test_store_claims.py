"""Claim files that are damaged, of a newer layout, or left half made by a process that died."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.stores import BROKEN, DONE, draft, key, refusal, result_of, run_id, started
from surehand.core.outcome.evidence import OwnerGone, Phase
from surehand.core.request.gate import Replay, Start
from surehand.core.request.record import RunRecord
from surehand.shell import files
from surehand.shell.store.base import StoreCorruptError, StoreNewerError, StoreUnavailableError
from surehand.shell.store.claims import ClaimStore

FIRST, SECOND, THIRD = run_id(1), run_id(2), run_id(3)

#: Damages to a folder in which entry 1 was saved in its second attempt, and entry 3 is reserved.
DAMAGES: dict[str, Callable[[Path], object]] = {
    "reservation emptied": lambda claims: (claims / "runs" / f"{SECOND}.0").write_bytes(b""),
    "reservation cut": lambda claims: (claims / "runs" / f"{SECOND}.0").write_bytes(b'{"run_id": "run_'),
    "reservation of text": lambda claims: (claims / "runs" / f"{SECOND}.0").write_text("saved, all good"),
    "reservation without a member": lambda claims: (claims / "runs" / f"{SECOND}.0").write_text("{}"),
    "reservation too deep": lambda claims: (claims / "runs" / f"{SECOND}.0").write_text("[" * 100_000),
    "first attempt missing": lambda claims: (claims / "attempts" / f"{key('entry-1')}:1").unlink(),
    "end emptied": lambda claims: (claims / "runs" / f"{SECOND}.2").write_bytes(b""),
    "end of an unknown phase": lambda claims: (claims / "runs" / f"{SECOND}.2").write_text('{"phase": "saved"}'),
    "end without a result": lambda claims: (claims / "runs" / f"{SECOND}.2").write_text('{"phase": "finished"}'),
    "result before the end": lambda claims: (claims / "runs" / f"{SECOND}.2").write_text(
        '{"phase": "delivering", "result": "{}"}'
    ),
}


def filled(folder: Path) -> None:
    """Entry 1 was broken off once and then saved; entry 3 is reserved."""
    store = ClaimStore.open(folder)
    for number, end in ((1, BROKEN), (2, DONE)):
        record = started(store.reserve(draft(number, "entry-1")))
        store.begin_delivery(record.run_id, record.owner)
        store.finish(record.run_id, record.owner, result_of(record, end))
    store.reserve(draft(3, "entry-3"))
    store.close()


class TestDamage:
    """Corrupt is not absent: a request whose claims are damaged is not started again, and they are kept."""

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_a_damaged_request_is_refused_and_kept(self, tmp_path: Path, damage: str) -> None:
        filled(tmp_path)
        DAMAGES[damage](tmp_path / "claims")
        before = {path: path.read_bytes() for path in (tmp_path / "claims").rglob("*") if path.is_file()}
        store = ClaimStore.open(tmp_path)
        with pytest.raises(StoreCorruptError):
            store.reserve(draft(9, "entry-1"))
        with pytest.raises(StoreCorruptError):
            store.check_health()

        assert before == {path: path.read_bytes() for path in (tmp_path / "claims").rglob("*") if path.is_file()}
        assert isinstance(store.reserve(draft(10, "entry-3")), Replay)
        store.close()

    def test_a_run_under_another_name_is_found_out(self, tmp_path: Path) -> None:
        filled(tmp_path)
        (tmp_path / "claims" / "runs" / f"{SECOND}.0").replace(tmp_path / "claims" / "runs" / f"{THIRD}.0")
        (tmp_path / "claims" / "attempts" / f"{key('entry-3')}:1").replace(
            tmp_path / "claims" / "attempts" / f"{key('entry-9')}:1"
        )
        store = ClaimStore.open(tmp_path)
        with pytest.raises(StoreCorruptError):
            store.load(THIRD)
        with pytest.raises(StoreCorruptError):
            store.check_health()
        store.close()

    @pytest.mark.parametrize(
        ("layout", "error"),
        [(b"", StoreCorruptError), (b"x", StoreCorruptError), (b"-1", StoreCorruptError), (b"999", StoreNewerError)],
    )
    def test_another_layout_is_refused_and_kept(self, tmp_path: Path, layout: bytes, error: type[Exception]) -> None:
        filled(tmp_path)
        (tmp_path / "claims" / "layout").write_bytes(layout)

        with pytest.raises(error):
            ClaimStore.open(tmp_path)
        assert layout == (tmp_path / "claims" / "layout").read_bytes()

    def test_claims_without_their_layout_are_refused(self, tmp_path: Path) -> None:
        filled(tmp_path)
        (tmp_path / "claims" / "layout").unlink()

        with pytest.raises(StoreCorruptError):
            ClaimStore.open(tmp_path)

    @pytest.mark.parametrize("name", ["runs", "attempts", "order"])
    def test_a_missing_folder_is_refused(self, tmp_path: Path, name: str) -> None:
        filled(tmp_path)
        (tmp_path / "claims" / name).rename(tmp_path / "elsewhere")

        with pytest.raises(StoreCorruptError):
            ClaimStore.open(tmp_path)


class TestHalfMade:
    """A reservation counts from the moment when its attempt has its name; what came before is nobody's run."""

    def test_a_reservation_that_never_got_its_name_is_no_run(self, tmp_path: Path) -> None:
        filled(tmp_path)
        (tmp_path / "claims" / "attempts" / f"{key('entry-3')}:1").unlink()
        store = ClaimStore.open(tmp_path)

        assert store.load(THIRD) is None
        assert [] == list(store.unfinished())
        assert [SECOND, FIRST] == [record.run_id for record in store.recent(5)]
        assert not store.begin_delivery(THIRD, draft(3).owner)
        assert isinstance(store.reserve(draft(9, "entry-3")), Start)
        store.close()

    def test_reading_only_writes_nothing(self, tmp_path: Path) -> None:
        filled(tmp_path)
        store = ClaimStore.open(tmp_path, read_only=True)
        with pytest.raises(StoreUnavailableError):
            store.reserve(draft(9, "entry-9"))
        with pytest.raises(StoreUnavailableError):
            ClaimStore.open(tmp_path / "nothing here", read_only=True)

        assert store.load(THIRD) is not None
        assert not (tmp_path / "nothing here").exists()
        store.close()


#: The moves of a reserved run that are flushed.
MOVES: dict[str, Callable[[ClaimStore, RunRecord], bool]] = {
    "begin_delivery": lambda store, record: store.begin_delivery(record.run_id, record.owner),
    "finish": lambda store, record: store.finish(record.run_id, record.owner, result_of(record, DONE)),
    "settle_owner_gone": lambda store, record: store.settle_owner_gone(record, result_of(record, BROKEN)),
    "note_late": lambda store, record: store.note_late(record.run_id, record.owner, result_of(record, DONE)),
}


def folder_number(folder: Path, name: str) -> int:
    """The number of a folder of claims."""
    return (folder / "claims" / name).stat().st_ino


def names_in(folder: Path, name: str) -> list[str]:
    """What lies in a folder of claims."""
    return sorted(path.name for path in (folder / "claims" / name).iterdir())


def after(first: Callable[[], object], then: Callable[..., bool]) -> Callable[..., bool]:
    """What does something else first, once, and then what it should."""
    waiting = [first]

    def call(*arguments: object, **named: object) -> bool:
        while waiting:
            waiting.pop()()
        return then(*arguments, **named)

    return call


class TestWhoComesSecond:
    """Who finds that another process was first lets it be decided again, and leaves nothing behind."""

    def test_a_request_that_was_reserved_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(ClaimStore.open(tmp_path)) as first, closing(ClaimStore.open(tmp_path)) as second:
            links = after(lambda: first.reserve(draft(1)), files.link_exclusively)
            monkeypatch.setattr("surehand.shell.store.claims.link_exclusively", links)
            decision = second.reserve(draft(2))

            assert isinstance(decision, Replay)
            assert run_id(1) == decision.record.run_id
            assert [run_id(1)] == [record.run_id for record in second.recent(5)]
            assert [f"{run_id(1)}.0"] == names_in(tmp_path, "runs")
            assert 1 == len(names_in(tmp_path, "order"))

    def test_a_run_id_that_was_used_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(ClaimStore.open(tmp_path)) as first, closing(ClaimStore.open(tmp_path)) as second:
            writes = after(lambda: first.reserve(draft(1)), files.write_durably)
            monkeypatch.setattr("surehand.shell.store.claims.write_durably", writes)
            with pytest.raises(ValueError, match="used before"):
                second.reserve(draft(1, "entry-2"))

            assert [1] == [record.attempt for record in second.attempts(key("entry-1"))]
            assert () == second.attempts(key("entry-2"))

    def test_a_run_that_was_settled_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(ClaimStore.open(tmp_path)) as owner, closing(ClaimStore.open(tmp_path)) as sweeper:
            record = started(owner.reserve(draft(1)))
            gone = result_of(record, OwnerGone(Phase.RESERVED, journaled=True))
            writes = after(lambda: sweeper.settle_owner_gone(record, gone), files.write_durably)
            monkeypatch.setattr("surehand.shell.store.claims.write_durably", writes)

            assert not owner.begin_delivery(record.run_id, record.owner)
            kept = owner.load(record.run_id)
            assert (Phase.FINISHED, gone) == (kept and kept.phase, kept and kept.result)

    def test_a_run_that_was_started_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(ClaimStore.open(tmp_path)) as one, closing(ClaimStore.open(tmp_path)) as other:
            record = started(one.reserve(draft(1)))
            writes = after(lambda: one.mark_started(record.run_id, record.owner), files.write_durably)
            monkeypatch.setattr("surehand.shell.store.claims.write_durably", writes)

            assert other.begin_delivery(record.run_id, record.owner)
            assert [f"{run_id(1)}.{move}" for move in range(3)] == names_in(tmp_path, "runs")

    def test_a_settlement_of_a_run_that_was_started_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with closing(ClaimStore.open(tmp_path)) as owner, closing(ClaimStore.open(tmp_path)) as sweeper:
            record = started(owner.reserve(draft(1)))
            gone = result_of(record, OwnerGone(Phase.RESERVED, journaled=True))
            writes = after(lambda: owner.mark_started(record.run_id, record.owner), files.write_durably)
            monkeypatch.setattr("surehand.shell.store.claims.write_durably", writes)

            assert not sweeper.settle_owner_gone(record, gone)
            assert owner.begin_delivery(record.run_id, record.owner)


class TestFlushes:
    """Every name is on disk before a call is answered; only the start of a journaled run need not be."""

    @pytest.fixture
    def flushed(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The numbers of the files and folders that were flushed, in their order."""
        numbers: list[int] = []
        flush = os.fsync

        def noted(descriptor: int) -> None:
            numbers.append(os.fstat(descriptor).st_ino)
            flush(descriptor)

        monkeypatch.setattr(os, "fsync", noted)
        return numbers

    def test_a_reservation_ends_with_the_name_of_its_attempt(self, tmp_path: Path, flushed: list[int]) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            flushed.clear()
            started(store.reserve(draft(1)))

        runs, order, attempts = (folder_number(tmp_path, name) for name in ("runs", "order", "attempts"))
        assert [runs, order, attempts] == [number for number in flushed if number in {runs, order, attempts}]

    def test_a_refusal_is_in_the_order(self, tmp_path: Path, flushed: list[int]) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            flushed.clear()
            store.record_refusal(refusal(1))

        assert folder_number(tmp_path, "order") == flushed[-1]

    @pytest.mark.parametrize(("journaled", "names"), [(True, 0), (False, 1)])
    def test_a_start(self, tmp_path: Path, flushed: list[int], journaled: bool, names: int) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1, journaled=journaled)))
            flushed.clear()
            store.mark_started(record.run_id, record.owner)

        assert names == flushed.count(folder_number(tmp_path, "runs"))

    @pytest.mark.parametrize("journaled", [True, False])
    @pytest.mark.parametrize("move", ["begin_delivery", "finish", "settle_owner_gone", "note_late"])
    def test_every_other_move(self, tmp_path: Path, flushed: list[int], journaled: bool, move: str) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            record = started(store.reserve(draft(1, journaled=journaled)))
            if move == "note_late":
                store.settle_owner_gone(record, result_of(record, BROKEN))
            flushed.clear()

            assert MOVES[move](store, record)
        assert folder_number(tmp_path, "runs") == flushed[-1]
