"""``surehand certify``: does a workflow satisfy a policy?

Laws of this module:

- Every check is told, also those that nobody asked for; what fails is told with its place in the bundle.
- A record is kept only when nothing fails.
"""

from pathlib import Path

import click

from surehand.core.workflow.describe import quoted
from surehand.core.workflow.policy import DEFAULT_POLICY, Judgment, Policy, policy_digest, where
from surehand.shell.admission import Registry, judged, origins_of
from surehand.shell.assembly import origin_of
from surehand.shell.cli.app import (
    NOT_IN_ORDER,
    json_option,
    key_file_option,
    policy_option,
    runs_dir_option,
    url_option,
)
from surehand.shell.cli.bundle import chosen_settings, load_or_leave
from surehand.shell.config import BundleArguments
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError
from surehand.shell.output import print_json
from surehand.shell.policies import ASKED_OF_BUNDLES, EXPLAINED, load_policy

EPILOG = f"""\b
Examples:
  surehand certify orders/add_order                          under the policy {DEFAULT_POLICY}
  surehand certify orders/add_order --policy clinical-write
  surehand certify orders/add_order --policy our-clinic.toml --json

\b
Exit codes:
  0  certified
  1  a check fails, or the bundle is refused
  2  bad usage
"""


@click.command(epilog=EPILOG)
@click.argument("bundle", type=click.Path(path_type=Path))
@policy_option
@url_option
@key_file_option
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    ctx: click.Context,
    bundle: Path,
    policy: str | None,
    url: tuple[str, ...],
    key_file: Path | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Check the bundle in the folder BUNDLE against a policy.

    A signed record is kept when it satisfies it.
    """
    settings, said = chosen_settings(BundleArguments(policy=policy, apps=url), runs_dir)
    chosen = load_policy(said.policy)
    folder = load_or_leave(bundle, key_file, as_json=as_json)
    origin = origin_of(folder, said.apps)
    judgments = judged(folder, chosen, origin)
    failed = [each.check for each in judgments if each.fails]
    if not failed:
        try:
            Registry(settings.state_folder).certify(folder, chosen, origin)
        except (DamagedKeyError, UnsafeFileError, OSError):
            click.echo("Error: the record cannot be signed or kept here; nothing is certified.", err=True)
            ctx.exit(NOT_IN_ORDER)
    places = {check: where(check, folder.bundle, origins_of(folder, origin)) for check in failed}
    if as_json:
        rows = [_row(each, places.get(each.check, ())) for each in judgments]
        print_json({"certified": not failed, "digest": folder.digest, **_named(chosen), "checks": rows})
    else:
        for each in judgments:
            _print(each, places.get(each.check, ()))
        verdict = "not certified" if failed else "certified"
        click.echo(f"{verdict}: {folder.bundle.workflow}, under {chosen.name} version {chosen.version}")
    ctx.exit(NOT_IN_ORDER if failed else 0)


def _named(policy: Policy) -> dict[str, object]:
    return {"policy": policy.name, "version": policy.version, "policy_digest": policy_digest(policy)}


def _row(judgment: Judgment, places: tuple[str, ...]) -> dict[str, object]:
    return {"check": judgment.check.value, "state": _word(judgment), "where": list(places)}


def _print(judgment: Judgment, places: tuple[str, ...]) -> None:
    click.echo(f"{_word(judgment):9}  {ASKED_OF_BUNDLES[judgment.check]}")
    for place in places:
        click.echo(f"           {quoted(place)}")
    if judgment.fails:
        click.echo(f"           {judgment.check.value}: {EXPLAINED[judgment.check]}")


def _word(judgment: Judgment) -> str:
    if judgment.fails:
        return "failed"
    return "passed" if judgment.holds else "not asked"
