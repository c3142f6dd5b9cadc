"""Ways to damage a state folder while nothing runs, each with a name by which it can be done again.

Laws of this module:

- A damage is a function of the folder and of what chance decides. It touches files of the store only.
- What cannot be noticed from inside the folder is listed in ``UNNOTICED``, with the reason, and is no damage here.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import frozen

PAGE: Final = 4096

#: Damages that nothing inside the folder can tell from a folder that is in order.
UNNOTICED: Final = (
    "not noticed: an older state of every file written into the very same files, or a snapshot of the volume",
    "not noticed at a call: the name of one claim taken away by hand, as if it had been cut short",
    "not noticed: a changed bit inside a value that leaves row, index and contract in order, such as a time",
)


@frozen
class Damage:
    """One damage.

    Args:
        name: What it is.
        do: Does it.
    """

    name: str
    do: Callable[[Path], None]


def flip(path: Path, place: int, bit: int) -> None:
    """Change one bit."""
    with path.open("r+b") as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ (1 << bit)]))


def overwrite(path: Path, place: int, content: bytes) -> None:
    """Put other content into a file, which stays the same file."""
    with path.open("r+b") as file:
        file.seek(place)
        file.write(content)


def flips(name: str, count: int, chance: random.Random) -> Iterator[Damage]:
    """Single bits of a file, anywhere."""
    for _ in range(count):
        part, bit = chance.random(), chance.randrange(8)

        def do(folder: Path, part: float = part, bit: int = bit) -> None:
            path = folder / name
            flip(path, int(part * path.stat().st_size), bit)

        yield Damage(f"bit {bit} at {part:.6f} of {name}", do)


def pages(name: str, count: int, chance: random.Random) -> Iterator[Damage]:
    """Whole pages of a file: zeros, noise, or another page of the same file."""
    for number in range(count):
        part, kind, noise = chance.random(), ("zeros", "noise", "another page")[number % 3], chance.randbytes(PAGE)

        def do(folder: Path, part: float = part, kind: str = kind, noise: bytes = noise) -> None:
            path = folder / name
            content = path.read_bytes()
            there = max(1, len(content) // PAGE)
            place = int(part * there) * PAGE
            other = content[(place + PAGE) % (there * PAGE) :][:PAGE]
            overwrite(path, place, {"zeros": bytes(PAGE), "noise": noise, "another page": other}[kind])

        yield Damage(f"page at {part:.6f} of {name} is {kind}", do)


def cuts(name: str, count: int, chance: random.Random) -> Iterator[Damage]:
    """A file that ends too early."""
    for _ in range(count):
        part = chance.random()

        def do(folder: Path, part: float = part) -> None:
            path = folder / name
            os.truncate(path, int(part * path.stat().st_size))

        yield Damage(f"{name} cut at {part:.6f}", do)


def removed(*names: str) -> Damage:
    """Files that are gone."""

    def do(folder: Path) -> None:
        for name in names:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    return Damage(f"{' and '.join(names)} gone", do)


def swapped(name: str, other: Path, *, same_file: bool) -> Damage:
    """A file whose content is that of another folder's, in the same file or in a new one."""

    def do(folder: Path) -> None:
        content = (other / name).read_bytes()
        if not same_file:
            (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(content)

    return Damage(f"{name} of {other.name} put {'into the same' if same_file else 'as a new'} file", do)


def filled_with(name: str, content: bytes) -> Damage:
    """A file with other content altogether."""

    def do(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return Damage(f"{name} holds {content[:12]!r}", do)


def header(place: int, content: bytes, says: str) -> Damage:
    """Other bytes in the header of the ledger."""

    def do(folder: Path) -> None:
        overwrite(folder / "ledger.db", place, content)

    return Damage(f"the header says {says}", do)


def statement(sql: str) -> Damage:
    """The ledger was changed by SQL."""

    def do(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as link:
            link.execute(sql)

    return Damage(sql, do)
