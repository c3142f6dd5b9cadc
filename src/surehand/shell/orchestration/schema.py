"""The schema of the file of plans.

Laws of this module:

- A migration is never edited once a file may have been through it; a change is a new migration at the end.
- What must never change or vanish is guarded by a trigger: a pinned definition, the end of a step, a run that ended.
  Of what ended only the values may be dropped.
- A lease only ever goes up, so that whoever held an older one cannot save any more.
"""

from typing import Final

from surehand.shell.store.sqlite_schema import SEALED

#: Says in the file's header whose it is.
APPLICATION_ID: Final = 0x5352504C

_CREATE_DEFINITIONS: Final = """\
CREATE TABLE workflow_definitions (
  digest TEXT NOT NULL PRIMARY KEY,
  definition_id TEXT NOT NULL,
  pinned TEXT NOT NULL
) STRICT"""

_CREATE_RUNS: Final = """\
CREATE TABLE workflow_runs (
  seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  request_key TEXT UNIQUE,
  asked TEXT NOT NULL,
  definition_id TEXT NOT NULL,
  digest TEXT NOT NULL REFERENCES workflow_definitions (digest),
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'needs_person', 'canceled')),
  current_step_id TEXT,
  visit INTEGER NOT NULL CHECK (visit > 0),
  state TEXT NOT NULL,
  steps INTEGER NOT NULL CHECK (steps >= 0),
  cancel_asked INTEGER NOT NULL CHECK (cancel_asked IN (0, 1)),
  owner TEXT NOT NULL,
  lease INTEGER NOT NULL CHECK (lease > 0),
  saves INTEGER NOT NULL,
  CHECK ((current_step_id IS NULL) = (status = 'completed'))
) STRICT"""

_CREATE_RESULTS: Final = """\
CREATE TABLE workflow_step_results (
  run_id TEXT NOT NULL REFERENCES workflow_runs (run_id),
  place INTEGER NOT NULL CHECK (place >= 0),
  step_id TEXT NOT NULL,
  visit INTEGER NOT NULL CHECK (visit > 0),
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'needs_review', 'not_sure_if_saved', 'did_not_run')),
  record_changed TEXT NOT NULL CHECK (record_changed IN ('yes', 'no', 'unknown')),
  failure TEXT,
  reference TEXT,
  outputs TEXT NOT NULL,
  PRIMARY KEY (run_id, place),
  UNIQUE (run_id, step_id, visit),
  CHECK ((failure IS NULL) = (outcome = 'done'))
) STRICT, WITHOUT ROWID"""


def _never(name: str, event: str, table: str, reason: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN SELECT RAISE(ABORT, '{reason}'); END"


_ANOTHER_RUN: Final = " OR ".join(
    (
        "NEW.state <> ''",
        *(
            f"NEW.{name} IS NOT OLD.{name}"
            for name in (
                "status",
                "current_step_id",
                "visit",
                "steps",
                "cancel_asked",
                "owner",
                "lease",
                "saves",
                "restored",
            )
        ),
    )
)

_ANOTHER_END: Final = " OR ".join(
    (
        "NEW.outputs <> '{}'",
        *(
            f"NEW.{name} IS NOT OLD.{name}"
            for name in (
                "run_id",
                "place",
                "step_id",
                "visit",
                "outcome",
                "record_changed",
                "failure",
                "reference",
                "code",
            )
        ),
        "(SELECT status FROM workflow_runs WHERE run_id = OLD.run_id) = 'running'",
    )
)

#: Requests whose runs the file had lost when it was taken over after it was copied or restored.
_CREATE_FORGOTTEN: Final = """\
CREATE TABLE forgotten_requests (
  request_key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID"""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        *SEALED,
        _CREATE_DEFINITIONS,
        _never("definitions_stay", "DELETE", "workflow_definitions", "a pinned definition stays"),
        _never("definitions_never_change", "UPDATE", "workflow_definitions", "a pinned definition never changes"),
        _CREATE_RUNS,
        "CREATE INDEX runs_going_on ON workflow_runs (seq) WHERE status = 'running'",
        _never("runs_stay", "DELETE", "workflow_runs", "a run is never deleted"),
        (
            "CREATE TRIGGER runs_end_once BEFORE UPDATE ON workflow_runs WHEN OLD.status <> 'running' "
            "BEGIN SELECT RAISE(ABORT, 'a run that ended never changes'); END"
        ),
        _never(
            "runs_keep_their_names",
            "UPDATE OF seq, run_id, request_key, asked, definition_id, digest, created_at",
            "workflow_runs",
            "only the progress of a run ever changes",
        ),
        (
            "CREATE TRIGGER runs_go_on BEFORE UPDATE ON workflow_runs "
            "WHEN NEW.lease < OLD.lease OR NEW.steps < OLD.steps OR NEW.saves < OLD.saves "
            "BEGIN SELECT RAISE(ABORT, 'a run never goes back'); END"
        ),
        _CREATE_RESULTS,
        _never("results_stay", "DELETE", "workflow_step_results", "the end of a step stays"),
        _never("results_never_change", "UPDATE", "workflow_step_results", "the end of a step never changes"),
    ),
    (
        "ALTER TABLE workflow_runs ADD COLUMN restored INTEGER NOT NULL DEFAULT 0 CHECK (restored IN (0, 1))",
        "ALTER TABLE workflow_step_results ADD COLUMN code TEXT",
        _CREATE_FORGOTTEN,
        _never("forgotten_stay", "DELETE", "forgotten_requests", "what was forgotten stays so"),
        _never("forgotten_never_change", "UPDATE", "forgotten_requests", "what was forgotten never changes"),
        "DROP TRIGGER runs_end_once",
        (
            "CREATE TRIGGER runs_end_once BEFORE UPDATE ON workflow_runs "
            f"WHEN OLD.status <> 'running' AND ({_ANOTHER_RUN}) "
            "BEGIN SELECT RAISE(ABORT, 'of a run that ended only the values may be dropped'); END"
        ),
        (
            "CREATE TRIGGER runs_stay_restored BEFORE UPDATE OF restored ON workflow_runs "
            "WHEN NEW.restored < OLD.restored BEGIN SELECT RAISE(ABORT, 'a restored run stays one'); END"
        ),
        "DROP TRIGGER results_never_change",
        (
            f"CREATE TRIGGER results_never_change BEFORE UPDATE ON workflow_step_results WHEN {_ANOTHER_END} "
            "BEGIN SELECT RAISE(ABORT, 'of the end of a step only the values may be dropped'); END"
        ),
    ),
)
