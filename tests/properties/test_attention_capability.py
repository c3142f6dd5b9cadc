"""A capability binds everything that was decided about, and counts for its time only."""

import string
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, fields
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.attention import (
    BOOT_MS,
    BUNDLE,
    EVIDENCE,
    KEY,
    NOW,
    OTHER_KEY,
    OTHER_OWNER,
    OWNER,
    instants,
    issue,
    kept,
    pause,
    pause_id,
)
from support.stores import run_id
from surehand.core.attention.capability import (
    CODE_LENGTH,
    CODE_SIGNS,
    CODE_TRIES,
    DecisionRefusal,
    Instants,
    VerifiedCapability,
    actions_of,
    capability_digest,
    code_of,
    derived_key,
    expiry,
    inputs_digest,
    issue_at,
    same_code,
    same_work,
    seal_of,
    verify,
)
from surehand.core.attention.pause import DECIDE_SECONDS, Action, DeliveryState, Issue, KeptPause, Pause
from surehand.core.outcome.evidence import PauseCategory

#: Another value for every field of a pause, but for its own name.
OTHER_PAUSES: dict[str, Any] = {
    "pause_id": pause_id(2),
    "run_id": run_id(2),
    "workflow": "add_other_note",
    "bundle": "0" * 64,
    "category": PauseCategory.HALT,
    "at": 4,
    "before_save": False,
    "skippable": True,
    "delivery": DeliveryState.UNKNOWN,
    "lineage": (pause_id(9),),
    "inputs": "0" * 64,
    "evidence": "0" * 64,
    "has_baseline": True,
    "has_frame": True,
    "created_at": NOW + 1,
}

#: Another value for every field of an issue.
OTHER_ISSUES: dict[str, Any] = {
    "number": 2,
    "owner": OTHER_OWNER,
    "issued_at": NOW + 1,
    "expires_at": NOW + DECIDE_SECONDS + 1,
    "boot": "another",
    "boot_ms": BOOT_MS + 1,
}

Digest = Callable[[bytes, KeptPause], str]


def unbound(digest: Digest) -> set[str]:
    """The fields whose change the digest does not notice."""
    before = digest(KEY, kept())
    pauses = {name: kept(evolve(pause(), **{name: other})) for name, other in OTHER_PAUSES.items()}
    issues = {name: evolve(issue(), **{name: other}) for name, other in OTHER_ISSUES.items()}
    changed = {**pauses, **{name: _with(other) for name, other in issues.items()}}
    return {name for name, other in changed.items() if digest(KEY, other) == before}


def _with(last: Issue) -> KeptPause:
    issues = tuple(issue(number) for number in range(1, last.number))
    return kept(pause(), *issues, last)


def without_inputs(key: bytes, what: KeptPause) -> str:
    """Wrong on purpose: a digest that does not bind the final inputs."""
    return capability_digest(key, evolve(what, pause=evolve(what.pause, inputs="")))


def without_window(key: bytes, what: KeptPause) -> str:
    """Wrong on purpose: a digest that does not bind who holds the window."""
    return capability_digest(key, evolve(what, issues=tuple(evolve(each, owner=OWNER) for each in what.issues)))


class TestBinding:
    """A capability binds run, pause, version, step, lineage, delivery, inputs, evidence, actions, window and term."""

    def test_every_field_is_tried(self) -> None:
        assert {each.name for each in fields(Pause)} == set(OTHER_PAUSES)
        assert {each.name for each in fields(Issue)} == set(OTHER_ISSUES)

    def test_any_change_makes_another_capability(self) -> None:
        assert set() == unbound(capability_digest)

    @pytest.mark.parametrize(("wrong", "missed"), [(without_inputs, "inputs"), (without_window, "owner")])
    def test_a_digest_that_binds_less_is_caught(self, wrong: Digest, missed: str) -> None:
        assert {missed} == unbound(wrong)

    def test_another_key_makes_another_capability(self) -> None:
        assert capability_digest(KEY, kept()) != capability_digest(OTHER_KEY, kept())

    def test_a_key_has_one_length(self) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            derived_key(KEY[:-1], "capability")

    def test_keys_of_two_purposes_differ(self) -> None:
        assert derived_key(KEY, "code") != derived_key(KEY, "capability")


def answered(what: KeptPause, digest: str, action: Action = Action.CONTINUE, now: Instants | None = None) -> object:
    """The refusal, or ``None`` for a capability that is in order."""
    found = verify(KEY, what, digest, action, now or instants())
    match found:
        case Success(VerifiedCapability(kept=for_pause, action=for_action, digest=presented)):
            assert (what, action, digest) == (for_pause, for_action, presented)
            return None
        case Failure(refusal):
            return refusal
        case _:
            raise AssertionError


#: What this version makes of the pause, the issue and the key of these tests.
DIGESTS: dict[str, str] = {
    "seal": "cf4045b130ddd500d43df54fadfff0495048d363bca41fd79b3f4d5447bfdf63",
    "capability": "b53c163826c63934195a1c3d19cc77ccdf262fc24bf49b22f491c3fe75a0c487",
    "inputs": "063446d79d35989e7c3a7fc3617519df56526528f76d2a9190f20738ed9af43f",
    "key": "ef7b25d19f20a994288fef940ad491f95571db8893722fae6c289a72d49c023c",
    "continue": "8G08HS",
    "skip": "PS2NAQ",
}


class TestEarlierVersions:
    """What was sealed, issued and shown before an update counts after it: no digest and no code changes its making."""

    def test_every_digest_is_made_as_before(self) -> None:
        skippable = kept(pause(skippable=True))

        assert DIGESTS == {
            "seal": seal_of(KEY, pause()),
            "capability": capability_digest(KEY, kept()),
            "inputs": inputs_digest(KEY, "add_triage_note", {"note": "seen at ten"}),
            "key": derived_key(KEY, "evidence").hex(),
            "continue": code_of(KEY, kept(), Action.CONTINUE),
            "skip": code_of(KEY, skippable, Action.SKIP),
        }

    def test_a_refusal_is_told_by_the_name_of_its_member(self) -> None:
        assert [each.name.lower() for each in DecisionRefusal] == [each.value for each in DecisionRefusal]


class TestVerification:
    """What was presented counts for this pause, this action and now, or is refused by a closed code."""

    def test_the_right_one_counts(self) -> None:
        for action in actions_of(kept()):
            assert answered(kept(), capability_digest(KEY, kept()), action) is None

    def test_an_action_outside_of_it_is_refused(self) -> None:
        for action in set(Action) - set(actions_of(kept())):
            assert answered(kept(), capability_digest(KEY, kept()), action) is DecisionRefusal.ACTION_NOT_ALLOWED

    @given(st.text(max_size=80))
    def test_a_malformed_one_is_refused(self, text: str) -> None:
        expected = {DecisionRefusal.CAPABILITY_MALFORMED, DecisionRefusal.CAPABILITY_NOT_OF_ITEM}

        assert answered(kept(), text) in expected

    @given(st.integers(min_value=0, max_value=63))
    def test_a_truncated_one_is_refused(self, length: int) -> None:
        cut = capability_digest(KEY, kept())[:length]

        assert answered(kept(), cut) is DecisionRefusal.CAPABILITY_MALFORMED

    @given(st.integers(min_value=0, max_value=63), st.integers(min_value=1, max_value=15))
    def test_a_forged_one_is_refused(self, place: int, step: int) -> None:
        digest = capability_digest(KEY, kept())
        forged = digest[:place] + f"{(int(digest[place], 16) + step) % 16:x}" + digest[place + 1 :]

        assert answered(kept(), forged) is DecisionRefusal.CAPABILITY_NOT_OF_ITEM

    def test_one_of_another_pause_is_refused(self) -> None:
        other = capability_digest(KEY, kept(pause(2)))

        assert answered(kept(), other) is DecisionRefusal.CAPABILITY_NOT_OF_ITEM

    def test_one_of_another_machine_is_refused(self) -> None:
        other = capability_digest(OTHER_KEY, kept())

        assert answered(kept(), other) is DecisionRefusal.CAPABILITY_NOT_OF_ITEM

    def test_an_older_one_is_refused(self) -> None:
        older = capability_digest(KEY, kept())
        now = kept(pause(), issue(), issue(2, owner=OTHER_OWNER))

        assert answered(now, older) is DecisionRefusal.CAPABILITY_OUTDATED

    @pytest.mark.parametrize("change", [{"bundle": "0" * 64}, {"inputs": "0" * 64}, {"workflow": "other"}])
    def test_a_row_that_was_changed_is_refused(self, change: dict[str, Any]) -> None:
        changed = evolve(kept(), pause=evolve(pause(), **change))

        assert answered(changed, capability_digest(KEY, changed)) is DecisionRefusal.PAUSE_CHANGED

    def test_a_seal_that_is_no_text_is_refused(self) -> None:
        broken = evolve(kept(), seal="\ud800")

        assert answered(broken, capability_digest(KEY, kept())) is DecisionRefusal.PAUSE_CHANGED

    def test_nobody_makes_a_verified_one(self) -> None:
        with pytest.raises(TypeError, match="never made"):
            VerifiedCapability()

    def test_a_pause_without_an_issue_is_none(self) -> None:
        with pytest.raises(ValueError, match="numbered from 1"):
            evolve(kept(), issues=())


def refuses(at: Instants, last: Issue | None = None) -> DecisionRefusal | None:
    """What the clocks say of an issue."""
    return expiry(last or issue(), at)


class TestExpiry:
    """Both clocks have to agree that a capability is not over; at the second of its end it is."""

    @pytest.mark.parametrize(("seconds", "over"), [(-1, False), (0, True), (1, True)])
    def test_by_both_clocks(self, seconds: int, over: bool) -> None:
        expected = DecisionRefusal.CAPABILITY_EXPIRED if over else None

        assert refuses(instants(DECIDE_SECONDS + seconds)) is expected

    @pytest.mark.parametrize(("seconds", "over"), [(-1, False), (0, True), (1, True)])
    def test_by_the_clock_that_runs_since_the_start_alone(self, seconds: int, over: bool) -> None:
        late = instants(5, boot_ms=BOOT_MS + (DECIDE_SECONDS + seconds) * 1000)

        assert refuses(late) is (DecisionRefusal.CAPABILITY_EXPIRED if over else None)

    @pytest.mark.parametrize(("seconds", "over"), [(-1, False), (0, True), (1, True)])
    def test_by_the_clock_that_dates_alone(self, seconds: int, over: bool) -> None:
        late = instants(DECIDE_SECONDS + seconds, boot_ms=BOOT_MS + 1)

        assert refuses(late) is (DecisionRefusal.CAPABILITY_EXPIRED if over else None)

    def test_a_clock_that_was_put_back_is_refused(self) -> None:
        assert refuses(instants(-1, boot_ms=BOOT_MS + 1)) is DecisionRefusal.CLOCK_WENT_BACK
        assert refuses(instants(5, boot_ms=BOOT_MS - 1)) is DecisionRefusal.CLOCK_WENT_BACK

    @given(st.integers(min_value=0, max_value=DECIDE_SECONDS - 1), st.integers(min_value=0, max_value=10**12))
    def test_after_a_new_start_the_clock_that_dates_counts_alone(self, seconds: int, boot_ms: int) -> None:
        assert refuses(instants(seconds, boot="another", boot_ms=boot_ms)) is None

    @given(st.integers(min_value=0, max_value=DECIDE_SECONDS - 1), st.integers(min_value=0, max_value=10**12))
    def test_where_a_start_has_no_name_too(self, seconds: int, boot_ms: int) -> None:
        nameless = issue(boot="")

        assert refuses(instants(seconds, boot="", boot_ms=boot_ms), nameless) is None

    @given(st.integers(min_value=-(10**6), max_value=10**6), st.integers(min_value=-(10**9), max_value=10**9))
    def test_it_counts_only_while_both_clocks_say_so(self, seconds: int, passed_ms: int) -> None:
        within = 0 <= seconds < DECIDE_SECONDS and 0 <= passed_ms < DECIDE_SECONDS * 1000

        assert (refuses(instants(seconds, boot_ms=BOOT_MS + passed_ms)) is None) == within

    def test_verification_asks_the_clocks(self) -> None:
        digest = capability_digest(KEY, kept())

        assert answered(kept(), digest, now=instants(DECIDE_SECONDS)) is DecisionRefusal.CAPABILITY_EXPIRED

    def test_an_issue_begins_now(self) -> None:
        assert issue() == issue_at(instants(0), 1, OWNER, DECIDE_SECONDS)
        assert issue_at(instants(0, now=-5), 1, OWNER, 7).expires_at == 7


#: What was decided about.
WORK = {"note": "seen at ten"}


class TestSameWork:
    """What is performed is what was decided about: the same bundle and the same inputs, or it is refused."""

    def decided_about(self) -> Pause:
        return pause(inputs=inputs_digest(KEY, "add_triage_note", WORK))

    def test_the_same_work_is_performed(self) -> None:
        about = self.decided_about()

        assert Success(about) == same_work(KEY, about, BUNDLE, "add_triage_note", WORK)

    @pytest.mark.parametrize(("bundle", "workflow"), [("0" * 64, "add_triage_note"), (BUNDLE, "other"), ("", "other")])
    def test_another_bundle_is_refused(self, bundle: str, workflow: str) -> None:
        found = same_work(KEY, self.decided_about(), bundle, workflow, WORK)

        assert Failure(DecisionRefusal.BUNDLE_CHANGED) == found

    def test_a_bundle_that_is_not_known_is_refused(self) -> None:
        unknown = evolve(self.decided_about(), bundle="")

        assert Failure(DecisionRefusal.BUNDLE_CHANGED) == same_work(KEY, unknown, "", "add_triage_note", WORK)

    @given(st.dictionaries(st.sampled_from(["note", "other"]), st.text(max_size=5)))
    def test_other_inputs_are_refused(self, inputs: dict[str, str]) -> None:
        found = same_work(KEY, self.decided_about(), BUNDLE, "add_triage_note", inputs)

        assert (Failure(DecisionRefusal.INPUTS_CHANGED) == found) == (inputs != WORK)

    def test_the_seal_of_a_pause_is_keyed(self) -> None:
        assert seal_of(KEY, pause()) != seal_of(OTHER_KEY, pause())
        assert EVIDENCE not in seal_of(KEY, pause())


class TestCode:
    """The code of an action belongs to one capability and one action, and is typed as people type."""

    def test_it_has_six_plain_signs(self) -> None:
        code = code_of(KEY, kept(), Action.CONTINUE)

        assert 6 == CODE_LENGTH == len(code)
        assert set(code) <= set(CODE_SIGNS)

    def test_no_sign_is_taken_for_another(self) -> None:
        assert set(string.digits + string.ascii_uppercase) - set("ILOU") == set(CODE_SIGNS)
        assert 32 == len(CODE_SIGNS)

    def test_a_few_wrong_ones_end_it(self) -> None:
        assert 5 == CODE_TRIES

    def test_it_differs_between_actions_and_issues(self) -> None:
        again = kept(pause(), issue(), issue(2))
        codes = {code_of(KEY, what, action) for what in (kept(), again) for action in (Action.CONTINUE, Action.SKIP)}

        assert 4 == len(codes)

    def test_an_action_outside_of_the_window_has_none(self) -> None:
        with pytest.raises(ValueError, match="live window"):
            code_of(KEY, kept(), Action.REJECT)

    @pytest.mark.parametrize("typed", ["AB10-Z9", "ab10z9", " a b 1 o z 9 ", "ABIOZ9", "ABLOZ9"])
    def test_people_may_type_it_their_way(self, typed: str) -> None:
        assert same_code("AB10Z9", typed)

    def test_what_is_no_text_is_wrong(self) -> None:
        assert not same_code("AB10Z9", "\ud800")

    @given(st.text(max_size=12))
    def test_anything_else_is_wrong(self, typed: str) -> None:
        plain = typed.upper().replace(" ", "").replace("-", "").translate(str.maketrans("OIL", "011"))

        assert same_code("AB10Z9", typed) == (plain == "AB10Z9")
