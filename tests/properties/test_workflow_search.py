"""What is typed to search a list: the label, or one word of it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.workflow.bundle import SearchBy
from surehand.core.workflow.search import search_text, words_of

LABELS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


class TestSearch:
    """What is typed stands in the label, whatever the label is; nothing is typed that is no word where there is one."""

    @given(LABELS, st.sampled_from(SearchBy))
    def test_it_stands_in_the_label_and_is_never_empty(self, label: str, by: SearchBy) -> None:
        assert search_text(by, label) in label
        assert search_text(by, label) != ""

    @given(LABELS)
    def test_the_words_are_all_that_is_no_punctuation(self, label: str) -> None:
        kept = [each for each in label if unicodedata.category(each)[0] in ("L", "M", "N")]

        assert "".join(words_of(label)) == "".join(kept)

    @pytest.mark.parametrize(
        ("label", "typed"),
        [
            ("Okafor, Jane (M1004)", ("Okafor, Jane (M1004)", "Okafor", "M1004")),
            ("Jose\u0301-Mar\u00eda", ("Jose\u0301-Mar\u00eda", "Jose\u0301", "Mar\u00eda")),
            ("ICU", ("ICU", "ICU", "ICU")),
            ("--", ("--", "--", "--")),
            (" a_b ", (" a_b ", "a", "b")),
        ],
    )
    def test_the_whole_the_first_and_the_last_word(self, label: str, typed: tuple[str, str, str]) -> None:
        assert tuple(search_text(by, label) for by in SearchBy) == typed
