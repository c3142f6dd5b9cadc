"""Every difference between the two generations of the protocol library, and between its two protocol eras.

Laws of this module:

- Nothing else in Surehand imports ``mcp``, and importing this module loads it.
- ``mcp`` 1 (1.26 and later) speaks the handshake era; ``mcp`` 2 speaks it and the era of 2026-07-28, by the client's
  first request. What a tool does, and what it says, is the same everywhere.
- No exception of ours reaches the library: it would repeat the text to the client.
"""

from typing import Any, Final, Protocol

import mcp.server.lowlevel
from attrs import evolve
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from surehand.shell.mcp.asking import (
    FORM_KEY,
    Action,
    Ask,
    Form,
    FormAnswer,
    FormImpossibleError,
    FormPendingError,
)
from surehand.shell.mcp.desk import Progress

#: What a progress notification says.
PROGRESS_MESSAGE: Final = "The run is still going."

#: The fixed answer for a tool that is not in the table.
UNKNOWN_TOOL: Final = "There is no tool of this name. Nothing ran."

_INVALID_PARAMS: Final = -32602

#: ``mcp`` 2 takes its handlers in the constructor, ``mcp`` 1 by decorators that this attribute is one of.
_FIRST_GENERATION: Final = hasattr(mcp.server.lowlevel.Server, "call_tool")

#: The library without its types, for what only one generation has.
_ANY_MCP: Final[Any] = mcp
_ANY_TYPES: Final[Any] = types


def _parse_first(message: dict[str, object]) -> Any:  # noqa: ANN401 - a message type that only mcp 1 has
    return _ANY_TYPES.JSONRPCMessage.model_validate(message)


def _parse_second(message: dict[str, object]) -> Any:  # noqa: ANN401 - a message type that only mcp 2 has
    return _ANY_TYPES.jsonrpc_message_adapter.validate_python(message, by_name=False)


_PARSE: Final = _parse_first if _FIRST_GENERATION else _parse_second


class Tools(Protocol):
    """The tools as the adapter serves them: plain JSON in and out."""

    async def listing(self, cursor: str | None = None, *, shows_forms: bool = True) -> dict[str, object]:
        """One page of ``tools/list``, for a client that shows forms or does not."""
        ...

    async def call(
        self, name: str, arguments: dict[str, object], progress: Progress, ask: Ask, *, shows_forms: bool = True
    ) -> dict[str, object] | None:
        """The result of ``tools/call``; ``None`` when there is no such tool.

        Raises:
            FormPendingError: As ``ask`` did; nothing else is raised but for cancellation.
        """
        ...


class MessageCodec:
    """The library's messages on a stream."""

    def parse(self, message: dict[str, object]) -> SessionMessage | None:
        """The message that an object stands for; ``None`` when it is none."""
        try:
            return SessionMessage(_PARSE(message))
        except ValidationError:
            return None

    def dump(self, message: SessionMessage) -> dict[str, object]:
        """The object that a message stands for."""
        dumped: Any = message.message
        return dict(dumped.model_dump(by_alias=True, mode="json", exclude_none=True))


class ProtocolServer:
    """A server object of the library at hand, with our tools in it."""

    def __init__(self, tools: Tools, *, name: str, version: str, instructions: str) -> None:
        make = _first_generation if _FIRST_GENERATION else _second_generation
        self.library_server: Any = make(tools, name, version, instructions)

    async def run(self, incoming: object, outgoing: object) -> None:
        """Serve one client on a pair of streams, until the incoming one ends."""
        server = self.library_server
        await server.run(incoming, outgoing, server.create_initialization_options())


def _first_generation(tools: Tools, name: str, version: str, instructions: str) -> Any:  # noqa: ANN401 - the type exists in mcp 1 only
    """A server of ``mcp`` 1: handlers by request type, results in an envelope, context in a variable."""
    server = _ANY_MCP.server.lowlevel.Server(name, version=version, instructions=instructions)

    def capabilities() -> Any:  # noqa: ANN401 - as above
        client = server.request_context.session.client_params
        return None if client is None else client.capabilities

    async def list_tools(request: Any) -> object:  # noqa: ANN401 - as above
        listed = await tools.listing(_cursor(request.params), shows_forms=_shows_forms(capabilities()))
        return _ANY_TYPES.ServerResult(types.ListToolsResult.model_validate(listed))

    async def call_tool(request: Any) -> object:  # noqa: ANN401 - as above
        context = server.request_context
        token = context.meta.progressToken if context.meta is not None else None

        async def report(waited: float, total: float) -> None:
            if token is not None:
                await context.session.send_progress_notification(
                    token, waited, total, PROGRESS_MESSAGE, related_request_id=str(context.request_id)
                )

        async def ask(form: Form) -> FormAnswer:
            _require_forms(capabilities())
            return _answer(
                await context.session.elicit_form(form.message, form.schema, related_request_id=context.request_id)
            )

        result = await tools.call(
            request.params.name,
            request.params.arguments or {},
            report,
            ask,
            shows_forms=_shows_forms(capabilities()),
        )
        return _ANY_TYPES.ServerResult(_result(result))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _second_generation(tools: Tools, name: str, version: str, instructions: str) -> Any:  # noqa: ANN401 - one return type for both generations
    """A server of ``mcp`` 2: handlers in the constructor, results as they are, context as an argument."""

    async def list_tools(context: Any, params: object) -> types.ListToolsResult:  # noqa: ANN401 - a generic of mcp 2 only
        shows_forms = _shows_forms(context.session.client_capabilities)
        return types.ListToolsResult.model_validate(await tools.listing(_cursor(params), shows_forms=shows_forms))

    async def call_tool(context: Any, params: Any) -> Any:  # noqa: ANN401 - a generic, and results, of mcp 2 only
        async def report(waited: float, total: float) -> None:
            await context.session.report_progress(waited, total, PROGRESS_MESSAGE)

        async def ask(form: Form) -> FormAnswer:
            _require_forms(context.session.client_capabilities)
            given: dict[str, Any] = params.input_responses or {}
            answered = given.get(FORM_KEY)
            if answered is not None:
                return evolve(_answer(answered), second_call=True, state=params.request_state)
            try:
                return _answer(await context.session.elicit_form(form.message, form.schema, context.request_id))
            except _ANY_MCP.shared.exceptions.NoBackChannelError:
                raise FormPendingError(form) from None

        try:
            shows_forms = _shows_forms(context.session.client_capabilities)
            result = await tools.call(params.name, params.arguments or {}, report, ask, shows_forms=shows_forms)
            return _result(result)
        except FormPendingError as pending:
            return _input_required(pending.form)

    server = mcp.server.lowlevel.Server(
        name, version=version, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.clear()  # its telemetry would see arguments
    return server


def _cursor(params: Any) -> str | None:  # noqa: ANN401 - a type that either generation names otherwise
    cursor = getattr(params, "cursor", None)
    return cursor if isinstance(cursor, str) else None


def _shows_forms(capabilities: Any) -> bool:  # noqa: ANN401 - as above
    """Whether a client says that it shows forms; one that says no more than that it asks people shows them."""
    told = getattr(capabilities, "elicitation", None)
    return told is not None and (getattr(told, "form", None) is not None or getattr(told, "url", None) is None)


def _require_forms(capabilities: Any) -> None:  # noqa: ANN401 - as above
    """Refuse a client that does not say that it shows forms.

    Raises:
        FormImpossibleError: It does not.
    """
    if not _shows_forms(capabilities):
        raise FormImpossibleError


def _answer(answered: Any) -> FormAnswer:  # noqa: ANN401 - as above
    content: dict[str, object] | None = getattr(answered, "content", None)
    return FormAnswer(Action(answered.action), content)


def _input_required(form: Form) -> object:
    asked = _ANY_TYPES.ElicitRequestFormParams(message=form.message, requested_schema=form.schema)
    requests = {FORM_KEY: _ANY_TYPES.ElicitRequest(params=asked)}
    return _ANY_TYPES.InputRequiredResult(input_requests=requests, request_state=form.state)


def _result(result: dict[str, object] | None) -> types.CallToolResult:
    if result is None:
        raise _protocol_error()
    return types.CallToolResult.model_validate(result)


def _protocol_error() -> Exception:
    if _FIRST_GENERATION:
        refused: Exception = _ANY_MCP.McpError(types.ErrorData(code=_INVALID_PARAMS, message=UNKNOWN_TOOL))
    else:
        refused = _ANY_MCP.MCPError(_INVALID_PARAMS, UNKNOWN_TOOL)
    return refused
