"""Bundle folders on disk, and the key that encrypted ones are opened with.

Laws of this module:

- Each file is opened once, no symbolic link is followed, and no more is read than a file of its name may have.
- What was read is judged in one go by core; nothing is opened a second time.
- A folder that is refused is not touched. One that is written holds a bundle only when its last file is in place.
- A key comes from the environment or from a private file, never from an argument, and stands in no message.
"""

import json
import os
import stat
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeVar

from attrs import field, frozen
from returns.result import Failure, Result

from surehand.core.signature import public_key
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.card import Card, CardWarning, WrittenCard
from surehand.core.workflow.envelope import SALT_BYTES
from surehand.core.workflow.manifest import (
    CARD_FILE,
    LARGEST,
    MANIFEST_FILE,
    BundleProblem,
    Materials,
    Protection,
    SealState,
    make_files,
    read_files,
    take_materials,
    workflow_text,
)
from surehand.shell.config import ConfigError
from surehand.shell.files import UnsafeFileError, private_folder, read_start, sync_folder, write_durably
from surehand.shell.identity import find_machine_key, new_salt
from surehand.shell.reading import UnreadableError, reading

#: Holds the passphrase of encrypted bundles.
KEY_VARIABLE: Final = "SUREHAND_BUNDLE_KEY"

#: Bytes that a passphrase or the content of a key file has.
SHORTEST_KEY: Final = 12
LONGEST_KEY: Final = 4096

_OTHERS_MAY: Final = stat.S_IRWXG | stat.S_IRWXO

T = TypeVar("T")


class BundleRefusedError(Exception):
    """A folder is not accepted as a bundle; ``code`` says why, and nothing repeats what stands in it."""

    def __init__(self, code: BundleProblem) -> None:
        super().__init__(code.value)
        self.code = code


@frozen
class BundleKey:
    """The passphrase of encrypted bundles."""

    passphrase: bytes = field(repr=False)


@frozen(kw_only=True)
class BundleFolder:
    """A folder whose every byte was judged.

    ``digest`` is what runs and admissions are bound to. ``card_warning`` says why the card is not the written one.
    """

    path: Path
    bundle: Bundle
    digest: str
    card: Card
    card_warning: CardWarning | None
    encrypted: bool
    seal: SealState


def bundle_key(key_file: Path | None = None, environ: Mapping[str, str] | None = None) -> BundleKey | None:
    """The key that the operator gave: the content of a file, or else of the environment's variable.

    Raises:
        ConfigError: The file cannot be read or others may read it too, or the key is too short or too long.
    """
    environment = os.environ if environ is None else environ
    if key_file is not None:
        return _checked_key(_key_of(key_file))
    text = environment.get(KEY_VARIABLE)
    return _checked_key(text.encode("utf-8", "surrogateescape")) if text else None


def load_bundle(folder: Path, *, key: BundleKey | None = None, machine_folder: Path | None = None) -> BundleFolder:
    """Read and judge a bundle's folder.

    Args:
        folder: The folder.
        key: What encrypted files are opened with.
        machine_folder: Where this machine's signing key lies; default: the user's configuration folder.

    Raises:
        BundleRefusedError: It is no bundle that can be accepted here.
        DamagedKeyError: This machine's signing key is damaged.
    """
    secret = find_machine_key(machine_folder)
    machine = None if secret is None else public_key(secret)
    contents = _or_refuse(read_files(_read_folder(folder), _passphrase(key), machine))
    return BundleFolder(
        path=folder,
        bundle=contents.bundle,
        digest=contents.digest,
        card=contents.card,
        card_warning=contents.card_warning,
        encrypted=contents.encrypted,
        seal=contents.seal,
    )


def write_bundle(
    folder: Path,
    bundle: Bundle,
    *,
    card: WrittenCard | None = None,
    key: BundleKey | None = None,
    machine_folder: Path | None = None,
) -> BundleFolder:
    """Write a bundle into a folder, which is made when it is missing and may hold an older bundle.

    Args:
        folder: The folder.
        bundle: The workflow.
        card: The words of its card; none for the default ones.
        key: What its files are encrypted with; they are readable without one.
        machine_folder: Where this machine's signing key lies; default: the user's configuration folder.

    Raises:
        BundleRefusedError: Something else lies in the folder, or it cannot be written.
    """
    materials = Materials(workflow=workflow_text(bundle), card=None if card is None else _card_text(card))
    _refuse_strangers(folder)
    return _write(folder, materials, key, None, machine_folder)


def seal_bundle(
    folder: Path,
    secret: bytes,
    *,
    key: BundleKey | None = None,
    plain: bool = False,
    machine_folder: Path | None = None,
) -> BundleFolder:
    """Take what is in the folder now for its content, and sign it with this machine's key.

    Args:
        folder: The folder.
        secret: This machine's signing key.
        key: What encrypted files are opened with; without ``plain``, all files are encrypted with it.
        plain: Leave the files readable.
        machine_folder: Where this machine's signing key lies; default: the user's configuration folder.

    Raises:
        BundleRefusedError: It holds no workflow, something else lies in it, or it cannot be written.
    """
    files = _read_folder(folder)
    if files.keys() - LARGEST.keys():
        raise BundleRefusedError(BundleProblem.FILE_UNKNOWN)
    materials = _or_refuse(take_materials(files, _passphrase(key)))
    return _write(folder, materials, None if plain else key, secret, machine_folder)


def copy_bundle(
    folder: BundleFolder, to: Path, *, key: BundleKey | None = None, machine_folder: Path | None = None
) -> BundleFolder:
    """Copy a bundle byte by byte, as it was judged, into a folder that is made for it.

    Args:
        folder: The bundle.
        to: The folder of the copy.
        key: What encrypted files are opened with.
        machine_folder: Where this machine's signing key lies; default: the user's configuration folder.

    Raises:
        BundleRefusedError: It is not the bundle any more that was judged, or the copy cannot be written.
    """
    files = _read_folder(folder.path)
    _refuse_strangers(to)
    _write_files(to, files)
    copied = load_bundle(to, key=key, machine_folder=machine_folder)
    if copied.digest != folder.digest:
        raise BundleRefusedError(BundleProblem.FILE_CHANGED)
    return copied


def _key_of(path: Path) -> bytes:
    try:
        with reading():
            mode = path.stat().st_mode
            content = read_start(path, LONGEST_KEY + 2)
    except UnreadableError as error:
        raise ConfigError(f"the key file cannot be read: {error}") from None
    if mode & _OTHERS_MAY:
        raise ConfigError("the key file must be readable for its owner alone (mode 600)")
    return content.rstrip(b"\r\n")


def _checked_key(passphrase: bytes) -> BundleKey:
    if not SHORTEST_KEY <= len(passphrase) <= LONGEST_KEY:
        raise ConfigError(f"the key of bundles has {SHORTEST_KEY} to {LONGEST_KEY} bytes")
    return BundleKey(passphrase)


def _passphrase(key: BundleKey | None) -> bytes | None:
    return None if key is None else key.passphrase


def _read_folder(folder: Path) -> dict[str, bytes]:
    """Every file of the folder, each opened once."""
    try:
        if folder.is_symlink():
            raise BundleRefusedError(BundleProblem.SYMBOLIC_LINK)
        if not folder.is_dir():
            raise BundleRefusedError(BundleProblem.NOT_A_FOLDER)
        return {path.name: _read_file(path) for path in sorted(folder.iterdir())}
    except UnsafeFileError:
        raise BundleRefusedError(BundleProblem.FILE_UNKNOWN) from None
    except OSError:
        raise BundleRefusedError(BundleProblem.UNREADABLE) from None


def _read_file(path: Path) -> bytes:
    if path.name not in LARGEST:
        raise BundleRefusedError(BundleProblem.FILE_UNKNOWN)
    if path.is_symlink():
        raise BundleRefusedError(BundleProblem.SYMBOLIC_LINK)
    content = read_start(path, LARGEST[path.name] + 1)
    if len(content) > LARGEST[path.name]:
        raise BundleRefusedError(BundleProblem.TOO_LARGE)
    return content


def _refuse_strangers(folder: Path) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise BundleRefusedError(BundleProblem.NOT_A_FOLDER)
    if folder.exists() and {each.name for each in folder.iterdir()} - LARGEST.keys():
        raise BundleRefusedError(BundleProblem.FILE_UNKNOWN)


def _write(
    folder: Path, materials: Materials, key: BundleKey | None, secret: bytes | None, machine_folder: Path | None
) -> BundleFolder:
    """Write the files, the manifest last, and read them again."""
    protection = Protection(passphrase=_passphrase(key), salt=new_salt(SALT_BYTES), signer=secret)
    files = _or_refuse(make_files(materials, protection, version("surehand")))
    _write_files(folder, files)
    return load_bundle(folder, key=key, machine_folder=machine_folder)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a bundle; without the manifest, which is the last of them, the folder holds none."""
    try:
        private_folder(folder)
        (folder / MANIFEST_FILE).unlink(missing_ok=True)
        for name, content in sorted(files.items(), key=lambda each: each[0] == MANIFEST_FILE):
            write_durably(folder / name, content)
        if CARD_FILE not in files:
            (folder / CARD_FILE).unlink(missing_ok=True)
        sync_folder(folder)
    except UnsafeFileError:
        raise BundleRefusedError(BundleProblem.NOT_A_FOLDER) from None
    except OSError:
        raise BundleRefusedError(BundleProblem.UNREADABLE) from None


def _card_text(card: WrittenCard) -> bytes:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - the converter is costly to import

    return (json.dumps(to_wire(card), indent=2, ensure_ascii=False) + "\n").encode()


def _or_refuse(result: Result[T, BundleProblem]) -> T:
    if isinstance(result, Failure):
        raise BundleRefusedError(result.failure())
    return result.unwrap()
