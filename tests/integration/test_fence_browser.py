"""The fence in front of a real Chromium, against a server that logs what reaches it."""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ProxySettings
from playwright.async_api import Error as PlaywrightError

from support.fence_browser import BrowserBench
from support.fence_rig import PATIENCE, Rig, rig
from support.origin_server import make_authority, origin_server
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FenceVerdict
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, WriteRoute
from surehand.shell.engines.browser.chromium import find_chromium, may_sandbox

WAIT_MS = 60_000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserBench]:
    """The shared browser and fence."""
    bench = BrowserBench(tmp_path_factory.mktemp("fence"))
    bench.run(bench.launch())
    yield bench
    bench.run(bench.end())
    bench.close()


async def until_stopped(it: Rig, at_least: int = 1) -> None:
    """Wait until the fence has stopped so many writes."""
    async with asyncio.timeout(PATIENCE):
        while (await it.run.counts()).stopped_writes < at_least:  # noqa: ASYNC110  the fence is another process
            await asyncio.sleep(0.02)


FORM_SCRIPT = """([path, target]) => {
  const form = document.createElement('form')
  form.method = 'post'; form.action = path; form.target = target
  const field = document.createElement('input')
  field.name = 'note'; field.value = 'x'
  form.append(field); document.body.append(form); form.submit()
}"""

Write = Callable[[Page], Awaitable[object]]


def script(source: str) -> Write:
    """A write that a script of the page makes."""
    return lambda page: page.evaluate(source)


def worker(kind: str) -> Write:
    """A write that a worker makes."""
    body = "fetch(origin + '/ok', {method: 'POST', body: 'x', mode: 'no-cors'})"
    code = f"`const origin = '${{location.origin}}'; {body}`"
    return script(f"() => {{ new {kind}(URL.createObjectURL(new Blob([{code}], {{type: 'text/javascript'}}))) }}")


def at_close(source: str) -> Write:
    """A write that the page makes while it is closed."""

    async def write(page: Page) -> None:
        await page.evaluate(source)
        await page.close()

    return write


async def form(page: Page) -> None:
    """A form that the page sends."""
    await page.evaluate(FORM_SCRIPT, ["/ok", "_self"])


async def form_in_popup(page: Page) -> None:
    """A form whose answer opens a window."""
    await page.evaluate(FORM_SCRIPT, ["/ok", "_blank"])


FETCH = "() => { fetch('/ok', {method: 'POST', body: 'x'}).catch(() => 0) }"
KEEPALIVE = "() => { fetch('/ok', {method: 'POST', body: 'x', keepalive: true}).catch(() => 0) }"
BEACON = "() => { navigator.sendBeacon('/ok', 'x') }"
BEACON_AT_CLOSE = "() => { addEventListener('pagehide', () => navigator.sendBeacon('/ok', 'x')) }"
FETCH_LATER = "() => { fetchLater('/ok', {method: 'POST', body: 'x'}) }"
SYNCHRONOUS = "() => { const r = new XMLHttpRequest(); r.open('PUT', '/ok', false); try { r.send('x') } catch {} }"
SOCKET = """() => {
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket')
  socket.onopen = () => socket.send('x')
}"""
SOCKET_IN_WORKER = """() => {
  const address = location.origin.replace('http', 'ws') + '/socket'
  const code = `const socket = new WebSocket('${address}'); socket.onopen = () => socket.send('x')`
  new Worker(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})))
}"""
POPUP = """() => {
  const popup = open('about:blank')
  popup.document.write("<form method=post action='" + location.origin + "/ok'></form>")
  popup.document.forms[0].submit()
}"""

WRITES: dict[str, Write] = {
    "form": form,
    "form in a new window": form_in_popup,
    "form in a popup": script(POPUP),
    "fetch": script(FETCH),
    "fetch with keepalive": script(KEEPALIVE),
    "synchronous request": script(SYNCHRONOUS),
    "beacon": script(BEACON),
    "beacon while the page is closed": at_close(BEACON_AT_CLOSE),
    "fetch with keepalive and the page is closed": at_close(KEEPALIVE),
    "deferred fetch": at_close(FETCH_LATER),
    "worker": worker("Worker"),
    "shared worker": worker("SharedWorker"),
    "WebSocket": script(SOCKET),
    "WebSocket in a worker": script(SOCKET_IN_WORKER),
}


class TestNoWriteLeavesAClosedFence:
    """However a page writes, a closed fence stops it and counts it; without the fence the same write arrives."""

    @pytest.mark.parametrize("kind", WRITES)
    def test_it_is_stopped(self, bench: BrowserBench, kind: str) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                await WRITES[kind](page)
                await until_stopped(it)

            assert (it.server.writes, it.server.frames) == ([], [])

        bench.run(scenario())

    def test_without_the_fence_each_arrives(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with origin_server() as server, bench.page(server, None) as first:
                for write in WRITES.values():
                    page = await first.context.new_page()
                    await page.goto(f"{server.origin}/page")
                    await write(page)
                    await server.until(lambda: bool(server.writes or server.frames))
                    server.arrivals.clear()
                    server.frames.clear()

        bench.run(scenario())


CONNECT_BY_UDP = """port => new Promise(done => {
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:' + port}]})
  peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done()
  peer.createDataChannel('x')
  peer.createOffer().then(offer => peer.setLocalDescription(offer))
})"""


class TestNothingLeavesBesideTheFence:
    """The browser sends no datagram of its own; without our arguments the same page does."""

    async def _datagrams(self, browser: Browser, proxy_url: str | None) -> bool:
        """Whether a page that opens a data channel sent a datagram."""
        loop = asyncio.get_running_loop()
        received = asyncio.Event()

        class Listener(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
                del data, addr
                received.set()

        transport, _ = await loop.create_datagram_endpoint(Listener, local_addr=("127.0.0.1", 0))
        proxy = None if proxy_url is None else ProxySettings(server=proxy_url)
        context = await browser.new_context(proxy=proxy)
        page = await context.new_page()
        port = transport.get_extra_info("sockname")[1]
        gathering = asyncio.ensure_future(page.evaluate(CONNECT_BY_UDP, port))
        first = asyncio.ensure_future(received.wait())
        await asyncio.wait({gathering, first}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        for task in (gathering, first):
            task.cancel()
        await asyncio.gather(gathering, first, return_exceptions=True)
        await context.close()
        transport.close()
        return received.is_set()

    def test_behind_the_fence(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                assert not await self._datagrams(bench.browser, it.run.proxy_url)

        bench.run(scenario())

    def test_without_it(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            bare = await bench.playwright.chromium.launch(
                executable_path=find_chromium(), chromium_sandbox=may_sandbox()
            )
            assert await self._datagrams(bare, None)
            await bare.close()

        bench.run(scenario())


class TestOneSaveArrives:
    """An armed fence sends the page's save once, also where Chromium alone sends it again."""

    @pytest.mark.parametrize(
        ("path", "delivery", "asks_again"),
        [
            ("/see-other", Delivery.SENT_ONCE, False),
            ("/challenge", Delivery.SENT_ONCE, True),
            ("/half-body", Delivery.SENT_ONCE, False),
            ("/timeout", Delivery.SENT_ONCE, False),
            ("/misdirected", Delivery.SENT_ONCE, True),
            ("/again307", Delivery.SENT_ONCE, True),
            ("/again308", Delivery.SENT_ONCE, True),
            ("/close", Delivery.UNKNOWN, False),
            ("/reset", Delivery.UNKNOWN, False),
        ],
    )
    def test_once(self, bench: BrowserBench, path: str, delivery: Delivery, *, asks_again: bool) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                async with bench.page(it.server, it.run.proxy_url) as page:
                    await it.arm()
                    await page.evaluate(FORM_SCRIPT, [path, "_self"])
                    verdict = await it.run.settle(WAIT_MS)
                    if asks_again:
                        await until_stopped(it)

                assert [path] == [write.path for write in it.server.writes]
                assert delivery is verdict.delivery
                assert (1, 0) == (it.boundary.asked, it.boundary.arrived_before)

        bench.run(scenario())

    @pytest.mark.parametrize("path", ["/challenge", "/misdirected", "/again307", "/again308"])
    def test_without_the_fence_chromium_sends_it_again(self, bench: BrowserBench, path: str) -> None:
        async def scenario() -> None:
            async with origin_server() as server, bench.page(server, None) as page:
                await page.evaluate(FORM_SCRIPT, [path, "_self"])

                await server.until(lambda: len(server.writes) > 1)

        bench.run(scenario())

    def test_the_page_sees_the_answer(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                await it.arm()
                async with page.expect_navigation():
                    await page.evaluate(FORM_SCRIPT, ["/ok", "_self"])

                assert await page.inner_text("h1") == "origin"
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    def test_an_upload_arrives_byte_for_byte(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            content = os.urandom(500_000)
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                await it.arm(WriteRoute("POST", "/ok", "multipart/form-data"))
                upload = "<form method=post action=/ok enctype=multipart/form-data><input type=file name=f>"
                await page.set_content(upload)
                await page.set_input_files("input", {"name": "a.bin", "mimeType": "x/y", "buffer": content})
                await page.evaluate("document.forms[0].submit()")
                verdict = await it.run.settle(WAIT_MS)
                sent = it.server.writes[0].body.partition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0]

                assert Delivery.SENT_ONCE is verdict.delivery
                assert hashlib.sha256(content).digest() == hashlib.sha256(sent).digest()

        bench.run(scenario())


#: A page that opens a WebSocket: what it hears, and how often it is closed, stand in ``window.told``.
LISTEN = """() => new Promise(done => {
  window.told = []
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket/7')
  socket.onmessage = event => { socket.send('x'); window.told.push(event.data); done() }
  socket.onclose = () => { window.told.push('closed'); done() }
})"""


class TestAConfirmedWebsocket:
    """A page opens a WebSocket whose path was confirmed, speaks and listens, and loses it when the run ends."""

    @pytest.mark.parametrize("secure", [False, True])
    def test_it_is_the_pages_own_until_the_end(self, bench: BrowserBench, *, secure: bool) -> None:
        async def scenario() -> None:
            tls = bench.authority.context if secure else None
            async with (
                rig(bench.fence, tls=tls, sockets=("/socket/*",)) as it,
                bench.page(it.server, it.run.proxy_url) as page,
            ):
                await page.evaluate(LISTEN)
                await it.server.until(lambda: bool(it.server.frames))
                assert (1, ["hello"]) == (it.server.open_sockets, await page.evaluate("told"))
                assert (1, 0) == ((await it.run.counts()).sockets, (await it.run.counts()).stopped_writes)
                await it.run.close()
                await it.server.until(lambda: it.server.open_sockets == 0)
                await page.wait_for_function("told.includes('closed')")

        bench.run(scenario())

    def test_another_path_is_a_stopped_write(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with (
                rig(bench.fence, sockets=("/other/*",)) as it,
                bench.page(it.server, it.run.proxy_url) as page,
            ):
                await page.evaluate(LISTEN)
                await until_stopped(it)

                assert (["closed"], 0) == (await page.evaluate("told"), it.server.open_sockets)

        bench.run(scenario())


#: Bodies as the browser makes them, to one address.
ASK = """([type, body]) => fetch('/ok', {method: 'POST', headers: {'Content-Type': type}, body}).then(r => r.status)"""
UPLOAD = """document => {
  const form = new FormData()
  form.append('operations', JSON.stringify({query: document, variables: {file: null}}))
  form.append('map', '{"1": ["variables.file"]}')
  form.append('1', new File(['x'], 'a "b".txt', {type: 'text/plain'}))
  return fetch('/ok', {method: 'POST', body: form}).then(r => r.status)
}"""


class TestOneAddressInTheBrowser:
    """Forms, uploads and JSON as a browser makes them are read as they are meant: the read and the save pass alone."""

    def test_graphql_as_json_and_as_an_upload(self, bench: BrowserBench) -> None:
        kinds = ("application/json", "multipart/form-data")
        reads = tuple(WriteRoute("POST", "/ok", kind, operation=GraphqlRead()) for kind in kinds)
        save = WriteRoute("POST", "/ok", "multipart/form-data", operation=GraphqlOperation("Create"))

        async def scenario() -> None:
            async with rig(bench.fence, harmless=reads) as it, bench.page(it.server, it.run.proxy_url) as page:
                await it.arm(save)
                said = [
                    await page.evaluate(ASK, ["application/json", '{"query": "{x}"}']),
                    await page.evaluate(ASK, ["application/json", '{"query": "mutation Create {x}"}']),
                    await page.evaluate(UPLOAD, "query Q {x}"),
                    await page.evaluate(UPLOAD, "mutation Other {x}"),
                    await page.evaluate(UPLOAD, "mutation Create {x}"),
                ]

                assert [200, 403, 200, 403, 200] == said
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=2) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    @pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
    def test_the_button_of_a_form_decides(self, bench: BrowserBench, kind: str) -> None:
        page_of_form = f"""<form method=post action=/ok enctype={kind} target=answer>
          <input name='t€xt' value='&=; "é"'><input type=file name=f>
          <button name=do[draft]>Draft</button><button name=do[save] value='1 ü'>Save</button></form>
          <iframe name=answer></iframe>"""

        async def scenario() -> None:
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                await it.arm(WriteRoute("POST", "/ok", kind, operation=FormField("do[save]", "1 ü")))
                await page.set_content(page_of_form)
                await page.click("text=Draft")
                await until_stopped(it)
                await page.click("text=Save")

                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=1) == await it.run.settle(WAIT_MS)
                assert 1 == len(it.server.writes)

        bench.run(scenario())

    def test_a_draft_is_held_back_and_the_page_goes_on(self, bench: BrowserBench) -> None:
        draft = WriteRoute("POST", "/drafts", "text/plain")

        async def scenario() -> None:
            async with rig(bench.fence, blocked=(draft,)) as it, bench.page(it.server, it.run.proxy_url) as page:
                beacon = "navigator.sendBeacon('/drafts', 'x')"
                sent = "fetch('/drafts', {method: 'POST', body: 'x'}).then(r => r.status)"

                assert (True, 403) == (await page.evaluate(beacon), await page.evaluate(sent))
                async with asyncio.timeout(PATIENCE):
                    while (await it.run.counts()).blocked_writes < 2:  # noqa: ASYNC110  the fence is another process
                        await asyncio.sleep(0.02)
                assert (0, []) == ((await it.run.counts()).stopped_writes, it.server.writes)

        bench.run(scenario())

    def test_a_save_at_another_server_is_asked_for_first(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with origin_server() as api, rig(bench.fence, origins=(api.origin,)) as it:
                async with bench.page(it.server, it.run.proxy_url) as page:
                    await it.arm(WriteRoute("PUT", "/cors", "application/json", origin=api.origin))
                    save = "to => fetch(to, {method: 'PUT', body: '{}', headers: {'Content-Type': 'application/json'}})"
                    answer = await page.evaluate(f"to => ({save})(to).then(r => r.text())", f"{api.origin}/cors")

                assert ("shared", ["OPTIONS", "PUT"]) == (answer, [each.method for each in api.arrivals])
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0) == await it.run.settle(WAIT_MS)

        bench.run(scenario())


class TestReadsInTheBrowser:
    """Reads are as without the fence: streamed, cached, over TLS with verified servers, in a secure context."""

    def test_events_are_streamed(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                first = "new Promise(done => { new EventSource('/events').onmessage = e => done(e.data) })"

                assert await page.evaluate(first) == "one"

        bench.run(scenario())

    def test_over_tls_with_one_save(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with (
                rig(bench.fence, tls=bench.authority.context) as it,
                bench.page(it.server, it.run.proxy_url) as page,
            ):
                assert await page.evaluate("isSecureContext") is True
                await it.arm()
                await page.evaluate(FORM_SCRIPT, ["/timeout", "_self"])

                assert Delivery.SENT_ONCE is (await it.run.settle(WAIT_MS)).delivery
                assert ["/timeout"] == [write.path for write in it.server.writes]

        bench.run(scenario())

    def test_a_secure_websocket_is_stopped(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with (
                rig(bench.fence, tls=bench.authority.context) as it,
                bench.page(it.server, it.run.proxy_url) as page,
            ):
                await page.evaluate(SOCKET)
                await until_stopped(it)

                assert it.server.frames == []

        bench.run(scenario())

    def test_a_server_that_cannot_be_verified_is_not_shown(self, bench: BrowserBench, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=make_authority(tmp_path).context) as it:
                with pytest.raises(PlaywrightError):
                    async with bench.page(it.server, it.run.proxy_url):
                        pass

                assert it.server.arrivals == []

        bench.run(scenario())

    def test_when_the_fence_is_gone_nothing_goes_around_it(self, bench: BrowserBench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, bench.page(it.server, it.run.proxy_url) as page:
                await it.run.close()
                for kind in ("fetch", "beacon", "form"):
                    await WRITES[kind](page)
                with pytest.raises(PlaywrightError):
                    await page.goto(f"{it.server.origin}/page")

                pages = [arrival for arrival in it.server.arrivals if arrival.path == "/page"]
                assert (1, []) == (len(pages), it.server.writes)

        bench.run(scenario())
