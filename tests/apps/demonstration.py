"""What a demonstration of an app is, and how one is checked against the app's own store.

Laws of this module:

- A demonstration that saves anything but exactly the expected record is wrong; so is one that changes another record.
"""

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

from attrs import frozen
from playwright.async_api import Page

from apps.apps import App, AppName, Saved

Values = Mapping[str, str]


class Demonstration(Protocol):
    """What ``<name>/demonstrate.py`` offers."""

    #: Twelve sets of inputs; all people are invented.
    INPUTS: tuple[Values, ...]

    async def sign_in(self, page: Page, app: App) -> None:
        """Sign in as a person would."""
        ...

    async def demonstrate(self, page: Page, app: App, values: Values) -> None:
        """Do the task once, and open the saved record to check it."""
        ...

    def expected(self, values: Values) -> Saved:
        """What the record must hold afterwards; of a record that is changed, the members that change."""
        ...


def demonstration_of(name: AppName) -> Demonstration:
    """The demonstration of an app."""
    return cast(Demonstration, importlib.import_module(f"apps.{name.value}.demonstrate"))


@frozen
class Difference:
    """What happened in a store: the records that are new or changed, each with what it was, and those that went."""

    came: tuple[Saved, ...]
    changed: tuple[tuple[Saved, Saved], ...]
    went: tuple[Saved, ...]

    @property
    def size(self) -> int:
        """How many records are concerned."""
        return len(self.came) + len(self.changed) + len(self.went)

    def is_exactly(self, expected: Saved) -> bool:
        """Whether one record came or changed, and holds what is expected and otherwise what it held before."""
        if self.size != 1 or self.went:
            return False
        if self.changed:
            before, after = self.changed[0]
            return {**before, **expected} == after
        return {"id": self.came[0]["id"], **expected} == self.came[0]


def difference(before: list[Saved], after: list[Saved]) -> Difference:
    """Compare two readings of a store."""
    old, new = ({record["id"]: record for record in records} for records in (before, after))
    return Difference(
        tuple(record for key, record in new.items() if key not in old),
        tuple((old[key], record) for key, record in new.items() if key in old and old[key] != record),
        tuple(record for key, record in old.items() if key not in new),
    )
