"""The request gate: what a call may do, given the attempts that went before.

Laws of this module:

- Pure and total over the history of attempts.
- At most one attempt is unfinished; a new one starts only when the latest one proved that nothing was written.
"""

from attrs import frozen

from surehand.core.request.record import RunRecord


@frozen
class Start:
    """Start this attempt; ``record`` is the draft with its attempt number."""

    record: RunRecord


@frozen
class Replay:
    """The latest attempt is the answer: finished, or still running and to be joined."""

    record: RunRecord


@frozen
class Conflict:
    """The request id was used with another workflow or other inputs."""

    record: RunRecord


@frozen
class RetryLimit:
    """Five attempts each proved that nothing was written."""

    record: RunRecord


Decision = Start | Replay | Conflict | RetryLimit
