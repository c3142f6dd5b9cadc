"""What two reads of the records prove: the baseline before the save, and the after-image.

Laws of this module:

- ``Proven`` takes exactly one new record that belongs to the intended one and holds every written value, beside old
  records that are all still there and unchanged, and nothing else new.
- A read in which a key is repeated proves nothing.
- Nothing new at the deadline is no proof that nothing was written; a value may settle, and a record may appear, later.
"""

from collections.abc import Mapping

from attrs import frozen

from surehand.core.workflow.bundle import Bundle, ReadField
from surehand.core.workflow.commands import Records
from surehand.core.workflow.compare import same
from surehand.core.workflow.target import Constant, Value


@frozen
class Proven:
    """The intended record is there, new and once, and nothing else changed."""


@frozen
class NotYet:
    """No proof yet, and time is left."""


@frozen
class Absent:
    """The time is over and the read shows no change at all."""


@frozen
class Refuted:
    """The read shows something other than the one intended change."""


Judgment = Proven | NotYet | Absent | Refuted


def judge(bundle: Bundle, inputs: Mapping[str, str], baseline: Records, after: Records, *, last: bool) -> Judgment:
    """What the reads prove.

    Args:
        bundle: The workflow.
        inputs: Its accepted inputs.
        baseline: The records before the save.
        after: The records now.
        last: Whether the deadline is reached.
    """
    if not (keys_are_unique(baseline) and keys_are_unique(after)):
        return Refuted() if last else NotYet()
    old = {record.key: dict(record.members) for record in baseline.records}
    now = {record.key: dict(record.members) for record in after.records}
    kept = all(now.get(key) == members for key, members in old.items())
    new = [members for key, members in now.items() if key not in old]
    intended = sum(_is_intended(bundle, inputs, members) for members in new)
    if intended > 1:
        return Refuted()
    if kept and intended == len(new) == 1:
        return Proven()
    if not last:
        return NotYet()
    return Absent() if kept and not new else Refuted()


def guards_hold(guards: tuple[str, ...], before: Records, after: Records) -> bool:
    """Whether no guarded member of any record changed, came or went between two reads; compared character by character.

    Args:
        guards: The names of the members.
        before: The read before the page was loaded.
        after: The read directly before the save.
    """
    return _guarded(guards, before) == _guarded(guards, after)


def _guarded(guards: tuple[str, ...], records: Records) -> dict[tuple[str, str], str]:
    return {
        (record.key, name): record.members[name]
        for record in records.records
        for name in guards
        if name in record.members
    }


def keys_are_unique(records: Records) -> bool:
    """Whether every record of a read can be told from every other."""
    return len({record.key for record in records.records}) == len(records.records)


def intended_text(value: Value, inputs: Mapping[str, str]) -> str:
    """The text of a value: a constant, or an input; an input that was left out is the empty text."""
    return value.text if isinstance(value, Constant) else inputs.get(value.name, "")


def _is_intended(bundle: Bundle, inputs: Mapping[str, str], members: Mapping[str, str]) -> bool:
    fields = (*bundle.read_back.identity, *bundle.read_back.written)
    return all(_holds(item, inputs, members) for item in fields)


def _holds(item: ReadField, inputs: Mapping[str, str], members: Mapping[str, str]) -> bool:
    """Whether a record holds the intended value; a member that is absent holds the empty text."""
    return same(item.rule, intended_text(item.expected, inputs), members.get(item.name, ""))
