"""Typed inputs of a workflow: their declaration, their checks, their JSON Schema.

Laws of this module:

- Nothing is coerced: a value is text that fits, or a closed problem beside the input's name.
- A value is never repeated, in no error and no schema.
- The schema and the checks agree wherever JSON Schema can say it.
  It cannot say that a text has no lone surrogate, how many UTF-16 units it has, or which of two decimals is greater.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum, unique
from typing import Annotated, Final

from attrs import field, frozen
from returns.result import Failure, Result, Success

from surehand.core.outcome.result import InputProblem, InputProblemCode
from surehand.core.schema import Items, Number, Text, is_unicode
from surehand.core.workflow.pattern import compile_pattern

#: A calendar date, as text; whether the day exists is checked beside it.
DATE_PATTERN: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
#: The one format of a decimal: no plus sign, leading zero, exponent or grouping; a dot has digits on both sides.
DECIMAL_PATTERN: Final = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?"
#: The problems that one answer names.
MAX_PROBLEMS: Final = 50
#: The name that stands for inputs that are not declared.
UNDECLARED: Final = "*"

#: C0 and C1 controls, the Unicode line and paragraph separators, and the controls of text direction.
_CONTROLS: Final = r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
#: The same without tab, line feed and carriage return, which a longer text may hold.
_CONTROLS_OF_TEXT: Final = _CONTROLS.replace(r"\u001f", r"\u0008\u000b\u000c\u000e-\u001f")
_BOUND: Final = r"-?[0-9]{1,15}(\.[0-9]{1,15})?"


@unique
class ParameterType(Enum):
    """The kinds of input. All arrive as JSON strings, so that nothing is ever converted on the way."""

    LINE = "line"
    TEXT = "text"
    IDENTIFIER = "identifier"
    DATE = "date"
    DECIMAL = "decimal"
    CHOICE = "choice"


#: The kinds whose length is declared.
_MEASURED: Final = frozenset({ParameterType.LINE, ParameterType.TEXT, ParameterType.IDENTIFIER})
#: The kinds that may have a pattern: one line of text.
_PATTERNED: Final = frozenset({ParameterType.LINE, ParameterType.IDENTIFIER})


@frozen(kw_only=True)
class Parameter:
    """One declared input.

    Args:
        name: How callers name it.
        type: Its kind.
        title: What a person calls it.
        description: What belongs in it.
        required: Whether a call must give it. One that is left out is entered as an empty text.
        choices: The values of a ``CHOICE``, and of no other kind.
        min_length: Least length of a line, text or identifier, in code points.
        max_length: Greatest length of the same, in code points.
        max_units: Greatest length of the same in UTF-16 units, which is how ``maxlength`` of a form field counts.
        minimum: Least value of a ``DECIMAL``, inclusive.
        maximum: Greatest value of a ``DECIMAL``, inclusive.
        pattern: What a whole line or identifier must match; see ``pattern``.

    Raises:
        ValueError: A constraint does not belong to the kind, contradicts another, or cannot be read.
    """

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
    max_units: Annotated[int, Number(minimum=1, maximum=40_000)] | None = None
    minimum: Annotated[str, Text(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    maximum: Annotated[str, Text(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$")] | None = None
    pattern: Annotated[str, Text(min_length=1, max_length=200)] | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a declaration that no value could be judged by."""
        self._check_choices()
        if self.min_length > self.max_length:
            raise ValueError("the least length is above the greatest")
        if self.max_units is not None and (self.type not in _MEASURED or self.max_units < self.min_length):
            raise ValueError("a length in UTF-16 units that no value can have")
        self._check_bounds()
        if self.pattern is not None:
            if self.type not in _PATTERNED:
                raise ValueError("only a line or an identifier has a pattern")
            compile_pattern(self.pattern)

    def _check_choices(self) -> None:
        if (self.type is ParameterType.CHOICE) != bool(self.choices):
            raise ValueError("a choice, and nothing else, has choices")
        if len(set(self.choices)) != len(self.choices):
            raise ValueError("a choice is repeated")
        if any(text_problem(choice) for choice in self.choices):
            raise ValueError("a choice is not one line of Unicode text")

    def _check_bounds(self) -> None:
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if bounds and self.type is not ParameterType.DECIMAL:
            raise ValueError("only a decimal has bounds")
        if not all(re.fullmatch(_BOUND, bound) for bound in bounds):
            raise ValueError("a bound is not a decimal")
        if len(bounds) == len(("minimum", "maximum")) and Decimal(bounds[0]) > Decimal(bounds[1]):
            raise ValueError("the least value is above the greatest")


def is_date(text: str) -> bool:
    """Whether the text is a calendar date, ``YYYY-MM-DD``, on a day that exists."""
    if not re.fullmatch(DATE_PATTERN, text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_decimal(text: str) -> bool:
    """Whether the text is a decimal in the one format that inputs have."""
    return re.fullmatch(DECIMAL_PATTERN, text) is not None


def check_inputs(
    parameters: tuple[Parameter, ...], arguments: Mapping[str, object]
) -> Result[dict[str, str], tuple[InputProblem, ...]]:
    """Check the inputs of a call against their declaration.

    Args:
        parameters: The declared inputs.
        arguments: What the call gave, by name.

    Returns:
        The same texts, unchanged; or one problem for each input that has one, undeclared ones first under ``*``.
    """
    declared = {parameter.name for parameter in parameters}
    problems = [] if declared.issuperset(arguments) else [InputProblem(UNDECLARED, InputProblemCode.NOT_DECLARED)]
    accepted: dict[str, str] = {}
    for parameter in parameters:
        value = arguments.get(parameter.name, _MISSING)
        problem = _problem(parameter, value)
        if problem is not None:
            problems.append(InputProblem(parameter.name, problem))
        elif isinstance(value, str):
            accepted[parameter.name] = value
    return Failure(tuple(problems[:MAX_PROBLEMS])) if problems else Success(accepted)


def input_schema(parameters: tuple[Parameter, ...]) -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of the inputs; undeclared ones are refused."""
    return {
        "type": "object",
        "properties": {parameter.name: _value_schema(parameter) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


_MISSING: Final = object()


def _problem(parameter: Parameter, value: object) -> InputProblemCode | None:
    if value is _MISSING:
        return InputProblemCode.MISSING if parameter.required else None
    if type(value) is not str:
        return InputProblemCode.WRONG_TYPE
    several_lines = parameter.type is ParameterType.TEXT
    return text_problem(value, several_lines=several_lines) or _CHECKS[parameter.type](parameter, value)


def text_problem(value: str, *, several_lines: bool = False) -> InputProblemCode | None:
    """What keeps a text of any kind from being used: a lone surrogate, or a control character.

    Args:
        value: The text.
        several_lines: Whether tabs and line endings may stand in it.
    """
    controls = _CONTROLS_OF_TEXT if several_lines else _CONTROLS
    if not is_unicode(value):
        return InputProblemCode.NOT_UNICODE
    if re.search(f"[{controls}]", value):
        return InputProblemCode.CONTROL_CHARACTER
    return None


def _measured(parameter: Parameter, value: str) -> InputProblemCode | None:
    units = len(value.encode("utf-16-le")) // 2
    if len(value) < parameter.min_length:
        return InputProblemCode.TOO_SHORT
    if len(value) > parameter.max_length or (parameter.max_units is not None and units > parameter.max_units):
        return InputProblemCode.TOO_LONG
    if parameter.pattern is not None and not compile_pattern(parameter.pattern).matches(value):
        return InputProblemCode.PATTERN_MISMATCH
    return None


def _dated(_: Parameter, value: str) -> InputProblemCode | None:
    return None if is_date(value) else InputProblemCode.NOT_A_DATE


def _chosen(parameter: Parameter, value: str) -> InputProblemCode | None:
    return None if value in parameter.choices else InputProblemCode.NOT_A_CHOICE


def _numbered(parameter: Parameter, value: str) -> InputProblemCode | None:
    if not is_decimal(value):
        return InputProblemCode.NOT_A_DECIMAL
    too_low = parameter.minimum is not None and Decimal(value) < Decimal(parameter.minimum)
    too_high = parameter.maximum is not None and Decimal(value) > Decimal(parameter.maximum)
    return InputProblemCode.OUT_OF_RANGE if too_low or too_high else None


_CHECKS: Final[dict[ParameterType, Callable[[Parameter, str], InputProblemCode | None]]] = {
    ParameterType.LINE: _measured,
    ParameterType.TEXT: _measured,
    ParameterType.IDENTIFIER: _measured,
    ParameterType.DATE: _dated,
    ParameterType.DECIMAL: _numbered,
    ParameterType.CHOICE: _chosen,
}


def _value_schema(parameter: Parameter) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string", "title": parameter.title}
    if parameter.description:
        schema["description"] = parameter.description
    match parameter.type:
        case ParameterType.CHOICE:
            schema["enum"] = list(parameter.choices)
        case ParameterType.DATE:
            schema |= {"format": "date", "pattern": f"^{DATE_PATTERN}$", "maxLength": len("0000-00-00")}
        case ParameterType.DECIMAL:
            schema |= {"pattern": f"^{DECIMAL_PATTERN}$", "not": {"pattern": "\\n"}}
        case _:
            schema |= _measured_schema(parameter)
    return schema


def _measured_schema(parameter: Parameter) -> dict[str, object]:
    controls = _CONTROLS_OF_TEXT if parameter.type is ParameterType.TEXT else _CONTROLS
    schema: dict[str, object] = {
        "minLength": parameter.min_length,
        "maxLength": parameter.max_length,
        "not": {"pattern": f"[{controls}]"},
    }
    if parameter.pattern is not None:
        schema["pattern"] = f"^(?:{compile_pattern(parameter.pattern).portable})$"
    return schema
