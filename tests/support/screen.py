"""A screen without a monitor, and a person who works at it with the keyboard.

Laws of this module:

- What the person does goes through the X server, as keys do; no browser is driven.
"""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from attrs import frozen

from support.browser import eventually


@frozen
class Screen:
    """A screen, by the name that the X server gave it."""

    display: str

    def focus(self, title: str) -> None:
        """Turn to the window of a page with this title."""
        assert eventually(lambda: self._works("search", "--name", title))
        self._do("search", "--name", title, "windowfocus", "--sync")

    def follow_link_behind(self, text: str, pace: float) -> None:
        """Look for a text in the page, and follow the link that comes next; with so many seconds after each of it.

        The seconds lie between the keys: one that is held down for long is repeated by the screen. What was found is
        looked at before it is left, since a part of the text is found at another place.
        """
        wait = ("sleep", str(pace))
        self._do("key", "ctrl+f", *wait)
        self._do("type", "--delay", "50", text)
        self._do(*wait, "key", "Escape", *wait, "key", "Tab", *wait, "key", "Return")

    def shows(self, title: str, seconds: float) -> bool:
        """Whether a window of a page with this title comes to be there."""
        return eventually(lambda: self._works("search", "--name", title), seconds)

    def _do(self, *arguments: str) -> None:
        assert self._works(*arguments), arguments

    def _works(self, *arguments: str) -> bool:
        told = {**os.environ, "DISPLAY": self.display}
        done = subprocess.run([_program("xdotool"), *arguments], env=told, capture_output=True, check=False, timeout=60)
        return done.returncode == 0


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"{name} is not installed"
    return found


@contextmanager
def screen() -> Generator[Screen]:
    """A screen for a block."""
    reading, writing = os.pipe()
    size = ("-screen", "0", "1280x900x24", "-nolisten", "tcp")
    server = subprocess.Popen(
        [_program("Xvfb"), "-displayfd", str(writing), *size], pass_fds=(writing,), stderr=subprocess.DEVNULL
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as said:
            yield Screen(f":{said.readline().strip()}")
    finally:
        server.terminate()
        server.wait(30)
