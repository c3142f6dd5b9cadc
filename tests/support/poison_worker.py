"""A worker process whose engine kills it when it is told to: everything else of it is the real one.

Laws of this module:

- The kill comes while a run is executed, on the side of the boundary that its input names.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Final

from support.service import CANCELED, DONE
from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.result import EngineName
from surehand.shell.engines.base import Boundary, Job
from surehand.shell.engines.browser import duty, worker

#: The note of a job that kills its worker before the boundary.
POISON: Final = "poison"

#: The note of a job that kills its worker behind the boundary.
LATE_POISON: Final = "late poison"

MODULE: Final = __name__ if __name__ != "__main__" else "support.poison_worker"


class PoisonEngine:
    """Writes nothing anywhere; says that it did, or kills its process."""

    name: Final = EngineName.BROWSER

    def __init__(self, journal_folder: Path, **settings: object) -> None:
        del journal_folder, settings

    def warm_up(self) -> None:
        """Nothing has to be started."""

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one job, or die of it."""
        if job.inputs["note"] == POISON:
            os.kill(os.getpid(), signal.SIGKILL)
        if boundary.stop_requested() or not boundary.cross():
            return CANCELED
        if job.inputs["note"] == LATE_POISON:
            os.kill(os.getpid(), signal.SIGKILL)
        return DONE

    def close(self) -> None:
        """Nothing is held."""


if __name__ == "__main__":
    setattr(duty, "BrowserEngine", PoisonEngine)  # noqa: B010 - the stand-in is of another type
    sys.exit(worker.main())
