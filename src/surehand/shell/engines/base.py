"""The interface of an engine.

Laws of this module:

- An engine executes one job and returns evidence. It never raises for what the app or the network did.
- Before its first write request can leave, it crosses the boundary; when the boundary refuses, it writes nothing.
"""

from collections.abc import Mapping
from typing import Protocol

from attrs import field, frozen

from surehand.core.attention.evidence import LocalEvidence
from surehand.core.outcome.evidence import Evidence, Refusal
from surehand.core.outcome.result import EngineName, FailedCheck
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import Records


@frozen(kw_only=True)
class AppTarget:
    """Where the app is: its origin, and what the read-back channel needs.

    Args:
        origin: ``http://host:port`` or ``https://host:port`` of the app, without a path.
        record_origin: Origin of the read-back channel.
        record_headers: Headers of the read-back channel; never shown.
    """

    origin: str
    record_origin: str
    record_headers: Mapping[str, str] = field(factory=dict[str, str], repr=False)


@frozen(kw_only=True)
class Job:
    """One run to execute. Inputs live in memory only.

    ``time_limit_ms`` bounds everything before the boundary; the read-back has its own deadline.
    """

    run_id: str
    bundle: Bundle
    inputs: Mapping[str, str] = field(repr=False)
    target: AppTarget
    time_limit_ms: int = 120_000


@frozen(kw_only=True)
class Stop:
    """How a run that waits for a person was left.

    Args:
        at: The instruction of its plan that did not pass, counted from 0.
        before_save: Whether it stands before the one that saves, and nothing left.
        skippable: Whether it belongs to a step that may be left out.
        guarded: The guarded members as they were before any page was loaded.
        baseline: The records as they were before the save, if they were read.
        local: What the operator at this computer sees.
        has_window: Whether its page is kept open.
    """

    at: int
    before_save: bool
    skippable: bool
    guarded: Records = field(repr=False)
    baseline: Records | None = field(repr=False)
    local: LocalEvidence = field(factory=LocalEvidence, repr=False)
    has_window: bool = False


class Boundary(Protocol):
    """The durable delivery boundary and the wish to stop, as an engine sees them."""

    def cross(self) -> bool:
        """Pass the boundary: durable when it answers ``True``; ``False`` means that this run may not write.

        Blocks for one flushed commit.
        """
        ...

    def stop_requested(self) -> bool:
        """Whether the caller wants the run to stop; asked before every command until the boundary is crossed."""
        ...


class RunRefusedError(Exception):
    """Something has to be put right before the run can be executed; nothing was sent to the app.

    Args:
        refusal: Why the run is refused.
        checks: What is not in order.
    """

    def __init__(self, refusal: Refusal, *checks: FailedCheck) -> None:
        super().__init__(refusal, *checks)
        self.refusal = refusal
        self.checks = checks


class WindowGoneError(Exception):
    """The window of a stopped run is not open; nothing was performed."""


class Engine(Protocol):
    """Executes jobs, one at a time."""

    @property
    def name(self) -> EngineName:
        """The name that stands in every result of this engine."""
        ...

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one job to its end.

        Raises:
            RunRefusedError: The run cannot be executed as things are; nothing was sent.
        """
        ...

    def close(self) -> None:
        """Release what is held."""
        ...
