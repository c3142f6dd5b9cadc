"""What a run costs in the ledger, against what the disk costs anyway, at several sizes of the ledger.

One run is a reservation, its start, the delivery boundary and its end: three flushed commits. The measure beside it is
the cheapest flush that the same disk offers in the same folder: 4 KiB written in place and ``fdatasync``. Both are
measured in turns, so that a noisy machine disturbs them alike; trust the ratios and not the milliseconds.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import NoReturn

from attrs import asdict, evolve, field, frozen

from surehand.core.outcome.evidence import (
    Approval,
    CheckLevel,
    Delivery,
    ExecutionOutcome,
    NoPause,
    Phase,
    ProcessFact,
    Report,
    RunObserved,
    TransactionOutcome,
)
from surehand.core.outcome.result import CallFacts, EngineName, Mode, RunResult, project
from surehand.core.request.gate import Replay, Start
from surehand.core.request.record import RunRecord, finished
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.store.base import RunStore, StoreUnavailableError
from surehand.shell.store.sqlite import LEDGER, SqliteStore
from surehand.shell.store.sqlite_rows import row_of

_OWNER = new_token()
_VERIFIED = RunObserved(
    ProcessFact.EXITED_CLEANLY,
    Report(
        TransactionOutcome.VERIFIED,
        ExecutionOutcome.VERIFIED,
        True,
        Delivery.SENT_ONCE,
        CheckLevel.SEPARATE_SESSION,
        CheckLevel.REOPENED,
    ),
    NoPause(),
    Approval.NOT_ASKED,
)


@frozen
class Figures:
    """Milliseconds at one size of the ledger, and the ratios that matter.

    ``run_in_flushes`` is the median run in raw flushes (3 would be the physical limit), ``above_flushes_ms`` what a
    run takes above three of them, ``growth`` the median run against that of the first size.
    """

    rows: int
    megabytes: float
    raw_flush_ms: float
    run_ms: float
    run_p99_ms: float
    run_in_flushes: float
    above_flushes_ms: float
    replay_ms: float
    load_ms: float
    page_ms: float
    open_ms: float
    growth: float


@frozen
class Ledger:
    """A ledger of one size, and the milliseconds that each act took on it."""

    rows: int
    store: RunStore
    folder: Path
    opened: float
    runs: list[float] = field(factory=list[float])
    replays: list[float] = field(factory=list[float])
    loads: list[float] = field(factory=list[float])
    pages: list[float] = field(factory=list[float])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[0, 100_000, 1_000_000], help="sizes of the ledger")
    parser.add_argument("--runs", type=int, default=300, help="runs measured at each size")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where the ledgers are made; it names the disk")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    parent = Path(tempfile.mkdtemp(prefix="surehand-bench-", dir=options.folder))
    try:
        figures = measure(parent, options.rows, options.runs)
    finally:
        shutil.rmtree(parent)
    if options.json:
        print(json.dumps([asdict(each) for each in figures], indent=2))
    else:
        print_table(figures)


def stop(_number: int, _frame: object) -> NoReturn:
    """End by an exception, so that the folder is removed."""
    sys.exit(1)


def measure(parent: Path, sizes: list[int], runs: int) -> list[Figures]:
    """Fill the ledgers, then measure raw flushes and every ledger in turns; the first tenth does not count."""
    ledgers = [filled(parent / str(number), rows) for number, rows in enumerate(sizes)]
    flushes: list[float] = []
    descriptor = os.open(parent / "raw", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(descriptor, bytes(1 << 20), 0)
    os.fsync(descriptor)
    for number in range(runs + runs // 10):
        flushes.append(timed(partial(flush, descriptor, number)))
        for ledger in ledgers:
            act(ledger)
    os.close(descriptor)
    flushed = median(flushes[runs // 10 :])
    first = median(ledgers[0].runs[runs // 10 :])
    return [sum_up(ledger, runs // 10, flushed, first) for ledger in ledgers]


def filled(folder: Path, rows: int) -> Ledger:
    """A ledger that holds so many finished runs."""
    SqliteStore.open(folder).close()
    fill(folder / LEDGER, rows)
    opened = timed(lambda: SqliteStore.open(folder).close())
    return Ledger(rows, SqliteStore.open(folder), folder, opened)


def act(ledger: Ledger) -> None:
    """One run, its replay, a look at it and a page of the list."""
    store, record = ledger.store, draft()
    ledger.runs.append(timed(partial(run, store, record)))
    ledger.replays.append(timed(partial(replay, store, record)))
    ledger.loads.append(timed(partial(store.load, record.run_id)))
    ledger.pages.append(timed(partial(store.recent, 20)))


def sum_up(ledger: Ledger, warm: int, flushed: float, first: float) -> Figures:
    """The figures of one ledger beside the median flush and the median run on the first ledger."""
    ledger.store.close()
    runs = ledger.runs[warm:]
    return Figures(
        rows=ledger.rows,
        megabytes=(ledger.folder / LEDGER).stat().st_size / 1e6,
        raw_flush_ms=flushed,
        run_ms=median(runs),
        run_p99_ms=quantiles(runs, n=100)[98],
        run_in_flushes=median(runs) / flushed,
        above_flushes_ms=median(runs) - 3 * flushed,
        replay_ms=median(ledger.replays[warm:]),
        load_ms=median(ledger.loads[warm:]),
        page_ms=median(ledger.pages[warm:]),
        open_ms=ledger.opened,
        growth=median(runs) / first,
    )


def fill(ledger: Path, rows: int) -> None:
    """Load finished runs in bulk, in a way in which no store would write them."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as link:
        link.execute("PRAGMA synchronous = OFF")
        link.execute("BEGIN")
        columns = ", ".join("?" * len(row_of(draft())))
        link.executemany(f"INSERT INTO runs SELECT NULL, {columns}", finished_rows(rows))
        link.execute("COMMIT")
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def finished_rows(rows: int) -> Iterator[tuple[object, ...]]:
    """Rows of finished runs, each with names of its own."""
    record = evolve(draft(), attempt=1)
    *fields, text = row_of(finished(record, end_of(record)))
    for _ in range(rows):
        name = new_run_id()
        yield name, secrets.token_hex(32), *fields[2:], str(text).replace(record.run_id, name)


def draft() -> RunRecord:
    """A call under a request id of its own."""
    return RunRecord(
        run_id=new_run_id(),
        request_key=secrets.token_hex(32),
        attempt=0,
        workflow="add_triage_note",
        fingerprint=secrets.token_hex(32),
        owner=_OWNER,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=int(time.time()),
    )


def end_of(record: RunRecord) -> RunResult:
    """The result of a verified run."""
    facts = CallFacts(
        run_id=record.run_id,
        mode=Mode.SANDBOX,
        engine=EngineName.BROWSER,
        attempt=record.attempt,
        checked_at="2030-01-01T00:00:00Z",
    )
    return project(_VERIFIED, facts)


def run(store: RunStore, record: RunRecord) -> None:
    """One run as the store sees it."""
    decision = store.reserve(record)
    require(isinstance(decision, Start))
    require(store.mark_started(record.run_id, record.owner))
    require(store.begin_delivery(record.run_id, record.owner))
    require(store.finish(record.run_id, record.owner, end_of(decision.record)))


def replay(store: RunStore, record: RunRecord) -> None:
    """The same request once more."""
    require(isinstance(store.reserve(evolve(record, run_id=new_run_id())), Replay))


def flush(descriptor: int, number: int) -> None:
    """The cheapest flush there is: a page in place, and its data only."""
    os.pwrite(descriptor, bytes(4096), number % 256 * 4096)
    os.fdatasync(descriptor)


def require(held: bool) -> None:
    """End the benchmark when the store does not do what is measured."""
    if not held:
        raise StoreUnavailableError("the store did not do what was asked")


def timed(act: Callable[[], object]) -> float:
    """Milliseconds that something takes."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def print_table(figures: list[Figures]) -> None:
    """One line for each size."""
    names = list(asdict(figures[0]))
    print("  ".join(f"{name:>16}" for name in names))
    for each in figures:
        print(
            "  ".join(
                f"{value:>16,.3f}" if isinstance(value, float) else f"{value:>16,}" for value in asdict(each).values()
            )
        )


if __name__ == "__main__":
    main()
