"""A bundle's folder: its files, the manifest that binds them, and what keeps a folder from being a bundle.

Laws of this module:

- What was judged is what is returned: it works on the bytes that were read, and nothing is read again.
- Every byte of every file counts. The manifest has one form only, names the hash of every other file, and carries a
  checksum of itself.
- The digest is that of the workflow's canonical form: it stays the same when the files are encrypted, laid out
  otherwise, sealed, or given other words.
- A refusal is a closed code; it repeats nothing that stands in the files.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from enum import Enum, unique
from typing import Annotated, Final, Literal, TypeVar, cast

from attrs import evolve, field, frozen
from returns.result import Failure, Result, Success

from surehand.core.schema import Items, Number, Text
from surehand.core.signature import (
    Digest,
    KeyId,
    Signature,
    authentic,
    canonical_json,
    key_id,
    public_key,
    sign,
    signed_form,
)
from surehand.core.strict_json import strict_json
from surehand.core.workflow.bundle import Bundle, bundle_digest, parse_bundle
from surehand.core.workflow.card import Card, CardWarning, choose_card, default_card
from surehand.core.workflow.envelope import close, is_closed, open_closed

FileName = Literal["workflow.json", "surehand-card.json"]

WORKFLOW_FILE: Final = "workflow.json"
CARD_FILE: Final = "surehand-card.json"
MANIFEST_FILE: Final = "manifest.json"

#: Bytes that each file may have.
LARGEST: Final[dict[str, int]] = {WORKFLOW_FILE: 1 << 20, CARD_FILE: 1 << 17, MANIFEST_FILE: 1 << 14}

MANIFEST_SCHEMA: Final = "surehand.manifest/v1"
_SEAL: Final = "surehand.seal/v1"
_SCHEMA: Final = re.compile(r"surehand\.(?:bundle|manifest)/v([0-9]{1,9})", re.ASCII)

T = TypeVar("T")


@unique
class BundleProblem(Enum):
    """Why a folder is not accepted as a bundle."""

    NOT_A_FOLDER = "not_a_folder"
    SYMBOLIC_LINK = "symbolic_link"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    MANIFEST_MISSING = "manifest_missing"
    MANIFEST_DAMAGED = "manifest_damaged"
    MANIFEST_NEWER = "manifest_newer"
    FILE_MISSING = "file_missing"
    FILE_UNKNOWN = "file_unknown"
    FILE_CHANGED = "file_changed"
    KEY_MISSING = "key_missing"
    KEY_DOES_NOT_OPEN = "key_does_not_open"
    WORKFLOW_NEWER = "workflow_newer"
    UNKNOWN_MEMBER = "unknown_member"
    NOT_A_WORKFLOW = "not_a_workflow"
    DIGEST_DIFFERS = "digest_differs"
    SEAL_BROKEN = "seal_broken"


@unique
class SealState(Enum):
    """Whose signature stands under the manifest; that of another machine cannot be judged here."""

    NONE = "none"
    THIS_MACHINE = "this_machine"
    OTHER_MACHINE = "other_machine"


@frozen(kw_only=True)
class ManifestFile:
    """One file: its name, its size, and the hash of its bytes as they lie on disk."""

    name: FileName
    size: Annotated[int, Number(minimum=0)]
    sha256: Digest


@frozen(kw_only=True)
class ManifestSeal:
    """The signature of a machine under everything else in the manifest."""

    key: KeyId
    signature: Signature


@frozen(kw_only=True)
class Manifest:
    """What a folder holds. ``checksum`` is over every other member.

    Raises:
        ValueError: A file is listed twice.
    """

    schema: Literal["surehand.manifest/v1"] = MANIFEST_SCHEMA
    made_by: Annotated[str, Text(pattern="^[0-9A-Za-z.+!-]{1,60}$")]
    bundle_schema: Annotated[str, Text(pattern="^surehand[.]bundle/v[0-9]{1,9}$")]
    digest: Digest
    encrypted: bool
    files: Annotated[tuple[ManifestFile, ...], Items(max_items=2)]
    seal: ManifestSeal | None = None
    checksum: Digest

    def __attrs_post_init__(self) -> None:
        """Refuse a list in which one entry would hide another."""
        if len({each.name for each in self.files}) != len(self.files):
            raise ValueError("a file is listed twice")


@frozen(kw_only=True)
class Contents:
    """What a folder holds, every byte of it judged."""

    bundle: Bundle
    digest: str
    card: Card
    card_warning: CardWarning | None
    encrypted: bool
    seal: SealState


@frozen(kw_only=True)
class Materials:
    """What a folder is made of: the workflow's text, and the card's, if there is one."""

    workflow: bytes
    card: bytes | None = None


@frozen(kw_only=True)
class Protection:
    """How a folder is protected: encrypted under a passphrase with a fresh salt, and signed by a machine's secret."""

    passphrase: bytes | None = field(repr=False)
    salt: bytes
    signer: bytes | None = field(repr=False)


def workflow_text(bundle: Bundle) -> bytes:
    """The text of a workflow file, laid out for people."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return (json.dumps(to_wire(bundle), indent=2, ensure_ascii=False) + "\n").encode()


def make_files(materials: Materials, protection: Protection, made_by: str) -> Result[dict[str, bytes], BundleProblem]:
    """The files of a folder, by name; the manifest is the last of them.

    Args:
        materials: What the folder holds, in plain form.
        protection: How it is protected.
        made_by: The version of Surehand that writes it.
    """
    read = _workflow(materials.workflow)
    if isinstance(read, Failure):
        return read
    return Success(_files(read.unwrap(), materials, protection, made_by))


def read_files(
    files: Mapping[str, bytes], passphrase: bytes | None, machine: bytes | None
) -> Result[Contents, BundleProblem]:
    """Judge the files of a folder.

    Args:
        files: Every file of it by name, as the bytes that were read.
        passphrase: What encrypted files are opened with.
        machine: The public key of this machine, if it has one.
    """
    manifest = _manifest(files)
    if isinstance(manifest, Failure):
        return manifest
    found = manifest.unwrap()
    problem = _problem_of_files(found, files) or _problem_of_seal(found, machine)
    if problem is not None:
        return Failure(problem)
    taken = take_materials(files, passphrase)
    if isinstance(taken, Failure):
        return taken
    return _contents(found, taken.unwrap(), _seal_state(found, machine))


def take_materials(files: Mapping[str, bytes], passphrase: bytes | None) -> Result[Materials, BundleProblem]:
    """What a folder is made of, opened where it is encrypted; no manifest is asked for."""
    if WORKFLOW_FILE not in files:
        return Failure(BundleProblem.FILE_MISSING)
    plain: dict[str, bytes] = {}
    for name in (WORKFLOW_FILE, CARD_FILE):
        opened = _opened(files.get(name, b""), name, passphrase)
        if isinstance(opened, Failure):
            return opened
        plain[name] = opened.unwrap()
    return Success(Materials(workflow=plain[WORKFLOW_FILE], card=plain[CARD_FILE] if CARD_FILE in files else None))


def parse_json(text: bytes) -> Result[object, None]:
    """A JSON value in UTF-8 in which every object has each name once, and every number is one."""
    try:
        return Success(strict_json(text.decode()))
    except (ValueError, RecursionError):
        return Failure(None)


def _files(bundle: Bundle, materials: Materials, protection: Protection, made_by: str) -> dict[str, bytes]:
    plain: dict[FileName, bytes] = {WORKFLOW_FILE: materials.workflow}
    if materials.card is not None:
        plain[CARD_FILE] = materials.card
    listed: list[ManifestFile] = []
    files: dict[str, bytes] = {}
    for name, content in plain.items():
        files[name] = _protected(content, name, protection)
        listed.append(ManifestFile(name=name, size=len(files[name]), sha256=_sha256(files[name])))
    manifest = Manifest(
        made_by=made_by,
        bundle_schema=bundle.schema,
        digest=bundle_digest(bundle),
        encrypted=protection.passphrase is not None,
        files=tuple(listed),
        checksum="",
    )
    return {**files, MANIFEST_FILE: _manifest_text(_signed(manifest, protection.signer))}


def _protected(content: bytes, name: str, protection: Protection) -> bytes:
    if protection.passphrase is None:
        return content
    return close(content, name, protection.passphrase, protection.salt)


def _signed(manifest: Manifest, signer: bytes | None) -> Manifest:
    """The manifest with its seal, if there is a signer, and with its checksum."""
    if signer is not None:
        seal = ManifestSeal(key=key_id(public_key(signer)), signature=sign(signer, _sealed_form(manifest)))
        manifest = evolve(manifest, seal=seal)
    return evolve(manifest, checksum=_checksum(manifest))


def _sealed_form(manifest: Manifest) -> bytes:
    return signed_form(_SEAL, _without(manifest, "seal", "checksum"))


def _checksum(manifest: Manifest) -> str:
    return _sha256(canonical_json(_without(manifest, "checksum")).encode())


def _without(manifest: Manifest, *names: str) -> dict[str, object]:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return {name: member for name, member in to_wire(manifest).items() if name not in names}


def _manifest_text(manifest: Manifest) -> bytes:
    return (json.dumps(_without(manifest), indent=2) + "\n").encode()


def _manifest(files: Mapping[str, bytes]) -> Result[Manifest, BundleProblem]:
    if MANIFEST_FILE not in files:
        return Failure(BundleProblem.MANIFEST_MISSING)
    data = parse_json(files[MANIFEST_FILE]).value_or(None)
    if _is_newer(data):
        return Failure(BundleProblem.MANIFEST_NEWER)
    read = _read(data, Manifest)
    if isinstance(read, Failure):
        return Failure(BundleProblem.MANIFEST_DAMAGED)
    manifest = read.unwrap()
    if _manifest_text(manifest) != files[MANIFEST_FILE] or _checksum(manifest) != manifest.checksum:
        return Failure(BundleProblem.MANIFEST_DAMAGED)
    return Success(manifest)


def _read(data: object, cls: type[T]) -> Result[T, None]:
    from surehand.core.wire import from_wire  # noqa: PLC0415 - the converter is costly to import

    return from_wire(data, cls).alt(lambda _: None)


def _is_newer(data: object) -> bool:
    """Whether the data names a schema of ours that this version does not know yet."""
    schema = cast("dict[str, object]", data).get("schema") if isinstance(data, dict) else None
    found = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return found is not None and int(found[1]) > 1


def _problem_of_files(manifest: Manifest, files: Mapping[str, bytes]) -> BundleProblem | None:
    listed = {each.name: each for each in manifest.files}
    others = files.keys() - {MANIFEST_FILE}
    if WORKFLOW_FILE not in listed:
        return BundleProblem.MANIFEST_DAMAGED
    if listed.keys() - others:
        return BundleProblem.FILE_MISSING
    if others - listed.keys():
        return BundleProblem.FILE_UNKNOWN
    if any(_sha256(files[name]) != each.sha256 or len(files[name]) != each.size for name, each in listed.items()):
        return BundleProblem.FILE_CHANGED
    closed = {is_closed(files[name]) for name in listed}
    return None if closed <= {manifest.encrypted} else BundleProblem.MANIFEST_DAMAGED


def _problem_of_seal(manifest: Manifest, machine: bytes | None) -> BundleProblem | None:
    if manifest.seal is None or machine is None or _seal_state(manifest, machine) is not SealState.THIS_MACHINE:
        return None
    proven = authentic(machine, _sealed_form(manifest), manifest.seal.signature)
    return BundleProblem.SEAL_BROKEN if isinstance(proven, Failure) else None


def _seal_state(manifest: Manifest, machine: bytes | None) -> SealState:
    if manifest.seal is None:
        return SealState.NONE
    ours = machine is not None and manifest.seal.key == key_id(machine)
    return SealState.THIS_MACHINE if ours else SealState.OTHER_MACHINE


def _opened(content: bytes, name: str, passphrase: bytes | None) -> Result[bytes, BundleProblem]:
    if not is_closed(content):
        return Success(content)
    if passphrase is None:
        return Failure(BundleProblem.KEY_MISSING)
    return open_closed(content, name, passphrase).alt(lambda _: BundleProblem.KEY_DOES_NOT_OPEN)


def _contents(manifest: Manifest, materials: Materials, seal: SealState) -> Result[Contents, BundleProblem]:
    read = _workflow(materials.workflow)
    if isinstance(read, Failure):
        return read
    bundle = read.unwrap()
    if (bundle_digest(bundle), bundle.schema) != (manifest.digest, manifest.bundle_schema):
        return Failure(BundleProblem.DIGEST_DIFFERS)
    card, warning = _card(bundle, materials.card)
    return Success(
        Contents(
            bundle=bundle,
            digest=manifest.digest,
            card=card,
            card_warning=warning,
            encrypted=manifest.encrypted,
            seal=seal,
        )
    )


def _workflow(text: bytes) -> Result[Bundle, BundleProblem]:
    from surehand.core.wire import FaultCode  # noqa: PLC0415 - the converter is costly to import

    data = parse_json(text).value_or(None)
    if _is_newer(data):
        return Failure(BundleProblem.WORKFLOW_NEWER)
    read = parse_bundle(data)
    if isinstance(read, Success):
        return Success(read.unwrap())
    unknown = any(fault.code is FaultCode.UNKNOWN_MEMBER for fault in read.failure())
    return Failure(BundleProblem.UNKNOWN_MEMBER if unknown else BundleProblem.NOT_A_WORKFLOW)


def _card(bundle: Bundle, text: bytes | None) -> tuple[Card, CardWarning | None]:
    if text is None:
        return default_card(bundle), None
    chosen = choose_card(bundle, parse_json(text).value_or(None))
    return chosen.card, chosen.warning


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
