"""The commands about bundles, certification and admission, as people use them.

Laws:

- Admitting takes a person at a terminal who types the workflow's name; nothing else admits.
- A dry run asks the very gate of a run, and starts nothing.
- A refusal names what is wrong and what to do, and repeats nothing of the bundle.
"""

import json
from pathlib import Path

import pytest

from support.command_line import Told, surehand
from support.own_bundle import LESS, OTHER, OWN, PASSPHRASE
from support.terminal import at_terminal
from surehand.core.workflow.bundle import bundle_digest
from surehand.core.workflow.manifest import CARD_FILE, MANIFEST_FILE, WORKFLOW_FILE, BundleProblem
from surehand.shell.bundles import write_bundle
from surehand.shell.cli.bundle import EXPLAINED

QUESTION = "to admit it: "


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with workflows in it."""
    write_bundle(tmp_path / "workflows" / "own", OWN, machine_folder=tmp_path / ".config" / "surehand")
    write_bundle(tmp_path / "other", OTHER, machine_folder=tmp_path / ".config" / "surehand")
    return tmp_path


def certified(home: Path, *options: str) -> Told:
    """Certify the workflow."""
    return surehand(home, "certify", "workflows/own", *options)


class TestBundle:
    """A folder is judged, told, compared and sealed."""

    def test_verify(self, home: Path) -> None:
        told = surehand(home, "bundle", "verify", "workflows/own", "--json")

        assert {
            "accepted": True,
            "name": "add_order",
            "digest": bundle_digest(OWN),
            "encrypted": False,
            "seal": "none",
        } == json.loads(told.out)
        assert 0 == told.code == surehand(home, "bundle", "verify", "workflows/own").code

    def test_verify_refuses_by_a_code(self, home: Path) -> None:
        (home / "workflows/own" / WORKFLOW_FILE).write_bytes(b"canary")
        told, as_json = (surehand(home, "bundle", "verify", "workflows/own", *more) for more in ((), ("--json",)))

        assert (1, 1) == (told.code, as_json.code)
        assert {"accepted": False, "code": "file_changed"} == json.loads(as_json.out)
        assert "file_changed" in told.err
        assert "canary" not in told.out + told.err + as_json.out + as_json.err

    def test_every_refusal_is_explained(self) -> None:
        assert set(BundleProblem) == set(EXPLAINED)

    def test_show(self, home: Path) -> None:
        told = surehand(home, "bundle", "show", "workflows/own")
        data = json.loads(surehand(home, "bundle", "show", "workflows/own", "--json").out)

        assert [] == [word for word in ("enter_number", "/orders/new", "the input size") if word not in told.out]
        assert ("add_order", "surehand.bundle/v1") == (data["name"], data["workflow"]["schema"])

    def test_diff(self, home: Path) -> None:
        same = surehand(home, "bundle", "diff", "workflows/own", "workflows/own", "--json")
        told = surehand(home, "bundle", "diff", "workflows/own", "other")

        assert (0, {"same": True, "differences": []}) == (same.code, json.loads(same.out))
        assert (1, True) == (told.code, "+ “Preview”" in told.out)

    def test_seal_after_a_card_was_written(self, home: Path) -> None:
        card = {"schema": "surehand.card/v1", "purpose": "Adds it.", "done_means": "It is there."}
        (home / "workflows/own" / CARD_FILE).write_text(json.dumps(card))
        assert 1 == surehand(home, "bundle", "verify", "workflows/own").code

        assert 0 == surehand(home, "bundle", "seal", "workflows/own").code
        assert "this_machine" in surehand(home, "bundle", "verify", "workflows/own").out

    def test_a_card_that_cannot_be_shown_is_told(self, home: Path) -> None:
        (home / "workflows/own" / CARD_FILE).write_text("{}")
        surehand(home, "bundle", "seal", "workflows/own")

        told = json.loads(surehand(home, "bundle", "verify", "workflows/own", "--json").out)
        assert "not_a_card" == told["card"]

    def test_seal_with_a_key(self, home: Path) -> None:
        key = home / "key"
        key.write_bytes(PASSPHRASE)
        key.chmod(0o600)
        assert 0 == surehand(home, "bundle", "seal", "workflows/own", "--key-file", str(key)).code

        assert "key_missing" in surehand(home, "bundle", "verify", "workflows/own").err
        by_file = surehand(home, "bundle", "verify", "workflows/own", "--key-file", str(key), "--json")
        by_name = surehand(home, "bundle", "verify", "workflows/own", "--json", SUREHAND_BUNDLE_KEY=PASSPHRASE.decode())
        assert bundle_digest(OWN) == json.loads(by_file.out)["digest"] == json.loads(by_name.out)["digest"]

    def test_seal_refuses_what_is_no_workflow(self, home: Path) -> None:
        (home / "workflows/own" / WORKFLOW_FILE).write_text("{}")

        assert (1, True) == (
            (told := surehand(home, "bundle", "seal", "workflows/own")).code,
            "not_a_workflow" in told.err,
        )

    @pytest.mark.parametrize("command", ["verify", "seal"])
    def test_a_damaged_key_of_this_machine(self, home: Path, command: str) -> None:
        (home / ".config/surehand").mkdir(parents=True, exist_ok=True)
        (home / ".config/surehand/machine.key").write_bytes(b"short")
        told = surehand(home, "bundle", command, "workflows/own")

        assert (1, True) == (told.code, "signing key" in told.err)

    def test_a_key_that_others_may_read(self, home: Path) -> None:
        key = home / "key"
        key.write_bytes(PASSPHRASE)
        key.chmod(0o644)
        told = surehand(home, "bundle", "verify", "workflows/own", "--key-file", str(key))

        assert (2, True) == (told.code, "mode 600" in told.err)


class TestCertify:
    """Every check is told; what fails is told with its place, and nothing is kept."""

    def test_what_satisfies(self, home: Path) -> None:
        told = certified(home, "--policy", "clinical-write", "--json")
        data = json.loads(told.out)

        assert (0, True, "clinical-write") == (told.code, data["certified"], data["policy"])
        assert {"passed", "not asked"} == {each["state"] for each in data["checks"]}
        assert "certified: add_order" in certified(home).out

    def test_what_does_not(self, home: Path) -> None:
        write_bundle(home / "less", LESS["sockets_open"], machine_folder=home / "keys")
        told = surehand(home, "certify", "less", "--policy", "clinical-write")
        data = json.loads(surehand(home, "certify", "less", "--policy", "clinical-write", "--json").out)

        assert (1, True, True) == (told.code, "failed" in told.out, "/live" in told.out)
        assert [["/live"]] == [each["where"] for each in data["checks"] if each["state"] == "failed"]
        assert not (home / ".local/state").exists()

    def test_where_the_operator_says_the_app_is(self, home: Path) -> None:
        elsewhere = "https://orders.example=http://test.example:80"
        told = certified(home, "--policy", "clinical-write", "--url", elsewhere)

        assert (1, True) == (told.code, "“http://test.example”" in told.out)
        assert 2 == certified(home, "--url", "test.example/path").code

    def test_as_the_settings_file_says(self, home: Path) -> None:
        (home / "own.toml").write_text('[bundles]\npolicy = "clinical-write"\n')
        told = surehand(home, "certify", "workflows/own", "--json", SUREHAND_CONFIG="own.toml")

        assert "clinical-write" == json.loads(told.out)["policy"]

    @pytest.mark.parametrize("policy", ["nobody", "."])
    def test_no_policy(self, home: Path, policy: str) -> None:
        told = certified(home, "--policy", policy)

        assert (2, True) == (told.code, "policy" in told.err)

    def test_a_record_that_cannot_be_kept(self, home: Path) -> None:
        (home / "in-the-way").write_text("")
        told = certified(home, "--runs-dir", str(home / "in-the-way"))

        assert (1, True) == (told.code, "nothing is certified" in told.err)


class TestAdmit:
    """A person at a terminal sees the workflow, types its name, and it may run; nothing else admits."""

    def test_by_its_name(self, home: Path) -> None:
        certified(home)
        shown = at_terminal(home, "admit", "workflows/own", answers=((QUESTION, "add_order"),))

        assert (0, True) == (shown.code, "admitted until" in shown.screen)
        assert [] == [
            word for word in ("enter_number", "POST to /orders", "standard", "90") if word not in shown.screen
        ]
        assert 0 == surehand(home, "run", "workflows/own", "--dry-run").code
        (row,) = json.loads(surehand(home, "admit", "--list", "--json").out)["admissions"]
        assert ("in_force", "add_order", "standard") == (row["standing"], row["workflow"], row["profile"])

    @pytest.mark.parametrize("typed", ["", "yes", "add_orders", "ADD_ORDER"])
    def test_not_by_another_word(self, home: Path, typed: str) -> None:
        certified(home)
        shown = at_terminal(home, "admit", "workflows/own", answers=((QUESTION, typed),))

        assert (1, True) == (shown.code, "nothing was admitted" in shown.screen)
        assert "" == surehand(home, "admit", "--list").out

    def test_not_without_a_terminal(self, home: Path) -> None:
        certified(home)
        told = surehand(home, "admit", "workflows/own", stdin="add_order\n")

        assert (1, "", True) == (told.code, told.out, "at a terminal" in told.err)
        assert "" == surehand(home, "admit", "--list").out

    def test_not_before_it_is_certified(self, home: Path) -> None:
        shown = at_terminal(home, "admit", "workflows/own")

        assert (1, True) == (shown.code, "not_certified: " in shown.screen)

    def test_not_under_another_policy(self, home: Path) -> None:
        certified(home)
        shown = at_terminal(home, "admit", "workflows/own", "--policy", "clinical-write")

        assert (1, True) == (shown.code, "not_certified: " in shown.screen)

    def test_regulated_asks_for_more(self, home: Path) -> None:
        certified(home)
        shown = at_terminal(home, "admit", "workflows/own", "--profile", "regulated")

        assert [] == [word for word in ("not_encrypted: ", "not_sealed: ") if word not in shown.screen]
        assert 2 == surehand(home, "admit", "workflows/own", "--profile", "demo").code

    def test_taken_back(self, home: Path) -> None:
        certified(home)
        at_terminal(home, "admit", "workflows/own", answers=((QUESTION, "add_order"),))

        assert "revoked: 1\n" == surehand(home, "admit", "workflows/own", "--revoke").out
        told = surehand(home, "run", "workflows/own", "--dry-run")
        assert (1, True) == (told.code, "admission_revoked: " in told.out)
        assert "revoked" == surehand(home, "admit", "--list").out.split()[0]

    def test_a_changed_bundle_is_not_admitted(self, home: Path) -> None:
        certified(home)
        at_terminal(home, "admit", "workflows/own", answers=((QUESTION, "add_order"),))
        write_bundle(home / "workflows/own", OTHER, machine_folder=home / ".config" / "surehand")
        told = surehand(home, "run", "add_order", "--bundles", "workflows", "--dry-run", "--json")

        assert {"would_run": False, "failed_checks": ["not_certified", "not_admitted"]} == json.loads(told.out)

    def test_what_is_missing(self, home: Path) -> None:
        assert 2 == surehand(home, "admit").code
        assert 1 == surehand(home, "admit", "nowhere").code
        assert 2 == surehand(home, "admit", "workflows/own", "--days", "400").code


class TestDryRun:
    """It says what would refuse a run, and starts nothing."""

    def test_each_check_is_explained(self, home: Path) -> None:
        told = surehand(home, "run", "workflows/own", "--dry-run")

        assert 1 == told.code
        assert [] == [word for word in ("not_certified: ", "not_admitted: ", "surehand admit") if word not in told.out]
        assert not (home / ".local/state").exists()

    def test_a_folder_that_is_refused(self, home: Path) -> None:
        (home / "workflows/own" / MANIFEST_FILE).unlink()
        told = surehand(home, "run", "workflows/own", "--dry-run")
        data = json.loads(surehand(home, "run", "workflows/own", "--dry-run", "--json").out)

        assert (1, True) == (told.code, "manifest_missing" in told.out)
        assert {"would_run": False, "problem": "manifest_missing", "failed_checks": []} == data

    def test_the_sandbox(self, home: Path) -> None:
        told = surehand(home, "run", "add_triage_note", "--dry-run")

        assert (0, True) == (told.code, told.out.startswith("would run: add_triage_note"))

    def test_no_such_workflow(self, home: Path) -> None:
        told, as_json = (surehand(home, "run", "nobody", "--dry-run", *more) for more in ((), ("--json",)))

        assert (1, 1) == (told.code, as_json.code)
        assert "unknown_workflow" == json.loads(as_json.out)["problem"]

    def test_a_run_needs_inputs_and_a_request_id(self, home: Path) -> None:
        told = surehand(home, "run", "add_triage_note")

        assert (2, True) == (told.code, "--inputs and --request-id" in told.err)
