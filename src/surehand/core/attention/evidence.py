"""What a pause keeps sealed: what the run needs to go on or to read again, and what the operator at this computer sees.

Laws of this module:

- It holds what was typed and read, so it exists in memory and under a seal only, and is shown at this computer only.
- A set of records comes back exactly as it was kept.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from attrs import field, frozen

from surehand.core.schema import Items
from surehand.core.workflow.commands import Record, Records

_MOST_RECORDS = 100_000
_MOST_MEMBERS = 1000


@frozen
class Value:
    """A name and its text."""

    name: str
    text: str = field(repr=False)


Values = Annotated[tuple[Value, ...], Items(max_items=_MOST_MEMBERS)]


@frozen
class SealedRecord:
    """A record of the read-back channel; without members where it was not asked what it holds."""

    key: str = field(repr=False)
    members: Values | None = field(default=None, repr=False)


SealedRecords = Annotated[tuple[SealedRecord, ...], Items(max_items=_MOST_RECORDS)]


@frozen(kw_only=True)
class LocalEvidence:
    """What the operator at this computer sees of a pause, and nobody else.

    Args:
        control: The name of the control that was to be used; empty for a pause without one.
        role: Its role.
        address: The page's address.
        values: The values that are still to be typed, as they are typed, by the names of their controls.
        identity: What the page of the intended record shows, by the names of its elements.
        frame: A picture of the stopped page: PNG in base64.
    """

    control: str = field(default="", repr=False)
    role: str = ""
    address: str = field(default="", repr=False)
    values: Values = field(default=(), repr=False)
    identity: Values = field(default=(), repr=False)
    frame: str | None = field(default=None, repr=False)


@frozen(kw_only=True)
class SealedEvidence:
    """What is kept sealed beside a pause.

    Args:
        inputs: The final inputs.
        order: What the engine needs to take the run up again, in a form of its own; empty where it cannot.
        guarded: The guarded members as they were before any page was loaded.
        baseline: The records as they were before the save; left out where they were not read.
        local: What the operator sees.
    """

    contract: Literal["surehand.pause-evidence/v1"] = "surehand.pause-evidence/v1"
    inputs: Values = field(repr=False)
    order: str = field(default="", repr=False)
    guarded: SealedRecords = field(default=(), repr=False)
    baseline: SealedRecords | None = field(default=None, repr=False)
    local: LocalEvidence = field(factory=LocalEvidence, repr=False)


@frozen
class Opened:
    """Evidence as it was found under its seal.

    Args:
        digest: SHA-256 of the sealed file.
        evidence: What it holds.
    """

    digest: str
    evidence: SealedEvidence


def values_of(texts: Mapping[str, str]) -> tuple[Value, ...]:
    """Texts by name as they are kept, in one order."""
    return tuple(Value(name, texts[name]) for name in sorted(texts))


def texts_of(values: tuple[Value, ...]) -> dict[str, str]:
    """The texts by name."""
    return {value.name: value.text for value in values}


def sealed(records: Records) -> tuple[SealedRecord, ...]:
    """Records as they are kept."""
    return tuple(
        SealedRecord(record.key, None if record.members is None else values_of(record.members))
        for record in records.records
    )


def unsealed(kept: tuple[SealedRecord, ...]) -> Records:
    """Records as they were."""
    return Records(tuple(Record(each.key, None if each.members is None else texts_of(each.members)) for each in kept))
