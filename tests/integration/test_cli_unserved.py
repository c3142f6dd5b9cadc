"""What was said about workflows and is not served: refused by name, or told.

Laws:

- What says where an app is, or how strictly workflows run, is refused where no workflows of one's own are named.
- Recording needs an app and no bundles; without an app the server says so.
- A bundle is no folder of bundles; folders that are none are counted, and nobody waits for nothing at a terminal.
"""

import sys
from contextlib import chdir
from pathlib import Path

import pytest
from attrs import evolve

from support.command_line import Told, surehand
from support.mcp_clients import RawClient, environment
from support.serving import note_bundle, put
from support.terminal import at_terminal
from surehand.shell.config import BundleArguments, ConfigError, settings

URL = ("--url", "https://canary.example")

#: Each thing that can be said, by the argument that says it.
SAID = {
    "--profile": BundleArguments(profile="standard"),
    "--policy": BundleArguments(policy="permissive"),
    "--key-file": BundleArguments(key_file="canary"),
    "--url": BundleArguments(apps=URL[1:]),
    "--parallel-per-app": BundleArguments(parallel_per_app=2),
}


def serve(home: Path, *options: str) -> Told:
    """A server that a client greets, asks what it serves, and leaves once it was answered."""
    command = [sys.executable, "-P", "-m", "surehand", "serve", "--sandbox-engine", "simulated", *options]
    variables = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_STATE_HOME": str(home / ".state")}
    with chdir(home), RawClient(command, {**environment(), **variables}) as client:
        client.handshake()
        client.answer(client.begin_call("list_workflows", {}))
        client.end_input()
        return Told(client.exit_code(), "", client.errors())


class TestWhatIsAboutWorkflowsNeedsSome:
    """Without a folder of bundles it is refused by its name; nothing that was said is silently left out."""

    @pytest.mark.parametrize("name", SAID)
    def test_each(self, name: str) -> None:
        with pytest.raises(ConfigError, match=f"^{name} is about workflows of your own: name their folder"):
            settings(bundles=SAID[name], environ={"SUREHAND_CONFIG": "/dev/null"})

    @pytest.mark.parametrize("name", SAID)
    def test_recording_has_an_app_and_a_policy(self, name: str) -> None:
        asked = evolve(SAID[name], recording=True)
        if name in {"--url", "--policy"}:
            assert settings(bundles=asked, environ={"SUREHAND_CONFIG": "/dev/null"}).bundles is None
        else:
            with pytest.raises(ConfigError, match=f"^{name} is about"):
                settings(bundles=asked, environ={"SUREHAND_CONFIG": "/dev/null"})

    @pytest.mark.parametrize(
        "command",
        [
            ("serve",),
            ("serve", "--mode", "sandbox"),
            ("serve", "--tutorial"),
            ("run", "add_triage_note", "--inputs", "-", "--request-id", "r"),
            ("run", "add_triage_note", "--dry-run"),
            ("plan", "check", "plan.toml"),
            ("install", "claude"),
        ],
        ids=" ".join,
    )
    def test_by_every_command(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        plan = Path(__file__).parents[2] / "docs" / "how-to" / "plans" / "triage_two_notes.toml"
        (tmp_path / "plan.toml").write_bytes(plan.read_bytes())
        told = surehand(tmp_path, *command, *URL, "--policy", "permissive", stdin="{}")

        expected = "Error: --policy, --url are about workflows of your own: name their folder with --bundles\n"
        assert (2, "", expected) == (told.code, told.out, told.err)
        assert ["plan.toml"] == [each.name for each in tmp_path.iterdir()]

    def test_with_a_folder_it_is_taken(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle())

        assert (0, "") == ((told := serve(tmp_path, "--bundles", "bundles", *URL)).code, told.err)

    def test_a_client_is_given_nothing_that_does_not_start(self, tmp_path: Path) -> None:
        (tmp_path / "bundles").mkdir()
        refused = surehand(tmp_path, "install", "claude", "--mode", "production")
        settled = tmp_path / "config.toml"
        settled.write_text(f'[bundles]\nfolder = "{tmp_path / "bundles"}"')
        taken = surehand(tmp_path, "install", "claude", "--mode", "production", "--print", SUREHAND_CONFIG=str(settled))

        assert (2, 0) == (refused.code, taken.code)
        assert not (tmp_path / ".mcp.json").exists()


class TestABundleIsNoFolderOfBundles:
    """Whoever names a bundle in the place of the folder in which it lies is told so."""

    @pytest.mark.parametrize(
        "command", [("serve",), ("doctor",), ("run", "add_note"), ("install", "claude")], ids=" ".join
    )
    def test_it_is_refused(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        put(tmp_path / "bundles", note_bundle())
        told = surehand(tmp_path, *command, "--bundles", "bundles/add_note")

        assert (2, "") == (told.code, told.out)
        assert "this is a bundle itself; name the folder in which it lies" in told.err


class TestWhatIsNotServedIsTold:
    """Standard error says what a server does not serve although it could have been meant; else it says nothing."""

    def test_the_sandbox_says_nothing(self, tmp_path: Path) -> None:
        told = serve(tmp_path)

        assert (0, "") == (told.code, told.err)

    def test_recording_tools_without_an_app(self, tmp_path: Path) -> None:
        without, named = serve(tmp_path, "--authoring"), serve(tmp_path, "--authoring", *URL)

        assert "surehand: no app is named, so the recording tools open none: add --url ORIGIN\n" == without.err
        assert (0, "") == (named.code, named.err)

    def test_folders_that_are_no_bundles(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", note_bundle())
        (tmp_path / "bundles" / "canary").mkdir()
        told = serve(tmp_path, "--bundles", "bundles")

        expected = "surehand: folders of bundles that are not served: 1; surehand bundle verify names the reason\n"
        assert expected == told.err

    def test_a_folder_without_any(self, tmp_path: Path) -> None:
        (tmp_path / "bundles").mkdir()

        expected = "surehand: no workflow is served: the folder of bundles holds none that can be\n"
        assert expected == serve(tmp_path, "--bundles", "bundles").err

    def test_at_a_terminal_that_it_waits(self, tmp_path: Path) -> None:
        shown = at_terminal(tmp_path, "serve", answers=(("waiting for an MCP client", "\x04"),))

        assert (0, True) == (shown.code, "surehand install --help" in shown.screen)
