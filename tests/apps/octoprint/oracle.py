"""What the printer's server holds: printer profiles."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from apps.apps import cache_folder

_READ = "import json, sys, yaml; print(json.dumps([yaml.safe_load(open(name)) for name in sys.argv[1:]]))"


def records(state: Path) -> list[Mapping[str, object]]:
    """Every profile, by name; the app's own interpreter reads its YAML."""
    files = sorted((state / "base" / "printerProfiles").glob("*.profile"))
    command = [str(cache_folder() / "octoprint" / "bin" / "python"), "-c", _READ, *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"})
    return [_profile(profile) for profile in json.loads(done.stdout)]


def _profile(profile: Mapping[str, object]) -> Mapping[str, object]:
    return profile
