"""``surehand admit``: a person lets a workflow run, for a time; shows what was admitted; takes it back.

Laws of this module:

- Admitting is a person's act: without a terminal on both sides it is refused, and nothing of it can be an argument.
- The person sees the whole workflow first, and types its name.
- Taking an admission back asks for nobody: it can only stop runs.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from surehand.core.admission.record import LONGEST_DAYS, USUAL_DAYS
from surehand.core.workflow.policy import InForce, Profile
from surehand.shell.admission import Listed, NotInOrderError, Proposal, Registry
from surehand.shell.assembly import origin_of
from surehand.shell.cli.app import (
    NOT_IN_ORDER,
    json_option,
    key_file_option,
    policy_option,
    runs_dir_option,
    url_option,
)
from surehand.shell.cli.bundle import chosen_settings, load_or_leave, print_bundle
from surehand.shell.config import BundleArguments
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, UnknownAccountError, os_account
from surehand.shell.output import print_json
from surehand.shell.policies import EXPLAINED, load_policy

EPILOG = """\b
Examples:
  surehand admit orders/add_order
  surehand admit orders/add_order --policy clinical-write --profile regulated --days 30
  surehand admit orders/add_order --revoke
  surehand admit --list

\b
Exit codes:
  0  admitted, revoked or listed
  1  not admitted
  2  bad usage
"""


@click.command(epilog=EPILOG)
@click.argument("bundle", type=click.Path(path_type=Path), required=False)
@click.option(
    "--profile",
    type=click.Choice([Profile.STANDARD.value, Profile.REGULATED.value]),
    default=Profile.STANDARD.value,
    show_default=True,
    help="The most serious profile under which it may run.",
)
@click.option(
    "--days", type=click.IntRange(1, LONGEST_DAYS), default=USUAL_DAYS, show_default=True, help="For how long."
)
@click.option("--revoke", is_flag=True, help="Take every admission of this version back.")
@click.option("--list", "only_list", is_flag=True, help="List what was admitted on this machine.")
@policy_option
@url_option
@key_file_option
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ctx: click.Context,
    bundle: Path | None,
    profile: str,
    days: int,
    revoke: bool,
    only_list: bool,
    policy: str | None,
    url: tuple[str, ...],
    key_file: Path | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Let the bundle in the folder BUNDLE run on this machine.

    Shows what it does and asks for its name. It has to be certified under the same policy before.
    """
    settings, said = chosen_settings(BundleArguments(policy=policy, apps=url), runs_dir)
    registry = Registry(settings.state_folder)
    if only_list and bundle is None and not revoke:
        _print_list(registry.admissions(), as_json=as_json)
        return
    if only_list or bundle is None:
        raise click.UsageError("name the folder of a bundle, or give --list alone")
    folder = load_or_leave(bundle, key_file, as_json=as_json)
    try:
        if revoke:
            _print_revoked(registry.revoke(folder.digest), as_json=as_json)
            return
        policy_in_force, origin = load_policy(said.policy), origin_of(folder, said.apps)
        proposal = Proposal(folder=folder, policy=policy_in_force, profile=Profile(profile), days=days, origin=origin)
        _ask(ctx, registry, proposal)
    except (DamagedKeyError, UnsafeFileError, UnknownAccountError, OSError):
        click.echo("Error: the record cannot be signed or kept here; nothing was changed.", err=True)
        ctx.exit(NOT_IN_ORDER)


def _ask(ctx: click.Context, registry: Registry, proposal: Proposal) -> None:
    """Show, ask, and keep the record."""
    name = proposal.folder.bundle.workflow
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Error: admitting is a person's act. Run this command at a terminal.", err=True)
        ctx.exit(NOT_IN_ORDER)
    print_bundle(proposal.folder)
    failed = registry.checks_before(proposal)
    if failed:
        _print_failed(NotInOrderError(failed))
        ctx.exit(NOT_IN_ORDER)
    _print_terms(proposal)
    if click.prompt("Type the workflow's name to admit it", default="", show_default=False) != name:
        click.echo("That is not its name; nothing was admitted.")
        ctx.exit(NOT_IN_ORDER)
    record = registry.admit(proposal).record
    click.echo(f"admitted until {_time(record.expires_at)}: {name}")


def _print_failed(refused: NotInOrderError) -> None:
    click.echo("\nIt cannot be admitted yet:")
    for check in refused.checks:
        click.echo(f"  {check.value}: {EXPLAINED[check]}")


def _print_terms(proposal: Proposal) -> None:
    click.echo("\nTo be admitted")
    click.echo(f"  policy     {proposal.policy.name} version {proposal.policy.version}")
    click.echo(f"  profile    {proposal.profile.value}")
    click.echo(f"  days       {proposal.days}")
    click.echo(f"  by         {os_account()}")
    click.echo("Agents may then enter records with it, without asking again.\n")


def _print_revoked(count: int, *, as_json: bool) -> None:
    print_json({"revoked": count}) if as_json else click.echo(f"revoked: {count}")


def _print_list(admissions: tuple[Listed, ...], *, as_json: bool) -> None:
    rows = [_row(each) for each in admissions]
    if as_json:
        print_json({"admissions": rows})
        return
    if not rows:
        click.echo("Nothing was admitted here.")
    for row in rows:
        click.echo("  ".join(str(member) for member in row.values()))


def _row(listed: Listed) -> dict[str, object]:
    standing = "in_force" if isinstance(listed.standing, InForce) else listed.standing.value
    if listed.record is None:
        return {"standing": standing}
    record = listed.record
    return {
        "standing": standing,
        "workflow": record.workflow,
        "digest": record.bundle[:12],
        "profile": record.profile.value,
        "until": _time(record.expires_at),
        "by": record.account,
    }


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
