"""Kills of the process that goes through a plan on the clinic app: at every boundary of a step and inside each save.

Laws of this module:

- The judge knows the app's own records, and what the run says at its end; nothing else.
- No note stands twice. A step that is told as done has its note; one that is told as having written nothing has none.
  Only a step that is told as doubtful may have either, and behind it nothing was begun.
- The points are counted by a run that nobody kills; a cell that met no kill is a violation.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from attrs import asdict, frozen

from faults.plans_parts import Blow
from faults.result import Control, LayerResult

#: Kills of the full profile.
KILLS: Final = 200

#: Kills of the full profile in Chromium, where each is played with a worker and a browser.
CHROMIUM_KILLS: Final = 50

#: Cells of the short profile, one of them in Chromium.
SHORT_CELLS: Final = 5

#: Tries that a control in Chromium has until its kill falls where it is meant to.
_TRIES: Final = 5

#: At most so many processes of one plan are killed.
_MOST: Final = 3

_STEPS: Final = ("one", "settled", "which", "tool", "two")
_NOTES: Final = ("one", "tool", "two")
_TESTS: Final = Path(__file__).parent.parent


@frozen
class Cell:
    """One plan: the points at which its processes are killed, one after another, and what is broken in it."""

    kills: tuple[Blow, ...]
    broken: str = ""
    chromium: bool = False

    def __str__(self) -> str:
        """What is needed to meet it again."""
        told = ", ".join(_told(each) for each in self.kills)
        return f"{'in Chromium, ' if self.chromium else ''}kills {told}" + (f", {self.broken}" if self.broken else "")


def _told(blow: Blow) -> str:
    place = f"at {blow.at}" if blow.at else f"in run {blow.run} when {blow.phase}"
    return f"{place} with all" if blow.everything else place


@frozen
class _Chromium:
    """What the cells in Chromium came to."""

    cells: int
    kills: int
    violations: tuple[str, ...]


class _Layer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._played = 0
        self.killed = 0
        self.ends: Counter[str] = Counter()
        self._process: Final = subprocess.Popen(
            [sys.executable, "-m", "faults.plans_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def play(self, cell: Cell) -> tuple[list[str], int]:
        """Run one cell; what is wrong with it, and how many points its last process passed."""
        self._played += 1
        folder, mark = self._folder / f"{self._played}", f"c{self._played}"
        folder.mkdir(0o700)
        order = {"folder": str(folder), "mark": mark, "broken": cell.broken, "chromium": cell.chromium}
        told = self._ask({**order, "kills": [asdict(each) for each in cell.kills]})
        said: list[Any] = told["said"]
        self.killed += said.count("killed")
        end = cast("dict[str, Any]", said[-1]) if isinstance(said[-1], dict) else None
        self.ends["none" if end is None else end["status"]] += 1
        found = [*_judged(end, Counter(_kind(note, mark) for note in told["notes"]))]
        if cell.kills and "killed" not in said:
            found.append("nobody was killed")
        return [f"{cell}: {each}" for each in found], 0 if end is None else end["points"]

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return cast("dict[str, Any]", json.loads(stdout.readline()))


def _kind(note: str, mark: str) -> str:
    return note.removeprefix(f"{mark} ").partition(" ")[0]


def _judged(end: dict[str, Any] | None, found: Counter[str]) -> Sequence[str]:
    """What is wrong with a plan by its end and by the notes that the app holds."""
    wrong = [f"the note of {step} stands {count} times" for step, count in found.items() if count > 1]
    if end is None:
        return [*wrong, "the last process did not come to an end"]
    told = {step: (outcome, changed) for step, outcome, changed in end["steps"]}
    wrong += [
        f"{step} is told as done and has no note" for step in _NOTES if _is(told, step, "yes") and not found[step]
    ]
    wrong += [f"{step} wrote, and is told not to have" for step in _NOTES if _is(told, step, "no") and found[step]]
    wrong += [f"{step} wrote and is told nowhere" for step in _NOTES if step not in told and found[step]]
    if [step for step, _, _ in end["steps"]] != list(_STEPS[: len(told)]):
        wrong.append("steps were lost or came in another order")
    if (end["status"] == "completed") is not (len(told) == len(_STEPS) and _all_done(told)):
        wrong.append(f"a run of {len(told)} steps is told as {end['status']}")
    return wrong


def _is(told: dict[str, tuple[str, str]], step: str, changed: str) -> bool:
    return step in told and told[step][1] == changed


def _all_done(told: dict[str, tuple[str, str]]) -> bool:
    return all(outcome == "done" for outcome, _ in told.values())


def _cells(draw: random.Random, points: int, profile: str) -> list[Cell]:
    """Every point once, then plans whose processes are killed several times, as many as the profile asks for."""
    single = [Cell((Blow(point),)) for point in range(1, points + 1)]
    several = [
        Cell(tuple(Blow(draw.randint(1, points // 2)) for _ in range(draw.randint(2, _MOST)))) for _ in range(KILLS)
    ]
    if profile == "short":
        return [*draw.sample(single, SHORT_CELLS - 2), several[0]]
    return single + several


def _chromium_cells(draw: random.Random, points: int, profile: str) -> list[Cell]:
    """Every boundary of a step and every phase of each save, alone and with the worker and the browser."""
    blows = [
        *(Blow(point, everything=everything) for point in range(1, points + 1) for everything in (False, True)),
        *(
            Blow(run=run, phase=phase, everything=everything)
            for run in (1, 2)
            for phase in ("started", "delivering", "finished")
            for everything in (False, True)
        ),
    ]
    if profile == "short":
        return [Cell((draw.choice(blows),), chromium=True)]
    draw.shuffle(blows)
    inside = sorted(blows, key=lambda each: not each.run)
    return [Cell((blow,), chromium=True) for blow in (inside * 2)[:CHROMIUM_KILLS]]


def _control(layer: _Layer, name: str, broken: str, points: int) -> Control:
    """Whether a thing that is wrong on purpose is caught at some point; the tool's points are asked first."""
    nearest = sorted(range(1, points + 1), key=lambda each: abs(each - points * 3 // 5))
    return _caught(layer, name, [Cell((Blow(point),), broken) for point in nearest])


def _caught(layer: _Layer, name: str, cells: Sequence[Cell]) -> Control:
    for cell in cells:
        found, _ = layer.play(cell)
        real = [each for each in found if "nobody was killed" not in each]
        if real:
            return Control(name, caught=True, evidence=real[0])
    return Control(name, caught=False, evidence="nothing was found")


def _in_chromium(layer: _Layer, draw: random.Random, profile: str, report: Callable[[str], None]) -> _Chromium:
    """The same plan with a worker, a browser and a fence; the full profile counts the points of its processes first."""
    found, points = layer.play(Cell((), chromium=True)) if profile == "full" else ([], 1)
    violations, before = list(found), layer.killed
    cells = _chromium_cells(draw, points, profile)
    for number, cell in enumerate(cells, 1):
        violations += layer.play(cell)[0]
        report(f"plans in Chromium: {number} cells, {layer.killed - before} kills, {len(violations)} violations")
    return _Chromium(len(cells), layer.killed - before, tuple(violations))


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    draw = random.Random(seed)  # noqa: S311 - the seed is to give the same cells again
    violations: list[str] = []
    played = 0
    with tempfile.TemporaryDirectory() as folder, _Layer(Path(folder)) as layer:
        found, points = layer.play(Cell(()))
        violations += found
        for cell in _cells(draw, points, profile):
            if profile == "full" and layer.killed >= KILLS and played >= points:
                break
            violations += layer.play(cell)[0]
            played += 1
            if played % 25 == 0:
                report(f"plans: {played} cells, {layer.killed} kills, {len(violations)} violations")
        chromium = _in_chromium(layer, draw, profile, report)
        killed, ends = layer.killed, dict(layer.ends)
        controls = [
            _control(layer, "a tool that never looks for its call", "forgets", points),
            _control(layer, "a runner that saves after it acted", "acts first", points),
        ]
        if profile == "full":
            inside = [Cell((Blow(run=1, phase="delivering"),), "renames", chromium=True)] * _TRIES
            controls.append(_caught(layer, "in Chromium, a step whose every try has a name of its own", inside))
    told = ", ".join(f"{name}: {count}" for name, count in sorted(ends.items()))
    notes = (
        f"{killed} kills at {points} points; ends of the plans: {told}",
        f"in Chromium {chromium.kills} kills of {chromium.cells} plans, {len(chromium.violations)} violations",
    )
    everything = (*violations, *chromium.violations)
    return LayerResult(
        "plans", played + chromium.cells + 1, everything, tuple(controls), time.monotonic() - began, notes
    )
