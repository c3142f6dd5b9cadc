"""What need not be kept for ever: records of calls that reserved nothing; journals, traces and sealed evidence of runs.

Laws of this module:

- A run is never dropped, nor any part of it: its request id is answered for ever.
- A journal or a trace is dropped only when its run is finished, or was never kept; what a journal proved stands in the
  run's result.
- The sealed evidence of a pause, and the audit lines of what was refused about it, are dropped only when nobody waits
  for the pause; what was decided stays.
- What is too young stays, and so does what cannot be told to be old.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from surehand.core.attention.decision import still_waits
from surehand.core.outcome.evidence import Phase
from surehand.shell.attended.sealing import ATTENTION, pause_of_file
from surehand.shell.fence.journal import JOURNALS, run_of_journal
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import RunStore, StoreUnavailableError
from surehand.shell.traces import TRACES, run_of_trace


@frozen
class Pruned:
    """How much was dropped, or would have been.

    Args:
        refusals: Records of calls that reserved nothing.
        journals: Journals of the write fence.
        traces: Traces of what runs did.
        evidence: Sealed evidence of stopped runs.
        refused_decisions: Audit lines of decisions that were not taken.
    """

    refusals: int
    journals: int
    traces: int = 0
    evidence: int = 0
    refused_decisions: int = 0


def prune(store: RunStore, folder: Path, before: int, *, dry_run: bool) -> Pruned:
    """Drop what is older than a time.

    Args:
        store: The opened store of the folder.
        folder: The state folder.
        before: Seconds since the epoch, UTC.
        dry_run: Count only.

    Raises:
        StoreError: The store or the folder refuses; what was dropped so far is gone.
    """
    try:
        journals = [path for path in old_files(folder / JOURNALS, before, run_of_journal) if _is_over(store, path)]
        traces = [path for path in old_files(folder / TRACES, before, run_of_trace) if _is_over(store, path)]
        evidence = [path for path in old_files(folder / ATTENTION, before, pause_of_file) if _is_decided(store, path)]
        if not dry_run:
            for path in (*journals, *traces, *evidence):
                path.unlink(missing_ok=True)
    except OSError:
        raise StoreUnavailableError("the folder refused") from None
    refusals = store.old_refusals(before) if dry_run else store.forget_refusals(before)
    return Pruned(
        refusals, len(journals), len(traces), len(evidence), _refused_decisions(store, before, dry_run=dry_run)
    )


def _refused_decisions(store: RunStore, before: int, *, dry_run: bool) -> int:
    attention = attention_of(store)
    if attention is None:
        return 0
    return attention.old_refused(before) if dry_run else attention.forget_refused(before)


def old_files(folder: Path, before: int, name_of: Callable[[Path], str | None]) -> Iterator[Path]:
    """The files in a folder that belong to something with a name and are older than a time."""
    if folder.is_dir() and not folder.is_symlink():
        for path in folder.iterdir():
            if name_of(path) is not None and path.lstat().st_mtime < before:
                yield path


def _is_over(store: RunStore, path: Path) -> bool:
    record = store.load(run_of_journal(path) or run_of_trace(path) or "")
    return record is None or record.phase is Phase.FINISHED


def _is_decided(store: RunStore, path: Path) -> bool:
    """Whether nobody waits for the pause of this evidence; also when it was sealed for a pause that was never kept."""
    attention = attention_of(store)
    review = None if attention is None else attention.review(pause_of_file(path) or "")
    if review is None:
        return True
    record = store.load(review.kept.pause.run_id)
    return not still_waits(review) and (record is None or record.phase is Phase.FINISHED)
