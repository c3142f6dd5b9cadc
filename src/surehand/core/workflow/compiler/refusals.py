"""Why recordings cannot become a workflow: closed codes, each with one sentence for a person.

Laws of this module:

- A refusal names a step of a recording and a code. It never repeats a text of the recording.
- Every code has a sentence that says what is wrong and what to do next.
"""

from enum import Enum, unique
from typing import Final

from attrs import frozen


@unique
class RefusalCode(Enum):
    """Why a recording is refused."""

    NO_RECORDING = "no_recording"
    OTHER_APP = "other_app"
    DEMONSTRATIONS_DIFFER = "demonstrations_differ"
    TOO_LARGE = "too_large"
    SECRET_AFTER_SIGN_IN = "secret_after_sign_in"  # noqa: S105 - a code, no secret
    FILE_UPLOAD = "file_upload"
    TWO_TABS = "two_tabs"
    RELOADED = "reloaded"
    WENT_BACK = "went_back"
    HUMAN_CHECK = "human_check"
    OTHER_SERVER = "other_server"
    DIALOG_NOT_SUPPORTED = "dialog_not_supported"
    DIALOG_WITHOUT_CLICK = "dialog_without_click"
    KEY_OUTSIDE_FIELD = "key_outside_field"
    CLICKED_TWICE = "clicked_twice"
    SEVERAL_CHOICES = "several_choices"
    SEARCHED_BY_OTHER_TEXT = "searched_by_other_text"
    NO_SAVE = "no_save"
    SAVED_BY_KEY = "saved_by_key"
    SAVE_CLICKED_TWICE = "save_clicked_twice"
    SAVE_FAILED = "save_failed"
    SEVERAL_WRITES_AT_SAVE = "several_writes_at_save"
    SAVE_ROUTE_NOT_UNIQUE = "save_route_not_unique"
    WRITE_NOT_SUPPORTED = "write_not_supported"
    TARGET_NOT_UNIQUE = "target_not_unique"
    PAGE_NOT_RECOGNISABLE = "page_not_recognisable"
    START_NOT_KNOWN = "start_not_known"
    IDENTITY_NOT_SHOWN = "identity_not_shown"
    CHANGED_RECORD_NOT_NAMED = "changed_record_not_named"
    NOTHING_ENTERED = "nothing_entered"


#: What each code says to a person: what is wrong, and what to do next.
SENTENCES: Final[dict[RefusalCode, str]] = {
    RefusalCode.NO_RECORDING: "There is no recording. Record the task first.",
    RefusalCode.OTHER_APP: "The recordings are of different apps. Compile recordings of one app together.",
    RefusalCode.DEMONSTRATIONS_DIFFER: (
        "The recordings take different steps from here on. Record the task again in the same order, "
        "or compile one recording alone."
    ),
    RefusalCode.TOO_LARGE: "The task has more steps or inputs than a workflow may have. Record a shorter task.",
    RefusalCode.SECRET_AFTER_SIGN_IN: (
        "A secret is typed after the sign-in. A workflow never holds or asks for a secret: record a task without one."
    ),
    RefusalCode.FILE_UPLOAD: "A file is uploaded. A workflow enters texts and choices: record the task without it.",
    RefusalCode.TWO_TABS: "The task goes on in another tab or window. Record it in one tab.",
    RefusalCode.RELOADED: "A page is reloaded, which can send a form again. Record the task without reloading.",
    RefusalCode.WENT_BACK: "The browser's Back is used. Record the task going forward only, by the app's own links.",
    RefusalCode.HUMAN_CHECK: "The app asks whether a person is there. A workflow cannot answer that for a person.",
    RefusalCode.OTHER_SERVER: (
        "This is on a page, or in a frame, of another server than the one that was recorded. Record the task at the "
        "address at which its own pages are."
    ),
    RefusalCode.DIALOG_NOT_SUPPORTED: (
        "The app opens a dialog that asks for a text, that warns before leaving, or a second one. "
        "Record the task on a way without it."
    ),
    RefusalCode.DIALOG_WITHOUT_CLICK: "A dialog opens without a click. Record the task on a way without it.",
    RefusalCode.KEY_OUTSIDE_FIELD: "A key or a shortcut outside a field does something. Use the mouse for it.",
    RefusalCode.CLICKED_TWICE: "Something is double-clicked. Record the task with single clicks.",
    RefusalCode.SEVERAL_CHOICES: "Several options are chosen in one list. A workflow chooses one in each list.",
    RefusalCode.SEARCHED_BY_OTHER_TEXT: (
        "A list is searched by something else than the option's own words. Search it by the whole option, by its first "
        "word, or by its last."
    ),
    RefusalCode.NO_SAVE: (
        "No click in the recording saves anything. Record the task with its save, and go on until the app has saved."
    ),
    RefusalCode.SAVED_BY_KEY: "The record is saved by a key. Click the button that saves instead.",
    RefusalCode.SAVE_CLICKED_TWICE: (
        "What saves is clicked more than once. Record the task again, without mistakes, with one single click on it."
    ),
    RefusalCode.SAVE_FAILED: "The app answered the save with an error. Record the task with values that it takes.",
    RefusalCode.SEVERAL_WRITES_AT_SAVE: (
        "The click that saves sends several writes, and their addresses do not tell them apart. "
        "Ask whoever keeps the app for an address that is used for this save alone."
    ),
    RefusalCode.SAVE_ROUTE_NOT_UNIQUE: (
        "The write that saves cannot be told from another write of this app, so it could not be kept to exactly one."
    ),
    RefusalCode.WRITE_NOT_SUPPORTED: "The app writes with a method or a kind of content that no route can name.",
    RefusalCode.TARGET_NOT_UNIQUE: (
        "What was used here cannot be told from other things on the page by its name, label, or row. "
        "If the list shows the same text twice, record with a record that is named differently."
    ),
    RefusalCode.PAGE_NOT_RECOGNISABLE: "This page has nothing that is there exactly once and tells it from others.",
    RefusalCode.START_NOT_KNOWN: "The recording does not hold the page on which the task begins. Record it again.",
    RefusalCode.IDENTITY_NOT_SHOWN: (
        "The page that saves shows fewer than two known facts of the record. Open the record from a list that shows "
        "them, and save on a page that shows them too."
    ),
    RefusalCode.CHANGED_RECORD_NOT_NAMED: (
        "A record is changed, and only what is entered says which one it is. Open it from a list, or by an address "
        "that holds its key."
    ),
    RefusalCode.NOTHING_ENTERED: "Nothing is entered or chosen before the save. A workflow enters something.",
}


@frozen
class CompileRefusal:
    """One refusal: the code, and the event of which recording it is about (both counted from 0), if of one."""

    code: RefusalCode
    step: int | None = None
    recording: int = 0

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return SENTENCES[self.code]
