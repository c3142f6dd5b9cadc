"""Certifications and admissions: what counts, and everything that does not.

Laws:

- A verified record cannot be made but by its verification.
- Whatever is changed in a record, or asked of another bundle, policy, profile or moment than it says, does not count.
- A moment that cannot be told, that lies before the admission or not before its end is too late.
"""

import copy
import hashlib
import importlib
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
    USUAL_DAYS,
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
from surehand.core.signature import Forgery, authentic, canonical_json, key_id, public_key, sign, signed_form
from surehand.core.workflow.policy import Profile, RecordProblem, is_at_least

#: The library bears no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

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


class TestWhatWasSignedOnceIsReadForEver:
    """The form of a record never changes: what is pinned here was signed by an earlier version."""

    def test_an_admission(self) -> None:
        assert (
            "e4fc4a798fc5066500ffad46be658b8f32ce0e26af73a80824fd6120345daf59"
            == hashlib.sha256(record_text(ADMITTED)).hexdigest()
        )

    def test_a_certification(self) -> None:
        assert (
            "b0f9cd03790247f2c34dcb57eb3aade35768ed9af8da799dcba95ff1b6ebb9a5"
            == hashlib.sha256(record_text(CERTIFIED)).hexdigest()
        )

    def test_a_record_is_ascii(self) -> None:
        record = sign_record(evolve(ADMITTED, account="ädä"), SECRET)

        assert record_text(record).isascii()
        assert record == admission(record_text(record))

    def test_canonical_json(self) -> None:
        assert '{"a":[1,true],"b":"ä"}' == canonical_json({"b": "ä", "a": [1, True]})
        with pytest.raises(ValueError, match="JSON"):
            canonical_json(float("nan"))

    def test_limits(self) -> None:
        assert (86_400, 366, 90, 4096) == (DAY_SECONDS, LONGEST_DAYS, USUAL_DAYS, LARGEST_RECORD)

    @pytest.mark.parametrize(
        "members",
        [
            {"account": ""},
            {"account": "a b"},
            {"account": "a\x1b"},
            {"account": "a" * 121},
            {"admitted_at": -1},
            {"expires_at": (1 << 40) + 1},
        ],
    )
    def test_a_member_beyond_its_limits(self, members: dict[str, Any]) -> None:
        assert RecordProblem.UNREADABLE is admission(signed(**members))

    @pytest.mark.parametrize(("version", "read"), [(0, False), (1, True), (1_000_000, True), (1_000_001, False)])
    def test_versions_of_a_policy(self, version: int, read: bool) -> None:
        content = record_text(sign_record(evolve(CERTIFIED, policy_version=version), SECRET))

        assert read is isinstance(open_record(content, CertificationRecord, KEY), Success)

    def test_the_longest_time(self) -> None:
        longest = START + LONGEST_DAYS * DAY_SECONDS

        assert isinstance(admission(signed(expires_at=longest)), AdmissionRecord)

    def test_the_latest_time_that_can_be_said(self) -> None:
        assert isinstance(open_record(signed(expires_at=1 << 40), AdmissionRecord, KEY), Success)


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

    def test_the_question(self) -> None:
        assert (
            "Admit the workflow add_order, version bbbbbbbbbbbb, under the policy permissive and the profile standard, "
            "for 90 days? It was certified; `surehand bundle show` tells every step of it."
        ) == form_message("add_order", BUNDLE, "permissive", "standard", 90)

    def test_the_answer_is_one_box(self) -> None:
        validator = jsonschema.Draft202012Validator(FORM_SCHEMA)

        assert [True, False, False, False] == [
            validator.is_valid(answer) for answer in ({"confirm": True}, {}, {"confirm": "yes"}, [True])
        ]
        (box,) = FORM_SCHEMA["properties"].values()  # type: ignore[attr-defined]  # a schema is data
        assert ("Admit this workflow", True) == (box["title"], "until the admission ends" in box["description"])
