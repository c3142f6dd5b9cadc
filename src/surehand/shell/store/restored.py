"""Taking over a ledger that was copied or restored: what it does not know any more must never run again.

Laws of this module:

- What the ledger says about a request is out of date. A later attempt may have saved, so no attempt follows any more.
- A request that only the notes beside the ledger know is treated alike.
- Each request gets its last answer through the gate and the phases, as every other answer. What was answered before
  stays as it is, but for what waited for a person: that may have gone on since.
- The new epoch begins last: taking over can be repeated until it came to its end.
"""

from attrs import evolve, frozen

from surehand.core.outcome.evidence import OwnerGone, Phase
from surehand.core.outcome.result import CallFacts, EngineName, FailedCheck, Mode, RunResult, project
from surehand.core.request.gate import Start
from surehand.core.request.record import RunRecord
from surehand.shell.clock import Clock
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.store.base import RestoredStore, StoreUnavailableError

_PAGE = 500

#: What a record proves when it may be out of date: as much as a run that was left behind the boundary.
_OUT_OF_DATE = OwnerGone(Phase.DELIVERING, journaled=True)


@frozen
class Accepted:
    """What taking over came to.

    Args:
        epoch: The number of the epoch that began.
        known: Requests in the ledger that could have run again, and cannot any more.
        lost: Requests that the ledger had forgotten, and that cannot run any more.
    """

    epoch: int
    known: int
    lost: int


def accept_restored(store: RestoredStore, clock: Clock, mode: Mode) -> Accepted:
    """Let a ledger go on from what it holds now.

    Args:
        store: Opened to be taken over. No process may use it meanwhile; one that does is cut off at the end.
        clock: Dates the last answers.
        mode: Stands in them.

    Raises:
        StoreError: It cannot be taken over; what was done so far only forbids.
    """
    latest = _latest(store)
    lost = store.noted() - latest.keys()
    known = sum(_close(store, record, clock, mode) for record in latest.values())
    forgotten = sum(_close(store, _only_a_key(key, clock), clock, mode) for key in sorted(lost))
    return Accepted(store.begin_epoch(), known, forgotten)


def _latest(store: RestoredStore) -> dict[str, RunRecord]:
    """The latest attempt of every request that the ledger knows."""
    found: dict[str, RunRecord] = {}
    before: str | None = None
    while page := store.recent(_PAGE, before):
        before = page[-1].run_id
        for record in page:
            known = found.get(record.request_key)
            if record.attempt > (0 if known is None else known.attempt):
                found[record.request_key] = record
    return found


def _only_a_key(request_key: str, clock: Clock) -> RunRecord:
    """What is left of a request that only a note knows."""
    return RunRecord(
        run_id=new_run_id(),
        request_key=request_key,
        attempt=0,
        workflow=None,
        fingerprint="",
        owner="",
        journaled=True,
        phase=Phase.FINISHED,
        created_at=clock.now(),
    )


def _close(store: RestoredStore, record: RunRecord, clock: Clock, mode: Mode) -> bool:
    """See to it that no attempt follows this one; says whether one could have."""
    if record.phase is not Phase.FINISHED:
        return store.settle_owner_gone(record, _last_answer(record, mode))
    draft = evolve(
        record,
        run_id=new_run_id(),
        attempt=0,
        phase=Phase.RESERVED,
        owner=new_token(),
        created_at=clock.now(),
        result=None,
    )
    decision = store.reserve(draft)
    if not isinstance(decision, Start):
        return False
    reserved = decision.record
    if not store.finish(reserved.run_id, reserved.owner, _last_answer(reserved, mode)):
        raise StoreUnavailableError("somebody else writes to the ledger")
    return True


def _last_answer(record: RunRecord, mode: Mode) -> RunResult:
    facts = CallFacts(
        run_id=record.run_id,
        mode=mode,
        engine=EngineName.NONE,
        attempt=record.attempt,
        failed_checks=(FailedCheck.STORE_RESTORED,),
    )
    return project(_OUT_OF_DATE, facts)
