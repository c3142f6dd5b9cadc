"""A real Chromium that is killed while its save is on the way, and what it does when its fence is dead.

Laws of this module:

- The browser is killed with every process that it started.
"""

import contextlib
import os
import signal
from pathlib import Path

from playwright.async_api import Browser, Error, Playwright, ProxySettings, async_playwright

from faults.fence_arena import until
from faults.kills_cells import PATIENCE, Blow, Cell, Victim, scene, start_fence
from faults.result import Control
from support.browser import ProcessName, family
from support.fence_rig import FORM
from support.origin_server import origin_server
from surehand.core.workflow.fence import FenceRules, Stage
from surehand.core.workflow.route import WriteRoute
from surehand.shell.engines.browser.chromium import arguments, find_chromium, may_sandbox

_SEND = """to => {
  const made = Object.assign(document.createElement('form'), {method: 'post', action: to});
  made.innerHTML = '<input name=note value=x>';
  document.body.append(made);
  made.submit();
}"""


async def kill_chromium(folder: Path, stage: Stage) -> tuple[str, ...]:
    """Kill the browser when the save is at this stage."""
    async with origin_server() as server, async_playwright() as driver:
        at = scene(folder, server, Cell(Victim.BROWSER, Blow.KILL, stage))
        fence = await start_fence(at)
        run = await fence.open_run(at.run_id, FenceRules((server.origin,)))
        asked: list[bool] = []

        async def cross() -> bool:
            asked.append(True)
            return True

        browser = await _launch(driver, fence.spki)
        page = await (await browser.new_context(proxy=ProxySettings(server=run.proxy_url))).new_page()
        await page.goto(f"{server.origin}/page")
        await run.arm(WriteRoute("POST", f"/ok/{at.mark}", FORM), cross)
        with contextlib.suppress(Error):
            await page.evaluate(_SEND, f"/ok/{at.mark}")
        await at.reached()
        gone = _kill_all(_browsers())
        at.let_go()
        delivery = (await run.settle(5_000)).delivery
        await run.close()
        await fence.close()
        await until(lambda: not any(each.is_alive for each in gone), PATIENCE)
        with contextlib.suppress(Error):
            await browser.close()
        return tuple(f"Chromium, {wrong}" for wrong in at.judge(delivery, granted=bool(asked)))


def _browsers() -> tuple[ProcessName, ...]:
    """The browsers below this process, with all that they started."""
    tops = [each for each in family(os.getpid()) if "--remote-debugging-pipe" in each.command]
    return tuple({each.number: each for top in tops for each in (top, *family(top.number))}.values())


def _kill_all(processes: tuple[ProcessName, ...]) -> tuple[ProcessName, ...]:
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each.number, signal.SIGKILL)
    return processes


async def go_around(folder: Path) -> tuple[list[str], Control]:
    """Whether a browser reaches the app when its fence is dead; and, as a control, one that is allowed to."""
    async with origin_server() as server, async_playwright() as driver:
        at = scene(folder, server, Cell(Victim.FENCE, Blow.KILL, None))
        fence = await start_fence(at)
        run = await fence.open_run(at.run_id, FenceRules((server.origin,)))
        kept = await _launch(driver, fence.spki)
        direct = [f"--proxy-server={run.proxy_url},direct://", "--proxy-bypass-list=<-loopback>"]
        loose = await _launch(driver, fence.spki, *direct)
        page = await (await kept.new_context(proxy=ProxySettings(server=run.proxy_url))).new_page()
        await page.goto(f"{server.origin}/page")
        os.kill(fence.process_id, signal.SIGKILL)
        await run.settle(0)
        before = len(server.arrivals)
        for write in ("navigator.sendBeacon('/ok/x', 'x')", "fetch('/ok/x', {method: 'POST'}).catch(() => 0)"):
            await page.evaluate(write)
        with contextlib.suppress(Error):
            await page.goto(f"{server.origin}/ok/x", timeout=5_000)
        through = len(server.arrivals) - before
        with contextlib.suppress(Error):
            await (await loose.new_page()).goto(f"{server.origin}/ok/x", timeout=5_000)
        around = len(server.arrivals) - before - through
        await kept.close()
        await loose.close()
        await fence.close()
    wrong = [f"a browser went around its dead fence: {through} arrivals"] if through else []
    return wrong, Control("a browser that may go around a dead fence", around > 0, f"{around} arrivals")


async def _launch(driver: Playwright, spki: str, *more: str) -> Browser:
    return await driver.chromium.launch(
        executable_path=find_chromium(), args=[*arguments(spki), *more], chromium_sandbox=may_sandbox()
    )
