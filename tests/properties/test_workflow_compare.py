"""The comparison rules: what counts as the same value, and what never does."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.compare import read_date, same, written_date
from surehand.core.workflow.params import is_date

TEXTS = st.text(max_size=20)
DATES = st.dates().map(lambda day: day.isoformat())
FORMS = st.sampled_from(DateForm)
#: How each form writes a date, in the language of the standard library.
SPELLINGS = {
    DateForm.ISO: "%Y-%m-%d",
    DateForm.DAY_MONTH_SLASH: "%d/%m/%Y",
    DateForm.MONTH_DAY_SLASH: "%m/%d/%Y",
    DateForm.DAY_MONTH_DOT: "%d.%m.%Y",
    DateForm.DAY_MONTH_DASH: "%d-%m-%Y",
}
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

    @pytest.mark.parametrize("seen", ["a\nb\n", "a\rb\r", "a\r\nb\r\n", "a\r\nb\n"])
    def test_every_form_of_line_endings_is_the_same(self, seen: str) -> None:
        assert same(Rule.TEXT, "a\nb\n", seen)
        assert not same(Rule.TEXT, "a\n\nb\n", seen)

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


class TestDates:
    """A date is written and read in the app's form, one spelling each; a day is never taken for a month."""

    @given(st.dates(min_value=date(1000, 1, 1)), FORMS)
    def test_it_is_written_as_the_form_says(self, day: date, form: DateForm) -> None:
        assert written_date(form, day.isoformat()) == day.strftime(SPELLINGS[form])

    @given(DATES, FORMS)
    def test_what_was_written_is_read_again(self, day: str, form: DateForm) -> None:
        assert read_date(form, written_date(form, day)) == day
        assert same(Rule.DATE, day, written_date(form, day), form)

    @given(DATES, DATES, FORMS, FORMS)
    def test_another_spelling_or_another_day_is_never_the_same(
        self, day: str, other: str, form: DateForm, read: DateForm
    ) -> None:
        text = written_date(form, other)

        assert same(Rule.DATE, day, text, read) == (text == written_date(read, day))

    @given(DATES)
    def test_a_swapped_day_and_month_is_another_date_unless_they_are_equal(self, day: str) -> None:
        swapped = written_date(DateForm.MONTH_DAY_SLASH, day)

        assert same(Rule.DATE, day, swapped, DateForm.DAY_MONTH_SLASH) == (day[5:7] == day[8:10])

    @given(TEXTS | st.text("0123456789-./", max_size=12), FORMS)
    def test_any_other_text_is_no_date_and_is_left_alone(self, text: str, form: DateForm) -> None:
        read = read_date(form, text)

        assert read is None or written_date(form, read) == text
        assert is_date(text) or written_date(form, text) == text

    @pytest.mark.parametrize(
        ("form", "text"),
        [
            (DateForm.DAY_MONTH_SLASH, "4/5/2026"),
            (DateForm.DAY_MONTH_SLASH, "04/05/26"),
            (DateForm.DAY_MONTH_SLASH, "2026/05/04"),
            (DateForm.DAY_MONTH_SLASH, "04.05.2026"),
            (DateForm.DAY_MONTH_SLASH, "04/05/2026 "),
            (DateForm.DAY_MONTH_SLASH, "31/02/2026"),
            (DateForm.MONTH_DAY_SLASH, "13/01/2026"),
            (DateForm.DAY_MONTH_DOT, "04.05.2026."),
            (DateForm.DAY_MONTH_DOT, "04/05/2026"),
            (DateForm.DAY_MONTH_DASH, "04-05-2026-01"),
            (DateForm.ISO, "04/05/2026"),
            (DateForm.ISO, "\u0662026-05-04"),
            (DateForm.ISO, ""),
        ],
    )
    def test_what_is_no_date_of_the_form(self, form: DateForm, text: str) -> None:
        assert read_date(form, text) is None


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
