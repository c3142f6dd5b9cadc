"""Stopped runs in a real browser: the person works in the live window, and the run goes on from there."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from attrs import evolve
from playwright.async_api import Page

from support.attended import CHOOSING, FORM, Office, WatchedEngine, choice_site, office, watched_engine
from support.browser import NOTE_BUNDLE, Site, button
from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import DecisionStatus, Finding
from surehand.core.attention.evidence import Value
from surehand.core.attention.pause import Action, DeliveryState, ItemStatus
from surehand.core.attention.review import bare_pause_id
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.outcome.reasons import Outcome, Reason
from surehand.core.workflow import replay
from surehand.core.workflow.bundle import ClickStep, bundle_digest
from surehand.core.workflow.commands import Records
from surehand.core.workflow.target import PageGate
from surehand.shell.engines.base import Job
from surehand.shell.engines.browser import live, performing
from surehand.shell.engines.browser.page import PageCommand, PageObservation, RunPage
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle

NOTE = {"note": "Call back in 2 weeks"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedEngine]:
    """One engine for all offices, as one browser serves many runs."""
    with watched_engine(tmp_path_factory.mktemp("engine")) as started:
        yield started


@pytest.fixture
def room(tmp_path: Path, engine: WatchedEngine) -> Iterator[Office]:
    """An office of its own for each test."""
    with office(tmp_path / "state", engine) as opened:
        yield opened


@pytest.fixture
def site() -> Iterator[Site]:
    """The site with two links of one name."""
    with choice_site() as opened:
        yield opened


async def open_right(page: Page) -> None:
    """The person chooses the first of the two links."""
    await page.get_by_role("link", name="Open", exact=True).first.click()
    await page.wait_for_url("**/new")


async def open_wrong(page: Page) -> None:
    """The person chooses the other."""
    await page.get_by_role("link", name="Open", exact=True).last.click()
    await page.wait_for_url("**/other")


class TestTheRoundTrip:
    """A run stops for two records of one number, a person opens the right one, and the run goes on until it is done."""

    def test_in_the_clinic_app(self, room: Office, app: SandboxApp) -> None:
        inputs = {"note": "Booked for Monday.", "sandbox_case": "duplicate_record"}
        stopped = room.run(sandbox_bundle(), inputs, app.target(inputs))
        item = room.item()

        async def open_intended(page: Page) -> None:
            row = page.get_by_role("row").filter(has_text="1901-03-14")
            await row.get_by_role("link", name="Open", exact=True).click()
            await page.wait_for_url("**/referrals/r-104")

        room.engine.by_hand(open_intended)
        receipt = room.decide(Action.CONTINUE, item)
        answer = room.answer(stopped.run_id)

        assert (stopped.outcome, item.category) == (Outcome.NEEDS_REVIEW, PauseCategory.DISAMBIGUATION)
        assert (item.has_window, Action.CONTINUE in item.allowed_actions) == (True, True)
        assert (receipt.status, receipt.final) == (DecisionStatus.COMPLETED, True)
        assert (answer.outcome, answer.reason) == (Outcome.DONE, Reason.SAVED_AND_CHECKED)
        assert not answer.safe_to_retry
        assert room.engine.windows() == frozenset()


class TestContinue:
    """The paused act is never performed again, and what the person did is looked at before anything is saved."""

    def test_what_the_person_did_is_done_once(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        room.engine.by_hand(open_right)
        room.decide(Action.CONTINUE)

        assert room.answer(stopped.run_id).outcome is Outcome.DONE
        assert (site.asked.count("/choose"), site.asked.count("/new"), len(site.posts)) == (1, 1, 1)

    def test_a_resume_that_repeats_the_act_is_caught_by_the_count_of_the_app(self, room: Office, site: Site) -> None:
        room.run(CHOOSING, NOTE, site.target)
        site.pages["/choose"] = FORM.replace("New note", "Choose")

        async def come_back(page: Page) -> None:
            await open_right(page)
            await page.goto(site.origin + "/choose")

        room.engine.by_hand(come_back)
        with mock.patch.object(replay, "_looks", return_value=True):
            room.decide(Action.CONTINUE)

        assert site.asked.count("/new") > 1

    def test_the_wrong_record_stops_the_run_again_and_the_right_one_ends_it(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        first = room.item()
        site.pages["/new"] = FORM.replace("SYN-1", "SYN-3")
        room.engine.by_hand(open_right)
        halted = room.decide(Action.CONTINUE)
        second = room.item()
        waiting = room.answer(stopped.run_id)
        site.pages["/new"] = FORM

        async def mend(page: Page) -> None:
            await page.reload()
            await page.get_by_label("Note").fill(NOTE["note"])

        room.engine.by_hand(mend)
        done = room.decide(Action.CONTINUE)

        assert (halted.status, second.category) == (DecisionStatus.HALTED, PauseCategory.IDENTITY)
        assert (second.earlier_pauses, second.id == first.id) == (1, False)
        assert (waiting.outcome, waiting.safe_to_retry) == (Outcome.NEEDS_REVIEW, False)
        assert done.status is DecisionStatus.COMPLETED
        assert (room.answer(stopped.run_id).outcome, len(site.posts)) == (Outcome.DONE, 1)

    def test_a_person_who_did_nothing_is_asked_again(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        receipt = room.decide(Action.CONTINUE)

        assert receipt.status is DecisionStatus.HALTED
        assert room.answer(stopped.run_id).outcome is Outcome.NEEDS_REVIEW
        assert room.item().has_window
        assert site.posts == []

    def test_what_the_person_tried_to_save_was_stopped_and_does_not_count(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)

        async def try_to_save(page: Page) -> None:
            await open_right(page)
            await page.get_by_label("Note").fill("typed by hand")
            await page.get_by_role("button", name="Save").click()
            await page.wait_for_url("chrome-error://**")
            await page.goto(site.origin + "/new")

        room.engine.by_hand(try_to_save)
        refused = list(site.posts)
        room.decide(Action.CONTINUE)

        assert refused == []
        assert (room.answer(stopped.run_id).outcome, len(site.posts)) == (Outcome.DONE, 1)

    def test_a_dialog_that_the_person_met_is_none_of_the_run(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)

        async def be_asked(page: Page) -> None:
            async with page.context.expect_event("dialog") as dialog:
                await page.evaluate("() => { setTimeout(() => alert('Careful'), 0) }")
            await (await dialog.value).accept()
            await open_right(page)

        room.engine.by_hand(be_asked)
        room.decide(Action.CONTINUE)

        assert room.answer(stopped.run_id).outcome is Outcome.DONE

    def test_another_run_is_executed_while_a_pause_is_open(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        window = room.engine.pages[-1]
        room.run(CHOOSING, {"note": "another"}, site.target)
        room.engine.pages.append(window)
        room.engine.by_hand(open_right)
        item = next(each for each in room.desk.items(5).items if each.run_id == stopped.run_id)
        room.decide(Action.CONTINUE, item)

        assert room.answer(stopped.run_id).outcome is Outcome.DONE
        assert len(room.engine.windows()) == 1

    def test_a_continuation_passes_the_boundary_once_and_no_other_may_follow(self, room: Office, site: Site) -> None:
        site.loses_saves = True
        stopped = room.run(CHOOSING, NOTE, site.target)
        room.engine.by_hand(open_right)
        receipt = room.decide(Action.CONTINUE)
        again = room.desk.items(5).items

        assert receipt.status is DecisionStatus.DELIVERY_UNCERTAIN
        assert room.answer(stopped.run_id).outcome is Outcome.NOT_SURE_IF_SAVED
        assert [Action.CONTINUE in each.allowed_actions for each in again] == [False] * len(again)
        assert len(site.posts) == 1


class TestTheWindow:
    """A window is kept as long as somebody may go on in it, and one that is gone is said to be."""

    def test_a_window_that_the_person_closed_allows_nothing_any_more(self, room: Office, site: Site) -> None:
        room.run(CHOOSING, NOTE, site.target)
        before = room.item()
        room.engine.by_hand(lambda page: page.close())
        room.performer.look()
        after = room.item()

        assert (before.has_window, after.has_window) == (True, False)
        assert Action.CONTINUE not in after.allowed_actions
        assert after.expires_at == before.expires_at

    def test_a_decision_for_a_window_that_was_closed_meanwhile_ends(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        request = room.ask(Action.CONTINUE)
        room.engine.by_hand(lambda page: page.close())
        room.performer.look()
        receipt = room.receipt(request)

        assert (receipt.status, receipt.reason) == (DecisionStatus.HALTED, DecisionRefusal.WINDOW_GONE)
        assert room.answer(stopped.run_id).outcome is Outcome.NEEDS_REVIEW
        assert site.posts == []

    def test_a_rejected_run_closes_it_and_is_never_retryable(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        room.decide(Action.REJECT)
        answer = room.answer(stopped.run_id)

        assert room.engine.windows() == frozenset()
        assert (answer.reason, answer.safe_to_retry) == (Reason.STOPPED_BY_PERSON, False)

    def test_after_a_restart_the_app_is_opened_again_up_to_the_stop(
        self, tmp_path: Path, engine: WatchedEngine, site: Site
    ) -> None:
        with office(tmp_path / "state", engine) as first:
            stopped = first.run(CHOOSING, NOTE, site.target)
        with office(tmp_path / "state", engine) as second:
            gone = second.item()
            wished = second.desk.ask_opening(gone.id)
            second.performer.look()
            item = second.item()
            asked = list(site.asked)
            second.engine.by_hand(open_right)
            receipt = second.decide(Action.CONTINUE, item)
            answer = second.answer(stopped.run_id)

        assert (gone.has_window, wished, item.has_window, item.id) == (False, True, True, gone.id)
        assert (asked.count("/choose"), asked.count("/new")) == (2, 0)
        assert receipt.status is DecisionStatus.COMPLETED
        assert (answer.outcome, len(site.posts)) == (Outcome.DONE, 1)

    def test_a_stop_on_the_way_back_is_a_pause_of_its_own(
        self, tmp_path: Path, engine: WatchedEngine, site: Site
    ) -> None:
        with office(tmp_path / "state", engine) as first:
            first.run(CHOOSING, NOTE, site.target)
        site.pages["/choose"] = "<h1>Closed today</h1>"
        with office(tmp_path / "state", engine) as second:
            before = second.item()
            second.desk.ask_opening(before.id)
            second.performer.look()
            item = second.item()

        assert (item.id == before.id, item.earlier_pauses, item.category) == (False, 1, PauseCategory.HALT)
        assert item.has_window


class TestReconcile:
    """Reading the records again says what they show, sends nothing, and flips no answer."""

    def test_a_save_that_the_app_lost(self, room: Office, site: Site) -> None:
        site.loses_saves = True
        site.pages["/choose"] = FORM.replace("New note", "Choose")
        stopped = room.run(CHOOSING, NOTE, site.target)
        item = room.item()
        receipt = room.decide(Action.RECONCILE)

        assert item.delivery_state is not DeliveryState.NOT_DELIVERED
        assert (receipt.status, receipt.finding) == (DecisionStatus.RECONCILED, Finding.NOT_FOUND)
        assert room.answer(stopped.run_id).outcome is Outcome.NOT_SURE_IF_SAVED
        assert len(site.posts) == 1

    def test_a_save_that_shows_late(self, room: Office, site: Site) -> None:
        site.loses_saves = True
        site.pages["/choose"] = FORM.replace("New note", "Choose")
        stopped = room.run(CHOOSING, NOTE, site.target)
        item = room.item()
        site.records.append({"id": "late", "patient": "Ada Example", "note": NOTE["note"]})
        receipt = room.decide(Action.RECONCILE, item)

        assert receipt.finding is Finding.SAVED_AS_INTENDED
        assert room.answer(stopped.run_id).outcome is Outcome.NOT_SURE_IF_SAVED
        reread = room.desk.item(item.id)
        assert reread is not None
        assert reread.status is ItemStatus.RECONCILED


class TestBeforeTheSave:
    """Before a save is asked for, its records as they are then are told, so that a reading can go by them."""

    def test_the_baseline_is_told_before_anything_is_sent(
        self, room: Office, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[tuple[str, Records, int]] = []
        order: list[str] = []
        perform = RunPage.perform

        def note(job: Job, baseline: Records) -> None:
            told.append((job.run_id, baseline, len(site.posts)))
            order.append("told")

        async def performed(page: RunPage, command: PageCommand) -> PageObservation:
            order.append(type(command).__name__)
            return await perform(page, command)

        monkeypatch.setattr(RunPage, "perform", performed)
        monkeypatch.setattr(room.engine, "hears", note)
        stopped = room.run(CHOOSING, NOTE, site.target)
        before = list(told)
        room.engine.by_hand(open_right)
        room.decide(Action.CONTINUE)

        assert (before, len(site.posts)) == ([], 1)
        assert told == [(stopped.run_id, Records(()), 0)]
        save = order.index("Save")
        assert order[save - 1] == "ReadTexts"
        assert "told" in order[: save - 1]

    def test_what_was_sealed_goes_with_an_answer_that_is_no_doubt(
        self, room: Office, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = room.performer.files
        monkeypatch.setattr(room.engine, "hears", partial(performing.seal_before_save, files))
        site.pages["/choose"] = FORM.replace("New note", "Choose")
        done = room.run(CHOOSING, NOTE, site.target)
        sealed = files.opened(bare_pause_id(done.run_id), done.run_id, bundle_digest(CHOOSING))
        room.performer.ended(evolve(done, record_saved=False))
        kept = files.kept()
        room.performer.ended(done)

        assert sealed is not None
        assert (sealed.evidence.baseline, sealed.evidence.inputs) == ((), (Value("note", NOTE["note"]),))
        assert (kept, files.kept()) == ((bare_pause_id(done.run_id),), ())


class TestEvidence:
    """The operator here sees the control, the address and the values; a picture only where it was wanted."""

    def test_of_a_stop(self, room: Office, site: Site) -> None:
        room.run(CHOOSING, NOTE, site.target)
        item = room.item()
        seen = room.desk.evidence(item.id)

        assert seen is not None
        assert (seen.control, seen.role, seen.address) == ("Open", "link", site.origin + "/choose")
        assert [(value.name, value.text) for value in seen.values] == [("Note", NOTE["note"])]
        assert (seen.frame, item.has_frame) == (None, False)

    def test_a_picture_is_kept_where_the_operator_wants_it(self, tmp_path: Path, site: Site) -> None:
        with watched_engine(tmp_path, pictures=True) as camera, office(tmp_path / "state", camera) as room:
            room.run(CHOOSING, NOTE, site.target)
            item = room.item()
            seen = room.desk.evidence(item.id)
            kept = [path.read_bytes() for path in (tmp_path / "state" / "attention").iterdir()]

        assert seen is not None
        assert item.has_frame
        assert (seen.frame or "").startswith("iVBORw0KGgo")
        assert [b"PNG" in each or NOTE["note"].encode() in each for each in kept] == [False]


class TestWhatWasDecidedAbout:
    """Other inputs, or another bundle, than those that were decided about are not gone on with."""

    def test_inputs_that_were_changed_after_the_decision(self, room: Office, site: Site) -> None:
        inputs = dict(NOTE)
        stopped = room.run(CHOOSING, inputs, site.target)
        room.engine.by_hand(open_right)
        request = room.ask(Action.CONTINUE)
        inputs["note"] = "something else"
        room.performer.look()
        receipt = room.receipt(request)

        assert (receipt.status, receipt.reason) == (DecisionStatus.REFUSED, DecisionRefusal.INPUTS_CHANGED)
        assert room.answer(stopped.run_id).outcome is Outcome.NEEDS_REVIEW
        assert site.posts == []

    def test_a_pause_that_was_changed_in_the_ledger(self, room: Office, site: Site) -> None:
        room.run(CHOOSING, NOTE, site.target)
        room.engine.by_hand(open_right)
        request = room.ask(Action.CONTINUE)
        with mock.patch.object(performing, "is_intact", return_value=False):
            room.performer.look()
        receipt = room.receipt(request)

        assert (receipt.status, receipt.reason) == (DecisionStatus.REFUSED, DecisionRefusal.PAUSE_CHANGED)
        assert site.posts == []

    def test_a_workflow_whose_admission_was_revoked_does_not_act(self, room: Office, site: Site) -> None:
        stopped = room.run(CHOOSING, NOTE, site.target)
        room.engine.by_hand(open_right)
        room.performer = evolve(room.performer, admitted=mock.Mock(return_value=False))
        receipt = room.decide(Action.CONTINUE)

        assert (receipt.status, receipt.reason) == (DecisionStatus.REFUSED, DecisionRefusal.NOT_ADMITTED)
        assert room.answer(stopped.run_id).outcome is Outcome.NEEDS_REVIEW
        assert site.posts == []


class TestSkip:
    """A step that a person declared optional may be left out; the rest of the run is what it was."""

    def test_an_optional_click_whose_target_is_missing(self, room: Office, site: Site) -> None:
        banner = ClickStep("close", PageGate("/new", CHOOSING.save.page.landmark), button("Close"), optional=True)
        bundle = evolve(NOTE_BUNDLE, steps=(NOTE_BUNDLE.steps[0], banner, *NOTE_BUNDLE.steps[1:]))
        stopped = room.run(bundle, NOTE, site.target)
        item = room.item()
        receipt = room.decide(Action.SKIP, item)

        assert (item.category, Action.SKIP in item.allowed_actions) == (PauseCategory.RESOLUTION, True)
        assert receipt.status is DecisionStatus.COMPLETED
        assert (room.answer(stopped.run_id).outcome, len(site.posts)) == (Outcome.DONE, 1)


class TestMostWindows:
    """Windows are bounded in number: the oldest goes for a new one."""

    def test_the_oldest_is_closed(self, room: Office, site: Site) -> None:
        with mock.patch.object(live.LiveWindows.__init__, "__defaults__", (1,)), watched_engine(room.folder) as small:
            room.engine, room.performer = small, evolve(room.performer, engine=small)
            first = room.run(CHOOSING, NOTE, site.target)
            second = room.run(CHOOSING, {"note": "another"}, site.target)
            room.performer.look()
            held = room.engine.windows()
            shown = {each.run_id: each.has_window for each in room.desk.items(5).items}

        assert held == {second.run_id}
        assert shown == {first.run_id: False, second.run_id: True}
