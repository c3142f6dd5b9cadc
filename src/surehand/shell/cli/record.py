"""``surehand record``: shows a workflow once.

Laws of this module:

- Everything that can refuse is asked before anybody shows anything.
- Nothing that was typed, seen or visited is printed.
- A demonstration that was broken off, or in which nothing was done, leaves nothing behind.
- The end of a terminal is no Enter: only a person ends a demonstration.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from attrs import asdict

from surehand.shell.cli.app import NOT_IN_ORDER, json_option, runs_dir_option
from surehand.shell.config import settings
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError
from surehand.shell.output import print_json

if TYPE_CHECKING:
    from surehand.core.workflow.recording import Recording
    from surehand.shell.authoring.recorder import Recorder

EPILOG: Final = """\b
Examples:
  surehand record https://app.example/ --out recordings/add-order
  surehand record https://app.example/orders --out recordings/add-order-2 --session

\b
Exit codes:
  0  recorded
  1  nothing was recorded
  2  bad usage
"""

#: What a person is told when the window is open.
GUIDE: Final = """The window is open. Show the task once, as you always do it:

  1. Sign in if the app asks for it. What you type as a password is not kept.
  2. Do the task, with invented values. Leave the filled form alone for half a
     minute, so that drafts and the like are seen, and save once.
  3. Then look the saved record up: open the list it stands in, and its page.
     That is how runs will check what was saved.
"""

END_HERE: Final = "Press Enter here, or close the window, when you are done. Ctrl+C breaks off and keeps nothing."
END_THERE: Final = "Close the window when you are done."

#: What is said when something keeps a recording from being made.
TAKEN: Final = "there is a recording in this folder already; name another one"
UNUSABLE: Final = "the folder cannot be used"
NO_SCREEN: Final = "there is no screen here: record at a computer with a desktop, or set DISPLAY"
NO_BROWSER: Final = "no Chromium, Chrome or Edge starts here; surehand doctor --sandbox-engine browser says more"
UNREACHABLE: Final = "the address does not open: see that the app runs, and whether it is http:// or https://"
GAP: Final = "something that you did could not be recorded; nothing was kept. Please show it once more"
BROKEN_OFF: Final = "broken off; nothing was kept"
NOTHING_DONE: Final = "nothing was done in the window, so nothing was kept; record again, and show the task once"
NO_KEY: Final = "the key of recordings in the state folder is damaged"
NO_PLAYWRIGHT: Final = "recording needs Playwright: pip install 'surehand[browser]'"

#: What is said of a recording that is kept and does not hold all that a workflow needs.
NO_SAVE: Final = "No save was seen. Record the task again, with its save, and go on until the app has saved."
NOT_SEEN_AGAIN: Final = (
    "The saved record was not seen after the save: only a database could prove a run. Record again and open the list "
    "that the record stands in, and its page."
)

#: Ends when the person is done.
End = Callable[["Recorder"], Awaitable[None]]


@click.command(epilog=EPILOG)
@click.argument("url")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder of the recording."
)
@click.option("--session", "with_session", is_flag=True, help="Begin with the kept session of the app, signed in.")
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ctx: click.Context, url: str, out: Path, with_session: bool, runs_dir: str | None, as_json: bool
) -> None:
    """Show a task once in a window, and keep that as a recording.

    Opens the app at URL and watches how you do the task. The recording in DIR is encrypted, with the passphrase in
    SUREHAND_RECORDING_KEY, or in the private file that SUREHAND_RECORDING_KEY_FILE names, or else with a key that lies
    in the state folder.
    """
    try:
        recording = make_recording_in(
            out, url, until_done, state_folder=settings(runs_dir).state_folder, with_session=with_session
        )
    except StoppedError as stopped:
        click.echo(f"Error: {stopped}.", err=True)
        ctx.exit(NOT_IN_ORDER)
    counts, lacking = counts_of(recording), lacking_in(recording)
    if as_json:
        print_json({**counts, "lacking": lacking, "recording": str(out)})
        return
    click.echo("".join(f"{name.replace('_', ' '):22}{count}\n" for name, count in counts.items()), nl=False)
    for sentence in lacking:
        click.echo(sentence)
    if NO_SAVE not in lacking:
        click.echo(f"Next: surehand compile {out} --out workflows/{out.name}")


class StoppedError(Exception):
    """No recording was made; the message says why, and repeats nothing."""


def make_recording_in(  # noqa: PLR0913 - one parameter for each option, and two for tests
    out: Path, url: str, end: End, *, state_folder: Path, with_session: bool, headed: bool = True
) -> "Recording":
    """Record one demonstration into a folder, and keep the app's session.

    Args:
        out: The folder of the recording.
        url: Where the app is.
        end: Comes back when the demonstration is over.
        state_folder: Where sessions and this machine's key lie.
        with_session: Whether to begin with the kept session.
        headed: Whether there is a window.

    Raises:
        StoppedError: No recording was made.
        ConfigError: The key of recordings is not understood.
    """
    with stopped_by_name(screen=headed):
        from surehand.shell.authoring.protected import (  # noqa: PLC0415 - after what is lacking was told
            find_recording_key,
            refuse_taken,
            write_recording,
        )

        refuse_taken(out)
        key = find_recording_key(state_folder)
        recording = asyncio.run(_demonstrate(url, end, state_folder, with_session=with_session, headed=headed))
        write_recording(out, recording, key)
        return recording


async def _demonstrate(url: str, end: End, state_folder: Path, *, with_session: bool, headed: bool) -> "Recording":
    from surehand.shell.authoring.network import origin_of  # noqa: PLC0415 - Playwright is optional
    from surehand.shell.authoring.recorder import Recorder  # noqa: PLC0415 - as above
    from surehand.shell.sessions import SessionStore  # noqa: PLC0415 - as above

    sessions = SessionStore(state_folder)
    begun = sessions.load(origin_of(url)) if with_session else None
    async with Recorder.open(url, headed=headed, session=begun) as recorder:
        await end(recorder)
        recording = await recorder.stop()
        if counts_of(recording)["steps"] == 0:
            raise StoppedError(NOTHING_DONE)
        sessions.save(origin_of(url), await recorder.session_state())
    return recording


@contextmanager
def stopped_by_name(*, screen: bool) -> Generator[None]:
    """Work with a browser; what keeps it from being done is told in a sentence.

    Args:
        screen: Whether a screen is needed.

    Raises:
        StoppedError: Something was lacking, or went wrong.
    """
    if find_spec("playwright") is None:
        raise StoppedError(NO_PLAYWRIGHT)
    if screen and sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise StoppedError(NO_SCREEN)
    from surehand.shell.authoring.protected import RecordingProblem, RecordingRefusedError  # noqa: PLC0415 - as above
    from surehand.shell.authoring.recorder import (  # noqa: PLC0415 - as above
        AppUnreachableError,
        BrowserMissingError,
        RecordingFailedError,
    )

    sentences: dict[type[BaseException], str] = {
        BrowserMissingError: NO_BROWSER,
        AppUnreachableError: UNREACHABLE,
        RecordingFailedError: GAP,
        DamagedKeyError: NO_KEY,
        KeyboardInterrupt: BROKEN_OFF,
        UnsafeFileError: UNUSABLE,
        OSError: UNUSABLE,
    }
    try:
        yield
    except RecordingRefusedError as refused:
        raise StoppedError(TAKEN if refused.code is RecordingProblem.TAKEN else UNUSABLE) from None
    except tuple(sentences) as problem:
        raise StoppedError(next(text for kind, text in sentences.items() if isinstance(problem, kind))) from None


async def until_done(recorder: "Recorder") -> None:
    """Tell the person what to do, and wait until it is done."""
    click.echo(GUIDE, err=True)
    await wait_for_end(recorder)


async def wait_for_end(recorder: "Recorder") -> None:
    """Wait for Enter in the terminal, or until the person has closed the window."""
    waiting = {asyncio.create_task(recorder.wait_closed())}
    if sys.stdin.isatty():
        waiting.add(asyncio.create_task(_enter_pressed()))
    click.echo(END_HERE if len(waiting) > 1 else END_THERE, err=True)
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


async def _enter_pressed() -> None:
    """Wait for a line; a terminal that ends gives none, and then the window alone ends the demonstration."""
    loop, pressed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, pressed.set)
    try:
        await pressed.wait()
        line = sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)
    if not line:
        await loop.create_future()


def lacking_in(recording: "Recording") -> list[str]:
    """What a workflow needs and the recording does not hold, in sentences."""
    from surehand.core.workflow.compile import saves_something  # noqa: PLC0415 - not for help

    if not saves_something(recording):
        return [NO_SAVE]
    return [] if counts_of(recording)["read_back_candidates"] else [NOT_SEEN_AGAIN]


def counts_of(recording: "Recording") -> dict[str, int]:
    """What a recording holds, in numbers: steps, writes, and places at which the saved record was seen."""
    from surehand.core.authoring import shown_of  # noqa: PLC0415 - not for help

    return asdict(shown_of(recording))
