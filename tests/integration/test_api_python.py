"""The Python API: five lines embed it, its import is light, and both forms answer alike.

Laws:

- Importing the face loads no library that is not used.
- A call that is not understood raises and runs nothing; every other call answers with a result.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

import surehand
from support.service import DEADLINE, INPUTS, WORKFLOW, Bench, held, wait_for
from surehand import (
    AsyncSurehand,
    BadCallError,
    ConfigError,
    NotARequestIdError,
    Outcome,
    Reason,
    Surehand,
    UnknownRunError,
)

NOBODY = "run_" + "0" * 32


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Surehand]:
    with Surehand.open(tmp_path, "simulated") as hand:
        yield hand


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after the statement."""
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=240)
    return {name.partition(".")[0] for name in json.loads(told.stdout)}


class TestTheFaceIsLight:
    """Nothing heavy is loaded before it is used, and every name of the face is there when it is used."""

    HEAVY: ClassVar = {
        "mcp",
        "playwright",
        "cryptography",
        "cattrs",
        "returns",
        "click",
        "rich",
        "starlette",
        "sqlite3",
        "attrs",
    }

    def test_the_import_loads_nothing_heavy(self) -> None:
        assert set() == self.HEAVY & modules_after("import surehand")

    def test_a_use_would_be_seen(self) -> None:
        assert {"attrs", "sqlite3"} <= modules_after("import surehand, sqlite3; surehand.RunResult")

    def test_opening_loads_neither_browser_nor_protocol(self) -> None:
        assert set() == {"mcp", "playwright", "rich", "starlette"} & modules_after(
            "import surehand; surehand.Surehand.open('unused', 'simulated')"
        )

    def test_every_name_is_there(self) -> None:
        assert [] == [name for name in surehand.__all__ if not hasattr(surehand, name)]
        assert set(surehand.__all__) <= set(dir(surehand))

    def test_another_name_is_not(self) -> None:
        assert not hasattr(surehand, "no_such_name")


class TestFiveLinesEmbedIt:
    """Open, run, look at the outcome."""

    def test_an_entry_is_made_and_found_again(self, hand: Surehand) -> None:
        result = held(hand.run_workflow(WORKFLOW, INPUTS, request_id="entry-1"))

        assert (Outcome.DONE, Reason.SAVED_AND_CHECKED) == (result.outcome, result.reason)
        assert result == hand.get_run(result.run_id)
        assert hand.run_workflow(WORKFLOW, INPUTS, request_id="entry-1").replayed

    def test_the_workflows_are_listed(self, hand: Surehand) -> None:
        assert [WORKFLOW] == [card.name for card in hand.list_workflows()]

    def test_a_folder_that_is_a_file_is_told_in_the_result(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")

        with Surehand.open(tmp_path / "file", "simulated") as hand:
            result = held(hand.run_workflow(WORKFLOW, INPUTS, "entry-1"))

        assert (Reason.PLATFORM_ERROR, False) == (result.reason, result.record_saved)
        assert "in the way" == (tmp_path / "file").read_text()


class TestACallThatIsNotUnderstoodRunsNothing:
    """Wrong kinds raise before anything is recorded."""

    @pytest.mark.parametrize(
        "call",
        [
            (WORKFLOW, INPUTS, 7, 1),
            (7, INPUTS, "entry-1", 1),
            (WORKFLOW, ["note"], "entry-1", 1),
            (WORKFLOW, INPUTS, "entry-1", -1),
            (WORKFLOW, INPUTS, "entry-1", 601),
            (WORKFLOW, INPUTS, "entry-1", True),
            (WORKFLOW, INPUTS, "entry-1", float("nan")),
        ],
    )
    def test_wrong_arguments(self, bench: Bench, call: tuple[str, dict[str, str], str, float]) -> None:
        with pytest.raises(BadCallError):
            Surehand(bench.service).run_workflow(*call)

        assert () == bench.store.recent(1)

    def test_a_request_id_outside_the_pattern(self, hand: Surehand) -> None:
        with pytest.raises(NotARequestIdError):
            hand.run_workflow(WORKFLOW, INPUTS, "a b")

    def test_a_run_that_is_not_known(self, hand: Surehand) -> None:
        with pytest.raises(UnknownRunError):
            hand.get_run(NOBODY)

    def test_a_setting_that_is_not_understood(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError):
            Surehand.open(tmp_path, "no such engine")


class TestTheWaitBoundsTheWaitOnly:
    """Past the wait the answer is running, and the run goes on."""

    def test_a_wait_that_ends_first(self, bench: Bench) -> None:
        hand = Surehand(bench.service)

        first = hand.run_workflow(WORKFLOW, INPUTS, "entry-1", wait_seconds=0.01)
        bench.engine.release()

        assert Outcome.RUNNING is held(first).outcome
        assert Outcome.DONE is hand.get_run(first.run_id, wait_seconds=DEADLINE).outcome

    def test_a_canceled_run_says_so(self, bench: Bench) -> None:
        hand = Surehand(bench.service)
        run_id = hand.run_workflow(WORKFLOW, INPUTS, "entry-1", wait_seconds=0).run_id

        hand.cancel_run(run_id)
        bench.engine.release()

        assert Reason.CANCELED is hand.get_run(run_id, DEADLINE).reason


class TestTheAsyncTwinAnswersAlike:
    """The same calls for asyncio; a wait blocks neither the loop nor a thread."""

    def test_an_entry_is_made_and_found_again(self, tmp_path: Path) -> None:
        async def talk() -> None:
            async with AsyncSurehand.open(tmp_path, "simulated") as hand:
                assert [WORKFLOW] == [card.name for card in await hand.list_workflows()]
                result = held(await hand.run_workflow(WORKFLOW, INPUTS, "entry-1"))
                assert Outcome.DONE is result.outcome
                assert result == await hand.get_run(result.run_id)
                assert (await hand.run_workflow(WORKFLOW, INPUTS, "entry-1")).replayed
                with pytest.raises(UnknownRunError):
                    await hand.get_run(NOBODY)

        asyncio.run(talk())

    def test_many_waits_leave_the_loop_free(self, bench: Bench) -> None:
        async def talk() -> None:
            hand = AsyncSurehand(bench.service)
            first = await hand.run_workflow(WORKFLOW, INPUTS, "entry-1", wait_seconds=0)
            waits = [asyncio.create_task(hand.get_run(first.run_id, DEADLINE)) for _ in range(300)]
            await asyncio.to_thread(wait_for, bench.engine.entered)
            waits[0].cancel()
            bench.engine.release()
            ends = await asyncio.gather(*waits, return_exceptions=True)
            assert isinstance(ends[0], asyncio.CancelledError)
            assert [Outcome.DONE] * 299 == [end.outcome for end in ends if isinstance(end, surehand.RunResult)]

        asyncio.run(talk())

    def test_a_wait_that_ends_first_and_a_canceled_run(self, bench: Bench) -> None:
        async def talk() -> None:
            hand = AsyncSurehand(bench.service)
            first = await hand.run_workflow(WORKFLOW, INPUTS, "entry-1", wait_seconds=0.01)
            assert Outcome.RUNNING is first.outcome
            await hand.cancel_run(first.run_id)
            bench.engine.release()
            assert Reason.CANCELED is (await hand.get_run(first.run_id, DEADLINE)).reason

        asyncio.run(talk())
