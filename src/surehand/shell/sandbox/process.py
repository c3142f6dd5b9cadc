"""The clinic app as a process of its own.

Laws of this module:

- The app lives as long as anyone holds the write end of its standard input.
  Whoever finishes a run inherits ``liveness_fd``, and the app outlives the server for that long.
- Nothing that the app prints reaches our own output.
"""

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Final

from attrs import field, frozen

from surehand.shell.engines.base import AppTarget
from surehand.shell.sandbox.address import SCENARIO_HEADER, Address, parse
from surehand.shell.sandbox.cases import CASES

#: How long the app may take to say where it is, in seconds.
START_SECONDS: Final = 20.0

#: How long ``close`` waits for the app to end, in seconds.
CLOSE_SECONDS: Final = 2.0


class SandboxUnavailableError(Exception):
    """The clinic app did not start, or it ended."""


@frozen
class SandboxApp:
    """A running clinic app; ``start`` makes one."""

    address: Address
    _process: "subprocess.Popen[bytes]" = field(repr=False)

    @classmethod
    def start(cls) -> "SandboxApp":
        """Start the app and wait until it listens.

        Raises:
            SandboxUnavailableError: It did not start within ``START_SECONDS``.
        """
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "surehand.shell.sandbox", "--supervised"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl+C in a terminal is for the server; a run that it finishes still needs the app.
                start_new_session=True,
            )
        except OSError:
            raise SandboxUnavailableError("the clinic app could not be started") from None
        try:
            return cls(_first_line(process), process)
        except ValueError:
            process.kill()
            _end(process)
            raise SandboxUnavailableError("the clinic app did not say where it is") from None

    @property
    def liveness_fd(self) -> int:
        """The descriptor that keeps the app alive; give it to a child by ``pass_fds``."""
        return _pipe(self._process.stdin).fileno()

    def target(self, inputs: Mapping[str, str]) -> AppTarget:
        """Where the app is for these inputs.

        Args:
            inputs: The checked inputs of the sandbox workflow.

        Raises:
            SandboxUnavailableError: The app has ended.
        """
        if self._process.poll() is not None:
            raise SandboxUnavailableError("the clinic app has ended")
        case = CASES[inputs["sandbox_case"]]
        origin = self.address.origin if case.reachable else self.address.offline_origin
        return AppTarget(
            origin=origin,
            record_origin=origin,
            record_headers={"Authorization": f"Bearer {self.address.token}", SCENARIO_HEADER: case.name},
        )

    def close(self) -> None:
        """Let go of the app; a second call does nothing.

        It ends now, or when the last other holder of ``liveness_fd`` lets go.
        """
        _end(self._process)


def _first_line(process: "subprocess.Popen[bytes]") -> Address:
    """Wait for the line of the app; a closed output gives an empty line.

    Raises:
        ValueError: None came in time, or it is no such line.
    """
    said: list[bytes] = []
    output = _pipe(process.stdout)
    # A thread, because a pipe cannot be waited for everywhere; it ends with the pipe.
    reader = threading.Thread(target=lambda: said.append(output.readline(4096)), daemon=True, name="sandbox-start")
    reader.start()
    reader.join(START_SECONDS)
    if not said:
        raise ValueError("no line in time")
    address = parse(said[0])
    output.close()
    return address


def _end(process: "subprocess.Popen[bytes]") -> None:
    _pipe(process.stdin).close()
    try:
        process.wait(CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        return  # another holder keeps the app; it ends with that one
    _pipe(process.stdout).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("started with pipes")
    return stream
