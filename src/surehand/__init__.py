"""Surehand: enter what an agent decided into an app, read the record back, and say what really happened.

``core`` decides and is pure; ``shell`` acts. This face is what an embedding program imports.
It loads nothing until a name is used, so that importing it costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surehand.core.orchestration.definition import WorkflowDefinition
    from surehand.core.orchestration.run import WorkflowRun
    from surehand.core.outcome.reasons import NextStep, Outcome, Reason, RecordChanged
    from surehand.core.outcome.result import (
        CheckedHow,
        EngineName,
        FailedCheck,
        InputProblem,
        InputProblemCode,
        Mode,
        Proof,
        RunResult,
    )
    from surehand.core.overview import RunReport, Unavailable, WorkflowOverview
    from surehand.core.request.keys import NotARequestIdError
    from surehand.core.workflow.card import Card
    from surehand.shell.api import AsyncSurehand, BadCallError, Surehand
    from surehand.shell.config import BundleArguments, ConfigError, SandboxEngine
    from surehand.shell.orchestration.goals import BrowserTaskRunner
    from surehand.shell.orchestration.loader import DefinitionError, load_definition
    from surehand.shell.orchestration.models import ModelPlanner
    from surehand.shell.orchestration.opening import open_plans
    from surehand.shell.orchestration.runner import WorkflowRunner
    from surehand.shell.service import UnknownRunError

    __version__: str

__all__ = [
    "AsyncSurehand",
    "BadCallError",
    "BrowserTaskRunner",
    "BundleArguments",
    "Card",
    "CheckedHow",
    "ConfigError",
    "DefinitionError",
    "EngineName",
    "FailedCheck",
    "InputProblem",
    "InputProblemCode",
    "Mode",
    "ModelPlanner",
    "NextStep",
    "NotARequestIdError",
    "Outcome",
    "Proof",
    "Reason",
    "RecordChanged",
    "RunReport",
    "RunResult",
    "SandboxEngine",
    "Surehand",
    "Unavailable",
    "UnknownRunError",
    "WorkflowDefinition",
    "WorkflowOverview",
    "WorkflowRun",
    "WorkflowRunner",
    "__version__",
    "load_definition",
    "open_plans",
]

_HOMES = {
    "AsyncSurehand": "surehand.shell.api",
    "BadCallError": "surehand.shell.api",
    "BrowserTaskRunner": "surehand.shell.orchestration.goals",
    "BundleArguments": "surehand.shell.config",
    "Card": "surehand.core.workflow.card",
    "CheckedHow": "surehand.core.outcome.result",
    "ConfigError": "surehand.shell.config",
    "DefinitionError": "surehand.shell.orchestration.loader",
    "EngineName": "surehand.core.outcome.result",
    "FailedCheck": "surehand.core.outcome.result",
    "InputProblem": "surehand.core.outcome.result",
    "InputProblemCode": "surehand.core.outcome.result",
    "Mode": "surehand.core.outcome.result",
    "ModelPlanner": "surehand.shell.orchestration.models",
    "NextStep": "surehand.core.outcome.reasons",
    "NotARequestIdError": "surehand.core.request.keys",
    "Outcome": "surehand.core.outcome.reasons",
    "Proof": "surehand.core.outcome.result",
    "Reason": "surehand.core.outcome.reasons",
    "RecordChanged": "surehand.core.outcome.reasons",
    "RunReport": "surehand.core.overview",
    "RunResult": "surehand.core.outcome.result",
    "SandboxEngine": "surehand.shell.config",
    "Surehand": "surehand.shell.api",
    "Unavailable": "surehand.core.overview",
    "UnknownRunError": "surehand.shell.service",
    "WorkflowDefinition": "surehand.core.orchestration.definition",
    "WorkflowOverview": "surehand.core.overview",
    "WorkflowRun": "surehand.core.orchestration.run",
    "WorkflowRunner": "surehand.shell.orchestration.runner",
    "load_definition": "surehand.shell.orchestration.loader",
    "open_plans": "surehand.shell.orchestration.opening",
}


def __getattr__(name: str) -> object:
    """Load a name of the face when it is first used."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to load, and seldom asked for

        found: object = version("surehand")
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
