"""Several processes and one run of a plan.

Laws:

- Of all who take a run up at the same time one goes through it, and every other is told so and does nothing.
- The same request from several processes at once begins one run.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.folders import environment_of_tests
from support.plans import App, CrashError, Fate, VirtualClock, around, crashing, definition, write
from surehand.shell.orchestration.runner import WorkflowRunner

#: As many processes as race at once.
RACERS = 4

RACER = """
import json, sys, time
from pathlib import Path
from support.plans import App, VirtualClock, around, definition, template, wait, write
from surehand.core.orchestration.refusal import RunRefused
from surehand.shell.orchestration.runner import WorkflowRunner

class FiledApp(App):
    def act(self, name):
        with (Path(sys.argv[1]) / "effects").open("a") as oracle:
            oracle.write(name + "\\n")
        return super().act(name)

folder, run_id = Path(sys.argv[1]) / "plans", sys.argv[2]
plan = definition(write("a"), template("b"), wait("c"), write("d"))
with WorkflowRunner(folder, around(FiledApp(), VirtualClock())) as runner:
    runner.runs(1)
    print("ready", flush=True)
    sys.stdin.readline()
    told = runner.resume(run_id) if run_id else runner.run(plan, request_id="entry-1")
    refused = isinstance(told, RunRefused)
    print(json.dumps({"told": told.code.value if refused else told.status.value, "id": None if refused else told.id}))
"""


def race(folder: Path, run_id: str) -> tuple[Counter[str], set[str], Counter[str]]:
    """What racers were told, the runs that they were told of, and the effects that the app saw."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", RACER, str(folder), run_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_of_tests(),
        )
        for _ in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert "ready\n" == racer.stdout.readline()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    told = [json.loads(racer.communicate()[0]) for racer in racers]
    effects = (folder / "effects").read_text().split()
    return Counter(each["told"] for each in told), {each["id"] for each in told if each["id"]}, Counter(effects)


class TestRaces:
    """Whoever comes first goes through the run; nobody else does anything."""

    def test_of_those_who_take_a_run_up(self, tmp_path: Path) -> None:
        app = App(fates=[Fate.DIES_BEFORE])
        place = tmp_path / "plans"
        with crashing(WorkflowRunner(place, around(app, VirtualClock())), place, app) as runner:
            with pytest.raises(CrashError):
                runner.run(definition(write("a"), write("b"), write("c")))
            run_id = runner.runs(1)[0].run_id

        told, runs, effects = race(tmp_path, run_id)

        assert {run_id} == runs
        assert told["completed"] >= 1
        assert RACERS == told["completed"] + told["running_elsewhere"]
        assert {f"{run_id}.a.1": 1, f"{run_id}.b.1": 1, f"{run_id}.c.1": 1} == dict(effects)

    def test_of_those_who_ask_for_the_same(self, tmp_path: Path) -> None:
        told, runs, effects = race(tmp_path, "")

        assert 1 == len(runs)
        assert RACERS == told["completed"] + told["running"]
        assert {1} == set(effects.values())
        assert 4 == len(effects)
