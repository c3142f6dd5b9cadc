"""The worker process: who executes a run, and what is left of it when a worker or its parent dies."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import ProcessName, Site, eventually, family, note_job, note_site, reserved
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import EngineName, FailedCheck, Mode, Proof, RunResult
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.browser.chromium import CHROMIUM_VARIABLE
from surehand.shell.engines.browser.executor import WorkerExecutor, WorkerGoneError
from surehand.shell.execution import unheard_of
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.locks import is_alive
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore


@pytest.fixture
def site() -> Iterator[Site]:
    """The site of the note workflow."""
    with note_site() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder."""
    made = tmp_path_factory.mktemp("installation") / "state"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[RunStore]:
    """The ledger in it."""
    opened = open_store(folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def executor(folder: Path) -> Iterator[WorkerExecutor]:
    """An executor on it. Its workers may be killed: it starts another."""
    made = WorkerExecutor(folder, Mode.SANDBOX)
    yield made
    made.close()


def worker_of(parent: int) -> ProcessName:
    """The worker process below this one."""
    workers = [process for process in family(parent) if "surehand.shell.engines.browser.worker" in process.command]
    assert len(workers) == 1
    return workers[0]


def all_gone(processes: tuple[ProcessName, ...]) -> bool:
    """Whether none of the processes is left, or comes to be left."""
    return eventually(lambda: not any(process.is_alive for process in processes))


class TestRuns:
    """A run is executed in the worker, stored by the worker, and told to the caller."""

    def test_a_run_is_done_and_stored(self, executor: WorkerExecutor, store: RunStore, site: Site) -> None:
        record = reserved(store, executor.owner_token)

        result = executor.submit(record, note_job(record.run_id, site, "x")).result(60)

        assert (result.outcome, result.proof, result.engine) == (Outcome.DONE, Proof.LOCAL, EngineName.BROWSER)
        stored = store.load(record.run_id)
        assert stored is not None
        assert stored.result == result
        assert site.posts == ["/records"]

    def test_runs_go_one_after_another(self, executor: WorkerExecutor, store: RunStore, site: Site) -> None:
        records = [reserved(store, executor.owner_token) for _ in range(3)]

        answers = [executor.submit(record, note_job(record.run_id, site, record.run_id)) for record in records]

        assert [answer.result(60).reason for answer in answers] == [Reason.SAVED_AND_CHECKED] * 3
        assert [record["note"] for record in site.records] == [record.run_id for record in records]

    def test_a_canceled_run_writes_nothing(self, executor: WorkerExecutor, store: RunStore, site: Site) -> None:
        hold = site.hold("/new")
        record = reserved(store, executor.owner_token)
        answer = executor.submit(record, note_job(record.run_id, site, "x"))
        assert hold.reached.wait(60)

        executor.cancel(record.run_id)
        hold.go.set()

        assert answer.result(60).reason is Reason.CANCELED
        assert site.posts == []

    def test_a_run_of_another_owner_is_not_taken(self, executor: WorkerExecutor, store: RunStore, site: Site) -> None:
        executor.warm_up()
        record = reserved(store, "f" * 32)

        with pytest.raises(EngineUnavailableError):
            executor.submit(record, note_job(record.run_id, site, "x"))
        assert site.posts == []

    def test_an_engine_that_cannot_start_says_why_and_a_closed_one_takes_nothing(
        self, folder: Path, store: RunStore, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(CHROMIUM_VARIABLE, "/nowhere/chromium")
        other = WorkerExecutor(folder, Mode.SANDBOX)
        record = reserved(store, other.owner_token)
        with pytest.raises(EngineUnavailableError) as refused:
            other.warm_up()
        other.close()

        with pytest.raises(EngineUnavailableError):
            other.submit(record, note_job(record.run_id, site, "x"))
        assert refused.value.checks == (FailedCheck.BROWSER_MISSING,)
        with pytest.raises(EngineUnavailableError):
            _ = other.owner_token


class TestDeadWorker:
    """The record of a worker that was killed says what that proves, and nothing runs on."""

    def killed_at(self, place: str, executor: WorkerExecutor, store: RunStore, site: Site) -> RunResult:
        """What a run comes to whose worker is killed while the site holds the request for this place."""
        executor.warm_up()
        hold = site.hold(place)
        token = executor.owner_token
        record = reserved(store, token)
        answer = executor.submit(record, note_job(record.run_id, site, "x"))
        assert hold.reached.wait(60)
        worker = worker_of(os.getpid())
        below = family(worker.number)

        os.kill(worker.number, signal.SIGKILL)

        with pytest.raises(WorkerGoneError):
            answer.result(60)
        result = unheard_of(store, record, SYSTEM_CLOCK, Mode.SANDBOX, EngineName.BROWSER)
        hold.go.set()
        assert below
        assert all_gone(below)
        return result

    def test_killed_before_the_boundary_it_wrote_nothing(
        self, executor: WorkerExecutor, store: RunStore, site: Site
    ) -> None:
        result = self.killed_at("/new", executor, store, site)

        assert result.reason is Reason.INTERRUPTED_BEFORE_SAVE
        assert (result.record_changed, result.safe_to_retry) == (RecordChanged.NO, True)
        assert site.posts == []

    def test_killed_after_the_boundary_it_may_have_written(
        self, executor: WorkerExecutor, store: RunStore, site: Site
    ) -> None:
        result = self.killed_at("POST /records", executor, store, site)

        assert result.reason is Reason.INTERRUPTED
        assert (result.record_changed, result.safe_to_retry) == (RecordChanged.UNKNOWN, False)
        assert site.posts == ["/records"]

    def test_the_next_run_has_a_new_worker_and_another_owner(
        self, executor: WorkerExecutor, folder: Path, store: RunStore, site: Site
    ) -> None:
        first = executor.owner_token
        worker = worker_of(os.getpid())
        os.kill(worker.number, signal.SIGKILL)
        # Its end is seen here first and by the executor a moment later; a run handed over in between is interrupted.
        assert all_gone((worker,))
        assert eventually(lambda: executor.owner_token != first)

        record = reserved(store, executor.owner_token)
        result = executor.submit(record, note_job(record.run_id, site, "x")).result(60)

        assert result.reason is Reason.SAVED_AND_CHECKED
        assert record.owner != first
        assert (is_alive(folder, first), is_alive(folder, record.owner)) == (False, True)


#: A parent that submits one run and then waits to be killed. Its last line says which run it is.
PARENT = """
    import sys
    import time
    from pathlib import Path

    from support.browser import NOTE_BUNDLE, reserved
    from surehand.core.outcome.result import Mode
    from surehand.shell.engines.base import AppTarget, Job
    from surehand.shell.engines.browser.executor import WorkerExecutor
    from surehand.shell.store import open_store

    folder, origin = Path(sys.argv[1]), sys.argv[2]
    store = open_store(folder)
    executor = WorkerExecutor(folder, Mode.SANDBOX)
    record = reserved(store, executor.owner_token)
    target = AppTarget(origin=origin, record_origin=origin)
    executor.submit(record, Job(run_id=record.run_id, bundle=NOTE_BUNDLE, inputs={"note": "x"}, target=target))
    print(record.run_id, flush=True)
    time.sleep(120)
"""


class TestEndOfTheParent:
    """When the parent dies, or a signal asks for the end: a run stops before its save, and is finished after it."""

    @pytest.mark.parametrize(
        ("place", "reason", "posts"),
        [("/new", Reason.CANCELED, []), ("POST /records", Reason.SAVED_AND_CHECKED, ["/records"])],
        ids=["before", "after"],
    )
    def test_the_death_of_the_parent_loses_no_truth(  # noqa: PLR0913, PLR0917 - fixtures, and one case
        self, folder: Path, store: RunStore, site: Site, place: str, reason: Reason, posts: list[str]
    ) -> None:
        hold = site.hold(place)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PARENT), str(folder), site.origin],
            stdout=subprocess.PIPE,
            env=environment,
        ) as parent:
            assert parent.stdout is not None
            run_id = parent.stdout.readline().decode().strip()
            assert hold.reached.wait(60)
            below = family(parent.pid)
            parent.kill()
        hold.go.set()

        assert eventually(lambda: phase(store, run_id) is Phase.FINISHED)
        assert all_gone(below)
        stored = store.load(run_id)
        assert stored is not None
        assert stored.result is not None
        assert (stored.result.reason, site.posts) == (reason, posts)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_the_worker_in_order(
        self, executor: WorkerExecutor, store: RunStore, site: Site, number: signal.Signals
    ) -> None:
        hold = site.hold("/new")
        record = reserved(store, executor.owner_token)
        answer = executor.submit(record, note_job(record.run_id, site, "x"))
        assert hold.reached.wait(60)
        worker = worker_of(os.getpid())
        all_of_it = (worker, *family(worker.number))

        os.kill(worker.number, number)
        hold.go.set()

        assert answer.result(60).reason is Reason.CANCELED
        assert all_gone(all_of_it)
        assert site.posts == []


def phase(store: RunStore, run_id: str) -> Phase | None:
    """Where a run stands."""
    record = store.load(run_id)
    return None if record is None else record.phase
