"""The recording tools as clients start them: which there are, what is refused before a window opens, and the end."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.browser import eventually, family
from support.mcp_clients import (
    INITIALIZE,
    TESTS,
    Json,
    RawClient,
    environment,
    python_of,
    result_of_answer,
    structured,
)
from support.serving import note_bundle, put
from support.showing import patient_site
from surehand.core.modes import AUTHORING_TOOLS, ROWS, Start
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
SERVER = str(TESTS / "support" / "mcp_authoring_server.py")
AUTHORING = [tool.value for tool in AUTHORING_TOOLS]
APP = "https://app.example"


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own, and no screen."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def serving(tmp_path: Path, *flags: str, python: str = sys.executable) -> Generator[RawClient]:
    """A client of a server with these flags."""
    command = [python, "-m", "surehand", "serve", "--runs-dir", str(tmp_path / "runs"), *flags]
    with RawClient(command, environment()) as client:
        client.handshake()
        yield client


def listed(client: RawClient) -> list[str]:
    """The tools of the one page that there is."""
    page = result_of_answer(client.request("tools/list"))
    assert "nextCursor" not in page
    assert len(json.dumps(page, separators=(",", ":"))) <= MAX_ANSWER_BYTES
    return [tool["name"] for tool in page["tools"]]


class TestExactlyTheRecordingTools:
    """They stand alone, or after the tools of the row, in their order; they allow no run."""

    @pytest.mark.parametrize("line", ["mcp 2", "mcp 1"])
    def test_alone(self, tmp_path: Path, line: str) -> None:
        python = python_of(line)
        with serving(tmp_path, "--authoring", python=python) as client:
            tools = listed(client)
            refused = client.request("tools/call", {"name": "run_workflow", "arguments": {}})

        assert AUTHORING == tools
        assert "There is no tool of this name. Nothing ran." == refused["error"]["message"]

    @pytest.mark.parametrize(
        ("flags", "start", "more"),
        [
            (("--authoring-screens", "scrubbed"), Start.READ_ONLY, ["screen"]),
            (("--mode", "production", "--authoring-screens", "unscrubbed"), Start.PRODUCTION, ["screen"]),
            ((), Start.READ_ONLY, []),
        ],
    )
    def test_after_the_others(self, tmp_path: Path, flags: tuple[str, ...], start: Start, more: list[str]) -> None:
        put(tmp_path / "bundles", note_bundle())
        with serving(tmp_path, "--authoring", "--bundles", str(tmp_path / "bundles"), *flags) as client:
            tools = [name for name in listed(client) if not name.startswith("run_wf_")]

        assert [*(tool.value for tool in ROWS[start].tools), *AUTHORING, *more] == tools
        assert ("run_workflow" in tools) is (start is Start.PRODUCTION)

    def test_in_the_sandbox(self, tmp_path: Path) -> None:
        flags = ("--authoring", "--mode", "sandbox", "--sandbox-engine", "simulated")
        with serving(tmp_path, *flags) as client:
            tools = listed(client)

        assert ["list_workflows", "run_workflow", "get_run", *AUTHORING] == tools

    def test_without_the_flag_there_are_none(self, tmp_path: Path) -> None:
        with serving(tmp_path, "--sandbox-engine", "simulated") as client:
            assert not set(AUTHORING) & set(listed(client))


class TestWhatIsRefusedBeforeAWindowOpens:
    """The operator names the app, and a person has to be able to watch."""

    @pytest.mark.parametrize(
        ("flags", "asked", "problem"),
        [
            ((), {}, "nothing_pinned"),
            (("--url", APP), {}, "no_screen"),
            (("--url", f"{APP}=https://other.example"), {}, "nothing_pinned"),
            (("--url", APP), {"target": "windows"}, "target_not_served"),
        ],
    )
    def test_by_a_closed_code(self, tmp_path: Path, flags: tuple[str, ...], asked: Json, problem: str) -> None:
        with serving(tmp_path, "--authoring", *flags) as client:
            told = structured(client.call("start_record", asked))

        assert ("refused", problem, "idle") == (told["status"], told["problem"], told["session"])

    def test_an_address_is_not_repeated(self, tmp_path: Path) -> None:
        with serving(tmp_path, "--authoring", "--url", APP) as client:
            told = [client.call(tool, {}) for tool in ("bind_status", "start_record", "observe", "compile")]

        assert "bound" == structured(told[0])["status"]
        assert "app.example" not in json.dumps(told)


class TestTheEndOfTheServer:
    """When its input ends, its browser ends with it, and nothing of a recording that was going on is left."""

    def test_no_process_is_left(self, tmp_path: Path) -> None:
        with (
            patient_site() as site,
            RawClient([sys.executable, SERVER, str(tmp_path), site.origin], environment()) as client,
        ):
            client.request("initialize", {**INITIALIZE, "capabilities": {"elicitation": {}}})
            client.notify("notifications/initialized")
            begun = structured(client.call("start_record", {}))
            nodes = structured(client.call("observe", {}))["nodes"]
            below = family(client.process.pid)
            client.end_input()
            client.exit_code()

            assert "recording" == begun["status"]
            assert nodes
            assert below
            assert eventually(lambda: not any(each.is_alive for each in below))
        assert [] == list(tmp_path.glob("recordings/*"))
