"""The signed-in sessions of apps, encrypted at rest: one for each origin.

Laws of this module:

- A session is what a browser needs to be signed in (Playwright's storage state as JSON). It is a secret: it leaves this
  module only towards a browser, and stands in no argument, log or text of an error.
- On disk there are only names that say nothing, and AES-GCM texts bound to their origin. The key lies beside them in a
  file that only this account can read: it keeps sessions out of copies of single files, not from this account.
- A session that cannot be read is none. Whoever wants to know that it is damaged can ask.
- A session is replaced only by one that grew out of it: what a person renewed in the meantime stays.
"""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from enum import Enum, unique
from pathlib import Path
from typing import Final, cast

from attrs import frozen
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from surehand.shell.files import UnsafeFileError, open_private, private_folder, read_private, write_durably

#: The folder of the sessions below the state folder.
SESSIONS: Final = "sessions"

#: The largest session that is kept, in bytes.
MAX_BYTES: Final = 4 * 1024 * 1024

_KEY_FILE: Final = "key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_PURPOSE: Final = b"surehand.session/v1\0"


@unique
class SessionState(Enum):
    """What is there for an origin."""

    NONE = "none"
    KEPT = "kept"
    DAMAGED = "damaged"


class DamagedSessionError(Exception):
    """What is kept cannot be read; it says nothing about the content."""


@frozen
class SessionStore:
    """The sessions below one state folder; any number of processes may share it.

    Args:
        state_folder: The state folder.
    """

    state_folder: Path

    def load(self, origin: str) -> str | None:
        """The session of an origin; ``None`` when there is none that can be read."""
        try:
            return self._read(origin)
        except DamagedSessionError:
            return None

    def state(self, origin: str) -> SessionState:
        """Whether there is a session for an origin, and whether it can be read."""
        try:
            return SessionState.NONE if self._read(origin) is None else SessionState.KEPT
        except DamagedSessionError:
            return SessionState.DAMAGED

    def save(self, origin: str, session: str) -> None:
        """Keep the session of an origin in place of whatever there is.

        Raises:
            ValueError: It is larger than ``MAX_BYTES``.
            OSError: The file system refuses.
            UnsafeFileError: Something other than a file or folder of ours stands there.
        """
        with self._turn():
            self._write(origin, session)

    def renew(self, origin: str, before: str, now: str) -> bool:
        """Keep what has become of a session, unless another one was kept since; ``False`` then.

        Raises:
            ValueError: It is larger than ``MAX_BYTES``.
            OSError: The file system refuses.
            UnsafeFileError: Something other than a file or folder of ours stands there.
        """
        with self._turn():
            if self.load(origin) != before:
                return False
            if now != before:
                self._write(origin, now)
            return True

    def forget(self, origin: str) -> None:
        """Remove the session of an origin, if there is one.

        Raises:
            OSError: The file system refuses.
        """
        self._path(origin).unlink(missing_ok=True)

    def _path(self, origin: str) -> Path:
        return self._folder / f"{hashlib.sha256(_PURPOSE + origin.encode()).hexdigest()}.session"

    @property
    def _folder(self) -> Path:
        return self.state_folder / SESSIONS

    def _read(self, origin: str) -> str | None:
        """The session of an origin; ``None`` when there is none.

        Raises:
            DamagedSessionError: It cannot be read.
        """
        try:
            sealed = read_private(self._path(origin))
        except FileNotFoundError:
            return None
        except (OSError, UnsafeFileError):
            raise DamagedSessionError from None
        try:
            key = AESGCM(read_private(self._folder / _KEY_FILE))
            return key.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _PURPOSE + origin.encode()).decode()
        except (OSError, UnsafeFileError, InvalidTag, ValueError):
            raise DamagedSessionError from None

    def _write(self, origin: str, session: str) -> None:
        plain = session.encode()
        if len(plain) > MAX_BYTES:
            raise ValueError("a session of that size is none")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._key()).encrypt(nonce, plain, _PURPOSE + origin.encode())
        write_durably(self._path(origin), nonce + sealed)

    def _key(self) -> bytes:
        """The key, made when there is none that can be one."""
        path = self._folder / _KEY_FILE
        try:
            key = read_private(path)
        except FileNotFoundError:
            key = b""
        if len(key) != _KEY_BYTES:
            key = secrets.token_bytes(_KEY_BYTES)
            write_durably(path, key)
        return key

    @contextmanager
    def _turn(self) -> Generator[None]:
        """One writer at a time, whatever its process."""
        private_folder(self.state_folder)
        private_folder(self._folder)
        descriptor = open_private(self._folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def grown(before: str, now: str) -> str:
    """What is kept of a session at the end of a run: the cookies of now, and what the app stores under names it had.

    An app that keeps what was typed beside what signs it in must not find it in the next run: new names stay out.

    Args:
        before: The session with which the run began, as storage state in JSON.
        now: The storage state at its end.
    """
    kept, found = _state(before), _state(now)
    stored = {_place(entry): entry for entry in _entries(found, "origins")}
    origins = [_with_values_of(entry, stored.get(_place(entry), {})) for entry in _entries(kept, "origins")]
    return json.dumps({**kept, "cookies": found.get("cookies", []), "origins": origins})


def _with_values_of(entry: Mapping[str, object], now: Mapping[str, object]) -> dict[str, object]:
    values = {item.get("name"): item.get("value") for item in _entries(now, "localStorage")}
    return {
        **entry,
        "localStorage": [
            {**item, "value": values.get(item.get("name"), item.get("value"))}
            for item in _entries(entry, "localStorage")
        ],
    }


def _state(text: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(text))


def _entries(holder: Mapping[str, object], name: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", holder.get(name, []))


def _place(entry: Mapping[str, object]) -> object:
    return entry.get("origin")
