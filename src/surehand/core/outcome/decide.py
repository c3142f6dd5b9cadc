"""Evidence to the one reason: total, pure, and small enough to read in one sitting.

Laws of this module:

- Every evidence has exactly one reason; the audit calls ``decide`` on the whole domain.
- Contradiction and absence lead to doubt, never to a claim: ``result_unreadable`` is the floor.
- This file knows no text, no store and no engine.
"""

from typing import assert_never

from attrs import evolve

from surehand.core.outcome.evidence import (
    AFTER_DELIVERY,
    PROVEN_NO_EFFECT,
    Approval,
    CallRefused,
    EarlierAttempts,
    Evidence,
    NoPause,
    OpenPause,
    OwnerGone,
    Pause,
    PauseCategory,
    PauseLookupFailed,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    ReportUnreadable,
    RunObserved,
    TransactionOutcome,
    is_consistent,
)
from surehand.core.outcome.reasons import REASONS, Claims, NextStep, Reason, RecordChanged

#: The reason that each refusal bears.
REFUSAL_REASONS: dict[Refusal, Reason] = {
    Refusal.INVALID_INPUT: Reason.INVALID_INPUT,
    Refusal.UNKNOWN_WORKFLOW: Reason.UNKNOWN_WORKFLOW,
    Refusal.RUNS_DISABLED: Reason.RUNS_DISABLED,
    Refusal.WORKFLOW_UNAVAILABLE: Reason.WORKFLOW_UNAVAILABLE,
    Refusal.REQUEST_ID_CONFLICT: Reason.REQUEST_ID_CONFLICT,
    Refusal.RETRY_LIMIT: Reason.RETRY_LIMIT,
    Refusal.NOT_READY_TO_RUN: Reason.NOT_READY_TO_RUN,
    Refusal.APP_UNREACHABLE: Reason.APP_UNREACHABLE,
    Refusal.ENGINE_UNAVAILABLE: Reason.PLATFORM_ERROR,
    Refusal.STORE_UNAVAILABLE: Reason.PLATFORM_ERROR,
}

#: The reason that each pause category bears beside a report that nothing was written.
#: The pauses of ``AFTER_DELIVERY`` contradict such a report.
PAUSE_REASONS: dict[PauseCategory, Reason] = {
    PauseCategory.IDENTITY: Reason.RECORD_NOT_CONFIRMED,
    PauseCategory.DISAMBIGUATION: Reason.RECORD_NOT_CONFIRMED,
    PauseCategory.RESOLUTION: Reason.UNEXPECTED_SCREEN,
    PauseCategory.HUMAN_REQUIRED: Reason.PERSON_NEEDED,
    PauseCategory.EFFECT_ESCALATED: Reason.RESULT_UNREADABLE,
    PauseCategory.EFFECT_INDETERMINATE: Reason.RESULT_UNREADABLE,
    PauseCategory.EFFECT_REFUTED: Reason.RESULT_UNREADABLE,
    PauseCategory.EFFECT_UNVERIFIABLE: Reason.RECORD_CHECK_NOT_SET_UP,
    PauseCategory.PLACEHOLDER_EFFECT: Reason.RECORD_CHECK_NOT_SET_UP,
    PauseCategory.DELIVERY_UNCERTAIN: Reason.RESULT_UNREADABLE,
    PauseCategory.UNMET_GUARD: Reason.UNEXPECTED_SCREEN,
    PauseCategory.POSTCONDITION: Reason.UNEXPECTED_SCREEN,
    PauseCategory.HALT: Reason.UNEXPECTED_SCREEN,
    PauseCategory.ITEM_APPROVAL: Reason.APPROVAL_NEEDED,
    PauseCategory.ITEM_DECLINED: Reason.STOPPED_FOR_REVIEW,
    PauseCategory.BUSINESS_DECISION: Reason.PERSON_NEEDED,
    PauseCategory.READBACK_PENDING: Reason.RESULT_UNREADABLE,
    PauseCategory.OPERATOR_REVIEW: Reason.STOPPED_FOR_REVIEW,
    PauseCategory.POSSIBLE_DUPLICATE: Reason.POSSIBLE_DUPLICATE,
}

#: The reason of a consistent report whose transaction outcome settles it alone.
_SETTLED: dict[TransactionOutcome, Reason] = {
    TransactionOutcome.SAVED_AWAITING_CHECK: Reason.NOT_CHECKED,
    TransactionOutcome.RECONCILIATION_REQUIRED: Reason.SAVE_NOT_CONFIRMED,
    TransactionOutcome.COMPLETED_UNVERIFIED: Reason.NOT_CHECKED,
    TransactionOutcome.ROLLED_BACK: Reason.CHANGE_REVERSED,
}

#: Approvals that were asked for and not given.
_OUTSTANDING = frozenset({Approval.WAITING, Approval.REQUIRED})

#: The reason of a proven-no-effect outcome that left no pause behind.
_NO_PAUSE: dict[TransactionOutcome, Reason] = {
    TransactionOutcome.HALTED_BEFORE_EFFECT: Reason.STOPPED_FOR_REVIEW,
    TransactionOutcome.REJECTED_POLICY: Reason.POLICY_REFUSED,
    TransactionOutcome.CANCELED: Reason.CANCELED,
    TransactionOutcome.FAILED_PLATFORM: Reason.PLATFORM_ERROR,
}


def decide(evidence: Evidence) -> Reason:
    """The one reason that the evidence supports."""
    match evidence:
        case RunObserved():
            return _observed(evidence)
        case CallRefused(refusal=refusal):
            return REFUSAL_REASONS[refusal]
        case OwnerGone():
            return _owner_gone(evidence)
        case RecordUnreadable():
            return Reason.RESULT_UNREADABLE
        case _:  # pragma: no cover
            assert_never(evidence)


def claims(evidence: Evidence) -> Claims:
    """What the answer to this evidence says: the claims of its reason."""
    return claims_of(decide(evidence), evidence)


def claims_of(reason: Reason, evidence: Evidence) -> Claims:
    """What an answer with this reason says about this evidence.

    The reason's own row, weakened where a refused call stands on earlier attempts that may have written: such a call
    never says that nothing was written.
    """
    row = REASONS[reason]
    if isinstance(evidence, CallRefused) and evidence.earlier is EarlierAttempts.UNKNOWN:
        return evolve(
            row,
            record_changed=RecordChanged.UNKNOWN,
            safe_to_retry=False,
            next_step=NextStep.HAVE_A_PERSON_CHECK_THE_RECORD,
        )
    return row


def _owner_gone(evidence: OwnerGone) -> Reason:
    """What a dead owner's record proves.

    Only an engine that passes the delivery boundary durably before it writes leaves proof behind. Of any other engine
    not even ``RESERVED`` is proof: the step to ``STARTED`` need not have reached the disk.
    """
    if evidence.journaled and evidence.phase in {Phase.RESERVED, Phase.STARTED}:
        return Reason.INTERRUPTED_BEFORE_SAVE
    return Reason.INTERRUPTED


def _observed(run: RunObserved) -> Reason:
    match run.process:
        case ProcessFact.STILL_RUNNING:
            return Reason.WAITING_FOR_APPROVAL if run.approval is Approval.WAITING else Reason.RUNNING
        case ProcessFact.TIMED_OUT:
            return Reason.TIMED_OUT
        case ProcessFact.NOT_LAUNCHED:
            return _never_executed(run, Reason.PLATFORM_ERROR)
        case ProcessFact.REFUSED_BEFORE_EXECUTION:
            return _never_executed(run, Reason.NOT_READY_TO_RUN)
        case ProcessFact.EXITED_CLEANLY | ProcessFact.EXITED_WITH_ERROR:
            return _exited(run)
        case _:  # pragma: no cover
            assert_never(run.process)


def _never_executed(run: RunObserved, reason: Reason) -> Reason:
    """A process that never executed leaves no report, no pause and no open approval; anything else contradicts it."""
    nothing_left = isinstance(run.report, ReportMissing) and isinstance(run.pause, NoPause)
    return reason if nothing_left and run.approval not in _OUTSTANDING else Reason.RESULT_UNREADABLE


def _exited(run: RunObserved) -> Reason:
    match run.report:
        case ReportMissing() | ReportUnreadable():
            return Reason.RESULT_UNREADABLE
        case Report() as report:
            return _reported(run, report) if is_consistent(report) else Reason.RESULT_UNREADABLE
        case _:  # pragma: no cover
            assert_never(run.report)


def _reported(run: RunObserved, report: Report) -> Reason:
    if report.transaction is TransactionOutcome.VERIFIED:
        return _verified(run, report)
    if report.transaction in PROVEN_NO_EFFECT:
        return _nothing_written(run, report.transaction)
    if report.transaction is TransactionOutcome.NOT_STATED:
        # A legacy report with only the success flag finished unchecked; a coarse halt proves nothing.
        return Reason.NOT_CHECKED if report.success else Reason.RESULT_UNREADABLE
    return _SETTLED[report.transaction]


def _verified(run: RunObserved, report: Report) -> Reason:
    """A verified save; an unclean end, a pause, or an approval that was never given contradicts it."""
    if run.process is not ProcessFact.EXITED_CLEANLY or not isinstance(run.pause, NoPause):
        return Reason.RESULT_UNREADABLE
    if run.approval in _OUTSTANDING:
        return Reason.RESULT_UNREADABLE
    if report.check < report.minimum:
        return Reason.CHECKED_BELOW_MINIMUM
    return Reason.SAVED_AND_CHECKED


def _nothing_written(run: RunObserved, transaction: TransactionOutcome) -> Reason:
    pause: Pause = run.pause
    if isinstance(pause, RejectedPause):
        return Reason.STOPPED_BY_PERSON
    if run.approval is Approval.REQUIRED and not _speaks_of_a_save(pause):
        return Reason.APPROVAL_NEEDED
    match pause:
        case OpenPause(category=category):
            return PAUSE_REASONS[category]
        case PauseLookupFailed():
            return Reason.STOPPED_FOR_REVIEW
        case NoPause():
            return _NO_PAUSE[transaction]
        case _:  # pragma: no cover
            assert_never(pause)


def _speaks_of_a_save(pause: Pause) -> bool:
    return isinstance(pause, OpenPause) and pause.category in AFTER_DELIVERY
