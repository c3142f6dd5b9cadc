"""What a person does at a page: look for something that is shown, point at it, and press keys.

Laws of this module:

- A person clicks what is shown and presses keys one by one; no value is set by script and no event is made up.
- A person reads what stands on the page before going on.
"""

from collections.abc import Sequence

from playwright.async_api import Locator


async def write(target: Locator, text: str) -> None:
    """Click into a field, empty it, and write a text key by key."""
    await target.click()
    await target.press("ControlOrMeta+a")
    await target.press("Delete")
    await target.page.keyboard.type(text)


async def paste(target: Locator, text: str) -> None:
    """Click into a field, empty it, and paste a text: where a widget rewrites what is typed before it is whole."""
    await target.click()
    await target.press("ControlOrMeta+a")
    await target.press("Delete")
    await target.page.keyboard.insert_text(text)


async def write_date(target: Locator, date: str) -> None:
    """Write an ISO date into a native date field, whose parts stand in the order month, day, year."""
    year, month, day = date.split("-")
    await target.focus()
    await target.page.keyboard.type(f"{month}{day}{year}")


async def choose(target: Locator, label: str) -> None:
    """Choose an option of a native list: open it, go to the option with the arrow keys, and take it."""
    shown: Sequence[str] = await target.locator("option").evaluate_all("all => all.map(one => one.label.trim())")
    at = int(await target.evaluate("list => list.selectedIndex"))
    to = shown.index(label)
    if to == at:
        return
    await target.click()
    for _ in range(abs(to - at)):
        await target.page.keyboard.press("ArrowDown" if to > at else "ArrowUp")
    await target.page.keyboard.press("Enter")


async def tick(box: Locator, wanted: bool) -> None:
    """Click a box if it is not as wanted."""
    if await box.is_checked() is not wanted:
        await box.click()


async def see(target: Locator) -> None:
    """Wait until something is shown."""
    await target.wait_for(state="visible", timeout=30_000)
