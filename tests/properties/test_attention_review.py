"""What people decided is folded over a run's first answer, and never makes it retryable."""

from itertools import product

import pytest
from attrs import evolve

from support.attention import (
    BUNDLE,
    EVIDENCE,
    KEY,
    NOW,
    OTHER_KEY,
    STOPPED,
    asked,
    instants,
    issue,
    kept,
    pause,
    pause_id,
    review,
)
from support.stores import BROKEN, DONE, ENDED_BY_PERSON, GOING_ON, TIMED_OUT, draft, refusal, result_of, run_id
from surehand.core.attention.capability import capability_digest, inputs_digest, issue_at, seal_of
from surehand.core.attention.decision import Decision, DecisionStatus, Finding
from surehand.core.attention.evidence import Opened, SealedEvidence, values_of
from surehand.core.attention.pause import (
    DECIDE_SECONDS,
    Action,
    AttentionItem,
    AttentionPage,
    DeliveryState,
    ItemStatus,
    KeptPause,
    Pause,
    PauseView,
    allowed_actions,
)
from surehand.core.attention.review import (
    after_review,
    answer_after,
    bare_pause,
    interrupted,
    item_of,
    rejected,
    status_of,
    waits_for_person,
)
from surehand.core.outcome.evidence import Approval, PauseCategory
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import instant
from surehand.core.schema import json_schema
from surehand.core.wire import from_wire, to_wire

RECORD = evolve(draft(1), attempt=1)
FIRST = result_of(RECORD, STOPPED)

#: One answer of every kind.
ANSWERS: dict[str, RunResult] = {
    "stopped": FIRST,
    "done": result_of(RECORD, DONE),
    "doubt": result_of(RECORD, TIMED_OUT),
    "broken": result_of(RECORD, BROKEN),
    "ended": result_of(RECORD, ENDED_BY_PERSON),
    "running": result_of(RECORD, GOING_ON),
    "gone": interrupted(FIRST, crossed=False),
    "interrupted": interrupted(FIRST, crossed=True),
}


class TestAnswerAfterReview:
    """After a review nothing is retryable, and what is done or in doubt stays as it is."""

    def test_the_table(self) -> None:
        replaced = {name for name, now in ANSWERS.items() if after_review(FIRST, now) != FIRST}

        assert {"done", "doubt", "ended", "interrupted"} == replaced

    def test_no_review_makes_a_run_retryable(self) -> None:
        for legs in product(ANSWERS.values(), repeat=3):
            assert not answer_after(FIRST, legs).safe_to_retry

    def test_only_an_answer_that_waits_is_replaced(self) -> None:
        for before, now in product(ANSWERS.values(), repeat=2):
            if before.outcome is not Outcome.NEEDS_REVIEW:
                assert before == after_review(before, now)

    def test_doubt_and_proof_stay_whatever_follows(self) -> None:
        for name in ("done", "doubt", "interrupted", "ended"):
            for later in product(ANSWERS.values(), repeat=2):
                assert ANSWERS[name] == answer_after(FIRST, (ANSWERS[name], *later))

    def test_without_a_decision_the_first_answer_stands(self) -> None:
        for first in ANSWERS.values():
            assert first == answer_after(first, ())

    def test_while_it_goes_on_nothing_is_said_to_be_unwritten(self) -> None:
        for legs in ((), (FIRST,)):
            told = answer_after(FIRST, legs, goes_on=True)

            assert (Outcome.RUNNING, RecordChanged.UNKNOWN, False) == (
                told.outcome,
                told.record_changed,
                told.safe_to_retry,
            )
            assert FIRST.run_id == told.run_id
        for name in ("done", "doubt", "interrupted", "ended"):
            assert ANSWERS[name] == answer_after(FIRST, (ANSWERS[name],), goes_on=True)

    def test_a_run_that_a_person_ended_says_so(self) -> None:
        ended = rejected(FIRST)

        assert (Reason.STOPPED_BY_PERSON, RecordChanged.NO, False) == (
            ended.reason,
            ended.record_changed,
            ended.safe_to_retry,
        )
        assert ended == after_review(FIRST, ended)

    def test_a_continuation_whose_process_is_gone_says_what_its_boundary_proves(self) -> None:
        assert Reason.INTERRUPTED is interrupted(FIRST, crossed=True).reason
        assert Reason.INTERRUPTED_BEFORE_SAVE is interrupted(FIRST, crossed=False).reason

    def test_one_that_waits_for_an_approval_and_may_have_written_stays(self) -> None:
        waiting = result_of(RECORD, evolve(GOING_ON, approval=Approval.WAITING))

        assert (Outcome.NEEDS_REVIEW, RecordChanged.UNKNOWN) == (waiting.outcome, waiting.record_changed)
        assert {waiting} == {after_review(waiting, now) for now in ANSWERS.values()}

    def test_who_waits(self) -> None:
        assert {"stopped", "doubt", "interrupted", "running"} == {
            name for name, answer in ANSWERS.items() if waits_for_person(answer)
        }


class TestBarePause:
    """A run that waits for a person and left no pause has one all the same, under one name."""

    def test_it_says_what_its_answer_says(self) -> None:
        unsent, doubt = (bare_pause(KEY, RECORD, ANSWERS[name], instants()) for name in ("stopped", "doubt"))

        assert DeliveryState.NOT_DELIVERED is unsent.pause.delivery
        assert DeliveryState.UNKNOWN is doubt.pause.delivery
        assert unsent.pause.pause_id == doubt.pause.pause_id
        assert seal_of(KEY, unsent.pause) == unsent.seal

    def test_it_says_that_and_nothing_else(self) -> None:
        earlier = (pause_id(7), pause_id(8))
        record = evolve(RECORD, created_at=-1, bundle=BUNDLE)
        expected = Pause(
            pause_id="att_a2b05184ecd4b9ba1d8cb042",
            run_id=run_id(1),
            workflow=RECORD.workflow or "",
            bundle=BUNDLE,
            category=PauseCategory.OPERATOR_REVIEW,
            before_save=False,
            delivery=DeliveryState.NOT_DELIVERED,
            lineage=earlier,
            inputs="",
            evidence="",
            created_at=0,
        )
        now = issue_at(instants(), 1, "", DECIDE_SECONDS)

        assert KeptPause(pause=expected, seal=seal_of(KEY, expected), issues=(now,)) == (
            bare_pause(KEY, record, FIRST, instants(), earlier)
        )
        assert RECORD.created_at == bare_pause(KEY, RECORD, FIRST, instants()).pause.created_at > 0

    def test_it_can_be_ended_only_where_nothing_was_sent(self) -> None:
        offered = {
            name: allowed_actions(bare_pause(KEY, RECORD, ANSWERS[name], instants()).pause, has_window=False)
            for name in ("stopped", "doubt")
        }

        assert (Action.REJECT, Action.TEACH, Action.ESCALATE) == offered["stopped"]
        assert (Action.TEACH, Action.ESCALATE) == offered["doubt"]

    @pytest.mark.parametrize("has_baseline", [True, False])
    def test_a_doubt_is_read_again_by_what_was_sealed_before_its_save(self, has_baseline: bool) -> None:
        evidence = SealedEvidence(inputs=values_of({"note": "a"}), baseline=() if has_baseline else None)
        unsent, doubt = (
            bare_pause(KEY, RECORD, ANSWERS[name], instants(), (), Opened(EVIDENCE, evidence)).pause
            for name in ("stopped", "doubt")
        )

        assert [has_baseline, False] == [
            Action.RECONCILE in allowed_actions(each, has_window=False) for each in (doubt, unsent)
        ]
        assert [(EVIDENCE, has_baseline), ("", False)] == [
            (each.evidence, each.has_baseline) for each in (doubt, unsent)
        ]
        assert inputs_digest(KEY, RECORD.workflow or "", {"note": "a"}) == doubt.inputs

    def test_a_call_of_no_workflow_has_one_too(self) -> None:
        nameless = refusal(1)

        assert "" == bare_pause(KEY, nameless, FIRST, instants()).pause.workflow


def decided(status: DecisionStatus, action: Action = Action.CONTINUE, finding: Finding | None = None) -> Decision:
    """A decision of the first pause."""
    return evolve(asked(kept(), action), run_id=run_id(1), status=status, finding=finding, ended_at=NOW)


class TestItem:
    """What everybody may see of a pause: closed codes, opaque names, counts and times."""

    @pytest.mark.parametrize(
        ("decision", "status"),
        [
            (decided(DecisionStatus.COMPLETED), ItemStatus.COMPLETED),
            (decided(DecisionStatus.REJECTED, Action.REJECT), ItemStatus.REJECTED),
            (decided(DecisionStatus.DELIVERY_UNCERTAIN), ItemStatus.DELIVERY_UNCERTAIN),
            (
                decided(DecisionStatus.RECONCILED, Action.RECONCILE, Finding.SAVED_AS_INTENDED),
                ItemStatus.RECONCILED,
            ),
            (decided(DecisionStatus.PREPARED), ItemStatus.IN_PROGRESS),
            (decided(DecisionStatus.HALTED), ItemStatus.OPEN),
        ],
    )
    def test_its_decisions_say_how_far_it_is(self, decision: Decision, status: ItemStatus) -> None:
        assert status is status_of(review(kept(), decision), instants())

    def test_its_run_and_its_time_say_how_far_it_is(self) -> None:
        assert ItemStatus.SUPERSEDED is status_of(review(newest=False), instants())
        assert ItemStatus.OVER is status_of(review(waiting=False), instants())
        assert ItemStatus.EXPIRED is status_of(review(), instants(DECIDE_SECONDS))
        assert ItemStatus.OPEN is status_of(review(), instants(DECIDE_SECONDS - 1))

    def test_an_open_one_shows_digest_and_actions(self) -> None:
        item = item_of(KEY, review(), instants(), window_lives=True)

        assert capability_digest(KEY, kept()) == item.capability_digest
        assert (Action.CONTINUE, Action.REJECT, Action.TEACH, Action.ESCALATE) == item.allowed_actions

    def test_without_a_living_window_nothing_goes_on(self) -> None:
        item = item_of(KEY, review(), instants(), window_lives=False)

        assert (Action.REJECT, Action.TEACH, Action.ESCALATE) == item.allowed_actions
        assert not item.has_window

    def test_it_says_since_when_and_until_when(self) -> None:
        item = item_of(KEY, review(), instants(), window_lives=True)

        assert (instant(NOW), instant(NOW + DECIDE_SECONDS)) == (item.created_at, item.expires_at)

    def test_a_restored_one_cannot_be_ended(self) -> None:
        item = item_of(KEY, review(restored=True), instants(), window_lives=True)

        assert (Action.TEACH, Action.ESCALATE) == item.allowed_actions

    @pytest.mark.parametrize(
        ("decisions", "delivery"),
        [
            ((), DeliveryState.NOT_DELIVERED),
            ((decided(DecisionStatus.PREPARED),), DeliveryState.NOT_DELIVERED),
            ((decided(DecisionStatus.HALTED),), DeliveryState.NOT_DELIVERED),
            ((decided(DecisionStatus.REJECTED, Action.REJECT),), DeliveryState.NOT_DELIVERED),
            ((decided(DecisionStatus.DELIVERY_STARTED, Action.RECONCILE),), DeliveryState.NOT_DELIVERED),
            ((decided(DecisionStatus.DELIVERY_STARTED),), DeliveryState.UNKNOWN),
            ((decided(DecisionStatus.DELIVERY_UNCERTAIN, Action.SKIP),), DeliveryState.UNKNOWN),
            ((decided(DecisionStatus.HALTED), decided(DecisionStatus.COMPLETED)), DeliveryState.DELIVERED),
        ],
    )
    def test_once_the_run_went_on_nothing_is_said_to_be_unsent(
        self, decisions: tuple[Decision, ...], delivery: DeliveryState
    ) -> None:
        for newest in (True, False):
            item = item_of(KEY, review(kept(), *decisions, newest=newest), instants(), window_lives=True)
            assert delivery is item.delivery_state
        sent = kept(pause(delivery=DeliveryState.DELIVERED), issue())
        assert DeliveryState.DELIVERED is item_of(KEY, review(sent), instants(), window_lives=True).delivery_state

    def test_of_a_restored_one_nobody_knows(self) -> None:
        item = item_of(KEY, review(restored=True), instants(), window_lives=True)

        assert (DeliveryState.UNKNOWN, PauseView.DELIVERY_UNCERTAINTY) == (item.delivery_state, item.view)
        assert PauseView.RECORD_IDENTITY is item_of(KEY, review(), instants(), window_lives=True).view

    def test_one_that_is_over_shows_neither(self) -> None:
        for seconds in (DECIDE_SECONDS, DECIDE_SECONDS + 1):
            item = item_of(KEY, review(), instants(seconds), window_lives=True)
            assert item.capability_digest is None
            assert () == item.allowed_actions

    @pytest.mark.parametrize(
        ("noted", "seen"),
        [
            ((), (False, False)),
            ((DecisionStatus.NEEDS_DEMONSTRATION,), (True, False)),
            ((DecisionStatus.ESCALATED,), (False, True)),
            ((DecisionStatus.NEEDS_DEMONSTRATION, DecisionStatus.ESCALATED), (True, True)),
        ],
    )
    def test_what_was_asked_for_is_seen(self, noted: tuple[DecisionStatus, ...], seen: tuple[bool, bool]) -> None:
        item = item_of(KEY, review(kept(), *map(decided, noted)), instants(), window_lives=True)

        assert seen == (item.teaching_requested, item.escalated)

    def test_nothing_of_the_sealed_parts_is_in_it(self) -> None:
        secret = pause(workflow="mrs_miller", inputs="7" * 64, evidence="8" * 64, bundle="9" * 64)
        item = item_of(KEY, review(kept(secret, issue())), instants(), window_lives=True)
        said = str(to_wire(item))

        for canary in ("mrs_miller", "7" * 64, "8" * 64, "9" * 64, issue().owner, kept(secret).seal):
            assert canary not in said

    def test_its_form_is_strict(self) -> None:
        item = item_of(KEY, review(), instants(), window_lives=True)
        page = AttentionPage(items=(item,), next=item.id)

        assert page == from_wire(to_wire(page), AttentionPage).unwrap()
        assert json_schema(AttentionItem)["additionalProperties"] is False

    def test_another_key_shows_another_digest(self) -> None:
        digests = {item_of(key, review(), instants(), window_lives=True).capability_digest for key in (KEY, OTHER_KEY)}

        assert 2 == len(digests)
