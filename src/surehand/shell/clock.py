"""The clock of the shell.

Laws of this module:

- Time is read here and nowhere else; core takes it as an argument.
- Wall time dates records. Durations are measured by the monotonic clock only: a clock that jumps moves no deadline.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """What the shell may ask about time."""

    def now(self) -> int:
        """Whole seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back; only differences mean something."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass in the calling thread."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> int:
        """Whole seconds since the epoch, UTC."""
        return int(time.time())

    def monotonic(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for so many seconds."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


def since_boot_ms() -> int:
    """Milliseconds since this machine was started, where it says so; the time asleep counts."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return (time.monotonic_ns() if clock is None else time.clock_gettime_ns(clock)) // 1_000_000
