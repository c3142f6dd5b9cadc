"""Slots: everything in a demonstration that may be another text in the next run.

Laws of this module:

- A slot has one name, one text for each recording, and one or several readings: the declarations that it may have.
- A declaration accepts every text that was recorded. A limit that would not is left out.
- A name and a title come from captions, and never hold a text of the recording.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from enum import Enum, unique
from typing import Final

from attrs import evolve, field, frozen
from returns.result import Success

from surehand.core.workflow.bundle import RULES, DateForm, Rule
from surehand.core.workflow.compare import read_date
from surehand.core.workflow.compiler.questions import Option
from surehand.core.workflow.compiler.texts import date_forms, is_telling, slug
from surehand.core.workflow.params import Parameter, ParameterType, check_inputs, is_date, is_decimal, text_problem
from surehand.core.workflow.recording import Control, FieldFacts

_CHOICES: Final = frozenset({Control.SELECT, Control.RADIO, Control.LIST})
#: Controls whose options the page shows, chosen or not.
_OFFERED: Final = frozenset({Control.SELECT, Control.RADIO, Control.CHECKBOX})
_TELLING_LENGTH: Final = 4
_ALIKE: Final = 0.6
_MOST_CHOICES: Final = 200
_LONGEST_CHOICE: Final = 200
_LONGEST_UNITS: Final = 40_000
_LONGEST_TEXT: Final = 20_000
_LONGEST_LINE: Final = 4_000
_LONGEST_TITLE: Final = 80
_LONGEST_KEY: Final = 200
#: How the first option of a list reads that asks for a choice and is none.
_ASKS: Final = re.compile(
    r"please (select|choose|pick)|(select|choose|pick)( (an?|one|the|your|from)\b|\W*$)", re.IGNORECASE
)
_BOUND: Final = r"-?[0-9]{1,15}(\.[0-9]{1,15})?"


@unique
class SlotKind(Enum):
    """Where a text comes from: a field, the row that was clicked, another cell of it, or an address."""

    FIELD = "field"
    ROW = "row"
    SHOWN = "shown"
    ADDRESS = "address"


@frozen(kw_only=True)
class Reading:
    """One declaration of a slot, and how the app writes its dates."""

    option: str
    parameter: Parameter
    form: DateForm = DateForm.ISO

    @property
    def rule(self) -> Rule:
        """How a text of this kind is compared."""
        return RULES[self.parameter.type]

    def meaning(self, text: str) -> str:
        """What a caller would give for a text of the app."""
        return read_date(self.form, text) or text if self.rule is Rule.DATE else text


@frozen(kw_only=True)
class Slot:
    """One text that may vary."""

    name: str
    kind: SlotKind
    title: str
    texts: tuple[str, ...] = field(repr=False)
    readings: tuple[Reading, ...]
    control: Control = Control.OTHER
    required: bool = True

    @property
    def same(self) -> bool:
        """Whether all recordings have the same text."""
        return len(set(self.texts)) == 1

    @property
    def weak(self) -> bool:
        """Whether a page may show the text without meaning it: one of few options, or short, and always the same."""
        particular = self.control not in _OFFERED and is_telling(self.texts[0])
        long = self.control not in _CHOICES | {Control.CHECKBOX} and len(self.texts[0]) >= _TELLING_LENGTH
        return self.same and not (particular or long)

    @property
    def tells(self) -> bool:
        """Whether a text of this kind may tell one record from all others: no option, no number, no date."""
        return self.control not in _CHOICES | {Control.CHECKBOX, Control.NUMBER, Control.DATE} and not self.weak

    def is_like(self, name: str) -> bool:
        """Whether a name of the app is much like the slot's."""
        other = slug(name.rpartition(".")[2], "x")
        return self.name in other or other in self.name or likeness(self.name, other) >= _ALIKE


def named_slot(kind: SlotKind, name: str, title: str, texts: tuple[str, ...]) -> Slot:
    """A slot for what names a record: a key of a row, a shown fact, a part of an address."""
    parameter = Parameter(name=name, type=ParameterType.IDENTIFIER, title=title, min_length=1, max_length=_LONGEST_KEY)
    loose = evolve(parameter, max_length=_LONGEST_LINE)
    reading = Reading(option=Option.INPUT.value, parameter=parameter if _takes(parameter, texts) else loose)
    return Slot(name=name, kind=kind, title=title, texts=texts, readings=(reading,))


@frozen(kw_only=True)
class Entry:
    """What was entered into one field, in each recording.

    ``facts`` are what the page declared, ``seen`` the rules under which the app showed the texts again, ``searched``
    whether a list was searched, so that its options are not all of them. ``before`` says that the field held something.
    """

    facts: tuple[FieldFacts, ...]
    texts: tuple[str, ...] = field(repr=False)
    seen: set[Rule]
    searched: bool
    before: bool

    @property
    def required(self) -> bool:
        """Whether it must be given: the page says so, or leaving it out would empty what the field held before."""
        return self.before or any(each.required for each in self.facts)


def field_slot(name: str, title: str, entry: Entry) -> Slot:
    """A slot for what was entered into a field."""
    facts = entry.facts
    return Slot(
        name=name,
        kind=SlotKind.FIELD,
        title=title,
        texts=entry.texts,
        readings=tuple(_readings(name, title, entry)),
        control=facts[0].control,
        required=entry.required or facts[0].control in _CHOICES,
    )


def _readings(name: str, title: str, entry: Entry) -> Iterator[Reading]:
    facts, texts = entry.facts, entry.texts
    control, given = facts[0].control, tuple(filter(None, texts))
    base = Parameter(name=name, type=ParameterType.LINE, title=title, required=entry.required)
    if control is Control.CHECKBOX:
        yield _input(evolve(base, type=ParameterType.CHOICE, choices=("true", "false"), required=True))
    elif control in _CHOICES:
        yield from _choice_readings(evolve(base, required=True), entry)
    elif control is Control.DATE and all(map(is_date, given)):
        yield _input(evolve(base, type=ParameterType.DATE))
    elif _is_number(control, entry.seen) and all(map(is_decimal, given)):
        yield _input(_bounded(evolve(base, type=ParameterType.DECIMAL), facts, texts))
    else:
        yield from _text_readings(base, facts, texts)


def _input(parameter: Parameter) -> Reading:
    return Reading(option=Option.INPUT.value, parameter=parameter)


def _is_number(control: Control, seen: set[Rule]) -> bool:
    """A number field, or a text that the app shows again as a number with other digits."""
    return control is Control.NUMBER or (Rule.DECIMAL in seen and not seen & {Rule.TEXT, Rule.IDENTIFIER})


def _bounded(parameter: Parameter, facts: tuple[FieldFacts, ...], texts: tuple[str, ...]) -> Parameter:
    """The number with the bounds that every recording declares alike; bounds that contradict each other are none."""
    minimum = _bound({each.minimum for each in facts})
    maximum = _bound({each.maximum for each in facts})
    return _first_that_takes(texts, lambda: evolve(parameter, minimum=minimum, maximum=maximum), lambda: parameter)


def _bound(declared: set[str | None]) -> str | None:
    only = declared.pop() if len(declared) == 1 else None
    return only if only is not None and re.fullmatch(_BOUND, only, re.ASCII) else None


def _choice_readings(base: Parameter, entry: Entry) -> Iterator[Reading]:
    choices = () if entry.searched else _choices(entry.facts)
    if choices and {*entry.texts} <= {*choices}:
        listed = evolve(base, type=ParameterType.CHOICE, choices=choices)
        yield Reading(option=Option.LISTED.value, parameter=listed)
    yield Reading(option=Option.OPEN.value, parameter=evolve(base, min_length=1))


def _choices(facts: tuple[FieldFacts, ...]) -> tuple[str, ...]:
    """The options of a list that was offered alike in every recording, as far as a declaration can hold them."""
    offered, *others = (tuple(dict.fromkeys(_without_placeholder(each.options))) for each in facts)
    alike = all({*other} == {*offered} for other in others)
    fit = all(len(option) <= _LONGEST_CHOICE and not text_problem(option) for option in offered)
    return offered if alike and fit and len(offered) <= _MOST_CHOICES else ()


def _without_placeholder(options: tuple[str, ...]) -> Iterator[str]:
    """The options that choose something: without a first one that asks for a choice, and without what has no letter."""
    for at, option in enumerate(options):
        empty = not any(map(str.isalnum, option))
        if not empty and not (at == 0 and _ASKS.match(option.strip("-\u2013\u2014. "))):
            yield option


def _text_readings(base: Parameter, facts: tuple[FieldFacts, ...], texts: tuple[str, ...]) -> Iterator[Reading]:
    forms = date_forms(texts)
    if len(set(texts)) == 1 or len(forms) != 1:
        yield Reading(option=Option.TEXT.value, parameter=_text_parameter(base, facts, texts))
    if all(map(is_decimal, texts)):
        yield Reading(option=Option.DECIMAL.value, parameter=evolve(base, type=ParameterType.DECIMAL))
    for form in forms:
        yield Reading(option=form.value, parameter=evolve(base, type=ParameterType.DATE), form=form)


def _text_parameter(base: Parameter, facts: tuple[FieldFacts, ...], texts: tuple[str, ...]) -> Parameter:
    """A text with the limits that the page declares; with fewer where our patterns cannot say the page's."""
    lines = facts[0].control is Control.TEXT or any(len(text.splitlines()) > 1 for text in texts)
    kind, longest = (ParameterType.TEXT, _LONGEST_TEXT) if lines else (ParameterType.LINE, _LONGEST_LINE)
    plain = evolve(base, type=kind, max_length=longest, min_length=1 if any(each.required for each in facts) else 0)
    limit = min((each.max_length for each in facts if each.max_length), default=None)
    units = limit if limit is not None and limit <= _LONGEST_UNITS else None
    patterns = {each.pattern for each in facts}
    pattern = patterns.pop() if not lines and len(patterns) == 1 else None
    return _first_that_takes(
        texts,
        lambda: evolve(plain, max_units=units, pattern=pattern),
        lambda: evolve(plain, max_units=units),
        lambda: plain,
    )


def _first_that_takes(texts: tuple[str, ...], *declarations: Callable[[], Parameter]) -> Parameter:
    """The first declaration that can be made and accepts what was recorded; the last one is always good."""
    for declare in declarations[:-1]:
        try:
            parameter = declare()
        except ValueError:
            continue
        if _takes(parameter, texts):
            return parameter
    return declarations[-1]()


def _takes(parameter: Parameter, texts: Iterable[str]) -> bool:
    """Whether the declaration accepts every text that a caller would have given."""
    given = [text for text in texts if text or parameter.required]
    return all(isinstance(check_inputs((parameter,), {parameter.name: text}), Success) for text in given)


def likeness(name: str, other: str) -> float:
    """How much two names are alike, from 0 to 1."""
    return SequenceMatcher(None, name, other, autojunk=False).ratio()


def naming(reading: Reading) -> Reading:
    """The reading of a slot whose text finds or names a record: it must be given."""
    parameter = reading.parameter
    if parameter.type in {ParameterType.DATE, ParameterType.DECIMAL, ParameterType.CHOICE}:
        return evolve(reading, parameter=evolve(parameter, required=True))
    return evolve(reading, parameter=evolve(parameter, required=True, min_length=max(1, parameter.min_length)))


def title_of(caption: str, otherwise: str) -> str:
    """A caption as a title: one line, without the marks that forms and tables put behind it."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", " ", caption).split())
    return re.sub(r"[^\w)?%]+$", "", line.lstrip(" *"))[:_LONGEST_TITLE].strip() or otherwise
