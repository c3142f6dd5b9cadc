"""Serves the console on loopback until it is interrupted.

Laws of this module:

- Loopback only: the socket is made here, and no option names another address.
- The address with its token is written to the terminal, and to nothing else.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing, suppress

from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.console.app import HOST, Console
from surehand.shell.console.entry import Entry
from surehand.shell.loopback import web_server


def serve_console(
    desk: AttendedDesk, *, port: int, attends: bool, decides: bool, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted.

    Args:
        desk: Where stopped runs are looked at and decided about.
        port: The port; 0 takes a free one.
        attends: Whether what was sealed may be seen.
        decides: Whether decisions are taken.
        announce: Told the address at which one browser may enter, each time there is a new one.

    Raises:
        OSError: The port cannot be had.
    """
    with closing(socket.create_server((HOST, port))) as listening, suppress(KeyboardInterrupt):
        taken = int(listening.getsockname()[1])
        entry = Entry(lambda token: announce(f"http://{HOST}:{taken}/#{token}"))
        console = Console(desk, entry, taken, attends=attends, decides=decides)
        asyncio.run(web_server(console.asgi()).serve(sockets=[listening]))
