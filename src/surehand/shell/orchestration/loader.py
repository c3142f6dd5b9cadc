"""Definitions of plans from TOML and JSON files.

Laws of this module:

- A file is read whole and strictly, or refused with every fault at its place.
- A folder's file that is no plan is listed, never hidden and never in the way of the others.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from attrs import frozen
from returns.result import Failure

from surehand.core.orchestration.check import DefinitionFault, DefinitionProblem, parse_definition
from surehand.core.orchestration.definition import WorkflowDefinition
from surehand.core.strict_json import strict_json
from surehand.shell.files import read_start
from surehand.shell.reading import UnreadableError, no_larger, reading

#: Bytes that a definition may have at most.
LARGEST_DEFINITION: Final = 1 << 20

_READERS: Final[dict[str, Callable[[str], object]]] = {".json": strict_json, ".toml": tomllib.loads}


class DefinitionError(Exception):
    """The file holds no definition; ``faults`` say where, and are empty when it cannot be read at all."""

    def __init__(self, message: str, faults: tuple[DefinitionFault, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


def load_definition(path: Path) -> WorkflowDefinition:
    """The definition in a file whose name ends in ``.toml`` or ``.json``.

    Raises:
        DefinitionError: There is none.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise DefinitionError("a plan is a file that ends in .toml or .json")
    try:
        with reading():
            data = reader(no_larger(read_start(path, LARGEST_DEFINITION + 1), LARGEST_DEFINITION).decode("utf-8-sig"))
    except UnreadableError as error:
        raise DefinitionError(f"the plan cannot be read: {error}") from None
    read = parse_definition(data)
    if isinstance(read, Failure):
        raise DefinitionError(f"the plan is not understood: {told(read.failure())}", read.failure())
    return read.unwrap()


def told(faults: tuple[DefinitionFault, ...]) -> str:
    """Every fault with its place, as one text for the author."""
    return "; ".join(f"{'.'.join(map(str, fault.path)) or 'as a whole'} {fault.problem.value}" for fault in faults)


class Definitions(Protocol):
    """Where the definitions of today are found."""

    def find(self, definition_id: str) -> WorkflowDefinition | None:
        """The definition of this id as it is now."""
        ...


@frozen(kw_only=True)
class FoundFile:
    """A file of a folder of plans: its definition, or why it has none."""

    name: str
    definition: WorkflowDefinition | None = None
    problem: DefinitionError | None = None


class PlanFolder:
    """The plans in one folder; each is read when it is asked for, so that a change counts at once."""

    def __init__(self, folder: Path) -> None:
        self._folder: Final = folder

    def files(self) -> tuple[FoundFile, ...]:
        """Every file that may hold a plan, by its name; of two with one id only the first counts.

        Raises:
            DefinitionError: There is no such folder.
        """
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix in _READERS)
        except OSError:
            raise DefinitionError("the folder of plans cannot be read") from None
        found: list[FoundFile] = []
        seen: set[str] = set()
        for path in paths:
            each = _found(path)
            if each.definition is not None and each.definition.definition_id in seen:
                each = FoundFile(name=path.name, problem=DefinitionError("the id is taken", _TAKEN))
            elif each.definition is not None:
                seen.add(each.definition.definition_id)
            found.append(each)
        return tuple(found)

    def find(self, definition_id: str) -> WorkflowDefinition | None:
        """The definition of this id as it is now."""
        try:
            definitions = (each.definition for each in self.files())
        except DefinitionError:
            return None
        return next((each for each in definitions if each is not None and each.definition_id == definition_id), None)


_TAKEN: Final = (DefinitionFault(("definition_id",), DefinitionProblem.REPEATED),)


def _found(path: Path) -> FoundFile:
    try:
        return FoundFile(name=path.name, definition=load_definition(path))
    except DefinitionError as error:
        return FoundFile(name=path.name, problem=error)
