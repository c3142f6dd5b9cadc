"""Watches the pages of a browser context: puts the script into every frame and takes its reports.

Laws of this module:

- The script lives in a world of its own: the page's scripts can neither see nor call it.
- Reports are taken in the order in which the browser gives them.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, cast

from playwright.async_api import BrowserContext, CDPSession, Error, Frame, Page
from returns.pipeline import is_successful

from surehand.core.wire import from_wire
from surehand.core.workflow.bundle import DialogAnswer
from surehand.core.workflow.recording import DialogSeen, Happened
from surehand.shell.authoring.known import Form
from surehand.shell.authoring.reports import Began, Failed, Moved, Report
from surehand.shell.authoring.timeline import Timeline
from surehand.shell.engines.browser.telling import naming_script

#: The name of the script's world, and of the function by which it reports.
_WORLD: Final = "surehand"
_TELL: Final = "surehandTell"

DialogForm = Literal["alert", "confirm", "prompt", "beforeunload"]

_FACE: Final = "globalThis[Symbol.for('surehand.face')]"


def watching_script() -> str:
    """The script that is put into every frame."""
    here = Path(__file__).parent
    parts = [(here / name).read_text(encoding="utf-8") for name in ("pages.js", "watching.js")]
    head = f"const FACE = Symbol.for('surehand.face');\n{naming_script()}\n"
    # A document can be offered the script twice: when it is attached, and when it begins.
    return f"(() => {{ if ({_FACE}) return;\n{head}{chr(10).join(parts)}\n}})();"


class Watcher:
    """Watches every page of a context.

    Args:
        context: The context, before its first page.
        timeline: Where the reports go.
    """

    def __init__(self, context: BrowserContext, timeline: Timeline) -> None:
        self._context = context
        self._timeline = timeline
        self._script = watching_script()
        self._worlds: dict[tuple[CDPSession, int], None] = {}
        self._asked: set[CDPSession] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pages = 0
        self._dialog: tuple[float, DialogForm] = (0.0, "alert")
        self.failures = 0

    def start(self) -> None:
        """Watch every page from now on."""
        self._context.on("page", self._page_opened)
        # Without anybody who listens, dialogs would be dismissed before the person sees them.
        self._context.on("dialog", lambda _dialog: None)

    def _page_opened(self, page: Page) -> None:
        self._pages += 1
        if self._pages > 1:
            self._timeline.note(time.time() * 1000, Happened(what="tab_opened"))
            self._later(self._attach(page))

    async def attach(self, page: Page) -> None:
        """Watch the first page; the others are watched by themselves."""
        await self._attach(page)

    async def _attach(self, page: Page) -> None:
        page.on("framenavigated", lambda frame: self._later(self._attach_apart(frame)))
        await self._watch(await self._context.new_cdp_session(page), is_first=self._pages <= 1)

    async def _attach_apart(self, frame: Frame) -> None:
        """Watch a frame that has a process of its own; all others belong to their page."""
        if frame.parent_frame is None:
            return
        with suppress(Error):
            await self._watch(await self._context.new_cdp_session(frame), is_first=False)

    async def _watch(self, session: CDPSession, *, is_first: bool) -> None:
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "Runtime.executionContextCreated": lambda event: self._world_made(session, event["context"]),
            "Runtime.executionContextDestroyed": lambda event: self._world_gone(session, event["executionContextId"]),
            "Runtime.executionContextsCleared": lambda _event: self._worlds_gone(session),
            "Runtime.bindingCalled": lambda event: self._reported(session, event, is_first=is_first),
            "Page.frameRequestedNavigation": lambda _event: self._asked.add(session),
            "Page.javascriptDialogOpening": self._dialog_opened,
            "Page.javascriptDialogClosed": self._dialog_closed,
        }
        for name, handler in handlers.items():
            session.on(name, handler)
        await _send(session, "Page.enable")
        await _send(session, "Runtime.enable")
        await _send(session, "Runtime.addBinding", name=_TELL, executionContextName=_WORLD)
        script = {"source": self._script, "worldName": _WORLD, "runImmediately": True}
        await _send(session, "Page.addScriptToEvaluateOnNewDocument", **script)

    # What the browser says

    def _world_made(self, session: CDPSession, world: dict[str, Any]) -> None:
        if world["name"] == _WORLD:
            self._worlds[session, world["id"]] = None
            self._teach(session, world["id"], self._timeline.known.all_forms())

    def _world_gone(self, session: CDPSession, number: int) -> None:
        self._worlds.pop((session, number), None)

    def _worlds_gone(self, session: CDPSession) -> None:
        for each in [each for each in self._worlds if each[0] is session]:
            del self._worlds[each]

    def _reported(self, session: CDPSession, event: dict[str, Any], *, is_first: bool) -> None:
        if event["name"] != _TELL:
            return
        read = from_wire({"what": json.loads(event["payload"])}, Report)
        if not is_successful(read):
            self.failures += 1
            return
        match read.unwrap().what:
            case Failed():
                self.failures += 1
            case Began() | Moved() as report:
                by_hand = session not in self._asked and is_first and isinstance(report, Began)
                self._asked.discard(session)
                self._timeline.arrival(report, by_hand=by_hand)
            case report:
                self._teach_all(self._timeline.add(report))

    def _dialog_opened(self, event: dict[str, Any]) -> None:
        self._dialog = (time.time() * 1000, event["type"])

    def _dialog_closed(self, event: dict[str, Any]) -> None:
        at, form = self._dialog
        answer = DialogAnswer.ACCEPT if event["result"] else DialogAnswer.DISMISS
        self._timeline.note(at, DialogSeen(form=form, answer=answer))

    # What the script is told

    def _teach_all(self, forms: list[Form]) -> None:
        if forms:
            for session, number in self._worlds:
                self._teach(session, number, forms)

    def _teach(self, session: CDPSession, number: int, forms: list[Form]) -> None:
        if forms:
            entries = json.dumps([form.for_page() for form in forms])
            self._later(self._evaluate(session, number, f"{_FACE}.know({entries})"))

    async def _evaluate(self, session: CDPSession, number: int, expression: str) -> None:
        """Run something in a world that may be gone by now."""
        with suppress(Error):
            await _send(session, "Runtime.evaluate", expression=expression, contextId=number)

    async def flush(self) -> None:
        """Have every page tell what it has not told yet, and wait for it."""
        flushing = [self._evaluate(session, number, f"{_FACE}.flush()") for session, number in self._worlds]
        await asyncio.wait_for(asyncio.gather(*flushing), 10)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None and not isinstance(task.exception(), Error):
            self.failures += 1


async def _send(session: CDPSession, method: str, **parameters: object) -> None:
    # The library's types leave the parameters open.
    await cast("Any", session).send(method, parameters)
