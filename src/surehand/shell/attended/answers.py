"""What the ledger of stopped runs adds to the answers about a run: nobody decided in time, or it was read again.

Laws of this module:

- An answer is never stored in these words, and none but that of a run which waits for a person is told in them.
- A record that was read again is told beside the answer, and changes none.
"""

from surehand.core.attention.decision import Finding
from surehand.core.attention.review import in_time, waits_for_person
from surehand.core.outcome.result import RunResult
from surehand.shell.attended.instants import instants_of
from surehand.shell.clock import Clock
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import RunStore


def awaited(store: RunStore, result: RunResult, clock: Clock) -> RunResult:
    """The answer of a run, in the words of whether it can still be decided without being taken up again.

    Raises:
        StoreError: The ledger cannot answer.
    """
    attention = attention_of(store) if waits_for_person(result) else None
    pauses = () if attention is None else attention.lineage(result.run_id)
    review = None if attention is None or not pauses else attention.review(pauses[-1])
    return result if review is None else in_time(result, review, instants_of(clock))


def read_again(store: RunStore, run_id: str) -> Finding | None:
    """What the newest reading of the record of a run showed; ``None`` when nobody had it read again.

    Raises:
        StoreError: The ledger cannot answer.
    """
    attention = attention_of(store)
    decisions = () if attention is None else attention.decisions(run_id)
    return next((each.finding for each in reversed(decisions) if each.finding is not None), None)
