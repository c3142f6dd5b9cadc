"""The bundle: a compiled workflow as closed data.

Laws of this module:

- A bundle holds structure, never a typed value: what is entered comes from inputs or is a constant that a person confirmed.
- Targets are exact: there is no index, no coordinate, no CSS path and no second choice.
- A bundle that could save without an identity check or without a read-back cannot be made.
"""

from enum import Enum, unique
from typing import Annotated

from attrs import field, frozen

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.params import Parameter

Identifier = Annotated[str, Text(pattern="^[a-z][a-z0-9_]{0,39}$")]
Path = Annotated[str, Text(pattern=r"^/[^\s#]*$", max_length=500)]


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

    identifier: exact characters. text: NFC and newline form. date: calendar date. decimal: numeric value. choice: exact option.
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
    """What must hold before a step acts: the path matches (``*`` is one segment) and the landmark is there exactly once."""

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

    name: Annotated[str, Text(min_length=1, max_length=100)]
    expected: Value
    rule: Rule


@frozen
class ReadBack:
    """How the record is read from another channel.

    ``path`` answers a GET with a JSON object whose ``items`` member lists records; ``key`` names the member that identifies a record.
    ``identity`` says which records belong to the intended one, ``written`` what the run writes; each is compared in full.
    """

    level: CheckLevel
    minimum: CheckLevel
    path: Path
    items: Annotated[str, Text(min_length=1, max_length=100)]
    key: Annotated[str, Text(min_length=1, max_length=100)]
    identity: Annotated[tuple[ReadField, ...], Items(max_items=20)]
    written: Annotated[tuple[ReadField, ...], Items(max_items=100)]
    deadline_ms: Annotated[int, Number(minimum=0, maximum=600_000)]
    interval_ms: Annotated[int, Number(minimum=10, maximum=60_000)]


@frozen(kw_only=True)
class Bundle:
    """A compiled workflow.

    Raises:
        ValueError: The bundle names an input that it does not declare, repeats a step id, or could save without proof of identity.
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
