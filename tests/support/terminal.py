"""Runs a command at a terminal of its own, as a person does."""

import os
import pty
import select
import signal
import sys
from pathlib import Path
from typing import Final

from attrs import frozen

#: Seconds in which a command has to come to its next question, or to its end.
DEADLINE: Final = 240

#: What a shell at a terminal leaves to a command as the system has it. One without a terminal may have it ignored, and
#: a key that sends such a signal would be lost.
_OF_A_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


@frozen
class Shown:
    """What stood on the screen, and how the command ended."""

    code: int
    screen: str


def at_terminal(home: Path, *arguments: str, answers: tuple[tuple[str, str], ...] = ()) -> Shown:
    """Run one command at a terminal, with the folder as its home.

    Args:
        home: The home and working folder.
        arguments: The command.
        answers: What is typed, each once the text before it stands on the screen.
    """
    child, screen = pty.fork()
    if child == 0:  # pragma: no cover - in the other process
        for number in _OF_A_TERMINAL:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(home)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb"}
        os.execve(sys.executable, [sys.executable, "-P", "-m", "surehand", *arguments], environment)  # noqa: S606 - ours
    try:
        text = ""
        for question, answer in answers:
            text += _until(screen, question)
            os.write(screen, answer.encode() + b"\r")
        text += _until(screen, None)
    finally:
        os.close(screen)
        _, status = os.waitpid(child, 0)
    return Shown(os.waitstatus_to_exitcode(status), text.replace("\r\n", "\n"))


def _until(screen: int, question: str | None) -> str:
    """What is shown up to a question, or to the end of the command."""
    shown = b""
    while question is None or question not in shown.decode(errors="replace"):
        ready, _, _ = select.select([screen], [], [], DEADLINE)
        if not ready:
            raise TimeoutError(shown)
        try:
            shown += os.read(screen, 4096)
        except OSError:  # the terminal has nobody at its other end any more
            break
    return shown.decode(errors="replace")
