"""The pattern language of inputs: what it matches, what it refuses, and what it may cost."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surehand.core.workflow.pattern import (
    MAX_COUNT,
    MAX_DEPTH,
    MAX_PATTERN_LENGTH,
    MAX_POSITIONS,
    PatternError,
    compile_pattern,
)

_LITERALS = st.sampled_from(
    ("a", "b", "0", "_", "-", "é", "\n", "\U0001f6b2", "\\.", "\\\\", "\\-", "\\]", "\\&", "~", "/")
)
_CLASS_ENDS = st.sampled_from(("a", "c", "x", "0", "9", "_", "é", "\\-", "\\]", "\\^", "\\["))
_RANGES = st.sampled_from(("a-c", "0-9", "A-Z", "!-\\/", "\\d", "\\w", " "))


def _class(negated: str, parts: list[str]) -> str:
    return f"[{negated}{''.join(parts)}]"


_CLASSES = st.builds(_class, st.sampled_from(("", "^")), st.lists(_CLASS_ENDS | _RANGES, min_size=1, max_size=4))
_ATOMS = _LITERALS | _CLASSES | st.sampled_from(("\\d", "\\w"))
_QUANTIFIERS = st.sampled_from(("", "?", "*", "+", "{2}", "{0}", "{1,}", "{0,2}", "{1,3}"))


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = st.builds("({}){}".format, inner, _QUANTIFIERS)
    open_grouped = st.builds("(?:{}){}".format, inner, _QUANTIFIERS)
    return grouped | open_grouped | st.builds("{}{}".format, inner, inner) | st.builds("{}|{}".format, inner, inner)


PATTERNS = st.recursive(st.builds("{}{}".format, _ATOMS, _QUANTIFIERS), _grown, max_leaves=6)
TEXTS = st.text(st.sampled_from("abcxA09_-é\n\U0001f6b2.\\]&~/[^ "), max_size=8)


class TestMatching:
    """A pattern means what the same regular expression means, matched against the whole text with ASCII classes."""

    @given(PATTERNS, TEXTS)
    def test_agrees_with_a_full_match_of_the_standard_library(self, pattern: str, text: str) -> None:
        assume(len(pattern) <= MAX_PATTERN_LENGTH)

        assert compile_pattern(pattern).matches(text) == (re.fullmatch(pattern, text, re.ASCII) is not None)

    @given(PATTERNS, st.data())
    def test_agrees_on_texts_that_were_made_to_match(self, pattern: str, data: st.DataObject) -> None:
        assume(len(pattern) <= MAX_PATTERN_LENGTH)
        text = data.draw(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True))

        assert compile_pattern(pattern).matches(text)

    @given(PATTERNS, TEXTS)
    def test_the_portable_form_means_the_same(self, pattern: str, text: str) -> None:
        assume(len(pattern) <= MAX_PATTERN_LENGTH)
        compiled = compile_pattern(pattern)

        assert compiled.matches(text) == (re.fullmatch(compiled.portable, text) is not None)

    @pytest.mark.parametrize("digit", ["\u0663", "\u06f5", "\uff19"])
    def test_digits_and_word_characters_are_ascii(self, digit: str) -> None:
        assert [compile_pattern(r"\d").matches(digit), compile_pattern(r"\w").matches("é")] == [False, False]

    def test_a_trailing_newline_is_a_character_like_any_other(self) -> None:
        assert not compile_pattern("a+").matches("aa\n")


class TestRefusals:
    """Syntax outside the language is refused, never read as something else."""

    @pytest.mark.parametrize(
        "pattern",
        [
            *("", "^a", "a$", "a.b", "*", "a**", "a+?", "a++", "a|", "|a", "()", "(", "(a", "a)", "a{", "a{}", "a{,3}"),
            *(
                "a{1",
                "a{1,",
                "a{3,1}",
                "a{65}",
                "a{1,65}",
                "a{123456789}",
                "a{-1}",
                "{2}",
                "}",
                "]",
                "[",
                "[]",
                "[^]",
                "[a",
            ),
            *(
                "[a-]",
                "[-a]",
                "[a-\\d]",
                "[\\w-z]",
                "[z-a]",
                "[[:alpha:]]",
                "[a^b]",
                "\\",
                "\\s",
                "\\D",
                "\\b",
                "\\1",
                "\\u0041",
            ),
            *("(?=a)", "(?!a)", "(?<n>a)", "(?i)a", "(?P<n>a)", "[^\\d\\w\0-\U0010ffff]"),
        ],
    )
    def test_unknown_syntax_is_refused(self, pattern: str) -> None:
        with pytest.raises(PatternError):
            compile_pattern(pattern)

    @pytest.mark.parametrize(
        "pattern",
        [
            "a" * (MAX_PATTERN_LENGTH + 1),
            f"(a{{{MAX_COUNT}}}){{{MAX_COUNT}}}",
            f"(a{{{MAX_COUNT}}}){{5}}",
            "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1),
        ],
    )
    def test_a_pattern_that_is_too_large_is_refused(self, pattern: str) -> None:
        with pytest.raises(PatternError):
            compile_pattern(pattern)

    @given(st.text(st.sampled_from("ab()[]{}|?*+,-^$.\\dw019"), max_size=30))
    def test_every_text_is_compiled_within_the_limits_or_refused(self, pattern: str) -> None:
        try:
            compiled = compile_pattern(pattern)
        except PatternError:
            return

        assert compiled.positions <= MAX_POSITIONS


class TestCost:
    """No pattern can hang the server: the steps are at most positions times characters."""

    @pytest.mark.parametrize(
        "pattern",
        [
            "(a+)+",
            "(a*)*",
            "(a|a)*b",
            "(a|aa)+",
            "(a?){30}a{30}",
            "((a{1,8}){1,8})+b",
            "(((a*)*)*)*b",
            r"(\w*\w*)*\d",
            "(a?){64}",
        ],
    )
    def test_a_pattern_that_hangs_backtracking_takes_bounded_steps(self, pattern: str) -> None:
        compiled = compile_pattern(pattern)
        text = "a" * 4_000 + "!"

        run = compiled.run(text)

        assert not run.matched
        assert run.steps <= compiled.positions * len(text)

    @given(PATTERNS, TEXTS)
    def test_steps_are_bounded_by_positions_and_characters(self, pattern: str, text: str) -> None:
        assume(len(pattern) <= MAX_PATTERN_LENGTH)
        compiled = compile_pattern(pattern)

        assert compiled.run(text).steps <= compiled.positions * len(text)
