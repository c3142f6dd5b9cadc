"""A run store in memory: for tests and for trials that are to leave nothing behind.

Laws of this module:

- It does what the durable stores do, so plainly that it can be their measure.
- Nothing outlives the object; it is no store for runs against a real app.
"""

import threading
from collections.abc import Iterator
from itertools import islice
from typing import Final

from attrs import evolve

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.gate import Decision, Start, decide
from surehand.core.request.record import RunRecord, finished, may_move, may_report_late, require_end_of
from surehand.shell.store.base import require_draft, require_refusal
from surehand.shell.store.memory_attention import MemoryAttention


class MemoryStore:
    """A run store that forgets everything when it is dropped; the docstrings of ``RunStore`` apply."""

    def __init__(self) -> None:
        self._records: Final[dict[str, RunRecord]] = {}
        self._late: Final[dict[str, RunResult]] = {}
        self._guard: Final = threading.RLock()
        self.attention: Final = MemoryAttention(self._records, self._guard)

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide, and keep the draft on ``Start``."""
        require_draft(draft)
        with self._guard:
            decision = decide(self.attempts(draft.request_key), draft)
            if isinstance(decision, Start):
                self._add(decision.record)
            return decision

    def record_refusal(self, record: RunRecord) -> None:
        """Keep the record of a call that reserved nothing."""
        require_refusal(record)
        with self._guard:
            self._add(record)

    def mark_started(self, run_id: str, owner: str) -> bool:
        """``reserved -> started``."""
        return self._move(run_id, owner, Phase.STARTED)

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """``reserved | started -> delivering``."""
        return self._move(run_id, owner, Phase.DELIVERING)

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """``reserved | started | delivering -> finished`` by the owner."""
        require_end_of(run_id, result)
        with self._guard:
            record = self._records.get(run_id)
            if record is None or not may_move(record, owner, Phase.FINISHED):
                return False
            self._records[run_id] = finished(record, result)
            return True

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Finish a run that still stands as in ``record``."""
        require_end_of(record.run_id, result)
        with self._guard:
            now = self._records.get(record.run_id)
            return now is not None and now.phase is record.phase and self.finish(record.run_id, record.owner, result)

    def note_late(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Keep what the owner of a finished run says too late."""
        require_end_of(run_id, result)
        with self._guard:
            record = self._records.get(run_id)
            if record is None or not may_report_late(record, owner):
                return False
            return self._late.setdefault(run_id, result) == result

    def late_report(self, run_id: str) -> RunResult | None:
        """What the run's owner said too late."""
        return self._late.get(run_id)

    def old_refusals(self, before: int) -> int:
        """How many refusals were made before this time."""
        return len(self._old_refusals(before))

    def forget_refusals(self, before: int) -> int:
        """Drop the refusals that were made before this time."""
        with self._guard:
            old = self._old_refusals(before)
            for run_id in old:
                del self._records[run_id]
            return len(old)

    def _old_refusals(self, before: int) -> list[str]:
        with self._guard:
            kept = self._records.values()
            return [record.run_id for record in kept if record.attempt == 0 and record.created_at < before]

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call."""
        with self._guard:
            record = self._records.get(run_id)
            return None if record is None else self.attention.answered(record)

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts under the request key, oldest first."""
        with self._guard:
            kept = [record for record in self._records.values() if record.request_key == request_key]
            return tuple(self.attention.answered(record) for record in kept if record.attempt > 0)

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first."""
        with self._guard:
            newest = reversed(self._records.values())
            if before is not None:
                for record in newest:
                    if record.run_id == before:
                        break
            return tuple(self.attention.answered(record) for record in islice(newest, max(limit, 0)))

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        with self._guard:
            return iter([record for record in self._records.values() if record.phase is not Phase.FINISHED])

    def check_health(self) -> None:
        """Nothing in memory can be damaged."""

    def close(self) -> None:
        """Nothing is held."""

    def _move(self, run_id: str, owner: str, phase: Phase) -> bool:
        with self._guard:
            record = self._records.get(run_id)
            if record is None or not may_move(record, owner, phase):
                return False
            self._records[run_id] = evolve(record, phase=phase)
            return True

    def _add(self, record: RunRecord) -> None:
        if record.run_id in self._records:
            raise ValueError("the run id was used before")
        self._records[record.run_id] = record
