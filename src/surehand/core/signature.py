"""What a machine signs: one exact form for every kind of record, and Ed25519 over it.

Laws of this module:

- Two records share a form only when their kind and every member agree: each part stands behind its length.
- The kind is part of what is signed, so that a signature under one kind is worth nothing under another.
- A signature is judged by the key that the caller trusts, never by one that the record names.
"""

import hashlib
import json
from collections.abc import Mapping
from enum import Enum, unique
from typing import Annotated, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from returns.result import Failure, Result, Success

from surehand.core.schema import Text

#: Bytes of the secret of a signing key.
SECRET_BYTES: Final = 32

Digest = Annotated[str, Text(pattern="^[0-9a-f]{64}$")]
KeyId = Annotated[str, Text(pattern="^[0-9a-f]{32}$")]
Signature = Annotated[str, Text(pattern="^[0-9a-f]{128}$")]

_LENGTH_BYTES: Final = 8


@unique
class Forgery(Enum):
    """A signature that the trusted key did not make for this form."""

    FORGED = "forged"


def signed_form(kind: str, members: Mapping[str, object]) -> bytes:
    """The one byte string that is signed for these members, whatever their order.

    Args:
        kind: The schema of the record.
        members: The members in their wire form, the signature left out.
    """
    texts = [kind]
    for name in sorted(members):
        texts += (name, canonical_json(members[name]))
    parts = [text.encode() for text in texts]
    return b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)


def canonical_json(value: object) -> str:
    """JSON with sorted members and without blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def public_key(secret: bytes) -> bytes:
    """The public key, 32 bytes, of a secret of 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def key_id(public: bytes) -> str:
    """The name of a key: the first half of the SHA-256 of its public part, in hexadecimal."""
    return hashlib.sha256(public).hexdigest()[:32]


def sign(secret: bytes, form: bytes) -> str:
    """The Ed25519 signature of a form, in hexadecimal."""
    return Ed25519PrivateKey.from_private_bytes(secret).sign(form).hex()


def authentic(public: bytes, form: bytes, signature: str) -> Result[bytes, Forgery]:
    """The form, once it is proven that the holder of the key signed it.

    Args:
        public: The public key that the caller trusts, 32 bytes.
        form: What should have been signed.
        signature: 128 hexadecimal digits.
    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(signature), form)
    except InvalidSignature:
        return Failure(Forgery.FORGED)
    return Success(form)
