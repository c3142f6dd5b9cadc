"""Apps that are reached by a proxy, that speak another protocol, or that want something which the fence has not."""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from support.browser import PATIENT, SHORT, family, note_job, note_site, reserved
from support.connect_proxy import connect_proxy
from support.fence_rig import FORM, PATIENCE, Bench, exchange, request, trusting, tunnel, within
from support.http2_server import http2_server
from support.origin_server import OriginServer, TestAuthority, hang_up, origin_server
from surehand.core.outcome.evidence import Delivery
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import FailedCheck, Mode, RunResult
from surehand.core.workflow.fence import FenceRules, Origin, parse_origin
from surehand.core.workflow.reach import ProxySettings, Reach
from surehand.core.workflow.route import WriteRoute
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.engines.browser.readback import Network
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.execution import execute_run
from surehand.shell.fence.client import Fence
from surehand.shell.fence.dial import Dialer, examine
from surehand.shell.fence.tls import upstream_context
from surehand.shell.store import open_store
from surehand.shell.store.memory import MemoryStore

SAVE = WriteRoute("POST", "/ok", FORM)
CLEAR, SECURE = "http://app.test", "https://app.test"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The shared loop, fence and authority."""
    bench = Bench(tmp_path_factory.mktemp("fence"))
    yield bench
    bench.close()


async def look(bench: Bench, origin: str, proxies: ProxySettings | None = None) -> Reach:
    """How an attempt to reach an app ends."""
    authority = bench.authority.certificate
    dialer = Dialer(upstream_context(authority), proxies or ProxySettings())
    parsed = parse_origin(origin)
    assert isinstance(parsed, Origin)
    return await within(PATIENCE, examine(parsed, dialer, upstream_context(authority, http2=True)))


#: One journal for each run, however often a fence takes the place of another in memory.
_NUMBERS = count(1)


async def save_through(bench: Bench, proxies: ProxySettings, origin: str) -> tuple[bytes, Delivery]:
    """One read and one save of an app behind a proxy: what the browser saw of the read, and the verdict."""
    fence = await Fence.start(bench.journals, bench.authority.certificate, proxies)
    run = await fence.open_run(f"run_{next(_NUMBERS)}", FenceRules((origin,)))
    await run.arm(SAVE, lambda: asyncio.sleep(0, result=True))
    saving = request("POST", f"{origin}/ok", f"Content-Type: {FORM}", body=b"note=x")
    reading = request("GET", f"{origin}/ok")
    if origin == CLEAR:
        read, _ = [await exchange(run.proxy_url, data) for data in (reading, saving)]
    else:
        read, _ = [await _in_tunnel(run.proxy_url, data.replace(origin.encode(), b"", 1)) for data in (reading, saving)]
    verdict = await run.settle(60_000)
    await fence.close()
    return read, verdict.delivery


async def _in_tunnel(proxy_url: str, data: bytes) -> bytes:
    _, reader, writer = await tunnel(proxy_url, "app.test:443")
    await writer.start_tls(trusting(), server_hostname="app.test")
    writer.write(data)
    answer = b""
    with contextlib.suppress(OSError):
        answer = await within(PATIENCE, reader.read())
    await hang_up(writer)
    return answer


def hosts(clear: OriginServer, secure: OriginServer) -> dict[str, str]:
    """The hosts that only the proxy knows."""
    return {"app.test:80": clear.origin, "app.test:443": secure.origin}


class TestThroughAProxy:
    """An app behind a company's proxy is read and saved once, through tunnels that the proxy cannot look into."""

    @pytest.mark.parametrize("origin", [CLEAR, SECURE])
    @pytest.mark.parametrize("credentials", ["", "jo:secret@"])
    def test_one_save_arrives(self, bench: Bench, origin: str, credentials: str) -> None:
        async def scenario() -> None:
            authorization = "Basic am86c2VjcmV0" if credentials else ""
            async with origin_server() as clear, origin_server(bench.authority.context) as secure:
                async with connect_proxy(hosts(clear, secure), authorization=authorization) as proxy:
                    url = proxy.url.replace("://", f"://{credentials}")
                    read, delivery = await save_through(bench, ProxySettings(url, url), origin)
                writes = [*clear.writes, *secure.writes]

                assert b" 200 " in read
                assert delivery is Delivery.SENT_ONCE
                assert [write.body for write in writes] == [b"note=x"]
                assert set(proxy.asked) == {f"CONNECT app.test:{80 if origin == CLEAR else 443}"}
                assert all("proxy-authorization" not in write.headers for write in writes)

        bench.run(scenario())

    @pytest.mark.parametrize("origin", [CLEAR, SECURE])
    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 407 X\r\nProxy-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 502 X\r\n\r\n",
            b"nonsense\r\n\r\n",
        ],
        ids=["closes", "forbids", "ntlm", "cannot", "nonsense"],
    )
    def test_a_proxy_that_opens_no_tunnel_sends_nothing(self, bench: Bench, origin: str, answer: bytes) -> None:
        async def scenario() -> None:
            async with origin_server() as clear, origin_server(bench.authority.context) as secure:
                async with connect_proxy(hosts(clear, secure), answer=answer) as proxy:
                    settings = ProxySettings(proxy.url, proxy.url)
                    _, delivery = await save_through(bench, settings, origin)
                    reach = await look(bench, origin, settings)

                assert (delivery, reach) == (Delivery.NOT_SENT, Reach.PROXY_REFUSED)
                assert clear.connections + secure.connections == 0

        bench.run(scenario())

    def test_a_proxy_that_is_not_there_or_not_understood_is_named(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with connect_proxy({}) as gone:
                pass

            assert await look(bench, SECURE, ProxySettings(https=gone.url)) is Reach.PROXY_NOT_THERE
            assert await look(bench, SECURE, ProxySettings(https="socks5://x")) is Reach.PROXY_NOT_SUPPORTED

        bench.run(scenario())

    def test_a_server_of_another_name_behind_the_proxy_is_not_trusted(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with (
                origin_server(bench.authority.context) as server,
                connect_proxy({"other.test:443": server.origin}) as proxy,
            ):
                assert await look(bench, "https://other.test", ProxySettings(https=proxy.url)) is Reach.NOT_TRUSTED
                assert server.arrivals == []

        bench.run(scenario())


def wants_certificate(authority: TestAuthority, version: ssl.TLSVersion) -> ssl.SSLContext:
    """A server that takes only clients with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.chain)
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = version
    return context


class TestOtherProtocols:
    """What the fence does not speak is found before anything is sent, and has a name."""

    def test_an_app_that_speaks_both_is_reached(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with http2_server(bench.authority.chain, both=True) as server:
                run = await bench.fence.open_run("run_both", FenceRules((server.origin,)))
                await run.arm(SAVE, lambda: asyncio.sleep(0, result=True))
                _, reader, writer = await tunnel(run.proxy_url, f"127.0.0.1:{server.port}")
                await writer.start_tls(trusting(), server_hostname="127.0.0.1")
                saving = request("POST", f"{server.origin}/ok", f"Content-Type: {FORM}", body=b"note=x")
                writer.write(saving.replace(server.origin.encode(), b"", 1))
                answer = await within(PATIENCE, reader.read())
                await hang_up(writer)
                verdict = await run.settle(60_000)
                await run.close()

                assert await look(bench, server.origin) is Reach.REACHED
                assert b"spoken" in answer
                assert verdict.delivery is Delivery.SENT_ONCE
            assert server.requests == ["1.1 POST /ok"]

        bench.run(scenario())

    def test_an_app_that_speaks_http2_alone_is_named(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with http2_server(bench.authority.chain, both=False) as server:
                assert await look(bench, server.origin) is Reach.OTHER_PROTOCOL
            assert server.requests == []

        bench.run(scenario())

    def test_an_app_that_speaks_first_is_named(self, bench: Bench) -> None:
        async def scenario() -> None:
            async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
                await writer.drain()
                await hang_up(writer)

            listener = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=bench.authority.context)
            port = listener.sockets[0].getsockname()[1]
            assert await look(bench, f"https://127.0.0.1:{port}") is Reach.OTHER_PROTOCOL
            listener.close()

        bench.run(scenario())

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_an_app_that_wants_a_client_certificate_is_named(self, bench: Bench, version: ssl.TLSVersion) -> None:
        async def scenario() -> None:
            async with origin_server(wants_certificate(bench.authority, version)) as server:
                reach = await look(bench, server.origin)

                # Up to TLS 1.2 the server may tear the connection in the handshake, before its alert is read.
                torn = {Reach.NOBODY_THERE} if version is ssl.TLSVersion.TLSv1_2 else set[Reach]()
                assert reach in {Reach.TLS_REFUSED} | torn
                assert server.arrivals == []

        bench.run(scenario())


def run_note(tmp_path: Path, target: AppTarget, network: Network, limits: Limits = PATIENT) -> RunResult:
    """One run of the note workflow against an app."""
    store = MemoryStore()
    record = reserved(store, "0" * 31 + "1")
    engine = BrowserEngine(tmp_path / "fence", limits=limits, network=network)
    try:
        with note_site() as site:
            job = note_job(record.run_id, site, "x")
        elsewhere = Job(run_id=job.run_id, bundle=job.bundle, inputs=job.inputs, target=target)
        return execute_run(store, engine, record, elsewhere, SYSTEM_CLOCK, Mode.SANDBOX)
    finally:
        engine.close()


def run_in_worker(folder: Path) -> tuple[RunResult, list[bytes]]:
    """One run of the note workflow at ``CLEAR`` in a worker; and what its processes show of themselves to others."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    with contextlib.ExitStack() as held:
        store = open_store(state)
        held.callback(store.close)
        executor = WorkerExecutor(state, Mode.SANDBOX)
        held.callback(executor.close)
        record = reserved(store, executor.owner_token)
        with note_site() as site:
            job = note_job(record.run_id, site, "x")
        target = AppTarget(origin=CLEAR, record_origin=CLEAR)
        elsewhere = Job(run_id=job.run_id, bundle=job.bundle, inputs=job.inputs, target=target)
        answer = executor.submit(record, elsewhere)
        result = answer.result(240)
        shown = [
            Path(f"/proc/{process.number}/{what}").read_bytes()
            for process in family(os.getpid())
            for what in ("cmdline", "environ")
            if "surehand" in process.command
        ]
        return result, shown


class TestWholeRuns:
    """A run behind a proxy is like any other; one whose app cannot be reached says why, and wrote nothing."""

    def test_a_run_through_a_proxy_is_saved_and_checked(self, bench: Bench, tmp_path: Path) -> None:
        async def scenario() -> None:
            with note_site() as site:
                async with connect_proxy({"app.test:80": site.origin}, authorization="Basic am86c2VjcmV0") as proxy:
                    network = Network(ProxySettings(http=proxy.url.replace("://", "://jo:secret@")))
                    target = AppTarget(origin=CLEAR, record_origin=CLEAR)
                    result = await asyncio.to_thread(run_note, tmp_path, target, network)

                assert result.reason is Reason.SAVED_AND_CHECKED
                assert site.posts == ["/records"]
                assert set(proxy.asked) == {"CONNECT app.test:80"}

        bench.run(scenario())

    def test_a_worker_takes_the_proxies_of_its_parent_by_its_pipe_alone(
        self, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def scenario() -> None:
            with note_site() as site:
                async with connect_proxy({"app.test:80": site.origin}, authorization="Basic am86c2VjcmV0") as proxy:
                    monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("://", "://jo:secret@"))
                    result, seen = await asyncio.to_thread(run_in_worker, tmp_path)

                assert result.reason is Reason.SAVED_AND_CHECKED
                assert site.posts == ["/records"]
                assert len(seen) > 2
                assert not any(b"secret" in text or b"am86" in text for text in seen)

        bench.run(scenario())
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not any(b"secret" in text for text in files)

    def test_an_app_that_wants_a_client_certificate_is_refused_by_name(self, bench: Bench, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with origin_server(wants_certificate(bench.authority, ssl.TLSVersion.TLSv1_3)) as server:
                network = Network(extra_authority=bench.authority.certificate)
                target = AppTarget(origin=server.origin, record_origin=server.origin)
                result = await asyncio.to_thread(run_note, tmp_path, target, network)

                assert (result.reason, result.failed_checks) == (
                    Reason.NOT_READY_TO_RUN,
                    (FailedCheck.APP_REFUSES_TLS,),
                )
                assert server.arrivals == []

        bench.run(scenario())

    def test_a_proxy_of_another_kind_is_refused_by_name(self, tmp_path: Path) -> None:
        network = Network(ProxySettings(https="socks5://proxy:1080"))
        result = run_note(tmp_path, AppTarget(origin=SECURE, record_origin=SECURE), network)

        assert (result.reason, result.failed_checks) == (Reason.NOT_READY_TO_RUN, (FailedCheck.PROXY_NOT_SUPPORTED,))

    def test_an_app_that_wants_ntlm_ends_in_review_with_nothing_sent(self, bench: Bench, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with origin_server() as server:
                server.default = "ntlm"
                target = AppTarget(origin=server.origin, record_origin=server.origin)
                result = await asyncio.to_thread(run_note, tmp_path, target, Network(), SHORT)

                assert result.reason is Reason.UNEXPECTED_SCREEN
                assert server.writes == []

        bench.run(scenario())
