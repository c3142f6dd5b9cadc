"""The comparison rules: what counts as the same value, and what never does."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.workflow.bundle import Rule
from surehand.core.workflow.compare import same

TEXTS = st.text(max_size=20)
DATES = st.dates().map(lambda day: day.isoformat())
DECIMALS = st.decimals(-1_000_000, 1_000_000, places=4).map(lambda number: f"{number:f}")
VALUES = {
    Rule.IDENTIFIER: TEXTS,
    Rule.CHOICE: TEXTS,
    Rule.TEXT: TEXTS,
    Rule.DATE: DATES,
    Rule.DECIMAL: DECIMALS,
}
KINDS = st.sampled_from(list(VALUES))


class TestLaws:
    """Each rule is an equality over the values of its kind."""

    @given(st.data(), KINDS)
    def test_a_value_is_the_same_as_itself(self, data: st.DataObject, rule: Rule) -> None:
        value = data.draw(VALUES[rule])

        assert same(rule, value, value)

    @given(st.data(), KINDS)
    def test_which_of_two_values_was_intended_does_not_matter(self, data: st.DataObject, rule: Rule) -> None:
        one, other = data.draw(VALUES[rule] | TEXTS), data.draw(VALUES[rule] | TEXTS)

        assert same(rule, one, other) == same(rule, other, one)

    @given(KINDS, TEXTS)
    def test_nothing_but_the_empty_text_is_the_same_as_the_empty_text(self, rule: Rule, text: str) -> None:
        assert same(rule, "", text) == (text == "")


class TestText:
    """Text forgives Unicode composition and the form of line endings, and nothing else."""

    @given(TEXTS, st.sampled_from(("NFC", "NFD")), st.sampled_from(("\n", "\r", "\r\n")))
    def test_composition_and_line_endings_are_forgiven(self, text: str, form: str, ending: str) -> None:
        lines = text.replace("\r", " ")
        changed = unicodedata.normalize("NFD" if form == "NFD" else "NFC", lines).replace("\n", ending)

        assert same(Rule.TEXT, lines, changed)

    @given(TEXTS, st.integers(0, 20), st.sampled_from((" ", "\u00a0", "\t", "a", "0", "\n", "\u200b")))
    def test_one_character_more_is_another_text(self, text: str, at: int, extra: str) -> None:
        at = min(at, len(text))

        assert not same(
            Rule.TEXT, text.replace("\r", " "), text[:at].replace("\r", " ") + extra + text[at:].replace("\r", " ")
        )

    @given(TEXTS, st.integers(0, 19))
    def test_a_prefix_is_another_text(self, text: str, length: int) -> None:
        plain = unicodedata.normalize("NFC", text.replace("\r", " "))

        assert same(Rule.TEXT, plain, plain[:length]) == (length >= len(plain))


class TestDifferences:
    """A real difference is never forgiven."""

    @pytest.mark.parametrize(
        ("rule", "expected", "seen"),
        [
            (Rule.IDENTIFIER, "01231456", "1231456"),
            (Rule.IDENTIFIER, "Jos\u00e9", "Jose\u0301"),
            (Rule.IDENTIFIER, "A7", "a7"),
            (Rule.TEXT, "a\u00a0b", "a b"),
            (Rule.TEXT, "trailing ", "trailing"),
            (Rule.TEXT, "Call back \U0001f6b2 in 2 weeks", "Call back "),
            (Rule.TEXT, "a\nb", "a b"),
            (Rule.TEXT, "a\n\nb", "a\r\nb"),
            (Rule.TEXT, "\ufb01", "fi"),
            (Rule.DATE, "1970-04-04", "1970-04-03"),
            (Rule.DATE, "2026-05-04", "2026-04-05"),
            (Rule.DATE, "1970-04-04", "1970-04-04T00:00:00Z"),
            (Rule.DATE, "1970-04-04", "04/04/1970"),
            (Rule.DATE, "1970-02-30", "1970-02-30"),
            (Rule.DECIMAL, "0.5", "5"),
            (Rule.DECIMAL, "0.55", "55"),
            (Rule.DECIMAL, "1.5", "1,5"),
            (Rule.DECIMAL, "0.5", ".5"),
            (Rule.DECIMAL, "1000.5", "1,000.5"),
            (Rule.DECIMAL, "1000", "1e3"),
            (Rule.DECIMAL, "12", " 12 "),
            (Rule.DECIMAL, "7", "007"),
            (Rule.DECIMAL, "2", "-2"),
            (Rule.DECIMAL, "3", "\u0663"),
            (Rule.CHOICE, "No", "Not at this time"),
            (Rule.CHOICE, "US Citizen", "Non-US Citizen"),
            (Rule.CHOICE, "Yes", "yes"),
        ],
    )
    def test_it_is_another_value(self, rule: Rule, expected: str, seen: str) -> None:
        assert not same(rule, expected, seen)

    @pytest.mark.parametrize(("expected", "seen"), [("0.5", "0.50"), ("12", "12.000"), ("0", "-0")])
    def test_a_decimal_is_compared_as_a_number(self, expected: str, seen: str) -> None:
        assert same(Rule.DECIMAL, expected, seen)
