"""Records read from an app's own pages: in fresh contexts, at rest, and only what the source says."""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from attrs import evolve
from playwright.async_api import Page

from support.browser import PATIENT, Lab, Site, attribute, by_test_id, caption, eventually, heading
from surehand.core.workflow.commands import ReadRecords, Record, Records, RecordsUnavailable
from surehand.core.workflow.fence import FenceRules
from surehand.core.workflow.source import PageField, PageRecords, RecordPage
from surehand.core.workflow.target import PageGate
from surehand.shell.engines.base import AppTarget
from surehand.shell.engines.browser.database_records import DatabaseReader
from surehand.shell.engines.browser.json_records import JsonReader
from surehand.shell.engines.browser.page_records import THE_RECORD, PageReader
from surehand.shell.engines.browser.readback import RecordChannel
from surehand.shell.engines.browser.viewing import Limits, new_context

FIELDS = (PageField("status", caption("Status")), PageField("note", attribute("name", "note")))
LIST = PageRecords("/visits?all=1", heading("Visits"), "/visits/*", PageGate("/visits/*", heading("Visit")), FIELDS)
ONE = RecordPage("/visits/7", PageGate("/visits/7", heading("Visit")), FIELDS)

PAGE = "<h1>Visit</h1><dl><dt>Status</dt><dd> New </dd></dl><textarea name=note>{note}</textarea>"


def listed(*keys: str) -> str:
    """A page that lists visits."""
    links = "".join(
        f"<li><a href='/visits/{key}?a=1'>open</a><a href='/visits/{key}/edit'>edit</a></li>" for key in keys
    )
    others = "<a href='/'>Home</a><a href='http://127.0.0.1:9/visits/x'>elsewhere</a>"
    return f"<h1>Visits</h1>{others}<ul id=list>{links}</ul>"


@pytest.fixture
def site() -> Iterator[Site]:
    """A site with two visits."""
    with Site(
        {"/visits": listed("6", "7"), "/visits/7": PAGE.format(note="seven"), "/visits/6": PAGE.format(note="six")}
    ) as made:
        yield made


def read(  # noqa: PLR0913 - the parts of one read
    lab: Lab,
    site: Site,
    source: PageRecords | RecordPage,
    old: frozenset[str] | None = None,
    *,
    seconds: float = 60,
    limits: Limits = PATIENT,
) -> Records | RecordsUnavailable:
    """Read once."""

    async def work() -> Records | RecordsUnavailable:
        lab.visits += 1
        fence = await lab.tools.fence.open_run(f"read-{lab.visits}", FenceRules((site.origin,)))

        @asynccontextmanager
        async def open_page() -> AsyncGenerator[Page]:
            context = await new_context(lab.tools.browser, fence.proxy_url)
            try:
                yield await context.new_page()
            finally:
                await context.close()

        target = AppTarget(origin=site.origin, record_origin=site.origin)
        pages = PageReader(open_page, site.origin, limits)
        try:
            return await RecordChannel(JsonReader(target), pages, DatabaseReader()).read(
                ReadRecords(source, old), seconds
            )
        finally:
            await fence.close()

    return lab.run(work())


class TestLists:
    """A list shows which records there are; the pages of those that are new are read, and no other."""

    def test_before_the_save_only_the_list_is_read(self, lab: Lab, site: Site) -> None:
        assert read(lab, site, LIST) == Records((Record("6", None), Record("7", None)))
        assert [path for path in site.asked if path.startswith("/visits/")] == []

    def test_after_the_save_the_new_pages_are_read(self, lab: Lab, site: Site) -> None:
        found = read(lab, site, LIST, frozenset({"6"}))

        assert found == Records((Record("6", None), Record("7", {"status": "New", "note": "seven"})))
        assert "/visits/6" not in site.asked

    def test_what_a_page_does_not_show_is_left_out(self, lab: Lab, site: Site) -> None:
        site.pages["/visits/7"] = "<h1>Visit</h1><textarea name=note></textarea>"

        assert read(lab, site, ONE) == Records((Record(THE_RECORD, {"note": ""}),))

    def test_rows_that_arrive_late_are_waited_for(self, lab: Lab, site: Site) -> None:
        hold = site.hold("/rows")
        fill = "fetch('/rows').then(() => list.innerHTML = `<li><a href='/visits/8'>8</a></li>`)"
        site.pages["/visits"] = listed("6") + f"<script>{fill}</script>"
        hold.go.set()

        assert read(lab, site, LIST) == Records((Record("8", None),))

    def test_a_list_that_never_comes_to_rest_is_no_answer(self, lab: Lab, site: Site) -> None:
        site.hold("/rows")
        site.pages["/visits"] = listed("6") + "<script>fetch('/rows')</script>"

        assert read(lab, site, LIST, seconds=4) == RecordsUnavailable()

    @pytest.mark.parametrize(
        ("path", "html"),
        [
            ("/visits", "<h1>Sign in</h1><input type=password>"),
            ("/visits", listed("6", "7") + "<h2>Visits</h2>"),
            ("/visits/7", "<h1>Patient</h1>" + PAGE.format(note="x").replace("<h1>Visit</h1>", "")),
            ("/visits/7", PAGE.format(note="x") + "<input name=note>"),
            ("/visits/7", PAGE.format(note="x") + "<script>alert(1)</script>"),
        ],
        ids=["sign_in", "two_landmarks", "another_page", "two_fields", "dialog"],
    )
    def test_a_page_that_is_not_the_right_one_is_no_answer(self, lab: Lab, site: Site, path: str, html: str) -> None:
        site.pages[path] = html

        assert read(lab, site, LIST, frozenset({"6"}), seconds=6) == RecordsUnavailable()

    def test_a_listed_record_that_is_not_there_is_no_answer(self, lab: Lab, site: Site) -> None:
        site.missing.add("/visits/7")

        assert read(lab, site, LIST, frozenset({"6"})) == RecordsUnavailable()

    def test_more_new_records_than_can_be_read_are_no_answer(self, lab: Lab, site: Site) -> None:
        site.pages["/visits"] = listed(*map(str, range(51)))

        assert read(lab, site, LIST, frozenset()) == RecordsUnavailable()
        assert "/visits/1" not in site.asked


class TestOneRecord:
    """The page of the one record is read; one that the app does not find is not there."""

    def test_it_is_there(self, lab: Lab, site: Site) -> None:
        assert read(lab, site, ONE) == Records((Record(THE_RECORD, {"status": "New", "note": "seven"}),))

    def test_a_field_that_is_filled_little_by_little_is_waited_for(self, lab: Lab, site: Site) -> None:
        fill = """<script>const field = document.querySelector('textarea'); const adding = setInterval(() => {
            field.value += 'a';
            if (field.value.length === 30) clearInterval(adding);
        }, 100)</script>"""
        site.pages["/visits/7"] = PAGE.format(note="") + fill

        found = read(lab, site, ONE, limits=evolve(PATIENT, quiet_ms=2_000))

        assert found == Records((Record(THE_RECORD, {"status": "New", "note": "a" * 30}),))

    def test_it_is_not_there(self, lab: Lab, site: Site) -> None:
        site.missing.add("/visits/7")

        assert read(lab, site, ONE) == Records(())

    def test_another_page_in_its_place_is_no_answer(self, lab: Lab, site: Site) -> None:
        site.pages["/visits/7"] = "<h1>No such visit</h1>"

        assert read(lab, site, ONE, seconds=4) == RecordsUnavailable()


class TestBounds:
    """A read ends in time, writes nothing, and sees nothing that an earlier one left behind."""

    def test_a_page_that_never_loads_ends_in_time(self, lab: Lab, site: Site) -> None:
        site.hold("/visits/7")
        begun = time.monotonic()

        assert read(lab, site, ONE, seconds=3) == RecordsUnavailable()
        assert time.monotonic() - begun < PATIENT.open_ms / 1000

    def test_a_page_that_writes_when_it_is_looked_at_writes_nothing(self, lab: Lab, site: Site) -> None:
        script = "<script>fetch('/seen', {method: 'POST'}).catch(() => 0).finally(() => fetch('/after'))</script>"
        site.pages["/visits/7"] += script

        assert read(lab, site, ONE) == Records((Record(THE_RECORD, {"status": "New", "note": "seven"}),))
        assert eventually(lambda: "/after" in site.asked)
        assert site.posts == []

    def test_what_a_page_keeps_in_the_browser_is_gone_at_the_next_read(self, lab: Lab, site: Site) -> None:
        remember = "note.value = localStorage.note ??= note.value; document.cookie ||= 'c=1'"
        site.pages["/visits/7"] = (
            PAGE.format(note="first").replace("<textarea ", "<textarea id=note ") + f"<script>{remember}</script>"
        )
        read(lab, site, ONE)
        site.pages["/visits/7"] = site.pages["/visits/7"].replace("first", "second")

        found = read(lab, site, ONE)

        assert found == Records((Record(THE_RECORD, {"status": "New", "note": "second"}),))
        assert set(site.cookies) == {""}


@pytest.mark.parametrize(("code", "usable"), [("0x1f600", True), ("0xd83d", False)], ids=["whole", "half"])
def test_half_of_a_sign_is_no_text(lab: Lab, site: Site, code: str, usable: bool) -> None:
    """What cannot be kept is not read: a page may cut a sign that takes two units in the middle."""
    script = f"<script>document.querySelector('textarea').value = 'a' + String.fromCodePoint({code})</script>"
    site.pages["/visits/7"] = PAGE.format(note="seven") + script

    assert usable is isinstance(read(lab, site, ONE), Records)


def test_a_field_may_be_anything_that_can_be_targeted(lab: Lab, site: Site) -> None:
    """A member is read from whatever target: an attribute, a text beside, a test id, a box."""
    site.pages["/visits/7"] = "<h1>Visit</h1><b data-testid=who>Ada</b><input type=checkbox name=signed checked>"
    fields = (PageField("who", by_test_id("who")), PageField("signed", attribute("name", "signed")))

    found = read(lab, site, RecordPage(ONE.path, ONE.record, fields))

    assert found == Records((Record(THE_RECORD, {"who": "Ada", "signed": "true"}),))
