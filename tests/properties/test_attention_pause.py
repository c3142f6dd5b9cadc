"""What may be decided about a pause, over every pause that there can be, and how the question is worded."""

from collections.abc import Iterator
from itertools import product

import pytest
from attrs import evolve

from support.attention import pause
from surehand.core.attention.evidence import sealed, texts_of, unsealed, values_of
from surehand.core.attention.pause import (
    ENDING,
    IN_WINDOW,
    PERFORMED,
    QUESTIONS,
    Action,
    DeliveryState,
    Pause,
    PauseView,
    allowed_actions,
    view_of,
)
from surehand.core.outcome.evidence import AFTER_DELIVERY, PauseCategory
from surehand.core.privacy import looks_like_identifier
from surehand.core.workflow.commands import Record, Records


def pauses() -> Iterator[tuple[Pause, bool]]:
    """Every pause that differs in what decides, with and without a window."""
    for category, delivery, flags in product(PauseCategory, DeliveryState, product((False, True), repeat=4)):
        before, optional, baseline, window = flags
        made = pause(category=category, delivery=delivery, before_save=before, skippable=optional)
        yield evolve(made, has_baseline=baseline), window


ALL = tuple(pauses())


def is_unsent(made: Pause) -> bool:
    """Whether nothing of the run can have left."""
    return made.delivery is DeliveryState.NOT_DELIVERED and made.category not in AFTER_DELIVERY


class TestAllowedActions:
    """Teach and Escalate always; whatever could write only where nothing was sent, and in a live window."""

    def test_the_whole_domain_is_tried(self) -> None:
        assert len(PauseCategory) * len(DeliveryState) * 16 == len(ALL)

    def test_teach_and_escalate_are_always_allowed(self) -> None:
        assert all({Action.TEACH, Action.ESCALATE} <= set(allowed_actions(made, has_window=w)) for made, w in ALL)

    def test_a_run_that_may_have_saved_is_never_ended_or_gone_on_with(self) -> None:
        doubtful = [(made, w) for made, w in ALL if not is_unsent(made)]

        assert doubtful
        assert all(ENDING.isdisjoint(allowed_actions(made, has_window=w)) for made, w in doubtful)

    def test_a_run_that_sent_nothing_can_be_ended_and_is_not_reconciled(self) -> None:
        for made, window in ALL:
            allowed = allowed_actions(made, has_window=window)
            assert (Action.REJECT in allowed) == is_unsent(made)
            assert (Action.RECONCILE in allowed) == (not is_unsent(made) and made.has_baseline)

    def test_nothing_goes_on_without_a_window_or_behind_the_save(self) -> None:
        for made, window in ALL:
            if not (window and made.before_save):
                assert IN_WINDOW.isdisjoint(allowed_actions(made, has_window=window))

    def test_skip_is_for_optional_steps_alone_and_never_for_a_wrong_record(self) -> None:
        skipped = {
            (made.category, made.skippable) for made, w in ALL if Action.SKIP in allowed_actions(made, has_window=w)
        }
        expected = {PauseCategory.RESOLUTION, PauseCategory.HALT, PauseCategory.POSTCONDITION}

        assert {(category, True) for category in expected} == skipped

    def test_continue_is_for_what_a_person_can_put_right(self) -> None:
        continued = {made.category for made, w in ALL if Action.CONTINUE in allowed_actions(made, has_window=w)}

        assert {
            PauseCategory.IDENTITY,
            PauseCategory.DISAMBIGUATION,
            PauseCategory.RESOLUTION,
            PauseCategory.HUMAN_REQUIRED,
            PauseCategory.HALT,
            PauseCategory.UNMET_GUARD,
            PauseCategory.POSTCONDITION,
            PauseCategory.POSSIBLE_DUPLICATE,
        } == continued

    def test_more_doubt_never_allows_more_of_what_writes(self) -> None:
        for made, window in ALL:
            doubted = evolve(made, delivery=DeliveryState.UNKNOWN)
            more = set(allowed_actions(doubted, has_window=window)) - set(allowed_actions(made, has_window=window))
            assert more <= {Action.RECONCILE}

    def test_the_groups_of_actions_agree(self) -> None:
        assert {*IN_WINDOW, Action.RECONCILE} == PERFORMED
        assert {*IN_WINDOW, Action.REJECT} == ENDING


class TestSixViews:
    """Each pause is asked about in one of six ways, by fixed words."""

    def test_every_view_is_reached_and_worded(self) -> None:
        assert set(PauseView) == {view_of(made) for made, _ in ALL} == set(QUESTIONS)

    def test_a_save_that_may_have_left_comes_first(self) -> None:
        doubtful = {view_of(made) for made, _ in ALL if made.delivery is DeliveryState.UNKNOWN}

        assert {PauseView.DELIVERY_UNCERTAINTY} == doubtful

    def test_an_optional_step_is_one_that_may_be_left_out(self) -> None:
        for made, _ in ALL:
            if view_of(made) is PauseView.OPTIONAL_STEP:
                assert made.skippable
                assert made.before_save

    @pytest.mark.parametrize("view", PauseView)
    def test_the_words_fit_their_places(self, view: PauseView) -> None:
        question = QUESTIONS[view]

        assert len(question.headline) <= 100
        assert len(question.question) <= 300
        assert not looks_like_identifier(question.headline + question.question)


class TestEvidence:
    """What is sealed comes back as it was."""

    def test_records_come_back(self) -> None:
        records = Records((Record("7", {"note": "seen", "author": "a"}), Record("8", None)))

        assert records == unsealed(sealed(records))

    def test_texts_come_back_in_one_order(self) -> None:
        texts = {"b": "2", "a": "1"}

        assert ("a", "b") == tuple(value.name for value in values_of(texts))
        assert texts == texts_of(values_of(texts))

    def test_nothing_of_it_is_shown_by_accident(self) -> None:
        assert "seen" not in repr(sealed(Records((Record("7", {"note": "seen"}),))))
