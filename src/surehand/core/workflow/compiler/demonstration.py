"""One recording as the moves of a workflow: without its sign-in, up to the click that saves.

Laws of this module:

- The sign-in is cut off as a whole: it ends where what the secret was typed for has been sent.
- What a run cannot repeat is refused by the event that did it.
- Of several entries into one field, the last counts.
"""

from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from surehand.core.workflow.bundle import DialogAnswer
from surehand.core.workflow.compiler.refusals import CompileRefusal, RefusalCode
from surehand.core.workflow.compiler.texts import KnownTexts, is_telling, looks_like_id, plain_text, words
from surehand.core.workflow.recording import (
    Action,
    Arrived,
    Checked,
    Chose,
    Clicked,
    Control,
    DialogSeen,
    Entered,
    Exchange,
    Happened,
    Known,
    Opened,
    Place,
    Pressed,
    Recording,
    SecretEntered,
    Uploaded,
)
from surehand.core.workflow.target import Target, TargetKind

Entry = Entered | Chose | Checked
MoveAction = Opened | Entered | Chose | Checked | Clicked

#: A click on one of these sets the focus, or opens the list of a choice that is an event of its own.
_FIELDS: Final = frozenset(Control) - {Control.BUTTON, Control.LINK, Control.OTHER, Control.SECRET, Control.FILE}
#: A sign-in page has no more fields than these beside its secret: a name, and what "remember me" is.
_SIGN_IN_FIELDS: Final = 2
_PROGRAMMED: Final = frozenset({"id", "name", "class"})
_READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_HAPPENED: Final[dict[str, RefusalCode]] = {
    "tab_opened": RefusalCode.TWO_TABS,
    "reloaded": RefusalCode.RELOADED,
    "went_back": RefusalCode.WENT_BACK,
    "human_check": RefusalCode.HUMAN_CHECK,
}


@frozen
class Move:
    """One thing that a run will do, the event that it comes from, and how the dialog that it opened was answered."""

    event: int
    action: MoveAction
    dialog: DialogAnswer | None = None


@frozen
class Demonstration:
    """A recording from its sign-in on.

    ``start`` is the first event that counts. ``known`` are all its values, and whatever holds one of them is none of
    the app's structure. Labels hold short words by chance: of links, ``linked`` are looked for; of other labels
    ``telling``; of names that programmers gave ``particular``.
    """

    number: int
    recording: Recording
    start: int
    known: KnownTexts = field(repr=False)
    linked: KnownTexts = field(repr=False)
    telling: KnownTexts = field(repr=False)
    particular: KnownTexts = field(repr=False)

    def action(self, event: int) -> Action:
        """What the event was."""
        return self.recording.events[event].action

    def text(self, known: Known) -> str | None:
        """The text that is known; ``None`` where the recording contradicts itself."""
        if known.event >= len(self.recording.events):
            return None
        action = self.action(known.event)
        if known.cell is None:
            return entered_text(action) if isinstance(action, Entered | Chose | Checked) else None
        cells = action.row if isinstance(action, Clicked) else ()
        return cells[known.cell] if known.cell < len(cells) else None

    def refusal(self, code: RefusalCode, event: int | None = None) -> CompileRefusal:
        """A refusal about an event of this recording."""
        return CompileRefusal(code, event, self.number)


def entered_text(action: Entry) -> str:
    """The text that an entry leaves in its field."""
    if isinstance(action, Checked):
        return "true" if action.checked else "false"
    return action.value


def demonstration(number: int, recording: Recording) -> Demonstration:
    """The recording without its sign-in."""
    start = _end_of_sign_in(recording)
    cells = tuple(cell for at in range(len(recording.events)) for _, cell in data_row(recording, at))
    account = tuple(text for event in recording.events[:start] for text in _typed(event.action) if is_telling(text))
    typed = tuple(text for event in recording.events[start:] for text in _typed(event.action))
    chosen = tuple(event.action.value for event in recording.events if isinstance(event.action, Chose))
    every = (*cells, *account, *typed, *chosen)
    particular = tuple(filter(is_telling, (*cells, *account, *typed)))
    return Demonstration(
        number,
        recording,
        start,
        known=KnownTexts.of(every, every),
        linked=KnownTexts.of(every, particular),
        telling=KnownTexts.of((*cells, *particular), particular),
        particular=KnownTexts.of(particular, particular),
    )


def _typed(action: Action) -> tuple[str, ...]:
    """What was typed, and what was chosen without having been offered as one of a few."""
    match action:
        case Entered(value=value, typed=typed):
            return value, typed
        case Chose(value=value, facts=facts, searched=searched) if searched or value not in facts.options:
            return (value,)
        case _:
            return ()


def data_row(recording: Recording, at: int) -> tuple[tuple[int, str], ...]:
    """The cells of the row of a record in which the event clicked; none where the row belongs to the page's layout.

    A row that leads to an address without an id is one of a menu. What a button, or a link in a column of its own, is
    called is no text of the record.
    """
    action = recording.events[at].action
    if not isinstance(action, Clicked):
        return ()
    cells = tuple((cell, text) for cell, text in enumerate(action.row) if text.strip() and not _is_label(action, cell))
    return cells if _opens_record(recording, at, cells) else ()


def _opens_record(recording: Recording, at: int, cells: tuple[tuple[int, str], ...]) -> bool:
    """Whether a row is a record's: it leads to an address with an id or a name in it, or opens something in place."""
    for event in recording.events[at + 1 :]:
        if isinstance(event.action, Arrived):
            pieces = _pieces(event.action.place)
            named = [words(text) for _, text in cells if " " in words(text)]
            return any(looks_like_id(each) or words(each) in named for each in pieces)
        if not isinstance(event.action, DialogSeen):
            break
    return len({text for _, text in cells}) > 1


def _pieces(place: Place) -> list[str]:
    """Everything in an address that may tell a record: segments, values of the query, segments of the fragment."""
    segments = (*place.path.partition("?")[0].split("/"), *place.fragment.split("/"))
    return [plain_text(each) for each in (*segments, *(part.value for part in place.query))]


def _is_label(action: Clicked, cell: int) -> bool:
    """Whether the cell is one of actions, and no text of the record: its column has no caption, or it was clicked.

    A link in a column with a caption, or in the first column of a table without any, is a text of the record.
    """
    if any(action.headers):
        return cell >= len(action.headers) or not action.headers[cell].strip()
    own = action.row[cell] == action.facts.caption
    return own and not (action.facts.control is Control.LINK and cell == 0)


def is_write(exchange: Exchange) -> bool:
    """Whether the exchange is a write by its method."""
    return not exchange.socket and exchange.method not in _READ_METHODS


def place_of(action: Action) -> Place | None:
    """Where the action was, if it was on a page."""
    return None if isinstance(action, DialogSeen | Happened) else action.place


# The sign-in


def _end_of_sign_in(recording: Recording) -> int:
    """The first event after the sign-in; 0 without one."""
    end = 0
    for at, event in enumerate(recording.events):
        if at >= end and isinstance(event.action, SecretEntered) and _signs_in(recording, end, at):
            end = _after_sending(recording, at, event.action)
    return end


def _signs_in(recording: Recording, end: int, secret: int) -> bool:
    """Whether the secret belongs to the sign-in: a page with few fields first, or a page that follows it directly."""
    between = [event.action for event in recording.events[end:secret]]
    entries = sum(isinstance(action, Entered | Chose | Checked) for action in between)
    goes_on = end == 0 or not any(isinstance(action, Clicked | Opened | Pressed) for action in between)
    return goes_on and entries <= _SIGN_IN_FIELDS


def _after_sending(recording: Recording, at: int, secret: SecretEntered) -> int:
    """The first event after what the secret was typed for was sent, and after the page that answers is there."""
    sent = next((each.after for each in recording.exchanges if is_write(each) and each.after > at), at + 1)
    rest = [event.action for event in recording.events[sent:]]
    page = next((step for step, action in enumerate(rest) if isinstance(action, Arrived | Opened)), 0)
    still = all(
        isinstance(action, Clicked | Checked | Pressed | SecretEntered) and action.place.path == secret.place.path
        for action in rest[:page]
    )
    return sent + page if still else sent


# What a run cannot repeat


def unrepeatable(shown: Demonstration) -> Iterator[CompileRefusal]:
    """Events that make the whole recording useless, wherever they stand after the sign-in."""
    for at in range(shown.start, len(shown.recording.events)):
        match shown.action(at):
            case SecretEntered():
                yield shown.refusal(RefusalCode.SECRET_AFTER_SIGN_IN, at)
            case Uploaded():
                yield shown.refusal(RefusalCode.FILE_UPLOAD, at)
            case Happened(what=what):
                yield shown.refusal(_HAPPENED[what], at)
            case _:
                pass


def move_refusals(shown: Demonstration, save: int) -> Iterator[CompileRefusal]:
    """Events up to the save that have no step."""
    for at in range(shown.start, save):
        place = place_of(shown.action(at))
        if place is not None and place.origin != shown.recording.origin:
            yield shown.refusal(RefusalCode.OTHER_SERVER, at)
        match shown.action(at):
            case Pressed():
                yield shown.refusal(RefusalCode.KEY_OUTSIDE_FIELD, at)
            case Clicked(clicks=clicks) if clicks > 1:
                yield shown.refusal(RefusalCode.CLICKED_TWICE, at)
            case _:
                pass
    yield from _dialog_refusals(shown, save)
    yield from _repeated_lists(shown, save)


def _dialog_refusals(shown: Demonstration, save: int) -> Iterator[CompileRefusal]:
    """Dialogs up to the save, and those that the save itself opened; what a later page opens is no part of the task."""
    for at in range(shown.start, len(shown.recording.events)):
        action = shown.action(at)
        if not isinstance(action, DialogSeen) or at - 1 > save:
            continue
        opener = shown.action(at - 1) if at > shown.start else action
        if action.form in {"prompt", "beforeunload"} or isinstance(opener, DialogSeen):
            yield shown.refusal(RefusalCode.DIALOG_NOT_SUPPORTED, at)
        elif not isinstance(opener, Clicked):
            yield shown.refusal(RefusalCode.DIALOG_WITHOUT_CLICK, at)


def _repeated_lists(shown: Demonstration, save: int) -> Iterator[CompileRefusal]:
    seen: set[tuple[str, Target | None]] = set()
    for at in range(shown.start, save):
        action = shown.action(at)
        if isinstance(action, Chose) and action.facts.control is Control.LIST:
            field_of = (action.place.path, _first_target(action))
            if field_of in seen:
                yield shown.refusal(RefusalCode.SEVERAL_CHOICES, at)
            seen.add(field_of)


# Moves


def moves(shown: Demonstration, save: int) -> tuple[Move, ...]:
    """What a run does before the save, in order; the first opens the page on which the task begins.

    What was only looked at before an address was opened by hand led nowhere.
    """
    found = [Move(at, action, _dialog(shown, at)) for at, action in _move_actions(shown, save)]
    first = place_of(shown.action(shown.start)) if shown.start < save else None
    if first is not None and not (found and isinstance(found[0].action, Opened)):
        found.insert(0, Move(shown.start, Opened(place=first)))
    last = max((at for at, move in enumerate(found) if isinstance(move.action, Opened)), default=0)
    needed = found if any(_enters(move) for move in found[:last]) else found[last:]
    return tuple(move for at, move in enumerate(needed) if not _overtaken(move, needed[at + 1 :]))


def _enters(move: Move) -> bool:
    return isinstance(move.action, Entered | Chose | Checked)


def _move_actions(shown: Demonstration, save: int) -> Iterator[tuple[int, MoveAction]]:
    for at in range(shown.start, save):
        match shown.action(at):
            case Opened() | Chose() | Checked() as action:
                yield at, action
            case Entered(value="", typed="", before=False):
                pass
            case Entered() as action:
                yield at, action
            case Clicked(facts=facts) as action if facts.control not in _FIELDS:
                yield at, action
            case _:
                pass


def _dialog(shown: Demonstration, at: int) -> DialogAnswer | None:
    return dialog_after(shown, at) if isinstance(shown.action(at), Clicked) else None


def dialog_after(shown: Demonstration, click: int) -> DialogAnswer | None:
    """How the dialog that the click opened was answered, if one opened."""
    following = shown.recording.events[click + 1 : click + 2]
    return next((each.action.answer for each in following if isinstance(each.action, DialogSeen)), None)


def _overtaken(move: Move, later: list[Move]) -> bool:
    """Whether a later move makes this one void: the same field again, or another page opened at once."""
    if isinstance(move.action, Opened):
        return bool(later) and isinstance(later[0].action, Opened)
    if isinstance(move.action, Clicked):
        return False
    mine = (move.action.place.path, _first_target(move.action))
    return any(
        isinstance(other.action, Entered | Chose | Checked)
        and (other.action.place.path, _first_target(other.action)) == mine
        for other in later
    )


def _first_target(action: Entered | Chose | Checked | Clicked) -> Target | None:
    return action.candidates[0].target if action.candidates else None


def same_thing(one: Clicked, other: Clicked) -> bool:
    """Whether two clicks were on the same thing of the same page: found in the same way, and told apart by nothing."""
    mine, others = exact(one), exact(other)
    apart = bool(_programmed(mine - others) and _programmed(others - mine))
    return one.place.path == other.place.path and bool(mine & others) and not apart


def exact(click: Clicked) -> frozenset[Target]:
    """The ways by which exactly the clicked thing was found."""
    return frozenset(candidate.target for candidate in click.candidates if candidate.matches == 1)


def _programmed(targets: frozenset[Target]) -> list[Target]:
    """Those by what programmers gave, which stays when a label changes."""
    return [each for each in targets if each.kind is TargetKind.TEST_ID or each.attribute in _PROGRAMMED]
