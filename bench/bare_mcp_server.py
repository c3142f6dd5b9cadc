"""The least that the installed ``mcp`` needs for a server over stdio with one tool: the measure for our start-up."""

import asyncio
from typing import Any

import mcp.server.lowlevel
from mcp import types
from mcp.server.stdio import stdio_server

TOOLS = types.ListToolsResult.model_validate(
    {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}
)
#: The library without its types, for what only one of its generations has.
LIBRARY: Any = mcp


def echo(arguments: dict[str, Any]) -> types.CallToolResult:
    """The text that was sent."""
    text = str(arguments.get("text", ""))
    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}]})


def first_generation() -> Any:  # noqa: ANN401 - two generations of one class
    """A server of ``mcp`` 1."""
    server = LIBRARY.server.lowlevel.Server("bare")

    async def list_tools() -> list[types.Tool]:
        return TOOLS.tools

    async def call_tool(_name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        return echo(arguments)

    server.list_tools()(list_tools)
    server.call_tool()(call_tool)
    return server


def second_generation() -> Any:  # noqa: ANN401 - two generations of one class
    """A server of ``mcp`` 2."""

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return TOOLS

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        return echo(params.arguments or {})

    return LIBRARY.server.lowlevel.Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """Serve one client."""
    old = hasattr(mcp.server.lowlevel.Server, "call_tool")
    server = first_generation() if old else second_generation()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
