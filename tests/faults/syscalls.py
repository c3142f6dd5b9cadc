"""Every durable system call of a request, made to fail in five ways, and the request asked again by another process.

Laws of this module:

- A scenario is what lies in the folder when the request comes. Its operations are counted by the shim, not guessed.
- A cell is one operation and one kind of fault: a process meets it, another one recovers, and the judge reads the file
  of saves that neither of them keeps.
- The answer that the first process gave, if it lived to give one, is judged too.
"""

import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from faults.result import Control, LayerResult
from faults.syscalls_driver import OPENS
from support.effects import (
    INPUTS,
    PATIENCE,
    WORKFLOW,
    OpensPremises,
    ask,
    changed,
    effects,
    fingerprint_of,
    hand,
    key_of,
    note_effect,
    unanswered,
    untrue,
)
from support.shim import KINDS, Forker, Operation, Told, build_shim, read_trace
from support.stores import BROKEN, DONE, MEMORY_DISK, draft, keep_in_first_schema, result_of, started
from surehand.core.outcome.evidence import Evidence, Phase
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.request.keys import fingerprint
from surehand.core.request.record import RunRecord
from surehand.core.wire import from_wire
from surehand.shell.identity import fingerprint_key, new_run_id, new_token
from surehand.shell.service import UnknownRunError
from surehand.shell.store import sqlite_schema
from surehand.shell.store.base import StoreError

REQUEST: Final = "entry-1"

#: Cells of the short profile, drawn by the seed; every scenario and every kind is among them.
SHORT_CELLS: Final = 150


@frozen
class Site:
    """Where one cell takes place.

    Args:
        folder: The state folder, below one that the shim watches.
        oracle: The file of saves, which the shim does not see.
        opens: Opens the premises.
    """

    folder: Path
    oracle: Path
    opens: OpensPremises


@frozen
class Scenario:
    """What lies in the folder when the request comes."""

    name: str
    store: str
    prepare: Callable[[Site], None]


def _nothing(site: Site) -> None:
    """The first request of an installation."""
    site.folder.parent.mkdir(exist_ok=True)


def _others(site: Site) -> None:
    """Other requests ran before."""
    _nothing(site)
    for number in range(3):
        _attempt(site, f"other-{number}", DONE)


def _finished(site: Site) -> None:
    """The request was done."""
    note_effect(site.oracle, _attempt(site, REQUEST, DONE).run_id)


def _failed(site: Site) -> None:
    """An attempt failed and proved that nothing was written."""
    _attempt(site, REQUEST, BROKEN)


def _left_reserved(site: Site) -> None:
    """The owner went before the boundary."""
    _attempt(site, REQUEST, None)


def _left_delivering(site: Site) -> None:
    """The owner went behind the boundary, after the save."""
    note_effect(site.oracle, _attempt(site, REQUEST, None, deliver=True).run_id)


def _first_version(site: Site) -> None:
    """A ledger of the first schema lies there, with a request that was done."""
    _nothing(site)
    key = fingerprint_key(site.folder)
    record = evolve(
        _draft(REQUEST, fingerprint(key, WORKFLOW, INPUTS)), attempt=1, phase=Phase.FINISHED, owner=new_token()
    )
    record = evolve(record, result=result_of(record, DONE))
    with closing(sqlite3.connect(site.folder / "ledger.db", isolation_level=None)) as link:
        for statement in sqlite_schema.MIGRATIONS[0]:
            link.execute(statement)
        link.execute(f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}")
        link.execute("PRAGMA user_version = 1")
        link.execute("PRAGMA journal_mode = WAL").fetchone()
        keep_in_first_schema(link, record)
    note_effect(site.oracle, record.run_id)


def _draft(request_id: str, print_of_entry: str) -> RunRecord:
    return evolve(
        draft(0, request_id, owner=new_token(), fingerprint=print_of_entry),
        run_id=new_run_id(),
        request_key=key_of(request_id),
        workflow=WORKFLOW,
    )


def _attempt(site: Site, request_id: str, end: Evidence | None, *, deliver: bool = False) -> RunRecord:
    """One attempt by an owner that is gone, brought to this end if any."""
    _nothing(site)
    premises = site.opens(site.folder)
    with closing(premises.store) as store:
        record = started(store.reserve(_draft(request_id, fingerprint_of(site.folder))))
        if deliver or end is DONE:
            store.begin_delivery(record.run_id, record.owner)
        if end is not None:
            store.finish(record.run_id, record.owner, result_of(record, end))
        return record


_PREPARED: Final = {
    "first request of all": _nothing,
    "new request": _others,
    "replay": _finished,
    "retry": _failed,
    "owner gone before the boundary": _left_reserved,
    "owner gone behind the boundary": _left_delivering,
}

SCENARIOS: Final = (
    *(Scenario(f"sqlite: {name}", "sqlite", prepare) for name, prepare in _PREPARED.items()),
    *(Scenario(f"claims: {name}", "claims", prepare) for name, prepare in _PREPARED.items()),
    Scenario("sqlite: ledger of the first schema", "sqlite", _first_version),
)

NAIVE: Final = Scenario("naive: new request", "naive", _others)


@frozen
class Cell:
    """One fault."""

    scenario: Scenario
    at: int
    kind: str
    operation: str

    def __str__(self) -> str:
        """What is needed to meet it again."""
        return f"{self.scenario.name}, operation {self.at} ({self.operation}), {self.kind}"


class Bench:
    """Runs cells in a folder of its own."""

    def __init__(self, folder: Path, forker: Forker) -> None:
        self._folder: Final = folder
        self._forker: Final = forker
        #: Kills that never came, because this run had fewer operations than the one that was counted.
        self.missed = 0

    def cells(self, scenario: Scenario) -> Iterator[Cell]:
        """Every cell of a scenario: it is run once without a fault, and its operations are read from the trace."""
        site = self._site(scenario)
        trace = self._folder / "trace"
        trace.unlink(missing_ok=True)
        told = self._request(scenario, site, trace=str(trace))
        assert told.status == 0, told
        for number, event in enumerate(read_trace(trace), start=1):
            for kind in KINDS:
                if kind != "torn" or event.operation is Operation.WRITE:
                    yield Cell(scenario, number, kind, f"{event.operation.name.lower()} {_short(event.path)}")

    def judge(self, cell: Cell) -> list[str]:
        """Run one cell; what is wrong with it."""
        return [f"{cell}: {said}" for said in self._wrong(cell)]

    def _wrong(self, cell: Cell) -> list[str]:
        site = self._site(cell.scenario)
        told = self._request(cell.scenario, site, at=cell.at, kind=cell.kind)
        if told.status not in {0, -9}:
            return ["the process never ended" if told.status is None else f"the process ended with {told.status}"]
        self.missed += told.status == 0 and cell.kind in {"before", "after", "torn"}
        given = [_result(answer) for answer in told.answers]
        then = effects(site.oracle)
        wrong = [said for answer in given if (said := untrue(answer, then)) is not None]
        wrong += ["the process that met the fault got no final answer" for answer in given if not is_final(answer)]
        try:
            return wrong + _recovered(site, given)
        except (StoreError, AssertionError) as error:
            return [*wrong, f"recovery failed: {type(error).__name__}: {error}"]

    def _site(self, scenario: Scenario) -> Site:
        place = self._folder / "cell"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        site = Site(place / "runs" / "surehand", place / "saves", OPENS[scenario.store])
        scenario.prepare(site)
        return site

    def _request(self, scenario: Scenario, site: Site, **fault: object) -> Told:
        return self._forker.order(
            "asks",
            site.folder,
            watched=str(site.folder.parent),
            oracle=str(site.oracle),
            store=scenario.store,
            request_id=REQUEST,
            **fault,
        )


def _recovered(site: Site, given: list[RunResult]) -> list[str]:
    """Ask again in this process, and say what is wrong with what is found."""
    wrong: list[str] = []
    with hand(site.folder, site.oracle, site.opens) as surehand:
        told = ask(surehand, REQUEST)
        again = ask(surehand, REQUEST)
        other = ask(surehand, "a-new-entry")
        try:
            kept = [surehand.get_run(answer.run_id, PATIENCE) for answer in given if answer.record_saved]
        except UnknownRunError:
            kept = []
            wrong.append("a run that was answered is unknown")
    with closing(site.opens(site.folder).store) as store, hand(site.folder, site.oracle, site.opens) as surehand:
        wrong += unanswered(surehand, store)
        store.check_health()
    saves = tuple(save for save in effects(site.oracle) if save != other.run_id)
    wrong += [said for answer in (told, again) if (said := untrue(answer, saves)) is not None]
    pairs = [(answer, later) for answer in given for later in (told, again, *kept)] + [(told, again)]
    wrong += [said for before, after in pairs if (said := changed(before, after)) is not None]
    if not is_final(told):
        wrong.append("no final answer")
    if other.outcome is not Outcome.DONE:
        wrong.append(f"a new entry is answered {other.reason.value}")
    return wrong


def _result(answer: object) -> RunResult:
    return from_wire(answer, RunResult).unwrap()


def _short(path: str) -> str:
    return path.rpartition("/")[2]


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="surehand-syscalls-", dir=MEMORY_DISK) as place:
        folder = Path(place)
        with Forker(build_shim(folder)) as forker:
            bench = Bench(folder, forker)
            every = [cell for scenario in SCENARIOS for cell in bench.cells(scenario)]
            chosen = every if profile == "full" else _drawn(every, seed)
            violations: list[str] = []
            for number, cell in enumerate(chosen, start=1):
                violations += bench.judge(cell)
                if number % 200 == 0:
                    report(f"syscalls: {number} of {len(chosen)} cells, {len(violations)} violations")
            control = _control(bench)
    scenarios = len({cell.scenario.name for cell in every})
    notes = (f"{len(every)} cells there are, in {scenarios} scenarios; {bench.missed} kills never came",)
    return LayerResult("syscalls", len(chosen), tuple(violations), (control,), time.monotonic() - began, notes)


def _drawn(every: list[Cell], seed: int) -> list[Cell]:
    """Some cells by the seed: one of each kind in each scenario first, then any."""
    chance = random.Random(seed)  # noqa: S311 - which cells are run
    shuffled = chance.sample(every, len(every))
    first = {(cell.scenario.name, cell.kind): cell for cell in shuffled}
    chosen = list(first.values())
    rest = [cell for cell in shuffled if cell not in chosen]
    return chosen + rest[: max(0, SHORT_CELLS - len(chosen))]


def _control(bench: Bench) -> Control:
    """A store that looks, acts and then records: a kill between the last two lets the request save twice."""
    cells = list(bench.cells(NAIVE))
    caught = [said for cell in cells for said in bench.judge(cell)]
    twice = sum("saves under one request" in said for said in caught)
    evidence = f"{twice} requests saved twice in {len(cells)} cells"
    return Control("a store that looks, acts and then records", bool(twice), evidence)
