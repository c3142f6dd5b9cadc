"""``surehand record`` and ``surehand sign-in``: what is refused before anything is shown, and what is left behind."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import pytest
from attrs import evolve
from click.testing import CliRunner

from support.browser import Site
from support.demonstrations import Field, Play, Shape, Values
from support.demonstrations import demonstrate as demonstrate_task
from surehand.core.workflow.recording import Entered, Recording, SecretEntered
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
            "/saved": """<h1>Notes</h1><p>CANARY-RECORD</p><script>document.cookie = 'sid=7'</script>
                <button onclick="this.textContent = 'Less'">More</button>""",
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
        timeout=240,
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
            await recorder.page.get_by_role("button").click()

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
        kept = sign_in(f"{site.origin}/", demonstrate, state_folder=tmp_path, headed=False)

        assert site.origin == kept
        assert "sid" in (SessionStore(tmp_path).load(site.origin) or "")
        assert not list(tmp_path.rglob(RECORDING_FILE))
        assert not [word for content in files_below(tmp_path).values() for word in CANARIES if word.encode() in content]

    def test_the_counts_say_what_the_recording_is_good_for(self, site: Site, tmp_path: Path) -> None:
        recording = make_recording_in(
            tmp_path / "one", f"{site.origin}/", demonstrate, state_folder=tmp_path, with_session=False, headed=False
        )

        assert counts_of(recording) == {"steps": 5, "writes": 1, "read_back_candidates": 0}

    def test_where_nothing_was_done_nothing_is_left(self, site: Site, tmp_path: Path) -> None:
        async def look(recorder: Recorder) -> None:
            await recorder.page.wait_for_load_state()

        with pytest.raises(StoppedError, match=record.NOTHING_DONE):
            make_recording_in(
                tmp_path / "one", f"{site.origin}/saved", look, state_folder=tmp_path, with_session=False, headed=False
            )

        assert not list(tmp_path.rglob(RECORDING_FILE))
        assert SessionStore(tmp_path).load(site.origin) is None

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


class TestLacking:
    """A recording that is kept says what it does not show: a save, or the saved record."""

    SHAPE: Final = Shape(fields=(Field(caption="Note"), Field(caption="Reporter")))
    VALUES: Final = Values(texts=("CANARY-NOTE", "Nurse Two"))

    @pytest.mark.parametrize(
        ("recording", "expected"),
        [
            (demonstrate_task(SHAPE, VALUES), []),
            (demonstrate_task(evolve(SHAPE, reading="nothing"), VALUES), [record.NOT_SEEN_AGAIN]),
            (demonstrate_task(SHAPE, VALUES, Play(saves=lambda tape: tape.click("Save note"))), [record.NO_SAVE]),
            (evolve(demonstrate_task(SHAPE, VALUES), exchanges=()), [record.NO_SAVE]),
        ],
    )
    def test_each_lack_has_its_sentence(self, recording: Recording, expected: list[str]) -> None:
        assert record.lacking_in(recording) == expected

    @pytest.mark.parametrize(("reading", "sentence"), [("json", ""), ("nothing", record.NOT_SEEN_AGAIN)])
    def test_it_is_printed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str, sentence: str) -> None:
        recording = demonstrate_task(evolve(self.SHAPE, reading=reading), self.VALUES)

        def made(*_arguments: object, **_more: object) -> Recording:
            return recording

        monkeypatch.setattr(record, "make_recording_in", made)
        arguments = ["https://clinic.example", "--out", str(tmp_path / "one")]
        told = CliRunner().invoke(record.command, arguments)
        parsed = json.loads(CliRunner().invoke(record.command, [*arguments, "--json"]).output)

        assert (told.exit_code, sentence in told.output) == (0, True)
        assert "Next: surehand compile" in told.output
        assert parsed["lacking"] == ([sentence] if sentence else [])


class Terminal:
    """A terminal at which a person types, or which ends."""

    def __init__(self, end: int) -> None:
        self._file = os.fdopen(end)
        self.read = asyncio.Event()

    def close(self) -> None:
        """Nobody is there any more."""
        self._file.close()

    def isatty(self) -> bool:
        """It is one."""
        return True

    def fileno(self) -> int:
        """Where it is read."""
        return self._file.fileno()

    def readline(self) -> str:
        """One line."""
        self.read.set()
        return self._file.readline()


class TestEnd:
    """A person ends a demonstration: by Enter, or by closing the window; the end of a terminal ends nothing."""

    @pytest.mark.parametrize(("typed", "ends"), [(b"\n", True), (b"", False)])
    def test_enter_ends_it_and_the_end_of_the_terminal_does_not(
        self, monkeypatch: pytest.MonkeyPatch, typed: bytes, ends: bool
    ) -> None:
        async def waits() -> bool:
            from_here, to_there = os.pipe()
            terminal, window = Terminal(from_here), Window()
            monkeypatch.setattr(sys, "stdin", terminal)
            waiting = asyncio.create_task(record.wait_for_end(cast("Recorder", window)))
            os.write(to_there, typed)
            os.close(to_there)
            await terminal.read.wait()
            for _ in range(20):
                await asyncio.sleep(0)
            ended = waiting.done()
            window.closed.set()
            await waiting
            terminal.close()
            return ended

        assert asyncio.run(waits()) == ends

    def test_closing_the_window_ends_it_and_keeps_what_was_done(
        self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def closes(recorder: Recorder) -> None:
            ending = asyncio.create_task(record.wait_for_end(recorder))
            await demonstrate(recorder)
            await recorder.page.close()
            await ending

        with Path(os.devnull).open() as nobody:
            monkeypatch.setattr(sys, "stdin", nobody)
            recording = make_recording_in(
                tmp_path / "one", f"{site.origin}/", closes, state_folder=tmp_path, with_session=False, headed=False
            )

        assert counts_of(recording)["steps"] == 5
        assert read_recording(tmp_path / "one", find_recording_key(tmp_path, {})) == recording


class Window:
    """A window that somebody closes."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def wait_closed(self) -> None:
        """Wait for it."""
        await self.closed.wait()


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
