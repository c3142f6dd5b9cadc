"""No answer is larger than one size, whatever a workflow holds; and no page loses what it does not show."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.modes import ROWS, Row, Start
from surehand.core.outcome.result import CheckedHow, FailedCheck
from surehand.core.overview import Unavailable, WorkflowMetrics, WorkflowOverview, opaque_id
from surehand.core.workflow.card import Card, CardInput
from surehand.core.workflow.params import ParameterType
from surehand.shell.mcp.answers import (
    MAX_ANSWER_BYTES,
    MAX_PROTECTED_BYTES,
    overview_answer,
    size_once,
    wire_size,
    with_protected,
    workflow_page,
)
from surehand.shell.mcp.frames import encode
from surehand.shell.mcp.rows import TABLE, tool_of
from surehand.shell.mcp.tools import declaration, tool_result

#: The character that takes most bytes on the wire.
WIDE = "\U0001f600"


def on_the_wire(answer: dict[str, Any]) -> int:
    """The bytes of the whole line that carries an answer."""
    return len(encode({"jsonrpc": "2.0", "id": 2**53, "result": tool_result(answer)}))


def largest_input(number: int) -> CardInput:
    """An input that is as large as one can be."""
    return CardInput(
        name=f"i{number:02}" + "x" * 37,
        type=ParameterType.IDENTIFIER,
        title=WIDE * 80,
        required=False,
        description=WIDE * 300,
        choices=(WIDE * 200,) * 200,
        examples=(WIDE * 80,) * 3,
        min_length=20_000,
        max_length=20_000,
        minimum="9" * 31,
        maximum="9" * 31,
        pattern=WIDE * 200,
    )


LARGEST = Card(
    name="w" * 40,
    title=WIDE * 80,
    purpose=WIDE * 300,
    done_means=WIDE * 300,
    inputs=tuple(largest_input(number) for number in range(50)),
)

METRICS = WorkflowMetrics(
    inputs=50,
    required_inputs=50,
    steps=201,
    origins=5,
    identity_fields=20,
    unique_identity_fields=20,
    read_back_fields=120,
    read_back_minimum=CheckedHow.SYSTEM_OF_RECORD,
    harmless_writes=20,
    blocked_writes=20,
    sockets=5,
    creates_a_record=True,
    duplicate_guard=True,
    encrypted=True,
    sealed=True,
)

OVERVIEW = WorkflowOverview(
    id=opaque_id("w"),
    available=True,
    name="w" * 40,
    digest="f" * 64,
    runs_enabled=True,
    ready=False,
    failed_checks=tuple(FailedCheck)[:20],
    metrics=METRICS,
    card=LARGEST,
)


@st.composite
def cards(draw: st.DrawFn) -> Card:
    """Cards of any size, most of them small."""
    text = st.text(st.sampled_from("a\u00c4" + WIDE), min_size=1, max_size=60)
    inputs = st.builds(
        CardInput,
        name=st.from_regex("[a-z][a-z0-9_]{0,39}", fullmatch=True),
        type=st.sampled_from(ParameterType),
        title=text,
        required=st.booleans(),
        description=st.none() | text,
        choices=st.none() | st.lists(text, min_size=1, max_size=60).map(tuple),
    )
    name = draw(st.from_regex("[a-z][a-z0-9_]{0,39}", fullmatch=True))
    return Card(
        name=name,
        title=draw(text),
        purpose=draw(text),
        done_means=draw(text),
        inputs=tuple(draw(st.lists(inputs, max_size=20))),
    )


UNAVAILABLE = st.builds(Unavailable, id=st.text(max_size=5).map(opaque_id), problem=st.just("file_changed"))


class TestNoAnswerIsLargerThanOneSize:
    """The largest card, and any list of cards, stay below it as they go over the wire."""

    def test_the_largest_card_by_itself_and_in_a_list(self) -> None:
        listed = workflow_page([LARGEST, LARGEST], [], None)

        assert size_once(json.loads(json.dumps({"name": WIDE * 10}))) > 10 * len(WIDE)
        assert on_the_wire(overview_answer(OVERVIEW)) <= MAX_ANSWER_BYTES
        assert on_the_wire(listed) <= MAX_ANSWER_BYTES
        assert len(listed["workflows"]) == 1  # type: ignore[arg-type]

    @given(st.lists(cards(), max_size=30, unique_by=lambda card: card.name), st.lists(UNAVAILABLE, max_size=80))
    def test_every_page_fits_and_all_pages_together_hold_everything_once(
        self, served: list[Card], refused: list[Unavailable]
    ) -> None:
        distinct = list({each.id: each for each in refused}.values())
        seen: list[str] = []
        after: str | None = None
        while True:
            page: Any = workflow_page(served, distinct, after)
            assert on_the_wire(page) <= MAX_ANSWER_BYTES
            seen += [each["name"] for each in page["workflows"]] + [each["id"] for each in page.get("unavailable", ())]
            if "next_cursor" not in page:
                break
            after = page["next_cursor"]

        assert seen == sorted(card.name for card in served) + sorted(each.id for each in distinct)

    def test_a_definition_that_is_too_large_is_left_out_and_that_is_said(self) -> None:
        answer = overview_answer(OVERVIEW)
        small = with_protected(answer, {"folder": "/f", "definition": {"a": "b"}})
        large = with_protected(answer, {"folder": "/f", "definition": {"a": WIDE * 50_000}})

        assert small["protected"] == {"folder": "/f", "definition": {"a": "b"}}
        assert large["protected"] == {"folder": "/f", "definition_left_out": True}
        assert wire_size(large) <= MAX_PROTECTED_BYTES


class TestTheToolsOfARowFitIntoOnePage:
    """What a server declares before its deprecated tools stays below the same size."""

    @pytest.mark.parametrize("start", Start)
    @pytest.mark.parametrize("more", [False, True])
    def test_a_row(self, start: Start, more: bool) -> None:
        row = ROWS[start]
        opened = Row(
            mode=row.mode,
            bundles=row.bundles,
            tools=row.tools,
            runs=row.runs,
            deprecated_runs=row.deprecated_runs,
            url_override=more,
            protected_export=more,
        )
        declared = [declaration(tool_of(name, opened)) for name in row.tools if name in TABLE]

        assert size_once({"tools": declared}) <= MAX_ANSWER_BYTES
