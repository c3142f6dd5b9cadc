"""What the printer's server holds: printer profiles."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apps.apps import cache_folder

_READ = "import json, sys, yaml; print(json.dumps([yaml.safe_load(open(name)) for name in sys.argv[1:]]))"


def records(state: Path) -> list[Mapping[str, object]]:
    """Every profile, by name; the app's own interpreter reads its YAML."""
    files = sorted((state / "base" / "printerProfiles").glob("*.profile"))
    command = [str(cache_folder() / "octoprint" / "bin" / "python"), "-c", _READ, *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"})
    return [_profile(profile) for profile in json.loads(done.stdout)]


def _profile(profile: Mapping[str, Any]) -> Mapping[str, object]:
    volume = profile["volume"]
    return {
        "id": profile["id"],
        "name": profile["name"],
        "model": profile["model"],
        "heated_bed": profile["heatedBed"],
        **{name: volume[name] for name in ("width", "depth", "height", "formFactor", "origin")},
    }
