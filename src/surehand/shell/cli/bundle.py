"""``surehand bundle``: verify a bundle's folder, seal it, tell what it does, and compare two.

Laws of this module:

- A folder that is refused is refused by one code; what stands in it is not repeated.
- Telling and comparing judge the folder first: what is told is what would run.
- The key of encrypted files comes from a file or from the environment, never from an argument.
"""

from pathlib import Path
from typing import NoReturn

import click
from attrs import evolve

from surehand.core.workflow.manifest import BundleProblem
from surehand.shell.bundles import KEY_VARIABLE, BundleFolder, BundleRefusedError, bundle_key, load_bundle, seal_bundle
from surehand.shell.cli.app import IN_EVERY_BUNDLE, NOT_IN_ORDER, json_option, key_file_option
from surehand.shell.cli.help import Group
from surehand.shell.config import BundleArguments, BundleSettings, Settings, settings
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, machine_key
from surehand.shell.output import print_json, yes_no

#: What each refusal means, and what to do about it.
EXPLAINED = {
    BundleProblem.NOT_A_FOLDER: "there is no folder of this name",
    BundleProblem.SYMBOLIC_LINK: "a symbolic link stands in it or in its place: copy what it points to",
    BundleProblem.UNREADABLE: "the file system refuses",
    BundleProblem.TOO_LARGE: "a file is larger than such a file can be",
    BundleProblem.MANIFEST_MISSING: "it has no manifest: surehand bundle seal makes one, once you have looked at it",
    BundleProblem.MANIFEST_DAMAGED: "its manifest was changed or cut short",
    BundleProblem.MANIFEST_NEWER: "its manifest was written by a newer version: update Surehand",
    BundleProblem.FILE_MISSING: "a file is missing",
    BundleProblem.FILE_UNKNOWN: "something lies in it that does not belong there",
    BundleProblem.FILE_CHANGED: "a file was changed since the manifest was written: seal it again, if you changed it",
    BundleProblem.KEY_MISSING: f"it is encrypted: give --key-file or {KEY_VARIABLE}",
    BundleProblem.KEY_DOES_NOT_OPEN: "the key is another one, or a file is damaged",
    BundleProblem.WORKFLOW_NEWER: "its workflow was written by a newer version: update Surehand",
    BundleProblem.UNKNOWN_MEMBER: "its workflow has a member that is not known",
    BundleProblem.NOT_A_WORKFLOW: "its workflow is not one that can run",
    BundleProblem.DIGEST_DIFFERS: "its workflow is not the one that the manifest was written for",
    BundleProblem.SEAL_BROKEN: "this machine did not make the seal that stands in its name",
}

EPILOG = """\b
Examples:
  surehand bundle verify orders/add_order
  surehand bundle show orders/add_order
  surehand bundle diff orders/add_order orders/add_order.new
"""

VERIFY_EPILOG = """\b
Examples:
  surehand bundle verify orders/add_order
  surehand bundle verify orders/add_order --key-file ~/.bundle-key --json

\b
Exit codes:
  0  accepted
  1  refused
  2  bad usage
"""

SEAL_EPILOG = """\b
Examples:
  surehand bundle seal orders/add_order                            after its card was written
  surehand bundle seal orders/add_order --key-file ~/.bundle-key   encrypts its files too
  surehand bundle seal orders/add_order --key-file ~/.bundle-key --plain
"""

SHOW_EPILOG = """\b
Examples:
  surehand bundle show orders/add_order
  surehand bundle show orders/add_order --json
"""

DIFF_EPILOG = """\b
Examples:
  surehand bundle diff orders/add_order orders/add_order.new

\b
Exit codes:
  0  the same workflow
  1  refused, or not the same
  2  bad usage
"""


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Verify, seal, show and compare the folders of workflows."""


@command.command("verify", epilog=VERIFY_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path))
@key_file_option
@json_option
def verify(folder: Path, key_file: Path | None, as_json: bool) -> None:
    """Judge every byte of the bundle in FOLDER."""
    found = load_or_leave(folder, key_file, as_json=as_json)
    if as_json:
        print_json({"accepted": True, **_facts(found)})
        return
    click.echo(f"accepted   {found.bundle.workflow}")
    for name, fact in _facts(found).items():
        click.echo(f"  {name:10} {yes_no(fact) if isinstance(fact, bool) else fact}")


@command.command("seal", epilog=SEAL_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="Leave the files readable; the key only opens them.")
@key_file_option
@json_option
@click.pass_context
def seal(ctx: click.Context, folder: Path, plain: bool, key_file: Path | None, as_json: bool) -> None:
    """Take what is in FOLDER now for its content, and sign that.

    The seal is this machine's. With a key all files are encrypted. The digest stays what it was as long as the workflow
    does, so that a new card or another key asks for no new admission.
    """
    _, chosen = chosen_settings(BundleArguments(key_file=key_file))
    try:
        found = seal_bundle(folder, machine_key(), key=bundle_key(chosen.key_file), plain=plain)
    except BundleRefusedError as error:
        _refused(folder, error, as_json=as_json)
    except (DamagedKeyError, UnsafeFileError, OSError):
        click.echo("Error: this machine's signing key cannot be used; nothing was sealed.", err=True)
        ctx.exit(NOT_IN_ORDER)
    if as_json:
        print_json({"sealed": True, **_facts(found)})
        return
    click.echo(f"sealed     {found.bundle.workflow}")
    click.echo(f"  digest     {found.digest}")
    click.echo(f"  encrypted  {yes_no(found.encrypted)}")


@command.command("show", epilog=SHOW_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path))
@key_file_option
@json_option
def show(folder: Path, key_file: Path | None, as_json: bool) -> None:
    """Tell step by step what the bundle in FOLDER does."""
    found = load_or_leave(folder, key_file, as_json=as_json)
    if as_json:
        from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which text does without

        print_json({**_facts(found), "workflow": to_wire(found.bundle)})
        return
    print_bundle(found)


@command.command("diff", epilog=DIFF_EPILOG)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@key_file_option
@json_option
@click.pass_context
def diff(ctx: click.Context, first: Path, second: Path, key_file: Path | None, as_json: bool) -> None:
    """Tell what SECOND does otherwise than FIRST, both of them bundles."""
    from surehand.core.workflow.describe import differences  # noqa: PLC0415 - after the arguments were understood

    before, after = (load_or_leave(folder, key_file, as_json=as_json) for folder in (first, second))
    found = differences(before.bundle, after.bundle)
    if as_json:
        rows = [{"place": each.place, "before": each.before, "after": each.after} for each in found]
        print_json({"same": not found, "differences": rows})
    elif not found:
        click.echo("They do the same.")
    for each in () if as_json else found:
        click.echo(each.place)
        for mark, told in (("-", each.before), ("+", each.after)):
            if told is not None:
                click.echo(f"  {mark} {told}")
    ctx.exit(NOT_IN_ORDER if found else 0)


def chosen_settings(said: BundleArguments, runs_dir: str | None = None) -> tuple[Settings, BundleSettings]:
    """The settings for one bundle, as the server has them: arguments before the settings file."""
    chosen = settings(runs_dir, bundles=evolve(said, folder="."))
    if chosen.bundles is None:
        raise AssertionError("a folder was named")
    return chosen, chosen.bundles


def load_or_leave(folder: Path, key_file: Path | None, *, as_json: bool = False) -> BundleFolder:
    """The bundle in the folder; a folder that is refused ends the command."""
    _, chosen = chosen_settings(BundleArguments(key_file=key_file))
    try:
        return load_bundle(folder, key=bundle_key(chosen.key_file))
    except BundleRefusedError as error:
        _refused(folder, error, as_json=as_json)
    except DamagedKeyError:
        click.echo("Error: this machine's signing key is damaged; no seal can be judged.", err=True)
        raise SystemExit(NOT_IN_ORDER) from None


def print_bundle(found: BundleFolder) -> None:
    """Print step by step what a bundle does."""
    from surehand.core.workflow.describe import describe, quoted  # noqa: PLC0415 - only for people

    click.echo(f"{found.bundle.workflow}  {quoted(found.bundle.title)}")
    click.echo(f"digest {found.digest}")
    for section in describe(found.bundle):
        click.echo(f"\n{section.title}")
        for line in section.lines:
            click.echo(f"  {line}")


def _refused(folder: Path, error: BundleRefusedError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"accepted": False, "code": error.code.value})
    else:
        click.echo(f"Error: {folder} is refused as a bundle ({error.code.value}): {_why(folder, error)}.", err=True)
    raise SystemExit(NOT_IN_ORDER)


def _why(folder: Path, error: BundleRefusedError) -> str:
    if not (folder / IN_EVERY_BUNDLE).exists() and any(folder.glob(f"*/{IN_EVERY_BUNDLE}")):
        return "it is a folder of bundles; name one of those in it"
    return EXPLAINED[error.code]


def _facts(found: BundleFolder) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": found.bundle.workflow,
        "digest": found.digest,
        "encrypted": found.encrypted,
        "seal": found.seal.value,
    }
    if found.card_warning is not None:
        facts["card"] = found.card_warning.value
    return facts
