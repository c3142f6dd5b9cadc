"""What the fence's tests share: runs that are opened for a server, and a client that speaks raw bytes to the proxy."""

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncGenerator, Awaitable, Coroutine
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from attrs import define, frozen

from support.origin_server import OriginServer, hang_up, make_authority, origin_server
from surehand.core.workflow.fence import FenceRules
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence.client import Fence, FenceRun

FORM = "application/x-www-form-urlencoded"
SIGN_IN = WriteRoute("POST", "/sign-in", FORM)
SAVE = WriteRoute("POST", "/*", FORM)

_T = TypeVar("_T")


#: Seconds after which a test gives up on what has to come, also on a busy machine.
PATIENCE: Final = 60.0


async def within(seconds: float, work: Awaitable[_T]) -> _T:
    """Await with a limit, so that no test hangs."""
    return await asyncio.wait_for(work, seconds)


@define
class Boundary:
    """A delivery boundary that says how often it was asked.

    Args:
        granted: What it answers.
        asked: How often it was asked.
        arrived_before: How many writes had reached the server when it was asked.
    """

    server: OriginServer
    granted: bool = True
    asked: int = 0
    arrived_before: int = 0

    async def cross(self) -> bool:
        """Answer."""
        self.asked += 1
        self.arrived_before = len(self.server.writes)
        return self.granted


@frozen
class Rig:
    """One run in front of one server."""

    server: OriginServer
    run: FenceRun
    run_id: str
    boundary: Boundary

    async def arm(self, route: WriteRoute = SAVE) -> None:
        """Arm the run."""
        await self.run.arm(route, self.boundary.cross)

    async def send(self, method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
        """Send one plain request and read the whole answer; empty when the connection just ends."""
        return await exchange(self.run.proxy_url, request(method, self.server.origin + path, *headers, body=body))

    async def post(self, path: str, body: bytes = b"note=x") -> bytes:
        """Send a form."""
        return await self.send("POST", path, f"Content-Type: {FORM}", body=body)


@contextlib.asynccontextmanager
async def rig(  # noqa: PLR0913 - a test names the one or two that it is about
    fence: Fence,
    *,
    tls: ssl.SSLContext | None = None,
    harmless: tuple[WriteRoute, ...] = (),
    blocked: tuple[WriteRoute, ...] = (),
    sockets: tuple[str, ...] = (),
    server: OriginServer | None = None,
    origins: tuple[str, ...] = (),
) -> AsyncGenerator[Rig]:
    """A server (a fresh one unless one is given), and a run that may reach it and these origins."""
    run_id = f"run_{secrets.token_hex(16)}"
    async with contextlib.AsyncExitStack() as held:
        served = await held.enter_async_context(origin_server(tls)) if server is None else server
        run = await fence.open_run(run_id, FenceRules((served.origin, *origins), harmless, blocked, sockets))
        try:
            yield Rig(served, run, run_id, Boundary(served))
        finally:
            await run.close()


def request(method: str, target: str, *headers: str, body: bytes = b"") -> bytes:
    """The bytes of a request whose connection ends after the answer."""
    host = urlsplit(target).netloc or target
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def open_proxy(proxy_url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the proxy."""
    port = urlsplit(proxy_url).port
    return await asyncio.open_connection("127.0.0.1", port)


async def exchange(proxy_url: str, data: bytes) -> bytes:
    """Send bytes, and read until the proxy closes; an abrupt end counts as an end."""
    reader, writer = await open_proxy(proxy_url)
    received = b""
    try:
        writer.write(data)
        with contextlib.suppress(OSError):
            while chunk := await within(PATIENCE, reader.read(65_536)):
                received += chunk
    finally:
        await hang_up(writer)
    return received


async def tunnel(proxy_url: str, host: str) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    """Ask for a tunnel; the first line of the answer, and the connection."""
    reader, writer = await open_proxy(proxy_url)
    writer.write(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head = await within(PATIENCE, reader.readuntil(b"\r\n\r\n"))
    return head.partition(b"\r\n")[0], reader, writer


async def connection_to(it: Rig) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection through a tunnel to the server of a run, with TLS where the server has it."""
    scheme, _, host = it.server.origin.partition("://")
    _, reader, writer = await tunnel(it.run.proxy_url, host)
    if scheme == "https":
        await writer.start_tls(trusting(), server_hostname="127.0.0.1")
    return reader, writer


def trusting() -> ssl.SSLContext:
    """A client context that takes every certificate, as a browser that was told the key's hash does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def journal_stages(folder: Path, run_id: str) -> str:
    """The text of a run's journal."""
    return (folder / f"{run_id}.jsonl").read_text()


class Bench:
    """A loop, an authority and a fence that all tests of a module use.

    Args:
        folder: Where their files go.
    """

    def __init__(self, folder: Path) -> None:
        self.runner = asyncio.Runner()
        self.journals = folder / "journals"
        self.authority = make_authority(folder)
        self.fence = self.run(self.start_fence())

    async def start_fence(self) -> Fence:
        """A fence that trusts the authority."""
        return await Fence.start(self.journals, self.authority.certificate)

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine."""
        return self.runner.run(work)

    def close(self) -> None:
        """End the fence and the loop."""
        self.run(self.fence.close())
        self.runner.close()


async def until_refused(proxy_url: str) -> None:
    """Wait until the proxy's port takes no connection any more."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await open_proxy(proxy_url)
            except OSError:
                return
            await hang_up(writer)
            await asyncio.sleep(0.01)
