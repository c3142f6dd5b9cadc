"""Every kind of store answers as the one in memory does, opened again at any time and by any number of processes."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis.stateful import run_state_machine_as_test

from support.store_threads import UnguardedStore, threads_race
from support.stores import (
    BROKEN,
    DONE,
    GOING_ON,
    WRONG,
    OneMemory,
    OpensStores,
    Race,
    delivers_or_settles,
    draft,
    key,
    machine,
    opens_claims,
    opens_memory,
    opens_naive,
    opens_sqlite,
    race,
    refusal,
    reserves_other_payload,
    reserves_same_request,
    result_of,
    run_id,
    started,
)
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import MAX_ATTEMPTS, FailedCheck
from surehand.core.request.gate import Decision, RetryLimit, Start, decide
from surehand.core.request.record import RunRecord
from surehand.shell.store.base import (
    RunStore,
    StoreCorruptError,
    StoreError,
    StoreNewerError,
    StoreOfOtherKindError,
    StoreRestoredError,
    StoreUnavailableError,
    kept_result,
    require_whole_history,
    result_text,
)
from surehand.shell.store.memory import MemoryStore

DURABLE = [pytest.param(opens_sqlite, id="sqlite"), pytest.param(opens_claims, id="claims")]
ALL = [*DURABLE, pytest.param(OneMemory(), id="memory")]


class TestSameAnswers:
    """A store answers every call as the store in memory does, in whatever order, and after every reopening."""

    @pytest.mark.parametrize("opens", ALL)
    def test_agrees_with_the_oracle(self, opens: OpensStores) -> None:
        run_state_machine_as_test(machine(opens))

    @pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
    def test_a_wrong_store_is_caught(self, kind: type[MemoryStore]) -> None:
        driven = machine(OneMemory(kind))()
        with pytest.raises(AssertionError):
            WRONG[kind](driven)

    @pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
    def test_a_right_store_passes_where_a_wrong_one_is_caught(self, kind: type[MemoryStore]) -> None:
        driven = machine(OneMemory())()
        WRONG[kind](driven)
        driven.teardown()


class TestOnePassage:
    """One request id: at most one attempt starts, and its boundary is passed or its run settled, never both."""

    @pytest.mark.parametrize("processes", [2, 4])
    @pytest.mark.parametrize("opens", DURABLE)
    def test_one_of_many_processes_starts_a_request(self, opens: OpensStores, tmp_path: Path, processes: int) -> None:
        rounds = race(Race(opens, tmp_path, reserves_same_request, 60), processes)

        for moves in rounds:
            assert ["Replay"] * (processes - 1) + ["Start"] == sorted(move.answer for move in moves)
            assert len({move.run_id for move in moves}) == 1

    @pytest.mark.parametrize("opens", DURABLE)
    def test_one_of_many_payloads_starts(self, opens: OpensStores, tmp_path: Path) -> None:
        rounds = race(Race(opens, tmp_path, reserves_other_payload, 40), 3)

        for moves in rounds:
            assert ["Conflict", "Conflict", "Start"] == sorted(move.answer for move in moves)
            assert len({move.run_id for move in moves}) == 1

    @pytest.mark.parametrize("processes", [2, 4])
    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_run_is_delivered_or_settled(self, opens: OpensStores, tmp_path: Path, processes: int) -> None:
        store = opens(tmp_path)
        for number in range(60):
            store.reserve(draft(number, f"entry-{number}"))
        rounds = race(Race(opens, tmp_path, delivers_or_settles, 60), processes)

        for number, moves in enumerate(rounds):
            won = [move.answer for move in moves if move.answer.endswith("True")]
            assert won in (["delivered True"], ["settled True"])
            record = store.load(run_id(number))
            assert record is not None
            assert (record.phase is Phase.DELIVERING) == (won == ["delivered True"])
        store.close()

    def test_look_then_act_is_caught(self, tmp_path: Path) -> None:
        rounds = race(Race(opens_naive, tmp_path, reserves_same_request, 3), 2)

        assert any([move.answer for move in moves] == ["Start", "Start"] for moves in rounds)


#: What no caller may ask of a store that holds run 7.
MISUSES: dict[str, Callable[[RunStore], object]] = {
    "run id used before": lambda store: store.reserve(draft(7, "entry-2")),
    "attempt chosen by the caller": lambda store: store.reserve(draft(8, attempt=1)),
    "refusal without a result": lambda store: store.record_refusal(draft(8)),
    "draft of a run under way": lambda store: store.reserve(draft(8, phase=Phase.STARTED)),
    "draft without a run id": lambda store: store.reserve(draft(8, run_id="run_8")),
    "refusal that made an attempt": lambda store: store.record_refusal(evolve(refusal(8), attempt=1)),
    "refusal with another one's result": lambda store: store.record_refusal(evolve(refusal(8), run_id=run_id(9))),
    "refusal of a reserved run": lambda store: store.record_refusal(refusal(7)),
    "result of another run": lambda store: store.finish(run_id(7), "a" * 32, result_of(draft(8), DONE)),
    "result that is no end": lambda store: store.finish(run_id(7), "a" * 32, result_of(draft(7), GOING_ON)),
    "result of another run by a stranger": lambda store: store.finish(run_id(7), "f" * 32, result_of(draft(8), DONE)),
    "settled as another run where it never stood": lambda store: store.settle_owner_gone(
        draft(7, phase=Phase.DELIVERING), result_of(draft(8), DONE)
    ),
    "settled as another run": lambda store: store.settle_owner_gone(draft(7), result_of(draft(8), DONE)),
}


class TestMisuse:
    """What no caller may ask is refused before anything is written."""

    @pytest.mark.parametrize("opens", [*DURABLE, pytest.param(opens_memory, id="memory")])
    @pytest.mark.parametrize("misuse", MISUSES)
    def test_is_refused(self, opens: OpensStores, tmp_path: Path, misuse: str) -> None:
        store = opens(tmp_path)
        store.reserve(draft(7))
        before = store.recent(10)

        with pytest.raises(ValueError, match=r"run|draft|refusal"):
            MISUSES[misuse](store)

        assert before == store.recent(10)
        store.close()

    @pytest.mark.parametrize("opens", [*DURABLE, pytest.param(opens_memory, id="memory")])
    def test_nobody_moves_a_run_that_was_never_reserved(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        never = draft(7)
        end = result_of(never, DONE)

        assert not store.mark_started(never.run_id, never.owner)
        assert not store.begin_delivery(never.run_id, never.owner)
        assert not store.finish(never.run_id, never.owner, end)
        assert not store.settle_owner_gone(never, end)
        assert not store.note_late(never.run_id, never.owner, end)
        assert store.load(never.run_id) is None
        store.close()

    @pytest.mark.parametrize("opens", [*DURABLE, pytest.param(opens_memory, id="memory")])
    def test_a_run_is_settled_only_as_its_owner_left_it(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        record = started(store.reserve(draft(7)))
        end = result_of(record, DONE)

        assert not store.settle_owner_gone(evolve(record, owner="f" * 32), end)
        assert not store.settle_owner_gone(evolve(record, phase=Phase.STARTED), end)
        assert store.settle_owner_gone(record, end)
        ended = store.load(record.run_id)
        assert ended is not None
        assert not store.settle_owner_gone(ended, end)
        assert ended == store.load(record.run_id)
        store.close()

    @pytest.mark.parametrize("opens", DURABLE)
    def test_a_closed_store_refuses(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        record = started(store.reserve(draft(1)))
        store.close()
        store.close()

        with pytest.raises(StoreUnavailableError):
            store.load(record.run_id)
        with pytest.raises(StoreUnavailableError):
            store.begin_delivery(record.run_id, record.owner)

    @pytest.mark.parametrize("opens", DURABLE)
    @pytest.mark.parametrize("name", ["", "../../etc/passwd", "run_", "run_x\0y", "run_\ud800"])
    def test_what_is_no_run_id_names_no_run(self, opens: OpensStores, tmp_path: Path, name: str) -> None:
        store = opens(tmp_path)
        store.reserve(draft(1))

        assert store.load(name) is None
        assert store.recent(5, before=name) == ()
        assert not store.begin_delivery(name, "a" * 32)
        store.close()


class TestRetries:
    """A request that is known to have written nothing is tried five times, each kept under its number, and no more."""

    @pytest.mark.parametrize("opens", [*DURABLE, pytest.param(opens_memory, id="memory")])
    def test_no_sixth_attempt_starts(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        for number in range(1, MAX_ATTEMPTS + 1):
            record = started(store.reserve(draft(number)))
            store.finish(record.run_id, record.owner, result_of(record, BROKEN))

            assert number == record.attempt
        assert isinstance(store.reserve(draft(9)), RetryLimit)
        assert [1, 2, 3, 4, 5] == [record.attempt for record in store.attempts(key("entry-1"))]
        store.close()


class TestThreads:
    """Any number of threads of one process get what they would have got one after another."""

    @pytest.mark.parametrize(
        ("opens", "rounds"), [pytest.param(opens_memory, 100, id="memory"), pytest.param(opens_sqlite, 20, id="sqlite")]
    )
    def test_one_of_them_makes_each_move(self, opens: OpensStores, tmp_path: Path, rounds: int) -> None:
        store = opens(tmp_path)
        moves = threads_race(store, threads=4, rounds=rounds)
        store.check_health()
        store.close()

        once = dict.fromkeys(("reserved", "refused", "finished", "told late", "delivered or settled"), rounds)
        assert {**once, "read": 4 * rounds, "forgotten": 21 * rounds} == moves

    def test_a_request_is_not_judged_twice_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second reservation comes while the first is decided about, before anything of it is kept."""
        store = MemoryStore()
        decisions: list[Decision] = []
        second = threading.Thread(target=lambda: decisions.append(store.reserve(draft(2))))

        def slowly(attempts: tuple[RunRecord, ...], asked: RunRecord) -> Decision:
            decision = decide(attempts, asked)
            if asked == draft(1):
                second.start()
                second.join(timeout=1)
            return decision

        monkeypatch.setattr("surehand.shell.store.memory.decide", slowly)
        decisions.append(store.reserve(draft(1)))
        second.join()

        assert 1 == sum(isinstance(each, Start) for each in decisions)

    def test_a_store_without_a_guard_is_caught(self) -> None:
        assert threads_race(UnguardedStore(), threads=4, rounds=1)["reserved"] > 1


class TestHistory:
    """The attempts under one request are numbered from 1 without a gap; anything else is damage."""

    @pytest.mark.parametrize("numbers", [(), (1,), (1, 2, 3)])
    def test_a_whole_one(self, numbers: tuple[int, ...]) -> None:
        attempts = tuple(draft(number, attempt=number) for number in numbers)

        assert attempts == require_whole_history(attempts)

    @pytest.mark.parametrize("numbers", [(2,), (1, 3), (2, 1), (1, 1), (0, 1)])
    def test_one_with_a_gap(self, numbers: tuple[int, ...]) -> None:
        with pytest.raises(StoreCorruptError):
            require_whole_history(tuple(draft(place, attempt=number) for place, number in enumerate(numbers)))


class TestKeptResults:
    """A result is kept in one form, and what is read back is this run's end or nothing."""

    def test_the_form(self) -> None:
        text = result_text(result_of(draft(1), DONE))

        assert text.startswith('{"contract":"surehand.run-result/v1","run_id":"' + run_id(1) + '","outcome":"done",')
        assert result_of(draft(1), DONE) == kept_result(text, run_id(1))

    def test_anything_else_is_none(self) -> None:
        goes_on = result_text(result_of(draft(1), GOING_ON))
        other = result_text(result_of(draft(2), DONE))

        assert [None] * 6 == [kept_result(text, run_id(1)) for text in ("", "{", "null", "[" * 100_000, goes_on, other)]


class TestErrors:
    """Each error of a store names what is not in order, in a closed code."""

    @pytest.mark.parametrize(
        ("error", "check"),
        [
            (StoreError, FailedCheck.STORE_UNAVAILABLE),
            (StoreUnavailableError, FailedCheck.STORE_UNAVAILABLE),
            (StoreCorruptError, FailedCheck.STORE_CORRUPT),
            (StoreOfOtherKindError, FailedCheck.STORE_OF_OTHER_KIND),
            (StoreNewerError, FailedCheck.STORE_NEWER),
            (StoreRestoredError, FailedCheck.STORE_RESTORED),
        ],
    )
    def test_names_its_check(self, error: type[StoreError], check: FailedCheck) -> None:
        assert check is error("text").check
