"""A stdio server over plans whose goals are worked on with the client's model, on a page of paper: started by its path.

``python mcp_goal_server.py PLANS RUNS_DIR PATIENCE SHOWN``. Workflows are those of the sandbox, simulated. The page
never changes: nothing is ever reached on it but what a planner says.
"""

from surehand.shell.mcp.guard import guard

WIRE = guard()

import sys  # noqa: E402 - the streams are claimed before anything else is loaded
from functools import partial  # noqa: E402 - as above
from pathlib import Path  # noqa: E402 - as above

from attrs import frozen  # noqa: E402 - as above

from surehand.core.modes import Flags, Row, choose  # noqa: E402 - as above
from surehand.core.orchestration.goals import (  # noqa: E402 - as above
    Act,
    Acted,
    Decide,
    Decided,
    End,
    Look,
    Measured,
    Node,
    Observation,
    Planner,
    ReadNode,
    Seen,
    advance,
    begin,
    concluded,
)
from surehand.core.orchestration.prompt import Shown  # noqa: E402 - as above
from surehand.core.orchestration.task import Task  # noqa: E402 - as above
from surehand.core.outcome.reasons import RecordChanged  # noqa: E402 - as above
from surehand.core.workflow.commands import Done, Texts  # noqa: E402 - as above
from surehand.shell.assembly import build_service  # noqa: E402 - as above
from surehand.shell.config import settings  # noqa: E402 - as above
from surehand.shell.mcp.plans import ClientGoals, PlanTools  # noqa: E402 - as above
from surehand.shell.mcp.questions import Questions  # noqa: E402 - as above
from surehand.shell.mcp.server import main  # noqa: E402 - as above
from surehand.shell.orchestration.models import ModelPlanner  # noqa: E402 - as above

PAGE = Observation(
    (
        Node("n0", "cell", "", "Ada Canary"),
        Node("n1", "link", "Open"),
        Node("n2", "button", "Save"),
        Node("n3", "term", "", "Record number"),
        Node("n4", "definition", "", "SYN-1042"),
    )
)


@frozen
class PaperTasks:
    """Works on goals on the page of paper."""

    planner: Planner

    def run(self, task: Task) -> Task:
        """The task as it ended."""
        work = begin(task, "/")
        while not isinstance(work.command, End):
            match work.command:
                case Look():
                    work = advance(work, Seen(PAGE))
                case Act(ReadNode(node)):
                    text = next(each.value for each in PAGE.nodes if each.id == node)
                    work = advance(work, Acted(Texts((text or "",))))
                case Act():
                    work = advance(work, Acted(Done()))
                case Decide(asked, page, history):
                    work = advance(work, Decided(self.planner.decide(asked, page, history)))
        return concluded(work, Measured(record_changed=RecordChanged.NO))


def serve(plans: str, runs_dir: str, patience: str, shown: str) -> None:
    """Serve until the client ends it."""
    chosen = settings(runs_dir, "simulated", environ={})
    questions = Questions(float(patience))
    planner = ModelPlanner(questions.ask, shown=Shown(shown))
    goals = ClientGoals(questions, lambda _: PaperTasks(planner))
    row = choose(Flags(plans=True, goals=True))
    if not isinstance(row, Row):
        raise TypeError
    tools = PlanTools(Path(plans), chosen.state_folder, goals).tools
    main(partial(build_service, chosen, row), row=row, more_tools=tools, wire=WIRE)


if __name__ == "__main__":
    serve(*sys.argv[1:])
