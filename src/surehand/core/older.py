"""The one-word status of the deprecated tools, from the contract's result.

Laws of this module:

- ``success`` is said of ``done`` and of nothing else.
- What may have saved is told as something that a caller must not simply repeat: a halt or a timeout, never an error.
"""

from enum import Enum, unique
from typing import Final

from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.outcome.result import RunResult


@unique
class OlderStatus(Enum):
    """What the deprecated tools call an end of a run."""

    SUCCESS = "success"
    HALT = "halt"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    ERROR = "error"
    RUNNING = "running"


_OF_OUTCOME: Final[dict[Outcome, OlderStatus]] = {
    Outcome.DONE: OlderStatus.SUCCESS,
    Outcome.NEEDS_REVIEW: OlderStatus.HALT,
    Outcome.NOT_SURE_IF_SAVED: OlderStatus.HALT,
    Outcome.DID_NOT_RUN: OlderStatus.REFUSED,
    Outcome.RUNNING: OlderStatus.RUNNING,
}

_OF_REASON: Final[dict[Reason, OlderStatus]] = {
    Reason.TIMED_OUT: OlderStatus.TIMEOUT,
    Reason.PLATFORM_ERROR: OlderStatus.ERROR,
    Reason.APP_UNREACHABLE: OlderStatus.ERROR,
    Reason.CANCELED: OlderStatus.ERROR,
    Reason.INTERRUPTED_BEFORE_SAVE: OlderStatus.ERROR,
}


def older_status(result: RunResult) -> OlderStatus:
    """The status of a result."""
    return _OF_REASON.get(result.reason, _OF_OUTCOME[result.outcome])
