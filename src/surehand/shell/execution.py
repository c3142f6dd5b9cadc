"""One run, from ``started`` to a stored result; and the end of a run whose owner is gone.

Laws of this module:

- An engine may write only after the store has answered that the boundary is passed and on disk.
  A store that fails to answer forbids the write.
- What the engine found is told even when it cannot be stored; the answer then says that it was not saved.
- When somebody else settled the run first, the stored answer is the answer. What the owner found is kept beside it, for
  a person, and never becomes one.
- ``settle_gone`` is the one place where a run is ended in the name of an owner that is gone.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from attrs import evolve, field, frozen

from surehand.core.outcome.evidence import CallRefused, EarlierAttempts, Evidence, Phase
from surehand.core.outcome.result import CallFacts, EngineName, FailedCheck, Mode, RunResult, project
from surehand.core.request.answers import NO_REPORT, NOT_LAUNCHED, kept_answer
from surehand.core.request.record import RunRecord, instant, owner_gone
from surehand.shell.clock import Clock
from surehand.shell.engines.base import Engine, Job, RunRefusedError
from surehand.shell.store.base import RunStore, StoreError


@frozen
class StoreBoundary:
    """The delivery boundary of one run, kept by its store."""

    store: RunStore
    record: RunRecord
    stop: threading.Event = field(factory=threading.Event)

    def cross(self) -> bool:
        """Pass the boundary; a store that cannot answer forbids the write.

        A commit that reports an error may be on disk all the same.
        That is harmless: the engine does not write; if its process dies, the run counts as one that may have written.
        """
        try:
            return self.store.begin_delivery(self.record.run_id, self.record.owner)
        except StoreError:
            return False

    def stop_requested(self) -> bool:
        """Whether the caller wants the run to stop."""
        return self.stop.is_set()


def told(evidence: Evidence, record: RunRecord, engine: EngineName, mode: Mode, clock: Clock) -> RunResult:
    """The result of one attempt, dated now if the record was checked."""
    return project(evidence, facts_of(record, engine, mode, checked_at=instant(clock.now())))


def facts_of(record: RunRecord, engine: EngineName, mode: Mode, checked_at: str | None = None) -> CallFacts:
    """Identity and place of one attempt, and the time of its check."""
    return CallFacts(run_id=record.run_id, mode=mode, engine=engine, attempt=record.attempt, checked_at=checked_at)


def execute_run(  # noqa: PLR0913, PLR0917 - the parts of one run, each of them given by another
    store: RunStore,
    engine: Engine,
    record: RunRecord,
    job: Job,
    clock: Clock,
    mode: Mode,
    stop: threading.Event | None = None,
    keep_stop: Callable[[RunRecord, Job, Evidence], None] = lambda _record, _job, _evidence: None,
) -> RunResult:
    """Execute a reserved run to its end and store what came of it.

    Args:
        store: Where the run is kept.
        engine: What executes it.
        record: The reserved record; the caller is its owner.
        job: What is to be entered; it lives in memory only.
        clock: Says when the record was checked.
        mode: How the server was started.
        stop: Set by a caller that wants the run to stop; it is heard before the boundary only.
        keep_stop: Keeps how a run stopped that waits for a person, before it is finished.

    Returns:
        The stored result, or the one that could not be stored with ``record_saved`` false.
    """
    boundary = StoreBoundary(store, record, stop or threading.Event())
    checks: tuple[FailedCheck, ...] = ()
    try:
        evidence = _execute(engine, job, boundary)
    except RunRefusedError as refused:
        evidence, checks = CallRefused(refused.refusal, EarlierAttempts.NONE), refused.checks
    result = told(evidence, record, engine.name, mode, clock)
    keep_stop(record, job, evidence)
    return _finish(store, record, evolve(result, failed_checks=checks))


def _execute(engine: Engine, job: Job, boundary: StoreBoundary) -> Evidence:
    """Ask the engine, if the run can be marked as started.

    Raises:
        RunRefusedError: As the engine says.
    """
    try:
        started = boundary.store.mark_started(boundary.record.run_id, boundary.record.owner)
    except StoreError:
        started = False
    if not started:
        return NOT_LAUNCHED
    try:
        return engine.execute(job, boundary)
    except RunRefusedError:
        raise
    except Exception:  # noqa: BLE001 - a bug of an engine is no report; its text may hold what was on the screen
        return NO_REPORT


def _finish(store: RunStore, record: RunRecord, result: RunResult) -> RunResult:
    """Store the result as the owner, or give what is stored already, or give the unsaved result as such."""
    try:
        if store.finish(record.run_id, record.owner, result):
            return result
        kept = store.load(record.run_id)
    except StoreError:
        kept = None
    if kept is None or kept.phase is not Phase.FINISHED:
        return evolve(result, record_saved=False)
    if kept.result != result:
        with suppress(StoreError):
            store.note_late(record.run_id, record.owner, result)
    return kept_result(kept, result.engine, result.mode)


def end_unlaunched(store: RunStore, record: RunRecord, clock: Clock, mode: Mode, engine: EngineName) -> RunResult:
    """End a reserved run that its executor did not take."""
    return _finish(store, record, told(NOT_LAUNCHED, record, engine, mode, clock))


def save_late(store: RunStore, record: RunRecord, unsaved: RunResult) -> RunResult:
    """Store a result of this process that could not be stored when the run ended."""
    return _finish(store, record, evolve(unsaved, record_saved=True))


def settle_gone(store: RunStore, record: RunRecord, clock: Clock, mode: Mode, engine_name: EngineName) -> RunResult:
    """End a run whose owner is proven gone; the record alone says what that proves.

    Args:
        store: Where the run is kept.
        record: The unfinished record as it was when its owner was found gone.
        clock: As for every other result.
        mode: How the server was started.
        engine_name: The engine that executed the run, ``none`` when that is not known.

    Returns:
        The stored result: this one, or that of whoever moved the run first.

    Raises:
        StoreError: The store cannot answer, so that nothing was settled.
    """
    result = told(owner_gone(record), record, engine_name, mode, clock)
    if store.settle_owner_gone(record, result):
        return result
    return kept_result(store.load(record.run_id) or record, engine_name, mode)


def unheard_of(store: RunStore, record: RunRecord, clock: Clock, mode: Mode, engine: EngineName) -> RunResult:
    """The answer when an executor failed to say how a run ended: what the record proves, else bare doubt."""
    try:
        return settle_gone(store, store.load(record.run_id) or record, clock, mode, engine)
    except StoreError:
        return evolve(told(NO_REPORT, record, engine, mode, clock), record_saved=False)


def kept_result(record: RunRecord, engine: EngineName, mode: Mode) -> RunResult:
    """What a record says by itself: its result, or that it cannot be read, or that the run still goes on."""
    match kept_answer(record):
        case RunResult() as result:
            return result
        case evidence:
            return project(evidence, facts_of(record, engine, mode))
