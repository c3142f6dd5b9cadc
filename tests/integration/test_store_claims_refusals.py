"""Claim files refuse what they cannot trust or cannot do: every call, every way of opening, every half-made state."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.stores import BROKEN, DONE, draft, key, refusal, result_of, run_id, started
from surehand.core.outcome.result import Mode
from surehand.core.request.gate import Replay
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.locks import Gate
from surehand.shell.store.base import (
    StoreCorruptError,
    StoreOfOtherKindError,
    StoreRestoredError,
    StoreUnavailableError,
)
from surehand.shell.store.claims import ClaimStore
from surehand.shell.store.restored import accept_restored
from surehand.shell.store.sqlite import SqliteStore

Call = Callable[[ClaimStore], object]

#: Every call that changes something, on a store in which run 1 is reserved.
WRITES: dict[str, Call] = {
    "reserve": lambda store: store.reserve(draft(9, "entry-9")),
    "record_refusal": lambda store: store.record_refusal(refusal(9)),
    "mark_started": lambda store: store.mark_started(run_id(1), draft(1).owner),
    "begin_delivery": lambda store: store.begin_delivery(run_id(1), draft(1).owner),
    "finish": lambda store: store.finish(run_id(1), draft(1).owner, result_of(draft(1), DONE)),
    "settle_owner_gone": lambda store: store.settle_owner_gone(draft(1, attempt=1), result_of(draft(1), BROKEN)),
    "note_late": lambda store: store.note_late(run_id(1), draft(1).owner, result_of(draft(1), DONE)),
}

#: Every call that reads.
READS: dict[str, Call] = {
    "late_report": lambda store: store.late_report(run_id(1)),
    "old_refusals": lambda store: store.old_refusals(0),
    "forget_refusals": lambda store: store.forget_refusals(0),
    "load": lambda store: store.load(run_id(1)),
    "attempts": lambda store: store.attempts(key("entry-1")),
    "recent": lambda store: store.recent(5),
    "unfinished": lambda store: list(store.unfinished()),
    "check_health": lambda store: store.check_health(),
    "begin_epoch": lambda store: store.begin_epoch(),
}

CALLS = {**WRITES, **READS}


def reserved(folder: Path) -> ClaimStore:
    """A store in which run 1 is reserved."""
    store = ClaimStore.open(folder)
    store.reserve(draft(1))
    return store


def layout(folder: Path) -> list[str]:
    """What the layout says: version, name and epoch."""
    return (folder / "claims" / "layout").read_text().split(" ")


class TestEveryCall:
    """A store that is closed, for reading only or on a broken disk says so, whatever is called."""

    @pytest.mark.parametrize("call", CALLS)
    def test_of_a_closed_store(self, tmp_path: Path, call: str) -> None:
        store = ClaimStore.open(tmp_path)
        store.close()

        with pytest.raises(StoreUnavailableError):
            CALLS[call](store)

    @pytest.mark.parametrize("call", WRITES)
    def test_that_writes_through_a_store_for_reading(self, tmp_path: Path, call: str) -> None:
        reserved(tmp_path).close()
        before = sorted((tmp_path / "claims").rglob("*"))

        with closing(ClaimStore.open(tmp_path, read_only=True)) as store, pytest.raises(StoreUnavailableError):
            WRITES[call](store)
        assert before == sorted((tmp_path / "claims").rglob("*"))

    def test_reading_where_nothing_is_makes_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(StoreUnavailableError):
            ClaimStore.open(tmp_path, read_only=True)
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize("call", [call for call in CALLS if call not in {"old_refusals", "forget_refusals"}])
    def test_on_a_disk_that_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
        store = reserved(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(os.path, "lexists", _fails)
            with pytest.raises(StoreUnavailableError):
                CALLS[call](store)
        store.close()

    def test_opening_on_a_disk_that_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(os.path, "lexists", _fails)
            with pytest.raises(StoreUnavailableError):
                ClaimStore.open(tmp_path)

    def test_notes_that_cannot_be_read(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            (tmp_path / "claims.keys").unlink()
            (tmp_path / "claims.keys").mkdir()
            with pytest.raises(StoreUnavailableError):
                store.noted()


def _fails(_: object) -> bool:
    raise OSError


class TestDamagedClaims:
    """A claim that another one stands in for, or that says what cannot be, is damage."""

    @pytest.mark.parametrize("attempt", [-1, 6])
    def test_an_attempt_that_no_request_has(self, tmp_path: Path, attempt: int) -> None:
        with closing(reserved(tmp_path)) as store:
            claim = tmp_path / "claims" / "runs" / f"{run_id(1)}.0"
            text = json.loads(claim.read_bytes().partition(b"\n")[0])
            claim.write_text(json.dumps({**text, "attempt": attempt}))
            with pytest.raises(StoreCorruptError):
                store.load(run_id(1))

    def test_a_value_that_does_not_agree_with_the_sum(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            claim = tmp_path / "claims" / "runs" / f"{run_id(1)}.0"
            claim.write_bytes(claim.read_bytes().replace(draft(1).owner.encode(), b"f" * 32))
            with pytest.raises(StoreCorruptError):
                store.load(run_id(1))

    def test_a_claim_of_the_first_layout_has_no_sum_and_is_read(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            before = store.load(run_id(1))
            claim = tmp_path / "claims" / "runs" / f"{run_id(1)}.0"
            claim.write_bytes(claim.read_bytes().partition(b"\n")[0])

            assert before == store.load(run_id(1))

    def test_an_attempt_of_another_request(self, tmp_path: Path) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            for number, name in ((1, "entry-1"), (2, "entry-1"), (3, "entry-2"), (4, "entry-2")):
                record = started(store.reserve(draft(number, name)))
                store.finish(record.run_id, record.owner, result_of(record, BROKEN))
            names = tmp_path / "claims" / "attempts"
            (names / f"{key('entry-2')}:2").replace(names / f"{key('entry-1')}:2")

            with pytest.raises(StoreCorruptError):
                store.attempts(key("entry-1"))
            with pytest.raises(StoreCorruptError):
                store.check_health()

    def test_a_refusal_without_its_end_is_none(self, tmp_path: Path) -> None:
        with closing(ClaimStore.open(tmp_path)) as store:
            store.record_refusal(refusal(1))
            assert [run_id(1)] == [record.run_id for record in store.recent(5)]
            (tmp_path / "claims" / "runs" / f"{run_id(1)}.1").unlink()

            assert store.load(run_id(1)) is None
            assert () == store.recent(5)

    def test_a_file_outside_of_the_runs_is_none(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            store.reserve(draft(2, "entry-2"))
            claims = tmp_path / "claims"
            os.link(claims / "runs" / f"{run_id(2)}.0", claims / "elsewhere.0")

            assert store.load("../elsewhere") is None
            assert () == store.recent(5, before="../elsewhere")

    def test_a_late_report_that_is_no_text_is_none(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            (tmp_path / "claims" / "runs" / f"{run_id(1)}.late").write_bytes(b"\xff\xfe")

            assert store.late_report(run_id(1)) is None

    def test_the_form_of_a_claim(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            store.begin_delivery(run_id(1), draft(1).owner)
        move = (tmp_path / "claims" / "runs" / f"{run_id(1)}.1").read_bytes()

        assert b'{"phase":"delivering"}\n' == move[:-8]


class TestLayout:
    """The layout names the claims and their epoch, and anything else in its place is damage."""

    def test_each_epoch_has_a_name_of_its_own(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            first = layout(tmp_path)
            assert 2 == store.begin_epoch()
            second = layout(tmp_path)
            assert isinstance(store.reserve(draft(2)), Replay)

        assert [["2", "1"], ["2", "2"]] == [[said[0], said[2]] for said in (first, second)]
        assert first[1] != second[1]
        ClaimStore.open(tmp_path).close()

    def test_claims_that_are_taken_over_where_nothing_is_begin_with_the_first(self, tmp_path: Path) -> None:
        with closing(ClaimStore.open(tmp_path, restored=True)) as store:
            assert 1 == accept_restored(store, SYSTEM_CLOCK, Mode.SANDBOX).epoch

    @pytest.mark.parametrize("said", [b"1 {name} 1", b"2", b"2 {name}", b"2 {name} 1 more"])
    def test_what_is_no_layout(self, tmp_path: Path, said: bytes) -> None:
        reserved(tmp_path).close()
        name = layout(tmp_path)[1].encode()
        (tmp_path / "claims" / "layout").write_bytes(said.replace(b"{name}", name))

        with pytest.raises(StoreCorruptError):
            ClaimStore.open(tmp_path)

    def test_the_first_layout_beside_a_seal_that_was_in_use(self, tmp_path: Path) -> None:
        reserved(tmp_path).close()
        (tmp_path / "claims" / "layout").write_bytes(b"1")

        with pytest.raises(StoreRestoredError):
            ClaimStore.open(tmp_path)

    def test_the_last_place_in_the_order_is_missed(self, tmp_path: Path) -> None:
        reserved(tmp_path).close()
        (tmp_path / "claims" / "order" / f"{1:012}").unlink()

        with pytest.raises(StoreRestoredError):
            ClaimStore.open(tmp_path)

    def test_places_are_counted_without_a_gap(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            store.record_refusal(refusal(2))
        with closing(ClaimStore.open(tmp_path)) as store:
            store.reserve(draft(3, "entry-3"))

        places = sorted(path.name for path in (tmp_path / "claims" / "order").iterdir())
        assert [f"{place:012}" for place in (1, 2, 3)] == places


class TestHalfMade:
    """What a process left half made when it died is neither damage nor a run: whoever comes next goes on from there."""

    def test_folders_without_their_layout_are_made_whole(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        (tmp_path / "claims").mkdir(mode=0o700)
        (tmp_path / "claims" / "runs").mkdir(mode=0o700)

        reserved(tmp_path).close()

    def test_who_lost_and_died_before_it_tidied_up_is_no_run(self, tmp_path: Path) -> None:
        with closing(reserved(tmp_path)) as store:
            claims = tmp_path / "claims"
            won = (claims / "runs" / f"{run_id(1)}.0").read_bytes().partition(b"\n")[0]
            (claims / "runs" / f"{run_id(2)}.0").write_bytes(won.replace(run_id(1).encode(), run_id(2).encode()))
            os.link(claims / "runs" / f"{run_id(2)}.0", claims / "order" / f"{2:012}")

            assert store.load(run_id(2)) is None
            assert not store.begin_delivery(run_id(2), draft(1).owner)
            assert [run_id(1)] == [record.run_id for record in store.recent(5)]


class TestBothKinds:
    """Claims beside a ledger of SQLite are refused, whichever of them was there first."""

    @pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "ledger.seal"])
    def test_a_trace_of_a_ledger(self, tmp_path: Path, name: str) -> None:
        reserved(tmp_path).close()
        (tmp_path / name).touch(mode=0o600)

        with pytest.raises(StoreOfOtherKindError):
            ClaimStore.open(tmp_path)


class TestLinks:
    """A symbolic link in place of a folder is refused, also for reading."""

    def test_the_state_folder(self, tmp_path: Path) -> None:
        reserved(tmp_path / "runs").close()
        (tmp_path / "linked").symlink_to(tmp_path / "runs")

        with pytest.raises(StoreUnavailableError):
            ClaimStore.open(tmp_path / "linked", read_only=True)

    def test_the_claims(self, tmp_path: Path) -> None:
        reserved(tmp_path / "runs").close()
        (tmp_path / "linked").mkdir()
        (tmp_path / "linked" / "claims").symlink_to(tmp_path / "runs" / "claims")

        with pytest.raises(StoreUnavailableError):
            ClaimStore.open(tmp_path / "linked", read_only=True)

    @pytest.mark.parametrize("name", ["runs", "attempts", "order"])
    def test_a_folder_of_claims(self, tmp_path: Path, name: str) -> None:
        reserved(tmp_path).close()
        (tmp_path / "claims" / name).rename(tmp_path / "elsewhere")
        (tmp_path / "claims" / name).symlink_to(tmp_path / "elsewhere")

        with pytest.raises(StoreCorruptError):
            ClaimStore.open(tmp_path)


class TestTurns:
    """Claims are made, brought forward and sealed in one turn each: who comes second finds them made."""

    @pytest.fixture
    def meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
        """Lets something happen before the next turn begins."""

        def let(happen: Callable[[], object]) -> None:
            waiting = [happen]

            def gate(*arguments: Any, **named: Any) -> Gate:  # noqa: ANN401 - whatever a gate takes
                while waiting:
                    waiting.pop()()
                return Gate(*arguments, **named)

            monkeypatch.setattr("surehand.shell.store.claims.Gate", gate)

        return let

    def test_claims_that_another_made_meanwhile(
        self, tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        others: list[ClaimStore] = []
        meanwhile(lambda: others.append(reserved(tmp_path)))
        with closing(ClaimStore.open(tmp_path)) as store, closing(others[0]) as other:
            assert isinstance(store.reserve(draft(2)), Replay)
            assert other.begin_delivery(run_id(1), draft(1).owner)

    def test_a_ledger_that_another_made_meanwhile(
        self, tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        meanwhile(lambda: SqliteStore.open(tmp_path).close())

        with pytest.raises(StoreOfOtherKindError):
            ClaimStore.open(tmp_path)
        assert not (tmp_path / "claims").exists()

    def test_claims_that_another_brought_forward_meanwhile(
        self, tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        reserved(tmp_path).close()
        (tmp_path / "claims" / "layout").write_bytes(b"1")
        (tmp_path / "claims.seal").unlink()
        others: list[ClaimStore] = []
        meanwhile(lambda: others.append(ClaimStore.open(tmp_path)))
        with closing(ClaimStore.open(tmp_path)) as store, closing(others[0]) as other:
            assert other.mark_started(run_id(1), draft(1).owner)
            assert store.begin_delivery(run_id(1), draft(1).owner)

    @pytest.mark.parametrize("step", ["made", "brought forward", "sealed"])
    def test_nobody_goes_before_its_turn(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
        folder = tmp_path / "runs"
        if step != "made":
            reserved(folder).close()
        else:
            folder.mkdir(mode=0o700)
        if step == "brought forward":
            (folder / "claims" / "layout").write_bytes(b"1")
            (folder / "claims.seal").unlink()
        monkeypatch.setattr("surehand.shell.store.claims.Gate", partial(Gate, limit=0.05))

        with Gate(folder / "ledger.lock").turn(), pytest.raises(StoreUnavailableError):
            ClaimStore.open(folder).begin_epoch()
