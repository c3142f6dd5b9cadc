"""Looks at a page for whoever works on a goal there, and finds the nodes that were seen again.

Laws of this module:

- What the page's script tells is read into closed classes, or the page was not seen.
- A node is read where it was seen. To be acted on, it is found by an exact name that fits it alone, as in any run.
- Nothing that hides what is typed into it is seen, and no more than a planner is shown.
"""

from pathlib import Path
from typing import Annotated, Any, Final

from attrs import field, frozen
from playwright.async_api import Error, Page
from returns.result import Failure

from surehand.core.orchestration.goals import MAX_NODES, MAX_TEXT, Node, Observation
from surehand.core.schema import Items, Text
from surehand.core.wire import from_wire
from surehand.core.workflow.bundle import ChoiceControl
from surehand.core.workflow.commands import Fault, FaultKind, Texts
from surehand.core.workflow.target import Target
from surehand.shell.engines.browser.telling import Place, telling_script, told_by

#: Tells the nodes of a frame, with what they are called and hold, and finds them again.
_TELLING: Final = Path(__file__).with_name("looking.js")


@frozen
class Way:
    """How a node is found: its one target, if there is one, and how something is chosen there."""

    control: ChoiceControl
    matches: int
    target: Target | None = None


@frozen
class _Fact:
    role: Annotated[str, Text(pattern="^[a-z]{1,30}$")]
    name: Annotated[str, Text(max_length=200)] = field(repr=False)
    value: Annotated[str, Text(max_length=MAX_TEXT)] = field(repr=False)
    is_listed: bool


@frozen
class _Told:
    nodes: Annotated[tuple[_Fact, ...], Items(max_items=MAX_NODES)]


@frozen
class _Values:
    values: tuple[str, ...] = field(repr=False)


@frozen
class Sight:
    """What was seen, and where in the page each node is."""

    observation: Observation = field(repr=False)
    places: tuple[Place, ...] = ()

    async def way(self, node: str) -> Way | Fault:
        """How a node is found now."""
        answer = await self._asked(node, "wayTo")
        read = from_wire(answer, Way)
        if isinstance(read, Failure):
            return Fault(FaultKind.TARGET_MISSING)
        way = read.unwrap()
        if way.target is None:
            return Fault(FaultKind.TARGET_NOT_UNIQUE if way.matches else FaultKind.TARGET_MISSING)
        return way

    async def text(self, node: str) -> Texts | Fault:
        """What a node holds or shows now."""
        answer = await self._asked(node, "valueOf")
        read = from_wire({"values": answer}, _Values)
        values = () if isinstance(read, Failure) else read.unwrap().values
        return Texts(values) if values else Fault(FaultKind.TARGET_MISSING)

    async def _asked(self, node: str, question: str) -> Any:  # noqa: ANN401 - parsed JSON
        told, at = self.places[int(node[1:])]
        try:
            return await told.evaluate(f"(told, at) => told.{question}(at)", at)
        except Error:
            # The page is another one by now.
            return None


#: Nothing was seen yet.
NOTHING: Final = Sight(Observation(()))


async def look(page: Page) -> Sight:
    """What is on the page now.

    Raises:
        UnseenError: The page does not tell it.
        Error: The page is gone.
    """
    nodes: list[Node] = []
    places: list[Place] = []
    for frame in page.frames:
        told, seen = await told_by(frame, telling_script("most", _TELLING), MAX_NODES, _Told)
        for at, fact in enumerate(seen.nodes):
            nodes.append(Node(f"n{len(nodes)}", fact.role, fact.name, fact.value, fact.is_listed))
            places.append((told, at))
    return Sight(Observation(tuple(nodes[:MAX_NODES]), is_whole=len(nodes) < MAX_NODES), tuple(places))
