"""``surehand serve``: the MCP server over standard input and output.

Laws of this module:

- Nothing that the client's first answer does without is loaded before it.
- Only the protocol is written to standard output; what a person should know goes to standard error.
- A start whose flags do not go together is refused before anything is served.
- Who attends sees the browser, and its windows are kept for them; what acts in their apps has to be written down too.
"""

import os
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from attrs import evolve

from surehand.core.modes import Flags, Row, StartRefusal, ToolName, choose
from surehand.core.outcome.result import Mode
from surehand.shell.cli.app import bundle_options, engine_option, runs_dir_option
from surehand.shell.cli.help import Command
from surehand.shell.config import (
    CONFIG_VARIABLE,
    DEFAULT_POLICY,
    MOST_PARALLEL_PER_APP,
    BundleArguments,
    Settings,
    origin_text,
    refuse_without_bundles,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from surehand.core.orchestration.task import TaskRunner
    from surehand.shell.attended.notify import Notifier
    from surehand.shell.mcp.guard import Wire
    from surehand.shell.mcp.plans import ClientGoals
    from surehand.shell.mcp.tools import Tool
    from surehand.shell.service import Service

EPILOG: Final = """\b
Examples:
  surehand serve
  surehand serve --sandbox-engine simulated
  surehand serve --bundles workflows
  surehand serve --bundles workflows --mode production
  surehand serve --attended
  surehand serve --bundles workflows --mode attended --notify desktop
  surehand serve --bundles workflows --mode production --plans plans
  surehand serve --bundles workflows --mode production --plans plans --goals-by-client-model names
  surehand serve --authoring --url https://app.example
  claude mcp add surehand -- surehand serve --bundles /path/to/workflows --mode production
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    help="What is served.  [default: the sandbox, or with --bundles your workflows, read-only]",
)
@click.option("--tutorial", is_flag=True, help="The sandbox, in an older word.")
@click.option("--attended", is_flag=True, help="The sandbox, in windows, with its stopped runs for you to answer.")
@click.option("--allow-run", is_flag=True, help="With --bundles the same as --mode production.")
@click.option("--allow-attended-actions", is_flag=True, help="With --allow-run the same as --mode attended.")
@click.option("--frames", is_flag=True, help="Keep a picture of each page on which a run stops, encrypted, for you.")
@click.option(
    "--confirm-by",
    type=click.Choice(["code", "form"]),
    default="code",
    show_default=True,
    help="What Continue and Skip need of a client: a form with the code that this computer shows, or a form alone.",
)
@click.option(
    "--notify",
    metavar="desktop|COMMAND",
    help="Tell of runs that stop: on the desktop, or by a command, which reads the count and a sentence.",
)
@click.option("--authoring", is_flag=True, help="Serve the recording tools for the app at --url; this allows no runs.")
@click.option(
    "--authoring-screens",
    type=click.Choice(["scrubbed", "unscrubbed"]),
    help="Let the recording tools share the screen.",
)
@bundle_options
@click.option(
    "--plans",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder of plans: several workflows in one order, each step at most once.",
)
@click.option(
    "--goals-by-client-model",
    type=click.Choice(["names", "pages"]),
    help="Let the client's model work on goals of plans, shown what fields and buttons outside of lists are called, or "
    "whole pages. Nothing is saved, apart from what an app changes upon a GET.",
)
@click.option("--goals-url", metavar="ORIGIN", help="The app of goals.  [default: the one app of what is served]")
@click.option(
    "--parallel-per-app",
    type=click.IntRange(1, MOST_PARALLEL_PER_APP),
    default=1,
    show_default=True,
    help="Runs against one app at the same time.",
)
@click.option("--allow-url-override", is_flag=True, help="Let a call say where the app is.")
@click.option(
    "--allow-protected-export",
    is_flag=True,
    help="Let reading tools show what stands in the bundles, to a client that you trust with it.",
)
@click.option(
    "--allow-synthetic-recorded-defaults",
    is_flag=True,
    help="Let the sandbox fill in synthetic values for inputs that a call leaves out.",
)
@engine_option("--sandbox-engine")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The settings file.  [default: SUREHAND_CONFIG, or the user's]",
)
@runs_dir_option
@click.pass_obj
def command(  # noqa: PLR0913 - one parameter for each option
    wire: "Wire | None",
    *,
    mode: str | None,
    tutorial: bool,
    attended: bool,
    allow_run: bool,
    allow_attended_actions: bool,
    frames: bool,
    confirm_by: str,
    notify: str | None,
    authoring: bool,
    authoring_screens: str | None,
    bundles: str | None,
    profile: str | None,
    policy: str | None,
    key_file: Path | None,
    url: tuple[str, ...],
    plans: Path | None,
    goals_by_client_model: str | None,
    goals_url: str | None,
    parallel_per_app: int,
    allow_url_override: bool,
    allow_protected_export: bool,
    allow_synthetic_recorded_defaults: bool,
    sandbox_engine: str | None,
    config: Path | None,
    runs_dir: str | None,
) -> None:
    """Serve MCP clients over standard input and output.

    A client starts this itself, once `surehand install` or its own command put it into the client's configuration.
    Everything can be set by arguments, since clients start servers with a bare environment. The server ends when its
    input ends; a run that has not reached the save is stopped first.
    """
    said = BundleArguments(
        folder=bundles,
        profile=profile,
        policy=policy,
        key_file=key_file,
        apps=url,
        parallel_per_app=parallel_per_app,
        url_override=allow_url_override,
        protected_export=allow_protected_export,
        recording=authoring,
    )
    flags = Flags(
        mode=None if mode is None else Mode(mode),
        tutorial=tutorial,
        attended=attended,
        allow_run=allow_run,
        allow_attended_actions=allow_attended_actions,
        plans=plans is not None,
        goals=goals_by_client_model is not None,
        goals_url=goals_url is not None,
        authoring=authoring,
        authoring_screens=authoring_screens is not None,
        allow_url_override=allow_url_override,
        allow_protected_export=allow_protected_export,
        allow_synthetic_recorded_defaults=allow_synthetic_recorded_defaults,
    )
    environ = {**os.environ, **({} if config is None else {CONFIG_VARIABLE: str(config)})}
    chosen = settings(runs_dir, sandbox_engine, bundles=_of_ones_own(flags, said), environ=environ)
    row = choose(evolve(flags, bundles=chosen.bundles is not None, qualified_config=chosen.continue_and_skip))
    if isinstance(row, StartRefusal):
        raise click.UsageError(row.value)
    chosen = evolve(
        chosen,
        sandbox_defaults=allow_synthetic_recorded_defaults,
        attended=row.decides and row.runs,
        headed=row.decides and row.runs,
        frames=frames,
    )
    makers = [partial(_attention_tools, chosen, row, confirm_by)]
    if plans is not None:
        makers.append(partial(_plan_tools, plans, chosen, goals_by_client_model, _origin(goals_url)))
    if authoring:
        makers.append(partial(_recording_tools, chosen, _pinned(url), policy, authoring_screens))
    _say_at_the_start(wire, opens_no_app=authoring and _pinned(url) is None)
    notifier = None if notify is None else _notifier(chosen.state_folder, notify)

    from surehand.shell.mcp.server import main  # noqa: PLC0415 - after the arguments were understood

    more = partial(_tools_of, makers)
    main(partial(_build, chosen, row, notifier), row=row, more_tools=more, wire=wire)


def _of_ones_own(flags: Flags, said: BundleArguments) -> BundleArguments | None:
    """What was said about workflows of one's own; ``None`` where the sandbox was asked for, whatever the file says."""
    if said.folder is not None or not (flags.tutorial or flags.attended or flags.mode is Mode.SANDBOX):
        return said
    refuse_without_bundles(said)
    return None


def _say_at_the_start(wire: "Wire | None", *, opens_no_app: bool) -> None:
    """What somebody should know who started it by hand, or reads what a client keeps of standard error."""
    from surehand.shell.mcp.server import say  # noqa: PLC0415 - as above

    if opens_no_app:
        say("no app is named, so the recording tools open none: add --url ORIGIN")
    if wire is not None and os.isatty(wire.incoming):
        say("waiting for an MCP client; clients start this themselves, see surehand install --help. Ctrl+C ends it")


def _origin(url: str | None) -> str | None:
    return None if url is None else origin_text(url)


def _pinned(urls: tuple[str, ...]) -> str | None:
    """The app that recording tools open: the last one that is named without the origin of a bundle."""
    return next((origin_text(each) for each in reversed(urls) if "=" not in each), None)


def _tools_of(makers: "Sequence[Callable[[], Iterable[Tool]]]") -> "tuple[Tool, ...]":
    return tuple(chain.from_iterable(make() for make in makers))


def _notifier(folder: Path, said: str) -> "Notifier":
    from surehand.shell.attended.notify import Notifier, shower, waiting_in  # noqa: PLC0415 - few servers tell

    return Notifier(waiting_in(folder), shower(said))


def _attention_tools(chosen: Settings, row: Row, confirm_by: str) -> "tuple[Tool, ...]":
    from surehand.shell.mcp.attention import AttentionTools, ConfirmBy, attention_in  # noqa: PLC0415 - as below

    return AttentionTools(
        row, partial(attention_in, chosen.state_folder, ConfirmBy(confirm_by)), ConfirmBy(confirm_by)
    ).tools()


def _plan_tools(plans: Path, chosen: Settings, goals: str | None, app: str | None) -> "tuple[Tool, ...]":
    from surehand.shell.mcp.plans import PlanTools  # noqa: PLC0415 - few servers have plans

    by_model = None if goals is None else _goals(chosen, goals, app)
    return PlanTools(plans, chosen.state_folder, by_model).tools()


def _goals(chosen: Settings, shown: str, app: str | None) -> "ClientGoals":
    from surehand.core.orchestration.prompt import Shown  # noqa: PLC0415 - few servers have goals
    from surehand.shell.mcp.plans import ClientGoals  # noqa: PLC0415 - as above
    from surehand.shell.mcp.questions import Questions  # noqa: PLC0415 - as above
    from surehand.shell.orchestration.models import ModelPlanner  # noqa: PLC0415 - as above

    questions = Questions()
    planner = ModelPlanner(questions.ask, shown=Shown(shown))

    def runner(service: "Service") -> "TaskRunner | None":
        try:
            from surehand.shell.orchestration.places import task_runner  # noqa: PLC0415 - Playwright is optional
        except ImportError:
            return None
        return task_runner(service, chosen, planner, app)

    return ClientGoals(questions, runner)


def _recording_tools(
    chosen: Settings, pinned: str | None, policy: str | None, screens: str | None
) -> "tuple[Tool, ...]":
    from surehand.shell.authoring.desk import AuthoringDesk, Screens, Studio  # noqa: PLC0415 - after the client's first answer
    from surehand.shell.authoring.tools import authoring_tools  # noqa: PLC0415 - as above

    shown = None if screens is None else Screens(screens)
    studio = Studio(state_folder=chosen.state_folder, pinned=pinned, screens=shown, policy=policy or DEFAULT_POLICY)
    served = chosen.bundles
    if served is not None:
        studio = evolve(
            studio, bundles=served.folder, policy=served.policy, profile=served.profile, key_file=served.key_file
        )
    return authoring_tools(AuthoringDesk(studio))


def _build(chosen: Settings, row: Row, notifier: "Notifier | None") -> "Service":
    from surehand.shell.assembly import build_service  # noqa: PLC0415 - after the client's first answer
    from surehand.shell.mcp.server import say  # noqa: PLC0415 - as above

    service = build_service(chosen, row)
    refused = len(service.unavailable())
    if refused:
        say(f"folders of bundles that are not served: {refused}; surehand bundle verify names the reason")
    if row.bundles and not service.list_workflows():
        say("no workflow is served: the folder of bundles holds none that can be")
    if ToolName.LIST_WORKFLOWS in row.tools:
        service.warm()
    if notifier is not None:
        notifier.start()
    return service
