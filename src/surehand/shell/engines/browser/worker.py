"""``python -m surehand.shell.engines.browser.worker``: the process that executes runs in the browser.

Laws of this module:

- The standard streams are taken before anything else is loaded: the protocol has private copies, and nothing that a
  library prints or reads can touch it.
- An error that nobody caught is told by its type alone: its text may hold what was typed.
"""

import sys
import threading
from types import TracebackType
from typing import Final

from surehand.shell.process import take_standard_streams

#: The exit status after an error that nobody caught.
FAILED: Final = 70


def _tell_type(
    kind: type[BaseException], _error: BaseException | None = None, _trace: TracebackType | None = None
) -> None:
    sys.stderr.write(f"surehand worker: {kind.__name__}\n")


def main() -> int:
    """Serve one parent until it closes the pipe or a signal asks for the end."""
    incoming, outgoing = take_standard_streams()
    sys.excepthook = _tell_type
    threading.excepthook = lambda failed: _tell_type(failed.exc_type)
    # Only now: loading takes a while, and whatever it prints is harmless already.
    from surehand.shell.engines.browser.duty import serve  # noqa: PLC0415

    return 0 if serve(incoming, outgoing) else FAILED


if __name__ == "__main__":
    sys.exit(main())
