"""The form of a decision: what is asked, and the one answer that counts."""

import json
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surehand.core.attention.form import action_words, box_words, form_message, form_schema, judge_answer
from surehand.core.attention.pause import Action, PauseView

ITEM = "att_0123456789abcdef01234567"

#: The answers that count, as JSON: with the code of a person, and without.
PLAIN = '{"confirm": true}'
CODED = '{"code": "[A-Z0-9]{1,20}", "confirm": true}'

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
CONTENT = JSON | st.fixed_dictionaries({"confirm": JSON}, optional={"code": JSON, "note": JSON})


class TestOnlyAnExplicitConfirmationCounts:
    """Decline, cancel, silence, an empty acceptance and anything beside the asked fields confirm nothing."""

    @given(st.sampled_from(["accept", "decline", "cancel", ""]), CONTENT, st.booleans())
    @example("accept", {"confirm": True}, False)
    @example("accept", {"confirm": True, "code": "ABC123"}, True)
    @example("accept", {"confirm": True, "code": "ABC123"}, False)
    @example("accept", {"confirm": True}, True)
    @example("accept", {"confirm": True, "code": ""}, True)
    @example("accept", {"confirm": True, "code": "A" * 21}, True)
    @example("accept", {"confirm": 1}, False)
    @example("accept", {}, False)
    @example("accept", None, False)
    @example("decline", {"confirm": True}, False)
    def test_nothing_else_does(self, action: str, content: object, with_code: bool) -> None:
        judged = judge_answer(action, content, with_code=with_code)
        said = json.dumps(content, sort_keys=True)

        if judged is None:
            assert action != "accept" or said != PLAIN or with_code
            assert action != "accept" or not re.fullmatch(CODED, said) or not with_code
        else:
            code = judged.code
            assert action == "accept"
            assert said == (PLAIN if code is None else json.dumps({"code": code, "confirm": True}))
            assert with_code is (code is not None and 1 <= len(code) <= 20)

    def test_a_code_is_not_repeated(self) -> None:
        assert "ABC123" not in repr(judge_answer("accept", {"confirm": True, "code": "ABC123"}, with_code=True))


class TestEachActionAsksItsOwnQuestion:
    """No two actions can be taken for each other, in the question and in the box."""

    def test_questions_and_boxes_differ(self) -> None:
        questions = {form_message(action, ITEM, PauseView.HUMAN_STEP, with_code=False) for action in Action}
        boxes = {str(form_schema(action, with_code=False)) for action in Action}

        assert (len(questions), len(boxes)) == (len(Action), len(Action))

    @pytest.mark.parametrize("view", PauseView)
    def test_the_question_names_the_item_and_nothing_else_of_it(self, view: PauseView) -> None:
        for action, with_code in product(Action, (False, True)):
            asked = form_message(action, ITEM, view, with_code=with_code)

            assert asked.count(ITEM) == 1 + with_code
            assert len(asked) <= 1000

    @pytest.mark.parametrize("action", Action)
    def test_other_doors_ask_in_the_same_words(self, action: Action) -> None:
        box: Any = form_schema(action, with_code=False)["properties"]

        assert action_words(action) in form_message(action, ITEM, PauseView.HUMAN_STEP, with_code=False)
        assert box_words(action) == box["confirm"]["title"]

    @pytest.mark.parametrize("action", Action)
    def test_every_field_is_required(self, action: Action) -> None:
        for with_code, fields in ((False, ["confirm"]), (True, ["confirm", "code"])):
            schema = form_schema(action, with_code=with_code)

            assert schema["required"] == fields
            assert list(schema["properties"]) == fields  # type: ignore[call-overload] # it is an object
