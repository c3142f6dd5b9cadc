"""What every run store must do: drafts and results to try it with, a model to measure it by, races of processes."""

import multiprocessing
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final, Protocol

from attrs import evolve, frozen
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    EarlierAttempts,
    Evidence,
    ExecutionOutcome,
    NoPause,
    OwnerGone,
    Phase,
    ProcessFact,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.outcome.result import CallFacts, EngineName, Mode, RunResult, project
from surehand.core.request.gate import Decision, Replay, Start
from surehand.core.request.keys import RequestId, request_key
from surehand.core.request.record import RunRecord
from surehand.shell.store import sqlite_rows
from surehand.shell.store.base import RunStore
from surehand.shell.store.claims import ClaimStore
from surehand.shell.store.memory import MemoryStore
from surehand.shell.store.sqlite import SqliteStore

#: Where a folder costs no flush: what is said and not what survives is tried there.
MEMORY_DISK: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - the folder is made by mkdtemp

OWNERS: Final = ("a" * 32, "b" * 32)
FINGERPRINTS: Final = ("1" * 64, "2" * 64)
VERSIONS: Final = ("c" * 64, "d" * 64)


def run_id(number: int) -> str:
    """The run id of this number."""
    return f"run_{number:032x}"


def key(name: str) -> str:
    """The request key of a request id."""
    return request_key(RequestId(name))


def draft(number: int, name: str = "entry-1", *, owner: str = OWNERS[0], **changes: Any) -> RunRecord:  # noqa: ANN401 - fields of many types
    """A call that wants to reserve."""
    record = RunRecord(
        run_id=run_id(number),
        request_key=key(name),
        attempt=0,
        workflow="add_triage_note",
        fingerprint=FINGERPRINTS[0],
        owner=owner,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=1_700_000_000 + number,
        bundle=VERSIONS[0],
    )
    return evolve(record, **changes)


def _exited(transaction: TransactionOutcome, execution: ExecutionOutcome, delivery: Delivery) -> RunObserved:
    verified = transaction is TransactionOutcome.VERIFIED
    level = CheckLevel.SEPARATE_SESSION if verified else CheckLevel.UNCHECKED
    report = Report(transaction, execution, verified, delivery, level, CheckLevel.REOPENED)
    return RunObserved(ProcessFact.EXITED_CLEANLY, report, NoPause(), Approval.NOT_ASKED)


DONE: Final = _exited(TransactionOutcome.VERIFIED, ExecutionOutcome.VERIFIED, Delivery.SENT_ONCE)
HALTED: Final = _exited(TransactionOutcome.HALTED_BEFORE_EFFECT, ExecutionOutcome.HALTED, Delivery.NOT_SENT)
BROKEN: Final = _exited(TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED, Delivery.NOT_SENT)
TIMED_OUT: Final = RunObserved(ProcessFact.TIMED_OUT, ReportMissing(), NoPause(), Approval.NOT_ASKED)
ENDED_BY_PERSON: Final = evolve(HALTED, pause=RejectedPause())
GOING_ON: Final = RunObserved(ProcessFact.STILL_RUNNING, ReportMissing(), NoPause(), Approval.NOT_ASKED)
UNKNOWN_WORKFLOW: Final = CallRefused(Refusal.UNKNOWN_WORKFLOW, EarlierAttempts.NONE)

#: Ends of a run: one that saved, one that may have, and three that did not; ``BROKEN`` alone allows another attempt.
ENDS: Final = (DONE, TIMED_OUT, HALTED, BROKEN, ENDED_BY_PERSON)


def result_of(record: RunRecord, evidence: Evidence) -> RunResult:
    """The result that ends this run."""
    facts = CallFacts(run_id=record.run_id, mode=Mode.SANDBOX, engine=EngineName.BROWSER, attempt=record.attempt)
    return project(evidence, facts)


def refusal(number: int, name: str = "entry-1") -> RunRecord:
    """A call that reserved nothing."""
    record = draft(number, name, owner="", workflow=None, fingerprint="", bundle="", phase=Phase.FINISHED)
    return evolve(record, result=result_of(record, UNKNOWN_WORKFLOW))


def keep_in_first_schema(link: sqlite3.Connection, record: RunRecord) -> None:
    """Keep a record in a ledger of the first schema, which does not know versions of workflows."""
    row = sqlite_rows.row_of(record)
    link.execute(
        "INSERT INTO runs (run_id, request_key, attempt, workflow, fingerprint, owner, journaled, phase, created_at, "
        "result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row[:9], row[10]),
    )


def started(decision: Decision) -> RunRecord:
    """The record that a decision started."""
    assert isinstance(decision, Start)
    return decision.record


class OpensStores(Protocol):
    """How a kind of store is opened on a folder, again and again."""

    def __call__(self, folder: Path) -> RunStore:
        """Open the store of this folder."""
        ...


def opens_sqlite(folder: Path) -> RunStore:
    """Open the SQLite ledger of a folder."""
    return SqliteStore.open(folder)


def opens_claims(folder: Path) -> RunStore:
    """Open the claim files of a folder."""
    return ClaimStore.open(folder)


def opens_memory(folder: Path) -> RunStore:
    """A new store in memory; the folder plays no part."""
    del folder
    return MemoryStore()


class OneMemory:
    """Keeps one memory store, so that it can be opened again without forgetting."""

    def __init__(self, kind: type[MemoryStore] = MemoryStore) -> None:
        self._kind = kind
        self._stores: dict[Path, MemoryStore] = {}

    def __call__(self, folder: Path) -> RunStore:
        """The store of this folder."""
        return self._stores.setdefault(folder, self._kind())


# The law, as a machine: whatever is called in whatever order, the store answers as the one in memory does.

_requests = st.sampled_from(("entry-1", "entry-2", "entry-3"))
_owners = st.sampled_from(OWNERS)
_ends = st.sampled_from(ENDS)
_places = st.integers(min_value=0, max_value=11)


class StoreMachine(RuleBasedStateMachine):
    """Drives a store and the oracle alike; ``opens`` is set by the subclass."""

    opens: OpensStores

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="surehand-store-", dir=MEMORY_DISK))
        self.store = type(self).opens(self.folder)
        self.oracle = MemoryStore()
        self.runs: list[RunRecord] = []
        self.seen: list[RunRecord] = []
        self.calls = 0
        self.passages: dict[str, int] = {}
        self.ends: dict[str, RunResult] = {}

    def teardown(self) -> None:
        """Compare everything once more and leave nothing behind."""
        try:
            self.compare()
            self.store.check_health()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(name=_requests, fingerprint=st.sampled_from(FINGERPRINTS), owner=_owners, journaled=st.booleans())
    def reserve(self, name: str, fingerprint: str, owner: str, journaled: bool) -> None:
        """Ask for a reservation; mostly for the same payload."""
        self.calls += 1
        if self.calls % 5:
            fingerprint = FINGERPRINTS[0]
        record = draft(self.calls, name, owner=owner, fingerprint=fingerprint, journaled=journaled)
        expected = self.oracle.reserve(record)

        assert expected == self.store.reserve(record)

        if isinstance(expected, Start):
            self.runs.append(expected.record)
            self.seen.append(expected.record)

    @precondition(lambda self: self.runs)
    @rule(place=_places, stranger=st.booleans())
    def start(self, place: int, stranger: bool) -> None:
        """Mark a run as started, as its owner or as another."""
        record = self.pick(place)
        owner = self.other(record.owner) if stranger else record.owner

        assert self.oracle.mark_started(record.run_id, owner) == self.store.mark_started(record.run_id, owner)

        self.remember(record.run_id)

    @precondition(lambda self: self.runs)
    @rule(place=_places, stranger=st.booleans())
    def deliver(self, place: int, stranger: bool) -> None:
        """Pass the delivery boundary, as the owner or as another."""
        record = self.pick(place)
        owner = self.other(record.owner) if stranger else record.owner
        passed = self.store.begin_delivery(record.run_id, owner)
        self.passages[record.run_id] = self.passages.get(record.run_id, 0) + passed

        assert self.passages[record.run_id] <= 1
        assert self.oracle.begin_delivery(record.run_id, owner) == passed

        self.remember(record.run_id)

    @precondition(lambda self: self.runs)
    @rule(place=_places, end=_ends, stranger=st.integers(min_value=0, max_value=4))
    def finish(self, place: int, end: Evidence, stranger: int) -> None:
        """Finish a run, now and then by one who does not own it."""
        record = self.pick(place)
        owner = self.other(record.owner) if stranger == 0 else record.owner
        result = result_of(record, end)

        assert self.oracle.finish(record.run_id, owner, result) == self.store.finish(record.run_id, owner, result)

    @precondition(lambda self: self.seen)
    @rule(place=_places)
    def settle(self, place: int) -> None:
        """Settle a run by a record of it that may be out of date."""
        record = self.seen[-1 - place % len(self.seen)]
        result = result_of(record, OwnerGone(record.phase, record.journaled))

        assert self.oracle.settle_owner_gone(record, result) == self.store.settle_owner_gone(record, result)

    @rule(name=_requests)
    def refuse(self, name: str) -> None:
        """Keep a refusal."""
        self.calls += 1
        record = refusal(self.calls, name)
        self.oracle.record_refusal(record)
        self.store.record_refusal(record)

    @rule(limit=st.integers(min_value=0, max_value=5))
    def page(self, limit: int) -> None:
        """Walk through the list of runs, page by page."""
        before: str | None = None
        for _ in range(4):
            expected = self.oracle.recent(limit, before)

            assert expected == self.store.recent(limit, before)

            before = expected[-1].run_id if expected else run_id(0)

    @rule()
    def reopen(self) -> None:
        """Close the store and open it again."""
        self.store.close()
        self.store = type(self).opens(self.folder)

    @rule()
    def compare(self) -> None:
        """Look at everything that can be read, and hold the laws against it."""
        assert list(self.oracle.unfinished()) == list(self.store.unfinished())
        assert self.store.load(run_id(0)) is None
        for name in ("entry-1", "entry-2", "entry-3", "entry-never"):
            attempts = self.store.attempts(key(name))

            assert self.oracle.attempts(key(name)) == attempts
            assert sum(map(may_have_written, attempts)) <= 1
        for record in self.runs:
            now = self.store.load(record.run_id)

            assert self.oracle.load(record.run_id) == now
            assert now is not None
            if now.result is not None:
                assert self.ends.setdefault(record.run_id, now.result) == now.result

    def pick(self, place: int) -> RunRecord:
        """One of the latest runs."""
        return self.runs[-1 - place % len(self.runs)]

    def other(self, owner: str) -> str:
        """The owner who is not this one."""
        return OWNERS[1 - OWNERS.index(owner)]

    def remember(self, number: str) -> None:
        """Keep a record as it stands now, for a later settlement that comes too late."""
        record = self.oracle.load(number)
        if record is not None and record.phase is not Phase.FINISHED:
            self.seen.append(record)


def may_have_written(record: RunRecord) -> bool:
    """Whether a record leaves it open that its run saved something."""
    if record.phase is not Phase.FINISHED:
        return record.phase is Phase.DELIVERING
    return record.result is None or record.result.record_changed is not RecordChanged.NO


def machine(opens: OpensStores) -> type[StoreMachine]:
    """The machine that drives this kind of store."""
    return type("Machine", (StoreMachine,), {"opens": staticmethod(opens)})


# Races between real processes.


@frozen
class Move:
    """What one process tried in one round, and what it was told."""

    round: int
    racer: int
    answer: str
    run_id: str


Racer = Callable[[RunStore, int, int], tuple[str, str]]


@frozen
class Race:
    """What the processes run against each other, and for how many rounds."""

    opens: OpensStores
    folder: Path
    racer: Racer
    rounds: int


def reserves_same_request(store: RunStore, number: int, racer: int) -> tuple[str, str]:
    """Every racer of a round asks for the same request, with a run id of its own."""
    decision = store.reserve(draft(1000 * number + racer, f"entry-{number}"))
    return type(decision).__name__, decision.record.run_id


def reserves_other_payload(store: RunStore, number: int, racer: int) -> tuple[str, str]:
    """Every racer of a round asks for the same request id with inputs of its own."""
    asked = draft(1000 * number + racer, f"entry-{number}", fingerprint=f"{racer}" * 64)
    decision = store.reserve(asked)
    return type(decision).__name__, decision.record.run_id


def delivers_or_settles(store: RunStore, number: int, racer: int) -> tuple[str, str]:
    """The first racer passes the boundary, every other one settles the run that it believes to be without an owner."""
    record = evolve(draft(number, f"entry-{number}"), attempt=1)
    if racer == 0:
        return f"delivered {store.begin_delivery(record.run_id, record.owner)}", record.run_id
    gone = result_of(record, OwnerGone(record.phase, record.journaled))
    return f"settled {store.settle_owner_gone(record, gone)}", record.run_id


def race(course: Race, processes: int) -> list[list[Move]]:
    """Let processes run against each other, all at once in every round; returns what they were told, by round."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    told: SimpleQueue[list[Move]] = context.SimpleQueue()
    runners = [
        context.Process(target=_run, args=(course, barrier, told, number), daemon=True) for number in range(processes)
    ]
    for runner in runners:
        runner.start()
    moves = [move for _ in runners for move in told.get()]
    for runner in runners:
        runner.join(timeout=60)
    return [[move for move in moves if move.round == number] for number in range(course.rounds)]


def _run(course: Race, barrier: Barrier, told: "SimpleQueue[list[Move]]", number: int) -> None:
    moves: list[Move] = []
    try:
        store = course.opens(course.folder)
        for current in range(course.rounds):
            barrier.wait(timeout=60)
            moves.append(Move(current, number, *course.racer(store, current, number)))
        store.close()
    finally:
        if len(moves) < course.rounds:
            barrier.abort()
        told.put(moves)


# Stores that are wrong, which the suite has to catch.


class StoreWithoutCompareAndSet(MemoryStore):
    """Passes the boundary as often as it is asked to."""

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """Look at nobody's phase."""
        super().begin_delivery(run_id, owner)
        return self.load(run_id) is not None


class StoreThatForgetsOwners(MemoryStore):
    """Lets anybody finish a run."""

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Look at nobody's name."""
        record = self.load(run_id)
        return record is not None and super().finish(run_id, record.owner, result) and owner != ""


class StoreThatSettlesWhatMoved(MemoryStore):
    """Settles a run although it moved on after the record was read."""

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Look at no phase."""
        return self.finish(record.run_id, record.owner, result)


def _reserved(driven: StoreMachine) -> None:
    driven.reserve(name="entry-1", fingerprint=FINGERPRINTS[0], owner=OWNERS[0], journaled=True)


def _delivers_twice(driven: StoreMachine) -> None:
    _reserved(driven)
    driven.deliver(place=0, stranger=False)
    driven.deliver(place=0, stranger=False)


def _finishes_as_a_stranger(driven: StoreMachine) -> None:
    _reserved(driven)
    driven.finish(place=0, end=DONE, stranger=0)


def _settles_an_old_sight(driven: StoreMachine) -> None:
    _reserved(driven)
    driven.start(place=0, stranger=False)
    driven.settle(place=1)


#: Every store that is wrong, and the shortest way to see it.
WRONG: Mapping[type[MemoryStore], Callable[[StoreMachine], None]] = {
    StoreWithoutCompareAndSet: _delivers_twice,
    StoreThatForgetsOwners: _finishes_as_a_stranger,
    StoreThatSettlesWhatMoved: _settles_an_old_sight,
}


class NaiveStore(ClaimStore):
    """Looks and then acts, as a store does that holds no transaction and makes no exclusive claim."""

    def reserve(self, draft: RunRecord) -> Decision:
        """Look for earlier attempts; then write, wherever the others are by now."""
        path = self._folder / f"{draft.request_key}.naive"
        earlier = path.read_text() if path.exists() else ""
        _meet(path)
        if earlier:
            return Replay(evolve(draft, run_id=earlier))
        path.write_text(draft.run_id)
        return Start(evolve(draft, attempt=1))


def opens_naive(folder: Path) -> RunStore:
    """Open a store that looks and then acts."""
    return NaiveStore.open(folder)


def _meet(path: Path) -> None:
    """Wait until another process looked as well, so that the control does not depend on luck."""
    path.with_suffix(f".looked-{os.getpid()}").touch()
    end = time.monotonic() + 60
    while len(list(path.parent.glob(f"{path.stem}.looked-*"))) < 2 and time.monotonic() < end:
        time.sleep(0.001)
