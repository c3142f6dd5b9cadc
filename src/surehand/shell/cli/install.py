"""``surehand install``: put the server into an MCP client's configuration.

Laws of this module:

- What is written is said, with the file and the copy of what stood there before.
"""

import os
from pathlib import Path

import click

from surehand.core.modes import Flags, StartRefusal, choose
from surehand.core.outcome.result import Mode
from surehand.shell.cli.app import NOT_IN_ORDER, bundle_options, engine_option, json_option, runs_dir_option
from surehand.shell.cli.help import Command
from surehand.shell.config import BundleArguments, Settings, settings
from surehand.shell.install import (
    Client,
    ClientFileError,
    Installed,
    client_entry,
    client_file,
    install,
    server_command,
)
from surehand.shell.output import print_json

EPILOG = """\b
Examples:
  surehand install claude                 writes .mcp.json in this folder
  surehand install vscode --print         shows what would be written
  surehand install claude-desktop --sandbox-engine browser
  surehand install claude --bundles workflows --mode production

\b
Files:
  claude          .mcp.json in this folder
  cursor          .cursor/mcp.json in this folder
  vscode          .vscode/mcp.json in this folder
  claude-desktop  the application's own file
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("client", type=click.Choice([client.value for client in Client]))
@click.option("--print", "only_print", is_flag=True, help="Print the configuration and write nothing.")
@click.option(
    "--file", "file", type=click.Path(dir_okay=False), help="Write this file instead of the client's usual one."
)
@click.option(
    "--mode",
    type=click.Choice([Mode.PRODUCTION.value]),
    help="Let the client run the workflows of --bundles.  [default: it may only read]",
)
@bundle_options
@engine_option("--sandbox-engine")
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913 - one parameter for each option
    ctx: click.Context,
    *,
    client: str,
    only_print: bool,
    file: str | None,
    mode: str | None,
    bundles: str | None,
    profile: str | None,
    policy: str | None,
    key_file: Path | None,
    url: tuple[str, ...],
    sandbox_engine: str | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Put the server into the configuration of CLIENT.

    Everything that stands in the file stays there, and a copy of it as it was is kept beside it.
    """
    chosen = Client(client)
    said = BundleArguments(folder=bundles, profile=profile, policy=policy, key_file=key_file, apps=url)
    _refuse_what_does_not_start(mode, settings(runs_dir, sandbox_engine, bundles=said))
    server = server_command((*_arguments(sandbox_engine, runs_dir), *_bundle_arguments(mode, said)))
    if only_print:
        print_json(client_entry(chosen, server))
        return
    path = Path(file) if file else client_file(chosen, Path.cwd(), Path.home())
    try:
        done = install(chosen, path, server)
    except ClientFileError as error:
        click.echo(f"Error: {error}. Nothing was written; --print shows what belongs into it.", err=True)
        ctx.exit(NOT_IN_ORDER)
    _print(done, as_json=as_json)


def _refuse_what_does_not_start(mode: str | None, chosen: Settings) -> None:
    """Refuse what the server would refuse when a client starts it, where nobody sees its words."""
    row = choose(Flags(mode=None if mode is None else Mode(mode), bundles=chosen.bundles is not None))
    if isinstance(row, StartRefusal):
        raise click.UsageError(row.value)


def _print(done: Installed, *, as_json: bool) -> None:
    backup = None if done.backup is None else os.fspath(done.backup)
    if as_json:
        print_json({"file": os.fspath(done.path), "changed": done.changed, "backup": backup})
        return
    click.echo(f"{'Written' if done.changed else 'Already there'}: {os.fspath(done.path)}")
    if backup is not None:
        click.echo(f"As it was: {backup}")
    if done.changed:
        click.echo("Start the client anew, or its server; then it has the tools.")


def _arguments(sandbox_engine: str | None, runs_dir: str | None) -> tuple[str, ...]:
    """The arguments of the server; a client starts it in a folder of its own, so that paths are made absolute."""
    arguments: list[str] = []
    if sandbox_engine is not None:
        arguments += ["--sandbox-engine", sandbox_engine]
    if runs_dir is not None:
        arguments += ["--runs-dir", os.fspath(settings(runs_dir).runs_dir)]
    return tuple(arguments)


def _bundle_arguments(mode: str | None, said: BundleArguments) -> tuple[str, ...]:
    """The arguments about bundles; a policy is a path where a file of that name is here."""
    folder, key_file = (_absolute(path) for path in (said.folder, said.key_file))
    policy = _absolute(said.policy) if said.policy is not None and Path(said.policy).is_file() else said.policy
    given = {"--mode": mode, "--bundles": folder, "--profile": said.profile, "--policy": policy, "--key-file": key_file}
    named = [(name, value) for name, value in given.items() if value is not None]
    return tuple(part for pair in [*named, *(("--url", app) for app in said.apps)] for part in pair)


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(Path(path).absolute())
