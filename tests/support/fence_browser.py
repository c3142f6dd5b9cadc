"""A Chromium in front of a fence: what the tests and the fault layers of the fence share."""

import contextlib
from collections.abc import AsyncGenerator, Sequence

from playwright.async_api import (
    Browser,
    BrowserContext,
    HttpCredentials,
    Page,
    Playwright,
    ProxySettings,
    async_playwright,
)

from support.fence_rig import Bench
from support.origin_server import OriginServer
from surehand.shell.engines.browser.chromium import arguments, find_chromium, may_sandbox


class BrowserBench(Bench):
    """A loop, a fence, and a Chromium that trusts the fence's key."""

    playwright: Playwright
    browser: Browser

    async def launch(self, *extra: str) -> None:
        """Start the browser, with these arguments beside those of the product."""
        self.playwright = await async_playwright().start()
        trusted = f"{self.fence.spki},{self.authority.spki}"
        self.browser = await self.start_browser([*arguments(trusted), *extra])

    async def start_browser(self, args: Sequence[str]) -> Browser:
        """Start one more browser."""
        return await self.playwright.chromium.launch(
            executable_path=find_chromium(), args=args, chromium_sandbox=may_sandbox()
        )

    async def end(self) -> None:
        """End the browser."""
        await self.browser.close()
        await self.playwright.stop()

    async def context(self, proxy_url: str | None, browser: Browser | None = None) -> BrowserContext:
        """A context that would answer a sign-in question by itself."""
        return await (browser or self.browser).new_context(
            proxy=None if proxy_url is None else ProxySettings(server=proxy_url),
            http_credentials=HttpCredentials(username="u", password="p"),  # noqa: S106  of a test server
        )

    @contextlib.asynccontextmanager
    async def page(self, server: OriginServer, proxy_url: str | None) -> AsyncGenerator[Page]:
        """A page of the server in a context of its own."""
        context = await self.context(proxy_url)
        try:
            page = await context.new_page()
            await page.goto(f"{server.origin}/page")
            yield page
        finally:
            await context.close()
