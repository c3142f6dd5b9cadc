"""``surehand audit``: the whole decision table, every case of it.

Laws of this module:

- It judges nothing and reads nothing of this installation: the answer is the same everywhere.
"""

import click

from surehand.shell.cli.app import NOT_IN_ORDER, json_option
from surehand.shell.output import make_console, print_json

EPILOG = """\b
Examples:
  surehand audit
  surehand audit --json

\b
Exit codes:
  0  no invariant is violated
  1  one of them is
  2  bad usage
"""


@click.command(epilog=EPILOG)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Judge every evidence there is, and check what must always hold.

    Prints the size of the domain, the decision table, and each invariant with the number of cases checked and
    violations found.
    """
    from surehand.shell.audit import audit_data, audit_text, run_audit  # noqa: PLC0415 - loads the domain

    report = run_audit(make_console(stderr=True))
    if as_json:
        print_json(audit_data(report))
    else:
        click.echo(audit_text(report))
    ctx.exit(NOT_IN_ORDER if report.violations else 0)
