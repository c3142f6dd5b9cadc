"""A visit: fields without names, a list of the page's own, a box that is none, and a rich text in a frame."""

from playwright.async_api import Locator, Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, write

_ROWS = (
    ("Ada Example", "Admission", "72", "true", "Slept well."),
    ("Jürgen Müßig", "Follow-up", "64", "false", "Schläft „gut“ – weiter so."),
    ("María José Núñez", "Discharge", "88", "true", "Va a casa 🙂"),
    ("Siân O'Brien", "Admission", "101", "false", "It's quoted here."),
    ("Łucja Żółć", "Follow-up", "59", "true", "Zażółć gęślą jaźń"),
    ("田中 太郎", "Discharge", "70", "false", "よく眠れた。"),
    ("Sam 🙂 Smile", "Admission", "95", "true", "Two sentences. Here is the other."),
    ("A" * 200, "Follow-up", "80", "false", "w " * 60 + "end"),
    ('"Bo" & Co', "Discharge", "77", "true", "Room 4, bed 2."),
    ("Åsa Öberg", "Admission", "66", "false", "100% {sure} / and #hash"),
    ("Přemysl Dvořák", "Discharge", "73", "true", "Ale v pořádku."),
    ("Işıl Şahin", "Follow-up", "81", "false", "Ward 2, east wing."),
)

INPUTS: tuple[Values, ...] = tuple(
    {"patient": patient, "kind": kind, "pulse": pulse, "urgent": urgent, "notes": notes}
    for patient, kind, pulse, urgent, notes in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By email address and password."""
    await page.goto(f"{app.origin}/admin/login")
    await write(page.get_by_role("textbox", name="Email"), app.credentials.user)
    await write(page.get_by_role("textbox", name="Password"), app.credentials.password)
    await page.get_by_role("button", name="Sign In").click()
    await page.wait_for_url("**/admin/content**")


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Create a visit, and open it once more from the list."""
    await page.goto(f"{app.origin}/admin/content/visits")
    await page.get_by_role("banner").get_by_role("link", name="add").click()
    await see(page.get_by_role("heading", name="Creating Item in Visits"))
    await write(beside(page, "Patient").get_by_role("textbox"), values["patient"])
    await beside(page, "Kind").locator(".input").click()
    await page.locator(".v-menu-content").get_by_text(values["kind"], exact=True).click()
    await write(beside(page, "Pulse").get_by_role("spinbutton"), values["pulse"])
    if values["urgent"] == "true":
        await beside(page, "Urgent").get_by_role("checkbox").click()
    notes = beside(page, "Notes").frame_locator("iframe").locator("body")
    await notes.click()
    await page.keyboard.type(values["notes"])
    await page.get_by_role("banner").get_by_role("button", name="check").click()
    await page.wait_for_url("**/admin/content/visits")
    await page.get_by_role("cell").filter(has_text=values["patient"]).click()
    await see(page.get_by_role("banner").get_by_role("button", name="delete"))


def beside(page: Page, caption: str) -> Locator:
    """The part of the form under a text: nothing else tells one field from another."""
    return page.locator(".field", has=page.locator(".field-name", has_text=caption))


def expected(values: Values) -> Saved:
    """The visit as it stands in the table."""
    return {
        "patient": values["patient"],
        "kind": values["kind"].lower(),
        "visit_date": None,
        "pulse": int(values["pulse"]),
        "urgent": int(values["urgent"] == "true"),
        "tags": None,
        "notes": f"<p>{values['notes']}</p>",
        "ward": None,
    }
