"""A planner that follows a script, and the app on which it does.

Laws:

- A script names what it points at by role and name, or by what stands before it, and knows no id.
- What is not on the page is an error of the script, which is told as such.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from support.sandbox import Oracle
from surehand.core.orchestration.goals import (
    ChooseOption,
    ClickNode,
    FinishGoal,
    GoalAction,
    History,
    Observation,
    ReadNode,
    TypeText,
)
from surehand.core.orchestration.task import Task
from surehand.shell.engines.base import AppTarget
from surehand.shell.sandbox.process import SandboxApp

#: One line of a script: what to do on a page that is seen.
Line = Callable[[Observation], GoalAction]


@define
class ScriptedPlanner:
    """Does one line after the other, and finishes behind the last."""

    lines: Sequence[Line]
    asked: int = 0
    histories: list[History] = field(factory=list[History])

    def decide(self, task: Task, observation: Observation, history: History) -> GoalAction:
        """The next line."""
        del task
        self.asked += 1
        self.histories.append(history)
        return self.lines[self.asked - 1](observation) if self.asked <= len(self.lines) else FinishGoal()


def node(observation: Observation, role: str, name: str, behind: str | None = None) -> str:
    """The first node of this role and name, behind the first that shows a text.

    Raises:
        LookupError: There is none.
    """
    texts = [each.value for each in observation.nodes]
    later = observation.nodes[0 if behind is None else texts.index(behind) :]
    found = [each.id for each in later if (each.role, each.name) == (role, name)]
    if not found:
        raise LookupError
    return found[0]


def click(role: str, name: str, behind: str | None = None) -> Line:
    """Click something."""
    return lambda seen: ClickNode(node(seen, role, name, behind))


def enter(name: str, text: str) -> Line:
    """Type into a field."""
    return lambda seen: TypeText(node(seen, "textbox", name), text)


def choose(name: str, label: str) -> Line:
    """Choose from a list."""
    return lambda seen: ChooseOption(node(seen, "combobox", name), label)


def read(role: str, name: str, behind: str, output: str) -> Line:
    """Read something."""
    return lambda seen: ReadNode(node(seen, role, name, behind), output)


#: Signs in to the clinic, in a scenario in which everything works.
SIGN_IN: tuple[Line, ...] = (
    enter("User name", "Planner"),
    choose("Training scenario", "normal"),
    click("button", "Sign in"),
)

#: Opens the referral of the patient and reads its record number.
FIND: tuple[Line, ...] = (
    *SIGN_IN,
    click("link", "Open", behind="Ada Example"),
    read("definition", "", behind="Record number", output="record_number"),
)

#: Opens the form of a note and saves it.
SAVE: tuple[Line, ...] = (
    *FIND,
    click("link", "Add triage note"),
    enter("Note", "Never to be stored"),
    click("button", "Save"),
)


@contextmanager
def clinic() -> Generator[tuple[AppTarget, Oracle]]:
    """A running clinic, and who reads its own records."""
    app = SandboxApp.start()
    try:
        target = app.target({"sandbox_case": "normal"})
        yield target, Oracle(target)
    finally:
        app.close()


def journals(folder: Path) -> Path:
    """Where a task runner of a test keeps its journals."""
    return folder / "goals"
