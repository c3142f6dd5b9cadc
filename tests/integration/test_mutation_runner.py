"""Mutation testing, tried on a small module: it sees what tests see, and that tests which see nothing prove nothing."""

import json

import pytest
from attrs import evolve

from mutation.runner import REQUIRED, page_of
from mutation.scores import PAGE, Score, mended, read
from support.folders import run_python

#: Runs the mutants of one small function against the tests that are named, and says what became of them.
TRIED = """\
import json, sys
from mutation.runner import prepare, run
from mutation.targets import Target

prepare()
score = run(Target("surehand.core.request.answers", tuple(sys.argv[1:]), only=("kept_answer",)), verbose=False)
print(json.dumps([score.killed, score.total, len(score.surprises), score.share]), file=sys.stderr)
"""

#: Judges: two that never come to their end, one that fails, one that is killed, and one that says something.
JUDGES = """\
import os, sys, threading
from mutation import runner

def works():
    while True: pass

runner._LONG_WAIT = 10.0
for judge in (works, threading.Event().wait, lambda: 1 // 0, lambda: os.kill(os.getpid(), 9), lambda: "by a test"):
    print(runner._elsewhere(judge, 1), file=sys.stderr)
"""

ANSWERS = "tests/properties/test_request_answers.py"
KEYS = "tests/properties/test_request_keys.py::TestRequestId::test_nothing_else_is_an_attempt"


def tried(*tests: str) -> tuple[int, int, int, float]:
    """Killed, all, not accounted for, and the score."""
    told = run_python(TRIED, *tests)
    killed, total, surprises, share = json.loads(told.stderr.splitlines()[-1])
    return killed, total, surprises, share


class TestTheScore:
    """The score is what the tests kill: all with those of the module, nothing with those of another."""

    def test_the_tests_of_the_module_kill_every_mutant(self) -> None:
        killed, total, surprises, share = tried(ANSWERS)

        assert (total, 0, 1.0) == (killed, surprises, share)
        assert total > 5

    def test_tests_that_look_elsewhere_kill_none(self) -> None:
        killed, total, surprises, share = tried(KEYS)

        assert (0, total, 0.0) == (killed, surprises, share)
        assert total > 5

    def test_a_test_that_fails_without_a_fault_stops_everything(self) -> None:
        with pytest.raises((ValueError, IndexError)):
            tried("tests/integration/test_mutation_runner.py::no_such_test")


class TestTheTimeLimit:
    """A mutant whose tests do not end is told apart from one that a test killed."""

    def test_each_by_its_own_verdict(self) -> None:
        told = run_python(JUDGES)

        expected = ["not in time", "not in time", "ZeroDivisionError", "the process ended", "by a test"]
        assert expected == told.stderr.splitlines()


class TestSurvivorsTriedAgain:
    """What survived can be tried again by itself; all others stay killed, as long as the module is the same."""

    KEPT = Score("m", killed=8, late=1, equivalent=1, known=0, surprises=("a", "b"), seconds=5.0, digest="d")

    def test_what_is_killed_now_is_counted_once(self) -> None:
        again = evolve(self.KEPT, killed=1, late=0, equivalent=0, known=1, surprises=(), seconds=1.0)

        expected = evolve(self.KEPT, killed=9, known=1, surprises=(), seconds=6.0)
        assert expected == mended(self.KEPT, again)
        assert self.KEPT.total == mended(self.KEPT, again).total

    def test_another_text_of_the_module_is_refused(self) -> None:
        with pytest.raises(ValueError, match="changed since"):
            mended(self.KEPT, evolve(self.KEPT, digest="e"))


class TestThePage:
    """The page shows the scores that a run kept, and the targets without one, and nobody writes it by hand."""

    def test_is_not_stale(self) -> None:
        assert page_of(read()) == PAGE.read_text(encoding="utf-8")

    def test_would_be_stale_when_one_mutant_more_survived(self) -> None:
        first, *others = read()
        changed = (evolve(first, score=evolve(first.score, surprises=("a new survivor",))), *others)

        assert page_of(changed) != PAGE.read_text(encoding="utf-8")

    def test_names_a_target_that_was_not_tried(self) -> None:
        tried = [each for each in read() if each.score.module != "surehand.core.request.gate"]

        assert "no run has been kept yet:" in page_of(tried)
        assert "- `surehand.core.request.gate`" in page_of(tried)

    def test_every_score_reaches_what_is_required(self) -> None:
        assert [] == [each.score.module for each in read() if each.score.share < REQUIRED or each.score.surprises]
