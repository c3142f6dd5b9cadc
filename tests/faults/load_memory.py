"""Many runs, one after another, in one process: says how much memory it held after the first tenth and at the end.

``python -m faults.load_memory <folder> <runs> <kept|forgotten>``; ``kept`` is wrong on purpose: it remembers every run.
"""

import json
import sys
from pathlib import Path

from support.effects import ask, hand

#: Bytes that a run leaves behind in the process that is wrong on purpose.
LEFT_BYTES = 8192


def resident_bytes() -> int:
    """What of this process is in memory now."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def main(folder: Path, runs: int, *, kept: bool) -> None:
    """Run, and tell."""
    left: list[bytearray] = []

    def note(_run_id: str) -> None:
        if kept:
            left.append(bytearray(b"x" * LEFT_BYTES))

    with hand(folder, folder / "oracle", note=note) as surehand:
        for number in range(runs // 10):
            ask(surehand, f"first-{number}")
        at_start = resident_bytes()
        for number in range(runs - runs // 10):
            ask(surehand, f"then-{number}")
        at_end = resident_bytes()
    print(json.dumps({"start": at_start, "end": at_end}))  # noqa: T201 - what it says to the one who started it


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), kept=sys.argv[3] == "kept")
