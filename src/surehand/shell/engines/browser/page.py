"""Performs commands on one page of one fresh browser context.

Laws of this module:

- Nothing is kept between two commands but the page itself: every target is found anew at the moment of the action,
  by exact names, among what is shown.
- What acts, acts in the very document that the page's gate saw: on a page that came in between, it finds nothing.
- There is no first or n-th match, no forced click, no click at a place, and no second way to find something.
- A library's exception says only of which type it is. What the page looks like is then asked of the page, in closed
  terms.
- Only ``save`` may let a write out, and what it answers is what the fence measured.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Self, assert_never

from attrs import frozen
from playwright.async_api import Browser, BrowserContext, Dialog, Error, Locator, Page, Request

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    CheckPage,
    Choose,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Open,
    ReadTexts,
    ReadValue,
    Save,
    SaveObserved,
    Texts,
)
from surehand.core.workflow.target import Constant, PageGate, Target, TargetKind
from surehand.shell.fence.client import FenceRun, FenceUnavailableError

#: The commands that need the page.
PageCommand = Open | CheckPage | ReadTexts | Fill | Choose | ReadValue | Click | Save

#: What they are answered with.
PageObservation = Done | Texts | Fault | SaveObserved

#: Every run sees the app with these settings, whatever the machine's are: dates and numbers look the same everywhere.
LOCALE: Final = "en-US"
TIME_ZONE: Final = "UTC"
VIEWPORT: Final = {"width": 1280, "height": 800}

#: White space that layout adds around a text. A no-break space is not among it: somebody wrote that one.
LAYOUT_SPACE: Final = " \t\r\n\f"

#: Seconds between two looks at a page that is not there yet.
_LOOK_AGAIN: Final = 0.02


@frozen(kw_only=True)
class Limits:
    """How long the engine waits, in milliseconds.

    Args:
        wait_ms: For a page gate to hold, and for a target to be there and ready.
        fresh_ms: For a fresh context and its page; a browser that needs longer hangs.
        open_ms: For a page to load.
        write_ms: From the click that saves to the write that it makes.
        answer_ms: From there to the app's answer.
        react_ms: For the page to react to the answer, should it show a dialog.
        read_ms: For one read over the read-back channel.
    """

    wait_ms: int = 5_000
    fresh_ms: int = 20_000
    open_ms: int = 15_000
    write_ms: int = 3_000
    answer_ms: int = 6_000
    react_ms: int = 600
    read_ms: int = 5_000

    @property
    def hang_ms(self) -> int:
        """Longer than any command takes in a browser that still lives."""
        return 10_000 + max(self.wait_ms * 2, self.open_ms) + self.write_ms + self.answer_ms + self.react_ms


#: The selector that finds one document, by the time at which it began, and nothing in any other.
DOCUMENT_SELECTOR: Final = "surehand_document"
DOCUMENT_SELECTOR_ENGINE: Final = """{
    queryAll(root, began) { return String(performance.timeOrigin) === began ? [document.documentElement] : []; },
    query(root, began) { return this.queryAll(root, began)[0]; },
}"""

# What is asked of the page. Each expression gets all matching elements at once: finding and looking are one moment.
_PLACE: Final = "els => [els.length, location.origin, location.pathname, String(performance.timeOrigin)]"
_DOCUMENT: Final = "() => String(performance.timeOrigin)"
_LOOK: Final = """els => els.map(el =>
    el instanceof HTMLSelectElement ? Array.from(el.selectedOptions, option => option.label).join("\\n")
    : el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement ? el.value
    : el.innerText ?? "")"""
_OPTIONS: Final = """els => els.map(el =>
    el instanceof HTMLSelectElement ? Array.from(el.options, option => option.label) : null)"""
_LEAVE: Final = "els => { for (const el of els) el.blur(); }"
_COVERED: Final = """els => els.map(el => {
    const box = el.getBoundingClientRect();
    const hit = el.getRootNode().elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return hit !== null && !el.contains(hit) && !Array.from(el.labels ?? []).some(label => label.contains(hit));
})"""


async def new_context(browser: Browser, proxy_url: str) -> BrowserContext:
    """A fresh context whose only way out is the proxy."""
    return await browser.new_context(
        proxy={"server": proxy_url},
        service_workers="block",
        accept_downloads=False,
        strict_selectors=True,
        locale=LOCALE,
        timezone_id=TIME_ZONE,
        viewport={"width": VIEWPORT["width"], "height": VIEWPORT["height"]},
        reduced_motion="reduce",
    )


class RunPage:
    """The page of one run.

    Args:
        page: A new page; the context holds no other.
        origin: The origin of the app.
        fence: The fence of the run.
        on_boundary: Passes the delivery boundary; only ``GRANTED`` lets the write go.
        limits: How long to wait.
        gives_up: Whether what does not hold yet is not to be waited for.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of one run, each of them given by another
        self,
        page: Page,
        origin: str,
        fence: FenceRun,
        on_boundary: Callable[[], Awaitable[BoundaryAnswer]],
        limits: Limits,
        gives_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._page = page
        self._origin = origin
        self._fence = fence
        self._on_boundary = on_boundary
        self._limits = limits
        self._gives_up = gives_up
        self._dialog = asyncio.Event()
        self._dismissals: set[asyncio.Task[None]] = set()
        self._other_page = False
        self._crashed = False
        self._asked = asyncio.Event()
        self._boundary = BoundaryAnswer.NOT_ASKED
        self._document: str | None = None
        page.context.on("dialog", self._note_dialog)
        page.context.on("page", self._note_page)
        page.on("crash", self._note_crash)
        page.on("close", self._note_crash)

    async def perform(self, command: PageCommand) -> PageObservation:
        """Perform one command. Never raises for what the page, the browser or the fence did."""
        try:
            async with asyncio.timeout(self._limits.hang_ms / 1000):
                observation = await self._perform(command)
        except Error:
            observation = Fault(FaultKind.PAGE_UNEXPECTED)
        except (FenceUnavailableError, TimeoutError):
            # The fence is gone, or the browser hangs: nothing that it could still say is waited for.
            observation = Fault(FaultKind.ENGINE_BROKEN)
        if isinstance(observation, Fault) and self._is_broken():
            return Fault(FaultKind.ENGINE_BROKEN)
        return observation

    async def _perform(self, command: PageCommand) -> PageObservation:
        match command:
            case Save():
                return await self._save(command)
            case Open(path=path):
                return await self._open(path)
            case CheckPage(gate=gate):
                return await self._check_page(gate)
            case ReadTexts(targets=targets, rows=rows):
                seen = await self._look(tuple(map(self._find, targets, rows)))
                return seen if isinstance(seen, Fault) else Texts(tuple(text.strip(LAYOUT_SPACE) for text in seen))
            case ReadValue(target=target, row=row):
                seen = await self._look((self._find(target, row),))
                return seen if isinstance(seen, Fault) else Texts(seen)
            case Fill() | Choose() | Click():
                return await self._act(command)
            case _:  # pragma: no cover
                assert_never(command)

    # Finding

    def _find_here(self, target: Target, row: str | None) -> Locator:
        """The same, but only in the document that the last gate saw, if one was checked since the opening."""
        if self._document is None:
            return self._find(target, row)
        return self._find(target, row, self._page.locator(f"{DOCUMENT_SELECTOR}={self._document}"))

    def _find(self, target: Target, row: str | None, within: Locator | None = None) -> Locator:
        """All elements that the target means, among what is shown."""
        page = self._page if within is None else within
        scope = page if row is None else self._row(page, row)
        match target.kind:
            case TargetKind.TEST_ID:
                return scope.get_by_test_id(target.name).filter(visible=True)
            case TargetKind.LABEL:
                return scope.get_by_label(target.name, exact=True).filter(visible=True)
            case TargetKind.ROLE:
                # The type of the parameter lists all roles; an unknown one matches nothing.
                role: Any = target.role
                return scope.get_by_role(role, name=target.name, exact=True)
            case _:  # pragma: no cover
                assert_never(target.kind)

    def _row(self, page: Page | Locator, text: str) -> Locator:
        """The innermost table rows that hold a cell with exactly this text."""
        cell, grid_cell, header = (
            self._page.get_by_role(role, name=text, exact=True) for role in ("cell", "gridcell", "rowheader")
        )
        with_cell = page.get_by_role("row").filter(has=cell.or_(grid_cell).or_(header))
        return with_cell.filter(has_not=self._page.get_by_role("row"))

    # Looking

    async def _open(self, path: str) -> Done | Fault:
        await self._page.goto(self._origin + path, timeout=self._limits.open_ms)
        self._document = None
        return self._surprise() or Done()

    async def _check_page(self, gate: PageGate) -> Done | Fault:
        row = gate.landmark.row
        landmark = self._find(gate.landmark, row.text if isinstance(row, Constant) else None)
        deadline = self._deadline()
        while not await self._holds(gate, landmark):
            if fault := self._surprise():
                return fault
            if self._is_over(deadline):
                return await self._wrong_page()
            await asyncio.sleep(_LOOK_AGAIN)
        return await self._early_write() or self._surprise() or Done()

    async def _holds(self, gate: PageGate, landmark: Locator) -> bool:
        try:
            count, origin, path, document = await landmark.evaluate_all(_PLACE)
        except Error:
            # The page is on its way to another one.
            return False
        if count != 1 or origin != self._origin or not path_fits(gate.path, path):
            return False
        self._document = document
        return True

    async def _wrong_page(self) -> Fault:
        password = self._page.locator("input[type=password]").filter(visible=True)
        shown = await password.count() > 0
        return Fault(FaultKind.SIGN_IN_SHOWN if shown else FaultKind.PAGE_UNEXPECTED)

    async def _look(self, elements: Sequence[Locator]) -> tuple[str, ...] | Fault:
        """What each of the elements shows, once all of them are there."""
        deadline = self._deadline()
        while True:
            seen: list[list[str]] = await asyncio.gather(*(element.evaluate_all(_LOOK) for element in elements))
            if fault := self._surprise():
                return fault
            if any(len(texts) > 1 for texts in seen):
                return Fault(FaultKind.TARGET_NOT_UNIQUE)
            if all(seen):
                return tuple(texts[0] for texts in seen)
            if self._is_over(deadline):
                return Fault(FaultKind.TARGET_MISSING)
            await asyncio.sleep(_LOOK_AGAIN)

    # Acting

    async def _act(self, command: Fill | Choose | Click) -> Done | Fault:
        element = self._find_here(command.target, command.row)
        fault = await self._try(command, element)
        return await self._early_write() or self._surprise() or fault or Done()

    async def _early_write(self) -> Fault | None:
        """Whether the page tried to write before the save. The fence stopped it; the run stops too."""
        counts = await self._fence.counts()
        return Fault(FaultKind.EARLY_WRITE_STOPPED) if counts.stopped_writes else None

    async def _try(self, command: Fill | Choose | Click, element: Locator) -> Fault | None:
        try:
            match command:
                case Fill(text=text):
                    await element.fill(text, timeout=self._limits.wait_ms)
                case Choose(label=label):
                    if fault := await self._options(element, label):
                        return fault
                    await element.select_option(label=label, timeout=self._limits.wait_ms)
                case Click():
                    await element.click(timeout=self._limits.wait_ms)
                    return None
                case _:  # pragma: no cover
                    assert_never(command)
            # Leaving without a key: Tab would take a suggestion in some lists and enter the next field in all.
            await element.evaluate_all(_LEAVE)
        except Error:
            return Fault(await self._why(element))
        return None

    async def _options(self, element: Locator, label: str) -> Fault | None:
        """Wait for the one list that has exactly one option with this label."""
        deadline = self._deadline()
        while True:
            lists: list[list[str] | None] = await element.evaluate_all(_OPTIONS)
            kind = _choice_fault(lists, label)
            if kind is None:
                return None
            if kind is FaultKind.TARGET_NOT_UNIQUE or self._is_over(deadline):
                return Fault(kind)
            await asyncio.sleep(_LOOK_AGAIN)

    async def _why(self, element: Locator) -> FaultKind:
        """Why an action was not possible, asked of the page as it is now."""
        covered: list[bool] = await element.evaluate_all(_COVERED)
        if not covered:
            left = self._document not in {None, await self._page.evaluate(_DOCUMENT)}
            return (await self._wrong_page()).kind if left else FaultKind.TARGET_MISSING
        if len(covered) > 1:
            return FaultKind.TARGET_NOT_UNIQUE
        return FaultKind.TARGET_COVERED if covered[0] else FaultKind.PAGE_UNEXPECTED

    # Saving

    async def _save(self, command: Save) -> SaveObserved:
        """One armed write at the most. What the click says about itself is not asked."""
        try:
            await self._fence.arm(command.route, self._pass_boundary)
        except FenceUnavailableError:
            # A fence that was never armed has let nothing out.
            return SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)
        with Traffic(self._page.context) as traffic:
            click = asyncio.create_task(self._click_to_save(self._find_here(command.target, command.row)))
            await self._write_begun(click)
            verdict = await self._fence.settle(self._limits.answer_ms if self._asked.is_set() else 0)
            if verdict.delivery is not Delivery.NOT_SENT:
                await self._let_the_page_react(click, traffic)
            click.cancel()
        return SaveObserved(verdict.delivery, verdict.stopped_writes, self._dialog.is_set(), boundary=self._boundary)

    async def _pass_boundary(self) -> bool:
        # An answer that does not come in time counts as a refusal: the fence is spent by then.
        self._boundary = BoundaryAnswer.REFUSED
        self._asked.set()
        self._boundary = await self._on_boundary()
        return self._boundary is BoundaryAnswer.GRANTED

    async def _click_to_save(self, element: Locator) -> bool:
        try:
            await element.click(timeout=self._limits.wait_ms)
        except Error:
            return False
        return True

    async def _write_begun(self, click: asyncio.Task[bool]) -> None:
        """Wait until the write reaches the fence, or a dialog holds it back, or it is too late for it."""
        signs = {asyncio.create_task(event.wait()) for event in (self._asked, self._dialog)}
        await asyncio.wait({click, *signs}, return_when=asyncio.FIRST_COMPLETED)
        if click.done() and click.result():
            await asyncio.wait(signs, timeout=self._limits.write_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        for sign in signs:
            sign.cancel()

    async def _let_the_page_react(self, click: asyncio.Task[bool], traffic: "Traffic") -> None:
        """Give the page a moment to show a dialog upon the answer.

        The answer has reached the page, what it sets off has happened, and the page has run what it runs then.
        """
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(self._limits.react_ms / 1000):
                await asyncio.shield(click)
                while not traffic.is_over:
                    await traffic.over()
                    await self._page.wait_for_load_state("domcontentloaded")
                    await self._page.evaluate("() => new Promise(done => setTimeout(done, 10))")

    # What happens to the page by itself

    def _note_dialog(self, dialog: Dialog) -> None:
        # Noted at once, not when a task gets its turn: the command that caused it may end before that.
        self._dialog.set()
        task = asyncio.create_task(_dismiss(dialog))
        self._dismissals.add(task)
        task.add_done_callback(self._dismissals.discard)

    def _note_page(self, _page: Page) -> None:
        self._other_page = True

    def _note_crash(self, _page: Page) -> None:
        self._crashed = True

    def _surprise(self) -> Fault | None:
        if self._dialog.is_set():
            return Fault(FaultKind.UNEXPECTED_DIALOG)
        return Fault(FaultKind.PAGE_UNEXPECTED) if self._other_page else None

    def _is_broken(self) -> bool:
        browser = self._page.context.browser
        return self._crashed or self._page.is_closed() or browser is None or not browser.is_connected()

    def _is_over(self, deadline: float) -> bool:
        """Whether waiting is of no use any more."""
        return time.monotonic() > deadline or self._gives_up() or self._is_broken()

    def _deadline(self) -> float:
        return time.monotonic() + self._limits.wait_ms / 1000


async def _dismiss(dialog: Dialog) -> None:
    with suppress(Error):
        await dialog.dismiss()


class Traffic:
    """The requests that a save sets off, as the browser tells of them. This only listens; the fence decides."""

    #: Kinds of request upon whose answer a page acts.
    KINDS: Final = frozenset({"document", "fetch", "xhr"})

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._open: set[Request] = set()
        self._changed = asyncio.Event()
        self.is_over = False

    async def over(self) -> None:
        """Wait until a request was made and none is open."""
        while self._open or not self._changed.is_set():
            self._changed.clear()
            await self._changed.wait()
        self.is_over = True

    def _begun(self, request: Request) -> None:
        if request.resource_type in self.KINDS:
            self.is_over = False
            self._open.add(request)

    def _ended(self, request: Request) -> None:
        if request in self._open:
            self._open.discard(request)
            self._changed.set()

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._context.on("request", self._begun)
        self._context.on("requestfinished", self._ended)
        self._context.on("requestfailed", self._ended)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._context.remove_listener("request", self._begun)
        self._context.remove_listener("requestfinished", self._ended)
        self._context.remove_listener("requestfailed", self._ended)


def _choice_fault(lists: Sequence[Sequence[str] | None], label: str) -> FaultKind | None:
    if len(lists) > 1:
        return FaultKind.TARGET_NOT_UNIQUE
    if not lists:
        return FaultKind.TARGET_MISSING
    # Something that is no list of options has none.
    fitting = (lists[0] or []).count(label)
    if fitting == 0:
        return FaultKind.OPTION_MISSING
    return None if fitting == 1 else FaultKind.TARGET_NOT_UNIQUE


def path_fits(template: str, path: str) -> bool:
    """Whether a path is of a template in which ``*`` is one segment that is not empty."""
    wanted, given = template.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        bool(segment) if pattern == "*" else pattern == segment for pattern, segment in zip(wanted, given, strict=True)
    )
