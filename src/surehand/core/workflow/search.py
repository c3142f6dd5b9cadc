"""What is typed to search a list: the whole label of an option, or one word of it, as the app's search asks.

Laws of this module:

- What is typed stands in the label. It only makes the list offer the option; which one is chosen, the whole label says.
- A word is a run of letters, digits and the marks upon them. A label without a word is typed whole.
"""

import unicodedata
from typing import assert_never

from surehand.core.workflow.bundle import SearchBy


def words_of(label: str) -> list[str]:
    """The words of a label in their order."""
    return "".join(each if unicodedata.category(each)[0] in "LNM" else " " for each in label).split()


def search_text(by: SearchBy, label: str) -> str:
    """What is typed to find the option with this label."""
    words = words_of(label) or [label]
    match by:
        case SearchBy.WHOLE:
            return label
        case SearchBy.FIRST_WORD:
            return words[0]
        case SearchBy.LAST_WORD:
            return words[-1]
        case _:  # pragma: no cover
            assert_never(by)
