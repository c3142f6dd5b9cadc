"""Bundles on the command line: what a client's configuration is told, what the doctor finds, what a run is told."""

import json
from pathlib import Path

import pytest

from support.command_line import surehand
from support.serving import note_bundle, put

ENTRY = json.dumps({"note": "Seen today."})


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    """A folder with one bundle."""
    put(tmp_path / "bundles", note_bundle())
    return tmp_path / "bundles"


def arguments(told: str) -> list[str]:
    """The arguments of the server in a printed configuration."""
    entry = json.loads(told)["mcpServers"]["surehand"]
    found: list[str] = entry["args"]
    return found[found.index("serve") + 1 :]


class TestAClientIsGivenTheBundles:
    """The server's arguments name them by absolute paths, and let runs happen only where that was said."""

    @pytest.mark.usefixtures("bundles")
    def test_by_absolute_paths(self, tmp_path: Path) -> None:
        (tmp_path / "ours.toml").touch()
        said = ["--bundles", "bundles", "--mode", "production", "--policy", "ours.toml", "--url", "http://127.0.0.1:9"]
        told = surehand(tmp_path, "install", "claude", "--print", *said, "--profile", "regulated")

        assert arguments(told.out) == [
            *("--mode", "production", "--bundles", str(tmp_path / "bundles"), "--profile", "regulated"),
            *("--policy", str(tmp_path / "ours.toml"), "--url", "http://127.0.0.1:9"),
        ]

    @pytest.mark.usefixtures("bundles")
    def test_reading_alone_unless_told_otherwise(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "install", "cursor", "--print", "--bundles", "bundles", "--policy", "permissive")

        assert arguments(told.out) == ["--bundles", str(tmp_path / "bundles"), "--policy", "permissive"]

    def test_a_mode_without_bundles_is_bad_usage(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "install", "claude", "--print", "--mode", "production")

        assert (told.code, told.out) == (2, "")


class TestTheDoctorLooksAtBundles:
    """Whole ones and refused ones are counted; a folder that cannot be read or a bad key is a failure."""

    def finding(self, tmp_path: Path, *more: str, **environment: str) -> dict[str, str]:
        """What the doctor says of the bundles."""
        command = ["doctor", "--sandbox-engine", "simulated", "--json", "--bundles", "bundles", *more]
        findings = json.loads(surehand(tmp_path, *command, **environment).out)["findings"]
        (found,) = [each for each in findings if each["check"] == "bundles"]
        return {name: str(value) for name, value in found.items()}

    def test_each_state(self, tmp_path: Path, bundles: Path) -> None:
        whole = self.finding(tmp_path)
        (bundles / "empty").mkdir()
        refused = self.finding(tmp_path)
        keyless = self.finding(tmp_path, SUREHAND_BUNDLE_KEY="short")

        assert (whole["state"], whole["says"]) == ("ok", "1 whole, 0 refused")
        assert (refused["state"], refused["says"]) == ("warning", "1 whole, 1 refused")
        assert keyless["state"] == "failed"
        assert "short" not in keyless["says"].replace("too short", "")


class TestARunOfOnesOwnWorkflow:
    """It is refused by name until it is certified and admitted, and starts no browser for that."""

    @pytest.mark.usefixtures("bundles")
    def test_what_is_not_in_order_is_named(self, tmp_path: Path) -> None:
        asked = ["run", "add_note", "--bundles", "bundles", "--inputs", "-", "--request-id", "r-1", "--json"]
        told = surehand(tmp_path, *asked, stdin=ENTRY)
        result = json.loads(told.out)

        assert (told.code, result["reason"], result["mode"]) == (5, "not_ready_to_run", "production")
        assert {"not_certified", "not_admitted"} <= set(result["failed_checks"])

    @pytest.mark.usefixtures("bundles")
    def test_a_place_that_is_none_is_bad_usage(self, tmp_path: Path) -> None:
        asked = ["run", "add_note", "--bundles", "bundles", "--inputs", "-", "--request-id", "r-1"]
        told = surehand(tmp_path, *asked, "--url", "canary", stdin=ENTRY)

        assert told.code == 2
        assert "canary" not in told.err
