"""A fence that is broken on purpose, as a process: ``fence_broken.py <what> <arguments of the fence>``.

Laws of this module:

- Each variant breaks one law of the fence, and nothing else; the layer must catch it.
"""

# ruff: noqa: SLF001 - what is broken here is private
# pyright: reportPrivateUsage=false

import contextlib
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING
from unittest import mock

from surehand.core.workflow import fence as core
from surehand.core.workflow import operation
from surehand.core.workflow.route import WriteRoute
from surehand.shell.fence import client, process, proxy, run, save
from surehand.shell.fence.journal import JournalWriter

if TYPE_CHECKING:
    from subprocess import Popen


def _lets_two_through() -> None:
    """The gate is not spent by the save, and the first answer of the boundary holds for the second."""
    real = process._Fence._ask_boundary
    answers: dict[str, bool] = {}

    async def ask(self: "process._Fence", run_id: str) -> bool:
        if run_id not in answers:
            answers[run_id] = await real(self, run_id)
        return answers[run_id]

    process._Fence._ask_boundary = ask  # type: ignore[method-assign]
    core.TRANSITIONS[core.GateState.ARMED, core.RequestKind.SAVE_WRITE] = (
        core.GateState.ARMED,
        core.GateCommand.BEGIN_SAVE,
    )


def _knows_forms_only() -> None:
    """Only what looks like a form counts as a write."""
    real = core.classify

    def classify(rules: core.FenceRules, armed: WriteRoute | None, head: core.RequestHead) -> core.RequestKind:
        is_form = "form" in head.content_type
        return real(rules, armed, head) if is_form else core.RequestKind.READ

    core.classify = classify


def _sends_again() -> None:
    """A write whose answer does not come is sent once more, as many a client does."""
    effects = save._Effects
    real = effects._read_answer

    async def read_answer(self: "save._Effects") -> core.Happened:
        try:
            return await real(self)
        except save.CONNECTION_ERRORS:
            await self._connect()
            await self._send()
            return await real(self)

    effects._read_answer = read_answer  # type: ignore[method-assign]


def _asks_no_boundary() -> None:
    """The write leaves whatever the boundary says."""
    core.EFFECTS[core.Stage.INTENT] = core.Effect.CHECK_ALIVE


def _opens_when_its_worker_is_gone() -> None:
    """A boundary that nobody answers any more counts as passed."""
    real = process._Fence._close

    def close(self: "process._Fence", run_id: str) -> None:
        waiting = self._boundaries.pop(run_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(True)
            mock.patch.object(proxy.RunProxy, "close").start()
            mock.patch.object(run.Run, "is_over", False).start()
        real(self, run_id)

    process._Fence._close = close  # type: ignore[method-assign]


def _journals_at_the_end() -> None:
    """The lines of the journal stay in memory until the save is over."""
    kept: list[tuple[JournalWriter, core.Stage, int | None]] = []
    real: Callable[[JournalWriter, core.Stage, int | None], None] = JournalWriter._write

    def write(self: JournalWriter, stage: core.Stage, status: int | None) -> None:
        kept.append((self, stage, status))
        if stage not in core.EFFECTS:
            for line in kept:
                real(*line)
            kept.clear()

    JournalWriter._write = write  # type: ignore[method-assign]


def _reads_the_first_operation() -> None:
    """Of a document only the first operation is looked at."""
    real = operation._definitions
    operation._definitions = lambda document: real(document)[:1]


def _holds_nothing_back() -> None:
    """What is to be held back passes like what is harmless."""
    for state in core.GateState:
        core.TRANSITIONS[state, core.RequestKind.BLOCKED_WRITE] = (state, core.GateCommand.PASS_HARMLESS)


def _leaves_sockets_open() -> None:
    """The end of a run shuts its port, and leaves what is open there."""
    real = proxy.RunProxy.close

    def close(self: "proxy.RunProxy") -> None:
        self._saving |= self._tasks
        real(self)

    proxy.RunProxy.close = close  # type: ignore[method-assign]


#: What can be broken.
BROKEN: dict[str, Callable[[], None]] = {
    "lets two through": _lets_two_through,
    "knows forms only": _knows_forms_only,
    "sends again": _sends_again,
    "asks no boundary": _asks_no_boundary,
    "opens when its worker is gone": _opens_when_its_worker_is_gone,
    "journals at the end": _journals_at_the_end,
    "reads the first operation": _reads_the_first_operation,
    "holds nothing back": _holds_nothing_back,
    "leaves sockets open": _leaves_sockets_open,
}


@contextlib.contextmanager
def instead(*arguments: str, script: str = __file__) -> Generator[None]:
    """Start this script with these arguments where a fence would be started."""
    real = client._spawn

    def spawn(command: list[str]) -> "Popen[bytes]":
        return real([command[0], "-P", script, *arguments, *command[4:]])

    with mock.patch.object(client, "_spawn", spawn):
        yield


async def start(what: str, begin: Callable[[], Awaitable[client.Fence]]) -> client.Fence:
    """Start a broken fence."""
    with instead(what):
        return await begin()


def main() -> int:
    """Break what the first argument names, and be a fence."""
    BROKEN[sys.argv.pop(1)]()
    return process.main()


if __name__ == "__main__":
    sys.exit(main())
