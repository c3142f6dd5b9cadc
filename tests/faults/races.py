"""Races of two, four and eight processes on one folder, started once and set off together in every round.

Laws of this module:

- The racers use services and stores of their own; some of them reach the folder through a second mount.
- A round is judged by the saves that the app saw, by what the store holds in the end, and by every answer.
- Nobody waits for luck to catch a control: each one is wrong in every round, whoever comes first.
"""

import json
import mmap
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from attrs import define, evolve, field, frozen

from faults.failpoints_driver import OPENS
from faults.races_racer import BURST
from faults.result import Control, LayerResult
from support.effects import PATIENCE, effects, fingerprint_of, hand, key_of
from support.folders import can_mount
from support.stores import BROKEN, MEMORY_DISK, draft, result_of, started
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.request.record import RunRecord
from surehand.core.wire import from_wire
from surehand.shell.files import private_folder
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.store import sqlite_schema
from surehand.shell.store.base import RunStore

_TESTS: Final = Path(__file__).parent.parent

#: Seconds that a control waits for a run that never ends.
GLANCE: Final = 0.3

_MOUNTED: Final = 'mount --bind "$1" "$2"; shift 2; exec "$@"'


class Racers:
    """So many processes, and the flag that sets them off.

    Args:
        number: How many.
        place: A folder for the flag and for the second mount.
        folder: The folder that every second racer reaches by another mount; ``None`` for no mounts.
    """

    def __init__(self, number: int, place: Path, folder: Path | None = None) -> None:
        self.number: Final = number
        self._other = place / f"other-{number}"
        self._rounds = count(1)
        flag = place / f"flag-{number}-{folder is not None}"
        flag.write_bytes(bytes(8))
        self._file = flag.open("r+b")
        self._flag = mmap.mmap(self._file.fileno(), 8)
        command = [sys.executable, "-m", "faults.races_racer", str(flag)]
        self._mounted: list[bool] = []
        self._processes: list[subprocess.Popen[str]] = []
        for index in range(number):
            mounted = folder is not None and index % 2 == 1
            self._mounted.append(mounted)
            self._processes.append(_start(_through_mount(folder, self._other, command) if mounted else command))

    def open(self, site: "Site", wrong: str | None = None) -> None:
        """Let every racer open a folder, by the mount that it has."""
        for index in range(self.number):
            folder = self._other if self._mounted[index] else site.folder
            self._order(index, play="opens", folder=str(folder), oracle=str(site.oracle), store=site.store, wrong=wrong)
        assert {"open"} == {self._hear(index) for index in range(self.number)}

    def race(self, orders: list[dict[str, Any]]) -> list[Any]:
        """One round; what each racer was answered. The first racer is prepared before the others begin to."""
        number = next(self._rounds)
        for index, order in enumerate(orders):
            self._order(index, number=number, **order)
            if index == 0:
                assert self._hear(0) == "ready"
        assert {"ready"} == {self._hear(index) for index in range(1, len(orders))}
        self._flag[:8] = number.to_bytes(8, "little")
        return [self._hear(index) for index in range(len(orders))]

    def process(self, index: int) -> int:
        """The number of a racer's process, which lives."""
        return self._processes[index].pid

    def _order(self, index: int, **order: object) -> None:
        pipe = self._processes[index].stdin
        assert pipe is not None
        print(json.dumps(order), file=pipe, flush=True)

    def _hear(self, index: int) -> Any:  # noqa: ANN401 - JSON
        pipe = self._processes[index].stdout
        assert pipe is not None
        line = pipe.readline()
        if not line:
            raise AssertionError("a racer has ended")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self._flag.close()
        self._file.close()


def _start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
    )


def _through_mount(folder: Path | None, other: Path, command: list[str]) -> list[str]:
    """The command in a mount namespace of its own, where the folder has a second path."""
    other.mkdir(mode=0o700, exist_ok=True)
    return ["unshare", "-Urm", "sh", "-ec", _MOUNTED, "sh", str(folder), str(other), *command]


@define
class Site:
    """A folder that is raced on."""

    folder: Path
    oracle: Path
    store: str
    kept: RunStore = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Open the store."""
        self.kept = OPENS[self.store](self.folder).store

    def saves(self, *run_ids: str) -> int:
        """How often the app was saved to by these runs."""
        counted = Counter(effects(self.oracle))
        return sum(counted[run_id] for run_id in run_ids)

    def end_of(self, record: RunRecord) -> RunResult:
        """How a run ended; one that no living process moves is settled."""
        now = self.kept.load(record.run_id)
        assert now is not None
        if now.result is not None:
            return now.result
        with hand(self.folder, self.oracle, OPENS[self.store]) as surehand:
            return surehand.get_run(record.run_id, PATIENCE)

    def reserve(self, request_id: str, owner: str) -> RunRecord:
        """An attempt of this owner at the one entry of these tests."""
        # The racers serve a workflow without a version.
        asked = draft(0, request_id, owner=owner, fingerprint=fingerprint_of(self.folder), bundle="")
        return started(self.kept.reserve(evolve(asked, run_id=new_run_id(), request_key=key_of(request_id))))


@frozen
class Round:
    """One round, judged now and, where a run goes on, later; ``first`` says who came first, if that is the question."""

    said: list[str]
    later: Callable[[], list[str]]
    first: str = ""


Play = Callable[[Racers, Site, int], Round]


def _results(answers: list[Any]) -> list[RunResult]:
    return [from_wire(answer, RunResult).unwrap() for answer in answers]


def _nothing() -> list[str]:
    return []


def same_payload(racers: Racers, site: Site, number: int) -> Round:
    """Every racer asks for the same entry under the same request id."""
    request_id = f"same-{number}"
    answers = _results(racers.race([{"play": "asks", "request_id": request_id}] * racers.number))
    return Round(_one_run(answers), lambda: _one_save(site, request_id, attempts=1))


def other_payload(racers: Racers, site: Site, number: int) -> Round:
    """Every racer asks for an entry of its own under the same request id."""
    request_id = f"other-{number}"
    orders = [{"play": "asks", "request_id": request_id, "note": f"note {index}"} for index in range(racers.number)]
    answers = _results(racers.race(orders))
    refused = [answer for answer in answers if answer.reason is Reason.REQUEST_ID_CONFLICT]
    said: list[str] = []
    if len(refused) != racers.number - 1:
        said.append(f"{len(refused)} of {racers.number} were told of the conflict")
    if any(answer.record_changed is RecordChanged.NO or answer.safe_to_retry for answer in refused):
        early = site.saves(*(record.run_id for record in site.kept.attempts(key_of(request_id))))
        said += ["a conflict says that nothing was written after a save"] if early else []
    return Round(said, lambda: _one_save(site, request_id, attempts=1))


def retry(racers: Racers, site: Site, number: int) -> Round:
    """Every racer tries again what failed and is proven to have written nothing."""
    request_id = f"retry-{number}"
    failed = site.reserve(request_id, new_token())
    site.kept.finish(failed.run_id, failed.owner, result_of(failed, BROKEN))
    answers = _results(racers.race([{"play": "asks", "request_id": request_id}] * racers.number))
    return Round(_one_run(answers), lambda: _one_save(site, request_id, attempts=2))


def boundary(racers: Racers, site: Site, number: int) -> Round:
    """The owner passes the boundary and saves while every other racer ends the run as one without an owner."""
    record = site.reserve(f"boundary-{number}", new_token())
    others = [{"play": "settles", "run_id": record.run_id}] * (racers.number - 1)
    crossed, *settled = racers.race([{"play": "crosses", "run_id": record.run_id}, *others])
    saves, said = site.saves(record.run_id), list[str]()
    for answer in _results(settled):
        if answer.record_changed is RecordChanged.NO and saves:
            said.append("settled as not written after a save")
        if crossed == is_final(answer):
            said.append("passed and settled" if crossed else "neither passed nor settled")
    if saves != int(crossed):
        said.append("a save that the boundary did not let pass")
    return Round(said, lambda: _true_end(site, record), "boundary" if crossed else "sweep")


def end(racers: Racers, site: Site, number: int) -> Round:
    """The owner finishes its run and dies, or dies at once, while every other racer looks at the run."""
    run_id, finishes = new_run_id(), number % 2 == 0
    others = [{"play": "looks", "run_id": run_id}] * (racers.number - 1)
    owner = {"play": "owns", "run_id": run_id, "request_id": f"end-{number}", "finishes": finishes}
    answers = _results(racers.race([owner, *others])[1:])
    kept = site.kept.load(run_id)
    assert kept is not None
    expected = Reason.SAVED_AND_CHECKED if finishes else Reason.INTERRUPTED
    said = [f"an end told as {answer.reason.value}" for answer in answers if answer.reason is not expected]
    said += ["an answer that is not the stored one" for answer in answers if answer != kept.result]
    return Round(said, _nothing)


def reused_number(racers: Racers, site: Site, number: int, wait: float = PATIENCE) -> Round:
    """The owner is gone, and its process number belongs to a racer now; every racer asks for the entry."""
    request_id = f"number-{number}"
    left = site.reserve(request_id, new_token())
    private_folder(site.folder / "owners")
    (site.folder / "owners" / f"{left.owner}.pid").write_text(str(racers.process(0)))
    answers = _results(racers.race([{"play": "asks", "request_id": request_id, "wait": wait}] * racers.number))
    said = ["a run without an owner goes on for ever" for answer in answers if not is_final(answer)]
    return Round(said + _one_run(answers), lambda: _one_save(site, request_id, attempts=2))


def migration(racers: Racers, site: Site, number: int) -> Round:
    """Every racer opens a ledger of the first version, brings it forward and asks for the same entry."""
    fresh = _fresh(site, number)
    with closing(sqlite3.connect(fresh.folder / "ledger.db", isolation_level=None)) as link:
        for statement in sqlite_schema.MIGRATIONS[0]:
            link.execute(statement)
        link.execute(f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}")
        link.execute("PRAGMA user_version = 1")
        link.execute("PRAGMA journal_mode = WAL").fetchone()
    return _burst(racers, fresh, f"migration-{number}", 1)


def burst(racers: Racers, site: Site, number: int) -> Round:
    """Twenty threads of every racer ask for the same entry, first of all that their services are asked."""
    return _burst(racers, _fresh(site, number), f"burst-{number}", BURST)


@frozen
class _Fresh:
    folder: Path
    oracle: Path
    store: str


def _fresh(site: Site, number: int) -> _Fresh:
    folder = site.folder.parent / f"fresh-{new_token()[:8]}-{number}"
    private_folder(folder)
    return _Fresh(folder, site.oracle, site.store)


def _burst(racers: Racers, fresh: _Fresh, request_id: str, threads: int) -> Round:
    order = {"play": "bursts", "folder": str(fresh.folder), "request_id": request_id, "threads": threads}
    answers = [answer for told in racers.race([order] * racers.number) for answer in _results(told)]
    site = Site(fresh.folder, fresh.oracle, fresh.store)
    said = _one_run(answers) + _one_save(site, request_id, attempts=1)
    said += [f"a call was answered {answer.reason.value}" for answer in answers if answer.outcome is not Outcome.DONE]
    site.kept.check_health()
    site.kept.close()
    return Round(said, _nothing)


def _one_run(answers: list[RunResult]) -> list[str]:
    """All answers are about one run, and one of them began it."""
    said: list[str] = []
    if len({answer.run_id for answer in answers}) != 1:
        said.append(f"{len({answer.run_id for answer in answers})} runs for one request")
    began = sum(not answer.replayed for answer in answers)
    if began != 1:
        said.append(f"{began} calls began a run")
    return said


def _one_save(site: Site, request_id: str, attempts: int) -> list[str]:
    """The request came to so many attempts, its last one is done, and the app saw one save."""
    kept = site.kept.attempts(key_of(request_id))
    said: list[str] = []
    if len(kept) != attempts:
        said.append(f"{len(kept)} attempts instead of {attempts}")
    ended = site.end_of(kept[-1])
    saves = site.saves(*(record.run_id for record in kept))
    if saves != 1:
        said.append(f"{saves} saves under one request")
    if ended.outcome is not Outcome.DONE:
        said.append(f"the run ended {ended.reason.value}")
    return said


def _true_end(site: Site, record: RunRecord) -> list[str]:
    ended, saves = site.end_of(record), site.saves(record.run_id)
    expected = Reason.INTERRUPTED if saves else Reason.INTERRUPTED_BEFORE_SAVE
    return [] if ended.reason is expected else [f"{saves} saves, and the run ended {ended.reason.value}"]


PLAYS: Final[dict[str, Play]] = {
    "same payload": same_payload,
    "other payload": other_payload,
    "retry": retry,
    "boundary": boundary,
    "end": end,
    "reused number": reused_number,
    "migration": migration,
    "burst": burst,
}


@frozen
class Course:
    """How many rounds of each play so many racers run on one kind of store."""

    store: str
    racers: int
    rounds: Mapping[str, int]
    mounts: bool = False


_EVERY: Final[Mapping[str, int]] = dict(zip(PLAYS, (150, 130, 130, 150, 50, 40, 20, 15), strict=True))
_CLAIMS: Final[Mapping[str, int]] = dict(zip(PLAYS, (80, 80, 80, 100, 30, 20), strict=False))
_MOUNTS: Final[Mapping[str, int]] = {"same payload": 120, "other payload": 60, "boundary": 60}

COURSES: Final[dict[str, tuple[Course, ...]]] = {
    "full": (
        *(Course("sqlite", racers, _EVERY) for racers in (2, 4, 8)),
        *(Course("claims", racers, _CLAIMS) for racers in (2, 4)),
        *(Course("sqlite", racers, _MOUNTS, mounts=True) for racers in (2, 4, 8)),
    ),
    "short": (
        Course("sqlite", 4, dict(zip(PLAYS, (12, 8, 8, 20, 4, 2, 1, 1), strict=True))),
        Course("claims", 4, {"same payload": 5, "boundary": 8}),
        Course("sqlite", 2, {"same payload": 12, "boundary": 8}, mounts=True),
    ),
}

#: Rounds of each control.
_CONTROL_ROUNDS: Final = 3


@define
class Field:
    """Where races take place: the folders, the groups of racers, and what was found."""

    place: Path
    held: ExitStack
    groups: dict[int, Racers] = field(factory=dict[int, Racers])
    sites: Iterator[int] = field(factory=count)
    rounds: int = 0
    first: Counter[str] = field(factory=Counter[str])

    def site(self, store: str) -> Site:
        """A new folder."""
        home = self.place / f"site-{next(self.sites)}"
        private_folder(home)
        made = Site(home / "surehand", home / "saves", store)
        self.held.callback(made.kept.close)
        return made

    def racers(self, number: int) -> Racers:
        """So many racers, started once."""
        if number not in self.groups:
            self.groups[number] = self.held.enter_context(Racers(number, self.place))
        return self.groups[number]

    def run(self, course: Course) -> list[str]:
        """Run a course; what was violated."""
        site = self.site(course.store)
        if not course.mounts:
            return self._run(course, self.racers(course.racers), site)
        with Racers(course.racers, self.place, site.folder) as racers:
            return self._run(course, racers, site)

    def _run(self, course: Course, racers: Racers, site: Site) -> list[str]:
        racers.open(site)
        said: list[str] = []
        for name, rounds in course.rounds.items():
            said += [f"{_named(course)}, {name}: {what}" for what in self.play(PLAYS[name], racers, site, rounds)]
        site.kept.check_health()
        return said

    def play(self, play: Play, racers: Racers, site: Site, rounds: int) -> Iterator[str]:
        """Run the rounds of one play; what was violated now, and later."""
        played = [play(racers, site, number) for number in range(rounds)]
        self.rounds += rounds
        self.first.update(each.first for each in played if each.first)
        time_left = time.monotonic() + PATIENCE
        while any(record.phase is not Phase.FINISHED for record in _moved_on(site)) and time.monotonic() < time_left:
            time.sleep(0.05)
        for number, each in enumerate(played):
            yield from (f"round {number}: {what}" for what in (*each.said, *each.later()))


def _moved_on(site: Site) -> Iterator[RunRecord]:
    """The unfinished runs that a living racer moves on: those of the plays without an owner are settled later."""
    dead = {f"boundary-{number}" for number in range(1000)}
    keys = {key_of(request_id) for request_id in dead}
    return (record for record in site.kept.unfinished() if record.request_key not in keys)


def _named(course: Course) -> str:
    return f"{course.store}, {course.racers} processes{', two mounts' if course.mounts else ''}"


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer; chance plays no part beside the processes' own."""
    del seed
    began = time.monotonic()
    if not can_mount():
        raise AssertionError("mount namespaces are needed: run this as root or where users may make namespaces")
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="surehand-races-", dir=MEMORY_DISK) as place, ExitStack() as held:
        course_field = Field(Path(place), held)
        for course in COURSES[profile]:
            violations += course_field.run(course)
            report(f"races: {course_field.rounds} rounds, {len(violations)} violations, after {_named(course)}")
        rounds, first = course_field.rounds, dict(course_field.first)
        controls = (_no_compare_and_set(course_field), _process_numbers(course_field))
    notes = (
        "rounds by processes: "
        + ", ".join(f"{_named(course)}: {sum(course.rounds.values())}" for course in COURSES[profile]),
        "who came first: " + ", ".join(f"{name} {times}" for name, times in sorted(first.items())),
    )
    return LayerResult("races", rounds, tuple(violations), controls, time.monotonic() - began, notes)


def _no_compare_and_set(course_field: Field) -> Control:
    site, racers = course_field.site("sqlite"), course_field.racers(4)
    racers.open(site, "no compare-and-set")
    caught = [what for what in course_field.play(boundary, racers, site, _CONTROL_ROUNDS) if "after a save" in what]
    evidence = f"{len(caught)} runs settled as not written after a save in {_CONTROL_ROUNDS} rounds"
    return Control("a sweep without compare-and-set", len(caught) >= _CONTROL_ROUNDS, evidence)


def _process_numbers(course_field: Field) -> Control:
    site, racers = course_field.site("sqlite"), course_field.racers(4)
    racers.open(site, "process numbers")
    rounds = [reused_number(racers, site, number, GLANCE) for number in range(2)]
    caught = [what for each in rounds for what in each.said if "for ever" in what]
    evidence = f"{len(caught)} of {2 * racers.number} calls were answered with a run that goes on for ever"
    return Control("an owner that lives as long as its process number", bool(caught), evidence)
