"""A file at rest under a passphrase: AES-256-GCM, its key from scrypt.

Laws of this module:

- An envelope opens under the very name it was closed under; it cannot stand in for another file.
- A wrong passphrase and a damaged envelope are told by nothing.
- What an envelope asks of memory and time is bounded before anything is computed.
- A key is never used for two contents of one name: whoever closes an envelope brings a fresh salt.
"""

import hashlib
from enum import Enum, unique
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from returns.result import Failure, Result, Success

#: An envelope begins with these bytes, its format's number among them.
MAGIC: Final = b"SUREHAND\x01"
SALT_BYTES: Final = 16

#: The cost of the key: 2 to this power times 1 KiB of memory (with eight blocks); what is written, and what is read.
_COST: Final = 15
_COSTS_READ: Final = range(14, 18)
_BLOCKS: Final = 8
_HEADER_BYTES: Final = len(MAGIC) + 1 + SALT_BYTES
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


@unique
class EnvelopeProblem(Enum):
    """An envelope does not open: its passphrase is another, or it is damaged."""

    DOES_NOT_OPEN = "does_not_open"


def is_closed(content: bytes) -> bool:
    """Whether the content is an envelope by its first bytes."""
    return content.startswith(MAGIC)


def close(content: bytes, name: str, passphrase: bytes, salt: bytes) -> bytes:
    """Put a content under the passphrase.

    Args:
        content: The content.
        name: The name of its file.
        passphrase: The passphrase.
        salt: 16 random bytes that were never used for another content of this name.
    """
    header = MAGIC + bytes((_COST,)) + salt
    return header + AESGCM(_key(passphrase, salt, _COST)).encrypt(_nonce(name), content, header + name.encode())


def open_closed(envelope: bytes, name: str, passphrase: bytes) -> Result[bytes, EnvelopeProblem]:
    """The content of an envelope."""
    header, sealed = envelope[:_HEADER_BYTES], envelope[_HEADER_BYTES:]
    if len(header) < _HEADER_BYTES or header[len(MAGIC)] not in _COSTS_READ:
        return Failure(EnvelopeProblem.DOES_NOT_OPEN)
    key = _key(passphrase, header[-SALT_BYTES:], header[len(MAGIC)])
    try:
        return Success(AESGCM(key).decrypt(_nonce(name), sealed, header + name.encode()))
    except InvalidTag:
        return Failure(EnvelopeProblem.DOES_NOT_OPEN)


@lru_cache(maxsize=4)
def _key(passphrase: bytes, salt: bytes, cost: int) -> bytes:
    """The key; the files of a folder share a salt, so that it is computed once for them."""
    return Scrypt(salt=salt, length=_KEY_BYTES, n=1 << cost, r=_BLOCKS, p=1).derive(passphrase)


def _nonce(name: str) -> bytes:
    """A nonce for each name; under one key no name comes twice."""
    return hashlib.sha256(name.encode()).digest()[:_NONCE_BYTES]
