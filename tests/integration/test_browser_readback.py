"""The read-back channel against servers that answer in every wrong way."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from support.browser import NOTE_BUNDLE
from surehand.core.workflow.commands import Record, Records, RecordsUnavailable
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.readback import RecordChannel

READ_BACK = NOTE_BUNDLE.read_back


@contextmanager
def server(*parts: bytes, pause: float = 0.0, keep_open: bool = False) -> Generator[tuple[str, list[bytes]]]:
    """A server that sends these bytes to everybody; it gives its origin and the requests that it has seen."""
    seen: list[bytes] = []
    end = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not end.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                seen.append(connection.recv(65536))
                try:
                    for part in parts:
                        connection.sendall(part)
                        end.wait(pause)
                    if keep_open:
                        end.wait(20)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
    finally:
        end.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def read(origin: str, seconds: float = 5.0, headers: dict[str, str] | None = None) -> Records | RecordsUnavailable:
    """Read once."""
    target = AppTarget(origin=origin, record_origin=origin, record_headers=headers or {})
    return asyncio.run(RecordChannel(target, READ_BACK).read(seconds))


def answer(body: bytes, status: bytes = b"200 OK", extra: bytes = b"") -> bytes:
    """A whole answer."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), extra, body)


GOOD = b'{"items": [{"id": "1", "note": "x"}]}'


class TestCleanAnswers:
    """A clean answer is read member by member, and nothing in it is converted."""

    def test_strings_numbers_and_truth_values_keep_their_text(self) -> None:
        body = (
            b'{"items": [{"id": 7, "dose": 1.50, "big": 1e3, "ok": true, "no": false, "gone": null, "t": " \\u00e9"}]}'
        )
        with server(answer(body)) as (origin, _):
            found = read(origin)

        members = {"id": "7", "dose": "1.50", "big": "1e3", "ok": "true", "no": "false", "t": " \u00e9"}
        assert found == Records((Record("7", members),))

    def test_an_empty_list_is_no_record(self) -> None:
        with server(answer(b'{"items": []}')) as (origin, _):
            assert read(origin) == Records(())

    def test_it_is_one_plain_get_with_the_headers_of_the_channel(self) -> None:
        with server(answer(GOOD)) as (origin, seen):
            read(origin, headers={"Authorization": "Bearer t"})

        assert len(seen) == 1
        assert seen[0].startswith(b"GET /api/records HTTP/1.1\r\n")
        assert b"Authorization: Bearer t\r\n" in seen[0]
        assert b"cookie" not in seen[0].lower()


class TestOddAnswers:
    """Anything that is not a clean list of flat records is no answer."""

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"{}",
            b'{"items": {}}',
            b'{"items": [1]}',
            b'{"items": [{"note": "no key"}]}',
            b'{"items": [{"id": ""}]}',
            b'{"items": [{"id": null}]}',
            b'{"items": [{"id": "1", "note": ["nested"]}]}',
            b'{"items": [{"id": "1", "note": {"a": 1}}]}',
            b'{"items": [{"id": "1"}, {"id": "1"}]}',
            b'{"items": [{"id": "1", "note": "a", "note": "b"}]}',
            b'{"items": [], "items": []}',
            b'{"items": [{"id": "1", "dose": NaN}]}',
            b'{"items": [{"id": "1", "dose": 007}]}',
            b'{"items": [{"id": "1", "note": "\\ud800"}]}',
            b'{"items": [{"id": "1", "note": "\xff"}]}',
            GOOD + b" trailing",
            GOOD[:-1],
            b'{"items": ' + b"[" * 100_000,
        ],
    )
    def test_the_body_is_refused(self, body: bytes) -> None:
        with server(answer(body)) as (origin, _):
            assert read(origin) == RecordsUnavailable()

    @pytest.mark.parametrize("status", [b"201 Created", b"204 No Content", b"401 No", b"404 No", b"500 No", b"503 No"])
    def test_another_status_is_refused(self, status: bytes) -> None:
        with server(answer(GOOD, status)) as (origin, _):
            assert read(origin) == RecordsUnavailable()

    @pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary", b"308 Permanent"])
    def test_a_redirect_is_not_followed(self, status: bytes) -> None:
        with server(answer(GOOD)) as (elsewhere, seen):
            there = b"Location: " + elsewhere.encode() + b"/api/records\r\n"
            with server(answer(b"", status, there)) as (origin, _):
                assert read(origin) == RecordsUnavailable()
        assert seen == []

    def test_a_cut_body_is_refused(self) -> None:
        with server(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + GOOD) as (origin, _):
            assert read(origin) == RecordsUnavailable()

    def test_bytes_that_are_no_http_are_refused(self) -> None:
        with server(b"SSH-2.0-x\r\n") as (origin, _):
            assert read(origin) == RecordsUnavailable()

    def test_a_closed_connection_is_not_tried_again(self) -> None:
        with server() as (origin, seen):
            assert read(origin) == RecordsUnavailable()
        assert len(seen) == 1

    def test_nobody_there_is_no_answer(self) -> None:
        with server() as (origin, _):
            pass
        assert read(origin) == RecordsUnavailable()

    def test_an_answer_that_never_comes_ends_in_time(self) -> None:
        with server(keep_open=True) as (origin, _):
            assert read(origin, 0.2) == RecordsUnavailable()

    @pytest.mark.parametrize(
        "head", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b""]
    )
    def test_an_answer_that_drips_ends_in_time(self, head: bytes) -> None:
        drops = (head, *([b" "] * 1000))
        with server(*drops, pause=0.02) as (origin, _):
            assert read(origin, 0.3) == RecordsUnavailable()

    def test_an_answer_without_end_is_cut(self) -> None:
        with server(b"HTTP/1.1 200 OK\r\n\r\n", *([b" " * 1_000_000] * 40)) as (origin, _):
            assert read(origin) == RecordsUnavailable()
