"""The machine that works on a goal.

Laws:

- Whatever is told to it in whatever order, it ends within its steps, and what ended stays so.
- A planner points at what it was shown, and does one of a few closed things; anything else ends the task.
- A write that was tried ends the task. What is told about a record is what was measured.
- No value of a page, and nothing that was typed, stands in a repr or in the failure of a task.
"""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.orchestration.goals import (
    MAX_STEPS,
    MAX_TEXT,
    Act,
    Acted,
    ChooseOption,
    ClickNode,
    Decide,
    Decided,
    Decision,
    End,
    Event,
    FinishGoal,
    GiveUp,
    GoalAction,
    GoalFailure,
    Look,
    Measured,
    NoAnswer,
    Node,
    Observation,
    OpenPath,
    ReadNode,
    Seen,
    Taken,
    TypeText,
    Undecided,
    Unseen,
    Work,
    advance,
    begin,
    concluded,
    understood,
)
from surehand.core.orchestration.task import Task, TaskStatus, port_of
from surehand.core.orchestration.text import Binding, by_name
from surehand.core.outcome.reasons import RecordChanged
from surehand.core.wire import to_wire
from surehand.core.workflow.commands import Done, Fault, FaultKind, Texts

CANARY = "canary 4711"
PAGE = Observation((Node("n0", "link", f"Open {CANARY}", CANARY), Node("n1", "textbox", "Note", CANARY)))
TASK = Task(id="t1", goal=f"Find {CANARY}")
NOT_SENT = Measured(record_changed=RecordChanged.NO)

NODES = st.sampled_from(("n0", "n1", "n2"))
TEXTS = st.text(max_size=5)
PAGE_ACTIONS = st.one_of(
    st.builds(OpenPath, st.sampled_from(("/", "/a?b=c", "no path"))),
    st.builds(ClickNode, NODES),
    st.builds(TypeText, NODES, TEXTS),
    st.builds(ChooseOption, NODES, TEXTS),
    st.builds(ReadNode, NODES, st.sampled_from(("found", "other", "Not A Name"))),
)
ACTIONS: st.SearchStrategy[GoalAction] = PAGE_ACTIONS | st.builds(FinishGoal) | st.builds(GiveUp)
ANSWERS = st.one_of(
    st.just(Done()),
    st.builds(Texts, st.lists(TEXTS, max_size=2).map(tuple)),
    st.builds(Fault, st.sampled_from(FaultKind)),
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(Seen(PAGE)),
    st.just(Unseen()),
    st.builds(Decided, ACTIONS | st.sampled_from(NoAnswer) | st.none() | st.text(max_size=3)),
    st.just(Undecided()),
    st.builds(Acted, ANSWERS),
)


def at_first_page() -> Work:
    """Work whose first page was shown."""
    return advance(advance(begin(TASK, "/"), Acted(Done())), Seen(PAGE))


def after(work: Work, *events: Event) -> Work:
    """The work after these events."""
    for event in events:
        work = advance(work, event)
    return work


def answered(work: Work, plan: Callable[[int], GoalAction], answer: Done | Texts | Fault) -> tuple[Work, int]:
    """Work that a planner and a page answer until it ends, and how often the planner was asked."""
    asked = 0
    while not isinstance(work.command, End):
        match work.command:
            case Look():
                work = advance(work, Seen(PAGE))
            case Decide():
                asked += 1
                work = advance(work, Decided(plan(asked)))
            case Act():
                work = advance(work, Acted(answer))
    return work, asked


class TestItEnds:
    """Whatever happens, a task ends within its steps."""

    @given(st.lists(EVENTS, max_size=120))
    def test_any_events_are_taken(self, events: list[Event]) -> None:
        work = after(begin(TASK, "/"), *events)

        assert MAX_STEPS >= len(work.history)
        assert (len(work.history) == MAX_STEPS) <= isinstance(work.command, End)

    @given(EVENTS)
    def test_what_ended_stays_so(self, event: Event) -> None:
        ended = after(at_first_page(), Decided(FinishGoal()))

        assert ended is advance(ended, event)

    @given(PAGE_ACTIONS.filter(lambda each: understood(to_wire(Decision(each))) is not None), ANSWERS)
    def test_a_planner_that_never_finishes_is_asked_so_often(
        self, action: GoalAction, answer: Done | Texts | Fault
    ) -> None:
        work, asked = answered(at_first_page(), lambda _: action, answer)
        ends_at_once = work.command != End(GoalFailure.OUT_OF_STEPS)

        assert (1 if ends_at_once else MAX_STEPS) == asked
        assert (0 if ends_at_once else MAX_STEPS) == len(work.history)

    @pytest.mark.parametrize(("last", "failure"), [(FinishGoal(), None), (GiveUp(), GoalFailure.GAVE_UP)])
    def test_the_last_step_may_be_the_end(self, last: GoalAction, failure: GoalFailure | None) -> None:
        plan: list[GoalAction] = [OpenPath("/")] * (MAX_STEPS - 1) + [last]
        work, asked = answered(at_first_page(), lambda asked: plan[asked - 1], Done())

        assert (End(failure), MAX_STEPS) == (work.command, asked)

    @given(EVENTS, EVENTS)
    def test_what_was_not_asked_for_means_nothing(self, first: Event, second: Event) -> None:
        expected: dict[type, tuple[type, ...]] = {
            Act: (Acted,),
            Look: (Seen, Unseen),
            Decide: (Decided, Undecided),
            End: (),
        }
        work = advance(begin(TASK, "/"), first)

        assert isinstance(second, expected[type(work.command)]) or work is advance(work, second)


class TestThePlannerIsHeldToWhatItIsShown:
    """It points at nodes that it was shown, and does what it can say."""

    @pytest.mark.parametrize("action", [ClickNode("n2"), TypeText("n2", "x"), ChooseOption("n2", "x")])
    def test_a_node_that_is_not_shown_is_a_step_that_did_nothing(self, action: ClickNode | TypeText) -> None:
        work = advance(at_first_page(), Decided(action))

        assert (Look(), (Taken(action, FaultKind.TARGET_MISSING),)) == (work.command, work.history)

    @pytest.mark.parametrize(
        "answer",
        [
            None,
            "finish",
            {"action": {"kind": "finish_goal"}},
            OpenPath("https://elsewhere.example"),
            ClickNode("the first one"),
            ReadNode("n0", "Not A Name"),
            ChooseOption("n0", ""),
            TypeText("n0", "x" * (MAX_TEXT + 1)),
            TypeText("n0", "\ud800"),
        ],
    )
    def test_what_is_no_action_ends_the_task(self, answer: object) -> None:
        assert End(GoalFailure.NOT_UNDERSTOOD) == advance(at_first_page(), Decided(answer)).command

    def test_a_planner_without_an_answer_ends_the_task(self) -> None:
        assert End(GoalFailure.NOT_UNDERSTOOD) == advance(at_first_page(), Undecided()).command

    @given(ACTIONS)
    def test_what_crosses_a_boundary_is_what_was_decided(self, action: GoalAction) -> None:
        read = understood(to_wire(Decision(action)))

        assert read in (None, action)
        assert isinstance(advance(at_first_page(), Decided(action)).command, End) >= (read is None)

    @pytest.mark.parametrize(
        "data", [None, {}, {"action": {"kind": "save"}}, {"action": {"kind": "give_up"}, "why": "x"}]
    )
    def test_anything_else_is_not(self, data: object) -> None:
        assert understood(data) is None

    @pytest.mark.parametrize("why", NoAnswer)
    def test_one_that_says_why_it_decides_nothing_ends_the_task_so(self, why: NoAnswer) -> None:
        task = concluded(advance(at_first_page(), Decided(why)), NOT_SENT)

        assert (TaskStatus.FAILED, why.value) == (task.status, task.failure_reason)


class TestWhatIsRead:
    """A text is kept under its name, the later one under the same name."""

    def test_it_is_an_output(self) -> None:
        read = Decided(ReadNode("n0", "found"))
        first, second = Acted(Texts(("a",))), Acted(Texts(("b",)))
        work = after(at_first_page(), read, first, Seen(PAGE), read, second, Seen(PAGE), Decided(FinishGoal()))
        task = concluded(work, NOT_SENT)

        assert (TaskStatus.SUCCEEDED, (Binding("found", "b"),)) == (task.status, task.outputs)

    @pytest.mark.parametrize(
        "answer", [Done(), Texts(()), Texts(("a", "b")), Texts(("x" * (MAX_TEXT + 1),)), Texts(("\udfff",))]
    )
    def test_what_is_no_text_is_none(self, answer: Done | Texts) -> None:
        action = ReadNode("n0", "found")
        work = after(at_first_page(), Decided(action), Acted(answer))

        assert ({}, (Taken(action, FaultKind.PAGE_UNEXPECTED),)) == (by_name(work.outputs), work.history)

    def test_a_text_that_was_not_asked_for_is_none(self) -> None:
        work = after(at_first_page(), Decided(ClickNode("n0")), Acted(Texts(("a",))))

        assert ((), (Taken(ClickNode("n0"), None),)) == (work.outputs, work.history)


class TestTheEndIsWhatWasMeasured:
    """The fence says whether a record changed; a write that was tried is never a success."""

    @given(st.sampled_from(RecordChanged), st.booleans(), st.lists(EVENTS, max_size=30))
    def test_of_any_work(self, changed: RecordChanged, stopped: bool, events: list[Event]) -> None:
        work = after(begin(TASK, "/"), *events)
        task = concluded(work, Measured(record_changed=changed, write_stopped=stopped))

        assert changed is task.record_changed
        assert (task.status is TaskStatus.SUCCEEDED) is (work.command == End() and not stopped)
        assert (task.failure_reason is None) is (task.status is TaskStatus.SUCCEEDED)
        assert stopped <= (task.failure_reason == "write_stopped")
        assert CANARY not in repr((work, task, events)) + str(task.failure_reason)

    def test_work_that_was_broken_off_failed(self) -> None:
        task = concluded(at_first_page(), NOT_SENT)

        assert (TaskStatus.FAILED, "page_unreachable") == (task.status, task.failure_reason)

    @pytest.mark.parametrize(
        ("kind", "failure"),
        [
            (FaultKind.EARLY_WRITE_STOPPED, GoalFailure.WRITE_STOPPED),
            (FaultKind.EARLY_WRITE_SENT, GoalFailure.WRITE_STOPPED),
            (FaultKind.APP_UNREACHABLE, GoalFailure.PAGE_UNREACHABLE),
            (FaultKind.ENGINE_BROKEN, GoalFailure.PAGE_UNREACHABLE),
            (FaultKind.UNEXPECTED_DIALOG, GoalFailure.PAGE_UNREACHABLE),
        ],
    )
    def test_what_ends_a_task(self, kind: FaultKind, failure: GoalFailure) -> None:
        assert End(failure) == after(at_first_page(), Decided(ClickNode("n0")), Acted(Fault(kind))).command

    def test_a_first_page_that_does_not_open_ends_it(self) -> None:
        work = advance(begin(TASK, "/"), Acted(Fault(FaultKind.PAGE_UNEXPECTED)))

        assert End(GoalFailure.PAGE_UNREACHABLE) == work.command

    def test_a_page_that_is_not_seen_ends_it(self) -> None:
        work = after(begin(TASK, "/"), Acted(Done()), Unseen())

        assert End(GoalFailure.PAGE_UNREACHABLE) == work.command


class TestItsPort:
    """A task has a port of its own, whose name fits a file and tells nothing of the task."""

    @given(st.text(), st.text())
    def test_each_task_has_another_name(self, one: str, other: str) -> None:
        names = port_of(one), port_of(other)

        assert (names[0] == names[1]) == (one == other)
        assert all(re.fullmatch("goal-[0-9a-f]{32}", name) for name in names)
