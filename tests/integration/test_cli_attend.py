"""``surehand attend``: what stands on the screen, what a person decides there, and what a program is told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from support.command_line import surehand
from support.stopped import BORN, CANARIES, FRAME, PLACE, SEEN, TYPED, Stopped, StoppedRuns, runs_of_home
from support.terminal import at_terminal
from surehand.core.attention.decision import DecisionRequest, Door
from surehand.core.attention.pause import Action, DeliveryState
from surehand.core.outcome.evidence import PauseCategory
from surehand.shell.attended.desk import AttendedDesk

UNKNOWN = "att_" + "0" * 24


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[StoppedRuns]:
    """Runs of the installation whose home is the folder of the test."""
    with runs_of_home(tmp_path) as made:
        yield made


def told(home: Path, *arguments: str, code: int = 0) -> str:
    """What a program is told on standard output."""
    said = surehand(home, "attend", *arguments, "--runs-dir", "runs")
    assert said.code == code, said.err
    return said.out


def decided(runs: StoppedRuns, stopped: Stopped) -> list[str]:
    """How every decision about a run stands."""
    return [each.status.value for each in runs.attention.decisions(stopped.run_id)]


class TestTheQueue:
    """What waits, newest first, in pages; an installation without any says so and is not made."""

    def test_pages_and_one_item(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = [runs.stop().attention_id for _ in range(3)]
        first: Any = json.loads(told(tmp_path, "list", "--json", "--limit", "2"))
        rest: Any = json.loads(told(tmp_path, "list", "--json", "--after", first["next"]))
        one: Any = json.loads(told(tmp_path, "show", stopped[0], "--json"))

        assert sorted(item["id"] for item in first["items"] + rest["items"]) == sorted(stopped)
        assert one in first["items"] + rest["items"]
        assert one["allowed_actions"] == ["continue", "reject", "teach", "escalate"]

    def test_the_log_says_what_was_taken_and_what_was_not(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        desk = AttendedDesk.over(runs.store, tmp_path / "runs" / "surehand")
        request = DecisionRequest(stopped.attention_id, "0" * 64, "a-key-of-this-test", confirm=True)
        item = desk.item(stopped.attention_id)
        assert item is not None
        desk.decide(request, Action.REJECT, Door.CONSOLE)
        desk.decide(evolve(request, capability_digest=str(item.capability_digest)), Action.ESCALATE, Door.PYTHON)
        lines: Any = json.loads(told(tmp_path, "log", "--json"))["lines"]
        said = told(tmp_path, "log", "--limit", "1")

        assert {("reject", "refused", "console"), ("escalate", "escalated", "python")} == {
            (line["action"], line["status"], line["door"]) for line in lines
        }
        assert 1 == len(said.splitlines())
        assert not any(canary in f"{lines}{said}" for canary in CANARIES)

    def test_nothing_waits_and_nothing_is_made(self, tmp_path: Path) -> None:
        assert told(tmp_path, "log") == "Nothing was decided.\n"
        assert told(tmp_path, "list") == "No run waits for a person.\n"
        assert not (tmp_path / "runs").exists()

    @pytest.mark.parametrize("command", ["show", "open", "renew"])
    def test_an_item_that_is_not_known(self, tmp_path: Path, runs: StoppedRuns, command: str) -> None:
        runs.stop()

        assert told(tmp_path, command, UNKNOWN, code=1) == ""
        assert told(tmp_path, command, "nonsense", code=1) == ""


class TestWhatStandsAtATerminalOnly:
    """A person at a terminal sees what was to be typed, where, and the codes; a pipe and JSON never show them."""

    def test_the_screen(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop(PauseCategory.RESOLUTION, skippable=True)
        desk = AttendedDesk(runs.attention, runs.files)
        codes = [desk.code(stopped.attention_id, action) for action in (Action.CONTINUE, Action.SKIP)]
        screen = at_terminal(tmp_path, "attend", "show", stopped.attention_id, "--runs-dir", "runs").screen

        assert [text for text in (TYPED, BORN, PLACE) if text in screen] == [TYPED, BORN, PLACE]
        assert (f"{SEEN} textbox" in screen, repr(f"{SEEN} textbox") in screen) == (False, True)
        assert [code in screen for code in codes if code is not None] == [True, True]

    def test_a_pipe_and_json(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        code = AttendedDesk(runs.attention, runs.files).code(stopped.attention_id, Action.CONTINUE)
        said = [
            told(tmp_path, "show", stopped.attention_id),
            told(tmp_path, "show", stopped.attention_id, "--json"),
            told(tmp_path, "list"),
        ]

        assert [word for word in CANARIES if any(word in each for each in said)] == []
        assert code is not None
        assert [code in each for each in said] == [False] * 3

    def test_the_picture_in_a_file_of_ones_own(self, tmp_path: Path, runs: StoppedRuns) -> None:
        asked, picture = ("show", runs.stop().attention_id, "--frame", "stopped.png"), tmp_path / "stopped.png"
        for form in ((), ("--json",)):
            assert told(tmp_path, *asked, *form, code=1) == ""
            assert not picture.exists()

        at_terminal(tmp_path, "attend", *asked, "--runs-dir", "runs")

        assert picture.read_bytes().startswith(b"\x89PNG")
        assert (picture.stat().st_mode & 0o777, bool(FRAME)) == (0o600, True)


class TestTheConsoleIsForWhoSeesItsTerminal:
    """Its address lets one browser in to everything that was seen: it stands at a terminal, and goes into no pipe."""

    @pytest.mark.parametrize("more", [(), ("--attend",), ("--attend", "--allow-actions")])
    def test_without_a_terminal_nothing_is_served(
        self, tmp_path: Path, runs: StoppedRuns, more: tuple[str, ...]
    ) -> None:
        runs.stop()

        said = surehand(tmp_path, "console", *more, "--runs-dir", "runs")

        assert (said.code, said.out) == (1, "")

    def test_at_a_terminal(self, tmp_path: Path, runs: StoppedRuns) -> None:
        runs.stop()
        shown = at_terminal(tmp_path, "console", "--runs-dir", "runs", answers=(("/#", "\x03"),))

        assert "http://127.0.0.1:" in shown.screen


class TestDecidingIsAPersonsAct:
    """Without a terminal, or without the person's yes, nothing is decided."""

    @pytest.mark.parametrize("action", Action)
    def test_without_a_terminal(self, tmp_path: Path, runs: StoppedRuns, action: Action) -> None:
        stopped = runs.stop()

        assert told(tmp_path, action.value, stopped.attention_id, code=1) == ""
        assert decided(runs, stopped) == []

    @pytest.mark.parametrize("answer", ["n", ""])
    def test_without_a_yes(self, tmp_path: Path, runs: StoppedRuns, answer: str) -> None:
        stopped = runs.stop()
        command = ("attend", "reject", stopped.attention_id, "--runs-dir", "runs")
        shown = at_terminal(tmp_path, *command, answers=(("End this run for good?", answer),))

        assert (shown.code, decided(runs, stopped)) == (1, [])

    def test_what_is_not_allowed_is_refused_before_anybody_is_asked(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop(delivery=DeliveryState.UNKNOWN)
        shown = at_terminal(tmp_path, "attend", "reject", stopped.attention_id, "--runs-dir", "runs")

        assert (shown.code, "action_not_allowed" in shown.screen) == (1, True)
        assert "[y/N]" not in shown.screen


class TestADecisionAtATerminal:
    """It is asked about, kept, and waited for; the exit code says what became of it."""

    @pytest.mark.parametrize(
        ("action", "status"),
        [(Action.REJECT, "rejected"), (Action.TEACH, "needs_demonstration"), (Action.ESCALATE, "escalated")],
    )
    def test_what_ends_at_once(self, tmp_path: Path, runs: StoppedRuns, action: Action, status: str) -> None:
        stopped = runs.stop()
        command = ("attend", action.value, stopped.attention_id, "--runs-dir", "runs")
        shown = at_terminal(tmp_path, *command, answers=(("[y/N]", "y"),))
        (decision,) = runs.attention.decisions(stopped.run_id)

        assert (shown.code, decision.status.value) == (0, status)
        assert (decision.door.value, status in shown.screen) == ("terminal", True)

    def test_what_nobody_carries_out(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        command = ("attend", "continue", stopped.attention_id, "--wait", "0", "--runs-dir", "runs")
        shown = at_terminal(tmp_path, *command, answers=(("[y/N]", "y"),))

        assert (shown.code, decided(runs, stopped)) == (6, ["prepared"])
        assert [each.value for each in runs.perform()] == ["completed"]


class TestAWindowIsWishedForAndATermRenewed:
    """Both are left to whoever attends; a run that waits no longer gets neither."""

    def test_open(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop(window=False)
        told(tmp_path, "open", stopped.attention_id)

        assert [each.pause_id for each in runs.attention.openings()] == [stopped.attention_id]

    def test_renew(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        runs.let_expire(stopped)
        before: Any = json.loads(told(tmp_path, "show", stopped.attention_id, "--json"))
        told(tmp_path, "renew", stopped.attention_id)
        after: Any = json.loads(told(tmp_path, "show", stopped.attention_id, "--json"))

        assert (before["status"], before["allowed_actions"], after["status"]) == ("expired", [], "open")
