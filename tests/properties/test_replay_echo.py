"""What a run reads after it has entered something, and once more before it saves."""

import pytest
from attrs import evolve

from support.app_model import BUNDLE, ON_FORM, label
from surehand.core.workflow.bundle import (
    Bundle,
    ChoiceControl,
    ChooseStep,
    EnteringStep,
    FillStep,
    Key,
    Rule,
)
from surehand.core.workflow.commands import ReadValue
from surehand.core.workflow.replay import Echo, TakeBaseline, compile_plan
from surehand.core.workflow.target import FromInput, Target

INPUTS = {"note": "a\u00a0b", "priority": "a\u00a0b"}
CHIP = label("Chip")
FIELD = label("Field")


def filled(then: Key | None = None, shown: Target | None = None) -> FillStep:
    """A text that is entered where the record is saved."""
    return FillStep("extra", ON_FORM, FIELD, FromInput("note"), Rule.TEXT, then=then, shown=shown)


def chosen(control: ChoiceControl, shown: Target | None = None) -> ChooseStep:
    """An option that is chosen there."""
    value = FromInput("priority")
    return ChooseStep("extra", ON_FORM, FIELD, value, control, shown=shown)


#: Each way to enter something, and what then must show what.
READ: dict[str, tuple[EnteringStep, Echo]] = {
    "a text": (filled(), Echo(ReadValue(FIELD, None), Rule.TEXT, "a\u00a0b")),
    "a text that a key hands on": (filled(Key.TAB), Echo(ReadValue(FIELD, None), Rule.TEXT, "a\u00a0b")),
    "a text that stands elsewhere then": (
        filled(Key.TAB, CHIP),
        Echo(ReadValue(CHIP, None, ChoiceControl.LIST), Rule.TEXT, "a\u00a0b"),
    ),
    "an option": (
        chosen(ChoiceControl.SELECT),
        Echo(ReadValue(FIELD, None, ChoiceControl.SELECT), Rule.CHOICE, "a\u00a0b"),
    ),
    "a button of a group": (
        chosen(ChoiceControl.RADIO),
        Echo(ReadValue(FIELD, None, ChoiceControl.RADIO), Rule.CHOICE, "a\u00a0b"),
    ),
    "an option of a list": (
        chosen(ChoiceControl.LIST),
        Echo(ReadValue(FIELD, None, ChoiceControl.LIST), Rule.CHOICE, "a b"),
    ),
    "an option that is shown elsewhere": (
        chosen(ChoiceControl.LIST, CHIP),
        Echo(ReadValue(CHIP, None, ChoiceControl.LIST), Rule.CHOICE, "a b"),
    ),
}


def echoes(step: EnteringStep) -> list[list[Echo]]:
    """What is read of the step: right after it, and behind the baseline."""
    bundle: Bundle = evolve(BUNDLE, steps=(*BUNDLE.steps, step))
    plan = compile_plan(bundle, INPUTS)
    baseline = next(at for at, item in enumerate(plan) if isinstance(item, TakeBaseline))
    read = [[item for item in part if isinstance(item, Echo)] for part in (plan[:baseline], plan[baseline:])]
    return [[item for item in part if item.command.target in (FIELD, CHIP)] for part in read]


class TestWhatIsRead:
    """What was entered is read where it stands, right after it was entered and again before the save."""

    @pytest.mark.parametrize("way", READ)
    def test_each_way_to_enter_something(self, way: str) -> None:
        step, expected = READ[way]

        assert echoes(step) == [[expected], [expected]]

    def test_two_texts_through_one_field_are_both_read_where_they_stand(self) -> None:
        other = label("Other chip")
        steps = (filled(Key.TAB, CHIP), evolve(filled(Key.TAB, other), id="second"))
        plan = compile_plan(evolve(BUNDLE, steps=(*BUNDLE.steps, *steps)), INPUTS)
        last = plan[[isinstance(item, TakeBaseline) for item in plan].index(True) :]

        read = [item.command.target for item in last if isinstance(item, Echo)]

        assert [target for target in read if target in {CHIP, other}] == [CHIP, other]
