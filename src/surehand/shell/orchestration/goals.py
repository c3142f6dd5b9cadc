"""Works on goals in a browser of its own, behind a fence that is never opened.

Laws of this module:

- The machine decides what is done next, the page does it. Nothing here looks at what was seen or decided.
- The fence is never armed: no write leaves but those that a person confirmed as harmless. What is told about a record
  is what the fence measured.
- What a planner raises is an answer that nobody understands. What a browser or a fence does ends the task as a code.
- Every task has a browser, a context and a port of the fence for itself, and leaves nothing running.
"""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final, assert_never

from attrs import define, field, frozen
from playwright.async_api import Error, Page

from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.goals import (
    Act,
    Acted,
    ChooseOption,
    ClickNode,
    Command,
    Decide,
    Decided,
    End,
    Event,
    Look,
    Measured,
    OpenPath,
    PageAction,
    Planner,
    ReadNode,
    Seen,
    TypeText,
    Undecided,
    Unseen,
    Work,
    advance,
    begin,
    concluded,
)
from surehand.core.orchestration.task import Task, port_of
from surehand.core.outcome.evidence import Delivery
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Choose,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Open,
    SaveObserved,
    Texts,
)
from surehand.core.workflow.fence import FenceRules, Origin, parse_origin
from surehand.core.workflow.reach import Reach
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.target import Constant
from surehand.core.workflow.target import Path as AppPath
from surehand.shell.engines.browser.account import Sessions
from surehand.shell.engines.browser.engine import Tools, start_tools
from surehand.shell.engines.browser.page import RunPage
from surehand.shell.engines.browser.readback import Network
from surehand.shell.engines.browser.telling import UnseenError
from surehand.shell.engines.browser.viewing import Limits, new_context
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.fence.client import FenceRun, FenceUnavailableError
from surehand.shell.fence.dial import Dialer, examine
from surehand.shell.fence.journal import read_delivery
from surehand.shell.fence.tls import upstream_context
from surehand.shell.orchestration.looking import NOTHING, Sight, Way, look

_NOT_SENT: Final = Measured(record_changed=RecordChanged.NO)
_BROKEN: Final = Acted(Fault(FaultKind.ENGINE_BROKEN))

#: For so many milliseconds at most a page that has loaded is waited for until it asks its server for nothing.
_QUIET_MS: Final = 3_000


def _origin(text: str) -> Origin:
    origin = parse_origin(text)
    if origin is None:
        raise ValueError("an origin is scheme://host or scheme://host:port")
    return origin


@frozen
class BrowserTaskRunner:
    """Works on goals on the pages of one app. No write leaves: a task that tries one ends as ``write_stopped``.

    Args:
        origin: The app, as ``scheme://host[:port]``.
        planner: Decides what to do next.
        journals: Where the fence keeps what it measured; a folder for task runners alone.
        first_path: What is opened first.
        harmless_writes: Writes that a person confirmed as harmless, such as a sign-in.
        sessions: Where the app's signed-in session is kept, if it is.
        network: How the app is reached.
        limits: How long to wait.

    Raises:
        ValueError: The origin is none.
    """

    origin: Origin = field(converter=_origin)
    planner: Planner
    journals: Path
    first_path: AppPath = field(default="/", kw_only=True)
    harmless_writes: tuple[WriteRoute, ...] = field(default=(), kw_only=True)
    sessions: Sessions | None = field(default=None, kw_only=True)
    network: Network = field(factory=Network, kw_only=True)
    limits: Limits = field(factory=Limits, kw_only=True)

    def run(self, task: Task) -> Task:
        """The task as it ended."""
        return asyncio.run(self._run(task))

    def look_up(self, task_id: str) -> Doubt:
        """What the journals of a task say that did not come to its end; a port without a journal was never opened."""
        deliveries = (read_delivery(self.journals, path.stem) for path in self._journals_of(task_id))
        return Doubt.NOT_DELIVERED if all(each is Delivery.NOT_SENT for each in deliveries) else Doubt.UNKNOWN

    def _journals_of(self, task_id: str) -> Iterator[Path]:
        return self.journals.glob(f"{port_of(task_id)}-*.jsonl")

    async def _run(self, task: Task) -> Task:
        # An exception that nobody awaits would be printed, with what was typed.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        work = begin(task, self.first_path)
        if not await self._is_there():
            return concluded(advance(work, Acted(Fault(FaultKind.APP_UNREACHABLE))), _NOT_SENT)
        try:
            tools = await start_tools(self.journals, headed=False, network=self.network)
        except EngineUnavailableError:
            return concluded(advance(work, _BROKEN), _NOT_SENT)
        try:
            return await self._behind_fence(work, tools)
        finally:
            with suppress(Exception):  # what a broken browser says about its end is of no use to anyone
                await tools.held.aclose()

    async def _is_there(self) -> bool:
        authority = self.network.extra_authority
        dialer = Dialer(upstream_context(authority), self.network.proxies)
        return await examine(self.origin, dialer, upstream_context(authority, http2=True)) is Reach.REACHED

    async def _behind_fence(self, work: Work, tools: Tools) -> Task:
        rules = FenceRules((str(self.origin),), self.harmless_writes)
        try:
            fence = await tools.fence.open_run(f"{port_of(work.task.id)}-{secrets.token_hex(4)}", rules)
        except FenceUnavailableError:
            return concluded(advance(work, _BROKEN), _NOT_SENT)
        with suppress(Error, TimeoutError, FenceUnavailableError):
            work = await self._on_a_page(work, tools, fence)
        return concluded(work, await _measured(fence))

    async def _on_a_page(self, work: Work, tools: Tools, fence: FenceRun) -> Work:
        session = None if self.sessions is None else self.sessions.load(str(self.origin))
        async with AsyncExitStack() as held:
            context = await new_context(tools.browser, fence.proxy_url, session)
            held.push_async_callback(context.close)
            page = await context.new_page()
            hand = _Hand(page, RunPage(page, str(self.origin), fence, _never, self.limits), self.limits.open_ms)
            while not isinstance(work.command, End):
                work = advance(work, await self._event(work.command, hand))
        return work

    async def _event(self, command: Command, hand: "_Hand") -> Event:
        match command:
            case Look():
                return await hand.look()
            case Act(action):
                return Acted(await hand.act(action))
            case Decide(task, observation, history):
                try:
                    return Decided(await asyncio.to_thread(self.planner.decide, task, observation, history))
                except Exception:  # noqa: BLE001 - a planner of an embedding program may raise anything
                    return Undecided()
            case End():
                raise AssertionError("work that is over asks for nothing")
            case _:  # pragma: no cover
                assert_never(command)


@define
class _Hand:
    """Looks at the page of one task, and acts on what was seen last."""

    page: Page
    run_page: RunPage
    open_ms: int
    sight: Sight = NOTHING

    async def look(self) -> Seen | Unseen:
        """What the page shows once it is at rest, or as long as that is waited for."""
        with suppress(Error):
            await self.page.wait_for_load_state("load", timeout=self.open_ms)
            await self.page.wait_for_load_state("networkidle", timeout=_QUIET_MS)
        try:
            self.sight = await look(self.page)
        except (Error, UnseenError):
            return Unseen()
        return Seen(self.sight.observation)

    async def act(self, action: PageAction) -> Done | Texts | Fault:
        """Perform one action."""
        match action:
            case OpenPath(path):
                return _plain(await self.run_page.perform(Open(path)))
            case ReadNode(node):
                return await self.sight.text(node)
            case ClickNode(node) | TypeText(node) | ChooseOption(node):
                way = await self.sight.way(node)
                return way if isinstance(way, Fault) else await self._at(action, way)
            case _:  # pragma: no cover
                assert_never(action)

    async def _at(self, action: ClickNode | TypeText | ChooseOption, way: Way) -> Done | Texts | Fault:
        if way.target is None:
            return Fault(FaultKind.TARGET_MISSING)
        row = way.target.row.text if isinstance(way.target.row, Constant) else None
        match action:
            case ClickNode():
                return _plain(await self.run_page.perform(Click(way.target, row)))
            case TypeText(text=text):
                return _plain(await self.run_page.perform(Fill(way.target, row, text)))
            case ChooseOption(label=label):
                return _plain(await self.run_page.perform(Choose(way.target, row, label, way.control)))
            case _:  # pragma: no cover
                assert_never(action)


def _plain(answer: Done | Texts | Fault | SaveObserved) -> Done | Texts | Fault:
    """An answer of a page that was not asked to save."""
    if isinstance(answer, SaveObserved):
        raise TypeError("nothing was saved")
    return answer


async def _never() -> BoundaryAnswer:
    return BoundaryAnswer.REFUSED


async def _measured(fence: FenceRun) -> Measured:
    """What the fence says of the whole task, once no page is left that could send anything."""
    was_stopped = False
    with suppress(FenceUnavailableError):
        was_stopped = (await fence.counts()).stopped_writes > 0
    verdict = await fence.settle(0)
    changed = RecordChanged.NO if verdict.delivery is Delivery.NOT_SENT else RecordChanged.UNKNOWN
    return Measured(record_changed=changed, write_stopped=was_stopped)
