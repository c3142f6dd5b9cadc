"""Opens what goes through plans in an installation: its workflows, its file of plans, and where today's plans lie.

Laws of this module:

- The file of plans lies beside the ledger. Nothing is opened before it is used.
- What is closed first is what goes through plans, then the service whose workflows it runs.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypedDict, Unpack

from surehand.core.modes import ROWS, Start
from surehand.core.orchestration.condition import Conditions
from surehand.core.orchestration.task import TaskRunner
from surehand.shell.assembly import build_service
from surehand.shell.config import BundleArguments, SandboxEngine, settings
from surehand.shell.orchestration.loader import Definitions
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.tools import SceneSource, Tool, Tools, WorldSource
from surehand.shell.orchestration.workflows import ServedWorkflows
from surehand.shell.service import Service

#: Where the file of plans lies in the state folder.
PLANS: Final = "plans"


class Embedded(TypedDict, total=False):
    """What an embedding program may add, besides tools, to what the steps work with; each has a default."""

    task_runner: TaskRunner | None
    conditions: Conditions
    scene: SceneSource | None
    world: WorldSource | None


def runner_over(
    service: Service,
    state_folder: Path,
    definitions: Definitions | None = None,
    *,
    tools: tuple[Tool, ...] = (),
    **embedded: Unpack[Embedded],
) -> WorkflowRunner:
    """What goes through plans with the workflows of a service.

    Args:
        service: Whose workflows the steps run.
        state_folder: Where the ledger lies.
        definitions: Where the plans of today are found; default: a run's own, pinned plan is the only one.
        tools: What templates may call.
        embedded: As ``open_plans`` takes it.
    """
    around = Surroundings(workflows=ServedWorkflows(service), tools=Tools(tools), **embedded)
    return WorkflowRunner(state_folder / PLANS, around, definitions)


@contextmanager
def open_plans(
    runs_dir: str | os.PathLike[str] | None = None,
    sandbox_engine: SandboxEngine | str | None = None,
    *,
    bundles: str | os.PathLike[str] | BundleArguments | None = None,
    definitions: Definitions | None = None,
    tools: tuple[Tool, ...] = (),
    **embedded: Unpack[Embedded],
) -> Generator[WorkflowRunner]:
    """Go through plans with the workflows of an installation, as long as it is used.

    Args:
        runs_dir: The folder under which the state lies; default: the user's state folder of this platform.
        sandbox_engine: ``auto`` (the default), ``browser`` or ``simulated``.
        bundles: The folder of your own workflows, or all that is to be said about them; default: the sandbox.
        definitions: Where the plans of today are found; default: a run's own, pinned plan is the only one.
        tools: What templates may call.
        embedded: ``task_runner`` works on goals; ``conditions`` are the kinds of conditions, to which
            ``STANDARD.added(...)`` adds your own; ``scene`` sees what the page shows; ``world`` knows what is tracked
            of the app.

    Raises:
        ConfigError: A setting is not understood, or the bundles cannot be read.
    """
    said = bundles if isinstance(bundles, BundleArguments | None) else BundleArguments(folder=bundles)
    chosen = settings(runs_dir, sandbox_engine, bundles=said)
    service = build_service(chosen, ROWS[Start.SANDBOX if chosen.bundles is None else Start.PRODUCTION])
    try:
        with runner_over(service, chosen.state_folder, definitions, tools=tools, **embedded) as runner:
            yield runner
    finally:
        service.close()
