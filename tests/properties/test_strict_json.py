"""JSON that every reader reads in the same way, and what is refused because two readers would differ."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.strict_json import strict_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


class TestWhatIsRead:
    """A value that was written as JSON is read as it was."""

    @given(VALUES)
    def test_as_it_was_written(self, value: object) -> None:
        assert value == strict_json(json.dumps(value))

    def test_numbers_by_how_they_are_written_where_that_is_wanted(self) -> None:
        read = strict_json('[1, 1.0, -0, 1e5, {"a": 7.50}]', parse_int=str, parse_float=str)

        assert ["1", "1.0", "-0", "1e5", {"a": "7.50"}] == read


class TestWhatIsRefused:
    """What two readers would read differently, and what is no JSON, is refused without being repeated."""

    @given(st.text(), VALUES, VALUES, st.dictionaries(st.text(), VALUES))
    def test_a_name_that_stands_twice_at_any_depth(
        self, name: str, one: object, other: object, around: dict[str, object]
    ) -> None:
        twice = f"{{{json.dumps(name)}: {json.dumps(one)}, {json.dumps(name)}: {json.dumps(other)}}}"
        outside = json.dumps([around, "HERE"]).replace('"HERE"', twice)

        for text in (twice, outside):
            with pytest.raises(ValueError, match=r"\Aa name stands twice\Z"):
                strict_json(text)

    def test_a_name_that_is_spelled_in_two_ways(self) -> None:
        with pytest.raises(ValueError, match=r"\Aa name stands twice\Z"):
            strict_json('{"a": 1, "\\u0061": 1}')

    @pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '{"dose": [NaN]}'])
    def test_what_is_no_number(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"\Anot a number of JSON\Z"):
            strict_json(text)

    @pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "1 2", "07", "\ufeff1"])
    def test_what_is_no_json(self, text: str) -> None:
        with pytest.raises(json.JSONDecodeError):
            strict_json(text)

    def test_what_json_itself_lets_pass(self) -> None:
        lenient: Any = json.loads('{"a": 1, "a": NaN}')

        assert ["a"] == list(lenient)
