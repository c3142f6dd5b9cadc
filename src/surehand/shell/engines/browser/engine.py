"""The browser engine: drives the replay machine against a real page.

Laws of this module:

- The machine decides, the page performs. Nothing here looks at what was observed.
- A wish to stop and the time limit are told to the machine until the save is asked for, and never afterwards:
  a run that may have written is read back to its end, within a bound.
- Browser and fence are started once and serve many runs; each run has a context, a proxy and a page of its own.
- A broken browser is replaced between runs, never within one; the windows of stopped runs go with it.
- Where a person attends, a run that stopped before its save keeps its window. Between its legs nothing is performed
  there; the next leg has a boundary of its own.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import define, evolve, field, frozen
from playwright.async_api import Browser, Error, Page, Playwright, async_playwright

from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    EarlierAttempts,
    Evidence,
    OpenPause,
    ProcessFact,
    Refusal,
    RunObserved,
)
from surehand.core.outcome.result import EngineName, FailedCheck
from surehand.core.workflow.addresses import source_at
from surehand.core.workflow.commands import (
    Canceled,
    Command,
    Done,
    Fault,
    FaultKind,
    Finish,
    Observation,
    OutOfTime,
    ReadRecords,
    Records,
    RecordsUnavailable,
    Save,
    Wait,
)
from surehand.core.workflow.fence import FenceRules, Origin, parse_origin
from surehand.core.workflow.reach import HINDRANCES, Hindrance, Reach
from surehand.core.workflow.replay import Entering, State, TakeBaseline, resume, start, step
from surehand.core.workflow.source import DatabaseRecords, PageRecords, RecordPage
from surehand.shell.engines.base import Boundary, Job, RunRefusedError, Stop, WindowGoneError
from surehand.shell.engines.browser.account import Account, Sessions
from surehand.shell.engines.browser.chromium import DeadEnd, arguments, find_chromium, may_sandbox
from surehand.shell.engines.browser.database_records import DatabaseReader, UnsupportedDatabaseError
from surehand.shell.engines.browser.finding import register_selectors
from surehand.shell.engines.browser.json_records import JsonReader
from surehand.shell.engines.browser.live import LiveWindows, Progress, Session, shown, stop_of
from surehand.shell.engines.browser.page import RunPage
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
_PAGES_GRACE: Final = 40.0

#: Seconds that closing a context, or the browser and the fence, may take.
_CLOSE_SECONDS: Final = 10.0


@frozen
class Tools:
    """What is started once: the browser and the fence, and how they are ended."""

    browser: Browser
    fence: Fence
    held: AsyncExitStack = field(repr=False)


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
        attended: Whether a run that stops before its save keeps its window for a person.
        pictures: Whether a picture is taken of the page at which a run stops.
        before_save: Told each run with its baseline as soon as that was read; called in a thread.
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
        attended: bool = False,
        pictures: bool = False,
        before_save: Callable[[Job, Records], None] = lambda _job, _baseline: None,
    ) -> None:
        self._before_save = before_save
        self._attended = attended
        self._pictures = pictures
        self._windows = LiveWindows()
        self._stop: Stop | None = None
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

    # What a person's decision asks for

    def last_stop(self) -> Stop | None:
        """How the leg that was executed last was left, if it waits for a person."""
        return self._stop

    def windows(self) -> frozenset[str]:
        """The runs whose windows are open."""
        return self._call(self._living())

    def job_of(self, run_id: str) -> Job | None:
        """The job of a run whose window is kept."""
        return self._windows.job(run_id)

    def resume(self, run_id: str, boundary: Boundary, *, skip: bool) -> Evidence:
        """Go on with a stopped run in its window, after a person prepared it.

        Args:
            run_id: The run.
            boundary: The delivery boundary of this leg.
            skip: Whether the step at which it stopped is left out.

        Raises:
            WindowGoneError: Its window is not open; nothing was performed.
        """
        return self._call(self._resume(run_id, boundary, skip=skip))

    def reopen(self, job: Job, at: int, boundary: Boundary) -> Evidence | None:
        """Open the app again for a stopped run, and perform its plan up to the instruction at which it stopped.

        Args:
            job: The run.
            at: The instruction.
            boundary: Says whether to stop; it is never passed.

        Returns:
            ``None`` when the window waits there; else how the run stopped before.

        Raises:
            RunRefusedError: As for a run.
        """
        return self._call(self._reopen(job, at, boundary))

    def reread(self, job: Job, old: frozenset[str], boundary: Boundary) -> Records | RecordsUnavailable:
        """Read the records of a run once more, over a channel of its own.

        Args:
            job: The run.
            old: The keys that there were before its save.
            boundary: Says whether to stop; it is never passed.
        """
        return self._call(self._reread(job, old, boundary))

    def show(self, run_id: str) -> None:
        """Bring the window of a run to the front."""
        self._call(self._show(run_id))

    def let_go(self, run_id: str) -> None:
        """Close the window of a run, if it is open."""
        self._call(self._let_go(run_id))

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
            await self._close(self._windows.gone())

    async def _tidied(self) -> None:
        """Wait until the page of the run before is gone."""
        if self._tidying is not None:
            await asyncio.wait({self._tidying})
            self._tidying = None

    async def _close(self, sessions: Iterable[Session]) -> None:
        for session in sessions:
            await _quietly(session.held.aclose())

    async def _living(self) -> frozenset[str]:
        await self._close(self._windows.gone())
        return self._windows.living()

    async def _show(self, run_id: str) -> None:
        page = self._windows.page(run_id)
        if page is not None:
            await page.show()

    async def _let_go(self, run_id: str) -> None:
        session = self._windows.take(run_id)
        await self._close(() if session is None else (session,))

    async def _end(self) -> None:
        await self._tidied()
        for run_id in self._windows.living():
            await self._let_go(run_id)
        await self._drop_tools()

    # One run

    async def _execute(self, job: Job, boundary: Boundary) -> Evidence:
        self._stop = None
        progress = Progress.of(job, boundary)
        if stopped := progress.stopped():
            return _ended_at_once(job, stopped)
        self._refuse_unread(job)
        if hindrance := await self._hindrance(job):
            return _refused(hindrance)
        session = await self._begin(job, progress, job.run_id)
        return _UNAVAILABLE if session is None else await self._leg(session, *start(job.bundle, job.inputs))

    async def _leg(self, session: Session, state: State, command: Command) -> Evidence:
        """One leg of a run, to its end or its next stop."""
        keeps = False
        try:
            last, end = await self._drive(session, state, command)
            if isinstance(end, Finish) and isinstance(end.pause, OpenPause):
                keeps = await self._note_stop(session, last, end)
            return _observed(end)
        finally:
            # The answer does not wait for the context to close, nor for the trace; the next run does.
            self._tidying = asyncio.create_task(self._tidy(session, keeps=keeps))

    async def _note_stop(self, session: Session, last: State, finish: Finish) -> bool:
        """Keep how a run stopped, and its window where a person attends; whether its window is kept."""
        stop, job = stop_of(session.job, last, finish), session.job
        picture = await session.page.picture() if self._pictures else None
        keeps = self._attended and stop.before_save and not session.page.is_gone
        self._stop = evolve(stop, local=shown(job.inputs, session, stop, picture), has_window=keeps)
        if keeps:
            await self._keep_window(session, stop.at, stop.guarded)
        return keeps

    async def _keep_window(self, session: Session, at: int, guarded: Records) -> None:
        """Leave the window of a run to a person."""
        session.at, session.guarded = at, guarded
        await session.page.hand_over()
        await self._close(self._windows.keep(session))

    async def _tidy(self, session: Session, *, keeps: bool) -> None:
        if self._trace_folder is not None:
            await asyncio.to_thread(write_trace, self._trace_folder, session.job.run_id, session.tracer.trace())
        if not keeps:
            await self._close((session,))

    # A run that goes on

    async def _resume(self, run_id: str, boundary: Boundary, *, skip: bool) -> Evidence:
        self._stop = None
        await self._tidied()
        session = self._windows.take(run_id)
        if session is None:
            raise WindowGoneError
        if session.page.is_gone:
            await self._close((session,))
            raise WindowGoneError
        session.begin_leg(boundary)
        try:
            await session.page.take_back()
        except FenceUnavailableError:
            await self._close((session,))
            raise WindowGoneError from None
        job = session.job
        return await self._leg(session, *resume(job.bundle, job.inputs, session.at, session.guarded, skip=skip))

    async def _reopen(self, job: Job, at: int, boundary: Boundary) -> Evidence | None:
        self._stop = None
        await self._let_go(job.run_id)
        if hindrance := await self._hindrance(job):
            return _refused(hindrance)
        session = await self._begin(job, Progress.of(job, boundary), _further_port(job))
        return _UNAVAILABLE if session is None else await self._way_to(session, at)

    async def _way_to(self, session: Session, at: int) -> Evidence | None:
        """Perform a plan up to one of its instructions, or to the baseline: what follows is read anew in any case."""
        keeps = False
        try:
            last, end = await self._drive(session, *start(session.job.bundle, session.job.inputs), until=at)
            if isinstance(last, Entering) and not isinstance(end, Finish):
                await self._keep_window(session, at, last.guarded)
                keeps = True
                return None
            if isinstance(end, Finish) and isinstance(end.pause, OpenPause):
                keeps = await self._note_stop(session, last, end)
            return _observed(end)
        finally:
            self._tidying = asyncio.create_task(self._tidy(session, keeps=keeps))

    async def _reread(self, job: Job, old: frozenset[str], boundary: Boundary) -> Records | RecordsUnavailable:
        session = await self._begin(job, Progress.of(job, boundary), _further_port(job))
        if session is None:
            return RecordsUnavailable()
        try:
            source = source_at(job.bundle.read_back.source, job.inputs)
            answer = await self._perform(ReadRecords(source, old), session)
            return answer if isinstance(answer, Records) else RecordsUnavailable()
        finally:
            self._tidying = asyncio.create_task(self._close((session,)))

    # What a run needs

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

    async def _begin(self, job: Job, progress: Progress, port: str) -> Session | None:
        """What a run works with, alone in a fresh context behind a port of its own; ``None`` when it cannot be had."""
        await self._tidied()
        account, held, rules = Account(self._sessions, _app_origin(job)), AsyncExitStack(), _rules(job)
        try:
            tools, fence = await self._open_run(port, rules)
            held.push_async_callback(fence.close)
            page = await self._fresh_page(tools, fence, account, held)
        except (Error, TimeoutError, EngineUnavailableError):
            # Nothing was sent yet.
            self._tidying = asyncio.create_task(_quietly(held.aclose()))
            return None
        gives_up = lambda: progress.stopped() is not None  # noqa: E731 - as short as a name for it
        channel = self._channel(job, account, _ReadingPort(tools, f"{port}-read", rules, account, held))
        run_page = RunPage(page, _app_origin(job), fence, progress.cross, self._limits, gives_up)
        return Session(job, progress, account, Tracer(job.bundle, job.inputs), run_page, channel, held)

    async def _fresh_page(self, tools: Tools, fence: FenceRun, account: Account, held: AsyncExitStack) -> Page:
        """A page in a fresh context. A browser that opens none is not kept for the next run.

        Raises:
            Error: It is broken.
            TimeoutError: It hangs.
        """
        try:
            async with asyncio.timeout(self._limits.fresh_ms / 1000):
                context = await new_context(tools.browser, fence.proxy_url, account.session)
                held.push_async_callback(context.close)
                page = await context.new_page()
        except (Error, TimeoutError):
            held.push_async_callback(self._drop_tools)
            raise
        account.live_in(context)
        held.push_async_callback(account.keep)
        return page

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
        self, session: Session, state: State, command: Command, until: int | None = None
    ) -> tuple[State, Command]:
        """Perform what the machine asks for, to its end or up to an instruction.

        Args:
            session: The run.
            state: The machine.
            command: What it asks for.
            until: The instruction that is not performed any more; nothing behind the baseline is then, either.

        Returns:
            The state in which the last command was answered, or in which the next one waits, and this command.
        """
        last, progress, account = state, session.progress, session.account
        while not isinstance(command, Finish) and not _is_there(state, until):
            observation = progress.stopped() or await self._perform(command, session)
            if isinstance(command, Save):
                read_back = session.job.bundle.read_back
                grace = _PAGES_GRACE if isinstance(read_back.source, PageRecords | RecordPage) else _READ_BACK_GRACE
                progress.begin_to_read_back(read_back.deadline_ms / 1000, grace)
            elif isinstance(observation, Fault):
                account.is_signed_out = observation.kind is FaultKind.SIGN_IN_SHOWN
                # What was not waited for to its end, because the run is to stop, is no fault.
                observation = progress.stopped() or observation
            session.tracer.note(state, command, observation)
            last = state
            state, command = step(state, observation)
            if isinstance(state, Entering) and isinstance(last, Entering) and state.baseline is not last.baseline:
                # Not later: nothing may come between the comparison of the identity and the save.
                await asyncio.to_thread(self._before_save, session.job, state.baseline or Records(()))
        return last if isinstance(command, Finish) else state, command

    async def _perform(self, command: Command, session: Session) -> Observation:
        match command:
            case ReadRecords(source=source):
                usual = self._limits.pages_ms if isinstance(source, PageRecords | RecordPage) else self._limits.read_ms
                return await session.progress.read(partial(session.channel.read, command), usual / 1000)
            case Wait(milliseconds=milliseconds):
                await asyncio.sleep(session.progress.seconds_to_wait(milliseconds / 1000))
                return Done()
            case Finish():
                raise AssertionError("a run that is over asks for nothing")
            case _:
                return await session.page.perform(command)


def _is_there(state: State, until: int | None) -> bool:
    """Whether a run waits at the instruction up to which it was to come."""
    if until is None or not isinstance(state, Entering):
        return False
    return state.at == until or isinstance(state.plan[state.at], TakeBaseline)


def _further_port(job: Job) -> str:
    """A name for a further port of a run; that of its first is taken by its journal."""
    return f"{job.run_id}-{secrets.token_hex(4)}"


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
    return _observed(command)


def _observed(end: Command) -> RunObserved:
    if not isinstance(end, Finish):
        raise TypeError("a leg goes on to its end")
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
