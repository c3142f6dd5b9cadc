"""The answers of the tools: their schemas, their pages, and how large one may be.

Laws of this module:

- Every answer stays below one size, whatever is asked for: lists have a cursor, and a card says less before it is cut.
- A size is counted as it goes over the wire: ASCII, and twice, since clients read the text or the object.
- The contract is written out once, where a run is started; other tools name its members.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final, TypeVar

from attrs import evolve

from surehand.core.outcome.result import RunResult
from surehand.core.overview import RunReport, Unavailable, WorkflowOverview
from surehand.core.schema import json_schema
from surehand.core.wire import to_wire
from surehand.core.workflow.card import Card, fitting
from surehand.shell.mcp.frames import is_object
from surehand.shell.mcp.tools import Json, answer_text

#: Bytes of one answer on the wire, at most; and of one that an operator lets hold what stands in the bundles.
MAX_ANSWER_BYTES: Final = 24 * 1024
MAX_PROTECTED_BYTES: Final = 256 * 1024

#: What is left to the answer around a list.
_ROOM_FOR_LIST: Final = MAX_ANSWER_BYTES - 1024

#: Cards in one answer of ``list_workflows``.
MAX_CARDS_PER_PAGE: Final = 50

#: Stands before the id of an unavailable workflow in a cursor: after every name in the order of bytes.
_BEYOND_NAMES: Final = "~"

T = TypeVar("T")


def size_once(wire: Json) -> int:
    """The bytes of an object in one place."""
    return len(json.dumps(wire, separators=(",", ":"))) + 1


def wire_size(answer: Json) -> int:
    """The bytes of an object in both its places."""
    return size_once(answer) + len(json.dumps(answer_text(answer)))


def page(
    items: Iterable[T], wired: Callable[[T], Json], most: int, room: int, measure: Callable[[Json], int] = wire_size
) -> tuple[list[Json], bool]:
    """As many items as fit into one answer, at least one; and whether some are left.

    Args:
        items: What is listed, in order.
        wired: The wire form of one.
        most: The greatest number of them.
        room: The greatest number of bytes of them.
        measure: The bytes of one.
    """
    shown: list[Json] = []
    size = 0
    for item in items:
        wire = wired(item)
        size += measure(wire)
        if shown and (len(shown) == most or size > room):
            return shown, True
        shown.append(wire)
    return shown, False


def workflow_page(cards: Iterable[Card], unavailable: Iterable[Unavailable], after: str | None) -> Json:
    """One page of the workflows that are served, then of those that cannot be."""
    rows: list[tuple[str, Card | Unavailable]] = [(card.name, card) for card in cards]
    rows += [(_BEYOND_NAMES + each.id, each) for each in unavailable]
    left = sorted((row for row in rows if after is None or row[0] > after), key=lambda row: row[0])
    shown, more = page(left, lambda row: _row(row[1]), MAX_CARDS_PER_PAGE, _ROOM_FOR_LIST)
    refused = [wire for wire in shown if "problem" in wire]
    answer: Json = {"workflows": [wire for wire in shown if "problem" not in wire]}
    if refused:
        answer["unavailable"] = refused
    if more:
        answer["next_cursor"] = left[len(shown) - 1][0]
    return answer


def _row(item: Card | Unavailable) -> Json:
    return to_wire(item if isinstance(item, Unavailable) else fitting(item, _fits_page))


def _fits_page(card: Card) -> bool:
    return wire_size(to_wire(card)) <= _ROOM_FOR_LIST


def overview_answer(overview: WorkflowOverview) -> Json:
    """The answer of ``get_workflow``, its card shortened until it fits."""
    card = overview.card
    if card is None:
        return to_wire(overview)
    return to_wire(evolve(overview, card=fitting(card, lambda shown: _fits_overview(overview, shown))))


def _fits_overview(overview: WorkflowOverview, card: Card) -> bool:
    return wire_size(to_wire(evolve(overview, card=card))) <= _ROOM_FOR_LIST


def with_protected(answer: Json, protected: Json) -> Json:
    """The answer with what a trusted client may see, without its definition where that is too large."""
    whole: Json = {**answer, "protected": protected}
    if wire_size(whole) <= MAX_PROTECTED_BYTES:
        return whole
    kept = {name: value for name, value in protected.items() if name != "definition"}
    return {**answer, "protected": {**kept, "definition_left_out": True}}


@cache
def result_schema() -> Json:
    """The contract; the checks that an operator puts right are named in a result, and listed in the documentation."""
    schema = json_schema(RunResult)
    members = schema["properties"]
    if not is_object(members):
        raise AssertionError("a result is an object")
    return _lean({**schema, "properties": {**members, "failed_checks": _typed(members["failed_checks"])}})


@cache
def result_outline() -> Json:
    """The contract's members, closed and required as there; only what a caller decides by keeps its exact values.

    A client holds the whole list of tools in its model's context, so the contract is written out once.
    """
    return outline(result_schema(), exact=("run_id", "outcome", "record_changed", "safe_to_retry"))


@cache
def page_schema() -> Json:
    """One page of workflows."""
    return {
        "type": "object",
        "properties": {
            "workflows": {
                "type": "array",
                "items": outline(json_schema(Card), exact=()),
                "maxItems": MAX_CARDS_PER_PAGE,
            },
            "unavailable": {"type": "array", "items": {"type": "object"}},
            "next_cursor": {"type": "string"},
        },
        "required": ["workflows"],
        "additionalProperties": False,
    }


@cache
def overview_schema(*, protected: bool) -> Json:
    """The answer of ``get_workflow``."""
    return _with_protected(outline(json_schema(WorkflowOverview), exact=("id", "available", "ready")), protected)


@cache
def report_schema(*, protected: bool) -> Json:
    """The answer of ``get_run_report``."""
    return _with_protected(outline(json_schema(RunReport), exact=("run_id", "current_version")), protected)


@cache
def older_schema() -> Json:
    """The answer of a deprecated tool: the contract, and the one word that its callers know."""
    text: Json = {"type": "string"}
    return {"type": "object", "properties": {"status": text, "outcome": text}, "required": ["status", "outcome"]}


def _with_protected(schema: Json, protected: bool) -> Json:
    members = schema["properties"]
    if not protected or not is_object(members):
        return schema
    return {**schema, "properties": {**members, "protected": {"type": "object"}}}


def outline(schema: Json, exact: tuple[str, ...]) -> Json:
    """A closed object's schema with the types of its members, and more than that only for the exact ones."""
    members = schema["properties"]
    if not is_object(members):
        raise AssertionError("only an object has an outline")
    return {**schema, "properties": {name: sub if name in exact else _typed(sub) for name, sub in members.items()}}


def _lean(value: Json) -> Json:
    """The same schema in fewer bytes: a list of texts needs no type beside it."""
    lean = {name: _lean(inner) if is_object(inner) else inner for name, inner in value.items()}
    if isinstance(lean.get("enum"), list):
        lean.pop("type", None)
    return lean


def _typed(schema: object) -> Json:
    if not is_object(schema):
        raise AssertionError("a member's schema is an object")
    typed: Json = {"type": schema.get("type", "string")}
    return {**typed, "items": _typed(schema["items"])} if "items" in schema else typed
