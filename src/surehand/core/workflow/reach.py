"""The way to an app: which proxy stands in it, and what it means when the app is not reached.

Laws of this module:

- The operator's variables alone say which proxy is used; a loopback address is never reached through one.
- A proxy that is not understood is refused by name. It is never left out: the app would be reached on another way than
  the operator said.
- Whatever keeps an app from being reached is found before anything is sent, and has one refusal.
"""

import base64
import ipaddress
import re
from collections.abc import Iterator, Mapping
from enum import Enum, unique
from typing import Final

from attrs import field, frozen

from surehand.core.outcome.evidence import Refusal
from surehand.core.outcome.result import FailedCheck
from surehand.core.workflow.fence import Origin

_HIGHEST_PORT: Final = 65_535
_PROXY_PORT: Final = 80
_PROXY: Final = re.compile(
    r"(?:http://)?(?:(?P<user>[^:@/\s]*)(?::(?P<password>[^@/\s]*))?@)?"
    r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)


@frozen
class ProxySettings:
    """What the operator's variables say, as they are written; empty when they say nothing.

    Args:
        http: The proxy for apps without TLS. It may hold a password.
        https: The proxy for apps with TLS. It may hold a password.
        bypass: The hosts that are reached without a proxy.
    """

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    bypass: str = ""


def proxy_settings(environment: Mapping[str, str]) -> ProxySettings:
    """Read ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``; a name in lower case wins."""

    def first(*names: str) -> str:
        spelled = (environment.get(spelling, "").strip() for name in names for spelling in (name, name.upper()))
        return next((value for value in spelled if value), "")

    return ProxySettings(first("http_proxy", "all_proxy"), first("https_proxy", "all_proxy"), first("no_proxy"))


@frozen
class Proxy:
    """A proxy that opens tunnels by ``CONNECT``.

    Args:
        host: Its name or address (IPv6 without brackets).
        port: Its port.
        authorization: The value of ``Proxy-Authorization``; empty without a user name.
    """

    host: str
    port: int
    authorization: str = field(default="", repr=False)


@frozen
class UnsupportedProxy:
    """The operator named a proxy of another kind (SOCKS, or one that is reached over TLS), or an unreadable one."""


def proxy_for(settings: ProxySettings, origin: Origin) -> Proxy | UnsupportedProxy | None:
    """The proxy on the way to an app; ``None`` when it is reached without one."""
    text = settings.https if origin.scheme == "https" else settings.http
    host = origin.host.strip("[]").rstrip(".")
    if not text or is_loopback(host) or any(_is_of(entry, host, origin.port) for entry in _entries(settings.bypass)):
        return None
    match = _PROXY.fullmatch(text)
    port = _PROXY_PORT if match is None or match["port"] is None else int(match["port"])
    if match is None or not 0 < port <= _HIGHEST_PORT:
        return UnsupportedProxy()
    return Proxy(match["host"].strip("[]"), port, _authorization(match["user"], match["password"]))


def _authorization(user: str | None, password: str | None) -> str:
    if not user:
        return ""
    return "Basic " + base64.b64encode(_decoded(user) + b":" + _decoded(password or "")).decode("ascii")


def _decoded(text: str) -> bytes:
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host (IPv6 without brackets) is this very machine, by its name or address."""
    address = _address(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def _entries(bypass: str) -> Iterator[str]:
    return (entry.lower() for entry in re.split(r"[\s,]+", bypass) if entry)


def _is_of(entry: str, host: str, port: int) -> bool:
    """Whether an entry of the bypass names a host: itself, one that it is below, or the network of its address."""
    if entry == "*":
        return True
    address = _address(host)
    if address is not None:
        return _holds_address(entry, address, port)
    name, _, wanted_port = entry.partition(":")
    name = name.removeprefix("*").strip(".")
    return bool(name) and wanted_port in {"", str(port)} and (host == name or host.endswith(f".{name}"))


def _holds_address(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> bool:
    try:
        return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        host, _, wanted_port = entry.rpartition(":")
        return wanted_port == str(port) and _address(host.strip("[]")) == address


@unique
class Reach(Enum):
    """How an attempt to reach an app ended. Nothing of a request was sent in any of them."""

    REACHED = "reached"
    NOBODY_THERE = "nobody_there"
    NOT_TRUSTED = "not_trusted"
    OTHER_PROTOCOL = "other_protocol"
    TLS_REFUSED = "tls_refused"
    PROXY_NOT_THERE = "proxy_not_there"
    PROXY_REFUSED = "proxy_refused"
    PROXY_NOT_SUPPORTED = "proxy_not_supported"


@frozen
class Hindrance:
    """What a run is refused with."""

    refusal: Refusal
    checks: tuple[FailedCheck, ...] = ()


#: The refusal of each end but ``REACHED``. What may pass by itself is an app that is unreachable; what the operator has
#: to put right is a run that is not ready.
HINDRANCES: Final[dict[Reach, Hindrance]] = {
    Reach.NOBODY_THERE: Hindrance(Refusal.APP_UNREACHABLE),
    Reach.NOT_TRUSTED: Hindrance(Refusal.NOT_READY_TO_RUN, (FailedCheck.APP_NOT_TRUSTED,)),
    Reach.OTHER_PROTOCOL: Hindrance(Refusal.NOT_READY_TO_RUN, (FailedCheck.APP_NEEDS_HTTP2,)),
    Reach.TLS_REFUSED: Hindrance(Refusal.NOT_READY_TO_RUN, (FailedCheck.APP_REFUSES_TLS,)),
    Reach.PROXY_NOT_THERE: Hindrance(Refusal.APP_UNREACHABLE, (FailedCheck.PROXY_UNREACHABLE,)),
    Reach.PROXY_REFUSED: Hindrance(Refusal.NOT_READY_TO_RUN, (FailedCheck.PROXY_REFUSES,)),
    Reach.PROXY_NOT_SUPPORTED: Hindrance(Refusal.NOT_READY_TO_RUN, (FailedCheck.PROXY_NOT_SUPPORTED,)),
}
