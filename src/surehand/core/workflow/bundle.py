"""The bundle: a compiled workflow as closed data.

Laws of this module:

- A bundle holds structure, never a typed value: what is entered comes from inputs, or is a constant that a person
  confirmed.
- Targets are exact: there is no index, no coordinate, no CSS path and no second choice.
- A bundle that could save without an identity check or without a read-back cannot be made.
- Every part of the record that a run enters is compared by the read-back; every declared input is used.
- An address holds no more of an input than its place, and only where the input is never empty.
- Which write saves, which is let through and which is held back can always be told apart.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from enum import Enum, unique
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Final, assert_never

from attrs import evolve, field, frozen
from returns.result import Result

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.addresses import (
    PLACE,
    gates_meet,
    has_stray_brace,
    names_in,
    segments,
    with_open_places,
)
from surehand.core.workflow.fence import overlaps, parse_origin
from surehand.core.workflow.params import Parameter, ParameterType, is_date, is_decimal
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import (
    DatabaseRecords,
    JsonRecords,
    MemberName,
    PageRecords,
    RecordPage,
    Source,
)
from surehand.core.workflow.target import (
    Constant,
    Fragment,
    FromInput,
    Identifier,
    OriginText,
    PageGate,
    Path,
    QueryPart,
    Target,
    TargetKind,
    Value,
)


@unique
class Rule(Enum):
    """How a read value is compared with the intended one; closed, one per kind of value.

    identifier: exact characters. text: NFC and newline form. date: calendar date. decimal: numeric value.
    choice: exact option.
    """

    IDENTIFIER = "identifier"
    TEXT = "text"
    DATE = "date"
    DECIMAL = "decimal"
    CHOICE = "choice"


@unique
class Entry(Enum):
    """How a text gets into a field: set at once, or key by key after the field was emptied."""

    REPLACE = "replace"
    TYPE = "type"


@unique
class Key(Enum):
    """A key that is pressed in a field after its text, where the app takes the text only then."""

    ENTER = "enter"
    TAB = "tab"
    ESCAPE = "escape"


@unique
class DateForm(Enum):
    """How an app writes a calendar date; inputs are always ISO."""

    ISO = "yyyy-mm-dd"
    DAY_MONTH_SLASH = "dd/mm/yyyy"
    MONTH_DAY_SLASH = "mm/dd/yyyy"
    DAY_MONTH_DOT = "dd.mm.yyyy"
    DAY_MONTH_DASH = "dd-mm-yyyy"


@unique
class DialogAnswer(Enum):
    """How the one native dialog that a click opens was answered in the recording."""

    ACCEPT = "accept"
    DISMISS = "dismiss"


@unique
class ChoiceControl(Enum):
    """What an option is chosen from.

    select: a native list, which is the target. radio: a group of radio buttons, all of which the target matches.
    list: a list that opens when the target is clicked.
    """

    SELECT = "select"
    RADIO = "radio"
    LIST = "list"


@unique
class SearchBy(Enum):
    """What of a label is typed to search a list for it; words are runs of letters and digits."""

    WHOLE = "whole"
    FIRST_WORD = "first_word"
    LAST_WORD = "last_word"


@frozen
class OpenStep:
    """Open a path of the app; ``{name}`` in it, and in what follows its ``#``, is an input's value, percent-encoded."""

    id: Identifier
    path: Path
    fragment: Fragment | None = None


@frozen
class FillStep:
    """Enter a text into a field, leave it, and read it back from the field.

    ``form`` is how the app writes a date. ``shown`` is where the text stands once the key after it was pressed, when
    the field does not hold it any more. ``part_of_record`` is false for what is not saved, such as a search.
    ``optional``, of this and the following kinds, is true where a person confirmed that a run which stops at the step
    may go on without it; it is left out anywhere else.
    """

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    rule: Rule
    entry: Entry = Entry.REPLACE
    then: Key | None = None
    form: DateForm = DateForm.ISO
    part_of_record: bool = True
    shown: Target | None = None
    optional: bool | None = None


@frozen
class ChooseStep:
    """Choose the option with exactly this label.

    ``search`` says what is typed first, where a list fetches its options only then. ``shown`` is where a list
    shows what was chosen, when the target itself does not.
    """

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    control: ChoiceControl = ChoiceControl.SELECT
    search: SearchBy | None = None
    shown: Target | None = None
    part_of_record: bool = True
    optional: bool | None = None


@frozen
class CheckStep:
    """Set a box to checked (``true``) or not (``false``)."""

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    part_of_record: bool = True
    optional: bool | None = None


@frozen
class ClickStep:
    """Click something that does not save."""

    id: Identifier
    page: PageGate
    target: Target
    dialog: DialogAnswer | None = None
    optional: bool | None = None


EnteringStep = FillStep | ChooseStep | CheckStep
Step = OpenStep | FillStep | ChooseStep | CheckStep | ClickStep


@frozen
class SaveStep:
    """The one click that saves, and the one write that it makes."""

    id: Identifier
    page: PageGate
    target: Target
    route: WriteRoute
    dialog: DialogAnswer | None = None


@frozen
class IdentityField:
    """One field that shows which record is open."""

    target: Target
    expected: Value
    rule: Rule
    unique: bool
    form: DateForm = DateForm.ISO


@frozen
class ReadField:
    """One field of a record as the read-back channel names it, with what it must hold.

    ``form`` is how the channel writes a date.
    """

    name: MemberName
    expected: Value
    rule: Rule
    form: DateForm = DateForm.ISO


@unique
class Effect(Enum):
    """What the save does to the records: makes one, or changes the one that the identity names."""

    CREATE = "create"
    UPDATE = "update"


@frozen
class ReadBack:
    """How the record is read from another channel.

    ``identity`` says which records belong to the intended one (the page of one record does so by its address),
    ``written`` what the run writes; each is compared in full. ``may_change`` names members that may differ between the
    two reads without meaning anything (a version, a time of change).
    """

    level: CheckLevel
    minimum: CheckLevel
    source: Source
    identity: Annotated[tuple[ReadField, ...], Items(max_items=20)]
    written: Annotated[tuple[ReadField, ...], Items(max_items=100)]
    deadline_ms: Annotated[int, Number(minimum=0, maximum=600_000)]
    interval_ms: Annotated[int, Number(minimum=10, maximum=60_000)]
    effect: Effect = Effect.CREATE
    may_change: Annotated[tuple[MemberName, ...], Items(max_items=20)] = field(default=())


if TYPE_CHECKING:
    from surehand.core.wire import WireFault

#: The rule of each kind of input; the exact rule fits every kind.
RULES: Final[dict[ParameterType, Rule]] = {
    ParameterType.LINE: Rule.TEXT,
    ParameterType.TEXT: Rule.TEXT,
    ParameterType.IDENTIFIER: Rule.IDENTIFIER,
    ParameterType.DATE: Rule.DATE,
    ParameterType.DECIMAL: Rule.DECIMAL,
    ParameterType.CHOICE: Rule.CHOICE,
}

#: The kinds of input whose text is never empty, whatever lengths are declared.
_NEVER_EMPTY: Final = frozenset({ParameterType.DATE, ParameterType.DECIMAL, ParameterType.CHOICE})
#: Fields that show which record is open: a name alone is shared by two people.
_LEAST_IDENTITY: Final = 2
#: What a box holds.
_BOX: Final = {"true", "false"}


@frozen(kw_only=True)
class Bundle:
    """A compiled workflow.

    ``origins`` are the app's own, the first with its pages; empty where the server says where the app is. Before the
    save, ``harmless_writes`` pass and ``blocked_writes`` are held back without stopping the run; ``sockets`` are paths
    of WebSockets that may be opened; a person confirmed each. ``guards`` names members of the read-back's records that
    the save could put back to what they were when the page was loaded: they are read before anything is opened, and
    again directly before the save. ``business_key`` names members that, all equal in a record that is there already,
    say that the work was done before.

    Raises:
        ValueError: A rule of the bundle is broken; the message names the rule and no value.
    """

    schema: Annotated[str, Text(pattern="^surehand.bundle/v1$")] = field(default="surehand.bundle/v1")
    workflow: Identifier
    title: Annotated[str, Text(min_length=1, max_length=80)]
    parameters: Annotated[tuple[Parameter, ...], Items(max_items=50)]
    steps: Annotated[tuple[Step, ...], Items(max_items=200)]
    identity: Annotated[tuple[IdentityField, ...], Items(max_items=20)]
    save: SaveStep
    read_back: ReadBack
    origins: Annotated[tuple[OriginText, ...], Items(max_items=5)] = field(default=())
    harmless_writes: Annotated[tuple[WriteRoute, ...], Items(max_items=20)] = field(default=())
    blocked_writes: Annotated[tuple[WriteRoute, ...], Items(max_items=20)] = field(default=())
    sockets: Annotated[tuple[Path, ...], Items(max_items=5)] = field(default=())
    guards: Annotated[tuple[MemberName, ...], Items(max_items=20)] = field(default=())
    business_key: Annotated[tuple[MemberName, ...], Items(max_items=5)] = field(default=())

    def __attrs_post_init__(self) -> None:
        """Refuse a bundle that could enter less than its inputs, save unproven, or save twice."""
        broken = next((rule for rule, holds in _rules(self) if not holds), None)
        if broken is not None:
            raise ValueError(broken)


def parse_bundle(data: object) -> "Result[Bundle, tuple[WireFault, ...]]":
    """Read a bundle from parsed JSON, strictly.

    Args:
        data: What ``json.loads`` gave.

    Returns:
        The bundle, or every fault that was found; a broken rule of the bundle as a whole is the fault ``DISAGREES``.
    """
    from surehand.core.wire import from_wire  # noqa: PLC0415 - the converter is costly to import

    return from_wire(data, Bundle)


def bundle_digest(bundle: Bundle) -> str:
    """SHA-256, in hexadecimal, of the bundle's canonical JSON: sorted members, no blanks, UTF-8."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    text = json.dumps(to_wire(bundle), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def entered_on_save_page(bundle: Bundle) -> tuple[EnteringStep, ...]:
    """The steps that enter a part of the record on the page that saves; of several that show in one place, the last.

    Two gates that one page can pass count as one page.
    """
    last: dict[Target, EnteringStep] = {}
    for step in _recorded(bundle):
        if gates_meet(step.page, bundle.save.page):
            place = (None if isinstance(step, CheckStep) else step.shown) or step.target
            last.pop(place, None)
            last[place] = step
    return tuple(last.values())


def addresses(bundle: Bundle) -> tuple[tuple[str, ...], tuple[QueryPart, ...]]:
    """The addresses in which inputs may stand: paths and fragments as templates, and members of queries."""
    gates, source = [*_gates(bundle)], bundle.read_back.source
    places: list[PageGate | WriteRoute] = [*gates, bundle.save.route]
    opened = [path for step in bundle.steps if isinstance(step, OpenStep) for path in _opened(step)]
    read = [] if isinstance(source, DatabaseRecords) else [source.path, *_record_paths(source)]
    fragments = [gate.fragment for gate in gates if gate.fragment is not None]
    paths = (*opened, *read, *fragments, *(place.path for place in places))
    return paths, tuple(part for place in places for part in place.query)


def _opened(step: OpenStep) -> tuple[str, ...]:
    """The templates of an opened address: its path, and what follows the ``#``."""
    return (step.path,) if step.fragment is None else (step.path, step.fragment)


def _record_paths(source: Source) -> list[str]:
    """The templates of the places that show one record each, ``*`` being its key."""
    match source:
        case JsonRecords(detail=detail):
            return [] if detail is None else [detail]
        case PageRecords(link=link):
            return [link]
        case RecordPage() | DatabaseRecords():
            return []
        case _:  # pragma: no cover
            assert_never(source)


# The rules


def _rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules of a bundle in the order in which they may be checked, each with whether it holds."""
    declared = {parameter.name: parameter for parameter in bundle.parameters}
    used = _names([*_rows(bundle), *_entered(bundle), *(item.expected for item in bundle.identity)]) | _placed(bundle)
    named = used | _names([value for value, _ in _compared(bundle)])
    steps = [*bundle.steps, bundle.save]
    yield "an input is declared twice", len(declared) == len(bundle.parameters)
    yield "an input is used that is not declared", named <= declared.keys()
    yield "a step id is repeated", len({step.id for step in steps}) == len(steps)
    yield "a role target has a role, and no other has", all(map(_role_fits, _targets(bundle)))
    yield "an attribute target has an attribute, and no other has", all(map(_attribute_fits, _targets(bundle)))
    yield "a rule does not fit the kind of its value", all(_rule_fits(declared, *pair) for pair in _compared(bundle))
    yield "a value that finds or names a record may be empty", all(_given(declared, value) for value in _naming(bundle))
    yield from _step_rules(bundle, declared)
    yield from _address_rules(bundle)
    yield from _proof_rules(bundle)
    yield from _member_rules(bundle)
    yield from _effect_rules(bundle)
    yield "a declared input is neither entered nor checked", used >= declared.keys()


def _step_rules(bundle: Bundle, declared: dict[str, Parameter]) -> Iterator[tuple[str, bool]]:
    """The rules of what single steps enter."""
    fills = [step for step in bundle.steps if isinstance(step, FillStep)]
    choices = [step for step in bundle.steps if isinstance(step, ChooseStep)]
    boxes = [step.value for step in bundle.steps if isinstance(step, CheckStep)]
    read = (*bundle.read_back.identity, *bundle.read_back.written)
    dated: list[FillStep | IdentityField | ReadField] = [*fills, *bundle.identity, *read]
    yield "a form of dates stands beside another rule", all(_form_fits(item.rule, item.form) for item in dated)
    yield "a key that breaks lines follows a text of several lines", not any(_breaks(declared, step) for step in fills)
    yield "only a list is searched, or shows its choice elsewhere", all(map(_control_fits, choices))
    yield "a text that no key takes is shown elsewhere", all(step.then or not step.shown for step in fills)
    yield "a box is neither true nor false", all(_is_box(declared, value) for value in boxes)
    optional = [step for step in bundle.steps if not isinstance(step, OpenStep) and step.optional is not None]
    yield "a step that is not optional says so", all(step.optional for step in optional)
    yield "a part of the record is optional", not any(step in _recorded(bundle) for step in optional)


def _address_rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules of where the app is, which addresses are opened, and which requests pass."""
    source, confirmed = bundle.read_back.source, (*bundle.harmless_writes, *bundle.blocked_writes)
    paths, _ = addresses(bundle)
    single = [path for step in bundle.steps if isinstance(step, OpenStep) for path in _opened(step)]
    single += [] if isinstance(source, DatabaseRecords) else [source.path]
    fixed = [*bundle.sockets, *(route.path for route in confirmed)]
    fixed += [part.value for route in confirmed for part in route.query]
    yield "a brace in an address is no place of an input", not any(map(has_stray_brace, [*paths, *bundle.sockets]))
    yield "an input has a place in what a person confirmed", not any(map(PLACE.search, fixed))
    yield "an opened address has a segment left open", not any("*" in segments(path) for path in single)
    yield (
        "a record's own address has not one place for its key",
        all(path.count("*") == 1 for path in _record_paths(source)),
    )
    yield "a member of a query is named twice", all(map(_is_once, _queries(bundle)))
    yield "an origin is not canonical", all(str(parse_origin(origin)) == origin for origin in bundle.origins)
    yield "an origin is named twice", _is_once(bundle.origins)
    routes = (bundle.save.route, *confirmed)
    yield "a write goes to another origin", all(route.origin in {None, *bundle.origins} for route in routes)
    kinds = ((with_open_places(bundle.save.route),), bundle.harmless_writes, bundle.blocked_writes)
    yield (
        "writes of two kinds cannot be told apart",
        not any(overlaps(one, other) for left, right in combinations(kinds, 2) for one in left for other in right),
    )


def _proof_rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules without which a save could not be proven."""
    shown, read = bundle.identity, bundle.read_back
    written = {item.expected for item in read.written}
    yield "the identity has fewer than two fields", len({item.target for item in shown}) >= _LEAST_IDENTITY
    yield "no identity field is unique", any(item.unique for item in shown)
    yield "the read-back proves nothing", CheckLevel.UNCHECKED not in (read.level, read.minimum)
    yield "the read-back is weaker than the workflow asks for", read.level >= read.minimum
    yield "the read-back claims more than its source can show", read.level <= _highest(bundle)
    yield "the read-back names no record", bool(read.identity) or isinstance(read.source, RecordPage)
    yield "the read-back compares nothing that was written", bool(read.written)
    compared = written | {item.expected for item in read.identity}
    yield "something entered is not read back", {step.value for step in _recorded(bundle)} <= compared
    yield "a step before the save clicks what saves", not any(_clicks_save(bundle, step) for step in bundle.steps)


def _member_rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules of the members of a record."""
    read = bundle.read_back
    compared = [item.name for item in (*read.identity, *read.written)]
    known = _known_members(read.source)
    named = {*compared, *bundle.guards, *read.may_change}
    yield "a member of a record is compared twice", _is_once(compared)
    yield "a guard is named twice", _is_once(bundle.guards)
    yield "a member of the business key is named twice", _is_once(bundle.business_key)
    yield "the source shows a member twice", known is None or _is_once(known)
    yield "a member is named that the source does not show", known is None or named <= {*known}
    yield "a member is compared and may change", not {*compared, *bundle.guards} & {*read.may_change}
    yield "the business key has a member that is not compared", {*bundle.business_key} <= {*compared}


def _effect_rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules of making a record and of changing one."""
    read = bundle.read_back
    update = read.effect is Effect.UPDATE
    early = update or bool(bundle.guards) or bool(bundle.business_key)
    yield (
        "members are needed before the save that the source shows only after it",
        not (early and _record_paths(read.source)),
    )
    yield "a change has a business key", not (update and bundle.business_key)
    yield "a change does not name its one record", not update or _names_one(bundle)
    yield "a change names its record by what it enters", not update or _is_named_apart(bundle)


def _names_one(bundle: Bundle) -> bool:
    """Whether the read-back looks at one record: that of a page, of a unique field, or of the address that is saved."""
    read = bundle.read_back
    unique = {item.expected for item in bundle.identity if item.unique} | _saved_to(bundle)
    return isinstance(read.source, RecordPage) or any(item.expected in unique for item in read.identity)


def _is_named_apart(bundle: Bundle) -> bool:
    """Whether what names the record is there before anything is entered, on the page and for the read-back."""
    entered = {step.value for step in _recorded(bundle)}
    shown = {item.expected for item in bundle.identity if item.unique} - entered
    named = bool(shown or _saved_to(bundle)) or _is_saved_to_one_page(bundle)
    return named and not entered & {item.expected for item in bundle.read_back.identity}


def _is_saved_to_one_page(bundle: Bundle) -> bool:
    """Whether the write goes to one page that its query names, the same in every run, and the read-back reads one."""
    source, route = bundle.read_back.source, bundle.save.route
    told = bool(route.query) and all("*" not in part.value.split("/") for part in route.query)
    return isinstance(source, RecordPage) and told and "*" not in route.path.split("/")


def _saved_to(bundle: Bundle) -> set[Value]:
    """The inputs that stand in the address of the write that saves."""
    route = bundle.save.route
    texts = (route.path, *(part.value for part in route.query))
    return {FromInput(name) for text in texts for name in names_in(text)}


# What the rules ask


def _is_once(names: Collection[str]) -> bool:
    return len(set(names)) == len(names)


def _recorded(bundle: Bundle) -> list[EnteringStep]:
    """The steps that enter a part of the record."""
    return [step for step in bundle.steps if isinstance(step, EnteringStep) and step.part_of_record]


def _queries(bundle: Bundle) -> list[list[str]]:
    """The names of the members of each query."""
    routes = (bundle.save.route, *bundle.harmless_writes, *bundle.blocked_writes)
    places: list[PageGate | WriteRoute] = [*_gates(bundle), *routes]
    return [[part.name for part in place.query] for place in places]


def _highest(bundle: Bundle) -> CheckLevel:
    """The strongest check that the source is good for.

    An interface that the server connects beside the app may be the system of record; the app's own is not.
    """
    source = bundle.read_back.source
    connected = isinstance(source, JsonRecords) and not bundle.origins
    if connected or isinstance(source, DatabaseRecords):
        return CheckLevel.SYSTEM_OF_RECORD
    return CheckLevel.SEPARATE_SESSION


def _known_members(source: Source) -> tuple[str, ...] | None:
    """The members that the source shows of a record, where it says so."""
    match source:
        case JsonRecords():
            return None
        case PageRecords(fields=fields) | RecordPage(fields=fields):
            return tuple(item.name for item in fields)
        case DatabaseRecords(columns=columns):
            return columns
        case _:  # pragma: no cover
            assert_never(source)


def _clicks_save(bundle: Bundle, step: Step) -> bool:
    """Whether the step clicks the control that saves, in whatever row."""
    if not isinstance(step, ClickStep) or not gates_meet(step.page, bundle.save.page):
        return False
    return evolve(step.target, row=None) == evolve(bundle.save.target, row=None)


def _gates(bundle: Bundle) -> Iterator[PageGate]:
    yield from (step.page for step in (*bundle.steps, bundle.save) if not isinstance(step, OpenStep))
    if isinstance(bundle.read_back.source, PageRecords | RecordPage):
        yield bundle.read_back.source.record


def _targets(bundle: Bundle) -> Iterator[Target]:
    yield from (gate.landmark for gate in _gates(bundle))
    yield from (step.target for step in (*bundle.steps, bundle.save) if not isinstance(step, OpenStep))
    yield from (step.shown for step in bundle.steps if isinstance(step, FillStep | ChooseStep) and step.shown)
    yield from (item.target for item in bundle.identity)
    source = bundle.read_back.source
    if isinstance(source, PageRecords):
        yield source.landmark
    if isinstance(source, PageRecords | RecordPage):
        yield from (item.target for item in source.fields)


def _role_fits(target: Target) -> bool:
    return (target.kind is TargetKind.ROLE) == (target.role is not None)


def _attribute_fits(target: Target) -> bool:
    return (target.kind is TargetKind.ATTRIBUTE) == (target.attribute is not None)


def _form_fits(rule: Rule, form: DateForm) -> bool:
    return rule is Rule.DATE or form is DateForm.ISO


def _control_fits(step: ChooseStep) -> bool:
    return step.control is ChoiceControl.LIST or (step.search, step.shown) == (None, None)


def _breaks(declared: dict[str, Parameter], step: FillStep) -> bool:
    """Whether the key that ends the entry would be one more line of the text."""
    if step.then is not Key.ENTER:
        return False
    if isinstance(step.value, Constant):
        return len(step.value.text.splitlines()) > 1
    return declared[step.value.name].type is ParameterType.TEXT


def _is_box(declared: dict[str, Parameter], value: Value) -> bool:
    if isinstance(value, Constant):
        return value.text in _BOX
    return {*declared[value.name].choices} == _BOX


def _rows(bundle: Bundle) -> list[Value]:
    return [target.row for target in _targets(bundle) if target.row is not None]


def _placed(bundle: Bundle) -> set[str]:
    """The inputs that have a place in an address, or in the name of a target."""
    paths, queries = addresses(bundle)
    texts = (*paths, *(part.value for part in queries), *(target.name for target in _targets(bundle)))
    return {name for text in texts for name in names_in(text)}


def _entered(bundle: Bundle) -> list[Value]:
    return [step.value for step in bundle.steps if isinstance(step, EnteringStep)]


def _names(values: list[Value]) -> set[str]:
    return {value.name for value in values if isinstance(value, FromInput)}


def _naming(bundle: Bundle) -> list[Value]:
    """The values that must not be empty: rows, addresses, options, and everything that says which record is meant."""
    chosen = [step.value for step in bundle.steps if isinstance(step, ChooseStep | CheckStep)]
    shown = [item.expected for item in bundle.identity]
    read = bundle.read_back
    keys = [item.expected for item in read.written if item.name in bundle.business_key]
    placed: list[Value] = [FromInput(name) for name in sorted(_placed(bundle))]
    return [*_rows(bundle), *placed, *chosen, *shown, *(item.expected for item in read.identity), *keys]


def _compared(bundle: Bundle) -> list[tuple[Value, Rule]]:
    filled = [(step.value, step.rule) for step in bundle.steps if isinstance(step, FillStep)]
    chosen = [(step.value, Rule.CHOICE) for step in bundle.steps if isinstance(step, ChooseStep | CheckStep)]
    shown = [(item.expected, item.rule) for item in bundle.identity]
    read = [(item.expected, item.rule) for item in (*bundle.read_back.identity, *bundle.read_back.written)]
    return [*filled, *chosen, *shown, *read]


def _rule_fits(declared: dict[str, Parameter], value: Value, rule: Rule) -> bool:
    """Whether a value of this kind can equal itself under the rule, and no other value can by a looser form."""
    if isinstance(value, FromInput):
        return rule in (Rule.IDENTIFIER, Rule.CHOICE, RULES[declared[value.name].type])
    return not value.text or _CONSTANT_FITS.get(rule, bool)(value.text)


_CONSTANT_FITS: Final = {Rule.DATE: is_date, Rule.DECIMAL: is_decimal}


def _given(declared: dict[str, Parameter], value: Value) -> bool:
    if isinstance(value, Constant):
        return bool(value.text)
    parameter = declared[value.name]
    return parameter.required and (parameter.type in _NEVER_EMPTY or parameter.min_length > 0)
