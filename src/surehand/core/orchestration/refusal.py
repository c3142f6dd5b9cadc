"""Why a plan's run was not begun or not taken up.

Laws of this module:

- A refusal changed nothing: no run was made, and a run that is there stays as it is.
- It names a closed code and at most the step at which the run stands or which is another one now.
"""

from enum import Enum, unique
from typing import Annotated

from attrs import field, frozen

from surehand.core.orchestration.check import DefinitionFault
from surehand.core.outcome.result import InputProblem
from surehand.core.schema import Items


@unique
class PlanRefusal(Enum):
    """Why nothing was begun; a closed vocabulary."""

    UNKNOWN_DEFINITION = "unknown_definition"
    INVALID_DEFINITION = "invalid_definition"
    INVALID_INPUT = "invalid_input"
    REQUEST_ID_CONFLICT = "request_id_conflict"
    FORGOTTEN = "forgotten"
    UNKNOWN_RUN = "unknown_run"
    RUNNING_ELSEWHERE = "running_elsewhere"
    DEFINITION_CHANGED = "definition_changed"
    DEFINITION_MISSING = "definition_missing"
    NEWER_SCHEMA = "newer_schema"
    STORE_UNAVAILABLE = "store_unavailable"
    CLOSED = "closed"


@frozen(kw_only=True)
class RunRefused:
    """Nothing was begun or taken up."""

    code: PlanRefusal
    step_id: str | None = None
    faults: tuple[DefinitionFault, ...] = ()
    input_problems: Annotated[tuple[InputProblem, ...], Items(max_items=50)] = field(default=())
