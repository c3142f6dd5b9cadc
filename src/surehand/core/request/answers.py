"""What a call may be told when no engine's report says it: the evidence for each such case.

Laws of this module:

- Each function names evidence, and ``decide`` alone judges it.
- A record is told as it stands; nothing here improves on it.
"""

from typing import Final

from surehand.core.outcome.evidence import (
    Approval,
    CheckLevel,
    Delivery,
    Evidence,
    ExecutionOutcome,
    NoPause,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Report,
    ReportMissing,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord

#: A run that its owner still works on.
STILL_RUNNING: Final = RunObserved(ProcessFact.STILL_RUNNING, ReportMissing(), NoPause(), Approval.NOT_ASKED)

#: A run whose engine was never asked to execute it.
NOT_LAUNCHED: Final = RunObserved(ProcessFact.NOT_LAUNCHED, ReportMissing(), NoPause(), Approval.NOT_ASKED)

#: A run that its caller stopped before its engine was asked to execute it.
STOPPED_WHILE_WAITING: Final = RunObserved(
    ProcessFact.EXITED_CLEANLY,
    Report(
        TransactionOutcome.CANCELED,
        ExecutionOutcome.HALTED,
        success=False,
        delivery=Delivery.NOT_SENT,
        check=CheckLevel.UNCHECKED,
        minimum=CheckLevel.SAME_PAGE,
    ),
    NoPause(),
    Approval.NOT_ASKED,
)

#: A run whose engine ended without saying how.
NO_REPORT: Final = RunObserved(ProcessFact.EXITED_WITH_ERROR, ReportMissing(), NoPause(), Approval.NOT_ASKED)


def kept_answer(record: RunRecord) -> RunResult | Evidence:
    """What a record says by itself: its result, or the evidence that it cannot be read or that the run goes on."""
    if record.phase is not Phase.FINISHED:
        return STILL_RUNNING
    return RecordUnreadable() if record.result is None else record.result
