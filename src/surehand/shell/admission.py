"""The records of certification and admission on this machine, and the gate that every run passes.

Laws of this module:

- Records lie in the state folder, one for each bundle and policy; the key that signs them in the configuration folder.
- The gate reads them again at every run, so that a revocation holds at once. It makes nothing, no key either.
- Time is the later of two clocks: a wall clock that is put back while a server runs prolongs no admission.
- Whoever admits has seen what is admitted; nothing that is not in order can be admitted.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from returns.result import Failure, Success

from surehand.core.admission.form import FORM_SCHEMA, form_message, is_confirmed
from surehand.core.admission.record import (
    DAY_SECONDS,
    LARGEST_RECORD,
    USUAL_DAYS,
    Admission,
    AdmissionRecord,
    Certification,
    CertificationRecord,
    open_record,
    record_text,
    sign_record,
    verify_admission,
    verify_certification,
)
from surehand.core.outcome.result import FailedCheck, Mode
from surehand.core.signature import public_key
from surehand.core.workflow.manifest import SealState
from surehand.core.workflow.policy import (
    BundleFacts,
    GateFacts,
    InForce,
    Judgment,
    Policy,
    Profile,
    RecordProblem,
    Standing,
    bundle_facts,
    failed_checks,
    judge_bundle,
    policy_digest,
)
from surehand.shell.bundles import BundleFolder
from surehand.shell.clock import SYSTEM_CLOCK, Clock
from surehand.shell.files import UnsafeFileError, private_folder, read_start, write_durably
from surehand.shell.identity import DamagedKeyError, find_machine_key, machine_key, os_account

CERTIFIED: Final = "certified"
ADMITTED: Final = "admitted"


class NotInOrderError(Exception):
    """Something that had to be in order is not; ``checks`` names it."""

    def __init__(self, checks: tuple[FailedCheck, ...]) -> None:
        super().__init__(*(check.value for check in checks))
        self.checks = checks


class NotConfirmedError(Exception):
    """The person did not confirm: nothing was admitted."""


@frozen(kw_only=True)
class Proposal:
    """What a person is asked to admit."""

    folder: BundleFolder
    policy: Policy
    profile: Profile = Profile.STANDARD
    days: int = USUAL_DAYS
    origin: str | None = None


@frozen
class Listed:
    """An admission as it stands now; a file that is no record of this machine has none."""

    record: AdmissionRecord | None
    standing: Standing


@frozen
class Form:
    """What a client shows a person: a question, and the schema of the answer."""

    message: str
    schema: dict[str, object]


class Registry:
    """The records of one installation.

    Args:
        state_folder: Where the state lies.
        machine_folder: Where this machine's signing key lies; default: the user's configuration folder.
        clock: The clocks.
    """

    def __init__(self, state_folder: Path, machine_folder: Path | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self._folder: Final = state_folder / "admission"
        self._machine_folder: Final = machine_folder
        self._clock: Final = clock
        self._started: Final = clock.now(), clock.monotonic()

    def now(self) -> int:
        """Seconds since the epoch, by the clock that is further."""
        wall, monotonic = self._started
        return max(self._clock.now(), wall + int(self._clock.monotonic() - monotonic))

    def certify(self, folder: BundleFolder, policy: Policy, origin: str | None = None) -> Certification:
        """Keep a signed record that the bundle satisfies the policy.

        Raises:
            NotInOrderError: It does not.
            DamagedKeyError: This machine's key is damaged.
            UnsafeFileError: Something else stands in the way of key or record.
            OSError: The file system refuses.
        """
        failed = tuple(each.check for each in judged(folder, policy, origin) if each.fails)
        if failed:
            raise NotInOrderError(failed)
        secret = machine_key(self._machine_folder)
        record = CertificationRecord(
            workflow=folder.bundle.workflow,
            bundle=folder.digest,
            policy=policy_digest(policy),
            policy_name=policy.name,
            policy_version=policy.version,
            key="",
            certified_at=self._clock.now(),
            signature="",
        )
        self._keep(CERTIFIED, record.bundle, record.policy, record_text(sign_record(record, secret)))
        kept = self._read(CERTIFIED, record.bundle, record.policy)
        return verify_certification(kept, public_key(secret), bundle=record.bundle, policy=record.policy).unwrap()

    def checks_before(self, proposal: Proposal) -> tuple[FailedCheck, ...]:
        """What is not in order yet, apart from the admission itself."""
        facts = self.gate_facts(proposal.folder, Mode.PRODUCTION, proposal.policy, proposal.profile, proposal.origin)
        return failed_checks(proposal.profile, proposal.policy, evolve(facts, admission=InForce()))

    def admit(self, proposal: Proposal) -> Admission:
        """Keep a signed record that the person at this machine admitted the bundle. The person was asked before.

        Raises:
            NotInOrderError: Something else is not in order.
            UnknownAccountError: The operating system names no account for this process.
            DamagedKeyError: This machine's key is damaged.
            UnsafeFileError: Something else stands in the way of key or record.
            OSError: The file system refuses.
        """
        failed = self.checks_before(proposal)
        if failed:
            raise NotInOrderError(failed)
        secret, now, policy = machine_key(self._machine_folder), self._clock.now(), policy_digest(proposal.policy)
        record = AdmissionRecord(
            workflow=proposal.folder.bundle.workflow,
            bundle=proposal.folder.digest,
            policy=policy,
            profile=proposal.profile,
            key="",
            account=os_account(),
            admitted_at=now,
            expires_at=now + proposal.days * DAY_SECONDS,
            signature="",
        )
        self._keep(ADMITTED, record.bundle, policy, record_text(sign_record(record, secret)))
        kept, key = self._read(ADMITTED, record.bundle, policy), public_key(secret)
        return verify_admission(
            kept, key, bundle=record.bundle, policy=policy, profile=proposal.profile, now=now
        ).unwrap()

    def admit_after_form(self, proposal: Proposal, action: str, content: object) -> Admission:
        """Admit after a client showed ``admission_form`` to a person.

        Args:
            proposal: What the form asked about.
            action: What the client says the person did.
            content: What the client says the person filled in.

        Raises:
            NotConfirmedError: The person did not accept and confirm.
            NotInOrderError: As for ``admit``, which may raise more.
        """
        if not is_confirmed(action, content):
            raise NotConfirmedError
        return self.admit(proposal)

    def revoke(self, bundle: str) -> int:
        """Revoke every admission of a bundle that is not revoked yet; says how many were.

        Raises:
            DamagedKeyError: This machine's key is damaged.
            OSError: The file system refuses.
        """
        secret = find_machine_key(self._machine_folder)
        if secret is None:
            return 0
        records = [
            each.record for each in self.admissions() if each.record is not None and each.record.bundle == bundle
        ]
        open_ones = [record for record in records if record.revoked_at is None]
        for record in open_ones:
            revoked = sign_record(evolve(record, revoked_at=self._clock.now()), secret)
            self._keep(ADMITTED, record.bundle, record.policy, record_text(revoked))
        return len(open_ones)

    def admissions(self) -> tuple[Listed, ...]:
        """Every admission that was ever given here, as it stands now."""
        return tuple(self._listed())

    def still_admits(self, bundle: str) -> bool:
        """Whether a bundle that runs already may go on: one that was never admitted here, or is so now.

        A file that bears its name and cannot be read, or was not signed by the key of now, says that it was.
        """
        standings = [each.standing for each in self._listed(f"{bundle}.*.json")]
        return not standings or any(isinstance(each, InForce) for each in standings)

    def gate_facts(
        self, folder: BundleFolder | None, mode: Mode, policy: Policy, profile: Profile, origin: str | None = None
    ) -> GateFacts:
        """What is known now about a bundle; ``None`` stands for one that could not be read.

        Args:
            folder: The bundle, judged.
            mode: How the server was started.
            policy: The policy in force.
            profile: The profile in force.
            origin: Where the operator says the app is, if that is not the bundle's word.
        """
        sandbox = mode is Mode.SANDBOX
        if folder is None:
            missing = RecordProblem.MISSING
            return GateFacts(sandbox=sandbox, bundle=None, certification=missing, admission=missing)
        bundle, wanted, key = folder.digest, policy_digest(policy), self._key()
        certified = verify_certification(self._read(CERTIFIED, bundle, wanted), key, bundle=bundle, policy=wanted)
        admitted = verify_admission(
            self._read(ADMITTED, bundle, wanted), key, bundle=bundle, policy=wanted, profile=profile, now=self.now()
        )
        return GateFacts(
            sandbox=sandbox,
            bundle=facts_of(folder, origin),
            certification=InForce() if isinstance(certified, Success) else certified.failure(),
            admission=InForce() if isinstance(admitted, Success) else admitted.failure(),
        )

    def gate(
        self, folder: BundleFolder, mode: Mode, policy: Policy, profile: Profile, origin: str | None = None
    ) -> Callable[[], tuple[FailedCheck, ...]]:
        """The run gate of one bundle, asked before every run."""
        return lambda: failed_checks(profile, policy, self.gate_facts(folder, mode, policy, profile, origin))

    def _key(self) -> bytes | None:
        try:
            secret = find_machine_key(self._machine_folder)
        except DamagedKeyError:
            return None
        return None if secret is None else public_key(secret)

    def _path(self, kind: str, bundle: str, policy: str) -> Path:
        return self._folder / kind / f"{bundle}.{policy}.json"

    def _keep(self, kind: str, bundle: str, policy: str, content: bytes) -> None:
        path = self._path(kind, bundle, policy)
        private_folder(path.parent)
        write_durably(path, content)

    def _read(self, kind: str, bundle: str, policy: str) -> bytes | None:
        return _content(self._path(kind, bundle, policy))

    def _listed(self, names: str = "*.json") -> Iterator[Listed]:
        key, now = self._key(), self.now()
        for path in sorted((self._folder / ADMITTED).glob(names)):
            bundle, _, policy = path.stem.partition(".")
            content = _content(path)
            opened = open_record(content, AdmissionRecord, key)
            if isinstance(opened, Failure):
                yield Listed(None, opened.failure())
                continue
            record = opened.unwrap()
            found = verify_admission(content, key, bundle=bundle, policy=policy, profile=record.profile, now=now)
            yield Listed(record, InForce() if isinstance(found, Success) else found.failure())


def _content(path: Path) -> bytes | None:
    """The content of a record; ``None`` for one that is missing, and nothing for one that cannot be read."""
    try:
        return read_start(path, LARGEST_RECORD + 1)
    except FileNotFoundError:
        return None
    except (OSError, UnsafeFileError):
        return b""


def facts_of(folder: BundleFolder, origin: str | None = None) -> BundleFacts:
    """What a bundle and its folder offer, its app standing where the operator or else the bundle says."""
    return bundle_facts(
        folder.bundle,
        encryption=folder.encrypted,
        seal=folder.seal is SealState.THIS_MACHINE,
        origins=origins_of(folder, origin),
    )


def origins_of(folder: BundleFolder, origin: str | None = None) -> tuple[str, ...]:
    """Where the app is: the operator's word in the place of the bundle's first."""
    return folder.bundle.origins if origin is None else (origin, *folder.bundle.origins[1:])


def judged(folder: BundleFolder, policy: Policy, origin: str | None = None) -> tuple[Judgment, ...]:
    """Every check of the bundle under a policy, asked for or not."""
    return judge_bundle(policy.requires, facts_of(folder, origin))


def admission_form(proposal: Proposal) -> Form:
    """What a client shows a person who is to admit a workflow."""
    bundle, digest = proposal.folder.bundle, proposal.folder.digest
    message = form_message(bundle.workflow, digest, proposal.policy.name, proposal.profile.value, proposal.days)
    return Form(message, FORM_SCHEMA)
