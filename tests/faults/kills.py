"""Kills of the worker, the browser and the fence, at every stage of a save and on both sides of its journal line.

Laws of this module:

- Never two arrivals. "Not sent" stands only over an empty log, read when every process is gone. A dead fence is no
  network. Nothing leaves without the boundary.
- The full profile repeats every cell; the short one draws some cells once.
"""

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from faults.fence_broken import __file__ as broken_script
from faults.kills_browser import go_around, kill_chromium
from faults.kills_cells import STAGES, Blow, Cell, Scene, Victim, dishonest, play, scene
from faults.result import Control, LayerResult
from support.origin_server import OriginServer, origin_server
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import Stage

#: Repetitions of every cell in the full profile.
REPETITIONS: Final = 30

#: Seconds after which the layer has failed, whatever it waits for.
_BOUND_SECONDS: Final = {"short": 900.0, "full": 14_400.0}

#: Cells that run at the same time.
_AT_ONCE: Final = 3

_POINTS: Final = (*((stage, side) for stage in STAGES for side in ("before", "after")), (None, "after"))

#: Every cell with processes of our own. A browser that dies is a torn connection, however it dies.
CELLS: Final = (
    *(Cell(Victim.FENCE, blow, stage, side) for blow in Blow for stage, side in _POINTS),
    *(Cell(Victim.WORKER, blow, stage, side) for blow in Blow for stage, side in _POINTS),
    *(Cell(Victim.BROWSER, Blow.KILL, stage, side) for stage, side in _POINTS),
    *(Cell(Victim.WORKER, blow, None, hangs=True) for blow in (Blow.KILL, Blow.TERM)),
)


class _Layer:
    def __init__(self, folder: Path, report: Callable[[str], None]) -> None:
        self._folder = folder
        self._report = report
        self._played = 0
        self.violations: list[str] = []
        self.arrivals: Counter[str] = Counter()

    async def play(self, cells: Sequence[Cell]) -> None:
        """Run cells, some at a time."""
        limit = asyncio.Semaphore(_AT_ONCE)
        async with origin_server() as server:

            async def one(cell: Cell) -> None:
                async with limit:
                    await self._one(server, cell)

            await asyncio.gather(*(one(cell) for cell in cells))

    def next_folder(self) -> Path:
        """A folder for the next cell."""
        self._played += 1
        return self._folder / f"{self._played}"

    async def _one(self, server: OriginServer, cell: Cell) -> None:
        at = scene(self.next_folder(), server, cell)
        try:
            async with asyncio.timeout(120):
                self.violations += await play(at)
        except Exception as error:  # noqa: BLE001 - a cell that breaks down must not hide the others
            self.violations.append(f"{cell.name}: the cell broke down: {type(error).__name__}")
        self.arrivals[f"{at.arrivals} after {cell.blow.value} the {cell.victim.value}"] += 1
        if self._played % 100 == 0:
            self._report(f"kills: {self._played} cells, {len(self.violations)} violations")

    async def controls(self) -> list[Control]:
        """What is broken on purpose."""
        written = Cell(Victim.FENCE, Blow.KILL, Stage.WRITTEN)
        hung = Cell(Victim.WORKER, Blow.KILL, None, hangs=True)
        late = await self._broken("journals at the end", Cell(Victim.FENCE, Blow.KILL, None), path="slow")
        opened = await self._broken("opens when its worker is gone", hung)
        async with origin_server() as server:
            at = scene(self._folder / "naive", server, written)
            await play(at)
            naive = dishonest(at.arrivals, {Delivery.NOT_SENT})
        return [
            _control("a journal that is written at the end", late),
            _control("a fence that opens when its worker is gone", opened),
            _control("a worker that takes a dead fence for an unsent save", naive),
        ]

    async def _broken(self, what: str, cell: Cell, path: str = "ok") -> Sequence[str]:
        async with origin_server() as server:
            folder = self._folder / what.replace(" ", "-")
            folder.mkdir()
            at = Scene(folder, server, cell, (what,), broken_script, path=path)
            return await play(at)


def _control(name: str, found: Sequence[str]) -> Control:
    return Control(name, bool(found), found[0] if found else "nothing was found")


async def _everything(layer: _Layer, profile: str, seed: int) -> tuple[int, list[Control]]:
    draw = random.Random(seed)  # noqa: S311  the seed is to give the same cells again
    short = profile == "short"
    cells = draw.sample(CELLS, 16) if short else [cell for cell in CELLS for _ in range(REPETITIONS)]
    draw.shuffle(cells)
    await layer.play(cells)
    stages = draw.sample(STAGES, 1) if short else [stage for stage in STAGES for _ in range(REPETITIONS)]
    for stage in stages:
        layer.violations += await kill_chromium(layer.next_folder(), stage)
    around, control = await go_around(layer.next_folder())
    layer.violations += around
    return len(cells) + len(stages) + 1, [*await layer.controls(), control]


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        layer = _Layer(Path(folder), report)
        cells, controls = asyncio.run(asyncio.wait_for(_everything(layer, profile, seed), _BOUND_SECONDS[profile]))
    counts = ", ".join(f"{what}: {count}" for what, count in sorted(layer.arrivals.items()))
    notes = (f"arrivals: {counts}",)
    return LayerResult("kills", cells, tuple(layer.violations), tuple(controls), time.monotonic() - began, notes)
