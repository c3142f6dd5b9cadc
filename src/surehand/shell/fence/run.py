"""One run of the fence: its gate, its journal, its save, and its pooled connections.

Laws of this module:

- Every event meets the pure gate in one step of the event loop; nothing is awaited between the decision and its record.
- A save runs in a task of its own: the death of a browser, a client or a control channel does not tear it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from attrs import field, frozen

from surehand.core.workflow.fence import (
    Arm,
    Arrived,
    End,
    FenceCounts,
    FenceRules,
    FenceVerdict,
    Gate,
    GateCommand,
    GateEvent,
    GateState,
    Origin,
    RequestHead,
    Settle,
    Stage,
    Unreadable,
    step,
    verdict,
    was_refused,
)
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence.dial import Dialer
from surehand.shell.fence.journal import JournalWriter
from surehand.shell.fence.save import SaveContext, perform_save
from surehand.shell.fence.wire import Incoming, PlainStream, Wire

#: How long a save that is on its way may still wait for its answer when its run has ended, in seconds.
LAST_ANSWER_SECONDS = 30.0

_IDLE_PER_ORIGIN = 6


@frozen
class Upstream:
    """A connection to an app for reads; ``fresh`` when it was made for this read."""

    wire: Wire
    stream: PlainStream
    fresh: bool


@frozen
class Pool:
    """Idle connections for reads."""

    dialer: Dialer
    _idle: dict[Origin, list[Upstream]] = field(factory=dict[Origin, list[Upstream]], init=False)

    async def take(self, origin: Origin) -> Upstream:
        """An idle connection, or a fresh one.

        Raises:
            OSError: The app cannot be reached.
        """
        idle = self._idle.get(origin, [])
        while idle:
            upstream = idle.pop()
            if not upstream.stream.ended:
                return upstream
            upstream.wire.close()
        return await self.open(origin)

    async def open(self, origin: Origin) -> Upstream:
        """A fresh connection.

        Raises:
            OSError: The app cannot be reached.
        """
        wire, stream = await self.dialer.connect(origin)
        return Upstream(wire, stream, fresh=True)

    def give_back(self, origin: Origin, upstream: Upstream) -> None:
        """Keep a connection whose exchange is over, if it can carry another."""
        idle = self._idle.setdefault(origin, [])
        if upstream.wire.both_done() and len(idle) < _IDLE_PER_ORIGIN:
            idle.append(Upstream(upstream.wire, upstream.stream, fresh=False))
        else:
            upstream.wire.close()

    def close(self) -> None:
        """Close every idle connection."""
        for idle in self._idle.values():
            for upstream in idle:
                upstream.wire.close()
            idle.clear()


class Run:
    """What the fence knows of one run."""

    def __init__(
        self,
        rules: FenceRules,
        journal: JournalWriter,
        dialer: Dialer,
        ask_boundary: Callable[[], Awaitable[bool]],
    ) -> None:
        self.pool = Pool(dialer)
        self._gate = Gate(rules)
        self._journal = journal
        self._ask_boundary = ask_boundary
        self._save: asyncio.Task[Stage] | None = None
        self._saved = asyncio.Event()
        self._settled = False

    @property
    def is_over(self) -> bool:
        """Whether nothing may pass any more."""
        return self._gate.state is GateState.ENDED

    @property
    def counts(self) -> FenceCounts:
        """What passed and what was stopped."""
        return self._gate.counts

    def knows(self, *origins: Origin) -> bool:
        """Whether one of these servers can be reached in this run."""
        return any(str(origin) in self._gate.rules.origins for origin in origins)

    def admit(self, head: RequestHead) -> GateCommand:
        """Decide on a request."""
        return self._step(Arrived(head))

    def note_unreadable(self) -> None:
        """Count a request that cannot be read."""
        self._step(Unreadable())

    def arm(self, route: WriteRoute) -> bool:
        """Let the next write of this route be the save; ``False`` when the gate does not allow it."""
        return self._step(Arm(route)) is not GateCommand.REFUSE_ARM

    def _step(self, event: GateEvent) -> GateCommand:
        self._gate, command = step(self._gate, event)
        return command

    async def save(self, incoming: Incoming, browser: Wire, browser_is_there: Callable[[], bool]) -> Stage:
        """Perform the save that the gate let begin.

        Cancelling the caller does not touch the save.
        """

        def is_wanted() -> bool:
            return browser_is_there() and not self._settled and not self.is_over

        context = SaveContext(self._journal, self._ask_boundary, is_wanted, self.pool.dialer)
        self._save = asyncio.create_task(perform_save(context, incoming, browser))
        self._save.add_done_callback(lambda _: self._saved.set())
        return await asyncio.shield(self._save)

    async def settle(self, timeout_ms: int) -> FenceVerdict:
        """Wait until the save is over or the time is, and shut the gate."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._saved.wait()
        except TimeoutError:
            pass
        self._settled = True
        self._step(Settle())
        journal = self._journal.journal
        return FenceVerdict(verdict(journal), self._gate.stopped_since_arm, was_refused(journal))

    def end(self) -> None:
        """Let nothing pass any more, and nobody wait for a save that cannot come. One that is on its way goes on."""
        self._step(End())
        self.pool.close()
        if self._save is None:
            self._saved.set()

    async def finish(self) -> None:
        """Wait, within a bound, for a save that is on its way, and close the journal. ``end`` comes first."""
        if self._save is not None:
            await asyncio.wait({self._save}, timeout=LAST_ANSWER_SECONDS)
            self._save.cancel()
        self._journal.close()
