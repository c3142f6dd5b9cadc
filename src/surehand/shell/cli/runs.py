"""``surehand runs``: what ran, how one run stands, and what need not be kept for ever.

Laws of this module:

- A run is shown by its contract result; inputs were never stored and cannot be shown.
- What a run's owner said too late is shown to a person and stands beside the result, never in it.
- Listing writes nothing. Showing one run settles it if its owner is gone, as every question about a run does.
"""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn, Unpack

import click

from surehand.core.attention.decision import Finding
from surehand.core.outcome.result import EngineName, Mode, RunResult
from surehand.core.request.keys import NotARequestIdError, RequestId, request_key
from surehand.core.request.record import RunRecord
from surehand.shell.cli.app import EXIT_CODES, EXIT_TABLE, NOT_IN_ORDER, REQUEST_ID_RULE, json_option, runs_dir_option
from surehand.shell.cli.help import Group
from surehand.shell.cli.pruning import Asked, Prunable, prune_and_tell, prune_options
from surehand.shell.config import settings
from surehand.shell.execution import kept_result
from surehand.shell.output import STYLES, make_console, print_json, print_result
from surehand.shell.retention import Pruned, prune
from surehand.shell.store import open_restored, open_store
from surehand.shell.store.base import StoreError

EPILOG = """\b
Examples:
  surehand runs list
  surehand runs show run_0123456789abcdef0123456789abcdef
"""

LIST_EPILOG = """\b
Examples:
  surehand runs list
  surehand runs list --limit 5 --json
  surehand runs list --before run_0123456789abcdef0123456789abcdef
  surehand runs list --request-id referral-17
"""

SHOW_EPILOG = f"""\b
Examples:
  surehand runs show run_0123456789abcdef0123456789abcdef
  surehand runs show run_0123456789abcdef0123456789abcdef --json
  surehand runs show run_0123456789abcdef0123456789abcdef --html > run.html

{EXIT_TABLE}
"""

PRUNE_EPILOG = """\b
Examples:
  surehand runs prune --older-than 90 --dry-run
  surehand runs prune --older-than 90 --json
"""

ACCEPT_EPILOG = """\b
Examples:
  surehand runs accept-restored
  surehand runs accept-restored --yes --json
"""


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """List runs, show one, tidy up, or take a restored store over."""


@command.command("list", epilog=LIST_EPILOG)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs on one page.")
@click.option("--before", metavar="RUN_ID", help="The run that the previous page ended with.")
@click.option("--request-id", metavar="ID", help="Only the attempts of this request id; only its hash is looked up.")
@runs_dir_option
@json_option
@click.pass_context
def list_runs(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ctx: click.Context, limit: int, before: str | None, request_id: str | None, runs_dir: str | None, as_json: bool
) -> None:
    """List runs, the newest first."""
    folder, key = settings(runs_dir).state_folder, None if request_id is None else _key_of(request_id)
    records: tuple[RunRecord, ...] = ()
    if folder.exists():
        try:
            records = _read(folder, limit, before, key)
        except StoreError as error:
            _no_store(ctx, error)
    more = records[-1].run_id if records and key is None and len(records) == limit else None
    if as_json:
        page: dict[str, object] = {"runs": [_row(record) for record in records]}
        if more:
            page["next_before"] = more
        print_json(page)
    else:
        _print_lines(records)
        if more:
            click.echo(f"More: surehand runs list --before {more}")


@command.command("show", epilog=SHOW_EPILOG)
@click.argument("run_id")
@click.option("--html", "as_html", is_flag=True, help="Print a page of what the run did, step by step.")
@runs_dir_option
@json_option
@click.pass_context
def show_run(ctx: click.Context, run_id: str, as_html: bool, runs_dir: str | None, as_json: bool) -> None:
    """Show how the run RUN_ID stands.

    What was entered and what was read is kept nowhere, so no form of this shows it.
    """
    if as_html and as_json:
        raise click.UsageError("give --html or --json, not both")
    from surehand.shell.api import Surehand  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.service import UnknownRunError  # noqa: PLC0415 - as above

    with Surehand.open(runs_dir) as hand:
        try:
            result = hand.get_run(run_id)
            report = hand.get_run_report(run_id) if as_html else None
        except UnknownRunError:
            click.echo("No run is known by this run id. `surehand runs list` shows those that are.", err=True)
            ctx.exit(NOT_IN_ORDER)
        except StoreError as error:
            _no_store(ctx, error)
    folder = settings(runs_dir).state_folder
    if report is not None:
        from surehand.shell.run_page import run_page  # noqa: PLC0415 - only for a page
        from surehand.shell.traces import TRACES, read_trace  # noqa: PLC0415 - as above

        click.echo(run_page(result, report, read_trace(folder / TRACES, run_id), _beside(folder, run_id)[0]))
    else:
        print_result(result, as_json=as_json)
        _print_beside(folder, run_id, beside_json=as_json)
    ctx.exit(EXIT_CODES[result.outcome])


@command.command("prune", epilog=PRUNE_EPILOG)
@prune_options
@click.pass_context
def prune_store(ctx: click.Context, /, **asked: Unpack[Asked]) -> None:
    """Drop what need not be kept of old runs.

    Records of refused calls and decisions, journals, traces, and the evidence of stopped runs are dropped. Runs are
    never dropped: their request ids are answered for ever, with the same result. A refused call reserved nothing; once
    its record is dropped its run id is not known any more. The evidence of a run that still waits for a person stays,
    and so does what was refused about it.
    """
    prune_and_tell(ctx, asked, _RUNS)


def _drop(folder: Path, before: int, dry_run: bool) -> Pruned:
    with closing(open_store(folder, read_only=dry_run)) as store:
        return prune(store, folder, before, dry_run=dry_run)


_RUNS: Final = Prunable(
    name="run store",
    place="",
    words={
        "refusals": "Records of refused calls",
        "journals": "Journals",
        "traces": "Traces",
        "evidence": "Evidence of stopped runs",
        "refused_decisions": "Refused decisions",
    },
    drop=_drop,
)


@command.command("accept-restored", epilog=ACCEPT_EPILOG)
@click.option("--yes", is_flag=True, help="Do not ask.")
@runs_dir_option
@json_option
@click.pass_context
def accept_restored_store(ctx: click.Context, yes: bool, runs_dir: str | None, as_json: bool) -> None:
    """Go on with a run store that was copied or restored.

    What ran after the backup was made is not in it. No request that is known here, by the store or by the notes beside
    it, runs again: it is answered as it was, or not_sure_if_saved. A request of that time that neither of them knows
    would run again, so look into the app before such a request is repeated. Stop every program that uses the store
    first.
    """
    from surehand.shell.clock import SYSTEM_CLOCK  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.store.restored import accept_restored  # noqa: PLC0415 - as above

    if not yes:
        click.confirm("Go on with the run store as it is now?", abort=True, err=True)
    try:
        with closing(open_restored(settings(runs_dir).state_folder)) as store:
            accepted = accept_restored(store, SYSTEM_CLOCK, Mode.SANDBOX)
    except StoreError as error:
        click.echo(f"Error: the run store cannot be taken over ({error.check.value}).", err=True)
        ctx.exit(NOT_IN_ORDER)
    if as_json:
        print_json({"epoch": accepted.epoch, "closed": accepted.known, "lost": accepted.lost})
    else:
        click.echo(f"Epoch {accepted.epoch} begins.")
        click.echo(f"Requests that could have run again and are closed now: {accepted.known}.")
        click.echo(f"Requests that the store had lost and that never run again: {accepted.lost}.")


def _no_store(ctx: click.Context, error: StoreError) -> NoReturn:
    click.echo(f"Error: the run store cannot be read ({error.check.value}). Run surehand doctor.", err=True)
    ctx.exit(NOT_IN_ORDER)


def _print_beside(folder: Path, run_id: str, *, beside_json: bool) -> None:
    """What the run's owner said too late, and what was read again, if either is there."""
    late, finding = _beside(folder, run_id)
    if late is not None:
        click.echo(
            f"The process of this run reported after the run was ended: {late.reason.value}, "
            f"record changed {late.record_changed.value}. The answer stays as it is; look at the record in the app.",
            err=beside_json,
        )
    if finding is not None:
        click.echo(
            f"The record was read again after the run: {finding.value}. The answer stays as it is.", err=beside_json
        )


def _beside(folder: Path, run_id: str) -> tuple[RunResult | None, Finding | None]:
    """What stands beside the answer of a run; a store that cannot be read now has said so already."""
    from surehand.shell.attended.answers import read_again  # noqa: PLC0415 - after the arguments were understood

    try:
        with closing(open_store(folder, read_only=True)) as store:
            return store.late_report(run_id), read_again(store, run_id)
    except StoreError:
        return None, None


def _read(folder: Path, limit: int, before: str | None, key: str | None) -> tuple[RunRecord, ...]:
    """One page of records.

    Raises:
        StoreError: The store cannot be read.
    """
    store = open_store(folder, read_only=True)
    try:
        return store.recent(limit, before) if key is None else store.attempts(key)[::-1]
    finally:
        store.close()


def _key_of(request_id: str) -> str:
    try:
        return request_key(RequestId.parse(request_id))
    except NotARequestIdError:
        raise click.BadParameter(REQUEST_ID_RULE, param_hint="--request-id") from None


def _row(record: RunRecord) -> dict[str, object]:
    """One run of the listing: what the record says by itself."""
    result = kept_result(record, EngineName.NONE, Mode.SANDBOX)
    row: dict[str, object] = {
        "run_id": record.run_id,
        "created_at": _instant(record.created_at),
        "attempt": record.attempt,
        "phase": record.phase.value,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
    }
    return row if record.workflow is None else {**row, "workflow": record.workflow}


def _print_lines(records: tuple[RunRecord, ...]) -> None:
    if not records:
        click.echo("No runs.")
    console = make_console()
    for record in records:
        result = kept_result(record, EngineName.NONE, Mode.SANDBOX)
        outcome = f"[{STYLES[result.outcome]}]{result.outcome.value:18}[/]"
        workflow = record.workflow or "-"
        console.print(f"{record.run_id}  {_instant(record.created_at)}  {outcome}{result.reason.value:24}{workflow}")


def _instant(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
