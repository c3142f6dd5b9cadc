"""What a reader is told of workflows and runs: counts, states and opaque ids, and never a word of the bundle."""

import json
from typing import cast

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE
from support.stores import DONE, VERSIONS, draft, result_of
from surehand.core.outcome.evidence import CheckLevel, Phase
from surehand.core.outcome.result import CheckedHow
from surehand.core.overview import (
    RunReport,
    WorkflowOverview,
    attempt_report,
    metrics_of,
    opaque_id,
)
from surehand.core.request.record import instant
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import Effect
from surehand.core.workflow.card import (
    DEFAULT_DONE_MEANS,
    DEFAULT_PURPOSE,
    Card,
    CardInput,
    default_card,
    fitting,
)
from surehand.core.workflow.params import ParameterType


class TestAnOpaqueIdSaysNothing:
    """It has one form, is the same for the same name, and differs for others."""

    @given(st.text(max_size=40), st.text(max_size=40))
    def test_it_stands_for_one_name(self, one: str, other: str) -> None:
        assert (opaque_id(one) == opaque_id(other)) is (one == other)

    @given(st.text(min_size=6, max_size=40))
    def test_it_repeats_nothing(self, name: str) -> None:
        shown = opaque_id(name)

        assert len(shown) == len("wf_") + 16
        assert name not in shown

    def test_a_name_that_is_no_unicode_has_one_too(self) -> None:
        assert opaque_id("a\udcff") != opaque_id("a\udcfe")


class TestMetricsCountAndNameNothing:
    """Each number is that of the bundle, and no text of the bundle is among them."""

    def test_every_number_is_counted(self) -> None:
        metrics = metrics_of(BUNDLE, encrypted=True, sealed=False)

        assert metrics.inputs == len(BUNDLE.parameters)
        assert metrics.required_inputs == len([each for each in BUNDLE.parameters if each.required])
        assert metrics.steps == len(BUNDLE.steps) + 1
        assert metrics.identity_fields == len(BUNDLE.identity)
        assert metrics.unique_identity_fields == len([each for each in BUNDLE.identity if each.unique])
        assert metrics.read_back_fields == len((*BUNDLE.read_back.identity, *BUNDLE.read_back.written))
        assert (metrics.encrypted, metrics.sealed) == (True, False)

    @pytest.mark.parametrize("level", [level for level in CheckLevel if level is not CheckLevel.UNCHECKED])
    def test_the_level_is_told_as_results_tell_it(self, level: CheckLevel) -> None:
        read_back = evolve(BUNDLE.read_back, level=level, minimum=level)

        assert metrics_of(
            evolve(BUNDLE, read_back=read_back), encrypted=False, sealed=False
        ).read_back_minimum is CheckedHow(level.name.lower())

    @pytest.mark.parametrize(("key", "guarded"), [((), False), (("note",), True)])
    def test_a_new_record_is_guarded_by_its_key(self, key: tuple[str, ...], guarded: bool) -> None:
        members = {item.name for item in (*BUNDLE.read_back.identity, *BUNDLE.read_back.written)}
        named = tuple(sorted(members))[: len(key)]
        bundle = evolve(BUNDLE, business_key=named)

        assert bundle.read_back.effect is Effect.CREATE
        assert metrics_of(bundle, encrypted=False, sealed=False).duplicate_guard is guarded

    def test_no_text_of_the_bundle_is_told(self) -> None:
        told = json.dumps(to_wire(metrics_of(BUNDLE, encrypted=False, sealed=False)))

        assert [text for text in texts_of(to_wire(BUNDLE)) if len(text) > 6 and text in told] == []


def texts_of(wire: object) -> list[str]:
    """Every text value in a wire form, apart from closed codes that metrics name too."""
    match wire:
        case dict():
            return [text for value in cast("dict[str, object]", wire).values() for text in texts_of(value)]
        case list():
            return [text for value in cast("list[object]", wire) for text in texts_of(value)]
        case str() if wire not in {level.value for level in CheckedHow}:
            return [wire]
        case _:
            return []


class TestReportsCrossTheWire:
    """What is told can be read back strictly, and an attempt says whether it is of the same version."""

    @pytest.mark.parametrize(("version", "same"), [(VERSIONS[0], True), (VERSIONS[1], False)])
    def test_a_run_with_two_attempts(self, version: str, same: bool) -> None:
        asked = evolve(draft(1), attempt=2, phase=Phase.FINISHED)
        other = evolve(draft(2), attempt=1, phase=Phase.FINISHED, bundle=version)
        attempts = tuple(attempt_report(each, result_of(each, DONE), asked) for each in (other, asked))
        report = RunReport(
            run_id=asked.run_id,
            workflow_id=opaque_id("w"),
            current_version=True,
            attempts=attempts,
            input_problems=0,
            failed_checks=0,
            reported_late=False,
        )

        assert [each.same_version for each in attempts] == [same, True]
        assert attempts[0].created_at == instant(other.created_at)
        assert from_wire(to_wire(report), RunReport).unwrap() == report

    def test_an_overview_of_what_cannot_be_served(self) -> None:
        overview = WorkflowOverview(
            id=opaque_id("w"), available=False, problem="changed", runs_enabled=True, ready=False
        )

        assert from_wire(to_wire(overview), WorkflowOverview).unwrap() == overview


class TestATimeIsToldOnlyWhereACalendarHoldsIt:
    """Seconds become an instant of four-digit years, to the second; a clock gone astray gives none."""

    @pytest.mark.parametrize(
        ("seconds", "shown"),
        [
            (0, "1970-01-01T00:00:00Z"),
            (-30_610_224_000, "1000-01-01T00:00:00Z"),
            (-30_610_224_001, None),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, None),
        ],
    )
    def test_each_edge(self, seconds: int, shown: str | None) -> None:
        assert instant(seconds) == shown


LONG = CardInput(
    name="note",
    type=ParameterType.LINE,
    title="Ein Hinweis",
    required=True,
    description="Was gesagt wurde.",
    examples=("one", "two"),
    pattern="[a-z]+",
    min_length=1,
    max_length=10,
)
PLAIN = CardInput(name="other", type=ParameterType.DATE, title="Other", required=False)
CARD = Card(name="w", title="A title", purpose="A purpose.", done_means="A meaning.", inputs=(LONG, PLAIN))


class TestACardSaysLessBeforeItIsTooLarge:
    """The whole card, or its titles, or its names; kinds and what is required always stay."""

    def test_a_card_that_fits_is_shown_whole(self) -> None:
        assert fitting(CARD, lambda _: True) is CARD

    def test_details_go_first_and_are_said_to_be_left_out(self) -> None:
        shown = fitting(CARD, lambda card: card.inputs[0].description is None)

        assert shown.inputs[1] == PLAIN
        assert shown.inputs[0] == evolve(LONG, description=None, examples=None, pattern=None, details_left_out=True)
        assert (shown.title, shown.purpose) == (CARD.title, CARD.purpose)

    def test_then_every_word_goes(self) -> None:
        shown = fitting(CARD, lambda _: False)

        assert (shown.title, shown.purpose, shown.done_means) == ("w", DEFAULT_PURPOSE, DEFAULT_DONE_MEANS)
        assert [each.title for each in shown.inputs] == ["note", "other"]
        assert [(each.type, each.required) for each in shown.inputs] == [
            (each.type, each.required) for each in CARD.inputs
        ]
        assert all(each.details_left_out for each in shown.inputs)

    def test_a_card_of_a_bundle_is_shortened_to_names_of_the_same_inputs(self) -> None:
        card = default_card(BUNDLE)

        assert [each.name for each in fitting(card, lambda _: False).inputs] == [
            each.name for each in BUNDLE.parameters
        ]
