"""Runs that stopped for a person, in a state folder, and somebody who carries out what is decided about them."""

from base64 import b64encode
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from support.stores import DONE, HALTED, TIMED_OUT, draft, result_of
from surehand.core.attention.capability import issue_at
from surehand.core.attention.decision import DecisionStatus, Ended, Finding, status_after
from surehand.core.attention.evidence import LocalEvidence, SealedEvidence, Value, sealed
from surehand.core.attention.pause import IN_WINDOW, DeliveryState, KeptPause
from surehand.core.outcome.evidence import Evidence, PauseCategory
from surehand.core.workflow.commands import Record, Records
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import Stop, issue_anew, keep_stop
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.identity import attention_key
from surehand.shell.locks import OwnerLock
from surehand.shell.store import open_store
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import RunStore

#: Words that stand in the evidence of every stop, and that no agent may see.
TYPED: Final = "canary of a note nr-4711"
SEEN: Final = "canary of a label \x1b[31m"
BORN: Final = "1901-03-14 canary"
PLACE: Final = "http://canary.example/patients/nr-4711"
CANARIES: Final = ("canary", "nr-4711", "add_triage_note")

#: A picture of one point.
FRAME: Final = b64encode(b"\x89PNG\r\n\x1a\n canary").decode()


@frozen
class Stopped:
    """A run that stopped, and its pause."""

    run_id: str
    attention_id: str
    kept: KeptPause


class StoppedRuns:
    """Runs of one state folder.

    Args:
        store: Its ledger.
        folder: The folder.
    """

    def __init__(self, store: RunStore, folder: Path) -> None:
        attention = attention_of(store)
        assert attention is not None
        self.store = store
        self.attention = attention
        self.files = EvidenceFiles(folder, attention_key(folder))
        self.window = OwnerLock.acquire(folder)
        self._number = 0

    def stop(
        self,
        category: PauseCategory = PauseCategory.HUMAN_REQUIRED,
        delivery: DeliveryState = DeliveryState.NOT_DELIVERED,
        *,
        window: bool = True,
        skippable: bool = False,
    ) -> Stopped:
        """One run that stops now."""
        self._number += 1
        record = draft(self._number, f"entry-{self._number}", owner=self.window.token)
        self.store.reserve(record)
        self.store.mark_started(record.run_id, record.owner)
        record = self.store.load(record.run_id) or record
        sent = delivery is not DeliveryState.NOT_DELIVERED
        if sent:
            assert self.store.begin_delivery(record.run_id, record.owner)
        stop = Stop(
            category=category,
            at=3,
            before_save=not sent,
            skippable=skippable,
            delivery=delivery,
            evidence=evidence(sent),
            owner=self.window.token if window else "",
        )
        kept = keep_stop(self.attention, self.files, record, {"note": TYPED}, stop, instants_of(SYSTEM_CLOCK))
        assert self.store.finish(record.run_id, record.owner, result_of(record, TIMED_OUT if sent else HALTED))
        return Stopped(record.run_id, kept.pause.pause_id, kept)

    def let_expire(self, stopped: Stopped) -> None:
        """Issue a pause for a term that is over."""
        instants = instants_of(SYSTEM_CLOCK)
        issue = issue_at(instants, stopped.kept.issue.number + 1, self.window.token, 0)
        assert self.attention.issue(stopped.attention_id, issue)

    def issue_again(self, stopped: Stopped) -> None:
        """Issue a pause anew, so that what was shown before is outdated."""
        review = self.attention.review(stopped.attention_id)
        assert review is not None
        assert issue_anew(self.attention, review.kept, self.window.token, instants_of(SYSTEM_CLOCK)) is not None

    def perform(self, evidence: Evidence = DONE) -> list[DecisionStatus]:
        """Carry out everything that was decided and waits for it: the end of each."""
        return [status for decision in self.attention.unended() if (status := self._perform(decision.key, evidence))]

    def _perform(self, key: str, evidence: Evidence) -> DecisionStatus | None:
        continuation = self.attention.claim(key, self.window.token)
        decision = self.attention.decision(key)
        if continuation is None or decision is None:
            return None
        if decision.action not in IN_WINDOW:
            ending = Ended(self.window.token, DecisionStatus.RECONCILED, SYSTEM_CLOCK.now(), finding=Finding.DIFFERS)
            return ending.status if self.attention.end(key, ending) else None
        if evidence is DONE:
            self.attention.begin_continuation_delivery(decision.run_id, continuation.number, self.window.token)
        record = self.store.load(decision.run_id)
        assert record is not None
        result = result_of(record, evidence)
        ending = Ended(self.window.token, status_after(result), SYSTEM_CLOCK.now())
        return ending.status if self.attention.end(key, ending, result) else None

    def close(self) -> None:
        """Let the windows go."""
        self.window.release()


def evidence(sent: bool) -> SealedEvidence:
    records = Records((Record("k", {"note": TYPED}),))
    return SealedEvidence(
        inputs=(Value("note", TYPED),),
        guarded=sealed(records),
        baseline=sealed(records) if sent else None,
        local=LocalEvidence(
            control=SEEN,
            role="textbox",
            address=PLACE,
            identity=(Value("born", BORN),),
            values=(Value("note", TYPED),),
            frame=FRAME,
        ),
    )


@contextmanager
def runs_of_home(home: Path) -> Generator[StoppedRuns]:
    """Runs of the installation whose home is this folder."""
    folder = home / "runs" / "surehand"
    folder.mkdir(parents=True)
    with closing(open_store(folder)) as store:
        made = StoppedRuns(store, folder)
        yield made
        made.close()
