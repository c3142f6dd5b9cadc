"""The operator's page at this computer, in a real browser and by bare requests."""

import json
from collections.abc import Generator
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from support.console import ServedConsole, serving
from support.mcp_clients import node_folder
from support.stopped import CANARIES, Stopped, StoppedRuns
from surehand.core.attention.decision import Decision, DecisionStatus
from surehand.core.attention.pause import DeliveryState, ItemStatus, Pause
from surehand.core.outcome.evidence import PauseCategory
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.engines.browser.chromium import find_chromium
from surehand.shell.store import open_store

_TEXTS: Final = "application/x-www-form-urlencoded"

#: Shades of one page that a person may look at.
_LOOKS: Final = [(1100, False), (1100, True), (360, False), (360, True)]


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """A browser on this computer."""
    expect.set_options(timeout=60_000)
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder."""
    path = tmp_path / "surehand"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def runs(folder: Path) -> Generator[StoppedRuns]:
    """The runs of the folder."""
    store = open_store(folder)
    stopped = StoppedRuns(store, folder)
    yield stopped
    stopped.close()
    store.close()


@pytest.fixture
def console(folder: Path, runs: StoppedRuns) -> Generator[ServedConsole]:
    """A console that decides."""
    assert runs.store is not None
    with serving(folder) as served:
        yield served


def shown(console: ServedConsole, page: Page, stopped: Stopped) -> Page:
    """The page of one stopped run."""
    page.goto(f"{console.origin}/items/{stopped.attention_id}")
    return page


class Asked:
    """A client that is no browser of ours."""

    def __init__(self, console: ServedConsole) -> None:
        self.console = console
        self.cookie = ""

    def enter(self, token: str, origin: str | None = None) -> int:
        """Show a token; the status of the answer."""
        status, headers, _ = self.ask("POST", "/session", {"token": token}, origin=origin or self.console.origin)
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        return status

    def ask(
        self,
        method: str,
        path: str,
        form: dict[str, str] | None = None,
        *,
        origin: str | None = None,
        host: str | None = None,
    ) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of one answer."""
        connection = HTTPConnection("127.0.0.1", self.console.port, timeout=120)
        headers = {"Cookie": self.cookie, "Content-Type": _TEXTS} | ({"Origin": origin} if origin else {})
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.console.port}")
        body = urlencode(form).encode() if form is not None else b""
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def client_of(console: ServedConsole, page: Page) -> Asked:
    """A client with the session of a page."""
    client = Asked(console)
    client.cookie = "; ".join(f"{each.get('name')}={each.get('value')}" for each in page.context.cookies())
    return client


_READ_FORM: Final = """action => Object.fromEntries(
  [...[...document.querySelectorAll("form")].find(form => form.action.endsWith("/" + action)).querySelectorAll("input")]
    .map(input => [input.name, input.value]))"""


def form_of(page: Page, action: str) -> dict[str, str]:
    """What the form of an action would send."""
    members: dict[str, str] = page.evaluate(_READ_FORM, action)
    return members


class TestAPageThatComparesItself:
    """It is told by one mark whether it is old, of an item as of the queue, and nothing sealed is opened for that."""

    def test_an_item(self, console: ServedConsole, runs: StoppedRuns, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped, client = runs.stop(), Asked(console)
        client.enter(console.tokens[-1])
        page = client.ask("GET", f"/items/{stopped.attention_id}")[2]
        opened: list[str] = []

        def note(_files: EvidenceFiles, pause: Pause) -> None:
            opened.append(pause.pause_id)

        monkeypatch.setattr(EvidenceFiles, "read", note)
        marks = [client.ask("GET", f"/state?item={stopped.attention_id}")[2] for _ in range(2)]
        before = list(opened)
        client.ask("GET", f"/items/{stopped.attention_id}")
        runs.let_expire(stopped)
        later = client.ask("GET", f"/state?item={stopped.attention_id}")[2]

        assert (marks[0] == marks[1] != later, before, opened) == (True, [], [stopped.attention_id])
        assert f'data-mark="{json.loads(marks[0])["mark"]}"' in page
        assert CANARIES[0] in page


class TestOneAddressLetsOneBrowserIn:
    """A token is good once, and only the newest; whoever has none sees nothing of any run."""

    def test_and_the_terminal_shows_the_next(self, console: ServedConsole) -> None:
        first = console.tokens[-1]

        assert [303, 403, 403] == [Asked(console).enter(token) for token in (first, first, "wrong")]
        assert (2, 303) == (len(console.tokens), Asked(console).enter(console.tokens[-1]))

    def test_nothing_is_seen_without(self, console: ServedConsole, runs: StoppedRuns) -> None:
        stopped, stranger = runs.stop(), Asked(console)
        stranger.cookie = "surehand_console=made-up"

        for path in (f"/items/{stopped.attention_id}", f"/items/{stopped.attention_id}/frame", "/state"):
            assert 403 == stranger.ask("GET", path)[0]
        assert stopped.attention_id not in stranger.ask("GET", "/")[2]

    def test_who_leaves_is_out(self, console: ServedConsole, browser: Browser) -> None:
        page = console.enter(browser)
        page.get_by_role("button", name="Leave").click()

        expect(page.get_by_label("Or paste what stands behind its")).to_be_visible()

    def test_the_token_leaves_no_trace_in_the_address(self, console: ServedConsole, browser: Browser) -> None:
        page = console.enter(browser)

        assert f"{console.origin}/" == page.url


class TestItAnswersThisComputerAlone:
    """Another host in the request, another origin of a form, or a form without its proof: refused, nothing changed."""

    @pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1.example.org:{port}", "evil:{port}"])
    def test_a_name_that_is_not_ours(self, console: ServedConsole, host: str) -> None:
        assert 421 == Asked(console).ask("GET", "/", host=host.format(port=console.port))[0]

    def test_our_names(self, console: ServedConsole) -> None:
        for host in ("127.0.0.1", "localhost"):
            assert 200 == Asked(console).ask("GET", "/", host=f"{host}:{console.port}")[0]

    def test_a_page_of_somebody_else_cannot_enter(self, console: ServedConsole) -> None:
        for origin in ("http://example.org", "null", "http://127.0.0.1:1"):
            assert 403 == Asked(console).enter(console.tokens[-1], origin)

    @pytest.mark.parametrize(
        ("proof", "origin"),
        [("right", "http://example.org"), ("right", ""), ("right", "null"), ("x" * 43, "ours"), ("", "ours")],
    )
    def test_a_decision_that_no_page_of_ours_sent(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser, proof: str, origin: str
    ) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        client = client_of(console, page)
        right = form_of(page, "reject")
        form = {**right, "proof": right["proof"] if proof == "right" else proof}
        sender = console.origin if origin == "ours" else origin

        assert 403 == client.ask("POST", f"/items/{stopped.attention_id}/reject", form, origin=sender)[0]
        assert ItemStatus.OPEN is _status(console, stopped)

        assert 303 == client.ask("POST", f"/items/{stopped.attention_id}/reject", right, origin=console.origin)[0]
        assert ItemStatus.REJECTED is _status(console, stopped)

    def test_no_decision_is_taken_by_looking(self, console: ServedConsole, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)

        for action in ("reject", "continue", "teach", "open", "renew"):
            answer = page.context.request.get(f"{console.origin}/items/{stopped.attention_id}/{action}?confirm=yes")
            assert 405 == answer.status
        assert ((), ItemStatus.OPEN) == (_decisions(runs, stopped), _status(console, stopped))

    def test_a_form_that_is_larger_than_any_of_ours(self, console: ServedConsole) -> None:
        form = {"token": "x" * 10_000}
        assert 413 == Asked(console).ask("POST", "/session", form, origin=console.origin)[0]

    def test_every_answer_keeps_its_page_to_itself(self, console: ServedConsole, runs: StoppedRuns) -> None:
        client = Asked(console)
        client.enter(console.tokens[-1])
        for path in ("/", f"/items/{runs.stop().attention_id}", "/static/console.js", "/nothing"):
            _, headers, _ = client.ask("GET", path)
            assert "no-store" == headers["cache-control"]
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]


class TestItOnlyShowsUnlessBothFlagsAreGiven:
    """Without ``--attend`` nothing sealed is shown; without ``--allow-actions`` beside it nothing is decided."""

    def test_a_console_that_only_looks(self, folder: Path, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        with serving(folder, attends=False, decides=False) as console:
            page = shown(console, console.enter(browser), stopped)

            expect(page.get_by_role("heading", name="Nothing to decide here")).to_be_visible()
            text = page.content().replace("add_triage_note", "")
            assert [] == [canary for canary in CANARIES if canary in text]
            frame = page.context.request.get(f"{console.origin}/items/{stopped.attention_id}/frame")
            assert 404 == frame.status

    def test_a_console_that_sees_and_does_not_decide(self, folder: Path, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        with serving(folder, decides=False) as console:
            page = shown(console, console.enter(browser), stopped)
            proof = page.locator("input[name=proof]").first.input_value()
            client = client_of(console, page)

            expect(page.get_by_text("canary of a note nr-4711")).to_be_visible()
            for action in ("reject", "open", "renew"):
                form = {"proof": proof, "confirm": "yes"}
                answer = client.ask("POST", f"/items/{stopped.attention_id}/{action}", form, origin=console.origin)
                assert 404 == answer[0]
            assert ItemStatus.OPEN is _status(console, stopped)


class TestAPersonDecides:
    """What is confirmed is taken once, is shown as what became of it, and credits nobody for what did not happen."""

    def test_continue_until_its_end_without_loading_the_page_again(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        page.get_by_label("I did the step").check()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", name="Decided, not begun yet")).to_be_visible()

        assert [DecisionStatus.COMPLETED] == runs.perform()

        expect(page.get_by_role("heading", name="Saved and checked")).to_be_visible()

    def test_nothing_is_sent_without_the_box(self, console: ServedConsole, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        page.get_by_role("button", name="Continue").click()

        assert page.get_by_label("I did the step").evaluate("box => !box.validity.valid")
        assert () == _decisions(runs, stopped)

    def test_a_button_that_is_pressed_twice_decides_once(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        client = client_of(console, page)
        form = form_of(page, "continue")

        for _ in range(2):
            client.ask("POST", f"/items/{stopped.attention_id}/continue", form, origin=console.origin)

        assert [DecisionStatus.PREPARED] == [each.status for each in _decisions(runs, stopped)]
        assert () == console.desk.refused()

    def test_a_page_that_was_loaded_before_the_stop_changed(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        page.get_by_label("I did the step").check()
        runs.issue_again(stopped)
        page.get_by_role("button", name="Continue").click()

        expect(page.get_by_role("heading", name="Refused")).to_be_visible()
        expect(page.get_by_text("The stop changed since the page was loaded.")).to_be_visible()
        assert () == _decisions(runs, stopped)
        page.reload()
        expect(page.get_by_role("heading", name="Refused")).to_be_hidden()

    def test_a_box_that_is_checked_is_not_taken_away(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser), stopped)
        page.get_by_label("I did the step").check()
        runs.issue_again(stopped)

        expect(page.get_by_role("link", name="Show what holds now")).to_be_visible()
        expect(page.get_by_label("I did the step")).to_be_checked()

    def test_what_is_over_its_time_gets_a_new_one(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop()
        runs.let_expire(stopped)
        page = shown(console, console.enter(browser), stopped)
        page.get_by_role("button", name="Give it a new time").click()

        expect(page.get_by_role("button", name="Continue")).to_be_visible()

    def test_an_app_whose_window_is_gone_is_asked_to_be_opened(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser
    ) -> None:
        stopped = runs.stop(window=False)
        page = shown(console, console.enter(browser), stopped)
        page.get_by_role("button", name="Open the app again").click()

        assert [stopped.attention_id] == [each.pause_id for each in runs.attention.openings()]

    def test_by_keyboard_alone(self, console: ServedConsole, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        page = console.enter(browser)
        _go_to(page, page.locator(f'a[href="/items/{stopped.attention_id}"]'), "Enter")
        _go_to(page, page.locator("summary", has_text="Escalate"), "Enter")
        _go_to(page, page.get_by_label("Ask for help"), "Space")
        _go_to(page, page.get_by_role("button", name="Escalate"), "Enter")

        expect(page.get_by_role("heading", name="Help asked for")).to_be_visible()

    def test_without_a_script(self, console: ServedConsole, runs: StoppedRuns, browser: Browser) -> None:
        stopped = runs.stop()
        page = shown(console, console.enter(browser, scripts=False), stopped)
        page.locator("summary", has_text="Reject").click()
        page.get_by_label("End this run for good").check()
        page.get_by_role("button", name="Reject").click()

        expect(page.get_by_role("heading", name="Run ended")).to_be_visible()


class TestEverybodyCanUseIt:
    """Every state of it is accessible, light and dark, wide and 360 pixels narrow."""

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize(("width", "dark"), _LOOKS)
    def test_in_every_state(
        self, console: ServedConsole, runs: StoppedRuns, browser: Browser, width: int, dark: bool
    ) -> None:
        # Before the page is there: it would load itself again at each of them.
        stops = [*_every_state(runs)]
        page = console.enter(browser, width=width, dark=dark)
        faults = _faults(page)
        for path in (*(f"/items/{stopped.attention_id}" for stopped in stops), "/items/att_unknown"):
            page.goto(f"{console.origin}{path}")
            faults += _faults(page)

        assert [] == faults

    def test_a_fault_would_be_found(self, console: ServedConsole, browser: Browser) -> None:
        page = console.enter(browser, width=360)
        page.evaluate("() => document.body.append(Object.assign(document.createElement('img'), { width: 900 }))")

        assert {"image-alt", "wider than the screen"} <= {*_faults(page)}


def _every_state(runs: StoppedRuns) -> Generator[Stopped]:
    yield runs.stop(PauseCategory.IDENTITY)
    yield runs.stop(PauseCategory.RESOLUTION, skippable=True)
    yield runs.stop(PauseCategory.DISAMBIGUATION, window=False)
    yield runs.stop(PauseCategory.EFFECT_INDETERMINATE, DeliveryState.DELIVERED, window=False)
    yield runs.stop(PauseCategory.DELIVERY_UNCERTAIN, DeliveryState.UNKNOWN, window=False)
    expired = runs.stop()
    runs.let_expire(expired)
    yield expired


def _faults(page: Page) -> list[str]:
    """What axe finds on a page, and whether it is wider than its screen."""
    source = (node_folder() / "node_modules" / "axe-core" / "axe.min.js").read_text()
    page.evaluate(f"() => {{ {source} }}")
    found: list[str] = page.evaluate("async () => (await axe.run()).violations.map(each => each.id)")
    is_wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["wider than the screen"] if is_wide else [])]


def _go_to(page: Page, target: Locator, key: str) -> None:
    """Press Tab until the target has the focus, then the key."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            page.keyboard.press(key)
            return
    raise AssertionError("it cannot be reached by keyboard")


def _status(console: ServedConsole, stopped: Stopped) -> ItemStatus | None:
    item = console.desk.item(stopped.attention_id)
    return None if item is None else item.status


def _decisions(runs: StoppedRuns, stopped: Stopped) -> tuple[Decision, ...]:
    return runs.attention.decisions(stopped.run_id)
