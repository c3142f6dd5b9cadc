"""Clients of the stdio server for tests: one that speaks raw lines, and how to start every other one.

The second environment, with the first generation of the protocol library, is named by ``SUREHAND_SDK1_PYTHON``;
the folder with the Node clients by ``SUREHAND_NODE_DIR``. The Makefile prepares both and sets both.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

#: Seconds after which a test gives up on a server that does not answer, also on a busy machine.
PATIENCE: Final = 120.0

TESTS: Final = Path(__file__).resolve().parent.parent

Json = dict[str, Any]

INITIALIZE: Final[Json] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "surehand-tests", "version": "1"},
}

#: What every request of the era of 2026-07-28 carries.
MODERN_META: Final[Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "surehand-tests", "version": "1"},
}


def python_of(generation: str) -> str:
    """The interpreter with this generation of the protocol library: ``mcp 1`` or ``mcp 2``."""
    if generation == "mcp 2":
        return sys.executable
    return _prepared("SUREHAND_SDK1_PYTHON", "the interpreter of an environment with mcp 1 and surehand")


def node_folder() -> Path:
    """The folder in which the Node clients are installed."""
    return Path(_prepared("SUREHAND_NODE_DIR", "the folder with the installed tests/support/node/package.json"))


def _prepared(variable: str, meaning: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        raise AssertionError(f"{variable} is not set. It names {meaning}; `make test` prepares it and sets it.")
    return value


def fake_server(*arguments: str, python: str = sys.executable) -> list[str]:
    """The command of the server over the fake service."""
    return [python, str(TESTS / "support" / "mcp_fake_server.py"), *arguments]


def environment(events: Path | None = None, **more: str) -> dict[str, str]:
    """The environment of a server under test."""
    told = {} if events is None else {"SUREHAND_TEST_EVENTS": str(events)}
    return {**os.environ, **told, **more}


class RawClient:
    """Speaks lines with a server process. Every line that the server writes must be one JSON object."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdin = self.process.stdin
        self._stdout = self.process.stdout
        self._stderr = self.process.stderr
        self._buffer = bytearray()
        self._aside: list[Json] = []
        self._next_id = 0
        os.set_blocking(self._stdout.fileno(), False)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._stdin.write(data)
        self._stdin.flush()

    def send(self, message: Json) -> None:
        """Send one message."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def begin(self, method: str, params: Json | None = None) -> int:
        """Send a request; its id."""
        self._next_id += 1
        message: Json = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self._next_id

    def begin_call(self, tool: str, arguments: Json, **meta: str) -> int:
        """Send a tool call; its id."""
        params: Json = {"name": tool, "arguments": arguments}
        return self.begin("tools/call", {**params, "_meta": meta} if meta else params)

    def next(self, patience: float = PATIENCE) -> Json | None:
        """The next message that the server writes; ``None`` at the end of its output."""
        deadline = time.monotonic() + patience
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(deadline - time.monotonic()):
                    raise AssertionError("the server did not answer in time")
                chunk = self._stdout.read(1 << 20)
                if not chunk:
                    assert not self._buffer, "the output ends within a line"
                    return None
                self._buffer += chunk
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return parse_line(line)

    def answer(self, request_id: int | str | None, patience: float = PATIENCE) -> Json:
        """The answer to a request; what comes before it is kept aside."""
        for message in self._aside:
            if "method" not in message and message.get("id") == request_id:
                self._aside.remove(message)
                return message
        while True:
            following = self.next(patience)
            if following is None:
                break
            if "method" not in following and following.get("id") == request_id:
                return following
            self._aside.append(following)
        raise AssertionError("the output ended before the answer")

    def aside(self) -> list[Json]:
        """What came before answers that were asked for."""
        return self._aside

    def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request and wait for its answer."""
        return self.answer(self.begin(method, params))

    def call(self, tool: str, arguments: Json, patience: float = PATIENCE) -> Json:
        """Call a tool; the ``result`` of the answer."""
        return result_of_answer(self.answer(self.begin_call(tool, arguments), patience))

    def handshake(self) -> Json:
        """Open a session of the handshake era."""
        opened = result_of_answer(self.request("initialize", INITIALIZE))
        self.notify("notifications/initialized")
        return opened

    def end_input(self) -> None:
        """Close the server's standard input."""
        self._stdin.close()

    def exit_code(self, patience: float = PATIENCE) -> int:
        """Wait for the end of the process."""
        return self.process.wait(patience)

    def errors(self) -> str:
        """Everything on standard error; call it after the end of the process."""
        return self._stderr.read().decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave no process behind."""
        for stream in (self._stdin, self._stdout, self._stderr):
            try:
                stream.close()
            except BrokenPipeError:
                continue
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def parse_line(line: bytes) -> Json:
    """One line as a JSON object in ASCII; anything else breaks the stream."""
    parsed: Any = json.loads(line.decode("ascii"))
    assert line.startswith(b"{"), "a line of the server is not an object"
    message: Json = parsed
    return message


def result_of_answer(answer: Json) -> Json:
    """The ``result`` member of an answer."""
    assert "result" in answer, f"no result: {answer}"
    result: Json = answer["result"]
    return result


def structured(result: Json) -> Json:
    """The contract of a tool result, which must stand in both places."""
    content: Json = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == content
    return content


@contextmanager
def session(*arguments: str, python: str = sys.executable, events: Path | None = None) -> Generator[RawClient]:
    """A raw client of the server over the fake service, after the handshake."""
    with RawClient(fake_server(*arguments, python=python), environment(events)) as client:
        client.handshake()
        yield client
