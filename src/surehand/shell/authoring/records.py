"""Where the JSON answers of an app hold the records of a demonstration.

Laws of this module:

- A value of an answer is compared with what is known and then dropped: what is kept has names and positions.
"""

import json
from collections.abc import Iterator
from typing import Final, TypeGuard, cast

from attrs import frozen

from surehand.core.workflow.bundle import DateForm, Rule
from surehand.shell.authoring.known import KnownTexts
from surehand.shell.authoring.network import Answer

Json = dict[str, object]

_MOST_DEPTH: Final = 4
_MOST_NAME: Final = 100
_MOST_MEMBERS: Final = 200


@frozen
class Member:
    """A member of a record: what it holds that is known, whether no other record holds the same, whether it changed."""

    name: str
    unique: bool
    key: str | None
    rule: Rule | None
    form: DateForm
    changed: bool


@frozen
class Found:
    """The records of one answer, and the members of the one that holds most of what is known."""

    items: str
    count: int
    was_absent: bool
    members: tuple[Member, ...]


def find_records(answer: Answer, earlier: Answer | None, known: KnownTexts) -> Found | None:
    """Where an answer holds known texts.

    Args:
        answer: The answer after the save.
        earlier: The last answer of the same address before it, if there was one.
        known: What is known.
    """
    lists = list(_lists(answer.data))
    best = max(
        ((path, records, record) for path, records in lists for record in records),
        key=lambda each: (_score(each[2], known), -len(flat(each[2])), len(each[0])),
        default=None,
    )
    if best is None or _score(best[2], known) == 0:
        return None
    path, records, record = best
    before = dict(_lists(earlier.data)).get(path, []) if earlier is not None else []
    old = _same_record(record, records, before)
    return Found(path, len(records), earlier is not None and old is None, _members(record, records, old, known))


def flat(record: Json, prefix: str = "") -> dict[str, str]:
    """The members of a record as text, by dotted names; an absent or null one is left out."""
    members: dict[str, str] = {}
    for name, value in record.items():
        if _is_object(value):
            members |= flat(value, f"{prefix}{name}.")
        elif value is not None:
            members[f"{prefix}{name}"] = value if isinstance(value, str) else _canonical(value)
    return members


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _lists(data: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, list[Json]]]:
    """Every list of objects in an answer by its dotted path; an answer that is one object is one record.

    An object that holds nothing but objects is a list of them, too.
    """
    if isinstance(data, list):
        records = [each for each in cast("list[object]", data) if _is_object(each)]
        yield from [(path, records)] if records else []
    elif _is_object(data):
        inner = [each for each in data.values() if _is_object(each)]
        yield from _objects(data, inner, path)
        if depth < _MOST_DEPTH:
            for name, value in data.items():
                yield from _lists(value, f"{path}.{name}" if path else name, depth + 1)


def _objects(data: Json, inner: list[Json], path: str) -> Iterator[tuple[str, list[Json]]]:
    """The records that an object is or holds: itself, the one that it wraps, or those that stand by their keys."""
    holds_only_objects = len(inner) == len(data) > 0
    if not path:
        yield "", [data]
        if holds_only_objects and len(inner) == 1:
            yield next(iter(data)), inner
    elif holds_only_objects:
        yield f"{path}.*", inner


def _is_object(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _score(record: Json, known: KnownTexts) -> int:
    return len({form.key for text in flat(record).values() for form in known.find(text)})


def _same_record(record: Json, records: list[Json], before: list[Json]) -> Json | None:
    """The record as it was before, by a member that tells the records apart; none when it is new."""
    own = flat(record)
    if (same := next((each for each in before if flat(each) == own), None)) is not None:
        return same
    if len(records) == 1 and len(before) == 1 and not _keys(record):
        return before[0]
    for name in _keys(record):
        values = [flat(each).get(name) for each in records]
        if values.count(own[name]) == 1:
            return next((each for each in before if flat(each).get(name) == own[name]), None)
    return None


def _keys(record: Json) -> list[str]:
    """Members that look like the key of a record by their names."""
    named = [name for name in flat(record) if name.lower() in {"id", "pk", "key", "uuid", "slug", "_id"}]
    return named + [name for name in flat(record) if name.lower().endswith(("id", "_key")) and name not in named]


def _members(record: Json, records: list[Json], old: Json | None, known: KnownTexts) -> tuple[Member, ...]:
    texts = [flat(each) for each in records]
    was = None if old is None else flat(old)
    return tuple(
        _member(name, text, [each.get(name) for each in texts].count(text) == 1, was, known)
        for name, text in list(flat(record).items())[:_MOST_MEMBERS]
        if len(name) <= _MOST_NAME
    )


def _member(name: str, text: str, unique: bool, was: dict[str, str] | None, known: KnownTexts) -> Member:
    # What was entered last says more than a cell of a row that was clicked.
    best = max(known.find(text), key=lambda form: "/" not in form.key, default=known.find_box(name, text))
    return Member(
        name=name,
        unique=unique,
        key=None if best is None else best.key,
        rule=None if best is None else best.rule,
        form=DateForm.ISO if best is None else best.form,
        changed=was is not None and was.get(name) != text,
    )
