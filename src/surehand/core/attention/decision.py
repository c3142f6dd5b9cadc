"""Decisions about pauses: what a person asks for, what is kept of it, and how it may go on.

Laws of this module:

- One key stands for one decision: the same content again is the same decision, other content is refused.
- One decision of a run at a time, and none after one that settles its pause. Who is first is said by the ledger alone.
- A decision that is performed is kept before it is claimed, and claimed before anything is done. It ends once.
- An owner that is gone is told by its lock, never by an age. Once the boundary was passed, its end is doubt.
- A receipt says what happened. It credits nobody for what did not.
"""

import hashlib
from enum import Enum, unique
from typing import Annotated, Final, Literal, assert_never

from attrs import evolve, field, frozen
from returns.result import Failure, Result, Success

from surehand.core.attention.capability import DecisionRefusal, VerifiedCapability
from surehand.core.attention.pause import (
    ENDING,
    PERFORMED,
    Action,
    Digest,
    Issue,
    KeptPause,
    OwnerToken,
    PauseId,
    Seconds,
)
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import Instant, RunId, RunResult
from surehand.core.request.record import instant
from surehand.core.schema import Text

#: The pattern that a whole idempotency key satisfies.
KEY_PATTERN: Final = "^[A-Za-z0-9._:-]{16,200}$"


@frozen
class DecisionRequest:
    """What a door asks for: exactly this, beside the action that the door itself stands for.

    Args:
        attention_id: The pause.
        capability_digest: What its item showed.
        idempotency_key: The caller's name for this decision; the same for every repeat of it.
        confirm: True; anything else is refused.
    """

    attention_id: PauseId
    capability_digest: Annotated[str, Text(max_length=200)]
    idempotency_key: Annotated[str, Text(pattern=KEY_PATTERN)]
    confirm: bool


@unique
class Door(Enum):
    """Where a decision came in."""

    MCP_FORM = "mcp_form"
    CONSOLE = "console"
    TERMINAL = "terminal"
    PYTHON = "python"


@unique
class DecisionStatus(Enum):
    """How far a decision is."""

    PREPARED = "prepared"
    DELIVERY_STARTED = "delivery_started"
    COMPLETED = "completed"
    HALTED = "halted"
    REFUSED = "refused"
    DELIVERY_UNCERTAIN = "delivery_uncertain"
    REJECTED = "rejected"
    NEEDS_DEMONSTRATION = "needs_demonstration"
    ESCALATED = "escalated"
    RECONCILED = "reconciled"


@unique
class Finding(Enum):
    """What reading the record again showed."""

    SAVED_AS_INTENDED = "saved_as_intended"
    NOT_FOUND = "not_found"
    DIFFERS = "differs"
    UNREADABLE = "unreadable"


@frozen(kw_only=True)
class Decision:
    """A decision, as the ledger keeps it.

    Args:
        key: SHA-256 of the idempotency key.
        pause_id: The pause.
        run_id: Its run.
        action: What was decided.
        capability: The digest that was presented.
        operator: The account under which it was decided.
        door: Where it came in.
        status: How far it is.
        refusal: Why it was refused or halted.
        finding: What was read again.
        claimed_by: Token of the process that performs it; empty before that.
        decided_at: Seconds since the epoch, UTC.
        ended_at: As above; left out before the end.
    """

    key: Digest
    pause_id: PauseId
    run_id: RunId
    action: Action
    capability: str
    operator: str
    door: Door
    status: DecisionStatus
    refusal: DecisionRefusal | None = None
    finding: Finding | None = None
    claimed_by: OwnerToken = ""
    decided_at: Seconds
    ended_at: Seconds | None = None


@frozen(kw_only=True)
class RefusedDecision:
    """The audit line of a decision that was not taken.

    Args:
        key: SHA-256 of the idempotency key.
        pause_id: The pause that was named; empty where the name is none.
        action: What was asked for.
        capability: The digest that was presented; empty where it is none.
        operator: The account under which it was asked for; empty where there is none.
        door: Where it came in.
        refusal: Why it was not taken.
        refused_at: Seconds since the epoch, UTC.
    """

    key: Digest
    pause_id: str
    action: Action
    capability: str
    operator: str
    door: Door
    refusal: DecisionRefusal
    refused_at: Seconds


@frozen
class Review:
    """What the ledger says about a pause.

    Args:
        kept: The pause.
        newest: Whether its run did not stop again after it.
        waiting: Whether its run is finished and its answer still waits for a person.
        decisions: Every decision of the run, oldest first.
        restored: Whether the ledger was restored since: what was decided meanwhile is not known.
    """

    kept: KeptPause
    newest: bool
    waiting: bool
    decisions: tuple[Decision, ...] = ()
    restored: bool = False


@frozen
class Known:
    """The key was used for this decision before."""

    decision: Decision


@frozen
class Taken:
    """The decision is to be kept as it is here."""

    decision: Decision


@frozen
class NotTaken:
    """The decision is refused and changes nothing."""

    refusal: DecisionRefusal


Verdict = Known | Taken | NotTaken

#: What a decision may become next.
MOVES: Final[dict[DecisionStatus, frozenset[DecisionStatus]]] = {
    DecisionStatus.PREPARED: frozenset(
        {DecisionStatus.DELIVERY_STARTED, DecisionStatus.HALTED, DecisionStatus.REFUSED}
    ),
    DecisionStatus.DELIVERY_STARTED: frozenset(
        {
            DecisionStatus.COMPLETED,
            DecisionStatus.HALTED,
            DecisionStatus.REFUSED,
            DecisionStatus.DELIVERY_UNCERTAIN,
            DecisionStatus.RECONCILED,
        }
    ),
    DecisionStatus.COMPLETED: frozenset(),
    DecisionStatus.HALTED: frozenset(),
    DecisionStatus.REFUSED: frozenset(),
    DecisionStatus.DELIVERY_UNCERTAIN: frozenset(),
    DecisionStatus.REJECTED: frozenset(),
    DecisionStatus.NEEDS_DEMONSTRATION: frozenset(),
    DecisionStatus.ESCALATED: frozenset(),
    DecisionStatus.RECONCILED: frozenset(),
}

#: How an action is kept when it is taken.
_FIRST: Final[dict[Action, DecisionStatus]] = {
    Action.CONTINUE: DecisionStatus.PREPARED,
    Action.SKIP: DecisionStatus.PREPARED,
    Action.RECONCILE: DecisionStatus.PREPARED,
    Action.REJECT: DecisionStatus.REJECTED,
    Action.TEACH: DecisionStatus.NEEDS_DEMONSTRATION,
    Action.ESCALATE: DecisionStatus.ESCALATED,
}

_STOPPED: Final = frozenset({DecisionStatus.HALTED, DecisionStatus.REFUSED})
_WENT_ON: Final = _STOPPED | {DecisionStatus.COMPLETED, DecisionStatus.DELIVERY_UNCERTAIN}

#: How an action that is performed may end. A reading never completes anything and is never in doubt.
_ENDS: Final[dict[Action, frozenset[DecisionStatus]]] = {
    Action.CONTINUE: _WENT_ON,
    Action.SKIP: _WENT_ON,
    Action.RECONCILE: _STOPPED | {DecisionStatus.RECONCILED},
    Action.REJECT: frozenset(),
    Action.TEACH: frozenset(),
    Action.ESCALATE: frozenset(),
}


def decision_key(idempotency_key: str) -> str:
    """The name under which a decision is kept: SHA-256 of its idempotency key in hexadecimal."""
    return hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()


def judge(
    review: Review | None,
    under_key: Decision | None,
    asked: Decision,
    verified: Result[VerifiedCapability, DecisionRefusal],
) -> Verdict:
    """What becomes of a decision that a door asks for.

    Args:
        review: What the ledger says about the pause; ``None`` for an unknown one.
        under_key: What the key was used for.
        asked: The decision, prepared.
        verified: What ``verify`` says of the capability that was presented for this action.
    """
    if under_key is not None:
        same = _content(under_key) == _content(asked)
        return Known(under_key) if same else NotTaken(DecisionRefusal.KEY_REUSED)
    if review is None:
        return NotTaken(DecisionRefusal.UNKNOWN_ITEM)
    closed = _closed(review, asked.action)
    if closed is not None:
        return NotTaken(closed)
    match verified:
        case Success(VerifiedCapability() as capability) if _is_for(capability, review, asked):
            first = _FIRST[asked.action]
            ended_at = None if asked.action in PERFORMED else asked.decided_at
            return Taken(evolve(asked, run_id=review.kept.pause.run_id, status=first, ended_at=ended_at))
        case Failure(refusal):
            return NotTaken(refusal)
        case _:
            return NotTaken(DecisionRefusal.CAPABILITY_NOT_OF_ITEM)


def _content(decision: Decision) -> tuple[str, Action, str]:
    return decision.pause_id, decision.action, decision.capability


def _is_for(capability: VerifiedCapability, review: Review, asked: Decision) -> bool:
    """Whether a capability was verified for this very decision and the pause as it is now."""
    of_pause = capability.kept == review.kept and asked.pause_id == review.kept.pause.pause_id
    return of_pause and capability.action is asked.action and capability.digest == asked.capability


def _closed(review: Review, action: Action) -> DecisionRefusal | None:
    """Why this action is not taken about the pause now, whatever was presented."""
    if settling(review) is not None:
        return DecisionRefusal.ALREADY_DECIDED
    if any(not is_over(decision) for decision in review.decisions):
        return DecisionRefusal.IN_PROGRESS
    if not review.newest:
        return DecisionRefusal.PAUSE_SUPERSEDED
    if not review.waiting:
        return DecisionRefusal.RUN_NOT_WAITING
    return DecisionRefusal.LEDGER_RESTORED if review.restored and action in ENDING else None


def settling(review: Review) -> Decision | None:
    """The decision that settled this pause for good, if there is one."""
    of_pause = (each for each in review.decisions if each.pause_id == review.kept.pause.pause_id)
    return next(filter(_settles, of_pause), None)


def _settles(decision: Decision) -> bool:
    if decision.status is DecisionStatus.RECONCILED:
        return decision.finding is Finding.SAVED_AS_INTENDED
    return decision.status in {
        DecisionStatus.COMPLETED,
        DecisionStatus.REJECTED,
        DecisionStatus.DELIVERY_UNCERTAIN,
    }


def still_waits(review: Review) -> bool:
    """Whether a pause waits for a person."""
    return review.newest and review.waiting and settling(review) is None


def may_issue(review: Review, issue: Issue) -> bool:
    """Whether a pause may be issued so: while it waits, and never under a decision that is being carried out."""
    idle = all(is_over(decision) for decision in review.decisions)
    return still_waits(review) and idle and issue.number == review.kept.issue.number + 1


def is_over(decision: Decision) -> bool:
    """Whether the decision has ended."""
    return not MOVES[decision.status]


@frozen
class Claimed:
    """A process takes a decision to perform it."""

    owner: str


@frozen
class Ended:
    """The process that took it says how it ended.

    Args:
        owner: The process.
        status: How.
        at: Seconds since the epoch, UTC.
        refusal: Why it was refused or halted.
        finding: What was read again.
    """

    owner: str
    status: DecisionStatus
    at: int
    refusal: DecisionRefusal | None = None
    finding: Finding | None = None


@frozen
class OwnerGone:
    """The process that took it, or that alone could take it, is proven gone.

    Args:
        crossed: Whether its continuation passed the delivery boundary.
        at: Seconds since the epoch, UTC.
    """

    crossed: bool
    at: int


Event = Claimed | Ended | OwnerGone


def step(decision: Decision, event: Event) -> Decision | None:
    """The decision after an event; ``None`` when the event is none that can happen to it."""
    if is_over(decision):
        return None
    match event:
        case Claimed(owner=owner):
            may_claim = decision.status is DecisionStatus.PREPARED and bool(owner)
            return evolve(decision, status=DecisionStatus.DELIVERY_STARTED, claimed_by=owner) if may_claim else None
        case Ended():
            return _ended(decision, event)
        case OwnerGone(crossed=crossed, at=at):
            doubtful = crossed and decision.status is DecisionStatus.DELIVERY_STARTED
            status = DecisionStatus.DELIVERY_UNCERTAIN if doubtful else DecisionStatus.HALTED
            refusal = None if doubtful else DecisionRefusal.WINDOW_GONE
            return evolve(decision, status=status, refusal=refusal, ended_at=at)
        case _:  # pragma: no cover
            assert_never(event)


def _ended(decision: Decision, event: Ended) -> Decision | None:
    """A decision that nobody claimed ends only where nothing was done."""
    ours = decision.claimed_by == event.owner or decision.status is DecisionStatus.PREPARED
    can_be = event.status in MOVES[decision.status] and event.status in _ENDS[decision.action]
    read = (event.finding is not None) is (event.status is DecisionStatus.RECONCILED)
    told = event.refusal is not None or event.status is not DecisionStatus.REFUSED
    if not (ours and can_be and read and told):
        return None
    return evolve(decision, status=event.status, refusal=event.refusal, finding=event.finding, ended_at=event.at)


def status_after(result: RunResult) -> DecisionStatus:
    """How a decision ended whose continuation came to this result."""
    match result.outcome:
        case Outcome.DONE:
            return DecisionStatus.COMPLETED
        case Outcome.NOT_SURE_IF_SAVED | Outcome.RUNNING:
            return DecisionStatus.DELIVERY_UNCERTAIN
        case Outcome.NEEDS_REVIEW | Outcome.DID_NOT_RUN:
            return DecisionStatus.HALTED
        case _:  # pragma: no cover
            assert_never(result.outcome)


@frozen(kw_only=True)
class Receipt:
    """What a door says about a decision; it holds nothing but closed codes, opaque names, times and fixed copy.

    Args:
        attention_id: The pause that was named; left out where the name was none.
        run_id: Its run; left out for an unknown pause.
        action: What was asked for.
        status: What became of it.
        reason: Why it was refused or halted.
        finding: What reading the record again showed.
        final: Whether the decision has ended.
        decided_at: When it was taken; left out when it was not.
        ended_at: When it ended.
        what_happened: Fixed copy.
    """

    contract: Literal["surehand.decision-receipt/v1"] = "surehand.decision-receipt/v1"
    attention_id: PauseId | None = None
    run_id: RunId | None = None
    action: Action
    status: DecisionStatus
    reason: DecisionRefusal | None = None
    finding: Finding | None = None
    final: bool
    decided_at: Instant | None = None
    ended_at: Instant | None = None
    what_happened: Annotated[str, Text(max_length=300)] = field(default="")


_SAID: Final[dict[DecisionStatus, str]] = {
    DecisionStatus.PREPARED: "The decision is kept. The process with the live window has not begun with it.",
    DecisionStatus.DELIVERY_STARTED: "The decision is being carried out.",
    DecisionStatus.COMPLETED: "The run went on, and reading the record back showed exactly the intended values.",
    DecisionStatus.HALTED: "The run did not go on to its end. Nothing was saved by this decision.",
    DecisionStatus.REFUSED: "The decision was refused. Nothing was done.",
    DecisionStatus.DELIVERY_UNCERTAIN: "The run went on, and a save may have gone through. It is not repeated.",
    DecisionStatus.REJECTED: "The run is ended and never goes on. Nothing was saved by it.",
    DecisionStatus.NEEDS_DEMONSTRATION: "A corrective demonstration was asked for. The run still waits.",
    DecisionStatus.ESCALATED: "Help was asked for. The run still waits.",
    DecisionStatus.RECONCILED: "The record was read again. Nothing was sent.",
}


def receipt_of(decision: Decision) -> Receipt:
    """The receipt of a decision that was kept."""
    return Receipt(
        attention_id=decision.pause_id,
        run_id=decision.run_id,
        action=decision.action,
        status=decision.status,
        reason=decision.refusal,
        finding=decision.finding,
        final=is_over(decision),
        decided_at=instant(decision.decided_at),
        ended_at=None if decision.ended_at is None else instant(decision.ended_at),
        what_happened=_SAID[decision.status],
    )


def refusal_receipt(refused: RefusedDecision, run_id: str | None) -> Receipt:
    """The receipt of a decision that was not taken."""
    return Receipt(
        attention_id=refused.pause_id or None,
        run_id=run_id,
        action=refused.action,
        status=DecisionStatus.REFUSED,
        reason=refused.refusal,
        final=True,
        what_happened=_SAID[DecisionStatus.REFUSED],
    )


@frozen(kw_only=True)
class LogLine:
    """One line of the log of decisions, for the operator at this computer.

    Args:
        at: When it was taken, or refused.
        attention_id: The pause; empty where none was named.
        action: What was asked for.
        operator: The account; empty where there was none.
        door: Where it came in.
        status: What became of it.
        reason: Why it was refused or halted.
    """

    at: Instant | None
    attention_id: str
    action: Action
    operator: str
    door: Door
    status: DecisionStatus
    reason: DecisionRefusal | None = None


def log_of(taken: tuple[Decision, ...], refused: tuple[RefusedDecision, ...], limit: int) -> tuple[LogLine, ...]:
    """The newest lines first, at most so many; what was taken and what was not in one order of time."""
    lines = [(each.decided_at, _line(each, each.decided_at, each.status)) for each in taken]
    lines += [(each.refused_at, _line(each, each.refused_at, DecisionStatus.REFUSED)) for each in refused]
    return tuple(line for _, line in sorted(lines, key=lambda each: each[0], reverse=True)[:limit])


def _line(decision: Decision | RefusedDecision, at: int, status: DecisionStatus) -> LogLine:
    return LogLine(
        at=instant(at),
        attention_id=decision.pause_id,
        action=decision.action,
        operator=decision.operator,
        door=decision.door,
        status=status,
        reason=decision.refusal,
    )
