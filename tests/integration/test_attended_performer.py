"""The part of a worker in stopped runs, on a ledger that fails in single places: nothing hangs or is done twice."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from attrs import define, evolve

from support.attended import reserve
from support.attended_worker import APP, ScriptedEngine
from surehand.core.attention.decision import DecisionRequest, DecisionStatus, Door, Receipt
from surehand.core.attention.pause import Action
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import Mode, RunResult
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.engines.browser.performing import Performer
from surehand.shell.execution import execute_run
from surehand.shell.identity import attention_key
from surehand.shell.locks import OwnerLock
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.store.base import StoreUnavailableError
from surehand.shell.store.memory import MemoryStore

NOWHERE = AppTarget(origin="http://127.0.0.1:1", record_origin="http://127.0.0.1:1")
INPUTS = {"note": "stops", "sandbox_case": "normal"}


@define
class Desk:
    """A ledger in memory, and everything around it."""

    folder: Path
    app: Path
    store: MemoryStore
    lock: OwnerLock
    performer: Performer
    desk: AttendedDesk

    def stop(self) -> RunResult:
        """A run that stops."""
        record = reserve(self.store, self.lock.token, sandbox_bundle())
        job = Job(run_id=record.run_id, bundle=sandbox_bundle(), inputs=INPUTS, target=NOWHERE)
        return execute_run(
            self.store, self.engine, record, job, SYSTEM_CLOCK, Mode.SANDBOX, keep_stop=self.performer.keep
        )

    @property
    def engine(self) -> ScriptedEngine:
        """The engine."""
        assert isinstance(self.performer.engine, ScriptedEngine)
        return self.performer.engine

    def ask(self, action: Action = Action.CONTINUE) -> DecisionRequest:
        """A decision about the newest item."""
        item = self.desk.items(1).items[0]
        request = DecisionRequest(item.id, item.capability_digest or "0" * 64, secrets.token_hex(16), confirm=True)
        self.desk.decide(request, action, Door.TERMINAL)
        return request

    def receipt(self, request: DecisionRequest) -> Receipt:
        """What became of it."""
        kept = self.desk.receipt(request.idempotency_key)
        assert kept is not None
        return kept

    def answer(self, run_id: str) -> RunResult:
        """How the run stands."""
        record = self.store.load(run_id)
        assert record is not None
        assert record.result is not None
        return record.result

    def writes(self) -> int:
        """What has reached the app."""
        return len(self.app.read_text(encoding="utf-8").splitlines()) if self.app.exists() else 0


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A performer of its own for each test."""
    monkeypatch.setenv(APP, str(tmp_path / "app.txt"))
    folder, store = tmp_path / "state", MemoryStore()
    lock = OwnerLock.acquire(folder)
    performer = Performer(
        runs=store,
        attention=store.attention,
        files=EvidenceFiles(folder, attention_key(folder)),
        engine=ScriptedEngine(folder, attended=True),
        turn=lambda _origin, _boundary: nullcontext(enter_result=True),
        token=lock.token,
        mode=Mode.SANDBOX,
        clock=SYSTEM_CLOCK,
        stop=threading.Event(),
        attended=True,
    )
    yield Desk(folder, tmp_path / "app.txt", store, lock, performer, AttendedDesk.over(store, folder))
    lock.release()


def failing(real: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
    """A method of the ledger that fails, before or after it did its work."""

    def fails(*given: object, **named: object) -> object:
        if after:
            real(*given, **named)
        raise StoreUnavailableError("told to fail")

    return fails


class TestALedgerThatFails:
    """Whatever the ledger does not answer, the decision ends, and what it allowed is done once at the most."""

    @pytest.mark.parametrize("after", [False, True])
    def test_at_the_claim(self, room: Desk, after: bool) -> None:
        stopped, request = room.stop(), room.ask()
        attention = room.store.attention
        with mock.patch.object(attention, "claim", failing(attention.claim, after=after)):
            room.performer.look()
        room.performer.look()
        receipt = room.receipt(request)

        assert receipt.status is (DecisionStatus.HALTED if after else DecisionStatus.COMPLETED)
        assert room.writes() == (0 if after else 1)
        assert room.answer(stopped.run_id).outcome is (Outcome.NEEDS_REVIEW if after else Outcome.DONE)

    @pytest.mark.parametrize("after", [False, True])
    def test_at_the_end(self, room: Desk, after: bool) -> None:
        stopped, request = room.stop(), room.ask()
        attention = room.store.attention
        with mock.patch.object(attention, "end", failing(attention.end, after=after)):
            room.performer.look()
            room.performer.look()
        room.performer.look()

        assert room.receipt(request).status is DecisionStatus.COMPLETED
        assert (room.answer(stopped.run_id).outcome, room.writes()) == (Outcome.DONE, 1)

    def test_at_the_boundary(self, room: Desk) -> None:
        stopped, request = room.stop(), room.ask()
        attention = room.store.attention
        real = attention.begin_continuation_delivery
        with mock.patch.object(attention, "begin_continuation_delivery", failing(real, after=False)):
            room.performer.look()

        assert room.receipt(request).status is DecisionStatus.HALTED
        assert (room.answer(stopped.run_id).outcome, room.writes()) == (Outcome.NEEDS_REVIEW, 0)

    def test_a_stop_that_cannot_be_kept_leaves_no_window(self, room: Desk) -> None:
        attention = room.store.attention
        with mock.patch.object(attention, "keep_pause", failing(attention.keep_pause, after=False)):
            stopped = room.stop()

        assert (stopped.outcome, room.engine.windows()) == (Outcome.NEEDS_REVIEW, frozenset())
        assert room.desk.items(1).items[0].run_id == stopped.run_id


class TestWhoOpens:
    """A window that somebody else who lives holds is left to them; one that is here is given a new term."""

    def test_one_that_is_here(self, room: Desk) -> None:
        room.stop()
        before = room.desk.items(1).items[0]
        room.desk.ask_opening(before.id)
        room.performer.look()
        after = room.desk.items(1).items[0]

        assert (before.has_window, after.has_window) == (True, True)
        assert before.capability_digest != after.capability_digest

    @pytest.mark.parametrize("lives", [True, False])
    def test_one_that_is_elsewhere(self, room: Desk, lives: bool) -> None:
        room.stop()
        item = room.desk.items(1).items[0]
        other = OwnerLock.acquire(room.folder)
        engine = ScriptedEngine(room.folder, attended=True)
        second = evolve(room.performer, engine=engine, token=other.token)
        if not lives:
            room.lock.release()
        room.desk.ask_opening(item.id)
        second.look()
        left = len(room.store.attention.openings())
        other.release()

        assert (left, len(engine.windows())) == ((1, 0) if lives else (0, 1))

    def test_a_window_that_somebody_else_took_over_is_closed(self, room: Desk) -> None:
        room.stop()
        item = room.desk.items(1).items[0]
        other = OwnerLock.acquire(room.folder)
        second = evolve(room.performer, engine=ScriptedEngine(room.folder, attended=True), token=other.token)
        with mock.patch.object(Performer, "_is_elsewhere", return_value=False):
            room.desk.ask_opening(item.id)
            second.look()
        room.performer.look()
        still = room.desk.items(1).items[0]
        other.release()

        assert (room.engine.windows(), still.has_window) == (frozenset(), True)


class TestWhoDoesNotAttend:
    """A worker that does not attend keeps stops, without a window, and performs nothing."""

    def test_a_decision_waits(self, room: Desk) -> None:
        room.performer = evolve(room.performer, engine=ScriptedEngine(room.folder), attended=False)
        room.stop()
        item = room.desk.items(1).items[0]
        room.performer.look()

        assert (item.has_window, Action.CONTINUE in item.allowed_actions) == (False, False)
        assert Action.REJECT in item.allowed_actions
