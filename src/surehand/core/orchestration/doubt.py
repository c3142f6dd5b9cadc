"""What the ledger says of a step that may have begun: what its request came to, if it came to anything.

Laws of this module:

- Only attempts that all proved that nothing was written let the step run.
- The first attempt that proves nothing decides, as it does for the request gate.
"""

from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.result import StepEnd, end_of_run
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult


def found_in(attempts: tuple[RunResult, ...]) -> StepEnd | Doubt:
    """The end of a step by the attempts under its request id, oldest first; one that still goes on says nothing."""
    for attempt in attempts:
        if attempt.outcome is Outcome.RUNNING:
            return Doubt.UNKNOWN
        if not attempt.safe_to_retry:
            return end_of_run(attempt)
    return Doubt.NOT_DELIVERED
