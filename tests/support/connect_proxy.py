"""A company's proxy: it opens tunnels by CONNECT, knows hosts that nobody else knows, and may refuse."""

import asyncio
import contextlib
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncGenerator, Mapping
from urllib.parse import urlsplit

from attrs import define, field

from support.origin_server import hang_up


@define
class ConnectProxy:
    """A proxy that runs.

    Args:
        hosts: Where a tunnel to ``host:port`` leads, as an origin.
        answer: What every request is answered with instead of a tunnel, if anything; empty bytes just close.
        authorization: What a request must bring to get a tunnel.
        port: Where it listens.
        asked: The targets of all requests, in order.
        authorized: The ``Proxy-Authorization`` of each of them.
    """

    hosts: Mapping[str, str]
    answer: bytes | None = None
    authorization: str = ""
    port: int = 0
    asked: list[str] = field(factory=list[str])
    authorized: list[str] = field(factory=list[str])

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
            lines = head.split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            method, target, _ = lines[0].split(" ")
            self.asked.append(f"{method} {target}")
            self.authorized.append(headers.get("proxy-authorization", ""))
            await self._decide(target, reader, writer)
        await hang_up(writer)

    async def _decide(self, target: str, reader: Reader, writer: Writer) -> None:
        if self.answer is not None:
            writer.write(self.answer)
        elif self.authorized[-1] != self.authorization:
            writer.write(b"HTTP/1.1 407 Denied\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
        elif target not in self.hosts:
            writer.write(b"HTTP/1.1 502 Unknown\r\nContent-Length: 0\r\n\r\n")
        else:
            address = urlsplit(self.hosts[target])
            there, back = await asyncio.open_connection(address.hostname, address.port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pump(reader, back), _pump(there, writer))


async def _pump(source: Reader, sink: Writer) -> None:
    try:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
    finally:
        await hang_up(sink)


@contextlib.asynccontextmanager
async def connect_proxy(
    hosts: Mapping[str, str], *, answer: bytes | None = None, authorization: str = ""
) -> AsyncGenerator[ConnectProxy]:
    """A running proxy on a free port of loopback."""
    proxy = ConnectProxy(hosts, answer, authorization)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: Reader, writer: Writer) -> None:
        task = asyncio.create_task(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
