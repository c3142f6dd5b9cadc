"""Looks at an installation and says what is in order and what is not.

Laws of this module:

- Looking changes nothing, except that it may make the state folder's own files while it tries whether it can.
- Each check stands alone: one that fails leaves the others their say.
- The words are fixed; what a check found is a closed code, a number or a version.
"""

import os
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from enum import Enum, unique
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from attrs import frozen

from surehand.core.outcome.result import FailedCheck, Mode
from surehand.shell.clock import Clock
from surehand.shell.config import BundleSettings, ConfigError, SandboxEngine, Settings
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.files import NetworkFileSystemError, refuse_network_file_system
from surehand.shell.identity import DamagedKeyError, find_machine_key
from surehand.shell.store import open_store
from surehand.shell.store.base import StoreError, StoreRestoredError

#: Below this many bytes free nothing can be relied on; below the other one it is time to tidy up.
LEAST_FREE_BYTES: Final = 20 * 1024 * 1024
AMPLE_FREE_BYTES: Final = 500 * 1024 * 1024

#: No clock that is right stands before this instant, 2025-01-01 UTC, in seconds.
EARLIEST_NOW: Final = 1_735_689_600

#: A record may be dated this many seconds ahead of the clock.
TOLERATED_SECONDS: Final = 120


#: What to do about what can be found out here.
TO_DO: Final[dict[FailedCheck, str]] = {
    FailedCheck.BROWSER_MISSING: (
        "install Chromium, Chrome or Edge, or run `playwright install chromium`; SUREHAND_CHROMIUM names another one"
    ),
    FailedCheck.BROWSER_NOT_STARTING: "start it by hand and see what it says",
    FailedCheck.STORE_CORRUPT: "it is kept as it is; move the state folder away, and restore a backup or begin anew",
    FailedCheck.STORE_UNAVAILABLE: "see who may write in the state folder, and whether the disk is full",
    FailedCheck.STORE_OF_OTHER_KIND: "name another folder by --runs-dir",
    FailedCheck.STORE_NEWER: "a newer version wrote it; update Surehand",
    FailedCheck.STORE_RESTORED: "it was copied or restored; `surehand runs accept-restored` takes it over",
}


@unique
class State(Enum):
    """What a check came to. ``warning`` is no hindrance."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@frozen
class Finding:
    """What one check found, in fixed words."""

    check: str
    state: State
    says: str


def examine(settings: Settings, clock: Clock) -> tuple[Finding, ...]:
    """Every finding about the installation, in the order in which it should be put right."""
    return tuple(_findings(settings, clock))


def is_in_order(findings: tuple[Finding, ...]) -> bool:
    """Whether nothing failed."""
    return all(finding.state is not State.FAILED for finding in findings)


def _findings(settings: Settings, clock: Clock) -> Iterator[Finding]:
    folder = settings.state_folder
    yield _python()
    yield _sqlite()
    yield _folder(folder)
    yield _file_system(folder)
    yield _free_space(folder)
    yield _clock(clock)
    yield _signing_key()
    yield from _store(folder, clock)
    yield from _plans(folder)
    if settings.bundles is not None:
        yield _bundles(settings.bundles)
    yield from _browser(settings.sandbox_engine)


def _python() -> Finding:
    return Finding("python", State.OK, ".".join(map(str, sys.version_info[:3])))


#: The first SQLite whose checkpoint can undo a commit, the first that cannot again, and the repaired older lines.
_WAL_RESET_FROM: Final = (3, 7, 0)
_WAL_RESET_UNTIL: Final = (3, 51, 3)
_WAL_RESET_REPAIRED: Final = {(3, 50): 7, (3, 44): 6}


def has_wal_reset_fault(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite can lose a commit when a checkpoint overlaps it."""
    repaired = _WAL_RESET_REPAIRED.get(version[:2])
    if repaired is not None and version[2] >= repaired:
        return False
    return _WAL_RESET_FROM <= version < _WAL_RESET_UNTIL


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < (3, 37, 0):
        return Finding("sqlite", State.WARNING, f"{version} knows no STRICT tables; claim files are used instead")
    if has_wal_reset_fault(sqlite3.sqlite_version_info):
        return Finding("sqlite", State.OK, f"{version}, whose checkpoint fault the store's own lock keeps away")
    return Finding("sqlite", State.OK, version)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    return next(place for place in (folder, *folder.parents) if os.path.lexists(place))


def _folder(folder: Path) -> Finding:
    place = _nearest(folder)
    if not place.is_dir():
        return Finding("folder", State.FAILED, "something that is no folder stands in the way of the state folder")
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError:
        return Finding("folder", State.FAILED, "nothing can be written where the state belongs")
    if place != folder:
        return Finding("folder", State.OK, "will be made at the first use")
    if stat.S_IMODE(folder.stat().st_mode) != stat.S_IRWXU:
        return Finding("folder", State.WARNING, "others may look into the state folder; the next use closes it")
    return Finding("folder", State.OK, "private and writable")


def _file_system(folder: Path) -> Finding:
    try:
        refuse_network_file_system(_nearest(folder))
    except NetworkFileSystemError:
        return Finding(
            "file_system", State.FAILED, "served by another machine: its locks and flushes cannot be trusted"
        )
    except OSError:
        return Finding("file_system", State.WARNING, "cannot be asked")
    return Finding("file_system", State.OK, "of this machine")


def _free_space(folder: Path) -> Finding:
    free = shutil.disk_usage(_nearest(folder)).free
    says = f"{free // 1024 // 1024} MB"
    if free < LEAST_FREE_BYTES:
        return Finding("free_space", State.FAILED, says)
    return Finding("free_space", State.OK if free >= AMPLE_FREE_BYTES else State.WARNING, says)


def _clock(clock: Clock) -> Finding:
    if clock.now() < EARLIEST_NOW:
        return Finding("clock", State.FAILED, "stands before 2025")
    return Finding("clock", State.OK, "plausible")


def _signing_key() -> Finding:
    try:
        secret = find_machine_key()
    except DamagedKeyError:
        return Finding(
            "signing_key", State.FAILED, "damaged: put it back from a backup, or move it away and admit workflows again"
        )
    return Finding("signing_key", State.OK, "none yet" if secret is None else "whole")


def _store(folder: Path, clock: Clock) -> Iterator[Finding]:
    if not folder.is_dir():
        yield Finding("store", State.OK, "none yet")
        return
    try:
        store = open_store(folder)
    except StoreError as error:
        yield Finding("store", State.FAILED, _told(error.check))
        return
    try:
        store.check_health()
        newest = store.recent(1)
        unfinished = sum(1 for _ in store.unfinished())
    except StoreError as error:
        yield Finding("store", State.FAILED, _told(error.check))
        return
    finally:
        store.close()
    yield Finding("store", State.OK, f"whole, {unfinished} unfinished")
    if newest and newest[0].created_at > clock.now() + TOLERATED_SECONDS:
        yield Finding("clock", State.WARNING, "stands before the newest run: it was put back")


def _plans(folder: Path) -> Iterator[Finding]:
    """Whether the file of plans is whole, where there is one."""
    if not (folder / "plans").is_dir():
        return
    from surehand.shell.orchestration.store import PlanStore  # noqa: PLC0415 - few installations have plans

    try:
        with closing(PlanStore.open(folder / "plans")) as store:
            store.check_health()
            unfinished = len(store.going_on())
    except StoreRestoredError:
        yield Finding("plans", State.FAILED, "copied or restored: `surehand plan accept-restored` takes it over")
    except StoreError as error:
        yield Finding("plans", State.FAILED, _told(error.check))
    else:
        yield Finding("plans", State.OK, f"whole, {unfinished} unfinished")


def _told(check: FailedCheck) -> str:
    """The code of a failed check, and what to do about it."""
    if check is FailedCheck.BROWSER_MISSING and find_spec("playwright") is None:
        return f"{check.value}: pip install 'surehand[browser]'"
    return f"{check.value}: {TO_DO[check]}" if check in TO_DO else check.value


def _bundles(chosen: BundleSettings) -> Finding:
    """Whether every folder of bundles is one; which is not is said by ``surehand bundle verify``."""
    from surehand.shell.assembly import judged_folders  # noqa: PLC0415 - only where bundles are named

    try:
        served, refused = judged_folders(chosen)
    except ConfigError as error:
        return Finding("bundles", State.FAILED, str(error))
    says = f"{len(served)} whole, {len(refused)} refused"
    return Finding("bundles", State.OK if served and not refused else State.WARNING, says)


def _browser(engine: SandboxEngine) -> Iterator[Finding]:
    """Whether the browser engine can be used; only where it was asked for is its absence a failure."""
    if engine is SandboxEngine.SIMULATED:
        yield Finding("browser", State.OK, "not asked for")
        return
    refusal = _browser_refusal()
    if refusal is None:
        yield Finding("browser", State.OK, "starts")
    elif engine is SandboxEngine.AUTO:
        yield Finding("browser", State.WARNING, f"{_told(refusal)}; until then the simulated engine is used")
    else:
        yield Finding("browser", State.FAILED, _told(refusal))


def _browser_refusal() -> FailedCheck | None:
    """Start a worker with its browser on a folder that is thrown away; what keeps it from starting, if anything."""
    from surehand.shell.engines.browser.chromium import find_chromium  # noqa: PLC0415 - only where it is asked for
    from surehand.shell.engines.browser.executor import WorkerExecutor  # noqa: PLC0415 - as above

    if find_spec("playwright") is None or find_chromium() is None:
        return FailedCheck.BROWSER_MISSING
    with tempfile.TemporaryDirectory() as folder:
        executor = WorkerExecutor(Path(folder), Mode.SANDBOX)
        try:
            executor.warm_up()
        except EngineUnavailableError as error:
            return next(iter(error.checks), FailedCheck.BROWSER_NOT_STARTING)
        finally:
            executor.close()
    return None
