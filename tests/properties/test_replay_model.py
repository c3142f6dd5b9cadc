"""The replay machine against a model of an app with every fault, judged by the model's own store."""

from collections.abc import Callable, Mapping
from unittest import mock

import pytest
from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from support.app_model import (
    FIELDS,
    MODEL_RUNS,
    Change,
    Faults,
    Machine,
    Row,
    SaveClick,
    Scenario,
    Server,
    check_run,
    drive,
    holds_intended,
    scenario,
)
from support.app_strategies import HARMLESS_SCENARIOS, SCENARIOS, STORE_SCENARIOS
from surehand.core.outcome.evidence import (
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    Pause,
    PauseCategory,
    Report,
    TransactionOutcome,
)
from surehand.core.workflow import readback, replay
from surehand.core.workflow.bundle import Bundle, DateForm, Rule
from surehand.core.workflow.commands import (
    Canceled,
    Command,
    FaultKind,
    Finish,
    Observation,
    OutOfTime,
    Records,
    Save,
    SaveObserved,
)

HALTED = TransactionOutcome.HALTED_BEFORE_EFFECT
DOUBT = TransactionOutcome.RECONCILIATION_REQUIRED
VERIFIED = TransactionOutcome.VERIFIED
MINIMUM = CheckLevel.SEPARATE_SESSION


class TestInvariant7:
    """7. The machine never delivers before identity and baseline, never twice, and always ends.

    1. and 2. Verified only when the store holds exactly the intended new record and nothing else changed; "nothing
    was written" only when the server received no write.
    """

    @MODEL_RUNS
    @given(SCENARIOS)
    @example(scenario())
    @example(scenario(server=Server.STORES_NOTHING))
    @example(scenario(in_store=(("dose", Change.NO_LEADING_ZERO),)))
    def test_a_run_with_any_faults_ends_with_what_the_store_proves(self, drawn: Scenario) -> None:
        check_run(replay, drawn)

    @MODEL_RUNS
    @given(HARMLESS_SCENARIOS)
    def test_a_run_whose_faults_change_nothing_is_verified(self, drawn: Scenario) -> None:
        assert check_run(replay, drawn).finish.report.transaction is VERIFIED

    @pytest.mark.parametrize("kind", FaultKind)
    def test_every_fault_at_every_command_ends_with_what_the_store_proves(self, kind: FaultKind) -> None:
        for at in range(len(drive(replay, scenario()).exchanges)):
            check_run(replay, scenario(fault_at=(at, kind)))

    @pytest.mark.parametrize("switch", ["dead_from", "canceled_at", "out_of_time_at"])
    def test_an_end_from_outside_at_every_command_is_told_as_the_store_proves(self, switch: str) -> None:
        for at in range(len(drive(replay, scenario()).exchanges)):
            check_run(replay, scenario(**{switch: at}))


@frozen
class Broken:
    """A machine with one of its laws taken out."""

    started: Callable[[replay.State], replay.State] = lambda state: state
    finished: Callable[[replay.State, Observation], tuple[replay.State, Command] | None] = lambda _state, _seen: None

    def start(self, bundle: Bundle, inputs: Mapping[str, str]) -> tuple[replay.State, Command]:
        """Begin with a broken plan."""
        state = self.started(replay.start(bundle, inputs)[0])
        assert isinstance(state, replay.Entering)
        return state, state.plan[0].command

    def step(self, state: replay.State, observation: Observation) -> tuple[replay.State, Command]:
        """Go on, brokenly."""
        return self.finished(state, observation) or replay.step(state, observation)


def _without(kind: type) -> Callable[[replay.State], replay.State]:
    def broken(state: replay.State) -> replay.State:
        assert isinstance(state, replay.Entering)
        kept = tuple(each for each in state.plan if not isinstance(each, kind))
        return evolve(state, plan=kept, baseline=Records(()) if kind is replay.TakeBaseline else None)

    return broken


def _identity_before_the_entries(state: replay.State) -> replay.State:
    assert isinstance(state, replay.Entering)
    identity = next(each for each in state.plan if isinstance(each, replay.Identify))
    rest = [each for each in state.plan if each is not identity]
    return evolve(state, plan=(*rest[:8], identity, *rest[8:]))


def _overlooks_a_refusal(state: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(seen, SaveObserved):
        return None
    return replay.step(state, evolve(seen, refused=False))


def _finish(transaction: TransactionOutcome, execution: ExecutionOutcome, delivery: Delivery, pause: Pause) -> Finish:
    success = execution is ExecutionOutcome.VERIFIED
    check = CheckLevel.SYSTEM_OF_RECORD if success else CheckLevel.UNCHECKED
    return Finish(Report(transaction, execution, success, delivery, check, MINIMUM), pause)


def _believes_the_banner(_: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(seen, SaveObserved) or seen.delivery is not Delivery.SENT_ONCE:
        return None
    finish = _finish(VERIFIED, ExecutionOutcome.VERIFIED, Delivery.SENT_ONCE, NoPause())
    return replay.Ended(finish), finish


def _saves_again_when_in_doubt(state: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(seen, SaveObserved) or seen.delivery is not Delivery.UNKNOWN:
        return None
    assert isinstance(state, replay.Entering)
    return state, state.plan[state.at].command


def _stops_after_the_save(state: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(state, replay.Checking) or not isinstance(seen, Canceled | OutOfTime):
        return None
    finish = _finish(TransactionOutcome.CANCELED, ExecutionOutcome.HALTED, Delivery.NOT_SENT, NoPause())
    return replay.Ended(finish), finish


def _takes_unknown_for_unsent(_: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(seen, SaveObserved) or seen.delivery is not Delivery.UNKNOWN:
        return None
    pause = OpenPause(PauseCategory.POSTCONDITION)
    finish = _finish(HALTED, ExecutionOutcome.HALTED, Delivery.NOT_SENT, pause)
    return replay.Ended(finish), finish


def _polls_for_ever(state: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(state, replay.Checking):
        return None
    return replay.step(evolve(state, waited_ms=0), seen)


def _gives_up_at_the_first_poll(state: replay.State, seen: Observation) -> tuple[replay.State, Command] | None:
    if not isinstance(state, replay.Checking) or state.waiting:
        return None
    return replay.step(evolve(state, waited_ms=1_000_000), seen)


def _starts_with(rule: Rule, expected: str, seen: str, _form: DateForm) -> bool:
    return expected.startswith(seen) if rule is Rule.TEXT else expected == seen


def _trims(rule: Rule, expected: str, seen: str, _form: DateForm) -> bool:
    return expected.split() == seen.split() if rule is Rule.TEXT else expected == seen


def _any_number(_: Rule, expected: str, seen: str, _form: DateForm) -> bool:
    return expected.lstrip("0").replace(".", "") == seen.lstrip("0").replace(".", "")


BROKEN: dict[str, Machine] = {
    "no identity check": Broken(started=_without(replay.Identify)),
    "identity checked only before the entries": Broken(started=_identity_before_the_entries),
    "no baseline": Broken(started=_without(replay.TakeBaseline)),
    "believes the banner": Broken(finished=_believes_the_banner),
    "saves again when in doubt": Broken(finished=_saves_again_when_in_doubt),
    "stops after the save": Broken(finished=_stops_after_the_save),
    "takes unknown for unsent": Broken(finished=_takes_unknown_for_unsent),
    "polls for ever": Broken(finished=_polls_for_ever),
    "overlooks a refusal": Broken(finished=_overlooks_a_refusal),
}


def _never_repeated(_: Records) -> bool:
    return True


#: Controls that break a rule beneath the machine: what is replaced, and by what.
LOOSE: dict[str, tuple[str, Callable[..., bool], st.SearchStrategy[Scenario]]] = {
    "a prefix is enough": ("same", _starts_with, STORE_SCENARIOS),
    "blanks do not matter": ("same", _trims, STORE_SCENARIOS),
    "digits are enough": ("same", _any_number, STORE_SCENARIOS),
    "repeated keys do not matter": ("keys_are_unique", _never_repeated, SCENARIOS),
}


def _property(machine: Machine, scenarios: st.SearchStrategy[Scenario] = SCENARIOS) -> Callable[[], None]:
    @settings(max_examples=20_000, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
    @given(scenarios)
    def same_property(drawn: Scenario) -> None:
        check_run(machine, drawn)

    found: Callable[[], None] = same_property
    return found


class TestTheModelCatches:
    """A machine that breaks one law is caught by the very property that the real one passes."""

    @pytest.mark.parametrize("name", BROKEN)
    def test_a_broken_machine(self, name: str) -> None:
        with pytest.raises(AssertionError):
            _property(BROKEN[name])()

    @pytest.mark.parametrize("name", LOOSE)
    def test_a_loose_rule(self, name: str) -> None:
        replaced, loose, scenarios = LOOSE[name]

        with mock.patch.object(readback, replaced, loose), pytest.raises(AssertionError):
            _property(replay, scenarios)()

    def test_a_machine_that_gives_up_at_the_first_poll(self) -> None:
        impatient = Broken(finished=_gives_up_at_the_first_poll)

        assert drive(impatient, scenario(lag_ms=1)).finish.report.transaction is DOUBT
        assert drive(replay, scenario(lag_ms=1)).finish.report.transaction is VERIFIED


CASES: dict[str, tuple[Scenario, TransactionOutcome, PauseCategory | None]] = {
    "nothing goes wrong": (scenario(), VERIFIED, None),
    "a banner without a save": (scenario(server=Server.STORES_NOTHING), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    **{
        f"{name} is dropped": (scenario(in_store=((name, Change.LOST),)), DOUBT, PauseCategory.EFFECT_REFUTED)
        for name in FIELDS
    },
    "cut at an emoji": (scenario(in_store=(("note", Change.CUT_AT_EMOJI),)), DOUBT, PauseCategory.EFFECT_REFUTED),
    "composed in the store": (scenario(in_store=(("note", Change.COMPOSED),)), VERIFIED, None),
    "line endings in the store": (scenario(in_store=(("note", Change.CRLF),)), VERIFIED, None),
    "a day early in the store": (scenario(in_store=(("due", Change.DAY_BEFORE),)), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a lost zero": (scenario(in_store=(("code", Change.NO_LEADING_ZERO),)), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a lost dot": (scenario(in_store=(("dose", Change.NO_DOT),)), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a trimmed end": (scenario(in_store=(("remark", Change.TRIMMED),)), DOUBT, PauseCategory.EFFECT_REFUTED),
    "another blank": (
        scenario(in_store=(("remark", Change.NO_BREAK_SPACE_TO_SPACE),)),
        DOUBT,
        PauseCategory.EFFECT_REFUTED,
    ),
    "visible in time": (scenario(lag_ms=2_000), VERIFIED, None),
    "visible too late": (scenario(lag_ms=2_001), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    "refused": (scenario(server=Server.REFUSES), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    "refused, and somebody else saves the same": (
        scenario(server=Server.REFUSES_AND_ANOTHER_SAVES_THE_SAME),
        DOUBT,
        PauseCategory.EFFECT_INDETERMINATE,
    ),
    "stored under another patient": (
        scenario(server=Server.STORES_UNDER_OTHER_PATIENT),
        DOUBT,
        PauseCategory.EFFECT_REFUTED,
    ),
    "stored twice": (scenario(server=Server.STORES_TWICE), DOUBT, PauseCategory.EFFECT_REFUTED),
    "an old record overwritten": (scenario(server=Server.OVERWRITES_OLD), DOUBT, PauseCategory.EFFECT_REFUTED),
    "an old record changed too": (scenario(server=Server.STORES_AND_CHANGES_OLD), DOUBT, PauseCategory.EFFECT_REFUTED),
    "an old record gone": (scenario(server=Server.STORES_AND_DELETES_OLD), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a colleague adds": (scenario(colleague_adds=True), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a resend that the fence stopped": (scenario(stopped_writes=1), VERIFIED, None),
    "the answer is lost": (scenario(save_click=SaveClick.SENDS_ANSWER_LOST), VERIFIED, None),
    "lost on the way": (scenario(save_click=SaveClick.LOST_ON_THE_WAY), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    "a click that sends nothing": (scenario(save_click=SaveClick.SENDS_NOTHING), HALTED, PauseCategory.POSTCONDITION),
    "a question before the save": (scenario(save_click=SaveClick.ASKS_FIRST), HALTED, PauseCategory.HALT),
    "a boundary that refuses": (
        scenario(save_click=SaveClick.BOUNDARY_REFUSES),
        TransactionOutcome.FAILED_PLATFORM,
        None,
    ),
    "a boundary that refuses, and the page complains": (
        scenario(save_click=SaveClick.BOUNDARY_REFUSES_AND_PAGE_ASKS),
        TransactionOutcome.FAILED_PLATFORM,
        None,
    ),
    "a wish to stop at the boundary": (
        scenario(save_click=SaveClick.STOPPED_AT_BOUNDARY),
        TransactionOutcome.CANCELED,
        None,
    ),
    "a connection that fails behind the boundary": (
        scenario(save_click=SaveClick.NEVER_LEAVES),
        TransactionOutcome.FAILED_PLATFORM,
        None,
    ),
    "a question after the save": (
        scenario(save_click=SaveClick.SENDS_THEN_ASKS),
        DOUBT,
        PauseCategory.EFFECT_INDETERMINATE,
    ),
    "one poll unanswered": (scenario(unanswered_reads=frozenset({1})), VERIFIED, None),
    "no poll answered": (
        scenario(unanswered_reads=frozenset(range(1, 20))),
        DOUBT,
        PauseCategory.EFFECT_UNVERIFIABLE,
    ),
    "no baseline": (scenario(unanswered_reads=frozenset({0})), HALTED, PauseCategory.EFFECT_UNVERIFIABLE),
    "repeated keys in the baseline": (scenario(repeated_keys_from_read=0), HALTED, PauseCategory.EFFECT_UNVERIFIABLE),
    "repeated keys after the save": (scenario(repeated_keys_from_read=1), DOUBT, PauseCategory.EFFECT_REFUTED),
    "two rows": (scenario(row=Row.TWO), HALTED, PauseCategory.DISAMBIGUATION),
    "no row": (scenario(row=Row.NONE), HALTED, PauseCategory.RESOLUTION),
    "a recycled row": (scenario(row=Row.RECYCLED), HALTED, PauseCategory.IDENTITY),
    "another patient from the first entry on": (
        scenario(other_patient_from=8),
        HALTED,
        PauseCategory.IDENTITY,
    ),
    "another patient after the last entry": (scenario(other_patient_from=34), HALTED, PauseCategory.IDENTITY),
    "another patient in the moment of the save": (
        scenario(other_patient_from=35),
        DOUBT,
        PauseCategory.EFFECT_REFUTED,
    ),
    "a namesake": (scenario(shown_birth_date=Change.DAY_BEFORE), HALTED, PauseCategory.IDENTITY),
    "no such option": (scenario(option_missing=True), HALTED, PauseCategory.RESOLUTION),
    "cut on the screen": (scenario(on_screen=(("note", Change.CUT),)), HALTED, PauseCategory.POSTCONDITION),
    "day and month swapped": (
        scenario(on_screen=(("due", Change.SWAPPED_DAY_AND_MONTH),)),
        HALTED,
        PauseCategory.POSTCONDITION,
    ),
    "rewritten by a suggestion much later": (
        scenario(rewritten=(("note", Change.OTHER, 12),)),
        HALTED,
        PauseCategory.POSTCONDITION,
    ),
    "an early write that was stopped": (scenario(early_write_at=(9, False)), HALTED, PauseCategory.UNMET_GUARD),
    "an early write that left": (scenario(early_write_at=(9, True)), DOUBT, PauseCategory.DELIVERY_UNCERTAIN),
    "sign-in again": (scenario(fault_at=(11, FaultKind.SIGN_IN_SHOWN)), HALTED, PauseCategory.HUMAN_REQUIRED),
    "another page": (scenario(fault_at=(8, FaultKind.PAGE_UNEXPECTED)), HALTED, PauseCategory.HALT),
    "a dialog": (scenario(fault_at=(9, FaultKind.UNEXPECTED_DIALOG)), HALTED, PauseCategory.HALT),
    "a covered target": (scenario(fault_at=(9, FaultKind.TARGET_COVERED)), HALTED, PauseCategory.RESOLUTION),
    "two fields of one name": (scenario(fault_at=(9, FaultKind.TARGET_NOT_UNIQUE)), HALTED, PauseCategory.RESOLUTION),
    "a dead app": (scenario(dead_from=9), TransactionOutcome.FAILED_PLATFORM, None),
    "a broken engine": (scenario(fault_at=(9, FaultKind.ENGINE_BROKEN)), TransactionOutcome.FAILED_PLATFORM, None),
    "canceled": (scenario(canceled_at=9), TransactionOutcome.CANCELED, None),
    "canceled while it reads back": (scenario(canceled_at=36, lag_ms=500), VERIFIED, None),
    "canceled while it waits": (scenario(canceled_at=37, lag_ms=500), VERIFIED, None),
    "out of time while it reads back": (scenario(out_of_time_at=36, lag_ms=500), VERIFIED, None),
    "out of time": (scenario(out_of_time_at=9), TransactionOutcome.FAILED_PLATFORM, None),
}


class TestCases:
    """Each fault of the case log ends in its honest outcome."""

    @pytest.mark.parametrize("name", CASES)
    def test_the_outcome(self, name: str) -> None:
        drawn, transaction, category = CASES[name]
        finish = check_run(replay, drawn).finish
        pause = NoPause() if category is None else OpenPause(category)

        assert (finish.report.transaction, finish.pause) == (transaction, pause)

    def test_the_outcome_does_not_come_from_the_fields_that_a_run_left_empty(self) -> None:
        given_inputs = {name: text for name, text in scenario().inputs.items() if name != "remark"}
        trace = check_run(replay, Scenario(inputs=given_inputs, faults=Faults()))

        assert trace.finish.report.transaction is VERIFIED
        assert holds_intended(trace.app.store, given_inputs)

    def test_a_verified_report_says_how_it_was_checked(self) -> None:
        finish = drive(replay, scenario()).finish

        assert finish == _finish(VERIFIED, ExecutionOutcome.VERIFIED, Delivery.SENT_ONCE, NoPause())

    @pytest.mark.parametrize(
        ("drawn", "check"),
        [
            (scenario(server=Server.STORES_NOTHING), CheckLevel.SYSTEM_OF_RECORD),
            (scenario(unanswered_reads=frozenset(range(1, 20))), CheckLevel.UNCHECKED),
            (scenario(save_click=SaveClick.SENDS_THEN_ASKS), CheckLevel.UNCHECKED),
            (scenario(row=Row.TWO), CheckLevel.UNCHECKED),
        ],
        ids=["read", "not answered", "not asked", "not saved"],
    )
    def test_a_report_claims_a_check_only_when_the_records_were_read(self, drawn: Scenario, check: CheckLevel) -> None:
        assert drive(replay, drawn).finish.report.check is check

    def test_the_save_is_asked_for_once_and_with_its_route(self) -> None:
        saves = [command for command, _ in drive(replay, scenario()).exchanges if isinstance(command, Save)]

        assert [save.route.path for save in saves] == ["/patients/*/entries"]
