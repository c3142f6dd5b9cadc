"""What the wiki holds: its pages, each with the summary of its last change."""

from collections.abc import Mapping
from pathlib import Path

_SUMMARY = 5


def records(state: Path) -> list[Mapping[str, object]]:
    """Every page of the wards, by name."""
    data = state / "www" / "data"
    return [_page(data, file) for file in sorted((data / "pages" / "ward").glob("*.txt"))]


def _page(data: Path, file: Path) -> Mapping[str, object]:
    log = data / "meta" / "ward" / f"{file.stem}.changes"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    text = file.read_bytes().decode()
    return {"id": f"ward:{file.stem}", "text": text, "summary": lines[-1].split("\t")[_SUMMARY] if lines else ""}
