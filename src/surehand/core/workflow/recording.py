"""What a recorder captured: a demonstration as closed data, the compiler's whole input.

Laws of this module:

- It holds what was seen and done, in order, and no judgment: the compiler decides what it means.
- Texts that a person typed or saw stand in fields of type ``Seen``, in addresses, and in the names and rows of targets,
  so that whoever writes a bundle can be held to leave them out. What was typed into a secret field is nowhere.
- Of the network it holds methods, addresses, operations and kinds of answers, never a body.
"""

from enum import Enum, unique
from typing import Annotated, Literal

from attrs import field, frozen

from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.bundle import DateForm, DialogAnswer, Key, Rule
from surehand.core.workflow.route import Operation
from surehand.core.workflow.target import OriginText, Path, QueryPart, Target

Seen = Annotated[str, Text(max_length=20_000)]
Short = Annotated[str, Text(max_length=500)]
Milliseconds = Annotated[int, Number(minimum=0)]
Index = Annotated[int, Number(minimum=0)]


@unique
class Actor(Enum):
    """Who did a step."""

    PERSON = "person"
    AGENT = "agent"


@unique
class Control(Enum):
    """What kind of thing a step acted on."""

    LINE = "line"
    TEXT = "text"
    EDITABLE = "editable"
    NUMBER = "number"
    DATE = "date"
    SELECT = "select"
    RADIO = "radio"
    CHECKBOX = "checkbox"
    LIST = "list"
    SECRET = "secret"  # noqa: S105 - the kind of a field, no secret
    FILE = "file"
    BUTTON = "button"
    LINK = "link"
    OTHER = "other"


@frozen
class Candidate:
    """One way to find an element, and how many shown elements it matched at that moment; best first in every tuple.

    Where the element stands in a row, some candidates have the text of a cell of that row as ``target.row``. A group of
    radio buttons counts as one element: a candidate for a radio button matches once when it means exactly its group.
    """

    target: Target
    matches: Index


Candidates = Annotated[tuple[Candidate, ...], Items(max_items=12)]


@frozen(kw_only=True)
class Place:
    """Where a page was: its real address, not yet a template."""

    origin: OriginText
    path: Path
    query: Annotated[tuple[QueryPart, ...], Items(max_items=30)] = field(default=())
    fragment: Short = ""
    landmarks: Candidates = field(default=())


@frozen(kw_only=True)
class FieldFacts:
    """What a page declares about a field; a limit that it does not declare is absent.

    ``multiple`` says that several options can be chosen; there is one event for each then.
    """

    control: Control
    caption: Short = ""
    options: Annotated[tuple[Seen, ...], Items(max_items=500)] = field(default=(), repr=False)
    required: bool = False
    multiple: bool = False
    max_length: Annotated[int, Number(minimum=0)] | None = None
    pattern: Short | None = None
    minimum: Short | None = None
    maximum: Short | None = None


@frozen(kw_only=True)
class Opened:
    """An address was opened by hand: the first page, a typed address, a bookmark."""

    place: Place


@frozen(kw_only=True)
class Arrived:
    """A new page is there, by a link, a form, or the page's own script.

    ``same_document`` says that only the address is new: what stands there may have stood there before.
    """

    place: Place
    same_document: bool = False


@frozen(kw_only=True)
class Entered:
    """A text was entered. ``value`` is what the field held when it was left; ``typed`` is what the keys wrote.

    ``value`` and ``typed`` differ where a widget rewrites what was typed. ``before`` says that the field held something
    else before, ``ended_by`` which key was pressed last, if one did something. ``shown`` is where the text stands once
    the key has taken it out of the field.
    """

    place: Place
    candidates: Candidates
    facts: FieldFacts
    value: Seen = field(repr=False)
    typed: Seen = field(repr=False)
    before: bool = False
    ended_by: Key | None = None
    shown: Candidates = field(default=())


@frozen(kw_only=True)
class Chose:
    """An option was chosen. ``shown`` is where the choice stands afterwards, if not in the control itself.

    ``typed`` is what the person typed to search a list, if they did.
    """

    place: Place
    candidates: Candidates
    facts: FieldFacts
    value: Seen = field(repr=False)
    searched: bool = False
    typed: Seen = field(default="", repr=False)
    shown: Candidates = field(default=())


@frozen(kw_only=True)
class Checked:
    """A box was checked or unchecked."""

    place: Place
    candidates: Candidates
    facts: FieldFacts
    checked: bool


@frozen(kw_only=True)
class Clicked:
    """Something was clicked.

    ``row`` holds the texts of the cells of its row, if it stands in one; ``headers`` the captions of their columns in
    the same order, where the table has them.
    """

    place: Place
    candidates: Candidates
    facts: FieldFacts
    row: Annotated[tuple[Seen, ...], Items(max_items=40)] = field(default=(), repr=False)
    headers: Annotated[tuple[Short, ...], Items(max_items=40)] = field(default=())
    clicks: Annotated[int, Number(minimum=1)] = 1


@frozen(kw_only=True)
class Pressed:
    """A key outside a field, or a shortcut, that the page reacted to."""

    place: Place
    candidates: Candidates
    key: Short


@frozen(kw_only=True)
class SecretEntered:
    """Something was typed into a secret field; what it was is not kept."""

    place: Place
    candidates: Candidates


@frozen(kw_only=True)
class Uploaded:
    """A file was chosen; neither its name nor its content is kept."""

    place: Place
    candidates: Candidates


@frozen(kw_only=True)
class DialogSeen:
    """A native dialog was open, and how it was answered."""

    form: Literal["alert", "confirm", "prompt", "beforeunload"]
    answer: DialogAnswer


@frozen(kw_only=True)
class Happened:
    """Something that a run cannot repeat: another tab, a reload, a step back, a check that a person is there."""

    what: Literal["tab_opened", "reloaded", "went_back", "human_check"]


Action = (
    Opened | Arrived | Entered | Chose | Checked | Clicked | Pressed | SecretEntered | Uploaded | DialogSeen | Happened
)


@frozen(kw_only=True)
class Event:
    """One event, when it happened (milliseconds since the start), and whose it was."""

    at_ms: Milliseconds
    actor: Actor
    action: Action


@frozen(kw_only=True)
class Exchange:
    """One request that left the browser and is no plain part of a page.

    ``after`` is the number of events before it. ``status_class`` is 2 for 2xx, 0 without an answer. Every request with
    another method than GET, HEAD or OPTIONS is here, every WebSocket, and every GET that was answered with JSON.
    """

    after: Index
    method: Annotated[str, Text(pattern="^[A-Z]{1,20}$")]
    place: Place
    content_type: Short
    status_class: Annotated[int, Number(minimum=0, maximum=9)]
    redirected: bool = False
    answers_json: bool = False
    socket: bool = False
    operation: Operation | None = None


@frozen(kw_only=True)
class Known:
    """A text that is known: entered by event ``event`` or, with ``cell``, standing in that cell of its clicked row."""

    event: Index
    cell: Annotated[int, Number(minimum=0, maximum=39)] | None = None


@frozen(kw_only=True)
class Showing:
    """An element of a page that shows a known text, in full and under this rule; a date in this form.

    The rule is the strictest one that holds: ``IDENTIFIER`` for the very same characters, ``TEXT`` for another form of
    the same text, ``DATE`` for the same day in another form, ``DECIMAL`` for the same number.
    """

    known: Known
    rule: Rule
    candidates: Candidates
    form: DateForm = DateForm.ISO


@frozen(kw_only=True)
class PageSeen:
    """What a page showed once ``after`` events had happened: known texts, and the paths of its links.

    It is taken directly before every click and press, and whenever the demonstration rests on a page after the save.
    """

    after: Index
    place: Place
    showings: Annotated[tuple[Showing, ...], Items(max_items=200)]
    links: Annotated[tuple[Path, ...], Items(max_items=300)] = field(default=(), repr=False)


@frozen(kw_only=True)
class MemberSeen:
    """A member of a JSON record by its dotted name, and which known text it holds, if any, under which rule.

    ``form`` is how it writes a date. ``changed`` says that this record was there before the save and that this member
    of it was another then.
    """

    name: Annotated[str, Text(min_length=1, max_length=100)]
    unique: bool
    known: Known | None = None
    rule: Rule | None = None
    form: DateForm = DateForm.ISO
    changed: bool = False


@frozen(kw_only=True)
class JsonSeen:
    """The shape of one JSON answer of the app to a GET after the save: where its records are, and what the new one has.

    ``items`` is the dotted path of the list. ``was_absent`` says that the record that holds the known texts was not in
    the last answer of the same address before the save, ``compared`` that there was such an answer; ``count`` is how
    many records the list holds. ``fresh`` says that it was asked for once more at the end, with the cookies of the
    session alone.
    """

    after: Index
    place: Place
    items: Annotated[str, Text(max_length=100)]
    count: Index
    was_absent: bool
    members: Annotated[tuple[MemberSeen, ...], Items(max_items=200)]
    fresh: bool = False
    compared: bool = True


@frozen(kw_only=True)
class Recording:
    """One demonstration."""

    schema: Literal["surehand.recording/v1"] = "surehand.recording/v1"
    origin: OriginText
    events: Annotated[tuple[Event, ...], Items(max_items=2000)]
    exchanges: Annotated[tuple[Exchange, ...], Items(max_items=5000)]
    pages: Annotated[tuple[PageSeen, ...], Items(max_items=500)]
    answers: Annotated[tuple[JsonSeen, ...], Items(max_items=200)]
