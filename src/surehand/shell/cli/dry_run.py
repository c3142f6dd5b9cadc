"""``surehand run --dry-run``: which checks would refuse a run now, and what to do about each.

Laws of this module:

- Nothing is started, reserved or recorded: the same gate is asked that every run is asked before.
- It asks about a workflow as it would be served, or about the one in a folder, under the same settings.
"""

from pathlib import Path

import click
from attrs import evolve

from surehand.core.modes import ROWS, Start
from surehand.core.overview import WorkflowOverview, opaque_id
from surehand.core.workflow.manifest import BundleProblem
from surehand.shell.assembly import build_service
from surehand.shell.cli.app import NOT_IN_ORDER
from surehand.shell.cli.bundle import EXPLAINED as REFUSED
from surehand.shell.cli.run import served_here
from surehand.shell.config import BundleArguments, settings
from surehand.shell.output import print_json
from surehand.shell.policies import EXPLAINED


def explain(workflow: str, said: BundleArguments, runs_dir: str | None, *, as_json: bool) -> int:
    """Print what would refuse a run of the workflow of this name, or of the one in this folder; the exit code."""
    path = Path(workflow).absolute()
    is_folder = path.is_dir()
    chosen = settings(runs_dir, bundles=evolve(said, folder=path.parent) if is_folder else said)
    row = ROWS[Start.SANDBOX if chosen.bundles is None else Start.PRODUCTION]
    service = build_service(chosen, row)
    try:
        found = service.overview(opaque_id(path.name) if is_folder else workflow)
        served = [card.name for card in service.list_workflows()]
    finally:
        service.close()
    if as_json:
        print_json(_told(found))
    else:
        _print(found, served)
    return 0 if found is not None and found.ready else NOT_IN_ORDER


def _told(found: WorkflowOverview | None) -> dict[str, object]:
    if found is None:
        return {"would_run": False, "problem": "unknown_workflow", "failed_checks": []}
    problem = {} if found.problem is None else {"problem": found.problem}
    return {"would_run": found.ready, **problem, "failed_checks": [check.value for check in found.failed_checks]}


def _print(found: WorkflowOverview | None, served: list[str]) -> None:
    if found is None:
        click.echo("would not run: no workflow of this name is served here")
        click.echo(served_here(served))
    elif found.problem is not None:
        click.echo(f"would not run: it cannot be served ({found.problem}){_reason(found.problem)}")
    elif found.ready:
        click.echo(f"would run: {found.name}, version {(found.digest or '')[:12]}")
    else:
        click.echo(f"would not run: {found.name}, version {(found.digest or '')[:12]}")
        for check in found.failed_checks:
            click.echo(f"  {check.value}: {EXPLAINED[check]}")


def _reason(problem: str) -> str:
    return next((f": {REFUSED[each]}" for each in BundleProblem if each.value == problem), "")
