"""Mutation testing, tried on a small module: it sees what tests see, and that tests which see nothing prove nothing."""

import json

import pytest

from support.folders import run_python

#: Runs the mutants of one small function against the tests that are named, and says what became of them.
TRIED = """\
import json, sys
from mutation.runner import prepare, run
from mutation.targets import Target

prepare()
score = run(Target("surehand.core.request.answers", tuple(sys.argv[1:]), only=("kept_answer",)), [""], verbose=False)
print(json.dumps([score.killed, score.total, len(score.surprises), score.share]), file=sys.stderr)
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
