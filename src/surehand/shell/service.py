"""One request, through the checks, the gate and an executor, to the contract result.

Laws of this module:

- Every call that is well formed gets a contract result, and leaves a record if anything can be recorded at all.
- Nothing is executed that the store's gate did not start, and a started run is submitted exactly once.
- Before an attempt starts, the checks of its workflow are asked; one that fails refuses it by name. What was answered
  already is answered again, whatever they say now.
- What an earlier attempt may have done limits what a refusal may say; core decides how.
- An end that could not be stored is given all the same, and is stored as soon as the store takes it.
- Waiting costs no thread: a run of this process answers by its future, one thread watches those of other processes.
- A run that is here stands in ``_flights`` from before its reservation until after its end is stored.
  A record with an owner of this process that is not there is therefore nobody's.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Final

from attrs import define, evolve, field, frozen
from returns.result import Failure

from surehand.core.attention.review import waits_for_person
from surehand.core.outcome.evidence import CallRefused, EarlierAttempts, Phase, Refusal
from surehand.core.outcome.result import (
    CallFacts,
    EngineName,
    FailedCheck,
    InputProblem,
    Mode,
    RunResult,
    as_replayed,
    is_final,
    project,
)
from surehand.core.overview import RunReport, Unavailable, WorkflowOverview, attempt_report
from surehand.core.request import gate, keys
from surehand.core.request.answers import STILL_RUNNING
from surehand.core.request.gate import Conflict, Replay, RetryLimit, Start
from surehand.core.request.record import RunRecord
from surehand.core.workflow.card import Card
from surehand.core.workflow.params import check_inputs
from surehand.shell.attended.answers import awaited, read_again
from surehand.shell.attended.sweeping import settle_decisions
from surehand.shell.catalog import Catalog, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.execution import end_unlaunched, facts_of, kept_result, save_late, settle_gone, unheard_of
from surehand.shell.executors import EngineUnavailableError, Executor
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import new_run_id
from surehand.shell.locks import is_alive
from surehand.shell.store.base import StoreError, StoreUnavailableError, is_run_id
from surehand.shell.watching import ForeignRuns, answer

#: Stands for the URL of a call among its inputs; no input can have this name.
_URL: Final = "*url"


class UnknownRunError(LookupError):
    """No call of this run id was ever recorded here."""


@frozen
class Ticket:
    """The answer to a call so far.

    Args:
        result: The final result, or ``running``.
        run_id: What ``watch``, ``current`` and ``cancel`` take.
        started_here: Whether this call started the run; a later answer to any other call is a replay.
    """

    result: RunResult
    run_id: str
    started_here: bool


@frozen
class _Call:
    """One call. ``declared`` is the workflow's name once it is known to be one of ours; other text is never kept."""

    run_id: str
    request_key: str
    workflow: str = field(repr=False)
    inputs: Mapping[str, object] = field(repr=False)
    declared: str | None = None
    url: str | None = field(default=None, repr=False)


@define
class _Flight:
    """A run that this process answers for, from before its reservation until its end is stored."""

    executor: Executor
    job: Job = field(repr=False)
    record: RunRecord | None = None
    answer: Future[RunResult] = field(factory=Future[RunResult])


class Service:
    """Serves the workflows of one catalog from one state folder. All methods are safe to call from any thread."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        open_premises: Callable[[], Premises],
        clock: Clock = SYSTEM_CLOCK,
        run_ids: Callable[[], str] = new_run_id,
    ) -> None:
        self.mode: Final[Mode] = catalog.mode
        self._catalog = catalog
        self._open_premises = open_premises
        self._new_run_id = run_ids
        self._clock = clock
        self._guard = threading.Lock()
        self._premises: Premises | None = None
        self._closed = False
        self._flights: dict[str, _Flight] = {}
        self._unsaved: dict[str, RunResult] = {}
        self._own_tokens: set[str] = set()
        self._foreign = ForeignRuns(self._look, self._sweep, self._save_unsaved)

    # What callers ask for.

    def list_workflows(self) -> tuple[Card, ...]:
        """The cards of the workflows that are served; nothing is opened or started."""
        return self._catalog.cards()

    def unavailable(self) -> tuple[Unavailable, ...]:
        """What cannot be served; nothing is opened or started."""
        return self._catalog.unavailable()

    def workflows(self) -> tuple[WorkflowEntry, ...]:
        """Every workflow that is served; nothing is opened or started."""
        return self._catalog.entries()

    def overview(self, workflow: str) -> WorkflowOverview | None:
        """What a reader is told of a workflow; ``None`` for one that is not known here."""
        return self._catalog.overview(workflow)

    def report(self, run_id: str) -> RunReport | None:
        """What a reader is told of a run; ``None`` for an unknown one.

        Raises:
            StoreError: The store cannot answer.
        """
        result = self._look(run_id)
        record = None if result is None else self._open().store.load(run_id)
        return None if result is None or record is None else self._report(record, result)

    def protected_report(self, run_id: str) -> tuple[str | None, RunResult | None]:
        """The workflow of a run, and what its process said too late; for whoever may see what stands in the bundles.

        Raises:
            StoreError: The store cannot answer.
        """
        store = self._open().store
        record = store.load(run_id)
        return None if record is None else record.workflow, store.late_report(run_id)

    def run_workflow(
        self, workflow: str, inputs: Mapping[str, object], request_id: str, *, url: str | None = None
    ) -> Ticket:
        """Answer one call; a run that it starts goes on by itself.

        Args:
            workflow: The name of a workflow; any other text is answered ``unknown_workflow``.
            inputs: The values by input name; they live in memory only.
            request_id: The caller's id of this intended entry.
            url: The origin of the app for this call alone, where the operator lets calls say it.

        Returns:
            The ticket, after the reservation is on disk.

        Raises:
            NotARequestIdError: The request id is not one; nothing was recorded.
        """
        key = keys.request_key(keys.RequestId.parse(request_id))
        call = _Call(self._new_run_id(), key, workflow, inputs, url=url)
        try:
            premises = self._open()
            history = self._history(premises, key)
        except StoreError as error:
            return self._refuse_for_store(None, call, error)
        try:
            return self._admit(premises, call, history)
        except StoreError as error:
            return self._refuse_for_store(premises, call, error)

    def watch(self, run_id: str) -> Future[RunResult]:
        """A future of the run's final result; canceling it cancels nothing but the wait.

        Raises:
            UnknownRunError: There is no such run.
        """
        flight = self._flights.get(run_id)
        if flight is not None:
            return _follow(flight.answer)
        result = self.current(run_id)
        if result is None:
            raise UnknownRunError
        return _given(result) if is_final(result) else self._foreign.watch(run_id)

    def current(self, run_id: str) -> RunResult | None:
        """The run as it stands, or ``None`` when there is no such run."""
        if not is_run_id(run_id):
            return None
        try:
            return self._look(run_id)
        except StoreError as error:
            facts = CallFacts(
                run_id=run_id,
                mode=self.mode,
                engine=EngineName.NONE,
                attempt=0,
                failed_checks=(error.check,),
                record_saved=False,
            )
            return project(CallRefused(Refusal.STORE_UNAVAILABLE, EarlierAttempts.UNKNOWN), facts)

    def attempts(self, request_id: str) -> tuple[RunRecord, ...]:
        """Every attempt under a request id, oldest first, after each whose owner is gone was settled.

        Raises:
            NotARequestIdError: The request id is not one.
            StoreError: The store cannot answer.
        """
        return self._history(self._open(), keys.request_key(keys.RequestId.parse(request_id)))

    def cancel(self, run_id: str) -> None:
        """Wish that a run of this process stops before the boundary; any other run goes on."""
        flight = self._flights.get(run_id)
        if flight is not None:
            flight.executor.cancel(run_id)

    def app_of(self, workflow: str, inputs: Mapping[str, str]) -> AppTarget:
        """Where the app of a workflow is for these inputs, with its engine, which is started if it is not yet.

        Raises:
            EngineUnavailableError: The workflow is not served, or its engine cannot start.
            StoreError: The state folder cannot be opened.
        """
        entry = self._catalog.find(workflow)
        if entry is None:
            raise EngineUnavailableError
        return entry.crews.get(self._open()).target(inputs)

    def warm(self) -> None:
        """Open the store and start the engines in the background, so that the first call finds them ready."""
        threading.Thread(target=self._warm, name="surehand-warm", daemon=True).start()

    def close(self) -> None:
        """Stop what has not passed the boundary, wait in bounded time for the rest, and release everything."""
        self._catalog.close()
        self._foreign.close()
        with self._guard:
            self._closed = True
            premises, self._premises = self._premises, None
        if premises is not None:
            with suppress(StoreError):
                self._save_into(premises)
            premises.store.close()

    # The state folder.

    def _open(self) -> Premises:
        with self._guard:
            if self._closed:
                raise StoreUnavailableError("the service is closed")
            if self._premises is None:
                self._premises = self._open_premises()
                self._foreign.start()
            return self._premises

    def _warm(self) -> None:
        try:
            self._catalog.warm(self._open())
        except (StoreError, EngineUnavailableError):
            return  # The first call meets the same refusal and tells it.

    def _sweep(self) -> None:
        """Settle every run whose owner is gone; what cannot be settled now is met again when it is asked for."""
        try:
            premises = self._open()
            for record in premises.store.unfinished():
                if self._is_abandoned(premises, record):
                    self._settle(premises, record)
            settle_decisions(premises.store, premises.folder, self._clock)
        except StoreError:
            return

    def _save_unsaved(self) -> bool:
        """Store the ends that could not be stored before; whether none is left."""
        with suppress(StoreError):
            self._save_into(self._open())
        return not self._unsaved

    def _save_into(self, premises: Premises) -> None:
        for run_id in tuple(self._unsaved):
            record = premises.store.load(run_id)
            if record is not None:
                self._settle(premises, record)

    def _history(self, premises: Premises, request_key: str) -> tuple[RunRecord, ...]:
        """The attempts under a request key, after every one whose owner is gone was settled."""
        attempts = premises.store.attempts(request_key)
        gone = [record for record in attempts if self._is_abandoned(premises, record)]
        for record in gone:
            self._settle(premises, record)
        return premises.store.attempts(request_key) if gone else attempts

    def _look(self, run_id: str) -> RunResult | None:
        """How a run stands, settled if its owner is gone; ``None`` for an unknown one."""
        flight = self._flights.get(run_id)
        if flight is not None and flight.record is not None:
            return self._running(flight.record, flight.executor.engine_name)
        premises = self._open()
        record = premises.store.load(run_id)
        if record is None:
            return None
        if self._is_abandoned(premises, record):
            return self._settle(premises, record)
        if record.result is not None and waits_for_person(record.result):
            settle_decisions(premises.store, premises.folder, self._clock)
            record = premises.store.load(run_id) or record
        return self._told(premises, record, EngineName.NONE)

    def _is_abandoned(self, premises: Premises, record: RunRecord) -> bool:
        """Whether nobody can move the run on any more. An owner that cannot be asked about is not proven gone."""
        if record.phase is Phase.FINISHED or record.run_id in self._flights:
            return False
        if record.owner in self._own_tokens:
            return True
        try:
            return not is_alive(premises.folder, record.owner)
        except (OSError, UnsafeFileError):
            return False

    def _settle(self, premises: Premises, record: RunRecord) -> RunResult:
        """End an abandoned run: with the result that could not be stored before, else with what the record proves."""
        unsaved = self._unsaved.get(record.run_id)
        if unsaved is None:
            return settle_gone(premises.store, record, self._clock, self.mode, EngineName.NONE)
        result = save_late(premises.store, record, unsaved)
        if result.record_saved:
            self._unsaved.pop(record.run_id, None)
        return result

    # One call.

    def _admit(self, premises: Premises, call: _Call, history: tuple[RunRecord, ...]) -> Ticket:
        """Refuse what cannot run at all, then let the gate decide."""
        entry = self._catalog.find(call.workflow)
        earlier = gate.earlier_attempts(history)
        if entry is None:
            return self._refuse_unserved(premises, call, earlier)
        known = evolve(call, declared=entry.bundle.workflow)
        if not self._catalog.runs_enabled:
            return self._refuse(premises, known, CallRefused(Refusal.RUNS_DISABLED, earlier))
        checked = check_inputs(entry.bundle.parameters, {**entry.defaults, **call.inputs})
        if isinstance(checked, Failure):
            refused = CallRefused(Refusal.INVALID_INPUT, earlier)
            return self._refuse(premises, known, refused, input_problems=checked.failure())
        return self._pass_gate(premises, known, entry, checked.unwrap(), history)

    def _refuse_unserved(self, premises: Premises, call: _Call, earlier: EarlierAttempts) -> Ticket:
        """Refuse a name that nothing is served under: unknown, or known and not to be used now."""
        if self._catalog.find_unavailable(call.workflow) is None:
            return self._refuse(premises, call, CallRefused(Refusal.UNKNOWN_WORKFLOW, earlier))
        refused = CallRefused(Refusal.WORKFLOW_UNAVAILABLE, earlier)
        return self._refuse(premises, call, refused, failed_checks=(FailedCheck.BUNDLE_UNREADABLE,))

    def _pass_gate(
        self,
        premises: Premises,
        call: _Call,
        entry: WorkflowEntry,
        inputs: dict[str, str],
        history: tuple[RunRecord, ...],
    ) -> Ticket:
        """Answer from the history what it answers already; start an engine only for what may start."""
        draft = RunRecord(
            run_id=call.run_id,
            request_key=call.request_key,
            attempt=0,
            workflow=entry.bundle.workflow,
            fingerprint=keys.fingerprint(premises.fingerprint_key, entry.bundle.workflow, _asked(call, inputs)),
            owner="",
            journaled=False,
            phase=Phase.RESERVED,
            created_at=self._clock.now(),
            bundle=entry.digest,
        )
        decision = gate.decide(history, draft)
        if not isinstance(decision, Start):
            return self._answer(premises, call, decision)
        failed = entry.gate(call.url)
        if failed:
            refused = CallRefused(Refusal.NOT_READY_TO_RUN, gate.earlier_attempts(history))
            return self._refuse(premises, call, refused, failed_checks=failed)
        return self._staff(premises, call, entry, draft, inputs)

    def _staff(
        self, premises: Premises, call: _Call, entry: WorkflowEntry, draft: RunRecord, inputs: dict[str, str]
    ) -> Ticket:
        """Find who executes the attempt, and reserve it for them."""
        try:
            crew = entry.crews.get(premises)
            executor, owner = crew.executor, crew.executor.owner_token
            target = _target(crew.target(inputs), call.url)
            job = Job(run_id=call.run_id, bundle=entry.bundle, inputs=inputs, target=target)
        except EngineUnavailableError as error:
            refused = CallRefused(Refusal.ENGINE_UNAVAILABLE, self._earlier(premises, call))
            return self._refuse(premises, call, refused, failed_checks=error.checks)
        owned = evolve(draft, owner=owner, journaled=executor.journaled)
        self._own_tokens.add(owner)
        return self._reserve(premises, call, owned, _Flight(executor, job))

    def _reserve(self, premises: Premises, call: _Call, draft: RunRecord, flight: _Flight) -> Ticket:
        """Ask the gate for good, and start what it starts."""
        self._flights[call.run_id] = flight
        try:
            decision = premises.store.reserve(draft)
        except BaseException:
            del self._flights[call.run_id]
            raise
        if isinstance(decision, Start):
            return self._start(premises, decision.record, flight)
        del self._flights[call.run_id]
        return self._answer(premises, call, decision)

    def _start(self, premises: Premises, record: RunRecord, flight: _Flight) -> Ticket:
        flight.record = record
        engine = flight.executor.engine_name
        running = Ticket(self._running(record, engine), record.run_id, started_here=True)
        try:
            executed = flight.executor.submit(record, flight.job)
        except EngineUnavailableError:
            result = end_unlaunched(premises.store, record, self._clock, self.mode, engine)
            self._land(flight, result)
            return Ticket(result, record.run_id, started_here=True)
        except Exception:  # noqa: BLE001 - a bug of an executor must not leave the run behind as one that goes on
            result = unheard_of(premises.store, record, self._clock, self.mode, engine)
            self._land(flight, result)
            return Ticket(result, record.run_id, started_here=True)
        executed.add_done_callback(lambda done: self._land(flight, self._end_of(premises, flight, record, done)))
        return running

    def _end_of(self, premises: Premises, flight: _Flight, record: RunRecord, executed: Future[RunResult]) -> RunResult:
        """How an executor says that a run ended; one that fails to say it leaves what the record proves."""
        if executed.cancelled() or executed.exception() is not None:
            return unheard_of(premises.store, record, self._clock, self.mode, flight.executor.engine_name)
        return executed.result()

    def _land(self, flight: _Flight, result: RunResult) -> None:
        """End a flight; its result is stored, or kept here until it can be."""
        if not result.record_saved:
            self._unsaved[result.run_id] = result
            self._foreign.save_soon()
        self._flights.pop(result.run_id)
        answer(flight.answer, result)

    # Answers.

    def _answer(self, premises: Premises, call: _Call, decision: Replay | Conflict | RetryLimit) -> Ticket:
        match decision:
            case Replay(record):
                flight = self._flights.get(record.run_id)
                engine = EngineName.NONE if flight is None else flight.executor.engine_name
                return Ticket(as_replayed(self._told(premises, record, engine)), record.run_id, started_here=False)
            case Conflict():
                refusal = Refusal.REQUEST_ID_CONFLICT
            case RetryLimit():
                refusal = Refusal.RETRY_LIMIT
        return self._refuse(premises, call, CallRefused(refusal, self._earlier(premises, call)))

    def _told(self, premises: Premises, record: RunRecord, engine: EngineName) -> RunResult:
        return awaited(premises.store, kept_result(record, engine, self.mode), self._clock)

    def _earlier(self, premises: Premises, call: _Call) -> EarlierAttempts:
        return gate.earlier_attempts(self._history(premises, call.request_key))

    def _report(self, record: RunRecord, result: RunResult) -> RunReport:
        store = self._open().store
        attempts = store.attempts(record.request_key) if record.attempt else (record,)
        entry = None if record.workflow is None else self._catalog.find(record.workflow)
        return RunReport(
            run_id=record.run_id,
            workflow_id=None if entry is None else entry.id,
            current_version=entry is not None and bool(record.bundle) and record.bundle == entry.digest,
            attempts=tuple(
                attempt_report(each, kept_result(each, EngineName.NONE, self.mode), record) for each in attempts
            ),
            input_problems=len(result.input_problems),
            failed_checks=len(result.failed_checks),
            reported_late=store.late_report(record.run_id) is not None,
            read_again=read_again(store, record.run_id),
        )

    def _running(self, record: RunRecord, engine: EngineName) -> RunResult:
        return project(STILL_RUNNING, facts_of(record, engine, self.mode))

    def _refuse_for_store(self, premises: Premises | None, call: _Call, error: StoreError) -> Ticket:
        """Refuse a call that the store failed; what cannot be read is not known to be empty.

        The refusal has a run id of its own: a reservation under the other one may be on disk all the same.
        """
        earlier = EarlierAttempts.UNKNOWN
        if premises is not None:
            with suppress(StoreError):
                earlier = self._earlier(premises, call)
        refused = CallRefused(Refusal.STORE_UNAVAILABLE, earlier)
        renamed = evolve(call, run_id=self._new_run_id())
        return self._refuse(premises, renamed, refused, failed_checks=(error.check,))

    def _refuse(
        self,
        premises: Premises | None,
        call: _Call,
        refused: CallRefused,
        input_problems: tuple[InputProblem, ...] = (),
        failed_checks: tuple[FailedCheck, ...] = (),
    ) -> Ticket:
        """Answer a call that reserved nothing, and keep a record of it if one can be kept."""
        facts = CallFacts(
            run_id=call.run_id,
            mode=self.mode,
            engine=EngineName.NONE,
            attempt=0,
            input_problems=input_problems,
            failed_checks=failed_checks,
        )
        result = project(refused, facts)
        if not self._kept(premises, call, result):
            result = evolve(result, record_saved=False)
        return Ticket(result, call.run_id, started_here=False)

    def _kept(self, premises: Premises | None, call: _Call, result: RunResult) -> bool:
        if premises is None:
            return False
        record = RunRecord(
            run_id=call.run_id,
            request_key=call.request_key,
            attempt=0,
            workflow=call.declared,
            fingerprint="",
            owner="",
            journaled=False,
            phase=Phase.FINISHED,
            created_at=self._clock.now(),
            result=result,
        )
        try:
            premises.store.record_refusal(record)
        except StoreError:
            return False
        return True


def _asked(call: _Call, inputs: dict[str, str]) -> dict[str, str]:
    """What a request is told apart by: its inputs, and where its app is if the call says so."""
    return inputs if call.url is None else {**inputs, _URL: call.url}


def _target(target: AppTarget, url: str | None) -> AppTarget:
    """Where the app is; a call that may say so is heard before anything else."""
    return target if url is None else evolve(target, origin=url, record_origin=url)


def _follow(shared: Future[RunResult]) -> Future[RunResult]:
    """A future of one's own with the same answer: canceling it cancels nothing for the others."""
    own: Future[RunResult] = Future()
    shared.add_done_callback(lambda done: answer(own, done.result()))
    return own


def _given(result: RunResult) -> Future[RunResult]:
    future: Future[RunResult] = Future()
    future.set_result(result)
    return future
