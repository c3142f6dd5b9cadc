"""What the project holds: issues."""

from collections.abc import Mapping
from pathlib import Path

from apps.store import rows

_ISSUES = """
SELECT i.id, t.name AS tracker, i.subject, i.description, s.name AS status, e.name AS priority, i.start_date,
       i.due_date, i.estimated_hours, i.done_ratio, i.is_private, k.name AS category, i.assigned_to_id AS assignee
FROM issues AS i JOIN trackers AS t ON t.id = i.tracker_id JOIN issue_statuses AS s ON s.id = i.status_id
JOIN enumerations AS e ON e.id = i.priority_id LEFT JOIN issue_categories AS k ON k.id = i.category_id ORDER BY i.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every issue, oldest first."""
    return rows(state / "redmine.sqlite3", _ISSUES)
