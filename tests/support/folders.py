"""Folders as other processes see them: through a second mount, without the right to write, or on a full disk."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_TESTS: Final = Path(__file__).parent.parent

_LIMITED: Final = """\
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def can_mount() -> bool:
    """Whether this machine lets us have mounts of our own."""
    try:
        return subprocess.run(["unshare", "-Urm", "true"], check=False, capture_output=True).returncode == 0  # noqa: S607 - found on the path
    except FileNotFoundError:
        return False


def run_python(script: str, *arguments: object, mounts: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, after these shell commands in a mount namespace of its own, if any."""
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    if mounts is not None:
        command = ["unshare", "-Urm", "sh", "-ec", f'{mounts}\nexec "$@"', "sh", *command]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment_of_tests())


def environment_of_tests() -> dict[str, str]:
    """The environment of a process that imports what tests share."""
    return {**os.environ, "PYTHONPATH": str(_TESTS)}


def run_without_writing(script: str, folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run a script on a folder that takes no byte: as a disk that is full, and on a read-only mount where there is one.

    The script finds the folder as its first argument.
    """
    full = run_python(_LIMITED + script, folder)
    if not can_mount():
        return [full]
    mounts = f"mount --bind '{folder}' '{folder}'\nmount -o remount,ro,bind '{folder}'"
    return [full, run_python(script, folder, mounts=mounts)]


def second_path(folder: Path, script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script that reaches the folder by another path: a second mount of it, or a linked parent without mounts.

    The script finds that path as its first argument.
    """
    other = folder.parent / "other"
    if can_mount():
        other.mkdir(mode=0o700)
        return run_python(script, other, *arguments, mounts=f"mount --bind '{folder}' '{other}'")
    other.symlink_to(folder.parent)
    return run_python(script, other / folder.name, *arguments)
