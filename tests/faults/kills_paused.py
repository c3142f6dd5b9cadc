"""The fence, which stops at one line of its journal until it is let go: ``kills_paused.py <stage> <side> <folder>``.

Laws of this module:

- Nothing else differs from the fence. It says that it has stopped by a file ``reached``, and waits for a file ``go``.
"""

# ruff: noqa: SLF001 - the pause stands where the line is written
# pyright: reportPrivateUsage=false

import sys
import time
from pathlib import Path

from surehand.core.workflow.fence import Stage
from surehand.shell.fence import process
from surehand.shell.fence.journal import JournalWriter


def pause_at(wanted: Stage, side: str, folder: Path) -> None:
    """Stop before or after the line of a stage."""
    real = JournalWriter._write

    def pause() -> None:
        (folder / "reached").touch()
        while not (folder / "go").exists():
            time.sleep(0.002)

    def write(self: JournalWriter, stage: Stage, status: int | None) -> None:
        if stage is wanted and side == "before":
            pause()
        real(self, stage, status)
        if stage is wanted and side == "after":
            pause()

    JournalWriter._write = write  # type: ignore[method-assign]


if __name__ == "__main__":
    pause_at(Stage(sys.argv.pop(1)), sys.argv.pop(1), Path(sys.argv.pop(1)))
    sys.exit(process.main())
