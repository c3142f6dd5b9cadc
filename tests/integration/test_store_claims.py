"""Claim files that are damaged, of a newer layout, or left half made by a process that died."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.stores import BROKEN, DONE, draft, key, result_of, run_id, started
from surehand.core.request.gate import Replay, Start
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
