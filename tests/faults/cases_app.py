"""An app of charts with switchable faults: pages, a log of every request, and a store that is read beside it.

Laws of this module:

- The app shares no code with what is tested. It knows requests and its own store, and judges nothing.
- Every request is logged before it is handled.
- A fault is a value of ``Faults``; an app without one keeps what it was sent, and says so.
- The record interface listens on a port of its own, so that the app can be gone while its records can still be read.
"""

import html
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum, unique
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

from attrs import define, field, frozen

#: The longest that the app holds a request on purpose, in seconds.
HANG_SECONDS: Final = 20.0

#: How late a page is that is asked for under ``/late``, in seconds.
LATE_SECONDS: Final = 0.6

Members = dict[str, str]


@frozen
class Patient:
    """One chart of the app."""

    number: str
    born: str
    name: str


@frozen
class Received:
    """One request as it arrived."""

    method: str
    path: str
    body: str


@unique
class Answer(Enum):
    """What the app answers to a save, after it did with the entry what it does."""

    REDIRECT = "redirect"
    PAGE = "page"
    ERROR_500 = "error_500"
    BAD_GATEWAY = "bad_gateway"
    UNPROCESSABLE = "unprocessable"
    SIGN_IN = "sign_in"
    HANG = "hang"
    CLOSE = "close"
    CLOSE_FIRST = "close_first"


def kept(sent: Members) -> list[Members]:
    """Store what was sent, once."""
    return [sent]


def lost(_sent: Members) -> list[Members]:
    """Store nothing."""
    return []


def as_they_are(rows: list[Members], _reads: int) -> list[Members]:
    """Show the rows as they are stored."""
    return rows


def nothing_happens(_app: "ChartApp") -> None:
    """No event."""


#: The form's fields as the app shows them, by name.
CONTROLS: Final[Mapping[str, str]] = {
    "note": "<label>Note <textarea name='note'></textarea></label>",
    "subject": "<label>Subject <input name='subject'></label>",
    "dose": "<label>Dose <input name='dose' inputmode='decimal'></label>",
    "due": "<label>Due <input name='due'></label>",
    "code": "<label>Code <input name='code'></label>",
    "priority": "<label for=priority>Priority</label> <select id=priority name='priority'>"
    "<option>Routine<option>Urgent<option>Not urgent</select>",
}


@frozen(kw_only=True)
class Faults:
    """The switches of the app.

    Args:
        controls: HTML in place of a field's usual one.
        form_script: JavaScript at the end of the form's page, in which ``form`` is the form.
        form_extra: HTML behind the form.
        list_page: HTML in place of the list's rows.
        list_script: JavaScript at the end of the list's page.
        saved_script: JavaScript of the page that says that the entry was saved.
        save_button: HTML of the button that saves.
        store: The rows that are stored for an entry.
        answer: What is answered to a save.
        answer_after: Seconds until that.
        lag: Seconds until the record interface shows a row.
        shown: What the record interface shows of the rows; the second argument counts its answers from 1.
        sign_in_at: The page in whose place the sign-in page is shown: ``list``, ``form``, or ``in_place`` of the
            form without another path.
        check_at_form: Whether a human check is shown in place of the form.
        at_read: Happens after so many answers of the record interface.
        after_form: Happens after the form was shown.
        before_form: Happens before the form is shown.
        session_decides: Whether an entry goes to the patient of the session, whatever the form says.
        one_time: Whether a save needs a token that is used up by the first.
        whole_record: Whether a save writes the chart's allergy as the form was loaded with it.
    """

    controls: Mapping[str, str] = field(factory=dict[str, str])
    form_script: str = ""
    form_extra: str = ""
    list_page: str | None = None
    list_script: str = ""
    saved_script: str = ""
    save_button: str = "<button>Save</button>"
    store: Callable[[Members], list[Members]] = kept
    answer: Answer = Answer.REDIRECT
    answer_after: float = 0.0
    lag: float = 0.0
    shown: Callable[[list[Members], int], list[Members]] = as_they_are
    sign_in_at: str | None = None
    check_at_form: bool = False
    at_read: tuple[int, Callable[["ChartApp"], None]] = (0, nothing_happens)
    after_form: Callable[["ChartApp"], None] = nothing_happens
    before_form: Callable[["ChartApp"], None] = nothing_happens
    session_decides: bool = False
    one_time: bool = False
    whole_record: bool = False


@frozen
class Reply:
    """One answer of the app; ``None`` instead of one closes the connection without a byte."""

    body: str
    status: int = 200
    media_type: str = "text/html; charset=utf-8"
    location: str | None = None


@define
class ChartApp:
    """One running app.

    Args:
        patients: Its charts, in the order of the list.
        fields: The fields of its form, in order.
        faults: Its switches.
    """

    patients: tuple[Patient, ...]
    fields: tuple[str, ...]
    faults: Faults = field(factory=Faults)
    log: list[Received] = field(factory=list[Received])
    rows: list[tuple[float, Members]] = field(factory=list[tuple[float, Members]])
    charts: dict[str, Members] = field(init=False)
    session: str = ""
    reads: int = 0
    used_tokens: int = 0
    closing: threading.Event = field(factory=threading.Event)
    _guard: threading.RLock = field(factory=threading.RLock, init=False)
    _connections: set[socket.socket] = field(factory=set[socket.socket], init=False)
    _app: ThreadingHTTPServer = field(init=False)
    _records: ThreadingHTTPServer = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin to serve."""
        self.charts = {each.number: {"allergy": "none", "edited_by": "nobody"} for each in self.patients}
        self._app = self._serve(self._answer_page, self._connections)
        self._records = self._serve(self._answer_records, set())

    # What is looked at from outside

    @property
    def origin(self) -> str:
        """Where the pages are."""
        return f"http://127.0.0.1:{self._app.server_address[1]}"

    @property
    def record_origin(self) -> str:
        """Where the record interface is."""
        return f"http://127.0.0.1:{self._records.server_address[1]}"

    @property
    def writes(self) -> list[Received]:
        """Every request that could write, of whatever kind."""
        with self._guard:
            return [each for each in self.log if each.method != "GET"]

    @property
    def stored(self) -> list[Members]:
        """The rows of the store."""
        with self._guard:
            return [row for _, row in self.rows]

    def refuse_connections(self) -> None:
        """Stop listening for pages and cut what is connected: the next connection is refused."""
        self._app.shutdown()
        self._app.server_close()
        with self._guard:
            open_now = list(self._connections)
        for connection in open_now:
            _cut(connection)

    def close(self) -> None:
        """Let everything go and stop serving."""
        self.closing.set()
        for server in (self._app, self._records):
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Self:
        """Serve for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()

    # Requests

    def _serve(
        self, answer: Callable[[Received], Reply | None], connections: set[socket.socket]
    ) -> ThreadingHTTPServer:
        app = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Print nothing."""

            def setup(self) -> None:
                """Remember the connection."""
                super().setup()
                connections.add(self.connection)

            def do_GET(self) -> None:
                """Take a request, log it, answer it."""
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length).decode("utf-8", "replace")
                received = Received(self.command, self.path, body)
                with app._guard:
                    app.log.append(received)
                reply = answer(received)
                if reply is None:
                    self.close_connection = True
                    _cut(self.connection)
                else:
                    _send(self, reply)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names of the base class

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def _answer_records(self, _received: Received) -> Reply:
        with self._guard:
            self.reads += 1
            now, read = time.monotonic(), self.reads
            visible = [dict(row) for at, row in self.rows if at + self.faults.lag <= now]
            shown = self.faults.shown(visible, read)
            if self.faults.whole_record:
                shown = [{"id": f"chart-{number}", **chart} for number, chart in self.charts.items()] + shown
        at, happens = self.faults.at_read
        if read == at:
            happens(self)
        return Reply(json.dumps({"items": shown}), media_type="application/json")

    def _answer_page(self, received: Received) -> Reply | None:  # noqa: PLR0911 - one line for each path
        path = urlsplit(received.path).path
        if received.method != "GET":
            return self._write(received, path)
        match path.strip("/").split("/"):
            case ["patients"]:
                return self._list()
            case ["select", number]:
                self.session = number
                return Reply("", 303, location="/patients/current/entries/new")
            case ["patients", number, "entries", "new"]:
                return self._form(number)
            case ["patients", _]:
                return Reply(
                    f"<h1>Chart</h1><p role=status>Entry saved.</p><script>{self.faults.saved_script}</script>"
                )
            case ["sign-in"]:
                return SIGN_IN_PAGE
            case ["late", *rest]:
                self.closing.wait(LATE_SECONDS)
                return Reply("", 303, location="/" + "/".join(rest))
            case _:
                return Reply("<h1>No such page</h1>", 404)

    # Pages

    def _list(self) -> Reply:
        if self.faults.sign_in_at == "list":
            return Reply("", 303, location="/sign-in")
        rows = "".join(map(self._row, self.patients)) if self.faults.list_page is None else self.faults.list_page
        return Reply(
            "<h1>Patients</h1><table><thead><tr><th>Number<th>Name<th>Born<th>Chart</tr></thead>"
            f"<tbody>{rows}</tbody></table><script>{self.faults.list_script}</script>"
        )

    def _row(self, patient: Patient) -> str:
        goes_to = f"/select/{patient.number}" if self.faults.session_decides else _form_path(patient)
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in (patient.number, patient.name, patient.born))
        return f"<tr>{cells}<td><a href='{goes_to}'>Open</a></td></tr>"

    def _form(self, number: str) -> Reply:
        self.faults.before_form(self)
        if self.faults.sign_in_at == "form":
            return Reply("", 303, location="/sign-in")
        if self.faults.sign_in_at == "in_place":
            return SIGN_IN_PAGE
        if self.faults.check_at_form:
            return Reply("<h1>Are you human?</h1><label>Note <textarea></textarea></label><button>Save</button>")
        found = self._patient(self.session if number == "current" else number)
        if found is None:
            return Reply("<h1>No such patient</h1>", 404)
        page = self._form_page(found, number)
        self.faults.after_form(self)
        return Reply(page)

    def _form_page(self, patient: Patient, number: str) -> str:
        controls = "".join(self.faults.controls.get(name, CONTROLS[name]) for name in self.fields)
        allergy = html.escape(self.charts[patient.number]["allergy"])
        return (
            "<style>label,button{display:block;margin:8px}</style><h1>New entry</h1>"
            f"<p><b data-testid=number>{patient.number}</b> <b data-testid=name>{html.escape(patient.name)}</b> "
            f"<b data-testid=born>{patient.born}</b></p>"
            f"<form method=post action='/patients/{number}/entries'>{controls}"
            f"<input type=hidden name=allergy value='{allergy}'><input type=hidden name=token value='t'>"
            f"{self.faults.save_button}</form><p role=status></p>{self.faults.form_extra}"
            f"<script>const form = document.querySelector('form'); {self.faults.form_script}</script>"
        )

    # Saving

    def _write(self, received: Received, path: str) -> Reply | None:
        match path.strip("/").split("/"):
            case ["patients", number, "entries"]:
                return self._save(number, received)
            case _:
                return Reply("<h1>Refused</h1>", 405)

    def _save(self, number: str, received: Received) -> Reply | None:
        with self._guard:
            first = self.used_tokens == 0
            self.used_tokens += 1
            if first or not self.faults.one_time:
                self._keep(self.session if number == "current" else number, _members(received.body))
        if self.faults.one_time and not first:
            return Reply("")
        self.closing.wait(self.faults.answer_after)
        return self._answer(number, first=first)

    def _keep(self, number: str, sent: Members) -> None:
        patient = self._patient(number)
        if patient is None:
            return
        allergy = sent.pop("allergy", "")
        sent.pop("token", None)
        if self.faults.whole_record:
            self.charts[number]["allergy"] = allergy
        rows = self.faults.store(sent)
        for row in rows:
            row_id = f"entry-{len(self.rows) + 1}"
            self.rows.append((time.monotonic(), {"number": number, "born": patient.born, **row, "id": row_id}))

    def _answer(self, number: str, *, first: bool) -> Reply | None:
        if self.faults.answer is Answer.HANG:
            self.closing.wait(HANG_SECONDS)
        saved = f"<h1>Chart</h1><p role=status>Entry saved.</p><script>{self.faults.saved_script}</script>"
        answers = {
            Answer.REDIRECT: Reply("", 303, location=f"/patients/{number}"),
            Answer.PAGE: Reply(saved),
            Answer.ERROR_500: Reply(saved, 500),
            Answer.BAD_GATEWAY: Reply("<h1>Bad gateway</h1>", 502),
            Answer.UNPROCESSABLE: Reply("{}", 422, "application/json"),
            Answer.SIGN_IN: Reply("", 303, location="/sign-in"),
            Answer.HANG: None,
            Answer.CLOSE: None,
            Answer.CLOSE_FIRST: None if first else Reply(saved),
        }
        return answers[self.faults.answer]

    def _patient(self, number: str) -> Patient | None:
        return next((each for each in self.patients if each.number == number), None)


#: A page that looks like the form to whoever looks only at labels, and tells the server of every key.
SIGN_IN_PAGE: Final = Reply(
    "<h1>Sign in</h1><form method=post action='/sign-in'><label>Note <textarea name=note></textarea></label>"
    "<label>Subject <input name=subject></label><label>Password <input type=password name=password></label>"
    "<button>Save</button></form><script>document.addEventListener('input', event => "
    "fetch('/told?' + encodeURIComponent(event.target.value)))</script>"
)


def _form_path(patient: Patient) -> str:
    return f"/patients/{patient.number}/entries/new"


def _members(body: str) -> Members:
    """The members of a JSON object or of an urlencoded form."""
    if body.startswith("{"):
        return {name: str(value) for name, value in json.loads(body).items()}
    return {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    body = reply.body.encode()
    handler.send_response(reply.status)
    handler.send_header("Content-Type", reply.media_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.send_header("Cache-Control", "no-store")
    if reply.location is not None:
        handler.send_header("Location", reply.location)
    handler.end_headers()
    handler.wfile.write(body)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
