"""Going on after a person's work: every plan, every place of a stop, and a model of the app that counts acts."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.app_model import (
    BUNDLE,
    MODEL_RUNS,
    ON_SIGN_IN,
    PATIENTS,
    PLAIN_INPUTS,
    App,
    Faults,
    Row,
    Scenario,
    Trace,
    assert_invariant_7,
    assert_invariants_1_and_2,
    button,
    label,
    longest_run,
    scenario,
)
from support.app_strategies import SCENARIOS
from support.change_model import BUNDLES, INPUTS
from surehand.core.outcome.evidence import AFTER_DELIVERY, OpenPause, PauseCategory, TransactionOutcome
from surehand.core.workflow import replay
from surehand.core.workflow.bundle import Bundle, ClickStep, FillStep, OpenStep, Rule, Step
from surehand.core.workflow.commands import (
    CheckPage,
    Command,
    FaultKind,
    Finish,
    Observation,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Records,
    Save,
    Wait,
)
from surehand.core.workflow.target import Constant

GUARDED = evolve(BUNDLE, guards=("allergy",))

BANNER = ClickStep("close_banner", ON_SIGN_IN, button("Close"), optional=True)
SEARCH = FillStep("search", ON_SIGN_IN, label("search"), Constant("x"), Rule.TEXT, part_of_record=False, optional=True)
OPTIONAL = evolve(BUNDLE, steps=(*BUNDLE.steps[:2], BANNER, SEARCH, *BUNDLE.steps[2:]))

#: Every plan that the tests know, with inputs.
PLANS: tuple[tuple[Bundle, Mapping[str, str]], ...] = (
    (BUNDLE, PLAIN_INPUTS),
    (GUARDED, PLAIN_INPUTS),
    (OPTIONAL, PLAIN_INPUTS),
    *((bundle, INPUTS) for bundle in BUNDLES.values()),
)
#: Each plan with every instruction at which a run can stop before its save.
EACH_PLAN = pytest.mark.parametrize(("bundle", "inputs"), PLANS)


def stops(bundle: Bundle, inputs: Mapping[str, str]) -> range:
    """Where a run of this plan can stop before its save."""
    return range(len(replay.compile_plan(bundle, inputs)) - 1)


LOOKING = (CheckPage, ReadValue, ReadTexts, ReadRecords)


def rest_of(state: replay.State) -> tuple[replay.Instruction, ...]:
    """The instructions that are still to come."""
    assert isinstance(state, replay.Entering)
    return state.plan[state.at :]


def acts(instructions: tuple[replay.Instruction, ...]) -> list[Command]:
    """What acts on the page among them, the save aside."""
    return [each.command for each in instructions if not isinstance(each.command, (*LOOKING, Save))]


class TestWhereItGoesOn:
    """What stopped and acts is left to the person; what looks looks again; the save has all before it that it needs."""

    @EACH_PLAN
    def test_no_act_up_to_the_stop_is_asked_for_again_and_every_later_one_is(
        self, bundle: Bundle, inputs: Mapping[str, str]
    ) -> None:
        plan = replay.compile_plan(bundle, inputs)
        for at in stops(bundle, inputs):
            state, _ = replay.resume(bundle, inputs, at, Records(()))

            assert acts(rest_of(state)) == acts(plan[at + 1 :])

    @EACH_PLAN
    def test_the_look_at_which_it_stopped_is_the_first(self, bundle: Bundle, inputs: Mapping[str, str]) -> None:
        plan = replay.compile_plan(bundle, inputs)
        baseline = next(where for where, each in enumerate(plan) if isinstance(each, replay.TakeBaseline))
        for at in stops(bundle, inputs):
            _, command = replay.resume(bundle, inputs, at, Records(()))
            looks = isinstance(plan[at].command, LOOKING)

            assert command == plan[min(at if looks else at + 1, baseline)].command

    @EACH_PLAN
    def test_baseline_gate_fields_and_identity_stand_directly_before_the_save(
        self, bundle: Bundle, inputs: Mapping[str, str]
    ) -> None:
        plan = replay.compile_plan(bundle, inputs)
        baseline = next(where for where, each in enumerate(plan) if isinstance(each, replay.TakeBaseline))
        for at in stops(bundle, inputs):
            state, _ = replay.resume(bundle, inputs, at, Records(()))

            assert rest_of(state)[-len(plan[baseline:]) :] == plan[baseline:]
            assert isinstance(state, replay.Entering)
            assert state.baseline is None

    @EACH_PLAN
    def test_nothing_goes_on_from_the_save(self, bundle: Bundle, inputs: Mapping[str, str]) -> None:
        save = len(replay.compile_plan(bundle, inputs)) - 1

        for at in (save, save + 1, -1):
            with pytest.raises(ValueError, match="only from before its save"):
                replay.resume(bundle, inputs, at, Records(()))

    def test_inputs_are_looked_at_as_at_the_start(self) -> None:
        with pytest.raises(ValueError, match="not accepted"):
            replay.resume(BUNDLE, {}, 1, Records(()))

    def test_an_input_that_would_be_another_address_ends_at_once(self) -> None:
        bundle = evolve(BUNDLE, steps=(OpenStep("first", "/of/{patient}"), *BUNDLE.steps))
        _, command = replay.resume(bundle, {**PLAIN_INPUTS, "patient": ".."}, 1, Records(()))

        assert isinstance(command, Finish)

    def test_the_guarded_members_are_those_that_were_read_before(self) -> None:
        read = Records(())
        state, _ = replay.resume(GUARDED, PLAIN_INPUTS, 4, read)

        assert isinstance(state, replay.Entering)
        assert state.guarded is read


def _stands_in(bundle: Bundle, at: int) -> Step | None:
    """The step whose act stands here; written without the machine's own count."""
    first = 1 if bundle.guards else 0
    for item in bundle.steps:
        width = 1 if isinstance(item, OpenStep) else 2 if isinstance(item, ClickStep) else 3
        if at == first + (0 if width == 1 else 1):
            return item
        first += width
    return None


class TestSkip:
    """Only the act of an optional step is left out, with all that belongs to it, and nothing else ever."""

    @EACH_PLAN
    def test_it_may_be_left_out_exactly_where_a_person_said_so(self, bundle: Bundle, inputs: Mapping[str, str]) -> None:
        optional = [at for at in stops(bundle, inputs) if _stands_in(bundle, at) in {BANNER, SEARCH}]

        assert [at for at in stops(bundle, inputs) if replay.may_skip(bundle, inputs, at)] == optional

    @EACH_PLAN
    def test_what_may_not_be_left_out_is_refused(self, bundle: Bundle, inputs: Mapping[str, str]) -> None:
        for at in stops(bundle, inputs):
            if not replay.may_skip(bundle, inputs, at):
                with pytest.raises(ValueError, match="only an optional step"):
                    replay.resume(bundle, inputs, at, Records(()), skip=True)

    @pytest.mark.parametrize("step", [BANNER, SEARCH])
    def test_the_next_step_begins_with_its_gate(self, step: ClickStep | FillStep) -> None:
        at = next(
            at for at in range(len(replay.compile_plan(OPTIONAL, PLAIN_INPUTS))) if _stands_in(OPTIONAL, at) == step
        )
        state, command = replay.resume(OPTIONAL, PLAIN_INPUTS, at, Records(()), skip=True)
        left = next(at for at, each in enumerate(OPTIONAL.steps) if each == step) + 1
        following = evolve(OPTIONAL, steps=OPTIONAL.steps[left:])

        assert isinstance(command, CheckPage)
        assert rest_of(state) == replay.compile_plan(following, PLAIN_INPUTS)

    def test_behind_the_save_nothing_is_left_out(self) -> None:
        assert not any(replay.may_skip(OPTIONAL, PLAIN_INPUTS, at) for at in (-1, 200))


def drive_on(app: App, state: replay.State, command: Command) -> tuple[Trace, replay.State]:
    """Run the machine against the model until it finishes; the trace, and the state in which it stood before."""
    exchanges: list[tuple[Command, Observation]] = []
    before = state
    while not isinstance(command, Finish):
        assert len(exchanges) <= longest_run(BUNDLE), "the machine does not end within its bound"
        observation = app.answer(command)
        exchanges.append((command, observation))
        before = state
        state, command = replay.step(state, observation)
    return Trace(tuple(exchanges), command, app), before


def waits_for_a_person(trace: Trace) -> bool:
    """Whether the run stopped before anything left."""
    pause = trace.finish.pause
    early = trace.finish.report.transaction is TransactionOutcome.HALTED_BEFORE_EFFECT
    return early and isinstance(pause, OpenPause) and pause.category not in AFTER_DELIVERY


def perform_as_person(app: App, command: Command) -> None:
    """The person does in the page what the run could not do, without any fault."""
    faulty = app.scenario
    app.scenario = evolve(faulty, faults=Faults())
    app.answer(command)
    app.scenario = faulty


def check_both_legs(drawn: Scenario, later: Faults) -> tuple[Trace, Trace] | None:
    """A run that stops, a person who does the step, and the rest; ``None`` when nothing stops before the save."""
    app = App(drawn)
    first, stopped = drive_on(app, *replay.start(BUNDLE, drawn.inputs))
    assert_invariants_1_and_2(first)
    if not waits_for_a_person(first) or not isinstance(stopped, replay.Entering):
        return None
    if isinstance(stopped.plan[stopped.at], replay.Deliver):
        return None
    failed = stopped.plan[stopped.at].command
    if not isinstance(failed, LOOKING):
        perform_as_person(app, failed)
    app.scenario, app.commands, app.reads = evolve(drawn, faults=later), 0, 0
    second, _ = drive_on(app, *replay.resume(BUNDLE, drawn.inputs, stopped.at, stopped.guarded))
    assert_invariant_7(second)
    assert_invariants_1_and_2(second)
    done = Counter(
        command for command, _ in (*first.exchanges, *second.exchanges) if not isinstance(command, (*LOOKING, Wait))
    )
    assert max(done.values(), default=0) <= 1, "an act was asked for twice"
    return first, second


def _stopping(drawn: Scenario, at: int, kind: FaultKind) -> Scenario:
    return evolve(drawn, faults=evolve(drawn.faults, fault_at=(at, kind)))


_UNSENT = [kind for kind in FaultKind if kind is not FaultKind.EARLY_WRITE_SENT]
STOPPING = st.builds(_stopping, SCENARIOS, st.integers(0, 40), st.sampled_from(_UNSENT))


class TestOverBothLegs:
    """Whatever stopped a run and whatever goes wrong after it went on: its two legs together save once at the most.

    The second leg saves only what the page and the records show as intended, repeats no act of the first, and claims
    what the store of the app proves.
    """

    @MODEL_RUNS
    @given(STOPPING, SCENARIOS)
    def test_the_store_proves_what_the_second_leg_says(self, drawn: Scenario, later: Scenario) -> None:
        check_both_legs(drawn, later.faults)

    @pytest.mark.parametrize("at", range(len(replay.compile_plan(BUNDLE, PLAIN_INPUTS)) - 1))
    @pytest.mark.parametrize("kind", [FaultKind.TARGET_MISSING, FaultKind.TARGET_NOT_UNIQUE, FaultKind.PAGE_UNEXPECTED])
    def test_a_stop_at_any_command_of_the_page_is_verified_after_the_person_did_it(
        self, at: int, kind: FaultKind
    ) -> None:
        legs = check_both_legs(scenario(fault_at=(at, kind)), Faults())
        reads = isinstance(replay.compile_plan(BUNDLE, PLAIN_INPUTS)[at].command, ReadRecords)

        assert (legs is None) == reads
        assert legs is None or legs[1].finish.report.transaction is TransactionOutcome.VERIFIED

    def test_a_person_who_picks_the_other_record_stops_the_run_again(self) -> None:
        app = App(scenario(row=Row.TWO))
        first, stopped = drive_on(app, *replay.start(BUNDLE, PLAIN_INPUTS))
        assert first.finish.pause == OpenPause(PauseCategory.DISAMBIGUATION)
        assert isinstance(stopped, replay.Entering)
        app.scenario = evolve(app.scenario, faults=Faults(row=Row.RECYCLED))
        app.answer(stopped.plan[stopped.at].command)
        second, _ = drive_on(app, *replay.resume(BUNDLE, PLAIN_INPUTS, stopped.at, stopped.guarded))

        assert second.finish.pause == OpenPause(PauseCategory.IDENTITY)
        assert app.patient == PATIENTS[1]
        assert app.writes == 0


def _always(_: object) -> bool:
    return True


def _nowhere(_: object) -> int:
    return 10_000


BROKEN: dict[str, tuple[str, Any]] = {
    "a resume that repeats the act": ("_looks", _always),
    "a resume from behind the baseline": ("_baseline_at", _nowhere),
}


class TestTheModelCatches:
    """A machine that breaks one law is caught by the very property that the real one passes."""

    @pytest.mark.parametrize("name", BROKEN)
    def test_a_broken_resume(self, name: str) -> None:
        replaced, broken = BROKEN[name]

        @settings(
            max_examples=20_000, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
        )
        @given(STOPPING, SCENARIOS)
        def same_property(drawn: Scenario, later: Scenario) -> None:
            check_both_legs(drawn, later.faults)

        with mock.patch.object(replay, replaced, broken), pytest.raises(AssertionError):
            same_property()
