"""The rows of the SQLite ledger: every statement, and what a row is as a record.

Laws of this module:

- Every text of SQL that reads or changes rows stands here, built from constants only.
  Values are bound, never written in.
- A row that contradicts itself is damage, never a record.
- A run that waited for a person when its ledger was restored may have gone on after the backup: it is told as doubt.
"""

import sqlite3
from collections.abc import Callable
from typing import Final, cast

from attrs import evolve

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord, may_move
from surehand.shell.store.base import (
    StoreCorruptError,
    is_run_id,
    kept_result,
    require_whole_history,
    result_text,
)
from surehand.shell.store.sqlite_schema import WAITING

_COLUMNS: Final = (
    "run_id, request_key, attempt, workflow, fingerprint, owner, journaled, phase, created_at, bundle, result"
)
LOAD: Final = f"SELECT {_COLUMNS} FROM runs WHERE run_id = ?"  # noqa: S608 - built from constants
ATTEMPTS: Final = f"SELECT {_COLUMNS} FROM runs WHERE request_key = ? AND attempt > 0 ORDER BY attempt"  # noqa: S608 - as above
UNFINISHED: Final = f"SELECT {_COLUMNS} FROM runs WHERE phase <> 'finished' ORDER BY seq"  # noqa: S608 - as above
NEWEST: Final = f"SELECT {_COLUMNS} FROM runs ORDER BY seq DESC LIMIT ?"  # noqa: S608 - as above
NEXT_NEWEST: Final = (
    f"SELECT {_COLUMNS} FROM runs WHERE seq < (SELECT seq FROM runs WHERE run_id = ?) "  # noqa: S608 - as above
    "ORDER BY seq DESC LIMIT ?"
)
INSERT: Final = f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - as above
#: Runs that wait for a person and did not stop since the last time that a decision about them ended in doubt.
WITHOUT_PAUSE: Final = f"""\
SELECT {_COLUMNS} FROM runs WHERE {WAITING} AND NOT EXISTS (
  SELECT 1 FROM pauses WHERE pauses.run_id = runs.run_id AND pauses.seq > coalesce((
    SELECT max(doubted.seq) FROM pauses AS doubted, decisions
    WHERE doubted.run_id = runs.run_id AND decisions.pause_id = doubted.pause_id AND status = 'delivery_uncertain'
  ), 0)
) ORDER BY seq DESC LIMIT ?"""  # noqa: S608 - as above
LEGS: Final = "SELECT result FROM continuations WHERE run_id = ? ORDER BY number"
REJECTED: Final = "SELECT 1 FROM decisions WHERE run_id = ? AND status = 'rejected'"
OUTDATED: Final = "SELECT 1 FROM pauses, ledger WHERE run_id = ? AND pauses.epoch <> ledger.epoch"
LATE: Final = "SELECT result FROM late_reports WHERE run_id = ?"
NOTE_LATE: Final = "INSERT OR IGNORE INTO late_reports VALUES (?, ?)"
OLD_REFUSALS: Final = "SELECT count(*) FROM runs WHERE attempt = 0 AND created_at < ?"
FORGET: Final = (
    "DELETE FROM runs WHERE seq IN "
    "(SELECT seq FROM runs WHERE attempt = 0 AND created_at < ? ORDER BY created_at LIMIT ?)"
)
MOVE: Final = "UPDATE runs SET phase = ?, result = ? WHERE run_id = ?"


Row = tuple[str, str, int, str | None, str, str, int, str, int, str, str | None]


def insert(link: sqlite3.Connection, record: RunRecord) -> RunRecord:
    """Keep a new record.

    Raises:
        ValueError: The run id was used before.
    """
    try:
        link.execute(INSERT, row_of(record))
    except sqlite3.IntegrityError:
        if load(link, record.run_id) is not None:
            raise ValueError("the run id was used before") from None
        raise
    return record


def moved_in(
    link: sqlite3.Connection, run_id: str, move: Callable[[RunRecord], RunRecord | None]
) -> tuple[bool, RunRecord | None]:
    """Change a run to what ``move`` makes of it, and say whether it did, with the record that was written."""
    now = load(link, run_id)
    then = None if now is None else move(now)
    if then is None:
        return False, None
    link.execute(MOVE, (then.phase.value, text_of(then), run_id))
    return True, then


def may_end(record: RunRecord, owner: str) -> bool:
    """Whether this owner may end the run."""
    return may_move(record, owner, Phase.FINISHED)


def load(link: sqlite3.Connection, run_id: str) -> RunRecord | None:
    """The record of one call."""
    records = select(link, LOAD, run_id) if is_run_id(run_id) else ()
    return records[0] if records else None


def late(link: sqlite3.Connection, run_id: str) -> RunResult | None:
    """What the owner of a run said too late."""
    row = cast("tuple[str] | None", link.execute(LATE, (run_id,)).fetchone()) if is_run_id(run_id) else None
    return None if row is None else kept_result(row[0], run_id)


def attempts(link: sqlite3.Connection, request_key: str) -> tuple[RunRecord, ...]:
    """All attempts under a request key, oldest first."""
    return require_whole_history(select(link, ATTEMPTS, request_key))


def select(link: sqlite3.Connection, query: str, *values: str | int) -> tuple[RunRecord, ...]:
    """The records that a statement finds, with the answers after everything that people decided."""
    return tuple(answered(link, record) for record in first_records(link, query, *values))


def first_records(link: sqlite3.Connection, query: str, *values: str | int) -> tuple[RunRecord, ...]:
    """The records that a statement finds, with their first answers."""
    return tuple(record_of(cast("Row", row)) for row in link.execute(query, values).fetchall())


def answered(link: sqlite3.Connection, record: RunRecord) -> RunRecord:
    """The record with the answer after everything that people decided; only one that waited for them has another."""
    if record.result is None or record.result.outcome is not Outcome.NEEDS_REVIEW:
        return record
    texts = cast("list[tuple[str | None]]", link.execute(LEGS, (record.run_id,)).fetchall())
    ended = link.execute(REJECTED, (record.run_id,)).fetchone() is not None
    outdated = link.execute(OUTDATED, (record.run_id,)).fetchone() is not None
    if not (texts or ended or outdated):
        return record
    from surehand.core.attention.review import answer_after, interrupted, rejected  # noqa: PLC0415 - for few runs

    legs = [kept_result(text, record.run_id) for (text,) in texts if text is not None]
    if None in legs:
        return evolve(record, result=None)
    known = [leg for leg in legs if leg is not None]
    known += [rejected(record.result)] if ended else []
    known += [interrupted(record.result, crossed=True)] if outdated else []
    return evolve(record, result=answer_after(record.result, tuple(known), goes_on=(None,) in texts))


def row_of(record: RunRecord) -> Row:
    """The row that keeps a record."""
    return (
        record.run_id,
        record.request_key,
        record.attempt,
        record.workflow,
        record.fingerprint,
        record.owner,
        int(record.journaled),
        record.phase.value,
        record.created_at,
        record.bundle,
        text_of(record),
    )


def text_of(record: RunRecord) -> str | None:
    """The text that keeps the result of a record."""
    return None if record.result is None else result_text(record.result)


def record_of(row: Row) -> RunRecord:
    """The record that a row keeps.

    Raises:
        StoreCorruptError: The row contradicts itself.
    """
    run_id, request_key, attempt, workflow, fingerprint, owner, journaled, phase, created_at, bundle, text = row
    try:
        stands = Phase(phase)
    except ValueError:
        raise StoreCorruptError("an unknown phase") from None
    if (text is None) is (stands is Phase.FINISHED):
        raise StoreCorruptError("phase and result contradict each other")
    return RunRecord(
        run_id=run_id,
        request_key=request_key,
        attempt=attempt,
        workflow=workflow,
        fingerprint=fingerprint,
        owner=owner,
        journaled=journaled == 1,
        phase=stands,
        created_at=created_at,
        bundle=bundle,
        result=None if text is None else kept_result(text, run_id),
    )
