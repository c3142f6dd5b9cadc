"""A visitor without a browser: plain HTTP with cookies, as a script would use an app.

Laws of this module:

- It follows redirects and sends what a form holds; it runs no script of a page.
"""

import json
import re
from collections.abc import Mapping
from http.cookiejar import CookieJar
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

from attrs import field, frozen


def _opener() -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(CookieJar()))


@frozen
class Visitor:
    """One visitor of one app."""

    origin: str
    opener: OpenerDirector = field(factory=_opener)

    def see(self, path: str) -> str:
        """The text of a page."""
        return self._ask(Request(self.origin + path))  # noqa: S310 - the origin is that of an app of ours

    def send(self, path: str, form: Mapping[str, object]) -> str:
        """Send a form, and give the page that follows."""
        return self._post(path, urlencode(form).encode(), "application/x-www-form-urlencoded")

    def send_json(self, path: str, body: object) -> str:
        """Send JSON, and give the answer."""
        return self._post(path, json.dumps(body).encode(), "application/json")

    def hidden(self, path: str, name: str) -> str:
        """The value of a hidden field of a page."""
        found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', self.see(path))
        return found[1] if found is not None else ""

    def _post(self, path: str, body: bytes, content_type: str) -> str:
        headers = {"Content-Type": content_type, "Referer": self.origin + path}
        return self._ask(Request(self.origin + path, data=body, headers=headers))  # noqa: S310 - as above

    def _ask(self, asked: Request) -> str:
        with self.opener.open(asked, timeout=60) as answer:
            body: bytes = answer.read()
            return body.decode()
