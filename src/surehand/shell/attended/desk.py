"""The desk at which people decide about stopped runs: one for every door.

Laws of this module:

- Every door lists, shows and decides here, and nothing else writes a decision.
- The capability is verified inside the transaction that keeps the decision, against the pause as it is in it; so is the
  code, where the door asks for one.
- Every refusal is a closed code and leaves an audit line, and a line of nobody's is credited to nobody.
- The operator is the account under which this process acts; no door can say another, and without one nothing is
  taken.
- The desk performs nothing: who holds the live window finds the decision in the ledger. Waiting is bounded.
- Evidence is opened for the operator at this computer only: no door of an agent asks for it.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Self, assert_never

from attrs import frozen
from returns.pipeline import is_successful
from returns.result import Failure, Result

from surehand.core.attention.capability import (
    CODE_TRIES,
    DecisionRefusal,
    Instants,
    VerifiedCapability,
    code_of,
    derived_key,
    same_code,
    verify,
)
from surehand.core.attention.decision import (
    Decision,
    DecisionRequest,
    DecisionStatus,
    Door,
    Known,
    LogLine,
    NotTaken,
    Receipt,
    RefusedDecision,
    Review,
    Taken,
    Verdict,
    decision_key,
    is_over,
    judge,
    log_of,
    receipt_of,
    refusal_receipt,
)
from surehand.core.attention.evidence import LocalEvidence
from surehand.core.attention.pause import IN_WINDOW, Action, AttentionItem, AttentionPage
from surehand.core.attention.review import bare_pause, bare_pause_id, item_of
from surehand.core.schema import Text, matches
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import issue_anew
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.identity import UnknownAccountError, attention_key, os_account
from surehand.shell.locks import is_alive
from surehand.shell.store import open_store
from surehand.shell.store.attention import AttentionStore, Judge, attention_of
from surehand.shell.store.base import RunStore, StoreUnavailableError

#: Runs without a pause that get one whenever the queue is listed.
_ADOPTED_AT_ONCE: Final = 100
_PAGE_MOST: Final = 100
_LOOK_SECONDS: Final = 0.05

_PAUSE_ID: Final = Text(pattern="^att_[0-9a-f]{24}$")
_DIGEST: Final = Text(pattern="^[0-9a-f]{64}$")


class StoreWithoutAttentionError(Exception):
    """The ledger of this folder is of a kind that keeps no decisions."""


@frozen
class Shown:
    """An item with what the operator at this computer may see of it.

    Args:
        item: What everybody may see.
        workflow: The name of the workflow.
        evidence: What was sealed; ``None`` when there is none, or it cannot be opened.
        receipts: Every decision about its run, oldest first.
    """

    item: AttentionItem
    workflow: str
    evidence: LocalEvidence | None
    receipts: tuple[Receipt, ...]


class AttendedDesk:
    """Lists, shows and takes decisions from one state folder. All methods are safe to call from any thread."""

    def __init__(  # noqa: PLR0913 - what tests turn: the account, the clocks, and who lives
        self,
        store: AttentionStore,
        files: EvidenceFiles,
        *,
        clock: Clock = SYSTEM_CLOCK,
        account: Callable[[], str] = os_account,
        instants: Callable[[], Instants] | None = None,
        lives: Callable[[str], bool] | None = None,
        code_required: bool = True,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.store: Final = store
        self.files: Final = files
        self._clock: Final = clock
        self._account: Final = account
        self._instants: Final[Callable[[], Instants]] = instants or partial(instants_of, clock)
        self._lives: Final[Callable[[str], bool]] = lives or partial(is_alive, files.state_folder)
        self._code_required: Final = code_required
        self._close: Final = close

    @classmethod
    def open(cls, state_folder: Path, *, clock: Clock = SYSTEM_CLOCK, code_required: bool = True) -> Self:
        """The desk of a state folder, with a store of its own.

        Raises:
            StoreWithoutAttentionError: The ledger is of a kind that keeps no decisions.
            StoreError: The ledger cannot be opened.
            DamagedKeyError: The key is damaged.
            UnsafeFileError: Something other than a file or folder of ours stands there.
            OSError: The file system refuses.
        """
        store = open_store(state_folder)
        try:
            return cls.over(store, state_folder, clock=clock, code_required=code_required, close=store.close)
        except BaseException:
            store.close()
            raise

    @classmethod
    def over(
        cls,
        store: RunStore,
        state_folder: Path,
        *,
        clock: Clock = SYSTEM_CLOCK,
        code_required: bool = True,
        close: Callable[[], None] = lambda: None,
    ) -> Self:
        """The desk over a store that is open already.

        Raises:
            StoreWithoutAttentionError: The ledger is of a kind that keeps no decisions.
            DamagedKeyError: The key is damaged.
            UnsafeFileError: Something other than a file or folder of ours stands there.
            OSError: The file system refuses.
        """
        attention = attention_of(store)
        if attention is None:
            raise StoreWithoutAttentionError
        files = EvidenceFiles(state_folder, attention_key(state_folder))
        return cls(attention, files, clock=clock, code_required=code_required, close=close)

    def close(self) -> None:
        """Close the store that ``open`` opened."""
        self._close()

    # Looking.

    def items(self, limit: int = 20, after: str | None = None) -> AttentionPage:
        """A page of the queue, newest first.

        Args:
            limit: At most so many, 1 to 100.
            after: The ``next`` of the page before.

        Raises:
            StoreError: The ledger cannot answer.
        """
        self._adopt()
        most = min(max(limit, 1), _PAGE_MOST)
        reviews = self.store.open_reviews(most + 1, after)
        more = len(reviews) > most
        shown = reviews[:most]
        return AttentionPage(items=tuple(map(self._item, shown)), next=shown[-1].kept.pause.pause_id if more else None)

    def item(self, attention_id: str) -> AttentionItem | None:
        """One item, also one that waits for nobody any more; ``None`` for an unknown one.

        Raises:
            StoreError: The ledger cannot answer.
        """
        review = self._review(attention_id)
        return None if review is None else self._item(review)

    def show(self, attention_id: str) -> Shown | None:
        """One item with what only the operator at this computer may see.

        Raises:
            StoreError: The ledger cannot answer.
        """
        review = self._review(attention_id)
        if review is None:
            return None
        kept = self.files.read(review.kept.pause)
        return self._shown(review, None if kept is None else kept.local)

    def glance(self, attention_id: str) -> Shown | None:
        """The same, without opening what was sealed.

        Raises:
            StoreError: The ledger cannot answer.
        """
        review = self._review(attention_id)
        return None if review is None else self._shown(review, None)

    def evidence(self, attention_id: str) -> LocalEvidence | None:
        """What was sealed about an item, for the operator at this computer alone.

        Raises:
            StoreError: The ledger cannot answer.
        """
        shown = self.show(attention_id)
        return None if shown is None else shown.evidence

    def code(self, attention_id: str, action: Action) -> str | None:
        """The short code for an action in the live window; ``None`` where the item does not allow it now.

        Raises:
            StoreError: The ledger cannot answer.
        """
        review = self._review(attention_id)
        if review is None or action not in IN_WINDOW or action not in self._item(review).allowed_actions:
            return None
        return code_of(self.files.key, review.kept, action)

    def receipt(self, idempotency_key: str) -> Receipt | None:
        """The receipt of the decision under this key; ``None`` when none was taken under it.

        Raises:
            StoreError: The ledger cannot answer.
        """
        kept = self.store.decision(decision_key(idempotency_key))
        return None if kept is None else receipt_of(kept)

    def refused(self, limit: int = 50) -> tuple[RefusedDecision, ...]:
        """The newest decisions that were not taken, for the operator at this computer.

        Raises:
            StoreError: The ledger cannot answer.
        """
        return self.store.refused(limit)

    def log(self, limit: int = 50) -> tuple[LogLine, ...]:
        """What was decided and what was refused, newest first, for the operator at this computer.

        Raises:
            StoreError: The ledger cannot answer.
        """
        return log_of(self.store.taken(limit), self.store.refused(limit), limit)

    # Deciding.

    def foresee(self, request: DecisionRequest, action: Action, door: Door) -> Receipt | None:
        """What can be said of a decision before a person is asked to confirm it; nothing is taken.

        Args:
            request: The four members that a door sends.
            action: What would be decided.
            door: Where it came in.

        Returns:
            The receipt of the decision that the key stands for, or why it would be refused; ``None`` when the person is
            to be asked.

        Raises:
            StoreError: The ledger cannot answer.
        """
        asked = self._asked(request, action, door)
        early = self._refused_early(asked, request)
        verdict = NotTaken(early) if early is not None else self._foreseen(asked)
        return None if isinstance(verdict, Taken) else self._receipt(asked, verdict, 0.0)

    def decide(
        self, request: DecisionRequest, action: Action, door: Door, code: str | None = None, *, wait: float = 0.0
    ) -> Receipt:
        """Take a decision, or say why not; the same key with the same content gives the same receipt.

        Args:
            request: The four members that a door sends.
            action: What was decided.
            door: Where it came in.
            code: The code that the person typed, where the door asks for one.
            wait: Seconds to wait for the end of a decision that somebody has to perform.

        Raises:
            StoreError: The ledger cannot answer; the same key may be asked again.
        """
        asked = self._asked(request, action, door)
        early = self._refused_early(asked, request)
        verdict = NotTaken(early) if early is not None else self.store.decide(asked, self._judge_with(asked, code))
        return self._receipt(asked, verdict, wait)

    def renew(self, attention_id: str) -> AttentionItem | None:
        """Give an item that waits a new term, as the operator at this computer; ``None`` when it cannot have one.

        The one who holds its live window keeps it. Capabilities from before are outdated.

        Raises:
            StoreError: The ledger cannot answer.
        """
        review = self._review(attention_id)
        if review is None:
            return None
        owner = review.kept.issue.owner
        issued = issue_anew(self.store, review.kept, owner if self._alive(owner) else "", self._instants())
        return None if issued is None else self.item(attention_id)

    def ask_opening(self, attention_id: str) -> bool:
        """Wish that a living process opens the app again for an item.

        Raises:
            StoreError: The ledger cannot answer.
        """
        return self.store.ask_opening(attention_id)

    def spend_form(self, digest: str, expires_at: int) -> bool:
        """Use the state of a form; the first call does.

        Raises:
            StoreError: The ledger cannot answer.
        """
        return self.store.spend_form(digest, expires_at, max(self._instants().now, 0))

    def key_for(self, purpose: str) -> bytes:
        """A key of this folder for one purpose of a door, 32 bytes."""
        return derived_key(self.files.key, f"door/{purpose}")

    def _asked(self, request: DecisionRequest, action: Action, door: Door) -> Decision:
        try:
            operator = self._account().strip()
        except UnknownAccountError:
            operator = ""
        return Decision(
            key=decision_key(request.idempotency_key),
            pause_id=request.attention_id,
            run_id="",
            action=action,
            capability=request.capability_digest,
            operator=operator,
            door=door,
            status=DecisionStatus.PREPARED,
            decided_at=max(self._instants().now, 0),
        )

    def _refused_early(self, asked: Decision, request: DecisionRequest) -> DecisionRefusal | None:
        """Why a decision is not even judged. What was taken under its key is answered, whatever holds now."""
        if self.store.decision(asked.key) is not None:
            return None
        if not asked.operator:
            return DecisionRefusal.OPERATOR_UNKNOWN
        if request.confirm is not True:
            return DecisionRefusal.NOT_CONFIRMED
        closed = self._asks_code(asked) and self.store.wrong_codes(asked.capability) >= CODE_TRIES
        return DecisionRefusal.CODE_DOOR_CLOSED if closed else None

    def _asks_code(self, asked: Decision) -> bool:
        return self._code_required and asked.door is Door.MCP_FORM and asked.action in IN_WINDOW

    def _foreseen(self, asked: Decision) -> Verdict:
        return self._judge(asked)(self._review(asked.pause_id), self.store.decision(asked.key))

    def _judge(self, asked: Decision) -> Judge:
        return lambda review, under_key: judge(review, under_key, asked, self._verified(review, asked))

    def _judge_with(self, asked: Decision, code: str | None) -> Judge:
        """The judge that wants the code as well; one is wrong only under a capability that is in order otherwise."""

        def judged(review: Review | None, under_key: Decision | None) -> Verdict:
            verdict = self._judge(asked)(review, under_key)
            if not isinstance(verdict, Taken) or not self._asks_code(asked) or self._is_code(review, asked, code):
                return verdict
            return NotTaken(DecisionRefusal.CODE_WRONG)

        return judged

    def _is_code(self, review: Review | None, asked: Decision, code: str | None) -> bool:
        shown = None if review is None else code_of(self.files.key, review.kept, asked.action)
        return shown is not None and code is not None and same_code(shown, code)

    def _receipt(self, asked: Decision, verdict: Verdict, wait: float) -> Receipt:
        match verdict:
            case Known(decision) | Taken(decision):
                return receipt_of(self._awaited(decision, wait))
            case NotTaken(refusal):
                return self._refuse(asked, refusal)
            case _:  # pragma: no cover
                assert_never(verdict)

    def _verified(self, review: Review | None, asked: Decision) -> Result[VerifiedCapability, DecisionRefusal]:
        if review is None:
            return Failure(DecisionRefusal.UNKNOWN_ITEM)
        verified = verify(self.files.key, review.kept, asked.capability, asked.action, self._instants())
        gone = asked.action in IN_WINDOW and not self._alive(review.kept.issue.owner)
        return Failure(DecisionRefusal.WINDOW_GONE) if gone and is_successful(verified) else verified

    def _refuse(self, asked: Decision, refusal: DecisionRefusal) -> Receipt:
        review = self._review(asked.pause_id)
        refused = RefusedDecision(
            key=asked.key,
            pause_id="" if review is None else asked.pause_id,
            action=asked.action,
            capability=asked.capability if matches(_DIGEST, asked.capability) else "",
            operator=asked.operator,
            door=asked.door,
            refusal=refusal,
            refused_at=asked.decided_at,
        )
        self.store.note_refused(refused)
        return refusal_receipt(refused, None if review is None else review.kept.pause.run_id)

    def _awaited(self, decision: Decision, seconds: float) -> Decision:
        """The decision at its end, or as it is when the time is over."""
        end = self._clock.monotonic() + seconds
        seen = self.store.version()
        while not is_over(decision) and self._clock.monotonic() < end:
            self._clock.sleep(_LOOK_SECONDS)
            now = self.store.version()
            if now != seen:
                seen, decision = now, self.store.decision(decision.key) or decision
        return decision

    # Items.

    def _review(self, attention_id: str) -> Review | None:
        return self.store.review(attention_id) if matches(_PAUSE_ID, attention_id) else None

    def _shown(self, review: Review, evidence: LocalEvidence | None) -> Shown:
        receipts = tuple(map(receipt_of, review.decisions))
        return Shown(self._item(review), review.kept.pause.workflow, evidence, receipts)

    def _item(self, review: Review) -> AttentionItem:
        alive = self._alive(review.kept.issue.owner)
        return item_of(self.files.key, review, self._instants(), window_lives=alive)

    def _alive(self, owner: str) -> bool:
        return bool(owner) and self._lives(owner)

    def _adopt(self) -> None:
        """Give a pause to every run that waits for a person without one: it was left by nobody, or by one that died.

        A ledger that takes nothing now is listed as it is.
        """
        with suppress(StoreUnavailableError):
            for record in self.store.without_pause(_ADOPTED_AT_ONCE):
                if record.result is not None:
                    earlier = self.store.lineage(record.run_id)
                    sealed = self.files.opened(bare_pause_id(record.run_id), record.run_id, record.bundle)
                    bare = bare_pause(self.files.key, record, record.result, self._instants(), earlier, sealed)
                    self.store.keep_pause(bare)
