"""Performs what people decided about stopped runs, in the process that holds their windows.

Laws of this module:

- A stop is kept before its run is finished, and a new one before the leg that it ended. What a save can be read again
  by is sealed before it is asked for, and dropped when the run has an answer that needs it no more.
- A decision is performed by the process that claimed it, once. Before anything is performed, what would be done is
  compared with what was decided about, and a workflow whose admission was revoked meanwhile does not act.
- Whatever a leg came to ends its decision. An end that could not be stored is stored as soon as the store takes it; if
  the process dies before, the ledger says what that proves.
- All of it happens on the thread that executes runs: a decision waits for the run at work, and no run for a decision
  that nobody made.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from attrs import field, frozen
from returns.pipeline import is_successful

from surehand.core.attention.capability import DecisionRefusal, is_intact, issue_at, same_work
from surehand.core.attention.continuation import Continuation
from surehand.core.attention.decision import Decision, DecisionStatus, Ended, Finding, status_after, still_waits
from surehand.core.attention.evidence import LocalEvidence, SealedEvidence, sealed, unsealed, values_of
from surehand.core.attention.pause import IN_WINDOW, Action, DeliveryState, KeptPause
from surehand.core.attention.reread import found
from surehand.core.attention.review import bare_pause_id
from surehand.core.attention.stopped import identity_of
from surehand.core.outcome.evidence import (
    CallRefused,
    Delivery,
    EarlierAttempts,
    Evidence,
    OpenPause,
    Report,
    RunObserved,
)
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import EngineName, Mode, RunResult
from surehand.core.request.answers import NO_REPORT, STOPPED_WHILE_WAITING
from surehand.core.request.record import RunRecord
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.commands import Records, RecordsUnavailable
from surehand.core.workflow.replay import compile_plan
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import Stop, issue_anew, keep_stop
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.attended.sweeping import settle_decisions
from surehand.shell.clock import Clock
from surehand.shell.engines import base
from surehand.shell.engines.base import Boundary, Job, RunRefusedError, WindowGoneError
from surehand.shell.engines.browser.messages import UnfittingLineError, kept_job, kept_order
from surehand.shell.execution import told
from surehand.shell.files import UnsafeFileError
from surehand.shell.locks import is_alive
from surehand.shell.store.attention import AttentionStore, Opening
from surehand.shell.store.base import RunStore, StoreError

#: Takes turns at an app: says whether the turn came.
Turn = Callable[[str, Boundary], AbstractContextManager[bool]]


class LiveEngine(Protocol):
    """An engine that keeps the windows of stopped runs."""

    @property
    def name(self) -> EngineName:
        """As for every engine."""
        ...

    def last_stop(self) -> base.Stop | None:
        """How the leg that was executed last was left."""
        ...

    def windows(self) -> frozenset[str]:
        """The runs whose windows are open."""
        ...

    def job_of(self, run_id: str) -> Job | None:
        """The job of a run whose window is open."""
        ...

    def resume(self, run_id: str, boundary: Boundary, *, skip: bool) -> Evidence:
        """Go on in the window of a run."""
        ...

    def reopen(self, job: Job, at: int, boundary: Boundary) -> Evidence | None:
        """Open the window of a run anew."""
        ...

    def reread(self, job: Job, old: frozenset[str], boundary: Boundary) -> Records | RecordsUnavailable:
        """Read the records of a run once more."""
        ...

    def show(self, run_id: str) -> None:
        """Bring the window of a run to the front."""
        ...

    def let_go(self, run_id: str) -> None:
        """Close the window of a run."""
        ...


@frozen
class LegBoundary:
    """The delivery boundary of one continuation, kept by the ledger; a ledger that cannot answer forbids the write."""

    attention: AttentionStore
    continuation: Continuation
    stop: threading.Event

    def cross(self) -> bool:
        """Pass the boundary."""
        leg = self.continuation
        try:
            return self.attention.begin_continuation_delivery(leg.run_id, leg.number, leg.owner)
        except StoreError:
            return False

    def stop_requested(self) -> bool:
        """Whether this process is to end."""
        return self.stop.is_set()


@frozen
class _Looking:
    """The boundary of what only looks: it is never passed."""

    stop: threading.Event

    def cross(self) -> bool:
        """Refuse."""
        return False

    def stop_requested(self) -> bool:
        """Whether this process is to end."""
        return self.stop.is_set()


@frozen
class _Unstored:
    """An end that the store did not take yet."""

    key: str
    ending: Ended
    result: RunResult | None


@frozen(kw_only=True)
class Performer:
    """A worker's part in stopped runs.

    Args:
        runs: The ledger of runs.
        attention: What it keeps about stopped runs.
        files: Where evidence is sealed.
        engine: What performs.
        turn: Takes turns at an app.
        token: The owner token of this process.
        mode: How the server was started.
        clock: Says when.
        stop: Set when this process is to end.
        attended: Whether decisions are performed here; stops are kept in any case.
        admitted: Whether this version of a workflow, by its digest, may act now.
    """

    runs: RunStore
    attention: AttentionStore
    files: EvidenceFiles
    engine: LiveEngine
    turn: Turn
    token: str
    mode: Mode
    clock: Clock
    stop: threading.Event
    attended: bool
    admitted: Callable[[str], bool] = lambda _digest: True
    _windows: dict[str, str] = field(factory=dict[str, str], init=False)
    _unstored: list[_Unstored] = field(factory=list[_Unstored], init=False)

    # Stops

    def keep(self, record: RunRecord, job: Job, evidence: Evidence) -> None:
        """Keep how a run stopped, if it waits for a person. A stop that cannot be kept leaves no window open."""
        if not isinstance(evidence, RunObserved) or not isinstance(evidence.pause, OpenPause):
            return
        stop = self.engine.last_stop()
        if stop is None:
            return
        said = Stop(
            category=evidence.pause.category,
            at=stop.at,
            before_save=stop.before_save,
            skippable=stop.skippable,
            delivery=_delivery(evidence),
            evidence=_evidence(job, stop),
            owner=self.token if stop.has_window else "",
        )
        try:
            kept = keep_stop(self.attention, self.files, record, job.inputs, said, instants_of(self.clock))
        except (StoreError, OSError, UnsafeFileError):
            self.engine.let_go(record.run_id)
            return
        self._forget_before_save(record.run_id)
        if stop.has_window:
            self._windows[record.run_id] = kept.pause.pause_id

    def ended(self, result: RunResult) -> None:
        """A run has this answer. A doubt that left no pause is read again by what was sealed before the save."""
        if result.record_saved and result.outcome is not Outcome.NOT_SURE_IF_SAVED:
            self._forget_before_save(result.run_id)

    def _forget_before_save(self, run_id: str) -> None:
        with suppress(OSError):
            self.files.drop(bare_pause_id(run_id))

    # What people decided

    def look(self) -> None:
        """Perform what is to be performed here now, and end what nobody can perform any more.

        What the store does not answer is looked at the next time.
        """
        if not self.attended:
            return
        with suppress(StoreError):
            self._store_late()
            settle_decisions(self.runs, self.files.state_folder, self.clock)
            for decision in self.attention.unended():
                self._perform_if_ours(decision)
            for opening in self.attention.openings():
                self._open_if_free(opening)
            self._let_go_of_windows()

    def _perform_if_ours(self, decision: Decision) -> None:
        if decision.claimed_by == self.token:
            # The store took the claim and did not say so: nothing was performed.
            self._end(decision, DecisionStatus.HALTED)
            return
        review = self.attention.review(decision.pause_id)
        if decision.status is not DecisionStatus.PREPARED or review is None or self.stop.is_set():
            return
        if decision.action is Action.RECONCILE or review.kept.issue.owner == self.token:
            self._perform(decision, review.kept)

    def _perform(self, decision: Decision, kept: KeptPause) -> None:
        evidence = self.files.read(kept.pause)
        job = self.engine.job_of(decision.run_id) if decision.action in IN_WINDOW else _job(evidence)
        if evidence is None or job is None:
            gone = decision.action in IN_WINDOW and evidence is not None
            why = DecisionRefusal.WINDOW_GONE if gone else DecisionRefusal.EVIDENCE_UNREADABLE
            self._end(decision, DecisionStatus.HALTED if gone else DecisionStatus.REFUSED, refusal=why)
            return
        refusal = self._refusal(kept, job, acts=decision.action in IN_WINDOW)
        if refusal is not None:
            self._end(decision, DecisionStatus.REFUSED, refusal=refusal)
            return
        record, claimed = self.runs.load(decision.run_id), self.attention.claim(decision.key, self.token)
        if record is None or claimed is None:
            # Somebody else has it, or nothing may go on any more; what nobody has is ended.
            self._end(decision, DecisionStatus.HALTED, refusal=DecisionRefusal.RUN_NOT_WAITING)
        elif decision.action is Action.RECONCILE:
            self._read_again(decision, job, evidence)
        else:
            self._go_on(decision, record, job, claimed)

    def _refusal(self, kept: KeptPause, job: Job, *, acts: bool) -> DecisionRefusal | None:
        """Why a job is not to be performed: it is not the one that was decided about, or may not act any more."""
        if not is_intact(self.files.key, kept):
            return DecisionRefusal.PAUSE_CHANGED
        digest = bundle_digest(job.bundle)
        same = same_work(self.files.key, kept.pause, digest, job.bundle.workflow, job.inputs)
        if not is_successful(same):
            return same.failure()
        return None if not acts or self.admitted(digest) else DecisionRefusal.NOT_ADMITTED

    def _go_on(self, decision: Decision, record: RunRecord, job: Job, claimed: Continuation) -> None:
        """One leg of a run, from the person's work to its end or its next stop."""
        boundary = LegBoundary(self.attention, claimed, self.stop)
        evidence = self._leg(job, boundary, skip=decision.action is Action.SKIP)
        if evidence is None:
            self._end(decision, DecisionStatus.HALTED, refusal=DecisionRefusal.WINDOW_GONE)
            return
        result = told(evidence, record, self.engine.name, self.mode, self.clock)
        self.keep(record, job, evidence)
        self._end(decision, status_after(result), result=result)
        self.ended(result)

    def _leg(self, job: Job, boundary: Boundary, *, skip: bool) -> Evidence | None:
        """What came of going on; ``None`` when there was no window to go on in."""
        try:
            with self.turn(job.target.origin, boundary) as came:
                return self.engine.resume(job.run_id, boundary, skip=skip) if came else STOPPED_WHILE_WAITING
        except WindowGoneError:
            return None
        except RunRefusedError as refused:
            return CallRefused(refused.refusal, EarlierAttempts.NONE)
        except Exception:  # noqa: BLE001 - a bug of an engine is no report; its text may hold what was on the screen
            return NO_REPORT

    def _read_again(self, decision: Decision, job: Job, evidence: SealedEvidence) -> None:
        """Read the records and say what they show; nothing else follows from it."""
        baseline = unsealed(evidence.baseline or ())
        old = frozenset(record.key for record in baseline.records)
        try:
            after = self.engine.reread(job, old, _Looking(self.stop))
        except Exception:  # noqa: BLE001 - whatever a reading meets, it read nothing
            after = RecordsUnavailable()
        self._end(decision, DecisionStatus.RECONCILED, finding=found(job.bundle, job.inputs, baseline, after))

    # Windows

    def _open_if_free(self, opening: Opening) -> None:
        """Open the app again for a pause whose window nobody holds any more; one that is here is brought to the front.

        Everybody who attends looks for such wishes; the first takes it, unless somebody else who lives has the window.
        """
        review = self.attention.review(opening.pause_id)
        kept = None if review is None or not still_waits(review) else review.kept
        if self.stop.is_set() or (kept is not None and self._is_elsewhere(kept)):
            return
        if not self.attention.claim_opening(opening.number, self.token) or kept is None:
            return
        ours = kept.issue.owner == self.token and kept.pause.run_id in self.engine.windows()
        if ours or self._reopened(kept):
            self._issue_here(kept)

    def _is_elsewhere(self, kept: KeptPause) -> bool:
        """Whether another process that may live holds the window."""
        owner = kept.issue.owner
        try:
            return owner not in {"", self.token} and is_alive(self.files.state_folder, owner)
        except (OSError, UnsafeFileError):
            return True

    def _reopened(self, kept: KeptPause) -> bool:
        """Whether the app is open again, at the place of the stop. A stop on the way there is a pause of its own."""
        job, record = _job(self.files.read(kept.pause)), self.runs.load(kept.pause.run_id)
        if job is None or record is None or not kept.pause.before_save:
            return False
        if self._refusal(kept, job, acts=True) is not None:
            return False
        boundary = _Looking(self.stop)
        try:
            with self.turn(job.target.origin, boundary) as came:
                stopped = self.engine.reopen(job, kept.pause.at, boundary) if came else STOPPED_WHILE_WAITING
        except Exception:  # noqa: BLE001 - whatever keeps the app from being opened, it is not open
            return False
        if stopped is not None:
            self.keep(record, job, stopped)
        return stopped is None

    def _issue_here(self, kept: KeptPause) -> None:
        """Say that the window of a pause is here, for a new term."""
        if issue_anew(self.attention, kept, self.token, instants_of(self.clock)) is None:
            self.engine.let_go(kept.pause.run_id)
            return
        self._windows[kept.pause.run_id] = kept.pause.pause_id
        self.engine.show(kept.pause.run_id)

    def _let_go_of_windows(self) -> None:
        """Close the windows of what waits for nobody any more, and say of each window that is gone that it is."""
        open_now = self.engine.windows()
        for run_id, pause_id in tuple(self._windows.items()):
            review = self.attention.review(pause_id)
            if review is None or not still_waits(review) or review.kept.issue.owner != self.token:
                self.engine.let_go(run_id)
                del self._windows[run_id]
            elif run_id not in open_now:
                self._say_gone(review.kept)
                del self._windows[run_id]

    def _say_gone(self, kept: KeptPause) -> None:
        """Issue a pause to nobody, for what is left of its term."""
        instants = instants_of(self.clock)
        left = max(0, kept.issue.expires_at - instants.now)
        self.attention.issue(kept.pause.pause_id, issue_at(instants, kept.issue.number + 1, "", left))

    # Ends

    def _end(
        self,
        decision: Decision,
        status: DecisionStatus,
        *,
        refusal: DecisionRefusal | None = None,
        finding: Finding | None = None,
        result: RunResult | None = None,
    ) -> None:
        ending = Ended(self.token, status, self.clock.now(), refusal=refusal, finding=finding)
        self._unstored.append(_Unstored(decision.key, ending, result))
        self._store_late()

    def _store_late(self) -> None:
        """Store the ends that were not stored yet.

        Raises:
            StoreError: The store does not take one.
        """
        while self._unstored:
            first = self._unstored[0]
            self.attention.end(first.key, first.ending, first.result)
            del self._unstored[0]


def seal_before_save(files: EvidenceFiles, job: Job, baseline: Records) -> None:
    """Seal what the save of a run can be read again by, under the name of the pause that it gets if its process dies.

    Where it cannot be sealed the run saves without it, and nobody can have its record read again by us.
    """
    evidence = SealedEvidence(
        inputs=values_of(job.inputs),
        order=kept_order(job),
        baseline=sealed(baseline),
        local=LocalEvidence(identity=identity_of(compile_plan(job.bundle, job.inputs))),
    )
    with suppress(OSError, UnsafeFileError):
        files.write(bare_pause_id(job.run_id), job.run_id, bundle_digest(job.bundle), evidence)


def _delivery(evidence: RunObserved) -> DeliveryState:
    delivery = evidence.report.delivery if isinstance(evidence.report, Report) else Delivery.UNKNOWN
    match delivery:
        case Delivery.NOT_SENT:
            return DeliveryState.NOT_DELIVERED
        case Delivery.SENT_ONCE:
            return DeliveryState.DELIVERED
        case Delivery.UNKNOWN | Delivery.NOT_MEASURED:
            return DeliveryState.UNKNOWN


def _evidence(job: Job, stop: base.Stop) -> SealedEvidence:
    return SealedEvidence(
        inputs=values_of(job.inputs),
        order=kept_order(job),
        guarded=sealed(stop.guarded),
        baseline=None if stop.baseline is None else sealed(stop.baseline),
        local=stop.local,
    )


def _job(evidence: SealedEvidence | None) -> Job | None:
    """The job of a stopped run, if the evidence holds one."""
    with suppress(UnfittingLineError):
        return None if evidence is None or not evidence.order else kept_job(evidence.order)
    return None
