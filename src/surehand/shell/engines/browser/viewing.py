"""Looks at one page: opens it, waits until it is the right one, and reads what it shows.

Laws of this module:

- Nothing is kept between two looks but the page itself, and which document and address the last gate saw.
- Every question asks all elements that fit at one moment. Several are never taken for one.
- A library's exception says only that a page is not ready to answer. Why, is asked of the page, in closed terms.
- Nothing here enters or clicks anything.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from attrs import evolve, frozen
from playwright.async_api import Browser, BrowserContext, Error, Locator, Page, StorageState

from surehand.core.workflow.commands import FaultKind
from surehand.core.workflow.target import PageGate, Target
from surehand.shell.engines.browser.dialogs import Dialogs
from surehand.shell.engines.browser.finding import Address, find, find_at, find_target, question, whole
from surehand.shell.engines.browser.traffic import Traffic

#: Every run sees the app with these settings, whatever the machine's are, as with the browser's one language: dates and
#: numbers look the same everywhere.
TIME_ZONE: Final = "UTC"
VIEWPORT: Final = {"width": 1280, "height": 800}

#: Seconds between two looks at a page that is not there yet.
LOOK_AGAIN: Final = 0.02

#: Questions about what elements hold: texts and fields as they are shown, boxes, and fields that were read before.
VALUES: Final = question("values")
STATES: Final = question("states")
HELD: Final = question("held")

_PLACE: Final = question("place")
_COVERED: Final = question("covered")
_LINKS: Final = question("links")
_LEAVE: Final = question("leave")

#: What stands in a field of a page on which a person signs in.
_SIGN_IN_FIELDS: Final = (
    "input[type=password], input[autocomplete~=username], input[autocomplete~=webauthn], "
    "input[autocomplete~=one-time-code]"
)
#: What the address of such a page ends in, without ``-``, ``_`` and what follows a dot.
_SIGN_IN_NAMES: Final = frozenset({"login", "signin", "logon", "signon", "sso", "authenticate"})


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
        pages_ms: The same, where pages have to be opened for it.
        quiet_ms: How long a page must be at rest before what it lists counts as all that there is.
        rest_ms: For the answers to what a page asks its server upon something that was entered or clicked.
    """

    wait_ms: int = 5_000
    fresh_ms: int = 20_000
    open_ms: int = 30_000
    write_ms: int = 3_000
    answer_ms: int = 6_000
    react_ms: int = 600
    read_ms: int = 5_000
    pages_ms: int = 40_000
    quiet_ms: int = 250
    rest_ms: int = 3_000

    @property
    def hang_ms(self) -> int:
        """Longer than any command takes in a browser that still lives."""
        waits = 2 * (max(self.wait_ms, self.open_ms) + self.rest_ms)
        return 10_000 + waits + self.write_ms + self.answer_ms + self.react_ms

    @property
    def load_seconds(self) -> float:
        """How long a page may take until it shows what tells it."""
        return max(self.wait_ms, self.open_ms) / 1000


async def new_context(browser: Browser, proxy_url: str, session: str | None = None) -> BrowserContext:
    """A fresh context whose only way out is the proxy.

    Args:
        browser: The browser.
        proxy_url: The proxy.
        session: The signed-in session of the app, as Playwright's storage state in JSON.
    """
    state: StorageState | None = None if session is None else json.loads(session)
    return await browser.new_context(
        proxy={"server": proxy_url},
        service_workers="block",
        accept_downloads=False,
        strict_selectors=True,
        timezone_id=TIME_ZONE,
        viewport={"width": VIEWPORT["width"], "height": VIEWPORT["height"]},
        reduced_motion="reduce",
        storage_state=state,
    )


class View:
    """One page and what can be seen of it.

    Args:
        page: A new page; the context holds no other.
        origin: The origin of the app.
        limits: How long to wait.
        gives_up: Whether what does not hold yet is not to be waited for.
    """

    def __init__(self, page: Page, origin: str, limits: Limits, gives_up: Callable[[], bool] = lambda: False) -> None:
        self.page = page
        self.limits = limits
        self.dialogs = Dialogs(page.context)
        self.traffic = Traffic(page.context)
        self._origin = origin
        self._gives_up = gives_up
        self._other_page = False
        self._crashed = False
        self._held_back = False
        self._address: Address | None = None
        #: Whether the gate that was just checked still keeps acts of ours from another page.
        self.is_guarded = False
        page.context.on("page", self._note_page)
        page.on("crash", self._note_crash)
        page.on("close", self._note_crash)

    # A person's turn

    async def hand_over(self) -> None:
        """Let a person work in the page: nothing of ours holds back what they do, and dialogs are theirs."""
        self.dialogs.leave_to_person()
        # A page in which a dialog of the person's stands open answers nothing.
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.wait_ms / 1000):
                for frame in self.page.frames:
                    with suppress(Error):
                        await frame.locator(":root").evaluate_all(_LEAVE)

    async def take_back(self) -> None:
        """Go on with the page as the person left it; what was seen of it before does not count any more."""
        await self.dialogs.take_back()
        self._address, self._held_back, self.is_guarded = None, False, False
        self._other_page = len(self.page.context.pages) > 1

    # Finding

    def find_anywhere(self, target: Target, row: str | None) -> Locator:
        """All elements that the target means."""
        return find(self.page, target, row)

    def find_here(self, target: Target, row: str | None) -> Locator:
        """The same, but only in the document and at the address that the last gate saw, if one was checked."""
        return find(self.here(), target, row)

    def here(self) -> Page | Locator:
        """The page, as long as it is the one that the last gate saw."""
        return self.page if self._address is None else find_at(self.page, self._address)

    @property
    def gate(self) -> dict[str, object] | None:
        """The last gate, as ``elements.js`` takes it."""
        return None if self._address is None else self._address.as_json()

    # Looking

    async def open(self, path: str) -> int:
        """Open a path of the app; its status, 0 when there is none.

        Raises:
            Error: It did not load.
        """
        self._address = None
        answer = await self.page.goto(self._origin + path, timeout=self.limits.open_ms)
        self._address = None
        return 0 if answer is None else answer.status

    async def wait_for(self, gate: PageGate) -> FaultKind | None:
        """Wait until the gate holds."""
        address = Address(self._origin, gate)
        landmark = find_target(find_at(self.page, address), gate.landmark)
        if not await self._comes(partial(self._holds, address, landmark)):
            return self.surprise() or await self.wrong_page()
        held_back, self._held_back = self._held_back, False
        return FaultKind.PAGE_UNEXPECTED if held_back else self.surprise()

    async def wait_for_any(self, element: Locator) -> FaultKind | None:
        """Wait until something that the page's gate does not tell is there, as a field that a script makes."""
        return None if await self._comes(partial(_is_there, element)) else self.surprise() or await self.why(element)

    async def _comes(self, holds: Callable[[], Awaitable[bool]]) -> bool:
        """Wait until something holds; whether it came to that before anything else happened.

        A page that still asks its server for something, or is too busy to answer, is not another page yet: it may take
        as long as a page may take to load.
        """
        latest, deadline = time.monotonic() + self.limits.load_seconds, self.deadline()
        begun = time.monotonic()
        while not await holds():
            deadline = deadline + time.monotonic() - begun if self.traffic.is_quiet else self.deadline()
            if self.surprise() or self.is_over(min(deadline, latest)):
                return False
            await asyncio.sleep(LOOK_AGAIN)
            begun = time.monotonic()
        return True

    async def _holds(self, address: Address, landmark: Locator) -> bool:
        with suppress(Error):
            # An error: the page is on its way to another one.
            count, began, held_back = await landmark.evaluate_all(_PLACE, address.as_json())
            # An act of ours that came too late for its page was held back there, and did not happen.
            self._held_back = self._held_back or held_back
            if count == 1:
                self._address = evolve(address, began=began)
                self.is_guarded = address.gate.landmark.frame is None
                return True
        return False

    async def read(
        self, elements: Sequence[Locator], how: str, given: Sequence[object] = (None,)
    ) -> tuple[str, ...] | FaultKind:
        """What each of the elements holds, once all of them are there.

        Args:
            elements: What is asked.
            how: The question.
            given: What goes with it for each of them.
        """
        deadline = self.deadline()
        while True:
            seen = await asyncio.gather(*(ask(one, how, more) for one, more in zip(elements, given, strict=True)))
            if kind := self.surprise():
                return kind
            if any(len(texts) > 1 for texts in seen):
                return FaultKind.TARGET_NOT_UNIQUE
            if all(seen):
                return tuple(texts[0] for texts in seen)
            if self.is_over(deadline):
                return FaultKind.TARGET_MISSING
            await asyncio.sleep(LOOK_AGAIN)

    async def links(self) -> tuple[str, ...]:
        """Where the links of the page lead within the app: paths with their queries.

        Raises:
            Error: The page cannot be asked.
        """
        found: list[str] = await whole(self.page).evaluate_all(_LINKS)
        return tuple(found)

    # Why something is not possible

    async def wrong_page(self) -> FaultKind:
        """What a page that is not the right one is, by what it shows and where it is."""
        with suppress(Error):
            if await self.page.locator(_SIGN_IN_FIELDS).filter(visible=True).count() or self._asks_to_sign_in():
                return FaultKind.SIGN_IN_SHOWN
        return FaultKind.PAGE_UNEXPECTED

    def _asks_to_sign_in(self) -> bool:
        path, _, fragment = self.page.url.partition("#")
        ends = (place.partition("?")[0].rstrip("/").rpartition("/")[2] for place in (path, fragment))
        return any(re.sub("[-_]|[.].*", "", end).lower() in _SIGN_IN_NAMES for end in ends)

    async def why(self, element: Locator) -> FaultKind:
        """Why an action was not possible, asked of the page as it is now."""
        covered: list[bool] = await element.evaluate_all(_COVERED)
        if not covered:
            return FaultKind.TARGET_MISSING if await self._is_here() else await self.wrong_page()
        if len(covered) > 1:
            return FaultKind.TARGET_NOT_UNIQUE
        return FaultKind.TARGET_COVERED if covered[0] else FaultKind.PAGE_UNEXPECTED

    async def _is_here(self) -> bool:
        return self._address is None or await find_at(self.page, self._address).count() == 1

    def surprise(self) -> FaultKind | None:
        """What happened to the page by itself, and was not recorded."""
        if self.dialogs.unexpected.is_set():
            return FaultKind.UNEXPECTED_DIALOG
        return FaultKind.PAGE_UNEXPECTED if self._other_page else None

    @property
    def is_broken(self) -> bool:
        """Whether the page, or its browser, is gone."""
        browser = self.page.context.browser
        return self._crashed or self.page.is_closed() or browser is None or not browser.is_connected()

    def is_over(self, deadline: float) -> bool:
        """Whether waiting is of no use any more."""
        return time.monotonic() > deadline or self._gives_up() or self.is_broken

    def deadline(self) -> float:
        """Until when something that begins now is waited for."""
        return time.monotonic() + self.limits.wait_ms / 1000

    def _note_page(self, _page: Page) -> None:
        self._other_page = True

    def _note_crash(self, _page: Page) -> None:
        self._crashed = True


async def _is_there(element: Locator) -> bool:
    with suppress(Error):
        return await element.count() > 0
    return False


async def ask(element: Locator, how: str, given: object = None) -> list[str]:
    """What the elements that are there hold; nothing when the page cannot be asked."""
    with suppress(Error):
        answers: list[str] = await element.evaluate_all(how, given)
        return answers
    return []
