"""What the ledger says of a step that may have begun: what its request came to, if it came to anything.

Laws of this module:

- Only attempts that all proved that nothing was written let the step run.
- The first attempt that proves nothing decides, as it does for the request gate.
"""

from surehand.core.orchestration.events import Doubt
from surehand.core.orchestration.result import StepEnd, end_of_run
from surehand.core.request.record import RunRecord


def found_in(attempts: tuple[RunRecord, ...]) -> StepEnd | Doubt:
    """The end of a step by the attempts under its request id, oldest first.

    An attempt that is not finished, or whose answer cannot be read, says nothing.
    """
    for attempt in attempts:
        if attempt.result is None:
            return Doubt.UNKNOWN
        if not attempt.result.safe_to_retry:
            return end_of_run(attempt.result)
    return Doubt.NOT_DELIVERED
