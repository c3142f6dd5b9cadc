"""Every difference between the two generations of the protocol library, and between its two protocol eras.

Laws of this module:

- Nothing else in Surehand imports ``mcp``, and importing this module loads it.
- ``mcp`` 1 (1.26 and later) speaks the handshake era; ``mcp`` 2 speaks it and the era of 2026-07-28, by the client's
  first request. What a tool does, and what it says, is the same everywhere.
- No exception of ours reaches the library: it would repeat the text to the client.
"""

from collections.abc import Awaitable
from typing import Any, Final, Protocol

import mcp.server.lowlevel
from attrs import evolve
from mcp import types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
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
from surehand.shell.mcp.sampling import (
    MAX_TOKENS,
    MODEL_KEY,
    AskModel,
    ModelAnswer,
    ModelDeclinedError,
    ModelPendingError,
    ModelRequest,
)

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


#: An answer of a model in its widest form, of which one text is taken.
_SAMPLED: Final = _ANY_TYPES.CreateMessageResultWithTools


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

    async def call(  # noqa: PLR0913 - the call, and the ways to its client
        self,
        name: str,
        arguments: dict[str, object],
        progress: Progress,
        ask: Ask,
        *,
        shows_forms: bool = True,
        model: AskModel | None = None,
    ) -> dict[str, object] | None:
        """The result of ``tools/call``; ``None`` when there is no such tool.

        Raises:
            FormPendingError: As ``ask`` did.
            ModelPendingError: As ``model`` did; nothing else is raised but for cancellation.
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


class _FirstWay:
    """The way to the client of one call of ``mcp`` 1: requests while it waits."""

    def __init__(self, context: Any) -> None:  # noqa: ANN401 - the type exists in mcp 1 only
        client = context.session.client_params
        self._context = context
        self.capabilities: Any = None if client is None else client.capabilities

    async def report(self, waited: float, total: float) -> None:
        token = None if self._context.meta is None else self._context.meta.progressToken
        if token is not None:
            await self._context.session.send_progress_notification(
                token, waited, total, PROGRESS_MESSAGE, related_request_id=str(self._context.request_id)
            )

    async def ask(self, form: Form) -> FormAnswer:
        _require_forms(self.capabilities)
        session, request_id = self._context.session, self._context.request_id
        return _answer(await session.elicit_form(form.message, form.schema, related_request_id=request_id))

    async def ask_model(self, asked: ModelRequest) -> ModelAnswer:
        session, related = self._context.session, _related(self._context.request_id)
        sent = _ANY_TYPES.ServerRequest(_sampling(asked))
        return await _from_model(session.send_request(sent, _SAMPLED, metadata=related), _ANY_MCP.McpError)


def _first_generation(tools: Tools, name: str, version: str, instructions: str) -> Any:  # noqa: ANN401 - the type exists in mcp 1 only
    """A server of ``mcp`` 1: handlers by request type, results in an envelope, context in a variable."""
    server = _ANY_MCP.server.lowlevel.Server(name, version=version, instructions=instructions)

    async def list_tools(request: Any) -> object:  # noqa: ANN401 - as above
        return _ANY_TYPES.ServerResult(
            await _listed(tools, _FirstWay(server.request_context).capabilities, request.params)
        )

    async def call_tool(request: Any) -> object:  # noqa: ANN401 - as above
        return _ANY_TYPES.ServerResult(await _called(tools, _FirstWay(server.request_context), request.params))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


class _SecondWay:
    """The way to the client of one call of ``mcp`` 2: requests while it waits, or a call that is made again."""

    def __init__(self, context: Any, params: Any) -> None:  # noqa: ANN401 - a generic of mcp 2 only
        self._context = context
        self._given: dict[str, Any] = params.input_responses or {}
        self._state: str | None = params.request_state
        self.capabilities: Any = context.session.client_capabilities

    async def report(self, waited: float, total: float) -> None:
        await self._context.session.report_progress(waited, total, PROGRESS_MESSAGE)

    async def ask(self, form: Form) -> FormAnswer:
        _require_forms(self.capabilities)
        session, answered = self._context.session, self._given.get(FORM_KEY)
        if answered is not None:
            return evolve(_answer(answered), second_call=True, state=self._state)
        if not session.can_send_request:
            raise FormPendingError(form)
        return _answer(await session.elicit_form(form.message, form.schema, self._context.request_id))

    async def ask_model(self, asked: ModelRequest) -> ModelAnswer:
        session, answered = self._context.session, self._given.get(MODEL_KEY)
        if answered is not None:
            return ModelAnswer(_one_text(answered), second_call=True, state=self._state)
        if not session.can_send_request:
            raise ModelPendingError(asked)
        related = _related(self._context.request_id)
        return await _from_model(session.send_request(_sampling(asked), _SAMPLED, metadata=related), _ANY_MCP.MCPError)


def _second_generation(tools: Tools, name: str, version: str, instructions: str) -> Any:  # noqa: ANN401 - one return type for both generations
    """A server of ``mcp`` 2: handlers in the constructor, results as they are, context as an argument."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:  # noqa: ANN401 - generics of mcp 2 only
        return await _listed(tools, context.session.client_capabilities, params)

    async def call_tool(context: Any, params: Any) -> Any:  # noqa: ANN401 - a generic, and results, of mcp 2 only
        try:
            return await _called(tools, _SecondWay(context, params), params)
        except FormPendingError as pending:
            return _input_required(FORM_KEY, _form(pending.form), pending.form.state)
        except ModelPendingError as pending:
            return _input_required(MODEL_KEY, _sampling(pending.request), pending.request.state)

    server = mcp.server.lowlevel.Server(
        name, version=version, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.clear()  # its telemetry would see arguments
    return server


async def _listed(tools: Tools, capabilities: Any, params: Any) -> types.ListToolsResult:  # noqa: ANN401 - types that either generation names otherwise
    cursor = getattr(params, "cursor", None)
    listed = await tools.listing(cursor if isinstance(cursor, str) else None, shows_forms=_shows_forms(capabilities))
    return types.ListToolsResult.model_validate(listed)


async def _called(tools: Tools, way: _FirstWay | _SecondWay, params: Any) -> types.CallToolResult:  # noqa: ANN401 - as above
    given: dict[str, object] = params.arguments or {}
    model = way.ask_model if _offers_model(way.capabilities) else None
    shows_forms = _shows_forms(way.capabilities)
    return _result(await tools.call(params.name, given, way.report, way.ask, shows_forms=shows_forms, model=model))


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


def _offers_model(capabilities: Any) -> bool:  # noqa: ANN401 - as above
    return getattr(capabilities, "sampling", None) is not None


def _sampling(asked: ModelRequest) -> Any:  # noqa: ANN401 - a type that both generations have, with fields of other names
    content = {"type": "text", "text": asked.prompt.text}
    params = {
        "messages": [{"role": "user", "content": content}],
        "systemPrompt": asked.prompt.fixed,
        "maxTokens": MAX_TOKENS,
    }
    return _ANY_TYPES.CreateMessageRequest.model_validate({"method": "sampling/createMessage", "params": params})


def _related(request_id: Any) -> ServerMessageMetadata:  # noqa: ANN401 - as above
    return ServerMessageMetadata(related_request_id=request_id)


async def _from_model(sending: Awaitable[Any], refused: type[Exception]) -> ModelAnswer:
    """What a client answered to a request of ours; anything that is not one text is none.

    Raises:
        ModelDeclinedError: The client refuses.
    """
    try:
        return ModelAnswer(_one_text(await sending))
    except ValidationError:
        return ModelAnswer("")
    except refused:
        raise ModelDeclinedError from None


def _one_text(answered: Any) -> str:  # noqa: ANN401 - as above
    match getattr(answered, "content", None):
        case [only]:
            block: object = only
        case other:
            block = other
    text: object = getattr(block, "text", None)
    return text if isinstance(text, str) else ""


def _form(form: Form) -> Any:  # noqa: ANN401 - a type that only mcp 2 has
    asked = _ANY_TYPES.ElicitRequestFormParams(message=form.message, requested_schema=form.schema)
    return _ANY_TYPES.ElicitRequest(params=asked)


def _input_required(key: str, asked: object, state: str | None) -> object:
    return _ANY_TYPES.InputRequiredResult(input_requests={key: asked}, request_state=state)


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
