"""The result that leaves: closed fields only, and its projection from evidence.

Laws of this module:

- Every string in a result is a closed code, fixed copy, or held to a pattern. There is no field for observed, typed or configured text.
- A ``RunResult`` whose parts disagree with the reason table cannot be made, so a stored one cannot be read either.
- Optional facts are left out, never null.
"""

from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import evolve, field, frozen

from surehand.core.outcome.decide import claims, decide
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
from surehand.core.outcome.wording import EARLIER_MAY_HAVE_SAVED, SIMULATED_PREFIX, WORDING, Wording
from surehand.core.schema import Items, Number, Text

CONTRACT_VERSION: Final = "surehand.run-result/v1"

#: Attempts that one request id may make (seed 000, "Requests, retries, and records").
MAX_ATTEMPTS: Final = 5

RunId = Annotated[str, Text(pattern="^run_[0-9a-f]{32}$")]
InputName = Annotated[str, Text(pattern=r"^([a-z][a-z0-9_]{0,39}|\*)$")]
Instant = Annotated[str, Text(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]


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
    BUNDLE_UNREADABLE = "bundle_unreadable"
    RECORD_CHECK_MISSING = "record_check_missing"
    STORE_CORRUPT = "store_corrupt"
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_OF_OTHER_KIND = "store_of_other_kind"
    STORE_NEWER = "store_newer"


@frozen
class InputProblem:
    """One problem with one input; ``*`` stands for inputs that the workflow does not declare."""

    input: InputName
    problem: InputProblemCode


@frozen(kw_only=True)
class RunResult:
    """One answer about one call (seed 000, "The result contract").

    Raises:
        ValueError: The parts do not agree with the reason table.
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
        spoken = Claims(self.outcome, self.record_changed, self.safe_to_retry, self.next_step)
        legal = _LEGAL[self.reason]
        if spoken not in legal:
            raise ValueError("the claims do not agree with the reason")
        words = Wording(self.what_happened.removeprefix(SIMULATED_PREFIX), self.next_action)
        if words != legal[spoken]:
            raise ValueError("the wording does not agree with the reason")
        if (self.outcome is Outcome.DONE) != (self.proof is not Proof.NONE):
            raise ValueError("only done carries a proof")
        if (self.engine is EngineName.SIMULATED) != self.what_happened.startswith(SIMULATED_PREFIX):
            raise ValueError("a simulated result says so in its first sentence, and no other does")


def _legal_answers() -> dict[Reason, dict[Claims, Wording]]:
    """The claims that each reason may make, with their words: its row, and the weakened row of a refused call with a doubtful history."""
    answers = {reason: {row: WORDING[reason]} for reason, row in REASONS.items()}
    for refusal in Refusal:
        weakened = CallRefused(refusal, EarlierAttempts.UNKNOWN)
        answers[decide(weakened)][claims(weakened)] = EARLIER_MAY_HAVE_SAVED
    return answers


_LEGAL: dict[Reason, dict[Claims, Wording]] = _legal_answers()

_PROOFS: dict[EngineName, Proof] = {
    EngineName.BROWSER: Proof.LOCAL,
    EngineName.FLOW: Proof.LOCAL,
    EngineName.SIMULATED: Proof.SIMULATED,
    EngineName.NONE: Proof.NONE,
}


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


def project(evidence: Evidence, facts: CallFacts) -> RunResult:
    """The PHI-safe result of one call.

    Args:
        evidence: What is known.
        facts: Identities, place and time; none of them is text from outside.

    Returns:
        The result with ``replayed`` false.
    """
    said = claims(evidence)
    reason = decide(evidence)
    words = _LEGAL[reason][said]
    done = said.outcome is Outcome.DONE
    prefix = SIMULATED_PREFIX if facts.engine is EngineName.SIMULATED else ""
    return RunResult(
        run_id=facts.run_id,
        outcome=said.outcome,
        reason=reason,
        record_changed=said.record_changed,
        safe_to_retry=said.safe_to_retry,
        next_step=said.next_step,
        proof=_PROOFS[facts.engine] if done else Proof.NONE,
        checked_how=_checked_how(evidence),
        checked_at=facts.checked_at,
        mode=facts.mode,
        engine=facts.engine,
        attempt=facts.attempt,
        replayed=False,
        record_saved=facts.record_saved,
        what_happened=prefix + words.what_happened,
        next_action=words.next_action,
        input_problems=facts.input_problems,
        failed_checks=facts.failed_checks,
    )


def as_replayed(result: RunResult) -> RunResult:
    """The same answer, given again to a repeat of the request."""
    return evolve(result, replayed=True)


def is_final(result: RunResult) -> bool:
    """Whether the result may be stored as the end of a run."""
    return result.reason not in NOT_FINAL


def _checked_how(evidence: Evidence) -> CheckedHow:
    level = CheckLevel.UNCHECKED
    if isinstance(evidence, RunObserved) and isinstance(evidence.report, Report):
        level = evidence.report.check
    return CheckedHow[level.name]
