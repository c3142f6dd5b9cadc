"""Targets: the first way to find an element that was exact in every recording and holds no value.

Laws of this module:

- A target is one that matched exactly once in every recording; of a group of radio buttons, the whole group.
- A row, and a name that holds the text of one, are bound to the input that stands for that text.
- A target that holds a value in any other way is none.
"""

import re
from collections.abc import Callable, Iterator

from attrs import evolve, frozen

from surehand.core.workflow.compiler.demonstration import Demonstration
from surehand.core.workflow.compiler.texts import KnownTexts
from surehand.core.workflow.recording import Candidate, Candidates, Control, FieldFacts
from surehand.core.workflow.target import Constant, FromInput, Target

#: Stands for a brace that is no place of an input: such a name is no structure that a template can hold.
_BRACE = re.compile("[{}]")


@frozen
class Texts:
    """The texts of one recording that have a name: of slots, or of the cells of a row."""

    known: KnownTexts
    names: tuple[tuple[str, str], ...]

    def name_of(self, text: str) -> str | None:
        """The name of exactly this text."""
        return next((name for each, name in self.names if each == text), None)


Fits = Callable[[Candidate], bool]


def once(candidate: Candidate) -> bool:
    """Whether it matched exactly one element."""
    return candidate.matches == 1


def group_of(facts: FieldFacts) -> Fits:
    """What a target of this control has to match: a group of radio buttons as a whole, all else once."""
    if facts.control is not Control.RADIO:
        return once
    return lambda candidate: (
        candidate.matches == len(facts.options) or (candidate.target.role == "radiogroup" and candidate.matches == 1)
    )


def common(candidates: tuple[Candidates, ...], texts: tuple[Texts, ...], fits: tuple[Fits, ...]) -> tuple[Target, ...]:
    """The targets that fit in every recording, best first."""
    usable = [list(_usable(each, known, fit)) for each, known, fit in zip(candidates, texts, fits, strict=True)]
    shared = set[Target](usable[0]).intersection(*usable[1:])
    return tuple(dict.fromkeys(target for target in usable[0] if target in shared))


def _usable(candidates: Candidates, texts: Texts, fits: Fits) -> Iterator[Target]:
    for candidate in candidates:
        target = bound(candidate.target, texts) if fits(candidate) else None
        if target is not None:
            yield target


def bound(target: Target, texts: Texts) -> Target | None:
    """The target with inputs for the texts that have a name; ``None`` where it holds another value."""
    name = _bound_name(target.name, texts)
    held = [target.frame or "", target.attribute or ""]
    if name is None or any(map(texts.known.in_text, held)):
        return None
    if target.row is None:
        return evolve(target, name=name)
    row = texts.name_of(target.row.text) if isinstance(target.row, Constant) else None
    return None if row is None else evolve(target, name=name, row=FromInput(row))


def _bound_name(name: str, texts: Texts) -> str | None:
    """The name as a template: the longest named text in it becomes the place of its input."""
    if _BRACE.search(name):
        return None
    if not texts.known.in_text(name):
        return name
    for text, held in sorted(texts.names, key=lambda each: -len(each[0])):
        parts = re.split(rf"(?<!\w){re.escape(text)}(?!\w)", name) if text else [name]
        if len(parts) > 1 and not any(map(texts.known.in_text, parts)):
            return f"{{{held}}}".join(parts)
    return None


def names_of(target: Target) -> set[str]:
    """The names of inputs that the target is bound to."""
    row = {target.row.name} if isinstance(target.row, FromInput) else set[str]()
    return row | set(re.findall("[{]([^{}]+)[}]", target.name))


def renamed(target: Target, names: dict[str, str]) -> Target:
    """The target with other names for its inputs."""
    name = re.sub("[{]([^{}]+)[}]", lambda place: f"{{{names.get(place[1], place[1])}}}", target.name)
    row = FromInput(names.get(target.row.name, target.row.name)) if isinstance(target.row, FromInput) else target.row
    return evolve(target, name=name, row=row)


def label_texts(shown: Demonstration, names: tuple[tuple[str, str], ...]) -> Texts:
    """The texts that a label must not hold."""
    return Texts(shown.telling, names)
