"""Continuations whose worker is killed: at each step between a person's decision and its stored end.

Laws of this module:

- The judge is the app's own file: how many writes reached it. The answer of the run has to admit every one.
- After each kill the same key is asked again, and nothing more happens; a run that stopped before the boundary goes on
  in the window of another worker, and is saved once. Behind the boundary another worker reads the record again, by what
  was sealed before the save, and says what is there.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from faults.result import Control, LayerResult
from support.attended_bench import AttendedBench, attended_bench
from support.attended_worker import POINTS
from support.browser import eventually
from support.stores import MEMORY_DISK
from surehand.core.attention import continuation, review
from surehand.core.attention.decision import DecisionStatus, Finding
from surehand.core.attention.pause import Action, KeptPause
from surehand.core.attention.review import bare_pause
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.core.outcome.result import RunResult
from surehand.shell.attended import desk

#: How the decision ends, by where the worker is killed.
ENDS: Final = {
    "claim.before": DecisionStatus.HALTED,
    "claim.after": DecisionStatus.HALTED,
    "cross.before": DecisionStatus.HALTED,
    "cross.after": DecisionStatus.DELIVERY_UNCERTAIN,
    "write.after": DecisionStatus.DELIVERY_UNCERTAIN,
    "end.before": DecisionStatus.DELIVERY_UNCERTAIN,
    "end.after": DecisionStatus.COMPLETED,
}

#: Rounds of every cell by profile.
ROUNDS: Final = {"short": 1, "full": 40}


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer; the cells are the same for every seed."""
    del seed
    began = time.monotonic()
    violations: list[str] = []
    for number in range(ROUNDS[profile]):
        for point in POINTS:
            violations += [f"{point}: {broken}" for broken in cell(point)]
        report(f"attended: round {number + 1} of {ROUNDS[profile]}")
    cells = ROUNDS[profile] * len(POINTS)
    return LayerResult("attended", cells, tuple(violations), controls(), time.monotonic() - began)


def cell(point: str, *, early: bool = False) -> list[str]:
    """One kill: what is broken after it."""
    with (
        tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder,
        attended_bench(Path(folder), kill=point, early=early) as office,
    ):
        return list(_judged(office, point))


def _judged(office: AttendedBench, point: str) -> Iterator[str]:
    stopped = office.bench.finished("entry-1", note="stops")
    item = office.item_of(stopped.run_id)
    if Action.CONTINUE not in item.allowed_actions:
        yield "a stopped run with a live window cannot go on"
        return
    request = office.ask(Action.CONTINUE, item)
    receipt, answer = office.ended(request, stopped.run_id), office.answer(stopped.run_id)
    yield from _dishonest(office, answer)
    if receipt.status is not ENDS[point]:
        yield f"the decision ended as {receipt.status.value}"
    if office.again(request, Action.CONTINUE) != receipt:
        yield "the same key has another receipt"
    if receipt.status is DecisionStatus.HALTED and answer.outcome is Outcome.NEEDS_REVIEW:
        yield from _goes_on_elsewhere(office, stopped.run_id, item.id)
    if receipt.status is DecisionStatus.DELIVERY_UNCERTAIN:
        yield from _read_elsewhere(office, stopped.run_id)


def _read_elsewhere(office: AttendedBench, run_id: str) -> Iterator[str]:
    """Another worker reads the record again: it finds what reached the app, and changes no answer."""
    before, item = office.answer(run_id), office.item_of(run_id)
    if Action.RECONCILE not in item.allowed_actions:
        yield "a save that may have gone through cannot be read again"
        return
    receipt = office.ended(office.ask(Action.RECONCILE, item), run_id)
    expected = Finding.SAVED_AS_INTENDED if office.writes() else Finding.NOT_FOUND
    if receipt.finding is not expected:
        yield f"read again as {receipt.finding} where the app says {expected.value}"
    if office.answer(run_id) != before:
        yield "reading again changed the answer"


def _goes_on_elsewhere(office: AttendedBench, run_id: str, item_id: str) -> Iterator[str]:
    """Another worker opens the window again, and the run goes on there."""
    office.desk.ask_opening(item_id)
    if not eventually(lambda: office.item_of(run_id).has_window):
        yield "no other worker opened the window"
        return
    request = office.ask(Action.CONTINUE, office.item_of(run_id))
    receipt, answer = office.ended(request, run_id), office.answer(run_id)
    yield from _dishonest(office, answer)
    if (receipt.status, answer.outcome) != (DecisionStatus.COMPLETED, Outcome.DONE):
        yield f"in another window it ended as {receipt.status.value}, {answer.outcome.value}"


def _dishonest(office: AttendedBench, answer: RunResult) -> Iterator[str]:
    """What the answer of a run says that the app does not bear out."""
    writes = len(office.writes())
    if writes > 1:
        yield f"{writes} writes reached the app"
    if writes and answer.record_changed is RecordChanged.NO:
        yield f"nothing was written, says {answer.reason.value}, and a write reached the app"
    if answer.outcome is Outcome.DONE and writes != 1:
        yield "done, and nothing reached the app"
    if answer.safe_to_retry or answer.outcome is Outcome.DID_NOT_RUN:
        yield f"retryable after a review: {answer.reason.value}"


def _as_before(first: RunResult, *, crossed: bool) -> RunResult:
    """An interruption that is never doubted."""
    del crossed
    return review.interrupted(first, crossed=False)


def _without_baseline(*given: Any) -> KeptPause:  # noqa: ANN401 - as the function that it stands for
    """A pause of a doubt that nothing was sealed for."""
    return bare_pause(*given[:5])


def _retryable(_before: RunResult, now: RunResult) -> RunResult:
    return now


CONTROLS: Final[dict[str, tuple[str, dict[str, Any], Any]]] = {
    "an interruption behind the boundary that counts as nothing": (
        "write.after",
        {},
        patch.object(continuation, "interrupted", _as_before),
    ),
    "a continuation that makes the run retryable": (
        "claim.after",
        {},
        patch.object(review, "after_review", _retryable),
    ),
    "an engine that writes before the boundary": ("cross.before", {"early": True}, patch.dict(os.environ)),
    "a reading that goes by no baseline": ("write.after", {}, patch.object(desk, "bare_pause", _without_baseline)),
}


def controls() -> tuple[Control, ...]:
    """What is wrong on purpose, and what the layer saw of it."""
    caught: list[Control] = []
    for name, (point, settings, broken) in CONTROLS.items():
        with broken:
            seen = cell(point, **settings)
        caught.append(Control(name, bool(seen), "; ".join(seen[:2]) or "nothing was seen"))
    return tuple(caught)
