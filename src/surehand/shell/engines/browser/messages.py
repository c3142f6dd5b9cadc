"""What the worker hears and what it says: JSON lines, structured strictly.

Laws of this module:

- One closed union for each direction. A line that does not fit is an error of ours, and its content is never repeated.
- Inputs and the operator's proxies travel here and nowhere else: not in arguments, not on a disk. Inputs are not in the
  environment either.
"""

import json
from typing import TypeVar

from attrs import field, frozen
from returns.result import Success

from surehand.core.outcome.result import FailedCheck, Mode, RunResult
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.reach import ProxySettings
from surehand.shell.engines.base import AppTarget, Job

T = TypeVar("T")


@frozen
class Pair:
    """One entry of a mapping."""

    name: str
    value: str = field(repr=False)


@frozen
class Begin:
    """The first order: where the store is, how the server was started, what the browser shows, and the proxies.

    ``places`` is how many runs may go on against one app at the same time, over all processes; none takes turns where
    it is 0, as in the training app, which each server has for itself. ``databases`` are the operator's, by the names
    that bundles use. ``attended`` keeps the windows of stopped runs and performs what people decide about them;
    ``pictures`` takes a picture of the page at which a run stops.
    """

    folder: str
    mode: Mode
    headed: bool
    proxies: ProxySettings = field(factory=ProxySettings, repr=False)
    places: int = 0
    databases: tuple[Pair, ...] = field(default=(), repr=False)
    attended: bool = False
    pictures: bool = False


@frozen
class Execute:
    """Execute this reserved run, after those that were ordered before."""

    run_id: str
    bundle: Bundle
    inputs: tuple[Pair, ...] = field(repr=False)
    origin: str
    record_origin: str
    record_headers: tuple[Pair, ...] = field(repr=False)
    time_limit_ms: int

    @classmethod
    def of(cls, job: Job) -> "Execute":
        """The order for a job."""
        return cls(
            job.run_id,
            job.bundle,
            tuple(Pair(name, value) for name, value in job.inputs.items()),
            job.target.origin,
            job.target.record_origin,
            tuple(Pair(name, value) for name, value in job.target.record_headers.items()),
            job.time_limit_ms,
        )

    def job(self) -> Job:
        """The job that was ordered."""
        headers = {pair.name: pair.value for pair in self.record_headers}
        return Job(
            run_id=self.run_id,
            bundle=self.bundle,
            inputs={pair.name: pair.value for pair in self.inputs},
            target=AppTarget(origin=self.origin, record_origin=self.record_origin, record_headers=headers),
            time_limit_ms=self.time_limit_ms,
        )


@frozen
class Cancel:
    """The caller wants this run to stop."""

    run_id: str


@frozen
class Order:
    """One line to the worker."""

    order: Begin | Execute | Cancel


@frozen
class Ready:
    """The worker owns runs under this token from now on."""

    token: str


@frozen
class WarmedUp:
    """The engine is started, or these checks failed."""

    failed: tuple[FailedCheck, ...]


@frozen
class Finished:
    """A run is over, with this result."""

    result: RunResult


@frozen
class Notice:
    """One line from the worker."""

    notice: Ready | WarmedUp | Finished


class UnfittingLineError(Exception):
    """A line that is no message. It says nothing about the line."""


def encode(message: Order | Notice) -> bytes:
    """One line."""
    return json.dumps(to_wire(message), separators=(",", ":")).encode("ascii") + b"\n"


def kept_order(job: Job) -> str:
    """A job as it is kept sealed for a run that stopped."""
    return encode(Order(Execute.of(job))).decode("ascii")


def kept_job(text: str) -> Job:
    """The job that was kept so.

    Raises:
        UnfittingLineError: It is none.
    """
    order = decode(text.encode(), Order).order
    if not isinstance(order, Execute):
        raise UnfittingLineError
    return order.job()


def decode(line: bytes, kind: type[T]) -> T:
    """Read one line.

    Raises:
        UnfittingLineError: It does not fit.
    """
    try:
        data: object = json.loads(line)
    except (ValueError, RecursionError):
        raise UnfittingLineError from None
    match from_wire(data, kind):
        case Success(fitting):
            message: T = fitting
            return message
        case _:
            raise UnfittingLineError
