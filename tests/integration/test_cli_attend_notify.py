"""How the person at this computer is told that runs wait."""

import json
import os
import sys
from pathlib import Path

import pytest

from surehand.shell.attended.notify import SENTENCE, Notifier, shower
from surehand.shell.config import ConfigError

ITEMS = [f"att_{number:024x}" for number in range(4)]

#: Keeps everything that a command of the operator is given.
KEEPER = """#!{python}
import json, os, sys
with open({out!r}, "w") as file:
    json.dump({{"argv": sys.argv[1:], "stdin": sys.stdin.read(), "env": dict(os.environ)}}, file)
"""


def script(folder: Path, text: str, name: str = "told") -> Path:
    """An executable file."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o700)
    return path


class Bench:
    """A notifier over what waits and what was told, both in memory."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.told: list[int] = []
        self.notifier = Notifier(lambda: self.waiting, self.told.append)

    def look(self, *waiting: str) -> list[int]:
        """Everything that was told after one more look."""
        self.waiting = [*waiting]
        self.notifier.look()
        return self.told


class TestItTellsOnceOfEachRunThatStops:
    """A run that stops is told with the count of all; one that still waits, or waits no longer, is not told again."""

    def test_over_several_looks(self) -> None:
        bench, (one, two, three, _) = Bench(), ITEMS

        assert bench.look() == []
        assert bench.look(one) == [1]
        assert bench.look(one) == [1]
        assert bench.look(one, two, three) == [1, 3]
        assert bench.look(two) == [1, 3]
        assert bench.look() == [1, 3]

    def test_another_one_in_the_place_of_the_first(self) -> None:
        bench = Bench()

        assert bench.look(ITEMS[0]) == [1]
        assert bench.look(ITEMS[1]) == [1, 1]


class TestACommandLearnsTheCountAndTheSentence:
    """Its arguments are the operator's, its input the count and the sentence; no setting and no secret goes along."""

    def test_everything_that_it_is_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        out = tmp_path / "kept.json"
        monkeypatch.setenv("SUREHAND_BUNDLE_KEY", "canary of a secret")
        command = script(tmp_path, KEEPER.format(python=sys.executable, out=str(out)))

        shower(f"{command} --loud 'two words'")(7)
        kept = json.loads(out.read_text())

        assert kept["argv"] == ["--loud", "two words"]
        assert kept["stdin"] == f"7\n{SENTENCE}\n"
        assert [name for name in kept["env"] if name.startswith("SUREHAND_")] == []
        assert kept["env"]["PATH"] == os.environ["PATH"]

    def test_no_shell_reads_it(self, tmp_path: Path) -> None:
        out = tmp_path / "kept.json"
        command = script(tmp_path, KEEPER.format(python=sys.executable, out=str(out)))

        shower(f"{command} $HOME ; touch {tmp_path}/made")(1)

        assert json.loads(out.read_text())["argv"] == ["$HOME", ";", "touch", f"{tmp_path}/made"]
        assert not (tmp_path / "made").exists()

    def test_one_that_fails_stops_nothing(self, tmp_path: Path) -> None:
        show = shower(str(script(tmp_path, "#!/bin/sh\nexit 3\n")))
        shown = [show(1)]
        (tmp_path / "told").unlink()

        assert [*shown, show(1)] == [None, None]

    @pytest.mark.parametrize("said", ["", " ", "no-such-command-anywhere", "'open quote"])
    def test_one_that_is_not_there_is_refused_at_the_start(self, said: str) -> None:
        with pytest.raises(ConfigError):
            shower(said)


class TestADesktopShowsTheCountAndTheSentence:
    """Each desktop's own tool is used where it is there; without one the start is refused."""

    @pytest.mark.parametrize("tool", ["notify-send", "osascript", "powershell.exe"])
    def test_what_the_tool_is_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
        out = tmp_path / "kept.json"
        script(tmp_path, KEEPER.format(python=sys.executable, out=str(out)), tool)
        monkeypatch.setenv("PATH", str(tmp_path))

        shower("desktop")(7)
        told = " ".join(json.loads(out.read_text())["argv"])

        assert "7. Runs wait for a person\N{RIGHT SINGLE QUOTATION MARK}s decision: surehand attend list" in told
        assert "att_" not in told

    def test_without_a_tool(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))

        with pytest.raises(ConfigError):
            shower("desktop")
