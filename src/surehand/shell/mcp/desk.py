"""The desk where calls wait: the service behind it is built once, and a waiting call costs no thread.

Laws of this module:

- The service is built at most once at a time: all calls of a burst get the same service, or the same failure.
- A waiting call holds one future. It ends when the run is final, when its time is over, or when the server ends.
- A call that is cancelled asks the service to stop exactly the run that it started itself.
- Nothing here judges an outcome; a wait that is over answers with what is known, and that is ``running``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from surehand.core.outcome.result import RunResult, as_replayed, is_final

if TYPE_CHECKING:
    from surehand.core.overview import RunReport, Unavailable, WorkflowOverview
    from surehand.core.workflow.card import Card
    from surehand.shell.catalog import WorkflowEntry

#: Seconds between two progress notifications of a waiting call.
PROGRESS_SECONDS: Final = 5.0

#: Threads that start runs, which may take as long as an engine takes to start, and threads for everything else.
STARTING_THREADS: Final = 4
READING_THREADS: Final = 2

#: Waiting calls that are woken in one turn of the event loop, so that a crowd does not hold up a ``ping``.
WOKEN_PER_TURN: Final = 8

#: Tells a client that asked for it how long its call has been waiting: seconds waited, seconds it may wait.
Progress = Callable[[float, float], Awaitable[None]]

T = TypeVar("T")


class Ticket(Protocol):
    """What the service hands out for a call: the run, what is known of it now, and whether this call started it."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...

    @property
    def result(self) -> RunResult:
        """What is known now; it may be ``running``."""
        ...

    @property
    def started_here(self) -> bool:
        """Whether this very call started the run."""
        ...


class ServicePort(Protocol):
    """What the server asks of the service. Every method may be called from any thread."""

    def list_workflows(self) -> "tuple[Card, ...]":
        """The cards of the workflows."""
        ...

    def unavailable(self) -> "tuple[Unavailable, ...]":
        """What cannot be served."""
        ...

    def workflows(self) -> "tuple[WorkflowEntry, ...]":
        """Every workflow that is served."""
        ...

    def overview(self, workflow: str) -> "WorkflowOverview | None":
        """What a reader is told of a workflow; ``None`` for one that is not known."""
        ...

    def report(self, run_id: str) -> "RunReport | None":
        """What a reader is told of a run; ``None`` for an unknown id."""
        ...

    def protected_report(self, run_id: str) -> tuple[str | None, RunResult | None]:
        """The workflow of a run, and what its process said too late."""
        ...

    def run_workflow(
        self, workflow: str, inputs: Mapping[str, object], request_id: str, *, url: str | None = None
    ) -> Ticket:
        """Pass the gate and start or join a run."""
        ...

    def watch(self, run_id: str) -> Future[RunResult]:
        """A future that completes when the run is final."""
        ...

    def current(self, run_id: str) -> RunResult | None:
        """What is known of a run; ``None`` for an unknown id."""
        ...

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop before it saves."""
        ...

    def close(self) -> None:
        """End everything; returns in bounded time."""
        ...


class ServerEndingError(Exception):
    """The server takes no new calls."""


class ServiceNotBuiltError(Exception):
    """The service could not be built, so nothing ran."""


class Desk:
    """Takes calls, has the service perform them in threads, and parks them until their runs are final."""

    def __init__(self, factory: Callable[[], ServicePort]) -> None:
        self._factory = factory
        self._starters = ThreadPoolExecutor(STARTING_THREADS, thread_name_prefix="surehand-start")
        self._readers = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="surehand-read")
        self._building: asyncio.Future[ServicePort] | None = None
        self._parked: dict[str, set[_Waiting]] = {}
        self._own_runs: dict[str, ServicePort] = {}
        self._at_end: list[Callable[[], None]] = []
        self._ending = False

    async def service(self) -> ServicePort:
        """The service, built at the first need.

        Raises:
            ServiceNotBuiltError: It could not be built; the next call tries again.
        """
        try:
            return await asyncio.shield(self._build())
        except Exception as error:
            raise ServiceNotBuiltError from error

    def warm(self) -> None:
        """Build the service now, so that the first call finds it."""
        self._build().add_done_callback(_failed)

    def _build(self) -> asyncio.Future[ServicePort]:
        """The one attempt that is under way or succeeded; a new one after a failure."""
        if self._building is None or _failed(self._building):
            self._building = asyncio.get_running_loop().run_in_executor(self._readers, self._factory)
        return self._building

    async def listed(self) -> "tuple[tuple[Card, ...], tuple[Unavailable, ...]]":
        """The cards of all workflows that are served, and what cannot be."""
        service = await self.service()
        return await self._in_thread(lambda: (service.list_workflows(), service.unavailable()))

    async def entries(self) -> "tuple[WorkflowEntry, ...]":
        """Every workflow that is served."""
        service = await self.service()
        return await self._in_thread(service.workflows)

    async def entry(self, workflow: str) -> "WorkflowEntry | None":
        """The workflow of this name or opaque id."""
        found = await self.entries()
        return next((each for each in found if workflow in (each.bundle.workflow, each.id)), None)

    async def overview(self, workflow: str) -> "WorkflowOverview | None":
        """What a reader is told of a workflow."""
        service = await self.service()
        return await self._in_thread(partial(service.overview, workflow))

    async def report(self, run_id: str) -> "RunReport | None":
        """What a reader is told of a run."""
        service = await self.service()
        return await self._in_thread(partial(service.report, run_id))

    async def protected_report(self, run_id: str) -> tuple[str | None, RunResult | None]:
        """The workflow of a run, and what its process said too late."""
        service = await self.service()
        return await self._in_thread(partial(service.protected_report, run_id))

    async def run(  # noqa: PLR0913 - one parameter for each thing that a call may say
        self,
        workflow: str,
        inputs: Mapping[str, object],
        request_id: str,
        wait_seconds: int,
        progress: Progress,
        *,
        url: str | None = None,
    ) -> RunResult:
        """Start or join a run, and wait for its end for at most ``wait_seconds`` after the call arrived.

        Raises:
            ServerEndingError: The server takes no new calls; nothing ran.
            ServiceNotBuiltError: As for ``service``; nothing ran.
        """
        wait = _Wait(wait_seconds, progress)
        service = await self.service()
        if self._ending:
            raise ServerEndingError
        begin = partial(service.run_workflow, workflow, inputs, request_id, url=url)
        asked = self._starters.submit(_start, service, begin, watched=wait_seconds > 0)
        try:
            ticket, final = await asyncio.shield(asyncio.wrap_future(asked))
            found = None if is_final(ticket.result) else await self._wait_for_run(service, ticket, wait, final)
        except asyncio.CancelledError:
            asked.add_done_callback(partial(self._cancel_own, service))
            raise
        if found is None:
            return ticket.result
        return as_replayed(found) if ticket.result.replayed else found

    async def get(self, run_id: str, wait_seconds: int, progress: Progress) -> RunResult | None:
        """What is known of a run, after waiting for its end for at most ``wait_seconds``; ``None``: unknown id."""
        wait = _Wait(wait_seconds, progress)
        service = await self.service()
        known = await self._in_thread(partial(service.current, run_id))
        if known is None or is_final(known):
            return known
        return await self._park(service, run_id, wait) or known

    def at_end(self, call: Callable[[], None]) -> None:
        """Have this called when the server ends, before anything is stopped; it must not wait."""
        self._at_end.append(call)

    def end(self) -> None:
        """Start no more runs, stop the runs of waiting calls, and let every other waiting call answer now."""
        self._ending = True
        for call in self._at_end:
            call()
        for run_id in tuple(self._parked):
            service = self._own_runs.get(run_id)
            if service is None:
                self._arrived(run_id, None)
            else:
                self._readers.submit(service.cancel, run_id)

    async def close(self) -> None:
        """Close the service if it was ever built."""
        self._ending = True
        if self._building is None:
            return
        with suppress(Exception):
            service = await self._building
            await self._in_thread(service.close)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    async def _wait_for_run(
        self, service: ServicePort, ticket: Ticket, wait: "_Wait", final: Future[RunResult] | None
    ) -> RunResult | None:
        """Park a call on its run; while the call that started it waits here, the end of the server stops the run."""
        if not ticket.started_here:
            return await self._park(service, ticket.run_id, wait)
        self._own_runs[ticket.run_id] = service
        if self._ending:
            self._readers.submit(service.cancel, ticket.run_id)
        try:
            return await self._park(service, ticket.run_id, wait, final)
        finally:
            del self._own_runs[ticket.run_id]

    async def _park(
        self, service: ServicePort, run_id: str, wait: "_Wait", final: Future[RunResult] | None = None
    ) -> RunResult | None:
        """Wait until the run is final, or as long as the call may; ``None`` when the run goes on.

        Args:
            service: Where the run is.
            run_id: The run.
            wait: How long the call may wait.
            final: The run's end, when it is watched already.
        """
        if wait.is_over() or (self._ending and run_id not in self._own_runs):
            return None
        waiting: _Waiting = asyncio.get_running_loop().create_future()
        if run_id not in self._parked:
            self._parked[run_id] = set()
            if final is None:
                self._watch(service, run_id)
            else:
                tell = self._teller(run_id)
                final.add_done_callback(lambda ended: tell(_result_of(ended)))
        crowd = self._parked[run_id]
        crowd.add(waiting)
        try:
            return await wait.until(waiting)
        finally:
            crowd.discard(waiting)

    def _watch(self, service: ServicePort, run_id: str) -> None:
        """Have one watcher for all calls that wait for the run."""
        tell = self._teller(run_id)

        def watching(asked: Future[Future[RunResult]]) -> None:
            final = _result_of(asked)
            if final is None:
                tell(None)
            else:
                final.add_done_callback(lambda ended: tell(_result_of(ended)))

        self._readers.submit(service.watch, run_id).add_done_callback(watching)

    def _teller(self, run_id: str) -> Callable[[RunResult | None], None]:
        """What wakes the calls that wait for the run, from any thread."""
        loop = asyncio.get_running_loop()

        def tell(result: RunResult | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._arrived, run_id, result)

        return tell

    def _arrived(self, run_id: str, result: RunResult | None) -> None:
        """Wake the calls that wait for the run, a few in each turn of the loop."""
        self._wake(list(self._parked.pop(run_id, ())), result)

    def _wake(self, crowd: list["_Waiting"], result: RunResult | None) -> None:
        for waiting in crowd[:WOKEN_PER_TURN]:
            if not waiting.done():
                waiting.set_result(result)
        if rest := crowd[WOKEN_PER_TURN:]:
            asyncio.get_running_loop().call_soon(self._wake, rest, result)

    def _cancel_own(self, service: ServicePort, asked: "Future[_Started]") -> None:
        ticket, _ = _result_of(asked) or (None, None)
        if ticket is not None and ticket.started_here and not is_final(ticket.result):
            self._readers.submit(service.cancel, ticket.run_id)


_Waiting = asyncio.Future[RunResult | None]

#: The answer to a call so far, and the end of the run that it started when somebody wants to wait for it.
_Started = tuple[Ticket, Future[RunResult] | None]


def _start(service: ServicePort, begin: Callable[[], Ticket], *, watched: bool) -> _Started:
    """Start or join a run; a run that is started and waited for is watched by the same thread, if it can be."""
    ticket = begin()
    if watched and ticket.started_here and not is_final(ticket.result):
        with suppress(Exception):
            return ticket, service.watch(ticket.run_id)
    return ticket, None


class _Wait:
    """How long one call may wait; its time runs from the moment the call arrived."""

    def __init__(self, seconds: int, progress: Progress) -> None:
        self._seconds = seconds
        self._progress = progress
        self._clock = asyncio.get_running_loop().time
        self._arrived = self._clock()

    def is_over(self) -> bool:
        """Whether the call may wait no longer."""
        return self._clock() - self._arrived >= self._seconds

    async def until(self, waiting: _Waiting) -> RunResult | None:
        """Wait for the future and report progress; ``None`` when the time is over first."""
        while not waiting.done() and (waited := self._clock() - self._arrived) < self._seconds:
            await self._progress(waited, self._seconds)
            await asyncio.wait({waiting}, timeout=min(self._seconds - waited, PROGRESS_SECONDS))
        return waiting.result() if waiting.done() else None


def _failed(future: asyncio.Future[ServicePort]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def _result_of(future: Future[T]) -> T | None:
    """The result of a finished future; ``None`` when it failed."""
    return None if future.cancelled() or future.exception() is not None else future.result()
