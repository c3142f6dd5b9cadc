"""What an installation of Surehand adds to one of ``mcp`` alone: megabytes in the folder of packages.

Two fresh environments are made and removed again; packages come from wherever pip gets them. Byte code is not counted,
since it depends on what was imported.
"""

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

from attrs import asdict, frozen

#: Packages that are named by themselves.
SHOWN = 8


@frozen
class Sizes:
    """Megabytes; ``added`` names what only the second environment has, the largest first."""

    mcp_mb: float
    surehand_mb: float
    difference_mb: float
    added: dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--source", default=str(Path(__file__).resolve().parent.parent), help="what pip installs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="surehand-size-") as name:
        sizes = compared(Path(name), options.source)
    if options.json:
        print(json.dumps(asdict(sizes), indent=2))
        return
    print(f"mcp alone {sizes.mcp_mb:.1f} MB, with surehand {sizes.surehand_mb:.1f} MB: {sizes.difference_mb:+.1f} MB")
    for package, megabytes in list(sizes.added.items())[:SHOWN]:
        print(f"{megabytes:8.2f} MB  {package}")


def compared(place: Path, source: str) -> Sizes:
    """Both environments, the second with the release of ``mcp`` that the first got."""
    alone = installed(place / "alone", "mcp")
    version = next(name for name in alone if name.startswith("mcp-") and name.endswith(".dist-info"))
    release = version.removeprefix("mcp-").removesuffix(".dist-info")
    beside = installed(place / "beside", f"mcp=={release}", source)
    added = {name: size - alone.get(name, 0.0) for name, size in beside.items()}
    largest = sorted(((size, name) for name, size in added.items() if size > 0), reverse=True)
    return Sizes(
        mcp_mb=sum(alone.values()),
        surehand_mb=sum(beside.values()),
        difference_mb=sum(beside.values()) - sum(alone.values()),
        added={name: size for size, name in largest},
    )


def installed(folder: Path, *requirements: str) -> dict[str, float]:
    """A fresh environment with these requirements: megabytes by entry of its folder of packages."""
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", *requirements]
    subprocess.run(pip, check=True)
    return {entry.name: megabytes(entry) for entry in packages.iterdir()}


def megabytes(entry: Path) -> float:
    """The size of a file, or of all files in a folder but byte code."""
    files = [entry] if entry.is_file() else [each for each in entry.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files if each.suffix != ".pyc") / 1e6


if __name__ == "__main__":
    main()
