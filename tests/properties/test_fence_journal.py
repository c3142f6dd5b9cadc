"""Laws of the fence's journal: what it proves after a crash at any point."""

from collections.abc import Iterator

import pytest
from attrs import frozen
from hypothesis import example, given
from hypothesis import strategies as st

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.fence import (
    EFFECTS,
    FLUSHED_TO_DISK,
    Effect,
    FenceVerdict,
    Happened,
    Journal,
    Stage,
    journal_line,
    next_stage,
    parse_journal,
    verdict,
    was_refused,
)

#: The delivery that claims least comes last.
DOUBT = [Delivery.NOT_SENT, Delivery.SENT_ONCE, Delivery.UNKNOWN]


@frozen
class World:
    """What really happened to the save up to a crash.

    Args:
        journal: The bytes that the operating system holds.
        sent: Whether a byte of the write may have left.
        answered: Whether an answer came.
    """

    journal: bytes
    sent: bool
    answered: bool


def crashes(outcomes: tuple[Happened, ...], *, line_first: bool) -> Iterator[World]:
    """The world at every point at which the fence may die, when its effects end like this.

    The fence may die within a line, between a line and its effect, and between an effect and the next line.
    ``line_first`` is the law that the line comes before the effect; without it the effect comes first, which is the
    mistake that the tests must catch.
    """
    journal = journal_line(Stage.OPENED)
    sent = answered = False
    yield World(journal, sent, answered)
    stage = Stage.INTENT
    for happened in (*outcomes, *(Happened.DONE,) * len(EFFECTS)):
        line, effect = journal_line(stage, 200 if stage is Stage.ANSWERED else None), EFFECTS.get(stage)
        sent_now = sent or effect is Effect.SEND
        answered_now = answered or (effect is Effect.READ_ANSWER and happened is Happened.DONE)
        if not line_first:
            yield World(journal, sent_now, answered_now)
        yield from (World(journal + line[:cut], sent, answered) for cut in range(1, len(line)))
        journal += line
        yield World(journal, sent, answered)
        sent, answered = sent_now, answered_now
        yield World(journal, sent, answered)
        if effect is None:
            return
        stage = next_stage(stage, happened)


def all_outcomes() -> Iterator[tuple[Happened, ...]]:
    """Every way in which a save can go: it goes well up to some effect, and that one ends in any way."""
    for well in range(len(EFFECTS)):
        yield from ((Happened.DONE,) * well + (happened,) for happened in Happened)


def lies(world: World) -> bool:
    """Whether the journal proves something that is not so."""
    match verdict(parse_journal(world.journal)):
        case Delivery.NOT_SENT:
            return world.sent
        case Delivery.SENT_ONCE:
            return not (world.sent and world.answered)
        case Delivery.UNKNOWN | Delivery.NOT_MEASURED:
            return False


class TestTheJournalNeverLies:
    """Since each line is flushed before its effect, a crash at any point leaves a journal that claims nothing false."""

    def test_over_all_outcomes_and_all_crash_points(self) -> None:
        worlds = {world for outcomes in all_outcomes() for world in crashes(outcomes, line_first=True)}

        assert len(worlds) > 200
        assert not [world for world in worlds if lies(world)]

    def test_a_fence_that_acts_before_it_writes_is_caught(self) -> None:
        worlds = crashes((Happened.DONE,) * len(EFFECTS), line_first=False)

        assert any(lies(world) for world in worlds)

    def test_a_save_that_went_well_is_proven(self) -> None:
        *_, last = crashes((Happened.DONE,) * len(EFFECTS), line_first=True)

        assert Delivery.SENT_ONCE is verdict(parse_journal(last.journal))

    def test_a_save_that_the_boundary_refused_is_proven(self) -> None:
        *_, last = crashes((Happened.REFUSED,) * len(EFFECTS), line_first=True)

        assert Delivery.NOT_SENT is verdict(parse_journal(last.journal))

    def test_what_a_power_cut_may_hide_is_flushed_to_the_disk(self) -> None:
        flushed = {stage for stage, effect in EFFECTS.items() if effect in {Effect.ASK_BOUNDARY, Effect.SEND}}

        assert flushed == FLUSHED_TO_DISK


class TestCuttingMovesTowardDoubt:
    """Cutting a journal anywhere after ``writing`` leaves its verdict or moves it to unknown.

    A cut before ``writing`` cannot exist once the write has left: that line was flushed before the first byte.
    """

    def test_at_every_byte(self) -> None:
        whole = journal_line(Stage.OPENED)
        for stage in (*EFFECTS, Stage.DONE):
            whole += journal_line(stage)
        start = whole.index(journal_line(Stage.WRITING)) + 1
        verdicts = [DOUBT.index(verdict(parse_journal(whole[:cut]))) for cut in range(start, len(whole) + 1)]

        assert set(verdicts) == {DOUBT.index(Delivery.SENT_ONCE), DOUBT.index(Delivery.UNKNOWN)}
        assert sorted(verdicts, reverse=True) == verdicts


class TestUnreadableJournals:
    """A journal that is missing, torn, foreign or out of order proves nothing beyond what stands before the fault."""

    @given(st.binary(max_size=200))
    def test_noise_proves_nothing(self, noise: bytes) -> None:
        assert Delivery.UNKNOWN is verdict(parse_journal(noise)) or noise == journal_line(Stage.OPENED)

    @given(st.binary(min_size=1, max_size=50))
    def test_noise_after_the_last_line_never_becomes_proof_of_nothing_sent(self, noise: bytes) -> None:
        assert Delivery.UNKNOWN is verdict(parse_journal(journal_line(Stage.OPENED) + b"x" + noise))

    @given(st.lists(st.sampled_from(Stage), max_size=8))
    def test_stages_out_of_order_prove_nothing(self, stages: list[Stage]) -> None:
        parsed = parse_journal(b"".join(map(journal_line, stages)))

        assert Journal(tuple(stages[: len(parsed.stages)]), whole=len(parsed.stages) == len(stages)) == parsed

    @pytest.mark.parametrize(
        "line",
        [
            b"[]\n",
            b"{}\n",
            b'{"stage":7}\n',
            b'{"stage":["opened"]}\n',
            b'{"stage":"gone"}\n',
            b"\xff\n",
            b"[" * 9999 + b"\n",
        ],
    )
    def test_a_line_of_another_shape_is_a_fault(self, line: bytes) -> None:
        assert Journal((Stage.OPENED,), whole=False) == parse_journal(journal_line(Stage.OPENED) + line)

    def test_an_answer_stays_proven_when_the_tail_is_torn(self) -> None:
        stages = [Stage.OPENED, *EFFECTS]
        data = b"".join(map(journal_line, stages)) + b'{"sta'

        assert Delivery.SENT_ONCE is verdict(parse_journal(data))

    def test_a_missing_journal_proves_nothing(self) -> None:
        assert Delivery.UNKNOWN is verdict(parse_journal(b""))


def answered_with(status: int | None) -> bytes:
    """The journal of a save that went well, with this status of its answer."""
    return b"".join(journal_line(stage, status if stage is Stage.ANSWERED else None) for stage in WELL)


class TestARefusal:
    """An answer of 4xx says that the app did not take the save; no other answer says so, and no missing one."""

    @given(st.integers(100, 999))
    @example(399)
    @example(400)
    @example(499)
    @example(500)
    def test_only_an_error_of_the_caller_refuses(self, status: int) -> None:
        journal = parse_journal(answered_with(status))

        assert (status, 400 <= status <= 499) == (journal.status, was_refused(journal))

    def test_an_answer_without_a_status_refuses_nothing(self) -> None:
        assert not was_refused(parse_journal(answered_with(None)))

    def test_nothing_is_refused_that_nobody_said(self) -> None:
        assert not FenceVerdict(Delivery.SENT_ONCE, stopped_writes=0).refused

    @pytest.mark.parametrize("cut", range(len(journal_line(Stage.DONE))))
    def test_what_follows_the_answer_takes_nothing_back(self, cut: int) -> None:
        whole = answered_with(409)

        assert was_refused(parse_journal(whole[: len(whole) - cut]))

    @pytest.mark.parametrize("status", [b'"409"', b"null", b"[409]", b"4e2"])
    def test_what_is_no_number_refuses_nothing(self, status: bytes) -> None:
        whole = answered_with(409).replace(b"409", status)

        assert (Delivery.SENT_ONCE, False) == (verdict(parse_journal(whole)), was_refused(parse_journal(whole)))

    def test_a_status_counts_only_beside_the_answer(self) -> None:
        lines = [journal_line(stage, 409) for stage in WELL if stage is not Stage.ANSWERED]
        before = lines[: WELL.index(Stage.ANSWERED)]

        assert not was_refused(parse_journal(b"".join(before)))


#: What a stage leads to, by how its effect ended; anything else is a failure.
LEADS: dict[tuple[Stage, Happened], Stage] = {
    (Stage.INTENT, Happened.DONE): Stage.CROSSED,
    (Stage.INTENT, Happened.REFUSED): Stage.REFUSED_BY_BOUNDARY,
    (Stage.INTENT, Happened.GONE): Stage.ABANDONED,
    (Stage.CROSSED, Happened.DONE): Stage.CONNECTED,
    (Stage.CROSSED, Happened.GONE): Stage.ABANDONED,
    (Stage.CONNECTED, Happened.DONE): Stage.WRITING,
    (Stage.CONNECTED, Happened.GONE): Stage.ABANDONED,
    (Stage.WRITING, Happened.DONE): Stage.WRITTEN,
    (Stage.WRITTEN, Happened.DONE): Stage.ANSWERED,
    (Stage.ANSWERED, Happened.DONE): Stage.DONE,
}

#: The stages of a save that goes well, in their order.
WELL = (*(stage for stage in Stage if stage in {Stage.OPENED, *(before for before, _ in LEADS)}), Stage.DONE)


def followers(before: Stage) -> set[Stage]:
    """The stages that may come next."""
    if before is Stage.OPENED:
        return {Stage.INTENT}
    after = {LEADS.get((before, happened), Stage.FAILED) for happened in Happened}
    return after if any(stage is before for stage, _ in LEADS) else set()


class TestTheOrderOfStages:
    """Each stage has its one effect, and what may follow it is the whole of what the journal of a save can say."""

    def test_each_stage_has_its_effect(self) -> None:
        assert EFFECTS == {
            Stage.INTENT: Effect.ASK_BOUNDARY,
            Stage.CROSSED: Effect.CONNECT,
            Stage.CONNECTED: Effect.CHECK_ALIVE,
            Stage.WRITING: Effect.SEND,
            Stage.WRITTEN: Effect.READ_ANSWER,
            Stage.ANSWERED: Effect.RELAY,
        }

    def test_each_end_of_an_effect_leads_where_it_should(self) -> None:
        pairs = [(stage, happened) for stage in Stage for happened in Happened]

        assert [LEADS.get(pair, Stage.FAILED) for pair in pairs] == [next_stage(*pair) for pair in pairs]

    @pytest.mark.parametrize("place", range(len(WELL)))
    def test_nothing_else_follows(self, place: int) -> None:
        before = WELL[: place + 1]
        so_far = b"".join(map(journal_line, before))
        whole = {stage for stage in Stage if parse_journal(so_far + journal_line(stage)).whole}

        assert Journal(before, whole=True) == parse_journal(so_far)
        assert followers(WELL[place]) == whole

    @pytest.mark.parametrize("last", [Stage.REFUSED_BY_BOUNDARY, Stage.ABANDONED, Stage.FAILED])
    def test_nothing_follows_an_end(self, last: Stage) -> None:
        ended = b"".join(map(journal_line, (Stage.OPENED, Stage.INTENT, last)))

        assert parse_journal(ended).whole
        assert not [stage for stage in Stage if parse_journal(ended + journal_line(stage)).whole]

    def test_only_the_opening_is_first(self) -> None:
        assert [Stage.OPENED] == [stage for stage in Stage if parse_journal(journal_line(stage)).whole]

    def test_a_line_is_what_earlier_versions_read(self) -> None:
        assert b'{"stage":"answered","status":200}\n' == journal_line(Stage.ANSWERED, 200)
        assert [b'{"stage":"%s"}\n' % stage.name.lower().encode() for stage in Stage] == list(map(journal_line, Stage))


class TestStagesNeverRepeat:
    """No sequence of events performs an effect twice; what is not foreseen is a failure."""

    @given(st.lists(st.sampled_from(Happened), min_size=20, max_size=20))
    def test_every_save_ends_and_sends_once(self, outcomes: list[Happened]) -> None:
        stage, effects = Stage.INTENT, list[Effect]()
        for happened in outcomes:
            if stage not in EFFECTS:
                break
            effects.append(EFFECTS[stage])
            stage = next_stage(stage, happened)

        assert stage not in EFFECTS
        assert len(set(effects)) == len(effects)
