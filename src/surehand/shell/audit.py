"""The audit of the contract, shown: as text, as JSON data, and as the decision table of the documentation.

Laws of this module:

- All three are made from one report; nothing here judges evidence.
- ``docs/decision-table.md`` is written by ``python -m surehand.shell.audit --write`` and by nothing else.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from surehand.core.outcome.audit import AuditReport, audit
from surehand.core.outcome.domain import WHOLE
from surehand.core.outcome.reasons import REASONS, Reason
from surehand.core.outcome.wording import EARLIER_MAY_HAVE_SAVED, WORDING
from surehand.core.wire import to_wire
from surehand.shell.output import yes_no

if TYPE_CHECKING:
    from rich.console import Console

#: Where the decision table stands, from the root of the repository.
DECISION_TABLE: Final = Path("docs/decision-table.md")

#: The evidence that leads to each reason, in words.
LEADS_TO: Final[dict[Reason, str]] = {
    Reason.SAVED_AND_CHECKED: "A consistent verified report, a clean exit, no pause, no approval outstanding, and "
    "a check that reaches the workflow's minimum",
    Reason.UNEXPECTED_SCREEN: "A report that nothing was written, and an open pause about a target, a guard, "
    "a postcondition or a halt",
    Reason.RECORD_NOT_CONFIRMED: "A report that nothing was written, and an open pause about which record is open",
    Reason.PERSON_NEEDED: "A report that nothing was written, and an open pause about a step or a decision "
    "that belongs to a person",
    Reason.RECORD_CHECK_NOT_SET_UP: "A report that nothing was written, and an open pause about a record check "
    "that is missing",
    Reason.STOPPED_FOR_REVIEW: "A report that nothing was written, and another open pause, a failed look-up of pauses, "
    "or a halt without a pause",
    Reason.POSSIBLE_DUPLICATE: "A report that nothing was written, and an open pause because the work looks done "
    "already",
    Reason.APPROVAL_NEEDED: "A report that nothing was written, and an approval that a person has to give",
    Reason.WAITING_FOR_APPROVAL: "A run that still goes on and waits for a person's approval of the save; never stored",
    Reason.SAVE_NOT_CONFIRMED: "A consistent report that the record must be looked at",
    Reason.NOT_CHECKED: "A consistent report of an end without a check, or a report with only a success flag",
    Reason.CHECKED_BELOW_MINIMUM: "A consistent verified report whose check is weaker than the workflow's minimum",
    Reason.CHANGE_REVERSED: "A consistent report that a change was rolled back",
    Reason.TIMED_OUT: "A run that was ended because it took too long",
    Reason.RESULT_UNREADABLE: "A report that is missing, cannot be read, or contradicts itself, the process, the pause "
    "or the approval; or a stored record that does not satisfy the contract",
    Reason.INTERRUPTED: "The owner of the run is gone, and the run had passed the delivery boundary or "
    "its engine keeps no journal of it",
    Reason.INTERRUPTED_BEFORE_SAVE: "The owner of the run is gone, and the journal shows that "
    "the delivery boundary was not passed",
    Reason.POLICY_REFUSED: "A report that policy refused the run, without a pause",
    Reason.CANCELED: "A report that the run was canceled before it wrote, without a pause",
    Reason.PLATFORM_ERROR: "A process that could not be launched, a report that the platform failed before a write, "
    "or a store or an engine that is not available",
    Reason.STOPPED_BY_PERSON: "A report that nothing was written, and a pause that a person rejected",
    Reason.NOT_READY_TO_RUN: "A check before the run failed, or the process refused before it executed anything",
    Reason.APP_UNREACHABLE: "The app did not answer before anything was sent",
    Reason.INVALID_INPUT: "Inputs that do not fit the workflow",
    Reason.UNKNOWN_WORKFLOW: "A workflow name that is not known",
    Reason.WORKFLOW_UNAVAILABLE: "A workflow that is known and cannot be used",
    Reason.RUNS_DISABLED: "A server that may not run workflows",
    Reason.REQUEST_ID_CONFLICT: "A request id that was used with another workflow, version of it, or inputs",
    Reason.RETRY_LIMIT: "A request id whose attempts are used up",
    Reason.RUNNING: "A run that still goes on; never stored",
}


def run_audit(console: "Console | None" = None) -> AuditReport:
    """Audit the contract.

    Args:
        console: Where to show progress; none is shown without one, or where it is no terminal.

    Returns:
        What the audit found.
    """
    if console is None or not console.is_terminal:
        return audit()
    from rich.progress import Progress  # noqa: PLC0415 - costly, and wanted by people only

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("Judging every evidence", total=WHOLE.size)
        return audit(progress=lambda judged: progress.update(task, completed=judged))


def audit_data(report: AuditReport) -> dict[str, object]:
    """The report and the reason table as data that JSON can hold."""
    return {**to_wire(report), "violations": report.violations, "table": [_row(reason) for reason in Reason]}


def audit_text(report: AuditReport) -> str:
    """The report and the reason table for a person to read, in plain lines."""
    return "\n".join([*_size_lines(report), "", *_table_lines(report), "", *_finding_lines(report)])


def decision_table(report: AuditReport) -> str:
    """The documentation's decision table, in Markdown."""
    return "\n".join(_markdown(report)) + "\n"


def _row(reason: Reason) -> dict[str, object]:
    row, words = REASONS[reason], WORDING[reason]
    return {
        "reason": reason.value,
        "outcome": row.outcome.value,
        "record_changed": row.record_changed.value,
        "safe_to_retry": row.safe_to_retry,
        "next_step": row.next_step.value,
        "evidence": LEADS_TO[reason],
        "what_happened": words.what_happened,
        "next_action": words.next_action,
    }


def _size_lines(report: AuditReport) -> Iterator[str]:
    yield f"{report.domain_size:,} values of evidence, every one of them judged:"
    yield f"  {report.calls:,} calls and records without an observed run"
    yield f"  {report.reports:,} reports in {report.circumstances:,} circumstances each"
    yield f"  {report.answers:,} different answers"


def _table_lines(report: AuditReport) -> Iterator[str]:
    yield f"{'reason':<24} {'outcome':<18} {'changed':<8} {'retry':<6} {'cases':>9}  next step"
    for counted in report.rows:
        row = REASONS[counted.reason]
        yield (
            f"{counted.reason.value:<24} {row.outcome.value:<18} {row.record_changed.value:<8} "
            f"{yes_no(row.safe_to_retry):<6} {counted.cases:>9,}  {row.next_step.value}"
        )


def _finding_lines(report: AuditReport) -> Iterator[str]:
    for finding in report.findings:
        verdict = "holds" if not finding.violations else f"VIOLATED {finding.violations:,} times"
        yield f"{finding.number}. {finding.title}: {verdict} ({finding.cases:,} cases checked)"
        yield from (f"   {example}" for example in finding.examples)
    yield f"{report.violations:,} violations"


def _markdown(report: AuditReport) -> Iterator[str]:
    yield "# Decision table"
    yield ""
    yield "<!-- Generated by `python -m surehand.shell.audit --write`. Do not edit. -->"
    yield ""
    yield "Every answer bears one reason."
    yield "The reason says which of the four outcomes it is, whether the record changed, and what the caller does next."
    yield "*Cases* counts the values of evidence that lead to the reason."
    yield ""
    yield "| reason | outcome | record_changed | safe_to_retry | next_step | evidence | cases |"
    yield "|---|---|---|---|---|---|---:|"
    for counted in report.rows:
        row = REASONS[counted.reason]
        yield (
            f"| `{counted.reason.value}` | `{row.outcome.value}` | {row.record_changed.value} | "
            f"{yes_no(row.safe_to_retry)} | `{row.next_step.value}` | {LEADS_TO[counted.reason]} | {counted.cases:,} |"
        )
    yield from _weakened()
    yield from _sentences()
    yield from _invariants(report)


def _weakened() -> Iterator[str]:
    yield ""
    yield "A call that is refused keeps its reason."
    yield "When an earlier attempt under the same request id may have written, it says `record_changed: unknown`,"
    yield "`safe_to_retry: false` and `have_a_person_check_the_record`, in these words:"
    yield f"“{EARLIER_MAY_HAVE_SAVED.what_happened} {EARLIER_MAY_HAVE_SAVED.next_action}”"


def _sentences() -> Iterator[str]:
    yield ""
    yield "## What each reason says"
    yield ""
    yield "Every sentence is fixed copy."
    yield "A result of the simulated engine opens with a sentence that says so."
    yield ""
    yield "| reason | what_happened | next_action |"
    yield "|---|---|---|"
    for reason, words in WORDING.items():
        yield f"| `{reason.value}` | {words.what_happened} | {words.next_action} |"


def _invariants(report: AuditReport) -> Iterator[str]:
    yield ""
    yield "## What the audit checks"
    yield ""
    yield f"The domain of evidence has {report.domain_size:,} values: {report.calls:,} without an observed run, and"
    yield f"{report.reports:,} reports in {report.circumstances:,} circumstances each."
    yield "`surehand audit` judges every one of them."
    yield ""
    yield "| invariant | cases checked | violations |"
    yield "|---|---:|---:|"
    for finding in report.findings:
        yield f"| {finding.number}. {finding.title} | {finding.cases:,} | {finding.violations:,} |"


def main(arguments: list[str]) -> int:
    """Print the audit, or write the decision table with ``--write``; run from the root of the repository.

    Returns:
        The exit status: 1 when an invariant is violated.
    """
    report = run_audit()
    if arguments == ["--write"]:
        DECISION_TABLE.write_text(decision_table(report), encoding="utf-8")
    else:
        click.echo(audit_text(report))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
