"""What a tool is: a row of a table, the check of its arguments, and the form of its answer.

Laws of this module:

- The schema of a tool's arguments is the check of its arguments: one interpreter reads the schema that clients see.
- Nothing is coerced. A call whose arguments do not fit starts nothing, and is told so by the argument's declared name.
- Every other call answers with a closed object, as text and as ``structuredContent`` of the same JSON.
- Every sentence of a tool error is fixed copy; no exception, value or name from outside reaches a client.
"""

import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeGuard

from attrs import field, frozen

from surehand.core.schema import is_unicode
from surehand.shell.mcp.asking import Ask
from surehand.shell.mcp.desk import Desk, Progress
from surehand.shell.mcp.frames import is_object

if TYPE_CHECKING:
    from surehand.shell.mcp.sampling import AskModel

#: Seconds that a call waits when it does not say: short enough for clients that give up after ten.
DEFAULT_WAIT_SECONDS: Final = 8

#: The longest wait that a call may ask for, in seconds.
MAX_WAIT_SECONDS: Final = 600

Json = dict[str, object]


@frozen
class ToolError:
    """A call that is answered by a sentence instead of an object."""

    text: str


@frozen
class Picture:
    """A call that is answered by a picture and an object beside it."""

    png: bytes = field(repr=False)
    facts: Json


UNDECLARED_ARGUMENT: Final = ToolError("Nothing ran: the call holds an argument that this tool does not declare.")
SERVER_ENDING: Final = ToolError("Nothing ran: the server is ending and starts no more runs.")
SERVICE_NOT_BUILT: Final = ToolError("Nothing ran: Surehand could not start. `surehand doctor` says why.")
FAILED_READING: Final = ToolError("This call failed inside Surehand. It started nothing; call again.")
NO_FORMS: Final = ToolError("Nothing ran: this tool asks a person by a form, and this client shows none.")


def bad_argument(name: str) -> ToolError:
    """The error for a declared argument that is missing or does not fit its schema."""
    return ToolError(f"Nothing ran: the argument {name} is missing or does not fit the tool's input schema.")


@frozen
class Call:
    """One call: its arguments, which fit; where runs are asked for; the ways to its client, and what that shows.

    ``model`` asks the client's model; ``None`` when it offers none.
    """

    desk: Desk
    arguments: Json = field(repr=False)
    progress: Progress
    ask: Ask
    shows_forms: bool = True
    model: "AskModel | None" = None


Handler = Callable[[Call], Awaitable[Json | ToolError | Picture]]


@frozen(kw_only=True)
class Tool:
    """One row of the table.

    ``open_arguments`` leaves the check of the arguments to the handler, which answers with a contract result.
    ``needs_forms`` keeps the tool out of the list of a client that shows no forms.
    """

    name: str
    title: str
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    arguments: Mapping[str, Json]
    required: tuple[str, ...]
    output_schema: Callable[[], Json] = field(repr=False)
    handler: Handler = field(repr=False)
    failure: ToolError = FAILED_READING
    open_arguments: bool = False
    needs_forms: bool = False


#: Arguments that a call may leave out.
_OPTIONAL: Final = frozenset({"cursor", "wait_seconds"})


def reading_tool(  # noqa: PLR0913, PLR0917 - what such tools differ in
    name: str,
    title: str,
    description: str,
    arguments: Mapping[str, Json],
    output_schema: Callable[[], Json],
    handler: Handler,
) -> Tool:
    """A tool that changes nothing; its arguments are required, except a cursor and a wait."""
    return Tool(
        name=name,
        title=title,
        description=description,
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        arguments=arguments,
        required=tuple(each for each in arguments if each not in _OPTIONAL),
        output_schema=output_schema,
        handler=handler,
    )


def wait_seconds(arguments: Json) -> int:
    """How long a call may wait, in seconds."""
    asked = arguments.get("wait_seconds", DEFAULT_WAIT_SECONDS)
    return int(asked) if isinstance(asked, int | float) else DEFAULT_WAIT_SECONDS


#: The argument that says it.
WAIT_SECONDS: Final[Json] = {
    "type": "integer",
    "minimum": 0,
    "maximum": MAX_WAIT_SECONDS,
    "default": DEFAULT_WAIT_SECONDS,
}


def declaration(tool: Tool) -> Json:
    """The tool as ``tools/list`` shows it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema(tool),
        "outputSchema": tool.output_schema(),
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": tool.open_world,
        },
    }


def input_schema(tool: Tool) -> Json:
    """The JSON Schema of the tool's arguments."""
    schema: Json = {"type": "object", "properties": dict(tool.arguments), "additionalProperties": False}
    return {**schema, "required": list(tool.required)} if tool.required else schema


def tool_result(answer: Json | ToolError | Picture) -> Json:
    """What a client receives: the object twice, a picture with its object, or a sentence."""
    if isinstance(answer, ToolError):
        return {"content": [{"type": "text", "text": answer.text}], "isError": True}
    if isinstance(answer, Picture):
        image = {"type": "image", "data": b64encode(answer.png).decode(), "mimeType": "image/png"}
        return {"content": [image], "structuredContent": answer.facts, "isError": False}
    return {
        "content": [{"type": "text", "text": answer_text(answer)}],
        "structuredContent": answer,
        "isError": False,
    }


def answer_text(answer: Json) -> str:
    """The answer as text."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def misfit(tool: Tool, arguments: Json) -> ToolError | None:
    """Why the arguments do not satisfy the tool's input schema; ``None`` when they do."""
    if tool.open_arguments:
        return None
    for name, schema in tool.arguments.items():
        if name not in arguments:
            if name in tool.required:
                return bad_argument(name)
        elif not fits(arguments[name], schema):
            return bad_argument(name)
    return None if arguments.keys() <= tool.arguments.keys() else UNDECLARED_ARGUMENT


def fits(value: object, schema: Json) -> bool:
    """Whether a value satisfies the schema of one argument; the part of JSON Schema that the table uses."""
    if "enum" in schema:
        options = schema["enum"]
        return isinstance(value, str) and isinstance(options, list) and value in options
    match schema["type"]:
        case "string":
            return isinstance(value, str) and _fits_text(value, schema)
        case "integer":
            return _is_integer(value) and _fits_bounds(value, schema)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return is_object(value)
        case _:
            raise AssertionError("the table uses a type that is not checked")


def _fits_text(text: str, schema: Json) -> bool:
    pattern = schema.get("pattern")
    return (
        _number(schema, "minLength", 0) <= len(text) <= _number(schema, "maxLength", len(text))
        and is_unicode(text)
        and (pattern is None or re.fullmatch(str(pattern).removesuffix("$"), text, re.ASCII) is not None)
    )


def _fits_bounds(number: float, schema: Json) -> bool:
    return _number(schema, "minimum", number) <= number <= _number(schema, "maximum", number)


def _is_integer(value: object) -> TypeGuard[int | float]:
    """An integer as JSON Schema has it: ``60.0`` is one, ``true`` is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


def _number(schema: Json, name: str, otherwise: float) -> float:
    limit = schema.get(name)
    return limit if isinstance(limit, int | float) else otherwise
