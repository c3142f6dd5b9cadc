"""A plain client for the clinic app: pages over HTTP, forms, and the replay machine's commands, without a browser.

Laws of this module:

- It knows HTML and HTTP, and nothing of the app: what it finds on a page is what the page says.
- It is an oracle beside the browser engine and beside the model; it shares no code with either.
"""

import http.client
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from urllib.parse import urlencode

from attrs import define, field, frozen

from support.browser import eventually
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    CheckPage,
    Choose,
    Click,
    Command,
    Done,
    Fault,
    FaultKind,
    Fill,
    Observation,
    Open,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    SaveObserved,
    Texts,
    Wait,
)
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Target, TargetKind
from surehand.shell.engines.base import AppTarget

#: Seconds for an answer that is expected to come, also from a busy machine, and for one that is expected not to come.
PATIENT = 60.0
IMPATIENT = 0.25

_VOID = {"meta", "link", "input", "br"}


@define(eq=False)
class Node:
    """One element of a page."""

    tag: str
    attributes: dict[str, str]
    children: "list[Node | str]" = field(factory=list["Node | str"], repr=False)

    def walk(self) -> "Iterator[Node]":
        """The element and everything inside it."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def all(self, *tags: str) -> "list[Node]":
        """The elements with one of these tags."""
        return [node for node in self.walk() if node.tag in tags]

    @property
    def text(self) -> str:
        """The text inside, as it stands."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def name(self) -> str:
        """The text inside with blanks collapsed."""
        return " ".join(self.text.split())


class _TreeBuilder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("#document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, "the page is not well nested"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        # The first line end in a text area belongs to the markup.
        first_in_area = self.open[-1].tag == "textarea" and not self.open[-1].children
        self.open[-1].children.append(data.removeprefix("\n") if first_in_area else data)


def parse_page(text: str) -> Node:
    """The tree of a page."""
    builder = _TreeBuilder()
    builder.feed(text)
    builder.close()
    assert len(builder.open) == 1, "an element is not closed"
    return builder.root


@frozen
class Answer:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def page(self) -> Node:
        """The body as a page."""
        return parse_page(self.body.decode())

    @property
    def json(self) -> object:
        """The body as JSON."""
        return json.loads(self.body)


def ask(  # noqa: PLR0913 - the parts of a request
    origin: str,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = PATIENT,
) -> Answer:
    """Send one request on a connection of its own.

    Raises:
        TimeoutError: No answer in time.
        ConnectionRefusedError: Nobody listens.
    """
    connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=timeout)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, response.read())
    finally:
        connection.close()


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@define
class Person:
    """Someone at the app: a cookie and a page, nothing else."""

    origin: str
    cookie: str = ""
    path: str = ""
    answer: Answer = field(default=Answer(0, {}, b""), repr=False)
    page: Node = field(factory=lambda: Node("#document", {}), repr=False)

    def open(self, path: str) -> Answer:
        """Open a path and follow redirects."""
        return self._follow("GET", path, None)

    def send(self, path: str, members: Mapping[str, str]) -> Answer:
        """Send a form and follow redirects."""
        return self._follow("POST", path, urlencode(members).encode())

    def sign_in(self, scenario: str, user: str = "Surehand Sandbox") -> Answer:
        """Sign in to a scenario."""
        return self.send("/sign-in", {"user": user, "scenario": scenario})

    def save(self, note: str, referral: str = "r-104", urgency: str = "Routine") -> Answer:
        """Save a note."""
        return self.send(f"/referrals/{referral}/notes", {"note": note, "urgency": urgency})

    def _follow(self, method: str, path: str, body: bytes | None) -> Answer:
        for _ in range(5):
            headers = {"Cookie": self.cookie} if self.cookie else {}
            answer = ask(
                self.origin,
                method,
                path,
                body=body,
                headers=headers | (FORM if body is not None else {}),
            )
            if "set-cookie" in answer.headers:
                self.cookie = answer.headers["set-cookie"].partition(";")[0]
            if answer.status != http.client.SEE_OTHER:
                self.path, self.answer, self.page = path, answer, answer.page
                return answer
            method, path, body = "GET", answer.headers["location"], None
        raise AssertionError("too many redirects")


@define
class PlainPerformer:
    """Performs the machine's commands on the real app with a plain client; it has no fence and no boundary.

    Args:
        bundle: The workflow.
        target: The app.
        answers: Whether the app answers a save. From one that does not, nothing is waited for after that.
    """

    bundle: Bundle
    target: AppTarget
    answers: bool = True
    person: Person = field(init=False)
    _patience: float = field(init=False, default=PATIENT)
    _values: dict[int, str] = field(init=False, factory=dict[int, str])

    def __attrs_post_init__(self) -> None:
        """Start with no cookie and no page."""
        self.person = Person(self.target.origin)

    def perform(self, command: Command) -> Observation:  # noqa: C901, PLR0911 - one line for each command
        """Perform one command."""
        match command:
            case Open(path=path):
                self._show(path)
                return Done()
            case CheckPage(gate=gate):
                return self._check(gate.path, gate.landmark)
            case ReadTexts(targets=targets, rows=rows):
                found = [self._find(target, row) for target, row in zip(targets, rows, strict=True)]
                faults = [each for each in found if isinstance(each, FaultKind)]
                return (
                    Fault(faults[0]) if faults else Texts(tuple(each.name for each in found if isinstance(each, Node)))
                )
            case Fill(target=target, row=row, text=text):
                return self._enter(target, row, text)
            case Choose(target=target, row=row, label=label):
                return self._enter(target, row, label)
            case ReadValue(target=target, row=row):
                node = self._find(target, row)
                return Fault(node) if isinstance(node, FaultKind) else Texts((self._value(node),))
            case Click(target=target, row=row):
                node = self._find(target, row)
                return Fault(node) if isinstance(node, FaultKind) else self._click(node)
            case Save(target=target, row=row):
                return self._save(target, row)
            case ReadRecords():
                return self._records()
            case Wait():
                return Done()
            case _:
                raise AssertionError("nothing follows the end")

    def _show(self, path: str) -> None:
        self.person.open(path)
        self._values.clear()

    def _check(self, path: str, landmark: Target) -> Observation:
        shown = self.person.path.partition("?")[0].split("/")
        wanted = path.split("/")
        fits = len(shown) == len(wanted) and all(w in ("*", s) for w, s in zip(wanted, shown, strict=True))
        if fits and isinstance(self._find(landmark, None), Node):
            return Done()
        return Fault(FaultKind.SIGN_IN_SHOWN if shown == ["", "sign-in"] and not fits else FaultKind.PAGE_UNEXPECTED)

    def _enter(self, target: Target, row: str | None, text: str) -> Observation:
        node = self._find(target, row)
        if isinstance(node, FaultKind):
            return Fault(node)
        if node.tag == "select" and text not in [option.name for option in node.all("option")]:
            return Fault(FaultKind.OPTION_MISSING)
        self._values[id(node)] = text
        return Done()

    def _value(self, node: Node) -> str:
        default = node.all("option")[0].name if node.tag == "select" else node.text
        return self._values.get(id(node), default)

    def _click(self, node: Node) -> Observation:
        if node.tag == "a":
            self._show(node.attributes["href"])
        else:
            self.person.send(*self._filled(node))
            self._values.clear()
        return Done()

    def _save(self, target: Target, row: str | None) -> Observation:
        node = self._find(target, row)
        assert isinstance(node, Node)
        path, members = self._filled(node)
        self._values.clear()
        if not self.answers:
            return self._save_without_answer(path, members)
        self.person.send(path, members)
        return SaveObserved(Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED)

    def _save_without_answer(self, path: str, members: Mapping[str, str]) -> Observation:
        """Send a form and give up, but not before the app has it: one whose client is gone early is no form to it."""
        oracle = Oracle(self.target)
        stored = len(oracle.notes())
        with held_form(self.person, path, members) as connection:
            assert eventually(lambda: len(oracle.notes()) > stored)
            self._patience = IMPATIENT
            answered = is_answered(connection)
        delivery = Delivery.SENT_ONCE if answered else Delivery.UNKNOWN
        return SaveObserved(delivery, 0, boundary=BoundaryAnswer.GRANTED)

    def _filled(self, button: Node) -> tuple[str, dict[str, str]]:
        """Where the form of a button goes, and what it says."""
        (form,) = [form for form in self.person.page.all("form") if button in form.walk()]
        assert form.attributes["method"] == "post"
        fields = form.all("input", "select", "textarea")
        # A browser sends the line ends of a text area as two characters.
        members = {each.attributes["name"]: self._value(each).replace("\n", "\r\n") for each in fields}
        return form.attributes["action"], members

    def _records(self) -> Observation:
        source = self.bundle.read_back.source
        assert isinstance(source, JsonRecords)
        try:
            answer = ask(
                self.target.record_origin,
                "GET",
                source.path,
                headers=self.target.record_headers,
                timeout=self._patience,
            )
        except TimeoutError:
            return RecordsUnavailable()
        listed = json.loads(answer.body)[source.items]
        return Records(tuple(Record(each[source.key], each) for each in listed))

    def _find(self, target: Target, row: str | None) -> Node | FaultKind:
        places = [self.person.page]
        if row is not None:
            places = [tr for tr in self.person.page.all("tr") if [td.name for td in tr.all("td")].count(row) == 1]
        found = [node for place in places for node in _named(place, target)]
        if not found:
            return FaultKind.TARGET_MISSING
        return found[0] if len(found) == 1 else FaultKind.TARGET_NOT_UNIQUE


_ROLES = {"heading": ("h1", "h2", "h3"), "link": ("a",), "button": ("button",)}


def _named(place: Node, target: Target) -> list[Node]:
    match target.kind:
        case TargetKind.TEST_ID:
            return [node for node in place.walk() if node.attributes.get("data-testid") == target.name]
        case TargetKind.ROLE:
            return [node for node in place.all(*_ROLES[target.role or ""]) if node.name == target.name]
        case TargetKind.LABEL:
            labeled = [label.attributes["for"] for label in place.all("label") if label.name == target.name]
            return [node for node in place.walk() if node.attributes.get("id") in labeled]
        case TargetKind.ATTRIBUTE | TargetKind.CAPTION:
            raise AssertionError("no workflow on the sandbox names an element so")


@frozen
class Oracle:
    """Reads the record interface as nobody's reader: all scenarios, never silent."""

    target: AppTarget

    def notes(self, referral: str = "r-104") -> list[dict[str, str]]:
        """Every note of the referral, over all scenarios."""
        answer = ask(self.target.record_origin, "GET", f"/api/referrals/{referral}/notes", headers=self._headers())
        notes: list[dict[str, str]] = json.loads(answer.body)["notes"]
        return notes

    def count(self, note: str) -> int:
        """How many stored notes have exactly this text."""
        return [each["note"] for each in self.notes()].count(note)

    def writes(self) -> dict[str, int]:
        """How many requests that could write arrived, by method and path."""
        answer = ask(self.target.record_origin, "GET", "/api/log", headers=self._headers())
        writes: dict[str, int] = json.loads(answer.body)["writes"]
        return writes

    def _headers(self) -> dict[str, str]:
        return {"Authorization": self.target.record_headers["Authorization"]}


@contextmanager
def held_form(person: Person, path: str, members: Mapping[str, str]) -> Generator[http.client.HTTPConnection]:
    """Send a form on a connection that stays open, and do not wait for the answer."""
    connection = http.client.HTTPConnection(person.origin.removeprefix("http://"), timeout=PATIENT)
    connection.request("POST", path, urlencode(members), {"Cookie": person.cookie, **FORM})
    with closing(connection):
        yield connection


@contextmanager
def held_save(person: Person, note: str, oracle: Oracle) -> Generator[http.client.HTTPConnection]:
    """A save that hangs: the app has stored the note, and its connection stays open for a block."""
    form = {"note": note, "urgency": "Routine"}
    with held_form(person, "/referrals/r-104/notes", form) as connection:
        assert eventually(lambda: oracle.count(note) == 1)
        yield connection


def is_answered(connection: http.client.HTTPConnection) -> bool:
    """Whether an answer comes, in a time in which one would that is there."""
    connection.sock.settimeout(IMPATIENT)
    try:
        connection.getresponse()
    except TimeoutError:
        return False
    return True
