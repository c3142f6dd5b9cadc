"""The real server, as a client starts it: the sandbox's five cases over stdio, on the simulated engine."""

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from support.mcp_clients import Json, RawClient, environment, result_of_answer, structured
from surehand.core.modes import ROWS, Start
from surehand.shell.assembly import SANDBOX_DEFAULTS

#: A text that only the caller may ever see again.
CANARY = "canary text of an input"

CASES = [
    ("normal", "done", "saved_and_checked"),
    ("duplicate_record", "needs_review", "record_not_confirmed"),
    ("false_saved_banner", "not_sure_if_saved", "save_not_confirmed"),
    ("timeout_after_save", "not_sure_if_saved", "save_not_confirmed"),
    ("app_offline", "did_not_run", "app_unreachable"),
]


def serve(folder: Path) -> list[str]:
    """The command that a client would configure."""
    surehand = str(Path(sys.executable).parent / "surehand")
    return [surehand, "serve", "--sandbox-engine", "simulated", "--runs-dir", str(folder)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[RawClient]:
    """One session with the real server."""
    with RawClient(serve(tmp_path_factory.mktemp("runs")), environment()) as opened:
        opened.handshake()
        yield opened


def note(case: str, request_id: str, text: str = "Synthetic note.") -> Json:
    """Arguments of the sandbox's workflow."""
    inputs = {"note": text, "sandbox_case": case}
    return {"workflow": "add_triage_note", "inputs": inputs, "request_id": request_id, "wait_seconds": 60}


class TestTheSandboxOverStdio:
    """Five cases, each with its honest outcome; a repeat, a read, and refusals that are recorded."""

    def test_it_has_the_tools_of_its_mode(self, client: RawClient) -> None:
        tools = result_of_answer(client.request("tools/list"))["tools"]

        assert [name.value for name in ROWS[Start.SANDBOX].tools] == [tool["name"] for tool in tools]

    def test_it_lists_its_workflow_with_the_inputs(self, client: RawClient) -> None:
        (workflow,) = structured(client.call("list_workflows", {}))["workflows"]

        assert workflow["name"] == "add_triage_note"
        assert {"note", "sandbox_case"} == {each["name"] for each in workflow["inputs"]}

    @pytest.mark.parametrize(("case", "outcome", "reason"), CASES)
    def test_each_case_ends_as_it_should(self, client: RawClient, case: str, outcome: str, reason: str) -> None:
        answer = structured(client.call("run_workflow", note(case, f"case-{case}")))
        again = structured(client.call("run_workflow", note(case, f"case-{case}")))
        read = structured(client.call("get_run", {"run_id": answer["run_id"]}))

        assert (outcome, reason, "simulated") == (answer["outcome"], answer["reason"], answer["engine"])
        assert read == answer
        if case == "app_offline":
            assert again["attempt"] == 2
        else:
            assert again == {**answer, "replayed": True}

    def test_a_first_burst_under_one_request_id_is_one_run(self, tmp_path: Path) -> None:
        with RawClient(serve(tmp_path), environment()) as client:
            client.handshake()
            ids = [client.begin_call("run_workflow", note("normal", "burst")) for _ in range(30)]
            answers = [structured(result_of_answer(client.answer(each))) for each in ids]

        assert len({answer["run_id"] for answer in answers}) == 1
        assert {"done"} == {answer["outcome"] for answer in answers}
        assert [answer["replayed"] for answer in answers].count(False) == 1

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            ({"workflow": "no_such_workflow"}, "unknown_workflow"),
            ({"inputs": {"note": CANARY}}, "invalid_input"),
            ({"inputs": {"note": 7, "sandbox_case": "normal"}}, "invalid_input"),
            ({"inputs": {"note": "x" * 1_000_000, "sandbox_case": "normal"}}, "invalid_input"),
            ({"inputs": {"note": "n", "sandbox_case": "normal", CANARY: "x"}}, "invalid_input"),
            ({"inputs": {"note": "a\ud83db", "sandbox_case": "normal"}}, "invalid_input"),
        ],
        ids=["unknown", "missing", "number", "1 MB", "not declared", "surrogate"],
    )
    def test_a_refusal_is_a_result_that_can_be_read_again(self, client: RawClient, changed: Json, reason: str) -> None:
        result = client.call("run_workflow", {**note("normal", f"refused-{reason}"), **changed})
        answer = structured(result)
        read = structured(client.call("get_run", {"run_id": answer["run_id"]}))

        assert (reason, "no", True) == (answer["reason"], answer["record_changed"], answer["safe_to_retry"])
        assert read == answer
        assert CANARY not in json.dumps(result)

    def test_an_input_is_found_in_no_stream_and_no_file(self, tmp_path: Path) -> None:
        with RawClient(serve(tmp_path), environment()) as client:
            client.handshake()
            answers = [client.call("run_workflow", note(case, f"canary-{case}", CANARY)) for case, _, _ in CASES]
            client.end_input()
            code = client.exit_code()
            told = client.errors()
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

        assert code == 0
        assert len(kept) > 0
        assert CANARY not in json.dumps(answers)
        assert CANARY not in told
        assert CANARY.encode() not in kept


class TestTheSandboxFillsInWhatItIsLetTo:
    """With synthetic defaults a call may leave inputs out; what stands in for them is in no schema and no card."""

    @pytest.mark.parametrize("allowed", [False, True])
    def test_a_call_without_inputs(self, tmp_path: Path, allowed: bool) -> None:
        flags = ["--allow-synthetic-recorded-defaults"] if allowed else []
        asked: Json = {"workflow": "add_triage_note", "inputs": {}, "request_id": "r", "wait_seconds": 60}
        with RawClient([*serve(tmp_path), *flags], environment()) as client:
            client.handshake()
            listed = client.call("list_workflows", {})
            answer = structured(client.call("run_workflow", asked))

        (workflow,) = structured(listed)["workflows"]
        assert answer["reason"] == ("saved_and_checked" if allowed else "invalid_input")
        assert {each["required"] for each in workflow["inputs"]} == {not allowed}
        assert SANDBOX_DEFAULTS["note"] not in json.dumps(listed)
