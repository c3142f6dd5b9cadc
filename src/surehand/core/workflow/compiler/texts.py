"""Texts of a recording: which of them may stand in a workflow, and which are values or ids.

Laws of this module:

- A text that holds a known value (typed, chosen, or of a clicked row) is no structure; nor is a segment that looks
  like an id.
- In doubt a segment is an id: a template that is too wide is held to its page by a landmark, a value in a template
  by nothing.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from surehand.core.privacy import looks_like_identifier
from surehand.core.workflow.addresses import path_at
from surehand.core.workflow.bundle import DateForm
from surehand.core.workflow.compare import read_date
from surehand.core.workflow.operation import unescaped

#: Shorter texts are found in too many others to tell anything; they count only when they are the whole text.
_SHORTEST_PART: Final = 3
#: From this length on a text is also found inside words, as in an address.
_SHORTEST_INSIDE: Final = 6
#: A segment of at least this length that mixes letters and digits is an id.
_MIXED: Final = 8
_LONGEST_NAME: Final = 40


def date_forms(texts: tuple[str, ...]) -> tuple[DateForm, ...]:
    """The forms in which every one of the texts is a date."""
    return tuple(form for form in DateForm if all(read_date(form, text) for text in texts))


def words(text: str) -> str:
    """The words of a text: lower case, without marks, single blanks between and none around."""
    spread = unicodedata.normalize("NFKD", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", "".join(each for each in spread if not unicodedata.combining(each))))


@frozen
class KnownTexts:
    """The values of a recording."""

    _whole: frozenset[str]
    _parts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str], parts: Iterable[str]) -> "KnownTexts":
        """The texts that are looked for as a whole, and those that are looked for within others too."""
        whole = frozenset(words(text) or text.strip() for text in texts) - {""}
        long = {words(text) for text in parts if len(words(text)) >= _SHORTEST_PART}
        return cls(whole, tuple(sorted(long)))

    def held_by(self, text: str) -> bool:
        """Whether one of the texts holds this one as words."""
        plain = f" {words(text)} "
        return bool(plain.strip()) and any(plain in f" {each} " for each in self._whole)

    def in_text(self, text: str) -> bool:
        """Whether the text is a known one, holds it as words, or, when it is longer, anywhere."""
        plain = words(text) or text.strip()
        if plain in self._whole:
            return True
        spaced, squeezed = f" {plain} ", plain.replace(" ", "")
        return any(
            f" {part} " in spaced or (len(part) >= _SHORTEST_INSIDE and part.replace(" ", "") in squeezed)
            for part in self._parts
        )


def is_telling(text: str) -> bool:
    """Whether a typed text is so particular that a label of the app that holds it does not do so by chance."""
    plain = words(text)
    return " " in plain or len(plain) >= _MIXED or not plain.isalpha()


def looks_like_id(text: str) -> bool:
    """Whether a segment or a member of a query is an id of something, and not a name that a programmer gave."""
    digits = sum(each.isdigit() for each in text)
    mixed = len(text) >= _MIXED and digits > 0
    number = any(each.isdigit() for each in re.split("[._:~-]", text))
    return number or digits > 1 or mixed or looks_like_identifier(text)


def plain_text(text: str) -> str:
    """A percent-encoded text without the encoding; as it is where that is broken."""
    plain = unescaped(text)
    return text if plain is None else plain


def quoted(text: str) -> str:
    """The text as one piece of an address, percent-encoded."""
    return path_at("{text}", {"text": text})


def slug(text: str, otherwise: str) -> str:
    """A name in lower case for a caption; ``otherwise`` where the caption has no letters that names have."""
    ascii_only = re.sub("[^a-z0-9]+", "_", words(text)).strip("_")
    name = ascii_only if re.match("[a-z]", ascii_only) else f"{otherwise}_{ascii_only}".rstrip("_")
    return name[:_LONGEST_NAME].rstrip("_")


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The name, or the name with the first number that is not taken."""
    used = set(taken)
    if wanted not in used:
        return wanted
    tries = (f"{wanted[: _LONGEST_NAME - 4]}_{number}" for number in range(2, len(used) + 3))
    return next(each for each in tries if each not in used)
