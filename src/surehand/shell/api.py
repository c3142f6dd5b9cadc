"""What an embedding program opens and calls; the same for threads and for asyncio.

Laws of this module:

- Every answer about a run is a ``RunResult``. Only a call that could not be understood raises, and then nothing ran.
- ``wait_seconds`` bounds the wait, never the run. Stopping to wait stops nothing else.
"""

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Final, Self

from surehand.core.modes import ROWS, Start
from surehand.core.outcome.result import RunResult, as_replayed, is_final
from surehand.core.overview import RunReport, Unavailable, WorkflowOverview
from surehand.core.workflow.card import Card
from surehand.shell.assembly import build_service
from surehand.shell.config import BundleArguments, SandboxEngine, settings
from surehand.shell.service import Service, Ticket, UnknownRunError

#: Seconds that ``run_workflow`` waits unless told otherwise.
WAIT_SECONDS: Final = 60

#: The longest wait of one call, in seconds.
MAX_WAIT_SECONDS: Final = 600


class BadCallError(ValueError):
    """An argument is not of the kind that the call takes. Nothing ran."""


class Surehand:
    """Surehand, embedded. Use it as a context manager; all methods are safe to call from any thread."""

    def __init__(self, service: Service) -> None:
        self._service: Final = service

    @classmethod
    def open(
        cls,
        runs_dir: str | os.PathLike[str] | None = None,
        sandbox_engine: SandboxEngine | str | None = None,
        *,
        bundles: str | os.PathLike[str] | BundleArguments | None = None,
        headed: bool = False,
    ) -> Self:
        """Open an installation.

        Args:
            runs_dir: The folder under which the state lies; default: the user's state folder of this platform.
            sandbox_engine: ``auto`` (the default), ``browser`` or ``simulated``.
            bundles: The folder of your own workflows, or all that is to be said about them; default: the sandbox, or
                what the settings file names when nothing but an empty ``BundleArguments()`` is given.
            headed: Whether the browser is shown.

        Raises:
            ConfigError: A setting is not understood, or the bundles cannot be read.
        """
        return cls(_service(runs_dir, sandbox_engine, bundles, headed=headed))

    def list_workflows(self) -> tuple[Card, ...]:
        """One card for each workflow that can be run."""
        return self._service.list_workflows()

    def run_workflow(
        self, workflow: str, inputs: Mapping[str, str], request_id: str, wait_seconds: float = WAIT_SECONDS
    ) -> RunResult:
        """Enter something once, however often it is called with the same request id.

        Args:
            workflow: The workflow's name, from ``list_workflows``.
            inputs: The values by input name.
            request_id: Your id of this intended entry: one for each entry, used again for every retry of it.
            wait_seconds: How long to wait for the end, 0 to 600.

        Returns:
            The result; ``running`` when the wait ended first.

        Raises:
            BadCallError: An argument is of the wrong kind; nothing ran.
            NotARequestIdError: The request id does not satisfy its pattern; nothing ran.
        """
        _check_call(workflow, inputs, request_id, wait_seconds)
        ticket = self._service.run_workflow(workflow, inputs, request_id)
        return _told(ticket, self._wait(ticket.result, wait_seconds))

    def get_run(self, run_id: str, wait_seconds: float = 0) -> RunResult:
        """How a run stands.

        Args:
            run_id: From an earlier result.
            wait_seconds: How long to wait for its end, 0 to 600.

        Raises:
            BadCallError: An argument is of the wrong kind.
            UnknownRunError: There is no such run.
        """
        _check_wait(wait_seconds)
        return self._wait(_known(self._service.current(run_id)), wait_seconds)

    def get_workflow(self, workflow: str) -> WorkflowOverview | None:
        """Whether a workflow can run now, and how much it holds; ``None`` for one that is not known.

        Args:
            workflow: Its name, or its opaque id.
        """
        return self._service.overview(workflow)

    def list_unavailable(self) -> tuple[Unavailable, ...]:
        """The folders whose bundles cannot be served, each with the reason."""
        return self._service.unavailable()

    def get_run_report(self, run_id: str) -> RunReport:
        """Every attempt under the request id of a run.

        Raises:
            UnknownRunError: There is no such run.
            StoreError: The store cannot answer.
        """
        report = self._service.report(run_id)
        if report is None:
            raise UnknownRunError
        return report

    def cancel_run(self, run_id: str) -> None:
        """Wish that a run of this process stops; it does if it has not reached the save, and its result says so."""
        self._service.cancel(run_id)

    def _wait(self, so_far: RunResult, wait_seconds: float) -> RunResult:
        if is_final(so_far) or wait_seconds <= 0:
            return so_far
        try:
            return self._service.watch(so_far.run_id).result(wait_seconds)
        except (TimeoutError, CancelledError):
            return so_far

    def close(self) -> None:
        """Stop runs that have not reached the save, wait in bounded time for the rest, and release everything."""
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncSurehand:
    """Surehand for asyncio programs. Waiting blocks neither the event loop nor a thread."""

    def __init__(self, service: Service) -> None:
        self._service: Final = service

    @classmethod
    def open(
        cls,
        runs_dir: str | os.PathLike[str] | None = None,
        sandbox_engine: SandboxEngine | str | None = None,
        *,
        bundles: str | os.PathLike[str] | BundleArguments | None = None,
        headed: bool = False,
    ) -> Self:
        """Open an installation, as ``Surehand.open`` does."""
        return cls(_service(runs_dir, sandbox_engine, bundles, headed=headed))

    async def list_workflows(self) -> tuple[Card, ...]:
        """One card for each workflow that can be run."""
        return self._service.list_workflows()

    async def run_workflow(
        self, workflow: str, inputs: Mapping[str, str], request_id: str, wait_seconds: float = WAIT_SECONDS
    ) -> RunResult:
        """As ``Surehand.run_workflow``; canceling the task ends the wait, not the run."""
        _check_call(workflow, inputs, request_id, wait_seconds)
        ticket = await asyncio.to_thread(self._service.run_workflow, workflow, inputs, request_id)
        return _told(ticket, await self._wait(ticket.result, wait_seconds))

    async def get_run(self, run_id: str, wait_seconds: float = 0) -> RunResult:
        """As ``Surehand.get_run``."""
        _check_wait(wait_seconds)
        known = _known(await asyncio.to_thread(self._service.current, run_id))
        return await self._wait(known, wait_seconds)

    async def get_workflow(self, workflow: str) -> WorkflowOverview | None:
        """As ``Surehand.get_workflow``."""
        return await asyncio.to_thread(self._service.overview, workflow)

    async def list_unavailable(self) -> tuple[Unavailable, ...]:
        """As ``Surehand.list_unavailable``."""
        return self._service.unavailable()

    async def get_run_report(self, run_id: str) -> RunReport:
        """As ``Surehand.get_run_report``."""
        report = await asyncio.to_thread(self._service.report, run_id)
        if report is None:
            raise UnknownRunError
        return report

    async def cancel_run(self, run_id: str) -> None:
        """As ``Surehand.cancel_run``."""
        await asyncio.to_thread(self._service.cancel, run_id)

    async def _wait(self, so_far: RunResult, wait_seconds: float) -> RunResult:
        if is_final(so_far) or wait_seconds <= 0:
            return so_far
        watched = asyncio.wrap_future(await asyncio.to_thread(self._service.watch, so_far.run_id))
        done, _ = await asyncio.wait({watched}, timeout=wait_seconds)
        if done and not watched.cancelled():
            return watched.result()
        watched.cancel()
        return so_far

    async def close(self) -> None:
        """As ``Surehand.close``."""
        await asyncio.to_thread(self._service.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _service(
    runs_dir: str | os.PathLike[str] | None,
    sandbox_engine: SandboxEngine | str | None,
    bundles: str | os.PathLike[str] | BundleArguments | None,
    *,
    headed: bool,
) -> Service:
    """The service of an installation that runs: the sandbox's, or that of the workflows that were named."""
    said = bundles if isinstance(bundles, BundleArguments | None) else BundleArguments(folder=bundles)
    chosen = settings(runs_dir, sandbox_engine, headed=headed, bundles=said)
    return build_service(chosen, ROWS[Start.SANDBOX if chosen.bundles is None else Start.PRODUCTION])


def _told(ticket: Ticket, result: RunResult) -> RunResult:
    """What the call is told: a call that did not start the run is told a replay."""
    return as_replayed(result) if ticket.result.replayed else result


def _known(result: RunResult | None) -> RunResult:
    if result is None:
        raise UnknownRunError
    return result


def _check_call(workflow: object, inputs: object, request_id: object, wait_seconds: object) -> None:
    if not (isinstance(workflow, str) and isinstance(inputs, Mapping) and isinstance(request_id, str)):
        raise BadCallError("workflow and request_id are texts, inputs is a mapping")
    _check_wait(wait_seconds)


def _check_wait(wait_seconds: object) -> None:
    if isinstance(wait_seconds, bool) or not isinstance(wait_seconds, int | float):
        raise BadCallError("wait_seconds is a number")
    if not 0 <= wait_seconds <= MAX_WAIT_SECONDS:
        raise BadCallError("wait_seconds is 0 to 600")
