"""A console that is served in this process, and one who opens its address in a browser."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field
from playwright.sync_api import Browser, Page

from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.console.app import HOST, Console
from surehand.shell.console.entry import Entry
from surehand.shell.loopback import web_server


@define
class ServedConsole:
    """Where a console is, and the tokens that its terminal showed so far."""

    port: int
    desk: AttendedDesk
    tokens: list[str] = field(factory=list[str])

    @property
    def origin(self) -> str:
        """Its origin."""
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """The address that lets one browser in."""
        return f"{self.origin}/#{self.tokens[-1]}"

    def enter(self, browser: Browser, *, width: int = 1100, dark: bool = False, scripts: bool = True) -> Page:
        """A browser that was let in."""
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        page = context.new_page()
        page.goto(self.address)
        if not scripts:
            page.get_by_label("Or paste what stands behind its").fill(self.tokens[-1])
            page.get_by_role("button", name="Enter").click()
        page.get_by_role("button", name="Leave").wait_for()
        return page


@contextmanager
def serving(folder: Path, *, attends: bool = True, decides: bool = True) -> Generator[ServedConsole]:
    """Serve the console of a state folder."""
    desk = AttendedDesk.open(folder)
    with socket.create_server((HOST, 0)) as listening:
        served = ServedConsole(int(listening.getsockname()[1]), desk)
        console = Console(desk, Entry(served.tokens.append), served.port, attends=attends, decides=decides)
        server = web_server(console.asgi())
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        try:
            yield served
        finally:
            server.should_exit = True
            thread.join()
            desk.close()
