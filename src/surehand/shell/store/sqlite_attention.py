"""What the SQLite ledger keeps about stopped runs and decisions.

Laws of this module:

- Every text of SQL about them stands here, built from constants only. Values are bound, never written in.
- A row that contradicts itself is damage, never a pause or a decision.
- What may happen to a decision is said by the pure machine; the indexes and triggers of the schema say it once more.
"""

import json
import sqlite3
from typing import Final, TypeVar, cast

from attrs import evolve, fields
from returns.pipeline import is_successful

from surehand.core.attention.continuation import Continuation, begun_by, going_on, may_cross, result_at_end
from surehand.core.attention.decision import (
    Claimed,
    Decision,
    Ended,
    Event,
    OwnerGone,
    RefusedDecision,
    Review,
    Taken,
    Verdict,
    may_issue,
    step,
    still_waits,
)
from surehand.core.attention.pause import Issue, KeptPause, Pause
from surehand.core.attention.review import waits_for_person
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord
from surehand.core.wire import from_wire, to_wire
from surehand.shell.store.attention import Judge, Opening
from surehand.shell.store.base import StoreCorruptError, kept_result, result_text
from surehand.shell.store.sqlite_file import SqliteFile, Stands
from surehand.shell.store.sqlite_rows import LOAD, WITHOUT_PAUSE, first_records, load, select
from surehand.shell.store.sqlite_schema import may_wait

_T = TypeVar("_T")
_Row = tuple[object, ...]

_ISSUE: Final = tuple(each.name for each in fields(Issue))
_DECISION: Final = tuple(each.name for each in fields(Decision))
_REFUSED: Final = tuple(each.name for each in fields(RefusedDecision))
#: Audit lines that are dropped in one turn, so that nobody waits long for the next.
_FORGOTTEN_AT_ONCE: Final = 1000

_CONTINUATION: Final = "run_id, number, pause_id, key, owner, crossed, result"


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - constants


KEEP: Final = "INSERT INTO pauses (pause_id, run_id, body, seal, epoch) SELECT ?, ?, ?, ?, epoch FROM ledger"
KEPT: Final = "SELECT body, seal FROM pauses WHERE pause_id = ?"
RESTORED: Final = "SELECT pauses.epoch <> ledger.epoch FROM pauses, ledger WHERE pause_id = ?"
LINEAGE: Final = "SELECT pause_id FROM pauses WHERE run_id = ? ORDER BY seq"
ISSUE: Final = _insert("issues", ("pause_id", *_ISSUE))
ISSUES: Final = f"SELECT {', '.join(_ISSUE)} FROM issues WHERE pause_id = ? ORDER BY number"  # noqa: S608 - as above
DECIDE: Final = _insert("decisions", _DECISION)
DECISION: Final = f"SELECT {', '.join(_DECISION)} FROM decisions WHERE key = ?"  # noqa: S608 - as above
DECISIONS: Final = f"SELECT {', '.join(_DECISION)} FROM decisions WHERE run_id = ? ORDER BY seq"  # noqa: S608 - as above
TAKEN: Final = f"SELECT {', '.join(_DECISION)} FROM decisions ORDER BY seq DESC LIMIT ?"  # noqa: S608 - as above
UNENDED: Final = (
    f"SELECT {', '.join(_DECISION)} FROM decisions "  # noqa: S608 - as above
    "WHERE status IN ('prepared', 'delivery_started') ORDER BY seq"
)
MOVE: Final = "UPDATE decisions SET status = ?, refusal = ?, finding = ?, claimed_by = ?, ended_at = ? WHERE key = ?"
REFUSE: Final = _insert("refused_decisions", _REFUSED)
REFUSED: Final = f"SELECT {', '.join(_REFUSED)} FROM refused_decisions ORDER BY seq DESC LIMIT ?"  # noqa: S608 - as above
LAST_REFUSED: Final = "SELECT max(seq) FROM refused_decisions"
_FORGETTABLE: Final = f"FROM refused_decisions WHERE refused_at < ? AND NOT {may_wait('refused_decisions.pause_id')}"
OLD_REFUSED: Final = f"SELECT count(*) {_FORGETTABLE}"
FORGET_REFUSED: Final = f"DELETE FROM refused_decisions WHERE seq IN (SELECT seq {_FORGETTABLE} LIMIT ?)"  # noqa: S608 - as above
WRONG_CODES: Final = "SELECT count(*) FROM refused_decisions WHERE refusal = 'code_wrong' AND capability = ?"
CONTINUE: Final = f"INSERT INTO continuations ({_CONTINUATION}) VALUES (?, ?, ?, ?, ?, 0, NULL)"  # noqa: S608 - as above
CONTINUATIONS: Final = f"SELECT {_CONTINUATION} FROM continuations WHERE run_id = ? ORDER BY number"  # noqa: S608 - as above
CROSS: Final = "UPDATE continuations SET crossed = 1 WHERE run_id = ? AND number = ?"
END: Final = "UPDATE continuations SET result = ? WHERE run_id = ? AND number = ?"
ASK: Final = "INSERT INTO openings (pause_id, claimed_by) VALUES (?, '')"
OPENING: Final = "SELECT number, pause_id, claimed_by FROM openings WHERE number = ?"
OPENINGS: Final = "SELECT number, pause_id, claimed_by FROM openings WHERE claimed_by = '' ORDER BY number"
CLAIM_OPENING: Final = "UPDATE openings SET claimed_by = ? WHERE number = ?"
LAST_OPENING: Final = "SELECT max(number) FROM openings"
SPEND: Final = "INSERT OR IGNORE INTO spent_forms (digest, expires_at) VALUES (?, ?)"
SPENT: Final = "SELECT 1 FROM spent_forms WHERE digest = ?"
FORGET_SPENT: Final = "DELETE FROM spent_forms WHERE expires_at < ?"
#: The newest pause of each finished run that no decision settled, newest first.
OPEN: Final = """\
SELECT pause_id FROM pauses AS here
WHERE (?1 IS NULL OR seq < (SELECT seq FROM pauses WHERE pause_id = ?1))
  AND EXISTS (SELECT 1 FROM runs WHERE runs.run_id = here.run_id AND phase = 'finished')
  AND NOT EXISTS (SELECT 1 FROM pauses AS later WHERE later.run_id = here.run_id AND later.seq > here.seq)
  AND NOT EXISTS (
    SELECT 1 FROM decisions WHERE decisions.pause_id = here.pause_id
      AND status IN ('completed', 'rejected', 'delivery_uncertain')
  )
ORDER BY seq DESC"""


class SqliteAttention:
    """The part of the ledger about stopped runs; the docstrings of ``AttentionStore`` apply.

    Args:
        file: The ledger's file.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._file: Final = file

    def keep_pause(self, kept: KeptPause) -> bool:
        """Keep a pause with its first issue."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            pause = kept.pause
            if load(link, pause.run_id) is None:
                raise ValueError("a pause of no run")
            if _kept(link, pause.pause_id) is not None:
                return False, None
            link.execute(KEEP, (pause.pause_id, pause.run_id, _body(pause), kept.seal))
            for issue in kept.issues:
                _issue(link, pause.pause_id, issue)
            return True, lambda after: _kept(after, pause.pause_id) == kept

        return self._file.change(change)

    def review(self, pause_id: str) -> Review | None:
        """What the ledger says about a pause."""
        return self._file.read(lambda link: _review(link, pause_id))

    def open_reviews(self, limit: int, after: str | None = None) -> tuple[Review, ...]:
        """The pauses that wait for a person."""
        return self._file.read(lambda link: _open_reviews(link, limit, after))

    def lineage(self, run_id: str) -> tuple[str, ...]:
        """The names of the pauses of a run."""
        return self._file.read(lambda link: tuple(cast("str", row[0]) for row in _rows(link, LINEAGE, run_id)))

    def without_pause(self, limit: int) -> tuple[RunRecord, ...]:
        """Finished runs that wait for a person and have no pause."""
        return self._file.read(lambda link: select(link, WITHOUT_PAUSE, max(limit, 0)))

    def issue(self, pause_id: str, issue: Issue) -> bool:
        """Issue a pause anew."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            review = _review(link, pause_id)
            if review is None or not may_issue(review, issue):
                return False, None
            _issue(link, pause_id, issue)
            issued = evolve(review.kept, issues=(*review.kept.issues, issue))
            return True, lambda after: _kept(after, pause_id) == issued

        return self._file.change(change)

    def decide(self, asked: Decision, judge: Judge) -> Verdict:
        """Let the machine judge a decision inside the transaction that keeps it."""

        def change(link: sqlite3.Connection) -> tuple[Verdict, Stands | None]:
            verdict = judge(_review(link, asked.pause_id), _decision(link, asked.key))
            if not isinstance(verdict, Taken):
                return verdict, None
            taken = verdict.decision
            link.execute(DECIDE, _columns(taken, _DECISION))
            return verdict, lambda after: _decision(after, taken.key) == taken

        return self._file.change(change)

    def note_refused(self, refused: RefusedDecision) -> None:
        """Keep the audit line of a decision that was not taken."""

        def change(link: sqlite3.Connection) -> tuple[None, Stands | None]:
            link.execute(REFUSE, _columns(refused, _REFUSED))
            number = _rows(link, LAST_REFUSED)[0][0]
            return None, lambda after: _rows(after, LAST_REFUSED)[0][0] == number

        self._file.change(change)

    def refused(self, limit: int) -> tuple[RefusedDecision, ...]:
        """The newest audit lines first."""
        return self._file.read(
            lambda link: tuple(_read(RefusedDecision, _REFUSED, row) for row in _rows(link, REFUSED, max(limit, 0)))
        )

    def old_refused(self, before: int) -> int:
        """How many audit lines ``forget_refused`` would drop."""
        return self._file.read(lambda link: _old_refused(link, before))

    def forget_refused(self, before: int) -> int:
        """Drop old audit lines, some of them in each turn."""
        dropped = 0
        while now := self._forget_refused(before):
            dropped += now
        return dropped

    def _forget_refused(self, before: int) -> int:
        def change(link: sqlite3.Connection) -> tuple[int, Stands | None]:
            dropped = link.execute(FORGET_REFUSED, (before, _FORGOTTEN_AT_ONCE)).rowcount
            left = _old_refused(link, before)
            return dropped, (lambda after: _old_refused(after, before) == left) if dropped else None

        return self._file.change(change)

    def taken(self, limit: int) -> tuple[Decision, ...]:
        """The newest decisions first."""
        return self._file.read(lambda link: _decisions(link, TAKEN, max(limit, 0)))

    def wrong_codes(self, capability: str) -> int:
        """How many wrong codes were tried under this capability."""
        return self._file.read(lambda link: cast("int", _rows(link, WRONG_CODES, capability)[0][0]))

    def decision(self, key: str) -> Decision | None:
        """The decision of this key."""
        return self._file.read(lambda link: _decision(link, key))

    def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """Every decision about a run."""
        return self._file.read(lambda link: _decisions(link, DECISIONS, run_id))

    def unended(self) -> tuple[Decision, ...]:
        """Every decision that has not ended."""
        return self._file.read(lambda link: _decisions(link, UNENDED))

    def claim(self, key: str, owner: str) -> Continuation | None:
        """Take a decision to perform it, together with the continuation that it begins."""

        def change(link: sqlite3.Connection) -> tuple[Continuation | None, Stands | None]:
            now = _decision(link, key)
            then = None if now is None else step(now, Claimed(owner))
            review = None if then is None else _review(link, then.pause_id)
            if then is None or review is None:
                return None, None
            begun = begun_by(then, review, _continuations(link, then.run_id))
            if begun is None:
                return None, None
            _move(link, then)
            if begun.number:
                link.execute(CONTINUE, (begun.run_id, begun.number, begun.pause_id, begun.key, begun.owner))
            return begun, lambda after: _decision(after, key) == then

        return self._file.change(change)

    def begin_continuation_delivery(self, run_id: str, number: int, owner: str) -> bool:
        """Pass the delivery boundary of a continuation."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            all_of_run = _continuations(link, run_id)
            if not may_cross(all_of_run, number, owner):
                return False, None
            link.execute(CROSS, (run_id, number))
            return True, lambda after: any(each.crossed for each in _continuations(after, run_id))

        return self._file.change(change)

    def end(self, key: str, ending: Ended, result: RunResult | None = None) -> bool:
        """End a decision, and its continuation with what it came to."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            now = _decision(link, key)
            return _ended(link, now, ending, result) if now is not None else (False, None)

        return self._file.change(change)

    def settle_decision(self, seen: Decision, at: int) -> Decision | None:
        """End a decision whose owner is proven gone, if it still stands as it was seen."""

        def change(link: sqlite3.Connection) -> tuple[Decision | None, Stands | None]:
            now = _decision(link, seen.key)
            if now is None or now != seen:
                return None, None
            open_one = going_on(_continuations(link, now.run_id), now.key)
            crossed = open_one is not None and open_one.crossed
            moved, stands = _ended(link, now, OwnerGone(crossed, at), None)
            return (_decision(link, now.key) if moved else None), stands

        return self._file.change(change)

    def continuations(self, run_id: str) -> tuple[Continuation, ...]:
        """Every continuation of a run."""
        return self._file.read(lambda link: _continuations(link, run_id))

    def ask_opening(self, pause_id: str) -> bool:
        """Wish that the app is opened again for a pause."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            review = _review(link, pause_id)
            if review is None or not still_waits(review):
                return False, None
            link.execute(ASK, (pause_id,))
            number = _rows(link, LAST_OPENING)[0][0]
            return True, lambda after: _rows(after, LAST_OPENING)[0][0] == number

        return self._file.change(change)

    def openings(self) -> tuple[Opening, ...]:
        """The wishes that nobody took up yet."""
        return self._file.read(
            lambda link: tuple(Opening(*cast("tuple[int, str]", row)) for row in _rows(link, OPENINGS))
        )

    def claim_opening(self, number: int, owner: str) -> bool:
        """Take up a wish; the first process does."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            rows = _rows(link, OPENING, number)
            if not owner or not rows or rows[0][2] != "":
                return False, None
            link.execute(CLAIM_OPENING, (owner, number))
            return True, lambda after: _rows(after, OPENING, number)[0][2] == owner

        return self._file.change(change)

    def spend_form(self, digest: str, expires_at: int, now: int) -> bool:
        """Use a form's state; the first call does."""

        def change(link: sqlite3.Connection) -> tuple[bool, Stands | None]:
            link.execute(FORGET_SPENT, (now,))
            if link.execute(SPEND, (digest, expires_at)).rowcount == 0:
                return False, None
            return True, lambda after: bool(_rows(after, SPENT, digest))

        return self._file.change(change)

    def version(self) -> int:
        """A number that differs once another connection changed the ledger."""
        return self._file.read(lambda link: cast("int", _rows(link, "PRAGMA data_version")[0][0]))


# Rows.


def _ended(
    link: sqlite3.Connection, now: Decision, event: Event, result: RunResult | None
) -> tuple[bool, Stands | None]:
    then = step(now, event)
    if then is None:
        return False, None
    open_one = going_on(_continuations(link, now.run_id), now.key)
    if open_one is not None:
        came_to = result_at_end(_first(link, now.run_id), open_one, event, result)
        link.execute(END, (result_text(came_to), open_one.run_id, open_one.number))
    _move(link, then)
    return True, lambda after: _decision(after, now.key) == then


def _first(link: sqlite3.Connection, run_id: str) -> RunResult:
    """The first answer of a run that was decided about."""
    found = [record.result for record in first_records(link, LOAD, run_id) if record.result is not None]
    if not found:
        raise StoreCorruptError("a decision about a run without an answer")
    return found[0]


def _open_reviews(link: sqlite3.Connection, limit: int, after: str | None) -> tuple[Review, ...]:
    found: list[Review] = []
    for row in _rows(link, OPEN, after):
        if len(found) >= limit:
            break
        review = _review(link, cast("str", row[0]))
        if review is not None and still_waits(review):
            found.append(review)
    return tuple(found)


def _review(link: sqlite3.Connection, pause_id: str) -> Review | None:
    kept = _kept(link, pause_id)
    if kept is None:
        return None
    run_id = kept.pause.run_id
    record = load(link, run_id)
    waiting = record is not None and record.phase is Phase.FINISHED
    if record is not None and record.result is not None:
        waiting = waits_for_person(record.result)
    newest = _rows(link, LINEAGE, run_id)[-1][0] == pause_id
    restored = _rows(link, RESTORED, pause_id)[0][0] == 1
    return Review(kept, newest, waiting, _decisions(link, DECISIONS, run_id), restored)


def _kept(link: sqlite3.Connection, pause_id: str) -> KeptPause | None:
    rows = _rows(link, KEPT, pause_id)
    if not rows:
        return None
    body, seal = cast("tuple[str, str]", rows[0])
    issues = tuple(_read(Issue, _ISSUE, row) for row in _rows(link, ISSUES, pause_id))
    try:
        pause = _sure(json.loads(body), Pause)
        return KeptPause(pause=pause, seal=seal, issues=issues)
    except ValueError:
        raise StoreCorruptError("a pause contradicts itself") from None


def _body(pause: Pause) -> str:
    return json.dumps(to_wire(pause), separators=(",", ":"))


def _issue(link: sqlite3.Connection, pause_id: str, issue: Issue) -> None:
    link.execute(ISSUE, (pause_id, *_columns(issue, _ISSUE)))


def _old_refused(link: sqlite3.Connection, before: int) -> int:
    return cast("int", _rows(link, OLD_REFUSED, before)[0][0])


def _decision(link: sqlite3.Connection, key: str) -> Decision | None:
    found = _decisions(link, DECISION, key)
    return found[0] if found else None


def _decisions(link: sqlite3.Connection, query: str, *values: str | int) -> tuple[Decision, ...]:
    return tuple(_read(Decision, _DECISION, row) for row in _rows(link, query, *values))


def _move(link: sqlite3.Connection, then: Decision) -> None:
    names = ("status", "refusal", "finding", "claimed_by", "ended_at", "key")
    link.execute(MOVE, _columns(then, names))


def _continuations(link: sqlite3.Connection, run_id: str) -> tuple[Continuation, ...]:
    return tuple(_continuation(row) for row in _rows(link, CONTINUATIONS, run_id))


def _continuation(row: _Row) -> Continuation:
    run_id, number, pause_id, key, owner, crossed, text = cast("tuple[str, int, str, str, str, int, str | None]", row)
    result = None if text is None else kept_result(text, run_id)
    if text is not None and result is None:
        raise StoreCorruptError("what a continuation came to cannot be read")
    return Continuation(run_id, number, pause_id, key, owner, crossed == 1, result)


def _columns(value: object, names: tuple[str, ...]) -> _Row:
    wire = to_wire(value)
    return tuple(wire.get(name) for name in names)


def _read(cls: type[_T], names: tuple[str, ...], row: _Row) -> _T:
    return _sure({name: value for name, value in zip(names, row, strict=True) if value is not None}, cls)


def _sure(data: object, cls: type[_T]) -> _T:
    found = from_wire(data, cls)
    if not is_successful(found):
        raise StoreCorruptError("a row contradicts itself")
    return found.unwrap()


def _rows(link: sqlite3.Connection, query: str, *values: str | int | None) -> list[_Row]:
    return link.execute(query, values).fetchall()
