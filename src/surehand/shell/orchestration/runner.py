"""Goes through plans: begins a run, takes one up, stops one.

Laws of this module:

- What the machine returns is saved before any command of it is performed, and by the holder of the lease alone.
- A lease is an operating-system lock and a number. Whoever lost it performs nothing more.
- A run that cannot go on now stays as it is: nothing is told that is not known, and whoever takes it up looks first.
- The same request begins one run, however often it is sent; with another definition or other inputs it begins none.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen
from returns.result import Failure, Result

from surehand.core.orchestration.check import Faults, pin
from surehand.core.orchestration.definition import PinnedDefinition, WorkflowDefinition, first_difference
from surehand.core.orchestration.events import ActionEnded, CancelAsked, Command, Event, Resumed, RunSkill
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.run import RunStatus, WorkflowRun, open_references, retold
from surehand.core.orchestration.step import Step, advance, parked, start
from surehand.core.outcome.reasons import Outcome
from surehand.core.request import keys
from surehand.core.workflow.params import check_inputs
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, fingerprint_key, new_token
from surehand.shell.locks import OwnerLock, is_alive
from surehand.shell.orchestration.loader import Definitions
from surehand.shell.orchestration.performing import InterruptedWaitError, Surroundings, perform
from surehand.shell.orchestration.rows import RunHead
from surehand.shell.orchestration.store import Created, Existing, Forgotten, Lease, PinnedRun, PlanStore, Saved
from surehand.shell.store.base import StoreError, StoreNewerError

#: Seconds that closing waits for runs that are at work.
_CLOSE_SECONDS: Final = 60.0


@frozen(kw_only=True)
class RunSummary:
    """One run of a list; ``alive`` says whether somebody goes through it now."""

    run_id: str
    definition_id: str
    status: RunStatus
    current_step_id: str | None
    steps: int
    created_at: int
    alive: bool


@define
class Live:
    """A run that this process goes through."""

    lease: Lease
    lock: OwnerLock
    end: Future[WorkflowRun] = field(factory=Future[WorkflowRun])
    command: Command | None = None


@frozen
class _Begun:
    """A run as it was begun, taken up or found; ``end`` is there while this process goes through it."""

    run: WorkflowRun
    end: Future[WorkflowRun] | None


class WorkflowRunner:
    """Runs plans from one folder. All methods are safe to call from any thread.

    Args:
        folder: Where the file of plans lies, with the lock files of those who go through runs.
        around: What the steps work with.
        definitions: Where the definitions of today are found; default: a run's own, pinned one is the only one.
    """

    def __init__(self, folder: Path, around: Surroundings, definitions: Definitions | None = None) -> None:
        self._folder: Final = folder
        self._around: Final = around
        self._definitions: Final = definitions
        self._guard: Final = threading.Lock()
        self._live: Final[dict[str, Live]] = {}
        self._store: PlanStore | None = None
        self._closing = False

    def check(self, definition: WorkflowDefinition, *, with_goals: bool = False) -> Result[PinnedDefinition, Faults]:
        """A definition with what it uses here, or all its faults; nothing is opened or begun.

        Args:
            definition: The plan.
            with_goals: Whether to check as where somebody works on goals, though nobody does here.
        """
        return pin(
            definition,
            skills=self._around.workflows.skills(),
            tools=self._around.tools.specs(),
            conditions=self._around.conditions,
            has_task_runner=with_goals or self._around.task_runner is not None,
        )

    def run(
        self, definition: WorkflowDefinition, inputs: Mapping[str, str] | None = None, request_id: str | None = None
    ) -> WorkflowRun | RunRefused:
        """Go through a plan until it stops.

        Args:
            definition: The plan.
            inputs: Its parameters.
            request_id: The caller's id of this intended work; the same id with the same work is the same run.

        Returns:
            The run as it stopped, or as it stands if another process goes through it.

        Raises:
            NotARequestIdError: The request id is not one; nothing was begun.
        """
        return self._end_of(self._started(definition, inputs, request_id))

    def start(
        self, definition: WorkflowDefinition, inputs: Mapping[str, str] | None = None, request_id: str | None = None
    ) -> WorkflowRun | RunRefused:
        """Begin a plan, and answer as soon as its beginning is on disk; it goes on by itself.

        Raises:
            NotARequestIdError: The request id is not one; nothing was begun.
        """
        return _run_of(self._started(definition, inputs, request_id))

    def _started(
        self, definition: WorkflowDefinition, inputs: Mapping[str, str] | None, request_id: str | None
    ) -> _Begun | RunRefused:
        key = None if request_id is None else keys.request_key(keys.RequestId.parse(request_id))
        checked = self.check(definition)
        if isinstance(checked, Failure):
            return RunRefused(code=PlanRefusal.INVALID_DEFINITION, faults=checked.failure())
        values = check_inputs(definition.parameters, inputs or {})
        if isinstance(values, Failure):
            return RunRefused(code=PlanRefusal.INVALID_INPUT, input_problems=values.failure())
        return self._guarded(lambda: self._begin(checked.unwrap(), values.unwrap(), key))

    def resume(self, run_id: str) -> WorkflowRun | RunRefused:
        """Take a run up and go through it until it stops; one that ended is told as it is."""
        return self._end_of(self._guarded(lambda: self._take_up(run_id)))

    def take_up(self, run_id: str) -> WorkflowRun | RunRefused:
        """Take a run up, and answer at once; it goes on by itself."""
        return _run_of(self._guarded(lambda: self._take_up(run_id)))

    def cancel(self, run_id: str) -> bool:
        """Wish that a run stops, whoever goes through it; ``False`` when it does not go on any more.

        A step that acts is asked to stop before it saves, and is waited for.

        Raises:
            StoreError: The wish cannot be kept.
        """
        wished = self._open().ask_cancel(run_id)
        live = self._live.get(run_id)
        command = None if live is None else live.command
        if isinstance(command, RunSkill):
            self._around.workflows.cancel(command.request_id)
        return wished

    def get(self, run_id: str) -> WorkflowRun | None:
        """A run as it stands; ``None`` for one that is not known, or that only a newer version can read.

        Raises:
            StoreError: The store cannot answer.
        """
        found = self._open().load(run_id)
        return None if found is None or found.run is None else self._as_told(found.run)

    def goes_on(self, run_id: str) -> bool:
        """Whether a run did not stop yet; nothing else of it is read.

        Raises:
            StoreError: The store cannot answer.
        """
        standing = self._open().standing(run_id)
        return standing is not None and standing.status is RunStatus.RUNNING

    def watch(self, run_id: str, seconds: float) -> WorkflowRun | None:
        """A run as it stands when it stops, or when the time is over; a run of another process is not waited for.

        Raises:
            StoreError: The store cannot answer.
        """
        live = self._live.get(run_id)
        if live is not None:
            with suppress(TimeoutError, StoreError, LeaseLostError, ClosedError):
                return live.end.result(seconds)
        return self.get(run_id)

    def runs(self, limit: int = 50) -> tuple[RunSummary, ...]:
        """The newest runs first.

        Raises:
            StoreError: The store cannot answer.
        """
        return tuple(self._summary(head) for head in self._open().recent(limit))

    def abandoned(self) -> tuple[str, ...]:
        """The runs that go on and that nobody goes through.

        Raises:
            StoreError: The store cannot answer.
        """
        return tuple(head.run_id for head in self._open().going_on() if not self._is_alive(head.owner))

    def end(self) -> None:
        """Begin no further step; what acts goes on to its end, and runs can be taken up later."""
        self._closing = True

    def close(self) -> None:
        """Stop waits, let what acts come to its end in bounded time, and release everything; runs can be taken up."""
        with self._guard:
            self._closing = True
            live = tuple(self._live.values())
        for each in live:
            with suppress(TimeoutError, StoreError, LeaseLostError):
                each.end.result(_CLOSE_SECONDS)
        with self._guard:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Beginning.

    def _begin(self, pinned: PinnedDefinition, inputs: dict[str, str], key: str | None) -> _Begun | RunRefused:
        store = self._open()
        run, commands = start(_run_id(key), pinned, inputs, self._around.now())
        lock = OwnerLock.acquire(self._folder)
        try:
            created = store.create(
                run,
                lock.token,
                request_key=key,
                asked=keys.fingerprint(fingerprint_key(self._folder), pinned.digest, inputs),
                created_at=self._around.clock.now(),
            )
        except BaseException:
            lock.release()
            raise
        if isinstance(created, Created):
            return self._launch(Live(created.lease, lock), run, lambda: (run, commands))
        lock.release()
        return (
            RunRefused(code=PlanRefusal.FORGOTTEN) if isinstance(created, Forgotten) else self._existing(store, created)
        )

    def _existing(self, store: PlanStore, found: Existing) -> _Begun | RunRefused:
        if not found.same:
            return RunRefused(code=PlanRefusal.REQUEST_ID_CONFLICT)
        live = self._live.get(found.run_id)
        run = _readable(store.load(found.run_id))
        return run if isinstance(run, RunRefused) else _Begun(self._as_told(run), None if live is None else live.end)

    # Taking up.

    def _take_up(self, run_id: str) -> _Begun | RunRefused:
        store = self._open()
        found = store.load(run_id)
        run = _readable(found)
        if isinstance(run, RunRefused):
            return run
        if run.status is not RunStatus.RUNNING:
            return _Begun(self._as_told(run), None)
        changed = self._changed(run)
        if changed is not None:
            return changed
        lock = OwnerLock.acquire(self._folder)
        try:
            lease = store.claim(run_id, lock.token, self._is_alive)
        except BaseException:
            lock.release()
            raise
        if lease is None:
            lock.release()
            return RunRefused(code=PlanRefusal.RUNNING_ELSEWHERE, step_id=run.current_step_id)
        return self._go_on(store, Live(lease, lock), found)

    def _go_on(self, store: PlanStore, live: Live, seen: PinnedRun | None) -> _Begun | RunRefused:
        """Go through a run from where it stands now that it is ours; it is read again only if it is not as seen."""
        try:
            is_as_seen = seen is not None and store.is_as_seen(seen.head, live.lease)
            run = _readable(seen if is_as_seen else store.load(live.lease.run_id))
        except BaseException:
            live.lock.release()
            raise
        if isinstance(run, RunRefused):
            live.lock.release()
            return run
        return self._launch(live, run, lambda: self._saved(live.lease, run, Resumed(self._around.now())))

    def _changed(self, run: WorkflowRun) -> RunRefused | None:
        """Why a run cannot go on with what is there today, with the step that is another one now."""
        definition = run.pinned.definition
        today = definition if self._definitions is None else self._definitions.find(definition.definition_id)
        if today is None:
            return RunRefused(code=PlanRefusal.DEFINITION_MISSING, step_id=run.current_step_id)
        checked = self.check(today)
        if isinstance(checked, Failure):
            step_id = _faulty_step(today, checked.failure()) or run.current_step_id
            return RunRefused(code=PlanRefusal.DEFINITION_CHANGED, step_id=step_id, faults=checked.failure())
        now = checked.unwrap()
        if now == run.pinned:
            return None
        step_id = first_difference(run.pinned, now) or run.current_step_id
        return RunRefused(code=PlanRefusal.DEFINITION_CHANGED, step_id=step_id)

    # Going through.

    def _launch(self, live: Live, run: WorkflowRun, first: Callable[[], Step]) -> _Begun:
        self._live[live.lease.run_id] = live
        threading.Thread(target=self._go_through, args=(live, first), name="surehand-plan", daemon=True).start()
        return _Begun(run, live.end)

    def _go_through(self, live: Live, first: Callable[[], Step]) -> None:
        """Go through a run to its end; what ends the way ends nothing of the run."""
        try:
            run = self._driven(live, *first())
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._leave(live)
            live.end.set_exception(error)
        else:
            self._leave(live)
            live.end.set_result(run)

    def _leave(self, live: Live) -> None:
        self._live.pop(live.lease.run_id, None)
        live.lock.release()

    def _driven(self, live: Live, run: WorkflowRun, commands: tuple[Command, ...]) -> WorkflowRun:
        """The run as it stopped, or as it stands when the runner is closed."""
        run_id = run.id
        while commands:
            live.command = commands[0]
            try:
                event = perform(self._around, run, commands[0], lambda: self._is_stopping(run_id))
            except InterruptedWaitError:
                return run
            live.command = None
            if self._closing:
                return self._parked(live.lease, run, event)
            run, commands = self._saved(live.lease, run, event)
        return run

    def _parked(self, lease: Lease, run: WorkflowRun, event: Event) -> WorkflowRun:
        """Keep what came of the last command and that nothing more was begun.

        What did not run may not have because everything is being closed: it is looked up by whoever goes on.
        """
        if isinstance(event, ActionEnded) and event.end.outcome is Outcome.DID_NOT_RUN:
            return run
        return parked(self._saved(lease, run, event, as_parked=True)[0])

    def _saved(self, lease: Lease, run: WorkflowRun, event: Event, *, as_parked: bool = False) -> Step:
        """What becomes of a run by an event, when that is on disk."""
        then, commands = advance(run, event)
        if then is run:
            return then, commands
        saved = self._save(then, lease, as_parked=as_parked)
        if saved is Saved.CANCEL_ASKED:
            asked, _ = advance(run, CancelAsked())
            then, commands = advance(asked, event)
            saved = self._save(then, lease, as_parked=as_parked)
        if saved is not Saved.SAVED:
            raise LeaseLostError
        return then, commands

    def _save(self, run: WorkflowRun, lease: Lease, *, as_parked: bool) -> Saved:
        return self._open().save(parked(run) if as_parked else run, lease)

    def _is_stopping(self, run_id: str) -> bool:
        if self._closing:
            raise InterruptedWaitError
        standing = self._open().standing(run_id)
        return standing is not None and standing.cancel_asked

    # Helpers.

    def _end_of(self, begun: _Begun | RunRefused) -> WorkflowRun | RunRefused:
        """A run that was begun or taken up, as it stopped; as it stands when it could not go on."""
        if isinstance(begun, RunRefused) or begun.end is None:
            return _run_of(begun)
        try:
            return begun.end.result()
        except (StoreError, LeaseLostError, ClosedError):
            with suppress(StoreError, ClosedError):
                return self.get(begun.run.id) or begun.run
            return begun.run

    def _guarded(self, answer: Callable[[], _Begun | RunRefused]) -> _Begun | RunRefused:
        """An answer, or the refusal that says why there is none."""
        try:
            return answer()
        except StoreNewerError:
            return RunRefused(code=PlanRefusal.NEWER_SCHEMA)
        except (StoreError, DamagedKeyError, UnsafeFileError, OSError):
            return RunRefused(code=PlanRefusal.STORE_UNAVAILABLE)
        except ClosedError:
            return RunRefused(code=PlanRefusal.CLOSED)

    def _open(self) -> PlanStore:
        with self._guard:
            if self._store is None:
                if self._closing:
                    raise ClosedError
                self._store = PlanStore.open(self._folder)
            return self._store

    def _as_told(self, run: WorkflowRun) -> WorkflowRun:
        """A run as it is told: with what people let happen to its steps since they ended."""
        references = open_references(run)
        return retold(run, self._around.workflows.told(references)) if references else run

    def _is_alive(self, owner: str) -> bool:
        """Whether an owner lives; one that cannot be asked about is not proven gone."""
        try:
            return is_alive(self._folder, owner)
        except (OSError, UnsafeFileError):
            return True

    def _summary(self, head: RunHead) -> RunSummary:
        return RunSummary(
            run_id=head.run_id,
            definition_id=head.definition_id,
            status=head.status,
            current_step_id=head.current_step_id,
            steps=head.steps,
            created_at=head.created_at,
            alive=head.status is RunStatus.RUNNING and self._is_alive(head.owner),
        )


class LeaseLostError(Exception):
    """Somebody else took the run up."""


class ClosedError(Exception):
    """The runner was closed."""


def _run_of(begun: _Begun | RunRefused) -> WorkflowRun | RunRefused:
    return begun if isinstance(begun, RunRefused) else begun.run


def _run_id(key: str | None) -> str:
    """The name of a run: that of its request if it has one, so that what it does keeps its names whatever is lost."""
    return f"plan_{new_token() if key is None else key[:32]}"


def _readable(found: PinnedRun | None) -> WorkflowRun | RunRefused:
    if found is None:
        return RunRefused(code=PlanRefusal.UNKNOWN_RUN)
    if found.run is None:
        return RunRefused(code=PlanRefusal.NEWER_SCHEMA, step_id=found.head.current_step_id)
    return found.run


def _faulty_step(definition: WorkflowDefinition, faults: Faults) -> str | None:
    places = (fault.path[1] for fault in faults if fault.path[:1] == ("steps",))
    return next((definition.steps[place].step_id for place in places if isinstance(place, int)), None)
