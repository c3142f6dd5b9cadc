"""Goals of plans by the client's model in a real browser, with the official clients of both generations.

Laws:

- A model finds the referral on the pages of the clinic, the plan's next step saves, and the plan branches on that.
- No write leaves while a model works on a goal, whatever it decides.
- A server that ends while a question is open ends at once, and the run is taken up where it stood.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from support.browser import eventually, family
from support.goals import clinic, journals
from support.mcp_clients import Json, environment, python_of
from support.planning import FOUND, PATIENT, plan_step
from support.sampling import LONG, SHORTER, HandshakeTalk, decides, plans_in, start, talking
from support.serving import note_bundle, put, served
from surehand.core.modes import ROWS, Start
from surehand.core.orchestration.goals import NoAnswer
from surehand.core.orchestration.prompt import Prompt, Shown
from surehand.core.orchestration.task import Task
from surehand.core.orchestration.text import bound
from surehand.core.outcome.reasons import RecordChanged
from surehand.shell.assembly import build_service
from surehand.shell.config import settings
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.orchestration.goals import BrowserTaskRunner
from surehand.shell.orchestration.models import ModelPlanner
from surehand.shell.orchestration.places import Place, place_of, task_runner
from surehand.shell.sandbox.workflow import sandbox_bundle

CLIENT: Final = str(Path(__file__).resolve().parents[1] / "support" / "planning.py")

#: Long waits for what does come, also on a busy machine.
PATIENT_LIMITS: Final = Limits(wait_ms=20_000, fresh_ms=60_000, rest_ms=20_000)


def serve(tmp_path: Path, shown: str) -> list[str]:
    """The command that a client would configure."""
    surehand = str(Path(sys.executable).parent / "surehand")
    plans = ["--plans", str(plans_in(tmp_path / "plans", SHORTER)), "--goals-by-client-model", shown]
    return [surehand, "serve", "--sandbox-engine", "browser", "--runs-dir", str(tmp_path / "runs"), *plans]


class TestAModelFindsWhatTheNextStepEnters:
    """Over stdio, on the clinic's real pages, through the official clients."""

    @pytest.mark.timeout(900)
    @pytest.mark.parametrize(("client", "mode", "shown"), [("mcp 1", "legacy", "pages"), ("mcp 2", "auto", "names")])
    def test_in_a_plan(self, tmp_path: Path, client: str, mode: str, shown: str) -> None:
        python = python_of(client)
        command = [python, CLIENT, mode, *serve(tmp_path, shown)]
        ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=900, check=False)
        assert ended.returncode == 0, ended.stderr
        seen: dict[str, Any] = json.loads(ended.stdout)
        answer: Json = seen["answer"]

        assert ("done", "yes", "completed") == (answer["outcome"], answer["record_changed"], answer["status"])
        assert [("find", "no"), ("note", "yes"), ("was_it_saved", "no")] == [
            (step["step"], step["record_changed"]) for step in answer["steps"]
        ]
        assert (shown == "pages") is (PATIENT in json.dumps(seen["prompts"]))
        assert (shown == "pages") is (FOUND in json.dumps(seen["prompts"]))
        assert PATIENT not in json.dumps(answer)


class TestNoWriteLeaves:
    """A model that opens the form of a note and saves it ends the goal, and the clinic stores nothing."""

    def test_whatever_it_decides(self, tmp_path: Path) -> None:
        steps = iter(
            (("link", "Add triage note", None), ("textbox", "Note", "Never to be stored"), ("button", "Save", None))
        )

        def model(asked: Prompt) -> str | NoAnswer:
            shown: Json = json.loads(asked.text)
            if len(shown["done_so_far"]) < 4:
                return json.dumps({"action": plan_step(shown)})
            role, name, text = next(steps)
            nodes: list[Json] = shown["page"]["nodes"]
            node = next(each["id"] for each in nodes if (each["role"], each.get("name")) == (role, name))
            typed: Json = {"kind": "click_node"} if text is None else {"kind": "type_text", "text": text}
            return json.dumps({"action": {**typed, "node": node}})

        planner = ModelPlanner(model, shown=Shown.PAGES)
        with clinic() as (target, oracle):
            before = oracle.notes()
            runner = BrowserTaskRunner(
                target.origin,
                planner,
                journals(tmp_path),
                harmless_writes=sandbox_bundle().harmless_writes,
                limits=PATIENT_LIMITS,
            )
            task = runner.run(Task(id="plan_1.find.1", goal="Save a note.", variables=bound({"patient": PATIENT})))

            assert ("write_stopped", RecordChanged.NO, before) == (
                task.failure_reason,
                task.record_changed,
                oracle.notes(),
            )


class TestAServerThatEndsWhileAQuestionIsOpen:
    """It ends and leaves nothing running; the same call takes the run up: the goal is proven to have sent nothing."""

    def test_and_is_started_again(self, tmp_path: Path) -> None:
        with talking("handshake", serve(tmp_path, "names")) as talk:
            assert isinstance(talk, HandshakeTalk)
            talk.client.begin_call("start_plan", start("r-1", PATIENT))
            while (said := talk.client.next(LONG)) is None or said.get("method") != "sampling/createMessage":
                continue
            left = family(talk.client.process.pid)
            talk.client.end_input()
            assert 0 == talk.client.exit_code(60)
        assert left
        assert eventually(lambda: not any(each.is_alive for each in left), 60)

        with talking("handshake", serve(tmp_path, "names")) as talk:
            answer = talk.call("start_plan", start("r-1", PATIENT), lambda _: decides(kind="give_up"))

        assert ("did_not_run", [("find", "task_failed", "gave_up")]) == (
            answer["outcome"],
            [(step["step"], step["failure"], step["code"]) for step in answer["steps"]],
        )


class TestWhereGoalsAreWorkedOn:
    """In the one app of what is served, or in the one that the operator names; with its harmless writes alone."""

    def place(self, tmp_path: Path, named: str | None = None, **origins: str) -> Place | None:
        """The place of goals where workflows of these apps are served."""
        folder = tmp_path / "bundles"
        folder.mkdir()
        for workflow, origin in origins.items():
            put(folder, note_bundle(origin, workflow))
        chosen = served(tmp_path / "runs", folder)
        service = build_service(chosen, ROWS[Start.PRODUCTION])
        try:
            return place_of(service, chosen, named)
        finally:
            service.close()

    def test_one_app(self, tmp_path: Path) -> None:
        place = self.place(tmp_path, one="http://a.example", other="http://a.example")

        assert Place("http://a.example", note_bundle().harmless_writes) == place

    def test_several_apps(self, tmp_path: Path) -> None:
        assert self.place(tmp_path, one="http://a.example", other="http://b.example") is None

    def test_the_one_that_is_named(self, tmp_path: Path) -> None:
        place = self.place(tmp_path, "http://b.example", one="http://a.example", other="http://b.example")

        assert place is not None
        assert "http://b.example" == place.origin

    def test_nothing_that_is_served(self, tmp_path: Path) -> None:
        assert self.place(tmp_path) is None

    def test_the_simulated_sandbox_has_none(self, tmp_path: Path) -> None:
        chosen = settings(tmp_path, "simulated", environ={})
        service = build_service(chosen)
        planner = ModelPlanner(lambda _: NoAnswer.NO_MODEL)

        assert task_runner(service, chosen, planner) is None
        service.close()
