"""What a step points at: values, elements of a page, and the page on which they stand.

Laws of this module:

- A target is exact: there is no index, no coordinate, no CSS path and no second choice.
- A path template holds structure only: ``*`` is one segment, ``{name}`` is the value of a declared input.
- Nothing here knows how a browser finds anything.
"""

from enum import Enum, unique
from typing import Annotated

from attrs import field, frozen

from surehand.core.schema import Items, Text

Identifier = Annotated[str, Text(pattern="^[a-z][a-z0-9_]{0,39}$")]
Path = Annotated[str, Text(pattern=r"^/[^\s#]*$", max_length=500)]
Fragment = Annotated[str, Text(pattern=r"^[^\s]*$", max_length=300)]
OriginText = Annotated[str, Text(pattern=r"^https?://[^\s/?#@]+$", max_length=260)]
QueryName = Annotated[str, Text(pattern=r"^[^\s=&#]{1,100}$")]


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
class TargetKind(Enum):
    """How a target is found; each with an exact name.

    test_id, role and label are found by their exact names; attribute by the exact value of one named attribute; caption
    is the one control that stands beside a text, where nothing else names it.
    """

    TEST_ID = "test_id"
    ROLE = "role"
    LABEL = "label"
    ATTRIBUTE = "attribute"
    CAPTION = "caption"


@unique
class Within(Enum):
    """A part of a page to which a search is limited: the one open dialog."""

    DIALOG = "dialog"


@frozen
class Target:
    """One element of a page.

    ``name`` is the test id, the exact accessible name, the exact label, the exact value of the attribute, or the exact
    text beside the control. ``role`` is the ARIA role for ``ROLE``, ``attribute`` the attribute's name for
    ``ATTRIBUTE``. ``row`` limits the search to the one row of a table or list that holds a cell with exactly this text,
    ``within`` to the open dialog, ``frame`` to the one frame whose title or name is exactly this. ``{input}`` in
    ``name`` is the value of a declared input, as it is: a link may be named by its record.
    """

    kind: TargetKind
    name: Annotated[str, Text(min_length=1, max_length=200)]
    role: Annotated[str, Text(pattern="^[a-z]{1,30}$")] | None = None
    attribute: Annotated[str, Text(pattern="^[a-z][a-z0-9_-]{0,39}$")] | None = None
    row: Value | None = None
    within: Within | None = None
    frame: Annotated[str, Text(min_length=1, max_length=200)] | None = None


@frozen
class QueryPart:
    """One member of a query: its name, and its exact value, ``*`` for any, or a path in which ``*`` is one segment."""

    name: QueryName
    value: Annotated[str, Text(max_length=200)]


@frozen
class PageGate:
    """What must hold before a step acts: the address matches, and the landmark is there once.

    Of the query only the named members are looked at. ``fragment`` is compared only where it is given: a template like
    a path, for apps whose pages differ behind the ``#`` alone.
    """

    path: Path
    landmark: Target
    query: Annotated[tuple[QueryPart, ...], Items(max_items=10)] = field(default=())
    fragment: Fragment | None = None
