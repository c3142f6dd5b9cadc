"""One MCP workload against two server commands, interleaved, with the ratios of their medians.

    python bench/mcp_server.py --ours "surehand serve --sandbox-engine simulated --runs-dir {dir}" \
        --other "other-server serve --state {dir}" --other-inputs '{"note": "Synthetic"}'

Without arguments it measures the simulated sandbox beside a bare server of the protocol library.

``{dir}`` is a fresh folder for each start. A round starts both servers, one after the other, in turns; every figure
is the median over all rounds. A server without ``run_workflow`` is measured for its start, its ``ping`` and its end.
Beside a run stands the price of a flushed write on the same disk, measured in the same rounds.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import frozen

Json = dict[str, Any]

#: Seconds after which a server that does not answer fails the benchmark.
PATIENCE: Final = 60.0

#: The servers that are measured unless told otherwise.
OURS: Final = f"{shlex.quote(sys.executable)} -m surehand serve --sandbox-engine simulated --runs-dir {{dir}}"
BARE: Final = shlex.join([sys.executable, str(Path(__file__).with_name("bare_mcp_server.py"))])

#: Calls in flight at the same time, one row each.
CONCURRENCY: Final = (1, 4, 16)

INITIALIZE: Final[Json] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@frozen
class Candidate:
    """One server: how it is started, and what its sandbox workflow takes."""

    name: str
    command: str
    workflow: str
    inputs: Json

    def argv(self, folder: Path) -> list[str]:
        """The command with a fresh folder in its place."""
        return [part.replace("{dir}", str(folder)) for part in shlex.split(self.command)]


class Server:
    """A started server; every method measures in seconds."""

    def __init__(self, argv: list[str]) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._stdin = self._process.stdin
        self._stdout = os.fdopen(os.dup(self._process.stdout.fileno()), "rb")
        self._count = 0

    def send(self, method: str, params: Json | None, request: bool = True) -> int:
        """Send one message; its id."""
        self._count += 1
        message: Json = {"jsonrpc": "2.0", "method": method}
        if request:
            message["id"] = self._count
        if params is not None:
            message["params"] = params
        self._stdin.write(json.dumps(message).encode() + b"\n")
        return self._count

    def receive(self) -> tuple[Json, int]:
        """The next answer and its size in bytes."""
        while True:
            line = self._stdout.readline()
            if not line:
                raise RuntimeError("the server closed its output")
            message: Json = json.loads(line)
            if "id" in message:
                return message, len(line)

    def request(self, method: str, params: Json | None = None) -> tuple[float, Json, int]:
        """One request: how long it took, its result, the bytes of its answer."""
        begun = time.perf_counter()
        self.send(method, params)
        answer, size = self.receive()
        took = time.perf_counter() - begun
        if "error" in answer:
            raise RuntimeError(f"{method} was refused with {answer['error']['code']}")
        return took, answer["result"], size

    def call(self, tool: str, arguments: Json) -> tuple[float, Json]:
        """One tool call: how long it took, and its structured answer."""
        took, result, _ = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool} answered with an error")
        content: Json = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        return took, content

    def peak_mebibytes(self) -> float:
        """The most memory that the server process itself held."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        kibibytes = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
        return int(kibibytes) / 1024

    def end(self) -> float:
        """Close its input; how long it took to exit."""
        begun = time.perf_counter()
        self._stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()
        return time.perf_counter() - begun


Rows = dict[str, list[float]]


@contextmanager
def started(candidate: Candidate) -> Generator[tuple[Server, Path]]:
    """A server in a fresh folder, ended and cleared away afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        server = Server(candidate.argv(folder))
        try:
            yield server, folder
        finally:
            server.end()


def measure_round(candidate: Candidate, calls: int, rows: Rows) -> None:
    """One start of one server, with everything that it can do."""
    with started(candidate) as (server, folder):
        server.request("initialize", INITIALIZE)
        rows["spawn to initialize, ms"].append(1e3 * (time.perf_counter() - server.started))
        server.send("notifications/initialized", None, request=False)
        _, listing, size = server.request("tools/list", {})
        rows["spawn to tools/list, ms"].append(1e3 * (time.perf_counter() - server.started))
        rows["tools/list, bytes"].append(size)
        if "run_workflow" in {tool["name"] for tool in listing["tools"]}:
            measure_runs(server, candidate, calls, rows)
            rows["flushed write, ms"] += [1e3 * each for each in flushed_writes(folder, calls)]
        rows["ping, ms"] += [1e3 * server.request("ping")[0] for _ in range(calls)]
        rows["peak memory, MiB"].append(server.peak_mebibytes())
        rows["end of input to exit, ms"].append(1e3 * server.end())


def measure_runs(server: Server, candidate: Candidate, calls: int, rows: Rows) -> None:
    """Runs, their repeats, and what is refused."""

    def run(request_id: str, inputs: Json | None = None) -> tuple[float, Json]:
        given = candidate.inputs if inputs is None else inputs
        asked = {"workflow": candidate.workflow, "inputs": given, "request_id": request_id, "wait_seconds": 600}
        return server.call("run_workflow", asked)

    def timed(
        row: str, calls_of_row: Sequence[Callable[[], tuple[float, Json]]], member: str, value: object
    ) -> list[Json]:
        answers: list[Json] = []
        for call in calls_of_row:
            took, answer = call()
            if answer.get(member) != value:
                raise RuntimeError(f"{candidate.name}: {row} answered {answer.get(member)!r}")
            rows[row].append(1e3 * took)
            answers.append(answer)
        return answers

    run(new_id())
    rows["spawn to first done, ms"].append(1e3 * (time.perf_counter() - server.started))
    rows["list_workflows, ms"] += [1e3 * server.call("list_workflows", {})[0] for _ in range(calls)]
    ids = [new_id() for _ in range(calls)]
    done = timed("run_workflow, ms", [partial(run, each) for each in ids], "outcome", "done")
    timed("repeat of a run, ms", [partial(run, each) for each in ids], "replayed", value=True)
    read = [partial(server.call, "get_run", {"run_id": each["run_id"]}) for each in done]
    timed("get_run, ms", read, "outcome", "done")
    refused = [partial(run, new_id(), {}) for _ in range(calls)]
    timed("invalid input, ms", refused, "reason", "invalid_input")
    for width in CONCURRENCY:
        rows[f"runs per second, {width} at once"].append(runs_per_second(server, candidate, calls, width))


def runs_per_second(server: Server, candidate: Candidate, calls: int, width: int) -> float:
    """How many runs end in a second when this many are always under way."""
    asked = [
        {
            "name": "run_workflow",
            "arguments": {
                "workflow": candidate.workflow,
                "inputs": candidate.inputs,
                "request_id": new_id(),
                "wait_seconds": 600,
            },
        }
        for _ in range(calls)
    ]
    begun = time.perf_counter()
    for params in asked[:width]:
        server.send("tools/call", params)
    for params in asked[width:]:
        server.receive()
        server.send("tools/call", params)
    for _ in asked[:width]:
        server.receive()
    return calls / (time.perf_counter() - begun)


def flushed_writes(folder: Path, count: int) -> list[float]:
    """What an appended page costs until the disk has it."""
    times: list[float] = []
    with (folder / "flushed").open("ab", buffering=0) as file:
        for _ in range(count):
            begun = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begun)
    return times


def new_id() -> str:
    """A request id that was never used."""
    return "bench-" + uuid.uuid4().hex


def main() -> None:
    """Measure and print."""
    options = arguments()
    ours = Candidate("ours", options.ours, options.workflow, json.loads(options.inputs))
    other_inputs = options.other_inputs or options.inputs
    other = Candidate("other", options.other, options.other_workflow or options.workflow, json.loads(other_inputs))
    rows: dict[str, Rows] = {each.name: defaultdict(list) for each in (ours, other)}
    for number in range(options.rounds + 1):
        for candidate in (ours, other) if number % 2 else (other, ours):
            measured: Rows = defaultdict(list)
            measure_round(candidate, options.calls, measured)
            if number:  # the first round only warms the disk cache
                for row, values in measured.items():
                    rows[candidate.name][row] += values
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        report(rows["ours"], rows["other"])


def report(ours: Rows, other: Rows) -> None:
    """One line a row: both medians, and how ours stands to the other."""
    print(f"{'median of':34}{'ours':>12}{'other':>12}{'ratio':>9}")
    for row in sorted({*ours, *other}):
        left, right = (statistics.median(rows[row]) if row in rows else None for rows in (ours, other))
        ratio = f"{left / right:9.3f}" if left is not None and right else " " * 9
        print(f"{row:34}{shown(left)}{shown(right)}{ratio}")
    if "run_workflow, ms" in ours:
        flush = statistics.median(ours["flushed write, ms"])
        rest = statistics.median(ours["run_workflow, ms"]) - 3 * flush
        print(f"\na run of ours costs three flushed writes and {rest:.3f} ms")


def shown(value: float | None) -> str:
    """A number in its column."""
    return f"{'-':>12}" if value is None else f"{value:12.3f}"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default=OURS, help="command of the server under test (default: this one, simulated)")
    parser.add_argument("--other", default=BARE, help="command of the server beside it (default: a bare one)")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each server (default 5)")
    parser.add_argument("--calls", type=int, default=100, help="calls a row and start (default 100)")
    parser.add_argument("--workflow", default="add_triage_note")
    parser.add_argument("--inputs", default='{"note": "Synthetic bench note", "sandbox_case": "normal"}')
    parser.add_argument("--other-workflow", help="when it differs")
    parser.add_argument("--other-inputs", help="when they differ")
    parser.add_argument("--json", action="store_true", help="print every single figure as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
