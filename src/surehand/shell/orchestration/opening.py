"""Opens what goes through plans in an installation: its workflows, its file of plans, and where today's plans lie.

Laws of this module:

- The file of plans lies beside the ledger. Nothing is opened before it is used.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from surehand.shell.orchestration.loader import Definitions
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.workflows import ServedWorkflows
from surehand.shell.service import Service

#: Where the file of plans lies in the state folder.
PLANS: Final = "plans"


def runner_over(service: Service, state_folder: Path, definitions: Definitions | None = None) -> WorkflowRunner:
    """What goes through plans with the workflows of a service.

    Args:
        service: Whose workflows the steps run.
        state_folder: Where the ledger lies.
        definitions: Where the plans of today are found.
    """
    return WorkflowRunner(state_folder / PLANS, Surroundings(workflows=ServedWorkflows(service)), definitions)


@contextmanager
def opened_runner(
    service: Service, state_folder: Path, definitions: Definitions | None = None
) -> Generator[WorkflowRunner]:
    """The same for as long as it is used; plans stop where they can go on later, then the service is closed."""
    try:
        with runner_over(service, state_folder, definitions) as runner:
            yield runner
    finally:
        service.close()
