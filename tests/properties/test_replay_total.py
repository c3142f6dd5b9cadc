"""The replay machine by itself: total over every state and observation, and honest about answers that do not fit."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, PATIENTS, PLAIN_INPUTS, drive, longest_run, scenario
from surehand.core.outcome.decide import claims, decide
from surehand.core.outcome.evidence import (
    AFTER_DELIVERY,
    PROVEN_NO_EFFECT,
    Approval,
    Delivery,
    OpenPause,
    PauseCategory,
    ProcessFact,
    RunObserved,
    TransactionOutcome,
    is_consistent,
)
from surehand.core.outcome.reasons import NOT_FINAL, Reason
from surehand.core.workflow import replay
from surehand.core.workflow.bundle import ClickStep, FillStep, Rule
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Canceled,
    CheckPage,
    Click,
    Command,
    Done,
    Fault,
    FaultKind,
    Fill,
    Finish,
    Observation,
    OutOfTime,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    SaveObserved,
    Texts,
    Wait,
)
from surehand.core.workflow.target import Constant, PageGate

_RECORD = st.builds(Record, st.sampled_from(("a", "b", "c")), st.sampled_from((dict(PLAIN_INPUTS), {}, {"note": "x"})))
OBSERVATIONS: st.SearchStrategy[Observation] = st.one_of(
    st.just(Done()),
    st.just(RecordsUnavailable()),
    st.just(Canceled()),
    st.just(OutOfTime()),
    st.builds(Fault, st.sampled_from(FaultKind)),
    st.builds(Texts, st.lists(st.sampled_from(("", *PATIENTS[0])), max_size=3).map(tuple)),
    st.builds(Records, st.lists(_RECORD, max_size=3).map(tuple)),
    st.builds(
        SaveObserved,
        st.sampled_from(Delivery),
        st.integers(0, 2),
        st.booleans(),
        boundary=st.sampled_from(BoundaryAnswer),
    ),
)


def fitting(command: Command) -> Observation:
    """An answer that lets the machine go on, as far as one text can."""
    match command:
        case ReadTexts():
            return Texts((PLAIN_INPUTS["patient"], PLAIN_INPUTS["birth_date"]))
        case ReadValue(target=target):
            return Texts((PLAIN_INPUTS.get(target.name, "trainee"),))
        case ReadRecords():
            return Records((Record("old", {}),))
        case Save():
            return SaveObserved(Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED)
        case _:
            return Done()


def advanced(steps: int) -> tuple[replay.State, Command]:
    """The machine after so many fitting answers."""
    state, command = replay.start(BUNDLE, PLAIN_INPUTS)
    for _ in range(steps):
        if isinstance(command, Finish):
            break
        state, command = replay.step(state, fitting(command))
    return state, command


LENGTH = longest_run(BUNDLE)
SAVE_AT = next(at for at in range(LENGTH) if isinstance(advanced(at)[1], Save))


class TestTotality:
    """Whatever is observed, the machine goes on or ends with a report whose fields agree; it never raises."""

    @given(st.integers(0, SAVE_AT + 4), st.lists(OBSERVATIONS, min_size=1, max_size=10))
    def test_any_observations_at_any_point_end_within_the_bound(self, steps: int, seen: list[Observation]) -> None:
        state, command = advanced(steps)
        for count in range(LENGTH):
            if isinstance(command, Finish):
                break
            state, command = replay.step(state, seen[count % len(seen)])

        assert isinstance(command, Finish)
        assert is_consistent(command.report)
        assert replay.step(state, seen[0]) == (state, command)

    @given(st.lists(OBSERVATIONS, min_size=1, max_size=6), st.integers(0, LENGTH))
    def test_fitting_and_strange_answers_mixed_never_save_twice(self, seen: list[Observation], strange: int) -> None:
        state, command = replay.start(BUNDLE, PLAIN_INPUTS)
        asked: list[Command] = []
        for count in range(LENGTH + 1):
            asked.append(command)
            if isinstance(command, Finish):
                break
            observation = seen[count % len(seen)] if count >= strange else fitting(command)
            state, command = replay.step(state, observation)
        saves = [at for at, each in enumerate(asked) if isinstance(each, Save)]

        assert isinstance(asked[-1], Finish)
        assert len(saves) <= 1
        assert all(isinstance(each, ReadRecords | Wait | Finish) for at in saves for each in asked[at + 1 :])

    @given(
        st.integers(0, LENGTH),
        OBSERVATIONS,
        st.sampled_from([ProcessFact.EXITED_CLEANLY, ProcessFact.EXITED_WITH_ERROR]),
    )
    def test_every_end_is_evidence_that_has_a_final_reason(
        self, steps: int, seen: Observation, process: ProcessFact
    ) -> None:
        state, command = advanced(steps)
        command = command if isinstance(command, Finish) else replay.step(state, seen)[1]
        if not isinstance(command, Finish):
            return
        report, pause = command.report, command.pause
        reason = decide(RunObserved(process, report, pause, Approval.NOT_ASKED))
        unclean_claim = process is ProcessFact.EXITED_WITH_ERROR and report.transaction is TransactionOutcome.VERIFIED

        assert reason not in NOT_FINAL
        assert (reason is Reason.RESULT_UNREADABLE) == unclean_claim

    @given(st.integers(0, LENGTH), OBSERVATIONS)
    def test_a_pause_that_speaks_of_a_save_never_stands_beside_a_proof_that_there_was_none(
        self, steps: int, seen: Observation
    ) -> None:
        state, command = advanced(steps)
        command = command if isinstance(command, Finish) else replay.step(state, seen)[1]
        if isinstance(command, Finish) and command.report.transaction in PROVEN_NO_EFFECT:
            assert not (isinstance(command.pause, OpenPause) and command.pause.category in AFTER_DELIVERY)


class TestAnswersThatDoNotFit:
    """An answer that does not answer the command is a fault of ours, and never a proof."""

    @given(
        st.integers(0, SAVE_AT - 1),
        st.sampled_from([delivery for delivery in Delivery if delivery is not Delivery.NOT_SENT]),
    )
    def test_a_verdict_about_a_write_that_was_not_asked_for_is_doubt(self, steps: int, delivery: Delivery) -> None:
        _, command = replay.step(advanced(steps)[0], SaveObserved(delivery, 0, boundary=BoundaryAnswer.GRANTED))

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.RECONCILIATION_REQUIRED

    @pytest.mark.parametrize(
        "seen",
        [
            Done(),
            Texts(()),
            Texts(("a", "b")),
            Records(()),
            SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED),
        ],
    )
    def test_an_answer_of_another_kind_before_the_save_is_a_platform_error(self, seen: Observation) -> None:
        identity_at = SAVE_AT - 1
        _, command = replay.step(
            advanced(identity_at)[0], seen if seen != Texts(("a", "b")) else Texts(("a", "b", "c"))
        )

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.FAILED_PLATFORM

    @pytest.mark.parametrize("seen", [Done(), Texts(()), Records(()), *map(Fault, FaultKind)])
    def test_an_answer_to_the_save_that_is_no_verdict_is_doubt(self, seen: Observation) -> None:
        _, command = replay.step(advanced(SAVE_AT)[0], seen)

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.RECONCILIATION_REQUIRED
        assert command.report.delivery is Delivery.UNKNOWN

    @given(
        st.sampled_from([delivery for delivery in Delivery if delivery is not Delivery.NOT_SENT]),
        st.sampled_from([answer for answer in BoundaryAnswer if answer is not BoundaryAnswer.GRANTED]),
        st.booleans(),
    )
    def test_a_write_that_the_boundary_did_not_allow_is_doubt(
        self, delivery: Delivery, answer: BoundaryAnswer, dialog: bool
    ) -> None:
        _, command = replay.step(advanced(SAVE_AT)[0], SaveObserved(delivery, 0, dialog, boundary=answer))

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.RECONCILIATION_REQUIRED

    @given(st.sampled_from(BoundaryAnswer), st.integers(0, 3), st.booleans())
    def test_a_save_that_did_not_leave_is_always_proven_not_to_have_written(
        self, answer: BoundaryAnswer, stopped: int, dialog: bool
    ) -> None:
        seen = SaveObserved(Delivery.NOT_SENT, stopped, dialog, boundary=answer)
        _, command = replay.step(advanced(SAVE_AT)[0], seen)

        assert isinstance(command, Finish)
        assert command.report.transaction in PROVEN_NO_EFFECT
        evidence = RunObserved(ProcessFact.EXITED_CLEANLY, command.report, command.pause, Approval.NOT_ASKED)
        assert claims(evidence).safe_to_retry is (answer is not BoundaryAnswer.NOT_ASKED)

    def test_a_save_without_a_baseline_is_doubt(self) -> None:
        state = advanced(SAVE_AT)[0]
        assert isinstance(state, replay.Entering)

        _, command = replay.step(
            evolve(state, baseline=None), SaveObserved(Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED)
        )

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.RECONCILIATION_REQUIRED

    @pytest.mark.parametrize("after", [1, 2])
    @pytest.mark.parametrize(
        "seen",
        [
            Texts(()),
            SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED),
            Fault(FaultKind.UNEXPECTED_DIALOG),
        ],
    )
    def test_an_answer_of_another_kind_after_the_save_is_doubt(self, seen: Observation, after: int) -> None:
        _, command = replay.step(advanced(SAVE_AT + after)[0], seen)

        assert isinstance(command, Finish)
        assert command.report.transaction is TransactionOutcome.RECONCILIATION_REQUIRED

    def test_inputs_that_were_not_accepted_are_a_bug_of_the_caller(self) -> None:
        with pytest.raises(ValueError, match="not accepted"):
            replay.start(BUNDLE, {})


class TestPlan:
    """The plan checks what it enters, and checks last what it saves."""

    def test_every_entry_stands_between_a_gate_and_an_echo(self) -> None:
        plan = replay.compile_plan(BUNDLE, PLAIN_INPUTS)
        entries = [at for at, each in enumerate(plan) if isinstance(each.command, Fill)]

        assert [type(plan[at - 1].command) for at in entries] == [CheckPage] * len(entries)
        assert [type(plan[at + 1].command) for at in entries] == [ReadValue] * len(entries)

    def test_baseline_gate_echoes_and_identity_stand_directly_before_the_save(self) -> None:
        plan = replay.compile_plan(BUNDLE, PLAIN_INPUTS)

        assert [type(each) for each in plan[-10:]] == [
            replay.TakeBaseline,
            replay.Act,
            *[replay.Echo] * 6,
            replay.Identify,
            replay.Deliver,
        ]

    def test_a_field_of_an_earlier_page_is_not_read_again_on_the_page_that_saves(self) -> None:
        names = [
            each.command.target.name
            for each in replay.compile_plan(BUNDLE, PLAIN_INPUTS)[-8:-2]
            if isinstance(each, replay.Echo)
        ]

        assert "user" not in names

    def test_the_row_of_a_landmark_is_a_text(self) -> None:
        click = BUNDLE.steps[3]
        assert isinstance(click, ClickStep)
        gate = PageGate(click.page.path, click.target)
        bundle = evolve(BUNDLE, steps=(*BUNDLE.steps[:3], evolve(click, page=gate), *BUNDLE.steps[4:]))

        gates = [
            each.command.gate
            for each in replay.compile_plan(bundle, PLAIN_INPUTS)
            if isinstance(each.command, CheckPage)
        ]

        assert Constant(PLAIN_INPUTS["patient"]) in [each.landmark.row for each in gates]

    def test_nothing_that_was_entered_shows_in_the_text_of_a_state(self) -> None:
        state, _ = advanced(SAVE_AT)
        checking, _ = advanced(SAVE_AT + 1)

        assert "01231456" not in repr(state) + repr(checking)


class TestTwoMatches:
    """Two matches of what selects a record are two candidates for it; of anything else, a page that changed."""

    def _end(self, bundle_step: FillStep | ClickStep, command: type[Command]) -> PauseCategory:
        bundle = evolve(BUNDLE, steps=(*BUNDLE.steps[:3], bundle_step, *BUNDLE.steps[3:]))
        state, asked = replay.start(bundle, PLAIN_INPUTS)
        seen_gate = 0
        while not (isinstance(asked, command) and seen_gate >= 3):
            seen_gate += isinstance(asked, CheckPage)
            state, asked = replay.step(state, fitting(asked))
        _, finish = replay.step(state, Fault(FaultKind.TARGET_NOT_UNIQUE))
        assert isinstance(finish, Finish)
        assert isinstance(finish.pause, OpenPause)
        return finish.pause.category

    def test_of_a_row_to_fill(self) -> None:
        pick = BUNDLE.steps[3]
        assert isinstance(pick, ClickStep)
        fill = FillStep("in_row", pick.page, pick.target, Constant("trainee"), Rule.TEXT, part_of_record=False)

        assert self._end(fill, Fill) is PauseCategory.DISAMBIGUATION

    def test_of_a_click_without_a_row(self) -> None:
        pick = BUNDLE.steps[3]
        assert isinstance(pick, ClickStep)
        click = ClickStep("by_name", pick.page, evolve(pick.target, row=None))

        assert self._end(click, Click) is PauseCategory.DISAMBIGUATION

    def test_of_an_identity_field(self) -> None:
        at = SAVE_AT - 1

        assert self._pause_at(at) is PauseCategory.DISAMBIGUATION

    def test_of_a_landmark(self) -> None:
        assert self._pause_at(1) is PauseCategory.RESOLUTION

    def test_of_the_baseline(self) -> None:
        at = next(at for at in range(LENGTH) if isinstance(advanced(at)[1], ReadRecords))

        assert self._pause_at(at) is PauseCategory.RESOLUTION

    def _pause_at(self, at: int) -> PauseCategory:
        _, finish = replay.step(advanced(at)[0], Fault(FaultKind.TARGET_NOT_UNIQUE))
        assert isinstance(finish, Finish)
        assert isinstance(finish.pause, OpenPause)
        return finish.pause.category


class TestLength:
    """The stated bound is reached and not passed."""

    @pytest.mark.parametrize("interval_ms", [500, 700, 5_000])
    def test_a_run_that_polls_to_the_end_waits_exactly_its_deadline(self, interval_ms: int) -> None:
        bundle = evolve(BUNDLE, read_back=evolve(BUNDLE.read_back, interval_ms=interval_ms))
        exchanges = drive(replay, scenario(lag_ms=10_000), bundle).exchanges
        waits = [command.milliseconds for command, _ in exchanges if isinstance(command, Wait)]

        assert SAVE_AT < len(exchanges) <= longest_run(bundle)
        assert sum(waits) == BUNDLE.read_back.deadline_ms
