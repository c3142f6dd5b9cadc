"""Pages as text: templates of a package, filled with escaped values.

Laws of this module:

- Every value is escaped on its way into a page; only text that a template made is taken as it is.
- A page is a function of its arguments. Nothing here knows a session or a request.
"""

from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

from attrs import frozen


@frozen
class Html:
    """Text that is markup already."""

    text: str


NOTHING: Final = Html("")


class Templates:
    """The templates of one package: the files in its folder ``templates``, by name."""

    def __init__(self, package: str) -> None:
        self._templates: Final = {
            entry.name.removesuffix(".html"): Template(entry.read_text(encoding="utf-8").strip())
            for entry in (files(package) / "templates").iterdir()
            if entry.name.endswith(".html")
        }

    def fill(self, template: str, **values: str | Html) -> Html:
        """The template with its values."""
        escaped = {name: value.text if isinstance(value, Html) else escape(value) for name, value in values.items()}
        return Html(self._templates[template].substitute(escaped))


def join(parts: Iterable[Html]) -> Html:
    """Several pieces of markup, one after another."""
    return Html("\n".join(part.text for part in parts))


def static_files(package: str, media_types: Mapping[str, str]) -> dict[str, tuple[str, bytes]]:
    """The files that the pages of a package load, by name, with their media types."""
    return {name: (kind, (files(package) / "static" / name).read_bytes()) for name, kind in media_types.items()}
