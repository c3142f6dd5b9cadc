"""What a person is asked, in words: one sentence for each kind of question, option, finding and problem.

Laws of this module:

- Every closed code has its words; a text of the app stands beside them only where a question or a finding has one.
"""

from typing import Final

from surehand.core.workflow.bundle import DateForm
from surehand.core.workflow.compiler.questions import AnswerCode, Evidence, EvidenceCode, Option, Question, QuestionKind

ASKED: Final[dict[QuestionKind, str]] = {
    QuestionKind.FIELD_VALUE: "Does each run bring its own text for this field, or is it always the one you entered?",
    QuestionKind.FIELD_TYPE: "What kind of input is it?",
    QuestionKind.FIELD_ENTRY: "The app changed what was typed here. How is the text to be entered?",
    QuestionKind.FIELD_NOT_READ: "Nothing shows this field after the save. Is it no part of the saved record?",
    QuestionKind.ROW_VALUE: "Which row is opened: one that each run names, or always the one you clicked?",
    QuestionKind.SHOWN_VALUE: "The page that saves shows this text of the record. Is it checked before each save?",
    QuestionKind.ADDRESS_VALUE: "The address holds an id. Does each run bring its own, or is it always this one?",
    QuestionKind.UNIQUE: "Which of these tells the record from every other?",
    QuestionKind.SECOND: "Which other field is checked beside it? It can no longer be left empty then.",
    QuestionKind.SAVE: "The click that saves sent several writes. Which of them makes or changes the record?",
    QuestionKind.EFFECT: "Does the save make a new record, or change one that is there already?",
    QuestionKind.WRITE: "The app sent this write beside the save. What is it?",
    QuestionKind.SOCKET: "The app opened this WebSocket. May it stay open in a run? What it sends is not looked at.",
    QuestionKind.ORIGIN: "The app also talks to this server. Is it a part of the app?",
    QuestionKind.READ_BACK: "Where is the saved record read after each save?",
    QuestionKind.MAY_CHANGE: "These members changed beside what was entered. May they, in every run?",
    QuestionKind.GUARDS: "Should a run stop when somebody changed one of these members while the form was open?",
    QuestionKind.BUSINESS_KEY: "Should a run stop when a record with the same values is there already?",
    QuestionKind.DATABASE_NAME: "Its name in the database that the operator connected:",
}

OPTIONS: Final[dict[Option, str]] = {
    Option.INPUT: "an input of every run",
    Option.CONSTANT: "always the recorded text, which then stands in the workflow",
    Option.ANY_ROW: "the row does not matter: the list never has a second one",
    Option.LEAVE_OUT: "not looked at",
    Option.LISTED: "one of the options that the app offered, which then stand in the workflow",
    Option.OPEN: "any option that the app will offer",
    Option.TEXT: "a text",
    Option.DECIMAL: "a number: 7.5 and 7.50 are the same",
    Option.AT_ONCE: "set at once",
    Option.KEY_BY_KEY: "typed key by key",
    Option.NOT_PART: "it is no part of the record",
    Option.LET_THROUGH: "harmless: let it through",
    Option.HOLD_BACK: "not needed: hold it back",
    Option.IS_A_SAVE: "it saves something: no workflow can be made",
    Option.NEW_RECORD: "it makes a new one",
    Option.CHANGED_RECORD: "it changes the one that was opened",
    Option.YES: "yes",
    Option.NO: "no",
    Option.STOP: "stop: make no workflow",
    Option.JSON: "an answer of the app in JSON",
    Option.PAGES: "the list of records and the page of the new one",
    Option.RECORD_PAGE: "the page of the record",
    Option.DATABASE: "a view of a database that the operator connects",
}

FOUND: Final[dict[EvidenceCode, str]] = {
    EvidenceCode.RECORDINGS: "recordings",
    EvidenceCode.SAME_IN_ALL: "recordings, all with the same text",
    EvidenceCode.OPTIONS_OFFERED: "options that the app offered",
    EvidenceCode.DATE_FORMS: "forms of dates that fit",
    EvidenceCode.REWRITTEN_BY_APP: "the field held something else than what was typed",
    EvidenceCode.ON_SAVE_PAGE: "shown on the page that saves",
    EvidenceCode.ONE_ROW_ONLY: "the list had no second such row",
    EvidenceCode.REQUESTS: "requests",
    EvidenceCode.OPERATION: "operation",
    EvidenceCode.MAY_BE_SAVE: "it was sent",
    EvidenceCode.HELD_SOMETHING: "entered fields that held something before",
    EvidenceCode.SENT_BELOW: "it is sent to a list below a record, where each sending may make a new one",
    EvidenceCode.ONLY_QUERIES: "it only queries",
    EvidenceCode.TIMES_BEFORE_SAVE: "times before the save",
    EvidenceCode.TIMES_AFTER_SAVE: "times after the save",
    EvidenceCode.LOOKS_LIKE_DRAFT: "its address is like that of the save: it may be a draft",
    EvidenceCode.BY_ITSELF: "no click sent it",
    EvidenceCode.ADDRESS: "address",
    EvidenceCode.CREATES: "the save makes a new record",
    EvidenceCode.UPDATES: "the save changes a record",
    EvidenceCode.FIELD_READ_AS: "is read as",
    EvidenceCode.FIELDS_NOT_READ: "entered fields that are not shown there",
    EvidenceCode.MEMBER: "member",
}

PROBLEMS: Final[dict[AnswerCode, str]] = {
    AnswerCode.MISSING: "is not answered",
    AnswerCode.NOT_AN_OPTION: "has another answer than its options",
    AnswerCode.NOT_A_QUESTION: "is no question of this draft",
    AnswerCode.STOPS: "is answered so that no workflow can be made",
    AnswerCode.CONTRADICTS: "contradicts the other answers",
}


def option_text(option: str) -> str:
    """What an option means; a name of a field stands for itself."""
    if option in {form.value for form in DateForm}:
        return f"a date, written {option}"
    return next((text for each, text in OPTIONS.items() if each.value == option), option)


def evidence_text(evidence: Evidence) -> str:
    """A finding in words."""
    number = "" if evidence.number is None else f": {evidence.number}"
    text = "" if evidence.text is None else f": {evidence.text}"
    return f"{FOUND[evidence.code]}{number}{text}"


def question_text(question: Question) -> str:
    """What is asked."""
    return f"{question.subject}: {ASKED[question.kind]}"
