"""Who performs: one worker owns the windows, on the one thread that executes runs, while every door stays free."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.attended_bench import AttendedBench, attended_bench
from support.attended_worker import HELD, HELD_LATER, MODULE, PLAIN
from support.browser import ProcessName, eventually, family
from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import DecisionStatus, Finding, Receipt
from surehand.core.attention.pause import Action
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.shell.engines.browser import executor
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore


@pytest.fixture
def office(tmp_path: Path) -> Iterator[AttendedBench]:
    """A service with a worker that attends."""
    with attended_bench(tmp_path) as opened:
        yield opened


def let_go(office: AttendedBench) -> None:
    """Let what is held go on."""
    office.app.with_suffix(".go").touch()


def is_held(office: AttendedBench) -> bool:
    """Whether the worker stands in a run that is held."""
    return office.app.with_suffix(".reached").exists()


class TestInterleaving:
    """The worker does one thing at a time, in the order in which it came, and nobody else waits for it."""

    def test_a_run_is_executed_while_a_pause_is_open(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note="stops")
        other = office.bench.finished("second", note=PLAIN)
        item = office.item_of(stopped.run_id)
        request = office.ask(Action.CONTINUE, item)

        assert (other.outcome, item.has_window) == (Outcome.DONE, True)
        assert office.ended(request, stopped.run_id).status is DecisionStatus.COMPLETED
        assert office.writes() == [PLAIN, "stops"]

    def test_a_continue_waits_for_the_run_at_work_and_its_door_does_not(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note="stops")
        item = office.item_of(stopped.run_id)
        running = office.bench.call("second", note=HELD)
        assert eventually(lambda: is_held(office))
        request = office.ask(Action.CONTINUE, item)
        meanwhile = office.again(request, Action.CONTINUE)
        before = office.writes()
        let_go(office)
        other, receipt = office.bench.end_of(running), office.ended(request, stopped.run_id)

        assert (meanwhile.status, before) == (DecisionStatus.PREPARED, [])
        assert (other.outcome, receipt.status) == (Outcome.DONE, DecisionStatus.COMPLETED)
        assert office.writes() == [HELD, "stops"]

    def test_every_door_answers_while_a_run_goes_on_after_a_decision(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note=HELD_LATER)
        request = office.ask(Action.CONTINUE, office.item_of(stopped.run_id))
        assert eventually(lambda: office.again(request, Action.CONTINUE).status is DecisionStatus.DELIVERY_STARTED)
        answer, cards = office.answer(stopped.run_id), office.bench.service.list_workflows()
        second = office.ask(Action.REJECT, office.desk.items(1).items[0])
        refused = office.desk.refused(1)[0]
        let_go(office)

        assert (answer.outcome, len(cards)) == (Outcome.RUNNING, 1)
        assert (office.desk.receipt(second.idempotency_key), refused.refusal) == (None, DecisionRefusal.IN_PROGRESS)
        assert office.ended(request, stopped.run_id).status is DecisionStatus.COMPLETED

    def test_two_continues_under_two_keys_are_one(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note="stops")
        item = office.item_of(stopped.run_id)
        first, second = office.ask(Action.CONTINUE, item), office.ask(Action.CONTINUE, item)
        receipt = office.ended(first, stopped.run_id)

        assert (receipt.status, office.desk.receipt(second.idempotency_key)) == (DecisionStatus.COMPLETED, None)
        assert office.writes() == ["stops"]


class TestAfterAReview:
    """What was reviewed is never retryable, under the same request id or by a repeat of the decision."""

    def test_the_same_request_id_runs_nothing_more(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note="stops")
        request = office.ask(Action.CONTINUE, office.item_of(stopped.run_id))
        office.ended(request, stopped.run_id)
        repeated = office.bench.finished("first", note="stops")

        assert (repeated.outcome, repeated.replayed, repeated.run_id) == (Outcome.DONE, True, stopped.run_id)
        assert office.writes() == ["stops"]

    def test_a_rejected_run_stays_ended(self, office: AttendedBench) -> None:
        stopped = office.bench.finished("first", note="stops")
        request = office.ask(Action.REJECT, office.item_of(stopped.run_id))
        office.ended(request, stopped.run_id)
        repeated = office.bench.finished("first", note="stops")

        assert (repeated.reason, repeated.safe_to_retry) == (Reason.STOPPED_BY_PERSON, False)
        assert office.writes() == []


class TestTheEndOfAServer:
    """A server that ends leaves its pauses, without a window, and another one's worker opens it again."""

    def test_a_window_goes_with_its_worker(self, tmp_path: Path) -> None:
        with attended_bench(tmp_path) as first:
            stopped = first.bench.finished("first", note="stops")
            request = first.ask(Action.TEACH, first.item_of(stopped.run_id))
            taught = first.ended(request, stopped.run_id)
        with attended_bench(tmp_path) as second:
            before = second.item_of(stopped.run_id)
            second.desk.ask_opening(before.id)
            assert eventually(lambda: second.item_of(stopped.run_id).has_window)
            after = second.item_of(stopped.run_id)
            receipt = second.ended(second.ask(Action.CONTINUE, after), stopped.run_id)
            writes = second.writes()

        assert (taught.status, before.has_window) == (DecisionStatus.NEEDS_DEMONSTRATION, False)
        assert Action.CONTINUE not in before.allowed_actions
        assert (receipt.status, writes) == (DecisionStatus.COMPLETED, ["stops"])


class TestAWorkerThatIsGone:
    """A decision or a wish starts another one at once; while nothing waits, none is started."""

    def test_a_wish_to_open_the_app_again(self, tmp_path: Path) -> None:
        others = workers()
        with attended_bench(tmp_path) as office:
            stopped = office.bench.finished("first", note="stops")
            worker = only_worker(others)
            os.kill(worker.number, signal.SIGKILL)
            assert eventually(lambda: not office.item_of(stopped.run_id).has_window)
            gone = office.item_of(stopped.run_id)
            office.desk.ask_opening(gone.id)
            assert eventually(lambda: office.item_of(stopped.run_id).has_window)
            another = only_worker(others)
            receipt = office.ended(office.ask(Action.CONTINUE, office.item_of(stopped.run_id)), stopped.run_id)

        assert worker != another
        assert (receipt.status, office.writes()) == (DecisionStatus.COMPLETED, ["stops"])

    def test_a_decision_that_nobody_took_up(self, tmp_path: Path) -> None:
        with attended_bench(tmp_path, kill="claim.before") as office:
            stopped = office.bench.finished("first", note="stops")
            request = office.ask(Action.CONTINUE, office.item_of(stopped.run_id))

            def receipt() -> Receipt | None:
                return office.desk.receipt(request.idempotency_key)

            assert eventually(lambda: (found := receipt()) is not None and found.final)
            ended = receipt()

        assert ended is not None
        assert (ended.status, ended.reason) == (DecisionStatus.HALTED, DecisionRefusal.WINDOW_GONE)

    def test_nothing_waits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        looks: list[Path] = []
        others = workers()

        def look(folder: Path, *, read_only: bool) -> RunStore:
            looks.append(folder)
            return open_store(folder, read_only=read_only)

        monkeypatch.setattr(executor, "open_store", look)
        monkeypatch.setattr(executor, "WAKE_SECONDS", 0.01)
        with attended_bench(tmp_path) as office:
            office.bench.finished("first", note="stops")
            os.kill(only_worker(others).number, signal.SIGKILL)
            assert eventually(lambda: len(looks) > 3)
            assert eventually(lambda: set(workers()) <= set(others))


def workers() -> list[ProcessName]:
    """The workers below this process."""
    return [each for each in family(os.getpid()) if MODULE in each.command]


def only_worker(others: list[ProcessName]) -> ProcessName:
    """The one worker below this process beside these."""
    (worker,) = [each for each in workers() if each not in others]
    return worker


class TestAfterADeathBehindTheBoundary:
    """A run whose worker died behind the boundary is read again by another one, by what was sealed before the save."""

    def test_a_run_that_nobody_decided_about(self, tmp_path: Path) -> None:
        with attended_bench(tmp_path, kill="write.after") as office:
            doubtful = office.bench.finished("first", note=PLAIN)
            item = office.item_of(doubtful.run_id)
            receipt = office.ended(office.ask(Action.RECONCILE, item), doubtful.run_id)
            kept = office.desk.evidence(item.id)

        assert (doubtful.outcome, office.writes()) == (Outcome.NOT_SURE_IF_SAVED, [PLAIN])
        assert (receipt.status, receipt.finding) == (DecisionStatus.RECONCILED, Finding.SAVED_AS_INTENDED)
        assert kept is not None
        assert [value.text for value in kept.identity] == ["SYN-1042", "Ada Example", "1901-03-14"]
