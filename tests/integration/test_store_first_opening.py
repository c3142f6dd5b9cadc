"""A folder that several processes open for the first time, at the same moment."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.new_folder import PLACE, opens_a_new_folder
from support.stores import MEMORY_DISK, Race, opens_sqlite, race
from surehand.shell.store.base import StoreRestoredError
from surehand.shell.store.seal import Seal, SealFile
from surehand.shell.store.sqlite_file import ledger_of


def _misses(times: int) -> Callable[[SealFile], Seal | None]:
    """A look at the seal that comes so many times before the seal was written."""
    real = SealFile.read
    left = [times]

    def read(seal: SealFile) -> Seal | None:
        left[0] -= 1
        return None if left[0] >= 0 else real(seal)

    return read


class TestALedgerThatIsSealedWhileItIsOpened:
    """It is the one that goes on: a seal that was not there yet is looked at again. One that stays away is missed."""

    def test_it_is_opened(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opens_sqlite(tmp_path).close()
        monkeypatch.setattr(SealFile, "read", _misses(1))

        with closing(opens_sqlite(tmp_path)) as store:
            assert store.recent(1) == ()

    def test_a_ledger_without_its_seal_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opens_sqlite(tmp_path).close()
        monkeypatch.setattr(SealFile, "read", _misses(1000))

        with pytest.raises(StoreRestoredError):
            opens_sqlite(tmp_path)

    def test_a_ledger_that_another_sealed_meanwhile_keeps_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opens_sqlite(tmp_path).close()
        sealed = (tmp_path / "ledger.seal").read_bytes()
        left = iter([("", 0, 0)])

        def not_yet(link: sqlite3.Connection) -> tuple[str, int, int]:
            return next(left, None) or ledger_of(link)

        monkeypatch.setattr("surehand.shell.store.sqlite_file.ledger_of", not_yet)

        opens_sqlite(tmp_path).close()
        assert sealed == (tmp_path / "ledger.seal").read_bytes()


class TestManyProcessesOpenANewFolder:
    """All of them get the same store, and one of them the reservation."""

    def test_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with TemporaryDirectory(dir=MEMORY_DISK) as place:
            monkeypatch.setenv(PLACE, place)

            rounds = race(Race(opens_sqlite, Path(place), opens_a_new_folder, 20), 4)

        for moves in rounds:
            assert ["Replay", "Replay", "Replay", "Start"] == sorted(move.answer for move in moves)
