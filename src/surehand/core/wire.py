"""The one strict converter between our attrs classes and what crosses a boundary as JSON.

Laws of this module:

- Nothing is converted: a value has exactly its type, or it is refused. What was read is what stands in the object.
- A member that the class does not know is refused, and so is a missing one that has no default.
- Faults are collected with their paths of field names and positions, never with a value or a foreign member's name.
- The wire form is what ``schema`` describes. What a class demands beyond it (parts that agree) is ``DISAGREES``.
- Importing this module costs the import of cattrs: whoever must start fast imports it when it is needed.
"""

from collections.abc import Callable, Iterator
from enum import Enum, IntEnum, unique
from typing import Annotated, Any, Final, Literal, TypeVar, assert_never, cast, get_args, get_origin

from attrs import fields, frozen, has
from cattrs import (
    ClassValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from returns.result import Failure, Result, Success

from surehand.core.schema import (
    KIND,
    Constraint,
    Items,
    Number,
    Text,
    alternatives,
    enum_texts,
    is_constraint,
    is_required,
    is_unicode,
    is_union,
    matches,
    without_none,
)

T = TypeVar("T")

Step = str | int
_Read = Callable[[object, object], object]
_Write = Callable[[Any], object]


@unique
class FaultCode(Enum):
    """What is wrong at one place of the data."""

    WRONG_TYPE = "wrong_type"
    NOT_A_CHOICE = "not_a_choice"
    OUT_OF_LIMITS = "out_of_limits"
    NOT_UNICODE = "not_unicode"
    MISSING_MEMBER = "missing_member"
    UNKNOWN_MEMBER = "unknown_member"
    DISAGREES = "disagrees"


@frozen
class WireFault:
    """One fault: the names and positions that lead to it, and what it is."""

    path: tuple[Step, ...]
    code: FaultCode


def to_wire(value: object) -> dict[str, object]:
    """The wire form of an attrs object: a dict that JSON can hold, without the optional facts that are not known."""
    return cast("dict[str, object]", _CONVERTER.unstructure(value))


def from_wire(data: object, cls: type[T]) -> Result[T, tuple[WireFault, ...]]:
    """Read an object of ``cls`` from parsed JSON.

    Args:
        data: What ``json.loads`` gave.
        cls: The attrs class that is expected.

    Returns:
        The object, or every fault that was found.
    """
    try:
        return Success(_CONVERTER.structure(data, cls))
    except (_RefusedError, ClassValidationError) as refused:
        return Failure(tuple(_faults((), refused)))


class _RefusedError(Exception):
    """A value is refused: the code, and the members at fault when it is not the value itself. Never the value."""

    def __init__(self, code: FaultCode, *members: str) -> None:
        super().__init__(code, *members)
        self.code = code
        self.members = members


def _faults(path: tuple[Step, ...], found: Exception) -> Iterator[WireFault]:
    match found:
        case ClassValidationError():
            located, rest = found.group_exceptions()
            for error, place in located:
                yield from _faults((*path, place.name), error)
            for error in rest:
                yield from _faults(path, error)
        case IterableValidationError():
            for error, position in found.group_exceptions()[0]:
                yield from _faults((*path, position.index), error)
        case _:
            yield from _fault(path, found)


def _fault(path: tuple[Step, ...], found: Exception) -> Iterator[WireFault]:
    match found:
        case _RefusedError(code=code, members=()):
            yield WireFault(path, code)
        case _RefusedError(code=code, members=members):
            yield from (WireFault((*path, member), code) for member in members)
        case ForbiddenExtraKeysError():
            yield WireFault(path, FaultCode.UNKNOWN_MEMBER)
        case ValueError():
            yield WireFault(path, FaultCode.DISAGREES)
        case _:  # a class of ours refuses with ValueError only: anything else is a bug, and is not hidden
            raise found


def _read_text(value: object, _: object) -> str:
    if type(value) is not str:
        raise _RefusedError(FaultCode.WRONG_TYPE)
    if not is_unicode(value):
        raise _RefusedError(FaultCode.NOT_UNICODE)
    return value


def _read_exactly(scalar: type[bool | int]) -> _Read:
    def read(value: object, _: object) -> object:
        if type(value) is not scalar:
            raise _RefusedError(FaultCode.WRONG_TYPE)
        return value

    return read


def _read_choice(choices: dict[str, object]) -> _Read:
    def read(value: object, _: object) -> object:
        if type(value) is not str:
            raise _RefusedError(FaultCode.WRONG_TYPE)
        if value not in choices:
            raise _RefusedError(FaultCode.NOT_A_CHOICE)
        return choices[value]

    return read


def _read_enum(enum: type[Enum]) -> _Read:
    return _read_choice({**enum_texts(enum)})


def _read_literal(literal: object) -> _Read:
    return _read_choice({text: text for text in get_args(literal)})


def _read_object(cls: type, converter: Converter) -> _Read:
    read_members = cast("_Read", make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True))
    needed = [each.name for each in fields(cls) if is_required(each)]

    def read(value: object, _: object) -> object:
        members = _members(value)
        missing = [name for name in needed if name not in members]
        if missing:
            raise _RefusedError(FaultCode.MISSING_MEMBER, *missing)
        return read_members(members, cls)

    return read


def _members(value: object) -> dict[str, object]:
    if type(value) is not dict:
        raise _RefusedError(FaultCode.WRONG_TYPE)
    return cast("dict[str, object]", value)


def _read_tuple(kind: object, converter: Converter) -> _Read:
    read_items = cast("_Read", homogenous_tuple_structure_factory(cast("type", kind), converter))

    def read(value: object, _: object) -> object:
        if type(value) is not list:
            raise _RefusedError(FaultCode.WRONG_TYPE)
        return read_items(cast("list[object]", value), kind)

    return read


def _read_union(kind: object, converter: Converter) -> _Read:
    inner = without_none(kind)
    if not is_union(inner):
        return _reader(inner, converter)
    members = {tag: (_read_object(member, converter), member) for tag, member in alternatives(inner).items()}
    read_tag = _read_choice({tag: tag for tag in members})

    def read(value: object, _: object) -> object:
        tagged = _members(value)
        if KIND not in tagged:
            raise _RefusedError(FaultCode.MISSING_MEMBER, KIND)
        read_member, member = members[cast("str", read_tag(tagged[KIND], str))]
        return read_member({name: part for name, part in tagged.items() if name != KIND}, member)

    return read


def _read_annotated(kind: object, converter: Converter) -> _Read:
    base, *marks = get_args(kind)
    read_base = _reader(base, converter)
    within = [_limit(mark) for mark in marks if is_constraint(mark)]

    def read(value: object, _: object) -> object:
        found = read_base(value, base)
        if not all(holds(found) for holds in within):
            raise _RefusedError(FaultCode.OUT_OF_LIMITS)
        return found

    return read


def _reader(kind: object, converter: Converter) -> _Read:
    return cast("_Read", converter.get_structure_hook(kind))


def _limit(constraint: Constraint) -> Callable[[Any], bool]:
    match constraint:
        case Text():
            return lambda text: matches(constraint, text)
        case Number(least, most):
            return lambda number: _between(number, least, most)
        case Items(most):
            return lambda items: _between(len(items), None, most)
        case _:  # pragma: no cover
            assert_never(constraint)


def _between(number: int, least: int | None, most: int | None) -> bool:
    return (least is None or least <= number) and (most is None or number <= most)


def _write_object(cls: type, converter: Converter) -> _Write:
    optional = {each.name: override(omit_if_default=True) for each in fields(cls) if each.default is None}
    return cast("_Write", make_dict_unstructure_fn(cls, converter, **cast("dict[str, Any]", optional)))


def _write_union(kind: object, converter: Converter) -> _Write:
    inner = without_none(kind)
    if not is_union(inner):
        return cast("_Write", converter.get_unstructure_hook(inner))
    members = {member: (tag, _write_object(member, converter)) for tag, member in alternatives(inner).items()}

    def write(value: object) -> object:
        tag, write_member = members[type(value)]
        return {KIND: tag, **cast("dict[str, object]", write_member(value))}

    return write


def _write_tuple(kind: object, converter: Converter) -> _Write:
    write_item = converter.get_unstructure_hook(get_args(kind)[0])
    return lambda items: [write_item(item) for item in items]


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _is_ranked(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, IntEnum)


def _is_object(kind: object) -> bool:
    return isinstance(kind, type) and has(kind)


def _comes_from(origin: object) -> Callable[[object], bool]:
    return lambda kind: get_origin(kind) is origin


def _converter() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    converter.register_structure_hook(str, _read_text)
    converter.register_structure_hook(bool, _read_exactly(bool))
    converter.register_structure_hook(int, _read_exactly(int))
    # By class, since the hook of ``int`` would be taken for every ``IntEnum``.
    converter.register_structure_hook(IntEnum, lambda value, enum: _read_enum(enum)(value, enum))
    converter.register_structure_hook_factory(_is_enum, _read_enum)
    converter.register_structure_hook_factory(_comes_from(Literal), _read_literal)
    converter.register_structure_hook_factory(_comes_from(tuple), _read_tuple)
    converter.register_structure_hook_factory(_comes_from(Annotated), _read_annotated)
    converter.register_structure_hook_factory(is_union, _read_union)
    converter.register_structure_hook_factory(_is_object, _read_object)
    converter.register_unstructure_hook_func(_is_ranked, lambda member: member.name.lower())
    converter.register_unstructure_hook_factory(_comes_from(tuple), _write_tuple)
    converter.register_unstructure_hook_factory(is_union, _write_union)
    converter.register_unstructure_hook_factory(_is_object, _write_object)
    return converter


_CONVERTER: Final = _converter()
