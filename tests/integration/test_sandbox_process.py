"""The life of the clinic app as a process of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.browser import eventually
from support.sandbox import PATIENT, Oracle, Person, ask, held_save
from surehand.shell.sandbox.address import Address, parse
from surehand.shell.sandbox.process import SandboxApp, SandboxUnavailableError

NORMAL = {"sandbox_case": "normal"}

#: Starts an app, says where it is, and waits to be killed.
_STARTER = """
import sys
from surehand.shell.sandbox.process import SandboxApp
print(SandboxApp.start().address.line(), flush=True)
sys.stdin.read()
"""

#: Holds whatever it inherited until its standard input closes.
_HOLDER = "import sys; print('holding', flush=True); sys.stdin.read()"


@pytest.fixture
def app() -> Iterator[SandboxApp]:
    """An app of its own."""
    started = SandboxApp.start()
    yield started
    started.close()


def _answers(address: Address) -> bool:
    try:
        return ask(address.origin, "GET", "/api/health").status == 200
    except OSError:
        return False


def _ends(address: Address) -> bool:
    """Whether the app stops answering."""
    return eventually(lambda: not _answers(address))


class TestStarting:
    """The app says where it is once it listens, on loopback only."""

    def test_it_answers_as_soon_as_it_is_started(self, app: SandboxApp) -> None:
        assert _answers(app.address)

    def test_two_apps_have_places_and_tokens_of_their_own(self, app: SandboxApp) -> None:
        other = SandboxApp.start()
        try:
            ports = {app.address.port, app.address.offline_port, other.address.port, other.address.offline_port}
            assert len(ports) == 4
            assert app.address.token != other.address.token
        finally:
            other.close()

    def test_its_token_is_in_no_text_form(self, app: SandboxApp) -> None:
        assert app.address.token not in f"{app} {app.address} {app.target(NORMAL)}"

    @pytest.mark.parametrize("program", ["/bin/false", "/bin/echo", "/nonexistent/python"])
    def test_a_program_that_does_not_say_where_it_is_is_no_app(
        self, monkeypatch: pytest.MonkeyPatch, program: str
    ) -> None:
        monkeypatch.setattr(sys, "executable", program)

        with pytest.raises(SandboxUnavailableError):
            SandboxApp.start()

    @pytest.mark.parametrize(
        "line",
        [b"", b"{}", b"[]", b'{"port": "1", "offline_port": 2, "token": "x"}', b'{"port": 1}', b"\xff"],
    )
    def test_only_the_line_of_an_app_is_read(self, line: bytes) -> None:
        with pytest.raises(ValueError, match=r".*"):
            parse(line)

    def test_the_line_of_an_app_is_read_back(self) -> None:
        address = Address(port=1, offline_port=2, token="t")  # noqa: S106 - no secret

        assert parse(address.line().encode()) == address


class TestTheAppThatIsOff:
    """In ``app_offline`` the target is a place where nothing answers, and nobody else can come to answer there."""

    def test_its_target_refuses_every_connection(self, app: SandboxApp) -> None:
        target = app.target({"sandbox_case": "app_offline"})

        with pytest.raises(ConnectionRefusedError):
            ask(target.origin, "GET", "/")
        assert ask(app.target(NORMAL).origin, "GET", "/sign-in").status == 200

    def test_nobody_else_can_listen_there(self, app: SandboxApp) -> None:
        with contextlib.closing(socket.socket()) as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", app.address.offline_port))


class TestEnding:
    """The app lives as long as anyone holds its standard input, and no longer."""

    def test_it_ends_when_it_is_closed(self, app: SandboxApp) -> None:
        app.close()

        assert _ends(app.address)

    def test_closing_twice_does_nothing_more(self, app: SandboxApp) -> None:
        app.close()
        app.close()

        assert _ends(app.address)

    def test_it_ends_while_requests_hang(self, app: SandboxApp) -> None:
        person = Person(app.address.origin)
        person.sign_in("timeout_after_save")
        with held_save(person, "held", Oracle(app.target(NORMAL))) as connection:
            app.close()

            assert connection.getresponse().status == 504
            assert _ends(app.address)

    def test_it_outlives_its_starter_while_another_holds_its_input(self, app: SandboxApp) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", _HOLDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(app.liveness_fd,),
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"holding\n"
            app.close()

            assert _answers(app.address)
            assert holder.stdin is not None
            holder.stdin.close()
            holder.wait()

            assert _ends(app.address)

    def test_it_ends_when_its_starter_is_killed(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", _STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as starter:
            assert starter.stdout is not None
            address = parse(starter.stdout.readline())
            assert _answers(address)

            starter.kill()

            assert _ends(address)

    def test_a_killed_app_has_no_target(self, app: SandboxApp) -> None:
        pid = _pid_of(app)

        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

        with pytest.raises(SandboxUnavailableError):
            app.target(NORMAL)


class TestForAPerson:
    """A person starts the app in a terminal, opens the printed address, and ends it by Ctrl+C."""

    def test_it_prints_its_address_and_ends_quietly(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "surehand.shell.sandbox", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as shown:
            assert shown.stdout is not None
            line = shown.stdout.readline().decode()
            (origin,) = [word for word in line.split() if word.startswith("http://")]

            assert Person(origin).sign_in("normal").status == 200
            shown.send_signal(signal.SIGINT)
            rest, complaints = shown.communicate(timeout=PATIENT)

            assert (rest, complaints, shown.returncode) == (b"", b"", 0)

    def test_a_port_that_is_taken_is_an_error_in_one_line(self, app: SandboxApp) -> None:
        asked = [sys.executable, "-m", "surehand.shell.sandbox", "--port", str(app.address.port)]

        ended = subprocess.run(asked, capture_output=True, check=False, timeout=PATIENT)

        assert ended.returncode == 1
        assert ended.stdout == b""
        assert ended.stderr.decode().splitlines() == ["That port cannot be used."]


def _pid_of(app: SandboxApp) -> int:
    return app._process.pid  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a test kills it for real
