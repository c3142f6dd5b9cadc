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

#: Why runs stopped, with the epoch of the ledger in which each was kept.
_CREATE_PAUSES: Final = """\
CREATE TABLE pauses (
  seq INTEGER PRIMARY KEY,
  pause_id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  body TEXT NOT NULL,
  seal TEXT NOT NULL
) STRICT"""

#: Who held the window of a pause, and until when it could be decided.
_CREATE_ISSUES: Final = """\
CREATE TABLE issues (
  pause_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  owner TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  boot TEXT NOT NULL,
  boot_ms INTEGER NOT NULL,
  PRIMARY KEY (pause_id, number)
) STRICT, WITHOUT ROWID"""

#: What people decided.
_CREATE_DECISIONS: Final = """\
CREATE TABLE decisions (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  pause_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  action TEXT NOT NULL,
  capability TEXT NOT NULL,
  operator TEXT NOT NULL CHECK (operator <> ''),
  door TEXT NOT NULL,
  status TEXT NOT NULL,
  refusal TEXT,
  finding TEXT,
  claimed_by TEXT NOT NULL,
  decided_at INTEGER NOT NULL,
  ended_at INTEGER,
  CHECK ((ended_at IS NULL) = (status IN ('prepared', 'delivery_started')))
) STRICT"""

#: What was asked for and not taken.
_CREATE_REFUSED_DECISIONS: Final = """\
CREATE TABLE refused_decisions (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  pause_id TEXT NOT NULL,
  action TEXT NOT NULL,
  capability TEXT NOT NULL,
  operator TEXT NOT NULL,
  door TEXT NOT NULL,
  refusal TEXT NOT NULL,
  refused_at INTEGER NOT NULL
) STRICT"""

#: Runs that went on after a decision.
_CREATE_CONTINUATIONS: Final = """\
CREATE TABLE continuations (
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  pause_id TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  crossed INTEGER NOT NULL CHECK (crossed IN (0, 1)),
  result TEXT,
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID"""

#: Wishes to open the app again for a pause.
_CREATE_OPENINGS: Final = """\
CREATE TABLE openings (
  number INTEGER PRIMARY KEY,
  pause_id TEXT NOT NULL,
  claimed_by TEXT NOT NULL
) STRICT"""

#: States of forms that were used; one that is over is of no use and may go.
_CREATE_SPENT_FORMS: Final = """\
CREATE TABLE spent_forms (
  digest TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT"""

#: Says in an index that a run waits for a person, in the same words as the query that looks for such runs.
WAITING: Final = (
    'attempt > 0 AND (instr(result, \'"outcome":"needs_review"\') > 0 '
    'OR instr(result, \'"outcome":"not_sure_if_saved"\') > 0)'
)


def may_wait(pause: str) -> str:
    """The condition that a pause can still be decided about, or that its run goes on; ``pause`` says where it is named.

    It is said to SQLite, so that a guard of the file and a query can ask it.
    """
    return (
        f"EXISTS (SELECT 1 FROM pauses AS here JOIN runs USING (run_id) WHERE here.pause_id = {pause} "  # noqa: S608 - a name of ours
        f"AND (runs.phase <> 'finished' OR ({WAITING} "
        "AND NOT EXISTS (SELECT 1 FROM pauses AS later WHERE later.run_id = here.run_id AND later.seq > here.seq) "
        "AND NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.run_id = here.run_id "
        "AND (status IN ('completed', 'rejected') OR (decisions.pause_id = here.pause_id "
        "AND (status = 'delivery_uncertain' OR finding = 'saved_as_intended')))))))"
    )


def _never(table: str, *events: str, when: str = "") -> tuple[str, ...]:
    """Guards that refuse these events on a table."""
    condition = f" WHEN {when}" if when else ""
    return tuple(
        f"CREATE TRIGGER {table}_no_{event.partition(' ')[0].lower()} BEFORE {event} ON {table}{condition} "
        f"BEGIN SELECT RAISE(ABORT, 'what people decided stays'); END"
        for event in events
    )


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
    (
        _CREATE_PAUSES,
        "CREATE INDEX pauses_of_run ON pauses (run_id, seq)",
        *_never("pauses", "DELETE", "UPDATE"),
        _CREATE_ISSUES,
        *_never("issues", "DELETE", "UPDATE"),
        _CREATE_DECISIONS,
        "CREATE INDEX decisions_of_run ON decisions (run_id, seq)",
        "CREATE INDEX decisions_of_pause ON decisions (pause_id)",
        (
            "CREATE UNIQUE INDEX decisions_one_at_a_time ON decisions (run_id) "
            "WHERE status IN ('prepared', 'delivery_started')"
        ),
        (
            "CREATE UNIQUE INDEX decisions_settle_once ON decisions (pause_id) "
            "WHERE status IN ('completed', 'rejected', 'delivery_uncertain')"
        ),
        *_never("decisions", "DELETE"),
        *_never("decisions", "UPDATE", when="OLD.ended_at IS NOT NULL OR OLD.claimed_by NOT IN ('', NEW.claimed_by)"),
        (
            "CREATE TRIGGER decisions_keep_their_names BEFORE UPDATE OF seq, key, pause_id, run_id, action, "
            "capability, operator, door, decided_at ON decisions "
            "BEGIN SELECT RAISE(ABORT, 'only how far a decision is ever changes'); END"
        ),
        _CREATE_REFUSED_DECISIONS,
        "CREATE INDEX refused_codes ON refused_decisions (capability) WHERE refusal = 'code_wrong'",
        *_never("refused_decisions", "DELETE", "UPDATE"),
        _CREATE_CONTINUATIONS,
        "CREATE UNIQUE INDEX continuations_cross_once ON continuations (run_id) WHERE crossed = 1",
        *_never("continuations", "DELETE"),
        *_never("continuations", "UPDATE", when="OLD.result IS NOT NULL OR NEW.crossed < OLD.crossed"),
        *_never(
            "continuations",
            "INSERT",
            when="EXISTS (SELECT 1 FROM continuations WHERE run_id = NEW.run_id AND (crossed = 1 OR result IS NULL))",
        ),
        (
            "CREATE TRIGGER continuations_keep_their_names BEFORE UPDATE OF run_id, number, pause_id, key, owner "
            "ON continuations BEGIN SELECT RAISE(ABORT, 'only how far a continuation is ever changes'); END"
        ),
        _CREATE_OPENINGS,
        "CREATE INDEX openings_new ON openings (number) WHERE claimed_by = ''",
        *_never("openings", "DELETE"),
        *_never("openings", "UPDATE", when="OLD.claimed_by <> ''"),
        _CREATE_SPENT_FORMS,
        *_never("spent_forms", "UPDATE"),
        f"CREATE INDEX runs_waiting ON runs (seq) WHERE {WAITING}",
    ),
    (
        "DROP TRIGGER refused_decisions_no_delete",
        *_never("refused_decisions", "DELETE", when=may_wait("OLD.pause_id")),
        "CREATE INDEX refused_by_time ON refused_decisions (refused_at)",
    ),
)

#: Everything that SQLite keeps about the schema of a file.
SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"


@lru_cache(maxsize=2)
def expected_schema(migrations: tuple[tuple[str, ...], ...]) -> tuple[object, ...]:
    """What a file that has been through these migrations answers to ``SCHEMA``."""
    with contextlib.closing(sqlite3.connect(":memory:")) as link:
        for statements in migrations:
            for statement in statements:
                link.execute(statement)
        return tuple(link.execute(SCHEMA))
