"""Has a frame tell what it shows, to a script that says what of it may be told.

Laws of this module:

- What a script tells is read into a closed class, or the page was not seen.
- The elements stay in the page: what was told is held there, and an element is a number in it.
- What is told, and to whom, is not known here.
"""

from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from playwright.async_api import Frame, JSHandle
from returns.result import Failure

from surehand.core.wire import from_wire

T = TypeVar("T")

#: Where a node is: what its frame told, and its number in that.
Place = tuple[JSHandle, int]

_HERE: Final = Path(__file__).parent


class UnseenError(Exception):
    """The page does not tell what it shows."""


@cache
def naming_script() -> str:
    """The functions of a run for elements, and those that say what an element is and how a run finds it."""
    elements, naming = ((_HERE / name).read_text(encoding="utf-8") for name in ("elements.js", "naming.js"))
    return f"const elements = ({elements})();\n{naming}"


@cache
def telling_script(parameters: str, end: Path) -> str:
    """A function for ``told_by``.

    Args:
        parameters: Its parameters.
        end: The end of its body, behind the functions for elements. It returns an object that holds the ``facts``.
    """
    return f"{parameters} => {{\n{naming_script()}\n{end.read_text(encoding='utf-8')}\n}}"


async def told_by(frame: Frame, script: str, argument: object, cls: type[T]) -> tuple[JSHandle, T]:
    """What a frame tells: the object in the page, and its facts as the ``nodes`` of a closed class.

    Raises:
        UnseenError: They are no such class.
        Error: The frame is gone.
    """
    told = await frame.evaluate_handle(script, argument)
    facts: object = await told.evaluate("told => told.facts")
    read = from_wire({"nodes": facts}, cls)
    if isinstance(read, Failure):
        raise UnseenError
    return told, read.unwrap()
