"""Recordings of any shape: always an answer, always the same, a workflow that keeps every rule, and no typed value."""

import json
from typing import cast

from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.demonstration_strategies import (
    CANARY,
    TASKS,
    all_answers,
    answered,
    bundle_of,
    damaged,
    texts_of,
)
from support.demonstrations import Shape, Values, demonstrate
from surehand.core.wire import to_wire
from surehand.core.workflow.bundle import Bundle, ReadBack, parse_bundle
from surehand.core.workflow.compile import (
    AnswerCode,
    AnswerProblem,
    CompileRefusal,
    Draft,
    Option,
    compile_recordings,
    confirm,
    is_asked,
)
from surehand.core.workflow.compiler.texts import KnownTexts, plain_text
from surehand.core.workflow.params import check_inputs
from surehand.core.workflow.recording import Recording

Task = tuple[Shape, Values, Values]


def draft_of(*recordings: Recording) -> Draft:
    """The draft of recordings that have one."""
    compiled = compile_recordings(recordings)
    assume(isinstance(compiled, Success))
    return compiled.unwrap()


def written(value: object) -> str:
    """Everything that stands in the wire form of something."""
    return json.dumps(to_wire(value), ensure_ascii=False)


def holds_any(text: str, values: Values) -> bool:
    """Whether a text holds the canary, or an entered text that is long enough to be told from chance."""
    plain = plain_text(text)
    return CANARY in plain.casefold() or any(each in plain for each in values.row if len(each) > 6)


class TestTotal:
    """Whatever is recorded, the compiler answers with a draft or with refusals; answers make a bundle or problems."""

    @given(recording=damaged(), other=st.none() | damaged())
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_a_damaged_recording_is_answered(self, recording: Recording, other: Recording | None) -> None:
        compiled = compile_recordings((recording,) if other is None else (recording, other))

        if isinstance(compiled, Failure):
            assert all(isinstance(each, CompileRefusal) and each.sentence for each in compiled.failure())
        else:
            confirmed = bundle_of(compiled.unwrap())
            assert isinstance(confirmed, Success) or all(
                isinstance(each, AnswerProblem) for each in confirmed.failure()
            )

    @given(task=TASKS, data=st.data())
    def test_any_answers_are_answered(self, task: Task, data: st.DataObject) -> None:
        draft = draft_of(demonstrate(task[0], task[1]))
        options = st.sampled_from([option.value for option in Option])
        wanted = {
            each.id: data.draw(st.sampled_from(each.options) if each.options else options) for each in draft.questions
        }

        confirmed = confirm(draft, {each.id: wanted[each.id] for each in draft.questions if is_asked(each, wanted)})

        if isinstance(confirmed, Success):
            assert parse_bundle(json.loads(written(confirmed.unwrap()))) == confirmed

    @given(task=TASKS)
    def test_the_same_recordings_give_the_same_draft(self, task: Task) -> None:
        recordings = (demonstrate(task[0], task[1]),)

        assert compile_recordings(recordings) == compile_recordings(recordings)


class TestAWorkflow:
    """What comes out of a demonstration keeps every rule of bundles, and takes what was demonstrated."""

    @given(task=TASKS)
    def test_a_demonstration_of_a_readable_app_becomes_a_bundle(self, task: Task) -> None:
        shape, values, _ = task
        assume(shape.reading in {"json", "detail", "pages"} and not shape.changes)
        draft = draft_of(demonstrate(shape, values))
        read = () if draft.plan.found is None else draft.plan.found.fields
        # One field that is all that is read cannot both name the record and be what was written.
        assume(len(read) > 1)

        confirmed = bundle_of(draft)

        assert isinstance(confirmed, Success)
        assert parse_bundle(json.loads(written(confirmed.unwrap()))) == confirmed

    @given(task=TASKS)
    def test_its_inputs_accept_what_was_entered(self, task: Task) -> None:
        shape, values, _ = task
        draft = draft_of(demonstrate(shape, values))
        bundle = bundle_of(draft).value_or(None)
        assume(bundle is not None)
        parameters = cast(Bundle, bundle).parameters
        texts = {slot.name: slot.readings[0].meaning(slot.texts[0]) for slot in draft.plan.slots}
        given_texts = {each.name: texts[each.name] for each in parameters if texts[each.name] or each.required}

        assert isinstance(check_inputs(parameters, given_texts), Success)

    @given(task=TASKS)
    def test_nothing_is_confirmed_by_default(self, task: Task) -> None:
        draft = draft_of(demonstrate(task[0], task[1]))
        asked = [each.id for each in draft.questions if is_asked(each, {})]

        assert confirm(draft, {}) == Failure(tuple(AnswerProblem(each, AnswerCode.MISSING) for each in asked))

    @given(task=TASKS, data=st.data())
    def test_each_missing_answer_is_named(self, task: Task, data: st.DataObject) -> None:
        draft = draft_of(demonstrate(task[0], task[1]))
        answers = answered(draft)
        left = data.draw(st.sampled_from(sorted(answers)))
        confirmed = confirm(draft, {name: answer for name, answer in answers.items() if name != left})

        assert isinstance(confirmed, Failure)
        assert AnswerProblem(left, AnswerCode.MISSING) in confirmed.failure()


class TestNoTypedValue:
    """No text that was entered or read stands in a bundle, a question or a refusal, unless a person answered so."""

    @given(task=TASKS)
    def test_questions_and_refusals_hold_none(self, task: Task) -> None:
        shape, values, _ = task
        compiled = compile_recordings((demonstrate(shape, values),))

        if isinstance(compiled, Failure):
            assert not holds_any(repr(compiled.failure()), values)
        else:
            draft = compiled.unwrap()
            assert not any(holds_any(written(question), values) for question in draft.questions)
            assert not holds_any(repr(draft), values)

    @given(task=TASKS)
    def test_a_bundle_holds_none(self, task: Task) -> None:
        shape, values, _ = task
        bundle = bundle_of(draft_of(demonstrate(shape, values))).value_or(None)
        assume(bundle is not None)

        assert not holds_any(written(bundle), values)

    @given(task=TASKS)
    def test_a_bundle_of_two_recordings_holds_none(self, task: Task) -> None:
        shape, values, others = task
        bundle = bundle_of(draft_of(demonstrate(shape, values), demonstrate(shape, others))).value_or(None)
        assume(bundle is not None)

        assert not holds_any(written(bundle), values)
        assert not holds_any(written(bundle), others)

    @given(task=TASKS)
    def test_a_text_that_a_person_made_constant_would_be_seen(self, task: Task) -> None:
        shape, values, _ = task
        assume(any(CANARY in text for text in values.texts))
        draft = draft_of(demonstrate(shape, values))
        bundle = bundle_of(draft, **all_answers(draft, Option.CONSTANT)).value_or(None)
        assume(bundle is not None)

        assert holds_any(written(bundle), values)

    def test_a_leak_would_be_seen(self) -> None:
        values = Values(texts=(f"{CANARY} x",), row=("AB-1234", "Somebody Else", "1999-01-01"))

        assert [holds_any(text, values) for text in ("", "/a/AB%2D1234", "Of Somebody Else", "a CanaryZZ")] == [
            False,
            True,
            True,
            True,
        ]
        assert KnownTexts.of(texts_of(values), texts_of(values)).in_text("of somebody-else, really")


class TestFurtherRecordings:
    """A second consistent recording asks less, and never adds an input that the first did not have."""

    @given(task=TASKS)
    def test_no_input_is_added(self, task: Task) -> None:
        shape, values, others = task
        assume(len({*texts_of(values)}) == len(texts_of(values)))
        one = draft_of(demonstrate(shape, values))
        two = draft_of(demonstrate(shape, values), demonstrate(shape, others))

        assert {slot.name for slot in two.plan.slots} <= {slot.name for slot in one.plan.slots}

    @given(task=TASKS)
    def test_the_same_recording_again_adds_nothing(self, task: Task) -> None:
        recording = demonstrate(task[0], task[1])
        one, two = draft_of(recording), draft_of(recording, recording)

        assert [each.id for each in one.questions] == [each.id for each in two.questions]
        assert bundle_of(one) == bundle_of(two)

    @given(task=TASKS)
    def test_a_field_with_several_texts_is_an_input_without_a_question(self, task: Task) -> None:
        shape, values, others = task
        draft = draft_of(demonstrate(shape, values), demonstrate(shape, others))
        differing = {slot.name for slot in draft.plan.entered if len(set(slot.texts)) > 1}

        assert not {f"field.{name}.value" for name in differing} & {each.id for each in draft.questions}

    @given(task=TASKS)
    def test_the_order_of_recordings_decides_about_names_alone(self, task: Task) -> None:
        shape, values, others = task
        one, two = demonstrate(shape, values), demonstrate(shape, others)
        there, back = bundle_of(draft_of(one, two)).value_or(None), bundle_of(draft_of(two, one)).value_or(None)
        assume(there is not None and back is not None)

        assert _structure(cast(Bundle, there)) == _structure(cast(Bundle, back))


def _structure(bundle: Bundle) -> tuple[int, int, ReadBack]:
    return len(bundle.steps), len(bundle.identity), evolve(bundle.read_back, written=(), identity=())
