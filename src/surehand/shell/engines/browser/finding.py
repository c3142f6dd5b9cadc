"""Finds what a target means, by exact names, among what is shown.

Laws of this module:

- A selector is made anew for every use, and finds all elements that fit: whoever uses it sees that there are several.
- There is no first or n-th match, no CSS path of our own, and no second way to find something.
- Where a gate is given, nothing is found in another document, or at another address of the same one.
"""

import json
from pathlib import Path
from typing import Any, Final, Literal, assert_never

from attrs import frozen
from playwright.async_api import FrameLocator, Locator, Page, Playwright

from surehand.core.workflow.target import Constant, PageGate, Target, TargetKind, Within

#: Where something is looked for.
Place = Page | Locator | FrameLocator

_CELLS: Final[tuple[Literal["cell", "gridcell", "rowheader"], ...]] = ("cell", "gridcell", "rowheader")

_SCRIPT: Final = Path(__file__).with_name("elements.js").read_text(encoding="utf-8")

#: The selectors of ``elements.js``. They work where questions are asked, so that both know what was remembered.
_SELECTORS: Final = ("page", "shown", "caption", "dialog", "frame", "handle", "hand", "radio", "option")

#: The functions of ``elements.js`` as a page has them once anything was looked for in it.
_ELEMENTS: Final = "window[Symbol.for('surehand.elements')]"


def question(name: str) -> str:
    """A function of ``elements.js`` for the elements that a locator finds, and one argument."""
    return f"(els, arg) => {_ELEMENTS}.{name}(els, arg)"


async def register_selectors(driver: Playwright) -> None:
    """Let the driver know the selectors of ``elements.js``."""
    for name in _SELECTORS:
        find = f"(root, body) => elements.{name}(root, JSON.parse(body))"
        engine = (
            f"(() => {{ const elements = ({_ELEMENTS} ??= ({_SCRIPT})()); const find = {find};"
            " return { queryAll: find, query: (root, body) => find(root, body)[0] ?? null }; })()"
        )
        await driver.selectors.register(f"surehand_{name}", engine)


def selector(name: str, value: object = None) -> str:
    """One of our selectors."""
    return f"surehand_{name}={json.dumps(value)}"


@frozen
class Address:
    """A gate as the page is asked about it.

    Args:
        origin: The origin of the app.
        gate: What the address must be.
        began: When the one document began that is meant; ``None`` for any.
    """

    origin: str
    gate: PageGate
    began: str | None = None

    def as_json(self) -> dict[str, object]:
        """The form that ``elements.js`` takes."""
        return {
            "origin": self.origin,
            "path": self.gate.path,
            "query": [[part.name, part.value] for part in self.gate.query],
            "fragment": self.gate.fragment,
            "began": self.began,
        }


def find_at(page: Page, address: Address) -> Locator:
    """The page itself as long as it is at this address, nothing when it is not."""
    return page.locator(selector("page", address.as_json()))


def find(place: Place, target: Target, row: str | None) -> Locator:
    """All elements that the target means, among what is shown.

    Args:
        place: Where to look.
        target: What is meant; its own row is not looked at.
        row: The text of the cell that tells the row, if the target stands in one.
    """
    scope = _scope(place, target, row)
    match target.kind:
        case TargetKind.TEST_ID:
            return scope.get_by_test_id(target.name).locator(selector("shown"))
        case TargetKind.LABEL:
            return scope.get_by_label(target.name, exact=True).locator(selector("shown"))
        case TargetKind.ROLE:
            # The type of the parameter lists all roles; an unknown one matches nothing.
            role: Any = target.role
            return scope.get_by_role(role, name=target.name, exact=True)
        case TargetKind.ATTRIBUTE:
            return scope.locator(f"css=[{target.attribute}={_quoted(target.name)}]").locator(selector("shown"))
        case TargetKind.CAPTION:
            return _root(scope).locator(selector("caption", target.name))
        case _:  # pragma: no cover
            assert_never(target.kind)


def whole(page: Page) -> Locator:
    """The page as one element."""
    return page.locator(":root")


def find_target(place: Place, target: Target) -> Locator:
    """The same, in the row that the target itself names, which is a constant."""
    return find(place, target, target.row.text if isinstance(target.row, Constant) else None)


def _scope(place: Place, target: Target, row: str | None) -> Place:
    """The frame, the dialog and the row, as far as the target names them."""
    if target.frame is not None:
        place = place.frame_locator(selector("frame", target.frame))
    if target.within is Within.DIALOG:
        place = place.locator(selector("dialog"))
    return place if row is None else _row(place, row)


def _root(place: Place) -> Locator:
    return place if isinstance(place, Locator) else place.locator(":root")


def _row(place: Place, text: str) -> Locator:
    """The innermost rows of tables and items of lists that have exactly this text.

    A row has the text of a cell, or of an element in a cell that holds more, such as a button beside it.
    """
    root = _root(place)
    page = root.page
    named, held = _cells(page, text), _cells(page)
    element = page.get_by_text(text, exact=True)
    rows = root.get_by_role("row").filter(has=named.or_(held.filter(has=element)))
    items = root.get_by_role("listitem").filter(has=element)
    return rows.filter(has_not=page.get_by_role("row")).or_(items.filter(has_not=page.get_by_role("listitem")))


def _cells(page: Page, text: str | None = None) -> Locator:
    """The cells of tables; with a text, those that hold nothing else."""
    cell, grid_cell, header = (page.get_by_role(role, name=text, exact=True) for role in _CELLS)
    return cell.or_(grid_cell).or_(header)


def _quoted(text: str) -> str:
    """A CSS string."""
    escaped = "".join(f"\\{ord(sign):x} " if sign in '"\\' or ord(sign) < 0x20 else sign for sign in text)  # noqa: PLR2004
    return f'"{escaped}"'
