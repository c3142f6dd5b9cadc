"""A ledger too large to be read through at every opening: damage to one page must not make it forget a request.

Laws of this module:

- Damage goes to where it matters: to every place at which the file holds a request's key, and to pages anywhere.
- Judged is the gate alone: no request that was done starts again. A refusal is as good as an answer.
"""

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from unittest import mock

from attrs import evolve

from faults.corruption_damage import Damage, flip, flips, pages
from faults.result import Control
from support.stores import DONE, draft, key, result_of
from surehand.core.outcome.evidence import Phase
from surehand.core.request.gate import Start
from surehand.shell.store import sqlite, sqlite_file, sqlite_rows, sqlite_schema
from surehand.shell.store.base import StoreError
from surehand.shell.store.seal import SealFile
from surehand.shell.store.sqlite import SqliteStore

#: Requests in the ledger; it then has more pages than are read at an opening.
REQUESTS: Final = 3000

#: Requests that are asked again in each cell, beside those whose keys were damaged.
ASKED: Final = 150


def build(folder: Path) -> None:
    """A ledger of so many requests, each of which was done."""
    SqliteStore.open(folder).close()
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as link:
        link.execute("BEGIN")
        for number in range(REQUESTS):
            record = evolve(draft(number, f"entry-{number}"), attempt=1, phase=Phase.FINISHED)
            row = sqlite_rows.row_of(evolve(record, result=result_of(record, DONE)))
            link.execute(sqlite_rows.INSERT, row)
        link.execute("COMMIT")
        (size,) = link.execute("PRAGMA page_count").fetchone()
    assert size > sqlite_file.PAGES_READ_AT_OPENING


def _key_flips(content: bytes, numbers: list[int], chance: random.Random) -> Iterator[tuple[Damage, int]]:
    """One bit of a key, at each place where the file holds it."""
    for number in numbers:
        for found in re.finditer(re.escape(key(f"entry-{number}").encode()), content):
            place = found.start() + chance.randrange(64)

            def do(folder: Path, place: int = place) -> None:
                flip(folder / "ledger.db", place, 0)

            yield Damage(f"bit 0 of byte {place}, in the key of entry-{number}", do), number


def run_large(folder: Path, share: float, chance: random.Random) -> tuple[int, list[str]]:
    """Run the cells; how many there were, and what is wrong."""
    whole = folder / "large-ledger"
    build(whole)
    content = (whole / "ledger.db").read_bytes()
    numbers = chance.sample(range(REQUESTS), max(2, round(60 * share)))
    anywhere = [*flips("ledger.db", round(60 * share), chance), *pages("ledger.db", round(60 * share), chance)]
    cells = [*_key_flips(content, numbers, chance), *((damage, 0) for damage in anywhere)]
    asked = chance.sample(range(REQUESTS), ASKED)
    return len(cells), [said for damage, number in cells for said in _judge(whole, damage, [number, *asked])]


def _judge(whole: Path, damage: Damage, numbers: list[int]) -> list[str]:
    folder = whole.with_name("large-cell")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    seals = SealFile(folder / "ledger.db")
    seal = seals.read()
    assert seal is not None
    seals.write(seal.name, seal.epoch, seal.count)
    damage.do(folder)
    try:
        store = SqliteStore.open(folder)
    except StoreError:
        return []
    with closing(store):
        again = [number for number in numbers if _starts(store, number)]
    return [f"large ledger: {damage.name}: entry-{number} starts again" for number in again]


def _starts(store: SqliteStore, number: int) -> bool:
    try:
        return isinstance(store.reserve(draft(100_000 + number, f"entry-{number}")), Start)
    except StoreError:
        return False


def control(folder: Path, chance: random.Random) -> Control:
    """A ledger that keeps its requests in one place only."""
    (folder / "single").mkdir()
    without_requests = (*sqlite_schema.MIGRATIONS[:3], *sqlite_schema.MIGRATIONS[4:])
    with mock.patch.object(sqlite, "MIGRATIONS", without_requests):
        cells, wrong = run_large(folder / "single", 0.05, chance)
    return Control(
        "a ledger that keeps its requests in one place only",
        bool(wrong),
        f"{len(wrong)} requests started again in {cells} cells",
    )
