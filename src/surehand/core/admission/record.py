"""Certifications and admissions: what their records say, how they are signed, and the proof that one counts.

Laws of this module:

- A ``Certification`` or an ``Admission`` has no public constructor: whoever holds one holds the proof that its record
  was verified against this machine's key, this bundle, this policy and this moment.
- What is missing, damaged, foreign, expired or revoked is a closed problem; none falls back to an older record.
- A time that nobody can tell, that lies before the record was made, or that is not after it ends, is too late.
- The two kinds are signed apart: a certification's signature is worth nothing under an admission.
"""

import json
from typing import Annotated, Final, Literal, TypeVar, final

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from surehand.core.schema import Number, Text
from surehand.core.signature import Digest, KeyId, Signature, authentic, key_id, public_key, sign, signed_form
from surehand.core.workflow.policy import PolicyName, Profile, RecordProblem, is_at_least
from surehand.core.workflow.target import Identifier

DAY_SECONDS: Final = 86_400
#: The longest time for which a workflow can be admitted, and the usual one.
LONGEST_DAYS: Final = 366
USUAL_DAYS: Final = 90

#: Bytes that a record may have.
LARGEST_RECORD: Final = 4096

_Seconds = Annotated[int, Number(minimum=0, maximum=1 << 40)]


@frozen(kw_only=True)
class CertificationRecord:
    """What a certification says: this bundle satisfies this policy."""

    schema: Literal["surehand.certification/v1"] = "surehand.certification/v1"
    workflow: Identifier
    bundle: Digest
    policy: Digest
    policy_name: PolicyName
    policy_version: Annotated[int, Number(minimum=1, maximum=1_000_000)]
    key: KeyId
    certified_at: _Seconds
    signature: Signature


@frozen(kw_only=True)
class AdmissionRecord:
    """What an admission says: this person lets this bundle run under this policy and profile, until then."""

    schema: Literal["surehand.admission/v1"] = "surehand.admission/v1"
    workflow: Identifier
    bundle: Digest
    policy: Digest
    profile: Profile
    key: KeyId
    account: Annotated[str, Text(pattern=r"^[^\s\x00-\x1f\x7f]{1,120}$")]
    admitted_at: _Seconds
    expires_at: _Seconds
    revoked_at: _Seconds | None = None
    signature: Signature


Record = CertificationRecord | AdmissionRecord
R = TypeVar("R", CertificationRecord, AdmissionRecord)


@final
@frozen(init=False)
class Certification:
    """A certification that was verified."""

    record: CertificationRecord

    def __init__(self) -> None:
        """Refuse: only ``verify_certification`` makes one.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a certification is made by its verification")


@final
@frozen(init=False)
class Admission:
    """An admission that was verified."""

    record: AdmissionRecord

    def __init__(self) -> None:
        """Refuse: only ``verify_admission`` makes one.

        Raises:
            TypeError: Always.
        """
        raise TypeError("an admission is made by its verification")


V = TypeVar("V", Certification, Admission)


def sign_record(record: R, secret: bytes) -> R:
    """The record with this key's name and signature."""
    named = evolve(record, key=key_id(public_key(secret)))
    return evolve(named, signature=sign(secret, _form(named)))


def record_text(record: Record) -> bytes:
    """The content of a record's file."""
    return (json.dumps(_wire(record), indent=2, ensure_ascii=True) + "\n").encode()


def open_record(content: bytes | None, cls: type[R], key: bytes | None) -> Result[R, RecordProblem]:
    """A record whose signature is this machine's.

    Args:
        content: The content of its file; nothing when there is none.
        cls: The kind of record that is expected.
        key: This machine's public key, if it has one.
    """
    if content is None:
        return Failure(RecordProblem.MISSING)
    read = _parsed(content, cls)
    if isinstance(read, Failure):
        return read
    record = read.unwrap()
    if key is None:
        return Failure(RecordProblem.NOT_SIGNED_HERE)
    proven = authentic(key, _form(record), record.signature)
    return Failure(RecordProblem.NOT_SIGNED_HERE) if isinstance(proven, Failure) else Success(record)


def verify_certification(
    content: bytes | None, key: bytes | None, *, bundle: str, policy: str
) -> Result[Certification, RecordProblem]:
    """The proof that this bundle was certified on this machine under this policy.

    Args:
        content: The content of the record's file; nothing when there is none.
        key: This machine's public key, if it has one.
        bundle: The digest of the bundle that is about to run.
        policy: The digest of the policy that is in force.
    """
    opened = open_record(content, CertificationRecord, key)
    if isinstance(opened, Failure):
        return opened
    record = opened.unwrap()
    problem = _problem_of_subject(record, bundle, policy)
    return Failure(problem) if problem else Success(_proven(Certification, record))


def verify_admission(  # noqa: PLR0913 - everything that an admission is held to
    content: bytes | None, key: bytes | None, *, bundle: str, policy: str, profile: Profile, now: int | None
) -> Result[Admission, RecordProblem]:
    """The proof that a person on this machine admitted this bundle, for now.

    Args:
        content: The content of the record's file; nothing when there is none.
        key: This machine's public key, if it has one.
        bundle: The digest of the bundle that is about to run.
        policy: The digest of the policy that is in force.
        profile: The profile that is in force; an admission for a more serious one covers it.
        now: Seconds since the epoch; ``None`` when no clock can be read.
    """
    opened = open_record(content, AdmissionRecord, key)
    if isinstance(opened, Failure):
        return opened
    record = opened.unwrap()
    problem = _problem_of_subject(record, bundle, policy) or _problem_of_admission(record, profile, now)
    return Failure(problem) if problem else Success(_proven(Admission, record))


def _proven(cls: type[V], record: Record) -> V:
    """The one way in which a verified record is made."""
    verified = cls.__new__(cls)
    object.__setattr__(verified, "record", record)
    return verified


def _problem_of_subject(record: Record, bundle: str, policy: str) -> RecordProblem | None:
    if record.bundle != bundle:
        return RecordProblem.OTHER_BUNDLE
    return None if record.policy == policy else RecordProblem.OTHER_POLICY


def _problem_of_admission(record: AdmissionRecord, profile: Profile, now: int | None) -> RecordProblem | None:
    if record.revoked_at is not None:
        return RecordProblem.REVOKED
    if not is_at_least(record.profile, profile):
        return RecordProblem.WEAKER_PROFILE
    return None if is_current(record, now) else RecordProblem.EXPIRED


def is_current(record: AdmissionRecord, now: int | None) -> bool:
    """Whether the moment lies within the time of the admission, and that time is no longer than allowed."""
    length = record.expires_at - record.admitted_at
    return now is not None and record.admitted_at <= now < record.expires_at and length <= LONGEST_DAYS * DAY_SECONDS


def _parsed(content: bytes, cls: type[R]) -> Result[R, RecordProblem]:
    """A record in its one form; anything else is unreadable."""
    from surehand.core.wire import from_wire  # noqa: PLC0415 - the converter is costly to import

    try:
        data = json.loads(content.decode()) if len(content) <= LARGEST_RECORD else None
    except (ValueError, RecursionError):
        data = None
    read = from_wire(data, cls).alt(lambda _: RecordProblem.UNREADABLE)
    if isinstance(read, Success) and record_text(read.unwrap()) != content:
        return Failure(RecordProblem.UNREADABLE)
    return read


def _form(record: Record) -> bytes:
    return signed_form(record.schema, {name: member for name, member in _wire(record).items() if name != "signature"})


def _wire(record: Record) -> dict[str, object]:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return to_wire(record)
