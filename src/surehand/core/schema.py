"""JSON Schema (draft 2020-12) of our attrs classes, and the constraints that they carry.

Laws of this module:

- A constraint is written once, in an ``Annotated`` type; the schema and the strict structuring of ``wire`` both read it there.
- A type that the generator does not know is an error, never an empty schema.
"""

from attrs import frozen


@frozen
class Text:
    """Constraints of a string: a pattern that the whole text satisfies, and lengths in code points."""

    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None


@frozen
class Number:
    """Inclusive bounds of a number."""

    minimum: int | None = None
    maximum: int | None = None


@frozen
class Items:
    """The largest number of items in a tuple."""

    max_items: int
