"""What the table of visits holds."""

from collections.abc import Mapping
from pathlib import Path

from apps.store import rows


def records(state: Path) -> list[Mapping[str, object]]:
    """Every visit, oldest first."""
    return rows(state / "clinic.db", "SELECT * FROM visits ORDER BY id")
