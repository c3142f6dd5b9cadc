"""What need not be kept for ever: records of calls that reserved nothing, and journals of finished runs.

Laws of this module:

- A run is never dropped, nor any part of it: its request id is answered for ever.
- A journal is dropped only when its run is finished, or was never kept; what it proved stands in the run's result.
- What is too young stays, and so does what cannot be told to be old.
"""

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from surehand.core.outcome.evidence import Phase
from surehand.shell.fence.journal import JOURNALS, run_of_journal
from surehand.shell.store.base import RunStore, StoreUnavailableError


@frozen
class Pruned:
    """How much was dropped, or would have been.

    Args:
        refusals: Records of calls that reserved nothing.
        journals: Journals of the write fence.
    """

    refusals: int
    journals: int


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
        old = [path for path in _old_journals(folder / JOURNALS, before) if _is_over(store, path)]
        if not dry_run:
            for path in old:
                path.unlink(missing_ok=True)
    except OSError:
        raise StoreUnavailableError("the folder refused") from None
    return Pruned(store.old_refusals(before) if dry_run else store.forget_refusals(before), len(old))


def _old_journals(journals: Path, before: int) -> Iterator[Path]:
    if journals.is_dir() and not journals.is_symlink():
        for path in journals.iterdir():
            if run_of_journal(path) is not None and path.lstat().st_mtime < before:
                yield path


def _is_over(store: RunStore, journal: Path) -> bool:
    record = store.load(run_of_journal(journal) or "")
    return record is None or record.phase is Phase.FINISHED
