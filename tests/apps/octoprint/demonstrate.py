"""A printer profile: entered in a dialog with tabs that stands in another dialog of the one page of the app."""

from playwright.async_api import Locator, Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, tick, write

_ROWS = (
    ("Lab printer one", "Example X1", "220", "210", "250", "false"),
    ("Werkstatt groß", "Prüfgerät „Süd“", "300", "300", "400", "true"),
    ("Printer 🖨 three", "Model 3 🙂", "180.5", "180.5", "180", "true"),
    ("Small & quick", 'It\'s <new> "here"', "100", "100", "120", "false"),
    ("Año cinco", "Señal 5", "235", "235", "270", "true"),
    ("Szósta drukarka", "Zażółć 6", "250", "210", "210", "false"),
    ("N" * 60, "m" * 120, "500", "500", "500", "true"),
    ("八 eight", "型番8", "150.25", "150.75", "160", "false"),
    ("Nine 100% {sure}", "Back\\slash #9", "200", "200", "205", "true"),
    ("Ten - dash", "O'Brien's", "120", "110", "130", "false"),
    ("Eleven", "Example X11", "310", "320", "330", "true"),
    ("Tiskárna dvanáct", "Přístroj 12", "90", "91", "92.5", "false"),
)

INPUTS: tuple[Values, ...] = tuple(
    {"name": name, "model": model, "width": width, "depth": depth, "height": height, "heated_bed": heated}
    for name, model, width, depth, height, heated in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password, to be remembered when the server starts again.

    Before the page's scripts are there, the form is sent to nobody.
    """
    await page.goto(f"{app.origin}/")
    await page.wait_for_load_state("networkidle")
    await write(page.get_by_role("textbox", name="Username"), app.credentials.user)
    await write(page.get_by_role("textbox", name="Password"), app.credentials.password)
    await page.get_by_role("checkbox", name="Remember me").click()
    await page.get_by_role("button", name="Log in").click()
    await see(page.locator("#navbar_show_settings"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Add a profile, and open it once more in its dialog."""
    await page.goto(f"{app.origin}/")
    await page.get_by_role("link", name="Settings", exact=True).click()
    await page.get_by_role("link", name="Printer Profiles").click()
    await page.get_by_role("button", name="Add Profile").click()
    dialog = page.locator("#settings_printerProfiles_editDialog")
    await dialog.get_by_role("link", name="Print bed & build volume").click()
    await tick(beside(dialog, "Heated Bed"), values["heated_bed"] == "true")
    await write(beside(dialog, "Width (X)"), values["width"])
    await write(beside(dialog, "Depth (Y)"), values["depth"])
    await write(beside(dialog, "Height (Z)"), values["height"])
    await dialog.get_by_role("link", name="General").click()
    await write(beside(dialog, "Name"), values["name"])
    await write(beside(dialog, "Model"), values["model"])
    await dialog.get_by_role("button", name="Confirm").click()
    await dialog.wait_for(state="hidden")
    row = page.locator("#settings_printerProfiles").get_by_role("row").filter(has_text=values["name"])
    await row.get_by_title("Edit Profile").click()
    await see(beside(dialog, "Name"))


def beside(dialog: Locator, caption: str) -> Locator:
    """The field beside a text: nothing else tells one from another."""
    return dialog.locator(".control-group:has(> .control-label)", has_text=caption).locator("input:visible").last


def expected(values: Values) -> Saved:
    """The profile as it stands in its file."""
    return {
        "name": values["name"],
        "model": values["model"],
        "heated_bed": values["heated_bed"] == "true",
        "width": float(values["width"]),
        "depth": float(values["depth"]),
        "height": float(values["height"]),
        "formFactor": "rectangular",
        "origin": "lowerleft",
    }
