"""What the collection holds: visits, each with the name of its ward."""

from collections.abc import Mapping
from pathlib import Path

from apps.store import rows

_VISITS = """
SELECT v.id, v.patient, v.kind, v.visit_date, v.pulse, v.urgent, v.tags, v.notes, w.name AS ward
FROM visits AS v LEFT JOIN wards AS w ON w.id = v.ward ORDER BY v.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every visit, oldest first."""
    return rows(state / "data.db", _VISITS)
