"""The MCP server over stdio: one client, one wire, one service.

Laws of this module:

- Importing it loads no protocol library. The client's handshake is answered before the library is loaded.
- The service is built after the first answer is written, or at the first call that needs it.
- It ends in bounded time at the end of input, at ``SIGTERM`` and at ``SIGINT``, whatever threads are left over.
- Standard error tells what kind of thing went wrong, and never repeats what was said.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, NoReturn

from surehand.core.modes import ROWS, Row, Start
from surehand.shell.mcp.asking import Ask
from surehand.shell.mcp.desk import Desk, Progress, ServicePort
from surehand.shell.mcp.greeting import INSTRUCTIONS, NAME, greet
from surehand.shell.mcp.guard import Wire, guard
from surehand.shell.mcp.stdio import Channel, StdioTransport

if TYPE_CHECKING:
    from surehand.shell.mcp.sampling import AskModel
    from surehand.shell.mcp.table import ToolTable
    from surehand.shell.mcp.tools import Tool

#: Seconds between the end of input and the end of the process, at most.
EXIT_SECONDS: Final = 20.0

#: Exit code after an error of our own.
EXIT_INTERNAL_ERROR: Final = 70

#: What a shell says of a process that a signal ended, beyond the signal's number.
SIGNAL_EXIT_BASE: Final = 128


def main(
    build_service: Callable[[], ServicePort],
    *,
    row: Row = ROWS[Start.SANDBOX],
    more_tools: "Callable[[], Iterable[Tool]]" = tuple,
    wire: Wire | None = None,
) -> NoReturn:
    """Serve one client on standard input and output, and end the process.

    Args:
        build_service: Makes the service; called once, in a thread, after the first answer.
        row: Which tools are registered.
        more_tools: Makes the tools of the row that are not about workflows and runs; called after the first answer.
        wire: What ``guard`` returned, when the caller has claimed the streams already.
    """
    claimed = guard() if wire is None else wire
    _be_discreet()
    try:
        code = asyncio.run(_serve(build_service, partial(_tools, row, more_tools), claimed))
    except BaseException as error:  # noqa: BLE001 - the process ends here; a traceback could repeat what was said
        say(f"the server stopped on an internal error ({type(error).__name__})")
        code = EXIT_INTERNAL_ERROR
    _leave(code)


def _tools(row: Row, more_tools: "Callable[[], Iterable[Tool]]", desk: Desk) -> "ToolTable":
    from surehand.shell.mcp.table import ToolTable  # noqa: PLC0415 - loads the schemas and what they describe

    return ToolTable(row, desk, more_tools())


async def _serve(
    build_service: Callable[[], ServicePort], make_tools: "Callable[[Desk], ToolTable]", wire: Wire
) -> int:
    """Serve until the client or a signal ends it; the exit code."""
    desk = Desk(build_service)
    ending = _Ending(desk)
    channel = Channel(wire)
    ending.heed_signals(channel.stop)
    installed = version(NAME)
    opening = await greet(channel, installed)

    from surehand.shell.mcp.adapter import MessageCodec, ProtocolServer  # noqa: PLC0415 - loads the protocol library

    codec = MessageCodec()
    transport = StdioTransport(channel, opening, codec, on_first_answer=desk.warm, on_end=ending.begin)
    server = ProtocolServer(_LateTools(make_tools, desk), name=NAME, version=installed, instructions=INSTRUCTIONS)
    await server.run(transport.incoming, transport.outgoing)
    await channel.flush()
    await desk.close()
    return ending.code


class _LateTools:
    """The table of tools, loaded when it is first asked for: a client has its first answer before that."""

    def __init__(self, make: "Callable[[Desk], ToolTable]", desk: Desk) -> None:
        self._make = make
        self._desk = desk

    @cached_property
    def _table(self) -> "ToolTable":
        return self._make(self._desk)

    async def listing(self, cursor: str | None = None, *, shows_forms: bool = True) -> dict[str, object]:
        """The result of ``tools/list``."""
        return await self._table.listing(cursor, shows_forms=shows_forms)

    async def call(  # noqa: PLR0913 - the call, and the ways to its client
        self,
        name: str,
        arguments: dict[str, object],
        progress: Progress,
        ask: Ask,
        *,
        shows_forms: bool = True,
        model: "AskModel | None" = None,
    ) -> dict[str, object] | None:
        """The result of ``tools/call``."""
        return await self._table.call(name, arguments, progress, ask, shows_forms=shows_forms, model=model)


class _Ending:
    """How the server ends: the exit code, and the bound on the time that it takes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.code = 0

    def heed_signals(self, stop: Callable[[], None]) -> None:
        """Let ``SIGTERM`` and ``SIGINT`` stop the reading; a second one ends the process at once."""
        loop = asyncio.get_running_loop()

        def heed(number: int) -> None:
            if self.code:
                _leave(self.code)
            self.code = SIGNAL_EXIT_BASE + number
            stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, heed, number)

    def begin(self) -> None:
        """No more input: end the calls, and have the process end even if something hangs."""
        bound = threading.Timer(EXIT_SECONDS, lambda: _leave(self.code))
        bound.daemon = True
        bound.start()
        self._desk.end()


class _DiscreetHandler(logging.Handler):
    """Says which part of the program logged, and how badly; what was logged could repeat what was said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line of fixed copy."""
        say(f"{record.levelname.lower()} in {record.name}")


def _be_discreet() -> None:
    """Keep the texts of logs, warnings and exceptions away from standard error."""
    logging.captureWarnings(capture=True)
    logging.basicConfig(handlers=[_DiscreetHandler(logging.WARNING)], force=True)
    sys.excepthook = lambda kind, _error, _trace: say(f"internal error ({kind.__name__})")
    threading.excepthook = lambda told: say(f"internal error in a thread ({told.exc_type.__name__})")
    sys.unraisablehook = lambda told: say(f"internal error in a clean-up ({told.exc_type.__name__})")


def say(sentence: str) -> None:
    """Tell whoever reads standard error."""
    try:
        os.write(2, f"surehand: {sentence}\n".encode("ascii", "replace"))
    except OSError:
        return  # nobody listens


def _leave(code: int) -> NoReturn:
    """End the process now: left-over threads must not hold it."""
    os._exit(code)
