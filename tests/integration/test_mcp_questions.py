"""The open questions of runs to the model at the client: the planner's thread on one side, calls on the other.

Laws:

- A run has one open question at most, and it is answered once.
- Waiting is bounded on both sides, and each is told when the other is gone.
- One call at a time carries a question; one that is canceled lets the next one carry it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from support.browser import eventually
from surehand.core.orchestration.goals import NoAnswer
from surehand.core.orchestration.prompt import Prompt
from surehand.shell.mcp.questions import MAX_ROUNDS, Questions
from surehand.shell.mcp.sampling import AskModel, ModelAnswer, ModelDeclinedError, ModelPendingError, ModelRequest

RUN = "plan_1"
PROMPT = Prompt(f"{RUN}.find.1", "rules", "page")

#: Longer than any test; and so short that nobody waits for it.
LONG, SHORT = 600.0, 0.05

Answer = Future["str | NoAnswer"]


async def nothing() -> None:
    """Report nothing."""


def asking(questions: Questions, prompt: Prompt = PROMPT) -> Answer:
    """A planner that asks in a thread of its own."""
    with_answer: Answer = Future()
    threading.Thread(target=lambda: with_answer.set_result(questions.ask(prompt)), daemon=True).start()
    return with_answer


def answering(text: str, *, second_call: bool = False, state: str | None = None) -> AskModel:
    """A model at the client that answers."""

    async def model(_request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(text, second_call=second_call, state=state)

    return model


async def declining(_request: ModelRequest) -> ModelAnswer:
    """A client that refuses."""
    raise ModelDeclinedError


async def pending(request: ModelRequest) -> ModelAnswer:
    """A client that is asked by the end of the call."""
    raise ModelPendingError(request)


async def carried(questions: Questions, model: AskModel | None, answer: Answer) -> bool:
    """What carrying comes to, tried until the planner has its answer."""
    more = True
    while more and not answer.done():
        more = await questions.carry(RUN, model, nothing)
        await asyncio.sleep(0)
    return more


async def pended(questions: Questions, model: AskModel = pending) -> ModelRequest:
    """The request with which a call ends."""
    while True:
        try:
            await questions.carry(RUN, model, nothing)
        except ModelPendingError as error:
            return error.request
        await asyncio.sleep(0.01)


class TestAQuestionIsAnsweredOnce:
    """By the model, by a refusal, by a client without a model, or by the end of waiting."""

    @pytest.mark.parametrize(
        ("model", "expected"),
        [(answering("yes"), "yes"), (declining, NoAnswer.DECLINED), (None, NoAnswer.NO_MODEL)],
        ids=["answers", "declines", "none"],
    )
    def test_by_a_client(self, model: AskModel | None, expected: str | NoAnswer) -> None:
        questions = Questions(LONG)
        answer = asking(questions)

        assert asyncio.run(carried(questions, model, answer))
        assert expected == answer.result(LONG)

    def test_by_nobody(self) -> None:
        assert NoAnswer.SILENT is asking(Questions(SHORT)).result(LONG)

    def test_by_the_end_of_the_server(self) -> None:
        questions = Questions(LONG)
        answer = asking(questions)
        request = asyncio.run(pended(questions))
        questions.close()

        assert NoAnswer.SILENT is answer.result(LONG)
        assert NoAnswer.SILENT is questions.ask(PROMPT)
        assert request.prompt == PROMPT

    def test_a_second_one_of_the_same_run_is_not_asked(self) -> None:
        questions = Questions(LONG)
        first = asking(questions)
        asyncio.run(pended(questions))

        assert NoAnswer.SILENT is questions.ask(PROMPT)
        asyncio.run(carried(questions, answering("first"), first))
        assert "first" == first.result(LONG)

    def test_one_of_another_run_is(self) -> None:
        questions = Questions(LONG)
        other, answer = asking(questions, Prompt("plan_2.find.1", "", "")), asking(questions)
        asyncio.run(carried(questions, answering("mine"), answer))

        assert ("mine", False) == (answer.result(LONG), other.done())
        questions.close()
        assert NoAnswer.SILENT is other.result(LONG)

    def test_where_nothing_is_open_nothing_is_carried(self) -> None:
        assert asyncio.run(Questions().carry(RUN, declining, nothing))


class TestWhoWaitsIsToldThatTheOtherIsGone:
    """A model that is asked for nothing any more is not waited for, and a call that is canceled holds nothing."""

    def test_a_call_ends_with_the_patience_of_its_question(self) -> None:
        canceled = threading.Event()

        async def never(_request: ModelRequest) -> ModelAnswer:
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                canceled.set()
                raise
            raise AssertionError("nobody waits so long")

        async def carry_to_its_end() -> tuple[bool, Answer]:
            # The call is there before the question is: on a busy machine the patience could end before a loop begins.
            answer = asking(questions := Questions(2.0))
            return await carried(questions, never, answer), answer

        more, answer = asyncio.run(carry_to_its_end())

        assert more
        assert NoAnswer.SILENT is answer.result(LONG)
        assert canceled.is_set()

    def test_a_canceled_call_lets_the_next_one_carry(self) -> None:
        async def two_calls(questions: Questions, answer: Answer) -> bool:
            began = asyncio.Event()

            async def never(_request: ModelRequest) -> ModelAnswer:
                began.set()
                await asyncio.sleep(LONG)
                raise AssertionError("nobody waits so long")

            first = asyncio.ensure_future(carried(questions, never, answer))
            await began.wait()
            idle = await questions.carry(RUN, answering("of the second"), nothing)
            assert not answer.done(), "one call at a time"
            first.cancel()
            await asyncio.wait({first})
            await carried(questions, answering("of the third"), answer)
            return idle

        questions = Questions(LONG)
        answer = asking(questions)

        assert asyncio.run(two_calls(questions, answer))
        assert "of the third" == answer.result(LONG)

    def test_many_planners_and_calls_at_once(self) -> None:
        async def all_of(questions: Questions, works: list[tuple[str, Answer]]) -> None:
            async def serve(run: str, answer: Answer) -> None:
                while not answer.done():
                    await questions.carry(run, answering(run), nothing)
                    await asyncio.sleep(0.01)

            calls: list[Awaitable[None]] = [serve(run, answer) for run, answer in works for _ in range(2)]
            await asyncio.gather(*calls)

        questions = Questions(LONG)
        with ThreadPoolExecutor(20) as pool:
            works = [(f"r{at}", pool.submit(questions.ask, Prompt(f"r{at}.s.1", "", ""))) for at in range(20)]
            asyncio.run(all_of(questions, works))

            assert [(run, run) for run, _ in works] == [(run, answer.result(LONG)) for run, answer in works]


class TestASecondCallAnswersItsQuestionAlone:
    """In the era without a way back the answer bears its question; another one is asked so often at most."""

    def second(self, state: str | None) -> Callable[[ModelRequest], Awaitable[ModelAnswer]]:
        """A call that is made again, with this state."""
        return answering("again", second_call=True, state=state)

    def test_its_own(self) -> None:
        questions = Questions(LONG)
        answer = asking(questions)
        request = asyncio.run(pended(questions))

        assert asyncio.run(questions.carry(RUN, self.second(request.state), nothing))
        assert "again" == answer.result(LONG)

    @pytest.mark.parametrize("state", [None, "", "other.1", "other.8.1", ".", "other.99", "other.x"])
    def test_another(self, state: str | None) -> None:
        questions = Questions(LONG)
        answer = asking(questions)
        first = asyncio.run(pended(questions))
        again = asyncio.run(pended(questions, self.second(state)))

        assert first.state.partition(".")[0] == again.state.partition(".")[0]
        assert not answer.done()
        questions.close()

    def test_it_asks_so_often(self) -> None:
        questions, states = Questions(LONG), ["other.1"]
        answer = asking(questions)
        for _ in range(MAX_ROUNDS - 1):
            states.append(asyncio.run(pended(questions, self.second(f"other.{len(states)}"))).state)

        assert [f".{number}" for number in range(2, MAX_ROUNDS + 1)] == [
            f".{each.partition('.')[2]}" for each in states[1:]
        ]
        assert not asyncio.run(questions.carry(RUN, self.second(f"other.{MAX_ROUNDS}"), nothing))
        assert eventually(lambda: not answer.done())
        questions.close()
