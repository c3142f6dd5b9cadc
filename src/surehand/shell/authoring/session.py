"""The signed-in session of an app, as a browser holds it.

Laws of this module:

- It reads what the open pages hold and opens none.
- What the app keeps of the typed texts beside what signs it in is left out.
- It stays in memory here.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from attrs import define, field
from playwright.async_api import BrowserContext, Error

#: Shorter texts stand in too much by accident.
_SHORTEST: Final = 4

_STORED: Final = "() => [location.origin, Object.entries(localStorage)]"


@define(slots=False)
class SessionReader:
    """Reads the session of a context, again and again: a window that was closed says nothing any more.

    Args:
        context: The context.
        state: The session with which the context began, as Playwright's storage state in JSON.
    """

    context: BrowserContext
    state: str | None = field(default=None, repr=False)
    _cookies: list[object] = field(factory=list[object], repr=False)
    _stored: dict[str, dict[str, str]] = field(factory=dict[str, dict[str, str]], repr=False)

    def __attrs_post_init__(self) -> None:
        """Begin with what the session held before."""
        begun: dict[str, list[Any]] = json.loads(self.state) if self.state is not None else {}
        self._cookies = begun.get("cookies", [])
        for entry in begun.get("origins", []):
            self._stored[entry["origin"]] = {item["name"]: item["value"] for item in entry["localStorage"]}

    async def read(self) -> None:
        """Take what is there now."""
        for page in self.context.pages:
            with suppress(Error):
                origin, items = await page.evaluate(_STORED)
                self._stored[origin] = dict(items)
        with suppress(Error):
            cookies: list[object] = [*await self.context.cookies()]
            self._cookies = cookies or self._cookies

    def written(self, without: Iterable[str] = ()) -> str:
        """The session as storage state in JSON.

        Args:
            without: Texts of which no stored item may hold any.
        """
        texts = [text for text in without if len(text) >= _SHORTEST]
        origins = [
            {
                "origin": origin,
                "localStorage": [
                    {"name": name, "value": value}
                    for name, value in items.items()
                    if not any(text in value or text in name for text in texts)
                ],
            }
            for origin, items in self._stored.items()
            if origin.startswith("http")
        ]
        return json.dumps({"cookies": self._cookies, "origins": origins})
