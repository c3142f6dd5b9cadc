"""Runners of plans that are wrong on purpose, for the controls of tests."""

from surehand.core.orchestration.events import Command, Event
from surehand.core.orchestration.run import WorkflowRun
from surehand.core.orchestration.step import advance
from surehand.shell.orchestration.performing import perform
from surehand.shell.orchestration.runner import Live, WorkflowRunner


class ActsFirst(WorkflowRunner):
    """Saves where a run stands after it acted, not before."""

    def _driven(self, live: Live, run: WorkflowRun, commands: tuple[Command, ...]) -> WorkflowRun:
        unsaved: list[tuple[WorkflowRun, Event]] = []
        while commands:
            event = perform(self._around, run, commands[0], lambda: False)
            for each in unsaved:
                self._saved(live.lease, *each)
            unsaved = [(run, event)]
            run, commands = advance(run, event)
        for each in unsaved:
            self._saved(live.lease, *each)
        return run


class ByAge(WorkflowRunner):
    """Takes a lease for over because it is old."""

    def _is_alive(self, owner: str) -> bool:  # noqa: ARG002 - it asks nobody
        return False
