"""The commands by name, the options that several share, and the one table of exit codes.

Laws of this module:

- A command is loaded when it is used: the table names its module.
- The exit code of a command that answers about a run is that of the outcome; its help shows the table.
- No value that was typed, read or configured is printed in a message; which file a person named is.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import click

from surehand.core.outcome.reasons import Outcome
from surehand.shell.cli.help import WorkflowOption, write_commands
from surehand.shell.config import PROFILE_NAMES, ConfigError, SandboxEngine

if TYPE_CHECKING:
    from surehand.shell.mcp.guard import Wire

#: Something of this installation is not in order: a failed check, a store that cannot be read, a run that is not known.
NOT_IN_ORDER: Final = 1

#: The exit code of each outcome. 0 is success, 2 is a call that the command line could not understand.
EXIT_CODES: Final[dict[Outcome, int]] = {
    Outcome.DONE: 0,
    Outcome.NEEDS_REVIEW: 3,
    Outcome.NOT_SURE_IF_SAVED: 4,
    Outcome.DID_NOT_RUN: 5,
    Outcome.RUNNING: 6,
}

#: The same table for the help texts.
EXIT_TABLE: Final = (
    "\b\nExit codes:\n  0  done\n  1  this installation is not in order, or the run is not known\n  2  bad usage\n"
    "  3  needs_review\n  4  not_sure_if_saved\n  5  did_not_run\n  6  running"
)

#: The module of each command, in the sections of the help.
SECTIONS: Final = {
    "Begin here": {
        "demo": "surehand.shell.cli.demo",
        "doctor": "surehand.shell.cli.doctor",
        "install": "surehand.shell.cli.install",
        "audit": "surehand.shell.cli.audit",
    },
    "Make a workflow": {
        "record": "surehand.shell.cli.record",
        "sign-in": "surehand.shell.cli.sign_in",
        "compile": "surehand.shell.cli.compile",
        "bundle": "surehand.shell.cli.bundle",
        "emit-skill": "surehand.shell.cli.skill",
    },
    "Let it run": {
        "certify": "surehand.shell.cli.certify",
        "admit": "surehand.shell.cli.admit",
    },
    "Run": {
        "serve": "surehand.shell.cli.serve",
        "run": "surehand.shell.cli.run",
        "runs": "surehand.shell.cli.runs",
        "plan": "surehand.shell.cli.plan",
    },
    "Decide about stopped runs": {
        "attend": "surehand.shell.cli.attend",
        "console": "surehand.shell.cli.console",
    },
}

#: The module of each command.
COMMANDS: Final = {name: module for section in SECTIONS.values() for name, module in section.items()}

#: What is said of a text that is no request id.
REQUEST_ID_RULE: Final = "1 to 200 letters, digits and . _ : -, the first a letter or a digit"

#: A file that stands in every bundle.
IN_EVERY_BUNDLE: Final = "manifest.json"

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., object])


class LazyGroup(click.Group):
    """Commands by name, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the order is that of the table
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command of exactly this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in their sections."""
        for title, commands in SECTIONS.items():
            write_commands(self, ctx, formatter, title, commands)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="surehand", prog_name="surehand")
def surehand() -> None:
    """Enter what an agent decided into an app, read the record back, and say what really happened.

    \b
    Examples:
      surehand demo               five runs in the training app, each with its honest outcome
      surehand install claude     give an agent's client the training app
      surehand COMMAND --help     what a command does, its options and examples
    """  # noqa: D301 - click's mark for text that is not re-wrapped


def run_command_line(wire: "Wire | None") -> NoReturn:
    """Run the command of this process's arguments.

    Args:
        wire: The protocol's streams when they were taken into custody.
    """
    try:
        surehand.main(prog_name="surehand", obj=wire)
    except ConfigError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    except Exception as error:  # noqa: BLE001 - the process ends here; a traceback could repeat what was typed
        click.echo(f"Error: Surehand failed inside ({type(error).__name__}).", err=True)
        raise SystemExit(NOT_IN_ORDER) from None
    raise SystemExit(0)


def runs_dir_option(function: CommandFunction) -> CommandFunction:
    """``--runs-dir``; a folder that is not there yet is made where something is kept."""
    return click.option(
        "--runs-dir",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="Where the state lies, in the folder surehand.  [default: SUREHAND_RUNS_DIR, or the user's state folder]",
    )(function)


def engine_option(name: str) -> Callable[[CommandFunction], CommandFunction]:
    """The choice of what executes the sandbox workflow, under the given option name."""
    return click.option(
        name,
        "sandbox_engine",
        cls=WorkflowOption,
        type=click.Choice([engine.value for engine in SandboxEngine]),
        help="What executes the sandbox workflow.  [default: SUREHAND_SANDBOX_ENGINE, or auto]",
    )


def json_option(function: CommandFunction) -> CommandFunction:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def key_file_option(function: CommandFunction) -> CommandFunction:
    """``--key-file``."""
    return click.option(
        "--key-file",
        cls=WorkflowOption,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="What encrypted bundles are opened with, in a file of mode 600.  [default: SUREHAND_BUNDLE_KEY]",
    )(function)


def policy_option(function: CommandFunction) -> CommandFunction:
    """``--policy``."""
    return click.option(
        "--policy",
        cls=WorkflowOption,
        metavar="NAME|FILE",
        help="The policy, or its TOML file.  [default: bundles.policy of the settings file, or permissive]",
    )(function)


def url_option(function: CommandFunction) -> CommandFunction:
    """``--url``."""
    return click.option(
        "--url",
        cls=WorkflowOption,
        multiple=True,
        metavar="[NAMED=]ORIGIN",
        help="Where the app is, for bundles that name none, or in the place of the origin NAMED.",
    )(function)


def _no_bundle_itself(ctx: click.Context, parameter: click.Parameter, folder: str | None) -> str | None:
    """A folder of bundles, and not one of them: nothing would be found in that."""
    if folder is not None and (Path(folder) / IN_EVERY_BUNDLE).exists():
        raise click.BadParameter("this is a bundle itself; name the folder in which it lies", ctx, parameter)
    return folder


def bundle_options(function: CommandFunction) -> CommandFunction:
    """Which workflows of the user's own are served, and how strictly: what ``BundleArguments`` takes."""
    function = policy_option(key_file_option(url_option(function)))
    function = click.option(
        "--profile",
        cls=WorkflowOption,
        type=click.Choice(PROFILE_NAMES),
        help="How serious the runs are.  [default: standard]",
    )(function)
    return bundles_option(function)


def bundles_option(function: CommandFunction) -> CommandFunction:
    """``--bundles``."""
    return click.option(
        "--bundles",
        cls=WorkflowOption,
        callback=_no_bundle_itself,
        type=click.Path(exists=True, file_okay=False),
        metavar="FOLDER",
        help="A folder of bundles, each in a folder of its own.  [default: bundles.folder of the settings file]",
    )(function)
