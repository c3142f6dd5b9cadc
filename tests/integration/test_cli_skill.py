"""``surehand emit-skill`` as operators use it.

Laws:

- What is written is valid where it stands, and holds nothing of the bundle but what its card says.
- The bundle is copied only when it is asked for, and the copy is the bundle.
- Nothing that was there is written over, and a folder that is refused as a bundle makes no skill.
"""

import json
import stat
from pathlib import Path

import pytest

from support.command_line import surehand
from support.own_bundle import OWN, PASSPHRASE
from support.skills import front_matter, problems_at
from surehand.core.workflow.manifest import WORKFLOW_FILE
from surehand.shell.bundles import BundleKey, load_bundle, write_bundle


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with a workflow in it."""
    write_bundle(tmp_path / "own", OWN, machine_folder=tmp_path / ".config" / "surehand")
    return tmp_path


def names_in(folder: Path) -> list[str]:
    """The files under a folder."""
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


class TestASkillIsWritten:
    """One folder with the skill's name, which holds its text alone."""

    def test_it_is_valid_where_it_stands(self, home: Path) -> None:
        told = surehand(home, "emit-skill", "own", "--out", "skills")

        assert (0, "written    skills/add-order/SKILL.md\n") == (told.code, told.out)
        assert [] == problems_at(home / "skills/add-order")
        assert ["add-order/SKILL.md"] == names_in(home / "skills")

    def test_it_is_its_owners(self, home: Path) -> None:
        surehand(home, "emit-skill", "own", "--out", "skills")
        modes = [stat.S_IMODE((home / "skills" / name).stat().st_mode) for name in ("add-order", "add-order/SKILL.md")]

        assert [0o700, 0o600] == modes

    def test_it_holds_no_step_and_no_path(self, home: Path) -> None:
        surehand(home, "emit-skill", "own", "--out", "skills")
        text = (home / "skills/add-order/SKILL.md").read_text()

        found = [word for word in ("/orders", "enter_number", "orders.example", "small", str(home)) if word in text]
        assert ([], True) == (found, "add_order" in text)

    def test_the_words_of_its_card_are_in_it(self, home: Path) -> None:
        card = {"schema": "surehand.card/v1", "purpose": "Adds one order.", "done_means": "It stands in the book."}
        (home / "own/surehand-card.json").write_text(json.dumps(card))
        surehand(home, "bundle", "seal", "own")
        surehand(home, "emit-skill", "own", "--out", "skills")
        text = (home / "skills/add-order/SKILL.md").read_text()

        assert front_matter(text)["description"].startswith("Adds one order. ")
        assert "It stands in the book." in text


class TestTheBundleIsCopiedWhenAskedFor:
    """The copy is the bundle that was judged, byte by byte."""

    def test_a_copy(self, home: Path) -> None:
        told = surehand(home, "emit-skill", "own", "--out", "skills", "--include-bundle")
        copied = load_bundle(home / "skills/add-order/bundle", machine_folder=home / ".config/surehand")

        assert (0, OWN) == (told.code, copied.bundle)
        assert [] == problems_at(home / "skills/add-order")
        assert (home / "own" / WORKFLOW_FILE).read_bytes() == (copied.path / WORKFLOW_FILE).read_bytes()

    def test_an_encrypted_one_stays_encrypted(self, home: Path) -> None:
        machine = home / ".config" / "surehand"
        write_bundle(home / "closed", OWN, key=BundleKey(PASSPHRASE), machine_folder=machine)
        told = surehand(
            home,
            "emit-skill",
            "closed",
            "--out",
            "skills",
            "--include-bundle",
            SUREHAND_BUNDLE_KEY=PASSPHRASE.decode(),
        )
        copy = home / "skills/add-order/bundle"

        assert 0 == told.code
        assert b"orders.example" not in (copy / WORKFLOW_FILE).read_bytes()
        assert load_bundle(copy, key=BundleKey(PASSPHRASE), machine_folder=machine).encrypted


class TestWhatIsThereStays:
    """A skill is written into a folder of its own, and a bundle that is refused makes none."""

    def test_a_second_one_is_refused(self, home: Path) -> None:
        surehand(home, "emit-skill", "own", "--out", "skills")
        (home / "skills/add-order/SKILL.md").write_text("mine")
        told = surehand(home, "emit-skill", "own", "--out", "skills", "--include-bundle")

        assert (1, True) == (told.code, "add-order in --out holds something" in told.err)
        assert "mine" == (home / "skills/add-order/SKILL.md").read_text()

    def test_a_link_is_not_followed(self, home: Path) -> None:
        (home / "elsewhere").mkdir()
        (home / "skills").mkdir()
        (home / "skills/add-order").symlink_to(home / "elsewhere")

        assert (1, []) == (surehand(home, "emit-skill", "own", "--out", "skills").code, names_in(home / "elsewhere"))

    def test_a_changed_bundle(self, home: Path) -> None:
        (home / "own" / WORKFLOW_FILE).write_bytes(b"canary")
        told = surehand(home, "emit-skill", "own", "--out", "skills")

        assert (1, True, False) == (told.code, "file_changed" in told.err, (home / "skills").exists())
