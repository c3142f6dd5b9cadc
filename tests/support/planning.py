"""A scripted model that finds the referral in the clinic, and a client of either official generation that offers it.

``python planning.py MODE COMMAND...`` starts the plan, asks for its run until that stops, and prints what it saw as one
JSON object. The mode is ``legacy`` or ``auto``; ``mcp`` 1 knows only ``legacy``. It imports nothing but the library.
"""

import asyncio
import json
import sys
from typing import Any

PATIENT = "Ada Example"
FOUND = "SYN-1042"

START = {"plan": "find_then_note", "inputs": {"patient": PATIENT}, "request_id": "r-1", "wait_seconds": 60}

#: What is done on the sign-in page, one after the other.
SIGN_IN: tuple[dict[str, str], ...] = (
    {"kind": "type_text", "role": "textbox", "text": "Planner"},
    {"kind": "choose_option", "role": "combobox", "label": "normal"},
    {"kind": "click_node", "role": "button"},
)


def plan_step(shown: dict[str, Any]) -> dict[str, str]:
    """The next action: sign in, open the referral of the patient, read its record number, finish."""
    nodes: list[dict[str, str]] = shown["page"]["nodes"]
    held = [node.get("value") for node in nodes]
    if ("button", "Sign in") in [(node["role"], node.get("name")) for node in nodes]:
        return signing_in(nodes, len(shown["done_so_far"]))
    if "Record number" not in held or "term" not in [node["role"] for node in nodes]:
        at = next(at for at, value in enumerate(held) if value in {PATIENT, "{patient}"})
        return {"kind": "click_node", "node": next(node["id"] for node in nodes[at:] if node["role"] == "link")}
    if shown["done_so_far"][-1]["action"]["kind"] == "read_node":
        return {"kind": "finish_goal"}
    return {"kind": "read_node", "node": nodes[held.index("Record number") + 1]["id"], "output": "record_number"}


def signing_in(nodes: list[dict[str, str]], done: int) -> dict[str, str]:
    """One step of the sign-in."""
    step = SIGN_IN[done]
    node = next(each["id"] for each in nodes if each["role"] == step["role"])
    return {**{name: text for name, text in step.items() if name != "role"}, "node": node}


async def scenario(client: Any, seen: dict[str, Any]) -> None:  # noqa: ANN401 - two generations of one class
    """Start the plan, and ask for its run until it stops."""
    answer = await call(client, "start_plan", START)
    while answer["outcome"] == "running":
        answer = await call(client, "get_plan_run", {"plan_run_id": answer["plan_run_id"], "wait_seconds": 60})
    seen["answer"] = answer


async def call(client: Any, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - as above
    """The structured answer of a call."""
    result = await client.call_tool(tool, arguments)
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    told: dict[str, Any] = dumped["structuredContent"]
    return told


def main() -> None:
    """Run the scenario and print what was seen."""
    import mcp  # noqa: PLC0415 - for the program alone
    from mcp import types  # noqa: PLC0415 - as above
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - as above

    mode, command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments)
    seen: dict[str, Any] = {"prompts": []}

    async def sample(_context: object, params: Any) -> types.CreateMessageResult:  # noqa: ANN401 - as above
        (message,) = params.messages
        seen["prompts"].append(message.content.text)
        text = json.dumps({"action": plan_step(json.loads(message.content.text))})
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", model="scripted", content=content)

    async def first_generation() -> None:
        session: Any = mcp.ClientSession
        async with stdio_client(server) as streams, session(*streams, sampling_callback=sample) as client:
            await client.initialize()
            await scenario(client, seen)

    async def second_generation() -> None:
        kind: Any = mcp.Client  # type: ignore[attr-defined, unused-ignore] # only mcp 2 has it
        async with kind(stdio_client(server), mode=mode, sampling_callback=sample) as client:
            await scenario(client, seen)

    asyncio.run(second_generation() if hasattr(mcp, "Client") else first_generation())
    print(json.dumps(seen))  # noqa: T201 - the answer of this program


if __name__ == "__main__":
    main()
