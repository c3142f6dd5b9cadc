"""Writes that one address serves, writes that are held back, WebSockets, and a second port, at a real fence."""

import asyncio
import contextlib
import gzip
import json
import os
import secrets
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from support.fence_rig import (
    FORM,
    PATIENCE,
    SIGN_IN,
    Bench,
    Boundary,
    Rig,
    connection_to,
    exchange,
    journal_stages,
    request,
    rig,
    until_refused,
    within,
)
from support.origin_server import GREETING, hang_up, origin_server
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import FenceCounts, FenceRules, FenceVerdict
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, WriteRoute
from surehand.core.workflow.target import QueryPart
from surehand.shell.fence.client import Fence, FenceRun, FenceUnavailableError
from surehand.shell.fence.journal import journal_path, read_delivery, run_of_journal

WAIT_MS = 60_000
JSON = "application/json"
MULTIPART = "multipart/form-data"
READS = WriteRoute("POST", "/ok", JSON, operation=GraphqlRead())
CREATE = WriteRoute("POST", "/ok", JSON, operation=GraphqlOperation("Create"))
DRAFT = WriteRoute("POST", "/drafts", FORM)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The shared loop and fence."""
    bench = Bench(tmp_path_factory.mktemp("fence"))
    yield bench
    bench.close()


def status(answer: bytes) -> int:
    """The status of an answer; 0 when there was none."""
    return int(answer.split(b" ")[1]) if answer else 0


def asks(document: str, **more: object) -> bytes:
    """The body of a GraphQL request."""
    return json.dumps({"query": document, **more}).encode()


async def ask(it: Rig, body: bytes, *headers: str, path: str = "/ok") -> int:
    """Send JSON; the status of the answer."""
    return status(await it.send("POST", path, f"Content-Type: {JSON}", *headers, body=body))


class TestOneAddressForEverything:
    """Where one address serves all the body decides: reads pass, the one save passes once, and nothing else."""

    def test_reads_pass_and_the_save_is_sent_once(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(READS,)) as it:
                await it.arm(CREATE)
                create = asks("mutation Create {x}", operationName="Create", variables={"name": "} query {"})
                said = [await ask(it, body) for body in (asks("{x}"), asks("mutation Other {x}"), create, create)]

                assert [200, 403, 200, 403] == said
                assert [asks("{x}"), create] == [write.body for write in it.server.writes]
                assert (1, 1) == (it.boundary.asked, it.boundary.arrived_before)
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=2) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    @pytest.mark.parametrize(
        "body",
        [
            asks("query List {x} mutation Create {x}", operationName="Create"),
            asks("#\nmutation Create {x}"),
            asks('query List {x(a: "\\"#")} mutation Create {x}', operationName="List"),
            asks('{x(a: """\\""" #""")}\rmutation Create {x}'),
            asks("mutation List {query: x}", operationName="List"),
            b'{"query": "{x}", "query": "mutation Create {x}"}',
            json.dumps([{"query": "{x}"}, {"query": "mutation Create {x}"}]).encode(),
            asks("{x}", extensions={"persistedQuery": {"version": 1, "sha256Hash": "0"}}),
        ],
    )
    def test_a_disguised_mutation_is_stopped(self, bench: Bench, body: bytes) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(READS,)) as it:
                assert (200, 403) == (await ask(it, asks("{x}")), await ask(it, body))
                assert len(it.server.writes) == 1

        bench.run(scenario())

    def test_what_cannot_be_read_for_sure_is_stopped(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, harmless=(READS,)) as it:
                body = asks("{x}")
                said = [
                    await ask(it, gzip.compress(body), "Content-Encoding: gzip"),
                    await ask(it, body, "Content-Encoding: br"),
                    await ask(it, body, path="/ok?query=mutation+Create+%7Bx%7D"),
                    await ask(it, body, "X-HTTP-Method-Override: PUT"),
                    await ask(it, body, f"Content-Type: {JSON}; charset=utf-16"),
                    status(await it.send("POST", "/ok", f"Content-Type: {JSON}; charset=utf-16", body=body)),
                    status(await it.send("POST", "/ok", "Content-Type: text/plain", body=body)),
                ]

                assert [403] * 7 == said
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_members_of_the_query_and_of_the_body_decide(self, bench: Bench) -> None:
        beat = WriteRoute("POST", "/ok", FORM, (QueryPart("do", "ajax"),), FormField("action", "heartbeat"))
        call = WriteRoute("POST", "/ok", JSON, operation=JsonMember("method", "list"))

        async def scenario() -> None:
            async with rig(bench.fence, harmless=(beat, call)) as it:
                passed = [
                    await it.post("/ok?do=ajax", b"action=heartbeat"),
                    await it.send("POST", "/ok", f"Content-Type: {JSON}", body=b'{"method": "list"}'),
                ]
                stopped = [
                    await it.post("/ok?do=ajax", b"action=save"),
                    await it.post("/ok?do=ajax", b"action=heartbeat&action=save"),
                    await it.post("/ok?do=ajax&action=save", b"action=heartbeat"),
                    await it.post("/ok?do=ajax&do=ajax", b"action=heartbeat"),
                    await it.post("/ok", b"action=heartbeat"),
                    await it.send("POST", "/ok", f"Content-Type: {JSON}", body=b'{"method": "save"}'),
                ]

                assert [200] * 2 == [status(answer) for answer in passed]
                assert [403] * 6 == [status(answer) for answer in stopped]
                assert FenceCounts(harmless_writes=2, stopped_writes=6) == await it.run.counts()

        bench.run(scenario())

    def test_a_post_that_stands_for_a_put_is_a_put(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                await it.arm(WriteRoute("PUT", "/ok", JSON))
                said = [await ask(it, b"{}"), await ask(it, b"{}", "X-HTTP-Method-Override: PUT")]

                assert [403, 200] == said
                assert ["PUT"] == [write.headers["x-http-method-override"] for write in it.server.writes]

        bench.run(scenario())


class TestWritesThatAreHeldBack:
    """A blocked write never reaches the app, before, during and after the save, and does not count as a stopped one."""

    def test_it_is_held_back_always(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, blocked=(DRAFT,)) as it:
                said = [await it.post("/drafts")]
                await it.arm(WriteRoute("POST", "/ok", FORM))
                said += [await it.post("/drafts"), await it.post("/ok"), await it.post("/drafts")]

                assert [403, 403, 200, 403] == [status(answer) for answer in said]
                assert ["/ok"] == [write.path for write in it.server.writes]
                assert FenceCounts(blocked_writes=3) == await it.run.counts()
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0) == await it.run.settle(WAIT_MS)

        bench.run(scenario())

    def test_a_write_that_nobody_named_stays_a_stopped_one(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, blocked=(DRAFT,)) as it:
                await it.post("/drafts/7")

                assert FenceCounts(stopped_writes=1) == await it.run.counts()

        bench.run(scenario())

    def test_a_save_that_would_be_held_back_cannot_be_armed(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, blocked=(DRAFT,)) as it:
                with pytest.raises(FenceUnavailableError):
                    await it.arm(WriteRoute("POST", "/*", FORM))

        bench.run(scenario())


OPENING = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class Socket:
    """A WebSocket as bytes: what was answered, and the connection."""

    def __init__(self, answer: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.answer, self.reader, self.writer = answer, reader, writer

    async def has_ended(self) -> bool:
        """Wait until the connection ends."""
        with contextlib.suppress(OSError):
            while await within(PATIENCE, self.reader.read(65_536)):
                pass
        return True


@contextlib.asynccontextmanager
async def socket(it: Rig, path: str = "/socket/7", *headers: str, method: str = "GET") -> AsyncGenerator[Socket]:
    """Ask for a WebSocket through a tunnel."""
    reader, writer = await connection_to(it)
    host = it.server.origin.partition("://")[2]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(headers or OPENING), "", ""]
    try:
        writer.write("\r\n".join(lines).encode())
        yield Socket(await within(PATIENCE, reader.readuntil(b"\r\n\r\n")), reader, writer)
    finally:
        await hang_up(writer)


class TestConfirmedWebsockets:
    """A WebSocket to a confirmed path passes both ways, unread, and ends with its run; any other upgrade is a write."""

    @pytest.mark.parametrize("secure", [False, True])
    def test_it_passes_both_ways(self, bench: Bench, *, secure: bool) -> None:
        async def scenario() -> None:
            tls = bench.authority.context if secure else None
            async with rig(bench.fence, tls=tls, sockets=("/socket/*",)) as it, socket(it) as opened:
                sent = os.urandom(300_000)
                opened.writer.write(sent)
                await it.server.until(lambda: len(sent) == sum(map(len, it.server.frames)))

                assert status(opened.answer) == 101
                assert b"dxvtd7RkCZOBKpRmx9hzOxiVoNY=" not in opened.answer
                assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in opened.answer
                assert GREETING == await within(PATIENCE, opened.reader.readexactly(len(GREETING)))
                assert sent == b"".join(it.server.frames)
                assert FenceCounts(sockets=1) == await it.run.counts()

        bench.run(scenario())

    @pytest.mark.parametrize("end", ["run", "browser", "server", "fence"])
    def test_it_ends_with_its_run_and_with_either_side(self, bench: Bench, end: str) -> None:
        async def scenario() -> None:
            fence = await bench.start_fence() if end == "fence" else bench.fence
            async with rig(fence, sockets=("/socket/*",)) as it, socket(it) as opened:
                await it.server.until(lambda: it.server.open_sockets == 1)
                match end:
                    case "run":
                        await it.run.close()
                    case "browser":
                        await hang_up(opened.writer)
                    case "server":
                        it.server.hang_up_all()
                    case _:
                        await fence.close()
                await it.server.until(lambda: it.server.open_sockets == 0)

                assert await opened.has_ended()

        bench.run(scenario())

    def test_it_stays_open_over_the_save(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, sockets=("/socket/*",)) as it, socket(it) as opened:
                await it.arm(WriteRoute("POST", "/ok", FORM))
                await it.post("/ok")
                verdict = await it.run.settle(WAIT_MS)
                opened.writer.write(b"late")
                await it.server.until(lambda: it.server.frames == [b"late"])
                async with socket(it) as later:
                    assert status(later.answer) == 101

                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0) == verdict

        bench.run(scenario())

    @pytest.mark.parametrize(
        ("path", "headers", "method"),
        [
            ("/socket", (), "GET"),
            ("/socket/7/8", (), "GET"),
            ("/elsewhere/7", (), "GET"),
            ("/socket/7", ("Connection: Upgrade", "Upgrade: h2c"), "GET"),
            ("/socket/7", ("Connection: Upgrade", "Upgrade: websocket, h2c"), "GET"),
            ("/socket/7", ("Connection: Upgrade", "Upgrade: websocket", "Upgrade: websocket"), "GET"),
            ("/socket/7", (*OPENING, "Content-Length: 0"), "POST"),
            ("/socket/7", (*OPENING, "X-HTTP-Method-Override: PUT"), "GET"),
        ],
    )
    def test_any_other_upgrade_is_a_stopped_write(
        self, bench: Bench, path: str, headers: tuple[str, ...], method: str
    ) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, sockets=("/socket/*",)) as it:
                async with socket(it, path, *headers, method=method) as refused:
                    assert (403, True) == (status(refused.answer), await refused.has_ended())
                assert FenceCounts(stopped_writes=1) == await it.run.counts()
                assert it.server.arrivals == []

        bench.run(scenario())

    def test_an_answer_that_opens_nothing_is_passed_on(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence, sockets=("/challenge", "/early-hints", "/close")) as it:
                async with socket(it, "/challenge") as refused:
                    assert (401, True) == (status(refused.answer), await refused.has_ended())
                for odd in ("/early-hints", "/close"):
                    with pytest.raises(asyncio.IncompleteReadError):
                        async with socket(it, odd):
                            pass

        bench.run(scenario())


@contextlib.asynccontextmanager
async def second_port(fence: Fence, it: Rig, rules: FenceRules | None = None) -> AsyncGenerator[FenceRun]:
    """One more port for the run, as its read-back opens it."""
    run = await fence.open_run(f"{it.run_id}-read-1", rules or FenceRules((it.server.origin,), (SIGN_IN,)))
    try:
        yield run
    finally:
        await run.close()


class TestASecondPort:
    """A run's second port reads beside the first, before and after the save, and lets harmless writes out alone."""

    async def _send(self, it: Rig, run: FenceRun, method: str, path: str) -> int:
        data = request(method, it.server.origin + path, f"Content-Type: {FORM}", body=b"x" if method == "POST" else b"")
        return status(await exchange(run.proxy_url, data))

    def test_it_reads_before_and_after_the_save(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, second_port(bench.fence, it) as reading:
                await it.arm(WriteRoute("POST", "/ok", FORM))
                before = [await self._send(it, reading, method, "/ok") for method in ("GET", "POST")]
                await it.post("/ok")
                verdict = await it.run.settle(WAIT_MS)
                after = [await self._send(it, reading, method, "/ok") for method in ("GET", "POST")]
                signed_in = await self._send(it, reading, "POST", "/sign-in")

                assert ([200, 403], [200, 403], 200) == (before, after, signed_in)
                assert ["/ok", "/sign-in"] == [write.path for write in it.server.writes]
                assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0) == verdict
                assert FenceCounts(reads=2, harmless_writes=1, stopped_writes=2) == await reading.counts()
                assert FenceCounts() == await it.run.counts()

        bench.run(scenario())

    def test_each_has_its_own_journal_and_its_own_end(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it, second_port(bench.fence, it) as reading:
                second = journal_path(bench.journals, f"{it.run_id}-read-1")
                await it.arm()
                await it.post("/ok")
                await it.run.settle(WAIT_MS)
                await it.run.close()
                await until_refused(it.run.proxy_url)

                assert 200 == await self._send(it, reading, "GET", "/ok")
                assert '{"stage":"opened"}\n' == second.read_text()
                assert journal_stages(bench.journals, it.run_id).endswith('{"stage":"done"}\n')
                assert [it.run_id] * 2 == [
                    run_of_journal(path) for path in (second, journal_path(bench.journals, it.run_id))
                ]
                assert (Delivery.SENT_ONCE, Delivery.NOT_SENT) == (
                    read_delivery(bench.journals, it.run_id),
                    read_delivery(bench.journals, f"{it.run_id}-read-1"),
                )

        bench.run(scenario())

    def test_the_first_run_goes_on_when_it_is_closed(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with rig(bench.fence) as it:
                async with second_port(bench.fence, it) as reading:
                    assert 200 == await self._send(it, reading, "GET", "/ok")
                await it.arm()

                assert 200 == status(await it.post("/ok"))
                with pytest.raises(FenceUnavailableError):
                    async with second_port(bench.fence, it):
                        pass

        bench.run(scenario())

    @pytest.mark.parametrize("name", ["run_x", "run_" + "0" * 32 + "-", "run_" + "0" * 32 + "-Read", "other-read"])
    def test_another_name_is_of_no_run(self, name: str) -> None:
        assert run_of_journal(Path(f"{name}.jsonl")) is None


class TestSeveralServers:
    """A page of one server may save at another that the app has; what a route says of its server is held."""

    def test_the_save_goes_where_its_route_says(self, bench: Bench) -> None:
        async def scenario() -> None:
            async with origin_server() as api:
                run_id = f"run_{secrets.token_hex(16)}"
                async with rig(bench.fence) as it:
                    run = await bench.fence.open_run(run_id, FenceRules((it.server.origin, api.origin)))
                    boundary = Boundary(api)
                    await run.arm(WriteRoute("POST", "/ok", FORM, origin=api.origin), boundary.cross)
                    ask_first = request("OPTIONS", f"{api.origin}/cors", "Access-Control-Request-Method: POST")
                    said = [status(await exchange(run.proxy_url, ask_first))]
                    for server in (it.server, api):
                        data = request("POST", f"{server.origin}/ok", f"Content-Type: {FORM}", body=b"x")
                        said.append(status(await exchange(run.proxy_url, data)))
                    verdict = await run.settle(WAIT_MS)
                    await run.close()

                    assert [200, 403, 200] == said
                    assert ([], 1) == (it.server.writes, len(api.writes))
                    assert FenceVerdict(Delivery.SENT_ONCE, stopped_writes=1) == verdict

        bench.run(scenario())
