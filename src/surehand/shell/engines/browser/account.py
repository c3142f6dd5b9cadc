"""The account of one run: the session with which its browser contexts begin, and what becomes of it.

Laws of this module:

- What is handed from one context to another are cookies alone. What an app keeps beside them may hold what was typed:
  every context has that as it was kept before the run.
- A session is kept again when the run is over, however it ended, unless it was seen to be over itself.
- Nothing of a session appears in an exception or a representation.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from playwright.async_api import BrowserContext, Error

from surehand.shell.files import UnsafeFileError
from surehand.shell.sessions import grown


class Sessions(Protocol):
    """Where sessions are kept."""

    def load(self, origin: str) -> str | None:
        """The session of an origin, if there is one that can be read."""
        ...

    def renew(self, origin: str, before: str, now: str) -> bool:
        """Keep what has become of a session, unless another one was kept since."""
        ...


class Account:
    """The account of one run.

    Args:
        sessions: Where sessions are kept; ``None`` when nowhere.
        origin: The origin of the app.
    """

    def __init__(self, sessions: Sessions | None, origin: str) -> None:
        self._sessions = sessions
        self._origin = origin
        self._context: BrowserContext | None = None
        self._cookies: Sequence[Any] = ()
        self.session = None if sessions is None else sessions.load(origin)
        self.is_signed_out = False

    def live_in(self, context: BrowserContext) -> None:
        """The context of the run, whose cookies count from now on."""
        self._context = context

    async def session_now(self) -> str:
        """The session for a further context: the cookies of now, and the rest as it was kept."""
        kept: dict[str, Any] = {} if self.session is None else json.loads(self.session)
        return json.dumps({"cookies": await self._live(), "origins": kept.get("origins", [])})

    async def cookies_for(self, url: str) -> str:
        """The cookies of now for an address, as they stand in a request."""
        return "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in await self._live(url))

    async def take(self, other: BrowserContext) -> None:
        """What the app gave to another context of this account is valid in the context of the run too."""
        with suppress(Error):
            found: Any = await other.cookies()
            if self._context is not None and found:
                await self._context.add_cookies(found)

    async def _live(self, url: str | None = None) -> Sequence[Any]:
        """The cookies of now, or the last that were seen when the context is gone."""
        if self._context is not None:
            with suppress(Error):
                self._cookies = await self._context.cookies(url)
        return self._cookies

    async def keep(self) -> None:
        """Keep what has become of the session."""
        if self._sessions is None or self.session is None or self._context is None or self.is_signed_out:
            return
        with suppress(Error, OSError, UnsafeFileError, ValueError):
            now = json.dumps(await self._context.storage_state())
            self._sessions.renew(self._origin, self.session, grown(self.session, now))
