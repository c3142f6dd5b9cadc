"""A service whose runs are executed by real worker processes that attend, a desk beside it, and the app's own count."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from attrs import define

from support.attended_worker import APP, EARLY, KILL, MODULE
from support.browser import eventually
from support.service import Bench
from surehand.core.attention.decision import DecisionRequest, Door, Receipt
from surehand.core.attention.pause import Action, AttentionItem
from surehand.core.outcome.result import Mode, RunResult
from surehand.core.workflow.bundle import bundle_digest
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.engines.browser import executor
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.store import open_store

_TESTS = Path(__file__).parents[1]


@define
class AttendedBench:
    """One folder, its service, its desk, and the app."""

    bench: Bench
    desk: AttendedDesk
    app: Path

    def writes(self) -> list[str]:
        """What has reached the app."""
        return self.app.read_text(encoding="utf-8").splitlines() if self.app.exists() else []

    def item_of(self, run_id: str) -> AttentionItem:
        """The item of a run."""
        return next(each for each in self.desk.items(50).items if each.run_id == run_id)

    def ask(self, action: Action, item: AttentionItem) -> DecisionRequest:
        """Decide at the terminal."""
        request = DecisionRequest(item.id, item.capability_digest or "0" * 64, secrets.token_hex(16), confirm=True)
        self.desk.decide(request, action, Door.TERMINAL)
        return request

    def again(self, request: DecisionRequest, action: Action) -> Receipt:
        """The same decision once more."""
        return self.desk.decide(request, action, Door.TERMINAL)

    def ended(self, request: DecisionRequest, run_id: str) -> Receipt:
        """The receipt once the decision has ended, while somebody asks for the run again and again."""
        found: list[Receipt] = []

        def is_over() -> bool:
            self.answer(run_id)
            receipt = self.desk.receipt(request.idempotency_key)
            found[:] = [] if receipt is None else [receipt]
            return receipt is not None and receipt.final

        assert eventually(is_over)
        return found[0]

    def answer(self, run_id: str) -> RunResult:
        """The answer of a run as it stands."""
        result = self.bench.service.current(run_id)
        assert result is not None
        return result


@contextmanager
def attended_bench(folder: Path, *, kill: str | None = None, early: bool = False) -> Generator[AttendedBench]:
    """A bench for a block; ``kill`` is where the first worker there dies, ``early`` an engine that writes too early."""
    app = folder / "app.txt"
    told = {"PYTHONPATH": str(_TESTS), APP: str(app)}
    told |= ({} if kill is None else {KILL: kill}) | ({EARLY: "1"} if early else {})
    state = folder / "state"
    with mock.patch.dict(os.environ, told), mock.patch.object(executor, "WORKER_MODULE", MODULE):
        store = open_store(state)
        worker = WorkerExecutor(state, Mode.SANDBOX, attended=True)
        bench = Bench(state, store=store, executor=worker, digest=bundle_digest(sandbox_bundle()))
        try:
            yield AttendedBench(bench, AttendedDesk.over(store, state), app)
        finally:
            bench.close()
