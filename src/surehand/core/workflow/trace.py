"""What a run did, command by command, for a person at this computer: kinds, ends, durations, and which fields matched.

Laws of this module:

- It holds closed words, numbers, and names of members; no target, address, typed or read text.
- It is told beside the evidence and is none: nothing of an outcome follows from it.
- It is bounded, however long a run waits.
"""

from collections.abc import Mapping
from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import field, frozen

from surehand.core.schema import Items, Number
from surehand.core.workflow.addresses import intended_text
from surehand.core.workflow.bundle import Bundle, ReadField
from surehand.core.workflow.commands import (
    Canceled,
    Check,
    CheckPage,
    Choose,
    Click,
    Command,
    Fault,
    FaultKind,
    Fill,
    Finish,
    Observation,
    Open,
    OutOfTime,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    Wait,
)
from surehand.core.workflow.compare import same
from surehand.core.workflow.source import MemberName

MOST_ACTS: Final = 500


@unique
class Did(Enum):
    """What was done."""

    OPENED = "opened an address"
    CHECKED_PAGE = "checked that it is the page"
    READ_TEXTS = "read what the page shows of the record"
    FILLED = "entered a text"
    CHOSE = "chose an option"
    SET_BOX = "set a box"
    READ_FIELD = "read a field back"
    CLICKED = "clicked"
    READ_RECORDS = "read the records"
    SAVED = "clicked save, the fence open for one write"
    WAITED = "waited"
    FINISHED = "finished"


@unique
class Ended(Enum):
    """How it ended."""

    ANSWERED = "answered"
    FAULT = "fault"
    UNAVAILABLE = "unavailable"
    STOPPED = "stopped"


_DID: Final[dict[type, Did]] = {
    Open: Did.OPENED,
    CheckPage: Did.CHECKED_PAGE,
    ReadTexts: Did.READ_TEXTS,
    Fill: Did.FILLED,
    Choose: Did.CHOSE,
    Check: Did.SET_BOX,
    ReadValue: Did.READ_FIELD,
    Click: Did.CLICKED,
    ReadRecords: Did.READ_RECORDS,
    Save: Did.SAVED,
    Wait: Did.WAITED,
    Finish: Did.FINISHED,
}

Milliseconds = Annotated[int, Number(minimum=0, maximum=1_000_000_000)]


@frozen(kw_only=True)
class Act:
    """One command: what it was, how it ended, and how long it took."""

    did: Did
    ended: Ended
    fault: FaultKind | None = None
    took_ms: Milliseconds


@frozen(kw_only=True)
class Compared:
    """Whether a member of the record held what was intended when it was last read."""

    member: MemberName
    matched: bool


@frozen(kw_only=True)
class Trace:
    """A run. ``left_out`` is how many acts there was no room for; without a read of the records nothing is compared."""

    schema: Literal["surehand.trace/v1"] = "surehand.trace/v1"
    acts: Annotated[tuple[Act, ...], Items(max_items=MOST_ACTS)]
    left_out: Annotated[int, Number(minimum=0)] = 0
    compared: Annotated[tuple[Compared, ...], Items(max_items=120)] = field(default=())


def act_of(command: Command, observation: Observation, seconds: float) -> Act:
    """What is kept of a command and its answer."""
    return Act(
        did=_DID[type(command)],
        ended=_ended(observation),
        fault=observation.kind if isinstance(observation, Fault) else None,
        took_ms=max(0, min(round(seconds * 1000), 1_000_000_000)),
    )


def _ended(observation: Observation) -> Ended:
    match observation:
        case Fault():
            return Ended.FAULT
        case RecordsUnavailable():
            return Ended.UNAVAILABLE
        case Canceled() | OutOfTime():
            return Ended.STOPPED
        case _:
            return Ended.ANSWERED


def compared(bundle: Bundle, inputs: Mapping[str, str], baseline: Records, after: Records) -> tuple[Compared, ...]:
    """Which members of the record held what was intended: of the new or changed record that is most like it.

    Args:
        bundle: The workflow.
        inputs: Its accepted inputs.
        baseline: The records before the save.
        after: The records when they were last read.
    """
    old = {record.key: record.members for record in baseline.records}
    fields = (*bundle.read_back.identity, *bundle.read_back.written)
    touched = [each for each in after.records if each.members is not None and _is_touched(old, each)]
    rows = [_row(fields, inputs, each) for each in touched]
    return max(rows, key=lambda row: sum(each.matched for each in row), default=())


def _is_touched(old: Mapping[str, Mapping[str, str] | None], record: Record) -> bool:
    """Whether the record is new, or holds something else than before; one that was not read before is not known to."""
    before = old.get(record.key)
    return record.key not in old or (before is not None and before != record.members)


def _row(fields: tuple[ReadField, ...], inputs: Mapping[str, str], record: Record) -> tuple[Compared, ...]:
    members = record.members or {}
    return tuple(
        Compared(
            member=item.name,
            matched=same(item.rule, intended_text(item.expected, inputs), members.get(item.name, ""), item.form),
        )
        for item in fields
    )
