"""The request gate over every history of attempts, 1 + 7 + ... + 7^5 of them, each judged by a rule stated anew."""

from collections.abc import Iterator
from itertools import product

import pytest
from attrs import asdict, evolve

from support.stores import BROKEN, DONE, FINGERPRINTS, GOING_ON, HALTED, TIMED_OUT, VERSIONS, draft, result_of, run_id
from surehand.core.outcome.evidence import CallRefused, EarlierAttempts, Evidence, OwnerGone, Phase, Refusal
from surehand.core.outcome.result import MAX_ATTEMPTS
from surehand.core.request.gate import Conflict, Replay, RetryLimit, Start, decide, earlier_attempts
from surehand.core.request.record import (
    MOVES,
    RunRecord,
    finished,
    instant,
    may_move,
    may_report_late,
    owner_gone,
)

#: An app that cannot be reached, under a request id in doubt: the reason is retryable, the answer is not.
DOUBTFUL = CallRefused(Refusal.APP_UNREACHABLE, EarlierAttempts.UNKNOWN)

#: Every way in which one attempt can stand: under way, retryable, unwritten otherwise, in doubt, done, unreadable.
STANDS: dict[str, Evidence | Phase | None] = {
    "reserved": Phase.RESERVED,
    "delivering": Phase.DELIVERING,
    "broken": BROKEN,
    "halted": HALTED,
    "doubtful": DOUBTFUL,
    "done": DONE,
    "unreadable": None,
}
UNWRITTEN = {"broken", "halted"}

DRAFT = draft(99)


def attempt(number: int, stands: str) -> RunRecord:
    """One attempt as it stands."""
    record = evolve(draft(number), attempt=number, phase=Phase.FINISHED)
    match STANDS[stands]:
        case Phase() as phase:
            return evolve(record, phase=phase)
        case None:
            return record
        case evidence:
            return evolve(record, result=result_of(record, evidence))


def histories(longest: int) -> Iterator[tuple[tuple[str, ...], tuple[RunRecord, ...]]]:
    """Every history of so many attempts or fewer, also those that no correct store can hold."""
    made = {(number, stands): attempt(number, stands) for number in range(1, longest + 1) for stands in STANDS}
    for length in range(longest + 1):
        for names in product(STANDS, repeat=length):
            yield names, tuple(made[number, stands] for number, stands in enumerate(names, start=1))


class TestDecide:
    """A new attempt starts only when every earlier one proved that nothing was written and may be tried again."""

    def test_every_history_gets_the_one_right_decision(self) -> None:
        seen: dict[type[object], int] = {}
        for names, attempts in histories(MAX_ATTEMPTS):
            doubts = [record for stands, record in zip(names, attempts, strict=True) if stands != "broken"]
            if doubts:
                expected: object = Replay(doubts[0])
            elif len(attempts) == MAX_ATTEMPTS:
                expected = RetryLimit(attempts[-1])
            else:
                expected = Start(evolve(DRAFT, attempt=len(attempts) + 1))

            assert expected == decide(attempts, DRAFT)
            seen[type(expected)] = seen.get(type(expected), 0) + 1

        assert {Replay: 19_602, RetryLimit: 1, Start: 5} == seen

    def test_a_history_that_a_store_can_hold_is_answered_by_its_latest_attempt(self) -> None:
        for names, attempts in histories(MAX_ATTEMPTS):
            if names and set(names[:-1]) <= {"broken"} and names[-1] != "broken":
                assert Replay(attempts[-1]) == decide(attempts, DRAFT)

    @pytest.mark.parametrize(
        "other_request",
        [
            evolve(DRAFT, fingerprint=FINGERPRINTS[1]),
            evolve(DRAFT, workflow="another"),
            evolve(DRAFT, workflow=None),
        ],
    )
    def test_another_request_in_any_attempt_is_a_conflict(self, other_request: RunRecord) -> None:
        for _, attempts in histories(3):
            for place in range(len(attempts)):
                other = tuple(
                    evolve(record, workflow=other_request.workflow, fingerprint=other_request.fingerprint)
                    if at == place
                    else record
                    for at, record in enumerate(attempts)
                )

                assert Conflict(other[-1]) == decide(other, DRAFT)

    def test_a_used_key_without_its_request_is_never_armed_again_and_never_a_conflict(self) -> None:
        spent = evolve(DRAFT, attempt=1, fingerprint="", workflow=None, phase=Phase.FINISHED)

        assert Replay(spent) == decide((spent,), DRAFT)

    @pytest.mark.parametrize("before", range(1, MAX_ATTEMPTS + 1))
    def test_another_version_of_the_workflow_starts_no_further_attempt(self, before: int) -> None:
        broken = tuple(attempt(number, "broken") for number in range(1, before + 1))
        changed = evolve(DRAFT, bundle=VERSIONS[1])

        for place in range(before):
            mixed = tuple(
                evolve(record, bundle=record.bundle if at == place else VERSIONS[1]) for at, record in enumerate(broken)
            )

            assert Conflict(mixed[-1]) == decide(mixed, changed)

    def test_another_version_is_told_what_ended_already(self) -> None:
        changed = evolve(DRAFT, bundle=VERSIONS[1])
        for names, attempts in histories(3):
            if set(names) - {"broken"}:
                assert decide(attempts, changed) == decide(attempts, DRAFT)

    def test_a_version_that_is_not_known_is_never_held_to_differ(self) -> None:
        unknown = evolve(attempt(1, "broken"), bundle="")

        assert Start(evolve(DRAFT, attempt=2)) == decide((unknown,), DRAFT)

    def test_only_the_attempt_number_of_a_draft_is_set(self) -> None:
        assert Start(evolve(DRAFT, attempt=1)) == decide((), DRAFT)


class TestEarlierAttempts:
    """A refused call may say that nothing was written only when every attempt under its request id proves it."""

    def test_every_history_is_summed_up_without_more_than_it_proves(self) -> None:
        for names, attempts in histories(4):
            proven = EarlierAttempts.NOTHING_WRITTEN if set(names) <= UNWRITTEN else EarlierAttempts.UNKNOWN

            assert (proven if names else EarlierAttempts.NONE) == earlier_attempts(attempts)


class TestRecord:
    """The phases of a run have one order, and only its owner moves it on."""

    ORDER = (Phase.RESERVED, Phase.STARTED, Phase.DELIVERING, Phase.FINISHED)

    def test_every_move_goes_forward(self) -> None:
        for here, there in product(Phase, Phase):
            forward = self.ORDER.index(here) < self.ORDER.index(there)

            assert forward == (here in MOVES[there])

    def test_nobody_else_moves_a_run(self) -> None:
        for here, there in product(Phase, Phase):
            record = evolve(DRAFT, phase=here)

            assert (here in MOVES[there]) == may_move(record, record.owner, there)
            assert not may_move(record, "somebody else", there)

    def test_a_result_stands_at_the_end_only(self) -> None:
        result = result_of(DRAFT, DONE)

        assert evolve(DRAFT, phase=Phase.FINISHED, result=result) == finished(DRAFT, result)
        for phase in (Phase.RESERVED, Phase.STARTED, Phase.DELIVERING):
            with pytest.raises(ValueError, match="finished"):
                evolve(DRAFT, phase=phase, result=result)

    @pytest.mark.parametrize("evidence", [DONE, GOING_ON])
    def test_a_run_ends_with_a_final_result_of_its_own(self, evidence: Evidence) -> None:
        other = result_of(evolve(DRAFT, run_id=run_id(98)) if evidence is DONE else DRAFT, evidence)

        with pytest.raises(ValueError, match="ends this run"):
            finished(DRAFT, other)

    def test_a_dead_owner_leaves_phase_and_journal_as_evidence(self) -> None:
        for phase, journaled in product(Phase, (True, False)):
            record = evolve(DRAFT, phase=phase, journaled=journaled)

            assert OwnerGone(phase, journaled) == owner_gone(record)

    def test_a_doubt_is_no_retry(self) -> None:
        assert not result_of(DRAFT, TIMED_OUT).safe_to_retry

    def test_a_version_that_nobody_states_is_not_known(self) -> None:
        stated = asdict(DRAFT, filter=lambda field, _: field.name != "bundle")

        assert evolve(DRAFT, bundle="") == RunRecord(**stated)


class TestInstants:
    """A time is told when a calendar of four digits holds it, and never as another one."""

    @pytest.mark.parametrize(
        ("seconds", "told"),
        [
            (-30_610_224_001, None),
            (-30_610_224_000, "1000-01-01T00:00:00Z"),
            (0, "1970-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, None),
        ],
    )
    def test_up_to_the_last_second_of_it(self, seconds: int, told: str | None) -> None:
        assert told == instant(seconds)


class TestLateReports:
    """Only the owner of a finished run may still report about it, and it changes nothing that was answered."""

    @pytest.mark.parametrize("phase", Phase)
    @pytest.mark.parametrize("reporter", [DRAFT.owner, "f" * 32, ""])
    def test_only_the_owner_of_a_finished_run(self, phase: Phase, reporter: str) -> None:
        late = phase is Phase.FINISHED and reporter == DRAFT.owner

        assert late == may_report_late(evolve(DRAFT, phase=phase), reporter)

    def test_a_call_that_reserved_nothing_has_no_owner_to_report(self) -> None:
        assert not may_report_late(evolve(DRAFT, phase=Phase.FINISHED, owner=""), "")
