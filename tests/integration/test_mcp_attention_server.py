"""Stopped runs over the real server: its tools by the way it is started, and a decision in each era of the protocol."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.mcp_clients import (
    INITIALIZE,
    MODERN_META,
    Json,
    RawClient,
    environment,
    python_of,
    result_of_answer,
    structured,
)
from support.serving import note_bundle, put
from surehand.core.modes import DECISIONS, ROWS, Start

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
FORMS: Json = {"elicitation": {"form": {}}}

#: What lets decisions act in the operator's own apps.
QUALIFIED = '[attended]\ncontinue_and_skip = "yes"\n'


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own: keys and settings of the user stay out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHONPATH", SOURCE)


@contextmanager
def serving(tmp_path: Path, *flags: str, capabilities: Json = FORMS, line: str = "mcp 2") -> Generator[RawClient]:
    """A client of the handshake era with these capabilities."""
    python = python_of(line)
    command = [python, "-m", "surehand", "serve", "--runs-dir", str(tmp_path / "runs"), *flags]
    with RawClient(command, environment()) as client:
        client.request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25", "capabilities": capabilities})
        client.notify("notifications/initialized")
        yield client


def tools_of(client: RawClient) -> list[str]:
    """Every tool, over all pages."""
    tools: list[str] = []
    params: Json = {}
    while True:
        page = result_of_answer(client.request("tools/list", params))
        tools += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            return tools
        params = {"cursor": page["nextCursor"]}


def named(start: Start) -> list[str]:
    """The tools of a row."""
    return [tool.value for tool in ROWS[start].tools]


SANDBOX = ("--attended", "--sandbox-engine", "simulated")


class TestExactlyTheToolsOfAnAttendedStart:
    """Every such start registers exactly its tools, in order; a client without forms is shown all but the decisions."""

    @pytest.mark.parametrize("line", ["mcp 2", "mcp 1"])
    def test_the_sandbox(self, tmp_path: Path, line: str) -> None:
        with serving(tmp_path, *SANDBOX, line=line) as client:
            shown = tools_of(client)
        with serving(tmp_path, *SANDBOX, capabilities={}, line=line) as client:
            without = tools_of(client)

        assert shown == named(Start.SANDBOX_ATTENDED)
        assert without == [name for name in shown if name not in {each.value for each in DECISIONS}]

    @pytest.mark.parametrize(
        ("flags", "start", "acting"),
        [
            (("--mode", "attended"), Start.ATTENDED, False),
            (("--allow-run", "--allow-attended-actions"), Start.ATTENDED, True),
            (("--allow-attended-actions",), Start.ATTENDED_READ_ONLY, True),
        ],
    )
    def test_over_bundles(self, tmp_path: Path, flags: tuple[str, ...], start: Start, acting: bool) -> None:
        put(tmp_path / "bundles", note_bundle())
        (tmp_path / "settings.toml").write_text(QUALIFIED if acting else "")
        where = ("--bundles", str(tmp_path / "bundles"), "--config", str(tmp_path / "settings.toml"))
        with serving(tmp_path, *where, *flags, "--authoring", "--authoring-screens", "scrubbed") as client:
            tools = tools_of(client)
        count = len(ROWS[start].tools)

        assert tools[:count] == named(start)
        assert ("continue_attention" in tools, "skip_attention" in tools) == (acting, acting)
        assert tools[count:][2 * acting] == "observe"
        assert ("run_workflow" in tools) is (start is Start.ATTENDED)

    def test_a_client_of_the_other_era(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "surehand", "serve", "--runs-dir", str(tmp_path / "runs"), *SANDBOX]
        with RawClient(command, environment()) as client:
            shown, without = (
                result_of_answer(client.request("tools/list", {"_meta": modern(capabilities)}))["tools"]
                for capabilities in (FORMS, {})
            )

        assert [tool["name"] for tool in shown] == named(Start.SANDBOX_ATTENDED)
        assert len(shown) - len(without) == len(DECISIONS)


def modern(capabilities: Json) -> Json:
    """What every request of the era of 2026-07-28 carries."""
    return {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": capabilities}


ENTRY: Json = {
    "workflow": "add_triage_note",
    "inputs": {"note": "canary of a note", "sandbox_case": "duplicate_record"},
    "request_id": "entry-of-the-test",
}


def decision(item: Json) -> Json:
    """The four members about an item."""
    return {
        "attention_id": item["id"],
        "capability_digest": item["capability_digest"],
        "idempotency_key": "key-0123456789-abcdef",
        "confirm": True,
    }


class TestAPersonEndsAStoppedRun:
    """An agent's run stops, a person ends it by a form, and the agent is told so; in each era, on each generation."""

    @pytest.mark.parametrize("line", ["mcp 2", "mcp 1"])
    def test_while_the_call_waits(self, tmp_path: Path, line: str) -> None:
        with serving(tmp_path, *SANDBOX, line=line) as client:
            run = structured(client.call("run_workflow", ENTRY))
            (item,) = structured(client.call("list_needs_attention", {}))["items"]
            call = client.begin_call("reject_attention", decision(item))
            form = client.next()
            assert form is not None
            client.send(
                {"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {"confirm": True}}}
            )
            receipt = structured(result_of_answer(client.answer(call)))
            after = structured(client.call("get_run", {"run_id": run["run_id"]}))
            again = structured(client.call("run_workflow", ENTRY))

        assert (run["outcome"], item["run_id"], item["status"]) == ("needs_review", run["run_id"], "open")
        assert (form["method"], receipt["status"]) == ("elicitation/create", "rejected")
        assert (after["reason"], after["safe_to_retry"]) == ("stopped_by_person", False)
        assert (again["run_id"], again["reason"], again["replayed"]) == (run["run_id"], "stopped_by_person", True)
        assert "canary" not in json.dumps([item, receipt, form])

    def test_by_a_second_call(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "surehand", "serve", "--runs-dir", str(tmp_path / "runs"), *SANDBOX]

        def called(client: RawClient, name: str, arguments: Json, **more: object) -> Json:
            params: Json = {"name": name, "arguments": arguments, "_meta": modern(FORMS), **more}
            return result_of_answer(client.request("tools/call", params))

        with RawClient(command, environment()) as client:
            run = structured(called(client, "run_workflow", ENTRY))
            (item,) = structured(called(client, "list_needs_attention", {}))["items"]
            asked = called(client, "reject_attention", decision(item))
        ((key, form),) = asked["inputRequests"].items()
        answered: Json = {key: {"action": "accept", "content": {"confirm": True}}}
        with RawClient(command, environment()) as client:
            bare = called(client, "reject_attention", decision(item), inputResponses=answered)
            given: Json = {"inputResponses": answered, "requestState": asked["requestState"]}
            receipt = structured(called(client, "reject_attention", decision(item), **given))
            after = structured(called(client, "get_run", {"run_id": run["run_id"]}))

        assert (asked["resultType"], form["method"]) == ("input_required", "elicitation/create")
        assert bare["resultType"] == "input_required"
        assert (receipt["status"], after["reason"]) == ("rejected", "stopped_by_person")
