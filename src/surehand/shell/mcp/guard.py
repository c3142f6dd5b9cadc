"""Takes the protocol's two streams away from file descriptors 0 and 1 before anything else can touch them.

Laws of this module:

- After ``guard`` only the holder of the ``Wire`` can write to the client: descriptor 1 leads to standard error,
  descriptor 0 to the null device, and no child inherits the private copies.
- It imports next to nothing, so that it can run before everything else.
"""

import fcntl
import os
from typing import NamedTuple


class Wire(NamedTuple):
    """The private descriptors of the protocol: what the client sends, and what the client reads."""

    incoming: int
    outgoing: int


def guard() -> Wire:
    """Claim the protocol's streams; call it once, first.

    Returns:
        Private, non-inherited copies of descriptors 0 and 1.
        A descriptor that was closed reads as end of input, or swallows what is written.
    """
    wire = Wire(_private_copy(0, os.O_RDONLY), _private_copy(1, os.O_WRONLY))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    _divert_output(null)
    if null > 2:  # noqa: PLR2004 - 0, 1 and 2 are the standard descriptors
        os.close(null)
    return wire


def _private_copy(descriptor: int, flags: int) -> int:
    """A copy above the standard range; of the null device when the descriptor is closed."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        null = os.open(os.devnull, flags)
        try:
            return fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, 3)
        finally:
            os.close(null)


def _divert_output(null: int) -> None:
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(null, 1)
