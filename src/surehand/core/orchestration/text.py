"""Named texts, and texts with ``{name}`` in them.

Laws of this module:

- A value is put in as it is and never read for names again.
- A name without a value is told, never left standing and never taken for an empty text.
- What cannot be kept is left out, and then is missing like anything else that was not found.
- No value stands in a repr.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from attrs import field, frozen
from returns.result import Failure, Result, Success

from surehand.core.schema import Items, Text, is_unicode

_NAME: Final = "[a-z][a-z0-9_]{0,39}"
_PLACE: Final = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}", re.ASCII)

#: The longest value that is kept, and the most bindings in one place.
_LONGEST: Final = 20_000
_MOST: Final = 200

Name = Annotated[str, Text(pattern=f"^{_NAME}$")]


@frozen
class Binding:
    """A name and its text."""

    name: Name
    value: Annotated[str, Text(max_length=_LONGEST)] = field(repr=False)


Bindings = Annotated[tuple[Binding, ...], Items(max_items=_MOST)]


def is_name(text: str) -> bool:
    """Whether a text is a name."""
    return re.fullmatch(_NAME, text, re.ASCII) is not None


def bound(values: Mapping[str, str]) -> tuple[Binding, ...]:
    """A mapping as bindings, in the order of their names."""
    return tuple(Binding(name, values[name]) for name in sorted(values))


def fitting(found: tuple[Binding, ...]) -> tuple[Binding, ...]:
    """What can be kept of bindings that somebody else made; a value that is too long is none, never a part of it."""
    return tuple(
        each for each in found if is_name(each.name) and len(each.value) <= _LONGEST and is_unicode(each.value)
    )[:_MOST]


def by_name(bindings: tuple[Binding, ...]) -> dict[str, str]:
    """The texts by their names; of two under one name the later."""
    return {each.name: each.value for each in bindings}


def names_in(text: str) -> frozenset[str]:
    """The names that a text asks for; ``{{name}}`` stands for itself."""
    return frozenset(found[2] for found in _PLACE.finditer(text) if found[2])


def filled(text: str, values: Mapping[str, str]) -> Result[str, frozenset[str]]:
    """The text with its values, or the names that have none."""
    missing = names_in(text) - values.keys()
    if missing:
        return Failure(frozenset(missing))
    return Success(_PLACE.sub(lambda found: values[found[2]] if found[2] else f"{{{found[1]}}}", text))


def all_filled(bindings: tuple[Binding, ...], values: Mapping[str, str]) -> Result[dict[str, str], frozenset[str]]:
    """Every binding with its values, or all names that have none."""
    texts = {each.name: filled(each.value, values) for each in bindings}
    missing = [text.failure() for text in texts.values() if isinstance(text, Failure)]
    if missing:
        return Failure(frozenset[str]().union(*missing))
    return Success({name: text.unwrap() for name, text in texts.items()})
