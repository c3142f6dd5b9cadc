"""What an agent is told of a stopped run by ``get_run``, a repeat of its request, and ``get_run_report``."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.stopped import Stopped, StoppedRuns
from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import DecisionRequest, DecisionStatus, Door
from surehand.core.attention.pause import DECIDE_SECONDS, Action, DeliveryState, ItemStatus
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import Mode
from surehand.core.outcome.wording import OVERDUE
from surehand.shell.api import Surehand
from surehand.shell.attended.answers import awaited
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.clock import SYSTEM_CLOCK, SystemClock
from surehand.shell.store import open_restored, open_store
from surehand.shell.store.attention import attention_of
from surehand.shell.store.restored import accept_restored
from surehand.shell.store.sqlite import LEDGER


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[StoppedRuns]:
    """Stopped runs of the installation in the folder of the test."""
    folder = tmp_path / "surehand"
    folder.mkdir()
    with closing(open_store(folder)) as store:
        made = StoppedRuns(store, folder)
        yield made
        made.close()


def desk_of(runs: StoppedRuns) -> AttendedDesk:
    """Where they are decided."""
    return AttendedDesk(runs.attention, runs.files)


def decide(runs: StoppedRuns, stopped: Stopped, action: Action) -> None:
    """A decision of a person at the terminal."""
    desk = desk_of(runs)
    item = desk.item(stopped.attention_id)
    assert item is not None
    request = DecisionRequest(item.id, item.capability_digest or "", f"key-of-{action.value}-16", confirm=True)
    desk.decide(request, action, Door.TERMINAL)


class TestAnAgentIsNotToldToWaitForNothing:
    """While a run can be decided the agent is told to wait; when the time is over, that nobody came; then as before."""

    def test_in_time_too_late_and_renewed(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            first = hand.get_run(stopped.run_id)
            runs.let_expire(stopped)
            late = hand.get_run(stopped.run_id)
            desk_of(runs).renew(stopped.attention_id)
            renewed = hand.get_run(stopped.run_id)

        assert (first.next_action.startswith("Wait"), renewed) == (True, first)
        assert (late.next_action, late.reason, late.safe_to_retry) == (OVERDUE, first.reason, False)

    def test_a_person_who_ended_it(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        decide(runs, stopped, Action.REJECT)
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            told = hand.get_run(stopped.run_id)

        assert (told.reason.value, told.safe_to_retry) == ("stopped_by_person", False)


class TestARunThatGoesOn:
    """From the claim of a decision to its end a run is told as running, to every reader; its item still stands."""

    def test_before_and_behind_the_boundary(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        decide(runs, stopped, Action.CONTINUE)
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            kept = hand.get_run(stopped.run_id)
            (decision,) = runs.attention.unended()
            leg = runs.attention.claim(decision.key, runs.window.token)
            assert leg is not None
            claimed = hand.get_run(stopped.run_id)
            assert runs.attention.begin_continuation_delivery(leg.run_id, leg.number, leg.owner)
            crossed = hand.get_run(stopped.run_id)
            item = desk_of(runs).item(stopped.attention_id)
            queue = desk_of(runs).items().items
            record = runs.store.load(stopped.run_id)

        assert (Outcome.NEEDS_REVIEW, RecordChanged.NO) == (kept.outcome, kept.record_changed)
        assert [(Outcome.RUNNING, RecordChanged.UNKNOWN)] * 2 == [
            (told.outcome, told.record_changed) for told in (claimed, crossed)
        ]
        assert record is not None
        assert crossed == record.result
        assert item is not None
        assert (ItemStatus.IN_PROGRESS, (item,)) == (item.status, queue)

    @pytest.mark.parametrize(("crosses", "outcome"), [(False, Outcome.NEEDS_REVIEW), (True, Outcome.NOT_SURE_IF_SAVED)])
    def test_what_its_dead_process_leaves(
        self, tmp_path: Path, runs: StoppedRuns, crosses: bool, outcome: Outcome
    ) -> None:
        stopped = runs.stop()
        decide(runs, stopped, Action.CONTINUE)
        (decision,) = runs.attention.unended()
        leg = runs.attention.claim(decision.key, runs.window.token)
        assert leg is not None
        if crosses:
            assert runs.attention.begin_continuation_delivery(leg.run_id, leg.number, leg.owner)
        runs.window.release()
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            assert outcome is hand.get_run(stopped.run_id).outcome


class TestARestoredLedger:
    """What waited for a person when a backup was made may have gone on since: it is told as doubt, and nothing else."""

    def test_of_a_run_that_went_on_after_the_backup(self, tmp_path: Path) -> None:
        folder, backup = tmp_path / "surehand", tmp_path / "backup.db"
        folder.mkdir()
        with closing(open_store(folder)) as store:
            runs = StoppedRuns(store, folder)
            waits, ended = runs.stop(), runs.stop()
            decide(runs, ended, Action.REJECT)
        shutil.copy(folder / LEDGER, backup)
        with closing(open_store(folder)) as store:
            part = attention_of(store)
            assert part is not None
            runs.store, runs.attention = store, part
            decide(runs, waits, Action.CONTINUE)
            runs.perform()
            before = [store.load(run.run_id) for run in (waits, ended)]
        shutil.copy(backup, folder / LEDGER)
        with closing(open_restored(folder)) as restored:
            accept_restored(restored, SYSTEM_CLOCK, Mode.SANDBOX)
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            told = [hand.get_run(run.run_id) for run in (waits, ended)]

        assert [(Outcome.DONE, RecordChanged.YES), (Outcome.DID_NOT_RUN, RecordChanged.NO)] == [
            (record.result.outcome, record.result.record_changed) for record in before if record and record.result
        ]
        assert [(Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN), (Outcome.DID_NOT_RUN, RecordChanged.NO)] == [
            (each.outcome, each.record_changed) for each in told
        ]


class Later(SystemClock):
    """The system's clock, so many seconds later by the date."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def now(self) -> int:
        """Seconds since the epoch."""
        return super().now() + self._seconds


class TestALateYesIsNoYes:
    """After the end a decision is refused; receipt, audit line and the agent's text say so, and credit nobody."""

    @pytest.mark.parametrize(("seconds", "late"), [(DECIDE_SECONDS - 60, False), (DECIDE_SECONDS, True)])
    def test_in_the_receipt_the_audit_and_the_text(self, runs: StoppedRuns, seconds: int, late: bool) -> None:
        stopped, clock = runs.stop(), Later(seconds)
        shown = desk_of(runs).item(stopped.attention_id)
        desk = AttendedDesk(runs.attention, runs.files, clock=clock)
        assert shown is not None
        record = runs.store.load(stopped.run_id)
        assert record is not None
        assert record.result is not None
        text = awaited(runs.store, record.result, clock).next_action

        request = DecisionRequest(shown.id, shown.capability_digest or "", "key-of-a-late-yes-16", confirm=True)
        receipt = desk.decide(request, Action.TEACH, Door.TERMINAL)
        refused = [line.refusal for line in desk.refused()]

        assert (text == OVERDUE) is late
        assert receipt.status is (DecisionStatus.REFUSED if late else DecisionStatus.NEEDS_DEMONSTRATION)
        assert receipt.reason is (DecisionRefusal.CAPABILITY_EXPIRED if late else None)
        assert refused == ([DecisionRefusal.CAPABILITY_EXPIRED] if late else [])
        assert len(runs.attention.decisions(stopped.run_id)) == (0 if late else 1)


class TestWhatWasReadAgainStandsBesideTheAnswer:
    """A reading changes no answer; the report says what it showed."""

    def test_before_and_after(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop(delivery=DeliveryState.UNKNOWN)
        with Surehand.open(tmp_path, sandbox_engine="simulated") as hand:
            before = hand.get_run(stopped.run_id), hand.get_run_report(stopped.run_id)
            decide(runs, stopped, Action.RECONCILE)
            runs.perform()
            after = hand.get_run(stopped.run_id), hand.get_run_report(stopped.run_id)

        assert (before[0], before[1].read_again) == (after[0], None)
        assert after[1].read_again is not None
        assert (after[1].read_again.value, after[0].outcome.value) == ("differs", "not_sure_if_saved")
