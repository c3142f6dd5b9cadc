"""Named points at every boundary of a request, and at each of them a kill, an error, a stop, a theft and a long wait.

Laws of this module:

- A cell is one point and one kind of fault. Meanwhile another process asks for the same entry, and afterwards a third
  one asks again.
- The judge knows the saves that the app saw, one line each, and every answer that was given with the saves until then.
- A point that a cell did not meet is a violation: nothing was tried there.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from attrs import frozen

from faults.result import Control, LayerResult
from support.effects import changed
from support.stores import MEMORY_DISK
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.wire import from_wire

#: What is done at a point. ``stop``: the process stands still, and another one looks and sweeps. ``robbed``: the same,
#: and its owner lock is taken away meanwhile. ``hold``: one thread waits there, and every clock jumps by a day.
KINDS: Final = ("kill", "error", "stop", "robbed", "hold")

#: The points that each scenario passes for the first time.
POINTS: Final[dict[str, tuple[str, ...]]] = {
    "fresh": (
        *(f"premises.open.{side}" for side in ("before", "after")),
        *(f"store.attempts.{side}" for side in ("before", "after")),
        *(f"crew.start.{side}" for side in ("before", "after")),
        *(f"store.reserve.{side}" for side in ("before", "after")),
        *(f"executor.submit.{side}" for side in ("before", "after")),
        *(f"store.mark_started.{side}" for side in ("before", "after")),
        *(f"engine.execute.{side}" for side in ("before", "after")),
        *(f"boundary.cross.{side}" for side in ("before", "after")),
        *(f"store.begin_delivery.{side}" for side in ("before", "after")),
        "effect.after",
        *(f"store.finish.{side}" for side in ("before", "after")),
        "answer.said",
    ),
    "left": tuple(f"store.{name}.{side}" for name in ("unfinished", "settle") for side in ("before", "after")),
    "refused": tuple(f"store.record_refusal.{side}" for side in ("before", "after")),
    "settled": tuple(f"store.{name}.{side}" for name in ("load", "note_late") for side in ("before", "after")),
}

STORES: Final = ("sqlite", "claims")

#: Cells of the short profile, drawn by the seed; every kind is among them.
SHORT_CELLS: Final = 22

_TESTS: Final = Path(__file__).parent.parent


@frozen
class Cell:
    """One fault at one point."""

    store: str
    scenario: str
    point: str
    kind: str
    boundary: str = "kept"

    def __str__(self) -> str:
        """What is needed to meet it again."""
        return f"{self.store}, {self.scenario}, {self.point}, {self.kind}"


def every_cell() -> Iterator[Cell]:
    """Every point with every kind of fault; nothing can fail where only an answer was said."""
    for store in STORES:
        for scenario, points in POINTS.items():
            for point in points:
                for kind in KINDS:
                    if (point, kind) != ("answer.said", "error"):
                        yield Cell(store, scenario, point, kind)


@frozen
class Given:
    """An answer that was given, and the run ids of the saves that the app had seen by then.

    Of a refusal these are the saves that stood when the call came: it speaks of the history that it was decided on.
    """

    answer: RunResult
    saves: tuple[str, ...]


@frozen
class Heard:
    """All that was said in one cell."""

    status: int | None
    recovered: int | None
    met: bool
    given: tuple[Given, ...]
    other: RunResult | None
    attempts: dict[str, int]
    wrong: tuple[str, ...]
    unknown: tuple[str, ...]


class Bench:
    """Runs cells in a folder of its own, by a process that forks for each of them."""

    def __init__(self, folder: Path) -> None:
        self._place: Final = folder / "cell"
        self._process: Final = subprocess.Popen(
            [sys.executable, "-m", "faults.failpoints_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
        )

    def judge(self, cell: Cell) -> list[str]:
        """Run one cell; what is wrong with it."""
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir()
        oracle = self._place / "saves"
        heard = _heard(self._order(cell, oracle))
        saves = tuple(oracle.read_text().split()) if oracle.exists() else ()
        return [f"{cell}: {said}" for said in judged(cell, heard, saves)]

    def _order(self, cell: Cell, oracle: Path) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "folder": str(self._place / "surehand"),
            "oracle": str(oracle),
            "store": cell.store,
            "scenario": cell.scenario,
            "point": cell.point,
            "kind": cell.kind,
            "boundary": cell.boundary,
        }
        print(json.dumps(order), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("the forking process has ended")
        return cast("dict[str, Any]", json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)


def _heard(told: dict[str, Any]) -> Heard:
    said: list[dict[str, Any]] = told["said"]
    others = [_result(line["other"]) for line in said if "other" in line]
    return Heard(
        status=told["status"],
        recovered=told["recovered"],
        met=any("met" in line for line in said),
        given=tuple(Given(_result(line["answer"]), tuple(line["saves"])) for line in said if "answer" in line),
        other=others[0] if others else None,
        attempts={key: value for line in said for key, value in line.get("attempts", {}).items()},
        wrong=tuple(wrong for line in said for wrong in line.get("wrong", ())),
        unknown=tuple(line["unknown"] for line in said if "unknown" in line),
    )


def _result(answer: object) -> RunResult:
    return from_wire(answer, RunResult).unwrap()


def judged(cell: Cell, heard: Heard, every_save: tuple[str, ...]) -> list[str]:
    """What is wrong with a cell.

    Args:
        cell: The fault.
        heard: All that was said.
        every_save: The run ids of all saves, when nobody can save any more.
    """
    wrong = list(heard.wrong)
    if heard.status != (-9 if cell.kind == "kill" else 0):
        wrong.append(f"the process ended with {heard.status}")
    if heard.recovered != 0:
        wrong.append(f"the recovery ended with {heard.recovered}")
    if not heard.met:
        wrong.append("the point was not met")
    if heard.other is None or heard.other.outcome is not Outcome.DONE:
        wrong.append("a new entry is not done")
    own = tuple(save for save in every_save if heard.other is None or save != heard.other.run_id)
    if len(own) > 1:
        wrong.append(f"{len(own)} saves under one request")
    for given in _first(heard.given):
        wrong += _untrue(given, own, heard.attempts)
    wrong += _changes(heard.given)
    if cell.kind == "error" and not heard.given:
        wrong.append("an error kept the call from being answered")
    recorded = {given.answer.run_id for given in heard.given if given.answer.record_saved}
    wrong += ["a run that was answered is unknown" for run_id in heard.unknown if run_id in recorded]
    return wrong


def _first(given: tuple[Given, ...]) -> Iterator[Given]:
    """Each answer as it was given first: when it is read again it is about the past."""
    seen: set[tuple[str, Outcome]] = set()
    for each in given:
        name = (each.answer.run_id, each.answer.outcome)
        if name not in seen:
            seen.add(name)
            yield each


def _untrue(given: Given, own: tuple[str, ...], attempts: dict[str, int]) -> list[str]:
    """What one answer claims that is not so; an answer about an earlier attempt says nothing about later ones."""
    answer = given.answer
    wrong: list[str] = []
    if answer.outcome is Outcome.DONE and answer.run_id not in given.saves:
        wrong.append("done without a save of this run")
    if answer.record_changed is RecordChanged.NO:
        if answer.run_id in own:
            wrong.append(f"{answer.reason.value} says that nothing was written by a run that saved")
        earlier = [save for save in given.saves if save in own and attempts.get(save, 0) <= answer.attempt]
        if earlier or (answer.attempt == 0 and set(given.saves) & set(own)):
            wrong.append(f"{answer.reason.value} says that nothing was written after a save")
    return wrong


def _changes(given: tuple[Given, ...]) -> list[str]:
    """Answers about one run that contradict each other, in the order in which they were given."""
    answers = [each.answer for each in given if is_final(each.answer)]
    found = [changed(before, after) for place, before in enumerate(answers) for after in answers[place + 1 :]]
    return [said for said in found if said is not None]


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    cells = list(every_cell())
    chosen = cells if profile == "full" else _drawn(cells, seed)
    violations: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="surehand-failpoints-", dir=MEMORY_DISK) as place,
        Bench(Path(place)) as bench,
    ):
        for number, cell in enumerate(chosen, start=1):
            violations += bench.judge(cell)
            if number % 50 == 0:
                report(f"failpoints: {number} of {len(chosen)} cells, {len(violations)} violations")
        controls = (
            _control(bench, "a save before the boundary", "careless", "kill"),
            _control(bench, "a save whatever the boundary says", "deaf", "robbed"),
        )
    points = len({(cell.scenario, cell.point) for cell in cells})
    kinds = Counter(cell.kind for cell in chosen)
    notes = (
        f"{points} points, {len(KINDS)} kinds of faults, {len(STORES)} stores: {len(cells)} cells; "
        + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
    )
    return LayerResult("failpoints", len(chosen), tuple(violations), controls, time.monotonic() - began, notes)


def _drawn(cells: list[Cell], seed: int) -> list[Cell]:
    """Some cells by the seed: one of each kind in each scenario first, then any."""
    shuffled = random.Random(seed).sample(cells, len(cells))  # noqa: S311 - which cells are run
    first = {(cell.scenario, cell.kind): cell for cell in shuffled}
    chosen = list(first.values())
    rest = [cell for cell in shuffled if cell not in chosen]
    return chosen + rest[: max(0, SHORT_CELLS - len(chosen))]


def _control(bench: Bench, name: str, boundary: str, kind: str) -> Control:
    """The same cells with an engine that is wrong on purpose."""
    cells = [Cell("sqlite", "fresh", f"boundary.cross.{side}", kind, boundary) for side in ("before", "after")]
    caught = [said for cell in cells for said in bench.judge(cell)]
    twice = sum("saves under one request" in said for said in caught)
    return Control(name, bool(twice), f"{twice} requests saved twice in {len(cells)} cells")
