"""The replay machine on an app of somebody's own: new kinds of steps, records made and changed, three channels."""

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from support.app_model import MODEL_RUNS, Change
from support.change_model import (
    BUNDLES,
    INPUTS,
    PATHS,
    WARDS,
    WRITTEN,
    Before,
    Case,
    Channel,
    Colleague,
    Dialog,
    Server,
    Wrong,
    check_run,
    drive,
)
from surehand.core.outcome.decide import decide
from surehand.core.outcome.evidence import Approval, PauseCategory, ProcessFact, RunObserved, TransactionOutcome
from surehand.core.outcome.reasons import Reason
from surehand.core.workflow import compare, readback, replay
from surehand.core.workflow.bundle import DateForm, DialogAnswer, Effect, Entry, Key, Rule
from surehand.core.workflow.commands import (
    Check,
    CheckPage,
    Choose,
    Click,
    Command,
    FaultKind,
    Fill,
    Finish,
    Observation,
    Open,
    ReadRecords,
    ReadValue,
    Save,
)

VERIFIED = TransactionOutcome.VERIFIED
HALTED = TransactionOutcome.HALTED_BEFORE_EFFECT
DOUBT = TransactionOutcome.RECONCILIATION_REQUIRED
WAYS = list(BUNDLES)

DRAWN_INPUTS = st.fixed_dictionaries(
    {
        "patient": st.sampled_from(("A 7", "0471", "\u00fc*", "{note}", "a%2Fb", "..x")),
        "birth_date": st.sampled_from(("1970-04-03", "1970-04-04")),
        "note": st.sampled_from(("two\nlines", "Jose\u0301 \U0001f6b2", "x", " ")),
        "ward": st.sampled_from(WARDS),
        "path": st.sampled_from(PATHS),
        "signed": st.sampled_from(("true", "false")),
    },
    optional={"due": st.sampled_from(("2026-05-04", "2026-12-31", "2026-05-05"))},
)

_CHANGED = st.tuples(st.sampled_from([name for name in WRITTEN if name != "signed"]), st.sampled_from(Change))
_SWITCHES: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    st.sampled_from(Before).map(lambda before: {"before": before}),
    _CHANGED.map(lambda change: {"on_screen": change}),
    _CHANGED.map(lambda change: {"in_store": change}),
    st.sampled_from(("flipped_on_screen", "flipped_in_store", "month_first", "answer_lost", "unread")).map(
        lambda name: {name: True}
    ),
    st.sampled_from(Server).map(lambda server: {"server": server}),
    st.just({"edit_dialog": Dialog.NONE}),
    st.just({"save_dialog": Dialog.NONE}),
    st.sampled_from(Colleague).map(lambda colleague: {"colleague": colleague}),
    st.integers(1, 900).map(lambda lag: {"lag_ms": lag}),
    st.tuples(st.integers(0, 30), st.sampled_from(FaultKind)).map(lambda fault: {"fault_at": fault}),
)
_HARMLESS: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    st.just({"answer_lost": True}),
    st.sampled_from((Change.COMPOSED, Change.DECOMPOSED, Change.CRLF)).map(lambda each: {"in_store": ("note", each)}),
    st.integers(1, 600).map(lambda lag: {"lag_ms": lag}),
)


def _case(way: tuple[Channel, Effect], inputs: Mapping[str, str], switches: list[dict[str, Any]]) -> Case:
    first = Before.NONE if way == (Channel.ONE_PAGE, Effect.CREATE) else Before.ONE
    merged: dict[str, Any] = {"before": first, **{name: value for each in switches for name, value in each.items()}}
    return Case(channel=way[0], effect=way[1], inputs=inputs, wrong=Wrong(**merged))


def _cases(switches: tuple[st.SearchStrategy[dict[str, Any]], ...]) -> st.SearchStrategy[Case]:
    return st.builds(_case, st.sampled_from(WAYS), DRAWN_INPUTS, st.lists(st.one_of(*switches), max_size=3))


CASES = _cases(_SWITCHES)


def case(channel: Channel = Channel.JSON, effect: Effect = Effect.UPDATE, /, **wrong: Any) -> Case:  # noqa: ANN401 - each switch has its own type
    """A named case: plain inputs and these switches."""
    return _case((channel, effect), INPUTS, [wrong])


class TestInvariants:
    """Verified only when the store holds exactly the intended change; nothing written only when nothing was received.

    Whatever goes wrong, and whatever way the records are read: the machine saves once at most, only a page that shows
    what was intended, and never what the records show as done.
    """

    @MODEL_RUNS
    @given(CASES)
    @example(case())
    @example(case(server=Server.CHANGES_ALLERGY))
    @example(case(before=Before.DONE))
    def test_a_run_ends_with_what_the_store_proves(self, drawn: Case) -> None:
        check_run(replay, drawn)

    @MODEL_RUNS
    @given(_cases(_HARMLESS))
    def test_a_run_whose_faults_change_nothing_is_verified(self, drawn: Case) -> None:
        assert check_run(replay, drawn).finish.report.transaction is VERIFIED

    @pytest.mark.parametrize("kind", FaultKind)
    def test_every_fault_at_every_command_ends_with_what_the_store_proves(self, kind: FaultKind) -> None:
        for at in range(len(drive(replay, case()).exchanges)):
            check_run(replay, case(fault_at=(at, kind)))


class _Month:
    """Reads a date of any order as the intended one."""

    @staticmethod
    def same(rule: Rule, expected: str, seen: str, form: DateForm = DateForm.ISO) -> bool:
        """Loosely."""
        if rule is Rule.DATE and seen:
            return sorted(compare.written_date(form, expected)) == sorted(seen)
        return compare.same(rule, expected, seen, form)


def _same_choice(rule: Rule, expected: str, seen: str, form: DateForm = DateForm.ISO) -> bool:
    return rule is Rule.CHOICE or compare.same(rule, expected, seen, form)


def _never(*_: object) -> None:
    return None


def _kept(*_: object) -> bool:
    return True


#: What is replaced, where, and by what.
LOOSE: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "day and month are one": (replay, "same", _Month.same),
    "a box holds what it should": (replay, "same", _same_choice),
    "a saved choice is what it should": (readback, "same", _same_choice),
    "work may be done twice": (replay, "hindrance", _never),
    "other members do not matter": (readback, "_is_kept", _kept),
    "other records do not matter": (readback, "_are_kept", _kept),
}


class TestTheModelCatches:
    """A machine that breaks one law is caught by the very property that the real one passes."""

    @pytest.mark.parametrize("name", LOOSE)
    def test_a_loose_rule(self, name: str) -> None:
        module, replaced, loose = LOOSE[name]

        @settings(
            max_examples=20_000, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
        )
        @given(CASES)
        def same_property(drawn: Case) -> None:
            check_run(replay, drawn)

        with mock.patch.object(module, replaced, loose), pytest.raises(AssertionError):
            same_property()


NAMED: dict[str, tuple[Case, TransactionOutcome, PauseCategory | None]] = {
    **{f"{way[0].value}, {way[1].value}": (_case(way, INPUTS, []), VERIFIED, None) for way in WAYS},
    "an update that is done": (case(before=Before.DONE), HALTED, PauseCategory.POSSIBLE_DUPLICATE),
    "an update of nobody": (case(before=Before.NONE), HALTED, PauseCategory.IDENTITY),
    "an update of one of two": (case(before=Before.TWO), HALTED, PauseCategory.DISAMBIGUATION),
    "an entry that is there": (
        case(Channel.JSON, Effect.CREATE, before=Before.DONE),
        HALTED,
        PauseCategory.POSSIBLE_DUPLICATE,
    ),
    "a page that is there": (
        case(Channel.ONE_PAGE, Effect.CREATE, before=Before.ONE),
        HALTED,
        PauseCategory.POSSIBLE_DUPLICATE,
    ),
    "a box that does not stay": (case(flipped_on_screen=True), HALTED, PauseCategory.POSTCONDITION),
    "a box that is saved otherwise": (case(flipped_in_store=True), DOUBT, PauseCategory.EFFECT_REFUTED),
    "an app that reads the month first": (case(month_first=True), HALTED, PauseCategory.POSTCONDITION),
    "a store that swaps day and month": (
        case(in_store=("due", Change.SWAPPED_DAY_AND_MONTH)),
        DOUBT,
        PauseCategory.EFFECT_REFUTED,
    ),
    "a list that chooses another": (case(on_screen=("ward", Change.OTHER)), HALTED, PauseCategory.POSTCONDITION),
    "radio buttons that do not stay": (case(on_screen=("path", Change.LOST)), HALTED, PauseCategory.POSTCONDITION),
    "a click without its dialog": (case(edit_dialog=Dialog.NONE), HALTED, PauseCategory.HALT),
    "a save without its dialog": (case(save_dialog=Dialog.NONE), HALTED, PauseCategory.HALT),
    "another member changed with it": (case(server=Server.CHANGES_ALLERGY), DOUBT, PauseCategory.EFFECT_REFUTED),
    "another record made with it": (case(server=Server.STORES_TWICE), DOUBT, PauseCategory.EFFECT_REFUTED),
    "another record gone with it": (case(server=Server.DELETES_ANOTHER), DOUBT, PauseCategory.EFFECT_REFUTED),
    "a colleague's change of it": (case(colleague=Colleague.EDITS_THIS), DOUBT, PauseCategory.EFFECT_REFUTED),
    "an update that changed nothing": (case(server=Server.STORES_NOTHING), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    "an update seen too late": (case(lag_ms=700), DOUBT, PauseCategory.EFFECT_INDETERMINATE),
    "a new record that nobody read": (
        case(Channel.PAGES, Effect.CREATE, unread=True),
        DOUBT,
        PauseCategory.EFFECT_UNVERIFIABLE,
    ),
}


class TestCases:
    """Each kind of fault ends in its honest outcome."""

    @pytest.mark.parametrize("name", NAMED)
    def test_the_outcome(self, name: str) -> None:
        drawn, transaction, category = NAMED[name]
        trace = check_run(replay, drawn)

        assert (trace.finish.report.transaction, trace.category) == (transaction, category)

    def test_work_that_is_done_is_told_by_its_own_reason(self) -> None:
        finish = drive(replay, case(before=Before.DONE)).finish
        evidence = RunObserved(ProcessFact.EXITED_CLEANLY, finish.report, finish.pause, Approval.NOT_ASKED)

        assert decide(evidence) is Reason.POSSIBLE_DUPLICATE

    @pytest.mark.parametrize("patient", ["..", ".", "a/b", "a\\b", "*/*"])
    @pytest.mark.parametrize("way", WAYS)
    def test_a_value_that_would_be_another_address_opens_nothing(
        self, way: tuple[Channel, Effect], patient: str
    ) -> None:
        trace = check_run(replay, _case(way, {**INPUTS, "patient": patient}, []))

        assert (trace.exchanges, trace.category) == ((), PauseCategory.IDENTITY)
        assert trace.finish.report.transaction is HALTED

    def test_a_value_that_would_mean_any_in_a_query_opens_nothing(self) -> None:
        bundle = BUNDLES[Channel.JSON, Effect.UPDATE]
        part = evolve(bundle.save.page.query[0], value="{patient}")
        any_of = evolve(bundle, save=evolve(bundle.save, page=evolve(bundle.save.page, query=(part,))))

        _, command = replay.start(any_of, {**INPUTS, "patient": "*"})

        assert isinstance(command, Finish)


def _asked(kind: type[Command]) -> list[Any]:
    exchanges: tuple[tuple[Command, Observation], ...] = drive(replay, case(lag_ms=300)).exchanges
    return [command for command, _ in exchanges if isinstance(command, kind)]


class TestCommands:
    """The machine asks for each step as the bundle says it, with the values of the run in their places."""

    def test_an_address_holds_the_value_percent_encoded(self) -> None:
        assert [each.path for each in _asked(Open)] == ["/app?tab=chart&of=A%207"]
        assert {each.gate.fragment for each in _asked(CheckPage)} == {"/chart/A%207", "/form/A%207"}
        assert [each.route.path for each in _asked(Save)] == ["/api/A%207/entries"]

    def test_a_date_is_entered_in_the_form_of_the_app(self) -> None:
        entered = [(each.target.name, each.text, each.entry, each.then) for each in _asked(Fill)]

        assert entered == [
            ("search", "A 7", Entry.REPLACE, None),
            ("note", "two\nlines", Entry.TYPE, None),
            ("due", "04/05/2026", Entry.REPLACE, Key.TAB),
        ]

    def test_a_choice_and_a_box_are_asked_for_by_their_control(self) -> None:
        chosen = [(each.target.name, each.label, each.control.value, each.search) for each in _asked(Choose)]

        assert chosen == [("opener", "Ward 7", "list", "7"), ("path", "i.v.", "radio", None)]
        assert [(each.target.name, each.checked) for each in _asked(Check)] == [("signed", True)]

    def test_dialogs_are_answered_as_recorded(self) -> None:
        assert [each.dialog for each in (*_asked(Click), *_asked(Save))] == [DialogAnswer.ACCEPT] * 2

    def test_every_part_of_the_record_is_read_once_more_before_the_save_where_it_shows(self) -> None:
        read = [(each.target.name, each.control and each.control.value) for each in _asked(ReadValue)]
        entered = [("note", None), ("due", None), ("ward", "list"), ("path", "radio"), ("signed", None)]

        assert read == [("search", None), *entered, *entered]

    def test_the_records_are_those_of_the_run_and_their_keys_are_told_after_the_save(self) -> None:
        reads = [(each.source.path, each.old) for each in _asked(ReadRecords)]

        assert reads == [("/api/A%207/entries", None), *[("/api/A%207/entries", frozenset({"e0", "e1"}))] * 2]

    def test_nothing_that_is_entered_or_found_shows_when_it_is_printed(self) -> None:
        exchanges = drive(replay, case()).exchanges

        assert [text for text in ("A 7", "A%207", "two", "Ward 7", "04/05/2026") if text in repr(exchanges)] == []
