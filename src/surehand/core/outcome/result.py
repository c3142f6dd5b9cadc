"""The result that leaves: closed fields only, and its projection from evidence.

Laws of this module:

- Every string in a result is a closed code, fixed copy, or held to a pattern. There is no field for observed, typed or
  configured text.
- A ``RunResult`` whose parts disagree with the reason table cannot be made, so a stored one cannot be read either.
- Optional facts are left out, never null.
"""

from collections.abc import Iterator
from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import evolve, field, frozen

from surehand.core.outcome.decide import claims, claims_of, decide
from surehand.core.outcome.evidence import (
    CallRefused,
    CheckLevel,
    EarlierAttempts,
    Evidence,
    Refusal,
    Report,
    RunObserved,
)
from surehand.core.outcome.reasons import NOT_FINAL, REASONS, Claims, NextStep, Outcome, Reason, RecordChanged
from surehand.core.outcome.wording import EARLIER_MAY_HAVE_SAVED, OVERDUE, SIMULATED_PREFIX, WORDING, Wording
from surehand.core.schema import Items, Number, Text, json_schema, matches

CONTRACT_VERSION: Final = "surehand.run-result/v1"

#: Attempts that one request id may make.
MAX_ATTEMPTS: Final = 5

_RUN_ID: Final = Text(pattern="^run_[0-9a-f]{32}$")
_INPUT_NAME: Final = Text(pattern=r"^([a-z][a-z0-9_]{0,39}|\*)$")
_INSTANT: Final = Text(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")

RunId = Annotated[str, _RUN_ID]
InputName = Annotated[str, _INPUT_NAME]
Instant = Annotated[str, _INSTANT]


@unique
class Proof(Enum):
    """What kind of proof stands behind ``done``; it is no outcome."""

    LOCAL = "local"
    SEALED = "sealed"
    SIMULATED = "simulated"
    NONE = "none"


@unique
class Mode(Enum):
    """How the server was started."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"
    ATTENDED = "attended"


@unique
class EngineName(Enum):
    """Which engine executed the run; ``none`` when none was asked."""

    BROWSER = "browser"
    SIMULATED = "simulated"
    FLOW = "flow"
    NONE = "none"


@unique
class CheckedHow(Enum):
    """The check level of a result, by name."""

    UNCHECKED = "unchecked"
    SAME_PAGE = "same_page"
    REOPENED = "reopened"
    SEPARATE_SESSION = "separate_session"
    SYSTEM_OF_RECORD = "system_of_record"


@unique
class InputProblemCode(Enum):
    """What is wrong with one input. The value is never repeated."""

    MISSING = "missing"
    NOT_DECLARED = "not_declared"
    WRONG_TYPE = "wrong_type"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    OUT_OF_RANGE = "out_of_range"
    NOT_A_CHOICE = "not_a_choice"
    NOT_A_DATE = "not_a_date"
    NOT_A_DECIMAL = "not_a_decimal"
    PATTERN_MISMATCH = "pattern_mismatch"
    CONTROL_CHARACTER = "control_character"
    NOT_UNICODE = "not_unicode"


@unique
class FailedCheck(Enum):
    """What was not in order before a run."""

    BROWSER_MISSING = "browser_missing"
    BROWSER_NOT_STARTING = "browser_not_starting"
    FENCE_NOT_STARTING = "fence_not_starting"
    SANDBOX_NOT_STARTING = "sandbox_not_starting"
    BUNDLE_UNREADABLE = "bundle_unreadable"
    RECORD_CHECK_MISSING = "record_check_missing"
    APP_NOT_TRUSTED = "app_not_trusted"
    APP_NEEDS_HTTP2 = "app_needs_http2"
    APP_REFUSES_TLS = "app_refuses_tls"
    PROXY_UNREACHABLE = "proxy_unreachable"
    PROXY_REFUSES = "proxy_refuses"
    PROXY_NOT_SUPPORTED = "proxy_not_supported"
    STORE_CORRUPT = "store_corrupt"
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_OF_OTHER_KIND = "store_of_other_kind"
    STORE_NEWER = "store_newer"
    STORE_RESTORED = "store_restored"
    SANDBOX_ONLY = "sandbox_only"
    NOT_CERTIFIED = "not_certified"
    NOT_ADMITTED = "not_admitted"
    ADMISSION_EXPIRED = "admission_expired"
    ADMISSION_REVOKED = "admission_revoked"
    NOT_ENCRYPTED = "not_encrypted"
    NOT_SEALED = "not_sealed"
    IDENTITY_TOO_WEAK = "identity_too_weak"
    READ_BACK_INCOMPLETE = "read_back_incomplete"
    READ_BACK_TOO_WEAK = "read_back_too_weak"
    DUPLICATE_GUARD_MISSING = "duplicate_guard_missing"
    SOCKETS_OPEN = "sockets_open"
    TRANSPORT_NOT_PROTECTED = "transport_not_protected"


@frozen
class InputProblem:
    """One problem with one input; ``*`` stands for inputs that the workflow does not declare.

    Raises:
        ValueError: The name is not one that a workflow can declare.
    """

    input: InputName
    problem: InputProblemCode

    def __attrs_post_init__(self) -> None:
        """Refuse a name that is not one: a caller's own words never stand here."""
        if not matches(_INPUT_NAME, self.input):
            raise ValueError("not the name of an input")


@frozen(kw_only=True)
class RunResult:
    """One answer about one call.

    Raises:
        ValueError: The parts do not agree with the reason table; the message names the rule and no value.
    """

    contract: Literal["surehand.run-result/v1"] = CONTRACT_VERSION
    run_id: RunId
    outcome: Outcome
    reason: Reason
    record_changed: RecordChanged
    safe_to_retry: bool
    next_step: NextStep
    proof: Proof
    checked_how: CheckedHow
    checked_at: Instant | None = None
    mode: Mode
    engine: EngineName
    attempt: Annotated[int, Number(minimum=0, maximum=MAX_ATTEMPTS)]
    replayed: bool
    record_saved: bool
    what_happened: Annotated[str, Text(max_length=300)]
    next_action: Annotated[str, Text(max_length=300)]
    input_problems: Annotated[tuple[InputProblem, ...], Items(max_items=50)] = field(default=())
    failed_checks: Annotated[tuple[FailedCheck, ...], Items(max_items=20)] = field(default=())

    def __attrs_post_init__(self) -> None:
        """Refuse a result that says more than its reason."""
        broken = next((rule for rule, holds in _rules(self) if not holds), None)
        if broken is not None:
            raise ValueError(broken)


def _rules(result: RunResult) -> Iterator[tuple[str, bool]]:
    """What must agree within one result, the first broken rule before those that build on it."""
    legal = _LEGAL[result.reason]
    spoken = Claims(result.outcome, result.record_changed, result.safe_to_retry, result.next_step)
    words = Wording(result.what_happened.removeprefix(SIMULATED_PREFIX), result.next_action)
    simulated = result.what_happened.startswith(SIMULATED_PREFIX)
    checked = result.checked_how is not CheckedHow.UNCHECKED
    yield "the claims do not agree with the reason", spoken in legal
    yield "the wording does not agree with the claims", words in _wordings(legal.get(spoken), spoken)
    yield "only a simulated result says so", simulated is (result.engine is EngineName.SIMULATED)
    yield "only done carries a proof", (result.outcome is Outcome.DONE) is (result.proof is not Proof.NONE)
    yield "the engine cannot give this proof", result.proof in _PROOFS[result.engine]
    yield "only a checked record is done", checked or result.outcome is not Outcome.DONE
    yield "the reason speaks of no check", not checked or result.reason in _AFTER_A_CHECK
    yield "without a check there is no time of it", checked or result.checked_at is None
    yield "not the time of a check", result.checked_at is None or matches(_INSTANT, result.checked_at)
    yield "not a run id", matches(_RUN_ID, result.run_id)


def _wordings(words: Wording | None, spoken: Claims) -> tuple[Wording | None, ...]:
    """How claims may be worded; what waits for a person may have waited too long."""
    if words is None or spoken.next_step is not NextStep.WAIT_FOR_A_PERSON:
        return (words,)
    return words, evolve(words, next_action=OVERDUE)


#: Reasons that may rest on a read-back of the record. Any other says nothing about one.
_AFTER_A_CHECK: Final = frozenset(
    {
        Reason.SAVED_AND_CHECKED,
        Reason.CHECKED_BELOW_MINIMUM,
        Reason.SAVE_NOT_CONFIRMED,
        Reason.CHANGE_REVERSED,
    }
)

#: The proofs that each engine can give, beside none.
_PROOFS: Final[dict[EngineName, frozenset[Proof]]] = {
    EngineName.BROWSER: frozenset({Proof.NONE, Proof.LOCAL, Proof.SEALED}),
    EngineName.FLOW: frozenset({Proof.NONE, Proof.LOCAL, Proof.SEALED}),
    EngineName.SIMULATED: frozenset({Proof.NONE, Proof.SIMULATED}),
    EngineName.NONE: frozenset({Proof.NONE}),
}


def _legal_answers() -> dict[Reason, dict[Claims, Wording]]:
    """The claims that each reason may make, with their words.

    Its row, and the weakened row of a refused call with a doubtful history.
    """
    answers = {reason: {row: WORDING[reason]} for reason, row in REASONS.items()}
    for refusal in Refusal:
        weakened = CallRefused(refusal, EarlierAttempts.UNKNOWN)
        answers[decide(weakened)][claims(weakened)] = EARLIER_MAY_HAVE_SAVED
    return answers


_LEGAL: dict[Reason, dict[Claims, Wording]] = _legal_answers()


@frozen(kw_only=True)
class CallFacts:
    """What a result says beside the evidence: identities, place and time of the call."""

    run_id: str
    mode: Mode
    engine: EngineName
    attempt: int
    checked_at: str | None = None
    input_problems: tuple[InputProblem, ...] = ()
    failed_checks: tuple[FailedCheck, ...] = ()
    record_saved: bool = True


@frozen
class Answer:
    """What is answered to evidence, apart from the identities of the call."""

    reason: Reason
    claims: Claims
    checked_how: CheckedHow


def answer_of(reason: Reason, evidence: Evidence) -> Answer:
    """The answer with this reason: its claims, and the check level where the reason rests on a check."""
    level = CheckLevel.UNCHECKED
    if reason in _AFTER_A_CHECK and isinstance(evidence, RunObserved) and isinstance(evidence.report, Report):
        level = evidence.report.check
    return Answer(reason, claims_of(reason, evidence), CheckedHow[level.name])


def project(evidence: Evidence, facts: CallFacts) -> RunResult:
    """The PHI-safe result of one call.

    Args:
        evidence: What is known.
        facts: Identities, place and time; none of them is text from outside.

    Returns:
        The result with ``replayed`` false.
    """
    return render(answer_of(decide(evidence), evidence), facts)


def render(answer: Answer, facts: CallFacts) -> RunResult:
    """The result that gives this answer. The time of a check is dropped where the answer speaks of none."""
    said = answer.claims
    words = _LEGAL[answer.reason][said]
    simulated = facts.engine is EngineName.SIMULATED
    proof = Proof.SIMULATED if simulated else Proof.LOCAL
    return RunResult(
        run_id=facts.run_id,
        outcome=said.outcome,
        reason=answer.reason,
        record_changed=said.record_changed,
        safe_to_retry=said.safe_to_retry,
        next_step=said.next_step,
        proof=proof if said.outcome is Outcome.DONE else Proof.NONE,
        checked_how=answer.checked_how,
        checked_at=None if answer.checked_how is CheckedHow.UNCHECKED else facts.checked_at,
        mode=facts.mode,
        engine=facts.engine,
        attempt=facts.attempt,
        replayed=False,
        record_saved=facts.record_saved,
        what_happened=(SIMULATED_PREFIX if simulated else "") + words.what_happened,
        next_action=words.next_action,
        input_problems=facts.input_problems,
        failed_checks=facts.failed_checks,
    )


def as_replayed(result: RunResult) -> RunResult:
    """The same answer, given again to a repeat of the request."""
    return evolve(result, replayed=True)


def as_overdue(result: RunResult) -> RunResult:
    """The same answer about a run that waits for a person, when nobody decided in time; any other answer as it is."""
    waits = result.next_step is NextStep.WAIT_FOR_A_PERSON
    return evolve(result, next_action=OVERDUE) if waits else result


def is_final(result: RunResult) -> bool:
    """Whether the result may be stored as the end of a run."""
    return result.reason not in NOT_FINAL


def result_schema() -> dict[str, object]:
    """The one output schema: every result, every refusal and every stored record is held to it."""
    return json_schema(RunResult)
