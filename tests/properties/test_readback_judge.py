"""What two reads of the records prove."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, FIELDS, PATIENTS, PLAIN_INPUTS
from surehand.core.workflow.commands import Record, Records
from surehand.core.workflow.readback import Absent, Judgment, NotYet, Proven, Refuted, judge

RIGHT: Mapping[str, str] = dict(PLAIN_INPUTS)
OTHER: Mapping[str, str] = {**RIGHT, "patient": PATIENTS[2][0], "birth_date": PATIENTS[2][1]}
OLD = (Record("old", RIGHT), Record("older", OTHER))

MEMBERS = st.sampled_from((RIGHT, OTHER, {**RIGHT, "note": "cut"}, {}))
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

            assert old.items() <= now.items()
            assert now[new].members == RIGHT
