"""Pauses, issues, decisions and reviews to try the laws of stopped runs with."""

from typing import Any, Final

from attrs import evolve

from support.stores import HALTED, draft, result_of, run_id
from surehand.core.attention.capability import Instants, capability_digest, seal_of
from surehand.core.attention.decision import Decision, DecisionRequest, DecisionStatus, Door, Review
from surehand.core.attention.pause import DECIDE_SECONDS, Action, DeliveryState, Issue, KeptPause, Pause
from surehand.core.outcome.evidence import OpenPause, PauseCategory
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord

KEY: Final = bytes(range(32))
OTHER_KEY: Final = bytes(32)
NOW: Final = 1_700_000_000
BOOT: Final = "0b00b1e5-0000-4000-8000-000000000001"
BOOT_MS: Final = 5_000_000
OWNER: Final = "a" * 32
OTHER_OWNER: Final = "b" * 32
BUNDLE: Final = "c" * 64
INPUTS: Final = "d" * 64
EVIDENCE: Final = "e" * 64

#: A run that stopped before the save.
STOPPED: Final = evolve(HALTED, pause=OpenPause(PauseCategory.IDENTITY))


def pause_id(number: int = 1) -> str:
    """The pause id of this number."""
    return f"att_{number:024x}"


def pause(number: int = 1, **changes: Any) -> Pause:  # noqa: ANN401 - fields of many types
    """A pause before the save of run 1."""
    made = Pause(
        pause_id=pause_id(number),
        run_id=run_id(1),
        workflow="add_triage_note",
        bundle=BUNDLE,
        category=PauseCategory.IDENTITY,
        at=3,
        before_save=True,
        delivery=DeliveryState.NOT_DELIVERED,
        inputs=INPUTS,
        evidence=EVIDENCE,
        created_at=NOW,
    )
    return evolve(made, **changes)


def issue(number: int = 1, **changes: Any) -> Issue:  # noqa: ANN401 - as above
    """An issue to the owner."""
    made = Issue(
        number=number,
        owner=OWNER,
        issued_at=NOW,
        expires_at=NOW + DECIDE_SECONDS,
        boot=BOOT,
        boot_ms=BOOT_MS,
    )
    return evolve(made, **changes)


def kept(made: Pause | None = None, *issues: Issue) -> KeptPause:
    """A pause as a ledger keeps it."""
    what = pause() if made is None else made
    return KeptPause(pause=what, seal=seal_of(KEY, what), issues=issues or (issue(),))


def instants(seconds: int = 10, **changes: Any) -> Instants:  # noqa: ANN401 - as above
    """So many seconds after the pause was issued, by both clocks."""
    return evolve(Instants(NOW + seconds, BOOT, BOOT_MS + seconds * 1000), **changes)


def asked(kept_pause: KeptPause, action: Action = Action.CONTINUE, key: str = "1" * 64, **changes: Any) -> Decision:  # noqa: ANN401 - as above
    """A decision that a door asks for, with the right capability."""
    made = Decision(
        key=key,
        pause_id=kept_pause.pause.pause_id,
        run_id="",
        action=action,
        capability=capability_digest(KEY, kept_pause),
        operator="nurse",
        door=Door.TERMINAL,
        status=DecisionStatus.PREPARED,
        decided_at=NOW + 10,
    )
    return evolve(made, **changes)


def review(kept_pause: KeptPause | None = None, *decisions: Decision, **changes: Any) -> Review:  # noqa: ANN401 - as above
    """What a ledger says of a pause that waits."""
    made = Review(kept() if kept_pause is None else kept_pause, newest=True, waiting=True, decisions=decisions)
    return evolve(made, **changes)


def request(kept_pause: KeptPause, key: str = "a-key-of-16-signs", **changes: Any) -> DecisionRequest:  # noqa: ANN401 - as above
    """What a door sends."""
    digest = capability_digest(KEY, kept_pause)
    return evolve(DecisionRequest(kept_pause.pause.pause_id, digest, key, confirm=True), **changes)


def stopped_run(number: int = 1, name: str = "entry-1") -> tuple[RunRecord, RunResult]:
    """A run that is reserved, and the answer with which it stops."""
    record = draft(number, name)
    return record, result_of(record, STOPPED)
