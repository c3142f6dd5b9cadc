"""Wire values of attrs classes as hypothesis draws them, valid and spoilt, and a validator of them."""

import importlib
import re
from enum import Enum, unique
from functools import partial
from typing import Annotated, Any, Literal, TypeGuard, get_args, get_origin

from attrs import fields, frozen, has
from hypothesis import strategies as st

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.schema import (
    KIND,
    Items,
    Number,
    Text,
    alternatives,
    enum_texts,
    is_required,
    is_union,
    json_schema,
    matches,
    without_none,
)

#: The library bears no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

Json = Any  # what json.loads gives; each member has its own type


@unique
class Colour(Enum):
    """An enum of text values."""

    RED = "red"
    DEEP_BLUE = "deep_blue"


@frozen
class Circle:
    """One alternative."""

    radius: Annotated[int, Number(minimum=1)]


@frozen
class OpenPolygon:
    """Another alternative, with a name of two words."""

    corners: Annotated[tuple[Annotated[int, Number(maximum=9)], ...], Items(3)]
    label: Annotated[str, Text(min_length=1, max_length=4)] | None = None


Shape = Circle | OpenPolygon


@frozen
class Sample:
    """Every kind of type that has a wire form."""

    version: Literal["v1"]
    text: str
    code: Annotated[str, Text(pattern="^[a-c]{2}$")]
    flag: bool
    number: int
    colour: Colour
    level: CheckLevel
    shape: Shape
    shapes: Annotated[tuple[Shape, ...], Items(2)]
    words: tuple[str, ...] = ()
    size: Annotated[int, Number(minimum=-2, maximum=2)] = 0
    either: Literal["a", "b"] = "a"
    nested: Circle = Circle(1)
    maybe: Annotated[str, Text(max_length=3)] | None = None
    maybe_shape: Shape | None = None
    maybe_flag: bool | None = None


_SCALARS: dict[object, st.SearchStrategy[Json]] = {
    str: st.text(max_size=5),
    int: st.integers(),
    bool: st.booleans(),
}


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list)


def wire_values(kind: object) -> st.SearchStrategy[Json]:
    """Wire values that the schema of the type allows."""
    kind = without_none(kind)
    if is_union(kind):
        return st.one_of([_tagged(tag, member) for tag, member in alternatives(kind).items()])
    match get_origin(kind):
        case None:
            return _values_of_class(kind)
        case origin if origin is Literal:
            return st.sampled_from(get_args(kind))
        case origin if origin is tuple:
            return st.lists(wire_values(get_args(kind)[0]), max_size=3)
        case _:
            return _limited(kind)


def _values_of_class(kind: object) -> st.SearchStrategy[Json]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(enum_texts(kind)))
    if isinstance(kind, type) and has(kind):
        return _members(kind)
    return _SCALARS[kind]


def _members(cls: type) -> st.SearchStrategy[Json]:
    needed = {each.name: wire_values(each.type) for each in fields(cls) if is_required(each)}
    others = {each.name: wire_values(each.type) for each in fields(cls) if not is_required(each)}
    return st.fixed_dictionaries(needed, optional=others)


def _tagged(tag: str, member: type) -> st.SearchStrategy[Json]:
    return _members(member).map(lambda members: {KIND: tag, **members})


def _limited(kind: object) -> st.SearchStrategy[Json]:
    base, *marks = get_args(kind)
    values: st.SearchStrategy[Json] = wire_values(base)
    for mark in marks:
        match mark:
            case Text(None, least, most):
                values = st.text(min_size=least or 0, max_size=min(most or 5, (least or 0) + 5))
            case Text(str() as pattern):
                values = _matching(pattern).filter(partial(matches, mark))
            case Number(least, most):
                values = st.integers(least, most)
            case Items(most):
                values = st.lists(wire_values(get_args(base)[0]), max_size=min(most, 3))
            case _:
                raise TypeError("a mark that is not drawn")
    return values


def _matching(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(pattern.removesuffix("$") + r"\Z", re.ASCII))


SPOILERS: st.SearchStrategy[Json] = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 7, 10**9, 1.9, "", "7", "a", "red", "RED", "ab\n", "abcde", "v1", "v2", ["a"]),
        *({"kind": "circle", "radius": 1}, {"kind": "circle"}, {"radius": 1}),
        {"kind": "open_polygon", "corners": [1, 2, 3, 4]},
    ]
)


@st.composite
def spoilt(draw: st.DrawFn, values: st.SearchStrategy[Json]) -> Json:
    """A wire value with one to three places changed, dropped or added; it may be valid all the same."""
    value = draw(values)
    for _ in range(draw(st.integers(1, 3))):
        value = _change(draw, value)
    return value


def _change(draw: st.DrawFn, value: Json) -> Json:
    if is_object(value) and value and draw(st.integers(0, 9)):
        return _change_member(draw, value)
    if is_list(value) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _change(draw, value[place]), *value[place + 1 :]]
    if is_list(value):
        return [*value, *value, draw(SPOILERS)]
    if isinstance(value, str) and draw(st.booleans()):
        return value + draw(st.sampled_from(("\n", " ", "x", "\u0661", "0" * 30)))
    return draw(SPOILERS)


def _change_member(draw: st.DrawFn, members: dict[str, Json]) -> Json:
    name = draw(st.sampled_from(sorted(members)))
    how = draw(st.sampled_from(("change", "change", "change", "drop", "add")))
    if how == "drop":
        return {other: part for other, part in members.items() if other != name}
    if how == "add":
        return {**members, draw(st.sampled_from(("extra", "kind", "run_id", "Flag"))): draw(SPOILERS)}
    return {**members, name: _change(draw, members[name])}


def validator_of(cls: type) -> Any:  # noqa: ANN401 - the library bears no types of its own
    """A validator of the class's schema, with the two readings that Python's JSON values need.

    A float is no integer, also when nothing follows the point; and a pattern is read as ECMAScript reads it, where
    ``$`` stands at the very end only.
    """
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("integer", _is_integer)
    strict = jsonschema.validators.extend(base, {"pattern": _pattern}, type_checker=types)
    return strict(json_schema(cls))


def _is_integer(_: object, value: object) -> bool:
    return type(value) is int


def _pattern(_: object, pattern: str, value: object, __: object) -> Any:  # noqa: ANN401 - as above
    ends = re.sub(r"\$$", r"\\Z", pattern)
    if isinstance(value, str) and not re.search(ends, value, re.ASCII):
        yield jsonschema.ValidationError("the pattern does not match")


def none_in(value: Json) -> bool:
    """Whether null stands anywhere in the value."""
    parts: list[Json] = [*value.values()] if is_object(value) else value if is_list(value) else []
    return value is None or any(none_in(part) for part in parts)
