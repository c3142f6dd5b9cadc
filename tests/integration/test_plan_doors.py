"""Plans at the command line and over MCP, on the sandbox's workflow."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from support.mcp_clients import Json, RawClient, environment, result_of_answer, structured
from support.sampling import plans_in
from surehand.core.modes import Flags, Row, choose
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES

PLAN: Final = Path(__file__).parents[2] / "docs" / "how-to" / "plans" / "triage_two_notes.toml"
BY_MODEL: Final = ("--goals-by-client-model",)
READERS: Final = ("list", "show", "cancel", "graph")
CANARY: Final = "canary 4711 of a note"

#: What the first note comes to, by the sandbox's case: the whole, and how many steps were gone through.
CASES: Final = [
    ("normal", "done", "yes", 3),
    ("duplicate_record", "needs_review", "no", 2),
    ("false_saved_banner", "not_sure_if_saved", "unknown", 2),
    ("app_offline", "did_not_run", "no", 2),
]

Surehand = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def surehand(tmp_path: Path) -> Surehand:
    """The command, over one folder."""

    def call(*arguments: str, inputs: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        program = str(Path(sys.executable).parent / "surehand")
        runs_nothing = arguments[0] in READERS or "--sandbox-engine" in arguments
        engine = () if runs_nothing else ("--sandbox-engine", "simulated")
        options = ["--runs-dir", str(tmp_path / "runs"), *engine]
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        given = None if inputs is None else json.dumps(inputs)
        return subprocess.run(
            [program, "plan", *arguments, *options],
            input=given,
            capture_output=True,
            text=True,
            env=environ,
            check=False,
        )

    return call


def inputs(case: str) -> dict[str, str]:
    """What the plan takes."""
    return {"note": CANARY, "sandbox_case": case}


def told(done: subprocess.CompletedProcess[str]) -> Any:  # noqa: ANN401 - parsed JSON
    """What was printed as JSON."""
    return json.loads(done.stdout)


class TestAPlanIsRunFromTheCommandLine:
    """The weakest step decides what the whole is told as, and the same request id is the same run."""

    @pytest.mark.parametrize(("case", "outcome", "changed", "steps"), CASES)
    def test_to_its_end(self, surehand: Surehand, case: str, outcome: str, changed: str, steps: int) -> None:
        run = ("run", str(PLAN), "--inputs", "-", "--request-id", "r1", "--json")
        first, again = surehand(*run, inputs=inputs(case)), surehand(*run, inputs=inputs(case))
        answer = told(first)

        assert (outcome, changed, steps) == (answer["outcome"], answer["record_changed"], len(answer["steps"]))
        assert answer == told(again)
        codes = {"done": 0, "needs_review": 3, "not_sure_if_saved": 4, "did_not_run": 5}
        assert codes[outcome] == first.returncode == again.returncode
        assert CANARY not in first.stdout + first.stderr

    def test_a_request_id_with_other_inputs_begins_nothing(self, surehand: Surehand) -> None:
        run = ("run", str(PLAN), "--inputs", "-", "--request-id", "r1", "--json")
        surehand(*run, inputs=inputs("normal"))
        other = told(surehand(*run, inputs=inputs("app_offline")))

        assert ("did_not_run", "unknown", "request_id_conflict") == (
            other["outcome"],
            other["record_changed"],
            other["refused"],
        )
        assert 1 == len(told(surehand("list", "--json")))

    def test_it_is_listed_shown_and_drawn(self, surehand: Surehand) -> None:
        run_id = told(
            surehand("run", str(PLAN), "--inputs", "-", "--request-id", "r1", "--json", inputs=inputs("normal"))
        )["plan_run_id"]

        assert [(run_id, "completed", "done")] == [
            (each["plan_run_id"], each["status"], each["outcome"]) for each in told(surehand("list", "--json"))
        ]
        assert "done" == told(surehand("show", run_id, "--json"))["outcome"]
        assert "done" == told(surehand("resume", run_id, "--json"))["outcome"]
        assert "linkStyle 0,2,4" in surehand("graph", run_id).stdout
        assert surehand("graph", str(PLAN)).stdout.startswith("flowchart TD\n")
        assert 1 == surehand("cancel", run_id).returncode

    def test_the_list_tells_how_each_came_out(self, surehand: Surehand) -> None:
        for case, *_ in CASES:
            surehand("run", str(PLAN), "--inputs", "-", "--request-id", f"r-{case}", inputs=inputs(case))
        lines = surehand("list").stdout.splitlines()

        assert [outcome for _, outcome, *_ in CASES] == [line.split()[2] for line in reversed(lines)]

    def test_asking_makes_nothing(self, surehand: Surehand, tmp_path: Path) -> None:
        unknown = "plan_" + "0" * 32

        assert [0, 1, 1, 1] == [
            surehand(*each).returncode for each in (["list"], *([name, unknown] for name in READERS[1:]))
        ]
        assert [] == list(tmp_path.iterdir())

    def test_what_is_not_known_is_said(self, surehand: Surehand) -> None:
        unknown = "plan_" + "0" * 32

        assert [1, 5, 1] == [surehand(name, unknown).returncode for name in ("show", "resume", "cancel")]
        assert 2 == surehand("run", "nowhere.toml", "--request-id", "r").returncode

    def test_every_fault_is_told_at_its_place(self, surehand: Surehand, tmp_path: Path) -> None:
        file = tmp_path / "wrong.toml"
        file.write_text(PLAN.read_text().replace('on_true = "follow_up"', 'on_true = "nowhere"'))
        checked = surehand("check", str(file), "--json")

        assert 1 == checked.returncode
        assert {"path": "steps.1.on_true", "problem": "unknown_step"} in told(checked)["faults"]
        assert 0 == surehand("check", str(PLAN)).returncode


class TestAPlanWithAGoalIsCheckedAsItIsServed:
    """It lacks a task runner here, and has one where a server lets its client's model work on goals in an app."""

    def test_in_the_sandbox(self, surehand: Surehand, tmp_path: Path) -> None:
        file = plans_in(tmp_path / "plans") / "find_then_note.toml"
        alone, simulated = surehand("check", str(file), "--json"), surehand("check", str(file), *BY_MODEL, "--json")
        in_browser = surehand("check", str(file), *BY_MODEL, "--json", "--sandbox-engine", "browser")

        faults = [{"path": "steps.0", "problem": "no_task_runner"}]
        assert [(1, faults), (1, faults)] == [(each.returncode, told(each)["faults"]) for each in (alone, simulated)]
        assert (0, []) == (in_browser.returncode, told(in_browser)["faults"])


def serve(folder: Path, plans: Path) -> list[str]:
    """The command that a client would configure."""
    surehand = str(Path(sys.executable).parent / "surehand")
    runs = ["--runs-dir", str(folder / "runs")]
    return [surehand, "serve", "--sandbox-engine", "simulated", "--plans", str(plans), *runs]


def start(case: str, request_id: str, **more: object) -> Json:
    """Arguments of ``start_plan``."""
    return {"plan": "triage_two_notes", "inputs": inputs(case), "request_id": request_id, "wait_seconds": 60, **more}


class TestAPlanIsStartedOverMcp:
    """Three tools where something may run; answers are bounded, and hold no value."""

    def test_all_of_it(self, tmp_path: Path) -> None:
        with RawClient(serve(tmp_path, PLAN.parent), environment()) as client:
            client.handshake()
            row = choose(Flags(plans=True))
            assert isinstance(row, Row)
            tools = result_of_answer(client.request("tools/list"))["tools"]
            assert [name.value for name in row.tools] == [tool["name"] for tool in tools]

            (card,) = structured(client.call("list_plans", {}))["plans"]
            assert ("triage_two_notes", 3, 0) == (card["plan"], card["steps"], card["problems"])

            for case, outcome, changed, steps in CASES:
                answer = structured(client.call("start_plan", start(case, f"r-{case}")))
                assert (outcome, changed, steps) == (answer["outcome"], answer["record_changed"], len(answer["steps"]))
                assert CANARY not in json.dumps(answer)
                assert len(json.dumps(answer)) < MAX_ANSWER_BYTES
                assert answer == structured(client.call("start_plan", start(case, f"r-{case}")))
                assert answer == structured(client.call("get_plan_run", {"plan_run_id": answer["plan_run_id"]}))

    def test_what_cannot_be_started_is_refused_by_name(self, tmp_path: Path) -> None:
        with RawClient(serve(tmp_path, PLAN.parent), environment()) as client:
            client.handshake()
            others: list[Json] = [{"plan": CANARY}, {"inputs": {"note": CANARY}}, {"inputs": {}}]
            calls = [start("normal", "r1", **other) for other in others]
            refused = [structured(client.call("start_plan", each))["refused"] for each in calls]
            assert ["unknown_definition", "invalid_input", "invalid_input"] == refused

            for arguments in (start("normal", "not a request id"), start("normal", "r1", inputs={"note": 1})):
                answer = client.call("start_plan", arguments)
                assert answer["isError"]
                assert CANARY not in json.dumps(answer)
            assert client.call("get_plan_run", {"plan_run_id": "plan_" + "0" * 32})["isError"]

    def test_files_that_are_no_plans_are_counted(self, tmp_path: Path) -> None:
        plans = tmp_path / "plans"
        plans.mkdir()
        (plans / "a.toml").write_text(PLAN.read_text().replace("add_triage_note", "gone_workflow"))
        (plans / "b.toml").write_text("=")
        with RawClient(serve(tmp_path, plans), environment()) as client:
            client.handshake()
            listed = structured(client.call("list_plans", {}))

            assert (1, [2]) == (listed["unreadable_files"], [each["problems"] for each in listed["plans"]])
            refused = structured(client.call("start_plan", start("normal", "r1")))
            assert ("did_not_run", "invalid_definition") == (refused["outcome"], refused["refused"])

    def test_a_run_that_its_server_left_is_taken_up_by_the_same_call(self, tmp_path: Path) -> None:
        waiting = tmp_path / "plans"
        waiting.mkdir()
        (waiting / "wait.toml").write_text(_WAITING)
        nothing: Json = {}
        asked: Json = {"plan": "wait_then_note", "inputs": nothing, "request_id": "r1", "wait_seconds": 0}
        with RawClient(serve(tmp_path, waiting), environment()) as client:
            client.handshake()
            first = structured(client.call("start_plan", asked))
            assert "running" == first["outcome"]
            client.end_input()
            client.exit_code()

        with RawClient(serve(tmp_path, waiting), environment()) as client:
            client.handshake()
            again = structured(client.call("start_plan", {**asked, "wait_seconds": 60}, patience=90))

        assert (first["plan_run_id"], "done") == (again["plan_run_id"], again["outcome"])
        assert ["moment", "note"] == [step["step"] for step in again["steps"]]


_WAITING: Final = """\
schema = "surehand.plan/v1"
definition_id = "wait_then_note"
title = "Wait, then add a note"

[[steps]]
kind = "wait_for_condition_step"
step_id = "moment"
condition = { kind = "elapsed_seconds", params = { seconds = 3 } }

[[steps]]
kind = "skill_invocation_step"
step_id = "note"
skill_id = "add_triage_note"
args = { note = "Synthetic.", sandbox_case = "normal" }
"""
