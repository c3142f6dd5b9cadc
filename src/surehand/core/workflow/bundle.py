"""The bundle: a compiled workflow as closed data.

Laws of this module:

- A bundle holds structure, never a typed value: what is entered comes from inputs, or is a constant that a person
  confirmed.
- Targets are exact: there is no index, no coordinate, no CSS path and no second choice.
- A bundle that could save without an identity check or without a read-back cannot be made.
- What a run enters on the page that saves is what the read-back compares; every declared input is used.
"""

import hashlib
import json
from collections.abc import Iterator
from enum import Enum, unique
from typing import TYPE_CHECKING, Annotated, Final

from attrs import evolve, field, frozen
from returns.result import Result

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.params import Parameter, ParameterType, is_date, is_decimal
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import MemberName, Source
from surehand.core.workflow.target import Constant, FromInput, Identifier, PageGate, Path, Target, TargetKind, Value


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


@frozen
class OpenStep:
    """Open a path of the app; ``{name}`` in it is the value of an input, percent-encoded."""

    id: Identifier
    path: Path


@frozen
class FillStep:
    """Enter a text into a field, leave it, and read it back from the field.

    ``form`` is how the app writes a date. ``part_of_record`` is false for what is not saved, such as a search.
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


@frozen
class ChooseStep:
    """Choose the option with exactly this label.

    ``search`` says that the label is typed first, as lists ask that fetch their options. ``shown`` is where a list shows
    what was chosen, when the target itself does not.
    """

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    control: ChoiceControl = ChoiceControl.SELECT
    search: bool = False
    shown: Target | None = None
    part_of_record: bool = True


@frozen
class CheckStep:
    """Set a box to checked (``true``) or not (``false``)."""

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    part_of_record: bool = True


@frozen
class ClickStep:
    """Click something that does not save."""

    id: Identifier
    page: PageGate
    target: Target
    dialog: DialogAnswer | None = None


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

    ``identity`` says which records belong to the intended one, ``written`` what the run writes; each is compared in
    full. ``may_change`` names members that may differ between the two reads without meaning anything (a version, a time
    of change).
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


OriginText = Annotated[str, Text(pattern=r"^https?://[^\s/?#@]+$", max_length=260)]

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
    """The steps that enter something on the page that saves; of several into one field, the last.

    Two templates that one path can match count as one page: in doubt a value was written, and has to be read back.
    """
    last: dict[Target, EnteringStep] = {}
    for step in bundle.steps:
        if isinstance(step, EnteringStep) and _meet(step.page.path, bundle.save.page.path):
            last.pop(step.target, None)
            last[step.target] = step
    return tuple(last.values())


def _meet(one: str, other: str) -> bool:
    """Whether some path matches both templates; queries are not looked at."""
    first, second = (template.partition("?")[0].split("/") for template in (one, other))
    return len(first) == len(second) and all(a == b or "*" in (a, b) for a, b in zip(first, second, strict=True))


def _rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules of a bundle in the order in which they may be checked, each with whether it holds."""
    declared = {parameter.name: parameter for parameter in bundle.parameters}
    used = _names([*_rows(bundle), *_entered(bundle), *(item.expected for item in bundle.identity)])
    named = used | _names([value for value, _ in _compared(bundle)])
    steps = [*bundle.steps, bundle.save]
    yield "an input is declared twice", len(declared) == len(bundle.parameters)
    yield "an input is used that is not declared", named <= declared.keys()
    yield "a step id is repeated", len({step.id for step in steps}) == len(steps)
    yield "a role target has a role, and no other has", all(map(_role_fits, _targets(bundle)))
    yield "a rule does not fit the kind of its value", all(_rule_fits(declared, *pair) for pair in _compared(bundle))
    yield "a value that finds or names a record may be empty", all(_given(declared, value) for value in _naming(bundle))
    yield from _proof_rules(bundle)
    yield "a declared input is neither entered nor checked", used >= declared.keys()


def _proof_rules(bundle: Bundle) -> Iterator[tuple[str, bool]]:
    """The rules without which a save could not be proven."""
    shown, read = bundle.identity, bundle.read_back
    written = {item.expected for item in read.written}
    yield "the identity has fewer than two fields", len({item.target for item in shown}) >= _LEAST_IDENTITY
    yield "no identity field is unique", any(item.unique for item in shown)
    yield "the read-back proves nothing", CheckLevel.UNCHECKED not in (read.level, read.minimum)
    yield "the read-back is weaker than the workflow asks for", read.level >= read.minimum
    yield "the read-back names no record", bool(read.identity)
    yield "the read-back compares nothing that was written", bool(read.written)
    yield "a member of a record is compared twice", len(_members(read)) == len(read.identity) + len(read.written)
    yield "a guard is named twice", len(set(bundle.guards)) == len(bundle.guards)
    entered = {step.value for step in entered_on_save_page(bundle)}
    yield "something entered on the page that saves is not read back", entered <= written
    yield "a step before the save clicks what saves", not any(_clicks_save(bundle, step) for step in bundle.steps)


def _members(read: ReadBack) -> set[str]:
    return {item.name for item in (*read.identity, *read.written)}


def _clicks_save(bundle: Bundle, step: Step) -> bool:
    """Whether the step clicks the control that saves, in whatever row."""
    if not isinstance(step, ClickStep) or not _meet(step.page.path, bundle.save.page.path):
        return False
    return evolve(step.target, row=None) == evolve(bundle.save.target, row=None)


def _targets(bundle: Bundle) -> Iterator[Target]:
    for step in (*bundle.steps, bundle.save):
        if not isinstance(step, OpenStep):
            yield step.page.landmark
            yield step.target
    yield from (item.target for item in bundle.identity)


def _role_fits(target: Target) -> bool:
    return (target.kind is TargetKind.ROLE) == (target.role is not None)


def _rows(bundle: Bundle) -> list[Value]:
    return [target.row for target in _targets(bundle) if target.row is not None]


def _entered(bundle: Bundle) -> list[Value]:
    return [step.value for step in bundle.steps if isinstance(step, EnteringStep)]


def _names(values: list[Value]) -> set[str]:
    return {value.name for value in values if isinstance(value, FromInput)}


def _naming(bundle: Bundle) -> list[Value]:
    """The values that must not be empty: rows, options, and everything that says which record is meant."""
    chosen = [step.value for step in bundle.steps if isinstance(step, ChooseStep | CheckStep)]
    shown = [item.expected for item in bundle.identity]
    return [*_rows(bundle), *chosen, *shown, *(item.expected for item in bundle.read_back.identity)]


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
