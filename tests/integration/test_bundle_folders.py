"""Bundle folders on disk.

Laws:

- What was written is read again, privately kept; what is refused has a name and is not touched.
- Every file is opened once: what was judged is what is returned.
- A folder holds a bundle only when the last of its files is in place.
- A key comes from a private file or from the environment.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from support.own_bundle import CARD, OTHER, OWN, PASSPHRASE
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.card import WrittenCard
from surehand.core.workflow.manifest import CARD_FILE, LARGEST, MANIFEST_FILE, WORKFLOW_FILE, BundleProblem, SealState
from surehand.shell import bundles
from surehand.shell.bundles import (
    KEY_VARIABLE,
    BundleKey,
    BundleRefusedError,
    bundle_key,
    load_bundle,
    seal_bundle,
    write_bundle,
)
from surehand.shell.config import ConfigError
from surehand.shell.files import read_start, write_durably
from surehand.shell.identity import MACHINE_KEY_FILE, DamagedKeyError, machine_key

KEY = BundleKey(PASSPHRASE)
WORDS = WrittenCard(schema="surehand.card/v1", purpose="Adds one order.", done_means="The order is there.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle without encryption, with a card."""
    return write_bundle(tmp_path / "own", OWN, card=WORDS, machine_folder=tmp_path / "keys").path


def code(folder: Path, key: BundleKey | None = None) -> BundleProblem:
    """Why the folder is refused."""
    with pytest.raises(BundleRefusedError) as refused:
        load_bundle(folder, key=key, machine_folder=folder.parent / "keys")
    return refused.value.code


class TestWritingAndReading:
    """What was written is read again, by its owner alone."""

    @pytest.mark.parametrize("key", [None, KEY])
    @pytest.mark.parametrize("card", [None, WORDS])
    def test_again(self, tmp_path: Path, key: BundleKey | None, card: WrittenCard | None) -> None:
        written = write_bundle(tmp_path / "own", OWN, card=card, key=key, machine_folder=tmp_path / "keys")

        assert written == load_bundle(tmp_path / "own", key=key, machine_folder=tmp_path / "keys")
        assert (OWN, bundle_digest(OWN), key is not None) == (written.bundle, written.digest, written.encrypted)
        assert (card is not None) is (written.card.purpose == WORDS.purpose)
        assert (SealState.NONE, None) == (written.seal, written.card_warning)

    def test_privately(self, folder: Path) -> None:
        modes = {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}

        assert (0o700, {0o600}) == (stat.S_IMODE(folder.stat().st_mode), modes)

    def test_an_encrypted_one_shows_nothing(self, tmp_path: Path) -> None:
        write_bundle(tmp_path / "own", OWN, card=WORDS, key=KEY, machine_folder=tmp_path / "keys")
        everything = b"".join(each.read_bytes() for each in (tmp_path / "own").iterdir())

        assert [] == [word for word in (b"order", b"customer", b"https", b"Adds") if word in everything]

    def test_a_new_bundle_in_the_place_of_an_older_one(self, folder: Path) -> None:
        write_bundle(folder, OTHER, machine_folder=folder.parent / "keys")

        assert OTHER == load_bundle(folder, machine_folder=folder.parent / "keys").bundle
        assert not (folder / CARD_FILE).exists()

    def test_not_among_files_of_somebody_else(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").write_text("mine")
        with pytest.raises(BundleRefusedError) as refused:
            write_bundle(tmp_path, OWN, machine_folder=tmp_path / "keys")

        assert BundleProblem.FILE_UNKNOWN is refused.value.code
        assert ["letter.txt"] == [each.name for each in tmp_path.iterdir()]

    def test_not_where_a_file_stands(self, tmp_path: Path) -> None:
        (tmp_path / "own").write_text("mine")
        with pytest.raises(BundleRefusedError) as refused:
            write_bundle(tmp_path / "own", OWN, machine_folder=tmp_path / "keys")

        assert BundleProblem.NOT_A_FOLDER is refused.value.code

    @pytest.mark.parametrize("written", [0, 1, 2])
    def test_a_writing_that_is_cut_short_leaves_no_bundle(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, written: int
    ) -> None:
        real, left = write_durably, [written]

        def fails_later(path: Path, content: bytes) -> bool:
            left[0] -= 1
            if left[0] < 0:
                raise OSError
            return real(path, content)

        monkeypatch.setattr(bundles, "write_durably", fails_later)
        with pytest.raises(BundleRefusedError) as refused:
            write_bundle(folder, OTHER, card=WORDS, machine_folder=folder.parent / "keys")

        assert BundleProblem.UNREADABLE is refused.value.code
        assert BundleProblem.MANIFEST_MISSING is code(folder)


Change = Callable[[Path], None]


def _damaged(name: str) -> Change:
    def change(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return change


def _without(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def _with(name: str, content: bytes = b"") -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


def _with_inner_folder(folder: Path) -> None:
    (folder / "inner").mkdir()


def _linked(folder: Path) -> None:
    (folder / CARD_FILE).rename(folder.parent / "elsewhere.json")
    (folder / CARD_FILE).symlink_to(folder.parent / "elsewhere.json")


def _piped(folder: Path) -> None:
    (folder / CARD_FILE).unlink()
    os.mkfifo(folder / CARD_FILE)


CHANGES: dict[str, tuple[Change, BundleProblem]] = {
    "workflow damaged": (_damaged(WORKFLOW_FILE), BundleProblem.FILE_CHANGED),
    "card damaged": (_damaged(CARD_FILE), BundleProblem.FILE_CHANGED),
    "manifest damaged": (_damaged(MANIFEST_FILE), BundleProblem.MANIFEST_DAMAGED),
    "no manifest": (_without(MANIFEST_FILE), BundleProblem.MANIFEST_MISSING),
    "no workflow": (_without(WORKFLOW_FILE), BundleProblem.FILE_MISSING),
    "no card": (_without(CARD_FILE), BundleProblem.FILE_MISSING),
    "a file more": (_with("notes.txt"), BundleProblem.FILE_UNKNOWN),
    "a hidden file": (_with(".hidden"), BundleProblem.FILE_UNKNOWN),
    "a folder inside": (_with_inner_folder, BundleProblem.FILE_UNKNOWN),
    "a link": (_linked, BundleProblem.SYMBOLIC_LINK),
    "a pipe": (_piped, BundleProblem.FILE_UNKNOWN),
    "too large": (_with(WORKFLOW_FILE, b" " * (LARGEST[WORKFLOW_FILE] + 1)), BundleProblem.TOO_LARGE),
}


class TestRefusals:
    """Each way of not being a bundle is refused by its name."""

    @pytest.mark.parametrize("name", CHANGES)
    def test_by_its_name(self, folder: Path, name: str) -> None:
        change, problem = CHANGES[name]
        change(folder)

        assert problem is code(folder)

    def test_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        assert BundleProblem.NOT_A_FOLDER is code(tmp_path / "none")
        assert BundleProblem.NOT_A_FOLDER is code(tmp_path / "file")

    def test_a_link_to_a_folder(self, folder: Path) -> None:
        link = folder.parent / "link"
        link.symlink_to(folder)

        assert BundleProblem.SYMBOLIC_LINK is code(link)

    def test_what_the_file_system_refuses(self, tmp_path: Path) -> None:
        assert BundleProblem.UNREADABLE is code(tmp_path / ("x" * 300))

    def test_the_message_is_a_code(self, folder: Path) -> None:
        _damaged(WORKFLOW_FILE)(folder)
        with pytest.raises(BundleRefusedError) as refused:
            load_bundle(folder, machine_folder=folder.parent / "keys")

        assert "file_changed" == str(refused.value)


class TestOnePass:
    """What was judged is what is returned, whatever becomes of the files meanwhile."""

    def test_every_file_is_opened_once(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real, opened = read_start, list[str]()

        def changes_afterwards(path: Path, size: int) -> bytes:
            content = real(path, size)
            opened.append(path.name)
            path.write_bytes(b"changed")
            return content

        monkeypatch.setattr(bundles, "read_start", changes_afterwards)
        found = load_bundle(folder, machine_folder=folder.parent / "keys")

        assert (OWN, sorted(LARGEST)) == (found.bundle, sorted(opened))
        monkeypatch.undo()
        assert BundleProblem.MANIFEST_DAMAGED is code(folder)


class TestSealing:
    """A seal takes what is there for the content, and bears this machine's name."""

    def test_a_card_that_the_operator_wrote(self, folder: Path) -> None:
        keys = folder.parent / "keys"
        (folder / CARD_FILE).write_bytes(CARD.replace(b"Adds one", b"Enters an"))
        assert BundleProblem.FILE_CHANGED is code(folder)

        sealed = seal_bundle(folder, machine_key(keys), machine_folder=keys)

        assert "Enters an order." == sealed.card.purpose
        assert (SealState.THIS_MACHINE, bundle_digest(OWN)) == (sealed.seal, sealed.digest)
        assert sealed == load_bundle(folder, machine_folder=keys)

    def test_another_machine_cannot_judge_it(self, folder: Path) -> None:
        keys = folder.parent / "keys"
        seal_bundle(folder, machine_key(keys), machine_folder=keys)

        assert SealState.OTHER_MACHINE is load_bundle(folder, machine_folder=folder.parent / "none").seal
        machine_key(folder.parent / "others")
        assert SealState.OTHER_MACHINE is load_bundle(folder, machine_folder=folder.parent / "others").seal

    def test_encrypting_and_decrypting(self, folder: Path) -> None:
        keys = folder.parent / "keys"
        plain = (folder / WORKFLOW_FILE).read_bytes()

        assert seal_bundle(folder, machine_key(keys), key=KEY, machine_folder=keys).encrypted
        first = (folder / WORKFLOW_FILE).read_bytes()
        assert seal_bundle(folder, machine_key(keys), key=KEY, machine_folder=keys).encrypted
        assert BundleProblem.KEY_MISSING is code(folder)
        assert BundleProblem.KEY_DOES_NOT_OPEN is code(folder, BundleKey(PASSPHRASE + b"x"))
        assert len({plain, first, (folder / WORKFLOW_FILE).read_bytes()}) == 3

        assert not seal_bundle(folder, machine_key(keys), key=KEY, plain=True, machine_folder=keys).encrypted
        assert plain == (folder / WORKFLOW_FILE).read_bytes()

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (_with("notes.txt"), BundleProblem.FILE_UNKNOWN),
            (_without(WORKFLOW_FILE), BundleProblem.FILE_MISSING),
            (_with(WORKFLOW_FILE, b"{}"), BundleProblem.NOT_A_WORKFLOW),
        ],
    )
    def test_what_is_no_bundle_stays_as_it_was(self, folder: Path, change: Change, problem: BundleProblem) -> None:
        change(folder)
        before = {each.name: each.read_bytes() for each in folder.iterdir()}
        with pytest.raises(BundleRefusedError) as refused:
            seal_bundle(folder, bytes(32), machine_folder=folder.parent / "keys")

        assert problem is refused.value.code
        assert before == {each.name: each.read_bytes() for each in folder.iterdir()}

    def test_a_damaged_key_of_this_machine_is_no_other_machine(self, folder: Path) -> None:
        keys = folder.parent / "keys"
        seal_bundle(folder, machine_key(keys), machine_folder=keys)
        (keys / MACHINE_KEY_FILE).write_bytes(b"short")

        with pytest.raises(DamagedKeyError):
            load_bundle(folder, machine_folder=keys)


class TestKeys:
    """A key comes from a private file or from the environment, and is never shown."""

    def test_from_a_file_before_the_environment(self, tmp_path: Path) -> None:
        path = tmp_path / "key"
        path.write_bytes(PASSPHRASE + b"\n")
        path.chmod(0o600)

        assert KEY == bundle_key(path, {KEY_VARIABLE: "another passphrase"})
        assert BundleKey(b"another passphrase") == bundle_key(None, {KEY_VARIABLE: "another passphrase"})
        assert None is bundle_key(None, {}) is bundle_key(None, {KEY_VARIABLE: ""})

    @pytest.mark.parametrize(
        ("content", "mode"), [(PASSPHRASE, 0o640), (PASSPHRASE, 0o604), (b"short", 0o600), (b"x" * 5000, 0o600)]
    )
    def test_refused(self, tmp_path: Path, content: bytes, mode: int) -> None:
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)

        with pytest.raises(ConfigError) as refused:
            bundle_key(path, {})
        assert content.decode() not in str(refused.value)

    def test_a_file_that_is_not_there_or_a_link(self, tmp_path: Path) -> None:
        path = tmp_path / "key"
        path.symlink_to(tmp_path / "other")
        with pytest.raises(ConfigError):
            bundle_key(path, {})
        (tmp_path / "other").write_bytes(PASSPHRASE)
        (tmp_path / "other").chmod(0o600)
        with pytest.raises(ConfigError):
            bundle_key(path, {})

    def test_a_short_one_in_the_environment(self) -> None:
        with pytest.raises(ConfigError):
            bundle_key(None, {KEY_VARIABLE: "short"})

    def test_is_never_shown(self) -> None:
        assert PASSPHRASE.decode() not in repr(evolve(KEY))
