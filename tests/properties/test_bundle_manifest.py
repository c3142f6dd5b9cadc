"""A bundle's files: every byte of them counts, and what is refused has one name.

Laws:

- A folder is accepted as it was made, and refused after any change of any byte of any file.
- The digest is that of the workflow, however the files are laid out, encrypted, sealed or worded.
- An envelope opens under its own name and passphrase only, and asks for no more memory than it may.
"""

import hashlib
import json
from enum import Enum
from typing import Any, Final

import pytest
from attrs import evolve
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from support.own_bundle import CARD, FULL, MATERIALS, OTHER, OWN, PASSPHRASE, PLAIN, SECRET
from surehand.core.signature import Forgery, public_key
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.card import CardWarning, default_card
from surehand.core.workflow.envelope import MAGIC, EnvelopeProblem, close, is_closed, open_closed
from surehand.core.workflow.manifest import (
    CARD_FILE,
    LARGEST,
    MANIFEST_FILE,
    WORKFLOW_FILE,
    BundleProblem,
    Contents,
    Materials,
    Protection,
    SealState,
    make_files,
    parse_json,
    read_files,
    take_materials,
    workflow_text,
)
from surehand.core.workflow.policy import Profile, RecordProblem

MACHINE: Final = public_key(SECRET)
OTHER_MACHINE: Final = public_key(bytes(32))

PLAIN_FILES: Final = make_files(MATERIALS, PLAIN, "0.1.0").unwrap()
FULL_FILES: Final = make_files(MATERIALS, FULL, "0.1.0").unwrap()
SEALED_FILES: Final = make_files(MATERIALS, evolve(FULL, passphrase=None), "0.1.0").unwrap()


def problem(files: dict[str, bytes], passphrase: bytes | None = None) -> BundleProblem | None:
    """Why the files are refused on the machine that sealed them; nothing when they are accepted."""
    read = read_files(files, passphrase, MACHINE)
    return read.failure() if isinstance(read, Failure) else None


def contents(files: dict[str, bytes], passphrase: bytes | None = None) -> Contents:
    """What the files hold."""
    return read_files(files, passphrase, MACHINE).unwrap()


def again(files: dict[str, bytes], name: str, content: bytes) -> dict[str, bytes]:
    """The files with one of them replaced, and a manifest that says so: what somebody without any key can make."""
    changed = {**files, name: content}
    manifest = json.loads(files[MANIFEST_FILE])
    for each in manifest["files"]:
        if each["name"] == name:
            each |= {"size": len(content), "sha256": _sha256(content)}
    return {**changed, MANIFEST_FILE: _manifest(manifest)}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _manifest(data: dict[str, Any]) -> bytes:
    rest = {name: member for name, member in data.items() if name != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    members = {name: member for name, member in data.items() if name != "seal"}
    members["checksum"] = _sha256(canonical.encode())
    if "seal" in data:
        members["seal"] = data["seal"]
    return (json.dumps(members, indent=2) + "\n").encode()


class TestEveryByteCounts:
    """A change of any byte of any file is refused by a name."""

    @pytest.mark.parametrize("files", [PLAIN_FILES, FULL_FILES, SEALED_FILES], ids=["plain", "full", "sealed"])
    @pytest.mark.parametrize("name", LARGEST)
    def test_each_byte_flipped(self, files: dict[str, bytes], name: str) -> None:
        content = files[name]
        accepted = [
            place
            for place in range(len(content))
            for bit in (1, 32, 128)
            if problem({**files, name: _flipped(content, place, bit)}, PASSPHRASE) is None
        ]

        assert [] == accepted

    @pytest.mark.parametrize("files", [PLAIN_FILES, FULL_FILES, SEALED_FILES], ids=["plain", "full", "sealed"])
    @pytest.mark.parametrize("name", LARGEST)
    def test_each_file_cut_or_longer(self, files: dict[str, bytes], name: str) -> None:
        content = files[name]

        assert None not in {problem({**files, name: content[:size]}, PASSPHRASE) for size in range(0, len(content), 7)}
        assert None is not problem({**files, name: content + b"\n"}, PASSPHRASE)

    @pytest.mark.parametrize("files", [PLAIN_FILES, FULL_FILES, SEALED_FILES], ids=["plain", "full", "sealed"])
    def test_unchanged_they_are_accepted(self, files: dict[str, bytes]) -> None:
        assert problem(files, PASSPHRASE) is None


def _flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes((content[place] ^ bit,)) + content[place + 1 :]


class TestRefusals:
    """Each way of not being a bundle has its name."""

    @pytest.mark.parametrize(
        ("files", "code"),
        [
            ({}, BundleProblem.MANIFEST_MISSING),
            ({WORKFLOW_FILE: PLAIN_FILES[WORKFLOW_FILE]}, BundleProblem.MANIFEST_MISSING),
            ({**PLAIN_FILES, MANIFEST_FILE: b""}, BundleProblem.MANIFEST_DAMAGED),
            ({**PLAIN_FILES, MANIFEST_FILE: b"[]"}, BundleProblem.MANIFEST_DAMAGED),
            (
                {**PLAIN_FILES, MANIFEST_FILE: PLAIN_FILES[MANIFEST_FILE].replace(b"manifest/v1", b"manifest/v2")},
                BundleProblem.MANIFEST_NEWER,
            ),
            (
                {name: PLAIN_FILES[name] for name in (WORKFLOW_FILE, MANIFEST_FILE)},
                BundleProblem.FILE_MISSING,
            ),
            ({name: PLAIN_FILES[name] for name in (CARD_FILE, MANIFEST_FILE)}, BundleProblem.FILE_MISSING),
            ({**PLAIN_FILES, "notes.txt": b""}, BundleProblem.FILE_UNKNOWN),
            ({**PLAIN_FILES, WORKFLOW_FILE: workflow_text(OTHER)}, BundleProblem.FILE_CHANGED),
            (again(PLAIN_FILES, WORKFLOW_FILE, workflow_text(OTHER)), BundleProblem.DIGEST_DIFFERS),
            (again(PLAIN_FILES, WORKFLOW_FILE, b"{}"), BundleProblem.NOT_A_WORKFLOW),
            (
                again(PLAIN_FILES, WORKFLOW_FILE, workflow_text(OWN).replace(b'"schema"', b'"script": "x", "schema"')),
                BundleProblem.UNKNOWN_MEMBER,
            ),
            (
                again(PLAIN_FILES, WORKFLOW_FILE, workflow_text(OWN).replace(b"bundle/v1", b"bundle/v2")),
                BundleProblem.WORKFLOW_NEWER,
            ),
            (
                again(PLAIN_FILES, WORKFLOW_FILE, workflow_text(OWN).replace(b'"title"', b'"title": "x", "title"', 1)),
                BundleProblem.NOT_A_WORKFLOW,
            ),
            (again(PLAIN_FILES, WORKFLOW_FILE, b'{"schema": NaN}'), BundleProblem.NOT_A_WORKFLOW),
            (again(SEALED_FILES, CARD_FILE, CARD + b" "), BundleProblem.SEAL_BROKEN),
            (again(PLAIN_FILES, CARD_FILE, FULL_FILES[CARD_FILE]), BundleProblem.MANIFEST_DAMAGED),
            (again(FULL_FILES, CARD_FILE, CARD), BundleProblem.MANIFEST_DAMAGED),
        ],
    )
    def test_by_its_name(self, files: dict[str, bytes], code: BundleProblem) -> None:
        assert code is problem(files, PASSPHRASE)

    def test_a_manifest_that_lists_a_file_twice_or_no_workflow(self) -> None:
        data = json.loads(PLAIN_FILES[MANIFEST_FILE])
        only_card = _manifest({**data, "files": data["files"][1:]})
        repeated = _manifest({**data, "files": [data["files"][0], data["files"][0]]})

        assert BundleProblem.MANIFEST_DAMAGED is problem({**PLAIN_FILES, MANIFEST_FILE: only_card})
        assert BundleProblem.MANIFEST_DAMAGED is problem({**PLAIN_FILES, MANIFEST_FILE: repeated})

    @pytest.mark.parametrize(
        "text", [PLAIN_FILES[MANIFEST_FILE].replace(b"\n", b"\r\n"), PLAIN_FILES[MANIFEST_FILE].replace(b"  ", b" ")]
    )
    def test_a_manifest_laid_out_otherwise(self, text: bytes) -> None:
        assert BundleProblem.MANIFEST_DAMAGED is problem({**PLAIN_FILES, MANIFEST_FILE: text})

    @pytest.mark.parametrize(
        ("passphrase", "code"),
        [(None, BundleProblem.KEY_MISSING), (PASSPHRASE + b"x", BundleProblem.KEY_DOES_NOT_OPEN), (PASSPHRASE, None)],
    )
    def test_keys(self, passphrase: bytes | None, code: BundleProblem | None) -> None:
        assert code is problem(FULL_FILES, passphrase)

    def test_what_is_no_workflow_is_not_made(self) -> None:
        assert Failure(BundleProblem.NOT_A_WORKFLOW) == make_files(Materials(workflow=b"x"), PLAIN, "0.1.0")

    @given(st.binary(max_size=40))
    def test_any_bytes_are_judged(self, text: bytes) -> None:
        assert {*LARGEST} == {name for name in LARGEST if problem({**PLAIN_FILES, name: text}) is not None}


class TestTheDigest:
    """It is the workflow's own, whatever lies around it."""

    @pytest.mark.parametrize("files", [PLAIN_FILES, FULL_FILES, SEALED_FILES], ids=["plain", "full", "sealed"])
    def test_the_same_however_it_is_kept(self, files: dict[str, bytes]) -> None:
        assert bundle_digest(OWN) == contents(files, PASSPHRASE).digest

    def test_the_same_when_the_text_is_laid_out_otherwise(self) -> None:
        packed = json.dumps(json.loads(workflow_text(OWN))).encode()

        assert bundle_digest(OWN) == contents(make_files(Materials(workflow=packed), PLAIN, "0.1.0").unwrap()).digest

    def test_another_for_another_workflow(self) -> None:
        assert bundle_digest(OWN) != bundle_digest(OTHER)


class TestSeals:
    """A seal is this machine's, another's, or none; one that lies about whose it is, is broken."""

    @pytest.mark.parametrize(
        ("files", "machine", "state"),
        [
            (PLAIN_FILES, MACHINE, SealState.NONE),
            (PLAIN_FILES, None, SealState.NONE),
            (SEALED_FILES, MACHINE, SealState.THIS_MACHINE),
            (SEALED_FILES, OTHER_MACHINE, SealState.OTHER_MACHINE),
            (SEALED_FILES, None, SealState.OTHER_MACHINE),
        ],
    )
    def test_whose(self, files: dict[str, bytes], machine: bytes | None, state: SealState) -> None:
        assert state is read_files(files, None, machine).unwrap().seal

    def test_a_seal_in_our_name_by_another_key(self) -> None:
        ours = json.loads(SEALED_FILES[MANIFEST_FILE])
        theirs = json.loads(make_files(MATERIALS, evolve(PLAIN, signer=bytes(32)), "0.1.0").unwrap()[MANIFEST_FILE])
        forged = {**theirs, "seal": {**theirs["seal"], "key": ours["seal"]["key"]}}

        assert BundleProblem.SEAL_BROKEN is problem({**PLAIN_FILES, MANIFEST_FILE: _manifest(forged)})


class TestCards:
    """The words of a card are the operator's, as long as they can be shown; a bundle without them has its own."""

    def test_the_written_one(self) -> None:
        assert ("Adds one order.", None) == (
            contents(PLAIN_FILES).card.purpose,
            contents(PLAIN_FILES).card_warning,
        )

    @pytest.mark.parametrize("text", [b"", b"{}", b"\xff", CARD.replace(b"Adds", b"Call 555 0100 99 to add")])
    def test_one_that_cannot_be_shown(self, text: bytes) -> None:
        found = contents(make_files(evolve(MATERIALS, card=text), PLAIN, "0.1.0").unwrap())

        assert default_card(OWN) == found.card
        assert isinstance(found.card_warning, CardWarning)

    def test_none(self) -> None:
        found = contents(make_files(evolve(MATERIALS, card=None), PLAIN, "0.1.0").unwrap())

        assert (default_card(OWN), None) == (found.card, found.card_warning)


class TestTakingWhatIsThere:
    """What a folder is made of is taken without a manifest, opened where it is encrypted."""

    @pytest.mark.parametrize("files", [PLAIN_FILES, FULL_FILES])
    def test_with_and_without_encryption(self, files: dict[str, bytes]) -> None:
        assert Success(MATERIALS) == take_materials({**files, MANIFEST_FILE: b"x"}, PASSPHRASE)

    def test_without_a_card(self) -> None:
        assert Success(evolve(MATERIALS, card=None)) == take_materials({WORKFLOW_FILE: MATERIALS.workflow}, None)

    @pytest.mark.parametrize(
        ("files", "passphrase", "code"),
        [
            ({CARD_FILE: CARD}, None, BundleProblem.FILE_MISSING),
            (FULL_FILES, None, BundleProblem.KEY_MISSING),
            (FULL_FILES, b"another passphrase", BundleProblem.KEY_DOES_NOT_OPEN),
        ],
    )
    def test_refusals(self, files: dict[str, bytes], passphrase: bytes | None, code: BundleProblem) -> None:
        assert Failure(code) == take_materials(files, passphrase)


class TestEnvelopes:
    """An envelope opens under its own name and passphrase, whole."""

    @given(st.binary(max_size=300).filter(lambda content: content not in MAGIC))
    def test_what_was_put_in_comes_out(self, content: bytes) -> None:
        envelope = close(content, "a.json", PASSPHRASE, b"s" * 16)

        assert is_closed(envelope)
        assert len(content) < 4 or content not in envelope
        assert Success(content) == open_closed(envelope, "a.json", PASSPHRASE)
        assert Failure(EnvelopeProblem.DOES_NOT_OPEN) == open_closed(envelope, "b.json", PASSPHRASE)

    def test_each_byte_flipped(self) -> None:
        envelope = close(b"content", "a.json", PASSPHRASE, b"s" * 16)
        opened = [
            place
            for place in range(len(envelope))
            if not isinstance(open_closed(_flipped(envelope, place, 1), "a.json", PASSPHRASE), Failure)
        ]

        assert [] == opened

    def test_each_length(self) -> None:
        envelope = close(b"content", "a.json", PASSPHRASE, b"s" * 16)

        assert all(
            isinstance(open_closed(envelope[:size], "a.json", PASSPHRASE), Failure) for size in range(len(envelope))
        )

    @pytest.mark.parametrize(("cost", "paid"), [(1, False), (13, False), (14, True), (17, True), (18, False)])
    def test_a_cost_that_is_not_ours_is_never_paid(self, cost: int, paid: bool) -> None:
        opened = open_closed(_closed(b"content", "a.json", cost), "a.json", PASSPHRASE)

        assert opened == (Success(b"content") if paid else Failure(EnvelopeProblem.DOES_NOT_OPEN))

    def test_the_form_is_the_one_that_was_written_down(self) -> None:
        assert _closed(b"content", "a.json", 15) == close(b"content", "a.json", PASSPHRASE, b"s" * 16)

    def test_another_salt_is_another_envelope(self) -> None:
        one, other = (close(b"content", "a.json", PASSPHRASE, salt * 16) for salt in (b"s", b"t"))

        assert one[len(MAGIC) + 17 :] != other[len(MAGIC) + 17 :]


def _closed(content: bytes, name: str, cost: int) -> bytes:
    """An envelope as the decision about it describes one, written a second time."""
    header = b"SUREHAND\x01" + bytes((cost,)) + b"s" * 16
    key = hashlib.scrypt(PASSPHRASE, salt=b"s" * 16, n=2**cost, r=8, p=1, maxmem=1 << 30, dklen=32)
    nonce = hashlib.sha256(name.encode()).digest()[:12]
    return header + AESGCM(key).encrypt(nonce, content, header + name.encode())


class TestTheCodes:
    """A code is the name of its member, so that what was told once means the same for ever."""

    @pytest.mark.parametrize("codes", [BundleProblem, SealState, EnvelopeProblem, Forgery, RecordProblem, Profile])
    def test_in_small_letters(self, codes: type[Enum]) -> None:
        assert [code.name.lower() for code in codes] == [code.value for code in codes]


class TestJson:
    """JSON is read with each name once."""

    @pytest.mark.parametrize(
        "text", [b'{"a": 1, "a": 1}', b"NaN", b"Infinity", b"\xff", b"{", b"[" * 100_000, b"\xef\xbb\xbf{}"]
    )
    def test_refused(self, text: bytes) -> None:
        assert Failure(None) == parse_json(text)

    def test_read(self) -> None:
        assert Success({"a": {"a": [1, None]}}) == parse_json(b'{"a": {"a": [1, null]}}')


def test_protection_hides_its_secrets() -> None:
    """A passphrase or a key never stands in a representation."""
    shown = repr(Protection(passphrase=b"canary-1", salt=b"s" * 16, signer=b"canary-2"))

    assert "canary" not in shown
