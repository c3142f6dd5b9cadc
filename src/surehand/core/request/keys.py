"""Names of a request that can be stored: opaque keys and a keyed fingerprint of what was asked.

Laws of this module:

- A request id is held to its pattern before anything is derived from it.
- The canonical form is exact: two requests share it only when workflow, input names and input texts agree
  character by character.
- Nothing here can be turned back into an input: keys are hashes, the fingerprint needs a secret.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Final, Self

from attrs import frozen

from surehand.core.outcome.result import MAX_ATTEMPTS
from surehand.core.schema import is_unicode

#: The pattern that a whole request id satisfies.
REQUEST_ID_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$"

#: Bytes of the secret behind a fingerprint.
FINGERPRINT_KEY_BYTES: Final = 32

_REQUEST_ID: Final = re.compile(REQUEST_ID_PATTERN.strip("^$"))
_REQUEST_KEY: Final = re.compile("[0-9a-f]{64}")
_FORM: Final = "surehand.request/v1"


class NotARequestIdError(ValueError):
    """The text does not satisfy the pattern of a request id."""


class NotCanonicalError(ValueError):
    """Workflow or inputs hold something other than Unicode text, such as a number or a lone surrogate."""


@frozen
class RequestId:
    """A request id that satisfies its pattern.

    1 to 200 ASCII letters, digits, ``.``, ``_``, ``:`` and ``-``, the first a letter or a digit.

    Raises:
        NotARequestIdError: The text does not satisfy the pattern.
    """

    text: str

    def __attrs_post_init__(self) -> None:
        """Refuse a text that is no request id; there is no other way in."""
        if _REQUEST_ID.fullmatch(self.text) is None:
            raise NotARequestIdError("not a request id")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The request id that the caller sent.

        Raises:
            NotARequestIdError: The text does not satisfy the pattern.
        """
        return cls(text)


def request_key(request_id: RequestId) -> str:
    """The name under which the attempts of a request are stored: SHA-256 of the request id in hexadecimal."""
    return hashlib.sha256(request_id.text.encode("ascii")).hexdigest()


def attempt_key(key: str, attempt: int) -> str:
    """The name of one attempt, ``<request key>:<attempt>``.

    Raises:
        ValueError: The key is not a request key, or the attempt is not 1 to 5.
    """
    if _REQUEST_KEY.fullmatch(key) is None or not 1 <= attempt <= MAX_ATTEMPTS:
        raise ValueError("not an attempt of a request")
    return f"{key}:{attempt}"


def canonical_form(workflow: str, inputs: Mapping[str, str]) -> bytes:
    """The one byte string that stands for a request, whatever the order of its inputs.

    Inputs are text by contract, so nothing is converted, rounded or normalised, and nothing else is taken.

    Raises:
        NotCanonicalError: A name or value is not text, or holds a lone surrogate.
    """
    for part in (workflow, *inputs.keys(), *inputs.values()):
        _require_unicode_text(part)
    return json.dumps(
        [_FORM, workflow, dict(inputs)], ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def fingerprint(key: bytes, workflow: str, inputs: Mapping[str, str]) -> str:
    """The keyed fingerprint of a request: HMAC-SHA256 of its canonical form in hexadecimal.

    Args:
        key: The installation's secret, 32 bytes. Without it a stored fingerprint says nothing about guessed inputs.
        workflow: The declared name of the workflow.
        inputs: The inputs by name.

    Raises:
        NotCanonicalError: The request has no canonical form.
        ValueError: The key is not 32 bytes long.
    """
    if len(key) != FINGERPRINT_KEY_BYTES:
        raise ValueError("the key of a fingerprint has 32 bytes")
    return hmac.new(key, canonical_form(workflow, inputs), hashlib.sha256).hexdigest()


def same_fingerprint(one: str, other: str) -> bool:
    """Whether two fingerprints agree, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def _require_unicode_text(part: object) -> None:
    if not isinstance(part, str) or not is_unicode(part):
        raise NotCanonicalError("a request is Unicode text")
