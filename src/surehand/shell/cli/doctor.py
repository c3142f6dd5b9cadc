"""``surehand doctor``: is everything in order here?

Laws of this module:

- The exit code says whether anything failed; a warning is no failure.
"""

import click

from surehand.shell.cli.app import NOT_IN_ORDER, engine_option, json_option, runs_dir_option
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import settings
from surehand.shell.doctor import State, examine, is_in_order
from surehand.shell.output import make_console, print_json

EPILOG = """\b
Examples:
  surehand doctor
  surehand doctor --sandbox-engine browser --json

\b
Exit codes:
  0  nothing failed
  1  something failed
  2  bad usage
"""

STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "red"}


@click.command(epilog=EPILOG)
@engine_option("--sandbox-engine")
@runs_dir_option
@json_option
@click.pass_context
def command(ctx: click.Context, sandbox_engine: str | None, runs_dir: str | None, as_json: bool) -> None:
    """Check this installation: folder, disk, clock, SQLite, the run store, the browser.

    With --sandbox-engine browser a browser that does not start is a failure; otherwise it is a warning.
    """
    findings = examine(settings(runs_dir, sandbox_engine), SYSTEM_CLOCK)
    if as_json:
        rows = [{"check": each.check, "state": each.state.value, "says": each.says} for each in findings]
        print_json({"in_order": is_in_order(findings), "findings": rows})
    else:
        console = make_console()
        for each in findings:
            console.print(f"[{STYLES[each.state]}]{each.state.value:8}[/] {each.check:12} {each.says}")
    ctx.exit(0 if is_in_order(findings) else NOT_IN_ORDER)
