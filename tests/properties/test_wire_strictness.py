"""What crosses a boundary: read strictly, written completely, and described by its schema."""

import json
from typing import Any

import pytest
from attrs import define, frozen
from cattrs import Converter
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Result, Success

from support.outcome_strategies import RESULTS
from support.wire_strategies import (
    Circle,
    Colour,
    OpenPolygon,
    Sample,
    is_list,
    is_object,
    none_in,
    spoilt,
    validator_of,
    wire_values,
)
from surehand.core.outcome.audit import AuditReport
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.result import InputProblem, RunResult
from surehand.core.wire import FaultCode, WireFault, from_wire, to_wire
from surehand.core.workflow.bundle import Bundle, ChooseStep, FillStep, IdentityField, OpenStep, ReadBack, SaveStep
from surehand.core.workflow.params import Parameter
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.target import PageGate, Target

CLASSES: tuple[type, ...] = (
    Sample,
    Circle,
    OpenPolygon,
    InputProblem,
    RunResult,
    AuditReport,
    Parameter,
    Target,
    PageGate,
    OpenStep,
    FillStep,
    ChooseStep,
    SaveStep,
    WriteRoute,
    IdentityField,
    ReadBack,
    Bundle,
)
CLASS = st.sampled_from(CLASSES)
VALIDATORS: dict[type, Any] = {cls: validator_of(cls) for cls in CLASSES}

SAMPLE: dict[str, Any] = {
    "version": "v1",
    "text": "naïve\n",
    "code": "ab",
    "flag": False,
    "number": 0,
    "colour": "deep_blue",
    "level": "separate_session",
    "shape": {"kind": "circle", "radius": 2},
    "shapes": [{"kind": "open_polygon", "corners": [1, 2]}],
}


def _has_wire_form(read: Result[object, tuple[WireFault, ...]]) -> bool:
    """Whether the shape is right; parts that disagree are beyond what a schema can say."""
    return isinstance(read, Success) or all(fault.code is FaultCode.DISAGREES for fault in read.failure())


def _fault(change: dict[str, Any]) -> tuple[WireFault, ...]:
    return from_wire({**SAMPLE, **change}, Sample).failure()


class TestSchemaAndReadingAgree:
    """A constraint is written once; the schema and the strict reading both say it."""

    @given(CLASS.flatmap(lambda cls: st.tuples(st.just(cls), wire_values(cls))))
    def test_on_what_the_schema_allows(self, case: tuple[type[object], Any]) -> None:
        cls, wire = case

        VALIDATORS[cls].validate(wire)
        assert _has_wire_form(from_wire(wire, cls))

    @given(CLASS.flatmap(lambda cls: st.tuples(st.just(cls), spoilt(wire_values(cls)))))
    def test_on_what_was_spoilt(self, case: tuple[type[object], Any]) -> None:
        cls, wire = case

        assert VALIDATORS[cls].is_valid(wire) is _has_wire_form(from_wire(wire, cls))

    @given(spoilt(RESULTS.map(to_wire)))
    def test_on_a_result_that_was_spoilt(self, wire: Any) -> None:  # noqa: ANN401 - anything that JSON holds
        assert VALIDATORS[RunResult].is_valid(wire) is _has_wire_form(from_wire(wire, RunResult))

    @given(RESULTS, st.booleans())
    def test_an_integral_float_is_the_one_thing_that_only_the_reading_refuses(
        self, result: RunResult, through_json: bool
    ) -> None:
        wire = {**to_wire(result), "attempt": float(result.attempt)}
        read = json.loads(json.dumps(wire)) if through_json else wire

        assert Failure((WireFault(("attempt",), FaultCode.WRONG_TYPE),)) == from_wire(read, RunResult)

    def test_so_that_a_reading_that_converts_would_be_caught(self) -> None:
        wire = {"radius": "7"}

        assert Circle(7) == Converter().structure(wire, Circle)
        assert not VALIDATORS[Circle].is_valid(wire)


class TestReadingChangesNothing:
    """What was read is what stands in the object."""

    @given(wire_values(Sample))
    def test_every_member_that_was_read_is_written_again(self, wire: dict[str, Any]) -> None:
        written = to_wire(from_wire(wire, Sample).unwrap())

        assert _within(wire, written)

    @given(wire_values(Sample))
    def test_what_was_written_is_read_back_as_the_same_object(self, wire: dict[str, Any]) -> None:
        sample = from_wire(wire, Sample).unwrap()

        assert Success(sample) == from_wire(json.loads(json.dumps(to_wire(sample))), Sample)

    @given(RESULTS)
    def test_a_result_round_trips_to_itself(self, result: RunResult) -> None:
        wire = to_wire(result)

        assert wire == to_wire(from_wire(wire, RunResult).unwrap())

    @given(wire_values(Sample))
    def test_a_fact_that_is_not_known_is_left_out(self, wire: dict[str, Any]) -> None:
        assert not none_in(to_wire(from_wire(wire, Sample).unwrap()))

    def test_the_wire_form_of_a_sample(self) -> None:
        sample = from_wire(SAMPLE, Sample).unwrap()

        assert (Colour.DEEP_BLUE, CheckLevel.SEPARATE_SESSION) == (sample.colour, sample.level)
        assert (Circle(2), (OpenPolygon((1, 2)),)) == (sample.shape, sample.shapes)
        assert to_wire(sample) == {
            **SAMPLE,
            "words": [],
            "size": 0,
            "either": "a",
            "nested": {"radius": 1},
        }


def _within(less: Any, more: Any) -> bool:  # noqa: ANN401 - anything that JSON holds
    """Whether every part of ``less`` stands in ``more`` with the same value and the same type."""
    if is_object(less):
        return all(name in more and _within(part, more[name]) for name, part in less.items())
    if is_list(less):
        return len(less) == len(more) and all(_within(*pair) for pair in zip(less, more, strict=True))
    return type(less) is type(more) and less == more


class TestNothingIsConverted:
    """A value has exactly its type, or it is refused."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("number", "7"),
            ("number", 1.9),
            ("number", 1.0),
            ("number", True),
            ("number", None),
            ("flag", 0),
            ("flag", "true"),
            ("text", 7),
            ("text", b"x"),
            ("text", None),
            ("text", ["x"]),
            ("colour", 1),
            ("colour", Colour.RED),
            ("level", 2),
            ("version", 1),
            ("words", "ab"),
            ("words", ("a",)),
            ("words", {"a": 1}),
            ("shape", "circle"),
            ("nested", []),
            ("maybe", None),
            ("maybe_flag", None),
            ("maybe_shape", None),
        ],
        ids=repr,
    )
    def test_a_value_of_another_type(self, name: str, value: object) -> None:
        assert (WireFault((name,), FaultCode.WRONG_TYPE),) == _fault({name: value})

    @pytest.mark.parametrize(
        ("name", "value", "code"),
        [
            ("colour", "RED", FaultCode.NOT_A_CHOICE),
            ("level", "REOPENED", FaultCode.NOT_A_CHOICE),
            ("version", "v2", FaultCode.NOT_A_CHOICE),
            ("either", "c", FaultCode.NOT_A_CHOICE),
            ("shape", {"kind": "square"}, FaultCode.NOT_A_CHOICE),
            ("shape", {"kind": None}, FaultCode.WRONG_TYPE),
            ("code", "abc", FaultCode.OUT_OF_LIMITS),
            ("code", "ab\n", FaultCode.OUT_OF_LIMITS),
            ("size", 3, FaultCode.OUT_OF_LIMITS),
            ("size", -3, FaultCode.OUT_OF_LIMITS),
            ("maybe", "abcd", FaultCode.OUT_OF_LIMITS),
            ("shapes", [SAMPLE["shape"]] * 3, FaultCode.OUT_OF_LIMITS),
            ("text", "\ud800", FaultCode.NOT_UNICODE),
            ("text", "é\udfff", FaultCode.NOT_UNICODE),
        ],
        ids=repr,
    )
    def test_a_value_outside_its_limits(self, name: str, value: object, code: FaultCode) -> None:
        assert code in {fault.code for fault in _fault({name: value})}
        assert all(name == fault.path[0] for fault in _fault({name: value}))

    def test_digits_of_another_script_are_no_digits_of_a_pattern(self) -> None:
        route = {"method": "POST", "path": "/a", "content_type": "text/plain"}

        assert isinstance(from_wire(route, WriteRoute), Success)
        assert isinstance(from_wire({**route, "content_type": "text/\u0661"}, WriteRoute), Failure)


class TestFaults:
    """Faults are collected with their paths, and never with a value or a foreign member's name."""

    def test_all_of_them_with_their_paths(self) -> None:
        spoilt_sample = {
            **SAMPLE,
            "number": "7",
            "shapes": [{"kind": "circle", "radius": 0}, {"kind": "open_polygon", "corners": [1, "2"], "more": 1}],
            "Jane Doe": 1,
        }

        assert {
            WireFault(("number",), FaultCode.WRONG_TYPE),
            WireFault(("shapes", 0, "radius"), FaultCode.OUT_OF_LIMITS),
            WireFault(("shapes", 1, "corners", 1), FaultCode.WRONG_TYPE),
            WireFault(("shapes", 1), FaultCode.UNKNOWN_MEMBER),
            WireFault((), FaultCode.UNKNOWN_MEMBER),
        } == set(from_wire(spoilt_sample, Sample).failure())

    def test_every_missing_member_is_named(self) -> None:
        assert {(name,) for name in SAMPLE if name != "text"} == {
            fault.path for fault in from_wire({"text": ""}, Sample).failure()
        }

    def test_an_alternative_that_does_not_say_which_it_is(self) -> None:
        assert (WireFault(("shape", "kind"), FaultCode.MISSING_MEMBER),) == _fault({"shape": {"radius": 1}})

    @given(spoilt(wire_values(Sample)), st.text("xyz", min_size=12, max_size=12))
    def test_no_fault_repeats_what_it_was_given(self, wire: Any, canary: str) -> None:  # noqa: ANN401 - as above
        planted = {**wire, "number": canary, canary: canary} if is_object(wire) else canary

        assert canary not in repr(from_wire(planted, Sample))

    def test_parts_that_disagree_are_a_fault_at_the_object(self) -> None:
        even = from_wire({"halves": [{"number": 2}, {"number": 3}]}, _Halves)

        assert Failure((WireFault(("halves", 1), FaultCode.DISAGREES),)) == even

    def test_a_bug_in_a_class_is_no_fault_of_the_data(self) -> None:
        with pytest.raises(ZeroDivisionError):
            from_wire({"number": 1}, _Broken)


@frozen
class _Even:
    number: int

    def __attrs_post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("odd")


@frozen
class _Halves:
    halves: tuple[_Even, ...]


@define
class _Broken:
    number: int

    def __attrs_post_init__(self) -> None:
        self.number //= 0
