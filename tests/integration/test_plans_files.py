"""The files of plans: definitions as authors write them, and the store as it lies on disk.

Laws:

- A file that is no plan is told with its faults, and is in the way of no other.
- What must never change in the store cannot be changed, by whoever has the file open.
- Folders are 0700 and files 0600.
"""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from support.plans import App, VirtualClock, around, definition, wait, write
from surehand.core.orchestration.check import DefinitionFault, DefinitionProblem
from surehand.core.orchestration.run import WorkflowRun
from surehand.core.wire import to_wire
from surehand.shell.orchestration.loader import LARGEST_DEFINITION, DefinitionError, PlanFolder, load_definition
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.store import PlanStore
from surehand.shell.store.base import StoreCorruptError, StoreError

TOML = """
schema = "surehand.plan/v1"
definition_id = "settle"
title = "Wait a moment"

[[steps]]
kind = "wait_for_condition_step"
step_id = "moment"
condition = { kind = "elapsed_seconds", params = { seconds = 1 } }
"""


class TestDefinitions:
    """A definition is read from TOML or JSON, strictly."""

    def test_both_forms_are_the_same(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text(TOML)
        read = load_definition(tmp_path / "a.toml")
        (tmp_path / "a.json").write_text(json.dumps(to_wire(read)))

        assert read == load_definition(tmp_path / "a.json")

    @pytest.mark.parametrize(
        ("name", "content"),
        [("a.toml", b"="), ("a.json", b"{"), ("a.toml", b"\xff"), ("a.yaml", b""), ("a.json", b"[" * 100_000)],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, name: str, content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DefinitionError):
            load_definition(tmp_path / name)

    def test_what_is_too_large(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text(TOML + "#" * LARGEST_DEFINITION)
        with pytest.raises(DefinitionError):
            load_definition(tmp_path / "a.toml")

    def test_faults_are_told_with_their_places(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text(TOML.replace("seconds = 1", "seconds = 1.5"))
        with pytest.raises(DefinitionError, match=r"steps\.0\.condition\.params\.seconds wrong_type") as told:
            load_definition(tmp_path / "a.toml")

        place = ("steps", 0, "condition", "params", "seconds")
        assert (DefinitionFault(place, DefinitionProblem.WRONG_TYPE),) == told.value.faults

    def test_a_folder_lists_what_is_no_plan_beside_the_others(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text(TOML)
        (tmp_path / "b.toml").write_text("=")
        (tmp_path / "c.toml").write_text(TOML)
        (tmp_path / "notes.txt").write_text("x")
        folder = PlanFolder(tmp_path)

        assert [("a.toml", True), ("b.toml", False), ("c.toml", False)] == [
            (each.name, each.definition is not None) for each in folder.files()
        ]
        assert load_definition(tmp_path / "a.toml") == folder.find("settle")
        assert folder.find("other") is None

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        assert PlanFolder(tmp_path / "no").find("settle") is None
        with pytest.raises(DefinitionError):
            PlanFolder(tmp_path / "no").files()


class TestStore:
    """What is kept is kept as it was, private, and guarded by the file itself."""

    @staticmethod
    def filled(folder: Path) -> WorkflowRun:
        """A store with one run that ended."""
        with WorkflowRunner(folder, around(App(), VirtualClock())) as runner:
            run = runner.run(definition(write("a"), wait("b")))
        assert isinstance(run, WorkflowRun)
        return run

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM workflow_runs",
            "UPDATE workflow_runs SET status = 'running', current_step_id = 'a'",
            "UPDATE workflow_runs SET lease = 0",
            "DELETE FROM workflow_step_results",
            "UPDATE workflow_step_results SET outcome = 'did_not_run', failure = 'x'",
            "DELETE FROM workflow_definitions",
            "UPDATE workflow_definitions SET pinned = ''",
        ],
    )
    def test_what_must_never_change(self, tmp_path: Path, statement: str) -> None:
        self.filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / "plans.db")) as link, pytest.raises(sqlite3.IntegrityError):
            link.execute(statement)

    def test_files_are_private(self, tmp_path: Path) -> None:
        self.filled(tmp_path / "plans")

        assert 0o700 == stat.S_IMODE((tmp_path / "plans").stat().st_mode)
        assert {0o600} == {
            stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "plans").iterdir() if path.is_file()
        }

    def test_nothing_is_pickled(self, tmp_path: Path) -> None:
        run = self.filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / "plans.db")) as link:
            texts = [
                row[0]
                for row in link.execute("SELECT pinned FROM workflow_definitions UNION SELECT state FROM workflow_runs")
            ]

        assert all(isinstance(json.loads(text), dict) for text in texts)
        with closing(PlanStore.open(tmp_path, read_only=True)) as store:
            kept = store.load(run.id)
        assert kept is not None
        assert run == kept.run

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE workflow_runs SET state = '{}'",
            "UPDATE workflow_runs SET state = '['",
            "UPDATE workflow_runs SET steps = 3",
            (
                "INSERT INTO workflow_step_results "
                "SELECT run_id, 9, 'a', 9, 'done', 'no', NULL, NULL, '{}', NULL FROM workflow_runs"
            ),
        ],
    )
    def test_a_run_that_contradicts_itself_is_damage(self, tmp_path: Path, statement: str) -> None:
        run = self.filled(tmp_path)
        with closing(sqlite3.connect(tmp_path / "plans.db")) as link:
            guard = "SELECT sql FROM sqlite_schema WHERE name = 'runs_end_once'"
            ((trigger,),) = link.execute(guard).fetchall()
            link.execute("DROP TRIGGER runs_end_once")
            link.execute(statement)
            link.execute(trigger)
            link.commit()
        harmless = statement.startswith("INSERT")
        with closing(PlanStore.open(tmp_path)) as store:
            if harmless:  # nothing is read that the run's own row does not count
                kept = store.load(run.id)
                assert kept is not None
                assert run == kept.run
            else:
                with pytest.raises(StoreCorruptError):
                    store.load(run.id)

    def test_a_store_that_is_not_there_is_not_made_for_reading(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError):
            PlanStore.open(tmp_path, read_only=True)
        assert [] == list(tmp_path.iterdir())
