"""How long the records are read after a save, on a machine whose reads take longer than the time between two."""

import asyncio
import time

import pytest
from attrs import define, field

from support.browser import OpenBoundary
from surehand.core.workflow.commands import Record, Records, RecordsUnavailable
from surehand.shell.engines.browser.live import Progress


@define
class Channel:
    """Counts the reads; each tells its number."""

    asked: list[float] = field(factory=list[float])

    async def read(self, seconds: float) -> Records | RecordsUnavailable:
        """As the channel of a run."""
        self.asked.append(seconds)
        return Records((Record(str(len(self.asked)), None),))


def polls(progress: Progress, channel: Channel, number: int) -> list[Records | RecordsUnavailable]:
    """So many reads, one after another."""

    async def work() -> list[Records | RecordsUnavailable]:
        return [await progress.read(channel.read, 5.0) for _ in range(number)]

    return asyncio.run(work())


def numbered(number: int) -> Records:
    """What the channel says at its n-th read."""
    return Records((Record(str(number), None),))


@pytest.fixture
def progress() -> Progress:
    """A run that begins now."""
    return Progress(OpenBoundary(), time.monotonic() + 60)


class TestTheLastRead:
    """A read that begins behind the deadline is the last one, and its answer stands for those that would follow."""

    def test_before_the_save_and_before_the_deadline_every_read_asks(self, progress: Progress) -> None:
        channel = Channel()
        assert polls(progress, channel, 2) == [numbered(1), numbered(2)]

        progress.begin_to_read_back(60.0, 60.0)

        assert polls(progress, channel, 2) == [numbered(3), numbered(4)]
        assert progress.seconds_to_wait(0.25) == 0.25

    def test_behind_it_one_more_asks(self, progress: Progress) -> None:
        channel = Channel()
        progress.begin_to_read_back(-1.0, 60.0)

        assert polls(progress, channel, 3) == [numbered(1)] * 3
        assert (channel.asked, progress.seconds_to_wait(0.25)) == ([5.0], 0.0)

    def test_behind_the_grace_none_asks(self, progress: Progress) -> None:
        channel = Channel()
        progress.begin_to_read_back(-2.0, 1.0)

        assert polls(progress, channel, 2) == [RecordsUnavailable()] * 2
        assert channel.asked == []

    def test_a_read_takes_no_longer_than_what_is_left(self, progress: Progress) -> None:
        channel = Channel()
        progress.begin_to_read_back(-1.0, 2.0)

        polls(progress, channel, 1)

        assert channel.asked[0] < 1.0
