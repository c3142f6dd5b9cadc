"""Evidence, facts and results as hypothesis draws them, and judges that claim too much."""

from collections.abc import Callable

from attrs import evolve
from hypothesis import strategies as st

from surehand.core.outcome.decide import decide
from surehand.core.outcome.domain import CALLS, CIRCUMSTANCES, REPORTS, Circumstances
from surehand.core.outcome.evidence import (
    AFTER_DELIVERY,
    AnyReport,
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    Evidence,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    OwnerGone,
    PauseLookupFailed,
    ProcessFact,
    RecordUnreadable,
    Report,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import (
    CallFacts,
    EngineName,
    FailedCheck,
    InputProblem,
    InputProblemCode,
    Mode,
    RunResult,
    project,
)

Judge = Callable[[Evidence], Reason]


def _run(report: AnyReport, around: Circumstances) -> RunObserved:
    return RunObserved(around.process, report, around.pause, around.approval)


def verified(check: CheckLevel = CheckLevel.REOPENED, minimum: CheckLevel = CheckLevel.REOPENED) -> Report:
    """A consistent report of a verified save."""
    return Report(
        TransactionOutcome.VERIFIED, ExecutionOutcome.VERIFIED, True, Delivery.SENT_ONCE, check=check, minimum=minimum
    )


_WITHOUT_PAUSE = tuple(around for around in CIRCUMSTANCES if isinstance(around.pause, NoPause))

#: A verified report stands on few points of the domain; it is drawn by itself too.
VERIFIED_RUNS = st.builds(
    _run,
    st.builds(verified, st.sampled_from(tuple(CheckLevel)), st.sampled_from(tuple(CheckLevel))),
    st.sampled_from(_WITHOUT_PAUSE),
)
RUNS = st.builds(_run, st.sampled_from(REPORTS), st.sampled_from(CIRCUMSTANCES))
EXECUTED = RUNS | VERIFIED_RUNS
UNSEEN = st.sampled_from(CALLS)
EVIDENCE = EXECUTED | UNSEEN

RUN_IDS = st.text("0123456789abcdef", min_size=32, max_size=32).map("run_".__add__)
INSTANTS = st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0"))
INPUT_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,39}|\*", fullmatch=True)
PROBLEMS = st.lists(st.builds(InputProblem, INPUT_NAMES, st.sampled_from(InputProblemCode)), max_size=3).map(tuple)
CHECKS = st.lists(st.sampled_from(FailedCheck), max_size=3).map(tuple)

#: Engines that can have executed a run.
EXECUTING = (EngineName.BROWSER, EngineName.SIMULATED, EngineName.FLOW)


def facts(engines: tuple[EngineName, ...] = EXECUTING) -> st.SearchStrategy[CallFacts]:
    """What a result says beside its evidence."""
    return st.builds(
        CallFacts,
        run_id=RUN_IDS,
        mode=st.sampled_from(Mode),
        engine=st.sampled_from(engines),
        attempt=st.integers(0, 5),
        checked_at=st.none() | INSTANTS,
        input_problems=PROBLEMS,
        failed_checks=CHECKS,
        record_saved=st.booleans(),
    )


RESULTS: st.SearchStrategy[RunResult] = st.builds(project, EXECUTED, facts()) | st.builds(
    project, UNSEEN, facts(tuple(EngineName))
)


def stopped(transaction: TransactionOutcome, execution: ExecutionOutcome = ExecutionOutcome.HALTED) -> Report:
    """A consistent report of a run that ended without a save that was checked."""
    unchecked, minimum = CheckLevel.UNCHECKED, CheckLevel.REOPENED
    return Report(transaction, execution, False, Delivery.NOT_MEASURED, check=unchecked, minimum=minimum)


def exited(report: AnyReport) -> RunObserved:
    """A run that ended cleanly with this report, no pause, and no approval asked for."""
    return RunObserved(ProcessFact.EXITED_CLEANLY, report, NoPause(), Approval.NOT_ASKED)


def trusts_the_exit_code(evidence: Evidence) -> Reason:
    """A judge for whom a clean exit is a saved record."""
    clean = isinstance(evidence, RunObserved) and evidence.process is ProcessFact.EXITED_CLEANLY
    return Reason.SAVED_AND_CHECKED if clean else decide(evidence)


def calls_a_coarse_halt_unwritten(evidence: Evidence) -> Reason:
    """A judge for whom a halt that states no transaction outcome changed nothing."""
    report = _report_of(evidence)
    coarse = (TransactionOutcome.NOT_STATED, ExecutionOutcome.HALTED)
    if report is not None and (report.transaction, report.execution) == coarse:
        return Reason.STOPPED_FOR_REVIEW
    return decide(evidence)


def ignores_a_failed_lookup(evidence: Evidence) -> Reason:
    """A judge for whom a look-up that failed has found no pause beside a verified report."""
    report = _report_of(evidence)
    if isinstance(evidence, RunObserved) and report is not None and report.transaction is TransactionOutcome.VERIFIED:
        pause = NoPause() if isinstance(evidence.pause, PauseLookupFailed) else evidence.pause
        return decide(evolve(evidence, pause=pause))
    return decide(evidence)


def ignores_contradictions_in_a_report(evidence: Evidence) -> Reason:
    """A judge who believes the transaction outcome, whatever the rest of the report says."""
    report = _report_of(evidence)
    if not isinstance(evidence, RunObserved) or report is None:
        return decide(evidence)
    believed = {
        TransactionOutcome.VERIFIED: verified(report.check, report.minimum),
        TransactionOutcome.HALTED_BEFORE_EFFECT: stopped(TransactionOutcome.HALTED_BEFORE_EFFECT),
    }
    return decide(evolve(evidence, report=believed.get(report.transaction, report)))


def believes_a_report_against_the_fence(evidence: Evidence) -> Reason:
    """A judge for whom a measurement that was lost is none that was made."""
    report = _report_of(evidence)
    if isinstance(evidence, RunObserved) and report is not None and report.delivery is Delivery.UNKNOWN:
        return decide(evolve(evidence, report=evolve(report, delivery=Delivery.NOT_MEASURED)))
    return decide(evidence)


def believes_a_report_after_a_timeout(evidence: Evidence) -> Reason:
    """A judge for whom a run that was ended by force ended by itself."""
    if isinstance(evidence, RunObserved) and evidence.process is ProcessFact.TIMED_OUT:
        return decide(evolve(evidence, process=ProcessFact.EXITED_WITH_ERROR))
    return decide(evidence)


def ignores_the_minimum(evidence: Evidence) -> Reason:
    """A judge for whom any check is enough."""
    reason = decide(evidence)
    return Reason.SAVED_AND_CHECKED if reason is Reason.CHECKED_BELOW_MINIMUM else reason


def ignores_approvals(evidence: Evidence) -> Reason:
    """A judge who asks nobody."""
    return decide(evolve(evidence, approval=Approval.GIVEN) if isinstance(evidence, RunObserved) else evidence)


def ignores_what_a_pause_says(evidence: Evidence) -> Reason:
    """A judge for whom a pause after a save is a pause like any other."""
    if not isinstance(evidence, RunObserved) or not isinstance(evidence.pause, OpenPause):
        return decide(evidence)
    after = evidence.pause.category in AFTER_DELIVERY
    return decide(evolve(evidence, pause=PauseLookupFailed()) if after else evidence)


def trusts_an_unjournaled_owner(evidence: Evidence) -> Reason:
    """A judge for whom every engine journals its boundary."""
    return decide(evolve(evidence, journaled=True) if isinstance(evidence, OwnerGone) else evidence)


def prefers_no_fence(evidence: Evidence) -> Reason:
    """A judge whom a measurement makes doubt what a report alone makes it believe."""
    report = _report_of(evidence)
    measured = report is not None and report.delivery is Delivery.NOT_SENT
    return Reason.RESULT_UNREADABLE if measured else decide(evidence)


def offers_every_retry(evidence: Evidence) -> Reason:
    """A judge for whom every refusal is one of bad input."""
    return Reason.INVALID_INPUT if isinstance(evidence, CallRefused) else decide(evidence)


def trusts_a_record_that_it_cannot_read(evidence: Evidence) -> Reason:
    """A judge for whom no news is good news."""
    return Reason.SAVED_AND_CHECKED if isinstance(evidence, RecordUnreadable) else decide(evidence)


def trusts_only_an_unjournaled_owner(evidence: Evidence) -> Reason:
    """A judge whom a journal makes doubt what its absence makes it believe."""
    if not isinstance(evidence, OwnerGone):
        return decide(evidence)
    return Reason.INTERRUPTED if evidence.journaled else Reason.INTERRUPTED_BEFORE_SAVE


def never_decides(evidence: Evidence) -> Reason:
    """A judge who is safe and of no use."""
    del evidence
    return Reason.RESULT_UNREADABLE


def _report_of(evidence: Evidence) -> Report | None:
    report = evidence.report if isinstance(evidence, RunObserved) else None
    return report if isinstance(report, Report) else None


#: Judges that claim too much, and the invariants that each of them violates.
FALSE_JUDGES: dict[Judge, frozenset[int]] = {
    trusts_the_exit_code: frozenset({1, 3, 4}),
    calls_a_coarse_halt_unwritten: frozenset({2, 3}),
    ignores_a_failed_lookup: frozenset({1, 3}),
    ignores_contradictions_in_a_report: frozenset({1, 2, 3}),
    believes_a_report_against_the_fence: frozenset({2, 3}),
    believes_a_report_after_a_timeout: frozenset({2, 4}),
    ignores_the_minimum: frozenset({1, 4}),
    ignores_approvals: frozenset({1, 2, 3, 4}),
    ignores_what_a_pause_says: frozenset({2, 3}),
    trusts_an_unjournaled_owner: frozenset({2}),
    prefers_no_fence: frozenset({3}),
    offers_every_retry: frozenset({2, 4}),
    trusts_a_record_that_it_cannot_read: frozenset({1, 3, 4}),
    trusts_only_an_unjournaled_owner: frozenset({2, 3}),
    never_decides: frozenset({4}),
}
