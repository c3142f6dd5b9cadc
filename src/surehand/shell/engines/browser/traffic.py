"""The requests of a context, as the browser tells of them.

Laws of this module:

- This only listens; the fence decides.
- Only kinds of request upon whose answer a page acts are counted, and only those that begin after it was last told to
  forget the others.
"""

import asyncio
from typing import Final

from playwright.async_api import BrowserContext, Request


class Traffic:
    """What is on its way.

    Args:
        context: Whose requests.
    """

    #: Kinds of request upon whose answer a page acts.
    KINDS: Final = frozenset({"document", "fetch", "script", "xhr"})

    def __init__(self, context: BrowserContext) -> None:
        self._open: set[Request] = set()
        self._changed = asyncio.Event()
        self.is_over = False
        context.on("request", self._begun)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)

    def forget(self) -> None:
        """From now on, count only what begins from now on."""
        self._open.clear()
        self._changed.clear()
        self.is_over = False

    @property
    def is_quiet(self) -> bool:
        """Whether no request is on its way."""
        return not self._open

    async def quiet(self) -> None:
        """Wait until no request is on its way."""
        while self._open:
            self._changed.clear()
            await self._changed.wait()

    async def over(self) -> None:
        """Wait until a request was made and none is open."""
        await self._changed.wait()
        await self.quiet()
        self.is_over = True

    def _begun(self, request: Request) -> None:
        if request.resource_type in self.KINDS:
            self.is_over = False
            self._open.add(request)

    def _ended(self, request: Request) -> None:
        if request in self._open:
            self._open.discard(request)
            self._changed.set()
