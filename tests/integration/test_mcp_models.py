"""Goals of plans by the client's own model, over stdio, in both protocol eras and with both generations of the library.

Laws:

- The model is asked through whichever call waits for the run, and decides one action at a time.
- Whatever it answers, or if it never does, the goal ends in bounded time by a code, and nothing is written.
- An answer counts for the question that it was given to.
- No value of an input stands in what the model is shown, unless the operator lets pages leave.
"""

import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from support.mcp_clients import TESTS, Json, python_of, structured
from support.sampling import LONG, SAMPLING, Model, ModernTalk, Talk, asked, decides, plans_in, says, start, talking
from surehand.core.orchestration.goals import MAX_STEPS
from surehand.core.orchestration.prompt import FIXED, MAX_PROMPT_BYTES, Shown
from surehand.shell.mcp.questions import MAX_ROUNDS

SERVER: Final = str(TESTS / "support" / "mcp_goal_server.py")
SOURCE: Final = str(Path(__file__).resolve().parents[2] / "src")
PATIENT: Final = "Ada Canary"

#: Seconds that a question stays open for a model that answers, and for one that does not.
ENOUGH: Final = "300"
SHORT: Final = "3"

#: Each era that each generation of the library speaks.
WAYS: Final = ["handshake, mcp 1", "handshake, mcp 2", "modern, mcp 2"]


@contextmanager
def server(
    tmp_path: Path, way: str, patience: str = ENOUGH, shown: str = "names", capabilities: Json = SAMPLING
) -> Generator[Talk]:
    """A client of this way, with a server whose page is of paper."""
    era, _, library = way.partition(", ")
    python = python_of(library)
    command = [python, SERVER, str(plans_in(tmp_path / "plans")), str(tmp_path / "runs"), patience, shown]
    with talking(era, command, capabilities, PYTHONPATH=SOURCE) as talk:
        yield talk


def reads(params: Json) -> Json:
    """Reads what stands behind the term, then finishes."""
    if asked(params)["done_so_far"]:
        return decides(kind="finish_goal")
    return decides(kind="read_node", node="n4", output="record_number")


def ends(talk: Talk, model: Model, request_id: str = "r-1") -> Json:
    """The plan's run, asked for until it stops."""
    answer = talk.call("start_plan", start(request_id, PATIENT), model)
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        if answer.get("outcome") not in {None, "running"}:
            return answer
        run = talk.call("start_plan", start(request_id, PATIENT, wait_seconds=0), model)["plan_run_id"]
        answer = talk.call("get_plan_run", {"plan_run_id": run, "wait_seconds": 120}, model)
    raise AssertionError("the run does not stop")


def failed(answer: Json) -> tuple[str, str, list[tuple[str, str]]]:
    """How a plan stopped at a goal that failed."""
    return answer["outcome"], answer["record_changed"], [(step["failure"], step["code"]) for step in answer["steps"]]


@pytest.mark.parametrize("way", WAYS)
class TestTheModelWorksOnAGoal:
    """What it finds is a variable of the next step, which saves; and the plan branches on what came of that."""

    def test_to_the_end_of_the_plan(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way) as talk:
            answer = ends(talk, reads)

        assert ("done", "yes", "completed") == (answer["outcome"], answer["record_changed"], answer["status"])
        assert ["find", "note", "was_it_saved", "follow_up"] == [step["step"] for step in answer["steps"]]
        assert 2 == len(talk.prompts)
        assert {FIXED[Shown.NAMES]} == {params["systemPrompt"] for params in talk.prompts}
        assert all(len(params["messages"][0]["content"]["text"]) <= MAX_PROMPT_BYTES for params in talk.prompts)

    def test_no_value_of_an_input_leaves(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way) as talk:
            answer = ends(talk, reads)

        assert PATIENT not in json.dumps([talk.prompts, answer])
        assert "SYN-1042" not in json.dumps([talk.prompts, answer])
        assert "Read the record number of {patient} as record_number." == asked(talk.prompts[0])["goal"]
        assert {"id": "n0", "role": "cell", "value": "{patient}"} == asked(talk.prompts[0])["page"]["nodes"][0]

    def test_it_does_where_the_operator_lets_pages_leave(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way, shown="pages") as talk:
            answer = ends(talk, reads)

        assert "done" == answer["outcome"]
        assert PATIENT in json.dumps(talk.prompts)
        assert PATIENT not in json.dumps(answer)


def clicks(_params: Json) -> Json:
    """Wants to save, whatever it is shown."""
    return decides(kind="click_node", node="n2")


def saying(answer: Json, _params: Json) -> Json:
    """Says the same whatever it is asked."""
    return answer


#: What a model may answer that is no decision.
GARBAGE: Final[list[Json]] = [
    says("Of course! I have clicked Save for you."),
    says(""),
    says('{"action": {"kind": "save_record"}}'),
    says("[" * 20_000),
    {"role": "assistant", "model": "m", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
]


@pytest.mark.parametrize("way", WAYS)
class TestWhateverTheModelDoesTheGoalEnds:
    """By name, in bounded time, with nothing written."""

    def test_one_that_wants_to_save_a_hundred_times(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way) as talk:
            answer = ends(talk, clicks)

        assert ("did_not_run", "no", [("task_failed", "out_of_steps")]) == failed(answer)
        assert MAX_STEPS == len(talk.prompts)

    def test_one_that_answers_something_else(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way) as talk:
            answers = [ends(talk, partial(saying, each), f"r-{at}") for at, each in enumerate(GARBAGE)]

        assert {("did_not_run", "no", "task_failed", "not_understood")} == {
            (answer["outcome"], answer["record_changed"], step["failure"], step["code"])
            for answer in answers
            for step in answer["steps"]
        }
        assert len(GARBAGE) == len(talk.prompts)

    def test_one_that_never_answers(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way, SHORT) as talk:
            answer = ends(talk, lambda _: ...)

        assert ("did_not_run", "no", [("task_failed", "model_silent")]) == failed(answer)

    def test_a_client_without_a_model(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way, capabilities={}) as talk:
            answer = ends(talk, reads)

        assert ("did_not_run", "no", [("task_failed", "no_model")]) == failed(answer)
        assert [] == talk.prompts

    def test_nobody_who_asks_how_it_stands(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way, SHORT) as talk:
            run = talk.call("start_plan", start("r-1", PATIENT, wait_seconds=0), reads)
            assert "running" == run["outcome"]
            while "running" == (answer := how_it_stands(talk, run["plan_run_id"]))["outcome"]:
                assert [] == talk.prompts

        assert ("did_not_run", "no", [("task_failed", "model_silent")]) == failed(answer)


def how_it_stands(talk: Talk, run: str) -> Json:
    """A run's answer, without any waiting."""
    return talk.call("get_plan_run", {"plan_run_id": run, "wait_seconds": 0}, reads)


@pytest.mark.parametrize("way", WAYS[:2])
class TestAPersonMayRefuse:
    """A client that answers with an error ends the goal, and its words go nowhere."""

    def test_by_name(self, tmp_path: Path, way: str) -> None:
        with server(tmp_path, way) as talk:
            answer = ends(talk, lambda _: None)

        assert ("did_not_run", "no", [("task_failed", "model_declined")]) == failed(answer)
        assert "canary" not in json.dumps(answer)

    def test_an_answer_in_several_parts_is_none(self, tmp_path: Path, way: str) -> None:
        part = reads({"messages": [{"content": {"text": '{"done_so_far": []}'}}]})["content"]
        with server(tmp_path, way) as talk:
            answer = ends(talk, lambda _: {"role": "assistant", "model": "m", "content": [part, part]})

        assert ("did_not_run", "no", [("task_failed", "not_understood")]) == failed(answer)

    def test_one_text_in_a_list_is_an_answer(self, tmp_path: Path, way: str) -> None:
        def model(params: Json) -> Json:
            said = reads(params)
            return {**said, "content": [said["content"]]}

        with server(tmp_path, way) as talk:
            assert "done" == ends(talk, model)["outcome"]


@pytest.fixture
def modern(tmp_path: Path) -> Iterator[ModernTalk]:
    """A client of the era without a way back."""
    with server(tmp_path, "modern, mcp 2") as talk:
        assert isinstance(talk, ModernTalk)
        yield talk


class TestAnAnswerCountsForItsQuestion:
    """One that was given to another run, twice, or without a question changes nothing, and the open one is asked."""

    def opened(self, talk: ModernTalk, request_id: str) -> tuple[Json, Json]:
        """A call that ended with a question."""
        params = talk.params("start_plan", start(request_id, PATIENT))
        result = talk.send(params)
        assert "input_required" == result["resultType"]
        return params, result

    def test_an_answer_to_another_run(self, modern: ModernTalk) -> None:
        (first, one), (second, other) = self.opened(modern, "r-1"), self.opened(modern, "r-2")
        reading, giving_up = decides(kind="read_node", node="n4", output="record_number"), decides(kind="give_up")
        crossed = modern.send({**second, "inputResponses": {"model": giving_up}, "requestState": one["requestState"]})
        assert "input_required" == crossed["resultType"]
        assert other["requestState"].split(".")[0] == crossed["requestState"].split(".")[0]

        gone_on = modern.send({**first, "inputResponses": {"model": reading}, "requestState": one["requestState"]})
        assert [{"action": {"kind": "read_node", "node": "n4", "output": "record_number"}}] == self.so_far(gone_on)
        late = modern.send({**first, "inputResponses": {"model": giving_up}, "requestState": one["requestState"]})
        assert self.so_far(gone_on) == self.so_far(late)
        ended = modern.send({**second, "inputResponses": {"model": giving_up}, "requestState": crossed["requestState"]})
        assert ("did_not_run", "no", [("task_failed", "gave_up")]) == failed(structured(ended))

    @pytest.mark.parametrize("state", [None, "", "x", "0" * 32 + ".1", "." * 40, "9" * 50])
    def test_an_answer_without_its_question(self, modern: ModernTalk, state: str | None) -> None:
        params, result = self.opened(modern, "r-1")
        told = {} if state is None else {"requestState": state}
        again = modern.send({**params, "inputResponses": {"model": decides(kind="give_up")}, **told})

        assert "input_required" == again["resultType"]
        assert result["requestState"].split(".")[0] == again["requestState"].split(".")[0]

    def so_far(self, result: Json) -> object:
        """What was done, as the question says that a call ended with."""
        return asked(result["inputRequests"]["model"]["params"])["done_so_far"]


class TestACallAsksSoOften:
    """Clients make a call again ten times at most: before that it answers how the run stands, and the next one asks."""

    def test_in_the_era_without_a_way_back(self, modern: ModernTalk) -> None:
        numbers = count()

        def wanders(_params: Json) -> Json:
            return decides(kind="open_path", path=f"/{next(numbers)}")

        first = modern.call("start_plan", start("r-1", PATIENT), wanders)
        assert ("running", [MAX_ROUNDS], MAX_ROUNDS) == (first["outcome"], modern.rounds, len(modern.prompts))
        answer = ends(modern, wanders)

        assert ("did_not_run", "no", [("task_failed", "out_of_steps")]) == failed(answer)
        assert MAX_STEPS == next(numbers)
