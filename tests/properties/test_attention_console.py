"""What a screen shows of a stopped run."""

from itertools import product
from typing import Final

import pytest

from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.console import WINDOW_LIMITS, Card, Tone, Weight, card, told, why
from surehand.core.attention.decision import DecisionStatus, Finding, Receipt
from surehand.core.attention.evidence import LocalEvidence, Value
from surehand.core.attention.pause import (
    IN_WINDOW,
    QUESTIONS,
    WAITING,
    Action,
    AttentionItem,
    DeliveryState,
    ItemStatus,
    PauseView,
)
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.wire import to_wire

CANARY: Final = "canary of a note"
EVIDENCE: Final = LocalEvidence(control=CANARY, address=CANARY, values=(Value("Note", CANARY),), frame=CANARY)
CODES: Final = dict.fromkeys(Action, "ABC123")

ITEMS: Final = [
    AttentionItem(
        id=f"att_{'0' * 24}",
        run_id=f"run_{'0' * 32}",
        category=PauseCategory.HALT,
        view=view,
        headline=QUESTIONS[view].headline,
        question=QUESTIONS[view].question,
        status=status,
        delivery_state=delivery,
        allowed_actions=tuple(Action) if status is ItemStatus.OPEN else (),
        has_window=window,
        has_frame=True,
        earlier_pauses=0,
        teaching_requested=False,
        escalated=False,
    )
    for view, status, delivery, window in product(PauseView, ItemStatus, DeliveryState, (False, True))
]


def cards(**given: object) -> list[Card]:
    """The card of every item there is."""
    arguments = {"evidence": EVIDENCE, "codes": CODES, "may_decide": True, **given}
    return [card(item, **arguments) for item in ITEMS]  # type: ignore[arg-type]


class TestAScreenOffersOnlyWhatMayBeDecided:
    """A choice stands on a card only if its item allows it and the screen may decide; nothing else changes anything."""

    def test_by_the_item(self) -> None:
        assert [item.allowed_actions for item in ITEMS] == [
            tuple(choice.action for choice in shown.choices) for shown in cards()
        ]

    def test_a_screen_that_only_shows_offers_nothing(self) -> None:
        for shown in cards(may_decide=False):
            assert ((), (), False, False) == (shown.choices, shown.rechecks, shown.may_open, shown.may_renew)

    def test_an_app_is_opened_again_only_for_a_run_that_waits_without_a_window_and_sent_nothing(self) -> None:
        for shown in cards():
            item = shown.item
            expected = (item.status, item.delivery_state, item.has_window) == (
                ItemStatus.OPEN,
                DeliveryState.NOT_DELIVERED,
                False,
            )
            assert expected == shown.may_open

    def test_only_what_is_over_its_time_gets_a_new_one(self) -> None:
        assert [item.status is ItemStatus.EXPIRED for item in ITEMS] == [shown.may_renew for shown in cards()]

    def test_what_is_compared_again_is_said_where_something_can_go_on(self) -> None:
        for shown in cards():
            goes_on = any(choice.weight is Weight.GOES_ON for choice in shown.choices)
            assert goes_on == bool(shown.rechecks)

    def test_that_nothing_can_be_saved_in_the_window_is_said_where_somebody_works_in_it(self) -> None:
        for shown in (*cards(), *cards(may_decide=False)):
            works = shown.item.has_window and any(choice.action in IN_WINDOW for choice in shown.choices)
            assert works == (shown.limits == WINDOW_LIMITS) == bool(shown.limits)


class TestWhatWasSealedIsShownToTheOperatorAlone:
    """Without evidence a card holds the closed context; with it, only as long as the run waits for a person."""

    def test_a_far_screen_holds_no_value_and_no_code(self) -> None:
        for shown in cards(evidence=None, codes=None):
            text = str(to_wire(shown))
            assert (False, False) == (CANARY in text, "ABC123" in text)

    def test_a_settled_run_shows_nothing_any_more(self) -> None:
        for shown in cards():
            assert (shown.item.status in WAITING) == (CANARY in str(to_wire(shown)))

    def test_a_code_stands_beside_what_goes_on_in_the_window_alone(self) -> None:
        for shown in cards():
            for choice in shown.choices:
                assert (choice.action in IN_WINDOW) == (choice.code is not None)

    def test_no_value_and_no_code_stands_in_a_repr(self) -> None:
        assert not [shown for shown in cards() if CANARY in repr(shown) or "ABC123" in repr(shown)]


class TestAReceiptIsTold:
    """Each end has a title of its own; only proof is told as proof, and no doubt is told as anything else."""

    @pytest.mark.parametrize("status", DecisionStatus)
    def test_by_its_status(self, status: DecisionStatus) -> None:
        said = told(Receipt(action=Action.CONTINUE, status=status, final=True))

        assert (status is DecisionStatus.COMPLETED) == (said.tone is Tone.PROVEN)
        assert (status is DecisionStatus.DELIVERY_UNCERTAIN) == (said.tone is Tone.DOUBTFUL)

    @pytest.mark.parametrize("finding", Finding)
    def test_by_what_was_found(self, finding: Finding) -> None:
        receipt = Receipt(action=Action.RECONCILE, status=DecisionStatus.RECONCILED, finding=finding, final=True)

        expected = Tone.PROVEN if finding is Finding.SAVED_AS_INTENDED else Tone.DOUBTFUL
        assert expected is told(receipt).tone

    def test_the_titles_differ(self) -> None:
        titles = {told(Receipt(action=Action.TEACH, status=status, final=True)).title for status in DecisionStatus}
        assert len(DecisionStatus) == len(titles)

    def test_every_refusal_has_a_sentence_of_its_own(self) -> None:
        assert len(DecisionRefusal) == len({why(refusal) for refusal in DecisionRefusal})
