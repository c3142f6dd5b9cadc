"""The page that says where things are stored, against what is stored."""

import re
from pathlib import Path

import pytest

from support.command_line import surehand
from surehand.shell import identity
from surehand.shell.attended.sealing import ATTENTION
from surehand.shell.authoring.desk import AUTHORED, RECORDINGS
from surehand.shell.fence.journal import JOURNALS
from surehand.shell.orchestration.opening import PLANS
from surehand.shell.orchestration.retention import GOALS
from surehand.shell.sessions import SESSIONS
from surehand.shell.store import claims
from surehand.shell.store.sqlite import CLAIMS, LEDGER
from surehand.shell.traces import TRACES
from surehand.shell.turns import PLACES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## Where things are stored")[2]

#: What stands in the first column of the table, and what the text around it names.
LISTED = {
    name.rstrip("/")
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for name in re.findall(r"`([a-z./-]+)`", line)
}

FOLDERS = [ATTENTION, AUTHORED, RECORDINGS, JOURNALS, PLANS, GOALS, SESSIONS, TRACES, PLACES, "owners", "admission"]
#: SQLite makes it for moments, and in another mode than ours.
PASSING = {"ledger.db-journal"}

KEYS = [identity.KEY_FILE, identity.RECORDING_KEY_FILE, identity.ATTENTION_KEY_FILE]
STORES = [*claims.LEDGER, claims.TURNS, LEDGER, *CLAIMS, "ledger.keys", "claims.keys"]


class TestEverythingThatIsStoredIsListed:
    """Each file and folder below the state folder has its line on the page."""

    @pytest.mark.parametrize("name", sorted({*FOLDERS, *KEYS, *STORES} - PASSING))
    def test_by_name(self, name: str) -> None:
        assert name in LISTED

    def test_after_a_run_and_a_plan(self, tmp_path: Path) -> None:
        inputs, plan = (
            '{"note": "Seen today.", "sandbox_case": "normal"}',
            DOCS / "how-to" / "plans" / "triage_two_notes.toml",
        )
        asked = ("--inputs", "-", "--request-id", "r", "--runs-dir", "runs", "--sandbox-engine", "simulated")
        run = surehand(tmp_path, "run", "add_triage_note", *asked, stdin=inputs)
        gone_through = surehand(tmp_path, "plan", "run", str(plan), *asked, stdin=inputs)
        found = {each.name for each in (tmp_path / "runs" / "surehand").iterdir()}

        assert (0, 0) == (run.code, gone_through.code)
        assert {LEDGER, PLANS} < found
        assert set() == found - LISTED
