"""Answers the native dialogs of one browser context.

Laws of this module:

- The one dialog that was recorded is answered as it was, and nothing else ever is: any other is dismissed and told.
- A dialog is noted at once, not when a task gets its turn: the command that caused it may end before that.
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
        context.on("dialog", self._note)

    def expect(self, answer: DialogAnswer | None) -> None:
        """From now on one dialog is answered so, or none with ``None``."""
        self._expected = answer
        self.answered.clear()

    def _note(self, dialog: Dialog) -> None:
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
