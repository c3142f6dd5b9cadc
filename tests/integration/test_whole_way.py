"""The whole way of a stopped run: an agent, a person at the app's own window, and the same person at the console.

Nothing is replaced: the server is a process of its own, its browser shows a window on a screen, the person works there
by keys, and decides in another browser.
"""

import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect, sync_playwright

from support.console import serving
from support.mcp_clients import INITIALIZE, Json, RawClient, environment, structured
from support.screen import Screen, screen
from surehand.shell.engines.browser.chromium import find_chromium

#: Seconds that a busy machine may need for one part of the way.
PATIENCE: Final = 240

ENTRY: Final[Json] = {
    "workflow": "add_triage_note",
    "inputs": {"note": "Booked for Monday.", "sandbox_case": "duplicate_record"},
    "request_id": "entry-of-the-test",
    "wait_seconds": PATIENCE,
}


@pytest.fixture
def display() -> Generator[Screen]:
    """A screen."""
    with screen() as opened:
        yield opened


@pytest.fixture
def client(tmp_path: Path, display: Screen, monkeypatch: pytest.MonkeyPatch) -> Generator[RawClient]:
    """An agent's client of an attended server."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    attended = ("--attended", "--sandbox-engine", "browser", "--runs-dir", str(tmp_path))
    command = [sys.executable, "-m", "surehand", "serve", *attended]
    with RawClient(command, environment(DISPLAY=display.display)) as opened:
        opened.request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25"})
        opened.notify("notifications/initialized")
        yield opened


def open_patient(display: Screen, born: str) -> None:
    """The person opens the patient of this day of birth, at the pace at which the app follows."""
    for pace in (0.5, 1.0, 2.0, 4.0, 8.0):
        display.focus("Referrals")
        display.follow_link_behind(born, pace)
        if display.shows("Referral ·", 10 * pace):
            return
    raise AssertionError("the app does not follow the keys")


def press_continue(folder: Path, item: str) -> str:
    """The person lets the run go on in the console: what it says of the decision at its end."""
    with serving(folder) as console, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = console.enter(browser)
        page.goto(f"{console.origin}/items/{item}")
        form = page.locator("form[action$='/continue']")
        form.get_by_role("checkbox").check()
        form.get_by_role("button", name="Continue").click()
        result = page.locator("#result h2").first
        expect(result).not_to_have_text(re.compile("not begun|Being carried out"), timeout=PATIENCE * 1000)
        said = result.inner_text()
        browser.close()
    return said


class TestAPersonLetsAStoppedRunGoOn:
    """A run stops for a record that is there twice; a person opens the right one and says Continue; the run is done."""

    @pytest.mark.timeout(900)
    def test_from_the_agents_call_to_done(self, tmp_path: Path, client: RawClient, display: Screen) -> None:
        run = structured(client.call("run_workflow", ENTRY, PATIENCE))
        (item,) = structured(client.call("list_needs_attention", {}))["items"]
        open_patient(display, "1901-03-14")
        said = press_continue(tmp_path / "surehand", item["id"])
        after = structured(client.call("get_run", {"run_id": run["run_id"]}))

        assert (run["outcome"], item["category"], item["has_window"]) == ("needs_review", "disambiguation", True)
        assert said == "Saved and checked"
        assert (after["outcome"], after["reason"], after["record_changed"]) == ("done", "saved_and_checked", "yes")
