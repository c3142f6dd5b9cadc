"""A stdio server with one tool, which asks the person at the client by a form: started by its path.

The tool stands under the name ``admit`` in a row that registers it. It answers with what came back.
"""

from surehand.shell.mcp.guard import guard

WIRE = guard()

import sys  # noqa: E402 - the streams are claimed before anything else is loaded
from pathlib import Path  # noqa: E402 - as above
from typing import Any  # noqa: E402 - as above

from surehand.core import modes  # noqa: E402 - as above
from surehand.core.outcome.result import Mode  # noqa: E402 - as above
from surehand.shell.mcp.asking import Form  # noqa: E402 - as above
from surehand.shell.mcp.desk import ServicePort  # noqa: E402 - as above
from surehand.shell.mcp.server import main  # noqa: E402 - as above
from surehand.shell.mcp.tools import Call, Tool  # noqa: E402 - as above

FORM = Form(
    "Is this yours?",
    {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]},
)


async def ask(call: Call) -> dict[str, object]:
    """Show the form, and say what came back."""
    answer = await call.ask(FORM)
    return {"action": answer.action.value, "content": answer.content or {}}


def output() -> dict[str, object]:
    """The answer's schema."""
    members: dict[str, Any] = {"action": {"type": "string"}, "content": {"type": "object"}}
    return {"type": "object", "properties": members, "required": ["action"]}


def tools() -> tuple[Tool, ...]:
    """The one tool."""
    tool = Tool(
        name=modes.ToolName.ADMIT.value,
        title="Ask",
        description="Asks.",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        arguments={},
        required=(),
        output_schema=output,
        handler=ask,
    )
    return (tool,)


def build_service() -> ServicePort:
    """The fake service; imported late, as the real one is."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from support.mcp_fake_service import FakeService  # noqa: PLC0415 - as the docstring says

    return FakeService()


if __name__ == "__main__":
    main(
        build_service,
        row=modes.Row(mode=Mode.PRODUCTION, bundles=False, tools=(modes.ToolName.ADMIT,)),
        more_tools=tools,
        wire=WIRE,
    )
