"""What was certified and admitted on a machine, and the gate that asks it before every run.

Laws:

- A run passes only while the very bundle, policy and profile are certified and admitted, by both clocks.
- A revocation holds at once; whatever cannot be read does not count.
- The gate makes nothing, and what is not in order cannot be admitted.
"""

import stat
from pathlib import Path

import pytest
from attrs import define, evolve

from support.own_bundle import LESS, OTHER, OWN, PASSPHRASE
from surehand.core.admission.record import DAY_SECONDS
from surehand.core.outcome.result import FailedCheck, Mode
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.policy import (
    POLICIES,
    InForce,
    Policy,
    Profile,
    RecordProblem,
    Requirements,
    failed_checks,
    policy_digest,
)
from surehand.shell.admission import (
    ADMITTED,
    CERTIFIED,
    NotConfirmedError,
    NotInOrderError,
    Proposal,
    Registry,
    admission_form,
    judged,
)
from surehand.shell.bundles import BundleFolder, BundleKey, load_bundle, seal_bundle, write_bundle
from surehand.shell.identity import MACHINE_KEY_FILE, DamagedKeyError, find_machine_key, machine_key, os_account

CLINICAL = POLICIES["clinical-write"]
PERMISSIVE = POLICIES["permissive"]
START = 1_800_000_000


@define
class SetClock:
    """Two clocks that stand where they are put."""

    wall: int = START
    steady: float = 100.0

    def now(self) -> int:
        """Seconds since the epoch."""
        return self.wall

    def monotonic(self) -> float:
        """Seconds of the steady clock."""
        return self.steady

    def sleep(self, seconds: float) -> None:
        """Let time pass on both."""
        self.wall += int(seconds)
        self.steady += seconds


@define
class Place:
    """An installation of its own."""

    root: Path
    clock: SetClock

    @property
    def keys(self) -> Path:
        """Where the machine's key lies."""
        return self.root / "keys"

    @property
    def records(self) -> Path:
        """Where the records lie."""
        return self.root / "state" / "admission"

    def registry(self) -> Registry:
        """The registry, as a process opens it now."""
        return Registry(self.root / "state", self.keys, self.clock)

    def bundle(self, bundle: Bundle = OWN, name: str = "own") -> BundleFolder:
        """A bundle on disk."""
        return write_bundle(self.root / name, bundle, machine_folder=self.keys)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An installation on which nothing was done yet."""
    return Place(tmp_path, SetClock())


def admitted(place: Place, policy: Policy = CLINICAL, profile: Profile = Profile.STANDARD) -> BundleFolder:
    """A bundle that is certified and admitted."""
    folder, registry = place.bundle(), place.registry()
    registry.certify(folder, policy)
    registry.admit(Proposal(folder=folder, policy=policy, profile=profile))
    return folder


def fails(
    registry: Registry, folder: BundleFolder, policy: Policy = CLINICAL, profile: Profile = Profile.STANDARD
) -> tuple[FailedCheck, ...]:
    """What fails in production."""
    return registry.gate(folder, Mode.PRODUCTION, policy, profile)()


class TestTheGate:
    """A run passes only while everything that was asked for is there."""

    def test_nothing_was_done_yet(self, place: Place) -> None:
        folder = place.bundle()

        assert (FailedCheck.NOT_CERTIFIED, FailedCheck.NOT_ADMITTED) == fails(place.registry(), folder)
        assert [] == [each for each in (place.keys, place.records) if each.exists()]

    def test_certified_only(self, place: Place) -> None:
        folder, registry = place.bundle(), place.registry()
        registry.certify(folder, CLINICAL)

        assert (FailedCheck.NOT_ADMITTED,) == fails(registry, folder)

    def test_certified_and_admitted(self, place: Place) -> None:
        folder = admitted(place)

        assert () == fails(place.registry(), folder)

    def test_another_bundle_policy_or_profile(self, place: Place) -> None:
        folder, both = admitted(place), (FailedCheck.NOT_CERTIFIED, FailedCheck.NOT_ADMITTED)
        sealed = seal_bundle(folder.path, machine_key(place.keys), key=BundleKey(PASSPHRASE), machine_folder=place.keys)

        assert both == fails(place.registry(), place.bundle(OTHER, "other"))
        assert both == fails(place.registry(), folder, PERMISSIVE)
        assert (FailedCheck.NOT_ADMITTED,) == fails(place.registry(), sealed, CLINICAL, Profile.REGULATED)
        assert () == fails(place.registry(), sealed)

    def test_demo_is_for_the_sandbox(self, place: Place) -> None:
        registry, folder = place.registry(), place.bundle()

        assert (FailedCheck.SANDBOX_ONLY,) == fails(registry, folder, PERMISSIVE, Profile.DEMO)
        assert () == registry.gate(folder, Mode.SANDBOX, PERMISSIVE, Profile.DEMO)()

    def test_a_bundle_that_cannot_be_read(self, place: Place) -> None:
        facts = place.registry().gate_facts(None, Mode.SANDBOX, PERMISSIVE, Profile.DEMO)

        assert (FailedCheck.BUNDLE_UNREADABLE,) == failed_checks(Profile.DEMO, PERMISSIVE, facts)

    def test_the_operator_says_where_the_app_is(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        gate = registry.gate(folder, Mode.PRODUCTION, CLINICAL, Profile.STANDARD, "http://test.example")

        assert (FailedCheck.TRANSPORT_NOT_PROTECTED,) == gate()

    def test_regulated(self, place: Place) -> None:
        folder, registry = place.bundle(), place.registry()
        key = BundleKey(PASSPHRASE)
        registry.certify(folder, CLINICAL)
        proposal = Proposal(folder=folder, policy=CLINICAL, profile=Profile.REGULATED)
        with pytest.raises(NotInOrderError) as refused:
            registry.admit(proposal)
        assert (FailedCheck.NOT_ENCRYPTED, FailedCheck.NOT_SEALED) == refused.value.checks

        sealed = seal_bundle(folder.path, machine_key(place.keys), key=key, machine_folder=place.keys)
        registry.admit(evolve(proposal, folder=sealed))

        assert () == fails(registry, sealed, CLINICAL, Profile.REGULATED)
        assert () == fails(registry, load_bundle(folder.path, key=key, machine_folder=place.keys))


class TestTime:
    """An admission ends by whichever clock is further, and does not hold before it began."""

    def test_up_to_its_end(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        gate = registry.gate(folder, Mode.PRODUCTION, CLINICAL, Profile.STANDARD)
        place.clock.sleep(90 * DAY_SECONDS - 1)
        assert () == gate()
        place.clock.sleep(1)

        assert (FailedCheck.ADMISSION_EXPIRED,) == gate()

    def test_a_wall_clock_that_is_put_back_prolongs_nothing(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        place.clock.sleep(90 * DAY_SECONDS)
        place.clock.wall = START

        assert (FailedCheck.ADMISSION_EXPIRED,) == fails(registry, folder)
        assert () == fails(place.registry(), folder)  # a process that never saw the later time cannot know

    def test_a_clock_before_the_admission(self, place: Place) -> None:
        folder = admitted(place)
        place.clock.wall = START - 1

        assert (FailedCheck.ADMISSION_EXPIRED,) == fails(place.registry(), folder)


class TestRevoking:
    """Taking an admission back holds at once, for every policy, and for a server that runs already."""

    def test_at_once(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        gate = registry.gate(folder, Mode.PRODUCTION, CLINICAL, Profile.STANDARD)
        registry.certify(folder, PERMISSIVE)
        registry.admit(Proposal(folder=folder, policy=PERMISSIVE))

        assert 2 == place.registry().revoke(folder.digest)
        assert (FailedCheck.ADMISSION_REVOKED,) == gate()
        assert (FailedCheck.ADMISSION_REVOKED,) == fails(registry, folder, PERMISSIVE)
        assert 0 == registry.revoke(folder.digest)

    def test_and_admitting_again(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        registry.revoke(folder.digest)
        registry.admit(Proposal(folder=folder, policy=CLINICAL))

        assert () == fails(registry, folder)

    def test_what_runs_already_goes_on_only_while_some_admission_is_in_force(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        registry.certify(folder, PERMISSIVE)
        registry.admit(Proposal(folder=folder, policy=PERMISSIVE, days=1))
        before = registry.still_admits(folder.digest)
        registry.revoke(folder.digest)
        after = registry.still_admits(folder.digest)
        registry.admit(Proposal(folder=folder, policy=CLINICAL, days=1))
        again = registry.still_admits(folder.digest)
        place.clock.sleep(DAY_SECONDS)

        assert (True, False, True, False) == (before, after, again, registry.still_admits(folder.digest))

    def test_what_was_never_admitted_is_not_asked_about(self, place: Place) -> None:
        assert place.registry().still_admits(place.bundle().digest)

    def test_where_nothing_was_ever_signed(self, place: Place) -> None:
        assert 0 == place.registry().revoke(place.bundle().digest)
        assert not place.keys.exists()

    def test_no_other_bundle(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()

        assert 0 == registry.revoke(place.bundle(OTHER, "other").digest)
        assert () == fails(registry, folder)


class TestWhatCannotBeRead:
    """Damage, other keys and other files in the place of a record count as no record."""

    @pytest.mark.parametrize(("kind", "check"), [(CERTIFIED, "not_certified"), (ADMITTED, "not_admitted")])
    @pytest.mark.parametrize("damage", ["cut", "link", "folder", "large", "swapped"])
    def test_a_record(self, place: Place, kind: str, check: str, damage: str) -> None:
        folder = admitted(place)
        (path,) = (place.records / kind).iterdir()
        content = path.read_bytes()
        path.unlink()
        if damage == "cut":
            path.write_bytes(content[:-5])
        elif damage == "link":
            (place.root / "copy").write_bytes(content)
            path.symlink_to(place.root / "copy")
        elif damage == "folder":
            path.mkdir()
        elif damage == "large":
            path.write_bytes(content + b" " * 10_000)
        else:
            (other,) = (place.records / ({CERTIFIED, ADMITTED} - {kind}).pop()).iterdir()
            path.write_bytes(other.read_bytes())

        assert [check] == [each.value for each in fails(place.registry(), folder)]
        assert (kind == CERTIFIED) is place.registry().still_admits(folder.digest)

    @pytest.mark.parametrize("content", [b"short", bytes(32), None])
    def test_the_machine_s_key(self, place: Place, content: bytes | None) -> None:
        folder = admitted(place)
        path = place.keys / MACHINE_KEY_FILE
        path.unlink()
        if content is not None:
            path.write_bytes(content)

        assert (FailedCheck.NOT_CERTIFIED, FailedCheck.NOT_ADMITTED) == fails(place.registry(), folder)
        assert not place.registry().still_admits(folder.digest)

    def test_a_damaged_key_signs_nothing_and_is_not_replaced(self, place: Place) -> None:
        folder = place.bundle()
        place.keys.mkdir()
        (place.keys / MACHINE_KEY_FILE).write_bytes(b"short")

        with pytest.raises(DamagedKeyError):
            place.registry().certify(folder, CLINICAL)
        assert b"short" == (place.keys / MACHINE_KEY_FILE).read_bytes()


class TestTheMachineKey:
    """It is made once, at the first signature, and kept privately."""

    def test_made_at_the_first_use(self, place: Place) -> None:
        assert find_machine_key(place.keys) is None
        made = machine_key(place.keys)

        assert made == machine_key(place.keys) == find_machine_key(place.keys)
        assert 0o600 == stat.S_IMODE((place.keys / MACHINE_KEY_FILE).stat().st_mode)

    def test_a_link_is_not_followed(self, place: Place) -> None:
        machine_key(place.root / "others")
        place.keys.mkdir()
        (place.keys / MACHINE_KEY_FILE).symlink_to(place.root / "others" / MACHINE_KEY_FILE)

        with pytest.raises(DamagedKeyError):
            find_machine_key(place.keys)


class TestCertifying:
    """A record is kept only of what satisfies the policy."""

    @pytest.mark.parametrize(("check", "bundle"), LESS.items())
    def test_each_shortcoming(self, place: Place, check: str, bundle: Bundle) -> None:
        folder, registry = place.bundle(bundle), place.registry()
        with pytest.raises(NotInOrderError) as refused:
            registry.certify(folder, CLINICAL)

        assert [check] == [each.value for each in refused.value.checks]
        assert [check] == [each.check.value for each in judged(folder, CLINICAL) if each.fails]
        assert not place.records.exists()

    def test_what_is_certified(self, place: Place) -> None:
        folder = place.bundle()
        record = place.registry().certify(folder, CLINICAL).record

        assert (OWN.workflow, folder.digest, policy_digest(CLINICAL), "clinical-write", 1, START) == (
            record.workflow,
            record.bundle,
            record.policy,
            record.policy_name,
            record.policy_version,
            record.certified_at,
        )

    def test_a_policy_can_ask_for_encryption(self, place: Place) -> None:
        strict = Policy(name="strict", version=1, requires=Requirements(encryption=True))

        with pytest.raises(NotInOrderError):
            place.registry().certify(place.bundle(), strict)


class TestAdmitting:
    """A person admits what is in order, and only by an explicit yes."""

    def test_what_is_admitted(self, place: Place) -> None:
        folder, registry = place.bundle(), place.registry()
        registry.certify(folder, CLINICAL)
        record = registry.admit(Proposal(folder=folder, policy=CLINICAL, days=3)).record

        assert (os_account(), START, START + 3 * DAY_SECONDS, Profile.STANDARD, None) == (
            record.account,
            record.admitted_at,
            record.expires_at,
            record.profile,
            record.revoked_at,
        )

    def test_not_without_a_certification(self, place: Place) -> None:
        with pytest.raises(NotInOrderError) as refused:
            place.registry().admit(Proposal(folder=place.bundle(), policy=CLINICAL))

        assert (FailedCheck.NOT_CERTIFIED,) == refused.value.checks
        assert not place.records.exists()

    def test_by_a_form(self, place: Place) -> None:
        folder, registry = place.bundle(), place.registry()
        proposal = Proposal(folder=folder, policy=CLINICAL)
        registry.certify(folder, CLINICAL)
        for action, content in (("decline", {"confirm": True}), ("accept", {"confirm": False}), ("accept", None)):
            with pytest.raises(NotConfirmedError):
                registry.admit_after_form(proposal, action, content)
        assert (FailedCheck.NOT_ADMITTED,) == fails(registry, folder)

        registry.admit_after_form(proposal, "accept", {"confirm": True})

        assert () == fails(registry, folder)
        assert OWN.workflow in admission_form(proposal).message

    def test_the_form_shows_no_word_of_the_app(self, place: Place) -> None:
        form = admission_form(Proposal(folder=place.bundle(), policy=CLINICAL))

        assert [] == [word for word in ("orders.example", "Number", "Save", "customer") if word in form.message]


class TestListing:
    """Every admission is listed as it stands now."""

    def test_each(self, place: Place) -> None:
        folder, registry = admitted(place), place.registry()
        assert [(InForce(), OWN.workflow)] == [
            (each.standing, each.record and each.record.workflow) for each in registry.admissions()
        ]
        registry.revoke(folder.digest)
        assert [RecordProblem.REVOKED] == [each.standing for each in registry.admissions()]

        (place.records / ADMITTED / "stray.json").write_bytes(b"{}")

        assert {RecordProblem.REVOKED, RecordProblem.UNREADABLE} == {each.standing for each in registry.admissions()}

    def test_a_record_under_the_name_of_another_bundle(self, place: Place) -> None:
        admitted(place)
        (path,) = (place.records / ADMITTED).iterdir()
        path.rename(path.with_name(f"{'d' * 64}.{'e' * 64}.json"))

        assert [RecordProblem.OTHER_BUNDLE] == [each.standing for each in place.registry().admissions()]

    def test_nothing(self, place: Place) -> None:
        assert () == place.registry().admissions()
