"""Targets: the first way to find an element that was exact in every recording and holds no value.

Laws of this module:

- A target is one that matched exactly once in every recording; of radio buttons, exactly their group.
- A row, and a name that holds the text of one, are bound to the input that stands for that text.
- A target that holds a value in any other way is none.
"""

import re
from collections.abc import Iterator

from attrs import evolve, field, frozen

from surehand.core.workflow.compiler.texts import KnownTexts
from surehand.core.workflow.recording import Candidates
from surehand.core.workflow.target import Constant, FromInput, Target, TargetKind

#: Stands for a brace that is no place of an input: such a name is no structure that a template can hold.
_BRACE = re.compile("[{}]")


#: Attributes whose values programmers gave, and no data.
_PROGRAMMED = frozenset({"name", "id", "formcontrolname", "class", "type"})


@frozen
class Texts:
    """The texts of one recording that no target may hold, and those among them that have a name.

    Names are of slots, or of the cells of a row. ``programmed`` are looked for in the names that programmers gave.
    """

    known: KnownTexts
    names: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    programmed: KnownTexts | None = None

    def name_of(self, text: str) -> str | None:
        """The name of exactly this text."""
        return next((name for each, name in self.names if each == text), None)


def common(candidates: tuple[Candidates, ...], texts: tuple[Texts, ...]) -> tuple[Target, ...]:
    """The targets that were exact in every recording, best first; classes last, since they are states more often."""
    usable = [list(_usable(each, known)) for each, known in zip(candidates, texts, strict=True)]
    shared = set[Target](usable[0]).intersection(*usable[1:])
    found = dict.fromkeys(target for target in usable[0] if target in shared)
    return tuple(sorted(found, key=lambda target: target.attribute == "class"))


def _usable(candidates: Candidates, texts: Texts) -> Iterator[Target]:
    for candidate in candidates:
        target = bound(candidate.target, texts) if candidate.matches == 1 else None
        if target is not None:
            yield target


def bound(target: Target, texts: Texts) -> Target | None:
    """The target with inputs for the texts that have a name; ``None`` where it holds another value."""
    name = _bound_name(target, texts)
    if name is None or _holds_value(target) or texts.known.in_text(target.frame or ""):
        return None
    if target.row is None:
        return evolve(target, name=name)
    row = texts.name_of(target.row.text) if isinstance(target.row, Constant) else None
    return None if row is None else evolve(target, name=name, row=FromInput(row))


def _holds_value(target: Target) -> bool:
    """Whether the attribute is one in which pages keep what a field holds."""
    return re.search("value|initial|original", target.attribute or "") is not None and target.attribute != "value"


def _bound_name(target: Target, texts: Texts) -> str | None:
    """The name as a template: the longest named text in it becomes the place of its input."""
    name, known = target.name, texts.known
    if target.kind is TargetKind.TEST_ID or target.attribute in _PROGRAMMED:
        known = texts.programmed or known
    if _BRACE.search(name):
        return None
    for text, held in sorted(texts.names, key=lambda each: -len(each[0])):
        parts = re.split(rf"(?<!\w){re.escape(text)}(?!\w)", name) if text else [name]
        if len(parts) > 1 and not any(map(known.in_text, parts)):
            return f"{{{held}}}".join(parts)
    return None if known.in_text(name) else name


def names_of(target: Target) -> set[str]:
    """The names of inputs that the target is bound to."""
    row = {target.row.name} if isinstance(target.row, FromInput) else set[str]()
    return row | set(re.findall("[{]([^{}]+)[}]", target.name))


def renamed(target: Target, names: dict[str, str]) -> Target:
    """The target with other names for its inputs."""
    name = re.sub("[{]([^{}]+)[}]", lambda place: f"{{{names.get(place[1], place[1])}}}", target.name)
    row = FromInput(names.get(target.row.name, target.row.name)) if isinstance(target.row, FromInput) else target.row
    return evolve(target, name=name, row=row)
