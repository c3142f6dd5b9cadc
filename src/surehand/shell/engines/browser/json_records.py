"""Reads records from the JSON that an app answers with: plain GETs that share no connection with the browser.

Laws of this module:

- No cookie jar, no redirect, no cache, no second try: what is read is what these answers say now. A proxy of the
  operator's opens a tunnel and nothing more.
- The session gives its cookies for the address and nothing else. A token that an app keeps elsewhere is not looked for:
  under which name it lies, and where it belongs, would be a guess.
- A string is its text; a number or a boolean is exactly the text that stands in the JSON; null is absent; an object is
  its members under dotted names; a list is its canonical JSON.
- A status other than 200, a repeated member or key, an answer too large or too slow: nothing was read.
"""

import asyncio
import http.client
import json
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final, assert_never, cast
from urllib.parse import quote

from attrs import Factory, field, frozen

from surehand.core.schema import is_unicode
from surehand.core.strict_json import strict_json
from surehand.core.workflow.commands import Record, Records
from surehand.core.workflow.fence import parse_origin
from surehand.core.workflow.reach import Proxy, UnsupportedProxy, proxy_for
from surehand.core.workflow.source import JsonRecords
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.readback import Network, UnusableAnswerError, new_keys, told_apart
from surehand.shell.fence.tls import upstream_context

#: The largest answer that is read, in bytes.
MAX_BYTES: Final = 32 * 1024 * 1024

#: Bytes of one read from the socket.
_CHUNK: Final = 64 * 1024

_OK: Final = 200


async def _no_cookies(_url: str) -> str:
    return ""


def _trust(reader: "JsonReader") -> ssl.SSLContext:
    return upstream_context(reader.network.extra_authority)


@frozen
class JsonReader:
    """Reads JSON from the app of one run.

    Args:
        target: Where the channel is, and its headers.
        network: How it is reached.
        cookies: The cookies of the session for an address, as they stand in a request; empty when there are none.
    """

    target: AppTarget
    network: Network = field(factory=Network)
    cookies: Callable[[str], Awaitable[str]] = _no_cookies
    _tls: ssl.SSLContext = field(default=Factory(_trust, takes_self=True), init=False, repr=False)

    async def read(self, source: JsonRecords, old: frozenset[str] | None, deadline: float) -> Records:
        """As the protocol says."""
        answer = await self._get(source.path, deadline)
        listed = told_apart(tuple(_record(item, source.key) for item in _items(answer, source.items)))
        if source.detail is None:
            return listed
        new = new_keys(tuple(record.key for record in listed.records), old)
        details = {key: await self._detail(source, key, deadline) for key in new}
        return Records(tuple(details.get(record.key, record) for record in listed.records))

    async def _detail(self, source: JsonRecords, key: str, deadline: float) -> Record:
        path = (source.detail or "").replace("*", quote(key, safe=""))
        items = _items(await self._get(path, deadline), source.items, wrapped=False)
        record = _record(items[0], source.key) if len(items) == 1 else None
        if record is None or record.key != key:
            # An answer about another record.
            raise UnusableAnswerError
        return record

    async def _get(self, path: str, deadline: float) -> object:
        """The JSON at a path of the channel.

        Raises:
            UnusableAnswerError: There is none.
        """
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise UnusableAnswerError
        try:
            connection = self._connection(seconds)
            cookies = await self.cookies(self.target.record_origin + path)
            reading = asyncio.create_task(asyncio.to_thread(self._fetch, connection, path, cookies, deadline))
            done, _ = await asyncio.wait({reading}, timeout=seconds)
            if not done:
                _cut(connection)
            return parse(await reading)
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            raise UnusableAnswerError from None

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        origin = parse_origin(self.target.record_origin)
        if origin is None:
            raise UnusableAnswerError
        host, port = origin.host.strip("[]"), origin.port
        match proxy_for(self.network.proxies, origin):
            case None:
                return self._straight(origin.scheme, host, port, seconds)
            case UnsupportedProxy():
                raise UnusableAnswerError
            case Proxy() as proxy:
                connection = self._straight(origin.scheme, proxy.host, proxy.port, seconds)
                credentials = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}
                connection.set_tunnel(host, port, credentials)
                return connection
            case _ as never:  # pragma: no cover
                assert_never(never)

    def _straight(self, scheme: str, host: str, port: int, seconds: float) -> http.client.HTTPConnection:
        if scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def _fetch(self, connection: http.client.HTTPConnection, path: str, cookies: str, deadline: float) -> bytes:
        headers = {"Accept": "application/json", "Cache-Control": "no-store"}
        headers |= {"Cookie": cookies} if cookies else {}
        try:
            connection.request("GET", path, headers={**headers, **self.target.record_headers})
            # The answer is closed by itself: one without a length keeps the socket when its connection is closed.
            with connection.getresponse() as answer:
                if answer.status != _OK:
                    raise UnusableAnswerError
                return _body(answer, deadline)
        finally:
            connection.close()


def _body(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """The whole body, unless it is too large or too slow."""
    parts: list[bytes] = []
    size = 0
    while chunk := answer.read1(_CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES or time.monotonic() > deadline:
            raise UnusableAnswerError
    if answer.length:
        # The connection ended before the announced length.
        raise UnusableAnswerError
    return b"".join(parts)


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a read that takes too long: the thread that waits on the socket gets an error."""
    open_socket = cast("socket.socket | None", connection.sock)
    if open_socket is not None:
        try:
            open_socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def parse(body: bytes) -> object:
    """The JSON of one answer, in which a number is the text that it was written as.

    Raises:
        ValueError: The answer is not strict JSON in UTF-8, or repeats a member.
        RecursionError: It is nested beyond all reason.
    """
    return strict_json(body.decode("utf-8"), parse_int=_Literal, parse_float=_Literal)


class _Literal(str):
    """The text of a JSON number."""

    __slots__ = ()


def _items(answer: object, path: str, *, wrapped: bool = True) -> list[object]:
    """The records in an answer: a list, or what is one record.

    They stand at the path, whose last ``*`` is every member of an object; an answer about one record may leave it out,
    if it need not be ``wrapped`` as lists are.
    """
    for name in path.split(".") if path else ():
        members = _object(answer)
        if name == "*":
            answer = list(members.values())
        elif name in members:
            answer = members[name]
        elif wrapped:
            raise UnusableAnswerError
    return cast("list[object]", answer) if isinstance(answer, list) else [answer]


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UnusableAnswerError
    return cast("dict[str, object]", value)


def _record(item: object, key: str) -> Record:
    found = tuple(_flat(_object(item), ""))
    members = dict(found)
    if len(members) != len(found) or not members.get(key):
        # One name for two members, a dotted one and a nested one; or no key.
        raise UnusableAnswerError
    return Record(members[key], members)


def _flat(members: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in members.items():
        if isinstance(value, dict):
            yield from _flat(cast("dict[str, object]", value), f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, _text(value)


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            text = str(value)
        case list():
            text = _canonical(cast("list[object]", value))
        case _:
            raise UnusableAnswerError
    if not is_unicode(text):
        raise UnusableAnswerError
    return text


def _canonical(value: object) -> str:
    """JSON without blanks, with sorted members, and numbers as they were written."""
    match value:
        case _Literal():
            return str(value)
        case list():
            return f"[{','.join(map(_canonical, cast('list[object]', value)))}]"
        case dict():
            members = sorted(cast("dict[str, object]", value).items())
            return f"{{{','.join(f'{_canonical(name)}:{_canonical(member)}' for name, member in members)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)
