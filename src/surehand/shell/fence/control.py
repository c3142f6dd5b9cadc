"""The control channel between the fence and the one who started it: JSON lines.

Laws of this module:

- One closed union for each direction, structured strictly; a line that does not fit ends the channel.
- The channel carries rules, counts and verdicts; it never carries anything of a request.
"""

import json
from typing import cast

from attrs import frozen
from cattrs.preconf.json import make_converter
from cattrs.strategies import configure_tagged_union

from surehand.core.workflow.fence import FenceCounts, FenceRules, FenceVerdict
from surehand.core.workflow.reach import ProxySettings
from surehand.core.workflow.route import Operation, WriteRoute


@frozen
class UseProxies:
    """Reach the apps of runs that are opened from now on through these proxies. No answer."""

    proxies: ProxySettings


@frozen
class OpenRun:
    """Open the port of a run. Answer: ``Opened`` or ``Refused``."""

    call: int
    run_id: str
    rules: FenceRules


@frozen
class ArmRun:
    """The next write of this route is the save. Answer: ``Accepted`` or ``Refused``."""

    call: int
    run_id: str
    route: WriteRoute


@frozen
class SettleRun:
    """Wait for the save, and shut the gate. Answer: ``Settled`` or ``Refused``."""

    call: int
    run_id: str
    timeout_ms: int


@frozen
class CountRun:
    """Say what was counted. Answer: ``Counted`` or ``Refused``."""

    call: int
    run_id: str


@frozen
class CloseRun:
    """End a run. Answer: ``Accepted`` or ``Refused``."""

    call: int
    run_id: str


@frozen
class BoundaryAnswered:
    """The delivery boundary was passed, or not. No answer."""

    run_id: str
    granted: bool


Order = UseProxies | OpenRun | ArmRun | SettleRun | CountRun | CloseRun | BoundaryAnswered


@frozen
class Ready:
    """The fence stands; the hash of its leaf key."""

    spki: str


@frozen
class Opened:
    """The run is open on this port of loopback."""

    call: int
    port: int


@frozen
class Settled:
    """What the fence measured."""

    call: int
    verdict: FenceVerdict


@frozen
class Counted:
    """What was counted so far."""

    call: int
    counts: FenceCounts


@frozen
class Accepted:
    """The order was carried out."""

    call: int


@frozen
class Refused:
    """The order cannot be carried out: the run is unknown or known already, or the gate cannot be armed so."""

    call: int


@frozen
class BoundaryAsked:
    """A save waits for the delivery boundary of this run. Answer: ``BoundaryAnswered``."""

    run_id: str


Notice = Ready | Opened | Settled | Counted | Accepted | Refused | BoundaryAsked

#: The longest line, in bytes.
LINE_LIMIT = 1024 * 1024

_converter = make_converter(forbid_extra_keys=True, detailed_validation=False)


def _read_operation(value: object, _kind: object) -> object:
    return None if value is None else _converter.structure(value, cast("type[object]", Operation))


def _write_operation(operation: Operation | None) -> object:
    return None if operation is None else _converter.unstructure(operation, Operation)


# A union is built of what is known by then: the operation comes before the orders that hold one.
configure_tagged_union(Operation, _converter, tag_name="is")
_converter.register_structure_hook(Operation | None, _read_operation)
_converter.register_unstructure_hook(Operation | None, _write_operation)
configure_tagged_union(Order, _converter, tag_name="is")
configure_tagged_union(Notice, _converter, tag_name="is")


class ControlError(Exception):
    """A line of the channel does not fit."""


def encode_order(order: Order) -> bytes:
    """One line."""
    return _encode(order, Order)


def encode_notice(notice: Notice) -> bytes:
    """One line."""
    return _encode(notice, Notice)


def _encode(message: Order | Notice, union: object) -> bytes:
    return json.dumps(_converter.unstructure(message, union), separators=(",", ":")).encode() + b"\n"


def decode_order(line: bytes) -> Order:
    """Read one line.

    Raises:
        ControlError: It does not fit.
    """
    return cast("Order", _decode(line, Order))


def decode_notice(line: bytes) -> Notice:
    """Read one line.

    Raises:
        ControlError: It does not fit.
    """
    return cast("Notice", _decode(line, Notice))


def _decode(line: bytes, union: object) -> object:
    try:
        return _converter.structure(json.loads(line), cast("type[object]", union))
    except Exception as error:
        raise ControlError from error
