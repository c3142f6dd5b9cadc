"""The start: the first answer comes before the protocol library, and is the library's own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.mcp_clients import (
    INITIALIZE,
    MODERN_META,
    Json,
    RawClient,
    environment,
    fake_server,
    python_of,
    result_of_answer,
    structured,
)
from surehand.shell.mcp.greeting import greeting

PYTHONS = pytest.mark.parametrize("generation", ["mcp 2", "mcp 1"])

SUPPORT = Path(__file__).resolve().parent.parent / "support"

PLAIN: Json = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}


@PYTHONS
class TestTheGreetingIsTheLibrarysAnswer:
    """Whatever revision a client asks for, the greeting says what the library would have said."""

    def test_for_every_revision_and_an_unknown_one(self, generation: str) -> None:
        program = str(SUPPORT / "mcp_library_greeting.py")
        ended = subprocess.run(
            [python_of(generation), program], env=environment(), capture_output=True, text=True, timeout=240, check=True
        )
        seen: dict[str, dict[str, Any]] = json.loads(ended.stdout)

        assert len(seen) == 6
        for both in seen.values():
            both["library"]["result"]["capabilities"].pop("experimental", None)  # mcp 1 says that there are none

            assert both["library"] == both["greeting"]

    def test_a_client_gets_one_answer_and_a_working_session(self, generation: str) -> None:
        with RawClient(fake_server(python=python_of(generation)), environment()) as client:
            client.send({**PLAIN, "id": "one"})
            client.notify("notifications/initialized")
            listed = client.begin("tools/list")
            first = client.next()
            second = client.next()

            assert first is not None
            assert second is not None
            assert ["one", listed] == [first["id"], second["id"]]
            assert structured(client.call("list_workflows", {}))["workflows"]

    def test_a_handshake_that_the_library_refuses_ends_the_session(self, generation: str) -> None:
        broken = {**INITIALIZE, "capabilities": {"roots": {"listChanged": "perhaps"}}}
        with RawClient(fake_server(python=python_of(generation)), environment()) as client:
            client.send({**PLAIN, "params": broken})

            assert client.exit_code() == 0


class TestTheFirstAnswerNeedsNoLibrary:
    """Neither the protocol library, nor the store, nor the converter is loaded before the handshake is answered."""

    def test_what_is_loaded_before_the_library_is_light(self) -> None:
        program = (
            "import sys, surehand.shell.mcp.server\n"
            "heavy = {'mcp', 'pydantic', 'anyio', 'cattrs', 'cryptography', 'sqlite3', 'starlette', 'rich'}\n"
            "print(sorted(heavy & set(sys.modules)))"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

        assert ended.stdout == "[]\n"

    def test_the_command_line_adds_nothing_heavy(self) -> None:
        program = (
            "import sys, surehand.shell.cli.serve\n"
            "heavy = {'mcp', 'pydantic', 'anyio', 'cattrs', 'cryptography', 'sqlite3', 'starlette', 'rich'}\n"
            "print(sorted(heavy & set(sys.modules)))"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

        assert ended.stdout == "[]\n"


class TestOnlyAPlainHandshakeIsGreeted:
    """Anything but the shape that every client sends waits for the library."""

    def test_the_plain_one_is(self) -> None:
        assert greeting(PLAIN, "1") is not None

    @pytest.mark.parametrize(
        "changed",
        [
            {"method": "ping"},
            {"jsonrpc": "1.0"},
            {"id": True},
            {"extra": 1},
            {"params": {}},
            {"params": []},
            {"params": {**INITIALIZE, "protocolVersion": 7}},
            {"params": {**INITIALIZE, "capabilities": None}},
            {"params": {**INITIALIZE, "clientInfo": {"name": "c"}}},
            {"params": {**INITIALIZE, "_meta": MODERN_META}},
        ],
    )
    def test_any_other_is_not(self, changed: Json) -> None:
        assert greeting({**PLAIN, **changed}, "1") is None

    def test_the_modern_era_is_opened_by_the_library(self) -> None:
        with RawClient(fake_server(), environment()) as client:
            found = result_of_answer(client.request("server/discover", {"_meta": MODERN_META}))

        assert "2026-07-28" in found["supportedVersions"]
