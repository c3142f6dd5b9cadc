"""The machine that goes through a plan.

Laws:

- Every event is answered, and one that is not of the present visit changes nothing.
- Whatever dies whenever, no action is asked for twice unless it was looked up and proven not delivered.
- A step in doubt stops the run for a person. A run that ended never changes.
- Every run ends, within the limits that its definition sets.
"""

from collections import Counter

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from support.plans import (
    PEEK,
    POKE,
    TOLD,
    WRITE,
    branch,
    definition,
    definitions,
    goal,
    is_a_way,
    pinned,
    template,
    wait,
    write,
)
from surehand.core.orchestration.check import pin
from surehand.core.orchestration.condition import STANDARD, ConditionSpec
from surehand.core.orchestration.definition import END, SkillInvocationStep, WaitForConditionStep, WorkflowDefinition
from surehand.core.orchestration.events import (
    Action,
    ActionEnded,
    At,
    CallEnded,
    CallTool,
    CancelAsked,
    CheckCondition,
    Command,
    ConditionChecked,
    Doubt,
    Event,
    LookedUp,
    LookUp,
    Resumed,
    RunSkill,
    RunTask,
)
from surehand.core.orchestration.result import MAX_RESULTS, StepEnd, StepFailure, in_doubt, passed, stopped
from surehand.core.orchestration.run import Moment, RunStatus, ToolEnd, WorkflowRun, outcome_of, view
from surehand.core.orchestration.skill import CompiledSkill, Effects, FlowTemplateSkill, ToolCall
from surehand.core.orchestration.step import Step, advance, parked, start
from surehand.core.orchestration.text import Binding, bound, by_name
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.workflow.params import Parameter, ParameterType

RUN_ID = "plan_" + "0" * 32
SAVED = StepEnd(outcome=Outcome.DONE, record_changed=RecordChanged.YES, reference="r")
NOW = Moment("boot", 0)
FINE = ToolEnd(success=True, record_changed=RecordChanged.NO)
WROTE = ToolEnd(success=True, record_changed=RecordChanged.YES)
FAILED = ToolEnd(success=False, record_changed=RecordChanged.NO)
LOST = ToolEnd(success=False, record_changed=RecordChanged.UNKNOWN)
REVIEW = StepEnd(outcome=Outcome.NEEDS_REVIEW, record_changed=RecordChanged.NO, failure=StepFailure.NOT_DONE)
LONGEST = 500

#: Steps in which a run may die and wait as it likes; after them everything that it waits for comes.
IDLE = 60


def begun(*steps: WaitForConditionStep | SkillInvocationStep, plan: WorkflowDefinition | None = None) -> Step:
    """A run at its beginning."""
    return start(RUN_ID, pinned(plan or definition(*steps)), {}, NOW)


def asked(step: Step) -> Command:
    """The one thing that is asked for."""
    (command,) = step[1]
    return command


def action_of(command: Command) -> Action:
    """The action that is asked for."""
    assert isinstance(command, RunSkill | RunTask | CallTool)
    return command


def ended(step: Step, end: StepEnd | ToolEnd, at: int = 0) -> Step:
    """What becomes of a run when the action that it asks for ends so."""
    action = action_of(asked(step))
    now = Moment("boot", at)
    match action, end:
        case CallTool(), ToolEnd():
            return advance(step[0], CallEnded(at=action.at, place=action.place, end=end, now=now))
        case ((RunSkill() | RunTask()), StepEnd()):
            return advance(step[0], ActionEnded(at=action.at, end=end, now=now))
        case _:
            raise AssertionError


def checked(step: Step, at: int = 0, *, holds: bool) -> Step:
    """What becomes of a run when its condition was judged so."""
    command = asked(step)
    assert isinstance(command, CheckCondition)
    return advance(step[0], ConditionChecked(at=command.at, holds=holds, now=Moment("boot", at)))


def looked_up(step: Step, found: StepEnd | ToolEnd | Doubt) -> Step:
    """What becomes of a run that is taken up and looks, when it finds this."""
    resumed = advance(step[0], Resumed(NOW))
    command = asked(resumed)
    assert isinstance(command, LookUp)
    return advance(resumed[0], LookedUp(at=command.action.at, found=found, now=NOW))


def stands(step: Step) -> tuple[RunStatus, str | None, StepFailure | None]:
    """How a run stands: its status, its step, and why the last step that ended failed."""
    run = step[0]
    return run.status, run.current_step_id, run.step_results[-1].end.failure if run.step_results else None


ENDS = st.sampled_from([SAVED, stopped(StepFailure.NOT_DONE), in_doubt("r")])
TOOL_ENDS = st.sampled_from([FINE, WROTE, FAILED, LOST])


class TestRandomWays:
    """However steps end and whoever dies, an action that may have acted is never asked for again without proof."""

    @given(definitions(), st.data())
    def test_nothing_is_asked_for_twice_without_proof(self, plan: WorkflowDefinition, data: st.DataObject) -> None:
        run, commands = start(RUN_ID, pinned(plan), {}, NOW)
        performed: Counter[Action] = Counter()
        for number in range(LONGEST):
            if not commands:
                break
            assert is_a_way(run)
            hurries = number >= IDLE
            (command,) = commands
            if isinstance(command, RunSkill | RunTask | CallTool):
                assert performed[command] == 0 or not _writes(command)
                performed[command] += 1
            if not hurries and data.draw(st.booleans()) and not isinstance(command, LookUp):
                run, commands = advance(run, Resumed(Moment("other", 0)))
                continue
            event = data.draw(_events(command, hurries=hurries))
            if isinstance(event, LookedUp) and isinstance(command, LookUp) and event.found is Doubt.NOT_DELIVERED:
                performed[command.action] = 0
            run, commands = advance(run, event)

        assert () == commands
        assert run.status is not RunStatus.RUNNING
        assert is_a_way(run)
        assert (run, ()) == advance(run, Resumed(NOW))
        assert (run, ()) == advance(run, CancelAsked())

    @given(definitions(), st.data())
    def test_an_event_of_another_visit_changes_nothing(self, plan: WorkflowDefinition, data: st.DataObject) -> None:
        run, (command,) = start(RUN_ID, pinned(plan), {}, NOW)
        event = data.draw(_events(LookUp(command) if isinstance(command, RunSkill) else command))
        assert isinstance(event, ActionEnded | CallEnded | LookedUp | ConditionChecked)
        stranger = evolve(event, at=At(event.at.step_id, event.at.visit + 1))

        assert (run, ()) == advance(run, stranger)

    def test_an_event_of_another_kind_changes_nothing(self) -> None:
        run, _ = begun(write("a"))
        at = At("a", 1)

        for event in (
            ConditionChecked(at=at, holds=True, now=NOW),
            CallEnded(at=at, place=0, end=FINE, now=NOW),
        ):
            assert (run, ()) == advance(run, event)

    def test_a_call_of_another_place_changes_nothing(self) -> None:
        run, _ = begun(template("a"))

        assert (run, ()) == advance(run, CallEnded(at=At("a", 1), place=1, end=FINE, now=NOW))
        assert (run, ()) == advance(run, ActionEnded(at=At("a", 1), end=SAVED, now=NOW))


def _writes(action: Action) -> bool:
    return not isinstance(action, CallTool) or action.effects is Effects.WRITES


def _events(command: Command, *, hurries: bool = False) -> st.SearchStrategy[Event]:
    match command:
        case RunSkill(at=at) | RunTask(at=at):
            return st.builds(ActionEnded, at=st.just(at), end=ENDS, now=st.just(NOW))
        case CallTool(at=at, place=place):
            return st.builds(CallEnded, at=st.just(at), place=st.just(place), end=TOOL_ENDS, now=st.just(NOW))
        case CheckCondition(at=at):
            moments = st.builds(Moment, st.just("boot"), st.sampled_from([0, 10_000_000]))
            holds = st.just(value=True) if hurries else st.booleans()
            return st.builds(ConditionChecked, at=st.just(at), holds=holds, now=moments)
        case LookUp(action):
            found = TOOL_ENDS if isinstance(action, CallTool) else ENDS
            return st.builds(LookedUp, at=st.just(action.at), found=found | st.sampled_from(Doubt), now=st.just(NOW))


class TestInOrder:
    """A step that is done leads to the next; one that failed stops the run, or leads where the definition says."""

    def test_from_the_first_to_the_end(self) -> None:
        step = begun(write("a"), wait("b"))
        assert "plan" == step[0].definition_id
        assert asked(step) == RunSkill(at=At("a", 1), request_id=f"{RUN_ID}.a.1", skill_id="write", inputs=())

        step = checked(ended(step, SAVED), holds=True)

        assert (RunStatus.COMPLETED, None, None) == stands(step)

    @pytest.mark.parametrize(
        ("end", "status"),
        [
            (stopped(StepFailure.NOT_DONE), RunStatus.FAILED),
            (REVIEW, RunStatus.NEEDS_PERSON),
            (
                StepEnd(
                    outcome=Outcome.NOT_SURE_IF_SAVED,
                    record_changed=RecordChanged.UNKNOWN,
                    failure=StepFailure.NOT_DONE,
                ),
                RunStatus.NEEDS_PERSON,
            ),
        ],
    )
    def test_a_step_that_failed(self, end: StepEnd, status: RunStatus) -> None:
        assert (status, "a", StepFailure.NOT_DONE) == stands(ended(begun(write("a"), wait("b")), end))
        elsewhere = ended(begun(write("a", if_failed="b"), wait("b")), end)
        assert (RunStatus.RUNNING, "b", StepFailure.NOT_DONE) == stands(elsewhere)

    def test_doubt_stops_whatever_the_definition_says(self) -> None:
        step = ended(begun(write("a", if_failed="b"), wait("b")), in_doubt("r"))

        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(step)

    @pytest.mark.parametrize(("holds", "target"), [(True, "b"), (False, "c")])
    def test_a_branch_goes_one_way(self, holds: bool, target: str) -> None:
        plan = definition(branch("a", "b", "c"), write("b"), write("c"))

        assert target == checked(begun(plan=plan), holds=holds)[0].current_step_id

    @pytest.mark.parametrize("outcome", [Outcome.NOT_SURE_IF_SAVED, Outcome.NEEDS_REVIEW])
    @pytest.mark.parametrize("between", [(), ("b",)], ids=["at once", "by another step"])
    def test_what_a_person_has_to_settle_is_not_asked_for_again(
        self, outcome: Outcome, between: tuple[str, ...]
    ) -> None:
        changed = RecordChanged.UNKNOWN if outcome is Outcome.NOT_SURE_IF_SAVED else RecordChanged.NO
        end = StepEnd(outcome=outcome, record_changed=changed, failure=StepFailure.NOT_DONE)
        back = (evolve(wait(name), next_step_id="a") for name in between)
        step = ended(begun(write("a", if_failed=(*between, "a")[0], max_visits=3), *back), end)
        for _ in between:
            step = checked(step, holds=True)

        assert (RunStatus.NEEDS_PERSON, "a", ()) == (step[0].status, step[0].current_step_id, step[1])
        assert outcome is outcome_of(step[0]).outcome

    def test_what_is_proven_not_to_have_run_may_be_asked_for_again(self) -> None:
        step = ended(begun(write("a", if_failed="a", max_visits=3)), stopped(StepFailure.NOT_DONE))

        assert f"{RUN_ID}.a.2" == getattr(asked(step), "request_id", None)

    @pytest.mark.parametrize("between", [(), ("b",)], ids=["at once", "by another step"])
    def test_what_must_not_be_made_again_is_not_asked_for_again(self, between: tuple[str, ...]) -> None:
        back = (evolve(wait(name), next_step_id="a") for name in between)
        plan = begun(write("a", if_failed=(*between, "a")[0], max_visits=3), *back)
        step = ended(plan, stopped(StepFailure.NOT_AGAIN))
        for _ in between:
            step = checked(step, holds=True)

        assert (RunStatus.FAILED, "a", ()) == (step[0].status, step[0].current_step_id, step[1])
        assert Outcome.DID_NOT_RUN is outcome_of(step[0]).outcome

    def test_what_must_not_be_made_again_leads_elsewhere(self) -> None:
        step = ended(begun(write("a", if_failed="b"), write("b")), stopped(StepFailure.NOT_AGAIN))

        assert f"{RUN_ID}.b.1" == getattr(asked(step), "request_id", None)

    def test_a_limit_of_visits_stops_the_run(self) -> None:
        plan = definition(evolve(write("a", max_visits=2), next_step_id="a"))
        step = ended(ended(begun(plan=plan), SAVED), SAVED)

        assert (RunStatus.FAILED, "a", StepFailure.VISIT_LIMIT) == stands(step)
        assert [1, 2, 3] == [result.visit for result in step[0].step_results]

    def test_no_run_goes_on_for_ever(self) -> None:
        step = checked(begun(plan=definition(evolve(wait("a"), next_step_id="a"))), holds=True)
        nearly = evolve(step[0], step_results=step[0].step_results * (MAX_RESULTS - 1))
        last = checked((nearly, step[1]), holds=True)

        assert RunStatus.RUNNING is checked(step, holds=True)[0].status
        assert (RunStatus.FAILED, "a", StepFailure.VISIT_LIMIT) == stands(last)


class TestVisits:
    """Each visit is counted for its own step."""

    def test_by_its_place(self) -> None:
        step = begun(wait("a"), wait("b"), wait("c"))
        counted: list[tuple[int, ...]] = []
        for _ in range(3):
            counted.append(step[0].visits)
            step = checked(step, holds=True)

        assert [(1, 0, 0), (1, 1, 0), (1, 1, 1)] == counted


class TestWaiting:
    """A wait holds on until its condition holds or its time is over, neither early nor for ever."""

    def test_it_is_judged_again_after_each_interval_and_at_the_end(self) -> None:
        step = begun(wait("a", holds=False))
        after: list[int] = []
        for at in (0, 2000, 4000):
            step = checked(step, at, holds=False)
            command = asked(step)
            assert isinstance(command, CheckCondition)
            after.append(command.after)

        assert [2000, 2000, 1000] == after
        assert (RunStatus.FAILED, "a", StepFailure.TIMED_OUT) == stands(checked(step, 5000, holds=False))

    @given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10**5)), max_size=8))
    def test_a_clock_that_jumps_neither_ends_it_early_nor_keeps_it(self, jumps: list[tuple[int, int]]) -> None:
        run, _ = begun(wait("a", holds=False))
        certain, last = 0, NOW
        for boot, at in jumps:
            now = Moment(f"boot {boot}", at)
            certain += max(0, at - last.milliseconds) if now.boot == last.boot else 0
            run, _ = advance(run, Resumed(now))
            run, commands = advance(run, ConditionChecked(at=At("a", 1), holds=False, now=now))
            last = now
            assert (run.status is RunStatus.RUNNING) is (certain < 5000)
            assume(commands)
        late = evolve(last, milliseconds=last.milliseconds + 5000)

        assert RunStatus.FAILED is advance(run, ConditionChecked(at=At("a", 1), holds=False, now=late))[0].status

    def test_it_is_judged_at_once_and_to_the_last_moment(self) -> None:
        step = begun(wait("a", holds=False))
        last = checked(step, 4999, holds=False)

        assert [0, 1] == [getattr(asked(each), "after", None) for each in (step, last)]

    def test_the_time_of_the_run_goes_on_over_its_steps_and_that_of_a_step_begins_anew(self) -> None:
        step = begun(plan=definition(wait("a"), wait("b")))
        taken_up = advance(step[0], Resumed(Moment("another", 50)))
        before = step[0].run_timer.elapsed(Moment("boot", 700))
        second = checked(step, 700, holds=True)[0]
        later = Moment("boot", 900)
        later_there = Moment("another", 250)

        assert (700, 900, 200) == (before, second.run_timer.elapsed(later), second.step_timer.elapsed(later))
        elsewhere = advance(step[0], ConditionChecked(at=At("a", 1), holds=True, now=Moment("another", 50)))[0]
        assert 200 == elsewhere.run_timer.elapsed(later_there)
        assert [200, 200] == [timer.elapsed(later_there) for timer in (taken_up[0].run_timer, taken_up[0].step_timer)]

    def test_what_is_known_of_time_is_that_of_the_step_or_of_the_run(self) -> None:
        plan = definition(wait("a"), branch("b", END, END))
        waiting = begun(plan=plan)
        branching = checked(waiting, 700, holds=True)

        assert 300 == view(waiting[0], Moment("boot", 300), scene=None, world=None).elapsed
        assert 900 == view(branching[0], Moment("boot", 900), scene=None, world=None).elapsed


class TestTemplates:
    """Calls are made one after another, each recorded before the next, and one that failed is the last."""

    def test_all_calls_in_their_order(self) -> None:
        step = begun(template("a"))
        keys: list[tuple[str, str]] = []
        for end in (FINE, WROTE, WROTE, FINE):
            call = asked(step)
            assert isinstance(call, CallTool)
            keys.append((call.tool, call.key))
            step = ended(step, end)

        assert [(tool, f"{RUN_ID}.a.1.{n}") for n, tool in enumerate(("peek", "told", "poke", "peek"))] == keys
        assert RecordChanged.YES is step[0].step_results[0].end.record_changed
        assert (RunStatus.COMPLETED, None, None) == stands(step)

    @pytest.mark.parametrize(
        ("ends", "outcome"),
        [
            ((FAILED,), Outcome.DID_NOT_RUN),
            ((FINE, FAILED), Outcome.DID_NOT_RUN),
            ((FINE, WROTE, FAILED), Outcome.NOT_SURE_IF_SAVED),
            ((FINE, LOST), Outcome.NOT_SURE_IF_SAVED),
        ],
    )
    def test_a_call_that_failed_is_the_last(self, ends: tuple[ToolEnd, ...], outcome: Outcome) -> None:
        step = begun(template("a"))
        for end in ends:
            step = ended(step, end)

        assert () == step[1]
        assert (outcome, StepFailure.TOOL_FAILED) == (
            step[0].step_results[0].end.outcome,
            step[0].step_results[0].end.failure,
        )

    def test_what_cannot_be_kept_of_a_call_is_left_out(self) -> None:
        found = (Binding("kept", "x"), Binding("no name", "y"), Binding("broken", "\ud800"))
        run, _ = ended(begun(template("a")), evolve(FINE, outputs=found))

        assert [found[:1]] == [call.outputs for call in run.calls]

    def test_one_without_calls_is_done(self) -> None:
        plan = evolve(definition(template("a")), skills=(FlowTemplateSkill(skill_id="template", calls=()),))

        assert (RunStatus.COMPLETED, None, None) == stands(begun(plan=plan))

    def test_one_after_another_begins_with_its_first_call(self) -> None:
        step = begun(template("a"), template("b"))
        for _ in range(4):
            step = ended(step, FINE)

        assert (RunStatus.RUNNING, "b", None) == stands(step)
        assert ("peek", f"{RUN_ID}.b.1.0") == tuple(getattr(asked(step), name) for name in ("tool", "key"))

    def test_a_read_is_made_again_without_asking(self) -> None:
        step = begun(template("a"))

        assert step[1] == advance(step[0], Resumed(NOW))[1]

    def test_a_write_in_doubt_is_looked_up(self) -> None:
        step = ended(begun(template("a")), FINE)

        assert step[1] == looked_up(step, Doubt.NOT_DELIVERED)[1]
        assert "poke" == getattr(asked(looked_up(step, WROTE)), "tool", None)
        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(looked_up(step, Doubt.UNKNOWN))
        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(looked_up(step, SAVED))


class TestResuming:
    """What may have begun is looked up; its end is taken, doubt goes to a person, and only proof lets it run."""

    @pytest.mark.parametrize("step", [write("a"), goal("a")])
    def test_by_what_is_found(self, step: SkillInvocationStep) -> None:
        first = begun(step, wait("b"))

        assert first[1] == looked_up(first, Doubt.NOT_DELIVERED)[1]
        assert (RunStatus.RUNNING, "b", None) == stands(looked_up(first, SAVED))
        assert (RunStatus.FAILED, "a", StepFailure.NOT_DONE) == stands(looked_up(first, stopped(StepFailure.NOT_DONE)))
        for doubt in (Doubt.UNKNOWN, in_doubt("r"), FINE):
            assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(looked_up(first, doubt))

    def test_a_wait_goes_on(self) -> None:
        step = begun(wait("a"))

        assert step[1] == advance(step[0], Resumed(NOW))[1]

    def test_a_template_whose_calls_all_ended_is_done(self) -> None:
        run = evolve(begun(template("a"))[0], calls=(FINE,) * 4)

        assert (RunStatus.COMPLETED, None, None) == stands(advance(run, Resumed(NOW)))

    def test_what_was_parked_has_not_begun(self) -> None:
        step = begun(write("a"))
        again = advance(parked(step[0]), Resumed(NOW))

        assert step == again
        assert isinstance(asked(advance(again[0], Resumed(NOW))), LookUp)

    def test_a_run_that_ended_is_parked_as_it_is(self) -> None:
        run = checked(begun(wait("a")), holds=True)[0]

        assert run == parked(run)


class TestARestoredRun:
    """It acts no more by itself: what is known of an action is taken, and the first that is not known is a person's."""

    @given(definitions(), st.data())
    def test_it_only_looks(self, plan: WorkflowDefinition, data: st.DataObject) -> None:
        step = self.restored(start(RUN_ID, pinned(plan), {}, NOW))
        for _ in range(IDLE):
            if not step[1]:
                break
            command = asked(step)
            assert not isinstance(command, RunSkill | RunTask)
            assert not isinstance(command, CallTool) or command.effects is Effects.READS
            step = self.told(step, command, data)

    @pytest.mark.parametrize("plan", [definition(write("a")), definition(goal("a")), definition(template("a"))])
    def test_what_is_not_known_to_have_run_does_not_run(self, plan: WorkflowDefinition) -> None:
        step = self.restored(begun(plan=plan))
        if isinstance(asked(step), CallTool):
            step = ended(step, FINE)
        command = asked(step)
        assert isinstance(command, LookUp)
        then = advance(step[0], LookedUp(at=command.action.at, found=Doubt.NOT_DELIVERED, now=NOW))

        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(then)

    def test_a_wish_to_stop_makes_no_proof_of_it(self) -> None:
        step = self.restored(begun(write("a")))
        wished = advance(step[0], CancelAsked())[0]
        then = advance(wished, LookedUp(at=At("a", 1), found=Doubt.NOT_DELIVERED, now=NOW))

        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(then)

    def test_the_end_of_one_that_is_known_leads_on(self) -> None:
        step = self.restored(begun(write("a"), write("b")))
        then = advance(step[0], LookedUp(at=At("a", 1), found=SAVED, now=NOW))

        assert (RunStatus.RUNNING, "b", None) == stands(then)
        assert isinstance(asked(then), LookUp)

    def test_what_only_looks_goes_on(self) -> None:
        waiting, reading = begun(wait("a")), begun(template("a"))

        assert [waiting[1], reading[1]] == [self.restored(step)[1] for step in (waiting, reading)]

    @staticmethod
    def restored(step: Step) -> Step:
        """A run that is taken up after its file was taken over."""
        return advance(evolve(step[0], restored=True), Resumed(NOW))

    @staticmethod
    def told(step: Step, command: Command, data: st.DataObject) -> Step:
        """What becomes of it by anything that can be found."""
        match command:
            case LookUp(action):
                found = data.draw(st.sampled_from([SAVED, WROTE, FINE, stopped(StepFailure.NOT_DONE), *Doubt]))
                return advance(step[0], LookedUp(at=action.at, found=found, now=NOW))
            case CheckCondition():
                return checked(step, holds=data.draw(st.booleans()))
            case _:
                return ended(step, FINE)


class TestCanceling:
    """A step that looks stops at once; one that acts is waited for, and nothing begins after it."""

    def test_before_the_boundary_of_a_step(self) -> None:
        run, commands = advance(begun(wait("a"), write("b"))[0], CancelAsked())

        assert (RunStatus.CANCELED, "a", None, ()) == (*stands((run, commands)), commands)

    def test_after_it(self) -> None:
        step = begun(write("a"), write("b"))
        wished = advance(step[0], CancelAsked())
        assert (RunStatus.RUNNING, ()) == (wished[0].status, wished[1])

        assert (RunStatus.CANCELED, "b", None) == stands(ended((wished[0], step[1]), SAVED))

    def test_the_last_step_ends_the_run_all_the_same(self) -> None:
        step = begun(write("a"))
        wished = advance(step[0], CancelAsked())[0]

        assert (RunStatus.COMPLETED, None, None) == stands(ended((wished, step[1]), SAVED))

    def test_what_failed_goes_nowhere_else(self) -> None:
        step = begun(write("a", if_failed="b"), write("b"))
        wished = advance(step[0], CancelAsked())[0], step[1]

        assert (RunStatus.CANCELED, "a", StepFailure.NOT_DONE) == stands(ended(wished, stopped(StepFailure.NOT_DONE)))
        assert (RunStatus.NEEDS_PERSON, "a", StepFailure.IN_DOUBT) == stands(ended(wished, in_doubt("r")))

    @pytest.mark.parametrize(("end", "status"), [(FINE, RunStatus.CANCELED), (WROTE, RunStatus.NEEDS_PERSON)])
    def test_between_the_calls_of_a_template(self, end: ToolEnd, status: RunStatus) -> None:
        step = begun(template("a"))
        wished = advance(step[0], CancelAsked())[0], step[1]

        assert (status, "a", StepFailure.CANCELED) == stands(ended(wished, end))

    def test_after_the_last_call_of_a_template_it_is_done_all_the_same(self) -> None:
        step = begun(template("a"))
        for _ in range(3):
            step = ended(step, FINE)
        wished = advance(step[0], CancelAsked())[0], step[1]

        assert (RunStatus.COMPLETED, None, None) == stands(ended(wished, FINE))

    def test_what_is_proven_not_delivered_does_not_run_any_more(self) -> None:
        wished = advance(begun(write("a"))[0], CancelAsked())

        assert (RunStatus.CANCELED, "a", StepFailure.CANCELED) == stands(looked_up(wished, Doubt.NOT_DELIVERED))


class TestVariables:
    """Steps take what the run's variables hold, and give what they declare to give."""

    NOTE = CompiledSkill(
        skill_id="note", parameters=(Parameter(name="day", type=ParameterType.DATE, title="Day"),), digest="b" * 64
    )
    WHEN = Parameter(name="when", type=ParameterType.LINE, title="When", required=False)

    def at_its_beginning(self, inputs: dict[str, str], *steps: SkillInvocationStep) -> Step:
        plan = evolve(definition(*steps), parameters=(self.WHEN,))
        definitely = pin(plan, skills=(WRITE, self.NOTE), tools=(POKE, TOLD, PEEK), conditions=STANDARD).unwrap()
        return start(RUN_ID, definitely, inputs, NOW)

    def note(self, day: str) -> SkillInvocationStep:
        return SkillInvocationStep(step_id="note", skill_id="note", args=bound({"day": day}))

    def test_a_parameter_is_a_variable(self) -> None:
        command = asked(self.at_its_beginning({"when": "2026-01-02"}, self.note("{when}")))

        assert isinstance(command, RunSkill)
        assert {"day": "2026-01-02"} == by_name(command.inputs)

    def test_a_parameter_that_was_left_out_is_an_empty_text(self) -> None:
        run, _ = self.at_its_beginning({}, self.note("{when}"))

        assert {"when": ""} == by_name(run.variables)

    def test_what_does_not_fit_is_refused_before_anything_runs(self) -> None:
        step = self.at_its_beginning({}, self.note("{when}"))

        assert (RunStatus.FAILED, "note", StepFailure.INVALID_INPUT) == stands(step)

    def test_a_template_too(self) -> None:
        skill = FlowTemplateSkill(skill_id="template", parameters=self.NOTE.parameters, calls=(ToolCall(tool="poke"),))
        step = SkillInvocationStep(step_id="a", skill_id="template", args=bound({"day": "{when}"}))
        plan = evolve(definition(step), parameters=(self.WHEN,), skills=(skill,))

        assert (RunStatus.FAILED, "a", StepFailure.INVALID_INPUT) == stands(start(RUN_ID, pinned(plan), {}, NOW))

    def test_outputs_are_taken_by_their_declared_names(self) -> None:
        first = evolve(write("a"), outputs=(Binding("found", "run_id"), Binding("other", "reason")))
        end = evolve(SAVED, outputs=bound({"run_id": "2026-01-02", "outcome": "done"}))
        command = asked(ended(self.at_its_beginning({}, first, self.note("{found}")), end))

        assert isinstance(command, RunSkill)
        assert {"day": "2026-01-02"} == by_name(command.inputs)

    @pytest.mark.parametrize(
        "second",
        [
            SkillInvocationStep(step_id="b", skill_id="note", args=bound({"day": "{x}"})),
            evolve(goal("b"), goal="{x}"),
        ],
    )
    def test_an_output_that_was_not_given_is_missing(self, second: SkillInvocationStep) -> None:
        first = evolve(write("a"), outputs=(Binding("x", "run_id"),))

        step = ended(self.at_its_beginning({}, first, second), SAVED)

        assert (RunStatus.FAILED, "b", StepFailure.VARIABLE_MISSING) == stands(step)

    def test_a_task_gives_its_outputs(self) -> None:
        first = evolve(goal("a"), outputs=(Binding("x", "page"),))
        plan = definition(first, evolve(goal("b"), goal="Go back to {x}."))
        command = asked(ended(begun(plan=plan), evolve(SAVED, outputs=bound({"page": "list"}))))

        assert isinstance(command, RunTask)
        assert ("Go back to list.", f"{RUN_ID}.b.1") == (command.goal, command.task_id)


class TestNothingLeaks:
    """No text of a run stands in a repr."""

    def test_of_a_run_and_of_what_it_asks_for(self) -> None:
        secret = evolve(goal("a"), goal="secret")
        spec = ConditionSpec(kind="scene_contains_text", params=bound({"text": "secret"}))
        plan = definition(secret, WaitForConditionStep(step_id="b", condition=spec))

        assert "secret" not in repr(begun(plan=plan))
        assert "secret" not in repr(passed())
        assert isinstance(begun(plan=plan)[0], WorkflowRun)
