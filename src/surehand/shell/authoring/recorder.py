"""Records one demonstration in a browser that a person, a test or a tool drives.

Laws of this module:

- The browser sees the app as a run will see it: the same language, time zone and size of the window.
- Nothing is written: a recording is handed over in memory.
- What could not be told makes the whole recording fail: a recording with a gap would be a wrong one.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, Self

from playwright.async_api import Browser, BrowserContext, Error, Page, Playwright, async_playwright

from surehand.core.workflow.recording import Actor, Recording
from surehand.shell.authoring.network import Network, origin_of
from surehand.shell.authoring.session import SessionReader
from surehand.shell.authoring.timeline import Timeline, make_recording
from surehand.shell.authoring.watching import Watcher
from surehand.shell.engines.browser.chromium import LANGUAGE, find_chromium, may_sandbox
from surehand.shell.engines.browser.viewing import TIME_ZONE, VIEWPORT
from surehand.shell.process import clean_environment

_LAUNCH_MS: Final = 30_000

#: Seconds between two looks at the session.
_SESSION_SECONDS: Final = 2.0

#: Milliseconds in which the last page comes to rest.
_REST_MS: Final = 3_000


class BrowserMissingError(Exception):
    """There is no Chromium, Chrome or Edge on this machine, or none that starts."""


class AppUnreachableError(Exception):
    """The address that was to be opened did not answer with a page."""


class RecordingFailedError(Exception):
    """Something was done that could not be recorded."""


class Recorder:
    """A browser window whose page is watched; made by ``Recorder.open``.

    Args:
        context: A context without pages.
        origin: The origin of the app.
        session: The session with which the context began.
    """

    def __init__(self, context: BrowserContext, origin: str, session: str | None) -> None:
        self._context = context
        self._origin = origin
        self._timeline = Timeline()
        self._network = Network(context)
        self._watcher = Watcher(context, self._timeline)
        self._session = SessionReader(context, session)
        self._agent_times: list[tuple[float, float]] = []
        self.page: Page

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, *, headed: bool = True, session: str | None = None) -> AsyncGenerator[Self]:
        """Open the app in a fresh browser, and watch it.

        Args:
            url: The address to begin at.
            headed: Whether there is a window.
            session: The signed-in session of the app, as ``session_state`` gave it.

        Raises:
            BrowserMissingError: There is no browser that starts.
            AppUnreachableError: The address does not open.
        """
        async with _fresh_context(headed=headed, session=session) as context:
            recorder = cls(context, origin_of(url), session)
            await recorder._start(url)
            reading = asyncio.create_task(recorder._read_session())
            try:
                yield recorder
            finally:
                reading.cancel()

    async def _start(self, url: str) -> None:
        self._watcher.start()
        self.page = await self._context.new_page()
        await self._watcher.attach(self.page)
        try:
            await self.page.goto(url)
        except Error:
            raise AppUnreachableError from None

    async def _read_session(self) -> None:
        while True:
            await asyncio.sleep(_SESSION_SECONDS)
            await self._session.read()

    @contextmanager
    def acting_as(self, actor: Actor) -> Generator[None]:
        """Mark what is done meanwhile as this actor's; everything else is the person's."""
        began = time.time() * 1000
        try:
            yield
        finally:
            if actor is Actor.AGENT:
                self._agent_times.append((began, time.time() * 1000))

    async def settle(self) -> None:
        """Have every page tell what was done on it and is not told yet."""
        with suppress(Error, TimeoutError):
            await self._watcher.flush()

    def keep_no_text(self, secret: bool) -> None:
        """Whether everything that is entered from now on is a secret: that it was is told, and never what it was."""
        self._timeline.keeps_no_text = secret

    def _actor_at(self, at: float) -> Actor:
        is_agent = any(int(began) <= at <= ended for began, ended in self._agent_times)
        return Actor.AGENT if is_agent else Actor.PERSON

    @property
    def failures(self) -> int:
        """How many things could not be told so far."""
        return self._watcher.failures

    async def session_state(self) -> str:
        """The session of the app as it is now, for the next recording or run; without what was typed into the app."""
        await self._session.read()
        return self._session.written(self._timeline.typed_after_sign_in())

    async def wait_closed(self) -> None:
        """Wait until the person has closed every window."""
        while self._context.pages:
            with suppress(Error):
                await self._context.pages[0].wait_for_event("close", timeout=0)

    async def _rest(self) -> None:
        """Let the last page come to rest, so that it is seen as the person saw it."""
        with suppress(Error):
            page = self._context.pages[-1] if self._context.pages else self.page
            await page.wait_for_load_state("networkidle", timeout=_REST_MS)
            await asyncio.sleep(_REST_MS / 10_000)

    async def stop(self) -> Recording:
        """End the demonstration.

        Raises:
            RecordingFailedError: Something that was done could not be told.
        """
        with suppress(Error):
            await self._rest()
            await self._watcher.flush()
            await self._network.settle()
            await self._session.read()
            await self._network.ask_again(self._origin)
        if self._watcher.failures:
            raise RecordingFailedError
        sent = self._network.sent(self._timeline.submissions)
        return make_recording(self._timeline, sent, self._network.answers, self._origin, self._actor_at)


@asynccontextmanager
async def _fresh_context(*, headed: bool, session: str | None) -> AsyncGenerator[BrowserContext]:
    async with async_playwright() as driver:
        browser = await _launch(driver, headed=headed)
        try:
            yield await browser.new_context(
                service_workers="block",
                accept_downloads=False,
                timezone_id=TIME_ZONE,
                viewport={"width": VIEWPORT["width"], "height": VIEWPORT["height"]},
                reduced_motion="reduce",
                storage_state=None if session is None else json.loads(session),
            )
        finally:
            with suppress(Error):
                await browser.close()


async def _launch(driver: Playwright, *, headed: bool) -> Browser:
    program = find_chromium()
    if program is None:
        raise BrowserMissingError
    try:
        return await driver.chromium.launch(
            executable_path=program,
            headless=not headed,
            args=list(LANGUAGE),
            chromium_sandbox=may_sandbox(),
            env={**clean_environment(os.environ)},
            timeout=_LAUNCH_MS,
        )
    except Error:
        raise BrowserMissingError from None
