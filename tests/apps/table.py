"""The runs of a campaign as tables in Markdown.

Laws of this module:

- Every run is counted once in each table that it belongs to, and a broken promise is never left out.
"""

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from surehand.core.outcome.reasons import Outcome

#: What a run is called to which nothing happened.
NO_FAULT = "none"


@frozen
class Row:
    """One run: what was answered at first and at last, what the store says, and which promises were broken."""

    app: str
    number: int
    fault: str
    outcome: str
    reason: str
    again: str
    stored: str
    seconds: float
    date: str
    broken: tuple[str, ...]


@frozen
class Runs:
    """The runs of a campaign, as they are kept in a file."""

    runs: tuple[Row, ...]


def tables(rows: Sequence[Row]) -> str:
    """Tables of the runs without faults by app, and of those with faults by app and by fault, with what they mean."""
    plain = [row for row in rows if row.fault == NO_FAULT]
    spoiled = [row for row in rows if row.fault != NO_FAULT]
    parts = [_table("app", plain, lambda row: row.app), _table("app, saves spoiled", spoiled, lambda row: row.app)]
    parts.append(_table("what happened to the save", spoiled, lambda row: row.fault.replace("_", " ")))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(title: str, rows: Sequence[Row], kind: Callable[[Row], str]) -> str:
    if not rows:
        return ""
    head = [title, "runs", *(f"`{outcome.value}`" for outcome in _OUTCOMES), "reasons of the others", "broken promises"]
    groups = [[row for row in rows if kind(row) == name] for name in dict.fromkeys(map(kind, rows))]
    lines = [_line([kind(group[0]), *_cells(group)]) for group in groups]
    total = _line(["all", *_cells(rows, with_reasons=False)])
    return "\n".join([_facts(rows), "", _line(head), f"|---|{'---:|' * 5}---|---:|", *lines, total])


_OUTCOMES = (Outcome.DONE, Outcome.NOT_SURE_IF_SAVED, Outcome.NEEDS_REVIEW, Outcome.DID_NOT_RUN)


def _cells(rows: Sequence[Row], *, with_reasons: bool = True) -> Iterator[str]:
    yield str(len(rows))
    outcomes = Counter(row.outcome for row in rows)
    yield from (str(outcomes[outcome.value]) for outcome in _OUTCOMES)
    reasons = Counter(row.reason for row in rows if row.outcome != Outcome.DONE.value)
    named = ", ".join(f"{count} `{reason}`" for reason, count in reasons.most_common())
    yield named if with_reasons else ""
    broken = Counter(promise for row in rows for promise in row.broken)
    yield ", ".join(f"{count} {promise}" for promise, count in broken.most_common()) or "0"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _facts(rows: Sequence[Row]) -> str:
    """What the table is of."""
    done = sum(row.outcome == Outcome.DONE.value and not row.broken for row in rows)
    days = sorted({row.date for row in rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, Python {platform.python_version()}"
    return f"{when}, {machine}: {len(rows)} runs, {done} of them `done` and true ({100 * done // len(rows)} %)."
