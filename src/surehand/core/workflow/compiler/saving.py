"""Which click saves, and which of the writes is the save.

Laws of this module:

- The save is a write whose kind occurs once in the whole recording, sent by one single click.
- Nothing is guessed: of several such writes of one click a person names the save; a key that saves, or a second click
  on what saves, is refused.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from attrs import frozen
from returns.result import Failure, Result, Success

from surehand.core.workflow.bundle import Key
from surehand.core.workflow.compiler.demonstration import Demonstration, is_write, same_thing
from surehand.core.workflow.compiler.refusals import CompileRefusal, RefusalCode
from surehand.core.workflow.compiler.routes import RouteKey, route_key
from surehand.core.workflow.recording import (
    Arrived,
    Checked,
    Chose,
    Clicked,
    DialogSeen,
    Entered,
    Exchange,
    Happened,
    Pressed,
)
from surehand.core.workflow.route import GraphqlRead

_ANSWERED_WITH_ERROR: Final = frozenset({4, 5})


@frozen
class Save:
    """The event that saves, and the numbers of the exchanges that may be its save.

    ``several`` says that the click sent more than one write, so that a person has to name the save.
    """

    event: int
    exchanges: tuple[int, ...]
    several: bool = False


@frozen
class _Write:
    """One write: its number, the event that caused it, and whether no other page came between."""

    number: int
    key: RouteKey
    cause: int
    direct: bool
    status_class: int


def find_save(shown: Demonstration) -> Result[Save, CompileRefusal]:
    """The one click that saves and its write."""
    writes = tuple(_writes(shown))
    twice = _clicked_twice(shown, writes)
    if twice is not None:
        return Failure(shown.refusal(RefusalCode.SAVE_CLICKED_TWICE, twice))
    counted = Counter(write.key for write in writes)
    single = [write for write in writes if counted[write.key] == 1]
    last_entry = _last_entry(shown)
    late = _by_click(shown, [write for write in single if write.cause >= last_entry])
    by_key = next((write for write in single if write.cause >= last_entry and _is_key(shown, write.cause)), None)
    early = _by_click(shown, single)
    if not late and by_key is not None:
        return Failure(shown.refusal(RefusalCode.SAVED_BY_KEY, by_key.cause))
    if late or early:
        return _of_click(shown, late or early)
    return Failure(_without_save(shown, writes))


def _writes(shown: Demonstration) -> Iterator[_Write]:
    """Every write after the sign-in that is no query; those before it count for how often a kind occurs."""
    for number, exchange in enumerate(shown.recording.exchanges):
        if is_write(exchange) and not isinstance(exchange.operation, GraphqlRead):
            cause = cause_of(shown, exchange)
            between = shown.recording.events[cause + 1 : exchange.after]
            direct = not any(isinstance(event.action, Arrived) for event in between)
            yield _Write(number, route_key(exchange, shown.known), cause, direct, exchange.status_class)


def cause_of(shown: Demonstration, exchange: Exchange) -> int:
    """The last event before the exchange in which somebody did something; -1 where there is none."""
    before = range(min(exchange.after, len(shown.recording.events)) - 1, -1, -1)
    return next((at for at in before if not isinstance(shown.action(at), Arrived | DialogSeen | Happened)), -1)


def _last_entry(shown: Demonstration) -> int:
    events = range(shown.start, len(shown.recording.events))
    return max((at for at in events if isinstance(shown.action(at), Entered | Chose | Checked)), default=shown.start)


def _is_click(shown: Demonstration, at: int) -> bool:
    return at >= shown.start and isinstance(shown.action(at), Clicked)


def _is_key(shown: Demonstration, at: int) -> bool:
    action = shown.action(at)
    return isinstance(action, Pressed) or (isinstance(action, Entered) and action.ended_by is Key.ENTER)


def _by_click(shown: Demonstration, writes: list[_Write]) -> list[_Write]:
    """The writes of the last click that has any; those that came with its own page, if there are some."""
    clicked = [write for write in writes if _is_click(shown, write.cause)]
    usable = [write for write in clicked if write.direct] or clicked
    last = max((write.cause for write in usable), default=-1)
    return [write for write in usable if write.cause == last]


def _of_click(shown: Demonstration, writes: list[_Write]) -> Result[Save, CompileRefusal]:
    """The save of one click: any of its writes that the app took."""
    event = writes[0].cause
    taken = tuple(write.number for write in writes if write.status_class not in _ANSWERED_WITH_ERROR)
    if not taken:
        return Failure(shown.refusal(RefusalCode.SAVE_FAILED, event))
    again = _clicked_again(shown, event)
    if again is not None:
        return Failure(shown.refusal(RefusalCode.SAVE_CLICKED_TWICE, again))
    return Success(Save(event, taken, several=len(writes) > 1))


def _clicked_twice(shown: Demonstration, writes: tuple[_Write, ...]) -> int | None:
    """The second click on one thing that sends writes of one kind each time, once something was entered."""
    first: dict[RouteKey, int] = {}
    for write in writes:
        if not (write.direct and _is_click(shown, write.cause) and _entered_before(shown, write.cause)):
            continue
        earlier = first.setdefault(write.key, write.cause)
        if earlier != write.cause and _same(shown, earlier, write.cause):
            return write.cause
    return next((at for at in first.values() if _clicks(shown, at) > 1), None)


def _entered_before(shown: Demonstration, at: int) -> bool:
    return any(isinstance(shown.action(each), Entered | Chose | Checked) for each in range(shown.start, at))


def _same(shown: Demonstration, one: int, other: int) -> bool:
    first, second = shown.action(one), shown.action(other)
    return isinstance(first, Clicked) and isinstance(second, Clicked) and same_thing(first, second)


def _clicks(shown: Demonstration, at: int) -> int:
    action = shown.action(at)
    return action.clicks if isinstance(action, Clicked) else 0


def _clicked_again(shown: Demonstration, save: int) -> int | None:
    """Another click on what saves, or a double click on it."""
    if _clicks(shown, save) > 1:
        return save
    events = range(shown.start, len(shown.recording.events))
    return next((at for at in events if at != save and _same(shown, save, at)), None)


def _without_save(shown: Demonstration, writes: tuple[_Write, ...]) -> CompileRefusal:
    """Why none of the writes can be the save."""
    late = [write for write in writes if write.cause >= _last_entry(shown)]
    clicked = next((write for write in late if write.direct and _is_click(shown, write.cause)), None)
    if clicked is not None:
        return shown.refusal(RefusalCode.SAVE_ROUTE_NOT_UNIQUE, clicked.cause)
    pressed = next((write for write in late if _is_key(shown, write.cause)), None)
    if pressed is not None:
        return shown.refusal(RefusalCode.SAVED_BY_KEY, pressed.cause)
    return shown.refusal(RefusalCode.NO_SAVE)
