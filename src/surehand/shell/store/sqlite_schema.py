"""The schema of the SQLite ledger: its tables, their guards, and how an older file becomes a newer one.

Laws of this module:

- A migration is never edited once a file may have been through it; a change is a new migration at the end.
- What must never change or vanish is guarded by a trigger, so that a fault of our own cannot do it either.
"""

import contextlib
import sqlite3
from functools import lru_cache
from typing import Final

#: Says in the file's header whose it is.
APPLICATION_ID: Final = 0x53524844

_CREATE_RUNS: Final = """\
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  request_key TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 5),
  workflow TEXT,
  fingerprint TEXT NOT NULL,
  owner TEXT NOT NULL,
  journaled INTEGER NOT NULL CHECK (journaled IN (0, 1)),
  phase TEXT NOT NULL CHECK (phase IN ('reserved', 'started', 'delivering', 'finished')),
  created_at INTEGER NOT NULL,
  result TEXT,
  CHECK ((result IS NULL) = (phase <> 'finished')),
  CHECK (attempt > 0 OR phase = 'finished')
) STRICT"""

#: One row: the random name of the ledger, empty until it is sealed; its epoch; how many changes were flushed.
_CREATE_LEDGER: Final = """\
CREATE TABLE ledger (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  changes INTEGER NOT NULL
) STRICT"""

#: What the owners of runs said after somebody else had ended them.
_CREATE_LATE_REPORTS: Final = """\
CREATE TABLE late_reports (
  run_id TEXT NOT NULL PRIMARY KEY,
  result TEXT NOT NULL
) STRICT"""

#: Every attempt once more, in pages of its own: damage to one page cannot make a ledger forget that it was made.
_CREATE_REQUESTS: Final = """\
CREATE TABLE requests (
  request_key TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (request_key, attempt)
) STRICT, WITHOUT ROWID"""

#: What every file has, whatever else it keeps.
SEALED: Final = (
    _CREATE_LEDGER,
    "INSERT INTO ledger VALUES (1, '', 0, 0)",
    "CREATE TRIGGER ledger_stays BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger stays'); END",
    (
        "CREATE TRIGGER ledger_goes_on BEFORE UPDATE ON ledger "
        "WHEN NEW.epoch < OLD.epoch OR NEW.changes < OLD.changes "
        "BEGIN SELECT RAISE(ABORT, 'the ledger never goes back'); END"
    ),
)

#: Each migration is one immediate transaction; the schema version of a file is the number of those it has been through.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        _CREATE_RUNS,
        "CREATE UNIQUE INDEX runs_by_request ON runs (request_key, attempt) WHERE attempt > 0",
        "CREATE INDEX runs_unfinished ON runs (seq) WHERE phase <> 'finished'",
        "CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'a run is never deleted'); END",
        (
            "CREATE TRIGGER runs_end_once BEFORE UPDATE ON runs WHEN OLD.phase = 'finished' "
            "BEGIN SELECT RAISE(ABORT, 'a finished run never changes'); END"
        ),
        (
            "CREATE TRIGGER runs_keep_their_names BEFORE UPDATE OF seq, run_id, request_key, attempt, workflow, "
            "fingerprint, owner, journaled, created_at ON runs "
            "BEGIN SELECT RAISE(ABORT, 'only phase and result ever change'); END"
        ),
    ),
    SEALED,
    (
        _CREATE_LATE_REPORTS,
        "CREATE TRIGGER late_stay BEFORE DELETE ON late_reports BEGIN SELECT RAISE(ABORT, 'a report stays'); END",
        (
            "CREATE TRIGGER late_never_change BEFORE UPDATE ON late_reports "
            "BEGIN SELECT RAISE(ABORT, 'a report never changes'); END"
        ),
        "DROP TRIGGER runs_stay",
        (
            "CREATE TRIGGER runs_stay BEFORE DELETE ON runs WHEN OLD.attempt > 0 "
            "BEGIN SELECT RAISE(ABORT, 'a run is never deleted'); END"
        ),
        "CREATE INDEX runs_refused ON runs (created_at) WHERE attempt = 0",
    ),
    (
        _CREATE_REQUESTS,
        "INSERT INTO requests SELECT request_key, attempt FROM runs WHERE attempt > 0",
        (
            "CREATE TRIGGER requests_are_made_once AFTER INSERT ON runs WHEN NEW.attempt > 0 "
            "BEGIN INSERT INTO requests VALUES (NEW.request_key, NEW.attempt); END"
        ),
        "CREATE TRIGGER requests_stay BEFORE DELETE ON requests BEGIN SELECT RAISE(ABORT, 'a request stays'); END",
        (
            "CREATE TRIGGER requests_never_change BEFORE UPDATE ON requests "
            "BEGIN SELECT RAISE(ABORT, 'a request never changes'); END"
        ),
    ),
    (
        "ALTER TABLE runs ADD COLUMN bundle TEXT NOT NULL DEFAULT ''",
        (
            "CREATE TRIGGER runs_keep_their_version BEFORE UPDATE OF bundle ON runs "
            "BEGIN SELECT RAISE(ABORT, 'only phase and result ever change'); END"
        ),
    ),
)

#: Everything that SQLite keeps about the schema of a file.
SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"


@lru_cache(maxsize=2)
def expected_schema(migrations: tuple[tuple[str, ...], ...]) -> tuple[object, ...]:
    """What a file that has been through these migrations answers to ``SCHEMA``."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as link:
        for statements in migrations:
            for statement in statements:
                link.execute(statement)
        return tuple(link.execute(SCHEMA))
