"""From what a page declares about a field to the input of a workflow, and from a text to what a caller would give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.workflow.bundle import DateForm, Rule
from surehand.core.workflow.compare import written_date
from surehand.core.workflow.compiler.slots import Entry, Slot, SlotKind, field_slot, named_slot, naming, title_of
from surehand.core.workflow.compiler.texts import (
    KnownTexts,
    date_forms,
    free_name,
    is_telling,
    looks_like_id,
    plain_text,
    quoted,
    slug,
    words,
)
from surehand.core.workflow.params import Parameter, ParameterType, is_date
from surehand.core.workflow.recording import Control, FieldFacts


def slot_of(
    control: Control,
    *texts: str,
    facts: tuple[FieldFacts, ...] = (),
    seen: set[Rule] | None = None,
    searched: bool = False,
    before: bool = False,
) -> Slot:
    """The slot of a field with these texts, one for each recording."""
    declared = facts or tuple(FieldFacts(control=control, caption="Note") for _ in texts)
    entry = Entry(facts=declared, texts=texts, seen=seen or set(), searched=searched, before=before)
    return field_slot("note", "Note", entry)


def options_of(slot: Slot) -> list[tuple[str, ParameterType]]:
    """Each reading of a slot, as its option and its type."""
    return [(reading.option, reading.parameter.type) for reading in slot.readings]


def parameter_of(facts: FieldFacts, *texts: str) -> Parameter:
    """The first declaration of a field that declares this in every recording."""
    return slot_of(facts.control, *texts, facts=tuple(facts for _ in texts)).readings[0].parameter


LINE, TEXT, DATE, DECIMAL, CHOICE = (
    ParameterType.LINE,
    ParameterType.TEXT,
    ParameterType.DATE,
    ParameterType.DECIMAL,
    ParameterType.CHOICE,
)


class TestTypes:
    """The control says the type; where a text could mean several things, a person is asked."""

    @pytest.mark.parametrize(
        ("control", "texts", "expected"),
        [
            (Control.LINE, ("call back",), [("text", LINE)]),
            (Control.LINE, ("two\nlines",), [("text", TEXT)]),
            (Control.TEXT, ("one line",), [("text", TEXT)]),
            (Control.EDITABLE, ("one line",), [("text", LINE)]),
            (Control.LINE, ("2026-05-04",), [("text", LINE), ("yyyy-mm-dd", DATE)]),
            (Control.LINE, ("04/05/2026",), [("text", LINE), ("dd/mm/yyyy", DATE), ("mm/dd/yyyy", DATE)]),
            (Control.LINE, ("31/05/2026",), [("text", LINE), ("dd/mm/yyyy", DATE)]),
            (Control.LINE, ("31/05/2026", "01/06/2026"), [("dd/mm/yyyy", DATE)]),
            (Control.LINE, ("04/05/2026", "05/06/2026"), [("text", LINE), ("dd/mm/yyyy", DATE), ("mm/dd/yyyy", DATE)]),
            (Control.LINE, ("04/05/2026", "soon"), [("text", LINE)]),
            (Control.LINE, ("7.5",), [("text", LINE), ("decimal", DECIMAL)]),
            (Control.LINE, ("0471",), [("text", LINE)]),
            (Control.NUMBER, ("7.5",), [("input", DECIMAL)]),
            (Control.NUMBER, ("",), [("input", DECIMAL)]),
            (Control.NUMBER, ("7,5",), [("text", LINE)]),
            (Control.DATE, ("2026-05-04",), [("input", DATE)]),
            (Control.DATE, ("tomorrow",), [("text", LINE)]),
            (Control.CHECKBOX, ("true",), [("input", CHOICE)]),
        ],
    )
    def test_a_control_and_its_texts(
        self, control: Control, texts: tuple[str, ...], expected: list[tuple[str, ParameterType]]
    ) -> None:
        assert options_of(slot_of(control, *texts)) == expected

    @pytest.mark.parametrize(
        ("seen", "expected"),
        [
            ({Rule.DECIMAL}, [("input", DECIMAL)]),
            ({Rule.DECIMAL, Rule.TEXT}, [("text", LINE), ("decimal", DECIMAL)]),
            ({Rule.IDENTIFIER}, [("text", LINE), ("decimal", DECIMAL)]),
        ],
    )
    def test_a_text_that_the_app_shows_as_another_number_is_a_number(
        self, seen: set[Rule], expected: list[tuple[str, ParameterType]]
    ) -> None:
        assert options_of(slot_of(Control.LINE, "7.50", seen=seen)) == expected

    @pytest.mark.parametrize(
        ("facts", "text", "expected"),
        [
            (FieldFacts(control=Control.SELECT, options=("Low", "High")), "Low", [("listed", CHOICE), ("open", LINE)]),
            (FieldFacts(control=Control.RADIO, options=("Low", "High")), "Low", [("listed", CHOICE), ("open", LINE)]),
            (FieldFacts(control=Control.SELECT, options=("", "High")), "High", [("listed", CHOICE), ("open", LINE)]),
            (FieldFacts(control=Control.LIST, options=("Low", "High")), "Else", [("open", LINE)]),
            (FieldFacts(control=Control.LIST), "Low", [("open", LINE)]),
            (FieldFacts(control=Control.SELECT, options=("x" * 201,)), "x" * 201, [("open", LINE)]),
            (FieldFacts(control=Control.SELECT, options=("a\u2028b",)), "a\u2028b", [("open", LINE)]),
            (
                FieldFacts(control=Control.SELECT, options=tuple(f"option {n}" for n in range(201))),
                "option 7",
                [("open", LINE)],
            ),
        ],
    )
    def test_options(self, facts: FieldFacts, text: str, expected: list[tuple[str, ParameterType]]) -> None:
        assert options_of(slot_of(facts.control, text, facts=(facts,))) == expected

    @pytest.mark.parametrize(
        ("options", "choices"),
        [
            (("---------", "Low", "High"), ("Low", "High")),
            (("", "Low", "\u2013"), ("Low",)),
            (("Please select kind", "Low"), ("Low",)),
            (("-- Select a kind --", "Low"), ("Low",)),
            (("Choose...", "Low"), ("Low",)),
            (("Low", "Please choose for me"), ("Low", "Please choose for me")),
            (("Select Medical", "Low"), ("Select Medical", "Low")),
            (("Pick up", "Low"), ("Pick up", "Low")),
        ],
    )
    def test_what_asks_for_a_choice_is_none(self, options: tuple[str, ...], choices: tuple[str, ...]) -> None:
        facts = FieldFacts(control=Control.SELECT, options=options)

        assert slot_of(Control.SELECT, "Low", facts=(facts,)).readings[0].parameter.choices == choices

    def test_what_was_chosen_all_the_same_leaves_the_list_open(self) -> None:
        facts = FieldFacts(control=Control.SELECT, options=("---------", "Low"))

        assert options_of(slot_of(Control.SELECT, "---------", facts=(facts,))) == [("open", LINE)]

    def test_the_options_of_a_searched_list_are_not_all(self) -> None:
        facts = FieldFacts(control=Control.LIST, options=("Low", "High"))

        assert options_of(slot_of(Control.LIST, "Low", facts=(facts,), searched=True)) == [("open", LINE)]

    def test_options_that_differ_between_recordings_are_not_all(self) -> None:
        one = FieldFacts(control=Control.SELECT, options=("Low", "High"))
        other = FieldFacts(control=Control.SELECT, options=("Low", "Higher"))

        assert options_of(slot_of(Control.SELECT, "Low", "Low", facts=(one, other))) == [("open", LINE)]


class TestLimits:
    """Limits of the page become limits of the input, as far as they can be said and take what was recorded."""

    @pytest.mark.parametrize(
        ("facts", "text", "expected"),
        [
            (FieldFacts(control=Control.LINE, required=True), "a", {"required": True, "min_length": 1}),
            (FieldFacts(control=Control.LINE), "a", {"required": False, "min_length": 0}),
            (FieldFacts(control=Control.LINE, max_length=5), "abc", {"max_units": 5}),
            (FieldFacts(control=Control.LINE, max_length=2), "abc", {"max_units": None}),
            (FieldFacts(control=Control.LINE, max_length=0), "abc", {"max_units": None}),
            (FieldFacts(control=Control.LINE, max_length=50_000), "abc", {"max_units": None}),
            (FieldFacts(control=Control.LINE, pattern="[a-z]+"), "abc", {"pattern": "[a-z]+"}),
            (FieldFacts(control=Control.LINE, pattern="[a-z]+"), "ABC", {"pattern": None}),
            (FieldFacts(control=Control.LINE, pattern="(?=a)a"), "a", {"pattern": None}),
            (FieldFacts(control=Control.LINE, pattern="(?=a)a", max_length=9), "a", {"pattern": None, "max_units": 9}),
            (FieldFacts(control=Control.TEXT, pattern="[a-z]+"), "abc", {"pattern": None}),
            (FieldFacts(control=Control.NUMBER, minimum="0", maximum="9.5"), "7", {"minimum": "0", "maximum": "9.5"}),
            (FieldFacts(control=Control.NUMBER, minimum="8"), "7", {"minimum": None}),
            (FieldFacts(control=Control.NUMBER, minimum="9", maximum="1"), "7", {"minimum": None, "maximum": None}),
            (FieldFacts(control=Control.NUMBER, minimum="few"), "7", {"minimum": None}),
        ],
    )
    def test_a_declared_limit(self, facts: FieldFacts, text: str, expected: dict[str, object]) -> None:
        parameter = parameter_of(facts, text)

        assert {name: getattr(parameter, name) for name in expected} == expected

    def test_a_bound_that_recordings_declare_differently_is_none(self) -> None:
        facts = (FieldFacts(control=Control.NUMBER, minimum="1"), FieldFacts(control=Control.NUMBER, minimum="2"))

        assert slot_of(Control.NUMBER, "7", "8", facts=facts).readings[0].parameter.minimum is None

    def test_the_shortest_limit_of_all_recordings_counts(self) -> None:
        facts = (FieldFacts(control=Control.LINE, max_length=9), FieldFacts(control=Control.LINE, max_length=5))

        assert slot_of(Control.LINE, "a", "b", facts=facts).readings[0].parameter.max_units == 5

    def test_a_field_that_held_something_must_be_given_and_may_be_emptied(self) -> None:
        parameter = slot_of(Control.LINE, "a", before=True).readings[0].parameter

        assert (parameter.required, parameter.min_length) == (True, 0)

    def test_a_choice_and_a_box_must_be_given(self) -> None:
        assert slot_of(Control.CHECKBOX, "true").readings[0].parameter.required
        assert slot_of(Control.SELECT, "Low").required

    @pytest.mark.parametrize(
        ("control", "text"), [(Control.LINE, "a"), (Control.DATE, "2026-05-04"), (Control.NUMBER, "1")]
    )
    def test_what_names_a_record_must_be_given(self, control: Control, text: str) -> None:
        reading = naming(slot_of(control, text).readings[0])

        assert reading.parameter.required
        assert control is not Control.LINE or reading.parameter.min_length == 1

    def test_a_key_takes_what_was_recorded_however_long(self) -> None:
        limits = [
            named_slot(SlotKind.ROW, "record", "Record", ("k" * length,)).readings[0].parameter.max_length
            for length in (200, 201)
        ]

        assert limits == [200, 4_000]


class TestWeakTexts:
    """A text that a page may show without meaning it counts only where the place is named like the field."""

    @pytest.mark.parametrize(
        ("control", "texts", "expected"),
        [
            (Control.LINE, ("call back",), False),
            (Control.LINE, ("abc",), True),
            (Control.LINE, ("abc", "abd"), False),
            (Control.LINE, ("71",), False),
            (Control.SELECT, ("Follow up soon",), True),
            (Control.SELECT, ("Low", "High"), False),
            (Control.CHECKBOX, ("true",), True),
            (Control.LIST, ("Ada Example",), False),
            (Control.LIST, ("Low",), True),
        ],
    )
    def test_what_is_weak(self, control: Control, texts: tuple[str, ...], expected: bool) -> None:
        assert slot_of(control, *texts).weak == expected

    @pytest.mark.parametrize(
        ("name", "expected"), [("note", True), ("record.Notes", True), ("visit.noted_at", True), ("patient", False)]
    )
    def test_what_is_named_like_the_field(self, name: str, expected: bool) -> None:
        assert slot_of(Control.LINE, "a").is_like(name) == expected


class TestMeanings:
    """What a caller would give is the date as ISO, and any other text as it is."""

    @given(day=st.dates().map(str), form=st.sampled_from(DateForm))
    def test_a_written_date_is_read_back(self, day: str, form: DateForm) -> None:
        slot = slot_of(Control.LINE, written_date(form, day))
        readings = [reading for reading in slot.readings if reading.form is form and reading.rule is Rule.DATE]

        assert [reading.meaning(slot.texts[0]) for reading in readings] == [day]
        assert form in date_forms(slot.texts)

    @given(text=st.text(max_size=12))
    def test_any_other_text_stays(self, text: str) -> None:
        assert is_date(text) or slot_of(Control.TEXT, text).readings[0].meaning(text) == text


class TestNames:
    """Names come from captions: in small letters, each once, and never empty."""

    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("First name", "first_name"),
            ("Weight (kg) *", "weight_kg"),
            ("Straße", "strasse"),
            ("Größe 2", "grosse_2"),
            ("2nd line", "field_2nd_line"),
            ("予定", "field"),
            ("x" * 60, "x" * 40),
        ],
    )
    def test_a_caption(self, caption: str, expected: str) -> None:
        assert slug(caption, "field") == expected

    @given(wanted=st.from_regex("[a-z]{1,40}", fullmatch=True), count=st.integers(1, 20))
    def test_every_name_is_free_once(self, wanted: str, count: int) -> None:
        taken: list[str] = []
        for _ in range(count):
            taken.append(free_name(wanted, taken))

        assert len({*taken}) == count
        assert all(len(name) <= 40 for name in taken)

    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("Note:", "Note"),
            ("id \u25bc", "id"),
            ("* Due\non", "Due on"),
            ("Born (year)", "Born (year)"),
            ("*", "Field 7"),
        ],
    )
    def test_a_title(self, caption: str, expected: str) -> None:
        assert title_of(caption, "Field 7") == expected


class TestKnownTexts:
    """A known text is found as a whole, as words, and, when it is longer, inside an address."""

    KNOWN = KnownTexts.of(("Ada Example", "SYN-1042", "7", "Qi"), ("Ada Example", "SYN-1042", "7", "Qi"))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Ada Example", True),
            ("Record of ADA  example, born", True),
            ("ada-example", True),
            ("/people/adaexample.html", True),
            ("syn1042", True),
            ("7", True),
            ("Line 7", False),
            ("Qi", True),
            ("Qi gong", False),
            ("Ada", False),
            ("Examples", False),
            ("", False),
        ],
    )
    def test_where_it_is_found(self, text: str, expected: bool) -> None:
        assert self.KNOWN.in_text(text) == expected

    def test_a_mark_without_letters_is_a_text_too(self) -> None:
        assert KnownTexts.of(("\U0001f642",), ()).in_text("\U0001f642")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("17", True),
            ("4.json", True),
            ("a1b2", True),
            ("document7", True),
            ("v2", False),
            ("notes", False),
            ("a@b.c", True),
        ],
    )
    def test_what_looks_like_an_id(self, text: str, expected: bool) -> None:
        assert looks_like_id(text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"), [("note", False), ("two words", True), ("longerword", True), ("A7", True)]
    )
    def test_what_no_label_has_by_chance(self, text: str, expected: bool) -> None:
        assert is_telling(text) == expected

    @given(text=st.text(st.characters(codec="utf-8"), max_size=12))
    def test_what_is_encoded_is_read_again(self, text: str) -> None:
        assert plain_text(quoted(text)) == text

    def test_a_broken_encoding_stays(self) -> None:
        assert plain_text("100%") == "100%"

    @given(text=st.text(max_size=20))
    def test_words_are_their_own_words(self, text: str) -> None:
        assert words(words(text)) == words(text)
