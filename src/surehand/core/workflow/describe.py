"""A workflow told to a person, step by step, and what two versions of it differ in.

Laws of this module:

- Everything that a run would enter, click, send, let pass and compare is told; what is not told is not done.
- It holds no value but the constants that a person confirmed: a bundle has no others.
- A name out of an app stands in quotation marks, and a character that a terminal would obey is written out.
- Two bundles without a difference are the same bundle.
"""

from collections.abc import Iterator, Mapping
from typing import Final, assert_never, cast

from attrs import frozen

from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChooseStep,
    ClickStep,
    DateForm,
    DialogAnswer,
    Effect,
    FillStep,
    IdentityField,
    OpenStep,
    ReadField,
    Step,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, Operation, WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageRecords, RecordPage, Source
from surehand.core.workflow.target import Constant, PageGate, QueryPart, Target, TargetKind, Value


@frozen
class Section:
    """A heading and its lines."""

    title: str
    lines: tuple[str, ...]


@frozen
class Difference:
    """One place of two bundles: what stands there in the first and in the second; ``None`` where nothing does."""

    place: str
    before: str | None
    after: str | None


def describe(bundle: Bundle) -> tuple[Section, ...]:
    """What the workflow does, in the order in which a run does it."""
    return (
        Section("Inputs", tuple(map(_parameter, bundle.parameters)) or ("none",)),
        Section("App", bundle.origins or ("where the server says",)),
        Section("Steps", tuple(_step(step) for step in bundle.steps)),
        Section("Before the save it checks that the page shows", tuple(map(_identity, bundle.identity))),
        Section("Save", tuple(_save(bundle))),
        Section("Read-back", tuple(_read_back(bundle))),
        Section("Other requests and guards", tuple(_others(bundle)) or ("none",)),
    )


def _parameter(parameter: Parameter) -> str:
    needed = "required" if parameter.required else "may be left out"
    measured = parameter.type in (ParameterType.LINE, ParameterType.TEXT, ParameterType.IDENTIFIER)
    limits = {
        "one of": ", ".join(map(quoted, parameter.choices)),
        "at least": parameter.minimum,
        "at most": parameter.maximum,
        "matches": quoted(parameter.pattern) if parameter.pattern else None,
        "characters": f"{parameter.min_length} to {parameter.max_length}" if measured else None,
    }
    told = "".join(f"; {name} {limit}" for name, limit in limits.items() if limit)
    return f"{parameter.name}: {parameter.type.value}, {needed}{told}"


def _step(step: Step) -> str:
    if isinstance(step, OpenStep):
        behind = "" if step.fragment is None else f"#{_plain(step.fragment)}"
        return f"{step.id}: open {_plain(step.path)}{behind}"
    return f"{step.id}: on {_page(step.page)}, {_act(step)}{_optional(step)}"


def _act(step: FillStep | ChooseStep | CheckStep | ClickStep) -> str:
    match step:
        case FillStep():
            ended = f", then press {step.then.value}" if step.then else ""
            typed = f"{step.entry.value} {_target(step.target)} with {_value(step.value)}{_dated(step.form)}"
            return f"{typed}{ended}{_not_saved(step)}"
        case ChooseStep():
            return f"choose {_value(step.value)} in {_target(step.target)} ({step.control.value}){_not_saved(step)}"
        case CheckStep():
            return f"set {_target(step.target)} to {_value(step.value)}{_not_saved(step)}"
        case ClickStep():
            return f"click {_target(step.target)}{_dialog(step.dialog)}"
        case _:  # pragma: no cover
            assert_never(step)


def _not_saved(step: FillStep | ChooseStep | CheckStep) -> str:
    return "" if step.part_of_record else " (not part of the record)"


def _optional(step: FillStep | ChooseStep | CheckStep | ClickStep) -> str:
    return ", which a person may leave out where the run stops at it" if step.optional else ""


def _dialog(answer: DialogAnswer | None) -> str:
    return "" if answer is None else f", and {answer.value} the dialog that opens"


def _dated(form: DateForm) -> str:
    return "" if form is DateForm.ISO else f" as {form.value}"


def _identity(item: IdentityField) -> str:
    unique = ", which no other record has" if item.unique else ""
    return f"{_value(item.expected)}{_dated(item.form)} in {_target(item.target)} ({item.rule.value}){unique}"


def _save(bundle: Bundle) -> Iterator[str]:
    save = bundle.save
    yield f"{save.id}: on {_page(save.page)}, click {_target(save.target)}{_dialog(save.dialog)}"
    yield f"lets pass one {_route(save.route)}"


def _read_back(bundle: Bundle) -> Iterator[str]:
    read = bundle.read_back
    made = "a new record" if read.effect is Effect.CREATE else "the record that was there before"
    yield f"{made}, read from {_source(read.source)}"
    yield f"the check is {read.level.name.lower()}; {read.minimum.name.lower()} is the least that counts as done"
    yield from (f"the record is the one with {_read(item)}" for item in read.identity)
    yield from (f"compares {_read(item)}" for item in read.written)
    yield f"waits {read.deadline_ms} ms for it, and looks every {read.interval_ms} ms"
    yield from (f"lets {quoted(name)} change" for name in read.may_change)


def _read(item: ReadField) -> str:
    return f"{quoted(item.name)} = {_value(item.expected)}{_dated(item.form)} ({item.rule.value})"


def _others(bundle: Bundle) -> Iterator[str]:
    yield from (f"lets pass as harmless {_route(route)}" for route in bundle.harmless_writes)
    yield from (f"holds back {_route(route)}" for route in bundle.blocked_writes)
    yield from (f"lets the app open a WebSocket at {_plain(path)}" for path in bundle.sockets)
    yield from (f"stops when {quoted(name)} changed since the page was loaded" for name in bundle.guards)
    if bundle.business_key:
        names = ", ".join(map(quoted, bundle.business_key))
        yield f"stops when a record is there already with the same {names}"


def _source(source: Source) -> str:
    match source:
        case JsonRecords():
            each = f", each at {_plain(source.detail)}" if source.detail else ""
            listed = f"the list {quoted(source.items)} of " if source.items else ""
            return f"{listed}the JSON at {_plain(source.path)}, by {quoted(source.key)}{each}"
        case PageRecords():
            fields = ", ".join(f"{quoted(item.name)} in {_target(item.target)}" for item in source.fields)
            listed = f"the page {_plain(source.path)} with {_target(source.landmark)}"
            return f"{listed}, whose links {_plain(source.link)} lead to {_page(source.record)}: {fields}"
        case RecordPage():
            fields = ", ".join(f"{quoted(item.name)} in {_target(item.target)}" for item in source.fields)
            return f"the page {_plain(source.path)}, {_page(source.record)}: {fields}"
        case DatabaseRecords():
            return f"the view {source.view} of the database {source.connection}, by {source.key}"
        case _:  # pragma: no cover
            assert_never(source)


def _page(page: PageGate) -> str:
    fragment = "" if page.fragment is None else f"#{_plain(page.fragment)}"
    return f"the page {_plain(page.path)}{_query(page.query)}{fragment} with {_target(page.landmark)}"


def _query(query: tuple[QueryPart, ...]) -> str:
    return "?" * bool(query) + "&".join(f"{_plain(part.name)}={_plain(part.value)}" for part in query)


def _target(target: Target) -> str:
    kind = {
        TargetKind.ROLE: target.role,
        TargetKind.ATTRIBUTE: f"the element whose {target.attribute} is",
        TargetKind.TEST_ID: "the element with the test id",
        TargetKind.LABEL: "the field labelled",
        TargetKind.CAPTION: "the field beside",
    }[target.kind]
    row = "" if target.row is None else f" in the row of {_value(target.row)}"
    within = "" if target.within is None else f" in the open {target.within.value}"
    frame = "" if target.frame is None else f" in the frame {quoted(target.frame)}"
    return f"{kind} {quoted(target.name)}{row}{within}{frame}"


def _route(route: WriteRoute) -> str:
    told = f"{route.method} to {route.origin or ''}{_plain(route.path)}{_query(route.query)}"
    kind = f" as {route.content_type}" if route.content_type else " without a body"
    return f"{told}{kind}{_operation(route.operation)}"


def _operation(operation: Operation | None) -> str:
    match operation:
        case None:
            return ""
        case GraphqlOperation():
            return f", the GraphQL operation {quoted(operation.name)}"
        case GraphqlRead():
            return ", a GraphQL query that only reads"
        case FormField():
            value = "" if operation.value is None else f" = {quoted(operation.value)}"
            return f", a form with {quoted(operation.name)}{value}"
        case JsonMember():
            return f", JSON with {quoted(operation.name)} = {quoted(operation.value)}"
        case _:  # pragma: no cover
            assert_never(operation)


def _value(value: Value) -> str:
    return f"the constant {quoted(value.text)}" if isinstance(value, Constant) else f"the input {value.name}"


def quoted(text: str) -> str:
    """A text in quotation marks, fit for a terminal."""
    return f"“{_plain(text)}”"


def _plain(text: str) -> str:
    """The text with every character written out that is not shown as itself; two texts are never told alike."""
    return "".join(map(_character, text))


def _character(each: str) -> str:
    if each.isprintable() and each != "\\":
        return each
    return f"\\u{ord(each):04x}" if ord(each) <= _LAST_OF_FOUR_DIGITS else f"\\U{ord(each):08x}"


_LAST_OF_FOUR_DIGITS: Final = 0xFFFF


# Differences

#: The member that tells the items of a list apart, where there is one; elsewhere it is their place in the list.
_TELLING: Final = ("id", "name")


def differences(before: Bundle, after: Bundle) -> tuple[Difference, ...]:
    """What two bundles differ in, place by place; none when they are the same."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    old, new = (dict(_leaves("", to_wire(bundle))) for bundle in (before, after))
    places = [*old, *(place for place in new if place not in old)]
    return tuple(
        Difference(place, old.get(place), new.get(place)) for place in places if old.get(place) != new.get(place)
    )


def _leaves(place: str, value: object) -> Iterator[tuple[str, str]]:
    """Every leaf of a value by its place; of a list also the order of its items."""
    if isinstance(value, dict):
        for name, member in cast("Mapping[str, object]", value).items():
            yield from _leaves(f"{place}.{name}" if place else name, member)
    elif isinstance(value, list):
        items = _named_items(cast("list[object]", value))
        if items:
            yield f"{place}[]", ", ".join(items)
        for name, item in items.items():
            yield from _leaves(f"{place}[{name}]", item)
    else:
        yield place, quoted(value) if isinstance(value, str) else str(value).lower()


def _named_items(items: list[object]) -> dict[str, object]:
    """The items of a list by what tells them apart."""
    for member in _TELLING:
        names = [cast("Mapping[str, object]", item).get(member) for item in items if isinstance(item, dict)]
        texts = {_plain(name): item for name, item in zip(names, items, strict=False) if isinstance(name, str)}
        if len(texts) == len(items):
            return texts
    return {str(place): item for place, item in enumerate(items, 1)}
