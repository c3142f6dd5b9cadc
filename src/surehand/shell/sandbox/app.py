"""The clinic app over HTTP: pages behind a cookie session, and the record interface behind a token.

Laws of this module:

- The pages and the record interface share the clinic and nothing else: a cookie opens no record, the token no page.
- A request that hangs on purpose never holds up another.
  It ends when its client goes, when the app closes, or after ``HANG_SECONDS``.
- Every request that could write is counted before it is handled.
- What is refused is answered with fixed text.
"""

import asyncio
import hmac
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs

from attrs import field, frozen
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from surehand.shell.sandbox import pages
from surehand.shell.sandbox.address import SCENARIO_HEADER
from surehand.shell.sandbox.cases import CASES, Case
from surehand.shell.sandbox.clinic import MAX_NOTE_LENGTH, MAX_NOTES, Clinic, Referral, SaveAnswer, Visit

#: The longest that a hanging request is held, in seconds.
HANG_SECONDS: Final = 60.0

_COOKIE: Final = "clinic_session"
_MAX_SESSIONS: Final = 1_000
_MAX_COUNTED: Final = 1_000
_MAX_BODY: Final = 64 * 1024
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
_REFUSED_NOTE: Final = (
    f"The note was not saved. A note has 1 to {MAX_NOTE_LENGTH} characters, and a referral at most {MAX_NOTES} notes."
)
_PAGE_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@frozen
class ClinicApp:
    """One running clinic app.

    Args:
        token: What a reader of the record interface shows as its bearer token.
    """

    token: str = field(repr=False)
    closing: asyncio.Event = field(factory=asyncio.Event, init=False)
    _clinic: Clinic = field(factory=Clinic, init=False)
    _sessions: OrderedDict[str, Visit] = field(factory=OrderedDict[str, Visit], init=False, repr=False)
    _writes: Counter[str] = field(factory=Counter[str], init=False, repr=False)

    def asgi(self) -> ASGIApp:
        """The app for a server."""
        inner = Starlette(routes=self._routes(), exception_handlers={HTTPException: _error_page})
        return _CountedWrites(inner, self._writes)

    def _routes(self) -> list[Route]:
        return [
            Route("/", self._home),
            Route("/sign-in", self._sign_in_page),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
            Route("/referrals", self._work_list),
            Route("/referrals/{referral}", self._referral),
            Route("/referrals/{referral}/notes/new", self._note_form),
            Route("/referrals/{referral}/notes", self._save, methods=["POST"]),
            Route("/static/{name}", _static),
            Route("/api/health", _health),
            Route("/api/log", self._read(self._log)),
            Route("/api/referrals/{referral}/notes", self._read(self._notes)),
        ]

    # Pages

    async def _home(self, request: Request) -> Response:
        return _see("/referrals" if self._visit(request) else "/sign-in")

    async def _sign_in_page(self, _request: Request) -> Response:
        return _html(pages.sign_in())

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request)
        scenario = form.get("scenario", "")
        visit = self._clinic.sign_in(form.get("user", ""), scenario)
        if visit is None:
            return _refused_sign_in(scenario)
        session_id = secrets.token_urlsafe(24)
        self._sessions[session_id] = visit
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        response = _see("/referrals")
        response.set_cookie(_COOKIE, session_id, httponly=True, samesite="strict")
        return response

    async def _sign_out(self, request: Request) -> Response:
        self._sessions.pop(request.cookies.get(_COOKIE, ""), None)
        response = _see("/sign-in")
        response.delete_cookie(_COOKIE, httponly=True, samesite="strict")
        return response

    async def _work_list(self, request: Request) -> Response:
        visit = self._visit(request)
        if visit is None:
            return _see("/sign-in")
        return _html(pages.referrals(visit, self._clinic.work_list(visit.case)))

    async def _referral(self, request: Request) -> Response:
        visit = self._visit(request)
        if visit is None:
            return _see("/sign-in")
        row = self._row(request, visit.case)
        notes = self._clinic.notes(visit.case, row)
        return _html(pages.referral(visit, row, notes, saved=request.query_params.get("note") == "saved"))

    async def _note_form(self, request: Request) -> Response:
        visit = self._visit(request)
        if visit is None:
            return _see("/sign-in")
        return _html(pages.note_form(visit, self._row(request, visit.case)))

    async def _save(self, request: Request) -> Response:
        visit = self._visit(request)
        if visit is None:
            return _see("/sign-in")
        row, form = self._row(request, visit.case), await _form(request)
        note, urgency = form.get("note", "").replace("\r\n", "\n"), form.get("urgency", "")
        answer = self._clinic.save(visit, row, note=note, urgency=urgency, created=_now())
        if answer is SaveAnswer.REFUSED:
            return _html(pages.note_form(visit, row, note=note, urgency=urgency, problem=_REFUSED_NOTE), 422)
        if answer is SaveAnswer.NOTHING:
            return await self._hang(request)
        return _see(f"/referrals/{row.id}?note=saved")

    # The record interface

    def _read(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            shown = request.headers.get("authorization", "")
            if not hmac.compare_digest(shown.encode(), f"Bearer {self.token}".encode()):
                return _api({"error": "unauthorized"}, 401)
            return await answer(request)

        return checked

    async def _log(self, _request: Request) -> Response:
        return _api({"writes": dict(self._writes)})

    async def _notes(self, request: Request) -> Response:
        """All notes of one referral: those of the named scenario, or those of all scenarios when none is named."""
        named = request.headers.get(SCENARIO_HEADER)
        if named is not None and named not in CASES:
            return _api({"error": "no such scenario"}, 404)
        cases = list(CASES.values()) if named is None else [CASES[named]]
        rows = [(case, row) for case in cases if (row := self._clinic.referral(case, request.path_params["referral"]))]
        if not rows:
            return _api({"error": "no such referral"}, 404)
        if named is not None and self._clinic.is_silent(*rows[0]):
            return await self._hang(request)
        return _api({"notes": [note.as_json() for case, row in rows for note in self._clinic.notes(case, row)]})

    # Both

    def _visit(self, request: Request) -> Visit | None:
        return self._sessions.get(request.cookies.get(_COOKIE, ""))

    def _row(self, request: Request, case: Case) -> Referral:
        row = self._clinic.referral(case, request.path_params["referral"])
        if row is None:
            raise HTTPException(404)
        return row

    async def _hang(self, request: Request) -> Response:
        """Hold the request until its client goes, the app closes, or the time is over."""
        waits = {asyncio.ensure_future(_gone(request)), asyncio.ensure_future(self.closing.wait())}
        try:
            await asyncio.wait(waits, timeout=HANG_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return _html(pages.message("No answer", "The app did not answer in time.", link="/", link_text="Back"), 504)


@frozen
class _CountedWrites:
    """Counts the requests that could write, by method and path, and refuses those that another site sent."""

    app: ASGIApp
    counts: Counter[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        if scope["method"] not in _READS:
            name = f"{scope['method']} {scope['path']}"
            self.counts[name if name in self.counts or len(self.counts) < _MAX_COUNTED else "other"] += 1
        if request.url.hostname not in _HOSTS or not _same_site(request):
            await Response("Refused", 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _same_site(request: Request) -> bool:
    """Whether a request comes from our own page, or says nothing about where it comes from."""
    origin = request.headers.get("origin")
    return request.method in _READS or origin is None or origin == f"http://{request.headers.get('host', '')}"


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _form(request: Request) -> dict[str, str]:
    """The members of an urlencoded form; of a repeated one the last."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY:
                raise HTTPException(413)
    except ClientDisconnect:
        # An incomplete form is no form.
        raise HTTPException(400) from None
    try:
        members = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError:
        raise HTTPException(400) from None
    return {name: values[-1] for name, values in members.items()}


def _refused_sign_in(scenario: str) -> Response:
    case = CASES.get(scenario)
    if case is not None and not case.reachable:
        return _html(pages.offline(case), 503)
    return _html(pages.sign_in("Enter a user name and choose a scenario."), 422)


async def _static(request: Request) -> Response:
    found = pages.STATIC_FILES.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found[1], media_type=found[0], headers={"Cache-Control": "max-age=3600"})


async def _health(_request: Request) -> Response:
    return _api({"status": "ok"})


async def _error_page(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = "There is no such page." if status in {404, 405} else "The app cannot do this."
    return _html(pages.message("Not found" if status == 404 else "Refused", text, link="/", link_text="Back"), status)  # noqa: PLR2004 - the HTTP status


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, headers=_PAGE_HEADERS)


def _api(members: dict[str, object], status: int = 200) -> Response:
    return JSONResponse(members, status, headers={"Cache-Control": "no-store"})


def _see(path: str) -> Response:
    return RedirectResponse(path, 303, headers={"Cache-Control": "no-store"})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
