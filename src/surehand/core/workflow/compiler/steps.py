"""The steps before the save: each move of all demonstrations together becomes one step.

Laws of this module:

- Every text that was entered, every row that was clicked and every id that was opened has a slot; a step names slots
  and holds no text of them.
- A click in the row of a record is bound to the row. Where it was also exact without it, a person may say that any
  row will do.
- A step whose target or page cannot be told from others is refused by its event.
"""

import re
from collections.abc import Sequence
from typing import Final

from attrs import define, field, frozen

from surehand.core.workflow.bundle import (
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    Entry,
    FillStep,
    OpenStep,
    Rule,
    SearchBy,
    Step,
)
from surehand.core.workflow.compiler import slots
from surehand.core.workflow.compiler.demonstration import Demonstration, Move, data_row, entered_text, exact, same_thing
from surehand.core.workflow.compiler.pages import Name, Pages, gate, opened_path
from surehand.core.workflow.compiler.refusals import CompileRefusal, RefusalCode
from surehand.core.workflow.compiler.slots import Slot, SlotKind, field_slot, named_slot, title_of
from surehand.core.workflow.compiler.targets import Texts, common, names_of, renamed
from surehand.core.workflow.compiler.texts import free_name, looks_like_id, slug
from surehand.core.workflow.recording import (
    Checked,
    Chose,
    Clicked,
    Control,
    Entered,
    FieldFacts,
    Opened,
    Place,
)
from surehand.core.workflow.search import search_text, words_of
from surehand.core.workflow.target import FromInput, PageGate, Target, TargetKind

Entries = tuple[Entered | Chose | Checked, ...]

_CONTROLS: Final = {
    Control.SELECT: ChoiceControl.SELECT,
    Control.RADIO: ChoiceControl.RADIO,
    Control.LIST: ChoiceControl.LIST,
}
_MAX_STEPS: Final = 200
#: A single letter finds too much to be what was meant.
_LEAST_TYPED: Final = 2


@frozen(kw_only=True)
class PlannedStep:
    """A step with slots for its values, the event of the first recording, and what a person may still choose.

    ``any_row`` is the same click without its row, where it was exact too. ``asks_entry`` says that the app wrote
    something else than what was typed.
    """

    step: Step
    event: int
    slot: str | None = None
    any_row: Target | None = None
    asks_entry: bool = False


@frozen
class Row:
    """A clicked row of a record: the events, and the texts of each cell in all recordings with its column's caption."""

    cells: tuple[tuple[int, str, tuple[str, ...]], ...] = field(repr=False)


@define
class Builder:
    """The steps that are being made. Local to one compilation."""

    pages: Pages
    saves: tuple[int, ...]
    slots: list[Slot] = field(factory=list[Slot])
    steps: list[PlannedStep] = field(factory=list[PlannedStep])
    rows: list[Row] = field(factory=list[Row])
    refusals: list[CompileRefusal] = field(factory=list[CompileRefusal])
    searches: set[str] = field(factory=set[str])

    @property
    def shown(self) -> tuple[Demonstration, ...]:
        """The demonstrations."""
        return self.pages.shown

    @property
    def naming(self) -> list[Slot]:
        """The slots that name records: of rows, of addresses, and of searches."""
        return [slot for slot in self.slots if slot.kind is not SlotKind.FIELD or slot.name in self.searches]

    @property
    def names(self) -> list[Name]:
        """What may stand in addresses."""
        return [
            Name(slot.name, slot.texts, slot.title if slot.kind is SlotKind.ADDRESS else "") for slot in self.naming
        ]

    def slot(self, name: str) -> Slot:
        """The slot of this name."""
        return next(slot for slot in self.slots if slot.name == name)

    def refuse(self, code: RefusalCode, moves: Sequence[Move]) -> None:
        """Refuse the step of these moves."""
        self.refusals.append(self.shown[0].refusal(code, moves[0].event))

    def new_name(self, wanted: str) -> str:
        """A name that no slot has."""
        return free_name(wanted, (slot.name for slot in self.slots))

    def new_id(self, wanted: str) -> str:
        """An id that no step has."""
        return free_name(wanted, (planned.step.id for planned in self.steps))


def add_step(builder: Builder, moves: tuple[Move, ...]) -> None:
    """One more step of moves of one kind, or a refusal."""
    actions = tuple(move.action for move in moves)
    if all(isinstance(action, Opened) for action in actions):
        _open(builder, moves, tuple(action for action in actions if isinstance(action, Opened)))
    elif all(isinstance(action, Clicked) for action in actions):
        _click(builder, moves, tuple(action for action in actions if isinstance(action, Clicked)))
    else:
        _enter(builder, moves, tuple(action for action in actions if isinstance(action, Entered | Chose | Checked)))
    if len(builder.steps) > _MAX_STEPS:
        builder.refuse(RefusalCode.TOO_LARGE, moves)


# Opening


def _open(builder: Builder, moves: tuple[Move, ...], actions: tuple[Opened, ...]) -> None:
    found = opened_path(builder.pages, tuple(action.place for action in actions), builder.names)
    if found is None:
        builder.refuse(RefusalCode.DEMONSTRATIONS_DIFFER, moves)
        return
    path, fragment = found.path, found.fragment or ""
    for at, (title, texts) in enumerate(found.unnamed):
        name = builder.new_name(slug(f"{title} in address", "address"))
        builder.slots.append(named_slot(SlotKind.ADDRESS, name, title_of(title, "Part of the address"), texts))
        path, fragment = path.replace(f"{{{at}}}", f"{{{name}}}"), fragment.replace(f"{{{at}}}", f"{{{name}}}")
    step = OpenStep(builder.new_id("open_page"), path, fragment or None)
    builder.steps.append(PlannedStep(step=step, event=moves[0].event))


# Entering


def _enter(builder: Builder, moves: tuple[Move, ...], actions: Entries) -> None:
    facts = tuple(action.facts for action in actions)
    if len({each.control for each in facts}) > 1:
        builder.refuse(RefusalCode.DEMONSTRATIONS_DIFFER, moves)
        return
    texts = tuple(Texts(shown.telling, (), shown.particular) for shown in builder.shown)
    targets = _lasting(common(tuple(action.candidates for action in actions), texts), facts[0].control)
    page = _gate(builder, tuple(action.place for action in actions), targets)
    if not targets or page is None:
        builder.refuse(RefusalCode.PAGE_NOT_RECOGNISABLE if targets else RefusalCode.TARGET_NOT_UNIQUE, moves)
        return
    chosen = tuple(action for action in actions if isinstance(action, Chose))
    if any(action.searched for action in chosen) and _search_by(chosen) is None:
        builder.refuse(RefusalCode.SEARCHED_BY_OTHER_TEXT, moves)
        return
    slot = _field_slot(builder, moves, actions, targets[0])
    builder.slots.append(slot)
    if is_search(builder, moves, slot):
        builder.searches.add(slot.name)
    step = _entering_step(builder, slot, targets[0], page, actions)
    builder.steps.append(
        PlannedStep(step=step, event=moves[0].event, slot=slot.name, asks_entry=any(map(_rewritten, actions)))
    )


def _lasting(targets: tuple[Target, ...], control: Control) -> tuple[Target, ...]:
    """The targets, those last that another choice may change: what opens a list is often named by its choice."""
    if control is not Control.LIST:
        return targets
    return tuple(sorted(targets, key=lambda target: (target.attribute == "class", target.kind is TargetKind.ROLE)))


def _field_slot(builder: Builder, moves: tuple[Move, ...], actions: Entries, target: Target) -> Slot:
    title = _caption(builder, tuple(action.facts for action in actions), target)
    count = sum(slot.kind is SlotKind.FIELD for slot in builder.slots) + 1
    seen = {
        rule
        for shown, move, action in zip(builder.shown, moves, actions, strict=True)
        for rule in shown_rules(shown, move.event, entered_text(action))
    }
    entry = slots.Entry(
        facts=tuple(action.facts for action in actions),
        texts=tuple(map(entered_text, actions)),
        seen=seen,
        searched=any(isinstance(action, Chose) and action.searched for action in actions),
        before=any(isinstance(action, Entered) and action.before for action in actions),
    )
    name = builder.new_name(slug(title, "field") if title else f"field_{count}")
    return field_slot(name, title or f"Field {count}", entry)


def _caption(builder: Builder, facts: tuple[FieldFacts, ...], target: Target) -> str:
    """The caption that all recordings have and that holds no value; else a name of the field for programmers."""
    captions = {each.caption for each in facts}
    caption = captions.pop() if len(captions) == 1 else ""
    if caption.strip() and not any(shown.telling.in_text(caption) for shown in builder.shown):
        return title_of(caption, "")
    return "" if names_of(target) else title_of(target.name, "")


def shown_rules(shown: Demonstration, event: int, text: str) -> set[Rule]:
    """The rules under which pages and answers after the event show the text."""
    pages = [
        showing.rule
        for page in shown.recording.pages
        if page.after > event
        for showing in page.showings
        if shown.text(showing.known) == text
    ]
    members = [
        member.rule
        for answer in shown.recording.answers
        if answer.after > event
        for member in answer.members
        if member.known is not None and member.rule is not None and shown.text(member.known) == text
    ]
    return {*members} or {*pages}


def is_search(builder: Builder, moves: tuple[Move, ...], slot: Slot) -> bool:
    """Whether what was entered only found the row that was clicked later, in every recording."""
    played = zip(builder.shown, moves, slot.texts, builder.saves, strict=True)
    return all(_finds_row(shown, move, text, save) for shown, move, text, save in played)


def _finds_row(shown: Demonstration, move: Move, text: str, save: int) -> bool:
    if not isinstance(move.action, Entered) or not text:
        return False
    wanted = text.casefold()
    for at in range(move.event + 1, save):
        cells = data_row(shown.recording, at)
        if cells:
            return any(wanted in cell.casefold() for _, cell in cells)
    return False


def _rewritten(action: Entered | Chose | Checked) -> bool:
    """Whether the field held something else than what was typed; native date fields always do."""
    return isinstance(action, Entered) and action.facts.control is not Control.DATE and action.value != action.typed


def _entering_step(
    builder: Builder, slot: Slot, target: Target, page: PageGate, actions: Entries
) -> FillStep | ChooseStep | CheckStep:
    value, first = FromInput(slot.name), actions[0]
    part = slot.name not in builder.searches
    if isinstance(first, Checked):
        return CheckStep(builder.new_id(f"check_{slot.name}"[:40]), page, target, value, part)
    if isinstance(first, Chose):
        chosen = tuple(action for action in actions if isinstance(action, Chose))
        return _choose_step(builder, page, target, value, chosen)
    entered = tuple(action for action in actions if isinstance(action, Entered))
    keys = {action.ended_by for action in entered}
    then = keys.pop() if len(keys) == 1 else None
    shown = _shown_elsewhere(builder, entered)
    return FillStep(
        builder.new_id(f"enter_{slot.name}"[:40]),
        page,
        target,
        value,
        slot.readings[0].rule,
        entry=Entry.TYPE if first.facts.control is Control.EDITABLE else Entry.REPLACE,
        then=then,
        part_of_record=part,
        shown=shown if then else None,
    )


def _shown_elsewhere(builder: Builder, actions: tuple[Entered | Chose, ...]) -> Target | None:
    """What shows afterwards what was entered or chosen, in every recording."""
    plain = tuple(Texts(shown.known) for shown in builder.shown)
    found = common(tuple(action.shown for action in actions), plain)
    return found[0] if found else None


def _choose_step(
    builder: Builder, page: PageGate, target: Target, value: FromInput, actions: tuple[Chose, ...]
) -> ChooseStep:
    control = _CONTROLS.get(actions[0].facts.control, ChoiceControl.LIST)
    is_list = control is ChoiceControl.LIST
    return ChooseStep(
        builder.new_id(f"choose_{value.name}"[:40]),
        page,
        target,
        value,
        control,
        search=_search_by(actions) if is_list else None,
        shown=_shown_elsewhere(builder, actions) if is_list else None,
    )


def _search_by(actions: tuple[Chose, ...]) -> SearchBy | None:
    """What was typed of the label in every recording; ``None`` where nothing was searched, or by another text."""
    if not any(action.searched for action in actions):
        return None
    return next((by for by in SearchBy if all(_searched_by(by, action) for action in actions)), None)


def _searched_by(by: SearchBy, action: Chose) -> bool:
    """Whether what was typed is what a run would type, or begins it; of a whole label more than its first word."""
    typed, wanted = action.typed.casefold().strip(), search_text(by, action.value).casefold()
    several = len(words_of(action.typed)) > 1 or typed == wanted
    return len(typed) >= _LEAST_TYPED and wanted.startswith(typed) and (by is not SearchBy.WHOLE or several)


# Clicking


def _click(builder: Builder, moves: tuple[Move, ...], actions: tuple[Clicked, ...]) -> None:
    clicked = click_target(builder, moves, actions)
    page = None if clicked is None else _gate(builder, tuple(action.place for action in actions), (clicked[0],))
    if clicked is None or page is None:
        builder.refuse(RefusalCode.TARGET_NOT_UNIQUE if clicked is None else RefusalCode.PAGE_NOT_RECOGNISABLE, moves)
        return
    if len({move.dialog for move in moves}) > 1:
        builder.refuse(RefusalCode.DEMONSTRATIONS_DIFFER, moves)
        return
    target, any_row = clicked
    identity = builder.new_id(slug(f"click {re.sub('[{].*?[}]', '', target.name)}", "click"))
    step = ClickStep(identity, page, target, moves[0].dialog)
    slot = next(iter(sorted(names_of(target) & {slot.name for slot in builder.slots})), None)
    builder.steps.append(PlannedStep(step=step, event=moves[0].event, slot=slot, any_row=any_row))


def click_target(
    builder: Builder, moves: Sequence[Move], actions: tuple[Clicked, ...]
) -> tuple[Target, Target | None] | None:
    """The target of a click, and the same without its row where that was exact too; ``None`` where there is none."""
    cells = _cells(builder, moves, actions)
    texts = tuple(
        Texts(
            shown.linked if action.facts.control is Control.LINK else shown.telling,
            (*((each[number], name) for name, _, each in cells), *_named_texts(builder, number)),
            shown.particular,
        )
        for number, (shown, action) in enumerate(zip(builder.shown, actions, strict=True))
    )
    others = frozenset(
        each for shown, action in zip(builder.shown, actions, strict=True) for each in _others(shown, action)
    )
    every = common(tuple(action.candidates for action in actions), texts)
    found = [target for target in every if target not in others] or every
    bound = next((target for target in found if names_of(target)), None)
    plain = next((target for target in found if not names_of(target)), None)
    if bound is None or not cells:
        chosen = plain or bound
        return None if chosen is None else (chosen, None)
    builder.rows.append(Row(tuple((at, title, each) for at, (_, title, each) in enumerate(cells))))
    return _with_slots(builder, bound, cells), plain


def _others(shown: Demonstration, click: Clicked) -> set[Target]:
    """The ways by which another thing of this page was found, in another state of it."""
    clicks = [event.action for event in shown.recording.events if isinstance(event.action, Clicked)]
    apart = [other for other in clicks if other.place.path == click.place.path and not same_thing(click, other)]
    return {target for other in apart for target in exact(other)}


_Cells = tuple[tuple[str, str, tuple[str, ...]], ...]


def _cells(builder: Builder, moves: Sequence[Move], actions: tuple[Clicked, ...]) -> _Cells:
    """The cells that all recordings have in the clicked row: a name, a caption, and their texts."""
    rows = [
        {cell: _without_controls(text, action) for cell, text in data_row(shown.recording, move.event)}
        for shown, move, action in zip(builder.shown, moves, actions, strict=True)
    ]
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for cell in sorted(set(rows[0]).intersection(*rows[1:])):
        texts = tuple(row[cell] for row in rows)
        slot = next((each for each in builder.naming if each.texts == texts), None)
        header = actions[0].headers[cell] if cell < len(actions[0].headers) else ""
        safe = "" if any(shown.telling.in_text(header) for shown in builder.shown) else header
        found.append((f"#{cell}" if slot is None else slot.name, title_of(safe, ""), texts))
    return tuple(found)


def _without_controls(cell: str, action: Clicked) -> str:
    """The id in a cell that holds controls too, where what was clicked is named by it."""
    first, _, rest = cell.partition(" ")
    named = any(re.search(rf"(?<!\w){re.escape(first)}(?!\w)", each.target.name) for each in action.candidates)
    return first if rest and looks_like_id(first) and named else cell


def _with_slots(builder: Builder, target: Target, cells: _Cells) -> Target:
    """The target with slots for the cells that it is bound to."""
    names: dict[str, str] = {}
    for name, title, texts in cells:
        if name in names_of(target) and name.startswith("#"):
            names[name] = builder.new_name(slug(title, "record") if title else "record")
            builder.slots.append(named_slot(SlotKind.ROW, names[name], title or "Record", texts))
    return renamed(target, names)


def _named_texts(builder: Builder, number: int) -> tuple[tuple[str, str], ...]:
    return tuple((slot.texts[number], slot.name) for slot in builder.naming)


def _gate(builder: Builder, places: tuple[Place, ...], targets: tuple[Target, ...]) -> PageGate | None:
    free = next((target for target in targets if not names_of(target)), None)
    return gate(builder.pages, places, builder.names, free)
