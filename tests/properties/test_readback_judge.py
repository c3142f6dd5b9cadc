"""What two reads of the records prove."""

from collections.abc import Mapping

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, FIELDS, ON_FORM, PATIENTS, PLAIN_INPUTS, label
from surehand.core.outcome.evidence import CheckLevel, PauseCategory
from surehand.core.workflow.bundle import Bundle, Effect
from surehand.core.workflow.commands import Record, Records
from surehand.core.workflow.readback import Absent, Judgment, NotYet, Proven, Refuted, Unread, hindrance, judge
from surehand.core.workflow.source import PageField, RecordPage

RIGHT: Mapping[str, str] = dict(PLAIN_INPUTS)
OTHER: Mapping[str, str] = {**RIGHT, "patient": PATIENTS[2][0], "birth_date": PATIENTS[2][1]}
OLD = (Record("old", RIGHT), Record("older", OTHER))

MEMBERS = st.sampled_from((RIGHT, OTHER, {**RIGHT, "note": "cut"}, {**RIGHT, "note": ""}, {}, None))
RECORDS = st.builds(
    Records, st.lists(st.builds(Record, st.sampled_from(("old", "older", "n1", "n2")), MEMBERS), max_size=4).map(tuple)
)


def judged(*after: Record, last: bool = True, baseline: tuple[Record, ...] = OLD) -> Judgment:
    """The judgment about these records."""
    return judge(BUNDLE, PLAIN_INPUTS, Records(baseline), Records(after), last=last)


class TestProof:
    """Exactly one new record that belongs to the intended one and holds every written value, and no other change."""

    def test_one_new_right_record_is_proof(self) -> None:
        assert judged(*OLD, Record("new", RIGHT), last=False) == Proven()

    def test_a_record_may_hold_more_than_was_written(self) -> None:
        assert judged(*OLD, Record("new", {**RIGHT, "author": "somebody"})) == Proven()

    def test_the_order_of_a_read_does_not_matter(self) -> None:
        assert judged(Record("new", RIGHT), *reversed(OLD)) == Proven()

    def test_a_right_record_that_was_there_before_is_no_proof(self) -> None:
        assert judged(*OLD) == Absent()

    @pytest.mark.parametrize("name", [*FIELDS, "patient", "birth_date"])
    def test_a_record_that_misses_one_value_is_no_proof(self, name: str) -> None:
        missing = {key: value for key, value in RIGHT.items() if key != name}

        assert judged(*OLD, Record("new", missing)) == Refuted()

    @pytest.mark.parametrize("name", [*FIELDS, "patient", "birth_date"])
    def test_a_record_with_one_other_value_is_no_proof(self, name: str) -> None:
        assert judged(*OLD, Record("new", {**RIGHT, name: RIGHT[name] + "1"})) == Refuted()

    @pytest.mark.parametrize(
        "after",
        [
            (Record("old", RIGHT), Record("older", OTHER), Record("new", RIGHT), Record("other", OTHER)),
            (Record("old", {**RIGHT, "note": "changed"}), Record("older", OTHER), Record("new", RIGHT)),
            (Record("old", RIGHT), Record("new", RIGHT)),
            (Record("old", {**RIGHT, "note": "changed"}), Record("older", OTHER)),
            (Record("older", OTHER),),
        ],
    )
    def test_any_other_change_is_no_proof(self, after: tuple[Record, ...]) -> None:
        assert judged(*after, last=False) == NotYet()
        assert judged(*after) == Refuted()

    def test_two_new_right_records_are_a_duplicate_at_once(self) -> None:
        assert judged(*OLD, Record("n1", RIGHT), Record("n2", RIGHT), last=False) == Refuted()

    @pytest.mark.parametrize("last", [False, True])
    def test_a_repeated_key_is_no_proof(self, last: bool) -> None:
        expected = Refuted() if last else NotYet()

        assert judged(*OLD, Record("new", RIGHT), Record("new", RIGHT), last=last) == expected
        assert judged(*OLD, Record("new", RIGHT), baseline=(*OLD, OLD[0]), last=last) == expected

    def test_an_input_that_was_left_out_is_an_empty_or_an_absent_member(self) -> None:
        inputs = {name: text for name, text in PLAIN_INPUTS.items() if name != "remark"}
        new = [{**inputs}, {**inputs, "remark": ""}, {**inputs, "remark": "x"}]

        found = [judge(BUNDLE, inputs, Records(OLD), Records((*OLD, Record("new", each))), last=True) for each in new]

        assert found == [Proven(), Proven(), Refuted()]


class TestTime:
    """Time turns doubt into an answer: nothing is refuted for being late, and absence is no proof of absence."""

    def test_nothing_new_is_not_yet_and_then_absent(self) -> None:
        assert [judged(*OLD, last=False), judged(*OLD)] == [NotYet(), Absent()]

    @given(RECORDS, RECORDS)
    def test_the_last_read_is_never_undecided_and_no_read_is_absent_before(
        self, baseline: Records, after: Records
    ) -> None:
        early = judge(BUNDLE, PLAIN_INPUTS, baseline, after, last=False)
        late = judge(BUNDLE, PLAIN_INPUTS, baseline, after, last=True)

        assert late != NotYet()
        assert early != Absent()
        assert early in (late, NotYet())
        assert (early == Proven()) == (late == Proven())

    @given(RECORDS, RECORDS)
    def test_proof_takes_a_baseline_that_is_kept_and_one_key_more(self, baseline: Records, after: Records) -> None:
        if judge(BUNDLE, PLAIN_INPUTS, baseline, after, last=True) == Proven():
            old = {record.key: record for record in baseline.records}
            now = {record.key: record for record in after.records}
            (new,) = now.keys() - old.keys()

            assert all(key in now and each in (now[key], Record(key, None)) for key, each in old.items())
            assert now[new].members == RIGHT


def member(**more: str) -> dict[str, str]:
    """A record of the intended patient with other members."""
    return {**RIGHT, **more}


OTHERS = (Record("older", OTHER),)
BEFORE = Record("old", {**RIGHT, "note": "before", "dose": "9", "allergy": "nuts", "version": "1"})
AFTER = Record("old", {**RIGHT, "allergy": "nuts", "version": "2"})
CHANGING = evolve(
    BUNDLE,
    read_back=evolve(
        BUNDLE.read_back, effect=Effect.UPDATE, may_change=("version",), level=CheckLevel.SEPARATE_SESSION
    ),
)
NAMELESS = (Record("old", OTHER), *OTHERS)


def changed(*after: Record, last: bool = True, baseline: tuple[Record, ...] = (BEFORE, *OTHERS)) -> Judgment:
    """The judgment about a change."""
    return judge(CHANGING, PLAIN_INPUTS, Records(baseline), Records(after), last=last)


class TestChange:
    """The one named record holds every written value now and did not before, and all else is as it was."""

    def test_a_changed_record_is_proof(self) -> None:
        assert changed(AFTER, *OTHERS, last=False) == Proven()

    @pytest.mark.parametrize("name", FIELDS)
    def test_a_value_that_did_not_arrive_is_no_proof(self, name: str) -> None:
        members = {**(AFTER.members or {}), name: RIGHT[name] + "1"}

        assert changed(Record("old", members), *OTHERS, last=False) == NotYet()
        assert changed(Record("old", members), *OTHERS) == Refuted()

    @pytest.mark.parametrize(
        "after",
        [
            (Record("old", {**(AFTER.members or {}), "allergy": ""}), *OTHERS),
            (Record("old", {**(AFTER.members or {}), "more": "x"}), *OTHERS),
            (Record("old", {**(AFTER.members or {}), "patient": "472"}), *OTHERS),
            (AFTER, Record("older", {**OTHER, "note": "changed"})),
            (AFTER,),
            (AFTER, *OTHERS, Record("new", OTHER)),
            (AFTER, *OTHERS, Record("new", RIGHT)),
            (Record("new", AFTER.members), *OTHERS),
            OTHERS,
        ],
        ids=["lost", "gained", "renamed", "another", "gone", "come", "twin", "replaced", "deleted"],
    )
    def test_any_other_change_is_no_proof(self, after: tuple[Record, ...]) -> None:
        assert changed(*after, last=False) == NotYet()
        assert changed(*after) == Refuted()

    def test_two_new_right_records_are_refuted_at_once(self) -> None:
        assert changed(BEFORE, *OTHERS, Record("n1", RIGHT), Record("n2", RIGHT), last=False) == Refuted()

    def test_no_change_is_absent(self) -> None:
        assert [changed(BEFORE, *OTHERS, last=False), changed(BEFORE, *OTHERS)] == [NotYet(), Absent()]

    def test_what_may_change_means_nothing(self) -> None:
        bumped = Record("old", {**(BEFORE.members or {}), "version": "2"})

        assert changed(bumped, *OTHERS) == Absent()
        assert changed(AFTER, Record("older", {**OTHER, "version": "7"})) == Proven()

    def test_an_absent_member_is_the_empty_text(self) -> None:
        assert changed(Record("old", {**(AFTER.members or {}), "more": ""}), *OTHERS) == Proven()

    def test_a_record_that_held_all_before_proves_nothing(self) -> None:
        assert changed(AFTER, *OTHERS, baseline=(AFTER, *OTHERS)) == Absent()

    @pytest.mark.parametrize("baseline", [NAMELESS, (BEFORE, Record("older", RIGHT))], ids=["none", "two"])
    def test_a_record_that_was_not_the_only_one_proves_nothing(self, baseline: tuple[Record, ...]) -> None:
        after = (AFTER, *baseline[1:])

        assert changed(*after, baseline=baseline) == Refuted()


class TestWhatIsNotRead:
    """Members that were not read help to prove nothing; of a record that the baseline only counts, no more is asked."""

    COUNTED = (Record("old", None), Record("older", None))

    def test_a_new_record_among_counted_ones_is_proof(self) -> None:
        assert judged(*self.COUNTED, Record("new", RIGHT), baseline=self.COUNTED) == Proven()
        assert judged(*OLD, Record("new", RIGHT), baseline=self.COUNTED) == Proven()

    def test_a_counted_record_that_is_gone_is_no_proof(self) -> None:
        assert judged(self.COUNTED[0], Record("new", RIGHT), baseline=self.COUNTED) == Refuted()

    def test_nothing_new_among_counted_ones_is_absent(self) -> None:
        assert judged(*self.COUNTED, baseline=self.COUNTED) == Absent()

    @pytest.mark.parametrize(
        "after",
        [
            (*OLD, Record("new", None)),
            (Record("old", None), OLD[1], Record("new", RIGHT)),
            (*OLD, Record("new", RIGHT), Record("more", None)),
        ],
    )
    def test_what_decides_and_was_not_read_is_told(self, after: tuple[Record, ...]) -> None:
        assert [judged(*after, last=False), judged(*after)] == [NotYet(), Unread()]

    def test_of_a_change_too(self) -> None:
        assert changed(Record("old", None), *OTHERS) == Unread()
        assert changed(AFTER, Record("older", None)) == Unread()
        assert changed(AFTER, *OTHERS, baseline=(Record("old", None), *OTHERS)) == Absent()

    @pytest.mark.parametrize("bundle", [BUNDLE, CHANGING], ids=["create", "change"])
    @given(st.data(), RECORDS, RECORDS)
    def test_less_that_is_read_afterwards_never_proves_more(
        self, bundle: Bundle, data: st.DataObject, baseline: Records, after: Records
    ) -> None:
        hidden = data.draw(st.lists(st.booleans(), min_size=len(after.records), max_size=len(after.records)))
        less = Records(
            tuple(
                evolve(each, members=None) if hide else each for each, hide in zip(after.records, hidden, strict=True)
            )
        )
        proven = [judge(bundle, PLAIN_INPUTS, baseline, each, last=True) == Proven() for each in (after, less)]

        assert proven[0] >= proven[1]


KEYED = evolve(BUNDLE, business_key=("patient", "due"))
DONE = Record("done", {"patient": RIGHT["patient"], "due": RIGHT["due"], "note": "another"})
PAGED = evolve(
    BUNDLE,
    read_back=evolve(
        BUNDLE.read_back,
        source=RecordPage("/entries/{patient}", ON_FORM, tuple(PageField(name, label(name)) for name in RIGHT)),
        level=CheckLevel.SEPARATE_SESSION,
    ),
)


class TestBeforeTheSave:
    """Work that the records show as done already, and a change that does not find its one record, are not begun."""

    @pytest.mark.parametrize(
        ("bundle", "records", "category"),
        [
            (BUNDLE, OLD, None),
            (KEYED, OTHERS, None),
            (KEYED, (*OTHERS, DONE), PauseCategory.POSSIBLE_DUPLICATE),
            (KEYED, (Record("done", member(due="2026-05-05")),), None),
            (KEYED, (Record("done", None),), None),
            (KEYED, (), None),
            (PAGED, (), None),
            (PAGED, (Record("the record", OTHER),), PauseCategory.POSSIBLE_DUPLICATE),
            (CHANGING, (BEFORE, *OTHERS), None),
            (CHANGING, (AFTER, *OTHERS), PauseCategory.POSSIBLE_DUPLICATE),
            (CHANGING, OTHERS, PauseCategory.IDENTITY),
            (CHANGING, (), PauseCategory.IDENTITY),
            (CHANGING, (Record("old", None), *OTHERS), PauseCategory.IDENTITY),
            (CHANGING, (BEFORE, Record("twin", RIGHT)), PauseCategory.DISAMBIGUATION),
        ],
    )
    def test_what_stops_it(self, bundle: Bundle, records: tuple[Record, ...], category: PauseCategory | None) -> None:
        assert hindrance(bundle, PLAIN_INPUTS, Records(records)) is category

    @given(RECORDS)
    def test_a_business_key_stops_exactly_before_an_equal_record(self, baseline: Records) -> None:
        key = (RIGHT["patient"], RIGHT["due"])
        there = [(each.members or {}) for each in baseline.records]

        found = hindrance(KEYED, PLAIN_INPUTS, baseline) is PauseCategory.POSSIBLE_DUPLICATE
        assert found == (key in [(each.get("patient"), each.get("due")) for each in there])
