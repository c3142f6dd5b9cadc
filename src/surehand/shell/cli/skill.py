"""``surehand emit-skill``: writes an Agent Skill that tells agents how to call a workflow.

Laws of this module:

- The bundle is judged first. What is written beside its copy is made of its card alone.
- A folder that holds something is left as it is: a person may have written into it.
"""

from pathlib import Path

import click

from surehand.core.workflow.skill import BUNDLE_FOLDER, SKILL_FILE, Skill, skill_of
from surehand.shell.bundles import BundleFolder, BundleRefusedError, bundle_key, copy_bundle
from surehand.shell.cli.app import NOT_IN_ORDER, json_option, key_file_option
from surehand.shell.cli.bundle import load_or_leave
from surehand.shell.files import UnsafeFileError, private_folder, write_durably
from surehand.shell.output import print_json

EPILOG = """\b
Examples:
  surehand emit-skill workflows/add_order --out ~/.claude/skills
  surehand emit-skill workflows/add_order --out skills --include-bundle

\b
Exit codes:
  0  written
  1  refused
  2  bad usage
"""


@click.command(epilog=EPILOG)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where the skill's folder is made."
)
@click.option("--include-bundle", is_flag=True, help="Copy the workflow into the skill's folder; it is protected data.")
@key_file_option
@json_option
def command(bundle: Path, out: Path, include_bundle: bool, key_file: Path | None, as_json: bool) -> None:
    """Write an Agent Skill for the workflow in the folder BUNDLE.

    The skill says what the workflow is for, which inputs it takes and how its answers are read. It holds no step, no
    address and no value. An agent needs the server too: surehand serve --bundles.
    """
    found = load_or_leave(bundle, key_file, as_json=as_json)
    skill = skill_of(found.card, with_bundle=include_bundle)
    folder = out / skill.name
    try:
        _write(folder, skill, found if include_bundle else None, key_file)
    except BundleRefusedError as error:
        click.echo(f"Error: the bundle cannot be copied ({error.code.value}); the skill was not written.", err=True)
        raise SystemExit(NOT_IN_ORDER) from None
    except (UnsafeFileError, OSError):
        click.echo(f"Error: the folder {skill.name} in --out holds something, or cannot be written.", err=True)
        raise SystemExit(NOT_IN_ORDER) from None
    if as_json:
        print_json({"skill": skill.name, "workflow": found.bundle.workflow, "file": str(folder / SKILL_FILE)})
        return
    click.echo(f"written    {folder / SKILL_FILE}")


def _write(folder: Path, skill: Skill, bundle: BundleFolder | None, key_file: Path | None) -> None:
    """Write the skill; the text comes last, and without it the folder is no skill."""
    private_folder(folder)
    if any(folder.iterdir()):
        raise UnsafeFileError("not empty")
    if bundle is not None:
        copy_bundle(bundle, folder / BUNDLE_FOLDER, key=bundle_key(key_file))
    write_durably(folder / SKILL_FILE, skill.text.encode())
