"""Whole runs in the signed-in session of a person, read back from the app's own pages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from support.browser import NOTE_BUNDLE, OpenBoundary, Site, attribute, eventually, heading, note_site, reserved
from surehand.core.outcome.evidence import CheckLevel, Evidence, Refusal
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import EngineName, FailedCheck, Mode
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.source import DatabaseRecords, PageField, PageRecords
from surehand.core.workflow.target import PageGate
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import Job, RunRefusedError
from surehand.shell.engines.browser.engine import BrowserEngine
from surehand.shell.engines.browser.viewing import Limits
from surehand.shell.execution import told
from surehand.shell.identity import new_run_id
from surehand.shell.sessions import SessionStore
from surehand.shell.store.memory import MemoryStore

LIMITS = Limits(
    wait_ms=20_000,
    fresh_ms=60_000,
    open_ms=30_000,
    write_ms=20_000,
    answer_ms=8_000,
    read_ms=20_000,
    pages_ms=40_000,
    rest_ms=10_000,
)

#: Pages that fetch what they show, as single-page apps do.
LIST = """<h1>Records</h1><ul id=list></ul>
<script>fetch('/api/records').then(answer => answer.json()).then(data =>
    list.innerHTML = data.items.map(({id}) => `<li><a href="/record/${id}">${id}</a></li>`).join(''))</script>"""
RECORD = """<h1>Record</h1><p data-who></p><textarea name=note></textarea>
<script>fetch('/api/records').then(answer => answer.json()).then(data => {
    const item = data.items.find(item => item.id === location.pathname.split('/')[2]);
    document.querySelector('[name=note]').value = item.note;
    document.querySelector('[data-who]').textContent = item.patient;
})</script>"""

PAGES = PageRecords(
    "/list",
    heading("Records"),
    "/record/*",
    PageGate("/record/*", heading("Record")),
    (PageField("patient", attribute("data-who", "")), PageField("note", attribute("name", "note"))),
)


def reading(source: PageRecords | DatabaseRecords, deadline_ms: int = 20_000) -> Bundle:
    """The note workflow, read back from there."""
    level = CheckLevel.SYSTEM_OF_RECORD if isinstance(source, DatabaseRecords) else CheckLevel.SEPARATE_SESSION
    read_back = evolve(NOTE_BUNDLE.read_back, source=source, level=level, deadline_ms=deadline_ms)
    return evolve(NOTE_BUNDLE, read_back=read_back)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def engine(state: Path) -> Iterator[BrowserEngine]:
    """One engine for all runs, as in the product."""
    made = BrowserEngine(state / "fence", limits=LIMITS, sessions=SessionStore(state))
    yield made
    made.close()


@pytest.fixture
def sessions(state: Path) -> SessionStore:
    """The sessions that the engine uses."""
    return SessionStore(state)


@pytest.fixture
def site() -> Iterator[Site]:
    """The site of the note workflow, with pages of its records."""
    with note_site() as opened:
        opened.pages |= {"/list": LIST, "/record/1": RECORD, "/record/2": RECORD}
        yield opened


def run(engine: BrowserEngine, site: Site, bundle: Bundle = NOTE_BUNDLE, note: str = "x") -> Evidence:
    """One run at the site."""
    job = Job(run_id=new_run_id(), bundle=bundle, inputs={"note": note}, target=site.target)
    return engine.execute(job, OpenBoundary())


def reason(evidence: Evidence) -> Reason:
    """The reason that the evidence gives."""
    return told(
        evidence, reserved(MemoryStore(), "0" * 31 + "1"), EngineName.BROWSER, Mode.SANDBOX, SYSTEM_CLOCK
    ).reason


def session(site: Site, **cookies: str) -> str:
    """A session of the site."""
    domain = site.origin.partition("//")[2].partition(":")[0]
    made = [
        {"name": name, "value": value, "domain": domain, "path": "/", "expires": -1} for name, value in cookies.items()
    ]
    fixed = {"httpOnly": False, "secure": False, "sameSite": "Lax"}
    stored = [{"name": "token", "value": "t1"}]
    return json.dumps(
        {"cookies": [cookie | fixed for cookie in made], "origins": [{"origin": site.origin, "localStorage": stored}]}
    )


def kept(sessions: SessionStore, site: Site) -> tuple[dict[str, str], dict[str, str]]:
    """The cookies and the stored values of the session that is kept."""
    state = json.loads(sessions.load(site.origin) or "{}")
    stored = [item for origin in state["origins"] for item in origin["localStorage"]]
    return tuple({item["name"]: item["value"] for item in items} for items in (state["cookies"], stored))  # type: ignore[return-value]


class TestPages:
    """A record that the app's pages show anew is proven; one that they do not is not."""

    def test_a_saved_record_is_found_and_read(self, engine: BrowserEngine, site: Site) -> None:
        site.records.append({"id": "1", "patient": "Ada Example", "note": "older"})

        assert reason(run(engine, site, reading(PAGES), "Grüße \U0001f6b2")) is Reason.SAVED_AND_CHECKED
        assert [record["id"] for record in site.records] == ["1", "2"]

    def test_a_save_that_the_app_lost_is_not_done(self, engine: BrowserEngine, site: Site) -> None:
        site.records.append({"id": "1", "patient": "Ada Example", "note": "x"})
        site.loses_saves = True

        assert reason(run(engine, site, reading(PAGES, 3_000))) is Reason.SAVE_NOT_CONFIRMED

    def test_a_record_that_is_cut_on_the_way_is_not_done(self, engine: BrowserEngine, site: Site) -> None:
        site.pages["/record/1"] = RECORD.replace("item.note;", "item.note.slice(0, 3);")

        assert reason(run(engine, site, reading(PAGES, 3_000), "abcdef")) is Reason.SAVE_NOT_CONFIRMED
        assert reason(run(engine, site, reading(PAGES), "abc")) is Reason.SAVED_AND_CHECKED


class TestSession:
    """A run begins in the session that is kept, reads the record in it, and keeps what has become of it."""

    def test_every_request_of_a_run_has_the_session(
        self, engine: BrowserEngine, sessions: SessionStore, site: Site
    ) -> None:
        sessions.save(site.origin, session(site, s="1"))

        assert reason(run(engine, site, reading(PAGES))) is Reason.SAVED_AND_CHECKED
        assert set(site.cookies) == {"s=1"}

    def test_json_is_read_with_the_cookies_of_the_session(
        self, engine: BrowserEngine, sessions: SessionStore, site: Site
    ) -> None:
        sessions.save(site.origin, session(site, s="1"))

        assert reason(run(engine, site)) is Reason.SAVED_AND_CHECKED
        reads = [cookie for path, cookie in zip(site.asked, site.cookies, strict=True) if path == "/api/records"]
        assert set(reads) == {"s=1"}

    def test_a_session_that_was_renewed_on_the_way_is_kept_without_what_was_typed(
        self, engine: BrowserEngine, sessions: SessionStore, site: Site
    ) -> None:
        renew = "document.cookie = 's=2'; localStorage.token = 't2'"
        draft = "document.querySelector('[name=note]').onchange = event => localStorage.draft = event.target.value"
        site.pages["/new"] += f"<script>{renew}; {draft}</script>"
        sessions.save(site.origin, session(site, s="1"))

        assert reason(run(engine, site, reading(PAGES), "private")) is Reason.SAVED_AND_CHECKED
        assert eventually(lambda: kept(sessions, site) == ({"s": "2"}, {"token": "t2"}))
        assert "private" not in (sessions.load(site.origin) or "")

    def test_it_is_kept_after_a_failure_too(self, sessions: SessionStore, site: Site) -> None:
        site.pages["/new"] = "<h1>New note</h1><script>document.cookie = 's=2'</script><p>No form</p>"
        sessions.save(site.origin, session(site, s="1"))
        hasty = BrowserEngine(sessions.state_folder / "hasty", limits=evolve(LIMITS, wait_ms=1_000), sessions=sessions)
        try:
            assert reason(run(hasty, site)) is not Reason.SAVED_AND_CHECKED
        finally:
            hasty.close()

        assert kept(sessions, site)[0] == {"s": "2"}

    def test_one_that_is_over_does_not_replace_what_is_kept(self, sessions: SessionStore, site: Site) -> None:
        site.pages["/new"] = "<h1>Sign in</h1><input type=password><script>document.cookie = 's=; max-age=0'</script>"
        sessions.save(site.origin, session(site, s="1"))
        hasty = BrowserEngine(
            sessions.state_folder / "signed-out", limits=evolve(LIMITS, wait_ms=1_000), sessions=sessions
        )
        try:
            assert reason(run(hasty, site)) is Reason.PERSON_NEEDED
        finally:
            hasty.close()

        assert kept(sessions, site)[0] == {"s": "1"}

    def test_a_person_who_signed_in_meanwhile_is_not_signed_out_again(
        self, engine: BrowserEngine, sessions: SessionStore, site: Site
    ) -> None:
        sessions.save(site.origin, session(site, s="1"))
        job = Job(run_id=new_run_id(), bundle=NOTE_BUNDLE, inputs={"note": "x"}, target=site.target)
        boundary = OpenBoundary()
        boundary.at_crossing = lambda: sessions.save(site.origin, session(site, s="new"))

        assert reason(engine.execute(job, boundary)) is Reason.SAVED_AND_CHECKED
        # The next run waits until all of this one is closed.
        run(engine, site)
        assert kept(sessions, site)[0] == {"s": "new"}

    def test_what_a_reading_context_is_given_is_valid_for_the_run(
        self, engine: BrowserEngine, sessions: SessionStore, site: Site
    ) -> None:
        site.pages["/list"] = LIST.replace("<script>", "<script>document.cookie = 's=' + document.cookie.length;", 1)
        sessions.save(site.origin, session(site, s="1"))

        assert reason(run(engine, site, reading(PAGES))) is Reason.SAVED_AND_CHECKED
        assert eventually(lambda: kept(sessions, site)[0] == {"s": "3"})


class TestDatabases:
    """A run whose records lie in a database that the operator did not connect is refused before anything is opened."""

    SOURCE = DatabaseRecords("clinic", "notes", "id", ("patient", "note"))

    def test_it_is_refused(self, engine: BrowserEngine, site: Site) -> None:
        with pytest.raises(RunRefusedError) as refused:
            run(engine, site, reading(self.SOURCE))

        assert (refused.value.refusal, refused.value.checks) == (
            Refusal.NOT_READY_TO_RUN,
            (FailedCheck.RECORD_CHECK_MISSING,),
        )
        assert site.asked == []
