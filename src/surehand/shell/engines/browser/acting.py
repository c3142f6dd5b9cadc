"""Enters, chooses, checks and clicks, on the elements of one page.

Laws of this module:

- What acts, acts in the very document and at the very address that the page's gate saw. An event that comes too late
  for that is held back in the page itself.
- There is no forced click, no click at a place, and no option that was not named exactly.
- What a field then holds is not judged here: a widget that rewrites what was entered is found out by whoever reads it.
"""

import asyncio
import time
from typing import Final, assert_never

from attrs import frozen
from playwright.async_api import Error, Locator

from surehand.core.workflow.bundle import ChoiceControl, Entry, Key
from surehand.core.workflow.commands import Check, Choose, Click, FaultKind, Fill
from surehand.shell.engines.browser.finding import question, selector, whole
from surehand.shell.engines.browser.traffic import Traffic
from surehand.shell.engines.browser.viewing import LOOK_AGAIN, STATES, View, ask

_OPTION_LABELS: Final = question("optionLabels")
_GUARD: Final = question("guard")
_LEAVE: Final = question("leave")
_IS_LINE: Final = question("isLine")
_HOLDS_FOCUS: Final = question("holdsFocus")
_REMEMBER: Final = question("remember")
_TYPING: Final = question("typing")

_KEYS: Final = {Key.ENTER: "Enter", Key.TAB: "Tab", Key.ESCAPE: "Escape"}

#: Seconds during which a list must show the same before an option is taken from it.
_SETTLED: Final = 0.1
#: Seconds after which a request that has no end does not hinder that any more.
_ENDLESS: Final = 1.0

Action = Fill | Choose | Check | Click


@frozen
class Hand:
    """Acts on one page.

    Args:
        view: The page.
    """

    view: View

    async def act(self, command: Action) -> FaultKind | None:
        """Perform one command; why it was not possible, if it was not."""
        element = self.view.find_here(command.target, command.row)
        self.view.is_guarded = self.view.is_guarded and command.target.frame is None
        match command:
            case Fill():
                return await self._fill(command, element)
            case Choose():
                return await self._choose(command, element)
            case Check(checked=checked):
                return await self._set(element, checked=checked)
            case Click():
                return await self._click(element)
            case _:  # pragma: no cover
                assert_never(command)

    async def _click(self, element: Locator) -> FaultKind | None:
        try:
            await self._guard(element)
            await element.locator(selector("hand")).click(timeout=self.view.limits.wait_ms)
        except Error:
            return await self.view.why(element)
        return None

    async def _guard(self, element: Locator, last: str | None = None) -> None:
        """Let nothing reach the page once it is another one, until a click or the last key has reached it."""
        is_guarded, self.view.is_guarded = self.view.is_guarded and last is None, False
        if self.view.gate is not None and not is_guarded:
            await element.evaluate_all(_GUARD, {"gate": self.view.gate, "last": last})

    # Texts

    async def _fill(self, command: Fill, element: Locator) -> FaultKind | None:
        last = None if command.then is None else _KEYS[command.then]
        try:
            await self._guard(element, last)
            if command.entry is Entry.REPLACE:
                await element.fill(command.text, timeout=self.view.limits.wait_ms)
            elif kind := await self._type(command.text, element):
                return kind
            if last is not None:
                await element.press(last, timeout=self.view.limits.wait_ms)
            # Leaving without a key: Tab would take a suggestion in some lists and enter the next field in all.
            await element.evaluate_all(_LEAVE)
        except Error:
            return await self.view.why(element)
        return None

    async def _type(self, text: str, element: Locator) -> FaultKind | None:
        """Empty the field and write key by key, as long as the keys reach this field."""
        limit = self.view.limits.wait_ms
        # Ready as for a click, but not clicked: that could open something.
        await element.click(trial=True, timeout=limit)
        if "\n" in text and await element.evaluate_all(_IS_LINE):
            # In a field of one line it would be the key that sends the form.
            return FaultKind.PAGE_UNEXPECTED
        await element.focus(timeout=limit)
        await element.press("ControlOrMeta+a", timeout=limit)
        await element.press("Delete", timeout=limit)
        await element.press_sequentially(text, timeout=limit + milliseconds_to_type(text))
        return None if await element.evaluate_all(_HOLDS_FOCUS) else FaultKind.PAGE_UNEXPECTED

    # Options

    async def _choose(self, command: Choose, element: Locator) -> FaultKind | None:
        match command.control:
            case ChoiceControl.SELECT:
                return await self._select(command.label, element)
            case ChoiceControl.RADIO:
                radio = element.locator(selector("radio", command.label))
                kind = await self._one(radio, FaultKind.OPTION_MISSING)
                if kind is FaultKind.OPTION_MISSING and not await element.count():
                    return await self.view.why(element)
                return kind or await self._set(radio, checked=True)
            case ChoiceControl.LIST:
                return await self._choose_from_list(command, element)
            case _:  # pragma: no cover
                assert_never(command.control)

    async def _select(self, label: str, element: Locator) -> FaultKind | None:
        try:
            if kind := await self._one_option(element, label):
                return kind
            await self._guard(element)
            await element.select_option(label=label, timeout=self.view.limits.wait_ms)
            await element.evaluate_all(_LEAVE)
        except Error:
            return await self.view.why(element)
        return None

    async def _one_option(self, element: Locator, label: str) -> FaultKind | None:
        """Wait for the one list that has exactly one option with this label."""
        deadline = self.view.deadline()
        while True:
            lists: list[list[str] | None] = await element.evaluate_all(_OPTION_LABELS)
            kind = _choice_fault(lists, label)
            if kind is None or kind is FaultKind.TARGET_NOT_UNIQUE:
                return kind
            if self.view.is_over(deadline):
                return await self.view.why(element) if kind is FaultKind.TARGET_MISSING else kind
            await asyncio.sleep(LOOK_AGAIN)

    async def _choose_from_list(self, command: Choose, opener: Locator) -> FaultKind | None:
        page = self.view.page
        await whole(page).evaluate_all(_REMEMBER, command.label)
        if kind := await self._click(opener):
            return kind
        if command.search is not None:
            if not await self._may_type():
                return FaultKind.PAGE_UNEXPECTED
            await self._guard(opener)
            await page.keyboard.press("ControlOrMeta+a")
            await page.keyboard.type(command.search)
        option = self.view.here().locator(selector("option", command.label))
        if kind := await self._one(option, FaultKind.OPTION_MISSING, self.view.traffic):
            return kind
        return await self._click(option)

    async def _may_type(self) -> bool:
        """Wait until something that takes a text has the focus."""
        deadline = self.view.deadline()
        while not await whole(self.view.page).evaluate_all(_TYPING):
            if self.view.is_over(deadline):
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return True

    async def _one(self, elements: Locator, missing: FaultKind, traffic: Traffic | None = None) -> FaultKind | None:
        """Wait for exactly one; where options arrive by themselves, for one that stays alone once all are there."""
        deadline = self.view.deadline()
        begun = since = time.monotonic()
        before = -1
        while True:
            count = await elements.count()
            now = time.monotonic()
            since = since if count == before else now
            before = count
            if count == 1 and _is_settled(traffic, now - since, now - begun):
                return None
            if self.view.is_over(deadline):
                return FaultKind.TARGET_NOT_UNIQUE if count else missing
            await asyncio.sleep(LOOK_AGAIN)

    # Boxes

    async def _set(self, box: Locator, *, checked: bool) -> FaultKind | None:
        """Click a box that is not what it should be, and wait until it is, or is not going to be."""
        wanted = "true" if checked else "false"
        seen = await self.view.read((box,), STATES)
        if isinstance(seen, FaultKind):
            return await self.view.why(box) if seen is FaultKind.TARGET_MISSING else seen
        if seen == (wanted,):
            return None
        if seen[0] not in {"true", "false", "mixed"}:
            return FaultKind.PAGE_UNEXPECTED
        if kind := await self._click(box.locator(selector("handle"))):
            return kind
        await self._until(box, wanted)
        return None

    async def _until(self, box: Locator, wanted: str) -> None:
        deadline = self.view.deadline()
        while True:
            if await ask(box, STATES) == [wanted] or self.view.is_over(deadline):
                return
            await asyncio.sleep(LOOK_AGAIN)


def milliseconds_to_type(text: str) -> int:
    """How long a text may take to be typed key by key, on a busy machine."""
    return 100 * len(text)


def _is_settled(traffic: Traffic | None, same: float, waited: float) -> bool:
    if traffic is None:
        return True
    return same >= _SETTLED and (traffic.is_quiet or waited >= _ENDLESS)


def _choice_fault(lists: list[list[str] | None], label: str) -> FaultKind | None:
    if len(lists) > 1:
        return FaultKind.TARGET_NOT_UNIQUE
    if not lists:
        return FaultKind.TARGET_MISSING
    # Something that is no list of options has none.
    fitting = (lists[0] or []).count(label)
    if fitting == 0:
        return FaultKind.OPTION_MISSING
    return None if fitting == 1 else FaultKind.TARGET_NOT_UNIQUE
