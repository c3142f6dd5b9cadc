"""What a script reads of the commands that change something: JSON alone on standard output, and the exit code.

Laws:

- It names what was made or changed as a person is told it, and nothing else stands there.
- What was refused is told by the exit code, and by a code where there is one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from support.command_line import Told, surehand
from support.own_bundle import OWN
from support.serving import admit, note_bundle, put
from support.stopped import CANARIES, StoppedRuns, runs_of_home
from surehand.core.wire import to_wire
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.bundles import load_bundle, write_bundle
from surehand.shell.cli import sign_in
from surehand.shell.cli.record import End


def asked(home: Path, *command: str, code: int = 0) -> Any:  # noqa: ANN401 - parsed JSON
    """What a command prints as JSON."""
    told = surehand(home, *command, "--json")
    assert (code, "") == (told.code, told.err)
    return json.loads(told.out)


class TestABundle:
    """What was sealed and written is told with its facts; what was refused by its code."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """A home folder with a workflow in it."""
        write_bundle(tmp_path / "own", OWN, machine_folder=tmp_path / ".config" / "surehand")
        return tmp_path

    def test_that_was_sealed(self, home: Path) -> None:
        found = load_bundle(home / "own", machine_folder=home / ".config" / "surehand")

        expected = {"sealed": True, "name": OWN.workflow, "digest": found.digest, "encrypted": False}
        assert expected.items() <= asked(home, "bundle", "seal", "own").items()

    def test_that_was_refused(self, home: Path) -> None:
        assert {"accepted": False, "code": "not_a_folder"} == asked(home, "bundle", "seal", "nowhere", code=1)

    def test_compared_with_itself(self, home: Path) -> None:
        assert {"same": True, "differences": []} == asked(home, "bundle", "diff", "own", "own")
        assert "They do the same.\n" == surehand(home, "bundle", "diff", "own", "own").out

    def test_as_a_skill(self, home: Path) -> None:
        written = asked(home, "emit-skill", "own", "--out", "skills")

        assert {"skill": "add-order", "workflow": "add_order", "file": "skills/add-order/SKILL.md"} == written
        assert (home / written["file"]).exists()
        assert {"accepted": False, "code": "not_a_folder"} == asked(home, "emit-skill", "nowhere", "--out", "s", code=1)


class TestAnAdmission:
    """A list that is empty says so to a person; how many were taken back is a number."""

    def test_that_nobody_gave(self, tmp_path: Path) -> None:
        assert {"admissions": []} == asked(tmp_path, "admit", "--list")
        assert "Nothing was admitted here.\n" == surehand(tmp_path, "admit", "--list").out

    def test_that_was_taken_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
        (bundle,) = put(tmp_path / "bundles", note_bundle())
        admit(tmp_path / "runs" / "surehand", bundle)
        command = ("admit", "bundles/add_note", "--revoke", "--runs-dir", "runs")

        assert [{"revoked": 1}, {"revoked": 0}] == [asked(tmp_path, *command) for _ in range(2)]


class TestAClientsConfiguration:
    """The file that was written, whether it had to change, and the copy of what stood there before."""

    def test_each_state(self, tmp_path: Path) -> None:
        new = asked(tmp_path, "install", "cursor")
        same = asked(tmp_path, "install", "cursor")
        other = asked(tmp_path, "install", "cursor", "--sandbox-engine", "simulated")

        file = str(tmp_path / ".cursor" / "mcp.json")
        assert {"file": file, "changed": True, "backup": None} == new
        assert {**new, "changed": False} == same
        assert {**new, "backup": f"{file}.before-surehand-1"} == other

    def test_what_would_be_written(self, tmp_path: Path) -> None:
        assert ["surehand"] == list(asked(tmp_path, "install", "cursor", "--print")["mcpServers"])
        assert [] == list(tmp_path.iterdir())


class TestAStoppedRun:
    """The item whose app is opened again, and the item as it stands when it was given another day."""

    @pytest.fixture
    def runs(self, tmp_path: Path) -> Iterator[StoppedRuns]:
        """Runs of the installation whose home is the folder of the test."""
        with runs_of_home(tmp_path) as made:
            yield made

    def test_is_opened_again(self, tmp_path: Path, runs: StoppedRuns) -> None:
        item = runs.stop(window=False).attention_id

        assert {"id": item, "asked": True} == asked(tmp_path, "attend", "open", item, "--runs-dir", "runs")
        assert [item] == [each.pause_id for each in runs.attention.openings()]

    def test_has_another_day(self, tmp_path: Path, runs: StoppedRuns) -> None:
        stopped = runs.stop()
        runs.let_expire(stopped)
        renewed = asked(tmp_path, "attend", "renew", stopped.attention_id, "--runs-dir", "runs")
        item = AttendedDesk.over(runs.store, tmp_path / "runs" / "surehand").item(stopped.attention_id)

        assert (to_wire(item), "open") == (renewed, renewed["status"])
        assert not [word for word in CANARIES if word in json.dumps(renewed)]

    @pytest.mark.parametrize("command", ["open", "renew"])
    def test_that_is_not_known(self, tmp_path: Path, runs: StoppedRuns, command: str) -> None:
        runs.stop()
        told: Told = surehand(tmp_path, "attend", command, "att_" + "0" * 24, "--runs-dir", "runs", "--json")

        assert (1, "", True) == (told.code, told.out, "No stopped run is known" in told.err)


class TestASession:
    """The origin for which it is kept."""

    def test_that_was_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        origin, asked_for = "https://app.example", list[tuple[str, End, Path]]()

        def signed_in(url: str, end: End, *, state_folder: Path) -> str:
            asked_for.append((url, end, state_folder))
            return origin

        monkeypatch.setattr(sign_in, "sign_in", signed_in)
        told = CliRunner().invoke(sign_in.command, [f"{origin}/canary?secret", "--json"])

        assert (0, {"kept": True, "origin": origin}) == (told.exit_code, json.loads(told.stdout))
        assert [f"{origin}/canary?secret"] == [url for url, *_ in asked_for]
