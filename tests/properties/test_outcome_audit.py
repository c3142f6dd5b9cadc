"""The audit over the whole domain of evidence, and proof that it catches a judge that claims too much."""

from collections.abc import Iterable
from math import prod
from typing import Any

import pytest
from attrs import evolve
from coverage import Coverage

from support.outcome_strategies import (
    FALSE_JUDGES,
    Judge,
    exited,
    ignores_a_failed_lookup,
    prefers_no_fence,
    stopped,
    trusts_the_exit_code,
    verified,
)
from surehand.core import wire
from surehand.core.outcome.audit import EXAMPLES, AuditReport, Claim, audit, check_claims, claims_in
from surehand.core.outcome.decide import decide
from surehand.core.outcome.domain import (
    CALLS,
    CIRCUMSTANCES,
    PAUSES,
    REPORTS,
    WHOLE,
    Domain,
    order,
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
    Evidence,
    ExecutionOutcome,
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
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.proof import contradicts_itself, heard_in_circumstances, heard_in_report
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import CheckedHow, EngineName, RunResult, answer_of

_EXECUTIONS = {ExecutionOutcome.VERIFIED, ExecutionOutcome.HALTED, ExecutionOutcome.ROLLED_BACK}
_CATEGORIES = {
    PauseCategory.IDENTITY,
    PauseCategory.RESOLUTION,
    PauseCategory.HUMAN_REQUIRED,
    PauseCategory.PLACEHOLDER_EFFECT,
    PauseCategory.DELIVERY_UNCERTAIN,
    PauseCategory.POSSIBLE_DUPLICATE,
}

#: Small enough for many audits, closed under taking facts away, and wide enough that every reason is reached.
SMALL = Domain(
    reports=tuple(
        report
        for report in REPORTS
        if not isinstance(report, Report)
        or (
            report.execution in _EXECUTIONS
            and report.success is (report.execution is ExecutionOutcome.VERIFIED)
            and report.check <= report.minimum
            and report.minimum is CheckLevel.REOPENED
        )
    ),
    circumstances=tuple(
        around
        for around in CIRCUMSTANCES
        if not isinstance(around.pause, OpenPause) or around.pause.category in _CATEGORIES
    ),
)


#: Evidence of every kind, and how a finding tells it.
CODES = [
    (CallRefused(Refusal.RETRY_LIMIT, EarlierAttempts.UNKNOWN), "refused: retry_limit, earlier attempts unknown"),
    (OwnerGone(Phase.STARTED, journaled=True), "owner gone: started, journaled"),
    (OwnerGone(Phase.RESERVED, journaled=False), "owner gone: reserved, not journaled"),
    (RecordUnreadable(), "record unreadable"),
    (exited(ReportUnreadable()), "exited_cleanly; report unreadable; no pause; approval not_asked"),
    (
        evolve(exited(ReportMissing()), pause=RejectedPause(), approval=Approval.GIVEN),
        "exited_cleanly; report missing; pause rejected; approval given",
    ),
    (
        evolve(exited(ReportMissing()), pause=PauseLookupFailed(), process=ProcessFact.TIMED_OUT),
        "timed_out; report missing; pause look-up failed; approval not_asked",
    ),
    (
        evolve(exited(verified(CheckLevel.SAME_PAGE)), pause=OpenPause(PauseCategory.IDENTITY)),
        (
            "exited_cleanly; report VERIFIED, execution VERIFIED, success, sent_once, check same_page of reopened; "
            "pause identity; approval not_asked"
        ),
    ),
    (
        exited(stopped(TransactionOutcome.CANCELED)),
        (
            "exited_cleanly; report CANCELED, execution HALTED, no success, not_measured, check unchecked of reopened; "
            "no pause; approval not_asked"
        ),
    ),
]


@pytest.fixture(scope="session")
def whole() -> AuditReport:
    """The audit of the whole domain, made once.

    It is not measured for coverage: that would take minutes, and the smaller audits run through the same lines.
    """
    measuring = Coverage.current()
    if measuring is not None:
        measuring.stop()
    try:
        return audit()
    finally:
        if measuring is not None:
            measuring.start()


def _violated(report: AuditReport) -> frozenset[int]:
    return frozenset(finding.number for finding in report.findings if finding.violations)


class TestTheDomain:
    """Nothing is sampled and nothing left out."""

    def test_the_domain_is_the_product_of_everything_that_can_be_known(self) -> None:
        kinds: tuple[Iterable[object], ...] = (
            TransactionOutcome,
            ExecutionOutcome,
            (True, False),
            Delivery,
            CheckLevel,
            CheckLevel,
        )
        reports = 2 + prod(len(list(kind)) for kind in kinds)
        runs = len(ProcessFact) * reports * (3 + len(PauseCategory)) * len(Approval)
        calls = len(Refusal) * len(EarlierAttempts) + len(Phase) * 2 + 1

        assert runs + calls == WHOLE.size

    def test_no_value_of_the_domain_stands_in_it_twice(self) -> None:
        for items in (REPORTS, CIRCUMSTANCES, CALLS, PAUSES):
            assert len(items) == len(set(items))

    def test_every_case_is_counted_under_exactly_one_reason(self, whole: AuditReport) -> None:
        assert WHOLE.size == whole.domain_size == sum(row.cases for row in whole.rows)
        assert list(Reason) == [row.reason for row in whole.rows]

    def test_a_place_of_the_product_gives_back_its_run(self) -> None:
        few = Domain(REPORTS[:3], CIRCUMSTANCES)

        assert few.runs == len({few.run_at(index) for index in range(few.runs)})

    def test_progress_is_told_up_to_the_last_value(self) -> None:
        told: list[int] = []
        few = Domain(REPORTS[:2], CIRCUMSTANCES)
        audit(domain=few, progress=told.append)

        assert few.size == told[-1]
        assert sorted(told) == told


class TestTheInvariants:
    """What must hold for every evidence there is."""

    @pytest.mark.parametrize("number", [1, 2, 3, 4])
    def test_invariant_holds_over_the_whole_domain(self, whole: AuditReport, number: int) -> None:
        finding = whole.findings[number - 1]

        assert (number, 0, ()) == (finding.number, finding.violations, finding.examples)

    def test_invariants_1_and_2_and_3_are_checked_on_every_value(self, whole: AuditReport) -> None:
        assert all(finding.cases >= whole.domain_size for finding in whole.findings[:3])

    def test_no_violation_means_none_in_sum(self, whole: AuditReport) -> None:
        assert whole.violations == 0


class TestTheAuditCatches:
    """An audit that nothing fails proves nothing."""

    def test_the_true_judge_passes_the_smaller_audit(self) -> None:
        report = audit(decide, SMALL)

        assert frozenset() == _violated(report)
        assert SMALL.size == report.domain_size == sum(row.cases for row in report.rows)
        assert list(Reason) == [row.reason for row in report.rows]
        assert all(row.cases for row in report.rows)

    @pytest.mark.parametrize("judge", FALSE_JUDGES, ids=lambda judge: judge.__name__)
    def test_a_false_judge(self, judge: Judge) -> None:
        report = audit(judge, SMALL)

        assert FALSE_JUDGES[judge] == _violated(report)
        assert report.violations > 0

    def test_a_finding_shows_a_few_examples_in_closed_codes(self) -> None:
        finding = audit(trusts_the_exit_code, SMALL).findings[0]

        assert 5 == EXAMPLES == len(finding.examples) < finding.violations
        assert (
            "exited_cleanly; report missing; no pause; approval not_asked -> saved_and_checked" == finding.examples[0]
        )

    @pytest.mark.parametrize(("evidence", "codes"), CODES)
    def test_each_evidence_is_told_in_closed_codes(self, evidence: Evidence, codes: str) -> None:
        def trusts_it(other: Evidence) -> Reason:
            return Reason.SAVED_AND_CHECKED if other == evidence else decide(other)

        told = evidence.report if isinstance(evidence, RunObserved) else ReportMissing()
        finding = audit(trusts_it, Domain(_closed(told), SMALL.circumstances)).findings[0]

        assert (1, (f"{codes} -> saved_and_checked",)) == (finding.violations, finding.examples)

    def test_every_engine_that_can_have_given_an_answer_is_tried(self) -> None:
        few = Domain(_closed(verified()), SMALL.circumstances)
        executed = {answer_of(decide(run), run) for run in map(few.run_at, range(few.runs))}
        refused = {answer_of(decide(call), call) for call in CALLS}
        engines = [engine for engine in EngineName if engine is not EngineName.NONE]
        broken = audit(trusts_the_exit_code, SMALL).findings[3]

        assert len(Reason) + len(engines) * len(executed) + len(EngineName) * len(refused) == (
            audit(decide, few).findings[3].cases
        )
        assert [f"saved_and_checked by {engine.value}" for engine in engines] == list(broken.examples[-3:])

    def test_a_wire_form_that_loses_the_time_of_a_check(self) -> None:
        real = wire.to_wire
        with pytest.MonkeyPatch.context() as patch:

            def forgets(result: RunResult) -> dict[str, object]:
                return {name: value for name, value in real(result).items() if name != "checked_at"}

            patch.setattr(wire, "to_wire", forgets)

            assert "saved_and_checked by browser" in audit(decide, SMALL).findings[3].examples


class TestClaims:
    """The claims of an answer are those parts of it that say what became of the record, each of them by itself."""

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({}, Claim(0)),
            ({"outcome": Outcome.DONE}, Claim.SAVED),
            ({"record_changed": RecordChanged.YES}, Claim.RECORD_CHANGED),
            ({"record_changed": RecordChanged.NO}, Claim.NOTHING_WRITTEN),
            ({"outcome": Outcome.DID_NOT_RUN}, Claim.CALL_WROTE_NOTHING),
            ({"safe_to_retry": True}, Claim.SAFE_TO_RETRY),
        ],
    )
    def test_each_by_itself(self, change: dict[str, Any], expected: Claim) -> None:
        unread = RecordUnreadable()
        answer = answer_of(decide(unread), unread)

        assert expected == claims_in(evolve(answer, claims=evolve(answer.claims, **change)))

    @pytest.mark.parametrize("level", CheckLevel)
    def test_a_check_claims_its_level_and_those_below(self, level: CheckLevel) -> None:
        unread = RecordUnreadable()
        answer = evolve(answer_of(decide(unread), unread), checked_how=CheckedHow[level.name])

        assert sum(1 << lower for lower in range(level)) == check_claims(answer)


class TestLessEvidence:
    """Taking facts away puts none in their place."""

    def test_what_lies_beneath_is_what_any_number_of_losses_leads_to(self) -> None:
        reports = order(SMALL.reports, weaker_reports)
        for place, beneath in enumerate(reports.beneath):
            through = {further for less in reports.below[place] for further in (less, *reports.beneath[less])}
            assert through == beneath

    def test_nothing_lies_beneath_itself(self) -> None:
        for made in (
            order(SMALL.reports, weaker_reports),
            order(CIRCUMSTANCES, weaker_circumstances),
            order(CALLS, weaker_calls),
        ):
            assert not any(place in beneath for place, beneath in enumerate(made.beneath))

    def test_upwards_puts_each_place_after_those_beneath_it(self) -> None:
        made = order(SMALL.reports, weaker_reports)
        rank = {place: number for number, place in enumerate(made.upwards)}

        assert all(rank[less] < rank[place] for place, beneath in enumerate(made.beneath) for less in beneath)

    def test_a_lost_measurement_is_less_than_none_that_was_made(self) -> None:
        measured = next(report for report in REPORTS if isinstance(report, Report))
        unmeasured = evolve(measured, delivery=Delivery.NOT_MEASURED)

        assert evolve(measured, delivery=Delivery.UNKNOWN) in weaker_reports(unmeasured)
        assert unmeasured not in weaker_reports(evolve(measured, delivery=Delivery.UNKNOWN))

    def test_the_comparison_of_whole_rows_agrees_with_one_of_pairs(self) -> None:
        """The audit joins whole rows; here each pair of a small domain is compared by itself."""
        reports = _closed(verified(), evolve(stopped(TransactionOutcome.CANCELED), delivery=Delivery.NOT_SENT))
        few = Domain(reports, SMALL.circumstances)
        for judge in (decide, trusts_the_exit_code, ignores_a_failed_lookup, prefers_no_fence):
            finding = audit(judge, few).findings[2]
            pairs, strengthened = _compared_one_by_one(judge, few)

            assert (pairs + few.size, strengthened) == (finding.cases, finding.violations)


def _closed(*reports: AnyReport) -> tuple[AnyReport, ...]:
    """The reports and all that lies beneath them."""
    found = dict.fromkeys(reports)
    waiting = list(reports)
    while waiting:
        for less in weaker_reports(waiting.pop()):
            if less not in found:
                found[less] = None
                waiting.append(less)
    return tuple(found)


def _compared_one_by_one(judge: Judge, few: Domain) -> tuple[int, int]:
    """How many pairs the order has, and how many values claim what they must not beside their pairs."""

    def said(evidence: Evidence) -> int:
        answer = answer_of(judge(evidence), evidence)
        return int(claims_in(answer)) | check_claims(answer) << 8

    pairs = strengthened = 0
    for call, beneath in zip(CALLS, order(CALLS, weaker_calls).beneath, strict=True):
        pairs += len(beneath)
        strengthened += sum(bool(said(CALLS[less]) & ~said(call)) for less in beneath)
    claims = [said(few.run_at(index)) for index in range(few.runs)]
    reports, places = order(few.reports, weaker_reports), order(few.circumstances, weaker_circumstances)
    for index, own in enumerate(claims):
        report, place = divmod(index, len(few.circumstances))
        less = {
            lower_report * len(few.circumstances) + lower_place
            for lower_report in {report, *reports.beneath[report]}
            for lower_place in {place, *places.beneath[place]}
        } - {index}
        pairs += len(less)
        told = heard_in_report(few.reports[report]) | heard_in_circumstances(few.circumstances[place])
        if contradicts_itself(told):
            strengthened += bool(own & 0xFF)
        else:
            strengthened += any(claims[lower] & ~own for lower in less)
    return pairs, strengthened
