"""A small site of our own, a browser that looks at it, and a workflow on it: what the browser tests share."""

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

from attrs import define, field, frozen
from playwright.async_api import BrowserContext, Error, Page

from surehand.core.outcome.evidence import CheckLevel, Phase
from surehand.core.request.gate import Start
from surehand.core.request.record import RunRecord
from surehand.core.workflow.bundle import Bundle, FillStep, IdentityField, OpenStep, ReadBack, ReadField, Rule, SaveStep
from surehand.core.workflow.commands import BoundaryAnswer
from surehand.core.workflow.fence import FenceRules
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind, Within
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.engines.browser.engine import Tools, start_tools
from surehand.shell.engines.browser.page import PageCommand, PageObservation, RunPage
from surehand.shell.engines.browser.viewing import Limits, new_context
from surehand.shell.fence.client import FenceRun
from surehand.shell.identity import new_run_id
from surehand.shell.store.base import RunStore

T = TypeVar("T")

#: Short waits for what never comes.
SHORT = Limits(wait_ms=3_000, open_ms=30_000, write_ms=900, rest_ms=10_000)

#: Long waits for what does come, also on a busy machine; for what has no end, as a rule, not that long.
PATIENT = Limits(
    wait_ms=20_000,
    fresh_ms=60_000,
    open_ms=30_000,
    write_ms=20_000,
    answer_ms=8_000,
    react_ms=8_000,
    read_ms=20_000,
    rest_ms=10_000,
)

FORM_TYPE = "application/x-www-form-urlencoded"
SAVE_ROUTE = WriteRoute("POST", "/records", FORM_TYPE)


def label(name: str) -> Target:
    """A target by its label."""
    return Target(TargetKind.LABEL, name)


def button(name: str) -> Target:
    """A button."""
    return Target(TargetKind.ROLE, name, "button")


def heading(name: str) -> Target:
    """A heading."""
    return Target(TargetKind.ROLE, name, "heading")


def by_test_id(name: str) -> Target:
    """A target by its test id."""
    return Target(TargetKind.TEST_ID, name)


def attribute(name: str, value: str) -> Target:
    """A target by an attribute."""
    return Target(TargetKind.ATTRIBUTE, value, attribute=name)


def caption(name: str, within: Within | None = None) -> Target:
    """A target by the text beside it."""
    return Target(TargetKind.CAPTION, name, within=within)


@define
class Hold:
    """A place where the site stops until it is let go: ``reached`` says that a request stands there."""

    reached: threading.Event = field(factory=threading.Event)
    go: threading.Event = field(factory=threading.Event)

    def stand(self) -> None:
        """Stop here, for as long as a test can last."""
        self.reached.set()
        self.go.wait(600)


@define
class Site:
    """A site on loopback: pages by path, what was asked for, the records that were posted, and holds by path.

    ``POST /records`` keeps a record and sends the browser to ``/saved``; ``GET /api/records`` lists the records.
    ``answers`` are further JSON by path, ``missing`` the paths of pages that are not found.
    """

    pages: dict[str, str] = field(factory=dict[str, str])
    asked: list[str] = field(factory=list[str])
    posts: list[str] = field(factory=list[str])
    records: list[dict[str, object]] = field(factory=list[dict[str, object]])
    holds: dict[str, Hold] = field(factory=dict[str, Hold])
    loses_saves: bool = False
    answers: dict[str, str] = field(factory=dict[str, str])
    missing: set[str] = field(factory=set[str])
    cookies: list[str] = field(factory=list[str])
    server: ThreadingHTTPServer = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin to serve."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Print nothing."""

            def do_GET(self) -> None:
                """A page, or the records."""
                path = urlsplit(self.path).path
                site.asked.append(path)
                site.cookies.append(self.headers.get("cookie", ""))
                site.stand(path)
                if path == "/api/records":
                    self.answer(json.dumps({"items": site.records}), "application/json")
                elif path in site.answers:
                    self.answer(site.answers[path], "application/json")
                else:
                    self.answer(site.pages.get(path, "<h1>No such page</h1>"), "text/html; charset=utf-8")

            def do_POST(self) -> None:
                """Keep a record."""
                path = urlsplit(self.path).path
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                site.posts.append(path)
                if path == "/records" and not site.loses_saves:
                    form = {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}
                    site.records.append({"id": str(len(site.records) + 1), "patient": "Ada Example", **form})
                site.stand(f"POST {path}")
                self.send_response(303)
                self.send_header("Location", "/saved")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def answer(self, text: str, media_type: str) -> None:
                """Send a body."""
                body = text.encode()
                self.send_response(404 if urlsplit(self.path).path in site.missing else 200)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def origin(self) -> str:
        """Where the site is."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def target(self) -> AppTarget:
        """The site as the app of a run."""
        return AppTarget(origin=self.origin, record_origin=self.origin)

    def stand(self, place: str) -> None:
        """Stop where a test said so."""
        if place in self.holds:
            self.holds[place].stand()

    def hold(self, place: str) -> Hold:
        """Stop the requests for this path (or ``POST`` and the path) from now on."""
        return self.holds.setdefault(place, Hold())

    def close(self) -> None:
        """Let everything go and stop serving."""
        for hold in self.holds.values():
            hold.go.set()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self) -> Self:
        """Serve for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()


NOTE_FORM = """<h1>New note</h1>
<p>Patient <b data-testid="patient">Ada Example</b>, number <b data-testid="number">SYN-1</b></p>
<form method="post" action="/records"><label>Note <textarea name="note"></textarea></label><button>Save</button></form>
"""

_GATE = PageGate("/new", heading("New note"))

#: A workflow on the site: one note, entered and read back.
NOTE_BUNDLE = Bundle(
    workflow="add_note",
    title="Add a note",
    parameters=(Parameter(name="note", type=ParameterType.TEXT, title="Note", min_length=1),),
    steps=(
        OpenStep("open", "/new"),
        FillStep("enter", _GATE, label("Note"), FromInput("note"), Rule.TEXT),
    ),
    identity=(
        IdentityField(by_test_id("number"), Constant("SYN-1"), Rule.IDENTIFIER, unique=True),
        IdentityField(by_test_id("patient"), Constant("Ada Example"), Rule.TEXT, unique=False),
    ),
    save=SaveStep("save", _GATE, button("Save"), SAVE_ROUTE),
    read_back=ReadBack(
        level=CheckLevel.SYSTEM_OF_RECORD,
        minimum=CheckLevel.SEPARATE_SESSION,
        source=JsonRecords("/api/records", "items", "id"),
        identity=(ReadField("patient", Constant("Ada Example"), Rule.TEXT),),
        written=(ReadField("note", FromInput("note"), Rule.TEXT),),
        deadline_ms=300,
        interval_ms=50,
    ),
)


def note_site() -> Site:
    """The site that ``NOTE_BUNDLE`` works on."""
    return Site({"/new": NOTE_FORM, "/saved": "<h1>Saved</h1>"})


@frozen
class Visit:
    """One page of one run, at a site."""

    lab: "Lab"
    page: RunPage
    crossings: list[bool]
    shown: Page

    def do(self, command: PageCommand) -> PageObservation:
        """Perform one command."""
        return self.lab.run(self.page.perform(command))

    def begin(self, command: PageCommand) -> "Future[PageObservation]":
        """Begin to perform one command."""
        return asyncio.run_coroutine_threadsafe(self.page.perform(command), self.lab.loop)

    def ask(self, script: str) -> object:
        """What the page answers to a script."""
        answer: object = self.lab.run(self.shown.evaluate(script))
        return answer


@define
class Lab:
    """A browser and a fence that serve many visits."""

    folder: Path
    tools: Tools
    loop: asyncio.AbstractEventLoop
    visits: int = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the browser lives."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    @contextmanager
    def visit(self, site: Site, *, limits: Limits = SHORT, allow: bool = True) -> Generator[Visit]:
        """A fresh page; ``allow`` is the answer of the delivery boundary."""
        crossings: list[bool] = []

        async def on_boundary() -> BoundaryAnswer:
            crossings.append(allow)
            return BoundaryAnswer.GRANTED if allow else BoundaryAnswer.REFUSED

        fence, context, page = self.run(self._fresh_page(FenceRules((site.origin,))))

        async def run_page() -> RunPage:
            # Where the browser lives: the library may be used by one thread only.
            return RunPage(page, site.origin, fence, on_boundary, limits)

        try:
            yield Visit(self, self.run(run_page()), crossings, page)
        finally:
            self.run(context.close())
            self.run(fence.close())

    async def _fresh_page(self, rules: FenceRules) -> tuple[FenceRun, BrowserContext, Page]:
        """A page behind a port of its own. A browser that hangs is replaced once, as the engine does between runs."""
        with suppress(Error, TimeoutError):
            return await self._page_within(rules, 20)
        with suppress(Exception):
            await asyncio.wait_for(self.tools.held.aclose(), 10)
        self.tools = await start_tools(self.folder, headed=False)
        return await self._page_within(rules, 20)

    async def _page_within(self, rules: FenceRules, seconds: int) -> tuple[FenceRun, BrowserContext, Page]:
        self.visits += 1
        fence = await self.tools.fence.open_run(f"visit-{self.visits}", rules)
        async with asyncio.timeout(seconds):
            context = await new_context(self.tools.browser, fence.proxy_url)
            return fence, context, await context.new_page()


@contextmanager
def laboratory(folder: Path) -> Generator[Lab]:
    """A lab for a block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    tools = asyncio.run_coroutine_threadsafe(start_tools(folder, headed=False), loop).result(60)
    lab = Lab(folder, tools, loop)
    try:
        yield lab
    finally:
        lab.run(tools.held.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def reserved(store: RunStore, owner: str) -> RunRecord:
    """A reserved run of this owner."""
    draft = RunRecord(
        run_id=new_run_id(),
        request_key=secrets.token_hex(32),
        attempt=0,
        workflow="add_note",
        fingerprint=secrets.token_hex(32),
        owner=owner,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=int(time.time()),
    )
    decision = store.reserve(draft)
    assert isinstance(decision, Start)
    return decision.record


def note_job(run_id: str, site: Site, note: str, *, time_limit_ms: int = 120_000) -> Job:
    """One run of ``NOTE_BUNDLE`` at the site."""
    return Job(
        run_id=run_id, bundle=NOTE_BUNDLE, inputs={"note": note}, target=site.target, time_limit_ms=time_limit_ms
    )


@define
class OpenBoundary:
    """A boundary that lets everything pass, and stops after so many questions."""

    stop_after: int | None = None
    allow: bool = True
    crossings: int = 0
    questions: int = 0
    at_crossing: Callable[[], object] = field(default=lambda: None)

    def cross(self) -> bool:
        """Count and answer."""
        self.crossings += 1
        self.at_crossing()
        return self.allow

    def stop_requested(self) -> bool:
        """Count and answer."""
        self.questions += 1
        return self.stop_after is not None and self.questions > self.stop_after


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something in another process comes to hold within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@frozen
class ProcessName:
    """One process: its number and when it started, so that a number that is used again is not taken for it."""

    number: int
    started: str

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs (a dead one that nobody has waited for does not)."""
        stat = _stat(self.number)
        return stat is not None and stat[19] == self.started and stat[0] != "Z"

    @property
    def command(self) -> str:
        """Its command line."""
        try:
            return Path(f"/proc/{self.number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""


def family(number: int) -> tuple[ProcessName, ...]:
    """All processes below this one."""
    parents: dict[int, list[ProcessName]] = {}
    for entry in Path("/proc").iterdir():
        stat = _stat(int(entry.name)) if entry.name.isdecimal() else None
        if stat is not None:
            parents.setdefault(int(stat[1]), []).append(ProcessName(int(entry.name), stat[19]))
    found: list[ProcessName] = []
    waiting = [number]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += [process.number for process in below]
    return tuple(found)


def _stat(number: int) -> list[str] | None:
    """The fields of a process after its name, beginning with its state."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
