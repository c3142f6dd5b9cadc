"""Recordings at rest, and the session that a recording leaves behind."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Site
from surehand.core.workflow.recording import Actor, Event, Opened, Place, Recording
from surehand.shell.authoring.protected import (
    KEY_FILE_VARIABLE,
    KEY_VARIABLE,
    RECORDING_FILE,
    RecordingProblem,
    RecordingRefusedError,
    find_recording_key,
    read_recording,
    write_recording,
)
from surehand.shell.authoring.recorder import Recorder
from surehand.shell.config import ConfigError

KEY = b"a passphrase of a test"

RECORDING = Recording(
    origin="https://app.example",
    events=(
        Event(at_ms=0, actor=Actor.PERSON, action=Opened(place=Place(origin="https://app.example", path="/CANARY"))),
    ),
    exchanges=(),
    pages=(),
    answers=(),
)


def refusal(call: object, *arguments: object) -> RecordingProblem:
    """Why something is refused."""
    assert callable(call)
    with pytest.raises(RecordingRefusedError) as refused:
        call(*arguments)
    return refused.value.code


class TestRest:
    """A recording lies encrypted in a private file, and is read as it was written or not at all."""

    def test_it_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        path = write_recording(tmp_path / "first", RECORDING, KEY)

        assert read_recording(tmp_path / "first", KEY) == RECORDING
        assert (path.name, path.stat().st_mode & 0o777) == (RECORDING_FILE, 0o600)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert [each.name for each in path.parent.iterdir()] == [RECORDING_FILE]

    def test_nothing_of_it_is_in_clear(self, tmp_path: Path) -> None:
        path = write_recording(tmp_path, RECORDING, KEY)

        assert b"CANARY" in json.dumps("CANARY").encode()
        assert not [
            word for word in (b"CANARY", b"app.example", b"opened", b"recording/v1") if word in path.read_bytes()
        ]

    def test_one_is_never_written_over(self, tmp_path: Path) -> None:
        before = write_recording(tmp_path, RECORDING, KEY).read_bytes()

        assert refusal(write_recording, tmp_path, RECORDING, KEY) is RecordingProblem.TAKEN
        assert (tmp_path / RECORDING_FILE).read_bytes() == before

    def test_two_of_the_same_are_different_files(self, tmp_path: Path) -> None:
        files = [write_recording(tmp_path / name, RECORDING, KEY).read_bytes() for name in ("one", "two")]

        assert files[0] != files[1]

    def test_another_key_or_a_changed_byte_opens_nothing(self, tmp_path: Path) -> None:
        path = write_recording(tmp_path, RECORDING, KEY)
        content = bytearray(path.read_bytes())

        assert refusal(read_recording, tmp_path, KEY + b"!") is RecordingProblem.DOES_NOT_OPEN
        for at in (0, 8, 9, 20, 40, len(content) - 1):
            path.write_bytes(bytes(content[:at]) + bytes([content[at] ^ 1]) + bytes(content[at + 1 :]))
            assert refusal(read_recording, tmp_path, KEY) is RecordingProblem.DOES_NOT_OPEN

    def test_what_is_missing_or_linked(self, tmp_path: Path) -> None:
        write_recording(tmp_path / "real", RECORDING, KEY)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner" / RECORDING_FILE).symlink_to(tmp_path / "real" / RECORDING_FILE)

        assert refusal(read_recording, tmp_path / "none", KEY) is RecordingProblem.MISSING
        assert refusal(read_recording, tmp_path / "inner", KEY) is RecordingProblem.FOLDER_UNUSABLE
        assert refusal(write_recording, tmp_path / "link", RECORDING, KEY) is RecordingProblem.FOLDER_UNUSABLE


class TestKeys:
    """The key comes from the environment, from a private file, or from the state folder; never from an argument."""

    def test_the_environment_before_the_file_before_the_machine(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        file.write_bytes(b"the key of the file\n")
        file.chmod(0o600)
        both = {KEY_VARIABLE: "the key of the environment", KEY_FILE_VARIABLE: str(file)}

        assert find_recording_key(tmp_path, both) == b"the key of the environment"
        assert find_recording_key(tmp_path, {KEY_FILE_VARIABLE: str(file)}) == b"the key of the file"
        own = find_recording_key(tmp_path / "state", {})
        assert (len(own), find_recording_key(tmp_path / "state", {})) == (32, own)

    @pytest.mark.parametrize("environ", [{KEY_VARIABLE: "short"}, {KEY_FILE_VARIABLE: "/nowhere/key"}])
    def test_a_key_that_cannot_be_one_is_refused(self, tmp_path: Path, environ: dict[str, str]) -> None:
        with pytest.raises(ConfigError) as refused:
            find_recording_key(tmp_path, environ)

        assert not any(value in str(refused.value) for value in environ.values())


@pytest.fixture
def site() -> Iterator[Site]:
    """A site that keeps what signs one in, and a draft."""
    with Site() as opened:
        opened.pages["/page"] = """<script>document.cookie = 'sid=7'; localStorage.setItem('token', 'T-1')</script>
            <label>PIN <input type="password"></label>
            <label>Note <input oninput="localStorage.setItem('draft', this.value)"></label>"""
        yield opened


class TestSession:
    """A recording leaves the signed-in session, without what was typed into the app."""

    def test_what_signs_in_is_kept_and_the_draft_is_not(self, site: Site) -> None:
        async def demonstrate(session: str | None) -> tuple[str, list[object]]:
            async with Recorder.open(f"{site.origin}/page", headed=False, session=session) as recorder:
                stored: list[object] = await recorder.page.evaluate("() => Object.keys(localStorage)")
                for name, text in (("PIN", "1234"), ("Note", "CANARY text")):
                    await recorder.page.get_by_label(name).click()
                    await recorder.page.keyboard.type(text)
                await recorder.stop()
                return await recorder.session_state(), stored

        session, _ = asyncio.run(demonstrate(None))
        again, stored = asyncio.run(demonstrate(session))

        assert "CANARY" not in session + again
        assert [each["name"] for each in json.loads(session)["cookies"]] == ["sid"]
        assert stored == ["token"]
        assert site.cookies[-1] == "sid=7"
