"""Looks at a page for an agent that shows a task, acts on what was seen, and draws it.

Laws of this module:

- What the page's script tells is read into closed classes, or it is no page; no text of the page is among them.
- An act is on the very element that was seen. One that is gone, covered or disabled is not acted on.
- A drawing is made of places and roles alone, in a browser context that has never seen the page.
"""

from html import escape
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from playwright.async_api import ElementHandle, Error, Frame, Page

from surehand.core.authoring import Projection, Role, SeenNode, SeenPage
from surehand.core.workflow.recording import Control
from surehand.shell.engines.browser.telling import Place, UnseenError, telling_script, told_by

#: Nodes that one frame may tell.
_MOST_IN_FRAME: Final = 2_000

#: Milliseconds that an element may take until it can be acted on.
_ACT_MS: Final = 10_000

_ALL: Final = "ControlOrMeta+a"


#: Tells the nodes of a frame, without any text of theirs.
_TELLING: Final = Path(__file__).with_name("observing.js")


@frozen
class View:
    """What was seen: the nodes, and where in the page each of them is."""

    page: SeenPage
    places: tuple[Place, ...]

    @classmethod
    def empty(cls) -> "View":
        """Nothing was seen yet."""
        return cls(SeenPage(()), ())

    async def element(self, number: int) -> ElementHandle:
        """The element of a node.

        Raises:
            Error: It cannot be reached any more.
        """
        told, at = self.places[number]
        element = (await told.evaluate_handle("(told, at) => told.nodes[at]", at)).as_element()
        if element is None:
            raise UnseenError
        return element

    async def forget(self) -> None:
        """Let go of the page's elements."""
        for told in dict.fromkeys(told for told, _ in self.places):
            try:
                await told.dispose()
            except Error:
                continue


async def look(page: Page) -> View:
    """What is on the page now.

    Raises:
        UnseenError: The page does not tell it.
        Error: The page is gone.
    """
    nodes: list[SeenNode] = []
    places: list[Place] = []
    roles, controls = [role.value for role in Role], [control.value for control in Control]
    script = telling_script("([roles, controls, most])", _TELLING)
    for frame in page.frames:
        told, seen = await told_by(frame, script, [roles, controls, _MOST_IN_FRAME], SeenPage)
        left, top = await _place_of(frame)
        start = len(nodes)
        nodes += [_moved(node, start, left, top) for node in seen.nodes]
        places += [(told, at) for at in range(len(seen.nodes))]
    return View(SeenPage(tuple(nodes)), tuple(places))


async def _place_of(frame: Frame) -> tuple[int, int]:
    if frame.parent_frame is None:
        return 0, 0
    box = await (await frame.frame_element()).bounding_box()
    return (0, 0) if box is None else (int(box["x"]), int(box["y"]))


def _moved(node: SeenNode, start: int, left: int, top: int) -> SeenNode:
    """The node as one of the whole page."""
    parent = None if node.parent is None else node.parent + start
    return evolve(node, parent=parent, left=node.left + left, top=node.top + top)


async def click(element: ElementHandle) -> None:
    """Click an element.

    Raises:
        Error: It is gone, covered or disabled.
    """
    await element.click(timeout=_ACT_MS)


async def enter(page: Page, element: ElementHandle, control: Control | None, text: str) -> None:
    """Enter a text into a field as a person would, or choose the option of this name.

    Raises:
        Error: It is gone, covered or disabled, or has no such option.
    """
    if control is Control.SELECT:
        await element.select_option(label=text, timeout=_ACT_MS)
    elif control is Control.DATE:
        await element.fill(text, timeout=_ACT_MS)
    else:
        await element.click(timeout=_ACT_MS)
        await page.keyboard.press(_ALL)
        await page.keyboard.press("Delete")
        await page.keyboard.type(text)


async def picture(page: Page) -> bytes:
    """The page as it looks, as a PNG in the pixels of the page.

    Raises:
        Error: The page is gone.
    """
    return await page.screenshot(type="png", scale="css", timeout=_ACT_MS)


async def drawing(page: Page, view: View, projection: Projection) -> bytes:
    """Where the nodes are, each with its id and role, as a PNG in the pixels of the page.

    Raises:
        Error: The browser is gone.
    """
    browser = page.context.browser
    size: Any = page.viewport_size
    if browser is None or size is None:
        raise UnseenError
    context = await browser.new_context(viewport=size, java_script_enabled=False, offline=True)
    try:
        blank = await context.new_page()
        await blank.set_content(_drawn(view.page, projection))
        return await blank.screenshot(type="png", scale="css", timeout=_ACT_MS)
    finally:
        await context.close()


def _drawn(seen: SeenPage, projection: Projection) -> str:
    boxes = (_box(node.id, seen.nodes[projection.numbers[node.id]]) for node in projection.observation.nodes)
    style = "position:absolute;box-sizing:border-box;border:1px solid #000;font:9px monospace;overflow:hidden"
    return f"<style>div{{{style}}}</style>{''.join(boxes)}"


def _box(name: str, node: SeenNode) -> str:
    place = f"left:{node.left}px;top:{node.top}px;width:{node.width}px;height:{node.height}px"
    return f'<div style="{place}">{escape(name)} {node.role.value}</div>'
