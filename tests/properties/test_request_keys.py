"""Keys and fingerprints of a request."""

import hashlib
import hmac
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from surehand.core.request.keys import (
    NotARequestIdError,
    NotCanonicalError,
    RequestId,
    attempt_key,
    canonical_form,
    fingerprint,
    request_key,
    same_fingerprint,
)

KEY = bytes(range(32))
FIRST = string.ascii_letters + string.digits
texts = st.text(st.characters(exclude_categories=["Cs"]))
inputs = st.dictionaries(texts, texts, max_size=5)
request_ids = st.builds(str.__add__, st.sampled_from(FIRST), st.text(FIRST + "._:-", max_size=199))


class TestRequestId:
    """A request id is 1 to 200 ASCII letters, digits, ``.``, ``_``, ``:`` and ``-``, the first a letter or a digit."""

    @given(request_ids)
    def test_is_kept_as_it_is(self, text: str) -> None:
        assert text == RequestId.parse(text).text

    @given(st.text())
    @example("")
    @example("a" * 201)
    @example("entry-1\n")
    @example("-entry")
    @example("éntry")
    @example("entry 1")
    @example("٣")
    def test_anything_else_is_refused(self, text: str) -> None:
        assume(not (text[:1] in set(FIRST) and set(text) <= set(FIRST + "._:-") and len(text) <= 200))

        with pytest.raises(NotARequestIdError):
            RequestId(text)

    @given(request_ids)
    def test_its_key_is_its_hash(self, text: str) -> None:
        assert hashlib.sha256(text.encode()).hexdigest() == request_key(RequestId(text))

    @given(request_ids, st.integers(min_value=1, max_value=5))
    def test_an_attempt_is_named_by_key_and_number(self, text: str, attempt: int) -> None:
        key = request_key(RequestId(text))

        assert f"{key}:{attempt}" == attempt_key(key, attempt)

    @pytest.mark.parametrize(("key", "attempt"), [("a" * 64, 0), ("a" * 64, 6), ("A" * 64, 1), ("../x", 1), ("", 1)])
    def test_nothing_else_is_an_attempt(self, key: str, attempt: int) -> None:
        with pytest.raises(ValueError, match="attempt"):
            attempt_key(key, attempt)


class TestCanonicalForm:
    """Two requests have one form only when workflow, input names and input texts agree character by character."""

    @given(texts, inputs, st.data())
    def test_does_not_depend_on_the_order_of_inputs(
        self, workflow: str, values: dict[str, str], data: st.DataObject
    ) -> None:
        shuffled = dict(data.draw(st.permutations(list(values.items()))))

        assert canonical_form(workflow, values) == canonical_form(workflow, shuffled)

    def test_never_changes_since_what_is_stored_was_made_with_it(self) -> None:
        form = canonical_form("add_note", {"note": "é", "case": "normal"})

        assert '["surehand.request/v1","add_note",{"case":"normal","note":"é"}]'.encode() == form

    @given(st.tuples(texts, inputs), st.tuples(texts, inputs))
    @example(("w", {"note": "é"}), ("w", {"note": "e\u0301"}))
    @example(("w", {"note": "1"}), ("w", {"note": "1.0"}))
    @example(("w", {"a": "b"}), ("w", {"a": "b", "c": ""}))
    @example(("w", {"note": "\\ud83d\\ude00"}), ("w", {"note": "😀"}))
    @example(("w", {"note": "a\r\n"}), ("w", {"note": "a\n"}))
    def test_differs_when_the_requests_differ(
        self, one: tuple[str, dict[str, str]], other: tuple[str, dict[str, str]]
    ) -> None:
        assert (one == other) == (canonical_form(*one) == canonical_form(*other))

    @given(st.characters(categories=["Cs"]), texts, texts)
    def test_a_lone_surrogate_is_refused_by_type(self, surrogate: str, before: str, after: str) -> None:
        broken = before + surrogate + after
        for workflow, values in ((broken, {}), ("w", {broken: "v"}), ("w", {"note": broken})):
            with pytest.raises(NotCanonicalError) as caught:
                canonical_form(workflow, values)

            assert "a request is Unicode text" == str(caught.value)
            assert caught.value.__context__ is None

    @pytest.mark.parametrize("value", [1, 1.0, True, None, float("nan"), [], {}, b"x"])
    def test_what_is_not_text_is_refused(self, value: object) -> None:
        values: dict[str, object] = {"note": value}

        with pytest.raises(NotCanonicalError):
            canonical_form("w", values)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class TestFingerprint:
    """The fingerprint is the HMAC-SHA256 of the canonical form under the installation's own secret."""

    @given(texts, inputs)
    def test_is_the_keyed_hash_of_the_form(self, workflow: str, values: dict[str, str]) -> None:
        expected = hmac.digest(KEY, canonical_form(workflow, values), "sha256").hex()

        assert expected == fingerprint(KEY, workflow, values)

    @given(texts, inputs, st.binary(min_size=32, max_size=32))
    def test_differs_under_another_secret(self, workflow: str, values: dict[str, str], key: bytes) -> None:
        assume(key != KEY)

        assert fingerprint(KEY, workflow, values) != fingerprint(key, workflow, values)

    @given(st.binary().filter(lambda key: len(key) != 32))
    def test_a_secret_of_another_length_is_refused(self, key: bytes) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            fingerprint(key, "w", {})

    @given(texts, texts)
    @example("a", "a")
    def test_agrees_only_with_itself(self, one: str, other: str) -> None:
        assert (one == other) == same_fingerprint(one, other)
