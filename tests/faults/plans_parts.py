"""One process of a plan on the clinic app, which kills itself at the moment that it is told.

Laws of this module:

- Ledger, gate, boundary, plan store, locks, machine and runner are the real ones, and so is the app, over HTTP.
- Every moment before and after something durable, and before and after every request that saves, is a point.
- In Chromium the worker, the browser and the fence are the real ones too; what the ledger says of a run is a moment.
- A kill is SIGKILL of the whole process: nothing of it goes on. A kill of all takes its worker and browser with it.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve, frozen

from support.broken_plans import ActsFirst
from support.browser import family
from support.sandbox import Person, PlainPerformer, ask
from surehand.core.orchestration.check import parse_definition
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.events import Doubt, RunSkill
from surehand.core.orchestration.result import StepEnd
from surehand.core.orchestration.run import RunStatus, ToolEnd, WorkflowRun
from surehand.core.orchestration.skill import Effects, ToolSpec
from surehand.core.outcome.evidence import Approval, Delivery, Evidence, ProcessFact, RunObserved
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.outcome.result import EngineName, Mode
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.commands import BoundaryAnswer, Finish, Save, SaveObserved
from surehand.core.workflow.replay import start, step
from surehand.shell.catalog import Catalog, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Boundary, Job
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.executors import Executor, LocalExecutor
from surehand.shell.identity import fingerprint_key, new_token
from surehand.shell.locks import OwnerLock
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.store import PlanStore
from surehand.shell.orchestration.tools import Tools
from surehand.shell.orchestration.workflows import ServedWorkflows
from surehand.shell.sandbox.workflow import sandbox_bundle, sandbox_card
from surehand.shell.service import Service
from surehand.shell.store.base import StoreError
from surehand.shell.store.sqlite import SqliteStore

CASE: Final = "normal"
PATH: Final = "/referrals/r-104/notes"

#: What is durable: the methods of the two stores that write.
_LEDGER: Final = ("reserve", "mark_started", "begin_delivery", "finish", "settle_owner_gone")
_PLANS: Final = ("create", "claim", "save")

#: The phases of a run in their order.
_PHASES: Final = ("reserved", "started", "delivering", "finished")

#: Runs in the ledger of one plan at most, and seconds between two looks at it.
_MOST_RUNS: Final = 50
_LOOK_SECONDS: Final = 0.005

#: Seconds that a blow may come after the plan.
_LATE_SECONDS: Final = 60.0

#: More resumes than a run needs that nobody kills.
_ENOUGH: Final = 4

PLAN: Final[dict[str, Any]] = {
    "schema": "surehand.plan/v1",
    "definition_id": "three_notes",
    "title": "Three notes",
    "parameters": [{"name": "mark", "type": "line", "title": "Mark"}],
    "steps": [
        {
            "kind": "skill_invocation_step",
            "step_id": "one",
            "skill_id": "add_triage_note",
            "args": {"note": "{mark} one", "sandbox_case": CASE},
        },
        {
            "kind": "wait_for_condition_step",
            "step_id": "settled",
            "condition": {"kind": "step_result_success", "params": {"step_id": "one"}},
        },
        {
            "kind": "branch_step",
            "step_id": "which",
            "condition": {"kind": "run_outcome_is", "params": {"step_id": "one", "outcome": "done"}},
            "on_true": "tool",
            "on_false": "end",
        },
        {"kind": "skill_invocation_step", "step_id": "tool", "skill_id": "post", "args": {"mark": "{mark}"}},
        {
            "kind": "skill_invocation_step",
            "step_id": "two",
            "skill_id": "add_triage_note",
            "args": {"note": "{mark} two", "sandbox_case": CASE},
        },
    ],
    "skills": [
        {
            "kind": "flow_template_skill",
            "skill_id": "post",
            "parameters": [{"name": "mark", "type": "line", "title": "Mark"}],
            "calls": [{"tool": "post_note", "args": {"note": "{mark} tool"}}],
        }
    ],
}


def plan() -> WorkflowDefinition:
    """Five steps, three of which save."""
    return parse_definition(PLAN).unwrap()


@frozen
class Blow:
    """One kill.

    Args:
        at: The point at which it comes; 0 for none.
        run: The run of the ledger within which it comes, from 1; 0 for none.
        phase: Of that run, the first phase at which it comes.
        everything: Whether the worker and the browser are killed too.
    """

    at: int = 0
    run: int = 0
    phase: str = ""
    everything: bool = False

    def strike(self) -> None:
        """Kill this process, and those below it first when everything is to go."""
        if self.everything:
            for each in family(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(each.number, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, folder: Path) -> None:
        """Strike as soon as the ledger says that the run has come so far."""
        later = _PHASES[_PHASES.index(self.phase) :]
        while True:
            with suppress(StoreError), closing(SqliteStore.open(folder, read_only=True)) as store:
                while True:
                    runs = [each for each in reversed(store.recent(_MOST_RUNS)) if each.attempt]
                    if len(runs) >= self.run and runs[self.run - 1].phase.value in later:
                        self.strike()
                    time.sleep(_LOOK_SECONDS)
            time.sleep(_LOOK_SECONDS)


@define
class Points:
    """Counts the points that are passed, and kills this process at one of them."""

    blow: Blow
    passed: int = 0

    def passes(self) -> None:
        """A point is passed."""
        self.passed += 1
        if self.passed == self.blow.at:
            self.blow.strike()

    @contextmanager
    def around(self) -> Generator[None]:
        """Two points, one on each side."""
        self.passes()
        yield
        self.passes()

    def put_on(self, owner: object, *names: str) -> None:
        """Put points around methods of an object."""
        for name in names:
            setattr(owner, name, self._pointed(getattr(owner, name)))

    def _pointed(self, method: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **options: object) -> object:
            with self.around():
                return method(*arguments, **options)

        return called


@frozen
class ClinicEngine:
    """Executes the workflow on the clinic app with a plain client, within the real boundary."""

    points: Points
    name: EngineName = EngineName.BROWSER

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one run."""
        performer = PlainPerformer(job.bundle, job.target)
        state, command = start(job.bundle, job.inputs)
        while not isinstance(command, Finish):
            if not isinstance(command, Save):
                state, command = step(state, performer.perform(command))
            elif boundary.cross():
                with self.points.around():
                    seen = performer.perform(command)
                state, command = step(state, seen)
            else:
                state, command = step(state, SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.REFUSED))
        return RunObserved(ProcessFact.EXITED_CLEANLY, command.report, command.pause, Approval.NOT_ASKED)

    def close(self) -> None:
        """Nothing is held."""


@frozen
class PostNote:
    """A tool that saves a note and bears its key in it, so that it can be found again; ``forgets`` never looks."""

    points: Points
    target: AppTarget
    forgets: bool

    @property
    def spec(self) -> ToolSpec:
        """As the protocol says."""
        return ToolSpec(tool="post_note", arguments=("note",), effects=Effects.WRITES)

    def call(self, arguments: Mapping[str, str], key: str) -> ToolEnd:
        """Save the note."""
        person = Person(self.target.origin)
        person.sign_in(CASE)
        with self.points.around():
            person.save(f"{arguments['note']} {key}")
        return ToolEnd(success=True, record_changed=RecordChanged.YES)

    def look_up(self, key: str) -> ToolEnd | Doubt:
        """Whether the note is there; one that is not may still be on its way."""
        if self.forgets:
            return Doubt.NOT_DELIVERED
        if any(key in note for note in notes(self.target)):
            return ToolEnd(success=True, record_changed=RecordChanged.YES)
        return Doubt.UNKNOWN


def notes(target: AppTarget) -> list[str]:
    """The app's own records: the text of every note."""
    found: Any = ask(target.record_origin, "GET", f"/api{PATH}", headers=target.record_headers).json
    return [each["note"] for each in found["notes"]]


@frozen
class _Crew:
    executor: Executor
    where: AppTarget

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - there is one app
        """Where the app is."""
        return self.where

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


@frozen
class Renaming(ServedWorkflows):
    """Workflows that give each try of a step another name, so that the ledger does not know it; wrong on purpose."""

    def run(self, asked: RunSkill, digest: str) -> StepEnd:
        """Run it under a name of its own."""
        return super().run(evolve(asked, request_id=f"{asked.request_id}.{new_token()}"), digest)


def _service(folder: Path, points: Points, target: AppTarget, *, in_chromium: bool) -> Service:
    def premises() -> Premises:
        store = SqliteStore.open(folder)
        points.put_on(store, *_LEDGER)
        return Premises(folder, store, fingerprint_key(folder))

    def crew(opened: Premises) -> _Crew:
        if in_chromium:
            return _Crew(WorkerExecutor(opened.folder, Mode.SANDBOX), target)
        lock = OwnerLock.acquire(opened.folder)
        return _Crew(LocalExecutor(ClinicEngine(points), opened.store, lock, SYSTEM_CLOCK, Mode.SANDBOX), target)

    bundle = sandbox_bundle()
    entry = WorkflowEntry(bundle, sandbox_card(), CrewSource(crew), digest=bundle_digest(bundle))
    return Service(catalog=Catalog(Mode.SANDBOX, entry), open_premises=premises)


def go_through(  # noqa: PLR0913, PLR0917 - what a cell says of its processes
    folder: Path, target: AppTarget, mark: str, points: Points, broken: str, in_chromium: bool = False
) -> WorkflowRun:
    """Begin the plan or take it up, until it ended or this process is dead."""
    service = _service(folder, points, target, in_chromium=in_chromium)
    watching = threading.Thread(target=points.blow.watch, args=(folder,), daemon=True)
    if points.blow.run:
        watching.start()
    tools = Tools((PostNote(points, target, broken == "forgets"),))
    workflows = Renaming(service) if broken == "renames" else ServedWorkflows(service)
    kind = ActsFirst if broken == "acts first" else WorkflowRunner
    runner = kind(folder / "plans", Surroundings(workflows=workflows, tools=tools))
    store = PlanStore.open(folder / "plans")
    points.put_on(store, *_PLANS)
    runner._store = store  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the seam for its deaths
    run = runner.run(plan(), {"mark": mark}, mark)
    for _ in range(_ENOUGH):
        if isinstance(run, WorkflowRun) and run.status is RunStatus.RUNNING:
            run = runner.resume(run.id)
    assert isinstance(run, WorkflowRun), run
    runner.close()
    service.close()
    if points.blow.run:
        # The blow may come as late as this, where the ledger is seen a moment after the plan has ended.
        watching.join(_LATE_SECONDS)
    return run
