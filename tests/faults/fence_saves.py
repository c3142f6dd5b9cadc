"""The armed fence: one save arrives, whatever the server answers and whatever browser and page do then.

Laws of this module:

- Each cell has a run, a context and a mark of its own, and is judged when its context is gone.
- What the page sees is what it would see without the fence.
"""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Awaitable, Callable

from attrs import define, field, frozen
from playwright.async_api import BrowserContext, Error, FilePayload, Page

from faults.fence_arena import PAGE, SOON, Servers, addresses, new_mark, until
from faults.fence_cells import PRELUDE
from support.fence_browser import BrowserBench
from support.fence_rig import FORM, Rig, rig
from support.origin_server import ANSWERS, CLOSING, REDIRECTS, Arrival
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.route import WriteRoute

#: Milliseconds in which a save is answered, also by a busy machine, and how long one that never comes is waited for.
WAIT_MS = 30_000
HUNG_MS = 1_500

#: Seconds in which a browser sends again what it wants to send again.
AGAIN = 0.4

#: Answers of the server after which the save counts as sent, and those after which nobody can know.
ANSWERED = (
    "ok",
    "see-other",
    "created",
    "no-content",
    "early-hints",
    "chunked",
    "too-early",
    "challenge",
    "timeout",
    "misdirected",
    "again307",
    "again308",
    "after-head",
    "half-body",
    "half-chunks",
    "to-the-end",
    "attachment",
    "cookies",
    "zipped",
    "squeezed",
    "huge",
)
IN_DOUBT = ("close", "reset", "half-head", "noise", "switch")

#: Answers upon which Chromium alone sends again.
REPEATED = ("challenge", "misdirected", "again307", "again308")


@define
class Stage:
    """One armed run, a page behind it, and what is found wrong."""

    bench: BrowserBench
    servers: Servers
    it: Rig
    context: BrowserContext
    page: Page
    mark: str
    secure: bool
    wrong: list[str] = field(factory=list[str])
    delivery: Delivery | None = None
    asked: int = 0

    @property
    def origin(self) -> str:
        """The origin of the page."""
        return self.servers.of(secure=self.secure).origin

    @property
    def arrived(self) -> list[Arrival]:
        """The writes of this cell that reached a server."""
        return self.servers.writes(self.mark)

    def check(self, what: str, holds: object) -> None:
        """Note something that does not hold."""
        if not holds:
            self.wrong.append(what)

    async def arm(self, name: str, content_type: str = FORM, method: str = "POST") -> None:
        """Arm the run for the write to ``/<name>/<mark>``."""
        await self.it.run.arm(WriteRoute(method, f"/{name}/{self.mark}", content_type), self._cross)

    async def _cross(self) -> bool:
        self.asked += 1
        self.check("a write came before its boundary", not self.arrived)
        return True

    async def run(self, script: str, *more: object) -> object:
        """Run a script with the helpers and addresses of the ways."""
        source = f"([w, ...more]) => {{ {PRELUDE}; return ({script})(w, ...more); }}"
        return await self.page.evaluate(source, [addresses(self.origin, self.mark), *more])

    async def settle(self, wait_ms: int = WAIT_MS) -> None:
        """Wait for the verdict."""
        self.delivery = (await self.it.run.settle(wait_ms)).delivery


Act = Callable[[Stage], Awaitable[None]]


@frozen
class Case:
    """One cell.

    Args:
        name: What it is.
        act: What the page does.
        secure: Whether the page comes over TLS.
        deliveries: The verdicts that may be given.
        arrivals: How often the save arrives.
        races: Whether the page itself may take the save back: then nothing arrives, and the verdict says so.
    """

    name: str
    act: Act
    secure: bool = False
    deliveries: tuple[Delivery, ...] = (Delivery.SENT_ONCE,)
    arrivals: int = 1
    races: bool = False


async def perform(bench: BrowserBench, to: Servers, case: Case) -> tuple[str, ...]:
    """Run a cell; what it violated."""
    server = to.of(secure=case.secure)
    async with rig(bench.fence, server=server, origins=to.origins) as it:
        context = await bench.context(it.run.proxy_url)
        page = await context.new_page()
        stage = Stage(bench, to, it, context, page, new_mark(), case.secure)
        try:
            async with asyncio.timeout(120):
                await page.goto(f"{stage.origin}/page")
                await case.act(stage)
        except (Error, TimeoutError) as error:
            stage.wrong.append(f"the cell broke down: {type(error).__name__}")
        finally:
            with contextlib.suppress(Error, TimeoutError):
                await asyncio.wait_for(context.close(), PAGE)
        arrived = len(stage.arrived)
        if case.races and not arrived:
            stage.check(f"no arrival, and the verdict {stage.delivery}", stage.delivery is Delivery.NOT_SENT)
        else:
            stage.check(f"{arrived} arrivals", arrived == case.arrivals)
            stage.check(f"the verdict {stage.delivery}", stage.delivery in case.deliveries)
            stage.check("the boundary was not passed once", stage.asked == case.arrivals)
    return tuple(f"{case.name}: {wrong}" for wrong in stage.wrong)


async def repeats(bench: BrowserBench, to: Servers, name: str) -> int:
    """How often the save arrives without a fence when the server answers like this."""
    mark, origin = new_mark(), to.clear.origin
    context = await bench.context(None)
    page = await context.new_page()
    await page.goto(f"{origin}/page")
    source = f"([w, to]) => {{ {PRELUDE}; form(to) }}"
    await page.evaluate(source, [addresses(origin, mark), f"/{name}/{mark}"])
    await until(lambda: len(to.writes(mark)) > 1, SOON)
    await context.close()
    return len(to.writes(mark))


def _by_form(name: str) -> Act:
    async def act(stage: Stage) -> None:
        await stage.arm(name)
        await stage.run("(w, to) => form(to)", f"/{name}/{stage.mark}")
        await stage.settle()
        await asyncio.sleep(AGAIN)

    return act


def _by_fetch(name: str) -> Act:
    async def act(stage: Stage) -> None:
        await stage.arm(name)
        script = f"(w, to) => {{ post(to, {{headers: {{'content-type': '{FORM}'}}}}) }}"
        await stage.run(script, f"/{name}/{stage.mark}")
        await stage.settle()
        await asyncio.sleep(AGAIN)

    return act


async def _slow(stage: Stage) -> None:
    await stage.arm("slow")
    await stage.run("(w, to) => form(to)", f"/slow/{stage.mark}")
    await until(lambda: stage.arrived, SOON)
    server = stage.servers.of(secure=stage.secure)
    asyncio.get_running_loop().call_later(1, server.released.set)
    await stage.settle()
    server.released.clear()


async def _never_answered(stage: Stage) -> None:
    await stage.arm("slow")
    await stage.run("(w, to) => form(to)", f"/slow/{stage.mark}")
    await until(lambda: stage.arrived, SOON)
    await stage.settle(HUNG_MS)


async def _reload(stage: Stage) -> None:
    await stage.arm("ok")
    async with stage.page.expect_navigation():
        await stage.run("w => form(w.to)")
    await stage.settle()
    for _ in range(2):
        with contextlib.suppress(Error):
            await stage.page.reload(timeout=2_000)


async def _back(stage: Stage) -> None:
    await stage.arm("ok")
    async with stage.page.expect_navigation():
        await stage.run("w => form(w.to)")
    await stage.settle()
    await stage.page.goto(f"{stage.origin}/page")
    for go in (stage.page.go_back, stage.page.go_forward, stage.page.go_back):
        with contextlib.suppress(Error):
            await go(timeout=2_000)


async def _twice_at_once(stage: Stage) -> None:
    await stage.arm("ok")
    await stage.run("w => { frame({name: 'one'}); form(w.to, {target: 'one'}); form(w.to) }")
    await stage.settle()
    await asyncio.sleep(AGAIN)


async def _from_six_popups(stage: Stage) -> None:
    await stage.arm("ok")
    await stage.run("w => { for (let i = 0; i < 6; i++) open(w.poster) }")
    await stage.settle()
    await asyncio.sleep(AGAIN)


async def _closed_at_once(stage: Stage) -> None:
    await stage.arm("ok", "text/plain")
    await stage.run("w => { addEventListener('pagehide', () => navigator.sendBeacon(w.to, 'again')); post(w.to) }")
    await stage.settle()
    await stage.page.goto(f"{stage.origin}/page")
    await asyncio.sleep(AGAIN)


async def _squeezed(stage: Stage) -> None:
    await stage.arm("squeezed")
    async with stage.page.expect_navigation():
        await stage.run("(w, to) => form(to)", f"/squeezed/{stage.mark}")
    await stage.settle()
    stage.check("the page did not see the answer", await stage.page.inner_text("h1") == "origin")


async def _zipped(stage: Stage) -> None:
    await stage.arm("zipped")
    async with stage.page.expect_navigation():
        await stage.run("(w, to) => form(to)", f"/zipped/{stage.mark}")
    await stage.settle()
    stage.check("the page did not see the answer", await stage.page.inner_text("h1") == "origin")


async def _cookies(stage: Stage) -> None:
    await stage.arm("cookies")
    async with stage.page.expect_navigation(url="**/page"):
        await stage.run("(w, to) => form(to)", f"/cookies/{stage.mark}")
    await stage.settle()
    cookies = {(each.get("name"), each.get("sameSite"), each.get("httpOnly")) for each in await stage.context.cookies()}
    stage.check("other cookies", cookies == {("strict", "Strict", True), ("lax", "Lax", False)})
    shown = [each for each in stage.servers.of(secure=stage.secure).arrivals if each.path == "/page"][-1]
    stage.check("cookies were not sent back", shown.headers.get("cookie") == "strict=1; lax=1")


async def _cookies_to_another_site(stage: Stage) -> None:
    url = stage.origin.replace("127.0.0.1", "localhost")
    await stage.context.add_cookies(
        [
            {"name": "strict", "value": "1", "url": url, "sameSite": "Strict"},
            {"name": "lax", "value": "1", "url": url, "sameSite": "Lax"},
        ]
    )
    await stage.arm("ok")
    await stage.run("w => form(w.other)")
    await stage.settle()
    stage.check("cookies went to another site", "cookie" not in stage.arrived[0].headers)


async def _denied_by_cors(stage: Stage) -> None:
    await stage.arm("ok", "text/plain")
    seen = await stage.run("w => fetch(w.other, {method: 'POST', body: 'x'}).then(a => a.status, () => 'denied')")
    await stage.settle()
    stage.check(f"the page saw {seen}", seen == "denied")


async def _after_a_preflight(stage: Stage) -> None:
    await stage.arm("cors", "application/json")
    script = """(w, to) => fetch(to, {method: 'POST', body: '{}', headers: {'content-type': 'application/json'}})
      .then(a => a.text(), () => 'denied')"""
    seen = await stage.run(script, f"{stage.origin.replace('127.0.0.1', 'localhost')}/cors/{stage.mark}")
    await stage.settle()
    asked = [each.method for each in stage.servers.arrivals(stage.mark)]
    stage.check(f"the page saw {seen}", seen == "shared")
    stage.check(f"the server saw {asked}", asked == ["OPTIONS", "POST"])


async def _denied_by_its_preflight(stage: Stage) -> None:
    await stage.arm("ok", "application/json")
    script = """w => fetch(w.other, {method: 'POST', body: '{}', headers: {'content-type': 'application/json'}})
      .then(a => a.status, () => 'denied')"""
    seen = await stage.run(script)
    await stage.settle(0)
    asked = [each.method for each in stage.servers.arrivals(stage.mark)]
    stage.check(f"the page saw {seen}", seen == "denied")
    stage.check(f"the server saw {asked}", asked == ["OPTIONS"])


async def _download(stage: Stage) -> None:
    await stage.arm("attachment")
    async with stage.page.expect_download() as started:
        await stage.run("w => form(w.attachment)")
    await stage.settle()
    path = await (await started.value).path()
    stage.check("the download differs", path.read_bytes() == b"file")


def _in_parts(body: bytes) -> bytes:
    """The content of the one file in a body of parts."""
    return body.partition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0]


def _same(stage: Stage, wanted: bytes, sent: Callable[[bytes], bytes]) -> None:
    found = [hashlib.sha256(sent(each.body)).hexdigest() for each in stage.arrived]
    stage.check("the bytes differ", found == [hashlib.sha256(wanted).hexdigest()])


async def _choose_file(stage: Stage, content: bytes) -> None:
    form = f"<form method=post action=/ok/{stage.mark} enctype=multipart/form-data><input type=file name=f></form>"
    await stage.page.set_content(form)
    await stage.page.set_input_files("input", FilePayload(name="a.bin", mimeType="x/y", buffer=content))


async def _upload_by_form(stage: Stage) -> None:
    content = os.urandom(5_000_000)
    await stage.arm("ok", "multipart/form-data")
    await _choose_file(stage, content)
    await stage.page.evaluate("document.forms[0].submit()")
    await stage.settle()
    _same(stage, content, _in_parts)


async def _upload_by_script(stage: Stage) -> None:
    content = os.urandom(5_000_000)
    await stage.arm("ok", "multipart/form-data")
    await _choose_file(stage, content)
    await stage.run("w => { post(w.to, {body: new FormData(document.forms[0])}) }")
    await stage.settle()
    _same(stage, content, _in_parts)


def _binary(size: int, kind: str) -> Act:
    async def act(stage: Stage) -> None:
        await stage.arm("ok", "application/octet-stream")
        script = f"""(w, size) => {{
          const bytes = Uint8Array.from({{length: size}}, (_, at) => at * 7 + (at >> 8));
          post(w.to, {{body: {kind}, headers: {{'content-type': 'application/octet-stream'}}}});
        }}"""
        await stage.run(script, size)
        await stage.settle()
        _same(stage, bytes((at * 7 + (at >> 8)) & 0xFF for at in range(size)), lambda body: body)

    return act


def _named(name: str, by: str, *, secure: bool) -> Case:
    deliveries = (Delivery.SENT_ONCE,) if name in ANSWERED else (Delivery.UNKNOWN,)
    act = _by_form(name) if by == "form" else _by_fetch(name)
    return Case(f"{by}{' over TLS' if secure else ''}, answered with {name}", act, secure, deliveries)


def _known(name: str) -> bool:
    return name in ANSWERS or name in CLOSING or name in REDIRECTS or name in {"reset", "huge"}


#: Every answer, by a form and by a script, without and with TLS.
ANSWER_CASES = tuple(
    _named(name, by, secure=secure)
    for name in (*ANSWERED, *IN_DOUBT)
    for by in ("form", "fetch")
    for secure in (False, True)
    if _known(name)
)

#: What browser, page and person do around a save.
CASES = (
    Case("slow answer", _slow),
    Case("slow answer over TLS", _slow, secure=True),
    Case("no answer", _never_answered, deliveries=(Delivery.UNKNOWN,)),
    Case("result page reloaded", _reload),
    Case("back to the result page", _back),
    Case("two forms at the same time", _twice_at_once, races=True),
    Case("six popups at the same time", _from_six_popups, races=True),
    Case("beacon of the page that saved", _closed_at_once),
    Case("answer in gzip", _zipped),
    Case("answer in Brotli", _squeezed, secure=True),
    Case("cookies of the answer", _cookies),
    Case("cookies of the answer over TLS", _cookies, secure=True),
    Case("cookies of another site", _cookies_to_another_site),
    Case("denied by CORS", _denied_by_cors),
    Case("allowed by a preflight", _after_a_preflight),
    Case("denied by a preflight", _denied_by_its_preflight, deliveries=(Delivery.NOT_SENT,), arrivals=0),
    Case("download started by POST", _download),
    Case("upload of 5 MB by a form", _upload_by_form),
    Case("upload of 5 MB by a form over TLS", _upload_by_form, secure=True),
    Case("upload of 5 MB by a script", _upload_by_script),
    Case("binary body of 1 KiB", _binary(1_024, "bytes")),
    Case("binary body of 5 MB", _binary(5_000_000, "new Blob([bytes])")),
    Case("empty body", _binary(0, "bytes")),
)
