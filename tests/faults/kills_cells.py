"""One save during which somebody is killed, and the judgement of what is left.

Laws of this module:

- The server's log is the oracle, and it is read when every process that could still send is gone.
- A verdict is honest when "not sent" stands over an empty log, and "sent once" over one arrival.
"""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncGenerator
from enum import Enum, unique
from pathlib import Path

from attrs import define, field, frozen

from faults.fence_arena import until
from faults.fence_broken import instead
from support.browser import ProcessName, family
from support.fence_rig import FORM, exchange, open_proxy, request
from support.origin_server import OriginServer, hang_up
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FenceRules, Stage
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence.client import Fence, FenceRun
from surehand.shell.fence.journal import read_delivery

_HERE = Path(__file__).parent
_CLIENT = _HERE / "kills_client.py"
_PAUSED = _HERE / "kills_paused.py"

#: Seconds for anything that must happen.
PATIENCE = 40.0

#: The stages of a save at which somebody is killed, on both sides of the journal's line.
STAGES = (
    Stage.INTENT,
    Stage.CROSSED,
    Stage.CONNECTED,
    Stage.WRITING,
    Stage.WRITTEN,
    Stage.ANSWERED,
    Stage.DONE,
)


@unique
class Victim(Enum):
    """Who is killed."""

    FENCE = "fence"
    WORKER = "worker"
    BROWSER = "browser"


@unique
class Blow(Enum):
    """How. ``NAP`` stops a process and lets it go on."""

    KILL = "kill"
    TERM = "term"
    NAP = "nap"


@frozen
class Cell:
    """Who is killed, how, and where: a stage and a side of its line; without a stage, when the run is armed."""

    victim: Victim
    blow: Blow
    stage: Stage | None
    side: str = "after"
    hangs: bool = False

    @property
    def name(self) -> str:
        """The cell in words."""
        place = "in the boundary" if self.hangs else f"{self.side} {self.stage.value}" if self.stage else "when armed"
        return f"{self.blow.value} the {self.victim.value} {place}"


@define
class Scene:
    """A folder, a server, and what a fence is started with."""

    folder: Path
    server: OriginServer
    cell: Cell
    arguments: tuple[str, ...]
    script: str
    path: str = "ok"
    mark: str = field(factory=lambda: f"m{secrets.token_hex(6)}")

    @property
    def run_id(self) -> str:
        """The run."""
        return f"run_{self.mark}"

    @property
    def journals(self) -> Path:
        """Where its journal lies."""
        return self.folder / "journals"

    @property
    def arrivals(self) -> int:
        """How often the save reached the server."""
        return sum(self.mark in each.path for each in self.server.writes)

    async def reached(self) -> None:
        """Wait until the fence stands where it is to stand; where the server holds its answer, until the save is there.

        Raises:
            TimeoutError: It never does.
        """
        if self.path == "slow" and not await until(lambda: self.arrivals, PATIENCE):
            raise TimeoutError
        if self.cell.stage is not None and not await until((self.folder / "reached").exists, PATIENCE):
            raise TimeoutError

    def let_go(self) -> None:
        """Let the fence go on."""
        (self.folder / "go").touch()

    async def post(self, proxy_url: str) -> None:
        """Send the save, as a browser would."""
        with contextlib.suppress(OSError):
            await exchange(proxy_url, self.save())

    def save(self) -> bytes:
        """The bytes of the save."""
        return request("POST", f"{self.server.origin}/{self.path}/{self.mark}", f"Content-Type: {FORM}", body=b"note=x")

    def judge(self, delivery: Delivery | None, *, granted: bool = True) -> tuple[str, ...]:
        """What is violated, now that everybody is gone."""
        proven = read_delivery(self.journals, self.run_id)
        verdicts = {proven} if delivery is None else {proven, delivery}
        return tuple(f"{self.cell.name}: {wrong}" for wrong in dishonest(self.arrivals, verdicts, granted=granted))


def dishonest(arrivals: int, verdicts: set[Delivery], *, granted: bool = True) -> list[str]:
    """What is wrong about so many arrivals under these verdicts."""
    wrong: list[str] = []
    if arrivals > 1:
        wrong.append(f"{arrivals} arrivals")
    if arrivals and not granted:
        wrong.append("an arrival without the boundary")
    if arrivals and Delivery.NOT_SENT in verdicts:
        wrong.append("an arrival, and the verdict that nothing was sent")
    if not arrivals and Delivery.SENT_ONCE in verdicts:
        wrong.append("no arrival, and the verdict that it was sent")
    return wrong


def scene(folder: Path, server: OriginServer, cell: Cell) -> Scene:
    """The scene of a cell, with a fence that stops where the cell says."""
    folder.mkdir()
    if cell.stage is None:
        return Scene(folder, server, cell, (), "")
    return Scene(folder, server, cell, (cell.stage.value, cell.side, str(folder)), str(_PAUSED))


def _process(number: int) -> ProcessName:
    """A process below this one by its name; one that is gone already has a name that nobody bears."""
    return next((each for each in family(os.getpid()) if each.number == number), ProcessName(number, "gone"))


_STARTING = asyncio.Lock()


async def start_fence(at: Scene) -> Fence:
    """The fence of a scene."""
    async with _STARTING:
        with instead(*at.arguments, script=at.script) if at.script else contextlib.nullcontext():
            return await Fence.start(at.journals)


async def strike(blow: Blow, number: int) -> None:
    """Hit a process."""
    with contextlib.suppress(ProcessLookupError):
        if blow is Blow.NAP:
            os.kill(number, signal.SIGSTOP)
            await asyncio.sleep(0.05)
            os.kill(number, signal.SIGCONT)
        else:
            os.kill(number, signal.SIGKILL if blow is Blow.KILL else signal.SIGTERM)


async def play(at: Scene) -> tuple[str, ...]:
    """Run a cell."""
    return await _with_worker(at) if at.cell.victim is Victim.WORKER else await _without_worker(at)


async def _without_worker(at: Scene) -> tuple[str, ...]:
    fence = await start_fence(at)
    process = _process(fence.process_id)
    run = await fence.open_run(at.run_id, FenceRules((at.server.origin,)))
    asked: list[bool] = []

    async def cross() -> bool:
        asked.append(True)
        return True

    await run.arm(WriteRoute("POST", f"/{at.path}/{at.mark}", FORM), cross)
    blow = _kill_fence if at.cell.victim is Victim.FENCE else _kill_browser
    await blow(at, fence, run)
    delivery = (await run.settle(5_000)).delivery
    wrong: list[str] = []
    if at.cell.victim is Victim.FENCE and at.cell.blow is not Blow.NAP:
        wrong += await _no_network(at, run)
    await run.close()
    await fence.close()
    if not await until(lambda: not process.is_alive, PATIENCE):
        wrong.append(f"{at.cell.name}: the fence stays")
    return (*wrong, *at.judge(delivery, granted=bool(asked)))


async def _kill_fence(at: Scene, fence: Fence, run: FenceRun) -> None:
    posting = asyncio.create_task(at.post(run.proxy_url)) if at.cell.stage or at.path == "slow" else None
    await at.reached()
    await strike(at.cell.blow, fence.process_id)
    at.let_go()
    await (posting or at.post(run.proxy_url))


async def _kill_browser(at: Scene, _fence: Fence, run: FenceRun) -> None:
    """The death of a browser as the fence sees it: its connection is torn."""
    _, writer = await open_proxy(run.proxy_url)
    if at.cell.stage is None:
        writer.write(at.save()[:-1])
        await writer.drain()
    else:
        writer.write(at.save())
        await at.reached()
    writer.transport.abort()
    await hang_up(writer)
    at.let_go()


async def _no_network(at: Scene, run: FenceRun) -> list[str]:
    """A dead fence takes no connection, and nothing more arrives."""
    before = len(at.server.arrivals)
    try:
        await exchange(run.proxy_url, request("GET", f"{at.server.origin}/ok/after"))
    except ConnectionRefusedError:
        return []
    seen = len(at.server.arrivals) - before
    return [f"{at.cell.name}: a dead fence took a connection, {seen} arrivals"]


async def _with_worker(at: Scene) -> tuple[str, ...]:
    async with _worker(at) as worker:
        proxy_url = await worker.wait_for("proxy")
        fence = _process(int(await worker.wait_for("fence")))
        posting = asyncio.create_task(at.post(proxy_url)) if at.cell.stage or at.cell.hangs else None
        await at.reached()
        if at.cell.hangs:
            await worker.wait_for("boundary")
        await strike(at.cell.blow, worker.number)
        at.let_go()
        await (posting or at.post(proxy_url))
        if at.cell.blow is Blow.NAP and not at.cell.hangs:
            await worker.wait_for("delivery")
    wrong: list[str] = []
    if not await until(lambda: not fence.is_alive, PATIENCE):
        wrong.append(f"{at.cell.name}: the fence outlives its worker")
    said = worker.said.get("delivery")
    granted = worker.said.get("boundary") == "granted"
    return (*wrong, *at.judge(None if said is None else Delivery(said), granted=granted))


@define
class _Worker:
    process: asyncio.subprocess.Process
    said: dict[str, str] = field(factory=dict[str, str])
    _changed: asyncio.Event = field(factory=asyncio.Event)

    @property
    def number(self) -> int:
        return self.process.pid

    async def listen(self, lines: asyncio.StreamReader) -> None:
        while line := await lines.readline():
            self.said.update({name: str(value) for name, value in json.loads(line).items()})
            self._changed.set()

    async def wait_for(self, name: str) -> str:
        async with asyncio.timeout(PATIENCE):
            while name not in self.said:
                self._changed.clear()
                await self._changed.wait()
        return self.said[name]


@contextlib.asynccontextmanager
async def _worker(at: Scene) -> AsyncGenerator[_Worker]:
    """A worker that does its part of the cell; at the end it is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_CLIENT), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    order = {
        "arguments": json.dumps(at.arguments),
        "script": at.script,
        "journals": str(at.journals),
        "run_id": at.run_id,
        "origin": at.server.origin,
        "path": f"/{at.path}/{at.mark}",
        "hangs": "yes" if at.cell.hangs else "",
    }
    if process.stdin is None or process.stdout is None:
        raise AssertionError("started with pipes")
    process.stdin.write(json.dumps(order).encode() + b"\n")
    worker = _Worker(process)
    listening = asyncio.create_task(worker.listen(process.stdout))
    try:
        yield worker
    finally:
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 5)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await listening
