"""Where goals are worked on: the one app of the workflows that are served.

Laws of this module:

- There is one app or none. Workflows of several apps give none, unless the operator names the one.
- What may be written while a goal is worked on is what a person confirmed as harmless for the workflows of that app.
- The sandbox's app is the one that its workflow works on. Its simulated engine has none.
"""

from attrs import frozen

from surehand.core.modes import ROWS, Start
from surehand.core.orchestration.goals import Planner
from surehand.core.workflow.route import WriteRoute
from surehand.shell.assembly import SANDBOX_DEFAULTS, build_service, origin_of
from surehand.shell.config import SandboxEngine, Settings
from surehand.shell.engines.simulated import NO_APP
from surehand.shell.executors import EngineUnavailableError
from surehand.shell.orchestration.goals import BrowserTaskRunner
from surehand.shell.orchestration.retention import GOALS
from surehand.shell.service import Service
from surehand.shell.sessions import SessionStore
from surehand.shell.store.base import StoreError


@frozen
class Place:
    """The app that goals are worked on in."""

    origin: str
    harmless_writes: tuple[WriteRoute, ...]


def place_of(service: Service, chosen: Settings, named: str | None = None) -> Place | None:
    """The place of goals; ``None`` when there is none, or more than one.

    Args:
        service: Whose workflows tell where it is; the sandbox's app is started by asking.
        chosen: The settings in force.
        named: The app that the operator named for it.
    """
    origins = _origins(service, chosen)
    origin = named or (next(iter(set(origins.values()))) if len(set(origins.values())) == 1 else None)
    if origin is None:
        return None
    entries = (entry for entry in service.workflows() if origins.get(entry.id) == origin)
    harmless = dict.fromkeys(route for entry in entries for route in entry.bundle.harmless_writes)
    return Place(origin, tuple(harmless))


def has_place(chosen: Settings, named: str | None = None) -> bool:
    """Whether goals have a place where this is served; nothing is started.

    Raises:
        ConfigError: The folder of bundles, their key or the policy cannot be read.
    """
    if chosen.bundles is None:
        return chosen.sandbox_engine is not SandboxEngine.SIMULATED
    service = build_service(chosen, ROWS[Start.READ_ONLY])
    try:
        return place_of(service, chosen, named) is not None
    finally:
        service.close()


def _origins(service: Service, chosen: Settings) -> dict[str, str]:
    """Where the app of each workflow is, by the workflow's id."""
    if chosen.bundles is None:
        found = {entry.id: _sandbox_app(service, chosen, entry.bundle.workflow) for entry in service.workflows()}
    else:
        apps = chosen.bundles.apps
        found = {entry.id: origin_of(entry, apps) for entry in service.workflows()}
    return {each: origin for each, origin in found.items() if origin is not None}


def _sandbox_app(service: Service, chosen: Settings, workflow: str) -> str | None:
    if chosen.sandbox_engine is SandboxEngine.SIMULATED:
        return None
    try:
        target = service.app_of(workflow, SANDBOX_DEFAULTS)
    except (EngineUnavailableError, StoreError):
        return None
    return None if target == NO_APP else target.origin


def task_runner(
    service: Service, chosen: Settings, planner: Planner, named: str | None = None
) -> BrowserTaskRunner | None:
    """Who works on goals in the app of what is served; ``None`` when there is no one app.

    Args:
        service: As for ``place_of``.
        chosen: The settings in force.
        planner: Decides what to do next.
        named: As for ``place_of``.
    """
    place = place_of(service, chosen, named)
    if place is None:
        return None
    return BrowserTaskRunner(
        place.origin,
        planner,
        chosen.state_folder / GOALS,
        harmless_writes=place.harmless_writes,
        sessions=None if chosen.bundles is None else SessionStore(chosen.state_folder),
    )
