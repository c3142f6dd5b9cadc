"""``surehand record`` and ``surehand sign-in``: what is refused before anything is shown, and what is left behind."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Site
from surehand.core.workflow.recording import Entered, SecretEntered
from surehand.shell.authoring.protected import RECORDING_FILE, find_recording_key, read_recording
from surehand.shell.authoring.recorder import Recorder
from surehand.shell.cli import record
from surehand.shell.cli.record import StoppedError, counts_of, make_recording_in
from surehand.shell.cli.sign_in import sign_in
from surehand.shell.sessions import SessionStore

CANARIES = ("CANARY-USER", "CANARY-SECRET", "CANARY-NOTE", "CANARY-RECORD")


@pytest.fixture
def site() -> Iterator[Site]:
    """An app to sign in to, with one form and the list of what was saved."""
    with Site() as opened:
        opened.pages |= {
            "/": """<form action="/new"><label>User <input name="user"></label>
                <label>Password <input type="password"></label><button>Sign in</button></form>""",
            "/new": """<h1>New note</h1><form method="post" action="/records"><label>Note <input name="note"></label>
                <button>Save</button></form>""",
            "/saved": "<h1>Notes</h1><p>CANARY-RECORD</p><script>document.cookie = 'sid=7'</script>",
        }
        yield opened


async def demonstrate(recorder: Recorder) -> None:
    """Sign in, save a note, and look at the list."""
    page = recorder.page
    for name, text in (("User", "CANARY-USER"), ("Password", "CANARY-SECRET")):
        await page.get_by_label(name).click()
        await page.keyboard.type(text)
    await page.get_by_role("button").click()
    await page.get_by_label("Note").click()
    await page.keyboard.type("CANARY-NOTE")
    await page.get_by_role("button").click()
    await page.wait_for_url("**/saved")


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def surehand(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a screen."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    return subprocess.run(
        [sys.executable, "-m", "surehand", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**kept, **environ},
        timeout=120,
    )


class TestLeftBehind:
    """A demonstration leaves one encrypted recording and the app's session, and no text of it anywhere."""

    def test_what_was_typed_and_seen_is_in_no_file_and_on_no_stream(
        self, site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        out, state = tmp_path / "recordings" / "note", tmp_path / "state"
        recording = make_recording_in(
            out, f"{site.origin}/", demonstrate, state_folder=state, with_session=False, headed=False
        )
        printed = capfd.readouterr()
        kept = read_recording(out, find_recording_key(state, {}))

        assert kept == recording
        assert [each.action.value for each in kept.events if isinstance(each.action, Entered)] == [
            "CANARY-USER",
            "CANARY-NOTE",
        ]
        assert sum(isinstance(each.action, SecretEntered) for each in kept.events) == 1
        assert "CANARY-SECRET" not in str(kept)
        assert printed.out + printed.err == ""
        found = [
            (path, word)
            for path, content in files_below(tmp_path).items()
            for word in CANARIES
            if word.encode() in content
        ]
        assert found == []
        assert not [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]

    def test_the_session_is_kept_and_a_second_recording_begins_with_it(self, site: Site, tmp_path: Path) -> None:
        async def look(recorder: Recorder) -> None:
            await recorder.page.wait_for_load_state()

        def at(name: str, *, with_session: bool) -> None:
            make_recording_in(
                tmp_path / name,
                f"{site.origin}/saved",
                look,
                state_folder=tmp_path,
                with_session=with_session,
                headed=False,
            )

        at("first", with_session=False)
        assert "sid" in (SessionStore(tmp_path).load(site.origin) or "")
        at("second", with_session=False)
        at("third", with_session=True)
        # Beside the page the browser asks for its icon.
        asked = [cookie for path, cookie in zip(site.asked, site.cookies, strict=True) if path == "/saved"]
        assert asked == ["", "", "sid=7"]

    def test_signing_in_keeps_the_session_and_no_recording(self, site: Site, tmp_path: Path) -> None:
        sign_in(f"{site.origin}/", demonstrate, state_folder=tmp_path, headed=False)

        assert "sid" in (SessionStore(tmp_path).load(site.origin) or "")
        assert not list(tmp_path.rglob(RECORDING_FILE))
        assert not [word for content in files_below(tmp_path).values() for word in CANARIES if word.encode() in content]

    def test_the_counts_say_what_the_recording_is_good_for(self, site: Site, tmp_path: Path) -> None:
        recording = make_recording_in(
            tmp_path / "one", f"{site.origin}/", demonstrate, state_folder=tmp_path, with_session=False, headed=False
        )

        assert counts_of(recording) == {"steps": 5, "writes": 1, "read_back_candidates": 0}

    @pytest.mark.parametrize("problem", [KeyboardInterrupt, OSError])
    def test_a_demonstration_that_is_broken_off_leaves_nothing(
        self, site: Site, tmp_path: Path, problem: type[BaseException]
    ) -> None:
        async def break_off(recorder: Recorder) -> None:
            await demonstrate(recorder)
            raise problem

        with pytest.raises(StoppedError):
            make_recording_in(
                tmp_path / "one", site.origin, break_off, state_folder=tmp_path, with_session=False, headed=False
            )

        assert not list(tmp_path.rglob(RECORDING_FILE))


class TestRefusals:
    """What keeps a recording from being made is told in one sentence, before a window opens."""

    def stopped(self, out: Path, url: str, tmp_path: Path) -> str:
        """What is said."""

        async def never(_recorder: Recorder) -> None:
            await asyncio.sleep(0)

        with pytest.raises(StoppedError) as stopped:
            make_recording_in(out, url, never, state_folder=tmp_path / "state", with_session=False, headed=False)
        return str(stopped.value)

    def test_a_folder_with_a_recording(self, tmp_path: Path) -> None:
        (tmp_path / RECORDING_FILE).write_bytes(b"")

        assert self.stopped(tmp_path, "http://127.0.0.1:9/", tmp_path) == record.TAKEN

    def test_a_file_in_place_of_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")

        assert self.stopped(tmp_path / "file", "http://127.0.0.1:9/", tmp_path) == record.UNUSABLE

    def test_an_address_that_does_not_open(self, tmp_path: Path) -> None:
        assert self.stopped(tmp_path / "one", "http://127.0.0.1:9/CANARY", tmp_path) == record.UNREACHABLE

    def test_no_screen(self, tmp_path: Path) -> None:
        for command in (
            ["record", "http://127.0.0.1:9/CANARY", "--out", str(tmp_path / "one")],
            ["sign-in", "http://127.0.0.1:9/"],
        ):
            ended = surehand(*command, "--runs-dir", str(tmp_path))

            assert (ended.returncode, ended.stdout) == (1, "")
            assert ended.stderr == f"Error: {record.NO_SCREEN}.\n"
        assert not list(tmp_path.iterdir())

    def test_a_key_that_cannot_be_one_is_bad_usage(self, site: Site, tmp_path: Path) -> None:
        ended = surehand(
            "record",
            site.origin,
            "--out",
            str(tmp_path / "one"),
            "--runs-dir",
            str(tmp_path),
            DISPLAY=":4711",
            SUREHAND_RECORDING_KEY="short",
        )

        assert (ended.returncode, "short" in ended.stderr.replace("shorter", "")) == (2, False)
