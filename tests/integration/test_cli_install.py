"""Writing into the configuration of an MCP client.

Laws:

- Nothing that stood in the file is lost, whatever it was; the file as it was is kept beside it.
- A file that is not understood to the last character is not touched.
"""

import json
import os
import stat
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.shell.install import Client, ClientFileError, client_entry, client_file, install, server_command

COMMAND = server_command(("--sandbox-engine", "simulated"))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SERVERS = st.dictionaries(st.text().filter(lambda name: name != "surehand"), JSON)


class TestNothingIsLost:
    """Every other member stays as it was, in its order; the file as it was is kept."""

    @given(st.dictionaries(st.text(), JSON), SERVERS, st.booleans())
    def test_for_every_file(self, members: dict[str, object], servers: dict[str, object], escaped: bool) -> None:
        before = {**members, "mcpServers": servers}
        with TemporaryDirectory() as folder:
            path = Path(folder) / "mcp.json"
            path.write_bytes(json.dumps(before, ensure_ascii=escaped).encode("utf-8", "surrogatepass"))

            done = install(Client.CURSOR, path, COMMAND)

            after = json.loads(path.read_bytes())
            entry = after["mcpServers"].pop("surehand")
            assert (COMMAND, before, list(before)) == (entry, after, list(after))
            assert done.backup is not None
            assert before == json.loads(done.backup.read_bytes())

    def test_our_older_entry_is_replaced_and_kept_in_the_copy(self, tmp_path: Path) -> None:
        path = tmp_path / "mcp.json"
        install(Client.VSCODE, path, server_command())
        older = path.read_bytes()

        done = install(Client.VSCODE, path, COMMAND)

        assert client_entry(Client.VSCODE, COMMAND) == json.loads(path.read_bytes())
        assert done.backup is not None
        assert older == done.backup.read_bytes()

    def test_the_same_entry_changes_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "mcp.json"
        install(Client.CLAUDE, path, COMMAND)
        before = path.stat()

        done = install(Client.CLAUDE, path, COMMAND)

        assert (False, None, before.st_ino) == (done.changed, done.backup, path.stat().st_ino)

    def test_copies_never_replace_copies(self, tmp_path: Path) -> None:
        path = tmp_path / "mcp.json"
        path.write_text("{}")
        first = install(Client.CLAUDE, path, server_command())
        second = install(Client.CLAUDE, path, COMMAND)

        assert None not in {first.backup, second.backup}
        assert first.backup != second.backup

    def test_mode_and_link_stay(self, tmp_path: Path) -> None:
        real = tmp_path / "real.json"
        real.write_text("{}")
        real.chmod(0o640)
        link = tmp_path / "mcp.json"
        link.symlink_to(real)

        install(Client.CLAUDE, link, COMMAND)

        assert link.is_symlink()
        assert 0o640 == stat.S_IMODE(real.stat().st_mode)
        assert "surehand" in real.read_text()


class TestWhatIsNotUnderstoodIsNotTouched:
    """Comments, repeated names, numbers that cannot be written back, other shapes: refused, and the file stays."""

    @pytest.mark.parametrize(
        "text",
        [
            b"{ // comment\n}",
            b'{"a": 1, "a": 2}',
            b'{"a": 1e999}',
            b'{"a": NaN}',
            b"[]",
            b'{"mcpServers": []}',
            b"\xff\xfe{}",
            b'{"a": ' + b"[" * 100_000,
        ],
    )
    def test_each(self, tmp_path: Path, text: bytes) -> None:
        path = tmp_path / "mcp.json"
        path.write_bytes(text)

        with pytest.raises(ClientFileError):
            install(Client.CURSOR, path, COMMAND)

        assert text == path.read_bytes()
        assert [path] == list(tmp_path.iterdir())

    @pytest.mark.parametrize("text", [b"", b" \n", b"{}", b"\xef\xbb\xbf{}"])
    def test_an_empty_file_is_understood(self, tmp_path: Path, text: bytes) -> None:
        path = tmp_path / "mcp.json"
        path.write_bytes(text)

        assert install(Client.CURSOR, path, COMMAND).changed
        assert client_entry(Client.CURSOR, COMMAND) == json.loads(path.read_bytes())

    def test_a_folder_in_the_way(self, tmp_path: Path) -> None:
        with pytest.raises(ClientFileError):
            install(Client.CURSOR, tmp_path, COMMAND)

    def test_a_replacement_that_fails_leaves_no_draft(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "mcp.json"
        path.write_text("{}")
        monkeypatch.setattr(os, "fsync", _full_disk)

        with pytest.raises(ClientFileError):
            install(Client.CURSOR, path, COMMAND)

        assert "{}" == path.read_text()
        assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def _full_disk(_descriptor: int) -> None:
    raise OSError(28, "told to fail")


class TestEachClientGetsItsShape:
    """The member, the transport and the place are those that the client reads."""

    @pytest.mark.parametrize(
        ("client", "member", "typed", "place"),
        [
            (Client.CLAUDE, "mcpServers", True, "project/.mcp.json"),
            (Client.CURSOR, "mcpServers", False, "project/.cursor/mcp.json"),
            (Client.VSCODE, "servers", True, "project/.vscode/mcp.json"),
        ],
    )
    def test_projects(self, client: Client, member: str, typed: bool, place: str) -> None:
        entry = client_entry(client, COMMAND)

        assert [member] == list(entry)
        assert typed == ("type" in json.dumps(entry))
        assert Path("/home") / place == client_file(client, Path("/home/project"), Path("/home"))

    @pytest.mark.parametrize(
        ("platform", "folder"),
        [
            ("linux", ".config/Claude"),
            ("darwin", "Library/Application Support/Claude"),
            ("win32", "AppData/Roaming/Claude"),
        ],
    )
    def test_the_desktop_application(self, monkeypatch: pytest.MonkeyPatch, platform: str, folder: str) -> None:
        monkeypatch.setattr(sys, "platform", platform)

        assert Path("/home") / folder / "claude_desktop_config.json" == client_file(
            Client.CLAUDE_DESKTOP, Path("/project"), Path("/home")
        )

    def test_the_server_is_started_by_an_absolute_path(self) -> None:
        assert Path(str(COMMAND["command"])).is_absolute()
