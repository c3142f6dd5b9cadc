"""The apps as Python sees them: started on a free port, with the records that they saved, and ended again.

Laws of this module:

- What was saved is read from the app's own store, never through its pages.
- Every process that an app started is ended, by its id, whatever happened meanwhile.
- An app starts from nothing: nothing of an earlier start is in its store.
"""

import argparse
import importlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, unique
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, cast

from attrs import field, frozen

Saved = Mapping[str, object]

_FOLDER: Final = Path(__file__).parent

#: Below those that Linux gives away by itself, and above those that are known by a name.
_PORTS: Final = range(20_000, 32_000)

#: A first start installs the app; the slowest builds native parts for many minutes.
_START_SECONDS: Final = 2_400


@unique
class AppName(Enum):
    """The apps."""

    DJADMIN = "djadmin"
    FLASKADMIN = "flaskadmin"
    DATASETTE = "datasette"
    REDMINE = "redmine"
    DOKUWIKI = "dokuwiki"
    WORDPRESS = "wordpress"
    VENDURE = "vendure"
    LABELSTUDIO = "labelstudio"
    OCTOPRINT = "octoprint"
    DIRECTUS = "directus"


#: Those that pip installs within seconds and that start at once.
QUICK: Final = (AppName.DJADMIN, AppName.FLASKADMIN, AppName.DATASETTE)

_BY_EMAIL: Final = frozenset({AppName.LABELSTUDIO, AppName.DIRECTUS})


@frozen
class Credentials:
    """The account of an app that lives as long as a test."""

    user: str
    password: str = field(repr=False)


class Oracle(Protocol):
    """What ``<name>/oracle.py`` offers."""

    def records(self, state: Path) -> list[Saved]:
        """Every record of the kind that the demonstration saves, oldest first, told apart by ``id``."""
        ...


class StartError(Exception):
    """An app did not start; the message is what its script printed."""


@frozen
class App:
    """A running app: where browsers see it, and the port on which it listens."""

    name: AppName
    origin: str
    port: int
    state: Path
    credentials: Credentials

    def records(self) -> list[Saved]:
        """What the app saved, read from its own store."""
        return records_of(self.name, self.state)

    def keep(self, copy: Path) -> None:
        """Copy the store as it is now; the app is stopped meanwhile."""
        _stop(self.state)
        _copy(self.state, copy)
        _start(self.name, self.port, self.state, self.origin)

    def restore(self, copy: Path) -> None:
        """Start again with a store that was kept."""
        _stop(self.state)
        _copy(copy, self.state)
        _start(self.name, self.port, self.state, self.origin)


def records_of(name: AppName, state: Path) -> list[Saved]:
    """What an app saved under a state folder."""
    return cast(Oracle, importlib.import_module(f"apps.{name.value}.oracle")).records(state)


def cache_folder() -> Path:
    """Where apps are installed, as their scripts see it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SUREHAND_APPS_CACHE") or Path(cache) / "surehand-apps")


def free_port() -> int:
    """A port of loopback that nobody listens on, and that the system gives to nobody who asks it for any port."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


@contextmanager
def running(name: AppName, *, public_origin: str | None = None) -> Generator[App]:
    """Start an app with a store of its own, and end it afterwards.

    Args:
        name: Which app.
        public_origin: Where browsers reach it, if something stands before it.

    Yields:
        The app, ready to be used.

    Raises:
        StartError: The app could not be installed or did not answer in time.
    """
    with TemporaryDirectory(prefix=f"surehand-{name.value}-") as folder:
        state, port = Path(folder), free_port()
        try:
            _start(name, port, state, public_origin)
            origin = public_origin or f"http://127.0.0.1:{port}"
            yield App(name, origin, port, state, _credentials(name))
        finally:
            _stop(state)


def _stop(state: Path) -> None:
    subprocess.run(["/bin/bash", _FOLDER / "stop.sh", state], check=False)


def _copy(source: Path, target: Path) -> None:
    """Let a folder hold exactly what another does, owners included; the folder itself stays."""
    for child in target.iterdir() if target.exists() else ():
        shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
    target.mkdir(exist_ok=True)
    subprocess.run(["/bin/cp", "-a", f"{source}/.", target], check=True)


def _start(name: AppName, port: int, state: Path, public_origin: str | None) -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    if public_origin is not None:
        environment["PUBLIC_URL"] = public_origin
    command = ["/bin/bash", str(_FOLDER / name.value / "start.sh"), str(port), str(state)]
    started = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, timeout=_START_SECONDS
    )
    if started.returncode != 0:
        raise StartError(started.stderr)


def _credentials(name: AppName) -> Credentials:
    user = "admin@example.com" if name in _BY_EMAIL else "admin"
    return Credentials(user, "Passw0rd-demo!")


def main(arguments: Sequence[str] | None = None) -> int:
    """Start an app and say where it is, or print what one saved.

    Args:
        arguments: The command line; that of the process when absent.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.apps", description="Starts one app on loopback.")
    parser.add_argument("name", choices=[name.value for name in AppName])
    parser.add_argument("--records", metavar="STATE", type=Path, help="print what was saved under this state folder")
    given = parser.parse_args(arguments)
    name = AppName(given.name)
    if given.records is not None:
        sys.stdout.write(json.dumps(records_of(name, given.records), indent=1, ensure_ascii=False) + "\n")
        return 0
    with running(name) as app:
        account = app.credentials
        sys.stdout.write(f"{app.origin}/ as {account.user} with {account.password}; its store: {app.state}\n")
        sys.stdout.write("Ctrl+C ends it.\n")
        sys.stdout.flush()
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0
