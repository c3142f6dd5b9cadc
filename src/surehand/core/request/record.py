"""The durable record of one call: its phases and what a dead owner's record proves.

Laws of this module:

- A record holds the contract result and opaque keys. Inputs, workflow labels and paths never enter it.
- ``reserved -> started -> delivering -> finished`` is the only order; each move is a compare-and-set by the owner.
- The legal moves are one table, which every store reads.
"""

from datetime import UTC, datetime
from typing import Final

from attrs import evolve, frozen

from surehand.core.outcome.evidence import OwnerGone, Phase
from surehand.core.outcome.result import RunResult, is_final


@frozen(kw_only=True)
class RunRecord:
    """One call, as the store keeps it.

    Args:
        run_id: ``run_`` and 32 hexadecimal digits.
        request_key: ``sha256`` of the request id in hexadecimal; refusals that reserve nothing carry it too.
        attempt: 1 to 5; 0 for a call that reserved nothing.
        workflow: The declared name of the workflow, or ``None`` for an unknown one.
        fingerprint: Keyed fingerprint of workflow and inputs, hexadecimal; empty for a call that reserved nothing, and
            for a request of which a restored store has nothing but the key.
        owner: Token of the process that may move the run on; empty for a call that reserved nothing.
        journaled: Whether the engine passes the delivery boundary durably.
        phase: Where the run stands.
        created_at: Seconds since the epoch, UTC, of the reservation.
        bundle: SHA-256 of the workflow's bundle in hexadecimal: the version that this attempt executes, and no other;
            empty for a call that reserved nothing, and where it is not known.
        result: Present only when the phase is ``FINISHED``. ``None`` in a finished record means that the stored
            result does not satisfy the contract.

    Raises:
        ValueError: A record that is not finished holds a result.
    """

    run_id: str
    request_key: str
    attempt: int
    workflow: str | None
    fingerprint: str
    owner: str
    journaled: bool
    phase: Phase
    created_at: int
    bundle: str = ""
    result: RunResult | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a result before the end."""
        if self.result is not None and self.phase is not Phase.FINISHED:
            raise ValueError("only a finished record holds a result")


#: The phases from which each phase may be reached.
MOVES: Final[dict[Phase, frozenset[Phase]]] = {
    Phase.RESERVED: frozenset(),
    Phase.STARTED: frozenset({Phase.RESERVED}),
    Phase.DELIVERING: frozenset({Phase.RESERVED, Phase.STARTED}),
    Phase.FINISHED: frozenset({Phase.RESERVED, Phase.STARTED, Phase.DELIVERING}),
}


#: The years 1000 to 9999, in seconds since the epoch.
_FIRST_SECOND: Final = -30_610_224_000
_LAST_SECOND: Final = 253_402_300_799


def instant(seconds: int) -> str | None:
    """The time as results say it; ``None`` for one that no calendar of four digits holds, as of a clock gone astray."""
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def may_move(record: RunRecord, owner: str, phase: Phase) -> bool:
    """Whether this owner may move the run to this phase."""
    return record.owner == owner and record.phase in MOVES[phase]


def may_report_late(record: RunRecord, owner: str) -> bool:
    """Whether this owner's report about the run comes too late to be its answer and is kept beside it."""
    return bool(owner) and record.owner == owner and record.phase is Phase.FINISHED


def finished(record: RunRecord, result: RunResult) -> RunRecord:
    """The record at its end.

    Raises:
        ValueError: The result is of another run, or of a run that still goes on.
    """
    require_end_of(record.run_id, result)
    return evolve(record, phase=Phase.FINISHED, result=result)


def require_end_of(run_id: str, result: RunResult) -> None:
    """Refuse a result that cannot be stored as the end of this run.

    Raises:
        ValueError: The result is of another run, or of a run that still goes on.
    """
    if result.run_id != run_id or not is_final(result):
        raise ValueError("not a result that ends this run")


def owner_gone(record: RunRecord) -> OwnerGone:
    """The evidence of an unfinished record whose owner is proven gone."""
    return OwnerGone(record.phase, record.journaled)
