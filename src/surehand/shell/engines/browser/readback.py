"""The read-back channel: one GET that shares nothing with the browser.

Laws of this module:

- No cookie jar, no redirect, no cache, no second try: what is read is what this one answer says now. A proxy of the
  operator's opens a tunnel and nothing more.
- Every oddity (status, size, time, encoding, a repeated member, a nested value) makes the answer unusable.
  Nothing is guessed, converted or left out.
- Nothing that was read appears in an exception.
"""

import asyncio
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, assert_never, cast

from attrs import Factory, field, frozen

from surehand.core.workflow.bundle import ReadBack
from surehand.core.workflow.commands import Record, Records, RecordsUnavailable
from surehand.core.workflow.fence import parse_origin
from surehand.core.workflow.reach import Proxy, ProxySettings, UnsupportedProxy, proxy_for
from surehand.shell.engines.base import AppTarget
from surehand.shell.fence.tls import upstream_context

#: The largest answer that is read, in bytes.
MAX_BYTES: Final = 32 * 1024 * 1024

#: Bytes of one read from the socket.
_CHUNK: Final = 64 * 1024

_OK: Final = 200


class UnusableAnswerError(ValueError):
    """The channel answered with something that is not a list of flat records."""


@frozen
class Network:
    """How apps are reached.

    Args:
        proxies: The operator's proxies.
        extra_authority: A PEM file with certificates that are trusted beside the system's.
    """

    proxies: ProxySettings = field(factory=ProxySettings)
    extra_authority: Path | None = None


def _trust(channel: "RecordChannel") -> ssl.SSLContext:
    return upstream_context(channel.network.extra_authority)


@frozen
class RecordChannel:
    """Reads all records of one read-back declaration.

    Args:
        target: Where the channel is, and its headers.
        read_back: The path, and the members that name the list and the key.
        network: How it is reached.
    """

    target: AppTarget
    read_back: ReadBack
    network: Network = field(factory=Network)
    _tls: ssl.SSLContext = field(default=Factory(_trust, takes_self=True), init=False, repr=False)

    async def read(self, seconds: float) -> Records | RecordsUnavailable:
        """Read the records once; anything but a clean answer within so many seconds is ``RecordsUnavailable``."""
        try:
            connection = self._connection(seconds)
        except ValueError:
            return RecordsUnavailable()
        deadline = time.monotonic() + seconds
        reading = asyncio.create_task(asyncio.to_thread(self._fetch, connection, deadline))
        done, _ = await asyncio.wait({reading}, timeout=seconds)
        if not done:
            _cut(connection)
        try:
            return parse_records(await reading, self.read_back)
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return RecordsUnavailable()

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

    def _fetch(self, connection: http.client.HTTPConnection, deadline: float) -> bytes:
        try:
            headers = {"Accept": "application/json", "Cache-Control": "no-store", **self.target.record_headers}
            connection.request("GET", self.read_back.path, headers=headers)
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


def parse_records(body: bytes, read_back: ReadBack) -> Records:
    """The records of one JSON answer.

    A string member is its text; a number or a boolean is exactly the text that stands in the JSON; null is absent.

    Raises:
        UnusableAnswerError: The answer is not an object with a list of flat objects that each have a key, no key twice.
        ValueError: The answer is not strict JSON in UTF-8.
        RecursionError: It is nested beyond all reason.
    """
    answer: object = json.loads(
        body.decode("utf-8"),
        parse_int=_Literal,
        parse_float=_Literal,
        parse_constant=_refuse,
        object_pairs_hook=_members_once,
    )
    items = _object(answer).get(read_back.items)
    if not isinstance(items, list):
        raise UnusableAnswerError
    records = tuple(_record(item, read_back.key) for item in cast("list[object]", items))
    if len({record.key for record in records}) != len(records):
        raise UnusableAnswerError
    return Records(records)


class _Literal(str):
    """The text of a JSON number."""

    __slots__ = ()


def _refuse(_constant: str) -> object:
    """NaN and the infinities are no JSON."""
    raise UnusableAnswerError


def _members_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise UnusableAnswerError
    return members


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UnusableAnswerError
    return cast("dict[str, object]", value)


def _record(item: object, key: str) -> Record:
    members = {name: _text(value) for name, value in _object(item).items() if value is not None}
    if not members.get(key):
        raise UnusableAnswerError
    return Record(members[key], members)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise UnusableAnswerError
    # A lone surrogate, which JSON can spell and no text holds, fails to encode: a UnicodeEncodeError is a ValueError.
    value.encode("utf-8")
    return str(value)
