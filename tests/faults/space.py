"""Disks that are full, limits of the process, mounts that take nothing: honest answers then, and runs again afterwards.

Laws of this module:

- No limit is played: each cell meets a real one in a mount namespace of its own, which ends with its process.
- A request that was refused for want of space runs once space is back. A full disk poisons no request id.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from faults.result import Control, LayerResult
from faults.space_cells import Limit

#: Cells of the short profile, drawn by the seed, one of each kind and store first.
SHORT_CELLS: Final = 26

#: Seconds that all cells of one process may take.
LIMIT_SECONDS: Final = 1200

NO_MOUNTS: Final = "mounts of one's own are needed: run this as root, or allow user namespaces"

_TESTS: Final = Path(__file__).parents[1]

#: Kind, steps, and whether the folder may have been used before.
_STEPS: Final[dict[str, tuple[tuple[int, ...], tuple[bool, ...]]]] = {
    "full disk": (tuple(range(64, 1025, 64)), (False,)),
    "file size": (tuple(range(0, 60_000, 3_000)), (False, True)),
    "no inodes": (tuple(range(3, 15)), (False,)),
    "read-only": ((0,), (False, True)),
    "open files": ((1, 2, 3, 4, 5, 6, 8, 10), (False, True)),
    "in the way": ((0, 1), (False,)),
    "folder gone": ((0,), (False,)),
}

EVERY: Final = tuple(
    Limit(kind, step, store, used)
    for kind, (steps, uses) in _STEPS.items()
    for step in steps
    for used in uses
    for store in ("sqlite", "claims")
)


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    limits = EVERY if profile == "full" else _drawn(seed)
    told = _performed(limits, report)
    pairs = list(zip(limits, told, strict=True))
    violations = tuple(f"{_name(limit)}: {said}" for limit, (wrong, _, _) in pairs for said in wrong)
    done, refused = sum(count for _, count, _ in told), sum(count for *_, count in told)
    met = sum(count > 0 for *_, count in told)
    notes = (f"the limit was met in {met} cells: {done} entries went and {refused} did not",)
    return LayerResult("space", len(limits), violations, (_control(report),), time.monotonic() - began, notes)


def _name(limit: Limit) -> str:
    return f"{limit.store}, {limit.kind} {limit.step}{', used before' if limit.used else ''}"


def _drawn(seed: int) -> tuple[Limit, ...]:
    chance = random.Random(seed)  # noqa: S311 - which cells are run
    shuffled = chance.sample(EVERY, len(EVERY))
    first = list({(limit.kind, limit.store): limit for limit in shuffled}.values())
    rest = [limit for limit in shuffled if limit not in first]
    return tuple(first + rest[: max(0, SHORT_CELLS - len(first))])


def _performed(limits: tuple[Limit, ...], report: Callable[[str], None]) -> list[tuple[list[str], int, int]]:
    """Run cells in a process that has mounts of its own.

    Raises:
        RuntimeError: This machine gives no mounts of one's own, or the process broke down.
    """
    cells = json.dumps([attrs.asdict(limit) for limit in limits])
    told = subprocess.run(  # the process ends its namespace and every mount in it
        [*_own_mounts(), sys.executable, "-m", "faults.space_cells", cells],
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
    )
    lines = told.stdout.splitlines()
    if told.returncode != 0 or len(lines) != len(limits):
        report(told.stderr)
        raise RuntimeError("the process of the cells broke down")
    answers = [json.loads(line) for line in lines]
    return [(list(answer["wrong"]), int(answer["done"]), int(answer["refused"])) for answer in answers]


def _own_mounts() -> list[str]:
    """The command that gives a process mounts of its own."""
    for switches in ("-Urm", "-m"):
        command = ["unshare", switches]
        if subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0:
            return command
    raise RuntimeError(NO_MOUNTS)


def _control(report: Callable[[str], None]) -> Control:
    """A store that remembers a request before it has room for it."""
    limits = tuple(Limit("full disk", step, "poisoned", used=False) for step in (192, 256, 384))
    wrong = [said for wrongs, _, _ in _performed(limits, report) for said in wrongs]
    poisoned = sum("never runs again" in said for said in wrong)
    evidence = f"{poisoned} requests never ran again after {len(limits)} full disks"
    return Control("a store that poisons requests on a full disk", bool(poisoned), evidence)
