"""The tools of one server: what is listed, and who answers a call.

Laws of this module:

- A tool that is not in the server's row does not exist: it is neither listed nor called.
- The list comes in pages of a bounded size: the tools of the row first, then the deprecated ones by their ids.
- No exception of a handler reaches a client; its text could repeat what was said.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from surehand.core.modes import Row
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES, page, size_once
from surehand.shell.mcp.asking import Ask, CallPendingError, FormImpossibleError
from surehand.shell.mcp.desk import Desk, Progress, ServerEndingError, ServiceNotBuiltError
from surehand.shell.mcp.rows import TABLE, older_tool, tool_of
from surehand.shell.mcp.tools import (
    NO_FORMS,
    SERVER_ENDING,
    SERVICE_NOT_BUILT,
    Call,
    Json,
    Picture,
    Tool,
    ToolError,
    declaration,
    misfit,
    tool_result,
)

if TYPE_CHECKING:
    from surehand.shell.mcp.sampling import AskModel

#: The beginning of a deprecated tool's name; what follows is the opaque id of its workflow.
_OLDER: Final = "run_"

#: Bytes of the tools in one page.
_ROOM: Final = MAX_ANSWER_BYTES - 1024

#: More tools than fit into any page.
_NO_LIMIT: Final = 1_000_000


class ToolTable:
    """The tools of one server, at one desk.

    Args:
        row: What kind of server it is.
        desk: Where runs are asked for.
        more: Tools of the row that are not about workflows and runs.
    """

    def __init__(self, row: Row, desk: Desk, more: Iterable[Tool] = ()) -> None:
        others = {tool.name: tool for tool in more}
        self._row = row
        self._desk = desk
        self._tools: Mapping[str, Tool] = {
            name.value: tool_of(name, row) if name in TABLE else others[name.value] for name in row.tools
        }

    async def listing(self, cursor: str | None = None, *, shows_forms: bool = True) -> Json:
        """One page of ``tools/list``.

        Args:
            cursor: What the last page ended with; ``None`` for the first one.
            shows_forms: Whether the client shows forms; one that does not is not shown the tools that need them.
        """
        own = [tool for tool in self._tools.values() if shows_forms or not tool.needs_forms]
        left = _after(cursor, own, await self._older())
        shown, more = page(left, declaration, _NO_LIMIT, _ROOM, size_once)
        answer: Json = {"tools": shown}
        return {**answer, "nextCursor": shown[-1]["name"]} if more else answer

    async def call(  # noqa: PLR0913 - the call, and the ways to its client
        self,
        name: str,
        arguments: Json,
        progress: Progress,
        ask: Ask,
        *,
        shows_forms: bool = True,
        model: "AskModel | None" = None,
    ) -> Json | None:
        """The result of one call; ``None`` when there is no such tool.

        Raises:
            CallPendingError: The call goes on when it is made again with an answer; nothing else but cancellation is
                raised.
        """
        tool = self._tools.get(name) or await self._older_named(name)
        if tool is None:
            return None
        call = Call(self._desk, arguments, progress, ask, shows_forms, model)
        return tool_result(misfit(tool, arguments) or await self._perform(tool, call))

    async def _perform(self, tool: Tool, call: Call) -> Json | ToolError | Picture:
        try:
            return await tool.handler(call)
        except CallPendingError:
            raise
        except FormImpossibleError:
            return NO_FORMS
        except ServerEndingError:
            return SERVER_ENDING
        except ServiceNotBuiltError:
            return SERVICE_NOT_BUILT
        except Exception:  # noqa: BLE001 - the last boundary before the client: the text of no exception may pass
            return tool.failure

    async def _older(self) -> list[Tool]:
        """The deprecated tools by name; none where the service cannot be built."""
        if not self._row.deprecated_runs:
            return []
        try:
            entries = await self._desk.entries()
        except ServiceNotBuiltError:
            return []
        return sorted((older_tool(entry, self._row) for entry in entries), key=lambda tool: tool.name)

    async def _older_named(self, name: str) -> Tool | None:
        if not self._row.deprecated_runs or not name.startswith(_OLDER):
            return None
        return next((tool for tool in await self._older() if tool.name == name), None)


def _after(cursor: str | None, own: list[Tool], older: list[Tool]) -> list[Tool]:
    """What follows the last tool of a page; deprecated tools may have come and gone since."""
    if cursor is None:
        return [*own, *older]
    names = [tool.name for tool in own]
    if cursor in names:
        return [*own[names.index(cursor) + 1 :], *older]
    return [tool for tool in older if tool.name > cursor]
