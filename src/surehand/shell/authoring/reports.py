"""What the watching script says, in closed form.

Laws of this module:

- A report that is not understood is a failure of the recording, never left out.
"""

from typing import Annotated, Literal

from attrs import field, frozen

from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.recording import Action, Candidates, Place
from surehand.core.workflow.target import Path

Identity = Annotated[str, Text(pattern=r"^[a-z0-9]{1,12}\.[0-9]{1,9}$")]
KnownKey = Annotated[str, Text(pattern=r"^[a-z0-9]{1,12}\.[0-9]{1,9}(/[0-9]{1,2})?$")]
WallTime = Annotated[int, Number(minimum=0)]


@frozen(kw_only=True)
class Told:
    """Something was done. One that is ``soft`` counts only when it is kept; what it replaces counts no more.

    ``keys`` are the positions of the cells by which the clicked row is known.
    """

    id: Identity
    at: WallTime
    action: Action
    soft: bool = False
    replaces: Annotated[tuple[Identity, ...], Items(max_items=100)] = field(default=())
    keys: Annotated[tuple[Annotated[int, Number(minimum=0, maximum=39)], ...], Items(max_items=40)] = field(default=())


@frozen
class Keep:
    """A soft event counts: the page reacted to it."""

    id: Identity


@frozen
class Again:
    """The click was one of several in a row."""

    id: Identity
    clicks: Annotated[int, Number(minimum=2)]


@frozen(kw_only=True)
class ShownText:
    """An element that shows a known text."""

    key: KnownKey
    rule: Rule
    form: DateForm
    candidates: Candidates


@frozen(kw_only=True)
class ShownPage:
    """What a page shows."""

    place: Place
    showings: Annotated[tuple[ShownText, ...], Items(max_items=200)]
    links: Annotated[tuple[Path, ...], Items(max_items=300)] = field(repr=False)


@frozen
class Page:
    """A page as it was at this time."""

    at: WallTime
    page: ShownPage


@frozen(kw_only=True)
class Began:
    """A new document is there, and how the browser came to it."""

    at: WallTime
    how: Literal["navigate", "reload", "back_forward", "prerender"]
    place: Place


@frozen(kw_only=True)
class Moved:
    """The address changed within one document."""

    at: WallTime
    back: bool
    place: Place


@frozen(kw_only=True)
class Submitted:
    """A form was sent by a button that has a name."""

    at: WallTime
    name: Annotated[str, Text(min_length=1, max_length=200)]
    value: Annotated[str, Text(max_length=200)]


@frozen
class Failed:
    """Something was done that the script could not tell."""

    at: WallTime


@frozen
class Report:
    """One report."""

    what: Told | Keep | Again | Page | Began | Moved | Submitted | Failed
