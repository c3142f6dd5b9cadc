"""The seal of a ledger: what stands beside it and tells a copied or restored ledger from the one that went on.

Laws of this module:

- The seal names the one file that it belongs to and the ledger's random name. A copy is another file; an older backup
  has another name or a lower count.
- A count is written after the change that it counts is on disk. So it may lag behind the ledger, and a ledger that lags
  behind its count is not the one that went on.
- A request key is noted before its reservation counts. A note too many forbids a retry; a note too few could allow one.
- Counts and notes are not flushed: they cost no commit. A power cut may take the last of them, and then takes them all.
"""

import os
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from attrs import frozen

from surehand.shell.files import UnsafeFileError, file_identity, open_private, read_private, write_durably
from surehand.shell.store.base import StoreCorruptError, StoreRestoredError

#: The seal is one block for what stays and two for the count, written by turns, so that one of them is whole.
_BLOCK: Final = 512
_LASTING: Final = re.compile(r"([0-9a-f]{32}) ([0-9]{1,9}) ([0-9]+:[0-9.]+)")
_COUNT: Final = re.compile(r"([0-9a-f]{32}) ([0-9]{20})")
_SUM_DIGITS: Final = 8

_KEY: Final = re.compile(rb"[0-9a-f]{64}")


@frozen(kw_only=True)
class Seal:
    """What a seal says.

    Args:
        name: The ledger's random name, 32 hexadecimal digits; each epoch has a new one.
        epoch: 1 for a new ledger, one more each time a restored one was accepted.
        file: The identity of the file or folder that holds the runs.
        count: Changes of the ledger that are on disk for certain.
    """

    name: str
    epoch: int
    file: str
    count: int


class SealFile:
    """The seal and the notes of one ledger; both lie beside it.

    Args:
        sealed: The file or folder that holds the runs.
    """

    def __init__(self, sealed: Path) -> None:
        self._path: Final = sealed.with_suffix(".seal")
        self._notes: Final = sealed.with_suffix(".keys")
        self._sealed: Final = sealed

    def read(self) -> Seal | None:
        """The seal, or ``None`` when there is none.

        Raises:
            StoreCorruptError: It is there and cannot be read.
            UnsafeFileError: A symbolic link or something other than a file stands there.
            OSError: The file system refuses.
        """
        try:
            content = read_private(self._path)
        except FileNotFoundError:
            return None
        return _seal(content)

    def epoch(self) -> int:
        """The epoch of the seal; 0 when there is none or none that can be read.

        Raises:
            OSError: The file system refuses.
        """
        try:
            seal = self.read()
        except StoreCorruptError:
            return 0
        return 0 if seal is None else seal.epoch

    def write(self, name: str, epoch: int, count: int) -> None:
        """Put a new seal on the file as it is now, durably.

        Raises:
            OSError: The file system refuses.
        """
        lasting = _summed(f"{name} {epoch} {file_identity(self._sealed)}")
        write_durably(self._path, lasting + _counted(name, count) * 2)

    def count(self, name: str, count: int) -> None:
        """Say how many changes are on disk; a file system that refuses leaves the count behind, which is harmless."""
        try:
            descriptor = open_private(self._path, os.O_WRONLY)
        except (OSError, UnsafeFileError):
            return
        try:
            os.pwrite(descriptor, _counted(name, count), _BLOCK * (1 + count % 2))
        except OSError:
            return
        finally:
            os.close(descriptor)

    def belongs(self, seal: Seal) -> bool:
        """Whether the seal is of the file or folder that is there now.

        Raises:
            OSError: The file system refuses to say.
        """
        return seal.file == file_identity(self._sealed)

    def note(self, request_key: str) -> None:
        """Note that a request is about to be reserved for the first time.

        Raises:
            UnsafeFileError: A symbolic link or something other than a file stands there.
            OSError: The file system refuses.
        """
        note = f"\n{request_key}".encode()
        descriptor = open_private(self._notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            if os.write(descriptor, note) != len(note):
                raise OSError("the note was cut short")
        finally:
            os.close(descriptor)

    def noted(self) -> frozenset[str]:
        """The request keys that were ever noted here; a note that was cut short is none.

        Raises:
            UnsafeFileError: A symbolic link or something other than a file stands there.
            OSError: The file system refuses.
        """
        try:
            notes = read_private(self._notes).split(b"\n")
        except FileNotFoundError:
            return frozenset()
        return frozenset(note.decode() for note in notes if _KEY.fullmatch(note))


def require_goes_on(seal: Seal | None, name: str, count: int) -> Seal:
    """Refuse a ledger that is not the one which went on under this seal.

    Args:
        seal: The seal, read before the ledger was.
        name: The name that the ledger gives itself.
        count: The changes that it knows of.

    Raises:
        StoreRestoredError: It was copied or restored, or its seal was taken away.
    """
    if seal is None or seal.name != name or seal.count > count:
        raise StoreRestoredError("not the ledger that went on")
    return seal


def _seal(content: bytes) -> Seal:
    stays, one, other = (content[start : start + _BLOCK] for start in (0, _BLOCK, 2 * _BLOCK))
    name, epoch, file = _lasting(stays)
    return Seal(name=name, epoch=epoch, file=file, count=max(_count(one, name), _count(other, name)))


# Of the blocks of a seal all but one are those of the last reading.


@lru_cache(maxsize=4)
def _lasting(block: bytes) -> tuple[str, int, str]:
    found = _LASTING.fullmatch(_proven(block))
    if found is None:
        raise StoreCorruptError("not a seal")
    return found[1], int(found[2]), found[3]


@lru_cache(maxsize=4)
def _count(block: bytes, name: str) -> int:
    """The count of a block; 0 when there is none under this name."""
    found = _COUNT.fullmatch(_proven(block))
    return int(found[2]) if found is not None and found[1] == name else 0


def _counted(name: str, count: int) -> bytes:
    return _summed(f"{name} {count:020}")


def _summed(text: str) -> bytes:
    """One block: the sum of a text, and the text."""
    return f"{_sum(text)} {text}\n".encode().ljust(_BLOCK)


def _proven(block: bytes) -> str:
    """The text of a block; empty when its sum does not agree, as when its writing was cut short."""
    line = block.partition(b"\n")[0].decode("ascii", "replace")
    said, text = line[:_SUM_DIGITS], line[_SUM_DIGITS + 1 :]
    return text if said == _sum(text) else ""


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
