"""What need not be kept of plans for ever: what runs were given and found, and the journals of their tasks.

Laws of this module:

- A run is never dropped, nor how its steps ended: its request id is answered for ever.
- What goes on keeps everything: whoever takes it up needs its values, and the journal of the task at which it is.
- What is too young stays.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from surehand.core.orchestration.step import visit_name
from surehand.core.orchestration.task import port_of
from surehand.shell.orchestration.store import PlanStore
from surehand.shell.store.base import StoreUnavailableError

#: The folder of the fence's journals of tasks in the state folder.
GOALS: Final = "goals"

_JOURNAL: Final = re.compile(r"(goal-[0-9a-f]{32})-[0-9a-f]{8}\.jsonl")


@frozen
class PrunedPlans:
    """How much was dropped, or would have been.

    Args:
        runs: Runs whose values were dropped.
        journals: Journals of tasks.
    """

    runs: int
    journals: int


def prune_plans(store: PlanStore, state_folder: Path, before: int, *, dry_run: bool) -> PrunedPlans:
    """Drop what is older than a time.

    Args:
        store: The opened store of plans.
        state_folder: The state folder.
        before: Seconds since the epoch, UTC.
        dry_run: Count only.

    Raises:
        StoreError: The store or the folder refuses; what was dropped so far is gone.
    """
    try:
        journals = tuple(_old_journals(state_folder / GOALS, before, _at_work(store)))
        if not dry_run:
            for path in journals:
                path.unlink(missing_ok=True)
    except OSError:
        raise StoreUnavailableError("the folder refused") from None
    runs = store.old(before) if dry_run else store.drop_values(before)
    return PrunedPlans(runs, len(journals))


def _at_work(store: PlanStore) -> frozenset[str]:
    """The ports of the tasks at which runs are that go on."""
    names = (visit_name(each.run_id, each.current_step_id or "", each.visit) for each in store.going_on())
    return frozenset(port_of(name) for name in names)


def _old_journals(folder: Path, before: int, at_work: frozenset[str]) -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        for path in folder.iterdir():
            found = _JOURNAL.fullmatch(path.name)
            if found is not None and found[1] not in at_work and path.lstat().st_mtime < before:
                yield path
