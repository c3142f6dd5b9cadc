"""The result that a caller sees: its table, its words, and what cannot be made or read."""

import importlib
import json
from enum import Enum
from typing import Any

import pytest
from attrs import asdict, evolve, fields
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.outcome_strategies import EVIDENCE, EXECUTED, EXECUTING, RESULTS, exited, facts, stopped, verified
from surehand.core.outcome.decide import PAUSE_REASONS, claims, decide
from surehand.core.outcome.domain import CALLS
from surehand.core.outcome.evidence import (
    AFTER_DELIVERY,
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    EarlierAttempts,
    Evidence,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    OwnerGone,
    PauseCategory,
    PauseLookupFailed,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    ReportUnreadable,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import NOT_FINAL, REASONS, Claims, NextStep, Outcome, Reason, RecordChanged
from surehand.core.outcome.result import (
    CallFacts,
    CheckedHow,
    EngineName,
    FailedCheck,
    InputProblem,
    InputProblemCode,
    Mode,
    Proof,
    RunResult,
    answer_of,
    as_replayed,
    is_final,
    project,
    result_schema,
)
from surehand.core.outcome.wording import EARLIER_MAY_HAVE_SAVED, SIMULATED_PREFIX, WORDING
from surehand.core.wire import FaultCode, WireFault, from_wire, to_wire

#: The library bears no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

RUN_ID = "run_" + "0123456789abcdef" * 2
FACTS = CallFacts(run_id=RUN_ID, mode=Mode.SANDBOX, engine=EngineName.BROWSER, attempt=1)

_HALTED = stopped(TransactionOutcome.HALTED_BEFORE_EFFECT)
_CANCELED = stopped(TransactionOutcome.CANCELED)
_LEGACY = Report(
    TransactionOutcome.NOT_STATED,
    ExecutionOutcome.COMPLETED_UNVERIFIED,
    True,
    Delivery.NOT_MEASURED,
    CheckLevel.UNCHECKED,
    CheckLevel.REOPENED,
)


def _paused(report: Report, category: PauseCategory) -> RunObserved:
    return evolve(exited(report), pause=OpenPause(category))


def _never(process: ProcessFact) -> RunObserved:
    return RunObserved(process, ReportMissing(), NoPause(), Approval.NOT_ASKED)


def _refused(refusal: Refusal) -> CallRefused:
    return CallRefused(refusal, EarlierAttempts.NONE)


_PLATFORM = stopped(TransactionOutcome.FAILED_PLATFORM, ExecutionOutcome.FAILED)

#: What a pause means beside a report that nothing was written.
PAUSED = {
    PauseCategory.IDENTITY: Reason.RECORD_NOT_CONFIRMED,
    PauseCategory.DISAMBIGUATION: Reason.RECORD_NOT_CONFIRMED,
    PauseCategory.RESOLUTION: Reason.UNEXPECTED_SCREEN,
    PauseCategory.UNMET_GUARD: Reason.UNEXPECTED_SCREEN,
    PauseCategory.POSTCONDITION: Reason.UNEXPECTED_SCREEN,
    PauseCategory.HALT: Reason.UNEXPECTED_SCREEN,
    PauseCategory.HUMAN_REQUIRED: Reason.PERSON_NEEDED,
    PauseCategory.BUSINESS_DECISION: Reason.PERSON_NEEDED,
    PauseCategory.EFFECT_UNVERIFIABLE: Reason.RECORD_CHECK_NOT_SET_UP,
    PauseCategory.PLACEHOLDER_EFFECT: Reason.RECORD_CHECK_NOT_SET_UP,
    PauseCategory.ITEM_APPROVAL: Reason.APPROVAL_NEEDED,
    PauseCategory.ITEM_DECLINED: Reason.STOPPED_FOR_REVIEW,
    PauseCategory.OPERATOR_REVIEW: Reason.STOPPED_FOR_REVIEW,
    PauseCategory.POSSIBLE_DUPLICATE: Reason.POSSIBLE_DUPLICATE,
    PauseCategory.EFFECT_ESCALATED: Reason.RESULT_UNREADABLE,
    PauseCategory.EFFECT_INDETERMINATE: Reason.RESULT_UNREADABLE,
    PauseCategory.EFFECT_REFUTED: Reason.RESULT_UNREADABLE,
    PauseCategory.DELIVERY_UNCERTAIN: Reason.RESULT_UNREADABLE,
    PauseCategory.READBACK_PENDING: Reason.RESULT_UNREADABLE,
}

EXAMPLES: list[tuple[Evidence, Reason]] = [
    (exited(verified()), Reason.SAVED_AND_CHECKED),
    (exited(verified(CheckLevel.SAME_PAGE)), Reason.CHECKED_BELOW_MINIMUM),
    (exited(verified(minimum=CheckLevel.UNCHECKED)), Reason.RESULT_UNREADABLE),
    (exited(evolve(verified(), execution=ExecutionOutcome.HALTED)), Reason.RESULT_UNREADABLE),
    (exited(evolve(verified(), success=False)), Reason.RESULT_UNREADABLE),
    (exited(evolve(verified(), delivery=Delivery.NOT_SENT)), Reason.RESULT_UNREADABLE),
    (evolve(exited(verified()), process=ProcessFact.EXITED_WITH_ERROR), Reason.RESULT_UNREADABLE),
    (evolve(exited(verified()), pause=RejectedPause()), Reason.RESULT_UNREADABLE),
    (evolve(exited(verified()), pause=PauseLookupFailed()), Reason.RESULT_UNREADABLE),
    (evolve(exited(verified()), approval=Approval.REQUIRED), Reason.RESULT_UNREADABLE),
    (evolve(exited(verified()), approval=Approval.GIVEN), Reason.SAVED_AND_CHECKED),
    *((_paused(_HALTED, category), reason) for category, reason in PAUSED.items()),
    (evolve(_paused(_HALTED, PauseCategory.READBACK_PENDING), approval=Approval.REQUIRED), Reason.RESULT_UNREADABLE),
    (exited(_HALTED), Reason.STOPPED_FOR_REVIEW),
    (exited(evolve(_HALTED, delivery=Delivery.SENT_ONCE)), Reason.RESULT_UNREADABLE),
    (evolve(exited(_HALTED), approval=Approval.REQUIRED), Reason.APPROVAL_NEEDED),
    (evolve(_paused(_HALTED, PauseCategory.IDENTITY), approval=Approval.REQUIRED), Reason.APPROVAL_NEEDED),
    (evolve(exited(_HALTED), pause=RejectedPause()), Reason.STOPPED_BY_PERSON),
    (evolve(exited(_HALTED), process=ProcessFact.EXITED_WITH_ERROR), Reason.STOPPED_FOR_REVIEW),
    (evolve(exited(_HALTED), process=ProcessFact.TIMED_OUT), Reason.TIMED_OUT),
    (exited(stopped(TransactionOutcome.REJECTED_POLICY)), Reason.POLICY_REFUSED),
    (exited(_CANCELED), Reason.CANCELED),
    (exited(_PLATFORM), Reason.PLATFORM_ERROR),
    (_paused(_CANCELED, PauseCategory.HALT), Reason.UNEXPECTED_SCREEN),
    (evolve(exited(_CANCELED), pause=PauseLookupFailed()), Reason.STOPPED_FOR_REVIEW),
    (exited(stopped(TransactionOutcome.RECONCILIATION_REQUIRED)), Reason.SAVE_NOT_CONFIRMED),
    (exited(stopped(TransactionOutcome.SAVED_AWAITING_CHECK)), Reason.NOT_CHECKED),
    (
        exited(stopped(TransactionOutcome.COMPLETED_UNVERIFIED, ExecutionOutcome.COMPLETED_UNVERIFIED)),
        Reason.NOT_CHECKED,
    ),
    (exited(stopped(TransactionOutcome.ROLLED_BACK, ExecutionOutcome.ROLLED_BACK)), Reason.CHANGE_REVERSED),
    (exited(_LEGACY), Reason.NOT_CHECKED),
    (exited(stopped(TransactionOutcome.NOT_STATED)), Reason.RESULT_UNREADABLE),
    (exited(ReportMissing()), Reason.RESULT_UNREADABLE),
    (exited(ReportUnreadable()), Reason.RESULT_UNREADABLE),
    (_never(ProcessFact.NOT_LAUNCHED), Reason.PLATFORM_ERROR),
    (_never(ProcessFact.REFUSED_BEFORE_EXECUTION), Reason.NOT_READY_TO_RUN),
    (evolve(_never(ProcessFact.NOT_LAUNCHED), report=_HALTED), Reason.RESULT_UNREADABLE),
    (evolve(_never(ProcessFact.NOT_LAUNCHED), approval=Approval.WAITING), Reason.RESULT_UNREADABLE),
    (_never(ProcessFact.STILL_RUNNING), Reason.RUNNING),
    (evolve(_never(ProcessFact.STILL_RUNNING), approval=Approval.WAITING), Reason.WAITING_FOR_APPROVAL),
    (_refused(Refusal.ENGINE_UNAVAILABLE), Reason.PLATFORM_ERROR),
    (_refused(Refusal.STORE_UNAVAILABLE), Reason.PLATFORM_ERROR),
    *(
        (_refused(refusal), Reason(refusal.value))
        for refusal in Refusal
        if refusal not in {Refusal.ENGINE_UNAVAILABLE, Refusal.STORE_UNAVAILABLE}
    ),
    (OwnerGone(Phase.RESERVED, journaled=True), Reason.INTERRUPTED_BEFORE_SAVE),
    (OwnerGone(Phase.STARTED, journaled=True), Reason.INTERRUPTED_BEFORE_SAVE),
    (OwnerGone(Phase.DELIVERING, journaled=True), Reason.INTERRUPTED),
    (OwnerGone(Phase.RESERVED, journaled=False), Reason.INTERRUPTED),
    (RecordUnreadable(), Reason.RESULT_UNREADABLE),
]


class TestTheReasonOfEvidence:
    """Every evidence has exactly one reason; contradiction and absence lead to doubt, never to a claim."""

    @pytest.mark.parametrize(("evidence", "reason"), EXAMPLES)
    def test_an_example(self, evidence: Evidence, reason: Reason) -> None:
        assert reason is decide(evidence)

    def test_the_examples_show_every_reason(self) -> None:
        assert set(Reason) == {reason for _, reason in EXAMPLES}

    def test_every_pause_category_has_a_reason_and_those_after_a_save_have_doubt(self) -> None:
        assert set(PauseCategory) == set(PAUSED) == set(PAUSE_REASONS)
        assert AFTER_DELIVERY == {
            category for category, reason in PAUSE_REASONS.items() if reason is Reason.RESULT_UNREADABLE
        }


class TestTheCodes:
    """A code is the name of its member, so that what was stored once is read for ever."""

    @pytest.mark.parametrize(
        "codes",
        [
            Refusal,
            EarlierAttempts,
            Phase,
            ProcessFact,
            Delivery,
            PauseCategory,
            Approval,
            Outcome,
            RecordChanged,
            NextStep,
            Reason,
            Proof,
            Mode,
            EngineName,
            CheckedHow,
            InputProblemCode,
            FailedCheck,
        ],
    )
    def test_in_small_letters(self, codes: type[Enum]) -> None:
        assert [code.name.lower() for code in codes] == [code.value for code in codes]

    @pytest.mark.parametrize("codes", [TransactionOutcome, ExecutionOutcome])
    def test_in_capitals_in_an_engine_s_report(self, codes: type[Enum]) -> None:
        assert [code.name for code in codes] == [code.value for code in codes]

    def test_check_levels_count_up_from_none(self) -> None:
        assert list(range(5)) == list(CheckLevel)


class TestTheReasonTable:
    """Each outcome is one decision for the caller."""

    @pytest.mark.parametrize("reason", Reason)
    def test_only_done_says_that_the_record_changed(self, reason: Reason) -> None:
        row = REASONS[reason]

        assert (row.outcome is Outcome.DONE) is (row.record_changed is RecordChanged.YES)

    @pytest.mark.parametrize("reason", Reason)
    def test_a_retry_is_safe_only_when_nothing_was_written_and_nothing_ran(self, reason: Reason) -> None:
        row = REASONS[reason]
        proven = row.outcome is Outcome.DID_NOT_RUN and row.record_changed is RecordChanged.NO

        assert proven or not row.safe_to_retry

    @pytest.mark.parametrize("reason", Reason)
    def test_doubt_sends_a_person_to_the_record(self, reason: Reason) -> None:
        row = REASONS[reason]
        doubt = Claims(Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN, False, NextStep.HAVE_A_PERSON_CHECK_THE_RECORD)

        assert row == doubt or row.outcome is not Outcome.NOT_SURE_IF_SAVED

    @pytest.mark.parametrize("reason", Reason)
    def test_a_sentence_says_no_more_than_its_row(self, reason: Reason) -> None:
        row, words = REASONS[reason], WORDING[reason]

        assert not ("Nothing was written" in words.what_happened and row.record_changed is not RecordChanged.NO)
        assert not ("may have saved" in words.what_happened and row.record_changed is RecordChanged.NO)
        assert not ("retry" in words.next_action.lower().replace("do not retry", "") and not row.safe_to_retry)
        assert ("was saved" in words.what_happened) is (row.outcome is Outcome.DONE)

    @pytest.mark.parametrize("refusal", Refusal)
    def test_a_refused_call_with_a_doubtful_history_never_says_that_nothing_was_written(self, refusal: Refusal) -> None:
        said = claims(CallRefused(refusal, EarlierAttempts.UNKNOWN))

        assert said == Claims(
            Outcome.DID_NOT_RUN, RecordChanged.UNKNOWN, False, NextStep.HAVE_A_PERSON_CHECK_THE_RECORD
        )

    @pytest.mark.parametrize("refusal", Refusal)
    @pytest.mark.parametrize("earlier", [EarlierAttempts.NONE, EarlierAttempts.NOTHING_WRITTEN])
    def test_a_refused_call_with_a_proven_history_says_what_its_reason_says(
        self, refusal: Refusal, earlier: EarlierAttempts
    ) -> None:
        refused = CallRefused(refusal, earlier)

        assert REASONS[decide(refused)] == claims(refused)


class TestAResult:
    """Every result is closed: codes, fixed copy, patterns and bounded numbers."""

    @given(RESULTS)
    def test_invariant_4_every_result_validates_against_the_one_output_schema(self, result: RunResult) -> None:
        wire = json.loads(json.dumps(to_wire(result)))

        jsonschema.Draft202012Validator(result_schema()).validate(wire)
        assert Success(result) == from_wire(wire, RunResult)

    @pytest.mark.parametrize("engine", EngineName)
    def test_invariant_4_every_reason_with_every_engine_and_every_refusal_validates(self, engine: EngineName) -> None:
        validator = jsonschema.Draft202012Validator(result_schema())
        seen: set[Reason] = set()
        executed = [] if engine is EngineName.NONE else [evidence for evidence, _ in EXAMPLES]
        for evidence in (*CALLS, *executed):
            result = project(evidence, evolve(FACTS, engine=engine))
            validator.validate(to_wire(result))
            seen.add(result.reason)

        calls = {decide(call) for call in CALLS}
        assert seen == (calls if engine is EngineName.NONE else set(Reason))

    @given(RESULTS)
    def test_its_sentences_are_fixed_copy(self, result: RunResult) -> None:
        words = WORDING[result.reason]
        sentence = result.what_happened.removeprefix(SIMULATED_PREFIX)

        assert (sentence, result.next_action) in {
            (words.what_happened, words.next_action),
            (EARLIER_MAY_HAVE_SAVED.what_happened, EARLIER_MAY_HAVE_SAVED.next_action),
        }

    @given(EXECUTED, facts())
    def test_proof_stands_beside_done_and_says_whether_an_app_was_opened(
        self, evidence: Evidence, beside: CallFacts
    ) -> None:
        result = project(evidence, beside)
        simulated = beside.engine is EngineName.SIMULATED
        proof = Proof.SIMULATED if simulated else Proof.LOCAL

        assert (proof if result.outcome is Outcome.DONE else Proof.NONE) is result.proof
        assert simulated is result.what_happened.startswith(SIMULATED_PREFIX)

    @pytest.mark.parametrize(
        ("engine", "proof"),
        [
            (EngineName.BROWSER, Proof.LOCAL),
            (EngineName.FLOW, Proof.LOCAL),
            (EngineName.SIMULATED, Proof.SIMULATED),
        ],
    )
    def test_a_saved_record_is_proven_by_what_its_engine_can_give(self, engine: EngineName, proof: Proof) -> None:
        assert proof is project(exited(verified()), evolve(FACTS, engine=engine)).proof

    @given(facts())
    def test_says_of_the_call_what_it_was_told(self, beside: CallFacts) -> None:
        result = project(exited(verified()), beside)

        assert asdict(beside, recurse=False) == {each.name: getattr(result, each.name) for each in fields(CallFacts)}

    def test_of_a_simulated_run_says_so_first(self) -> None:
        result = project(exited(verified()), evolve(FACTS, engine=EngineName.SIMULATED))

        assert result.what_happened.startswith("Simulated sandbox result, no app was opened. The entry was saved")

    def test_is_stored_unless_somebody_says_that_it_was_not(self) -> None:
        assert project(exited(verified()), FACTS).record_saved
        assert not project(exited(verified()), evolve(FACTS, record_saved=False)).record_saved

    @pytest.mark.parametrize("evidence", [RecordUnreadable(), exited(ReportMissing())])
    def test_a_reason_without_a_report_beneath_it_tells_no_check(self, evidence: Evidence) -> None:
        assert CheckedHow.UNCHECKED is answer_of(Reason.SAVE_NOT_CONFIRMED, evidence).checked_how

    @given(EXECUTED, facts())
    def test_a_check_is_told_only_where_the_reason_rests_on_one(self, evidence: Evidence, beside: CallFacts) -> None:
        result = project(evidence, beside)
        unchecked = {Reason.NOT_CHECKED, Reason.RESULT_UNREADABLE, Reason.TIMED_OUT, Reason.RUNNING}

        assert result.checked_how is CheckedHow.UNCHECKED or result.reason not in unchecked
        assert result.checked_at == (None if result.checked_how is CheckedHow.UNCHECKED else beside.checked_at)

    def test_the_check_of_a_saved_record_is_told_with_its_time(self) -> None:
        result = project(exited(verified()), evolve(FACTS, checked_at="2026-11-30T12:00:00Z"))

        assert (CheckedHow.REOPENED, "2026-11-30T12:00:00Z") == (result.checked_how, result.checked_at)

    @pytest.mark.parametrize(
        ("report", "reason", "told"),
        [
            (verified(CheckLevel.SAME_PAGE), Reason.CHECKED_BELOW_MINIMUM, CheckedHow.SAME_PAGE),
            (stopped(TransactionOutcome.RECONCILIATION_REQUIRED), Reason.SAVE_NOT_CONFIRMED, CheckedHow.REOPENED),
            (
                stopped(TransactionOutcome.ROLLED_BACK, ExecutionOutcome.ROLLED_BACK),
                Reason.CHANGE_REVERSED,
                CheckedHow.REOPENED,
            ),
            (stopped(TransactionOutcome.SAVED_AWAITING_CHECK), Reason.NOT_CHECKED, CheckedHow.UNCHECKED),
            (_CANCELED, Reason.CANCELED, CheckedHow.UNCHECKED),
        ],
    )
    def test_a_check_is_told_beside_each_reason_that_rests_on_one(
        self, report: Report, reason: Reason, told: CheckedHow
    ) -> None:
        checked = report if report.check else evolve(report, check=CheckLevel.REOPENED)
        result = project(exited(checked), FACTS)

        assert (reason, told) == (result.reason, result.checked_how)

    @given(RESULTS)
    def test_a_replay_is_the_same_answer(self, result: RunResult) -> None:
        replayed = as_replayed(result)

        assert replayed.replayed
        assert asdict(evolve(replayed, replayed=False)) == asdict(result)

    @given(EVIDENCE, st.sampled_from(EXECUTING))
    def test_a_run_that_goes_on_is_no_final_result(self, evidence: Evidence, engine: EngineName) -> None:
        result = project(evidence, evolve(FACTS, engine=engine))

        assert is_final(result) is (result.reason not in {Reason.RUNNING, Reason.WAITING_FOR_APPROVAL})

    def test_one_that_runs_or_waits_for_an_approval_is_the_only_one_that_is_not_final(self) -> None:
        assert {Reason.RUNNING, Reason.WAITING_FOR_APPROVAL} == NOT_FINAL

    def test_check_levels_have_one_name_each(self) -> None:
        assert [level.name.lower() for level in CheckLevel] == [how.value for how in CheckedHow]

    def test_each_number_sentence_and_list_of_it_is_bounded(self) -> None:
        properties: Any = result_schema()["properties"]

        assert {"type": "integer", "minimum": 0, "maximum": 5} == properties["attempt"]
        assert [300, 300] == [properties[name]["maxLength"] for name in ("what_happened", "next_action")]
        assert [50, 20] == [properties[name]["maxItems"] for name in ("input_problems", "failed_checks")]

    def test_no_field_of_it_can_hold_free_text(self) -> None:
        bounded = {"contract", "run_id", "checked_at", "what_happened", "next_action"}
        properties: Any = result_schema()["properties"]
        free = {name for name, part in properties.items() if part["type"] == "string" and "enum" not in part}

        assert free <= bounded


class TestAFalseResult:
    """A result whose parts disagree cannot be made, so a stored one cannot be read either."""

    SAVED = project(exited(verified()), FACTS)
    STOPPED = project(exited(_CANCELED), FACTS)

    @pytest.mark.parametrize(
        "change",
        [
            {"record_changed": RecordChanged.NO},
            {"safe_to_retry": True},
            {"outcome": Outcome.DID_NOT_RUN},
            {"next_step": NextStep.CALL_GET_RUN},
            {"reason": Reason.NOT_CHECKED},
            {"what_happened": "The entry of Jane Doe was saved."},
            {"what_happened": SIMULATED_PREFIX + WORDING[Reason.SAVED_AND_CHECKED].what_happened},
            {"next_action": "Retry."},
            {"proof": Proof.NONE},
            {"proof": Proof.SIMULATED},
            {"engine": EngineName.SIMULATED},
            {"engine": EngineName.NONE},
            {"checked_how": CheckedHow.UNCHECKED},
            {"checked_at": "yesterday"},
            {"run_id": "run_1"},
            {"run_id": RUN_ID + "\n"},
        ],
        ids=str,
    )
    def test_a_saved_one_that_was_changed(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"^[a-z ]+$"):
            evolve(self.SAVED, **change)

    @pytest.mark.parametrize(
        "change",
        [
            {"proof": Proof.LOCAL},
            {"checked_how": CheckedHow.REOPENED},
            {"checked_at": "2026-11-30T12:00:00Z"},
            {"record_changed": RecordChanged.YES},
            {"outcome": Outcome.DONE},
        ],
        ids=str,
    )
    def test_a_stopped_one_that_was_changed(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"^[a-z ]+$"):
            evolve(self.STOPPED, **change)

    def test_is_told_by_the_first_rule_that_it_breaks(self) -> None:
        with pytest.raises(ValueError, match="the claims do not agree with the reason"):
            evolve(self.SAVED, record_changed=RecordChanged.NO)

    @pytest.mark.parametrize("name", ["input_problems", "failed_checks"])
    def test_is_none_when_a_list_without_items_is_left_out(self, name: str) -> None:
        wire = to_wire(self.SAVED)
        del wire[name]

        assert Success(self.SAVED) == from_wire(wire, RunResult)

    @pytest.mark.parametrize("engine", [EngineName.BROWSER, EngineName.FLOW])
    def test_a_sealed_proof_is_one_that_a_real_engine_can_give(self, engine: EngineName) -> None:
        assert Proof.SEALED is evolve(self.SAVED, engine=engine, proof=Proof.SEALED).proof

    def test_an_input_that_is_no_name_of_one(self) -> None:
        with pytest.raises(ValueError, match="not the name of an input"):
            InputProblem("Jane Doe", InputProblemCode.MISSING)

    @given(RESULTS, st.sampled_from([each.name for each in fields(RunResult) if each.name != "checked_at"]))
    def test_a_stored_one_without_one_of_its_members(self, result: RunResult, name: str) -> None:
        wire = to_wire(result)
        del wire[name]
        read = from_wire(wire, RunResult)

        if name in {"input_problems", "failed_checks"}:
            assert isinstance(read, Success)
        else:
            assert Failure((WireFault((name,), FaultCode.MISSING_MEMBER),)) == read

    @pytest.mark.parametrize("stored", ["done", {}, [], None, 7, "{}"], ids=repr)
    def test_a_stored_one_that_is_none(self, stored: object) -> None:
        assert isinstance(from_wire(stored, RunResult), Failure)

    @given(EXECUTED, facts(), st.sampled_from(Reason))
    def test_a_stored_one_with_another_reason(self, evidence: Evidence, beside: CallFacts, other: Reason) -> None:
        result = project(evidence, beside)
        read = from_wire({**to_wire(result), "reason": other.value}, RunResult)

        assert read == (Success(result) if other is result.reason else Failure((WireFault((), FaultCode.DISAGREES),)))
