"""The windows of stopped runs: what a run works with, and what is kept of it while a person does.

Laws of this module:

- A run that stopped before its save keeps its page, its context and its port of the fence, which stays closed.
- Windows are bounded in number: when another one is kept, the oldest goes.
- A window that a person closed, or whose browser is gone, is none.
"""

import asyncio
import base64
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

from attrs import define, field

from surehand.core.attention.evidence import LocalEvidence
from surehand.core.attention.stopped import control_of, identity_of, still_entered
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
    Finish,
    OutOfTime,
    Records,
    RecordsUnavailable,
)
from surehand.core.workflow.replay import Checking, Ended, Entering, State, compile_plan, may_skip
from surehand.shell.engines.base import Boundary, Job, Stop
from surehand.shell.engines.browser.account import Account
from surehand.shell.engines.browser.page import RunPage
from surehand.shell.engines.browser.readback import RecordChannel
from surehand.shell.traces import Tracer

#: Reads the records once, within so many seconds.
ReadOnce = Callable[[float], Awaitable[Records | RecordsUnavailable]]

#: Windows that are kept at the same time.
MOST_WINDOWS: Final = 8


@define
class Progress:
    """What a run may still do: stop until its save is asked for, then read back until ``read_until``.

    A read that begins behind ``last_read_at`` is the last one, and what it says stands for the polls that would follow:
    on a busy machine each of them may take longer than the time between two of them.
    """

    boundary: Boundary
    stop_at: float
    last_read_at: float | None = None
    read_until: float | None = None
    last_answer: Records | RecordsUnavailable | None = None

    @classmethod
    def of(cls, job: Job, boundary: Boundary) -> "Progress":
        """A run that begins now."""
        return cls(boundary, time.monotonic() + job.time_limit_ms / 1000)

    async def cross(self) -> BoundaryAnswer:
        """Pass the delivery boundary, unless the caller wants the run to stop."""
        if self.boundary.stop_requested():
            return BoundaryAnswer.STOP_WANTED
        granted = await asyncio.to_thread(self.boundary.cross)
        return BoundaryAnswer.GRANTED if granted else BoundaryAnswer.REFUSED

    def stopped(self) -> Canceled | OutOfTime | None:
        """Why the next command is not performed."""
        if self.read_until is not None:
            return None
        if self.boundary.stop_requested():
            return Canceled()
        return OutOfTime() if time.monotonic() > self.stop_at else None

    def begin_to_read_back(self, deadline: float, grace: float) -> None:
        """From now on only read: for so many seconds, and so many more for answers that are slow."""
        self.last_read_at = time.monotonic() + deadline
        self.read_until = self.last_read_at + grace

    async def read(self, read: ReadOnce, usual: float) -> Records | RecordsUnavailable:
        """Read the records, unless their last read is over."""
        if self.last_answer is not None:
            return self.last_answer
        is_last = self.last_read_at is not None and time.monotonic() > self.last_read_at
        seconds = self.seconds_to_read(usual)
        answer = await read(seconds) if seconds else RecordsUnavailable()
        self.last_answer = answer if is_last else None
        return answer

    def seconds_to_wait(self, seconds: float) -> float:
        """How long a wait between two reads is, when there is another one."""
        return self.seconds_to_read(seconds) if self.last_answer is None else 0.0

    def seconds_to_read(self, usual: float) -> float:
        """How long something may take after the save: as usual, or what the bound of the read-back leaves of it."""
        return usual if self.read_until is None else max(0.0, min(usual, self.read_until - time.monotonic()))


@define(eq=False)
class Session:
    """What one run works with until its context is closed.

    Args:
        job: The run.
        progress: What it may still do; each leg has a boundary and a time of its own.
        account: Its account.
        tracer: Follows it.
        page: Its page.
        channel: Where its records are read.
        held: How all of it is let go of.
        at: The instruction at which it stopped.
        guarded: The guarded members, as they were before anything was opened.
    """

    job: Job
    progress: Progress
    account: Account
    tracer: Tracer
    page: RunPage
    channel: RecordChannel
    held: AsyncExitStack = field(repr=False)
    at: int = 0
    guarded: Records = field(default=Records(()), repr=False)

    def begin_leg(self, boundary: Boundary) -> None:
        """Go on under another boundary, with the time of a run."""
        fresh = Progress.of(self.job, boundary)
        self.progress.boundary, self.progress.stop_at = fresh.boundary, fresh.stop_at
        self.progress.last_read_at = self.progress.read_until = self.progress.last_answer = None
        self.account.is_signed_out = False


class LiveWindows:
    """The sessions of stopped runs, by run.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int = MOST_WINDOWS) -> None:
        self._most = most
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def keep(self, session: Session) -> tuple[Session, ...]:
        """Keep a session; those that have to go for it."""
        self._sessions[session.job.run_id] = session
        crowded = len(self._sessions) - self._most
        return tuple(self._sessions.popitem(last=False)[1] for _ in range(crowded))

    def take(self, run_id: str) -> Session | None:
        """The session of a run, which is not kept any more; ``None`` when there is no window."""
        return self._sessions.pop(run_id, None)

    def page(self, run_id: str) -> RunPage | None:
        """The page of a run that is kept."""
        session = self._sessions.get(run_id)
        return None if session is None else session.page

    def job(self, run_id: str) -> Job | None:
        """The job of a run that is kept."""
        session = self._sessions.get(run_id)
        return None if session is None else session.job

    def living(self) -> frozenset[str]:
        """The runs whose windows are there."""
        return frozenset(run_id for run_id, session in self._sessions.items() if not session.page.is_gone)

    def gone(self) -> tuple[Session, ...]:
        """The sessions whose windows are not there any more; they are not kept any more."""
        dead = [run_id for run_id in self._sessions if run_id not in self.living()]
        return tuple(self._sessions.pop(run_id) for run_id in dead)


def stop_of(job: Job, state: State, finish: Finish) -> Stop:
    """Where a run stopped, by the state in which its last answer came."""
    match state:
        case Entering(at=at, plan=plan, guarded=guarded):
            unsent = finish.report.delivery is Delivery.NOT_SENT
            before = unsent and at < len(plan) - 1
            skippable = before and may_skip(job.bundle, job.inputs, at)
            return Stop(at=at, before_save=before, skippable=skippable, guarded=guarded, baseline=state.baseline)
        case Checking(baseline=baseline):
            save = len(compile_plan(job.bundle, job.inputs)) - 1
            return Stop(at=save, before_save=False, skippable=False, guarded=Records(()), baseline=baseline)
        case Ended():
            # Nothing was opened: no person's work in a page could help.
            return Stop(at=0, before_save=False, skippable=False, guarded=Records(()), baseline=None)


def shown(inputs: Mapping[str, str], session: Session, stop: Stop, picture: bytes | None) -> LocalEvidence:
    """What the operator at this computer sees of a stop."""
    plan = compile_plan(session.job.bundle, inputs)
    control, role = control_of(plan[stop.at].command)
    return LocalEvidence(
        control=control,
        role=role,
        address=session.page.address,
        values=still_entered(plan, stop.at),
        identity=identity_of(plan),
        frame=None if picture is None else base64.b64encode(picture).decode(),
    )
