"""Workflow cards: what an agent is told, what it is never told, and how much at most."""

import json
import string
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, PARAMETERS, PRIORITIES
from surehand.core.privacy import looks_like_identifier
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.card import (
    DEFAULT_DONE_MEANS,
    DEFAULT_PURPOSE,
    Card,
    CardChoice,
    CardWarning,
    choose_card,
    default_card,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.target import Constant, FromInput

WRITTEN: dict[str, Any] = {
    "schema": "surehand.card/v1",
    "title": "Add a dose",
    "purpose": "Adds one dose to the chart of a patient.",
    "done_means": "The dose stands in the chart.",
    "inputs": [
        {"name": "dose", "title": "Dose in mg", "description": "As prescribed.", "examples": ["0.5", "12"]},
        {"name": "note"},
    ],
}

IDENTIFIERS = ("MRN 4711 0815", "jane@example.org", "+49 151 234567", "born 1970-04-04", "123-45-6789", "1 2 3 4 5")


#: Where an operator's card may hold text; the place is marked.
WRITTEN_PLACES: dict[str, dict[str, Any]] = {
    "title": {"title": "PLACE"},
    "purpose": {"purpose": "PLACE"},
    "done_means": {"done_means": "PLACE"},
    "title of an input": {"inputs": [{"name": "dose", "title": "PLACE"}]},
    "description of an input": {"inputs": [{"name": "dose", "description": "PLACE"}]},
    "example": {"inputs": [{"name": "dose", "examples": ["1", "PLACE"]}]},
}


def with_parameter(name: str, **more: Any) -> Bundle:  # noqa: ANN401 - each member has its own type
    """The bundle with another declaration of one input."""
    changed = tuple(evolve(each, **more) if each.name == name else each for each in PARAMETERS)
    return evolve(BUNDLE, parameters=changed)


#: Where a bundle may hold text that a card shows.
BUNDLE_PLACES: dict[str, Callable[[str], Bundle]] = {
    "title": lambda text: evolve(BUNDLE, title=text),
    "title of an input": lambda text: with_parameter("note", title=text),
    "description of an input": lambda text: with_parameter("note", description=text),
    "choice": lambda text: with_parameter("priority", choices=("a", text)),
}


def texts(card: Card) -> list[str]:
    """Every text on a card."""
    words = [text for each in card.inputs for text in (each.name, each.title, each.description, each.pattern)]
    bounds = [text for each in card.inputs for text in (each.minimum, each.maximum)]
    lists = [text for each in card.inputs for text in (*(each.choices or ()), *(each.examples or ()))]
    found = [card.name, card.title, card.purpose, card.done_means, *words, *bounds, *lists]
    return [text for text in found if text is not None]


class TestDefaultCard:
    """The default card follows from the bundle: its kinds, its limits, its choices."""

    def test_it_names_the_workflow_and_every_input_in_order(self) -> None:
        card = default_card(BUNDLE)

        assert (card.name, card.title) == ("add_entry", "Add an entry")
        assert (card.purpose, card.done_means) == (DEFAULT_PURPOSE, DEFAULT_DONE_MEANS)
        assert [(each.name, each.type, each.required) for each in card.inputs] == [
            (each.name, each.type, each.required) for each in PARAMETERS
        ]

    def test_choices_are_shown_and_lengths_only_where_they_count(self) -> None:
        by_name = {each.name: each for each in default_card(BUNDLE).inputs}

        assert by_name["priority"].choices == PRIORITIES
        assert [by_name["note"].max_length, by_name["due"].max_length] == [4_000, None]

    def test_a_card_that_shows_all_says_so(self) -> None:
        assert [each.details_left_out for each in default_card(BUNDLE).inputs] == [False] * len(PARAMETERS)

    def test_a_card_survives_its_wire_form(self) -> None:
        card = choose_card(BUNDLE, WRITTEN).card

        assert from_wire(json.loads(json.dumps(to_wire(card))), Card).unwrap() == card


class TestWrittenCard:
    """Words may come from an operator; kinds, limits and choices never do."""

    def test_its_words_are_shown(self) -> None:
        chosen = choose_card(BUNDLE, WRITTEN)
        dose = next(each for each in chosen.card.inputs if each.name == "dose")

        assert chosen.warning is None
        assert (chosen.card.title, chosen.card.purpose) == ("Add a dose", "Adds one dose to the chart of a patient.")
        assert (dose.title, dose.description, dose.examples) == ("Dose in mg", "As prescribed.", ("0.5", "12"))
        assert (dose.type, dose.required) == (ParameterType.DECIMAL, True)

    def test_what_it_leaves_out_comes_from_the_bundle(self) -> None:
        chosen = choose_card(BUNDLE, {name: WRITTEN[name] for name in ("schema", "purpose", "done_means")})

        assert chosen.warning is None
        assert chosen.card.title == BUNDLE.title
        assert chosen.card.inputs == default_card(BUNDLE).inputs

    @pytest.mark.parametrize(
        ("change", "warning"),
        [
            ({"schema": "surehand.card/v2"}, CardWarning.NOT_A_CARD),
            ({"purpose": ""}, CardWarning.NOT_A_CARD),
            ({"purpose": "x" * 301}, CardWarning.NOT_A_CARD),
            ({"title": "x" * 81}, CardWarning.NOT_A_CARD),
            ({"type": "text"}, CardWarning.NOT_A_CARD),
            ({"inputs": [{"name": "dose", "choices": ["1"]}]}, CardWarning.NOT_A_CARD),
            ({"inputs": [{"name": "dose", "examples": ["1", "2", "3", "4"]}]}, CardWarning.NOT_A_CARD),
            ({"inputs": [{"name": "nobody"}]}, CardWarning.OTHER_INPUTS),
            ({"inputs": [{"name": "dose"}, {"name": "dose"}]}, CardWarning.OTHER_INPUTS),
            ({"purpose": "one\ntwo"}, CardWarning.CONTROL_CHARACTER),
            ({"done_means": "ok\u202e"}, CardWarning.CONTROL_CHARACTER),
        ],
    )
    def test_a_refused_card_is_replaced_by_the_default_one(self, change: dict[str, Any], warning: CardWarning) -> None:
        assert choose_card(BUNDLE, {**WRITTEN, **change}) == CardChoice(default_card(BUNDLE), warning)

    @pytest.mark.parametrize("data", [None, [], "card", 7, {}])
    def test_what_is_no_card_is_replaced_by_the_default_one(self, data: object) -> None:
        assert choose_card(BUNDLE, data) == CardChoice(default_card(BUNDLE), CardWarning.NOT_A_CARD)


class TestIdentifiers:
    """No text on a card looks like an identifier of a person, wherever it comes from."""

    @pytest.mark.parametrize("identifier", IDENTIFIERS)
    @pytest.mark.parametrize("place", WRITTEN_PLACES)
    def test_a_written_card_that_holds_one_is_refused_as_a_whole(self, place: str, identifier: str) -> None:
        text = json.dumps({**WRITTEN, **WRITTEN_PLACES[place]}).replace("PLACE", identifier)

        refused = choose_card(BUNDLE, json.loads(text))

        assert refused == CardChoice(default_card(BUNDLE), CardWarning.LOOKS_LIKE_IDENTIFIER)

    @pytest.mark.parametrize("place", WRITTEN_PLACES)
    def test_its_neighbour_without_one_is_shown(self, place: str) -> None:
        shown = choose_card(BUNDLE, {**WRITTEN, **WRITTEN_PLACES[place]})

        assert shown.warning is None
        assert "PLACE" in texts(shown.card)

    @pytest.mark.parametrize("identifier", IDENTIFIERS)
    @pytest.mark.parametrize("place", BUNDLE_PLACES)
    def test_text_of_the_bundle_that_holds_one_is_left_out(self, place: str, identifier: str) -> None:
        card = default_card(BUNDLE_PLACES[place](identifier))

        assert "PLACE" in texts(default_card(BUNDLE_PLACES[place]("PLACE")))
        assert not any(map(looks_like_identifier, texts(card)))

    def test_a_pattern_or_a_bound_that_looks_like_one_is_left_out_and_its_absence_is_said(self) -> None:
        number = Parameter(name="dose", type=ParameterType.DECIMAL, title="Dose", minimum="0", maximum="100000")
        code = Parameter(name="code", type=ParameterType.IDENTIFIER, title="Code", pattern="12345[a-z]")
        plain = Parameter(name="remark", type=ParameterType.LINE, title="Remark", pattern="[a-z]+", required=False)
        others = tuple(each for each in PARAMETERS if each.name not in ("dose", "code", "remark"))
        shown = {
            each.name: each for each in default_card(evolve(BUNDLE, parameters=(*others, number, code, plain))).inputs
        }

        assert (shown["dose"].minimum, shown["dose"].maximum, shown["dose"].details_left_out) == ("0", None, True)
        assert (shown["code"].pattern, shown["code"].details_left_out) == (None, True)
        assert (shown["remark"].pattern, shown["remark"].details_left_out) == ("[a-z]+", False)

    def test_a_guard_that_lets_everything_pass_would_be_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.core.workflow.card.looks_like_identifier", str.isspace)

        assert any(map(looks_like_identifier, texts(default_card(evolve(BUNDLE, title=IDENTIFIERS[0])))))

    @given(st.text(min_size=4, max_size=60))
    def test_a_warning_never_repeats_the_text(self, text: str) -> None:
        warning = choose_card(BUNDLE, {**WRITTEN, "purpose": f"canary@example.org {text}"}).warning

        assert "canary" not in repr(warning)
        assert warning is not None


class TestSize:
    """A card is bounded in size, whatever the bundle holds."""

    def test_the_largest_bundle_has_a_small_card_that_says_what_it_left_out(self) -> None:
        large = tuple(
            Parameter(
                name=f"field_{letter}{other}",
                type=ParameterType.CHOICE,
                title="t" * 80,
                description="d" * 300,
                choices=tuple(
                    chr(ord("a") + first) + chr(ord("a") + second) * 199 for first in range(8) for second in range(25)
                ),
            )
            for letter in "abcdefg"
            for other in "abcdefg"
        )
        card = default_card(_only(large))

        assert len(json.dumps(to_wire(card), ensure_ascii=False)) < 32_000
        assert [each.details_left_out for each in card.inputs] == [True] * len(large)

    def test_details_are_shown_while_they_fit(self) -> None:
        many = tuple(
            Parameter(name=f"field_{letter}", type=ParameterType.LINE, title="t", description="d" * 300)
            for letter in string.ascii_lowercase
        )
        more = tuple(evolve(each, name=f"more_{each.name}") for each in many[:4])
        shown = default_card(_only((*many, *more))).inputs

        assert [each.details_left_out for each in shown] == [False] * 26 + [True] * 4


def _only(parameters: tuple[Parameter, ...]) -> Bundle:
    """A bundle that checks these inputs and no others."""
    checks = tuple(
        evolve(
            BUNDLE.identity[0], target=evolve(BUNDLE.identity[0].target, name=each.name), expected=FromInput(each.name)
        )
        for each in parameters
    )
    return _identified(parameters, checks)


def _identified(parameters: tuple[Parameter, ...], checks: Any) -> Bundle:  # noqa: ANN401 - identity fields
    given_inputs = tuple(evolve(each, min_length=1) for each in parameters)
    constant = Constant("x")
    read = BUNDLE.read_back
    return evolve(
        BUNDLE,
        parameters=given_inputs,
        steps=BUNDLE.steps[:3],
        identity=checks,
        read_back=evolve(
            read,
            identity=(evolve(read.identity[0], expected=constant),),
            written=(evolve(read.written[0], expected=constant),),
        ),
    )
