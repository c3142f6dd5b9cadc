"""The recording tools as clients see them: a row each.

Laws of this module:

- The arguments of a tool are the whole of what an agent can say; none of them stands for a person's word.
- What is seen and answered is said in core; here it is given its tool.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from attrs import field, frozen

from surehand.core.authoring import (
    LONGEST_HINT,
    REFUSED,
    Observation,
    Phase,
    Problem,
    Status,
    Target,
)
from surehand.core.modes import ToolName
from surehand.core.schema import json_schema
from surehand.core.wire import to_wire
from surehand.shell.authoring.desk import AuthoringDesk
from surehand.shell.authoring.refused import RefusedError
from surehand.shell.mcp.answers import outline
from surehand.shell.mcp.tools import Call, Json, Picture, Tool, ToolError, reading_tool

#: Bytes of a picture, at most.
MOST_PICTURE_BYTES: Final = 2 * 1024 * 1024

FAILED: Final = ToolError("This call failed inside Surehand, and the page may have taken it. Ask the person to look.")
TOO_LARGE: Final = ToolError("The picture is too large to be shared. Call observe.")

_NODE: Final[Json] = {"type": "string", "pattern": "^n_[0-9a-f]{8}$", "description": "An id of the last observe"}
_PIXELS: Final[Json] = {"type": "integer", "minimum": 0, "maximum": 10_000}
_PATH: Final[Json] = {"type": "string", "pattern": r"^/[^\s#]*$", "maxLength": 500, "description": "Where to begin"}


def authoring_tools(desk: AuthoringDesk) -> tuple[Tool, ...]:
    """The tools of one session.

    Args:
        desk: Takes their commands.
    """
    commands = (_command(desk, name, row) for name, row in _ROWS.items())
    return (_observe(desk), *commands, _screen(desk))


@frozen
class _Row:
    """A tool that answers how the session stands; the first of its arguments are needed."""

    title: str
    description: str
    arguments: Mapping[str, Json] = field(factory=dict[str, Json])
    needed: int = 0


def _command(desk: AuthoringDesk, name: ToolName, row: _Row) -> Tool:
    return Tool(
        name=name.value,
        title=row.title,
        description=row.description,
        read_only=name in _READING,
        destructive=name in _ACTING,
        idempotent=name in _READING,
        open_world=name in _ACTING,
        arguments=row.arguments,
        required=tuple(row.arguments)[: row.needed],
        output_schema=_answer_schema,
        handler=partial(_perform, desk, name),
        failure=FAILED,
    )


def _observe(desk: AuthoringDesk) -> Tool:
    return reading_tool(
        ToolName.OBSERVE.value,
        "Observe",
        "The nodes of the app's page: an id, a role and states for each. No name, value, title or address.",
        {},
        lambda: outline(json_schema(Observation), exact=("schema",)),
        partial(_look, desk),
    )


def _screen(desk: AuthoringDesk) -> Tool:
    return reading_tool(
        ToolName.SCREEN.value,
        "Screen",
        "A picture of the window in the pixels that click takes; scrubbed, a drawing of its nodes alone.",
        {},
        lambda: {"type": "object", "properties": {"screens": {"type": "string"}}, "required": ["screens"]},
        partial(_show, desk),
    )


async def _perform(desk: AuthoringDesk, name: ToolName, call: Call) -> Json:
    return to_wire(await desk.perform(name, call.arguments, call.ask))


async def _look(desk: AuthoringDesk, _call: Call) -> Json | ToolError:
    try:
        return to_wire(await desk.observe())
    except RefusedError as refused:
        return _sentence(refused.problem)


async def _show(desk: AuthoringDesk, _call: Call) -> Picture | ToolError:
    try:
        png = await desk.screen()
    except RefusedError as refused:
        return _sentence(refused.problem)
    if len(png) > MOST_PICTURE_BYTES:
        return TOO_LARGE
    return Picture(png, {"scrubbed": not desk.shares_screen})


def _sentence(problem: Problem) -> ToolError:
    words = REFUSED[problem]
    return ToolError(f"{words.what_happened} {words.next_action}")


def _answer_schema() -> Json:
    """The members that a caller acts on; what else an answer has is named by its words."""
    return {
        "type": "object",
        "properties": {
            "command_id": {"type": "string"},
            "status": {"enum": [each.value for each in Status]},
            "problem": {"type": "string"},
            "session": {"enum": [each.value for each in Phase]},
            "details": {"type": "object"},
        },
        "required": ["command_id", "status", "session"],
    }


#: What only tells, and what acts in the app.
_READING: Final = frozenset({ToolName.GET_COMMAND_RESULT, ToolName.GET_COACH, ToolName.BIND_STATUS})
_ACTING: Final = frozenset({ToolName.CLICK, ToolName.TYPE})

#: The tools that answer how the session stands.
_ROWS: Final = {
    ToolName.START_RECORD: _Row(
        "Start recording",
        "Opens the app that the operator named in a window on this computer, and records what is done in it.",
        {"path": _PATH, "target": {"type": "string", "enum": [each.value for each in Target]}},
    ),
    ToolName.CLICK: _Row(
        "Click",
        "Clicks a node of the last observe, or a place in pixels. The click is recorded as the agent's.",
        {"node": _NODE, "x": _PIXELS, "y": _PIXELS},
    ),
    ToolName.HALT: _Row("Halt", "Ends the session, closes the window and keeps nothing of what was recorded in it."),
    ToolName.TYPE: _Row(
        "Type",
        "Types a text of the agent's own into a field, or chooses the option of that name. "
        "Never for a secret, or for what a person said: use pause_for_input.",
        {"node": _NODE, "text": {"type": "string", "maxLength": 4_000}},
        2,
    ),
    ToolName.PAUSE_FOR_INPUT: _Row(
        "Pause for input",
        "Waits for the person to type into the app. With secret, nothing of what is typed is kept.",
        {"node": _NODE, "secret": {"type": "boolean"}},
    ),
    ToolName.CONTINUE_INPUT: _Row(
        "Continue",
        "Goes on after the person has typed, and records it as the person's. Call it when the person says so.",
    ),
    ToolName.STOP_RECORD: _Row("Stop recording", "Completes the recording and closes the window."),
    ToolName.COMPILE: _Row(
        "Compile", "Makes a draft of all complete recordings of this session. It needs a person before it can run."
    ),
    ToolName.ADMIT: _Row(
        "Admit",
        "Asks the person, by a form, first what the recording cannot say, then whether the workflow is admitted.",
    ),
    ToolName.GET_COMMAND_RESULT: _Row(
        "Get a command's result",
        "The last command's answer again.",
        {"command_id": {"type": "string", "maxLength": 40}},
    ),
    ToolName.SET_COACH: _Row(
        "Set a hint",
        "Keeps a short hint for this session. It may name no person.",
        {"hint": {"type": "string", "maxLength": LONGEST_HINT}},
        1,
    ),
    ToolName.GET_COACH: _Row("Get the hint", "The hint of this session, if there is one."),
    ToolName.BIND_STATUS: _Row(
        "Bind status", "Whether this server knows which app to open, and how the session stands."
    ),
}
