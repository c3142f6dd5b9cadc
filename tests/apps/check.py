"""Does the demonstrations as a person would, without Surehand, and compares with the stores of the apps.

``python -m tests.apps.check [--app NAME] [--inputs N] [--headed]``
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.async_api import Page, async_playwright

from apps.apps import App, AppName, running
from apps.demonstration import Demonstration, demonstration_of, difference
from surehand.shell.engines.browser.chromium import find_chromium, may_sandbox


async def check(app: App, demonstration: Demonstration, inputs: int, *, headed: bool) -> int:
    """Do each set of inputs once; the number of those after which the store held something else than expected."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=find_chromium(), headless=not headed, chromium_sandbox=may_sandbox()
        )
        page = await browser.new_page()
        page.set_default_timeout(30_000)
        await demonstration.sign_in(page, app)
        wrong = [await _differs(page, app, demonstration, place) for place in range(inputs)]
        await browser.close()
        return sum(wrong)


async def _differs(page: Page, app: App, demonstration: Demonstration, place: int) -> bool:
    values = demonstration.INPUTS[place]
    before, began = app.records(), time.monotonic()
    await demonstration.demonstrate(page, app, values)
    found, expected = difference(before, app.records()), demonstration.expected(values)
    right = found.is_exactly(expected)
    took, verdict = time.monotonic() - began, "as expected" if right else "OTHERWISE"
    sys.stdout.write(f"{app.name.value:12} {place + 1:2}  {took:5.1f} s  {verdict}\n")
    if not right:
        sys.stdout.write(f"  expected {expected}\n  found    {found}\n")
    sys.stdout.flush()
    return not right


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the demonstrations of one app or of all.

    Args:
        arguments: The command line; that of the process when absent.

    Returns:
        The exit code: 0 when every store held exactly what was expected.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.apps.check", description=__doc__)
    parser.add_argument("--app", choices=[name.value for name in AppName])
    parser.add_argument("--inputs", type=int, default=10)
    parser.add_argument("--headed", action="store_true")
    given = parser.parse_args(arguments)
    wrong = 0
    for name in [AppName(given.app)] if given.app else AppName:
        with running(name) as app:
            wrong += asyncio.run(check(app, demonstration_of(name), given.inputs, headed=given.headed))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
