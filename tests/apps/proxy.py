"""A reverse proxy on loopback that stands between browsers and an app, and spoils one save when it is told to.

Laws of this module:

- Without a fault every byte passes as it came: the app is seen at the proxy's address, with the same paths and bodies.
- A fault happens once; only being signed out afterwards lasts until the fault is taken away.
- It knows a save by what the app's file says, not by what Surehand says.
"""

import asyncio
import re
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from enum import Enum, unique
from typing import Final, TypeVar

from attrs import define, frozen

T = TypeVar("T")

_LARGEST_HEAD: Final = 256 * 1024

#: Seconds that a slow save takes: longer than a person waits, shorter than a run does.
SLOW_SECONDS: Final = 8.0


@unique
class Fault(Enum):
    """What happens to a save on its way, or around it.

    request_lost: the app never sees it, and the connection ends. response_lost: the app has it, the answer is lost.
    error_after_commit: the app has it, and a 500 is answered. ok_without_commit: the app never sees it, and a 200 is
    answered. slow: the app has it after some seconds. duplicate: the app has it twice. signed_out: the app never sees
    it, and is answered by its sign-in page. signed_out_before: the next page that is asked for is the sign-in page.
    signed_out_after: the app has it, and whatever is read after it is the sign-in page.
    """

    REQUEST_LOST = "request_lost"
    RESPONSE_LOST = "response_lost"
    ERROR_AFTER_COMMIT = "error_after_commit"
    OK_WITHOUT_COMMIT = "ok_without_commit"
    SLOW = "slow"
    DUPLICATE = "duplicate"
    SIGNED_OUT = "signed_out"
    SIGNED_OUT_BEFORE = "signed_out_before"
    SIGNED_OUT_AFTER = "signed_out_after"


#: Faults of a request that the app has nevertheless.
_DELIVERED: Final = frozenset({Fault.RESPONSE_LOST, Fault.ERROR_AFTER_COMMIT, Fault.SLOW, Fault.DUPLICATE})
_SIGNED_OUT: Final = frozenset({Fault.SIGNED_OUT, Fault.SIGNED_OUT_BEFORE, Fault.SIGNED_OUT_AFTER})


@frozen
class SaveSign:
    """How a save of an app is known: method, path with query, and something in the body."""

    method: str
    path: re.Pattern[str]
    body: re.Pattern[bytes]

    def fits(self, request: "Request") -> bool:
        """Whether a request is a save."""
        return (
            request.method == self.method
            and self.path.fullmatch(request.target) is not None
            and self.body.search(request.body) is not None
        )


@frozen
class Request:
    """One request as it came, except that it asks for the connection to be closed."""

    method: str
    target: str
    head: bytes
    body: bytes

    @property
    def upgrades(self) -> bool:
        """Whether the connection is to become something else."""
        return re.search(rb"(?im)^upgrade:", self.head) is not None

    @property
    def is_page(self) -> bool:
        """Whether a page is asked for, and no part of one."""
        return re.search(rb"(?im)^accept: *text/html", self.head) is not None


@define
class Proxy:
    """A running proxy; ``fault`` is what happens to the next save, ``saves`` counts those that came since."""

    port: int
    app_port: int
    sign: SaveSign
    sign_in: str
    fault: Fault | None = None
    saves: int = 0

    @property
    def origin(self) -> str:
        """Where browsers see the app."""
        return f"http://127.0.0.1:{self.port}"

    def spoil(self, fault: Fault | None) -> None:
        """Let this happen to the next save, and count from here."""
        self.saves = 0
        self.fault = fault

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, one answer."""
        try:
            request = await _read(reader)
            if request is not None:
                await self._answer(request, reader, writer)
        except (OSError, EOFError, ValueError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request.upgrades:
            await self._tunnel(request, reader, writer)
            return
        fault = self._fault_of(request)
        if fault is Fault.SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        if fault is Fault.DUPLICATE:
            await self._ask(request)
        answer = b"" if fault is not None and fault not in _DELIVERED else await self._ask(request)
        writer.write(_spoiled(fault, answer, self.sign_in))
        await writer.drain()

    def _fault_of(self, request: Request) -> Fault | None:
        if self.sign.fits(request):
            return self._fault_of_save()
        is_read = request.method == "GET" and request.target != self.sign_in
        if self.fault is Fault.SIGNED_OUT_AFTER:
            return self.fault if is_read and self.saves else None
        if self.fault is Fault.SIGNED_OUT_BEFORE and is_read and request.is_page:
            return self._once()
        return None

    def _fault_of_save(self) -> Fault | None:
        self.saves += 1
        return None if self.fault in {Fault.SIGNED_OUT_BEFORE, Fault.SIGNED_OUT_AFTER} else self._once()

    def _once(self) -> Fault | None:
        fault, self.fault = self.fault, None
        return fault

    async def _ask(self, request: Request) -> bytes:
        """The whole answer of the app."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.app_port)
        try:
            writer.write(request.head + request.body)
            await writer.drain()
            return await reader.read(-1)
        finally:
            writer.close()

    async def _tunnel(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        app_reader, app_writer = await asyncio.open_connection("127.0.0.1", self.app_port)
        app_writer.write(request.head + request.body)
        try:
            await asyncio.gather(_pipe(reader, app_writer), _pipe(app_reader, writer))
        finally:
            app_writer.close()


def _spoiled(fault: Fault | None, answer: bytes, sign_in: str) -> bytes:
    if fault in {Fault.REQUEST_LOST, Fault.RESPONSE_LOST}:
        return b""
    if fault is Fault.ERROR_AFTER_COMMIT:
        return _made("500 Internal Server Error", b"<h1>Something went wrong</h1>")
    if fault is Fault.OK_WITHOUT_COMMIT:
        return _made("200 OK", b"<h1>Saved</h1>")
    if fault in _SIGNED_OUT:
        return _made("302 Found", b"", f"Location: {sign_in}\r\n")
    return answer


def _made(status: str, body: bytes, header: str = "") -> bytes:
    kind = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\n{header}Connection: close"
    return f"HTTP/1.1 {status}\r\n{kind}\r\n\r\n".encode() + body


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """The next request; ``None`` when the browser closed the connection without one."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    body = await reader.readexactly(int(length[1])) if length is not None else b""
    if re.search(rb"(?im)^upgrade:", head) is None:
        head = re.sub(rb"(?im)^(connection|keep-alive):[^\r\n]*\r\n", b"", head)
        head = head[:-2] + b"Connection: close\r\n\r\n"
    return Request(method, target, head, body)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@contextmanager
def standing_before(app_port: int, port: int, sign: SaveSign, sign_in: str) -> Generator[Proxy]:
    """Serve on a port, in a thread of its own, what an app serves on another.

    Args:
        app_port: Where the app is.
        port: Where browsers are to see it.
        sign: How a save is known.
        sign_in: The path of the app's sign-in page.
    """
    proxy = Proxy(port, app_port, sign, sign_in)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = _in(loop, asyncio.start_server(proxy.serve, "127.0.0.1", port, limit=_LARGEST_HEAD))
    try:
        yield proxy
    finally:
        _in(loop, _end(server))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    """Take no further connection, and end what still serves one."""
    server.close()
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _in(loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, T]) -> T:
    """Do something in the loop of another thread, and wait for it."""
    return asyncio.run_coroutine_threadsafe(work, loop).result(30)
