"""The draft: everything that the recordings say, with a question wherever a person has to say more.

Laws of this module:

- A draft is the same for the same recordings, and its questions come in the order of the task.
- Whatever would enter, open, read or let through something because of a guess is a question.
- A further consistent recording asks less and never adds an input.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

from surehand.core.workflow.bundle import ClickStep, Effect, SaveStep
from surehand.core.workflow.compiler.identity import ALIKE, ShownSlot
from surehand.core.workflow.compiler.questions import (
    Condition,
    Evidence,
    EvidenceCode,
    Option,
    Question,
    QuestionKind,
)
from surehand.core.workflow.compiler.records import Found
from surehand.core.workflow.compiler.routes import marked_name, only_queries, operation_text, path_words
from surehand.core.workflow.compiler.slots import Slot, SlotKind
from surehand.core.workflow.compiler.steps import PlannedStep
from surehand.core.workflow.compiler.writes import OtherWrite, Writes, may_add
from surehand.core.workflow.source import JsonRecords, RecordPage

_LONGEST_CONSTANT: Final = 500
_LONGEST_EVIDENCE: Final = 300
_MOST_MEMBERS: Final = 20
_VALUE_KINDS: Final = {
    SlotKind.FIELD: QuestionKind.FIELD_VALUE,
    SlotKind.ROW: QuestionKind.ROW_VALUE,
    SlotKind.SHOWN: QuestionKind.SHOWN_VALUE,
    SlotKind.ADDRESS: QuestionKind.ADDRESS_VALUE,
}
SOURCE: Final = "read_back.source"
UNIQUE: Final = "identity.unique"
SECOND: Final = "identity.second"
SAVE: Final = "save.write"
EFFECT: Final = "effect"

#: What a save may do, by whether the read-back shows a record that was there before.
_EFFECTS: Final = {
    False: (Option.NEW_RECORD, Option.CHANGED_RECORD),
    True: (Option.CHANGED_RECORD, Option.NEW_RECORD),
}


@frozen(kw_only=True)
class Plan:
    """What all recordings say together: a workflow in which every value is still a slot.

    ``writes`` has one member for each write that may be the save; ``asks_save`` says that a person names it. ``effect``
    is what the save did to the records, as far as anything says so; ``held`` is how many of the entered fields held
    something before.
    """

    workflow: str
    title: str
    origin: str
    recordings: int
    slots: tuple[Slot, ...]
    searches: frozenset[str]
    steps: tuple[PlannedStep, ...]
    identity: tuple[ShownSlot, ...]
    save: SaveStep
    found: Found | None
    effect: Effect | None
    held: int
    writes: tuple[Writes, ...]
    asks_save: bool

    def slot(self, name: str) -> Slot:
        """The slot of this name."""
        return next(slot for slot in self.slots if slot.name == name)

    @property
    def entered(self) -> tuple[Slot, ...]:
        """The slots of fields that may be a part of the record."""
        return tuple(slot for slot in self.slots if slot.kind is SlotKind.FIELD and slot.name not in self.searches)

    @property
    def names_what_it_changes(self) -> bool:
        """Whether a record that is changed is named by a row, a search or an address, or is always the same page."""
        found = self.found
        named = any(slot.kind is not SlotKind.FIELD or slot.name in self.searches for slot in self.slots)
        queried = any(each.save.query for each in self.writes)
        fixed = found is not None and isinstance(found.source, RecordPage) and queried
        return self.effect is not Effect.UPDATE or named or fixed

    def checked(self, answers: Mapping[str, str]) -> tuple[ShownSlot, ...]:
        """The identity check: what is always checked, the unique field, and one more that has to be given."""
        wanted = {answers.get(UNIQUE), answers.get(SECOND), self.companion(answers.get(UNIQUE))}
        return tuple(item for item in self.identity if not item.entered or item.slot in wanted)

    def companion(self, unique: str | None) -> str | None:
        """What is checked beside the unique field where nothing else is: what the page asks for, or the only other."""
        if any(not item.entered and item.slot != unique for item in self.identity):
            return None
        others = [self.slot(item.slot) for item in self.identity if item.slot != unique]
        needed = [slot for slot in others if slot.required or len(others) == 1]
        best = min(needed, key=lambda slot: slot.control in ALIKE, default=None)
        return None if best is None else best.name

    @property
    def shows_change(self) -> bool:
        """Whether the read-back shows a record that was there before the save."""
        return self.found is not None and self.effect in {Effect.UPDATE, None} and self.found.effect is Effect.UPDATE

    @property
    def guardable(self) -> tuple[str, ...]:
        """Members that a save of the whole form could put back: the others of a record that is changed."""
        found = self.found
        changes = found is not None and self.shows_change and isinstance(found.source, JsonRecords)
        whole = any(each.save.method in {"PUT", "POST"} for each in self.writes)
        return found.others[:_MOST_MEMBERS] if changes and whole and found is not None else ()

    @property
    def key(self) -> tuple[str, ...]:
        """Members that tell a record from every other by what is entered."""
        found = self.found
        if found is None or self.effect is not Effect.CREATE or not isinstance(found.source, JsonRecords):
            return ()
        telling = {slot.name for slot in self.slots if slot.tells}
        unique = tuple(item.member for item in found.fields if item.unique and item.slot in telling)
        return () if found.source.detail is not None else unique[:5]


@frozen
class Draft:
    """A workflow with open questions. It holds what was typed, for constants, and shows none of it."""

    questions: tuple[Question, ...]
    plan: Plan = field(repr=False)


def draft_of(plan: Plan) -> Draft:
    """The draft of a plan."""
    return Draft(tuple(_questions(plan)), plan)


def _questions(plan: Plan) -> Iterator[Question]:
    for slot in plan.slots:
        yield from _slot_questions(plan, slot)
    yield from _identity_questions(plan)
    yield from _effect_question(plan)
    yield from _read_back_questions(plan)
    yield from _save_question(plan)
    yield from _write_questions(plan)


def _evidence(code: EvidenceCode, number: int | None = None, text: str | None = None) -> Evidence:
    return Evidence(code, number, None if text is None else text[:_LONGEST_EVIDENCE])


# Values


def value_id(slot: Slot) -> str:
    """The id of the question what the slot's text is in a run."""
    return f"{slot.kind.value}.{slot.name}.value"


def _slot_questions(plan: Plan, slot: Slot) -> Iterator[Question]:
    options = value_options(plan, slot)
    if options:
        yield Question(
            id=value_id(slot),
            kind=_VALUE_KINDS[slot.kind],
            subject=slot.title,
            options=options,
            evidence=tuple(_value_evidence(plan, slot)),
        )
    if len(slot.readings) > 1:
        yield Question(
            id=f"field.{slot.name}.type",
            kind=QuestionKind.FIELD_TYPE,
            subject=slot.title,
            options=tuple(reading.option for reading in slot.readings),
            evidence=tuple(_type_evidence(slot)),
        )
    yield from (_entry_question(slot) for planned in plan.steps if planned.slot == slot.name and planned.asks_entry)


def value_options(plan: Plan, slot: Slot) -> tuple[str, ...]:
    """What a slot may be; nothing is asked where the recordings prove an input."""
    if not slot.same and slot.kind is SlotKind.FIELD:
        return ()
    constant = slot.same and len(slot.texts[0]) <= _LONGEST_CONSTANT
    options = [Option.INPUT, *([Option.CONSTANT] if constant else [])]
    if slot.kind is SlotKind.ROW and _any_row(plan, slot):
        options.append(Option.ANY_ROW)
    if slot.kind is SlotKind.SHOWN or (slot.kind is SlotKind.ADDRESS and _in_query(plan, slot)):
        options.append(Option.LEAVE_OUT)
    return tuple(option.value for option in options) if len(options) > 1 else ()


def _any_row(plan: Plan, slot: Slot) -> bool:
    """Whether every click that is bound to the slot was exact without it."""
    bound = [planned for planned in plan.steps if isinstance(planned.step, ClickStep) and planned.slot == slot.name]
    return bool(bound) and all(planned.any_row is not None for planned in bound)


def _in_query(plan: Plan, slot: Slot) -> bool:
    return any(f"={{{slot.name}}}" in str(getattr(planned.step, "path", "")) for planned in plan.steps)


def _value_evidence(plan: Plan, slot: Slot) -> Iterator[Evidence]:
    same = plan.recordings > 1 and slot.same
    yield Evidence(EvidenceCode.SAME_IN_ALL if same else EvidenceCode.RECORDINGS, plan.recordings)
    if any(item.slot == slot.name for item in plan.identity):
        yield Evidence(EvidenceCode.ON_SAVE_PAGE)
    if slot.kind is SlotKind.ROW and _any_row(plan, slot):
        yield Evidence(EvidenceCode.ONE_ROW_ONLY)


def _type_evidence(slot: Slot) -> Iterator[Evidence]:
    listed = slot.readings[0].parameter.choices
    if listed:
        yield Evidence(EvidenceCode.OPTIONS_OFFERED, len(listed))
    dates = sum(reading.option not in {each.value for each in Option} for reading in slot.readings)
    if dates:
        yield Evidence(EvidenceCode.DATE_FORMS, dates)


def _entry_question(slot: Slot) -> Question:
    return Question(
        id=f"field.{slot.name}.entry",
        kind=QuestionKind.FIELD_ENTRY,
        subject=slot.title,
        options=(Option.AT_ONCE.value, Option.KEY_BY_KEY.value, Option.STOP.value),
        evidence=(Evidence(EvidenceCode.REWRITTEN_BY_APP),),
    )


def _not_read(plan: Plan) -> tuple[Slot, ...]:
    """The entered slots that the source does not show."""
    read = set[str]() if plan.found is None else {item.slot for item in plan.found.fields}
    return tuple(slot for slot in plan.entered if slot.name not in read)


# The identity check, and the effect


def _identity_questions(plan: Plan) -> Iterator[Question]:
    offered = tuple(item.slot for item in plan.identity)
    yield _field_question(plan, UNIQUE, offered, None)
    entered = tuple(item.slot for item in plan.identity if item.entered)
    alone = tuple(name for name in offered if len(plan.checked({UNIQUE: name})) == 1)
    if alone:
        yield _field_question(plan, SECOND, entered, Condition(UNIQUE, alone))


def _field_question(plan: Plan, identity: str, offered: tuple[str, ...], when: Condition | None) -> Question:
    return Question(
        id=identity,
        kind=QuestionKind.UNIQUE if identity == UNIQUE else QuestionKind.SECOND,
        subject=plan.title,
        options=offered,
        evidence=tuple(_evidence(EvidenceCode.ON_SAVE_PAGE, text=plan.slot(name).title) for name in offered),
        when=when,
    )


def _effect_question(plan: Plan) -> Iterator[Question]:
    """A default in a form is no record: where nothing else says what the save does, a person does."""
    if plan.effect is None:
        below = (each.save.path for each in plan.writes if may_add(each.save, plan.save.page.path))
        yield Question(
            id=EFFECT,
            kind=QuestionKind.EFFECT,
            subject=plan.title,
            options=tuple(option.value for option in _EFFECTS[plan.shows_change]),
            evidence=(
                *(_evidence(EvidenceCode.SENT_BELOW, text=path) for path in dict.fromkeys(below)),
                Evidence(EvidenceCode.HELD_SOMETHING, plan.held),
            ),
        )


# The read-back


def _read_back_questions(plan: Plan) -> Iterator[Question]:
    found = plan.found
    offered = () if found is None else (found.kind.value,)
    yield Question(
        id=SOURCE,
        kind=QuestionKind.READ_BACK,
        subject=plan.title,
        options=(*offered, Option.DATABASE.value, Option.STOP.value),
        evidence=tuple(_source_evidence(plan)),
    )
    yield from _database_questions(plan)
    if found is None:
        return
    here = Condition(SOURCE, (found.kind.value,))
    for slot in _not_read(plan):
        yield Question(
            id=f"field.{slot.name}.read_back",
            kind=QuestionKind.FIELD_NOT_READ,
            subject=slot.title,
            options=(Option.NOT_PART.value, Option.STOP.value),
            evidence=(_evidence(EvidenceCode.ADDRESS, text=found.source.path),),
            when=here,
        )
    members = {
        ("read_back.may_change", QuestionKind.MAY_CHANGE, (Option.YES, Option.STOP)): _may_change(plan),
        ("guards", QuestionKind.GUARDS, (Option.YES, Option.NO)): plan.guardable,
        ("business_key", QuestionKind.BUSINESS_KEY, (Option.YES, Option.NO)): plan.key,
    }
    for (identity, kind, options), names in members.items():
        if names:
            yield Question(
                id=identity,
                kind=kind,
                subject=plan.title,
                options=tuple(option.value for option in options),
                evidence=tuple(_evidence(EvidenceCode.MEMBER, text=name) for name in names),
                when=here,
            )


def _may_change(plan: Plan) -> tuple[str, ...]:
    found = plan.found
    return found.changed[:_MOST_MEMBERS] if found is not None and plan.shows_change else ()


def _source_evidence(plan: Plan) -> Iterator[Evidence]:
    found = plan.found
    if found is None:
        yield Evidence(EvidenceCode.FIELDS_NOT_READ, len(plan.entered))
        return
    yield _evidence(EvidenceCode.ADDRESS, text=found.source.path)
    if plan.effect is not None:
        yield Evidence(EvidenceCode.CREATES if plan.effect is Effect.CREATE else EvidenceCode.UPDATES)
    for item in found.fields:
        yield _evidence(EvidenceCode.FIELD_READ_AS, text=f"{plan.slot(item.slot).title}: {item.member}")
    if _not_read(plan):
        yield Evidence(EvidenceCode.FIELDS_NOT_READ, len(_not_read(plan)))


def in_database(plan: Plan) -> tuple[Slot, ...]:
    """The slots that a view of a database has to show: what is entered, and what names the row."""
    shown = {item.slot for item in plan.identity}
    rows = (slot for slot in plan.slots if slot.kind is SlotKind.ROW or slot.name in plan.searches)
    return (*plan.entered, *(slot for slot in rows if slot.name in shown))


def _database_questions(plan: Plan) -> Iterator[Question]:
    names = [(f"read_back.{name}", name) for name in ("connection", "view", "key")]
    columns = [(f"{slot.kind.value}.{slot.name}.column", slot.title) for slot in in_database(plan)]
    for identity, subject in (*names, *columns):
        yield Question(
            id=identity,
            kind=QuestionKind.DATABASE_NAME,
            subject=subject,
            options=(),
            when=Condition(SOURCE, (Option.DATABASE.value,)),
        )


# Writes


def origin_id(origin: str) -> str:
    """The id of the question about another server."""
    return f"origin.{marked_name(origin, origin.partition('//')[2])}"


def write_id(other: OtherWrite) -> str:
    """The id of the question about a write."""
    return f"write.{other.name}"


def _save_question(plan: Plan) -> Iterator[Question]:
    """Which of the writes of one click is the save."""
    if plan.asks_save:
        yield Question(
            id=SAVE,
            kind=QuestionKind.SAVE,
            subject=plan.title,
            options=(*(each.name for each in plan.writes), Option.STOP.value),
            evidence=tuple(_evidence(EvidenceCode.MAY_BE_SAVE, text=_told(each)) for each in plan.writes),
        )


def _told(writes: Writes) -> str:
    route = writes.save
    return f"{writes.name}: {route.method} {route.path} {operation_text(route.operation)}".strip()


def _write_questions(plan: Plan) -> Iterator[Question]:
    for origin, count in plan.writes[0].origins:
        yield Question(
            id=origin_id(origin),
            kind=QuestionKind.ORIGIN,
            subject=origin,
            options=(Option.YES.value, Option.NO.value),
            evidence=(Evidence(EvidenceCode.REQUESTS, count),),
        )
    others = {write_id(other): other for writes in plan.writes for other in writes.others}
    for identity, other in others.items():
        yield Question(
            id=identity,
            kind=QuestionKind.WRITE,
            subject=f"{other.route.method} {other.route.path}",
            options=(Option.LET_THROUGH.value, Option.HOLD_BACK.value, Option.IS_A_SAVE.value),
            evidence=tuple(_write_evidence(other)),
            when=_when_sent(plan, identity, other),
        )
    for path in plan.writes[0].sockets:
        yield Question(
            id=f"socket.{marked_name(path, path_words(path))}",
            kind=QuestionKind.SOCKET,
            subject=path,
            options=(Option.LET_THROUGH.value, Option.STOP.value),
        )


def _when_sent(plan: Plan, identity: str, other: OtherWrite) -> Condition | None:
    """A write is asked about when it is not the save itself, and to another server only if that is one of the app's."""
    beside = tuple(each.name for each in plan.writes if identity in map(write_id, each.others))
    if len(beside) < len(plan.writes):
        return Condition(SAVE, beside)
    return None if other.route.origin is None else Condition(origin_id(other.route.origin), (Option.YES.value,))


def _write_evidence(other: OtherWrite) -> Iterator[Evidence]:
    if other.before:
        yield Evidence(EvidenceCode.TIMES_BEFORE_SAVE, other.before)
    if other.after:
        yield Evidence(EvidenceCode.TIMES_AFTER_SAVE, other.after)
    if operation_text(other.route.operation):
        yield _evidence(EvidenceCode.OPERATION, text=operation_text(other.route.operation))
    if only_queries(other.route):
        yield Evidence(EvidenceCode.ONLY_QUERIES)
    if other.like_save:
        yield Evidence(EvidenceCode.LOOKS_LIKE_DRAFT)
    if not other.clicked:
        yield Evidence(EvidenceCode.BY_ITSELF)
