"""The fence on the wire: raw bytes that a page could not send, or that two programs could read in two ways.

Laws of this module:

- A closed fence lets none of them through; an armed one lets at most one through, and never a part of one.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from attrs import frozen

from faults.fence_arena import SOON, until
from support.fence_browser import BrowserBench
from support.fence_rig import FORM, Rig, exchange, open_proxy, rig, trusting, tunnel, within
from support.origin_server import hang_up, origin_server
from surehand.core.workflow.route import WriteRoute

_FORM = f"Content-Type: {FORM}"


@frozen
class Bytes:
    """Raw requests; ``{o}`` stands for the server's origin and ``{h}`` for its host.

    Args:
        name: What they are.
        sent: What is written, one connection for each.
        save: How many of them an armed fence may let through.
        secure: Whether they go through a tunnel with TLS.
    """

    name: str
    sent: tuple[str, ...]
    save: int = 0
    secure: bool = False


def _write(method: str, target: str, *headers: str, body: str = "note=x") -> str:
    lines = [f"{method} {target} HTTP/1.1", "Host: {h}", *headers, f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines)


_SAVE = _write("POST", "{o}/ok", _FORM)
_IN_TUNNEL = _write("POST", "/ok", _FORM)

_HEAD = f"POST {{o}}/ok HTTP/1.1\r\nHost: {{h}}\r\n{_FORM}\r\n"
_READ = "GET {o}/ok HTTP/1.1\r\nHost: {h}\r\n"

#: Seconds that nothing comes after which nothing more comes, and those in which a save is answered on a busy machine.
_QUIET = 0.3
_ANSWERED = 30.0

#: Every cell. What is framed in two ways counts as a write that must not pass.
CELLS: tuple[Bytes, ...] = (
    Bytes("a form", (_SAVE,), save=1),
    Bytes("twenty forms at the same time", (_SAVE,) * 20, save=1),
    Bytes("five forms in one connection", (_SAVE * 5,), save=1),
    Bytes("a form behind a read in one connection", (f"{_READ}\r\n{_SAVE}",), save=1),
    Bytes("a form in chunks", (f"{_HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nnot\r\n3\r\ne=x\r\n0\r\n\r\n",), save=1),
    Bytes("a form over TLS", (_IN_TUNNEL,), save=1, secure=True),
    Bytes("five forms in one tunnel", (_IN_TUNNEL * 5,), save=1, secure=True),
    Bytes("a form with a query", (_write("POST", "{o}/ok?x=1", _FORM),), save=1),
    *(
        Bytes(f"method {method}", (_write(method, "{o}/ok", _FORM),))
        for method in ("PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", "LINK", "post", "get", "M-SEARCH")
    ),
    *(
        Bytes(f"GET with {name}", (_write("GET", "{o}/ok", f"{name}: DELETE"),))
        for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
    ),
    Bytes("another path", (_write("POST", "{o}/okay", _FORM), _write("POST", "{o}/ok/", _FORM))),
    Bytes("another type", (_write("POST", "{o}/ok", "Content-Type: text/plain"), _write("POST", "{o}/ok"))),
    Bytes("upgrade", (f"{_READ}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",)),
    Bytes("upgrade to HTTP/2", (f"{_READ}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",)),
    Bytes("preface of HTTP/2", ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",)),
    Bytes("two lengths", (f"{_HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",)),
    Bytes("length and chunks", (f"{_HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",)),
    Bytes("broken off", (_SAVE[:-1],)),
    Bytes("broken off in its head", (_SAVE[:40],)),
    Bytes("another server inside", (_write("POST", "/ok", _FORM).replace("{h}", "other.invalid"),), secure=True),
    Bytes("an absolute address in a tunnel", (_SAVE,), secure=True),
    Bytes("a tunnel in a tunnel", ("CONNECT {h} HTTP/1.1\r\nHost: {h}\r\n\r\n",), secure=True),
)


async def judge(bench: BrowserBench, cells: Sequence[Bytes]) -> tuple[str, ...]:
    """Send each with the fence closed and with it armed; what is violated."""
    wrong: list[str] = []
    for cell in cells:
        wrong += [f"wire, {cell.name}: {what}" for what in (*await _closed(bench, cell), *await _armed(bench, cell))]
    return tuple(wrong)


async def _closed(bench: BrowserBench, cell: Bytes) -> list[str]:
    async with rig(bench.fence, tls=bench.authority.context if cell.secure else None) as it:
        await _send_all(it, cell)
        return ["arrived through the closed fence"] if it.server.writes else []


async def _armed(bench: BrowserBench, cell: Bytes) -> list[str]:
    async with rig(bench.fence, tls=bench.authority.context if cell.secure else None) as it:
        await it.arm(WriteRoute("POST", "/ok", FORM))
        await _send_all(it, cell)
        await it.run.settle(0 if not cell.save else 30_000)
        arrived = len(it.server.writes)
        found = [] if arrived == cell.save else [f"{arrived} arrivals, {cell.save} expected"]
        return found + (["no boundary"] if it.boundary.asked != cell.save else [])


async def _send_all(it: Rig, cell: Bytes) -> None:
    host = it.server.origin.partition("://")[2]
    texts = (text.replace("{o}", it.server.origin).replace("{h}", host) for text in cell.sent)
    send = _through_tls if cell.secure else _plain
    # Who hangs up before the answer may take a save back.
    first = _ANSWERED if cell.save else _QUIET
    await asyncio.gather(*(send(it, text.encode(), first) for text in texts))


async def _plain(it: Rig, data: bytes, first: float) -> None:
    reader, writer = await open_proxy(it.run.proxy_url)
    await _exchange(reader, writer, data, first)


async def _through_tls(it: Rig, data: bytes, first: float) -> None:
    _, reader, writer = await tunnel(it.run.proxy_url, it.server.origin.removeprefix("https://"))
    await writer.start_tls(trusting(), server_hostname="127.0.0.1")
    await _exchange(reader, writer, data, first)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes, first: float) -> None:
    """Write, read what comes until nothing has come for a while, with more time for the first of it, and close."""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(data)
        await writer.drain()
        seconds = first
        while await asyncio.wait_for(reader.read(65_536), seconds):
            seconds = _QUIET
    await hang_up(writer)


async def counts_without_a_fence(cells: Sequence[Bytes]) -> int:
    """How many of the cells arrive at least once when the server is asked directly."""
    arrived = 0
    for cell in cells:
        async with origin_server() as server:
            host = server.origin.removeprefix("http://")
            for text in cell.sent:
                direct = text.replace("{o}", "").replace("{h}", host).encode()
                with contextlib.suppress(OSError, TimeoutError):
                    await within(0.5, exchange(server.origin, direct))
            arrived += await until(lambda: server.arrivals, SOON if cell.save else 0)
    return arrived
