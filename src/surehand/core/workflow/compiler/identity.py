"""The identity check: which known texts the page that saves shows, directly before the save.

Laws of this module:

- Texts of the clicked row come first; what was entered in the form itself counts only where the row gives too little.
- Of what was entered, no more is checked than needed: a field that the page lets be empty stays free to be so.
- An element that is found by the text that it shows proves nothing, and is left out.
- Each element and each text counts once.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from surehand.core.workflow.addresses import PLACE
from surehand.core.workflow.bundle import ChoiceControl, ChooseStep, DateForm, EnteringStep, FillStep, Rule
from surehand.core.workflow.compiler.demonstration import Demonstration
from surehand.core.workflow.compiler.pages import Name
from surehand.core.workflow.compiler.saving import Save
from surehand.core.workflow.compiler.slots import Slot, SlotKind, named_slot
from surehand.core.workflow.compiler.steps import Builder
from surehand.core.workflow.compiler.targets import Texts, bound, common
from surehand.core.workflow.compiler.texts import slug
from surehand.core.workflow.recording import Control, PageSeen, Showing
from surehand.core.workflow.target import Target

_LEAST: Final = 2
_MOST_CELLS: Final = 6
_MOST_FIELDS: Final = 8
#: Controls whose texts are much alike from record to record.
ALIKE: Final = frozenset({Control.NUMBER, Control.DATE, Control.SELECT, Control.RADIO, Control.CHECKBOX})
_OPTION_ATTRIBUTES: Final = frozenset({"for", "value"})
_OPTION_ROLES: Final = frozenset({"radio", "option", "menuitemradio", "columnheader"})
#: Rules under which an element shows the very characters.
EXACT: Final = frozenset({Rule.IDENTIFIER, Rule.TEXT, Rule.CHOICE})


@frozen
class ShownSlot:
    """A slot whose text an element shows, and under which rule; ``entered`` says that it may be needed or not."""

    slot: str
    target: Target
    rule: Rule
    form: DateForm = DateForm.ISO
    entered: bool = False


def identity_of(builder: Builder, saves: tuple[Save, ...], saved_on: str) -> tuple[ShownSlot, ...]:
    """What may tell which record is open on the page that saves, in the order of the task; shown cells become slots.

    Args:
        builder: The steps; it takes the new slots.
        saves: The save of each recording.
        saved_on: The path of the page that saves, as a template.
    """
    pages = [_page_before(shown, save) for shown, save in zip(builder.shown, saves, strict=True)]
    found: list[ShownSlot] = []
    if all(page is not None for page in pages):
        seen = tuple(page for page in pages if page is not None)
        _add(found, (_shown(builder, seen, slot) for slot in builder.naming))
        _add(found, _shown_cells(builder, seen, found))
    if len(found) < _LEAST:
        seen = tuple(page for page in pages if page is not None)
        _add(found, _entered(builder, seen if len(seen) == len(pages) else (), saved_on))
    return _in_order(builder, found)


def _add(found: list[ShownSlot], more: Iterator[ShownSlot | None]) -> None:
    """Take what is new."""
    for each in more:
        if each is not None and all(each.target != old.target and each.slot != old.slot for old in found):
            found.append(each)


def _in_order(builder: Builder, found: list[ShownSlot]) -> tuple[ShownSlot, ...]:
    """What is always checked, and the best of what was entered, in the order of the task."""
    always = [each for each in found if not each.entered]
    offered = sorted((each for each in found if each.entered), key=lambda each: _rank(builder.slot(each.slot)))[
        :_MOST_FIELDS
    ]
    order = [slot.name for slot in builder.slots]
    return (*always, *sorted(offered, key=lambda each: order.index(each.slot)))


def _rank(slot: Slot) -> tuple[bool, bool]:
    """What tells most and is always given first; what was entered into it does not count."""
    return slot.control in ALIKE, not slot.required


def _page_before(shown: Demonstration, save: Save) -> PageSeen | None:
    """What the page showed directly before the save."""
    before = [page for page in shown.recording.pages if page.after <= save.event and page.after > save.event - 1]
    return before[-1] if before else None


def _entered(builder: Builder, pages: tuple[PageSeen, ...], saved_on: str) -> Iterator[ShownSlot | None]:
    """Where the page shows what was entered, or else the field itself."""
    slots = [slot for slot in builder.slots if slot.kind is SlotKind.FIELD and slot.name not in builder.searches]
    for slot in slots:
        shown = _shown(builder, pages, slot) if pages else None
        yield None if shown is None else evolve(shown, entered=True)
        yield _own_field(builder, slot, saved_on)


def _shown(builder: Builder, pages: tuple[PageSeen, ...], slot: Slot) -> ShownSlot | None:
    return shown_slot(builder.shown, pages, slot, _own_target(builder, slot), builder.names)


def _own_target(builder: Builder, slot: Slot) -> Target | None:
    """The field itself."""
    steps = [planned.step for planned in builder.steps if planned.slot == slot.name]
    return next((step.target for step in steps if isinstance(step, EnteringStep)), None)


def shown_slot(
    shown: tuple[Demonstration, ...],
    pages: tuple[PageSeen, ...],
    slot: Slot,
    own: Target | None,
    names: Sequence[Name] = (),
) -> ShownSlot | None:
    """The element that shows the text of a slot in every recording, if one does.

    Args:
        shown: The demonstrations.
        pages: One page of each.
        slot: The slot.
        own: The field into which it was entered: a page that has it shows the text there.
        names: What rows may be bound to, if not the text itself.
    """
    found = showings(shown, pages, slot.texts)
    rows = [name for name in names if name.texts != slot.texts]
    plain = tuple(
        Texts(each.known, tuple((name.texts[number], name.name) for name in rows)) for number, each in enumerate(shown)
    )
    candidates = tuple(tuple(each for item in items for each in item.candidates) for items in found)
    targets = [each for each in common(candidates, plain) if _may_show(each)] if all(candidates) else []
    usable = [each for each in targets if each == own or not slot.weak or slot.is_like(each.name)]
    if not usable:
        return None
    target = own if own in usable else usable[0]
    item = next(item for item in found[0] if any(bound(each.target, plain[0]) == target for each in item.candidates))
    return ShownSlot(slot.name, target, item.rule, item.form)


def _may_show(target: Target) -> bool:
    """Whether an element tells something: an option stands there chosen or not, and a name would tell itself."""
    is_option = target.attribute in _OPTION_ATTRIBUTES or target.role in _OPTION_ROLES
    return not is_option and PLACE.search(target.name) is None


def showings(
    shown: tuple[Demonstration, ...], pages: tuple[PageSeen, ...], texts: tuple[str, ...]
) -> tuple[tuple[Showing, ...], ...]:
    """The showings of a text on one page of each recording."""
    return tuple(
        tuple(showing for showing in page.showings if each.text(showing.known) == text)
        for each, page, text in zip(shown, pages, texts, strict=True)
    )


def _shown_cells(builder: Builder, pages: tuple[PageSeen, ...], found: list[ShownSlot]) -> Iterator[ShownSlot]:
    """Further cells of clicked rows that the page shows, each with a slot of its own from now on."""
    for row in reversed(builder.rows):
        for _, title, texts in row.cells:
            taken = any(slot.texts == texts for slot in builder.slots)
            name = builder.new_name(slug(title, "shown") if title else "shown")
            slot = named_slot(SlotKind.SHOWN, name, title or "Shown with the record", texts)
            item = None if taken else shown_slot(builder.shown, pages, slot, None, builder.names)
            is_new = item is not None and all(item.target != each.target for each in found)
            if item is None or not is_new or item.rule not in EXACT or len(found) >= _MOST_CELLS:
                continue
            builder.slots.append(slot)
            yield item


def _own_field(builder: Builder, slot: Slot, saved_on: str) -> ShownSlot | None:
    """The field itself, read again directly before the save, where it is on the page that saves."""
    step = next(planned.step for planned in builder.steps if planned.slot == slot.name)
    if not slot.texts[0] or not isinstance(step, FillStep | ChooseStep) or step.page.path != saved_on:
        return None
    if isinstance(step, FillStep):
        return ShownSlot(slot.name, step.shown or step.target, step.rule, entered=True)
    is_group = step.control is ChoiceControl.RADIO
    return None if is_group else ShownSlot(slot.name, step.shown or step.target, Rule.CHOICE, entered=True)
