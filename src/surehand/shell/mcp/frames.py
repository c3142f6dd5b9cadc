"""One line of the wire to one message and back, strictly.

Laws of this module:

- Pure: bytes in, a message or a fault out.
- Nothing that was received is repeated in a fault, except the request's own id.
- Nothing is guessed: duplicate names, ``NaN``, numbers beyond a double, deep nesting and bytes that are not UTF-8
  are faults.
- What goes out is ASCII on one line, whatever the locale.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Final, TypeGuard

from attrs import frozen

from surehand.core.schema import is_unicode

#: The largest message that is read, in bytes, without its line end.
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024

#: How deep arrays and objects may nest, the message itself included.
MAX_DEPTH: Final = 64

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

RequestId = int | str


@frozen
class Fault:
    """Why a line is not a message; answered as a JSON-RPC error."""

    code: int
    message: str
    request_id: RequestId | None = None


NOT_JSON: Final = Fault(PARSE_ERROR, "The line is not one JSON value in UTF-8. Nothing ran.")
TOO_LARGE: Final = f"The message is larger than {MAX_MESSAGE_BYTES} bytes. Nothing ran."
NOT_STRICT: Final = "The message holds a duplicate name, or a number that JSON does not have. Nothing ran."
TOO_DEEP: Final = f"The message nests deeper than {MAX_DEPTH} levels. Nothing ran."
NOT_A_MESSAGE: Final = "The line is not a JSON-RPC 2.0 message. Nothing ran."


def decode(line: bytes) -> dict[str, object] | Fault:
    """Read one line.

    Args:
        line: The bytes of one line; white space around the value is allowed.

    Returns:
        The object on the line, or the fault to answer with. Whether the object is a message is the protocol's question.
    """
    if len(line) > MAX_MESSAGE_BYTES:
        return Fault(INVALID_REQUEST, TOO_LARGE, edge_id(line[:EDGE_BYTES], line[-EDGE_BYTES:]))
    reading = _Reading()
    try:
        value = reading.read(line)
    except RecursionError:
        return Fault(INVALID_REQUEST, TOO_DEEP, edge_id(line[:EDGE_BYTES], line[-EDGE_BYTES:]))
    except ValueError:
        return NOT_JSON
    return _judge(value, reading.strict, deep=_may_be_deep(line))


def _judge(value: object, strict: bool, deep: bool) -> dict[str, object] | Fault:
    if not is_object(value):
        return Fault(INVALID_REQUEST, NOT_A_MESSAGE)
    if not strict:
        return Fault(INVALID_REQUEST, NOT_STRICT, id_of(value))
    if deep and _depth_exceeds(value, MAX_DEPTH):
        return Fault(INVALID_REQUEST, TOO_DEEP, id_of(value))
    return value


def encode(message: object) -> bytes:
    """One message as one line of ASCII.

    Raises:
        ValueError: The message holds a number that JSON does not have.
    """
    return json.dumps(message, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def fault_answer(fault: Fault) -> bytes:
    """The line that answers a fault."""
    error = {"code": fault.code, "message": fault.message}
    return encode({"jsonrpc": "2.0", "id": fault.request_id, "error": error})


def id_of(message: dict[str, object]) -> RequestId | None:
    """The id to answer under: a text that is Unicode, or an integer; anything else is no id."""
    value = message.get("id")
    if isinstance(value, str):
        return value if is_unicode(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def has_legal_id(message: dict[str, object]) -> bool:
    """Whether the message has no id at all, or one that can be answered under; a library might coerce the others."""
    return "id" not in message or id_of(message) is not None


#: How much of a message that is too large is kept from either end to find its id.
EDGE_BYTES: Final = 512

_ID = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[\x20-\x21\x23-\x5b\x5d-\x7e]{0,100}")\s*'
_PLAIN = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"\s*'
_ID_AT_START = re.compile(rb"\s*\{\s*(?:" + _PLAIN + rb",\s*){0,2}" + _ID + rb"[,}]")
_ID_AT_END = re.compile(rb"[,{]\s*" + _ID + rb"(?:,\s*" + _PLAIN + rb"){0,2}\}\s*\Z")


def edge_id(head: bytes, tail: bytes) -> RequestId | None:
    """The id of a message too large to read, when it stands before or after everything that nests.

    Every client in use writes it there; where it does not, the answer has no id.
    """
    found = _ID_AT_START.match(head) or _ID_AT_END.search(tail)
    if found is None:
        return None
    text = found[1].decode("ascii")
    return text[1:-1] if text.startswith('"') else int(text)


class _Reading:
    """Notes what strict JSON does not have, and lets the reading go on, so that the answer can carry the id."""

    def __init__(self) -> None:
        self.strict = True

    def read(self, line: bytes) -> object:
        return json.loads(
            line.decode("utf-8"),
            object_pairs_hook=self.object,
            parse_constant=self.constant,
            parse_float=self.float,
        )

    def object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        self.strict = self.strict and len(made) == len(pairs)
        return made

    def constant(self, _name: str) -> None:
        self.strict = False

    def float(self, text: str) -> float:
        number = float(text)
        self.strict = self.strict and math.isfinite(number)
        return number


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a JSON value is an object; the names of an object are always text."""
    return isinstance(value, dict)


def _is_array(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _may_be_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") > MAX_DEPTH


def _depth_exceeds(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _nested(outer)]
        if not level:
            return False
    return True


def _nested(value: object) -> Iterable[object]:
    """The arrays and objects directly inside a JSON value."""
    inside: Iterable[object] = ()
    if is_object(value):
        inside = value.values()
    elif _is_array(value):
        inside = value
    return (inner for inner in inside if is_object(inner) or _is_array(inner))
