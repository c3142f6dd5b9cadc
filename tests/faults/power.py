"""Power cuts at every point between two system calls of the stores, and what is still there afterwards.

Laws of this module:

- The stores are the real ones. What they asked of the system was recorded; the disks are made from that record.
- What was answered before the cut has to be there after it: reservations, passages of the boundary, ends, refusals, and
  the secret behind the fingerprints. The store opens, is whole, and starts no request a second time.
- A file keeps its identity through a power cut, so the seal is told the identity of the file that stands for it.
"""

import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import define, evolve, frozen

from faults.power_disk import Disk, Fate, Node
from faults.power_workload import STORES
from faults.result import Control, LayerResult
from support.shim import Event, Forker, Operation, build_shim, read_trace
from support.stores import DONE, MEMORY_DISK, draft, keep_in_first_schema, result_of, run_id
from surehand.core.outcome.evidence import Phase
from surehand.core.request.gate import Start
from surehand.shell.files import file_identity
from surehand.shell.identity import fingerprint_key
from surehand.shell.store import sqlite_schema
from surehand.shell.store.base import RunStore, StoreError
from surehand.shell.store.seal import SealFile

#: Cuts of each course in the short profile, drawn by the seed.
SHORT_CUTS: Final = 110

_SEALED: Final = {"sqlite": "ledger.db", "claims": "claims"}
_ORDER: Final = (Phase.RESERVED, Phase.STARTED, Phase.DELIVERING, Phase.FINISHED)


@frozen
class Course:
    """One recorded course of requests.

    Args:
        name: What it is about.
        store: ``sqlite`` or ``claims``.
        requests: How many.
        prepare: Brings the folder into the state that the course begins with, and says what was promised before.
        wrong: The wrong variant that is recorded, if any.
        every: Every so many-th point is cut in the full profile.
    """

    name: str
    store: str
    requests: int
    prepare: Callable[[Path], tuple[str, ...]]
    wrong: str = ""
    every: int = 1


def _nothing(_: Path) -> tuple[str, ...]:
    return ()


def _first_schema(folder: Path) -> tuple[str, ...]:
    """A ledger of the first schema with three requests that were done."""
    fingerprint_key(folder)
    promised: list[str] = []
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as link:
        for statement in sqlite_schema.MIGRATIONS[0]:
            link.execute(statement)
        link.execute(f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}")
        link.execute("PRAGMA user_version = 1")
        link.execute("PRAGMA journal_mode = WAL").fetchone()
        for number in (500, 501, 502):
            record = evolve(draft(number, f"entry-{number}"), attempt=1, phase=Phase.FINISHED)
            record = evolve(record, result=result_of(record, DONE))
            keep_in_first_schema(link, record)
            promised.append(f"finished {number} {result_of(record, DONE).reason.value}")
    return tuple(promised)


COURSES: Final = (
    Course("ledger from the first use on", "sqlite", 24, _nothing),
    Course("ledger of the first schema, brought forward", "sqlite", 8, _first_schema),
    Course("long ledger, cut around its checkpoints", "sqlite", 160, _nothing, every=23),
    Course("claim files from the first use on", "claims", 16, _nothing),
)

CONTROLS: Final = (
    (Course("synchronous = NORMAL", "sqlite", 10, _nothing, wrong="flush"), "a ledger that does not flush its commits"),
    (Course("names not flushed", "claims", 10, _nothing, wrong="names"), "claims whose names are not flushed"),
)


@frozen
class Recorded:
    """A course that was recorded.

    Args:
        course: The course.
        disk: The disk as it was before.
        events: What happened to it.
        before: What was promised before.
        identity: What the system called the file or folder that holds the runs.
    """

    course: Course
    disk: Disk
    events: tuple[Event, ...]
    before: tuple[str, ...]
    identity: str


@frozen
class Promises:
    """What was answered before a cut."""

    phases: dict[int, Phase]
    reasons: dict[int, str]
    refusals: frozenset[int]
    key: str | None

    @classmethod
    def of(cls, marks: list[str]) -> "Promises":
        """Read them from the marks."""
        words = [mark.split() for mark in marks]
        phases = {int(said[1]): Phase(said[0]) for said in words if said[0] in {"reserved", "delivering", "finished"}}
        reasons = {int(said[1]): said[2] for said in words if said[0] == "finished"}
        refusals = frozenset(int(said[1]) for said in words if said[0] == "refused")
        return cls(phases, reasons, refusals, next((said[1] for said in words if said[0] == "key"), None))


def record(course: Course, folder: Path, forker: Forker) -> Recorded:
    """Record a course in a folder of its own."""
    root, trace = folder / "recorded", folder / "trace"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    trace.unlink(missing_ok=True)
    before = course.prepare(root)
    disk = Disk(root)
    how = {"store": course.store, "requests": course.requests, "wrong": course.wrong}
    told = forker.order("works", root, watched=str(root), trace=str(trace), **how)
    assert told.status == 0, told
    return Recorded(course, disk, tuple(read_trace(trace)), before, file_identity(root / _SEALED[course.store]))


@define
class Cuts:
    """Cuts a recorded course again and again.

    Args:
        folder: Where the disks are made.
        chance: Decides what survives.
        mixed: Disks of mixed fate at each cut, beside the one that lost everything loose and the one that kept it.
        disks: How many were made.
    """

    folder: Path
    chance: random.Random
    mixed: int
    disks: int = 0

    def judge(self, recorded: Recorded, points: frozenset[int]) -> list[str]:
        """Cut the course after each of these events; what was lost."""
        marks = list(recorded.before)
        wrong: list[str] = []
        for number, event in enumerate(recorded.events):
            recorded.disk.take(event)
            if event.operation is Operation.MARK:
                marks.append(event.path)
            if number in points:
                promises = Promises.of(marks)
                for fate in (Fate.LOST, Fate.KEPT, *[Fate.MIXED] * self.mixed):
                    place = f"{recorded.course.name}, cut after event {number}, {fate.value}"
                    wrong += [f"{place}: {said}" for said in self._cut(recorded, fate, promises)]
        return wrong

    def _cut(self, recorded: Recorded, fate: Fate, promises: Promises) -> list[str]:
        self.disks += 1
        target = self.folder / "disk"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(mode=0o700)
        found = recorded.disk.cut(fate, self.chance, target)
        _keep_identity(recorded, target / _SEALED[recorded.course.store], found)
        try:
            return _lost(recorded.course, promises, target)
        except StoreError as error:
            return [f"refused as {error.check.value}: {error}"]


def _keep_identity(recorded: Recorded, sealed: Path, found: dict[str, Node]) -> None:
    """Tell the seal what the very file is called now which it belonged to before the cut."""
    node = found.get(sealed.name)
    if node is None or str(node.inode) != recorded.identity.partition(":")[0]:
        return
    seals = SealFile(sealed)
    try:
        seal = seals.read()
    except StoreError:
        return
    if seal is not None and seal.file == recorded.identity:
        seals.write(seal.name, seal.epoch, seal.count)


def _lost(course: Course, promises: Promises, folder: Path) -> list[str]:
    """Open what is left with the real store, and say which promise is not kept."""
    with closing(STORES[course.store](folder)) as store:
        wrong = [said for number in promises.phases if (said := _run_lost(store, promises, number)) is not None]
        wrong += ["a refusal is lost" for number in promises.refusals if store.load(run_id(number)) is None]
        if promises.phases:
            newest = max(promises.phases)
            again = store.reserve(draft(20_000, f"entry-{newest}"))
            wrong += [f"request {newest} starts again"] if isinstance(again, Start) else []
        store.check_health()
    key = folder / "fingerprint.key"
    if promises.key is not None and (not key.exists() or key.read_bytes().hex() != promises.key):
        wrong.append("the secret behind the fingerprints is lost")
    return wrong


def _run_lost(store: RunStore, promises: Promises, number: int) -> str | None:
    record = store.load(run_id(number))
    if record is None:
        return f"the reservation of request {number} is lost"
    if _ORDER.index(record.phase) < _ORDER.index(promises.phases[number]):
        return f"request {number} fell back to {record.phase.value}"
    reason = promises.reasons.get(number)
    if reason is not None and (record.result is None or record.result.reason.value != reason):
        return f"the end of request {number} is another one"
    return None


def _points(recorded: Recorded, profile: str, chance: random.Random) -> frozenset[int]:
    """Where the course is cut: everywhere or every so many-th event, and around each checkpoint; or some of that."""
    events = recorded.events
    every = recorded.course.every
    points = set(range(0, len(events), every))
    if every > 1:
        checkpoints = [number for number, event in enumerate(events) if _is_checkpoint(event)]
        points |= {number + near for number in checkpoints for near in range(-1, 2)}
    chosen = sorted(point for point in points if 0 <= point < len(events))
    return frozenset(chosen if profile == "full" else chance.sample(chosen, min(SHORT_CUTS, len(chosen))))


def _is_checkpoint(event: Event) -> bool:
    return event.operation in {Operation.WRITE, Operation.SYNC} and event.path.endswith("/ledger.db")


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    chance = random.Random(seed)  # noqa: S311 - what survives
    violations: list[str] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="surehand-power-", dir=MEMORY_DISK) as place:
        folder = Path(place)
        with Forker(build_shim(folder)) as forker:
            cuts = Cuts(folder, chance, mixed=8 if profile == "full" else 1)
            for course in COURSES:
                recorded = record(course, folder, forker)
                before = cuts.disks
                violations += cuts.judge(recorded, _points(recorded, profile, chance))
                notes.append(f"{course.name}: {len(recorded.events)} events, {cuts.disks - before} disks")
                report(f"power: {notes[-1]}, {len(violations)} violations")
            controls = tuple(_control(course, name, folder, forker, chance) for course, name in CONTROLS)
    return LayerResult("power", cuts.disks, tuple(violations), controls, time.monotonic() - began, tuple(notes))


def _control(course: Course, name: str, folder: Path, forker: Forker, chance: random.Random) -> Control:
    """A store that does not flush loses what it answered."""
    recorded = record(course, folder, forker)
    cuts = Cuts(folder, chance, mixed=0)
    points = frozenset(number for number, event in enumerate(recorded.events) if event.operation is Operation.MARK)
    lost = cuts.judge(recorded, points)
    losing = len({said.rpartition(": ")[0] for said in lost})
    return Control(name, bool(lost), f"{losing} of {cuts.disks} disks lost what was answered")
