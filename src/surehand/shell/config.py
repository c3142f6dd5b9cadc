"""The settings of an installation: where its state lies and what executes the sandbox.

Laws of this module:

- An argument wins over the environment, the environment over the file, the file over the default.
- A setting that is not understood is an error, never a default.
- Nothing here opens or makes a folder.
"""

import os
from collections.abc import Mapping
from enum import Enum, unique
from pathlib import Path
from typing import Final

from attrs import frozen

#: Names the settings file.
CONFIG_VARIABLE: Final = "SUREHAND_CONFIG"

#: The environment variable of each setting; the file has the same names in lower case without the prefix.
VARIABLES: Final = {"runs_dir": "SUREHAND_RUNS_DIR", "sandbox_engine": "SUREHAND_SANDBOX_ENGINE"}

#: The folder of the state inside the runs directory.
STATE_FOLDER: Final = "surehand"


class ConfigError(ValueError):
    """A setting is not understood. The message names the setting, not its value."""


@unique
class SandboxEngine(Enum):
    """What executes the sandbox workflow."""

    AUTO = "auto"
    BROWSER = "browser"
    SIMULATED = "simulated"


@frozen(kw_only=True)
class Settings:
    """The settings in force."""

    runs_dir: Path
    sandbox_engine: SandboxEngine = SandboxEngine.AUTO
    headed: bool = False

    @property
    def state_folder(self) -> Path:
        """Where store, key and locks lie."""
        return self.runs_dir / STATE_FOLDER


def settings(
    runs_dir: str | os.PathLike[str] | None = None,
    sandbox_engine: SandboxEngine | str | None = None,
    *,
    headed: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings from arguments, environment, file and defaults.

    Args:
        runs_dir: The folder under which the state lies; default: the user's state folder of this platform.
        sandbox_engine: ``auto``, ``browser`` or ``simulated``.
        headed: Whether the browser is shown.
        environ: The environment; default: that of this process.

    Raises:
        ConfigError: A setting is not understood, or the file cannot be read.
    """
    environment = os.environ if environ is None else environ
    found = _file_settings(_config_file(environment))
    found |= {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}
    folder = runs_dir if runs_dir is not None else found.get("runs_dir")
    engine = sandbox_engine if sandbox_engine is not None else found.get("sandbox_engine", SandboxEngine.AUTO)
    return Settings(
        runs_dir=_default_runs_dir() if folder is None else Path(folder).expanduser().absolute(),
        sandbox_engine=_engine(engine),
        headed=headed,
    )


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


def _file_settings(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    import tomllib  # noqa: PLC0415 - only with a file

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ConfigError("the settings file cannot be read as TOML") from None
    found: dict[str, str] = {}
    for name, value in table.items():
        if name not in VARIABLES or not isinstance(value, str):
            raise ConfigError("the settings file may hold the texts runs_dir and sandbox_engine, and nothing else")
        found[name] = value
    return found
