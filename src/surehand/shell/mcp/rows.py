"""The tools of workflows and runs: a row each, and what a call of one answers.

Laws of this module:

- A handler asks the desk and gives its answer a form; what an outcome means is said elsewhere.
- A tool that runs something says what a retry does. The deprecated ones take no request id, and say what that costs.
- What a call may say about the app's place is in the schema of a server that lets it, and of no other.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from attrs import evolve

from surehand.core.modes import Row, ToolName
from surehand.core.older import older_status
from surehand.core.request.keys import REQUEST_ID_PATTERN
from surehand.core.wire import to_wire
from surehand.shell.config import ConfigError, origin_text
from surehand.shell.identity import new_token
from surehand.shell.mcp.answers import (
    older_schema,
    overview_answer,
    overview_schema,
    page_schema,
    report_schema,
    result_outline,
    result_schema,
    with_protected,
    workflow_page,
)
from surehand.shell.mcp.frames import is_object
from surehand.shell.mcp.tools import (
    WAIT_SECONDS,
    Call,
    Handler,
    Json,
    Tool,
    ToolError,
    bad_argument,
    reading_tool,
    wait_seconds,
)

if TYPE_CHECKING:
    from surehand.shell.catalog import WorkflowEntry

UNKNOWN_RUN: Final = ToolError("No run is known by this run_id. This call started nothing.")
UNKNOWN_WORKFLOW: Final = ToolError("No workflow is known by this name or id. Call list_workflows. Nothing ran.")
FAILED_INSIDE: Final = ToolError(
    "This call failed inside Surehand, and a save may have gone through. "
    "Do not enter it elsewhere: call again with the same request_id to learn what happened."
)
OLDER_FAILED_INSIDE: Final = ToolError(
    "This call failed inside Surehand, and a save may have gone through. "
    "Do not call again: have a person check the record in the app."
)

#: Seconds that a call of a deprecated tool waits; it cannot say another time.
OLDER_WAIT_SECONDS: Final = 50


async def _list_workflows(call: Call) -> Json | ToolError:
    served, unavailable = await call.desk.listed()
    after = call.arguments.get("cursor")
    return workflow_page(served, unavailable, None if after is None else str(after))


async def _run_workflow(call: Call) -> Json | ToolError:
    inputs = call.arguments["inputs"]
    url = _url(call.arguments)
    if isinstance(url, ToolError):
        return url
    result = await call.desk.run(
        str(call.arguments["workflow"]),
        inputs if is_object(inputs) else {},
        str(call.arguments["request_id"]),
        wait_seconds(call.arguments),
        call.progress,
        url=url,
    )
    return to_wire(result)


async def _get_run(call: Call) -> Json | ToolError:
    result = await call.desk.get(str(call.arguments["run_id"]), wait_seconds(call.arguments), call.progress)
    return UNKNOWN_RUN if result is None else to_wire(result)


async def _get_workflow(call: Call) -> Json | ToolError:
    overview = await call.desk.overview(str(call.arguments["workflow"]))
    return UNKNOWN_WORKFLOW if overview is None else overview_answer(overview)


async def _get_protected_workflow(call: Call) -> Json | ToolError:
    answer = await _get_workflow(call)
    entry = await call.desk.entry(str(call.arguments["workflow"]))
    if isinstance(answer, ToolError) or entry is None or entry.protected is None:
        return answer
    protected: Json = {
        "folder": entry.protected.folder,
        "title": entry.protected.title,
        "definition": to_wire(entry.bundle),
    }
    return with_protected(answer, protected)


async def _get_run_report(call: Call) -> Json | ToolError:
    report = await call.desk.report(str(call.arguments["run_id"]))
    return UNKNOWN_RUN if report is None else to_wire(report)


async def _get_protected_run_report(call: Call) -> Json | ToolError:
    answer = await _get_run_report(call)
    if isinstance(answer, ToolError):
        return answer
    workflow, late = await call.desk.protected_report(str(call.arguments["run_id"]))
    named: Json = {} if workflow is None else {"workflow": workflow}
    return with_protected(answer, {**named, **({} if late is None else {"late_result": to_wire(late)})})


def _url(arguments: Json) -> str | ToolError | None:
    if "url" not in arguments:
        return None
    try:
        return origin_text(str(arguments["url"]))
    except ConfigError:
        return bad_argument("url")


_RUN_ID: Final[Json] = {"type": "string", "pattern": "^run_[0-9a-f]{32}$"}
_WORKFLOW: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_URL: Final[Json] = {
    "type": "string",
    "pattern": r"^https?://[^\s/?#@]+$",
    "maxLength": 260,
    "description": "The app's origin for this call",
}


_RUN_WORKFLOW: Final = Tool(
    name=ToolName.RUN_WORKFLOW.value,
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
        "workflow": _WORKFLOW,
        "inputs": {"type": "object", "description": "Values by input name, each a string"},
        "request_id": {"type": "string", "pattern": REQUEST_ID_PATTERN},
        "wait_seconds": WAIT_SECONDS,
    },
    required=("workflow", "inputs", "request_id"),
    output_schema=result_schema,
    handler=_run_workflow,
    failure=FAILED_INSIDE,
)

_ROWS: Final = (
    reading_tool(
        ToolName.LIST_WORKFLOWS.value,
        "List workflows",
        "The workflows that can be run, with the inputs that each needs.",
        {"cursor": {"type": "string", "maxLength": 200, "description": "next_cursor of the last page"}},
        page_schema,
        _list_workflows,
    ),
    _RUN_WORKFLOW,
    reading_tool(
        ToolName.GET_RUN.value,
        "Get a run",
        "How a run stands, in the form that run_workflow answers. Starts nothing.",
        {"run_id": _RUN_ID, "wait_seconds": WAIT_SECONDS},
        result_outline,
        _get_run,
    ),
    reading_tool(
        ToolName.GET_WORKFLOW.value,
        "Get a workflow",
        "Whether a workflow can run now, which checks fail, and how much it holds. Takes its name or opaque id.",
        {"workflow": _WORKFLOW},
        lambda: overview_schema(protected=False),
        _get_workflow,
    ),
    reading_tool(
        ToolName.GET_RUN_REPORT.value,
        "Get a run's report",
        "Every attempt under a run's request_id, and counts of what its result names. Starts nothing.",
        {"run_id": _RUN_ID},
        lambda: report_schema(protected=False),
        _get_run_report,
    ),
)

#: The tools of workflows and runs by name.
TABLE: Final[Mapping[ToolName, Tool]] = {ToolName(row.name): row for row in _ROWS}

#: What a reading tool does instead where the operator trusts the client with what stands in the bundles.
_PROTECTED: Final[Mapping[ToolName, Callable[[Tool], Tool]]] = {
    ToolName.GET_WORKFLOW: lambda tool: evolve(
        tool, handler=_get_protected_workflow, output_schema=lambda: overview_schema(protected=True)
    ),
    ToolName.GET_RUN_REPORT: lambda tool: evolve(
        tool, handler=_get_protected_run_report, output_schema=lambda: report_schema(protected=True)
    ),
}


def tool_of(name: ToolName, row: Row) -> Tool:
    """The tool as a server of this kind offers it.

    Raises:
        KeyError: It is none of workflows and runs.
    """
    tool = TABLE[name]
    if row.url_override and name is ToolName.RUN_WORKFLOW:
        tool = evolve(tool, arguments={**tool.arguments, "url": _URL})
    if row.protected_export and name in _PROTECTED:
        tool = _PROTECTED[name](tool)
    return tool


def older_tool(entry: "WorkflowEntry", row: Row) -> Tool:
    """The deprecated tool of one workflow; its arguments are the inputs."""
    takes_url = row.url_override and all(each.name != "url" for each in entry.card.inputs)
    url: dict[str, Json] = {"url": _URL} if takes_url else {}
    inputs: dict[str, Json] = {each.name: {"type": "string"} for each in entry.card.inputs}
    return Tool(
        name=f"run_{entry.id}",
        title="Run one workflow (deprecated)",
        description=(
            "Deprecated: use run_workflow. This tool takes no request_id, so a retry can write twice. "
            "Never repeat a call whose status is not refused."
        ),
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=True,
        arguments={**inputs, **url},
        required=tuple(each.name for each in entry.card.inputs if each.required),
        output_schema=older_schema,
        handler=_older_handler(entry.bundle.workflow, takes_url=takes_url),
        failure=OLDER_FAILED_INSIDE,
        open_arguments=True,
    )


def _older_handler(workflow: str, *, takes_url: bool) -> Handler:
    async def run(call: Call) -> Json | ToolError:
        named = "url" in call.arguments and takes_url
        url = _url(call.arguments) if named else None
        if isinstance(url, ToolError):
            return url
        inputs = {name: value for name, value in call.arguments.items() if not (named and name == "url")}
        request_id = f"deprecated-{new_token()}"
        result = await call.desk.run(workflow, inputs, request_id, OLDER_WAIT_SECONDS, call.progress, url=url)
        return {"status": older_status(result).value, **to_wire(result)}

    return run
