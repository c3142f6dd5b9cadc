"""A goal for whoever plans and acts towards it, and what became of it.

Laws of this module:

- Only ``TaskRunner.run(task) -> Task`` is relied upon; how a task runner works is its own affair.
- What a task cannot prove about the record is unknown, and unknown is where it begins.
- Why a task failed is kept as a code or not at all.
"""

import hashlib
from enum import Enum, unique
from typing import Protocol

from attrs import evolve, field, frozen

from surehand.core.orchestration.result import StepEnd, StepFailure, failure_code, judged
from surehand.core.orchestration.text import Bindings
from surehand.core.outcome.reasons import RecordChanged


@unique
class TaskStatus(Enum):
    """How a task stands."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@frozen(kw_only=True)
class Task:
    """A task.

    Args:
        id: Its name, the same for every try.
        goal: What is to be reached.
        goal_template: The goal as its plan says it, with ``{name}`` for variables; ``None`` outside of plans.
        variables: The variables of the plan's run.
        status: How it stands.
        failure_reason: Why it failed, as a closed code of the task runner; agents are told it.
        record_changed: Whether a record changed, as far as the task runner can prove it.
        outputs: What it found.
    """

    id: str
    goal: str = field(repr=False)
    goal_template: str | None = field(default=None, repr=False)
    variables: Bindings = field(default=(), repr=False)
    status: TaskStatus = TaskStatus.PENDING
    failure_reason: str | None = None
    record_changed: RecordChanged = RecordChanged.UNKNOWN
    outputs: Bindings = field(default=(), repr=False)


class TaskRunner(Protocol):
    """Works on one task until it ends."""

    def run(self, task: Task) -> Task:
        """The task as it ended: ``succeeded`` or ``failed``."""
        ...


def port_of(task_id: str) -> str:
    """What the ports and journals of a task are called, whatever its id holds."""
    return f"goal-{hashlib.sha256(task_id.encode()).hexdigest()[:32]}"


def end_of_task(task: Task) -> StepEnd:
    """The end of a step by its task; one that did not succeed failed."""
    end = judged(
        success=task.status is TaskStatus.SUCCEEDED,
        changed=task.record_changed,
        failure=StepFailure.TASK_FAILED,
        reference=task.id,
        outputs=task.outputs,
    )
    return end if end.success else evolve(end, code=failure_code(task.failure_reason))
