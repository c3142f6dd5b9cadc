"""Routes that body or query tell apart, writes that are held back, and WebSockets: what must not pass does not.

Laws of this module:

- The server's log is the oracle: what arrives is what was let through.
- A cell is sent to a closed fence that lets reads pass, to one that is armed for the save beside them, and to one whose
  save has left.
- What a cell may reach the app with is written down; everything else that arrives is a violation.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from attrs import frozen

from faults.fence_arena import SOON, until
from support.fence_browser import BrowserBench
from support.fence_rig import FORM, Rig, rig
from support.origin_server import OriginServer, origin_server
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, WriteRoute

_JSON = "application/json"
_BOUNDARY = "----cellBoundary"
_PARTS = f"multipart/form-data; boundary={_BOUNDARY}"

_HARMLESS = (
    *(WriteRoute("POST", "/ok", kind, operation=GraphqlRead()) for kind in (_JSON, "multipart/form-data")),
    *(WriteRoute("POST", "/form", kind, operation=FormField("do[list]")) for kind in (FORM, "multipart/form-data")),
)
_SAVE = WriteRoute("POST", "/ok", _JSON, operation=GraphqlOperation("Create"))
_DRAFT = WriteRoute("POST", "/ok/draft", "text/plain")


@frozen
class Body:
    """One request.

    Args:
        name: What it is.
        content_type: Its content type.
        body: Its body.
        path: Where it goes.
        headers: More headers.
        reads: Whether it may pass as a harmless write.
        saves: Whether it may pass as the save.
    """

    name: str
    content_type: str
    body: bytes
    path: str = "/ok"
    headers: tuple[str, ...] = ()
    reads: bool = False
    saves: bool = False


def _asks(name: str, document: str, *, reads: bool = False, saves: bool = False, **more: object) -> Body:
    return Body(f"GraphQL, {name}", _JSON, json.dumps({"query": document, **more}).encode(), reads=reads, saves=saves)


_SAVED = _asks("the save before", "mutation Create {x}")


def _part(name: str, value: str, more: str = "", line: str = "\r\n") -> str:
    return line.join([f"--{_BOUNDARY}", f'Content-Disposition: form-data; name="{name}"{more}', "", value, ""])


def _parts(name: str, *parts: str, path: str = "/form", reads: bool = False, end: str = "") -> Body:
    body = "".join(parts) + (end or f"--{_BOUNDARY}--\r\n")
    return Body(f"form in parts, {name}", _PARTS, body.encode(), path, reads=reads)


_LIST, _QUERY = _part("do[list]", "1"), json.dumps({"query": "{x}"})

#: Every cell. Where a body can be read in two ways it is a write.
BODIES: tuple[Body, ...] = (
    _asks("a read", "query List {x}", reads=True),
    _asks("a read whose text looks like a mutation", '{x(a: "} mutation Create {")}', reads=True),
    _asks("a read whose fields are named so", "{mutation: x subscription}", reads=True),
    _asks("the save", "mutation Create {x}", saves=True, operationName="Create"),
    _asks("the save beside a read", "query List {x} mutation Create {x}", saves=True, operationName="Create"),
    _asks("another mutation", "mutation Other {x}"),
    _asks("a mutation without a name", "mutation {x}"),
    _asks("a subscription", "subscription List {x}"),
    _asks("behind a comment", "# query {x}\nmutation Other {x}"),
    _asks("behind a comment that ends with a return", "{x} # more\rmutation Create {x}"),
    _asks("behind a text", '{x(a: "#\\"")} mutation Create {x}'),
    _asks("behind a block of text", '{x(a: """\\""" #""")} mutation Create {x}'),
    _asks("by an alias", "mutation Other {Create: x}"),
    _asks("as the second operation", "query List {x} mutation Create {x}", operationName="List"),
    _asks("two mutations", "mutation Create {x} mutation Other {x}", operationName="Create"),
    _asks("two of one name", "query Create {x} mutation Create {x}", operationName="Create"),
    _asks("a document that the server kept", "{x}", extensions={"persistedQuery": {"sha256Hash": "0"}}),
    _asks("a document that is named beside", "{x}", id="kept"),
    Body("GraphQL, a member twice", _JSON, b'{"query": "{x}", "query": "mutation Create {x}"}'),
    Body("GraphQL, a member in other letters", _JSON, b'{"query": "{x}", "Query": "mutation Create {x}"}'),
    Body("GraphQL, a batch of reads", _JSON, b'[{"query": "{x}"}]', reads=True),
    Body("GraphQL, a batch with a mutation", _JSON, b'[{"query": "{x}"}, {"query": "mutation Create {x}"}]'),
    Body("GraphQL, by address and body", _JSON, _QUERY.encode(), "/ok?query=mutation+Create%7Bx%7D"),
    Body("GraphQL, by address alone", _JSON, b"{}", "/ok?query=mutation+Create%7Bx%7D"),
    Body("GraphQL, in UTF-16", f"{_JSON}; charset=utf-16", _QUERY.encode("utf-16")),
    Body("GraphQL, in an encoding", _JSON, _QUERY.encode(), headers=("Content-Encoding: gzip",)),
    Body("GraphQL, as another method", _JSON, _QUERY.encode(), headers=("X-HTTP-Method-Override: DELETE",)),
    _parts("an upload that reads", _part("operations", _QUERY), _part("map", "{}"), path="/ok", reads=True),
    _parts("an upload with two operations", _part("operations", _QUERY) * 2, path="/ok"),
    _parts("an upload with a document beside", _part("operations", _QUERY), _part("query", "mutation {x}"), path="/ok"),
    Body("form, the button", FORM, b"do[list]=1&x=do[save]", "/form", reads=True),
    Body("form, two buttons of one name", FORM, b"do[list]=1&do%5Blist%5D=2", "/form"),
    Body("form, a button above all others", FORM, b"do[list]=1&do=save", "/form"),
    Body("form, another button", FORM, b"do[save]=1&x=do[list]", "/form"),
    Body("form, split at a semicolon", FORM, b"do[list]=1;do=save", "/form"),
    Body("form, a button in the address too", FORM, b"do[list]=1", "/form?do[list]=2"),
    _parts("the button", _LIST, _part("x", "y"), reads=True),
    _parts("twins", _LIST * 2),
    _parts("a twin that is a file", _LIST, _part("do[list]", "1", '; filename="f"')),
    _parts("a twin behind a bare line end", _part("x", "\n" + _part("do[list]", "1", line="\n"))),
    _parts("a twin behind the end", _LIST, f"--{_BOUNDARY}--\r\n", _LIST),
    _parts("a second name", _part("do[list]", "1", '; name="do"')),
    _parts("a name behind an escape", _part('x\\"; name="do[list]', "1")),
    _parts("no end", _LIST, end="--"),
)


async def bodies(bench: BrowserBench, cells: Sequence[Body]) -> tuple[str, ...]:
    """Send each to a closed, an armed and a spent fence; what is violated."""
    wrong: list[str] = []
    for cell in cells:
        async with rig(bench.fence, harmless=_HARMLESS) as it:
            await _send(it, cell)
            wrong += _judged(cell, "closed", it, cell.reads)
        async with rig(bench.fence, harmless=_HARMLESS) as it:
            await it.arm(_SAVE)
            await _send(it, cell)
            wrong += _judged(cell, "armed", it, cell.reads or cell.saves)
            if it.boundary.asked != cell.saves:
                wrong.append(f"{cell.name}: the boundary was asked {it.boundary.asked} times")
        async with rig(bench.fence, harmless=_HARMLESS) as it:
            await it.arm(_SAVE)
            await _send(it, _SAVED)
            await _send(it, cell)
            wrong += _judged(cell, "spent", it, 1 + cell.reads)
    return tuple(wrong)


async def _send(it: Rig, cell: Body) -> None:
    headers = (f"Content-Type: {cell.content_type}", *cell.headers)
    await it.send("POST", cell.path, *headers, body=cell.body)


def _judged(cell: Body, state: str, it: Rig, passing: int) -> list[str]:
    arrived = len(it.server.writes)
    return [] if arrived == passing else [f"{cell.name}: {arrived} arrivals through the {state} fence"]


Try = Callable[[BrowserBench], Awaitable[tuple[str, ...]]]

_DRAFTS: dict[str, str] = {
    "fetch": "() => fetch('/ok/draft', {method: 'POST', body: 'x'})",
    "beacon": "() => navigator.sendBeacon('/ok/draft', 'x')",
    "keepalive": "() => fetch('/ok/draft', {method: 'POST', body: 'x', keepalive: true})",
}


def _held_back(way: str) -> Try:
    async def act(bench: BrowserBench) -> tuple[str, ...]:
        async with rig(bench.fence, blocked=(_DRAFT,)) as it:
            async with bench.page(it.server, it.run.proxy_url) as page:
                await page.evaluate(_DRAFTS[way])
                await it.arm(WriteRoute("POST", "/ok", FORM))
                await page.evaluate(_DRAFTS[way])
                await it.post("/ok")
                await page.evaluate(_DRAFTS[way])
                verdict = await it.run.settle(30_000)

                async def counted() -> bool:
                    return (await it.run.counts()).blocked_writes == len(("before", "armed", "after"))

                async def decided() -> bool:
                    return len(it.server.writes) > 1 or await counted()

                await until(decided, SOON)
                all_counted = await counted()
            found = [] if all_counted else ["not every draft was counted"]
            found += ["a draft arrived"] if len(it.server.writes) != 1 else []
            found += ["a draft was counted as stopped"] if verdict.stopped_writes else []
        return tuple(f"held back, {way}: {what}" for what in found)

    return act


_SOCKET = "() => { new WebSocket(location.origin.replace('http', 'ws') + '/socket/7') }"
_CHATTY = """() => {
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket/7')
  socket.onopen = () => setInterval(() => socket.send('x'), 5)
}"""
_IN_WORKER = f"""() => {{
  const code = `const location = {{origin: '${{location.origin}}'}}; (${{{_CHATTY}}})()`
  new Worker(URL.createObjectURL(new Blob([code], {{type: 'text/javascript'}})))
}}"""


def _cut(script: str, *, secure: bool) -> Try:
    async def act(bench: BrowserBench) -> tuple[str, ...]:
        tls = bench.authority.context if secure else None
        async with (
            rig(bench.fence, tls=tls, sockets=("/socket/*",)) as it,
            bench.page(it.server, it.run.proxy_url) as page,
        ):
            await page.evaluate(script)
            opened = await until(lambda: it.server.open_sockets, SOON)
            await it.run.close()
            was_cut = await until(lambda: not it.server.open_sockets, SOON)
            heard = len(it.server.frames)
            await page.evaluate("() => new Promise(done => setTimeout(done, 50))")
            more = len(it.server.frames) - heard
        found = [] if opened else ["it was not opened"]
        found += [] if was_cut else ["it was not cut when the run ended"]
        return tuple(found + ([f"{more} frames came after the end"] if more else []))

    return act


async def _unlisted(bench: BrowserBench) -> tuple[str, ...]:
    async with rig(bench.fence, sockets=("/other",)) as it:
        async with bench.page(it.server, it.run.proxy_url) as page:
            await page.evaluate(_SOCKET)

            async def stopped() -> bool:
                return (await it.run.counts()).stopped_writes > 0

            counted = await until(stopped, SOON)
        opened = [each for each in it.server.arrivals if each.path.startswith("/socket")]
    return (*(() if counted else ("it was not counted",)), *(("it was opened",) if opened else ()))


#: Cells of a page.
PAGES: dict[str, Try] = {
    **{f"a draft by {way}": _held_back(way) for way in _DRAFTS},
    "a socket at the end": _cut(_SOCKET, secure=False),
    "a socket over TLS at the end": _cut(_SOCKET, secure=True),
    "a socket that speaks at the end": _cut(_CHATTY, secure=False),
    "a socket of a worker at the end": _cut(_IN_WORKER, secure=False),
    "a socket that nobody confirmed": _unlisted,
}


async def pages(bench: BrowserBench, names: Sequence[str]) -> tuple[str, ...]:
    """Run cells of a page; what is violated."""
    found = [(name, await PAGES[name](bench)) for name in names]
    return tuple(f"{name}: {wrong}" for name, all_wrong in found for wrong in all_wrong)


def _reached(server: OriginServer) -> bool:
    return bool(server.writes or server.open_sockets)


#: What makes the drafts and the sockets of the cells.
SCRIPTS = (*_DRAFTS.values(), _SOCKET, _CHATTY, _IN_WORKER)


async def arrive_without_a_fence(bench: BrowserBench, scripts: Sequence[str]) -> int:
    """How many of these scripts reach the server when no fence is there."""
    arrived = 0
    for script in scripts:
        async with origin_server() as server, bench.page(server, None) as page:
            with contextlib.suppress(asyncio.TimeoutError):
                await page.evaluate(script)
            arrived += await until(partial(_reached, server), SOON)
    return arrived
