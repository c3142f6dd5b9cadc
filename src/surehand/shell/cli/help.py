"""How the help of the command line is laid out: commands in groups, and what many commands share after their own.

Laws of this module:

- No summary is cut: one that does not fit on its line goes on below.
- Every option is shown once: those of the command itself first, then those about which workflows run.
"""

from collections.abc import Iterable
from typing import Final

import click

#: Over the options of ``WorkflowOption``.
ABOUT_WORKFLOWS: Final = "Which workflows run"

#: Longer than any summary.
_WHOLE: Final = 1_000


class WorkflowOption(click.Option):
    """An option that says which workflows run, and how strictly; several commands take it."""


class Command(click.Command):
    """A command that shows its own options before those about workflows."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in their two sections."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        shared = [each for each in options if isinstance(each, WorkflowOption)]
        _write_options(ctx, formatter, "Options", (each for each in options if each not in shared))
        _write_options(ctx, formatter, ABOUT_WORKFLOWS, shared)


class Group(click.Group):
    """A group that lists its commands in the order in which they are written, each with its whole summary."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the order is that of the module
        """The names in their order."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All commands in one section."""
        write_commands(self, ctx, formatter, "Commands", self.list_commands(ctx))


def write_commands(
    group: click.Group, ctx: click.Context, formatter: click.HelpFormatter, title: str, names: Iterable[str]
) -> None:
    """Write one section of commands."""
    commands = ((name, group.get_command(ctx, name)) for name in names)
    with formatter.section(title):
        formatter.write_dl([(name, each.get_short_help_str(_WHOLE)) for name, each in commands if each is not None])


def _write_options(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, options: Iterable[click.Option]
) -> None:
    records = [record for each in options if (record := each.get_help_record(ctx)) is not None]
    if records:
        with formatter.section(title):
            formatter.write_dl(records)
