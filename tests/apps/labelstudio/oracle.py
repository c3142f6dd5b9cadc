"""What the project holds: annotations that were submitted, each with the letter and its values by label."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from apps.store import rows

_ANNOTATIONS = """
SELECT a.id, t.data, a.result FROM task_completion AS a JOIN task AS t ON t.id = a.task_id ORDER BY a.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every annotation, oldest first."""
    return [_annotation(row) for row in rows(state / "data" / "label_studio.sqlite3", _ANNOTATIONS)]


def _annotation(row: Mapping[str, object]) -> Mapping[str, object]:
    results = cast("list[dict[str, object]]", json.loads(str(row["result"])))
    values = {str(one["from_name"]): next(iter(cast("dict[str, object]", one["value"]).values())) for one in results}
    return {"id": row["id"], "letter": json.loads(str(row["data"]))["text"], "count": len(results), **values}
