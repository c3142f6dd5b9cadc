"""The compiled workflows of a service, as the steps of a plan use them.

Laws of this module:

- A step runs the version that it is pinned to, or none.
- Every run goes through the request gate under the id that the step derives; nothing here decides whether it may act.
"""

import re
import threading
from concurrent.futures import CancelledError
from typing import Final, Protocol

from attrs import evolve, field, frozen

from surehand.core.orchestration.doubt import found_in
from surehand.core.orchestration.events import Doubt, RunSkill
from surehand.core.orchestration.result import StepEnd, StepFailure, end_as_told, end_of_run, stopped
from surehand.core.orchestration.skill import CompiledSkill
from surehand.core.orchestration.text import by_name
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult
from surehand.core.workflow.params import Parameter
from surehand.shell.catalog import WorkflowEntry
from surehand.shell.service import Service
from surehand.shell.store.base import StoreUnavailableError


class Workflows(Protocol):
    """What steps run."""

    def skills(self) -> tuple[CompiledSkill, ...]:
        """What can be run, each in its present version."""
        ...

    def run(self, asked: RunSkill, digest: str) -> StepEnd:
        """Run this version under this request id until it ends.

        Raises:
            StoreError: How it ended cannot be found out now.
        """
        ...

    def look_up(self, asked: RunSkill) -> StepEnd | Doubt:
        """What became of a request that may have been made; one that still goes on is waited for.

        Raises:
            StoreError: That cannot be found out now.
        """
        ...

    def told(self, references: frozenset[str]) -> dict[str, StepEnd]:
        """How steps are told now that made these runs; what is no run of a compiled workflow is left out."""
        ...

    def cancel(self, request_id: str) -> None:
        """Wish that the run of a request stops before it saves."""
        ...


@frozen
class ServedWorkflows:
    """The workflows of a service."""

    _service: Service
    _running: dict[str, str] = field(factory=dict[str, str], init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)

    def skills(self) -> tuple[CompiledSkill, ...]:
        """As the protocol says; an input that the server has a value for may be left out."""
        return tuple(_skill(entry) for entry in self._service.workflows())

    def run(self, asked: RunSkill, digest: str) -> StepEnd:
        """As the protocol says."""
        if not any(each.skill_id == asked.skill_id and each.digest == digest for each in self.skills()):
            return stopped(StepFailure.SKILL_CHANGED)
        ticket = self._service.run_workflow(asked.skill_id, by_name(asked.inputs), asked.request_id)
        with self._guard:
            self._running[asked.request_id] = ticket.run_id
        try:
            goes_on = ticket.result.outcome is Outcome.RUNNING
            return end_of_run(self._end(ticket.run_id) if goes_on else ticket.result)
        finally:
            with self._guard:
                self._running.pop(asked.request_id)

    def look_up(self, asked: RunSkill) -> StepEnd | Doubt:
        """As the protocol says; what people decided about a run after it stopped is part of what became of it."""
        return found_in(tuple(self._told(attempt.run_id) for attempt in self._service.attempts(asked.request_id)))

    def told(self, references: frozenset[str]) -> dict[str, StepEnd]:
        """As the protocol says; what the ledger cannot tell now may have been written."""
        runs = (each for each in references if _RUN_ID.fullmatch(each))
        return {run_id: self._told_now(run_id) for run_id in runs}

    def cancel(self, request_id: str) -> None:
        """As the protocol says."""
        with self._guard:
            run_id = self._running.get(request_id)
        if run_id is not None:
            self._service.cancel(run_id)

    def _told_now(self, run_id: str) -> StepEnd:
        told = self._service.current(run_id)
        return end_as_told(told if told is not None and told.record_saved else None, run_id)

    def _told(self, run_id: str) -> RunResult:
        """A run as it is told when it does not go on any more."""
        told = self._service.current(run_id)
        if told is None or not told.record_saved:
            raise StoreUnavailableError("the ledger cannot say now")
        return self._end(run_id) if told.outcome is Outcome.RUNNING else told

    def _end(self, run_id: str) -> RunResult:
        try:
            return self._service.watch(run_id).result()
        except CancelledError:
            raise StoreUnavailableError("the service was closed") from None


_RUN_ID: Final = re.compile("run_[0-9a-f]{32}")

#: Stands where the version of a workflow is not known.
_UNKNOWN_VERSION: Final = "0" * 64


def _skill(entry: WorkflowEntry) -> CompiledSkill:
    return CompiledSkill(
        skill_id=entry.bundle.workflow,
        parameters=tuple(_parameter(each, entry) for each in entry.bundle.parameters),
        digest=entry.digest or _UNKNOWN_VERSION,
    )


def _parameter(parameter: Parameter, entry: WorkflowEntry) -> Parameter:
    return evolve(parameter, required=False) if parameter.name in entry.defaults else parameter
