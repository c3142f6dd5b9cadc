"""The durable record of one call: its phases and what a dead owner's record proves.

Laws of this module:

- A record holds the contract result and opaque keys. Inputs, workflow labels and paths never enter it.
- ``reserved -> started -> delivering -> finished`` is the only order; each move is a compare-and-set by the owner.
"""

from attrs import frozen

from surehand.core.outcome.evidence import OwnerGone, Phase
from surehand.core.outcome.result import RunResult


@frozen(kw_only=True)
class RunRecord:
    """One call, as the store keeps it.

    Args:
        run_id: ``run_`` and 32 hexadecimal digits.
        request_key: ``sha256`` of the request id in hexadecimal; refusals that reserve nothing carry it too.
        attempt: 1 to 5; 0 for a call that reserved nothing.
        workflow: The declared name of the workflow, or ``None`` for an unknown one.
        fingerprint: Keyed fingerprint of workflow and inputs, hexadecimal; empty for a call that reserved nothing.
        owner: Token of the process that may move the run on; empty for a call that reserved nothing.
        journaled: Whether the engine passes the delivery boundary durably.
        phase: Where the run stands.
        created_at: Seconds since the epoch, UTC, of the reservation.
        result: Present exactly when the phase is ``FINISHED``. ``None`` in a finished record means that the stored result does not satisfy the contract.
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
    result: RunResult | None = None


def owner_gone(record: RunRecord) -> OwnerGone:
    """The evidence of an unfinished record whose owner is proven gone."""
    return OwnerGone(record.phase, record.journaled)
