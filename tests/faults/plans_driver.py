"""The process that runs the cells of the plan layer: it loads everything once and forks for each process of a cell.

Laws of this module:

- Nothing is open and no thread runs when it forks.
- What a process says goes through a pipe; one that is killed says nothing.
- A process that does not end in time is killed by its number, and the cell says so.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from faults.plans_parts import CASE, Blow, Points, go_through, notes, plan
from surehand.core.orchestration.run import WorkflowRun
from surehand.shell.engines.base import AppTarget
from surehand.shell.sandbox.process import SandboxApp

#: Seconds that one process of a cell may take on a machine under load.
LIMIT: Final = 120.0


def main() -> None:
    """Read cells from standard input, a line each, and say what each came to."""
    plan()  # loads the converter before the first fork
    with closing(SandboxApp.start()) as app:
        target = app.target({"note": "", "sandbox_case": CASE})
        for line in sys.stdin:
            print(json.dumps(_cell(json.loads(line), target)), flush=True)  # noqa: T201 - the answer


def _cell(order: dict[str, Any], target: AppTarget) -> dict[str, Any]:
    """One plan, whose processes die one after another; the last one is left alone."""
    folder, mark = Path(order["folder"]), str(order["mark"])
    said: list[dict[str, Any] | str] = []
    for blow in (*(Blow(**each) for each in order["kills"]), Blow()):
        said.append(
            _process(lambda points: go_through(folder, target, mark, points, order["broken"], order["chromium"]), blow)
        )
        if isinstance(said[-1], dict):
            break
    return {"said": said, "notes": sorted(note for note in notes(target) if note.startswith(f"{mark} "))}


def _process(work: Callable[[Points], WorkflowRun], blow: Blow) -> dict[str, Any] | str:
    """What one process says at its end; how it died when it says nothing."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _child(work, Points(blow), writes)
    os.close(writes)
    said = _said(reads, child)
    _, status = os.waitpid(child, 0)
    if said:
        found: dict[str, Any] = json.loads(said)
        return found
    return "killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else "broke down"


def _child(work: Callable[[Points], WorkflowRun], points: Points, writes: int) -> None:
    code = 1
    try:
        run = work(points)
        told = {
            "status": run.status.value,
            "at": run.current_step_id,
            "steps": [
                (each.step_id, each.end.outcome.value, each.end.record_changed.value) for each in run.step_results
            ],
            "points": points.passed,
        }
        os.write(writes, json.dumps(told).encode())
        code = 0
    finally:
        os._exit(code)


def _said(reads: int, child: int) -> bytes:
    """Everything that a process says until it is gone."""
    said = b""
    with os.fdopen(reads, "rb", 0) as stream:
        while True:
            if not select.select([stream], [], [], LIMIT)[0]:
                os.kill(child, signal.SIGKILL)
                return b""
            part = stream.read(65536)
            if not part:
                return said
            said += part


if __name__ == "__main__":
    main()
