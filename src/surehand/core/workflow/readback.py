"""What two reads of the records prove: the baseline before the save, and the after-image.

Laws of this module:

- A new record is ``Proven`` as exactly one that belongs to the intended one and holds every written value, beside old
  records that are all still there and unchanged, and nothing else new.
- A changed record is ``Proven`` as the one that the identity named before, holding every written value now and not
  before, with all its other members and all other records unchanged, none come and none gone.
- Members that ``may_change`` mean nothing. A member that is absent is the empty text.
- What was not read is not known: it never helps to prove anything. Of a record whose members the baseline does not
  have, it is only asked whether it is still there.
- A read in which a key is repeated proves nothing.
- Nothing new at the deadline is no proof that nothing was written; a value may settle, and a record may appear, later.
"""

from collections.abc import Mapping

from attrs import frozen

from surehand.core.outcome.evidence import PauseCategory
from surehand.core.workflow.addresses import intended_text
from surehand.core.workflow.bundle import Bundle, Effect, ReadField
from surehand.core.workflow.commands import Records
from surehand.core.workflow.compare import same
from surehand.core.workflow.source import RecordPage

#: What a record holds, by key; ``None`` where that was not read.
_Shown = dict[str, Mapping[str, str] | None]


@frozen
class Proven:
    """The intended record is there, and nothing else changed."""


@frozen
class NotYet:
    """No proof yet, and time is left."""


@frozen
class Absent:
    """The time is over and the read shows no change at all."""


@frozen
class Unread:
    """The time is over, and members that would decide were not read."""


@frozen
class Refuted:
    """The read shows something other than the one intended change."""


Judgment = Proven | NotYet | Absent | Unread | Refuted


def hindrance(bundle: Bundle, inputs: Mapping[str, str], baseline: Records) -> PauseCategory | None:
    """What speaks against the save in the records as they are before it.

    Work that was done already is told by the members of the business key; it can be seen only of records whose members
    the baseline has. A change has to find its one record, and something to change in it.
    """
    shown = [record.members for record in baseline.records if record.members is not None]
    read = bundle.read_back
    if read.effect is Effect.UPDATE:
        named = [members for members in shown if _holds_all(read.identity, inputs, members)]
        if len(named) != 1:
            return PauseCategory.DISAMBIGUATION if named else PauseCategory.IDENTITY
        return PauseCategory.POSSIBLE_DUPLICATE if _holds_all(read.written, inputs, named[0]) else None
    key = tuple(item for item in (*read.identity, *read.written) if item.name in bundle.business_key)
    done = bool(key) and any(_holds_all(key, inputs, members) for members in shown)
    # The page of one record can show no second one beside it.
    there = isinstance(read.source, RecordPage) and bool(baseline.records)
    return PauseCategory.POSSIBLE_DUPLICATE if done or there else None


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
    old = {record.key: record.members for record in baseline.records}
    now = {record.key: record.members for record in after.records}
    new = [members for key, members in now.items() if key not in old]
    if sum(_is_intended(bundle, inputs, members) for members in new) > 1:
        return Refuted()
    proves = _is_created if bundle.read_back.effect is Effect.CREATE else _is_changed
    if proves(bundle, inputs, old, now):
        return Proven()
    return _unproven(bundle, old, now) if last else NotYet()


def _is_created(bundle: Bundle, inputs: Mapping[str, str], old: _Shown, now: _Shown) -> bool:
    new = [members for key, members in now.items() if key not in old]
    return _are_kept(bundle, old, now) and len(new) == 1 and _is_intended(bundle, inputs, new[0])


def _is_changed(bundle: Bundle, inputs: Mapping[str, str], old: _Shown, now: _Shown) -> bool:
    """Whether the one named record holds every written value now and did not before, and all else is as it was."""
    read = bundle.read_back
    named = [key for key, members in old.items() if members is not None and _holds_all(read.identity, inputs, members)]
    if len(named) != 1 or old.keys() != now.keys() or _is_intended(bundle, inputs, old[named[0]]):
        return False
    written = frozenset(item.name for item in read.written)
    others = {key: members for key, members in old.items() if key != named[0]}
    return (
        _is_intended(bundle, inputs, now[named[0]])
        and _is_kept(old[named[0]], now[named[0]], written.union(read.may_change))
        and _are_kept(bundle, others, now)
    )


def _unproven(bundle: Bundle, old: _Shown, now: _Shown) -> Judgment:
    """What is said at the deadline of reads that prove nothing."""
    if old.keys() == now.keys() and _are_kept(bundle, old, now):
        return Absent()
    unread = any(members is None and (key not in old or old[key] is not None) for key, members in now.items())
    return Unread() if unread else Refuted()


def _are_kept(bundle: Bundle, old: _Shown, now: _Shown) -> bool:
    """Whether every old record is still there, and holds what it held."""
    ignored = frozenset(bundle.read_back.may_change)
    return all(key in now and _is_kept(members, now[key], ignored) for key, members in old.items())


def _is_kept(before: Mapping[str, str] | None, now: Mapping[str, str] | None, ignored: frozenset[str]) -> bool:
    if before is None:
        return True
    return now is not None and _told(before, ignored) == _told(now, ignored)


def _told(members: Mapping[str, str], ignored: frozenset[str]) -> dict[str, str]:
    """The members that mean something."""
    return {name: text for name, text in members.items() if text and name not in ignored}


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
        if record.members is not None and name in record.members
    }


def keys_are_unique(records: Records) -> bool:
    """Whether every record of a read can be told from every other."""
    return len({record.key for record in records.records}) == len(records.records)


def _is_intended(bundle: Bundle, inputs: Mapping[str, str], members: Mapping[str, str] | None) -> bool:
    fields = (*bundle.read_back.identity, *bundle.read_back.written)
    return members is not None and _holds_all(fields, inputs, members)


def _holds_all(fields: tuple[ReadField, ...], inputs: Mapping[str, str], members: Mapping[str, str]) -> bool:
    """Whether a record holds the intended values; a member that is absent holds the empty text."""
    return all(
        same(item.rule, intended_text(item.expected, inputs), members.get(item.name, ""), item.form) for item in fields
    )
