"""What a process does that opens a folder in which no store was before."""

import os
from contextlib import closing
from pathlib import Path
from typing import Final

from support.stores import OpensStores, draft, opens_claims, opens_sqlite
from surehand.shell.store.base import RunStore

#: Says to the processes where the new folders are made.
PLACE: Final = "SUREHAND_TEST_PLACE"


def opens_a_new_folder(store: RunStore, number: int, racer: int) -> tuple[str, str]:
    """Every racer opens the same new folder, and asks it for the same request."""
    del store
    folder = Path(os.environ[PLACE]) / f"new-{number}"
    with closing(_OPENS[number % 2](folder)) as new:
        decision = new.reserve(draft(1000 * number + racer))
        return type(decision).__name__, decision.record.run_id


_OPENS: tuple[OpensStores, OpensStores] = (opens_sqlite, opens_claims)
