"""The same server object over loopback HTTP, for the official conformance suite only: the product has no HTTP."""

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from support.mcp_fake_service import FakeService, cards
from surehand.core.modes import ROWS, Start
from surehand.shell.mcp.adapter import ProtocolServer
from surehand.shell.mcp.desk import Desk
from surehand.shell.mcp.greeting import INSTRUCTIONS, NAME
from surehand.shell.mcp.table import ToolTable


@contextmanager
def served_over_http() -> Generator[str]:
    """The address of the server's endpoint, as long as the context lasts."""
    desk = Desk(lambda: FakeService(cards(2)))
    server = ProtocolServer(ToolTable(ROWS[Start.SANDBOX], desk), name=NAME, version="0", instructions=INSTRUCTIONS)
    app: Any = server.library_server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 120
    while not running.started:
        assert time.monotonic() < deadline, "the HTTP server did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        thread.join(30)
        listener.close()
