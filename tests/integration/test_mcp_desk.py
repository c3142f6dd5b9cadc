"""The desk by itself: one service for a burst, a crowd that is woken in turns, and an end that no run slips past."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from support.mcp_fake_service import FakeService, FakeTicket
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import RunResult
from surehand.shell.mcp.desk import WOKEN_PER_TURN, Desk, ServerEndingError, ServiceNotBuiltError

HOLD: Mapping[str, object] = {"note": "hold"}


async def silent(_waited: float, _total: float) -> None:
    """A client that did not ask for progress."""


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario that must not take long."""
    asyncio.run(asyncio.wait_for(scenario, 240))


class TestTheServiceIsBuiltOnce:
    """All calls of a burst get the same service, or the same failure; a later call tries again after a failure."""

    def test_a_burst_builds_once_and_a_failure_is_not_for_ever(self) -> None:
        attempts: list[int] = []
        service = FakeService()

        def build() -> FakeService:
            attempts.append(1)
            if len(attempts) == 1:
                raise OSError("the folder refuses")
            return service

        async def scenario() -> None:
            desk = Desk(build)
            failures = await asyncio.gather(*(desk.service() for _ in range(20)), return_exceptions=True)
            built = await asyncio.gather(*(desk.service() for _ in range(20)))

            assert {ServiceNotBuiltError} == {type(failure) for failure in failures}
            assert {id(service)} == {id(each) for each in built}
            assert len(attempts) == 2

        run(scenario())

    def test_a_cancelled_first_caller_does_not_take_the_service_from_the_others(self) -> None:
        release = threading.Event()
        service = FakeService()

        def build() -> FakeService:
            release.wait(240)
            return service

        async def scenario() -> None:
            desk = Desk(build)
            first = asyncio.ensure_future(desk.service())
            second = asyncio.ensure_future(desk.service())
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.sleep(0)
            release.set()

            assert await second is service

        run(scenario())


class TestACrowdIsWokenInTurns:
    """When a run ends, the loop serves others between the calls that waited for it."""

    def test_what_is_asked_meanwhile_waits_for_a_few_of_the_crowd_at_most(self) -> None:
        service = FakeService()

        async def scenario() -> None:
            desk = Desk(lambda: service)
            started = await desk.run("w", HOLD, "r", 0, silent)
            all_parked = asyncio.Barrier(20 * WOKEN_PER_TURN + 1)
            first_answer = asyncio.Event()
            answered: list[RunResult | None] = []

            async def note_parked(_waited: float, _total: float) -> None:
                await all_parked.wait()

            async def wait() -> None:
                answered.append(await desk.get(started.run_id, 600, note_parked))
                first_answer.set()

            crowd = [asyncio.ensure_future(wait()) for _ in range(20 * WOKEN_PER_TURN)]
            await all_parked.wait()
            service.finish(started.run_id, Reason.SAVED_AND_CHECKED)
            await first_answer.wait()
            meanwhile = len(answered)
            await asyncio.gather(*crowd)

            assert meanwhile <= 4 * WOKEN_PER_TURN
            assert len(answered) == 20 * WOKEN_PER_TURN
            assert {Reason.SAVED_AND_CHECKED} == {each.reason for each in answered if each is not None}

        run(scenario())


class TestNoRunSlipsPastTheEnd:
    """A run that starts while the server ends is stopped, and after that none is started."""

    def test_a_run_that_starts_while_the_server_ends_is_cancelled(self) -> None:
        class EndsWhileItStarts(FakeService):
            """The end comes between the start of the run and the moment its call waits for it."""

            def run_workflow(
                self, workflow: str, inputs: Mapping[str, object], request_id: str, *, url: str | None = None
            ) -> FakeTicket:
                ticket = super().run_workflow(workflow, inputs, request_id, url=url)
                asyncio.run_coroutine_threadsafe(end_of(desks[0]), loops[0]).result(240)
                return ticket

        async def scenario() -> None:
            loops.append(asyncio.get_running_loop())
            desk = Desk(EndsWhileItStarts)
            desks.append(desk)
            result = await desk.run("w", HOLD, "r", 600, silent)

            assert result.reason is Reason.CANCELED
            with pytest.raises(ServerEndingError):
                await desk.run("w", HOLD, "another", 0, silent)

        loops: list[asyncio.AbstractEventLoop] = []
        desks: list[Desk] = []
        run(scenario())

    def test_a_call_that_only_reads_does_not_wait_at_the_end(self) -> None:
        async def scenario() -> None:
            desk = Desk(FakeService)
            started = await desk.run("w", HOLD, "r", 0, silent)
            desk.end()
            read = await desk.get(started.run_id, 600, silent)

            assert read is not None
            assert read.reason is Reason.RUNNING

        run(scenario())


class TestAFailingWatchIsNoEndlessWait:
    """When the service cannot watch a run, the call answers with what is known."""

    def test_the_answer_is_what_is_known(self) -> None:
        class CannotWatch(FakeService):
            """Its watch raises, as for a run that nobody knows."""

            def watch(self, run_id: str) -> Future[RunResult]:
                raise LookupError(run_id)

        async def scenario() -> None:
            desk = Desk(CannotWatch)

            assert (await desk.run("w", HOLD, "r", 600, silent)).reason is Reason.RUNNING

        run(scenario())


async def end_of(desk: Desk) -> None:
    """End a desk from another thread."""
    desk.end()
