"""A service whose effects are counted by a file that is none of ours: one line for each save that the app would see.

Laws of this module:

- The line is written after the delivery boundary let the run pass, and by nothing else. Nobody but the judge reads it.
- Store, locks, gate, executor, service and the simulated engine are the real ones.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from attrs import field, frozen

from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import EngineName, Mode, RunResult, is_final
from surehand.core.request.keys import RequestId, fingerprint, request_key
from surehand.core.workflow.card import default_card
from surehand.shell.api import Surehand
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Catalog, Crew, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Boundary, Job
from surehand.shell.engines.simulated import NO_APP, SimulatedEngine
from surehand.shell.executors import EngineUnavailableError, Executor, LocalExecutor
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import fingerprint_key
from surehand.shell.locks import OwnerLock
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.service import Service, UnknownRunError
from surehand.shell.store.base import RunStore, StoreUnavailableError
from surehand.shell.store.claims import ClaimStore

WORKFLOW: Final = "add_triage_note"
INPUTS: Final = {"note": "Seen today.", "sandbox_case": "normal"}

#: Seconds that an answer is waited for, also on a busy machine.
PATIENCE: Final = 60.0

OpensPremises = Callable[[Path], Premises]


@frozen
class _NotedBoundary:
    """Notes a run's save once the real boundary let it pass."""

    boundary: Boundary
    note: Callable[[str], None]
    run_id: str

    def cross(self) -> bool:
        """As the real one; then the app would see the save."""
        if not self.boundary.cross():
            return False
        self.note(self.run_id)
        return True

    def stop_requested(self) -> bool:
        """As the real one."""
        return self.boundary.stop_requested()


@frozen
class EffectEngine:
    """The simulated engine, whose saves are noted."""

    note: Callable[[str], None]
    engine: SimulatedEngine = field(factory=SimulatedEngine)

    @property
    def name(self) -> EngineName:
        """As the real one."""
        return self.engine.name

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """As the real one."""
        return self.engine.execute(job, _NotedBoundary(boundary, self.note, job.run_id))

    def close(self) -> None:
        """Nothing is held."""


@frozen
class _Crew:
    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - no app is opened
        """There is no app."""
        return NO_APP

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


def note_effect(oracle: Path, run_id: str) -> None:
    """Let the app see a save."""
    descriptor = os.open(oracle, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{run_id}\n".encode())
    finally:
        os.close(descriptor)


def effects(oracle: Path) -> tuple[str, ...]:
    """The run ids of the saves that the app saw."""
    return tuple(oracle.read_text().splitlines()) if oracle.exists() else ()


def opens_claims_premises(folder: Path) -> Premises:
    """Premises whose store keeps claim files, as where SQLite cannot be had."""
    return premises_of(folder, ClaimStore.open)


def premises_of(folder: Path, opens: Callable[[Path], RunStore]) -> Premises:
    """Premises with this store, and errors as the real assembly has them."""
    try:
        return Premises(folder, opens(folder), fingerprint_key(folder))
    except (OSError, UnsafeFileError):
        raise StoreUnavailableError("the state folder refuses") from None


def hand(
    folder: Path, oracle: Path, opens: OpensPremises = open_premises, note: Callable[[str], None] | None = None
) -> Surehand:
    """Surehand on a folder, with an engine whose saves are counted: in the file, or by whoever notes them instead."""
    return Surehand(service(folder, oracle, opens, note))


def service(
    folder: Path, oracle: Path, opens: OpensPremises = open_premises, note: Callable[[str], None] | None = None
) -> Service:
    """The service behind ``hand``."""
    bundle = sandbox_bundle()
    noted = partial(note_effect, oracle) if note is None else note

    def crew(premises: Premises) -> Crew:
        try:
            lock = OwnerLock.acquire(premises.folder)
        except (OSError, UnsafeFileError):
            raise EngineUnavailableError from None
        return _Crew(LocalExecutor(EffectEngine(noted), premises.store, lock, SYSTEM_CLOCK, Mode.SANDBOX))

    catalog = Catalog(Mode.SANDBOX, WorkflowEntry(bundle, default_card(bundle), CrewSource(crew)))
    return Service(catalog=catalog, open_premises=lambda: opens(folder))


def ask(surehand: Surehand, request_id: str, wait_seconds: float = PATIENCE) -> RunResult:
    """Ask for the one entry of these tests under a request id."""
    return surehand.run_workflow(WORKFLOW, INPUTS, request_id, wait_seconds)


def key_of(request_id: str) -> str:
    """The request key."""
    return request_key(RequestId.parse(request_id))


def fingerprint_of(folder: Path) -> str:
    """The fingerprint of the one entry of these tests in this folder."""
    return fingerprint(fingerprint_key(folder), WORKFLOW, INPUTS)


# The judge.


def untrue(result: RunResult, saves: tuple[str, ...]) -> str | None:
    """What an answer claims against the saves that the app saw under its request, if it claims anything wrong.

    Args:
        result: The answer.
        saves: The run ids of all saves of this request, as they stand when nobody can save any more.
    """
    if len(saves) > 1:
        return f"{len(saves)} saves under one request"
    if result.outcome is Outcome.DONE and not saves:
        return "done without a save"
    if result.record_changed is RecordChanged.NO and saves:
        return f"{result.reason.value} says that nothing was written after a save"
    return None


def changed(before: RunResult, after: RunResult) -> str | None:
    """Whether an answer that was given to the same run became another one.

    An answer that was given as not saved may fall back to doubt, and to nothing else.
    """
    if not is_final(before) or before.run_id != after.run_id:
        return None
    if before.outcome is after.outcome and before.reason is after.reason:
        return None
    if not before.record_saved and after.outcome is Outcome.NOT_SURE_IF_SAVED:
        return None
    return f"the answer {before.reason.value} became {after.reason.value}"


def unanswered(surehand: Surehand, store: RunStore) -> list[str]:
    """What is wrong with the runs that the store keeps: each has to have a final answer now that nobody runs."""
    wrong: list[str] = []
    for record in store.recent(1000):
        try:
            told = surehand.get_run(record.run_id, PATIENCE)
        except UnknownRunError:
            wrong.append("a kept run is unknown")
            continue
        if not is_final(told):
            wrong.append(f"a run in phase {record.phase.value} goes on for ever")
    return wrong
