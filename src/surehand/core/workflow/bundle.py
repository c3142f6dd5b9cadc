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

Identifier = Annotated[str, Text(pattern="^[a-z][a-z0-9_]{0,39}$")]
Path = Annotated[str, Text(pattern=r"^/[^\s#]*$", max_length=500)]
MemberName = Annotated[str, Text(min_length=1, max_length=100)]


@frozen
class Constant:
    """A text that stands in the bundle because a person confirmed it."""

    text: Annotated[str, Text(max_length=500)]


@frozen
class FromInput:
    """The value of a declared input."""

    name: Identifier


Value = Constant | FromInput


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
class TargetKind(Enum):
    """How a target is found; each with an exact name."""

    TEST_ID = "test_id"
    ROLE = "role"
    LABEL = "label"


@frozen
class Target:
    """One element of a page.

    ``name`` is the test id, the exact accessible name or the exact label; ``role`` is the ARIA role for ``ROLE``.
    ``row`` limits the search to the one table row that holds a cell with exactly this text.
    """

    kind: TargetKind
    name: Annotated[str, Text(min_length=1, max_length=200)]
    role: Annotated[str, Text(pattern="^[a-z]{1,30}$")] | None = None
    row: Value | None = None


@frozen
class PageGate:
    """What must hold before a step acts: the path matches (``*`` is one segment), the landmark is there once."""

    path: Path
    landmark: Target


@frozen
class OpenStep:
    """Open a path of the app."""

    id: Identifier
    path: Path


@frozen
class FillStep:
    """Replace the text of a field, leave it, and read it back from the field."""

    id: Identifier
    page: PageGate
    target: Target
    value: Value
    rule: Rule


@frozen
class ChooseStep:
    """Choose the option with exactly this label."""

    id: Identifier
    page: PageGate
    target: Target
    value: Value


@frozen
class ClickStep:
    """Click something that does not save."""

    id: Identifier
    page: PageGate
    target: Target


Step = OpenStep | FillStep | ChooseStep | ClickStep


@frozen
class WriteRoute:
    """One kind of write request: method, path (``*`` is one segment) and content type without parameters."""

    method: Annotated[str, Text(pattern="^(POST|PUT|PATCH|DELETE)$")]
    path: Path
    content_type: Annotated[str, Text(pattern="^[a-z0-9.+-]+/[a-z0-9.+-]+$")]


@frozen
class SaveStep:
    """The one click that saves, and the one write that it makes."""

    id: Identifier
    page: PageGate
    target: Target
    route: WriteRoute


@frozen
class IdentityField:
    """One field that shows which record is open."""

    target: Target
    expected: Value
    rule: Rule
    unique: bool


@frozen
class ReadField:
    """One field of a record as the read-back channel names it, with what it must hold."""

    name: MemberName
    expected: Value
    rule: Rule


@frozen
class ReadBack:
    """How the record is read from another channel.

    ``path`` answers a GET with a JSON object whose ``items`` member lists records; ``key`` names the member that
    identifies a record. ``identity`` says which records belong to the intended one, ``written`` what the run writes;
    each is compared in full.
    """

    level: CheckLevel
    minimum: CheckLevel
    path: Path
    items: MemberName
    key: MemberName
    identity: Annotated[tuple[ReadField, ...], Items(max_items=20)]
    written: Annotated[tuple[ReadField, ...], Items(max_items=100)]
    deadline_ms: Annotated[int, Number(minimum=0, maximum=600_000)]
    interval_ms: Annotated[int, Number(minimum=10, maximum=60_000)]


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

    ``guards`` names members of the read-back's records that the save could put back to what they were when the page was
    loaded: they are read before anything is opened, and again directly before the save.

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
    harmless_writes: Annotated[tuple[WriteRoute, ...], Items(max_items=20)] = field(default=())
    guards: Annotated[tuple[MemberName, ...], Items(max_items=20)] = field(default=())

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


def entered_on_save_page(bundle: Bundle) -> tuple[FillStep | ChooseStep, ...]:
    """The steps that enter something on the page that saves; of several into one field, the last.

    Two templates that one path can match count as one page: in doubt a value was written, and has to be read back.
    """
    last: dict[Target, FillStep | ChooseStep] = {}
    for step in bundle.steps:
        if isinstance(step, FillStep | ChooseStep) and _meet(step.page.path, bundle.save.page.path):
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
    return [step.value for step in bundle.steps if isinstance(step, FillStep | ChooseStep)]


def _names(values: list[Value]) -> set[str]:
    return {value.name for value in values if isinstance(value, FromInput)}


def _naming(bundle: Bundle) -> list[Value]:
    """The values that must not be empty: rows, options, and everything that says which record is meant."""
    chosen = [step.value for step in bundle.steps if isinstance(step, ChooseStep)]
    shown = [item.expected for item in bundle.identity]
    return [*_rows(bundle), *chosen, *shown, *(item.expected for item in bundle.read_back.identity)]


def _compared(bundle: Bundle) -> list[tuple[Value, Rule]]:
    filled = [(step.value, step.rule) for step in bundle.steps if isinstance(step, FillStep)]
    chosen = [(step.value, Rule.CHOICE) for step in bundle.steps if isinstance(step, ChooseStep)]
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
