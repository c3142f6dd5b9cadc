"""Runs against bare Playwright scripts that make the same entries and clicks and check nothing.

``sandbox`` is a ``normal`` run on the clinic app, ``form`` one of twelve fields on a small app of its own. Both sides
work warm, each on an app of its own, with a fresh context for every run, and they take turns, so that the machine's
load falls on both. A run is timed from its reservation to its stored result; the script from its context to the banner
that it believes. Neither includes the closing of its context.

    python bench/browser.py [--rounds 15] [--only sandbox|form] [--json]
"""

import argparse
import json
import secrets
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from playwright.sync_api import Browser, sync_playwright

from surehand.core.outcome.evidence import CheckLevel, Phase
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import Mode
from surehand.core.request.gate import Start
from surehand.core.request.record import RunRecord
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    FillStep,
    IdentityField,
    OpenStep,
    ReadBack,
    ReadField,
    Rule,
    SaveStep,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind
from surehand.shell.engines.base import AppTarget, Job
from surehand.shell.engines.browser.chromium import find_chromium, may_sandbox
from surehand.shell.engines.browser.executor import WorkerExecutor
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle
from surehand.shell.store import open_store
from surehand.shell.store.base import RunStore

#: Runs of each kind that are not counted.
WARM_UPS = 2


def governed_run(
    executor: WorkerExecutor, store: RunStore, bundle: Bundle, inputs: dict[str, str], app: AppTarget
) -> float:
    """Seconds from the reservation of a run to its stored result, which must be proven."""
    begun = time.perf_counter()
    draft = RunRecord(
        run_id=f"run_{secrets.token_hex(16)}",
        request_key=secrets.token_hex(32),
        attempt=0,
        workflow=bundle.workflow,
        fingerprint=secrets.token_hex(32),
        owner=executor.owner_token,
        journaled=True,
        phase=Phase.RESERVED,
        created_at=int(time.time()),
    )
    decision = store.reserve(draft)
    if not isinstance(decision, Start):
        raise SystemExit("the store did not reserve the run")
    job = Job(run_id=draft.run_id, bundle=bundle, inputs=inputs, target=app)
    result = executor.submit(decision.record, job).result()
    seconds = time.perf_counter() - begun
    if result.reason is not Reason.SAVED_AND_CHECKED:
        raise SystemExit(f"a run ended with {result.reason.value}")
    return seconds


# The sandbox


def sandbox_run(executor: WorkerExecutor, store: RunStore, app: SandboxApp) -> float:
    """One run on the clinic app."""
    inputs = {"note": f"Benchmark note {secrets.token_hex(4)}", "sandbox_case": "normal"}
    return governed_run(executor, store, sandbox_bundle(), inputs, app.target(inputs))


def sandbox_script(browser: Browser, app: SandboxApp) -> float:
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


# A form of twelve fields

TEXTS: Final = tuple(f"text_{number}" for number in range(8))
LISTS: Final = ("list_0", "list_1")
BOXES: Final = ("box_0", "box_1")
_OPTIONS: Final = ("Red", "Green", "Blue")

_FORM: Final = "".join(
    (
        "<!doctype html><h1>New entry</h1><p>Patient <b data-testid=who>Ada Example</b>, number <b data-testid=number>",
        "SYN-1</b></p><form method=post action=/entries>",
        *(f"<p><label>{name} <input name={name}></label></p>" for name in TEXTS),
        *(
            f"<p><label for={name}>{name}</label><select name={name} id={name}><option>"
            + "".join(f"<option>{option}" for option in _OPTIONS)
            + "</select></p>"
            for name in LISTS
        ),
        *(f"<p><label><input type=checkbox name={name} value=true> {name}</label></p>" for name in BOXES),
        "<button>Save</button></form>",
    )
)


class _FormApp(BaseHTTPRequestHandler):
    """Shows the form, keeps what is posted, and lists it."""

    protocol_version = "HTTP/1.1"
    entries: list[dict[str, str]]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Print nothing."""

    def do_GET(self) -> None:
        """The form, what follows it, or the list."""
        if self.path == "/api/entries":
            self._answer(json.dumps(self.entries), "application/json")
        else:
            self._answer(_FORM if self.path == "/new" else "<h1>Entry saved</h1>", "text/html")

    def do_POST(self) -> None:
        """Keep an entry."""
        form = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode(), keep_blank_values=True))
        boxes = dict.fromkeys(BOXES, "false")
        self.entries.append({"id": str(len(self.entries) + 1), "who": "Ada Example", **boxes, **form})
        self.send_response(303)
        self.send_header("Location", "/saved")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, text: str, media_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@contextmanager
def form_app() -> Generator[str]:
    """The origin of a form app that runs."""
    handler = type("FormApp", (_FormApp,), {"entries": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def _label(name: str) -> Target:
    return Target(TargetKind.LABEL, name)


def _parameter(name: str) -> Parameter:
    if name in TEXTS:
        return Parameter(name=name, type=ParameterType.LINE, title=name, min_length=1)
    choices = _OPTIONS if name in LISTS else ("true", "false")
    return Parameter(name=name, type=ParameterType.CHOICE, title=name, choices=choices)


def form_bundle() -> Bundle:
    """The workflow of the form."""
    gate = PageGate("/new", Target(TargetKind.ROLE, "New entry", "heading"))
    names = (*TEXTS, *LISTS, *BOXES)
    rules = {name: Rule.TEXT if name in TEXTS else Rule.CHOICE for name in names}
    return Bundle(
        workflow="add_entry",
        title="Add an entry",
        parameters=tuple(map(_parameter, names)),
        steps=(
            OpenStep("open", "/new"),
            *(FillStep(name, gate, _label(name), FromInput(name), Rule.TEXT) for name in TEXTS),
            *(ChooseStep(name, gate, _label(name), FromInput(name), ChoiceControl.SELECT) for name in LISTS),
            *(CheckStep(name, gate, _label(name), FromInput(name)) for name in BOXES),
        ),
        identity=(
            IdentityField(Target(TargetKind.TEST_ID, "number"), Constant("SYN-1"), Rule.IDENTIFIER, unique=True),
            IdentityField(Target(TargetKind.TEST_ID, "who"), Constant("Ada Example"), Rule.TEXT, unique=False),
        ),
        save=SaveStep(
            "save",
            gate,
            Target(TargetKind.ROLE, "Save", "button"),
            WriteRoute("POST", "/entries", "application/x-www-form-urlencoded"),
        ),
        read_back=ReadBack(
            level=CheckLevel.SEPARATE_SESSION,
            minimum=CheckLevel.SEPARATE_SESSION,
            source=JsonRecords("/api/entries", "", "id"),
            identity=(ReadField("who", Constant("Ada Example"), Rule.TEXT),),
            written=tuple(ReadField(name, FromInput(name), rule) for name, rule in rules.items()),
            deadline_ms=2_000,
            interval_ms=50,
        ),
    )


def _form_inputs() -> dict[str, str]:
    texts = {name: f"Benchmark {name} {secrets.token_hex(4)}" for name in TEXTS}
    return texts | dict.fromkeys(LISTS, "Green") | dict.fromkeys(BOXES, "true")


def form_run(executor: WorkerExecutor, store: RunStore, bundle: Bundle, origin: str) -> float:
    """One run on the form app."""
    return governed_run(executor, store, bundle, _form_inputs(), AppTarget(origin=origin, record_origin=origin))


def form_script(browser: Browser, origin: str) -> float:
    """Seconds that the same entries take, up to the banner."""
    inputs = _form_inputs()
    begun = time.perf_counter()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{origin}/new")
    for name in TEXTS:
        page.get_by_label(name).fill(inputs[name])
    for name in LISTS:
        page.get_by_label(name).select_option(label=inputs[name])
    for name in BOXES:
        page.get_by_label(name).check()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Entry saved").wait_for()
    seconds = time.perf_counter() - begun
    context.close()
    return seconds


# Measuring


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
    parser = argparse.ArgumentParser(description="Runs against bare scripts.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("sandbox", "form"))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        governed_app, bare_app = SandboxApp.start(), SandboxApp.start()
        store = open_store(Path(folder))
        executor = WorkerExecutor(Path(folder), Mode.SANDBOX, kept=(governed_app.liveness_fd,))
        executor.warm_up()
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=may_sandbox())
        if asked.only != "form":
            figures["sandbox"] = compare(
                asked.rounds,
                lambda: sandbox_run(executor, store, governed_app),
                lambda: sandbox_script(browser, bare_app),
            )
        if asked.only != "sandbox":
            bundle = form_bundle()
            with form_app() as governed, form_app() as bare:
                figures["form"] = compare(
                    asked.rounds,
                    lambda: form_run(executor, store, bundle, governed),
                    lambda: form_script(browser, bare),
                )
        browser.close()
        executor.close()
        store.close()
        governed_app.close()
        bare_app.close()
    report(figures, as_json=asked.json)


def compare(rounds: int, run: Callable[[], float], script: Callable[[], float]) -> dict[str, float]:
    """The figures of a run and the script that does the same."""
    governed, bare = measure(rounds, run, script)
    medians = statistics.median(governed), statistics.median(bare)
    return {
        "rounds": len(governed),
        "surehand_ms": round(medians[0] * 1000, 1),
        "bare_ms": round(medians[1] * 1000, 1),
        "ratio": round(medians[0] / medians[1], 2),
        "ratio_of_minima": round(min(governed) / min(bare), 2),
    }


def report(figures: dict[str, dict[str, float]], *, as_json: bool) -> None:
    """Print what was measured."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(f"{name} run:{'':<12} {found['surehand_ms']:8.1f} ms (median of {found['rounds']})")
        print(f"bare Playwright script: {found['bare_ms']:8.1f} ms")
        print(f"ratio:                  {found['ratio']:8.2f}    (of the minima {found['ratio_of_minima']:.2f})")


if __name__ == "__main__":
    main()
