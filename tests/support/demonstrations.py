"""Demonstrations over an abstract app: what a recorder would write of a person who does one task there.

The app has an optional sign-in, a list of records, a form with fields of any kind, one save, and a way to look at what
was saved. ``Shape`` says what the app is like, ``Values`` what the person entered, ``demonstrate`` plays the task. The
hooks of ``Play`` let a test do something wrong at any point of it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from attrs import Factory, define, evolve, field, frozen

from surehand.core.workflow.bundle import DialogAnswer, Key, Rule
from surehand.core.workflow.compiler.texts import quoted
from surehand.core.workflow.recording import (
    Action,
    Actor,
    Arrived,
    Candidate,
    Candidates,
    Checked,
    Chose,
    Clicked,
    Control,
    DialogSeen,
    Entered,
    Event,
    Exchange,
    FieldFacts,
    JsonSeen,
    Known,
    MemberSeen,
    Opened,
    PageSeen,
    Place,
    Recording,
    SecretEntered,
    Showing,
)
from surehand.core.workflow.route import Operation
from surehand.core.workflow.target import Constant, QueryPart, Target, TargetKind

ORIGIN: Final = "https://clinic.example"
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"


def label(name: str) -> Target:
    """A field by its label; one without a label by its test id."""
    return Target(TargetKind.LABEL, name) if name else by_test_id("field without a label")


def by_role(role: str, name: str, row: str | None = None) -> Target:
    """Something by its role and name, in a row if one is given."""
    return Target(TargetKind.ROLE, name, role, row=None if row is None else Constant(row))


def by_test_id(name: str) -> Target:
    """Something by its test id."""
    return Target(TargetKind.TEST_ID, name)


def once(*targets: Target) -> Candidates:
    """Candidates that matched once each."""
    return tuple(Candidate(target, 1) for target in targets)


def place(path: str, heading: str | None = None, *, fragment: str = "", **query: str) -> Place:
    """A place of the app with a heading."""
    return Place(
        origin=ORIGIN,
        path=path,
        query=tuple(QueryPart(name, value) for name, value in query.items()),
        fragment=fragment,
        landmarks=() if heading is None else once(by_role("heading", heading)),
    )


@define
class Tape:
    """A recording that is being made."""

    here: Place = Factory(lambda: place("/"))
    events: list[Event] = Factory(list[Event])
    exchanges: list[Exchange] = Factory(list[Exchange])
    pages: list[PageSeen] = Factory(list[PageSeen])
    answers: list[JsonSeen] = Factory(list[JsonSeen])

    def do(self, action: Action) -> int:
        """One event; its number."""
        self.events.append(Event(at_ms=len(self.events) * 100, actor=Actor.PERSON, action=action))
        return len(self.events) - 1

    def open(self, where: Place) -> int:
        """An address typed by hand."""
        self.here = where
        return self.do(Opened(place=where))

    def arrive(self, where: Place, *, same_document: bool = False) -> int:
        """A page that came by itself, or only its address."""
        self.here = where
        return self.do(Arrived(place=where, same_document=same_document))

    def enter(  # noqa: PLR0913 - each is a fact of one event
        self,
        caption: str,
        value: str,
        *,
        control: Control = Control.LINE,
        typed: str | None = None,
        before: bool = False,
        ended_by: Key | None = None,
        shown: Candidates = (),
        candidates: Candidates | None = None,
        required: bool = True,
        max_length: int | None = None,
        pattern: str | None = None,
        minimum: str | None = None,
        maximum: str | None = None,
    ) -> int:
        """A text entered into a field."""
        facts = FieldFacts(
            control=control,
            caption=caption,
            required=required,
            max_length=max_length,
            pattern=pattern,
            minimum=minimum,
            maximum=maximum,
        )
        return self.do(
            Entered(
                place=self.here,
                candidates=once(label(caption)) if candidates is None else candidates,
                facts=facts,
                value=value,
                typed=value if typed is None else typed,
                before=before,
                ended_by=ended_by,
                shown=shown,
            )
        )

    def choose(  # noqa: PLR0913 - each is a fact of one event
        self,
        caption: str,
        value: str,
        options: Sequence[str],
        *,
        control: Control = Control.SELECT,
        searched: bool = False,
        typed: str | None = None,
        candidates: Candidates | None = None,
    ) -> int:
        """An option chosen."""
        return self.do(
            Chose(
                place=self.here,
                candidates=once(label(caption)) if candidates is None else candidates,
                facts=FieldFacts(control=control, caption=caption, options=tuple(options), required=True),
                value=value,
                searched=searched,
                typed=(value if typed is None else typed) if searched else "",
                shown=once(by_test_id(f"{caption} chosen")) if control is Control.LIST else (),
            )
        )

    def check(self, caption: str, *, checked: bool) -> int:
        """A box set."""
        facts = FieldFacts(control=Control.CHECKBOX, caption=caption)
        return self.do(Checked(place=self.here, candidates=once(label(caption)), facts=facts, checked=checked))

    def click(  # noqa: PLR0913 - each is a fact of one event
        self,
        name: str,
        *,
        control: Control = Control.BUTTON,
        row: Sequence[str] = (),
        headers: Sequence[str] = (),
        clicks: int = 1,
        candidates: Candidates | None = None,
    ) -> int:
        """Something clicked, by default by its role and name, in a row by the row's first text."""
        role = "link" if control is Control.LINK else "button"
        own = once(*(by_role(role, name, cell) for cell in row if cell != name), by_role(role, name)) if row else ()
        own = own or once(by_role(role, name))
        return self.do(
            Clicked(
                place=self.here,
                candidates=own if candidates is None else candidates,
                facts=FieldFacts(control=control, caption=name),
                row=tuple(row),
                headers=tuple(headers),
                clicks=clicks,
            )
        )

    def secret(self, caption: str = "Password") -> int:
        """Something typed into a secret field."""
        return self.do(SecretEntered(place=self.here, candidates=once(label(caption))))

    def dialog(self, answer: DialogAnswer = DialogAnswer.ACCEPT) -> int:
        """A confirmation answered."""
        return self.do(DialogSeen(form="confirm", answer=answer))

    def send(  # noqa: PLR0913 - each is a fact of one exchange
        self,
        method: str,
        where: str | Place,
        *,
        content_type: str = FORM,
        status_class: int = 3,
        operation: Operation | None = None,
        socket: bool = False,
    ) -> int:
        """A request that left the browser now; its number."""
        self.exchanges.append(
            Exchange(
                after=len(self.events),
                method=method,
                place=place(where) if isinstance(where, str) else where,
                content_type=content_type,
                status_class=status_class,
                operation=operation,
                socket=socket,
            )
        )
        return len(self.exchanges) - 1

    def shows(self, *showings: Showing, links: Sequence[str] = ()) -> int:
        """What the page here shows now; the number of the look."""
        self.pages.append(PageSeen(after=len(self.events), place=self.here, showings=showings, links=tuple(links)))
        return len(self.pages) - 1

    def answers_json(
        self, where: Place, items: str, *members: MemberSeen, was_absent: bool = True, count: int = 3
    ) -> None:
        """An answer in JSON that holds the record."""
        self.answers.append(
            JsonSeen(
                after=len(self.events),
                place=where,
                items=items,
                count=count,
                was_absent=was_absent,
                members=members,
                fresh=True,
            )
        )

    def recording(self) -> Recording:
        """The recording."""
        return Recording(
            origin=ORIGIN,
            events=tuple(self.events),
            exchanges=tuple(self.exchanges),
            pages=tuple(self.pages),
            answers=tuple(self.answers),
        )


@frozen(kw_only=True)
class Field:
    """A field of the form: its caption, its control, and what it offers."""

    caption: str
    control: Control = Control.LINE
    options: tuple[str, ...] = ()
    searched: bool = False
    required: bool = True
    max_length: int | None = None


@frozen(kw_only=True)
class Shape:
    """What an app is like.

    ``sign_in``, ``row`` and ``search`` say whether the task begins with a sign-in, leads through a list of records, and
    searches it. ``linked`` says that a record's link is named by the record, else it is called Open. ``reading`` is how
    the saved record is seen: "json", "detail", "pages", "record" (at an address that the row names) or "nothing".
    ``presence`` writes at every page, ``confirms`` opens a dialog at the save.
    """

    fields: tuple[Field, ...]
    sign_in: bool = True
    row: bool = True
    search: bool = False
    linked: bool = False
    reading: str = "json"
    presence: bool = False
    confirms: bool = False
    changes: bool = False


@frozen(kw_only=True)
class Values:
    """What a person entered: one text for each field; the row of the record; the number of what was saved."""

    texts: tuple[str, ...] = field(repr=False)
    row: tuple[str, ...] = field(default=("SYN-1042", "Ada Example", "1901-03-14"), repr=False)
    key: str = "77"


COLUMNS: Final = ("Number", "Patient", "Born")

Hook = Callable[[Tape], object]


def _nothing(_: Tape) -> None:
    """Do nothing more."""


@frozen(kw_only=True)
class Play:
    """What a person does beside the task: at the start, in the form, in place of one click on save, and after it."""

    at_start: Hook = _nothing
    in_form: Hook = _nothing
    saves: Hook | None = None
    after_save: Hook = _nothing


_Known = list[tuple[Known, str]]


def demonstrate(shape: Shape, values: Values, play: Play | None = None) -> Recording:
    """One demonstration of the task."""
    play = Play() if play is None else play
    tape, known = Tape(), _Known()
    _begin(tape, shape)
    play.at_start(tape)
    if shape.row:
        known += _open_record(tape, shape, values)
    known += _fill(tape, shape, values)
    play.in_form(tape)
    tape.shows(*(_showing(item, "shown") for item in known))
    (play.saves or partial(save, shape=shape, values=values))(tape)
    _look(tape, shape, values, known)
    play.after_save(tape)
    return tape.recording()


def _begin(tape: Tape, shape: Shape) -> None:
    if shape.sign_in:
        tape.open(place("/sign-in", "Sign in"))
        tape.enter("User name", "nurse.one")
        tape.secret()
        tape.click("Sign in")
        tape.send("POST", "/sign-in")
        tape.arrive(place("/records", "Records"))
    else:
        tape.open(place("/records", "Records"))


def _open_record(tape: Tape, shape: Shape, values: Values) -> _Known:
    known = _Known()
    if shape.search:
        known.append((Known(event=tape.enter("Search", values.row[0], required=False)), values.row[0]))
    name = values.row[1] if shape.linked else "Open"
    row = values.row if shape.linked else (*values.row, "Open")
    at = tape.click(name, control=Control.LINK, row=row, headers=(*COLUMNS, "")[: len(row)])
    tape.arrive(_record_place(values))
    _presence(tape, shape)
    return known + [(Known(event=at, cell=cell), text) for cell, text in enumerate(values.row)]


def _record_place(values: Values, rest: str = "", heading: str = "Record") -> Place:
    """A page of the record: its address holds the record's number, and its first heading the patient's name."""
    where = place(f"/records/{quoted(values.row[0])}{rest}", heading)
    headings = once(by_role("heading", f"{heading} of {values.row[1]}")) + where.landmarks
    return evolve(where, landmarks=headings)


def _fill(tape: Tape, shape: Shape, values: Values) -> _Known:
    tape.click("Add note", control=Control.LINK)
    tape.arrive(_record_place(values, "/notes/new", "Add note") if shape.row else place("/notes/new", "Add note"))
    _presence(tape, shape)
    events = [_enter(tape, shape, each, text) for each, text in zip(shape.fields, values.texts, strict=True)]
    return [(Known(event=event), text) for event, text in zip(events, values.texts, strict=True)]


def _enter(tape: Tape, shape: Shape, each: Field, text: str) -> int:
    if each.control is Control.CHECKBOX:
        return tape.check(each.caption, checked=text == "true")
    if each.options:
        return tape.choose(each.caption, text, each.options, control=each.control, searched=each.searched)
    return tape.enter(
        each.caption,
        text,
        control=each.control,
        before=shape.changes,
        required=each.required,
        max_length=each.max_length,
    )


def _presence(tape: Tape, shape: Shape) -> None:
    if shape.presence:
        tape.send("PATCH", "/presence/me", content_type=JSON, status_class=2)


def save(tape: Tape, *, shape: Shape, values: Values) -> None:
    """One click on save, and its write."""
    tape.click("Save note")
    if shape.confirms:
        tape.dialog()
    tape.send("POST", f"/records/{quoted(values.row[0])}/notes" if shape.row else "/notes")


def _showing(item: tuple[Known, str], where: str) -> Showing:
    known, _ = item
    number = known.event if known.cell is None else known.cell
    return Showing(
        known=known,
        rule=Rule.IDENTIFIER,
        candidates=once(by_test_id(f"{where}-{'entered' if known.cell is None else 'cell'}-{lettered(number)}")),
    )


def lettered(number: int) -> str:
    """A number in letters, so that no name looks like an id."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def _members(known: _Known) -> list[MemberSeen]:
    names = [("entered" if item.cell is None else "cell", item) for item, _ in known]
    return [
        MemberSeen(
            name=f"note.{kind}_{lettered(item.event if item.cell is None else item.cell)}",
            unique=False,
            known=item,
            rule=Rule.IDENTIFIER,
        )
        for kind, item in names
    ]


def _look(tape: Tape, shape: Shape, values: Values, known: _Known) -> None:
    """Look at what was saved, in the way that the app has."""
    tape.arrive(place("/notes", "Notes"))
    _presence(tape, shape)
    key, absent = MemberSeen(name="id", unique=True), not shape.changes
    match shape.reading:
        case "json":
            members = (key, MemberSeen(name="version", unique=False, changed=shape.changes), *_members(known))
            tape.answers_json(place("/api/notes", None, limit="50"), "items", *members, was_absent=absent)
        case "detail":
            tape.answers_json(place("/api/notes"), "items", key, *_members(known)[:1])
            tape.answers_json(place(f"/api/notes/{values.key}"), "", key, *_members(known), count=1)
        case "pages":
            tape.shows(links=["/help", f"/notes/{values.key}", "/notes/76"])
            tape.click("Show", control=Control.LINK)
            tape.arrive(place(f"/notes/{values.key}", "Note"))
            tape.shows(*(_showing(item, "record") for item in known))
        case "record":
            tape.arrive(_record_place(values, "/summary", "Summary"))
            tape.shows(*(_showing(item, "record") for item in known))
        case _:
            pass
