"""Damaged stores: whatever was done to the files, no request that may have saved runs again, and no answer lies.

Laws of this module:

- Each cell damages a fresh copy of a whole folder. The copy's seal is first told that it is the original, so that the
  damage alone is judged.
- Every request is asked again through the service. The judge counts saves by a file that no store knows.
- A refusal by name is an honest answer; so is doubt. A run that was answered once is not unknown afterwards.
"""

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from faults.corruption_damage import (
    UNNOTICED,
    Damage,
    cuts,
    filled_with,
    flips,
    header,
    pages,
    removed,
    statement,
    swapped,
)
from faults.corruption_large import control as control_large
from faults.corruption_large import run_large
from faults.result import Control, LayerResult
from support.effects import (
    WORKFLOW,
    OpensPremises,
    ask,
    effects,
    fingerprint_of,
    hand,
    key_of,
    note_effect,
    opens_claims_premises,
    premises_of,
    untrue,
)
from support.stores import BROKEN, DONE, HALTED, MEMORY_DISK, TIMED_OUT, draft, result_of, started
from surehand.core.outcome.evidence import Evidence, Phase
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Premises
from surehand.shell.identity import new_run_id, new_token
from surehand.shell.service import UnknownRunError
from surehand.shell.store.base import RunStore
from surehand.shell.store.seal import SealFile
from surehand.shell.store.sqlite import CLAIMS, SqliteStore
from surehand.shell.store.sqlite_file import FileKind, SqliteFile
from surehand.shell.store.sqlite_schema import APPLICATION_ID, MIGRATIONS

#: Each request: how far it went, how it ended, and whether the app saw a save.
REQUESTS: Final[dict[str, tuple[Phase, Evidence | None, bool]]] = {
    "saved": (Phase.FINISHED, DONE, True),
    "doubtful": (Phase.FINISHED, TIMED_OUT, True),
    "left-behind": (Phase.DELIVERING, None, True),
    "halted": (Phase.FINISHED, HALTED, False),
    "failed": (Phase.FINISHED, BROKEN, False),
    "left-before": (Phase.RESERVED, None, False),
}


@frozen
class Whole:
    """A folder that is in order.

    Args:
        folder: Where it lies.
        sealed: What its seal belongs to.
        runs: The run id of each request.
        answers: The answer of each request that has one.
    """

    folder: Path
    sealed: str
    runs: dict[str, str]
    answers: dict[str, RunResult] = field(factory=dict[str, RunResult])


def _whole(folder: Path, sealed: str, opens: OpensPremises, *, live: bool) -> Whole:
    """Make a folder with every kind of request, and beside it a copy from before they came.

    A live one still has everything in its log.
    """
    building = folder.with_name(f"{folder.name}-building")
    opens(building).store.close()
    shutil.copytree(building, _older(folder))
    runs: dict[str, str] = {}
    answers: dict[str, RunResult] = {}
    premises = opens(building)
    with closing(premises.store) as store:
        for name, (phase, end, _) in REQUESTS.items():
            record = evolve(
                draft(0, name, owner=new_token(), fingerprint=fingerprint_of(building)),
                run_id=new_run_id(),
                request_key=key_of(name),
                workflow=WORKFLOW,
            )
            kept = started(store.reserve(record))
            runs[name] = kept.run_id
            if phase is Phase.DELIVERING or end in {DONE, TIMED_OUT}:
                store.begin_delivery(kept.run_id, kept.owner)
            if end is not None:
                answers[name] = result_of(kept, end)
                store.finish(kept.run_id, kept.owner, answers[name])
        if live:
            shutil.copytree(building, folder)
    if not live:
        shutil.copytree(building, folder)
    return Whole(folder, sealed, runs, answers)


def as_original(folder: Path, sealed: str) -> None:
    """Let a copy count as the folder that it was copied from."""
    seals = SealFile(folder / sealed)
    seal = seals.read()
    assert seal is not None
    seals.write(seal.name, seal.epoch, seal.count)


@frozen
class Cell:
    """One damage to one folder."""

    whole: Whole
    opens: OpensPremises
    damage: Damage

    def __str__(self) -> str:
        """What is needed to do it again."""
        return f"{self.whole.folder.name}: {self.damage.name}"


def judge(cell: Cell, place: Path) -> tuple[list[str], str]:
    """Damage a copy and ask every request again; what is wrong, and how it was answered."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    folder, oracle = place / "state", place / "saves"
    shutil.copytree(cell.whole.folder, folder)
    as_original(folder, cell.whole.sealed)
    for name, (_, _, saved) in REQUESTS.items():
        if saved:
            note_effect(oracle, cell.whole.runs[name])
    cell.damage.do(folder)
    wrong: list[str] = []
    said: Counter[str] = Counter()
    with hand(folder, oracle, cell.opens) as surehand:
        for name in REQUESTS:
            told = ask(surehand, name)
            saves = tuple(save for save in effects(oracle) if save in {cell.whole.runs[name], told.run_id})
            problem = untrue(told, saves) or _contradicts(cell.whole.answers.get(name), told)
            wrong += [f"{cell}: {name}: {problem}"] if problem is not None else []
            said[next((check.value for check in told.failed_checks), told.outcome.value)] += 1
        wrong += [f"{cell}: {name} is unknown" for name in REQUESTS if _is_unknown(surehand.get_run, cell, name)]
    return wrong, "refused" if said.keys() & _REFUSALS else "answered"


_REFUSALS: Final = {"store_corrupt", "store_restored", "store_unavailable", "store_newer", "store_of_other_kind"}


def _contradicts(before: RunResult | None, told: RunResult) -> str | None:
    """Whether an answer takes an earlier one back; doubt and a refusal that claims nothing do not."""
    if before is None or told.outcome in {before.outcome, Outcome.NOT_SURE_IF_SAVED}:
        return None
    if before.safe_to_retry or (told.outcome is Outcome.DID_NOT_RUN and told.record_changed is not RecordChanged.NO):
        return None
    return f"{before.reason.value} became {told.reason.value}"


def _is_unknown(get_run: Callable[[str], RunResult], cell: Cell, name: str) -> bool:
    try:
        get_run(cell.whole.runs[name])
    except UnknownRunError:
        return True
    return False


# The damages.


def _of_ledger(count: Callable[[int], int], older: Path, other: Path, chance: random.Random) -> Iterator[Damage]:
    """Damages to a ledger that was closed."""
    yield from flips("ledger.db", count(120), chance)
    yield from pages("ledger.db", count(60), chance)
    yield from cuts("ledger.db", count(50), chance)
    yield from flips("ledger.seal", count(40), chance)
    yield from cuts("ledger.seal", count(15), chance)
    yield from flips("ledger.keys", count(6), chance)
    yield from cuts("fingerprint.key", count(6), chance)
    yield from flips("fingerprint.key", count(6), chance)
    for names in (("ledger.db",), ("ledger.seal",), ("ledger.keys",), ("fingerprint.key",), ("ledger.lock",)):
        yield removed(*names)
    for same_file in (True, False):
        yield swapped("ledger.db", older, same_file=same_file)
        yield swapped("ledger.db", other, same_file=same_file)
    yield swapped("ledger.seal", other, same_file=True)
    yield swapped("fingerprint.key", other, same_file=True)
    yield filled_with("ledger.db", b"")
    yield filled_with("ledger.db", b"not a ledger at all\n" * 500)
    yield filled_with("ledger.db-wal", b"not a log at all\n" * 500)
    yield filled_with("ledger.db-shm", b"not an index\n" * 5000)
    yield filled_with("ledger.db-journal", b"not a journal\n" * 500)
    yield header(60, (99).to_bytes(4, "big"), "a newer version")
    yield header(60, bytes(4), "no version")
    yield header(68, b"\0\0\0\1", "another application")
    yield header(0, b"SQLite format 4\0", "another format")
    yield header(18, b"\1\1", "no write-ahead log")
    for sql in (
        "DROP TRIGGER runs_stay",
        "DROP INDEX runs_by_request",
        "CREATE TABLE guest (x)",
        "DELETE FROM ledger",
        "UPDATE ledger SET name = 'other'",
    ):
        yield _by_force(sql)


def _by_force(sql: str) -> Damage:
    """A statement that the triggers would refuse is given without them."""
    if not sql.startswith(("DELETE", "UPDATE")):
        return statement(sql)
    wanted = statement(sql)

    def do(folder: Path) -> None:
        for trigger in ("ledger_stays", "ledger_goes_on"):
            statement(f"DROP TRIGGER {trigger}").do(folder)
        wanted.do(folder)

    return Damage(f"{sql}, without triggers", do)


def _of_live_ledger(count: Callable[[int], int], other: Path, chance: random.Random) -> Iterator[Damage]:
    """Damages to a ledger whose changes are all in its log, as a kill leaves it."""
    yield from flips("ledger.db-wal", count(60), chance)
    yield from cuts("ledger.db-wal", count(40), chance)
    yield from flips("ledger.db-shm", count(10), chance)
    yield removed("ledger.db-wal")
    yield removed("ledger.db-shm")
    yield removed("ledger.db-wal", "ledger.db-shm")
    for same_file in (True, False):
        yield swapped("ledger.db-wal", other, same_file=same_file)
    yield filled_with("ledger.db-wal", b"")


def _of_claims(whole: Whole, count: Callable[[int], int], chance: random.Random) -> Iterator[Damage]:
    """Damages to claim files, each of them to any of the files."""
    root = whole.folder
    names = sorted(str(path.relative_to(root)) for path in (root / "claims").rglob("*") if path.is_file())
    for _ in range(count(60)):
        yield from flips(chance.choice(names), 1, chance)
    for _ in range(count(40)):
        yield from cuts(chance.choice(names), 1, chance)
    yield from flips("claims.seal", count(20), chance)
    yield from cuts("claims.seal", count(10), chance)
    for name in ("claims", "claims.seal", "claims.keys", "claims/layout", "claims/runs", "claims/attempts"):
        yield removed(name)
    yield filled_with("claims/layout", b"99")
    yield filled_with("claims/layout", b"1")
    yield filled_with("claims/layout", b"")


def _cells(folder: Path, share: float, chance: random.Random) -> Iterator[Cell]:
    def count(number: int) -> int:
        return max(1, round(number * share))

    ledger = _whole(folder / "ledger", "ledger.db", open_premises, live=False)
    live = _whole(folder / "live-ledger", "ledger.db", open_premises, live=True)
    other = _whole(folder / "other-ledger", "ledger.db", open_premises, live=True)
    claims = _whole(folder / "claim-files", "claims", opens_claims_premises, live=False)
    for whole, opens, damages in (
        (ledger, open_premises, _of_ledger(count, _older(ledger.folder), other.folder, chance)),
        (live, open_premises, _of_live_ledger(count, other.folder, chance)),
        (claims, opens_claims_premises, _of_claims(claims, count, chance)),
    ):
        for damage in damages:
            yield Cell(whole, opens, damage)


def _older(folder: Path) -> Path:
    """Where the copy of a folder lies that knows no request yet."""
    return folder.with_name(f"older-{folder.name}")


class TrustingFile(SqliteFile):
    """The control: it opens whatever SQLite opens."""

    def _require_whole(self, link: object) -> None:
        """Look at nothing."""

    def _require_seal(self) -> None:
        """Look at no seal."""

    def _counted(self, link: object) -> int:
        """Count nothing."""
        del link
        return 0


class TrustingStore(SqliteStore):
    """A ledger in such a file."""

    def __init__(self, folder: Path, *, read_only: bool = False, restored: bool = False) -> None:
        super().__init__(folder, read_only=read_only, restored=restored)
        kind = FileKind(name="ledger", application_id=APPLICATION_ID, migrations=MIGRATIONS, other_kinds=CLAIMS)
        vars(self)["file"] = TrustingFile(folder, kind, read_only=read_only, restored=restored)


def opens_trusting(folder: Path) -> Premises:
    """Premises whose store trusts every file."""

    def opens(state: Path) -> RunStore:
        return TrustingStore.open(state)

    return premises_of(folder, opens)


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    chance = random.Random(seed)  # noqa: S311 - what is damaged
    violations: list[str] = []
    answered: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="surehand-corruption-", dir=MEMORY_DISK) as place:
        folder = Path(place)
        cells = list(_cells(folder, 3.0 if profile == "full" else 0.15, chance))
        for number, cell in enumerate(cells, start=1):
            wrong, how = judge(cell, folder / "cell")
            violations += wrong
            answered[how] += 1
            if number % 100 == 0:
                report(f"corruption: {number} of {len(cells)} cells, {len(violations)} violations")
        large, wrong = run_large(folder, 3.0 if profile == "full" else 0.1, chance)
        violations += wrong
        controls = (_control(cells, folder / "cell"), control_large(folder, chance))
    notes = (
        f"refused by name in {answered['refused']} cells, answered in {answered['answered']}",
        f"{large} cells are of a ledger that is too large to be read through at its opening",
        *UNNOTICED,
    )
    return LayerResult("corruption", len(cells) + large, tuple(violations), controls, time.monotonic() - began, notes)


def _control(cells: list[Cell], place: Path) -> Control:
    """A store that trusts its files, where the log is gone or a backup was put back."""
    trusting = [evolve(cell, opens=opens_trusting) for cell in cells if _is_for_control(cell)]
    wrong = [said for cell in trusting for said in judge(cell, place)[0]]
    evidence = f"{len(wrong)} wrong answers in {len(trusting)} cells"
    return Control("a store that trusts whatever SQLite opens", bool(wrong), evidence)


def _is_for_control(cell: Cell) -> bool:
    return cell.damage.name in {"ledger.db-wal gone", "ledger.db of older-ledger put as a new file"}
