"""What the tools declare and what they answer, checked as a strict client would."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.mcp_clients import (
    MODERN_META,
    Json,
    RawClient,
    environment,
    fake_server,
    python_of,
    result_of_answer,
    session,
    structured,
)
from surehand.core.modes import ROWS, Start
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import RunResult
from surehand.core.schema import json_schema
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES, MAX_CARDS_PER_PAGE

jsonschema: Any = importlib.import_module("jsonschema")  # its types are not published

#: The most bytes that the list of tools takes on the wire, line end included.
MAX_LISTING_BYTES = 6 * 1024

RUN_ID = "run_" + "0" * 32


@pytest.fixture(scope="module", params=["mcp 2", "mcp 1"])
def client(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """One session with 500 workflows."""
    python = python_of(request.param)
    with session("500", python=python) as opened:
        yield opened


def tools_of(listing: Json) -> dict[str, Json]:
    """The declared tools by name, in their order."""
    return {tool["name"]: tool for tool in listing["tools"]}


def output_validator(client: RawClient, tool: str) -> Any:  # noqa: ANN401 - see jsonschema
    """A strict check of a tool's answers, from what the server itself declares."""
    schema = tools_of(result_of_answer(client.request("tools/list")))[tool]["outputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def types_in(value: object) -> list[object]:
    """Every ``type`` that stands anywhere in a JSON value."""
    found: list[object] = []

    def note(members: Json) -> Json:
        if "type" in members:
            found.append(members["type"])
        return members

    json.loads(json.dumps(value), object_hook=note)
    return found


class TestTheToolsAreFewAndTheirTextsShort:
    """Three tools, at most 6 KB in the list, each with a title, all four hints and an output schema."""

    def test_the_mode_decides_exactly_which_tools_there_are(self, client: RawClient) -> None:
        tools = tools_of(result_of_answer(client.request("tools/list")))

        assert [name.value for name in ROWS[Start.SANDBOX].tools] == list(tools)

    def test_every_tool_declares_all_that_a_client_may_ask(self, client: RawClient) -> None:
        for tool in tools_of(result_of_answer(client.request("tools/list"))).values():
            annotations: dict[str, bool] = tool["annotations"]
            output = tool["outputSchema"]

            assert tool["title"]
            assert tool["description"]
            assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} == set(annotations)
            assert all(isinstance(hint, bool) for hint in annotations.values())
            assert output["type"] == "object"
            assert output["additionalProperties"] is False

    def test_no_schema_has_a_union_with_null(self, client: RawClient) -> None:
        listing = result_of_answer(client.request("tools/list"))

        assert {str} == {type(each) for each in types_in(listing)}
        assert '"null"' not in json.dumps(listing)

    def test_the_list_of_tools_is_at_most_6_kb(self, client: RawClient) -> None:
        answer = client.request("tools/list")

        assert len(json.dumps(answer, separators=(",", ":"))) + 1 <= MAX_LISTING_BYTES

    def test_the_list_of_tools_is_at_most_6_kb_in_the_modern_era(self) -> None:
        with RawClient(fake_server(), environment()) as client:
            answer = client.request("tools/list", {"_meta": MODERN_META})

        assert list(tools_of(result_of_answer(answer))) == ["list_workflows", "run_workflow", "get_run"]
        assert len(json.dumps(answer, separators=(",", ":"))) + 1 <= MAX_LISTING_BYTES

    def test_the_workflow_is_no_enumeration_so_that_an_unknown_one_gets_a_result(self, client: RawClient) -> None:
        schema = tools_of(result_of_answer(client.request("tools/list")))["run_workflow"]["inputSchema"]

        assert "enum" not in schema["properties"]["workflow"]


class TestEveryAnswerIsTheContract:
    """Every outcome and refusal satisfies the declared output schema, as text and as structured content."""

    def test_every_reason_through_both_tools_satisfies_the_schemas(self, client: RawClient) -> None:
        full = jsonschema.Draft202012Validator(json_schema(RunResult))
        validators = {name: output_validator(client, name) for name in ("run_workflow", "get_run")}
        for reason in Reason:
            asked: Json = {
                "workflow": f"reason_{reason.value}",
                "inputs": {},
                "request_id": reason.value,
                "wait_seconds": 0,
            }
            ran = structured(client.call("run_workflow", asked))
            got = structured(client.call("get_run", {"run_id": ran["run_id"], "wait_seconds": 0}))

            assert reason.value == ran["reason"]
            assert ran == got
            for answer in (ran, got):
                full.validate(answer)
            validators["run_workflow"].validate(ran)
            validators["get_run"].validate(got)

    @pytest.mark.parametrize("tool", ["run_workflow", "get_run"])
    @pytest.mark.parametrize(
        "spoiled",
        [{"outcome": "saved"}, {"extra": 1}, {"safe_to_retry": "true"}, {"record_changed": None}, {"replayed": 1}],
    )
    def test_the_declared_schema_refuses_a_spoiled_answer(self, client: RawClient, tool: str, spoiled: Json) -> None:
        asked: Json = {"workflow": "w", "inputs": {}, "request_id": "to-be-spoiled"}
        answer = structured(client.call("run_workflow", asked))
        validator = output_validator(client, tool)

        assert validator.is_valid(answer)
        assert not validator.is_valid({**answer, **spoiled})
        assert not validator.is_valid({name: value for name, value in answer.items() if name != "outcome"})

    def test_a_repeat_of_the_request_is_told_as_replayed(self, client: RawClient) -> None:
        asked: Json = {"workflow": "w", "inputs": {}, "request_id": "twice"}
        first = structured(client.call("run_workflow", asked))
        second = structured(client.call("run_workflow", asked))

        assert {**first, "replayed": True} == second
        assert first["replayed"] is False

    def test_an_unknown_run_is_a_tool_error_without_structured_content(self, client: RawClient) -> None:
        result = client.call("get_run", {"run_id": RUN_ID})

        assert result["isError"] is True
        assert "structuredContent" not in result
        assert RUN_ID not in json.dumps(result)


class TestAnswersAreBounded:
    """Lists have a cap and a cursor: 500 workflows stay below a fixed size."""

    def test_500_workflows_come_in_bounded_pages_and_none_is_lost(self, client: RawClient) -> None:
        validator = output_validator(client, "list_workflows")
        names: list[str] = []
        arguments: Json = {}
        while True:
            result = client.call("list_workflows", arguments)
            page = structured(result)
            validator.validate(page)
            workflows: list[Json] = page["workflows"]
            assert len(workflows) <= MAX_CARDS_PER_PAGE
            assert len(json.dumps(result, separators=(",", ":"))) <= MAX_ANSWER_BYTES
            names += [card["name"] for card in workflows]
            if "next_cursor" not in page:
                break
            arguments = {"cursor": page["next_cursor"]}

        assert [f"workflow_{number:03}" for number in range(500)] == names

    def test_a_cursor_beyond_the_end_gives_an_empty_page(self, client: RawClient) -> None:
        assert structured(client.call("list_workflows", {"cursor": "zzz"})) == {"workflows": []}


GOOD: Json = {"workflow": "w", "inputs": {}, "request_id": "good"}

BAD_CALLS: list[tuple[str, Json, str]] = [
    ("run_workflow", {}, "workflow"),
    ("run_workflow", {"workflow": "w", "inputs": {}}, "request_id"),
    ("run_workflow", {"workflow": "w", "request_id": "r"}, "inputs"),
    ("run_workflow", {**GOOD, "canary": 1}, "does not declare"),
    ("run_workflow", {**GOOD, "workflow": 7}, "workflow"),
    ("run_workflow", {**GOOD, "workflow": ""}, "workflow"),
    ("run_workflow", {**GOOD, "workflow": "w" * 201}, "workflow"),
    ("run_workflow", {**GOOD, "workflow": None}, "workflow"),
    ("run_workflow", {**GOOD, "inputs": "{}"}, "inputs"),
    ("run_workflow", {**GOOD, "inputs": []}, "inputs"),
    ("run_workflow", {**GOOD, "inputs": None}, "inputs"),
    ("run_workflow", {**GOOD, "request_id": "a b"}, "request_id"),
    ("run_workflow", {**GOOD, "request_id": "r\n"}, "request_id"),
    ("run_workflow", {**GOOD, "request_id": "r" * 201}, "request_id"),
    ("run_workflow", {**GOOD, "request_id": 7}, "request_id"),
    ("run_workflow", {**GOOD, "wait_seconds": "8"}, "wait_seconds"),
    ("run_workflow", {**GOOD, "wait_seconds": True}, "wait_seconds"),
    ("run_workflow", {**GOOD, "wait_seconds": 1.5}, "wait_seconds"),
    ("run_workflow", {**GOOD, "wait_seconds": -1}, "wait_seconds"),
    ("run_workflow", {**GOOD, "wait_seconds": 601}, "wait_seconds"),
    ("run_workflow", {**GOOD, "wait_seconds": None}, "wait_seconds"),
    ("get_run", {}, "run_id"),
    ("get_run", {"run_id": "run_" + "A" * 32}, "run_id"),
    ("get_run", {"run_id": RUN_ID + "\n"}, "run_id"),
    ("get_run", {"run_id": [RUN_ID]}, "run_id"),
    ("get_run", {"run_id": RUN_ID, "wait_seconds": {}}, "wait_seconds"),
    ("list_workflows", {"cursor": 7}, "cursor"),
    ("list_workflows", {"canary": 7}, "does not declare"),
]


class TestBadArgumentsStartNothing:
    """A call that does not fit the schema is a tool error that says that nothing ran, by the declared name only."""

    @pytest.mark.parametrize(("tool", "arguments", "named"), BAD_CALLS)
    def test_a_bad_argument_is_named_and_never_repeated(
        self, client: RawClient, tool: str, arguments: Json, named: str
    ) -> None:
        result = client.call(tool, arguments)

        text = result["content"][0]["text"]
        assert result["isError"] is True
        assert "structuredContent" not in result
        assert "Nothing ran" in text
        assert named in text
        assert "canary" not in text

    @pytest.mark.parametrize("wait", [60.0, 0, 600])
    def test_an_integer_is_what_json_schema_calls_one(self, client: RawClient, wait: float) -> None:
        result = client.call("run_workflow", {**GOOD, "wait_seconds": wait})

        assert structured(result)["outcome"] == "done"

    def test_arguments_that_are_no_object_are_a_protocol_error(self, client: RawClient) -> None:
        shapes: tuple[Any, ...] = ("{}", [], 7)
        for arguments in shapes:
            answer = client.request("tools/call", {"name": "run_workflow", "arguments": arguments})

            assert "error" in answer
