"""What the collection holds: visits, each with the name of its ward.

Notes are HTML, whose named characters (``&auml;``) are read as what they stand for.
"""

from collections.abc import Mapping
from html import unescape
from pathlib import Path

from apps.store import rows

_VISITS = """
SELECT v.id, v.patient, v.kind, v.visit_date, v.pulse, v.urgent, v.tags, v.notes, w.name AS ward
FROM visits AS v LEFT JOIN wards AS w ON w.id = v.ward ORDER BY v.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every visit, oldest first."""
    return [{**row, "notes": unescape(str(row["notes"] or ""))} for row in rows(state / "data.db", _VISITS)]
