"""The fence as a process: ``python -m surehand.shell.fence.process``.

Laws of this module:

- Orders come over standard input, notices leave over standard output, both through private copies of the descriptors.
  Nothing else is written anywhere but the journals.
- When the control channel ends, nothing new passes. A save that is on its way gets its answer within a bound and its
  last line; then the process ends.
"""

import argparse
import asyncio
import os
import ssl
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import assert_never

from attrs import evolve

from surehand.shell.fence.control import (
    LINE_LIMIT,
    Accepted,
    ArmRun,
    BoundaryAnswered,
    BoundaryAsked,
    CloseRun,
    ControlError,
    Counted,
    CountRun,
    Notice,
    Opened,
    OpenRun,
    Order,
    Ready,
    Refused,
    Settled,
    SettleRun,
    UseProxies,
    decode_order,
    encode_notice,
)
from surehand.shell.fence.dial import Dialer
from surehand.shell.fence.journal import JournalWriter
from surehand.shell.fence.proxy import RunProxy
from surehand.shell.fence.run import Run
from surehand.shell.fence.tls import LeafKey, upstream_context


class _Fence:
    """All runs of this process."""

    def __init__(self, journals: Path, tls: ssl.SSLContext, notices: asyncio.WriteTransport) -> None:
        self._journals, self._notices = journals, notices
        self._dialer = Dialer(tls)
        self._leaf = LeafKey()
        self._runs: dict[str, RunProxy] = {}
        self._boundaries: dict[str, asyncio.Future[bool]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def say_ready(self) -> None:
        self._say(Ready(self._leaf.spki))

    def _say(self, notice: Notice) -> None:
        if not self._notices.is_closing():
            self._notices.write(encode_notice(notice))

    def take(self, order: Order) -> None:
        """Begin to carry out an order."""
        if isinstance(order, BoundaryAnswered):
            self._answer_boundary(order)
        elif isinstance(order, UseProxies):
            self._dialer = evolve(self._dialer, proxies=order.proxies)
        else:
            self._keep(self._carry_out(order))

    def _keep(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, order: OpenRun | ArmRun | SettleRun | CountRun | CloseRun) -> None:
        if isinstance(order, OpenRun):
            self._say(await self._open(order))
            return
        proxy = self._runs.get(order.run_id)
        self._say(Refused(order.call) if proxy is None else await self._ask_run(proxy, order))

    async def _open(self, order: OpenRun) -> Notice:
        if order.run_id in self._runs:
            return Refused(order.call)
        try:
            journal = JournalWriter.create(self._journals, order.run_id)
        except OSError:
            return Refused(order.call)
        run = Run(order.rules, journal, self._dialer, lambda: self._ask_boundary(order.run_id))
        proxy = self._runs[order.run_id] = RunProxy(run, self._leaf)
        return Opened(order.call, await proxy.listen())

    async def _ask_run(self, proxy: RunProxy, order: ArmRun | SettleRun | CountRun | CloseRun) -> Notice:
        match order:
            case ArmRun():
                return Accepted(order.call) if proxy.run.arm(order.route) else Refused(order.call)
            case SettleRun():
                return Settled(order.call, await proxy.run.settle(order.timeout_ms))
            case CountRun():
                return Counted(order.call, proxy.run.counts)
            case CloseRun():
                self._close(order.run_id)
                return Accepted(order.call)
            case _:  # pragma: no cover
                assert_never(order)

    def _close(self, run_id: str) -> None:
        proxy = self._runs.pop(run_id)
        proxy.close()
        self._answer_boundary(BoundaryAnswered(run_id, granted=False))
        self._keep(proxy.finish())

    async def _ask_boundary(self, run_id: str) -> bool:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._boundaries[run_id] = answer
        self._say(BoundaryAsked(run_id))
        return await answer

    def _answer_boundary(self, answer: BoundaryAnswered) -> None:
        waiting = self._boundaries.pop(answer.run_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer.granted)

    async def end(self) -> None:
        """Close every run, and wait for what is on its way."""
        for run_id in tuple(self._runs):
            self._close(run_id)
        while self._tasks:
            await asyncio.wait(self._tasks)


async def _serve(journals: Path, tls: ssl.SSLContext, orders_fd: int, notices_fd: int) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    orders = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), os.fdopen(orders_fd, "rb"))
    notices, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(notices_fd, "wb"))
    fence = _Fence(journals, tls, notices)
    fence.say_ready()
    try:
        while line := await orders.readline():
            fence.take(decode_order(line))
    except (ControlError, ValueError, OSError):
        pass  # a channel that cannot be trusted counts as ended
    await fence.end()
    notices.close()


def _private_copies() -> tuple[int, int]:
    """Copies of standard input and output for the control channel; the originals then lead nowhere."""
    orders, notices = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return orders, notices


def main() -> int:
    """Run the fence until its control channel ends.

    Returns:
        The exit code: 0, or 2 when the extra authority cannot be read.
    """
    orders, notices = _private_copies()
    parser = argparse.ArgumentParser(prog="python -m surehand.shell.fence.process")
    parser.add_argument("--journals", type=Path, required=True)
    parser.add_argument("--extra-authority", type=Path)
    arguments = parser.parse_args()
    try:
        tls = upstream_context(arguments.extra_authority)
    except OSError:
        return 2
    asyncio.run(_serve(arguments.journals, tls, orders, notices))
    return 0


if __name__ == "__main__":
    sys.exit(main())
