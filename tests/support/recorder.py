"""Demonstrations of a test: a person's mouse and keyboard at a small site, and the recording of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from playwright.async_api import Page

from support.browser import Site
from surehand.core.workflow.recording import Action, Candidate, Clicked, Entered, Recording
from surehand.core.workflow.target import Constant, Target, TargetKind, Within
from surehand.shell.authoring.recorder import Recorder

A = TypeVar("A")

#: What a person does.
Acts = Callable[[Page], Awaitable[object]]


def recorded(site: Site, html: str, acts: Acts, *, session: str | None = None) -> Recording:
    """The recording of what is done on a page with this content."""
    site.pages["/page"] = html

    async def demonstrate() -> Recording:
        async with Recorder.open(f"{site.origin}/page", headed=False, session=session) as recorder:
            await acts(recorder.page)
            return await recorder.stop()

    return asyncio.run(demonstrate())


def done(recording: Recording) -> list[Action]:
    """Everything that was done after the page was opened."""
    return [event.action for event in recording.events][1:]


def only(recording: Recording, kind: type[A]) -> A:
    """The one action of this kind."""
    found = [action for action in done(recording) if isinstance(action, kind)]
    assert len(found) == 1, [type(action).__name__ for action in done(recording)]
    return found[0]


def kinds(recording: Recording) -> list[str]:
    """The kinds of what was done, in order."""
    return [type(action).__name__ for action in done(recording)]


def values(recording: Recording) -> list[str]:
    """What was entered, in order."""
    return [action.value for action in done(recording) if isinstance(action, Entered)]


def clicked(recording: Recording) -> list[str]:
    """The captions of what was clicked, in order."""
    return [action.facts.caption for action in done(recording) if isinstance(action, Clicked)]


def unique(candidates: tuple[Candidate, ...]) -> set[Target]:
    """The targets that mean one element."""
    return {candidate.target for candidate in candidates if candidate.matches == 1}


def by_role(role: str, name: str, *, row: str | None = None, within: Within | None = None) -> Target:
    """A target by its role and name."""
    bound = None if row is None else Constant(row)
    return Target(TargetKind.ROLE, name, role, row=bound, within=within)


def by_attribute(attribute: str, value: str) -> Target:
    """A target by an attribute."""
    return Target(TargetKind.ATTRIBUTE, value, attribute=attribute)


def by_caption(text: str) -> Target:
    """A target by the text beside it."""
    return Target(TargetKind.CAPTION, text)
