"""Generated demonstrations: apps of many shapes, and persons who enter texts that can be found again anywhere."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve
from hypothesis import strategies as st
from returns.result import Result, Success

from support.demonstrations import Field, Shape, Values, demonstrate
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.compile import AnswerProblem, Draft, Option, confirm, is_asked
from surehand.core.workflow.recording import Checked, Chose, Clicked, Control, Entered, Event, Recording

#: Every text that a person enters holds this word.
CANARY: Final = "canaryzz"

_CAPTIONS: Final = ("Kind", "Note", "Due on", "Weight (kg)", "Signed?", "Doctor", "Summary *", "Straße", "予定", "")
_TEXTS: Final = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=12)


def _canary(rest: str) -> str:
    return f"{CANARY} {rest}".strip()


def _field(caption: str, control: Control, required: bool) -> Field:
    options = ("Routine", "Urgent", "Follow up") if control in {Control.SELECT, Control.RADIO} else ()
    return Field(caption=caption, control=control, options=options, required=required)


_CONTROLS = (
    Control.LINE,
    Control.TEXT,
    Control.EDITABLE,
    Control.NUMBER,
    Control.DATE,
    Control.SELECT,
    Control.RADIO,
    Control.CHECKBOX,
    Control.LIST,
)

FIELDS = st.lists(
    st.builds(_field, st.sampled_from(_CAPTIONS), st.sampled_from(_CONTROLS), st.booleans()),
    min_size=2,
    max_size=6,
    unique_by=lambda each: each.caption,
).map(tuple)

SHAPES = st.builds(
    Shape,
    fields=FIELDS,
    sign_in=st.booleans(),
    row=st.booleans(),
    search=st.booleans(),
    linked=st.booleans(),
    reading=st.sampled_from(("json", "detail", "pages", "record", "nothing")),
    presence=st.booleans(),
    confirms=st.booleans(),
    changes=st.booleans(),
)


def _text(each: Field) -> st.SearchStrategy[str]:
    match each.control:
        case Control.CHECKBOX:
            return st.sampled_from(("true", "false"))
        case Control.NUMBER:
            return st.decimals(0, 9_999, places=1, allow_nan=False, allow_infinity=False).map(str)
        case Control.DATE:
            return st.dates().map(lambda day: day.isoformat())
        case _ if each.options:
            return st.sampled_from(each.options)
        case _:
            return _TEXTS.map(_canary)


def values_for(shape: Shape) -> st.SearchStrategy[Values]:
    """What a person may enter into an app of this shape."""
    row = st.tuples(st.from_regex(r"[A-Z]{2}-[0-9]{4}", fullmatch=True), _TEXTS.map(_canary), st.dates().map(str))
    return st.builds(
        Values,
        texts=st.tuples(*(_text(each) for each in shape.fields)),
        row=row,
        key=st.integers(1, 9_999).map(str),
    )


#: A shape, and what two people entered there.
TASKS = SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), values_for(shape), values_for(shape)))


def answered(draft: Draft, **wanted: str) -> dict[str, str]:
    """An answer to each question that is asked: the wanted one, or the first option; names for a database.

    The second field of an identity check is another one than the first.
    """
    answers: dict[str, str] = {}
    for question in draft.questions:
        if is_asked(question, answers):
            name = question.id.replace(".", "_")
            taken = {Option.STOP.value, answers.get("identity.unique", "") if question.id == "identity.second" else ""}
            first = next((each for each in question.options if each not in taken), name)
            answers[question.id] = wanted.get(question.id, first)
    return answers | {name: answer for name, answer in wanted.items() if name in answers}


def bundle_of(draft: Draft, **wanted: str) -> Result[Bundle, tuple[AnswerProblem, ...]]:
    """The bundle of the draft with these answers."""
    return confirm(draft, answered(draft, **wanted))


def is_success(result: Result[object, object]) -> bool:
    """Whether a result is one."""
    return isinstance(result, Success)


def _without(recording: Recording, at: int) -> Recording:
    events = recording.events[:at] + recording.events[at + 1 :]
    return evolve(recording, events=events)


def _twice(recording: Recording, at: int) -> Recording:
    return evolve(recording, events=(*recording.events[: at + 1], *recording.events[at:]))


def _swapped(recording: Recording, at: int) -> Recording:
    events: list[Event] = list(recording.events)
    events[at - 1], events[at] = events[at], events[at - 1]
    return evolve(recording, events=tuple(events))


def _later(recording: Recording, at: int) -> Recording:
    """Every exchange and look some events later."""
    return evolve(
        recording,
        exchanges=tuple(evolve(each, after=each.after + at) for each in recording.exchanges),
        pages=tuple(evolve(each, after=each.after + at) for each in recording.pages),
    )


def _other_write(recording: Recording, at: int) -> Recording:
    kept = tuple(each for number, each in enumerate(recording.exchanges) if number != at % len(recording.exchanges))
    return evolve(recording, exchanges=kept)


def _without_landmarks(recording: Recording, at: int) -> Recording:
    def bare(event: Event) -> Event:
        place = getattr(event.action, "place", None)
        return event if place is None else evolve(event, action=evolve(event.action, place=evolve(place, landmarks=())))

    return evolve(
        recording, events=tuple(bare(each) if number >= at else each for number, each in enumerate(recording.events))
    )


def _not_unique(recording: Recording, at: int) -> Recording:
    def doubled(event: Event) -> Event:
        action = event.action
        if not isinstance(action, Entered | Chose | Checked | Clicked):
            return event
        found = tuple(evolve(each, matches=2) for each in action.candidates)
        return evolve(event, action=evolve(action, candidates=found))

    return evolve(
        recording, events=tuple(doubled(each) if number == at else each for number, each in enumerate(recording.events))
    )


def _without_pages(recording: Recording, at: int) -> Recording:
    return evolve(recording, pages=recording.pages[: at % (len(recording.pages) + 1)])


DAMAGES = (_without, _twice, _swapped, _later, _other_write, _without_landmarks, _not_unique, _without_pages)


@st.composite
def damaged(draw: st.DrawFn) -> Recording:
    """A demonstration in which up to four things are not as a recorder would have them."""
    shape, values, _ = draw(TASKS)
    recording = demonstrate(shape, values)
    for damage in draw(st.lists(st.sampled_from(DAMAGES), max_size=4)):
        if recording.events and recording.exchanges:
            recording = damage(
                recording, draw(st.integers(1, len(recording.events) - 1)) if len(recording.events) > 1 else 0
            )
    return recording


def texts_of(values: Values) -> tuple[str, ...]:
    """What must stand in nothing that a recording leads to."""
    return (*values.texts, *values.row)


def all_answers(draft: Draft, option: Option) -> Mapping[str, str]:
    """This option wherever there is a choice for it."""
    return {question.id: option.value for question in draft.questions if option.value in question.options}
