"""What the shop holds: customers."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from apps.store import rows

_CUSTOMERS = """
SELECT id, title, firstName, lastName, emailAddress, phoneNumber FROM customer WHERE deletedAt IS NULL ORDER BY id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every customer, oldest first; the shop writes its whole file anew at each change, so a copy is read."""
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(state / "vendure.sqlite", folder))
        return rows(copy, _CUSTOMERS)
