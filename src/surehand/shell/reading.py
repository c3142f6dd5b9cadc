"""What is wrong with a file that a person named: one sentence by the kind of the error, and where in the file.

Laws of this module:

- Neither the path nor anything that stands in the file is repeated.
- What is no fault of the file is not explained away: it is raised as it is.
"""

import re
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Final

from surehand.shell.files import UnsafeFileError

#: The first kind that an error is of tells its sentence.
_SENTENCES: Final[dict[type[Exception], str]] = {
    FileNotFoundError: "there is no such file",
    NotADirectoryError: "there is no such file",
    IsADirectoryError: "it is a folder",
    PermissionError: "you may not read it",
    OSError: "the file system refuses",
    UnsafeFileError: "it is a folder, a symbolic link or something else that is no file of its own",
    UnicodeDecodeError: "it is not UTF-8",
    RecursionError: "it is nested too deeply",
    ValueError: "a name stands in it twice, or a number that cannot be read",
}

#: Python tells the place of a fault in TOML by its message alone before version 3.14.
_PLACE: Final = re.compile(r"\(at line ([0-9]+), column ([0-9]+)\)$")


class UnreadableError(Exception):
    """A file cannot be read as what it was named for; the message says why, as the end of a sentence."""


@contextmanager
def reading() -> Generator[None]:
    """Read a file, and read what stands in it.

    Raises:
        UnreadableError: One of both failed.
    """
    try:
        yield
    except JSONDecodeError as error:
        raise UnreadableError(f"line {error.lineno}, column {error.colno} is not JSON") from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        raise UnreadableError(
            "what stands at its end is not TOML" if place is None else _not_toml(*place.groups())
        ) from None
    except tuple(_SENTENCES) as error:
        raise UnreadableError(next(text for kind, text in _SENTENCES.items() if isinstance(error, kind))) from None


def no_larger(content: bytes, most: int) -> bytes:
    """The content of a file, of which one byte more than it may have was read at most.

    Raises:
        UnreadableError: It has more.
    """
    if len(content) > most:
        raise UnreadableError("it is too large")
    return content


def _not_toml(line: str, column: str) -> str:
    return f"line {line}, column {column} is not TOML"
