"""Finding Chromium, Chrome or Edge, and the way it is launched.

Laws of this module:

- A browser that was named explicitly is used or missing; there is no silent second choice.
- Without the proxy of a run the browser reaches nothing: its own proxy is an address where nothing listens.
- Nothing here needs Playwright, so that a machine without it can be told what it lacks.
"""

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import field, frozen

#: The variable that names the browser to use.
CHROMIUM_VARIABLE: Final = "SUREHAND_CHROMIUM"

#: Commands that start a fitting browser, in the order of preference.
COMMANDS: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge-stable",
    "microsoft-edge",
)

#: Places where browsers are installed without a command.
PLACES: Final = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
    "C:/Program Files/Microsoft/Edge/Application/msedge.exe",
)

#: Where Playwright keeps the browsers that it installs, below the home folder.
_PLAYWRIGHT_FOLDERS: Final = {
    "linux": ".cache/ms-playwright",
    "darwin": "Library/Caches/ms-playwright",
    "win32": "AppData/Local/ms-playwright",
}

#: The programs below it, the full browser before the headless shell.
_PLAYWRIGHT_PROGRAMS: Final = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium-*/chrome-win*/chrome.exe",
    "chromium_headless_shell-*/*/headless_shell",
    "chromium_headless_shell-*/*/chrome-headless-shell*",
)


def find_chromium(environment: Mapping[str, str] | None = None) -> Path | None:
    """The browser to use: the one named by ``SUREHAND_CHROMIUM``, else an installed one, else Playwright's own.

    Args:
        environment: The variables to look at; those of this process when left out.

    Returns:
        The program, or ``None`` when there is none (also when the named one is no program).
    """
    variables = os.environ if environment is None else environment
    named = variables.get(CHROMIUM_VARIABLE)
    candidates = iter([named]) if named else _installed(variables)
    found = (shutil.which(candidate, path=variables.get("PATH")) for candidate in candidates)
    return next((Path(path) for path in found if path), None)


def _installed(variables: Mapping[str, str]) -> Iterator[str]:
    yield from COMMANDS
    yield from PLACES
    folder = variables.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / _PLAYWRIGHT_FOLDERS.get(sys.platform, ".none")
    for program in _PLAYWRIGHT_PROGRAMS:
        # The folder's name ends in the revision: the newest first.
        yield from (str(path) for path in sorted(Path(folder).glob(program), key=_revision, reverse=True))


def _revision(program: Path) -> int:
    folder = next((part for part in program.parts if part.startswith("chromium")), "")
    digits = folder.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


@frozen
class DeadEnd:
    """A loopback address that is held and where nothing listens, so that every connection to it is refused."""

    _socket: socket.socket = field(factory=lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM), repr=False)

    def __attrs_post_init__(self) -> None:
        """Take the address; nobody else can while this object lives."""
        self._socket.bind(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        """The address as that of a proxy."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Give the address back."""
        self._socket.close()


#: Every request and every script is told this language, whatever the machine's is. Said for a context alone, it does
#: not reach what the browser sends by itself when a page is left, and an app may take that for somebody else.
LANGUAGE: Final = ("--lang=en-US", "--accept-lang=en-US,en")


def arguments(spki: str) -> list[str]:
    """The command line beyond Playwright's own.

    Args:
        spki: The hash of the fence's leaf key (base64 of SHA-256). Only a certificate with this key is taken without a
            chain.
    """
    return [
        *LANGUAGE,
        f"--ignore-certificate-errors-spki-list={spki}",
        # UDP does not go through the fence: WebRTC would send past it, QUIC is of no use behind it.
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        # The browser's own traffic is not the run's: it would be refused and counted.
        "--disable-background-networking",
        "--disable-domain-reliability",
        "--no-pings",
    ]


def may_sandbox() -> bool:
    """Whether Chromium can start its sandbox: it refuses to for root, and for everybody else it stays on."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0
