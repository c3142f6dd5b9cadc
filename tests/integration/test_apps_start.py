"""The apps that others wrote, which are the test bed of record and replay.

Laws:

- An app starts from nothing, and its oracle shows what was saved through the app, and nothing else.
- Nothing of an app runs on after its end.
"""

import subprocess
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from apps.apps import QUICK, App, AppName, StartError, free_port, running
from apps.visitor import Visitor

NOTE: Final = {
    "patient": "1",
    "kind": "prog",
    "written_at_0": "2026-03-04",
    "written_at_1": "05:06:07",
    "systolic": "121",
    "temperature": "36.6",
    "text": "Slept well; „gut“ 🙂",
    "medication_set-TOTAL_FORMS": "0",
    "medication_set-INITIAL_FORMS": "0",
}


def note(visitor: Visitor, app: App) -> Mapping[str, object]:
    """Save a note in the clinic site."""
    page = "/admin/login/?next=/admin/clinic/note/add/"
    account = {"username": app.credentials.user, "password": app.credentials.password}
    visitor.send(page, {"csrfmiddlewaretoken": visitor.hidden(page, "csrfmiddlewaretoken"), **account})
    page = "/admin/clinic/note/add/"
    visitor.send(page, {"csrfmiddlewaretoken": visitor.hidden(page, "csrfmiddlewaretoken"), **NOTE})
    return {
        "id": 1,
        "patient": "M1000",
        "kind": "prog",
        "written_at": "2026-03-04 05:06:07",
        "systolic": 121,
        "temperature": "36.6",
        "text": NOTE["text"],
        "signed": 0,
        "medications": [],
    }


def ticket(visitor: Visitor, app: App) -> Mapping[str, object]:
    """Save a ticket at the help desk."""
    visitor.send("/login", {"username": app.credentials.user, "password": app.credentials.password})
    form = {"subject": "Lamp — 3. OG", "body": "It hums.", "priority": "urgent", "due": "2026-03-04", "customer": "2"}
    visitor.send("/admin/ticket/new/", form)
    return {
        "id": 6,
        "subject": form["subject"],
        "body": form["body"],
        "priority": "urgent",
        "due": "2026-03-04",
        "opened": None,
        "billable": 0,
        "hours": None,
        "customer": "Blue Hospital",
        "tags": [],
    }


def visit(visitor: Visitor, app: App) -> Mapping[str, object]:
    """Save a visit in the table."""
    page = "/-/login"
    visitor.send(page, {"username": app.credentials.user, "password": app.credentials.password})
    row = {"patient": "Åsa Öberg", "kind": "fu", "visit_date": "2026-03-04", "pulse": 71, "temperature": 36.7}
    visitor.send_json("/clinic/visits/-/insert", {"row": {**row, "notes": "🙂"}})
    return {"id": 13, **row, "notes": "🙂"}


SAVED: Final[dict[AppName, Callable[[Visitor, App], Mapping[str, object]]]] = {
    AppName.DJADMIN: note,
    AppName.FLASKADMIN: ticket,
    AppName.DATASETTE: visit,
}


class TestAnAppStartsFromNothing:
    """What was saved through the app stands in the oracle, exactly once, and what was there before still stands."""

    @pytest.mark.parametrize("name", QUICK)
    def test_and_shows_what_was_saved(self, name: AppName) -> None:
        with running(name) as app:
            before = app.records()

            saved = SAVED[name](Visitor(app.origin), app)

            assert [*before, saved] == app.records()
        assert not app.state.exists()

    def test_and_a_wrong_save_is_told_apart(self) -> None:
        with running(AppName.FLASKADMIN) as app:
            before = app.records()
            visitor = Visitor(app.origin)
            visitor.send("/login", {"username": app.credentials.user, "password": app.credentials.password})

            visitor.send("/admin/ticket/new/", {"subject": "", "priority": "urgent"})

            assert before == app.records()


class TestNothingRunsOn:
    """The processes of an app end with it, also when it does not start."""

    def test_after_its_end(self) -> None:
        with running(AppName.FLASKADMIN) as app:
            processes = (app.state / "pids").read_text(encoding="utf-8").split()
            assert [True] * len(processes) == [_runs(process) for process in processes]

        assert [False] * len(processes) == [_runs(process) for process in processes]

    def test_when_the_port_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with running(AppName.FLASKADMIN) as app:
            port = int(app.origin.rpartition(":")[2])
            monkeypatch.setattr("apps.apps.free_port", lambda: port)

            with pytest.raises(StartError), running(AppName.DATASETTE):
                pass

            assert port != free_port()
            assert app.records()


def _runs(process: str) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-g", process], check=False, capture_output=True, text=True)  # noqa: S607 - found on the path
    return any(not line.startswith("Z") for line in shown.stdout.split())
