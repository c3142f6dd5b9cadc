"""Serves the clinic app on loopback in this process.

Laws of this module:

- Loopback only. The listening socket is made here: its address is known early, and answers leave without delay.
- A second port is held bound and not listening: there the app is switched off, and nobody else can answer.
- A supervised app says where it is in one line and ends when its standard input closes.
"""

import asyncio
import contextlib
import os
import secrets
import socket

import uvicorn
from attrs import frozen

from surehand.shell.loopback import web_server
from surehand.shell.sandbox.address import HOST, Address
from surehand.shell.sandbox.app import ClinicApp


@frozen
class _Sockets:
    listening: socket.socket
    switched_off: socket.socket


def serve_supervised() -> None:
    """Serve on a free port, say so on standard output, and end when standard input closes."""
    token = secrets.token_hex(32)
    sockets = _sockets(0)
    address = Address(port=_port(sockets.listening), offline_port=_port(sockets.switched_off), token=token)
    _run(sockets, token, address.line(), supervised=True)


def serve_for_a_person(port: int) -> None:
    """Serve until interrupted and print where to find the app.

    Args:
        port: The port to listen on; 0 takes a free one.

    Raises:
        OSError: The port cannot be had.
    """
    sockets = _sockets(port)
    line = f"The clinic app is at http://{HOST}:{_port(sockets.listening)} (synthetic data). Ctrl+C ends it."
    _run(sockets, secrets.token_hex(32), line, supervised=False)


def _sockets(port: int) -> _Sockets:
    return _Sockets(listening=_bound(port), switched_off=_bound(0))


def _bound(port: int) -> socket.socket:
    # The protocol is named because asyncio sets TCP_NODELAY only where it is.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if port and os.name == "posix":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((HOST, port))
    return made


def _port(bound: socket.socket) -> int:
    return int(bound.getsockname()[1])


def _run(sockets: _Sockets, token: str, ready_line: str, *, supervised: bool) -> None:
    with sockets.listening, sockets.switched_off, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(sockets.listening, token, ready_line, supervised=supervised))


async def _serve(listening: socket.socket, token: str, ready_line: str, *, supervised: bool) -> None:
    app = ClinicApp(token)
    server = web_server(app.asgi())
    listening.listen(128)
    if supervised:
        asyncio.get_running_loop().add_reader(0, _stop, server, app)
    print(ready_line, flush=True)  # noqa: T201 - the line that our starter, or a person, waits for
    await server.serve(sockets=[listening])


def _stop(server: uvicorn.Server, app: ClinicApp) -> None:
    """Standard input has something to say, which can only be that nobody holds its other end."""
    asyncio.get_running_loop().remove_reader(0)
    app.closing.set()
    server.should_exit = True
