"""Asking the person at the client: by a request in the handshake era, by a call that is made again in the other."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.mcp_clients import (
    INITIALIZE,
    MODERN_META,
    TESTS,
    Json,
    RawClient,
    environment,
    python_of,
    result_of_answer,
    structured,
)

SERVER = str(TESTS / "support" / "mcp_form_server.py")
SOURCE = str(Path(__file__).resolve().parents[2] / "src")

#: What a client can say of forms, and whether it shows them.
CAPABILITIES: list[tuple[Json, bool]] = [
    ({"elicitation": {}}, True),
    ({"elicitation": {"form": {}}}, True),
    ({"elicitation": {"form": {}, "url": {}}}, True),
    ({"elicitation": {"url": {}}}, False),
    ({}, False),
]

ANSWERS: list[Json] = [
    {"action": "accept", "content": {"confirm": True}},
    {"action": "accept", "content": {"confirm": False}},
    {"action": "decline"},
    {"action": "cancel"},
]


@contextmanager
def session(capabilities: Json, line: str = "mcp 2") -> Generator[RawClient]:
    """A session of the handshake era with these capabilities."""
    python = python_of(line)
    with RawClient([python, SERVER], environment(PYTHONPATH=SOURCE)) as client:
        client.request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25", "capabilities": capabilities})
        client.notify("notifications/initialized")
        yield client


def asked_in_handshake_era(client: RawClient, answer: Json) -> tuple[Json, Json]:
    """Call the tool and answer its form: the form's request, and the result."""
    call = client.begin_call("admit", {})
    request = next_request(client)
    client.send({"jsonrpc": "2.0", "id": request["id"], "result": answer})
    return request, result_of_answer(client.answer(call))


def next_request(client: RawClient) -> Json:
    """The next message of the server, which is a request."""
    message = client.next()
    assert message is not None
    assert "method" in message
    return message


@pytest.mark.parametrize("line", ["mcp 2", "mcp 1"])
class TestTheHandshakeEra:
    """The server asks while the call waits, and never asks a client that does not say that it shows forms."""

    @pytest.mark.parametrize("answer", ANSWERS, ids=str)
    def test_the_answer_comes_back_as_it_was_given(self, line: str, answer: Json) -> None:
        with session({"elicitation": {}}, line) as client:
            request, result = asked_in_handshake_era(client, answer)

        assert request["method"] == "elicitation/create"
        assert request["params"]["message"] == "Is this yours?"
        assert request["params"]["requestedSchema"]["required"] == ["confirm"]
        assert structured(result) == {"action": answer["action"], "content": answer.get("content", {})}

    @pytest.mark.parametrize(("capabilities", "shows"), CAPABILITIES, ids=str)
    def test_only_a_client_that_shows_forms_is_asked(self, line: str, capabilities: Json, shows: bool) -> None:
        with session(capabilities, line) as client:
            if shows:
                _, result = asked_in_handshake_era(client, {"action": "decline"})
            else:
                result = client.call("admit", {})

        assert result["isError"] is not shows
        assert shows or result["content"][0]["text"].startswith("Nothing ran: this tool asks a person by a form")

    def test_a_client_that_answers_with_an_error_gets_a_sentence(self, line: str) -> None:
        with session({"elicitation": {}}, line) as client:
            call = client.begin_call("admit", {})
            request = next_request(client)
            client.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "canary"}})
            result = result_of_answer(client.answer(call))

        assert result["isError"] is True
        assert "canary" not in result["content"][0]["text"]


class TestTheEraWithoutAWayBack:
    """The call ends at its form, and is made again with the answer."""

    def meta(self, capabilities: Json) -> Json:
        """What every request of that era carries."""
        return {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": capabilities}

    @pytest.mark.parametrize("answer", ANSWERS, ids=str)
    def test_the_same_call_with_the_answer_goes_on(self, answer: Json) -> None:
        with RawClient([sys.executable, SERVER], environment()) as client:
            params: Json = {"name": "admit", "arguments": {}, "_meta": self.meta({"elicitation": {}})}
            first = result_of_answer(client.request("tools/call", params))
            ((key, request),) = first["inputRequests"].items()
            second = result_of_answer(client.request("tools/call", {**params, "inputResponses": {key: answer}}))

        assert first["resultType"] == "input_required"
        assert request["method"] == "elicitation/create"
        assert request["params"]["message"] == "Is this yours?"
        assert structured(second) == {"action": answer["action"], "content": answer.get("content", {})}

    def test_a_client_without_forms_is_not_asked(self) -> None:
        with RawClient([sys.executable, SERVER], environment()) as client:
            params: Json = {"name": "admit", "arguments": {}, "_meta": self.meta({})}
            result = result_of_answer(client.request("tools/call", params))

        assert result["isError"] is True
        assert "inputRequests" not in result
