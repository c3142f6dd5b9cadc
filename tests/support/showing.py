"""Recording tools on a small site: an agent that calls them, a person at the page, and forms that are answered."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from attrs import define, field
from playwright.async_api import Page

from support.browser import NOTE_FORM, Site
from support.mcp_fake_service import FakeService
from surehand.core.modes import Flags, Row, choose
from surehand.shell.authoring.desk import AuthoringDesk, Screens, Studio
from surehand.shell.authoring.tools import authoring_tools
from surehand.shell.mcp.asking import Action, Ask, Form, FormAnswer, nobody_to_ask
from surehand.shell.mcp.desk import Desk
from surehand.shell.mcp.table import ToolTable

Json = dict[str, Any]

#: Asks for the app's own JSON, and shows of it how many records there are.
_FETCH: Final = (
    "<script>fetch('/api/records').then(a => a.json()).then(a => { shown.textContent = a.items.length; })</script>"
)

PATIENTS: Final = f"""<title>Title canary</title><h1>Patients canary</h1>
<table><thead><tr><th>Number</th><th>Patient</th><th></th></tr></thead>
<tr><td>SYN-1</td><td>Ada Example</td><td><a href="/new?canary=1">Add a note canary</a></td></tr>
<tr><td>SYN-2</td><td>Bob Example</td><td><a href="/other">Add a note canary</a></td></tr></table>
<p id=shown></p>{_FETCH}
"""

SAVED: Final = f"<h1>Saved</h1><p id=shown></p>{_FETCH}"


def patient_site() -> Site:
    """A site on which a note is added to the chart of a patient."""
    return Site({"/": PATIENTS, "/new": NOTE_FORM, "/saved": SAVED})


async def _silent(_waited: float, _total: float) -> None:
    """A client that did not ask for progress."""


#: What a person does with a form.
Does = Callable[[Form], FormAnswer]


@define
class Person:
    """Answers forms, one after another, and keeps what was asked."""

    answers: list[Does]
    asked: list[Form] = field(factory=list[Form])

    async def ask(self, form: Form) -> FormAnswer:
        """What the person does with a form."""
        self.asked.append(form)
        return self.answers[len(self.asked) - 1](form)


def does(answer: FormAnswer) -> Does:
    """A person who answers so, whatever is asked."""
    return lambda _form: answer


def accepts(content: Mapping[str, object] | None) -> Does:
    """A person who accepts with this content."""
    return does(FormAnswer(Action.ACCEPT, None if content is None else dict(content)))


@define
class Agent:
    """Calls the tools of one server."""

    table: ToolTable
    desk: AuthoringDesk
    said: list[Json] = field(factory=list[Json])

    async def call(self, tool: str, ask: Ask = nobody_to_ask, **arguments: object) -> Json:
        """The result of a call: its object, or its sentence under ``error``."""
        result = await self.table.call(tool, dict(arguments), _silent, ask)
        assert result is not None
        self.said.append(result)
        if result["isError"]:
            return {"error": result["content"][0]["text"]}  # type: ignore[index] # a result has content
        given: Json = result["structuredContent"]  # type: ignore[assignment] # and an object
        return given

    async def node(self, role: str, at: int = 0) -> str:
        """The id of a node of this role."""
        seen = await self.call("observe")
        return str([each for each in seen["nodes"] if each["role"] == role][at]["id"])

    async def show_note(self, text: str) -> Json:
        """Show how a note is added."""
        await self.call("start_record")
        await self.call("click", node=await self.node("link"))
        await self.call("type", node=await self.node("textbox"), text=text)
        await self.call("click", node=await self.node("button"))
        return await self.call("stop_record")

    @property
    def page(self) -> Page:
        """What the person at the computer has before them."""
        desk: Any = self.desk
        page: Page = desk._window._recorder.page  # noqa: SLF001 - the person's hands, which the tools do not have
        return page

    @property
    def heard(self) -> str:
        """Everything that was said to the agent."""
        return json.dumps(self.said)


@asynccontextmanager
async def an_agent(
    folder: Path, site: Site | None, *, screens: Screens | None = None, bundles: Path | None = None
) -> AsyncGenerator[Agent]:
    """An agent at a server with recording tools, whose window nobody needs a screen for."""
    pinned = None if site is None else site.origin
    desk = AuthoringDesk(Studio(state_folder=folder, pinned=pinned, bundles=bundles, headed=False, screens=screens))
    row = choose(Flags(authoring=True, authoring_screens=screens is not None))
    assert isinstance(row, Row)
    agent = Agent(ToolTable(row, Desk(FakeService), authoring_tools(desk)), desk)
    try:
        yield agent
    finally:
        await agent.call("halt")


def showing(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario to its end, within a bound."""
    asyncio.run(asyncio.wait_for(scenario(), 560))
