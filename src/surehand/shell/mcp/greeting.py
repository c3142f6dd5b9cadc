"""Answers a client's ``initialize`` before the protocol library is loaded, in the library's own words.

Laws of this module:

- It imports nothing of the library. That its answer is the library's answer, for both generations, is what a test says.
- Only a handshake of the plain shape is answered here; anything else waits for the library.
- The library still gets the handshake. Its own answer is dropped, and if it refuses, the session ends.
"""

from typing import Final, TypeGuard

from surehand.shell.mcp.frames import decode, encode, id_of, is_object
from surehand.shell.mcp.stdio import Channel, Opening

#: The revisions of the handshake era, oldest first; a client that asks for any other is offered the last.
HANDSHAKE_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

NAME: Final = "surehand"

#: What the server tells the client's model about itself.
INSTRUCTIONS: Final = (
    "Surehand enters values into an app and says what really happened. Only the outcome done means saved. "
    "Never retry not_sure_if_saved; retry, under the same request_id, only when safe_to_retry is true."
)


async def greet(channel: Channel, version: str) -> Opening:
    """Read the client's first line, and answer it if it is a plain handshake.

    Args:
        channel: The client.
        version: The version of Surehand.

    Returns:
        The line, which the library is still to see, and the id under which it was answered.
    """
    line = await channel.read()
    message = decode(line) if isinstance(line, bytes) else None
    if not is_object(message):
        return Opening(line)
    answer = greeting(message, version)
    if answer is None:
        return Opening(line)
    channel.write(encode(answer))
    return Opening(line, id_of(message))


def greeting(message: dict[str, object], version: str) -> dict[str, object] | None:
    """The answer to a plain ``initialize``; ``None`` for any other message."""
    request_id = id_of(message)
    params = message.get("params")
    plain = message.keys() == {"jsonrpc", "id", "method", "params"} and message["jsonrpc"] == "2.0"
    if not plain or request_id is None or message["method"] != "initialize" or not _is_plain(params):
        return None
    asked = params["protocolVersion"]
    result = {
        "protocolVersion": asked if asked in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": version},
        "instructions": INSTRUCTIONS,
    }
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _is_plain(params: object) -> TypeGuard[dict[str, object]]:
    """Whether the parameters have the members that every client sends, in the types that the protocol has."""
    if not is_object(params) or "_meta" in params:
        return False
    client = params.get("clientInfo")
    return (
        isinstance(params.get("protocolVersion"), str)
        and is_object(params.get("capabilities"))
        and is_object(client)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )
