"""What a stopped run has to do with its page: the control that it asked for, and what it would still enter.

Laws of this module:

- Nothing is said that the plan does not hold; a check of several elements names none of them.
- A value is given as it would be typed, in the form of the app.
"""

from collections.abc import Iterator

from surehand.core.attention.evidence import Value
from surehand.core.workflow.commands import Check, CheckPage, Choose, Click, Command, Fill, ReadValue, Save
from surehand.core.workflow.replay import Identify, Instruction


def control_of(command: Command) -> tuple[str, str]:
    """The name and the role of what a command asks for; empty where it asks for no single one."""
    match command:
        case Fill(target=target) | Choose(target=target) | Check(target=target) | ReadValue(target=target):
            return target.name, target.role or ""
        case Click(target=target) | Save(target=target):
            return target.name, target.role or ""
        case CheckPage(gate=gate):
            return gate.landmark.name, gate.landmark.role or ""
        case _:
            return "", ""


def still_entered(plan: tuple[Instruction, ...], at: int) -> tuple[Value, ...]:
    """What a run would enter from this instruction on, by the names of the controls."""
    return tuple(value for instruction in plan[at:] for value in _entered(instruction.command))


def identity_of(plan: tuple[Instruction, ...]) -> tuple[Value, ...]:
    """What the page of the intended record shows, by the names of the elements that show it."""
    return tuple(
        Value(target.name, text)
        for instruction in plan
        if isinstance(instruction, Identify)
        for target, text in zip(instruction.command.targets, instruction.expected, strict=True)
    )


def _entered(command: Command) -> Iterator[Value]:
    match command:
        case Fill(target=target, text=text) | Choose(target=target, label=text):
            yield Value(target.name, text)
        case Check(target=target, checked=checked):
            yield Value(target.name, "true" if checked else "false")
        case _:
            return
