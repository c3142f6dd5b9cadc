"""Records, compiles and runs a workflow on each app, and compares every answer with what the app's own store holds.

Laws of this module:

- An answer is judged by the store alone: ``done`` is true when exactly the intended record is there, "nothing was
  written" when the store is as it was.
- However a request is repeated under its id, no second record comes of it.

``python -m tests.apps.campaign [--app NAME ...] [--inputs N] [--faults] [--json FILE] [--table FILE ...]``
"""

import argparse
import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

sys.path.insert(0, str(Path(__file__).parents[1]))

from apps.apps import App, AppName, Saved, free_port, running
from apps.demonstration import Demonstration, Difference, Values, demonstration_of, difference
from apps.proxy import Fault, Proxy, standing_before
from apps.table import NO_FAULT, Row, Runs, tables
from apps.workflow import NotCompiledError, Sheet, compiled, inputs_for, install, record, sheet_of
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.core.wire import from_wire, to_wire
from surehand.shell.api import Surehand
from surehand.shell.config import BundleArguments, settings
from surehand.shell.sessions import SessionStore

#: Seconds that a run may take on a busy machine.
_WAIT_SECONDS: Final = 300


@frozen
class Rig:
    """An app with a workflow on it, ready to be run."""

    app: App
    proxy: Proxy
    sheet: Sheet
    demonstration: Demonstration
    surehand: Surehand
    workflow: str
    sessions: SessionStore
    session: str

    def run(self, values: Values, request_id: str) -> RunResult:
        """One call, waited for to its end."""
        return self.surehand.run_workflow(self.workflow, inputs_for(self.sheet, values), request_id, _WAIT_SECONDS)


@frozen
class Call:
    """One call: what was answered, what had changed in the store by then, and how many saves were on their way."""

    result: RunResult
    found: Difference
    saves: int


def broken_promises(first: Call, again: Call, right: bool) -> Iterator[str]:
    """What was promised and did not hold; ``right`` says whether exactly the intended record is there at the end."""
    if not right and Outcome.DONE in {first.result.outcome, again.result.outcome}:
        yield "a false done"
    if first.found.size and first.result.record_changed is RecordChanged.NO:
        yield "a false nothing was written"
    if first.saves > 1 or again.saves > int(first.result.safe_to_retry):
        yield "a second write"


def _call(rig: Rig, place: int, request_id: str, before: list[Saved], fault: Fault | None) -> Call:
    rig.proxy.spoil(fault)
    result = rig.run(rig.demonstration.INPUTS[place], request_id)
    return Call(result, difference(before, rig.app.records()), rig.proxy.saves)


def _run(rig: Rig, place: int, fault: Fault | None) -> Row:
    name = fault.value if fault else NO_FAULT
    request_id = f"{rig.app.name.value}-{name}-{place}"
    before, began = rig.app.records(), time.monotonic()
    first = _call(rig, place, request_id, before, fault)
    seconds = time.monotonic() - began
    again = _call(rig, place, request_id, before, None)
    right = again.found.is_exactly(rig.demonstration.expected(rig.demonstration.INPUTS[place]))
    size = again.found.size
    return Row(
        app=rig.app.name.value,
        number=place + 1,
        fault=name,
        outcome=first.result.outcome.value,
        reason=first.result.reason.value,
        again=f"{again.result.outcome.value}/{again.result.reason.value}",
        stored="as intended" if right else "nothing" if not size else f"otherwise ({size})",
        seconds=round(seconds, 1),
        date=datetime.now(UTC).date().isoformat(),
        broken=tuple(broken_promises(first, again, right)),
    )


def _rig(name: AppName, stack: ExitStack) -> Rig:
    """Start an app behind a proxy, show it the task, and make the workflow."""
    sheet, demonstration, port = sheet_of(name), demonstration_of(name), free_port()
    app = stack.enter_context(running(name, public_origin=f"http://127.0.0.1:{port}"))
    proxy = stack.enter_context(standing_before(app.port, port, sheet.save, sheet.sign_in))
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="surehand-campaign-")))
    os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
    if sheet.database is not None:
        _connect(folder / "config" / "surehand", app.state / sheet.database)
    recordings, session = asyncio.run(record(app, demonstration, sheet.shown))
    bundle = compiled(recordings, sheet)
    bundles = BundleArguments(folder=folder / "workflows", profile="standard", policy="permissive")
    sessions = SessionStore(settings(folder / "runs").state_folder)
    sessions.save(app.origin, session)
    install(bundle, folder / "workflows" / name.value, sessions.state_folder)
    surehand = stack.enter_context(Surehand.open(folder / "runs", bundles=bundles))
    return Rig(app, proxy, sheet, demonstration, surehand, bundle.workflow, sessions, session)


def _connect(folder: Path, database: Path) -> None:
    """Do what an operator does to let workflows read a database."""
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f"[databases]\napp = {json.dumps(str(database))}\n", encoding="utf-8")


def campaign(name: AppName, inputs: int, faults: Sequence[Fault | None]) -> Iterator[Row]:
    """Every run of one app, with the sets of inputs that were not shown; each fault begins with the same store.

    Raises:
        NotCompiledError: The demonstration did not become a workflow.
    """
    with ExitStack() as stack:
        rig = _rig(name, stack)
        kept = Path(stack.enter_context(TemporaryDirectory(prefix="surehand-store-")))
        rig.app.keep(kept)
        places = [place for place in range(len(rig.demonstration.INPUTS)) if place not in rig.sheet.shown]
        for fault in faults:
            for place in places[:inputs]:
                yield _run(rig, place, fault)
            rig.app.restore(kept)
            rig.sessions.save(rig.app.origin, rig.session)


def _print(row: Row) -> None:
    verdict = "; ".join(row.broken) or "-"
    sys.stdout.write(
        f"{row.app:12} {row.number:2} {row.fault:18} {row.outcome:18} {row.reason:24} again {row.again:40}"
        f" store: {row.stored:16} {row.seconds:6.1f} s  {verdict}\n"
    )
    sys.stdout.flush()


def _keep(rows: Sequence[Row], file: Path | None) -> None:
    """Write all runs so far: a campaign takes hours, and what was run counts wherever it ends."""
    if file is not None:
        file.write_text(json.dumps(to_wire(Runs(tuple(rows))), indent=1), encoding="utf-8")


def _read(file: Path) -> Sequence[Row]:
    return from_wire(json.loads(file.read_text(encoding="utf-8")), Runs).unwrap().runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign.

    Args:
        arguments: The command line; that of the process when absent.

    Returns:
        The exit code: 0 when no promise was broken and every app was run.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.apps.campaign", description=__doc__)
    parser.add_argument("--app", action="append", choices=[name.value for name in AppName])
    parser.add_argument("--inputs", type=int, default=10)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--json", type=Path, help="write every run into this file")
    parser.add_argument("--table", type=Path, nargs="+", help="run nothing: print the tables of files of runs")
    given = parser.parse_args(arguments)
    if given.table:
        sys.stdout.write(tables([row for file in given.table for row in _read(file)]))
        return 0
    rows: list[Row] = []
    stopped = 0
    for name in map(AppName, given.app or [name.value for name in AppName]):
        try:
            for row in campaign(name, given.inputs, [*Fault] if given.faults else [None]):
                rows.append(row)
                _print(row)
                _keep(rows, given.json)
        except Exception as error:  # noqa: BLE001 - one app that does not work must not hide the others
            stopped += 1
            why = str(error) if isinstance(error, NotCompiledError) else traceback.format_exc()
            sys.stdout.write(f"{name.value}: no workflow\n{why}\n")
    sys.stdout.write(f"\n{tables(rows)}")
    return 1 if stopped or any(row.broken for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
