"""The table of targets and pages that behave: group (c) of the case layer.

Laws of this module:

- As in ``cases_success``. What a page does is deterministic: an event that comes "too early" or "too late" is tied to
  what is done on the page, not to the clock.
"""

from collections.abc import Callable
from typing import Final

from attrs import evolve

from faults.cases_app import CONTROLS, Answer, ChartApp, Faults, Members, Patient
from faults.cases_rig import ALEX, NOTE_CANARY, PAGE_CANARY, PRIORITIES, ROBIN, Cell, role
from surehand.core.outcome.reasons import Reason
from surehand.core.workflow.bundle import Bundle, ClickStep, OpenStep
from surehand.core.workflow.params import ParameterType
from surehand.core.workflow.target import FromInput, Target

DONE, NOT_SURE, SCREEN = Reason.SAVED_AND_CHECKED, Reason.SAVE_NOT_CONFIRMED, Reason.UNEXPECTED_SCREEN
WHO, INVALID, PERSON = Reason.RECORD_NOT_CONFIRMED, Reason.INVALID_INPUT, Reason.PERSON_NEEDED

NOTE: Final = {"note": f"{NOTE_CANARY} seen today"}


def _cell(  # noqa: PLR0913 - one row of the table
    name: str,
    sentence: str,
    reason: Reason,
    faults: Faults,
    *,
    wrong: int = 0,
    inputs: dict[str, str] = NOTE,
    changed: Callable[[Bundle], Bundle] = lambda bundle: bundle,
    patients: tuple[Patient, ...] = (ROBIN, ALEX),
    also: Callable[[ChartApp], str | None] = lambda _: None,
    short: bool = False,
) -> Cell:
    """A cell whose save is right when it is done, and writes nothing when it stops before."""
    return Cell(
        name=name,
        sentence=sentence,
        reason=reason,
        posts=int(reason in {DONE, NOT_SURE}),
        right=int(reason is DONE),
        wrong=wrong,
        inputs=inputs,
        faults=faults,
        changed=changed,
        patients=patients,
        also=also,
        short=short,
    )


#: C1 is about rows that are used again.

_RECYCLED: Final = """const rows = [...document.querySelectorAll('tbody tr')];
const data = rows.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent));
rows.forEach((row, at) => row.querySelector('a').onclick = event => {
    event.preventDefault();
    location.href = '/patients/' + data[at][0] + '/entries/new';
});
const shift = () => {
    data.unshift(data.pop());
    rows.forEach((row, at) => data[at].forEach((text, cell) => row.cells[cell].textContent = text));
};"""
_ON_HOVER: Final = "document.addEventListener('mousemove', shift, {once: true});"

THIRD: Final = Patient("VNUMB8K3Y-3", "1950-02-03", f"Chris Sample {PAGE_CANARY}")

C1: Final = (
    _cell(
        "c1_row_recycled_under_the_click",
        "The row's data move on between look-up and click: the other chart opens, and its identity stops the run.",
        WHO,
        Faults(list_script=_RECYCLED + _ON_HOVER),
        patients=(THIRD, ROBIN, ALEX),
        short=True,
    ),
    _cell(
        "c1_rows_in_another_order",
        "The rows have another order than ever before: the row is found by its number.",
        DONE,
        Faults(list_script=_RECYCLED + "shift(); shift();"),
        patients=(THIRD, ROBIN, ALEX),
    ),
)

#: C2 is about no healing.

_LOOK_ALIKE: Final = "<button type=button onclick='form.submit()'>Save</button>"
C2: Final = (
    _cell(
        "c2_class_renamed",
        "The button's class and id changed: role and name are what is looked for.",
        DONE,
        Faults(save_button="<button class='x81' id='x82'>Save</button>"),
    ),
    _cell("c2_look_alike", "A second button has the same name.", SCREEN, Faults(form_extra=_LOOK_ALIKE)),
    _cell("c2_renamed", "The button has another name.", SCREEN, Faults(save_button="<button>Store</button>")),
    _cell(
        "c2_field_renamed",
        "The field has another label, and one that contains the old one.",
        SCREEN,
        Faults(controls={"note": "<label>Note to file <textarea name=note></textarea></label>"}),
    ),
)

#: C3 is about not unique.


def _picking(target: Target) -> Callable[[Bundle], Bundle]:
    """The workflow that picks the chart by another target."""

    def changed(bundle: Bundle) -> Bundle:
        steps = (evolve(step, target=target) if isinstance(step, ClickStep) else step for step in bundle.steps)
        return evolve(bundle, steps=tuple(steps))

    return changed


_PHONES: Final = "<label>Subject (work) <input name=work></label><label>Subject <input name=subject></label>"
_TWO: Final = "<label>Subject <input name=other></label><label>Subject <input name=subject></label>"
SUBJECT: Final = {"subject": "555 0100"}

C3: Final = (
    _cell(
        "c3_two_open_links",
        "Two rows, and a target without a row.",
        WHO,
        Faults(),
        changed=_picking(role("Open", "link")),
    ),
    _cell(
        "c3_label_within_a_label",
        "One label is part of another: only the exact one is meant.",
        DONE,
        Faults(controls={"subject": _PHONES}),
        inputs=SUBJECT,
    ),
    _cell(
        "c3_two_equal_labels",
        "Two fields have the same label.",
        SCREEN,
        Faults(controls={"subject": _TWO}),
        inputs=SUBJECT,
        short=True,
    ),
    _cell(
        "c3_hidden_twin",
        "A twin of the field is not shown: what is shown is meant.",
        DONE,
        Faults(controls={"subject": f"<div hidden><label>Subject <input></label></div>{CONTROLS['subject']}"}),
        inputs=SUBJECT,
    ),
)

#: C5 is about options.

_PAIRS: Final = {
    "citizen": ("US Citizen", "Non-US Citizen"),
    "no": ("No", "Not at this time"),
    "yes": ("Yes", "Yes, with aid"),
}


def _offering(choice: str) -> Callable[[Bundle], Bundle]:
    def changed(bundle: Bundle) -> Bundle:
        parameters = (
            evolve(each, choices=(choice, *PRIORITIES)) if each.type is ParameterType.CHOICE else each
            for each in bundle.parameters
        )
        return evolve(bundle, parameters=tuple(parameters))

    return changed


def _options(*labels: str) -> Faults:
    options = "".join(f"<option>{label}" for label in ("Please choose", *labels))
    return Faults(controls={"priority": f"<label for=p>Priority</label><select id=p name=priority>{options}</select>"})


def _choice(name: str, sentence: str, reason: Reason, wanted: str, *labels: str) -> Cell:
    return _cell(name, sentence, reason, _options(*labels), inputs={"priority": wanted}, changed=_offering(wanted))


C5: Final = (
    *(
        _choice(f"c5_{name}_{order}", "The option is chosen by its whole text.", DONE, pair[0], *labels)
        for name, pair in _PAIRS.items()
        for order, labels in (("first", pair), ("last", pair[::-1]))
    ),
    *(
        _choice(f"c5_{name}_missing", "Only an option that contains the text is there.", SCREEN, pair[0], pair[1])
        for name, pair in _PAIRS.items()
    ),
    _choice("c5_twice", "Two options have this text.", SCREEN, "Yes", "Yes", "No", "Yes"),
)

#: C6 is about suggestions.

_TAKES_FIRST: Final = (
    "const take = () => { if (form.subject.value.startsWith('met')) form.subject.value = 'Metoprolol'; };"
)
DRUG: Final = {"subject": "metformin", "note": f"{NOTE_CANARY} ordered"}


def _suggests(  # noqa: PLR0913 - one row of the table
    name: str, sentence: str, reason: Reason, event: str, *, wrong: int = 0, short: bool = False
) -> Cell:
    faults = Faults(form_script=_TAKES_FIRST + event)
    return _cell(name, sentence, reason, faults, inputs=DRUG, wrong=wrong, short=short)


C6: Final = (
    _suggests(
        "c6_replaced_on_blur",
        "The first suggestion replaces the text as the field is left.",
        SCREEN,
        "form.subject.addEventListener('blur', take);",
        short=True,
    ),
    _suggests(
        "c6_replaced_later",
        "The suggestion arrives while the next field is filled: every field is read again before the save.",
        SCREEN,
        "form.note.addEventListener('input', take);",
    ),
    _suggests(
        "c6_replaced_by_the_save",
        "The suggestion is taken as the button is pressed: the stored text is another.",
        NOT_SURE,
        "document.querySelector('button').addEventListener('mousedown', take);",
        wrong=1,
    ),
    _suggests("c6_not_replaced", "No suggestion is taken.", DONE, ""),
)

#: C7 is about dates.


def _day(  # noqa: PLR0913 - one row of the table
    name: str, sentence: str, reason: Reason, day: str, faults: Faults, *, wrong: int = 0
) -> Cell:
    return _cell(name, sentence, reason, faults, inputs={"due": day}, wrong=wrong)


def _parsed(locale: str) -> Faults:
    """A text field that shows, once it is left, what it understood in its own locale."""
    script = f"""form.due.addEventListener('blur', () => {{
        const date = new Date(form.due.value);
        form.due.value = isNaN(date) ? '' : date.toLocaleDateString('{locale}', {{timeZone: 'UTC'}});
    }});"""
    return Faults(form_script=script)


#: A field that reads the second number as the day.
_YEAR_DAY_MONTH: Final = """form.due.addEventListener('blur', () => {
    const [year, day, month] = form.due.value.split('-');
    form.due.value = Number(month) > 12 ? '' : `${year}-${month}-${day}`;
});"""
_NATIVE: Final = Faults(controls={"due": "<label>Due <input type=date name=due value='1999-12-31'></label>"})


def _swapped(sent: Members) -> list[Members]:
    year, month, day = sent["due"].split("-")
    return [{**sent, "due": f"{year}-{day}-{month}"}]


C7: Final = (
    _day("c7_us_field", "The field shows an American date.", SCREEN, "2026-05-04", _parsed("en-US")),
    _day("c7_british_field", "The field shows a British date.", SCREEN, "2026-05-31", _parsed("en-GB")),
    _day("c7_swapped", "Day and month are swapped.", SCREEN, "2026-05-04", Faults(form_script=_YEAR_DAY_MONTH)),
    _day("c7_not_swappable", "The field empties itself.", SCREEN, "2026-05-31", Faults(form_script=_YEAR_DAY_MONTH)),
    _day("c7_same_swapped", "Day and month are equal.", DONE, "2026-05-05", Faults(form_script=_YEAR_DAY_MONTH)),
    _day("c7_swapped_in_store", "Swapped in the store.", NOT_SURE, "2026-05-04", Faults(store=_swapped), wrong=1),
    _day("c7_native", "A prefilled native date field is replaced.", DONE, "2026-05-04", _NATIVE),
    *(
        _day(f"c7_format_{number}", "A date in another form is refused.", INVALID, day, _NATIVE)
        for number, day in enumerate(
            ("04/04/1970", "1970-02-30", "1970-4-4", "1970-04-04T00:00Z", "", "\u0661970-04-04")
        )
    ),
)

#: C9 is about view and model.

_EDITABLE: Final = {
    "note": "<div contenteditable role=textbox aria-label=Note id=shown style='min-height:20px'></div>"
    "<input type=hidden name=note id=model>"
}
_KEYS_ONLY: Final = "document.querySelector('#shown').addEventListener('keyup', event => "
_KEYS_ONLY_EDITABLE: Final = _KEYS_ONLY + "document.querySelector('#model').value = event.target.innerText);"
_SEPARATE: Final = {
    "subject": "<label>Subject <input id=shown></label><input type=hidden id=model name=subject value=old>"
}
_KEYS_ONLY_INPUT: Final = _KEYS_ONLY + "document.querySelector('#model').value = event.target.value);"
_TRUSTED: Final = """document.querySelector('#shown').addEventListener('input', event => {
    if (event.isTrusted) document.querySelector('#model').value = event.target.value;
});"""
_RENDERS_OLD: Final = "form.subject.addEventListener('blur', () => form.subject.value = 'old');"

C9: Final = (
    _cell(
        "c9_editable_model_by_keys",
        "An editable element shows the text; its model follows keys only and is saved empty.",
        NOT_SURE,
        Faults(controls=_EDITABLE, form_script=_KEYS_ONLY_EDITABLE),
        wrong=1,
    ),
    _cell(
        "c9_input_model_by_keys",
        "A field shows the text; its model follows keys only and is saved old.",
        NOT_SURE,
        Faults(controls=_SEPARATE, form_script=_KEYS_ONLY_INPUT),
        inputs=SUBJECT,
        wrong=1,
    ),
    _cell(
        "c9_model_of_trusted_events",
        "A field that ignores untrusted events takes the text: it is entered as a person enters it.",
        DONE,
        Faults(controls=_SEPARATE, form_script=_TRUSTED),
        inputs=SUBJECT,
    ),
    _cell(
        "c9_renders_the_old_state",
        "The field is rendered anew with its old state once it is left.",
        SCREEN,
        Faults(form_script=_RENDERS_OLD),
        inputs=SUBJECT,
    ),
)

#: C10 is about side effects of typing.

_SAVES_ITSELF: Final = "form.note.addEventListener('change', () => form.submit());"
_PREFILLED: Final = {"subject": "<label>Subject <input name=subject value=OLD></label>"}


C10: Final = (
    _cell("c10_line_break", "A line break in a single line is refused.", INVALID, Faults(), inputs={"subject": "x\ny"}),
    *(
        _cell(
            f"c10_control_{ord(mark)}",
            "A control character is refused.",
            INVALID,
            Faults(),
            inputs={"subject": f"x{mark}y"},
        )
        for mark in "\t\r\x00\x1b\u2028\u202e"
    ),
    _cell(
        "c10_line_break_in_a_single_line_field",
        "A text of two lines meets a field of one: the echo differs.",
        SCREEN,
        Faults(controls={"note": "<label>Note <input name=note></label>"}),
        inputs={"note": f"{NOTE_CANARY}\nsecond line"},
    ),
    _cell("c10_prefilled", "The old text is replaced.", DONE, Faults(controls=_PREFILLED), inputs=SUBJECT),
    _cell(
        "c10_prefilled_and_joined",
        "The field joins old and new text once it is left.",
        SCREEN,
        Faults(
            controls=_PREFILLED, form_script="form.subject.addEventListener('blur', () => form.subject.value += 'OLD');"
        ),
        inputs=SUBJECT,
    ),
    _cell(
        "c10_saves_by_itself",
        "The page saves as soon as the field is left: that write is stopped, and so is the run.",
        SCREEN,
        Faults(form_script=_SAVES_ITSELF),
    ),
)

#: C11 is about too early.

_NO_HANDLER: Final = "<button type=button>Save</button>"
_LATE_HANDLER: Final = (
    "document.querySelector('button').addEventListener('click', () => setTimeout(() => form.submit(), 60000));"
)
_LOSES_FIRST: Final = (
    "form.note.addEventListener('input', () => form.note.value = form.note.value.slice(1), {once: true});"
)

C11: Final = (
    _cell(
        "c11_no_handler",
        "The save click meets no handler: proven to have sent nothing.",
        SCREEN,
        Faults(save_button=_NO_HANDLER),
    ),
    _cell(
        "c11_acts_much_later",
        "The page acts upon the click when nobody waits any more: proven to have sent nothing.",
        SCREEN,
        Faults(save_button=_NO_HANDLER, form_script=_LATE_HANDLER),
    ),
    _cell(
        "c11_first_character_lost",
        "The field is not ready and loses a character.",
        SCREEN,
        Faults(form_script=_LOSES_FIRST),
    ),
    _cell(
        "c11_button_enabled_late",
        "The button is enabled a moment after the last entry: it is waited for.",
        DONE,
        Faults(
            save_button="<button disabled>Save</button>",
            form_script="form.note.addEventListener('blur', () => "
            "setTimeout(() => document.querySelector('button').disabled = false, 400));",
        ),
    ),
)

#: C12 is about dialogs.

_CONFIRMS: Final = (
    f"form.addEventListener('submit', event => {{ if (!confirm('Save for {PAGE_CANARY}?')) event.preventDefault(); }});"
)
_BEFORE_UNLOAD: Final = "addEventListener('beforeunload', event => event.preventDefault());"


def _opens_again(bundle: Bundle) -> Bundle:
    """The workflow that fills the form, goes back to the list, and fills the form anew."""
    again = OpenStep("again", "/patients")
    return evolve(bundle, steps=(*bundle.steps, again))


C12: Final = (
    _cell(
        "c12_confirm_before",
        "The page asks before it saves: nothing is sent.",
        SCREEN,
        Faults(form_script=_CONFIRMS),
        short=True,
    ),
    Cell(
        name="c12_alert_after",
        sentence="The page shows an unexpected alert after the save.",
        reason=NOT_SURE,
        posts=1,
        right=1,
        faults=Faults(answer=Answer.PAGE, saved_script=f"alert('{PAGE_CANARY} exists twice')"),
    ),
    _cell(
        "c12_alert_while_filling",
        "The page shows an alert as a field is left.",
        SCREEN,
        Faults(form_script="form.note.addEventListener('blur', () => alert(1));"),
    ),
    _cell(
        "c12_alert_on_load", "The form greets with an alert.", SCREEN, Faults(form_script=f"alert('{PAGE_CANARY}');")
    ),
    _cell(
        "c12_before_unload_at_the_save",
        "The page asks whether to leave as the form is sent: nothing is sent.",
        SCREEN,
        Faults(form_script=_BEFORE_UNLOAD),
    ),
    _cell(
        "c12_before_unload_before_the_save",
        "The page asks whether to leave when a step leaves it.",
        SCREEN,
        Faults(form_script=_BEFORE_UNLOAD),
        changed=_opens_again,
    ),
)

#: C13 is about overlays.

_TOAST: Final = (
    "<div id=toast style='position:fixed;inset:0;background:#fffc' onclick=\"form.note.value='draft'; form.submit()\">"
    f"Draft restored {PAGE_CANARY}</div>"
)
_GOES_AWAY: Final = (
    "form.note.addEventListener('blur', () => setTimeout(() => document.querySelector('#toast').remove(), 500));"
)

C13: Final = (
    _cell(
        "c13_toast_stays", "A toast with a handler of its own lies over the button.", SCREEN, Faults(form_extra=_TOAST)
    ),
    _cell(
        "c13_toast_goes",
        "The toast goes away after half a second.",
        DONE,
        Faults(form_extra=_TOAST, form_script=_GOES_AWAY),
    ),
    _cell(
        "c13_list_is_covered",
        "A layer lies over the list.",
        SCREEN,
        Faults(
            list_script="document.body.insertAdjacentHTML('beforeend', "
            "'<div style=position:fixed;inset:0>Please wait</div>');"
        ),
    ),
)

#: C16 is about sign-in and human checks.


def _told_nothing(app: ChartApp) -> str | None:
    told = [
        each for each in app.log if each.path.startswith("/told") or (each.method != "GET" and "sign-in" in each.path)
    ]
    return "the sign-in page received an input" if told else None


def _expires(name: str, sentence: str, reason: Reason, faults: Faults, *, short: bool = False) -> Cell:
    """Where the page leaves by itself, the field that is read next may be one of either page: both stop the run."""
    cell = _cell(name, sentence, reason, faults, inputs=DRUG, also=_told_nothing, short=short)
    return evolve(cell, or_reason={SCREEN: PERSON, PERSON: SCREEN}[reason] if faults.form_script else None)


#: Locks what comes next, and leaves for another page while the locked part is waited for.
_LOCKS_AND_LEAVES: Final = """form.{0}.addEventListener('blur', () => {{
    {1}.disabled = true;
    setTimeout(() => location.replace('{2}'), 1500);
}});"""
_TO_SIGN_IN: Final = "form.{}.addEventListener('blur', () => location.replace('/sign-in'));"
C16: Final = (
    _expires("c16_at_the_list", "The list leads to the sign-in page.", PERSON, Faults(sign_in_at="list")),
    _expires(
        "c16_at_the_form",
        "The form leads to a sign-in page with a field of the same name.",
        PERSON,
        Faults(sign_in_at="form"),
    ),
    _expires(
        "c16_in_place", "The sign-in page stands under the form's own path.", PERSON, Faults(sign_in_at="in_place")
    ),
    _expires(
        "c16_after_the_first_field",
        "The session ends after the first field.",
        PERSON,
        Faults(form_script=_TO_SIGN_IN.format("subject")),
    ),
    _expires(
        "c16_after_the_last_field",
        "The session ends after the last field.",
        PERSON,
        Faults(form_script=_TO_SIGN_IN.format("note")),
    ),
    _expires(
        "c16_locked_while_filling",
        "The form locks its next field and leaves for a sign-in page with a field of the same name.",
        PERSON,
        Faults(form_script=_LOCKS_AND_LEAVES.format("subject", "form.note", "/sign-in")),
    ),
    _expires(
        "c16_locked_before_the_save",
        "The form locks its button and leaves for a sign-in page with a button of the same name.",
        SCREEN,
        Faults(form_script=_LOCKS_AND_LEAVES.format("note", "document.querySelector('button')", "/sign-in")),
    ),
    _expires(
        "c16_another_chart_before_the_save",
        "The form locks its button and leaves for the form of another chart, after the identity was compared.",
        SCREEN,
        Faults(
            form_script=_LOCKS_AND_LEAVES.format(
                "note", "document.querySelector('button')", f"/patients/{ROBIN.number}/entries/new"
            )
        ),
    ),
    _expires("c16_human_check", "A human check stands in the form's place.", SCREEN, Faults(check_at_form=True)),
    Cell(
        name="c16_at_the_save",
        sentence="The save leads to the sign-in page, and nothing was stored.",
        reason=NOT_SURE,
        posts=1,
        right=0,
        inputs=DRUG,
        faults=Faults(answer=Answer.SIGN_IN, store=lambda _: []),
        also=_told_nothing,
    ),
)

#: C19 is about ambiguous identity.

NAMESAKE: Final = Patient("VNUMB8K3Y-9", "1952-08-09", ALEX.name)


def _by_name(bundle: Bundle) -> Bundle:
    """The workflow that finds the row by the name, which the call gives as its subject."""
    parameters = tuple(evolve(each, min_length=1) if each.name == "subject" else each for each in bundle.parameters)
    return _picking(role("Open", "link", FromInput("subject")))(evolve(bundle, parameters=parameters))


def _named(name: str, sentence: str, reason: Reason, patients: tuple[Patient, ...]) -> Cell:
    return _cell(name, sentence, reason, Faults(), inputs={"subject": ALEX.name}, changed=_by_name, patients=patients)


C19: Final = (
    _named("c19_two_namesakes", "Two rows bear the name.", WHO, (ALEX, NAMESAKE)),
    _named("c19_two_namesakes_swapped", "The same in the other order.", WHO, (NAMESAKE, ROBIN, ALEX)),
    _named("c19_only_the_other", "One row bears the name, and it is the other person's.", WHO, (NAMESAKE, ROBIN)),
    _named("c19_only_the_right_one", "One row bears the name, and it is the right one.", DONE, (ROBIN, ALEX)),
    _cell("c19_number_of_nobody", "No row has the number.", SCREEN, Faults(), patients=(ROBIN, NAMESAKE)),
)

PAGES: Final[tuple[Cell, ...]] = (*C1, *C2, *C3, *C5, *C6, *C7, *C9, *C10, *C11, *C12, *C13, *C16, *C19)
