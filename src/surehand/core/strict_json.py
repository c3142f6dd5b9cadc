"""JSON that every reader reads in the same way.

Laws of this module:

- An object that has a name twice is refused: one reader takes the first, another the last.
- NaN and the infinities are refused: they are no JSON.
- Text that is refused is not repeated.
"""

import json
from collections.abc import Callable


def strict_json(
    text: str, *, parse_int: Callable[[str], object] = int, parse_float: Callable[[str], object] = float
) -> object:
    """The value of a text.

    Args:
        text: The text.
        parse_int: Makes an integer of its digits.
        parse_float: Makes any other number of how it is written.

    Raises:
        ValueError: It is no JSON, or not read in one way only.
        RecursionError: It is nested beyond all reason.
    """
    value: object = json.loads(
        text,
        parse_int=parse_int,
        parse_float=parse_float,
        parse_constant=_no_number,
        object_pairs_hook=_members_once,
    )
    return value


def _members_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def _no_number(_constant: str) -> object:
    raise ValueError("not a number of JSON")
