"""The fixed copy: two sentences for each reason.

Laws of this module:

- Every sentence that reaches a caller stands here, word for word. Nothing is ever formatted into one.
- A sentence claims no more than its row in ``reasons``.
"""

from attrs import frozen

from surehand.core.outcome.reasons import Reason


@frozen
class Wording:
    """What happened, and what to do next."""

    what_happened: str
    next_action: str


#: Opens ``what_happened`` when no app was opened.
SIMULATED_PREFIX = "Simulated sandbox result, no app was opened. "

_WAIT = "Wait: a person decides at the computer that runs the workflow. Then call get_run with this run_id."
_CHECK = "Have a person check the record in the app. Do not retry, neither with this request_id nor with a new one."
_RETRY = "Call run_workflow again with the same request_id and the same inputs."

WORDING: dict[Reason, Wording] = {
    Reason.SAVED_AND_CHECKED: Wording(
        "The entry was saved, and reading the record back showed exactly the intended values.",
        "Go on with the next entry.",
    ),
    Reason.UNEXPECTED_SCREEN: Wording(
        "The app showed something that the workflow does not expect, so the run stopped before saving.", _WAIT
    ),
    Reason.RECORD_NOT_CONFIRMED: Wording(
        "The run could not confirm that the intended record was open, so it stopped before saving.", _WAIT
    ),
    Reason.PERSON_NEEDED: Wording(
        "The app asks for something that only a person can do, so the run stopped before saving.", _WAIT
    ),
    Reason.RECORD_CHECK_NOT_SET_UP: Wording(
        "The workflow has no usable way to read the record back, so the run stopped before saving.", _WAIT
    ),
    Reason.STOPPED_FOR_REVIEW: Wording("The run stopped before saving and waits for a person.", _WAIT),
    Reason.POSSIBLE_DUPLICATE: Wording(
        "The app already shows what this entry would write, so the run stopped before saving.", _WAIT
    ),
    Reason.APPROVAL_NEEDED: Wording("The run stopped before saving because a person has to approve it first.", _WAIT),
    Reason.WAITING_FOR_APPROVAL: Wording("The run waits for a person to approve the save.", _WAIT),
    Reason.SAVE_NOT_CONFIRMED: Wording(
        "A save may have gone through, and reading the record back did not confirm it.", _CHECK
    ),
    Reason.NOT_CHECKED: Wording("The workflow finished, but the record was not checked.", _CHECK),
    Reason.CHECKED_BELOW_MINIMUM: Wording(
        "The entry was seen, but by a weaker check than the workflow demands.", _CHECK
    ),
    Reason.CHANGE_REVERSED: Wording("A change was made and then reversed.", _CHECK),
    Reason.TIMED_OUT: Wording("The run took too long and was ended. A save may have gone through.", _CHECK),
    Reason.RESULT_UNREADABLE: Wording(
        "The evidence of this run is missing or contradicts itself. A save may have gone through.", _CHECK
    ),
    Reason.INTERRUPTED: Wording(
        "The process that ran the workflow ended before it could report. A save may have gone through.", _CHECK
    ),
    Reason.INTERRUPTED_BEFORE_SAVE: Wording(
        "The process that ran the workflow ended before it reached the save. Nothing was written.", _RETRY
    ),
    Reason.POLICY_REFUSED: Wording(
        "The policy of this installation refused the run. Nothing was written.",
        "Ask the operator. When the policy allows the run, call again with the same request_id.",
    ),
    Reason.CANCELED: Wording("The run was canceled before it reached the save. Nothing was written.", _RETRY),
    Reason.PLATFORM_ERROR: Wording(
        "The run could not be carried out on this computer. Nothing was written.",
        "Call run_workflow again with the same request_id. If it happens again, ask the operator to run "
        "surehand doctor.",
    ),
    Reason.STOPPED_BY_PERSON: Wording(
        "A person ended this run before it reached the save. Nothing was written.",
        "Do not retry. The person decided that this entry is not to be made.",
    ),
    Reason.NOT_READY_TO_RUN: Wording(
        "The workflow did not pass the checks before a run; failed_checks names them. Nothing was written.",
        "Ask the operator to put the named checks right, then call again with the same request_id.",
    ),
    Reason.APP_UNREACHABLE: Wording(
        "The app could not be reached, and nothing was sent to it. Nothing was written.",
        "Call run_workflow again later with the same request_id and the same inputs.",
    ),
    Reason.INVALID_INPUT: Wording(
        "The inputs do not fit the workflow; input_problems names them. Nothing was written.",
        "Correct the named inputs and call run_workflow again with the same request_id.",
    ),
    Reason.UNKNOWN_WORKFLOW: Wording(
        "There is no workflow of that name here. Nothing was written.",
        "Call list_workflows and use a name from its answer, with the same request_id.",
    ),
    Reason.WORKFLOW_UNAVAILABLE: Wording(
        "The workflow is known but cannot be used now. Nothing was written.",
        "Ask the operator to run surehand doctor, then call again with the same request_id.",
    ),
    Reason.RUNS_DISABLED: Wording(
        "This server was started without the permission to run workflows. Nothing was written.",
        "Ask the operator. Only a server started for runs can run this workflow.",
    ),
    Reason.REQUEST_ID_CONFLICT: Wording(
        "This call wrote nothing. Its request_id was used before with another workflow, version or inputs, "
        "and that earlier request may have saved.",
        "Use one request_id per intended entry: look at the earlier request first, and give a new entry a new one.",
    ),
    Reason.RETRY_LIMIT: Wording(
        "All attempts allowed for this request_id were used; each of them wrote nothing.",
        "Ask the operator why the attempts failed. Do not retry.",
    ),
    Reason.RUNNING: Wording(
        "The run is still going.",
        "Call get_run with this run_id, or run_workflow again with the same request_id, to get the answer.",
    ),
}

#: Stands in for the row's own words when an earlier attempt under the request id may have written.
EARLIER_MAY_HAVE_SAVED = Wording(
    "This call wrote nothing. An earlier request with the same request_id may have saved.",
    "Have a person check the record in the app before anything else is tried for this entry.",
)

#: Stands in for the wait of a run about which nobody decided in time.
OVERDUE = (
    "Nobody decided in time, and nothing goes on by itself. Have a person look at the computer that runs the workflow: "
    "only there the run can be taken up again or ended. Do not retry."
)
