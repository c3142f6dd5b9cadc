"""What the help desk holds: tickets, each with its tags."""

from collections.abc import Mapping
from pathlib import Path

from apps.store import rows, with_json

_TICKETS = """
SELECT t.id, t.subject, t.body, t.priority, t.due, t.opened, t.billable, t.hours, c.name AS customer,
       (SELECT json_group_array(name) FROM (SELECT g.name FROM ticket_tags AS x JOIN tag AS g ON g.id = x.tag_id
        WHERE x.ticket_id = t.id ORDER BY g.id)) AS tags
FROM ticket AS t LEFT JOIN customer AS c ON c.id = t.customer_id ORDER BY t.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every ticket, oldest first."""
    return [with_json(row, "tags") for row in rows(state / "db.sqlite3", _TICKETS)]
