"""What the protocol library at hand answers to ``initialize``, beside our greeting; prints both by revision."""

import asyncio
import json
from typing import Any, Self

from surehand.core.modes import ROWS, Start
from surehand.shell.mcp.adapter import MessageCodec, ProtocolServer
from surehand.shell.mcp.desk import Desk
from surehand.shell.mcp.greeting import HANDSHAKE_REVISIONS, INSTRUCTIONS, NAME, greeting
from surehand.shell.mcp.table import ToolTable

VERSION = "9.9.9"

CODEC = MessageCodec()


class Stream:
    """Both halves of a client that says one thing and ends when it has its answer."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.first: dict[str, Any] = {}
        self._messages = [message]

    async def send(self, item: Any) -> None:  # noqa: ANN401 - a message of either generation
        await self.answers.put(CODEC.dump(item))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        if self._messages:
            return CODEC.parse(self._messages.pop())
        self.first = await self.answers.get()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is held here."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held here."""


def never() -> Any:  # noqa: ANN401 - there is none
    """No service is built by a handshake."""
    raise AssertionError("a handshake builds no service")


async def main() -> None:
    """Compare for every revision, and for one that does not exist."""
    seen: dict[str, dict[str, Any]] = {}
    for revision in (*HANDSHAKE_REVISIONS, "2030-01-01", "2026-07-28"):
        params = {
            "protocolVersion": revision,
            "capabilities": {"roots": {"listChanged": True}},
            "clientInfo": {"name": "c", "version": "1"},
        }
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        stream = Stream(message)
        tools = ToolTable(ROWS[Start.SANDBOX], Desk(never))
        server = ProtocolServer(tools, name=NAME, version=VERSION, instructions=INSTRUCTIONS)
        await server.run(stream, stream)
        seen[revision] = {"library": stream.first, "greeting": greeting(message, VERSION)}
    print(json.dumps(seen))  # noqa: T201 - the answer of this program


if __name__ == "__main__":
    asyncio.run(main())
