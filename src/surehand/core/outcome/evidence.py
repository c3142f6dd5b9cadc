"""What can be known about one call, as a closed and finite type.

Laws of this module:

- Every value here is an enum or a frozen class of enums and booleans, so that the whole domain can be enumerated
  (``surehand audit`` does).
- Nothing here names an outcome. Engines produce evidence; only ``decide`` judges it.
- Nothing here holds text that was observed, typed or configured.
"""

from enum import Enum, IntEnum, unique

from attrs import frozen


@unique
class Refusal(Enum):
    """Why a call never reached an engine."""

    INVALID_INPUT = "invalid_input"
    UNKNOWN_WORKFLOW = "unknown_workflow"
    RUNS_DISABLED = "runs_disabled"
    WORKFLOW_UNAVAILABLE = "workflow_unavailable"
    REQUEST_ID_CONFLICT = "request_id_conflict"
    RETRY_LIMIT = "retry_limit"
    NOT_READY_TO_RUN = "not_ready_to_run"
    APP_UNREACHABLE = "app_unreachable"
    ENGINE_UNAVAILABLE = "engine_unavailable"
    STORE_UNAVAILABLE = "store_unavailable"


@unique
class EarlierAttempts(Enum):
    """What the attempts before this call, under the same request id, prove.

    ``UNKNOWN`` covers an attempt that may have written, one that still runs, and a history that could not be read.
    """

    NONE = "none"
    NOTHING_WRITTEN = "nothing_written"
    UNKNOWN = "unknown"


@unique
class Phase(Enum):
    """The durable phases of a run, in their only order."""

    RESERVED = "reserved"
    STARTED = "started"
    DELIVERING = "delivering"
    FINISHED = "finished"


@unique
class ProcessFact(Enum):
    """What is known about the process that executed the run."""

    NOT_LAUNCHED = "not_launched"
    REFUSED_BEFORE_EXECUTION = "refused_before_execution"
    STILL_RUNNING = "still_running"
    EXITED_CLEANLY = "exited_cleanly"
    EXITED_WITH_ERROR = "exited_with_error"
    TIMED_OUT = "timed_out"


@unique
class TransactionOutcome(Enum):
    """What an engine's report says about the business record.

    ``NOT_STATED`` is a report without the field: a legacy or a coarse one.
    """

    VERIFIED = "VERIFIED"
    SAVED_AWAITING_CHECK = "SAVED_AWAITING_CHECK"
    HALTED_BEFORE_EFFECT = "HALTED_BEFORE_EFFECT"
    REJECTED_POLICY = "REJECTED_POLICY"
    CANCELED = "CANCELED"
    FAILED_PLATFORM = "FAILED_PLATFORM"
    RECONCILIATION_REQUIRED = "RECONCILIATION_REQUIRED"
    COMPLETED_UNVERIFIED = "COMPLETED_UNVERIFIED"
    ROLLED_BACK = "ROLLED_BACK"
    NOT_STATED = "NOT_STATED"


@unique
class ExecutionOutcome(Enum):
    """How the execution of the steps ended, apart from the record."""

    VERIFIED = "VERIFIED"
    COMPLETED_UNVERIFIED = "COMPLETED_UNVERIFIED"
    HALTED = "HALTED"
    FAILED = "FAILED"
    ROLLED_BACK = "ROLLED_BACK"


@unique
class Delivery(Enum):
    """What the write fence measured at the network; ``NOT_MEASURED`` for engines without a fence."""

    NOT_SENT = "not_sent"
    SENT_ONCE = "sent_once"
    UNKNOWN = "unknown"
    NOT_MEASURED = "not_measured"


@unique
class CheckLevel(IntEnum):
    """How independent the read-back was of the page that saved, weakest first."""

    UNCHECKED = 0
    SAME_PAGE = 1
    REOPENED = 2
    SEPARATE_SESSION = 3
    SYSTEM_OF_RECORD = 4


#: The minimum levels that a workflow may ask for: a workflow cannot ask for no check.
MINIMUM_LEVELS = tuple(level for level in CheckLevel if level is not CheckLevel.UNCHECKED)


@unique
class PauseCategory(Enum):
    """Why a run stopped and waits."""

    IDENTITY = "identity"
    DISAMBIGUATION = "disambiguation"
    RESOLUTION = "resolution"
    HUMAN_REQUIRED = "human_required"
    EFFECT_ESCALATED = "effect_escalated"
    EFFECT_INDETERMINATE = "effect_indeterminate"
    EFFECT_REFUTED = "effect_refuted"
    EFFECT_UNVERIFIABLE = "effect_unverifiable"
    PLACEHOLDER_EFFECT = "placeholder_effect"
    DELIVERY_UNCERTAIN = "delivery_uncertain"
    UNMET_GUARD = "unmet_guard"
    POSTCONDITION = "postcondition"
    HALT = "halt"
    ITEM_APPROVAL = "item_approval"
    ITEM_DECLINED = "item_declined"
    BUSINESS_DECISION = "business_decision"
    READBACK_PENDING = "readback_pending"
    OPERATOR_REVIEW = "operator_review"
    POSSIBLE_DUPLICATE = "possible_duplicate"


@frozen
class NoPause:
    """The look-up succeeded and found no pause."""


@frozen
class OpenPause:
    """A durable pause waits for a person."""

    category: PauseCategory


@frozen
class RejectedPause:
    """A person rejected the pause."""


@frozen
class PauseLookupFailed:
    """The look-up failed. It counts as an open pause."""


Pause = NoPause | OpenPause | RejectedPause | PauseLookupFailed


@unique
class Approval(Enum):
    """The state of an approval that a person gives before the save."""

    NOT_ASKED = "not_asked"
    GIVEN = "given"
    WAITING = "waiting"
    REQUIRED = "required"


@frozen
class ReportMissing:
    """The engine left no report."""


@frozen
class ReportUnreadable:
    """A report is there and does not parse, or holds a value outside the closed sets."""


@frozen
class Report:
    """A report that parses.

    ``success`` is the engine's own flag; ``check`` is the level that the read-back reached and ``minimum`` the one that
    the workflow asks for.
    """

    transaction: TransactionOutcome
    execution: ExecutionOutcome
    success: bool
    delivery: Delivery
    check: CheckLevel
    minimum: CheckLevel


AnyReport = ReportMissing | ReportUnreadable | Report


@frozen
class CallRefused:
    """The call ended before an engine was asked to execute anything."""

    refusal: Refusal
    earlier: EarlierAttempts


@frozen
class OwnerGone:
    """The process that owned the run is proven gone.

    ``journaled`` says whether the engine passes the delivery boundary durably before it writes; an external engine does
    not.
    """

    phase: Phase
    journaled: bool


@frozen
class RecordUnreadable:
    """A stored record does not satisfy the contract."""


@frozen
class RunObserved:
    """An engine was asked to execute the run."""

    process: ProcessFact
    report: AnyReport
    pause: Pause
    approval: Approval


Evidence = CallRefused | OwnerGone | RecordUnreadable | RunObserved

#: Transaction outcomes that say that nothing was written.
PROVEN_NO_EFFECT = frozenset(
    {
        TransactionOutcome.HALTED_BEFORE_EFFECT,
        TransactionOutcome.REJECTED_POLICY,
        TransactionOutcome.CANCELED,
        TransactionOutcome.FAILED_PLATFORM,
    }
)

#: Pauses that speak of a save that was already sent; they contradict a report that nothing was written.
AFTER_DELIVERY = frozenset(
    {
        PauseCategory.DELIVERY_UNCERTAIN,
        PauseCategory.READBACK_PENDING,
        PauseCategory.EFFECT_ESCALATED,
        PauseCategory.EFFECT_INDETERMINATE,
        PauseCategory.EFFECT_REFUTED,
    }
)

#: The execution outcomes that each transaction outcome may stand beside.
_EXECUTIONS: dict[TransactionOutcome, frozenset[ExecutionOutcome]] = {
    TransactionOutcome.VERIFIED: frozenset({ExecutionOutcome.VERIFIED}),
    TransactionOutcome.SAVED_AWAITING_CHECK: frozenset(
        {ExecutionOutcome.COMPLETED_UNVERIFIED, ExecutionOutcome.HALTED}
    ),
    TransactionOutcome.HALTED_BEFORE_EFFECT: frozenset({ExecutionOutcome.HALTED}),
    TransactionOutcome.REJECTED_POLICY: frozenset({ExecutionOutcome.HALTED, ExecutionOutcome.FAILED}),
    TransactionOutcome.CANCELED: frozenset({ExecutionOutcome.HALTED, ExecutionOutcome.FAILED}),
    TransactionOutcome.FAILED_PLATFORM: frozenset({ExecutionOutcome.FAILED, ExecutionOutcome.HALTED}),
    TransactionOutcome.RECONCILIATION_REQUIRED: frozenset(
        {ExecutionOutcome.HALTED, ExecutionOutcome.FAILED, ExecutionOutcome.COMPLETED_UNVERIFIED}
    ),
    TransactionOutcome.COMPLETED_UNVERIFIED: frozenset({ExecutionOutcome.COMPLETED_UNVERIFIED}),
    TransactionOutcome.ROLLED_BACK: frozenset({ExecutionOutcome.ROLLED_BACK}),
    TransactionOutcome.NOT_STATED: frozenset(
        {ExecutionOutcome.COMPLETED_UNVERIFIED, ExecutionOutcome.HALTED, ExecutionOutcome.FAILED}
    ),
}

#: The values of ``success`` that each execution outcome may stand beside.
_SUCCESS: dict[ExecutionOutcome, frozenset[bool]] = {
    ExecutionOutcome.VERIFIED: frozenset({True}),
    ExecutionOutcome.COMPLETED_UNVERIFIED: frozenset({True, False}),
    ExecutionOutcome.HALTED: frozenset({False}),
    ExecutionOutcome.FAILED: frozenset({False}),
    ExecutionOutcome.ROLLED_BACK: frozenset({False}),
}

#: Deliveries that a transaction outcome may stand beside; an engine without a fence may say anything.
_SENT = frozenset({Delivery.SENT_ONCE, Delivery.UNKNOWN, Delivery.NOT_MEASURED})
_UNSENT = frozenset({Delivery.NOT_SENT, Delivery.NOT_MEASURED})


def is_consistent(report: Report) -> bool:
    """Whether the fields of a report agree with one another.

    A report that claims more than its own parts carry is not evidence. A workflow cannot ask for no check, so a report
    without a minimum is none either.
    """
    return (
        report.minimum in MINIMUM_LEVELS
        and report.execution in _EXECUTIONS[report.transaction]
        and report.success in _SUCCESS[report.execution]
        and report.delivery in _deliveries(report.transaction)
        and (report.transaction is not TransactionOutcome.VERIFIED or report.check is not CheckLevel.UNCHECKED)
    )


def _deliveries(transaction: TransactionOutcome) -> frozenset[Delivery]:
    if transaction in PROVEN_NO_EFFECT:
        return _UNSENT
    if transaction is TransactionOutcome.VERIFIED:
        return _SENT
    return frozenset(Delivery)
