"""Real clients drive the server: the official Python ones, the Inspector's command line, the conformance suite."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_clients import environment, fake_server, node_folder, python_of
from support.mcp_http import served_over_http

TOOLS = ["list_workflows", "run_workflow", "get_run"]

CLIENT = str(Path(__file__).resolve().parent.parent / "support" / "mcp_sdk_client.py")

#: Checks of the stateless scenario that need the suite's own fixture tools in the server.
NEED_FIXTURES = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}


def node() -> str:
    """Node, from the environment that runs the tests or from the path."""
    beside = Path(sys.executable).parent / "node"
    found = str(beside) if beside.exists() else shutil.which("node")
    assert found is not None, "Node is missing: install the dependency group `clients`"
    return found


def output_of(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a client to its end."""
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=240, check=False)


class TestTheOfficialPythonClientsDriveTheServer:
    """Clients of both generations, in every era that they speak, against servers of both generations."""

    @pytest.mark.parametrize(
        ("server", "client", "mode", "version"),
        [
            ("mcp 2", "mcp 2", "legacy", "2025-11-25"),
            ("mcp 2", "mcp 2", "auto", "2026-07-28"),
            ("mcp 2", "mcp 1", "legacy", "2025-11-25"),
            ("mcp 1", "mcp 2", "legacy", "2025-11-25"),
            ("mcp 1", "mcp 2", "auto", "2025-11-25"),
            ("mcp 1", "mcp 1", "legacy", "2025-11-25"),
        ],
    )
    def test_a_client_lists_runs_repeats_reads_misuses_and_waits(
        self, server: str, client: str, mode: str, version: str
    ) -> None:
        ended = output_of([python_of(client), CLIENT, mode, *fake_server(python=python_of(server))])
        assert ended.returncode == 0, ended.stderr
        seen: dict[str, Any] = json.loads(ended.stdout)
        listed, ran, repeated, got, misused, waited = [answer["result"] for answer in seen["answers"]]

        assert version == seen["version"]
        assert TOOLS == seen["tools"]
        assert listed["structuredContent"]["workflows"][0]["name"] == "workflow_000"
        assert ran["structuredContent"]["outcome"] == "done"
        assert repeated["structuredContent"] == {**ran["structuredContent"], "replayed": True}
        assert got["structuredContent"] == ran["structuredContent"]
        assert misused["isError"] is True
        assert "structuredContent" not in misused
        assert waited["structuredContent"]["outcome"] == "running"
        assert seen["progress"] >= 1


@pytest.mark.parametrize("era", ["legacy", "modern"])
class TestTheInspectorFindsNothing:
    """The Inspector's command line, strict, in both eras."""

    def inspect(self, era: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the Inspector against the fake server."""
        launcher = node_folder() / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        return output_of([node(), str(launcher), "--cli", *fake_server(), "--protocol-era", era, *arguments])

    def test_the_list_of_tools_passes_the_strict_check(self, era: str) -> None:
        ended = self.inspect(era, "--method", "tools/list", "--strict")

        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert TOOLS == [tool["name"] for tool in json.loads(ended.stdout)["tools"]]

    def test_a_run_is_answered_by_the_contract(self, era: str) -> None:
        arguments = ("workflow=w", 'inputs={"note":"now"}', "request_id=r-1")
        given = [part for argument in arguments for part in ("--tool-arg", argument)]
        ended = self.inspect(era, "--method", "tools/call", "--tool-name", "run_workflow", *given)

        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert json.loads(ended.stdout)["structuredContent"]["outcome"] == "done"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The same server object over loopback HTTP."""
    with served_over_http() as served:
        yield served


class TestTheConformanceSuitePasses:
    """Every scenario of the official suite that needs no fixture passes; the suite speaks HTTP only."""

    @pytest.mark.parametrize(
        ("scenario", "revision", "least"),
        [
            ("server-initialize", "2025-11-25", 3),
            ("server-session-lifecycle", "2025-11-25", 3),
            ("ping", "2025-11-25", 2),
            ("tools-list", "2025-11-25", 3),
            ("tools-list", "2026-07-28", 4),
            ("dns-rebinding-protection", "2026-07-28", 2),
            ("http-header-validation", "2026-07-28", 14),
            ("server-stateless", "2026-07-28", 20),
        ],
    )
    def test_a_scenario_passes(self, address: str, tmp_path: Path, scenario: str, revision: str, least: int) -> None:
        suite = node_folder() / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        chosen = ["--scenario", scenario, "--spec-version", revision]
        ended = output_of([node(), str(suite), "server", "--url", address, *chosen, "-o", str(tmp_path)])
        reports = list(tmp_path.glob("*/checks.json"))
        assert len(reports) == 1, ended.stdout + ended.stderr
        checks = json.loads(reports[0].read_text())
        failed = {check["id"] for check in checks if check["status"] == "FAILURE"}
        passed = [check["id"] for check in checks if check["status"] == "SUCCESS"]

        assert failed == (NEED_FIXTURES if scenario == "server-stateless" else set())
        assert len(passed) >= least
