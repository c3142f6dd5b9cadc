"""What a review makes of a run: its answer after people decided, and its place in the queue.

Laws of this module:

- The first answer of a run never changes; what people decided is folded over it.
- After a review nothing is retryable: an end that says nothing ran leaves what stood before.
- Doubt and proof never flip. Only an answer that waits for a person can be replaced.
- While a continuation goes on, the run does: until it ended, nobody is told that nothing was written, by an item no
  more than by an answer.
- A finished run that waits for a person stands in the queue, whether it left a pause or not. What it sealed before its
  save is what it can be read again by.
"""

import hashlib
from functools import reduce
from typing import Final

from attrs import evolve

from surehand.core.attention.capability import (
    Instants,
    actions_of,
    capability_digest,
    expiry,
    inputs_digest,
    issue_at,
    seal_of,
)
from surehand.core.attention.decision import Decision, DecisionStatus, Review, is_over, settling
from surehand.core.attention.evidence import Opened, texts_of
from surehand.core.attention.pause import (
    DECIDE_SECONDS,
    ENDING,
    IN_WINDOW,
    QUESTIONS,
    Action,
    AttentionItem,
    DeliveryState,
    ItemStatus,
    KeptPause,
    Pause,
    view_of,
)
from surehand.core.outcome.evidence import (
    Approval,
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    OwnerGone,
    PauseCategory,
    Phase,
    ProcessFact,
    RejectedPause,
    Report,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import CallFacts, RunResult, as_overdue, project
from surehand.core.request.answers import STILL_RUNNING
from surehand.core.request.record import RunRecord, instant

#: What was proven when a person ended a run: it stopped before the save, and nothing left after that.
_ENDED_BY_PERSON: Final = RunObserved(
    ProcessFact.EXITED_CLEANLY,
    Report(
        TransactionOutcome.HALTED_BEFORE_EFFECT,
        ExecutionOutcome.HALTED,
        success=False,
        delivery=Delivery.NOT_SENT,
        check=CheckLevel.UNCHECKED,
        minimum=CheckLevel.SAME_PAGE,
    ),
    RejectedPause(),
    Approval.NOT_ASKED,
)


def waits_for_person(result: RunResult) -> bool:
    """Whether the answer of a run waits for a person, or for what comes of a person's decision."""
    return result.outcome in {Outcome.NEEDS_REVIEW, Outcome.NOT_SURE_IF_SAVED, Outcome.RUNNING}


def after_review(before: RunResult, now: RunResult) -> RunResult:
    """The answer of a run that was reviewed: what came of the review, unless that says that nothing ran."""
    if before.outcome is not Outcome.NEEDS_REVIEW or before.record_changed is not RecordChanged.NO:
        return before
    if now.outcome is Outcome.DID_NOT_RUN:
        return now if now.reason is Reason.STOPPED_BY_PERSON else before
    return before if now.outcome is Outcome.RUNNING else now


def answer_after(first: RunResult, legs: tuple[RunResult, ...], *, goes_on: bool = False) -> RunResult:
    """The answer of a run after everything that people decided about it, oldest first.

    Args:
        first: Its first answer.
        legs: What came of it.
        goes_on: Whether a continuation of it has not ended.
    """
    answer = reduce(after_review, legs, first)
    return project(STILL_RUNNING, _facts(first)) if goes_on and answer.outcome is Outcome.NEEDS_REVIEW else answer


def rejected(first: RunResult) -> RunResult:
    """The answer of a run that a person ended."""
    return project(_ENDED_BY_PERSON, _facts(first))


def interrupted(first: RunResult, *, crossed: bool) -> RunResult:
    """What a continuation came to whose process is gone.

    Args:
        first: The first answer of the run.
        crossed: Whether the continuation passed the delivery boundary.
    """
    return project(OwnerGone(Phase.DELIVERING if crossed else Phase.STARTED, journaled=True), _facts(first))


def _facts(first: RunResult) -> CallFacts:
    return CallFacts(run_id=first.run_id, mode=first.mode, engine=first.engine, attempt=first.attempt)


def bare_pause_id(run_id: str) -> str:
    """The name of the pause of a run that waits for a person and left none."""
    return "att_" + hashlib.sha256(f"surehand.bare-pause/v1\0{run_id}".encode()).hexdigest()[:24]


def bare_pause(  # noqa: PLR0913, PLR0917 - what is known of one run, each part of it by another
    key: bytes,
    record: RunRecord,
    result: RunResult,
    instants: Instants,
    lineage: tuple[str, ...] = (),
    before_save: Opened | None = None,
) -> KeptPause:
    """The pause of a run that waits for a person and left none.

    Args:
        key: The secret of this folder.
        record: The finished run.
        result: Its answer.
        instants: Now.
        lineage: The pauses of the run before it, oldest first.
        before_save: What was sealed before its save was asked for, under the name of this pause.
    """
    unsent, workflow = result.record_changed is RecordChanged.NO, record.workflow or ""
    found = None if unsent else before_save
    pause = Pause(
        pause_id=bare_pause_id(record.run_id),
        run_id=record.run_id,
        workflow=workflow,
        bundle=record.bundle,
        category=PauseCategory.OPERATOR_REVIEW,
        before_save=False,
        delivery=DeliveryState.NOT_DELIVERED if unsent else DeliveryState.UNKNOWN,
        lineage=lineage,
        inputs="" if found is None else inputs_digest(key, workflow, texts_of(found.evidence.inputs)),
        evidence="" if found is None else found.digest,
        has_baseline=found is not None and found.evidence.baseline is not None,
        created_at=max(record.created_at, 0),
    )
    return KeptPause(pause=pause, seal=seal_of(key, pause), issues=(issue_at(instants, 1, "", DECIDE_SECONDS),))


def status_of(review: Review, instants: Instants) -> ItemStatus:
    """How far a pause is."""
    settled = settling(review)
    if settled is not None:
        return _SETTLED[settled.status]
    if not review.newest:
        return ItemStatus.SUPERSEDED
    if not review.waiting:
        return ItemStatus.OVER
    if any(not is_over(decision) for decision in review.decisions):
        return ItemStatus.IN_PROGRESS
    return ItemStatus.OPEN if expiry(review.kept.issue, instants) is None else ItemStatus.EXPIRED


_SETTLED: Final[dict[DecisionStatus, ItemStatus]] = {
    DecisionStatus.COMPLETED: ItemStatus.COMPLETED,
    DecisionStatus.REJECTED: ItemStatus.REJECTED,
    DecisionStatus.DELIVERY_UNCERTAIN: ItemStatus.DELIVERY_UNCERTAIN,
    DecisionStatus.RECONCILED: ItemStatus.RECONCILED,
}


def in_time(result: RunResult, review: Review, instants: Instants) -> RunResult:
    """The answer of a run that stopped, in the words of whether it can still be decided.

    Args:
        result: The answer.
        review: What the ledger says about the newest pause of the run.
        instants: Now.
    """
    return as_overdue(result) if status_of(review, instants) is ItemStatus.EXPIRED else result


def item_of(key: bytes, review: Review, instants: Instants, *, window_lives: bool) -> AttentionItem:
    """What everybody may see of a pause.

    Args:
        key: The secret of this folder.
        review: What the ledger says about it.
        instants: Now.
        window_lives: Whether the process that holds its live window lives.
    """
    kept, status = review.kept, status_of(review, instants)
    pause = evolve(kept.pause, delivery=_delivery(review))
    view = view_of(pause if review.restored else kept.pause)
    decidable = status is ItemStatus.OPEN
    return AttentionItem(
        id=pause.pause_id,
        run_id=pause.run_id,
        created_at=instant(pause.created_at),
        category=pause.category,
        view=view,
        headline=QUESTIONS[view].headline,
        question=QUESTIONS[view].question,
        status=status,
        delivery_state=pause.delivery,
        allowed_actions=_offered(review, window_lives=window_lives) if decidable else (),
        capability_digest=capability_digest(key, kept) if decidable else None,
        expires_at=instant(kept.issue.expires_at),
        has_window=window_lives,
        has_frame=pause.has_frame,
        earlier_pauses=len(pause.lineage),
        teaching_requested=_asked(review.decisions, DecisionStatus.NEEDS_DEMONSTRATION),
        escalated=_asked(review.decisions, DecisionStatus.ESCALATED),
    )


def _delivery(review: Review) -> DeliveryState:
    """Whether a save of the run may have left by now: a pause knows it of the time before it alone."""
    went_on = {each.status for each in review.decisions if each.action in IN_WINDOW}
    if review.kept.pause.delivery is not DeliveryState.NOT_DELIVERED:
        return review.kept.pause.delivery
    if DecisionStatus.COMPLETED in went_on:
        return DeliveryState.DELIVERED
    in_doubt = review.restored or went_on & {DecisionStatus.DELIVERY_STARTED, DecisionStatus.DELIVERY_UNCERTAIN}
    return DeliveryState.UNKNOWN if in_doubt else DeliveryState.NOT_DELIVERED


def _offered(review: Review, *, window_lives: bool) -> tuple[Action, ...]:
    """What of the capability can be decided now."""
    return tuple(
        action
        for action in actions_of(review.kept)
        if (window_lives or action not in IN_WINDOW) and not (review.restored and action in ENDING)
    )


def _asked(decisions: tuple[Decision, ...], status: DecisionStatus) -> bool:
    return any(decision.status is status for decision in decisions)
