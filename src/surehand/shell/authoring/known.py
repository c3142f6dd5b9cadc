"""The texts of a demonstration that are known, and in which other forms an app may show them.

Laws of this module:

- A text equals a known one by a rule of the core, or it does not; nothing is guessed.
- What is known is kept in memory.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from attrs import define, field, frozen

from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.compare import read_date, same, written_date
from surehand.core.workflow.params import is_decimal
from surehand.core.workflow.recording import Candidates
from surehand.core.workflow.target import TargetKind

#: White space that layout adds around a text.
_LAYOUT_SPACE: Final = " \t\r\n\f"

_NAMING: Final = frozenset({TargetKind.LABEL, TargetKind.ROLE, TargetKind.CAPTION})


@frozen
class Form:
    """A form in which a known text may be shown, and the rule under which it is the same."""

    text: str = field(repr=False)
    key: str
    rule: Rule
    form: DateForm = DateForm.ISO

    def for_page(self) -> list[str]:
        """The entry that the watching script takes."""
        return [self.text, self.key, self.rule.value, self.form.value]


@define
class KnownTexts:
    """What was entered or stood in a clicked row, by the key of the event."""

    _texts: dict[str, str] = field(factory=dict[str, str], repr=False)
    _boxes: dict[str, list[Form]] = field(factory=dict[str, list[Form]])
    _box_states: dict[str, tuple[set[str], str]] = field(factory=dict[str, tuple[set[str], str]])

    def add(self, key: str, text: str) -> list[Form]:
        """Know one more text; returns its forms."""
        self._texts[key] = text
        return list(_forms(key, text))

    def only(self, keys: Iterable[str]) -> "KnownTexts":
        """What is known by these keys alone, cells of theirs among it."""
        kept = frozenset(keys)
        texts = {key: text for key, text in self._texts.items() if key.partition("/")[0] in kept}
        states = {key: state for key, state in self._box_states.items() if key in kept}
        return KnownTexts(texts, {}, states)

    def add_box(self, key: str, candidates: Candidates, caption: str, *, checked: bool) -> list[Form]:
        """Know the state of a box, by what names it; returns its forms."""
        names = [each.target for each in candidates if each.target.kind in _NAMING or each.target.attribute == "name"]
        state = "true" if checked else "false"
        forms = dict.fromkeys(f"box {each.kind.value} {each.name} {state}" for each in names)
        self._boxes[key] = [Form(form, key, Rule.CHOICE) for form in forms]
        self._box_states[key] = ({_plain_name(name) for name in (*(each.name for each in names), caption)}, state)
        return self._boxes[key]

    def find_box(self, member: str, text: str) -> Form | None:
        """The box whose state a member of a record holds, if it is called as the member is."""
        name = _plain_name(member.rpartition(".")[2])
        keys = [key for key, (names, state) in self._box_states.items() if name and name in names and state == text]
        return Form(text, keys[-1], Rule.CHOICE) if keys else None

    def all_forms(self) -> list[Form]:
        """The forms of everything that is known."""
        forms = [form for key, text in self._texts.items() for form in _forms(key, text)]
        return forms + [form for boxes in self._boxes.values() for form in boxes]

    def find(self, text: str) -> list[Form]:
        """The known texts that a text is, each under the strictest rule, the last one first."""
        shown = text.strip(_LAYOUT_SPACE)
        found = (_match(key, known, shown) for key, known in reversed(self._texts.items()) if shown and known)
        return [form for form in found if form is not None]


def _plain_name(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _match(key: str, known: str, shown: str) -> Form | None:
    if known == shown:
        return Form(shown, key, Rule.IDENTIFIER)
    if same(Rule.TEXT, known, shown):
        return Form(shown, key, Rule.TEXT)
    if same(Rule.DECIMAL, known, shown):
        return Form(shown, key, Rule.DECIMAL)
    return next((form for form in _dates(key, known) if form.text == shown), None)


def _forms(key: str, text: str) -> Iterator[Form]:
    if not text.strip(_LAYOUT_SPACE):
        return
    yield Form(text, key, Rule.IDENTIFIER)
    yield from _dates(key, text)
    if is_decimal(text):
        yield Form(f"#{_plain(Decimal(text))}", key, Rule.DECIMAL)


def _dates(key: str, text: str) -> Iterator[Form]:
    """The same day as every form writes it; a text that is a date in several forms may be several days."""
    for day in dict.fromkeys(read_date(form, text) for form in DateForm):
        if day is not None:
            forms = ((form, written_date(form, day)) for form in DateForm)
            yield from (Form(written, key, Rule.DATE, form) for form, written in forms if written != text)


def _plain(number: Decimal) -> str:
    """The number as a script writes it."""
    text = format(number.normalize(), "f")
    return "0" if text == "-0" else text
