"""The console over HTTP: the queue, one stopped run, and the forms that decide about it.

Laws of this module:

- It answers this computer alone: a request that names another host is refused before anything is looked at.
- Looking changes nothing. What changes something is a POST of a page of ours, with the proof of its session.
- A page that only compares itself opens nothing sealed.
- Without ``--attend`` nothing sealed is opened; without ``--allow-actions`` beside it nothing can be decided.
- What is refused is answered with fixed copy. No page is kept by a browser.
"""

import hashlib
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from attrs import evolve, frozen
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surehand.core.attention.console import Card, card
from surehand.core.attention.decision import DecisionRequest, DecisionStatus, Door
from surehand.core.attention.pause import IN_WINDOW, Action, AttentionPage
from surehand.core.wire import to_wire
from surehand.shell.attended.desk import AttendedDesk, Shown
from surehand.shell.console import pages
from surehand.shell.console.entry import Entry, Session, same
from surehand.shell.store.base import StoreError

HOST: Final = "127.0.0.1"

_COOKIE: Final = "surehand_console"
_MOST_BYTES: Final = 8 * 1024
_ON_PAGE: Final = 25

#: Seconds that a decision which somebody performs is waited for before its page is shown.
_PATIENCE: Final = 1.0

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Under no-referrer a form would say that its origin is null.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_Handler = Callable[[Request, Session], Awaitable[Response]]


@frozen
class Console:
    """One running console.

    Args:
        desk: Where stopped runs are looked at and decided about.
        entry: Who may look.
        port: Where it is served.
        attends: Whether what was sealed may be seen.
        decides: Whether decisions are taken.
    """

    desk: AttendedDesk
    entry: Entry
    port: int
    attends: bool
    decides: bool

    def asgi(self) -> ASGIApp:
        """The app for a server."""
        handlers = {HTTPException: _refused, StoreError: _no_ledger}
        return _Guarded(Starlette(routes=self._routes(), exception_handlers=handlers), self.port)

    def _routes(self) -> list[Route]:
        return [
            Route("/", self._queue),
            Route("/session", self._enter, methods=["POST"]),
            Route("/leave", self._changing(self._leave), methods=["POST"]),
            Route("/state", self._seen(self._state)),
            Route("/items/{item}", self._seen(self._item)),
            Route("/items/{item}/frame", self._seen(self._frame)),
            Route("/items/{item}/open", self._deciding(self._asking(self.desk.ask_opening)), methods=["POST"]),
            Route("/items/{item}/renew", self._deciding(self._asking(self.desk.renew)), methods=["POST"]),
            Route("/items/{item}/{action}", self._deciding(self._decide), methods=["POST"]),
            Route("/static/{name}", _static),
        ]

    # Looking.

    async def _queue(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return HTMLResponse(pages.sign_in())
        page = await run_in_threadpool(self.desk.items, _ON_PAGE, request.query_params.get("after"))
        return HTMLResponse(pages.queue(page, proof=session.proof, mark=_mark(page)))

    async def _item(self, request: Request, session: Session) -> Response:
        shown = await run_in_threadpool(self._card, request.path_params["item"])
        refused, session.refused = session.refused, None
        return HTMLResponse(pages.item(*shown, proof=session.proof, mark=_mark(shown[0]), refused=refused))

    async def _frame(self, request: Request, _session: Session) -> Response:
        shown, _ = await run_in_threadpool(self._card, request.path_params["item"])
        if shown.evidence is None or shown.evidence.frame is None:
            raise HTTPException(404)
        return Response(b64decode(shown.evidence.frame), media_type="image/png")

    async def _state(self, request: Request, _session: Session) -> Response:
        """What a page compares itself with: one short text for all that it shows."""
        item = request.query_params.get("item")
        if item is not None:
            shown, _ = await run_in_threadpool(self._card, item, self.desk.glance)
            return JSONResponse({"mark": _mark(shown)})
        page = await run_in_threadpool(self.desk.items, _ON_PAGE, request.query_params.get("after"))
        return JSONResponse({"mark": _mark(page)})

    def _card(self, item_id: str, look: Callable[[str], Shown | None] | None = None) -> tuple[Card, str]:
        """A stopped run as this console may show it, and the name of its workflow."""
        shown = (look or self.desk.show)(item_id)
        if shown is None:
            raise HTTPException(404)
        codes = {action: self.desk.code(item_id, action) for action in IN_WINDOW} if self.attends else {}
        shown_card = card(
            shown.item,
            receipts=shown.receipts,
            evidence=shown.evidence if self.attends else None,
            codes={action: code for action, code in codes.items() if code is not None},
            may_decide=self.decides,
        )
        return shown_card, shown.workflow

    # Changing.

    async def _decide(self, request: Request, session: Session) -> Response:
        action = next((each for each in Action if each.value == request.path_params["action"]), None)
        if action is None:
            raise HTTPException(404)
        form, item_id = await _form(request), request.path_params["item"]
        asked = DecisionRequest(
            attention_id=item_id,
            capability_digest=form.get("capability_digest", ""),
            idempotency_key=form.get("idempotency_key", ""),
            confirm=form.get("confirm") == "yes",
        )
        receipt = await run_in_threadpool(self.desk.decide, asked, action, Door.CONSOLE, wait=_PATIENCE)
        session.refused = receipt if receipt.status is DecisionStatus.REFUSED else None
        return _see(f"/items/{item_id}#result")

    @staticmethod
    def _asking(ask: Callable[[str], object]) -> _Handler:
        """A handler that asks something of the desk about one stopped run, and shows the run."""

        async def handle(request: Request, _session: Session) -> Response:
            await run_in_threadpool(ask, request.path_params["item"])
            return _see(f"/items/{request.path_params['item']}")

        return handle

    # Coming and going.

    async def _enter(self, request: Request) -> Response:
        _require_own_origin(request, self.port)
        name = self.entry.enter((await _form(request)).get("token", ""))
        if name is None:
            return HTMLResponse(pages.sign_in(problem=pages.NOT_THE_NEWEST), 403)
        response = _see("/")
        response.set_cookie(_COOKIE, name, httponly=True, samesite="strict")
        return response

    async def _leave(self, request: Request, _session: Session) -> Response:
        self.entry.leave(request.cookies.get(_COOKIE, ""))
        response = _see("/")
        response.delete_cookie(_COOKIE, httponly=True, samesite="strict")
        return response

    def _session(self, request: Request) -> Session | None:
        return self.entry.session(request.cookies.get(_COOKIE, ""))

    def _seen(self, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler for a person who is known here."""

        async def handle(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                raise HTTPException(403)
            return await handler(request, session)

        return handle

    def _changing(self, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler that changes something: for a form of this session, sent by a page of ours."""

        async def handle(request: Request, session: Session) -> Response:
            _require_own_origin(request, self.port)
            if not same((await _form(request)).get("proof", ""), session.proof):
                raise HTTPException(403)
            return await handler(request, session)

        return self._seen(handle)

    def _deciding(self, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler that changes something, where decisions are taken at all."""

        async def handle(request: Request, session: Session) -> Response:
            if not self.decides:
                raise HTTPException(404)
            return await handler(request, session)

        return self._changing(handle)


class _Guarded:
    """Refuses what names another host, and puts the headers on every answer."""

    def __init__(self, inner: ASGIApp, port: int) -> None:
        self._inner = inner
        self._hosts = frozenset({f"{HOST}:{port}".encode(), f"localhost:{port}".encode()})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = ((name.lower().encode(), value.encode()) for name, value in _HEADERS.items())
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) == 1 and hosts[0] in self._hosts:
            await self._inner(scope, receive, with_headers)
        else:
            await Response("This console answers this computer alone.", 421)(scope, receive, with_headers)


def _require_own_origin(request: Request, port: int) -> None:
    """Refuse a POST that no page of ours sent.

    Raises:
        HTTPException: Its origin is another one, or is not said.
    """
    if request.headers.get("origin") not in {f"http://{HOST}:{port}", f"http://localhost:{port}"}:
        raise HTTPException(403)


async def _form(request: Request) -> dict[str, str]:
    """The members of a form; the first of each.

    Raises:
        HTTPException: It is larger than any form of ours, or is none.
    """
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > _MOST_BYTES:
        raise HTTPException(413)
    try:
        members = parse_qs((await request.body()).decode(), strict_parsing=True, keep_blank_values=True)
    except ValueError:
        raise HTTPException(400) from None
    return {name: values[0] for name, values in members.items()}


def _mark(shown: Card | AttentionPage) -> str:
    """What a page compares itself with; what was sealed never changes, and is no part of it."""
    if isinstance(shown, Card):
        shown = evolve(shown, evidence=None)
    return hashlib.sha256(json.dumps(to_wire(shown), sort_keys=True).encode()).hexdigest()[:32]


def _see(address: str) -> Response:
    return RedirectResponse(address, 303)


async def _static(request: Request) -> Response:
    found = pages.STATIC_FILES.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found[1], media_type=found[0])


async def _refused(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return HTMLResponse(pages.message(status), status)


async def _no_ledger(_request: Request, _error: Exception) -> Response:
    return HTMLResponse(pages.message(503), 503)
