"""Capabilities: what a pause allows, bound to everything that it says.

Laws of this module:

- A capability binds the pause, its issue and the allowed actions, each part behind its length; any change makes
  another.
- Only the digest leaves. Without the key nobody can make one, and nobody can tell which pause it belongs to.
- One function verifies, for every door, in a time that does not tell where two digests differ.
- Two clocks have to agree that a capability is not over: the one that dates, and the one that runs since the machine
  was started. The second in which it ends is too late.
- A verified capability comes from ``verify`` alone.
"""

import hmac
import re
from collections.abc import Mapping
from enum import Enum, unique
from typing import Final

from attrs import frozen
from returns.result import Failure, Result, Success

from surehand.core.attention.pause import IN_WINDOW, Action, Issue, KeptPause, Pause, allowed_actions
from surehand.core.request.keys import fingerprint

#: Bytes of the secret from which every key of this room is derived.
KEY_BYTES: Final = 32

#: Signs of a code that a person copies from this computer; none of them is easily taken for another.
CODE_SIGNS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH: Final = 6

#: Wrong codes after which a capability takes none any more.
CODE_TRIES: Final = 5

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_LIKENESSES: Final = str.maketrans("OIL", "011")


@unique
class DecisionRefusal(Enum):
    """Why a decision was not taken."""

    UNKNOWN_ITEM = "unknown_item"
    CAPABILITY_MALFORMED = "capability_malformed"
    CAPABILITY_NOT_OF_ITEM = "capability_not_of_item"
    CAPABILITY_OUTDATED = "capability_outdated"
    CAPABILITY_EXPIRED = "capability_expired"
    CLOCK_WENT_BACK = "clock_went_back"
    PAUSE_CHANGED = "pause_changed"
    PAUSE_SUPERSEDED = "pause_superseded"
    RUN_NOT_WAITING = "run_not_waiting"
    ACTION_NOT_ALLOWED = "action_not_allowed"
    ALREADY_DECIDED = "already_decided"
    IN_PROGRESS = "in_progress"
    KEY_REUSED = "key_reused"
    NOT_CONFIRMED = "not_confirmed"
    CODE_WRONG = "code_wrong"
    CODE_DOOR_CLOSED = "code_door_closed"
    OPERATOR_UNKNOWN = "operator_unknown"
    WINDOW_GONE = "window_gone"
    BUNDLE_CHANGED = "bundle_changed"
    INPUTS_CHANGED = "inputs_changed"
    EVIDENCE_UNREADABLE = "evidence_unreadable"
    NOT_ADMITTED = "not_admitted"
    LEDGER_RESTORED = "ledger_restored"


@frozen
class Instants:
    """What two clocks say.

    Args:
        now: Seconds since the epoch, UTC.
        boot: What the kernel calls the time since this machine was started; empty where it has no name for it.
        boot_ms: Milliseconds since then.
    """

    now: int
    boot: str
    boot_ms: int


@frozen(init=False)
class VerifiedCapability:
    """The proof that this action may be decided for this pause now; made by ``verify`` alone."""

    kept: KeptPause
    action: Action
    digest: str

    def __init__(self) -> None:
        """Refuse: there is no other way in than ``verify``.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a capability is verified, never made")


def issue_at(instants: Instants, number: int, owner: str, seconds: int) -> Issue:
    """An issue that begins now.

    Args:
        instants: Now.
        number: Its number.
        owner: The process with the live window; empty for none.
        seconds: For how long it counts.
    """
    now = max(instants.now, 0)
    return Issue(
        number=number,
        owner=owner,
        issued_at=now,
        expires_at=now + seconds,
        boot=instants.boot,
        boot_ms=instants.boot_ms,
    )


def derived_key(key: bytes, purpose: str) -> bytes:
    """The key for one purpose, 32 bytes; it tells nothing about the others.

    Raises:
        ValueError: The key is not 32 bytes long.
    """
    if len(key) != KEY_BYTES:
        raise ValueError("the key of attention has 32 bytes")
    return hmac.digest(key, f"surehand.attention/v1\0{purpose}".encode(), "sha256")


def inputs_digest(key: bytes, workflow: str, inputs: Mapping[str, str]) -> str:
    """The keyed digest of the final inputs of a run."""
    return fingerprint(derived_key(key, "inputs"), workflow, inputs)


def seal_of(key: bytes, pause: Pause) -> str:
    """The keyed digest under which a pause is kept."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return _mac(key, "pause", to_wire(pause)).hex()


def is_intact(key: bytes, kept: KeptPause) -> bool:
    """Whether a pause is as it was kept."""
    return _same(kept.seal, seal_of(key, kept.pause))


def actions_of(kept: KeptPause) -> tuple[Action, ...]:
    """What the capability of a pause allows."""
    return allowed_actions(kept.pause, has_window=bool(kept.issue.owner))


def capability_digest(key: bytes, kept: KeptPause) -> str:
    """The digest of the capability of a pause as it is issued now."""
    return _digest_of(key, kept.pause, kept.issue)


def _digest_of(key: bytes, pause: Pause, issue: Issue) -> str:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    allowed = [action.value for action in allowed_actions(pause, has_window=bool(issue.owner))]
    members = {"pause": to_wire(pause), "issue": to_wire(issue), "allowed_actions": allowed}
    return _mac(key, "capability", members).hex()


def _mac(key: bytes, purpose: str, members: Mapping[str, object]) -> bytes:
    """The keyed digest of members, each of them behind its length."""
    from surehand.core.signature import signed_form  # noqa: PLC0415 - loads what signs, which few need

    return hmac.digest(derived_key(key, purpose), signed_form(f"surehand.{purpose}/v1", members), "sha256")


def verify(
    key: bytes, kept: KeptPause, presented: str, action: Action, instants: Instants
) -> Result[VerifiedCapability, DecisionRefusal]:
    """Whether what was presented allows this action for this pause now.

    Args:
        key: The secret of this folder.
        kept: The pause as the ledger keeps it.
        presented: The digest that the decision names.
        action: What was decided.
        instants: The time, by both clocks.
    """
    refusal = _refusal(key, kept, presented, action, instants)
    if refusal is not None:
        return Failure(refusal)
    return Success(_verified(kept, action, presented))


def _verified(kept: KeptPause, action: Action, digest: str) -> VerifiedCapability:
    verified = VerifiedCapability.__new__(VerifiedCapability)
    for name, value in (("kept", kept), ("action", action), ("digest", digest)):
        object.__setattr__(verified, name, value)
    return verified


def _refusal(key: bytes, kept: KeptPause, presented: str, action: Action, instants: Instants) -> DecisionRefusal | None:
    if _DIGEST.fullmatch(presented) is None:
        return DecisionRefusal.CAPABILITY_MALFORMED
    if not is_intact(key, kept):
        return DecisionRefusal.PAUSE_CHANGED
    if not _same(presented, capability_digest(key, kept)):
        earlier = [_same(presented, _digest_of(key, kept.pause, issue)) for issue in kept.issues[:-1]]
        return DecisionRefusal.CAPABILITY_OUTDATED if any(earlier) else DecisionRefusal.CAPABILITY_NOT_OF_ITEM
    over = expiry(kept.issue, instants)
    if over is not None:
        return over
    return None if action in actions_of(kept) else DecisionRefusal.ACTION_NOT_ALLOWED


def expiry(issue: Issue, instants: Instants) -> DecisionRefusal | None:
    """Why an issue does not count at this time; ``None`` while it does.

    After the machine was started anew, the clock that dates counts alone.
    """
    if instants.now < issue.issued_at:
        return DecisionRefusal.CLOCK_WENT_BACK
    if instants.now >= issue.expires_at:
        return DecisionRefusal.CAPABILITY_EXPIRED
    if not issue.boot or issue.boot != instants.boot:
        return None
    passed = instants.boot_ms - issue.boot_ms
    if passed < 0:
        return DecisionRefusal.CLOCK_WENT_BACK
    over = passed >= (issue.expires_at - issue.issued_at) * 1000
    return DecisionRefusal.CAPABILITY_EXPIRED if over else None


def same_work(
    key: bytes, pause: Pause, bundle: str, workflow: str, inputs: Mapping[str, str]
) -> Result[Pause, DecisionRefusal]:
    """Whether what is about to be performed is what was decided about.

    Args:
        key: The secret of this folder.
        pause: What was decided about.
        bundle: Digest of the bundle that would be executed.
        workflow: Its name.
        inputs: What would be entered.
    """
    if not pause.bundle or not _same(pause.bundle, bundle) or pause.workflow != workflow:
        return Failure(DecisionRefusal.BUNDLE_CHANGED)
    if not _same(pause.inputs, inputs_digest(key, workflow, inputs)):
        return Failure(DecisionRefusal.INPUTS_CHANGED)
    return Success(pause)


def code_of(key: bytes, kept: KeptPause, action: Action) -> str:
    """The short code that this computer alone shows for an action in the live window.

    Raises:
        ValueError: The action needs none.
    """
    if action not in IN_WINDOW:
        raise ValueError("only an action in the live window has a code")
    members = {"capability": capability_digest(key, kept), "action": action.value}
    number = int.from_bytes(_mac(key, "code", members)[:8])
    return "".join(CODE_SIGNS[number >> (5 * place) & 31] for place in range(CODE_LENGTH))


def same_code(expected: str, typed: str) -> bool:
    """Whether a person typed this code; case, blanks, dashes, and letters taken for digits do not matter."""
    plain = typed.upper().replace(" ", "").replace("-", "").translate(_LIKENESSES)
    return _same(expected, plain)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
