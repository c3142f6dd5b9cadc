"""JSON Schema (draft 2020-12) of our attrs classes, and the constraints that they carry.

Laws of this module:

- A constraint is written once, in an ``Annotated`` type; the schema and ``wire`` both read it there.
- What every text has to be, and no schema can say, is asked here alone: that it is Unicode.
- A type that the generator does not know is an error, never an empty schema.
- An optional fact is left out when it is not known: ``null`` is in no schema.
- An enum goes by its text values; an ``IntEnum``, whose numbers are only an order, by its member names in lower case.
- Alternatives are objects with a ``kind`` member: the name of the class in lower case with underscores.
"""

import re
from collections.abc import Callable
from enum import Enum, IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeGuard, Union, assert_never, get_args, get_origin

from attrs import NOTHING, Attribute, fields, frozen, has

#: The member that says which alternative an object is.
KIND: Final = "kind"


@frozen
class Text:
    """Constraints of a string: a pattern that the whole text satisfies, and lengths in code points."""

    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None


@frozen
class Number:
    """Inclusive bounds of a number."""

    minimum: int | None = None
    maximum: int | None = None


@frozen
class Items:
    """The largest number of items in a tuple."""

    max_items: int


Constraint = Text | Number | Items


def matches(text: Text, value: str) -> bool:
    """Whether a string keeps within its constraints; its classes of characters are ASCII."""
    long_enough = text.min_length is None or text.min_length <= len(value)
    short_enough = text.max_length is None or len(value) <= text.max_length
    return long_enough and short_enough and (text.pattern is None or _compiled(text.pattern)(value) is not None)


def is_unicode(text: str) -> bool:
    """Whether a text is Unicode: none of it is half of a surrogate pair, which JSON can spell and no file can keep."""
    return text.isascii() or _HALF_A_PAIR.search(text) is None


_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")


@cache
def _compiled(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern, re.ASCII).fullmatch


def json_schema(cls: type) -> dict[str, object]:
    """The schema of one attrs class, with every class that it holds written out in place.

    Args:
        cls: An attrs class made of text, numbers, booleans, enums, literals, tuples, attrs classes and unions of them.

    Returns:
        A schema whose root is a closed object.

    Raises:
        TypeError: The class, or a type inside it, has no wire form.
    """
    if not has(cls):
        raise TypeError("only an attrs class has a schema of its own")
    return _object(cls)


def enum_texts(enum: type[Enum]) -> dict[str, Enum]:
    """The members of an enum by their text on the wire, in the order of declaration.

    Raises:
        TypeError: A member has no text.
    """
    if issubclass(enum, IntEnum):
        return {member.name.lower(): member for member in enum}
    texts = {member.value: member for member in enum if isinstance(member.value, str)}
    if len(texts) != len(enum):
        raise TypeError("an enum on the wire has text values")
    return texts


def is_union(kind: object) -> bool:
    """Whether the type is a union, written either way."""
    return get_origin(kind) in {Union, UnionType}


def without_none(kind: object) -> object:
    """The type without its ``None``; the type itself when it has none."""
    if not is_union(kind) or NoneType not in get_args(kind):
        return kind
    return Union[tuple(part for part in get_args(kind) if part is not NoneType)]  # noqa: UP007 - built at run time


def alternatives(union: object) -> dict[str, type]:
    """The classes of a tagged union by the text of their ``kind`` member.

    Raises:
        TypeError: A member is no attrs class, or has a field called ``kind`` of its own.
    """
    members: dict[str, type] = {}
    for member in get_args(union):
        if not isinstance(member, type) or not has(member) or KIND in {each.name for each in fields(member)}:
            raise TypeError("a union on the wire holds attrs classes without a field called kind")
        members[_underscored(member.__name__)] = member
    return members


def is_required(attribute: "Attribute[Any]") -> bool:
    """Whether the wire form must hold the field: it has no default, or it is a tag with a single value."""
    is_tag = get_origin(attribute.type) is Literal and len(get_args(attribute.type)) == 1
    return attribute.default is NOTHING or is_tag


def is_constraint(mark: object) -> TypeGuard[Constraint]:
    """Whether a mark of an ``Annotated`` type is one of ours."""
    return isinstance(mark, Text | Number | Items)


def _underscored(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _object(cls: type, tag: str | None = None) -> dict[str, object]:
    kind: dict[str, object] = {} if tag is None else {KIND: {"type": "string", "enum": [tag]}}
    members = {each.name: _schema(_field_type(each)) for each in fields(cls)}
    return {
        "type": "object",
        "properties": {**kind, **members},
        "required": [*kind, *(each.name for each in fields(cls) if is_required(each))],
        "additionalProperties": False,
    }


def _field_type(attribute: "Attribute[Any]") -> object:
    inner = without_none(attribute.type)
    if inner is not attribute.type and attribute.default is not None:
        raise TypeError("an optional field has the default None")
    return inner


def _schema(kind: object) -> dict[str, object]:
    if isinstance(kind, type) and get_origin(kind) is None:
        return _schema_of_class(kind)
    if is_union(kind):
        return {"oneOf": [_object(member, tag) for tag, member in alternatives(kind).items()]}
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(parts[0], parts[1:])
    if origin is Literal:
        return {"type": "string", "enum": _texts(parts)}
    if origin is tuple and parts[1:] == (Ellipsis,):
        return {"type": "array", "items": _schema(parts[0])}
    raise TypeError("a type without a wire form")


def _schema_of_class(cls: "type[Any]") -> dict[str, object]:
    if cls in _SCALARS:
        return {"type": _SCALARS[cls]}
    if issubclass(cls, Enum):
        return {"type": "string", "enum": list(enum_texts(cls))}
    if has(cls):
        return _object(cls)
    raise TypeError("a class without a wire form")


_SCALARS: Final[dict[type, str]] = {str: "string", int: "integer", bool: "boolean"}


def _texts(values: tuple[object, ...]) -> list[str]:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise TypeError("a literal on the wire is text")
    return texts


def _annotated(base: object, marks: tuple[object, ...]) -> dict[str, object]:
    schema = _schema(base)
    for mark in marks:
        if not is_constraint(mark):
            raise TypeError("a mark without a wire form")
        kind, keywords = _keywords(mark)
        if schema["type"] != kind:
            raise TypeError("a constraint of another type")
        schema |= {keyword: limit for keyword, limit in keywords.items() if limit is not None}
    return schema


def _keywords(constraint: Constraint) -> tuple[str, dict[str, object]]:
    match constraint:
        case Text(pattern, least, most):
            return "string", {"pattern": _whole(pattern), "minLength": least, "maxLength": most}
        case Number(least, most):
            return "integer", {"minimum": least, "maximum": most}
        case Items(most):
            return "array", {"maxItems": most}
        case _:  # pragma: no cover
            assert_never(constraint)


def _whole(pattern: str | None) -> str | None:
    """The pattern, which a schema searches for and which we want to hold for the whole text."""
    if pattern is not None and not (pattern.startswith("^") and pattern.endswith("$")):
        raise TypeError("a pattern on the wire holds for the whole text: it begins with ^ and ends with $")
    return pattern
