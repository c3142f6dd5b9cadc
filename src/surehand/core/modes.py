"""Server start to the exact tools that it registers: the whole table, as data.

Laws of this module:

- One row for each way to start. A tool that is not in the row does not exist for the clients of that server.
- The order of a row is the order in which the tools are listed.
- What acts in the app for a person is in a row of attended mode only, and only where the operator wrote that down.
- Recording never enables runs: what may run is said by the other flags alone.
- A start whose flags contradict each other is refused by name; no flag is silently dropped.
"""

from collections.abc import Iterator
from enum import Enum, unique
from typing import Final

from attrs import evolve, frozen

from surehand.core.outcome.result import Mode


@unique
class ToolName(Enum):
    """Every tool with a name of its own; the deprecated ``run_<opaque id>`` tools are named by their workflows."""

    LIST_WORKFLOWS = "list_workflows"
    RUN_WORKFLOW = "run_workflow"
    GET_RUN = "get_run"
    GET_WORKFLOW = "get_workflow"
    GET_RUN_REPORT = "get_run_report"
    LIST_NEEDS_ATTENTION = "list_needs_attention"
    GET_ATTENTION_ITEM = "get_attention_item"
    REJECT = "reject_attention"
    TEACH = "teach_attention"
    ESCALATE = "escalate_attention"
    RECONCILE = "reconcile_attention"
    CONTINUE = "continue_attention"
    SKIP = "skip_attention"
    LIST_PLANS = "list_plans"
    START_PLAN = "start_plan"
    GET_PLAN_RUN = "get_plan_run"
    OBSERVE = "observe"
    START_RECORD = "start_record"
    CLICK = "click"
    HALT = "halt"
    TYPE = "type"
    PAUSE_FOR_INPUT = "pause_for_input"
    CONTINUE_INPUT = "continue_input"
    STOP_RECORD = "stop_record"
    COMPILE = "compile"
    ADMIT = "admit"
    GET_COMMAND_RESULT = "get_command_result"
    SET_COACH = "set_coach"
    GET_COACH = "get_coach"
    BIND_STATUS = "bind_status"
    SCREEN = "screen"


@frozen(kw_only=True)
class Row:
    """What a server of one kind is.

    Args:
        mode: What its results say.
        bundles: Whether it serves a folder of bundles; a row without it serves the sandbox, or nothing that runs.
        tools: Its tools in order.
        runs: Whether it runs workflows.
        deprecated_runs: Whether each workflow also has its old ``run_<opaque id>`` tool, listed after the others.
        url_override: Whether a call that runs something may say where the app is.
        protected_export: Whether reading tools also answer with what stands in the bundles.
    """

    mode: Mode
    bundles: bool
    tools: tuple[ToolName, ...]
    runs: bool = False
    deprecated_runs: bool = False
    url_override: bool = False
    protected_export: bool = False

    @property
    def decides(self) -> bool:
        """Whether decisions on stopped runs are taken here."""
        return not DECISIONS.isdisjoint(self.tools)


@unique
class Start(Enum):
    """The ways to start a server."""

    SANDBOX = "sandbox"
    SANDBOX_ATTENDED = "sandbox, attended"
    READ_ONLY = "production, read-only"
    PRODUCTION = "production"
    ATTENDED = "attended"
    ATTENDED_READ_ONLY = "attended, read-only"
    AUTHORING = "authoring alone"


_ATTENTION: Final = (ToolName.LIST_NEEDS_ATTENTION, ToolName.GET_ATTENTION_ITEM)
_SANDBOX: Final = (ToolName.LIST_WORKFLOWS, ToolName.RUN_WORKFLOW, ToolName.GET_RUN)
_READING: Final = (
    ToolName.LIST_WORKFLOWS,
    ToolName.GET_RUN,
    ToolName.GET_WORKFLOW,
    ToolName.GET_RUN_REPORT,
    *_ATTENTION,
)
_STILL_DECISIONS: Final = (ToolName.REJECT, ToolName.TEACH, ToolName.ESCALATE, ToolName.RECONCILE)

#: The decisions that act in the app; they need a qualified deployment configuration beside the flags.
QUALIFIED_DECISIONS: Final = (ToolName.CONTINUE, ToolName.SKIP)

#: What a person can decide of a stopped run.
DECISIONS: Final = frozenset({*_STILL_DECISIONS, *QUALIFIED_DECISIONS})

#: The recording tools in their order; ``screen`` follows them when the operator shares the screen.
AUTHORING_TOOLS: Final = (
    ToolName.OBSERVE,
    ToolName.START_RECORD,
    ToolName.CLICK,
    ToolName.HALT,
    ToolName.TYPE,
    ToolName.PAUSE_FOR_INPUT,
    ToolName.CONTINUE_INPUT,
    ToolName.STOP_RECORD,
    ToolName.COMPILE,
    ToolName.ADMIT,
    ToolName.GET_COMMAND_RESULT,
    ToolName.SET_COACH,
    ToolName.GET_COACH,
    ToolName.BIND_STATUS,
)

#: The table.
ROWS: Final[dict[Start, Row]] = {
    Start.SANDBOX: Row(mode=Mode.SANDBOX, bundles=False, tools=_SANDBOX, runs=True),
    Start.SANDBOX_ATTENDED: Row(
        mode=Mode.SANDBOX,
        bundles=False,
        tools=(*_SANDBOX, *_ATTENTION, *_STILL_DECISIONS, *QUALIFIED_DECISIONS),
        runs=True,
    ),
    Start.READ_ONLY: Row(mode=Mode.PRODUCTION, bundles=True, tools=_READING),
    Start.PRODUCTION: Row(
        mode=Mode.PRODUCTION,
        bundles=True,
        tools=(*_READING, ToolName.RUN_WORKFLOW),
        runs=True,
        deprecated_runs=True,
    ),
    Start.ATTENDED: Row(
        mode=Mode.ATTENDED,
        bundles=True,
        tools=(*_READING, ToolName.RUN_WORKFLOW, *_STILL_DECISIONS),
        runs=True,
        deprecated_runs=True,
    ),
    Start.ATTENDED_READ_ONLY: Row(mode=Mode.ATTENDED, bundles=True, tools=(*_READING, *_STILL_DECISIONS)),
    Start.AUTHORING: Row(mode=Mode.PRODUCTION, bundles=False, tools=()),
}


@frozen(kw_only=True)
class Flags:
    """How a server was started.

    Args:
        mode: ``--mode``.
        tutorial: ``--tutorial``, an older word for the sandbox.
        attended: ``--attended``: the sandbox, with a person who answers its stopped runs.
        bundles: Whether there is a folder of bundles.
        allow_run: ``--allow-run``, an older word for ``--mode production``.
        allow_attended_actions: ``--allow-attended-actions``; with ``allow_run`` an older word for ``--mode attended``.
        qualified_config: Whether the settings file lets decisions act in the app.
        plans: Whether there is a folder of plans.
        goals: Whether the client's model works on the goals of plans.
        goals_url: Whether the app of goals was named.
        authoring: ``--authoring``.
        authoring_screens: Whether ``--authoring-screens`` was given.
        allow_url_override: ``--allow-url-override``.
        allow_protected_export: ``--allow-protected-export``.
        allow_synthetic_recorded_defaults: ``--allow-synthetic-recorded-defaults``.
    """

    mode: Mode | None = None
    tutorial: bool = False
    attended: bool = False
    bundles: bool = False
    allow_run: bool = False
    allow_attended_actions: bool = False
    qualified_config: bool = False
    plans: bool = False
    goals: bool = False
    goals_url: bool = False
    authoring: bool = False
    authoring_screens: bool = False
    allow_url_override: bool = False
    allow_protected_export: bool = False
    allow_synthetic_recorded_defaults: bool = False


@unique
class StartRefusal(Enum):
    """Why a server is not started, with what to do instead."""

    MODES_CONTRADICT = "these flags name different modes; give --mode alone"
    BUNDLES_MISSING = "this mode serves workflows of your own: name their folder with --bundles"
    BUNDLES_NOT_SERVED = "the sandbox serves its own workflow; leave --bundles out, or start with --mode production"
    PLANS_WITHOUT_WORKFLOWS = "--plans goes through workflows: serve some with --bundles, or the sandbox"
    GOALS_WITHOUT_PLANS = "--goals-by-client-model is about goals of plans: name their folder with --plans"
    GOALS_URL_WITHOUT_GOALS = "--goals-url is about goals: give --goals-by-client-model beside it"
    GOALS_WITHOUT_RUNS = "--goals-by-client-model works in an app: start with --mode production, or the sandbox"
    SCREENS_WITHOUT_AUTHORING = "--authoring-screens adds a tool to --authoring; give both"
    URL_OVERRIDE_WITHOUT_RUNS = "--allow-url-override is about runs of your own workflows; start with --mode production"
    EXPORT_WITHOUT_BUNDLES = "--allow-protected-export is about workflows of your own: name their folder with --bundles"
    DEFAULTS_WITHOUT_RUNS = "--allow-synthetic-recorded-defaults needs a server that runs workflows"
    DEFAULTS_NOT_RECORDED = (
        "--allow-synthetic-recorded-defaults has nothing to fill in: a bundle holds no recorded values; "
        "it works in the sandbox alone"
    )


def choose(flags: Flags) -> Row | StartRefusal:
    """The row of a server that is started so, or why it is not started."""
    start = _start(flags)
    if isinstance(start, StartRefusal):
        return start
    refusal = next((refusal for refusal, applies in _refusals(flags, start) if applies), None)
    return _row(flags, start) if refusal is None else refusal


def _start(flags: Flags) -> Start | StartRefusal:
    """Which row the flags about modes name, all of them agreeing."""
    named = {mode for mode, is_named in _named(flags) if is_named}
    if len(named) > 1:
        return StartRefusal.MODES_CONTRADICT
    if not named:
        return _unnamed(flags)
    mode = named.pop()
    if mode is Mode.SANDBOX:
        return StartRefusal.BUNDLES_NOT_SERVED if flags.bundles else _sandbox(flags)
    if not flags.bundles:
        return StartRefusal.BUNDLES_MISSING
    if mode is Mode.PRODUCTION:
        return Start.PRODUCTION
    return Start.ATTENDED if flags.mode is Mode.ATTENDED or flags.allow_run else Start.ATTENDED_READ_ONLY


def _sandbox(flags: Flags) -> Start:
    return Start.SANDBOX_ATTENDED if flags.attended else Start.SANDBOX


def _named(flags: Flags) -> Iterator[tuple[Mode, bool]]:
    """Each mode that some flag can name, with whether it does; without bundles a permission to run is the sandbox's."""
    attended = flags.allow_attended_actions
    yield Mode.SANDBOX, flags.mode is Mode.SANDBOX or flags.tutorial or flags.attended
    yield Mode.SANDBOX, flags.allow_run and not flags.bundles and not attended and flags.mode is None
    yield Mode.PRODUCTION, flags.mode is Mode.PRODUCTION
    yield Mode.PRODUCTION, flags.allow_run and flags.bundles and not attended and flags.mode is not Mode.ATTENDED
    yield Mode.ATTENDED, flags.mode is Mode.ATTENDED or attended


def _unnamed(flags: Flags) -> Start:
    if flags.bundles:
        return Start.READ_ONLY
    return Start.AUTHORING if flags.authoring else Start.SANDBOX


def _refusals(flags: Flags, start: Start) -> Iterator[tuple[StartRefusal, bool]]:
    """Why a row is not served as it was asked for, the first that applies before the others."""
    row = ROWS[start]
    defaults = flags.allow_synthetic_recorded_defaults
    yield StartRefusal.PLANS_WITHOUT_WORKFLOWS, flags.plans and start is Start.AUTHORING
    yield StartRefusal.GOALS_WITHOUT_PLANS, flags.goals and not flags.plans
    yield StartRefusal.GOALS_URL_WITHOUT_GOALS, flags.goals_url and not flags.goals
    yield StartRefusal.GOALS_WITHOUT_RUNS, flags.goals and not row.runs
    yield StartRefusal.SCREENS_WITHOUT_AUTHORING, flags.authoring_screens and not flags.authoring
    yield StartRefusal.URL_OVERRIDE_WITHOUT_RUNS, flags.allow_url_override and not (row.runs and row.bundles)
    yield StartRefusal.EXPORT_WITHOUT_BUNDLES, flags.allow_protected_export and not row.bundles
    yield StartRefusal.DEFAULTS_WITHOUT_RUNS, defaults and not row.runs
    yield StartRefusal.DEFAULTS_NOT_RECORDED, defaults and row.bundles


def _plan_tools(row: Row) -> tuple[ToolName, ...]:
    """The tools of plans; one that begins something stands where something may run."""
    return ToolName.LIST_PLANS, *((ToolName.START_PLAN,) if row.runs else ()), ToolName.GET_PLAN_RUN


def _row(flags: Flags, start: Start) -> Row:
    """The row with what single flags add to it."""
    row = ROWS[start]
    decides = start in (Start.ATTENDED, Start.ATTENDED_READ_ONLY) and flags.qualified_config
    added = (
        *(QUALIFIED_DECISIONS if decides else ()),
        *(_plan_tools(row) if flags.plans else ()),
        *(AUTHORING_TOOLS if flags.authoring else ()),
        *((ToolName.SCREEN,) if flags.authoring_screens else ()),
    )
    return evolve(
        row,
        tools=(*row.tools, *added),
        url_override=flags.allow_url_override,
        protected_export=flags.allow_protected_export,
    )
