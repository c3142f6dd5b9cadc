"""The interface of a run store, and its errors.

Laws of this module:

- Reservation and record are one durable transaction; the pure gate decides inside it.
- Every move of a run is a compare-and-set on phase and owner. ``True`` means that this call moved it, and that the move is on disk.
- A store never invents a result and never judges one.
"""

from collections.abc import Iterator
from typing import Protocol

from surehand.core.outcome.result import FailedCheck, RunResult
from surehand.core.request.gate import Decision
from surehand.core.request.record import RunRecord


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


class RunStore(Protocol):
    """What every store does; ``tests/properties`` and the conformance suite hold its laws.

    All methods are safe to call from any thread. All may raise ``StoreError``.
    """

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide on this draft (attempt number not yet set) and, on ``Start``, store it as reserved.

        Args:
            draft: A record in phase ``RESERVED`` with attempt 0; on ``Start`` it is stored with the gate's attempt number.

        Returns:
            The gate's decision. ``Start`` carries the stored record, the others the record that decided.
        """
        ...

    def record_refusal(self, record: RunRecord) -> None:
        """Keep the record of a call that reserved nothing; its phase is ``FINISHED`` and its attempt 0."""
        ...

    def mark_started(self, run_id: str, owner: str) -> bool:
        """``reserved -> started``. Not flushed: both phases prove the same."""
        ...

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """``reserved | started -> delivering``, flushed to disk before it answers ``True``."""
        ...

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """``reserved | started | delivering -> finished`` by the run's owner, flushed."""
        ...

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Finish a run whose owner is proven gone, if phase and owner are still those of ``record``."""
        ...

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call, or ``None`` when none was ever kept."""
        ...

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts (1 to 5) under the request key, oldest first."""
        ...

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first, at most ``limit``; ``before`` is the run id that the previous page ended with."""
        ...

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        ...

    def close(self) -> None:
        """Release what is held; a second call does nothing."""
        ...
