"""The yardstick of the audit, stated anew: what each witness says, and what all of them together prove."""

from itertools import compress, product

import pytest

from surehand.core.outcome.domain import (
    CALLS,
    CIRCUMSTANCES,
    REPORTS,
    Circumstances,
    weaker_calls,
    weaker_circumstances,
    weaker_reports,
)
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
    PauseLookupFailed,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    ReportUnreadable,
    TransactionOutcome,
)
from surehand.core.outcome.proof import Testimony as Said
from surehand.core.outcome.proof import (
    allows_retry,
    call_allows_retry,
    call_proves_unwritten,
    call_wrote_nothing,
    circumstances_allow_done,
    contradicts_itself,
    heard_in_circumstances,
    heard_in_report,
    proves_unwritten,
    report_proves_saved,
)

#: What an engine's report may call its end when nothing was written; of the others one states nothing at all.
UNWRITTEN = {"HALTED_BEFORE_EFFECT", "REJECTED_POLICY", "CANCELED", "FAILED_PLATFORM"}

#: The pauses of a run that wrote already.
AFTER_A_SAVE = {
    "delivery_uncertain",
    "readback_pending",
    "effect_escalated",
    "effect_indeterminate",
    "effect_refuted",
}

#: Every set of testimonies; under their own name pytest takes them for tests.
SETS = [frozenset(compress(Said, chosen)) for chosen in product((False, True), repeat=len(Said))]


def joined(said: frozenset[Said]) -> Said:
    """Testimonies that are heard together."""
    together = Said.NONE
    for each in said:
        together |= each
    return together


def of_report(report: AnyReport) -> frozenset[Said]:
    """What a report says, part by part."""
    if isinstance(report, ReportMissing):
        return frozenset()
    if isinstance(report, ReportUnreadable):
        return frozenset({Said.TRACES})
    transaction, execution = report.transaction.name, report.execution.name
    parts = {
        Said.TRACES: True,
        Said.PROVES_UNWRITTEN: transaction in UNWRITTEN or report.delivery.value == "not_sent",
        Said.WRITTEN: transaction not in {*UNWRITTEN, "NOT_STATED"}
        or execution in {"VERIFIED", "COMPLETED_UNVERIFIED", "ROLLED_BACK"}
        or report.delivery.value in {"sent_once", "unknown"}
        or report.success,
    }
    return frozenset(said for said, holds in parts.items() if holds)


def of_circumstances(around: Circumstances) -> frozenset[Said]:
    """What process, pause and approval say, part by part."""
    process, approval = around.process.value, around.approval.value
    never = process in {"not_launched", "refused_before_execution"}
    parts = {
        Said.NEVER_EXECUTED: never,
        Said.PROVES_UNWRITTEN: never,
        Said.NOT_SEEN_TO_END: process in {"still_running", "timed_out"},
        Said.UNWRITTEN: approval in {"waiting", "required"},
        Said.TRACES: approval in {"waiting", "required"} or isinstance(around.pause, OpenPause | RejectedPause),
        Said.A_PERSONS_TURN: approval == "required" or not isinstance(around.pause, NoPause),
        Said.WRITTEN: isinstance(around.pause, OpenPause) and around.pause.category.value in AFTER_A_SAVE,
    }
    return frozenset(said for said, holds in parts.items() if holds)


class TestWitnesses:
    """Each part of the evidence says what it can know and nothing else."""

    def test_every_testimony_is_one_of_its_own(self) -> None:
        assert 2**7 == len({joined(said) for said in SETS})

    def test_every_report(self) -> None:
        for report in REPORTS:
            assert joined(of_report(report)) == heard_in_report(report)

    def test_all_circumstances(self) -> None:
        for around in CIRCUMSTANCES:
            assert joined(of_circumstances(around)) == heard_in_circumstances(around)


def contradictory(said: frozenset[Said]) -> bool:
    """Whether it was written and was not, or was never executed and left something behind."""
    unwritten = bool(said & {Said.UNWRITTEN, Said.PROVES_UNWRITTEN})
    return (unwritten and Said.WRITTEN in said) or said >= {Said.NEVER_EXECUTED, Said.TRACES}


class TestWhatIsProven:
    """Something is proven when one who can know it says so and nobody says otherwise."""

    @pytest.mark.parametrize("said", SETS, ids=lambda said: "+".join(sorted(each.name or "" for each in said)))
    def test_by_every_set_of_testimonies(self, said: frozenset[Said]) -> None:
        refuted = contradictory(said)
        unwritten = not refuted and Said.PROVES_UNWRITTEN in said and Said.NOT_SEEN_TO_END not in said

        assert refuted is contradicts_itself(joined(said))
        assert unwritten is proves_unwritten(joined(said))
        assert (unwritten and Said.A_PERSONS_TURN not in said) is allows_retry(joined(said))

    def test_a_save_by_a_report(self) -> None:
        saved = {
            Report(TransactionOutcome.VERIFIED, ExecutionOutcome.VERIFIED, True, delivery, check, minimum)
            for delivery in (Delivery.SENT_ONCE, Delivery.UNKNOWN, Delivery.NOT_MEASURED)
            for minimum in tuple(CheckLevel)[1:]
            for check in tuple(CheckLevel)[minimum:]
        }

        assert saved == {report for report in REPORTS if report_proves_saved(report)}

    def test_an_end_that_allows_done(self) -> None:
        allowed = {
            Circumstances(ProcessFact.EXITED_CLEANLY, NoPause(), approval)
            for approval in (Approval.NOT_ASKED, Approval.GIVEN)
        }

        assert allowed == {around for around in CIRCUMSTANCES if circumstances_allow_done(around)}

    def test_by_a_call_without_a_run(self) -> None:
        gone = {OwnerGone(phase, journaled=True) for phase in (Phase.RESERVED, Phase.STARTED)}
        refused = {CallRefused(*parts) for parts in product(Refusal, EarlierAttempts)}
        known = {call for call in refused if call.earlier in {EarlierAttempts.NONE, EarlierAttempts.NOTHING_WRITTEN}}
        for_good = {Refusal.RUNS_DISABLED, Refusal.REQUEST_ID_CONFLICT, Refusal.RETRY_LIMIT}

        assert gone | refused == {call for call in CALLS if call_wrote_nothing(call)}
        assert gone | known == {call for call in CALLS if call_proves_unwritten(call)}
        again = gone | {call for call in known if call.refusal not in for_good}
        assert again == {call for call in CALLS if call_allows_retry(call)}


#: What a fact becomes when it is lost.
DELIVERIES: dict[str, set[str]] = {
    "not_sent": {"not_measured"},
    "sent_once": {"not_measured"},
    "not_measured": {"unknown"},
    "unknown": set(),
}
PROCESSES: dict[str, set[str]] = {
    "not_launched": {"exited_with_error"},
    "refused_before_execution": {"exited_with_error"},
    "exited_cleanly": {"exited_with_error"},
    "exited_with_error": {"timed_out"},
    "timed_out": set(),
    "still_running": set(),
}
PHASES: dict[str, set[str]] = {
    "reserved": {"started"},
    "started": {"delivering"},
    "delivering": set(),
    "finished": set(),
}


class TestOneFactLess:
    """Taking one fact away leaves all others as they are, and no fact that can be lost is left out."""

    def test_of_every_report(self) -> None:
        for report in REPORTS:
            less = tuple(weaker_reports(report))
            if not isinstance(report, Report):
                assert () == less
                continue
            base = (report.transaction, report.execution, report.success, report.delivery, report.check, report.minimum)
            expected: set[AnyReport] = {ReportMissing(), ReportUnreadable()}
            expected |= {Report(*base[:3], Delivery(other), *base[4:]) for other in DELIVERIES[report.delivery.value]}
            if report.transaction.name != "NOT_STATED":
                expected.add(Report(TransactionOutcome.NOT_STATED, *base[1:]))
            if report.check > 0:
                expected.add(Report(*base[:4], CheckLevel(report.check - 1), report.minimum))

            assert (len(expected), expected) == (len(less), set(less))

    def test_of_all_circumstances(self) -> None:
        for around in CIRCUMSTANCES:
            process, pause, approval = around.process, around.pause, around.approval
            expected = {Circumstances(ProcessFact(other), pause, approval) for other in PROCESSES[process.value]}
            if not isinstance(pause, PauseLookupFailed):
                expected.add(Circumstances(process, PauseLookupFailed(), approval))
            less = tuple(weaker_circumstances(around))

            assert (len(expected), expected) == (len(less), set(less))

    def test_of_every_call(self) -> None:
        unknown = EarlierAttempts.UNKNOWN
        for call in CALLS:
            expected: set[object] = set()
            if isinstance(call, CallRefused) and call.earlier is not unknown:
                expected = {CallRefused(call.refusal, unknown)}
            if isinstance(call, OwnerGone):
                expected = {OwnerGone(Phase(other), call.journaled) for other in PHASES[call.phase.value]}
                expected |= {OwnerGone(call.phase, journaled=False)} if call.journaled else set()
                expected.add(RecordUnreadable())
            less = tuple(weaker_calls(call))

            assert (len(expected), expected) == (len(less), set(less))

    def test_the_pauses_after_a_save_are_among_the_categories(self) -> None:
        assert {category.value for category in PauseCategory} > AFTER_A_SAVE
