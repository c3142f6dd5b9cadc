"""What is kept of plans for ever, what a person may drop, and a file of plans that was copied or restored.

Laws:

- A file that was restored begins and takes up nothing until it is taken over.
- What a taken-over file has forgotten is done by nobody a second time.
- What runs were given and found can be dropped; that they ran, and what they came to, never is.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from support.plans import (
    App,
    CrashError,
    Fate,
    VirtualClock,
    around,
    crashing,
    definition,
    template,
    wait,
    write,
)
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.report import plan_result
from surehand.core.orchestration.run import RunStatus, WorkflowRun
from surehand.core.orchestration.task import port_of
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.shell.cli.app import surehand
from surehand.shell.orchestration import rows
from surehand.shell.orchestration.retention import GOALS, PrunedPlans, prune_plans
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.schema import APPLICATION_ID, MIGRATIONS
from surehand.shell.orchestration.store import Accepted, PlanStore
from surehand.shell.store import sqlite_file
from surehand.shell.store.base import StoreError, StoreRestoredError
from surehand.shell.store.sqlite_file import FileKind, SqliteFile

PLAN = definition(write("a"), write("b"))
CANARY = "canary 4711 of a plan"

#: A time before and one after everything that the virtual clock dates.
BEFORE, AFTER = VirtualClock().now(), VirtualClock().now() + 1


def through(folder: Path, app: App, plan: WorkflowDefinition = PLAN, request_id: str = "entry-1") -> WorkflowRun:
    """A run that came to its end."""
    with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
        run = runner.run(plan, request_id=request_id)
        assert isinstance(run, WorkflowRun), run
        told = runner.resume(run.id)
    assert isinstance(told, WorkflowRun), told
    return told


def set_back(folder: Path, app: App, plan: WorkflowDefinition = PLAN) -> str:
    """A file of plans that is set back to when a run had just begun; another one began after that."""
    app.fates = [Fate.DIES_BEFORE]
    with (
        crashing(WorkflowRunner(folder, around(app, VirtualClock())), folder, app) as runner,
        pytest.raises(CrashError),
    ):
        runner.run(plan, request_id="entry-1")
    shutil.copy(folder / "plans.db", folder.with_suffix(".backup"))
    run_id = through(folder, app, plan).id
    through(folder, app, plan, "entry-2")
    shutil.copyfile(folder.with_suffix(".backup"), folder / "plans.db")
    return run_id


def taken_over(folder: Path) -> Accepted:
    """The file after it was taken over."""
    with closing(PlanStore.open(folder, restored=True)) as store:
        return store.accept_restored()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the plans lie."""
    return tmp_path / "plans"


class TestARestoredFile:
    """It refuses until it is taken over; then nothing that it forgot is done a second time."""

    def test_it_refuses(self, folder: Path) -> None:
        app = App()
        run_id = set_back(folder, app)
        before = dict(app.effects)
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.STORE_UNAVAILABLE) == runner.resume(run_id)
            assert RunRefused(code=PlanRefusal.STORE_UNAVAILABLE) == runner.run(PLAN)
            with pytest.raises(StoreRestoredError):
                runner.runs()
        assert before == dict(app.effects)

    def test_what_the_ledger_knows_is_taken(self, folder: Path) -> None:
        app = App()
        run_id = set_back(folder, app)
        before = dict(app.effects)

        assert Accepted(epoch=2, going_on=1, lost=1) == taken_over(folder)
        run = through(folder, app)
        assert (run_id, RunStatus.COMPLETED, before) == (run.id, run.status, dict(app.effects))

    def test_what_the_ledger_does_not_know_is_left_to_a_person(self, folder: Path) -> None:
        app = App()
        set_back(folder, app)
        before, app.ends = dict(app.effects), {}
        taken_over(folder)
        run = through(folder, app)

        assert (RunStatus.NEEDS_PERSON, "a", before) == (run.status, run.current_step_id, dict(app.effects))

    def test_one_that_is_not_marked_does_it_twice(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        app = App()
        set_back(folder, app)
        app.ends = {}
        for name in ("mark_restored", "unmarked"):
            monkeypatch.setattr(rows, name, none)
        taken_over(folder)
        run = through(folder, app)

        assert (RunStatus.COMPLETED, 2) == (run.status, app.effects[f"{run.id}.a.1"])

    def test_a_tool_that_cannot_tell_is_not_called_again(self, folder: Path) -> None:
        app = App()
        set_back(folder, app, definition(template("a")))
        before = dict(app.effects)
        taken_over(folder)
        run = through(folder, app, definition(template("a")))

        assert (RunStatus.NEEDS_PERSON, before) == (run.status, dict(app.effects))

    def test_a_request_that_it_lost_begins_nothing(self, folder: Path) -> None:
        app = App()
        set_back(folder, app)
        before = dict(app.effects)
        taken_over(folder)
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            refused = runner.run(PLAN, request_id="entry-2")
            assert isinstance(runner.run(PLAN, request_id="entry-3"), WorkflowRun)
        told = plan_result(refused)

        assert RunRefused(code=PlanRefusal.FORGOTTEN) == refused
        assert (Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN) == (told.outcome, told.record_changed)
        assert before.items() <= dict(app.effects).items()

    def test_taking_over_can_be_repeated(self, folder: Path) -> None:
        set_back(folder, App())

        assert [Accepted(2, 1, 1), Accepted(3, 0, 0)] == [taken_over(folder), taken_over(folder)]

    def test_a_file_that_is_gone(self, folder: Path) -> None:
        app = App()
        through(folder, app)
        (folder / "plans.db").unlink()
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.STORE_UNAVAILABLE) == runner.run(PLAN, request_id="entry-1")

        assert Accepted(epoch=2, going_on=0, lost=1) == taken_over(folder)
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            assert RunRefused(code=PlanRefusal.FORGOTTEN) == runner.run(PLAN, request_id="entry-1")

    def test_who_used_it_before_is_cut_off(self, folder: Path) -> None:
        app = App()
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            runner.run(PLAN)
            before = dict(app.effects)
            taken_over(folder)
            assert RunRefused(code=PlanRefusal.STORE_UNAVAILABLE) == runner.run(PLAN)
        assert before == dict(app.effects)

    def test_at_the_command_line(self, tmp_path: Path) -> None:
        set_back(tmp_path / "surehand" / "plans", App())
        call = ["plan", "accept-restored", "--runs-dir", str(tmp_path)]
        listed = ["plan", "list", "--json", "--runs-dir", str(tmp_path)]
        before = CliRunner().invoke(surehand, listed)
        declined = CliRunner().invoke(surehand, call, input="n\n")
        taken = CliRunner().invoke(surehand, [*call, "--yes", "--json"])
        after = CliRunner().invoke(surehand, listed)

        assert (1, 1) == (before.exit_code, declined.exit_code)
        assert (0, {"epoch": 2, "going_on": 1, "lost": 1}) == (taken.exit_code, json.loads(taken.output))
        assert (0, 1) == (after.exit_code, len(json.loads(after.output)))


class TestAWishForARunThatWasLeft:
    """A person is told that nobody goes through it, so that it stops when it is taken up."""

    def test_at_the_command_line(self, tmp_path: Path) -> None:
        folder, app = tmp_path / "surehand" / "plans", App(fates=[Fate.DIES_BEFORE])
        with crashing(WorkflowRunner(folder, around(app, VirtualClock())), folder, app) as runner:
            with pytest.raises(CrashError):
                runner.run(PLAN)
            run_id = runner.runs(1)[0].run_id
        call = ["plan", "cancel", run_id, "--runs-dir", str(tmp_path)]
        told = [CliRunner().invoke(surehand, [*call, *more]) for more in ([], ["--json"])]

        assert (0, True) == (told[0].exit_code, "surehand plan resume" in told[0].output)
        assert {"wished": True, "is_gone_through": False} == json.loads(told[1].output)
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            run = runner.resume(run_id)
        assert isinstance(run, WorkflowRun)
        assert (RunStatus.CANCELED, 0) == (run.status, sum(app.effects.values()))


class TestOlderFiles:
    """A file of the first version is brought to this one, and its runs go on."""

    def test_it_is_migrated(self, folder: Path) -> None:
        kind = FileKind(name="plans", application_id=APPLICATION_ID, migrations=MIGRATIONS[:1])
        with closing(SqliteFile(folder, kind)) as file:
            file.open()

        assert RunStatus.COMPLETED is through(folder, App()).status


class TestDropping:
    """What an old run was given and found is gone from the disk, and its request gets the answer that it got."""

    NOTED = evolve(
        definition(template("a"), write("b"), wait("c")),
        parameters=(Parameter(name="note", type=ParameterType.LINE, title="Note"),),
    )

    def ran(self, folder: Path, request_id: str = "entry-1") -> WorkflowRun:
        """A run that was given something."""
        with WorkflowRunner(folder, around(App(), VirtualClock())) as runner:
            run = runner.run(self.NOTED, {"note": CANARY}, request_id)
        assert isinstance(run, WorkflowRun), run
        return run

    def test_the_values_are_gone_and_the_answer_is_not(self, folder: Path) -> None:
        before = self.ran(folder)
        assert holding(folder, CANARY)
        with closing(PlanStore.open(folder)) as store:
            assert (1, 1, 0) == (store.old(AFTER), store.drop_values(AFTER), store.old(AFTER))
            assert not holding(folder, CANARY)
        after = self.ran(folder)

        assert plan_result(before) == plan_result(after)
        assert [evolve(each.end, outputs=()) for each in before.step_results] == [
            each.end for each in after.step_results
        ]
        with WorkflowRunner(folder, around(App(), VirtualClock())) as runner:
            other = runner.run(self.NOTED, {"note": "another"}, "entry-1")
        assert RunRefused(code=PlanRefusal.REQUEST_ID_CONFLICT) == other

    def test_what_is_young_or_goes_on_keeps_them(self, folder: Path) -> None:
        app = App(fates=[Fate.LIVES, Fate.DIES_BEFORE])
        self.ran(folder)
        with crashing(WorkflowRunner(folder, around(app, VirtualClock())), folder, app) as runner:
            with pytest.raises(CrashError):
                runner.run(self.NOTED, {"note": "of one that goes on"}, "entry-2")
            run_id = runner.runs(1)[0].run_id
        with closing(PlanStore.open(folder)) as store:
            assert (0, 1) == (store.drop_values(BEFORE), store.drop_values(AFTER))
        assert holding(folder, "of one that goes on")
        with WorkflowRunner(folder, around(app, VirtualClock())) as runner:
            assert isinstance(runner.resume(run_id), WorkflowRun)

    def test_journals_of_goals_but_that_of_one_at_work(self, tmp_path: Path, folder: Path) -> None:
        app = App(fates=[Fate.DIES_BEFORE])
        with crashing(WorkflowRunner(folder, around(app, VirtualClock())), folder, app) as runner:
            with pytest.raises(CrashError):
                runner.run(definition(write("a")))
            run_id = runner.runs(1)[0].run_id
        journals = tmp_path / GOALS
        journals.mkdir()
        kept = [f"{port_of(f'{run_id}.a.1')}-00000000.jsonl", "another.jsonl"]
        for name in (*kept, f"{port_of('plan.a.1')}-00000000.jsonl"):
            (journals / name).touch()
            os.utime(journals / name, (BEFORE, BEFORE))
        with closing(PlanStore.open(folder)) as store:
            told = [
                prune_plans(store, tmp_path, before, dry_run=dry_run)
                for before, dry_run in ((BEFORE, False), (AFTER, True), (AFTER, False), (AFTER, False))
            ]

        assert [PrunedPlans(0, number) for number in (0, 1, 1, 0)] == told
        assert sorted(kept) == sorted(path.name for path in journals.iterdir())

    def test_at_the_command_line(self, tmp_path: Path) -> None:
        call = ["plan", "prune", "--older-than", "30", "--json", "--runs-dir", str(tmp_path)]
        assert 1 == CliRunner().invoke(surehand, call).exit_code
        self.ran(tmp_path / "surehand" / "plans")

        for more, dropped in ((["--dry-run"], 1), ([], 1), ([], 0)):
            told = json.loads(CliRunner().invoke(surehand, [*call, *more]).output)
            assert {"runs": dropped, "journals": 0, "dry_run": bool(more)} == told

    def test_a_file_that_is_in_use_refuses_and_it_can_be_repeated(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.ran(folder)
        monkeypatch.setattr(sqlite_file, "_BUSY_SECONDS", 0.1)
        with closing(PlanStore.open(folder)) as store, closing(PlanStore.open(folder)) as other:
            other._file.read(begins_to_read)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - one who reads long
            with pytest.raises(StoreError):
                store.drop_values(AFTER)
            other.close()
            assert 0 == store.drop_values(AFTER)
            assert not holding(folder, CANARY)


def none(_link: sqlite3.Connection) -> int:
    """Find none, whatever there is."""
    return 0


def begins_to_read(link: sqlite3.Connection) -> None:
    """Begin to read, and do not end."""
    link.execute("BEGIN")
    link.execute("SELECT count(*) FROM workflow_runs").fetchone()


def holding(folder: Path, text: str) -> list[str]:
    """The files that hold a text."""
    return [path.name for path in files_below(folder) if text.encode() in path.read_bytes()]


def files_below(folder: Path) -> Iterator[Path]:
    """Every file of a folder."""
    return (path for path in folder.rglob("*") if path.is_file())
