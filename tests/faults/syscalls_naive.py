"""The store of the negative control: it looks, lets the run act, and keeps a record afterwards.

Laws of this module:

- It answers every call as the others do while nothing goes wrong. Only what a kill leaves behind is different.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from support.effects import premises_of
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord
from surehand.shell.catalog import Premises
from surehand.shell.files import private_folder
from surehand.shell.store.base import kept_result, result_text
from surehand.shell.store.memory import MemoryStore


class LookActRecordStore(MemoryStore):
    """Keeps in a file only what came to its end."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        private_folder(folder)
        self._path: Final = folder / "records"
        for line in self._path.read_text().splitlines() if self._path.exists() else ():
            with suppress(ValueError):
                self._take(json.loads(line))

    def _take(self, kept: dict[str, str]) -> None:
        record = RunRecord(
            run_id=kept["run_id"],
            request_key=kept["request_key"],
            attempt=int(kept["attempt"]),
            workflow=kept["workflow"],
            fingerprint=kept["fingerprint"],
            owner=kept["owner"],
            journaled=True,
            phase=Phase.FINISHED,
            created_at=0,
            result=kept_result(kept["result"], kept["run_id"]),
        )
        self._records[record.run_id] = record

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Move the run on in memory, and then write it down."""
        moved = super().finish(run_id, owner, result)
        record = self.load(run_id)
        if moved and record is not None:
            kept = {
                "run_id": run_id,
                "request_key": record.request_key,
                "attempt": str(record.attempt),
                "workflow": record.workflow,
                "fingerprint": record.fingerprint,
                "owner": owner,
                "result": result_text(result),
            }
            with self._path.open("a") as file:
                print(json.dumps(kept), file=file)
        return moved


def opens_naive_premises(folder: Path) -> Premises:
    """Premises with a store that looks, acts and then records."""
    return premises_of(folder, LookActRecordStore)
