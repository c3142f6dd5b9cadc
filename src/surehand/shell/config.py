"""The settings of an installation: where its state lies, what executes the sandbox, and which workflows it serves.

Laws of this module:

- An argument wins over the environment, the environment over the file, the file over the default.
- A setting that is not understood is an error, never a default.
- Nothing here opens or makes a folder.
"""

import os
from collections.abc import Mapping
from enum import Enum, unique
from pathlib import Path
from typing import Final, cast

from attrs import field, frozen

#: Names the settings file.
CONFIG_VARIABLE: Final = "SUREHAND_CONFIG"

#: The environment variable of each setting; the file has the same names in lower case without the prefix.
VARIABLES: Final = {"runs_dir": "SUREHAND_RUNS_DIR", "sandbox_engine": "SUREHAND_SANDBOX_ENGINE"}

#: The tables of the file, each with the names that it may hold; ``None`` stands for names of the operator's choice.
TABLES: Final[dict[str, frozenset[str] | None]] = {
    "bundles": frozenset({"folder", "profile", "policy", "key_file"}),
    "attended": frozenset({"continue_and_skip"}),
    "databases": None,
    "apps": None,
}

#: The folder of the state inside the runs directory.
STATE_FOLDER: Final = "surehand"

#: The profiles of runs, and the one that is asked for unless the operator says otherwise.
PROFILE_NAMES: Final = ("demo", "standard", "regulated")
DEFAULT_PROFILE: Final = "standard"
DEFAULT_POLICY: Final = "permissive"

#: Runs against one app at the same time, at most.
MOST_PARALLEL_PER_APP: Final = 8


class ConfigError(ValueError):
    """A setting is not understood. The message names the setting, not its value."""


@unique
class SandboxEngine(Enum):
    """What executes the sandbox workflow."""

    AUTO = "auto"
    BROWSER = "browser"
    SIMULATED = "simulated"


@frozen(kw_only=True)
class BundleSettings:
    """The workflows of the operator's own.

    Args:
        folder: Each folder in it is a bundle.
        profile: How serious its runs are, by the profile's name.
        policy: What the organisation asks for beside the profile: the name of a policy, or the path of its file.
        key_file: Holds the key of encrypted bundles; without it the environment does.
        apps: Where apps are: by the origin that a bundle names, or by the empty text for bundles that name none.
        databases: The databases that bundles may read records from, by the name that bundles use.
        parallel_per_app: Runs against one app at the same time.
        url_override: Whether a single call may say where the app is.
        protected_export: Whether clients are told what stands in the bundles, and where they lie.
    """

    folder: Path
    profile: str = DEFAULT_PROFILE
    policy: str = DEFAULT_POLICY
    key_file: Path | None = None
    apps: Mapping[str, str] = field(factory=dict[str, str])
    databases: Mapping[str, Path] = field(factory=dict[str, Path])
    parallel_per_app: int = 1
    url_override: bool = False
    protected_export: bool = False


@frozen(kw_only=True)
class Settings:
    """The settings in force.

    Args:
        runs_dir: The folder under which the state lies.
        sandbox_engine: What executes the sandbox workflow.
        headed: Whether the browser is shown.
        bundles: The workflows of the operator's own.
        sandbox_defaults: Whether the sandbox fills in the demonstration's values for inputs that a call leaves out.
        attended: Whether a person answers stopped runs, so that their windows are kept.
        frames: Whether a picture of the stopped page is kept, encrypted, for that person.
        continue_and_skip: Whether clients may be served the decisions that act in the operator's own apps.
    """

    runs_dir: Path
    sandbox_engine: SandboxEngine = SandboxEngine.AUTO
    headed: bool = False
    bundles: BundleSettings | None = None
    sandbox_defaults: bool = False
    attended: bool = False
    frames: bool = False
    continue_and_skip: bool = False

    @property
    def state_folder(self) -> Path:
        """Where store, key and locks lie."""
        return self.runs_dir / STATE_FOLDER


@frozen(kw_only=True)
class BundleArguments:
    """What was said about bundles on the command line or by a program; ``None`` says nothing.

    ``apps`` holds ``ORIGIN``, for bundles that name no app, or ``NAMED=ORIGIN``.
    ``recording`` says that apps and policy are those of recordings too, which need no bundles.
    """

    folder: str | os.PathLike[str] | None = None
    profile: str | None = None
    policy: str | None = None
    key_file: str | os.PathLike[str] | None = None
    apps: tuple[str, ...] = ()
    parallel_per_app: int = 1
    url_override: bool = False
    protected_export: bool = False
    recording: bool = False


def settings(
    runs_dir: str | os.PathLike[str] | None = None,
    sandbox_engine: SandboxEngine | str | None = None,
    *,
    headed: bool = False,
    bundles: BundleArguments | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings from arguments, environment, file and defaults.

    Args:
        runs_dir: The folder under which the state lies; default: the user's state folder of this platform.
        sandbox_engine: ``auto``, ``browser`` or ``simulated``.
        headed: Whether the browser is shown.
        bundles: What was said about bundles; ``None`` when none are served.
        environ: The environment; default: that of this process.

    Raises:
        ConfigError: A setting is not understood, or the file cannot be read.
    """
    environment = os.environ if environ is None else environ
    found, tables = _file_settings(_config_file(environment))
    found |= {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}
    folder = runs_dir if runs_dir is not None else found.get("runs_dir")
    engine = sandbox_engine if sandbox_engine is not None else found.get("sandbox_engine", SandboxEngine.AUTO)
    return Settings(
        runs_dir=_default_runs_dir() if folder is None else _path(folder),
        sandbox_engine=_engine(engine),
        headed=headed,
        bundles=None if bundles is None else _bundle_settings(bundles, tables),
        continue_and_skip=_is_yes(tables.get("attended", {}).get("continue_and_skip", "no")),
    )


def _is_yes(word: str) -> bool:
    if word not in {"yes", "no"}:
        raise ConfigError('continue_and_skip must be "yes" or "no"')
    return word == "yes"


def _bundle_settings(said: BundleArguments, tables: dict[str, dict[str, str]]) -> BundleSettings | None:
    """The settings of bundles; ``None`` when nobody named their folder."""
    kept = tables.get("bundles", {})
    folder = said.folder or kept.get("folder")
    if folder is None:
        refuse_without_bundles(said)
        return None
    key_file = said.key_file or kept.get("key_file")
    policy = said.policy or kept.get("policy", DEFAULT_POLICY)
    return BundleSettings(
        folder=_path(folder),
        profile=_profile(said.profile or kept.get("profile", DEFAULT_PROFILE)),
        policy=policy,
        key_file=None if key_file is None else _path(key_file),
        apps=_origins(tables.get("apps", {})) | _origins(dict(map(_pair, said.apps))),
        databases={name: _path(path) for name, path in tables.get("databases", {}).items()},
        parallel_per_app=_parallel(said.parallel_per_app),
        url_override=said.url_override,
        protected_export=said.protected_export,
    )


def refuse_without_bundles(said: BundleArguments) -> None:
    """Refuse what was said about workflows of the operator's own where none are named.

    Raises:
        ConfigError: Something was said; the message names each argument.
    """
    given: dict[str, object] = {
        "--profile": said.profile,
        "--policy": None if said.recording else said.policy,
        "--key-file": said.key_file,
        "--url": () if said.recording else said.apps,
        "--parallel-per-app": said.parallel_per_app - 1,
    }
    names = [name for name, value in given.items() if value]
    if names:
        verb = "is" if len(names) == 1 else "are"
        raise ConfigError(f"{', '.join(names)} {verb} about workflows of your own: name their folder with --bundles")


def _path(text: str | os.PathLike[str]) -> Path:
    return Path(text).expanduser().absolute()


def _profile(name: str) -> str:
    if name not in PROFILE_NAMES:
        raise ConfigError("profile must be demo, standard or regulated")
    return name


def _parallel(count: int) -> int:
    if not 1 <= count <= MOST_PARALLEL_PER_APP:
        raise ConfigError(f"parallel_per_app must be 1 to {MOST_PARALLEL_PER_APP}")
    return count


def _pair(text: str) -> tuple[str, str]:
    named, _, origin = text.rpartition("=")
    return named, origin


def _origins(apps: dict[str, str]) -> dict[str, str]:
    """The same apps, every origin in its one form.

    Raises:
        ConfigError: One is no origin.
    """
    return {origin_text(named) if named else "": origin_text(origin) for named, origin in apps.items()}


def origin_text(text: str) -> str:
    """An app's origin in its one form.

    Raises:
        ConfigError: It is no origin.
    """
    from surehand.core.workflow.fence import parse_origin  # noqa: PLC0415 - only where an app is named

    origin = parse_origin(text)
    if origin is None:
        raise ConfigError("the URL of an app must be http:// or https:// with a host and nothing behind it")
    return str(origin)


def _engine(value: SandboxEngine | str) -> SandboxEngine:
    try:
        return SandboxEngine(value)
    except ValueError:
        raise ConfigError("sandbox_engine must be auto, browser or simulated") from None


def _default_runs_dir() -> Path:
    import platformdirs  # noqa: PLC0415 - only without any setting

    return Path(platformdirs.user_state_dir("surehand", appauthor=False))


def _config_file(environment: Mapping[str, str]) -> Path | None:
    """The settings file: the one that the environment names, which must be there, or the default one if it is there."""
    named = environment.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only without a named file

    default = Path(platformdirs.user_config_dir("surehand", appauthor=False)) / "config.toml"
    return default if default.exists() else None


def _file_settings(path: Path | None) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The texts of the file, and its tables of texts."""
    if path is None:
        return {}, {}
    import tomllib  # noqa: PLC0415 - only with a file

    from surehand.shell.reading import UnreadableError, reading  # noqa: PLC0415 - as above

    try:
        with reading():
            content = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnreadableError as error:
        raise ConfigError(f"the settings file cannot be read: {error}") from None
    tables = {name: _table(name, content.pop(name)) for name in TABLES if name in content}
    if not content.keys() <= VARIABLES.keys():
        raise ConfigError(f"the settings file may hold runs_dir, sandbox_engine and the tables {', '.join(TABLES)}")
    return _texts(content), tables


def _table(name: str, content: object) -> dict[str, str]:
    known = TABLES[name]
    if not isinstance(content, dict) or (known is not None and not content.keys() <= known):
        raise ConfigError(f"[{name}] of the settings file holds something that it may not hold")
    return _texts(cast("dict[str, object]", content))


def _texts(content: dict[str, object]) -> dict[str, str]:
    found = {name: value for name, value in content.items() if isinstance(value, str)}
    if found != content:
        raise ConfigError("the settings file holds something other than a text")
    return found
