"""Generated runs against the model of an app: inputs, and up to three faults at a time."""

from typing import Any

from hypothesis import strategies as st

from support.app_model import (
    DEADLINE_MS,
    FIELDS,
    HARMLESS,
    PATIENTS,
    PRIORITIES,
    Change,
    Faults,
    Row,
    SaveClick,
    Scenario,
    Server,
)
from surehand.core.workflow.commands import FaultKind

NOTES = (
    "Call back in 2 weeks",
    "Jose\u0301 asked\nfor a letter",
    "Jos\u00e9\r\nwaits",
    "Call back \U0001f6b2 in 2 weeks",
    "two words\u00a0apart ",
)


def _inputs(patient: tuple[str, str], remark: str | None, **rest: str) -> dict[str, str]:
    optional = {} if remark is None else {"remark": remark}
    return {**rest, **optional, "patient": patient[0], "birth_date": patient[1]}


def _fault_at(at: int, kind: FaultKind) -> dict[str, object]:
    return {"fault_at": (at, kind)}


def _early_write_at(at: int, sent: bool) -> dict[str, object]:
    return {"early_write_at": (at, sent)}


INPUTS = st.builds(
    _inputs,
    patient=st.sampled_from(PATIENTS),
    note=st.sampled_from(NOTES)
    | st.text(st.characters(codec="utf-8", categories=("L", "N", "M", "P")), min_size=1, max_size=8),
    dose=st.sampled_from(("0.5", "0.55", "1.50", "1000.5", "-2", "12")),
    due=st.sampled_from(("2026-05-04", "2026-05-31", "1970-04-04", "2026-01-01")),
    code=st.sampled_from(("01231456", "A 7", "x\u00a0y", "")),
    priority=st.sampled_from(PRIORITIES),
    remark=st.sampled_from((None, "", "by phone", "e\u0301")),
)

_AT = st.integers(0, 45)
_FIELD = st.sampled_from(FIELDS)
_CHANGE = st.sampled_from(Change)
_IN_STORE = st.builds(lambda *parts: {"in_store": (parts,)}, _FIELD, _CHANGE)
_SWITCHES: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    st.builds(lambda *parts: {"on_screen": (parts,)}, _FIELD, _CHANGE),
    st.builds(lambda *parts: {"rewritten": (parts,)}, _FIELD, _CHANGE, st.integers(0, 30)),
    _IN_STORE,
    st.sampled_from(Row).map(lambda row: {"row": row}),
    st.sampled_from((Change.DAY_BEFORE, Change.LOST)).map(lambda change: {"shown_birth_date": change}),
    _AT.map(lambda at: {"other_patient_from": at}),
    st.sampled_from(Server).map(lambda server: {"server": server}),
    st.sampled_from(SaveClick).map(lambda click: {"save_click": click}),
    st.integers(1, 3).map(lambda count: {"stopped_writes": count}),
    st.integers(1, 2 * DEADLINE_MS).map(lambda lag: {"lag_ms": lag}),
    st.frozensets(st.integers(0, 6), min_size=1).map(lambda reads: {"unanswered_reads": reads}),
    st.integers(0, 6).map(lambda read: {"repeated_keys_from_read": read}),
    st.just({"colleague_adds": True}),
    st.just({"colleague_edits": True}),
    st.builds(_fault_at, _AT, st.sampled_from(FaultKind)),
    _AT.map(lambda at: {"dead_from": at}),
    _AT.map(lambda at: {"canceled_at": at}),
    _AT.map(lambda at: {"out_of_time_at": at}),
    st.builds(_early_write_at, _AT, st.booleans()),
    st.just({"option_missing": True}),
)

_HARMLESS_CHANGE = st.sampled_from(HARMLESS)
_TEXT_FIELD = st.sampled_from(("note", "remark"))
_HARMLESS_SWITCHES: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    st.builds(lambda *parts: {"on_screen": (parts,)}, _TEXT_FIELD, _HARMLESS_CHANGE),
    st.builds(lambda *parts: {"in_store": (parts,)}, _TEXT_FIELD, _HARMLESS_CHANGE),
    st.just({"save_click": SaveClick.SENDS_ANSWER_LOST}),
    st.integers(1, 3).map(lambda count: {"stopped_writes": count}),
    st.integers(1, DEADLINE_MS).map(lambda lag: {"lag_ms": lag}),
    st.integers(1, 4).map(lambda read: {"unanswered_reads": frozenset({read})}),
)


def _scenario(inputs: dict[str, str], switches: list[dict[str, Any]]) -> Scenario:
    merged = {name: value for each in switches for name, value in each.items()}
    return Scenario(inputs=inputs, faults=Faults(**merged))


def _scenarios(switches: tuple[st.SearchStrategy[dict[str, Any]], ...]) -> st.SearchStrategy[Scenario]:
    drawn = st.lists(st.one_of(*switches), max_size=3)
    return st.builds(_scenario, INPUTS, drawn)


#: Runs with up to three faults of any kind.
SCENARIOS = _scenarios(_SWITCHES)
#: Runs with up to three faults that a good machine sees through.
HARMLESS_SCENARIOS = _scenarios(_HARMLESS_SWITCHES)
#: Runs whose store changes one entered value.
STORE_SCENARIOS = _scenarios((_IN_STORE,))
