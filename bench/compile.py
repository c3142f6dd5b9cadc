"""How long a recording of sixty steps takes to become a draft, and the draft a bundle.

Nothing is compared: the aim is that a person at a terminal does not notice, 200 ms. It is the time of the processor,
since the compiler waits for nothing and other work on the machine is no fault of it.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from attrs import asdict, frozen

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from support.demonstration_strategies import answered
from support.demonstrations import Field, Play, Shape, Tape, Values, demonstrate
from surehand.core.workflow.compile import compile_recordings, confirm
from surehand.core.workflow.recording import Recording

STEPS = 60
FIELDS = 40


@frozen
class Times:
    """Milliseconds, the median of all rounds."""

    steps: int
    compile_ms: float
    compile_two_ms: float
    confirm_ms: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    times = measured(options.rounds)
    if options.json:
        print(json.dumps(asdict(times), indent=2))
        return
    print(f"{times.steps} steps: one recording {times.compile_ms:.1f} ms, two {times.compile_two_ms:.1f} ms")
    print(f"answers to a bundle: {times.confirm_ms:.1f} ms")


def measured(rounds: int) -> Times:
    """The times of one and two recordings, and of the answers."""
    one, two = recording("first"), recording("second")
    draft = compile_recordings((one,)).unwrap()
    answers = answered(draft)
    return Times(
        steps=len(draft.plan.steps),
        compile_ms=milliseconds(lambda: compile_recordings((one,)), rounds),
        compile_two_ms=milliseconds(lambda: compile_recordings((one, two)), rounds),
        confirm_ms=milliseconds(lambda: confirm(draft, answers), rounds),
    )


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The median time of the work."""
    times: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return median(times)


def recording(which: str) -> Recording:
    """A task of sixty steps: a row is opened, pages are looked at, and a form of forty fields is filled."""

    def looks(tape: Tape) -> None:
        for _ in range(STEPS - FIELDS - 3):
            tape.click("Next")

    names = [f"{first}{second}" for first in "abcde" for second in "klmnopqr"]
    shape = Shape(fields=tuple(Field(caption=f"Note {name}") for name in names), presence=True)
    values = Values(texts=tuple(f"the {which} text of {name}" for name in names))
    return demonstrate(shape, values, Play(in_form=looks))


if __name__ == "__main__":
    main()
