"""Which reports agree with themselves, stated anew and held against every report there is."""

from itertools import product

from surehand.core.outcome.evidence import (
    MINIMUM_LEVELS,
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    Report,
    TransactionOutcome,
    is_consistent,
)

#: What a report may say together: how the execution ended, and whether the engine calls it a success.
BESIDE: dict[TransactionOutcome, set[tuple[ExecutionOutcome, bool]]] = {
    TransactionOutcome.VERIFIED: {(ExecutionOutcome.VERIFIED, True)},
    TransactionOutcome.SAVED_AWAITING_CHECK: {
        (ExecutionOutcome.COMPLETED_UNVERIFIED, True),
        (ExecutionOutcome.COMPLETED_UNVERIFIED, False),
        (ExecutionOutcome.HALTED, False),
    },
    TransactionOutcome.HALTED_BEFORE_EFFECT: {(ExecutionOutcome.HALTED, False)},
    TransactionOutcome.REJECTED_POLICY: {(ExecutionOutcome.HALTED, False), (ExecutionOutcome.FAILED, False)},
    TransactionOutcome.CANCELED: {(ExecutionOutcome.HALTED, False), (ExecutionOutcome.FAILED, False)},
    TransactionOutcome.FAILED_PLATFORM: {(ExecutionOutcome.HALTED, False), (ExecutionOutcome.FAILED, False)},
    TransactionOutcome.RECONCILIATION_REQUIRED: {
        (ExecutionOutcome.COMPLETED_UNVERIFIED, True),
        (ExecutionOutcome.COMPLETED_UNVERIFIED, False),
        (ExecutionOutcome.HALTED, False),
        (ExecutionOutcome.FAILED, False),
    },
    TransactionOutcome.COMPLETED_UNVERIFIED: {
        (ExecutionOutcome.COMPLETED_UNVERIFIED, True),
        (ExecutionOutcome.COMPLETED_UNVERIFIED, False),
    },
    TransactionOutcome.ROLLED_BACK: {(ExecutionOutcome.ROLLED_BACK, False)},
    TransactionOutcome.NOT_STATED: {
        (ExecutionOutcome.COMPLETED_UNVERIFIED, True),
        (ExecutionOutcome.COMPLETED_UNVERIFIED, False),
        (ExecutionOutcome.HALTED, False),
        (ExecutionOutcome.FAILED, False),
    },
}

#: What the fence measured where a report says that nothing was written, and where it says that a save was verified.
UNSENT = {Delivery.NOT_SENT, Delivery.NOT_MEASURED}
SENT = {Delivery.SENT_ONCE, Delivery.UNKNOWN, Delivery.NOT_MEASURED}
DELIVERIES: dict[TransactionOutcome, set[Delivery]] = {
    TransactionOutcome.VERIFIED: SENT,
    TransactionOutcome.SAVED_AWAITING_CHECK: set(Delivery),
    TransactionOutcome.HALTED_BEFORE_EFFECT: UNSENT,
    TransactionOutcome.REJECTED_POLICY: UNSENT,
    TransactionOutcome.CANCELED: UNSENT,
    TransactionOutcome.FAILED_PLATFORM: UNSENT,
    TransactionOutcome.RECONCILIATION_REQUIRED: set(Delivery),
    TransactionOutcome.COMPLETED_UNVERIFIED: set(Delivery),
    TransactionOutcome.ROLLED_BACK: set(Delivery),
    TransactionOutcome.NOT_STATED: set(Delivery),
}


class TestAConsistentReport:
    """A report is evidence only when none of its fields says what another denies."""

    def test_every_report_there_is(self) -> None:
        consistent = 0
        for transaction, execution, success, delivery, check, minimum in product(
            TransactionOutcome, ExecutionOutcome, (True, False), Delivery, CheckLevel, CheckLevel
        ):
            agrees = (
                (execution, success) in BESIDE[transaction]
                and delivery in DELIVERIES[transaction]
                and minimum > CheckLevel.UNCHECKED
                and not (transaction is TransactionOutcome.VERIFIED and check == CheckLevel.UNCHECKED)
            )

            assert agrees == is_consistent(Report(transaction, execution, success, delivery, check, minimum))
            consistent += agrees

        assert 1_448 == consistent

    def test_every_level_but_none_is_one_that_a_workflow_may_demand(self) -> None:
        assert tuple(CheckLevel)[1:] == MINIMUM_LEVELS
