"""What is shown of a stop, and what reading the records again finds: nothing but what the plan and the records hold."""

from collections.abc import Mapping

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, PLAIN_INPUTS
from support.change_model import BUNDLES, INPUTS
from surehand.core.attention.decision import Finding
from surehand.core.attention.reread import found
from surehand.core.attention.stopped import control_of, identity_of, still_entered
from surehand.core.workflow import replay
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import Check, Choose, Fill, Record, Records, RecordsUnavailable

PLANS: tuple[tuple[Bundle, Mapping[str, str]], ...] = (
    (BUNDLE, PLAIN_INPUTS),
    *((bundle, INPUTS) for bundle in BUNDLES.values()),
)

OLD = Records((Record("e1", {"patient": "0472", "birth_date": "1970-04-03", "note": "old"}),))
INTENDED = Record("e2", dict(PLAIN_INPUTS))
OTHER = Record("e3", {**PLAIN_INPUTS, "note": "something else"})


def entered(command: object) -> tuple[str, str] | None:
    """What a command enters, and where; written without the module's own words."""
    match command:
        case Fill():
            return command.target.name, command.text
        case Choose():
            return command.target.name, command.label
        case Check():
            return command.target.name, str(command.checked).lower()
        case _:
            return None


class TestWhatIsShown:
    """The operator sees the one control of the stopped command, and every value that is still to be typed."""

    @pytest.mark.parametrize(("bundle", "inputs"), PLANS)
    def test_the_values_are_those_of_the_rest_of_the_plan(self, bundle: Bundle, inputs: Mapping[str, str]) -> None:
        plan = replay.compile_plan(bundle, inputs)
        for at in range(len(plan)):
            left = [pair for each in plan[at:] if (pair := entered(each.command)) is not None]

            assert [(value.name, value.text) for value in still_entered(plan, at)] == left

    def test_the_control_of_each_kind_of_command(self) -> None:
        plan = replay.compile_plan(BUNDLE, PLAIN_INPUTS)
        shown = {type(each.command).__name__: control_of(each.command) for each in plan[:12]}
        ends = {type(each.command).__name__: control_of(each.command) for each in plan[-2:]}

        assert shown == {
            "Open": ("", ""),
            "CheckPage": ("New entry", "heading"),
            "Fill": ("note", ""),
            "ReadValue": ("note", ""),
            "Click": ("Open", "button"),
        }
        assert ends == {"ReadTexts": ("", ""), "Save": ("Save", "button")}

    def test_the_intended_record_is_told_by_what_its_page_shows(self) -> None:
        shown = identity_of(replay.compile_plan(BUNDLE, PLAIN_INPUTS))

        assert [(value.name, value.text) for value in shown] == [("patient", "0471"), ("birth_date", "1970-04-04")]

    def test_a_value_does_not_show_when_it_is_printed(self) -> None:
        values = still_entered(replay.compile_plan(BUNDLE, PLAIN_INPUTS), 0)

        assert PLAIN_INPUTS["note"] in [value.text for value in values]
        assert [each for each in PLAIN_INPUTS.values() if each in repr(values) and each != "Urgent"] == []


FOUND: dict[str, tuple[Records | RecordsUnavailable, Finding]] = {
    "the intended record": (Records((*OLD.records, INTENDED)), Finding.SAVED_AS_INTENDED),
    "nothing new": (OLD, Finding.NOT_FOUND),
    "another record": (Records((*OLD.records, OTHER)), Finding.DIFFERS),
    "two of them": (Records((*OLD.records, INTENDED, evolve(INTENDED, key="e9"))), Finding.DIFFERS),
    "the intended one, and an old one gone": (Records((INTENDED,)), Finding.DIFFERS),
    "a record that was not asked what it holds": (Records((*OLD.records, Record("e2", None))), Finding.UNREADABLE),
    "records that cannot be told apart": (Records((INTENDED, INTENDED)), Finding.UNREADABLE),
    "no answer": (RecordsUnavailable(), Finding.UNREADABLE),
}


class TestWhatIsFound:
    """Only exactly the intended record, beside everything that was there, is found as intended."""

    @pytest.mark.parametrize("name", FOUND)
    def test_of(self, name: str) -> None:
        after, finding = FOUND[name]

        assert found(BUNDLE, PLAIN_INPUTS, OLD, after) is finding

    def test_a_baseline_that_cannot_be_told_apart_shows_nothing(self) -> None:
        doubled = Records((*OLD.records, *OLD.records))

        assert found(BUNDLE, PLAIN_INPUTS, doubled, OLD) is Finding.UNREADABLE

    @given(st.sampled_from(sorted(PLAIN_INPUTS)), st.text(max_size=3))
    def test_a_record_with_any_other_value_is_not_the_intended_one(self, member: str, text: str) -> None:
        changed = evolve(INTENDED, members={**PLAIN_INPUTS, member: f"~{text}"})

        assert found(BUNDLE, PLAIN_INPUTS, OLD, Records((*OLD.records, changed))) is Finding.DIFFERS
