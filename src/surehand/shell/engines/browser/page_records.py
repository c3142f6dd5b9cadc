"""Reads records from the app's own pages, each read in a fresh browser context that has the session and nothing else.

Laws of this module:

- A read never touches the page that saves, and shows nothing of it: no cache, no storage, no memory.
- Its port of the fence is never armed: whatever a page that is only looked at tries to write, is held back.
- A list counts as all that there is, and a field as what it holds, only when the page has come to rest and goes on
  showing the same: for a while, and in several looks, since a page that is busy answers few of them.
- A page that the app answers with "not found" is a record that is not there. Any other page that is not the right one
  is no answer.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final
from urllib.parse import parse_qsl

from attrs import evolve, frozen
from playwright.async_api import Error, Page

from surehand.core.workflow.commands import FaultKind, Record, Records
from surehand.core.workflow.source import PageField, PageRecords, RecordPage
from surehand.core.workflow.target import Constant, PageGate, QueryPart
from surehand.shell.engines.browser.readback import UnusableAnswerError, new_keys, told_apart
from surehand.shell.engines.browser.viewing import LOOK_AGAIN, VALUES, Limits, View, ask
from surehand.shell.fence.client import FenceUnavailableError

_GONE: Final = frozenset({404, 410})
_WELL: Final = frozenset({0, 200, 304})

#: The key under which the one record of a page is told.
THE_RECORD: Final = "the record"

#: How often a page must show the same before it counts as at rest.
_LEAST_LOOKS: Final = 5

#: Opens a page in a fresh context, for as long as it is looked at.
OpenPage = Callable[[], AbstractAsyncContextManager[Page]]


@frozen
class PageReader:
    """Reads pages of the app of one run.

    Args:
        open_page: Gives a page in a fresh context with the session.
        origin: The origin of the app.
        limits: How long to wait.
    """

    open_page: OpenPage
    origin: str
    limits: Limits

    async def read(self, source: PageRecords | RecordPage, old: frozenset[str] | None, deadline: float) -> Records:
        """As the protocol says."""
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + deadline - time.monotonic()):
                async with self._view(deadline) as view:
                    if isinstance(source, RecordPage):
                        return await self._one(view, source)
                    return await self._list(view, source, old)
        except (Error, TimeoutError, FenceUnavailableError):
            raise UnusableAnswerError from None

    @asynccontextmanager
    async def _view(self, deadline: float) -> AsyncGenerator[View]:
        async with self.open_page() as page:
            # A page that is still drawn on a busy machine is not another one: only the end of the read ends the wait.
            patient = evolve(self.limits, wait_ms=self.limits.pages_ms)
            yield View(page, self.origin, patient, lambda: time.monotonic() > deadline)

    async def _one(self, view: View, source: RecordPage) -> Records:
        members = await self._record(view, source.path, source.record, source.fields)
        return Records(() if members is None else (Record(THE_RECORD, members),))

    async def _list(self, view: View, source: PageRecords, old: frozenset[str] | None) -> Records:
        keys = await self._keys(view, source)
        read = {key: await self._linked(view, source, key) for key in new_keys(keys, old)}
        return told_apart(tuple(Record(key, read.get(key)) for key in keys))

    async def _keys(self, view: View, source: PageRecords) -> tuple[str, ...]:
        """The keys that the list shows once it is at rest."""
        path, _, query = source.path.partition("?")
        wanted = tuple(QueryPart(name, value) for name, value in parse_qsl(query, keep_blank_values=True))
        if await self._open(view, source.path) not in _WELL:
            raise UnusableAnswerError
        await self._arrive(view, PageGate(path, source.landmark, wanted))
        shown = await self._at_rest(view)
        link = _pattern(source.link)
        return tuple(dict.fromkeys(found[1] for found in map(link.fullmatch, shown.links) if found))

    async def _linked(self, view: View, source: PageRecords, key: str) -> Mapping[str, str]:
        members = await self._record(view, source.link.replace("*", key), source.record, source.fields)
        if members is None:
            # The list shows a record that is not there.
            raise UnusableAnswerError
        return members

    async def _record(
        self, view: View, path: str, gate: PageGate, fields: tuple[PageField, ...]
    ) -> Mapping[str, str] | None:
        """What the page of one record shows; ``None`` when the app says that there is none."""
        status = await self._open(view, path)
        if status in _GONE:
            return None
        if status not in _WELL:
            raise UnusableAnswerError
        await self._arrive(view, gate)
        shown = await self._at_rest(view, fields)
        if any(len(texts) > 1 for texts in shown.fields):
            raise UnusableAnswerError
        return {field.name: texts[0] for field, texts in zip(fields, shown.fields, strict=True) if texts}

    async def _open(self, view: View, path: str) -> int:
        return await view.open(path)

    async def _arrive(self, view: View, gate: PageGate) -> None:
        if isinstance(await view.wait_for(gate), FaultKind):
            raise UnusableAnswerError

    async def _at_rest(self, view: View, fields: tuple[PageField, ...] = ()) -> "_Shown":
        """What a page shows once nothing is on its way and it goes on showing the same."""
        before = await _shown(view, fields)
        since, looks = time.monotonic(), 1
        while (
            not view.traffic.is_quiet or looks < _LEAST_LOOKS or time.monotonic() - since < self.limits.quiet_ms / 1000
        ):
            await asyncio.sleep(LOOK_AGAIN)
            now = await _shown(view, fields)
            looks += 1
            if now != before or not view.traffic.is_quiet:
                since, looks, before = time.monotonic(), 1, now
        return before


@frozen
class _Shown:
    """What a page shows at one look: where its links lead, and what each field holds, several when it is there so."""

    links: tuple[str, ...]
    fields: list[list[str]]


async def _shown(view: View, fields: tuple[PageField, ...]) -> _Shown:
    rows = (field.target.row for field in fields)
    texts = (row.text if isinstance(row, Constant) else None for row in rows)
    found = (view.find_here(field.target, text) for field, text in zip(fields, texts, strict=True))
    return _Shown(await view.links(), await asyncio.gather(*(ask(element, VALUES) for element in found)))


def _pattern(template: str) -> re.Pattern[str]:
    """A link of this template; its query counts only where the template has one."""
    before, _, after = template.partition("*")
    query = "" if "?" in template else r"(?:\?[^#]*)?"
    return re.compile(rf"{re.escape(before)}([^/?&#]+){re.escape(after)}{query}")
