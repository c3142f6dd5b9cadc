"""The JSON Schema of attrs classes: closed, without null, and never empty for a type that it does not know."""

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from attrs import field, frozen, make_class
from hypothesis import given
from hypothesis import strategies as st

from support.wire_strategies import Circle, Sample, jsonschema
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import RunResult
from surehand.core.schema import Items, Number, Text, is_unicode, json_schema, matches
from surehand.core.workflow.bundle import Bundle


def _parts(schema: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a schema within a schema
    """The schema and all schemas within it."""
    inner = [*schema.get("properties", {}).values(), *schema.get("oneOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return [schema, *(part for each in inner for part in _parts(each))]


class TestEverySchema:
    """A schema that is handed to a client is closed, valid, and has no null in it."""

    @pytest.mark.parametrize("cls", [Sample, RunResult, Bundle, Circle])
    def test_is_valid_draft_2020_12(self, cls: type) -> None:
        jsonschema.Draft202012Validator.check_schema(json_schema(cls))

    @pytest.mark.parametrize("cls", [Sample, RunResult, Bundle, Circle])
    def test_has_an_object_as_its_root_and_closed_objects_within(self, cls: type) -> None:
        parts = _parts(json_schema(cls))
        objects = [part for part in parts if part.get("type") == "object"]

        assert "object" == parts[0]["type"]
        assert all(part["additionalProperties"] is False for part in objects)

    @pytest.mark.parametrize("cls", [Sample, RunResult, Bundle, Circle])
    def test_never_offers_null_or_several_types_or_anything_at_all(self, cls: type) -> None:
        for part in _parts(json_schema(cls)):
            assert part.get("type") in {"object", "array", "string", "integer", "boolean"} or set(part) == {"oneOf"}

    def test_lists_the_values_of_an_enum_in_the_order_of_declaration(self) -> None:
        properties: Any = json_schema(RunResult)["properties"]

        assert {"type": "string", "enum": [reason.value for reason in Reason]} == properties["reason"]

    def test_is_written_out_in_full(self) -> None:
        schema: Any = json_schema(Sample)
        properties = schema["properties"]
        circle = {"type": "integer", "minimum": 1}

        assert ["version", "text", "code", "flag", "number", "colour", "level", "shape", "shapes"] == (
            schema["required"]
        )
        assert {"type": "string", "enum": ["v1"]} == properties["version"]
        assert {"type": "string", "pattern": "^[a-c]{2}$"} == properties["code"]
        assert {"type": "integer", "minimum": -2, "maximum": 2} == properties["size"]
        assert {"type": "string", "maxLength": 3} == properties["maybe"]
        assert {"type": "boolean"} == properties["maybe_flag"]
        assert 2 == properties["shapes"]["maxItems"]
        assert ["unchecked", "same_page", "reopened", "separate_session", "system_of_record"] == (
            properties["level"]["enum"]
        )
        assert {
            "type": "object",
            "properties": {"kind": {"type": "string", "enum": ["circle"]}, "radius": circle},
            "required": ["kind", "radius"],
            "additionalProperties": False,
        } == properties["shape"]["oneOf"][0]
        assert properties["shape"] == properties["maybe_shape"]


class _Numbered(Enum):
    ONE = 1


class _Ranked(IntEnum):
    LOW = 0


@frozen
class _HasKind:
    kind: str


_NO_WIRE_FORM: list[object] = [
    float,
    bytes,
    object,
    dict,
    Mapping[str, str],
    list[str],
    tuple[str, str],
    tuple[str, int, int],
    None,
    "str",
    _Numbered,
    Literal[1],
    Literal["a", 1],
    str | int,
    Circle | str,
    Circle | _HasKind,
    Annotated[str, "a mark of somebody else"],
    Annotated[str, Number(minimum=1)],
    Annotated[int, Text()],
    Annotated[str, Items(1)],
    Annotated[str, Text(pattern="[a-z]")],
    Annotated[str, Text(pattern="^[a-z]")],
    tuple[float, ...],
]


_OPTIONAL: Any = str | None


class TestATypeWithoutAWireForm:
    """A type that the generator does not know is an error, never an empty schema."""

    @pytest.mark.parametrize("kind", _NO_WIRE_FORM, ids=str)
    def test_as_a_field(self, kind: Any) -> None:  # noqa: ANN401 - any type
        with pytest.raises(TypeError):
            json_schema(make_class("Holder", {"part": field(type=kind)}))

    @pytest.mark.parametrize("cls", [str, dict, _Ranked, object])
    def test_as_the_root(self, cls: type) -> None:
        with pytest.raises(TypeError):
            json_schema(cls)

    def test_an_optional_field_whose_default_is_a_value(self) -> None:
        with pytest.raises(TypeError):
            json_schema(make_class("Holder", {"part": field(type=_OPTIONAL, default="x")}))

    def test_an_enum_of_ranks_goes_by_its_names(self) -> None:
        schema: Any = json_schema(make_class("Holder", {"part": field(type=_Ranked)}))

        assert ["low"] == schema["properties"]["part"]["enum"]


class TestAText:
    """A pattern holds for the whole text, and its classes are ASCII."""

    @pytest.mark.parametrize(
        ("text", "value", "fits"),
        [
            (Text(), "", True),
            (Text(min_length=1), "", False),
            (Text(max_length=1), "ab", False),
            (Text(min_length=1, max_length=1), "é", True),
            (Text(pattern="^[a-z]+$"), "ab", True),
            (Text(pattern="^[a-z]+$"), "ab\n", False),
            (Text(pattern="^[a-z]+$"), "ab1", False),
            (Text(pattern=r"^\d$"), "7", True),
            (Text(pattern=r"^\d$"), "\u0667", False),
        ],
    )
    def test_keeps_within_its_constraints_or_does_not(self, text: Text, value: str, fits: bool) -> None:
        assert fits is matches(text, value)


def _is_utf_8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class TestWhatIsUnicode:
    """A text is Unicode exactly when it can be written in UTF-8: none of it is half of a surrogate pair."""

    @given(st.text(st.characters()))
    def test_is_what_can_be_written(self, text: str) -> None:
        assert _is_utf_8(text) is is_unicode(text)

    @given(st.text(), st.characters(categories=["Cs"]), st.text())
    def test_one_half_anywhere_is_seen(self, before: str, half: str, after: str) -> None:
        assert not is_unicode(before + half + after)

    @pytest.mark.parametrize("text", ["\ud7ff", "\ue000", "\uffff", "\U0001f600", "", "a\0"])
    def test_what_stands_next_to_the_halves_is(self, text: str) -> None:
        assert is_unicode(text)

    @pytest.mark.parametrize("halves", [(0xD800,), (0xDBFF,), (0xDC00,), (0xDFFF,), (0xD83D, 0xDE00)])
    def test_neither_the_first_and_the_last_half_nor_two_of_them_are(self, halves: tuple[int, ...]) -> None:
        assert not is_unicode("".join(map(chr, halves)))
