"""The table of false success, wrong records and changed values: group (a) of the case layer.

Laws of this module:

- One row for each cell. What the app does stands in the row; what is right stands in its sentence and its figures.
"""

import unicodedata
from collections.abc import Callable
from typing import Final

from attrs import evolve

from faults.cases_app import Answer, ChartApp, Faults, Members, lost
from faults.cases_rig import ALEX, NOTE_CANARY, ROBIN, SAVE, Cell
from surehand.core.outcome.reasons import Reason
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.params import Parameter
from surehand.core.workflow.route import WriteRoute

DONE, NOT_SURE, SCREEN = Reason.SAVED_AND_CHECKED, Reason.SAVE_NOT_CONFIRMED, Reason.UNEXPECTED_SCREEN
INVALID, WHO = Reason.INVALID_INPUT, Reason.RECORD_NOT_CONFIRMED

#: Sends the form in the background and says "saved" whatever the answer is.
BACKGROUND: Final = """form.addEventListener('submit', event => {
    event.preventDefault();
    fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form))});
    document.querySelector('[role=status]').textContent = 'Entry saved.';
});"""

#: Shows the new entry out of its own memory, and sends it in the background.
OPTIMISTIC: Final = """window.entries = [];
form.addEventListener('submit', event => {
    event.preventDefault();
    const entry = Object.fromEntries(new FormData(form));
    const shown = name => document.querySelector(`[data-testid=${name}]`).textContent;
    window.entries.push({...entry, id: 'local', number: shown('number'), born: shown('born')});
    document.querySelector('[role=status]').textContent = 'Saved: ' + entry.note;
    fetch(form.action, {method: 'PUT', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(entry)});
});"""

FIVE: Final = {
    "note": f"{NOTE_CANARY} seen today",
    "dose": "0.5",
    "due": "2026-05-04",
    "code": "01231456",
    "priority": "Urgent",
}


def dropping(name: str) -> Callable[[Members], list[Members]]:
    """An app that silently leaves a field out."""
    return lambda sent: [{key: value for key, value in sent.items() if key != name}]


def changing(name: str, change: Callable[[str], str]) -> Callable[[Members], list[Members]]:
    """An app that stores another value than it was sent."""
    return lambda sent: [{**sent, name: change(sent[name])}]


def by_put(bundle: Bundle) -> Bundle:
    """The workflow of an app that saves by PUT and JSON."""
    return evolve(bundle, save=evolve(SAVE, route=WriteRoute("PUT", "/patients/*/entries", "application/json")))


def on_submit(statement: str) -> str:
    """A page that changes a hidden model just before it is sent; ``shown`` is the field, ``model`` what is sent."""
    return f"""const shown = document.querySelector('#shown'), model = document.querySelector('#model');
    form.addEventListener('submit', () => {{ {statement} }});"""


def modelled(label: str, name: str) -> dict[str, str]:
    """A field whose shown text is not what is sent."""
    return {name: f"<label>{label} <input id=shown></label><input type=hidden id=model name={name}>"}


def _zone(zone: str) -> str:
    return f"""model.value = new Intl.DateTimeFormat('en-CA', {{timeZone: '{zone}'}}).format(new Date(shown.value));"""


A1: Final = (
    Cell(
        name="a1_error_500_says_saved",
        sentence="The app answers 500, stores nothing, and its page says saved: no proof either way.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(store=lost, answer=Answer.ERROR_500),
        short=True,
    ),
    Cell(
        name="a1_background_error_says_saved",
        sentence="A script says saved before the background save is answered 500.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(store=lost, answer=Answer.ERROR_500, form_script=BACKGROUND),
    ),
    Cell(
        name="a1_background_save_works",
        sentence="The same script with a save that works is done.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(form_script=BACKGROUND, answer=Answer.PAGE),
    ),
    Cell(
        name="a1_error_500_after_storing",
        sentence="A 500 does not prove that nothing was written: the record is there, so it is done.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.ERROR_500),
    ),
)

A2: Final = (
    *(
        Cell(
            name=f"a2_drops_{name}",
            sentence=f"The app stores an entry without its {name} and says saved.",
            reason=NOT_SURE,
            posts=1,
            right=0,
            wrong=1,
            inputs=FIVE,
            faults=Faults(store=dropping(name)),
            short=name == "code",
        )
        for name in FIVE
    ),
    Cell(
        name="a2_drops_everything",
        sentence="One bad field makes the app drop the whole entry, and it says saved.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        inputs=FIVE,
        faults=Faults(store=lost),
    ),
    Cell(
        name="a2_five_fields_kept",
        sentence="All five fields are stored.",
        reason=DONE,
        posts=1,
        right=1,
        inputs=FIVE,
    ),
)

A3: Final = (
    Cell(
        name="a3_optimistic_and_refused",
        sentence="The page shows the entry out of its own memory; the write is refused in the background.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(store=lost, answer=Answer.UNPROCESSABLE, answer_after=0.6, form_script=OPTIMISTIC),
        changed=by_put,
    ),
    Cell(
        name="a3_optimistic_and_lost",
        sentence="The page shows the entry out of its own memory; the write breaks down in the background.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        faults=Faults(store=lost, answer=Answer.BAD_GATEWAY, answer_after=0.6, form_script=OPTIMISTIC),
        changed=by_put,
        short=True,
    ),
    Cell(
        name="a3_refused_and_saved_by_another",
        sentence="The write is refused, and somebody else saves the same entry in that moment.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.UNPROCESSABLE),
        short=True,
    ),
    Cell(
        name="a3_optimistic_and_kept",
        sentence="The same page with a write that is accepted is done.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.PAGE, form_script=OPTIMISTIC),
        changed=by_put,
    ),
)


def _due(name: str, sentence: str, reason: Reason, faults: Faults, *, posts: int = 1) -> Cell:
    right = int(reason is DONE)
    return Cell(
        name=name,
        sentence=sentence,
        reason=reason,
        posts=posts,
        right=right,
        wrong=posts - right,
        inputs={"note": f"{NOTE_CANARY} born", "due": "1970-04-04"},
        faults=faults,
    )


def _day_earlier_from_second(rows: list[Members], reads: int) -> list[Members]:
    """The first read after the save is right, every later one is a day off."""
    return [{**row, "due": "1970-04-03"} for row in rows] if reads > 1 + 1 else rows


A5: Final = (
    _due(
        "a5_cancun",
        "The app turns a date into an instant and stores the local day of Cancun, one day earlier.",
        NOT_SURE,
        Faults(controls=modelled("Due", "due"), form_script=on_submit(_zone("America/Cancun"))),
    ),
    _due(
        "a5_utc",
        "The same app in UTC stores the day that was meant.",
        DONE,
        Faults(controls=modelled("Due", "due"), form_script=on_submit(_zone("UTC"))),
    ),
    _due(
        "a5_auckland",
        "Local midnight in Auckland, turned into UTC, is the day before.",
        NOT_SURE,
        Faults(
            controls=modelled("Due", "due"),
            form_script=on_submit(
                "model.value = new Date(shown.value + 'T00:00:00+12:00').toISOString().slice(0, 10);"
            ),
        ),
    ),
    _due(
        "a5_shown_a_day_earlier",
        "The field itself shows the day before once it is left.",
        SCREEN,
        Faults(
            form_script="form.due.addEventListener('blur', () => { form.due.value = "
            "new Date(Date.parse(form.due.value) - 1).toISOString().slice(0, 10); });"
        ),
        posts=0,
    ),
    _due(
        "a5_shifts_with_the_second_read",
        "The date is right when it is checked and shifts later: done, with the time of the check.",
        DONE,
        Faults(shown=_day_earlier_from_second),
    ),
)


def _cut_at_emoji(text: str) -> str:
    return text[: next((at for at, character in enumerate(text) if ord(character) > 0xFFFF), len(text))]


def _note(name: str, sentence: str, note: str, change: Callable[[str], str], reason: Reason = NOT_SURE) -> Cell:
    right = int(reason is DONE)
    return Cell(
        name=name,
        sentence=sentence,
        reason=reason,
        posts=1,
        right=right,
        wrong=1 - right,
        inputs={"note": f"{NOTE_CANARY} {note}"},
        faults=Faults(store=changing("note", change)),
        short=name == "a7_emoji_inside",
    )


_CUT = "The stored text ends before its first 4-byte character: a prefix is not the text."
A7: Final = (
    _note("a7_emoji_inside", _CUT, "call back \U0001f6b2 in 2 weeks", _cut_at_emoji),
    _note("a7_emoji_last", _CUT, "call back \U0001f6b2", _cut_at_emoji),
    _note("a7_two_emoji", _CUT, "\U0001f6b2 and \U0001f691 called", _cut_at_emoji),
    _note("a7_kept", "The same text is stored whole.", "call back \U0001f6b2 in 2 weeks", str, DONE),
)

DOSES: Final = ("0.5", "0.55", "1.5", "5.99", "1000.5")


def _german(text: str) -> str:
    return str(float(text.replace(".", "").replace(",", ".")))


def _french(text: str) -> str:
    return "" if "." in text else text.replace(",", ".")


_LOCALES: Final[dict[str, tuple[Callable[[str], str], str, Reason]]] = {
    "de": (_german, "A German server takes the decimal point for grouping.", NOT_SURE),
    "fr": (_french, "A French server refuses the decimal point and stores nothing in the field.", NOT_SURE),
    "en": (lambda text: str(float(text)), "An English server stores the number.", DONE),
}


def _dose(  # noqa: PLR0913 - one row of the table
    name: str, sentence: str, dose: str, reason: Reason, faults: Faults, *, posts: int = 1
) -> Cell:
    right = int(reason is DONE)
    return Cell(
        name=name,
        sentence=sentence,
        reason=reason,
        posts=posts,
        right=right,
        wrong=posts - right,
        inputs={"dose": dose},
        faults=faults,
    )


A9: Final = (
    *(
        _dose(
            f"a9_{locale}_{dose.replace('.', '_')}",
            sentence,
            dose,
            reason,
            Faults(store=changing("dose", change)),
        )
        for locale, (change, sentence, reason) in _LOCALES.items()
        for dose in DOSES
    ),
    *(
        _dose(
            f"a9_format_{number}",
            "A number in another form is refused before anything is opened.",
            dose,
            INVALID,
            Faults(),
            posts=0,
        )
        for number, dose in enumerate(("1,5", "1 000.5", "1e3", "007", "+1", ".5", "5.", "\u0663", "", "1.5 "))
    ),
    _dose(
        "a9_echo_without_the_dot",
        "The field drops the dot as soon as it is left.",
        "0.5",
        SCREEN,
        Faults(
            form_script="form.dose.addEventListener('blur', () => form.dose.value = form.dose.value.replace('.', ''));"
        ),
        posts=0,
    ),
    _dose(
        "a9_echo_with_a_comma",
        "The field shows a comma once it is left: not the form that was meant, so a person looks.",
        "0.5",
        SCREEN,
        Faults(
            form_script="form.dose.addEventListener('blur', () => form.dose.value = form.dose.value.replace('.', ','));"
        ),
        posts=0,
    ),
    _dose(
        "a9_number_field",
        "A number field takes the number as it is.",
        "1000.5",
        DONE,
        Faults(controls={"dose": "<label>Dose <input type=number step=any name=dose></label>"}),
    ),
)


def _code(name: str, sentence: str, code: str, change: Callable[[str], str]) -> Cell:
    return Cell(
        name=name,
        sentence=sentence,
        reason=NOT_SURE,
        posts=1,
        right=0,
        wrong=1,
        inputs={"note": f"{NOTE_CANARY} coded", "code": code},
        faults=Faults(store=changing("code", change)),
    )


A10: Final = (
    _note(
        "a10_composed",
        "A decomposed accent is stored composed: the same text.",
        "Jose\u0301 called",
        lambda text: unicodedata.normalize("NFC", text),
        DONE,
    ),
    _note(
        "a10_decomposed",
        "A composed accent is stored decomposed: the same text.",
        "Jos\u00e9 called",
        lambda text: unicodedata.normalize("NFD", text),
        DONE,
    ),
    _note(
        "a10_line_feeds",
        "Line endings stored as line feeds are the same text.",
        "a\nb",
        lambda text: text.replace("\r\n", "\n"),
        DONE,
    ),
    _note("a10_crlf", "Line endings stored as CRLF are the same text.", "a\nb", str, DONE),
    _note(
        "a10_line_break_lost",
        "A line break stored as a blank is another text.",
        "a\nb",
        lambda text: text.replace("\r\n", " "),
    ),
    _note("a10_trimmed", "Blanks at the end were cut off: another text.", "by phone  ", str.rstrip),
    _note(
        "a10_inner_blanks", "Two blanks became one: another text.", "by  phone", lambda text: text.replace("  ", " ")
    ),
    _note(
        "a10_no_break_space",
        "A no-break space became a blank: another text.",
        "by\u00a0phone",
        lambda text: text.replace("\u00a0", " "),
    ),
    _code(
        "a10_leading_zero",
        "An identifier was stored as a number: another identifier.",
        "01231456",
        lambda text: text.lstrip("0"),
    ),
    _code("a10_case", "An identifier was stored in capitals: another identifier.", "ab12", str.upper),
    _code(
        "a10_full_width",
        "An identifier was stored in compatibility form: another one.",
        "\uff21\uff1112",
        lambda text: unicodedata.normalize("NFKC", text),
    ),
)

A11: Final = (
    Cell(
        name="a11_lag_below_the_deadline",
        sentence="The list shows the entry 0.4 s later, within the deadline.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(lag=0.4),
    ),
    Cell(
        name="a11_lag_above_the_deadline",
        sentence="The list shows the entry after the deadline: absence is no proof; a repeated call writes nothing.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        faults=Faults(lag=30.0),
    ),
)


def _switch_session(app: ChartApp) -> None:
    app.session = ROBIN.number


_OTHER_PATIENT_LIVE = f"""document.querySelector('textarea').addEventListener('blur', () => {{
    document.querySelector('[data-testid=number]').textContent = '{ROBIN.number}';
    document.querySelector('[data-testid=born]').textContent = '{ROBIN.born}';
}});"""


A13: Final = (
    Cell(
        name="a13_session_switched_before_save",
        sentence="Another window switches the session's patient before the save: the row lies under the other.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        wrong=1,
        faults=Faults(session_decides=True, at_read=(1, _switch_session)),
        also=lambda app: None if app.stored[0]["number"] == ROBIN.number else "the row lies under another chart",
        short=True,
    ),
    Cell(
        name="a13_session_switched_before_the_form",
        sentence="The session's patient was switched before the form was loaded: the form shows the other one.",
        reason=WHO,
        posts=0,
        right=0,
        faults=Faults(session_decides=True, before_form=_switch_session),
    ),
    Cell(
        name="a13_header_changes_while_filling",
        sentence="The page turns to another patient while it is filled: identity is compared directly before the save.",
        reason=WHO,
        posts=0,
        right=0,
        faults=Faults(form_script=_OTHER_PATIENT_LIVE),
    ),
    Cell(
        name="a13_session_kept",
        sentence="The session's patient stays.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(session_decides=True),
    ),
    Cell(
        name="a13_stored_under_two",
        sentence="The app stores the entry under the intended chart and under another one.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        wrong=1,
        faults=Faults(store=lambda sent: [sent, {**sent, "number": ROBIN.number, "born": ROBIN.born}]),
    ),
)


def _colleague_edits(app: ChartApp) -> None:
    app.charts[ALEX.number] = {"allergy": "latex", "edited_by": "colleague"}


def _allergy(wanted: str) -> Callable[[ChartApp], str | None]:
    def asked(app: ChartApp) -> str | None:
        found = app.charts[ALEX.number]["allergy"]
        return None if found == wanted else "the chart's allergy is not what the cell foresees"

    return asked


def _guarded(bundle: Bundle) -> Bundle:
    return evolve(bundle, guards=("allergy",))


A15: Final = (
    Cell(
        name="a15_edit_is_guarded",
        sentence="A colleague changed a guarded field after the form was loaded: the run stops, and the change stays.",
        reason=SCREEN,
        posts=0,
        right=0,
        faults=Faults(whole_record=True, after_form=_colleague_edits),
        changed=_guarded,
        also=_allergy("latex"),
        short=True,
    ),
    Cell(
        name="a15_edit_is_not_guarded",
        sentence="Without a guard the form overwrites the colleague's change; the read-back sees that.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        faults=Faults(whole_record=True, after_form=_colleague_edits),
        also=_allergy("none"),
    ),
    Cell(
        name="a15_edit_in_the_last_moment",
        sentence="The colleague's change comes after the guard was read again: overwritten, and seen afterwards.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        faults=Faults(whole_record=True, at_read=(2, _colleague_edits)),
        changed=_guarded,
        also=_allergy("none"),
    ),
    Cell(
        name="a15_nobody_edits",
        sentence="Guards that hold do not keep a save from being done.",
        reason=DONE,
        posts=1,
        right=1,
        faults=Faults(whole_record=True),
        changed=_guarded,
        also=_allergy("none"),
    ),
)


def _limited(name: str) -> Callable[[Bundle], Bundle]:
    """The workflow whose recording knew that the field takes ten UTF-16 units."""

    def changed(bundle: Bundle) -> Bundle:
        return evolve(bundle, parameters=tuple(_with_limit(each, name) for each in bundle.parameters))

    return changed


def _with_limit(each: Parameter, name: str) -> Parameter:
    return evolve(each, max_units=10) if each.name == name else each


_TEN_LONG: Final = {"subject": "<label>Subject <input name=subject maxlength=10></label>"}
_WOMAN: Final = "\U0001f469\u200d\u2695\ufe0f"


def _subject(  # noqa: PLR0913 - one row of the table
    name: str, sentence: str, subject: str, reason: Reason, faults: Faults, *, posts: int, known: bool = False
) -> Cell:
    right = int(reason is DONE)
    return Cell(
        name=name,
        sentence=sentence,
        reason=reason,
        posts=posts,
        right=right,
        wrong=posts - right,
        inputs={"subject": subject},
        faults=faults,
        changed=_limited("subject") if known else lambda bundle: bundle,
    )


_LONG = Faults(controls=_TEN_LONG)
_KEEPS_TEN = Faults(
    controls=modelled("Subject", "subject"), form_script=on_submit("model.value = shown.value.slice(0, 10);")
)
A16: Final = (
    _subject("a16_known_limit", "The limit is known: refused.", "eleven char", INVALID, _LONG, posts=0, known=True),
    _subject(
        "a16_known_limit_emoji",
        "Limits count UTF-16 units: refused.",
        f"abcd{_WOMAN}cd",
        INVALID,
        _LONG,
        posts=0,
        known=True,
    ),
    _subject(
        "a16_known_limit_accents",
        "Decomposed accents count twice: refused.",
        "e\u0301" * 6,
        INVALID,
        _LONG,
        posts=0,
        known=True,
    ),
    _subject(
        "a16_at_the_limit", "Exactly as long as the field takes.", "e\u0301" * 5, DONE, _LONG, posts=1, known=True
    ),
    _subject("a16_echo_is_cut", "The field takes ten characters of eleven.", "eleven char", SCREEN, _LONG, posts=0),
    _subject("a16_echo_cut_in_an_emoji", "The field cuts within one sign.", f"abcdefg{_WOMAN}", SCREEN, _LONG, posts=0),
    _subject(
        "a16_model_is_cut",
        "The field shows all and keeps ten characters.",
        "eleven char",
        NOT_SURE,
        _KEEPS_TEN,
        posts=1,
    ),
    _subject(
        "a16_server_cuts",
        "The server cuts at 255 characters and says saved.",
        "long text " * 30,
        NOT_SURE,
        Faults(store=changing("subject", lambda text: text[:255])),
        posts=1,
    ),
    _subject(
        "a16_server_cuts_accents",
        "The server cuts between a letter and its accent.",
        "a" * 254 + "e\u0301",
        NOT_SURE,
        Faults(store=changing("subject", lambda text: text[:255])),
        posts=1,
    ),
)

FALSE_SUCCESS: Final[tuple[Cell, ...]] = (*A1, *A2, *A3, *A5, *A7, *A9, *A10, *A11, *A13, *A15, *A16)
