"""An app server of our own that logs every request which reaches it: the ground truth of the fence's tests.

It speaks HTTP/1.1 over plain sockets or TLS, accepts WebSockets, and answers as the first segment of the path says
(``ANSWERS``, ``CLOSING`` and a few that need code). What it logs is what arrived, not what was answered.
"""

import asyncio
import contextlib
import gzip
import hashlib
import ipaddress
import ssl
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

from attrs import define, field, frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@frozen
class Arrival:
    """One request that reached the server."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def sha256(self) -> str:
        """The hash of the body."""
        return hashlib.sha256(self.body).hexdigest()


#: The text frame that a WebSocket gets when it opens.
GREETING = b"\x81\x05hello"

PAGE = b"<!doctype html><meta charset=utf-8><title>origin</title><h1>origin</h1>"


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; ``_`` in a header's name stands for ``-``."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


#: What a script of another origin may read, and may ask to send.
_CORS = {
    "Access_Control_Allow_Origin": "*",
    "Access_Control_Allow_Headers": "*",
    "Access_Control_Allow_Methods": "*",
}

#: A page that sends a form as soon as it is shown; the form goes to the path behind ``/poster``.
_POSTER = (
    b"<!doctype html><form method=post></form>"
    b"<script>document.forms[0].action = location.pathname.replace('poster', 'ok'); document.forms[0].submit()</script>"
)

#: A page that sends a request by script as soon as it is shown, to the path behind ``/fetcher``.
_FETCHER = (
    b"<!doctype html><script>fetch(location.pathname.replace('fetcher', 'ok'), {method: 'POST', body: 'x'})</script>"
)

#: A page that opens a WebSocket as soon as it is shown, to the path behind ``/socketer``.
_SOCKETER = (
    b"<!doctype html><script>const socket = new WebSocket(location.href.replace('http', 'ws')"
    b".replace('socketer', 'socket')); socket.onopen = () => socket.send('x')</script>"
)

#: ``PAGE`` as Brotli squeezes it.
_BROTLI = b64decode("G0YAaBwHbuwavJ+LqH7BQauTPC1mGeNDBw45cHiAaYKBtGADDjBblnGbX3pcbf1ZoD6DiGNB")

#: Answers by the first segment of the path: bytes that are sent as they are, and the connection stays open.
ANSWERS: dict[str, bytes] = {
    "ok": answer(200, PAGE, Content_Type="text/html"),
    "challenge": answer(401, WWW_Authenticate='Basic realm="x"'),
    "timeout": answer(408, Connection="close"),
    "ntlm": answer(401, WWW_Authenticate="NTLM"),
    "misdirected": answer(421),
    "no-content": answer(204)[:-2].replace(b"Content-Length: 0\r\n", b"") + b"\r\n",
    "not-modified": b"HTTP/1.1 304 X\r\nContent-Length: 77\r\nETag: x\r\n\r\n",
    "early-hints": b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n" + answer(200, b"late"),
    "chunked": b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    "both-lengths": b"HTTP/1.1 200 X\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    "switch": b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "cors": answer(200, b"shared", **_CORS),
    "zipped": answer(200, gzip.compress(PAGE), Content_Type="text/html", Content_Encoding="gzip"),
    "squeezed": answer(200, _BROTLI, Content_Type="text/html", Content_Encoding="br"),
    "cookies": answer(
        303,
        Location="/page",
        Set_Cookie="strict=1; Path=/; HttpOnly; SameSite=Strict\r\nSet-Cookie: lax=1; Path=/; SameSite=Lax",
    ),
    "fetcher": answer(200, _FETCHER, Content_Type="text/html"),
    "socketer": answer(200, _SOCKETER, Content_Type="text/html"),
    "attachment": answer(200, b"file", Content_Type="x/y", Content_Disposition="attachment; filename=a.bin"),
    "poster": answer(200, _POSTER, Content_Type="text/html"),
    "too-early": answer(425),
    "created": answer(201, b"made", Content_Type="text/plain"),
    "hop-headers": answer(200, b"hop", Keep_Alive="timeout=9", Alt_Svc='h3=":443"', X_End="kept"),
}

#: Redirects by the first segment of the path: where they lead differs from the path in that segment alone.
REDIRECTS = {"again307": 307, "again308": 308, "see-other": 303}

#: Answers after which the server closes: what was sent before.
CLOSING: dict[str, bytes] = {
    "close": b"",
    "half-head": b"HTTP/1.1 200 X\r\nContent-Le",
    "after-head": b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n",
    "half-body": b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nhalf",
    "half-chunks": b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
    "to-the-end": b"HTTP/1.1 200 X\r\n\r\nuntil the end",
    "noise": b"\x00\x01\x02\r\n\r\n",
}


@define
class OriginServer:
    """A server that runs.

    Args:
        origin: Its origin, as ``scheme://127.0.0.1:port``.
        arrivals: Every request that reached it, in order.
        frames: Every data frame of a WebSocket client, as it came.
        released: Slow answers wait for it.
        connections: How many connections were accepted.
        page: What ``/page`` answers.
        default: The answer to a path that names none.
    """

    origin: str = ""
    arrivals: list[Arrival] = field(factory=list[Arrival])
    frames: list[bytes] = field(factory=list[bytes])
    released: asyncio.Event = field(factory=asyncio.Event)
    connections: int = 0
    page: bytes = PAGE
    default: str = "ok"
    _changed: asyncio.Event = field(factory=asyncio.Event)
    _sockets: list[Writer] = field(factory=list[Writer])

    @property
    def writes(self) -> list[Arrival]:
        """The arrivals that are no reads."""
        return [arrival for arrival in self.arrivals if arrival.method not in {"GET", "HEAD", "OPTIONS"}]

    @property
    def open_sockets(self) -> int:
        """How many WebSockets are open."""
        return len(self._sockets)

    def hang_up_all(self) -> None:
        """End every WebSocket."""
        for writer in self._sockets:
            writer.close()

    async def until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until something holds about what arrived.

        Raises:
            TimeoutError: It does not hold in time.
        """
        async with asyncio.timeout(seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one connection."""
        self.connections += 1
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
                while await self._exchange(reader, writer, self.connections):
                    pass
        finally:
            await hang_up(writer)

    async def _exchange(self, reader: Reader, writer: Writer, connection: int) -> bool:
        arrival = await _read(reader, writer, connection)
        if arrival is None:
            return False
        self.arrivals.append(arrival)
        self._changed.set()
        name = arrival.path.partition("?")[0].partition("/")[2].partition("/")[0]
        special: dict[str, Callable[[Arrival, Reader, Writer], Awaitable[bool]]] = {
            "slow": self._slow,
            "events": self._events,
            "socket": self._socket,
            "reset": _reset,
            "page": self._page,
            "reporting": _reporting,
            "script": _script,
            "huge": _huge,
            "once-per-connection": self._once,
        }
        if name in special:
            return await special[name](arrival, reader, writer)
        if name in CLOSING:
            writer.write(CLOSING[name])
            await writer.drain()
            return False
        reply = ANSWERS.get(name, ANSWERS[self.default])
        if name in REDIRECTS:
            reply = answer(REDIRECTS[name], Location=arrival.path.replace(name, "ok", 1))
        writer.write(reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if arrival.method == "HEAD" else reply)
        await writer.drain()
        return arrival.headers.get("connection") != "close"

    async def _page(self, _arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
        writer.write(answer(200, self.page, Content_Type="text/html", Cache_Control="no-store"))
        await writer.drain()
        return True

    async def _once(self, arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
        """Answer the first request of a connection, and close on the second, as a server does that is tired of it."""
        if [before.connection for before in self.arrivals].count(arrival.connection) > 1:
            return False
        writer.write(answer(200, b"once"))
        await writer.drain()
        return True

    async def _slow(self, _arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
        await self.released.wait()
        writer.write(answer(200, b"slow"))
        await writer.drain()
        return True

    async def _events(self, _arrival: Arrival, reader: Reader, writer: Writer) -> bool:
        """Server-sent events: one at once, the second when released, then silence until the client is gone."""
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n")
        await writer.drain()
        await self.released.wait()
        writer.write(b"data: two\n\n")
        await writer.drain()
        await reader.read()
        self.frames.append(b"gone")
        self._changed.set()
        return False

    async def _socket(self, arrival: Arrival, reader: Reader, writer: Writer) -> bool:
        key = arrival.headers.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
        head = f"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        writer.write(head.encode() + GREETING)
        self._sockets.append(writer)
        self._changed.set()
        try:
            while frame := await reader.read(65_536):
                self.frames.append(frame)
                self._changed.set()
        finally:
            self._sockets.remove(writer)
            self._changed.set()
        return False


async def hang_up(writer: Writer) -> None:
    """Close a connection and wait until it is closed; one that was torn counts as closed."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _read(reader: Reader, writer: Writer, connection: int) -> Arrival | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await _read_chunks(reader) if "transfer-encoding" in headers else b""
    body += await reader.readexactly(int(headers.get("content-length", "0")))
    return Arrival(method, path, headers, body, connection)


async def _read_chunks(reader: Reader) -> bytes:
    body = b""
    while size := int((await reader.readline()).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def _reporting(arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
    """A page that breaks its own policy; the browser is told to report that, by the way that the path names.

    ``/reporting/<way>/<rest>``: ``<way>`` is ``uri`` or ``to``, and the report goes to ``/ok/<rest>``.
    """
    _, _, way, rest = arrival.path.split("/", 3)
    report = f"report-uri /ok/{rest}" if way == "uri" else "report-to main"
    policy = f"img-src 'none'; {report}"
    page = b"<!doctype html><img src=/none.png>"
    headers = {"Reporting_Endpoints": f'main="/ok/{rest}"'} if way == "to" else {}
    writer.write(answer(200, page, Content_Type="text/html", Content_Security_Policy=policy, **headers))
    await writer.drain()
    return True


async def _script(arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
    """A script, which is the query of the path."""
    source = unquote(arrival.path.partition("?")[2]).encode()
    writer.write(answer(200, source, Content_Type="text/javascript", Service_Worker_Allowed="/"))
    await writer.drain()
    return True


async def _reset(_arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
    writer.transport.abort()
    return False


async def _huge(_arrival: Arrival, _reader: Reader, writer: Writer) -> bool:
    writer.write(answer(200, bytes(3_000_000)))
    await writer.drain()
    return True


@contextlib.asynccontextmanager
async def origin_server(tls: ssl.SSLContext | None = None) -> AsyncGenerator[OriginServer]:
    """A running server on a free port of loopback."""
    server = OriginServer()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: Reader, writer: Writer) -> None:
        task = asyncio.create_task(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls, backlog=512)
    port = listener.sockets[0].getsockname()[1]
    server.origin = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listener.close()
        server.released.set()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@frozen
class TestAuthority:
    """A certificate authority of a test, and a server context with a certificate of it.

    Args:
        certificate: A PEM file with the authority's certificate.
        context: The server side context for 127.0.0.1, localhost and app.test.
        chain: The PEM file that it was made of: a key and its certificate.
        spki: The base64 SHA-256 of its key, for a browser that is to trust it without the fence.
    """

    __test__ = False

    certificate: Path
    context: ssl.SSLContext
    chain: Path
    spki: str


def make_authority(folder: Path) -> TestAuthority:
    """Make an authority, and a certificate for loopback that it signed."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("authority", authority_key, "authority", authority_key, ca=True)
    leaf = _certificate("leaf", key, "authority", authority_key, ca=False)
    path, chain = folder / "authority.pem", folder / "leaf.pem"
    path.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(plain + leaf.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    encoded = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return TestAuthority(path, context, chain, b64encode(hashlib.sha256(encoded).digest()).decode())


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey, *, ca: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.DNSName("app.test"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
    )
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(signer, critical=False)
        .add_extension(names, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
