"""Templates of addresses, and the routes of writes.

Laws of this module:

- A segment stays in a template only when all recordings agree on it, and it neither looks like an id nor holds a value.
- A route is as narrow as its write needs to be told from the others, and no narrower.
- The name of a route is made of the route alone: what else was sent, and when, changes no name.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final, assert_never

from attrs import evolve, frozen

from surehand.core.workflow.compiler.texts import KnownTexts, looks_like_id, plain_text, slug
from surehand.core.workflow.recording import Exchange, Place
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, Operation, WriteRoute
from surehand.core.workflow.target import QueryPart

#: The methods and the forms of content that a route can have.
_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_CONTENT_TYPE: Final = re.compile("([a-z0-9.+-]+/[a-z0-9.+-]+)?")
_ANY: Final = "*"
#: How much of an address, and of an operation, a name holds.
_LONGEST_PART: Final = 32


@frozen
class RouteKey:
    """What tells kinds of writes apart within one recording."""

    method: str
    path: str
    query: tuple[QueryPart, ...]
    content_type: str
    operation: Operation | None


def is_structure(text: str, known: KnownTexts) -> bool:
    """Whether a decoded segment, member or fragment is the app's own word, and no id or value."""
    return not looks_like_id(text) and not known.in_text(text)


def segment_template(texts: tuple[str, ...], known: tuple[KnownTexts, ...]) -> str:
    """The one text that all recordings have, as written; ``*`` where it is none of the app's structure."""
    first = texts[0]
    plain = plain_text(first)
    agreed = all(text == first for text in texts) and all(is_structure(plain, each) for each in known)
    return first if agreed else _ANY


def path_template(paths: tuple[str, ...], known: tuple[KnownTexts, ...]) -> str | None:
    """The template of all paths; ``None`` where they have no common form."""
    split = [path.partition("?")[0].split("/") for path in paths]
    if len({len(segments) for segments in split}) != 1:
        return None
    return "/".join(segment_template(texts, known) if any(texts) else "" for texts in zip(*split, strict=True))


def route_key(exchange: Exchange, known: KnownTexts) -> RouteKey:
    """The kind of one write."""
    return RouteKey(
        exchange.method,
        path_template((exchange.place.path,), (known,)) or "/",
        query_template((exchange.place,), (known,)),
        media_type(exchange.content_type),
        operation_of(exchange, known),
    )


def query_template(places: tuple[Place, ...], known: tuple[KnownTexts, ...]) -> tuple[QueryPart, ...]:
    """The members that all places have, each once, by name; the value where it is structure, else any."""
    names = [part.name for part in places[0].query]
    common = sorted(name for name in set(names) if all(_values(place, name) for place in places))
    return tuple(
        QueryPart(name, _query_value(tuple(_values(place, name)[0] for place in places), known))
        for name in common
        if all(len(_values(place, name)) == 1 for place in places)
    )


def _values(place: Place, name: str) -> list[str]:
    return [part.value for part in place.query if part.name == name]


def _query_value(values: tuple[str, ...], known: tuple[KnownTexts, ...]) -> str:
    """A value that is a path, as some apps route by, has a template of its own."""
    if all(value.startswith("/") for value in values):
        return path_template(values, known) or _ANY
    return segment_template(values, known)


def media_type(content_type: str) -> str:
    """The content type without parameters."""
    return content_type.partition(";")[0].strip().lower()


def operation_of(exchange: Exchange, known: KnownTexts) -> Operation | None:
    """The operation in the body; the value of a form's field only where it is the app's own word."""
    operation = exchange.operation
    if isinstance(operation, FormField) and operation.value is not None and known.in_text(operation.value):
        return FormField(operation.name)
    return operation


def write_route(exchanges: tuple[Exchange, ...], known: tuple[KnownTexts, ...]) -> WriteRoute | None:
    """The route of one write of each recording, without its query; ``None`` where no route can say it."""
    first = exchanges[0]
    operations = {operation_of(exchange, each) for exchange, each in zip(exchanges, known, strict=True)}
    kinds = {(exchange.method, media_type(exchange.content_type)) for exchange in exchanges}
    path = path_template(tuple(exchange.place.path for exchange in exchanges), known)
    fits = first.method in _METHODS and _CONTENT_TYPE.fullmatch(media_type(first.content_type)) is not None
    if not fits or path is None or len(operations) > 1 or len(kinds) > 1:
        return None
    return WriteRoute(first.method, path, media_type(first.content_type), operation=operations.pop())


def told_apart(
    route: WriteRoute, places: tuple[Place, ...], others: Iterable[WriteRoute], known: tuple[KnownTexts, ...]
) -> WriteRoute:
    """The route, with the members of its query where another write to the same address needs them to be told apart."""
    same_address = any(
        (other.method, other.path, other.content_type) == (route.method, route.path, route.content_type)
        for other in others
    )
    return evolve(route, query=query_template(places, known)[:10]) if same_address else route


def route_name(route: WriteRoute) -> str:
    """The name of a route: its method, the end of its address, its operation, and a mark of everything in it."""
    members = [each.value for each in route.query if each.value != _ANY]
    place = f"{route.method} {path_words(route.path)} {' '.join(members)}"
    return marked_name(repr(route), place, operation_text(route.operation).rpartition("=")[2])


def path_words(path: str) -> str:
    """The last two segments of a path that are none of an id."""
    return " ".join([segment for segment in path.split("/") if segment not in {"", _ANY}][-2:])


def marked_name(exact: str, *parts: str) -> str:
    """A name of these parts, with four signs that tell it from others of the same parts."""
    names = [slug(part, "x")[:_LONGEST_PART].strip("_") for part in parts if part]
    return "_".join([*names, hashlib.sha256(exact.encode()).hexdigest()[:4]])


def operation_text(operation: Operation | None) -> str:
    """What is told of an operation."""
    match operation:
        case FormField(name=name, value=None) | GraphqlOperation(name=name):
            return name
        case FormField(name=name, value=value) | JsonMember(name=name, value=value):
            return f"{name}={value}"
        case GraphqlRead() | None:
            return ""
        case _:  # pragma: no cover
            assert_never(operation)


def only_queries(route: WriteRoute) -> bool:
    """Whether the route holds nothing but queries."""
    return isinstance(route.operation, GraphqlRead)
