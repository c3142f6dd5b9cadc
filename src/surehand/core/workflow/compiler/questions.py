"""What a person must confirm before a draft becomes a workflow: closed questions, with the compiler's evidence.

Laws of this module:

- A question has a stable id and a closed set of options; none of them is chosen by default.
- Evidence is closed codes, numbers and texts of the app's own structure (captions, templates, names). It never holds
  a typed value or a text of a record.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum, unique
from typing import Annotated, Final

from attrs import frozen

from surehand.core.schema import Items, Text


@unique
class QuestionKind(Enum):
    """What is asked."""

    FIELD_VALUE = "field_value"
    FIELD_TYPE = "field_type"
    FIELD_ENTRY = "field_entry"
    FIELD_NOT_READ = "field_not_read"
    ROW_VALUE = "row_value"
    SHOWN_VALUE = "shown_value"
    ADDRESS_VALUE = "address_value"
    UNIQUE = "unique"
    SECOND = "second"
    SAVE = "save"
    EFFECT = "effect"
    WRITE = "write"
    SOCKET = "socket"
    ORIGIN = "origin"
    READ_BACK = "read_back"
    MAY_CHANGE = "may_change"
    GUARDS = "guards"
    BUSINESS_KEY = "business_key"
    DATABASE_NAME = "database_name"


@unique
class Option(Enum):
    """The fixed options; beside them there are names of fields, kinds of sources and forms of dates."""

    INPUT = "input"
    CONSTANT = "constant"
    ANY_ROW = "any_row"
    LEAVE_OUT = "leave_out"
    LISTED = "listed"
    OPEN = "open"
    TEXT = "text"
    DECIMAL = "decimal"
    AT_ONCE = "at_once"
    KEY_BY_KEY = "key_by_key"
    NOT_PART = "not_part_of_record"
    LET_THROUGH = "let_through"
    HOLD_BACK = "hold_back"
    IS_A_SAVE = "is_a_save"
    NEW_RECORD = "new_record"
    CHANGED_RECORD = "changed_record"
    YES = "yes"
    NO = "no"
    STOP = "stop"
    JSON = "json"
    PAGES = "pages"
    RECORD_PAGE = "record_page"
    DATABASE = "database"


#: Answers with which no workflow can be made.
STOPPING: Final = frozenset({Option.STOP.value, Option.IS_A_SAVE.value})


@unique
class EvidenceCode(Enum):
    """What the compiler found."""

    RECORDINGS = "recordings"
    SAME_IN_ALL = "same_in_all"
    OPTIONS_OFFERED = "options_offered"
    DATE_FORMS = "date_forms"
    REWRITTEN_BY_APP = "rewritten_by_app"
    ON_SAVE_PAGE = "on_save_page"
    ONE_ROW_ONLY = "one_row_only"
    REQUESTS = "requests"
    OPERATION = "operation"
    MAY_BE_SAVE = "may_be_save"
    HELD_SOMETHING = "held_something"
    SENT_BELOW = "sent_below"
    ONLY_QUERIES = "only_queries"
    TIMES_BEFORE_SAVE = "times_before_save"
    TIMES_AFTER_SAVE = "times_after_save"
    LOOKS_LIKE_DRAFT = "looks_like_draft"
    BY_ITSELF = "by_itself"
    ADDRESS = "address"
    CREATES = "creates"
    UPDATES = "updates"
    FIELD_READ_AS = "field_read_as"
    FIELDS_NOT_READ = "fields_not_read"
    MEMBER = "member"


@frozen
class Evidence:
    """One finding; ``text`` is a caption, a template or a name of the app."""

    code: EvidenceCode
    number: int | None = None
    text: Annotated[str, Text(max_length=300)] | None = None


@frozen
class Condition:
    """A question is asked only when another one was answered with one of these options."""

    question: str
    options: Annotated[tuple[str, ...], Items(max_items=10)]


@frozen(kw_only=True)
class Question:
    """One question. Without options, the answer is a name of a connection, a view or a column."""

    id: str
    kind: QuestionKind
    subject: str
    options: Annotated[tuple[str, ...], Items(max_items=60)]
    evidence: Annotated[tuple[Evidence, ...], Items(max_items=60)] = ()
    when: Condition | None = None


@unique
class AnswerCode(Enum):
    """What is wrong with an answer."""

    MISSING = "missing"
    NOT_AN_OPTION = "not_an_option"
    NOT_A_QUESTION = "not_a_question"
    STOPS = "stops"
    CONTRADICTS = "contradicts"


@frozen
class AnswerProblem:
    """One problem: the question's id, or ``bundle`` for the answers together, and what is wrong.

    ``rule`` is the rule of bundles that the answers together break.
    """

    id: str
    code: AnswerCode
    rule: str | None = None


_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]{0,62}")


def is_asked(question: Question, answers: Mapping[str, str]) -> bool:
    """Whether the question is asked, given the other answers."""
    return question.when is None or answers.get(question.when.question) in question.when.options


def answer_problems(questions: tuple[Question, ...], answers: Mapping[str, str]) -> tuple[AnswerProblem, ...]:
    """Everything that is wrong with the answers one by one; what answers mean together is judged later."""
    return (*_of_questions(questions, answers), *_of_strangers(questions, answers))


def _of_questions(questions: tuple[Question, ...], answers: Mapping[str, str]) -> Iterator[AnswerProblem]:
    for question in questions:
        code = _code(question, answers.get(question.id)) if is_asked(question, answers) else None
        if code is not None:
            yield AnswerProblem(question.id, code)


def _code(question: Question, answer: str | None) -> AnswerCode | None:
    if answer is None:
        return AnswerCode.MISSING
    fits = answer in question.options if question.options else _NAME.fullmatch(answer) is not None
    if not fits:
        return AnswerCode.NOT_AN_OPTION
    return AnswerCode.STOPS if answer in STOPPING else None


def _of_strangers(questions: tuple[Question, ...], answers: Mapping[str, str]) -> Iterator[AnswerProblem]:
    """Answers to nothing; a foreign id is not repeated when it cannot be an id of ours."""
    known = {question.id for question in questions}
    for identity in sorted(set(answers) - known):
        yield AnswerProblem(identity if re.fullmatch("[a-z0-9_.]{1,80}", identity) else "*", AnswerCode.NOT_A_QUESTION)
