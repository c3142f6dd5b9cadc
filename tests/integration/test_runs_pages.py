"""The list of runs of an installation that has been used for years.

Laws:

- 10,000 runs come in pages, the newest first; none is lost, none comes twice, and no page is larger than promised.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from support.command_line import surehand
from support.stores import DONE, draft, result_of
from surehand.core.request.record import RunRecord, finished
from surehand.shell.config import settings
from surehand.shell.store.sqlite import LEDGER, SqliteStore
from surehand.shell.store.sqlite_rows import row_of

RUNS = 10_000
#: The longest page, and what docs/reference/command-line.md promises of one run on it.
PAGE, MOST_BYTES = 1_000, 500


def ended(number: int) -> RunRecord:
    """A run that is over, of a workflow whose name is as long as a name may be."""
    record = draft(number, f"entry-{number}", attempt=1, workflow="w" * 40)
    return finished(record, result_of(record, DONE))


def fill(ledger: Path) -> None:
    """Keep them all at once, as no store would write them."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as link:
        link.execute("BEGIN")
        rows = (row_of(ended(number)) for number in range(RUNS))
        link.executemany(f"INSERT INTO runs SELECT NULL, {', '.join('?' * len(row_of(ended(0))))}", rows)
        link.execute("COMMIT")


def page(home: Path, *more: str) -> dict[str, Any]:
    """One page, held to its size."""
    told = surehand(home, "runs", "list", "--runs-dir", "runs", "--limit", str(PAGE), "--json", *more)
    assert (0, "") == (told.code, told.err)
    found: dict[str, Any] = json.loads(told.out)
    assert len(told.out.encode()) <= MOST_BYTES * len(found["runs"]) + MOST_BYTES
    return found


class TestManyRunsComeInPages:
    """10,000 runs come in pages, the newest first; none is lost, none comes twice, and no page is too large."""

    def test_none_is_lost(self, tmp_path: Path) -> None:
        folder = settings(tmp_path / "runs").state_folder
        SqliteStore.open(folder).close()
        fill(folder / LEDGER)
        found = page(tmp_path)
        pages = [found["runs"]]
        while "next_before" in found:
            found = page(tmp_path, "--before", found["next_before"])
            pages.append(found["runs"])

        assert [run["run_id"] for runs in pages for run in runs] == [draft(n).run_id for n in reversed(range(RUNS))]
        assert max(map(len, pages)) == PAGE

    def test_the_promise_is_written_down(self) -> None:
        text = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")

        assert f"{PAGE:,} runs on one page, {MOST_BYTES} bytes of JSON for each" in text
