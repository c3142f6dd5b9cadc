"""How a worker starts the fence and speaks with it.

Laws of this module:

- A fence that does not answer is a closed one: what needs it fails by ``FenceUnavailableError``, and what it last did
  is read from its journal.
- Losing the client never tears a save that is on its way: the fence is asked to end, not made to.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import TypeVar

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FenceCounts, FenceRules, FenceVerdict, verdict, was_refused
from surehand.core.workflow.reach import ProxySettings
from surehand.core.workflow.route import WriteRoute
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
    Settled,
    SettleRun,
    UseProxies,
    decode_notice,
    encode_order,
)
from surehand.shell.fence.journal import read_journal

_START_SECONDS = 30.0
_ANSWER_SECONDS = 10.0
_EXIT_SECONDS = 5.0
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")

OnBoundary = Callable[[], Awaitable[bool]]
_Call = OpenRun | ArmRun | SettleRun | CountRun | CloseRun
_N = TypeVar("_N", bound=Notice)


class FenceUnavailableError(Exception):
    """The fence cannot be started, is gone, or refuses what was asked."""


class _Channel:
    """The control channel to a fence process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.boundaries: dict[str, OnBoundary] = {}
        self.numbers = count()
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._process = process
        self._orders: asyncio.WriteTransport | None = None
        self._notices: asyncio.ReadTransport | None = None
        self._waiting: dict[int, asyncio.Future[Notice]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_gone = False

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(limit=LINE_LIMIT)
        protocol = asyncio.StreamReaderProtocol(lines)
        self._notices, _ = await loop.connect_read_pipe(lambda: protocol, self._process.stdout)
        self._orders, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._keep(self._listen(lines))

    def _keep(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self, lines: asyncio.StreamReader) -> None:
        with contextlib.suppress(ControlError, ValueError, OSError):
            while line := await lines.readline():
                self._take(decode_notice(line))
        self._is_gone = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(FenceUnavailableError())
        if not self.ready.done():
            self.ready.set_exception(FenceUnavailableError())

    def _take(self, notice: Notice) -> None:
        if isinstance(notice, Ready):
            self.ready.set_result(notice.spki)
        elif isinstance(notice, BoundaryAsked):
            self._keep(self._cross(notice.run_id))
        else:
            waiting = self._waiting.get(notice.call)
            if waiting is not None and not waiting.done():
                waiting.set_result(notice)

    async def _cross(self, run_id: str) -> None:
        granted = False
        on_boundary = self.boundaries.pop(run_id, None)
        try:
            # Each run is asked for once; a second question is refused, whatever the fence thinks.
            granted = on_boundary is not None and await on_boundary()
        finally:
            self.send(BoundaryAnswered(run_id, granted=granted))

    def send(self, order: Order) -> None:
        """Send an order."""
        if self._orders is not None and not self._orders.is_closing():
            self._orders.write(encode_order(order))

    async def call(self, order: _Call, kind: type[_N], seconds: float = _ANSWER_SECONDS) -> _N:
        """Send an order and wait for its answer.

        Raises:
            FenceUnavailableError: The fence is gone, does not answer in time, or refuses.
        """
        if self._is_gone:
            raise FenceUnavailableError
        waiting = self._waiting[order.call] = asyncio.get_running_loop().create_future()
        self.send(order)
        try:
            async with asyncio.timeout(seconds):
                answer = await waiting
        except TimeoutError as error:
            raise FenceUnavailableError from error
        finally:
            del self._waiting[order.call]
        if not isinstance(answer, kind):
            raise FenceUnavailableError
        return answer

    async def close(self, seconds: float) -> bool:
        """End the channel and wait for the process; whether it has ended."""
        if self._orders is not None:
            self._orders.close()
        ended = True
        try:
            await asyncio.to_thread(self._process.wait, seconds)
        except subprocess.TimeoutExpired:
            ended = False
            # It ends by itself, later; somebody takes note of that.
            threading.Thread(target=self._process.wait, name="surehand-fence-end", daemon=True).start()
        if self._notices is not None:
            self._notices.close()
        return ended


class Fence:
    """A running fence process; one per browser.

    Args:
        channel: The channel to it.
        journals: Where its journals lie.
        spki: The base64 SHA-256 of the key that its certificates hold, for ``--ignore-certificate-errors-spki-list``.
        process_id: The number of its process.
    """

    def __init__(self, channel: _Channel, journals: Path, spki: str, process_id: int) -> None:
        self.spki, self.process_id = spki, process_id
        self._channel, self._journals = channel, journals

    @classmethod
    async def start(
        cls, journal_dir: Path, extra_authority: Path | None = None, proxies: ProxySettings | None = None
    ) -> "Fence":
        """Start a fence.

        Args:
            journal_dir: Where the journals go; made (0700) when it is not there.
            extra_authority: A PEM file with certificates that are trusted for apps beside the system's.
            proxies: The operator's proxies. They may hold a password, so that they go over the channel.

        Raises:
            FenceUnavailableError: It did not start.
        """
        command = [sys.executable, "-P", "-m", "surehand.shell.fence.process", "--journals", str(journal_dir)]
        if extra_authority is not None:
            command += ["--extra-authority", str(extra_authority)]
        try:
            await asyncio.to_thread(journal_dir.mkdir, mode=0o700, parents=True, exist_ok=True)
            process = _spawn(command)
        except OSError as error:
            raise FenceUnavailableError from error
        channel = _Channel(process)
        await channel.connect()
        try:
            async with asyncio.timeout(_START_SECONDS):
                spki = await channel.ready
        except (TimeoutError, FenceUnavailableError) as error:
            await channel.close(_EXIT_SECONDS)
            raise FenceUnavailableError from error
        channel.send(UseProxies(proxies or ProxySettings()))
        return cls(channel, journal_dir, spki, process.pid)

    async def open_run(self, run_id: str, rules: FenceRules) -> "FenceRun":
        """Open a port for a run; no write passes there but the harmless ones.

        Args:
            run_id: Letters, digits, ``_`` and ``-``; names the journal, which must not exist yet. A run that needs a
                second port, which is never armed, adds ``-`` and a word to its id.
            rules: What may pass.

        Raises:
            FenceUnavailableError: The fence is gone, or refuses.
        """
        if _RUN_ID.fullmatch(run_id) is None:
            raise FenceUnavailableError
        opened = await self._channel.call(OpenRun(next(self._channel.numbers), run_id, rules), Opened)
        return FenceRun(self._channel, self._journals, run_id, opened.port)

    async def close(self) -> None:
        """Ask the fence to end, and wait a moment for it.

        A save that is on its way is not torn: the fence then ends by itself when the save has its last line.
        """
        await self._channel.close(_EXIT_SECONDS)


class FenceRun:
    """The port of one run.

    Args:
        channel: The channel to the fence.
        journals: Where the journal of the run lies.
        run_id: The run.
        port: The port on loopback; ``proxy_url`` is what a browser context takes as its proxy.
    """

    def __init__(self, channel: _Channel, journals: Path, run_id: str, port: int) -> None:
        self.proxy_url = f"http://127.0.0.1:{port}"
        self._channel, self._journals, self._run_id = channel, journals, run_id

    async def arm(self, route: WriteRoute, on_boundary: OnBoundary) -> None:
        """Let the next write of this route be the save.

        Args:
            route: The one write.
            on_boundary: Passes the delivery boundary, durably, before the first byte leaves; ``False`` or an exception
                stops the write.

        Raises:
            FenceUnavailableError: The fence is gone, was armed before, or a harmless route could hold the save.
        """
        before = self._channel.boundaries.get(self._run_id)
        self._channel.boundaries[self._run_id] = on_boundary
        try:
            await self._channel.call(ArmRun(next(self._channel.numbers), self._run_id, route), Accepted)
        except FenceUnavailableError:
            if before is not None:
                self._channel.boundaries[self._run_id] = before
            raise

    async def settle(self, timeout_ms: int) -> FenceVerdict:
        """Wait until the save is over or the time is; then the fence is spent, whatever came.

        When the fence is gone the verdict is read from the journal, and ``stopped_writes`` is 0: nobody counts any
        more, and nothing passes.

        Args:
            timeout_ms: How long to wait, in milliseconds.
        """
        order = SettleRun(next(self._channel.numbers), self._run_id, timeout_ms)
        try:
            return (await self._channel.call(order, Settled, timeout_ms / 1000 + _ANSWER_SECONDS)).verdict
        except FenceUnavailableError:
            return await self._verdict_after_death()

    async def _verdict_after_death(self) -> FenceVerdict:
        if not await self._channel.close(_EXIT_SECONDS):
            return FenceVerdict(Delivery.UNKNOWN, stopped_writes=0)
        journal = read_journal(self._journals, self._run_id)
        return FenceVerdict(verdict(journal), 0, was_refused(journal))

    async def counts(self) -> FenceCounts:
        """What passed and what was stopped so far.

        Raises:
            FenceUnavailableError: The fence is gone.
        """
        return (await self._channel.call(CountRun(next(self._channel.numbers), self._run_id), Counted)).counts

    async def close(self) -> None:
        """End the run: its port is shut. A save that is on its way still gets its last line.

        Quiet when the fence is gone.
        """
        with contextlib.suppress(FenceUnavailableError):
            await self._channel.call(CloseRun(next(self._channel.numbers), self._run_id), Accepted)


def _spawn(command: list[str]) -> "subprocess.Popen[bytes]":
    """Start the fence in a session of its own, so that an interrupt at the terminal does not reach it.

    It is not told of ``SSLKEYLOGFILE``: secrets of its connections would lie in that file.
    """
    return subprocess.Popen(  # noqa: S603  the command is our own module and two paths
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != "SSLKEYLOGFILE"},
    )
