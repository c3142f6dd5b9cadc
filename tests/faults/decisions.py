"""People's decisions: raced by two processes, cut off at every durable write, late, and by clocks that moved.

Laws of this module:

- A round of a race has one final state, one decision and one audit line for each refused one.
- After a crash the same key ends the decision exactly once; the app saw at most one effect, and the answer admits it.
- Each control is wrong in every round, so that nobody waits for luck to catch it.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import count, product
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from unittest.mock import patch

from attrs import define, evolve, field
from returns.result import Success

from faults.decisions_racer import ENDED_AT, act_in_app
from faults.result import Control, LayerResult
from support.attention import KEY, OWNER, STOPPED, asked, instants, kept, pause, stopped_run
from support.attention_machine import (
    ClaimsWithoutLooking,
    DecidesWithoutLooking,
    as_the_machine,
    attention,
    wrong_memory,
)
from support.stores import DONE, MEMORY_DISK, draft, result_of, started
from surehand.core.attention import capability
from surehand.core.attention.capability import Instants
from surehand.core.attention.decision import (
    Decision,
    DecisionRequest,
    DecisionStatus,
    Door,
    Ended,
    Receipt,
    Review,
    Verdict,
    decision_key,
    status_after,
)
from surehand.core.attention.evidence import SealedEvidence, values_of
from surehand.core.attention.pause import DECIDE_SECONDS, Action, DeliveryState, Issue, Pause
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.outcome.reasons import Outcome
from surehand.core.request.record import RunRecord
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import Stop, keep_stop
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.locks import OwnerLock, is_alive
from surehand.shell.store.attention import AttentionStore
from surehand.shell.store.base import RunStore
from surehand.shell.store.memory_attention import MemoryAttention
from surehand.shell.store.sqlite import SqliteStore

_TESTS: Final = Path(__file__).parent.parent

INPUTS: Final = {"note": "seen at ten"}

#: Rounds of each race by profile; the campaign is what the promise says.
ROUNDS: Final = {"short": 25, "full": 300}

#: Commits of the whole way from a decision to its end: decide, claim, pass the boundary, end.
COMMITS: Final = 4

#: Seconds that both racers have to get to the start.
_HEAD_START: Final = 0.01


class Racer:
    """A process of ``decisions_racer`` on one folder."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "faults.decisions_racer", str(folder)]
        self._process = subprocess.Popen(
            command, cwd=_TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.hear_line()

    def order(self, *plays: str, **what: object) -> None:
        """Tell it what to do."""
        assert self._process.stdin is not None
        print(json.dumps({"plays": plays, **what}), file=self._process.stdin, flush=True)

    def hear_line(self) -> str:
        """A line that it says; empty when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def hear(self) -> Any:  # noqa: ANN401 - JSON
        """What it was answered; ``None`` when it has ended."""
        line = self.hear_line()
        return json.loads(line) if line else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@define
class Office:
    """A folder with a ledger, the process that holds the live windows (this one), and the effects that the app saw."""

    folder: Path
    effects: Path
    store: SqliteStore
    lock: OwnerLock
    runs: Iterator[int] = field(factory=lambda: count(1))
    first: Counter[str] = field(factory=Counter[str])

    @classmethod
    def open(cls, place: Path, held: ExitStack) -> Self:
        """A new office below a folder."""
        folder, effects = place / "surehand", place / "effects"
        effects.mkdir(parents=True)
        store = held.enter_context(closing(SqliteStore.open(folder)))
        lock = OwnerLock.acquire(folder)
        held.callback(lock.release)
        return cls(folder, effects, store, lock)

    @property
    def desk(self) -> AttendedDesk:
        """A desk of this process."""
        return AttendedDesk.over(self.store, self.folder)

    def stop_run(self, owner: str | None = None) -> tuple[RunRecord, dict[str, str]]:
        """A run that stopped; what a door sends about it."""
        record = started(self.store.reserve(draft(number := next(self.runs), f"entry-{number}")))
        stop = Stop(
            category=PauseCategory.IDENTITY,
            at=2,
            before_save=True,
            skippable=False,
            delivery=DeliveryState.NOT_DELIVERED,
            evidence=SealedEvidence(inputs=values_of(INPUTS)),
            owner=self.lock.token if owner is None else owner,
        )
        desk = self.desk
        kept = keep_stop(desk.store, desk.files, record, INPUTS, stop, instants_of(SYSTEM_CLOCK))
        self.store.finish(record.run_id, record.owner, result_of(record, STOPPED))
        digest = capability.capability_digest(desk.files.key, kept)
        return record, {"id": kept.pause.pause_id, "digest": digest}

    def perform_all(self) -> None:
        """End every decision that is under way: ours by acting, those of the dead by the sweep."""
        store = self.store.attention
        for decision in store.unended():
            holder = decision.claimed_by or _window(store, decision)
            if not is_alive(self.folder, holder):
                store.settle_decision(decision, ENDED_AT)
            elif not decision.claimed_by:
                self.perform(decision)

    def perform(self, decision: Decision) -> None:
        """Act for a decision in a window of ours."""
        store, owner = self.store.attention, self.lock.token
        begun = store.claim(decision.key, owner)
        if begun is None or not store.begin_continuation_delivery(begun.run_id, begun.number, owner):
            return
        act_in_app(self.effects, begun.run_id)
        record = self.store.load(begun.run_id)
        assert record is not None
        result = result_of(record, DONE)
        store.end(decision.key, Ended(owner, status_after(result), ENDED_AT), result)

    def acted(self, record: RunRecord) -> int:
        """How many effects of a run the app saw."""
        return len(list(self.effects.glob(f"{record.run_id}.*")))

    def outcome(self, record: RunRecord) -> Outcome | None:
        """What every reader is told of a run."""
        kept = self.store.load(record.run_id)
        return kept.result.outcome if kept and kept.result else None


def _window(store: AttentionStore, decision: Decision) -> str:
    review = store.review(decision.pause_id)
    return "" if review is None else review.kept.issue.owner


# Races.

#: What two doors decide at once, with the keys that they use.
PAIRS: Final = {
    "Continue against Reject": (("continue", "a"), ("reject", "b")),
    "Continue twice by two people": (("continue", "a"), ("continue", "b")),
    "the same decision twice": (("continue", "a"), ("continue", "a")),
    "Reject against Escalate": (("reject", "a"), ("escalate", "b")),
}


def race(office: Office, racers: tuple[Racer, Racer], name: str, number: int) -> Iterator[str]:
    """One round; what was violated."""
    record, asked = office.stop_run()
    at = time.monotonic() + _HEAD_START
    keys = [f"round-{name[:8].replace(' ', '-')}-{number:05}-{key}" for _, key in PAIRS[name]]
    for racer, (action, _), key in zip(racers, PAIRS[name], keys, strict=True):
        racer.order("decide", **asked, action=action, key=key, at=at)
    receipts = [racer.hear()[0] for racer in racers]
    office.perform_all()
    yield from judged_race(office, record, keys, receipts)


def judged_race(office: Office, record: RunRecord, keys: list[str], receipts: list[dict[str, Any]]) -> Iterator[str]:
    """What one round violated."""
    decisions = office.store.attention.decisions(record.run_id)
    office.first.update(each.action.value for each in decisions[:1])
    taken = [receipt for receipt in receipts if receipt["status"] != "refused"]
    ending = [each for each in decisions if each.status in {DecisionStatus.COMPLETED, DecisionStatus.REJECTED}]
    if len(ending) > 1 or (len(ending) == 0 and not any(each.action is Action.ESCALATE for each in decisions)):
        yield f"{len(ending)} final states: {[each.status.value for each in decisions]}"
    if len({each.key for each in decisions}) != len(decisions) or len(taken) < 1:
        yield f"receipts {[receipt['status'] for receipt in receipts]} for {len(decisions)} decisions"
    continued = any(each.status is DecisionStatus.COMPLETED for each in decisions)
    if office.acted(record) != int(continued):
        yield f"{office.acted(record)} effects, completed: {continued}"
    expected = {DecisionStatus.COMPLETED: Outcome.DONE, DecisionStatus.REJECTED: Outcome.DID_NOT_RUN}
    told = expected[ending[0].status] if ending else Outcome.NEEDS_REVIEW
    if office.outcome(record) is not told:
        yield f"the run says {office.outcome(record)} after {told}"
    refused = [line for line in office.store.attention.refused(4) if line.key in set(map(decision_key, keys))]
    if len(refused) != len(receipts) - len(taken):
        yield f"{len(refused)} audit lines for {len(receipts) - len(taken)} refused decisions"


# Crashes.


def crash(office: Office, number: int, *, after: bool, own_window: bool) -> Iterator[str]:
    """Let a process end at one commit between the decision and its end, then repeat with the same key."""
    with Racer(office.folder) as racer:
        lock = OwnerLock.acquire(office.folder)
        record, asked = office.stop_run(owner=lock.token if own_window else None)
        key = f"crash-{record.run_id}"
        plays = ("decide", "perform") if own_window else ("decide",)
        racer.order(
            *plays,
            **asked,
            action="continue",
            key=key,
            owner=lock.token,
            effects=str(office.effects),
            die_at=number,
            after=after,
        )
        answers = racer.hear()
        lock.release()
    office.perform_all()
    repeated = [_decide(office.desk, asked, Action.CONTINUE, key) for _ in range(2)]
    office.perform_all()
    again = _decide(office.desk, asked, Action.CONTINUE, key)
    if answers is not None:
        yield "the process did not end"
    if not (again.final and _same(repeated[1], again)):
        yield f"the same key was answered {[each.status.value for each in (*repeated, again)]}"
    yield from judged_crash(office, record, again)


def _same(before: Receipt, now: Receipt) -> bool:
    """Whether two answers to one key agree: the same receipt, or one that was under way before."""
    return before == now or not before.final


def judged_crash(office: Office, record: RunRecord, receipt: Receipt) -> Iterator[str]:
    """What the state after a crash violates."""
    effects, outcome = office.acted(record), office.outcome(record)
    if effects > 1:
        yield f"{effects} effects"
    admitted = {Outcome.NOT_SURE_IF_SAVED, Outcome.DONE if effects else Outcome.NEEDS_REVIEW}
    if outcome not in admitted:
        yield f"the run says {outcome} after {effects} effects"
    if (receipt.status is DecisionStatus.COMPLETED) != (outcome is Outcome.DONE):
        yield f"the receipt says {receipt.status.value}, the run {outcome}"
    if office.store.attention.unended():
        yield "a decision hangs"
    if sum(each.crossed for each in office.store.attention.continuations(record.run_id)) > 1:
        yield "two passages"


def _decide(desk: AttendedDesk, asked: dict[str, str], action: Action, key: str) -> Receipt:
    request = DecisionRequest(asked["id"], asked["digest"], key, confirm=True)
    return desk.decide(request, action, Door.PYTHON)


# Time.

#: Seconds around the end by the one clock and by the other, and whether a decision counts.
TIMES: Final = [
    *((end, end, end < 0) for end in (-1, 0, 1)),
    *((end, -100, end < 0) for end in (-1, 0, 1)),
    *((-100, end, end < 0) for end in (-1, 0, 1)),
    (-DECIDE_SECONDS - 1, -DECIDE_SECONDS, False),
    (-DECIDE_SECONDS, -DECIDE_SECONDS - 1, False),
]


def at_time(office: Office, desk_of: Callable[[Instants], AttendedDesk], wall: int, since: int) -> tuple[bool, bool]:
    """Whether a decision counts so many seconds before or after its end, and whether its audit line says the same."""
    _, asked = office.stop_run()
    review = office.store.attention.review(asked["id"])
    assert review is not None
    issue = review.kept.issue
    end_ms = issue.boot_ms + DECIDE_SECONDS * 1000
    now = Instants(issue.expires_at + wall, issue.boot, end_ms + since * 1000)
    key = f"time-{asked['id']}"
    receipt = _decide(desk_of(now), asked, Action.REJECT, key)
    lines = [line for line in office.store.attention.refused(1) if line.key == decision_key(key)]
    return receipt.status is DecisionStatus.REJECTED, bool(lines)


# Controls: what is wrong on purpose.


def _ledger(part: type[MemoryAttention]) -> tuple[RunStore, AttentionStore]:
    """A ledger in memory of this kind, with a run that stopped in a live window."""
    store = wrong_memory(part)(Path())
    record, result = stopped_run()
    store.reserve(record)
    attention(store).keep_pause(kept())
    store.finish(record.run_id, record.owner, result)
    return store, attention(store)


def _taken(part: type[MemoryAttention], *actions: Action) -> list[Decision]:
    """The decisions about one pause that a ledger of this kind takes."""
    _, store = _ledger(part)
    asked_for = [asked(kept(), action, f"{number:064x}") for number, action in enumerate(actions)]
    for each in asked_for:
        store.decide(each, partial(_judged, each))
    return [each for each in map(store.decision, [each.key for each in asked_for]) if each is not None]


def _judged(decision: Decision, review: Review | None, used: Decision | None) -> Verdict:
    return as_the_machine(review, used, decision)


def without_compare_and_set() -> Control:
    """A desk that does not look at what was decided takes Continue and Reject of one pause."""
    wrong, right = (_taken(part, Action.CONTINUE, Action.REJECT) for part in (DecidesWithoutLooking, MemoryAttention))
    evidence = f"{len(wrong)} decisions of one pause were taken, {len(right)} by the real one"
    return Control("a decide without compare-and-set", len(wrong) == 2 and len(right) == 1, evidence)


def lease_by_age() -> Control:
    """A second performer takes a decision over from a living one whose lease is old."""
    claims: dict[type[MemoryAttention], int] = {}
    for part in (ClaimsWithoutLooking, MemoryAttention):
        _, store = _ledger(part)
        decision = asked(kept())
        store.decide(decision, partial(_judged, decision))
        claims[part] = sum(store.claim(decision.key, OWNER) is not None for _ in range(2))
    evidence = f"{claims[ClaimsWithoutLooking]} performers at one decision, {claims[MemoryAttention]} by locks"
    return Control("a lease by age", [2, 1] == list(claims.values()), evidence)


def expiry_not_enforced(office: Office) -> Control:
    """A desk that keeps the time of the issue for ever takes a late decision."""

    def desk_of(now: Instants) -> AttendedDesk:
        seconds = DECIDE_SECONDS + 1
        return _desk_at(office, evolve(now, now=now.now - seconds, boot_ms=now.boot_ms - seconds * 1000))

    late, _ = at_time(office, desk_of, 1, 1)
    return Control("an expiry that is stored and not enforced", late, f"a decision one second late was taken: {late}")


def inputs_not_bound() -> Control:
    """A digest that leaves the inputs out stands for a pause with others."""
    bound = capability._digest_of  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what is replaced

    def unbound(key: bytes, made: Pause, issued: Issue) -> str:
        return bound(key, evolve(made, inputs=""), issued)

    def passes() -> bool:
        digest = capability.capability_digest(KEY, kept())
        other = kept(evolve(pause(), inputs="0" * 64))
        found = capability.verify(KEY, other, digest, Action.CONTINUE, instants())
        return isinstance(found, Success)

    right = passes()
    with patch.object(capability, "_digest_of", unbound):
        wrong = passes()
    evidence = f"other inputs passed: {wrong}; with the real one: {right}"
    return Control("a capability that does not bind the inputs", wrong and not right, evidence)


def crash_that_repeats(office: Office) -> Control:
    """A performer that acts again after a crash, because it does not ask what was passed, is seen by its effects."""
    record, asked_for = office.stop_run()
    key = f"control-{record.run_id}"
    _decide(office.desk, asked_for, Action.CONTINUE, key)
    act_in_app(office.effects, record.run_id)
    office.perform_all()
    said = list(judged_crash(office, record, _decide(office.desk, asked_for, Action.CONTINUE, key)))
    return Control("a performer that acts before its passage", any("2 effects" in each for each in said), str(said))


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer; chance plays no part beside the processes' own."""
    del seed
    began = time.monotonic()
    violations: list[str] = []
    cells = 0
    with tempfile.TemporaryDirectory(prefix="surehand-decisions-", dir=MEMORY_DISK) as place, ExitStack() as held:
        office = Office.open(Path(place), held)
        racers = held.enter_context(Racer(office.folder)), held.enter_context(Racer(office.folder))
        for name in PAIRS:
            for number in range(ROUNDS[profile]):
                violations += [f"{name}, round {number}: {said}" for said in race(office, racers, name, number)]
                cells += 1
            report(f"decisions: {cells} rounds, {len(violations)} violations, after {name}")
        for number, after, own in product(range(1, COMMITS + 1), (False, True), (True, False)):
            if own or number == 1:
                where = f"crash {'after' if after else 'before'} commit {number}, {'own' if own else 'other'} window"
                violations += [f"{where}: {said}" for said in crash(office, number, after=after, own_window=own)]
                cells += 1
        report(f"decisions: {cells} cells, {len(violations)} violations, after the crashes")
        for wall, since, counts in TIMES:
            found = at_time(office, partial(_desk_at, office), wall, since)
            cells += 1
            if found != (counts, not counts):
                violations.append(f"{wall} and {since} seconds from the end: {found}")
        office.store.check_health()
        controls = (
            without_compare_and_set(),
            lease_by_age(),
            expiry_not_enforced(office),
            inputs_not_bound(),
            crash_that_repeats(office),
        )
        notes = ("who came first: " + ", ".join(f"{name} {times}" for name, times in sorted(office.first.items())),)
    return LayerResult("decisions", cells, tuple(violations), controls, time.monotonic() - began, notes)


def _desk_at(office: Office, now: Instants) -> AttendedDesk:
    return AttendedDesk(office.store.attention, office.desk.files, instants=lambda: now)
