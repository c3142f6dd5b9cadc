"""Which workflows are served, and what executes each of them.

Laws of this module:

- A workflow that is listed has one bundle, one card, and one source of executors.
- An engine that was asked for by name and cannot start is refused by name.
  Only ``auto`` may choose another, and every result says which one ran.
- Listing starts nothing: no browser, no app, no store.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from attrs import field, frozen

from surehand.core.outcome.result import Mode
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


@frozen
class WorkflowEntry:
    """One workflow that is served."""

    bundle: Bundle
    card: Card
    crews: CrewSource


class Catalog:
    """The workflows that a server serves."""

    def __init__(self, mode: Mode, *entries: WorkflowEntry) -> None:
        self.mode: Final = mode
        self._entries = {entry.bundle.workflow: entry for entry in entries}

    def cards(self) -> tuple[Card, ...]:
        """One card for each workflow."""
        return tuple(entry.card for entry in self._entries.values())

    def find(self, workflow: str) -> WorkflowEntry | None:
        """The workflow of exactly this name."""
        return self._entries.get(workflow)

    def warm(self, premises: Premises) -> None:
        """Start every crew.

        Raises:
            EngineUnavailableError: One of them cannot start.
        """
        for entry in self._entries.values():
            entry.crews.get(premises)

    def close(self) -> None:
        """Close every crew."""
        for entry in self._entries.values():
            entry.crews.close()
