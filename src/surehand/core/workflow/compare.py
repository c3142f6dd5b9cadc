"""How a read value is compared with the intended one: one closed rule for each kind of value.

Laws of this module:

- A rule forgives the form of a value and never its content: nothing is trimmed, cut or guessed.
- Every rule is symmetric, and reflexive over the values of its kind.
- An empty text equals the empty text and nothing else.
"""

import re
import unicodedata
from decimal import Decimal
from typing import assert_never

from surehand.core.workflow.bundle import Rule
from surehand.core.workflow.params import is_date, is_decimal


def same(rule: Rule, expected: str, seen: str) -> bool:
    """Whether what was seen is what was intended.

    Args:
        rule: The rule of the value's kind.
        expected: The intended text.
        seen: The text that was read, in full.
    """
    if not (expected and seen):
        return expected == seen
    match rule:
        case Rule.IDENTIFIER | Rule.CHOICE:
            return expected == seen
        case Rule.TEXT:
            return expected == seen or _text_form(expected) == _text_form(seen)
        case Rule.DATE:
            return is_date(expected) and expected == seen
        case Rule.DECIMAL:
            return is_decimal(expected) and is_decimal(seen) and Decimal(expected) == Decimal(seen)
        case _:  # pragma: no cover
            assert_never(rule)


def _text_form(text: str) -> str:
    """The text in Unicode normal form C, with a line feed for every line ending."""
    return unicodedata.normalize("NFC", re.sub("\r\n?", "\n", text))
