"""Answers the native dialogs of one browser context.

Laws of this module:

- The one dialog that was recorded is answered as it was, and nothing else ever is: any other is dismissed and told.
- A dialog is noted at once, not when a task gets its turn: the command that caused it may end before that.
- While a person works in the page every dialog is theirs; one that they left open is dismissed and told.
- What a dialog says is never looked at.
"""

import asyncio
from contextlib import suppress
from typing import Final

from playwright.async_api import BrowserContext, Dialog, Error

from surehand.core.workflow.bundle import DialogAnswer

#: The kinds of dialog that can be recorded: a prompt wants a text, and a page that is left asks for another reason.
_RECORDED: Final = frozenset({"alert", "confirm"})


class Dialogs:
    """The dialogs of one context.

    Args:
        context: Whose dialogs.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.unexpected = asyncio.Event()
        self.answered = asyncio.Event()
        self._expected: DialogAnswer | None = None
        self._answers: set[asyncio.Task[None]] = set()
        self._is_persons = False
        self._left: list[Dialog] = []
        context.on("dialog", self._note)

    def expect(self, answer: DialogAnswer | None) -> None:
        """From now on one dialog is answered so, or none with ``None``."""
        self._expected = answer
        self.answered.clear()

    def leave_to_person(self) -> None:
        """From now on a person answers them in the window."""
        self._is_persons = True

    async def take_back(self) -> None:
        """Answer them again, and forget what happened meanwhile."""
        self._is_persons = False
        self.unexpected.clear()
        self.expect(None)
        left, self._left = self._left, []
        for dialog in left:
            with suppress(Error):
                # An error: the person answered it.
                await dialog.dismiss()
                self.unexpected.set()

    def _note(self, dialog: Dialog) -> None:
        if self._is_persons:
            self._left.append(dialog)
            return
        answer, self._expected = self._expected, None
        if answer is None or dialog.type not in _RECORDED:
            answer = DialogAnswer.DISMISS
            self.unexpected.set()
        else:
            self.answered.set()
        task = asyncio.create_task(_answer(dialog, answer))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


async def _answer(dialog: Dialog, answer: DialogAnswer) -> None:
    with suppress(Error):
        await (dialog.accept() if answer is DialogAnswer.ACCEPT else dialog.dismiss())
