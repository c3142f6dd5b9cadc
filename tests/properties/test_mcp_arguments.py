"""The check of a tool's arguments and the schema that clients see agree on every value."""

import importlib
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from surehand.shell.mcp.rows import TABLE
from surehand.shell.mcp.tools import UNDECLARED_ARGUMENT, Tool, bad_argument, input_schema, misfit

jsonschema: Any = importlib.import_module("jsonschema")  # its types are not published

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-1_000, 1_000)
    | st.floats(-1_000, 1_000).map(lambda number: round(number, 1))
    | st.sampled_from([60.0, 600, 601, -1, 0, 1.5, True, "60"])
    | st.text(max_size=5)
    | st.sampled_from(["r", "r-1", "a b", "run_" + "0" * 32, "run_" + "A" * 32, "w" * 200, "w" * 201, ""])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tool, dict[str, object]]:
    """A tool with arguments, most of them under declared names."""
    tool = draw(st.sampled_from(list(TABLE.values())))
    names = st.sampled_from([*tool.arguments, "other"])
    return tool, draw(st.dictionaries(names, VALUES, max_size=5))


RUN = next(tool for tool in TABLE.values() if tool.name == "run_workflow")
LEGAL: dict[str, object] = {"workflow": "w", "inputs": {"note": "n"}, "request_id": "r-1", "wait_seconds": 60.0}


class TestTheSchemaIsTheCheck:
    """A client that validates before it calls, and the server, never disagree."""

    @given(calls())
    @example((RUN, LEGAL))
    @example((RUN, {**LEGAL, "wait_seconds": True}))
    @example((RUN, {**LEGAL, "other": 1}))
    def test_a_call_fits_exactly_when_json_schema_says_so(self, call: tuple[Tool, dict[str, object]]) -> None:
        tool, arguments = call
        # Python's ``$`` also matches before a line end at the end; a pattern of JSON Schema does not.
        ends_with_line_end = any(isinstance(value, str) and value.endswith("\n") for value in arguments.values())

        if not ends_with_line_end:
            valid = jsonschema.Draft202012Validator(input_schema(tool)).is_valid(arguments)

            assert valid is (misfit(tool, arguments) is None)

    def test_a_legal_call_fits(self) -> None:
        assert misfit(RUN, LEGAL) is None

    @given(calls())
    def test_a_refusal_is_fixed_copy(self, call: tuple[Tool, dict[str, object]]) -> None:
        tool, arguments = call
        sentences = {None, UNDECLARED_ARGUMENT, *(bad_argument(name) for name in tool.arguments)}

        assert misfit(tool, arguments) in sentences
