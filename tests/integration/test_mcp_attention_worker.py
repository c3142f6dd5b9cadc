"""Decisions that come in at an agent's client and are carried out by the worker with the window, in a real browser."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve, frozen

from surehand.core.attention.pause import Action
from surehand.core.modes import ROWS, Start
from surehand.shell.assembly import build_service
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.config import SandboxEngine, Settings
from surehand.shell.mcp.asking import Action as Did
from surehand.shell.mcp.asking import Form, FormAnswer
from surehand.shell.mcp.attention import AttentionTools, ConfirmBy, attention_in
from surehand.shell.mcp.desk import Desk
from surehand.shell.mcp.table import ToolTable
from surehand.shell.service import Service

Json = dict[str, Any]

ROW: Final = ROWS[Start.SANDBOX_ATTENDED]

#: A call waits no longer than this for a run and for a decision.
PATIENCE: Final = 300.0

ENTRY: Final[Json] = {
    "workflow": "add_triage_note",
    "inputs": {"note": "Booked for Monday.", "sandbox_case": "duplicate_record"},
    "request_id": "entry-of-the-test",
    "wait_seconds": int(PATIENCE),
}


@frozen
class Server:
    """A server's tools over a service with a worker, without the wire."""

    service: Service
    folder: Path
    table: ToolTable

    def call(self, name: str, arguments: Json, **content: object) -> Json:
        """What a client receives whose person accepts every form with this content."""

        async def accept(_form: Form) -> FormAnswer:
            return FormAnswer(Did.ACCEPT, content)

        async def nothing(_waited: float, _total: float) -> None:
            pass

        answer: Any = asyncio.run(self.table.call(name, arguments, nothing, accept))
        told: Json = answer["structuredContent"]
        return told

    def items(self) -> list[Json]:
        """What waits."""
        items: list[Json] = self.call("list_needs_attention", {})["items"]
        return items


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The sandbox, attended, in a browser without a screen."""
    settings = Settings(runs_dir=tmp_path, sandbox_engine=SandboxEngine.BROWSER, attended=True)
    folder = settings.state_folder
    service = build_service(evolve(settings, headed=False), ROW)
    tools = AttentionTools(ROW, lambda: attention_in(folder, ConfirmBy.CODE), ConfirmBy.CODE, wait_seconds=PATIENCE)
    yield Server(service, folder, ToolTable(ROW, Desk(lambda: service), tools.tools()))
    service.close()


def decision(item: Json, key: str) -> Json:
    """The four members about an item."""
    return {
        "attention_id": item["id"],
        "capability_digest": item["capability_digest"],
        "idempotency_key": key,
        "confirm": True,
    }


class TestAFormDecidesAndTheWorkerCarriesOut:
    """Who says Continue without having done the step is told that the run did not go on; nothing was saved by it."""

    def test_continue_without_the_step_then_reject(self, server: Server) -> None:
        run = server.call("run_workflow", ENTRY)
        (first,) = server.items()
        desk = AttendedDesk.open(server.folder)
        code = desk.code(first["id"], Action.CONTINUE)
        desk.close()
        receipt = server.call("continue_attention", decision(first, "key-of-continue-16"), confirm=True, code=code)
        between = server.call("get_run", {"run_id": run["run_id"]})
        (second,) = server.items()
        outdated = server.call("reject_attention", decision(first, "key-of-an-old-one-16"), confirm=True)
        ended = server.call("reject_attention", decision(second, "key-of-reject-16"), confirm=True)
        after = server.call("get_run", {"run_id": run["run_id"]})
        again = server.call("run_workflow", ENTRY)

        assert (run["outcome"], first["has_window"], first["earlier_pauses"]) == ("needs_review", True, 0)
        assert (receipt["status"], receipt["final"]) == ("halted", True)
        assert (between["outcome"], between["record_changed"]) == ("needs_review", "no")
        assert (second["earlier_pauses"], second["id"] != first["id"]) == (1, True)
        assert (outdated["status"], outdated["reason"]) == ("refused", "pause_superseded")
        assert (ended["status"], after["reason"], after["safe_to_retry"]) == ("rejected", "stopped_by_person", False)
        assert (again["run_id"], again["reason"]) == (run["run_id"], "stopped_by_person")
        assert server.items() == []
