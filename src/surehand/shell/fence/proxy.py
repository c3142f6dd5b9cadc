"""The listening port of one run: plain requests, tunnels, TLS, and what the gate says about each request.

Laws of this module:

- The port is on loopback. What the gate does not let pass gets a short refusal, and never reaches the network.
- An app that cannot be reached looks to the browser as without a fence: the connection ends.
- A read may be repeated once when a pooled connection turns out to be dead. A write is never repeated.
- A WebSocket ends with its run.
"""

import asyncio
import contextlib
from typing import assert_never

import h11

from surehand.core.workflow.fence import GateCommand, Origin, RequestHead, Stage, parse_origin
from surehand.shell.fence.run import Run, Upstream
from surehand.shell.fence.save import CONNECTION_ERRORS
from surehand.shell.fence.tls import TLS_HANDSHAKE, LeafKey, TlsServer
from surehand.shell.fence.wire import (
    Incoming,
    MalformedRequestError,
    PlainStream,
    Wire,
    answer_empty,
    carry_socket,
    put_request,
    read_answer,
    read_request,
    relay,
)

_BAD_REQUEST = 400
_FORBIDDEN = 403
_READ_SIZE = 65_536


class _BrowserProtocol(asyncio.StreamReaderProtocol):
    """A connection that ends as a whole when the browser's half of it ends, and that tells its task so at once."""

    def __init__(self, proxy: "RunProxy") -> None:
        self._proxy = proxy
        self._serving: asyncio.Task[None] | None = None
        super().__init__(asyncio.StreamReader(limit=_READ_SIZE), self._begin)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving = self._proxy.begin(reader, writer)

    def eof_received(self) -> bool:
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._serving is not None:
            self._serving.cancel()


class _Browser:
    """One connection of the browser, and whether it is still there."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.stream = PlainStream(reader, writer)

    def is_there(self) -> bool:
        return not self.stream.ended


class RunProxy:
    """The port of one run."""

    def __init__(self, run: Run, leaf: LeafKey) -> None:
        self.run = run
        self._leaf = leaf
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving: set[asyncio.Task[None]] = set()

    async def listen(self) -> int:
        """Open the port.

        Returns:
            Its number.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _BrowserProtocol(self), "127.0.0.1", 0, backlog=1024)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> "asyncio.Task[None]":
        """Serve a connection."""
        task = asyncio.create_task(self._handle(_Browser(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._saving.discard)
        return task

    def close(self) -> None:
        """Shut the port and every connection, except the one whose save is on its way."""
        self.run.end()
        if self._server is not None:
            self._server.close()
        for task in self._tasks - self._saving:
            task.cancel()

    async def finish(self) -> None:
        """Wait, within a bound, for the save that is on its way. ``close`` comes first."""
        await self.run.finish()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)

    async def _handle(self, browser: _Browser) -> None:
        try:
            await self._serve(Wire(h11.SERVER, browser.stream), browser, None)
        except CONNECTION_ERRORS:
            pass  # the connection ends, which is all that the browser should see
        finally:
            browser.stream.close()

    async def _serve(self, wire: Wire, browser: _Browser, tunnel: Origin | None) -> None:
        while True:
            request = await self._receive(wire, tunnel)
            if request is None:
                return
            if isinstance(request, h11.Request):
                await self._tunnel(wire, browser, request)
                return
            if not await self._act(self.run.admit(request.head), wire, browser, request):
                return

    async def _receive(self, wire: Wire, tunnel: Origin | None) -> Incoming | h11.Request | None:
        """The next request; a bare head when it asks for a tunnel; ``None`` when there is no other."""
        try:
            event = await wire.next_event()
            if not isinstance(event, h11.Request):
                return None
            if event.method == b"CONNECT" and tunnel is None:
                return event
            return await read_request(wire, event, tunnel)
        except (MalformedRequestError, h11.RemoteProtocolError):
            if not wire.ended:
                self.run.note_unreadable()
                await answer_empty(wire, _BAD_REQUEST)
            return None

    async def _act(self, command: GateCommand, wire: Wire, browser: _Browser, incoming: Incoming) -> bool:
        """Do what the gate said; whether another request may follow on the connection."""
        match command:
            case GateCommand.PASS_READ:
                await self._pass_read(incoming, wire)
            case GateCommand.PASS_HARMLESS:
                await self._pass_once(incoming, wire)
            case GateCommand.BEGIN_SAVE:
                return await self._save(incoming, wire, browser)
            case GateCommand.OPEN_SOCKET:
                await self._pass_socket(incoming, wire)
                return False
            case GateCommand.HOLD_BACK | GateCommand.STOP_WRITE | GateCommand.REFUSE_HOST:
                await answer_empty(wire, _FORBIDDEN)
                return False
            case GateCommand.REFUSE_READ | GateCommand.REFUSE_ARM | GateCommand.NOTHING:
                return False
            case _:  # pragma: no cover
                assert_never(command)
        return wire.both_done()

    async def _pass_read(self, incoming: Incoming, browser: Wire) -> None:
        upstream, answer = await self._ask_pooled(incoming)
        try:
            await relay(upstream.wire, answer, browser)
        except BaseException:
            upstream.wire.close()
            raise
        self.run.pool.give_back(incoming.origin, upstream)

    async def _ask_pooled(self, incoming: Incoming) -> tuple[Upstream, h11.Response]:
        upstream = await self.run.pool.take(incoming.origin)
        if not upstream.fresh:
            with contextlib.suppress(*CONNECTION_ERRORS):
                return upstream, await _ask(upstream.wire, incoming)
            upstream = await self.run.pool.open(incoming.origin)
        return upstream, await _ask(upstream.wire, incoming)

    async def _pass_once(self, incoming: Incoming, browser: Wire) -> None:
        upstream, _ = await self.run.pool.dialer.connect(incoming.origin)
        answer = await _ask(upstream, incoming)
        try:
            await relay(upstream, answer, browser)
        finally:
            upstream.close()

    async def _pass_socket(self, incoming: Incoming, browser: Wire) -> None:
        upstream, _ = await self.run.pool.dialer.connect(incoming.origin)
        try:
            await carry_socket(upstream, incoming, browser)
        finally:
            upstream.close()

    async def _save(self, incoming: Incoming, wire: Wire, browser: _Browser) -> bool:
        task = asyncio.current_task()
        if task is not None:
            self._saving.add(task)
        stage = await self.run.save(incoming, wire, browser.is_there)
        if task is not None:
            self._saving.discard(task)
        if stage is Stage.REFUSED_BY_BOUNDARY:
            await answer_empty(wire, _FORBIDDEN)
        return stage is Stage.DONE and not self.run.is_over and wire.both_done()

    async def _tunnel(self, wire: Wire, browser: _Browser, request: h11.Request) -> None:
        target = request.target.decode("ascii")
        secure, clear = parse_origin(f"https://{target}"), parse_origin(f"http://{target}")
        if secure is None or clear is None or self.run.is_over:
            return
        if not self.run.knows(secure, clear):
            self.run.admit(RequestHead(method="CONNECT", origin=str(secure), path=""))
            await answer_empty(wire, _FORBIDDEN)
            return
        wire.put(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
        await wire.flush()
        first = wire.http.trailing_data[0] or await browser.stream.read(_READ_SIZE)
        if first[:1] == bytes([TLS_HANDSHAKE]):
            tls = TlsServer(browser.reader, browser.writer, self._leaf.context(secure.host))
            await tls.handshake(first)
            await self._serve(Wire(h11.SERVER, tls), browser, secure)
        elif first:
            inner = Wire(h11.SERVER, browser.stream)
            inner.http.receive_data(first)
            await self._serve(inner, browser, clear)


async def _ask(upstream: Wire, incoming: Incoming) -> h11.Response:
    """Send a request and read the head of its answer; a connection on which that fails is closed."""
    try:
        put_request(upstream, incoming)
        return await read_answer(upstream)
    except BaseException:
        upstream.close()
        raise
