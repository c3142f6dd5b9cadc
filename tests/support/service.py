"""A service on fakes that implement the real interfaces, so that each fact can be set on its own.

Laws of this module:

- A fake records what it was asked and answers as it was told; it judges nothing.
- Whatever a test waits for has a deadline.
"""

import importlib
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from surehand.core.outcome.evidence import (
    Approval,
    CheckLevel,
    Delivery,
    Evidence,
    ExecutionOutcome,
    NoPause,
    Phase,
    ProcessFact,
    Report,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.result import EngineName, FailedCheck, Mode, RunResult, is_final, result_schema
from surehand.core.request.gate import Decision, Start
from surehand.core.request.keys import RequestId, fingerprint, request_key
from surehand.core.request.record import RunRecord
from surehand.core.wire import to_wire
from surehand.core.workflow.card import default_card
from surehand.shell.catalog import Catalog, Crew, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Boundary, Job
from surehand.shell.executors import EngineUnavailableError, Executor, LocalExecutor
from surehand.shell.identity import new_run_id
from surehand.shell.locks import OwnerLock
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.service import Service, Ticket
from surehand.shell.store.base import RunStore, StoreUnavailableError
from surehand.shell.store.memory import MemoryStore

#: It has no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

_VALIDATOR: Final[Any] = jsonschema.Draft202012Validator(result_schema())

#: Seconds after which a wait in a test has failed, also on a busy machine.
DEADLINE: Final = 60.0

KEY: Final = bytes(range(32))
WORKFLOW: Final = "add_triage_note"
INPUTS: Final = {"note": "Seen today.", "sandbox_case": "normal"}


def ended(transaction: TransactionOutcome, execution: ExecutionOutcome, delivery: Delivery) -> Evidence:
    """The evidence of a run that came to its end with a consistent report."""
    verified = transaction is TransactionOutcome.VERIFIED
    level = CheckLevel.SYSTEM_OF_RECORD if verified else CheckLevel.UNCHECKED
    report = Report(transaction, execution, verified, delivery, level, CheckLevel.SAME_PAGE)
    return RunObserved(ProcessFact.EXITED_CLEANLY, report, NoPause(), Approval.NOT_ASKED)


DONE: Final = ended(TransactionOutcome.VERIFIED, ExecutionOutcome.VERIFIED, Delivery.SENT_ONCE)
NOT_SURE: Final = ended(TransactionOutcome.RECONCILIATION_REQUIRED, ExecutionOutcome.HALTED, Delivery.UNKNOWN)
CANCELED: Final = ended(TransactionOutcome.CANCELED, ExecutionOutcome.HALTED, Delivery.NOT_SENT)
PLATFORM: Final = ended(TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED, Delivery.NOT_SENT)


@define
class FakeEngine:
    """Writes once the boundary lets it, and says what it was told to say.

    ``before`` and ``after`` hold a run on either side of the boundary until they are set.
    """

    evidence: Evidence = DONE
    name: EngineName = EngineName.BROWSER
    jobs: list[Job] = field(factory=list[Job])
    boundaries: list[Boundary] = field(factory=list[Boundary])
    writes: list[str] = field(factory=list[str])
    entered: threading.Event = field(factory=threading.Event)
    crossed: threading.Event = field(factory=threading.Event)
    before: threading.Event = field(factory=threading.Event)
    after: threading.Event = field(factory=threading.Event)
    error: Exception | None = None

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one job."""
        self.jobs.append(job)
        self.boundaries.append(boundary)
        self.entered.set()
        wait_for(self.before)
        if self.error is not None:
            raise self.error
        if boundary.stop_requested() or not boundary.cross():
            return CANCELED
        self.writes.append(job.run_id)
        self.crossed.set()
        wait_for(self.after)
        return self.evidence

    def close(self) -> None:
        """Nothing is held."""

    def release(self) -> None:
        """Let every run go its way."""
        self.before.set()
        self.after.set()


def wait_for(event: threading.Event) -> None:
    """Wait until the event is set; never for ever."""
    if not event.wait(DEADLINE):
        raise AssertionError("waited in vain")


class BrokenStore(MemoryStore):
    """A memory store of which single methods fail as told, before or after they did their work.

    ``failed`` says that one of them failed before its work.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failing: Final[set[str]] = set()
        self.failing_after: Final[set[str]] = set()
        self.failed: Final = threading.Event()

    @contextmanager
    def _trouble(self, name: str) -> Generator[None]:
        if name in self.failing:
            self.failed.set()
            raise StoreUnavailableError("told to fail")
        yield
        if name in self.failing_after:
            raise StoreUnavailableError("told to fail after the work was done")

    def reserve(self, draft: RunRecord) -> Decision:
        """As the memory store, unless told to fail."""
        with self._trouble("reserve"):
            return super().reserve(draft)

    def record_refusal(self, record: RunRecord) -> None:
        """As the memory store, unless told to fail."""
        with self._trouble("record_refusal"):
            super().record_refusal(record)

    def mark_started(self, run_id: str, owner: str) -> bool:
        """As the memory store, unless told to fail."""
        with self._trouble("mark_started"):
            return super().mark_started(run_id, owner)

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """As the memory store, unless told to fail."""
        with self._trouble("begin_delivery"):
            return super().begin_delivery(run_id, owner)

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """As the memory store, unless told to fail."""
        with self._trouble("finish"):
            return super().finish(run_id, owner, result)

    def load(self, run_id: str) -> RunRecord | None:
        """As the memory store, unless told to fail."""
        with self._trouble("load"):
            return super().load(run_id)

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """As the memory store, unless told to fail."""
        with self._trouble("attempts"):
            return super().attempts(request_key)


def comes_true(question: Callable[[], bool]) -> bool:
    """Whether the answer becomes yes before the deadline; for what happens in a thread that tells nobody."""
    end = time.monotonic() + DEADLINE
    while not question() and time.monotonic() < end:
        time.sleep(0.01)
    return question()


@define
class FakeExecutor:
    """An executor that executes nothing: the test says what comes of each run."""

    owner_token: str
    engine_name: EngineName = EngineName.BROWSER
    journaled: bool = True
    refuses: bool = False
    ends: dict[str, Future[RunResult]] = field(factory=dict[str, Future[RunResult]])

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:
        """Take the run, or refuse it."""
        assert job.run_id == record.run_id
        if self.refuses:
            raise EngineUnavailableError(FailedCheck.BROWSER_NOT_STARTING)
        return self.ends.setdefault(record.run_id, Future())

    def cancel(self, run_id: str) -> None:
        """Nothing is executed that could be stopped."""

    def close(self) -> None:
        """Nothing is held."""


@frozen
class FakeCrew:
    """An executor, and no app."""

    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:
        """Where nothing is."""
        return AppTarget(origin="http://127.0.0.1:1", record_origin="http://127.0.0.1:1", record_headers=inputs)

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


@define
class Bench:
    """A service, and everything that it stands on."""

    folder: Path
    engine: FakeEngine = field(factory=FakeEngine)
    store: RunStore = field(factory=BrokenStore)
    missing: tuple[FailedCheck, ...] = ()
    closed: bool = False
    runs_enabled: bool = True
    digest: str = "e" * 64
    failing: tuple[FailedCheck, ...] = ()
    executor: Executor | None = None
    locks: list[OwnerLock] = field(factory=list[OwnerLock])
    service: Service = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Put the service together."""
        self.service = self.make_service()

    @property
    def broken(self) -> BrokenStore:
        """The store, to be told what fails."""
        assert isinstance(self.store, BrokenStore)
        return self.store

    def make_service(self) -> Service:
        """A service on the same store and engine: what another process would have."""
        bundle = sandbox_bundle()
        entry = WorkflowEntry(
            bundle, default_card(bundle), CrewSource(self._start), digest=self.digest, gate=self._gate
        )
        return Service(catalog=Catalog(Mode.SANDBOX, entry, runs_enabled=self.runs_enabled), open_premises=self._open)

    def call(self, request_id: str = "entry-1", **changed: object) -> Ticket:
        """One call of the workflow, its inputs changed as told."""
        return self.service.run_workflow(WORKFLOW, {**INPUTS, **changed}, request_id)

    def finished(self, request_id: str = "entry-1", **changed: object) -> RunResult:
        """The final result of one call, with the engine let go."""
        self.engine.release()
        return self.end_of(self.call(request_id, **changed))

    def end_of(self, ticket: Ticket) -> RunResult:
        """The final result of a call."""
        return held(ticket.result if is_final(ticket.result) else self.service.watch(ticket.run_id).result(DEADLINE))

    def attempts(self, request_id: str = "entry-1") -> tuple[RunRecord, ...]:
        """What the store holds under a request id."""
        return self.store.attempts(request_key(RequestId.parse(request_id)))

    def left_behind(
        self, phase: Phase, owner: str, *, journaled: bool = True, request_id: str = "entry-1"
    ) -> RunRecord:
        """A record of the same request that some owner brought as far as the phase."""
        draft = RunRecord(
            run_id=new_run_id(),
            request_key=request_key(RequestId.parse(request_id)),
            attempt=0,
            workflow=WORKFLOW,
            fingerprint=fingerprint(KEY, WORKFLOW, INPUTS),
            owner=owner,
            journaled=journaled,
            phase=Phase.RESERVED,
            created_at=1_800_000_000,
        )
        decision = self.store.reserve(draft)
        assert isinstance(decision, Start)
        if phase is not Phase.RESERVED:
            assert self.store.mark_started(draft.run_id, owner)
        if phase is Phase.DELIVERING:
            assert self.store.begin_delivery(draft.run_id, owner)
        return decision.record

    def close(self) -> None:
        """Let every run go its way and close."""
        self.engine.release()
        self.service.close()

    def _open(self) -> Premises:
        if self.closed:
            raise StoreUnavailableError("told to fail")
        return Premises(self.folder, self.store, KEY)

    def _gate(self, _origin: str | None) -> tuple[FailedCheck, ...]:
        return self.failing

    def _start(self, premises: Premises) -> Crew:
        if self.missing:
            raise EngineUnavailableError(*self.missing)
        if self.executor is not None:
            return FakeCrew(self.executor)
        lock = OwnerLock.acquire(premises.folder)
        self.locks.append(lock)
        return FakeCrew(LocalExecutor(self.engine, premises.store, lock, SYSTEM_CLOCK, Mode.SANDBOX))


def held(result: RunResult) -> RunResult:
    """The same result, after it was held to the one output schema."""
    _VALIDATOR.validate(to_wire(result))
    return result
