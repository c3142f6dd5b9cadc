"""``surehand console``: the operator's page at this computer.

Laws of this module:

- Without both flags it only shows; a decision needs ``--attend`` and ``--allow-actions``.
- The address that lets one browser in is written to a terminal, and there is no option that sends it anywhere. Where
  no terminal is, nothing is served.
"""

import sys
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

import click

from surehand.core.outcome.result import Mode
from surehand.shell.cli.app import runs_dir_option
from surehand.shell.cli.attend import leave, opened_desk
from surehand.shell.config import Settings, settings
from surehand.shell.executors import EngineUnavailableError

if TYPE_CHECKING:
    from surehand.shell.engines.browser.executor import WorkerExecutor

EPILOG: Final = """\b
Examples:
  surehand console                           look at the runs that stopped
  surehand console --attend --allow-actions  look into them, and decide

The page answers this computer alone. Decisions are carried out by the server in whose window the run stopped, or,
when that is gone, by this command in a window of its own.
"""


@click.command(epilog=EPILOG)
@click.option("--attend", is_flag=True, help="Show what was to be entered and where, and open apps again in windows.")
@click.option("--allow-actions", is_flag=True, help="With --attend: take decisions.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port on this computer.  [default: a free one]"
)
@runs_dir_option
@click.pass_context
def command(ctx: click.Context, attend: bool, allow_actions: bool, port: int, runs_dir: str | None) -> None:
    """Show stopped runs on a page of this computer, and decide there."""
    from surehand.shell.console.server import serve_console  # noqa: PLC0415 - few commands serve a page

    if allow_actions and not attend:
        raise click.UsageError("--allow-actions decides about what --attend shows; give both")
    if not sys.stdout.isatty():
        leave(ctx, "Error: the address is for the person at this computer. Run this command at a terminal.")
    chosen = settings(runs_dir)
    with ExitStack() as held:
        desk = held.enter_context(opened_desk(ctx, runs_dir))
        if attend and allow_actions:
            held.callback(_worker(chosen).close)
        try:
            serve_console(desk, port=port, attends=attend, decides=attend and allow_actions, announce=_announce)
        except OSError:
            leave(ctx, "Error: that port is taken. Leave --port out for a free one.")


def _worker(chosen: Settings) -> "WorkerExecutor":
    """Who opens apps again and reads records again while no server does; it starts a browser when it is needed."""
    from surehand.shell.engines.browser.executor import WorkerExecutor  # noqa: PLC0415 - for those who decide

    databases = None if chosen.bundles is None else chosen.bundles.databases
    worker = WorkerExecutor(chosen.state_folder, Mode.ATTENDED, headed=True, databases=databases, attended=True)
    threading.Thread(target=_warm, args=(worker,), name="surehand-warm", daemon=True).start()
    return worker


def _warm(worker: "WorkerExecutor") -> None:
    """Start it; where it does not start, windows of servers and reading go on without it."""
    with suppress(EngineUnavailableError):
        worker.warm_up()


def _announce(address: str) -> None:
    click.echo(f"Open this address in a browser on this computer; it is good for one:\n  {address}")
