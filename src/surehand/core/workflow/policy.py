"""What has to be in order before a workflow may run: requirements, facts, and the gate between them.

Laws of this module:

- A profile and a policy each only ask for more: together they ask for the stronger of both, member by member.
- The gate is one pure function of closed facts. What is not known counts as not being there.
- Whether a certification or an admission is in force was proven elsewhere; here only the result of that proof counts.
- A failed check is a closed code. Where it fails is told to people only.
"""

import hashlib
from enum import Enum, unique
from typing import TYPE_CHECKING, Annotated, Final, Literal

from attrs import fields, frozen
from returns.result import Result

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.result import FailedCheck
from surehand.core.schema import Number, Text
from surehand.core.signature import canonical_json
from surehand.core.workflow.addresses import names_in
from surehand.core.workflow.bundle import Bundle, Effect
from surehand.core.workflow.fence import parse_origin
from surehand.core.workflow.reach import is_loopback
from surehand.core.workflow.source import DatabaseRecords
from surehand.core.workflow.target import FromInput, Value

if TYPE_CHECKING:
    from surehand.core.wire import WireFault

PolicyName = Annotated[str, Text(pattern="^[a-z][a-z0-9-]{0,39}$")]
_Count = Annotated[int, Number(minimum=0, maximum=20)]


@frozen(kw_only=True)
class Requirements:
    """What is asked for; the default of each member asks for nothing.

    ``sandbox_only`` limits runs to the training app. ``identity_fields`` and ``unique_identity_fields`` are the least
    numbers of fields that show which record is open; ``identity_read_back`` has the unique ones compared in the record
    that is read back too. (Every value that is entered is compared there in any bundle.) ``read_back`` is the weakest
    check that may let a run be ``done``.
    """

    sandbox_only: bool = False
    certification: bool = False
    admission: bool = False
    encryption: bool = False
    seal: bool = False
    identity_fields: _Count = 0
    unique_identity_fields: _Count = 0
    identity_read_back: bool = False
    read_back: CheckLevel = CheckLevel.UNCHECKED
    duplicate_guard: bool = False
    no_sockets: bool = False
    protected_transport: bool = False


@frozen(kw_only=True)
class Policy:
    """The requirements of an organisation, by name and version."""

    schema: Literal["surehand.policy/v1"] = "surehand.policy/v1"
    name: PolicyName
    version: Annotated[int, Number(minimum=1, maximum=1_000_000)]
    requires: Requirements


@unique
class Profile(Enum):
    """How serious a run is, the least first."""

    DEMO = "demo"
    STANDARD = "standard"
    REGULATED = "regulated"


#: What each profile asks for, whatever the policy.
PROFILES: Final[dict[Profile, Requirements]] = {
    Profile.DEMO: Requirements(sandbox_only=True),
    Profile.STANDARD: Requirements(
        certification=True,
        admission=True,
        identity_fields=2,
        unique_identity_fields=1,
        read_back=CheckLevel.REOPENED,
    ),
    Profile.REGULATED: Requirements(
        certification=True,
        admission=True,
        encryption=True,
        seal=True,
        identity_fields=2,
        unique_identity_fields=1,
        identity_read_back=True,
        read_back=CheckLevel.SEPARATE_SESSION,
        duplicate_guard=True,
        no_sockets=True,
        protected_transport=True,
    ),
}

#: The policies that have a name; any other is a file.
POLICIES: Final[dict[str, Policy]] = {
    "permissive": Policy(name="permissive", version=1, requires=Requirements()),
    "clinical-write": Policy(
        name="clinical-write",
        version=1,
        requires=Requirements(
            identity_fields=2,
            unique_identity_fields=1,
            identity_read_back=True,
            read_back=CheckLevel.SEPARATE_SESSION,
            duplicate_guard=True,
            no_sockets=True,
            protected_transport=True,
        ),
    ),
}

DEFAULT_POLICY: Final = "permissive"


@unique
class RecordProblem(Enum):
    """Why a record of certification or admission does not count."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_SIGNED_HERE = "not_signed_here"
    OTHER_BUNDLE = "other_bundle"
    OTHER_POLICY = "other_policy"
    WEAKER_PROFILE = "weaker_profile"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class InForce:
    """A record that was proven to count for this bundle, this policy, this profile, and now."""


Standing = InForce | RecordProblem


@frozen(kw_only=True)
class BundleFacts:
    """What a bundle and its folder offer; the same members as the requirements that they answer."""

    encryption: bool
    seal: bool
    identity_fields: int
    unique_identity_fields: int
    identity_read_back: bool
    read_back: CheckLevel
    duplicate_guard: bool
    no_sockets: bool
    protected_transport: bool


@frozen(kw_only=True)
class GateFacts:
    """What is known directly before a run. ``bundle`` is absent when it could not be read as a whole."""

    sandbox: bool
    bundle: BundleFacts | None
    certification: Standing
    admission: Standing


@frozen
class Judgment:
    """One check: whether anybody asked for it, and whether it holds."""

    check: FailedCheck
    asked: bool
    holds: bool

    @property
    def fails(self) -> bool:
        """Whether it was asked for and does not hold."""
        return self.asked and not self.holds


def parse_policy(data: object) -> "Result[Policy, tuple[WireFault, ...]]":
    """Read a policy from parsed TOML or JSON, strictly."""
    from surehand.core.wire import from_wire  # noqa: PLC0415 - the converter is costly to import

    return from_wire(data, Policy)


def policy_digest(policy: Policy) -> str:
    """SHA-256, in hexadecimal, of the policy's canonical JSON."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return hashlib.sha256(canonical_json(to_wire(policy)).encode()).hexdigest()


def is_at_least(profile: Profile, other: Profile) -> bool:
    """Whether a profile is as serious as the other, or more."""
    order = list(Profile)
    return order.index(profile) >= order.index(other)


def stronger(one: Requirements, other: Requirements) -> Requirements:
    """What both ask for together."""
    return Requirements(
        **{each.name: max(getattr(one, each.name), getattr(other, each.name)) for each in fields(Requirements)}
    )


def failed_checks(profile: Profile, policy: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    """The run gate: what keeps a workflow from running now; empty when nothing does."""
    if facts.bundle is None:
        return (FailedCheck.BUNDLE_UNREADABLE,)
    required = stronger(PROFILES[profile], policy.requires)
    judged = (*_judge_circumstances(required, facts), *judge_bundle(required, facts.bundle))
    return tuple(judgment.check for judgment in judged if judgment.fails)


def _judge_circumstances(required: Requirements, facts: GateFacts) -> tuple[Judgment, ...]:
    certified, admitted = facts.certification, facts.admission
    special = {RecordProblem.EXPIRED, RecordProblem.REVOKED}
    known = isinstance(admitted, InForce) or admitted in special
    return (
        Judgment(FailedCheck.SANDBOX_ONLY, required.sandbox_only, facts.sandbox),
        Judgment(FailedCheck.NOT_CERTIFIED, required.certification, isinstance(certified, InForce)),
        Judgment(FailedCheck.NOT_ADMITTED, required.admission, known),
        Judgment(FailedCheck.ADMISSION_EXPIRED, required.admission, admitted is not RecordProblem.EXPIRED),
        Judgment(FailedCheck.ADMISSION_REVOKED, required.admission, admitted is not RecordProblem.REVOKED),
    )


def judge_bundle(required: Requirements, facts: BundleFacts) -> tuple[Judgment, ...]:
    """Every check of the bundle itself and of its folder."""
    counted = required.identity_fields, required.unique_identity_fields
    found = facts.identity_fields, facts.unique_identity_fields
    return (
        Judgment(FailedCheck.NOT_ENCRYPTED, required.encryption, facts.encryption),
        Judgment(FailedCheck.NOT_SEALED, required.seal, facts.seal),
        Judgment(FailedCheck.IDENTITY_TOO_WEAK, any(counted), all(a >= b for a, b in zip(found, counted, strict=True))),
        Judgment(FailedCheck.READ_BACK_INCOMPLETE, required.identity_read_back, facts.identity_read_back),
        Judgment(FailedCheck.READ_BACK_TOO_WEAK, bool(required.read_back), facts.read_back >= required.read_back),
        Judgment(FailedCheck.DUPLICATE_GUARD_MISSING, required.duplicate_guard, facts.duplicate_guard),
        Judgment(FailedCheck.SOCKETS_OPEN, required.no_sockets, facts.no_sockets),
        Judgment(FailedCheck.TRANSPORT_NOT_PROTECTED, required.protected_transport, facts.protected_transport),
    )


def bundle_facts(bundle: Bundle, *, encryption: bool, seal: bool, origins: tuple[str, ...]) -> BundleFacts:
    """What a bundle and its folder offer.

    Args:
        bundle: The workflow.
        encryption: Whether its files lie encrypted.
        seal: Whether this machine's signature stands under its manifest.
        origins: Where its app is, the operator's word before the bundle's. Nowhere counts as not protected.
    """
    return BundleFacts(
        encryption=encryption,
        seal=seal,
        identity_fields=len({item.target for item in bundle.identity}),
        unique_identity_fields=len({item.target for item in bundle.identity if item.unique}),
        identity_read_back=not identity_not_read_back(bundle),
        read_back=bundle.read_back.minimum,
        duplicate_guard=bool(bundle.business_key) or bundle.read_back.effect is Effect.UPDATE,
        no_sockets=not bundle.sockets,
        protected_transport=bool(origins) and not unprotected_origins(origins),
    )


def identity_not_read_back(bundle: Bundle) -> tuple[str, ...]:
    """The unique identity fields, by their names on the page, which the record that is read back need not agree with.

    It agrees when it is compared with the field's value, or when that value stands in the address of the record.
    """
    read = bundle.read_back
    compared: set[Value] = {item.expected for item in (*read.identity, *read.written)}
    if not isinstance(read.source, DatabaseRecords):
        compared |= {FromInput(name) for name in names_in(read.source.path)}
    return tuple(item.target.name for item in bundle.identity if item.unique and item.expected not in compared)


def unprotected_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    """The origins that are reached over a network without TLS."""
    return tuple(text for text in origins if not _is_protected(text))


def _is_protected(text: str) -> bool:
    origin = parse_origin(text)
    return origin is not None and (origin.scheme == "https" or is_loopback(origin.host.strip("[]")))


def where(check: FailedCheck, bundle: Bundle, origins: tuple[str, ...]) -> tuple[str, ...]:
    """Where in a bundle a check fails, for a person at this computer: names out of the bundle, never for an agent."""
    match check:
        case FailedCheck.READ_BACK_INCOMPLETE:
            return identity_not_read_back(bundle)
        case FailedCheck.READ_BACK_TOO_WEAK:
            return (bundle.read_back.minimum.name.lower(),)
        case FailedCheck.SOCKETS_OPEN:
            return bundle.sockets
        case FailedCheck.TRANSPORT_NOT_PROTECTED:
            return unprotected_origins(origins)
        case _:
            return ()
