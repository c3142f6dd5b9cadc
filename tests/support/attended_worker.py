"""A worker process that attends, with an engine by script and an app that is one file; it can be killed at any step.

Laws of this module:

- Everything but the browser is the real worker: its inbox, its ledger, its performer.
- The app is a file with one line for each write that reached it. Nothing of ours reads it.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final

from support.attention import STOPPED
from support.service import CANCELED, DONE
from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.result import EngineName
from surehand.core.workflow.commands import Record, Records, RecordsUnavailable
from surehand.shell.engines.base import Boundary, Job, Stop, WindowGoneError
from surehand.shell.engines.browser import duty, worker
from surehand.shell.store.sqlite_attention import SqliteAttention

MODULE: Final = __name__ if __name__ != "__main__" else "support.attended_worker"

#: Where the app's file is, at which step the worker is killed, and whether its engine writes too early.
APP: Final = "SUREHAND_TEST_APP"
KILL: Final = "SUREHAND_TEST_KILL"
EARLY: Final = "SUREHAND_TEST_EARLY"

#: The methods of the ledger beside which the worker can be killed, and the write of the app.
STEPS: Final = {"claim": "claim", "begin_continuation_delivery": "cross", "end": "end"}
POINTS: Final = (
    "claim.before",
    "claim.after",
    "cross.before",
    "cross.after",
    "write.after",
    "end.before",
    "end.after",
)

#: A note whose run saves at once; one that waits for a file ``go`` beside the app before that; and one that stops, and
#: waits so when it goes on.
PLAIN: Final = "plain"
HELD: Final = "plain and held"
HELD_LATER: Final = "stops and is held"


#: What every record of the app holds beside its note.
SAVED: Final = {
    "record_number": "SYN-1042",
    "patient": "Ada Example",
    "date_of_birth": "1901-03-14",
    "urgency": "Routine",
    "author": "Surehand Sandbox",
}


def die_at(point: str) -> None:
    """Die, if it is the point at which the first worker that comes there is to be killed."""
    if os.environ.get(KILL) == point:
        with suppress(FileExistsError):
            Path(os.environ[APP]).with_suffix(".killed").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)


class ScriptedEngine:
    """Stops every run whose note is not plain, and writes one line when it may."""

    def __init__(
        self,
        journal_folder: Path,
        *,
        before_save: Callable[[Job, Records], None] = lambda _job, _baseline: None,
        attended: bool = False,
        **settings: object,
    ) -> None:
        del journal_folder, settings
        self._before_save = before_save
        self._attended = attended
        self._app = Path(os.environ[APP])
        self._jobs: dict[str, Job] = {}
        self._stop: Stop | None = None

    @property
    def name(self) -> EngineName:
        """As the engine that it stands for."""
        return EngineName.BROWSER

    def warm_up(self) -> None:
        """Nothing has to be started."""

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Save, or stop."""
        self._stop = None
        note = job.inputs["note"]
        if note.startswith(PLAIN):
            self._hold(note == HELD)
            return self._save(job, boundary)
        self._stop = Stop(
            at=1,
            before_save=True,
            skippable=False,
            guarded=Records(()),
            baseline=None,
            has_window=self._attended,
        )
        if self._attended:
            self._jobs[job.run_id] = job
        return STOPPED

    def _hold(self, is_held: bool) -> None:
        """Wait for the test."""
        self._app.with_suffix(".reached").touch()
        while is_held and not self._app.with_suffix(".go").exists():
            time.sleep(0.005)

    def _save(self, job: Job, boundary: Boundary) -> Evidence:
        self._before_save(job, self._records())
        if EARLY in os.environ:
            self._write(job)
        if boundary.stop_requested() or not boundary.cross():
            return CANCELED
        if EARLY not in os.environ:
            self._write(job)
        return DONE

    def _write(self, job: Job) -> None:
        with self._app.open("a", encoding="utf-8") as lines:
            lines.write(f"{job.inputs['note']}\n")
        die_at("write.after")

    def last_stop(self) -> Stop | None:
        """How the last run was left."""
        return self._stop

    def windows(self) -> frozenset[str]:
        """The runs that can go on."""
        return frozenset(self._jobs)

    def job_of(self, run_id: str) -> Job | None:
        """The job of one of them."""
        return self._jobs.get(run_id)

    def resume(self, run_id: str, boundary: Boundary, *, skip: bool) -> Evidence:
        """Go on with one of them."""
        del skip
        job = self._jobs.pop(run_id, None)
        if job is None:
            raise WindowGoneError
        self._stop = None
        self._hold(job.inputs["note"] == HELD_LATER)
        return self._save(job, boundary)

    def reopen(self, job: Job, at: int, boundary: Boundary) -> Evidence | None:
        """Open a window again."""
        del at, boundary
        self._jobs[job.run_id] = job
        return None

    def reread(self, job: Job, old: frozenset[str], boundary: Boundary) -> Records | RecordsUnavailable:
        """Read the app."""
        del job, old, boundary
        return self._records()

    def _records(self) -> Records:
        lines = self._app.read_text(encoding="utf-8").splitlines() if self._app.exists() else []
        return Records(tuple(Record(f"n-{number}", {**SAVED, "note": line}) for number, line in enumerate(lines)))

    def show(self, run_id: str) -> None:
        """There is nothing to be seen."""

    def let_go(self, run_id: str) -> None:
        """Close a window."""
        self._jobs.pop(run_id, None)

    def close(self) -> None:
        """Nothing is held."""


def deadly(step: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which kills its process before or after its work where that is wanted."""

    @wraps(method)
    def called(*given: object, **named: object) -> Any:  # noqa: ANN401 - whatever the method answers
        die_at(f"{step}.before")
        answer = method(*given, **named)
        die_at(f"{step}.after")
        return answer

    return called


if __name__ == "__main__":
    for name, step in STEPS.items():
        setattr(SqliteAttention, name, deadly(step, getattr(SqliteAttention, name)))
    setattr(duty, "BrowserEngine", ScriptedEngine)  # noqa: B010 - the stand-in is of another type
    sys.exit(worker.main())
