"""What the command line prints about runs: fixed copy and closed codes, as text or as JSON.

Laws of this module:

- JSON is ASCII on standard output, so that it survives every locale and every pipe.
- Text is for people and may change; JSON is the contract's wire form.
- Colour is used on a terminal only, and never when NO_COLOR is set.
"""

import json
from typing import TYPE_CHECKING

import click

from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console

#: How each outcome is coloured.
STYLES = {
    Outcome.DONE: "green",
    Outcome.NEEDS_REVIEW: "yellow",
    Outcome.NOT_SURE_IF_SAVED: "red",
    Outcome.DID_NOT_RUN: "blue",
    Outcome.RUNNING: "cyan",
}


def print_json(value: object) -> None:
    """One JSON value, indented, on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False))


def print_result(result: RunResult, *, as_json: bool) -> None:
    """One result, as the contract's JSON or for a person."""
    if as_json:
        from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which text does without

        print_json(to_wire(result))
        return
    console = make_console()
    console.print(f"[bold {STYLES[result.outcome]}]{result.outcome.value}[/]  {result.reason.value}")
    console.print(result.what_happened)
    console.print(result.next_action)
    for name, value in _details(result):
        console.print(f"  {name:15} {value}")


def _details(result: RunResult) -> list[tuple[str, str]]:
    details = [
        ("run", result.run_id),
        ("record changed", result.record_changed.value),
        ("safe to retry", yes_no(result.safe_to_retry)),
        ("proof", result.proof.value),
        ("checked", result.checked_how.value),
        ("engine", result.engine.value),
        ("attempt", str(result.attempt)),
        ("replayed", yes_no(result.replayed)),
    ]
    if not result.record_saved:
        details.append(("stored", "no, this answer could not be recorded"))
    details += [(f"input {problem.input}", problem.problem.value) for problem in result.input_problems]
    return details + [("failed check", check.value) for check in result.failed_checks]


def yes_no(value: bool) -> str:
    """The word for a person."""
    return "yes" if value else "no"


def make_console(*, stderr: bool = False) -> "Console":
    """A console that colours on a terminal only and prints text as it is."""
    from rich.console import Console  # noqa: PLC0415 - slow to load

    return Console(stderr=stderr, highlight=False, emoji=False, soft_wrap=True)
