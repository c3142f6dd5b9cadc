"""Typed inputs: what a declaration may say, which values fit, and the schema that says the same."""

import importlib
import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from surehand.core.outcome.result import InputProblem, InputProblemCode
from surehand.core.workflow.params import MAX_PROBLEMS, Parameter, ParameterType, check_inputs, input_schema

#: The library bears no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

ONE_LINE = [kind for kind in ParameterType if kind is not ParameterType.TEXT]


def parameter(kind: ParameterType, **more: Any) -> Parameter:  # noqa: ANN401 - each member has its own type
    """A parameter called ``value``."""
    members: dict[str, Any] = {"name": "value", "title": "Value"}
    if kind is ParameterType.CHOICE:
        members["choices"] = ("No", "Not at this time")
    return Parameter(type=kind, **{**members, **more})


def problem(declared: Parameter, value: object) -> InputProblemCode | None:
    """The one problem of a value, or none."""
    checked = check_inputs((declared,), {declared.name: value})
    if isinstance(checked, Success):
        assert checked.unwrap() == {declared.name: value}
        return None
    return checked.failure()[0].problem


LENGTHS = st.tuples(st.integers(0, 4), st.integers(4, 9))


def _measured(kind: ParameterType, lengths: tuple[int, int], required: bool) -> Parameter:
    return parameter(kind, min_length=lengths[0], max_length=lengths[1], required=required)


MEASURED = st.builds(
    _measured,
    st.sampled_from((ParameterType.LINE, ParameterType.TEXT, ParameterType.IDENTIFIER)),
    LENGTHS,
    st.booleans(),
)
PATTERNED = st.sampled_from((r"\d{3}-\d{2}", "[A-Z]+", "(a|b)*", r"\w+( \w+)?", "[^0-9]{1,3}")).map(
    lambda pattern: parameter(ParameterType.LINE, pattern=pattern)
)
OTHERS = st.sampled_from((ParameterType.DATE, ParameterType.DECIMAL, ParameterType.CHOICE)).map(parameter)
PARAMETERS = MEASURED | PATTERNED | OTHERS

_SPECIAL = st.sampled_from(
    (
        "a\nb",
        "a\tb",
        "a\r\nb",
        "\x00",
        "\x7f",
        "\x85",
        "\u2028",
        "\u202e",
        "\u2066x\u2069",
        "\ufeffa",
        "12-3",
        "\n",
        "123-45\n",
    )
)
TEXTS = (
    _SPECIAL
    | st.text(max_size=10)
    | st.sampled_from(("No", "Not", "Not at this time", "123-45", "ABC", "ab", "foo bar"))
    | st.dates().map(lambda day: day.isoformat())
    | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str)
    | st.sampled_from(("007", "+1", "1.", ".5", "1e3", "1,5", " 1", "1\n", "-0", "0000-01-01", "20260504", "\u0661"))
)
JSON_VALUES = (
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.text(max_size=2), max_size=1)
)


class TestSchema:
    """The schema and the checks agree wherever JSON Schema can say it."""

    @given(PARAMETERS, st.dictionaries(st.sampled_from(("value", "other")), JSON_VALUES))
    def test_a_call_fits_the_schema_exactly_when_it_passes_the_checks(
        self, declared: Parameter, arguments: dict[str, object]
    ) -> None:
        validator = jsonschema.Draft202012Validator(
            input_schema((declared,)), format_checker=jsonschema.FormatChecker()
        )

        assert validator.is_valid(arguments) == isinstance(check_inputs((declared,), arguments), Success)

    @given(st.lists(PARAMETERS, max_size=1).map(tuple))
    def test_the_schema_is_a_schema(self, declared: tuple[Parameter, ...]) -> None:
        jsonschema.Draft202012Validator.check_schema(input_schema(declared))

    def test_a_schema_without_the_control_rule_would_be_caught(self) -> None:
        declared = parameter(ParameterType.LINE)
        weakened: Any = input_schema((declared,))
        del weakened["properties"]["value"]["not"]

        assert jsonschema.Draft202012Validator(weakened).is_valid({"value": "a\nb"})
        assert problem(declared, "a\nb") is InputProblemCode.CONTROL_CHARACTER

    def test_a_description_is_part_of_the_schema(self) -> None:
        schema: Any = input_schema((parameter(ParameterType.LINE, description="What was heard."),))

        assert schema["properties"]["value"]["description"] == "What was heard."


class TestNothingIsCoerced:
    """A value is text that fits, unchanged, or a problem; never a converted value."""

    @given(
        st.sampled_from(ParameterType), st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.text())
    )
    def test_what_is_not_text_is_the_wrong_type(self, kind: ParameterType, value: object) -> None:
        assert problem(parameter(kind), value) is InputProblemCode.WRONG_TYPE

    @given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"))))
    def test_an_accepted_text_is_passed_on_unchanged(self, text: str) -> None:
        assert check_inputs((parameter(ParameterType.TEXT),), {"value": text}) == Success({"value": text})

    def test_a_leading_zero_of_an_identifier_is_kept(self) -> None:
        assert check_inputs((parameter(ParameterType.IDENTIFIER),), {"value": "007"}) == Success({"value": "007"})


class TestProblems:
    """Each problem is one closed code beside the input's name."""

    @pytest.mark.parametrize(
        ("declared", "value", "expected"),
        [
            (parameter(ParameterType.LINE, min_length=2), "a", InputProblemCode.TOO_SHORT),
            (parameter(ParameterType.LINE, max_length=2), "abc", InputProblemCode.TOO_LONG),
            (parameter(ParameterType.LINE, max_length=2), "\U0001f6b2\U0001f6b2", None),
            (parameter(ParameterType.LINE, max_units=3), "\U0001f6b2\U0001f6b2", InputProblemCode.TOO_LONG),
            (parameter(ParameterType.LINE, max_units=4), "\U0001f6b2\U0001f6b2", None),
            (parameter(ParameterType.LINE, max_units=2), "e\u0301x", InputProblemCode.TOO_LONG),
            (parameter(ParameterType.IDENTIFIER, pattern=r"\d{3}"), "12a", InputProblemCode.PATTERN_MISMATCH),
            (parameter(ParameterType.DATE), "1970-02-30", InputProblemCode.NOT_A_DATE),
            (parameter(ParameterType.DATE), "2026-5-4", InputProblemCode.NOT_A_DATE),
            (parameter(ParameterType.DATE), "1970-04-04T00:00:00Z", InputProblemCode.NOT_A_DATE),
            (parameter(ParameterType.DATE), "2024-02-29", None),
            (parameter(ParameterType.DECIMAL), "1,5", InputProblemCode.NOT_A_DECIMAL),
            (parameter(ParameterType.DECIMAL), "NaN", InputProblemCode.NOT_A_DECIMAL),
            (parameter(ParameterType.DECIMAL), "1e400", InputProblemCode.NOT_A_DECIMAL),
            (parameter(ParameterType.DECIMAL, minimum="0.1"), "0.05", InputProblemCode.OUT_OF_RANGE),
            (parameter(ParameterType.DECIMAL, maximum="5.99"), "6.0", InputProblemCode.OUT_OF_RANGE),
            (parameter(ParameterType.DECIMAL, minimum="0.1", maximum="0.3"), "0.30", None),
            (parameter(ParameterType.CHOICE), "Not", InputProblemCode.NOT_A_CHOICE),
            (parameter(ParameterType.CHOICE), "no", InputProblemCode.NOT_A_CHOICE),
            (parameter(ParameterType.CHOICE), "No", None),
        ],
    )
    def test_a_value_has_its_problem(self, declared: Parameter, value: str, expected: InputProblemCode | None) -> None:
        assert problem(declared, value) is expected

    @given(st.sampled_from(ParameterType), st.sampled_from(("\ud800", "a\udfff", "\ud83d")))
    def test_a_lone_surrogate_is_not_unicode(self, kind: ParameterType, value: str) -> None:
        assert problem(parameter(kind), value) is InputProblemCode.NOT_UNICODE

    @given(
        st.sampled_from(ONE_LINE),
        st.sampled_from("\x00\t\n\r\x1b\x1f\x7f\x80\x9f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"),
    )
    def test_a_control_character_is_refused_in_one_line(self, kind: ParameterType, character: str) -> None:
        assert problem(parameter(kind), f"a{character}b") is InputProblemCode.CONTROL_CHARACTER

    @given(st.sampled_from("\x00\x08\x0b\x0c\x0e\x1b\x7f\x85\u2028\u202e"))
    def test_a_text_of_several_lines_holds_only_tabs_and_line_endings(self, character: str) -> None:
        assert problem(parameter(ParameterType.TEXT), f"a\t\r\n{character}") is InputProblemCode.CONTROL_CHARACTER
        assert problem(parameter(ParameterType.TEXT), "a\t\r\nb") is None

    def test_every_problem_is_named_and_undeclared_inputs_stand_under_one_name(self) -> None:
        declared = (parameter(ParameterType.LINE), parameter(ParameterType.DATE, name="day"))

        checked = check_inputs(declared, {"day": "today", "ssn_1": "x", "ssn_2": "y"})

        assert checked == Failure(
            (
                InputProblem("*", InputProblemCode.NOT_DECLARED),
                InputProblem("value", InputProblemCode.MISSING),
                InputProblem("day", InputProblemCode.NOT_A_DATE),
            )
        )

    def test_an_optional_input_may_be_left_out_but_is_not_null(self) -> None:
        declared = parameter(ParameterType.LINE, required=False)

        assert check_inputs((declared,), {}).unwrap() == {}
        assert problem(declared, None) is InputProblemCode.WRONG_TYPE

    def test_the_number_of_problems_is_bounded(self) -> None:
        declared = tuple(parameter(ParameterType.LINE, name=f"v{number}") for number in range(MAX_PROBLEMS))

        assert len(check_inputs(declared, {"other": ""}).failure()) == MAX_PROBLEMS

    @given(PARAMETERS, st.text(min_size=4))
    def test_no_problem_repeats_a_value(self, declared: Parameter, value: str) -> None:
        checked = check_inputs((declared,), {"value": "canary-" + value, "canary-name": value})

        assert "canary" not in repr(checked.failure())


class TestDeclarations:
    """A declaration that no value could be judged by cannot be made."""

    @pytest.mark.parametrize(
        ("kind", "more"),
        [
            (ParameterType.CHOICE, {"choices": ()}),
            (ParameterType.CHOICE, {"choices": ("a", "a")}),
            (ParameterType.CHOICE, {"choices": ("a\nb",)}),
            (ParameterType.CHOICE, {"choices": ("\ud800",)}),
            (ParameterType.LINE, {"choices": ("a",)}),
            (ParameterType.LINE, {"min_length": 5, "max_length": 4}),
            (ParameterType.LINE, {"min_length": 5, "max_units": 4}),
            (ParameterType.DATE, {"max_units": 4}),
            (ParameterType.LINE, {"minimum": "1"}),
            (ParameterType.DECIMAL, {"minimum": "one"}),
            (ParameterType.DECIMAL, {"maximum": "1\n"}),
            (ParameterType.DECIMAL, {"minimum": "2", "maximum": "1.99"}),
            (ParameterType.TEXT, {"pattern": "a"}),
            (ParameterType.LINE, {"pattern": "(a+"}),
            (ParameterType.LINE, {"pattern": "(?=a)a"}),
        ],
    )
    def test_it_is_refused(self, kind: ParameterType, more: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"."):
            parameter(kind, **more)

    @given(st.decimals(-999, 999, places=2), st.decimals(-999, 999, places=2))
    def test_bounds_are_compared_as_numbers(self, one: Decimal, other: Decimal) -> None:
        low, high = sorted((one, other))
        declared = parameter(ParameterType.DECIMAL, minimum=str(low), maximum=str(high))

        assert (declared.minimum, declared.maximum) == (str(low), str(high))

    @given(PARAMETERS)
    def test_the_schema_is_plain_json(self, declared: Parameter) -> None:
        text = json.dumps(input_schema((declared,)))

        assert json.loads(text) == input_schema((declared,))
        assert re.search("[\ud800-\udfff]", text) is None
