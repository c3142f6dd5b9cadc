"""Performs commands on one page of one fresh browser context.

Laws of this module:

- Nothing is kept between two commands but the page itself: every target is found anew at the moment of the action,
  by exact names, among what is shown.
- What acts, acts on the page that its gate saw: on one that came in between, it finds nothing.
- A library's exception says only of which type it is. What the page looks like is then asked of the page, in closed
  terms.
- Only ``save`` may let a write out, and what it answers is what the fence measured.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, assert_never

from playwright.async_api import Error, Page

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.bundle import ChoiceControl, Entry
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Check,
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
from surehand.core.workflow.target import Target
from surehand.shell.engines.browser.acting import Action, Hand, milliseconds_to_type
from surehand.shell.engines.browser.viewing import HELD, Limits, View
from surehand.shell.fence.client import FenceRun, FenceUnavailableError

#: The commands that need the page.
PageCommand = Open | CheckPage | ReadTexts | Fill | Choose | Check | ReadValue | Click | Save

#: What they are answered with.
PageObservation = Done | Texts | Fault | SaveObserved

#: The question of ``elements.js`` that says what a control holds.
_HOLDS: Final = {
    None: "values",
    ChoiceControl.SELECT: "values",
    ChoiceControl.RADIO: "chosenRadio",
    ChoiceControl.LIST: "choices",
}

#: A page has run what it runs upon an answer once this has ended.
_BEAT: Final = "() => new Promise(done => setTimeout(done, 10))"


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
        self._view = View(page, origin, limits, gives_up)
        self._hand = Hand(self._view)
        self._fence = fence
        self._on_boundary = on_boundary
        self._asked = asyncio.Event()
        self._boundary = BoundaryAnswer.NOT_ASKED
        self._stopped_before = 0

    @property
    def address(self) -> str:
        """Where the page is."""
        return self._view.page.url

    @property
    def is_gone(self) -> bool:
        """Whether the page, or its browser, is closed or broken."""
        return self._view.is_broken

    async def picture(self) -> bytes | None:
        """The page as it looks now, as PNG; ``None`` when it cannot be had."""
        with suppress(Error):
            return await self._view.page.screenshot(timeout=self._view.limits.wait_ms)
        return None

    async def hand_over(self) -> None:
        """Let a person work in the page. The fence stays closed."""
        await self._view.hand_over()

    async def take_back(self) -> None:
        """Go on with the page as the person left it.

        Raises:
            FenceUnavailableError: The fence is gone.
        """
        # What a person tried to write was stopped, and says nothing about the run.
        self._stopped_before = (await self._fence.counts()).stopped_writes
        self._view.traffic.forget()
        await self._view.take_back()

    async def show(self) -> None:
        """Bring the window to the front."""
        with suppress(Error):
            await self._view.page.bring_to_front()

    async def perform(self, command: PageCommand) -> PageObservation:
        """Perform one command. Never raises for what the page, the browser or the fence did."""
        try:
            async with asyncio.timeout(self._hang_ms(command) / 1000):
                observation = await self._perform(command)
        except Error:
            observation = Fault(FaultKind.PAGE_UNEXPECTED)
        except (FenceUnavailableError, TimeoutError):
            # The fence is gone, or the browser hangs: nothing that it could still say is waited for.
            observation = Fault(FaultKind.ENGINE_BROKEN)
        if isinstance(observation, Fault) and self._view.is_broken:
            return Fault(FaultKind.ENGINE_BROKEN)
        return observation

    def _hang_ms(self, command: PageCommand) -> int:
        match command:
            case Fill(text=text, entry=Entry.TYPE):
                return self._view.limits.hang_ms + milliseconds_to_type(text)
            case _:
                return self._view.limits.hang_ms

    async def _perform(self, command: PageCommand) -> PageObservation:
        view = self._view
        match command:
            case Save():
                return await self._save(command)
            case Open(path=path):
                self._view.traffic.forget()
                await view.open(path)
                return _answer(view.surprise())
            case CheckPage(gate=gate):
                kind = await view.wait_for(gate)
                if kind is None and not self._view.traffic.is_quiet:
                    await self._rest()
                    kind = await view.wait_for(gate)
                return _answer(kind or await self._early_write() or view.surprise())
            case ReadTexts(targets=targets, rows=rows):
                given = [_known_as("values", *each) for each in zip(targets, rows, strict=True)]
                seen = await view.read(tuple(map(view.find_here, targets, rows)), HELD, given)
                return Fault(seen) if isinstance(seen, FaultKind) else Texts(seen)
            case ReadValue(target=target, row=row, control=control):
                given = [_known_as(_HOLDS[control], target, row)]
                seen = await view.read((view.find_anywhere(target, row),), HELD, given)
                return Fault(seen) if isinstance(seen, FaultKind) else Texts(seen)
            case Fill() | Choose() | Check() | Click():
                return await self._act(command)
            case _:  # pragma: no cover
                assert_never(command)

    # Acting

    async def _act(self, command: Action) -> Done | Fault:
        kind = await self._view.wait_for_any(self._view.find_here(command.target, command.row))
        answer = command.dialog if isinstance(command, Click) else None
        self._view.dialogs.expect(answer)
        self._view.traffic.forget()
        kind = kind or await self._hand.act(command)
        if answer is not None and kind is None and self._view.surprise() is None:
            kind = await self._dialog_missing()
        await self._rest()
        self._view.dialogs.expect(None)
        return _answer(await self._early_write() or self._view.surprise() or kind)

    async def _rest(self) -> None:
        """Wait, within a bound, until what the page asks its server is answered, and it has done what it does then.

        An answer may give a form anew, and with it take back what is entered meanwhile. What has no end is waited for
        once.
        """
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(self._view.limits.rest_ms / 1000):
                while not self._view.traffic.is_quiet:
                    await self._view.traffic.quiet()
                    await self._view.page.evaluate(_BEAT)
        self._view.traffic.forget()

    async def _dialog_missing(self) -> FaultKind | None:
        """Wait for the dialog that was recorded."""
        try:
            await asyncio.wait_for(self._view.dialogs.answered.wait(), self._view.limits.wait_ms / 1000)
        except TimeoutError:
            return FaultKind.PAGE_UNEXPECTED
        return None

    async def _early_write(self) -> FaultKind | None:
        """Whether the page tried to write before the save. The fence stopped it; the run stops too."""
        counts = await self._fence.counts()
        return FaultKind.EARLY_WRITE_STOPPED if counts.stopped_writes > self._stopped_before else None

    # Saving

    async def _save(self, command: Save) -> SaveObserved:
        """One armed write at the most. What the click says about itself is not asked."""
        try:
            await self._fence.arm(command.route, self._pass_boundary)
        except FenceUnavailableError:
            # A fence that was never armed has let nothing out.
            return SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)
        dialogs = self._view.dialogs
        dialogs.expect(command.dialog)
        self._view.traffic.forget()
        click = asyncio.create_task(self._click_to_save(command))
        await self._write_begun(click)
        verdict = await self._fence.settle(self._view.limits.answer_ms if self._asked.is_set() else 0)
        if verdict.delivery is not Delivery.NOT_SENT:
            await self._let_the_page_react(click)
        click.cancel()
        surprised = dialogs.unexpected.is_set()
        return SaveObserved(
            verdict.delivery, verdict.stopped_writes, surprised, verdict.refused, boundary=self._boundary
        )

    async def _pass_boundary(self) -> bool:
        # An answer that does not come in time counts as a refusal: the fence is spent by then.
        self._boundary = BoundaryAnswer.REFUSED
        self._asked.set()
        self._boundary = await self._on_boundary()
        return self._boundary is BoundaryAnswer.GRANTED

    async def _click_to_save(self, command: Save) -> bool:
        with suppress(Error):
            return await self._hand.act(Click(command.target, command.row)) is None
        return False

    async def _write_begun(self, click: asyncio.Task[bool]) -> None:
        """Wait until the write reaches the fence, or a dialog holds it back, or it is too late for it."""
        signs = {asyncio.create_task(event.wait()) for event in (self._asked, self._view.dialogs.unexpected)}
        await asyncio.wait({click, *signs}, return_when=asyncio.FIRST_COMPLETED)
        if click.done() and click.result():
            seconds = self._view.limits.write_ms / 1000
            await asyncio.wait(signs, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for sign in signs:
            sign.cancel()

    async def _let_the_page_react(self, click: asyncio.Task[bool]) -> None:
        """Give the page a moment to show a dialog upon the answer.

        The answer has reached the page, what it sets off has happened, and the page has run what it runs then.
        """
        page, traffic = self._view.page, self._view.traffic
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(self._view.limits.react_ms / 1000):
                await asyncio.shield(click)
                while not traffic.is_over:
                    await traffic.over()
                    await page.wait_for_load_state("domcontentloaded")
                    await page.evaluate(_BEAT)


def _known_as(how: str, target: Target, row: str | None) -> dict[str, str]:
    """What is asked of a field, and what it is remembered as: also hidden later, it is read on."""
    return {"how": how, "key": repr((target, row))}


def _answer(kind: FaultKind | None) -> Done | Fault:
    return Done() if kind is None else Fault(kind)
