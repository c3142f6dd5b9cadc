"""``surehand serve``: the MCP server over standard input and output.

Laws of this module:

- Nothing that the client's first answer does without is loaded before it.
- Only the protocol is written to standard output; what a person should know goes to standard error.
"""

from typing import TYPE_CHECKING

import click

from surehand.core.outcome.result import Mode
from surehand.shell.cli.app import engine_option, runs_dir_option
from surehand.shell.config import settings

if TYPE_CHECKING:
    from surehand.shell.mcp.guard import Wire
    from surehand.shell.service import Service

EPILOG = """\b
Examples:
  surehand serve
  surehand serve --sandbox-engine simulated
  claude mcp add surehand -- surehand serve
"""


@click.command(epilog=EPILOG)
@engine_option("--sandbox-engine")
@runs_dir_option
@click.pass_obj
def command(wire: "Wire | None", sandbox_engine: str | None, runs_dir: str | None) -> None:
    """Serve MCP clients over standard input and output.

    Everything can be set by arguments, since clients start servers with a bare environment.
    The server ends when its input ends; a run that has not reached the save is stopped first.
    """
    from surehand.shell.mcp.server import main  # noqa: PLC0415 - after the arguments were understood

    chosen = settings(runs_dir, sandbox_engine)

    def build() -> "Service":
        from surehand.shell.assembly import build_service  # noqa: PLC0415 - after the client's first answer

        service = build_service(chosen)
        service.warm()
        return service

    main(build, mode=Mode.SANDBOX, wire=wire)
