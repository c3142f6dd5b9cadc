"""A sandbox ``normal`` run against a bare Playwright script that makes the same clicks and checks nothing.

Both work warm, each on a clinic app of its own, with a fresh context for every run, and they take turns, so that the
machine's load falls on both. A run is timed from its reservation to its stored result; the script from its context to
the banner that it believes. Neither includes the closing of its context.

    python bench/browser.py [--rounds 15] [--json]
"""

import argparse
import json
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import Mode
from surehand.core.request.gate import Start
from surehand.core.request.record import RunRecord
from surehand.shell.engines.base import Job
from surehand.shell.engines.browser.chromium import find_chromium, may_sandbox
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore

#: Runs of each kind that are not counted.
WARM_UPS = 2


def governed_run(executor: WorkerExecutor, store: RunStore, app: SandboxApp) -> float:
    """Seconds from the reservation of a run to its stored result, which must be proven."""
    inputs = {"note": f"Benchmark note {secrets.token_hex(4)}", "sandbox_case": "normal"}
    begun = time.perf_counter()
    draft = RunRecord(
        run_id=f"run_{secrets.token_hex(16)}",
        request_key=secrets.token_hex(32),
        attempt=0,
        workflow="add_triage_note",
        fingerprint=secrets.token_hex(32),
        owner=executor.owner_token,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=int(time.time()),
    )
    decision = store.reserve(draft)
    if not isinstance(decision, Start):
        raise SystemExit("the store did not reserve the run")
    job = Job(run_id=draft.run_id, bundle=sandbox_bundle(), inputs=inputs, target=app.target(inputs))
    result = executor.submit(decision.record, job).result()
    seconds = time.perf_counter() - begun
    if result.reason is not Reason.SAVED_AND_CHECKED:
        raise SystemExit(f"a run ended with {result.reason.value}")
    return seconds


def bare_script(browser: Browser, app: SandboxApp) -> float:
    """Seconds that the same clicks take, up to the banner."""
    begun = time.perf_counter()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{app.address.origin}/sign-in")
    page.get_by_label("User name").fill("Surehand Sandbox")
    page.get_by_label("Training scenario").select_option("normal")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("row").filter(has_text="SYN-1042").get_by_role("link", name="Open").click()
    page.get_by_role("link", name="Add triage note").click()
    page.get_by_label("Note").fill(f"Benchmark note {secrets.token_hex(4)}")
    page.get_by_label("Urgency").select_option("Routine")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Note saved").wait_for()
    seconds = time.perf_counter() - begun
    context.close()
    return seconds


def measure(rounds: int, *runs: Callable[[], float]) -> list[list[float]]:
    """The times of each kind of run, taken in turns."""
    times: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + WARM_UPS):
        # Whoever goes first in one round goes last in the next.
        for place in range(len(runs))[:: 1 if number % 2 else -1]:
            seconds = runs[place]()
            if number >= WARM_UPS:
                times[place].append(seconds)
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A sandbox run against a bare script.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    governed_app, bare_app = SandboxApp.start(), SandboxApp.start()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = open_store(Path(folder))
        executor = WorkerExecutor(Path(folder), Mode.SANDBOX, kept=(governed_app.liveness_fd,))
        executor.warm_up()
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=may_sandbox())
        governed, bare = measure(
            asked.rounds,
            lambda: governed_run(executor, store, governed_app),
            lambda: bare_script(browser, bare_app),
        )
        browser.close()
        executor.close()
        store.close()
    governed_app.close()
    bare_app.close()
    report(governed, bare, as_json=asked.json)


def report(governed: list[float], bare: list[float], *, as_json: bool) -> None:
    """Print what was measured."""
    medians = statistics.median(governed), statistics.median(bare)
    figures = {
        "rounds": len(governed),
        "surehand_ms": round(medians[0] * 1000, 1),
        "bare_ms": round(medians[1] * 1000, 1),
        "ratio": round(medians[0] / medians[1], 2),
        "ratio_of_minima": round(min(governed) / min(bare), 2),
    }
    if as_json:
        print(json.dumps(figures))
        return
    print(f"normal run:             {figures['surehand_ms']:8.1f} ms (median of {figures['rounds']})")
    print(f"bare Playwright script: {figures['bare_ms']:8.1f} ms")
    print(f"ratio:                  {figures['ratio']:8.2f}    (of the minima {figures['ratio_of_minima']:.2f})")


if __name__ == "__main__":
    main()
