"""What an agent is told about a workflow: its card.

Laws of this module:

- Kinds, limits and choices come from the bundle; words may come from a card that an operator wrote.
- No text on a card looks like an identifier of a person: a written card that holds one is refused as a whole, and
  text of the bundle that does is left out.
- A refused card is replaced by the default card, beside a closed warning that never repeats its text.
- A card is bounded in size, whatever the bundle holds.
"""

from collections.abc import Callable, Iterator
from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import evolve, field, frozen
from returns.result import Failure

from surehand.core.privacy import looks_like_identifier
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.params import Parameter, ParameterType, text_problem
from surehand.core.workflow.target import Identifier

#: Characters of descriptions, choices, patterns and examples on one card, all inputs together.
DETAIL_BUDGET: Final = 8_000

DEFAULT_PURPOSE: Final = "Enters the inputs into the app and saves one record."
DEFAULT_DONE_MEANS: Final = "The record was saved, then read back from the app, and every entered value was there."

Title = Annotated[str, Text(min_length=1, max_length=80)]
Sentence = Annotated[str, Text(min_length=1, max_length=300)]
Example = Annotated[str, Text(min_length=1, max_length=80)]
_Choice = Annotated[str, Text(min_length=1, max_length=200)]


@frozen(kw_only=True)
class CardInput:
    """One input, as an agent sees it.

    ``details_left_out`` says that something the bundle declares is not shown; it is checked all the same.
    """

    name: Identifier
    type: ParameterType
    title: Title
    required: bool
    description: Sentence | None = None
    choices: Annotated[tuple[_Choice, ...], Items(max_items=200)] | None = None
    examples: Annotated[tuple[Example, ...], Items(max_items=3)] | None = None
    min_length: Annotated[int, Number(minimum=0, maximum=20_000)] | None = None
    max_length: Annotated[int, Number(minimum=1, maximum=20_000)] | None = None
    minimum: Annotated[str, Text(max_length=40)] | None = None
    maximum: Annotated[str, Text(max_length=40)] | None = None
    pattern: Annotated[str, Text(min_length=1, max_length=200)] | None = None
    details_left_out: bool = False


@frozen(kw_only=True)
class Card:
    """One workflow, as an agent sees it. ``name`` is what ``run_workflow`` takes."""

    name: Identifier
    title: Title
    purpose: Sentence
    done_means: Sentence
    inputs: Annotated[tuple[CardInput, ...], Items(max_items=50)]


@frozen(kw_only=True)
class WrittenInput:
    """What an operator wrote about one input."""

    name: Identifier
    title: Title | None = None
    description: Sentence | None = None
    examples: Annotated[tuple[Example, ...], Items(max_items=3)] = field(default=())


@frozen(kw_only=True)
class WrittenCard:
    """What an operator wrote about a workflow: the whole content of a card file."""

    schema: Literal["surehand.card/v1"]
    title: Title | None = None
    purpose: Sentence
    done_means: Sentence
    inputs: Annotated[tuple[WrittenInput, ...], Items(max_items=50)] = field(default=())


@unique
class CardWarning(Enum):
    """Why a card is not the one that was written, or does not show all that the bundle holds."""

    NOT_A_CARD = "not_a_card"
    OTHER_INPUTS = "other_inputs"
    CONTROL_CHARACTER = "control_character"
    LOOKS_LIKE_IDENTIFIER = "looks_like_identifier"


@frozen
class CardChoice:
    """The card that is shown, and why it is not the written one."""

    card: Card
    warning: CardWarning | None = None


def default_card(bundle: Bundle) -> Card:
    """The card that follows from the bundle alone."""
    return _assembled(bundle, {}, bundle.title, DEFAULT_PURPOSE, DEFAULT_DONE_MEANS)


def choose_card(bundle: Bundle, data: object) -> CardChoice:
    """The written card when it can be shown, else the default one.

    Args:
        bundle: The workflow.
        data: What ``json.loads`` gave for the operator's card file.
    """
    from surehand.core.wire import from_wire  # noqa: PLC0415 - the converter is costly to import

    read = from_wire(data, WrittenCard)
    if isinstance(read, Failure):
        return CardChoice(default_card(bundle), CardWarning.NOT_A_CARD)
    written = read.unwrap()
    warning = _warning(bundle, written)
    if warning is not None:
        return CardChoice(default_card(bundle), warning)
    words = {each.name: each for each in written.inputs}
    title = written.title or bundle.title
    return CardChoice(_assembled(bundle, words, title, written.purpose, written.done_means))


def fitting(card: Card, fits: Callable[[Card], bool]) -> Card:
    """The card with as much of its words as fits: all of them, or the titles alone, or the names alone.

    Args:
        card: The whole card.
        fits: Whether a card fits; the barest one is shown whatever it says, and is bounded by its own limits.
    """
    return next((shown for shown in (card, _without_details(card)) if fits(shown)), _bare(card))


def _without_details(card: Card) -> Card:
    return evolve(card, inputs=tuple(map(_cut, card.inputs)))


def _bare(card: Card) -> Card:
    """Names, kinds and what is required, in fixed words."""
    inputs = tuple(
        CardInput(name=each.name, type=each.type, title=each.name, required=each.required, details_left_out=True)
        for each in card.inputs
    )
    return Card(name=card.name, title=card.name, purpose=DEFAULT_PURPOSE, done_means=DEFAULT_DONE_MEANS, inputs=inputs)


def _warning(bundle: Bundle, written: WrittenCard) -> CardWarning | None:
    names = [each.name for each in written.inputs]
    texts = list(_texts(written))
    if len(set(names)) != len(names) or not {each.name for each in bundle.parameters}.issuperset(names):
        return CardWarning.OTHER_INPUTS
    if any(text_problem(text) for text in texts):
        return CardWarning.CONTROL_CHARACTER
    if any(map(looks_like_identifier, texts)):
        return CardWarning.LOOKS_LIKE_IDENTIFIER
    return None


def _texts(written: WrittenCard) -> Iterator[str]:
    yield from (written.title or "", written.purpose, written.done_means)
    for each in written.inputs:
        yield from (each.title or "", each.description or "", *each.examples)


def _assembled(bundle: Bundle, words: dict[str, WrittenInput], title: str, purpose: str, done_means: str) -> Card:
    left = DETAIL_BUDGET
    inputs: list[CardInput] = []
    for parameter in bundle.parameters:
        shown = _within(_input(parameter, words.get(parameter.name)), left)
        left -= _detail_size(shown)
        inputs.append(shown)
    return Card(
        name=bundle.workflow,
        title=title if _fit(title) else bundle.workflow,
        purpose=purpose,
        done_means=done_means,
        inputs=tuple(inputs),
    )


def _input(parameter: Parameter, words: WrittenInput | None) -> CardInput:
    measured = parameter.type in (ParameterType.LINE, ParameterType.TEXT, ParameterType.IDENTIFIER)
    title = (words and words.title) or parameter.title
    description = (words and words.description) or parameter.description
    guarded = {
        "description": description or None,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "pattern": parameter.pattern,
    }
    shown = {name: text for name, text in guarded.items() if text is not None and _fit(text)}
    choices = parameter.choices if parameter.choices and all(map(_fit, parameter.choices)) else None
    hidden = len(shown) < sum(text is not None for text in guarded.values()) or bool(parameter.choices and not choices)
    return CardInput(
        name=parameter.name,
        type=parameter.type,
        title=title if _fit(title) else parameter.name,
        required=parameter.required,
        choices=choices,
        examples=words.examples if words and words.examples else None,
        min_length=parameter.min_length if measured else None,
        max_length=parameter.max_length if measured else None,
        details_left_out=hidden,
        **shown,
    )


def _fit(text: str) -> bool:
    """Whether a text of the bundle can be shown to an agent."""
    return not text_problem(text) and not looks_like_identifier(text)


def _within(shown: CardInput, budget: int) -> CardInput:
    """The input, without its details when they do not fit into what is left of the budget."""
    if _detail_size(shown) <= budget:
        return shown
    return _cut(shown)


def _cut(shown: CardInput) -> CardInput:
    """The input without its details; one that has none has nothing left out."""
    bare = evolve(shown, description=None, choices=None, examples=None, pattern=None)
    return shown if bare == shown else evolve(bare, details_left_out=True)


def _detail_size(shown: CardInput) -> int:
    texts = (shown.description, shown.pattern, *(shown.choices or ()), *(shown.examples or ()))
    return sum(len(text) for text in texts if text is not None)
