"""``surehand run``: one entry from the shell.

Laws of this module:

- Values come from a file or from standard input, never from the arguments: every user of the machine can see those,
  and the shell keeps them.
- What cannot be read as inputs is refused before anything is recorded.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import RunResult, as_replayed, is_final
from surehand.core.request.keys import NotARequestIdError
from surehand.core.strict_json import strict_json
from surehand.shell.cli.app import (
    EXIT_CODES,
    EXIT_TABLE,
    REQUEST_ID_RULE,
    bundle_options,
    engine_option,
    json_option,
    runs_dir_option,
)
from surehand.shell.cli.help import Command
from surehand.shell.config import BundleArguments
from surehand.shell.output import print_result
from surehand.shell.reading import UnreadableError, no_larger, reading

if TYPE_CHECKING:
    from surehand.shell.api import Surehand

#: Bytes of inputs that are read at most.
MAX_BYTES: Final = 4 * 1024 * 1024

#: Seconds in which a run that was told to stop comes to its end: stopped before the save, or checked after it.
END_SECONDS: Final = 60

#: What stands in values that are given as arguments, and hardly in a path.
_OF_VALUES: Final = frozenset('{}"=\n')

EPILOG: Final = f"""\b
Examples:
  surehand run add_triage_note --inputs entry.json --request-id referral-17
  compose-entry | surehand run add_triage_note --inputs - --request-id referral-17 --json
  surehand run add_order --bundles workflows --inputs order.json --request-id order-4
  surehand run workflows/add_order --dry-run

{EXIT_TABLE}
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("workflow")
@click.option("--inputs", "source", metavar="FILE|-", help="A JSON object of texts by input name; needed to run.")
@click.option(
    "--request-id", metavar="ID", help="Your id of this entry: one per entry, the same for every retry; needed to run."
)
@click.option("--dry-run", is_flag=True, help="Only say which checks would refuse a run; WORKFLOW may be a folder.")
@click.option(
    "--wait", type=click.IntRange(0, 600), default=60, show_default=True, help="Seconds until the run is told to stop."
)
@click.option("--headed", is_flag=True, help="Show the browser.")
@bundle_options
@engine_option("--sandbox-engine")
@runs_dir_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913 - one parameter for each option
    ctx: click.Context,
    *,
    workflow: str,
    source: str | None,
    request_id: str | None,
    dry_run: bool,
    wait: int,
    headed: bool,
    bundles: str | None,
    profile: str | None,
    policy: str | None,
    key_file: Path | None,
    url: tuple[str, ...],
    sandbox_engine: str | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Enter something once into the app of WORKFLOW.

    The inputs are read from a file or from standard input. After the wait, or Ctrl+C, the run is told to stop:
    it stops if it has not reached the save, and is checked to its end if it has.
    """
    said = BundleArguments(folder=bundles, profile=profile, policy=policy, key_file=key_file, apps=url)
    if dry_run:
        from surehand.shell.cli.dry_run import explain  # noqa: PLC0415 - only where it is asked for

        ctx.exit(explain(workflow, said, runs_dir, as_json=as_json))
    if source is None or request_id is None:
        raise click.UsageError("a run needs --inputs and --request-id")
    if "/" in workflow:
        raise click.UsageError("a run names its workflow; name the folder in which that lies by --bundles")
    from surehand.shell.api import Surehand  # noqa: PLC0415 - after the arguments were understood

    inputs = read_inputs(source)
    with Surehand.open(runs_dir, sandbox_engine, bundles=said, headed=headed) as hand:
        try:
            result = _end_of(hand, hand.run_workflow(workflow, inputs, request_id, wait_seconds=0), wait)
        except NotARequestIdError:
            raise click.BadParameter(REQUEST_ID_RULE, param_hint="--request-id") from None
        served = [card.name for card in hand.list_workflows()]
    print_result(result, as_json=as_json)
    if result.reason is Reason.UNKNOWN_WORKFLOW and not as_json:
        click.echo(served_here(served))
    ctx.exit(EXIT_CODES[result.outcome])


def _end_of(hand: "Surehand", first: RunResult, wait: int) -> RunResult:
    """How the run ended, or, for a run of another process, how it stands when the wait is over or interrupted."""
    if is_final(first):
        return first
    try:
        result = hand.get_run(first.run_id, wait)
    except KeyboardInterrupt:
        result = first
    if first.replayed:
        return as_replayed(result)
    if not is_final(result):
        hand.cancel_run(first.run_id)
        result = hand.get_run(first.run_id, END_SECONDS)
    return result


def served_here(names: list[str]) -> str:
    """Which workflows a call can name."""
    return f"Served here: {', '.join(names) or 'none'}."


def read_inputs(source: str) -> dict[str, str]:
    """The inputs from a file, or from standard input for ``-``.

    Raises:
        click.BadParameter: They are no JSON object with each name once; the message repeats nothing of them.
    """
    try:
        with reading():
            return _object_in(_start_of(source))
    except UnreadableError as error:
        raise click.BadParameter(_told(source, error), param_hint="--inputs") from None


def _start_of(source: str) -> bytes:
    with sys.stdin.buffer if source == "-" else Path(source).open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _object_in(text: bytes) -> dict[str, str]:
    if not no_larger(text, MAX_BYTES).strip():
        raise UnreadableError("it is empty")
    inputs = strict_json(text.decode("utf-8-sig"))
    if not isinstance(inputs, dict):
        raise UnreadableError("it holds JSON, but no object")
    return cast("dict[str, str]", inputs)  # texts or not: the service judges each value by its declaration


def _told(source: str, error: UnreadableError) -> str:
    """What is wrong; a text that looks like values rather than like a path is not repeated."""
    if set(source) & _OF_VALUES and not os.path.lexists(source):
        return "it takes no values, which every user of this machine could see: name a file, or - for standard input"
    named = "standard input" if source == "-" else source
    return f"{named}: {error}; it takes a file with one JSON object of texts, or - for standard input"
