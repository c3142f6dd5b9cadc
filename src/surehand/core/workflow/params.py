"""Typed inputs of a workflow: their declaration, their checks, their JSON Schema.

Laws of this module:

- Nothing is coerced: a value is text that fits, or a closed problem beside the input's name.
- A value is never repeated, in no error and no schema.
"""

from enum import Enum, unique
from typing import Annotated

from attrs import field, frozen

from surehand.core.schema import Items, Number, Text


@unique
class ParameterType(Enum):
    """The kinds of input. All arrive as JSON strings, so that nothing is ever converted on the way."""

    LINE = "line"
    TEXT = "text"
    IDENTIFIER = "identifier"
    DATE = "date"
    DECIMAL = "decimal"
    CHOICE = "choice"


@frozen(kw_only=True)
class Parameter:
    """One declared input."""

    name: Annotated[str, Text(pattern="^[a-z][a-z0-9_]{0,39}$")]
    type: ParameterType
    title: Annotated[str, Text(min_length=1, max_length=80)]
    description: Annotated[str, Text(max_length=300)] = ""
    required: bool = True
    choices: Annotated[tuple[Annotated[str, Text(min_length=1, max_length=200)], ...], Items(max_items=200)] = field(
        default=()
    )
    min_length: Annotated[int, Number(minimum=0, maximum=20_000)] = 0
    max_length: Annotated[int, Number(minimum=1, maximum=20_000)] = 4_000
    minimum: Annotated[str, Text(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    maximum: Annotated[str, Text(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    pattern: Annotated[str, Text(min_length=1, max_length=200)] | None = None
