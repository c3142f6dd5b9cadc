"""Random histories of two services on one store: crashes, stalled owners that wake up late, a store that fails.

Laws:

- Under one request id the app is written to at most once, whatever happens and in whatever order.
- An answer that says "nothing was written" is right when it is given, unless a later attempt has begun.
- A final answer never changes.
"""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import define, evolve, field
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support.service import DONE, NOT_SURE, WORKFLOW, Bench, BrokenStore, FakeEngine, comes_true, held, wait_for
from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.request.keys import RequestId, request_key
from surehand.shell.service import Ticket
from surehand.shell.store.memory import MemoryStore

REQUESTS: Final = {request_key(RequestId(text)): text for text in ("entry-1", "entry-2")}
METHODS: Final = ("reserve", "record_refusal", "mark_started", "begin_delivery", "finish", "load", "attempts")
WHICH: Final = st.integers(0, 1)
REQUEST_IDS: Final = st.sampled_from(sorted(REQUESTS.values()))


class TwoServices(RuleBasedStateMachine):
    """Two services that share a folder; each may lose its lock and be followed by another."""

    def __init__(self) -> None:
        super().__init__()
        self.home = TemporaryDirectory()
        self.store = self.new_store()
        self.written: list[str] = []
        self.processes = [self.new_process(), self.new_process()]
        self.stalled: list[Process] = []
        self.told: dict[str, RunResult] = {}

    def new_store(self) -> BrokenStore:
        """The store that all share."""
        return BrokenStore()

    def new_process(self) -> "Process":
        """A service with an engine of its own, on the store and the app that all share."""
        return Process(Bench(Path(self.home.name), engine=FakeEngine(writes=self.written), store=self.store))

    @rule(which=WHICH, request_id=REQUEST_IDS)
    def ask_and_leave_waiting(self, which: int, request_id: str) -> None:
        """A call whose run stands before the boundary."""
        self.take(request_id, self.processes[which].ask(request_id))

    @rule(which=WHICH)
    def pass_the_boundary(self, which: int) -> None:
        """The first run of a process that waits goes on, saves, and stands still before its end is stored."""
        self.processes[which].pass_the_boundary()

    @rule(which=WHICH, evidence=st.sampled_from([DONE, NOT_SURE]))
    def let_go(self, which: int, evidence: Evidence) -> None:
        """Every run of a process goes on to its end."""
        for request_id, result in self.processes[which].let_go(evidence):
            self.take(request_id, result)

    @rule(which=WHICH, request_id=REQUEST_IDS, workflow=st.sampled_from([WORKFLOW, "no such workflow"]))
    def ask_in_vain(self, which: int, request_id: str, workflow: str) -> None:
        """A call that is refused, under an id that may be in use."""
        service = self.processes[which].bench.service
        self.take(request_id, service.run_workflow(workflow, {"note": ""}, request_id).result)

    @rule(which=WHICH)
    def stall(self, which: int) -> None:
        """A process loses its lock as if it had died, and another one follows it."""
        process = self.processes[which]
        for lock in process.bench.locks:
            lock.release()
        self.stalled.append(process)
        self.processes[which] = self.new_process()

    @precondition(lambda self: self.stalled)
    @rule()
    def wake_up(self) -> None:
        """A stalled process goes on as if nothing had happened."""
        process = self.stalled.pop()
        for request_id, result in process.let_go(DONE):
            self.take(request_id, result)
        process.bench.close()

    @rule(method=st.sampled_from(METHODS), late=st.booleans())
    def break_the_store(self, method: str, late: bool) -> None:
        """A method fails from now on, before or after its work."""
        (self.store.failing_after if late else self.store.failing).add(method)

    @rule()
    def mend_the_store(self) -> None:
        """Everything works again."""
        self.store.failing.clear()
        self.store.failing_after.clear()

    @invariant()
    def at_most_one_write(self) -> None:
        """No request was written twice."""
        assert all(count == 1 for count in self.writes().values())

    def take(self, request_id: str, result: RunResult) -> None:
        """Hold an answer to what is true now, and to what was answered before."""
        held(result)
        if result.record_changed is RecordChanged.NO and not self.is_followed(result):
            assert 0 == self.writes()[request_id]
        if result.attempt and is_final(result) and result.record_saved:
            first = self.told.setdefault(result.run_id, result)
            assert evolve(first, replayed=False) == evolve(result, replayed=False)

    def is_followed(self, result: RunResult) -> bool:
        """Whether a later attempt of the same request was started meanwhile; the answer is then about the past."""
        record = MemoryStore.load(self.store, result.run_id)
        if record is None or record.attempt == 0:
            return False
        return len(MemoryStore.attempts(self.store, record.request_key)) > record.attempt

    def writes(self) -> Counter[str]:
        """How often the app was written to, by request id."""
        records = [MemoryStore.load(self.store, run_id) for run_id in self.written]
        return Counter(REQUESTS[record.request_key] for record in records if record is not None)

    def teardown(self) -> None:
        """End everything."""
        self.mend_the_store()
        for process in (*self.processes, *self.stalled):
            process.bench.close()
        self.home.cleanup()


@define
class Process:
    """One process, and the runs that it started and that have not been let go."""

    bench: Bench
    waiting: list[tuple[str, Ticket]] = field(factory=list[tuple[str, Ticket]])

    def ask(self, request_id: str) -> RunResult:
        """One call; what it is told at once."""
        ticket = self.bench.call(request_id)
        if ticket.started_here:
            self.waiting.append((request_id, ticket))
        return ticket.result

    def pass_the_boundary(self) -> None:
        """Let the run at the front save, if the store lets it; it then stands behind the boundary."""
        if self.waiting:
            self.bench.engine.before.set()
            comes_true(lambda: self.bench.engine.crossed.is_set() or self.have_ended())

    def have_ended(self) -> bool:
        """Whether none of the runs that wait goes on any more."""
        stands = [self.bench.service.current(ticket.run_id) for _, ticket in self.waiting]
        return all(result is not None and is_final(result) for result in stands)

    def let_go(self, evidence: Evidence) -> list[tuple[str, RunResult]]:
        """Let every run go to its end; how each ended."""
        self.bench.engine.evidence = evidence
        self.bench.engine.release()
        ends = [(request_id, self.bench.end_of(ticket)) for request_id, ticket in self.waiting]
        self.waiting.clear()
        for event in (self.bench.engine.before, self.bench.engine.after, self.bench.engine.crossed):
            event.clear()
        return ends


class CarelessStore(BrokenStore):
    """A store whose boundary lets everybody pass."""

    def begin_delivery(self, run_id: str, owner: str) -> bool:  # noqa: ARG002 - that is what is careless
        """Let pass without a look at phase and owner."""
        return True


class OnACarelessStore(TwoServices):
    """The same histories on a store that does not keep the boundary."""

    def new_store(self) -> BrokenStore:
        """The careless store."""
        return CarelessStore()


def a_stalled_owner_wakes_up(machine: TwoServices) -> None:
    """One fixed history: a run stalls before the boundary, its request is entered again, then it wakes up."""
    try:
        machine.ask_and_leave_waiting(0, "entry-1")
        wait_for(machine.processes[0].bench.engine.entered)
        machine.stall(0)
        machine.ask_and_leave_waiting(1, "entry-1")
        machine.let_go(1, DONE)
        machine.wake_up()
        machine.at_most_one_write()
    finally:
        machine.teardown()
