"""Who may look at the console: the one who can read the terminal in which it was started.

Laws of this module:

- A token opens one session and is worth nothing afterwards; the terminal then shows the next one.
- Secrets are drawn from the operating system's source and compared in constant time.
- A session ends with the console, or when its person leaves it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

from attrs import define, field

from surehand.core.attention.decision import Receipt

#: Sessions at the same time; the oldest goes.
_MOST_SESSIONS: Final = 8


@define
class Session:
    """One browser at the console.

    Args:
        proof: What every form of it holds, so that no other page can send one.
        refused: The receipt of a decision that was not taken, until it was shown.
    """

    proof: str = field(factory=lambda: secrets.token_urlsafe(32), repr=False)
    refused: Receipt | None = None


class Entry:
    """The door of one console.

    Args:
        announce: Told each token as it becomes valid.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce: Final = announce
        self._sessions: dict[str, Session] = {}
        self._token = ""
        self._renew()

    def enter(self, token: str) -> str | None:
        """The name of a new session for whoever shows the token; ``None`` for anybody else."""
        if not same(token, self._token):
            return None
        name = secrets.token_urlsafe(32)
        self._sessions[_kept(name)] = Session()
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        self._renew()
        return name

    def session(self, name: str) -> Session | None:
        """The session of this name."""
        return self._sessions.get(_kept(name))

    def leave(self, name: str) -> None:
        """End the session of this name."""
        self._sessions.pop(_kept(name), None)

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._announce(self._token)


def same(presented: str, kept: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(presented.encode("utf-8", "surrogatepass"), kept.encode())


def _kept(name: str) -> str:
    """A name as it is looked up: a digest, whose place in a table says nothing about the name."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
