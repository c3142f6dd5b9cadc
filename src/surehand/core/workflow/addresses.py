"""Where inputs stand in addresses: from the templates of a bundle to what one run opens, compares and reads.

Laws of this module:

- A value stands as one piece, percent-encoded: it never adds a segment, a member of a query, or a ``*``.
- A value that would be read as another address (a dot segment, a separator, a ``*`` for any value) fits nowhere.
  It is told before anything is opened, and never cleaned.
- A template that names no input is the address itself.
- Whether two templates can be of one address is judged without the inputs: in doubt they can.
"""

import re
from collections.abc import Mapping
from typing import Final, assert_never

from attrs import evolve

from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageField, PageRecords, RecordPage, Source
from surehand.core.workflow.target import Constant, PageGate, QueryPart, Target, Value

#: The place of an input in a template.
PLACE: Final = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")

_UNRESERVED: Final = re.compile(r"[^A-Za-z0-9_.~-]")
_SEPARATORS: Final = re.compile(r"[/\\]")

Inputs = Mapping[str, str]


def intended_text(value: Value, inputs: Inputs) -> str:
    """The text of a value: a constant, or an input; an input that was left out is the empty text."""
    return value.text if isinstance(value, Constant) else inputs.get(value.name, "")


def names_in(template: str) -> set[str]:
    """The inputs that have a place in a template."""
    return set(PLACE.findall(template))


def has_stray_brace(template: str) -> bool:
    """Whether a brace in a template is no place of an input."""
    return re.search("[{}]", PLACE.sub("", template)) is not None


def segments(template: str) -> list[str]:
    """The pieces of a path or fragment, without the query behind it."""
    return template.partition("?")[0].split("/")


def gates_meet(one: PageGate, other: PageGate) -> bool:
    """Whether some page can pass both gates, as far as its address says. What an input decides may be anything."""
    paths = _can_equal(segments(one.path), segments(other.path))
    wanted = {part.name: part.value for part in other.query}
    queries = all(_values_meet(part.value, wanted.get(part.name, "*")) for part in one.query)
    return paths and queries and _fragments_meet(one.fragment, other.fragment)


def _fragments_meet(one: str | None, other: str | None) -> bool:
    return one is None or other is None or _can_equal(segments(one), segments(other))


def _values_meet(one: str, other: str) -> bool:
    return "*" in (one, other) or _can_equal(one.split("/"), other.split("/"))


def _can_equal(one: list[str], other: list[str]) -> bool:
    """Whether two templates, piece by piece, can be of one text."""
    return len(one) == len(other) and all(a == b or _is_open(a) or _is_open(b) for a, b in zip(one, other, strict=True))


def _is_open(piece: str) -> bool:
    return piece == "*" or PLACE.search(piece) is not None


def with_open_places(route: WriteRoute) -> WriteRoute:
    """The route with everything left open that an input decides."""
    path = "/".join("*" if PLACE.search(piece) else piece for piece in segments(route.path))
    query = tuple(evolve(part, value="*") if PLACE.search(part.value) else part for part in route.query)
    return evolve(route, path=path, query=query)


def path_fits(template: str, inputs: Inputs) -> bool:
    """Whether the values of a path (or fragment), and of the query behind it, leave it the address that it is."""
    path = template.partition("?")[0]
    values = [inputs[name] for name in names_in(path)]
    dots = {".", ".."} & set(path_at(path, inputs).split("/"))
    return all(values) and not any(map(_SEPARATORS.search, values)) and not dots


def query_fits(part: QueryPart, inputs: Inputs) -> bool:
    """Whether the value of a member of a query, once put in, still means what it meant.

    Nothing more is left open, and a value that is a path stays that path.
    """
    wanted, given = part.value.split("/"), text_at(part.value, inputs).split("/")
    moves = len(given) > 1 and not {".", ".."}.isdisjoint(given)
    return len(given) == len(wanted) and given.count("*") == wanted.count("*") and not moves


def text_at(template: str, inputs: Inputs) -> str:
    """The template with the values of its inputs, as they are."""
    return PLACE.sub(lambda place: inputs[place[1]], template)


def path_at(template: str, inputs: Inputs) -> str:
    """The template with the values of its inputs, percent-encoded."""
    return PLACE.sub(lambda place: _encoded(inputs[place[1]]), template)


def _encoded(value: str) -> str:
    return _UNRESERVED.sub(lambda character: "".join(f"%{byte:02X}" for byte in character[0].encode()), value)


def named_at(target: Target, inputs: Inputs) -> Target:
    """The target with the values of the inputs that its name holds, as they are."""
    return evolve(target, name=text_at(target.name, inputs)) if PLACE.search(target.name) else target


def target_at(target: Target, inputs: Inputs) -> Target:
    """The target with its name, and its row as a constant."""
    named = named_at(target, inputs)
    return named if target.row is None else evolve(named, row=Constant(intended_text(target.row, inputs)))


def gate_at(gate: PageGate, inputs: Inputs) -> PageGate:
    """The gate of one run."""
    return evolve(
        gate,
        path=path_at(gate.path, inputs),
        landmark=target_at(gate.landmark, inputs),
        query=_query_at(gate.query, inputs),
        fragment=None if gate.fragment is None else path_at(gate.fragment, inputs),
    )


def route_at(route: WriteRoute, inputs: Inputs) -> WriteRoute:
    """The route of one run."""
    return evolve(route, path=path_at(route.path, inputs), query=_query_at(route.query, inputs))


def source_at(source: Source, inputs: Inputs) -> Source:
    """The source of one run."""
    match source:
        case JsonRecords(path=path, detail=detail):
            return evolve(
                source, path=path_at(path, inputs), detail=None if detail is None else path_at(detail, inputs)
            )
        case PageRecords(path=path, link=link):
            return evolve(
                source,
                path=path_at(path, inputs),
                landmark=target_at(source.landmark, inputs),
                link=path_at(link, inputs),
                record=gate_at(source.record, inputs),
                fields=_fields_at(source.fields, inputs),
            )
        case RecordPage(path=path):
            return evolve(
                source,
                path=path_at(path, inputs),
                record=gate_at(source.record, inputs),
                fields=_fields_at(source.fields, inputs),
            )
        case DatabaseRecords():
            return source
        case _:  # pragma: no cover
            assert_never(source)


def _query_at(query: tuple[QueryPart, ...], inputs: Inputs) -> tuple[QueryPart, ...]:
    return tuple(evolve(part, value=text_at(part.value, inputs)) for part in query)


def _fields_at(fields: tuple[PageField, ...], inputs: Inputs) -> tuple[PageField, ...]:
    return tuple(evolve(field, target=target_at(field.target, inputs)) for field in fields)
