"""The words of a run about which nobody decided in time."""

import pytest
from attrs import evolve

from support.attention import STOPPED, instants, issue, kept, pause, review
from support.stores import DONE, draft, result_of
from surehand.core.attention.pause import DECIDE_SECONDS
from surehand.core.attention.review import in_time
from surehand.core.outcome.reasons import REASONS, NextStep, Reason
from surehand.core.outcome.result import Answer, CallFacts, CheckedHow, EngineName, Mode, RunResult, as_overdue, render
from surehand.core.outcome.wording import OVERDUE
from surehand.core.wire import from_wire, to_wire

RECORD = evolve(draft(1), attempt=1)


def answer_with(reason: Reason) -> RunResult:
    """The plain answer with this reason."""
    level = CheckedHow.REOPENED if reason is Reason.SAVED_AND_CHECKED else CheckedHow.UNCHECKED
    facts = CallFacts(run_id=RECORD.run_id, mode=Mode.ATTENDED, engine=EngineName.BROWSER, attempt=1)
    return render(Answer(reason, REASONS[reason], level), facts)


ANSWERS = [answer_with(reason) for reason in Reason]


class TestOnlyAWaitIsWordedAnew:
    """An answer that waits for a person says that nobody came; every other answer, and all else of it, is as it was."""

    @pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.reason.value)
    def test_every_answer(self, answer: RunResult) -> None:
        told = as_overdue(answer)
        waits = answer.next_step is NextStep.WAIT_FOR_A_PERSON

        assert told == (evolve(answer, next_action=OVERDUE) if waits else answer)
        assert (as_overdue(told), from_wire(to_wire(told), RunResult).unwrap()) == (told, told)

    def test_in_these_words(self) -> None:
        assert OVERDUE == (
            "Nobody decided in time, and nothing goes on by itself. Have a person look at the computer that runs the "
            "workflow: only there the run can be taken up again or ended. Do not retry."
        )

    @pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.reason.value)
    def test_no_other_answer_can_be_worded_so(self, answer: RunResult) -> None:
        if answer.next_step is not NextStep.WAIT_FOR_A_PERSON:
            with pytest.raises(ValueError, match="the wording does not agree"):
                evolve(answer, next_action=OVERDUE)


class TestTheTimeIsOverInItsLastSecond:
    """Until the second before the end the agent is told to wait, from the end on that nobody came."""

    @pytest.mark.parametrize(("passed", "over"), [(0, False), (-1, False), (1, True)])
    def test_at_the_edge(self, passed: int, over: bool) -> None:
        stopped = kept(pause(), issue(1))
        answer = result_of(RECORD, STOPPED)
        now = instants(DECIDE_SECONDS - 1 + passed)

        assert in_time(answer, review(stopped), now) == (as_overdue(answer) if over else answer)

    def test_an_answer_that_waits_for_nobody(self) -> None:
        done = result_of(RECORD, DONE)

        assert in_time(done, review(kept(pause(), issue(1))), instants(DECIDE_SECONDS)) == done
