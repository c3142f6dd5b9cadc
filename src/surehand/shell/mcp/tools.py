"""The tools: a row of a table each, and what a call of one answers.

Laws of this module:

- The schema of a tool's arguments is the check of its arguments: one interpreter reads the schema that clients see.
- Nothing is coerced. A call whose arguments do not fit starts nothing, and is told so by the argument's declared name.
- Every other call answers with the contract, as text and as ``structuredContent`` of the same JSON.
- Every sentence of a tool error is fixed copy; no exception, value or name from outside reaches a client.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final, TypeGuard

from attrs import field, frozen

from surehand.core.modes import TOOLS_OF_MODE, ToolName
from surehand.core.outcome.result import Mode, RunResult
from surehand.core.request.keys import REQUEST_ID_PATTERN
from surehand.core.schema import json_schema
from surehand.core.wire import to_wire
from surehand.core.workflow.card import Card
from surehand.shell.mcp.desk import Desk, Progress, ServerEndingError, ServiceNotBuiltError
from surehand.shell.mcp.frames import is_object

#: Seconds that a call waits when it does not say: short enough for clients that give up after ten.
DEFAULT_WAIT_SECONDS: Final = 8

#: The longest wait that a call may ask for, in seconds.
MAX_WAIT_SECONDS: Final = 600

#: Cards and bytes of JSON in one answer of ``list_workflows``.
MAX_CARDS_PER_PAGE: Final = 50
MAX_PAGE_BYTES: Final = 48_000

Json = dict[str, object]


@frozen
class ToolError:
    """A call that is answered by a sentence instead of the contract."""

    text: str


UNDECLARED_ARGUMENT: Final = ToolError("Nothing ran: the call holds an argument that this tool does not declare.")
SERVER_ENDING: Final = ToolError("Nothing ran: the server is ending and starts no more runs.")
SERVICE_NOT_BUILT: Final = ToolError("Nothing ran: Surehand could not start. `surehand doctor` says why.")
UNKNOWN_RUN: Final = ToolError("No run is known by this run_id. This call started nothing.")
FAILED_INSIDE: Final = ToolError(
    "This call failed inside Surehand, and a save may have gone through. "
    "Do not enter it elsewhere: call again with the same request_id to learn what happened."
)
FAILED_READING: Final = ToolError("This call failed inside Surehand. It started nothing; call again.")


def bad_argument(name: str) -> ToolError:
    """The error for a declared argument that is missing or does not fit its schema."""
    return ToolError(f"Nothing ran: the argument {name} is missing or does not fit the tool's input schema.")


Handler = Callable[[Desk, Json, Progress], Awaitable[Json | ToolError]]


@frozen(kw_only=True)
class Tool:
    """One row of the table."""

    name: ToolName
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


async def _list_workflows(desk: Desk, arguments: Json, _progress: Progress) -> Json | ToolError:
    cards = sorted(await desk.list_workflows(), key=lambda card: card.name)
    after = arguments.get("cursor")
    return _page([card for card in cards if after is None or card.name > str(after)])


async def _run_workflow(desk: Desk, arguments: Json, progress: Progress) -> Json | ToolError:
    inputs = arguments["inputs"]
    result = await desk.run(
        str(arguments["workflow"]),
        inputs if is_object(inputs) else {},
        str(arguments["request_id"]),
        _wait_seconds(arguments),
        progress,
    )
    return to_wire(result)


async def _get_run(desk: Desk, arguments: Json, progress: Progress) -> Json | ToolError:
    result = await desk.get(str(arguments["run_id"]), _wait_seconds(arguments), progress)
    return UNKNOWN_RUN if result is None else to_wire(result)


def _wait_seconds(arguments: Json) -> int:
    asked = arguments.get("wait_seconds", DEFAULT_WAIT_SECONDS)
    return int(asked) if isinstance(asked, int | float) else DEFAULT_WAIT_SECONDS


def _page(cards: list[Card]) -> Json:
    """As many cards as fit into one answer, and the name to go on after when some are left."""
    shown: list[Json] = []
    size = 0
    for card in cards[:MAX_CARDS_PER_PAGE]:
        wire = to_wire(card)
        size += len(json.dumps(wire))
        if shown and size > MAX_PAGE_BYTES:
            break
        shown.append(wire)
    page: Json = {"workflows": shown}
    if len(shown) < len(cards):
        page["next_cursor"] = cards[len(shown) - 1].name
    return page


@cache
def result_schema() -> Json:
    """The contract: what a result is, to the last code."""
    return _lean(json_schema(RunResult))


@cache
def result_outline() -> Json:
    """The contract's members, closed and required as there; only what a caller decides by keeps its exact values.

    A client holds the whole list of tools in its model's context, so the contract is written out once.
    """
    return outline(result_schema(), exact=("run_id", "outcome", "record_changed", "safe_to_retry"))


@cache
def page_schema() -> Json:
    """One page of cards."""
    return {
        "type": "object",
        "properties": {
            "workflows": {
                "type": "array",
                "items": outline(json_schema(Card), exact=()),
                "maxItems": MAX_CARDS_PER_PAGE,
            },
            "next_cursor": {"type": "string"},
        },
        "required": ["workflows"],
        "additionalProperties": False,
    }


def outline(schema: Json, exact: tuple[str, ...]) -> Json:
    """A closed object's schema with the types of its members, and more than that only for the exact ones."""
    members = schema["properties"]
    if not is_object(members):
        raise AssertionError("only an object has an outline")
    return {**schema, "properties": {name: sub if name in exact else _typed(sub) for name, sub in members.items()}}


def _lean(value: Json) -> Json:
    """The same schema in fewer bytes: a list of texts needs no type beside it."""
    lean = {name: _lean(inner) if is_object(inner) else inner for name, inner in value.items()}
    if isinstance(lean.get("enum"), list):
        lean.pop("type", None)
    return lean


def _typed(schema: object) -> Json:
    if not is_object(schema):
        raise AssertionError("a member's schema is an object")
    typed: Json = {"type": schema.get("type", "string")}
    return {**typed, "items": _typed(schema["items"])} if "items" in schema else typed


_WAIT: Final[Json] = {
    "type": "integer",
    "minimum": 0,
    "maximum": MAX_WAIT_SECONDS,
    "default": DEFAULT_WAIT_SECONDS,
}

_ROWS: Final = (
    Tool(
        name=ToolName.LIST_WORKFLOWS,
        title="List workflows",
        description="The workflows that can be run, with the inputs that each needs.",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        arguments={"cursor": {"type": "string", "maxLength": 200, "description": "next_cursor of the last page"}},
        required=(),
        output_schema=page_schema,
        handler=_list_workflows,
    ),
    Tool(
        name=ToolName.RUN_WORKFLOW,
        title="Run a workflow",
        description=(
            "Enters the inputs into the app at most once, reads the record back, and says what happened. "
            "Use one request_id per intended entry; reuse it for every retry of that entry. "
            "Outcomes: done = saved and checked; needs_review = wait for a person; not_sure_if_saved = a person "
            "checks, never retry; did_not_run = retry if safe_to_retry; running = call get_run."
        ),
        read_only=False,
        destructive=True,
        idempotent=True,
        open_world=True,
        arguments={
            "workflow": {"type": "string", "minLength": 1, "maxLength": 200},
            "inputs": {"type": "object", "description": "Values by input name, each a string"},
            "request_id": {"type": "string", "pattern": REQUEST_ID_PATTERN},
            "wait_seconds": _WAIT,
        },
        required=("workflow", "inputs", "request_id"),
        output_schema=result_schema,
        handler=_run_workflow,
        failure=FAILED_INSIDE,
    ),
    Tool(
        name=ToolName.GET_RUN,
        title="Get a run",
        description="How a run stands, in the form that run_workflow answers. Starts nothing.",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        arguments={"run_id": {"type": "string", "pattern": "^run_[0-9a-f]{32}$"}, "wait_seconds": _WAIT},
        required=("run_id",),
        output_schema=result_outline,
        handler=_get_run,
    ),
)

TABLE: Final[Mapping[ToolName, Tool]] = {row.name: row for row in _ROWS}


class ToolTable:
    """The tools of one mode, at one desk."""

    def __init__(self, mode: Mode, desk: Desk) -> None:
        self._tools = {name.value: TABLE[name] for name in TOOLS_OF_MODE[mode]}
        self._desk = desk

    def listing(self) -> Json:
        """The result of ``tools/list``."""
        return {"tools": [declaration(tool) for tool in self._tools.values()]}

    async def call(self, name: str, arguments: Json, progress: Progress) -> Json | None:
        """The result of one call; ``None`` when there is no such tool. Raises nothing but cancellation."""
        tool = self._tools.get(name)
        if tool is None:
            return None
        answer = misfit(tool, arguments) or await self._perform(tool, arguments, progress)
        return tool_result(answer)

    async def _perform(self, tool: Tool, arguments: Json, progress: Progress) -> Json | ToolError:
        try:
            return await tool.handler(self._desk, arguments, progress)
        except ServerEndingError:
            return SERVER_ENDING
        except ServiceNotBuiltError:
            return SERVICE_NOT_BUILT
        except Exception:  # noqa: BLE001 - the last boundary before the client: the text of no exception may pass
            return tool.failure


def declaration(tool: Tool) -> Json:
    """The tool as ``tools/list`` shows it."""
    return {
        "name": tool.name.value,
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


def tool_result(answer: Json | ToolError) -> Json:
    """What a client receives: the contract twice, or a sentence."""
    if isinstance(answer, ToolError):
        return {"content": [{"type": "text", "text": answer.text}], "isError": True}
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return {"content": [{"type": "text", "text": text}], "structuredContent": answer, "isError": False}


def misfit(tool: Tool, arguments: Json) -> ToolError | None:
    """Why the arguments do not satisfy the tool's input schema; ``None`` when they do."""
    for name, schema in tool.arguments.items():
        if name not in arguments:
            if name in tool.required:
                return bad_argument(name)
        elif not fits(arguments[name], schema):
            return bad_argument(name)
    return None if arguments.keys() <= tool.arguments.keys() else UNDECLARED_ARGUMENT


def fits(value: object, schema: Json) -> bool:
    """Whether a value satisfies the schema of one argument; the part of JSON Schema that the table uses."""
    match schema["type"]:
        case "string":
            return isinstance(value, str) and _fits_text(value, schema)
        case "integer":
            return _is_integer(value) and _fits_bounds(value, schema)
        case "object":
            return is_object(value)
        case _:
            raise AssertionError("the table uses a type that is not checked")


def _fits_text(text: str, schema: Json) -> bool:
    pattern = schema.get("pattern")
    return (
        _number(schema, "minLength", 0) <= len(text) <= _number(schema, "maxLength", len(text))
        and not _SURROGATE.search(text)
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


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
