"""What is kept for ever, what a person may drop, and what is kept beside an answer.

Laws:

- Runs are never dropped; refused calls and journals of finished runs are, when a person says so.
- A report that comes too late is shown to a person and never becomes an answer.
"""

import json
import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from attrs import evolve

from support.attention import KEY, STOPPED, asked, kept, pause, pause_id
from support.attention_machine import as_the_machine, attention
from support.command_line import surehand
from support.service import Bench, wait_for
from support.stores import (
    BROKEN,
    DONE,
    OWNERS,
    TIMED_OUT,
    OneMemory,
    OpensStores,
    draft,
    opens_claims,
    opens_sqlite,
    refusal,
    result_of,
    run_id,
    started,
)
from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import Decision, RefusedDecision, Review, Verdict
from surehand.core.attention.evidence import SealedEvidence, values_of
from surehand.core.attention.pause import Action
from surehand.core.outcome.evidence import OwnerGone, Phase
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord
from surehand.core.workflow.trace import Trace
from surehand.shell.attended.sealing import ATTENTION, EvidenceFiles
from surehand.shell.fence.journal import JOURNALS, journal_path
from surehand.shell.retention import Pruned, prune
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore
from surehand.shell.traces import TRACES, write_trace

DURABLE = [pytest.param(opens_sqlite, id="sqlite"), pytest.param(opens_claims, id="claims")]
ALL = [*DURABLE, pytest.param(OneMemory(), id="memory")]

#: A time between the calls 1 to 4 and the calls from 5 on.
BETWEEN = draft(5).created_at


def settled(store: RunStore) -> tuple[RunRecord, RunResult]:
    """A run that was settled while its owner was still at work, and the answer that was given."""
    record = started(store.reserve(draft(1)))
    answer = result_of(record, OwnerGone(Phase.RESERVED, journaled=True))
    assert store.settle_owner_gone(record, answer)
    return record, answer


class TestALateReport:
    """It is kept once, by the run's owner, and the answer stays as it is, also after the store was opened again."""

    @pytest.mark.parametrize("opens", ALL)
    def test_is_kept_beside_the_answer(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        record, answer = settled(store)
        late = result_of(record, DONE)

        assert store.late_report(record.run_id) is None
        assert store.note_late(record.run_id, record.owner, late)
        assert not store.note_late(record.run_id, record.owner, result_of(record, TIMED_OUT))

        store.close()
        store = opens(tmp_path)
        kept = store.load(record.run_id)
        assert kept is not None
        assert (answer, late) == (kept.result, store.late_report(record.run_id))
        store.check_health()
        store.close()

    @pytest.mark.parametrize("opens", ALL)
    def test_is_taken_from_the_owner_of_a_finished_run_only(self, opens: OpensStores, tmp_path: Path) -> None:
        store = opens(tmp_path)
        record, _ = settled(store)
        going_on = started(store.reserve(draft(2, "entry-2")))
        store.record_refusal(refusal(3))

        assert not store.note_late(record.run_id, OWNERS[1], result_of(record, DONE))
        assert not store.note_late(going_on.run_id, going_on.owner, result_of(going_on, DONE))
        assert not store.note_late(run_id(3), "", result_of(draft(3), DONE))
        assert not store.note_late(run_id(9), OWNERS[0], result_of(draft(9), DONE))
        with pytest.raises(ValueError, match="result"):
            store.note_late(record.run_id, record.owner, result_of(going_on, DONE))
        assert [None] * 4 == [store.late_report(run_id(number)) for number in (1, 2, 3, 9)]
        assert store.late_report("../x") is None
        store.close()

    def test_never_changes_and_is_never_dropped(self, tmp_path: Path) -> None:
        with closing(opens_sqlite(tmp_path)) as store:
            record, _ = settled(store)
            store.note_late(record.run_id, record.owner, result_of(record, DONE))
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as link:
            for statement in ("DELETE FROM late_reports", "UPDATE late_reports SET result = '{}'", "DELETE FROM runs"):
                with pytest.raises(sqlite3.IntegrityError):
                    link.execute(statement)

    @pytest.mark.parametrize("json_too", [False, True])
    def test_is_shown_to_a_person_and_not_in_the_result(self, tmp_path: Path, json_too: bool) -> None:
        with closing(open_store(tmp_path / "runs" / "surehand")) as store:
            record, answer = settled(store)
            store.note_late(record.run_id, record.owner, result_of(record, DONE))

        told = surehand(tmp_path, "runs", "show", record.run_id, "--runs-dir", "runs", *["--json"][: int(json_too)])

        assert Reason.SAVED_AND_CHECKED.value in (told.err if json_too else told.out)
        if json_too:
            assert answer.reason.value == json.loads(told.out)["reason"]
            assert Reason.SAVED_AND_CHECKED.value not in told.out

    def test_a_worker_that_wakes_up_leaves_one(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        bench.engine.after.clear()
        bench.engine.before.set()
        ticket = bench.call()
        wait_for(bench.engine.crossed)
        record = bench.store.load(ticket.run_id)
        assert record is not None
        answer = result_of(record, OwnerGone(Phase.DELIVERING, journaled=True))
        assert bench.store.settle_owner_gone(record, answer)

        bench.engine.release()
        told = bench.end_of(ticket)

        late = bench.store.late_report(ticket.run_id)
        assert (Reason.INTERRUPTED, answer.reason) == (told.reason, answer.reason)
        assert late is not None
        assert Outcome.DONE is late.outcome
        bench.close()


class TestPruning:
    """Old refusals, journals and traces go; runs, reports and whatever is young or not over stay."""

    def fill(self, store: RunStore, folder: Path) -> None:
        """Runs, refusals, journals and traces, some of each old."""
        for number in (1, 2, 6):
            store.record_refusal(refusal(number))
        old = started(store.reserve(draft(3)))
        assert store.finish(old.run_id, old.owner, result_of(old, BROKEN))
        started(store.reserve(draft(4, "entry-4")))
        (folder / JOURNALS).mkdir()
        for number, age in ((1, -1), (3, -1), (4, -1), (5, -1), (7, 1)):
            path = journal_path(folder / JOURNALS, run_id(number))
            path.write_text("x")
            os.utime(path, (BETWEEN + age, BETWEEN + age))
        second_port = journal_path(folder / JOURNALS, f"{run_id(3)}-read-2")
        second_port.write_text("x")
        os.utime(second_port, (BETWEEN - 1, BETWEEN - 1))
        (folder / JOURNALS / "other").write_text("x")
        for number, age in ((1, -1), (4, -1), (7, 1)):
            write_trace(folder / TRACES, run_id(number), Trace(acts=()))
            os.utime(folder / TRACES / f"{run_id(number)}.json", (BETWEEN + age, BETWEEN + age))

    @pytest.mark.parametrize(("opens", "refusals"), [(opens_sqlite, 2), (OneMemory(), 2), (opens_claims, 0)])
    def test_what_goes_and_what_stays(self, opens: OpensStores, tmp_path: Path, refusals: int) -> None:
        store = opens(tmp_path)
        self.fill(store, tmp_path)
        before = store.recent(10)

        counted = prune(store, tmp_path, BETWEEN, dry_run=True)

        assert before == store.recent(10)
        assert 7 == len(list((tmp_path / JOURNALS).iterdir()))
        assert Pruned(refusals, 4, 1) == counted == prune(store, tmp_path, BETWEEN, dry_run=False)
        assert Pruned(0, 0) == prune(store, tmp_path, BETWEEN, dry_run=False)
        assert [record for record in before if refusals == 0 or record.run_id not in {run_id(1), run_id(2)}] == list(
            store.recent(10)
        )
        assert {run_id(4) + ".jsonl", run_id(7) + ".jsonl", "other"} == {
            path.name for path in (tmp_path / JOURNALS).iterdir()
        }
        assert {run_id(4) + ".json", run_id(7) + ".json"} == {path.name for path in (tmp_path / TRACES).iterdir()}
        store.check_health()
        store.close()
        store = opens(tmp_path)
        store.record_refusal(refusal(8))
        assert run_id(8) == store.recent(1)[0].run_id
        store.close()

    @pytest.mark.parametrize("opens", [opens_sqlite, OneMemory()])
    def test_a_refusal_of_that_very_second_stays(self, opens: OpensStores, tmp_path: Path) -> None:
        with closing(opens(tmp_path)) as store:
            store.record_refusal(refusal(5))

            assert (0, 0) == (store.old_refusals(BETWEEN), store.forget_refusals(BETWEEN))
            assert (1, 1) == (store.old_refusals(BETWEEN + 1), store.forget_refusals(BETWEEN + 1))

    def test_many_refusals_go_in_turns(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.shell.store.sqlite._FORGOTTEN_AT_ONCE", 2)
        with closing(opens_sqlite(tmp_path)) as store:
            for number in range(5):
                store.record_refusal(evolve(refusal(number), created_at=0))

            assert (5, 0) == (store.forget_refusals(1), len(store.recent(9)))

    def test_the_command_line(self, tmp_path: Path) -> None:
        folder = tmp_path / "runs" / "surehand"
        with closing(open_store(folder)) as store:
            self.fill(store, folder)

        options = ("runs", "prune", "--older-than", "1", "--runs-dir", "runs", "--json")
        counted, dropped = surehand(tmp_path, *options, "--dry-run"), surehand(tmp_path, *options)
        missing = surehand(tmp_path, "runs", "prune", "--older-than", "1", "--runs-dir", "nowhere", "--dry-run")

        assert [
            {"refusals": 3, "journals": 5, "traces": 2, "evidence": 0, "refused_decisions": 0, "dry_run": True},
            {"refusals": 3, "journals": 5, "traces": 2, "evidence": 0, "refused_decisions": 0, "dry_run": False},
        ] == [json.loads(told.out) for told in (counted, dropped)]
        assert 1 == missing.code
        with closing(open_store(folder)) as store:
            assert 2 == len(store.recent(9))


class TestSealedEvidence:
    """What was sealed about a stopped run goes when nobody waits for it any more, and never before."""

    @staticmethod
    def aged(folder: Path, seconds: int) -> None:
        for path in (folder / ATTENTION).iterdir():
            os.utime(path, (BETWEEN + seconds, BETWEEN + seconds))

    @staticmethod
    def judged(asked_for: Decision, review: Review | None, used: Decision | None) -> Verdict:
        return as_the_machine(review, used, asked_for)

    @pytest.mark.parametrize("opens", [opens_sqlite, OneMemory()])
    def test_what_goes_and_what_stays(self, opens: OpensStores, tmp_path: Path) -> None:
        files = EvidenceFiles(tmp_path, KEY)
        with closing(opens(tmp_path)) as store:
            part = attention(store)
            for number in (1, 2, 3):
                record = started(store.reserve(draft(number, f"entry-{number}")))
                name = pause_id(number)
                digest = files.write(name, record.run_id, record.bundle, SealedEvidence(inputs=values_of({"a": "b"})))
                made = pause(number, run_id=record.run_id, evidence=digest)
                part.keep_pause(kept(made))
                if number != 3:
                    store.finish(record.run_id, record.owner, result_of(record, STOPPED))
                if number == 1:
                    ended = asked(kept(made), Action.REJECT)
                    part.decide(ended, partial(self.judged, ended))
            files.write(pause_id(9), run_id(9), "", SealedEvidence(inputs=()))
            self.aged(tmp_path, 1)
            assert 0 == prune(store, tmp_path, BETWEEN, dry_run=False).evidence
            self.aged(tmp_path, -1)
            counted = prune(store, tmp_path, BETWEEN, dry_run=True)

            assert 2 == counted.evidence == prune(store, tmp_path, BETWEEN, dry_run=False).evidence
            assert (pause_id(2), pause_id(3)) == files.kept()


class TestRefusedDecisions:
    """Audit lines of what was refused go when they are old and nobody waits for their pause; claim files have none."""

    @pytest.mark.parametrize("opens", [opens_sqlite, OneMemory()])
    def test_what_goes_and_what_stays(self, opens: OpensStores, tmp_path: Path) -> None:
        with closing(opens(tmp_path)) as store:
            part = attention(store)
            record = started(store.reserve(draft(1)))
            part.keep_pause(kept())
            store.finish(record.run_id, record.owner, result_of(record, STOPPED))
            for line in (refused_line(), refused_line(pause_id(1)), refused_line(seconds=0)):
                part.note_refused(line)
            counted = prune(store, tmp_path, BETWEEN, dry_run=True)

            assert 1 == counted.refused_decisions == prune(store, tmp_path, BETWEEN, dry_run=False).refused_decisions
            assert ["", pause_id(1)] == [line.pause_id for line in part.refused(9)]

    def test_claim_files(self, tmp_path: Path) -> None:
        with closing(opens_claims(tmp_path)) as store:
            assert 0 == prune(store, tmp_path, BETWEEN, dry_run=False).refused_decisions


def refused_line(pause_id: str = "", seconds: int = -1) -> RefusedDecision:
    """An audit line."""
    decision = asked(kept())
    return RefusedDecision(
        key=decision.key,
        pause_id=pause_id,
        action=decision.action,
        capability=decision.capability,
        operator="nurse",
        door=decision.door,
        refusal=DecisionRefusal.NOT_CONFIRMED,
        refused_at=BETWEEN + seconds,
    )
