"""Where ways to write are tried: two servers under two names each, a browser, and pages with or without the fence.

Laws of this module:

- What arrived is read in the servers' own logs, by the mark in the path.
- The same script runs without the fence and behind it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from itertools import count

from attrs import frozen
from playwright.async_api import BrowserContext, Error, Page, ProxySettings

from faults.fence_cells import PRELUDE, After, Way
from support.fence_browser import BrowserBench
from support.fence_rig import Rig, rig
from support.origin_server import Arrival, OriginServer, origin_server
from surehand.shell.engines.browser.viewing import new_context

_MARKS = count()

#: Seconds in which a write arrives, or is stopped, when it is one that comes at once; also on a busy machine.
SOON = 12.0

#: Seconds for a write that the browser puts off.
LATE = 20.0

#: Seconds for a page to come, and for its script.
PAGE = 30.0


def new_mark() -> str:
    """A mark that no other cell has."""
    return f"mark{next(_MARKS)}x"


@frozen
class Servers:
    """A server without and one with TLS. Each has two names, and a page of one name is foreign to the other."""

    clear: OriginServer
    secure: OriginServer

    @property
    def origins(self) -> tuple[str, ...]:
        """All origins."""
        return tuple(
            origin for server in (self.clear, self.secure) for origin in (server.origin, _other_name(server.origin))
        )

    def of(self, *, secure: bool) -> OriginServer:
        """One of them."""
        return self.secure if secure else self.clear

    def writes(self, mark: str) -> list[Arrival]:
        """The writes with this mark that arrived anywhere."""
        return [each for each in self.arrivals(mark) if is_write(each)]

    def arrivals(self, mark: str) -> list[Arrival]:
        """Everything with this mark that arrived anywhere."""
        return [each for server in (self.clear, self.secure) for each in server.arrivals if mark in each.path]


def is_write(arrival: Arrival) -> bool:
    """Whether a request that reached a server writes: by its method, or because it opens a socket or asks for it."""
    return (
        arrival.method not in {"GET", "HEAD", "OPTIONS"}
        or arrival.path.startswith("/socket/")
        or "x-http-method-override" in arrival.headers
    )


def _other_name(origin: str) -> str:
    return origin.replace("127.0.0.1", "localhost")


@contextlib.asynccontextmanager
async def servers(bench: BrowserBench) -> AsyncGenerator[Servers]:
    """Both servers."""
    async with origin_server() as clear, origin_server(bench.authority.context) as secure:
        yield Servers(clear, secure)


def addresses(origin: str, mark: str) -> dict[str, str]:
    """What a script is told."""
    other = _other_name(origin)
    ways = {"to": "ok", "poster": "poster", "fetcher": "fetcher", "attachment": "attachment", "socketer": "socketer"}
    own = {name: f"{origin}/{way}/{mark}" for name, way in ways.items()}
    foreign = {
        "other": f"{other}/ok/{mark}",
        **{f"other{name.capitalize()}": f"{other}/{way}/{mark}" for name, way in ways.items() if name != "to"},
    }
    named = (("ws", origin), ("otherWs", other))
    return own | foreign | {name: f"{at.replace('http', 'ws', 1)}/socket/{mark}" for name, at in named}


@frozen
class Trial:
    """Tries ways, all without the fence or all behind the port of one run, each in a context of its own.

    Args:
        bench: The browser.
        servers: Where the pages come from.
        proxy_url: The port of the run; ``None`` goes without the fence.
    """

    bench: BrowserBench
    servers: Servers
    proxy_url: str | None

    async def perform(self, way: Way, mark: str, done: Callable[[], object], seconds: float) -> None:
        """Let a page write, and wait until ``done`` or the time is over; then close all that it opened."""
        context = await self._context(way)
        origin = self.servers.of(secure=way.secure).origin
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(PAGE):
                page = await context.new_page()
                await page.goto(f"{origin}/{way.page}/{mark}" if "/" in way.page else f"{origin}/{way.page}")
                await page.evaluate(_runs(way.script), addresses(origin, mark))
                if way.driver:
                    await context.request.post(f"{origin}/ok/{mark}", data="x")
                await _goes_on(way.after, page, origin)
        await until(done, seconds)
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(PAGE):
                await context.close()

    async def _context(self, way: Way) -> BrowserContext:
        """A context as the product makes it; where service workers are to run, or no fence is, a plain one."""
        if self.proxy_url is not None and not way.workers:
            return await new_context(self.bench.browser, self.proxy_url)
        proxy = None if self.proxy_url is None else ProxySettings(server=self.proxy_url)
        return await self.bench.browser.new_context(proxy=proxy)


def _runs(script: str) -> str:
    return f"w => {{ {PRELUDE}; return ({script})(w); }}"


async def _goes_on(after: After, page: Page, origin: str) -> None:
    if after is After.CLOSES:
        await page.close(run_before_unload=False)
    elif after is After.CONTEXT_CLOSES:
        await page.context.close()
    elif after is After.LEAVES:
        await page.goto(f"{origin}/ok/elsewhere")


async def until(done: Callable[[], object], seconds: float) -> bool:
    """Look until something holds; whether it came to hold in time. It may be asked of another process."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                answer = done()
                if asyncio.iscoroutine(answer):
                    answer = await answer
                if answer:
                    return True
                await asyncio.sleep(0.01)
    return False


@contextlib.asynccontextmanager
async def behind_the_fence(bench: BrowserBench, to: Servers) -> AsyncGenerator[tuple[Rig, Trial]]:
    """A run whose fence is closed, and pages behind it."""
    async with rig(bench.fence, server=to.clear, origins=to.origins) as it:
        yield it, Trial(bench, to, it.run.proxy_url)
