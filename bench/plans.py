"""What plans cost: the pure machine alone, a step with its flushed commit, and taking a run of 1,000 steps up again.

A step that does nothing is a branch whose condition holds. The machine and the taking up are measured by the
processor's time, which other work on the machine does not change; a step with its commit by both clocks. Beside it
stands the cheapest flush of the same disk: 4 KiB written in place and ``fdatasync``.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

from attrs import asdict, evolve, frozen

from surehand.core.orchestration.check import pin
from surehand.core.orchestration.condition import STANDARD, ConditionSpec
from surehand.core.orchestration.definition import END, BranchStep, PinnedDefinition, WorkflowDefinition
from surehand.core.orchestration.events import CheckCondition, ConditionChecked, Doubt, RunSkill
from surehand.core.orchestration.result import StepEnd
from surehand.core.orchestration.run import Moment, RunStatus, WorkflowRun
from surehand.core.orchestration.skill import CompiledSkill
from surehand.core.orchestration.step import advance, start
from surehand.core.orchestration.text import bound
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.store import Created, PlanStore

STEPS = 1_000
_NOW = Moment("boot", 0)
_ALWAYS = ConditionSpec(kind="elapsed_seconds", params=bound({"seconds": "0"}))


@frozen
class Figures:
    """What was measured.

    Args:
        pure_steps_per_second: Steps that the machine alone goes through in a second of the processor.
        step_cpu_ms: The processor's time for a step with its commit.
        flushed_step_ms: The same by the wall clock.
        flush_ms: One flush of the same disk, by the wall clock.
        resume_cpu_ms: The processor's time of ``resume`` for a run of 1,000 steps, the store being open.
        open_and_resume_cpu_ms: The same with the opening of the store.
    """

    pure_steps_per_second: float
    step_cpu_ms: float
    flushed_step_ms: float
    flush_ms: float
    resume_cpu_ms: float
    open_and_resume_cpu_ms: float


class _NoWorkflows:
    """Nothing is served."""

    def skills(self) -> tuple[CompiledSkill, ...]:
        """None."""
        return ()

    def run(self, asked: RunSkill, digest: str) -> StepEnd:
        """Nobody asks."""
        raise NotImplementedError(asked, digest)

    def look_up(self, asked: RunSkill) -> StepEnd | Doubt:
        """Nobody asks."""
        raise NotImplementedError(asked)

    def told(self, references: frozenset[str]) -> dict[str, StepEnd]:
        """Nobody asks."""
        raise NotImplementedError(references)

    def cancel(self, request_id: str) -> None:
        """Nothing goes on."""


def plan(steps: int) -> WorkflowDefinition:
    """A plan of so many steps that do nothing."""
    names = [f"s{number}" for number in range(steps)]
    return WorkflowDefinition(
        definition_id="idle",
        title="Idle",
        steps=tuple(
            BranchStep(step_id=name, condition=_ALWAYS, on_true=after, on_false=END)
            for name, after in zip(names, [*names[1:], END], strict=True)
        ),
    )


def pinned(steps: int) -> PinnedDefinition:
    """The same, checked."""
    return pin(plan(steps), skills=(), tools=(), conditions=STANDARD).unwrap()


def gone_through(definition: PinnedDefinition, steps: int) -> WorkflowRun:
    """A run that went through so many steps with the machine alone."""
    run, commands = start("plan_" + "0" * 32, definition, {}, _NOW)
    for _ in range(steps):
        (command,) = commands
        if not isinstance(command, CheckCondition):
            raise TypeError("a plan that does nothing asks for nothing else")
        run, commands = advance(run, ConditionChecked(at=command.at, holds=True, now=_NOW))
    return run


def seconds_of(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """How long something takes by a clock."""
    began = clock()
    work()
    return clock() - began


def flush_seconds(folder: Path) -> float:
    """The cheapest flush, the median of many."""
    with (folder / "raw").open("wb", buffering=0) as file:
        file.write(bytes(4096))

        def flush() -> None:
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())

        return median(seconds_of(flush, time.perf_counter) for _ in range(200))


def flushed_step_seconds(folder: Path, rounds: int) -> tuple[float, float]:
    """One step of the real runner with its commit, by the processor and by the wall clock."""
    steps = 100
    with WorkflowRunner(folder, Surroundings(workflows=_NoWorkflows())) as runner:
        runner.run(plan(1))

        def once() -> None:
            ended(runner.run(plan(steps)))

        cpu = median(seconds_of(once) for _ in range(rounds))
        return cpu / steps, median(seconds_of(once, time.perf_counter) for _ in range(rounds)) / steps


def resume_seconds(folder: Path, rounds: int) -> tuple[float, float]:
    """Taking up a run of 1,000 steps at its last one, with an open store and with one that is opened for it.

    Each round has a run and a runner of its own, since whoever has read a plan once knows it.
    """
    run = gone_through(pinned(STEPS), STEPS - 1)
    names = [f"plan_{number:032x}" for number in range(2 * rounds)]
    with closing(PlanStore.open(folder)) as store:
        for name in names:
            if not isinstance(
                store.create(evolve(run, id=name), "", request_key=None, asked="", created_at=0), Created
            ):
                raise TypeError("the run is new")

    def resumed(name: str, *, is_open: bool) -> float:
        with WorkflowRunner(folder, Surroundings(workflows=_NoWorkflows())) as runner:
            if is_open:
                runner.runs(1)
            return seconds_of(lambda: ended(runner.resume(name)))

    warm = median(resumed(name, is_open=True) for name in names[:rounds])
    return warm, median(resumed(name, is_open=False) for name in names[rounds:])


def ended(told: object) -> None:
    """Refuse what did not come to its end."""
    if not isinstance(told, WorkflowRun) or told.status is not RunStatus.COMPLETED:
        raise TypeError("the plan did not come to its end")


def measure(rounds: int) -> Figures:
    """Everything, in one folder."""
    definition = pinned(STEPS)
    pure = min(seconds_of(lambda: gone_through(definition, STEPS)) for _ in range(rounds))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "steps").mkdir(0o700)
        (folder / "resume").mkdir(0o700)
        warm, cold = resume_seconds(folder / "resume", rounds)
        cpu, wall = flushed_step_seconds(folder / "steps", rounds)
        return Figures(
            pure_steps_per_second=STEPS / pure,
            step_cpu_ms=cpu * 1000,
            flushed_step_ms=wall * 1000,
            flush_ms=flush_seconds(folder) * 1000,
            resume_cpu_ms=warm * 1000,
            open_and_resume_cpu_ms=cold * 1000,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each measure (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print figures only")
    asked = parser.parse_args()
    figures = measure(asked.rounds)
    if asked.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"the machine alone: {figures.pure_steps_per_second:,.0f} steps a second (aim: 10,000)")
    print(f"a step with its commit: {figures.step_cpu_ms:.2f} ms of the processor")
    print(f"the same by the wall clock: {figures.flushed_step_ms:.2f} ms; a raw flush: {figures.flush_ms:.2f} ms")
    print(f"a run of {STEPS} steps taken up: {figures.resume_cpu_ms:.1f} ms of the processor (aim: 50 ms)")
    print(f"the same, and the store opened for it: {figures.open_and_resume_cpu_ms:.1f} ms of the processor")


if __name__ == "__main__":
    main()
