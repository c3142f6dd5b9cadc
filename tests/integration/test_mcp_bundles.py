"""The real server over folders of bundles, as clients start it: its tools, its projections, its bounds."""

import importlib
import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from support.mcp_clients import Json, RawClient, environment, python_of, result_of_answer, structured
from support.serving import note_bundle, put
from surehand.core.modes import ROWS, Start
from surehand.core.overview import opaque_id
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.target import Constant
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES

jsonschema: Any = importlib.import_module("jsonschema")  # its types are not published

SOURCE = str(Path(__file__).resolve().parents[2] / "src")

#: A word that stands in the bundle and that no reader may see.
CANARY = "canarytext"


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own: keys and settings of the user stay out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@contextmanager
def serving(tmp_path: Path, *flags: str, python: str = sys.executable) -> Generator[RawClient]:
    """A client of a server over the bundles of the test."""
    where = ["--bundles", str(tmp_path / "bundles"), "--runs-dir", str(tmp_path / "runs")]
    with RawClient([python, "-m", "surehand", "serve", *where, *flags], environment()) as client:
        client.handshake()
        yield client


def tools_of(client: RawClient) -> dict[str, Json]:
    """Every tool by its name, over all pages; each page stays below the size of an answer."""
    tools: dict[str, Json] = {}
    params: Json = {}
    while True:
        page = result_of_answer(client.request("tools/list", params))
        assert len(json.dumps(page, separators=(",", ":"))) <= MAX_ANSWER_BYTES
        tools |= {tool["name"]: tool for tool in page["tools"]}
        if "nextCursor" not in page:
            return tools
        params = {"cursor": page["nextCursor"]}


def registered(start: Start) -> list[str]:
    """The tools of a row that clients see."""
    return [tool.value for tool in ROWS[start].tools]


def wordy(number: int) -> Bundle:
    """A workflow with many inputs and long words, none of them ASCII."""
    bundle = note_bundle(workflow=f"workflow_{number:03}")
    note = evolve(bundle.parameters[0], title="\u00c4" * 80, description="\u4e2d" * 300)
    return evolve(bundle, title="\u00dc" * 80, parameters=(note,))


class TestExactlyTheToolsOfTheRow:
    """Every way to start over bundles registers exactly its tools, in order, on both lines of the protocol library."""

    @pytest.mark.parametrize("line", ["mcp 2", "mcp 1"])
    @pytest.mark.parametrize(
        ("flags", "start"),
        [
            ((), Start.READ_ONLY),
            (("--allow-run",), Start.PRODUCTION),
            (("--mode", "production"), Start.PRODUCTION),
            (("--allow-protected-export",), Start.READ_ONLY),
        ],
    )
    def test_a_start(
        self, tmp_path: Path, flags: tuple[str, ...], start: Start, line: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path / "bundles", note_bundle(), note_bundle(workflow="add_other"))
        monkeypatch.setenv("PYTHONPATH", SOURCE)
        python = python_of(line)
        with serving(tmp_path, *flags, python=python) as client:
            tools = tools_of(client)
            client.end_input()
            code = client.exit_code()
        older = sorted(f"run_{opaque_id(name)}" for name in ("add_note", "add_other"))

        assert list(tools) == registered(start) + (older if start is Start.PRODUCTION else [])
        assert code == 0

    @pytest.mark.parametrize(
        "flags",
        [
            ("--attended",),
            ("--mode", "production", "--allow-attended-actions"),
            ("--authoring-screens", "scrubbed"),
            ("--allow-url-override",),
            ("--allow-run", "--allow-synthetic-recorded-defaults"),
            ("--tutorial",),
        ],
    )
    def test_a_start_that_is_not_served_is_refused_before_anything_is(
        self, tmp_path: Path, flags: tuple[str, ...]
    ) -> None:
        put(tmp_path / "bundles", note_bundle())
        where = ["--bundles", str(tmp_path / "bundles"), "--runs-dir", str(tmp_path / "runs")]
        with RawClient([sys.executable, "-m", "surehand", "serve", *where, *flags], environment()) as client:
            code, first = client.exit_code(), client.next()
            told = client.errors()

        assert (code, first) == (2, None)
        assert "Error: " in told
        assert not (tmp_path / "runs").exists()

    def test_a_tool_of_another_row_does_not_exist(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle())
        asked: Json = {"workflow": "add_note", "inputs": {}, "request_id": "r"}
        with serving(tmp_path) as client:
            for name in ("run_workflow", f"run_{opaque_id('add_note')}", "reject_attention", "observe"):
                answer = client.request("tools/call", {"name": name, "arguments": asked})

                assert answer["error"]["message"] == "There is no tool of this name. Nothing ran."

    @pytest.mark.parametrize("override", [False, True])
    def test_the_place_of_the_app_is_an_argument_only_where_the_operator_lets_it(
        self, tmp_path: Path, override: bool
    ) -> None:
        put(tmp_path / "bundles", note_bundle())
        flags = ("--allow-run", *(["--allow-url-override"] if override else []))
        asked: Json = {"workflow": "add_note", "inputs": {"note": "n"}, "request_id": "r", "url": "http://127.0.0.1:1"}
        with serving(tmp_path, *flags) as client:
            tools = tools_of(client)
            ran = client.call("run_workflow", asked)
            other = client.call("run_workflow", {**asked, "url": "http://127.0.0.1:1/path"})
            conflict = client.call("run_workflow", {**asked, "url": "http://127.0.0.1:2"})

        for name in ("run_workflow", f"run_{opaque_id('add_note')}"):
            assert ("url" in tools[name]["inputSchema"]["properties"]) is override
        assert ran["isError"] is not override
        assert other["isError"] is True
        assert conflict["isError"] is not override


class TestTheDeprecatedTools:
    """They take the inputs alone, say that a retry can write twice, and answer with the contract and the old word."""

    def test_a_call_that_is_not_admitted_is_refused_in_both_words(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle())
        name = f"run_{opaque_id('add_note')}"
        with serving(tmp_path, "--mode", "production") as client:
            tool = tools_of(client)[name]
            answer = structured(client.call(name, {"note": "n"}))
            again = structured(client.call(name, {"note": "n"}))
            missing = structured(client.call(name, {}))
            undeclared = structured(client.call(name, {"note": "n", "request_id": "r"}))

        assert "retry can write twice" in tool["description"]
        assert tool["inputSchema"]["required"] == ["note"]
        assert tool["inputSchema"]["properties"] == {"note": {"type": "string"}}
        assert tool["annotations"]["idempotentHint"] is False
        assert (answer["status"], answer["reason"]) == ("refused", "not_ready_to_run")
        assert again["run_id"] != answer["run_id"]
        assert (missing["reason"], undeclared["reason"]) == ("invalid_input", "invalid_input")
        assert missing["input_problems"] == [{"input": "note", "problem": "missing"}]


class TestReadersLearnStatesAndCounts:
    """``get_workflow`` and ``get_run_report`` answer by their schemas, and hold nothing of what stands in a bundle."""

    @pytest.fixture
    def client(self, tmp_path: Path) -> Iterator[RawClient]:
        """A server that runs, over a bundle whose steps and values bear a mark, and one that cannot be read."""
        bundle = note_bundle()
        marked = evolve(bundle.identity[1], expected=Constant(CANARY))
        named = evolve(bundle.read_back.identity[0], expected=Constant(CANARY))
        read_back = evolve(bundle.read_back, identity=(named,))
        put(tmp_path / "bundles", evolve(bundle, identity=(bundle.identity[0], marked), read_back=read_back))
        (tmp_path / "bundles" / CANARY).mkdir()
        with serving(tmp_path, "--mode", "production") as client:
            yield client

    def test_they_answer_by_their_schemas_and_say_no_more(self, client: RawClient) -> None:
        tools = tools_of(client)
        listed = structured(client.call("list_workflows", {}))
        refused = structured(
            client.call("run_workflow", {"workflow": "add_note", "inputs": {"note": "n"}, "request_id": "r"})
        )
        answers: list[tuple[str, Json]] = [
            ("list_workflows", listed),
            ("get_workflow", structured(client.call("get_workflow", {"workflow": "add_note"}))),
            ("get_workflow", structured(client.call("get_workflow", {"workflow": listed["unavailable"][0]["id"]}))),
            ("get_run_report", structured(client.call("get_run_report", {"run_id": refused["run_id"]}))),
        ]
        for name, answer in answers:
            jsonschema.validate(answer, tools[name]["outputSchema"])

        assert [each["name"] for each in listed["workflows"]] == ["add_note"]
        assert [each["id"] for each in listed["unavailable"]] == [opaque_id(CANARY)]
        assert answers[1][1]["ready"] is False
        assert answers[2][1]["available"] is False
        assert answers[3][1]["failed_checks"] == len(refused["failed_checks"])
        assert CANARY not in json.dumps([tools, answers])

    def test_what_is_not_known_is_a_sentence(self, client: RawClient) -> None:
        workflow = client.call("get_workflow", {"workflow": CANARY + "x"})
        run = client.call("get_run_report", {"run_id": "run_" + "0" * 32})

        assert workflow["isError"] is True
        assert run["isError"] is True
        assert CANARY not in json.dumps([workflow, run])


class TestATrustedClientMaySeeMore:
    """With ``--allow-protected-export`` the reading tools also say what stands in the bundle and where it lies."""

    def test_the_definition_and_the_folder(self, tmp_path: Path) -> None:
        (folder,) = put(tmp_path / "bundles", note_bundle())
        with serving(tmp_path, "--allow-protected-export") as client:
            answer = structured(client.call("get_workflow", {"workflow": "add_note"}))

        assert answer["protected"]["folder"] == str(folder.path)
        assert answer["protected"]["title"] == "Add a note"
        assert answer["protected"]["definition"]["workflow"] == "add_note"


class TestAnswersOfManyWorkflowsAreBounded:
    """500 workflows of many words come in pages below one size, tools too, and none is lost."""

    def test_500_workflows(self, tmp_path: Path) -> None:
        bundles = [wordy(number) for number in range(500)]
        put(tmp_path / "bundles", *bundles)
        names: list[str] = []
        arguments: Json = {}
        with serving(tmp_path, "--mode", "production") as client:
            tools = tools_of(client)
            while True:
                result = client.call("list_workflows", arguments)
                assert len(json.dumps(result, separators=(",", ":"))) <= MAX_ANSWER_BYTES
                page = structured(result)
                names += [each["name"] for each in page["workflows"]]
                if "next_cursor" not in page:
                    break
                arguments = {"cursor": page["next_cursor"]}

        assert names == [bundle.workflow for bundle in bundles]
        assert len(tools) == len(registered(Start.PRODUCTION)) + 500
