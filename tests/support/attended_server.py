"""A server process that attends, whose worker has an engine by script, held in the middle of a continuation.

Laws of this module:

- Everything but the engine is real: the server, its wire, its ledger, the worker process and its one thread.
"""

import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from support.attended_worker import APP, HELD_LATER, MODULE
from support.browser import eventually
from support.mcp_clients import INITIALIZE, Json, RawClient, environment, structured
from surehand.core.attention.pause import Action
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.cli import main
from surehand.shell.engines.browser import executor

_TESTS: Final = Path(__file__).parents[1]
_SERVES: Final = ("serve", "--attended", "--sandbox-engine", "browser")
_FORMS: Final[Json] = {"elicitation": {"form": {}}}
_PATIENCE: Final = 240

_ENTRY: Final[Json] = {
    "workflow": "add_triage_note",
    "inputs": {"note": HELD_LATER, "sandbox_case": "normal"},
    "request_id": "entry-of-the-test",
    "wait_seconds": _PATIENCE,
}


@frozen
class Held:
    """A continuation that is held.

    Args:
        client: The agent's client.
        run_id: The run.
        app: The file of the app.
    """

    client: RawClient
    run_id: str
    app: Path

    def writes(self) -> list[str]:
        """What has reached the app."""
        return self.app.read_text(encoding="utf-8").splitlines() if self.app.exists() else []

    def answer(self) -> Json:
        """What the agent is told of the run."""
        return structured(self.client.call("get_run", {"run_id": self.run_id}))

    def let_go(self) -> bool:
        """Let the continuation come to its end; whether it does."""
        self.app.with_suffix(".go").touch()
        return eventually(lambda: self.answer()["outcome"] != "running", _PATIENCE)


@contextmanager
def held_continuation(folder: Path) -> Generator[Held]:
    """A continuation that a person let go on by a form, and that stands before its save."""
    app = folder / "app.txt"
    command = [sys.executable, "-m", __name__, *_SERVES, "--runs-dir", str(folder)]
    told = {
        **environment(PYTHONPATH=str(_TESTS), XDG_CONFIG_HOME=str(folder / "config")),
        APP: str(app),
    }
    with RawClient(command, told) as client:
        client.request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25", "capabilities": _FORMS})
        client.notify("notifications/initialized")
        run = structured(client.call("run_workflow", _ENTRY, _PATIENCE))
        (item,) = structured(client.call("list_needs_attention", {}))["items"]
        _continue(client, folder, item)
        assert eventually(app.with_suffix(".reached").exists)
        yield Held(client, run["run_id"], app)


def _continue(client: RawClient, folder: Path, item: Json) -> None:
    """Say Continue, with the code that stands at the computer, and wait for no receipt."""
    with closing(AttendedDesk.open(folder / "surehand")) as desk:
        code = desk.code(item["id"], Action.CONTINUE)
    four = {"attention_id": item["id"], "capability_digest": item["capability_digest"], "confirm": True}
    client.begin_call("continue_attention", {**four, "idempotency_key": "key-of-continue-16"})
    form = client.next()
    assert form is not None
    accepted = {"action": "accept", "content": {"confirm": True, "code": code}}
    client.send({"jsonrpc": "2.0", "id": form["id"], "result": accepted})


if __name__ == "__main__":
    setattr(executor, "WORKER_MODULE", MODULE)  # noqa: B010 - a constant, which a test alone changes
    main()
