"""Steps that a person may leave out of a run that stops at them."""

from itertools import chain, combinations

import pytest
from attrs import evolve
from returns.result import Failure

from support.app_model import BUNDLE
from surehand.core.workflow.bundle import Bundle, CheckStep, ChooseStep, ClickStep, FillStep, OpenStep
from surehand.core.workflow.compile import AnswerCode, AnswerProblem, with_optional


def may_be_left_out(bundle: Bundle) -> list[str]:
    """The steps that enter no part of the record."""
    names: list[str] = []
    for step in bundle.steps:
        match step:
            case OpenStep():
                pass
            case ClickStep():
                names.append(step.id)
            case FillStep() | ChooseStep() | CheckStep():
                names += [] if step.part_of_record else [step.id]
    return names


def optional(bundle: Bundle) -> frozenset[str]:
    """The steps that are marked."""
    return frozenset(step.id for step in bundle.steps if not isinstance(step, OpenStep) and step.optional)


class TestAPersonNamesWhatMayBeLeftOut:
    """Exactly the named steps are optional; what opens a page, or is a part of the record, is refused."""

    def test_each_choice_of_steps(self) -> None:
        names = may_be_left_out(BUNDLE)
        assert names
        for chosen in chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)):
            made = with_optional(BUNDLE, frozenset(chosen)).unwrap()

            assert frozenset(chosen) == optional(made)
            unmarked = tuple(evolve(s, optional=None) if not isinstance(s, OpenStep) else s for s in made.steps)
            assert evolve(made, steps=unmarked) == BUNDLE

    @pytest.mark.parametrize("step", [step.id for step in BUNDLE.steps if step.id not in may_be_left_out(BUNDLE)])
    def test_what_a_run_cannot_do_without(self, step: str) -> None:
        made = with_optional(BUNDLE, frozenset({step}))

        assert isinstance(made, Failure)
        assert made.failure()[0].code in {AnswerCode.NOT_AN_OPTION, AnswerCode.CONTRADICTS}

    def test_what_is_no_step(self) -> None:
        expected = (
            AnswerProblem("step.a", AnswerCode.NOT_AN_OPTION),
            AnswerProblem("step.b", AnswerCode.NOT_AN_OPTION),
        )

        assert expected == with_optional(BUNDLE, frozenset({"b", "a"})).failure()
