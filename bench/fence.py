"""What the write fence costs: round trips through it against the same ones without it, in one interleaved run.

Run ``python bench/fence.py``. It prints the times of a GET over a kept connection, of a read by POST that twenty routes
of one address ask for, and of a save (with its journal and boundary) against a bare POST.
"""

import argparse
import asyncio
import json
import re
import secrets
import statistics
import sys
import tempfile
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from surehand.core.workflow.fence import FenceRules
from surehand.core.workflow.route import GraphqlOperation, GraphqlRead, Operation, WriteRoute
from surehand.shell.fence.client import Fence

_FORM = "application/x-www-form-urlencoded"
_ROUTE = WriteRoute("POST", "/save", _FORM)
_DOCUMENT = f"query Q {{{' '.join(f'field{at}(id: $id) {{ id name }}' for at in range(60))}}}"
_ASKS = json.dumps({"query": _DOCUMENT, "variables": {"id": "7"}}).encode()
_OPERATIONS: tuple[Operation, ...] = (*(GraphqlOperation(f"Change{at}") for at in range(19)), GraphqlRead())
_SHARED = tuple(WriteRoute("POST", "/api", "application/json", operation=each) for each in _OPERATIONS)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2048\r\n\r\n" + bytes(2048)


async def _serve(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"ontent-[Ll]ength: ([0-9]+)", head)
            await reader.readexactly(0 if length is None else int(length[1]))
            writer.write(_ANSWER)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


async def _exchange(reader: StreamReader, writer: StreamWriter, data: bytes) -> float:
    began = time.perf_counter()
    writer.write(data)
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(2048)
    return (time.perf_counter() - began) * 1000


async def _open(address: str) -> tuple[StreamReader, StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", urlsplit(address).port)


async def _reads(fence: Fence, origin: str, count: int) -> tuple[list[float], list[float]]:
    run = await fence.open_run(f"run_{secrets.token_hex(16)}", FenceRules((origin,)))
    direct, fenced = await _open(origin), await _open(run.proxy_url)
    get = b"GET %b/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n"
    bare: list[float] = []
    through: list[float] = []
    for _ in range(count):
        bare.append(await _exchange(*direct, get % b""))
        through.append(await _exchange(*fenced, get % origin.encode()))
    direct[1].close()
    fenced[1].close()
    await run.close()
    return bare, through


async def _asks(fence: Fence, origin: str, count: int) -> tuple[list[float], list[float]]:
    run = await fence.open_run(f"run_{secrets.token_hex(16)}", FenceRules((origin,), _SHARED))
    head = b"POST %b/api HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    bare: list[float] = []
    through: list[float] = []
    for _ in range(count):
        for times, address, target in ((bare, origin, b""), (through, run.proxy_url, origin.encode())):
            connection = await _open(address)
            times.append(await _exchange(*connection, head % (target, len(_ASKS), _ASKS)))
            connection[1].close()
    await run.close()
    return bare, through


async def _saves(fence: Fence, origin: str, count: int) -> tuple[list[float], list[float]]:
    async def granted() -> bool:
        return True

    post = b"POST %b/save HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\nContent-Length: 6\r\n\r\nnote=x"
    bare: list[float] = []
    through: list[float] = []
    for _ in range(count):
        direct = await _open(origin)
        bare.append(await _exchange(*direct, post % (b"", _FORM.encode())))
        run = await fence.open_run(f"run_{secrets.token_hex(16)}", FenceRules((origin,)))
        await run.arm(_ROUTE, granted)
        fenced = await _open(run.proxy_url)
        through.append(await _exchange(*fenced, post % (origin.encode(), _FORM.encode())))
        await run.settle(1000)
        direct[1].close()
        fenced[1].close()
        await run.close()
    return bare, through


_Measure = Callable[[Fence, str, int], Awaitable[tuple[list[float], list[float]]]]


async def _measure(reads: int, saves: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        fence = await Fence.start(Path(folder) / "journals")
        start = (time.perf_counter() - began) * 1000
        server = await asyncio.start_server(_serve, "127.0.0.1", 0)
        origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        rows = {"start": {"fence_ms": start}}
        work: list[tuple[str, _Measure, int]] = [("get", _reads, reads), ("ask", _asks, saves), ("save", _saves, saves)]
        for name, measure, count in work:
            bare, through = await measure(fence, origin, count)
            rows[name] = {
                "bare_ms": statistics.median(bare),
                "fence_ms": statistics.median(through),
                "ratio": statistics.median(through) / statistics.median(bare),
                "fence_min_ms": min(through),
                "bare_min_ms": min(bare),
            }
        server.close()
        await fence.close()
        return rows


def main() -> int:
    """Measure and print.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--reads", type=int, default=500)
    parser.add_argument("--saves", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = asyncio.run(_measure(arguments.reads, arguments.saves))
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    for name, row in rows.items():
        print(name.ljust(6), "  ".join(f"{key} {value:.2f}" for key, value in row.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
