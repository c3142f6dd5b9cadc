"""Continuations: a run that goes on after a decision, and how many times it may.

Laws of this module:

- A run goes on in the live window of the one who claimed the decision, and nowhere else.
- At most one continuation of a run passes the delivery boundary, and none begins after one did.
- A continuation ends together with its decision, and both say the same.
"""

from attrs import frozen

from surehand.core.attention.decision import Decision, DecisionStatus, Ended, Event, OwnerGone, Review, status_after
from surehand.core.attention.pause import IN_WINDOW
from surehand.core.attention.review import interrupted
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import require_end_of


@frozen
class Continuation:
    """A run that goes on after a decision.

    Args:
        run_id: The run.
        number: 1 for the first of the run; 0 for a reading, which goes on with nothing.
        pause_id: The pause after which it goes on.
        key: The decision.
        owner: The process that carries it out.
        crossed: Whether it passed the delivery boundary.
        result: What it came to; ``None`` while it goes on.
    """

    run_id: str
    number: int
    pause_id: str
    key: str
    owner: str
    crossed: bool = False
    result: RunResult | None = None


def begun_by(claimed: Decision, review: Review, earlier: tuple[Continuation, ...]) -> Continuation | None:
    """The continuation that a claimed decision begins; ``None`` when it may not be performed by who claimed it.

    Args:
        claimed: The decision.
        review: What the ledger says about its pause.
        earlier: The continuations of the run before it.
    """
    goes_on = claimed.action in IN_WINDOW
    if goes_on and (review.kept.issue.owner != claimed.claimed_by or any(each.crossed for each in earlier)):
        return None
    number = len(earlier) + 1 if goes_on else 0
    return Continuation(claimed.run_id, number, claimed.pause_id, claimed.key, claimed.claimed_by)


def going_on(continuations: tuple[Continuation, ...], key: str) -> Continuation | None:
    """The continuation of this decision that has not ended."""
    return next((each for each in continuations if each.key == key and each.result is None), None)


def may_cross(continuations: tuple[Continuation, ...], number: int, owner: str) -> bool:
    """Whether a continuation may pass the boundary: its owner alone, once, and once for all of the run."""
    mine = [each for each in continuations if each.number == number and each.owner == owner and each.result is None]
    return bool(mine) and bool(owner) and not any(each.crossed for each in continuations)


def result_at_end(first: RunResult, open_one: Continuation, event: Event, result: RunResult | None) -> RunResult:
    """What a continuation comes to when its decision ends.

    Args:
        first: The first answer of the run.
        open_one: The continuation.
        event: How its decision ends.
        result: What its process says; ``None`` when it says nothing.

    Raises:
        ValueError: The result does not agree with the event, or is left out behind the boundary.
    """
    if result is None:
        if open_one.crossed and not isinstance(event, OwnerGone):
            raise ValueError("what passed the boundary ends with a result")
        return interrupted(first, crossed=open_one.crossed)
    require_end_of(open_one.run_id, result)
    if not (isinstance(event, Ended) and event.status in {status_after(result), DecisionStatus.REFUSED}):
        raise ValueError("the end of a decision does not agree with what came of it")
    return result
