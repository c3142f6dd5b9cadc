"""``surehand doctor``: is everything in order here?

Laws of this module:

- The exit code says whether anything failed; a warning is no failure.
"""

from pathlib import Path

import click

from surehand.shell.cli.app import (
    NOT_IN_ORDER,
    bundles_option,
    engine_option,
    json_option,
    key_file_option,
    runs_dir_option,
)
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import BundleArguments, settings
from surehand.shell.doctor import State, examine, is_in_order
from surehand.shell.output import make_console, print_json

EPILOG = """\b
Examples:
  surehand doctor
  surehand doctor --sandbox-engine browser --json
  surehand doctor --bundles workflows

\b
Exit codes:
  0  nothing failed
  1  something failed
  2  bad usage
"""

STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "red"}


@click.command(epilog=EPILOG)
@bundles_option
@key_file_option
@engine_option("--sandbox-engine")
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ctx: click.Context,
    bundles: str | None,
    key_file: Path | None,
    sandbox_engine: str | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Check whether everything is in order here.

    Looks at the folder, the disk, the clock, SQLite, the run store, your bundles and the browser.
    With --sandbox-engine browser a browser that does not start is a failure; otherwise it is a warning.
    """
    said = BundleArguments(folder=bundles, key_file=key_file)
    chosen = settings(runs_dir, sandbox_engine, bundles=said)
    findings = examine(chosen, SYSTEM_CLOCK)
    if as_json:
        rows = [{"check": each.check, "state": each.state.value, "says": each.says} for each in findings]
        print_json({"in_order": is_in_order(findings), "findings": rows})
    else:
        console = make_console()
        for each in findings:
            console.print(f"[{STYLES[each.state]}]{each.state.value:8}[/] {each.check:12} {each.says}")
        click.echo(f"The state folder is {chosen.state_folder}")
    ctx.exit(0 if is_in_order(findings) else NOT_IN_ORDER)
