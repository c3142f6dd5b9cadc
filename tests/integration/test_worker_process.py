"""Child processes: what they get to see, and how they end."""

import subprocess
import sys

import pytest

from surehand.shell.process import clean_environment, end_process

#: A child that ends when its input does, one that ends when it is told, and one that does neither.
POLITE = "import sys; sys.stdin.read()"
BUSY = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"


def child(program: str) -> "subprocess.Popen[bytes]":
    """Start a child with pipes."""
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class TestEnvironment:
    """A child sees the variables that are named, and no others."""

    @pytest.mark.parametrize(
        "name",
        ["DEBUG", "PWDEBUG", "NODE_OPTIONS", "SSLKEYLOGFILE", "HTTPS_PROXY", "https_proxy", "CHROMIUM_FLAGS", "SECRET"],
    )
    def test_a_variable_that_is_not_named_stays_behind(self, name: str) -> None:
        assert clean_environment({name: "x", "PATH": "/bin"}) == {"PATH": "/bin"}

    @pytest.mark.parametrize("name", ["PATH", "HOME", "DISPLAY", "LC_ALL", "XDG_RUNTIME_DIR", "SUREHAND_CHROMIUM"])
    def test_a_variable_that_is_named_is_kept(self, name: str) -> None:
        assert clean_environment({name: "x"}) == {name: "x"}


class TestEnd:
    """A child is asked to end, then told, then killed."""

    @pytest.mark.parametrize(("program", "status"), [(POLITE, 0), (BUSY, -15), (STUBBORN, -9)])
    def test_every_child_ends(self, program: str, status: int) -> None:
        with child(program) as process:
            assert process.stdout is not None
            if program is STUBBORN:
                process.stdout.readline()

            assert end_process(process, 60.0 if program is POLITE else 0.3) == status

    def test_one_that_has_ended_already_says_how(self) -> None:
        with child("raise SystemExit(3)") as process:
            process.wait()

            assert end_process(process) == 3
