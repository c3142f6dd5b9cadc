"""``surehand plan``: plans of several steps, checked, run, taken up and drawn.

Laws of this module:

- Inputs come from a file or from standard input, as those of a run do.
- What is shown of a run holds names of steps, counts and closed words, never a value.
- Ctrl+C stops a plan where it can go on later: what acts comes to its end first.
"""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypedDict, TypeVar, Unpack

import click

from surehand.core.orchestration.refusal import PlanRefusal
from surehand.core.orchestration.run import RunStatus, outcome_of
from surehand.core.outcome.reasons import Outcome
from surehand.core.request.record import instant
from surehand.shell.cli.app import (
    EXIT_CODES,
    EXIT_TABLE,
    NOT_IN_ORDER,
    REQUEST_ID_RULE,
    bundle_options,
    engine_option,
    json_option,
    runs_dir_option,
)
from surehand.shell.cli.help import Command, Group
from surehand.shell.cli.pruning import Asked, Prunable, prune_and_tell, prune_options
from surehand.shell.config import BundleArguments, origin_text, settings

if TYPE_CHECKING:
    from surehand.core.orchestration.definition import WorkflowDefinition
    from surehand.core.orchestration.refusal import RunRefused
    from surehand.core.orchestration.run import WorkflowRun
    from surehand.shell.orchestration.loader import Definitions
    from surehand.shell.orchestration.retention import PrunedPlans
    from surehand.shell.orchestration.runner import RunSummary, WorkflowRunner

EPILOG: Final = """\b
Examples:
  surehand plan check referral.toml
  surehand plan run referral.toml --inputs referral.json --request-id referral-17
  surehand plan list
"""

CHECK_EPILOG: Final = """\b
Examples:
  surehand plan check referral.toml --bundles workflows
  surehand plan check referral.toml --bundles workflows --goals-by-client-model
  surehand plan check referral.toml --json
"""

RUN_EPILOG: Final = f"""\b
Examples:
  surehand plan run referral.toml --inputs referral.json --request-id referral-17
  surehand plan run referral.toml --bundles workflows --inputs - --request-id referral-17 --json

{EXIT_TABLE}
"""

RESUME_EPILOG: Final = f"""\b
Examples:
  surehand plan resume plan_0123456789abcdef0123456789abcdef

{EXIT_TABLE}
"""

LIST_EPILOG: Final = """\b
Examples:
  surehand plan list
  surehand plan list --limit 5 --json
"""

_RUN_EPILOG: Final = """\b
Examples:
  surehand plan {name} plan_0123456789abcdef0123456789abcdef
"""

SHOW_EPILOG: Final = f"{_RUN_EPILOG.format(name='show')}\n{EXIT_TABLE}\n"

GRAPH_EPILOG: Final = """\b
Examples:
  surehand plan graph referral.toml > referral.mmd
  surehand plan graph plan_0123456789abcdef0123456789abcdef
"""

PRUNE_EPILOG: Final = """\b
Examples:
  surehand plan prune --older-than 90 --dry-run
  surehand plan prune --older-than 90 --json
"""

ACCEPT_EPILOG: Final = """\b
Examples:
  surehand plan accept-restored
  surehand plan accept-restored --yes --json
"""

_PLAN_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)

_RUN_PREFIX: Final = "plan_"

#: Refusals that are about the plan itself.
_ABOUT_THE_PLAN: Final = (PlanRefusal.INVALID_DEFINITION, PlanRefusal.DEFINITION_CHANGED)

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., object])


class Installation(TypedDict):
    """What the options say about the workflows that the steps run."""

    bundles: str | None
    profile: str | None
    policy: str | None
    key_file: Path | None
    url: tuple[str, ...]
    sandbox_engine: str | None
    runs_dir: str | None


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Check, run, take up, list, draw and tidy up plans.

    A plan goes through several workflows in one order, none of them twice.
    """


def installation_options(function: CommandFunction) -> CommandFunction:
    """Which workflows the steps run."""
    return bundle_options(engine_option("--sandbox-engine")(runs_dir_option(json_option(function))))


@command.command("check", cls=Command, epilog=CHECK_EPILOG)
@click.argument("file", type=_PLAN_FILE)
@click.option("--goals-by-client-model", is_flag=True, help="Check as a server does that is started with this option.")
@click.option("--goals-url", metavar="ORIGIN", help="The app of goals.  [default: the one app of what is served]")
@installation_options
@click.pass_context
def check_plan(
    ctx: click.Context,
    /,
    file: Path,
    goals_by_client_model: bool,
    goals_url: str | None,
    as_json: bool,
    **installation: Unpack[Installation],
) -> None:
    """Say every fault of the plan in FILE, at its place.

    Nothing runs.
    """
    from returns.result import Failure  # noqa: PLC0415 - after the arguments were understood

    from surehand.shell.orchestration.loader import DefinitionError, load_definition  # noqa: PLC0415 - as above

    try:
        definition = load_definition(file)
    except DefinitionError as error:
        faults, sentence = error.faults, f"{file}: {error}"
    else:
        with _runner(installation) as runner:
            with_goals = goals_by_client_model and _have_place(installation, goals_url)
            checked = runner.check(definition, with_goals=with_goals)
        faults = checked.failure() if isinstance(checked, Failure) else ()
        sentence = ""
    _print_faults(
        [(".".join(map(str, fault.path)), fault.problem.value) for fault in faults], sentence, as_json=as_json
    )
    ctx.exit(NOT_IN_ORDER if faults or sentence else 0)


@command.command("run", cls=Command, epilog=RUN_EPILOG)
@click.argument("file", type=_PLAN_FILE)
@click.option("--inputs", "source", metavar="FILE|-", help="A JSON object of texts by input name.  [default: none]")
@click.option(
    "--request-id", required=True, metavar="ID", help="Your id of this work: one for each, the same for every retry."
)
@installation_options
@click.pass_context
def run_plan(
    ctx: click.Context,
    /,
    file: Path,
    source: str | None,
    request_id: str,
    as_json: bool,
    **installation: Unpack[Installation],
) -> None:
    """Go through the plan in FILE until it ends or stops.

    It stops where a person is needed. The same request id is the same run: one that was interrupted is taken up, one
    that ended is told again.
    """
    from surehand.core.request.keys import NotARequestIdError  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.cli.run import read_inputs  # noqa: PLC0415 - as above

    definition = _read(ctx, file)
    inputs = {} if source is None else read_inputs(source)
    with _runner(installation) as runner:
        try:
            told = runner.run(definition, inputs, request_id)
        except NotARequestIdError:
            raise click.BadParameter(REQUEST_ID_RULE, param_hint="--request-id") from None
        told = _gone_on(runner, told)
    _tell(ctx, told, definition.definition_id, as_json=as_json)


@command.command("resume", cls=Command, epilog=RESUME_EPILOG)
@click.argument("run_id", metavar="PLAN_RUN")
@click.option("--plan", "file", type=_PLAN_FILE, metavar="FILE", help="The plan as it is today.")
@installation_options
@click.pass_context
def resume_plan(
    ctx: click.Context, /, run_id: str, file: Path | None, as_json: bool, **installation: Unpack[Installation]
) -> None:
    """Take the run PLAN_RUN up where it stands.

    No step that ended runs again.
    """
    today = None if file is None else _One(_read(ctx, file))
    with _runner(installation, today) as runner:
        told = runner.resume(run_id)
    _tell(ctx, told, None, as_json=as_json)


@command.command("cancel", epilog=_RUN_EPILOG.format(name="cancel"))
@click.argument("run_id", metavar="PLAN_RUN")
@runs_dir_option
@json_option
@click.pass_context
def cancel_plan(ctx: click.Context, run_id: str, runs_dir: str | None, as_json: bool) -> None:
    """Wish that the run PLAN_RUN stops.

    It stops before its next step, or at once where it only waits. A run that nobody goes through stops when it is taken
    up.
    """
    from surehand.shell.output import print_json  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.store.base import StoreError  # noqa: PLC0415 - as above

    with _kept(runs_dir) as runner:
        try:
            wished = runner is not None and runner.cancel(run_id)
            is_left = runner is not None and run_id in runner.abandoned()
        except StoreError:
            _no_store(ctx)
    if as_json:
        print_json({"wished": wished, "is_gone_through": wished and not is_left})
    elif wished and is_left:
        click.echo("Nobody goes through it now. It stops when `surehand plan resume` takes it up.")
    else:
        click.echo("It stops as soon as it can." if wished else "It is not known, or does not go on any more.")
    ctx.exit(0 if wished else NOT_IN_ORDER)


@command.command("list", epilog=LIST_EPILOG)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs on one page.")
@runs_dir_option
@json_option
@click.pass_context
def list_plans(ctx: click.Context, limit: int, runs_dir: str | None, as_json: bool) -> None:
    """List the runs of plans, the newest first."""
    from surehand.shell.output import STYLES, make_console, print_json  # noqa: PLC0415 - as above
    from surehand.shell.store.base import StoreError  # noqa: PLC0415 - as above

    with _kept(runs_dir) as runner:
        try:
            found = [] if runner is None else [(each, _outcome(runner, each.run_id)) for each in runner.runs(limit)]
        except StoreError:
            _no_store(ctx)
    if as_json:
        print_json([_row(each, outcome) for each, outcome in found])
        return
    if not found:
        click.echo("No plan was run here.")
    for each, outcome in found:
        row = _row(each, outcome)
        state = each.status.value + (", interrupted" if each.status is RunStatus.RUNNING and not each.alive else "")
        told = f"{'-':18}" if outcome is None else f"[{STYLES[outcome]}]{outcome.value:18}[/]"
        line = f"{each.run_id}  {row['created_at']}  {told}{state:22}{each.definition_id}  {each.current_step_id or ''}"
        make_console().print(line.rstrip())


def _outcome(runner: "WorkflowRunner", run_id: str) -> Outcome | None:
    """What the whole run is told as; ``None`` for one that only a newer version can read."""
    run = runner.get(run_id)
    return None if run is None else outcome_of(run).outcome


def _row(run: "RunSummary", outcome: Outcome | None) -> dict[str, object]:
    """One run of the listing."""
    return {
        "plan_run_id": run.run_id,
        "plan": run.definition_id,
        "status": run.status.value,
        **({} if outcome is None else {"outcome": outcome.value}),
        "step": run.current_step_id,
        "steps": run.steps,
        "created_at": instant(run.created_at),
        "is_gone_through": run.alive,
    }


@command.command("show", epilog=SHOW_EPILOG)
@click.argument("run_id", metavar="PLAN_RUN")
@runs_dir_option
@json_option
@click.pass_context
def show_plan(ctx: click.Context, run_id: str, runs_dir: str | None, as_json: bool) -> None:
    """Show how the run PLAN_RUN stands, step by step."""
    with _kept(runs_dir) as runner:
        _tell(ctx, _known(ctx, runner, run_id), None, as_json=as_json)


@command.command("graph", epilog=GRAPH_EPILOG)
@click.argument("shown", metavar="FILE|PLAN_RUN")
@runs_dir_option
@json_option
@click.pass_context
def graph_plan(ctx: click.Context, shown: str, runs_dir: str | None, as_json: bool) -> None:
    """Draw a plan, or the way of a run through one, in Mermaid.

    Mermaid flowcharts are drawn by many Markdown viewers.
    """
    from surehand.core.orchestration.graph import graph  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.output import print_json  # noqa: PLC0415 - as above

    if shown.startswith(_RUN_PREFIX) and not Path(shown).exists():
        with _kept(runs_dir) as runner:
            run = _known(ctx, runner, shown)
        drawn = graph(run.pinned.definition, run)
    else:
        drawn = graph(_read(ctx, _PLAN_FILE.convert(shown, None, ctx)))
    print_json({"mermaid": drawn}) if as_json else click.echo(drawn, nl=False)


@command.command("prune", epilog=PRUNE_EPILOG)
@prune_options
@click.pass_context
def prune_plans_store(ctx: click.Context, /, **asked: Unpack[Asked]) -> None:
    """Drop what old runs of plans were given and found.

    The journals of their goals go too. Runs are never dropped, nor how their steps ended: their request ids are
    answered for ever, with the same result. A run that goes on keeps everything; cancel it first if nobody takes it up
    any more.
    """
    from surehand.shell.orchestration.opening import PLANS  # noqa: PLC0415 - after the arguments were understood

    words = {"runs": "Runs of plans", "journals": "Journals of goals"}
    prune_and_tell(ctx, asked, Prunable(name="file of plans", place=PLANS, words=words, drop=_drop))


def _drop(folder: Path, before: int, dry_run: bool) -> "PrunedPlans":
    from surehand.shell.orchestration.opening import PLANS  # noqa: PLC0415 - as above
    from surehand.shell.orchestration.retention import prune_plans  # noqa: PLC0415 - as above
    from surehand.shell.orchestration.store import PlanStore  # noqa: PLC0415 - as above

    with closing(PlanStore.open(folder / PLANS, read_only=dry_run)) as store:
        return prune_plans(store, folder, before, dry_run=dry_run)


@command.command("accept-restored", epilog=ACCEPT_EPILOG)
@click.option("--yes", is_flag=True, help="Do not ask.")
@runs_dir_option
@json_option
@click.pass_context
def accept_restored_plans(ctx: click.Context, yes: bool, runs_dir: str | None, as_json: bool) -> None:
    """Go on with a file of plans that was copied or restored.

    What ran after the backup was made is not in it. A run that goes on takes what the ledger knows of each of its
    steps, and stops for a person at the first one that the ledger does not know. A request that only the notes beside
    the file know begins nothing. A request of that time that neither of them knows begins anew, so look into the app
    before it is repeated. Stop every program that uses the file first; take the run store over before, if it was
    restored too.
    """
    from surehand.shell.config import settings  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.orchestration.opening import PLANS  # noqa: PLC0415 - as above
    from surehand.shell.orchestration.store import PlanStore  # noqa: PLC0415 - as above
    from surehand.shell.output import print_json  # noqa: PLC0415 - as above
    from surehand.shell.store.base import StoreError  # noqa: PLC0415 - as above

    if not yes:
        click.confirm("Go on with the file of plans as it is now?", abort=True, err=True)
    try:
        with closing(PlanStore.open(settings(runs_dir).state_folder / PLANS, restored=True)) as store:
            accepted = store.accept_restored()
    except StoreError:
        _no_store(ctx)
    if as_json:
        print_json({"epoch": accepted.epoch, "going_on": accepted.going_on, "lost": accepted.lost})
    else:
        click.echo(f"Epoch {accepted.epoch} begins.")
        click.echo(f"Runs that go on and do nothing more that the ledger does not know: {accepted.going_on}.")
        click.echo(f"Requests that the file had lost and that begin nothing any more: {accepted.lost}.")


class _One:
    """Today's plans where one file was named."""

    def __init__(self, definition: "WorkflowDefinition") -> None:
        self._definition = definition

    def find(self, definition_id: str) -> "WorkflowDefinition | None":
        """The plan, if it is the one of this id."""
        return self._definition if self._definition.definition_id == definition_id else None


@contextmanager
def _runner(installation: Installation, definitions: "Definitions | None" = None) -> "Generator[WorkflowRunner]":
    """What goes through plans with the workflows that the options name."""
    from surehand.shell.orchestration.opening import open_plans  # noqa: PLC0415 - after the arguments were understood

    runs_dir, engine = installation["runs_dir"], installation["sandbox_engine"]
    with open_plans(runs_dir, engine, bundles=_said(installation), definitions=definitions) as runner:
        yield runner


@contextmanager
def _kept(runs_dir: str | None) -> "Generator[WorkflowRunner | None]":
    """What knows the runs of plans, whatever workflows their steps ran; ``None`` where none was run yet."""
    from surehand.shell.orchestration.opening import PLANS, open_plans  # noqa: PLC0415 - as above

    if not (settings(runs_dir).state_folder / PLANS).exists():
        yield None
        return
    with open_plans(runs_dir) as runner:
        yield runner


def _said(installation: Installation) -> BundleArguments:
    return BundleArguments(
        folder=installation["bundles"],
        profile=installation["profile"],
        policy=installation["policy"],
        key_file=installation["key_file"],
        apps=installation["url"],
    )


def _have_place(installation: Installation, named: str | None) -> bool:
    """Whether goals have a place with the workflows that the options name."""
    from surehand.shell.orchestration.places import has_place  # noqa: PLC0415 - Playwright is optional

    runs_dir, engine = installation["runs_dir"], installation["sandbox_engine"]
    chosen = settings(runs_dir, engine, bundles=_said(installation))
    return has_place(chosen, None if named is None else origin_text(named))


def _gone_on(runner: "WorkflowRunner", told: "WorkflowRun | RunRefused") -> "WorkflowRun | RunRefused":
    """A run that was found begun and left by its process, after it was taken up."""
    from surehand.core.orchestration.refusal import RunRefused  # noqa: PLC0415 - as above

    if isinstance(told, RunRefused) or told.status is not RunStatus.RUNNING:
        return told
    then = runner.resume(told.id)
    elsewhere = isinstance(then, RunRefused) and then.code is PlanRefusal.RUNNING_ELSEWHERE
    return told if elsewhere else then


def _read(ctx: click.Context, file: Path) -> "WorkflowDefinition":
    from surehand.shell.orchestration.loader import DefinitionError, load_definition  # noqa: PLC0415 - as above

    try:
        return load_definition(file)
    except DefinitionError as error:
        more = " `surehand plan check` says it place by place." if error.faults else ""
        click.echo(f"Error: {file}: {error}.{more}", err=True)
        ctx.exit(2)


def _known(ctx: click.Context, runner: "WorkflowRunner | None", run_id: str) -> "WorkflowRun":
    from surehand.shell.store.base import StoreError  # noqa: PLC0415 - as above

    try:
        run = None if runner is None else runner.get(run_id)
    except StoreError:
        _no_store(ctx)
    if run is None:
        click.echo("No run of a plan is known by this id. `surehand plan list` shows those that are.", err=True)
        ctx.exit(NOT_IN_ORDER)
    return run


def _no_store(ctx: click.Context) -> NoReturn:
    click.echo("Error: the file of plans cannot be used. Run surehand doctor.", err=True)
    ctx.exit(NOT_IN_ORDER)


def _print_faults(faults: list[tuple[str, str]], sentence: str, *, as_json: bool) -> None:
    from surehand.shell.output import print_json  # noqa: PLC0415 - as above

    if as_json:
        print_json({"faults": [{"path": path, "problem": problem} for path, problem in faults], "error": sentence})
    elif faults:
        for path, problem in faults:
            click.echo(f"{path or 'as a whole'}: {problem}")
    else:
        click.echo(sentence or "The plan is in order.")


def _tell(ctx: click.Context, told: "WorkflowRun | RunRefused", plan: str | None, *, as_json: bool) -> None:
    """Print the answer and leave with its exit code."""
    from surehand.core.orchestration.report import plan_result  # noqa: PLC0415 - as above
    from surehand.core.wire import to_wire  # noqa: PLC0415 - as above
    from surehand.shell.output import STYLES, make_console, print_json  # noqa: PLC0415 - as above

    result = plan_result(told, plan)
    if as_json:
        print_json(to_wire(result))
        ctx.exit(EXIT_CODES[result.outcome])
    console = make_console()
    console.print(f"[bold {STYLES[result.outcome]}]{result.outcome.value}[/]  {_state(result.status, result.refused)}")
    console.print(result.what_happened)
    console.print(result.next_action)
    facts = [("run", result.plan_run_id), ("plan", result.plan), ("step", result.step)]
    facts.append(("record changed", result.record_changed.value))
    facts += [(f"input {problem.input}", problem.problem.value) for problem in result.input_problems]
    for name, value in facts:
        if value is not None:
            console.print(f"  {name:15} {value}")
    if result.refused in _ABOUT_THE_PLAN:
        console.print("`surehand plan check` says what is wrong with the plan, place by place.")
    for step in result.steps:
        failure = "  ".join(("", *filter(None, (step.failure and step.failure.value, step.code))))
        console.print(f"  [{STYLES[step.outcome]}]{step.outcome.value:18}[/] {step.step}{failure}  {step.run_id or ''}")
    ctx.exit(EXIT_CODES[result.outcome])


def _state(status: object, refused: object) -> str:
    return str(getattr(status or refused, "value", ""))
