"""What is told when no engine's report says it.

Laws:

- A record is told as it stands: its result, or that it cannot be read, or that the run goes on.
- None of the four fixed pieces of evidence claims that something was saved.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.outcome.decide import claims, decide
from surehand.core.outcome.evidence import (
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    EarlierAttempts,
    Evidence,
    ExecutionOutcome,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Refusal,
    Report,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import CallFacts, EngineName, Mode, RunResult, project
from surehand.core.request.answers import NO_REPORT, NOT_LAUNCHED, STILL_RUNNING, STOPPED_WHILE_WAITING, kept_answer
from surehand.core.request.record import RunRecord

RUN_ID = "run_" + "7" * 32


def refusal_result(refusal: Refusal, earlier: EarlierAttempts) -> RunResult:
    """A result that a record may hold."""
    facts = CallFacts(run_id=RUN_ID, mode=Mode.SANDBOX, engine=EngineName.NONE, attempt=1)
    return project(CallRefused(refusal, earlier), facts)


RESULTS = st.builds(refusal_result, st.sampled_from(Refusal), st.sampled_from(EarlierAttempts))


def record(phase: Phase, result: RunResult | None) -> RunRecord:
    """A record that stands in this phase."""
    return RunRecord(
        run_id=RUN_ID,
        request_key="0" * 64,
        attempt=1,
        workflow="w",
        fingerprint="f",
        owner="o",
        journaled=True,
        phase=phase,
        created_at=0,
        result=result,
    )


class TestARecordIsToldAsItStands:
    """Its result when it is finished and readable, the evidence for what it lacks otherwise."""

    @given(RESULTS)
    def test_a_finished_record_tells_its_result(self, result: RunResult) -> None:
        assert result is kept_answer(record(Phase.FINISHED, result))

    def test_a_finished_record_without_a_readable_result_says_so(self) -> None:
        assert RecordUnreadable() == kept_answer(record(Phase.FINISHED, None))

    @pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.FINISHED])
    def test_an_unfinished_record_says_that_the_run_goes_on(self, phase: Phase) -> None:
        assert STILL_RUNNING == kept_answer(record(phase, None))


class TestTheFixedEvidenceClaimsNoSave:
    """A run that goes on and one without a report leave the record unknown; one that was not launched left it alone."""

    @pytest.mark.parametrize(
        ("evidence", "reason", "outcome", "changed"),
        [
            (STILL_RUNNING, Reason.RUNNING, Outcome.RUNNING, RecordChanged.UNKNOWN),
            (NO_REPORT, Reason.RESULT_UNREADABLE, Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN),
            (NOT_LAUNCHED, Reason.PLATFORM_ERROR, Outcome.DID_NOT_RUN, RecordChanged.NO),
            (STOPPED_WHILE_WAITING, Reason.CANCELED, Outcome.DID_NOT_RUN, RecordChanged.NO),
        ],
    )
    def test_what_each_claims(
        self, evidence: Evidence, reason: Reason, outcome: Outcome, changed: RecordChanged
    ) -> None:
        said = claims(evidence)

        assert (reason, outcome, changed) == (decide(evidence), said.outcome, said.record_changed)

    @pytest.mark.parametrize("evidence", [STILL_RUNNING, NO_REPORT, NOT_LAUNCHED, STOPPED_WHILE_WAITING])
    def test_none_speaks_of_a_person_who_was_never_asked(self, evidence: RunObserved) -> None:
        assert Approval.NOT_ASKED is evidence.approval

    def test_a_run_that_was_stopped_while_it_waited_did_nothing_and_checked_nothing(self) -> None:
        """Nothing was sent, nothing was read, and the least is asked of a check: no part of it can carry a claim."""
        canceled = Report(
            TransactionOutcome.CANCELED,
            ExecutionOutcome.HALTED,
            success=False,
            delivery=Delivery.NOT_SENT,
            check=min(CheckLevel),
            minimum=sorted(CheckLevel)[1],
        )

        assert (ProcessFact.EXITED_CLEANLY, canceled) == (STOPPED_WHILE_WAITING.process, STOPPED_WHILE_WAITING.report)
