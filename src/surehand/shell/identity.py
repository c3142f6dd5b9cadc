"""Names that nobody can guess, and the secret behind fingerprints.

Laws of this module:

- Randomness is drawn here and nowhere else, always from the operating system's source.
- The secret is made once for a folder. A damaged one is refused, never replaced: a new one would not recognise
  what was asked before.
"""

import secrets
from pathlib import Path
from typing import Final

from surehand.core.request.keys import FINGERPRINT_KEY_BYTES
from surehand.shell.files import private_folder, read_private, write_durably

KEY_FILE: Final = "fingerprint.key"


class DamagedKeyError(Exception):
    """The file of the secret is there and does not hold 32 bytes."""


def new_run_id() -> str:
    """A name for one run: ``run_`` and 32 hexadecimal digits."""
    return "run_" + secrets.token_hex(16)


def new_token() -> str:
    """A name for one owner: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def fingerprint_key(folder: Path) -> bytes:
    """The secret of this folder, 32 bytes; made at the first use, by whichever process comes first.

    Raises:
        DamagedKeyError: The file does not hold 32 bytes.
        UnsafeFileError: A symbolic link or something other than a file or folder stands there.
        OSError: The file system refuses.
    """
    path = folder / KEY_FILE
    try:
        return _whole(read_private(path))
    except FileNotFoundError:
        private_folder(folder)
        write_durably(path, secrets.token_bytes(FINGERPRINT_KEY_BYTES), exclusive=True)
        return _whole(read_private(path))


def _whole(key: bytes) -> bytes:
    if len(key) != FINGERPRINT_KEY_BYTES:
        raise DamagedKeyError("the key does not hold 32 bytes")
    return key
