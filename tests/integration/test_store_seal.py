"""The seal by itself: what it says, what is left of it when it was damaged, and what it cannot hinder."""

import os
from pathlib import Path

import pytest

from surehand.shell.store.base import StoreCorruptError
from surehand.shell.store.seal import Seal, SealFile

NAME, OTHER = "a" * 32, "b" * 32

#: What one sector of a disk holds, and what is written at once.
SECTOR = 512


@pytest.fixture
def sealed(tmp_path: Path) -> SealFile:
    """A file with a new seal in epoch 3."""
    (tmp_path / "ledger.db").touch()
    seal = SealFile(tmp_path / "ledger.db")
    seal.write(NAME, 3, 0)
    return seal


def said(seal: SealFile) -> Seal:
    """What a seal says that is there."""
    found = seal.read()
    assert found is not None
    return found


class TestWhatItSays:
    """A seal says its name, its epoch and the highest count that was written under this name."""

    def test_each_count_in_its_turn(self, sealed: SealFile) -> None:
        counts = [0]
        for count in (1, 2, 3, 40):
            sealed.count(NAME, count)
            counts.append(said(sealed).count)

        assert [0, 1, 2, 3, 40] == counts
        assert (NAME, 3) == (said(sealed).name, said(sealed).epoch)

    def test_a_count_of_another_epoch_is_none(self, sealed: SealFile) -> None:
        sealed.count(OTHER, 7)

        assert 0 == said(sealed).count

    def test_it_is_three_sectors_and_stays_so(self, sealed: SealFile, tmp_path: Path) -> None:
        sealed.count(NAME, 1)
        sealed.count(NAME, 2)

        assert 3 * SECTOR == (tmp_path / "ledger.seal").stat().st_size

    @pytest.mark.parametrize(("sector", "left"), [(1, 1), (2, 2)])
    def test_one_damaged_count_leaves_the_other(self, sealed: SealFile, tmp_path: Path, sector: int, left: int) -> None:
        sealed.count(NAME, 1)
        sealed.count(NAME, 2)
        content = bytearray((tmp_path / "ledger.seal").read_bytes())
        content[sector * SECTOR : (sector + 1) * SECTOR] = bytes(SECTOR)
        (tmp_path / "ledger.seal").write_bytes(content)

        assert left == said(sealed).count

    def test_it_belongs_to_no_other_file_of_the_same_name(self, sealed: SealFile, tmp_path: Path) -> None:
        assert sealed.belongs(said(sealed))
        (tmp_path / "ledger.db").rename(tmp_path / "elsewhere")
        (tmp_path / "ledger.db").touch()

        assert not sealed.belongs(said(sealed))


class TestWhatItCannotHinder:
    """A count that cannot be written is left behind, and a seal that cannot be read is in no epoch."""

    def test_a_count_without_a_seal(self, tmp_path: Path) -> None:
        SealFile(tmp_path / "ledger.db").count(NAME, 1)

        assert [] == list(tmp_path.iterdir())

    def test_a_count_that_the_disk_refuses(self, sealed: SealFile, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuses(*_: object) -> int:
            raise OSError

        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", refuses)
            sealed.count(NAME, 1)

        assert 0 == said(sealed).count

    def test_no_epoch_without_a_seal_and_of_a_damaged_one(self, sealed: SealFile, tmp_path: Path) -> None:
        assert 3 == sealed.epoch()
        (tmp_path / "ledger.seal").write_bytes(b"damaged")
        assert 0 == sealed.epoch()
        with pytest.raises(StoreCorruptError):
            sealed.read()
        (tmp_path / "ledger.seal").unlink()

        assert 0 == sealed.epoch()
        assert sealed.read() is None

    def test_neither_counting_nor_noting_leaves_a_file_open(self, sealed: SealFile) -> None:
        before = sorted(Path("/proc/self/fd").iterdir())
        sealed.count(NAME, 1)
        sealed.note("0" * 64)

        assert before == sorted(Path("/proc/self/fd").iterdir())


class TestNotes:
    """A request key is noted whole or the request is not reserved; what is no key is no note."""

    def test_what_was_noted(self, sealed: SealFile, tmp_path: Path) -> None:
        assert frozenset() == sealed.noted()
        for key in ("1" * 64, "2" * 64):
            sealed.note(key)
        with (tmp_path / "ledger.keys").open("ab") as notes:
            notes.write(b"\n" + b"3" * 20)
        sealed.note("4" * 64)

        assert {"1" * 64, "2" * 64, "4" * 64} == sealed.noted()

    def test_a_note_that_was_cut_short_is_an_error(self, sealed: SealFile, monkeypatch: pytest.MonkeyPatch) -> None:
        write = os.write

        def cut_short(descriptor: int, content: bytes) -> int:
            return write(descriptor, content[:-1])

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", cut_short)
            with pytest.raises(OSError, match="cut short"):
                sealed.note("1" * 64)

        assert frozenset() == sealed.noted()
