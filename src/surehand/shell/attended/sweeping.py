"""Ends the decisions whose performer is gone.

Laws of this module:

- A performer counts as gone only when its lock is proven free; one that cannot be asked about may still act.
- A decision that nobody claimed is ended only when the one process that could perform it is gone.
- What its continuation came to is said by the ledger: doubt behind the boundary, and before it the answer of before.
"""

from pathlib import Path

from surehand.core.attention.decision import Decision, DecisionStatus
from surehand.core.attention.pause import IN_WINDOW
from surehand.shell.clock import Clock
from surehand.shell.files import UnsafeFileError
from surehand.shell.locks import is_alive
from surehand.shell.store.attention import AttentionStore, attention_of
from surehand.shell.store.base import RunStore


def settle_decisions(store: RunStore, folder: Path, clock: Clock) -> None:
    """End every decision that nobody can perform any more.

    Args:
        store: The ledger.
        folder: The state folder, in which the locks of owners lie.
        clock: Says when.

    Raises:
        StoreError: The ledger cannot answer.
    """
    attention = attention_of(store)
    if attention is None:
        return
    for decision in attention.unended():
        performer = _performer(attention, decision)
        if performer is not None and _is_gone(folder, performer):
            attention.settle_decision(decision, clock.now())


def _performer(attention: AttentionStore, decision: Decision) -> str | None:
    """The process that performs a decision, or alone could; ``None`` when anybody can."""
    if decision.status is DecisionStatus.DELIVERY_STARTED:
        return decision.claimed_by
    review = attention.review(decision.pause_id)
    return None if review is None or decision.action not in IN_WINDOW else review.kept.issue.owner


def _is_gone(folder: Path, token: str) -> bool:
    try:
        return not is_alive(folder, token)
    except (OSError, UnsafeFileError):
        return False
