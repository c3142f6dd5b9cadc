"""What an agent is told while it shows a task: roles and states under ids that say nothing, and closed answers."""

import importlib
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve, fields
from hypothesis import example, given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from surehand.core.authoring import (
    LONGEST_HINT,
    MOST_BYTES,
    MOST_NODES,
    REFUSED,
    SAID,
    Answer,
    AnswerRefusal,
    Details,
    Drafted,
    Node,
    Observation,
    Phase,
    Problem,
    Role,
    SeenNode,
    SeenPage,
    Shown,
    State,
    Status,
    StepRefusal,
    Target,
    answer,
    answer_refusals,
    answers_in,
    drafted_of,
    is_fit_hint,
    named,
    node_id,
    project,
    question_form,
    refusals_of,
    shown_of,
)
from surehand.core.modes import AUTHORING_TOOLS, ToolName
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import FailedCheck
from surehand.core.schema import json_schema
from surehand.core.wire import from_wire, to_wire
from surehand.core.workflow.bundle import DialogAnswer, Rule
from surehand.core.workflow.compile import CompileRefusal, Draft, RefusalCode
from surehand.core.workflow.compiler.draft import Plan
from surehand.core.workflow.compiler.questions import (
    AnswerCode,
    AnswerProblem,
    Condition,
    Evidence,
    EvidenceCode,
    Question,
    QuestionKind,
)
from surehand.core.workflow.recording import (
    Actor,
    Arrived,
    Clicked,
    Control,
    DialogSeen,
    Event,
    Exchange,
    FieldFacts,
    JsonSeen,
    Known,
    Opened,
    PageSeen,
    Place,
    Recording,
    Showing,
)

NODES = st.builds(
    SeenNode,
    role=st.sampled_from(Role),
    parent=st.none() | st.integers(0, 300),
    control=st.none() | st.sampled_from(Control),
    states=st.lists(st.sampled_from(State), unique=True, max_size=5).map(tuple),
    left=st.integers(-9, 9),
    top=st.just(0),
    width=st.just(1),
    height=st.just(1),
)
PAGES = st.lists(NODES, max_size=30).map(lambda nodes: SeenPage(tuple(nodes)))
STARTS = st.integers(0, (1 << 32) - 1)

PLAIN = SeenNode(role=Role.BUTTON, states=(), left=0, top=0, width=1, height=1)


def crowd(count: int, **more: Any) -> SeenPage:  # noqa: ANN401 - each member has its own type
    """A page of many nodes that are all alike."""
    return SeenPage(tuple(evolve(PLAIN, **more) for _ in range(count)))


#: Every node says as much as a node can.
LOUD = crowd(400, role=Role.MENUITEMCHECKBOX, parent=0, control=Control.CHECKBOX, states=tuple(State))

#: Every text that an observation may hold beside its ids.
WORDS = {each.value for kind in (Role, Control, State) for each in kind} | {"openadapt.authoring.observe/v1"}


jsonschema: Any = importlib.import_module("jsonschema")  # its types are not published


def fits(schema: dict[str, object], value: object) -> bool:
    """Whether a value fits a schema."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def texts(value: object) -> list[str]:
    """Every text in a wire form, apart from the names of members."""
    if isinstance(value, dict):
        return [text for each in cast("dict[str, object]", value).values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in cast("list[object]", value) for text in texts(each)]
    return [value] if isinstance(value, str) else []


class TestAnObservationHoldsNothingOfThePage:
    """There is no member for a name, a value, a title or an address; every text is an id or a word of ours."""

    @given(PAGES, STARTS)
    def test_every_text_is_an_id_or_a_closed_word(self, page: SeenPage, start: int) -> None:
        observation = project(page, start, 0).observation
        ids = {node.id for node in observation.nodes}

        assert set(texts(to_wire(observation))) <= WORDS | ids

    def test_its_members_are_these(self) -> None:
        assert [each.name for each in fields(Node)] == ["id", "role", "parent", "control", "states"]
        assert [each.name for each in fields(Observation)] == ["schema", "nodes", "left_out"]

    @pytest.mark.parametrize("member", ["name", "value", "text", "title", "url", "id", "label"])
    def test_a_page_that_tells_more_is_not_read(self, member: str) -> None:
        told: dict[str, object] = {"role": "button", "states": [], "left": 0, "top": 0, "width": 1, "height": 1}

        assert is_successful(from_wire({"nodes": [told]}, SeenPage))
        assert not is_successful(from_wire({"nodes": [{**told, member: "canary"}]}, SeenPage))
        assert not is_successful(from_wire({"nodes": [{**told, "role": "canary"}]}, SeenPage))

    @given(PAGES, STARTS)
    def test_its_schema_holds_it_and_nothing_more(self, page: SeenPage, start: int) -> None:
        schema = json_schema(Observation)
        wire = to_wire(project(page, start, 0).observation)

        assert fits(schema, wire)
        assert not fits(schema, {**wire, "title": "canary"})


class TestAnObservationIsBounded:
    """At most 200 nodes and 32 KiB, counted in both places of an answer; what can be acted on comes first."""

    @pytest.mark.parametrize(
        "page", [crowd(MOST_NODES + 1), crowd(20_000), LOUD, SeenPage(())], ids=lambda page: str(len(page.nodes))
    )
    def test_nodes_and_bytes(self, page: SeenPage) -> None:
        observation = project(page, 0, 0).observation
        text = json.dumps(to_wire(observation), separators=(",", ":"))

        assert len(observation.nodes) <= MOST_NODES
        assert len(text) + len(json.dumps(text)) <= MOST_BYTES
        assert len(observation.nodes) + observation.left_out == len(page.nodes)

    def test_a_full_page_has_as_many_as_may_be(self) -> None:
        assert len(project(crowd(MOST_NODES + 1), 0, 0).observation.nodes) == MOST_NODES
        assert MOST_NODES // 4 < len(project(LOUD, 0, 0).observation.nodes) < MOST_NODES

    def test_what_is_acted_on_comes_before_links_and_what_holds_them(self) -> None:
        rows, links = crowd(300, role=Role.ROW).nodes, crowd(300, role=Role.LINK).nodes
        told = project(SeenPage((*rows, *links, PLAIN)), 0, 0).observation.nodes

        assert [node.role for node in told] == [Role.LINK] * (MOST_NODES - 1) + [Role.BUTTON]

    @given(PAGES, STARTS)
    def test_the_order_is_that_of_the_page(self, page: SeenPage, start: int) -> None:
        projection = project(page, start, 0)
        numbers = [projection.numbers[node.id] for node in projection.observation.nodes]

        assert numbers == sorted(numbers)
        assert [page.nodes[number].role for number in numbers] == [each.role for each in projection.observation.nodes]

    @given(PAGES, STARTS)
    @example(SeenPage((evolve(PLAIN, parent=0), evolve(PLAIN, parent=5))), 0)
    def test_a_parent_is_one_of_the_nodes_before(self, page: SeenPage, start: int) -> None:
        before: set[str] = set()
        for node in project(page, start, 0).observation.nodes:
            assert node.parent is None or node.parent in before
            before.add(node.id)

    def test_where_a_parent_is_left_out_the_next_one_around_stands_for_it(self) -> None:
        form = evolve(PLAIN, role=Role.DIALOG)
        row = evolve(PLAIN, role=Role.ROW, parent=0)
        page = SeenPage((form, row, *crowd(MOST_NODES - 1, parent=1).nodes))
        nodes = project(page, 0, 0).observation.nodes

        assert {node.parent for node in nodes[1:]} == {nodes[0].id}


class TestAnIdSaysNothing:
    """It has one form, and is never given twice in one session."""

    @given(STARTS, st.integers(0, 1 << 40), st.integers(0, 1 << 40))
    @example(0, 0, 1 << 32)
    def test_no_two_are_the_same(self, start: int, one: int, other: int) -> None:
        same = one % (1 << 32) == other % (1 << 32)

        assert (node_id(start, one) == node_id(start, other)) is same

    @given(PAGES, STARTS)
    def test_a_second_look_has_ids_of_its_own(self, page: SeenPage, start: int) -> None:
        first = project(page, start, 0)
        second = project(page, start, first.following)

        assert not first.numbers.keys() & second.numbers.keys()
        assert len(first.numbers) == len(first.observation.nodes)

    @given(STARTS)
    def test_its_form(self, start: int) -> None:
        assert fits({"pattern": "^n_[0-9a-f]{8}$"}, node_id(start, 1))


FULL = Details(
    shown=Shown(steps=1, writes=1, read_back_candidates=0),
    drafted=Drafted(recordings=1, steps=2, questions=3),
    refusals=(StepRefusal(code=RefusalCode.NO_SAVE, recording=1, event=2, sentence="No."),),
    answer_problems=(AnswerRefusal(question="a.b", problem=AnswerCode.MISSING),),
    failed_checks=(FailedCheck.NOT_ADMITTED,),
    workflow="add_order",
    hint="Save last.",
)


class TestEveryAnswerIsFixedCopy:
    """Each status and each problem has its words; an answer fits its schema and never says that something is done."""

    @pytest.mark.parametrize("said", [*Status, *Problem])
    def test_each_has_its_words(self, said: Status | Problem) -> None:
        if said is Status.REFUSED:
            return
        given = answer(1, ToolName.CLICK, said, Phase.IDLE, FULL)
        words = REFUSED[said] if isinstance(said, Problem) else SAID[said]

        assert (given.what_happened, given.next_action) == (words.what_happened, words.next_action)
        assert (given.status is Status.REFUSED) == (given.problem is said)
        assert fits(json_schema(Answer), to_wire(given))

    def test_nothing_else_has_words(self) -> None:
        assert set(SAID) == set(Status) - {Status.REFUSED}
        assert set(REFUSED) == set(Problem)

    def test_showing_proves_nothing(self) -> None:
        assert {each.value for each in Status}.isdisjoint({each.value for each in Outcome})

    def test_what_is_not_served_is_named(self) -> None:
        text = REFUSED[Problem.TARGET_NOT_SERVED].what_happened

        assert [name for name in ("flow engine", "macOS", "Windows", "RDP", "Citrix") if name not in text] == []
        assert {each.value for each in Target} >= {"macos", "windows", "rdp", "citrix"}

    def test_tools_are_the_recording_ones(self) -> None:
        assert len(AUTHORING_TOOLS) == 14


class TestAHintNamesNobody:
    """A hint is one short line that looks like no identifier of a person."""

    @pytest.mark.parametrize("hint", ["Save last.", "", "a" * LONGEST_HINT])
    def test_it_is_kept(self, hint: str) -> None:
        assert is_fit_hint(hint)

    @pytest.mark.parametrize("hint", ["MRN 4711 0815", "two\nlines", "a" * (LONGEST_HINT + 1), "jane@example.org"])
    def test_it_is_not(self, hint: str) -> None:
        assert not is_fit_hint(hint)


def question(name: str, *options: str, when: Condition | None = None, evidence: tuple[Evidence, ...] = ()) -> Question:
    """A question."""
    return Question(
        id=name, kind=QuestionKind.FIELD_VALUE, subject="Note", options=options, when=when, evidence=evidence
    )


def draft(*questions: Question) -> Draft:
    """A draft with these questions, and a plan that nobody looks at."""
    return Draft(questions, cast("Plan", None))


QUESTIONS = draft(
    question("source", "json", "database", evidence=(Evidence(EvidenceCode.ADDRESS, text="/api"),)),
    question("view", when=Condition("source", ("database",))),
    question("write", "yes", "no", when=Condition("source", ("json",)), evidence=(Evidence(EvidenceCode.REQUESTS, 2),)),
)


class TestAPersonIsAskedByAFlatForm:
    """Every question is a member with its closed options; nothing is chosen beforehand."""

    def test_its_members(self) -> None:
        form = question_form(QUESTIONS)
        members = cast("dict[str, dict[str, Any]]", form.schema["properties"])

        assert list(members) == ["source", "view", "write"]
        assert form.schema["required"] == ["source"]
        assert members["source"]["enum"] == ["json", "database"]
        assert len(members["source"]["enumNames"]) == 2
        assert "enum" not in members["view"]
        assert "/api" in members["source"]["description"]
        assert "Only if source is json." in members["write"]["description"]
        assert [each for each in members.values() if "default" in each] == []
        assert {each["type"] for each in members.values()} == {"string"}

    @given(
        st.dictionaries(st.sampled_from(("source", "view", "write", "other")), st.none() | st.text() | st.integers())
    )
    def test_an_answer_is_a_text_to_one_of_them(self, content: dict[str, object]) -> None:
        given = answers_in(QUESTIONS, content)

        assert given == {
            name: text for name, text in content.items() if name != "other" and isinstance(text, str) and text
        }


class TestWhatIsToldOfRecordingsAndDrafts:
    """Counts, and codes with the place in the recording."""

    def test_a_recording_is_counted(self) -> None:
        place = Place(origin="https://a.example", path="/")
        facts = FieldFacts(control=Control.BUTTON)
        actions = (
            Opened(place=place),
            Clicked(place=place, candidates=(), facts=facts),
            DialogSeen(form="confirm", answer=DialogAnswer.ACCEPT),
            Arrived(place=place),
        )
        showing = Showing(known=Known(event=1), rule=Rule.TEXT, candidates=())
        recording = Recording(
            origin="https://a.example",
            events=tuple(Event(at_ms=0, actor=Actor.AGENT, action=action) for action in actions),
            exchanges=(
                Exchange(after=2, method="POST", place=place, content_type="", status_class=2),
                Exchange(after=4, method="GET", place=place, content_type="", status_class=2),
            ),
            pages=(
                PageSeen(after=2, place=place, showings=(showing,)),
                PageSeen(after=4, place=place, showings=(showing,)),
            ),
            answers=tuple(
                JsonSeen(after=4, place=place, items="a", count=1, was_absent=True, members=(), fresh=fresh)
                for fresh in (True, False)
            ),
        )

        assert shown_of(recording) == Shown(steps=1, writes=1, read_back_candidates=2)
        assert shown_of(evolve(recording, exchanges=())) == Shown(steps=1, writes=0, read_back_candidates=1)

    def test_a_draft_is_counted(self) -> None:
        plan = cast("Plan", SimpleNamespace(recordings=2, steps=("open", "enter")))

        assert drafted_of(Draft(QUESTIONS.questions, plan)) == Drafted(recordings=2, steps=3, questions=3)

    def test_a_refusal_names_its_step_counted_from_one(self) -> None:
        told = refusals_of((CompileRefusal(RefusalCode.RELOADED, 4, 1), CompileRefusal(RefusalCode.NO_SAVE)))

        assert [(each.code, each.recording, each.event) for each in told] == [
            (RefusalCode.RELOADED, 2, 5),
            (RefusalCode.NO_SAVE, 1, None),
        ]

    def test_there_are_never_too_many(self) -> None:
        assert len(refusals_of((CompileRefusal(RefusalCode.NO_SAVE),) * 60)) == 50
        assert len(answer_refusals((AnswerProblem("a" * 90, AnswerCode.STOPS),) * 60)) == 50

    @given(st.from_regex("[a-z][a-z0-9_]{0,39}", fullmatch=True), st.integers(0, 3))
    def test_a_name_is_nobody_elses(self, name: str, others: int) -> None:
        taken: set[str] = set()
        for _ in range(others + 1):
            given = named(name, frozenset(taken))

            assert given not in taken
            assert len(given) <= 40
            taken.add(given)
        assert named(name, frozenset()) == name
