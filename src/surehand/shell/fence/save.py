"""The one save of a run: performs the effects that the stages name, one after the other.

Laws of this module:

- An effect begins after the line of its stage is written; a line that cannot be written ends the save.
- The write goes out once, on a connection of its own.
- Exceptions become facts by their type; what they say is dropped.
"""

from collections.abc import Awaitable, Callable

import h11
from attrs import frozen

from surehand.core.workflow.fence import EFFECTS, Effect, Happened, Stage, next_stage
from surehand.shell.fence.dial import Dialer
from surehand.shell.fence.journal import JournalWriter
from surehand.shell.fence.wire import Incoming, UpstreamError, Wire, put_request, read_answer, relay

#: What goes wrong on a connection; ``OSError`` holds ``ssl.SSLError`` and ``TimeoutError``.
CONNECTION_ERRORS = (OSError, h11.ProtocolError, UpstreamError)


@frozen
class SaveContext:
    """What a save needs of its run.

    Args:
        journal: The journal of the run.
        ask_boundary: Passes the delivery boundary; durable when it answers ``True``.
        is_wanted: Whether the run still waits for its save and the browser for the answer.
        dialer: How the app is reached.
    """

    journal: JournalWriter
    ask_boundary: Callable[[], Awaitable[bool]]
    is_wanted: Callable[[], bool]
    dialer: Dialer


async def perform_save(context: SaveContext, incoming: Incoming, browser: Wire) -> Stage:
    """Send the save and pass its answer on.

    Returns:
        The last stage. Unless it is ``DONE`` the browser got no whole answer of the app.
    """
    effects = _Effects(context, incoming, browser)
    stage = Stage.INTENT
    try:
        while True:
            await context.journal.append(stage, effects.status if stage is Stage.ANSWERED else None)
            if stage not in EFFECTS:
                return stage
            stage = next_stage(stage, await effects.perform(EFFECTS[stage]))
    except OSError:
        return Stage.FAILED
    finally:
        effects.close()


class _Effects:
    """The effects of one save, and what one leaves for the next."""

    def __init__(self, context: SaveContext, incoming: Incoming, browser: Wire) -> None:
        self._context, self._incoming, self._browser = context, incoming, browser
        self._upstream: Wire | None = None
        self._answer: h11.Response | None = None
        self._performers: dict[Effect, Callable[[], Awaitable[Happened]]] = {
            Effect.ASK_BOUNDARY: self._ask_boundary,
            Effect.CONNECT: self._connect,
            Effect.CHECK_ALIVE: self._check_alive,
            Effect.SEND: self._send,
            Effect.READ_ANSWER: self._read_answer,
            Effect.RELAY: self._relay,
        }

    @property
    def status(self) -> int | None:
        return None if self._answer is None else self._answer.status_code

    async def perform(self, effect: Effect) -> Happened:
        try:
            return await self._performers[effect]()
        except CONNECTION_ERRORS:
            return Happened.LOST

    def close(self) -> None:
        if self._upstream is not None:
            self._upstream.close()

    async def _ask_boundary(self) -> Happened:
        if not self._context.is_wanted():
            return Happened.GONE
        return Happened.DONE if await self._context.ask_boundary() else Happened.REFUSED

    async def _check_alive(self) -> Happened:
        return Happened.DONE if self._context.is_wanted() else Happened.GONE

    async def _connect(self) -> Happened:
        if not self._context.is_wanted():
            return Happened.GONE
        self._upstream, _ = await self._context.dialer.connect(self._incoming.origin)
        return Happened.DONE

    async def _send(self) -> Happened:
        upstream = self._connected()
        put_request(upstream, self._incoming)
        await upstream.flush()
        return Happened.DONE

    async def _read_answer(self) -> Happened:
        self._answer = await read_answer(self._connected())
        return Happened.DONE

    async def _relay(self) -> Happened:
        if self._answer is None:
            return Happened.LOST
        await relay(self._connected(), self._answer, self._browser)
        return Happened.DONE

    def _connected(self) -> Wire:
        if self._upstream is None:
            raise UpstreamError
        return self._upstream
