"""The simulated engine: the replay machine against a model of the sandbox app, in virtual time.

Laws of this module:

- It serves the sandbox's workflow and opens no app, no browser and no socket.
- The machine is the one of every engine; only what answers it is a model. Each run gets a fresh one, so nothing grows.
- The boundary is crossed before the model takes the write. After it the caller's wish to stop is not asked any more.
"""

from typing import assert_never

from attrs import define, frozen

from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    EarlierAttempts,
    Evidence,
    ProcessFact,
    Refusal,
    RunObserved,
)
from surehand.core.outcome.result import EngineName
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
    Check,
    CheckPage,
    Choose,
    Click,
    Command,
    Done,
    Fill,
    Finish,
    Observation,
    Open,
    OutOfTime,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Save,
    Wait,
)
from surehand.core.workflow.replay import start, step
from surehand.shell.engines.base import AppTarget, Boundary, Job
from surehand.shell.sandbox.cases import CASES
from surehand.shell.sandbox.model import ORIGIN, SandboxModel

#: Stands where an engine that opens an app is told where it is.
NO_APP = AppTarget(origin=ORIGIN, record_origin=ORIGIN)


@frozen
class SimulatedEngine:
    """Executes the sandbox's workflow without an app."""

    @property
    def name(self) -> EngineName:
        """``simulated``: every result of this engine says so."""
        return EngineName.SIMULATED

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one job of the sandbox's workflow; its target is not looked at.

        Raises:
            KeyError: The job has no input ``sandbox_case`` or an unknown one; checked inputs always have one.
        """
        case = CASES[job.inputs["sandbox_case"]]
        if not case.reachable:
            return CallRefused(Refusal.APP_UNREACHABLE, EarlierAttempts.NONE)
        performer = _Performer(SandboxModel(job.bundle, case), boundary, job.time_limit_ms)
        state, command = start(job.bundle, job.inputs)
        while not isinstance(command, Finish):
            state, command = step(state, performer.observe(command))
        return RunObserved(ProcessFact.EXITED_CLEANLY, command.report, command.pause, Approval.NOT_ASKED)

    def close(self) -> None:
        """Nothing is held."""


@define
class _Performer:
    """Performs the commands of one run and keeps its virtual time."""

    model: SandboxModel
    boundary: Boundary
    time_limit_ms: int
    elapsed_ms: int = 0
    crossed: bool = False

    def observe(self, command: Command) -> Observation:
        """Perform one command, or say why the run has to stop before it."""
        if not self.crossed:
            if self.boundary.stop_requested():
                return Canceled()
            if self.elapsed_ms > self.time_limit_ms:
                return OutOfTime()
        match command:
            case Wait(milliseconds=milliseconds):
                self.elapsed_ms += milliseconds
                return Done()
            case Save():
                return self.model.save(command, self._cross)
            case (
                Open() | CheckPage() | ReadTexts() | Fill() | Choose() | Check() | ReadValue() | Click() | ReadRecords()
            ):
                return self.model.perform(command)
            case Finish():
                raise AssertionError("nothing follows the end of a run")
            case _:  # pragma: no cover
                assert_never(command)

    def _cross(self) -> BoundaryAnswer:
        if self.boundary.stop_requested():
            return BoundaryAnswer.STOP_WANTED
        self.crossed = self.boundary.cross()
        return BoundaryAnswer.GRANTED if self.crossed else BoundaryAnswer.REFUSED
