"""The law of stores about stopped runs, as a machine: whatever is called in whatever order, they answer as memory does.

Beside the comparison, the machine keeps its own books: who passed a boundary, what was settled, what was answered.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from support.attention import KEY, NOW, OTHER_OWNER, OWNER, STOPPED, asked, instants, issue, pause, pause_id
from support.stores import BROKEN, DONE, MEMORY_DISK, TIMED_OUT, OneMemory, OpensStores, draft, result_of
from surehand.core.attention.capability import DecisionRefusal, seal_of, verify
from surehand.core.attention.continuation import Continuation
from surehand.core.attention.decision import (
    Decision,
    DecisionStatus,
    Ended,
    Finding,
    RefusedDecision,
    Review,
    Taken,
    Verdict,
    is_over,
    judge,
    status_after,
)
from surehand.core.attention.pause import IN_WINDOW, PERFORMED, Action, Issue, KeptPause
from surehand.core.outcome.evidence import Evidence
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord
from surehand.shell.store.attention import AttentionStore, Judge, attention_of
from surehand.shell.store.base import RunStore
from surehand.shell.store.memory import MemoryStore
from surehand.shell.store.memory_attention import MemoryAttention

_places = st.integers(min_value=0, max_value=9)
_owners = st.sampled_from((OWNER, OTHER_OWNER))


def attention(store: RunStore) -> AttentionStore:
    """The part of a store about stopped runs."""
    part = attention_of(store)
    assert part is not None
    return part


def as_the_machine(review: Review | None, under_key: Decision | None, decision: Decision) -> Verdict:
    """The verdict ten seconds after everything was issued."""
    if review is None:
        return judge(None, under_key, decision, verify(KEY, _nothing(), "", decision.action, instants()))
    return judge(
        review, under_key, decision, verify(KEY, review.kept, decision.capability, decision.action, instants())
    )


def _nothing() -> KeptPause:
    made = pause()
    return KeptPause(pause=made, seal="0" * 64, issues=(issue(),))


class AttentionMachine(RuleBasedStateMachine):
    """Drives a store and the oracle alike; ``opens`` is set by the subclass."""

    opens: OpensStores

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="surehand-attention-", dir=MEMORY_DISK))
        self.store = type(self).opens(self.folder)
        self.oracle = MemoryStore()
        self.runs: list[RunRecord] = []
        self.pauses: list[str] = []
        self.seen: list[Decision] = []
        self.crossed: Counter[str] = Counter()
        self.answers: dict[str, RunResult] = {}
        self.calls = 0

    def teardown(self) -> None:
        """Compare everything once more and leave nothing behind."""
        try:
            self.compare()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    @property
    def both(self) -> tuple[AttentionStore, AttentionStore]:
        """The oracle and the store."""
        return attention(self.oracle), attention(self.store)

    @rule(doubt=st.booleans(), window=st.booleans(), bare=st.booleans())
    def stop_a_run(self, doubt: bool, window: bool, bare: bool) -> None:
        """Let a run stop, mostly with a pause."""
        self.calls += 1
        record = draft(self.calls, f"entry-{self.calls}")
        for store in (self.oracle, self.store):
            store.reserve(record)
        self.runs.append(record)
        if not (bare and self.calls % 3 == 0):
            self.keep(0, window, optional=self.calls % 2 == 0)
        result = result_of(evolve(record, attempt=1), TIMED_OUT if doubt and self.calls % 4 == 0 else STOPPED)
        for store in (self.oracle, self.store):
            store.finish(record.run_id, record.owner, result)

    @precondition(lambda self: self.runs)
    @rule(place=_places, window=st.booleans(), optional=st.booleans())
    def keep(self, place: int, window: bool, optional: bool) -> None:
        """Keep a pause of a run."""
        record = self.runs[-1 - place % len(self.runs)]
        made = pause(len(self.pauses) + 1, run_id=record.run_id, skippable=optional)
        issued = issue(owner=OWNER if window else "")
        kept = KeptPause(pause=made, seal=seal_of(KEY, made), issues=(issued,))
        oracle, store = self.both

        assert oracle.keep_pause(kept) == store.keep_pause(kept)
        assert not store.keep_pause(kept)
        assert oracle.lineage(record.run_id) == store.lineage(record.run_id)

        self.pauses.append(made.pause_id)

    @precondition(lambda self: self.pauses)
    @rule(
        place=_places, action=st.sampled_from(Action), stale=st.integers(min_value=0, max_value=6), again=st.booleans()
    )
    def decide(self, place: int, action: Action, stale: int, again: bool) -> None:
        """Decide about a pause, now and then under a key that was used before or with a digest that is none."""
        oracle, store = self.both
        review = oracle.review(self.pick(place))
        assert review is not None
        self.calls += 1
        key = self.seen[-1].key if again and self.seen and self.calls % 3 == 0 else f"{self.calls:064x}"
        decision = asked(review.kept, action, key)
        if stale == 0:
            decision = evolve(decision, capability="0" * 64)
        expected = oracle.decide(decision, lambda known, used: as_the_machine(known, used, decision))

        assert expected == store.decide(decision, lambda known, used: as_the_machine(known, used, decision))

        if isinstance(expected, Taken):
            self.seen.append(expected.decision)

    @precondition(lambda self: self.seen)
    @rule(place=_places, owner=_owners)
    def claim(self, place: int, owner: str) -> None:
        """Claim a decision."""
        oracle, store = self.both
        key = self.seen[-1 - place % len(self.seen)].key

        assert oracle.claim(key, owner) == store.claim(key, owner)

    @precondition(lambda self: self.seen)
    @rule(place=_places, owner=_owners)
    def cross(self, place: int, owner: str) -> None:
        """Pass the boundary of the newest continuation of a run."""
        oracle, store = self.both
        run = self.seen[-1 - place % len(self.seen)].run_id
        number = len(oracle.continuations(run))
        passed = store.begin_continuation_delivery(run, number, owner)
        self.crossed[run] += passed

        assert self.crossed[run] <= 1
        assert oracle.begin_continuation_delivery(run, number, owner) == passed

    @precondition(lambda self: self.seen)
    @rule(
        place=_places, owner=_owners, evidence=st.sampled_from((DONE, TIMED_OUT, STOPPED, BROKEN)), refuse=st.booleans()
    )
    def end(self, place: int, owner: str, evidence: Evidence, refuse: bool) -> None:
        """End a decision as its run ends, or refuse it."""
        oracle, store = self.both
        decision = self.seen[-1 - place % len(self.seen)]
        ending, result = self.ending(decision, owner, evidence, refuse=refuse)

        assert oracle.end(decision.key, ending, result) == store.end(decision.key, ending, result)

    def ending(
        self, decision: Decision, owner: str, evidence: Evidence, *, refuse: bool
    ) -> tuple[Ended, RunResult | None]:
        """An end that agrees with what came of it."""
        record = next(each for each in self.runs if each.run_id == decision.run_id)
        legs = [each for each in attention(self.oracle).continuations(decision.run_id) if each.key == decision.key]
        refusal = DecisionRefusal.INPUTS_CHANGED
        if refuse and not any(each.crossed for each in legs):
            return Ended(owner, DecisionStatus.REFUSED, NOW + 20, refusal), None
        if decision.action not in IN_WINDOW:
            return Ended(owner, DecisionStatus.RECONCILED, NOW + 20, None, Finding.SAVED_AS_INTENDED), None
        result = result_of(evolve(record, attempt=1), evidence)
        return Ended(owner, status_after(result), NOW + 20), result if legs else None

    @precondition(lambda self: self.seen)
    @rule(place=_places, fresh=st.booleans())
    def settle(self, place: int, fresh: bool) -> None:
        """Settle a decision by a sight of it that may be out of date."""
        oracle, store = self.both
        seen = self.seen[-1 - place % len(self.seen)]
        if fresh:
            seen = oracle.decision(seen.key) or seen

        assert oracle.settle_decision(seen, NOW + 30) == store.settle_decision(seen, NOW + 30)

    @precondition(lambda self: self.pauses)
    @rule(place=_places, owner=st.sampled_from((OWNER, OTHER_OWNER, "")), step=st.integers(min_value=0, max_value=2))
    def issue(self, place: int, owner: str, step: int) -> None:
        """Issue a pause anew, mostly by the next number."""
        oracle, store = self.both
        review = oracle.review(self.pick(place))
        assert review is not None
        anew = issue(review.kept.issue.number + step, owner=owner)

        assert oracle.issue(review.kept.pause.pause_id, anew) == store.issue(review.kept.pause.pause_id, anew)

    @precondition(lambda self: self.pauses)
    @rule(place=_places, owner=_owners)
    def open_again(self, place: int, owner: str) -> None:
        """Wish for a window and take wishes up."""
        oracle, store = self.both

        assert oracle.ask_opening(self.pick(place)) == store.ask_opening(self.pick(place))
        assert oracle.openings() == store.openings()
        for number in (1, 2, 99):
            assert oracle.claim_opening(number, owner) == store.claim_opening(number, owner)

    @rule(name=st.sampled_from("abc"), ends=st.integers(min_value=0, max_value=20))
    def spend(self, name: str, ends: int) -> None:
        """Use the state of a form."""
        self.calls += 1
        oracle, store = self.both

        assert oracle.spend_form(name, NOW + ends, NOW + self.calls) == store.spend_form(
            name, NOW + ends, NOW + self.calls
        )

    @rule(code=st.booleans(), place=st.none() | _places)
    def note_refused(self, code: bool, place: int | None) -> None:
        """Keep an audit line."""
        named = self.pick(place) if place is not None and self.pauses else ""
        refusal = DecisionRefusal.CODE_WRONG if code else DecisionRefusal.IN_PROGRESS
        decision = asked(_nothing())
        line = RefusedDecision(
            key=decision.key,
            pause_id=named,
            action=decision.action,
            capability=decision.capability,
            operator="",
            door=decision.door,
            refusal=refusal,
            refused_at=NOW + self.calls % 3,
        )
        for part in self.both:
            part.note_refused(line)
        oracle, store = self.both

        assert oracle.refused(3) == store.refused(3)
        assert oracle.wrong_codes(line.capability) == store.wrong_codes(line.capability)

    @rule(age=st.integers(min_value=0, max_value=3))
    def forget_refused(self, age: int) -> None:
        """Drop old audit lines; what was refused about a pause that waits stays."""
        oracle, store = self.both
        waits = {review.kept.pause.pause_id for review in oracle.open_reviews(99)}
        before = [line for line in store.refused(99) if line.pause_id in waits]

        assert oracle.old_refused(NOW + age) == store.old_refused(NOW + age)
        assert oracle.forget_refused(NOW + age) == store.forget_refused(NOW + age)
        assert store.old_refused(NOW + age) == 0
        assert before == [line for line in store.refused(99) if line.pause_id in waits]

    @rule()
    def reopen(self) -> None:
        """Close the store and open it again."""
        self.store.close()
        self.store = type(self).opens(self.folder)
        self.compare()

    def pick(self, place: int) -> str:
        """One of the last pauses."""
        return self.pauses[-1 - place % len(self.pauses)]

    def compare(self) -> None:
        """Everything that can be asked is answered alike, and the laws hold."""
        oracle, store = self.both
        for record in self.runs:
            kept = self.store.load(record.run_id)
            assert self.oracle.load(record.run_id) == kept
            assert oracle.continuations(record.run_id) == store.continuations(record.run_id)
            assert oracle.decisions(record.run_id) == store.decisions(record.run_id)
            assert sum(not is_over(each) for each in store.decisions(record.run_id)) <= 1
            assert sum(each.crossed for each in store.continuations(record.run_id)) == self.crossed[record.run_id] <= 1
            assert kept is not None
            if kept.result is not None:
                self.compare_answer(kept.result)
        for name in (*self.pauses, pause_id(999)):
            assert oracle.review(name) == store.review(name)
        self.compare_lists()

    def compare_answer(self, now: RunResult) -> None:
        """No answer becomes retryable, and none that is done or in doubt ever changes."""
        before = self.answers.get(now.run_id)
        if before is not None and before.outcome is not Outcome.NEEDS_REVIEW:
            assert before == now
        assert not now.safe_to_retry
        self.answers[now.run_id] = now

    def compare_lists(self) -> None:
        """The lists agree, page by page."""
        oracle, store = self.both
        assert oracle.unended() == store.unended()
        assert oracle.taken(5) == store.taken(5)
        assert all(decision.action in PERFORMED for decision in store.unended())
        assert oracle.without_pause(5) == store.without_pause(5)
        assert self.oracle.recent(20) == self.store.recent(20)
        after: str | None = None
        for _ in range(4):
            page = oracle.open_reviews(2, after)
            assert page == store.open_reviews(2, after)
            after = page[-1].kept.pause.pause_id if page else pause_id(999)


def machine(opens: OpensStores) -> type[AttentionMachine]:
    """The machine that drives this kind of store."""
    return type("Machine", (AttentionMachine,), {"opens": staticmethod(opens)})


# Stores that are wrong, which the machine has to catch.


class DecidesWithoutLooking(MemoryAttention):
    """Keeps a decision although another one of the run is under way or settled it."""

    def decide(self, asked: Decision, judge: Judge) -> Verdict:
        """Look at no other decision."""
        return super().decide(asked, lambda review, used: judge(review and evolve(review, decisions=()), used))


class ClaimsWithoutLooking(MemoryAttention):
    """Lets a decision be taken that is being carried out, as a store does that goes by its age."""

    def claim(self, key: str, owner: str) -> Continuation | None:
        """Look at nobody's claim."""
        now = self._decisions.get(key)
        if now is not None and now.status is DecisionStatus.DELIVERY_STARTED:
            self._decisions[key] = evolve(now, status=DecisionStatus.PREPARED, claimed_by="")
            for place in [place for place, begun in self._continuations.items() if begun.key == key]:
                del self._continuations[place]
        return super().claim(key, owner)


class CrossesWithoutLooking(MemoryAttention):
    """Lets a continuation pass the boundary as often as it asks."""

    def begin_continuation_delivery(self, run_id: str, number: int, owner: str) -> bool:
        """Look at nobody's passage."""
        super().begin_continuation_delivery(run_id, number, owner)
        return any(each.number == number for each in self.continuations(run_id))


class SettlesWhatMoved(MemoryAttention):
    """Settles a decision although it moved on after it was seen."""

    def settle_decision(self, seen: Decision, at: int) -> Decision | None:
        """Look at no status."""
        now = self.decision(seen.key)
        return None if now is None else super().settle_decision(now, at)


class IssuesWithoutLooking(MemoryAttention):
    """Gives a window away under a decision that is being carried out."""

    def issue(self, pause_id: str, issue: Issue) -> bool:
        """Look at no decision."""
        kept = self._pauses.get(pause_id)
        if kept is None or issue.number != kept.issue.number + 1:
            return False
        self._pauses[pause_id] = evolve(kept, issues=(*kept.issues, issue))
        return True


class ForgetsWhatWaits(MemoryAttention):
    """Drops the audit lines of a pause that waits, and with them its wrong codes."""

    def forget_refused(self, before: int) -> int:
        """Look at no pause."""
        old = [line for line in self._refused if line.refused_at < before]
        self._refused[:] = [line for line in self._refused if line not in old]
        return len(old)


def _stopped_and_decided(driven: AttentionMachine) -> None:
    driven.stop_a_run(doubt=False, window=True, bare=False)
    driven.decide(place=0, action=Action.CONTINUE, stale=1, again=False)


def _decides_twice(driven: AttentionMachine) -> None:
    _stopped_and_decided(driven)
    driven.decide(place=0, action=Action.REJECT, stale=1, again=False)


def _claims_twice(driven: AttentionMachine) -> None:
    _stopped_and_decided(driven)
    driven.claim(place=0, owner=OWNER)
    driven.claim(place=0, owner=OWNER)


def _crosses_twice(driven: AttentionMachine) -> None:
    _stopped_and_decided(driven)
    driven.claim(place=0, owner=OWNER)
    driven.cross(place=0, owner=OWNER)
    driven.cross(place=0, owner=OWNER)


def _settles_an_old_sight(driven: AttentionMachine) -> None:
    _stopped_and_decided(driven)
    driven.claim(place=0, owner=OWNER)
    driven.settle(place=0, fresh=False)


def _issues_under_a_decision(driven: AttentionMachine) -> None:
    _stopped_and_decided(driven)
    driven.issue(place=0, owner=OTHER_OWNER, step=1)


def _forgets_what_waits(driven: AttentionMachine) -> None:
    driven.stop_a_run(doubt=False, window=True, bare=False)
    driven.note_refused(code=True, place=0)
    driven.forget_refused(age=3)


#: Every store that is wrong, and the shortest way to see it.
WRONG: Mapping[type[MemoryAttention], Callable[[AttentionMachine], None]] = {
    DecidesWithoutLooking: _decides_twice,
    ClaimsWithoutLooking: _claims_twice,
    CrossesWithoutLooking: _crosses_twice,
    SettlesWhatMoved: _settles_an_old_sight,
    IssuesWithoutLooking: _issues_under_a_decision,
    ForgetsWhatWaits: _forgets_what_waits,
}


def wrong_memory(part: type[MemoryAttention]) -> OneMemory:
    """A store in memory whose part about stopped runs is of a wrong kind."""

    class Wrong(MemoryStore):
        """A store that is wrong on purpose."""

        def __init__(self) -> None:
            super().__init__()
            vars(self)["attention"] = part(self._records, self._guard)

    return OneMemory(Wrong)
