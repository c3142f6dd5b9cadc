"""Puts an installation together: its state folder, its catalog, its service.

Laws of this module:

- No store is opened and no engine started here; each is, when it is first needed. Bundles are read once: a server
  executes what it judged, whatever becomes of the files meanwhile.
- Two workflows under one name are both unavailable: nobody can say which one was meant.
- All workflows of one app share its crews, so that runs against it come one after another.
- Whatever keeps the state folder from being opened becomes one of the store's own errors, by its type.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from surehand.core.modes import ROWS, Row, Start
from surehand.core.outcome.result import FailedCheck, Mode
from surehand.core.overview import Unavailable, metrics_of, opaque_id
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.card import Card
from surehand.shell.catalog import (
    Catalog,
    Crew,
    CrewPool,
    CrewSource,
    Premises,
    Protected,
    WorkflowEntry,
)
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import BundleSettings, ConfigError, SandboxEngine, Settings
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
    from surehand.shell.bundles import BundleFolder
    from surehand.shell.engines.browser.executor import WorkerExecutor
    from surehand.shell.sandbox.process import SandboxApp

#: Why a bundle that can be read is not served, beside the problems of folders.
NAME_NOT_UNIQUE: Final = "name_not_unique"
APP_NOT_NAMED: Final = "app_not_named"

#: What the sandbox enters for an input that a call leaves out, where the operator lets it; all of it is synthetic.
SANDBOX_DEFAULTS: Final = {"note": "Called back, symptoms unchanged.", "sandbox_case": "normal"}


def build_service(settings: Settings, row: Row = ROWS[Start.SANDBOX]) -> Service:
    """The service of an installation; no store is opened yet.

    Args:
        settings: The settings in force.
        row: What kind of server it is.

    Raises:
        ConfigError: The folder of bundles, their key or the policy cannot be read.
    """
    catalog = sandbox_catalog(settings) if settings.bundles is None else _bundle_catalog(settings, row)
    return Service(catalog=catalog, open_premises=partial(open_premises, settings.state_folder))


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
    bundle, defaults = sandbox_bundle(), SANDBOX_DEFAULTS if settings.sandbox_defaults else {}
    card = _with_defaults(sandbox_card(), defaults)
    entry = WorkflowEntry(
        bundle, card, crews, id=opaque_id(bundle.workflow), digest=bundle_digest(bundle), defaults=defaults
    )
    return Catalog(Mode.SANDBOX, entry)


def _with_defaults(card: Card, defaults: Mapping[str, str]) -> Card:
    """The card with the inputs that may be left out; what stands in for them is not on it."""
    inputs = tuple(evolve(each, required=each.required and each.name not in defaults) for each in card.inputs)
    return evolve(card, inputs=inputs)


def _bundle_catalog(settings: Settings, row: Row) -> Catalog:
    """The workflows of the operator's own."""
    chosen = settings.bundles
    if chosen is None:
        raise AssertionError("only settings with bundles have such a catalog")
    served, refused = judged_folders(chosen)
    make = _EntryMaker(settings, chosen, row)
    entries: list[WorkflowEntry] = []
    names = Counter(each.bundle.workflow for each in served)
    for folder in served:
        origin = origin_of(folder, chosen.apps)
        problem = NAME_NOT_UNIQUE if names[folder.bundle.workflow] > 1 else APP_NOT_NAMED if origin is None else None
        if problem is not None or origin is None:
            refused[folder.path.name] = Unavailable(id=opaque_id(folder.path.name), problem=problem or APP_NOT_NAMED)
        else:
            entries.append(make.entry(folder, origin))
    return Catalog(row.mode, *entries, unavailable=refused, runs_enabled=row.runs, warm_crews=int(row.runs))


def judged_folders(chosen: BundleSettings) -> "tuple[list[BundleFolder], dict[str, Unavailable]]":
    """Every folder that is a bundle, and why each other one is none.

    Raises:
        ConfigError: The folder of bundles cannot be read, or the key of bundles.
    """
    from surehand.shell.bundles import BundleRefusedError, bundle_key, load_bundle  # noqa: PLC0415 - only for bundles

    key = bundle_key(chosen.key_file)
    served: list[BundleFolder] = []
    refused: dict[str, Unavailable] = {}
    for path in _children(chosen.folder):
        try:
            served.append(load_bundle(path, key=key))
        except BundleRefusedError as error:
            refused[path.name] = Unavailable(id=opaque_id(path.name), problem=error.code.value)
        except DamagedKeyError:
            raise ConfigError("this machine's signing key is damaged; surehand doctor says more") from None
    return served, refused


def _children(folder: Path) -> list[Path]:
    """What may be bundles: everything that is not hidden and no plain file."""
    try:
        return sorted(each for each in folder.iterdir() if not each.name.startswith(".") and not _is_file(each))
    except OSError:
        raise ConfigError("the folder of bundles cannot be read") from None


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def origin_of(folder: "BundleFolder | WorkflowEntry", apps: Mapping[str, str]) -> str | None:
    """Where the app of a bundle is: the operator's word before the bundle's; ``None`` when nobody says."""
    named = folder.bundle.origins[0] if folder.bundle.origins else ""
    return apps.get(named, named) or None


class _EntryMaker:
    """Makes entries of bundles that share one policy, one profile and, per app, one set of crews."""

    def __init__(self, settings: Settings, chosen: BundleSettings, row: Row) -> None:
        from surehand.core.workflow.policy import Profile  # noqa: PLC0415 - only for bundles
        from surehand.shell.admission import Registry  # noqa: PLC0415 - as above
        from surehand.shell.policies import load_policy  # noqa: PLC0415 - as above

        self._settings = settings
        self._chosen = chosen
        self._row = row
        self._registry = Registry(settings.state_folder)
        self._policy = load_policy(chosen.policy)
        self._profile = Profile(chosen.profile)
        self._crews: dict[str, CrewPool] = {}

    def entry(self, folder: "BundleFolder", origin: str) -> WorkflowEntry:
        """One workflow that is served."""
        from surehand.core.workflow.manifest import SealState  # noqa: PLC0415 - only for bundles

        def failed(url: str | None) -> tuple[FailedCheck, ...]:
            where = url or origin
            return self._registry.gate(folder, self._row.mode, self._policy, self._profile, where)()

        protected = Protected(folder=str(folder.path), title=folder.bundle.title)
        return WorkflowEntry(
            folder.bundle,
            folder.card,
            self._crews_of(origin),
            id=opaque_id(folder.path.name),
            digest=folder.digest,
            gate=failed,
            metrics=metrics_of(folder.bundle, encrypted=folder.encrypted, sealed=folder.seal is SealState.THIS_MACHINE),
            protected=protected if self._chosen.protected_export else None,
        )

    def _crews_of(self, origin: str) -> CrewPool:
        if origin not in self._crews:
            start: Callable[[Premises], Crew] = partial(_app_crew, self._settings, self._chosen, self._row.mode, origin)
            self._crews[origin] = CrewPool(*(CrewSource(start) for _ in range(self._chosen.parallel_per_app)))
        return self._crews[origin]


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


@frozen
class _AppCrew:
    origin: str
    executor: Executor

    def target(self, inputs: Mapping[str, str]) -> AppTarget:  # noqa: ARG002 - the app is where it is
        """Where the app is."""
        return AppTarget(origin=self.origin, record_origin=self.origin)

    def close(self) -> None:
        """Close the executor; the app is not ours."""
        self.executor.close()


def _app_crew(settings: Settings, chosen: BundleSettings, mode: Mode, origin: str, premises: Premises) -> Crew:
    from surehand.shell.engines.browser.chromium import find_chromium  # noqa: PLC0415 - loaded when it is used
    from surehand.shell.engines.browser.executor import WorkerExecutor  # noqa: PLC0415 - loaded when it is used

    if find_chromium() is None:
        raise EngineUnavailableError(FailedCheck.BROWSER_MISSING)
    executor = WorkerExecutor(
        premises.folder,
        mode,
        headed=settings.headed,
        places=chosen.parallel_per_app,
        databases=chosen.databases,
        attended=settings.attended,
        pictures=settings.frames,
    )
    return _warmed_up(_AppCrew(origin, executor), executor)


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
    executor = WorkerExecutor(
        premises.folder,
        Mode.SANDBOX,
        headed=settings.headed,
        kept=(app.liveness_fd,),
        attended=settings.attended,
        pictures=settings.frames,
    )
    return _warmed_up(_BrowserCrew(app, executor), executor)


def _warmed_up(crew: Crew, executor: "WorkerExecutor") -> Crew:
    """The crew with its worker ready; one whose worker does not start is closed."""
    try:
        executor.warm_up()
    except EngineUnavailableError:
        crew.close()
        raise
    return crew
