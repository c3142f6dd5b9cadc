"""Whole runs of the browser engine: the sandbox's cases, the wish to stop, and a browser that dies."""

import json
import os
import signal
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from support.browser import (
    NOTE_FORM,
    OpenBoundary,
    ProcessName,
    Site,
    eventually,
    family,
    note_job,
    note_site,
    reserved,
)
from surehand.core.outcome.decide import claims
from surehand.core.outcome.evidence import (
    CallRefused,
    Delivery,
    EarlierAttempts,
    Evidence,
    Refusal,
    Report,
    RunObserved,
)
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import EngineName, FailedCheck, Mode, Proof
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import Job
from surehand.shell.engines.browser.chromium import CHROMIUM_VARIABLE, find_chromium
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.execution import execute_run, told
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.identity import new_run_id
from surehand.shell.sandbox.cases import CASES
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.store.memory import MemoryStore

#: The limits of the product, except that an answer that never comes is not waited for that long.
LIMITS = Limits(wait_ms=20_000, fresh_ms=60_000, open_ms=30_000, write_ms=20_000, answer_ms=8_000, rest_ms=10_000)

OWNER = "0" * 31 + "1"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserEngine]:
    """One engine for all runs, as in the product."""
    made = BrowserEngine(tmp_path_factory.mktemp("state") / "fence", limits=LIMITS)
    yield made
    made.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """The site of the note workflow."""
    with note_site() as opened:
        yield opened


def saves(app: SandboxApp) -> int:
    """How many saves have reached the clinic app."""
    asked = urllib.request.Request(  # noqa: S310 - our own loopback address
        f"{app.address.origin}/api/log", headers={"Authorization": f"Bearer {app.address.token}"}
    )
    with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
        writes: dict[str, int] = json.load(answer)["writes"]
    return sum(count for name, count in writes.items() if name.endswith("/notes"))


def report(evidence: Evidence) -> Report:
    """The report in the evidence."""
    assert isinstance(evidence, RunObserved)
    assert isinstance(evidence.report, Report)
    return evidence.report


class TestSandboxCases:
    """Each case of the sandbox ends in its honest outcome, with at most one save at the app."""

    @pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
    def test_the_case_ends_as_its_row_says(self, engine: BrowserEngine, app: SandboxApp, case: object) -> None:
        row = next(row for row in CASES.values() if row is case)
        store = MemoryStore()
        record = reserved(store, OWNER)
        inputs = {"note": f"Note of {row.name}\nin two lines", "sandbox_case": row.name}
        job = Job(run_id=record.run_id, bundle=sandbox_bundle(), inputs=inputs, target=app.target(inputs))
        before = saves(app)

        result = execute_run(store, engine, record, job, SYSTEM_CLOCK, Mode.SANDBOX)

        arrives = row.name in {"normal", "false_saved_banner", "timeout_after_save"}
        assert (result.outcome, result.reason) == (row.outcome, row.reason)
        assert result.engine is EngineName.BROWSER
        assert result.proof is (Proof.LOCAL if row.outcome is Outcome.DONE else Proof.NONE)
        assert saves(app) - before == int(arrives)

    def test_a_note_that_is_there_already_is_not_taken_for_the_new_one(
        self, engine: BrowserEngine, app: SandboxApp
    ) -> None:
        inputs = {"note": "The same note twice", "sandbox_case": "normal"}
        target = app.target(inputs)
        jobs = [Job(run_id=new_run_id(), bundle=sandbox_bundle(), inputs=inputs, target=target) for _ in range(2)]
        before = saves(app)

        deliveries = [report(engine.execute(job, OpenBoundary())).delivery for job in jobs]

        assert deliveries == [Delivery.SENT_ONCE] * 2
        assert saves(app) - before == 2


def reason(evidence: Evidence) -> Reason:
    """The reason that the evidence gives."""
    record = reserved(MemoryStore(), OWNER)
    return told(evidence, record, EngineName.BROWSER, Mode.SANDBOX, SYSTEM_CLOCK).reason


class TestStopping:
    """A run that is stopped before its save writes nothing; one that has saved is read back to its end."""

    @pytest.mark.parametrize("questions", range(8))
    def test_a_wish_to_stop_before_the_save_is_heard(self, engine: BrowserEngine, site: Site, questions: int) -> None:
        boundary = OpenBoundary(stop_after=questions)

        evidence = engine.execute(note_job(new_run_id(), site, "x"), boundary)

        assert reason(evidence) is Reason.CANCELED
        assert boundary.crossings == 0
        assert site.posts == []

    def test_a_wish_to_stop_while_the_save_is_clicked_holds_the_write_back(
        self, engine: BrowserEngine, site: Site
    ) -> None:
        asked = OpenBoundary()
        report(engine.execute(note_job(new_run_id(), site, "x"), asked))
        site.posts.clear()
        # The last question of a whole run is the one at the boundary.
        boundary = OpenBoundary(stop_after=asked.questions - 1)

        evidence = engine.execute(note_job(new_run_id(), site, "x"), boundary)

        assert (reason(evidence), report(evidence).delivery) == (Reason.CANCELED, Delivery.NOT_SENT)
        assert (boundary.crossings, site.posts) == (0, [])

    def test_a_wish_to_stop_after_the_boundary_does_not_stop_the_read_back(
        self, engine: BrowserEngine, site: Site
    ) -> None:
        boundary = OpenBoundary()
        boundary.at_crossing = lambda: setattr(boundary, "stop_after", 0)

        evidence = engine.execute(note_job(new_run_id(), site, "x"), boundary)

        assert reason(evidence) is Reason.SAVED_AND_CHECKED
        assert site.posts == ["/records"]

    def test_a_wish_to_stop_ends_the_wait_for_a_page(self, engine: BrowserEngine, site: Site) -> None:
        site.pages["/new"] = "<h1>Something else</h1>"
        boundary = OpenBoundary(stop_after=20)

        evidence = engine.execute(note_job(new_run_id(), site, "x"), boundary)

        assert reason(evidence) is Reason.CANCELED
        # Whoever still waited would go on asking; the run asks once more when the wait is over.
        assert boundary.questions <= 20 + 3

    def test_a_boundary_that_refuses_lets_nothing_out(self, engine: BrowserEngine, site: Site) -> None:
        boundary = OpenBoundary(allow=False)

        evidence = engine.execute(note_job(new_run_id(), site, "x"), boundary)

        assert (reason(evidence), report(evidence).delivery) == (Reason.PLATFORM_ERROR, Delivery.NOT_SENT)
        assert (boundary.crossings, site.posts) == (1, [])

    def test_a_save_click_that_sends_nothing_is_proven_to_have_sent_nothing(
        self, tmp_path_factory: pytest.TempPathFactory, site: Site
    ) -> None:
        # The page takes the click, and writes when nobody waits for it any more.
        late = "event.preventDefault(); setTimeout(() => this.submit(), 60000)"
        site.pages["/new"] = NOTE_FORM.replace("<form ", f'<form onsubmit="{late}" ')
        boundary = OpenBoundary()
        hasty = BrowserEngine(tmp_path_factory.mktemp("state") / "fence", limits=evolve(LIMITS, write_ms=500))
        try:
            evidence = hasty.execute(note_job(new_run_id(), site, "x"), boundary)
        finally:
            hasty.close()

        assert (reason(evidence), report(evidence).delivery) == (Reason.UNEXPECTED_SCREEN, Delivery.NOT_SENT)
        assert claims(evidence).record_changed is RecordChanged.NO
        assert (boundary.crossings, site.posts) == (0, [])

    def test_the_time_limit_ends_a_run_before_its_save(self, engine: BrowserEngine, site: Site) -> None:
        evidence = engine.execute(note_job(new_run_id(), site, "x", time_limit_ms=1), OpenBoundary())

        assert reason(evidence) is Reason.PLATFORM_ERROR
        assert site.posts == []


class TestReadBack:
    """What was saved is judged by the other channel alone."""

    def test_a_save_that_the_app_lost_is_not_done(self, engine: BrowserEngine, site: Site) -> None:
        site.loses_saves = True

        evidence = engine.execute(note_job(new_run_id(), site, "x"), OpenBoundary())

        assert reason(evidence) is Reason.SAVE_NOT_CONFIRMED
        assert report(evidence).delivery is Delivery.SENT_ONCE

    def test_a_record_that_was_there_before_is_no_proof(self, engine: BrowserEngine, site: Site) -> None:
        site.loses_saves = True
        site.records.append({"id": "1", "patient": "Ada Example", "note": "x"})

        assert reason(engine.execute(note_job(new_run_id(), site, "x"), OpenBoundary())) is Reason.SAVE_NOT_CONFIRMED


class TestBrokenParts:
    """A browser or a fence that dies costs at most one run, and that run is told honestly."""

    def test_an_app_that_is_not_there_is_told_before_anything_is_opened(self, engine: BrowserEngine) -> None:
        with note_site() as site:
            job = note_job(new_run_id(), site, "x")

        assert engine.execute(job, OpenBoundary()) == CallRefused(Refusal.APP_UNREACHABLE, EarlierAttempts.NONE)

    def test_a_browser_that_dies_in_a_run_is_replaced_for_the_next(self, engine: BrowserEngine, site: Site) -> None:
        hold = site.hold("/new")
        ended: list[Evidence] = []
        job = note_job(new_run_id(), site, "x")
        run = threading.Thread(target=lambda: ended.append(engine.execute(job, OpenBoundary())))
        run.start()
        assert hold.reached.wait(60)
        kill_browsers()
        run.join(240)
        hold.go.set()

        assert reason(ended[0]) is Reason.PLATFORM_ERROR
        assert site.posts == []
        assert reason(engine.execute(note_job(new_run_id(), site, "y"), OpenBoundary())) is Reason.SAVED_AND_CHECKED

    def test_a_browser_that_dies_after_the_save_left_is_read_back(self, engine: BrowserEngine, site: Site) -> None:
        boundary = OpenBoundary()
        hold = site.hold("POST /records")
        ended: list[Evidence] = []
        job = note_job(new_run_id(), site, "x")
        run = threading.Thread(target=lambda: ended.append(engine.execute(job, boundary)))
        run.start()
        assert hold.reached.wait(60)
        kill_browsers()
        hold.go.set()
        run.join(240)

        assert reason(ended[0]) is Reason.SAVED_AND_CHECKED
        assert site.posts == ["/records"]

    def test_a_browser_that_hangs_is_told_and_replaced_for_the_next_run(self, tmp_path: Path, site: Site) -> None:
        engine = BrowserEngine(tmp_path / "fence", limits=evolve(LIMITS, fresh_ms=15_000))
        try:
            engine.warm_up()
            stopped = stop_browsers()

            assert engine.execute(note_job(new_run_id(), site, "x"), OpenBoundary()) == CallRefused(
                Refusal.ENGINE_UNAVAILABLE, EarlierAttempts.NONE
            )
            assert site.posts == []
            assert reason(engine.execute(note_job(new_run_id(), site, "y"), OpenBoundary())) is Reason.SAVED_AND_CHECKED
            assert eventually(lambda: not any(process.is_alive for process in stopped))
        finally:
            engine.close()

    def test_a_fence_that_died_between_two_runs_is_replaced(self, engine: BrowserEngine, site: Site) -> None:
        engine.warm_up()
        fences = [process for process in family(os.getpid()) if "surehand.shell.fence.process" in process.command]
        for process in fences:
            os.kill(process.number, signal.SIGKILL)
        assert fences
        assert eventually(lambda: not any(process.is_alive for process in fences))

        assert reason(engine.execute(note_job(new_run_id(), site, "x"), OpenBoundary())) is Reason.SAVED_AND_CHECKED


def kill_browsers() -> None:
    """Kill every browser that this process started."""
    _signal_browsers(signal.SIGKILL)


def stop_browsers() -> tuple[ProcessName, ...]:
    """Let every browser that this process started hang."""
    return _signal_browsers(signal.SIGSTOP)


def _signal_browsers(number: signal.Signals) -> tuple[ProcessName, ...]:
    browsers = tuple(process for process in family(os.getpid()) if "--remote-debugging-pipe" in process.command)
    assert browsers
    for process in browsers:
        os.kill(process.number, number)
    return browsers


class TestFindingTheBrowser:
    """A browser that was named is used or missing; an engine that cannot start says why."""

    def test_a_named_browser_that_is_not_there_is_missing(self) -> None:
        assert find_chromium({CHROMIUM_VARIABLE: "/nowhere/chromium", "PATH": os.environ["PATH"]}) is None

    def test_a_named_browser_is_used(self) -> None:
        found = find_chromium()
        assert found is not None

        assert find_chromium({CHROMIUM_VARIABLE: str(found), "PATH": ""}) == found

    @pytest.mark.parametrize(
        ("program", "check"),
        [("/nowhere/chromium", FailedCheck.BROWSER_MISSING), ("/bin/false", FailedCheck.BROWSER_NOT_STARTING)],
    )
    def test_an_engine_without_a_browser_says_why(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
        program: str,
        check: FailedCheck,
    ) -> None:
        monkeypatch.setenv(CHROMIUM_VARIABLE, program)
        made = BrowserEngine(tmp_path_factory.mktemp("state") / "fence")
        try:
            with pytest.raises(EngineUnavailableError) as refused:
                made.warm_up()
        finally:
            made.close()

        assert refused.value.checks == (check,)

    def test_a_run_without_a_browser_is_refused_before_anything_is_opened(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, site: Site
    ) -> None:
        monkeypatch.setenv(CHROMIUM_VARIABLE, "/nowhere/chromium")
        made = BrowserEngine(tmp_path_factory.mktemp("state") / "fence")
        try:
            evidence = made.execute(note_job(new_run_id(), site, "x"), OpenBoundary())
        finally:
            made.close()

        assert evidence == CallRefused(Refusal.ENGINE_UNAVAILABLE, EarlierAttempts.NONE)
