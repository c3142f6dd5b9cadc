"""Child processes: a clean environment, private pipes, and an end within bounded time.

Laws of this module:

- A child gets the variables that are named here and no others, so that no debug switch of a library can make it print
  what it types.
- A child that talks over its standard streams keeps private copies of them; what a library prints goes to standard
  error.
- Nobody waits for ever: a child is asked, then told, then killed.
"""

import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from typing import IO, BinaryIO, Final

#: Variables that a child may see: where things are, which display and which language. Everything else stays behind,
#: above all DEBUG, PWDEBUG, NODE_OPTIONS, SSLKEYLOGFILE and the proxy variables.
KEPT_VARIABLES: Final = frozenset(
    {
        "APPDATA",
        "COMSPEC",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PLAYWRIGHT_BROWSERS_PATH",
        "PROGRAMFILES",
        "PROGRAMFILES(X86)",
        "PYTHONPATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "USERPROFILE",
        "VIRTUAL_ENV",
        "WAYLAND_DISPLAY",
        "WINDIR",
        "XAUTHORITY",
    }
)

#: Families of variables that a child may see.
KEPT_PREFIXES: Final = ("LC_", "SUREHAND_", "XDG_")

#: Seconds that a child has after each of the three requests to end.
PATIENCE_SECONDS: Final = 5.0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environment`` that a child may see."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in KEPT_VARIABLES or name.upper().startswith(KEPT_PREFIXES)
    }


def spawn_module(module: str, kept: Collection[int] = ()) -> "subprocess.Popen[bytes]":
    """Start ``python -m module`` with pipes on standard input and output.

    The child stands in a session of its own, so that an interrupt typed at a terminal reaches its parent alone, which
    then ends it in order. Its arguments hold nothing but the module's name: what it must know goes through the pipe.

    Args:
        module: The module to run.
        kept: File descriptors that the child holds open as long as it lives.

    Raises:
        OSError: The interpreter cannot be started.
    """
    return subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(os.environ),
        start_new_session=True,
        pass_fds=tuple(kept),
    )


def end_process(process: "subprocess.Popen[bytes]", patience: float = PATIENCE_SECONDS) -> int:
    """Close the child's standard input and wait; then terminate it and wait; then kill it.

    Args:
        process: The child. It may have ended already.
        patience: Seconds to wait after each request.

    Returns:
        The exit status, negative for a signal.
    """
    _close(process.stdin)
    for request in (process.poll, process.terminate, process.kill):
        request()
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    return process.wait()


def _close(stream: IO[bytes] | None) -> None:
    """Close a pipe whose other end may be gone."""
    if stream is None:
        return
    try:
        stream.close()
    except OSError:
        return


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Make private copies of standard input and output, and put harmless things in their place.

    Afterwards reading standard input finds its end, and what is printed goes to standard error. Called before anything
    is imported that could print.

    Returns:
        The private input and output.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")
