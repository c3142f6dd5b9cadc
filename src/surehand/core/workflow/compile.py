"""The compiler: from recordings of one task to a draft, and from a draft with a person's answers to a bundle.

Laws of this module:

- It is total and deterministic: recordings become a draft or refusals, answers become a bundle or problems.
- A refusal names the step; a question shows what was found; neither holds a text that was typed or read.
- Nothing is confirmed by default.
"""

from typing import Final

from returns.result import Failure, Result, Success

from surehand.core.workflow.bundle import Effect, EnteringStep, SaveStep
from surehand.core.workflow.compiler.confirm import confirm, with_optional
from surehand.core.workflow.compiler.demonstration import (
    Demonstration,
    Move,
    demonstration,
    dialog_after,
    move_refusals,
    moves,
    unrepeatable,
)
from surehand.core.workflow.compiler.draft import Draft, Plan, draft_of
from surehand.core.workflow.compiler.identity import identity_of
from surehand.core.workflow.compiler.pages import gate, heading_of, pages_of
from surehand.core.workflow.compiler.questions import (
    AnswerCode,
    AnswerProblem,
    Condition,
    Evidence,
    EvidenceCode,
    Option,
    Question,
    QuestionKind,
    is_asked,
)
from surehand.core.workflow.compiler.records import Found, Search, names_changed, sources
from surehand.core.workflow.compiler.refusals import CompileRefusal, RefusalCode
from surehand.core.workflow.compiler.saving import Save, find_save
from surehand.core.workflow.compiler.slots import SlotKind, title_of
from surehand.core.workflow.compiler.steps import Builder, add_step, click_target
from surehand.core.workflow.compiler.targets import names_of
from surehand.core.workflow.compiler.texts import slug
from surehand.core.workflow.compiler.writes import Writes, may_add, possible_writes
from surehand.core.workflow.recording import Clicked, Entered, Recording
from surehand.core.workflow.target import Target

__all__ = [
    "AnswerCode",
    "AnswerProblem",
    "CompileRefusal",
    "Condition",
    "Draft",
    "Evidence",
    "EvidenceCode",
    "Option",
    "Question",
    "QuestionKind",
    "RefusalCode",
    "compile_recordings",
    "confirm",
    "is_asked",
    "saves_something",
    "with_optional",
]

_LEAST_IDENTITY: Final = 2
_MOST_INPUTS: Final = 50

Refusals = tuple[CompileRefusal, ...]


def compile_recordings(recordings: tuple[Recording, ...]) -> Result[Draft, Refusals]:
    """The draft of a workflow.

    Args:
        recordings: One or more demonstrations of the same task; the first gives names and captions.

    Returns:
        The draft, or every refusal of the first stage that had one.
    """
    if not recordings:
        return Failure((CompileRefusal(RefusalCode.NO_RECORDING),))
    other = next((n for n, each in enumerate(recordings) if each.origin != recordings[0].origin), None)
    if other is not None:
        return Failure((CompileRefusal(RefusalCode.OTHER_APP, recording=other),))
    shown = tuple(demonstration(number, each) for number, each in enumerate(recordings))
    refused = tuple(refusal for each in shown for refusal in unrepeatable(each))
    return Failure(refused) if refused else _with_saves(shown)


def saves_something(recording: Recording) -> bool:
    """Whether there is a write that a workflow could be about, whatever else keeps it from becoming one."""
    found = find_save(demonstration(0, recording))
    return not (isinstance(found, Failure) and found.failure().code is RefusalCode.NO_SAVE)


def _with_saves(shown: tuple[Demonstration, ...]) -> Result[Draft, Refusals]:
    found = [find_save(each) for each in shown]
    refused = tuple(each.failure() for each in found if isinstance(each, Failure))
    if refused:
        return Failure(refused)
    saves = tuple(each.unwrap() for each in found)
    refused = tuple(
        refusal for each, save in zip(shown, saves, strict=True) for refusal in move_refusals(each, save.event)
    )
    return Failure(refused) if refused else _with_steps(shown, saves)


def _with_steps(shown: tuple[Demonstration, ...], saves: tuple[Save, ...]) -> Result[Draft, Refusals]:
    lists = tuple(moves(each, save.event) for each, save in zip(shown, saves, strict=True))
    differing = _differing(shown, lists, saves)
    if differing is not None:
        return Failure((differing,))
    builder = Builder(pages_of(shown), tuple(save.event for save in saves))
    for each in zip(*lists, strict=True):
        add_step(builder, each)
    if not any(slot.kind is SlotKind.FIELD and slot.name not in builder.searches for slot in builder.slots):
        builder.refuse(RefusalCode.NOTHING_ENTERED, [Move(saves[0].event, _clicks(shown, saves)[0])])
    return Failure(tuple(builder.refusals)) if builder.refusals else _with_save(builder, saves)


def _differing(
    shown: tuple[Demonstration, ...], lists: tuple[tuple[Move, ...], ...], saves: tuple[Save, ...]
) -> CompileRefusal | None:
    """The first step in which a recording differs from the first one by its kind."""
    for each, mine, save in zip(shown[1:], lists[1:], saves[1:], strict=True):
        kinds = [(type(one.action) is type(other.action)) for one, other in zip(lists[0], mine, strict=False)]
        if not all(kinds):
            return each.refusal(RefusalCode.DEMONSTRATIONS_DIFFER, mine[kinds.index(False)].event)
        if len(mine) != len(lists[0]):
            event = mine[len(lists[0])].event if len(mine) > len(lists[0]) else save.event
            return each.refusal(RefusalCode.DEMONSTRATIONS_DIFFER, event)
    return None


def _clicks(shown: tuple[Demonstration, ...], saves: tuple[Save, ...]) -> tuple[Clicked, ...]:
    actions = [each.action(save.event) for each, save in zip(shown, saves, strict=True)]
    return tuple(action for action in actions if isinstance(action, Clicked))


def _with_save(builder: Builder, saves: tuple[Save, ...]) -> Result[Draft, Refusals]:
    shown, clicks = builder.shown, _clicks(builder.shown, saves)
    told = possible_writes(builder.pages, saves, builder.names)
    if isinstance(told, Failure):
        return Failure((told.failure(),))
    saving = tuple(Move(save.event, click) for save, click in zip(saves, clicks, strict=True))
    found = click_target(builder, saving, clicks)
    free = None if found is None or names_of(found[0]) else found[0]
    page = gate(builder.pages, tuple(click.place for click in clicks), builder.names, free)
    if found is None or page is None:
        code = RefusalCode.TARGET_NOT_UNIQUE if found is None else RefusalCode.PAGE_NOT_RECOGNISABLE
        return Failure((shown[0].refusal(code, saves[0].event),))
    dialogs = {dialog_after(each, save.event) for each, save in zip(shown, saves, strict=True)}
    if len(dialogs) > 1:
        return Failure((shown[-1].refusal(RefusalCode.DEMONSTRATIONS_DIFFER, saves[-1].event),))
    step = SaveStep(builder.new_id("save"), page, found[0], told.unwrap()[0].save, dialogs.pop())
    return _with_checks(builder, saves, step, told.unwrap())


def _with_checks(
    builder: Builder, saves: tuple[Save, ...], save: SaveStep, writes: tuple[Writes, ...]
) -> Result[Draft, Refusals]:
    first = builder.shown[0]
    identity = identity_of(builder, saves, save.page.path)
    if len(identity) < _LEAST_IDENTITY:
        return Failure((first.refusal(RefusalCode.IDENTITY_NOT_SHOWN, saves[0].event),))
    if len(builder.slots) > _MOST_INPUTS:
        return Failure((first.refusal(RefusalCode.TOO_LARGE, saves[0].event),))
    entered = frozenset(
        slot.name for slot in builder.slots if slot.kind is SlotKind.FIELD and slot.name not in builder.searches
    )
    search = Search(builder.pages, saves, tuple(builder.names), tuple(builder.slots), _own_targets(builder))
    seen = sources(search, entered)
    found = next((each for each in seen if names_changed(each, entered)), None)
    places = tuple(click.place for click in _clicks(builder.shown, saves))
    title = title_of(heading_of(builder.pages, places) or save.target.name, "Workflow")
    plan = Plan(
        workflow=slug(title, "workflow"),
        title=title,
        origin=first.recording.origin,
        recordings=len(builder.shown),
        slots=tuple(builder.slots),
        searches=frozenset(builder.searches),
        steps=tuple(builder.steps),
        identity=identity,
        save=save,
        found=found,
        effect=_effect(found, seen, writes, save.page.path),
        held=_held(first),
        writes=writes,
        asks_save=any(each.several for each in saves),
    )
    if not plan.names_what_it_changes:
        return Failure((first.refusal(RefusalCode.CHANGED_RECORD_NOT_NAMED, saves[0].event),))
    return Success(draft_of(plan))


def _own_targets(builder: Builder) -> dict[str, Target]:
    steps = [(planned.slot, planned.step) for planned in builder.steps]
    return {slot: step.target for slot, step in steps if slot is not None and isinstance(step, EnteringStep)}


def _effect(found: Found | None, seen: tuple[Found, ...], writes: tuple[Writes, ...], page: str) -> Effect | None:
    """What the save did to the records, as far as anything says so.

    A record that goes on being one is no sign of a change where the save may have added another one below it.
    """
    told = next((each.effect for each in (found, *seen) if each is not None and each.effect is not None), None)
    return None if told is Effect.UPDATE and any(may_add(each.save, page) for each in writes) else told


def _held(shown: Demonstration) -> int:
    """How many of the entered fields held something before: a record's texts, or the form's own defaults."""
    actions = [event.action for event in shown.recording.events[shown.start :]]
    return sum(isinstance(action, Entered) and action.before for action in actions)
