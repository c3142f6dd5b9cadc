"""The ledger about stopped runs answers as the one in memory does, and guards itself against faults of our own."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from support.attention import NOW, OTHER_OWNER, OWNER, STOPPED, asked, issue, kept, pause, pause_id
from support.attention_machine import WRONG, as_the_machine, attention, machine, wrong_memory
from support.stores import DONE, OneMemory, OpensStores, draft, opens_claims, opens_sqlite, result_of, started
from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import (
    Decision,
    DecisionStatus,
    Ended,
    Known,
    NotTaken,
    RefusedDecision,
    Taken,
    Verdict,
)
from surehand.core.attention.pause import Action, KeptPause
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.outcome.result import RunResult
from surehand.core.request.gate import Replay
from surehand.core.request.record import RunRecord
from surehand.shell.store import open_restored, sqlite_file, sqlite_schema
from surehand.shell.store.attention import AttentionStore, attention_of
from surehand.shell.store.base import StoreCorruptError
from surehand.shell.store.memory_attention import MemoryAttention
from surehand.shell.store.sqlite import LEDGER, SqliteStore

ALL = [pytest.param(opens_sqlite, id="sqlite"), pytest.param(OneMemory(), id="memory")]


class TestSameAnswers:
    """A store answers every call about stopped runs as the store in memory does, and after every reopening."""

    @pytest.mark.parametrize("opens", ALL)
    def test_agrees_with_the_oracle(self, opens: OpensStores) -> None:
        run_state_machine_as_test(machine(opens), settings=settings(max_examples=40))

    @pytest.mark.parametrize("part", WRONG, ids=lambda part: part.__name__)
    def test_a_wrong_store_is_caught(self, part: type[MemoryAttention]) -> None:
        driven = machine(wrong_memory(part))()
        with pytest.raises(AssertionError):
            WRONG[part](driven)

    @pytest.mark.parametrize("part", WRONG, ids=lambda part: part.__name__)
    def test_a_right_store_passes_where_a_wrong_one_is_caught(self, part: type[MemoryAttention]) -> None:
        driven = machine(OneMemory())()
        WRONG[part](driven)
        driven.teardown()

    def test_claim_files_keep_nothing_of_it(self, tmp_path: Path) -> None:
        with closing(opens_claims(tmp_path)) as store:
            assert attention_of(store) is None


def stopped(store: SqliteStore, made: KeptPause | None = None, number: int = 1) -> RunRecord:
    """A run that stopped, with its pause."""
    record = started(store.reserve(draft(number, f"entry-{number}")))
    attention(store).keep_pause(made or kept())
    store.finish(record.run_id, record.owner, result_of(record, STOPPED))
    return record


def decide(part: AttentionStore, decision: Decision) -> Verdict:
    """Let the machine judge it."""
    return part.decide(decision, lambda review, used: as_the_machine(review, used, decision))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An open ledger."""
    with closing(SqliteStore.open(tmp_path)) as opened:
        yield opened


class TestAnswers:
    """What people decided is what every reader of a run is told; the run's own row never changes."""

    def continued(self, store: SqliteStore, result_after: RunResult) -> None:
        part = attention(store)
        assert isinstance(decide(part, asked(kept())), Taken)
        begun = part.claim(asked(kept()).key, OWNER)
        assert begun is not None
        assert part.begin_continuation_delivery(begun.run_id, begun.number, OWNER)
        assert part.end(begun.key, Ended(OWNER, DecisionStatus.COMPLETED, NOW + 20), result_after)

    def test_a_continued_run_is_done_for_load_attempts_recent_and_the_gate(self, store: SqliteStore) -> None:
        record = stopped(store)
        self.continued(store, result_of(record, DONE))
        loaded = store.load(record.run_id)
        decision = store.reserve(draft(2, "entry-1"))

        assert loaded is not None
        assert loaded.result is not None
        assert Outcome.DONE is loaded.result.outcome
        assert (loaded,) == store.attempts(record.request_key) == store.recent(1)
        assert Replay(loaded) == decision

    def test_its_own_row_stays(self, store: SqliteStore, tmp_path: Path) -> None:
        record = stopped(store)
        with closing(sqlite3.connect(tmp_path / LEDGER)) as link:
            before = link.execute("SELECT * FROM runs").fetchall()
            self.continued(store, result_of(record, DONE))

            assert before == link.execute("SELECT * FROM runs").fetchall()

    def test_a_rejected_run_is_never_retried(self, store: SqliteStore) -> None:
        record = stopped(store)
        decide(attention(store), asked(kept(), Action.REJECT))
        loaded = store.load(record.run_id)

        assert loaded is not None
        assert loaded.result is not None
        assert (Reason.STOPPED_BY_PERSON, False) == (loaded.result.reason, loaded.result.safe_to_retry)
        assert isinstance(store.reserve(draft(2, "entry-1")), Replay)

    def test_a_continuation_that_cannot_be_read_leaves_no_answer(self, store: SqliteStore, tmp_path: Path) -> None:
        record = stopped(store)
        self.continued(store, result_of(record, DONE))
        with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as link:
            link.execute("DROP TRIGGER continuations_no_update")
            link.execute("UPDATE continuations SET result = '{}'")
        loaded = store.load(record.run_id)

        assert loaded is not None
        assert loaded.result is None
        with pytest.raises(StoreCorruptError):
            attention(store).continuations(record.run_id)

    def test_a_pause_counts_only_when_its_run_is_finished(self, store: SqliteStore) -> None:
        record = started(store.reserve(draft(1)))
        part = attention(store)
        part.keep_pause(kept())

        assert () == part.open_reviews(9)
        assert NotTaken(DecisionRefusal.RUN_NOT_WAITING) == decide(part, asked(kept()))
        store.finish(record.run_id, record.owner, result_of(record, STOPPED))
        assert 1 == len(part.open_reviews(9))

    def test_a_pause_of_no_run_is_a_bug(self, store: SqliteStore) -> None:
        with pytest.raises(ValueError, match="no run"):
            attention(store).keep_pause(kept())


class TestFlushes:
    """A decision is at most two flushed commits before it acts."""

    def test_two_commits_and_then_the_boundary(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped(store)
        part = attention(store)
        commits: list[str] = []
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits

        def counted(link: sqlite3.Connection) -> None:
            commits.append("commit")
            commit(link)

        monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", counted)
        decide(part, asked(kept()))
        part.claim(asked(kept()).key, OWNER)

        assert 2 == len(commits)

    def test_what_ends_at_once_is_one_commit(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped(store)
        commits: list[str] = []
        commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above

        def counted(link: sqlite3.Connection) -> None:
            commits.append("commit")
            commit(link)

        monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", counted)
        decide(attention(store), asked(kept(), Action.REJECT))

        assert 1 == len(commits)


class TestErrorOfCommit:
    """An error of COMMIT is no rollback: a decision is looked for again before anything is said about it."""

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_each_step_is_settled_either_way(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        failing = fails_once(monkeypatch, after)
        record = started(store.reserve(draft(1)))
        part = attention(store)
        failing()
        assert part.keep_pause(kept())
        store.finish(record.run_id, record.owner, result_of(record, STOPPED))
        failing()
        assert part.issue(pause_id(), issue(2))
        now = kept(pause(), issue(), issue(2))
        failing()
        assert isinstance(decide(part, asked(now)), Taken)
        failing()
        assert part.claim(asked(now).key, OWNER) is not None
        failing()
        assert part.begin_continuation_delivery(record.run_id, 1, OWNER)
        failing()
        assert part.end(asked(now).key, Ended(OWNER, DecisionStatus.COMPLETED, NOW + 20), result_of(record, DONE))
        failing()
        assert part.spend_form("a", NOW, NOW)
        assert not part.spend_form("a", NOW, NOW)
        ended = part.decision(asked(now).key)
        assert ended is not None
        assert isinstance(decide(part, asked(now)), Known)

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_what_is_noted_and_wished_is_kept_once(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        stopped(store)
        part = attention(store)
        for number in range(3):
            part.note_refused(evolve(_line(), pause_id="", refused_at=NOW + number))
        failing = fails_once(monkeypatch, after)
        failing()
        part.note_refused(evolve(_line(), pause_id="", refused_at=NOW + 3))
        failing()
        assert 2 == part.forget_refused(NOW + 2)
        failing()
        assert part.ask_opening(pause_id())
        failing()
        assert part.claim_opening(1, OWNER)

        assert [NOW + 3, NOW + 2] == [line.refused_at for line in part.refused(9)]
        assert () == part.openings()
        assert not part.claim_opening(1, OWNER)

    @pytest.mark.parametrize("after", [True, False], ids=["took effect", "did not"])
    def test_the_boundary_of_a_second_continuation(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, after: bool
    ) -> None:
        record = stopped(store)
        part = attention(store)
        decide(part, asked(kept()))
        part.claim(asked(kept()).key, OWNER)
        part.end(asked(kept()).key, Ended(OWNER, DecisionStatus.HALTED, NOW + 20), result_of(record, STOPPED))
        second = asked(kept(), key="2" * 64)
        decide(part, second)
        part.claim(second.key, OWNER)
        fails_once(monkeypatch, after)()

        assert part.begin_continuation_delivery(record.run_id, 2, OWNER)
        assert [False, True] == [each.crossed for each in part.continuations(record.run_id)]


def fails_once(monkeypatch: pytest.MonkeyPatch, after: bool) -> Callable[[], None]:
    """What to call before the COMMIT that is to fail, after it took effect or before."""
    commit = sqlite_file._commit  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that commits
    failing: list[bool] = []

    def failed(link: sqlite3.Connection) -> None:
        if not failing or after:
            commit(link)
        if failing:
            failing.clear()
            raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("surehand.shell.store.sqlite_file._commit", failed)
    return lambda: failing.append(True)


class TestWhoMayEnd:
    """A decision is performed by the one with the window, and ended by that one or as somebody saw it standing."""

    def claimed(self, store: SqliteStore) -> Decision:
        stopped(store)
        part = attention(store)
        decide(part, asked(kept()))
        part.claim(asked(kept()).key, OWNER)
        decision = part.decision(asked(kept()).key)
        assert decision is not None
        return decision

    def test_another_window_takes_nothing(self, store: SqliteStore) -> None:
        stopped(store)
        part = attention(store)
        decide(part, asked(kept()))

        assert part.claim(asked(kept()).key, OTHER_OWNER) is None
        assert [DecisionStatus.PREPARED] == [each.status for each in part.unended()]

    def test_one_that_was_claimed_since_it_was_seen_is_left_alone(self, store: SqliteStore) -> None:
        decision = self.claimed(store)
        seen = evolve(decision, status=DecisionStatus.PREPARED, claimed_by="")
        part = attention(store)

        assert part.settle_decision(seen, NOW + 30) is None
        assert (decision,) == part.unended()

    @pytest.mark.parametrize(
        ("crosses", "status", "reason"),
        [
            (False, DecisionStatus.HALTED, Reason.INTERRUPTED_BEFORE_SAVE),
            (True, DecisionStatus.DELIVERY_UNCERTAIN, Reason.INTERRUPTED),
        ],
    )
    def test_as_it_was_seen_it_ends_as_its_boundary_says(
        self, store: SqliteStore, crosses: bool, status: DecisionStatus, reason: Reason
    ) -> None:
        decision = self.claimed(store)
        part = attention(store)
        assert not crosses or part.begin_continuation_delivery(decision.run_id, 1, OWNER)
        settled = part.settle_decision(decision, NOW + 30)
        (continuation,) = part.continuations(decision.run_id)

        assert settled is not None
        assert continuation.result is not None
        assert (status, crosses, reason) == (settled.status, continuation.crossed, continuation.result.reason)
        assert part.settle_decision(settled, NOW + 31) is None

    def test_an_unknown_one_ends_nothing(self, store: SqliteStore) -> None:
        part = attention(store)

        assert not part.end("1" * 64, Ended(OWNER, DecisionStatus.HALTED, NOW + 20))

    def test_a_decision_about_a_run_without_an_answer_is_damage(self, store: SqliteStore, tmp_path: Path) -> None:
        decision = self.claimed(store)
        unread(tmp_path)
        with pytest.raises(StoreCorruptError):
            attention(store).settle_decision(decision, NOW + 30)


def unread(folder: Path) -> None:
    """Damage the answers of all runs, so that none can be read."""
    with closing(sqlite3.connect(folder / LEDGER, isolation_level=None)) as link:
        for (name,) in link.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'runs'"):
            link.execute(f"DROP TRIGGER {name}")
        link.execute("UPDATE runs SET result = '{}'")


class TestWhatIsListed:
    """What waits for a person is listed, and nothing else; nothing is asked or taken up for what does not."""

    def test_a_run_that_is_done_does_not_wait(self, store: SqliteStore) -> None:
        record = started(store.reserve(draft(1)))
        part = attention(store)
        part.keep_pause(kept())
        store.finish(record.run_id, record.owner, result_of(record, DONE))

        assert () == part.open_reviews(9)
        assert not part.ask_opening(pause_id())

    def test_one_whose_answer_cannot_be_read_does(self, store: SqliteStore, tmp_path: Path) -> None:
        stopped(store)
        unread(tmp_path)
        review = attention(store).review(pause_id())

        assert review is not None
        assert review.waiting

    def test_an_unknown_pause_is_none(self, store: SqliteStore) -> None:
        part = attention(store)

        assert (False, False) == (part.issue(pause_id(9), issue(2)), part.ask_opening(pause_id(9)))

    def test_nobody_takes_up_no_wish(self, store: SqliteStore) -> None:
        stopped(store)
        part = attention(store)
        part.ask_opening(pause_id())

        assert (False, False, True) == (
            part.claim_opening(1, ""),
            part.claim_opening(2, OWNER),
            part.claim_opening(1, OWNER),
        )

    def test_no_more_than_was_asked_for(self, store: SqliteStore) -> None:
        stopped(store)
        bare = started(store.reserve(draft(2, "entry-2")))
        store.finish(bare.run_id, bare.owner, result_of(bare, STOPPED))
        part = attention(store)
        part.note_refused(_line())
        decide(part, asked(kept()))
        found = [(part.refused(limit), part.taken(limit), part.without_pause(limit)) for limit in (-1, 0, 1)]

        assert [(0, 0, 0), (0, 0, 0), (1, 1, 1)] == [tuple(map(len, each)) for each in found]

    def test_a_ledger_is_known_by_its_mark(self, store: SqliteStore, tmp_path: Path) -> None:
        stopped(store)
        with closing(sqlite3.connect(tmp_path / LEDGER)) as link:
            (mark,) = link.execute("PRAGMA application_id").fetchone()

        assert int.from_bytes(b"SRHD") == mark


#: What no program may do to what people decided, and a part of the words with which it is refused.
FORBIDDEN = {
    "a pause goes": "DELETE FROM pauses",
    "a pause changes": "UPDATE pauses SET body = '{}'",
    "an issue goes": "DELETE FROM issues",
    "an issue is made longer": "UPDATE issues SET expires_at = expires_at + 1",
    "a decision goes": "DELETE FROM decisions",
    "a decision that ended changes": "UPDATE decisions SET status = 'prepared', ended_at = NULL",
    "a decision is another's": "UPDATE decisions SET operator = 'somebody'",
    "an audit line changes": "UPDATE refused_decisions SET refusal = 'in_progress'",
    "a continuation goes": "DELETE FROM continuations",
    "a continuation that ended changes": "UPDATE continuations SET result = '{}'",
    "a boundary was not passed": "UPDATE continuations SET crossed = 0",
    "a continuation after the boundary": (
        "INSERT INTO continuations SELECT run_id, 2, pause_id, 'other', owner, 0, NULL FROM continuations"
    ),
    "a wish goes": "DELETE FROM openings",
    "a wish is taken up twice": "UPDATE openings SET claimed_by = 'another'",
    "a form lasts longer": "UPDATE spent_forms SET expires_at = 9",
    "a second decision under way": (
        "INSERT INTO decisions SELECT NULL, 'k' || n, pause_id, run_id, action, capability, operator, door, "
        "'prepared', NULL, NULL, '', decided_at, NULL FROM decisions, (SELECT 1 AS n UNION SELECT 2)"
    ),
    "a second end of a pause": (
        "INSERT INTO decisions SELECT NULL, 'other', pause_id, run_id, action, capability, operator, door, "
        "'rejected', NULL, NULL, '', decided_at, decided_at FROM decisions"
    ),
    "a decision of nobody": (
        "INSERT INTO decisions SELECT NULL, 'other', pause_id, run_id, action, capability, '', door, "
        "'escalated', NULL, NULL, '', decided_at, decided_at FROM decisions"
    ),
}


class TestGuards:
    """Pauses, decisions, audit lines and continuations stay as they were, even against a fault of our own."""

    @pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN)
    def test_the_ledger_refuses(self, store: SqliteStore, tmp_path: Path, statement: str) -> None:
        record = stopped(store)
        part = attention(store)
        part.ask_opening(pause_id())
        part.claim_opening(1, OWNER)
        part.spend_form("a", NOW, NOW)
        decide(part, asked(kept()))
        part.claim(asked(kept()).key, OWNER)
        part.begin_continuation_delivery(record.run_id, 1, OWNER)
        part.end(asked(kept()).key, Ended(OWNER, DecisionStatus.COMPLETED, NOW + 20), result_of(record, DONE))
        part.note_refused(_line())
        link = sqlite3.connect(tmp_path / LEDGER, isolation_level=None)
        with closing(link), pytest.raises(sqlite3.IntegrityError):
            link.execute(statement)

    @pytest.mark.parametrize(
        ("trigger", "statement"),
        [
            ("pauses_no_update", "UPDATE pauses SET body = '{}'"),
            ("issues_no_update", "UPDATE issues SET number = 2"),
            ("issues_no_delete", "DELETE FROM issues"),
        ],
    )
    def test_a_pause_that_was_damaged_is_damage(
        self, store: SqliteStore, tmp_path: Path, trigger: str, statement: str
    ) -> None:
        stopped(store)
        with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as link:
            link.execute(f"DROP TRIGGER {trigger}")
            link.execute(statement)
        with pytest.raises(StoreCorruptError):
            attention(store).review(pause_id())


def _line() -> RefusedDecision:
    decision = asked(kept())
    return RefusedDecision(
        key=decision.key,
        pause_id=pause_id(),
        action=decision.action,
        capability=decision.capability,
        operator="nurse",
        door=decision.door,
        refusal=DecisionRefusal.CODE_WRONG,
        refused_at=NOW,
    )


class TestOldAuditLines:
    """What was refused long ago may be dropped, never about a pause that can still be decided; the file says so too."""

    def test_they_go_in_turns(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.shell.store.sqlite_attention._FORGOTTEN_AT_ONCE", 2)
        part = attention(store)
        for _ in range(5):
            part.note_refused(evolve(_line(), pause_id=""))

        assert (5, 0) == (part.old_refused(NOW + 1), part.old_refused(NOW))
        assert (0, 5) == (part.forget_refused(NOW), part.forget_refused(NOW + 1))
        assert () == part.refused(9)

    def test_the_wrong_codes_of_a_pause_that_waits_stay(self, store: SqliteStore, tmp_path: Path) -> None:
        stopped(store)
        part = attention(store)
        part.note_refused(_line())
        kept_back = part.forget_refused(NOW + 1), part.wrong_codes(_line().capability)
        with (
            closing(sqlite3.connect(tmp_path / LEDGER)) as link,
            pytest.raises(sqlite3.IntegrityError, match="what people decided stays"),
        ):
            link.execute("DELETE FROM refused_decisions")
        decide(part, asked(kept(), Action.REJECT))

        assert (0, 1) == kept_back
        assert (1, 0) == (part.forget_refused(NOW + 1), part.wrong_codes(_line().capability))

    def test_those_of_a_run_that_goes_on_stay(self, store: SqliteStore) -> None:
        started(store.reserve(draft(1)))
        part = attention(store)
        part.keep_pause(kept())
        part.note_refused(_line())

        assert (0, 1) == (part.forget_refused(NOW + 1), len(part.refused(9)))


class TestOlderAndRestoredLedgers:
    """An older ledger learns decisions; a restored one ends nothing that may have gone on meanwhile."""

    def test_an_older_one_becomes_a_newer_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("surehand.shell.store.sqlite.MIGRATIONS", sqlite_schema.MIGRATIONS[:5])
            with closing(SqliteStore.open(tmp_path)) as older:
                record = started(older.reserve(draft(1)))
        with closing(SqliteStore.open(tmp_path)) as newer:
            newer.finish(record.run_id, record.owner, result_of(record, STOPPED))

            assert (newer.load(record.run_id),) == attention(newer).without_pause(9)

    def test_on_a_restored_one_nothing_ends(self, tmp_path: Path) -> None:
        with closing(SqliteStore.open(tmp_path)) as store:
            stopped(store)
        with closing(open_restored(tmp_path)) as restored:
            restored.begin_epoch()
        with closing(SqliteStore.open(tmp_path)) as store:
            part = attention(store)
            review = part.review(pause_id())

            assert review is not None
            assert review.restored
            for action in (Action.CONTINUE, Action.REJECT):
                assert NotTaken(DecisionRefusal.LEDGER_RESTORED) == decide(part, asked(kept(), action))
            assert isinstance(decide(part, asked(kept(), Action.ESCALATE)), Taken)


class TestVersion:
    """A change by another process shows in the version, so that whoever performs decisions has to look only then."""

    def test_it_differs_after_a_change_by_another(self, store: SqliteStore, tmp_path: Path) -> None:
        part = attention(store)
        before = part.version()
        assert before == part.version()
        with closing(SqliteStore.open(tmp_path)) as other:
            stopped(other)

            assert before != part.version()
