"""Stopped runs with all that answers them in one process: ledger, engine, performer, desk, and a person at the window.

Laws of this module:

- The person works in the real page of the real browser, by clicks and keys of its own. Nothing of the engine is asked.
- What was acted in the app is counted by the site.
"""

import secrets
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, evolve, field
from playwright.async_api import Page

from support.browser import NOTE_BUNDLE, NOTE_FORM, PATIENT, Site
from surehand.core.attention.decision import DecisionRequest, Door, Receipt
from surehand.core.attention.pause import Action, AttentionItem
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import Mode, RunResult
from surehand.core.request.gate import Start
from surehand.core.request.record import RunRecord
from surehand.core.workflow.bundle import Bundle, ClickStep, OpenStep, bundle_digest
from surehand.core.workflow.commands import Records
from surehand.core.workflow.target import PageGate, Target, TargetKind
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.engines.browser.account import Account
from surehand.shell.engines.browser.engine import BrowserEngine, Tools
from surehand.shell.engines.browser.performing import Performer
from surehand.shell.execution import execute_run
from surehand.shell.fence.client import FenceRun
from surehand.shell.identity import attention_key, new_run_id
from surehand.shell.locks import OwnerLock
from surehand.shell.store import open_store
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import RunStore

T = TypeVar("T")

#: A start page whose link is there twice, and a form whose page has such a link, too.
CHOICE = '<h1>Choose</h1><a href="/new">Open</a> <a href="/other">Open</a>'
FORM = NOTE_FORM + '<a href="/new">Open</a>'
OTHER = FORM.replace("SYN-1", "SYN-2")
LINK = Target(TargetKind.ROLE, "Open", "link")

#: The note workflow, behind a link that a person has to choose.
CHOOSING = evolve(
    NOTE_BUNDLE,
    steps=(
        OpenStep("start", "/choose"),
        ClickStep("pick", PageGate("/choose", Target(TargetKind.ROLE, "Choose", "heading")), LINK),
        *NOTE_BUNDLE.steps[1:],
    ),
)


def choice_site() -> Site:
    """The site that ``CHOOSING`` works on."""
    return Site({"/choose": CHOICE, "/new": FORM, "/other": OTHER, "/saved": "<h1>Saved</h1>"})


class WatchedEngine(BrowserEngine):
    """The engine, with a hand on the pages of its runs, and an ear for what it says before a save."""

    pages: list[Page]
    hears: Callable[[Job, Records], None]

    def __init__(self, journal_folder: Path, **settings: Any) -> None:  # noqa: ANN401 - as the engine takes them
        self.pages = []
        self.hears = lambda _job, _baseline: None
        super().__init__(journal_folder, before_save=self._hear, **settings)

    def _hear(self, job: Job, baseline: Records) -> None:
        self.hears(job, baseline)

    async def _fresh_page(self, tools: Tools, fence: FenceRun, account: Account, held: AsyncExitStack) -> Page:
        page = await super()._fresh_page(tools, fence, account, held)
        self.pages.append(page)
        return page

    def by_hand(self, work: Callable[[Page], Coroutine[Any, Any, T]]) -> T:
        """Do something in the newest page, as a person does."""
        return self._call(work(self.pages[-1]))


@define
class Office:
    """One process that attends a state folder."""

    folder: Path
    store: RunStore
    lock: OwnerLock
    engine: WatchedEngine
    desk: AttendedDesk
    performer: Performer
    stop: threading.Event = field(factory=threading.Event)

    def run(self, bundle: Bundle, inputs: Mapping[str, str], target: AppTarget) -> RunResult:
        """Execute one run to its end or its stop."""
        record = reserve(self.store, self.lock.token, bundle)
        job = Job(run_id=record.run_id, bundle=bundle, inputs=inputs, target=target)
        return execute_run(
            self.store, self.engine, record, job, SYSTEM_CLOCK, Mode.ATTENDED, keep_stop=self.performer.keep
        )

    def item(self) -> AttentionItem:
        """The newest item of the queue."""
        return self.desk.items(1).items[0]

    def decide(self, action: Action, item: AttentionItem | None = None) -> Receipt:
        """Decide about an item at the terminal, let this process look, and give the receipt."""
        asked = self.ask(action, item)
        self.performer.look()
        return self.receipt(asked)

    def ask(self, action: Action, item: AttentionItem | None = None) -> DecisionRequest:
        """Decide about an item at the terminal."""
        about = item or self.item()
        request = DecisionRequest(about.id, about.capability_digest or "0" * 64, secrets.token_hex(16), confirm=True)
        self.desk.decide(request, action, Door.TERMINAL)
        return request

    def receipt(self, request: DecisionRequest) -> Receipt:
        """What became of a decision."""
        kept = self.desk.receipt(request.idempotency_key)
        assert kept is not None
        return kept

    def answer(self, run_id: str) -> RunResult:
        """The answer of a run as it stands."""
        record = self.store.load(run_id)
        assert record is not None
        assert record.result is not None
        return record.result


@contextmanager
def watched_engine(folder: Path, **settings: Any) -> Generator[WatchedEngine]:  # noqa: ANN401 - settings of the engine
    """An engine for a block; many offices may have it, one after another."""
    engine = WatchedEngine(folder / "fence", limits=PATIENT, attended=True, **settings)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def office(folder: Path, engine: WatchedEngine) -> Generator[Office]:
    """An office for a block; several may share a folder, as processes do. Its windows go with it."""
    store, lock = open_store(folder), OwnerLock.acquire(folder)
    attention = attention_of(store)
    assert attention is not None
    stop = threading.Event()
    performer = Performer(
        runs=store,
        attention=attention,
        files=EvidenceFiles(folder, attention_key(folder)),
        engine=engine,
        turn=lambda _origin, _boundary: nullcontext(enter_result=True),
        token=lock.token,
        mode=Mode.ATTENDED,
        clock=SYSTEM_CLOCK,
        stop=stop,
        attended=True,
    )
    try:
        yield Office(folder, store, lock, engine, AttendedDesk.over(store, folder), performer, stop)
    finally:
        for run_id in engine.windows():
            engine.let_go(run_id)
        store.close()
        lock.release()


def reserve(store: RunStore, owner: str, bundle: Bundle) -> RunRecord:
    """A reserved run of this bundle and owner."""
    draft = RunRecord(
        run_id=new_run_id(),
        request_key=secrets.token_hex(32),
        attempt=0,
        workflow=bundle.workflow,
        fingerprint=secrets.token_hex(32),
        owner=owner,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=SYSTEM_CLOCK.now(),
        bundle=bundle_digest(bundle),
    )
    decision = store.reserve(draft)
    assert isinstance(decision, Start)
    return decision.record
