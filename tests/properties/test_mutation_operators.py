"""The faults that mutation testing puts into a module."""

from collections.abc import Iterator
from types import CodeType

import pytest

from mutation.operators import enums_of, mutants, original

SOURCE = '''
"""A docstring."""

from enum import Enum


class Light(Enum):
    """A docstring."""

    RED = "red"
    GREEN = "green"


MEANING: dict[Light, int] = {Light.RED: 0, Light.GREEN: 7}


def may_go(light: Light, hurry: bool = False) -> bool:
    """A docstring."""
    if light is Light.GREEN or not hurry:
        return True
    raise ValueError("the text of an exception")


class Car:
    """A docstring."""

    @classmethod
    def drive(cls, light: Light) -> str:
        """A docstring."""
        match light:
            case Light.RED:
                return "stands"
            case Light.GREEN:
                return "goes"
            case _:
                assert_never(light)
'''

EXPECTED = """\
Light: 'red' -> another text
Light: 'green' -> another text
MEANING: table without Light.RED
MEANING: table without Light.GREEN
MEANING: table with the value of Light.GREEN exchanged for the one before
MEANING: Light.RED -> Light.GREEN
MEANING: Light.GREEN -> Light.RED
MEANING: 0 -> 1
MEANING: 7 -> 8
may_go: False -> True
may_go: light is Light.GREEN or not hurry -> not (light is Light.GREEN or not hurry)
may_go: light is Light.GREEN or not hurry -> and
may_go: light is Light.GREEN or not hurry -> without light is Light.GREEN
may_go: light is Light.GREEN or not hurry -> without not hurry
may_go: light is Light.GREEN -> light is not Light.GREEN
may_go: Light.GREEN -> Light.RED
may_go: not hurry -> without not
may_go: return True -> removed
may_go: True -> False
may_go: raise ValueError('the text of an exception') -> removed
Car.drive: cases Light.RED and Light.GREEN exchanged
Car.drive: Light.RED -> Light.GREEN
Car.drive: return 'stands' -> removed
Car.drive: 'stands' -> another text
Car.drive: Light.GREEN -> Light.RED
Car.drive: return 'goes' -> removed
Car.drive: 'goes' -> another text
"""


def parts(code: CodeType) -> Iterator[object]:
    """Everything in which two codes can differ, apart from where they come from."""
    yield code.co_code
    yield code.co_names
    for constant in code.co_consts:
        yield from parts(constant) if isinstance(constant, CodeType) else [constant]


class TestTheFaults:
    """Each mutant is the module with one fault, known by a name of its own."""

    def test_every_kind_of_fault_by_name(self) -> None:
        assert EXPECTED.splitlines() == [each.name for each in mutants(SOURCE, "light.py", enums_of(SOURCE))]

    def test_each_differs_from_the_module_and_from_every_other(self) -> None:
        codes = [each.code for each in mutants(SOURCE, "light.py", enums_of(SOURCE))]

        seen = {tuple(map(repr, parts(code))) for code in (original(SOURCE, "light.py"), *codes)}
        assert len(codes) + 1 == len(seen)

    @pytest.mark.parametrize("name", ["may_go", "Car.drive"])
    def test_a_part_of_a_module_by_its_name(self, name: str) -> None:
        made = mutants(SOURCE, "light.py", enums_of(SOURCE), only=(name,))

        assert [line for line in EXPECTED.splitlines() if line.startswith(name)] == [each.name for each in made]

    def test_without_texts(self) -> None:
        made = mutants(SOURCE, "light.py", enums_of(SOURCE), texts=False)

        assert [line for line in EXPECTED.splitlines() if "another text" not in line] == [each.name for each in made]
