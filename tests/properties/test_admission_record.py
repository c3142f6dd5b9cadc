"""Certifications and admissions: what counts, and everything that does not.

Laws:

- A verified record cannot be made but by its verification.
- Whatever is changed in a record, or asked of another bundle, policy, profile or moment than it says, does not count.
- A moment that cannot be told, that lies before the admission or not before its end is too late.
"""

import copy
import json
import pickle
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.own_bundle import SECRET
from surehand.core.admission.form import FORM_SCHEMA, form_message, is_confirmed
from surehand.core.admission.record import (
    DAY_SECONDS,
    LARGEST_RECORD,
    LONGEST_DAYS,
    Admission,
    AdmissionRecord,
    Certification,
    CertificationRecord,
    is_current,
    open_record,
    record_text,
    sign_record,
    verify_admission,
    verify_certification,
)
from surehand.core.signature import Forgery, authentic, key_id, public_key, sign, signed_form
from surehand.core.workflow.policy import Profile, RecordProblem, is_at_least

KEY: Final = public_key(SECRET)
OTHER_SECRET: Final = bytes(32)
BUNDLE: Final = "b" * 64
POLICY: Final = "c" * 64
START: Final = 1_800_000_000
END: Final = START + 90 * DAY_SECONDS

ADMITTED: Final = sign_record(
    AdmissionRecord(
        workflow="add_order",
        bundle=BUNDLE,
        policy=POLICY,
        profile=Profile.STANDARD,
        key="",
        account="ada",
        admitted_at=START,
        expires_at=END,
        signature="",
    ),
    SECRET,
)
CERTIFIED: Final = sign_record(
    CertificationRecord(
        workflow="add_order",
        bundle=BUNDLE,
        policy=POLICY,
        policy_name="permissive",
        policy_version=1,
        key="",
        certified_at=START,
        signature="",
    ),
    SECRET,
)


def admission(  # noqa: PLR0913 - everything that an admission is held to
    content: bytes | None = None,
    key: bytes | None = KEY,
    *,
    bundle: str = BUNDLE,
    policy: str = POLICY,
    profile: Profile = Profile.STANDARD,
    now: int | None = START,
) -> object:
    """The record of the admission, or its problem."""
    text = record_text(ADMITTED) if content is None else content
    found = verify_admission(text, key, bundle=bundle, policy=policy, profile=profile, now=now)
    return found.unwrap().record if isinstance(found, Success) else found.failure()


def signed(**members: Any) -> bytes:  # noqa: ANN401 - each member has its own type
    """An admission that says something else, signed by this machine."""
    return record_text(sign_record(evolve(ADMITTED, **members), SECRET))


class TestOnlyVerificationMakesOne:
    """Holding an admission is the proof of its verification."""

    @pytest.mark.parametrize("cls", [Admission, Certification])
    def test_the_constructor_refuses(self, cls: Any) -> None:  # noqa: ANN401 - both kinds
        with pytest.raises(TypeError):
            cls()
        with pytest.raises(TypeError):
            cls(ADMITTED)

    def test_a_verified_one_cannot_be_turned_into_another(self) -> None:
        verified = verify_admission(
            record_text(ADMITTED), KEY, bundle=BUNDLE, policy=POLICY, profile=Profile.STANDARD, now=START
        ).unwrap()

        with pytest.raises(TypeError):
            evolve(verified, record=evolve(ADMITTED, bundle="d" * 64))  # type: ignore[call-arg]  # as below
        with pytest.raises(AttributeError):
            verified.record = evolve(ADMITTED, bundle="d" * 64)  # type: ignore[misc]  # that it cannot be set is the point

    def test_a_copy_says_the_same(self) -> None:
        verified = verify_certification(record_text(CERTIFIED), KEY, bundle=BUNDLE, policy=POLICY).unwrap()

        assert CERTIFIED == copy.copy(verified).record == pickle.loads(pickle.dumps(verified)).record  # noqa: S301 - our own


class TestWhatCounts:
    """A record counts on the machine that signed it, for exactly what it says."""

    def test_an_admission(self) -> None:
        assert ADMITTED == admission()

    def test_a_certification(self) -> None:
        found = verify_certification(record_text(CERTIFIED), KEY, bundle=BUNDLE, policy=POLICY)

        assert CERTIFIED == found.unwrap().record

    @pytest.mark.parametrize("asked", Profile)
    @pytest.mark.parametrize("given", Profile)
    def test_a_more_serious_profile_covers_a_less_serious_one(self, given: Profile, asked: Profile) -> None:
        found = admission(signed(profile=given), profile=asked)

        assert is_at_least(given, asked) is (found is not RecordProblem.WEAKER_PROFILE)


class TestWhatDoesNotCount:
    """Each way of not counting has its name; none counts."""

    @pytest.mark.parametrize(
        ("asked", "problem"),
        [
            ({"bundle": "d" * 64}, RecordProblem.OTHER_BUNDLE),
            ({"policy": "d" * 64}, RecordProblem.OTHER_POLICY),
            ({"profile": Profile.REGULATED}, RecordProblem.WEAKER_PROFILE),
            ({"now": START - 1}, RecordProblem.EXPIRED),
            ({"now": END}, RecordProblem.EXPIRED),
            ({"now": -1}, RecordProblem.EXPIRED),
            ({"now": None}, RecordProblem.EXPIRED),
            ({"key": None}, RecordProblem.NOT_SIGNED_HERE),
            ({"key": public_key(OTHER_SECRET)}, RecordProblem.NOT_SIGNED_HERE),
            ({"content": b""}, RecordProblem.UNREADABLE),
            ({"content": b"[]"}, RecordProblem.UNREADABLE),
            ({"content": b"\xff"}, RecordProblem.UNREADABLE),
            ({"content": b"[" * LARGEST_RECORD}, RecordProblem.UNREADABLE),
            ({"content": record_text(CERTIFIED)}, RecordProblem.UNREADABLE),
            ({"content": record_text(ADMITTED) + b" " * LARGEST_RECORD}, RecordProblem.UNREADABLE),
            ({"content": signed(revoked_at=START)}, RecordProblem.REVOKED),
            ({"content": signed(expires_at=START)}, RecordProblem.EXPIRED),
            ({"content": signed(expires_at=START - 1)}, RecordProblem.EXPIRED),
            ({"content": signed(expires_at=START + LONGEST_DAYS * DAY_SECONDS + 1)}, RecordProblem.EXPIRED),
            ({"content": signed(admitted_at=END - 1), "now": START}, RecordProblem.EXPIRED),
        ],
    )
    def test_an_admission(self, asked: dict[str, Any], problem: RecordProblem) -> None:
        assert problem is admission(**asked)

    def test_one_that_is_missing(self) -> None:
        assert Failure(RecordProblem.MISSING) == open_record(None, AdmissionRecord, KEY)
        assert Failure(RecordProblem.MISSING) == verify_certification(None, KEY, bundle=BUNDLE, policy=POLICY)

    @pytest.mark.parametrize(
        ("bundle", "policy", "problem"),
        [("d" * 64, POLICY, RecordProblem.OTHER_BUNDLE), (BUNDLE, "d" * 64, RecordProblem.OTHER_POLICY)],
    )
    def test_a_certification(self, bundle: str, policy: str, problem: RecordProblem) -> None:
        found = verify_certification(record_text(CERTIFIED), KEY, bundle=bundle, policy=policy)

        assert Failure(problem) == found

    def test_each_byte_flipped(self) -> None:
        admitted, certified = record_text(ADMITTED), record_text(CERTIFIED)

        assert {True} == {isinstance(open_record(each, AdmissionRecord, KEY), Failure) for each in _flipped(admitted)}
        assert {True} == {
            isinstance(open_record(each, CertificationRecord, KEY), Failure) for each in _flipped(certified)
        }

    @given(
        st.sampled_from(["workflow", "bundle", "policy", "profile", "account", "admitted_at", "expires_at"]), st.data()
    )
    def test_each_member_changed_without_the_key(self, name: str, data: st.DataObject) -> None:
        other: dict[str, Any] = {
            "workflow": "add_ordes",
            "bundle": "d" * 64,
            "policy": "d" * 64,
            "profile": Profile.REGULATED,
            "account": "bob",
            "admitted_at": data.draw(st.integers(0, START - 1)),
            "expires_at": data.draw(st.integers(END + 1, 1 << 40)),
        }
        changed = evolve(ADMITTED, **{name: other[name]})

        assert RecordProblem.NOT_SIGNED_HERE is admission(record_text(changed))

    def test_a_revocation_taken_out_without_the_key(self) -> None:
        revoked = sign_record(evolve(ADMITTED, revoked_at=START), SECRET)

        assert RecordProblem.NOT_SIGNED_HERE is admission(record_text(evolve(revoked, revoked_at=None)))

    def test_our_name_under_another_key(self) -> None:
        theirs = sign_record(ADMITTED, OTHER_SECRET)

        assert RecordProblem.NOT_SIGNED_HERE is admission(record_text(evolve(theirs, key=key_id(KEY))))

    def test_a_member_more_or_laid_out_otherwise(self) -> None:
        data = json.loads(record_text(ADMITTED))

        assert RecordProblem.UNREADABLE is admission(json.dumps({**data, "note": "x"}).encode())
        assert RecordProblem.UNREADABLE is admission(json.dumps(data).encode())


def _flipped(content: bytes) -> Iterator[bytes]:
    """The content with each of its bytes changed, in one bit and in another."""
    for place, bit in product(range(len(content)), (1, 32)):
        yield content[:place] + bytes((content[place] ^ bit,)) + content[place + 1 :]


class TestTime:
    """An admission holds from its beginning up to its end, and not a second longer, by whatever clock."""

    @given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.none() | st.integers(-(1 << 41), 1 << 41))
    def test_within_and_without(self, start: int, end: int, now: int | None) -> None:
        record = evolve(ADMITTED, admitted_at=start, expires_at=end)
        short_enough = end - start <= LONGEST_DAYS * DAY_SECONDS

        assert is_current(record, now) is (now is not None and start <= now < end and short_enough)

    @given(st.integers(START - 10, START + 10) | st.integers(END - 10, END + 10))
    def test_at_the_edges(self, now: int) -> None:
        assert (admission(now=now) == ADMITTED) is (START <= now < END)


class TestForms:
    """One form for each record: kinds and members cannot be mistaken for each other."""

    MEMBERS: Final = st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.integers(), max_size=3)

    @given(st.text(max_size=4), MEMBERS, st.text(max_size=4), MEMBERS)
    def test_equal_forms_are_of_equal_records(
        self, kind: str, members: dict[str, object], other_kind: str, others: dict[str, object]
    ) -> None:
        same = (kind, members) == (other_kind, others)

        assert same is (signed_form(kind, members) == signed_form(other_kind, others))

    @given(MEMBERS)
    def test_the_order_of_members_says_nothing(self, members: dict[str, object]) -> None:
        assert signed_form("kind", members) == signed_form("kind", dict(reversed(members.items())))

    def test_a_signature_is_worth_nothing_under_another_kind(self) -> None:
        form, other = (signed_form(kind, {"bundle": BUNDLE}) for kind in ("one", "other"))

        assert Success(form) == authentic(KEY, form, sign(SECRET, form))
        assert Failure(Forgery.FORGED) == authentic(KEY, other, sign(SECRET, form))

    def test_keys_have_names_of_their_own(self) -> None:
        assert key_id(KEY) != key_id(public_key(OTHER_SECRET))


class TestTheForm:
    """Only a person's acceptance with the box ticked admits."""

    @pytest.mark.parametrize(
        ("action", "content"),
        [
            ("decline", {"confirm": True}),
            ("cancel", None),
            ("accept", None),
            ("accept", {}),
            ("accept", {"confirm": False}),
            ("accept", {"confirm": "true"}),
            ("accept", {"confirm": 1}),
            ("accept", {"confirm": True, "days": 1}),
            ("accept", [True]),
            ("Accept", {"confirm": True}),
        ],
    )
    def test_anything_else_does_not(self, action: str, content: object) -> None:
        assert not is_confirmed(action, content)

    def test_this_does(self) -> None:
        assert is_confirmed("accept", {"confirm": True})

    def test_the_question_names_what_is_admitted(self) -> None:
        message = form_message("add_order", BUNDLE, "permissive", "standard", 90)

        assert all(word in message for word in ("add_order", BUNDLE[:12], "permissive", "standard", "90"))
        assert ["confirm"] == FORM_SCHEMA["required"]
