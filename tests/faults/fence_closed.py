"""The closed fence: no way to write arrives, each attempt is counted, and reads pass.

Laws of this module:

- A way decides something when it arrives without a fence.
- A cell is judged when its context is gone, so that what a page sends while it dies is seen.
"""

from collections.abc import Sequence
from functools import partial

from attrs import frozen

from faults.fence_arena import LATE, SOON, Servers, Trial, behind_the_fence, new_mark
from faults.fence_cells import Way
from support.fence_browser import BrowserBench


@frozen
class Closed:
    """What was found about the closed fence.

    Args:
        cells: How many ways were judged.
        violations: What arrived, or was not counted.
        undecided: Ways that do not arrive without a fence either.
    """

    cells: int
    violations: tuple[str, ...]
    undecided: tuple[str, ...]


async def arriving(bench: BrowserBench, to: Servers, ways: Sequence[Way]) -> frozenset[str]:
    """The names of the ways that arrive without a fence."""
    trial, marks = Trial(bench, to, None), {way.name: new_mark() for way in ways}
    for way in ways:
        mark = marks[way.name]
        await trial.perform(way, mark, partial(to.writes, mark), LATE if way.slow else SOON)
    return frozenset(name for name, mark in marks.items() if to.writes(mark))


async def closed(bench: BrowserBench, to: Servers, ways: Sequence[Way], decided: frozenset[str]) -> Closed:
    """Try the ways behind the closed fence."""
    marks = {way.name: new_mark() for way in ways}
    uncounted: list[str] = []
    async with behind_the_fence(bench, to) as (it, trial):
        for way in ways:
            before = (await it.run.counts()).stopped_writes

            async def stopped(before: int = before) -> bool:
                return (await it.run.counts()).stopped_writes > before

            async def decided_now(mark: str = marks[way.name]) -> bool:
                return bool(to.writes(mark)) or await stopped()

            seconds = LATE if way.slow and way.name in decided else SOON if way.name in decided else 0.3
            await trial.perform(way, marks[way.name], decided_now, seconds)
            if way.name in decided and way.counted and not await stopped():
                uncounted.append(way.name)
    leaks = tuple(f"arrived through the closed fence: {name}" for name, mark in marks.items() if to.writes(mark))
    missing = tuple(f"stopped but not counted: {name}" for name in uncounted)
    return Closed(len(ways), leaks + missing, tuple(way.name for way in ways if way.name not in decided))


async def reads(bench: BrowserBench, to: Servers, ways: Sequence[Way]) -> Closed:
    """Try reads behind the closed fence: each arrives, and none is stopped."""
    marks = {way.name: new_mark() for way in ways}
    async with behind_the_fence(bench, to) as (it, trial):
        for way in ways:
            mark = marks[way.name]
            await trial.perform(way, mark, partial(to.arrivals, mark), SOON)
        stopped = (await it.run.counts()).stopped_writes
    lost = tuple(f"a read did not arrive: {name}" for name, mark in marks.items() if not to.arrivals(mark))
    counted = (f"{stopped} reads were taken for writes",) if stopped else ()
    return Closed(len(ways), lost + counted, ())
