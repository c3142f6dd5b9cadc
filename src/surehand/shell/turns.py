"""Runs against one app take turns, whichever process executes them.

Laws of this module:

- A run does nothing in its app before it has a place there, and keeps the place until its engine is done with it.
- The operating system lets go of a place when its process ends: a dead run blocks nobody.
- Waiting for a place writes nothing, and ends when the caller wants the run to stop.
"""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from surehand.core.outcome.evidence import Evidence, Refusal
from surehand.core.outcome.result import EngineName
from surehand.core.request.answers import STOPPED_WHILE_WAITING
from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.engines.base import Boundary, Engine, Job, RunRefusedError
from surehand.shell.files import UnsafeFileError, private_folder
from surehand.shell.locks import Place

#: The folder of the places inside the state folder.
PLACES: Final = "apps"

#: Seconds between two looks for a free place, and seconds after which a run gives up looking.
LOOK_SECONDS: Final = 0.02
TURN_SECONDS: Final = 3_600.0


@frozen
class TakingTurns:
    """An engine whose runs against one app come one after another, or as many at a time as there are places.

    Args:
        engine: What executes them.
        folder: The state folder, in which the places are.
        places: Runs against one app at the same time.
        clock: Measures the wait.
    """

    engine: Engine
    folder: Path
    places: int = 1
    clock: Clock = SYSTEM_CLOCK

    @property
    def name(self) -> EngineName:
        """As the engine."""
        return self.engine.name

    def execute(self, job: Job, boundary: Boundary) -> Evidence:
        """Execute one job when its turn has come.

        Raises:
            RunRefusedError: As the engine says, or its turn did not come.
        """
        with self.turn(job.target.origin, boundary) as came:
            return self.engine.execute(job, boundary) if came else STOPPED_WHILE_WAITING

    @contextmanager
    def turn(self, origin: str, boundary: Boundary) -> Generator[bool]:
        """Have a turn at an app; ``False`` when the caller wanted to stop before it came.

        Raises:
            RunRefusedError: The turn did not come.
        """
        place = self._wait_for_place(origin, boundary)
        try:
            yield place is not None
        finally:
            if place is not None:
                place.release()

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def _wait_for_place(self, origin: str, boundary: Boundary) -> Place | None:
        """A place at the app; ``None`` when the caller wanted the run to stop before there was one.

        Raises:
            RunRefusedError: None was free for too long, or the folder refuses.
        """
        end = self.clock.monotonic() + TURN_SECONDS
        while (place := self._free_place(origin)) is None:
            if boundary.stop_requested():
                return None
            if self.clock.monotonic() >= end:
                raise RunRefusedError(Refusal.ENGINE_UNAVAILABLE)
            self.clock.sleep(LOOK_SECONDS)
        return place

    def _free_place(self, origin: str) -> Place | None:
        app = hashlib.sha256(origin.encode()).hexdigest()[:32]
        paths = (self.folder / PLACES / f"{app}.{number}.lock" for number in range(self.places))
        try:
            private_folder(self.folder / PLACES)
            return next((place for place in map(Place.take, paths) if place is not None), None)
        except (OSError, UnsafeFileError):
            raise RunRefusedError(Refusal.ENGINE_UNAVAILABLE) from None
