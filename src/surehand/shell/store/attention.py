"""The interface of what the ledger keeps about stopped runs and people's decisions.

Laws of this module:

- The pure machine decides inside one immediate transaction. ``True`` means that this call did it, and that it is on
  disk.
- A run's own row never changes. Pauses, issues, decisions and continuations are kept beside it and never vanish.
  What was refused may be dropped when it is old and nobody waits for its pause any more.
- A decision is on disk before it is claimed, and its claim with its continuation before anything is performed: two
  flushed commits.
- One continuation of a run passes the delivery boundary, and none begins after one did.
- Inputs, and whatever else was typed or seen, are never kept here.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from attrs import frozen

from surehand.core.attention.continuation import Continuation
from surehand.core.attention.decision import Decision, Ended, RefusedDecision, Review, Verdict
from surehand.core.attention.pause import Issue, KeptPause
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord

#: Says what becomes of a decision: given what the ledger says of the pause, and what the key was used for.
Judge = Callable[[Review | None, Decision | None], Verdict]


@frozen
class Opening:
    """A person's wish that a living process opens the app again for a pause.

    Args:
        number: Its number in the ledger.
        pause_id: The pause.
        claimed_by: The process that opens it; empty before that.
    """

    number: int
    pause_id: str
    claimed_by: str = ""


class AttentionStore(Protocol):
    """What a store keeps about stopped runs.

    All methods are safe to call from any thread. All may raise ``StoreError``.
    """

    # Pauses.

    def keep_pause(self, kept: KeptPause) -> bool:
        """Keep a pause with its first issue, flushed; ``False`` when one of this name is kept already."""
        ...

    def review(self, pause_id: str) -> Review | None:
        """What the ledger says about a pause; ``None`` for one that was never kept."""
        ...

    def open_reviews(self, limit: int, after: str | None = None) -> tuple[Review, ...]:
        """The pauses that wait for a person, newest first; with ``after``, those behind that pause."""
        ...

    def lineage(self, run_id: str) -> tuple[str, ...]:
        """The names of the pauses of a run, oldest first."""
        ...

    def without_pause(self, limit: int) -> tuple[RunRecord, ...]:
        """Finished runs that wait for a person and have no pause that could say so, newest first.

        They left none, or did not stop again after a decision about them ended in doubt.
        """
        ...

    def issue(self, pause_id: str, issue: Issue) -> bool:
        """Issue a pause anew, flushed: to whoever holds its window now, to nobody, or for more time.

        ``False`` when the number of the issue is not the next one, or nobody waits for the pause.
        """
        ...

    # Decisions.

    def decide(self, asked: Decision, judge: Judge) -> Verdict:
        """Let the machine judge a decision and, on ``Taken``, keep it, flushed."""
        ...

    def note_refused(self, refused: RefusedDecision) -> None:
        """Keep the audit line of a decision that was not taken, flushed."""
        ...

    def refused(self, limit: int) -> tuple[RefusedDecision, ...]:
        """The newest audit lines first."""
        ...

    def old_refused(self, before: int) -> int:
        """How many audit lines ``forget_refused`` would drop."""
        ...

    def forget_refused(self, before: int) -> int:
        """Drop the audit lines from before this time whose pause can not be decided about any more; returns how many.

        The wrong codes of a pause that waits are counted as long as it waits.

        Args:
            before: Seconds since the epoch, UTC.
        """
        ...

    def taken(self, limit: int) -> tuple[Decision, ...]:
        """The newest decisions first."""
        ...

    def wrong_codes(self, capability: str) -> int:
        """How many wrong codes were tried under this capability."""
        ...

    def decision(self, key: str) -> Decision | None:
        """The decision of this key."""
        ...

    def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """Every decision about a run, oldest first."""
        ...

    def unended(self) -> tuple[Decision, ...]:
        """Every decision that has not ended, oldest first: for those who perform, and for those who sweep."""
        ...

    def claim(self, key: str, owner: str) -> Continuation | None:
        """Take a decision to perform it, together with the continuation that it begins, flushed.

        Returns:
            The continuation (number 0 for a reading, which begins none), or ``None`` when the decision cannot be taken:
            another process has it, it has ended, or a continuation of the run passed the boundary.
        """
        ...

    def begin_continuation_delivery(self, run_id: str, number: int, owner: str) -> bool:
        """Pass the delivery boundary of a continuation, flushed before it answers ``True``."""
        ...

    def end(self, key: str, ending: Ended, result: RunResult | None = None) -> bool:
        """End a decision, and its continuation with what it came to, in one flushed step.

        Args:
            key: The decision.
            ending: How it ended, by the process that claimed it; one that nobody claimed may be refused or halted.
            result: What the continuation came to; ``None`` when there is none.

        Raises:
            ValueError: A continuation goes on and no result is given, or the result is not of this run.
        """
        ...

    def settle_decision(self, seen: Decision, at: int) -> Decision | None:
        """End a decision whose owner is proven gone, flushed, if it still stands as it was seen.

        Its continuation ends as interrupted: before the boundary, or behind it.

        Args:
            seen: The decision as it was when its owner was found gone.
            at: Seconds since the epoch, UTC.

        Returns:
            The decision as it ended, or ``None`` when somebody moved it first.
        """
        ...

    def continuations(self, run_id: str) -> tuple[Continuation, ...]:
        """Every continuation of a run, oldest first."""
        ...

    # Windows that are to be opened again.

    def ask_opening(self, pause_id: str) -> bool:
        """Wish that the app is opened again for a pause, flushed; ``False`` when nobody waits for it."""
        ...

    def openings(self) -> tuple[Opening, ...]:
        """The wishes that nobody took up yet, oldest first."""
        ...

    def claim_opening(self, number: int, owner: str) -> bool:
        """Take up a wish, flushed; the first process does."""
        ...

    # For the doors.

    def spend_form(self, digest: str, expires_at: int, now: int) -> bool:
        """Use a form's state, flushed; the first call does. States that ended before ``now`` may be forgotten."""
        ...

    def version(self) -> int:
        """A number that differs once another connection changed the ledger; equal numbers mean that nothing changed."""
        ...


@runtime_checkable
class HasAttention(Protocol):
    """A store of runs that also keeps what people decide."""

    @property
    def attention(self) -> AttentionStore:
        """Its part about stopped runs."""
        ...


def attention_of(store: object) -> AttentionStore | None:
    """What a store of runs keeps about stopped ones; ``None`` for a kind that keeps nothing of it."""
    return store.attention if isinstance(store, HasAttention) else None
