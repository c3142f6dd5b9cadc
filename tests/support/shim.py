"""Processes whose durable system calls fail as told, or are recorded: the shim, compiled, and a process that forks.

Laws of this module:

- The shim stands before the C library of one process that loads everything once and forks for each order.
- Every order has a deadline; a process that does not end in time is killed and says so.
- Without a C compiler nothing is skipped: there is an error that says what to install.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from enum import IntEnum, unique
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from attrs import frozen

_TESTS: Final = Path(__file__).parent.parent
_SOURCE: Final = _TESTS / "faults" / "killshim.c"

#: The kinds of faults. Only a write can be torn.
KINDS: Final = ("before", "after", "torn", "eio", "enospc")

_HEAD: Final = struct.Struct("<IIIIQq")


class NoCompilerError(Exception):
    """There is no C compiler, so that no durable system call can be made to fail."""


def build_shim(folder: Path) -> Path:
    """Compile the shim into a folder.

    Raises:
        NoCompilerError: There is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoCompilerError("a C compiler is needed: install gcc and the C library's headers, then run this again")
    library = folder / "killshim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


@unique
class Operation(IntEnum):
    """A durable operation, by its number in a trace."""

    WRITE = 1
    TRUNCATE = 2
    SYNC = 3
    CREATE = 4
    RENAME = 5
    LINK = 6
    UNLINK = 7
    MKDIR = 8
    MARK = 9


@frozen
class Event:
    """One record of a trace.

    Args:
        operation: What was done; ``MARK`` is a line of the program's own.
        path: Where, absolute; of a mark its text.
        other: The new name of a rename or a link.
        inode: The file that was meant.
        offset: Of a write; the size of a truncation; 1 for the creation of a new file.
        data: What was written.
    """

    operation: Operation
    path: str
    other: str
    inode: int
    offset: int
    data: bytes


def read_trace(path: Path) -> Iterator[Event]:
    """The events of a trace, in their order."""
    content = path.read_bytes()
    place = 0
    while place < len(content):
        operation, path_size, other_size, data_size, inode, offset = _HEAD.unpack_from(content, place)
        ends = [place + _HEAD.size]
        for size in (path_size, other_size, data_size):
            ends.append(ends[-1] + size)
        texts = [content[start:end] for start, end in pairwise(ends)]
        yield Event(Operation(operation), texts[0].decode(), texts[1].decode(), inode, offset, texts[2])
        place = ends[-1]


@frozen
class Told:
    """How an order ended.

    Args:
        status: The exit status, negative for a signal; ``None`` for one that did not end in time.
        answers: What it said before.
        operations: How many durable operations it met; 0 when it was killed.
    """

    status: int | None
    answers: tuple[object, ...]
    operations: int


class Forker:
    """A process under the shim that forks for each order; see ``faults.syscalls_driver``."""

    def __init__(self, shim: Path) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(_TESTS)}
        self._process: Final = subprocess.Popen(
            [sys.executable, "-m", "faults.syscalls_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def order(self, perform: str, folder: Path, **details: object) -> Told:
        """Let a forked process perform something below a folder.

        Args:
            perform: The name of what is performed.
            folder: The folder whose durable operations count.
            details: ``at`` and ``kind`` of the fault, ``trace``, and what the performance takes.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"perform": perform, "folder": str(folder), **details}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("the forking process has ended")
        told = cast("dict[str, object]", json.loads(line))
        return Told(
            cast("int | None", told["status"]),
            tuple(cast("list[object]", told["answers"])),
            cast("int", told["operations"]),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)
