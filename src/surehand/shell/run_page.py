"""A page of what one run did, for the operator at this computer.

Laws of this module:

- The page is one file: no script, no picture, no address; nothing is loaded when it is opened.
- Everything on it is a closed word, a number, a time, an id, or a name of a member; every text is escaped.
- It says what is not known: a run without a trace has no steps, and values are kept nowhere.
"""

from collections.abc import Iterable
from html import escape
from typing import Final

from surehand.core.outcome.result import RunResult
from surehand.core.overview import RunReport
from surehand.core.workflow.trace import Act, Trace

_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem;color:#1a1a1a}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}td,th{text-align:left;padding:.3rem .6rem;"
    "border-bottom:1px solid #ddd;vertical-align:top}.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".bad{color:#a40000;font-weight:600}.good{color:#0a6b2d}h1{font-size:1.4rem}h2{font-size:1.1rem}"
    "code{font-size:.9em;overflow-wrap:anywhere}"
)

_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width"><title>Surehand run</title>'
)

NO_TRACE: Final = "No steps are kept of this run: it did not reach the app, is still going, or its trace was dropped."
NOT_COMPARED: Final = "The record was not read after the save, so nothing was compared."
NO_VALUES: Final = "What was entered and what was read is kept nowhere and cannot be shown."

Row = tuple[str, ...]


def run_page(result: RunResult, report: RunReport, trace: Trace | None, late: RunResult | None) -> str:
    """The page.

    Args:
        result: How the run stands.
        report: Every attempt under its request id.
        trace: What it did, if that is kept.
        late: What its process said after it had been ended.
    """
    parts = [
        f"<h1>{_outcome(result)}</h1><p>{escape(result.what_happened)}</p><p><b>{escape(result.next_action)}</b></p>",
        _table("The answer", ("", ""), _facts(result, report, late)),
        _table("Attempts", ("attempt", "run", "began", "phase", "outcome", "record changed"), _attempts(report)),
        *_trace(trace),
        f"<p>{NO_VALUES}</p>",
    ]
    return f"{_HEAD}<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"


def _outcome(result: RunResult) -> str:
    return f"{escape(result.outcome.value)} <small>{escape(result.reason.value)}</small>"


def _facts(result: RunResult, report: RunReport, late: RunResult | None) -> Iterable[Row]:
    yield "run", f"<code>{escape(result.run_id)}</code>"
    yield "record changed", result.record_changed.value
    yield "safe to retry", "yes" if result.safe_to_retry else "no"
    yield "checked", result.checked_how.value
    if result.checked_at is not None:
        yield "checked at", result.checked_at
    yield "proof", result.proof.value
    yield "mode and engine", f"{result.mode.value}, {result.engine.value}"
    for problem in result.input_problems:
        yield f"input {problem.input}", problem.problem.value
    for check in result.failed_checks:
        yield "failed check", check.value
    if report.read_again is not None:
        yield "read again later", report.read_again.value
    if late is not None:
        yield "reported too late", f"{late.reason.value}, record changed {late.record_changed.value}"


def _attempts(report: RunReport) -> Iterable[Row]:
    for each in report.attempts:
        began = each.created_at or "not known"
        outcome = f"{each.outcome.value}, {each.reason.value}"
        changed = each.record_changed.value
        yield str(each.attempt), f"<code>{escape(each.run_id)}</code>", began, each.phase.value, outcome, changed


def _trace(trace: Trace | None) -> Iterable[str]:
    if trace is None:
        yield f"<h2>Steps</h2><p>{NO_TRACE}</p>"
        return
    yield _table("Steps", ("", "what", "how it ended", "milliseconds"), _acts(trace))
    if not trace.compared:
        yield f"<h2>Read-back</h2><p>{NOT_COMPARED}</p>"
        return
    rows = ((f"<code>{escape(each.member)}</code>", _matched(each.matched)) for each in trace.compared)
    yield _table("Read-back", ("member of the record", "what was intended"), rows)


def _matched(matched: bool) -> str:
    return '<span class="good">match</span>' if matched else '<span class="bad">mismatch</span>'


def _acts(trace: Trace) -> Iterable[Row]:
    for number, act in enumerate(trace.acts, 1):
        yield str(number), act.did.value, _ended(act), f'<span class="n">{act.took_ms}</span>'
    if trace.left_out:
        yield "", f"{trace.left_out} more, as it waited", "", ""
    total = sum(act.took_ms for act in trace.acts)
    yield "", "<b>together</b>", "", f'<b class="n">{total}</b>'


def _ended(act: Act) -> str:
    return act.ended.value if act.fault is None else f'<span class="bad">{escape(act.fault.value)}</span>'


def _table(title: str, heads: Row, rows: Iterable[Row]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{title}</h2><table><tr>{head}</tr>{body}</table>"
