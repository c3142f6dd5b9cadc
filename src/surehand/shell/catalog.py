"""Which workflows are served, and what executes each of them.

Laws of this module:

- A workflow that is listed has one bundle, one card, and one source of executors; its name is its own.
- A folder whose bundle cannot be served is listed too, with a closed code. It is never hidden and never a crash.
- An engine that was asked for by name and cannot start is refused by name.
  Only ``auto`` may choose another, and every result says which one ran.
- Listing starts nothing: no browser, no app, no store.
"""

import threading
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Final, Protocol

from attrs import field, frozen

from surehand.core.outcome.result import FailedCheck, Mode
from surehand.core.overview import Unavailable, WorkflowMetrics, WorkflowOverview, opaque_id
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.card import Card
from surehand.shell.engines.base import AppTarget
from surehand.shell.executors import EngineUnavailableError, Executor
from surehand.shell.store.base import RunStore


@frozen
class Premises:
    """The opened state folder of one installation."""

    folder: Path
    store: RunStore
    fingerprint_key: bytes = field(repr=False)


class Crew(Protocol):
    """What executes a workflow: an executor and the app that it works on. Safe to call from any thread."""

    @property
    def executor(self) -> Executor:
        """Executes the runs."""
        ...

    def target(self, inputs: Mapping[str, str]) -> AppTarget:
        """Where the app is for these checked inputs.

        Raises:
            EngineUnavailableError: The app that belongs to the engine has ended.
        """
        ...

    def close(self) -> None:
        """Close executor and app in bounded time."""
        ...


class CrewSource:
    """Starts the crew of a workflow when it is first needed, and keeps it.

    Args:
        choices: Ways to start one, the preferred first. Only the last refusal is told.
    """

    def __init__(self, *choices: Callable[[Premises], Crew]) -> None:
        self._choices = choices
        self._guard = threading.Lock()
        self._crew: Crew | None = None
        self._open = True

    def get(self, premises: Premises) -> Crew:
        """The crew, started if it is not yet.

        Raises:
            EngineUnavailableError: None of the choices can start, or the source is closed.
        """
        with self._guard:
            if not self._open:
                raise EngineUnavailableError
            if self._crew is None:
                self._crew = self._start(premises)
            return self._crew

    def _start(self, premises: Premises) -> Crew:
        refusal = EngineUnavailableError()
        for start in self._choices:
            try:
                return start(premises)
            except EngineUnavailableError as error:
                refusal = error
        raise refusal

    def close(self) -> None:
        """Close the crew if there is one; none is started any more."""
        with self._guard:
            self._open = False
            crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()


class Crews(Protocol):
    """Where the crew of a workflow comes from."""

    def get(self, premises: Premises) -> Crew:
        """A crew, started if it is not yet.

        Raises:
            EngineUnavailableError: None can start.
        """
        ...

    def close(self) -> None:
        """Close what was started; a second call does nothing."""
        ...


class CrewPool:
    """Several sources for one app, used in turn: as many runs against it may go on at the same time."""

    def __init__(self, *sources: CrewSource) -> None:
        self._sources = sources
        self._guard = threading.Lock()
        self._turns = cycle(sources)

    def get(self, premises: Premises) -> Crew:
        """As the protocol says."""
        with self._guard:
            source = next(self._turns)
        return source.get(premises)

    def close(self) -> None:
        """As the protocol says."""
        for source in self._sources:
            source.close()


#: What fails now of the checks before a run, for an app at this origin; ``None`` stands for where it is as a rule.
RunGate = Callable[[str | None], tuple[FailedCheck, ...]]


def _nothing_fails(_origin: str | None) -> tuple[FailedCheck, ...]:
    return ()


@frozen(kw_only=True)
class Protected:
    """What an operator may let a trusted client see of a workflow beyond its overview."""

    folder: str
    title: str


@frozen
class WorkflowEntry:
    """One workflow that is served.

    Args:
        bundle: What is executed.
        card: What an agent is told.
        crews: What executes it.
        id: Its opaque id.
        digest: The version that its runs are pinned to; empty where it is not known.
        gate: What fails now of the checks before a run; asked before every attempt.
        metrics: How much of everything it holds, where readers may ask.
        defaults: Synthetic values for inputs that a call leaves out.
        protected: What only a trusted client may see.
    """

    bundle: Bundle
    card: Card
    crews: Crews
    id: str = field(kw_only=True, default=opaque_id(""))
    digest: str = field(kw_only=True, default="")
    gate: RunGate = field(kw_only=True, default=_nothing_fails)
    metrics: WorkflowMetrics | None = field(kw_only=True, default=None)
    defaults: Mapping[str, str] = field(kw_only=True, factory=dict[str, str], repr=False)
    protected: Protected | None = field(kw_only=True, default=None)


class Catalog:
    """The workflows that a server serves.

    Args:
        mode: What results say of the server.
        entries: The workflows, each name once.
        unavailable: What cannot be served, by the name under which somebody may ask for it.
        runs_enabled: Whether this server runs workflows.
        warm_crews: Crews that are started before the first call, at most.
    """

    def __init__(
        self,
        mode: Mode,
        *entries: WorkflowEntry,
        unavailable: Mapping[str, Unavailable] | None = None,
        runs_enabled: bool = True,
        warm_crews: int = 1,
    ) -> None:
        self.mode: Final = mode
        self.runs_enabled: Final = runs_enabled
        self._entries = {entry.bundle.workflow: entry for entry in entries}
        self._by_id = {entry.id: entry for entry in entries}
        self._unavailable = dict(unavailable or {})
        self._warm_crews = warm_crews

    def cards(self) -> tuple[Card, ...]:
        """One card for each workflow."""
        return tuple(entry.card for entry in self._entries.values())

    def entries(self) -> tuple[WorkflowEntry, ...]:
        """Every workflow that is served."""
        return tuple(self._entries.values())

    def unavailable(self) -> tuple[Unavailable, ...]:
        """Every folder whose bundle cannot be served."""
        return tuple(self._unavailable.values())

    def find(self, workflow: str) -> WorkflowEntry | None:
        """The workflow of exactly this name, or of this opaque id."""
        return self._entries.get(workflow) or self._by_id.get(workflow)

    def find_unavailable(self, workflow: str) -> Unavailable | None:
        """What cannot be served under this name or this opaque id."""
        named = self._unavailable.get(workflow)
        return named or next((each for each in self._unavailable.values() if each.id == workflow), None)

    def overview(self, workflow: str) -> WorkflowOverview | None:
        """What a reader is told of a workflow; ``None`` for one that is not known here."""
        entry = self.find(workflow)
        if entry is None:
            return self._overview_of_unavailable(workflow)
        failed = entry.gate(None)
        return WorkflowOverview(
            id=entry.id,
            available=True,
            name=entry.bundle.workflow,
            digest=entry.digest or None,
            runs_enabled=self.runs_enabled,
            ready=not failed,
            failed_checks=failed,
            metrics=entry.metrics,
            card=entry.card,
        )

    def _overview_of_unavailable(self, workflow: str) -> WorkflowOverview | None:
        found = self.find_unavailable(workflow)
        if found is None:
            return None
        return WorkflowOverview(
            id=found.id, available=False, problem=found.problem, runs_enabled=self.runs_enabled, ready=False
        )

    def warm(self, premises: Premises) -> None:
        """Start the first crews.

        Raises:
            EngineUnavailableError: One of them cannot start.
        """
        crews = {id(entry.crews): entry.crews for entry in self._entries.values()}
        for each in list(crews.values())[: self._warm_crews]:
            each.get(premises)

    def close(self) -> None:
        """Close every crew."""
        for entry in self._entries.values():
            entry.crews.close()
