"""From a draft and a person's answers to a bundle.

Laws of this module:

- Every question that is asked has an answer of its own, and no answer is taken for another question.
- The only texts of the recordings that reach the bundle are those that a person answered ``constant`` for.
- Answers that together break a rule of bundles are a problem with the name of the rule, never an exception.
"""

import re
from collections.abc import Mapping
from typing import Final, assert_never

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.workflow.addresses import PLACE
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChooseStep,
    ClickStep,
    DateForm,
    Effect,
    Entry,
    FillStep,
    IdentityField,
    OpenStep,
    ReadBack,
    ReadField,
    Rule,
    SaveStep,
    Step,
)
from surehand.core.workflow.compiler.draft import (
    EFFECT,
    SAVE,
    SECOND,
    SOURCE,
    UNIQUE,
    Draft,
    Plan,
    in_database,
    origin_id,
    value_id,
    write_id,
)
from surehand.core.workflow.compiler.identity import EXACT, ShownSlot
from surehand.core.workflow.compiler.questions import AnswerCode, AnswerProblem, Option, answer_problems
from surehand.core.workflow.compiler.records import ReadSlot
from surehand.core.workflow.compiler.slots import Reading, Slot, SlotKind, naming
from surehand.core.workflow.compiler.steps import PlannedStep
from surehand.core.workflow.compiler.targets import names_of
from surehand.core.workflow.compiler.texts import quoted
from surehand.core.workflow.compiler.writes import Writes
from surehand.core.workflow.params import Parameter
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageField, PageRecords, RecordPage, Source
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, Value

_DEADLINE_MS: Final = 10_000
_INTERVAL_MS: Final = 250


def confirm(draft: Draft, answers: Mapping[str, str]) -> Result[Bundle, tuple[AnswerProblem, ...]]:
    """The bundle that the answers make of the draft.

    Args:
        draft: What the recordings say.
        answers: The chosen option of each question that is asked, by its id.

    Returns:
        The bundle, or everything that is wrong with the answers.
    """
    problems = answer_problems(draft.questions, answers)
    if problems:
        return Failure(problems)
    asked = {question.id for question in draft.questions}
    given = {name: answer for name, answer in answers.items() if name in asked}
    chosen = _Chosen(draft.plan, given, _bound(draft.plan, given))
    contradicting = tuple(chosen.contradictions())
    if contradicting:
        return Failure(contradicting)
    try:
        return Success(chosen.bundle())
    except ValueError as broken:
        return Failure((AnswerProblem("bundle", AnswerCode.CONTRADICTS, str(broken)),))


def with_optional(bundle: Bundle, names: frozenset[str]) -> Result[Bundle, tuple[AnswerProblem, ...]]:
    """The bundle in which these steps are optional; a person confirms that by naming them.

    Args:
        bundle: The bundle.
        names: Ids of steps.

    Returns:
        The bundle, or why one of them cannot be: there is none, it opens a page, or it is a part of the record.
    """
    may = {step.id for step in bundle.steps if not isinstance(step, OpenStep)}
    if names - may:
        return Failure(tuple(AnswerProblem(f"step.{name}", AnswerCode.NOT_AN_OPTION) for name in sorted(names - may)))
    steps = tuple(
        evolve(step, optional=True) if step.id in names and not isinstance(step, OpenStep) else step
        for step in bundle.steps
    )
    try:
        return Success(evolve(bundle, steps=steps))
    except ValueError as broken:
        return Failure((AnswerProblem("bundle", AnswerCode.CONTRADICTS, str(broken)),))


@frozen
class _Chosen:
    """A plan with the answers. ``bound`` are the slots whose text finds, names or shows a record."""

    plan: Plan
    answers: Mapping[str, str]
    bound: frozenset[str]

    # Values

    def value(self, name: str) -> Value | None:
        """What stands for a slot in a run; ``None`` where it was left out."""
        slot = self.plan.slot(name)
        answer = self.answers.get(value_id(slot), Option.INPUT.value)
        if answer == Option.CONSTANT.value:
            return Constant(self.reading(slot).meaning(slot.texts[0]))
        return FromInput(name) if answer == Option.INPUT.value else None

    def reading(self, slot: Slot) -> Reading:
        """The declaration that was chosen."""
        wanted = self.answers.get(f"field.{slot.name}.type")
        reading = next((each for each in slot.readings if each.option == wanted), slot.readings[0])
        found = {item.slot for item in self._record_fields()}
        return naming(reading) if slot.name in self.bound | self._keys() | found else reading

    def _keys(self) -> set[str]:
        """The slots by which a run knows that the work was done before."""
        members = self._members("business_key")
        return {item.slot for item in self._fields() if item.member in members} if members else set()

    def _parameters(self, used: set[str]) -> tuple[Parameter, ...]:
        return tuple(
            self.reading(slot).parameter
            for slot in self.plan.slots
            if slot.name in used and isinstance(self.value(slot.name), FromInput)
        )

    # Addresses and targets

    def path(self, template: str) -> str:
        """An address with its constants; a place that was left out is any segment, and no member of a query."""
        path, mark, query = template.partition("?")
        members = [member for member in query.split("&") if member and not self._is_left_out(member)]
        filled = PLACE.sub(lambda place: self._piece(place[1]), path + mark + "&".join(members))
        return filled.rstrip("?")

    def _is_left_out(self, member: str) -> bool:
        return any(self.value(name) is None for name in PLACE.findall(member))

    def _piece(self, name: str) -> str:
        match self.value(name):
            case Constant(text=text):
                return quoted(text)
            case FromInput():
                return f"{{{name}}}"
            case None:
                return "*"
            case _ as strange:  # pragma: no cover
                assert_never(strange)

    def _text(self, template: str) -> str:
        """A name with its constants."""
        return PLACE.sub(lambda place: self._words(place[1]), template)

    def _words(self, name: str) -> str:
        value = self.value(name)
        return value.text if isinstance(value, Constant) else f"{{{name}}}"

    def target(self, target: Target) -> Target:
        """A target with its constants."""
        row = self.value(target.row.name) if isinstance(target.row, FromInput) else target.row
        return evolve(target, name=self._text(target.name), row=row)

    def gate(self, gate: PageGate) -> PageGate:
        """A gate with its constants."""
        return evolve(
            gate,
            path=self.path(gate.path),
            landmark=self.target(gate.landmark),
            query=tuple(
                evolve(part, value=self._text(part.value)) for part in gate.query if not self._is_left_out(part.value)
            ),
            fragment=None if gate.fragment is None else self.path(gate.fragment),
        )

    # Steps

    def steps(self) -> tuple[Step, ...]:
        """The steps of the bundle."""
        return tuple(self._step(planned) for planned in self.plan.steps)

    def _step(self, planned: PlannedStep) -> Step:
        step = planned.step
        match step:
            case OpenStep():
                fragment = None if step.fragment is None else self.path(step.fragment)
                return evolve(step, path=self.path(step.path), fragment=fragment)
            case ClickStep():
                bound = all(self.value(name) is not None for name in names_of(step.target))
                target = step.target if bound or planned.any_row is None else planned.any_row
                return evolve(step, page=self.gate(step.page), target=self.target(target))
            case FillStep():
                return self._fill(evolve(step, page=self.gate(step.page)))
            case ChooseStep() | CheckStep():
                return evolve(
                    step,
                    page=self.gate(step.page),
                    target=self.target(step.target),
                    value=self._given(step.value),
                    part_of_record=step.part_of_record and self._is_part(step.value),
                )
            case _:  # pragma: no cover
                assert_never(step)

    def _fill(self, step: FillStep) -> FillStep:
        slot = self.plan.slot(_slot_name(step.value))
        reading = self.reading(slot)
        keys = self.answers.get(f"field.{slot.name}.entry") == Option.KEY_BY_KEY.value
        return evolve(
            step,
            target=self.target(step.target),
            value=self._given(step.value),
            rule=reading.rule,
            form=reading.form,
            entry=Entry.TYPE if keys else step.entry,
            part_of_record=step.part_of_record and self._is_part(step.value),
        )

    def _given(self, value: Value) -> Value:
        return self.value(_slot_name(value)) or value

    def _is_part(self, value: Value) -> bool:
        return self.answers.get(f"field.{_slot_name(value)}.read_back") != Option.NOT_PART.value

    # Checks

    def _fields(self) -> tuple[ReadSlot, ...]:
        """The members of the source that was chosen, of slots that were not left out."""
        if self.answers.get(SOURCE) == Option.DATABASE.value:
            columns = [(slot, self.answers[f"{slot.kind.value}.{slot.name}.column"]) for slot in in_database(self.plan)]
            return tuple(ReadSlot(slot.name, column, Rule.TEXT) for slot, column in columns)
        return () if self.plan.found is None else self.plan.found.fields

    def contradictions(self) -> list[AnswerProblem]:
        """One field named twice, types that are not shown so, and a new record where only an old one is shown."""
        shown: list[ShownSlot | ReadSlot] = [*self._checked, *self._fields()]
        wrong = {
            item.slot for item in shown if not _comparable(self.reading(self.plan.slot(item.slot)).rule, item.rule)
        }
        same = [SECOND] if SECOND in self.answers and self.answers[SECOND] == self.answers[UNIQUE] else []
        from_old = self.plan.shows_change and self.answers[SOURCE] != Option.DATABASE.value
        unseen = [EFFECT] if from_old and self.answers.get(EFFECT) == Option.NEW_RECORD.value else []
        return [
            AnswerProblem(name, AnswerCode.CONTRADICTS)
            for name in (*same, *unseen, *(f"field.{name}.type" for name in sorted(wrong)))
        ]

    @property
    def _checked(self) -> tuple[ShownSlot, ...]:
        return self.plan.checked(self.answers)

    def identity(self) -> tuple[IdentityField, ...]:
        """The identity check."""
        return tuple(
            IdentityField(
                self.target(item.target),
                value,
                self.reading(self.plan.slot(item.slot)).rule,
                unique=item.slot == self.answers[UNIQUE],
                form=self._form(item.slot, item.rule, item.form),
            )
            for item in self._checked
            if (value := self.value(item.slot)) is not None
        )

    def _form(self, name: str, seen: Rule, form: DateForm) -> DateForm:
        reading = self.reading(self.plan.slot(name))
        if reading.rule is not Rule.DATE:
            return DateForm.ISO
        return form if seen is Rule.DATE else reading.form

    def _read_field(self, item: ReadSlot) -> ReadField:
        value = self.value(item.slot) or FromInput(item.slot)
        rule = self.reading(self.plan.slot(item.slot)).rule
        return ReadField(item.member, value, rule, self._form(item.slot, item.rule, item.form))

    def read_back(self) -> ReadBack:
        """The read-back."""
        fields = [item for item in self._fields() if not self._left_out(item.slot)]
        identity, from_database = self._record_fields(), self.answers[SOURCE] == Option.DATABASE.value
        level = CheckLevel.SYSTEM_OF_RECORD if from_database else CheckLevel.SEPARATE_SESSION
        effect = self.plan.effect or self._answered_effect()
        return ReadBack(
            level=level,
            minimum=level,
            source=self._source(fields),
            identity=tuple(map(self._read_field, identity)),
            written=tuple(self._read_field(item) for item in fields if item not in identity),
            deadline_ms=_DEADLINE_MS,
            interval_ms=_INTERVAL_MS,
            effect=effect,
            may_change=self._members("read_back.may_change") if effect is Effect.UPDATE else (),
        )

    def _left_out(self, name: str) -> bool:
        return self.answers.get(value_id(self.plan.slot(name))) in {Option.ANY_ROW.value, Option.LEAVE_OUT.value}

    def _record_fields(self) -> list[ReadSlot]:
        """The members by which the record is found: what names it, else the unique field, else what is always given."""
        fields = [item for item in self._fields() if not self._left_out(item.slot)]
        entered = {slot.name: slot for slot in self.plan.entered}
        named = [item for item in fields if item.slot not in entered]
        by_address = self.plan.found is not None and isinstance(self.plan.found.source, RecordPage)
        if named or (by_address and self.answers[SOURCE] != Option.DATABASE.value):
            return named
        checked = {each.slot for each in self._checked}
        order = [item for item in fields if item.slot == self.answers[UNIQUE]]
        order += [item for item in fields if item.slot in checked]
        return [*order, *sorted(fields, key=lambda item: not entered[item.slot].required)][:1]

    def _answered_effect(self) -> Effect:
        return Effect.CREATE if self.answers[EFFECT] == Option.NEW_RECORD.value else Effect.UPDATE

    def _members(self, question: str) -> tuple[str, ...]:
        """The members that a question is about, where it was answered with yes."""
        found = self.plan.found
        if found is None or self.answers.get(question) != Option.YES.value:
            return ()
        return {
            "read_back.may_change": found.changed[:20],
            "guards": self.plan.guardable,
            "business_key": self.plan.key,
        }[question]

    def _source(self, fields: list[ReadSlot]) -> Source:
        if self.answers[SOURCE] == Option.DATABASE.value or self.plan.found is None:
            names = [self.answers[f"read_back.{name}"] for name in ("connection", "view", "key")]
            return DatabaseRecords(names[0], names[1], names[2], tuple(item.member for item in fields))
        source, members = self.plan.found.source, {item.member for item in fields}
        match source:
            case JsonRecords():
                return evolve(source, path=self.path(source.path), detail=self._detail(source.detail))
            case PageRecords():
                return evolve(
                    source,
                    path=self.path(source.path),
                    landmark=self.target(source.landmark),
                    link=self.path(source.link),
                    record=self.gate(source.record),
                    fields=self._page_fields(source.fields, members),
                )
            case RecordPage():
                return evolve(
                    source,
                    path=self.path(source.path),
                    record=self.gate(source.record),
                    fields=self._page_fields(source.fields, members),
                )
            case _:  # pragma: no cover
                assert_never(source)

    def _detail(self, detail: str | None) -> str | None:
        return None if detail is None else self.path(detail)

    def _page_fields(self, fields: tuple[PageField, ...], members: set[str]) -> tuple[PageField, ...]:
        return tuple(evolve(item, target=self.target(item.target)) for item in fields if item.name in members)

    # The whole

    def bundle(self) -> Bundle:
        """The bundle.

        Raises:
            ValueError: A rule of bundles is broken.
        """
        plan, steps, read = self.plan, self.steps(), self.read_back()
        writes = next((each for each in plan.writes if each.name == self.answers.get(SAVE)), plan.writes[0])
        route = evolve(writes.save, path=self.path(writes.save.path))
        save = evolve(plan.save, page=self.gate(plan.save.page), target=self.target(plan.save.target), route=route)
        identity = self.identity()
        return Bundle(
            workflow=plan.workflow,
            title=plan.title,
            parameters=self._parameters(_used(steps, save, identity, read)),
            steps=steps,
            identity=identity,
            save=save,
            read_back=read,
            origins=(plan.origin, *self._origins()),
            harmless_writes=self._writes(writes, Option.LET_THROUGH),
            blocked_writes=self._writes(writes, Option.HOLD_BACK),
            sockets=writes.sockets,
            guards=self._members("guards"),
            business_key=self._members("business_key"),
        )

    def _origins(self) -> tuple[str, ...]:
        return tuple(
            origin
            for origin, _ in self.plan.writes[0].origins
            if self.answers.get(origin_id(origin)) == Option.YES.value
        )

    def _writes(self, writes: Writes, answer: Option) -> tuple[WriteRoute, ...]:
        """The writes with this answer, without those to servers that are none of the app's."""
        others = (other for other in writes.others if self.answers.get(write_id(other)) == answer.value)
        return tuple(other.route for other in others if other.route.origin in {None, *self._origins()})


def _slot_name(value: Value) -> str:
    return value.name if isinstance(value, FromInput) else ""


def _comparable(rule: Rule, seen: Rule) -> bool:
    """Whether a text that was seen under one rule can be compared under the other."""
    return seen in EXACT or seen is rule


def _bound(plan: Plan, answers: Mapping[str, str]) -> frozenset[str]:
    """The slots whose text must be given, whatever is answered."""
    places = {name for planned in plan.steps for name in _step_names(planned.step)}
    shown = {item.slot for item in plan.checked(answers)}
    return frozenset(places | shown | {slot.name for slot in plan.slots if slot.kind is not SlotKind.FIELD})


def _step_names(step: Step) -> set[str]:
    """The slots that a step's target and address are bound to."""
    if isinstance(step, OpenStep):
        return {*PLACE.findall(step.path), *PLACE.findall(step.fragment or "")}
    gate = [step.page.path, step.page.fragment or "", *(part.value for part in step.page.query)]
    return names_of(step.target) | {name for text in gate for name in PLACE.findall(text)}


def _used(steps: tuple[Step, ...], save: SaveStep, identity: tuple[IdentityField, ...], read: ReadBack) -> set[str]:
    """The inputs that a bundle of these parts uses: those that it enters, finds or names something by."""
    values = [step.value for step in steps if isinstance(step, FillStep | ChooseStep | CheckStep)]
    shown = [item.expected for item in identity]
    names = {value.name for value in (*values, *shown) if isinstance(value, FromInput)}
    steps_names = set[str]().union(*map(_step_names, steps), names_of(save.target))
    gates = [save.route.path, save.page.path, save.page.fragment or "", *(part.value for part in save.page.query)]
    source = read.source
    gates += [] if isinstance(source, DatabaseRecords) else [source.path]
    return names | steps_names | {name for text in gates for name in re.findall(PLACE, text)}
