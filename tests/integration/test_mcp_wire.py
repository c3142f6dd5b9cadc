"""The wire: whatever comes in gets its due, and nothing but messages goes out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mcp_clients import (
    INITIALIZE,
    Json,
    RawClient,
    environment,
    fake_server,
    python_of,
    result_of_answer,
    session,
    structured,
)
from surehand.shell.mcp.frames import MAX_DEPTH, MAX_MESSAGE_BYTES

PARSE_ERROR = -32700
INVALID_REQUEST = -32600


@pytest.fixture(scope="module", params=["mcp 2", "mcp 1"])
def client(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """One session for the whole module: what one test sends must not harm the next."""
    python = python_of(request.param)
    with session(python=python) as opened:
        yield opened


def code_of(answer: Json) -> object:
    """The error code of an answer."""
    return answer["error"]["code"]


def call_line(request_id: int, arguments: str) -> bytes:
    """A tool call whose arguments are written by hand."""
    head = f'{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call","params":{{"name":"run_workflow","arguments":'
    return f"{head}{arguments}}}}}\n".encode()


class TestWhateverComesInGetsAnAnswer:
    """Malformed JSON, lone surrogates and messages over the cap get an answer, and the session lives on."""

    @pytest.mark.parametrize(
        "line",
        [b"garbage", b"{", b"\xff\xfe{}", b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}', b"[1,", b"nul", b'"\x01"'],
    )
    def test_a_line_that_is_not_json_is_a_parse_error_without_id(self, client: RawClient, line: bytes) -> None:
        client.send_bytes(line + b"\n")

        answer = client.answer(None)

        assert code_of(answer) == PARSE_ERROR
        assert "result" in client.request("ping")

    @pytest.mark.parametrize(
        "line",
        [
            b"[]",
            b"7",
            b"{}",
            b'{"jsonrpc":"1.0","method":"ping","id":null}',
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}',
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        ],
    )
    def test_json_that_is_no_message_is_an_invalid_request(self, client: RawClient, line: bytes) -> None:
        client.send_bytes(line + b"\n")

        answer = client.answer(None)

        assert code_of(answer) == INVALID_REQUEST
        assert "result" in client.request("ping")

    @pytest.mark.parametrize(
        "arguments",
        [
            '{"workflow":"w","workflow":"v","inputs":{},"request_id":"r"}',
            '{"workflow":"w","inputs":{"note":NaN},"request_id":"r"}',
            '{"workflow":"w","inputs":{"note":-Infinity},"request_id":"r"}',
            '{"workflow":"w","inputs":{},"request_id":"r","wait_seconds":1e400}',
            '{"workflow":"w","inputs":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
            '{"workflow":"w","inputs":' + "[" * 100_000 + "]" * 100_000 + "}",
        ],
        ids=["duplicate name", "NaN", "-Infinity", "1e400", "deep", "very deep"],
    )
    def test_what_strict_json_does_not_have_is_refused_under_the_requests_id(
        self, client: RawClient, arguments: str
    ) -> None:
        client.send_bytes(call_line(900_001, arguments))

        answer = client.answer(900_001)

        assert code_of(answer) == INVALID_REQUEST
        assert "Nothing ran" in json.dumps(answer)

    @pytest.mark.parametrize("id_first", [True, False])
    def test_a_message_over_the_cap_is_refused_under_its_id(self, client: RawClient, id_first: bool) -> None:
        text = "x" * MAX_MESSAGE_BYTES
        rest = (
            f'"method":"tools/call","params":{{"name":"run_workflow","arguments":{{"inputs":{{"id":5,"n":"{text}"}}}}}}'
        )
        named = '"jsonrpc":"2.0","id":900002'
        line = f"{{{named},{rest}}}\n" if id_first else f"{{{rest},{named}}}\n"

        client.send_bytes(line.encode())

        assert code_of(client.answer(900_002)) == INVALID_REQUEST
        assert "result" in client.request("ping")

    def test_a_message_just_under_the_cap_is_served(self, client: RawClient) -> None:
        arguments = json.dumps({"workflow": "w", "inputs": {"note": ""}, "request_id": "big"})
        line = call_line(900_003, arguments)
        padding = b"x" * (MAX_MESSAGE_BYTES + 1 - len(line))

        client.send_bytes(line.replace(b'"note": ""', b'"note": "' + padding + b'"'))

        assert "result" in client.answer(900_003)

    @pytest.mark.parametrize("text", ["Zo\u00eb \u65e5\u672c \U0001f600 \u2028", "\x00", "007"])
    def test_any_unicode_text_arrives(self, client: RawClient, text: str) -> None:
        result = client.call("run_workflow", {"workflow": "w", "inputs": {"note": text}, "request_id": "unicode"})

        assert structured(result)["outcome"] == "done"

    def test_a_lone_surrogate_in_an_input_is_an_invalid_input(self, client: RawClient) -> None:
        client.send_bytes(
            call_line(900_004, '{"workflow":"w","inputs":{"note":"a\\ud83db"},"request_id":"lone-surrogate"}')
        )

        result = client.answer(900_004)["result"]

        assert structured(result)["reason"] == "invalid_input"

    @pytest.mark.parametrize(
        "arguments",
        [
            '{"workflow":"\\ud83d","inputs":{},"request_id":"r"}',
            '{"workflow":"w","inputs":{},"request_id":"\\udc00"}',
            '{"workflow":"w","inputs":{},"request_id":"r","\\ud83d":1}',
        ],
    )
    def test_a_lone_surrogate_elsewhere_starts_nothing(self, client: RawClient, arguments: str) -> None:
        client.send_bytes(call_line(900_005, arguments))

        answer = client.answer(900_005)

        assert "error" in answer or '"isError": true' in json.dumps(answer)
        assert "ud83d" not in json.dumps(answer)
        assert "result" in client.request("ping")

    def test_an_answer_of_the_client_is_not_answered(self, client: RawClient) -> None:
        client.send({"jsonrpc": "2.0", "id": 900_006, "result": {}})
        client.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}})

        assert "result" in client.request("ping")
        assert client.aside() == []

    def test_line_ends_of_windows_and_empty_lines_are_harmless(self, client: RawClient) -> None:
        client.send_bytes(b'\r\n\n  \n{"jsonrpc":"2.0","id":900007,"method":"ping"}\r\n')

        assert "result" in client.answer(900_007)

    def test_an_unknown_tool_and_an_unknown_method_are_protocol_errors(self, client: RawClient) -> None:
        tool = client.request("tools/call", {"name": "canary-tool", "arguments": {}})
        method = client.request("canary/method")

        assert code_of(tool) == -32602
        assert code_of(method) in {-32601, -32602}
        assert "canary-tool" not in json.dumps(tool)


class TestNothingButMessagesGoesOut:
    """The protocol owns a private copy of standard output; whatever prints goes to standard error."""

    @pytest.mark.parametrize(
        "locale",
        [
            {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
            {"LANG": "C.UTF-8", "PYTHONUTF8": "1"},
        ],
        ids=["LANG=C, cp1252", "UTF-8"],
    )
    def test_every_line_parses_under_noise_and_any_locale(self, tmp_path: Path, locale: dict[str, str]) -> None:
        with RawClient(fake_server("3"), environment(tmp_path / "events", **locale)) as client:
            client.handshake()
            noisy = {"workflow": "w", "inputs": {"note": "noisy"}, "request_id": "noisy"}
            assert structured(client.call("run_workflow", noisy))["outcome"] == "done"
            listed = structured(client.call("list_workflows", {}))
            client.end_input()

            assert client.exit_code() == 0
            assert client.next() is None
            assert "\u00c4\u2028" in json.dumps(listed, ensure_ascii=False)

    def test_a_child_inherits_neither_descriptor_of_the_protocol(self, tmp_path: Path) -> None:
        with session(events=tmp_path / "events") as client:
            noisy = {"workflow": "w", "inputs": {"note": "noisy"}, "request_id": "noisy"}
            client.call("run_workflow", noisy)
            client.end_input()
            client.exit_code()
            told = client.errors()

        assert ["noise from print", "noise from descriptor 1", "noise from a child"] == [
            line for line in told.splitlines() if line.startswith("noise")
        ]

    def test_a_canary_in_an_exception_reaches_neither_stream(self) -> None:
        with session() as client:
            raising = {"workflow": "w", "inputs": {"note": "raises"}, "request_id": "raises"}
            result = client.call("run_workflow", raising)
            client.end_input()
            client.exit_code()

            assert result["isError"] is True
            assert "structuredContent" not in result
            assert "canary" not in json.dumps(result)
            assert "canary" not in client.errors()

    def test_a_refused_handshake_is_told_in_messages_too(self) -> None:
        with RawClient(fake_server(), environment()) as client:
            refused = client.request("initialize", {"protocolVersion": 7})
            opened = client.request("initialize", INITIALIZE)

            assert "error" in refused
            assert "result" in opened


class TestAClientThatReadsSlowly:
    """Answers that the client does not read yet wait, whole; a client that never reads them holds nothing up."""

    def test_answers_beyond_the_pipe_arrive_whole_when_they_are_read(self) -> None:
        with session("500") as client:
            ids = [client.begin_call("list_workflows", {}) for _ in range(40)]
            pages = [structured(result_of_answer(client.answer(each))) for each in ids]

        assert all(page == pages[0] for page in pages)
        assert len(json.dumps(pages)) > 4 * 65_536

    def test_a_client_that_never_reads_does_not_keep_the_server_alive(self) -> None:
        with session("500") as client:
            for _ in range(40):
                client.begin_call("list_workflows", {})
            client.end_input()

            assert client.exit_code() == 0
