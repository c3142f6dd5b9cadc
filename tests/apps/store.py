"""Reading of the stores of the apps, beside the app and without touching them.

Laws of this module:

- A store is opened for reading only.
- A row comes as the store holds it; nothing is turned into another form.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path


def rows(database: Path, query: str) -> list[Mapping[str, object]]:
    """The rows that a query finds in an SQLite file, by column."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def with_json(row: Mapping[str, object], *columns: str) -> Mapping[str, object]:
    """A row some of whose columns hold JSON, with what they hold."""
    return {**row, **{column: json.loads(str(row[column])) for column in columns}}
