"""The demonstration: the five training scenarios, one after another, each with its honest outcome.

Laws of this module:

- A scenario runs like any other request, through the same service. Nothing here knows how a run works.
- Each demonstration asks with request ids of its own, so that it always runs and never replays.
"""

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from surehand.core.outcome.result import RunResult
from surehand.shell.api import Surehand
from surehand.shell.clock import Clock
from surehand.shell.identity import new_token
from surehand.shell.sandbox.cases import CASES, Case

#: What is entered; it is synthetic.
NOTE: Final = "Called back, symptoms unchanged. Book the next free slot."

#: Seconds that one scenario may take at most.
CASE_SECONDS: Final = 120


@frozen
class Shown:
    """One scenario as it went."""

    case: Case
    result: RunResult
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether it ended as an honest run ends there."""
        return self.result.reason is self.case.reason


def scenarios() -> tuple[Case, ...]:
    """The scenarios in the order in which they are shown."""
    return tuple(CASES.values())


def show(hand: Surehand, clock: Clock) -> Iterator[Shown]:
    """Run every scenario; each is given when it has ended."""
    series = new_token()
    for case in scenarios():
        began = clock.monotonic()
        inputs = {"note": NOTE, "sandbox_case": case.name}
        result = hand.run_workflow("add_triage_note", inputs, f"demo-{series}-{case.name}", CASE_SECONDS)
        yield Shown(case, result, clock.monotonic() - began)
