"""Waiting, progress, cancellation and the end: no call blocks another, and the process ends in bounded time."""

import signal
import time
from collections.abc import Callable
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
from surehand.shell.mcp.tools import DEFAULT_WAIT_SECONDS

#: Calls that wait for one run at the same time.
CROWD = 1_000

#: Seconds after which the most impatient clients give up.
IMPATIENT_SECONDS = 10

#: The longest that a ``ping`` may take beside the crowd, in seconds, and how many are tried: a busy machine lets some
#: of them wait, and a server that is held up lets all of them.
PING_SECONDS = 0.05
PINGS = 40

#: The most that a server may take to end, in seconds: more than the fake run past its boundary needs on a busy machine,
#: and less than any call here would wait.
END_SECONDS = 120.0

PYTHONS = pytest.mark.parametrize("generation", ["mcp 2", "mcp 1"])


def run_call(note: str, request_id: str, **more: object) -> Json:
    """Arguments of ``run_workflow`` for a run of the fake service."""
    return {"workflow": "w", "inputs": {"note": note}, "request_id": request_id, **more}


def lines_of(events: Path) -> list[str]:
    """What the fake service noted so far."""
    return events.read_text().splitlines() if events.exists() else []


def until(holds: Callable[[], bool], seconds: float = END_SECONDS) -> None:
    """Wait for something that a process does by itself."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


def count(events: Path, word: str) -> int:
    """How many events begin with a word."""
    return sum(line.split()[0] == word for line in lines_of(events))


@PYTHONS
class TestAWaitBoundsTheWaitNotTheRun:
    """Past ``wait_seconds`` the answer is ``running`` with the run's id; the same request, or ``get_run``, joins it."""

    def test_no_wait_answers_running_at_once_and_a_later_call_joins(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            first = structured(client.call("run_workflow", run_call("hold", "r", wait_seconds=0)))
            again = structured(client.call("run_workflow", run_call("hold", "r", wait_seconds=1)))
            got = structured(client.call("get_run", {"run_id": first["run_id"], "wait_seconds": 1}))

        assert ["running", "running", "running"] == [each["outcome"] for each in (first, again, got)]
        assert again == {**first, "replayed": True}
        assert count(events, "started") == 1

    def test_every_call_of_a_first_burst_gets_the_same_answer_from_one_service(
        self, generation: str, tmp_path: Path
    ) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            ids = [client.begin_call("run_workflow", run_call("now", "burst")) for _ in range(40)]
            answers = [structured(result_of_answer(client.answer(each))) for each in ids]

        assert len({str({**answer, "replayed": None}) for answer in answers}) == 1
        assert count(events, "built") == 1
        assert count(events, "started") == 1

    def test_a_client_that_asked_is_told_about_progress_and_another_is_not(
        self, generation: str, tmp_path: Path
    ) -> None:
        with session(python=python_of(generation), events=tmp_path / "events") as client:
            silent = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=1))
            told = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=1), progressToken="p-1")
            client.answer(silent)
            client.answer(told)
            progress = [each["params"] for each in client.aside() if each["method"] == "notifications/progress"]

        assert progress
        assert {"p-1"} == {each["progressToken"] for each in progress}
        assert {"The run is still going."} == {each["message"] for each in progress}


class TestTheDefaultWaitEndsBeforeAnImpatientClientDoes:
    """A call without ``wait_seconds`` is answered after the default, and before the ten seconds of such a client."""

    def test_a_run_that_goes_on_is_told_as_running_in_time(self, tmp_path: Path) -> None:
        with session(events=tmp_path / "events") as client:
            client.call("list_workflows", {})  # the service is there
            asked = time.monotonic()
            begun_before = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=IMPATIENT_SECONDS))
            answer = structured(client.call("run_workflow", run_call("hold", "r")))
            waited = time.monotonic() - asked
            answered_before = [each["id"] for each in client.aside() if "method" not in each]

        assert answer["outcome"] == "running"
        assert DEFAULT_WAIT_SECONDS <= waited
        assert begun_before not in answered_before


@PYTHONS
class TestWaitingCallsNeverBlockOthers:
    """A thousand calls may wait for one run; a ``ping`` beside them is answered at once."""

    def test_a_ping_beside_a_crowd_is_answered_at_once_and_the_crowd_gets_the_end(
        self, generation: str, tmp_path: Path
    ) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            owner = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            until(lambda: count(events, "started") == 1)
            run_id = next(line.split()[1] for line in lines_of(events) if line.startswith("started"))
            crowd = [client.begin_call("get_run", {"run_id": run_id, "wait_seconds": 600}) for _ in range(CROWD)]
            client.request("ping")  # everything that was sent before is parked when this is answered

            pings: list[float] = []
            for _ in range(PINGS):
                asked = time.perf_counter()
                client.request("ping")
                pings.append(time.perf_counter() - asked)
            threads = len(list(Path(f"/proc/{client.process.pid}/task").iterdir()))
            client.notify("notifications/cancelled", {"requestId": owner})
            ends = [structured(result_of_answer(client.answer(each))) for each in crowd]

        assert min(pings) < PING_SECONDS
        assert threads < 20
        assert {end["reason"] for end in ends} == {"canceled"}
        assert count(events, "watched") == 1


@PYTHONS
class TestCancellationReachesTheRunThatTheCallStarted:
    """A cancelled call stops its run before the boundary; after the boundary the run is brought to its end."""

    def test_a_cancelled_call_stops_the_run_that_it_started(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            call = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            client.notify("notifications/cancelled", {"requestId": call})
            until(lambda: count(events, "finished") == 1)
            again = structured(client.call("run_workflow", run_call("hold", "r")))

        assert again["reason"] == "canceled"

    def test_a_run_past_the_boundary_keeps_its_result_for_later(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            call = client.begin_call("run_workflow", run_call("saved", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            client.notify("notifications/cancelled", {"requestId": call})
            until(lambda: count(events, "cancelled") == 1)
            again = structured(client.call("run_workflow", run_call("saved", "r", wait_seconds=30)))

        assert again["outcome"] == "done"
        assert again["replayed"] is True

    def test_a_cancelled_call_that_only_joined_stops_nothing(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            owner = structured(client.call("run_workflow", run_call("hold", "r", wait_seconds=0)))
            joined = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            reading = client.begin_call("get_run", {"run_id": owner["run_id"], "wait_seconds": 600})
            until(lambda: count(events, "watched") == 1)
            client.notify("notifications/cancelled", {"requestId": joined})
            client.notify("notifications/cancelled", {"requestId": reading})
            still = structured(client.call("get_run", {"run_id": owner["run_id"], "wait_seconds": 0}))

        assert still["outcome"] == "running"
        assert "cancelled" not in [line.split()[0] for line in lines_of(events)]


@PYTHONS
class TestTheEndOfInputEndsTheServer:
    """At the end of input no new call is taken, running calls stop before the boundary or finish, and it exits."""

    def test_at_any_idle_moment(self, generation: str, tmp_path: Path) -> None:
        command = fake_server(python=python_of(generation))
        for opening in (b"", b"{", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'):
            with RawClient(command, environment(tmp_path / "events")) as client:
                client.send_bytes(opening)
                client.end_input()

                assert client.exit_code(END_SECONDS) == 0

    def test_after_the_handshake(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            client.end_input()

            assert client.exit_code(END_SECONDS) == 0
        assert lines_of(events) in ([], ["built", "closed"])

    def test_a_run_before_the_boundary_is_stopped_and_the_call_is_still_answered(
        self, generation: str, tmp_path: Path
    ) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            call = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            client.end_input()
            answer = structured(result_of_answer(client.answer(call)))

            assert client.exit_code(END_SECONDS) == 0
        assert answer["reason"] == "canceled"
        assert lines_of(events)[-1] == "closed"

    def test_a_run_past_the_boundary_is_brought_to_its_end(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            call = client.begin_call("run_workflow", run_call("saved", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            client.end_input()
            answer = structured(result_of_answer(client.answer(call)))

            assert client.exit_code(END_SECONDS) == 0
        assert answer["outcome"] == "done"
        assert lines_of(events)[-1] == "closed"

    def test_calls_that_only_wait_are_answered_at_once(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            owner = structured(client.call("run_workflow", run_call("hold", "r", wait_seconds=0)))
            waiting = client.begin_call("get_run", {"run_id": owner["run_id"], "wait_seconds": 600})
            until(lambda: count(events, "watched") == 1)
            client.end_input()
            answer = structured(result_of_answer(client.answer(waiting)))

            assert client.exit_code(END_SECONDS) == 0
        assert answer["outcome"] == "running"

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_it_the_same_way_and_says_so_in_the_exit_code(
        self, generation: str, tmp_path: Path, number: signal.Signals
    ) -> None:
        events = tmp_path / "events"
        with session(python=python_of(generation), events=events) as client:
            call = client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            client.process.send_signal(number)
            answer = structured(result_of_answer(client.answer(call)))

            assert client.exit_code(END_SECONDS) == 128 + number
        assert answer["reason"] == "canceled"
        assert lines_of(events)[-1] == "closed"

    def test_a_client_that_is_gone_ends_it(self, generation: str, tmp_path: Path) -> None:
        events = tmp_path / "events"
        command = fake_server(python=python_of(generation))
        with RawClient(command, environment(events)) as client:
            client.request("initialize", INITIALIZE)
            client.notify("notifications/initialized")
            client.begin_call("run_workflow", run_call("hold", "r", wait_seconds=600))
            until(lambda: count(events, "watched") == 1)
            assert client.process.stdout is not None
            client.process.stdout.close()
            client.end_input()

            assert client.exit_code(END_SECONDS) == 0
        assert "canceled" in lines_of(events)[-2]
