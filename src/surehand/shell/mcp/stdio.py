"""The stdio transport: lines of one client in and out, on descriptors that nobody else holds.

Laws of this module:

- Every line gets its due: a message goes on, a fault is answered at once, and the connection lives on.
- The event loop is never blocked: a write happens only when the descriptor takes ``PIPE_BUF`` bytes without waiting.
- A line that was begun is written to its end, whatever happens to the call that it answers.
- At the end of input, or when told to stop, nothing new is read, and open requests get bounded time to answer.
- POSIX only; there is no thread in here.
"""

import asyncio
import os
import select
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Generic, Protocol, Self, TypeVar

from attrs import frozen

from surehand.shell.mcp.frames import (
    EDGE_BYTES,
    INVALID_REQUEST,
    MAX_MESSAGE_BYTES,
    NOT_A_MESSAGE,
    TOO_LARGE,
    Fault,
    RequestId,
    decode,
    edge_id,
    encode,
    fault_answer,
    has_legal_id,
    id_of,
    is_object,
)
from surehand.shell.mcp.guard import Wire

#: Bytes that are read at once.
CHUNK_BYTES: Final = 1 << 16

#: Unwritten output, in bytes, at which no more input is read.
MAX_UNWRITTEN_BYTES: Final = 8 * 1024 * 1024

#: Seconds that open requests have to answer after the end of input.
DRAIN_SECONDS: Final = 10.0

#: Seconds that the client has to read the last answers.
FLUSH_SECONDS: Final = 1.0

M = TypeVar("M")


class Codec(Protocol[M]):
    """How the protocol library at hand represents a message."""

    def parse(self, message: dict[str, object]) -> M | None:
        """The library's message; ``None`` when the object is none."""
        ...

    def dump(self, message: M) -> dict[str, object]:
        """The object that a message of the library stands for."""
        ...


class LineReader:
    """Reads lines from a descriptor without ever blocking the loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._scanned = 0
        self._stopped = False
        self._ready: asyncio.Future[None] | None = None

    def stop(self) -> None:
        """Read no more; a pending ``next`` answers with the end of input."""
        self._stopped = True
        self._wake()

    async def next(self) -> bytes | Fault | None:
        """The next line without its end; a fault for one that is too large; ``None`` at the end of input."""
        while (end := self._buffer.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._buffer)
            if len(self._buffer) > MAX_MESSAGE_BYTES:
                return await self._skip_line()
            if not await self._fill():
                return self._take(len(self._buffer)) or None
        return self._take(end)

    def _take(self, end: int) -> bytes:
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line

    async def _skip_line(self) -> Fault:
        """Pass over a line that is too large, keeping its two edges."""
        head = bytes(self._buffer[:EDGE_BYTES])
        while (end := self._buffer.find(b"\n")) < 0:
            del self._buffer[:-EDGE_BYTES]
            if not await self._fill():
                end = len(self._buffer)
                break
        return Fault(INVALID_REQUEST, TOO_LARGE, edge_id(head, self._take(end)[-EDGE_BYTES:]))

    async def _fill(self) -> bool:
        """Read one chunk; ``False`` at the end of input."""
        chunk = None
        while chunk is None:
            await self._readable()
            chunk = self._read()
        self._buffer += chunk
        return bool(chunk)

    def _read(self) -> bytes | None:
        """What can be read now, or ``None`` when nothing can; empty at the end of input."""
        if self._stopped:
            return b""
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    async def _readable(self) -> None:
        """Wait until a read would not block, or the reader is stopped."""
        if self._stopped:
            return
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        try:
            loop.add_reader(self._descriptor, self._wake)
        except OSError:  # a plain file or the null device is always readable
            await asyncio.sleep(0)
            return
        try:
            await self._ready
        finally:
            loop.remove_reader(self._descriptor)

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)


class LineWriter:
    """Writes lines to a descriptor without ever blocking the loop; what cannot be written yet waits here."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._waiting: deque[memoryview] = deque()
        self._unwritten = 0
        self._room: asyncio.Future[None] | None = None
        self._broken = False
        self._watched = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    def write(self, line: bytes) -> None:
        """Write the line, now as far as the client reads, and the rest as soon as it does."""
        if self._broken:
            return
        self._waiting.append(memoryview(line))
        self._unwritten += len(line)
        if len(self._waiting) == 1:
            self._flush()

    async def below(self, unwritten: int) -> None:
        """Wait until less than this many bytes wait to be written."""
        while self._unwritten >= max(unwritten, 1):
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def _flush(self) -> None:
        try:
            while self._waiting and self._poll.poll(0):
                self._write_some()
        except BlockingIOError:
            pass
        except OSError:
            self._break()
        self._watch()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _write_some(self) -> None:
        line = self._waiting[0]
        count = os.write(self._descriptor, line[: select.PIPE_BUF])
        self._unwritten -= count
        if count == len(line):
            self._waiting.popleft()
        else:
            self._waiting[0] = line[count:]

    def _watch(self) -> None:
        """Be called again when there is room, as long as something waits."""
        if self._watched is bool(self._waiting):
            return
        self._watched = bool(self._waiting)
        loop = asyncio.get_running_loop()
        if self._watched:
            loop.add_writer(self._descriptor, self._flush)
        else:
            loop.remove_writer(self._descriptor)

    def _break(self) -> None:
        """The client is gone: nothing can be told any more."""
        self._broken = True
        self._waiting.clear()
        self._unwritten = 0
        self._on_broken()


class Channel:
    """The lines of one client, in and out."""

    def __init__(self, wire: Wire) -> None:
        self._reader = LineReader(wire.incoming)
        self._writer = LineWriter(wire.outgoing, self.stop)

    async def read(self) -> bytes | Fault | None:
        """The next line that is not empty, once the client has read enough of what was written."""
        await self._writer.below(MAX_UNWRITTEN_BYTES)
        line = await self._reader.next()
        while isinstance(line, bytes) and not line.strip():
            line = await self._reader.next()
        return line

    def write(self, line: bytes) -> None:
        """Write one line."""
        self._writer.write(line)

    def stop(self) -> None:
        """Read no more input."""
        self._reader.stop()

    async def flush(self) -> None:
        """Give the client bounded time to read what was written."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._writer.below(1), FLUSH_SECONDS)


@frozen
class Opening:
    """The first line of a client, already read; ``answered`` is its id when it has its answer already."""

    line: bytes | Fault | None
    answered: RequestId | None = None


class StdioTransport(Generic[M]):
    """One client's channel, as the two stream objects that a protocol session reads and writes."""

    def __init__(
        self,
        channel: Channel,
        opening: Opening,
        codec: Codec[M],
        *,
        on_first_answer: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        """Serve the client.

        Args:
            channel: The client's lines.
            opening: The first of them.
            codec: The library's messages.
            on_first_answer: Called once, when the session has written its first answer.
            on_end: Called once, when no more input will be read and open requests should come to their answers.
        """
        self._channel = channel
        self._opening: Opening | None = opening
        self._answered_before = opening.answered
        self._codec = codec
        self._on_first_answer: Callable[[], None] | None = on_first_answer
        self._on_end = on_end
        self._open: set[RequestId] = set()
        self._asked: set[RequestId] = set()
        self._answered = asyncio.Event()
        self.incoming = _Incoming(self._receive)
        self.outgoing = _Outgoing(self._send)

    async def _receive(self) -> M | None:
        """The next message, ``None`` when the session should end. Faults are answered on the way."""
        while True:
            line = await self._next_line()
            if line is None:
                await self._drain()
                return None
            message = self._accept(line)
            if message is not None:
                return message

    async def _next_line(self) -> bytes | Fault | None:
        if self._opening is None:
            return await self._channel.read()
        opening, self._opening = self._opening, None
        return opening.line

    def _accept(self, line: bytes | Fault) -> M | None:
        read = decode(line) if isinstance(line, bytes) else line
        if isinstance(read, Fault):
            self._channel.write(fault_answer(read))
            return None
        if ("result" in read or "error" in read) and not self._is_awaited(read):
            return None  # a peer's answer is never answered, to whatever it is one
        message = self._codec.parse(read) if has_legal_id(read) else None
        if message is None:
            self._channel.write(fault_answer(Fault(INVALID_REQUEST, NOT_A_MESSAGE, id_of(read))))
            return None
        self._note_incoming(read)
        return message

    def _is_awaited(self, answer: dict[str, object]) -> bool:
        """Whether this is the first answer to a request of ours."""
        answered = id_of(answer)
        if answered is None or "method" in answer or answered not in self._asked:
            return False
        self._asked.discard(answered)
        return True

    def _note_incoming(self, message: dict[str, object]) -> None:
        method = message.get("method")
        request_id = id_of(message)
        if method is not None and request_id is not None:
            self._open.add(request_id)
        elif method == "notifications/cancelled":
            self._open -= _cancelled_ids(message)

    async def _send(self, message: M) -> None:
        sent = self._codec.dump(message)
        is_answer = "method" not in sent
        asked = None if is_answer else id_of(sent)
        if asked is not None:
            self._asked.add(asked)
        if is_answer and self._answered_before is not None and id_of(sent) == self._answered_before:
            self._answered_before = None
            if "error" in sent:  # the client was told otherwise: there is no honest way on
                self._channel.stop()
        else:
            self._channel.write(encode(sent))
            if is_answer:
                self._note_first_answer()
        if is_answer:
            self._settle(sent)

    def _note_first_answer(self) -> None:
        if self._on_first_answer is not None:
            self._on_first_answer()
            self._on_first_answer = None

    def _settle(self, answer: dict[str, object]) -> None:
        request_id = id_of(answer)
        if request_id is not None:
            self._open.discard(request_id)
        if not self._open:
            self._answered.set()

    async def _drain(self) -> None:
        """Let open requests come to their answers, for a bounded time."""
        self._on_end()
        self._answered.clear()
        if self._open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), DRAIN_SECONDS)


def _cancelled_ids(message: dict[str, object]) -> set[RequestId]:
    params = message.get("params")
    named = params.get("requestId") if is_object(params) else None
    return {named} if isinstance(named, int | str) else set()


class _Incoming(Generic[M]):
    """The readable half, in the shape that the protocol library expects of a stream."""

    def __init__(self, receive: Callable[[], Awaitable[M | None]]) -> None:
        self._receive = receive

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        message = await self._receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def aclose(self) -> None:
        """Nothing is held here."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held here."""


class _Outgoing(Generic[M]):
    """The writable half, in the shape that the protocol library expects of a stream."""

    def __init__(self, send: Callable[[M], Awaitable[None]]) -> None:
        self._send = send

    async def send(self, item: M, /) -> None:
        await self._send(item)

    async def aclose(self) -> None:
        """Nothing is held here."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held here."""
