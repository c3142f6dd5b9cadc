"""What is kept of what a run did: closed words, numbers and names of members, and which of them matched."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, FIELDS, PLAIN_INPUTS
from surehand.core.schema import json_schema
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.commands import (
    Canceled,
    Command,
    Done,
    Fault,
    FaultKind,
    Fill,
    Observation,
    Open,
    OutOfTime,
    Record,
    Records,
    RecordsUnavailable,
    Texts,
    Wait,
)
from surehand.core.workflow.target import Target, TargetKind
from surehand.core.workflow.trace import Act, Compared, Did, Ended, Trace, act_of, compared

RIGHT = dict(PLAIN_INPUTS)
OLD = (Record("old", RIGHT), Record("older", None))
CANARY = "canary 4711"


class TestAnActHoldsNothingThatWasTypedOrRead:
    """A command is kept as its kind, its end and its duration."""

    def test_no_text_of_command_or_answer(self) -> None:
        fill = Fill(Target(TargetKind.LABEL, CANARY), CANARY, CANARY)
        acts = (act_of(fill, Texts((CANARY,)), 0.5), act_of(Open(f"/{CANARY}"), Done(), 0.1))
        trace = Trace(
            acts=acts,
            compared=compared(BUNDLE, PLAIN_INPUTS, Records(()), Records((Record(CANARY, {"note": CANARY}),))),
        )

        assert [(each.did, each.took_ms) for each in acts] == [(Did.FILLED, 500), (Did.OPENED, 100)]
        assert trace.compared
        assert "canary" not in json.dumps(to_wire(trace)) + repr(trace)

    @pytest.mark.parametrize(
        ("observation", "ended"),
        [
            (Done(), Ended.ANSWERED),
            (Records(()), Ended.ANSWERED),
            (RecordsUnavailable(), Ended.UNAVAILABLE),
            (Canceled(), Ended.STOPPED),
            (OutOfTime(), Ended.STOPPED),
            (Fault(FaultKind.TARGET_MISSING), Ended.FAULT),
        ],
    )
    def test_how_it_ended(self, observation: Observation, ended: Ended) -> None:
        act = act_of(Wait(1), observation, 0)

        assert (act.ended, act.fault is not None) == (ended, ended is Ended.FAULT)

    @given(st.floats(allow_nan=False))
    def test_a_duration_is_within_bounds(self, seconds: float) -> None:
        act = act_of(Wait(1), Done(), min(max(seconds, -1e9), 1e9))

        assert from_wire(to_wire(act), Act).unwrap() == act

    def test_every_command_has_its_word(self) -> None:
        assert len(get_args(Command)) == len(Did)
        assert json_schema(Trace)["additionalProperties"] is False


class TestEachMemberMatchedOrNot:
    """Of the record that came or changed, and of the one most like the intended one where there are several."""

    def test_a_right_record_matches_everywhere(self) -> None:
        told = compared(BUNDLE, PLAIN_INPUTS, Records(OLD), Records((*OLD, Record("new", RIGHT))))

        assert {each.matched for each in told} == {True}
        assert {each.member for each in told} >= set(FIELDS)

    @pytest.mark.parametrize("name", FIELDS)
    def test_one_other_value_is_one_mismatch(self, name: str) -> None:
        wrong = {**RIGHT, name: RIGHT.get(name, "") + "1"}
        told = compared(BUNDLE, PLAIN_INPUTS, Records(OLD), Records((*OLD, Record("new", wrong))))

        assert [each.member for each in told if not each.matched] == [name]

    def test_a_changed_record_counts_and_the_most_like_is_told(self) -> None:
        after = Records((Record("old", {**RIGHT, "note": "cut"}), Record("new", {})))
        told = compared(BUNDLE, PLAIN_INPUTS, Records(OLD), after)

        assert [each.member for each in told if not each.matched] == ["note"]

    @pytest.mark.parametrize("after", [OLD, (Record("older", RIGHT),), (Record("new", None),), ()])
    def test_nothing_that_came_is_nothing_compared(self, after: tuple[Record, ...]) -> None:
        assert compared(BUNDLE, PLAIN_INPUTS, Records(OLD), Records(after)) == ()

    def test_it_survives_its_wire_form(self) -> None:
        trace = Trace(
            acts=(Act(did=Did.SAVED, ended=Ended.FAULT, fault=FaultKind.ENGINE_BROKEN, took_ms=1),),
            left_out=2,
            compared=(Compared(member="note", matched=False),),
        )

        assert from_wire(json.loads(json.dumps(to_wire(trace))), Trace).unwrap() == trace
