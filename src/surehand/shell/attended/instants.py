"""The two clocks by which it is judged whether a decision comes in time.

Laws of this module:

- The clock that dates can be put back or forward; the one that runs since the machine was started cannot.
  Whoever judges is told both.
"""

from surehand.core.attention.capability import Instants
from surehand.shell.clock import Clock, since_boot_ms
from surehand.shell.locks import boot_id


def instants_of(clock: Clock) -> Instants:
    """The time by the clock that dates, and since this machine was started."""
    return Instants(clock.now(), boot_id().decode("ascii", "replace"), since_boot_ms())
