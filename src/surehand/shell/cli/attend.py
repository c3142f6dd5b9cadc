"""``surehand attend``: the runs that stopped for a person, and what the person decides about them.

Laws of this module:

- Deciding is a person's act: without a terminal on both sides it is refused, and nothing of it can be an argument.
- What was typed and seen, and the codes of Continue and Skip, are shown at a terminal and never in JSON. A picture is
  written into a file for whoever asks at a terminal.
- A decision is only kept here. The process that holds the window carries it out, and its receipt says what happened.
"""

import sys
from base64 import b64decode
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from surehand.core.attention.console import WINDOW_LIMITS
from surehand.core.attention.decision import DecisionRequest, DecisionStatus, Door, LogLine, Receipt
from surehand.core.attention.form import action_words
from surehand.core.attention.pause import IN_WINDOW, Action, AttentionItem, AttentionPage
from surehand.core.outcome.reasons import Outcome
from surehand.core.wire import to_wire
from surehand.shell.cli.app import EXIT_CODES, NOT_IN_ORDER, json_option, runs_dir_option
from surehand.shell.cli.help import Group
from surehand.shell.config import settings
from surehand.shell.files import UnsafeFileError, write_durably
from surehand.shell.identity import DamagedKeyError, new_token
from surehand.shell.output import make_console, print_json
from surehand.shell.store.base import StoreError

if TYPE_CHECKING:
    from rich.console import Console

    from surehand.core.attention.evidence import LocalEvidence, Value
    from surehand.shell.attended.desk import AttendedDesk

LIST_EPILOG: Final = """\b
Examples:
  surehand attend list
  surehand attend list --json
"""

SHOW_EPILOG: Final = """\b
Examples:
  surehand attend show att_0123456789abcdef01234567
  surehand attend show att_0123456789abcdef01234567 --frame stopped.png
"""

LOG_EPILOG: Final = """\b
Examples:
  surehand attend log
  surehand attend log --limit 5 --json
"""

_EXAMPLE: Final = """\b
Examples:
  surehand attend {action} att_0123456789abcdef01234567
"""

DECIDE_EPILOG: Final = f"""{_EXAMPLE}
\b
Exit codes:
  0  decided, and carried out where there was something to do
  1  refused, or the run is not known
  2  bad usage
  3  the run did not go on, and still waits
  4  the run went on, and a save may have gone through
  6  not carried out yet
"""

#: What is said of an item that nobody can do anything about any more.
NOT_WAITING: Final = "This run does not wait for a person any more."

_CODES: Final[dict[DecisionStatus, int]] = {
    DecisionStatus.PREPARED: EXIT_CODES[Outcome.RUNNING],
    DecisionStatus.DELIVERY_STARTED: EXIT_CODES[Outcome.RUNNING],
    DecisionStatus.COMPLETED: 0,
    DecisionStatus.HALTED: EXIT_CODES[Outcome.NEEDS_REVIEW],
    DecisionStatus.REFUSED: NOT_IN_ORDER,
    DecisionStatus.DELIVERY_UNCERTAIN: EXIT_CODES[Outcome.NOT_SURE_IF_SAVED],
    DecisionStatus.REJECTED: 0,
    DecisionStatus.NEEDS_DEMONSTRATION: 0,
    DecisionStatus.ESCALATED: 0,
    DecisionStatus.RECONCILED: 0,
}

_SUMMARIES: Final[dict[Action, str]] = {
    Action.CONTINUE: "Go on with ITEM after you did its step.\n\nYou did it in the window of the app, without saving.",
    Action.SKIP: "Go on with ITEM without its step.\n\nOnly one that the workflow declares optional can be left out.",
    Action.REJECT: "End ITEM for good.\n\nNothing more is sent to the app, and the agent is told not to try again.",
    Action.TEACH: "Ask for a corrective demonstration.\n\nThis is noted; ITEM still waits.",
    Action.ESCALATE: "Ask for somebody else's help with ITEM.\n\nThis is noted; ITEM still waits.",
    Action.RECONCILE: "Read the record of ITEM again.\n\nIt is said what the record holds; nothing is written.",
}


@click.group(cls=Group, epilog=LIST_EPILOG + "  surehand attend show att_0123456789abcdef01234567\n")
def command() -> None:
    """Show the runs that stopped for a person, and decide about them."""


@command.command("list", epilog=LIST_EPILOG)
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Stopped runs on one page.")
@click.option("--after", metavar="ITEM", help="The item that the previous page ended with.")
@runs_dir_option
@json_option
@click.pass_context
def list_items(ctx: click.Context, limit: int, after: str | None, runs_dir: str | None, as_json: bool) -> None:
    """List what waits for a person, the newest first."""
    page = AttentionPage(items=())
    if settings(runs_dir).state_folder.exists():
        with opened_desk(ctx, runs_dir) as desk:
            page = desk.items(limit, after)
    if as_json:
        print_json(to_wire(page))
        return
    if not page.items:
        click.echo("No run waits for a person.")
    console = make_console()
    for item in page.items:
        actions = ", ".join(action.value for action in item.allowed_actions)
        console.print(f"{item.id}  {item.created_at or '-'}  {item.status.value:12}{item.headline}")
        console.print(f"    {item.run_id}  {actions or '-'}")
    if page.next is not None:
        click.echo(f"More: surehand attend list --after {page.next}")


@command.command("log", epilog=LOG_EPILOG)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Lines.")
@runs_dir_option
@json_option
@click.pass_context
def show_log(ctx: click.Context, limit: int, runs_dir: str | None, as_json: bool) -> None:
    """List what was decided and what was refused, the newest first.

    Each line says by whom and through which door.
    """
    lines: tuple[LogLine, ...] = ()
    if settings(runs_dir).state_folder.exists():
        with opened_desk(ctx, runs_dir) as desk:
            lines = desk.log(limit)
    if as_json:
        print_json({"lines": [to_wire(line) for line in lines]})
        return
    if not lines:
        click.echo("Nothing was decided.")
    console = make_console()
    for line in lines:
        reason = "" if line.reason is None else f"  {line.reason.value}"
        console.print(
            f"{line.at or '-'}  {line.action.value:10}{line.status.value:20}{line.operator or '-':12}"
            f"{line.door.value:10}{line.attention_id or '-'}{reason}"
        )


@command.command("show", epilog=SHOW_EPILOG)
@click.argument("item_id", metavar="ITEM")
@click.option(
    "--frame",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the picture of the stopped page into this file, if one was kept.",
)
@runs_dir_option
@json_option
@click.pass_context
def show_item(ctx: click.Context, item_id: str, frame: Path | None, runs_dir: str | None, as_json: bool) -> None:
    """Show what ITEM asks.

    At a terminal also what is to be typed, where, and the codes for a form of an agent's client.
    """
    if frame is not None and not _at_terminal(stdout=not as_json):
        leave(ctx, "Error: the picture is for the person at this computer. Run this command at a terminal.")
    with opened_desk(ctx, runs_dir) as desk:
        item = _item(ctx, desk, item_id)
        if frame is not None:
            _write_frame(ctx, frame, desk.evidence(item.id))
        if as_json:
            print_json(to_wire(item))
            return
        _print_item(make_console(), item)
        if _at_terminal():
            _print_protected(desk, item)


@command.command("open", epilog=_EXAMPLE.format(action="open"))
@click.argument("item_id", metavar="ITEM")
@runs_dir_option
@json_option
@click.pass_context
def open_item(ctx: click.Context, item_id: str, runs_dir: str | None, as_json: bool) -> None:
    """Have the app opened again for ITEM.

    A server that attends, or `surehand console --attend`, opens it in a window, up to the step at which the run
    stopped. Nothing is saved.
    """
    with opened_desk(ctx, runs_dir) as desk:
        asked = desk.ask_opening(_item(ctx, desk, item_id).id)
    if not asked:
        leave(ctx, NOT_WAITING)
    if as_json:
        print_json({"id": item_id, "asked": True})
        return
    click.echo("It is opened as soon as a process that attends is free. `surehand attend show` says when.")


@command.command("renew", epilog=_EXAMPLE.format(action="renew"))
@click.argument("item_id", metavar="ITEM")
@runs_dir_option
@json_option
@click.pass_context
def renew_item(ctx: click.Context, item_id: str, runs_dir: str | None, as_json: bool) -> None:
    """Give ITEM another day to be decided."""
    with opened_desk(ctx, runs_dir) as desk:
        item = desk.renew(_item(ctx, desk, item_id).id)
    if item is None:
        leave(ctx, NOT_WAITING)
    if as_json:
        print_json(to_wire(item))
        return
    click.echo(f"It can be decided until {item.expires_at}.")


def _decision(action: Action) -> click.Command:
    """The command of one action."""

    @click.argument("item_id", metavar="ITEM")
    @click.option(
        "--wait",
        "seconds",
        type=click.IntRange(0, 600),
        default=60,
        show_default=True,
        help="Seconds to wait for its end.",
    )
    @runs_dir_option
    @json_option
    @click.pass_context
    def decide(ctx: click.Context, item_id: str, seconds: int, runs_dir: str | None, as_json: bool) -> None:
        if not _at_terminal(stdout=not as_json):
            leave(ctx, "Error: deciding is a person's act. Run this command at a terminal.")
        with opened_desk(ctx, runs_dir) as desk:
            receipt = _decide(desk, _item(ctx, desk, item_id), action, seconds)
        _print_receipt(receipt, as_json=as_json)
        ctx.exit(_CODES[receipt.status])

    named = command.command(action.value, help=_SUMMARIES[action], epilog=DECIDE_EPILOG.format(action=action.value))
    return named(decide)


for _action in Action:
    _decision(_action)


def _decide(desk: "AttendedDesk", item: AttentionItem, action: Action, seconds: int) -> Receipt:
    """Ask at the terminal, unless the decision is refused anyway; take it, and wait for its end."""
    request = DecisionRequest(item.id, item.capability_digest or "", f"terminal-{new_token()}", confirm=True)
    foreseen = desk.foresee(request, action, Door.TERMINAL)
    if foreseen is not None:
        return foreseen
    _print_item(make_console(stderr=True), item)
    click.confirm(action_words(action), abort=True, err=True)
    return desk.decide(request, action, Door.TERMINAL, wait=seconds)


@contextmanager
def opened_desk(ctx: click.Context, runs_dir: str | None) -> "Generator[AttendedDesk]":
    """Where stopped runs are decided; leaves with a sentence where that cannot be opened or asked."""
    from surehand.shell.attended.desk import AttendedDesk, StoreWithoutAttentionError  # noqa: PLC0415 - as above

    folder = settings(runs_dir).state_folder
    if not folder.exists():
        leave(ctx, "No run is known here.")
    try:
        with closing(AttendedDesk.open(folder)) as desk:
            yield desk
    except StoreError as error:
        leave(ctx, f"Error: the run store cannot be used ({error.check.value}). Run surehand doctor.")
    except StoreWithoutAttentionError:
        leave(ctx, "Error: the run store of this folder is of a kind that keeps no decisions.")
    except (DamagedKeyError, UnsafeFileError, OSError):
        leave(ctx, "Error: the state folder refuses. Run surehand doctor.")


def leave(ctx: click.Context, sentence: str) -> NoReturn:
    """End the command with a sentence, as not in order."""
    click.echo(sentence, err=True)
    ctx.exit(NOT_IN_ORDER)


def _item(ctx: click.Context, desk: "AttendedDesk", item_id: str) -> AttentionItem:
    item = desk.item(item_id)
    if item is None:
        leave(ctx, "No stopped run is known by this id. `surehand attend list` shows those that wait.")
    return item


def _at_terminal(*, stdout: bool = True) -> bool:
    return sys.stdin.isatty() and (sys.stdout if stdout else sys.stderr).isatty()


def _print_item(console: "Console", item: AttentionItem) -> None:
    console.print(f"[bold]{item.headline}[/]  {item.status.value}")
    console.print(item.question)
    for name, value in _facts(item):
        console.print(f"  {name:15} {value}")


def _facts(item: AttentionItem) -> list[tuple[str, str]]:
    return [
        ("item", item.id),
        ("run", item.run_id),
        ("reason", item.category.value),
        ("save", item.delivery_state.value),
        ("window", "open" if item.has_window else "not open"),
        ("until", item.expires_at or "-"),
        ("allowed", ", ".join(action.value for action in item.allowed_actions) or "nothing"),
    ]


def _print_protected(desk: "AttendedDesk", item: AttentionItem) -> None:
    """What only the person at this computer may see."""
    console, evidence = make_console(), desk.evidence(item.id)
    if item.has_window and IN_WINDOW & {*item.allowed_actions}:
        console.print(WINDOW_LIMITS)
    if evidence is not None:
        console.print("Only at this computer:")
        for name, text in (("control", f"{evidence.control} {evidence.role}".strip()), ("address", evidence.address)):
            console.print(f"  {name:15} {_printable(text) or '-'}", markup=False)
        _print_values("Intended record:", evidence.identity)
        _print_values("Still to be typed:", evidence.values)
    for action in item.allowed_actions:
        if action in IN_WINDOW:
            console.print(
                f"  code            {desk.code(item.id, action)}  to {action.value} by a form of an agent's client"
            )


def _print_values(title: str, values: "tuple[Value, ...]") -> None:
    console = make_console()
    if values:
        console.print(title)
    for value in values:
        console.print(f"  {_printable(value.name):15} {value.text!r}", markup=False)


def _printable(text: str) -> str:
    """What stood in the app, harmless to a terminal."""
    return text if text.isprintable() else repr(text)


def _write_frame(ctx: click.Context, path: Path, evidence: "LocalEvidence | None") -> None:
    if evidence is None or evidence.frame is None:
        leave(ctx, "No picture was kept of this page.")
    try:
        write_durably(path, b64decode(evidence.frame))
    except OSError:
        leave(ctx, "The file of the picture cannot be written.")


def _print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        print_json(to_wire(receipt))
        return
    console = make_console()
    console.print(f"[bold]{receipt.status.value}[/]")
    console.print(receipt.what_happened)
    told: list[tuple[str, str]] = []
    if receipt.reason is not None:
        told.append(("reason", receipt.reason.value))
    if receipt.finding is not None:
        told.append(("record", receipt.finding.value))
    for name, value in told:
        console.print(f"  {name:15} {value}")
