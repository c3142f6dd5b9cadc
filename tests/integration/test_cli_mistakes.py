"""What a newcomer gets wrong, and what the command line says then.

Laws:

- It is said what was named wrongly, and what could have been named.
- Nothing of it fails inside, and nothing is made.
"""

import json
from pathlib import Path

import pytest

from support.command_line import surehand
from support.serving import note_bundle, put
from surehand.core.outcome.result import FailedCheck
from surehand.shell.doctor import TO_DO

INPUTS = json.dumps({"note": "Seen today.", "sandbox_case": "normal"})
ENTRY = ("--inputs", "-", "--request-id", "r")
SIMULATED = ("--sandbox-engine", "simulated")
UNKNOWN = "run_" + "0" * 32


class TestTheFolderOfTheState:
    """One that is a file is refused before anything is looked for in it; one of the environment is told as a fault."""

    @pytest.mark.parametrize(
        "command",
        [
            ("run", "add_triage_note", *ENTRY),
            ("runs", "list"),
            ("runs", "show", UNKNOWN),
            ("plan", "list"),
            ("attend", "list"),
            ("admit", "--list"),
            ("doctor",),
        ],
        ids=" ".join,
    )
    def test_a_file_in_its_place(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        (tmp_path / "file").touch()
        told = surehand(tmp_path, *command, "--runs-dir", "file", stdin=INPUTS)

        assert (2, "") == (told.code, told.out)
        assert "'--runs-dir': Directory 'file' is a file." in told.err

    @pytest.mark.parametrize("more", [(), ("--html",), ("--json",)], ids=" ".join)
    def test_a_run_is_asked_for_where_nothing_can_be_read(self, tmp_path: Path, more: tuple[str, ...]) -> None:
        (tmp_path / "file").touch()
        named = surehand(tmp_path, "runs", "show", UNKNOWN, *more, SUREHAND_RUNS_DIR="file")
        bogus = surehand(tmp_path, "runs", "show", "bogus", *more, SUREHAND_RUNS_DIR="file")

        assert "failed inside" not in named.err + bogus.err
        assert (1, "", True) == (bogus.code, bogus.out, "`surehand runs list` shows" in bogus.err)
        if more == ("--html",):
            assert (1, "", True) == (named.code, named.out, "(store_unavailable). Run surehand doctor." in named.err)
        else:
            assert (5, True) == (named.code, "store_unavailable" in named.out)

    def test_the_doctor_says_which_it_is(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "doctor", *SIMULATED, "--runs-dir", "here")

        assert told.out.endswith(f"\nThe state folder is {tmp_path / 'here' / 'surehand'}\n")


class TestTheDoctorSaysWhatToDo:
    """What it finds lacking or damaged is told by its code and with what to do about it."""

    def says(self, home: Path, check: str, **variables: str) -> str:
        """What it says of one check."""
        told = surehand(home, "doctor", "--runs-dir", "runs", "--json", **variables)
        (found,) = [str(each["says"]) for each in json.loads(told.out)["findings"] if each["check"] == check]
        return found

    def test_without_a_browser(self, tmp_path: Path) -> None:
        said = self.says(tmp_path, "browser", SUREHAND_CHROMIUM="/nothing/here")

        assert said.startswith(
            "browser_missing: install Chromium, Chrome or Edge, or run `playwright install chromium`"
        )
        assert said.endswith("; until then the simulated engine is used")

    def test_with_a_damaged_store(self, tmp_path: Path) -> None:
        surehand(tmp_path, "run", "add_triage_note", *ENTRY, *SIMULATED, "--runs-dir", "runs", stdin=INPUTS)
        (tmp_path / "runs" / "surehand" / "ledger.db").write_bytes(b"not a ledger")

        said = self.says(tmp_path, "store", SUREHAND_CHROMIUM="/nothing/here")
        assert (
            "store_corrupt: it is kept as it is; move the state folder away, and restore a backup or begin anew" == said
        )

    @pytest.mark.parametrize("check", [each for each in FailedCheck if each.name.startswith(("STORE", "BROWSER"))])
    def test_about_every_store_and_browser(self, check: FailedCheck) -> None:
        assert TO_DO[check]


class TestAWorkflowThatIsNotServed:
    """A person is told which names there are; a program has the code."""

    def test_in_the_sandbox(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "run", "nope", *ENTRY, *SIMULATED, stdin=INPUTS)
        again = surehand(tmp_path, "run", "nope", *ENTRY, *SIMULATED, "--json", stdin=INPUTS)
        dry = surehand(tmp_path, "run", "nope", "--dry-run")

        assert (5, "Served here: add_triage_note.") == (told.code, told.out.splitlines()[-1])
        assert (5, "unknown_workflow") == (again.code, json.loads(again.out)["reason"])
        assert (1, "Served here: add_triage_note.") == (dry.code, dry.out.splitlines()[-1])

    def test_of_ones_own(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle(), note_bundle(workflow="add_other"))
        (tmp_path / "none").mkdir()
        told = surehand(tmp_path, "run", "nope", "--dry-run", "--bundles", "bundles")
        none = surehand(tmp_path, "run", "nope", "--dry-run", "--bundles", "none")

        assert ["Served here: add_note, add_other.", "Served here: none."] == [
            each.out.splitlines()[-1] for each in (told, none)
        ]

    def test_a_folder_in_the_place_of_its_name(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle())
        told = surehand(tmp_path, "run", "bundles/add_note", *ENTRY, stdin=INPUTS)

        assert (2, "", True) == (told.code, told.out, "name the folder in which that lies by --bundles" in told.err)

    def test_a_known_one_is_not_followed_by_a_list(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "run", "add_triage_note", *ENTRY, *SIMULATED, stdin=INPUTS)

        assert (0, False) == (told.code, "Served here" in told.out)


class TestABundlesFolder:
    """The folder is named that is refused; one in which bundles lie is called so."""

    @pytest.mark.parametrize(
        "command",
        [("bundle", "verify"), ("bundle", "show"), ("bundle", "seal"), ("certify",), ("admit",)],
        ids=" ".join,
    )
    def test_a_folder_of_bundles_in_its_place(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        put(tmp_path / "bundles", note_bundle())
        told = surehand(tmp_path, *command, "bundles")

        assert (1, "") == (told.code, told.out)
        assert "Error: bundles is refused as a bundle (" in told.err
        assert told.err.endswith("): it is a folder of bundles; name one of those in it.\n")

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "own").mkdir()
        told = surehand(tmp_path, "certify", "own")

        assert "Error: own is refused as a bundle (manifest_missing): it has no manifest" in told.err

    def test_no_folder(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "bundle", "verify", "own")

        expected = "Error: own is refused as a bundle (not_a_folder): there is no folder of this name.\n"
        assert (1, "", expected) == (told.code, told.out, told.err)

    def test_a_folder_of_no_bundles_is_a_warning_of_the_doctor(self, tmp_path: Path) -> None:
        (tmp_path / "none").mkdir()
        told = surehand(tmp_path, "doctor", *SIMULATED, "--bundles", "none")

        assert (0, True) == (told.code, "warning  bundles      0 whole, 0 refused" in told.out)


class TestWhatContradictsItself:
    """It is bad usage, and neither half of it is done."""

    @pytest.mark.parametrize("more", [("own",), ("--revoke",), ("own", "--revoke")], ids=" ".join)
    def test_a_list_of_admissions_of_something(self, tmp_path: Path, more: tuple[str, ...]) -> None:
        told = surehand(tmp_path, "admit", "--list", *more)

        assert (2, "", True) == (told.code, told.out, "give --list alone" in told.err)


class TestARequestId:
    """Whoever takes a text that is none is told what one looks like."""

    @pytest.mark.parametrize(
        "command",
        [
            ("run", "add_triage_note", "--inputs", "-", *SIMULATED),
            ("plan", "run", "plan.toml", "--inputs", "-", *SIMULATED),
            ("runs", "list"),
        ],
        ids=" ".join,
    )
    def test_that_is_none(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        plan = Path(__file__).parents[2] / "docs" / "how-to" / "plans" / "triage_two_notes.toml"
        (tmp_path / "plan.toml").write_bytes(plan.read_bytes())
        told = surehand(tmp_path, *command, "--request-id", "CANARY id", stdin=INPUTS)

        assert (2, "", False) == (told.code, told.out, "CANARY" in told.err)
        assert "1 to 200 letters, digits and . _ : -, the first a letter or a digit" in told.err
