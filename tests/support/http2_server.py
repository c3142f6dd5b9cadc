"""An app that speaks HTTP/2, by the Node that comes with Playwright: alone, or beside HTTP/1.1."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from playwright._impl._driver import compute_driver_executable

_SERVER = """
const [chain, both] = process.argv.slice(1);
const pem = require('fs').readFileSync(chain);
const server = require('http2').createSecureServer({key: pem, cert: pem, allowHTTP1: both === 'both'});
server.on('request', (request, response) => {
  request.resume().on('end', () => {
    console.log(request.httpVersion + ' ' + request.method + ' ' + request.url);
    response.end('spoken');
  });
});
server.on('sessionError', () => 0);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit()).resume();
"""


class Http2Server:
    """A server that runs.

    Args:
        port: Where it listens.
        requests: What it was asked: version, method and path.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[str] = []

    @property
    def origin(self) -> str:
        """Its origin."""
        return f"https://127.0.0.1:{self.port}"


@contextlib.asynccontextmanager
async def http2_server(chain: Path, *, both: bool) -> AsyncGenerator[Http2Server]:
    """A running server; ``both`` lets it speak HTTP/1.1 too."""
    node = compute_driver_executable()[0]
    process = await asyncio.create_subprocess_exec(
        node, "-e", _SERVER, str(chain), "both" if both else "alone",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    if process.stdin is None or process.stdout is None:
        raise AssertionError("started with pipes")
    server = Http2Server(int(await process.stdout.readline()))

    async def listen(lines: asyncio.StreamReader) -> None:
        while line := await lines.readline():
            server.requests.append(line.decode().strip())

    listening = asyncio.create_task(listen(process.stdout))
    try:
        yield server
    finally:
        process.stdin.close()
        await process.wait()
        await listening
