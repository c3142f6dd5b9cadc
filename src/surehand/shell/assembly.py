"""Puts an installation together: its state folder, its catalog, its service.

Laws of this module:

- Nothing is opened or started here; each part is, when it is first needed.
- Whatever keeps the state folder from being opened becomes one of the store's own errors, by its type.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from surehand.core.outcome.result import FailedCheck, Mode
from surehand.shell.catalog import Catalog, Crew, CrewSource, Premises, WorkflowEntry
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import SandboxEngine, Settings
from surehand.shell.engines.base import AppTarget
from surehand.shell.executors import EngineUnavailableError, Executor, LocalExecutor
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, fingerprint_key
from surehand.shell.locks import OwnerLock
from surehand.shell.sandbox.workflow import sandbox_bundle, sandbox_card
from surehand.shell.service import Service
from surehand.shell.store import open_store
from surehand.shell.store.base import StoreCorruptError, StoreUnavailableError

if TYPE_CHECKING:
    from surehand.shell.sandbox.process import SandboxApp


def build_service(settings: Settings) -> Service:
    """The service of an installation; nothing is opened yet."""
    return Service(catalog=sandbox_catalog(settings), open_premises=partial(open_premises, settings.state_folder))


def open_premises(folder: Path) -> Premises:
    """Open the state folder, and make what is missing in it.

    Raises:
        StoreError: It cannot be opened; nothing in it was changed.
    """
    try:
        store = open_store(folder)
        key = fingerprint_key(folder)
    except DamagedKeyError:
        raise StoreCorruptError("the fingerprint key is damaged") from None
    except (OSError, UnsafeFileError):
        raise StoreUnavailableError("the state folder refuses") from None
    return Premises(folder, store, key)


def sandbox_catalog(settings: Settings) -> Catalog:
    """The sandbox's one workflow, executed as the settings say."""
    browser = partial(_browser_crew, settings)
    choices = {
        SandboxEngine.AUTO: (browser, _simulated_crew),
        SandboxEngine.BROWSER: (browser,),
        SandboxEngine.SIMULATED: (_simulated_crew,),
    }
    crews = CrewSource(*choices[settings.sandbox_engine])
    return Catalog(Mode.SANDBOX, WorkflowEntry(sandbox_bundle(), sandbox_card(), crews))


@frozen
class _SimulatedCrew:
    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - no app is opened
        """There is no app."""
        from surehand.shell.engines.simulated import NO_APP  # noqa: PLC0415 - loaded with its engine

        return NO_APP

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()


def _simulated_crew(premises: Premises) -> Crew:
    from surehand.shell.engines.simulated import SimulatedEngine  # noqa: PLC0415 - loaded when it is used

    try:
        lock = OwnerLock.acquire(premises.folder)
    except (OSError, UnsafeFileError):
        raise EngineUnavailableError(FailedCheck.STORE_UNAVAILABLE) from None
    return _SimulatedCrew(LocalExecutor(SimulatedEngine(), premises.store, lock, SYSTEM_CLOCK, Mode.SANDBOX))


@frozen
class _BrowserCrew:
    app: "SandboxApp"
    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:
        """Where the clinic app is."""
        from surehand.shell.sandbox.process import SandboxUnavailableError  # noqa: PLC0415 - loaded with the app

        try:
            return self.app.target(inputs)
        except SandboxUnavailableError:
            raise EngineUnavailableError(FailedCheck.SANDBOX_NOT_STARTING) from None

    def close(self) -> None:
        """Close the executor, then let go of the app: the executor's worker may still need it."""
        self.executor.close()
        self.app.close()


def _browser_crew(settings: Settings, premises: Premises) -> Crew:
    from surehand.shell.engines.browser.chromium import find_chromium  # noqa: PLC0415 - loaded when it is used
    from surehand.shell.engines.browser.executor import WorkerExecutor  # noqa: PLC0415 - loaded when it is used
    from surehand.shell.sandbox.process import SandboxApp, SandboxUnavailableError  # noqa: PLC0415 - as above

    if find_chromium() is None:
        raise EngineUnavailableError(FailedCheck.BROWSER_MISSING)
    try:
        app = SandboxApp.start()
    except SandboxUnavailableError:
        raise EngineUnavailableError(FailedCheck.SANDBOX_NOT_STARTING) from None
    executor = WorkerExecutor(premises.folder, Mode.SANDBOX, headed=settings.headed, kept=(app.liveness_fd,))
    crew = _BrowserCrew(app, executor)
    try:
        executor.warm_up()
    except EngineUnavailableError:
        crew.close()
        raise
    return crew
