"""A service for the server's tests: the same interface as the real one, and runs that the test holds in its hand.

What a run does is said by its input ``note``:

- ``now``: it is final at once.
- ``hold``: it runs until it is cancelled, and then ends as canceled.
- ``saved``: it has passed the boundary; a cancel is noted, and it ends as saved one second later.
- ``noisy``: it prints, writes to descriptor 1 and starts a child that writes to its standard output.
- ``raises``: the service raises an exception whose text nobody may see.

A workflow named ``reason_`` and a reason code answers with that reason. Every event goes, one a line, to the file
named by ``SUREHAND_TEST_EVENTS``.
"""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import REASONS, Outcome, Reason
from surehand.core.outcome.result import (
    CheckedHow,
    EngineName,
    InputProblem,
    InputProblemCode,
    Mode,
    Proof,
    RunResult,
    as_replayed,
    is_final,
)
from surehand.core.outcome.wording import SIMULATED_PREFIX, WORDING
from surehand.core.overview import AttemptReport, RunReport, Unavailable, WorkflowOverview, opaque_id
from surehand.core.workflow.card import Card, CardInput
from surehand.core.workflow.params import ParameterType
from surehand.shell.catalog import WorkflowEntry

#: The text that an exception of the service carries.
CANARY: Final = "canary-4711-in-an-exception"

#: Seconds that a run past the boundary takes to its end.
READ_BACK_SECONDS: Final = 1.0


def result_of(reason: Reason, run_id: str) -> RunResult:
    """A legal result with this reason, from a simulated run."""
    row = REASONS[reason]
    return RunResult(
        run_id=run_id,
        outcome=row.outcome,
        reason=reason,
        record_changed=row.record_changed,
        safe_to_retry=row.safe_to_retry,
        next_step=row.next_step,
        proof=Proof.SIMULATED if row.outcome is Outcome.DONE else Proof.NONE,
        checked_how=CheckedHow.SYSTEM_OF_RECORD if row.outcome is Outcome.DONE else CheckedHow.UNCHECKED,
        mode=Mode.SANDBOX,
        engine=EngineName.SIMULATED,
        attempt=1,
        replayed=False,
        record_saved=True,
        what_happened=SIMULATED_PREFIX + WORDING[reason].what_happened,
        next_action=WORDING[reason].next_action,
    )


@frozen
class FakeTicket:
    """The ticket of one call."""

    run_id: str
    result: RunResult
    started_here: bool


class FakeService:
    """Holds its runs in memory; every method may be called from any thread."""

    def __init__(self, cards: tuple[Card, ...] = ()) -> None:
        self._cards = cards
        self._lock = threading.Lock()
        self._runs: dict[str, RunResult] = {}
        self._saved: set[str] = set()
        self._watchers: dict[str, list[Future[RunResult]]] = {}
        note("built")

    def list_workflows(self) -> tuple[Card, ...]:
        """The cards that it was made with."""
        return self._cards

    def unavailable(self) -> tuple[Unavailable, ...]:
        """Nothing."""
        return ()

    def workflows(self) -> tuple[WorkflowEntry, ...]:
        """None: its cards stand for themselves."""
        return ()

    def overview(self, workflow: str) -> WorkflowOverview | None:
        """What stands on the card."""
        card = next((each for each in self._cards if each.name == workflow), None)
        if card is None:
            return None
        return WorkflowOverview(
            id=opaque_id(card.name), available=True, name=card.name, runs_enabled=True, ready=True, card=card
        )

    def report(self, run_id: str) -> RunReport | None:
        """A run with one attempt."""
        result = self._runs.get(run_id)
        if result is None:
            return None
        attempt = AttemptReport(
            run_id=run_id,
            attempt=result.attempt,
            phase=Phase.FINISHED,
            outcome=result.outcome,
            reason=result.reason,
            record_changed=result.record_changed,
            same_version=True,
        )
        return RunReport(
            run_id=run_id,
            current_version=True,
            attempts=(attempt,),
            input_problems=len(result.input_problems),
            failed_checks=len(result.failed_checks),
            reported_late=False,
        )

    def protected_report(self, run_id: str) -> tuple[str | None, RunResult | None]:  # noqa: ARG002 - nothing is kept
        """Nothing."""
        return None, None

    def run_workflow(
        self,
        workflow: str,
        inputs: Mapping[str, object],
        request_id: str,
        *,
        url: str | None = None,  # noqa: ARG002 - it has no app
    ) -> FakeTicket:
        """Start what the input ``note`` says, or join it."""
        run_id = "run_" + hashlib.sha256(request_id.encode()).hexdigest()[:32]
        with self._lock:
            known = self._runs.get(run_id)
            if known is not None:
                return FakeTicket(run_id, as_replayed(known), started_here=False)
            self._runs[run_id] = self._first_result(run_id, workflow, inputs)
            note(f"started {run_id}")
            return FakeTicket(run_id, self._runs[run_id], started_here=True)

    def watch(self, run_id: str) -> Future[RunResult]:
        """A future that completes when the run is final."""
        waiting: Future[RunResult] = Future()
        note(f"watched {run_id}")
        with self._lock:
            known = self._runs[run_id]
            if not is_final(known):
                self._watchers.setdefault(run_id, []).append(waiting)
                return waiting
        waiting.set_result(known)
        return waiting

    def current(self, run_id: str) -> RunResult | None:
        """What is known of the run."""
        return self._runs.get(run_id)

    def cancel(self, run_id: str) -> None:
        """Stop a run that is held; a saved one goes on to its end."""
        note(f"cancelled {run_id}")
        if run_id in self._saved:
            ending = threading.Timer(READ_BACK_SECONDS, self.finish, (run_id, Reason.SAVED_AND_CHECKED))
            ending.daemon = True
            ending.start()
        elif not is_final(self._runs[run_id]):
            self.finish(run_id, Reason.CANCELED)

    def close(self) -> None:
        """Note that it was closed."""
        note("closed")

    def finish(self, run_id: str, reason: Reason) -> None:
        """End a run for this reason."""
        with self._lock:
            self._runs[run_id] = final = result_of(reason, run_id)
            watchers = self._watchers.pop(run_id, [])
        note(f"finished {run_id} {reason.value}")
        for waiting in watchers:
            waiting.set_result(final)

    def _first_result(self, run_id: str, workflow: str, inputs: Mapping[str, object]) -> RunResult:
        if workflow.startswith("reason_"):
            return result_of(Reason(workflow.removeprefix("reason_")), run_id)
        match inputs.get("note"):
            case "hold":
                return result_of(Reason.RUNNING, run_id)
            case "saved":
                self._saved.add(run_id)
                return result_of(Reason.RUNNING, run_id)
            case "noisy":
                be_noisy()
            case "raises":
                raise RuntimeError(CANARY)
            case str() as text if not _is_unicode(text):
                problem = InputProblem("note", InputProblemCode.NOT_UNICODE)
                return evolve(result_of(Reason.INVALID_INPUT, run_id), input_problems=(problem,))
            case _:
                pass
        return result_of(Reason.SAVED_AND_CHECKED, run_id)


def be_noisy() -> None:
    """Write to standard output in every way that a library could."""
    print("noise from print")  # noqa: T201 - the noise that is tested
    sys.stdout.flush()
    os.write(1, b"noise from descriptor 1\n")
    subprocess.run([sys.executable, "-c", "print('noise from a child')"], check=True)


def note(event: str) -> None:
    """Append one line to the file of events."""
    path = os.environ.get("SUREHAND_TEST_EVENTS")
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as events:
            events.write(event + "\n")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cards(count: int) -> tuple[Card, ...]:
    """This many cards, each with more text than most."""
    return tuple(_card(f"workflow_{number:03}") for number in range(count))


def _card(name: str) -> Card:
    shown = CardInput(
        name="note",
        type=ParameterType.TEXT,
        title="Note",
        required=True,
        description="What is entered. \u00c4\u2028" + "x" * 200,
        max_length=4_000,
    )
    return Card(
        name=name, title="A workflow", purpose="Enters a note.", done_means="The note was saved.", inputs=(shown,)
    )
