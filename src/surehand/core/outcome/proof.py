"""What evidence proves, from first principles: the yardstick that ``decide`` is measured with.

Laws of this module:

- Nothing here is taken from ``decide``, from ``is_consistent`` or from the reason table.
- Each part of the evidence is a witness and says at most what it can know. Something is proven when a competent witness
  says it and no witness says otherwise.
"""

from enum import IntFlag

from surehand.core.outcome.domain import Call, Circumstances
from surehand.core.outcome.evidence import (
    AnyReport,
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    EarlierAttempts,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    OwnerGone,
    PauseCategory,
    Phase,
    ProcessFact,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    TransactionOutcome,
)


class Testimony(IntFlag):
    """What witnesses say. The parts of one evidence are heard together: their testimonies are joined."""

    NONE = 0
    #: Says that nothing was written, without being able to know it alone.
    UNWRITTEN = 1
    #: Says that nothing was written, and can know it.
    PROVES_UNWRITTEN = 2
    #: Says that something was written, or may have been.
    WRITTEN = 4
    #: The process never executed the run.
    NEVER_EXECUTED = 8
    #: Something is there that only an execution leaves behind.
    TRACES = 16
    #: The run may go on, or went on unseen.
    NOT_SEEN_TO_END = 32
    #: A person has decided, or is asked to.
    A_PERSONS_TURN = 64


_TRANSACTIONS: dict[TransactionOutcome, Testimony] = {
    TransactionOutcome.VERIFIED: Testimony.WRITTEN,
    TransactionOutcome.SAVED_AWAITING_CHECK: Testimony.WRITTEN,
    TransactionOutcome.HALTED_BEFORE_EFFECT: Testimony.PROVES_UNWRITTEN,
    TransactionOutcome.REJECTED_POLICY: Testimony.PROVES_UNWRITTEN,
    TransactionOutcome.CANCELED: Testimony.PROVES_UNWRITTEN,
    TransactionOutcome.FAILED_PLATFORM: Testimony.PROVES_UNWRITTEN,
    TransactionOutcome.RECONCILIATION_REQUIRED: Testimony.WRITTEN,
    TransactionOutcome.COMPLETED_UNVERIFIED: Testimony.WRITTEN,
    TransactionOutcome.ROLLED_BACK: Testimony.WRITTEN,
    TransactionOutcome.NOT_STATED: Testimony.NONE,
}

_EXECUTIONS: dict[ExecutionOutcome, Testimony] = {
    ExecutionOutcome.VERIFIED: Testimony.WRITTEN,
    ExecutionOutcome.COMPLETED_UNVERIFIED: Testimony.WRITTEN,
    ExecutionOutcome.HALTED: Testimony.NONE,
    ExecutionOutcome.FAILED: Testimony.NONE,
    ExecutionOutcome.ROLLED_BACK: Testimony.WRITTEN,
}

_DELIVERIES: dict[Delivery, Testimony] = {
    Delivery.NOT_SENT: Testimony.PROVES_UNWRITTEN,
    Delivery.SENT_ONCE: Testimony.WRITTEN,
    Delivery.UNKNOWN: Testimony.WRITTEN,
    Delivery.NOT_MEASURED: Testimony.NONE,
}

_PROCESSES: dict[ProcessFact, Testimony] = {
    ProcessFact.NOT_LAUNCHED: Testimony.NEVER_EXECUTED | Testimony.PROVES_UNWRITTEN,
    ProcessFact.REFUSED_BEFORE_EXECUTION: Testimony.NEVER_EXECUTED | Testimony.PROVES_UNWRITTEN,
    ProcessFact.STILL_RUNNING: Testimony.NOT_SEEN_TO_END,
    ProcessFact.EXITED_CLEANLY: Testimony.NONE,
    ProcessFact.EXITED_WITH_ERROR: Testimony.NONE,
    ProcessFact.TIMED_OUT: Testimony.NOT_SEEN_TO_END,
}

_APPROVALS: dict[Approval, Testimony] = {
    Approval.NOT_ASKED: Testimony.NONE,
    Approval.GIVEN: Testimony.NONE,
    Approval.WAITING: Testimony.UNWRITTEN | Testimony.TRACES,
    Approval.REQUIRED: Testimony.UNWRITTEN | Testimony.TRACES | Testimony.A_PERSONS_TURN,
}

#: Pauses that can only arise once a save was sent.
_AFTER_A_SAVE = frozenset(
    {
        PauseCategory.DELIVERY_UNCERTAIN,
        PauseCategory.READBACK_PENDING,
        PauseCategory.EFFECT_ESCALATED,
        PauseCategory.EFFECT_INDETERMINATE,
        PauseCategory.EFFECT_REFUTED,
    }
)

#: Refusals that another call with the same request id meets again, or must not go round.
_NOT_TO_BE_RETRIED = frozenset({Refusal.RUNS_DISABLED, Refusal.REQUEST_ID_CONFLICT, Refusal.RETRY_LIMIT})


def heard_in_report(report: AnyReport) -> Testimony:
    """What a report says."""
    if isinstance(report, ReportMissing):
        return Testimony.NONE
    if not isinstance(report, Report):
        return Testimony.TRACES
    said = _TRANSACTIONS[report.transaction] | _EXECUTIONS[report.execution] | _DELIVERIES[report.delivery]
    return Testimony.TRACES | said | (Testimony.WRITTEN if report.success else Testimony.NONE)


def heard_in_circumstances(around: Circumstances) -> Testimony:
    """What process, pause and approval say."""
    said = _PROCESSES[around.process] | _APPROVALS[around.approval]
    if isinstance(around.pause, NoPause):
        return said
    if isinstance(around.pause, OpenPause | RejectedPause):
        said |= Testimony.TRACES
    if isinstance(around.pause, OpenPause) and around.pause.category in _AFTER_A_SAVE:
        said |= Testimony.WRITTEN
    return said | Testimony.A_PERSONS_TURN


def contradicts_itself(said: Testimony) -> bool:
    """Whether two witnesses cannot both be right."""
    unwritten = said & (Testimony.UNWRITTEN | Testimony.PROVES_UNWRITTEN)
    both = bool(unwritten) and Testimony.WRITTEN in said
    return both or Testimony.NEVER_EXECUTED | Testimony.TRACES in said


def proves_unwritten(said: Testimony) -> bool:
    """Whether a run is proven to have written nothing."""
    over = Testimony.NOT_SEEN_TO_END not in said
    return over and Testimony.PROVES_UNWRITTEN in said and not contradicts_itself(said)


def allows_retry(said: Testimony) -> bool:
    """Whether a run is proven to have written nothing, and no person has a say in what follows."""
    return proves_unwritten(said) and Testimony.A_PERSONS_TURN not in said


def report_proves_saved(report: AnyReport) -> bool:
    """Whether a report, as far as it goes, proves that the entry was saved: each part of it says so."""
    return (
        isinstance(report, Report)
        and report.transaction is TransactionOutcome.VERIFIED
        and report.execution is ExecutionOutcome.VERIFIED
        and report.success
        and report.delivery is not Delivery.NOT_SENT
        and report.check >= report.minimum > CheckLevel.UNCHECKED
    )


def circumstances_allow_done(around: Circumstances) -> bool:
    """Whether a run ended cleanly, with no pause in any state, and with no approval outstanding."""
    return (
        around.process is ProcessFact.EXITED_CLEANLY
        and isinstance(around.pause, NoPause)
        and around.approval in {Approval.NOT_ASKED, Approval.GIVEN}
    )


def call_wrote_nothing(call: Call) -> bool:
    """Whether this call, apart from earlier ones, is proven to have written nothing."""
    if isinstance(call, OwnerGone):
        return call.journaled and call.phase in {Phase.RESERVED, Phase.STARTED}
    return isinstance(call, CallRefused)


def call_proves_unwritten(call: Call) -> bool:
    """Whether this call and those before it under the request id are proven to have written nothing."""
    known = not isinstance(call, CallRefused) or call.earlier is not EarlierAttempts.UNKNOWN
    return known and call_wrote_nothing(call)


def call_allows_retry(call: Call) -> bool:
    """Whether another call with the same request id is safe, and may get further than this one."""
    refused_for_good = isinstance(call, CallRefused) and call.refusal in _NOT_TO_BE_RETRIED
    return call_proves_unwritten(call) and not refused_for_good
