"""Tells the person at this computer that runs wait: by a notification of the desktop, or by a command of the operator.

Laws of this module:

- What is told is a count and one fixed sentence: no run, no workflow, no reason, nothing that was entered.
- The command is the operator's, word for word. Nothing of a run becomes an argument of it or a part of its environment,
  and it inherits no setting and no secret of Surehand.
- It tells once of each run that stops. A failing notification stops nothing and is not repeated.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final

from surehand.core.attention.pause import ItemStatus
from surehand.shell.config import ConfigError

#: What stands for the notifications of the desktop where a command could stand.
DESKTOP: Final = "desktop"

TITLE: Final = "Surehand"
SENTENCE: Final = "Runs wait for a person's decision: surehand attend list"

#: Runs that are counted, at most.
MOST_TOLD: Final = 100

#: Seconds between two looks at what waits, and seconds that a notification may take.
LOOK_SECONDS: Final = 2.0
SHOW_SECONDS: Final = 20.0

_POWERSHELL: Final = (
    "[Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime] "
    "> $null; $shown = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent(1); "
    "$texts = $shown.GetElementsByTagName('text'); "
    "$texts[0].AppendChild($shown.CreateTextNode('{title}')) > $null; "
    "$texts[1].AppendChild($shown.CreateTextNode('{text}')) > $null; "
    "[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('{title}')"
    ".Show([Windows.UI.Notifications.ToastNotification]::new($shown))"
)

#: Shows how many runs wait.
Show = Callable[[int], None]


class Notifier:
    """Looks at what waits, and tells of what is new.

    Args:
        waiting: The opaque names of everything that waits.
        show: How it is told.
    """

    def __init__(self, waiting: Callable[[], Collection[str]], show: Show) -> None:
        self._waiting = waiting
        self._show = show
        self._told: frozenset[str] = frozenset()
        self._ended = Event()

    def look(self) -> None:
        """Tell once of everything that was not there at the last look."""
        found = frozenset(self._waiting())
        if found - self._told:
            self._show(len(found))
        self._told = found

    def start(self) -> None:
        """Look from now on, in a thread that ends with the process or with ``stop``."""
        Thread(target=self._run, name="surehand-notify", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            with suppress(Exception):  # the next look is the next try; nothing else depends on it
                self.look()


def waiting_in(folder: Path) -> Callable[[], Collection[str]]:
    """What waits in a state folder, which is opened at the first look."""
    from surehand.shell.attended.desk import AttendedDesk  # noqa: PLC0415 - at the first look

    opened: list[AttendedDesk] = []

    def waiting() -> Collection[str]:
        if not opened:
            opened.append(AttendedDesk.open(folder))
        items = opened[0].items(MOST_TOLD).items
        return [item.id for item in items if item.status is ItemStatus.OPEN]

    return waiting


def shower(said: str) -> Show:
    """How the operator wants it told: ``desktop``, or a command with its arguments.

    Raises:
        ConfigError: There is no such command, or no notifications on this desktop.
    """
    return _desktop() if said == DESKTOP else _command(said)


def _command(said: str) -> Show:
    try:
        words = shlex.split(said)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        raise ConfigError("--notify names no command that can be found; give `desktop` or a command")
    return lambda count: _run(words, f"{count}\n{SENTENCE}\n")


def _desktop() -> Show:
    for tool, words in _DESKTOPS.items():
        if shutil.which(tool) is not None:
            return lambda count: _run(words(_text(count)))
    raise ConfigError("no notifications were found on this desktop; give --notify a command")


def _text(count: int) -> str:
    return f"{count}. {SENTENCE}".replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


_DESKTOPS: Final[dict[str, Callable[[str], Sequence[str]]]] = {
    "notify-send": lambda text: ("notify-send", "--app-name", TITLE, TITLE, text),
    "osascript": lambda text: ("osascript", "-e", f'display notification "{text}" with title "{TITLE}"'),
    "powershell.exe": lambda text: (
        "powershell.exe",
        "-NoProfile",
        "-Command",
        _POWERSHELL.format(title=TITLE, text=text),
    ),
}


def _run(words: Sequence[str], told: str = "") -> None:
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - the operator's own command, or a fixed one
            words,
            input=told.encode(),
            env={name: value for name, value in os.environ.items() if not name.startswith("SUREHAND_")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SHOW_SECONDS,
            check=False,
        )
