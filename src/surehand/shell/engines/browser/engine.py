"""The browser engine: drives the replay machine against a real page.

Laws of this module:

- The machine decides, the page performs. Nothing here looks at what was observed.
- A wish to stop and the time limit are told to the machine until the save is asked for, and never afterwards:
  a run that may have written is read back to its end, within a bound.
- Browser and fence are started once and serve many runs; each run has a context, a proxy and a page of its own.
- A broken browser is replaced between runs, never within one.
"""

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import define, field, frozen
from playwright.async_api import Browser, Error, Page, Playwright, async_playwright

from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    EarlierAttempts,
    Evidence,
    ProcessFact,
    Refusal,
    RunObserved,
)
from surehand.core.outcome.result import EngineName, FailedCheck
from surehand.core.request.answers import NO_REPORT
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
    Done,
    Fault,
    FaultKind,
    Finish,
    Observation,
    OutOfTime,
    ReadRecords,
    RecordsUnavailable,
    Save,
    Wait,
)
from surehand.core.workflow.fence import FenceRules, Origin, parse_origin
from surehand.core.workflow.reach import HINDRANCES, Hindrance, Reach
from surehand.core.workflow.replay import start, step
from surehand.core.workflow.source import DatabaseRecords, PageRecords, RecordPage
from surehand.core.workflow.trace import Trace
from surehand.shell.engines.base import Boundary, Job, RunRefusedError
from surehand.shell.engines.browser.account import Account, Sessions
from surehand.shell.engines.browser.chromium import DeadEnd, arguments, find_chromium, may_sandbox
from surehand.shell.engines.browser.database_records import DatabaseReader, UnsupportedDatabaseError
from surehand.shell.engines.browser.finding import register_selectors
from surehand.shell.engines.browser.json_records import JsonReader
from surehand.shell.engines.browser.page import PageCommand, RunPage
from surehand.shell.engines.browser.page_records import PageReader
from surehand.shell.engines.browser.readback import Network, RecordChannel
from surehand.shell.engines.browser.viewing import Limits, new_context
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.fence.client import Fence, FenceRun, FenceUnavailableError
from surehand.shell.fence.dial import Dialer, examine
from surehand.shell.fence.tls import upstream_context
from surehand.shell.process import clean_environment
from surehand.shell.traces import Tracer, write_trace

T = TypeVar("T")

#: The engine could not be started, and nothing was sent to the app.
_UNAVAILABLE: Final = CallRefused(Refusal.ENGINE_UNAVAILABLE, EarlierAttempts.NONE)

#: Milliseconds that a launch of the browser may take.
_LAUNCH_MS: Final = 30_000

#: Seconds beyond the read-back's own deadline that slow answers of the channel may take altogether; pages are slower.
_READ_BACK_GRACE: Final = 2.0
_PAGES_GRACE: Final = 10.0

#: Seconds that closing a context, or the browser and the fence, may take.
_CLOSE_SECONDS: Final = 10.0


@frozen
class Tools:
    """What is started once: the browser and the fence, and how they are ended."""

    browser: Browser
    fence: Fence
    held: AsyncExitStack = field(repr=False)


@frozen
class _Visit:
    """What one run works with: its page, and the channel over which its records are read."""

    page: RunPage
    channel: RecordChannel


@define
class _Progress:
    """What a run may still do: stop until its save is asked for, then read back until ``read_until``."""

    boundary: Boundary
    stop_at: float
    read_until: float | None = None

    async def cross(self) -> BoundaryAnswer:
        """Pass the delivery boundary, unless the caller wants the run to stop."""
        if self.boundary.stop_requested():
            return BoundaryAnswer.STOP_WANTED
        granted = await asyncio.to_thread(self.boundary.cross)
        return BoundaryAnswer.GRANTED if granted else BoundaryAnswer.REFUSED

    def stopped(self) -> Canceled | OutOfTime | None:
        """Why the next command is not performed."""
        if self.read_until is not None:
            return None
        if self.boundary.stop_requested():
            return Canceled()
        return OutOfTime() if time.monotonic() > self.stop_at else None

    def seconds_to_read(self, usual: float) -> float:
        """How long something may take after the save: as usual, or what the bound of the read-back leaves of it."""
        return usual if self.read_until is None else max(0.0, min(usual, self.read_until - time.monotonic()))


class BrowserEngine:
    """Executes jobs in Chromium, one at a time.

    Args:
        journal_folder: Where the fence keeps its journals.
        headed: Whether the browser shows a window.
        limits: How long the engine waits for the app.
        network: How apps are reached.
        sessions: Where the signed-in sessions of apps are kept.
        databases: The operator's databases, by the names that bundles use.
        trace_folder: Where the traces of runs are kept, if they are.
    """

    def __init__(  # noqa: PLR0913 - what an installation may say about its engine
        self,
        journal_folder: Path,
        *,
        headed: bool = False,
        limits: Limits | None = None,
        network: Network | None = None,
        sessions: Sessions | None = None,
        databases: Mapping[str, str] | None = None,
        trace_folder: Path | None = None,
    ) -> None:
        self._journal_folder = journal_folder
        self._trace_folder = trace_folder
        self._headed = headed
        self._limits = limits or Limits()
        self._network = network or Network()
        self._sessions = sessions
        self._databases = DatabaseReader(databases or {})
        trust = upstream_context(self._network.extra_authority)
        self._dialer = Dialer(trust, self._network.proxies)
        self._http2 = upstream_context(self._network.extra_authority, http2=True)
        self._reached: set[Origin] = set()
        self._tools: Tools | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._loop = asyncio.new_event_loop()
        # An exception that nobody awaits would be printed, with what was typed.
        self._loop.set_exception_handler(lambda _loop, _context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name="surehand-browser", daemon=True)
        self._thread.start()

    @property
    def name(self) -> EngineName:
        """As the protocol says."""
        return EngineName.BROWSER

    def warm_up(self) -> None:
        """Start browser and fence now, so that the first run need not wait for them.

        Raises:
            EngineUnavailableError: One of them does not start.
        """
        self._call(self._ready())

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """As the protocol says."""
        return self._call(self._execute(job, boundary))

    def close(self) -> None:
        """End the browser and the fence; a second call does nothing."""
        if self._loop.is_closed():
            return
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # What is kept between runs

    async def _ready(self) -> Tools:
        """Browser and fence, started anew when the browser is gone."""
        if self._tools is None or not self._tools.browser.is_connected():
            await self._drop_tools()
            self._tools = await start_tools(self._journal_folder, headed=self._headed, network=self._network)
        return self._tools

    async def _drop_tools(self) -> None:
        tools, self._tools = self._tools, None
        if tools is not None:
            await _quietly(tools.held.aclose())

    async def _tidied(self) -> None:
        """Wait until the page of the run before is gone."""
        if self._tidying is not None:
            await asyncio.wait({self._tidying})
            self._tidying = None

    async def _end(self) -> None:
        await self._tidied()
        await self._drop_tools()

    # One run

    async def _execute(self, job: Job, boundary: Boundary) -> Evidence:
        progress = _Progress(boundary, time.monotonic() + job.time_limit_ms / 1000)
        if stopped := progress.stopped():
            return _ended_at_once(job, stopped)
        self._refuse_unread(job)
        if hindrance := await self._hindrance(job):
            return _refused(hindrance)
        account = Account(self._sessions, _app_origin(job))
        held, tracer = AsyncExitStack(), Tracer(job.bundle, job.inputs)
        try:
            visit = await self._begin(job, progress, account, held)
            return await self._drive(job, visit, progress, account, tracer)
        except EngineUnavailableError:
            return _UNAVAILABLE
        finally:
            # The answer does not wait for the context to close, nor for the trace; the next run does.
            self._tidying = asyncio.create_task(self._tidy(held, job.run_id, tracer.trace()))

    async def _tidy(self, held: AsyncExitStack, run_id: str, trace: Trace) -> None:
        if self._trace_folder is not None:
            await asyncio.to_thread(write_trace, self._trace_folder, run_id, trace)
        await _quietly(held.aclose())

    def _refuse_unread(self, job: Job) -> None:
        """Refuse a run whose records lie in a database that cannot be read.

        Raises:
            RunRefusedError: It is not connected, or of another kind.
        """
        source = job.bundle.read_back.source
        try:
            if isinstance(source, DatabaseRecords):
                self._databases.path(source.connection)
        except UnsupportedDatabaseError:
            raise RunRefusedError(Refusal.NOT_READY_TO_RUN, FailedCheck.RECORD_CHECK_MISSING) from None

    async def _hindrance(self, job: Job) -> Hindrance | None:
        """What keeps the app from being reached, if anything. Nothing is sent to it."""
        origin = parse_origin(job.target.origin)
        if origin is None:
            return HINDRANCES[Reach.NOBODY_THERE]
        reach = await examine(origin, self._dialer, self._http2, listen=origin not in self._reached)
        if reach is not Reach.REACHED:
            self._reached.discard(origin)
            return HINDRANCES[reach]
        self._reached.add(origin)
        return None

    async def _begin(self, job: Job, progress: _Progress, account: Account, held: AsyncExitStack) -> _Visit:
        """The page of a run, alone in a fresh context behind the run's own port, and its read-back channel."""
        await self._tidied()
        origin, rules = _app_origin(job), _rules(job)
        try:
            tools, fence = await self._open_run(job.run_id, rules)
            held.push_async_callback(fence.close)
            async with asyncio.timeout(self._limits.fresh_ms / 1000):
                context = await new_context(tools.browser, fence.proxy_url, account.session)
                held.push_async_callback(context.close)
                page = await context.new_page()
            account.live_in(context)
            held.push_async_callback(account.keep)
        except (Error, TimeoutError):
            # Nothing was sent yet. A browser that opens no page is not kept for the next run.
            held.push_async_callback(self._drop_tools)
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING) from None
        gives_up = lambda: progress.stopped() is not None  # noqa: E731 - as short as a name for it
        channel = self._channel(job, account, _ReadingPort(tools, f"{job.run_id}-read", rules, account, held))
        return _Visit(RunPage(page, origin, fence, progress.cross, self._limits, gives_up), channel)

    def _channel(self, job: Job, account: Account, port: "_ReadingPort") -> RecordChannel:
        # A channel with headers of its own has its account in them.
        json = JsonReader(job.target, self._network, *(() if job.target.record_headers else (account.cookies_for,)))
        return RecordChannel(json, PageReader(port.page, _app_origin(job), self._limits), self._databases)

    async def _open_run(self, run_id: str, rules: FenceRules) -> tuple[Tools, FenceRun]:
        """The port of a run. A fence that died since the last run is started once more, and the browser with it."""
        with suppress(FenceUnavailableError):
            tools = await self._ready()
            return tools, await tools.fence.open_run(run_id, rules)
        await self._drop_tools()
        tools = await self._ready()
        try:
            return tools, await tools.fence.open_run(run_id, rules)
        except FenceUnavailableError:
            raise EngineUnavailableError(FailedCheck.FENCE_NOT_STARTING) from None

    async def _drive(
        self, job: Job, visit: _Visit, progress: _Progress, account: Account, tracer: Tracer
    ) -> RunObserved:
        state, command = start(job.bundle, job.inputs)
        while not isinstance(command, Finish):
            observation = progress.stopped() or await self._perform(command, visit, progress)
            if isinstance(command, Save):
                read_back = job.bundle.read_back
                grace = _PAGES_GRACE if isinstance(read_back.source, PageRecords | RecordPage) else _READ_BACK_GRACE
                progress.read_until = time.monotonic() + read_back.deadline_ms / 1000 + grace
            elif isinstance(observation, Fault):
                account.is_signed_out = observation.kind is FaultKind.SIGN_IN_SHOWN
                # What was not waited for to its end, because the run is to stop, is no fault.
                observation = progress.stopped() or observation
            tracer.note(state, command, observation)
            state, command = step(state, observation)
        return _observed(command)

    async def _perform(
        self, command: PageCommand | ReadRecords | Wait, visit: _Visit, progress: _Progress
    ) -> Observation:
        match command:
            case ReadRecords(source=source):
                usual = self._limits.pages_ms if isinstance(source, PageRecords | RecordPage) else self._limits.read_ms
                seconds = progress.seconds_to_read(usual / 1000)
                return await visit.channel.read(command, seconds) if seconds else RecordsUnavailable()
            case Wait(milliseconds=milliseconds):
                await asyncio.sleep(progress.seconds_to_read(milliseconds / 1000))
                return Done()
            case _:
                return await visit.page.perform(command)


@define
class _ReadingPort:
    """A port of the fence beside that of the run, for pages that are only looked at; opened when first needed."""

    tools: Tools
    name: str
    rules: FenceRules
    account: Account
    held: AsyncExitStack
    fence: FenceRun | None = None

    @asynccontextmanager
    async def page(self) -> AsyncGenerator[Page]:
        """A page in a fresh context of the run's account.

        Raises:
            FenceUnavailableError: The fence is gone.
            Error: The browser is.
        """
        if self.fence is None:
            self.fence = await self.tools.fence.open_run(self.name, self.rules)
            self.held.push_async_callback(self.fence.close)
        session = await self.account.session_now()
        context = await new_context(self.tools.browser, self.fence.proxy_url, session)
        try:
            yield await context.new_page()
            await self.account.take(context)
        finally:
            await _quietly(context.close())


def _app_origin(job: Job) -> str:
    return str(parse_origin(job.target.origin))


def _rules(job: Job) -> FenceRules:
    """What the fence lets through: the app where it is in this run, and what the bundle names beside it."""
    bundle = job.bundle
    origins = (_app_origin(job), *bundle.origins[1:])
    return FenceRules(origins, bundle.harmless_writes, bundle.blocked_writes, bundle.sockets)


def _refused(hindrance: Hindrance) -> Evidence:
    """The evidence of a run whose app cannot be reached.

    Raises:
        RunRefusedError: Something has a name that the caller is told.
    """
    if hindrance.checks:
        raise RunRefusedError(hindrance.refusal, *hindrance.checks)
    return CallRefused(hindrance.refusal, EarlierAttempts.NONE)


def _ended_at_once(job: Job, stopped: Canceled | OutOfTime) -> Evidence:
    """The evidence of a run that was stopped before anything was opened."""
    state, _ = start(job.bundle, job.inputs)
    _, command = step(state, stopped)
    return _observed(command) if isinstance(command, Finish) else NO_REPORT


def _observed(end: Finish) -> RunObserved:
    return RunObserved(ProcessFact.EXITED_CLEANLY, end.report, end.pause, Approval.NOT_ASKED)


async def start_tools(journal_folder: Path, *, headed: bool, network: Network | None = None) -> Tools:
    """Start the driver, the fence and the browser, or nothing of them."""
    async with AsyncExitStack() as starting:
        fence = await _start_fence(journal_folder, network or Network())
        starting.push_async_callback(fence.close)
        driver = await async_playwright().start()
        starting.push_async_callback(driver.stop)
        await register_selectors(driver)
        dead_end = DeadEnd()
        starting.callback(dead_end.close)
        browser = await _launch(driver, fence.spki, dead_end, headed=headed)
        starting.push_async_callback(browser.close)
        return Tools(browser, fence, starting.pop_all())


async def _start_fence(journal_folder: Path, network: Network) -> Fence:
    try:
        return await Fence.start(journal_folder, network.extra_authority, network.proxies)
    except FenceUnavailableError:
        raise EngineUnavailableError(FailedCheck.FENCE_NOT_STARTING) from None


async def _launch(driver: Playwright, spki: str, dead_end: DeadEnd, *, headed: bool) -> Browser:
    program = find_chromium()
    if program is None:
        raise EngineUnavailableError(FailedCheck.BROWSER_MISSING)
    try:
        return await driver.chromium.launch(
            executable_path=program,
            headless=not headed,
            args=arguments(spki),
            chromium_sandbox=may_sandbox(),
            proxy={"server": dead_end.url},
            env={**clean_environment(os.environ)},
            timeout=_LAUNCH_MS,
            # The worker ends the browser; signals that reach the driver do not.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
    except Error:
        raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING) from None


async def _quietly(closing: Awaitable[object]) -> None:
    """Close something that may be broken; what it says about that is not of use to anyone."""
    with suppress(Exception):
        await asyncio.wait_for(closing, _CLOSE_SECONDS)
