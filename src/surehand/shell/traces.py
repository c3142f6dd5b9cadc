"""The traces of runs on disk: one private file for each run, for a person at this computer.

Laws of this module:

- A trace is written when its run has ended, and changes nothing about it: a trace that cannot be written is none.
- A trace that is missing or cannot be read says nothing.
"""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import define, field
from returns.pipeline import is_successful

from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import Command, Observation, Records
from surehand.core.workflow.replay import Checking, State
from surehand.core.workflow.trace import MOST_ACTS, Act, Compared, Trace, act_of, compared
from surehand.shell.files import UnsafeFileError, private_folder, read_start, write_durably

#: The folder of the traces, in the state folder.
TRACES: Final = "traces"

_MOST_BYTES: Final = 1 << 20
_TRACE: Final = re.compile(r"(run_[0-9a-f]{32})\.json")


def run_of_trace(path: Path) -> str | None:
    """The run whose trace this is, by its name; ``None`` for anything else."""
    found = _TRACE.fullmatch(path.name)
    return None if found is None else found[1]


@define
class Tracer:
    """Follows one run.

    Args:
        bundle: The workflow.
        inputs: Its inputs; they stay in memory.
    """

    bundle: Bundle
    inputs: Mapping[str, str] = field(repr=False)
    _acts: list[Act] = field(factory=list[Act])
    _left_out: int = 0
    _compared: tuple[Compared, ...] = ()
    _since: float = field(factory=time.monotonic)

    def note(self, state: State, command: Command, observation: Observation) -> None:
        """A command was answered, in this state of the run."""
        now = time.monotonic()
        if len(self._acts) < MOST_ACTS:
            self._acts.append(act_of(command, observation, now - self._since))
        else:
            self._left_out += 1
        if isinstance(state, Checking) and isinstance(observation, Records):
            self._compared = compared(self.bundle, self.inputs, state.baseline, observation)
        self._since = now

    def trace(self) -> Trace:
        """The trace so far."""
        return Trace(acts=tuple(self._acts), left_out=self._left_out, compared=self._compared)


def write_trace(folder: Path, run_id: str, trace: Trace) -> None:
    """Keep the trace of a run, if it can be kept.

    Args:
        folder: The folder of the traces.
        run_id: The run.
        trace: Its trace.
    """
    with suppress(OSError, UnsafeFileError):
        private_folder(folder)
        content = json.dumps(to_wire(trace), separators=(",", ":")).encode()
        write_durably(folder / f"{run_id}.json", content, sync_name=False)


def read_trace(folder: Path, run_id: str) -> Trace | None:
    """The trace of a run; ``None`` when there is none that can be read."""
    try:
        read = from_wire(json.loads(read_start(folder / f"{run_id}.json", _MOST_BYTES)), Trace)
    except (OSError, UnsafeFileError, ValueError, RecursionError):
        return None
    return read.unwrap() if is_successful(read) else None
