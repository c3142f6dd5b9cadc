"""The page of what a run did: real runs in a browser, their traces on disk, and ``surehand runs show --html``.

Laws:

- A trace and a page hold nothing that was typed or read.
- A page is one file that loads nothing and runs nothing.
- Whatever becomes of a trace, the run and its answer stay what they are.
"""

import stat
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import evolve

from support.browser import NOTE_FORM, OpenBoundary, Site, eventually, note_job, note_site
from support.command_line import surehand
from support.stores import DONE, draft, result_of, run_id, started
from surehand.core.attention.decision import Finding
from surehand.core.outcome.evidence import Delivery, Phase
from surehand.core.outcome.result import RunResult
from surehand.core.overview import RunReport, attempt_report
from surehand.core.workflow.commands import Canceled, Done, FaultKind, Wait
from surehand.core.workflow.replay import start
from surehand.core.workflow.trace import MOST_ACTS, Act, Compared, Did, Ended, Trace
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.identity import new_run_id
from surehand.shell.run_page import NO_TRACE, NO_VALUES, NOT_COMPARED, run_page
from surehand.shell.store.memory import MemoryStore
from surehand.shell.traces import TRACES, Tracer, read_trace, write_trace

CANARY = "canary-4711"

LIMITS = Limits(wait_ms=4_000, open_ms=30_000, write_ms=10_000, answer_ms=2_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of traces."""
    return tmp_path_factory.mktemp("state") / TRACES


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[BrowserEngine]:
    """One engine for all runs, as in the product."""
    made = BrowserEngine(folder.parent / "fence", limits=LIMITS, trace_folder=folder)
    yield made
    made.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """The site of the note workflow."""
    with note_site() as opened:
        yield opened


def traced(engine: BrowserEngine, folder: Path, site: Site, note: str) -> tuple[object, Trace]:
    """Run once; the evidence, and the trace."""
    job = note_job(new_run_id(), site, note)
    evidence = engine.execute(job, OpenBoundary())
    assert eventually(lambda: read_trace(folder, job.run_id) is not None)
    trace = read_trace(folder, job.run_id)
    assert trace is not None
    return evidence, trace


class TestARealRunIsTraced:
    """Each command with its end and its duration, and the read-back member by member."""

    def test_a_run_that_is_done(self, engine: BrowserEngine, folder: Path, site: Site) -> None:
        _, trace = traced(engine, folder, site, f"Seen today {CANARY}")

        assert [each.did for each in trace.acts][:3] == [Did.OPENED, Did.CHECKED_PAGE, Did.FILLED]
        assert Did.SAVED in {each.did for each in trace.acts}
        assert {each.ended for each in trace.acts} == {Ended.ANSWERED}
        assert sum(each.took_ms for each in trace.acts) > 0
        assert [(each.member, each.matched) for each in trace.compared] == [("patient", True), ("note", True)]

    def test_a_run_that_stops(self, engine: BrowserEngine, folder: Path, site: Site) -> None:
        site.pages["/new"] = NOTE_FORM.replace("<textarea", "<textarea disabled")
        _, trace = traced(engine, folder, site, "Seen today")

        assert trace.acts[-1].fault is not None
        assert trace.compared == ()

    def test_nothing_that_was_typed_is_on_the_disk(self, engine: BrowserEngine, folder: Path, site: Site) -> None:
        traced(engine, folder, site, f"Seen today {CANARY}")
        files = list(folder.iterdir())

        assert files
        assert [] == [path for path in files if CANARY.encode() in path.read_bytes()]
        assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in files}
        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)

    def test_a_folder_that_refuses_changes_nothing(self, tmp_path: Path, site: Site) -> None:
        (tmp_path / TRACES).write_text("a file")
        engine = BrowserEngine(tmp_path / "fence", limits=LIMITS, trace_folder=tmp_path / TRACES)
        try:
            evidence = engine.execute(note_job(new_run_id(), site, "Seen today"), OpenBoundary())
        finally:
            engine.close()

        assert Delivery.SENT_ONCE.value in repr(evidence).lower()
        assert "a file" == (tmp_path / TRACES).read_text()


class TestATraceOnDisk:
    """What is damaged says nothing; what is long is bounded."""

    def test_damage(self, tmp_path: Path) -> None:
        write_trace(tmp_path / TRACES, run_id(1), Trace(acts=()))
        path = tmp_path / TRACES / f"{run_id(1)}.json"
        assert Trace(acts=()) == read_trace(tmp_path / TRACES, run_id(1))

        for content in (
            b"",
            b"{}",
            b"[" * 100_000,
            path.read_bytes()[:-1],
            path.read_bytes().replace(b"acts", b"more"),
        ):
            path.write_bytes(content)
            assert read_trace(tmp_path / TRACES, run_id(1)) is None
        assert read_trace(tmp_path / "nowhere", run_id(1)) is None

    def test_a_long_wait_is_counted(self, site: Site) -> None:
        job = note_job(run_id(1), site, "Seen today")
        state, _ = start(job.bundle, job.inputs)
        tracer = Tracer(job.bundle, job.inputs)
        for _ in range(MOST_ACTS):
            tracer.note(state, Wait(1), Done())
        tracer.note(state, Wait(1), Canceled())

        assert (MOST_ACTS, 1) == (len(tracer.trace().acts), tracer.trace().left_out)


class _Page(HTMLParser):
    """Finds whatever a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what loads or runs something."""
        if tag in {"script", "link", "img", "iframe", "object", "embed", "a", "form"}:
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name in {"src", "href"} or name.startswith("on")]


def active(page: str) -> list[str]:
    """What a page would load or run."""
    parser = _Page()
    parser.feed(page)
    return parser.found


def a_run() -> tuple[RunResult, RunReport]:
    """The result of a run, and its attempts."""
    record = started(MemoryStore().reserve(draft(1)))
    result = result_of(record, DONE)
    attempt = attempt_report(evolve(record, phase=Phase.FINISHED, result=result), result, record)
    report = RunReport(
        run_id=record.run_id,
        current_version=True,
        attempts=(attempt,),
        input_problems=0,
        failed_checks=0,
        reported_late=False,
    )
    return result, report


class TestThePage:
    """It says everything that is kept, what is not known, and nothing else; it loads and runs nothing."""

    def test_everything_that_is_kept(self) -> None:
        acts = (
            Act(did=Did.OPENED, ended=Ended.ANSWERED, took_ms=1234),
            Act(did=Did.SAVED, ended=Ended.FAULT, fault=FaultKind.ENGINE_BROKEN, took_ms=4321),
        )
        compared = (Compared(member="note", matched=False), Compared(member="<b>x", matched=True))
        result, report = a_run()
        page = run_page(result, report, Trace(acts=acts, left_out=7, compared=compared), result)

        words = ("done", result.run_id, "1234", "4321", "5555", "engine_broken", "mismatch", "&lt;b&gt;x", "7 more")
        assert [] == [word for word in words if word not in page]
        assert "reported too late" in page
        assert NO_VALUES in page
        assert [] == active(page)
        assert "default-src 'none'" in page

    def test_what_was_read_again(self) -> None:
        result, report = a_run()
        page = run_page(result, evolve(report, read_again=Finding.DIFFERS), None, None)

        assert "read again later" in page
        assert "differs" in page
        assert "read again later" not in run_page(result, report, None, None)

    def test_what_is_not_known(self) -> None:
        result, report = a_run()

        assert NO_TRACE in run_page(result, report, None, None)
        assert NOT_COMPARED in run_page(result, report, Trace(acts=()), None)

    def test_what_loads_or_runs_would_be_found(self) -> None:
        assert ["script", "img", "src", "onload"] == active("<script></script><img src=x onload=y>")


class TestRunsShow:
    """``--html`` prints the page, with the exit code of the outcome."""

    def test_a_run_of_the_sandbox(self, tmp_path: Path) -> None:
        inputs = f'{{"note": "{CANARY}", "sandbox_case": "normal"}}'
        options = ("--inputs", "-", "--request-id", "r-1", "--sandbox-engine", "simulated", "--json")
        surehand(tmp_path, "run", "add_triage_note", *options, stdin=inputs)
        row = surehand(tmp_path, "runs", "list", "--json").out
        run = row.split('"run_id": "')[1].split('"')[0]
        told = surehand(tmp_path, "runs", "show", run, "--html")

        assert (0, "") == (told.code, told.err)
        assert told.out.startswith("<!doctype html>")
        assert run in told.out
        assert NO_TRACE in told.out
        assert [] == active(told.out)
        assert CANARY not in told.out

    def test_not_with_json_and_not_for_an_unknown_run(self, tmp_path: Path) -> None:
        assert 2 == surehand(tmp_path, "runs", "show", run_id(1), "--html", "--json").code
        assert 1 == surehand(tmp_path, "runs", "show", run_id(1), "--html").code
