"""The window in which an agent shows a task while a person watches.

Laws of this module:

- What an agent does is marked as the agent's, also when the page tells it late; everything else is the person's.
- While a person is waited for, an agent neither looks nor acts.
- Whatever the browser says when something fails becomes a closed code by its type.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final, Self

from playwright.async_api import Error, Page

from surehand.core.authoring import Problem, Projection, SeenNode, project
from surehand.core.workflow.params import text_problem
from surehand.core.workflow.recording import Actor, Control, Recording
from surehand.shell.authoring.observing import View, click, drawing, enter, look, picture
from surehand.shell.authoring.recorder import (
    AppUnreachableError,
    BrowserMissingError,
    Recorder,
    RecordingFailedError,
)
from surehand.shell.authoring.refused import RefusedError
from surehand.shell.engines.browser.telling import UnseenError

#: Seconds in which a page reacts to an act, and those after which it does not answer at all.
_REACT_SECONDS: Final = 0.4
_PATIENCE_SECONDS: Final = 30.0

#: What is not typed into, and what takes several lines.
_NOT_TYPED: Final = frozenset({Control.CHECKBOX, Control.RADIO, Control.FILE, Control.BUTTON, Control.LINK})
_SEVERAL_LINES: Final = frozenset({Control.TEXT, Control.EDITABLE})


class Window:
    """An open window; made by ``Window.open``.

    Args:
        recorder: Watches it.
        stack: Closes it.
    """

    def __init__(self, recorder: Recorder, stack: AsyncExitStack) -> None:
        self._recorder = recorder
        self._stack = stack
        self._view = View.empty()
        self._projection: Projection | None = None
        self.paused = False

    @classmethod
    async def open(cls, url: str, *, headed: bool, session: str | None) -> Self:
        """Open the app.

        Raises:
            RefusedError: There is no browser, or the app does not open.
        """
        stack = AsyncExitStack()
        try:
            recorder = await stack.enter_async_context(Recorder.open(url, headed=headed, session=session))
        except BrowserMissingError:
            raise RefusedError(Problem.BROWSER_MISSING) from None
        except AppUnreachableError:
            raise RefusedError(Problem.APP_UNREACHABLE) from None
        return cls(recorder, stack)

    async def look(self, start: int, given: int) -> Projection:
        """Look at the page; the ids of an earlier look hold no more.

        Args:
            start: As for ``project``.
            given: As for ``project``.

        Raises:
            RefusedError: It cannot be looked at.
        """
        with self._answering():
            async with asyncio.timeout(_PATIENCE_SECONDS):
                view = await look(self._page)
                await self._view.forget()
        self._view, self._projection = view, project(view.page, start, given)
        return self._projection

    async def click(self, node: str) -> None:
        """Click a node of the last look.

        Raises:
            RefusedError: There is none, or the page did not take it.
        """
        number, _ = self._seen(node)
        async with self._acting():
            await click(await self._view.element(number))

    async def click_at(self, x: int, y: int) -> None:
        """Click a place, in the pixels of the page.

        Raises:
            RefusedError: The page did not take it.
        """
        async with self._acting():
            await self._page.mouse.click(x, y)

    async def enter(self, node: str, text: str) -> None:
        """Enter a text of the agent's own into a field of the last look.

        Raises:
            RefusedError: There is none, it is secret, the text does not fit it, or the page did not take it.
        """
        number, seen = self._seen(node)
        if seen.control is Control.SECRET:
            raise RefusedError(Problem.SECRET_FIELD)
        lines = text.split("\n") if seen.control in _SEVERAL_LINES else [text]
        if seen.control is None or seen.control in _NOT_TYPED:
            raise RefusedError(Problem.NOT_A_FIELD)
        if any(map(text_problem, lines)):
            raise RefusedError(Problem.TEXT_REFUSED)
        async with self._acting():
            await enter(self._page, await self._view.element(number), seen.control, text)

    async def pause(self, node: str | None, *, secret: bool) -> None:
        """Wait for the person, who finds the cursor in this field.

        Raises:
            RefusedError: There is no such node, or the page does not take it.
        """
        number = None if node is None else self._seen(node)[0]
        with self._answering():
            await self._recorder.settle()
            if number is not None:
                await (await self._view.element(number)).focus()
        self._recorder.keep_no_text(secret)
        self.paused = True

    async def resume(self) -> None:
        """The person has entered it: have the page tell it as the person's."""
        await asyncio.sleep(_REACT_SECONDS)
        await self._recorder.settle()
        self._recorder.keep_no_text(False)
        self.paused = False

    async def picture(self) -> bytes:
        """The page as it looks.

        Raises:
            RefusedError: The page does not show itself.
        """
        with self._answering():
            return await picture(self._page)

    async def drawing(self) -> bytes:
        """The nodes of the last look, drawn.

        Raises:
            RefusedError: There was none, or it cannot be drawn.
        """
        if self._projection is None:
            raise RefusedError(Problem.NODE_UNKNOWN)
        with self._answering():
            return await drawing(self._page, self._view, self._projection)

    async def stop(self) -> tuple[Recording, str]:
        """End the demonstration: what was recorded, and the session of the app.

        Raises:
            RefusedError: Something that was done could not be recorded.
        """
        try:
            recording = await self._recorder.stop()
        except RecordingFailedError:
            raise RefusedError(Problem.RECORDING_FAILED) from None
        return recording, await self._recorder.session_state()

    async def close(self) -> None:
        """Close the window."""
        await self._stack.aclose()

    @property
    def _page(self) -> Page:
        """The page.

        Raises:
            RefusedError: The person has closed it.
        """
        if self._recorder.page.is_closed():
            raise RefusedError(Problem.WINDOW_GONE)
        return self._recorder.page

    def _seen(self, node: str) -> tuple[int, SeenNode]:
        if self._projection is None or node not in self._projection.numbers:
            raise RefusedError(Problem.NODE_UNKNOWN)
        number = self._projection.numbers[node]
        return number, self._view.page.nodes[number]

    @asynccontextmanager
    async def _acting(self) -> AsyncGenerator[None]:
        """Do something as the agent, and have the page tell it before anybody else does anything."""
        with self._recorder.acting_as(Actor.AGENT):
            try:
                with self._answering():
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        yield
            finally:
                await asyncio.sleep(_REACT_SECONDS)
                await self._recorder.settle()

    @contextmanager
    def _answering(self) -> Generator[None]:
        try:
            yield
        except (Error, TimeoutError, UnseenError):
            gone = self._recorder.page.is_closed()
            raise RefusedError(Problem.WINDOW_GONE if gone else Problem.NOT_ACTED) from None
