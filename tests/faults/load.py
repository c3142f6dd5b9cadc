"""Many requests at once: over one service, over four servers on one folder, beside a thousand waiters, and for long.

Laws of this module:

- A request is judged by the saves that the app saw, by the rows of the ledger as SQLite alone reads them, and by every
  answer. Some requests are asked by several clients at the same moment.
- Times are stated and no promise: what is judged of them is that nobody waited for ever.
- What is wrong on purpose runs through the same cells as what is right.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import evolve, field, frozen

from faults.result import Control, LayerResult
from support.effects import INPUTS, WORKFLOW, OpensPremises, ask, effects, hand, premises_of
from support.mcp_clients import RawClient, environment, result_of_answer, session, structured
from support.stores import MEMORY_DISK
from surehand.core.outcome.reasons import Outcome
from surehand.core.request.gate import Decision
from surehand.core.request.record import RunRecord
from surehand.shell.assembly import open_premises
from surehand.shell.catalog import Premises
from surehand.shell.files import private_folder
from surehand.shell.identity import new_token
from surehand.shell.store.sqlite import LEDGER, SqliteStore

_TESTS: Final = Path(__file__).parent.parent

#: Clients of the one service, and servers on one folder.
CLIENTS: Final = 16
SERVERS: Final = 4

#: Calls that a client has under way at the same time.
PIPELINED: Final = 8

#: Of so many requests one is asked by every client.
SHARED: Final = 5

#: Seconds that one answer may take under load; more is a lost request.
LONGEST: Final = 60.0

#: Calls that wait for one run, and the milliseconds that a ping may take beside them.
CROWD: Final = 1000
PING_MS: Final = 50.0

#: By how many bytes a process may grow over all its runs.
GROWTH: Final = 6 << 20

#: How often the contenders are asked to tell the busy handler apart, and how much longer its worst queue has to be.
CONTESTS: Final = 3
APART: Final = 2


#: Waits until every client is ready.
SetOff = Callable[[], object]

#: Runs of the process that keeps something of each.
KEPT_RUNS: Final = 1200


@frozen
class Scale:
    """How much of each."""

    requests: int
    runs_in_memory: int
    contended_runs: int


SCALES: Final[dict[str, Scale]] = {
    "short": Scale(requests=240, runs_in_memory=3000, contended_runs=20),
    "full": Scale(requests=2000, runs_in_memory=100_000, contended_runs=100),
}


@frozen
class Said:
    """One answer."""

    request_id: str
    run_id: str
    outcome: str
    waited: float


@frozen
class Heard:
    """What one part of the layer found."""

    cells: int
    wrong: tuple[str, ...] = ()
    note: str = ""


@frozen
class Site:
    """A state folder, and the file in which the app counts its saves."""

    place: Path
    folder: Path = field(init=False)
    oracle: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Lay out the folder."""
        object.__setattr__(self, "folder", self.place / "state")
        object.__setattr__(self, "oracle", self.place / "oracle")
        private_folder(self.folder)


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer; the seed only names the requests."""
    scale = SCALES[profile]
    began = time.monotonic()
    parts: list[Heard] = []
    for name, part in (
        ("one service", partial(over_one_service, scale.requests, seed)),
        ("four servers", partial(over_four_servers, scale.requests, seed)),
        ("a crowd that waits", beside_a_crowd),
        ("many runs", partial(over_many_runs, scale.runs_in_memory)),
    ):
        with _site() as site:
            parts.append(part(site))
        report(f"load: {name}: {parts[-1].note}")
    contest, told_apart = contended(scale.contended_runs)
    return LayerResult(
        name="load",
        cells=sum(part.cells for part in (*parts, contest)),
        violations=tuple(wrong for part in (*parts, contest) for wrong in part.wrong),
        controls=(told_apart, _looks_then_acts(seed), _keeps_every_run()),
        seconds=time.monotonic() - began,
        notes=tuple(part.note for part in (*parts, contest)),
    )


@contextmanager
def _site() -> Generator[Site]:
    with tempfile.TemporaryDirectory(prefix="surehand-load-", dir=MEMORY_DISK) as name:
        yield Site(Path(name))


# Requests at once.


def plan(requests: int, clients: int, seed: int) -> list[list[str]]:
    """The request ids of each client: so many different ones in all, of which every client asks the shared ones."""
    shared = [f"{seed}-shared-{number}" for number in range(requests // SHARED)]
    own = [f"{seed}-own-{number}" for number in range(requests - len(shared))]
    plans: list[list[str]] = []
    for client in range(clients):
        mine = iter(own[client::clients])
        plans.append([name for each in shared for name in (each, next(mine, None)) if name] + list(mine))
    return plans


def over_one_service(requests: int, seed: int, site: Site, opens: OpensPremises = open_premises) -> Heard:
    """Every client is a thread of one process."""
    with hand(site.folder, site.oracle, opens) as surehand:

        def client(names: Sequence[str], set_off: SetOff) -> list[Said]:
            said: list[Said] = []
            set_off()
            for name in names:
                asked = time.monotonic()
                answer = ask(surehand, name, LONGEST)
                said.append(Said(name, answer.run_id, answer.outcome.value, time.monotonic() - asked))
            return said

        said = _at_once(client, plan(requests, CLIENTS, seed))
    return _judged(f"{CLIENTS} clients of one service", said, site, requests)


def over_four_servers(requests: int, seed: int, site: Site) -> Heard:
    """Every client has a server process of its own; all of them share the folder."""
    command = [sys.executable, "-m", "faults.load_server", str(site.folder), str(site.oracle)]
    env = environment(PYTHONPATH=str(_TESTS))

    def client(names: Sequence[str], set_off: SetOff) -> list[Said]:
        with RawClient(command, env) as server:
            server.handshake()
            server.call("list_workflows", {})
            set_off()
            said = _pipelined(server, names)
            server.end_input()
            assert server.exit_code() == 0
            return said

    said = _at_once(client, plan(requests, SERVERS, seed))
    return _judged(f"{SERVERS} servers on one folder, {PIPELINED} calls at once in each", said, site, requests)


def _pipelined(server: RawClient, names: Sequence[str]) -> list[Said]:
    said: list[Said] = []
    under_way: list[tuple[str, int, float]] = []
    for name in (*names, *[None] * PIPELINED):
        if name is not None:
            call = {"workflow": WORKFLOW, "inputs": INPUTS, "request_id": name, "wait_seconds": int(LONGEST)}
            under_way.append((name, server.begin_call("run_workflow", call), time.monotonic()))
        if under_way and (name is None or len(under_way) >= PIPELINED):
            first, number, asked = under_way.pop(0)
            answer = structured(result_of_answer(server.answer(number, LONGEST + 5)))
            said.append(Said(first, answer["run_id"], answer["outcome"], time.monotonic() - asked))
    return said


def _at_once(client: Callable[[Sequence[str], SetOff], list[Said]], plans: list[list[str]]) -> list[Said]:
    """Let all clients set off at the same moment, when each of them is ready."""
    off = threading.Barrier(len(plans), timeout=LONGEST)

    def start(names: Sequence[str]) -> list[Said]:
        return client(names, off.wait)

    with ThreadPoolExecutor(len(plans)) as clients:
        return [said for all_of_one in clients.map(start, plans) for said in all_of_one]


def _judged(what: str, said: list[Said], site: Site, requests: int) -> Heard:
    waits = sorted(each.waited for each in said)
    note = (
        f"{what}: {requests} requests asked {len(said)} times, median wait {waits[len(waits) // 2] * 1e3:.0f} ms, "
        f"longest {waits[-1] * 1e3:.0f} ms"
    )
    wrong = (*_wrong_answers(said, Counter(effects(site.oracle))), *_wrong_rows(site.folder / LEDGER, requests))
    return Heard(len(said), tuple(f"{what}: {each}" for each in wrong), note)


def _wrong_answers(said: Sequence[Said], saves: Mapping[str, int]) -> Iterator[str]:
    runs: dict[str, set[str]] = {}
    for each in said:
        runs.setdefault(each.request_id, set()).add(each.run_id)
        if each.outcome != Outcome.DONE.value:
            yield f"{each.request_id} was answered {each.outcome} after {each.waited:.1f} s"
    for name, names_of_runs in runs.items():
        saved = sum(saves.get(one, 0) for one in names_of_runs)
        if len(names_of_runs) != 1 or saved != 1:
            yield f"{name} made {len(names_of_runs)} runs and {saved} saves"
    answered = {one for names_of_runs in runs.values() for one in names_of_runs}
    if not answered.issuperset(saves):
        yield "a save belongs to no answer"


def _wrong_rows(ledger: Path, requests: int) -> Iterator[str]:
    """What SQLite alone reads in the ledger."""
    with closing(sqlite3.connect(ledger)) as link:
        rows, keys, ended = link.execute(
            "SELECT count(*), count(DISTINCT request_key), sum(phase = 'finished') FROM runs"
        ).fetchone()
    if not rows == keys == ended == requests:
        yield f"the ledger holds {rows} runs of {keys} requests, {ended} of them finished"


# A crowd, and a long time.


def beside_a_crowd(site: Site) -> Heard:
    """Park a crowd on one run, and ping."""
    events = site.place / "events"
    with session(events=events) as client:
        call = {"workflow": "w", "inputs": {"note": "hold"}, "request_id": "r", "wait_seconds": 0}
        run_id = structured(client.call("run_workflow", call))["run_id"]
        for _ in range(CROWD):
            client.begin_call("get_run", {"run_id": run_id, "wait_seconds": 600})
        client.request("ping")  # everything that was sent before is parked when this is answered
        pings = sorted(_timed(partial(client.request, "ping")) for _ in range(20))
    middle = pings[len(pings) // 2] * 1e3
    note = f"beside {CROWD} calls that wait a ping takes {middle:.1f} ms at the median, {pings[-1] * 1e3:.1f} at most"
    return Heard(len(pings), () if middle < PING_MS else (note,), note)


def over_many_runs(runs: int, site: Site, kind: str = "forgotten") -> Heard:
    """Let a process run again and again, and look at its memory."""
    command = [sys.executable, "-m", "faults.load_memory", str(site.folder), str(runs), kind]
    done = subprocess.run(command, env=environment(PYTHONPATH=str(_TESTS)), stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    grown = told["end"] - told["start"]
    sizes = f"{told['start'] / 1e6:.1f} MB after the first tenth, {told['end'] / 1e6:.1f} MB at the end"
    note = f"{runs:,} runs in one process: {sizes}"
    return Heard(runs, () if grown <= GROWTH else (note,), note)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


# Contention.


@frozen
class Contest:
    """How long the changes of several processes took, in ascending order, and how many failed.

    ``overtaken`` is by how many changes of others the unluckiest was overtaken: asked later, and done before. Unlike
    a time it says the same on a machine that does other work beside it.
    """

    took: tuple[float, ...]
    overtaken: int
    failed: int

    def __str__(self) -> str:
        """The figures."""
        middle, most = self.took[len(self.took) // 2], self.took[len(self.took) * 99 // 100]
        times = f"median {middle * 1e3:.1f} ms, p99 {most * 1e3:.0f} ms, longest {self.took[-1] * 1e3:.0f} ms"
        return f"{times}, overtaken by {self.overtaken} at most"


def overtakings(spans: Sequence[Sequence[tuple[float, float]]]) -> int:
    """The largest number of changes of other processes that were asked after a change and done before it."""
    return max(
        sum(asked < later and sooner < done for n, others in enumerate(spans) if n != m for later, sooner in others)
        for m, own in enumerate(spans)
        for asked, done in own
    )


def contended(runs: int) -> tuple[Heard, Control]:
    """Our turns, and SQLite's own busy handler, by turns; on a real disk, where a flush takes its time."""
    rounds: list[tuple[Contest, Contest]] = []
    while len(rounds) < CONTESTS and not any(starves(*both) for both in rounds):
        rounds.append((contest(runs, "gated"), contest(runs, "busy")))
    ours, busy = rounds[-1]
    failed = sum(each.failed for each, _ in rounds)
    wrong = (f"{failed} changes found no turn",) if failed else ()
    note = f"{SERVERS} contending processes: {ours}; with SQLite's own busy handler: {busy}, {busy.failed} failed"
    cells = sum(len(each.took) for each, _ in rounds)
    return Heard(cells, wrong, note), Control("turns left to SQLite's busy handler", starves(ours, busy), str(busy))


def starves(ours: Contest, busy: Contest) -> bool:
    """Whether the busy handler let somebody starve beside whom our turns did not."""
    return busy.failed > 0 or busy.overtaken >= APART * max(1, ours.overtaken)


def contest(runs: int, kind: str) -> Contest:
    """Let four processes change one ledger."""
    with tempfile.TemporaryDirectory(prefix="surehand-load-") as name, ExitStack() as stack:
        folder = Path(name) / "state"
        SqliteStore.open(folder).close()
        command = [sys.executable, "-m", "faults.load_contender", str(folder), str(runs), kind]
        env = {**os.environ, "PYTHONPATH": str(_TESTS)}
        processes = [
            stack.enter_context(
                subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(SERVERS)
        ]
        for each in processes:
            assert _heard(each) == "ready\n"
        for each in processes:
            assert each.stdin is not None
            print("go", file=each.stdin, flush=True)
        told: list[dict[str, Any]] = [json.loads(_heard(each)) for each in processes]
    spans: list[list[tuple[float, float]]] = [each["spans"] for each in told]
    took = sorted(done - asked for each in spans for asked, done in each)
    return Contest(tuple(took), overtakings(spans), sum(each["failed"] for each in told))


def _heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


# What is wrong on purpose.


class LooksThenActs(SqliteStore):
    """Wrong on purpose: looks for earlier attempts, and reserves when nobody holds it to what it saw."""

    def __init__(self, folder: Path, *, read_only: bool = False, restored: bool = False) -> None:
        super().__init__(folder, read_only=read_only, restored=restored)
        self._seen: dict[str, str] = {}

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """As they were written."""
        return super().attempts(self._seen.get(request_key, request_key))

    def reserve(self, draft: RunRecord) -> Decision:
        """Look; let the others look as well; act."""
        seen = self._seen.get(draft.request_key)
        if seen is None:
            time.sleep(0.005)
            seen = self._seen[draft.request_key] = new_token() * 2
        return super().reserve(evolve(draft, request_key=seen))


def _opens_lookers(folder: Path) -> Premises:
    return premises_of(folder, LooksThenActs.open)


def _looks_then_acts(seed: int) -> Control:
    with _site() as site:
        heard = over_one_service(50, seed, site, _opens_lookers)
    doubled = [wrong for wrong in heard.wrong if "saves" in wrong]
    evidence = f"{len(doubled)} requests doubled of {50 // SHARED} that were shared"
    return Control("a store that looks and then acts", bool(doubled), evidence)


def _keeps_every_run() -> Control:
    with _site() as site:
        heard = over_many_runs(KEPT_RUNS, site, "kept")
    return Control("a process that keeps 8 KiB of every run", bool(heard.wrong), heard.note)
