"""What each reason claims: the reason table as data.

Laws of this module:

- One row for each reason. A row says the outcome, whether the record changed, whether a retry under the same request id
  is safe, and what the caller does next.
- Nothing here looks at evidence: ``decide`` picks the row.
- ``record_changed: no`` stands only in rows whose evidence proves it; the audit checks that over the whole domain.
"""

from enum import Enum, unique

from attrs import frozen


@unique
class Outcome(Enum):
    """The four terminal outcomes, each one decision for the caller, and the one that is not terminal."""

    DONE = "done"
    NEEDS_REVIEW = "needs_review"
    NOT_SURE_IF_SAVED = "not_sure_if_saved"
    DID_NOT_RUN = "did_not_run"
    RUNNING = "running"


@unique
class RecordChanged(Enum):
    """Whether the record in the app changed under this request id."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@unique
class NextStep(Enum):
    """What the caller does with the answer; a closed vocabulary beside the sentence."""

    NOTHING = "nothing"
    WAIT_FOR_A_PERSON = "wait_for_a_person"
    HAVE_A_PERSON_CHECK_THE_RECORD = "have_a_person_check_the_record"
    CALL_GET_RUN = "call_get_run"
    CORRECT_THE_CALL = "correct_the_call"
    RETRY_WITH_SAME_REQUEST_ID = "retry_with_same_request_id"
    ASK_THE_OPERATOR = "ask_the_operator"


@unique
class Reason(Enum):
    """Why a call ended as it did; a closed vocabulary."""

    SAVED_AND_CHECKED = "saved_and_checked"
    UNEXPECTED_SCREEN = "unexpected_screen"
    RECORD_NOT_CONFIRMED = "record_not_confirmed"
    PERSON_NEEDED = "person_needed"
    RECORD_CHECK_NOT_SET_UP = "record_check_not_set_up"
    STOPPED_FOR_REVIEW = "stopped_for_review"
    POSSIBLE_DUPLICATE = "possible_duplicate"
    APPROVAL_NEEDED = "approval_needed"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    SAVE_NOT_CONFIRMED = "save_not_confirmed"
    NOT_CHECKED = "not_checked"
    CHECKED_BELOW_MINIMUM = "checked_below_minimum"
    CHANGE_REVERSED = "change_reversed"
    TIMED_OUT = "timed_out"
    RESULT_UNREADABLE = "result_unreadable"
    INTERRUPTED = "interrupted"
    INTERRUPTED_BEFORE_SAVE = "interrupted_before_save"
    POLICY_REFUSED = "policy_refused"
    CANCELED = "canceled"
    PLATFORM_ERROR = "platform_error"
    STOPPED_BY_PERSON = "stopped_by_person"
    NOT_READY_TO_RUN = "not_ready_to_run"
    APP_UNREACHABLE = "app_unreachable"
    INVALID_INPUT = "invalid_input"
    UNKNOWN_WORKFLOW = "unknown_workflow"
    WORKFLOW_UNAVAILABLE = "workflow_unavailable"
    RUNS_DISABLED = "runs_disabled"
    REQUEST_ID_CONFLICT = "request_id_conflict"
    RETRY_LIMIT = "retry_limit"
    RUNNING = "running"


@frozen
class Claims:
    """What an answer says; the whole of what a caller may rely on."""

    outcome: Outcome
    record_changed: RecordChanged
    safe_to_retry: bool
    next_step: NextStep


_DONE = Claims(Outcome.DONE, RecordChanged.YES, False, NextStep.NOTHING)
_REVIEW = Claims(Outcome.NEEDS_REVIEW, RecordChanged.NO, False, NextStep.WAIT_FOR_A_PERSON)
_NOT_SURE = Claims(Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN, False, NextStep.HAVE_A_PERSON_CHECK_THE_RECORD)


def _did_not_run(safe_to_retry: bool, next_step: NextStep) -> Claims:
    return Claims(Outcome.DID_NOT_RUN, RecordChanged.NO, safe_to_retry, next_step)


#: The reason table.
REASONS: dict[Reason, Claims] = {
    Reason.SAVED_AND_CHECKED: _DONE,
    Reason.UNEXPECTED_SCREEN: _REVIEW,
    Reason.RECORD_NOT_CONFIRMED: _REVIEW,
    Reason.PERSON_NEEDED: _REVIEW,
    Reason.RECORD_CHECK_NOT_SET_UP: _REVIEW,
    Reason.STOPPED_FOR_REVIEW: _REVIEW,
    Reason.POSSIBLE_DUPLICATE: _REVIEW,
    Reason.APPROVAL_NEEDED: _REVIEW,
    Reason.WAITING_FOR_APPROVAL: Claims(Outcome.NEEDS_REVIEW, RecordChanged.UNKNOWN, False, NextStep.WAIT_FOR_A_PERSON),
    Reason.SAVE_NOT_CONFIRMED: _NOT_SURE,
    Reason.NOT_CHECKED: _NOT_SURE,
    Reason.CHECKED_BELOW_MINIMUM: _NOT_SURE,
    Reason.CHANGE_REVERSED: _NOT_SURE,
    Reason.TIMED_OUT: _NOT_SURE,
    Reason.RESULT_UNREADABLE: _NOT_SURE,
    Reason.INTERRUPTED: _NOT_SURE,
    Reason.INTERRUPTED_BEFORE_SAVE: _did_not_run(True, NextStep.RETRY_WITH_SAME_REQUEST_ID),
    Reason.POLICY_REFUSED: _did_not_run(True, NextStep.ASK_THE_OPERATOR),
    Reason.CANCELED: _did_not_run(True, NextStep.RETRY_WITH_SAME_REQUEST_ID),
    Reason.PLATFORM_ERROR: _did_not_run(True, NextStep.RETRY_WITH_SAME_REQUEST_ID),
    Reason.STOPPED_BY_PERSON: _did_not_run(False, NextStep.NOTHING),
    Reason.NOT_READY_TO_RUN: _did_not_run(True, NextStep.ASK_THE_OPERATOR),
    Reason.APP_UNREACHABLE: _did_not_run(True, NextStep.RETRY_WITH_SAME_REQUEST_ID),
    Reason.INVALID_INPUT: _did_not_run(True, NextStep.CORRECT_THE_CALL),
    Reason.UNKNOWN_WORKFLOW: _did_not_run(True, NextStep.CORRECT_THE_CALL),
    Reason.WORKFLOW_UNAVAILABLE: _did_not_run(True, NextStep.ASK_THE_OPERATOR),
    Reason.RUNS_DISABLED: _did_not_run(False, NextStep.ASK_THE_OPERATOR),
    Reason.REQUEST_ID_CONFLICT: Claims(Outcome.DID_NOT_RUN, RecordChanged.UNKNOWN, False, NextStep.CORRECT_THE_CALL),
    Reason.RETRY_LIMIT: _did_not_run(False, NextStep.ASK_THE_OPERATOR),
    Reason.RUNNING: Claims(Outcome.RUNNING, RecordChanged.UNKNOWN, False, NextStep.CALL_GET_RUN),
}

#: Reasons that are never stored as a run's final result.
NOT_FINAL = frozenset({Reason.RUNNING, Reason.WAITING_FOR_APPROVAL})
