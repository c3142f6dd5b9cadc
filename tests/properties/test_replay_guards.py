"""Guarded members of records: what the save could put back to an older state, read early and again before the save."""

from collections.abc import Iterator, Mapping

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.app_model import BUNDLE, MODEL_RUNS, PLAIN_INPUTS, Scenario, drive
from support.app_strategies import HARMLESS_SCENARIOS
from surehand.core.outcome.evidence import OpenPause, PauseCategory, TransactionOutcome
from surehand.core.workflow import replay
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import (
    Command,
    Done,
    Finish,
    Observation,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    Texts,
)

GUARDED = evolve(BUNDLE, guards=("allergy", "remark"))

_MEMBERS = st.dictionaries(st.sampled_from(("allergy", "remark", "note")), st.sampled_from(("", "a", "b")))
_STORES = st.dictionaries(st.sampled_from(("k1", "k2", "k3")), _MEMBERS, max_size=3)

Store = Mapping[str, Mapping[str, str]]


def records(store: Store) -> Records:
    """A read that shows this store."""
    return Records(tuple(Record(key, members) for key, members in store.items()))


def up_to_the_save(reads: Iterator[Observation], bundle: Bundle = GUARDED) -> tuple[list[Command], Command]:
    """The commands of a run on a page that does what it should, and the last of them: the save, or the end."""
    state, command = replay.start(bundle, PLAIN_INPUTS)
    asked: list[Command] = []
    while not isinstance(command, Save | Finish):
        asked.append(command)
        state, command = replay.step(state, _answer(command, reads))
    return asked, command


def _answer(command: Command, reads: Iterator[Observation]) -> Observation:
    match command:
        case ReadRecords():
            return next(reads)
        case ReadValue(target=target):
            return Texts((PLAIN_INPUTS.get(target.name, "trainee"),))
        case ReadTexts():
            return Texts((PLAIN_INPUTS["patient"], PLAIN_INPUTS["birth_date"]))
        case _:
            return Done()


def guarded_cells(store: Store) -> set[tuple[str, str, str]]:
    """What is guarded in a store; written without the machine's comparison."""
    cells = {(key, name, members[name]) for key, members in store.items() for name in members}
    return {cell for cell in cells if cell[1] != "note"}


def pause(end: Command) -> PauseCategory | None:
    """The pause that a run left."""
    assert isinstance(end, Finish)
    assert end.report.transaction is TransactionOutcome.HALTED_BEFORE_EFFECT
    return end.pause.category if isinstance(end.pause, OpenPause) else None


class TestGuards:
    """A run saves only if no guarded member changed, came or went between the first command and the baseline."""

    @given(_STORES, _STORES)
    def test_it_saves_exactly_when_the_guarded_members_are_the_same(self, early: Store, late: Store) -> None:
        _, end = up_to_the_save(iter((records(early), records(late))))

        assert isinstance(end, Save) == (guarded_cells(early) == guarded_cells(late))
        assert isinstance(end, Save) or pause(end) is PauseCategory.UNMET_GUARD

    @given(_STORES, _STORES)
    def test_without_guards_nothing_is_compared(self, early: Store, late: Store) -> None:
        _, end = up_to_the_save(iter((records(late), records(early))), BUNDLE)

        assert isinstance(end, Save)

    def test_they_are_read_before_anything_is_opened_and_again_as_the_baseline(self) -> None:
        asked, _ = up_to_the_save(iter((records({}), records({}))))
        plain, _ = up_to_the_save(iter((records({}),)), BUNDLE)

        assert asked == [ReadRecords(GUARDED.read_back.source), *plain]

    def test_of_a_record_that_is_only_counted_nothing_is_guarded(self) -> None:
        _, end = up_to_the_save(iter((Records((Record("k", None),)), Records((Record("k", None),)))))
        _, shown = up_to_the_save(iter((Records((Record("k", None),)), records({"k": {"allergy": "nuts"}}))))

        assert isinstance(end, Save)
        assert pause(shown) is PauseCategory.UNMET_GUARD

    @pytest.mark.parametrize("unusable", [RecordsUnavailable(), Records((Record("k", {}), Record("k", {})))])
    @pytest.mark.parametrize("at", [0, 1])
    def test_guards_that_cannot_be_read_stop_the_run(self, at: int, unusable: Observation) -> None:
        reads = [records({}), records({})]
        _, end = up_to_the_save(iter((*reads[:at], unusable, *reads[at + 1 :])))

        assert pause(end) is PauseCategory.EFFECT_UNVERIFIABLE

    @MODEL_RUNS
    @given(HARMLESS_SCENARIOS)
    def test_guards_that_hold_change_nothing_else(self, drawn: Scenario) -> None:
        held = evolve(drawn, faults=evolve(drawn.faults, lag_ms=0, unanswered_reads=frozenset()))
        trace = drive(replay, held, evolve(BUNDLE, guards=("note",)))

        assert trace.finish.report.transaction is TransactionOutcome.VERIFIED

    def test_a_guard_is_named_once(self) -> None:
        with pytest.raises(ValueError, match="a guard is named twice"):
            evolve(BUNDLE, guards=("allergy", "allergy"))
