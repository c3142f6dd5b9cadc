"""What is told of a plan and of its runs: pictures, cards and answers."""

import re
from itertools import pairwise
from typing import Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.plans import branch, definition, definitions, goal, pinned, wait, write
from surehand.core.orchestration.definition import END, WorkflowDefinition, edges
from surehand.core.orchestration.events import (
    ActionEnded,
    At,
    CallEnded,
    CallTool,
    CancelAsked,
    CheckCondition,
    Command,
    ConditionChecked,
    LookUp,
    RunSkill,
    RunTask,
)
from surehand.core.orchestration.graph import graph
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.report import MOST_STEPS, PlanResult, plan_card, plan_result
from surehand.core.orchestration.result import StepEnd, StepFailure, in_doubt, stopped
from surehand.core.orchestration.run import Moment, RunStatus, ToolEnd, WorkflowRun, outcome_of
from surehand.core.orchestration.step import Step, advance, start
from surehand.core.orchestration.text import bound
from surehand.core.outcome.reasons import NextStep, Outcome, RecordChanged
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.params import Parameter, ParameterType

RUN: Final = "run_" + "1" * 32
NOW: Final = Moment("boot", 0)
CANARY: Final = "canary 4711"
SAVED: Final = StepEnd(
    outcome=Outcome.DONE, record_changed=RecordChanged.YES, reference=RUN, outputs=bound({"found": CANARY})
)
ENDS: Final = (SAVED, stopped(StepFailure.NOT_DONE), in_doubt(RUN))
_LINKS: Final = re.compile(r"linkStyle ([0-9,]+) ")


def _told(step: Step, command: Command, choice: int) -> Step:
    """What becomes of a run when what it asks for ends in one of three ways."""
    run = step[0]
    match command:
        case CheckCondition(at=at):
            return advance(run, ConditionChecked(at=at, holds=choice != 1, now=Moment("boot", 10_000)))
        case CallTool(at=at, place=place):
            end = ToolEnd(success=choice == 0, record_changed=list(RecordChanged)[choice])
            return advance(run, CallEnded(at=at, place=place, end=end, now=NOW))
        case RunSkill(at=at) | RunTask(at=at):
            return advance(run, ActionEnded(at=at, end=ENDS[choice], now=NOW))
        case LookUp():
            raise AssertionError("nobody died")


@st.composite
def runs(draw: st.DrawFn) -> WorkflowRun:
    """Runs of any plan, at any place on their way; some were asked to stop."""
    step = start(f"plan_{'0' * 32}", pinned(draw(definitions())), {}, NOW)
    for choice in draw(st.lists(st.integers(0, 2), max_size=12)):
        if step[1]:
            step = _told(step, step[1][0], choice)
    wished: bool = draw(st.booleans())
    if wished and step[1]:
        step = advance(step[0], CancelAsked())
    return step[0]


def arrows(picture: str) -> list[str]:
    """The arrows of a picture in their order."""
    return [line.strip() for line in picture.splitlines() if "-->" in line or "-.->" in line]


def went(run: WorkflowRun) -> set[tuple[str, str]]:
    """The pairs of steps whose arrows are marked in the picture of a run."""
    found = _LINKS.search(graph(run.pinned.definition, run))
    ways = edges(run.pinned.definition)
    return set() if found is None else {(ways[int(n)].source, ways[int(n)].target) for n in found[1].split(",")}


class TestAPicture:
    """Every way of a plan is one arrow, and every step one box; nothing that was written into a step is drawn."""

    @given(definitions())
    def test_has_every_way_once(self, plan: WorkflowDefinition) -> None:
        picture = graph(plan)

        assert len(edges(plan)) == len(arrows(picture))
        assert len(plan.steps) == sum(bool(re.match(r"  s\d+[\[({]", line)) for line in picture.splitlines())
        assert ("linkStyle" in picture, "Open the record" in picture) == (False, False)

    @given(runs())
    def test_of_a_run_marks_the_way_that_it_took(self, run: WorkflowRun) -> None:
        names = [result.step_id for result in run.step_results]
        goes_on = run.status is RunStatus.RUNNING or len(names) < sum(run.visits)
        came_to = END if run.status is RunStatus.COMPLETED else run.current_step_id if goes_on else None

        assert set(pairwise([*names, came_to] if came_to else names)) == went(run)

    @given(runs())
    def test_colours_what_was_visited_and_nothing_else(self, run: WorkflowRun) -> None:
        ids = {step.step_id: f"s{place}" for place, step in enumerate(run.pinned.definition.steps)}
        visited = {result.step_id for result in run.step_results}
        if run.status is RunStatus.RUNNING and run.current_step_id is not None:
            visited.add(run.current_step_id)
        lines = re.findall(r"^  class (\S+) ", graph(run.pinned.definition, run), re.MULTILINE)

        assert sorted(ids[step_id] for step_id in visited) == sorted(name for line in lines for name in line.split(","))

    def test_tells_how_often_a_step_was_visited(self) -> None:
        plan = definition(write("again"), branch("more", "again", END), goal("last"))
        step = start(f"plan_{'0' * 32}", pinned(evolve(plan, steps=plan.steps[:2])), {}, NOW)
        for _ in range(4):
            step = _told(step, step[1][0], 0)

        assert "again (2 visits)" in graph(step[0].pinned.definition, step[0])

    def test_of_each_kind(self) -> None:
        plan = definition(goal("aim"), wait("rest"), branch("fork", "aim", "save"), write("save", if_failed="rest"))

        assert graph(plan).splitlines() == [
            "flowchart TD",
            '  s0[/"aim<br/>goal"/]',
            '  s1("rest<br/>wait for elapsed_seconds")',
            '  s2{"fork<br/>elapsed_seconds?"}',
            '  s3["save<br/>write"]',
            '  last(["end"])',
            "  s0 --> s1",
            "  s1 --> s2",
            "  s2 -->|yes| s0",
            "  s2 -->|no| s3",
            "  s3 --> last",
            "  s3 -.->|failed| s1",
        ]


class TestTheWholeIsToldInTheFourOutcomes:
    """An answer claims what the machine's own judgement of the whole claims, in fixed words, and holds no value."""

    @given(runs())
    def test_of_a_run(self, run: WorkflowRun) -> None:
        told = plan_result(run)
        whole = outcome_of(run)

        assert (whole.outcome, whole.record_changed, whole.step_id) == (told.outcome, told.record_changed, told.step)
        assert told == from_wire(to_wire(told), PlanResult).unwrap()
        assert CANARY not in str(to_wire(told))
        assert len(run.step_results) == len(told.steps) + told.earlier_steps

    @given(runs())
    def test_nothing_written_is_told_only_where_no_step_may_have_written(self, run: WorkflowRun) -> None:
        told = plan_result(run)
        if told.record_changed is RecordChanged.NO:
            assert all(result.end.record_changed is RecordChanged.NO for result in run.step_results)
        if told.outcome is Outcome.DONE:
            assert all(result.end.record_changed is not RecordChanged.UNKNOWN for result in run.step_results)

    def test_only_the_newest_steps_stand_in_it(self) -> None:
        run = start(f"plan_{'0' * 32}", pinned(definition(write("save"))), {}, NOW)[0]
        step = advance(run, ActionEnded(at=At("save", 1), end=SAVED, now=NOW))[0].step_results[0]
        many = evolve(run, step_results=(step,) * (MOST_STEPS + 7))

        assert (MOST_STEPS, 7) == (len(plan_result(many).steps), plan_result(many).earlier_steps)
        assert RUN == plan_result(many).steps[0].run_id

    @pytest.mark.parametrize("code", PlanRefusal)
    def test_a_refusal_claims_nothing_about_an_earlier_call(self, code: PlanRefusal) -> None:
        told = plan_result(RunRefused(code=code, step_id="save"), "plan")

        # Of a request that was forgotten it is known that there was an earlier call.
        outcome = Outcome.NOT_SURE_IF_SAVED if code is PlanRefusal.FORGOTTEN else Outcome.DID_NOT_RUN
        assert (outcome, RecordChanged.UNKNOWN, code) == (told.outcome, told.record_changed, told.refused)
        assert (None, "plan", "save") == (told.plan_run_id, told.plan, told.step)
        assert told.next_step is not NextStep.NOTHING


class TestACard:
    """An agent learns what a plan takes; a text that looks like the identifier of a person is left out."""

    PLAN: Final = evolve(
        definition(write("save")),
        parameters=(Parameter(name="note", type=ParameterType.TEXT, title="Note"),),
        description="Adds a note.",
    )

    def test_says_what_it_takes(self) -> None:
        card = plan_card(self.PLAN, problems=2)

        assert ("plan", "A plan", "Adds a note.", 1, 2) == (
            card.plan,
            card.title,
            card.description,
            card.steps,
            card.problems,
        )
        assert [("note", ParameterType.TEXT, True)] == [(each.name, each.type, each.required) for each in card.inputs]

    @pytest.mark.parametrize("text", ["Patient 4711555", "a@b.example", ""])
    def test_leaves_out_what_looks_like_a_person(self, text: str) -> None:
        card = plan_card(evolve(self.PLAN, title=text or "x", description=text), problems=0)

        assert card.description is None
        assert (card.title is None) == bool(text)
