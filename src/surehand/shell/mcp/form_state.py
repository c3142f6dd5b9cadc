"""What a form carries through the client, in the era in which the answer comes by a second call.

Laws of this module:

- A state is sealed: a client can neither read nor change it, and can make none.
- It counts for one tool with one set of arguments, until one second, and once. Whoever redeems it first has it.
- What is sealed with the key of the state folder survives a restart of the server.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from surehand.core.signature import signed_form
from surehand.shell.identity import new_salt

#: Seconds that a person has for a form.
FORM_SECONDS: Final = 15 * 60

_NONCE_BYTES: Final = 12
_INSTANT_BYTES: Final = 8


class FormStates:
    """Seals states and redeems them.

    Args:
        key: 32 bytes for this purpose alone.
        now: Seconds since the epoch, UTC.
        spend: Whether nobody spent the state of this digest before; it is remembered until the second.
    """

    def __init__(self, key: bytes, now: Callable[[], int], spend: Callable[[str, int], bool]) -> None:
        self._cipher = AESGCM(key)
        self._now = now
        self._spend = spend

    def mint(self, tool: str, arguments: Mapping[str, object]) -> str:
        """A state for one form of this call."""
        nonce = new_salt(_NONCE_BYTES)
        ends = (self._now() + FORM_SECONDS).to_bytes(_INSTANT_BYTES)
        return urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, ends, _bound(tool, arguments))).decode()

    def redeem(self, state: str | None, tool: str, arguments: Mapping[str, object]) -> bool:
        """Whether a state was minted for this call, is not over, and was never redeemed; it is now."""
        sealed = _sealed(state or "")
        ends = self._opened(sealed, _bound(tool, arguments))
        if ends is None or not self._now() < ends <= self._now() + FORM_SECONDS:
            return False
        return self._spend(hashlib.sha256(sealed).hexdigest(), ends)

    def _opened(self, sealed: bytes, bound: bytes) -> int | None:
        try:
            return int.from_bytes(self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound))
        except (InvalidTag, ValueError):
            return None


def _sealed(state: str) -> bytes:
    """The bytes of a state; several texts may stand for the same ones."""
    try:
        return urlsafe_b64decode(state.encode("ascii"))
    except ValueError:
        return b""


def _bound(tool: str, arguments: Mapping[str, object]) -> bytes:
    return signed_form("surehand.form-state/v1", {"tool": tool, "arguments": arguments})
