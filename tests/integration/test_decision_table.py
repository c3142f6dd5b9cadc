"""The documentation's decision table, and the audit as it is shown."""

import io
import json
import re
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from surehand.core.outcome.audit import AuditReport, audit
from surehand.core.outcome.decide import decide
from surehand.core.outcome.domain import CIRCUMSTANCES, REPORTS, Domain
from surehand.core.outcome.reasons import Reason
from surehand.shell.audit import (
    DECISION_TABLE,
    LEADS_TO,
    audit_data,
    audit_text,
    decision_table,
    main,
    run_audit,
)

ROOT = Path(__file__).parents[2]

_FEW = Domain(REPORTS[:2], CIRCUMSTANCES)


def _without_counts(table: str) -> str:
    return re.sub(r"[0-9,]*[0-9]", "#", table)


@pytest.fixture(scope="module")
def whole() -> AuditReport:
    """The audit of the whole domain, made once, with its progress shown."""
    return run_audit(Console(file=io.StringIO(), force_terminal=True))


@pytest.fixture(scope="module")
def violated() -> AuditReport:
    """The audit of a judge that is safe and of no use, over few reports."""
    return audit(lambda _: Reason.RESULT_UNREADABLE, _FEW)


class TestTheDecisionTable:
    """The table in the documentation is the one that the audit makes."""

    def test_is_not_stale(self, whole: AuditReport) -> None:
        assert decision_table(whole) == (ROOT / DECISION_TABLE).read_text(encoding="utf-8")

    def test_is_not_stale_apart_from_its_counts(self) -> None:
        """A small audit makes the same table with other counts; it takes no time, so that mutants can be held to it."""
        made, shown = decision_table(audit(decide, _FEW)), (ROOT / DECISION_TABLE).read_text(encoding="utf-8")

        assert _without_counts(shown) == _without_counts(made)

    def test_would_be_stale_when_a_count_changes(self, whole: AuditReport) -> None:
        first, *others = whole.rows
        changed = evolve(whole, rows=(evolve(first, cases=first.cases + 1), *others))

        assert decision_table(changed) != (ROOT / DECISION_TABLE).read_text(encoding="utf-8")

    def test_explains_every_reason(self) -> None:
        assert set(Reason) == set(LEADS_TO)

    def test_is_written_by_its_own_command(
        self, whole: AuditReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "docs").mkdir()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("surehand.shell.audit.run_audit", lambda: whole)

        assert 0 == main(["--write"])
        assert decision_table(whole) == (tmp_path / DECISION_TABLE).read_text(encoding="utf-8")


class TestTheAuditAsShown:
    """The audit prints its size, the table and each invariant, as text and as data."""

    def test_as_text(self, whole: AuditReport) -> None:
        text = audit_text(whole)

        assert f"{whole.domain_size:,}" in text
        assert all(reason.value in text for reason in Reason)
        assert "VIOLATED" not in text

    def test_as_data_that_survives_json(self, whole: AuditReport) -> None:
        data = json.loads(json.dumps(audit_data(whole)))

        assert (0, whole.domain_size) == (data["violations"], data["domain_size"])
        assert [reason.value for reason in Reason] == [row["reason"] for row in data["table"]]
        assert [1, 2, 3, 4] == [finding["number"] for finding in data["findings"]]

    def test_a_violation_is_shown_with_examples_and_in_the_exit_status(
        self, violated: AuditReport, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("surehand.shell.audit.run_audit", lambda: violated)

        assert 1 == main([])
        printed = capsys.readouterr().out
        assert "VIOLATED" in printed
        assert "saved_and_checked is never reached" in printed

    def test_without_a_terminal_the_same_report_comes_without_progress(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written = io.StringIO()
        monkeypatch.setattr("surehand.shell.audit.audit", lambda: audit(decide, _FEW))
        report = run_audit(Console(file=written))

        assert (2, "") == (report.reports, written.getvalue())
