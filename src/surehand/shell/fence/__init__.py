"""The write fence: a small forward proxy in its own process, and the only sender of writes.

Laws of this package:

- Nothing reaches the network but through the fence. It is closed unless it is told otherwise, and closed when dead.
- A write is sent once, on a connection of its own, after its journal line. It is never sent again.
- Addresses, headers and contents pass through memory only. What stays is counts and the stages of the one save.
"""

from surehand.shell.fence.client import Fence, FenceRun, FenceUnavailableError
from surehand.shell.fence.journal import read_delivery

__all__ = ["Fence", "FenceRun", "FenceUnavailableError", "read_delivery"]
