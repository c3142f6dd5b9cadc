"""The guard that agent-facing text passes: does it look as if it held an identifier of a person?

Laws of this module:

- The guard fails closed: text that merely resembles an identifier is refused; a card is easily worded otherwise.
- Text is judged in one plain form: digits of any script are digits, and marks and invisible characters hide nothing.
- The time taken grows linearly with the text: no pattern can scan the same stretch again and again.
- The answer is yes or no; nothing of the text is given back.
"""

import re
import unicodedata
from functools import cache
from typing import Final

#: Months as dates name them in English, German, French, Spanish, Italian, Portuguese and Dutch, without marks.
_MONTH: Final = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    "|januar|februar|maerz|marz|mai|juni|juli|oktober|dezember|okt|dez"
    "|janvier|fevrier|mars|avril|juin|juillet|aout|septembre|octobre|novembre|decembre|janv|fevr|avr|juil"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre|ene|abr|ago|dic"
    "|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|gen|mag|giu|lug|set|ott"
    "|janeiro|fevereiro|marco|maio|junho|julho|setembro|outubro|novembro|dezembro|fev|out"
    "|januari|februari|maart|mei|augustus|mrt)"
)
_DAY_NUMBER: Final = "(?:3[01]|[12][0-9]|0?[1-9])"
_MONTH_NUMBER: Final = "(?:1[0-2]|0?[1-9])"
_YEAR: Final = "(?:[0-9]{4}|[0-9]{2})"
_FROM: Final = "(?<![0-9])"
_TO: Final = "(?![0-9])"
#: Between the parts of a date: at most three characters, so that no pattern can run along a text.
_GAP: Final = "[ .,/'-]{0,3}"
_ORDINAL: Final = "(?:st|nd|rd|th|er|o|a|e)?"
_OF: Final = "(?:(?:of|de|di|do|del) )?"

_SHAPES: Final = (
    # Five or more digits, also when split by blanks, dots, dashes, slashes, or the marks of a telephone number.
    "[0-9](?:[ ./()+-]*[0-9]){4}",
    # Seven or more digits split by whatever is neither a letter nor the colon of a time of day.
    r"[0-9](?:(?:[^\w:]|_)*[0-9]){6}",
    # A telephone number in international form, however short.
    "[+][ (]{0,2}[0-9](?:[ ./()-]{0,2}[0-9]){3}",
    # Three, two and four digits, whatever stands between them.
    r"(?<![0-9])[0-9]{3}[^0-9a-z]{1,3}[0-9]{2}[^0-9a-z]{1,3}[0-9]{4}(?![0-9])",
    # Six letters, then digits and letters mixed in a fixed order, as some tax codes are.
    r"\b[a-z]{6}[0-9]{2}[a-z][0-9]{2}[a-z][0-9]{3}[a-z]\b",
    # Two letters, six digits, one letter, with blanks.
    r"\b[a-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-z]\b",
    # Dates in numbers, with a year of two digits too.
    rf"{_FROM}{_DAY_NUMBER} ?[./-] ?{_MONTH_NUMBER} ?[./-] ?{_YEAR}{_TO}",
    rf"{_FROM}{_MONTH_NUMBER} ?[./-] ?{_DAY_NUMBER} ?[./-] ?{_YEAR}{_TO}",
    rf"{_FROM}{_YEAR} ?[/-] ?{_MONTH_NUMBER} ?[/-] ?{_DAY_NUMBER}{_TO}",
    # Dates with the name of the month.
    rf"{_FROM}{_DAY_NUMBER}{_ORDINAL}{_GAP}{_OF}{_MONTH}{_GAP}{_OF}{_YEAR}{_TO}",
    rf"(?<![a-z]){_MONTH}{_GAP}{_DAY_NUMBER}{_ORDINAL}[ .,/'-]{{1,3}}{_YEAR}{_TO}",
    rf"{_FROM}[0-9]{{4}}{_GAP}{_MONTH}{_GAP}{_DAY_NUMBER}{_TO}",
    # E-mail, also with blanks about the sign or the sign spelt in brackets.
    r"[^\s@] ?@ ?[^\s@]",
    r"\S ?[\[({<] ?at ?[\])}>] ?\S",
)


@cache
def _identifier() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))


#: What stands for a plain blank, dash, dot or slash beside what compatibility forms cover; the last three part a date.
_LIKENESSES: Final = {
    "\u2212": "-",
    "\u00b7": ".",
    "\u2022": ".",
    "\u2027": ".",
    "\u3002": ".",
    "\u30fb": ".",
    "\u2044": "/",
    "\u2215": "/",
    "\\": "/",
    "\u5e74": "-",
    "\u6708": "-",
    "\u65e5": " ",
}

_BLANK_CATEGORIES: Final = frozenset({"Zs", "Zl", "Zp", "Cc"})
_HIDDEN_CATEGORIES: Final = frozenset({"Cf", "Mn", "Me"})


def looks_like_identifier(text: str) -> bool:
    """Whether the text may hold a number, a date or an address that tells a person apart.

    It does when it holds five or more digits in a row, also when they are split by blanks, dots, dashes or slashes; the
    shape of a national identifier; a date with day, month and year; an e-mail address; or a telephone number.

    Args:
        text: Any text, of any length.

    Returns:
        True when the text must not be shown.
    """
    return _identifier().search(_plain(text)) is not None


def _plain(text: str) -> str:
    """The text in lower case, with plain digits and separators and without marks and invisible characters."""
    spread = unicodedata.normalize("NFKD", text)
    return re.sub(" +", " ", "".join(map(_plain_character, spread))).lower()


def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if category in _BLANK_CATEGORIES:
        return " "
    if category in _HIDDEN_CATEGORIES:
        return ""
    if category == "Pd":
        return "-"
    digit = unicodedata.digit(character, None)
    return _LIKENESSES.get(character, character) if digit is None else str(digit)
