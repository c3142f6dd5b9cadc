"""The sealed evidence of pauses: one file for each, that this account alone can read and this folder's key alone opens.

Laws of this module:

- What was typed or seen reaches the disk encrypted only, bound to its run, its pause and its bundle.
- SealedEvidence that cannot be opened is none; nothing of it is repeated, neither its content nor why it failed.
- A pause keeps the digest of its sealed file: a file that was put in another's place is found.
- The evidence of a pause that waits for nobody can be dropped; what was decided stands in the ledger.
"""

import hashlib
import json
from pathlib import Path
from typing import Final

from attrs import field, frozen
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from surehand.core.attention.capability import derived_key
from surehand.core.attention.evidence import Opened, SealedEvidence
from surehand.core.attention.pause import Pause
from surehand.core.signature import signed_form
from surehand.core.wire import from_wire, to_wire
from surehand.shell.files import UnsafeFileError, private_folder, read_private, write_durably
from surehand.shell.identity import new_salt

#: The folder of the sealed files below the state folder.
ATTENTION: Final = "attention"

_ENDING: Final = ".sealed"
_NONCE_BYTES: Final = 12


@frozen
class EvidenceFiles:
    """The sealed evidence below one state folder; any number of processes may share it.

    Args:
        state_folder: The state folder.
        key: The secret of what waits for people in this folder.
    """

    state_folder: Path
    key: bytes = field(repr=False)

    def write(self, pause_id: str, run_id: str, bundle: str, evidence: SealedEvidence) -> str:
        """Seal evidence, durably; returns the digest that its pause keeps.

        Raises:
            OSError: The file system refuses.
            UnsafeFileError: Something other than a file or folder of ours stands there.
        """
        plain = json.dumps(to_wire(evidence), ensure_ascii=False, separators=(",", ":")).encode()
        nonce = new_salt(_NONCE_BYTES)
        sealed = nonce + self._cipher().encrypt(nonce, plain, _bound_to(pause_id, run_id, bundle))
        private_folder(self._folder)
        write_durably(self._path(pause_id), sealed)
        return hashlib.sha256(sealed).hexdigest()

    def read(self, pause: Pause) -> SealedEvidence | None:
        """The evidence of a pause; ``None`` when there is none that this key opens and the pause names."""
        found = self.opened(pause.pause_id, pause.run_id, pause.bundle)
        return None if found is None or found.digest != pause.evidence else found.evidence

    def opened(self, pause_id: str, run_id: str, bundle: str) -> Opened | None:
        """What lies sealed under the name of a pause that may not be kept yet; ``None`` when there is nothing of it."""
        try:
            sealed = read_private(self._path(pause_id))
            plain = self._cipher().decrypt(
                sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bound_to(pause_id, run_id, bundle)
            )
            evidence = from_wire(json.loads(plain), SealedEvidence).value_or(None)
        except (OSError, UnsafeFileError, InvalidTag, ValueError):
            return None
        return None if evidence is None else Opened(hashlib.sha256(sealed).hexdigest(), evidence)

    def drop(self, pause_id: str) -> None:
        """Forget the evidence of a pause, if there is any.

        Raises:
            OSError: The file system refuses.
        """
        self._path(pause_id).unlink(missing_ok=True)

    def kept(self) -> tuple[str, ...]:
        """The names of the pauses whose evidence is there."""
        if not self._folder.is_dir():
            return ()
        return tuple(sorted(filter(None, map(pause_of_file, self._folder.iterdir()))))

    @property
    def _folder(self) -> Path:
        return self.state_folder / ATTENTION

    def _path(self, pause_id: str) -> Path:
        return self._folder / f"{pause_id}{_ENDING}"

    def _cipher(self) -> AESGCM:
        return AESGCM(derived_key(self.key, "evidence"))


def pause_of_file(path: Path) -> str | None:
    """The pause whose evidence a file bears by its name; ``None`` for any other file."""
    return path.stem if path.suffix == _ENDING and path.stem.startswith("att_") else None


def _bound_to(pause_id: str, run_id: str, bundle: str) -> bytes:
    return signed_form("surehand.pause-evidence/v1", {"pause_id": pause_id, "run_id": run_id, "bundle": bundle})
