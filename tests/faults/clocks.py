"""Wall clocks that jump, stand still, race and creep, at every place of a request; and a machine that slept.

Laws of this module:

- A clock is handed in. Only the wall clock is faked, except where a suspended machine is meant: there the monotonic
  clock does not go on while the wall clock jumps.
- A cell runs one request with the fault at its place, beside records whose stamps are wrong already, and then lets a
  second service with a sound clock look at all of it.
- Waits are measured by a clock that nobody fakes.
"""

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from faults.failpoints_parts import PointedStore, Setting, pointed_hand
from faults.result import Control, LayerResult
from support.effects import INPUTS, WORKFLOW, ask, effects, fingerprint_of, key_of
from support.stores import MEMORY_DISK, draft, started
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.request.record import RunRecord
from surehand.shell.api import Surehand
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Premises
from surehand.shell.clock import SYSTEM_CLOCK, SystemClock
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.locks import OwnerLock
from surehand.shell.service import Service
from surehand.shell.store.base import RunStore

HOUR: Final = 3_600
DAY: Final = 86_400

#: Seconds that a wait of a cell is to last, and the most that it may, also on a busy machine.
WAIT: Final = 0.15
LATEST: Final = 60.0

#: Cells of the short profile.
SHORT_CELLS: Final = 24


class FaultyClock(SystemClock):
    """A clock whose wall time can be bent; its monotonic time can be made to stand still."""

    def __init__(self) -> None:
        self._begun = super().now()
        self.jump = 0
        self.speed = 1.0
        self.still: float | None = None

    def now(self) -> int:
        """The wall time, as it is bent now."""
        passed = (super().now() - self._begun) * self.speed
        return int(self._begun + passed) + self.jump

    def monotonic(self) -> float:
        """The system's, unless it stands still."""
        return super().monotonic() if self.still is None else self.still


Bend = Callable[[FaultyClock], None]


def _jump(seconds: int) -> Bend:
    def bend(clock: FaultyClock) -> None:
        clock.jump += seconds

    return bend


def _speed(speed: float) -> Bend:
    def bend(clock: FaultyClock) -> None:
        clock.speed = speed

    return bend


def _suspend(clock: FaultyClock) -> None:
    """The machine slept for eight hours."""
    clock.still = clock.monotonic()
    clock.jump += 8 * HOUR


FAULTS: Final[dict[str, Bend]] = {
    "+1 s": _jump(1),
    "-1 s": _jump(-1),
    "+1 h": _jump(HOUR),
    "-1 h": _jump(-HOUR),
    "+10 d": _jump(10 * DAY),
    "-10 d": _jump(-10 * DAY),
    "stands still": _speed(0.0),
    "1000 times too fast": _speed(1000.0),
    "1000 times too slow": _speed(0.001),
    "far beyond every calendar": _jump(2**50),
    "before every calendar": _jump(-(2**50)),
    "suspended": _suspend,
}

#: Where the fault strikes: the point that is passed, or the question that is asked.
PLACES: Final = {
    "reservation": "store.reserve.before",
    "boundary": "store.begin_delivery.before",
    "finish": "store.finish.before",
    "sweep": "store.unfinished.before",
    "wait": "",
}


@frozen
class Cell:
    """One fault at one place."""

    fault: str
    place: str

    def __str__(self) -> str:
        """What is needed to meet it again."""
        return f"the clock {self.fault}, at {self.place}"


@frozen
class Left:
    """Records with wrong stamps that lie there already: of owners that are gone, and of one that lives."""

    gone: tuple[RunRecord, ...]
    alive: RunRecord


class Bench:
    """Runs cells; a control puts something wrong into them.

    Args:
        folder: A folder of its own.
        service: Which service looks.
        wrapped: What is put around the store of the service that looks.
    """

    def __init__(
        self, folder: Path, service: type[Service] = Service, wrapped: Callable[[RunStore], RunStore] | None = None
    ) -> None:
        self._place: Final = folder / "cell"
        self._service = service
        self._wrapped = wrapped

    def judge(self, cell: Cell) -> list[str]:
        """Run one cell; what is wrong with it."""
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir()
        folder, oracle = self._place / "surehand", self._place / "saves"
        clock = FaultyClock()
        if cell.fault in {"stands still", "1000 times too fast", "1000 times too slow"}:
            FAULTS[cell.fault](clock)
        with closing(open_premises(folder).store) as store:
            lock = OwnerLock.acquire(folder)
            try:
                left = _leave(store, folder, lock)
                wrong = self._run(cell, clock, folder, oracle)
                wrong += self._look(folder, oracle, left, store)
                store.check_health()
            finally:
                lock.release()
        return [f"{cell}: {what}" for what in wrong]

    def _run(self, cell: Cell, clock: FaultyClock, folder: Path, oracle: Path) -> list[str]:
        """One request, whose clock fails at its place."""

        def passes(name: str) -> None:
            if name == PLACES[cell.place]:
                FAULTS[cell.fault](clock)

        setting = Setting(lambda: open_premises(folder), oracle, passes, clock, service=self._service)
        with pointed_hand(setting) as surehand:
            told = ask(surehand, "entry-1")
            if cell.place == "wait":
                FAULTS[cell.fault](clock)
            wrong = [] if told.outcome is Outcome.DONE else [f"the run ended {told.reason.value}"]
            wrong += [] if evolve(told, replayed=True) == ask(surehand, "entry-1") else ["a replay is another answer"]
            return wrong + _waits(surehand, lambda: _living(folder))

    def _look(self, folder: Path, oracle: Path, left: Left, store: RunStore) -> list[str]:
        """What a second service with a sound clock finds."""
        wrong: list[str] = []

        def premises() -> Premises:
            opened = open_premises(folder)
            return opened if self._wrapped is None else evolve(opened, store=self._wrapped(opened.store))

        setting = Setting(premises, oracle, _passes, SYSTEM_CLOCK, service=self._service)
        with pointed_hand(setting) as surehand:
            ends = [surehand.get_run(record.run_id, WAIT) for record in left.gone]
            living = surehand.get_run(left.alive.run_id, WAIT)
            told = ask(surehand, "entry-1")
        wrong += [f"a run without an owner is {end.reason.value}" for end in ends if not _settled(end)]
        if is_final(living):
            wrong.append(f"a living run was ended as {living.reason.value}")
        if told.outcome is not Outcome.DONE or not told.replayed:
            wrong.append(f"a repeat was answered {told.reason.value}")
        if len(effects(oracle)) != 1:
            wrong.append(f"{len(effects(oracle))} saves under one request")
        return wrong + _disorder(store if self._wrapped is None else self._wrapped(store))


def _passes(name: str) -> None:
    """Nothing fails here."""
    del name


def _leave(store: RunStore, folder: Path, lock: OwnerLock) -> Left:
    """Runs of owners that are gone, with stamps of past and future; and one that lives, with an old stamp."""
    now = SYSTEM_CLOCK.now()
    stamps = (now + 10 * DAY, now - 10 * DAY, now + 2**50, now)
    gone = [_reserve(store, folder, f"gone-{number}", new_token(), stamp) for number, stamp in enumerate(stamps)]
    return Left(tuple(gone), _reserve(store, folder, "alive", lock.token, now - 10 * DAY))


def _reserve(store: RunStore, folder: Path, request_id: str, owner: str, stamp: int) -> RunRecord:
    asked = draft(0, request_id, owner=owner, fingerprint=fingerprint_of(folder), created_at=stamp)
    return started(store.reserve(evolve(asked, run_id=new_run_id(), request_key=key_of(request_id), workflow=WORKFLOW)))


def _living(folder: Path) -> str:
    with closing(open_premises(folder).store) as store:
        return store.attempts(key_of("alive"))[0].run_id


def _waits(surehand: Surehand, living: Callable[[], str]) -> list[str]:
    """A wait for a run that goes on lasts as long as it was asked to, whatever the wall clock says."""
    run_id = living()
    began = time.perf_counter()
    told = surehand.get_run(run_id, WAIT)
    joined = surehand.run_workflow(WORKFLOW, INPUTS, "alive", WAIT)
    passed = time.perf_counter() - began
    wrong: list[str] = []
    if Reason.RUNNING is not told.reason or Reason.RUNNING is not joined.reason:
        wrong.append(f"a living run is {told.reason.value} and {joined.reason.value}")
    if not 2 * WAIT <= passed <= LATEST:
        wrong.append(f"two waits of {WAIT} s lasted {passed:.2f} s")
    return wrong


def _settled(end: RunResult) -> bool:
    return end.reason is Reason.INTERRUPTED_BEFORE_SAVE


def _disorder(store: RunStore) -> list[str]:
    """The list of runs is in the order of their reservation: that of the attempts, whatever the stamps say."""
    expected = ["alive", "gone-3", "gone-2", "gone-1", "gone-0"]
    keys = {key_of(name): name for name in expected}
    found = [keys[record.request_key] for record in store.recent(100) if record.request_key in keys]
    return [] if found == expected else ["the list of runs follows the stamps"]


# What is wrong on purpose.


class OwnersByAge(Service):
    """Takes an owner for gone when its run is older than an hour, and for alive otherwise."""

    def _is_abandoned(self, premises: Premises, record: RunRecord) -> bool:  # noqa: ARG002 - locks are not looked at
        return record.phase is not Phase.FINISHED and SYSTEM_CLOCK.now() - record.created_at > HOUR


class ListByStamp(PointedStore):
    """Lists runs by their stamps."""

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The latest stamps first."""
        return tuple(
            sorted(self.store.recent(limit, before), key=lambda record: (-record.created_at, record.request_key))
        )


def _by_stamp(store: RunStore) -> RunStore:
    return ListByStamp(store, _passes)


def every_cell() -> Iterator[Cell]:
    """Every fault at every place."""
    for fault in FAULTS:
        for place in PLACES:
            yield Cell(fault, place)


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    cells = list(every_cell())
    chosen = cells if profile == "full" else random.Random(seed).sample(cells, SHORT_CELLS)  # noqa: S311 - which cells
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="surehand-clocks-", dir=MEMORY_DISK) as place:
        bench = Bench(Path(place))
        for cell in chosen:
            violations += bench.judge(cell)
        report(f"clocks: {len(chosen)} cells, {len(violations)} violations")
        controls = (
            _control("owners judged by age", Bench(Path(place), OwnersByAge), ("without an owner", "living run")),
            _control("a list by stamps", Bench(Path(place), wrapped=_by_stamp), ("follows the stamps",)),
        )
    notes = (f"{len(FAULTS)} faults at {len(PLACES)} places: {len(cells)} cells",)
    return LayerResult("clocks", len(chosen), tuple(violations), controls, time.monotonic() - began, notes)


def _control(name: str, bench: Bench, signs: tuple[str, ...]) -> Control:
    said = bench.judge(Cell("+10 d", "wait"))
    caught = [sign for sign in signs if any(sign in what for what in said)]
    return Control(name, len(caught) == len(signs), f"seen in one cell: {', '.join(caught)}")
