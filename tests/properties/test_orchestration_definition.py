"""Definitions of plans: read strictly, checked whole, pinned for good.

Laws:

- Every fault is told at the author's place, and none holds a value.
- What passes the check can be gone through: each target is a step, each step is reachable, and no circle is endless.
- Two pinned definitions share a digest only when they agree in everything; the first step that differs is named.
"""

from itertools import product
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure

from support.plans import (
    PEEK,
    POKE,
    TEMPLATE,
    TOLD,
    WRITE,
    branch,
    definition,
    definitions,
    goal,
    pinned,
    template,
    wait,
    write,
)
from surehand.core.orchestration.check import DefinitionFault, DefinitionProblem, Place, parse_definition, pin
from surehand.core.orchestration.condition import STANDARD, ConditionSpec
from surehand.core.orchestration.definition import (
    END,
    BranchStep,
    PlannedGoalStep,
    SkillInvocationStep,
    WaitForConditionStep,
    WorkflowDefinition,
    WorkflowStep,
    edges,
    first_difference,
)
from surehand.core.orchestration.run import MAX_VARIABLES
from surehand.core.orchestration.skill import (
    CompiledSkill,
    FlowTemplateSkill,
    KnowledgeSkill,
    ToolCall,
    resolved,
)
from surehand.core.orchestration.text import Binding, bound
from surehand.core.wire import FaultCode, to_wire
from surehand.core.workflow.params import Parameter, ParameterType

NAME = Parameter(name="patient", type=ParameterType.LINE, title="Patient")
DAY = Parameter(name="day", type=ParameterType.DATE, title="Day", required=False)
NOTE = CompiledSkill(skill_id="note", parameters=(NAME, DAY), digest="b" * 64)

AUTHORED: dict[str, Any] = {  # parsed JSON
    "schema": "surehand.plan/v1",
    "definition_id": "referral",
    "title": "Add the note",
    "parameters": [{"name": "who", "type": "line", "title": "Who"}],
    "steps": [
        {
            "kind": "skill_invocation_step",
            "step_id": "add",
            "skill_id": "note",
            "args": {"patient": "{who}", "day": "2026-01-02"},
            "outputs": {"added": "run_id"},
            "if_failed": "later",
        },
        {
            "kind": "branch_step",
            "step_id": "which",
            "condition": {"kind": "run_outcome_is", "params": {"step_id": "add", "outcome": "done"}},
            "on_true": "end",
            "on_false": "later",
        },
        {
            "kind": "wait_for_condition_step",
            "step_id": "later",
            "condition": {"kind": "elapsed_seconds", "params": {"seconds": 3}},
        },
    ],
}


def faults_of(plan: WorkflowDefinition, *skills: CompiledSkill, has_task_runner: bool = True) -> set[DefinitionFault]:
    """What is wrong with a plan here."""
    found = pin(
        plan, skills=(WRITE, *skills), tools=(POKE, TOLD, PEEK), conditions=STANDARD, has_task_runner=has_task_runner
    )
    return set(found.failure()) if isinstance(found, Failure) else set()


def fault(problem: DefinitionProblem, *place: str | int) -> DefinitionFault:
    """One fault."""
    return DefinitionFault(place, problem)


def one(step: WorkflowStep) -> WorkflowDefinition:
    """A plan of one step."""
    return definition(step)


class TestReading:
    """A definition is read as its author wrote it, or refused with every fault where the author finds it."""

    def test_tables_become_names_and_texts(self) -> None:
        plan = parse_definition(AUTHORED).unwrap()

        assert isinstance(plan.steps[0], SkillInvocationStep)
        assert (Binding("patient", "{who}"), Binding("day", "2026-01-02")) == plan.steps[0].args
        assert isinstance(plan.steps[2], WaitForConditionStep)
        assert (Binding("seconds", "3"),) == plan.steps[2].condition.params

    @pytest.mark.parametrize(
        ("step", "place", "problem"),
        [
            ({"args": {"patient": "x", "day": 2.5}}, ("args", "day"), DefinitionProblem.WRONG_TYPE),
            ({"args": {"patient": True}}, ("args", "patient"), DefinitionProblem.WRONG_TYPE),
            ({"args": "x"}, ("args",), DefinitionProblem.WRONG_TYPE),
            ({"args": [{"name": "x"}]}, ("args", 0, "value"), DefinitionProblem.MISSING_MEMBER),
            ({"args": {"Not A Name": "x"}}, ("args", "Not A Name"), DefinitionProblem.OUT_OF_LIMITS),
            ({"other": 1}, (), DefinitionProblem.UNKNOWN_MEMBER),
            ({"kind": "some_step"}, ("kind",), DefinitionProblem.NOT_A_CHOICE),
        ],
    )
    def test_a_fault_is_told_at_the_authors_place(
        self, step: dict[str, object], place: Place, problem: DefinitionProblem
    ) -> None:
        spoilt = {**AUTHORED, "steps": [{**AUTHORED["steps"][0], **step}]}

        told = parse_definition(spoilt).failure()

        assert problem in {each.problem for each in told}
        assert all(each.path[:2] == ("steps", 0) for each in told)
        assert any(each.path[2:] == place or place == ("kind",) for each in told)

    def test_a_missing_member_is_told_by_its_name(self) -> None:
        told = parse_definition({**AUTHORED, "steps": [{"kind": "planned_goal_step", "step_id": "a"}]}).failure()

        assert (fault(DefinitionProblem.MISSING_MEMBER, "steps", 0, "goal"),) == told

    @pytest.mark.parametrize("data", [None, [], "x", 1])
    def test_what_is_no_table_is_refused(self, data: object) -> None:
        assert (fault(DefinitionProblem.WRONG_TYPE),) == parse_definition(data).failure()

    def test_every_fault_of_the_wire_has_its_word(self) -> None:
        assert {code.value for code in FaultCode} <= {problem.value for problem in DefinitionProblem}

    @given(definitions())
    def test_the_stored_form_reads_back(self, plan: WorkflowDefinition) -> None:
        assert plan == parse_definition(to_wire(plan)).unwrap()

    def test_no_value_stands_in_a_repr(self) -> None:
        assert "2026" not in repr(parse_definition(AUTHORED))


class TestNames:
    """A name stands for one thing, and ``end`` for the end."""

    def test_a_plan_has_a_step(self) -> None:
        assert {fault(DefinitionProblem.NO_STEPS, "steps")} == faults_of(definition())

    @pytest.mark.parametrize("more", [0, 1])
    def test_variables_are_bounded(self, more: int) -> None:
        half = MAX_VARIABLES // 2
        first, second = (tuple(Binding(f"{name}{n}", "run_id") for n in range(half)) for name in ("a", "b"))
        step = evolve(write("a"), outputs=first), evolve(write("b"), outputs=second)
        last = evolve(write("c"), outputs=tuple(Binding(f"c{n}", "run_id") for n in range(more)))

        expected = {fault(DefinitionProblem.OUT_OF_LIMITS, "steps")} if more else set[DefinitionFault]()
        assert expected == faults_of(definition(*step, last))

    def test_step_ids_are_unique(self) -> None:
        assert fault(DefinitionProblem.REPEATED, "steps", 1, "step_id") in faults_of(definition(write("a"), write("a")))

    def test_end_is_no_step(self) -> None:
        assert fault(DefinitionProblem.RESERVED, "steps", 0, "step_id") in faults_of(one(write(END)))

    def test_parameters_and_skills_are_unique(self) -> None:
        plan = evolve(
            one(write("a")), parameters=(NAME, NAME), skills=(TEMPLATE, KnowledgeSkill(skill_id="write", text=""))
        )

        assert {
            fault(DefinitionProblem.REPEATED, "parameters", 1, "name"),
            fault(DefinitionProblem.REPEATED, "skills", 1, "skill_id"),
        } <= faults_of(plan)

    def test_a_name_is_given_once(self) -> None:
        twice = (Binding("patient", "x"), Binding("patient", "y"))
        step = SkillInvocationStep(step_id="a", skill_id="note", args=twice)

        assert {fault(DefinitionProblem.REPEATED, "steps", 0, "args", "patient")} == faults_of(one(step), NOTE)


class TestShape:
    """Every way leads to a step or to the end, every step is reached, and no circle is endless."""

    @pytest.mark.parametrize(
        ("step", "member"),
        [
            (evolve(write("a"), next_step_id="nowhere"), "next_step_id"),
            (write("a", if_failed="nowhere"), "if_failed"),
            (branch("a", "nowhere", END), "on_true"),
            (branch("a", END, "nowhere"), "on_false"),
        ],
    )
    def test_an_unknown_target_is_told(self, step: WorkflowStep, member: str) -> None:
        assert {fault(DefinitionProblem.UNKNOWN_STEP, "steps", 0, member)} == faults_of(one(step))

    def test_an_unreachable_step_is_told(self) -> None:
        plan = definition(evolve(write("a"), next_step_id="c"), write("b"), write("c"))

        assert {fault(DefinitionProblem.UNREACHABLE_STEP, "steps", 1)} == faults_of(plan)

    def test_a_circle_without_a_wait_or_a_limit_is_endless(self) -> None:
        plan = definition(write("a"), evolve(write("b"), next_step_id="a"))

        assert {
            fault(DefinitionProblem.ENDLESS, "steps", 0),
            fault(DefinitionProblem.ENDLESS, "steps", 1),
        } == faults_of(plan)

    @pytest.mark.parametrize("paced", [wait("b"), write("b", max_visits=2)])
    def test_a_wait_or_a_limit_ends_a_circle(self, paced: WaitForConditionStep | SkillInvocationStep) -> None:
        assert set() == faults_of(definition(write("a"), evolve(paced, next_step_id="a")))

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=5))
    def test_exactly_the_steps_between_circles_are_endless(self, drawn: list[tuple[int, int, bool]]) -> None:
        size = len(drawn)
        names = [f"s{number}" for number in range(size)] + [END] * 6
        steps = [
            BranchStep(
                step_id=f"s{number}",
                condition=ConditionSpec(kind="elapsed_seconds", params=bound({"seconds": "1"})),
                on_true=names[true],
                on_false=names[false],
                max_visits=1 if limited else None,
            )
            for number, (true, false, limited) in enumerate(drawn)
        ]
        leads = {(n, m) for n, (true, false, _) in enumerate(drawn) for m in (true, false) if m < size}
        unpaced = {(n, m) for n, m in leads if not drawn[n][2] and not drawn[m][2]}
        reach = set(unpaced)
        for _ in range(size):
            reach |= {(a, d) for (a, b), (c, d) in product(reach, reach) if b == c}
        circles = {n for n, m in reach if n == m}

        told = {each.path[1] for each in faults_of(definition(*steps)) if each.problem is DefinitionProblem.ENDLESS}

        assert circles <= told
        assert told <= circles | {b for a, b in reach if a in circles and any((b, c) in reach for c in circles)}

    @given(definitions())
    def test_every_drawn_plan_can_be_gone_through(self, plan: WorkflowDefinition) -> None:
        assert set() == faults_of(plan)

    def test_a_way_says_whether_the_author_wrote_it(self) -> None:
        ways = edges(definition(evolve(write("a"), next_step_id="b"), write("b")))

        assert [True, False] == [edge.written for edge in ways]


class TestParts:
    """Every skill, tool, parameter, condition and variable is known before anything runs."""

    def test_a_planned_goal_needs_somebody_who_works_on_it(self) -> None:
        assert {fault(DefinitionProblem.NO_TASK_RUNNER, "steps", 0)} == faults_of(one(goal("a")), has_task_runner=False)

    def test_a_goal_asks_for_known_variables(self) -> None:
        step = PlannedGoalStep(step_id="a", goal="Open {who}.", outputs=(Binding("x", "y"), Binding("x", "z")))

        assert {
            fault(DefinitionProblem.UNKNOWN_VARIABLE, "steps", 0, "goal"),
            fault(DefinitionProblem.REPEATED, "steps", 0, "outputs", "x"),
        } == faults_of(one(step))

    def test_an_unknown_skill_is_told(self) -> None:
        step = SkillInvocationStep(step_id="a", skill_id="nothing")

        assert {fault(DefinitionProblem.UNKNOWN_SKILL, "steps", 0, "skill_id")} == faults_of(one(step))

    def test_knowledge_is_not_invoked(self) -> None:
        plan = evolve(
            one(SkillInvocationStep(step_id="a", skill_id="facts")),
            skills=(KnowledgeSkill(skill_id="facts", text="x"),),
        )

        assert {fault(DefinitionProblem.KNOWLEDGE_SKILL, "steps", 0, "skill_id")} == faults_of(plan)

    @pytest.mark.parametrize(
        ("args", "name", "problem"),
        [
            ({}, "patient", DefinitionProblem.MISSING_PARAMETER),
            ({"patient": "x", "more": "y"}, "more", DefinitionProblem.UNKNOWN_PARAMETER),
            ({"patient": "x", "day": "tomorrow"}, "day", DefinitionProblem.BAD_VALUE),
            ({"patient": "{who}"}, "patient", DefinitionProblem.UNKNOWN_VARIABLE),
        ],
    )
    def test_arguments_are_those_of_the_parameters(
        self, args: dict[str, str], name: str, problem: DefinitionProblem
    ) -> None:
        step = SkillInvocationStep(step_id="a", skill_id="note", args=bound(args))

        assert {fault(problem, "steps", 0, "args", name)} == faults_of(one(step), NOTE)

    def test_a_value_that_waits_for_a_variable_is_judged_later(self) -> None:
        step = SkillInvocationStep(step_id="a", skill_id="note", args=bound({"patient": "x", "day": "{when}"}))
        plan = evolve(one(step), parameters=(Parameter(name="when", type=ParameterType.LINE, title="When"),))

        assert set() == faults_of(plan, NOTE)

    def test_a_run_gives_its_own_outputs_only(self) -> None:
        step = evolve(write("a"), outputs=(Binding("mine", "run_id"), Binding("other", "patient")))

        assert {fault(DefinitionProblem.UNKNOWN_OUTPUT, "steps", 0, "outputs", "other")} == faults_of(one(step))

    def test_a_template_calls_known_tools_with_their_arguments(self) -> None:
        calls = (
            ToolCall(tool="nothing"),
            ToolCall(tool="peek"),
            ToolCall(tool="peek", args=bound({"what": "{who}", "else": "x"})),
        )
        plan = evolve(one(template("a")), skills=(FlowTemplateSkill(skill_id="template", calls=calls),))

        assert {
            fault(DefinitionProblem.UNKNOWN_TOOL, "skills", 0, "calls", 0, "tool"),
            fault(DefinitionProblem.MISSING_PARAMETER, "skills", 0, "calls", 1, "args", "what"),
            fault(DefinitionProblem.UNKNOWN_VARIABLE, "skills", 0, "calls", 2, "args", "what"),
            fault(DefinitionProblem.UNKNOWN_PARAMETER, "skills", 0, "calls", 2, "args", "else"),
        } == faults_of(plan)

    @pytest.mark.parametrize(
        ("kind", "params", "place", "problem"),
        [
            ("phase_of_moon", {}, ("kind",), DefinitionProblem.UNKNOWN_CONDITION),
            ("elapsed_seconds", {}, ("params", "seconds"), DefinitionProblem.MISSING_PARAMETER),
            ("elapsed_seconds", {"seconds": "soon"}, ("params", "seconds"), DefinitionProblem.BAD_VALUE),
            ("elapsed_seconds", {"seconds": "1", "x": "y"}, ("params", "x"), DefinitionProblem.UNKNOWN_PARAMETER),
            ("step_result_success", {"step_id": "b"}, ("params", "step_id"), DefinitionProblem.UNKNOWN_STEP),
            (
                "run_outcome_is",
                {"step_id": "a", "outcome": "fine"},
                ("params", "outcome"),
                DefinitionProblem.NOT_A_CHOICE,
            ),
            ("scene_contains_text", {"text": "{who}"}, ("params", "text"), DefinitionProblem.UNKNOWN_VARIABLE),
        ],
    )
    def test_conditions_are_of_known_kinds_with_their_parameters(
        self, kind: str, params: dict[str, str], place: Place, problem: DefinitionProblem
    ) -> None:
        step = WaitForConditionStep(step_id="a", condition=ConditionSpec(kind=kind, params=bound(params)))

        assert {fault(problem, "steps", 0, "condition", *place)} == faults_of(one(step))

    def test_a_text_of_a_condition_may_be_any(self) -> None:
        spec = ConditionSpec(kind="scene_contains_text", params=bound({"text": "Saved"}))

        assert set() == faults_of(one(WaitForConditionStep(step_id="a", condition=spec)))


class TestPinning:
    """A run is bound to its definition and to every skill and tool that its steps use."""

    PLAN = definition(write("a"), template("b"), wait("c"))

    def test_only_what_is_used_is_pinned(self) -> None:
        assert ({"write", "template"}, {"peek", "told", "poke"}) == (
            {each.skill_id for each in pinned(self.PLAN).skills},
            {each.tool for each in pinned(self.PLAN).tools},
        )
        assert ((), ()) == (pinned(one(wait("c"))).skills, pinned(one(wait("c"))).tools)

    @given(definitions(), definitions())
    def test_a_digest_is_shared_by_equals_only(self, plan: WorkflowDefinition, other: WorkflowDefinition) -> None:
        assert (plan == other) is (pinned(plan).digest == pinned(other).digest)

    @pytest.mark.parametrize(
        ("other", "step_id"),
        [
            (PLAN, None),
            (evolve(PLAN, title="Another"), None),
            (definition(write("a"), template("b")), "c"),
            (definition(write("a"), template("d"), wait("c")), "b"),
            (definition(write("a"), template("b"), wait("c", holds=False)), "c"),
            (evolve(PLAN, skills=(evolve(TEMPLATE, calls=TEMPLATE.calls[:1]),)), "b"),
        ],
    )
    def test_the_first_step_that_differs_is_named(self, other: WorkflowDefinition, step_id: str | None) -> None:
        assert step_id == first_difference(pinned(self.PLAN), pinned(other))

    def test_another_version_of_a_workflow_is_another_step(self) -> None:
        now = pin(
            self.PLAN, skills=(evolve(WRITE, digest="c" * 64),), tools=(POKE, TOLD, PEEK), conditions=STANDARD
        ).unwrap()

        assert "a" == first_difference(pinned(self.PLAN), now)

    def test_another_tool_under_the_name_is_another_step(self) -> None:
        tools = (evolve(POKE, effects=PEEK.effects), TOLD, PEEK)
        now = pin(self.PLAN, skills=(WRITE,), tools=tools, conditions=STANDARD).unwrap()

        assert "b" == first_difference(pinned(self.PLAN), now)


class TestTemplates:
    """A template is resolved whole before its first call, or not at all."""

    SKILL = FlowTemplateSkill(
        skill_id="say",
        parameters=(NAME, DAY),
        calls=(ToolCall(tool="peek", args=bound({"what": "{patient} on {day}"})), ToolCall(tool="poke")),
    )

    def test_every_call_has_its_texts(self) -> None:
        assert ({"what": "Ada on "}, {}) == resolved(self.SKILL, {"patient": "Ada"}).unwrap()

    @given(st.text(max_size=20))
    def test_a_value_is_never_read_for_names(self, value: str) -> None:
        found = resolved(self.SKILL, {"patient": value + "{day}"})

        assert isinstance(found, Failure) or found.unwrap()[0] == {"what": value + "{day} on "}

    def test_what_does_not_fit_is_named(self) -> None:
        assert {"patient"} == resolved(self.SKILL, {}).failure()
        assert {"day"} == resolved(self.SKILL, {"patient": "x", "day": "y"}).failure()

    def test_a_name_that_nothing_declares_is_named(self) -> None:
        skill = evolve(self.SKILL, calls=(ToolCall(tool="peek", args=bound({"what": "{who}"})),))

        assert {"who"} == resolved(skill, {"patient": "x"}).failure()
