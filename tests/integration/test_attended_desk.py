"""The desk at which people decide: what it shows, what it takes, and how it refuses."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import define, evolve

from support.attention import NOW, STOPPED
from support.stores import DONE, TIMED_OUT, draft, opens_claims, result_of, started
from surehand.core.attention.capability import CODE_TRIES, DecisionRefusal, Instants
from surehand.core.attention.decision import (
    Decision,
    DecisionRequest,
    DecisionStatus,
    Door,
    Ended,
    Receipt,
    Verdict,
    decision_key,
)
from surehand.core.attention.evidence import LocalEvidence, SealedEvidence, values_of
from surehand.core.attention.pause import (
    DECIDE_SECONDS,
    Action,
    AttentionItem,
    DeliveryState,
    ItemStatus,
    PauseView,
)
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.outcome.reasons import Outcome
from surehand.core.request.record import RunRecord
from surehand.core.wire import to_wire
from surehand.shell.attended.desk import AttendedDesk, StoreWithoutAttentionError
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import Stop, issue_anew, keep_stop
from surehand.shell.attended.sealing import ATTENTION, EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.identity import UnknownAccountError, attention_key
from surehand.shell.locks import OwnerLock
from surehand.shell.store.attention import Judge
from surehand.shell.store.base import StoreUnavailableError
from surehand.shell.store.sqlite import SqliteStore
from surehand.shell.store.sqlite_attention import SqliteAttention

INPUTS: Final = {"note": "the canary of the inputs"}
FRAME: Final = "iVBORw0KGgo="
KEYS: Final = [f"a-key-of-this-test-{number}" for number in range(9)]


@define
class Place:
    """A ledger with a desk, a clock that the test turns, and the owner of a live window.

    Attributes:
        now: What both clocks say.
        account: The operator; ``None`` for none.
    """

    folder: Path
    store: SqliteStore
    lock: OwnerLock
    now: Instants
    account: str | None = "nurse"

    @property
    def desk(self) -> AttendedDesk:
        """A desk over the ledger."""
        files = EvidenceFiles(self.folder, attention_key(self.folder))
        return AttendedDesk(self.store.attention, files, account=self.operator, instants=lambda: self.now)

    def operator(self) -> str:
        """The account, as the operating system would say it."""
        if self.account is None:
            raise UnknownAccountError
        return self.account

    def later(self, seconds: int) -> None:
        """Let time pass by both clocks."""
        self.now = evolve(self.now, now=self.now.now + seconds, boot_ms=self.now.boot_ms + seconds * 1000)

    def stop(self, number: int = 1) -> RunRecord:
        """A run that stops before its save, with a live window, a frame and values to be typed."""
        record = started(self.store.reserve(draft(number, f"entry-{number}")))
        desk = self.desk
        keep_stop(desk.store, desk.files, record, INPUTS, self.stopped(), self.now)
        self.store.finish(record.run_id, record.owner, result_of(record, STOPPED))
        return record

    def stopped(self) -> Stop:
        """Where it stops."""
        local = LocalEvidence(
            control="Save the note",
            role="button",
            address="https://clinic.example/notes",
            values=values_of(INPUTS),
            frame=FRAME,
        )
        return Stop(
            category=PauseCategory.IDENTITY,
            at=2,
            before_save=True,
            skippable=False,
            delivery=DeliveryState.NOT_DELIVERED,
            evidence=SealedEvidence(inputs=values_of(INPUTS), local=local),
            owner=self.lock.token,
        )

    def item(self) -> AttentionItem:
        """The newest item."""
        return self.desk.items().items[0]

    def ask(self, item: AttentionItem | None = None, key: str = KEYS[0], **changes: Any) -> DecisionRequest:  # noqa: ANN401 - fields of many types
        """What a door sends about an item."""
        about = self.item() if item is None else item
        made = DecisionRequest(about.id, about.capability_digest or "0" * 64, key, confirm=True)
        return evolve(made, **changes)

    def decide(self, action: Action = Action.CONTINUE, key: str = KEYS[0], door: Door = Door.TERMINAL) -> Receipt:
        """Decide about the newest item."""
        return self.desk.decide(self.ask(key=key), action, door)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """An empty ledger."""
    lock = OwnerLock.acquire(tmp_path)
    with closing(SqliteStore.open(tmp_path)) as store:
        yield Place(tmp_path, store, lock, Instants(NOW, "a boot", 1_000))
    lock.release()


class TestShowing:
    """Everybody sees closed codes and opaque names; what was sealed is shown at this computer alone."""

    def test_an_item_says_why_and_what_is_allowed(self, place: Place) -> None:
        record = place.stop()
        item = place.item()

        assert (record.run_id, ItemStatus.OPEN, PauseView.RECORD_IDENTITY) == (item.run_id, item.status, item.view)
        assert (Action.CONTINUE, Action.REJECT, Action.TEACH, Action.ESCALATE) == item.allowed_actions
        assert item.has_window
        assert item.has_frame

    def test_nothing_sealed_is_in_an_item_a_page_or_a_receipt(self, place: Place) -> None:
        record = place.stop()
        said = f"{to_wire(place.desk.items())} {to_wire(place.decide(Action.TEACH))}"

        for canary in (*INPUTS.values(), "Save the note", "clinic.example", FRAME, "nurse", place.lock.token):
            assert canary not in said
        assert str(record.workflow) not in said

    def test_the_operator_sees_what_was_sealed(self, place: Place) -> None:
        record = place.stop()
        shown = place.desk.show(place.item().id)

        assert shown is not None
        assert place.stopped().evidence.local == shown.evidence == place.desk.evidence(place.item().id)
        assert record.workflow == shown.workflow

    def test_pages_follow_one_another(self, place: Place) -> None:
        runs = [place.stop(number).run_id for number in range(1, 6)]
        first = place.desk.items(2)
        second = place.desk.items(2, first.next)
        third = place.desk.items(2, second.next)

        assert runs[::-1] == [item.run_id for page in (first, second, third) for item in page.items]
        assert third.next is None

    def test_an_unknown_name_is_nothing(self, place: Place) -> None:
        for name in ("att_" + "0" * 24, "../../etc/passwd", "", "att_x"):
            assert place.desk.item(name) is None
            assert place.desk.show(name) is None
            assert place.desk.evidence(name) is None
            assert place.desk.code(name, Action.CONTINUE) is None
            assert place.desk.renew(name) is None
            assert not place.desk.ask_opening(name)

    def test_a_run_that_left_no_pause_is_listed(self, place: Place) -> None:
        for number, evidence in ((1, STOPPED), (2, TIMED_OUT)):
            record = started(place.store.reserve(draft(number, f"entry-{number}")))
            place.store.finish(record.run_id, record.owner, result_of(record, evidence))
        items = {item.delivery_state: item.allowed_actions for item in place.desk.items().items}

        assert {
            DeliveryState.NOT_DELIVERED: (Action.REJECT, Action.TEACH, Action.ESCALATE),
            DeliveryState.UNKNOWN: (Action.TEACH, Action.ESCALATE),
        } == items
        assert place.desk.items() == place.desk.items()

    def test_a_ledger_that_takes_nothing_is_listed_as_it_is(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listed = place.stop(1)
        bare = started(place.store.reserve(draft(2, "entry-2")))
        place.store.finish(bare.run_id, bare.owner, result_of(bare, STOPPED))

        def refuse(*_: object) -> bool:
            raise StoreUnavailableError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(SqliteAttention, "keep_pause", refuse)
            assert [listed.run_id] == [item.run_id for item in place.desk.items().items]
        assert {listed.run_id, bare.run_id} == {item.run_id for item in place.desk.items().items}

    def test_a_run_whose_continuation_died_behind_the_boundary_stays_in_the_queue(self, place: Place) -> None:
        record = place.stop()
        place.decide()
        store, owner = place.desk.store, place.lock.token
        begun = store.claim(decision_key(KEYS[0]), owner)
        assert begun is not None
        assert store.begin_continuation_delivery(record.run_id, begun.number, owner)
        assert ItemStatus.IN_PROGRESS is place.item().status
        store.settle_decision(store.unended()[0], NOW + 20)
        item = place.item()

        assert (record.run_id, DeliveryState.UNKNOWN, 1) == (item.run_id, item.delivery_state, item.earlier_pauses)
        assert (Action.TEACH, Action.ESCALATE) == item.allowed_actions
        assert 1 == len(place.desk.items().items)

    def test_a_claim_ledger_is_refused_by_name(self, tmp_path: Path) -> None:
        with closing(opens_claims(tmp_path / "claims-only")) as claims, pytest.raises(StoreWithoutAttentionError):
            AttendedDesk.over(claims, tmp_path / "claims-only")
        with pytest.raises(StoreWithoutAttentionError):
            AttendedDesk.open(tmp_path / "claims-only")

    def test_a_desk_opens_a_folder(self, place: Place) -> None:
        place.stop()
        with closing(AttendedDesk.open(place.folder)) as desk:
            assert 1 == len(desk.items().items)
            assert 32 == len(desk.key_for("form-state"))
            assert desk.key_for("form-state") != desk.key_for("another")
            assert desk.spend_form("a" * 64, 2**40)
            assert not desk.spend_form("a" * 64, 2**40)


class TestSealed:
    """What was typed or seen lies encrypted in a private file that opens for its own pause only."""

    def test_no_file_holds_it_in_the_clear(self, place: Place) -> None:
        place.stop()

        for path in place.folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert not any(text.encode() in content for text in (*INPUTS.values(), "Save the note", FRAME))

    def test_file_and_folder_are_private(self, place: Place) -> None:
        place.stop()
        folder = place.folder / ATTENTION
        modes = {path.name[:4]: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}

        assert {"atte": 0o700, "att_": 0o600} == modes
        assert 0o600 == (place.folder / "attention.key").stat().st_mode & 0o777

    def test_another_file_in_its_place_is_none(self, place: Place) -> None:
        place.stop(1)
        place.stop(2)
        one, two = (place.folder / ATTENTION / f"{item.id}.sealed" for item in place.desk.items().items)
        one.write_bytes(two.read_bytes())

        assert place.desk.evidence(one.stem) is None
        assert place.desk.evidence(two.stem) is not None

    def test_a_damaged_or_missing_one_is_none(self, place: Place) -> None:
        place.stop()
        path = place.folder / ATTENTION / f"{place.item().id}.sealed"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        assert place.desk.evidence(path.stem) is None
        path.unlink()
        assert place.desk.evidence(path.stem) is None

    def test_another_key_opens_nothing(self, place: Place) -> None:
        place.stop()
        review = place.store.attention.review(place.item().id)
        assert review is not None

        assert EvidenceFiles(place.folder, bytes(32)).read(review.kept.pause) is None

    def test_it_can_be_dropped(self, place: Place) -> None:
        place.stop()
        files = place.desk.files
        assert (place.item().id,) == files.kept()
        files.drop(place.item().id)
        files.drop(place.item().id)

        assert () == files.kept()


def refused(place: Place, receipt: Receipt) -> DecisionRefusal | None:
    """Why it was refused, after making sure that nothing changed and that the audit line says so."""
    line = place.desk.refused(1)[0]
    assert DecisionStatus.REFUSED is receipt.status
    assert receipt.reason is line.refusal
    assert receipt.decided_at is None
    assert place.store.attention.unended() == ()
    assert place.desk.receipt(KEYS[0]) is None
    return receipt.reason


class TestBadInput:
    """Each bad decision is refused by its code, changes nothing, and leaves its audit line."""

    def test_for_another_pause(self, place: Place) -> None:
        place.stop(1)
        place.stop(2)
        two, one = place.desk.items().items
        crossed = place.ask(one, capability_digest=two.capability_digest)

        assert DecisionRefusal.CAPABILITY_NOT_OF_ITEM is refused(
            place, place.desk.decide(crossed, Action.REJECT, Door.CONSOLE)
        )

    def test_for_an_earlier_pause_of_the_run(self, place: Place) -> None:
        record = place.stop()
        earlier = place.ask()
        desk = place.desk
        keep_stop(desk.store, desk.files, record, INPUTS, place.stopped(), place.now)

        for action in (Action.CONTINUE, Action.REJECT):
            late = place.desk.decide(earlier, action, Door.TERMINAL)
            assert DecisionRefusal.PAUSE_SUPERSEDED is refused(place, late)
        assert 1 == place.item().earlier_pauses

    def test_an_older_capability(self, place: Place) -> None:
        place.stop()
        older = place.ask()
        assert place.desk.renew(older.attention_id) is not None

        assert DecisionRefusal.CAPABILITY_OUTDATED is refused(
            place, place.desk.decide(older, Action.CONTINUE, Door.TERMINAL)
        )

    @pytest.mark.parametrize(("seconds", "taken"), [(-1, True), (0, False), (1, False)])
    def test_an_expired_one(self, place: Place, seconds: int, taken: bool) -> None:
        place.stop()
        request = place.ask()
        place.later(DECIDE_SECONDS + seconds)
        receipt = place.desk.decide(request, Action.CONTINUE, Door.TERMINAL)

        if taken:
            assert DecisionStatus.PREPARED is receipt.status
        else:
            assert DecisionRefusal.CAPABILITY_EXPIRED is refused(place, receipt)
            assert ItemStatus.EXPIRED is place.item().status
            assert () == place.item().allowed_actions

    def test_a_forged_and_a_truncated_one(self, place: Place) -> None:
        place.stop()
        digest = place.item().capability_digest or ""
        for wrong, code in (
            ("0" * 64, DecisionRefusal.CAPABILITY_NOT_OF_ITEM),
            (digest[:-1], DecisionRefusal.CAPABILITY_MALFORMED),
            (digest.upper(), DecisionRefusal.CAPABILITY_MALFORMED),
            ("", DecisionRefusal.CAPABILITY_MALFORMED),
        ):
            receipt = place.desk.decide(place.ask(capability_digest=wrong), Action.REJECT, Door.TERMINAL)
            assert code is refused(place, receipt)

    def test_a_second_one_in_the_middle_of_another(self, place: Place) -> None:
        place.stop()
        assert DecisionStatus.PREPARED is place.decide().status
        request = place.desk.store.review(place.desk.items().items[0].id)
        assert request is not None
        prepared = place.desk.store.decision(decision_key(KEYS[0]))
        assert prepared is not None
        second = DecisionRequest(prepared.pause_id, prepared.capability, KEYS[1], confirm=True)
        receipt = place.desk.decide(second, Action.REJECT, Door.CONSOLE)

        assert DecisionRefusal.IN_PROGRESS is receipt.reason is place.desk.refused(1)[0].refusal
        assert (prepared,) == place.desk.store.unended()

    def test_a_clock_that_was_put_back(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        for moved in (Instants(NOW - 1, "a boot", 2_000), Instants(NOW + 1, "a boot", 999)):
            place.now = moved
            receipt = place.desk.decide(request, Action.REJECT, Door.TERMINAL)
            assert DecisionRefusal.CLOCK_WENT_BACK is refused(place, receipt)

    def test_a_clock_that_was_put_forward(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        place.now = evolve(place.now, now=NOW + DECIDE_SECONDS)

        assert DecisionRefusal.CAPABILITY_EXPIRED is refused(
            place, place.desk.decide(request, Action.REJECT, Door.TERMINAL)
        )

    def test_an_unknown_item(self, place: Place) -> None:
        for name in ("att_" + "0" * 24, "'; DROP TABLE pauses; --"):
            receipt = place.desk.decide(
                DecisionRequest(name, "0" * 64, KEYS[0], confirm=True), Action.REJECT, Door.PYTHON
            )
            assert DecisionRefusal.UNKNOWN_ITEM is refused(place, receipt)
            assert receipt.run_id is None

    def test_without_confirmation(self, place: Place) -> None:
        place.stop()

        assert DecisionRefusal.NOT_CONFIRMED is refused(
            place, place.desk.decide(place.ask(confirm=False), Action.REJECT, Door.TERMINAL)
        )

    @pytest.mark.parametrize("account", [None, "", "  "])
    def test_of_nobody(self, place: Place, account: str | None) -> None:
        place.stop()
        place.account = account

        assert DecisionRefusal.OPERATOR_UNKNOWN is refused(place, place.decide(Action.REJECT))
        assert not place.desk.refused(1)[0].operator

    def test_an_action_that_is_not_allowed(self, place: Place) -> None:
        place.stop()

        for action in (Action.SKIP, Action.RECONCILE):
            assert DecisionRefusal.ACTION_NOT_ALLOWED is refused(place, place.decide(action))

    def test_in_a_window_that_is_gone(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        place.lock.release()

        assert DecisionRefusal.WINDOW_GONE is refused(place, place.desk.decide(request, Action.CONTINUE, Door.TERMINAL))
        assert Action.CONTINUE not in place.item().allowed_actions
        assert DecisionStatus.REJECTED is place.desk.decide(place.ask(), Action.REJECT, Door.TERMINAL).status


class TestTaking:
    """A decision is kept once for its key, ends once, and its receipt is the same ever after."""

    def test_reject_ends_the_run_and_never_opens_again(self, place: Place) -> None:
        record = place.stop()
        before = place.ask()
        receipt = place.decide(Action.REJECT)
        ended = place.store.load(record.run_id)

        assert (DecisionStatus.REJECTED, True) == (receipt.status, receipt.final)
        assert ended is not None
        assert ended.result is not None
        assert Outcome.DID_NOT_RUN is ended.result.outcome
        assert () == place.desk.items().items
        for action in Action:
            again = place.desk.decide(evolve(before, idempotency_key=KEYS[1]), action, Door.TERMINAL)
            assert DecisionRefusal.ALREADY_DECIDED is again.reason
        assert not place.desk.ask_opening(before.attention_id)
        assert place.desk.renew(before.attention_id) is None

    @pytest.mark.parametrize(
        ("action", "status"),
        [(Action.TEACH, DecisionStatus.NEEDS_DEMONSTRATION), (Action.ESCALATE, DecisionStatus.ESCALATED)],
    )
    def test_teach_and_escalate_leave_the_pause_as_it_was(
        self, place: Place, action: Action, status: DecisionStatus
    ) -> None:
        record = place.stop()
        before = place.item()
        receipt = place.decide(action)
        after = place.item()

        assert (status, True) == (receipt.status, receipt.final)
        assert evolve(before, teaching_requested=action is Action.TEACH, escalated=action is Action.ESCALATE) == after
        kept = place.store.load(record.run_id)
        assert kept is not None
        assert kept.result == result_of(record, STOPPED)

    def test_the_same_key_is_the_same_decision_also_after_a_restart(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        receipt = place.desk.decide(request, Action.REJECT, Door.TERMINAL)
        place.store.close()
        place.store = SqliteStore.open(place.folder)
        place.later(2 * DECIDE_SECONDS)

        assert receipt == place.desk.decide(request, Action.REJECT, Door.CONSOLE) == place.desk.receipt(KEYS[0])

    def test_the_same_key_with_other_content_changes_nothing(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        place.desk.decide(request, Action.TEACH, Door.TERMINAL)
        receipt = place.desk.decide(request, Action.REJECT, Door.TERMINAL)

        assert DecisionRefusal.KEY_REUSED is receipt.reason
        assert ItemStatus.OPEN is place.item().status

    def test_the_operator_is_the_account(self, place: Place) -> None:
        place.stop()
        place.decide(Action.ESCALATE, door=Door.CONSOLE)
        kept = place.desk.store.decision(decision_key(KEYS[0]))

        assert kept is not None
        assert ("nurse", Door.CONSOLE) == (kept.operator, kept.door)

    def test_a_receipt_waits_for_the_end_and_no_longer(self, place: Place) -> None:
        record = place.stop()
        request = place.ask()
        assert DecisionStatus.PREPARED is place.desk.decide(request, Action.CONTINUE, Door.TERMINAL, wait=0.2).status
        performed = threading.Thread(target=self.perform, args=(place, record))
        performed.start()
        receipt = place.desk.decide(request, Action.CONTINUE, Door.TERMINAL, wait=60)
        performed.join()

        assert DecisionStatus.COMPLETED is receipt.status
        assert ItemStatus.COMPLETED is getattr(place.desk.item(request.attention_id), "status", None)

    @staticmethod
    def perform(place: Place, record: RunRecord) -> None:
        """What the process with the live window does, through a ledger of its own."""
        with closing(SqliteStore.open(place.folder)) as store:
            key, owner = decision_key(KEYS[0]), place.lock.token
            begun = store.attention.claim(key, owner)
            assert begun is not None
            store.attention.begin_continuation_delivery(record.run_id, begun.number, owner)
            store.attention.end(key, Ended(owner, DecisionStatus.COMPLETED, NOW + 5), result_of(record, DONE))

    def test_what_is_foreseen_is_not_taken(self, place: Place) -> None:
        place.stop()
        request = place.ask()

        assert place.desk.foresee(request, Action.REJECT, Door.MCP_FORM) is None
        assert place.desk.receipt(KEYS[0]) is None
        taken = place.desk.decide(request, Action.REJECT, Door.TERMINAL)
        assert taken == place.desk.foresee(request, Action.REJECT, Door.MCP_FORM)
        foreseen = place.desk.foresee(evolve(request, idempotency_key=KEYS[1]), Action.REJECT, Door.MCP_FORM)
        assert foreseen is not None
        assert DecisionRefusal.ALREADY_DECIDED is foreseen.reason is place.desk.refused(1)[0].refusal


class TestCode:
    """A form of an agent's client needs the code of this computer for whatever acts in the app."""

    def test_the_right_code_is_taken_in_any_spelling(self, place: Place) -> None:
        place.stop()
        code = place.desk.code(place.item().id, Action.CONTINUE)
        assert code is not None
        receipt = place.desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM, f" {code[:3]}-{code[3:].lower()} ")

        assert DecisionStatus.PREPARED is receipt.status

    def test_five_wrong_codes_close_that_door_and_no_other(self, place: Place) -> None:
        place.stop()
        right = place.desk.code(place.item().id, Action.CONTINUE)
        for code in (None, "", "000000", place.desk.code(place.item().id, Action.SKIP), "ÄÖÜ")[:CODE_TRIES]:
            receipt = place.desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM, code)
            assert DecisionRefusal.CODE_WRONG is refused(place, receipt)
        receipt = place.desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM, right)

        assert DecisionRefusal.CODE_DOOR_CLOSED is refused(place, receipt)
        assert DecisionStatus.PREPARED is place.decide(door=Door.CONSOLE).status

    @pytest.mark.parametrize(("code", "status"), [(False, DecisionStatus.REFUSED), (True, DecisionStatus.PREPARED)])
    def test_none_is_taken_without_it_whatever_happens_meanwhile(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, code: bool, status: DecisionStatus
    ) -> None:
        place.stop()
        item, desk = place.item(), place.desk
        shown = desk.code(item.id, Action.CONTINUE) if code else None
        desk.decide(place.ask(key=KEYS[1]), Action.CONTINUE, Door.TERMINAL)
        request = evolve(place.ask(), capability_digest=item.capability_digest or "")
        decide = desk.store.decide

        def when_the_other_ended(asked: Decision, judge: Judge) -> Verdict:
            """The decision in whose way it stood is halted at the last moment."""
            halted = Ended(place.lock.token, DecisionStatus.HALTED, NOW)
            assert desk.store.end(decision_key(KEYS[1]), halted)
            return decide(asked, judge)

        monkeypatch.setattr(desk.store, "decide", when_the_other_ended)
        receipt = desk.decide(request, Action.CONTINUE, Door.MCP_FORM, shown)

        assert (status, None if code else DecisionRefusal.CODE_WRONG) == (receipt.status, receipt.reason)

    def test_a_new_capability_has_a_new_code_and_new_tries(self, place: Place) -> None:
        place.stop()
        old = place.desk.code(place.item().id, Action.CONTINUE)
        for _ in range(CODE_TRIES):
            place.desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM, "000000")
        place.desk.renew(place.item().id)
        new = place.desk.code(place.item().id, Action.CONTINUE)

        assert old != new
        assert DecisionStatus.PREPARED is place.desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM, new).status

    def test_what_does_not_act_in_the_app_needs_none(self, place: Place) -> None:
        place.stop()

        assert place.desk.code(place.item().id, Action.REJECT) is None
        assert DecisionStatus.REJECTED is place.decide(Action.REJECT, door=Door.MCP_FORM).status

    def test_the_operator_may_waive_it(self, place: Place) -> None:
        place.stop()
        files = EvidenceFiles(place.folder, attention_key(place.folder))
        desk = AttendedDesk(
            place.store.attention, files, account=lambda: "nurse", instants=lambda: place.now, code_required=False
        )

        assert DecisionStatus.PREPARED is desk.decide(place.ask(), Action.CONTINUE, Door.MCP_FORM).status


class TestTermsAndWindows:
    """A pause is issued anew to whoever holds its window, and for more time, never under a decision."""

    def test_an_expired_item_gets_a_new_term(self, place: Place) -> None:
        place.stop()
        place.later(DECIDE_SECONDS)
        renewed = place.desk.renew(place.item().id)

        assert renewed is not None
        assert (ItemStatus.OPEN, True) == (renewed.status, renewed.has_window)
        assert DecisionStatus.PREPARED is place.decide().status

    def test_a_dead_window_is_not_renewed(self, place: Place) -> None:
        place.stop()
        place.lock.release()
        renewed = place.desk.renew(place.item().id)

        assert renewed is not None
        assert not renewed.has_window
        assert Action.CONTINUE not in renewed.allowed_actions

    def test_another_process_takes_the_window_over(self, place: Place) -> None:
        place.stop()
        place.lock.release()
        assert place.desk.ask_opening(place.item().id)
        other = OwnerLock.acquire(place.folder)
        wish = place.desk.store.openings()[0]
        review = place.desk.store.review(wish.pause_id)
        assert review is not None
        assert place.desk.store.claim_opening(wish.number, other.token)
        issued = issue_anew(place.desk.store, review.kept, other.token, place.now)

        assert issued is not None
        assert Action.CONTINUE in place.item().allowed_actions
        assert issue_anew(place.desk.store, review.kept, other.token, place.now) is None
        other.release()

    def test_nothing_is_issued_under_a_decision(self, place: Place) -> None:
        place.stop()
        request = place.ask()
        place.desk.decide(request, Action.CONTINUE, Door.TERMINAL)

        assert place.desk.renew(request.attention_id) is None

    def test_the_clocks_of_this_machine_go_on(self) -> None:
        first = instants_of(SYSTEM_CLOCK)
        second = instants_of(SYSTEM_CLOCK)

        assert first.boot == second.boot
        assert first.boot_ms <= second.boot_ms
