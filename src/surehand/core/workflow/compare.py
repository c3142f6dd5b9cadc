"""How a read value is compared with the intended one: one closed rule for each kind of value.

Laws of this module:

- A rule forgives the form of a value and never its content: nothing is trimmed, cut or guessed.
- Every rule is symmetric, and reflexive over the values of its kind.
- An empty text equals the empty text and nothing else.
- A date has one spelling in each form, so that no day is ever read as a month.
"""

import re
import unicodedata
from decimal import Decimal
from typing import Final, assert_never

from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.params import is_date, is_decimal

#: How each form writes a date.
_PATTERNS: Final[dict[DateForm, str]] = {
    DateForm.ISO: "{0}-{1}-{2}",
    DateForm.DAY_MONTH_SLASH: "{2}/{1}/{0}",
    DateForm.MONTH_DAY_SLASH: "{1}/{2}/{0}",
    DateForm.DAY_MONTH_DOT: "{2}.{1}.{0}",
    DateForm.DAY_MONTH_DASH: "{2}-{1}-{0}",
}


def written_date(form: DateForm, day: str) -> str:
    """A calendar date as the form writes it; a text that is no ISO date stays what it is."""
    return _PATTERNS[form].format(*day.split("-")) if is_date(day) else day


def read_date(form: DateForm, text: str) -> str | None:
    """The ISO date that a text is in this form, or ``None``: two digits of day and month, four of the year."""
    pattern = _PATTERNS[form].format("(?P<year>[0-9]{4})", "(?P<month>[0-9]{2})", "(?P<day>[0-9]{2})")
    found = re.fullmatch(pattern, text)
    if found is None:
        return None
    iso = "{year}-{month}-{day}".format(**found.groupdict())
    # The dot of a form stands for any character in the pattern.
    return iso if is_date(iso) and written_date(form, iso) == text else None


def same(rule: Rule, expected: str, seen: str, form: DateForm = DateForm.ISO) -> bool:
    """Whether what was seen is what was intended.

    Args:
        rule: The rule of the value's kind.
        expected: The intended text.
        seen: The text that was read, in full.
        form: How a date that was read is written.
    """
    if not (expected or seen):
        return True
    match rule:
        case Rule.IDENTIFIER | Rule.CHOICE:
            return expected == seen
        case Rule.TEXT:
            return expected == seen or _text_form(expected) == _text_form(seen)
        case Rule.DATE:
            return expected == read_date(form, seen)
        case Rule.DECIMAL:
            return is_decimal(expected) and is_decimal(seen) and Decimal(expected) == Decimal(seen)
        case _:  # pragma: no cover
            assert_never(rule)


def _text_form(text: str) -> str:
    """The text in Unicode normal form C, with a line feed for every line ending."""
    return unicodedata.normalize("NFC", re.sub("\r\n?", "\n", text))
