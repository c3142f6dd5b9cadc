"""A service that was closed opens nothing again, whatever still asks it."""

import threading
from pathlib import Path

from support.effects import INPUTS, WORKFLOW, ask, hand
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import FailedCheck, Mode
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Catalog, Premises
from surehand.shell.service import Service


class TestClosed:
    """Closing is the end: neither a late call nor the thread that looks after other processes opens the folder."""

    def test_a_late_call_is_refused_and_opens_nothing(self, tmp_path: Path) -> None:
        opened: list[Path] = []

        def opens() -> Premises:
            opened.append(tmp_path)
            return open_premises(tmp_path)

        service = Service(catalog=Catalog(Mode.SANDBOX), open_premises=opens)
        service.run_workflow(WORKFLOW, INPUTS, "entry-1")
        service.close()
        late = service.run_workflow(WORKFLOW, INPUTS, "entry-1").result

        assert (Outcome.DID_NOT_RUN, (FailedCheck.STORE_UNAVAILABLE,)) == (late.outcome, late.failed_checks)
        assert 1 == len(opened)

    def test_a_sweep_that_comes_late_opens_nothing(self, tmp_path: Path) -> None:
        opened = threading.Event()

        def opens() -> Premises:
            assert not opened.is_set()
            opened.set()
            return open_premises(tmp_path)

        service = Service(catalog=Catalog(Mode.SANDBOX), open_premises=opens)
        service.close()
        service._sweep()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what its thread does when it is late

        assert not opened.is_set()

    def test_nothing_is_left_behind_that_could_write(self, tmp_path: Path) -> None:
        for number in range(20):
            with hand(tmp_path / "runs", tmp_path / "saves") as surehand:
                ask(surehand, f"entry-{number}")
            names = {path.name for path in (tmp_path / "runs").iterdir()}

            assert not names & {"ledger.db-wal", "ledger.db-shm"}
