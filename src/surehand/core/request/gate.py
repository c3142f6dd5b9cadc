"""The request gate: what a call may do, given the attempts that went before.

Laws of this module:

- Pure and total over the history of attempts.
- At most one attempt is unfinished; a new one starts only when every earlier one proved that nothing was written.
- Doubt answers: of several attempts the first that proves nothing decides.
- A request keeps the version of its workflow. What ended is answered by any later version; a new attempt by another
  version than the earlier ones is a conflict.
"""

from attrs import evolve, frozen

from surehand.core.outcome.evidence import EarlierAttempts, Phase
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.outcome.result import MAX_ATTEMPTS
from surehand.core.request.keys import same_fingerprint
from surehand.core.request.record import RunRecord


@frozen
class Start:
    """Start this attempt; ``record`` is the draft with its attempt number."""

    record: RunRecord


@frozen
class Replay:
    """An attempt is the answer: finished, or still running and to be joined.

    It is the latest attempt, unless a damaged history holds an earlier one that does not allow the later ones.
    """

    record: RunRecord


@frozen
class Conflict:
    """The request id was used with another workflow, version or inputs; ``record`` is the latest attempt."""

    record: RunRecord


@frozen
class RetryLimit:
    """Five attempts each proved that nothing was written; ``record`` is the latest."""

    record: RunRecord


Decision = Start | Replay | Conflict | RetryLimit


def decide(attempts: tuple[RunRecord, ...], draft: RunRecord) -> Decision:
    """What a call may do.

    Args:
        attempts: The attempts under the request key of the draft, oldest first.
        draft: The record of this call, its attempt number not yet set.
    """
    if not attempts:
        return Start(evolve(draft, attempt=1))
    latest = attempts[-1]
    if any(_is_other_request(attempt, draft) for attempt in attempts):
        return Conflict(latest)
    for attempt in attempts:
        if not _allows_another(attempt):
            return Replay(attempt)
    if any(_is_other_version(attempt, draft) for attempt in attempts):
        return Conflict(latest)
    if latest.attempt >= MAX_ATTEMPTS:
        return RetryLimit(latest)
    return Start(evolve(draft, attempt=latest.attempt + 1))


def earlier_attempts(attempts: tuple[RunRecord, ...]) -> EarlierAttempts:
    """What the attempts under a request id prove to a call that is refused."""
    if not attempts:
        return EarlierAttempts.NONE
    if all(_wrote_nothing(attempt) for attempt in attempts):
        return EarlierAttempts.NOTHING_WRITTEN
    return EarlierAttempts.UNKNOWN


def _is_other_request(attempt: RunRecord, draft: RunRecord) -> bool:
    """Whether an attempt asked for something else; one that is known by its key alone is never held to differ."""
    if not attempt.fingerprint:
        return False
    return attempt.workflow != draft.workflow or not same_fingerprint(attempt.fingerprint, draft.fingerprint)


def _is_other_version(attempt: RunRecord, draft: RunRecord) -> bool:
    """Whether an attempt executed another version of the workflow; one that is not known is never held to differ."""
    return bool(attempt.bundle) and attempt.bundle != draft.bundle


def _allows_another(attempt: RunRecord) -> bool:
    """Whether the attempt is finished and its answer says that a retry is safe; an unreadable answer does not."""
    return attempt.phase is Phase.FINISHED and attempt.result is not None and attempt.result.safe_to_retry


def _wrote_nothing(attempt: RunRecord) -> bool:
    return (
        attempt.phase is Phase.FINISHED
        and attempt.result is not None
        and attempt.result.record_changed is RecordChanged.NO
    )
