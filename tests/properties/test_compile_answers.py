"""Answers to the questions of a draft: each is checked by itself, and every question and finding has its words."""

import pytest

from support.demonstration_strategies import answered
from support.demonstrations import Field, Shape, Values, demonstrate
from surehand.core.workflow.bundle import DateForm
from surehand.core.workflow.compile import (
    AnswerCode,
    AnswerProblem,
    Condition,
    Evidence,
    EvidenceCode,
    Option,
    Question,
    QuestionKind,
    compile_recordings,
    confirm,
    is_asked,
)
from surehand.core.workflow.compiler.questions import STOPPING, answer_problems
from surehand.core.workflow.compiler.wording import (
    ASKED,
    FOUND,
    OPTIONS,
    PROBLEMS,
    evidence_text,
    option_text,
    question_text,
)
from surehand.core.workflow.recording import Control

FIRST = Question(
    id="read_back.source", kind=QuestionKind.READ_BACK, subject="Notes", options=("json", "database", "stop")
)
THEN = Question(
    id="read_back.view",
    kind=QuestionKind.DATABASE_NAME,
    subject="view",
    options=(),
    when=Condition("read_back.source", ("database",)),
)
QUESTIONS = (FIRST, THEN)


class TestEachAnswer:
    """Every question that is asked has one answer out of its options, and nothing else is answered."""

    @pytest.mark.parametrize(
        ("answers", "expected"),
        [
            ({"read_back.source": "json"}, ()),
            ({"read_back.source": "database", "read_back.view": "Notes_v1"}, ()),
            ({}, (("read_back.source", AnswerCode.MISSING),)),
            ({"read_back.source": "database"}, (("read_back.view", AnswerCode.MISSING),)),
            ({"read_back.source": "jso"}, (("read_back.source", AnswerCode.NOT_AN_OPTION),)),
            ({"read_back.source": ""}, (("read_back.source", AnswerCode.NOT_AN_OPTION),)),
            ({"read_back.source": "stop"}, (("read_back.source", AnswerCode.STOPS),)),
            (
                {"read_back.source": "database", "read_back.view": "notes; drop table"},
                (("read_back.view", AnswerCode.NOT_AN_OPTION),),
            ),
            (
                {"read_back.source": "json", "read_back.other": "json"},
                (("read_back.other", AnswerCode.NOT_A_QUESTION),),
            ),
            ({"read_back.source": "json", "Ada Example": "json"}, (("*", AnswerCode.NOT_A_QUESTION),)),
        ],
    )
    def test_what_is_wrong_with_it(self, answers: dict[str, str], expected: tuple[tuple[str, AnswerCode], ...]) -> None:
        assert answer_problems(QUESTIONS, answers) == tuple(AnswerProblem(*each) for each in expected)

    def test_a_question_is_asked_when_its_condition_holds(self) -> None:
        assert [is_asked(THEN, {"read_back.source": option}) for option in FIRST.options] == [False, True, False]
        assert not is_asked(THEN, {})
        assert is_asked(FIRST, {})

    def test_an_answer_to_what_is_not_asked_changes_nothing(self) -> None:
        fields = (Field(caption="Note", control=Control.TEXT), Field(caption="Reporter"))
        recording = demonstrate(Shape(fields=fields), Values(texts=("Call back tomorrow", "Nurse Two")))
        draft = compile_recordings((recording,)).unwrap()
        answers = answered(draft)

        assert confirm(draft, {**answers, "read_back.view": "notes"}) == confirm(draft, answers)


class TestWords:
    """Every kind of question, option, finding and problem has words, and no two say the same."""

    @pytest.mark.parametrize(
        ("words", "codes"),
        [(ASKED, QuestionKind), (OPTIONS, Option), (FOUND, EvidenceCode), (PROBLEMS, AnswerCode)],
        ids=["questions", "options", "findings", "problems"],
    )
    def test_each_code_has_its_own(self, words: dict[object, str], codes: type) -> None:
        assert set(words) == set(codes)  # type: ignore[call-overload]  # the members of an enum
        assert len(set(words.values())) == len(words)
        assert all(words.values())

    @pytest.mark.parametrize(
        ("option", "expected"),
        [
            ("input", OPTIONS[Option.INPUT]),
            (DateForm.DAY_MONTH_DOT.value, "a date, written dd.mm.yyyy"),
            ("first_name", "first_name"),
        ],
    )
    def test_an_option(self, option: str, expected: str) -> None:
        assert option_text(option) == expected

    @pytest.mark.parametrize(
        ("evidence", "expected"),
        [
            (Evidence(EvidenceCode.TIMES_BEFORE_SAVE, 3), "times before the save: 3"),
            (Evidence(EvidenceCode.ADDRESS, text="/notes"), "address: /notes"),
            (Evidence(EvidenceCode.BY_ITSELF), "no click sent it"),
        ],
    )
    def test_a_finding(self, evidence: Evidence, expected: str) -> None:
        assert evidence_text(evidence) == expected

    def test_a_question(self) -> None:
        assert question_text(FIRST) == f"Notes: {ASKED[QuestionKind.READ_BACK]}"

    def test_what_stops_is_an_option(self) -> None:
        assert {Option.STOP.value, Option.IS_A_SAVE.value} == STOPPING
