"""Recordings at rest: one encrypted file in a folder of its own.

Laws of this module:

- What a person typed or saw reaches the disk encrypted only; folder and file are private.
- A recording is never written over.
- A key comes from the environment, from a private file, or from this machine's state folder, never from an argument.
"""

import json
import os
from collections.abc import Mapping
from enum import Enum, unique
from pathlib import Path
from typing import Final

from returns.pipeline import is_successful

from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.envelope import SALT_BYTES, close, open_closed
from surehand.core.workflow.recording import Recording
from surehand.shell.config import ConfigError
from surehand.shell.files import UnsafeFileError, private_folder, read_private, read_start, write_durably
from surehand.shell.identity import new_salt, recording_key

#: The file of a recording in its folder.
RECORDING_FILE: Final = "recording.bin"

#: Hold the passphrase of recordings, and the path of a private file with it.
KEY_VARIABLE: Final = "SUREHAND_RECORDING_KEY"
KEY_FILE_VARIABLE: Final = "SUREHAND_RECORDING_KEY_FILE"

SHORTEST_KEY: Final = 12

_MOST_BYTES: Final = 64 * 1024 * 1024


@unique
class RecordingProblem(Enum):
    """Why a recording cannot be written or read."""

    MISSING = "missing"
    TAKEN = "taken"
    DOES_NOT_OPEN = "does_not_open"
    NOT_UNDERSTOOD = "not_understood"
    FOLDER_UNUSABLE = "folder_unusable"


class RecordingRefusedError(Exception):
    """A recording cannot be written or read; ``code`` says why, and nothing of it is repeated."""

    def __init__(self, code: RecordingProblem) -> None:
        super().__init__(code.value)
        self.code = code


def find_recording_key(state_folder: Path, environ: Mapping[str, str] | None = None) -> bytes:
    """The key of recordings: the environment's passphrase, or that of the file that it names, or this machine's own.

    Args:
        state_folder: Where this machine's own key lies; it is made there at the first use.
        environ: The environment; default: that of this process.

    Raises:
        ConfigError: The passphrase is too short, or its file cannot be read.
        DamagedKeyError: This machine's own key is damaged.
    """
    environment = os.environ if environ is None else environ
    text, file = environment.get(KEY_VARIABLE), environment.get(KEY_FILE_VARIABLE)
    if text:
        return _checked(text.encode("utf-8", "surrogateescape"))
    if not file:
        return recording_key(state_folder)
    try:
        return _checked(read_private(Path(file)).rstrip(b"\r\n"))
    except (OSError, UnsafeFileError):
        raise ConfigError("the key file of recordings cannot be read") from None


def _checked(key: bytes) -> bytes:
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"the key of recordings has at least {SHORTEST_KEY} bytes")
    return key


def refuse_taken(folder: Path) -> None:
    """Refuse a folder in which there is a recording, before anybody shows anything.

    Raises:
        RecordingRefusedError: There is one, or something other than a folder.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RecordingRefusedError(RecordingProblem.FOLDER_UNUSABLE)
    if (folder / RECORDING_FILE).exists():
        raise RecordingRefusedError(RecordingProblem.TAKEN)


def write_recording(folder: Path, recording: Recording, key: bytes) -> Path:
    """Write a recording into a folder, which is made when it is missing.

    Raises:
        RecordingRefusedError: There is a recording, or the folder cannot be written.
    """
    refuse_taken(folder)
    content = json.dumps(to_wire(recording), separators=(",", ":")).encode()
    path = folder / RECORDING_FILE
    try:
        private_folder(folder)
        sealed = close(content, RECORDING_FILE, key, new_salt(SALT_BYTES))
        written = write_durably(path, sealed, exclusive=True)
    except (OSError, UnsafeFileError):
        raise RecordingRefusedError(RecordingProblem.FOLDER_UNUSABLE) from None
    if not written:
        raise RecordingRefusedError(RecordingProblem.TAKEN)
    return path


def read_recording(folder: Path, key: bytes) -> Recording:
    """Read the recording of a folder.

    Raises:
        RecordingRefusedError: There is none, or it cannot be read with this key.
    """
    try:
        sealed = read_start(folder / RECORDING_FILE, _MOST_BYTES)
    except FileNotFoundError:
        raise RecordingRefusedError(RecordingProblem.MISSING) from None
    except (OSError, UnsafeFileError):
        raise RecordingRefusedError(RecordingProblem.FOLDER_UNUSABLE) from None
    opened = open_closed(sealed, RECORDING_FILE, key)
    if not is_successful(opened):
        raise RecordingRefusedError(RecordingProblem.DOES_NOT_OPEN)
    try:
        read = from_wire(json.loads(opened.unwrap()), Recording)
    except ValueError:
        raise RecordingRefusedError(RecordingProblem.NOT_UNDERSTOOD) from None
    if not is_successful(read):
        raise RecordingRefusedError(RecordingProblem.NOT_UNDERSTOOD)
    return read.unwrap()
