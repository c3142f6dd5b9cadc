"""Connections to apps: straight, or through the proxy that the operator's variables name.

Laws of this module:

- A connection is ready when TLS stands and the app's certificate is verified; nothing of a request was sent by then.
- A proxy gets the name of the app's host and the operator's own credentials for it, and nothing else.
- What goes wrong is an error by its type.
"""

import asyncio
import re
import ssl
from asyncio import StreamReader, StreamWriter

import h11
from attrs import field, frozen

from surehand.core.workflow.fence import Origin
from surehand.core.workflow.reach import Proxy, ProxySettings, Reach, UnsupportedProxy, proxy_for
from surehand.shell.fence.wire import PlainStream, Wire

_CONNECT_SECONDS = 10.0
_GRANTED = re.compile(rb"HTTP/1\.[01] 2[0-9][0-9][ \r]")

#: How long a server that refuses after the handshake, or that speaks first, is listened to, in seconds.
LISTEN_SECONDS = 0.25


class ProxyUnreachableError(OSError):
    """Nothing listens where the proxy should be."""


class ProxyRefusedError(OSError):
    """The proxy opens no tunnel to the app: it forbids it, it cannot reach the app, or it wants other credentials."""


class ProxyUnsupportedError(OSError):
    """The proxy on the way is of a kind that is not supported."""


@frozen
class Dialer:
    """How apps are reached.

    Args:
        tls: Trust toward apps.
        proxies: The operator's proxies.
    """

    tls: ssl.SSLContext
    proxies: ProxySettings = field(factory=ProxySettings)

    async def connect(self, origin: Origin) -> tuple[Wire, PlainStream]:
        """A fresh connection to an app.

        Raises:
            OSError: It cannot be reached in time, or its certificate is not trusted.
        """
        stream = PlainStream(*await self.dial(origin))
        return Wire(h11.CLIENT, stream), stream

    async def dial(self, origin: Origin, tls: ssl.SSLContext | None = None) -> tuple[StreamReader, StreamWriter]:
        """The streams of a fresh connection, with another trust or protocol than usual if one is given.

        Raises:
            OSError: As for ``connect``.
        """
        context = (tls or self.tls) if origin.scheme == "https" else None
        host = origin.host.strip("[]")
        proxy = proxy_for(self.proxies, origin)
        async with asyncio.timeout(_CONNECT_SECONDS):
            match proxy:
                case None:
                    return await asyncio.open_connection(host, origin.port, ssl=context)
                case UnsupportedProxy():
                    raise ProxyUnsupportedError
                case Proxy():
                    reader, writer = await _tunnel(proxy, origin)
                    if context is not None:
                        await _start_tls(writer, context, host)
                    return reader, writer


async def _tunnel(proxy: Proxy, origin: Origin) -> tuple[StreamReader, StreamWriter]:
    try:
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    except OSError as error:
        raise ProxyUnreachableError from error
    target = f"{origin.host}:{origin.port}"
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n".encode("ascii"))
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.close()
        raise ProxyRefusedError from error
    except asyncio.CancelledError:
        writer.close()
        raise
    if _GRANTED.match(head) is None:
        writer.close()
        raise ProxyRefusedError
    return reader, writer


async def _start_tls(writer: StreamWriter, context: ssl.SSLContext, host: str) -> None:
    try:
        await writer.start_tls(context, server_hostname=host)
    except BaseException:
        writer.close()
        raise


async def examine(origin: Origin, dialer: Dialer, http2: ssl.SSLContext, *, listen: bool = True) -> Reach:
    """Reach an app without sending it anything, and say how that ended.

    Args:
        origin: Where the app is.
        dialer: How it is reached.
        http2: Trust toward apps, for a handshake that offers HTTP/2 alone.
        listen: Whether to listen a moment to an app with TLS: one that wants a client certificate refuses after the
            handshake, and one that knows HTTP/2 only speaks first.
    """
    try:
        reader, writer = await dialer.dial(origin)
    except ssl.SSLCertVerificationError:
        return Reach.NOT_TRUSTED
    except ssl.SSLError:
        return Reach.OTHER_PROTOCOL if await _speaks_http2(origin, dialer, http2) else Reach.TLS_REFUSED
    except OSError as error:
        return _ENDS.get(type(error), Reach.NOBODY_THERE)
    try:
        return await _listened(reader) if listen and origin.scheme == "https" else Reach.REACHED
    finally:
        writer.close()


_ENDS: dict[type[OSError], Reach] = {
    ProxyUnreachableError: Reach.PROXY_NOT_THERE,
    ProxyRefusedError: Reach.PROXY_REFUSED,
    ProxyUnsupportedError: Reach.PROXY_NOT_SUPPORTED,
}


async def _listened(reader: StreamReader) -> Reach:
    try:
        async with asyncio.timeout(LISTEN_SECONDS):
            first = await reader.read(1)
    except TimeoutError:
        return Reach.REACHED
    except OSError:
        return Reach.TLS_REFUSED
    return Reach.OTHER_PROTOCOL if first else Reach.TLS_REFUSED


async def _speaks_http2(origin: Origin, dialer: Dialer, http2: ssl.SSLContext) -> bool:
    try:
        _, writer = await dialer.dial(origin, http2)
    except OSError:
        return False
    spoken: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
    writer.close()
    return spoken is not None and spoken.selected_alpn_protocol() == "h2"
