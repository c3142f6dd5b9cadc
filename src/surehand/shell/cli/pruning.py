"""What ``runs prune`` and ``plan prune`` have in common: their options, and how they tell what was dropped.

Laws of this module:

- A dry run counts by the same rules and drops nothing.
- Where nothing was kept, nothing is made.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click
from attrs import asdict, frozen

from surehand.shell.cli.app import NOT_IN_ORDER, json_option, runs_dir_option

if TYPE_CHECKING:
    from attrs import AttrsInstance

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., object])


class Asked(TypedDict):
    """What the options say."""

    days: int
    dry_run: bool
    runs_dir: str | None
    as_json: bool


@frozen(kw_only=True)
class Prunable:
    """Something that is kept and can be pruned.

    Args:
        name: What it is called.
        place: Where it lies in the state folder.
        words: What each count of what was dropped is called.
        drop: Drops what is older than a time in the state folder, or counts it only.
    """

    name: str
    place: str
    words: dict[str, str]
    drop: "Callable[[Path, int, bool], AttrsInstance]"


def prune_options(function: CommandFunction) -> CommandFunction:
    """``--older-than``, ``--dry-run``, ``--runs-dir`` and ``--json``."""
    function = click.option("--dry-run", is_flag=True, help="Count only; drop nothing.")(
        runs_dir_option(json_option(function))
    )
    return click.option(
        "--older-than", "days", type=click.IntRange(1, 36500), required=True, metavar="DAYS", help="Their age."
    )(function)


def prune_and_tell(ctx: click.Context, asked: Asked, prunable: Prunable) -> None:
    """Drop what is as old as was asked, and print how much that was."""
    from surehand.core.admission.record import DAY_SECONDS  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.clock import SYSTEM_CLOCK  # noqa: PLC0415 - as above
    from surehand.shell.config import settings  # noqa: PLC0415 - as above
    from surehand.shell.output import print_json  # noqa: PLC0415 - as above
    from surehand.shell.store.base import StoreError  # noqa: PLC0415 - as above

    folder, dry_run = settings(asked["runs_dir"]).state_folder, asked["dry_run"]
    if not (folder / prunable.place).exists():
        click.echo(f"There is no {prunable.name} here.", err=True)
        ctx.exit(NOT_IN_ORDER)
    try:
        pruned = asdict(prunable.drop(folder, SYSTEM_CLOCK.now() - asked["days"] * DAY_SECONDS, dry_run))
    except StoreError as error:
        click.echo(f"Error: the {prunable.name} cannot be pruned ({error.check.value}). Run surehand doctor.", err=True)
        ctx.exit(NOT_IN_ORDER)
    if asked["as_json"]:
        print_json({**pruned, "dry_run": dry_run})
        return
    click.echo(" ".join(f"{word}: {pruned[name]}." for name, word in prunable.words.items()))
    click.echo("Nothing was dropped." if dry_run else "That is dropped.")
