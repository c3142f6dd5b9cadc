"""The fence: one write per run at the network, whatever browser, page, server or wire do.

Laws of this module:

- The servers' logs are the oracle. Every way to write is tried without a fence too; one that does not arrive there
  decides nothing, and is named.
- The short profile draws some of the cells, the full one runs them all.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from faults.fence_arena import Servers, servers
from faults.fence_broken import start
from faults.fence_cells import READS, WAYS
from faults.fence_closed import arriving, closed, reads
from faults.fence_datagrams import DATAGRAMS, behind, datagrams
from faults.fence_routes import BODIES, PAGES, SCRIPTS, arrive_without_a_fence, bodies, pages
from faults.fence_saves import ANSWER_CASES, CASES, REPEATED, perform, repeats
from faults.fence_wire import CELLS, counts_without_a_fence, judge
from faults.result import Control, LayerResult
from support.fence_browser import BrowserBench

_T = TypeVar("_T")

#: Seconds after which the layer has failed, whatever it waits for.
_BOUND_SECONDS: Final = {"short": 900.0, "full": 7_200.0}

#: Arguments that make a browser send at once what it would send after a minute.
_IMPATIENT: Final = ("--short-reporting-delay",)


class _Draw:
    """Which cells run in this profile."""

    def __init__(self, profile: str, seed: int) -> None:
        self._short = profile == "short"
        self._random = random.Random(seed)  # noqa: S311  the seed is to give the same cells again

    def some(self, cells: Sequence[_T], count: int) -> tuple[_T, ...]:
        """All cells, or so many of them."""
        return tuple(self._random.sample(list(cells), count)) if self._short else tuple(cells)


class _Layer:
    """One run of the layer."""

    def __init__(self, profile: str, seed: int, report: Callable[[str], None]) -> None:
        self._draw = _Draw(profile, seed)
        self._short = profile == "short"
        self._report = report
        self.cells = 0
        self.violations: list[str] = []
        self.controls: list[Control] = []
        self.notes: list[str] = []

    async def run(self, bench: BrowserBench) -> None:
        """Everything with one browser."""
        async with servers(bench) as to:
            await self._closed(bench, to)
            await self._saves(bench, to)
            await self._wire(bench)
            await self._routes(bench)
            await self._datagrams(bench, to)
            await self._broken(bench, to)

    async def _closed(self, bench: BrowserBench, to: Servers) -> None:
        ways = self._draw.some([way for way in WAYS if not (self._short and way.slow)], 8)
        decided = await arriving(bench, to, ways)
        self._report(f"fence: {len(decided)} of {len(ways)} ways arrive without a fence")
        found = await closed(bench, to, ways, decided)
        read = await reads(bench, to, self._draw.some(READS, 2))
        self.cells += found.cells - len(found.undecided) + read.cells
        self.violations += [*found.violations, *read.violations]
        evidence = f"{len(decided)} of {len(ways)} ways arrived, each of them stopped and counted by the fence"
        self.controls.append(Control("no fence", len(decided) > len(ways) // 2, evidence))
        if found.undecided:
            self.notes.append(f"not decided, since nothing came without a fence: {', '.join(found.undecided)}")

    async def _saves(self, bench: BrowserBench, to: Servers) -> None:
        cases = (*self._draw.some(CASES, 2), *self._draw.some(ANSWER_CASES, 4))
        for case in cases:
            self.violations += await perform(bench, to, case)
        self.cells += len(cases)
        self._report(f"fence: {len(cases)} saves")
        names = (*self._draw.some(REPEATED, 2), *(() if self._short else ("close", "reset")))
        sent = {name: await repeats(bench, to, name) for name in names}
        more = [name for name, count in sent.items() if count > 1]
        evidence = ", ".join(f"{name} {count}" for name, count in sent.items())
        self.controls.append(Control("Chromium alone sends again", bool(more), f"arrivals without a fence: {evidence}"))

    async def _wire(self, bench: BrowserBench) -> None:
        cells = self._draw.some(CELLS, 6)
        self.violations += await judge(bench, cells)
        self.cells += 2 * len(cells)
        clear = [CELLS[0], *(cell for cell in cells if not cell.secure)]
        arrived = await counts_without_a_fence(clear)
        self.controls.append(
            Control("raw bytes without a fence", arrived > 0, f"{arrived} of {len(clear)} reach the server")
        )

    async def _routes(self, bench: BrowserBench) -> None:
        cells, names = self._draw.some(BODIES, 8), self._draw.some(list(PAGES), 2)
        self.violations += [*await bodies(bench, cells), *await pages(bench, names)]
        self.cells += 2 * len(cells) + len(names)
        self._report(f"fence: {len(cells)} bodies, {len(names)} drafts and sockets")
        scripts = self._draw.some(SCRIPTS, 2)
        arrived = await arrive_without_a_fence(bench, scripts)
        evidence = f"{arrived} of {len(scripts)} reach the server"
        self.controls.append(Control("drafts and sockets without a fence", arrived > 0, evidence))

    async def _datagrams(self, bench: BrowserBench, to: Servers) -> None:
        bare = await bench.start_browser([f"--ignore-certificate-errors-spki-list={bench.authority.spki}"])
        for name, script in self._draw.some(list(DATAGRAMS.items()), 1):
            sent = await behind(bench, to, script)
            alone = await datagrams(bare, to, None, script)
            self.cells += 1
            self.violations += [f"{sent} datagrams of {name} left"] if sent else []
            self.controls.append(Control(f"{name} without a fence", alone > 0, f"{alone} datagrams, {sent} behind it"))
        await bare.close()

    async def _broken(self, bench: BrowserBench, to: Servers) -> None:
        good = bench.fence
        for name, try_it in _BROKEN.items():
            bench.fence = await start(name, bench.start_fence)
            found = await try_it(bench, to)
            await bench.fence.close()
            bench.fence = good
            first = found[0] if found else "nothing was found"
            self.controls.append(Control(f"a fence that {name}", bool(found), f"{len(found)} violations, as: {first}"))


async def _wire_of_two(bench: BrowserBench, _to: Servers) -> Sequence[str]:
    return await judge(bench, [cell for cell in CELLS if cell.name == "five forms in one connection"])


async def _a_put(bench: BrowserBench, to: Servers) -> Sequence[str]:
    ways = [way for way in WAYS if way.name == "fetch, PUT"]
    return (await closed(bench, to, ways, frozenset({"fetch, PUT"}))).violations


async def _a_reset(bench: BrowserBench, to: Servers) -> Sequence[str]:
    return await perform(bench, to, next(case for case in ANSWER_CASES if case.name == "form, answered with reset"))


async def _one_form(bench: BrowserBench, _to: Servers) -> Sequence[str]:
    return await judge(bench, CELLS[:1])


async def _second_operations(bench: BrowserBench, _to: Servers) -> Sequence[str]:
    return await bodies(bench, [cell for cell in BODIES if "second operation" in cell.name])


async def _a_draft(bench: BrowserBench, _to: Servers) -> Sequence[str]:
    return await pages(bench, ["a draft by fetch"])


async def _a_socket(bench: BrowserBench, _to: Servers) -> Sequence[str]:
    return await pages(bench, ["a socket at the end"])


#: Broken fences, and the cells that must see it.
_BROKEN: Final[dict[str, Callable[[BrowserBench, Servers], Awaitable[Sequence[str]]]]] = {
    "lets two through": _wire_of_two,
    "knows forms only": _a_put,
    "sends again": _a_reset,
    "asks no boundary": _one_form,
    "reads the first operation": _second_operations,
    "holds nothing back": _a_draft,
    "leaves sockets open": _a_socket,
}


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    layer = _Layer(profile, seed, report)
    with tempfile.TemporaryDirectory() as folder:
        bench = BrowserBench(Path(folder))
        try:
            bench.run(bench.launch(*_IMPATIENT))
            bench.run(asyncio.wait_for(layer.run(bench), _BOUND_SECONDS[profile]))
        finally:
            bench.run(bench.end())
            bench.close()
    return LayerResult(
        "fence",
        layer.cells,
        tuple(layer.violations),
        tuple(layer.controls),
        time.monotonic() - began,
        tuple(layer.notes),
    )
