"""What a reader without the right to run is told of a workflow and of a run: states, counts and opaque ids.

Laws of this module:

- Every text is a closed code, an opaque id, a hash, or part of a card, which has passed the guard of cards.
- Counts say how much there is, never what it is: no step, target, path, address or folder is named.
- An opaque id says nothing about what it stands for, and stays the same as long as its folder keeps its name.
"""

import hashlib
from typing import Annotated, Final, Literal

from attrs import field, frozen

from surehand.core.attention.decision import Finding
from surehand.core.outcome.evidence import CheckLevel, Phase
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import MAX_ATTEMPTS, CheckedHow, FailedCheck, Instant, RunId, RunResult
from surehand.core.request.record import RunRecord, instant
from surehand.core.schema import Items, Number, Text
from surehand.core.workflow.bundle import Bundle, Effect
from surehand.core.workflow.card import Card
from surehand.core.workflow.target import Identifier

OpaqueId = Annotated[str, Text(pattern="^wf_[0-9a-f]{16}$")]
ProblemCode = Annotated[str, Text(pattern="^[a-z][a-z0-9_]{0,39}$")]
Digest = Annotated[str, Text(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Number(minimum=0)]

_OPAQUE_FORM: Final = "surehand.workflow-id/v1"


@frozen(kw_only=True)
class Unavailable:
    """A folder that is there and whose workflow cannot be served; ``problem`` is a closed code."""

    id: OpaqueId
    problem: ProblemCode


@frozen(kw_only=True)
class WorkflowMetrics:
    """How much of everything a workflow holds."""

    inputs: Count
    required_inputs: Count
    steps: Count
    origins: Count
    identity_fields: Count
    unique_identity_fields: Count
    read_back_fields: Count
    read_back_minimum: CheckedHow
    harmless_writes: Count
    blocked_writes: Count
    sockets: Count
    creates_a_record: bool
    duplicate_guard: bool
    encrypted: bool
    sealed: bool


@frozen(kw_only=True)
class WorkflowOverview:
    """One workflow, as ``get_workflow`` tells it.

    Args:
        id: Its opaque id.
        available: Whether it can be served at all; if not, ``problem`` says why, and nothing else is known.
        name: What ``run_workflow`` takes.
        digest: The version that runs are pinned to.
        runs_enabled: Whether this server runs workflows.
        ready: Whether no check before a run fails now; ``failed_checks`` names those that do.
        card: What an agent needs to call it.
        metrics: How much of everything it holds.
    """

    contract: Literal["surehand.workflow/v1"] = "surehand.workflow/v1"
    id: OpaqueId
    available: bool
    problem: ProblemCode | None = None
    name: Identifier | None = None
    digest: Digest | None = None
    runs_enabled: bool
    ready: bool
    failed_checks: Annotated[tuple[FailedCheck, ...], Items(max_items=20)] = field(default=())
    metrics: WorkflowMetrics | None = None
    card: Card | None = None


@frozen(kw_only=True)
class AttemptReport:
    """One attempt under the request id of a run."""

    run_id: RunId
    attempt: Annotated[int, Number(minimum=0, maximum=MAX_ATTEMPTS)]
    phase: Phase
    created_at: Instant | None = None
    outcome: Outcome
    reason: Reason
    record_changed: RecordChanged
    same_version: bool


@frozen(kw_only=True)
class RunReport:
    """One run, as ``get_run_report`` tells it.

    Args:
        run_id: The run.
        workflow_id: The opaque id of its workflow, if that is served here.
        current_version: Whether it executed the version of the workflow that is served now.
        attempts: Every attempt under its request id, oldest first; a refused call is its own only one.
        input_problems: How many problems its result names.
        failed_checks: How many failed checks its result names.
        reported_late: Whether its process said something after the run was ended.
        read_again: What the record showed when a person had it read again; it changes no answer.
    """

    contract: Literal["surehand.run-report/v1"] = "surehand.run-report/v1"
    run_id: RunId
    workflow_id: OpaqueId | None = None
    current_version: bool
    attempts: Annotated[tuple[AttemptReport, ...], Items(max_items=MAX_ATTEMPTS)]
    input_problems: Count
    failed_checks: Count
    reported_late: bool
    read_again: Finding | None = None


def opaque_id(name: str) -> str:
    """The opaque id of what bears this name."""
    return "wf_" + hashlib.sha256(f"{_OPAQUE_FORM}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def metrics_of(bundle: Bundle, *, encrypted: bool, sealed: bool) -> WorkflowMetrics:
    """How much of everything a bundle holds."""
    return WorkflowMetrics(
        inputs=len(bundle.parameters),
        required_inputs=sum(each.required for each in bundle.parameters),
        steps=len(bundle.steps) + 1,
        origins=len(bundle.origins),
        identity_fields=len(bundle.identity),
        unique_identity_fields=sum(each.unique for each in bundle.identity),
        read_back_fields=len(bundle.read_back.identity) + len(bundle.read_back.written),
        read_back_minimum=_checked_how(bundle.read_back.minimum),
        harmless_writes=len(bundle.harmless_writes),
        blocked_writes=len(bundle.blocked_writes),
        sockets=len(bundle.sockets),
        creates_a_record=bundle.read_back.effect is Effect.CREATE,
        duplicate_guard=bool(bundle.business_key) or bundle.read_back.effect is Effect.UPDATE,
        encrypted=encrypted,
        sealed=sealed,
    )


def attempt_report(record: RunRecord, result: RunResult, asked: RunRecord) -> AttemptReport:
    """One attempt.

    Args:
        record: The attempt.
        result: What it is answered by.
        asked: The attempt that was asked for: the others are of the same version or not.
    """
    return AttemptReport(
        run_id=record.run_id,
        attempt=record.attempt,
        phase=record.phase,
        created_at=instant(record.created_at),
        outcome=result.outcome,
        reason=result.reason,
        record_changed=result.record_changed,
        same_version=record.bundle == asked.bundle,
    )


def _checked_how(level: CheckLevel) -> CheckedHow:
    return CheckedHow[level.name]
