"""Keeping a pause: its evidence is sealed, then the ledger is told.

Laws of this module:

- The evidence is on disk before the pause that names it.
- A pause is kept before its run is finished, so that no finished run waits for a person about whom nothing is known.
"""

from collections.abc import Mapping

from attrs import evolve, frozen

from surehand.core.attention.capability import Instants, inputs_digest, issue_at, seal_of
from surehand.core.attention.evidence import SealedEvidence
from surehand.core.attention.pause import DECIDE_SECONDS, DeliveryState, KeptPause, Pause
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.request.record import RunRecord
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.identity import new_pause_id
from surehand.shell.store.attention import AttentionStore


@frozen(kw_only=True)
class Stop:
    """Where a run stopped, as its engine says it.

    Args:
        category: Why.
        at: The number of the instruction of the plan that did not pass.
        before_save: Whether that instruction stands before the one that saves.
        skippable: Whether it belongs to a step that the bundle declares optional.
        delivery: Whether the save may have left.
        evidence: What is to be sealed.
        owner: Token of the process with the live window; empty when there is none.
    """

    category: PauseCategory
    at: int
    before_save: bool
    skippable: bool
    delivery: DeliveryState
    evidence: SealedEvidence
    owner: str = ""


def keep_stop(  # noqa: PLR0913, PLR0917 - the parts of one pause, each of them given by another
    store: AttentionStore,
    files: EvidenceFiles,
    record: RunRecord,
    inputs: Mapping[str, str],
    stop: Stop,
    instants: Instants,
) -> KeptPause:
    """Keep the pause of a run that stopped.

    Args:
        store: The ledger.
        files: Where evidence is sealed.
        record: The run.
        inputs: Its final inputs.
        stop: Where it stopped.
        instants: Now.

    Raises:
        StoreError: The ledger refuses.
        OSError: The file system refuses.
        UnsafeFileError: Something other than a file or folder of ours stands there.
    """
    pause_id = new_pause_id()
    workflow = record.workflow or ""
    pause = Pause(
        pause_id=pause_id,
        run_id=record.run_id,
        workflow=workflow,
        bundle=record.bundle,
        category=stop.category,
        at=stop.at,
        before_save=stop.before_save,
        skippable=stop.skippable,
        delivery=stop.delivery,
        lineage=store.lineage(record.run_id),
        inputs=inputs_digest(files.key, workflow, inputs),
        evidence=files.write(pause_id, record.run_id, record.bundle, stop.evidence),
        has_baseline=stop.evidence.baseline is not None,
        has_frame=stop.evidence.local.frame is not None,
        created_at=max(instants.now, 0),
    )
    issue = issue_at(instants, 1, stop.owner, DECIDE_SECONDS)
    kept = KeptPause(pause=pause, seal=seal_of(files.key, pause), issues=(issue,))
    store.keep_pause(kept)
    return kept


def issue_anew(store: AttentionStore, kept: KeptPause, owner: str, instants: Instants) -> KeptPause | None:
    """Issue a pause to who holds its window now (nobody, with an empty owner), for a new term; ``None`` when it cannot.

    Raises:
        StoreError: The ledger refuses.
    """
    issue = issue_at(instants, kept.issue.number + 1, owner, DECIDE_SECONDS)
    issued = store.issue(kept.pause.pause_id, issue)
    return evolve(kept, issues=(*kept.issues, issue)) if issued else None
