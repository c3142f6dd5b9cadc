"""The ledger of runs: one interface, SQLite by default, claim files where SQLite cannot be opened, memory for tests.

Laws of this module:

- What lies in a folder says of which kind its ledger is, for every process and for good. Only for a folder without one
  is the kind chosen.
"""

import os
from pathlib import Path

from surehand.shell.store.base import RestoredStore, RunStore

__all__ = ["open_restored", "open_store"]


def open_store(folder: Path, *, read_only: bool = False) -> RunStore:
    """Open the one ledger of a folder, and make it when there is none.

    Nothing is written when a ledger is there already: on a full disk or a read-only mount its runs can still be read,
    and only what would write is refused.

    Args:
        folder: The state folder; the same folder is the same ledger, by whatever path it is reached.
        read_only: Never write; a missing ledger is then an error.

    Raises:
        StoreError: The folder refuses, or what lies in it is not to be trusted. Nothing was changed.
    """
    return _open(folder, read_only=read_only, restored=False)


def open_restored(folder: Path) -> RestoredStore:
    """Open a ledger that was copied, restored or taken away, so that a new epoch can begin with it.

    Raises:
        StoreError: The folder refuses, or the ledger is not to be trusted for another reason.
    """
    return _open(folder, read_only=False, restored=True)


def _open(folder: Path, *, read_only: bool, restored: bool) -> RestoredStore:
    if any(os.path.lexists(folder / name) for name in ("claims", "claims.seal")):
        return _claims(folder, read_only=read_only, restored=restored)
    try:
        from surehand.shell.store.sqlite import SqliteStore  # noqa: PLC0415 - SQLite may be missing
        from surehand.shell.store.sqlite_file import SqliteRefusedError  # noqa: PLC0415 - as above
    except ImportError:
        return _claims(folder, read_only=read_only, restored=restored)
    try:
        return SqliteStore.open(folder, read_only=read_only, restored=restored)
    except SqliteRefusedError:
        return _claims(folder, read_only=read_only, restored=restored)


def _claims(folder: Path, *, read_only: bool, restored: bool) -> RestoredStore:
    from surehand.shell.store.claims import ClaimStore  # noqa: PLC0415 - the fallback is rarely needed

    return ClaimStore.open(folder, read_only=read_only, restored=restored)
