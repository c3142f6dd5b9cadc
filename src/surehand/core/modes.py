"""Server mode to the exact tools that it registers.

Laws of this module:

- One row for each mode that can be served. A tool that is not in the row of a mode does not exist for its clients.
- The order of a row is the order in which the tools are listed.
"""

from enum import Enum, unique
from typing import Final

from surehand.core.outcome.result import Mode


@unique
class ToolName(Enum):
    """Every tool that a server can register."""

    LIST_WORKFLOWS = "list_workflows"
    RUN_WORKFLOW = "run_workflow"
    GET_RUN = "get_run"


#: The modes that can be served, each with its tools.
TOOLS_OF_MODE: Final[dict[Mode, tuple[ToolName, ...]]] = {
    Mode.SANDBOX: (ToolName.LIST_WORKFLOWS, ToolName.RUN_WORKFLOW, ToolName.GET_RUN),
}
