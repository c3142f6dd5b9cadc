"""The reference validator of the Agent Skills format, which has no types of its own."""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

_PARSER: Final[Any] = import_module("skills_ref.parser")
_VALIDATOR: Final[Any] = import_module("skills_ref.validator")


def front_matter(text: str) -> dict[str, str]:
    """The members of the front matter of a skill's text."""
    members: dict[str, str] = _PARSER.parse_frontmatter(text)[0]
    return members


def body_of(text: str) -> str:
    """What follows the front matter."""
    return str(_PARSER.parse_frontmatter(text)[1])


def problems(text: str, folder: str) -> list[str]:
    """What is wrong with a skill's text in a folder of this name."""
    found: list[str] = _VALIDATOR.validate_metadata(front_matter(text), Path(folder))
    return found


def problems_at(folder: Path) -> list[str]:
    """What is wrong with the skill in this folder."""
    found: list[str] = _VALIDATOR.validate(folder)
    return found
