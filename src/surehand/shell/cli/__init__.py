"""The command line.

``serve`` takes the protocol's streams into custody before anything else is loaded.
Every command is loaded when it is used.
"""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process."""
    wire = None
    if sys.argv[1:2] == ["serve"] and "--help" not in sys.argv:
        from surehand.shell.mcp.guard import guard  # noqa: PLC0415 - before anything that could print is loaded

        wire = guard()
    from surehand.shell.cli.app import run_command_line  # noqa: PLC0415 - after the guard

    run_command_line(wire)
