"""Names that nobody can guess, the secrets of this machine, and the account of the person at it.

Laws of this module:

- Randomness is drawn here and nowhere else, always from the operating system's source.
- A secret is made once for a folder. A damaged one is refused, never replaced: a new one would not recognise what was
  asked or signed before.
- An account is what the operating system says of this process, never what the environment claims.
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Final

from surehand.core.request.keys import FINGERPRINT_KEY_BYTES
from surehand.shell.files import UnsafeFileError, private_folder, read_private, write_durably

KEY_FILE: Final = "fingerprint.key"
MACHINE_KEY_FILE: Final = "machine.key"
RECORDING_KEY_FILE: Final = "recording.key"
ATTENTION_KEY_FILE: Final = "attention.key"

_MACHINE_KEY_BYTES: Final = 32
_RECORDING_KEY_BYTES: Final = 32
_ATTENTION_KEY_BYTES: Final = 32


class DamagedKeyError(Exception):
    """The file of the secret is there and does not hold 32 bytes."""


class UnknownAccountError(Exception):
    """The operating system names no account for this process."""


def new_run_id() -> str:
    """A name for one run: ``run_`` and 32 hexadecimal digits."""
    return "run_" + secrets.token_hex(16)


def new_token() -> str:
    """A name for one owner: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def new_pause_id() -> str:
    """A name for one pause: ``att_`` and 24 hexadecimal digits."""
    return "att_" + secrets.token_hex(12)


def new_salt(size: int) -> bytes:
    """So many bytes that were never used before."""
    return secrets.token_bytes(size)


def fingerprint_key(folder: Path) -> bytes:
    """The secret of this folder, 32 bytes; made at the first use, by whichever process comes first.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes.
        UnsafeFileError: A symbolic link or something other than a file or folder stands there.
        OSError: The file system refuses.
    """
    return _kept_secret(folder, KEY_FILE, FINGERPRINT_KEY_BYTES)


def recording_key(folder: Path) -> bytes:
    """The secret under which this machine keeps recordings, 32 bytes; made at the first use.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes.
        UnsafeFileError: A symbolic link or something other than a file or folder stands there.
        OSError: The file system refuses.
    """
    return _kept_secret(folder, RECORDING_KEY_FILE, _RECORDING_KEY_BYTES)


def attention_key(folder: Path) -> bytes:
    """The secret of what waits for people in this folder, 32 bytes; made at the first use.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes.
        UnsafeFileError: A symbolic link or something other than a file or folder stands there.
        OSError: The file system refuses.
    """
    return _kept_secret(folder, ATTENTION_KEY_FILE, _ATTENTION_KEY_BYTES)


def machine_key(folder: Path | None = None) -> bytes:
    """The secret with which this machine signs, 32 bytes; made at the first use.

    Args:
        folder: Where it lies; default: the user's configuration folder.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes.
        UnsafeFileError: A symbolic link or something other than a file or folder stands there.
        OSError: The file system refuses.
    """
    return _kept_secret(folder or config_folder(), MACHINE_KEY_FILE, _MACHINE_KEY_BYTES)


def find_machine_key(folder: Path | None = None) -> bytes | None:
    """The secret with which this machine signs, or ``None`` when it never signed anything; nothing is made.

    Args:
        folder: Where it lies; default: the user's configuration folder.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes, or cannot be read as a file.
    """
    try:
        return _whole(read_private((folder or config_folder()) / MACHINE_KEY_FILE), _MACHINE_KEY_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, UnsafeFileError):
        raise DamagedKeyError("the key cannot be read") from None


def config_folder() -> Path:
    """The user's configuration folder."""
    import platformdirs  # noqa: PLC0415 - few commands ask

    return Path(platformdirs.user_config_dir("surehand", appauthor=False))


def os_account() -> str:
    """The account under which this process acts: by its effective user, or by its token on Windows.

    Raises:
        UnknownAccountError: The operating system names none.
    """
    name = _windows_account() if sys.platform == "win32" else _posix_account()
    if not name or any(character.isspace() for character in name):
        raise UnknownAccountError
    return name


def _posix_account() -> str:
    import pwd  # noqa: PLC0415 - not on every platform

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _windows_account() -> str:
    import ctypes  # noqa: PLC0415 - on one platform only

    answer = ctypes.create_unicode_buffer(257)
    size = ctypes.c_ulong(len(answer))
    windll = getattr(ctypes, "windll")  # noqa: B009 - type checkers know it on Windows only
    return answer.value if windll.advapi32.GetUserNameW(answer, ctypes.byref(size)) else ""


def _kept_secret(folder: Path, name: str, size: int) -> bytes:
    path = folder / name
    try:
        return _whole(read_private(path), size)
    except FileNotFoundError:
        private_folder(folder)
        write_durably(path, secrets.token_bytes(size), exclusive=True)
        return _whole(read_private(path), size)


def _whole(key: bytes, size: int) -> bytes:
    if len(key) != size:
        raise DamagedKeyError("the key does not have its length")
    return key
