"""Named points at every durable boundary of a request: the real parts, each wrapped by one that says where it is.

Laws of this module:

- A wrapper does what the real part does, and says a name before it and another one after it. It knows nothing else.
- The names reach whoever was handed in. Nothing is global, and nothing of the product knows of them.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from support.effects import note_effect
from surehand.core.outcome.evidence import Evidence, OwnerGone, Phase
from surehand.core.outcome.result import CallFacts, EngineName, Mode, RunResult, project
from surehand.core.request.gate import Decision
from surehand.core.request.record import RunRecord
from surehand.core.workflow.card import default_card
from surehand.shell.api import Surehand
from surehand.shell.catalog import Catalog, Crew, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import Clock
from surehand.shell.engines.base import AppTarget, Boundary, Job
from surehand.shell.engines.simulated import NO_APP, SimulatedEngine
from surehand.shell.executors import Executor, LocalExecutor
from surehand.shell.locks import OwnerLock
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.service import Service
from surehand.shell.store.base import RunStore

#: Is told each point as it is passed.
Passes = Callable[[str], None]


@frozen
class PointedStore:
    """A run store that says when each of its methods begins and when it has done its work."""

    store: RunStore
    passes: Passes

    def reserve(self, draft: RunRecord) -> Decision:
        """As the real one."""
        self.passes("store.reserve.before")
        decision = self.store.reserve(draft)
        self.passes("store.reserve.after")
        return decision

    def record_refusal(self, record: RunRecord) -> None:
        """As the real one."""
        self.passes("store.record_refusal.before")
        self.store.record_refusal(record)
        self.passes("store.record_refusal.after")

    def mark_started(self, run_id: str, owner: str) -> bool:
        """As the real one."""
        self.passes("store.mark_started.before")
        answer = self.store.mark_started(run_id, owner)
        self.passes("store.mark_started.after")
        return answer

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """As the real one."""
        self.passes("store.begin_delivery.before")
        answer = self.store.begin_delivery(run_id, owner)
        self.passes("store.begin_delivery.after")
        return answer

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """As the real one."""
        self.passes("store.finish.before")
        answer = self.store.finish(run_id, owner, result)
        self.passes("store.finish.after")
        return answer

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """As the real one."""
        self.passes("store.settle.before")
        answer = self.store.settle_owner_gone(record, result)
        self.passes("store.settle.after")
        return answer

    def note_late(self, run_id: str, owner: str, result: RunResult) -> bool:
        """As the real one."""
        self.passes("store.note_late.before")
        answer = self.store.note_late(run_id, owner, result)
        self.passes("store.note_late.after")
        return answer

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """As the real one."""
        self.passes("store.attempts.before")
        answer = self.store.attempts(request_key)
        self.passes("store.attempts.after")
        return answer

    def load(self, run_id: str) -> RunRecord | None:
        """As the real one."""
        self.passes("store.load.before")
        answer = self.store.load(run_id)
        self.passes("store.load.after")
        return answer

    def unfinished(self) -> Iterator[RunRecord]:
        """As the real one."""
        self.passes("store.unfinished.before")
        answer = self.store.unfinished()
        self.passes("store.unfinished.after")
        return answer

    def late_report(self, run_id: str) -> RunResult | None:
        """As the real one."""
        return self.store.late_report(run_id)

    def old_refusals(self, before: int) -> int:
        """As the real one."""
        return self.store.old_refusals(before)

    def forget_refusals(self, before: int) -> int:
        """As the real one."""
        return self.store.forget_refusals(before)

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """As the real one."""
        return self.store.recent(limit, before)

    def check_health(self) -> None:
        """As the real one."""
        self.store.check_health()

    def close(self) -> None:
        """As the real one."""
        self.store.close()


@frozen
class PointedBoundary:
    """A boundary behind which the app sees the save."""

    boundary: Boundary
    passes: Passes
    oracle: Path
    run_id: str

    def cross(self) -> bool:
        """As the real one; then the app would see the save."""
        self.passes("boundary.cross.before")
        crossed = self.boundary.cross()
        self.passes("boundary.cross.after")
        if crossed:
            note_effect(self.oracle, self.run_id)
            self.passes("effect.after")
        return crossed

    def stop_requested(self) -> bool:
        """As the real one."""
        return self.boundary.stop_requested()


@frozen
class CarelessBoundary(PointedBoundary):
    """Wrong on purpose: lets the app see the save, and then asks."""

    def cross(self) -> bool:
        """Save first."""
        note_effect(self.oracle, self.run_id)
        self.passes("boundary.cross.before")
        crossed = self.boundary.cross()
        self.passes("boundary.cross.after")
        return crossed


@frozen
class DeafBoundary(PointedBoundary):
    """Wrong on purpose: asks, and saves whatever the answer is."""

    def cross(self) -> bool:
        """Save in any case."""
        self.passes("boundary.cross.before")
        self.boundary.cross()
        self.passes("boundary.cross.after")
        note_effect(self.oracle, self.run_id)
        self.passes("effect.after")
        return True


BOUNDARIES: Final[dict[str, type[PointedBoundary]]] = {
    "kept": PointedBoundary,
    "careless": CarelessBoundary,
    "deaf": DeafBoundary,
}


@frozen
class PointedEngine:
    """The simulated engine; the run's boundary is one with points."""

    passes: Passes
    oracle: Path
    boundary: type[PointedBoundary]
    engine: SimulatedEngine = field(factory=SimulatedEngine)

    @property
    def name(self) -> EngineName:
        """As the real one."""
        return self.engine.name

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """As the real one."""
        self.passes("engine.execute.before")
        evidence = self.engine.execute(job, self.boundary(boundary, self.passes, self.oracle, job.run_id))
        self.passes("engine.execute.after")
        return evidence

    def close(self) -> None:
        """As the real one."""
        self.passes("engine.close.before")


@frozen
class PointedExecutor:
    """An executor that says when a run is handed over."""

    executor: Executor
    passes: Passes

    @property
    def engine_name(self) -> EngineName:
        """As the real one."""
        return self.executor.engine_name

    @property
    def owner_token(self) -> str:
        """As the real one."""
        return self.executor.owner_token

    @property
    def journaled(self) -> bool:
        """As the real one."""
        return self.executor.journaled

    def submit(self, record: RunRecord, job: Job) -> Future[RunResult]:
        """As the real one."""
        self.passes("executor.submit.before")
        answer = self.executor.submit(record, job)
        self.passes("executor.submit.after")
        return answer

    def cancel(self, run_id: str) -> None:
        """As the real one."""
        self.executor.cancel(run_id)

    def close(self) -> None:
        """As the real one."""
        self.executor.close()


@frozen
class _Crew:
    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - no app is opened
        """There is no app."""
        return NO_APP

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


@frozen
class Setting:
    """What a service stands on.

    Args:
        premises: Opens the state folder.
        oracle: The file of saves.
        passes: Is told each point.
        clock: The clock of service and executor.
        boundary: Which boundary the engine gets.
    """

    premises: Callable[[], Premises]
    oracle: Path
    passes: Passes
    clock: Clock
    boundary: type[PointedBoundary] = PointedBoundary
    service: type[Service] = Service


def pointed_hand(setting: Setting) -> Surehand:
    """Surehand with points at every boundary."""
    return Surehand(pointed_service(setting))


def pointed_service(setting: Setting) -> Service:
    """A service with points at every boundary."""
    bundle = sandbox_bundle()
    passes = setting.passes

    def premises() -> Premises:
        passes("premises.open.before")
        opened = setting.premises()
        passes("premises.open.after")
        return evolve(opened, store=PointedStore(opened.store, passes))

    def crew(opened: Premises) -> Crew:
        passes("crew.start.before")
        lock = OwnerLock.acquire(opened.folder)
        engine = PointedEngine(passes, setting.oracle, setting.boundary)
        executor = LocalExecutor(engine, opened.store, lock, setting.clock, Mode.SANDBOX)
        passes("crew.start.after")
        return _Crew(PointedExecutor(executor, passes))

    catalog = Catalog(Mode.SANDBOX, WorkflowEntry(bundle, default_card(bundle), CrewSource(crew)))
    return setting.service(catalog=catalog, open_premises=premises, clock=setting.clock)


def settle_in_its_absence(store: RunStore) -> None:
    """End the one run that stands behind the boundary, as another process does that believes its owner to be gone."""
    for record in store.unfinished():
        if record.phase is Phase.DELIVERING:
            facts = CallFacts(run_id=record.run_id, mode=Mode.SANDBOX, engine=EngineName.NONE, attempt=record.attempt)
            store.settle_owner_gone(record, project(OwnerGone(record.phase, record.journaled), facts))
