"""The run gate over the whole finite product of facts, profiles and policies.

Laws:

- Less evidence never lets more pass, and adds to what fails.
- Asking for more never lets more pass: neither a more serious profile nor a stronger policy.
- Every check is reached, and each alone by its own fact.
- Outside the sandbox, ``demo`` passes nothing that ``standard`` refuses.
- The same audit finds gates that are wrong.
"""

from collections.abc import Callable, Iterator
from itertools import chain, product
from math import prod
from typing import Any, Final

import pytest
from attrs import evolve, fields, frozen
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.own_bundle import LESS, OWN
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.result import FailedCheck
from surehand.core.wire import FaultCode, to_wire
from surehand.core.workflow.bundle import Bundle, Effect
from surehand.core.workflow.policy import (
    POLICIES,
    PROFILES,
    BundleFacts,
    GateFacts,
    InForce,
    Policy,
    Profile,
    RecordProblem,
    Requirements,
    Standing,
    bundle_facts,
    failed_checks,
    is_at_least,
    judge_bundle,
    parse_policy,
    policy_digest,
    stronger,
    unprotected_origins,
    where,
)
from surehand.core.workflow.source import DatabaseRecords

Gate = Callable[[Profile, Policy, GateFacts], tuple[FailedCheck, ...]]

#: The strictest policy that can be written within the domain.
STRICTEST: Final = Policy(
    name="strictest",
    version=1,
    requires=Requirements(
        sandbox_only=False,
        certification=True,
        admission=True,
        encryption=True,
        seal=True,
        identity_fields=3,
        unique_identity_fields=2,
        identity_read_back=True,
        read_back=CheckLevel.SYSTEM_OF_RECORD,
        duplicate_guard=True,
        no_sockets=True,
        protected_transport=True,
    ),
)
POLICIES_AUDITED: Final = (*POLICIES.values(), STRICTEST)

STANDINGS: Final[tuple[Standing, ...]] = (InForce(), *RecordProblem)
BOTH: Final = (True, False)

#: Each fact of a bundle with its values, the most evidence first.
OF_BUNDLES: Final[dict[str, tuple[Any, ...]]] = {
    "encryption": BOTH,
    "seal": BOTH,
    "identity_fields": (3, 2, 1),
    "unique_identity_fields": (2, 1, 0),
    "identity_read_back": BOTH,
    "read_back": tuple(reversed(CheckLevel)),
    "duplicate_guard": BOTH,
    "no_sockets": BOTH,
    "protected_transport": BOTH,
}

BEST: Final = BundleFacts(**{name: values[0] for name, values in OF_BUNDLES.items()})
WORST: Final = BundleFacts(**{name: values[-1] for name, values in OF_BUNDLES.items()})

BEST_FACTS: Final = GateFacts(sandbox=True, bundle=BEST, certification=InForce(), admission=InForce())

#: The checks that the gate alone makes.
GATE_CHECKS: Final = tuple(FailedCheck)[list(FailedCheck).index(FailedCheck.SANDBOX_ONLY) :]

#: Of these three one is told, so that less evidence may change which.
TIED: Final = {FailedCheck.NOT_ADMITTED, FailedCheck.ADMISSION_EXPIRED, FailedCheck.ADMISSION_REVOKED}


@frozen
class Slice:
    """A product of facts: each combination by its number, and the numbers of those with less evidence."""

    axes: tuple[tuple[Any, ...], ...]
    make: Callable[..., GateFacts]

    def facts(self) -> list[GateFacts]:
        """Every combination, by number."""
        return [self.make(*each) for each in product(*self.axes)]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every combination beside each with one step less of evidence."""
        size = prod(map(len, self.axes))
        stride = size
        for axis in self.axes:
            stride //= len(axis)
            for number in range(size):
                yield from ((number, number + steps * stride) for steps in _steps(axis, number // stride % len(axis)))


def _steps(axis: tuple[Any, ...], place: int) -> range:
    """How far on an axis the next lesser evidence is: standings that are not in force say nothing of each other."""
    if axis is STANDINGS:
        return range(1, len(axis)) if place == 0 else range(0)
    return range(1, 2) if place + 1 < len(axis) else range(0)


def _of_bundle(sandbox: bool, *bundle: Any) -> GateFacts:  # noqa: ANN401 - each fact has its own type
    offered = BundleFacts(**dict(zip(OF_BUNDLES, bundle, strict=True)))
    return GateFacts(sandbox=sandbox, bundle=offered, certification=InForce(), admission=InForce())


def _around(bundle: BundleFacts | None, sandbox: bool, certified: Standing, admitted: Standing) -> GateFacts:
    return GateFacts(sandbox=sandbox, bundle=bundle, certification=certified, admission=admitted)


#: Every bundle with all records in force, and all records with the best, the worst and no bundle. The gate judges a
#: bundle and what is around it apart (``test_bundle_and_circumstances_are_judged_apart``), so that these are the whole.
SLICES: Final = (
    Slice((BOTH, *OF_BUNDLES.values()), _of_bundle),
    Slice(((BEST, WORST, None), BOTH, STANDINGS, STANDINGS), _around),
)


def violations(
    gate: Gate, slices: tuple[Slice, ...] = SLICES, policies: tuple[Policy, ...] = POLICIES_AUDITED
) -> set[str]:
    """The laws that a gate breaks."""
    found: set[str] = set()
    reached: set[FailedCheck] = set()
    for part, policy in product(slices, policies):
        facts, pairs = part.facts(), list(part.pairs())
        answers = {profile: [gate(profile, policy, each) for each in facts] for profile in Profile}
        for profile, failed in answers.items():
            reached |= set(chain.from_iterable(failed))
            found |= {"less evidence passes" for more, less in pairs if failed[more] and not failed[less]}
            found |= {"less evidence fails less" for more, less in pairs if _fails_less(facts, failed, more, less)}
            found |= {law for each, checks in zip(facts, failed, strict=True) for law in _broken(profile, each, checks)}
        found |= set(_crossed(facts, answers))
        if policy is STRICTEST and any(
            _has_less(each) and not answers[Profile.DEMO][n] for n, each in enumerate(facts)
        ):
            found.add("the policy is not asked")
    return found | {f"{check.value} is never reached" for check in GATE_CHECKS if check not in reached}


def _has_less(facts: GateFacts) -> bool:
    return facts != BEST_FACTS


def _fails_less(facts: list[GateFacts], failed: list[tuple[FailedCheck, ...]], more: int, less: int) -> bool:
    return facts[less].bundle is not None and not {*failed[more]} - TIED <= {*failed[less]}


def _broken(profile: Profile, facts: GateFacts, failed: tuple[FailedCheck, ...]) -> Iterator[str]:
    if len(set(failed)) != len(failed):
        yield "a check fails twice"
    if failed:
        return
    if facts.bundle is None:
        yield "an unreadable bundle passes"
    if profile is Profile.DEMO and not facts.sandbox:
        yield "demo passes outside the sandbox"
    if profile is not Profile.DEMO and not isinstance(facts.admission, InForce):
        yield "a run passes without an admission"
    if profile is not Profile.DEMO and not isinstance(facts.certification, InForce):
        yield "a run passes without a certification"


def _crossed(facts: list[GateFacts], answers: dict[Profile, list[tuple[FailedCheck, ...]]]) -> Iterator[str]:
    """What a profile passes that a less serious one refuses."""
    for each, demo, standard, regulated in zip(facts, *(answers[profile] for profile in Profile), strict=True):
        if not each.sandbox and not demo and standard:
            yield "demo passes what standard refuses"
        if not regulated and standard:
            yield "regulated passes what standard refuses"


def _passes_all(_: Profile, __: Policy, ___: GateFacts) -> tuple[FailedCheck, ...]:
    return ()


def _drops(check: FailedCheck) -> Gate:
    """A gate that forgets one check."""
    return lambda profile, policy, facts: tuple(
        each for each in failed_checks(profile, policy, facts) if each is not check
    )


def _takes_unknown_for_good(profile: Profile, policy: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    return failed_checks(profile, policy, facts if facts.bundle else evolve(facts, bundle=BEST))


def _asks_the_encrypted_for_more(profile: Profile, policy: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    """A gate that asks the encrypted for a guard: with less encryption less fails."""
    failed = failed_checks(profile, policy, facts)
    if facts.bundle is None or facts.bundle.encryption:
        return failed
    return tuple(each for each in failed if each is not FailedCheck.DUPLICATE_GUARD_MISSING)


def _lets_the_demonstration_out(profile: Profile, policy: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    return () if profile is Profile.DEMO and facts.bundle else failed_checks(profile, policy, facts)


def _lets_expired_in(profile: Profile, policy: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    still = evolve(facts, admission=InForce()) if facts.admission is RecordProblem.EXPIRED else facts
    return failed_checks(profile, policy, still)


def _forgets_the_policy(profile: Profile, _: Policy, facts: GateFacts) -> tuple[FailedCheck, ...]:
    return failed_checks(profile, POLICIES["permissive"], facts)


class TestTheAudit:
    """Over every combination the gate refuses what is missing, and less evidence passes nothing more."""

    def test_the_gate_breaks_no_law(self) -> None:
        assert set() == violations(failed_checks)

    @given(
        st.sampled_from(Profile),
        st.sampled_from(POLICIES_AUDITED),
        st.builds(BundleFacts, **{name: st.sampled_from(values) for name, values in OF_BUNDLES.items()}),
        st.booleans(),
        st.sampled_from(STANDINGS),
        st.sampled_from(STANDINGS),
    )
    def test_bundle_and_circumstances_are_judged_apart(  # noqa: PLR0913, PLR0917 - each fact
        self, profile: Profile, policy: Policy, bundle: BundleFacts, sandbox: bool, one: Standing, other: Standing
    ) -> None:
        best_around = GateFacts(sandbox=True, bundle=bundle, certification=InForce(), admission=InForce())
        best_bundle = _around(BEST, sandbox, one, other)

        assert failed_checks(profile, policy, _around(bundle, sandbox, one, other)) == (
            *failed_checks(profile, policy, best_bundle),
            *failed_checks(profile, policy, best_around),
        )

    @pytest.mark.parametrize(
        ("gate", "law"),
        [
            (_passes_all, "an unreadable bundle passes"),
            (_takes_unknown_for_good, "an unreadable bundle passes"),
            (_asks_the_encrypted_for_more, "less evidence fails less"),
            (_lets_the_demonstration_out, "demo passes what standard refuses"),
            (_lets_expired_in, "a run passes without an admission"),
            (_forgets_the_policy, "the policy is not asked"),
        ],
    )
    def test_a_false_gate_is_found(self, gate: Gate, law: str) -> None:
        assert law in violations(gate, policies=(STRICTEST,))

    @pytest.mark.parametrize("check", GATE_CHECKS)
    def test_a_gate_that_forgets_a_check_is_found(self, check: FailedCheck) -> None:
        assert f"{check.value} is never reached" in violations(_drops(check), SLICES[1:], (STRICTEST,))


class TestAskingForMore:
    """Profile and policy only add: together they ask for the stronger of both, and neither can be talked down."""

    @pytest.mark.parametrize("policy", POLICIES_AUDITED)
    @pytest.mark.parametrize("profile", Profile)
    def test_a_policy_never_takes_away_from_a_profile(self, profile: Profile, policy: Policy) -> None:
        alone = POLICIES["permissive"]

        assert all(
            {*failed_checks(profile, alone, each)} <= {*failed_checks(profile, policy, each)}
            for part in SLICES
            for each in part.facts()
        )

    @given(st.data())
    def test_the_stronger_is_a_join(self, data: st.DataObject) -> None:
        one, other, third = (data.draw(REQUIREMENTS) for _ in range(3))

        assert stronger(one, other) == stronger(other, one)
        assert stronger(one, stronger(other, third)) == stronger(stronger(one, other), third)
        assert stronger(one, one) == one == stronger(one, Requirements())

    def test_profiles_are_in_order(self) -> None:
        assert [(True, False, False), (True, True, False), (True, True, True)] == [
            tuple(is_at_least(profile, other) for other in Profile) for profile in Profile
        ]

    def test_regulated_asks_for_all_that_standard_asks_for(self) -> None:
        regulated = PROFILES[Profile.REGULATED]

        assert regulated == stronger(regulated, PROFILES[Profile.STANDARD])


REQUIREMENTS: Final = st.builds(
    Requirements,
    **{
        each.name: st.sampled_from(CheckLevel)
        if each.type is CheckLevel
        else st.booleans()
        if each.type is bool
        else st.integers(0, 20)
        for each in fields(Requirements)
    },
)


class TestWhatABundleOffers:
    """The facts are read off the bundle; each shortcoming fails its own check under ``regulated``, and no other."""

    @pytest.mark.parametrize(("check", "bundle"), LESS.items())
    def test_each_shortcoming_alone(self, check: str, bundle: Bundle) -> None:
        facts = bundle_facts(bundle, encryption=True, seal=True, origins=bundle.origins)
        judged = judge_bundle(PROFILES[Profile.REGULATED], facts)

        assert [check] == [each.check.value for each in judged if each.fails]

    def test_a_bundle_that_lacks_nothing(self) -> None:
        facts = bundle_facts(OWN, encryption=True, seal=True, origins=OWN.origins)

        assert not any(each.fails for each in judge_bundle(PROFILES[Profile.REGULATED], facts))

    def test_a_change_of_a_record_guards_itself(self) -> None:
        read = evolve(OWN.read_back, effect=Effect.UPDATE)
        shown = (evolve(OWN.identity[1], unique=True), evolve(OWN.identity[0], unique=False))
        bundle = evolve(OWN, read_back=read, business_key=(), identity=shown)

        assert bundle_facts(bundle, encryption=False, seal=False, origins=()).duplicate_guard

    def test_a_database_has_no_address_to_name_a_record(self) -> None:
        source = DatabaseRecords("main", "orders", "id", ("number", "size", "customer"))
        bundle = evolve(OWN, read_back=evolve(OWN.read_back, source=source))

        assert bundle_facts(bundle, encryption=False, seal=False, origins=()).identity_read_back

    def test_too_few_identity_fields(self) -> None:
        facts = bundle_facts(OWN, encryption=False, seal=False, origins=())
        judged = judge_bundle(Requirements(identity_fields=3), facts)

        assert [FailedCheck.IDENTITY_TOO_WEAK] == [each.check for each in judged if each.fails]

    @pytest.mark.parametrize(
        ("origins", "protected"),
        [
            ((), False),
            (("https://a.example",), True),
            (("http://a.example",), False),
            (("https://a.example", "http://b.example"), False),
            (("http://127.0.0.1:8000",), True),
            (("http://[::1]:8000",), True),
            (("http://localhost",), True),
            (("http://localhost.example",), False),
            (("ftp://a.example",), False),
        ],
    )
    def test_transport(self, origins: tuple[str, ...], protected: bool) -> None:
        assert protected is bundle_facts(OWN, encryption=False, seal=False, origins=origins).protected_transport
        assert protected is (bool(origins) and not unprotected_origins(origins))

    @pytest.mark.parametrize(
        ("check", "place"),
        [
            ("read_back_incomplete", ("customer",)),
            ("read_back_too_weak", ("same_page",)),
            ("sockets_open", ("/live",)),
            ("transport_not_protected", ("http://orders.example",)),
            ("duplicate_guard_missing", ()),
        ],
    )
    def test_where_it_fails(self, check: str, place: tuple[str, ...]) -> None:
        bundle = LESS[check]

        assert place == where(FailedCheck(check), bundle, bundle.origins)


#: What each profile, and each policy with a name, asks for; whatever is not named is not asked for.
STANDARD: Final = {"certification", "admission", "identity_fields", "unique_identity_fields", "read_back"}
CLINICAL: Final = {
    *("identity_fields", "unique_identity_fields", "identity_read_back", "read_back"),
    *("duplicate_guard", "no_sockets", "protected_transport"),
}
REGULATED: Final = STANDARD | CLINICAL | {"encryption", "seal"}


def asked_for(requires: Requirements) -> set[str]:
    """The names of what is asked for."""
    nothing = Requirements()
    return {each.name for each in fields(Requirements) if getattr(requires, each.name) != getattr(nothing, each.name)}


class TestWhatEachProfileAsksFor:
    """A profile asks for no less than it says, and for a check that is as independent as it says."""

    def test_each_of_them(self) -> None:
        assert {
            Profile.DEMO: {"sandbox_only"},
            Profile.STANDARD: STANDARD,
            Profile.REGULATED: REGULATED,
        } == {profile: asked_for(requires) for profile, requires in PROFILES.items()}
        assert {"permissive": set[str](), "clinical-write": CLINICAL} == {
            name: asked_for(policy.requires) for name, policy in POLICIES.items()
        }

    def test_how_much_of_it(self) -> None:
        asking = [PROFILES[Profile.STANDARD], PROFILES[Profile.REGULATED], POLICIES["clinical-write"].requires]

        assert [(2, 1)] * 3 == [(each.identity_fields, each.unique_identity_fields) for each in asking]
        assert [CheckLevel.REOPENED, CheckLevel.SEPARATE_SESSION, CheckLevel.SEPARATE_SESSION] == [
            each.read_back for each in asking
        ]
        assert [(name, 1) for name in POLICIES] == [(each.name, each.version) for each in POLICIES.values()]
        assert [each.name.lower() for each in Profile] == [each.value for each in Profile]


class TestPolicies:
    """A policy is read strictly, and another text is another policy."""

    @pytest.mark.parametrize("policy", POLICIES_AUDITED)
    def test_what_was_written_is_read_again(self, policy: Policy) -> None:
        assert Success(policy) == parse_policy(to_wire(policy))

    def test_a_member_that_is_not_known_is_refused(self) -> None:
        read = parse_policy({**to_wire(STRICTEST), "requires": {"admision": True}})

        assert isinstance(read, Failure)
        assert [FaultCode.UNKNOWN_MEMBER] == [fault.code for fault in read.failure()]

    @pytest.mark.parametrize(
        ("member", "limits"),
        [("name", ("a", "a" * 40)), ("version", (1, 1_000_000))],
    )
    def test_up_to_its_limits(self, member: str, limits: tuple[Any, Any]) -> None:
        assert [True, True] == [_reads({member: value}) for value in limits]

    @pytest.mark.parametrize(
        "members",
        [
            {"name": ""},
            {"name": "A"},
            {"name": "1a"},
            {"name": "a" * 41},
            {"name": "a b"},
            {"version": 0},
            {"version": 1_000_001},
            {"requires": {"identity_fields": -1}},
            {"requires": {"identity_fields": 21}},
        ],
    )
    def test_not_beyond_them(self, members: dict[str, Any]) -> None:
        assert not _reads(members)
        assert _reads({"requires": {"identity_fields": 20, "unique_identity_fields": 0}})

    def test_digests_differ(self) -> None:
        others = [evolve(STRICTEST, version=2), evolve(STRICTEST, name="other"), *POLICIES_AUDITED]

        assert len(others) == len({policy_digest(policy) for policy in others})


def _reads(members: dict[str, Any]) -> bool:
    """Whether the strictest policy is still one with these members in the place of its own."""
    return isinstance(parse_policy({**to_wire(STRICTEST), **members}), Success)
