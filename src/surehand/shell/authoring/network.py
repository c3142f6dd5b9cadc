"""What the network did during a demonstration.

Laws of this module:

- It listens only: nothing is held back, changed or sent again.
- A body is looked at in memory, for its operation or for the shape of its records, and is written nowhere.
"""

import asyncio
import json
import re
import time
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from attrs import define, field, frozen
from playwright.async_api import BrowserContext, Error, Request, Response, WebSocket

from surehand.core.workflow.fence import asked_method
from surehand.core.workflow.operation import form_fields, graphql, holds
from surehand.core.workflow.recording import Place
from surehand.core.workflow.route import FormField, JsonMember, Operation
from surehand.core.workflow.target import QueryPart
from surehand.shell.authoring.reports import Submitted

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

#: Bytes of a body that are looked at, and answers that are kept for comparison.
_MOST_BYTES: Final = 2 * 1024 * 1024
_MOST_ANSWERS: Final = 300

#: Milliseconds from the submission of a form to its request; the clocks of the two are not quite one.
_SUBMISSION_MS: Final = range(-100, 5_000)

#: Form members by whose value servers tell operations apart that have one address; the first stands for the method.
_OPERATION_MEMBERS: Final = ("_method", "action", "do", "op", "operation", "cmd", "command")
_OPERATION: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]{0,59}")


@define
class Call:
    """One request while it goes on: what is known of it."""

    request: Request
    noted_at: float
    response: Response | None = None
    finished: bool = False

    @property
    def at(self) -> float:
        """When it was sent, in milliseconds of the wall clock."""
        started = self.request.timing["startTime"]
        return started if started > 0 else self.noted_at


@frozen
class Answer:
    """A JSON answer to a GET: when, from where, and what; it lives in memory only."""

    at: float
    url: str = field(repr=False)
    data: object = field(repr=False)
    fresh: bool = False


@frozen(kw_only=True)
class Sent:
    """One request as a recording keeps it, with its time."""

    at: float
    method: str
    place: Place
    content_type: str
    status_class: int
    redirected: bool = False
    answers_json: bool = False
    socket: bool = False
    operation: Operation | None = None


class Network:
    """Listens to the requests of a browser context.

    Args:
        context: The context, before its first page.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._calls: dict[Request, Call] = {}
        self._sockets: list[tuple[float, str]] = []
        self._reading: set[asyncio.Task[None]] = set()
        self.answers: list[Answer] = []
        context.on("request", self._begun)
        context.on("response", self._answered)
        context.on("requestfinished", self._finished)
        context.on("page", lambda page: page.on("websocket", self._opened))

    def _opened(self, socket: WebSocket) -> None:
        self._sockets.append((time.time() * 1000, socket.url))

    def _begun(self, request: Request) -> None:
        self._calls[request] = Call(request, time.time() * 1000)

    def _answered(self, response: Response) -> None:
        if (call := self._calls.get(response.request)) is not None:
            call.response = response

    def _finished(self, request: Request) -> None:
        call = self._calls.get(request)
        if call is not None and call.response is not None and request.method == "GET" and _is_json(call.response):
            task = asyncio.create_task(self._read(call, call.response))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)

    async def _read(self, call: Call, response: Response) -> None:
        """Keep a JSON answer for comparison. One that is gone from the browser, or is no JSON, is none."""
        with suppress(Error, ValueError):
            self._keep(call.at, response.url, await response.body())

    def _keep(self, at: float, url: str, body: bytes, *, fresh: bool = False) -> None:
        if len(body) <= _MOST_BYTES:
            self.answers.append(Answer(at, url, json.loads(body), fresh))
            del self.answers[:-_MOST_ANSWERS]

    async def settle(self) -> None:
        """Wait until the bodies under way are read."""
        if self._reading:
            await asyncio.wait(self._reading, timeout=5)

    async def ask_again(self, origin: str) -> None:
        """Ask for the app's JSON answers once more, with the cookies of the session alone."""
        urls = dict.fromkeys(answer.url for answer in self.answers if origin_of(answer.url) == origin)
        for url in list(urls)[-30:]:
            with suppress(Error, ValueError):
                response = await self._context.request.get(url, timeout=5_000, max_redirects=0)
                if response.ok and _json_type(response.headers.get("content-type", "")):
                    self._keep(time.time() * 1000, url, await response.body(), fresh=True)

    def sent(self, submissions: list[Submitted]) -> list[Sent]:
        """Everything that a recording keeps, in the order in which it left."""
        calls = (_sent(call, submissions) for call in self._calls.values())
        found = [each for each in calls if each is not None]
        found += [
            Sent(at=at, method="GET", place=place, content_type="", status_class=1, socket=True)
            for at, url in self._sockets
            if (place := place_at(url.replace("ws", "http", 1))) is not None
        ]
        return sorted(found, key=lambda each: each.at)


def _sent(call: Call, submissions: list[Submitted]) -> Sent | None:
    """A request as the recording keeps it; ``None`` for a plain part of a page."""
    request, response = call.request, call.response
    is_write = request.method not in READS
    answers_json = request.method == "GET" and response is not None and _is_json(response)
    place = place_at(request.url) if is_write or answers_json else None
    if place is None:
        return None
    kind = request.headers.get("content-type", "")
    return Sent(
        at=call.at,
        method=asked_method(request.method, request.headers.get("x-http-method-override")) or request.method,
        place=place,
        content_type=kind.partition(";")[0].strip().lower(),
        status_class=0 if response is None else min(response.status // 100, 9),
        redirected=request.redirected_to is not None,
        answers_json=answers_json,
        operation=operation_of(kind, _body(request), _buttons(call.at, submissions)) if is_write else None,
    )


def _body(request: Request) -> bytes:
    with suppress(Error):
        return (request.post_data_buffer or b"")[:_MOST_BYTES]
    return b""


def _buttons(at: float, submissions: list[Submitted]) -> list[FormField]:
    """The buttons that sent a form shortly before, the last one first."""
    near = [each for each in submissions if int(at) - each.at in _SUBMISSION_MS]
    return [FormField(each.name, each.value or None) for each in sorted(near, key=lambda each: -each.at)]


def operation_of(content_type: str, body: bytes, buttons: list[FormField]) -> Operation | None:
    """What tells this request from others to the same address, where its body says so.

    Args:
        content_type: The content type as sent.
        body: The body.
        buttons: The buttons by which the form may have been sent.
    """
    read = graphql(content_type, body)
    if read is not None:
        return read
    members = _members(content_type, body)
    meant = [each for each in members if each.name == _OPERATION_MEMBERS[0]]
    guesses: list[Operation] = [*_methods(body), *meant, *buttons, *members]
    return next((guess for guess in guesses if holds(guess, content_type, body)), None)


def _methods(body: bytes) -> list[JsonMember]:
    """The method of a JSON-RPC call."""
    try:
        data: object = json.loads(body)
    except ValueError:
        return []
    match data:
        case {"method": str(method)} if 0 < len(method) <= 200:  # noqa: PLR2004 - as the model says
            return [JsonMember("method", method)]
        case _:
            return []


def _members(content_type: str, body: bytes) -> list[FormField]:
    """Members of a form that name an operation."""
    form = {each.name: each.value or "" for each in form_fields(content_type, body) or ()}
    named = [(name, form[name]) for name in _OPERATION_MEMBERS if name in form]
    return [FormField(name, value) for name, value in named if _OPERATION.fullmatch(value)]


def _is_json(response: Response) -> bool:
    return _json_type(response.headers.get("content-type", ""))


def _json_type(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    return media == "application/json" or media.endswith("+json")


def origin_of(url: str) -> str:
    """The origin of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def place_at(url: str) -> Place | None:
    """The place of an address; ``None`` for what is no web address or too long to be kept."""
    parts = urlsplit(url)
    path = "/" + parts.path.lstrip("/")
    if parts.scheme not in {"http", "https"} or len(path) > 500:  # noqa: PLR2004 - as the model says
        return None
    query = tuple(
        QueryPart(name, value[:200])
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if 0 < len(name) <= 100 and not set(name) & set(" \t\r\n=&#")  # noqa: PLR2004 - as the model says
    )
    return Place(origin=origin_of(url), path=path, query=query[:30])
