"""The open questions of runs to the model at the client, and who carries them there.

Laws of this module:

- A run has at most one open question. It is answered once, by whoever is first: the client's model, its refusal, or the
  end of waiting, which is bounded.
- Whoever waits learns that the other is gone: the planner by an answer that is none, a call by the end of the question.
- An answer counts for the question whose id it bears. One that bears another is dropped, and the open one is asked.
- One call at a time carries a question. In the era without a way back it asks at most ``MAX_ROUNDS`` times; then it
  answers how the run stands, and the next call asks on.
- Nothing here reads an answer.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final

from attrs import define, field

from surehand.core.orchestration.goals import NoAnswer
from surehand.core.orchestration.prompt import Prompt
from surehand.shell.identity import new_token
from surehand.shell.mcp.desk import PROGRESS_SECONDS
from surehand.shell.mcp.sampling import AskModel, ModelAnswer, ModelDeclinedError, ModelPendingError, ModelRequest

#: Seconds that a question stays open: an agent may think between two calls, and a person may be asked by the client.
PATIENCE_SECONDS: Final = 300.0

#: Times that one call ends with a question before it answers how the run stands; clients give up after ten.
MAX_ROUNDS: Final = 8


@define(eq=False)
class _Question:
    prompt: Prompt
    id: str = field(factory=new_token)
    end: "Future[str | NoAnswer]" = field(factory=Future["str | NoAnswer"], repr=False)
    is_carried: bool = False


class Questions:
    """The open questions of one server.

    Args:
        patience: Seconds that a question stays open.
    """

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._guard = threading.Lock()
        self._open: dict[str, _Question] = {}
        self._closed = False

    def ask(self, prompt: Prompt) -> str | NoAnswer:
        """The model's answer; called by the thread of a planner, which waits here."""
        question = _Question(prompt)
        run_id = prompt.task_id.partition(".")[0]
        with self._guard:
            if self._closed or run_id in self._open:
                return NoAnswer.SILENT
            self._open[run_id] = question
        try:
            return question.end.result(self._patience)
        except TimeoutError:
            self._settle(question, NoAnswer.SILENT)
            return question.end.result()
        finally:
            with self._guard:
                del self._open[run_id]

    def close(self) -> None:
        """Ask nothing more, and have nobody wait any longer."""
        with self._guard:
            self._closed = True
            waiting = tuple(self._open.values())
        for question in waiting:
            self._settle(question, NoAnswer.SILENT)

    async def carry(self, run_id: str, model: AskModel | None, report: Callable[[], Awaitable[None]]) -> bool:
        """Take the open question of a run to the client of a call, if there is one; whether the call may take more.

        Args:
            run_id: The run of a plan.
            model: Asks the client's model; ``None`` when it offers none.
            report: Tells the client that its call goes on.

        Raises:
            ModelPendingError: The call goes on when it is made again with the answer.
        """
        question = self._taken(run_id)
        if question is None:
            return True
        try:
            if model is not None:
                return await self._carried(question, model, report)
            self._settle(question, NoAnswer.NO_MODEL)
        finally:
            question.is_carried = False
        return True

    def _taken(self, run_id: str) -> _Question | None:
        with self._guard:
            question = self._open.get(run_id)
            if question is None or question.is_carried or question.end.done():
                return None
            question.is_carried = True
            return question

    async def _carried(self, question: _Question, model: AskModel, report: Callable[[], Awaitable[None]]) -> bool:
        asked = asyncio.ensure_future(model(ModelRequest(question.prompt, _state(question, 1))))
        over = asyncio.wrap_future(question.end)
        either: set[asyncio.Future[Any]] = {asked, over}
        try:
            while not (asked.done() or over.done()):
                await report()
                await asyncio.wait(either, timeout=PROGRESS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            answered = asked.result() if asked.done() else None
        except ModelDeclinedError:
            self._settle(question, NoAnswer.DECLINED)
            return True
        finally:
            asked.cancel()
        return answered is None or self._answered(question, answered)

    def _answered(self, question: _Question, answered: ModelAnswer) -> bool:
        bears, rounds = _borne(answered.state)
        if not answered.second_call or bears == question.id:
            self._settle(question, answered.text)
            return True
        if rounds >= MAX_ROUNDS:
            return False
        raise ModelPendingError(ModelRequest(question.prompt, _state(question, rounds + 1)))

    def _settle(self, question: _Question, answer: str | NoAnswer) -> None:
        with self._guard:
            if not question.end.done():
                question.end.set_result(answer)


def _state(question: _Question, rounds: int) -> str:
    """What a second call brings back: the question that it answers, and how often its call has asked."""
    return f"{question.id}.{rounds}"


def _borne(state: str | None) -> tuple[str, int]:
    bears, _, rounds = (state or "").partition(".")
    return bears, int(rounds) if rounds in _ROUNDS else 0


_ROUNDS: Final = frozenset(str(number) for number in range(1, MAX_ROUNDS + 1))
