"""The rows of the file of plans: every statement, and what a row is as a run.

Laws of this module:

- Every text of SQL that reads or changes rows stands here, built from constants only. Values are bound.
- JSON only, read strictly: a row that contradicts itself is damage, never a run.
- Nothing is read of a run's steps that its own row does not count.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Annotated, Final, TypeVar, cast

from attrs import field, frozen
from returns.result import Failure

from surehand.core.orchestration.definition import PinnedDefinition
from surehand.core.orchestration.result import StepEnd, StepFailure, WorkflowStepResult
from surehand.core.orchestration.run import MAX_VARIABLES, RunStatus, Timer, ToolEnd, WorkflowRun
from surehand.core.orchestration.text import Binding
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.schema import Items
from surehand.core.signature import canonical_json
from surehand.shell.store.base import StoreCorruptError

_COLUMNS: Final = (
    "run_id, request_key, asked, definition_id, digest, created_at, status, current_step_id, visit, state, steps, "
    "cancel_asked, owner, lease, saves, restored"
)
_HEAD: Final = f"SELECT {_COLUMNS} FROM workflow_runs WHERE run_id = ?"  # noqa: S608 - built from constants
_BY_REQUEST: Final = f"SELECT {_COLUMNS} FROM workflow_runs WHERE request_key = ?"  # noqa: S608 - as above
_NEWEST: Final = f"SELECT {_COLUMNS} FROM workflow_runs ORDER BY seq DESC LIMIT ?"  # noqa: S608 - as above
_GOING_ON: Final = f"SELECT {_COLUMNS} FROM workflow_runs WHERE status = 'running' ORDER BY seq"  # noqa: S608 - as above
_STANDING: Final = "SELECT status, cancel_asked FROM workflow_runs WHERE run_id = ?"
_INSERT: Final = f"INSERT INTO workflow_runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - as above
_PIN: Final = "INSERT OR IGNORE INTO workflow_definitions VALUES (?, ?, ?)"
_PINNED: Final = "SELECT pinned FROM workflow_definitions WHERE digest = ?"
_SAVE: Final = (
    "UPDATE workflow_runs SET status = ?, current_step_id = ?, visit = ?, state = ?, steps = ?, cancel_asked = ?, "
    "saves = saves + 1 WHERE run_id = ? AND owner = ? AND lease = ? AND status = 'running'"
)
_CLAIM: Final = (
    "UPDATE workflow_runs SET owner = ?, lease = lease + 1 WHERE run_id = ? AND lease = ? AND status = 'running'"
)
_CANCEL: Final = "UPDATE workflow_runs SET cancel_asked = 1 WHERE run_id = ? AND status = 'running'"
_ADD_RESULT: Final = "INSERT INTO workflow_step_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RESULTS: Final = (
    "SELECT step_id, visit, outcome, record_changed, failure, reference, outputs, code FROM workflow_step_results "
    "WHERE run_id = ? AND place < ? ORDER BY place"
)

_OLD: Final = "status <> 'running' AND state <> '' AND created_at < ?"
_COUNT_OLD: Final = f"SELECT count(*) FROM workflow_runs WHERE {_OLD}"  # noqa: S608 - as above
_DROP_OUTPUTS: Final = (
    "UPDATE workflow_step_results SET outputs = '{}' WHERE outputs <> '{}' AND run_id IN "  # noqa: S608 - as above
    f"(SELECT run_id FROM workflow_runs WHERE {_OLD})"
)
_DROP_STATE: Final = f"UPDATE workflow_runs SET state = '' WHERE {_OLD}"  # noqa: S608 - as above
_REQUESTS: Final = "SELECT request_key FROM workflow_runs WHERE request_key IS NOT NULL"
_FORGOTTEN: Final = "SELECT request_key FROM forgotten_requests"
_IS_FORGOTTEN: Final = "SELECT 1 FROM forgotten_requests WHERE request_key = ?"
_FORGET: Final = "INSERT OR IGNORE INTO forgotten_requests VALUES (?)"
_MARK_RESTORED: Final = "UPDATE workflow_runs SET restored = 1 WHERE status = 'running' AND restored = 0"
_UNMARKED: Final = "SELECT count(*) FROM workflow_runs WHERE status = 'running' AND restored = 0"

_Kept = TypeVar("_Kept", bound=object)


@frozen(kw_only=True)
class _State:
    """What a run's row keeps as JSON."""

    variables: Annotated[tuple[Binding, ...], Items(max_items=MAX_VARIABLES)] = field(repr=False)
    calls: Annotated[tuple[ToolEnd, ...], Items(max_items=100)]
    run_timer: Timer
    step_timer: Timer
    begun: bool


#: What is left of the state of a run whose values were dropped.
_NOTHING: Final = _State(variables=(), calls=(), run_timer=Timer("", 0), step_timer=Timer("", 0), begun=False)


@frozen(kw_only=True)
class RunHead:
    """A run's own row: where it stands, and whose it is.

    Args:
        run_id: The run.
        request_key: The name of the request that began it; ``None`` when it had none.
        asked: What was asked, as a hash.
        definition_id: The id of its definition.
        digest: The digest of what was pinned.
        created_at: Seconds since the epoch, UTC.
        status: How it stands.
        current_step_id: The step at which it is or stopped.
        visit: The number of the visit to it.
        state: Variables, calls and timers, as JSON.
        steps: How many steps ended.
        cancel_asked: Whether somebody wished that it stops.
        owner: Token of whoever goes through it.
        lease: How often it was taken up.
        saves: How often it was saved.
        restored: Whether the file was copied or restored while it went on.
    """

    run_id: str
    request_key: str | None
    asked: str
    definition_id: str
    digest: str
    created_at: int
    status: RunStatus
    current_step_id: str | None
    visit: int
    state: str = field(repr=False)
    steps: int
    cancel_asked: bool
    owner: str
    lease: int
    saves: int
    restored: bool = False


@frozen
class Standing:
    """Whether a run goes on, and whether somebody wishes that it stops: what is looked at again and again."""

    status: RunStatus
    cancel_asked: bool


_Row = tuple[str, str | None, str, str, str, int, str, str | None, int, str, int, int, str, int, int, int]
_ResultRow = tuple[str, int, str, str, str | None, str | None, str, str | None]


def head(link: sqlite3.Connection, run_id: str) -> RunHead | None:
    """The row of a run."""
    return next(iter(_heads(link.execute(_HEAD, (run_id,)))), None)


def standing(link: sqlite3.Connection, run_id: str) -> Standing | None:
    """How a run stands, without what it holds."""
    row = cast("tuple[str, int] | None", link.execute(_STANDING, (run_id,)).fetchone())
    return None if row is None else Standing(RunStatus(row[0]), cancel_asked=row[1] == 1)


def by_request(link: sqlite3.Connection, request_key: str) -> RunHead | None:
    """The row of the run that a request began."""
    return next(iter(_heads(link.execute(_BY_REQUEST, (request_key,)))), None)


def newest(link: sqlite3.Connection, limit: int) -> tuple[RunHead, ...]:
    """The newest runs first."""
    return _heads(link.execute(_NEWEST, (max(limit, 0),)))


def going_on(link: sqlite3.Connection) -> tuple[RunHead, ...]:
    """Every run that did not end."""
    return _heads(link.execute(_GOING_ON))


def insert(link: sqlite3.Connection, run: WorkflowRun, new: RunHead) -> None:
    """Keep a new run and what it is pinned to."""
    link.execute(_PIN, (new.digest, new.definition_id, _canonical(run.pinned)))
    link.execute(
        _INSERT,
        (
            new.run_id,
            new.request_key,
            new.asked,
            new.definition_id,
            new.digest,
            new.created_at,
            new.status.value,
            new.current_step_id,
            new.visit,
            new.state,
            new.steps,
            int(new.cancel_asked),
            new.owner,
            new.lease,
            new.saves,
            int(new.restored),
        ),
    )
    add_results(link, run, 0)


def save(link: sqlite3.Connection, run: WorkflowRun, owner: str, lease: int) -> bool:
    """Keep where a run stands, if it is still this owner's."""
    row = (
        run.status.value,
        run.current_step_id,
        run.visit,
        state_of(run),
        len(run.step_results),
        int(run.cancel_asked),
        run.id,
        owner,
        lease,
    )
    return link.execute(_SAVE, row).rowcount == 1


def claim(link: sqlite3.Connection, seen: RunHead, owner: str) -> bool:
    """Make a run this owner's, if it still stands as it was seen."""
    return link.execute(_CLAIM, (owner, seen.run_id, seen.lease)).rowcount == 1


def ask_cancel(link: sqlite3.Connection, run_id: str) -> bool:
    """Keep the wish that a run stops; whether it still goes on."""
    return link.execute(_CANCEL, (run_id,)).rowcount == 1


def add_results(link: sqlite3.Connection, run: WorkflowRun, known: int) -> None:
    """Keep the ends of the steps behind those that are kept."""
    rows = (_result_row(run.id, place, run.step_results[place]) for place in range(known, len(run.step_results)))
    link.executemany(_ADD_RESULT, rows)


def pinned(link: sqlite3.Connection, digest: str) -> PinnedDefinition | None:
    """What a run is pinned to; ``None`` when this version cannot read it.

    Raises:
        StoreCorruptError: It is gone, or is another one.
    """
    row = cast("tuple[str] | None", link.execute(_PINNED, (digest,)).fetchone())
    if row is None:
        raise StoreCorruptError("a run without its definition")
    found = _read(row[0], PinnedDefinition)
    whole = hashlib.sha256(row[0].encode()).hexdigest() == digest
    if not whole and found is not None and found.digest != digest:  # a row of the first version is not canonical
        raise StoreCorruptError("another definition than the pinned one")
    return found


def run_of(link: sqlite3.Connection, kept: RunHead, definition: PinnedDefinition) -> WorkflowRun:
    """The run as it is kept; a wish to stop that it did not follow yet is told again by its next save.

    Raises:
        StoreCorruptError: Its rows contradict each other.
    """
    state = _NOTHING if _is_pruned(kept) else _read(kept.state, _State)
    rows = cast("list[_ResultRow]", link.execute(_RESULTS, (kept.run_id, kept.steps)).fetchall())
    if state is None or len(rows) != kept.steps:
        raise StoreCorruptError("a run that contradicts itself")
    try:
        results = tuple(_result(row) for row in rows)
        visits = _visits(definition, results, kept)
    except (ValueError, KeyError, RecursionError):
        raise StoreCorruptError("a step that contradicts itself") from None
    return WorkflowRun(
        id=kept.run_id,
        pinned=definition,
        status=kept.status,
        current_step_id=kept.current_step_id,
        visit=kept.visit,
        calls=state.calls,
        variables=state.variables,
        step_results=results,
        visits=visits,
        run_timer=state.run_timer,
        step_timer=state.step_timer,
        begun=state.begun,
        restored=kept.restored,
        cancel_asked=kept.cancel_asked and kept.status is not RunStatus.RUNNING,
    )


def state_of(run: WorkflowRun) -> str:
    """What a run's row keeps as JSON."""
    state = _State(
        variables=run.variables,
        calls=run.calls,
        run_timer=run.run_timer,
        step_timer=run.step_timer,
        begun=run.begun,
    )
    return _text(state)


def old(link: sqlite3.Connection, before: int) -> int:
    """How many runs ended and began before a time, and hold values yet."""
    return _count(link, _COUNT_OLD, before)


def drop_values(link: sqlite3.Connection, before: int) -> int:
    """Drop the values of runs that ended and began before a time; how many runs held some."""
    link.execute(_DROP_OUTPUTS, (before,))
    return link.execute(_DROP_STATE, (before,)).rowcount


def requests(link: sqlite3.Connection) -> frozenset[str]:
    """Every request that began a run here, and those that are known to be forgotten."""
    return frozenset(row[0] for statement in (_REQUESTS, _FORGOTTEN) for row in link.execute(statement))


def is_forgotten(link: sqlite3.Connection, request_key: str) -> bool:
    """Whether the run of a request was lost when the file was taken over."""
    return link.execute(_IS_FORGOTTEN, (request_key,)).fetchone() is not None


def forget(link: sqlite3.Connection, request_keys: frozenset[str]) -> None:
    """Keep that the runs of these requests were lost."""
    link.executemany(_FORGET, ((each,) for each in sorted(request_keys)))


def mark_restored(link: sqlite3.Connection) -> int:
    """Mark every run that goes on as restored; how many were not."""
    return link.execute(_MARK_RESTORED).rowcount


def unmarked(link: sqlite3.Connection) -> int:
    """How many runs that go on are not marked as restored."""
    return _count(link, _UNMARKED)


def _count(link: sqlite3.Connection, statement: str, *values: object) -> int:
    return cast("tuple[int]", link.execute(statement, values).fetchone())[0]


def _is_pruned(kept: RunHead) -> bool:
    return not kept.state and kept.status is not RunStatus.RUNNING


def _heads(rows: Iterable[object]) -> tuple[RunHead, ...]:
    return tuple(_head(cast("_Row", row)) for row in rows)


def _head(row: _Row) -> RunHead:
    run_id, request_key, asked, definition_id, digest, created_at, status, step_id, visit, state, *rest = row
    steps, cancel_asked, owner, lease, saves, restored = cast("tuple[int, int, str, int, int, int]", rest)
    return RunHead(
        run_id=run_id,
        request_key=request_key,
        asked=asked,
        definition_id=definition_id,
        digest=digest,
        created_at=created_at,
        status=RunStatus(status),
        current_step_id=step_id,
        visit=visit,
        state=state,
        steps=steps,
        cancel_asked=cancel_asked == 1,
        owner=owner,
        lease=lease,
        saves=saves,
        restored=restored == 1,
    )


def _result_row(run_id: str, place: int, result: WorkflowStepResult) -> tuple[object, ...]:
    end = result.end
    outputs = {each.name: each.value for each in end.outputs}
    return (
        run_id,
        place,
        result.step_id,
        result.visit,
        end.outcome.value,
        end.record_changed.value,
        None if end.failure is None else end.failure.value,
        end.reference,
        json.dumps(outputs, ensure_ascii=False, separators=(",", ":")),
        end.code,
    )


def _result(row: _ResultRow) -> WorkflowStepResult:
    step_id, visit, outcome, changed, failure, reference, outputs, code = row
    end = StepEnd(
        outcome=Outcome(outcome),
        record_changed=RecordChanged(changed),
        failure=None if failure is None else StepFailure(failure),
        code=code,
        reference=reference,
        outputs=() if outputs == "{}" else _bindings(json.loads(outputs)),
    )
    return WorkflowStepResult(step_id=step_id, visit=visit, end=end)


def _bindings(outputs: object) -> tuple[Binding, ...]:
    if not isinstance(outputs, dict):
        raise ValueError("no outputs")  # noqa: TRY004 - damage, like any other text that is none
    found = cast("dict[str, object]", outputs)
    return tuple(Binding(name, text) for name, text in found.items() if isinstance(text, str))


def _visits(definition: PinnedDefinition, results: tuple[WorkflowStepResult, ...], kept: RunHead) -> tuple[int, ...]:
    visits = [0] * len(definition.definition.steps)
    for result in results:
        visits[definition.places[result.step_id]] = result.visit
    if kept.current_step_id is not None:
        visits[definition.places[kept.current_step_id]] = kept.visit
    return tuple(visits)


def _canonical(pinned: PinnedDefinition) -> str:
    """The text whose hash is the digest."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - as below

    return canonical_json(to_wire(pinned))


def _text(kept: object) -> str:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which a fast start does without

    return json.dumps(to_wire(kept), ensure_ascii=False, separators=(",", ":"))


def _read(text: str, kind: type[_Kept]) -> _Kept | None:
    from surehand.core.wire import from_wire  # noqa: PLC0415 - as above

    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        raise StoreCorruptError("not what was kept") from None
    read = from_wire(data, kind)
    return None if isinstance(read, Failure) else read.unwrap()
