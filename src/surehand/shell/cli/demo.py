"""``surehand demo``: five runs in the training app, live.

Laws of this module:

- Each run is told when it has ended, and all of them once more in a table that claims no more than their results.
"""

from typing import TYPE_CHECKING

import click

from surehand.core.outcome.result import Proof
from surehand.shell.cli.app import NOT_IN_ORDER, engine_option, json_option, runs_dir_option
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import SandboxEngine, settings
from surehand.shell.output import STYLES, make_console, print_json, yes_no

if TYPE_CHECKING:
    from rich.console import Console

    from surehand.shell.api import Surehand
    from surehand.shell.demo import Shown

EPILOG = """\b
Examples:
  surehand demo
  surehand demo --headed            shows the browser
  surehand demo --engine simulated  opens no app

\b
Exit codes:
  0  every run ended as an honest one ends there
  1  one of them did not
  2  bad usage
"""


@click.command(epilog=EPILOG)
@click.option("--headed", is_flag=True, help="Show the browser; without one the demonstration is refused.")
@engine_option("--engine")
@runs_dir_option
@json_option
@click.pass_context
def command(ctx: click.Context, headed: bool, sandbox_engine: str | None, runs_dir: str | None, as_json: bool) -> None:
    """Run the five training scenarios and show how each ends.

    A synthetic clinic app is started on this machine; nothing else is touched.
    """
    from surehand.shell.api import Surehand  # noqa: PLC0415 - after the arguments were understood
    from surehand.shell.assembly import build_service  # noqa: PLC0415 - as above

    engine = SandboxEngine.BROWSER.value if headed and sandbox_engine is None else sandbox_engine
    with Surehand(build_service(settings(runs_dir, engine, headed=headed))) as hand:
        shown = _in_silence(hand) if as_json else _live(hand, make_console())
    ctx.exit(0 if all(each.as_expected for each in shown) else NOT_IN_ORDER)


def _in_silence(hand: "Surehand") -> list["Shown"]:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which text does without
    from surehand.shell.demo import show  # noqa: PLC0415 - loads the sandbox

    shown = list(show(hand, SYSTEM_CLOCK))
    rows = [
        {"case": each.case.name, "expected": each.case.reason.value, "result": to_wire(each.result)} for each in shown
    ]
    print_json({"as_expected": all(each.as_expected for each in shown), "runs": rows})
    return shown


def _live(hand: "Surehand", console: "Console") -> list["Shown"]:
    from surehand.shell.demo import scenarios, show  # noqa: PLC0415 - loads the sandbox

    shown: list[Shown] = []
    runs = show(hand, SYSTEM_CLOCK)
    for number, case in enumerate(scenarios(), 1):
        console.print(f"[bold]{number}. {case.name}[/]  {case.behavior}")
        with console.status("   running ..."):
            each = next(runs)
        shown.append(each)
        result = each.result
        console.print(
            f"   [{STYLES[result.outcome]}]{result.outcome.value}[/] {result.reason.value}, {each.seconds:.1f} s"
        )
        console.print(f"   {result.what_happened}\n")
    _print_table(console, shown)
    return shown


def _print_table(console: "Console", shown: list["Shown"]) -> None:
    from rich import box  # noqa: PLC0415 - slow to load
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(
        "scenario",
        "outcome",
        "reason",
        "changed",
        "retry",
        "ok",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for each in shown:
        result = each.result
        table.add_row(
            each.case.name,
            f"[{STYLES[result.outcome]}]{result.outcome.value}[/]",
            result.reason.value,
            result.record_changed.value,
            yes_no(result.safe_to_retry),
            yes_no(each.as_expected),
        )
    console.print(table)
    console.print(_caption(shown))


def _caption(shown: list["Shown"]) -> str:
    """Which engine ran, what the proof of a save is, and whether every run ended as an honest one does."""
    engines = ", ".join(sorted({each.result.engine.value for each in shown}))
    proofs = ", ".join(sorted({each.result.proof.value for each in shown if each.result.proof is not Proof.NONE}))
    right = sum(each.as_expected for each in shown)
    return (
        f"Engine: {engines}. Proof of what is done: {proofs or 'none'}. As an honest run ends: {right} of {len(shown)}."
    )
