"""The identifier guard: what must never pass, what must pass, and that no text can hold it up."""

import unicodedata
from datetime import date
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.privacy import looks_like_identifier

IDENTIFIERS = (
    # runs of digits, whole and split
    "12345",
    "1 2 3 4 5",
    "12-34-5",
    "12.345",
    "1/2/3/4/5",
    "1 - 2 - 3 - 4 - 5",
    "12\n345",
    "12\t345",
    "12\u00a0345",
    "12\u2009345",
    "12\u2013345",
    "12\u2212345",
    "12\u00b7345",
    "12\\345",
    "A12345Z",
    # national identifiers
    "123-45-6789",
    "123 45 6789",
    "123_45_6789",
    "123:45:6789",
    "123*45*6789",
    "AB 12 34 56 C",
    "RSSMRA85T10A562S",
    "1'234'567",
    "1, 2, 3, 4, 5, 6, 7",
    # dates of birth
    "1970-04-04",
    "1970/4/4",
    "4.4.1970",
    "4.4.70",
    "04/04/70",
    "12/31/99",
    "31.12.99",
    "4 - 4 - 70",
    "4 April 1970",
    "4th of April, 1970",
    "April 4, 1970",
    "APRIL 4TH 1970",
    "Apr 4 70",
    "4-Apr-70",
    "1970 Apr 4",
    "4. M\u00e4rz 1970",
    "4 f\u00e9vr. 70",
    "4 de abril de 70",
    "1970\u5e744\u67084\u65e5",
    # addresses
    "jane@example.org",
    "jane @ example.org",
    "jane (at) example.org",
    "jane[at]example",
    "jane\uff20example.org",
    # telephone numbers
    "+49 30 12",
    "+1 (555)",
    "(555) 123-4567",
    "555 123 4567",
    "+4930",
    # digits of other scripts, and digits with something between that is not seen
    "\uff11\uff12\uff13\uff14\uff15",
    "\u0661\u0662\u0663\u0664\u0665",
    "\u0967\u0968\u0969\u096a\u096b",
    "\u2460\u2461\u2462\u2463\u2464",
    "\u00b2\u00b3\u00b2\u00b3\u00b2",
    "\U0001d7cf\U0001d7d0\U0001d7d1\U0001d7d2\U0001d7d3",
    "1\u200b2\u200b3\u200b4\u200b5",
    "1\u00ad2\u00ad3\u00ad4\u00ad5",
    "1\ufe0f\u20e32\ufe0f\u20e33\ufe0f\u20e34\ufe0f\u20e35\ufe0f\u20e3",
)

ORDINARY = (
    "",
    "Enter a triage note",
    "Adds the note to the referral and reads it back.",
    "version 2.0",
    "Python 3.11",
    "v1.2.3",
    "within 24 hours",
    "24/7 support",
    "5 items",
    "3 of 4 steps",
    "at most 4,000 characters",
    "between 08:00 and 17:00",
    "8:00-17:00",
    "room 12, bed 3",
    "1/2 tablet",
    "10 mg/5 ml",
    "ages 5-17",
    "top 10 - 20 results",
    "section 4.2.1",
    "COVID-19",
    "ICD-10",
    "since 2026",
    "June 2026",
    "You may add 5 notes",
    "the 3rd of 4",
    "100 %",
    "@ noon",
    "a (at most) b",
    "step 1. Open the list. step 2. Choose the referral. step 3. Save.",
)

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NORMAL_FORMS: st.SearchStrategy[NormalForm] = st.sampled_from(("NFC", "NFD", "NFKC", "NFKD"))

#: How dates are written.
FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%y")

#: Words that stand in cards.
WORDS = st.lists(
    st.sampled_from(
        ("enter", "the", "note", "of", "a", "referral", "within", "days", "may", "Triage", "saved.", "(optional)", "-")
    ),
    max_size=8,
).map(" ".join)


class TestIdentifiersAreFound:
    """Five digits however split, national identifiers, dates of birth, addresses and telephone numbers."""

    @pytest.mark.parametrize("text", IDENTIFIERS)
    def test_alone(self, text: str) -> None:
        assert looks_like_identifier(text)

    @given(WORDS, st.sampled_from(IDENTIFIERS), WORDS)
    def test_between_any_words(self, before: str, identifier: str, after: str) -> None:
        assert looks_like_identifier(f"{before} {identifier} {after}")

    @given(WORDS, st.integers(10_000, 10**12), st.text(" ./-", max_size=3), WORDS)
    def test_any_number_of_five_digits_with_any_separators(
        self, before: str, number: int, separator: str, after: str
    ) -> None:
        assert looks_like_identifier(f"{before} {separator.join(str(number))} {after}")

    @given(st.dates(date(1850, 1, 1)), st.sampled_from(FORMS), WORDS)
    def test_any_date(self, day: date, form: str, before: str) -> None:
        assert looks_like_identifier(f"{before} {format(day, form)}")

    @given(st.lists(st.sampled_from("0\uff13\u0664\u096b\u0e59\U0001d7f7"), min_size=5, max_size=9))
    def test_digits_of_mixed_scripts(self, digits: list[str]) -> None:
        assert looks_like_identifier("".join(digits))

    @given(st.emails(), WORDS)
    def test_any_address(self, address: str, before: str) -> None:
        assert looks_like_identifier(f"{before} {address}")

    @given(st.sampled_from(IDENTIFIERS), NORMAL_FORMS)
    def test_in_every_normal_form(self, text: str, form: NormalForm) -> None:
        assert looks_like_identifier(unicodedata.normalize(form, text))


class TestOrdinaryTextPasses:
    """A guard that refuses everything would be of no use."""

    @pytest.mark.parametrize("text", ORDINARY)
    def test_an_example(self, text: str) -> None:
        assert not looks_like_identifier(text)

    @given(WORDS, st.integers(0, 999), WORDS)
    def test_words_with_a_small_number(self, before: str, number: int, after: str) -> None:
        assert not looks_like_identifier(f"{before} about {number} times {after}")

    @given(st.text(st.characters(categories=("Lu", "Ll", "Lo", "Zs"))))
    def test_letters_of_any_script(self, text: str) -> None:
        assert not looks_like_identifier(text)

    @given(st.integers(0, 99), st.integers(0, 99))
    def test_a_version_of_two_numbers(self, major: int, minor: int) -> None:
        assert not looks_like_identifier(f"version {major}.{minor}")


class TestNoTextHoldsTheGuardUp:
    """The time grows linearly with the text: a pattern that tries again and again would not end here."""

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize(
        "part",
        ["1 ", "1a", "1-a", "+", "+(", "(1", "a@ ", "[ at", "(at ", "jan ", "1 jan ", "12/", "1_", "aaaaaa11", " "],
    )
    def test_however_often_it_repeats(self, part: str) -> None:
        found = looks_like_identifier(part * 100_000)

        assert found is looks_like_identifier(part * 20)
