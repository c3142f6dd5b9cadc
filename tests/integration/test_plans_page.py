"""The page of plans in the documentation.

Laws:

- Every closed code, every kind and every member that an author or a caller can meet stands on the page.
"""

from enum import Enum
from pathlib import Path

import pytest
from attrs import fields

from surehand.core.orchestration.check import DefinitionProblem
from surehand.core.orchestration.condition import STANDARD
from surehand.core.orchestration.definition import (
    BranchStep,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    WorkflowDefinition,
)
from surehand.core.orchestration.refusal import PlanRefusal
from surehand.core.orchestration.result import RUN_OUTPUTS, StepFailure
from surehand.core.orchestration.run import RunStatus

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plans.md").read_text(encoding="utf-8")

CLASSES = (WorkflowDefinition, PlannedGoalStep, SkillInvocationStep, WaitForConditionStep, BranchStep)


def missing(words: set[str]) -> set[str]:
    """The words that do not stand on the page as code."""
    return {word for word in words if f"`{word}`" not in PAGE}


class TestThePage:
    """It leaves out nothing that can be met."""

    @pytest.mark.parametrize("codes", [DefinitionProblem, StepFailure, RunStatus, PlanRefusal])
    def test_every_code(self, codes: type[Enum]) -> None:
        assert set() == missing({str(code.value) for code in codes})

    def test_every_condition_and_its_parameters(self) -> None:
        assert set() == missing({word for kind in STANDARD.kinds for word in (kind.kind, *kind.params)})

    @pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
    def test_every_member(self, cls: type[WorkflowDefinition]) -> None:
        assert set() == missing({each.name for each in fields(cls)})

    def test_every_output_of_a_run(self) -> None:
        assert set() == missing(set(RUN_OUTPUTS))

    def test_a_word_that_is_not_there_is_missed(self) -> None:
        assert {"no_such_code"} == missing({"no_such_code"})
