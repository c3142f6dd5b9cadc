"""The frame of the fault rig: which layers there are, and the table of what they found.

Laws of this module:

- A layer is a module of this folder whose name has no underscore; its helpers are called ``<layer>_<what>.py``.
- A layer is a function of profile and seed. It leaves nothing behind and kills only what it started.
- A layer that cannot run has failed: nothing is ever skipped.
"""

import argparse
import importlib
import json
import platform
import secrets
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol, cast

import attrs

from faults.result import Control, LayerResult

#: The profiles: ``short`` belongs to every test run, ``full`` is the campaign.
PROFILES: Final = ("short", "full")

#: Violations of one layer that are printed; the rest are counted.
SHOWN: Final = 20

_FOLDER: Final = Path(__file__).parent
_FRAME: Final = frozenset({"rig", "result"})

Reporter = Callable[[str], None]


class Layer(Protocol):
    """A layer: its module."""

    def run(self, profile: str, seed: int, report: Reporter) -> LayerResult:
        """Run the layer.

        Args:
            profile: ``short`` or ``full``.
            seed: Decides everything that is drawn; the same seed draws the same cells.
            report: Takes a line about the progress.
        """
        ...


def layer_names() -> tuple[str, ...]:
    """The layers, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if "_" not in path.stem and path.stem not in _FRAME))


def load(name: str) -> Layer:
    """The layer of this name.

    Raises:
        ValueError: There is none.
    """
    if name not in layer_names():
        raise ValueError("no such layer")
    return cast("Layer", importlib.import_module(f"faults.{name}"))


def run_layer(name: str, profile: str, seed: int, report: Reporter) -> LayerResult:
    """Run one layer; one that breaks down is a layer with a violation."""
    began = time.monotonic()
    try:
        return load(name).run(profile, seed, report)
    except Exception as error:  # noqa: BLE001 - a layer that breaks down must not keep the others from running
        report(traceback.format_exc())
        broken = f"the layer broke down: {type(error).__name__}: {error}"
        return LayerResult(name, 0, (broken,), (), time.monotonic() - began)


def table(results: Sequence[LayerResult], profile: str, seed: int) -> str:
    """What was found, as text in Markdown: one row for each layer, then violations, controls and notes."""
    lines = [
        f"Profile {profile}, seed {seed}, {datetime.now(UTC):%Y-%m-%d}, {machine()}.",
        "",
        "| layer | cells | violations | controls caught | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [_row(result) for result in results]
    for result in results:
        lines += _remarks(result)
    return "\n".join(lines)


def machine() -> str:
    """The machine and the versions that the figures belong to."""
    uname = platform.uname()
    python = platform.python_version()
    return f"{uname.system} {uname.release} {uname.machine}, Python {python}, SQLite {sqlite3.sqlite_version}"


def _row(result: LayerResult) -> str:
    caught = sum(control.caught for control in result.controls)
    counts = f"{result.cells:,} | {len(result.violations)} | {caught} of {len(result.controls)}"
    return f"| {result.name} | {counts} | {result.seconds:.1f} |"


def _remarks(result: LayerResult) -> list[str]:
    remarks = [f"VIOLATION {violation}" for violation in result.violations[:SHOWN]]
    if len(result.violations) > SHOWN:
        remarks.append(f"and {len(result.violations) - SHOWN} violations more")
    remarks += [f"control {_caught(control)}: {control.name} ({control.evidence})" for control in result.controls]
    remarks += result.notes
    return ["", f"{result.name}:", "", *(f"- {remark}" for remark in remarks)] if remarks else []


def _caught(control: Control) -> str:
    return "caught" if control.caught else "NOT CAUGHT"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 1 when a layer does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Run the fault rig.")
    parser.add_argument("--profile", choices=PROFILES, default="short")
    parser.add_argument("--layer", choices=layer_names(), action="append", help="Only this layer; may be repeated.")
    parser.add_argument("--seed", type=int, default=None, help="Draw the same cells again.")
    parser.add_argument("--json", action="store_true", help="Print the results as JSON.")
    chosen = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed
    results = [run_layer(name, chosen.profile, seed, _progress) for name in chosen.layer or layer_names()]
    print(_json(results, chosen.profile, seed) if chosen.json else table(results, chosen.profile, seed))  # noqa: T201 - a command's output
    return 0 if results and all(result.holds for result in results) else 1


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command's output


def _json(results: Sequence[LayerResult], profile: str, seed: int) -> str:
    layers = [{**attrs.asdict(result), "holds": result.holds} for result in results]
    return json.dumps({"profile": profile, "seed": seed, "machine": machine(), "layers": layers}, indent=2)
