"""The recording tools over stdio, in a window that needs no screen: started by its path, with a folder and an app."""

from surehand.shell.mcp.guard import guard

WIRE = guard()

import sys  # noqa: E402 - the streams are claimed before anything else is loaded
from pathlib import Path  # noqa: E402 - as above

from surehand.core.modes import ROWS, Flags, Row, Start, choose  # noqa: E402 - as above
from surehand.shell.mcp.desk import ServicePort  # noqa: E402 - as above
from surehand.shell.mcp.server import main  # noqa: E402 - as above
from surehand.shell.mcp.tools import Tool  # noqa: E402 - as above


def tools() -> tuple[Tool, ...]:
    """The recording tools."""
    from surehand.shell.authoring.desk import AuthoringDesk, Studio  # noqa: PLC0415 - after the first answer
    from surehand.shell.authoring.tools import authoring_tools  # noqa: PLC0415 - as above

    folder, pinned = sys.argv[1:]
    return authoring_tools(AuthoringDesk(Studio(state_folder=Path(folder), pinned=pinned, headed=False)))


def no_service() -> ServicePort:
    """Nothing asks for it."""
    raise NotImplementedError


if __name__ == "__main__":
    row = choose(Flags(authoring=True))
    main(no_service, row=row if isinstance(row, Row) else ROWS[Start.AUTHORING], more_tools=tools, wire=WIRE)
