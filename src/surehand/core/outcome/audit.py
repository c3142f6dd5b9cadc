"""The audit of the contract: every evidence there is, judged, and held to four invariants.

Laws of this module:

- Every value of the domain is judged, one by one. What is computed once for many is only what follows from the answer.
- The judge is an argument: the same audit that passes ``decide`` must fail every judge that claims too much.
- A finding is told in closed codes.

The four invariants:

1. ``done`` stands only on a consistent verified report, a clean exit, no pause in any state, no approval outstanding,
   and a check that reaches the workflow's minimum.
2. "Nothing was written" and "safe to retry" stand only where ``proof`` finds them proven.
3. Less evidence never gives a stronger claim. An answer's claims are a set (``Claim``). Evidence that contradicts
itself
   claims nothing about the record; and from any other evidence, taking facts away, one or many, never adds a claim.
   (From a contradiction it may: taking one side away leaves the other uncontested, which is no loss of knowledge.)
   ``domain`` says what may be taken away.
4. Every reason is reached, every answer makes a valid result with every engine that can give it, and every sentence of
   it is fixed copy.

The third one is checked for all pairs, not for neighbours only: ``_gathered`` collects, for each evidence, the claims
of
everything beneath it, by joining whole rows and columns of the product at once.
"""

from collections.abc import Callable, Iterator
from enum import IntFlag
from itertools import islice
from typing import Final, assert_never

from attrs import frozen

from surehand.core.outcome.decide import decide as the_decide
from surehand.core.outcome.domain import (
    CALLS,
    WHOLE,
    Call,
    Circumstances,
    Domain,
    Order,
    order,
    weaker_calls,
    weaker_circumstances,
    weaker_reports,
)
from surehand.core.outcome.evidence import (
    AnyReport,
    CallRefused,
    Evidence,
    NoPause,
    OpenPause,
    OwnerGone,
    Pause,
    PauseLookupFailed,
    RecordUnreadable,
    RejectedPause,
    Report,
    ReportMissing,
    ReportUnreadable,
    RunObserved,
)
from surehand.core.outcome.proof import (
    Testimony,
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
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import Answer, CallFacts, CheckedHow, EngineName, Mode, RunResult, answer_of, render

Judge = Callable[[Evidence], Reason]
Progress = Callable[[int], None]

#: Examples that a finding shows at most.
EXAMPLES: Final = 5


class Claim(IntFlag):
    """What an answer may claim. The other parts of it say who acts next, and claim nothing."""

    SAVED = 1
    RECORD_CHANGED = 2
    NOTHING_WRITTEN = 4
    CALL_WROTE_NOTHING = 8
    SAFE_TO_RETRY = 16


@frozen
class Finding:
    """One invariant: how often it was checked, how often it was violated, and the first violations in closed codes."""

    number: int
    title: str
    cases: int
    violations: int
    examples: tuple[str, ...]


@frozen
class ReasonRow:
    """One reason, and how many values of the domain lead to it."""

    reason: Reason
    cases: int


@frozen
class AuditReport:
    """What the audit found."""

    domain_size: int
    calls: int
    reports: int
    circumstances: int
    answers: int
    findings: tuple[Finding, ...]
    rows: tuple[ReasonRow, ...]

    @property
    def violations(self) -> int:
        """Violations of all invariants together."""
        return sum(finding.violations for finding in self.findings)


@frozen
class _Judged:
    """The domain, judged: the distinct answers, and for each evidence the number of its answer."""

    domain: Domain
    answers: tuple[Answer, ...]
    calls: bytes
    runs: bytes

    def plane(self, bits_of: Callable[[Answer], int]) -> bytes:
        """For each run the bits that its answer has."""
        return self.runs.translate(bytes(map(bits_of, self.answers)).ljust(256, b"\0"))


def audit(
    judge: Judge = the_decide,
    domain: Domain = WHOLE,
    progress: Progress = lambda _: None,
) -> AuditReport:
    """Judge the whole domain and check the invariants.

    Args:
        judge: What picks the reason.
        domain: What is judged; less than the whole makes a smaller audit.
        progress: Told how many values are judged, after each report.

    Returns:
        Sizes, findings, and how many cases lead to each reason.
    """
    judged = _judge_all(judge, domain, progress)
    return AuditReport(
        domain_size=domain.size,
        calls=len(CALLS),
        reports=len(domain.reports),
        circumstances=len(domain.circumstances),
        answers=len(judged.answers),
        findings=(_done(judged), _nothing_written(judged), _monotone(judged), _closed(judged)),
        rows=_rows(judged),
    )


def claims_in(answer: Answer) -> Claim:
    """The claims of an answer about the record."""
    said = answer.claims
    spoken = {
        Claim.SAVED: said.outcome is Outcome.DONE,
        Claim.RECORD_CHANGED: said.record_changed is RecordChanged.YES,
        Claim.NOTHING_WRITTEN: said.record_changed is RecordChanged.NO,
        Claim.CALL_WROTE_NOTHING: said.outcome is Outcome.DID_NOT_RUN,
        Claim.SAFE_TO_RETRY: said.safe_to_retry,
    }
    return Claim(sum(claim for claim, holds in spoken.items() if holds))


def check_claims(answer: Answer) -> int:
    """The check levels that an answer claims to have reached, one bit for each."""
    return (1 << list(CheckedHow).index(answer.checked_how)) - 1


def _judge_all(judge: Judge, domain: Domain, progress: Progress) -> _Judged:
    numbers: dict[Answer, int] = {}
    calls = bytes(_number(numbers, judge(call), call) for call in CALLS)
    runs = bytearray()
    for report in domain.reports:
        runs += _judge_report(judge, report, domain.circumstances, numbers)
        progress(len(CALLS) + len(runs))
    return _Judged(domain, tuple(numbers), calls, bytes(runs))


def _number(numbers: dict[Answer, int], reason: Reason, evidence: Evidence) -> int:
    return numbers.setdefault(answer_of(reason, evidence), len(numbers))


def _judge_report(
    judge: Judge, report: AnyReport, circumstances: tuple[Circumstances, ...], numbers: dict[Answer, int]
) -> bytes:
    """Judge one report in all circumstances. Of these only the reason depends on them: the rest follows from it."""
    known: dict[Reason, int] = {}
    row = bytearray()
    for around in circumstances:
        run = RunObserved(around.process, report, around.pause, around.approval)
        reason = judge(run)
        if reason not in known:
            known[reason] = _number(numbers, reason, run)
        row.append(known[reason])
    return bytes(row)


def _rows(judged: _Judged) -> tuple[ReasonRow, ...]:
    cases = dict.fromkeys(Reason, 0)
    for number, answer in enumerate(judged.answers):
        cases[answer.reason] += judged.calls.count(number) + judged.runs.count(number)
    return tuple(ReasonRow(reason, count) for reason, count in cases.items())


def _finding(number: int, title: str, cases: int, violations: Iterator[str]) -> Finding:
    examples = tuple(islice(violations, EXAMPLES))
    return Finding(number, title, cases, len(examples) + sum(1 for _ in violations), examples)


def _claiming(judged: _Judged, wanted: Claim) -> Iterator[tuple[Evidence, Answer]]:
    """Every evidence whose answer makes one of the claims."""
    claiming = [bool(claims_in(answer) & wanted) for answer in judged.answers]
    for call, number in zip(CALLS, judged.calls, strict=True):
        if claiming[number]:
            yield call, judged.answers[number]
    for index, number in enumerate(judged.runs):
        if claiming[number]:
            yield judged.domain.run_at(index), judged.answers[number]


def _done(judged: _Judged) -> Finding:
    claiming = _claiming(judged, Claim.SAVED | Claim.RECORD_CHANGED)
    violations = (_told(evidence, answer) for evidence, answer in claiming if not _proves_saved(evidence))
    return _finding(1, "done only from consistent verified evidence with a clean exit", judged.domain.size, violations)


def _proves_saved(evidence: Evidence) -> bool:
    if not isinstance(evidence, RunObserved):
        return False
    return report_proves_saved(evidence.report) and circumstances_allow_done(_around(evidence))


def _around(run: RunObserved) -> Circumstances:
    return Circumstances(run.process, run.pause, run.approval)


def _nothing_written(judged: _Judged) -> Finding:
    claiming = _claiming(judged, Claim.NOTHING_WRITTEN | Claim.CALL_WROTE_NOTHING | Claim.SAFE_TO_RETRY)
    violations = (_told(evidence, answer) for evidence, answer in claiming if claims_in(answer) & ~_proven(evidence))
    title = "nothing was written, and safe to retry, only where the evidence proves it"
    return _finding(2, title, judged.domain.size, violations)


def _proven(evidence: Evidence) -> Claim:
    """The claims of the second invariant that the evidence proves, and those that it does not judge."""
    others = Claim.SAVED | Claim.RECORD_CHANGED
    if isinstance(evidence, RunObserved):
        said = heard_in_report(evidence.report) | heard_in_circumstances(_around(evidence))
        this_call = unwritten = proves_unwritten(said)
        retry = allows_retry(said)
    else:
        this_call, unwritten, retry = (
            call_wrote_nothing(evidence),
            call_proves_unwritten(evidence),
            call_allows_retry(evidence),
        )
    proven = {
        Claim.NOTHING_WRITTEN: unwritten,
        Claim.CALL_WROTE_NOTHING: this_call,
        Claim.SAFE_TO_RETRY: retry,
    }
    return Claim(others + sum(claim for claim, holds in proven.items() if holds))


def _monotone(judged: _Judged) -> Finding:
    reports = order(judged.domain.reports, weaker_reports)
    around = order(judged.domain.circumstances, weaker_circumstances)
    calls = order(CALLS, weaker_calls)
    runs = _strengthened_runs(judged, reports, around)
    pairs = _pairs(reports, around) + sum(map(len, calls.beneath))
    return _finding(
        3,
        "less evidence never gives a stronger claim",
        pairs + judged.domain.size,
        (example for part in (_strengthened_calls(judged, calls), runs) for example in part),
    )


def _pairs(reports: Order[AnyReport], around: Order[Circumstances]) -> int:
    """How many pairs of runs are in the order: a run and one with less evidence."""
    below_or_same = sum(len(less) + 1 for less in reports.beneath) * sum(len(less) + 1 for less in around.beneath)
    return below_or_same - len(reports.beneath) * len(around.beneath)


def _strengthened_calls(judged: _Judged, calls: Order[Call]) -> Iterator[str]:
    answers = [judged.answers[number] for number in judged.calls]
    for place, beneath in enumerate(calls.beneath):
        for less in beneath:
            if claims_in(answers[less]) & ~claims_in(answers[place]):
                yield _told(CALLS[less], answers[less])


def _strengthened_runs(judged: _Judged, reports: Order[AnyReport], around: Order[Circumstances]) -> Iterator[str]:
    """Runs that contradict themselves and claim something, and runs with less evidence beneath that claims more."""
    contradicted = _contradicted(judged.domain)
    record = judged.plane(claims_in)
    checks = judged.plane(check_claims)
    gathered = zip(_gathered(record, reports, around), _gathered(checks, reports, around), strict=True)
    own = zip(record, checks, contradicted, strict=True)
    for index, ((record_said, checks_said, contradiction), (record_less, checks_less)) in enumerate(
        zip(own, gathered, strict=True)
    ):
        more = record_said if contradiction else (record_less & ~record_said) | (checks_less & ~checks_said)
        if more:
            yield _told(judged.domain.run_at(index), judged.answers[judged.runs[index]])


def _gathered(plane: bytes, reports: Order[AnyReport], around: Order[Circumstances]) -> bytes:
    """For each run the bits of all runs with no more evidence: its own and those beneath it."""
    width = len(around.below)
    gathered = bytearray(plane)
    for place in reports.upwards:
        for less in reports.below[place]:
            _join(gathered, slice(place * width, (place + 1) * width), slice(less * width, (less + 1) * width))
    for place in around.upwards:
        for less in around.below[place]:
            _join(gathered, slice(place, None, width), slice(less, None, width))
    return bytes(gathered)


def _join(plane: bytearray, into: slice, out_of: slice) -> None:
    both = int.from_bytes(plane[into]) | int.from_bytes(plane[out_of])
    plane[into] = both.to_bytes(len(plane[into]))


def _contradicted(domain: Domain) -> bytes:
    """For each run whether its evidence contradicts itself."""
    around = [heard_in_circumstances(each) for each in domain.circumstances]
    rows: dict[Testimony, bytes] = {}
    for said in map(heard_in_report, domain.reports):
        if said not in rows:
            rows[said] = bytes(contradicts_itself(said | other) for other in around)
    return b"".join(rows[heard_in_report(report)] for report in domain.reports)


def _closed(judged: _Judged) -> Finding:
    reached = {answer.reason for answer in judged.answers}
    unreached = [f"{reason.value} is never reached" for reason in Reason if reason not in reached]
    given = [
        (judged.answers[number], engine)
        for numbers, engines in ((judged.calls, tuple(EngineName)), (judged.runs, _EXECUTING))
        for number in sorted(set(numbers))
        for engine in engines
    ]
    broken = [f"{answer.reason.value} by {engine.value}" for answer, engine in given if not _is_valid(answer, engine)]
    title = "every reason is reached, every result is valid, every sentence is fixed copy"
    return _finding(4, title, len(Reason) + len(given), iter(unreached + broken))


#: Engines that can have executed a run.
_EXECUTING: Final = (EngineName.BROWSER, EngineName.SIMULATED, EngineName.FLOW)

_CHECKED_AT: Final = "2026-01-01T00:00:00Z"


def _is_valid(answer: Answer, engine: EngineName) -> bool:
    """Whether the answer makes a result, which takes fixed copy alone, and its own wire form gives it back."""
    from surehand.core.wire import from_wire, to_wire  # noqa: PLC0415 - the converter is costly to import

    facts = CallFacts(run_id="run_" + "0" * 32, mode=Mode.SANDBOX, engine=engine, attempt=1, checked_at=_CHECKED_AT)
    try:
        result = render(answer, facts)
    except (KeyError, ValueError):
        return False
    return from_wire(to_wire(result), RunResult).value_or(None) == result


def _told(evidence: Evidence, answer: Answer) -> str:
    """Evidence and answer in closed codes."""
    return f"{_evidence_codes(evidence)} -> {answer.reason.value}"


def _evidence_codes(evidence: Evidence) -> str:
    match evidence:
        case CallRefused(refusal, earlier):
            return f"refused: {refusal.value}, earlier attempts {earlier.value}"
        case OwnerGone(phase, journaled):
            return f"owner gone: {phase.value}, {'journaled' if journaled else 'not journaled'}"
        case RecordUnreadable():
            return "record unreadable"
        case RunObserved(process, report, pause, approval):
            return f"{process.value}; {_report_codes(report)}; {_pause_codes(pause)}; approval {approval.value}"
        case _:  # pragma: no cover
            assert_never(evidence)


def _report_codes(report: AnyReport) -> str:
    match report:
        case ReportMissing():
            return "report missing"
        case ReportUnreadable():
            return "report unreadable"
        case Report():
            return (
                f"report {report.transaction.value}, execution {report.execution.value}, "
                f"{'success' if report.success else 'no success'}, {report.delivery.value}, "
                f"check {report.check.name.lower()} of {report.minimum.name.lower()}"
            )
        case _:  # pragma: no cover
            assert_never(report)


def _pause_codes(pause: Pause) -> str:
    match pause:
        case NoPause():
            return "no pause"
        case OpenPause(category):
            return f"pause {category.value}"
        case RejectedPause():
            return "pause rejected"
        case PauseLookupFailed():
            return "pause look-up failed"
        case _:  # pragma: no cover
            assert_never(pause)
