"""One scenario through the official Python client at hand; prints what it saw as one JSON object.

``python mcp_sdk_client.py MODE COMMAND...``: the mode is ``legacy`` or ``auto``; ``mcp`` 1 knows only ``legacy``.
Both generations of the client check every structured answer against the declared output schema themselves.
"""

import asyncio
import json
import sys
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

CALL = {"workflow": "w", "inputs": {"note": "now"}, "request_id": "client-1"}
HELD = {"workflow": "w", "inputs": {"note": "hold"}, "request_id": "client-2", "wait_seconds": 1}


async def scenario(client: Any, seen: dict[str, Any]) -> None:  # noqa: ANN401 - two generations of one class
    """List, run, repeat, read, misuse, and wait with progress."""
    listed = await client.list_tools()
    seen["tools"] = [tool.name for tool in listed.tools]
    seen["answers"] = []

    async def call(name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
        result = dump(await client.call_tool(name, arguments, **more))
        seen["answers"].append({"tool": name, "result": result})
        return result

    await call("list_workflows", {})
    ran = await call("run_workflow", CALL)
    await call("run_workflow", CALL)
    await call("get_run", {"run_id": ran["structuredContent"]["run_id"]})
    await call("run_workflow", {**CALL, "extra": 1})
    progress: list[float] = []

    async def on_progress(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    await call("run_workflow", HELD, progress_callback=on_progress)
    seen["progress"] = len(progress)


def dump(result: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """A tool result as it was on the wire."""
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


async def first_generation(server: StdioServerParameters, seen: dict[str, Any]) -> None:
    """The session class of ``mcp`` 1, which does the handshake."""
    session: Any = mcp.ClientSession
    async with stdio_client(server) as (incoming, outgoing), session(incoming, outgoing) as client:
        seen["version"] = (await client.initialize()).protocolVersion
        await scenario(client, seen)


async def second_generation(server: StdioServerParameters, mode: str, seen: dict[str, Any]) -> None:
    """The client class of ``mcp`` 2, in either era."""
    kind: Any = mcp.Client
    async with kind(stdio_client(server), mode=mode) as client:
        seen["version"] = client.protocol_version
        await scenario(client, seen)


def main() -> None:
    """Run the scenario and print what was seen."""
    mode, command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments)
    seen: dict[str, Any] = {}
    if hasattr(mcp, "Client"):
        asyncio.run(second_generation(server, mode, seen))
    else:
        asyncio.run(first_generation(server, seen))
    print(json.dumps(seen))  # noqa: T201 - the answer of this program


if __name__ == "__main__":
    main()
