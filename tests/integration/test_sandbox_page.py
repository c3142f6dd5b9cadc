"""The pages of the clinic app in a real Chromium."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import field, frozen
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from support.sandbox import Oracle
from surehand.core.workflow.bundle import ChooseStep, ClickStep, FillStep
from surehand.core.workflow.target import Constant, Target, TargetKind
from surehand.shell.engines.browser.chromium import find_chromium
from surehand.shell.sandbox.cases import CASES
from surehand.shell.sandbox.clinic import MAX_NOTE_LENGTH
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this module."""
    chromium = find_chromium()
    assert chromium is not None, "these tests need Chromium, Chrome or Edge"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=False)
        yield launched
        launched.close()


@frozen
class Watched:
    """A page in a session of its own, and everything that it complained about."""

    page: Page
    complaints: list[str] = field(factory=list[str])

    def find(self, target: Target) -> Locator:
        """The elements of a target, by exact names."""
        row = target.row
        place: Page | Locator = self.page
        if isinstance(row, Constant):
            place = self.page.get_by_role("row").filter(has=self.page.get_by_role("cell", name=row.text, exact=True))
        match target.kind:
            case TargetKind.TEST_ID:
                return place.get_by_test_id(target.name)
            case TargetKind.LABEL:
                return place.get_by_label(target.name, exact=True)
            case TargetKind.ROLE:
                role: Any = target.role  # Playwright names the roles in a type of its own
                return place.get_by_role(role, name=target.name, exact=True)
            case TargetKind.ATTRIBUTE | TargetKind.CAPTION:
                raise AssertionError("no workflow on the sandbox names an element so")


@pytest.fixture
def watched(browser: Browser, app: SandboxApp) -> Iterator[Watched]:
    """The sign-in page."""
    context = browser.new_context(base_url=app.address.origin)
    watched = Watched(context.new_page())
    watched.page.on("console", lambda message: watched.complaints.append(message.text))
    watched.page.on("pageerror", lambda error: watched.complaints.append(error.message))
    watched.page.on("requestfailed", lambda request: watched.complaints.append(request.url))
    watched.page.goto("/")
    yield watched
    context.close()


def _await_page(watched: Watched, landmark: Target) -> int:
    """Wait until the page with this landmark is whole; how many of it there are."""
    watched.find(landmark).first.wait_for()
    watched.page.wait_for_load_state()
    return watched.find(landmark).count()


def _open_form(watched: Watched, case: str = "normal") -> list[int]:
    """Do the steps of the shipped workflow before the note; return how many elements each target found."""
    counts: list[int] = []
    for step in sandbox_bundle().steps:
        if not isinstance(step, FillStep | ChooseStep | ClickStep):
            continue
        counts += [_await_page(watched, step.page.landmark), watched.find(step.target).count()]
        match step:
            case FillStep():
                watched.find(step.target).fill(step.value.text if isinstance(step.value, Constant) else "a note")
            case ChooseStep():
                label = step.value.text if isinstance(step.value, Constant) else case
                watched.find(step.target).select_option(label=label)
            case ClickStep():
                watched.find(step.target).click()
    _await_page(watched, sandbox_bundle().save.page.landmark)
    return counts


def _save(watched: Watched) -> str:
    """Press the button, and wait for what the app says to it."""
    watched.page.get_by_role("button", name="Save", exact=True).click()
    return watched.page.get_by_role("status").inner_text()


class TestTheShippedTargets:
    """Every target of the shipped workflow is on its page exactly once, by its exact name."""

    def test_each_is_found_once(self, watched: Watched) -> None:
        counts = _open_form(watched)

        bundle = sandbox_bundle()
        counts += [watched.find(item.target).count() for item in bundle.identity]
        counts.append(watched.find(bundle.save.target).count())
        assert counts == [1] * len(counts)
        assert len(counts) == 18

    def test_the_choices_of_the_scenario_are_the_cases(self, watched: Watched) -> None:
        select = watched.page.get_by_label("Training scenario", exact=True)

        assert select.get_by_role("option").all_inner_texts() == list(CASES)


class TestThePagesAreWhole:
    """The pages work, load everything they name, and complain about nothing."""

    def test_a_whole_run_by_hand_leaves_no_complaint(self, watched: Watched, app: SandboxApp) -> None:
        _open_form(watched)

        assert _save(watched) == "Note saved"
        assert watched.complaints == []
        assert Oracle(app.target({"sandbox_case": "normal"})).count("a note") == 1

    def test_something_from_elsewhere_is_kept_out_and_complained_about(self, watched: Watched) -> None:
        with watched.page.expect_console_message():
            watched.page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")

        assert watched.complaints != []

    def test_characters_are_counted_as_the_clinic_counts_them(self, watched: Watched, app: SandboxApp) -> None:
        _open_form(watched)
        note = "\U0001f6b2\n" + "x" * (MAX_NOTE_LENGTH - 2)

        watched.page.get_by_label("Note", exact=True).fill(note)
        counted = watched.page.get_by_text(f"of {MAX_NOTE_LENGTH}").inner_text()

        assert _save(watched) == "Note saved"
        assert counted == f"{MAX_NOTE_LENGTH} of {MAX_NOTE_LENGTH}"
        assert Oracle(app.target({"sandbox_case": "normal"})).count(note) == 1

    def test_the_hint_tells_what_the_chosen_scenario_does(self, watched: Watched) -> None:
        for case in CASES.values():
            watched.page.get_by_label("Training scenario", exact=True).select_option(label=case.name)

            assert watched.page.get_by_text(case.summary, exact=True).is_visible()
