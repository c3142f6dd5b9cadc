"""One HTTP/1.1 connection: the protocol machine of h11 on top of a byte stream.

Laws of this module:

- Message framing is judged by h11 and written anew; a message whose length can be read in two ways is refused.
- What only concerns one connection is not carried over to the other.
- Heads and held bodies are bounded; answers are passed on as they come.
- What follows the opening of a WebSocket is passed on unread.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from collections.abc import Set as AbstractSet
from typing import Protocol, runtime_checkable

import h11
from attrs import evolve, frozen

from surehand.core.workflow.fence import Origin, RequestHead, parse_origin

#: The largest request that is held, in bytes.
BODY_LIMIT = 64 * 1024 * 1024

_HEAD_LIMIT = 128 * 1024
_READ_SIZE = 65_536
_SWITCHING = 101

_ONE_CONNECTION_ONLY = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
        b"alt-svc",
    }
)
_METHOD_OVERRIDES = frozenset({b"x-http-method-override", b"x-http-method", b"x-method-override"})

Headers = Iterable[tuple[bytes, bytes]]


class MalformedRequestError(Exception):
    """A request that cannot be read in one way only."""


class UpstreamError(Exception):
    """The server gave no answer that can be read."""


class ByteStream(Protocol):
    """What a connection needs of its transport; asyncio's streams and ``TlsServer`` have it."""

    async def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        ...

    def write(self, data: bytes, /) -> None:
        """Take bytes to be sent."""
        ...

    async def drain(self) -> None:
        """Wait until the transport takes more."""
        ...

    def close(self) -> None:
        """Close the transport."""
        ...


class PlainStream:
    """A pair of asyncio streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @property
    def ended(self) -> bool:
        """Whether the other side has closed."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        return await self._reader.read(size)

    def write(self, data: bytes, /) -> None:
        """Take bytes to be sent."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the transport takes more."""
        await self._writer.drain()

    def close(self) -> None:
        """Close the transport; what was handed over is still sent."""
        self._writer.close()


class Wire:
    """One connection, toward a browser (``h11.SERVER``) or toward an app (``h11.CLIENT``).

    ``ended`` says whether the other side has sent its last byte.
    """

    def __init__(self, role: type[h11.CLIENT] | type[h11.SERVER], stream: ByteStream) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=_HEAD_LIMIT)
        self.ended = False
        self._stream = stream
        self._unsent: list[bytes] = []

    async def next_event(self) -> h11.Event | type[h11.PAUSED]:
        """The next event; what was put is sent first when it has to be waited for."""
        while True:
            event = self.http.next_event()
            if not isinstance(event, type) or event is h11.PAUSED:
                return event
            await self.flush()
            data = await self._stream.read(_READ_SIZE)
            self.ended = not data
            self.http.receive_data(data)

    def put(self, *events: h11.Event) -> None:
        """Line events up to be sent."""
        for event in events:
            self._unsent.append(self.http.send(event) or b"")

    async def flush(self) -> None:
        """Send what was put."""
        if self._unsent:
            data = b"".join(self._unsent)
            self._unsent.clear()
            self._stream.write(data)
            await self._stream.drain()

    def both_done(self) -> bool:
        """Whether another exchange can follow on this connection; if so it is made ready for it."""
        done = self.http.our_state is h11.DONE and self.http.their_state is h11.DONE
        if done:
            self.http.start_next_cycle()
        return done

    async def switched(self) -> AsyncIterator[bytes]:
        """What comes after the protocol was switched, unread, until the end."""
        data = self.http.trailing_data[0] or await self._stream.read(_READ_SIZE)
        while data:
            yield data
            data = await self._stream.read(_READ_SIZE)

    async def send_on(self, data: bytes) -> None:
        """Send what came on another connection after its protocol was switched."""
        self._stream.write(data)
        await self._stream.drain()

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


@frozen
class Incoming:
    """A request that arrived whole, ready to be sent on."""

    head: RequestHead
    origin: Origin
    request: h11.Request
    body: bytes


async def read_request(wire: Wire, request: h11.Request, tunnel: Origin | None) -> Incoming:
    """Read the rest of a request.

    Args:
        wire: The connection to the browser.
        request: The head that was read from it.
        tunnel: The server that the tunnel leads to; ``None`` when requests name their server themselves.

    Returns:
        The request; a body over ``BODY_LIMIT`` is dropped and marked in the head.

    Raises:
        MalformedRequestError: The request is ambiguous or not meant for this server.
        h11.RemoteProtocolError: The request is not HTTP.
    """
    origin, path = _destination(request, tunnel)
    names = [name for name, _ in request.headers]
    if b"content-length" in names and b"transfer-encoding" in names:
        raise MalformedRequestError
    head = RequestHead(
        method=request.method.decode("ascii"),
        origin=str(origin),
        path=path,
        content_type=", ".join(_values(request.headers, b"content-type")),
        upgrade=_joined(request.headers, {b"upgrade"}),
        override=_joined(request.headers, _METHOD_OVERRIDES),
        encoded=_joined(request.headers, {b"content-encoding"}) is not None,
    )
    declared = next(iter(_values(request.headers, b"content-length")), "0")
    body = None if int(declared) > BODY_LIMIT else await _read_body(wire)
    if body is None:
        return Incoming(evolve(head, oversized=True), origin, request, b"")
    return Incoming(evolve(head, body=body), origin, _sent_on(request, origin, path, body), body)


def _destination(request: h11.Request, tunnel: Origin | None) -> tuple[Origin, str]:
    target = request.target.decode("ascii")
    if tunnel is None:
        scheme, _, rest = target.partition("://")
        authority, slash, path = rest.partition("/")
        origin = parse_origin(f"http://{authority}")
        if scheme.lower() != "http" or origin is None:
            raise MalformedRequestError
        return origin, slash + path or "/"
    hosts = [parse_origin(f"{tunnel.scheme}://{host}") for host in _values(request.headers, b"host")]
    if not target.startswith(("/", "*")) or hosts != [tunnel]:
        raise MalformedRequestError
    return tunnel, target


def _joined(headers: Headers, wanted: AbstractSet[bytes]) -> str | None:
    """What all headers of these names say; ``None`` when there is none."""
    values = [value.decode("latin-1") for name, value in headers if name in wanted]
    return ", ".join(values) if values else None


def _values(headers: Headers, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == wanted]


async def _read_body(wire: Wire) -> bytes | None:
    if wire.http.they_are_waiting_for_100_continue:
        wire.put(h11.InformationalResponse(status_code=100, headers=[]))
    chunks: list[bytes] = []
    size = 0
    while isinstance(event := await wire.next_event(), h11.Data):
        size += len(event.data)
        if size > BODY_LIMIT:
            return None
        chunks.append(bytes(event.data))
    if not isinstance(event, h11.EndOfMessage):
        raise MalformedRequestError
    return b"".join(chunks)


def _sent_on(request: h11.Request, origin: Origin, path: str, body: bytes) -> h11.Request:
    authority = str(origin).partition("://")[2]
    headers = [(b"Host", authority.encode("ascii"))]
    headers += [(name, value) for name, value in _end_to_end(request.headers) if name.lower() != b"host"]
    has_length = any(name.lower() == b"content-length" for name, _ in headers)
    if body and not has_length:
        headers.append((b"Content-Length", str(len(body)).encode("ascii")))
    return h11.Request(method=request.method, target=path.encode("ascii"), headers=headers)


@runtime_checkable
class _RawHeaders(Protocol):
    def raw_items(self) -> list[tuple[bytes, bytes]]: ...


def _as_written(headers: Headers) -> Headers:
    return headers.raw_items() if isinstance(headers, _RawHeaders) else headers


def _end_to_end(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers that are not about one connection, with their names as they were written."""
    listed = {
        name.strip().lower().encode("latin-1") for value in _values(headers, b"connection") for name in value.split(",")
    }
    dropped = _ONE_CONNECTION_ONLY | listed
    return [(name, value) for name, value in _as_written(headers) if name.lower() not in dropped]


def put_request(upstream: Wire, incoming: Incoming) -> None:
    """Line a whole request up to be sent."""
    upstream.put(incoming.request)
    if incoming.body:
        upstream.put(h11.Data(data=incoming.body))
    upstream.put(h11.EndOfMessage())


async def read_answer(upstream: Wire) -> h11.Response:
    """The head of the final answer; interim ones are dropped.

    Raises:
        UpstreamError: The connection ended, or the server switched to another protocol.
        h11.RemoteProtocolError: The answer is not HTTP.
    """
    while True:
        event = await upstream.next_event()
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise UpstreamError


async def relay(upstream: Wire, answer: h11.Response, browser: Wire) -> None:
    """Pass an answer on, as it comes.

    Raises:
        UpstreamError: The answer ended early; the browser's connection must be closed, so that it notices.
    """
    headers = _end_to_end(answer.headers)
    if _values(answer.headers, b"transfer-encoding"):
        headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    browser.put(h11.Response(status_code=answer.status_code, reason=answer.reason, headers=headers))
    while True:
        event = upstream.http.next_event()
        if event is h11.NEED_DATA:
            await browser.flush()
            event = await upstream.next_event()
        if isinstance(event, h11.Data):
            browser.put(h11.Data(data=event.data))
        elif isinstance(event, h11.EndOfMessage):
            browser.put(h11.EndOfMessage())
            await browser.flush()
            return
        else:
            raise UpstreamError


async def carry_socket(upstream: Wire, incoming: Incoming, browser: Wire) -> None:
    """Open a WebSocket and pass on what both sides send, until one of them ends; another answer is passed on as it is.

    Raises:
        UpstreamError: The server gave no answer that can be read.
        h11.RemoteProtocolError: The answer is not HTTP.
    """
    asked = incoming.request
    upstream.put(h11.Request(method=asked.method, target=asked.target, headers=_upgraded(asked.headers)))
    upstream.put(h11.EndOfMessage())
    answer = await upstream.next_event()
    if isinstance(answer, h11.Response):
        await relay(upstream, answer, browser)
        return
    if not isinstance(answer, h11.InformationalResponse) or answer.status_code != _SWITCHING:
        raise UpstreamError
    browser.put(h11.InformationalResponse(status_code=_SWITCHING, headers=_upgraded(answer.headers)))
    await browser.flush()
    await _both_ways(upstream, browser)


def _upgraded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [*_end_to_end(headers), (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]


async def _pour(source: Wire, into: Wire) -> None:
    async for data in source.switched():
        await into.send_on(data)


async def _both_ways(one: Wire, other: Wire) -> None:
    pours = {asyncio.create_task(_pour(one, other)), asyncio.create_task(_pour(other, one))}
    try:
        await asyncio.wait(pours, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pour in pours:
            pour.cancel()
        await asyncio.gather(*pours, return_exceptions=True)


async def answer_empty(browser: Wire, status: int) -> None:
    """Answer with a status and nothing else, and end the connection after it."""
    headers = [(b"Content-Length", b"0"), (b"Cache-Control", b"no-store"), (b"Connection", b"close")]
    if browser.http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
        browser.put(h11.Response(status_code=status, headers=headers), h11.EndOfMessage())
        await browser.flush()
