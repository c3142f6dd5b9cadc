"""``surehand sign-in``: renews the session of an app.

Laws of this module:

- Nothing of what is done in the window is recorded; only what keeps the browser signed in is kept, encrypted.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from surehand.shell.cli.app import NOT_IN_ORDER, json_option, runs_dir_option
from surehand.shell.cli.record import End, StoppedError, stopped_by_name, wait_for_end
from surehand.shell.config import settings
from surehand.shell.output import print_json

if TYPE_CHECKING:
    from surehand.shell.authoring.recorder import Recorder

EPILOG: Final = """\b
Examples:
  surehand sign-in https://app.example/

\b
Exit codes:
  0  the session is kept
  1  it is not
  2  bad usage
"""

GUIDE: Final = "The window is open. Sign in to the app, as the account under which runs shall work."


@click.command(epilog=EPILOG)
@click.argument("url")
@runs_dir_option
@json_option
@click.pass_context
def command(ctx: click.Context, url: str, runs_dir: str | None, as_json: bool) -> None:
    """Sign in to the app at URL in a window, and keep the session.

    Recordings with --session and runs begin signed in then.
    """
    try:
        origin = sign_in(url, until_signed_in, state_folder=settings(runs_dir).state_folder)
    except StoppedError as stopped:
        click.echo(f"Error: {stopped}.", err=True)
        ctx.exit(NOT_IN_ORDER)
    if as_json:
        print_json({"kept": True, "origin": origin})
        return
    click.echo("The session is kept.")


def sign_in(url: str, end: End, *, state_folder: Path, headed: bool = True) -> str:
    """Keep the session that a person signs in to; the origin that it is for.

    Args:
        url: Where the app is.
        end: Comes back when the person is signed in.
        state_folder: Where sessions lie.
        headed: Whether there is a window.

    Raises:
        StoppedError: No session was kept.
    """
    with stopped_by_name(screen=headed):
        return asyncio.run(_sign_in(url, end, state_folder, headed=headed))


async def _sign_in(url: str, end: End, state_folder: Path, *, headed: bool) -> str:
    from surehand.shell.authoring.network import origin_of  # noqa: PLC0415 - Playwright is optional
    from surehand.shell.authoring.recorder import Recorder  # noqa: PLC0415 - as above
    from surehand.shell.sessions import SessionStore  # noqa: PLC0415 - as above

    async with Recorder.open(url, headed=headed) as recorder:
        await end(recorder)
        SessionStore(state_folder).save(origin_of(url), await recorder.session_state())
    return origin_of(url)


async def until_signed_in(recorder: "Recorder") -> None:
    """Tell the person what to do, and wait until it is done."""
    click.echo(GUIDE, err=True)
    await wait_for_end(recorder)
