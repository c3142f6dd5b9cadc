"""The read-back channel against servers that answer in every wrong way, and against databases."""

import asyncio
import socket
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import pytest

from support.browser import Site
from surehand.core.workflow.commands import ReadRecords, Record, Records, RecordsUnavailable
from surehand.core.workflow.source import DatabaseRecords, JsonRecords
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.database_records import DatabaseReader, UnsupportedDatabaseError
from surehand.shell.engines.browser.json_records import JsonReader
from surehand.shell.engines.browser.page_records import PageReader
from surehand.shell.engines.browser.readback import RecordChannel

LIST = JsonRecords("/api/records", "items", "id")


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


def channel(json: JsonReader, databases: DatabaseReader | None = None) -> RecordChannel:
    """A channel without pages."""
    return RecordChannel(json, cast("PageReader", None), databases or DatabaseReader())


def read(  # noqa: PLR0913 - the parts of one read
    origin: str,
    seconds: float = 60.0,
    headers: dict[str, str] | None = None,
    *,
    source: JsonRecords = LIST,
    old: frozenset[str] | None = None,
    cookies: str = "",
) -> Records | RecordsUnavailable:
    """Read once."""

    async def cookies_for(_url: str) -> str:
        return cookies

    target = AppTarget(origin=origin, record_origin=origin, record_headers=headers or {})
    reader = JsonReader(target, cookies=cookies_for)
    return asyncio.run(channel(reader).read(ReadRecords(source, old), seconds))


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


class TestShapes:
    """A list may stand anywhere in the answer, or be it; a record may be nested, and have a place of its own."""

    def test_a_nested_member_has_a_dotted_name(self) -> None:
        body = b'{"items": [{"id": 1, "who": {"name": "Ada", "born": {"year": 1815}}, "none": {"at": null}}]}'
        with server(answer(body)) as (origin, _):
            found = read(origin)

        assert found == Records((Record("1", {"id": "1", "who.name": "Ada", "who.born.year": "1815"}),))

    def test_a_list_is_its_canonical_json(self) -> None:
        body = b'{"items": [{"id": 1, "tags": [ "b", 1.50, true, null, {"z": 1, "a": "\\u00e9"} ]}]}'
        with server(answer(body)) as (origin, _):
            found = read(origin)

        assert found == Records((Record("1", {"id": "1", "tags": '["b",1.50,true,null,{"a":"\u00e9","z":1}]'}),))

    @pytest.mark.parametrize(
        ("items", "body"),
        [
            ("", b'[{"id": "1"}]'),
            ("", b'{"id": "1"}'),
            ("data", b'{"data": {"id": "1"}}'),
            ("data.visits", b'{"data": {"visits": [{"id": "1"}]}}'),
            ("visits.*", b'{"visits": {"one": {"id": "1"}}}'),
        ],
    )
    def test_the_records_are_where_the_source_says(self, items: str, body: bytes) -> None:
        with server(answer(body)) as (origin, _):
            assert read(origin, source=JsonRecords("/api", items, "id")) == Records((Record("1", {"id": "1"}),))

    @pytest.mark.parametrize("items", ["data", "other", "items.more", "items.*"])
    def test_they_are_nowhere_else(self, items: str) -> None:
        with server(answer(GOOD)) as (origin, _):
            assert read(origin, source=JsonRecords("/api", items, "id")) == RecordsUnavailable()

    def test_the_cookies_of_the_session_go_along_and_nothing_else(self) -> None:
        with server(answer(GOOD)) as (origin, seen):
            read(origin, cookies="a=1; b=2")

        assert b"Cookie: a=1; b=2\r\n" in seen[0]
        assert b"authorization" not in seen[0].lower()

    def test_the_place_of_a_new_record_is_read_and_that_of_an_old_one_is_not(self) -> None:
        with Site() as site:
            site.records.extend([{"id": "1", "note": "old"}, {"id": "2/3", "note": "cut"}])
            site.answers["/api/records/2%2F3"] = '{"items": {"id": "2/3", "note": "in full"}}'
            source = JsonRecords("/api/records", "items", "id", "/api/records/*")

            before = read(site.origin, source=source)
            after = read(site.origin, source=source, old=frozenset({"1"}))

        old = Record("1", {"id": "1", "note": "old"})
        assert before == Records((old, Record("2/3", {"id": "2/3", "note": "cut"})))
        assert after == Records((old, Record("2/3", {"id": "2/3", "note": "in full"})))
        assert site.asked == ["/api/records", "/api/records", "/api/records/2%2F3"]

    def test_the_place_of_another_record_is_no_answer(self) -> None:
        with Site() as site:
            site.records.append({"id": "2", "note": "x"})
            site.answers["/api/records/2"] = '{"id": "3", "note": "x"}'
            source = JsonRecords("/api/records", "items", "id", "/api/records/*")

            assert read(site.origin, source=source, old=frozenset()) == RecordsUnavailable()

    def test_more_new_records_than_can_be_read_are_no_answer(self) -> None:
        with Site() as site:
            site.records.extend({"id": str(number)} for number in range(51))
            source = JsonRecords("/api/records", "items", "id", "/api/records/*")

            assert read(site.origin, source=source, old=frozenset()) == RecordsUnavailable()
            assert site.asked == ["/api/records"]


class TestDatabases:
    """A view of a database is read as text, from the file that the operator named and without touching it."""

    VIEW = DatabaseRecords("clinic", "visits_seen", "id", ("note", "dose", "gone"))

    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        """A database with a view."""
        path = tmp_path / "a ?#%.db"
        with closing(sqlite3.connect(path)) as made:
            made.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, note TEXT, dose REAL, gone TEXT, picture BLOB)")
            made.execute("CREATE VIEW visits_seen AS SELECT * FROM visits")
            made.execute("INSERT INTO visits VALUES (7, 'caf\u00e9\nx', 1.5, NULL, x'00')")
            made.commit()
        return path

    def look(self, path: str, source: DatabaseRecords = VIEW, seconds: float = 60.0) -> Records | RecordsUnavailable:
        reader = DatabaseReader({"clinic": path})
        return asyncio.run(channel(cast("JsonReader", None), reader).read(ReadRecords(source), seconds))

    @pytest.mark.parametrize("form", ["{}", "sqlite:{}", "sqlite://{}"])
    def test_every_column_is_text_and_what_is_absent_is_left_out(self, database: Path, form: str) -> None:
        found = self.look(form.format(database))

        assert found == Records((Record("7", {"id": "7", "note": "caf\u00e9\nx", "dose": "1.5"}),))

    def test_every_read_sees_the_database_as_it_is(self, database: Path) -> None:
        self.look(str(database))
        with closing(sqlite3.connect(database)) as other:
            other.execute("DELETE FROM visits")
            other.commit()

        assert self.look(str(database)) == Records(())

    @pytest.mark.parametrize(
        "source",
        [
            DatabaseRecords("clinic", "nothing", "id", ("note",)),
            DatabaseRecords("clinic", "visits_seen", "id", ("nothing",)),
            DatabaseRecords("clinic", "visits_seen", "nothing", ("note",)),
            DatabaseRecords("clinic", "visits_seen", "gone", ("note",)),
            DatabaseRecords("clinic", "visits_seen", "id", ("picture",)),
            DatabaseRecords("other", "visits_seen", "id", ("note",)),
        ],
        ids=["view", "column", "key", "empty_key", "bytes", "connection"],
    )
    def test_what_is_not_as_the_source_says_is_no_answer(self, database: Path, source: DatabaseRecords) -> None:
        assert self.look(str(database), source) == RecordsUnavailable()

    def test_a_file_that_is_not_there_is_no_answer_and_is_not_made(self, tmp_path: Path) -> None:
        assert self.look(str(tmp_path / "none.db")) == RecordsUnavailable()
        assert list(tmp_path.iterdir()) == []

    def test_a_key_that_stands_twice_is_no_answer(self, database: Path) -> None:
        with closing(sqlite3.connect(database)) as other:
            other.execute("CREATE VIEW twice AS SELECT * FROM visits UNION ALL SELECT * FROM visits")
            other.commit()

        assert self.look(str(database), DatabaseRecords("clinic", "twice", "id", ("note",))) == RecordsUnavailable()

    def test_a_view_without_end_ends_in_time(self, database: Path) -> None:
        with closing(sqlite3.connect(database)) as other:
            other.execute(
                "CREATE VIEW endless AS WITH RECURSIVE n(id, note) AS "
                "(SELECT 1, 'x' UNION ALL SELECT id + 1, 'x' FROM n) SELECT count(*) AS id, note FROM n"
            )
            other.commit()

        source = DatabaseRecords("clinic", "endless", "id", ("note",))
        assert self.look(str(database), source, 0.3) == RecordsUnavailable()

    @pytest.mark.parametrize(
        ("address", "kind"), [("postgresql://user:secret@host/db", "postgresql"), ("mysql:/db", "mysql"), ("", "")]
    )
    def test_another_kind_is_refused_by_its_name(self, address: str, kind: str) -> None:
        with pytest.raises(UnsupportedDatabaseError) as refused:
            DatabaseReader({"clinic": address}).path("clinic")

        assert (refused.value.kind, "secret" in str(refused.value)) == (kind, False)


class TestOddAnswers:
    """Anything that is not a clean list of flat records is no answer."""

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b'[{"id": "1"}]',
            b"null",
            b"{}",
            b'{"items": {}}',
            b'{"items": [1]}',
            b'{"items": [{"note": "no key"}]}',
            b'{"items": [{"id": ""}]}',
            b'{"items": [{"id": null}]}',
            b'{"items": [{"id": "1", "note": {"a": {"b": NaN}}}]}',
            b'{"items": [{"id": "1", "note": ["\\ud800"]}]}',
            b'{"items": [{"id": "1", "a.b": "x", "a": {"b": "y"}}]}',
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
