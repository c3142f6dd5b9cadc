"""Who is alive, and whose turn it is: locks that the operating system lets go of when a process ends.

Laws of this module:

- Only a held lock says that an owner lives. A process number, a host name or an age proves nothing and is never asked.
- Locks belong to the file, not to its path: two mounts of one folder see one lock.
- A lock file is removed only by one that holds its lock.
"""

import fcntl
import os
import re
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.files import UnsafeFileError, link_exclusively, open_private, private_folder
from surehand.shell.identity import new_token

_TOKEN: Final = re.compile("[0-9a-f]{32}")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_FIRST_PAUSE: Final = 0.0002
_LONGEST_PAUSE: Final = 0.0005

#: Seconds that the place in the line is waited for: a process that was stopped there costs the others no more.
_LINE_SECONDS: Final = 0.25


class LockTimeoutError(Exception):
    """The lock was not to be had in the time allowed."""


class OwnerLock:
    """The proof that this process lives, held until it ends or lets go.

    Attributes:
        token: The owner's name, 32 hexadecimal digits, never used before.
    """

    def __init__(self, token: str, path: Path, descriptor: int) -> None:
        self.token: Final = token
        self._path: Final = path
        self._descriptor = descriptor
        _HELD.add(self)

    @classmethod
    def acquire(cls, folder: Path) -> Self:
        """Take a new name and hold its lock; lock files that nobody holds any more are removed on the way.

        Args:
            folder: The state folder; the lock files lie in its ``owners``.

        Raises:
            UnsafeFileError: A symbolic link or something other than a folder stands there.
            OSError: The file system refuses, or knows no locks.
        """
        owners = folder / "owners"
        private_folder(owners)
        for stale in owners.iterdir():
            _remove_if_free(stale)
        while True:
            token = new_token()
            path = owners / f"{token}.lock"
            descriptor = _new_held_file(path)
            if descriptor is not None:
                return cls(token, path, descriptor)

    def release(self) -> None:
        """Let go, which is the same as dying; a second call does nothing.

        A file that cannot be removed now is removed by whoever comes next.
        """
        if self._descriptor >= 0:
            with suppress(OSError):
                self._path.unlink()
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the descriptor without removing the file: what a forked child does with its copy."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


_HELD: Final[weakref.WeakSet[OwnerLock]] = weakref.WeakSet()


def _forget_in_child() -> None:
    for lock in tuple(_HELD):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)


def is_alive(folder: Path, token: str) -> bool:
    """Whether the owner of this name holds its lock now.

    Args:
        folder: The state folder that the owner named when it took its name.
        token: The owner's name. What is no such name belongs to nobody.

    Raises:
        UnsafeFileError: A symbolic link or something other than a file stands there.
        OSError: The file system refuses to say.
    """
    if _TOKEN.fullmatch(token) is None:
        return False
    try:
        descriptor = open_private(folder / "owners" / f"{token}.lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH) and os.read(descriptor, 64) == boot_id()
    finally:
        os.close(descriptor)


def boot_id() -> bytes:
    """What the kernel calls the time since this machine was started; empty where it has no name for it."""
    try:
        return _BOOT_ID.read_bytes().strip()
    except FileNotFoundError:
        return b""


class Gate:
    """One turn at a time through a lock file, over all processes and threads, with a limit on the wait.

    Whoever wants a turn first takes the one place in the line, a lock on the folder, and keeps it until the turn comes.
    So one who had a turn cannot have the next before one who waits. The line is a courtesy: only the file decides.

    Args:
        path: The lock file; it is made when missing and never removed.
        limit: Seconds that a turn is waited for, so that a stopped holder cannot stop the others for ever.
        clock: Measures the wait.
    """

    def __init__(self, path: Path, limit: float = 10.0, clock: Clock = SYSTEM_CLOCK) -> None:
        self._path: Final = path
        self._limit: Final = limit
        self._clock: Final = clock

    @contextmanager
    def turn(self) -> Generator[None]:
        """Hold the lock for a block.

        Raises:
            LockTimeoutError: It was not to be had in time.
            UnsafeFileError: A symbolic link or something other than a file stands there.
            OSError: The file system refuses.
        """
        with self._line():
            descriptor = self._locked()
        try:
            yield
        finally:
            _let_go(descriptor)

    @contextmanager
    def _line(self) -> Generator[None]:
        """Stand in the line; pass it by where it cannot be had, or not soon."""
        try:
            place = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            yield
            return
        try:
            with suppress(OSError):
                self._within(min(_LINE_SECONDS, self._limit), lambda: _try_lock(place, fcntl.LOCK_EX))
            yield
        finally:
            _let_go(place)

    def _locked(self) -> int:
        held: list[int] = []
        if not self._within(self._limit, lambda: self._hold(held)):
            raise LockTimeoutError("no turn in time")
        return held[0]

    def _hold(self, held: list[int]) -> bool:
        descriptor = self._open()
        if _try_lock(descriptor, fcntl.LOCK_EX) and _names(self._path, descriptor):
            held.append(descriptor)
            return True
        os.close(descriptor)
        return False

    def _within(self, seconds: float, attempt: Callable[[], bool]) -> bool:
        """Try until it succeeds, or until the time is over."""
        end = self._clock.monotonic() + seconds
        pause = _FIRST_PAUSE
        while not attempt():
            if self._clock.monotonic() >= end:
                return False
            self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return True

    def _open(self) -> int:
        try:
            return open_private(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return open_private(self._path, os.O_RDONLY | os.O_CREAT)


class Place:
    """A lock file that one holds until it lets go, or until its process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Take the place if it is free; its file is made when missing and never removed.

        Raises:
            UnsafeFileError: A symbolic link or something other than a file stands there.
            OSError: The file system refuses.
        """
        descriptor = open_private(path, os.O_RDONLY | os.O_CREAT)
        if _try_lock(descriptor, fcntl.LOCK_EX):
            return cls(descriptor)
        os.close(descriptor)
        return None

    def release(self) -> None:
        """Let go."""
        _let_go(self._descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _let_go(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may hold a copy of the descriptor
    os.close(descriptor)


def _names(path: Path, descriptor: int) -> bool:
    """Whether the path still names the open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _new_held_file(path: Path) -> int | None:
    """Make a lock file that is held before it bears its name; ``None`` when somebody cleared its draft away first."""
    draft = path.with_suffix(".draft")
    descriptor = open_private(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.write(descriptor, boot_id())
        if _try_lock(descriptor, fcntl.LOCK_EX) and _names(draft, descriptor) and link_exclusively(draft, path):
            held, descriptor = descriptor, -1
            return held
        return None
    finally:
        draft.unlink(missing_ok=True)
        if descriptor >= 0:
            os.close(descriptor)


def _remove_if_free(path: Path) -> None:
    try:
        descriptor = open_private(path, os.O_RDONLY)
    except (FileNotFoundError, UnsafeFileError):
        return
    try:
        if _try_lock(descriptor, fcntl.LOCK_EX) and _names(path, descriptor):
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
