"""What a store in memory keeps about stopped runs and decisions: for tests and trials.

Laws of this module:

- It does what the durable store does, so plainly that it can be its measure.
- It shares the records and the guard of the runs' store, so that a decision and an answer are never apart.
"""

import threading
from collections.abc import Mapping
from itertools import islice
from typing import Final

from attrs import evolve

from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.continuation import Continuation, begun_by, going_on, may_cross, result_at_end
from surehand.core.attention.decision import (
    Claimed,
    Decision,
    DecisionStatus,
    Ended,
    Event,
    OwnerGone,
    RefusedDecision,
    Review,
    Taken,
    Verdict,
    is_over,
    may_issue,
    step,
    still_waits,
)
from surehand.core.attention.pause import Issue, KeptPause
from surehand.core.attention.review import answer_after, rejected, waits_for_person
from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import RunResult
from surehand.core.request.record import RunRecord
from surehand.shell.store.attention import Judge, Opening


class MemoryAttention:
    """The part of a store in memory about stopped runs; the docstrings of ``AttentionStore`` apply.

    Args:
        records: The records of the runs, with their first answers.
        guard: Held while anything is read or changed.
    """

    def __init__(self, records: Mapping[str, RunRecord], guard: threading.RLock) -> None:
        self._records: Final = records
        self._guard: Final = guard
        self._pauses: Final[dict[str, KeptPause]] = {}
        self._decisions: Final[dict[str, Decision]] = {}
        self._refused: Final[list[RefusedDecision]] = []
        self._continuations: Final[dict[tuple[str, int], Continuation]] = {}
        self._openings: Final[dict[int, Opening]] = {}
        self._spent: Final[dict[str, int]] = {}
        self._version = 0

    def answered(self, record: RunRecord) -> RunRecord:
        """The record with the answer after everything that people decided."""
        if record.result is None:
            return record
        continuations = self.continuations(record.run_id)
        legs = [each.result for each in continuations if each.result is not None]
        goes_on = len(legs) < len(continuations)
        if any(each.status is DecisionStatus.REJECTED for each in self.decisions(record.run_id)):
            legs.append(rejected(record.result))
        return evolve(record, result=answer_after(record.result, tuple(legs), goes_on=goes_on))

    def keep_pause(self, kept: KeptPause) -> bool:
        """Keep a pause with its first issue."""
        with self._guard:
            if kept.pause.run_id not in self._records:
                raise ValueError("a pause of no run")
            if kept.pause.pause_id in self._pauses:
                return False
            self._version += 1
            self._pauses[kept.pause.pause_id] = kept
            return True

    def review(self, pause_id: str) -> Review | None:
        """What the store says about a pause."""
        with self._guard:
            kept = self._pauses.get(pause_id)
            if kept is None:
                return None
            run_id = kept.pause.run_id
            record = self.answered(self._records[run_id])
            finished = record.phase is Phase.FINISHED
            waiting = finished and (record.result is None or waits_for_person(record.result))
            return Review(kept, self.lineage(run_id)[-1] == pause_id, waiting, self.decisions(run_id))

    def open_reviews(self, limit: int, after: str | None = None) -> tuple[Review, ...]:
        """The pauses that wait for a person."""
        with self._guard:
            newest = list(reversed(self._pauses))
            if after is not None:
                newest = newest[newest.index(after) + 1 :] if after in newest else []
            reviews = (self.review(pause_id) for pause_id in newest)
            return tuple(islice((each for each in reviews if each and still_waits(each)), max(limit, 0)))

    def lineage(self, run_id: str) -> tuple[str, ...]:
        """The names of the pauses of a run."""
        with self._guard:
            return tuple(name for name, kept in self._pauses.items() if kept.pause.run_id == run_id)

    def without_pause(self, limit: int) -> tuple[RunRecord, ...]:
        """Finished runs that wait for a person and have no pause."""
        with self._guard:
            waiting = (
                record
                for record in reversed(list(self._records.values()))
                if record.attempt > 0 and record.result is not None and waits_for_person(record.result)
            )
            found = (self.answered(each) for each in waiting if not self._since_doubt(each.run_id))
            return tuple(islice(found, max(limit, 0)))

    def issue(self, pause_id: str, issue: Issue) -> bool:
        """Issue a pause anew."""
        with self._guard:
            review = self.review(pause_id)
            if review is None or not may_issue(review, issue):
                return False
            self._version += 1
            self._pauses[pause_id] = evolve(review.kept, issues=(*review.kept.issues, issue))
            return True

    def decide(self, asked: Decision, judge: Judge) -> Verdict:
        """Let the machine judge a decision, and keep it on ``Taken``."""
        with self._guard:
            verdict = judge(self.review(asked.pause_id), self._decisions.get(asked.key))
            if isinstance(verdict, Taken):
                self._keep(verdict.decision)
            return verdict

    def note_refused(self, refused: RefusedDecision) -> None:
        """Keep the audit line of a decision that was not taken."""
        with self._guard:
            self._refused.append(refused)

    def refused(self, limit: int) -> tuple[RefusedDecision, ...]:
        """The newest audit lines first."""
        with self._guard:
            return tuple(islice(reversed(self._refused), max(limit, 0)))

    def old_refused(self, before: int) -> int:
        """How many audit lines ``forget_refused`` would drop."""
        with self._guard:
            return len(self._refused) - len(self._refused_since(before))

    def forget_refused(self, before: int) -> int:
        """Drop old audit lines."""
        with self._guard:
            dropped = self.old_refused(before)
            self._refused[:] = self._refused_since(before)
            return dropped

    def taken(self, limit: int) -> tuple[Decision, ...]:
        """The newest decisions first."""
        with self._guard:
            return tuple(islice(reversed(self._decisions.values()), max(limit, 0)))

    def wrong_codes(self, capability: str) -> int:
        """How many wrong codes were tried under this capability."""
        with self._guard:
            wrong = [each for each in self._refused if each.refusal is DecisionRefusal.CODE_WRONG]
            return sum(each.capability == capability for each in wrong)

    def decision(self, key: str) -> Decision | None:
        """The decision of this key."""
        with self._guard:
            return self._decisions.get(key)

    def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """Every decision about a run."""
        with self._guard:
            return tuple(each for each in self._decisions.values() if each.run_id == run_id)

    def unended(self) -> tuple[Decision, ...]:
        """Every decision that has not ended."""
        with self._guard:
            return tuple(each for each in self._decisions.values() if not is_over(each))

    def claim(self, key: str, owner: str) -> Continuation | None:
        """Take a decision to perform it, together with the continuation that it begins."""
        with self._guard:
            now = self._decisions.get(key)
            then = None if now is None else step(now, Claimed(owner))
            review = None if then is None else self.review(then.pause_id)
            begun = None
            if then is not None and review is not None:
                begun = begun_by(then, review, self.continuations(then.run_id))
            if then is not None and begun is not None:
                self._keep(then)
                if begun.number:
                    self._continuations[begun.run_id, begun.number] = begun
            return begun

    def begin_continuation_delivery(self, run_id: str, number: int, owner: str) -> bool:
        """Pass the delivery boundary of a continuation."""
        with self._guard:
            if not may_cross(self.continuations(run_id), number, owner):
                return False
            self._version += 1
            self._continuations[run_id, number] = evolve(self._continuations[run_id, number], crossed=True)
            return True

    def end(self, key: str, ending: Ended, result: RunResult | None = None) -> bool:
        """End a decision, and its continuation with what it came to."""
        with self._guard:
            now = self._decisions.get(key)
            return now is not None and self._ended(now, ending, result) is not None

    def settle_decision(self, seen: Decision, at: int) -> Decision | None:
        """End a decision whose owner is proven gone, if it still stands as it was seen."""
        with self._guard:
            if self._decisions.get(seen.key) != seen:
                return None
            open_one = going_on(self.continuations(seen.run_id), seen.key)
            return self._ended(seen, OwnerGone(open_one is not None and open_one.crossed, at), None)

    def continuations(self, run_id: str) -> tuple[Continuation, ...]:
        """Every continuation of a run."""
        with self._guard:
            return tuple(each for each in self._continuations.values() if each.run_id == run_id)

    def ask_opening(self, pause_id: str) -> bool:
        """Wish that the app is opened again for a pause."""
        with self._guard:
            review = self.review(pause_id)
            if review is None or not still_waits(review):
                return False
            number = len(self._openings) + 1
            self._openings[number] = Opening(number, pause_id)
            self._version += 1
            return True

    def openings(self) -> tuple[Opening, ...]:
        """The wishes that nobody took up yet."""
        with self._guard:
            return tuple(each for each in self._openings.values() if not each.claimed_by)

    def claim_opening(self, number: int, owner: str) -> bool:
        """Take up a wish; the first process does."""
        with self._guard:
            wish = self._openings.get(number)
            if wish is None or wish.claimed_by or not owner:
                return False
            self._openings[number] = evolve(wish, claimed_by=owner)
            return True

    def spend_form(self, digest: str, expires_at: int, now: int) -> bool:
        """Use a form's state; the first call does."""
        with self._guard:
            for old in [each for each, end in self._spent.items() if end < now]:
                del self._spent[old]
            return digest not in self._spent and self._spent.setdefault(digest, expires_at) == expires_at

    def version(self) -> int:
        """A number that differs once the store changed."""
        return self._version

    def _refused_since(self, before: int) -> list[RefusedDecision]:
        """The audit lines that stay."""
        return [each for each in self._refused if each.refused_at >= before or self._may_wait(each.pause_id)]

    def _may_wait(self, pause_id: str) -> bool:
        """Whether a pause can still be decided about, or its run goes on."""
        review = self.review(pause_id)
        if review is None:
            return False
        return self._records[review.kept.pause.run_id].phase is not Phase.FINISHED or still_waits(review)

    def _since_doubt(self, run_id: str) -> tuple[str, ...]:
        """The pauses of a run since the last time that a decision about it ended in doubt."""
        names = self.lineage(run_id)
        doubt = [each for each in self.decisions(run_id) if each.status is DecisionStatus.DELIVERY_UNCERTAIN]
        return names[max((names.index(each.pause_id) + 1 for each in doubt), default=0) :]

    def _keep(self, decision: Decision) -> None:
        self._decisions[decision.key] = decision
        self._version += 1

    def _ended(self, now: Decision, event: Event, result: RunResult | None) -> Decision | None:
        then = step(now, event)
        if then is None:
            return None
        open_one = going_on(self.continuations(now.run_id), now.key)
        if open_one is not None:
            first = self._records[now.run_id].result
            assert first is not None  # noqa: S101 - a decision is taken about a finished run
            came_to = result_at_end(first, open_one, event, result)
            self._continuations[open_one.run_id, open_one.number] = evolve(open_one, result=came_to)
        self._keep(then)
        return then
