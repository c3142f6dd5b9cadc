"""Every control that an app may have: how it is entered, and that what it made of it is read as it is."""

import pytest

from support.browser import (
    NOTE_FORM,
    SAVE_ROUTE,
    Site,
    Visit,
    attribute,
    button,
    by_test_id,
    eventually,
    label,
)
from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.bundle import ChoiceControl, DialogAnswer, Entry, Key
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Check,
    CheckPage,
    Choose,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Open,
    ReadTexts,
    ReadValue,
    Save,
    SaveObserved,
    Texts,
)
from surehand.core.workflow.target import PageGate, Target, TargetKind

NOTE = label("Note")
WRONG_PAGE = Fault(FaultKind.PAGE_UNEXPECTED)
NOT_UNIQUE = Fault(FaultKind.TARGET_NOT_UNIQUE)
OPTION_MISSING = Fault(FaultKind.OPTION_MISSING)
COVERED = Fault(FaultKind.TARGET_COVERED)
DIALOG = Fault(FaultKind.UNEXPECTED_DIALOG)


def show(visit: Visit, site: Site, html: str) -> None:
    """Open a page with this content, and check that it is there."""
    site.pages["/page"] = f"{html}<i data-testid=page>here</i>"
    assert visit.do(Open("/page")) == Done()
    assert visit.do(CheckPage(PageGate("/page", by_test_id("page")))) == Done()


def holds(visit: Visit, target: Target, control: ChoiceControl | None = None) -> object:
    """What the control holds: its text, or why there is none."""
    seen = visit.do(ReadValue(target, None, control))
    return seen.values[0] if isinstance(seen, Texts) else seen


def typed(text: str, then: Key | None = None) -> Fill:
    """Type a text into the note."""
    return Fill(NOTE, None, text, Entry.TYPE, then)


class TestTyping:
    """Typing empties the field and writes key by key, into this field and no other."""

    @pytest.mark.parametrize(
        "field", ["<input value=OLD>", "<textarea>OLD</textarea>", "<div contenteditable>OLD</div>"]
    )
    @pytest.mark.parametrize("text", ["new", "", 'Zo\u00eb "x" & <y> \U0001f6b2 e\u0301', "*" * 300])
    def test_what_was_there_is_replaced(self, patient: Visit, site: Site, field: str, text: str) -> None:
        named = field.replace(">", " aria-label=Note>", 1)
        show(patient, site, named)

        assert patient.do(typed(text)) == Done()
        assert holds(patient, NOTE) == text

    def test_lines_are_typed_where_there_may_be_some(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Note <textarea></textarea></label>")

        assert patient.do(typed("one\ntwo")) == Done()
        assert holds(patient, NOTE) == "one\ntwo"

    def test_a_line_break_is_no_enter_key_in_a_field_of_one_line(self, patient: Visit, site: Site) -> None:
        show(patient, site, '<form method=post action="/early"><label>Note <input value=OLD></label><input></form>')

        assert patient.do(typed("x\ny")) == WRONG_PAGE
        assert (holds(patient, NOTE), site.posts) == ("OLD", [])

    def test_a_model_that_listens_to_keys_hears_every_one(self, patient: Visit, site: Site) -> None:
        model = "<div aria-label=Note contenteditable onkeyup='told.textContent = innerText'>x</div><p id=told></p>"
        show(patient, site, model)

        assert patient.do(Fill(NOTE, None, "set at once")) == Done()
        assert patient.ask("() => told.textContent") == ""
        assert patient.do(typed("by key")) == Done()
        assert patient.ask("() => told.textContent") == "by key"

    def test_an_editor_that_continues_lists_is_seen_through(self, patient: Visit, site: Site) -> None:
        bullet = "setRangeText('\\n* ', selectionStart, selectionEnd, 'end')"
        press = f"if (event.key === 'Enter') {{ event.preventDefault(); {bullet} }}"
        show(patient, site, f'<label>Note <textarea onkeydown="{press}"></textarea></label>')

        assert patient.do(typed("* a\n* b")) == Done()
        assert holds(patient, NOTE) == "* a\n* * b"
        assert patient.do(Fill(NOTE, None, "* a\n* b")) == Done()
        assert holds(patient, NOTE) == "* a\n* b"

    def test_a_field_that_hands_the_keys_on_is_told(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<label>Note <input oninput='value.length > 1 && next.focus()'></label><input id=next>")

        assert patient.do(typed("abcd")) == WRONG_PAGE

    @pytest.mark.parametrize("field", ["<input disabled value=OLD>", "<input readonly value=OLD>"])
    def test_a_locked_field_keeps_what_it_holds(self, visit: Visit, site: Site, field: str) -> None:
        show(visit, site, f"<label>Note {field}</label>")

        visit.do(typed("new"))

        assert holds(visit, NOTE) == "OLD"

    def test_a_covered_field_is_not_typed_into(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<label>Note <input></label><div style='position:fixed;inset:0'>Wait</div>")

        assert visit.do(typed("x")) == COVERED
        assert holds(visit, NOTE) == ""


class TestKeysAfterwards:
    """A key that was recorded is pressed once, in the field, after the text; no other is."""

    PAGE = "<label>Note <input onkeydown='told.textContent += event.key + value.length + `;`'></label><p id=told></p>"

    @pytest.mark.parametrize(
        ("then", "told"), [(None, ""), (Key.ENTER, "Enter1;"), (Key.TAB, "Tab1;"), (Key.ESCAPE, "Escape1;")]
    )
    def test_the_key_comes_after_the_text(self, patient: Visit, site: Site, then: Key | None, told: str) -> None:
        show(patient, site, self.PAGE)

        assert patient.do(Fill(NOTE, None, "x", then=then)) == Done()
        assert patient.ask("() => told.textContent") == told

    def test_an_enter_that_sends_the_form_is_a_write_before_the_save(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<form method=post action='/early'><label>Note <input></label></form>")

        told = Fault(FaultKind.EARLY_WRITE_STOPPED)
        seen = patient.do(Fill(NOTE, None, "x", then=Key.ENTER))

        # The write may be on its way to the fence when the key is over; it is told as soon as it was stopped.
        assert seen == told or eventually(lambda: patient.do(typed("x")) == told)
        assert site.posts == []


class TestWidgetsThatRewrite:
    """What a widget makes of a text is read as it is: it never passes for what was entered."""

    @pytest.mark.parametrize("entry", list(Entry))
    @pytest.mark.parametrize(
        ("script", "text", "seen"),
        [
            ("onblur=\"this.value = 'Metoprolol'\"", "metformin", "Metoprolol"),
            ("onchange=\"this.value = this.value.split('-').reverse().join('/')\"", "2026-05-04", "04/05/2026"),
            ("oninput=\"this.value = this.value.replace('.', '')\"", "0.55", "055"),
            ("maxlength=3", "abcdef", "abc"),
            ('oninput="this.value = this.value.toUpperCase()"', "abc", "ABC"),
        ],
    )
    def test_the_field_is_read_after_it_was_left(  # noqa: PLR0913, PLR0917 - the parts of one case
        self, patient: Visit, site: Site, script: str, text: str, seen: str, entry: Entry
    ) -> None:
        show(patient, site, f"<label>Note <input {script}></label>")

        assert patient.do(Fill(NOTE, None, text, entry)) == Done()
        assert holds(patient, NOTE) == seen

    def test_an_editor_is_read_paragraph_by_paragraph(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<div aria-label=Note contenteditable><p>one</p><p><br></p><p>two <b>x</b></p></div>")

        assert holds(patient, NOTE) == "one\n\ntwo x"


RADIOS = """<fieldset><legend>Kind</legend><label><input type=radio name=kind value=1> No</label>
<label><input type=radio name=kind value=2> Not at this time</label>
<label><input type=radio name=kind value=3> Yes</label></fieldset>
<label><input type=radio name=other value=3> Yes</label>"""

HIDDEN_RADIOS = (
    "<style>fieldset input {position: absolute; opacity: 0} fieldset label {display: block}</style>" + RADIOS
)
NO_BOX_RADIOS = "<style>fieldset input {display: none} fieldset label {display: block}</style>" + RADIOS
_TAKE = "for (const radio of parentNode.children) radio.ariaChecked = radio === this"
ROLE_RADIOS = "<div role=radiogroup aria-label=Kind>{}</div>".format(
    "".join(
        f'<div role=radio aria-checked=false tabindex=0 onclick="{_TAKE}">{name}</div>'
        for name in ("No", "Not at this time", "Yes")
    )
)


class TestRadios:
    """The one button of the group with exactly this label is chosen."""

    GROUP = attribute("name", "kind")

    def choose(self, name: str, target: Target = GROUP) -> Choose:
        return Choose(target, None, name, ChoiceControl.RADIO)

    @pytest.mark.parametrize("page", [RADIOS, HIDDEN_RADIOS, NO_BOX_RADIOS], ids=["plain", "transparent", "not_shown"])
    def test_the_exact_label_is_taken(self, patient: Visit, site: Site, page: str) -> None:
        show(patient, site, page)

        assert holds(patient, self.GROUP, ChoiceControl.RADIO) == ""
        for name in ("No", "Yes", "Yes", "Not at this time"):
            assert patient.do(self.choose(name)) == Done()
            assert holds(patient, self.GROUP, ChoiceControl.RADIO) == name

    def test_buttons_of_the_apps_own_are_buttons_too(self, patient: Visit, site: Site) -> None:
        show(patient, site, ROLE_RADIOS)
        group = Target(TargetKind.ROLE, "Kind", "radiogroup")

        assert patient.do(self.choose("Yes", group)) == Done()
        assert holds(patient, group, ChoiceControl.RADIO) == "Yes"

    @pytest.mark.parametrize("name", ["Not", "yes", "No "])
    def test_another_label_is_missing(self, visit: Visit, site: Site, name: str) -> None:
        show(visit, site, RADIOS)

        expected = Done() if name.strip() == "No" else OPTION_MISSING
        assert visit.do(self.choose(name)) == expected

    def test_the_same_label_twice_is_not_unique(self, visit: Visit, site: Site) -> None:
        show(visit, site, RADIOS.replace("Not at this time", "Yes"))

        assert visit.do(self.choose("Yes")) == NOT_UNIQUE
        assert holds(visit, self.GROUP, ChoiceControl.RADIO) == ""

    def test_a_group_that_is_not_there_is_missing(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<p>Nothing</p>")

        assert visit.do(self.choose("Yes")) == Fault(FaultKind.TARGET_MISSING)

    def test_a_group_that_does_not_take_it_is_read_as_it_is(self, visit: Visit, site: Site) -> None:
        show(visit, site, RADIOS.replace("value=3> Yes", "value=3 onclick='event.preventDefault()'> Yes", 1))

        assert visit.do(self.choose("Yes")) == Done()
        assert holds(visit, self.GROUP, ChoiceControl.RADIO) == ""


def toggle(role: str) -> str:
    """A box of the app's own."""
    return (
        f"<span role={role} aria-label=Signed aria-checked=false tabindex=0 "
        "onclick=\"setTimeout(() => this.ariaChecked = this.ariaChecked !== 'true', 30)\">o</span>"
    )


BOXES = {
    "plain": "<label><input type=checkbox> Signed</label>",
    "transparent": "<label>Signed <input type=checkbox style='opacity:0;position:absolute'><i></i></label>",
    "not_shown": "<input type=checkbox id=s style='display:none'><label for=s>Signed</label>",
    "one_pixel": (
        "<input type=checkbox id=s style='position:absolute;width:1px;height:1px;clip:rect(0,0,0,0)'>"
        "<label for=s>Signed</label>"
    ),
    "checkbox": toggle("checkbox"),
    "pressed": toggle("checkbox").replace("aria-checked", "aria-pressed").replace("ariaChecked", "ariaPressed"),
    "button": toggle("button").replace("aria-checked", "aria-pressed").replace("ariaChecked", "ariaPressed"),
    "switch": toggle("switch"),
}


class TestBoxes:
    """A box is clicked when it is not what it should be, and then read."""

    SIGNED = label("Signed")

    @pytest.mark.parametrize("kind", list(BOXES))
    def test_it_is_set_and_set_back(self, patient: Visit, site: Site, kind: str) -> None:
        show(patient, site, BOXES[kind])

        assert holds(patient, self.SIGNED) == "false"
        for checked in (True, True, False, False, True):
            assert patient.do(Check(self.SIGNED, None, checked)) == Done()
            assert holds(patient, self.SIGNED) == ("true" if checked else "false")

    def test_a_box_that_does_not_take_it_is_read_as_it_is(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<label><input type=checkbox onclick='event.preventDefault()'> Signed</label>")

        assert visit.do(Check(self.SIGNED, None, True)) == Done()
        assert holds(visit, self.SIGNED) == "false"

    def test_a_disabled_box_is_not_set(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<label><input type=checkbox disabled> Signed</label>")

        assert visit.do(Check(self.SIGNED, None, True)) == WRONG_PAGE

    def test_a_field_is_no_box(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<label>Signed <input></label>")

        assert visit.do(Check(self.SIGNED, None, True)) == WRONG_PAGE

    def test_a_label_with_a_link_in_it_is_not_clicked(self, visit: Visit, site: Site) -> None:
        site.pages["/terms"] = "<h1>Terms</h1>"
        page = "<input type=checkbox id=s style='display:none'><label for=s><a href='/terms'>Signed</a></label>"
        show(visit, site, page)

        assert visit.do(Check(self.SIGNED, None, True)) == Fault(FaultKind.TARGET_MISSING)
        assert "/terms" not in site.asked


#: A list of the app's own: it opens upon a click, shows its options after a while, and takes what is clicked.
LIST = """<style>span {{ display: inline-block; width: 200px }}</style>
<div><span id=trigger role=combobox aria-label=Ward tabindex=0>Choose</span></div>
<div id=panel style="display:none">{search}<ul id=list role=listbox></ul></div><script>
const names = {names};
const render = () => list.replaceChildren(...names.filter(name => {filter}).map(name => {{
    const item = document.createElement('li');
    {item}
    item.onclick = () => {{
        trigger.innerHTML = name + '<button>&times;</button><b aria-hidden=true>more</b>';
        panel.style.display = 'none';
    }};
    return item;
}}));
trigger.onclick = () => {{ panel.style.display = ''; setTimeout(render, {late}); {focus} }};
</script>"""


def open_list(
    names: list[str], *, item: str = "item.role = 'option'; item.append(name);", late: int = 0, search: bool = False
) -> str:
    """A page with a list."""
    box = "<input id=box oninput='setTimeout(render, 60)'>" if search else ""
    return LIST.format(
        names=names,
        item=item,
        late=late,
        search=box,
        filter="box.value && name.toLowerCase().startsWith(box.value.slice(0, 3).toLowerCase())" if search else "true",
        focus="box.focus()" if search else "",
    )


class TestLists:
    """Out of a list that opens, the one option with exactly this text is clicked, and what is then shown is read."""

    WARD = Target(TargetKind.ROLE, "Ward", "combobox")

    def choose(self, name: str, *, search: str | None = None) -> Choose:
        return Choose(self.WARD, None, name, ChoiceControl.LIST, search)

    def shown(self, visit: Visit) -> object:
        return holds(visit, self.WARD, ChoiceControl.LIST)

    @pytest.mark.parametrize(
        "item",
        [
            "item.role = 'option'; item.append(name);",
            "item.append(name);",
            "item.innerHTML = `<span><i>${name}</i></span>`;",
            "item.role = 'option'; item.innerHTML = `<b>${name[0]}</b>${name.slice(1)}<svg aria-hidden=true></svg>`;",
            "item.role = 'presentation'; item.innerHTML = `<div role=option>${name}</div>`;",
        ],
        ids=["options", "items", "leaves", "marked", "inner_options"],
    )
    @pytest.mark.parametrize("names", [["US Citizen", "Non-US Citizen"], ["Non-US Citizen", "US Citizen"]])
    def test_the_exact_option_is_taken(self, patient: Visit, site: Site, item: str, names: list[str]) -> None:
        show(patient, site, open_list(names, item=item))

        assert patient.do(self.choose("US Citizen")) == Done()
        assert self.shown(patient) == "US Citizen"

    @pytest.mark.parametrize("name", ["US", "us citizen", "Citizen"])
    def test_another_text_is_missing(self, visit: Visit, site: Site, name: str) -> None:
        show(visit, site, open_list(["US Citizen", "Non-US Citizen"]))

        assert visit.do(self.choose(name)) == OPTION_MISSING
        assert self.shown(visit) == "Choose"

    def test_the_same_text_twice_is_not_unique(self, visit: Visit, site: Site) -> None:
        show(visit, site, open_list(["Ada", "Ada"]))

        assert visit.do(self.choose("Ada")) == NOT_UNIQUE
        assert self.shown(visit) == "Choose"

    def test_options_that_arrive_late_are_waited_for(self, patient: Visit, site: Site) -> None:
        show(patient, site, open_list(["Ada"], late=200))

        assert patient.do(self.choose("Ada")) == Done()
        assert self.shown(patient) == "Ada"

    def test_a_second_one_that_arrives_with_the_answer_is_seen(self, visit: Visit, site: Site) -> None:
        site.pages["/options"] = "Ada"
        late = "names.push('Ada'); render()"
        script = f"<script>trigger.addEventListener('click', () => fetch('/options').then(() => {{ {late} }}))</script>"
        show(visit, site, open_list(["Ada"]) + script)

        assert visit.do(self.choose("Ada")) == NOT_UNIQUE

    def test_a_list_that_is_searched_gets_the_text_first(self, patient: Visit, site: Site) -> None:
        show(patient, site, open_list(["Metoprolol", "Metformin"], search=True))

        assert patient.do(self.choose("Metformin", search="metf")) == Done()
        assert self.shown(patient) == "Metformin"

    def test_a_list_that_must_be_searched_has_no_options_before(self, visit: Visit, site: Site) -> None:
        show(visit, site, open_list(["Metoprolol", "Metformin"], search=True))

        assert visit.do(self.choose("Metformin")) == OPTION_MISSING

    def test_nothing_is_typed_where_nothing_takes_a_text(self, visit: Visit, site: Site) -> None:
        show(visit, site, open_list(["Ada"]))

        assert visit.do(self.choose("Ada", search="Ada")) == WRONG_PAGE

    def test_a_text_that_stood_there_before_is_no_option(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<p onclick='told.textContent = 1'>Ada</p>" + open_list([]) + "<p id=told></p>")

        assert visit.do(self.choose("Ada")) == OPTION_MISSING
        assert visit.ask("() => told.textContent") == ""

    def test_an_option_that_is_for_readers_alone_is_no_second_one(self, patient: Visit, site: Site) -> None:
        twin = "<div role=listbox style='width:0;height:0;overflow:hidden'><div role=option>Ada</div></div>"
        show(patient, site, twin + open_list(["Ada"]))

        assert patient.do(self.choose("Ada")) == Done()
        assert self.shown(patient) == "Ada"

    def test_a_list_that_takes_another_one_is_read_as_it_is(self, patient: Visit, site: Site) -> None:
        show(patient, site, open_list(["Ada"]).replace("trigger.innerHTML = name", "trigger.innerHTML = 'Adam'"))

        assert patient.do(self.choose("Ada")) == Done()
        assert self.shown(patient) == "Adam"

    def test_a_covered_option_is_not_taken(self, visit: Visit, site: Site) -> None:
        toast = "<div id=toast hidden style='position:fixed;inset:30px 0 0 0;background:#eee'>Wait</div>"
        cover = "<script>trigger.addEventListener('click', () => toast.hidden = false)</script>"
        show(visit, site, open_list(["Ada"]) + toast + cover)

        assert visit.do(self.choose("Ada")) == COVERED
        assert self.shown(visit) == "Choose"


class TestRecordedDialogs:
    """The one dialog that was recorded is answered as it was; without it, and beside it, something is wrong."""

    ASK = "<button onclick=\"told.textContent = confirm('Sure?')\">Go</button><p id=told></p>"

    @pytest.mark.parametrize(("answer", "told"), [(DialogAnswer.ACCEPT, "true"), (DialogAnswer.DISMISS, "false")])
    def test_it_is_answered_as_recorded(self, patient: Visit, site: Site, answer: DialogAnswer, told: str) -> None:
        show(patient, site, self.ASK)

        assert patient.do(Click(button("Go"), None, answer)) == Done()
        assert patient.ask("() => told.textContent") == told

    def test_one_that_comes_later_is_waited_for(self, patient: Visit, site: Site) -> None:
        show(patient, site, "<button onclick=\"setTimeout(() => alert('x'), 200)\">Go</button>")

        assert patient.do(Click(button("Go"), None, DialogAnswer.ACCEPT)) == Done()

    def test_none_where_one_was_is_told(self, visit: Visit, site: Site) -> None:
        show(visit, site, "<button>Go</button>")

        assert visit.do(Click(button("Go"), None, DialogAnswer.ACCEPT)) == WRONG_PAGE

    @pytest.mark.parametrize("script", ["confirm(1); confirm(2)", "prompt(1)"])
    def test_a_second_one_and_another_kind_are_told(self, patient: Visit, site: Site, script: str) -> None:
        show(patient, site, f'<button onclick="{script}">Go</button>')

        assert patient.do(Click(button("Go"), None, DialogAnswer.ACCEPT)) == DIALOG

    def test_the_next_click_is_not_answered_for(self, patient: Visit, site: Site) -> None:
        show(patient, site, self.ASK)
        patient.do(Click(button("Go"), None, DialogAnswer.ACCEPT))

        assert patient.do(Click(button("Go"), None)) == DIALOG

    def test_a_question_before_the_write_is_answered_and_the_write_goes(self, patient: Visit, site: Site) -> None:
        show(patient, site, NOTE_FORM.replace("<form ", "<form onsubmit=\"return confirm('Sure?')\" "))

        observed = patient.do(Save(button("Save"), None, SAVE_ROUTE, DialogAnswer.ACCEPT))

        assert observed == SaveObserved(Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED)
        assert site.posts == ["/records"]

    def test_an_answer_that_was_no_keeps_the_write_from_going(self, visit: Visit, site: Site) -> None:
        show(visit, site, NOTE_FORM.replace("<form ", "<form onsubmit=\"return confirm('Sure?')\" "))

        observed = visit.do(Save(button("Save"), None, SAVE_ROUTE, DialogAnswer.DISMISS))

        assert observed == SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)
        assert site.posts == []

    def test_a_dialog_upon_the_answer_that_was_not_recorded_is_told(self, patient: Visit, site: Site) -> None:
        site.pages["/saved"] = "<script>alert('saved, but')</script>"
        show(patient, site, NOTE_FORM.replace("<form ", "<form onsubmit=\"return confirm('Sure?')\" "))

        observed = patient.do(Save(button("Save"), None, SAVE_ROUTE, DialogAnswer.ACCEPT))

        assert observed == SaveObserved(Delivery.SENT_ONCE, 0, unexpected_dialog=True, boundary=BoundaryAnswer.GRANTED)


class TestReadingTexts:
    """What is shown is read on the page that the gate saw."""

    def test_a_box_of_the_apps_own_is_read_as_a_box(self, patient: Visit, site: Site) -> None:
        show(patient, site, toggle("switch"))

        assert patient.do(ReadTexts((label("Signed"),), (None,))) == Texts(("false",))
