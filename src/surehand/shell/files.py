"""Private folders and files that survive a power cut.

Laws of this module:

- Folders are 0700 and files 0600, whatever the umask. A symbolic link is never followed at the last component.
- ``write_durably`` answers only when content and name are on disk; a reader sees the old content, the new, or none,
  never a part.
- A file system that is shared over a network is refused by name: neither its locks nor its flushes can be trusted.
"""

import os
import secrets
import stat
import struct
import sys
from functools import partial
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600

#: Bytes that are read at once.
_CHUNK_BYTES: Final = 1 << 16


class UnsafeFileError(Exception):
    """A path is not what it has to be: a symbolic link, or a folder where a file belongs."""


class NetworkFileSystemError(UnsafeFileError):
    """The folder lies on a file system whose locks and flushes cannot be trusted; ``name`` says which."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


#: Magic numbers of Linux ``statfs`` for file systems that are served by another machine or another program.
NETWORK_FILE_SYSTEMS: Final[dict[int, str]] = {
    0x6969: "nfs",
    0x517B: "smb",
    0xFF534D42: "cifs",
    0xFE534D42: "smb2",
    0x65735546: "fuse",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x5346414F: "afs",
    0x73757245: "coda",
    0x0BD00BD0: "lustre",
    0x01161970: "gfs2",
    0x7461636F: "ocfs2",
    0x786F4256: "vboxsf",
    0x564C: "ncp",
}


def private_folder(path: Path) -> None:
    """Make sure that the folder exists with mode 0700; missing parents are made with the same mode.

    Raises:
        UnsafeFileError: A symbolic link or something other than a folder stands there.
        OSError: The file system refuses.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        if not path.parent.exists():
            private_folder(path.parent)
        _make_folder(path)
        found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFileError("not a folder")
    if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
        path.chmod(FOLDER_MODE)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return
    sync_folder(path.parent)


def open_private(path: Path, flags: int) -> int:
    """Open a regular file, making it with mode 0600 when the flags ask for that; returns the descriptor.

    Raises:
        UnsafeFileError: A symbolic link or something other than a regular file stands there.
        OSError: The file system refuses.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE)
    except OSError:
        refuse_link(path)
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise UnsafeFileError("not a regular file")
    if flags & os.O_CREAT and stat.S_IMODE(found.st_mode) != FILE_MODE:
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link; a missing path is fine.

    Raises:
        UnsafeFileError: The path is a symbolic link.
    """
    if path.is_symlink():
        raise UnsafeFileError("a symbolic link")


def read_private(path: Path) -> bytes:
    """The whole content of a regular file.

    Raises:
        UnsafeFileError: A symbolic link or something other than a regular file stands there.
        OSError: The file is missing or the file system refuses.
    """
    descriptor = open_private(path, os.O_RDONLY)
    try:
        return b"".join(iter(partial(os.read, descriptor, _CHUNK_BYTES), b""))
    finally:
        os.close(descriptor)


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a regular file, at most so many.

    Raises:
        UnsafeFileError: A symbolic link or something other than a regular file stands there.
        OSError: The file is missing or the file system refuses.
    """
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as stream:
        return stream.read(size)


def write_durably(path: Path, content: bytes, *, exclusive: bool = False, sync_name: bool = True) -> bool:
    """Put content under a name, at once or not at all, flushed to disk.

    Args:
        path: The name; its folder exists.
        content: The whole content.
        exclusive: Refuse to replace what is there.
        sync_name: Whether the name is flushed too; the content always is.

    Returns:
        ``False`` when ``exclusive`` and the name was taken; nothing was changed then.

    Raises:
        OSError: The file system refuses. What the name holds then has to be read again.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        _write_synced(draft, content)
        if not exclusive:
            draft.replace(path)
        elif not link_exclusively(draft, path):
            return False
    finally:
        draft.unlink(missing_ok=True)
    if sync_name:
        sync_folder(path.parent)
    return True


def link_exclusively(source: Path, name: Path) -> bool:
    """Give a file a further name; ``False`` when the name is taken."""
    try:
        os.link(source, name, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def sync_folder(path: Path) -> None:
    """Flush the names in a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_identity(path: Path) -> str:
    """What tells this very file from every copy of it: its number, and when it was born where that is known.

    A number alone is used again once a file is gone; a device number may change when the machine is started again.

    Raises:
        OSError: There is no such file, or the file system refuses to say.
    """
    found = path.lstat()
    born = _birth_linux(path) if sys.platform == "linux" else getattr(found, "st_birthtime", 0)
    return f"{found.st_ino}:{born}"


def refuse_network_file_system(folder: Path) -> None:
    """Refuse a folder on a file system that another machine or program serves.

    Only Linux says so by number; elsewhere nothing is refused.

    Raises:
        NetworkFileSystemError: The file system is one of ``NETWORK_FILE_SYSTEMS``.
        OSError: The file system cannot be asked.
    """
    if sys.platform != "linux":
        return
    name = NETWORK_FILE_SYSTEMS.get(_file_system_number(folder))
    if name is not None:
        raise NetworkFileSystemError(name)


#: Where ``struct statx`` of Linux keeps what is asked here; it is the same on every architecture.
_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_STATX_BTIME: Final = 0x800


def _birth_linux(path: Path) -> str:
    import ctypes  # noqa: PLC0415 - as below

    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    answer = ctypes.create_string_buffer(256)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, answer) != 0:
        return "0"
    known, seconds, nanoseconds = struct.unpack_from("=I76xqI", answer)
    return f"{seconds}.{nanoseconds:09}" if known & _STATX_BTIME else "0"


def _file_system_number(folder: Path) -> int:
    import ctypes  # noqa: PLC0415 - only this question needs it, and it is slow to load

    answer = ctypes.create_string_buffer(512)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statfs(os.fsencode(folder), answer) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int.from_bytes(answer.raw[:4], sys.byteorder)


def _write_synced(path: Path, content: bytes) -> None:
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
