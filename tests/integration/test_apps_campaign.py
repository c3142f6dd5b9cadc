"""The campaign on apps that others wrote: its proxy, its judge, and whole runs on the apps that start quickly.

Laws:

- The proxy spoils one save as it was told, and passes everything else as it came.
- The judge finds every broken promise that the store shows, and no other.
- The tables count every run, and leave out no broken promise.
- A task that was demonstrated once is done again with other inputs, and is there once.
"""

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from attrs import define, field

from apps.apps import AppName, free_port
from apps.campaign import Call, broken_promises, campaign, main
from apps.demonstration import Difference, difference
from apps.proxy import Fault, Proxy, SaveSign, standing_before
from apps.table import Row, Runs, tables
from surehand.core.outcome.reasons import REASONS, Reason
from surehand.core.outcome.result import Answer, CallFacts, CheckedHow, EngineName, Mode, RunResult, render
from surehand.core.wire import to_wire

SAVE: Final = SaveSign("POST", re.compile("/save"), re.compile(b"final"))
NOTHING: Final = Difference((), (), ())
ONE: Final = Difference(({"id": 1},), (), ())
TWO: Final = Difference(({"id": 1}, {"id": 2}), (), ())


@define
class Counted:
    """An app that counts what it is asked for."""

    port: int = 0
    asked: list[str] = field(factory=list[str])


@contextmanager
def app() -> Generator[Counted]:
    """Serve an app that answers everything with what it was asked."""
    counted = Counted()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            """Print nothing."""

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["content-length"])))

        def answer(self, body: bytes) -> None:
            """Count, and send back what came."""
            counted.asked.append(f"{self.command} {self.path} {body.decode()}".strip())
            self.send_response(201)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    counted.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield counted
    finally:
        server.shutdown()
        server.server_close()


def ask(proxy: Proxy, method: str, path: str, body: str = "", accept: str = "text/html") -> int:
    """The status of one answer; 0 when there is none."""
    connection = HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    try:
        connection.request(method, path, body.encode() or None, {"Accept": accept})
        return connection.getresponse().status
    except RemoteDisconnected:
        return 0
    finally:
        connection.close()


@contextmanager
def proxied() -> Generator[tuple[Proxy, Counted]]:
    """An app behind a proxy."""
    with app() as counted, standing_before(counted.port, free_port(), SAVE, "/sign-in") as proxy:
        yield proxy, counted


class TestASaveIsSpoiledAsTold:
    """The answer is the one of the fault, and the app has the save as often as the fault says; the next one passes."""

    @pytest.mark.parametrize(
        ("fault", "status", "delivered"),
        [
            (None, 201, 1),
            (Fault.REQUEST_LOST, 0, 0),
            (Fault.RESPONSE_LOST, 0, 1),
            (Fault.ERROR_AFTER_COMMIT, 500, 1),
            (Fault.OK_WITHOUT_COMMIT, 200, 0),
            (Fault.SLOW, 201, 1),
            (Fault.DUPLICATE, 201, 2),
            (Fault.SIGNED_OUT, 302, 0),
            (Fault.SIGNED_OUT_BEFORE, 201, 1),
            (Fault.SIGNED_OUT_AFTER, 201, 1),
        ],
    )
    def test_and_only_once(self, fault: Fault | None, status: int, delivered: int) -> None:
        with proxied() as (proxy, counted):
            proxy.spoil(fault)
            assert 201 == ask(proxy, "POST", "/save", "draft")
            assert 201 == ask(proxy, "GET", "/part", accept="*/*")

            assert status == ask(proxy, "POST", "/save", "final")

            assert (delivered, 1) == (counted.asked.count("POST /save final"), proxy.saves)
            proxy.spoil(None)
            assert 201 == ask(proxy, "POST", "/save", "final")
            assert delivered + 1 == counted.asked.count("POST /save final")

    def test_the_sign_in_page_comes_before(self) -> None:
        with proxied() as (proxy, _):
            proxy.spoil(Fault.SIGNED_OUT_BEFORE)
            assert [201, 302, 201] == [ask(proxy, "GET", path) for path in ("/sign-in", "/page", "/page")]

    def test_the_sign_in_page_comes_after(self) -> None:
        with proxied() as (proxy, _):
            proxy.spoil(Fault.SIGNED_OUT_AFTER)
            assert 201 == ask(proxy, "GET", "/page")
            assert 201 == ask(proxy, "POST", "/save", "final")
            assert [302, 302, 201] == [ask(proxy, "GET", path) for path in ("/page", "/page", "/sign-in")]

    def test_its_end_is_the_end_of_every_connection(self) -> None:
        with proxied() as (proxy, _):
            port = proxy.port
        with pytest.raises(ConnectionRefusedError):
            HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/")


def answered(reason: Reason) -> RunResult:
    """A result with this reason."""
    checked = CheckedHow.SEPARATE_SESSION if reason is Reason.SAVED_AND_CHECKED else CheckedHow.UNCHECKED
    facts = CallFacts(run_id=f"run_{'0' * 32}", mode=Mode.PRODUCTION, engine=EngineName.BROWSER, attempt=1)
    return render(Answer(reason, REASONS[reason], checked), facts)


DONE: Final = answered(Reason.SAVED_AND_CHECKED)
UNSURE: Final = answered(Reason.SAVE_NOT_CONFIRMED)
NOT_STARTED: Final = answered(Reason.PERSON_NEEDED)
AGAIN: Final = next(each for each in map(answered, REASONS) if each.safe_to_retry)


class TestTheJudge:
    """Each broken promise is named, and nothing is said where none is broken."""

    @pytest.mark.parametrize(
        ("first", "again", "right", "broken"),
        [
            (Call(DONE, ONE, 1), Call(DONE, ONE, 0), True, []),
            (Call(DONE, NOTHING, 1), Call(DONE, NOTHING, 0), False, ["a false done"]),
            (Call(DONE, TWO, 1), Call(DONE, TWO, 0), False, ["a false done"]),
            (Call(UNSURE, NOTHING, 1), Call(DONE, NOTHING, 0), False, ["a false done"]),
            (Call(UNSURE, NOTHING, 1), Call(UNSURE, NOTHING, 0), False, []),
            (Call(UNSURE, ONE, 1), Call(UNSURE, ONE, 0), True, []),
            (Call(NOT_STARTED, NOTHING, 0), Call(NOT_STARTED, NOTHING, 0), False, []),
            (Call(NOT_STARTED, ONE, 1), Call(NOT_STARTED, ONE, 0), True, ["a false nothing was written"]),
            (Call(UNSURE, ONE, 2), Call(UNSURE, ONE, 0), True, ["a second write"]),
            (Call(UNSURE, ONE, 1), Call(UNSURE, TWO, 1), False, ["a second write"]),
            (Call(UNSURE, NOTHING, 1), Call(DONE, ONE, 1), True, ["a second write"]),
            (Call(AGAIN, NOTHING, 0), Call(DONE, ONE, 1), True, []),
        ],
    )
    def test_names_what_is_broken(self, first: Call, again: Call, right: bool, broken: list[str]) -> None:
        assert broken == list(broken_promises(first, again, right))


class TestAStoreIsComparedWhole:
    """Only exactly the expected record, and nothing besides, is right."""

    BEFORE: Final = [{"id": 1, "a": "x", "b": "y"}]

    @pytest.mark.parametrize(
        ("after", "expected", "right"),
        [
            ([*BEFORE, {"id": 2, "a": "n", "b": "m"}], {"a": "n", "b": "m"}, True),
            ([*BEFORE, {"id": 2, "a": "n", "b": "m"}], {"a": "n"}, False),
            ([*BEFORE, {"id": 2, "a": "n", "b": "other"}], {"a": "n", "b": "m"}, False),
            ([{"id": 1, "a": "n", "b": "y"}], {"a": "n"}, True),
            ([{"id": 1, "a": "n", "b": "z"}], {"a": "n"}, False),
            ([{"id": 1, "a": "n", "b": "y"}, {"id": 2, "a": "n", "b": "y"}], {"a": "n"}, False),
            (BEFORE, {"a": "x"}, False),
            ([], {"a": "x"}, False),
        ],
    )
    def test_with_everything_that_came_changed_or_went(
        self, after: list[dict[str, object]], expected: dict[str, object], right: bool
    ) -> None:
        assert right is difference([*self.BEFORE], [*after]).is_exactly(expected)


class TestATaskThatWasShownIsDoneAgain:
    """Recorded, compiled, admitted and run with other inputs, the record is there once, as the app's store says."""

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", [AppName.DJADMIN, AppName.DATASETTE])
    def test_on_an_app_that_others_wrote(self, name: AppName) -> None:
        rows = list(campaign(name, 1, [None, Fault.RESPONSE_LOST, Fault.OK_WITHOUT_COMMIT]))

        assert [()] * 3 == [row.broken for row in rows]
        assert ["as intended", "as intended", "nothing"] == [row.stored for row in rows]
        assert ["done", "done", "not_sure_if_saved"] == [row.outcome for row in rows]


class TestTheTables:
    """Every run is counted once in each table that it belongs to, and a broken promise is never left out."""

    def row(self, outcome: str, reason: str, fault: str = "none", broken: tuple[str, ...] = ()) -> Row:
        """One run of an app."""
        return Row("app", 1, fault, outcome, reason, "", "", 1.5, "2026-01-02", broken)

    def test_count_what_came_of_the_runs(self) -> None:
        done = self.row("done", "saved_and_checked")
        rows = [done, done, self.row("needs_review", "person_needed")]

        text = tables(rows)

        assert "| app | 3 | 2 | 0 | 1 | 0 | 1 `person_needed` | 0 |" in text
        assert "2026-01-02" in text
        assert "3 runs, 2 of them `done` and true (66 %)." in text
        assert "spoiled" not in text

    def test_name_broken_promises(self) -> None:
        rows = [
            self.row("done", "saved_and_checked", "slow", ("a false done",)),
            self.row("not_sure_if_saved", "save_not_confirmed", "slow"),
            self.row("done", "saved_and_checked", "response_lost"),
        ]

        text = tables(rows)

        assert "| slow | 2 | 1 | 1 | 0 | 0 | 1 `save_not_confirmed` | 1 a false done |" in text
        assert "| response lost | 1 | 1 | 0 | 0 | 0 |  | 0 |" in text
        assert text.count("| all | 3 | 2 | 1 | 0 | 0 |  | 1 a false done |") == 2
        assert text.count("3 runs, 1 of them `done` and true (33 %).") == 2

    def test_are_the_same_from_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rows = (self.row("done", "saved_and_checked"), self.row("needs_review", "person_needed", "slow"))
        for number, row in enumerate(rows):
            (tmp_path / f"{number}.json").write_text(json.dumps(to_wire(Runs((row,)))), encoding="utf-8")

        assert 0 == main(["--table", str(tmp_path / "0.json"), str(tmp_path / "1.json")])
        assert tables(rows) == capsys.readouterr().out
