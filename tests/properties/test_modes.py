"""Which start gives which tools: every combination of flags, against the table written out once more by hand."""

from collections.abc import Iterator
from itertools import product

import pytest
from attrs import evolve, fields

from surehand.core.modes import (
    AUTHORING_TOOLS,
    DECISIONS,
    QUALIFIED_DECISIONS,
    ROWS,
    Flags,
    Row,
    Start,
    StartRefusal,
    ToolName,
    choose,
)
from surehand.core.outcome.result import Mode

READING = ["list_workflows", "get_run", "get_workflow", "get_run_report", "list_needs_attention", "get_attention_item"]
SANDBOX = ["list_workflows", "run_workflow", "get_run"]
STILL = ["reject_attention", "teach_attention", "escalate_attention", "reconcile_attention"]
ACTING = ["continue_attention", "skip_attention"]

#: Each row of the table, by hand: the mode of its results, its tools in order, whether it runs and keeps old tools.
TABLE: dict[Start, tuple[Mode, list[str], bool, bool]] = {
    Start.SANDBOX: (Mode.SANDBOX, SANDBOX, True, False),
    Start.SANDBOX_ATTENDED: (Mode.SANDBOX, [*SANDBOX, *READING[4:], *STILL, *ACTING], True, False),
    Start.READ_ONLY: (Mode.PRODUCTION, READING, False, False),
    Start.PRODUCTION: (Mode.PRODUCTION, [*READING, "run_workflow"], True, True),
    Start.ATTENDED: (Mode.ATTENDED, [*READING, "run_workflow", *STILL], True, True),
    Start.ATTENDED_READ_ONLY: (Mode.ATTENDED, [*READING, *STILL], False, False),
    Start.AUTHORING: (Mode.PRODUCTION, [], False, False),
}

AUTHORING = [
    "observe",
    "start_record",
    "click",
    "halt",
    "type",
    "pause_for_input",
    "continue_input",
    "stop_record",
    "compile",
    "admit",
    "get_command_result",
    "set_coach",
    "get_coach",
    "bind_status",
]

#: Starts that the table names, each with what it gives.
STARTS: list[tuple[Flags, Start | StartRefusal]] = [
    (Flags(), Start.SANDBOX),
    (Flags(mode=Mode.SANDBOX), Start.SANDBOX),
    (Flags(tutorial=True), Start.SANDBOX),
    (Flags(tutorial=True, mode=Mode.SANDBOX), Start.SANDBOX),
    (Flags(allow_run=True), Start.SANDBOX),
    (Flags(bundles=True), Start.READ_ONLY),
    (Flags(bundles=True, mode=Mode.PRODUCTION), Start.PRODUCTION),
    (Flags(bundles=True, allow_run=True), Start.PRODUCTION),
    (Flags(bundles=True, mode=Mode.PRODUCTION, allow_run=True), Start.PRODUCTION),
    (Flags(bundles=True, mode=Mode.ATTENDED), Start.ATTENDED),
    (Flags(bundles=True, allow_run=True, allow_attended_actions=True), Start.ATTENDED),
    (Flags(bundles=True, allow_attended_actions=True), Start.ATTENDED_READ_ONLY),
    (Flags(attended=True), Start.SANDBOX_ATTENDED),
    (Flags(attended=True, mode=Mode.SANDBOX), Start.SANDBOX_ATTENDED),
    (Flags(attended=True, tutorial=True, qualified_config=True), Start.SANDBOX_ATTENDED),
    (Flags(attended=True, bundles=True), StartRefusal.BUNDLES_NOT_SERVED),
    (Flags(attended=True, bundles=True, mode=Mode.ATTENDED), StartRefusal.MODES_CONTRADICT),
    (Flags(attended=True, allow_attended_actions=True), StartRefusal.MODES_CONTRADICT),
    (Flags(mode=Mode.PRODUCTION), StartRefusal.BUNDLES_MISSING),
    (Flags(mode=Mode.ATTENDED), StartRefusal.BUNDLES_MISSING),
    (Flags(allow_attended_actions=True), StartRefusal.BUNDLES_MISSING),
    (Flags(mode=Mode.SANDBOX, bundles=True), StartRefusal.BUNDLES_NOT_SERVED),
    (Flags(tutorial=True, bundles=True), StartRefusal.BUNDLES_NOT_SERVED),
    (Flags(tutorial=True, mode=Mode.PRODUCTION, bundles=True), StartRefusal.MODES_CONTRADICT),
    (Flags(mode=Mode.SANDBOX, allow_attended_actions=True), StartRefusal.MODES_CONTRADICT),
    (Flags(mode=Mode.PRODUCTION, bundles=True, allow_attended_actions=True), StartRefusal.MODES_CONTRADICT),
    (Flags(tutorial=True, allow_run=True, bundles=True), StartRefusal.MODES_CONTRADICT),
    (Flags(authoring_screens=True), StartRefusal.SCREENS_WITHOUT_AUTHORING),
    (Flags(allow_url_override=True), StartRefusal.URL_OVERRIDE_WITHOUT_RUNS),
    (Flags(bundles=True, allow_url_override=True), StartRefusal.URL_OVERRIDE_WITHOUT_RUNS),
    (Flags(bundles=True, allow_run=True, allow_url_override=True), Start.PRODUCTION),
    (Flags(allow_protected_export=True), StartRefusal.EXPORT_WITHOUT_BUNDLES),
    (Flags(bundles=True, allow_protected_export=True), Start.READ_ONLY),
    (Flags(allow_synthetic_recorded_defaults=True), Start.SANDBOX),
    (Flags(bundles=True, allow_synthetic_recorded_defaults=True), StartRefusal.DEFAULTS_WITHOUT_RUNS),
    (Flags(bundles=True, allow_run=True, allow_synthetic_recorded_defaults=True), StartRefusal.DEFAULTS_NOT_RECORDED),
]


#: What adds no tool, and is gone through for every combination of the other flags by a test of its own.
GOALS = ("goals", "goals_url")


def every_start() -> Iterator[Flags]:
    """Every combination of flags."""
    names = [each.name for each in fields(Flags) if each.name not in {"mode", *GOALS}]
    for mode in (None, *Mode):
        for values in product((False, True), repeat=len(names)):
            yield Flags(mode=mode, **dict(zip(names, values, strict=True)))


def names(tools: tuple[ToolName, ...]) -> list[str]:
    """The tools by the names that clients call."""
    return [tool.value for tool in tools]


class TestTheTableIsTheOneThatWasAgreed:
    """Each row has exactly its tools, in their order."""

    @pytest.mark.parametrize("start", Start)
    def test_a_row_is_exactly_this(self, start: Start) -> None:
        row = ROWS[start]

        assert (row.mode, names(row.tools), row.runs, row.deprecated_runs) == TABLE[start]

    def test_the_recording_tools_have_their_order(self) -> None:
        assert names(AUTHORING_TOOLS) == AUTHORING

    @pytest.mark.parametrize(("flags", "expected"), STARTS, ids=str)
    def test_a_start_gives_its_row_or_its_refusal(self, flags: Flags, expected: Start | StartRefusal) -> None:
        given = ROWS[expected] if isinstance(expected, Start) else expected
        if isinstance(given, Row):
            given = evolve(given, url_override=flags.allow_url_override, protected_export=flags.allow_protected_export)

        assert choose(flags) == given


class TestEveryCombinationOfFlagsIsAnswered:
    """No combination is answered by more than it asked for, and none by less without a refusal."""

    def test_what_is_served_was_asked_for(self) -> None:
        seen: set[object] = set()
        for flags in every_start():
            row = choose(flags)
            seen.add(row if isinstance(row, StartRefusal) else row.tools)
            if isinstance(row, StartRefusal):
                continue
            asked_to_run = flags.mode in (Mode.PRODUCTION, Mode.ATTENDED) or flags.allow_run

            assert row.bundles == flags.bundles
            assert not (row.runs and row.bundles) or asked_to_run
            assert (row.mode is Mode.SANDBOX) == (row.runs and not row.bundles)
            assert flags.mode in (None, row.mode)
            assert not flags.tutorial or row.mode is Mode.SANDBOX
            assert not flags.allow_url_override or (row.runs and row.bundles)
            assert not flags.allow_protected_export or row.bundles
            assert not flags.allow_synthetic_recorded_defaults or row.mode is Mode.SANDBOX
            assert len(row.tools) == len(set(row.tools))

        assert {each for each in StartRefusal if not each.name.startswith("GOALS")} <= seen

    def test_a_run_tool_is_there_exactly_where_runs_are_allowed(self) -> None:
        for flags in every_start():
            row = choose(flags)
            if isinstance(row, Row):
                assert (ToolName.RUN_WORKFLOW in row.tools) == row.runs
                assert row.runs or not row.deprecated_runs

    def test_recording_adds_its_tools_and_never_a_run(self) -> None:
        compared = 0
        for flags in every_start():
            row, without = choose(flags), choose(evolve(flags, authoring=False, authoring_screens=False))
            if isinstance(row, StartRefusal) or isinstance(without, StartRefusal) or not flags.authoring:
                continue
            compared += 1
            screen = (ToolName.SCREEN,) if flags.authoring_screens else ()

            assert row.tools[-len(AUTHORING_TOOLS + screen) :] == AUTHORING_TOOLS + screen
            assert set(row.tools) - {*AUTHORING_TOOLS, *screen} <= set(without.tools)
            assert without.runs or not row.runs

        assert compared > 0


class TestPlansAddTheirTools:
    """A folder of plans adds what lists them and shows their runs, what starts one where something may run, no more."""

    def test_in_every_row(self) -> None:
        compared = 0
        for flags in every_start():
            row, without = choose(flags), choose(evolve(flags, plans=False))
            if isinstance(row, StartRefusal) or isinstance(without, StartRefusal) or not flags.plans:
                continue
            compared += 1
            expected = ["list_plans", "start_plan", "get_plan_run"] if row.runs else ["list_plans", "get_plan_run"]

            assert expected == [tool.value for tool in row.tools if tool not in without.tools]
            assert evolve(row, tools=without.tools) == without

        assert compared > 0

    def test_there_are_none_without_a_workflow(self) -> None:
        assert StartRefusal.PLANS_WITHOUT_WORKFLOWS is choose(Flags(plans=True, authoring=True))


class TestGoalsAreWorkedOnWherePlansRun:
    """Goals add no tool. They go with plans where something may run; anything else is refused by name."""

    def test_in_every_row(self) -> None:
        served = 0
        for flags in every_start():
            without, row = choose(flags), choose(evolve(flags, goals=True))
            if isinstance(row, Row):
                served += 1
                assert flags.plans
                assert row.runs
                assert row == without == choose(evolve(flags, goals=True, goals_url=True))
            assert not isinstance(choose(evolve(flags, goals_url=True)), Row)

        assert served > 0

    @pytest.mark.parametrize(
        ("flags", "refusal"),
        [
            (Flags(goals=True), StartRefusal.GOALS_WITHOUT_PLANS),
            (Flags(goals=True, plans=True, bundles=True), StartRefusal.GOALS_WITHOUT_RUNS),
            (Flags(goals_url=True, plans=True), StartRefusal.GOALS_URL_WITHOUT_GOALS),
        ],
        ids=str,
    )
    def test_the_refusals(self, flags: Flags, refusal: StartRefusal) -> None:
        assert refusal is choose(flags)


class TestWhoMayDecide:
    """A decision is taken only where a person is said to attend, and whoever only reads decides nothing."""

    def test_every_decision_belongs_to_an_attended_start(self) -> None:
        for flags in every_start():
            row = choose(flags)
            if isinstance(row, Row):
                asked = flags.attended or flags.allow_attended_actions or flags.mode is Mode.ATTENDED

                assert (not DECISIONS.isdisjoint(row.tools), row.decides) == (asked, asked)
                assert not row.decides or {*READING[4:]} <= {*names(row.tools)}

    def test_the_decisions_are_these(self) -> None:
        assert {each.value for each in DECISIONS} == {*STILL, *ACTING}


class TestTheActingDecisionsNeedAQualifiedConfiguration:
    """Continue and Skip follow the other decisions: in the sandbox, and where the settings file lets them act."""

    def test_they_are_in_the_row_of_such_a_start_alone(self) -> None:
        attended = Flags(bundles=True, mode=Mode.ATTENDED)
        plain, qualified = choose(attended), choose(evolve(attended, qualified_config=True))
        elsewhere = choose(Flags(bundles=True, mode=Mode.PRODUCTION, qualified_config=True))

        assert plain == ROWS[Start.ATTENDED]
        assert isinstance(qualified, Row)
        assert qualified.tools == (*ROWS[Start.ATTENDED].tools, *QUALIFIED_DECISIONS)
        assert elsewhere == ROWS[Start.PRODUCTION]

    def test_no_other_start_over_bundles_has_them(self) -> None:
        for flags in every_start():
            row = choose(flags)
            if isinstance(row, Row) and row.bundles:
                assert {*QUALIFIED_DECISIONS}.isdisjoint(row.tools) or (flags.qualified_config and row.decides)


class TestTheRecordingToolsFollowTheOthers:
    """They are registered after the tools of the row, in their order; they allow no run, and need no bundles."""

    def test_they_stand_alone_or_after_the_others(self) -> None:
        alone = choose(Flags(authoring=True))
        screens = choose(Flags(authoring=True, authoring_screens=True, bundles=True))

        assert isinstance(alone, Row)
        assert isinstance(screens, Row)
        assert (names(alone.tools), alone.runs) == (AUTHORING, False)
        assert (names(screens.tools), screens.runs) == ([*READING, *AUTHORING, "screen"], False)
