"""The fence between a raw client and a server that logs what reaches it: the log is the ground truth."""

import asyncio
import base64
import contextlib
import hashlib
import os
import signal
import ssl
import stat
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from support.fence_rig import (
    FORM,
    PATIENCE,
    SAVE,
    SIGN_IN,
    Bench,
    Rig,
    exchange,
    journal_stages,
    open_proxy,
    request,
    rig,
    trusting,
    tunnel,
    until_refused,
    within,
)
from support.origin_server import hang_up, make_authority, origin_server
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FenceCounts, FenceRules, FenceVerdict
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence.client import Fence, FenceUnavailableError
from surehand.shell.fence.journal import read_delivery

WAIT_MS = 60_000
UPGRADE = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The shared loop and fence."""
    bench = Bench(tmp_path_factory.mktemp("fence"))
    yield bench
    bench.close()


def status(answer: bytes) -> int:
    """The status of an answer; 0 when there was none."""
    return int(answer.split(b" ")[1]) if answer else 0


def content(answer: bytes) -> bytes:
    """What follows the head of an answer."""
    return answer.partition(b"\r\n\r\n")[2]


#: The answers of 4xx.
REFUSALS = {"/challenge", "/timeout", "/misdirected"}


class TestOneWriteWhateverTheServerDoes:
    """A save reaches the server once, whatever the server answers and however often the client asks again."""

    @pytest.mark.parametrize(
        ("path", "delivery"),
        [
            ("/ok", Delivery.SENT_ONCE),
            ("/see-other", Delivery.SENT_ONCE),
            ("/challenge", Delivery.SENT_ONCE),
            ("/timeout", Delivery.SENT_ONCE),
            ("/misdirected", Delivery.SENT_ONCE),
            ("/again307", Delivery.SENT_ONCE),
            ("/again308", Delivery.SENT_ONCE),
            ("/after-head", Delivery.SENT_ONCE),
            ("/half-body", Delivery.SENT_ONCE),
            ("/half-chunks", Delivery.SENT_ONCE),
            ("/early-hints", Delivery.SENT_ONCE),
            ("/close", Delivery.UNKNOWN),
            ("/reset", Delivery.UNKNOWN),
            ("/half-head", Delivery.UNKNOWN),
            ("/noise", Delivery.UNKNOWN),
            ("/switch", Delivery.UNKNOWN),
        ],
    )
    def test_it_arrives_once(self, bench: Bench, path: str, delivery: Delivery) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                for _ in range(3):
                    await it.post(path)
                verdict = await it.run.settle(WAIT_MS)

                assert FenceVerdict(delivery, stopped_writes=2, refused=path in REFUSALS) == verdict
                assert [path] == [write.path for write in it.server.writes]
                assert (1, 0) == (it.boundary.asked, it.boundary.arrived_before)
                assert delivery is read_delivery(bench.journals, it.run_id)

        bench.run(scenario())

    def test_without_the_fence_each_arrives(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with origin_server() as server:
                for _ in range(3):
                    await exchange(server.origin, request("POST", "/ok", f"Content-Type: {FORM}", body=b"note=x"))

                assert len(server.writes) == 3

        bench.run(scenario())

    def test_of_many_at_the_same_time_one_arrives(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                answers = await asyncio.gather(*(it.post("/ok") for _ in range(20)))

                assert [200, *[403] * 19] == sorted(map(status, answers))
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=19) == await it.run.settle(WAIT_MS)
                assert len(it.server.writes) == 1

        bench.run(scenario())


class TestWhatMayPass:
    """Before the save only reads and confirmed writes pass, after it only reads; what is stopped is counted."""

    def test_an_unarmed_fence_stops_the_save(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                assert status(await it.post("/ok")) == 403
                assert status(await it.send("GET", "/ok")) == 200
                assert it.server.writes == []
                assert FenceCounts(reads=1, stopped_writes=1) == await it.run.counts()

        bench.run(scenario())

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get"])
    def test_an_armed_fence_stops_other_writes(self, bench: Bench, method: str) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                assert status(await it.send(method, "/ok", f"Content-Type: {FORM}", body=b"x")) == 403
                assert it.server.arrivals == []
                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=1) == await it.run.settle(0)

        bench.run(scenario())

    def test_a_read_that_asks_to_be_treated_as_a_write_is_one(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                assert status(await it.send("GET", "/ok", "X-HTTP-Method-Override: DELETE")) == 403
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_a_confirmed_write_passes_before_the_save_and_after_it(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(SIGN_IN,)) as it:
                before = await it.post("/sign-in")
                await it.arm(WriteRoute("POST", "/notes", FORM))
                armed = await it.post("/sign-in")
                saved = await it.post("/notes")
                after = await it.post("/sign-in")
                again = await it.post("/notes")

                assert [200, 200, 200, 200, 403] == [status(answer) for answer in (before, armed, saved, after, again)]
                assert ["/sign-in", "/sign-in", "/notes", "/sign-in"] == [write.path for write in it.server.writes]
                assert FenceCounts(harmless_writes=3, stopped_writes=1) == await it.run.counts()

        bench.run(scenario())

    def test_a_confirmed_write_is_not_sent_again_by_the_fence(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(WriteRoute("POST", "/close", FORM),)) as it:
                assert await it.post("/close") == b""
                assert len(it.server.writes) == 1

        bench.run(scenario())

    def test_a_save_that_a_confirmed_write_could_hold_cannot_be_armed(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(SIGN_IN,)) as it:
                with pytest.raises(FenceUnavailableError):
                    await it.arm(SAVE)

        bench.run(scenario())

    def test_other_servers_are_refused_and_counted_apart(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, origin_server() as other:
                host = other.origin.removeprefix("http://")
                plain = await exchange(it.run.proxy_url, request("POST", f"{other.origin}/ok", body=b"x"))
                line, _, writer = await tunnel(it.run.proxy_url, host)
                await hang_up(writer)

                assert (403, 403) == (status(plain), status(line))
                assert other.connections == 0
                assert FenceCounts(refused_hosts=2) == await it.run.counts()

        bench.run(scenario())


class TestTheBoundaryComesFirst:
    """The first byte of the save leaves after the delivery boundary granted it; without that nothing leaves."""

    def test_a_refused_boundary_sends_nothing(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                it.boundary.granted = False
                await it.arm()

                assert status(await it.post("/ok")) == 403
                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await it.run.settle(WAIT_MS)
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_a_boundary_that_raises_sends_nothing(self, bench: Bench) -> None:
        async def broken() -> bool:
            raise OSError

        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.run.arm(SAVE, broken)

                assert status(await it.post("/ok")) == 403
                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    def test_a_client_that_is_gone_when_the_boundary_answers_sends_nothing(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                _, writer = await open_proxy(it.run.proxy_url)

                async def cross_when_the_client_is_gone() -> bool:
                    await hang_up(writer)
                    await it.run.counts()
                    return True

                await it.run.arm(SAVE, cross_when_the_client_is_gone)
                writer.write(request("POST", f"{it.server.origin}/ok", f"Content-Type: {FORM}", body=b"x"))

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await it.run.settle(WAIT_MS)
                assert it.server.arrivals == []
                assert '"abandoned"' in journal_stages(bench.journals, it.run_id)

        bench.run(scenario())

    def test_a_save_that_cannot_connect_is_proven_unsent(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with origin_server() as gone:
                pass
            run = await bench.fence.open_run("run_unreachable", FenceRules((gone.origin,)))
            await run.arm(SAVE, lambda: asyncio.sleep(0, result=True))
            answer = await exchange(
                run.proxy_url, request("POST", f"{gone.origin}/ok", f"Content-Type: {FORM}", body=b"x")
            )

            assert answer == b""
            assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await run.settle(WAIT_MS)
            await run.close()

        bench.run(scenario())


class TestSettling:
    """After settling nothing leaves any more, whatever came or did not come."""

    def test_a_write_that_comes_too_late_is_stopped(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                verdict = await it.run.settle(0)

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == verdict
                assert status(await it.post("/ok")) == 403
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_a_write_whose_boundary_answers_too_late_is_stopped(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                asked, settled = asyncio.Event(), asyncio.Event()

                async def cross_late() -> bool:
                    asked.set()
                    return await settled.wait()

                await it.run.arm(SAVE, cross_late)
                posting = asyncio.create_task(it.post("/ok"))
                await within(PATIENCE, asked.wait())
                verdict = await it.run.settle(100)
                settled.set()

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == verdict
                assert await posting == b""
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_an_answer_that_comes_too_late_is_unknown_until_it_is_journalled(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                posting = asyncio.create_task(it.post("/slow"))
                await it.server.until(lambda: bool(it.server.writes))

                assert FenceVerdict(Delivery.UNKNOWN, stopped_writes=0) == await it.run.settle(0)
                it.server.released.set()
                assert content(await posting) == b"slow"
                assert Delivery.SENT_ONCE is read_delivery(bench.journals, it.run_id)

        bench.run(scenario())

    def test_a_closed_run_takes_no_connection(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.run.close()
                with pytest.raises(ConnectionRefusedError):
                    await it.send("GET", "/ok")

        bench.run(scenario())

    def test_a_run_is_opened_once(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.run.close()
                with pytest.raises(FenceUnavailableError):
                    await bench.fence.open_run(it.run_id, FenceRules(()))

        bench.run(scenario())

    @pytest.mark.parametrize("run_id", ["", "../x", "a/b", "x" * 81])
    def test_a_run_id_that_is_no_file_name_is_refused(self, bench: Bench, run_id: str) -> None:
        async def scenario() -> None:
            with pytest.raises(FenceUnavailableError):
                await bench.fence.open_run(run_id, FenceRules(()))

        bench.run(scenario())


class TestReadsAreNatural:
    """A read looks as without the fence: its answer comes whole, as it comes, or breaks where it broke."""

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/early-hints", b"late"),
            ("/chunked", b"four"),
            ("/both-lengths", b"four"),
            ("/to-the-end", b"until the end"),
            ("/hop-headers", b"hop"),
            ("/no-content", b""),
            ("/not-modified", b""),
        ],
    )
    def test_the_body_is_the_same(self, bench: Bench, path: str, expected: bytes) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                body = content(await it.send("GET", path))

                assert expected in (body, _unchunked(body))

        bench.run(scenario())

    def test_the_answer_to_a_head_request_has_no_body(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                answer = await it.send("HEAD", "/ok")

                assert (200, b"") == (status(answer), content(answer))

        bench.run(scenario())

    def test_headers_of_one_connection_stay_on_it(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                sent = ("Connection: X-Private", "X-Private: 1", "TE: trailers", "Proxy-Authorization: x", "X-End: 1")
                answer = (await it.send("GET", "/hop-headers", *sent)).lower()

                assert {"host", "x-end"} == set(it.server.arrivals[0].headers)
                assert b"x-end: kept" in answer
                assert b"alt-svc" not in answer
                assert b"keep-alive" not in answer

        bench.run(scenario())

    @pytest.mark.parametrize("path", ["/after-head", "/half-body", "/half-chunks"])
    def test_an_answer_that_breaks_is_seen_to_break(self, bench: Bench, path: str) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                body = content(await it.send("GET", path))

                assert not body.endswith(b"0\r\n\r\n")
                assert len(body) < 10

        bench.run(scenario())

    @pytest.mark.parametrize("path", ["/close", "/reset", "/half-head", "/noise", "/switch"])
    def test_no_answer_is_no_answer(self, bench: Bench, path: str) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                assert await it.send("GET", path) == b""

        bench.run(scenario())

    def test_a_large_answer_comes_whole(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                assert content(await it.send("GET", "/huge")) == bytes(3_000_000)

        bench.run(scenario())

    def test_events_are_streamed_and_the_end_is_passed_on(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                reader, writer = await open_proxy(it.run.proxy_url)
                writer.write(request("GET", f"{it.server.origin}/events"))
                await within(PATIENCE, reader.readuntil(b"data: one\n\n"))
                it.server.released.set()
                await within(PATIENCE, reader.readuntil(b"data: two\n\n"))
                await hang_up(writer)

                await it.server.until(lambda: it.server.frames == [b"gone"])

        bench.run(scenario())

    def test_connections_are_reused_and_a_dead_one_is_replaced(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                answers = [content(await it.send("GET", "/once-per-connection")) for _ in range(2)]

                assert answers == [b"once", b"once"]
                assert [1, 1, 2] == [arrival.connection for arrival in it.server.arrivals]

        bench.run(scenario())


class TestBodiesAreTheSame:
    """What the client sent is what the server got, byte for byte."""

    @pytest.mark.parametrize("size", [0, 1, 65_536, 5_243_160])
    def test_of_any_size(self, bench: Bench, size: int) -> None:
        async def scenario() -> None:
            body = os.urandom(size)
            async with rig(bench.fence) as it:
                await it.arm()
                await it.post("/ok", body)

                assert hashlib.sha256(body).hexdigest() == it.server.writes[0].sha256

        bench.run(scenario())

    def test_in_chunks_after_waiting_to_be_asked(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                reader, writer = await open_proxy(it.run.proxy_url)
                sent = (f"Content-Type: {FORM}", "Transfer-Encoding: chunked", "Expect: 100-continue")
                writer.write(request("POST", f"{it.server.origin}/ok", *sent))
                first = await within(PATIENCE, reader.readuntil(b"\r\n\r\n"))
                writer.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                last = await within(PATIENCE, reader.read())
                await hang_up(writer)

                assert [100, 200] == [status(first), status(last)]
                assert [(b"abcde", "5")] == [(w.body, w.headers["content-length"]) for w in it.server.writes]

        bench.run(scenario())

    @pytest.mark.parametrize("chunked", [False, True])
    def test_over_the_limit_it_is_stopped_and_counted(self, bench: Bench, *, chunked: bool) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                reader, writer = await open_proxy(it.run.proxy_url)
                size = 64 * 1024 * 1024 + 1
                framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
                writer.write(request("POST", f"{it.server.origin}/ok", f"Content-Type: {FORM}", framing))
                if chunked:
                    writer.write(f"{size:x}\r\n".encode() + bytes(size))
                with contextlib.suppress(ConnectionError):
                    await within(PATIENCE, reader.read())
                await hang_up(writer)

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=1) == await it.run.settle(0)
                assert it.server.arrivals == []

        bench.run(scenario())


class TestAmbiguousRequestsAreRefused:
    """A request that two programs could read in two ways, or that names no server, is refused and counted."""

    @pytest.mark.parametrize(
        "lines",
        [
            ["POST {o}/ok HTTP/1.1", "Host: x", "Content-Length: 4", "Transfer-Encoding: chunked", "", "0", "", ""],
            ["POST {o}/ok HTTP/1.1", "Host: x", "Content-Length: 4", "Content-Length: 5", "", "abcde"],
            ["POST {o}/ok HTTP/1.1", "Host: x", "Transfer-Encoding: gzip, chunked", "", "0", "", ""],
            ["POST {o}/ok HTTP/1.1", "Host: x", "Content-Length: -1", "", ""],
            ["POST {o}/ok HTTP/1.1", "Host: x", "Host: y", "", ""],
            ["POST {o}/ok HTTP/1.1", "", ""],
            ["GET /ok HTTP/1.1", "Host: x", "", ""],
            ["GET ftp://x/ok HTTP/1.1", "Host: x", "", ""],
            ["GET http://user@127.0.0.1/ok HTTP/1.1", "Host: x", "", ""],
            ["GET {o}/ok HTTP/1.1", "Host: x", "X: " + "y" * 200_000, "", ""],
            ["noise", "", ""],
        ],
    )
    def test_it_never_arrives(self, bench: Bench, lines: list[str]) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm(WriteRoute("POST", "/ok", FORM))
                answer = await exchange(it.run.proxy_url, "\r\n".join(lines).replace("{o}", it.server.origin).encode())

                assert status(answer) in {0, 400}
                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=1) == await it.run.settle(0)
                assert it.server.connections == 0

        bench.run(scenario())

    def test_a_request_that_the_client_breaks_off_is_no_write(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                _, writer = await open_proxy(it.run.proxy_url)
                whole = request("POST", f"{it.server.origin}/ok", f"Content-Type: {FORM}", body=b"note=whole")
                writer.write(whole[:-1])
                await writer.drain()
                await hang_up(writer)

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await it.run.settle(100)
                assert it.server.arrivals == []

        bench.run(scenario())


class TestTls:
    """Through a tunnel the fence reads TLS with its own key and verifies the server; nothing is taken on trust."""

    async def _through_tls(self, it: Rig, data: bytes) -> tuple[bytes, bytes]:
        """Send bytes through TLS in a tunnel: the certificate that was shown, and the answer."""
        _, reader, writer = await tunnel(it.run.proxy_url, it.server.origin.removeprefix("https://"))
        await writer.start_tls(trusting(), server_hostname="127.0.0.1")
        shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
        certificate = shown.getpeercert(binary_form=True) or b""
        writer.write(data)
        answer = b""
        with contextlib.suppress(OSError):
            answer = await within(PATIENCE, reader.read())
        await hang_up(writer)
        return certificate, answer

    def test_the_certificate_holds_the_key_that_the_browser_is_told(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=bench.authority.context) as it:
                shown, answer = await self._through_tls(it, _in_tunnel(it, "GET", "/ok"))
                public = x509.load_der_x509_certificate(shown).public_key()
                encoded = public.public_bytes(
                    serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
                )

                assert base64.b64encode(hashlib.sha256(encoded).digest()).decode() == bench.fence.spki
                assert status(answer) == 200

        bench.run(scenario())

    def test_one_save_arrives(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=bench.authority.context) as it:
                await it.arm()
                body = os.urandom(500_000)
                data = _in_tunnel(it, "POST", "/challenge", f"Content-Type: {FORM}", body=body)
                statuses = [status((await self._through_tls(it, data))[1]) for _ in range(2)]

                assert statuses == [401, 403]
                assert [hashlib.sha256(body).hexdigest()] == [write.sha256 for write in it.server.writes]
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=1, refused=True) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    def test_a_server_that_cannot_be_verified_gets_nothing(self, bench: Bench, tmp_path: Path) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=make_authority(tmp_path).context) as it:
                await it.arm()
                _, read = await self._through_tls(it, _in_tunnel(it, "GET", "/ok"))
                save = _in_tunnel(it, "POST", "/ok", f"Content-Type: {FORM}", body=b"x")
                _, wrote = await self._through_tls(it, save)

                assert (b"", b"") == (read, wrote)
                assert it.server.arrivals == []
                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    def test_another_host_inside_the_tunnel_is_refused(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=bench.authority.context) as it:
                _, answer = await self._through_tls(it, request("GET", "/ok", "X: 1").replace(b"/ok\r", b"x\r"))

                assert status(answer) == 400
                assert it.server.arrivals == []

        bench.run(scenario())

    @pytest.mark.parametrize("secure", [False, True])
    def test_a_websocket_is_refused_and_counted(self, bench: Bench, *, secure: bool) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, tls=bench.authority.context if secure else None) as it:
                opening = _in_tunnel(it, "GET", "/socket", *UPGRADE).replace(
                    b"Connection: close", b"Connection: upgrade"
                )
                if secure:
                    _, answer = await self._through_tls(it, opening)
                else:
                    _, reader, writer = await tunnel(it.run.proxy_url, it.server.origin.removeprefix("http://"))
                    writer.write(opening)
                    answer = await within(PATIENCE, reader.read())
                    await hang_up(writer)

                assert status(answer) == 403
                assert it.server.connections == 0
                assert FenceCounts(stopped_writes=1) == await it.run.counts()

        bench.run(scenario())


def _in_tunnel(it: Rig, method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    """A request as it is written inside a tunnel."""
    return request(method, it.server.origin + path, *headers, body=body).replace(it.server.origin.encode(), b"", 1)


def _unchunked(body: bytes) -> bytes:
    """The content of a body in chunks of one line; other bodies are nothing that it knows."""
    return b"".join(body.split(b"\r\n")[1::2])


class TestTheJournal:
    """A journal is for its owner only, and holds stages and a status: no address, no content."""

    def test_what_it_holds(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                await it.post("/ok?patient=jane", b"note=secret")
                await it.run.settle(WAIT_MS)
                path = bench.journals / f"{it.run_id}.jsonl"
                stages = ["opened", "intent", "crossed", "connected", "writing", "written"]

                assert [f'{{"stage":"{stage}"}}' for stage in stages] + [
                    '{"stage":"answered","status":200}',
                    '{"stage":"done"}',
                ] == path.read_text().splitlines()
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
                assert stat.S_IMODE(bench.journals.stat().st_mode) == 0o700

        bench.run(scenario())


Death = Callable[[Fence], Coroutine[object, object, None]]


async def kill(fence: Fence) -> None:
    """End the fence's process as hard as can be."""
    os.kill(fence.process_id, signal.SIGKILL)


async def leave(fence: Fence) -> None:
    """Lose the control channel, as when the worker dies."""
    await fence.close()


class TestDeathAtAnyMoment:
    """When the fence or its control channel dies, nothing new leaves, and the journal agrees with the server's log."""

    @pytest.mark.parametrize("death", [kill, leave])
    def test_while_the_boundary_is_passed(self, bench: Bench, death: Death) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence()
            async with rig(fence) as it:

                async def die() -> bool:
                    dying.append(asyncio.create_task(death(fence)))
                    await within(PATIENCE, posting)
                    return True

                dying: list[asyncio.Task[None]] = []
                await it.run.arm(SAVE, die)
                posting = asyncio.create_task(it.post("/ok"))
                verdict = await it.run.settle(WAIT_MS)
                await asyncio.gather(*dying)

                assert Delivery.NOT_SENT is verdict.delivery
                assert it.server.arrivals == []
            await fence.close()

        bench.run(scenario())

    @pytest.mark.parametrize(("path", "delivery"), [("/slow", Delivery.UNKNOWN), ("/events", Delivery.SENT_ONCE)])
    def test_killed_while_the_answer_is_awaited_or_relayed(self, bench: Bench, path: str, delivery: Delivery) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence()
            async with rig(fence) as it:
                await it.arm()
                reader, writer = await open_proxy(it.run.proxy_url)
                writer.write(request("POST", it.server.origin + path, f"Content-Type: {FORM}", body=b"x"))
                await it.server.until(lambda: bool(it.server.writes))
                if path == "/events":
                    await within(PATIENCE, reader.readuntil(b"data: one\n\n"))
                await kill(fence)

                assert FenceVerdict(delivery, stopped_writes=0) == await it.run.settle(WAIT_MS)
                assert len(it.server.writes) == 1
                # A process that was killed lets go of its channel before it lets go of its port.
                await until_refused(it.run.proxy_url)
                await hang_up(writer)
            await fence.close()

        bench.run(scenario())

    def test_a_save_that_is_on_its_way_gets_its_last_line_when_the_worker_is_gone(self, bench: Bench) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence()
            async with rig(fence) as it:
                await it.arm()
                posting = asyncio.create_task(it.post("/slow"))
                await it.server.until(lambda: bool(it.server.writes))
                leaving = asyncio.create_task(fence.close())
                await until_refused(it.run.proxy_url)
                it.server.released.set()
                await leaving

                assert content(await posting) == b"slow"
                assert Delivery.SENT_ONCE is read_delivery(bench.journals, it.run_id)
                assert len(it.server.writes) == 1

        bench.run(scenario())

    @pytest.mark.parametrize("milliseconds", [0, 1, 2, 4, 8])
    def test_killed_at_any_moment_after_the_boundary(self, bench: Bench, milliseconds: int) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence()
            async with rig(fence) as it:

                async def grant_and_doom() -> bool:
                    asyncio.get_running_loop().call_later(
                        milliseconds / 1000, os.kill, fence.process_id, signal.SIGKILL
                    )
                    return True

                await it.run.arm(SAVE, grant_and_doom)
                await it.post("/ok")
                delivery = (await it.run.settle(WAIT_MS)).delivery
                arrived = len(it.server.writes)

                assert (
                    arrived
                    in {
                        Delivery.NOT_SENT: {0},
                        Delivery.UNKNOWN: {0, 1},
                        Delivery.SENT_ONCE: {1},
                    }[delivery]
                )
            await fence.close()

        bench.run(scenario())

    def test_nobody_waits_for_a_save_of_a_run_that_ended(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm()
                settling = asyncio.create_task(it.run.settle(60_000))
                await it.run.counts()
                await it.run.close()

                assert FenceVerdict(Delivery.NOT_SENT, stopped_writes=0) == await within(PATIENCE, settling)

        bench.run(scenario())

    def test_a_fence_that_cannot_start_says_so(self, bench: Bench, tmp_path: Path) -> None:
        async def scenario() -> None:
            with pytest.raises(FenceUnavailableError):
                await Fence.start(tmp_path / "journals", tmp_path / "missing.pem")

        bench.run(scenario())

    def test_a_fence_that_is_gone_says_so(self, bench: Bench) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence()
            await fence.close()
            with pytest.raises(FenceUnavailableError):
                await fence.open_run("run_late", FenceRules(()))

        bench.run(scenario())
