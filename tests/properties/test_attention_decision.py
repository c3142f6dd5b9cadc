"""One decision for one key, one at a time, and an end that says what happened."""

from itertools import product
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve, fields
from returns.result import Failure, Result, Success

from support.attention import (
    KEY,
    NOW,
    OTHER_OWNER,
    OWNER,
    STOPPED,
    asked,
    instants,
    issue,
    kept,
    pause,
    pause_id,
    request,
    review,
)
from support.stores import BROKEN, DONE, GOING_ON, TIMED_OUT, draft, result_of, run_id
from surehand.core.attention.capability import DecisionRefusal, VerifiedCapability, verify
from surehand.core.attention.continuation import Continuation, begun_by, going_on, may_cross, result_at_end
from surehand.core.attention.decision import (
    MOVES,
    Claimed,
    Decision,
    DecisionRequest,
    DecisionStatus,
    Ended,
    Event,
    Finding,
    Known,
    NotTaken,
    OwnerGone,
    Receipt,
    RefusedDecision,
    Review,
    Taken,
    Verdict,
    decision_key,
    is_over,
    judge,
    log_of,
    may_issue,
    receipt_of,
    refusal_receipt,
    settling,
    status_after,
    step,
    still_waits,
)
from surehand.core.attention.decision import Door as Doors
from surehand.core.attention.pause import ENDING, IN_WINDOW, PERFORMED, Action, DeliveryState
from surehand.core.attention.review import interrupted
from surehand.core.outcome.evidence import Evidence, PauseCategory
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import instant
from surehand.core.wire import from_wire, to_wire

FIRST = result_of(evolve(draft(1), attempt=1), STOPPED)
STARTED = evolve(asked(kept()), run_id=run_id(1), status=DecisionStatus.DELIVERY_STARTED, claimed_by=OWNER)


def verified(what: Review, decision: Decision) -> Result[VerifiedCapability, DecisionRefusal]:
    """What ``verify`` says ten seconds after the issue."""
    return verify(KEY, what.kept, decision.capability, decision.action, instants())


def judged(what: Review, decision: Decision, under_key: Decision | None = None) -> Verdict:
    """The verdict with the capability as it is."""
    return judge(what, under_key, decision, verified(what, decision))


def ended(status: DecisionStatus, action: Action = Action.CONTINUE, finding: Finding | None = None) -> Decision:
    """A decision of the first pause that ended so."""
    made = asked(kept(), action, "2" * 64)
    over = not MOVES[status]
    return evolve(made, run_id=run_id(1), status=status, finding=finding, ended_at=NOW + 20 if over else None)


class TestTaking:
    """A decision is taken for a pause that waits, with its capability; everything else is refused by a closed code."""

    @pytest.mark.parametrize(
        ("action", "status"),
        [
            (Action.CONTINUE, DecisionStatus.PREPARED),
            (Action.SKIP, DecisionStatus.PREPARED),
            (Action.RECONCILE, DecisionStatus.PREPARED),
            (Action.REJECT, DecisionStatus.REJECTED),
            (Action.TEACH, DecisionStatus.NEEDS_DEMONSTRATION),
            (Action.ESCALATE, DecisionStatus.ESCALATED),
        ],
    )
    def test_it_is_kept_as_its_action_says(self, action: Action, status: DecisionStatus) -> None:
        unsent = action is not Action.RECONCILE
        delivery = DeliveryState.NOT_DELIVERED if unsent else DeliveryState.UNKNOWN
        resolution = pause(
            category=PauseCategory.RESOLUTION, skippable=True, delivery=delivery, has_baseline=not unsent
        )
        what = review(kept(resolution))
        verdict = judged(what, asked(what.kept, action))

        assert isinstance(verdict, Taken)
        assert (status, run_id(1)) == (verdict.decision.status, verdict.decision.run_id)
        assert is_over(verdict.decision) == (action not in PERFORMED) == (verdict.decision.ended_at is not None)

    def test_an_unknown_item(self) -> None:
        decision = asked(kept())

        assert NotTaken(DecisionRefusal.UNKNOWN_ITEM) == judge(None, None, decision, verified(review(), decision))

    def test_a_repeat_is_the_same_decision_whatever_holds_by_then(self) -> None:
        before = ended(DecisionStatus.COMPLETED)
        again = asked(kept(), key=before.key)

        assert Known(before) == judge(None, before, again, Failure(DecisionRefusal.CAPABILITY_EXPIRED))

    @pytest.mark.parametrize(
        "other", [{"action": Action.REJECT}, {"capability": "0" * 64}, {"pause_id": pause_id(2)}], ids=str
    )
    def test_the_same_key_with_other_content_is_refused(self, other: dict[str, Any]) -> None:
        before = ended(DecisionStatus.COMPLETED)
        again = evolve(asked(kept(), key=before.key), **other)

        assert NotTaken(DecisionRefusal.KEY_REUSED) == judged(review(), again, before)

    @pytest.mark.parametrize(
        "settled",
        [
            ended(DecisionStatus.COMPLETED),
            ended(DecisionStatus.DELIVERY_UNCERTAIN),
            ended(DecisionStatus.REJECTED, Action.REJECT),
            ended(DecisionStatus.RECONCILED, Action.RECONCILE, Finding.SAVED_AS_INTENDED),
        ],
        ids=lambda decision: decision.status.value,
    )
    def test_another_key_after_a_final_decision_is_refused(self, settled: Decision) -> None:
        for action in Action:
            verdict = judged(review(kept(), settled), asked(kept(), action))
            assert NotTaken(DecisionRefusal.ALREADY_DECIDED) == verdict

    @pytest.mark.parametrize(
        "open_end",
        [
            ended(DecisionStatus.HALTED),
            ended(DecisionStatus.REFUSED),
            ended(DecisionStatus.NEEDS_DEMONSTRATION, Action.TEACH),
            ended(DecisionStatus.ESCALATED, Action.ESCALATE),
            ended(DecisionStatus.RECONCILED, Action.RECONCILE, Finding.NOT_FOUND),
        ],
        ids=lambda decision: decision.status.value,
    )
    def test_what_settles_nothing_leaves_the_pause_as_it_was(self, open_end: Decision) -> None:
        assert isinstance(judged(review(kept(), open_end), asked(kept(), Action.REJECT)), Taken)

    @pytest.mark.parametrize("status", [DecisionStatus.PREPARED, DecisionStatus.DELIVERY_STARTED])
    def test_another_one_under_way_is_refused(self, status: DecisionStatus) -> None:
        of_run = evolve(ended(status), pause_id=pause_id(2))

        assert NotTaken(DecisionRefusal.IN_PROGRESS) == judged(review(kept(), of_run), asked(kept()))

    def test_a_late_answer_to_an_earlier_pause_is_refused(self) -> None:
        assert NotTaken(DecisionRefusal.PAUSE_SUPERSEDED) == judged(review(newest=False), asked(kept()))

    def test_a_run_that_waits_for_nobody_is_refused(self) -> None:
        assert NotTaken(DecisionRefusal.RUN_NOT_WAITING) == judged(review(waiting=False), asked(kept()))

    def test_what_ends_a_run_is_refused_on_a_restored_ledger(self) -> None:
        restored = review(restored=True)
        for action in (Action.CONTINUE, Action.REJECT, Action.TEACH, Action.ESCALATE):
            verdict = judged(restored, asked(kept(), action))
            assert (NotTaken(DecisionRefusal.LEDGER_RESTORED) == verdict) == (action in ENDING)

    def test_a_refused_capability_is_told_by_its_code(self) -> None:
        wrong = asked(kept(), capability="0" * 64)

        assert NotTaken(DecisionRefusal.CAPABILITY_NOT_OF_ITEM) == judged(review(), wrong)

    @pytest.mark.parametrize(
        "other", [{"action": Action.REJECT}, {"capability": "0" * 64}, {"pause_id": pause_id(2)}], ids=str
    )
    def test_a_capability_that_was_verified_for_something_else_is_refused(self, other: dict[str, Any]) -> None:
        decision = asked(kept())
        proof = verified(review(), decision)
        verdict = judge(review(), None, evolve(decision, **other), proof)

        assert NotTaken(DecisionRefusal.CAPABILITY_NOT_OF_ITEM) == verdict

    def test_one_that_was_verified_for_the_pause_as_it_was_is_refused(self) -> None:
        decision = asked(kept())
        proof = verified(review(), decision)
        now = review(kept(pause(), issue(), issue(2)))

        assert NotTaken(DecisionRefusal.CAPABILITY_NOT_OF_ITEM) == judge(now, None, decision, proof)

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({}, True),
            ({"capability_digest": "0" * 200}, True),
            ({"capability_digest": "0" * 201}, False),
            ({"idempotency_key": "a" * 15}, False),
            ({"idempotency_key": "a-key-of-16 signs"}, False),
        ],
        ids=str,
    )
    def test_what_a_door_sends_is_bounded(self, change: dict[str, str], *, expected: bool) -> None:
        sent = {**to_wire(request(kept())), **change}

        assert expected == isinstance(from_wire(sent, DecisionRequest), Success)

    def test_a_key_is_kept_as_its_hash(self) -> None:
        assert "nurse" not in decision_key("nurse-jackie-0001")
        assert 64 == len(decision_key("nurse-jackie-0001"))


class TestWaiting:
    """A pause waits while its run does, until it is settled or another one takes its place."""

    def test_it_waits(self) -> None:
        assert still_waits(review())
        assert settling(review()) is None

    def test_it_does_not(self) -> None:
        for over in (review(newest=False), review(waiting=False), review(kept(), ended(DecisionStatus.COMPLETED))):
            assert not still_waits(over)
            assert not may_issue(over, issue(2))

    def test_the_end_of_another_pause_settles_nothing(self) -> None:
        assert still_waits(review(kept(), evolve(ended(DecisionStatus.DELIVERY_UNCERTAIN), pause_id=pause_id(2))))

    def test_it_is_issued_by_the_next_number_and_never_under_a_decision(self) -> None:
        assert may_issue(review(), issue(2))
        assert not may_issue(review(), issue(3))
        assert not may_issue(review(kept(), ended(DecisionStatus.PREPARED)), issue(2))


def events() -> list[Event]:
    """Every event that differs in what decides."""
    ends = [
        Ended(owner, status, NOW + 20, refusal, finding)
        for owner, status, refusal, finding in product(
            (OWNER, OTHER_OWNER), DecisionStatus, (None, DecisionRefusal.INPUTS_CHANGED), (None, Finding.NOT_FOUND)
        )
    ]
    return [Claimed(OWNER), Claimed(""), OwnerGone(True, NOW + 20), OwnerGone(False, NOW + 20), *ends]


def decisions() -> list[Decision]:
    """Every decision that differs in what decides."""
    return [
        evolve(ended(status, action), claimed_by=OWNER if status is DecisionStatus.DELIVERY_STARTED else "")
        for status, action in product(DecisionStatus, Action)
    ]


class TestSteps:
    """A decision is claimed once and ends once, by who claimed it or because that one is gone."""

    def test_every_step_is_a_move_of_the_table(self) -> None:
        for decision, event in product(decisions(), events()):
            then = step(decision, event)
            assert then is None or then.status in MOVES[decision.status]

    def test_nothing_moves_after_the_end(self) -> None:
        over = [decision for decision in decisions() if is_over(decision)]

        assert {None} == {step(decision, event) for decision, event in product(over, events())}

    def test_only_how_far_it_is_changes(self) -> None:
        moving = {"status", "refusal", "finding", "claimed_by", "ended_at"}
        names = {each.name for each in fields(Decision)} - moving
        for decision, event in product(decisions(), events()):
            then = step(decision, event)
            if then is not None:
                assert [getattr(decision, name) for name in names] == [getattr(then, name) for name in names]
                assert is_over(then) == (then.ended_at is not None)

    def test_it_is_claimed_once(self) -> None:
        prepared = ended(DecisionStatus.PREPARED)
        claimed = step(prepared, Claimed(OWNER))

        assert claimed is not None
        assert OWNER == claimed.claimed_by
        assert step(claimed, Claimed(OTHER_OWNER)) is None
        assert step(prepared, Claimed("")) is None

    def test_nobody_but_its_claimer_ends_it(self) -> None:
        for status in DecisionStatus:
            assert step(STARTED, Ended(OTHER_OWNER, status, NOW + 20)) is None

    def test_it_ends_as_its_action_can(self) -> None:
        for action in Action:
            ends = {
                status
                for status, refusal, finding in product(
                    DecisionStatus, (None, DecisionRefusal.INPUTS_CHANGED), (None, Finding.NOT_FOUND)
                )
                if step(evolve(STARTED, action=action), Ended(OWNER, status, NOW + 20, refusal, finding)) is not None
            }
            stopped = {DecisionStatus.HALTED, DecisionStatus.REFUSED}
            went_on = stopped | {DecisionStatus.COMPLETED, DecisionStatus.DELIVERY_UNCERTAIN}
            read = stopped | {DecisionStatus.RECONCILED}
            expected = went_on if action in IN_WINDOW else read if action is Action.RECONCILE else set[DecisionStatus]()
            assert expected == ends

    def test_a_reading_has_a_finding_and_nothing_else_has(self) -> None:
        reading = evolve(STARTED, action=Action.RECONCILE)

        assert step(reading, Ended(OWNER, DecisionStatus.RECONCILED, NOW + 20)) is None
        assert step(STARTED, Ended(OWNER, DecisionStatus.COMPLETED, NOW + 20, None, Finding.NOT_FOUND)) is None

    def test_a_refusal_says_why(self) -> None:
        assert step(STARTED, Ended(OWNER, DecisionStatus.REFUSED, NOW + 20)) is None

    def test_its_end_says_why_or_what_was_read(self) -> None:
        reading = evolve(STARTED, action=Action.RECONCILE)
        refused = step(STARTED, Ended(OWNER, DecisionStatus.REFUSED, NOW + 20, DecisionRefusal.INPUTS_CHANGED))
        read = step(reading, Ended(OWNER, DecisionStatus.RECONCILED, NOW + 20, None, Finding.DIFFERS))

        assert evolve(STARTED, status=DecisionStatus.REFUSED, refusal=DecisionRefusal.INPUTS_CHANGED) == (
            None if refused is None else evolve(refused, ended_at=None)
        )
        assert evolve(reading, status=DecisionStatus.RECONCILED, finding=Finding.DIFFERS) == (
            None if read is None else evolve(read, ended_at=None)
        )

    def test_what_nobody_claimed_ends_only_where_nothing_was_done(self) -> None:
        prepared = ended(DecisionStatus.PREPARED)
        ends = {status for status in DecisionStatus if step(prepared, Ended(OTHER_OWNER, status, NOW + 20)) is not None}

        refused = step(prepared, Ended("", DecisionStatus.REFUSED, NOW + 20, DecisionRefusal.BUNDLE_CHANGED))

        assert {DecisionStatus.HALTED} == ends
        assert refused is not None
        assert (DecisionStatus.REFUSED, DecisionRefusal.BUNDLE_CHANGED) == (refused.status, refused.refusal)

    def test_an_owner_that_is_gone_leaves_doubt_behind_the_boundary_only(self) -> None:
        behind, before = step(STARTED, OwnerGone(True, NOW + 20)), step(STARTED, OwnerGone(False, NOW + 20))
        unclaimed = step(ended(DecisionStatus.PREPARED), OwnerGone(True, NOW + 20))

        assert behind is not None
        assert before is not None
        assert unclaimed is not None
        assert DecisionStatus.DELIVERY_UNCERTAIN is behind.status
        assert {DecisionStatus.HALTED} == {before.status, unclaimed.status}
        assert {DecisionRefusal.WINDOW_GONE} == {before.refusal, unclaimed.refusal}

    @pytest.mark.parametrize(
        ("evidence", "status"),
        [
            (DONE, DecisionStatus.COMPLETED),
            (STOPPED, DecisionStatus.HALTED),
            (BROKEN, DecisionStatus.HALTED),
            (TIMED_OUT, DecisionStatus.DELIVERY_UNCERTAIN),
            (GOING_ON, DecisionStatus.DELIVERY_UNCERTAIN),
        ],
    )
    def test_it_ends_as_its_run_does(self, evidence: Evidence, status: DecisionStatus) -> None:
        assert status is status_after(result_of(evolve(draft(1), attempt=1), evidence))


class TestReceipts:
    """A receipt says what became of a decision, in fixed words, and names nobody."""

    #: A word of what each status has to say, and of no other.
    SAID = MappingProxyType(
        {
            DecisionStatus.PREPARED: "has not begun",
            DecisionStatus.DELIVERY_STARTED: "is being carried out",
            DecisionStatus.COMPLETED: "exactly the intended values",
            DecisionStatus.HALTED: "did not go on to its end",
            DecisionStatus.REFUSED: "was refused",
            DecisionStatus.DELIVERY_UNCERTAIN: "may have gone through",
            DecisionStatus.REJECTED: "never goes on",
            DecisionStatus.NEEDS_DEMONSTRATION: "corrective demonstration",
            DecisionStatus.ESCALATED: "Help was asked for",
            DecisionStatus.RECONCILED: "was read again",
        }
    )

    @pytest.mark.parametrize("status", DecisionStatus)
    def test_it_says_what_happened(self, status: DecisionStatus) -> None:
        decision = evolve(ended(status), refusal=DecisionRefusal.WINDOW_GONE, finding=Finding.DIFFERS)
        receipt = receipt_of(decision)
        wire = to_wire(receipt)

        assert receipt == Receipt(
            attention_id=pause_id(),
            run_id=run_id(1),
            action=Action.CONTINUE,
            status=status,
            reason=DecisionRefusal.WINDOW_GONE,
            finding=Finding.DIFFERS,
            final=not MOVES[status],
            decided_at=instant(NOW + 10),
            ended_at=instant(NOW + 20) if not MOVES[status] else None,
            what_happened=receipt.what_happened,
        )
        assert [status] == [each for each, words in self.SAID.items() if words in receipt.what_happened]
        assert "nurse" not in str(wire)
        assert receipt == from_wire(wire, Receipt).unwrap()

    @pytest.mark.parametrize(("length", "expected"), [(300, True), (301, False)])
    def test_its_words_are_bounded(self, length: int, *, expected: bool) -> None:
        wire = to_wire(receipt_of(ended(DecisionStatus.HALTED)))

        assert expected == isinstance(from_wire({**wire, "what_happened": "x" * length}, Receipt), Success)
        assert "" == Receipt(action=Action.TEACH, status=DecisionStatus.ESCALATED, final=True).what_happened

    def test_a_refused_one_credits_nothing(self) -> None:
        refused = RefusedDecision(
            key="1" * 64,
            pause_id=pause_id(),
            action=Action.CONTINUE,
            capability="",
            operator="nurse",
            door=Doors.CONSOLE,
            refusal=DecisionRefusal.CAPABILITY_EXPIRED,
            refused_at=NOW,
        )
        receipt = refusal_receipt(refused, run_id(1))

        assert receipt == Receipt(
            attention_id=pause_id(),
            run_id=run_id(1),
            action=Action.CONTINUE,
            status=DecisionStatus.REFUSED,
            reason=DecisionRefusal.CAPABILITY_EXPIRED,
            final=True,
            what_happened="The decision was refused. Nothing was done.",
        )
        assert refusal_receipt(evolve(refused, pause_id=""), None).attention_id is None


class TestLog:
    """What was taken and what was refused stand in one order of time, each with its account and its code."""

    def refused(self, at: int) -> RefusedDecision:
        return RefusedDecision(
            key="1" * 64,
            pause_id="",
            action=Action.REJECT,
            capability="",
            operator="",
            door=Doors.MCP_FORM,
            refusal=DecisionRefusal.OPERATOR_UNKNOWN,
            refused_at=at,
        )

    def test_newest_first(self) -> None:
        taken = evolve(ended(DecisionStatus.COMPLETED), decided_at=NOW + 1)
        lines = log_of((taken,), (self.refused(NOW + 2), self.refused(NOW)), 9)

        assert [DecisionStatus.REFUSED, DecisionStatus.COMPLETED, DecisionStatus.REFUSED] == [
            line.status for line in lines
        ]
        assert [instant(NOW + 2), instant(NOW + 1), instant(NOW)] == [line.at for line in lines]
        assert lines[:2] == log_of((taken,), (self.refused(NOW), self.refused(NOW + 2)), 2)

    def test_at_one_second_what_was_taken_is_first(self) -> None:
        taken = evolve(ended(DecisionStatus.COMPLETED), decided_at=NOW)
        lines = log_of((taken,), (self.refused(NOW),), 9)

        assert [DecisionStatus.COMPLETED, DecisionStatus.REFUSED] == [line.status for line in lines]

    def test_a_line_of_nobody_is_credited_to_nobody(self) -> None:
        (line,) = log_of((), (self.refused(NOW),), 9)

        assert ("", "", DecisionRefusal.OPERATOR_UNKNOWN) == (line.operator, line.attention_id, line.reason)

    def test_a_line_of_somebody_says_who_and_where(self) -> None:
        halted = evolve(ended(DecisionStatus.HALTED), refusal=DecisionRefusal.WINDOW_GONE)
        (line,) = log_of((halted,), (), 9)

        assert ("nurse", Doors.TERMINAL, pause_id()) == (line.operator, line.door, line.attention_id)
        assert (DecisionStatus.HALTED, DecisionRefusal.WINDOW_GONE) == (line.status, line.reason)


def continuation(number: int = 1, **changes: Any) -> Continuation:  # noqa: ANN401 - fields of many types
    """A continuation of run 1 that goes on."""
    return evolve(Continuation(run_id(1), number, pause_id(), STARTED.key, OWNER), **changes)


class TestContinuations:
    """A run goes on in its live window only, and passes the boundary at most once over all that went on."""

    def test_the_first_begins(self) -> None:
        assert continuation() == begun_by(STARTED, review(), ())

    def test_each_has_its_number(self) -> None:
        assert continuation(2) == begun_by(STARTED, review(), (continuation(result=FIRST),))

    def test_none_begins_in_another_window(self) -> None:
        assert begun_by(evolve(STARTED, claimed_by=OTHER_OWNER), review(), ()) is None

    def test_none_begins_after_one_passed_the_boundary(self) -> None:
        assert begun_by(STARTED, review(), (continuation(result=FIRST, crossed=True),)) is None

    def test_a_reading_begins_nothing_and_may_follow_everything(self) -> None:
        reading = evolve(STARTED, action=Action.RECONCILE, claimed_by=OTHER_OWNER)
        begun = begun_by(reading, review(), (continuation(result=FIRST, crossed=True),))

        assert begun is not None
        assert 0 == begun.number

    def test_its_owner_alone_passes_the_boundary(self) -> None:
        assert may_cross((continuation(),), 1, OWNER)
        assert not may_cross((continuation(),), 1, OTHER_OWNER)
        assert not may_cross((continuation(),), 2, OWNER)
        assert not may_cross((continuation(owner=""),), 1, "")

    def test_once_over_all(self) -> None:
        assert not may_cross((continuation(crossed=True),), 1, OWNER)
        assert not may_cross((continuation(crossed=True, result=FIRST), continuation(2)), 2, OWNER)
        assert not may_cross((continuation(result=FIRST),), 1, OWNER)

    def test_the_one_that_goes_on_is_found_by_its_decision(self) -> None:
        one = continuation(2)

        assert one == going_on((continuation(result=FIRST), one), STARTED.key)
        assert going_on((one,), "0" * 64) is None


def end(status: DecisionStatus) -> Ended:
    """An end by the owner."""
    return Ended(OWNER, status, NOW + 20)


class TestEndOfContinuation:
    """A continuation ends with what its process says, or with what its boundary proves when that says nothing."""

    DONE: RunResult = result_of(evolve(draft(1), attempt=1), DONE)

    def test_it_ends_with_what_came_of_it(self) -> None:
        assert self.DONE == result_at_end(FIRST, continuation(), end(DecisionStatus.COMPLETED), self.DONE)

    def test_a_decision_that_was_refused_may_bring_any_result(self) -> None:
        assert FIRST == result_at_end(FIRST, continuation(), end(DecisionStatus.REFUSED), FIRST)

    @pytest.mark.parametrize("event", [end(DecisionStatus.HALTED), OwnerGone(False, NOW)], ids=["halted", "gone"])
    def test_an_end_that_says_something_else_is_refused(self, event: Event) -> None:
        with pytest.raises(ValueError, match="does not agree"):
            result_at_end(FIRST, continuation(), event, self.DONE)

    def test_a_result_of_another_run_is_refused(self) -> None:
        with pytest.raises(ValueError, match="ends this run"):
            result_at_end(FIRST, continuation(run_id=run_id(2)), end(DecisionStatus.COMPLETED), self.DONE)

    def test_without_a_word_the_boundary_decides(self) -> None:
        gone = OwnerGone(True, NOW)

        assert interrupted(FIRST, crossed=False) == result_at_end(
            FIRST, continuation(), end(DecisionStatus.REFUSED), None
        )
        assert Reason.INTERRUPTED is result_at_end(FIRST, continuation(crossed=True), gone, None).reason

    def test_behind_the_boundary_an_owner_has_to_say_something(self) -> None:
        with pytest.raises(ValueError, match="with a result"):
            result_at_end(FIRST, continuation(crossed=True), end(DecisionStatus.HALTED), None)
