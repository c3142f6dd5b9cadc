"""What need not be kept of plans for ever: what runs were given and found, and the journals of their tasks.

Laws of this module:

- A run is never dropped, nor how its steps ended: its request id is answered for ever.
- What goes on keeps everything: whoever takes it up needs its values, and the journal of the task at which it is.
- What is too young stays.
"""

import re
from pathlib import Path
from typing import Final

from attrs import frozen

from surehand.core.orchestration.step import visit_name
from surehand.core.orchestration.task import port_of
from surehand.shell.orchestration.store import PlanStore
from surehand.shell.retention import old_files
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
        at_work = _at_work(store)
        old = old_files(state_folder / GOALS, before, _port_of_journal)
        journals = [path for path in old if _port_of_journal(path) not in at_work]
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


def _port_of_journal(path: Path) -> str | None:
    found = _JOURNAL.fullmatch(path.name)
    return None if found is None else found[1]
