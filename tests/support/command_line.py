"""Runs the command line as its users do: as a process of its own, with a home folder of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from attrs import frozen

#: Seconds that one command may take.
DEADLINE: Final = 240


@frozen
class Told:
    """What a command said."""

    code: int
    out: str
    err: str


def surehand(home: Path, *arguments: str, stdin: str = "", **variables: str) -> Told:
    """Run one command with the folder as its home and working folder."""
    keep = {name: os.environ[name] for name in ("PATH", "COVERAGE_PROCESS_START") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "surehand", *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        cwd=home,
        env={**keep, "HOME": str(home), **variables},
        timeout=DEADLINE,
        check=False,
    )
    return Told(done.returncode, done.stdout, done.stderr)
