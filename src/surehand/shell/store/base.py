"""The interface of a run store, and its errors.

Laws of this module:

- Reservation and record are one durable transaction; the pure gate decides inside it.
- Every move of a run is a compare-and-set on phase and owner. ``True`` means that this call moved it, and that the
  move is on disk.
- A store never invents a result and never judges one. It keeps the strict wire form, and what it reads back either
  satisfies the contract or is no result.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, Protocol

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import FailedCheck, RunResult, is_final
from surehand.core.request.gate import Decision
from surehand.core.request.record import RunRecord, require_end_of

_RUN_ID: Final = re.compile("run_[0-9a-f]{32}")


class StoreError(Exception):
    """The store cannot do what was asked. ``check`` names why; the message never holds a path or a value."""

    check: FailedCheck = FailedCheck.STORE_UNAVAILABLE


class StoreUnavailableError(StoreError):
    """The folder or the disk refused: read-only, full, not a folder."""


class StoreCorruptError(StoreError):
    """The file is there and is not a ledger that can be trusted. It is kept as it is."""

    check = FailedCheck.STORE_CORRUPT


class StoreOfOtherKindError(StoreError):
    """The folder holds traces of a store of the other kind."""

    check = FailedCheck.STORE_OF_OTHER_KIND


class StoreNewerError(StoreError):
    """A newer version of Surehand wrote this store."""

    check = FailedCheck.STORE_NEWER


class StoreRestoredError(StoreError):
    """The store was copied, or restored from a backup: what was asked since then is not in it."""

    check = FailedCheck.STORE_RESTORED


class RunStore(Protocol):
    """What every store does; ``tests/properties`` and the conformance suite hold its laws.

    All methods are safe to call from any thread. All may raise ``StoreError``.
    """

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide on this draft (attempt number not yet set) and, on ``Start``, store it as reserved.

        Args:
            draft: A record in phase ``RESERVED`` with attempt 0; on ``Start`` it is stored with the gate's number.

        Returns:
            The gate's decision. ``Start`` carries the stored record, the others the record that decided.

        Raises:
            ValueError: The draft is no draft, or its run id was used before.
        """
        ...

    def record_refusal(self, record: RunRecord) -> None:
        """Keep the record of a call that reserved nothing; its phase is ``FINISHED`` and its attempt 0.

        Raises:
            ValueError: The record is none of a refusal, or its run id was used before.
        """
        ...

    def mark_started(self, run_id: str, owner: str) -> bool:
        """``reserved -> started``.

        Not flushed for a journaled run, where both phases prove the same. Flushed for any other: there ``started``
        means that a write may follow, and a power cut must not take that back.
        """
        ...

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """``reserved | started -> delivering``, flushed to disk before it answers ``True``."""
        ...

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """``reserved | started | delivering -> finished`` by the run's owner, flushed.

        Raises:
            ValueError: The result is of another run, or says that the run still goes on.
        """
        ...

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Finish a run whose owner is proven gone, if phase and owner are still those of ``record``.

        Raises:
            ValueError: The result is of another run, or says that the run still goes on.
        """
        ...

    def note_late(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Keep what a run's owner says after somebody else ended the run, flushed; the run's answer stays as it is.

        A run has one such report, the first, and it never changes. ``True`` when this one is it.

        Raises:
            ValueError: The result is of another run, or says that the run still goes on.
        """
        ...

    def late_report(self, run_id: str) -> RunResult | None:
        """What the run's owner said too late, for a person who looks into it; ``None`` when it said nothing."""
        ...

    def old_refusals(self, before: int) -> int:
        """How many records ``forget_refusals`` would drop."""
        ...

    def forget_refusals(self, before: int) -> int:
        """Drop the records of calls that reserved nothing and were made before this time; a run is never dropped.

        Args:
            before: Seconds since the epoch, UTC.

        Returns:
            How many were dropped; always 0 where a store cannot drop anything.
        """
        ...

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call, or ``None`` when none was ever kept."""
        ...

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts (1 to 5) under the request key, oldest first."""
        ...

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first, at most ``limit``.

        ``before`` is the run id that the previous page ended with; nothing comes before one that was never kept.
        """
        ...

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        ...

    def check_health(self) -> None:
        """Read everything once and compare it with itself; takes seconds on a large store.

        Raises:
            StoreCorruptError: Something does not fit.
        """
        ...

    def close(self) -> None:
        """Release what is held; a second call does nothing."""
        ...


def is_run_id(text: str) -> bool:
    """Whether a text can name a run at all; any other one names none, and never reaches a file name or a query."""
    return _RUN_ID.fullmatch(text) is not None


class RestoredStore(RunStore, Protocol):
    """A durable store, as it is seen by one who takes it over after it was copied or restored."""

    def noted(self) -> frozenset[str]:
        """The request keys that were ever reserved here, also those of which the store itself knows nothing any more.

        Raises:
            StoreError: They cannot be read.
        """
        ...

    def begin_epoch(self) -> int:
        """Seal the store as the one that goes on from here; every process that has it open is refused from then on.

        Returns:
            The number of the epoch that begins.

        Raises:
            StoreError: It was not sealed, or that is not known.
        """
        ...


def require_draft(record: RunRecord) -> None:
    """Refuse to reserve what is no draft.

    Raises:
        ValueError: The record is not in phase ``RESERVED`` with attempt 0 and a run id.
    """
    if record.phase is not Phase.RESERVED or record.attempt != 0 or not is_run_id(record.run_id):
        raise ValueError("not a draft")


def require_refusal(record: RunRecord) -> None:
    """Refuse to keep what is no refusal.

    Raises:
        ValueError: The record is not finished with attempt 0, a run id and a result of its own.
    """
    if record.attempt != 0 or record.result is None or not is_run_id(record.run_id):
        raise ValueError("not a refusal")
    require_end_of(record.run_id, record.result)


def require_whole_history(attempts: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    """The attempts under one request key, if none is missing.

    Raises:
        StoreCorruptError: They are not numbered from 1 without a gap.
    """
    if [record.attempt for record in attempts] != list(range(1, len(attempts) + 1)):
        raise StoreCorruptError("an attempt is missing")
    return attempts


def result_text(result: RunResult) -> str:
    """The form in which a result is kept."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which a fast start does without

    return json.dumps(to_wire(result), ensure_ascii=False, separators=(",", ":"))


def kept_result(text: str, run_id: str) -> RunResult | None:
    """The result that was kept for this run, or ``None`` when the text is not one that satisfies the contract."""
    from surehand.core.wire import from_wire  # noqa: PLC0415 - loads cattrs, which a fast start does without

    try:
        wire: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    result = from_wire(wire, RunResult).value_or(None)
    return result if result is not None and result.run_id == run_id and is_final(result) else None
